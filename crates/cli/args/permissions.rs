//! The options of `permissions`.

use clap::{Args, Subcommand};

use super::json::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// What can be asked about permissions.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Decide about a call as a run with these settings would; the exit code is 0 if it may run, 3
    /// if you would be asked or if only a run can tell, and 5 if it is denied
    Check {
        /// The role of the agent
        #[arg(long)]
        agent: String,
        /// The tool, under any of its names
        #[arg(long)]
        tool: String,
        /// The call's arguments as a JSON object; or their values, paths first (for a command, one
        /// word is a line for a shell); or the words of the tool's second form
        #[arg(last = true)]
        words: Vec<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
}
