//! Why the cache cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why the cache cannot be used. A damaged entry is no error: see [`crate::Lookup`].
#[derive(Debug, thiserror::Error)]
#[error("{action} {path}: {source}")]
pub struct CacheError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl CacheError {
    pub(crate) fn new(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
        move |source| CacheError {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
