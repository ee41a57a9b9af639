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
    AgentId, CallHash, FlakyCheck, Liveness, RejectingEndpoint, Report, ReviewVerdict, Sending,
    TaskId, TaskState, split_hint,
};

use crate::show::aside;
use crate::show::columns;
use crate::show::output::{one_line, quoted};
use crate::show::parked_call;
use crate::show::progress::{self, in_parentheses, sender, short, tokens, until, verdict_words};
use crate::show::tree::{self, Branches, Node, Row};

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
    let has_branches = report.tasks.iter().any(|task| task.branch.is_some());
    let of_tasks = if has_branches {
        format!("branches: orchestrate/{}/TASK\n", report.run_id)
    } else {
        String::new()
    };
    let (branch, commit) = (
        &report.integration_branch,
        short(report.integration_commit.as_str()),
    );
    let landed = report.landed.as_ref().map(landed).unwrap_or_default();
    with_result(
        report,
        branches,
        &format!("{of_tasks}result: {branch} at {commit}\n{landed}"),
    )
}

/// Renders the report of a run whose result has landed and whose branches are gone.
pub(crate) fn render_pruned(report: &Report, branches: Branches) -> String {
    let commit = short(report.integration_commit.as_str());
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
    let part = if *is_whole {
        ""
    } else {
        "; what was merged since has not landed"
    };
    format!("landed in {branch} as {}{part}\n", short(commit.as_str()))
}

/// Renders a report with the lines that say where the result is.
fn with_result(report: &Report, branches: Branches, result: &str) -> String {
    let mut text = tasks(report, branches);
    for task in &report.tasks {
        text.push_str(
            &task
                .error
                .as_ref()
                .map(|error| failure(&task.id, error))
                .unwrap_or_default(),
        );
        text.push_str(&handed_back(task));
        text.push_str(&review_of(task));
        text.push_str(&not_in_result(task));
        if let Some(take_over) = &task.take_over {
            text.push_str(&taken_over(&task.id, take_over));
        }
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
    text.push_str(&format!(
        "\nrun {}: {how} {}, {} tokens{}\n{replayed}{result}",
        report.run_id,
        time(report.duration_ms, report.waited_ms),
        tokens(report.usage.input_tokens + report.usage.output_tokens),
        total_cost(report)
    ));
    text.push_str(&answer(report));
    text
}

/// Lists the checks that have failed and passed on one tree, each in a line.
pub(crate) fn flaky(checks: &[FlakyCheck]) -> String {
    checks
        .iter()
        .map(|check| format!("{}\n", progress::flaky_check(check)))
        .collect()
}

/// Describes why a task did not succeed, and how to mend that if it is known.
pub(crate) fn failure(task: &TaskId, error: &TaskError) -> String {
    let (message, hint) = split_hint(&error.message);
    let fix = hint
        .map(|hint| format!("  fix: {}\n", one_line(hint, MAX_ERROR_CHARS)))
        .unwrap_or_default();
    format!(
        "{task}: {}: {}\n{fix}",
        error.cause,
        one_line(message, MAX_ERROR_CHARS)
    )
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
        let commit = task
            .commit
            .as_ref()
            .map_or("-", |commit| short(commit.as_str()));
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
    task.liveness
        .as_ref()
        .is_some_and(|liveness| *liveness != Liveness::IdleDone)
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
                .map(tree::liveness)
                .unwrap_or_default(),
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
    standing(
        task.state,
        task.error.as_ref().map(|error| error.cause),
        task.stale,
    )
}

fn titles<'r>(rows: &[Row<&'r TaskReport>]) -> Vec<&'r str> {
    std::iter::once("TITLE")
        .chain(rows.iter().map(|row| row.item.title.as_str()))
        .collect()
}

/// Describes what else a user has to know of a task's work.
fn remarks(task: &TaskReport) -> String {
    let held = task.held_by.as_ref().map(|agent| {
        format!("not in the result: it was merged into the work of {agent}, which has ended without success")
    });
    let stale = task.stale.then(|| STALE.to_owned());
    let unchanged = task.changed_nothing().then(|| UNCHANGED.to_owned());
    let lines = held.into_iter().chain(stale).chain(unchanged);
    let mut text: String = lines.map(|line| format!("{}: {line}\n", task.id)).collect();
    text.push_str(&flagged(&task.id, task.taint.as_ref()));
    text.push_str(&aside::lines(&task.id, &task.aside));
    text
}

/// Describes, in a line, an agent that text from outside could make give private data away; empty
/// for any other.
pub(crate) fn flagged(agent: &AgentId, taint: Option<&TaskTaint>) -> String {
    let tainted = taint.filter(|taint| taint.flagged).map(tainted);
    tainted
        .map(|tainted| format!("{agent}: {tainted}\n"))
        .unwrap_or_default()
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
        "it has read text from outside ({source}), holds private data and {sends}; its calls with `taint` in the audit \
         log show what it did then"
    )
}

/// Renders the answer to a goal, with the file of the plan if that is the answer; empty without
/// any.
fn answer(report: &Report) -> String {
    let Some(answer) = &report.answer else {
        return String::new();
    };
    let written = report.plan_file.as_ref().map_or_else(String::new, |file| {
        format!("plan: {}\n", one_line(file, 500))
    });
    format!("answer:\n{}{written}", quoted(answer.trim_end()))
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
    let is_at_limit = task
        .error
        .as_ref()
        .is_some_and(|error| error.cause.used_up().is_some());
    let report = is_at_limit.then(|| format!("reported: {}", hand_back.summary));
    let questions = hand_back
        .open_questions
        .iter()
        .map(|question| format!("asks: {question}"));
    let claims = hand_back
        .unverified
        .iter()
        .map(|claim| format!("unverified claim: {claim}"));
    let lines = report.into_iter().chain(questions).chain(claims);
    lines
        .map(|line| format!("{}: {}\n", task.id, one_line(&line, MAX_ERROR_CHARS)))
        .collect()
}

/// Renders the calls that wait for a decision, each in a line; empty if there are none.
pub(crate) fn calls<'a>(calls: impl Iterator<Item = (&'a CallHash, &'a Approval)>) -> String {
    let call = |(call, approval): (&CallHash, &Approval)| {
        let (call, summary) = (
            short(call.as_str()),
            parked_call::line(&approval.summary, MAX_CALL_CHARS),
        );
        format!(
            "call {call} of {} waits for your decision; `approve` shows it in full and asks: {summary}\n",
            approval.task
        )
    };
    calls.map(call).collect()
}

/// Describes work of an agent that was ended before it was merged; empty if there is none.
fn not_in_result(task: &TaskReport) -> String {
    if !task.not_in_result {
        return String::new();
    }
    format!("{}: its work is kept, and not in the result\n", task.id)
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
        let comment = comment
            .as_deref()
            .map(|text| format!(": {}", one_line(text, MAX_ERROR_CHARS)));
        text.push_str(&format!(
            "{}: {}{}\n",
            task.id,
            verdict_words(*verdict, changes),
            comment.unwrap_or_default()
        ));
        for change in changes {
            text.push_str(&format!(
                "  {}: {}\n",
                change.task,
                one_line(&change.text, MAX_ERROR_CHARS)
            ));
        }
    }
    if !task.waits_for_verdict_of.is_empty() {
        let reviewers: Vec<&str> = task
            .waits_for_verdict_of
            .iter()
            .map(TaskId::as_str)
            .collect();
        text.push_str(&format!(
            "{}: waits for the verdict of {}\n",
            task.id,
            reviewers.join(", ")
        ));
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
    let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    let wait = match tasks.len() {
        1 => "1 task waits".to_owned(),
        count => format!("{count} tasks wait"),
    };
    format!(
        "endpoint {} rejects the key or the account: {wait} for another one ({}): failed to {}\n",
        one_line(endpoint, 100),
        ids.join(", "),
        one_line(error, MAX_ERROR_CHARS)
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
    let [from, model] = [from, model].map(|model| one_line(model, 100));
    format!(
        "{task}: {model} took over from {from} in turn {turn}: failed to {}\n",
        one_line(error, MAX_ERROR_CHARS)
    )
}

/// Returns the word for a task's state. A task that merges cleanly into a tree whose check fails is
/// not in conflict.
pub(crate) fn standing(state: TaskState, cause: Option<EndCause>, is_stale: bool) -> String {
    let word = match state {
        red if red.is_red_merge(cause) => "not merged",
        nothing if nothing.did_nothing() => "nothing to do",
        state => state.as_str(),
    };
    if is_stale {
        format!("{word}, stale")
    } else {
        word.to_owned()
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
    let used = lines
        .iter()
        .map(|line| columns::width(line))
        .max()
        .unwrap_or(0)
        + GAP;
    if is_tree && used + MIN_TITLE_WIDTH > WIDTH {
        return aligned(rows);
    }
    let room = WIDTH.saturating_sub(used).max(MIN_TITLE_WIDTH);
    let line = |(line, title): (&String, &&str)| {
        let line = format!(
            "{}  {}",
            columns::padded(line, used - GAP),
            one_line(title, room)
        );
        format!("{}\n", line.trim_end())
    };
    lines.iter().zip(titles).map(line).collect()
}

/// Aligns rows in columns.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    aligned_lines(rows).map(|line| line + "\n").collect()
}

fn aligned_lines<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    let widths = column_widths(rows);
    rows.iter().map(move |row| {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| columns::padded(cell, width))
            .collect();
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
    messages.map(unread_line).collect()
}

fn unread_line(message: &Envelope) -> String {
    let Envelope {
        sequence,
        from,
        to,
        kind,
        body,
        ..
    } = message;
    let (to, from, kind, body) = (
        to.as_str(),
        sender(from),
        in_parentheses(*kind),
        body.to_string(),
    );
    format!(
        "{to} has not read message {sequence} from {from}{kind}: {}\n",
        one_line(&body, 200)
    )
}

/// Renders what agents have told the user, the newest of each in a line; the others are counted.
pub(crate) fn messages_to_user<'m>(messages: impl Iterator<Item = &'m Envelope>) -> String {
    let messages: Vec<&Envelope> = messages.collect();
    let mut text = String::new();
    for of_agent in messages.chunk_by(|one, next| one.from == next.from) {
        let earlier = of_agent.len().saturating_sub(MAX_TOLD);
        for Envelope {
            from, kind, body, ..
        } in of_agent.iter().skip(earlier)
        {
            let (from, kind, body) = (sender(from), in_parentheses(*kind), body.to_string());
            text.push_str(&format!(
                "{from} tells you{kind}: {}\n",
                one_line(&body, MAX_CALL_CHARS)
            ));
        }
        if let (Some(message), 1..) = (of_agent.first(), earlier) {
            let of = sender(&message.from);
            text.push_str(&format!(
                "{of} has told you {earlier} more before; `log --messages` shows them\n"
            ));
        }
    }
    text
}

/// Renders the questions of agents to the user, each in full and with its deadline.
pub(crate) fn questions<'m>(
    questions: impl Iterator<Item = (&'m AgentId, &'m Envelope)>,
) -> String {
    let shown = |(agent, question): (&AgentId, &Envelope)| {
        let (text, until) = (quoted(&question.body.to_text()), until(question.deadline));
        format!(
            "{agent} waits for your answer to its question {}{until}:\n{text}",
            question.sequence
        )
    };
    questions.map(shown).collect()
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
                        T1 has told you 2 more before; `log --messages` shows them\nT2 tells you: 1\n";
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
                     T1 waits for your answer to its question 2 until 1970-01-01T00:01:00.000Z; then its agent goes on \
                     without an answer:\n  | which port?\n";
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
