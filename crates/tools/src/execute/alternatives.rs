//! Which tools may answer for others that cannot, as the user's settings and the tools themselves
//! name them.

use orchestrate_core::policy::Permission;
use serde_json::Value;

use crate::registry::ToolRegistry;
use crate::template::ARGUMENTS;
use crate::tool::Tool;

/// Reports whether a call of one tool may become one of another: it must not change files in a way
/// that the record of the call does not announce.
pub(crate) fn may_stand_in(other: &dyn Tool, tool: &dyn Tool) -> bool {
    match other.permission() {
        Permission::FileWrite | Permission::FileModify => false,
        Permission::FileRead | Permission::None => true,
        permission => permission == tool.permission(),
    }
}

impl ToolRegistry {
    /// Returns why a tool could never answer for another one, whatever a call of that gives; `None`
    /// if it could.
    pub fn alternative_fault(&self, tool: &str, other: &str) -> Option<String> {
        let (Some(own), Some(answering)) = (self.resolve(tool), self.resolve(other)) else {
            return Some("one of them is no tool of this run".to_owned());
        };
        if own.name() == answering.name() {
            return Some("they are the same tool".to_owned());
        }
        if !may_stand_in(answering.as_ref(), own.as_ref()) {
            let permission = answering.permission();
            return Some(format!(
                "`{other}` needs `{permission}`, which a call of `{tool}` does not announce"
            ));
        }
        // It is then called in its second form.
        if has(own.schema(), ARGUMENTS) && self.second_form(other).is_some() {
            return None;
        }
        let required = answering
            .schema()
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let lacking = required
            .filter_map(Value::as_str)
            .find(|name| !has(own.schema(), name))?;
        Some(format!(
            "`{other}` needs `{lacking}`, which no call of `{tool}` gives"
        ))
    }
}

/// Reports whether a schema has a parameter.
fn has(schema: &Value, parameter: &str) -> bool {
    schema
        .get("properties")
        .is_some_and(|properties| properties.get(parameter).is_some())
}

#[cfg(test)]
mod tests {
    use crate::builtin::plain_tools;

    #[test]
    fn what_could_never_answer_has_its_reason() {
        let registry = plain_tools().unwrap();
        let table = [
            ("web_search", "search_github", None),
            ("run_linter", "run_type_checker", None),
            ("grep", "search_files", None),
            (
                "read_file",
                "grep",
                Some("`grep` needs `pattern`, which no call of `read_file` gives"),
            ),
            (
                "read_file",
                "delete_file",
                Some("`delete_file` needs `file_modify`"),
            ),
            (
                "grep",
                "run_shell_command",
                Some("`run_shell_command` needs `code_execution`"),
            ),
            ("Bash", "run_shell_command", Some("they are the same tool")),
            ("grep", "rg", Some("one of them is no tool")),
        ];
        for (tool, other, expected) in table {
            let fault = registry.alternative_fault(tool, other);
            let fits = match (&fault, expected) {
                (Some(fault), Some(expected)) => fault.starts_with(expected),
                (fault, expected) => fault.is_none() && expected.is_none(),
            };
            assert!(fits, "{tool}={other}: {fault:?}");
        }
    }
}
