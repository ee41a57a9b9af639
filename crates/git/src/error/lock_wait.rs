//! A wait for the repository's lock: which process holds it, and what for.

use std::fmt;
use std::time::Duration;

/// What a process of ours does under the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Lands a result on a branch and its checkout.
    Landing,
    /// Undoes a landing.
    Undo,
    /// Creates or removes a worktree.
    Worktree,
    /// Cleans up what a killed process left.
    Reconciling,
    /// Deletes refs of a run that has landed.
    Pruning,
}

/// The process that holds the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// What it does; `None` if it is not a process of ours.
    pub work: Option<Work>,
    /// The name of its program; `None` if it has ended, and a program that it started still holds
    /// the lock.
    pub program: Option<String>,
    /// Whether it is stopped (`kill -STOP`), traced, or a zombie.
    pub is_stopped: bool,
    /// How often this process had taken a lock before. A change shows that the queue of threads
    /// within one process moves. `None` if it is not a process of ours.
    pub(crate) taken_before: Option<u64>,
}

/// A wait for the lock that takes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The process that holds it, if known.
    pub holder: Option<Holder>,
    /// How much longer the wait takes at most, unless another process takes the lock first.
    pub left: Duration,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Landing => "lands a branch",
            Self::Undo => "undoes a landing",
            Self::Worktree => "creates or removes a worktree",
            Self::Reconciling => "cleans up after a killed run",
            Self::Pruning => "deletes refs of a landed run",
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)?;
        match (&self.program, self.work) {
            (None, _) => {
                f.write_str(" (which has ended, but a program that it started still runs)")?
            }
            (Some(_), Some(work)) => write!(f, " (orchestrate, which {work})")?,
            (Some(program), None) => write!(
                f,
                " ({})",
                orchestrate_core::text::invisible::shown(program)
            )?,
        }
        if self.is_stopped {
            f.write_str(", which is stopped,")
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.left.as_secs();
        match &self.holder {
            Some(holder) => write!(
                f,
                "{holder} holds the repository's lock; waiting up to {seconds} s for it"
            ),
            None => write!(
                f,
                "another process holds the repository's lock; waiting up to {seconds} s for it"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_the_lock_is_said_in_full() {
        let program = Some("orchestrate".into());
        let ours = Holder {
            pid: 7,
            work: Some(Work::Undo),
            program,
            is_stopped: true,
            taken_before: Some(0),
        };
        assert_eq!(
            ours.to_string(),
            "process 7 (orchestrate, which undoes a landing), which is stopped,"
        );
        assert!(!ours.is_landing_that_goes_on());
        let ended = Holder {
            program: None,
            is_stopped: false,
            ..ours
        };
        assert_eq!(
            ended.to_string(),
            "process 7 (which has ended, but a program that it started still runs)"
        );
        assert!(ended.is_landing_that_goes_on());
    }
}
