//! The run that a command is about.

use clap::Args;

/// RUN, by default the latest.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichRun {
    /// The run's id, or a unique prefix of it [default: the latest run of this repository]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
}
