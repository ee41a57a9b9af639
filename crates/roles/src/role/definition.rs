//! The definition of a role, and the errors and warnings of its file.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::{Grant, Permission, Policy, RuleDecision, RuleText};
use orchestrate_core::task::Delivers;
use orchestrate_core::{Address, MapChoice};

/// The maximum size of a role file: far more than a prompt needs.
pub const MAX_ROLE_BYTES: usize = 64 * 1024;

/// The maximum length of a role's name.
pub const MAX_NAME_BYTES: usize = 64;

/// The definition of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its name in plans: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// The system prompt.
    pub prompt: String,
    /// The canonical names of its tools in the order of the file; `None` means the default set.
    pub tools: Option<Vec<String>>,
    /// The canonical names of tools that its agents may not use.
    pub disallowed: Vec<String>,
    /// `provider/model`; `None` means the run's.
    pub model: Option<String>,
    /// The models that take over while the endpoint of its model is out, in order; `None` means the
    /// run's.
    pub fallback: Option<Vec<String>>,
    /// Maximum number of turns of an attempt.
    pub max_turns: Option<u32>,
    /// Maximum size of a request in tokens.
    pub context_tokens: Option<u64>,
    /// Maximum size of a reply in tokens.
    pub max_output_tokens: Option<u32>,
    /// What its tasks deliver.
    pub delivers: Delivers,
    /// Whether a task that changes nothing has succeeded, because there was nothing to do.
    pub may_do_nothing: bool,
    /// Whether work is returned to its agent if the facts do not bear out what its report claims;
    /// otherwise that is only shown.
    #[serde(default)]
    pub strict_hand_back: bool,
    /// Its permissions; `None` means those of its tools.
    pub permissions: Option<BTreeSet<Permission>>,
    /// What its agents may send messages to; `None` means everybody in the run, and the user.
    pub channels: Option<Vec<Address>>,
    /// Whether its agents get a map of the repository, and how large; `None` means as the run says.
    #[serde(default)]
    pub map: Option<MapChoice>,
    /// Permission rules from a `permission` map.
    pub rules: Vec<RuleText>,
    /// The keys that this version does not know, with their values.
    pub unknown: Map<String, Value>,
}

/// Why a file is not a valid role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// The file is larger than [`MAX_ROLE_BYTES`].
    #[error("read role `{role}`: it has {bytes} bytes, at most {MAX_ROLE_BYTES} are allowed")]
    TooLarge {
        /// The file's stem.
        role: String,
        /// Its size in bytes.
        bytes: usize,
    },
    /// The front matter is not closed.
    #[error("read role `{0}`: its front matter is not closed; end it with a line `---`")]
    OpenFrontMatter(String),
    /// The front matter is not a YAML mapping.
    #[error("read role `{role}`, line {line}: {reason}")]
    FrontMatter {
        /// The file's stem.
        role: String,
        /// The line in the file, from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
    /// The name is too long or contains characters that are not allowed.
    #[error(
        "name a role `{0}`: use lower-case letters, digits, `-` and `_`, at most {MAX_NAME_BYTES} \
         bytes"
    )]
    Name(String),
    /// A value is not valid for its key.
    #[error("read role `{role}`, line {line}: `{key}` expects {expected}")]
    Value {
        /// The file's stem.
        role: String,
        /// The line in the file, from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// The values that it accepts.
        expected: Cow<'static, str>,
    },
    /// The file has no front matter, which its product requires; it may be something else.
    #[error("read role `{0}`: it has no front matter with a description")]
    NoFrontMatter(String),
    /// The file switches the role off.
    #[error("use role `{0}`: its file disables it")]
    Disabled(String),
    /// The role describes an agent that runs elsewhere.
    #[error("use role `{0}`: it is a remote agent, and agents run on this machine only")]
    Remote(String),
    /// There is no prompt below the front matter.
    #[error("read role `{0}`: it has no prompt")]
    NoPrompt(String),
}

/// A problem of a role that does not prevent its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum RoleWarning {
    /// An unknown key that resembles a known one.
    #[error("line {line}: unknown key `{key}`: did you mean `{known}`?")]
    MisspelledKey {
        /// The line in the file, from 1.
        line: usize,
        /// The key as written.
        key: String,
        /// The nearest known key.
        known: String,
    },
    /// An unknown key.
    #[error("line {line}: unknown key `{key}` has no effect")]
    UnknownKey {
        /// The line in the file, from 1.
        line: usize,
        /// The key as written.
        key: String,
    },
    /// A key of another product that has no effect here.
    #[error("line {line}: `{key}` has no effect here")]
    UnusedKey {
        /// The line in the file, from 1.
        line: usize,
        /// The key as written.
        key: String,
    },
    /// A model that only another product knows.
    #[error(
        "line {line}: the model `{model}` has no effect, since it names no provider; write \
         provider/model"
    )]
    ForeignModel {
        /// The line in the file, from 1.
        line: usize,
        /// The model as written.
        model: String,
    },
    /// A tool with a pattern, which would restrict it in other products but not here.
    #[error(
        "line {line}: `{written}` grants all of `{tool}`, since the pattern in parentheses has no \
         effect here; use it in rules instead: `permission` in this file, `ask` and `deny` in the \
         settings"
    )]
    UnappliedPattern {
        /// The line in the file, from 1.
        line: usize,
        /// The tool as written.
        written: String,
        /// The tool's canonical name.
        tool: String,
    },
    /// A tool that does not exist.
    #[error("unknown tool `{tool}`; known: {}", known.join(", "))]
    UnknownTool {
        /// The tool as written, or its canonical name.
        tool: String,
        /// Every tool that exists.
        known: Vec<String>,
    },
}

impl Role {
    /// Returns the permissions of the role's agents, before any rules.
    pub fn granted(&self) -> Vec<Permission> {
        match &self.permissions {
            Some(permissions) => permissions.iter().copied().collect(),
            None => Permission::ALL.to_vec(),
        }
    }

    /// Returns the tools and permissions of the role's agents, before any rules.
    pub fn grant(&self, names: &ToolNames) -> Grant {
        let mut grant = match &self.tools {
            Some(tools) => Grant::of_tools(tools.iter().map(String::as_str)),
            None => Grant::of_tools(names.defaults()),
        };
        grant.tools.retain(|tool| !self.disallowed.contains(tool));
        if let Some(permissions) = &self.permissions {
            grant.permissions.clone_from(permissions);
        }
        grant
    }

    /// Returns a run's rules with those of the role, which only narrow them.
    pub fn rules_within(&self, of_run: &[RuleText]) -> Vec<RuleText> {
        let narrowing = self
            .rules
            .iter()
            .filter(|rule| rule.decision != RuleDecision::Allow);
        of_run.iter().chain(narrowing).cloned().collect()
    }

    /// Reports whether the role grants any tool that can change a file, under its rules.
    pub(super) fn can_change_files(&self, names: &ToolNames) -> bool {
        let grant = self.grant(names);
        let policy = Policy::new(&self.rules, names).unwrap_or_default();
        let changes = grant
            .tools
            .iter()
            .filter_map(|tool| Some((tool, names.tool(tool)?)));
        changes
            .filter(|(_, traits)| traits.changes_files)
            .any(|(tool, traits)| policy.permits(&grant, tool, traits.permission))
    }

    /// Creates the role of a file without front matter.
    pub(super) fn bare(name: &str, prompt: &str) -> Self {
        let first = prompt
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        Self {
            name: name.to_owned(),
            description: first.trim_start_matches('#').trim().to_owned(),
            prompt: prompt.to_owned(),
            ..Self::default()
        }
    }

    /// Returns a warning for each tool that the role names and that is not known; patterns with `*`
    /// are skipped.
    pub fn unknown_tools(&self, names: &ToolNames) -> Vec<RoleWarning> {
        let named = self.tools.iter().flatten().chain(&self.disallowed);
        let unknown = named.filter(|tool| names.tool(tool).is_none() && !tool.contains('*'));
        let known: Vec<String> = names.names().map(str::to_owned).collect();
        unknown
            .map(|tool| RoleWarning::UnknownTool {
                tool: tool.clone(),
                known: known.clone(),
            })
            .collect()
    }
}
