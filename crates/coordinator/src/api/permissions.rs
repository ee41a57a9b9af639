//! Decides, without a run, what the policy says to a call of an agent.

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::RunSettings;
use orchestrate_core::policy::{Policy, PolicyError};
use orchestrate_roles::role::Role;
use orchestrate_tools::{Answered, PermissionCheck, ToolRegistry};

use crate::error::CoordinatorError;

/// What the agents of a role may do under a run's settings.
pub struct AgentPermissions {
    tools: ToolRegistry,
    check: PermissionCheck,
}

/// Why a question about permissions has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermissionError {
    /// No tool has this name.
    #[error("find the tool `{tool}`")]
    UnknownTool {
        /// The name as it was given.
        tool: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
    },
    /// The tool does not take the arguments, or the checkout cannot be read.
    #[error("build the call: {0}")]
    Call(String),
    /// Rules of the settings or of the role are invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Rules(Vec<PolicyError>),
}

impl AgentPermissions {
    /// Returns the permissions of a role's agents who have these tools; a checkout stands for their
    /// worktree.
    ///
    /// # Errors
    /// [`PermissionError::Rules`] if a rule cannot be parsed, [`PermissionError::Call`] if a tool
    /// is malformed.
    pub fn new(
        role: &Role,
        run: &RunSettings,
        tools: ToolRegistry,
        checkout: &Path,
    ) -> Result<Self, PermissionError> {
        let names = tools.names();
        let policy =
            Policy::new(&role.rules_within(&run.rules), names).map_err(PermissionError::Rules)?;
        let policy = Arc::new(policy.limited(&run.tool_settings, checkout));
        let grant = Arc::new(role.grant(names));
        let check = PermissionCheck::new(tools.clone(), policy, grant, checkout);
        let check = check
            .map_err(|error| PermissionError::Call(CoordinatorError::from(error).to_string()))?;
        Ok(Self { tools, check })
    }

    /// Decides a call of a tool, under any of its names, as the executor of a run does; the words
    /// are those of [`PermissionCheck::decide`].
    ///
    /// # Errors
    /// [`PermissionError::UnknownTool`] if no tool has the name; [`PermissionError::Call`] if the
    /// tool does not take the words.
    pub fn decide(&self, tool: &str, words: &[String]) -> Result<Answered, PermissionError> {
        let answered = self
            .check
            .decide(tool, words)
            .map_err(|error| PermissionError::Call(error.to_string()))?;
        answered.ok_or_else(|| {
            let nearest =
                orchestrate_core::text::similar::nearest(tool, self.tools.names().names())
                    .map(str::to_owned);
            PermissionError::UnknownTool {
                tool: tool.to_owned(),
                nearest,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::{RuleDecision, RuleText};

    use super::*;

    #[test]
    fn a_call_is_decided_as_in_a_run() {
        let tools = orchestrate_tools::plain_tools().unwrap();
        let checkout = tempfile::tempdir().unwrap();
        let text = "---\nname: tester\ntools: Read, Bash, Write\n---\nTest it.\n";
        let (role, _) = Role::parse("tester", text, tools.names()).unwrap();
        let rule = |decision, rule: &str| RuleText::new(decision, rule, "--deny");
        let rules = vec![
            rule(RuleDecision::Deny, "Bash(git push:*)"),
            rule(RuleDecision::Ask, "Write(/docs/**)"),
        ];
        let mut run = RunSettings {
            rules,
            ..RunSettings::default()
        };
        run.tool_settings.file_operations.forbidden_paths = vec!["keys".to_owned()];
        let permissions = AgentPermissions::new(&role, &run, tools, checkout.path()).unwrap();
        let inside = checkout.path().join("x/../keys/a.md").display().to_string();
        let table: [(&str, &[&str], &str); 10] = [
            ("Bash", &["git", "push", "origin"], "deny:Bash(git push:*)"),
            (
                "run_shell_command",
                &["true && git push"],
                "deny:Bash(git push:*)",
            ),
            ("Bash", &["git", "status"], "default"),
            ("write_file", &["docs/a.md"], "ask:Write(/docs/**)"),
            (
                "write_file",
                &["keys/a.md"],
                "tools.file_operations.forbidden_paths",
            ),
            (
                "write_file",
                &[&inside],
                "tools.file_operations.forbidden_paths",
            ),
            ("write_file", &["../a.md"], "built-in:worktree"),
            ("write_file", &["agents/a.md"], "built-in:configuration"),
            ("read_file", &[], "default"),
            ("grep", &[], "built-in:role"),
        ];
        for (tool, words, expected) in table {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            match permissions.decide(tool, &words).unwrap() {
                Answered::Decided(decision) => {
                    assert_eq!(decision.rule(), expected, "{tool} {words:?}")
                }
                other => panic!("{tool} {words:?}: {other:?}"),
            }
        }
        let unknown = PermissionError::UnknownTool {
            tool: "raed_file".to_owned(),
            nearest: Some("read_file".to_owned()),
        };
        assert_eq!(permissions.decide("raed_file", &[]), Err(unknown));
    }
}
