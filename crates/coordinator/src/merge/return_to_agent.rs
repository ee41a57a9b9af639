//! Returns a branch that cannot be merged to the agent that wrote it, with its conflict or the failed check of the
//! merged tree; or gives it up.
//!
//! [`orchestrate_core::MergeQueue`] decides which of the two. The worker writes the merge into the agent's worktree
//! when it takes the task up again (`worker/faulty_work.rs`).

use orchestrate_core::event::{Event, FailureCause, ReturnCause};
use orchestrate_core::invisible::shown;
use orchestrate_core::merge_queue::VerifyResult;
use orchestrate_core::{Evidence, GivenUp, Oid, TaskId};
use orchestrate_journal::{Batch, Blob};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::texts::prompts::{EVIDENCE_BYTES, cut, listed};
use crate::worker::end_facts::after_rounds;
use crate::worker::faulty_work::with_failing_lines;

/// Returns the facts that return a task's work to its agent, together with the message to it. The work is to be
/// merged with a commit first, which the branch that it is merged into has reached.
pub(crate) async fn returned(
    context: &RunContext,
    task: TaskId,
    (cause, onto): (ReturnCause, Oid),
    evidence: &Evidence,
) -> Result<Batch, CoordinatorError> {
    let text = Blob::new(evidence_text(context, evidence).await?.into_bytes());
    let returned = Event::TaskReturned { task, cause, text: text.id().clone(), onto: Some(onto) };
    Ok(Batch::from(returned).with_blob(text))
}

/// Returns the fact that ends a task whose work cannot be merged.
pub(crate) async fn given_up(
    context: &RunContext,
    task: TaskId,
    (cause, end): (ReturnCause, GivenUp),
    evidence: &Evidence,
) -> Result<Event, CoordinatorError> {
    let message = give_up_message(context, &task, cause, evidence).await?;
    Ok(match end {
        GivenUp::Failed => Event::TaskFailed { task, cause: FailureCause::Check, message },
        GivenUp::Conflicted => Event::TaskConflicted { task, cause, message },
    })
}

/// Returns what the agent is shown of the conflict or the failed check.
async fn evidence_text(context: &RunContext, evidence: &Evidence) -> Result<String, CoordinatorError> {
    Ok(match evidence {
        Evidence::Conflict(files) => {
            let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
            context.prompts.render_around("conflict", &[], &[("files", &listed(&files, "\n"))])
        }
        Evidence::Check { command, result } => {
            let output = cut(context.blob_text(result.output.clone()).await?.trim(), EVIDENCE_BYTES);
            let ours = [("exit", result.exit.as_str()), ("command", command)];
            context.prompts.render_around("run_check", &ours, &[("output", &output)])
        }
    })
}

/// Returns why the task ends although its work exists, and where that work is kept.
async fn give_up_message(
    context: &RunContext,
    task: &TaskId,
    cause: ReturnCause,
    evidence: &Evidence,
) -> Result<String, CoordinatorError> {
    let record = context.task(task)?;
    let what = match evidence {
        Evidence::Conflict(files) => {
            let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
            format!("conflicts in {}", listed(&files, ", "))
        }
        Evidence::Check { command, result: VerifyResult { exit, .. } } => {
            format!("`{command}` on the merged tree: {exit}")
        }
    };
    let kind = if cause == ReturnCause::Conflict { "cannot be merged" } else { "merges cleanly, but its check fails" };
    let worktree = context.host.layout.worktree(&context.run, task).display().to_string();
    let again = after_rounds(&record);
    let text = format!("the branch {kind} ({what}){again}; the branch and its worktree {worktree} are kept");
    match evidence {
        Evidence::Conflict(_) => Ok(text),
        Evidence::Check { result, .. } => {
            Ok(with_failing_lines(text, &context.blob_text(result.output.clone()).await?))
        }
    }
}
