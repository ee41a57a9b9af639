//! Drives a `run:` task: one shell command in the task's worktree, without a model.
//!
//! The command is deterministic, so an interrupted one is rerun, in a fresh worktree: a command
//! that appends to a file would otherwise append twice. A command whose result is committed is not
//! rerun.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_checks::CheckResult;
use orchestrate_core::CallId;
use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::event::{ErrorKind, Event, ResourceUsage, ToolOutcome};
use orchestrate_core::task::FailureCause;
use orchestrate_core::text::cut;
use orchestrate_tools::{ToolOutput, command_usage};
use serde_json::json;

use super::agent_driver::{AgentDriver, DriverEnd};
use super::call_end::{CallOf, finished};
use crate::error::CoordinatorError;
use crate::link::requests::{Facts, ReadBlobs, ReadHistory};
use crate::link::worker_link::WorkerLink;
use crate::run::codec::value_bytes;
use crate::texts::failed_checks::with_failing_lines;
use crate::worker::workplace::Workplace;

/// The name of the command among the tool calls.
const TOOL: &str = "run";

/// Drives one `run:` task.
pub(crate) struct CommandDriver {
    pub(crate) command: String,
}

#[async_trait]
impl AgentDriver for CommandDriver {
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError> {
        let link = &workplace.link;
        let record = link.task().await?;
        for call in record.open_calls() {
            self.record_end(workplace, call, None).await?;
        }
        if record.tip() != record.base() {
            return Ok(DriverEnd::Finished(last_output(link).await?));
        }
        let call = CallId::new(format!("run-{}-{}", record.attempt(), record.returns()));
        let started = Event::ToolStarted {
            task: workplace.task().clone(),
            turn: 0,
            call_id: call.clone(),
            tool: TOOL.to_owned(),
            arguments: json!({"command": self.command}),
            writes: Vec::new(),
            deletes: Vec::new(),
            rule: "plan".to_owned(),
            cache: None,
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

impl CommandDriver {
    /// Records the command's end; `None` means that it was not observed.
    async fn record_end(
        &self,
        workplace: &Workplace,
        call: &CallId,
        result: Option<&CheckResult>,
    ) -> Result<(), CoordinatorError> {
        let end = result.map_or_else(
            || ToolOutput::interrupted(call),
            |result| output_of(call, result),
        );
        let of = CallOf {
            task: workplace.task().clone(),
            turn: 0,
            tool: TOOL.to_owned(),
        };
        let fact = |result| finished(&end, of, result);
        workplace
            .link
            .record(Facts::naming(value_bytes(&end, "tool result")?, fact))
            .await
    }
}

/// Returns a command's end in the form of a call's end.
fn output_of(call: &CallId, result: &CheckResult) -> ToolOutput {
    ToolOutput {
        success: result.passed,
        error: (!result.passed).then(|| result.exit.clone()),
        error_kind: result.timed_out.then_some(ErrorKind::Timeout),
        exit_code: result.code,
        execution_time: Duration::from_millis(result.duration_ms),
        resource_usage: ResourceUsage {
            wall_ms: result.duration_ms,
            output_bytes: result.output.len() as u64,
            ..result.usage.as_ref().map(command_usage).unwrap_or_default()
        },
        body: result.output.clone(),
        footer: result.exit.clone(),
        ..ToolOutput::empty(call)
    }
}

/// Returns the output of the command whose result is the branch's tip.
async fn last_output(link: &WorkerLink) -> Result<String, CoordinatorError> {
    let mut results = link
        .ask(ReadHistory {})
        .await?
        .into_iter()
        .filter_map(|fact| match fact.event {
            Event::ToolFinished {
                result,
                outcome: ToolOutcome::Ok,
                ..
            } => Some(result),
            _ => None,
        });
    let Some(result) = results.next_back() else {
        return Ok(String::new());
    };
    let blobs = link
        .ask(ReadBlobs {
            ids: vec![result.clone()],
        })
        .await?;
    let end: ToolOutput = blobs.value(&result, "tool result")?;
    Ok(cut(end.body.trim(), EVIDENCE_BYTES))
}

fn end_of(result: &CheckResult) -> DriverEnd {
    if result.passed {
        return DriverEnd::Finished(cut(result.output.trim(), EVIDENCE_BYTES));
    }
    let cause = if result.timed_out {
        FailureCause::Timeout
    } else {
        FailureCause::Command
    };
    DriverEnd::Failed(
        cause,
        with_failing_lines(
            format!("the command ended with {}", result.exit),
            &result.output,
        ),
    )
}
