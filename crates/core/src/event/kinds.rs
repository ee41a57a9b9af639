//! The kinds of events in a run, and the values that only these hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::context::Compaction;
use crate::agent::conversation::{StopReason, Usage};
use crate::agent::model_search::{SearchEnded, SearchRequested};
use crate::agent::{ReportDue, ReportGiven, RequestParts};
use crate::checks::flaky::FlakyCheck;
use crate::event::outcome::{
    CacheLookup, ErrorKind, Recovery, ResourceUsage, RunStatus, ToolOutcome, VerifyScope,
};
use crate::event::settings::RunSettings;
use crate::event::wait::Wait;
use crate::ids::{AgentId, BlobId, CallHash, CallId, CallOfTurn, Oid, RequestHash, TaskId};
use crate::messages::{Envelope, ExpiredMessage, Sender, UnansweredQuestion};
use crate::policy::Authority;
use crate::policy::egress::EgressDecided;
use crate::task::verdict::VerdictGiven;
use crate::task::{FailureCause, LeftAside, ReturnCause, Task, WorkCompared};

/// Something that happened in a run. Readers ignore unknown types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum Event {
    /// A run began; its settings are frozen from here on.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The plan's path as typed, if it is a file.
        plan: Option<String>,
        /// The plan's text, needed for ticking its boxes.
        plan_source: Option<BlobId>,
        /// The plan's title.
        title: Option<String>,
        /// The settings of the run.
        settings: Box<RunSettings>,
        /// The commit that the run starts from.
        base_commit: Oid,
        /// The branch that was checked out; `None` on a detached HEAD.
        base_branch: Option<String>,
    },
    /// A coordinator took the run over.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// Its process id.
        pid: u32,
        /// The new time limit of the whole run, if the user changed it.
        timeout_ms: Option<u64>,
        /// The new token limit of the whole run, if the user changed it.
        budget_tokens: Option<u64>,
        /// The new cost limit of the whole run in micro-dollars, if the user changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_micro_usd: Option<u64>,
    },
    /// The machine was asleep; this time does not count as worked.
    #[serde(rename = "run.slept")]
    MachineSlept {
        /// How long, in milliseconds.
        slept_ms: u64,
    },
    /// The run's check is about to run on the tree that the run starts from.
    #[serde(rename = "base.verifying")]
    BaseVerifying {
        /// The tree.
        tree: Oid,
        /// The command.
        command: String,
    },
    /// The run's check of the tree that the run starts from ended.
    #[serde(rename = "base.verified")]
    BaseVerified {
        /// The tree.
        tree: Oid,
        /// The command: the run's check, or the setup if that failed.
        command: String,
        /// Whether it passed.
        passed: bool,
        /// How it ended, in words: `exit 1`, `timed out`.
        exit: String,
        /// The head and tail of its output; `None` if an earlier result was used.
        output: Option<BlobId>,
        /// Its duration.
        duration_ms: u64,
    },
    /// Nothing more can be done for now; a later `run.resumed` reopens the run.
    #[serde(rename = "run.finished")]
    RunFinished {
        /// How it ended.
        status: RunStatus,
        /// The process's exit code.
        exit_code: u8,
    },
    /// A task was added: from the plan, or by an agent or the library.
    #[serde(rename = "task.added")]
    TaskAdded {
        /// The task.
        task: Box<Task>,
        /// The agent that spawned it.
        parent: Option<AgentId>,
        /// How a child began; `None` for a task of the plan, and in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spawn: Option<Box<SpawnRecord>>,
    },
    /// All dependencies of the task are satisfied.
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
        /// The attempt's number, from 1.
        attempt: u32,
        /// The role; `None` for a `run:` task.
        agent: Option<String>,
        /// `provider/model`; `None` for a `run:` task.
        model: Option<String>,
        /// The branch's short name.
        branch: String,
        /// The commit that the worktree starts from.
        base: Oid,
        /// The agent's specification ([`crate::AgentSpec`]); that of the first attempt applies to
        /// all of them.
        spec: Option<BlobId>,
        /// How its tools and its rules let it send data out; absent if they do not, and in older
        /// journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sends: Option<crate::policy::Sending>,
    },
    /// The map of the repository for an agent was made while its worktree was; it follows its first
    /// message.
    #[serde(rename = "agent.map")]
    MapMade {
        /// The task.
        task: TaskId,
        /// The map, with its heading.
        text: BlobId,
    },
    /// The worktree's setup has run, or it has a commit: the one that work was returned onto, or
    /// its branch's tip.
    #[serde(rename = "worktree.prepared")]
    WorktreePrepared {
        /// The task.
        task: TaskId,
        /// The commit that was merged into it, or its branch's tip; `None` if its setup has run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<Oid>,
    },
    /// The worktree was removed, once its work was merged or by hand; nothing is lost, since the
    /// next worker creates it again.
    #[serde(rename = "worktree.removed", alias = "worktree.lost")]
    WorktreeRemoved {
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
        /// The hash of the whole request.
        request: RequestHash,
        /// What the whole request is made of.
        parts: RequestParts,
        /// The maximum that it can use: the maximum reply, and the input as counted for a budget,
        /// or else its bytes.
        reserved_tokens: u64,
        /// The maximum that it can cost in micro-dollars; `None` if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved_micro_usd: Option<u64>,
    },
    /// A request waits until other open requests are settled, since the budgets cannot cover all of
    /// them.
    #[serde(rename = "budget.waited")]
    BudgetWaited {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The counted input plus the maximum reply.
        tokens: u64,
        /// The maximum that it can cost in micro-dollars; `None` if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
    },
    /// A complete reply arrived; the reservation is settled.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The reply.
        reply: BlobId,
        /// Tokens used.
        usage: Usage,
        /// The cost in micro-dollars; `None` if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
        /// Why the model stopped.
        stop: StopReason,
    },
    /// The model does not answer; until it does, its request is sent again, and the attempt's time
    /// stands still.
    #[serde(rename = "model.waiting")]
    ModelWaiting {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// Why the request failed.
        error: String,
    },
    /// Another model took over for the rest of an attempt, since the one before is out; the
    /// reservation is released.
    #[serde(rename = "model.switched")]
    ModelSwitched {
        /// The task.
        task: TaskId,
        /// The agent's request number, which the new model gets.
        turn: u32,
        /// `provider/model` of the one before.
        from: String,
        /// `provider/model` of the one that took over.
        to: String,
        /// Why the request to the one before failed.
        error: String,
    },
    /// A request failed permanently; the reservation is released.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// What went wrong.
        error: String,
    },
    /// An endpoint rejects the key or the account, so the agent waits for a resume; the reservation
    /// is released.
    #[serde(rename = "model.rejected")]
    ModelRejected {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The endpoint's base URL.
        endpoint: String,
        /// Why the request failed.
        error: String,
    },
    /// A request ended without a whole reply: what it used counts, or else the maximum; the
    /// reservation is released.
    #[serde(rename = "model.cut")]
    ModelCut {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The tokens that count.
        tokens: u64,
        /// The cost that counts, in micro-dollars; `None` if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        micro_usd: Option<u64>,
    },
    /// A search of the web by a model's endpoint is about to be asked for; its tokens are reserved.
    #[serde(rename = "search.requested")]
    SearchRequested(SearchRequested),
    /// Such a search ended; the reservation is settled.
    #[serde(rename = "search.ended")]
    SearchEnded(SearchEnded),
    /// Parts of an agent's context were left out.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The task.
        task: TaskId,
        /// Which parts.
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
        /// The paths that the call may write, relative to the worktree.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writes: Vec<String>,
        /// The paths that it may delete.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deletes: Vec<String>,
        /// The rule that allowed it.
        rule: String,
        /// What the cache had for it, if it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<CacheLookup>,
    },
    /// The proxy of a call's program decided about a host; once for each of a call.
    #[serde(rename = "egress.decided")]
    EgressDecided(EgressDecided),
    /// A call ended.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The call.
        call_id: CallId,
        /// The tool's canonical name, or the name used by the model if there is no such tool.
        tool: String,
        /// How it ended.
        outcome: ToolOutcome,
        /// The class of its failure; `None` also for a command that ran and ended with a non-zero
        /// exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_class: Option<ErrorKind>,
        /// The rule that denied it, or something that it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied_by: Option<String>,
        /// Why it failed, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The exit code, if a command ran to completion.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The result for the model.
        result: BlobId,
        /// Its duration.
        duration_ms: u64,
        /// The resources that it used.
        #[serde(default, skip_serializing_if = "ResourceUsage::is_none")]
        resource_usage: ResourceUsage,
        /// Paths in the worktree that it deleted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deleted: Vec<String>,
        /// What was done about failures on the way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        recovered: Vec<Recovery>,
    },
    /// A call is parked until the user decides.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The task.
        task: TaskId,
        /// The hash that a decision is bound to.
        call: CallHash,
        /// The call.
        call_id: CallId,
        /// The tool's canonical name.
        tool: String,
        /// The call in one line, escaped for a terminal; a long one ends with the number of omitted
        /// characters.
        summary: String,
        /// The complete arguments in canonical form, secrets redacted.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// The rule that requires approval.
        rule: String,
    },
    /// The user, or a program's approver, decided about a parked call.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The call.
        call: CallHash,
        /// Whether it may run.
        allowed: bool,
        /// The user's message.
        message: Option<String>,
        /// The name of the approver that decided; `None` for a user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call waits; its agent's worker ends until it is woken. A wait for a person is
    /// `approval.requested` instead.
    #[serde(rename = "agent.waiting")]
    AgentWaiting {
        /// The task.
        task: TaskId,
        /// The agent's request number.
        turn: u32,
        /// The call.
        call_id: CallId,
        /// What it waits for.
        wait: Wait,
    },
    /// An agent has finished, but agents that it spawned have not; it waits for the end of these,
    /// or for a message.
    #[serde(rename = "handover.waiting")]
    HandOverWaiting {
        /// The task.
        task: TaskId,
    },
    /// What a task waits for has happened, or its deadline has passed; its call is answered next.
    #[serde(rename = "agent.woken")]
    AgentWoken {
        /// The task.
        task: TaskId,
        /// Whether its deadline has passed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    /// An agent is to be stopped, and with it all its descendants that have not ended; their work
    /// is kept.
    #[serde(rename = "stop.requested")]
    StopRequested(StopRequest),
    /// A message was accepted for delivery.
    #[serde(rename = "message.sent")]
    MessageSent {
        /// The message.
        envelope: Envelope,
    },
    /// A message was delivered to its agent, which acknowledges it.
    #[serde(rename = "message.delivered")]
    MessageDelivered {
        /// The sender.
        from: Sender,
        /// The receiver.
        to: AgentId,
        /// The sender's sequence number.
        sequence: u64,
        /// Whether its deadline had passed, so that the agent did not see it; only earlier builds
        /// record it here.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expired: bool,
    },
    /// A message was not delivered before its deadline, and no longer is; or the user did not
    /// answer a question before.
    #[serde(rename = "message.expired")]
    MessageExpired(ExpiredMessage),
    /// The agent that was asked has ended, or cannot go on before the asker, so nobody will answer.
    #[serde(rename = "question.unanswered")]
    QuestionUnanswered(UnansweredQuestion),
    /// An agent has reached a limit: it makes one last request, without tools, and reports what it
    /// has.
    #[serde(rename = "report.due")]
    ReportDue(ReportDue),
    /// The report of an agent that has reached a limit arrived; its task fails next.
    #[serde(rename = "report.given")]
    ReportGiven(ReportGiven),
    /// A task's work was compared with its base.
    #[serde(rename = "work.compared")]
    WorkCompared(WorkCompared),
    /// A worktree's content was stored and is held by a ref.
    #[serde(rename = "snapshot.taken")]
    SnapshotTaken {
        /// The task.
        task: TaskId,
        /// The number of the snapshot within its task, from 1.
        number: u32,
        /// The snapshot's commit.
        commit: Oid,
        /// Its tree.
        tree: Oid,
        /// Whether it is the new tip of the task's branch; the ref is updated after this event.
        on_branch: bool,
        /// Whether the files of the branch's tip replace these in the worktree right after, so that
        /// nothing goes on from them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaced: bool,
        /// Paths that git cannot store: a nested `.git`, pipes and sockets; a long list ends with a
        /// count of the rest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
        /// What else is not in the tree, by the rules of commits.
        #[serde(default, skip_serializing_if = "LeftAside::is_empty")]
        aside: LeftAside,
    },
    /// An agent's work is committed at the tip of its branch.
    #[serde(rename = "task.committed")]
    TaskCommitted {
        /// The task.
        task: TaskId,
        /// The branch's tip.
        commit: Oid,
        /// Its tree.
        tree: Oid,
        /// The agent's final report.
        summary: String,
    },
    /// A person's commit became a task's finished work; the ref is at it already.
    #[serde(rename = "work.adopted")]
    WorkAdopted(AdoptedWork),
    /// A check is about to run.
    #[serde(rename = "verify.started")]
    VerifyStarted {
        /// The task that is verified.
        task: TaskId,
        /// Which check.
        scope: VerifyScope,
        /// The exact tree to be checked.
        tree: Oid,
        /// The command.
        command: String,
    },
    /// A check ended.
    #[serde(rename = "verify.finished")]
    VerifyFinished {
        /// The task that is verified.
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
        /// The head and tail of its output.
        output: BlobId,
        /// Its duration.
        duration_ms: u64,
    },
    /// A check was seen to be flaky: it has failed and passed on one tree.
    #[serde(rename = "check.flaky")]
    CheckFlaky(FlakyCheck),
    /// A task waits for the user's approval.
    #[serde(rename = "review.requested")]
    ReviewRequested {
        /// The task.
        task: TaskId,
    },
    /// The user approved a task's tree.
    #[serde(rename = "review.approved")]
    ReviewApproved {
        /// The task.
        task: TaskId,
        /// The tree that the approval is bound to.
        tree: Oid,
    },
    /// A reviewing task's agent gave its verdict; it counts as soon as the agent has ended.
    #[serde(rename = "review.verdict")]
    ReviewVerdict(VerdictGiven),
    /// A reviewing task waits for new work of the tasks that it reviews.
    #[serde(rename = "review.waiting")]
    ReviewWaiting {
        /// The task.
        task: TaskId,
    },
    /// A task ended because there was nothing to do; it counts as done.
    #[serde(rename = "task.nothing_to_do")]
    NothingToDo {
        /// The task.
        task: TaskId,
        /// The agent's final report.
        summary: String,
    },
    /// A merge of a task's branch into the integration branch, or into that of its parent, began.
    #[serde(rename = "merge.started")]
    MergeStarted {
        /// The task.
        task: TaskId,
        /// The branch that it is merged into; the integration branch in older journals.
        #[serde(default, skip_serializing_if = "MergeTarget::is_integration")]
        into: MergeTarget,
        /// The tip of that branch.
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
    /// The merge is clean; its commit exists and is held by a ref, but no branch has moved.
    #[serde(rename = "merge.prepared")]
    MergePrepared {
        /// The task.
        task: TaskId,
        /// The merge commit.
        commit: Oid,
        /// Its tree.
        tree: Oid,
    },
    /// Work was returned to its agent.
    #[serde(rename = "task.returned")]
    TaskReturned {
        /// The task.
        task: TaskId,
        /// Why.
        cause: ReturnCause,
        /// The message to the agent, with the evidence.
        text: BlobId,
        /// The commit that is merged into the agent's worktree first.
        onto: Option<Oid>,
    },
    /// The branch that the task is being merged into contains its work; the ref is updated after
    /// this event.
    #[serde(rename = "task.merged")]
    TaskMerged {
        /// The task.
        task: TaskId,
        /// The branch's new tip; `None` for a report.
        commit: Option<Oid>,
        /// Its previous tip.
        target: Option<Oid>,
        /// The final report of a task that delivers a report.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A task failed.
    #[serde(rename = "task.failed")]
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Why.
        cause: FailureCause,
        /// The reason, in words.
        message: String,
    },
    /// A task's branch could not be merged and is kept for the user.
    #[serde(rename = "task.conflicted")]
    TaskConflicted {
        /// The task.
        task: TaskId,
        /// Whether it conflicts, or merges cleanly into a tree whose check fails.
        #[serde(default)]
        cause: ReturnCause,
        /// The reason, in words.
        message: String,
    },
    /// A task will not run because one of its dependencies did not succeed.
    #[serde(rename = "task.skipped")]
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// The task that it waited for.
        because: TaskId,
    },
    /// A task was cancelled.
    #[serde(rename = "task.cancelled")]
    TaskCancelled {
        /// The task.
        task: TaskId,
        /// The reason, in words.
        message: String,
    },
    /// The integration branch is about to be merged into the user's branch.
    #[serde(rename = "landing.started")]
    LandingStarted {
        /// The user's branch.
        branch: String,
        /// Its tip.
        from: Oid,
        /// The commit that it will move to.
        to: Oid,
    },
    /// A landing could not be completed, or the user's branch has moved on without it.
    #[serde(rename = "landing.failed")]
    LandingFailed(FailedLanding),
    /// The integration branch was merged into the user's branch.
    #[serde(rename = "run.landed")]
    RunLanded {
        /// The user's branch.
        branch: String,
        /// Its previous tip.
        from: Oid,
        /// Its new tip.
        to: Oid,
    },
    /// A landing was undone.
    #[serde(rename = "run.unlanded")]
    RunUnlanded(UndoneLanding),
    /// The integration branch was not moved because it is checked out; the result is kept beside
    /// it.
    #[serde(rename = "integration.held")]
    IntegrationHeld(HeldIntegration),
    /// The user dropped tasks: the integration branch was rebuilt without them; the ref is updated
    /// afterwards.
    #[serde(rename = "tasks.dropped")]
    TasksDropped(DroppedTasks),
    /// Worktrees of the run were removed; commits and snapshots are kept.
    #[serde(rename = "run.cleaned")]
    RunCleaned {
        /// The tasks whose worktrees are gone.
        tasks: Vec<TaskId>,
    },
}

/// A person's commit on a task's branch became the task's finished work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdoptedWork {
    /// The task.
    pub task: TaskId,
    /// The branch's tip.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Whether the person has approved this very tree.
    #[serde(default)]
    pub approved: bool,
    /// Files that look like secrets, and that the person has taken all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted: Vec<String>,
    /// The message to the agent, to which the rest of its work returns once this is merged; `None`
    /// if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<BlobId>,
}

/// How a child began: at whose call, from where, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnRecord {
    /// The call of its parent that spawned it; `None` if a program did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallOfTurn>,
    /// The commit that its first attempt starts from, with its parent's work so far; `None` for the
    /// run's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// What it may do.
    pub authority: Authority,
    /// What it is given beside its task: text, or JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<BlobId>,
    /// The hash of all that the program has asked for, by which it finds the child again; `None`
    /// for a child of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<BlobId>,
}

/// The fact that an agent is to be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRequest {
    /// The task.
    pub task: TaskId,
    /// The agent that asks for it; `None` for a user or a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
}

/// A landing could not be completed, or the user's branch has moved on without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedLanding {
    /// The user's branch.
    pub branch: String,
    /// The reason, in words.
    pub message: String,
}

/// A landing was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneLanding {
    /// The user's branch.
    pub branch: String,
    /// Its tip, the same as before the landing.
    pub to: Oid,
}

/// The integration branch was not moved because it is checked out; the result is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldIntegration {
    /// Where it is checked out.
    pub checkout: String,
    /// The result, to which that checkout can be fast-forwarded.
    pub commit: Oid,
}

/// Tasks that the user dropped, and what the integration branch was rebuilt to without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedTasks {
    /// The tasks.
    pub tasks: Vec<TaskId>,
    /// The integration branch's previous tip.
    pub target: Oid,
    /// Its new tip.
    pub commit: Oid,
    /// The merges of other tasks that were made again, each with the commit that replaces it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merges: BTreeMap<Oid, Oid>,
}

/// The branch that finished work is merged into.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MergeTarget {
    /// The run's integration branch.
    #[default]
    Integration,
    /// The branch of the agent that spawned the task.
    Agent(AgentId),
}

impl MergeTarget {
    /// Reports whether it is the run's integration branch.
    pub fn is_integration(&self) -> bool {
        *self == Self::Integration
    }

    /// Returns the agent that the branch belongs to; `None` for the integration branch.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Integration => None,
            Self::Agent(agent) => Some(agent),
        }
    }
}
