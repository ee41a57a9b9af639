//! `manual`: writes the manual pages for those who pack the program.

use crate::args::{self, ManualArgs};
use crate::error::CommandError;

/// Runs the command.
pub(crate) fn execute(arguments: &ManualArgs) -> Result<u8, CommandError> {
    let folder = &arguments.folder;
    clap_mangen::generate_to(args::command(), folder).map_err(|error| {
        CommandError::usage(format!(
            "failed to write the manual pages into {}: {error}",
            folder.display()
        ))
    })?;
    Ok(0)
}
