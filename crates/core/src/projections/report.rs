//! The report of a run and its exit code: functions of the run's state, and of whether a process
//! works on it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::conversation::Usage;
use crate::agent::price::{Cost, DOLLAR};
use crate::checks::flaky::FlakyCheck;
use crate::event::{RejectingEndpoint, RunStatus};
use crate::ids::{AgentId, Oid, RunId, TaskId};
use crate::policy::Sending;
use crate::projections::agent_status::Liveness;
use crate::projections::hand_back::HandBack;
use crate::record::{TakeOver, TaskRecord};
use crate::run::RunState;
use crate::secrecy::taint::{Exposure, OutsideSource};
use crate::task::verdict::ReviewVerdict;
use crate::task::{LeftAside, TaskError, TaskState, Verify, Work};

/// The status of a run that should be running but that no process works on.
pub const STOPPED: &str = "stopped";

/// The state of a run, with whether a process works on it.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The recorded state.
    pub state: Arc<RunState>,
    /// Whether a process works on its tasks.
    pub is_live: bool,
}

/// What has become of a run, or so far; as JSON, the object of `--output-format json` and the last
/// line of `stream-json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// The run. As JSON it is in the envelope of the output, so a report that is read has none.
    #[serde(skip, default = "no_run")]
    pub run_id: RunId,
    /// The status; `stopped` if it should be running but no coordinator is alive.
    pub status: String,
    /// The exit code, or `None` while it runs.
    pub exit_code: Option<u8>,
    /// The branch that holds the merged result; null if nothing was run.
    pub integration_branch: Option<String>,
    /// Its tip.
    pub integration_commit: Oid,
    /// Where the run started.
    pub base_commit: Oid,
    /// Where its result has landed last, unless that was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed: Option<LandedResult>,
    /// The time from the first event to the newest, without the time in which no process worked on
    /// it or all its agents waited for their models.
    pub duration_ms: u64,
    /// The time in which its agents waited for models that did not answer, and nothing else was
    /// done.
    pub waited_ms: u64,
    /// All tokens.
    pub usage: ReportUsage,
    /// How many calls of agents were answered with a stored result, so that nothing ran.
    pub replayed_calls: u64,
    /// The day of the shipped prices, such as `2026-11-23`; null for a run that recorded none.
    pub prices_date: Option<String>,
    /// The endpoints that reject the key or the account, with the tasks that wait for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejecting_endpoints: Vec<RejectingEndpoint>,
    /// What the agent that got the goal of the run has answered, once its task has succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The file that this plan was written to; set by the process that has written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
    /// The checks that have failed and passed on one tree, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky_checks: Vec<FlakyCheck>,
    /// Each task.
    pub tasks: Vec<TaskReport>,
}

/// Where a run's result has landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LandedResult {
    /// The user's branch.
    pub branch: String,
    /// The commit of that branch that contains it.
    pub commit: Oid,
    /// Whether that is all of the result; otherwise, work was merged since.
    pub is_whole: bool,
}

/// Tokens and cost; the cost is null if the price of a request is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReportUsage {
    /// Prompt tokens, cached ones included.
    pub input_tokens: u64,
    /// Cached prompt tokens.
    pub cached_tokens: u64,
    /// Reply tokens.
    pub output_tokens: u64,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// The same in micro-dollars.
    #[serde(skip)]
    pub cost_micro_usd: Option<u64>,
}

/// One task of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskReport {
    /// The task.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// The task's state.
    pub state: TaskState,
    /// What its agent is doing; `None` in a report on the task alone.
    #[serde(flatten)]
    pub liveness: Option<Liveness>,
    /// The role; null for a `run:` task.
    pub agent: Option<String>,
    /// The agent.
    pub agent_id: AgentId,
    /// The agent that spawned it; null for a task of the plan, and for a child of a program.
    pub parent: Option<AgentId>,
    /// Its depth in the tree of agents, as the limit counts it: 1 without a parent; `None` in a
    /// report on the task alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Attempts begun.
    pub attempt: u32,
    /// Its branch.
    pub branch: Option<String>,
    /// The tip of its branch; null for a report.
    pub commit: Option<Oid>,
    /// The result of the newest check.
    pub verify: Verify,
    /// The model that works on it; null for a `run:` task.
    pub model: Option<String>,
    /// The model that took over last in the newest attempt, and why.
    pub take_over: Option<TakeOver>,
    /// Requests answered.
    pub turns: u32,
    /// Its tokens.
    pub usage: ReportUsage,
    /// Why the task did not succeed.
    pub error: Option<TaskError>,
    /// The commit with its newest work, if it has ended without success and its branch lacks some
    /// of that; `recover` makes it a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_commit: Option<Oid>,
    /// Whether the run has ended without its work, which is kept, since its agent was ended before
    /// that was merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_in_result: bool,
    /// Whether it was built on work that was rejected after it was merged.
    pub stale: bool,
    /// The agent that its work was merged into, and that has ended without success, so that the
    /// work is not in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AgentId>,
    /// Its newest verdict on the tasks that it reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ReviewVerdict>,
    /// The reviewing tasks whose verdict its finished work waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for_verdict_of: Vec<TaskId>,
    /// What its agent hands back; `None` in a report on the task alone, and before its work has
    /// ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_back: Option<HandBack>,
    /// What its agent was exposed to, once it has read text from outside; `None` in a report on the
    /// task alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taint: Option<TaskTaint>,
    /// What its work leaves in the worktree on purpose.
    #[serde(flatten)]
    pub aside: LeftAside,
}

/// What an agent was exposed to that has read text from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskTaint {
    /// Where the first such text came from.
    pub outside_text: OutsideSource,
    /// Whether it also holds private data and can send data out, so that the text could make it
    /// give these away.
    pub flagged: bool,
    /// Whether it has made a call that can send data out.
    pub sent: bool,
    /// How it could send data out with the tools that it has; `None` if a rule or the sandbox is
    /// against every call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_send: Option<Sending>,
}

impl TaskTaint {
    fn from_exposure(exposure: &Exposure) -> Option<Self> {
        Some(Self {
            outside_text: exposure.outside()?.clone(),
            flagged: exposure.is_complete(),
            sent: exposure.has_sent(),
            can_send: exposure.can_send(),
        })
    }
}

fn no_run() -> RunId {
    RunId::new("")
}

impl Standing {
    /// Returns the name of the run's status in JSON.
    pub fn status_name(&self) -> &'static str {
        if self.state.status == RunStatus::Running && !self.is_live {
            return STOPPED;
        }
        status_name(self.state.status)
    }

    /// Returns the state of a task; started work counts as waiting while no process works on the
    /// run.
    pub fn of_task(&self, record: &TaskRecord) -> TaskState {
        match record.state() {
            TaskState::Running if self.state.status != RunStatus::Running || !self.is_live => {
                TaskState::Ready
            }
            state => state,
        }
    }

    /// Creates the report of the run.
    pub fn report(&self) -> Report {
        let state = &self.state;
        let mut usage = Usage::default();
        for record in state.tasks() {
            usage.add(record.usage());
        }
        let task = |record| TaskReport {
            state: self.of_task(record),
            liveness: Some(state.liveness(record, self.is_live)),
            depth: Some(state.depth(&record.task.id)),
            held_by: state.held_by(record).cloned(),
            waits_for_verdict_of: state.waits_for_verdict_of(record),
            hand_back: state.ended_hand_back(record),
            not_in_result: state.is_left_out(record),
            taint: state.taint(&record.task.id),
            ..TaskReport::from_record(record)
        };
        Report {
            run_id: state.run_id.clone(),
            status: self.status_name().to_owned(),
            exit_code: state.exit_code,
            integration_branch: Some(state.run_id.integration_branch()),
            integration_commit: state.integration.clone(),
            base_commit: state.base.clone(),
            landed: state.landed().map(|landing| LandedResult {
                branch: landing.branch.clone(),
                commit: landing.to.clone(),
                is_whole: state.is_landed(),
            }),
            duration_ms: state.worked_ms(),
            waited_ms: state.waited_ms,
            usage: ReportUsage::new(usage, state.cost()),
            replayed_calls: state.tasks().map(TaskRecord::replayed_calls).sum(),
            prices_date: state.settings.prices_date.clone(),
            rejecting_endpoints: state.rejecting_endpoints(),
            answer: state.answer().map(str::to_owned),
            plan_file: None,
            flaky_checks: state.merges.flaky_checks().to_vec(),
            tasks: state.tasks().map(task).collect(),
        }
    }
}

impl RunState {
    /// Returns the report of a task by itself, with what it hands back if it has ended.
    pub fn task_report(&self, record: &TaskRecord) -> TaskReport {
        TaskReport {
            hand_back: self.ended_hand_back(record),
            ..TaskReport::from_record(record)
        }
    }

    /// Returns what an agent was exposed to, once it has read text from outside.
    pub fn taint(&self, agent: &AgentId) -> Option<TaskTaint> {
        self.exposure(agent).and_then(TaskTaint::from_exposure)
    }
}

impl TaskReport {
    /// Creates the report of a task.
    pub fn from_record(record: &TaskRecord) -> Self {
        let is_agent = matches!(record.task.work, Work::Agent(_));
        Self {
            id: record.task.id.clone(),
            title: record.task.title.clone(),
            state: record.state(),
            liveness: None,
            agent: record.agent().map(str::to_owned).filter(|_| is_agent),
            agent_id: record.task.id.clone(),
            parent: record.parent.clone(),
            depth: None,
            attempt: record.attempt(),
            branch: record.branch().map(str::to_owned),
            commit: record.commit().cloned(),
            verify: record.verify(),
            model: record.model().map(str::to_owned).filter(|_| is_agent),
            take_over: record.take_over().cloned(),
            turns: record.turns(),
            usage: ReportUsage::new(record.usage(), record.cost()),
            error: record.error(),
            unfinished_commit: record.left_unfinished().cloned(),
            not_in_result: false,
            stale: record.is_stale(),
            held_by: None,
            verdict: record.verdict().cloned(),
            waits_for_verdict_of: Vec::new(),
            hand_back: None,
            taint: None,
            aside: record.aside().clone(),
        }
    }

    /// Reports whether the task's result is its agent's report.
    pub fn is_report(&self) -> bool {
        self.agent.is_some() && self.commit.is_none() && self.turns > 0
    }

    /// Reports whether a command carried out the task without changing anything, so that nothing
    /// was merged.
    pub fn changed_nothing(&self) -> bool {
        self.state == TaskState::Merged
            && self.agent.is_none()
            && self.attempt > 0
            && self.commit.is_none()
    }
}

impl ReportUsage {
    /// Creates the usage of requests from their tokens and their cost.
    pub fn new(usage: Usage, cost: Cost) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: cost.micro_usd().map(in_dollars),
            cost_micro_usd: cost.micro_usd(),
        }
    }
}

/// Returns an amount in dollars, as it is written in JSON.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below nine billion dollars, and only for display"
)]
fn in_dollars(micro_usd: u64) -> f64 {
    micro_usd as f64 / DOLLAR as f64
}

/// Returns the name of a status in JSON.
pub fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Succeeded => "succeeded",
        RunStatus::Failed => "failed",
        RunStatus::NeedsHuman => "needs_human",
        RunStatus::Limit => "limit",
        RunStatus::Denied => "denied",
        RunStatus::Interrupted => "interrupted",
    }
}
