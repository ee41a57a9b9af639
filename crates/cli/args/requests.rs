//! The arguments of the commands that request something of a run: `approve`, `reject`, `adopt`,
//! `retry`, `message` and `stop`.
//!
//! What is requested stands in a struct of its own, which is also a line of JSON on the standard
//! input of a run that stays open for people.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use orchestrate_core::MessageKind;
use orchestrate_settings::{Expected, Kind, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::candidates;
use super::shared::words;
use super::{JsonArgs, OutputArgs, RunOption, WhichRun};
use crate::context::Target;
use crate::error::{CommandError, Wording};

/// `--follow`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FollowArgs {
    /// If no process works on the run, continue it and follow it to its end, as `resume` does;
    /// without this, the next `resume` does what you request
    #[arg(long)]
    pub(crate) follow: bool,
}

/// A command that requests something of a run.
#[derive(Debug, Args)]
pub(crate) struct RequestArgs<W: Args> {
    /// What it requests.
    #[command(flatten)]
    pub(crate) what: W,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What `approve` requests.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approval {
    /// The task, or the id of a tool call that `status` lists as waiting for you
    #[arg(value_name = "TASK|CALL", required = true, add = candidates::tasks_and_calls())]
    #[serde(rename = "task")]
    what: Option<String>,
    /// The id of a tool call, where a line of JSON names one.
    #[arg(skip)]
    call: Option<String>,
    #[arg(skip)]
    #[serde(skip, default = "Wording::line")]
    pub(crate) wording: Wording,
    /// The id of the git tree that you reviewed, or a prefix of it [default: the one last shown by
    /// review or diff]
    #[arg(long)]
    pub(crate) tree: Option<String>,
    /// The hash shown with the call; without it, the call is shown on the terminal and you are
    /// asked
    #[arg(long)]
    pub(crate) hash: Option<String>,
    /// Approve only these files and folders of a task's work; the rest returns to its agent once
    /// they are merged
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["tree", "hash"])]
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// The message for the agent, to which the rest returns
    #[arg(long, short, value_name = "TEXT", value_parser = words, requires = "only")]
    #[serde(default, deserialize_with = "any_words")]
    pub(crate) message: Option<String>,
}

/// What `adopt` requests.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adopting {
    /// The task's id, or a unique prefix of it
    #[arg(add = candidates::tasks())]
    pub(crate) task: String,
    /// The message of your commit [default: one that names the task]
    #[arg(long, short, value_name = "TEXT", value_parser = words)]
    #[serde(default, deserialize_with = "any_words")]
    pub(crate) message: Option<String>,
}

/// What `reject` requests.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rejection {
    /// The task, or the id of a tool call that `status` lists as waiting for you
    #[arg(value_name = "TASK|CALL", required = true, add = candidates::tasks_and_calls())]
    #[serde(rename = "task")]
    what: Option<String>,
    /// The id of a tool call, where a line of JSON names one.
    #[arg(skip)]
    call: Option<String>,
    #[arg(skip)]
    #[serde(skip, default = "Wording::line")]
    pub(crate) wording: Wording,
    /// The message for the agent
    #[arg(long, short, value_name = "TEXT", value_parser = words)]
    #[serde(deserialize_with = "some_words")]
    pub(crate) message: String,
    /// The line that the comment refers to
    #[arg(long, value_name = "FILE:LINE", value_parser = place)]
    #[serde(default, deserialize_with = "any_place")]
    pub(crate) at: Option<FileLine>,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub(crate) retrying: Retrying,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What `retry` requests.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retrying {
    /// The task's id, or a unique prefix of it
    #[arg(required_unless_present = "failed", add = candidates::tasks())]
    pub(crate) task: Option<String>,
    /// Retry all tasks that failed or could not be merged, in parallel
    #[arg(long, conflicts_with = "task")]
    #[serde(default)]
    pub(crate) failed: bool,
    /// The message for the agent
    #[arg(long, short, value_name = "TEXT", value_parser = words)]
    #[serde(default, deserialize_with = "any_words")]
    pub(crate) message: Option<String>,
}

/// What `message` requests.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saying {
    /// Whom it goes to: the id of a task, `role:NAME`, `children` (the agents of the plan's tasks,
    /// without those that agents spawned), `all`, or `main_ralph_coordinator` (the agent of a goal)
    #[arg(add = candidates::recipients())]
    #[serde(rename = "agent", alias = "to")]
    pub(crate) to: String,
    /// The message
    pub(crate) text: String,
    /// What it is for [default: an answer if the agent waits for one, otherwise a note]
    #[arg(long, value_parser = kind_of_message(), value_name = "KIND")]
    pub(crate) kind: Option<MessageKind>,
    /// The number of the agent's question that it answers
    #[arg(long, value_name = "N")]
    pub(crate) reply_to: Option<u64>,
    /// Do not deliver it after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    #[serde(default, deserialize_with = "any_time")]
    pub(crate) deadline: Option<u64>,
    /// Send TEXT as a JSON object instead of as text
    #[arg(long)]
    #[serde(default)]
    pub(crate) object: bool,
    #[arg(skip)]
    #[serde(skip, default = "Wording::line")]
    pub(crate) wording: Wording,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    #[command(flatten)]
    pub(crate) stopping: Stopping,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// How `stop` stops a run.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stopping {
    /// Let each agent finish its current request and the tool calls of the reply, and start nothing
    /// new
    #[arg(long, group = "level")]
    #[serde(default)]
    pub(crate) drain: bool,
    /// Kill every process immediately
    #[arg(long, group = "level")]
    #[serde(default)]
    pub(crate) kill: bool,
}

impl Approval {
    /// Returns what it is about.
    pub(crate) fn target(&self) -> Result<Target<'_>, CommandError> {
        target(self.what.as_deref(), self.call.as_deref(), self.wording)
    }
}

impl Rejection {
    /// Returns what it is about.
    pub(crate) fn target(&self) -> Result<Target<'_>, CommandError> {
        target(self.what.as_deref(), self.call.as_deref(), self.wording)
    }
}

/// Returns what a decision is about. A line of JSON says whether that is a task or a call, the
/// command line does not.
fn target<'a>(
    what: Option<&'a str>,
    call: Option<&'a str>,
    wording: Wording,
) -> Result<Target<'a>, CommandError> {
    match (what, call, wording) {
        (Some(typed), None, Wording::Command) => Ok(Target::Either(typed)),
        (Some(task), None, Wording::Line) => Ok(Target::Task(task)),
        (None, Some(call), _) => Ok(Target::Call(call)),
        _ => Err(CommandError::usage(
            "a decision is about a `task` or about a `call`: write one of them",
        )),
    }
}

/// A line of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileLine {
    /// The file, from the top of the repository.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: usize,
}

impl std::fmt::Display for FileLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Parses a place in a file, such as `src/lib.rs:12`.
fn place(text: &str) -> Result<FileLine, String> {
    let read = |(file, line): (&str, &str)| {
        Some(FileLine {
            file: file.to_owned(),
            line: line.parse().ok()?,
        })
    };
    let place = text
        .rsplit_once(':')
        .filter(|(file, _)| !file.is_empty())
        .and_then(read);
    place
        .filter(|place| place.line > 0)
        .ok_or_else(|| "expected FILE:LINE, such as src/lib.rs:12".to_owned())
}

/// Returns the parser of a kind.
fn kind_of_message() -> impl clap::builder::TypedValueParser<Value = MessageKind> {
    PossibleValuesParser::new(MessageKind::ALL.map(MessageKind::as_str))
        .map(|name| MessageKind::named(&name).unwrap_or_default())
}

/// Parses a time into seconds, of which a part counts as a whole.
fn seconds(text: &str) -> Result<u64, Expected> {
    match Kind::Duration.parse(text)? {
        Value::Number(milliseconds) => Ok(milliseconds.div_ceil(1_000)),
        _ => Err(Expected(Kind::Duration)),
    }
}

fn some_words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    words(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn any_words<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let checked = text.map(|text| words(&text)).transpose();
    checked.map_err(D::Error::custom)
}

fn any_place<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FileLine>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let parsed = text.map(|text| place(&text)).transpose();
    parsed.map_err(D::Error::custom)
}

fn any_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let parsed = text.map(|text| seconds(&text)).transpose();
    parsed.map_err(D::Error::custom)
}
