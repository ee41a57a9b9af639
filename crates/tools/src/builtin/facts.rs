//! What a built-in tool is, said in one line.

/// Says of a built-in tool what it is, and which arguments are paths if any are; its words and its schema come from its
/// description file.
macro_rules! facts {
    ($name:literal, $category:ident, $permission:ident $(, paths $paths:expr)?) => {
        fn name(&self) -> &str {
            $name
        }

        fn description(&self) -> &str {
            &self.0.description
        }

        fn category(&self) -> $crate::tool::Category {
            $crate::tool::Category::$category
        }

        fn permission(&self) -> orchestrate_core::policy::Permission {
            orchestrate_core::policy::Permission::$permission
        }

        fn schema(&self) -> &serde_json::Value {
            &self.0.parameters
        }

        $(
            fn path_fields(&self) -> &'static [&'static str] {
                &$paths
            }
        )?
    };
}

pub(super) use facts;
