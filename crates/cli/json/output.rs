//! Everything that `--json` prints beside the events, by its `type`.

use orchestrate_coordinator::Diagnosis;
use orchestrate_core::projections::review::ReviewEntry;
use orchestrate_plan::CheckReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::{
    AuditLine, Audited, CacheCleared, CacheStatistics, ForeignLine, ToolEntry, ToolFileReport,
};
use super::envelope::Items;
use super::results::{
    CleanReport, DiscardReport, DroppedReport, LandReport, ProposedReport, PrunedEntry,
    RestoredCommit, StoredCommit,
};
use super::runs::{Answer, Failure, LineAnswer, ListedRun, RunMap, RunReport};
use super::setup::{Consent, Decided, InitReport, Known, ListedRole, SchemaText, SettingsReport};
use super::tasks::{RunDiff, TaskDiff, TaskReview};

/// An output that is no event.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum Output {
    /// The command has failed; printed instead of a result.
    #[serde(rename = "error")]
    Error(Failure),
    /// A run that has not ended.
    #[serde(rename = "run.status")]
    RunStatus(Box<RunReport>),
    /// A run that has ended; in a stream, it replaces the event.
    #[serde(rename = "run.finished")]
    RunFinished(Box<RunReport>),
    /// What has become of a request.
    #[serde(rename = "answer")]
    Answer(Answer),
    /// What has become of a request that stood on standard input.
    #[serde(rename = "request.answered")]
    LineAnswer(LineAnswer),
    /// All runs of the repository.
    #[serde(rename = "runs")]
    Runs(Items<ListedRun>),
    /// What a plan would run.
    #[serde(rename = "check")]
    Check(Box<CheckReport>),
    /// The map of the repository that an agent would get.
    #[serde(rename = "map")]
    Map(RunMap),
    /// Every branch of a run.
    #[serde(rename = "review")]
    Review(Items<ReviewEntry>),
    /// The branch of one task, with its diff.
    #[serde(rename = "review.task")]
    TaskReview(Box<TaskReview>),
    /// The changes of a whole result.
    #[serde(rename = "diff")]
    Diff(RunDiff),
    /// The changes of a task.
    #[serde(rename = "diff.task")]
    TaskDiff(TaskDiff),
    /// Tasks whose work was taken out of the result.
    #[serde(rename = "drop")]
    Dropped(DroppedReport),
    /// A run's result that has landed; in a stream, it replaces the event.
    #[serde(rename = "run.landed")]
    Landed(LandReport),
    /// A landing that was undone; in a stream, it replaces the event.
    #[serde(rename = "run.unlanded")]
    Unlanded(LandReport),
    /// A run's result that was pushed, with its pull request.
    #[serde(rename = "run.proposed")]
    Proposed(ProposedReport),
    /// The worktrees of a run that were removed, or would be.
    #[serde(rename = "clean")]
    Cleaned(CleanReport),
    /// What was removed of runs that have landed, or would be.
    #[serde(rename = "clean.landed")]
    Pruned(PrunedEntry),
    /// A run that was removed, or would be.
    #[serde(rename = "discard")]
    Discarded(DiscardReport),
    /// The stored commits of a run.
    #[serde(rename = "recover")]
    Stored(Items<StoredCommit>),
    /// A stored commit that is a branch now.
    #[serde(rename = "recover.restored")]
    Restored(RestoredCommit),
    /// The settings that were written for a project.
    #[serde(rename = "init")]
    Init(InitReport),
    /// What a run needs on this machine.
    #[serde(rename = "doctor")]
    Diagnosis(Diagnosis),
    /// The roles.
    #[serde(rename = "agents")]
    Roles(Items<ListedRole>),
    /// One role.
    #[serde(rename = "agent")]
    Role(Box<ListedRole>),
    /// Whether an agent may call a tool.
    #[serde(rename = "permission")]
    Permission(Decided),
    /// Every setting.
    #[serde(rename = "config")]
    Settings(Box<SettingsReport>),
    /// The commands and tools that a project's files define.
    #[serde(rename = "config.trust")]
    Consents(Items<Consent>),
    /// The tools.
    #[serde(rename = "tools")]
    Tools(Items<ToolEntry>),
    /// One tool.
    #[serde(rename = "tool")]
    Tool(Box<ToolEntry>),
    /// The verdict on `.tool` files.
    #[serde(rename = "tools.check")]
    ToolFiles(Items<ToolFileReport>),
    /// The results that are kept for replay.
    #[serde(rename = "cache")]
    Cache(CacheStatistics),
    /// Results that were removed.
    #[serde(rename = "cache.cleared")]
    CacheCleared(CacheCleared),
    /// A line of a run's audit log.
    #[serde(rename = "audit.call")]
    AuditLine(AuditLine),
    /// A line in the file of the audit log that is no record of the run.
    #[serde(rename = "audit.foreign")]
    ForeignLine(ForeignLine),
    /// An audit log that has not been changed.
    #[serde(rename = "audit")]
    Audited(Audited),
    /// The names of the schemas.
    #[serde(rename = "schemas")]
    Schemas(Items<Known>),
    /// One schema.
    #[serde(rename = "schema")]
    Schema(SchemaText),
}

impl Output {
    /// Returns the output of a run, which says by its type whether that has ended.
    pub(crate) fn run(report: RunReport) -> Self {
        match report.has_ended() {
            true => Self::RunFinished(Box::new(report)),
            false => Self::RunStatus(Box::new(report)),
        }
    }
}
