//! Returns a branch that cannot be merged to the agent that wrote it, with its conflict or the
//! failed check of the merged tree; or gives it up.
//!
//! [`orchestrate_core::MergeQueue`] decides which of the two. The worker writes the merge into the
//! agent's worktree when it takes the task up again (`worker/faulty_work.rs`).

use orchestrate_core::event::Event;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Evidence, GivenUp, Oid, TaskId, VerifyResult};
use orchestrate_journal::{Batch, Blob};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::texts::failed_checks::{after_rounds, last_exit, shown_tries, with_failing_lines};
use crate::texts::prompts::listed;

/// Returns the facts that return a task's work to its agent, together with the message to it. The
/// work is to be merged with a commit first, which the branch that it is merged into has reached.
pub(crate) async fn returned(
    context: &RunContext,
    task: TaskId,
    cause: ReturnCause,
    onto: Oid,
    evidence: &Evidence,
) -> Result<Batch, CoordinatorError> {
    let text = Blob::new(evidence_text(context, evidence).await?.into_bytes());
    let returned = Event::TaskReturned {
        task,
        cause,
        text: text.id().clone(),
        onto: Some(onto),
    };
    Ok(Batch::from(returned).with_blob(text))
}

/// Returns the fact that ends a task whose work cannot be merged.
pub(crate) async fn given_up(
    context: &RunContext,
    task: TaskId,
    cause: ReturnCause,
    end: GivenUp,
    evidence: &Evidence,
) -> Result<Event, CoordinatorError> {
    let message = give_up_message(context, &task, cause, evidence).await?;
    Ok(match end {
        GivenUp::Failed => Event::TaskFailed {
            task,
            cause: FailureCause::Check,
            message,
        },
        GivenUp::Conflicted => Event::TaskConflicted {
            task,
            cause,
            message,
        },
    })
}

/// Returns what the agent is shown of the conflict or the failed check.
async fn evidence_text(
    context: &RunContext,
    evidence: &Evidence,
) -> Result<String, CoordinatorError> {
    Ok(match evidence {
        Evidence::Conflict(files) => {
            let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
            context
                .prompts
                .render_around("conflict", &[], &[("files", &listed(&files, "\n"))])
        }
        Evidence::Check {
            command,
            tries,
            on_target,
        } => {
            let output = shown_tries(tries, &outputs(context, tries).await?);
            let ours = [("exit", last_exit(tries)), ("command", command)];
            let text = context
                .prompts
                .render_around("run_check", &ours, &[("output", &output)]);
            format!("{text}{}", without_the_work(on_target.as_ref()))
        }
    })
}

/// Returns the outputs of these tries.
async fn outputs(
    context: &RunContext,
    tries: &[VerifyResult],
) -> Result<Vec<String>, CoordinatorError> {
    let mut outputs = Vec::new();
    for tried in tries {
        outputs.push(context.blob_text(tried.output.clone()).await?);
    }
    Ok(outputs)
}

/// Says how the check ended on the branch without the work, if it was tried there.
fn without_the_work(on_target: Option<&VerifyResult>) -> String {
    match on_target {
        Some(VerifyResult { passed: true, .. }) => {
            "\nWithout your work, the same check passes.\n".to_owned()
        }
        Some(VerifyResult { exit, .. }) => {
            format!("\nWithout your work, the same check fails, too ({exit}).\n")
        }
        None => String::new(),
    }
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
        Evidence::Check { command, tries, .. } => {
            format!("`{command}` on the merged tree: {}", last_exit(tries))
        }
    };
    let kind = if cause == ReturnCause::Conflict {
        "cannot be merged"
    } else {
        "merges cleanly, but its check fails"
    };
    let worktree = context
        .host
        .site
        .layout
        .worktree(&context.run, task)
        .display()
        .to_string();
    let again = after_rounds(&record);
    let text = format!(
        "the branch {kind} ({what}){again}; the branch and its worktree {worktree} are kept"
    );
    match evidence {
        Evidence::Conflict(_) => Ok(text),
        Evidence::Check { tries, .. } => {
            let outputs = outputs(context, tries).await?;
            Ok(with_failing_lines(
                text,
                outputs.last().map_or("", String::as_str),
            ))
        }
    }
}
