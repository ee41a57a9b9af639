//! Returns faulty work to its agent while the rounds last, and writes the merge that it is returned
//! with into the worktree: what the worker itself finds wrong. What a merge finds wrong is returned
//! by `merge/return_to_agent.rs`.

use orchestrate_core::event::Event;
use orchestrate_core::projections::AfterClaims;
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{AfterFault, BlobId, Oid, TaskRecord, UnverifiedClaim, VerifyResult};

use crate::error::CoordinatorError;
use crate::link::requests::{Facts, ReadBlobs};
use crate::texts::failed_checks::{after_rounds, last_exit, shown_tries, with_failing_lines};
use crate::texts::prompts::{EVIDENCE_BYTES, cut, listed};
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

/// Returns work with unresolved conflicts to its agent, or leaves it to the user; returns whether
/// there is more to do.
pub(super) async fn send_back_conflict(
    workplace: &Workplace,
    record: &TaskRecord,
    left: &Unresolved,
) -> Result<bool, CoordinatorError> {
    let (assignment, task) = (&workplace.assignment, workplace.task().clone());
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
            task,
            cause: ReturnCause::Conflict,
            message,
        };
        workplace.link.record(vec![conflicted]).await?;
        return Ok(false);
    }
    let texts = kinds.map(|(prompt, _, files)| {
        assignment
            .prompts
            .render_around(prompt, &[], &[("files", &listed(files, "\n"))])
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let returned = |text| Event::TaskReturned {
        task,
        cause: ReturnCause::Conflict,
        text,
        onto: None,
    };
    workplace
        .link
        .record(Facts::naming(text.into_bytes(), returned))
        .await?;
    Ok(true)
}

/// Returns work that could not be stored to its agent, with the reason; the agent may confirm that
/// most files are to go.
pub(super) async fn send_back_unstored(
    workplace: &Workplace,
    record: &TaskRecord,
    cause: ReturnCause,
    error: CoordinatorError,
) -> Result<bool, CoordinatorError> {
    let (assignment, task) = (&workplace.assignment, workplace.task().clone());
    if !goes_back(workplace, record, cause) {
        failing::contain(&workplace.host, &workplace.link, error).await?;
        return Ok(false);
    }
    let prompt = if cause == ReturnCause::Deletions {
        "deletions"
    } else {
        "unstorable"
    };
    let text = assignment
        .prompts
        .render_around(prompt, &[], &[("error", &error.to_string())]);
    let returned = |text| Event::TaskReturned {
        task,
        cause,
        text,
        onto: None,
    };
    workplace
        .link
        .record(Facts::naming(text.into_bytes(), returned))
        .await?;
    Ok(true)
}

/// Returns work to its agent, or fails its task, because of what its report claims; returns whether
/// there is more to do.
pub(super) async fn refuse_claims(
    workplace: &Workplace,
    record: &TaskRecord,
    decided: AfterClaims,
) -> Result<bool, CoordinatorError> {
    let (assignment, task) = (&workplace.assignment, workplace.task().clone());
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
            let text = assignment.prompts.render_around(
                "claims",
                &[],
                &[("claims", &listed_claims(&claims))],
            );
            let returned = |text| Event::TaskReturned {
                task,
                cause: ReturnCause::Claims,
                text,
                onto: None,
            };
            workplace
                .link
                .record(Facts::naming(text.into_bytes(), returned))
                .await?;
            Ok(true)
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
    let (link, assignment) = (&workplace.link, &workplace.assignment);
    let errors = cut(errors, EVIDENCE_BYTES);
    if !goes_back(workplace, record, ReturnCause::InvalidPlan) {
        let text = format!("its plan cannot be run{}: {errors}", after_rounds(record));
        workplace.fail(FailureCause::InvalidPlan, text).await?;
        return Ok(false);
    }
    let text = assignment
        .prompts
        .render_around("invalid_plan", &[], &[("errors", &errors)]);
    let task = workplace.task().clone();
    let returned = |text| Event::TaskReturned {
        task,
        cause: ReturnCause::InvalidPlan,
        text,
        onto: None,
    };
    link.record(Facts::naming(text.into_bytes(), returned))
        .await?;
    Ok(true)
}

/// Returns work whose check failed each time to its agent, or fails the task; returns whether there
/// is more to do.
pub(super) async fn after_red_check(
    workplace: &Workplace,
    record: &TaskRecord,
    command: &str,
    tries: &[VerifyResult],
) -> Result<bool, CoordinatorError> {
    let (link, assignment) = (&workplace.link, &workplace.assignment);
    let ids: Vec<BlobId> = tries.iter().map(|tried| tried.output.clone()).collect();
    let blobs = link.ask(ReadBlobs { ids: ids.clone() }).await?;
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
    let text = assignment
        .prompts
        .render_around("task_check", &ours, &[("output", &output)]);
    let task = workplace.task().clone();
    let returned = |text| Event::TaskReturned {
        task,
        cause: ReturnCause::TaskCheck,
        text,
        onto: None,
    };
    link.record(Facts::naming(text.into_bytes(), returned))
        .await?;
    Ok(true)
}
