//! One worker: takes one task from its recorded state to the point where another party has to act.
//!
//! A worker owns its worktree and its agent, and reaches the run only through its link. It reads
//! the task's recorded state, carries out the next step, records the outcome, and repeats; so it
//! makes no difference whether the worker is the first one or takes over from a dead process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_checks::{Shutdown, ShutdownLevel, Verification};
use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::checks::flaky::AfterRedCheck;
use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::projections::AfterClaims;
use orchestrate_core::record::{FinishedWork, HandOverFinding, HandOverOutcome, HandOverStep};
use orchestrate_core::task::answer::value_in;
use orchestrate_core::task::{Delivers, FailureCause, ReturnCause, Work};
use orchestrate_core::text::cut;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{
    Oid, ReachedLimit, ReviewEnd, TaskRecord, WithoutChanges, WorkStep, failing_lines, with_hint,
};
use orchestrate_tools::mistakes;
use serde_json::Value;

use crate::error::CoordinatorError;
use crate::link::requests::{
    AwaitTimeout, ConcludeReview, Facts, Failure, HandOver, JudgePlan, JudgeRedCheck, ReachLimit,
    SettleChildren, TakeMap,
};
use crate::link::worker_link::WorkerLink;
use crate::run::assignment::Assignment;
use crate::run::machine::host::Host;
use crate::worker::driver::{AgentDriver, CommandDriver, DriverEnd, LoopDriver};
use crate::worker::failing;
use crate::worker::faulty_work::{
    after_red_check, merge_return, refuse_claims, send_back_answer, send_back_conflict,
    send_back_plan, send_back_refused, send_back_unstored,
};
use crate::worker::hooked_end::{HookedEnd, ask_hooks};
use crate::worker::workplace::Workplace;
use crate::worktree::attempt::Unresolved;

/// The maximum number of files named if only ignored files were written.
const SHOWN_IGNORED: usize = 10;

/// Works on a task until another party has to act, the user is needed, the task has ended, or it is
/// interrupted.
pub(crate) async fn work(
    assignment: Assignment,
    link: WorkerLink,
    host: Arc<Host>,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    if link.task().await?.reached_limit().is_some() {
        // Its time may be used up; only its last report is left, which has a time of its own.
        let ended = work_until_blocked(
            assignment,
            link.clone(),
            Arc::clone(&host),
            shutdown.clone(),
        )
        .await;
        return match ended {
            Ok(()) => Ok(()),
            Err(error) => failing::contain(&host, &link, error).await,
        };
    }
    let limit = assignment.task.timeout_ms.map(Duration::from_millis);
    let expired = out_of_time(link.clone());
    let working = work_until_blocked(
        assignment.clone(),
        link.clone(),
        Arc::clone(&host),
        shutdown.clone(),
    );
    tokio::pin!(working, expired);
    tokio::select! {
        ended = &mut working => return match ended {
            Ok(()) => Ok(()),
            Err(error) => failing::contain(&host, &link, error).await,
        },
        () = &mut expired => shutdown.raise(ShutdownLevel::Stop),
    }
    // The work is interrupted, not dropped: its events are recorded before the timeout, and if they
    // hand the work over, it was done in time.
    let ended = working.await;
    let mut text = format!(
        "the attempt exceeded the task's `timeout` of {} s",
        limit.unwrap_or_default().as_secs()
    );
    if let Err(error) = ended {
        if error.own_failure().is_none() {
            return Err(error);
        }
        text.push_str(&format!("; then it failed to {error}"));
    }
    report_out_of_time(
        assignment,
        &link,
        Arc::clone(&host),
        shutdown.for_report(),
        &text,
    )
    .await?;
    failing::fail(
        &host,
        &link,
        Failure {
            cause: FailureCause::Timeout,
            message: text,
            report: None,
        },
    )
    .await
}

/// Resolves when the attempt's time is used up; never if that cannot be known, since the work meets
/// the same error.
async fn out_of_time(link: WorkerLink) {
    if link.ask(AwaitTimeout {}).await.is_err() {
        std::future::pending().await
    }
}

/// Lets an agent whose time is used up make its last report, if one is due; the task has failed
/// then.
pub(crate) async fn report_out_of_time(
    assignment: Assignment,
    link: &WorkerLink,
    host: Arc<Host>,
    shutdown: Shutdown,
    why: &str,
) -> Result<(), CoordinatorError> {
    link.ask(ReachLimit {
        cause: FailureCause::Timeout,
        message: why.to_owned(),
    })
    .await?;
    let record = link.task().await?;
    // The report needs no files, so those of work that was merged meanwhile need not be brought for
    // it.
    let is_driven = matches!(
        record.next_work(),
        Some(WorkStep::Drive | WorkStep::BringFiles { .. })
    );
    if record.reached_limit().is_none() || !is_driven {
        return Ok(());
    }
    let reported = async {
        let workplace = Workplace::open(assignment, link.clone(), host, shutdown).await?;
        drive(&workplace, &record).await.map(drop)
    };
    match reported.await {
        Err(error) if error.own_failure().is_some() => {
            // The task fails for lack of time; without a worktree there is only the report of the
            // facts.
            tracing::warn!(task = %record.task.id, %error,
                "an agent could not make its last report");
            Ok(())
        }
        other => other,
    }
}

/// Carries out steps of the task until there is none for a worker.
async fn work_until_blocked(
    assignment: Assignment,
    link: WorkerLink,
    host: Arc<Host>,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    let workplace = Workplace::open(assignment, link, host, shutdown).await?;
    loop {
        let record = workplace.link.task().await?;
        let goes_on = match record.next_work() {
            Some(WorkStep::SetUp) => set_up(&workplace).await?,
            Some(WorkStep::BringFiles { from, to }) => bring_files(&workplace, from, to).await?,
            Some(WorkStep::MergeInto { onto }) => merge_return(&workplace, onto).await?,
            Some(WorkStep::Drive) => drive(&workplace, &record).await?,
            Some(WorkStep::Verify { command, tree }) => {
                check_task(&workplace, &record, command, tree).await?
            }
            Some(WorkStep::Begin { .. }) | None => false,
        };
        if !goes_on || workplace.shutdown.level() >= ShutdownLevel::Stop {
            return Ok(());
        }
    }
}

/// Prepares a new worktree with the project's setup command; returns whether the agent can start.
async fn set_up(workplace: &Workplace) -> Result<bool, CoordinatorError> {
    workplace.files.begin().await?;
    let failed = workplace.set_up().await?.filter(|result| !result.passed);
    if let Some(result) = failed.as_ref().filter(|result| !result.cancelled) {
        let output = cut(result.output.trim(), EVIDENCE_BYTES);
        let command = workplace
            .assignment
            .preparation
            .setup
            .as_ref()
            .map_or("", |setup| &setup.command);
        // A list of tasks shows the beginning of the text alone.
        let telling = failing_lines(&result.output).into_iter().next();
        let why = telling
            .filter(|line| !output.starts_with(line.as_str()))
            .map(|line| format!(": {line}"));
        let (exit, why) = (&result.exit, why.unwrap_or_default());
        let text = format!("the worktree's setup `{command}` ended with {exit}{why}\n{output}");
        let text = with_hint(text, &result.output);
        workplace.fail(FailureCause::Setup, text).await?;
    }
    if failed.is_some() {
        return Ok(false);
    }
    let map = tokio::select! {
        map = workplace.link.ask(TakeMap {}) => map?,
        // Without a map, the attempt would go on without one once the run is resumed.
        () = workplace.shutdown.reached(ShutdownLevel::Stop) => return Ok(false),
    };
    let task = workplace.task().clone();
    let mut prepared = match map {
        Some(map) => Facts::naming(map.into_bytes(), |text| Event::MapMade {
            task: task.clone(),
            text,
        }),
        None => Facts::from(Vec::new()),
    };
    prepared
        .events
        .push(Event::WorktreePrepared { task, onto: None });
    workplace.link.record(prepared).await?;
    Ok(true)
}

/// Brings the files of what was merged into the branch into the worktree; the agent can go on then.
async fn bring_files(workplace: &Workplace, from: Oid, to: Oid) -> Result<bool, CoordinatorError> {
    if workplace
        .assignment
        .role
        .as_ref()
        .is_some_and(|role| role.delivers.is_report())
    {
        workplace.files.bring_merged_over(from, to.clone()).await?;
    } else {
        workplace.files.bring_merged(from, to.clone()).await?;
    }
    let prepared = Event::WorktreePrepared {
        task: workplace.task().clone(),
        onto: Some(to),
    };
    workplace.link.record(vec![prepared]).await?;
    Ok(true)
}

/// Drives the agent until it stops; returns whether there may be more to do.
async fn drive(workplace: &Workplace, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let mut driver: Box<dyn AgentDriver> = match &record.task.work {
        Work::Run(command) => Box::new(CommandDriver {
            command: command.clone(),
        }),
        Work::Agent(_) => Box::new(LoopDriver::open(workplace).await?),
    };
    workplace.files.sync_git().await?;
    let end = driver.drive(workplace).await?;
    workplace.files.sync_git().await?;
    let (cause, text) = match end {
        DriverEnd::Parked | DriverEnd::Interrupted => return Ok(false),
        DriverEnd::Finished(summary) => {
            return hand_over_or_send_back(workplace, record, summary).await;
        }
        DriverEnd::AtLimit { limit, report } => {
            let ReachedLimit { cause, message, .. } = limit;
            let failure = Failure {
                cause,
                message,
                report,
            };
            failing::fail(&workplace.host, &workplace.link, failure).await?;
            return Ok(false);
        }
        DriverEnd::Failed(cause, text) => (cause, text),
    };
    workplace.fail(cause, text).await?;
    Ok(false)
}

/// Hands finished work over; work that cannot be stored is returned to its agent.
async fn hand_over_or_send_back(
    workplace: &Workplace,
    record: &TaskRecord,
    summary: String,
) -> Result<bool, CoordinatorError> {
    if let Some(schema) = &record.task.answers
        && let Some(mistakes) = mistakes_of_answer(schema, &summary)?
    {
        return send_back_answer(workplace, record, &mistakes).await;
    }
    // A command cannot mend its work, and a verdict is none.
    if !record.is_command() && !record.task.verdict {
        match ask_hooks(workplace, &summary).await {
            HookedEnd::Passed => {}
            HookedEnd::Interrupted => return Ok(false),
            HookedEnd::Refused { hook, reason } => {
                return send_back_refused(workplace, record, &hook, &reason).await;
            }
        }
    }
    match hand_over(workplace, record, summary).await {
        Err(error) => match error.return_cause() {
            Some(cause) => send_back_unstored(workplace, record, cause, error).await,
            None => Err(error),
        },
        handed => handed,
    }
}

/// Returns why a reply is not the answer that a task asks for; `None` if it is.
fn mistakes_of_answer(schema: &Value, reply: &str) -> Result<Option<String>, CoordinatorError> {
    let Some(value) = value_in(reply) else {
        return Ok(Some("it holds no JSON value".to_owned()));
    };
    Ok(mistakes(schema, &value)?)
}

/// What a worker that hands work over has seen of it, for its outcome.
struct Seen {
    left: Unresolved,
    claims: AfterClaims,
}

/// Makes the finished work the tip of the task's branch, or its report the task's result; returns
/// whether there is more to do.
async fn hand_over(
    workplace: &Workplace,
    record: &TaskRecord,
    summary: String,
) -> Result<bool, CoordinatorError> {
    let (link, files) = (&workplace.link, &workplace.files);
    let role = workplace.assignment.role.as_ref();
    let work = FinishedWork {
        delivers: role.map_or(Delivers::Changes, |role| role.delivers),
        is_review: record.task.verdict,
    };
    let mut seen = Seen {
        left: Unresolved::default(),
        claims: AfterClaims::Take,
    };
    let mut found = HandOverFinding::Nothing;
    loop {
        found = match work.next_step(found) {
            HandOverStep::FindConflicts => {
                seen.left = left_in_conflict(workplace, record).await?;
                HandOverFinding::Conflicts {
                    are_left: !seen.left.is_empty(),
                }
            }
            HandOverStep::KeepFiles => {
                files.keep().await?;
                seen.claims = judge_claims(workplace, &summary).await?;
                HandOverFinding::Kept {
                    takes_claims: seen.claims == AfterClaims::Take,
                }
            }
            HandOverStep::CommitFiles => {
                let message = format!("{}\n\n{}", record.task.subject(), summary.trim());
                files.commit(&message, &workplace.policy).await?;
                HandOverFinding::Committed
            }
            HandOverStep::SettleChildren => HandOverFinding::Settled {
                children: link.ask(SettleChildren {}).await?,
                is_with_work: link.task().await?.has_childrens_work(),
            },
            HandOverStep::FindChanges => HandOverFinding::Changes {
                are_found: has_changes(workplace, record).await?,
            },
            HandOverStep::Compare => {
                files.compare().await?;
                seen.claims = judge_claims(workplace, &summary).await?;
                HandOverFinding::Compared {
                    takes_claims: seen.claims == AfterClaims::Take,
                }
            }
            HandOverStep::End(outcome) => {
                return conclude(workplace, record, outcome, seen, summary).await;
            }
        };
    }
}

/// Carries out what becomes of finished work; returns whether there is more to do.
async fn conclude(
    workplace: &Workplace,
    record: &TaskRecord,
    outcome: HandOverOutcome,
    seen: Seen,
    summary: String,
) -> Result<bool, CoordinatorError> {
    match outcome {
        HandOverOutcome::Conflicted => send_back_conflict(workplace, record, &seen.left).await,
        HandOverOutcome::ClaimsRefused => refuse_claims(workplace, record, seen.claims).await,
        HandOverOutcome::WorkLeft => Ok(true),
        HandOverOutcome::Waits => Ok(false),
        HandOverOutcome::Review => end_review(workplace, summary).await,
        HandOverOutcome::Plan => propose_plan(workplace, record, &summary).await,
        HandOverOutcome::Report => report(workplace, summary).await,
        HandOverOutcome::Unchanged => no_changes(workplace, record, summary).await,
        HandOverOutcome::Commit => {
            let (commit, tree) = workplace.files.tip().await?;
            let fact = Event::TaskCommitted {
                task: workplace.task().clone(),
                commit,
                tree,
                summary,
            };
            // Either a check or a message is next, so there is more to do.
            workplace.link.ask(HandOver { fact }).await?;
            Ok(true)
        }
    }
}

/// Returns what is unresolved of the conflict that the agent is resolving, or of a merge that it
/// has begun itself.
async fn left_in_conflict(
    workplace: &Workplace,
    record: &TaskRecord,
) -> Result<Unresolved, CoordinatorError> {
    if let Some(repair) = record.repair() {
        let left = workplace.files.unresolved(repair).await?;
        if !left.is_empty() {
            return Ok(left);
        }
    }
    workplace.files.left_of_merge().await
}

/// Reports whether the branch's tip changes anything besides the boxes of the plan.
async fn has_changes(workplace: &Workplace, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let (commit, tree) = workplace.files.tip().await?;
    Ok(!record.changes_nothing(&commit, &tree) && !workplace.files.has_only_boxes(&tree).await?)
}

/// Decides what becomes of work because of what its report claims; unless its role is strict about
/// that, it is taken.
async fn judge_claims(
    workplace: &Workplace,
    summary: &str,
) -> Result<AfterClaims, CoordinatorError> {
    let Workplace { assignment, .. } = workplace;
    match &assignment.role {
        Some(role) if role.strict_hand_back => {
            let record = workplace.link.task().await?;
            Ok(record.after_claims(summary, assignment.limits.merge_rounds))
        }
        _ => Ok(AfterClaims::Take),
    }
}

/// Ends a task whose result is its report; there is more to do only if a message has arrived
/// meanwhile.
async fn report(workplace: &Workplace, summary: String) -> Result<bool, CoordinatorError> {
    let task = workplace.task().clone();
    let fact = Event::TaskMerged {
        task,
        commit: None,
        target: None,
        summary: Some(summary),
    };
    Ok(!workplace.link.ask(HandOver { fact }).await?)
}

/// Ends a task whose result is a plan; one that cannot be run is returned to its agent. Returns
/// whether there is more to do.
async fn propose_plan(
    workplace: &Workplace,
    record: &TaskRecord,
    answer: &str,
) -> Result<bool, CoordinatorError> {
    match workplace
        .link
        .ask(JudgePlan {
            answer: answer.to_owned(),
        })
        .await?
    {
        Ok(plan) => report(workplace, plan).await,
        Err(errors) => send_back_plan(workplace, record, &errors).await,
    }
}

/// Ends a review with its verdict; an agent that has given none is told once. Returns whether there
/// is more to do.
async fn end_review(workplace: &Workplace, summary: String) -> Result<bool, CoordinatorError> {
    let link = &workplace.link;
    match link.task().await?.review_end() {
        ReviewEnd::Conclude => Ok(!link.ask(ConcludeReview { summary }).await?),
        ReviewEnd::AskForVerdict => {
            let task = workplace.task().clone();
            let text = workplace.assignment.prompts.render("no_verdict", &[]);
            let returned = |text| Event::TaskReturned {
                task,
                cause: ReturnCause::NoVerdict,
                text,
                onto: None,
            };
            link.record(Facts::naming(text.into_bytes(), returned))
                .await?;
            Ok(true)
        }
        ReviewEnd::Fail => {
            let said = cut(summary.trim(), EVIDENCE_BYTES);
            let text =
                format!("the agent ended twice without `review_verdict`; its last words: {said}");
            workplace.fail(FailureCause::NoVerdict, text).await?;
            Ok(false)
        }
    }
}

/// Lists the ignored files in a worktree without changes, and its caches and build outputs; empty
/// if there are none.
async fn only_ignored(workplace: &Workplace) -> Result<String, CoordinatorError> {
    let record = workplace.link.task().await?;
    // What looks like a secret is named with its reason.
    let is_ignored = |file: &PathBuf| {
        record
            .aside()
            .withheld
            .iter()
            .all(|kept| Path::new(&kept.path) != file)
    };
    let mut ignored = workplace.files.uncommitted().await?;
    ignored.retain(is_ignored);
    let scratch = workplace.files.scratch().await?;
    let lists = [
        ("files that git ignores", ignored),
        ("caches and build outputs", scratch),
    ];
    let lists = lists.into_iter().filter(|(_, files)| !files.is_empty());
    Ok(lists
        .map(|(what, files)| format!("it wrote only {what}: {}\n", listed(&files)))
        .collect())
}

/// Names the first of some files, and counts the others.
fn listed(files: &[PathBuf]) -> String {
    let shown: Vec<String> = files
        .iter()
        .take(SHOWN_IGNORED)
        .map(|file| shown_path(file))
        .collect();
    match files.len().saturating_sub(SHOWN_IGNORED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Ends a task whose work changes nothing; there is more to do only if a message has arrived
/// meanwhile.
async fn no_changes(
    workplace: &Workplace,
    record: &TaskRecord,
    summary: String,
) -> Result<bool, CoordinatorError> {
    let ignored = only_ignored(workplace).await?;
    let summary = format!("{ignored}{}", summary.trim());
    let may_do_nothing = workplace
        .assignment
        .role
        .as_ref()
        .is_some_and(|role| role.may_do_nothing);
    match record.without_changes(may_do_nothing) {
        WithoutChanges::Report => report(workplace, summary).await,
        WithoutChanges::NothingToDo => {
            let fact = Event::NothingToDo {
                task: workplace.task().clone(),
                summary,
            };
            Ok(!workplace.link.ask(HandOver { fact }).await?)
        }
        WithoutChanges::Fail => {
            let said = cut(&summary, EVIDENCE_BYTES);
            let text = match &record.task.work {
                Work::Run(_) => {
                    format!("the command repeated what was rejected; its output: {said}")
                }
                Work::Agent(_) if record.rejection_stands() => {
                    let merged = if record.merged().is_empty() {
                        ""
                    } else {
                        ", which stays merged"
                    };
                    format!(
                        "the agent ended without changing a file after its work was \
                         rejected{merged}; its report: {said}"
                    )
                }
                Work::Agent(_) => {
                    format!("the agent ended without changing a file; its report: {said}")
                }
            };
            workplace.fail(FailureCause::NoChanges, text).await?;
            Ok(false)
        }
    }
}

/// Runs the task's own check; returns whether there is more to do.
async fn check_task(
    workplace: &Workplace,
    record: &TaskRecord,
    command: String,
    tree: Oid,
) -> Result<bool, CoordinatorError> {
    let (link, task) = (&workplace.link, workplace.task().clone());
    let verification = Verification {
        task,
        scope: VerifyScope::Task,
        tree,
        command: command.clone(),
    };
    link.record(vec![verification.started()]).await?;
    let result = workplace.run(&command).await?;
    if result.cancelled {
        return Ok(false);
    }
    let output = result.output.clone().into_bytes();
    link.record(Facts::naming(output, |output| {
        verification.finished(&result, output)
    }))
    .await?;
    if result.passed {
        return Ok(false);
    }
    match link.ask(JudgeRedCheck {}).await? {
        // The next step is the same check.
        AfterRedCheck::TryAgain => Ok(true),
        AfterRedCheck::Blame(tries) => after_red_check(workplace, record, &command, &tries).await,
    }
}
