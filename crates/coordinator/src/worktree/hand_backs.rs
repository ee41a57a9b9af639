//! What several agents hand back, for one of them, or a program, that combines it.

use orchestrate_core::{AgentId, HandBack, Oid, RunState, TaskId, TaskRecord, WaitRefused};
use serde::{Deserialize, Serialize};

use crate::worktree::run_branches::WorkSpan;

/// What several agents hand back, and where their work is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandBacks {
    /// The tip of the integration branch.
    pub(super) result: Oid,
    /// The tip of the branch of the agent that asks; `None` for a program, whose counterpart is the
    /// run's result.
    pub(super) own: Option<Oid>,
    pub(super) agents: Vec<HandedBack>,
}

/// What one agent hands back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HandedBack {
    pub(super) hand_back: HandBack,
    pub(super) span: WorkSpan,
    /// Its newest commit; `None` before its first attempt.
    pub(super) tip: Option<Oid>,
}

impl HandBacks {
    /// Returns those of these agents for one of them, or for a program; fails with the reason if
    /// one does not exist.
    pub(crate) fn for_agents(
        state: &RunState,
        agents: &[AgentId],
        caller: Option<&TaskId>,
    ) -> Result<Self, WaitRefused> {
        let handed = |record: &TaskRecord| HandedBack {
            hand_back: state.hand_back(record),
            span: WorkSpan::for_task(state, record),
            tip: record.newest_work().cloned(),
        };
        Ok(Self {
            result: state.integration.clone(),
            own: caller.and_then(|agent| state.task(agent)?.tip().cloned()),
            agents: state
                .named_agents(agents)?
                .into_iter()
                .map(handed)
                .collect(),
        })
    }
}
