//! The arguments of the commands about what is left of runs: `clean`, `discard` and `recover`.

use clap::Args;

use super::candidates;
use super::shared::{JsonArgs, WhichRun};

/// `clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove files that git ignores (build output, but possibly the only copy of a file)
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Remove branches, worktrees and saved states of landed runs, except the newest
    /// `clean.keep_runs` runs
    #[arg(long, conflicts_with = "run")]
    pub(crate) landed: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// `discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// The run's id, or a unique prefix of it
    #[arg(add = candidates::runs())]
    pub(crate) run: String,
    /// Only say what would be lost
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// `recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// Restore this saved state, by its name or its commit, as a branch
    #[arg(long, value_name = "NAME")]
    pub(crate) restore: Option<String>,
    /// The name of the branch [default: orchestrate/recovered/RUN/NAME]
    #[arg(long, requires = "restore")]
    pub(crate) branch: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
