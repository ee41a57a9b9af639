//! What `--json` prints, each as a type: all of it is written by these types, read by them, and
//! described by the schemas that are made of them.

mod calls;
mod envelope;
mod event_line;
mod output;
mod results;
mod runs;
mod schemas;
mod setup;
mod tasks;

pub(crate) use calls::{
    AuditLine, Audited, AuditedRun, CacheCleared, CacheStatistics, ForeignLine, ToolEntry,
    ToolFileReport, ToolForm, ToolProblem, ToolUse,
};
pub(crate) use envelope::{Envelope, Items};
pub(crate) use event_line::EventLine;
pub(crate) use output::Output;
pub(crate) use results::{
    BoxesReport, CleanReport, CleanedRun, DiscardReport, DroppedReport, KeptTree, LandReport,
    LostEntry, ProposedReport, PrunedEntry, RecordedRequest, RemovedBranch, RemovedTree,
    RestoredCommit, StoredCommit,
};
pub(crate) use runs::{
    Answer, ErrorEntry, Failure, LineAnswer, ListedRun, ModelOutage, OpenApproval, RunMap,
    RunReport, Stage, WaitingFor, WorkingTask,
};
pub(crate) use schemas::{Described, SCHEMAS, schema_of};
pub(crate) use setup::{
    Consent, Decided, FoundTool, InitReport, Known, ListedRole, NetworkReach, RuleEntry,
    RulesByDecision, SchemaText, SettingEntry, SettingsReport,
};
pub(crate) use tasks::{RunDiff, TaskDiff, TaskReview};
