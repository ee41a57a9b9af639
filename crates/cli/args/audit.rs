//! The options of `audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::{JsonArgs, JsonLinesArgs, WhichRun};

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

/// What can be done with the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print a run's tool calls, oldest first
    Show(AuditShowArgs),
    /// Verify that no line of the log was changed, removed or moved
    Verify(AuditVerifyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditShowArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    #[command(flatten)]
    pub(crate) json: JsonLinesArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// Verify all runs in this file instead
    #[arg(long, conflicts_with = "run")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
