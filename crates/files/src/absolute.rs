//! Paths from the root.

use std::path::{Path, PathBuf};

/// Returns a path from the root, without `..` and links as far as it exists, as git names it.
///
/// # Errors
/// Fails if the current folder is gone.
pub fn absolute(path: &Path) -> std::io::Result<PathBuf> {
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
