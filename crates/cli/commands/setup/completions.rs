//! `completions`: prints the script with which a shell asks this program what can be typed next,
//! and answers it.

use std::ffi::OsString;
use std::path::Path;

use clap_complete::CompleteEnv;
use clap_complete::env::Shells;
use orchestrate_core::run::{EXIT_OK, EXIT_USAGE};

use crate::args::{self, CompletionsArgs};
use crate::error::CommandError;
use crate::show::output;

/// The variable in which a shell that asks names itself.
const ASKING: &str = "_ORCHESTRATE_COMPLETE";

const PROGRAM: &str = "orchestrate";

/// Runs the command.
pub(crate) fn execute(arguments: &CompletionsArgs) -> Result<u8, CommandError> {
    let name = arguments.shell.to_string();
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&name) else {
        return Err(CommandError::not_available(&format!(
            "completions for {name}"
        )));
    };
    let mut script = Vec::new();
    shell
        .write_registration(ASKING, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| CommandError::internal(format!("failed to write the script: {error}")))?;
    output::bytes(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Answers a shell that asks what can be typed next, and returns the exit code; `None` if none
/// asks.
pub(crate) fn answer(typed: &[OsString], directory: &Path) -> Option<u8> {
    let asked = CompleteEnv::with_factory(args::command)
        .var(ASKING)
        .try_complete(typed, Some(directory));
    match asked {
        Ok(false) => None,
        Ok(true) => Some(EXIT_OK),
        Err(error) => {
            output::note(error.to_string().trim_end());
            Some(EXIT_USAGE)
        }
    }
}
