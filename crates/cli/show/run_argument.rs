//! Names the run in suggested commands.
//!
//! A command without a run applies to the newest one, so a suggested command names its run only if
//! that is another.

use std::fmt::Display;

use orchestrate_core::{RunId, TaskId};
use orchestrate_journal::Store;

use crate::error::CommandError;

/// A run, and whether commands have to name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'r> {
    run: &'r RunId,
    is_newest: bool,
}

impl<'r> Named<'r> {
    /// Checks whether the run is the newest, which commands need not name.
    pub(crate) fn new(store: &Store, run: &'r RunId) -> Result<Self, CommandError> {
        Ok(Self {
            run,
            is_newest: store.latest_run()?.as_ref() == Some(run),
        })
    }

    /// Always names the run: for commands that are read later, when another run may be the newest.
    pub(crate) fn for_later(run: &'r RunId) -> Self {
        Self {
            run,
            is_newest: false,
        }
    }

    /// Returns a command about the whole run.
    pub(crate) fn whole(self, command: &str) -> String {
        let run = if self.is_newest {
            String::new()
        } else {
            format!(" {}", self.run)
        };
        format!("orchestrate {command}{run}")
    }

    /// Returns a command about a task or a call of the run.
    pub(crate) fn within(self, command: impl Display) -> String {
        let run = if self.is_newest {
            String::new()
        } else {
            format!(" --run {}", self.run)
        };
        format!("orchestrate {command}{run}")
    }

    /// Returns the command that shows a task's work.
    pub(crate) fn review(self, task: &TaskId) -> String {
        self.within(format!("review {task}"))
    }
}
