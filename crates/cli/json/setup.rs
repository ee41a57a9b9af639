//! The outputs of the commands about settings, consents, roles and schemas.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orchestrate_core::Address;
use orchestrate_core::policy::hook::HookCommand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A role.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedRole {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// Where it is defined.
    pub(crate) origin: String,
    /// The roles of the same name that it takes precedence over.
    pub(crate) shadowed: Vec<String>,
    /// Its model; null for the run's.
    pub(crate) model: Option<String>,
    /// The models that take over from it; null for the run's.
    pub(crate) fallback: Option<Vec<String>>,
    /// Its tools; null for all default tools.
    pub(crate) tools: Option<Vec<String>>,
    /// Its permissions.
    pub(crate) permissions: Vec<String>,
    /// To whom it may write; null for everybody.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) channels: Option<Vec<Address>>,
    /// Its prompt.
    pub(crate) prompt: String,
    /// The fields of its file that are not known.
    pub(crate) unknown: Map<String, Value>,
    /// What is wrong with it.
    pub(crate) warnings: Vec<String>,
}

/// Whether an agent may call a tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Decided {
    /// The role.
    pub(crate) agent: String,
    /// The tool.
    pub(crate) tool: String,
    /// `allow`, `ask`, `deny` or `unknown`.
    pub(crate) decision: String,
    /// The rule that decides.
    pub(crate) rule: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// Every setting, with its source.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SettingsReport {
    /// The settings by name.
    pub(crate) settings: BTreeMap<String, SettingEntry>,
    /// The permission rules.
    pub(crate) rules: RulesByDecision,
    /// The hooks, in the order in which they are asked.
    pub(crate) hooks: Vec<HookCommand>,
    /// The switches of the environment that are set, by name.
    pub(crate) switches: BTreeMap<String, String>,
    /// The names of the keys and endpoints that are set.
    pub(crate) environment: Vec<String>,
    /// What is wrong with the settings.
    pub(crate) warnings: Vec<String>,
}

/// A setting.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SettingEntry {
    /// Its value as text; null if no source sets it and it has no default.
    pub(crate) value: Option<String>,
    /// Where it comes from.
    pub(crate) source: String,
}

/// The permission rules by what they decide.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RulesByDecision {
    /// Those that allow.
    pub(crate) allow: Vec<RuleEntry>,
    /// Those that ask.
    pub(crate) ask: Vec<RuleEntry>,
    /// Those that deny.
    pub(crate) deny: Vec<RuleEntry>,
}

/// A permission rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RuleEntry {
    /// The rule.
    pub(crate) rule: String,
    /// Where it comes from.
    pub(crate) source: String,
}

/// What a command could send to the network, and where to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NetworkReach {
    /// What it sees beside the files of its commit, in words.
    pub(crate) sees: Vec<String>,
    /// The hosts that it reaches beside the public registries of packages.
    pub(crate) hosts: Vec<String>,
}

/// A command or a tool that a project's files define.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Consent {
    /// The setting, or the file of the tool.
    pub(crate) key: String,
    /// The command, or the content of the file.
    pub(crate) command: String,
    /// Where it is defined.
    pub(crate) place: String,
    /// What it can do with the network; null if it has none.
    pub(crate) network: Option<NetworkReach>,
    /// The hash of what is consented to.
    pub(crate) hash: String,
    /// Whether the user has consented.
    pub(crate) consented: bool,
}

/// What `init` has written, and what it has found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct InitReport {
    /// The file of settings that was written.
    pub(crate) file: PathBuf,
    /// Whether what was found is set, which is also the consent to its commands.
    pub(crate) is_set: bool,
    /// The package managers and build tools of the project.
    pub(crate) found: Vec<FoundTool>,
    /// The command that runs the project's tests.
    pub(crate) verify: Option<String>,
    /// The command that installs what the project needs, with the network.
    pub(crate) setup: Option<String>,
    /// The lines for `.worktreeinclude`.
    pub(crate) include: Vec<String>,
    /// Files that may hold passwords, and that stay out of worktrees.
    pub(crate) secrets: Vec<String>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

/// A package manager or a build tool of a project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FoundTool {
    /// Its name.
    pub(crate) name: String,
    /// The file that shows it, relative to the project.
    pub(crate) by: String,
}

/// The name of a schema in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Known {
    /// The name, which `schema` takes.
    pub(crate) name: String,
}

/// A schema as an output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SchemaText {
    /// Its name.
    pub(crate) name: String,
    /// The schema, in the dialect that it names itself.
    pub(crate) schema: Value,
}
