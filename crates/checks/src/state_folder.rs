//! The user's state folder, whose content is trusted, and the other paths of the settings.

use std::path::{Path, PathBuf};

use crate::checks_error::ChecksError;

/// Refuses a state folder that another user owns or could replace, since its content is trusted.
/// Access to the user's own folder is removed from everyone else.
///
/// # Errors
///
/// [`ChecksError::StateFolder`].
pub fn require_own_state(state_dir: &Path) -> Result<(), ChecksError> {
    let refused = |reason: String| ChecksError::StateFolder {
        path: state_dir.to_owned(),
        reason,
    };
    orchestrate_files::require_own(state_dir).map_err(|reason| refused(reason.to_string()))?;
    orchestrate_files::close_to_others(state_dir)
        .map_err(|error| refused(format!("its permissions cannot be restricted: {error}")))
}

/// Makes relative paths of the settings absolute, since git is started in other folders.
///
/// # Errors
///
/// [`ChecksError::Io`] if the current folder is gone.
pub fn anchor<'p>(paths: impl IntoIterator<Item = &'p mut PathBuf>) -> Result<(), ChecksError> {
    for path in paths {
        if path.is_relative() {
            *path = absolute(path).map_err(ChecksError::at(&*path))?;
        }
    }
    Ok(())
}

/// Returns a path from the root, without `..` as far as it exists: worktrees are compared with what
/// git says of them.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let found = whole
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = found else {
        return Ok(whole);
    };
    let rest = whole.strip_prefix(above).map_err(std::io::Error::other)?;
    Ok(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}
