//! The user's state folder, whose content is trusted.

use std::path::Path;

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
