//! `completions`: prints the script that completes commands in a shell.

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsArgs};
use crate::error::CommandError;
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(arguments: &CompletionsArgs) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "orchestrate",
        &mut script,
    );
    output::bytes(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
