//! Why the coordinator cannot continue. A task's failure is an event in the journal, not one of
//! these.

use std::path::PathBuf;

use orchestrate_checks::ChecksError;
use orchestrate_core::agent::agent_loop::IllegalFact;
use orchestrate_core::messages::{MessageRefused, SpawnRefused};
use orchestrate_core::policy::PolicyError;
use orchestrate_core::run::feed::FeedError;
use orchestrate_core::run::request::RequestRefused;
use orchestrate_core::task::schedule::ScheduleError;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, RunId, TaskId, Underivable};
use orchestrate_git::GitError;
use orchestrate_journal::JournalError;
use orchestrate_landing::LandingError;
use orchestrate_model::ModelError;
use orchestrate_sandbox::SandboxError;
use orchestrate_settings::Problem;

use crate::error::link_error::LinkError;

/// Why the coordinator cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoordinatorError {
    /// The user's consents cannot be read.
    #[error(transparent)]
    Consent(#[from] orchestrate_settings::consent::ConsentError),
    /// A tool that is to answer for another one never could.
    #[error("use the alternative `{pair}` of `tools.alternatives`: {reason}")]
    Alternative {
        /// The tool and the other one, as they are written.
        pair: String,
        /// Why it cannot.
        reason: String,
    },
    /// Variables of the environment have invalid values.
    #[error("use the environment: {}", in_one_line(.0))]
    Variables(Vec<Problem>),
    /// The repository cannot be used, or a git operation failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository's git directory has become read-only, which concerns all tasks alike: the run
    /// can be resumed once it is writable.
    #[error("{source}; the repository is read-only")]
    ReadOnlyRepository {
        /// What could not be written.
        source: Box<GitError>,
    },
    /// Files that another attempt would replace cannot be saved, and nothing unsaved is deleted.
    #[error(
        "save the files in {path} before replacing them: {source}; remove the cause there, or \
         commit the files elsewhere, then retry the task"
    )]
    Unkeepable {
        /// The worktree, which stays as it is.
        path: PathBuf,
        /// Why git cannot store them.
        source: Box<GitError>,
    },
    /// Events cannot be recorded or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No process can be confined, or none can be started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The sandbox that the user demands, its helper or the state folder cannot be used.
    #[error(transparent)]
    Checks(ChecksError),
    /// This many agents would run out of open files.
    #[error("run {agents} agents at once: {needed} open files needed, {allowed} allowed")]
    FewFiles {
        /// The maximum number of agents at once.
        agents: usize,
        /// The open files that they need.
        needed: u64,
        /// The open files allowed.
        allowed: u64,
    },
    /// The disk has no room for another agent's worktree.
    #[error(
        "start the agent of {task}: its worktree takes {} MiB, and the disk of {path} has {} MiB \
         for it",
        needed.div_ceil(1 << 20),
        room >> 20
    )]
    NoRoom {
        /// The task.
        task: TaskId,
        /// The folder of the run's worktrees.
        path: PathBuf,
        /// The bytes that it takes, with some to spare.
        needed: u64,
        /// The bytes that are free, and that no agent which is about to start takes.
        room: u64,
    },
    /// The audit log that the user named cannot be written.
    #[error("write the audit log {path}: {source}")]
    AuditLog {
        /// The file, as the user named it.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A tool's description or schema cannot be used.
    #[error(transparent)]
    Tools(#[from] orchestrate_tools::ToolsError),
    /// The run started with tools that only the program which started it has.
    #[error(
        "resume run {run}: it uses {missing}, which this program does not have; resume it with the \
         program that started it"
    )]
    MissingTools {
        /// The run, which stays as it is.
        run: RunId,
        /// The tools and plugins that its first event names.
        missing: orchestrate_core::policy::tool_extensions::MissingTools,
    },
    /// A model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An agent's recorded facts are inconsistent.
    #[error("replay the journal: {0}")]
    Replay(#[from] IllegalFact),
    /// A recorded value cannot be read.
    #[error("read the recorded {what}: {source}")]
    Recorded {
        /// The kind of value.
        what: &'static str,
        /// The decoder's error.
        source: serde_json::Error,
    },
    /// A recorded request cannot be derived from its parts.
    #[error("read request {seq} of run {run}: {source}")]
    Underivable {
        /// The run.
        run: RunId,
        /// The number of the request's event.
        seq: u64,
        /// Why.
        source: Underivable,
    },
    /// A run that has ended could not be reviewed, landed or cleaned.
    #[error(transparent)]
    Landing(LandingError),
    /// Git has no name and email address for commits.
    #[error("commit: git's user.name and user.email are not set")]
    NoIdentity,
    /// The role does not exist.
    #[error("find the role '{name}'; known roles: {known}")]
    UnknownRole {
        /// The name, as the plan or the settings have it.
        name: String,
        /// The names of all roles that this run has, separated by commas.
        known: String,
    },
    /// A role that the program defines cannot be used.
    #[error("use the program's role '{role}': {reason}")]
    ProgramRole {
        /// Its name.
        role: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A session is opened while another run of the program is open.
    #[error("open the session: run {0} is open already; finish it first")]
    SessionOpen(RunId),
    /// A session is to be continued with other settings than those that its run has.
    #[error(
        "continue the session in run {run}: it began with another {setting}, which a run keeps; \
         start it as before, or under another name"
    )]
    OtherSettings {
        /// The run.
        run: RunId,
        /// What differs.
        setting: &'static str,
    },
    /// A session's run began in another repository, which was in the same folder.
    #[error(
        "continue the session in run {run}: the commit {base} that it began with is not in this \
         repository, so the repository was made again since, or its history replaced; start the \
         session under another name, or bring the commit back"
    )]
    OtherRepository {
        /// The run.
        run: RunId,
        /// The commit.
        base: Oid,
    },
    /// A run's events cannot be followed from where a reader is.
    #[error("follow run {run}: {source}")]
    Feed {
        /// The run.
        run: RunId,
        /// Why.
        source: FeedError,
    },
    /// There is no such provider of models.
    #[error(
        "find the provider '{0}'; a provider is the first part of a model's name, such as `openai` \
         in `openai/gpt-5`"
    )]
    NoSuchProvider(String),
    /// A role or prompt file cannot be used.
    #[error("use {path}: {reason}")]
    BadFile {
        /// The file, from the top of the repository or below the user's folder.
        path: PathBuf,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The task does not exist.
    #[error("find task {task} in run {run}")]
    UnknownTask {
        /// The run that was searched.
        run: RunId,
        /// The id, as requested.
        task: TaskId,
    },
    /// The new limits do not suffice for the tasks that they were to reopen; nothing has changed.
    #[error("resume run {run}: {why}")]
    CannotGoOn {
        /// The run, which stays ended.
        run: RunId,
        /// What its tasks still lack.
        why: RequestRefused,
    },
    /// A branch of a run was moved from outside.
    #[error(
        "move {branch} of run {run}: the run left it at {expected}, but another process has moved \
         it to {found}"
    )]
    BranchMoved {
        /// The run, which cannot continue until the branch is back.
        run: RunId,
        /// The integration branch or a task's, without `refs/heads/`.
        branch: String,
        /// Where the run left it.
        expected: String,
        /// Where it is.
        found: String,
        /// A checkout of the branch, whose files would not follow when it is moved back.
        checkout: Option<PathBuf>,
    },
    /// The child was refused.
    #[error("spawn {child}: {refused}")]
    Spawn {
        /// The id of the child, which was not created, or its task.
        child: String,
        /// Why.
        refused: SpawnRefused,
    },
    /// The tasks of a plan cannot be ordered.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// In a run that merges nothing, a task would never start.
    #[error("run without merging: {task} depends on {on}, which would never be merged")]
    NeverMerged {
        /// The task that would wait.
        task: TaskId,
        /// The task that it depends on.
        on: TaskId,
    },
    /// A plan contains a secret, which would be recorded and sent to a model.
    #[error("record {place}: it contains the secret {name}, which a model would be sent")]
    SecretInPlan {
        /// The line or the task.
        place: PlanPlace,
        /// The secret's name; its value is never shown.
        name: String,
    },
    /// Rules that were frozen with a run, or of its project, cannot be read.
    #[error("{}", each(.0))]
    Rules(Vec<PolicyError>),
    /// A message cannot be sent to a child.
    #[error("send a message to {to}: {why}")]
    NotSent {
        /// The child.
        to: TaskId,
        /// Why.
        why: MessageRefused,
    },
    /// A child's work cannot be approved.
    #[error("approve the work of {task}: {why}")]
    NotApproved {
        /// The child.
        task: TaskId,
        /// Why.
        why: RequestRefused,
    },
    /// A folder cannot be created or read.
    #[error("use {path}: {source}")]
    Io {
        /// The path of the file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The base of a run does not pass the run's check, so nothing was started.
    #[error("verify the base {}: `{}` ended with \
             {}{}", .0.base, .0.command, .0.exit, below(&.0.lines))]
    RedBase(Box<BaseFailure>),
    /// A thread panicked.
    #[error("finish {what}: its thread panicked")]
    Panicked {
        /// What the thread was to do, which completes "finish …".
        what: &'static str,
    },
    /// The work changes files that configure agents.
    #[error(
        "store {}: only the user may change files that configure agents; restore it, and report \
         what should change",
        listed(.paths)
    )]
    Configuration {
        /// The files, below the worktree.
        paths: Vec<PathBuf>,
    },
    /// A request of a worker was not answered.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The run has ended.
    #[error("reach run {0}: it has ended")]
    Ended(RunId),
    /// The run has ended because its coordinator could not continue.
    #[error("reach run {run}: it has ended, since it failed to {reason}")]
    Stopped {
        /// The run.
        run: RunId,
        /// Why, which completes "failed to …".
        reason: String,
    },
}

/// A place in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanPlace {
    /// A line of its text, from 1.
    Line(usize),
    /// A task, if the plan has no text, or if the text became this by being parsed.
    Task(TaskId),
}

impl std::fmt::Display for PlanPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line} of the plan"),
            Self::Task(task) => write!(f, "task {task}"),
        }
    }
}

fn each(errors: &[PolicyError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns each problem with where it is.
fn in_one_line(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.place, problem.message))
        .collect::<Vec<_>>()
        .join("; ")
}

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", shown_path(path)))
        .collect();
    names.join(", ")
}

/// How the base of a run has failed the run's check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseFailure {
    /// The run.
    pub run: RunId,
    /// The first digits of the base's id.
    pub base: String,
    /// The command: the check, or the setup if that failed.
    pub command: String,
    /// How it ended, in words.
    pub exit: String,
    /// The lines of its output that describe the failure.
    pub lines: Vec<String>,
    /// What to type if the cause is known.
    pub fix: Option<&'static str>,
}

fn below(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n{line}")).collect()
}

impl CoordinatorError {
    /// Returns what makes an error of one of the file system.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl Fn(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }

    /// Says which request cannot be derived, and why.
    pub(crate) fn underivable(run: &RunId, seq: u64, source: impl Into<Underivable>) -> Self {
        Self::Underivable {
            run: run.clone(),
            seq,
            source: source.into(),
        }
    }

    /// Reports whether nothing was started because of the request itself or of something missing,
    /// so that a different request helps.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Git(error) => matches!(
                error,
                GitError::Refused { .. }
                    | GitError::UnknownRevision { .. }
                    | GitError::NotSigned { .. }
                    | GitError::NoRemote { .. }
            ),
            Self::Journal(error) => matches!(
                error,
                JournalError::NoSuchRun(_)
                    | JournalError::AmbiguousRun { .. }
                    | JournalError::Held { .. }
                    | JournalError::ReadOnly { .. }
                    | JournalError::ForeignFileSystem { .. }
                    | JournalError::Unusable { .. }
                    | JournalError::OtherFormat { .. }
                    | JournalError::Secret(_)
            ),
            Self::Sandbox(_)
            | Self::Checks(ChecksError::DemandedTier { .. } | ChecksError::StateFolder { .. })
            | Self::Model(_)
            | Self::Tools(orchestrate_tools::ToolsError::Description { .. })
            | Self::NoIdentity
            | Self::Alternative { .. }
            | Self::Variables(_)
            | Self::AuditLog { .. }
            | Self::FewFiles { .. }
            | Self::UnknownRole { .. }
            | Self::ProgramRole { .. }
            | Self::NoSuchProvider(_)
            | Self::BadFile { .. }
            | Self::UnknownTask { .. }
            | Self::CannotGoOn { .. }
            | Self::RedBase(_)
            | Self::OtherSettings { .. }
            | Self::OtherRepository { .. }
            | Self::Spawn { .. }
            | Self::Schedule(_)
            | Self::NeverMerged { .. }
            | Self::SecretInPlan { .. }
            | Self::Rules(_)
            | Self::NotSent { .. }
            | Self::NotApproved { .. } => true,
            Self::Landing(error) => !matches!(error, LandingError::Refused(_)),
            _ => false,
        }
    }

    /// Reports whether a disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Git(error) => error.is_disk_full(),
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            Self::NoRoom { .. } => true,
            _ => false,
        }
    }

    /// Reports whether the repository is read-only.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Git(error) if error.is_read_only())
    }

    /// Reports whether it only says that the run is being killed, so that resuming the run repeats
    /// the operation.
    pub(crate) fn is_kill(&self) -> bool {
        matches!(self, Self::Git(GitError::Killed))
    }

    /// Returns the failure of the task in which it occurred, or `None` if it concerns the whole
    /// run, as a full disk does.
    pub(crate) fn own_failure(&self) -> Option<FailureCause> {
        match self {
            _ if self.is_disk_full() || self.is_kill() => None,
            Self::ReadOnlyRepository { .. } => None,
            Self::Git(_)
            | Self::Configuration { .. }
            | Self::Unkeepable { .. }
            | Self::Io { .. } => Some(FailureCause::Worktree),
            Self::Model(error) if error.blames_endpoint() => Some(FailureCause::Endpoint),
            Self::Model(_) => Some(FailureCause::Model),
            Self::UnknownRole { .. }
            | Self::ProgramRole { .. }
            | Self::BadFile { .. }
            | Self::Rules(_) => Some(FailureCause::Setup),
            Self::Sandbox(_) | Self::Checks(ChecksError::DemandedTier { .. }) => {
                Some(FailureCause::Internal)
            }
            Self::Link(error) => error.own_failure(),
            _ => None,
        }
    }

    /// Returns why work that could not be stored is returned to its agent, which alone can fix the
    /// cause, or `None` if the work is not the cause.
    pub(crate) fn return_cause(&self) -> Option<ReturnCause> {
        match self {
            Self::Git(GitError::LostFiles { .. } | GitError::EmptySnapshot { .. }) => {
                Some(ReturnCause::Deletions)
            }
            Self::Git(
                GitError::Unstorable { .. }
                | GitError::FilterAsked { .. }
                | GitError::TooLarge { .. },
            ) => Some(ReturnCause::Unstorable),
            Self::Configuration { .. } => Some(ReturnCause::Unstorable),
            _ => None,
        }
    }

    /// Reports whether it is a bug in this program.
    pub fn is_defect(&self) -> bool {
        match self {
            Self::Replay(_)
            | Self::Recorded { .. }
            | Self::Checks(ChecksError::NoHelper)
            | Self::Panicked { .. } => true,
            Self::Journal(error) => matches!(error, JournalError::Illegal(_)),
            _ => false,
        }
    }

    /// Reports whether the user has to decide something about the repository or the run first.
    pub fn needs_person(&self) -> bool {
        match self {
            Self::Landing(LandingError::Refused(_)) | Self::BranchMoved { .. } => true,
            Self::Git(error) => matches!(
                error,
                GitError::BranchGone { .. }
                    | GitError::BranchInUse { .. }
                    | GitError::NotDetached { .. }
                    | GitError::CheckedOutTwice { .. }
                    | GitError::UnknownCheckout { .. }
                    | GitError::LocalChanges { .. }
                    | GitError::InConflict { .. }
                    | GitError::NotFastForward { .. }
                    | GitError::HookFailed { .. }
                    | GitError::RefMoved { .. }
                    | GitError::Unreplaceable { .. }
            ),
            _ => false,
        }
    }
}

impl From<ChecksError> for CoordinatorError {
    fn from(error: ChecksError) -> Self {
        match error {
            ChecksError::Git(error) => Self::Git(error),
            ChecksError::ReadOnlyRepository { source } => Self::ReadOnlyRepository { source },
            ChecksError::Sandbox(error) => Self::Sandbox(error),
            ChecksError::Io { path, source } => Self::Io { path, source },
            ChecksError::Panicked { what } => Self::Panicked { what },
            error => Self::Checks(error),
        }
    }
}

impl From<LandingError> for CoordinatorError {
    fn from(error: LandingError) -> Self {
        match error {
            LandingError::Git(error) => Self::Git(error),
            LandingError::Journal(error) => Self::Journal(error),
            LandingError::Checks(error) => error.into(),
            LandingError::Io { path, source } => Self::Io { path, source },
            LandingError::NoIdentity => Self::NoIdentity,
            LandingError::UnknownTask { run, task } => Self::UnknownTask { run, task },
            error => Self::Landing(error),
        }
    }
}

/// Words an error for a model: it can repair what is wrong with its request or with its files.
impl From<CoordinatorError> for orchestrate_tools::ServiceError {
    fn from(error: CoordinatorError) -> Self {
        use GitError::{BadRefName, Refused, UnfinishedMerge, UnknownRevision};
        let text = error.to_string();
        match error {
            CoordinatorError::Configuration { .. } => Self::Denied {
                rule: "built-in:configuration".to_owned(),
                reason: text,
            },
            CoordinatorError::Git(
                BadRefName { .. }
                | Refused { .. }
                | UnfinishedMerge { .. }
                | UnknownRevision { .. },
            ) => Self::Invalid(text),
            CoordinatorError::Link(LinkError::Invalid(_)) => Self::Invalid(text),
            error if error.return_cause().is_some() => Self::Invalid(text),
            _ => Self::Failed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::{Illegal, IllegalEvent};

    use super::*;

    #[test]
    fn a_fact_that_is_impossible_is_a_defect() {
        let run = "r-abcdef".into();
        let kind = "merge.prepared".to_owned();
        let reason = Illegal::NoMerge("T1".into());
        let illegal = JournalError::Illegal(IllegalEvent {
            run,
            seq: 17,
            kind,
            reason,
        });
        assert!(CoordinatorError::from(illegal).is_defect());
    }
}
