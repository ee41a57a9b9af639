//! The options of commands that print JSON.

use clap::Args;

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--json` of a command that prints lines.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct JsonLinesArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}
