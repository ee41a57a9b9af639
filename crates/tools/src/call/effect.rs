//! What a call would affect, for the policy, and what its answer follows from, for the cache.

use orchestrate_core::policy::{Access, Target};
use serde_json::Value;

/// Something that a call would affect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// How it is used.
    pub access: Access,
    /// What is affected.
    pub target: Target,
}

impl Effect {
    /// Creates an effect that the tool's own name and permission describe.
    pub fn on(target: Target) -> Effect {
        Effect {
            access: Access::Own,
            target,
        }
    }

    /// Creates the effect of writing a file; the empty path stands for all files of the worktree.
    pub(crate) fn written(path: String) -> Effect {
        Effect {
            access: Access::Write,
            target: Target::Path(path),
        }
    }
}

/// What a call would reach that its arguments only name, such as the address of a remote
/// repository, or leave to the project's files, such as the registries of its packages.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// What it would affect, in place of the effects that it was prepared with.
    pub effects: Vec<Effect>,
    /// An object that is shown beside the arguments to whoever is asked about the call, whose
    /// approval is for exactly this. The tool finds it in its context.
    pub details: Value,
}

/// What the answer of a call follows from. For those between the first and the last, what the tool
/// sees are the files that [`Files::walk`](crate::Files::walk) visits below its first path
/// argument, or that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswersFrom {
    /// Something that is not known, so that no answer is ever replayed.
    Anything,
    /// The names and types of files, and the order in which those that are no directories were
    /// modified last.
    Names,
    /// The names, types and contents of files.
    Contents,
    /// The names, types and contents of all files of the worktree, whatever its arguments are.
    AllContents,
}
