//! The option of commands that print JSON.

use clap::Args;

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
