//! What several agents hand back, for one of them, or a program, that combines it.

use serde::{Deserialize, Serialize};

use crate::event::WaitRefused;
use crate::ids::{AgentId, Oid, TaskId};
use crate::projections::hand_back::HandBack;
use crate::record::TaskRecord;
use crate::run::{RunState, WorkSpan};

/// What several agents hand back, and where their work is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandBacks {
    /// The tip of the integration branch.
    pub result: Oid,
    /// The tip of the branch of the agent that asks; `None` for a program, whose counterpart is the
    /// run's result.
    pub own: Option<Oid>,
    /// What each of them hands back.
    pub agents: Vec<HandedBack>,
}

/// What one agent hands back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedBack {
    /// What it hands back.
    pub hand_back: HandBack,
    /// Between which commits its work lies.
    pub span: WorkSpan,
    /// Its newest commit; `None` before its first attempt.
    pub tip: Option<Oid>,
}

impl HandBacks {
    /// Returns what these agents hand back to one of them, or to a program.
    ///
    /// # Errors
    ///
    /// Fails with the reason if one of them does not exist.
    pub fn for_agents(
        state: &RunState,
        agents: &[AgentId],
        caller: Option<&TaskId>,
    ) -> Result<Self, WaitRefused> {
        Ok(Self {
            result: state.integration.clone(),
            own: caller.and_then(|agent| state.task(agent)?.tip().cloned()),
            agents: state
                .named_agents(agents)?
                .into_iter()
                .map(|record| HandedBack::for_task(state, record))
                .collect(),
        })
    }
}

impl HandedBack {
    fn for_task(state: &RunState, record: &TaskRecord) -> Self {
        Self {
            hand_back: state.hand_back(record),
            span: WorkSpan::for_task(state, record),
            tip: record.newest_work().cloned(),
        }
    }
}
