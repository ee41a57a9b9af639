//! The table at the end of a run and of `status`: tasks, branches, commits, checks, tokens, and what to type next.

use orchestrate_core::message::Envelope;
use orchestrate_core::report::{EXIT_OK, TaskReport};
use orchestrate_core::run_state::{RunLimit, Verify};
use orchestrate_core::{Report, RunState, TaskId, TaskState};

use crate::output::one_line;
use crate::progress::{sender, short, tokens};

/// The status of a run that somebody works on.
pub(crate) const RUNNING: &str = "running";
/// The status of a run that should be running and that nobody works on.
pub(crate) const STOPPED: &str = "stopped";
/// What it means that a task is stale.
pub(crate) const STALE: &str = "stale: it was built on work that was rejected after it had been merged";

/// What it means that a command is done and has no commit.
pub(crate) const UNCHANGED: &str = "its command changed nothing, so the result has nothing of it";

const HEAD: [&str; 7] = ["TASK", "STATE", "BRANCH", "COMMIT", "CHECK", "TOKENS", "COST"];

/// Renders a report.
pub(crate) fn render(report: &Report) -> String {
    let mut rows: Vec<[String; 7]> = vec![HEAD.map(str::to_owned)];
    for task in &report.tasks {
        let commit = task.commit.as_ref().map_or("-", |commit| short(commit.as_str()));
        rows.push([
            one_line(task.id.as_str(), 32),
            standing(task.state, task.stale),
            task.branch.clone().unwrap_or_else(|| "-".to_owned()),
            commit.to_owned(),
            check(task.verify).to_owned(),
            tokens(task.usage.input_tokens + task.usage.output_tokens),
            task.usage.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.2}")),
        ]);
    }
    let mut text = aligned(&rows);
    for task in &report.tasks {
        if let Some(error) = &task.error {
            text.push_str(&format!("{}: {}: {}\n", task.id, error.cause, one_line(&error.message, 300)));
        }
        if task.stale {
            text.push_str(&format!("{}: {STALE}\n", task.id));
        }
        if task.state == TaskState::Merged && task.agent.is_none() && task.attempt > 0 && task.commit.is_none() {
            text.push_str(&format!("{}: {UNCHANGED}\n", task.id));
        }
    }
    if report.exit_code == Some(EXIT_OK) && report.tasks.iter().all(|task| task.attempt == 0) {
        let why = if report.tasks.iter().any(|task| task.state == TaskState::Skipped) {
            "each open task depends on one that does not run; mark that one as open, or as done"
        } else {
            "no box of the plan is open"
        };
        text.push_str(&format!("there was nothing to do: {why}\n"));
    }
    let how = match report.status.as_str() {
        RUNNING => "running for",
        STOPPED => "stopped, nobody works on it, after",
        other => &format!("{other} in"),
    };
    text.push_str(&format!(
        "\nrun {}: {how} {:.1} s, {} tokens\nresult: {} at {}\n",
        report.run_id,
        seconds(report.duration_ms),
        tokens(report.usage.input_tokens + report.usage.output_tokens),
        report.integration_branch,
        short(report.integration_commit.as_str())
    ));
    text
}

/// Says how a task stands.
pub(crate) fn standing(state: TaskState, is_stale: bool) -> String {
    let word = state.as_str();
    if is_stale { format!("{word}, stale") } else { word.to_owned() }
}

#[expect(clippy::cast_precision_loss, reason = "tenths of seconds for people")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// Gives the word for what a check said.
pub(crate) fn check(verify: Verify) -> &'static str {
    match verify {
        Verify::Passed => "passed",
        Verify::Failed => "FAILED",
        Verify::None => "-",
    }
}

/// Writes rows in columns.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Says of messages that nobody has read them.
pub(crate) fn unread<'m>(messages: impl Iterator<Item = &'m Envelope>) -> String {
    let line = |message: &Envelope| {
        let Envelope { sequence, from, to, body, .. } = message;
        format!("{to} has not read message {sequence} from {}: {}\n", sender(from), one_line(body, 200))
    };
    messages.map(line).collect()
}

/// Gives the commands that make sense next.
pub(crate) fn next_commands(state: &RunState, report: &Report) -> Vec<String> {
    let run = &report.run_id;
    let mut next = Vec::new();
    if report.status == STOPPED || report.status == "interrupted" {
        next.push(format!("orchestrate resume {run}"));
    }
    for (call, _) in state.open_approvals() {
        next.push(format!("orchestrate approve {}", short(call.as_str())));
    }
    for task in &report.tasks {
        match task.state {
            TaskState::AwaitingReview => next.push(format!("orchestrate review {}", task.id)),
            TaskState::Conflicted | TaskState::Failed => {
                next.push(format!("orchestrate log {} {}", run, task.id));
                let go_on = let_go_on(state, &task.id);
                if !next.contains(&go_on) {
                    next.push(go_on);
                }
            }
            TaskState::Merged if task.stale || is_report(task) => next.push(format!("orchestrate review {}", task.id)),
            _ => {}
        }
    }
    let merged = report.tasks.iter().any(|task| task.state == TaskState::Merged && task.commit.is_some());
    let is_landed = state.landed().is_some_and(|landing| landing.result == state.integration);
    if !is_landed && merged && report.exit_code.is_some() {
        next.push("orchestrate review".to_owned());
        // Started from no branch, there is none to land on.
        let merge = || format!("git merge {}", report.integration_commit);
        next.push(state.base_branch.as_ref().map_or_else(merge, |_| "orchestrate land".to_owned()));
    }
    next
}

/// Gives the command that lets a task go on which ended without success: another try, unless it would be stopped again by
/// the run's limit that has stopped it.
pub(crate) fn let_go_on(state: &RunState, task: &TaskId) -> String {
    let run = &state.run_id;
    match state.task(task).and_then(|record| state.stopped_by(record)) {
        Some(RunLimit::Tokens) => format!("orchestrate resume {run} --budget-tokens N"),
        Some(RunLimit::Time) => format!("orchestrate resume {run} --timeout TIME"),
        None => format!("orchestrate retry {task} -m TEXT"),
    }
}

/// Tells whether what the task brought is the words of its agent.
fn is_report(task: &TaskReport) -> bool {
    task.agent.is_some() && task.commit.is_none() && task.turns > 0
}

/// Renders those commands.
pub(crate) fn render_next(next: &[String]) -> String {
    if next.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = next.iter().map(|command| format!("  {command}")).collect();
    format!("next:\n{}\n", lines.join("\n"))
}
