//! The outputs of the commands about tools, their calls and their results.

use std::path::PathBuf;

use orchestrate_core::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that agents can be given.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolEntry {
    #[serde(flatten)]
    pub(crate) form: ToolForm,
    /// Its other names.
    pub(crate) aliases: Vec<String>,
    /// Other forms in which it can be called.
    pub(crate) second_forms: Vec<ToolForm>,
    /// Whether its result may be replayed.
    pub(crate) cacheable: bool,
    /// The limits of its calls.
    pub(crate) limits: Value,
    /// How it was used in this repository's newest runs.
    pub(crate) r#use: ToolUse,
}

/// One form of a tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolForm {
    /// Its name.
    pub(crate) name: String,
    /// Its title.
    pub(crate) title: String,
    /// What it does.
    pub(crate) description: String,
    /// Its category.
    pub(crate) category: String,
    /// The permission that it needs.
    pub(crate) permission: String,
    /// Whether roles that name no tools have it.
    pub(crate) is_default: bool,
    /// Whether it wraps another program.
    pub(crate) is_wrapped: bool,
    /// What it wraps.
    pub(crate) wrapped: Option<String>,
    /// The command that it runs.
    pub(crate) command_template: Option<String>,
    /// The JSON schema of its parameters.
    pub(crate) parameters: Value,
}

/// How a tool was used.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolUse {
    /// How often it was called.
    pub(crate) calls: u64,
    /// The share of calls with success; null without calls.
    pub(crate) success_rate: Option<f64>,
    /// The time that half of the calls took at most.
    pub(crate) p50_ms: u64,
    /// The time that 95 of 100 calls took at most.
    pub(crate) p95_ms: u64,
}

/// The verdict on a `.tool` file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolFileReport {
    /// The file as typed.
    pub(crate) file: String,
    /// Whether nothing is wrong with it.
    pub(crate) ok: bool,
    /// What is wrong with it.
    pub(crate) problems: Vec<ToolProblem>,
}

/// What is wrong with a `.tool` file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ToolProblem {
    /// `error` or `warning`.
    pub(crate) severity: String,
    /// The line.
    pub(crate) line: Option<u32>,
    /// What is wrong.
    pub(crate) reason: String,
}

/// The results that are kept for replay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CacheStatistics {
    /// How many there are.
    pub(crate) entries: u64,
    /// Their size.
    pub(crate) bytes: u64,
    /// Their maximum size.
    pub(crate) limit_bytes: u64,
    /// How often one was found.
    pub(crate) hits: u64,
    /// How often none was found.
    pub(crate) misses: u64,
}

/// The results that were removed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CacheCleared {
    /// How many there were.
    pub(crate) entries: u64,
    /// Their size.
    pub(crate) bytes: u64,
}

/// A line of a run's audit log.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AuditLine {
    /// The line as the file has it; its fields have the names of the log, and its hash is made of
    /// its text.
    pub(crate) record: Value,
}

/// A line in the file of an audit log that is no record of the run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ForeignLine {
    /// Its number in the file, from 1.
    pub(crate) line: usize,
    /// Its text.
    pub(crate) text: String,
}

/// An audit log that has not been changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Audited {
    /// The file.
    pub(crate) file: PathBuf,
    /// Its runs.
    pub(crate) items: Vec<AuditedRun>,
}

/// A run's part of an audit log.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AuditedRun {
    /// The run.
    pub(crate) run_id: RunId,
    /// The number of its calls.
    pub(crate) calls: u64,
    /// The hash of its last line.
    pub(crate) head: String,
    /// Whether it was compared with the run's journal.
    pub(crate) compared: bool,
}
