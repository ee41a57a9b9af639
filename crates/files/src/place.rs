//! Whether a folder is in the hands of its user alone.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Lets everybody write.
const WRITABLE_BY_OTHERS: u32 = 0o002;
/// Keeps everybody from renaming and removing what others own.
const STICKY: u32 = 0o1000;

/// Why a folder is not in the hands of its user alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplaced {
    /// It belongs to somebody else.
    #[error("it belongs to another user (uid {owner}, and this is uid {user})")]
    Foreign {
        /// Its owner.
        owner: u32,
        /// Who asks.
        user: u32,
    },
    /// Others may put another one in its place.
    #[error("every user can write to {path}; type `chmod o-w {path}`")]
    Open {
        /// The folder that others can write to: itself, or one above it.
        path: PathBuf,
    },
}

/// Requires of a folder that is there that it belongs to this user, and that no other one can change it or put another
/// one in its place. One that is not there is looked at from the nearest folder above it.
///
/// # Errors
/// With the reason.
pub fn require_own(folder: &Path) -> Result<(), Misplaced> {
    let user = rustix::process::geteuid().as_raw();
    let real = folder.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_else(|| folder.to_owned());
    if let Ok(found) = std::fs::metadata(folder)
        && found.uid() != user
    {
        return Err(Misplaced::Foreign { owner: found.uid(), user });
    }
    for above in real.ancestors() {
        let Ok(found) = std::fs::metadata(above) else { continue };
        let is_itself = above == real && folder.exists();
        let is_open = found.mode() & WRITABLE_BY_OTHERS != 0 && (is_itself || found.mode() & STICKY == 0);
        if is_open {
            return Err(Misplaced::Open { path: above.to_owned() });
        }
    }
    Ok(())
}
