//! The static properties of a built-in tool, in one line.

/// Implements the properties of a built-in tool: name, category, permission and, if it has any,
/// path arguments. The description and the schema come from its description file.
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
            fn path_fields(&self) -> Vec<&str> {
                $paths.to_vec()
            }
        )?
    };
}

pub(super) use facts;
