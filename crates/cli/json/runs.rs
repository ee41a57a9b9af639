//! The outputs of the commands about runs, and errors.

use orchestrate_coordinator::WorktreeSize;
use orchestrate_core::messages::Envelope as Message;
use orchestrate_core::task::TaskState;
use orchestrate_core::{CallHash, Report, RunId, TaskId};
use orchestrate_plan::Skipped;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit_code: u8,
    /// What is wrong.
    pub(crate) errors: Vec<ErrorEntry>,
}

/// One problem.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorEntry {
    /// The file, option or variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, from 1, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The kind of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// What is wrong, for people.
    pub(crate) message: String,
    /// The offending text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// What to write instead.
    pub(crate) suggestion: Option<String>,
    /// What to type next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}

/// The report of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunReport {
    #[serde(flatten)]
    pub(crate) report: Report,
    /// In a stream: the number of the newest event that the report contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    /// The lines of the plan that look like work and are not run; of the process that has started
    /// the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_run_lines: Vec<Skipped>,
    /// What goes on, and what waits for the user; of `status`.
    #[serde(flatten)]
    pub(crate) waiting_for: Option<WaitingFor>,
}

impl From<Report> for RunReport {
    fn from(report: Report) -> Self {
        Self {
            report,
            seq: None,
            not_run_lines: Vec::new(),
            waiting_for: None,
        }
    }
}

impl RunReport {
    /// Reports whether the run has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.report.exit_code.is_some()
    }
}

/// What goes on in a run, and what waits for the user.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WaitingFor {
    /// The calls that wait for the user's decision.
    pub(crate) approvals: Vec<OpenApproval>,
    /// The tasks that are under way.
    pub(crate) working: Vec<WorkingTask>,
    /// The size of each worktree.
    pub(crate) worktrees: Vec<WorktreeSize>,
    /// The questions of agents that wait for the user's answer.
    pub(crate) questions: Vec<Message>,
    /// The other messages of agents to the user.
    pub(crate) messages_to_user: Vec<Message>,
    /// The messages that no agent has read.
    pub(crate) unread_messages: Vec<Message>,
    /// How many requests wait for the next process that works on the run.
    pub(crate) recorded_requests: usize,
}

/// A call that waits for the user's decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OpenApproval {
    /// The call, which `approve` and `reject` take.
    pub(crate) call: CallHash,
    /// The task of its agent.
    pub(crate) task: TaskId,
    /// The tool.
    pub(crate) tool: String,
    /// The call in one line, truncated if it is long.
    pub(crate) summary: String,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// The rule that requires approval.
    pub(crate) rule: String,
    /// The hash that `approve CALL --hash` takes; null if the call cannot be shown in full, and
    /// therefore not be approved.
    pub(crate) hash: Option<String>,
}

/// A task that is under way.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkingTask {
    /// The task.
    pub(crate) task: TaskId,
    /// Its state.
    pub(crate) state: TaskState,
    /// Requests answered.
    pub(crate) turns: u32,
    /// The last tool that its agent called.
    pub(crate) last_tool: Option<String>,
    /// What it waits for, if its model does not answer.
    pub(crate) outage: Option<ModelOutage>,
}

/// A model that does not answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ModelOutage {
    /// Since when.
    pub(crate) since: String,
    /// Why the request failed.
    pub(crate) error: String,
}

/// What has become of a request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Answer {
    /// How far it is.
    pub(crate) stage: Stage,
    /// What was done, what happens next, or why it is refused and what to do, for people.
    pub(crate) answer: String,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// It has been carried out.
    Done,
    /// The process that works on the run has not answered yet.
    Unanswered,
    /// No process works on the run: the next one carries it out.
    Recorded,
    /// The state of the run did not allow it, and nothing has changed; the run goes on for what was
    /// requested before.
    Refused,
}

/// The answer to one line of requests on standard input.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LineAnswer {
    /// The number of the line, from 1.
    pub(crate) line: usize,
    /// Whether it is not refused.
    pub(crate) ok: bool,
    /// How far it is.
    pub(crate) stage: Stage,
    /// What was done, or why not and what to do.
    pub(crate) message: String,
}

/// One run of a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedRun {
    /// The run.
    pub(crate) run_id: RunId,
    /// Its status.
    pub(crate) status: String,
    /// Its exit code; null until it has ended.
    pub(crate) exit_code: Option<u8>,
    /// The plan's path as typed.
    pub(crate) plan: Option<String>,
    /// The plan's title.
    pub(crate) title: Option<String>,
    /// Whether its record is damaged.
    pub(crate) damaged: bool,
    /// When it started.
    pub(crate) started: String,
}

/// A map of the repository.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunMap {
    /// Its tokens.
    pub(crate) tokens: usize,
    /// Its text; null if the agent gets none.
    pub(crate) map: Option<String>,
    /// Why the agent gets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}
