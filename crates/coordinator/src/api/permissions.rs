//! Decides, without a run, what the policy says to a call of an agent.

use std::path::{Path, PathBuf};

use orchestrate_core::RunSettings;
use orchestrate_core::policy::{Access, Decision, Grant, Permission, Policy, PolicyError, Question, Target};
use orchestrate_core::tool_names::ToolNames;
use orchestrate_plan::role::Role;
use orchestrate_tools::{ToolError, normalize_path};

/// What the agents of a role may do under a run's settings.
#[derive(Clone, Debug)]
pub struct AgentPermissions {
    names: ToolNames,
    grant: Grant,
    policy: Policy,
    worktree: PathBuf,
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
    /// A path is invalid.
    #[error("read a path: {0}")]
    Path(String),
    /// Rules of the settings or of the role are invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Rules(Vec<PolicyError>),
}

impl AgentPermissions {
    /// Returns the permissions of a role's agents; `worktree` is the folder that their paths are in.
    ///
    /// # Errors
    /// [`PermissionError::Rules`] if a rule cannot be parsed.
    pub fn of(role: &Role, run: &RunSettings, names: ToolNames, worktree: &Path) -> Result<Self, PermissionError> {
        let policy = Policy::new(&role.rules_within(&run.rules), &names).map_err(PermissionError::Rules)?;
        let policy = policy.limited(&run.tool_settings, worktree);
        Ok(Self { grant: role.grant(&names), names, policy, worktree: worktree.to_owned() })
    }

    /// Decides a call of a tool, under any of its names, that names these words: a command and its arguments for a tool
    /// that runs programs (one word is a line for a shell), paths for a tool of files, or hosts.
    ///
    /// # Errors
    /// [`PermissionError::UnknownTool`] if no tool has the name; [`PermissionError::Path`] if a word is no path.
    pub fn decide(&self, tool: &str, words: &[String]) -> Result<Decision, PermissionError> {
        let canonical = self.names.canonical(tool);
        let Some(traits) = self.names.tool(&canonical) else {
            let nearest = orchestrate_plan::nearest(tool, self.names.names()).map(str::to_owned);
            return Err(PermissionError::UnknownTool { tool: tool.to_owned(), nearest });
        };
        let targets = match self.targets(traits.permission, words) {
            Ok(targets) => targets,
            Err(ToolError::Denied { reason, rule }) => return Ok(Decision::Deny { rule, reason }),
            Err(error) => return Err(PermissionError::Path(error.to_string())),
        };
        let question =
            Question { tool: &canonical, permission: traits.permission, access: Access::Own, targets: &targets };
        Ok(self.policy.decide(&self.grant, &question))
    }

    fn targets(&self, permission: Permission, words: &[String]) -> Result<Vec<Target>, ToolError> {
        use Permission::{CodeExecution, FileModify, FileRead, FileWrite, NetworkAccess};
        let path = |word: &String| normalize_path(word, &self.worktree).map(Target::Path);
        Ok(match (permission, words) {
            (_, []) => Vec::new(),
            (CodeExecution, [line]) => vec![Target::Shell(line.clone())],
            (CodeExecution, words) => vec![Target::Argv(words.to_vec())],
            (FileRead | FileWrite | FileModify, _) => words.iter().map(path).collect::<Result<_, _>>()?,
            (NetworkAccess, _) => words.iter().cloned().map(Target::Host).collect(),
            _ => words.iter().cloned().map(Target::Name).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::settings::{RuleDecision, RuleText};

    use super::*;

    #[test]
    fn a_call_is_decided_as_in_a_run() {
        let names = crate::tool_names(None, None).unwrap();
        let text = "---\nname: tester\ntools: Read, Bash, Write\n---\nTest it.\n";
        let (role, _) = Role::parse("tester", text, &names).unwrap();
        let rule = |decision, rule: &str| RuleText::new(decision, rule, "--deny");
        let rules = vec![rule(RuleDecision::Deny, "Bash(git push:*)"), rule(RuleDecision::Ask, "Write(/docs/**)")];
        let mut run = RunSettings { rules, ..RunSettings::default() };
        run.tool_settings.file_operations.forbidden_paths = vec!["keys".to_owned()];
        let permissions = AgentPermissions::of(&role, &run, names, Path::new("/w")).unwrap();
        let table: [(&str, &[&str], &str); 10] = [
            ("Bash", &["git", "push", "origin"], "deny:Bash(git push:*)"),
            ("run_shell_command", &["true && git push"], "deny:Bash(git push:*)"),
            ("Bash", &["git", "status"], "default"),
            ("write_file", &["docs/a.md"], "ask:Write(/docs/**)"),
            ("write_file", &["keys/a.md"], "tools.file_operations.forbidden_paths"),
            ("write_file", &["/w/x/../keys/a.md"], "tools.file_operations.forbidden_paths"),
            ("write_file", &["../a.md"], "built-in:worktree"),
            ("write_file", &["agents/a.md"], "built-in:configuration"),
            ("read_file", &[], "default"),
            ("grep", &[], "built-in:role"),
        ];
        for (tool, words, expected) in table {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(permissions.decide(tool, &words).unwrap().rule(), expected, "{tool} {words:?}");
        }
        let unknown =
            PermissionError::UnknownTool { tool: "raed_file".to_owned(), nearest: Some("read_file".to_owned()) };
        assert_eq!(permissions.decide("raed_file", &[]), Err(unknown));
    }
}
