//! What the user lets tools do, frozen with the run's settings.
//!
//! A limit without a value leaves a tool to the product's own caps, which the executor's limits
//! name; an allow list without a value allows everything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::web::WebServiceName;

/// The most time that an agent's command may ask for, in seconds, unless it is configured: enough
/// for the build or the test suite of a real project.
pub const MAX_COMMAND_SECONDS: u64 = 600;
/// The most time of a request to another host, in seconds, unless it is configured: a slow server,
/// but none that never ends.
pub const MAX_WEB_SECONDS: u64 = 120;
/// Default maximum size in MiB of a file that a tool reads or writes; larger files can be read with
/// commands.
pub const MAX_FILE_SIZE_MB: u64 = 10;
/// Default maximum size in MiB of a response from the web.
pub const MAX_RESPONSE_SIZE_MB: u64 = 5;
/// The paths that tools never touch by default.
pub const FORBIDDEN_PATHS: [&str; 3] = ["/etc", "/usr", "/var"];
/// The hosts that tools for the web reach by default without asking.
pub const ALLOWED_DOMAINS: [&str; 3] = ["*.github.com", "*.stackoverflow.com", "*.python.org"];

/// The settings of all tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolSettings {
    /// Limits of tools that read or change files.
    pub file_operations: FileOperations,
    /// Limits of tools that run programs.
    pub code_execution: CodeExecution,
    /// Limits of tools that connect to other hosts.
    pub web_requests: WebRequests,
    /// The tool that may answer instead of another one which cannot, by the name of that one.
    pub alternatives: BTreeMap<String, String>,
    /// What happens to agents that have read text from outside.
    pub taint: TaintSettings,
}

/// What happens to agents that have read text from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaintSettings {
    /// What happens to a call that could send private data out after text from outside was read.
    pub policy: TaintPolicy,
    /// Whether the repository is public, so that its files are not private data.
    pub public_repository: bool,
}

/// What happens to a call that could send private data out after text from outside was read; the
/// strictest is last.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaintPolicy {
    /// It runs; its agent is flagged.
    #[default]
    Flag,
    /// The user decides.
    Ask,
    /// It is denied.
    Deny,
}

impl TaintPolicy {
    /// Each policy with the word for it, the strictest last.
    pub const WORDS: [(&str, TaintPolicy); 3] = [
        ("flag", TaintPolicy::Flag),
        ("ask", TaintPolicy::Ask),
        ("deny", TaintPolicy::Deny),
    ];

    /// Finds a policy by its word.
    pub fn named(word: &str) -> Option<TaintPolicy> {
        TaintPolicy::WORDS
            .into_iter()
            .find_map(|(name, policy)| (name == word).then_some(policy))
    }
}

/// Limits of tools that read or change files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileOperations {
    /// Maximum size in MiB of a file to read whole or write; `read_file` shows pages of a larger
    /// one.
    pub max_file_size_mb: u64,
    /// The endings of the files that may be touched, with a dot; `None` for all files.
    pub allowed_extensions: Option<Vec<String>>,
    /// Paths that are never touched, each with everything below it: absolute, or relative to the
    /// project's root.
    pub forbidden_paths: Vec<String>,
}

/// Limits of tools that run programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CodeExecution {
    /// Maximum time of a command in seconds.
    pub timeout_seconds: Option<u64>,
    /// Maximum processor time of a command in seconds, all its processes together.
    pub cpu_seconds: Option<u64>,
    /// Maximum processor time of all commands of an agent in seconds.
    pub agent_cpu_seconds: Option<u64>,
    /// Maximum memory of a command in MiB.
    pub memory_limit_mb: Option<u64>,
    /// The programs that may be run; `None` for all.
    pub allowed_commands: Option<Vec<String>>,
}

/// Limits of tools that connect to other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WebRequests {
    /// Maximum time of a request in seconds.
    pub timeout_seconds: Option<u64>,
    /// Maximum size of a response in MiB.
    pub max_response_size_mb: u64,
    /// Hosts that are reached without asking: names, or `*.name` for every host below a name.
    pub allowed_domains: Vec<String>,
    /// The service that searches the web; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_service: Option<WebServiceName>,
    /// The addresses of services that are not asked at their own, which are reached without asking.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<WebServiceName, String>,
}

impl Default for FileOperations {
    fn default() -> Self {
        Self {
            max_file_size_mb: MAX_FILE_SIZE_MB,
            allowed_extensions: None,
            forbidden_paths: FORBIDDEN_PATHS.map(str::to_owned).to_vec(),
        }
    }
}

impl Default for WebRequests {
    fn default() -> Self {
        Self {
            timeout_seconds: None,
            max_response_size_mb: MAX_RESPONSE_SIZE_MB,
            allowed_domains: ALLOWED_DOMAINS.map(str::to_owned).to_vec(),
            search_service: None,
            services: BTreeMap::new(),
        }
    }
}
