//! Drives a `run:` task: one shell command in the task's worktree, without a model.
//!
//! The command is deterministic, so an interrupted one is run again, in a worktree that is prepared anew: on what it
//! had made itself, a command that adds to a file would add twice. One whose result is committed is not run again.

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::agent_loop::{INTERRUPTED, interrupted};
use orchestrate_core::event::{ErrorKind, Event, FailureCause, ToolOutcome};
use orchestrate_tools::{CallEnd, ResourceUsage};
use serde_json::json;

use super::agent_driver::{AgentDriver, DriverEnd};
use super::call_end::{CallOf, finished};
use crate::error::CoordinatorError;
use crate::merge::checks::CheckResult;
use crate::run::codec::value_bytes;
use crate::texts::prompts::{EVIDENCE_BYTES, cut};
use crate::worker::link::WorkerLink;
use crate::worker::workplace::Workplace;

/// The name under which the command stands among the tool calls.
const TOOL: &str = "run";

/// Drives one `run:` task.
pub(crate) struct RunDriver {
    pub(crate) command: String,
}

#[async_trait]
impl AgentDriver for RunDriver {
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError> {
        let link = &workplace.link;
        let record = link.task()?;
        for call in &record.open_calls {
            self.record_end(workplace, call, None).await?;
        }
        if record.tip != record.base {
            return Ok(DriverEnd::Finished(link.read(last_output).await?));
        }
        let call = CallId::new(format!("run-{}-{}", record.attempt, record.returns));
        let started = Event::ToolStarted {
            task: workplace.task().clone(),
            turn: 0,
            call_id: call.clone(),
            tool: TOOL.to_owned(),
            arguments: json!({"command": self.command}),
            rule: "plan".to_owned(),
        };
        link.record(vec![started]).await?;
        let result = workplace.run(&self.command).await?;
        if result.cancelled {
            self.record_end(workplace, &call, None).await?;
            return Ok(DriverEnd::Interrupted);
        }
        self.record_end(workplace, &call, Some(&result)).await?;
        Ok(end_of(&result))
    }
}

impl RunDriver {
    /// Records the command's end; `None` means that nobody saw it.
    async fn record_end(
        &self,
        workplace: &Workplace,
        call: &CallId,
        result: Option<&CheckResult>,
    ) -> Result<(), CoordinatorError> {
        let success = result.is_some_and(|result| result.passed);
        let text = match result {
            Some(result) => format!("{}\n{}", result.output, result.exit),
            None => interrupted(call).text,
        };
        let end = CallEnd {
            call: call.clone(),
            success,
            error_kind: error_kind(result),
            error: match result {
                Some(result) => (!result.passed).then(|| result.exit.clone()),
                None => Some(format!("interrupted: {INTERRUPTED}")),
            },
            text,
            note: String::new(),
            artifacts: Vec::new(),
            deleted: Vec::new(),
            seen: Vec::new(),
            exit_code: result.and_then(|result| result.code),
            duration_ms: result.map_or(0, |result| result.duration_ms),
            resource_usage: ResourceUsage::default(),
        };
        let of = CallOf { task: workplace.task().clone(), turn: 0, tool: TOOL.to_owned() };
        let fact = |result| finished(&end, of, result);
        workplace.link.record_with(value_bytes(&end, "tool result")?, fact).await
    }
}

/// Returns the class of a failure that is not the command's own.
fn error_kind(result: Option<&CheckResult>) -> Option<ErrorKind> {
    match result {
        None => Some(ErrorKind::Interrupted),
        Some(result) if result.timed_out => Some(ErrorKind::Timeout),
        Some(_) => None,
    }
}

/// Returns what the command said that made the branch's tip.
fn last_output(link: &WorkerLink) -> Result<String, CoordinatorError> {
    let mut results = link.history()?.into_iter().filter_map(|fact| match fact.event {
        Event::ToolFinished { result, outcome: ToolOutcome::Ok, .. } => Some(result),
        _ => None,
    });
    let Some(result) = results.next_back() else { return Ok(String::new()) };
    let end: CallEnd = link.blob_value(&result, "tool result")?;
    let output = end.text.rsplit_once('\n').map_or("", |(output, _exit)| output);
    Ok(cut(output.trim(), EVIDENCE_BYTES))
}

fn end_of(result: &CheckResult) -> DriverEnd {
    if result.passed {
        return DriverEnd::Finished(cut(result.output.trim(), EVIDENCE_BYTES));
    }
    let cause = if result.timed_out { FailureCause::Timeout } else { FailureCause::Command };
    let output = cut(result.output.trim(), EVIDENCE_BYTES);
    DriverEnd::Failed(cause, format!("the command ended with {}\n{output}", result.exit))
}
