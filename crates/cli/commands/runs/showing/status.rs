//! `status`: shows the state of a run, as it is recorded and by whether a process works on it.

use orchestrate_coordinator::{Project, WorktreeSize};
use orchestrate_core::event::{RunStatus, rfc3339};
use orchestrate_core::projections::report::status_name;
use orchestrate_core::{Report, RunId, RunState, TaskRecord, WorkStep};
use orchestrate_journal::{JournalError, Store, unix_ms};

use crate::args::StatusArgs;
use crate::commands::runs::showing::worktree_sizes;
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{
    Envelope, ListedRun, ModelOutage, OpenApproval, Output, RunReport, WaitingFor, WorkingTask,
};
use crate::show::progress::{is_under_way, waited_for};
use crate::show::run_argument::Named;
use crate::show::table::RUNNING;
use crate::show::{next, output, parked_call, table};

/// The status of a run whose record cannot be read.
const DAMAGED: &str = "damaged";

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &StatusArgs) -> Result<u8, CommandError> {
    if arguments.all {
        all(&context.store()?, arguments.json.json)?;
    } else {
        let (store, run) = context.find_run(arguments.which.run.as_deref())?;
        show(context, &store, &run, arguments.json.json)?;
    }
    Ok(0)
}

/// Shows the state of a run.
pub(crate) fn show(
    context: &Context,
    store: &Store,
    run: &RunId,
    as_json: bool,
) -> Result<(), CommandError> {
    let standing = store.standing(run)?;
    let (mut report, state) = (standing.report(), standing.state);
    let project = context.project()?;
    if report.status == RUNNING {
        let since = unix_ms().saturating_sub(state.updated_ms);
        match state.stands_still() {
            true => report.waited_ms += since,
            false => report.duration_ms += since,
        }
    } else {
        warn_of_strange_tip(&project, &state);
    }
    let worktrees = project.worktree_sizes(&state);
    let recorded = match report.status == RUNNING {
        true => 0,
        false => store.recorded_requests(run)?.len(),
    };
    if as_json {
        let waiting_for = waiting_for(&report, &state, worktrees, recorded);
        let report = RunReport {
            waiting_for: Some(waiting_for),
            ..RunReport::from(report)
        };
        let output = Output::run(report);
        return output::json(&Envelope::at(state.updated_ms, Some(run), output));
    }
    let branches = context.terminal.branches;
    let mut text = match state.is_landed() && !project.has_result_branch(run)? {
        true => table::render_pruned(&report, branches),
        false => table::render(&report, branches),
    };
    text.push_str(&red_base(&state));
    // The table names the endpoints that tasks wait for.
    let active = working(&report, &state).filter(|task| task.rejecting_endpoint().is_none());
    text.extend(active.map(activity));
    text.push_str(&table::calls(state.open_approvals()));
    text.push_str(&table::questions(state.questions_to_user()));
    text.push_str(&table::messages_to_user(state.messages_to_user()));
    text.push_str(&worktree_sizes::render(&worktrees));
    text.push_str(&table::unread(state.unread()));
    text.push_str(&will_be_carried_out(recorded, run));
    let next = next::commands(Named::new(store, run)?, run, &report.actions(&state));
    output::result(&(text + &next::render(&next)))
}

/// Says what happens to the requests that are recorded.
fn will_be_carried_out(recorded: usize, run: &RunId) -> String {
    match recorded {
        0 => String::new(),
        1 => format!("1 request is recorded: `orchestrate resume {run}` carries it out\n"),
        several => format!(
            "{several} requests are recorded: `orchestrate resume {run}` carries them out\n"
        ),
    }
}

/// Warns if the integration branch was moved from outside the run, so that it is not the run's
/// result.
fn warn_of_strange_tip(project: &Project, state: &RunState) {
    match project.strange_tip(state) {
        Ok(None) => {}
        Ok(Some(found)) => output::warning(&format!(
            "{} was moved to {found} from outside the run; the run's result is {}",
            state.run_id.integration_branch(),
            state.integration
        )),
        Err(error) => output::warning(&format!("failed to {error}")),
    }
}

/// Says why no task of the run was started, if its base has not passed the check.
fn red_base(state: &RunState) -> String {
    let Some(red) = state.red_base() else {
        return String::new();
    };
    let (run, command) = (&state.run_id, output::one_line(&red.command, 60));
    format!(
        "no task was started: on the base, `{command}` ended with {}; `orchestrate log {run}` \
         shows its output, and `orchestrate resume {run}` checks again\n",
        red.exit
    )
}

/// Returns the tasks that are under way; none if no process works on the run.
fn working<'s>(report: &Report, state: &'s RunState) -> impl Iterator<Item = &'s TaskRecord> {
    let (tasks, is_live) = (state.tasks(), report.status == RUNNING);
    tasks.filter(move |record| is_live && is_under_way(record))
}

/// Describes what a task's agent, command or check is doing.
fn activity(record: &TaskRecord) -> String {
    let (task, turn) = (&record.task.id, record.turns() + 1);
    if let Some(outage) = record.outage() {
        let since = rfc3339(outage.since_ms);
        let error = output::one_line(&outage.error, 200);
        return format!("{task} waits for its model since {since}: failed to {error}\n");
    }
    if let Some(wait) = record.wait().filter(|wait| !wait.is_for_person()) {
        let (turn, wait) = (record.turns(), waited_for(wait));
        return format!("{task} waits in turn {turn} for {wait}\n");
    }
    let tool = record.last_tool().map(|tool| output::one_line(tool, 60));
    match (record.next_work(), tool) {
        (None, _) => format!("{task} waits in turn {}\n", record.turns()),
        (Some(WorkStep::Verify { .. }), _) => format!("{task} is being checked\n"),
        _ if record.agent().is_none() => format!("{task} runs its command\n"),
        (_, Some(tool)) => format!("{task} is in turn {turn}, last tool {tool}\n"),
        (_, None) => format!("{task} is in turn {turn}\n"),
    }
}

/// Returns the calls that wait for the user, the tasks under way, messages and worktrees.
fn waiting_for(
    report: &Report,
    state: &RunState,
    worktrees: Vec<WorktreeSize>,
    recorded_requests: usize,
) -> WaitingFor {
    let calls = state.open_approvals();
    let calls = calls.map(|(call, approval)| OpenApproval {
        call: call.clone(),
        task: approval.task.clone(),
        tool: approval.tool.clone(),
        summary: approval.summary.clone(),
        arguments: approval.arguments.clone(),
        rule: approval.rule.clone(),
        hash: parked_call::hash_to_approve(call, approval),
    });
    let working = working(report, state).map(|record| WorkingTask {
        task: record.task.id.clone(),
        state: record.state(),
        turns: record.turns(),
        last_tool: record.last_tool().map(str::to_owned),
        outage: record.outage().map(|outage| ModelOutage {
            since: rfc3339(outage.since_ms),
            error: outage.error.clone(),
        }),
    });
    WaitingFor {
        approvals: calls.collect(),
        working: working.collect(),
        worktrees,
        questions: state
            .questions_to_user()
            .map(|asked| asked.1.clone())
            .collect(),
        messages_to_user: state.messages_to_user().cloned().collect(),
        unread_messages: state.unread().cloned().collect(),
        recorded_requests,
    }
}

fn all(store: &Store, as_json: bool) -> Result<(), CommandError> {
    let mut rows = Vec::new();
    for run in store.runs()? {
        let status = match run.status {
            _ if run.is_damaged => DAMAGED,
            RunStatus::Running => match store.standing(&run.run_id) {
                Ok(standing) => standing.status_name(),
                // The other runs are listed all the same.
                Err(JournalError::Undecodable { .. }) => DAMAGED,
                Err(error) => return Err(error.into()),
            },
            ended => status_name(ended),
        };
        rows.push((run, status));
    }
    if as_json {
        let list = rows.into_iter().map(|(run, status)| ListedRun {
            run_id: run.run_id,
            status: status.to_owned(),
            exit_code: run.exit_code,
            plan: run.plan,
            title: run.title,
            damaged: run.is_damaged,
            started: rfc3339(run.started_ms),
        });
        return output::json(&Envelope::new(None, Output::Runs(list.collect())));
    }
    let mut lines = String::new();
    for (run, status) in &rows {
        let title = match run.title.as_ref().or(run.plan.as_ref()) {
            Some(title) => title,
            None if run.is_damaged => "(its record is damaged)",
            None => "-",
        };
        let (started, title) = (rfc3339(run.started_ms), output::one_line(title, 60));
        lines += &format!("{}  {status:<12} {started}  {title}\n", run.run_id);
    }
    output::result(&lines)
}
