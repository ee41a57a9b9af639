//! A task: the unit of a plan or of a spawn, with everything that running it needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::TaskId;
use crate::task::review_mode::{ReviewMode, review_of_task};
use crate::text::{in_one_line, shortened};

/// The maximum number of a command's characters in a label: a line of a log.
const MAX_LABEL_CHARS: usize = 60;

/// One task, as planned. Its progress is in [`crate::record::TaskRecord`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Unique within the plan.
    pub id: TaskId,
    /// The first line, without box, id and attributes.
    pub title: String,
    /// The state of its box.
    pub status: TaskStatus,
    /// Nested boxes, bullets and paragraphs, as written.
    #[serde(default)]
    pub details: Vec<String>,
    /// The heading above it.
    #[serde(default)]
    pub section: Option<String>,
    /// The plan's line of the task, from 1; zero for a spawned task.
    #[serde(default)]
    pub line: usize,
    /// Tasks that must be merged before this one starts: written dependencies, and phase barriers.
    #[serde(default)]
    pub depends: Vec<TaskId>,
    /// Tasks that must be settled (however they ended) before this one starts: the implicit order.
    #[serde(default)]
    pub after: Vec<TaskId>,
    /// Paths or globs that the task declares to write.
    #[serde(default)]
    pub files: Vec<String>,
    /// How it is carried out.
    #[serde(default)]
    pub work: Work,
    /// Shell command that must exit 0 in the task's worktree.
    #[serde(default)]
    pub verify: Option<String>,
    /// `provider/model` for this task only.
    #[serde(default)]
    pub model: Option<String>,
    /// Token budget of this task.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Maximum number of turns of an attempt.
    #[serde(default)]
    pub turns: Option<u32>,
    /// Time limit of an attempt in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Among ready tasks, higher priorities go first.
    #[serde(default)]
    pub priority: i64,
    /// When a person must approve its work before it is merged; `None` means as the run. A yes or
    /// no in older journals.
    #[serde(
        default,
        alias = "review_required",
        deserialize_with = "review_of_task"
    )]
    #[schemars(with = "Option<ReviewMode>")]
    pub review: Option<ReviewMode>,
    /// Whether it ends with a verdict on the tasks that it depends on, which are merged only after
    /// its approval; its role decides that.
    #[serde(default)]
    pub verdict: bool,
    /// Marked `[P]`.
    #[serde(default)]
    pub parallel: bool,
    /// Marked `- [ ]*`.
    #[serde(default)]
    pub optional: bool,
    /// Whether it only checks what others have done (a checkpoint, a review), and so may have
    /// nothing to change.
    #[serde(default)]
    pub may_change_nothing: bool,
    /// Whether it tests or reviews what it comes `after`, so that it never starts if any of that
    /// has failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests_what_it_follows: bool,
    /// The JSON Schema of the answer that its agent has to end with; `None` for words of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Value>,
    /// Whether it is the goal of the whole run, which its agent divides among others: the agent
    /// without a parent.
    #[serde(default)]
    pub goal: bool,
}

impl Task {
    /// Returns the task's id and title, or the command of a task without title, in one line.
    pub fn label(&self) -> String {
        let command = match &self.work {
            Work::Run(command) if self.title.is_empty() => command.as_str(),
            _ => "",
        };
        let called = shortened(&in_one_line(command), MAX_LABEL_CHARS);
        match format!("{}{called}", self.title) {
            called if called.is_empty() => self.id.to_string(),
            called => format!("{}: {called}", self.id),
        }
    }

    /// Reports whether a shell command carries it out, without an agent.
    pub fn is_command(&self) -> bool {
        matches!(self.work, Work::Run(_))
    }

    /// Returns the subject of the task's commits, which is never empty.
    pub fn subject(&self) -> String {
        if self.title.is_empty() {
            self.label()
        } else {
            self.title.clone()
        }
    }
}

/// How a task is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// By an agent of this role; `None` means the run's default role.
    Agent(Option<String>),
    /// By a shell command, deterministic, without a model.
    Run(String),
}

impl Default for Work {
    fn default() -> Self {
        Work::Agent(None)
    }
}

/// The state of a task's box in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// `[ ]`
    #[default]
    Todo,
    /// `[x]`
    Done,
    /// `[~]` or `[/]`; runs.
    InProgress,
    /// `[-]`; does not run, and its dependents are skipped.
    Cancelled,
    /// `[!]`; does not run, and its dependents are skipped.
    Blocked,
    /// Open, but optional in a run that leaves such tasks out; does not run.
    LeftOut,
}

impl TaskStatus {
    /// Reports whether a task with this box is carried out.
    pub fn runs(self) -> bool {
        matches!(self, TaskStatus::Todo | TaskStatus::InProgress)
    }
}

/// Returns the tasks to be carried out that depend on another such task, each with the first such
/// dependency: if nothing is merged, they would never start.
pub fn waiting(tasks: &[Task]) -> Vec<(&Task, &TaskId)> {
    let open: std::collections::BTreeSet<&TaskId> = tasks
        .iter()
        .filter(|task| task.status.runs())
        .map(|task| &task.id)
        .collect();
    let mut waiting = Vec::new();
    for task in tasks {
        if task.status.runs()
            && let Some(on) = task.depends.iter().find(|on| open.contains(on))
        {
            waiting.push((task, on));
        }
    }
    waiting
}

impl Default for TaskId {
    fn default() -> Self {
        TaskId::from("")
    }
}

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
