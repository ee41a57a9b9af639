//! Which process holds a run, and what for.
//!
//! These are values alone; who holds what is known by the locks of `lease`.

use orchestrate_core::ids::RunId;
use serde::{Deserialize, Serialize};

/// The process that works on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 if it has not written it down yet.
    pub pid: u32,
    /// When it took the run, in Unix milliseconds.
    pub since_ms: u64,
    /// What it does with the run.
    #[serde(default)]
    pub purpose: Purpose,
}

/// What a process holds a run for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It carries its tasks out, and takes commands.
    #[default]
    Run,
    /// It lands it, or takes a landing back; it takes no commands.
    Land,
    /// It removes its worktrees; it takes no commands.
    Clean,
}

impl Purpose {
    /// Says what the process does, and what can be done about it.
    pub(crate) fn words(self, run: &RunId) -> String {
        match self {
            Self::Run => format!("works on it; stop it with `orchestrate stop {run}`"),
            Self::Land => "is landing it; try again when it is done".to_owned(),
            Self::Clean => "is cleaning it; try again when it is done".to_owned(),
        }
    }
}
