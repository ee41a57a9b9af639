//! The table of tasks at the end of a run and of `status`: branches, commits, checks, tokens.

use orchestrate_core::agent::price::dollars;
use orchestrate_core::messages::Envelope;
use orchestrate_core::projections::report::{
    LandedResult, ReportUsage, STOPPED, TaskReport, TaskTaint,
};
use orchestrate_core::record::TakeOver;
use orchestrate_core::run::{Approval, EXIT_OK};
use orchestrate_core::secrecy::taint::OutsideSource;
use orchestrate_core::task::{EndCause, TaskError, Verify};
use orchestrate_core::{
    AgentId, CallHash, FlakyCheck, Liveness, Oid, RejectingEndpoint, Report, ReviewVerdict, RunId,
    Sending, TaskId, TaskState, split_hint,
};

use crate::show::output::{joined, one_line, quoted};
use crate::show::progress::{self, in_parentheses, sender, short, tokens, until, verdict_words};
use crate::show::tree::{self, Branches, Node, Row};
use crate::show::{aside, columns, parked_call};

/// The status of a run that a process works on.
pub(crate) const RUNNING: &str = "running";
/// Explains a stale task.
pub(crate) const STALE: &str = "stale: built on work that was rejected after it was merged";

/// Explains a successful command without a commit.
pub(crate) const UNCHANGED: &str = "its command changed nothing, so nothing was merged";

/// The maximum length of an error in characters: enough for a command with two long paths, which
/// must not be cut.
const MAX_ERROR_CHARS: usize = 500;

/// The maximum number of a call's characters in a list; the others are counted.
const MAX_CALL_CHARS: usize = 200;
/// The maximum number of messages of an agent to the user in a list; the earlier ones are counted.
const MAX_TOLD: usize = 3;
const HEAD: [&str; 6] = ["TASK", "STATE", "COMMIT", "CHECK", "TOKENS", "COST"];
const OPEN_HEAD: [&str; 5] = ["TASK", "STATE", "LIVENESS", "TOKENS", "COST"];
/// The width of the table, as that of most terminals.
const WIDTH: usize = 80;
/// The blanks between two columns.
const GAP: usize = 2;
/// The maximum width of an id, with the branches before it.
pub(crate) const MAX_ID_WIDTH: usize = 32;
/// The minimum width of what an agent is doing: enough for the longest word, and some of what it
/// waits for.
const MIN_LIVENESS_WIDTH: usize = 14;
/// The minimum width of the titles.
const MIN_TITLE_WIDTH: usize = 16;

/// Renders a report; an agent that others have spawned is above them.
pub(crate) fn render(report: &Report, branches: Branches) -> String {
    let mut result = String::new();
    if report.tasks.iter().any(|task| task.branch.is_some()) {
        result = format!("branches: orchestrate/{}/TASK\n", report.run_id);
    }
    let branch = report.integration_branch.as_deref().unwrap_or("-");
    let commit = short(&report.integration_commit);
    result += &format!("result: {branch} at {commit}\n");
    result.extend(report.landed.as_ref().map(landed));
    for task in &report.tasks {
        let commit = task.unfinished_commit.as_ref();
        result.extend(commit.map(|commit| unfinished(&report.run_id, &task.id, commit)));
    }
    with_result(report, branches, &result)
}

/// Says where the newest work of a task is that has ended without success, if its branch lacks it.
pub(crate) fn unfinished(run: &RunId, task: &TaskId, commit: &Oid) -> String {
    let commit = short(commit);
    format!(
        "unfinished work of {task}: `git show {commit}` shows it, `orchestrate recover {run} \
         --restore {commit}` makes it a branch\n"
    )
}

/// Renders the report of a run that has made a plan: it has no result in the repository.
pub(crate) fn render_plan(report: &Report) -> String {
    let mut text = remarks_of_tasks(report);
    text.push_str(&end(report, ""));
    text
}

/// Renders the report of a run whose result has landed and whose branches are gone.
pub(crate) fn render_pruned(report: &Report, branches: Branches) -> String {
    let commit = short(&report.integration_commit);
    let landed = report.landed.as_ref().map(landed).unwrap_or_default();
    let result = format!("result: {commit}, which has landed; its branches were removed\n{landed}");
    with_result(report, branches, &result)
}

/// Describes where a result has landed.
fn landed(
    LandedResult {
        branch,
        commit,
        is_whole,
    }: &LandedResult,
) -> String {
    let commit = short(commit);
    match is_whole {
        true => format!("landed in {branch} as {commit}\n"),
        false => {
            format!("landed in {branch} as {commit}; what was merged since has not landed\n")
        }
    }
}

/// Renders a report with the lines that say where the result is.
fn with_result(report: &Report, branches: Branches, result: &str) -> String {
    let mut text = tasks(report, branches);
    text.push_str(&remarks_of_tasks(report));
    text.push_str(&end(report, result));
    text
}

/// Renders what a person should know of the tasks besides their states.
fn remarks_of_tasks(report: &Report) -> String {
    let mut text = String::new();
    for task in &report.tasks {
        let error = task.error.as_ref();
        text.extend(error.map(|error| failure(&task.id, error)));
        text.push_str(&handed_back(task));
        text.push_str(&review_of(task));
        if task.not_in_result {
            let id = &task.id;
            text.push_str(&format!("{id}: its work is kept, and not in the result\n"));
        }
        let take_over = task.take_over.as_ref();
        text.extend(take_over.map(|take_over| taken_over(&task.id, take_over)));
        text.push_str(&remarks(task));
    }
    text.push_str(&flaky(&report.flaky_checks));
    text.extend(report.rejecting_endpoints.iter().map(rejecting));
    if report.exit_code == Some(EXIT_OK) && report.tasks.iter().all(|task| task.attempt == 0) {
        let why = if report.tasks.iter().any(|task| task.state.is_skipped()) {
            "each open task depends on one that will not run; mark that one as open or done"
        } else {
            "the plan has no open box"
        };
        text.push_str(&format!("there was nothing to do: {why}\n"));
    }
    text
}

/// Renders the end of a report: how the run has ended, the lines that say where its result is, and
/// its answer.
fn end(report: &Report, result: &str) -> String {
    let how = match report.status.as_str() {
        RUNNING => "running for",
        STOPPED => "stopped after",
        other => &format!("{other} in"),
    };
    let replayed = match report.replayed_calls {
        0 => String::new(),
        1 => "1 call was answered from the cache\n".to_owned(),
        calls => format!("{calls} calls were answered from the cache\n"),
    };
    let mut text = format!(
        "\nrun {}: {how} {}, {} tokens{}\n{replayed}{result}",
        report.run_id,
        time(report.duration_ms, report.waited_ms),
        tokens(report.usage.input_tokens + report.usage.output_tokens),
        total_cost(report)
    );
    text.push_str(&answer(report));
    text
}

/// Lists the checks that have failed and passed on one tree, each in a line.
pub(crate) fn flaky(checks: &[FlakyCheck]) -> String {
    let lines = checks.iter().map(progress::flaky_check);
    lines.map(|line| line + "\n").collect()
}

fn cut(text: &str) -> String {
    one_line(text, MAX_ERROR_CHARS)
}

/// Describes why a task did not succeed, and how to mend that if it is known.
pub(crate) fn failure(task: &TaskId, error: &TaskError) -> String {
    let (message, hint) = split_hint(&error.message);
    let mut text = format!("{task}: {}: {}\n", error.cause, cut(message));
    text.extend(hint.map(|hint| format!("  fix: {}\n", cut(hint))));
    text
}

/// Renders the table of a report's tasks.
fn tasks(report: &Report, branches: Branches) -> String {
    let nodes = report.tasks.iter().map(|task| Node {
        id: &task.id,
        parent: task.parent.as_ref(),
        item: task,
    });
    let nodes: Vec<Node<'_, &TaskReport>> = nodes.collect();
    let rows = tree::rows(&nodes, branches);
    let has_children = tree::has_children(&rows);
    if has_children && report.tasks.iter().any(is_open) {
        return open_tree(&rows);
    }
    let mut cells: Vec<[String; 6]> = vec![HEAD.map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let task = row.item;
        let commit = task.commit.as_ref().map_or("-", short);
        [
            name(row),
            state_of(task),
            commit.to_owned(),
            check(task.verify).to_owned(),
            tokens(task.usage.input_tokens + task.usage.output_tokens),
            cost(&task.usage),
        ]
    }));
    with_titles(&cells, &titles(&rows), has_children)
}

fn is_open(task: &TaskReport) -> bool {
    !matches!(task.liveness, None | Some(Liveness::IdleDone))
}

/// Renders the tree of agents of which some have not ended: what each is doing stands in the place
/// of its commit and check, which matter later.
fn open_tree(rows: &[Row<&TaskReport>]) -> String {
    let mut cells: Vec<[String; 5]> = vec![OPEN_HEAD.map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let task = row.item;
        [
            name(row),
            state_of(task),
            task.liveness
                .as_ref()
                .map_or_else(String::new, tree::liveness),
            tokens(task.usage.input_tokens + task.usage.output_tokens),
            cost(&task.usage),
        ]
    }));
    let widths = column_widths(&cells);
    let [name, state, _, tokens, cost] = widths;
    let room = WIDTH
        .saturating_sub(name + state + tokens + cost + GAP * (widths.len() - 1))
        .max(MIN_LIVENESS_WIDTH);
    for [_, _, liveness, _, _] in &mut cells {
        *liveness = tree::fitted(liveness, room);
    }
    with_titles(&cells, &titles(rows), true)
}

/// Returns the id of a task in its place in the tree.
fn name(row: &Row<&TaskReport>) -> String {
    tree::label(&row.branches, row.item.id.as_str(), MAX_ID_WIDTH)
}

fn state_of(task: &TaskReport) -> String {
    let cause = task.error.as_ref().map(|error| error.cause);
    standing(task.state, cause, task.stale)
}

fn titles<'r>(rows: &[Row<&'r TaskReport>]) -> Vec<&'r str> {
    let titles = rows.iter().map(|row| row.item.title.as_str());
    std::iter::once("TITLE").chain(titles).collect()
}

/// Describes what else a user has to know of a task's work.
fn remarks(task: &TaskReport) -> String {
    let mut lines = Vec::new();
    if let Some(agent) = &task.held_by {
        lines.push(format!(
            "not in the result: it was merged into the work of {agent}, which has ended without \
             success"
        ));
    }
    lines.extend(task.stale.then(|| STALE.to_owned()));
    lines.extend(task.changed_nothing().then(|| UNCHANGED.to_owned()));
    let lines = lines.iter().map(|line| format!("{}: {line}\n", task.id));
    let mut text: String = lines.collect();
    text.push_str(&flagged(&task.id, task.taint.as_ref()));
    text.push_str(&aside::lines(&task.id, &task.aside));
    text
}

/// Describes, in a line, an agent that text from outside could make give private data away; empty
/// for any other.
pub(crate) fn flagged(agent: &AgentId, taint: Option<&TaskTaint>) -> String {
    match taint.filter(|taint| taint.flagged) {
        Some(taint) => format!("{agent}: {}\n", tainted(taint)),
        None => String::new(),
    }
}

fn tainted(taint: &TaskTaint) -> String {
    let source = match &taint.outside_text {
        OutsideSource::Tool(tool) => one_line(tool, 60),
        OutsideSource::Agent(agent) => format!("through {agent}"),
    };
    let sends = match (taint.sent, taint.can_send) {
        (true, _) => "has made a call that can send data out",
        (false, Some(Sending::Asked)) => "can send data out if you agree to a call",
        (false, _) => "can send data out",
    };
    format!(
        "it has read text from outside ({source}), holds private data and {sends}; its calls with \
         `taint` in the audit log show what it did then"
    )
}

/// Renders the answer to a goal, with the file of the plan if that is the answer; empty without
/// any.
fn answer(report: &Report) -> String {
    let Some(answer) = &report.answer else {
        return String::new();
    };
    let mut text = format!("answer:\n{}", quoted(answer.trim_end()));
    let file = report.plan_file.as_ref();
    text.extend(file.map(|file| format!("plan: {}\n", one_line(file, 500))));
    text
}

/// Describes the time that a run has taken; what it waited for its models, it did not work.
fn time(worked_ms: u64, waited_ms: u64) -> String {
    let worked = seconds(worked_ms);
    if waited_ms == 0 {
        return format!("{worked:.1} s");
    }
    let (all, waited) = (seconds(worked_ms + waited_ms), seconds(waited_ms));
    format!("{worked:.1} s of work, {all:.1} s in all ({waited:.1} s waiting for a model)")
}

/// Describes what people should know of what an agent handed back: its report at a limit, what it
/// asks, and what it claims although the facts do not bear it out.
fn handed_back(task: &TaskReport) -> String {
    let Some(hand_back) = &task.hand_back else {
        return String::new();
    };
    let mut lines = Vec::new();
    if let Some(error) = &task.error
        && error.cause.used_up().is_some()
    {
        lines.push(format!("reported: {}", hand_back.summary));
    }
    let asked = hand_back.open_questions.iter();
    lines.extend(asked.map(|question| format!("asks: {question}")));
    let claimed = hand_back.unverified.iter();
    lines.extend(claimed.map(|claim| format!("unverified claim: {claim}")));
    let lines = lines
        .iter()
        .map(|line| format!("{}: {}\n", task.id, cut(line)));
    lines.collect()
}

/// Renders the calls that wait for a decision, each in a line; empty if there are none.
pub(crate) fn calls<'a>(calls: impl Iterator<Item = (&'a CallHash, &'a Approval)>) -> String {
    let mut text = String::new();
    for (call, approval) in calls {
        let (call, task) = (short(call), &approval.task);
        let summary = parked_call::line(&approval.summary, MAX_CALL_CHARS);
        text += &format!(
            "call {call} of {task} waits for your decision; `approve` shows it in full and asks: \
             {summary}\n"
        );
    }
    text
}

/// Describes a task's verdict on others, and the verdict that it waits for; empty without any.
fn review_of(task: &TaskReport) -> String {
    let mut text = String::new();
    if let Some(ReviewVerdict {
        verdict,
        changes,
        comment,
    }) = &task.verdict
    {
        text = format!("{}: {}", task.id, verdict_words(*verdict, changes));
        text.extend(comment.as_ref().map(|text| format!(": {}", cut(text))));
        text += "\n";
        for change in changes {
            text += &format!("  {}: {}\n", change.task, cut(&change.text));
        }
    }
    if !task.waits_for_verdict_of.is_empty() {
        let reviewers = joined(&task.waits_for_verdict_of);
        text += &format!("{}: waits for the verdict of {reviewers}\n", task.id);
    }
    text
}

/// Describes the cost of a run, with the day of the prices; empty if nothing was paid.
fn total_cost(report: &Report) -> String {
    let date = report.prices_date.as_deref().unwrap_or("an unknown day");
    match report.usage.cost_micro_usd {
        Some(0) => String::new(),
        Some(cost) => format!(", {} at the prices of {date}", dollars(cost)),
        None => format!(", cost ? (a model has no price in those of {date})"),
    }
}

/// Describes an endpoint that tasks wait for.
fn rejecting(
    RejectingEndpoint {
        endpoint,
        error,
        tasks,
    }: &RejectingEndpoint,
) -> String {
    let wait = match tasks.len() {
        1 => "1 task waits".to_owned(),
        count => format!("{count} tasks wait"),
    };
    format!(
        "endpoint {} rejects the key or the account: {wait} for another one ({}): failed to {}\n",
        one_line(endpoint, 100),
        joined(tasks),
        cut(error)
    )
}

/// Describes that another model took over.
fn taken_over(task: &TaskId, take_over: &TakeOver) -> String {
    let TakeOver {
        from,
        model,
        turn,
        error,
    } = take_over;
    let (from, model, error) = (one_line(from, 100), one_line(model, 100), cut(error));
    format!("{task}: {model} took over from {from} in turn {turn}: failed to {error}\n")
}

/// Returns the word for a task's state. A task that merges cleanly into a tree whose check fails is
/// not in conflict.
pub(crate) fn standing(state: TaskState, cause: Option<EndCause>, is_stale: bool) -> String {
    let word = match state {
        red if red.is_red_merge(cause) => "not merged",
        nothing if nothing.did_nothing() => "nothing to do",
        state => state.as_str(),
    };
    match is_stale {
        true => format!("{word}, stale"),
        false => word.to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "tenths of seconds for people")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// Returns the cost: a dash if nothing was paid, a question mark if a price is not known.
pub(crate) fn cost(usage: &ReportUsage) -> String {
    progress::cost(usage.cost_micro_usd)
}

/// Returns the word for the result of a check.
pub(crate) fn check(verify: Verify) -> &'static str {
    match verify {
        Verify::Passed => "passed",
        Verify::Failed => "FAILED",
        Verify::None => "-",
    }
}

/// Aligns rows in columns, with the titles last, cut to the width of the table. A tree has no
/// titles if there is no room for them: its ids say what the tasks are.
pub(crate) fn with_titles<const N: usize>(
    rows: &[[String; N]],
    titles: &[&str],
    is_tree: bool,
) -> String {
    let lines: Vec<String> = aligned_lines(rows).collect();
    let widths = lines.iter().map(|line| columns::width(line));
    let used = widths.max().unwrap_or(0) + GAP;
    if is_tree && used + MIN_TITLE_WIDTH > WIDTH {
        return aligned(rows);
    }
    let room = WIDTH.saturating_sub(used).max(MIN_TITLE_WIDTH);
    let mut text = String::new();
    for (line, title) in lines.iter().zip(titles) {
        let (line, title) = (columns::padded(line, used - GAP), one_line(title, room));
        text += format!("{line}  {title}").trim_end();
        text += "\n";
    }
    text
}

/// Aligns rows in columns.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    aligned_lines(rows).map(|line| line + "\n").collect()
}

fn aligned_lines<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    let widths = column_widths(rows);
    rows.iter().map(move |row| {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells.map(|cell| columns::padded(cell.0, cell.1)).collect();
        cells.join("  ").trim_end().to_owned()
    })
}

fn column_widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns::width(cell));
        }
    }
    widths
}

/// Renders one line for each unread message.
pub(crate) fn unread<'m>(messages: impl Iterator<Item = &'m Envelope>) -> String {
    let mut text = String::new();
    for message in messages {
        let (to, from) = (message.to.as_str(), sender(&message.from));
        let (number, kind) = (message.sequence, in_parentheses(message.kind));
        let body = one_line(&message.body.to_string(), 200);
        text += &format!("{to} has not read message {number} from {from}{kind}: {body}\n");
    }
    text
}

/// Renders what agents have told the user, the newest of each in a line; the others are counted.
pub(crate) fn messages_to_user<'m>(messages: impl Iterator<Item = &'m Envelope>) -> String {
    let messages: Vec<&Envelope> = messages.collect();
    let mut text = String::new();
    for of_agent in messages.chunk_by(|one, next| one.from == next.from) {
        let earlier = of_agent.len().saturating_sub(MAX_TOLD);
        for message in of_agent.iter().skip(earlier) {
            let (from, kind) = (sender(&message.from), in_parentheses(message.kind));
            let body = one_line(&message.body.to_string(), MAX_CALL_CHARS);
            text += &format!("{from} tells you{kind}: {body}\n");
        }
        if let (Some(message), 1..) = (of_agent.first(), earlier) {
            let of = sender(&message.from);
            text +=
                &format!("{of} has told you {earlier} more before; `log --messages` shows them\n");
        }
    }
    text
}

/// Renders the questions of agents to the user, each in full and with its deadline.
pub(crate) fn questions<'m>(
    questions: impl Iterator<Item = (&'m AgentId, &'m Envelope)>,
) -> String {
    let mut text = String::new();
    for (agent, question) in questions {
        let (number, until) = (question.sequence, until(question.deadline));
        text += &format!("{agent} waits for your answer to its question {number}{until}:\n");
        text += &quoted(&question.body.to_text());
    }
    text
}

#[cfg(test)]
mod tests {
    use orchestrate_core::messages::{Receiver, Sender};

    use super::*;

    #[test]
    fn only_the_newest_that_agents_have_told_the_user_is_shown() {
        let of = |from: &str, number: u64| {
            Envelope::note(
                number,
                Sender::Agent(from.into()),
                Receiver::User,
                format!("{number}"),
            )
        };
        let messages: Vec<Envelope> = (1..=5)
            .map(|number| of("T1", number))
            .chain([of("T2", 1)])
            .collect();
        let expected = "T1 tells you: 3\nT1 tells you: 4\nT1 tells you: 5\n\
                        T1 has told you 2 more before; `log --messages` shows them\nT2 tells you: \
                        1\n";
        assert_eq!(messages_to_user(messages.iter()), expected);
    }

    #[test]
    fn a_question_is_shown_with_its_deadline() {
        let agent = AgentId::from("T1");
        let asked = Envelope::note(
            1,
            Sender::Agent(agent.clone()),
            Receiver::User,
            "which port?",
        );
        let timed = Envelope {
            sequence: 2,
            deadline: Some(60_000),
            ..asked.clone()
        };
        let shown = "T1 waits for your answer to its question 1:\n  | which port?\n\
                     T1 waits for your answer to its question 2 until 1970-01-01T00:01:00.000Z; \
                     then its agent goes on without an answer:\n  | which port?\n";
        assert_eq!(
            questions([(&agent, &asked), (&agent, &timed)].into_iter()),
            shown
        );
    }

    #[test]
    fn what_a_flagged_agent_can_do_is_said() {
        let table = [
            (
                true,
                Some(Sending::Asked),
                "holds private data and has made a call that can send data out;",
            ),
            (
                false,
                Some(Sending::Asked),
                "holds private data and can send data out if you agree to a call;",
            ),
            (
                false,
                Some(Sending::Allowed),
                "holds private data and can send data out;",
            ),
        ];
        for (sent, can_send, expected) in table {
            let outside_text = OutsideSource::Agent("T2".into());
            let mut taint = TaskTaint {
                outside_text,
                flagged: true,
                sent,
                can_send,
            };
            let said = flagged(&"T1".into(), Some(&taint));
            assert!(
                said.starts_with(&format!(
                    "T1: it has read text from outside (through T2), {expected}"
                )),
                "{said}"
            );
            taint.flagged = false;
            assert_eq!(flagged(&"T1".into(), Some(&taint)), "");
        }
    }

    #[test]
    fn the_wait_for_a_model_is_part_of_the_whole_time() {
        assert_eq!(time(2_240, 0), "2.2 s");
        assert_eq!(
            time(2_240, 19_810),
            "2.2 s of work, 22.1 s in all (19.8 s waiting for a model)"
        );
    }
}
