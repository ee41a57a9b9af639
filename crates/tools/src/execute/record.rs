//! The recorded end of a call: created from the tool's result, and recorded even if the call is
//! dropped.

use std::time::{Duration, Instant};

use orchestrate_core::CallId;
use orchestrate_core::event::{ErrorKind, ResourceUsage};

use crate::answer::{Answer, Artifact, ServiceError, ToolError, ToolOutput, shape};
use crate::call::{CallScope, milliseconds};
use crate::services::{CallRecord, EndSlot};
use crate::tool::ToolContext;

/// Holds the slot for a call's end. If dropped without an end, it records the call as interrupted.
pub(crate) struct EndGuard {
    slot: Option<Box<dyn EndSlot>>,
    call: CallId,
    started: Instant,
}

impl EndGuard {
    /// Reserves the slot for the end and records the start.
    pub(crate) async fn start(
        record: &CallRecord,
        scope: &CallScope,
    ) -> Result<EndGuard, ServiceError> {
        let slot = scope.services.recorder.started(record).await?;
        Ok(EndGuard {
            slot: Some(slot),
            call: record.call.clone(),
            started: Instant::now(),
        })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records the end and waits until it is durable.
    pub(crate) async fn finish(&mut self, output: &ToolOutput) -> Result<(), ServiceError> {
        match self.slot.take() {
            Some(slot) => slot.finished(output.to_record()).await,
            None => Ok(()),
        }
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let output = ToolOutput {
                execution_time: self.elapsed(),
                ..ToolOutput::interrupted(&self.call)
            };
            // The end is submitted immediately; a destructor cannot wait until it is durable.
            drop(slot.finished(output));
        }
    }
}

/// Creates the error for a call whose start or end could not be recorded.
pub(crate) fn lost(which: &str, error: &ServiceError) -> ToolError {
    ToolError::Execution(format!("failed to record the {which} of the call: {error}"))
}

/// Shapes a tool's result into the call's output.
pub(crate) async fn finish(
    context: &ToolContext,
    call: &CallId,
    result: Result<Answer, ToolError>,
    took: Duration,
) -> ToolOutput {
    let usage = ResourceUsage {
        wall_ms: milliseconds(took),
        ..context.meter().usage()
    };
    let (answer, error) = match result {
        Ok(answer) => (answer, None),
        // The output is the same whatever the cause, also if the program was killed during the
        // call.
        Err(ToolError::Interrupted(_)) => {
            return ToolOutput {
                execution_time: took,
                resource_usage: usage,
                ..ToolOutput::interrupted(call)
            };
        }
        Err(error) => (
            Answer {
                text: failure_text(&error),
                ..Answer::default()
            },
            Some(error),
        ),
    };
    let footer = answer.footer.unwrap_or_default();
    let shows_nothing = answer.text.trim_end_matches('\n').is_empty()
        && footer.is_empty()
        && !answer.data.is_null();
    let text = if shows_nothing {
        answer.data.to_string()
    } else {
        answer.text
    };
    let (body, artifact) = shape_body(context, &text, footer.len()).await;
    let mut artifacts = answer.artifacts;
    artifacts.extend(artifact);
    ToolOutput {
        call: call.clone(),
        success: error.is_none() && answer.failed.is_none(),
        error: error.as_ref().map(ToolError::to_string).or(answer.failed),
        error_kind: error
            .as_ref()
            .map(ToolError::kind)
            .or(answer.is_correctable.then_some(ErrorKind::Retry)),
        denied_by: error.as_ref().and_then(ToolError::rule).map(str::to_owned),
        exit_code: answer.exit_code,
        execution_time: took,
        resource_usage: ResourceUsage {
            output_bytes: text.len() as u64,
            written_bytes: usage.written_bytes.saturating_add(answer.written_bytes),
            ..usage
        },
        body,
        footer,
        data: answer.data,
        artifacts,
        recovered: Vec::new(),
        deleted: answer.deleted,
        seen: answer.seen,
        notes: answer.notes,
        goes_on: answer.goes_on,
    }
}

fn failure_text(error: &ToolError) -> String {
    match error {
        ToolError::Timeout { partial, notes, .. } => {
            let mut text = format!("ERROR: {error}");
            if !notes.is_empty() {
                text.push_str(&format!("\n{notes}"));
            }
            if !partial.is_empty() {
                text.push_str(&format!("\nIts output until then:\n{partial}"));
            }
            text
        }
        _ => format!("ERROR: {error}"),
    }
}

/// Returns the part of a text that is shown to the model, and the artifact of the whole text if it
/// had to be cut.
async fn shape_body(
    context: &ToolContext,
    text: &str,
    footer_bytes: usize,
) -> (String, Option<Artifact>) {
    let allowed = context.result_bytes().saturating_sub(footer_bytes + 1);
    let body = text.trim_end_matches('\n');
    if body.len() <= allowed {
        return (body.to_owned(), None);
    }
    let artifact = context
        .services()
        .artifacts
        .put(body.as_bytes().to_vec(), None)
        .await
        .ok();
    let cut = shape::cut_middle(
        body,
        allowed,
        artifact.as_ref().map(|artifact| artifact.handle.as_str()),
    );
    (cut, artifact)
}
