//! Commands that are not available yet.

use std::ffi::OsString;

use clap::Args;

/// The arguments of a command that is not available yet.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}
