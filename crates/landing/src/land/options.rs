//! How a run is landed, as the user chooses.

use std::path::PathBuf;

use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_sandbox::Cancel;

/// How a run is landed.
#[derive(Clone, Debug)]
pub struct LandOptions {
    /// The folder to resolve a relative plan path in, besides the repository's.
    pub directory: PathBuf,
    /// Whether to write the plan's boxes, unless the run's settings forbid it.
    pub write_back: bool,
    /// How the result is brought into the branch.
    pub style: LandStyle,
    /// The message of a merge or a squash.
    pub message: Option<MessageTemplate>,
    /// Whether to run the user's hooks for the message of each new commit, and after the merge.
    pub hooks: bool,
    /// Stops a landing that has not started to move anything; one that has completes.
    pub cancel: Cancel,
}

impl Default for LandOptions {
    /// Returns the options of a plain landing, which writes the boxes of a plan in the repository.
    fn default() -> Self {
        Self {
            directory: PathBuf::new(),
            write_back: true,
            style: LandStyle::Merge,
            message: None,
            hooks: false,
            cancel: Cancel::new(),
        }
    }
}

/// How a result is brought into a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LandStyle {
    /// By fast-forward if possible, otherwise by a merge.
    #[default]
    Merge,
    /// As one commit.
    Squash,
    /// As one commit for each task that was merged into the result, in the order of their merges;
    /// it contains the work of the agents that the task has spawned, and names them.
    Rebase,
}
