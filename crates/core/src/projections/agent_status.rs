//! The status of an agent, derived from facts alone, for other agents, for people and for programs.

use serde::{Deserialize, Serialize};

use crate::event::Wait;
use crate::ids::{AgentId, TaskId};
use crate::messages::{Channel, Receiver};
use crate::projections::hand_back::HandBack;
use crate::record::TaskRecord;
use crate::run::RunState;
use crate::task::TaskState;
use crate::text::truncate;

/// The maximum number of characters of a summary or an error in a status: several of them fit into
/// one result.
const MAX_TEXT_CHARS: usize = 2_000;

/// Whether an agent works, and otherwise what has to happen before it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "liveness", content = "blocked_on", rename_all = "kebab-case")]
pub enum Liveness {
    /// It works, or its check runs.
    Working,
    /// It goes on by itself once this has happened.
    BlockedOn(Blocker),
    /// A person has to act first: to decide about a call or its work, to answer a question, or to
    /// mend a key.
    WaitingHuman,
    /// It has ended, and nothing of it is left to do.
    IdleDone,
    /// Its work has begun and not ended, but no process works on the run.
    Lost,
}

/// The object of an agent's wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// A free slot for an agent.
    Slot,
    /// The tasks that have to come before it.
    Dependencies(Vec<TaskId>),
    /// Other agents, whose work or answer it waits for.
    Agents(Vec<AgentId>),
    /// The tasks that review its work.
    Reviewers(Vec<TaskId>),
    /// Its model, which does not answer.
    Model,
    /// Open requests of others, which may release enough of the budget.
    Budget,
    /// The merge of its work.
    Merge,
}

/// One agent of a run, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// The agent, whose id is its task's.
    pub agent_id: AgentId,
    /// The task's title.
    pub title: String,
    /// The role; `None` before its first attempt, and for a command.
    pub role: Option<String>,
    /// The agent that spawned it.
    pub parent: Option<AgentId>,
    /// The task's state.
    pub state: TaskState,
    /// Requests answered.
    pub turns: u32,
    /// The last tool that it called.
    pub last_tool: Option<String>,
    /// Its present activity.
    #[serde(flatten)]
    pub liveness: Liveness,
}

/// The facts about one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The same in short.
    #[serde(flatten)]
    pub info: AgentInfo,
    /// Attempts begun.
    pub attempt: u32,
    /// Tokens used.
    pub tokens: u64,
    /// The final report of its newest finished work, truncated if it is long.
    pub summary: Option<String>,
    /// Why it did not succeed, truncated if it is long.
    pub error: Option<String>,
    /// The result that it hands back; `None` until its work has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_back: Option<HandBack>,
    /// The messages to it of the agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Channel>,
}

impl RunState {
    /// Returns what an agent is doing, in a run that a process works on or that none does.
    pub fn liveness(&self, record: &TaskRecord, is_live: bool) -> Liveness {
        match record.state() {
            TaskState::Pending => self.blocked_by_order(record),
            TaskState::Ready => Liveness::BlockedOn(Blocker::Slot),
            TaskState::Running | TaskState::Committed if !is_live => Liveness::Lost,
            TaskState::Running | TaskState::Committed if record.outage().is_some() => {
                Liveness::BlockedOn(Blocker::Model)
            }
            TaskState::Running if self.waiting_for(&record.task.id).is_some() => {
                Liveness::BlockedOn(Blocker::Budget)
            }
            TaskState::Running | TaskState::Committed => Liveness::Working,
            TaskState::Waiting => self.blocked_by_wait(record),
            TaskState::Verified => self.blocked_by_merge(record),
            TaskState::AwaitingReview => Liveness::WaitingHuman,
            TaskState::Merged
            | TaskState::NothingToDo
            | TaskState::Failed
            | TaskState::Conflicted
            | TaskState::Skipped
            | TaskState::Cancelled => Liveness::IdleDone,
        }
    }

    fn blocked_by_order(&self, record: &TaskRecord) -> Liveness {
        let before = record.task.depends.iter().chain(&record.task.after);
        let open = before.filter(|id| match self.task(id) {
            Some(record) => !record.state().is_settled(),
            None => true,
        });
        Liveness::BlockedOn(named(open, Blocker::Dependencies))
    }

    fn blocked_by_wait(&self, record: &TaskRecord) -> Liveness {
        match record.wait() {
            Some(Wait::Agents { ids, .. }) => {
                let open = ids
                    .iter()
                    .filter(|id| !self.is_done_for(&record.task.id, id));
                Liveness::BlockedOn(named(open, Blocker::Agents))
            }
            Some(Wait::Children) => {
                let children = self
                    .open_children(&record.task.id)
                    .map(|child| &child.task.id);
                Liveness::BlockedOn(named(children, Blocker::Agents))
            }
            Some(Wait::Message {
                to: Receiver::Agent(asked),
                ..
            }) => Liveness::BlockedOn(Blocker::Agents(vec![asked.clone()])),
            Some(
                Wait::Message {
                    to: Receiver::User, ..
                }
                | Wait::Person { .. }
                | Wait::Endpoint { .. },
            )
            | None => Liveness::WaitingHuman,
        }
    }

    fn blocked_by_merge(&self, record: &TaskRecord) -> Liveness {
        let reviewers = self.waits_for_verdict_of(record);
        if !reviewers.is_empty() {
            Liveness::BlockedOn(Blocker::Reviewers(reviewers))
        } else if self.stays_unmerged(record) {
            Liveness::IdleDone
        } else if record.candidate(self.needs_review(record)).is_none() {
            Liveness::WaitingHuman
        } else {
            let into = self.merge_target(record);
            let parent = into.agent().filter(|_| !self.takes_work(&into)).cloned();
            Liveness::BlockedOn(
                parent.map_or(Blocker::Merge, |parent| Blocker::Agents(vec![parent])),
            )
        }
    }

    /// Returns an agent in short, in a run that a process works on or that none does.
    pub fn agent_info(&self, record: &TaskRecord, is_live: bool) -> AgentInfo {
        AgentInfo {
            agent_id: record.task.id.clone(),
            title: record.task.title.clone(),
            role: record.agent().map(str::to_owned),
            parent: record.parent.clone(),
            state: record.state(),
            turns: record.turns(),
            last_tool: record.last_tool().map(str::to_owned),
            liveness: self.liveness(record, is_live),
        }
    }

    /// Returns what is known of an agent, in a run that a process works on or that none does.
    pub fn agent_status(&self, record: &TaskRecord, is_live: bool) -> AgentStatus {
        AgentStatus {
            info: self.agent_info(record, is_live),
            attempt: record.attempt(),
            tokens: record.usage().total(),
            summary: Some(record.summary())
                .filter(|summary| !summary.is_empty())
                .map(|text| truncate(text, MAX_TEXT_CHARS)),
            error: record
                .error()
                .map(|error| truncate(&error.message, MAX_TEXT_CHARS)),
            hand_back: self.ended_hand_back(record),
            messages: None,
        }
    }

    /// Returns the agents that have not ended, in the order of the plan, then of addition; commands
    /// are none.
    pub fn active_agents(&self, is_live: bool) -> Vec<AgentInfo> {
        let agents = self.tasks().filter(|record| !record.is_command());
        let infos = agents.map(|record| self.agent_info(record, is_live));
        infos
            .filter(|info| info.liveness != Liveness::IdleDone)
            .collect()
    }
}

/// Returns what is waited for; a task that waits for nothing else waits for a slot.
fn named<'a>(
    ids: impl Iterator<Item = &'a TaskId>,
    blocker: fn(Vec<TaskId>) -> Blocker,
) -> Blocker {
    let ids: Vec<TaskId> = ids.cloned().collect();
    if ids.is_empty() {
        Blocker::Slot
    } else {
        blocker(ids)
    }
}
