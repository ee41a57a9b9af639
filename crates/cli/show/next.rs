//! What to type next: the commands that make sense after a result.

use std::time::Duration;

use orchestrate_core::report::{STOPPED, TaskReport};
use orchestrate_core::review::ReviewEntry;
use orchestrate_core::run_state::Limit;
use orchestrate_core::{Report, RunState, TaskId, TaskState};

use crate::show::named::Named;
use crate::show::progress::short;
use crate::show::table::RUNNING;

/// Runs a plan anew, with what has been changed in it.
const ANOTHER_PLAN: &str = "orchestrate run PLAN";

/// Returns the commands that make sense next.
pub(crate) fn after(named: Named<'_>, state: &RunState, report: &Report) -> Vec<String> {
    let run = &report.run_id;
    let mut next = Vec::new();
    if report.status == STOPPED || report.status == "interrupted" {
        next.push(format!("orchestrate resume {run}"));
    }
    if report.status == RUNNING {
        next.extend([named.whole("log"), named.whole("stop")]);
    }
    for (call, _) in state.open_approvals() {
        next.push(named.within(format!("approve {}", short(call.as_str()))));
    }
    for task in &report.tasks {
        match task.state {
            TaskState::AwaitingReview => next.push(named.review(&task.id)),
            TaskState::Conflicted | TaskState::Failed => {
                next.push(format!("orchestrate log {} {}", run, task.id));
                next.extend(take_back(named, state, &task.id));
                let go_on = let_go_on(named, state, &task.id);
                if !next.contains(&go_on) {
                    next.push(go_on);
                }
            }
            TaskState::Merged if task.stale || is_report(task) => next.push(named.review(&task.id)),
            _ => {}
        }
    }
    let merged = report.tasks.iter().any(|task| task.state == TaskState::Merged && task.commit.is_some());
    if !state.is_landed() && merged && report.exit_code.is_some() {
        next.push(named.whole("review"));
        // Started from no branch, there is none to land on.
        let merge = || format!("git merge {}", report.integration_commit);
        next.push(state.base_branch.as_ref().map_or_else(merge, |_| named.whole("land")));
    }
    // A new run begins from what has landed, so it comes after that.
    next.sort_by_key(|command| command == ANOTHER_PLAN);
    next
}

/// Returns the commands that make sense once a task's work has been looked at.
pub(crate) fn after_review(named: Named<'_>, state: &RunState, entry: &ReviewEntry) -> Vec<String> {
    let task = &entry.task;
    let reject = || named.within(format!("reject {task} -m TEXT"));
    match entry.state {
        TaskState::AwaitingReview => vec![named.within(format!("approve {task}")), reject()],
        TaskState::Merged if state.is_landed() => vec![reject()],
        TaskState::Merged => vec![reject(), named.whole("land")],
        TaskState::Failed | TaskState::Conflicted => {
            take_back(named, state, task).into_iter().chain([let_go_on(named, state, task)]).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the command that takes a rejection back, where that can be.
fn take_back(named: Named<'_>, state: &RunState, task: &TaskId) -> Option<String> {
    let record = state.task(task).filter(|record| record.may_take_rejection_back());
    record.map(|_| named.within(format!("approve {task}")))
}

/// Returns the command that lets a task go on which ended without success: another try, unless it would be stopped
/// again by the limit that has stopped it.
fn let_go_on(named: Named<'_>, state: &RunState, task: &TaskId) -> String {
    let run = &state.run_id;
    match state.task(task).and_then(|record| state.stopped_by(record)) {
        Some(Limit::RunTokens) if state.time_left() == Some(Duration::ZERO) => {
            format!("orchestrate resume {run} --budget-tokens N --timeout TIME")
        }
        Some(Limit::RunTokens) => format!("orchestrate resume {run} --budget-tokens N"),
        Some(Limit::RunTime) => format!("orchestrate resume {run} --timeout TIME"),
        Some(Limit::TaskTokens) => ANOTHER_PLAN.to_owned(),
        None => named.within(format!("retry {task} -m TEXT")),
    }
}

/// Reports whether what the task brought is the words of its agent.
fn is_report(task: &TaskReport) -> bool {
    task.agent.is_some() && task.commit.is_none() && task.turns > 0
}

/// Renders those commands.
pub(crate) fn render(next: &[String]) -> String {
    if next.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = next.iter().map(|command| format!("  {command}")).collect();
    format!("next:\n{}\n", lines.join("\n"))
}
