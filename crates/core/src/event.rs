//! The facts of a run, in the past tense, and how they are written down.
//!
//! A fact is recorded before the effect that it announces is carried out (append → apply → act), and every act
//! is idempotent, so a run killed between the two goes on as if it had not been. Readers ignore types that they
//! do not know; a change of meaning raises [`VERSION`]. Large texts stand as blobs beside the facts.

mod outcome;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Compaction;
use crate::conversation::{StopReason, Usage};
use crate::ids::{AgentId, BlobId, CallHash, CallId, Oid, RunId, TaskId};
use crate::message::{Envelope, Sender};
use crate::settings::RunSettings;
use crate::task::Task;

pub use outcome::{ErrorKind, FailureCause, ReturnCause, RunStatus, ToolOutcome, VerifyScope};

/// The version that every recorded fact carries.
pub const VERSION: u32 = 1;

/// A fact with its place in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The run.
    pub run_id: RunId,
    /// Counts from 1 for each run.
    pub seq: u64,
    /// Unix milliseconds.
    pub ts_ms: u64,
    /// The version of the fact's form.
    pub v: u32,
    /// The fact.
    pub event: Event,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum Event {
    /// A run began; its settings are frozen from here on.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The plan's path as typed, if there is a file.
        plan: Option<String>,
        /// The plan's text, for writing its boxes back.
        plan_source: Option<BlobId>,
        /// The plan's title.
        title: Option<String>,
        /// Everything that the run may do and how.
        settings: Box<RunSettings>,
        /// Where it starts from.
        base_commit: Oid,
        /// The branch that was checked out, none on a detached HEAD.
        base_branch: Option<String>,
    },
    /// A coordinator took the run over.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// Its process id.
        pid: u32,
        /// The time that the whole run may take from here on, if a person has given it another.
        timeout_ms: Option<u64>,
        /// The tokens that the whole run may use from here on, if a person has given it others.
        budget_tokens: Option<u64>,
    },
    /// Nothing more can be done now; a later `run.resumed` reopens the run.
    #[serde(rename = "run.finished")]
    RunFinished {
        /// How it ended.
        status: RunStatus,
        /// The process's exit code.
        exit_code: u8,
    },
    /// A task came to be: from the plan, or spawned by an agent or the library.
    #[serde(rename = "task.added")]
    TaskAdded {
        /// The task.
        task: Box<Task>,
        /// The agent that spawned it.
        parent: Option<AgentId>,
    },
    /// Everything that the task depends on is there.
    #[serde(rename = "task.ready")]
    TaskReady {
        /// The task.
        task: TaskId,
    },
    /// An attempt at a task began.
    #[serde(rename = "agent.spawned")]
    AgentSpawned {
        /// The task, whose id is the agent's.
        task: TaskId,
        /// Counts from 1.
        attempt: u32,
        /// The role; `None` for a `run:` task.
        agent: Option<String>,
        /// `provider/model`; `None` for a `run:` task.
        model: Option<String>,
        /// The branch's short name.
        branch: String,
        /// The commit that the worktree starts from.
        base: Oid,
        /// What the agent is made from ([`crate::AgentSpec`]); the first attempt's holds for all of them.
        spec: Option<BlobId>,
    },
    /// The worktree stands and its setup has run; or what work was returned onto is merged into it.
    #[serde(rename = "worktree.prepared")]
    WorktreePrepared {
        /// The task.
        task: TaskId,
        /// The commit that was merged into it; `None` means that its setup has run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<Oid>,
    },
    /// The worktree is gone, and is about to be made again.
    #[serde(rename = "worktree.lost")]
    WorktreeLost {
        /// The task.
        task: TaskId,
    },
    /// An agent began a turn.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
    },
    /// A request is about to be sent; its tokens are reserved.
    #[serde(rename = "model.requested")]
    ModelRequested {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// `provider/model`.
        model: String,
        /// The request.
        request: BlobId,
        /// The most that it can take: the input plus the largest reply. The input is counted where a budget limits the
        /// task; elsewhere it may be a bound, its size in bytes.
        reserved_tokens: u64,
    },
    /// A request waits until open requests of others are settled, since the budgets cannot carry all of them.
    #[serde(rename = "budget.waited")]
    BudgetWaited {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// Input counted plus the largest reply.
        tokens: u64,
    },
    /// A whole reply arrived; the reservation is settled.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The reply.
        reply: BlobId,
        /// What it cost.
        usage: Usage,
        /// Why the model stopped.
        stop: StopReason,
    },
    /// A request failed for good; the reservation is released.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// What went wrong.
        error: String,
    },
    /// Something of an agent's context was given up.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The task.
        task: TaskId,
        /// What.
        compaction: Compaction,
    },
    /// A call is about to run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The call.
        call_id: CallId,
        /// The tool's canonical name.
        tool: String,
        /// The arguments, secrets redacted.
        arguments: Value,
        /// The rule that allowed it.
        rule: String,
    },
    /// A call ended, in whatever way.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The call.
        call_id: CallId,
        /// The tool's canonical name, or what the model called it if there is none.
        tool: String,
        /// How it ended.
        outcome: ToolOutcome,
        /// The class of its failure; `None` for a command that ran and ended with another code than 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_class: Option<ErrorKind>,
        /// Why it failed, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The exit code, if a command ran to its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// What the model is told.
        result: BlobId,
        /// How long it took.
        duration_ms: u64,
        /// Paths in the worktree that it deleted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deleted: Vec<String>,
    },
    /// A call waits for a person.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The task.
        task: TaskId,
        /// What a decision is bound to.
        call: CallHash,
        /// The call.
        call_id: CallId,
        /// The tool's canonical name.
        tool: String,
        /// The call in one line, escaped for a terminal; a long one is cut, and says by how much.
        summary: String,
        /// The whole arguments in their canonical form, but for secrets.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// The rule that asks.
        rule: String,
    },
    /// A person decided about a call.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The call.
        call: CallHash,
        /// Whether it may run.
        allowed: bool,
        /// What the person said.
        message: Option<String>,
    },
    /// A message was accepted for delivery.
    #[serde(rename = "message.sent")]
    MessageSent {
        /// The message.
        envelope: Envelope,
    },
    /// A message reached its agent, which is the acknowledgement.
    #[serde(rename = "message.delivered")]
    MessageDelivered {
        /// The sender.
        from: Sender,
        /// The receiver.
        to: AgentId,
        /// The sender's sequence number.
        sequence: u64,
        /// Whether its deadline had passed, so that the agent was not shown it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expired: bool,
    },
    /// A worktree's content was stored and is held by a ref.
    #[serde(rename = "snapshot.taken")]
    SnapshotTaken {
        /// The task.
        task: TaskId,
        /// Counts this task's snapshots from 1.
        number: u32,
        /// The snapshot's commit.
        commit: Oid,
        /// Its tree.
        tree: Oid,
        /// Whether it is the new tip of the task's branch; the ref follows this fact.
        on_branch: bool,
        /// What git cannot store of it: the `.git` of repositories inside, pipes and sockets. A last one that is too
        /// much of a list to be told counts the others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// An agent has ended a stretch of work, and the tip of its branch holds it.
    #[serde(rename = "task.committed")]
    TaskCommitted {
        /// The task.
        task: TaskId,
        /// The branch's tip.
        commit: Oid,
        /// Its tree.
        tree: Oid,
        /// The agent's closing report.
        summary: String,
    },
    /// A check is about to run.
    #[serde(rename = "verify.started")]
    VerifyStarted {
        /// The task that the check decides about.
        task: TaskId,
        /// Which check.
        scope: VerifyScope,
        /// The exact tree that is checked.
        tree: Oid,
        /// The command.
        command: String,
    },
    /// A check ended.
    #[serde(rename = "verify.finished")]
    VerifyFinished {
        /// The task that the check decides about.
        task: TaskId,
        /// Which check.
        scope: VerifyScope,
        /// The exact tree that was checked.
        tree: Oid,
        /// The command.
        command: String,
        /// Whether it passed.
        passed: bool,
        /// How it ended, in words: `exit 1`, `timed out`.
        exit: String,
        /// Its output, head and tail.
        output: BlobId,
        /// How long it took.
        duration_ms: u64,
    },
    /// A task waits for a person's approval.
    #[serde(rename = "review.requested")]
    ReviewRequested {
        /// The task.
        task: TaskId,
    },
    /// A person approved a task's tree.
    #[serde(rename = "review.approved")]
    ReviewApproved {
        /// The task.
        task: TaskId,
        /// The tree that the approval is bound to.
        tree: Oid,
    },
    /// A merge of a task's branch into the integration branch began.
    #[serde(rename = "merge.started")]
    MergeStarted {
        /// The task.
        task: TaskId,
        /// The integration branch's tip.
        target: Oid,
        /// The task's commit.
        candidate: Oid,
    },
    /// The merge has conflicts.
    #[serde(rename = "merge.conflicted")]
    MergeConflicted {
        /// The task.
        task: TaskId,
        /// The conflicting paths.
        files: Vec<String>,
    },
    /// The merge is clean; its commit exists and is kept, but no branch has moved.
    #[serde(rename = "merge.prepared")]
    MergePrepared {
        /// The task.
        task: TaskId,
        /// The merge commit.
        commit: Oid,
        /// Its tree.
        tree: Oid,
    },
    /// Work went back to its author.
    #[serde(rename = "task.returned")]
    TaskReturned {
        /// The task.
        task: TaskId,
        /// Why.
        cause: ReturnCause,
        /// What the author is told, with the evidence.
        text: BlobId,
        /// The commit that is merged into the author's worktree first.
        onto: Option<Oid>,
    },
    /// The integration branch holds the task's work; the ref follows this fact.
    #[serde(rename = "task.merged")]
    TaskMerged {
        /// The task.
        task: TaskId,
        /// The integration branch's new tip; `None` for a report.
        commit: Option<Oid>,
        /// The integration branch's tip before.
        target: Option<Oid>,
        /// The closing report of a task that delivers one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A task ended without success.
    #[serde(rename = "task.failed")]
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Why.
        cause: FailureCause,
        /// Why, in words.
        message: String,
    },
    /// A task's branch could not be merged; it is kept for a person.
    #[serde(rename = "task.conflicted")]
    TaskConflicted {
        /// The task.
        task: TaskId,
        /// Whether it conflicts, or merges cleanly into a tree whose check is red.
        #[serde(default)]
        cause: ReturnCause,
        /// Why, in words.
        message: String,
    },
    /// A task will not run, since something that it depends on did not succeed.
    #[serde(rename = "task.skipped")]
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// What it waited for.
        because: TaskId,
    },
    /// A task was called off.
    #[serde(rename = "task.cancelled")]
    TaskCancelled {
        /// The task.
        task: TaskId,
        /// Why, in words.
        message: String,
    },
    /// The integration branch is about to be brought into the user's branch.
    #[serde(rename = "landing.started")]
    LandingStarted {
        /// The user's branch.
        branch: String,
        /// Its tip.
        from: Oid,
        /// What it is to be moved to.
        to: Oid,
    },
    /// What was begun could not be done, or the user's branch has gone on without it.
    #[serde(rename = "landing.failed")]
    LandingFailed {
        /// The user's branch.
        branch: String,
        /// Why, in words.
        message: String,
    },
    /// The integration branch was brought into the user's branch.
    #[serde(rename = "run.landed")]
    RunLanded {
        /// The user's branch.
        branch: String,
        /// Its tip before.
        from: Oid,
        /// Its tip after.
        to: Oid,
    },
    /// A landing was undone.
    #[serde(rename = "run.unlanded")]
    RunUnlanded {
        /// The user's branch.
        branch: String,
        /// Its tip, as before the landing.
        to: Oid,
    },
    /// The integration branch stays where it is, since a person has it checked out; the result is kept beside it.
    #[serde(rename = "integration.held")]
    IntegrationHeld {
        /// Where it is checked out.
        checkout: String,
        /// The result, which that checkout can be brought to by a fast-forward.
        commit: Oid,
    },
    /// Worktrees of the run were removed; branches and snapshots stay.
    #[serde(rename = "run.cleaned")]
    RunCleaned {
        /// The tasks whose worktrees are gone.
        tasks: Vec<TaskId>,
    },
}

impl Event {
    /// Returns the task that the fact is about, if it is about one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::RunFinished { .. }
            | Event::ApprovalDecided { .. }
            | Event::LandingStarted { .. }
            | Event::LandingFailed { .. }
            | Event::RunLanded { .. }
            | Event::RunUnlanded { .. }
            | Event::RunCleaned { .. }
            | Event::IntegrationHeld { .. } => None,
            Event::TaskAdded { task, .. } => Some(&task.id),
            Event::MessageSent { envelope } => Some(&envelope.to),
            Event::MessageDelivered { to, .. } => Some(to),
            Event::TaskReady { task }
            | Event::AgentSpawned { task, .. }
            | Event::WorktreePrepared { task, .. }
            | Event::WorktreeLost { task }
            | Event::TurnStarted { task, .. }
            | Event::ModelRequested { task, .. }
            | Event::BudgetWaited { task, .. }
            | Event::ModelReplied { task, .. }
            | Event::ModelFailed { task, .. }
            | Event::ContextCompacted { task, .. }
            | Event::ToolStarted { task, .. }
            | Event::ToolFinished { task, .. }
            | Event::ApprovalRequested { task, .. }
            | Event::SnapshotTaken { task, .. }
            | Event::TaskCommitted { task, .. }
            | Event::VerifyStarted { task, .. }
            | Event::VerifyFinished { task, .. }
            | Event::ReviewRequested { task }
            | Event::ReviewApproved { task, .. }
            | Event::MergeStarted { task, .. }
            | Event::MergeConflicted { task, .. }
            | Event::MergePrepared { task, .. }
            | Event::TaskReturned { task, .. }
            | Event::TaskMerged { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskConflicted { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => Some(task),
        }
    }
}

impl Recorded {
    /// Returns the fact as one object of `--output-format stream-json`:
    /// `type, ts (RFC 3339, milliseconds), run_id, seq, v` and then the fact's own fields.
    pub fn stream_json(&self) -> Value {
        let mut object = serde_json::Map::new();
        let fields = match serde_json::to_value(&self.event) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        object.insert("type".to_owned(), fields.get("type").cloned().unwrap_or(Value::Null));
        object.insert("ts".to_owned(), Value::String(rfc3339(self.ts_ms)));
        object.insert("run_id".to_owned(), Value::String(self.run_id.to_string()));
        object.insert("seq".to_owned(), Value::from(self.seq));
        object.insert("v".to_owned(), Value::from(self.v));
        for (key, value) in fields {
            if key != "type" {
                object.insert(key, value);
            }
        }
        Value::Object(object)
    }
}

/// Writes Unix milliseconds as RFC 3339 in UTC with milliseconds.
///
/// The calendar is Howard Hinnant's `civil_from_days` (public domain), exact for every date that a `u64` holds here.
pub fn rfc3339(ts_ms: u64) -> String {
    let (seconds, millis) = (ts_ms / 1000, ts_ms % 1000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_one_flat_object_in_the_stream() {
        let recorded = Recorded {
            run_id: "r-abcdef".into(),
            seq: 7,
            ts_ms: 1_795_255_200_123,
            v: VERSION,
            event: Event::TaskReady { task: "T1".into() },
        };
        assert_eq!(
            recorded.stream_json().to_string(),
            r#"{"type":"task.ready","ts":"2026-11-21T10:00:00.123Z","run_id":"r-abcdef","seq":7,"v":1,"task":"T1"}"#
        );
    }

    #[test]
    fn a_journal_of_before_told_no_cause() {
        let told = serde_json::json!({"type": "task.conflicted", "task": "T1", "message": "in a.rs"});
        let (task, message) = ("T1".into(), "in a.rs".to_owned());
        let read: Option<Event> = serde_json::from_value(told).ok();
        assert_eq!(read, Some(Event::TaskConflicted { task, cause: ReturnCause::Conflict, message }));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (ms, expected) in table {
            assert_eq!(rfc3339(ms), expected);
        }
    }
}
