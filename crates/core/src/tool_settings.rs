//! What the user lets tools do, frozen with the run's settings.
//!
//! A limit without a value leaves a tool to the product's own caps, which the executor's limits name; an allow list
//! without a value allows everything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Default maximum size in MiB of a file that a tool reads or writes; larger files can be read with commands.
pub const MAX_FILE_SIZE_MB: u64 = 10;
/// Default maximum size in MiB of a response from the web.
pub const MAX_RESPONSE_SIZE_MB: u64 = 5;
/// The paths that tools never touch by default.
pub const FORBIDDEN_PATHS: [&str; 3] = ["/etc", "/usr", "/var"];
/// The hosts that tools for the web reach by default without asking.
pub const ALLOWED_DOMAINS: [&str; 3] = ["*.github.com", "*.stackoverflow.com", "*.python.org"];

/// The settings of all tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
}

/// Limits of tools that read or change files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileOperations {
    /// Maximum size in MiB of a file to read whole or write; `read_file` shows pages of a larger one.
    pub max_file_size_mb: u64,
    /// The endings of the files that may be touched, with a dot; `None` for all files.
    pub allowed_extensions: Option<Vec<String>>,
    /// Paths that are never touched, each with everything below it: absolute, or relative to the project's root.
    pub forbidden_paths: Vec<String>,
}

/// Limits of tools that run programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CodeExecution {
    /// Maximum time of a command in seconds.
    pub timeout_seconds: Option<u64>,
    /// Maximum memory of a command in MiB.
    pub memory_limit_mb: Option<u64>,
    /// The programs that may be run; `None` for all.
    pub allowed_commands: Option<Vec<String>>,
}

/// Limits of tools that connect to other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WebRequests {
    /// Maximum time of a request in seconds.
    pub timeout_seconds: Option<u64>,
    /// Maximum size of a response in MiB.
    pub max_response_size_mb: u64,
    /// Hosts that are reached without asking: names, or `*.name` for every host below a name.
    pub allowed_domains: Vec<String>,
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
        }
    }
}
