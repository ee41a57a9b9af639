//! The recorded end of a call: made from what the tool returned, and handed over whatever happens.

use std::time::{Duration, Instant};

use orchestrate_core::CallId;
use orchestrate_core::agent_loop::INTERRUPTED;
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::{ServiceError, ToolError};
use crate::output::{Answer, ToolOutput};
use crate::scope::CallScope;
use crate::services::{Artifact, CallEnd, CallRecord, EndSlot, ResourceUsage};
use crate::shape;

/// Holds the slot of a call's end; dropped without an end, it records `interrupted`.
pub(crate) struct EndGuard {
    slot: Option<Box<dyn EndSlot>>,
    call: CallId,
    started: Instant,
}

impl EndGuard {
    /// Reserves the slot of the end and records the start.
    pub(crate) async fn start(record: &CallRecord, scope: &CallScope) -> Result<EndGuard, ServiceError> {
        let slot = scope.services.recorder.started(record).await?;
        Ok(EndGuard { slot: Some(slot), call: record.call.clone(), started: Instant::now() })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records the end and waits until that is durable.
    pub(crate) async fn finish(&mut self, end: CallEnd) -> Result<(), ServiceError> {
        match self.slot.take() {
            Some(slot) => slot.finished(end).await,
            None => Ok(()),
        }
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let error = ToolError::Interrupted(INTERRUPTED.to_owned());
            let mut output = ToolOutput::failed(&error);
            output.execution_time = self.elapsed();
            // The end is handed over at once; nobody is left to wait until it is durable.
            drop(slot.finished(end_of(&self.call, &output, Answer::default())));
        }
    }
}

/// Makes the failure of a call whose start or end could not be recorded.
pub(crate) fn lost(which: &str, error: &ServiceError) -> ToolError {
    match error {
        ServiceError::Closed => ToolError::Interrupted("the run is ending".to_owned()),
        other => ToolError::Execution(format!("failed to record the {which} of the call: {other}")),
    }
}

/// Shapes what a tool returned into what the model reads, and into what is recorded.
pub(crate) async fn finish(
    context: &ToolContext,
    call: &CallId,
    result: Result<Answer, ToolError>,
    took: Duration,
) -> (ToolOutput, CallEnd) {
    let (mut answer, error) = match result {
        Ok(answer) => (answer, None),
        // Whatever stopped it, it reads as it would if the program had been lost meanwhile.
        Err(ToolError::Interrupted(_)) => return interrupted(call, took),
        Err(error) => (Answer { text: failure_text(&error), ..Answer::default() }, Some(error)),
    };
    let (text, note, artifact) = shape_text(context, &answer).await;
    answer.artifacts.extend(artifact);
    let output = ToolOutput {
        success: error.is_none() && answer.failed.is_none(),
        data: std::mem::take(&mut answer.data),
        error: error.as_ref().map(ToolError::to_string).or_else(|| answer.failed.clone()),
        error_kind: error.as_ref().map(ToolError::kind),
        execution_time: took,
        resource_usage: ResourceUsage { output_bytes: answer.text.len() as u64, written_bytes: answer.written_bytes },
        text,
        note,
        artifacts: answer.artifacts.clone(),
    };
    let end = end_of(call, &output, answer);
    (output, end)
}

/// Makes the record of an output; what only the tool knows is taken from its answer.
pub(crate) fn end_of(call: &CallId, output: &ToolOutput, answer: Answer) -> CallEnd {
    CallEnd {
        call: call.clone(),
        success: output.success,
        error_kind: output.error_kind,
        error: output.error.clone(),
        text: output.text.clone(),
        note: output.note.clone(),
        artifacts: output.artifacts.clone(),
        deleted: answer.deleted,
        seen: answer.seen,
        exit_code: answer.exit_code,
        duration_ms: u64::try_from(output.execution_time.as_millis()).unwrap_or(u64::MAX),
        resource_usage: output.resource_usage,
    }
}

fn interrupted(call: &CallId, took: Duration) -> (ToolOutput, CallEnd) {
    let mut output = ToolOutput::failed(&ToolError::Interrupted(INTERRUPTED.to_owned()));
    output.execution_time = took;
    let end = end_of(call, &output, Answer::default());
    (output, end)
}

fn failure_text(error: &ToolError) -> String {
    match error {
        ToolError::Timeout { partial, .. } if !partial.is_empty() => {
            format!("ERROR: {error}; its output until then:\n{partial}")
        }
        _ => format!("ERROR: {error}"),
    }
}

/// Returns what the model is told, how that ends in our own words, and where the whole is kept if that is more.
async fn shape_text(context: &ToolContext, answer: &Answer) -> (String, String, Option<Artifact>) {
    let footer = answer.footer.as_deref().unwrap_or_default();
    let allowed = context.result_bytes().saturating_sub(footer.len() + 1);
    let body = answer.text.trim_end_matches('\n');
    if body.len() <= allowed {
        let (text, note) = with_footer(body, footer, &answer.data);
        return (text, note, None);
    }
    let artifact = context.services().artifacts.put(body.as_bytes().to_vec()).await.ok();
    let cut = shape::cut_middle(body, allowed, artifact.as_ref().map(|artifact| artifact.handle.as_str()));
    let (text, note) = with_footer(&cut, footer, &answer.data);
    (text, note, artifact)
}

/// Returns a text with its footer, and how it ends in our own words.
fn with_footer(body: &str, footer: &str, data: &Value) -> (String, String) {
    let ours = |text: String| (text.clone(), text);
    match (body.is_empty(), footer.is_empty()) {
        (false, true) => (body.to_owned(), String::new()),
        (false, false) => (format!("{body}\n{footer}"), footer.to_owned()),
        (true, false) => ours(format!("(no output)\n{footer}")),
        (true, true) if data.is_null() => ours("(done, nothing to show)".to_owned()),
        (true, true) => (data.to_string(), String::new()),
    }
}
