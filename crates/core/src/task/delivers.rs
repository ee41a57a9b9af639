//! What the tasks of a role deliver.

use serde::{Deserialize, Serialize};

/// What the tasks of a role deliver; a read-only role delivers a report unless its file says
/// otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivers {
    /// Changed files; a task without any has failed.
    #[default]
    Changes,
    /// A report; there is no commit.
    Report,
    /// A verdict on the tasks that its task depends on, which are merged only after its approval;
    /// without such tasks, a report.
    Verdict,
    /// A report that is a plan; one that cannot be run is returned to its agent.
    Plan,
}

impl Delivers {
    /// Reports whether its tasks have no commit.
    pub fn is_report(self) -> bool {
        matches!(self, Self::Report | Self::Verdict | Self::Plan)
    }
}
