//! Drives a `run:` task: one shell command in the task's worktree, without a model.
//!
//! The command is deterministic, so an interrupted one is run again, in a worktree that is prepared anew: on what it
//! had made itself, a command that adds to a file would add twice. One whose result is committed is not run again.

use async_trait::async_trait;
use orchestrate_core::CallId;
use orchestrate_core::event::{Event, FailureCause, ToolOutcome};
use orchestrate_tools::{CallEnd, ErrorKind, ResourceUsage};
use serde_json::json;

use super::agent_driver::{AgentDriver, DriverEnd};
use crate::checks::CheckResult;
use crate::error::CoordinatorError;
use crate::prompts::{EVIDENCE_BYTES, cut};
use crate::recorded::value_bytes;
use crate::worker_link::WorkerLink;
use crate::workplace::Workplace;

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
    /// Records the command's end; none means that nobody saw it.
    async fn record_end(
        &self,
        workplace: &Workplace,
        call: &CallId,
        result: Option<&CheckResult>,
    ) -> Result<(), CoordinatorError> {
        let success = result.is_some_and(|result| result.passed);
        let text =
            result.map_or_else(|| "interrupted".to_owned(), |result| format!("{}\n{}", result.output, result.exit));
        let end = CallEnd {
            call: call.clone(),
            success,
            error_kind: if result.is_none() { Some(ErrorKind::Interrupted) } else { None },
            error: result.filter(|result| !result.passed).map(|result| result.exit.clone()),
            text,
            artifacts: Vec::new(),
            deleted: Vec::new(),
            seen: Vec::new(),
            exit_code: None,
            duration_ms: result.map_or(0, |result| result.duration_ms),
            resource_usage: ResourceUsage::default(),
        };
        let outcome = match result {
            None => ToolOutcome::Interrupted,
            Some(result) if result.passed => ToolOutcome::Ok,
            Some(_) => ToolOutcome::Failed,
        };
        let (task, call_id, duration_ms) = (workplace.task().clone(), call.clone(), end.duration_ms);
        let fact = |result| Event::ToolFinished {
            task,
            turn: 0,
            call_id,
            tool: TOOL.to_owned(),
            outcome,
            result,
            duration_ms,
            deleted: Vec::new(),
        };
        workplace.link.record_with(value_bytes(&end, "tool result")?, fact).await
    }
}

/// Gives what the command said that made the branch's tip.
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
