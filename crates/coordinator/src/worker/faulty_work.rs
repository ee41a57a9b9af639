//! Returns faulty work to its agent while the rounds last, and writes the merge that it is returned
//! with into the worktree: what the worker itself finds wrong. What a merge finds wrong is returned
//! by `merge/return_to_agent.rs`.

use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::event::Event;
use orchestrate_core::projections::AfterClaims;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::text::cut;
use orchestrate_core::{AfterFault, BlobId, Oid, TaskRecord, UnverifiedClaim, VerifyResult};

use crate::error::CoordinatorError;
use crate::link::requests::{Facts, ReadBlobs};
use crate::texts::failed_checks::{after_rounds, last_exit, shown_tries, with_failing_lines};
use crate::texts::prompts::listed;
use crate::worker::failing;
use crate::worker::workplace::Workplace;
use crate::worktree::attempt::Unresolved;

/// Merges the commit that work was returned onto into the worktree; returns whether the agent can
/// continue, or the user has to.
pub(super) async fn merge_return(
    workplace: &Workplace,
    onto: Oid,
) -> Result<bool, CoordinatorError> {
    let binary = workplace.files.write_return(onto.clone()).await?;
    let task = workplace.task().clone();
    let prepared = Event::WorktreePrepared {
        task: task.clone(),
        onto: Some(onto),
    };
    let asked = left_to_a_person(workplace, &binary);
    let asked = asked.map(|message| Event::TaskConflicted {
        task,
        cause: ReturnCause::Conflict,
        message,
    });
    let goes_on = asked.is_none();
    // Another attempt continues from the user's resolution of the merge.
    workplace
        .link
        .record(std::iter::once(prepared).chain(asked).collect::<Vec<_>>())
        .await?;
    Ok(goes_on)
}

/// Returns why the user has to resolve conflicts in files that are not text, if the agent has no
/// tool to do so.
fn left_to_a_person(workplace: &Workplace, binary: &[String]) -> Option<String> {
    let Workplace { assignment, .. } = workplace;
    let spec = assignment.role.as_ref().map(|role| &role.spec);
    if binary.is_empty() || spec.is_some_and(|spec| spec.can_resolve_binary(&assignment.tools)) {
        return None;
    }
    Some(format!(
        "it conflicts in {}, which is not text, and its role has none of `{}` to resolve that; {}",
        listed(binary, ", "),
        assignment.tools.deleting().collect::<Vec<_>>().join("`, `"),
        kept(workplace)
    ))
}

/// Returns where the user finds the work.
fn kept(workplace: &Workplace) -> String {
    format!(
        "the branch and its worktree {} are kept",
        workplace.files.path().display()
    )
}

/// Reports whether work with this fault is returned to its agent once more.
fn goes_back(workplace: &Workplace, record: &TaskRecord, fault: ReturnCause) -> bool {
    record.after_fault(fault, None, workplace.assignment.limits.merge_rounds) == AfterFault::Return
}

/// Returns work to its agent with a text on what is wrong with it; there is more to do.
async fn return_to_agent(
    workplace: &Workplace,
    cause: ReturnCause,
    text: String,
) -> Result<bool, CoordinatorError> {
    let task = workplace.task().clone();
    let facts = Facts::naming(text.into_bytes(), |text| Event::TaskReturned {
        task,
        cause,
        text,
        onto: None,
    });
    workplace.link.record(facts).await?;
    Ok(true)
}

/// Returns work with unresolved conflicts to its agent, or leaves it to the user; returns whether
/// there is more to do.
pub(super) async fn send_back_conflict(
    workplace: &Workplace,
    record: &TaskRecord,
    left: &Unresolved,
) -> Result<bool, CoordinatorError> {
    let kinds = [
        ("markers", "conflict markers are left in ", &left.marked),
        (
            "undecided",
            "these conflicts are unresolved: ",
            &left.untouched,
        ),
    ];
    let kinds = kinds.into_iter().filter(|(.., files)| !files.is_empty());
    if !goes_back(workplace, record, ReturnCause::Conflict) {
        let left: Vec<String> = kinds
            .map(|(_, what, files)| format!("{what}{}", listed(files, ", ")))
            .collect();
        let message = format!("{}; {}", left.join("; "), kept(workplace));
        let conflicted = Event::TaskConflicted {
            task: workplace.task().clone(),
            cause: ReturnCause::Conflict,
            message,
        };
        workplace.link.record(vec![conflicted]).await?;
        return Ok(false);
    }
    let mut texts = Vec::new();
    for (prompt, _, files) in kinds {
        let files = listed(files, "\n");
        let prompts = &workplace.assignment.prompts;
        texts.push(prompts.render_around(prompt, &[], &[("files", &files)]));
    }
    let text = texts.join("\n");
    return_to_agent(workplace, ReturnCause::Conflict, text).await
}

/// Returns work that could not be stored to its agent, with the reason; the agent may confirm that
/// most files are to go.
pub(super) async fn send_back_unstored(
    workplace: &Workplace,
    record: &TaskRecord,
    cause: ReturnCause,
    error: CoordinatorError,
) -> Result<bool, CoordinatorError> {
    if !goes_back(workplace, record, cause) {
        failing::contain(&workplace.host, &workplace.link, error).await?;
        return Ok(false);
    }
    let prompt = if cause == ReturnCause::Deletions {
        "deletions"
    } else {
        "unstorable"
    };
    let text =
        workplace
            .assignment
            .prompts
            .render_around(prompt, &[], &[("error", &error.to_string())]);
    return_to_agent(workplace, cause, text).await
}

/// Returns work to its agent, or fails its task, because of what its report claims; returns whether
/// there is more to do.
pub(super) async fn refuse_claims(
    workplace: &Workplace,
    record: &TaskRecord,
    decided: AfterClaims,
) -> Result<bool, CoordinatorError> {
    match decided {
        AfterClaims::Take => Ok(true),
        AfterClaims::Fail(claims) => {
            let text = format!(
                "its report claims what the facts do not bear out{}\n{}",
                after_rounds(record),
                listed_claims(&claims)
            );
            workplace.fail(FailureCause::Claims, text).await?;
            Ok(false)
        }
        AfterClaims::Return(claims) => {
            let text = workplace.assignment.prompts.render_around(
                "claims",
                &[],
                &[("claims", &listed_claims(&claims))],
            );
            return_to_agent(workplace, ReturnCause::Claims, text).await
        }
    }
}

fn listed_claims(claims: &[UnverifiedClaim]) -> String {
    let lines: Vec<String> = claims.iter().map(|claim| format!("- {claim}")).collect();
    lines.join("\n")
}

/// Returns a plan that cannot be run to its agent with its errors, or fails the task; returns
/// whether there is more to do.
pub(super) async fn send_back_plan(
    workplace: &Workplace,
    record: &TaskRecord,
    errors: &str,
) -> Result<bool, CoordinatorError> {
    let errors = cut(errors, EVIDENCE_BYTES);
    if !goes_back(workplace, record, ReturnCause::InvalidPlan) {
        let text = format!("its plan cannot be run{}: {errors}", after_rounds(record));
        workplace.fail(FailureCause::InvalidPlan, text).await?;
        return Ok(false);
    }
    let text =
        workplace
            .assignment
            .prompts
            .render_around("invalid_plan", &[], &[("errors", &errors)]);
    return_to_agent(workplace, ReturnCause::InvalidPlan, text).await
}

/// Returns an answer that has not the form that the task asks for to its agent, or fails the task;
/// returns whether there is more to do.
pub(super) async fn send_back_answer(
    workplace: &Workplace,
    record: &TaskRecord,
    mistakes: &str,
) -> Result<bool, CoordinatorError> {
    let mistakes = cut(mistakes, EVIDENCE_BYTES);
    if !goes_back(workplace, record, ReturnCause::InvalidAnswer) {
        let text = format!(
            "its answer has not the form that was asked for{}: {mistakes}",
            after_rounds(record)
        );
        workplace.fail(FailureCause::InvalidAnswer, text).await?;
        return Ok(false);
    }
    let ours = [("errors", mistakes.as_ref())];
    let text = workplace
        .assignment
        .prompts
        .render_around("invalid_answer", &[], &ours);
    return_to_agent(workplace, ReturnCause::InvalidAnswer, text).await
}

/// Returns work that a hook does not take to its agent, or fails the task; returns whether there is
/// more to do.
pub(super) async fn send_back_refused(
    workplace: &Workplace,
    record: &TaskRecord,
    hook: &str,
    reason: &str,
) -> Result<bool, CoordinatorError> {
    let reason = cut(reason, EVIDENCE_BYTES);
    if !goes_back(workplace, record, ReturnCause::Hook) {
        let text = format!("{hook} refuses its work{}: {reason}", after_rounds(record));
        workplace.fail(FailureCause::Hook, text).await?;
        return Ok(false);
    }
    let text = workplace.assignment.prompts.render_around(
        "hook",
        &[("hook", hook)],
        &[("reason", &reason)],
    );
    return_to_agent(workplace, ReturnCause::Hook, text).await
}

/// Returns work whose check failed each time to its agent, or fails the task; returns whether there
/// is more to do.
pub(super) async fn after_red_check(
    workplace: &Workplace,
    record: &TaskRecord,
    command: &str,
    tries: &[VerifyResult],
) -> Result<bool, CoordinatorError> {
    let ids: Vec<BlobId> = tries.iter().map(|tried| tried.output.clone()).collect();
    let blobs = workplace.link.ask(ReadBlobs { ids: ids.clone() }).await?;
    let mut outputs = Vec::new();
    for id in &ids {
        outputs.push(String::from_utf8_lossy(blobs.get(id)?).into_owned());
    }
    if !goes_back(workplace, record, ReturnCause::TaskCheck) {
        let text = format!(
            "`{command}` ended with {}{}",
            last_exit(tries),
            after_rounds(record)
        );
        let output = outputs.last().map_or("", String::as_str);
        workplace
            .fail(FailureCause::Check, with_failing_lines(text, output))
            .await?;
        return Ok(false);
    }
    let output = shown_tries(tries, &outputs);
    let ours = [("exit", last_exit(tries)), ("command", command)];
    let text =
        workplace
            .assignment
            .prompts
            .render_around("task_check", &ours, &[("output", &output)]);
    return_to_agent(workplace, ReturnCause::TaskCheck, text).await
}
