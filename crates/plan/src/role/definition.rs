//! What a role is, and what can be wrong with its file.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use orchestrate_core::policy::{Decision, Grant, Permission, Policy, Question};
use orchestrate_core::settings::RuleText;

/// The largest role file: far more than an agent's context could hold.
pub const MAX_ROLE_BYTES: usize = 64 * 1024;

/// The longest name of a role.
pub const MAX_NAME_BYTES: usize = 64;

/// The definition of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// What plans call it: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The canonical names of its tools in the order of the file; `None` means the default set.
    pub tools: Option<Vec<String>>,
    /// The canonical names of tools that it never has.
    pub disallowed: Vec<String>,
    /// `provider/model`; `None` means the run's.
    pub model: Option<String>,
    /// Turns of one attempt.
    pub max_turns: Option<u32>,
    /// Bound of a request in tokens.
    pub context_tokens: Option<u64>,
    /// Largest reply in tokens.
    pub max_output_tokens: Option<u32>,
    /// What a task of this role ends with.
    pub delivers: Delivers,
    /// The permissions that it has; `None` means those of its tools.
    pub permissions: Option<BTreeSet<Permission>>,
    /// The channels that it listens to.
    pub channels: Vec<String>,
    /// Permission rules from a `permission` map.
    pub rules: Vec<RuleText>,
}

/// What a role may use that names no tools: every tool that is built in and reaches no network.
pub const DEFAULT_TOOLS: [&str; 15] = [
    "read_file",
    "write_file",
    "update_file",
    "delete_file",
    "list_directory",
    "create_directory",
    "search_files",
    "grep",
    "run_shell_command",
    "git_status",
    "git_diff",
    "git_log",
    "git_commit",
    "todo_write",
    "send_message_to_agent",
];

/// The tools that can change a file of the worktree, with what each needs; a role that has none of them reads only.
const CHANGING_TOOLS: [(&str, Permission); 19] = [
    ("write_file", Permission::FileWrite),
    ("append_file", Permission::FileWrite),
    ("update_file", Permission::FileWrite),
    ("apply_patch", Permission::FileWrite),
    ("create_directory", Permission::FileWrite),
    ("delete_file", Permission::FileModify),
    ("copy_file", Permission::FileModify),
    ("move_file", Permission::FileModify),
    ("run_shell_command", Permission::CodeExecution),
    ("run_python", Permission::CodeExecution),
    ("run_tests", Permission::CodeExecution),
    ("run_formatter", Permission::CodeExecution),
    ("install_package", Permission::CodeExecution),
    ("create_virtual_environment", Permission::CodeExecution),
    ("git_merge", Permission::GitOperations),
    ("git_pull", Permission::GitOperations),
    ("git_checkout", Permission::GitOperations),
    ("git_stash", Permission::GitOperations),
    ("spawn_child_agent", Permission::AgentSpawn),
];

/// What a task of a role ends with; a role that does not say and only reads delivers a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivers {
    /// Changes of files; without any the task has failed.
    #[default]
    Changes,
    /// A report; there is no commit.
    Report,
}

/// Why a file is no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// The file is larger than [`MAX_ROLE_BYTES`].
    #[error("read role `{role}`: it has {bytes} bytes, at most {MAX_ROLE_BYTES} are allowed")]
    TooLarge {
        /// The file's stem.
        role: String,
        /// Its size.
        bytes: usize,
    },
    /// The front matter begins and does not end.
    #[error("read role `{0}`: its front matter is not closed; end it with a line `---`")]
    OpenFrontMatter(String),
    /// The front matter is no YAML mapping.
    #[error("read role `{role}`, line {line}: {reason}")]
    FrontMatter {
        /// The file's stem.
        role: String,
        /// From 1.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// The name does not fit.
    #[error("name a role `{0}`: use lower-case letters, digits, `-` and `_`, at most {MAX_NAME_BYTES} bytes")]
    Name(String),
    /// A key does not take its value.
    #[error("read role `{role}`, line {line}: `{key}` expects {expected}")]
    Value {
        /// The file's stem.
        role: String,
        /// From 1.
        line: usize,
        /// The key.
        key: String,
        /// What it takes.
        expected: Cow<'static, str>,
    },
    /// There is no prompt below the front matter.
    #[error("read role `{0}`: it has no prompt")]
    NoPrompt(String),
}

/// Something about a role that keeps nothing from running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum RoleWarning {
    /// A key that is nearly a known one.
    #[error("line {line}: unknown key `{key}`: did you mean `{known}`?")]
    MisspelledKey {
        /// From 1.
        line: usize,
        /// As written.
        key: String,
        /// The nearest known key.
        known: String,
    },
    /// A key that nobody knows.
    #[error("line {line}: unknown key `{key}` has no effect")]
    UnknownKey {
        /// From 1.
        line: usize,
        /// As written.
        key: String,
    },
    /// A key of another product that has no effect here.
    #[error("line {line}: `{key}` has no effect here")]
    UnusedKey {
        /// From 1.
        line: usize,
        /// As written.
        key: String,
    },
    /// A tool that other products would restrict.
    #[error(
        "line {line}: `{written}` grants all of `{tool}`, since the pattern in parentheses has no effect here; use it in \
        rules instead: `permission` in this file, `ask` and `deny` in the settings"
    )]
    UnappliedPattern {
        /// From 1.
        line: usize,
        /// As written.
        written: String,
        /// Its canonical name.
        tool: String,
    },
    /// A tool that does not exist.
    #[error("unknown tool `{tool}`; known: {}", known.join(", "))]
    UnknownTool {
        /// As written, or its canonical name.
        tool: String,
        /// Every tool that exists.
        known: Vec<String>,
    },
}

impl Role {
    /// Returns what the role lets its agents use at all.
    pub fn grant(&self) -> Grant {
        let named = self.tools.as_ref().map(|tools| tools.iter().map(String::as_str).collect::<Vec<_>>());
        let mut grant = Grant::of_tools(named.unwrap_or_else(|| DEFAULT_TOOLS.to_vec()));
        let denied = Grant::of_tools(self.disallowed.iter().map(String::as_str));
        grant.tools.retain(|tool| !denied.tools.contains(tool));
        if let Some(permissions) = &self.permissions {
            grant.permissions.clone_from(permissions);
        }
        grant
    }

    /// Reports whether any tool that the role lets its agents use can change a file.
    pub(super) fn can_change_files(&self) -> bool {
        let grant = self.grant();
        let policy = Policy::new(&self.rules).unwrap_or_default();
        CHANGING_TOOLS.iter().any(|(tool, permission)| {
            let question = Question { tool, permission: *permission, targets: &[] };
            !matches!(policy.decide(&grant, &question), Decision::Deny { .. })
        })
    }

    /// Makes the role that a file without front matter is.
    pub(super) fn bare(name: &str, prompt: &str) -> Self {
        let first = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        Self {
            name: name.to_owned(),
            description: first.trim_start_matches('#').trim().to_owned(),
            prompt: prompt.to_owned(),
            tools: None,
            disallowed: Vec::new(),
            model: None,
            max_turns: None,
            context_tokens: None,
            max_output_tokens: None,
            delivers: Delivers::default(),
            permissions: None,
            channels: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Warns of each tool that the role names and that does not exist.
    pub fn unknown_tools(&self, known: &[&str]) -> Vec<RoleWarning> {
        let named = self.tools.iter().flatten().chain(&self.disallowed);
        let unknown = named.filter(|tool| !known.contains(&tool.as_str()) && !tool.contains('*'));
        let known: Vec<String> = known.iter().map(|tool| (*tool).to_owned()).collect();
        unknown.map(|tool| RoleWarning::UnknownTool { tool: tool.clone(), known: known.clone() }).collect()
    }
}
