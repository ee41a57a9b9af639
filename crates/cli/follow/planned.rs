//! The file of a plan that a run makes: chosen before the run, written when the plan is there, and
//! never over another file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind as IoErrorKind, Write as _};
use std::path::{Path, PathBuf};

use orchestrate_core::RunState;

use crate::context::Context;
use crate::error::{CommandError, ErrorKind};

/// The name of the file unless the user names one.
const DEFAULT: &str = "plan.md";
/// How many names are tried if there are such files already.
const MAX_NAMES: usize = 1_000;

/// Returns the absolute path of the file for the plan: the one that the user names, or one that
/// does not exist yet.
pub(crate) fn choose(context: &Context, named: Option<&Path>) -> Result<String, CommandError> {
    let path = match named {
        Some(named) => {
            let path = context.directory.join(named);
            let shown = named.display();
            if exists(&path) {
                let error = CommandError::usage(format!(
                    "{shown} exists already, and a plan never replaces a file"
                ));
                return Err(error.hint("name a file that does not exist yet"));
            }
            if !path.parent().is_some_and(Path::is_dir) {
                return Err(CommandError::usage(format!(
                    "the folder of {shown} does not exist"
                )));
            }
            path
        }
        None => {
            let free = names(&context.directory.join(DEFAULT)).find(|path| !exists(path));
            free.ok_or_else(|| {
                CommandError::usage(format!("there are too many files like {DEFAULT} here"))
            })?
        }
    };
    path.into_os_string().into_string().map_err(|path| {
        CommandError::usage(format!(
            "the path of the plan is not valid UTF-8: {}",
            path.to_string_lossy()
        ))
    })
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Writes the plan that a run has made, if it was asked to make one, and returns the path of its
/// file: the one that was asked for, or the next with a number if that exists by now.
pub(crate) fn write_due(state: &RunState) -> Result<Option<PathBuf>, CommandError> {
    let Some((path, plan)) = state.made_plan() else {
        return Ok(None);
    };
    for path in names(Path::new(path)) {
        match create(&path, plan) {
            Ok(()) => return Ok(Some(path)),
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {
                // An earlier process may have written it, and may have been killed before it said
                // so.
                if fs::read(&path).is_ok_and(|written| written == plan.as_bytes()) {
                    return Ok(Some(path));
                }
            }
            Err(error) => return Err(not_written(state, &path, &error.to_string())),
        }
    }
    Err(not_written(
        state,
        Path::new(path),
        "there are too many files of this name",
    ))
}

fn not_written(state: &RunState, path: &Path, why: &str) -> CommandError {
    CommandError::new(
        ErrorKind::Failed,
        format!("failed to write the plan to {}: {why}", path.display()),
    )
    .hint(format!(
        "the plan is kept: `orchestrate status {}` shows it",
        state.run_id
    ))
}

/// Creates a file with a text; a file that cannot be written as a whole is removed again.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .inspect_err(|_| drop(fs::remove_file(path)))
}

/// Returns a path, and others like it with numbers.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let path = path.to_owned();
    (1..=MAX_NAMES).map(move |number| numbered(&path, number))
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or_else(String::new, |extension| {
        format!(".{}", extension.to_string_lossy())
    });
    if number == 1 {
        path.to_owned()
    } else {
        path.with_file_name(format!("{stem}-{number}{extension}"))
    }
}
