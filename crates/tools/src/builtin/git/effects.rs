//! What calls of git's tools affect.

use orchestrate_core::policy::{Access, Target};

use crate::call::Effect;

/// Returns the effect of writing a file, or all files of the worktree.
pub(super) fn written(path: String) -> Effect {
    Effect {
        access: Access::Write,
        target: Target::Path(path),
    }
}
