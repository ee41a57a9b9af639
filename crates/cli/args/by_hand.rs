//! The arguments of the commands for work by hand.

use clap::Args;

use super::output::OutputArgs;
use super::words::words;

#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    /// The task's id, or a unique prefix of it
    pub(crate) task: String,
    /// The message of your commit [default: one that names the task]
    #[arg(long, short, value_name = "TEXT", value_parser = words)]
    pub(crate) message: Option<String>,
    /// The run's id, or a unique prefix of it [default: the latest run of this repository]
    #[arg(long)]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// The task's id, or a unique prefix of it
    pub(crate) task: String,
    /// Start the editor that VISUAL or EDITOR names, instead of the shell that SHELL names
    #[arg(long)]
    pub(crate) editor: bool,
    /// The run's id, or a unique prefix of it [default: the latest run of this repository]
    #[arg(long)]
    pub(crate) run: Option<String>,
}
