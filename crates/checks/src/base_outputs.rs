//! What the base's check has left, as it is brought to new worktrees.

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::text::git_path::shown_path;
use orchestrate_git::{Outputs, Worktree};

/// The outputs of a base, and the worktree that they are brought from.
pub struct Warm {
    pub(crate) worktree: Arc<Worktree>,
    pub(crate) outputs: Outputs,
}

/// What is known about the outputs of a run's base.
pub(crate) enum Known {
    /// There are none.
    Nothing,
    /// These.
    Outputs(Arc<Warm>),
}

impl Warm {
    /// Returns a sentence on what new worktrees start with; `None` if that is nothing.
    pub fn told(&self) -> Option<String> {
        let named = |path: &Path| shown_path(path);
        let brought: Vec<String> = self
            .outputs
            .paths()
            .iter()
            .map(|path| named(path))
            .collect();
        let left_out = self.outputs.left_out.iter();
        let left_out: Vec<String> = left_out
            .map(|left| format!("without {}: {}", named(&left.path), left.reason))
            .collect();
        match (brought.is_empty(), left_out.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("new worktrees start with {}", brought.join(", "))),
            (true, false) => Some(format!("new worktrees start {}", left_out.join("; "))),
            (false, false) => Some(format!(
                "new worktrees start with {}; {}",
                brought.join(", "),
                left_out.join("; ")
            )),
        }
    }

    /// Reports whether something is left out.
    pub fn lacks_something(&self) -> bool {
        !self.outputs.left_out.is_empty()
    }
}
