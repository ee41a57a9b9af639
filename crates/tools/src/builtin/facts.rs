//! The static properties of a built-in tool, in one line.

/// Implements what is constant of a built-in tool: its name, category and permission, and those of
/// its properties that are not as usual. The description and the schema come from its description
/// file.
macro_rules! facts {
    (
        $name:literal, $category:ident, $permission:ident
        $(, $property:ident: $value:expr)* $(,)?
    ) => {
        fn name(&self) -> &str {
            $name
        }

        fn description(&self) -> &str {
            &self.0.description
        }

        fn category(&self) -> $crate::tool::Category {
            $crate::tool::Category::$category
        }

        fn properties(&self) -> $crate::tool::ToolProperties {
            $crate::tool::ToolProperties {
                $($property: $value,)*
                ..$crate::tool::ToolProperties::new(
                    orchestrate_core::policy::Permission::$permission,
                )
            }
        }

        fn schema(&self) -> &serde_json::Value {
            &self.0.parameters
        }
    };
}

pub(super) use facts;
