//! The options of `tool run` and `cache`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use orchestrate_core::policy::CacheMode;
use orchestrate_core::policy::cache::Phase;

use super::shared::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    #[command(subcommand)]
    pub(crate) command: ToolCommand,
}

/// What can be done with a tool.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// Run a command, and exit with its exit code
    Run(Box<ToolRunArgs>),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["command", "shell"]))]
pub(crate) struct ToolRunArgs {
    /// The id of the call [default: tool_NNNNN, counted in this repository]
    #[arg(long, value_name = "ID", value_parser = word)]
    pub(crate) id: Option<String>,
    /// The tool's name [default: the command's]
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub(crate) name: Option<String>,
    /// The agent that calls [default: $AGENT_NAME, else $RUNNER, else local]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The phase of the loop: plan or build [default: build]
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<Phase>,
    /// The plan of the loop; while it has an open task, nothing is replayed in the build phase
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// The loop's iteration, for the markers
    #[arg(long, value_name = "N")]
    pub(crate) iter: Option<u64>,
    /// The key of the result [default: made from the agent, the phase, a hash and the commit]
    #[arg(long, value_name = "KEY", value_parser = word)]
    pub(crate) cache_key: Option<String>,
    /// The commit [default: the short id of HEAD]
    #[arg(long, value_name = "SHA", value_parser = word)]
    pub(crate) git_sha: Option<String>,
    /// A file whose content stands for everything that the result depends on
    #[arg(long, value_name = "FILE", conflicts_with = "cache_key")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Whether results are stored and replayed: off, read, write or use [default: $CACHE_MODE; use
    /// if $CACHE_SKIP is true; else off]
    #[arg(long, value_name = "MODE")]
    pub(crate) cache: Option<CacheMode>,
    /// Run the command in any case, and store nothing
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
    /// Run this text with `sh -c`
    #[arg(short = 'c', value_name = "STRING", allow_hyphen_values = true)]
    pub(crate) shell: Option<OsString>,
    /// Print errors as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Parses a value that must not be empty.
fn word(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// What can be done with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show how many results are kept, how large they are, and how often one was found
    Stats(JsonArgs),
    /// Remove all results
    Clear(JsonArgs),
}
