//! The places of a plan that say whether a task is done.

use std::borrow::Cow;
use std::ops::Range;

use orchestrate_core::ids::TaskId;
use serde::{Deserialize, Serialize};

/// The place where a plan says whether a task is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The bytes of the source: the mark in a box, the status in a table or a heading, or the value
    /// of a field of JSON.
    pub range: Range<usize>,
    /// What stands there once the task is done.
    pub done: Cow<'static, str>,
}

impl Mark {
    /// Creates the mark in a box, from its offset.
    pub(crate) fn of_box(at: usize) -> Self {
        Self {
            range: at..at + 1,
            done: Cow::Borrowed("x"),
        }
    }

    /// Reports whether the source says already that the task is done; `[X]` is as good as `[x]`.
    pub(crate) fn is_set(&self, source: &str) -> bool {
        source
            .get(self.range.clone())
            .is_none_or(|mark| mark.eq_ignore_ascii_case(&self.done))
    }
}

/// The box of a line that only groups tasks: it is ticked once all of them are done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMark {
    /// The box.
    pub mark: Mark,
    /// The tasks of the group, directly or in groups within it.
    pub tasks: Vec<TaskId>,
}
