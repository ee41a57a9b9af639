//! `review`: shows every branch of a run, each below that of the agent that spawned it, or one with
//! its diff, for the user to decide.

use std::io::IsTerminal as _;

use orchestrate_coordinator::{Archive, LandingError};
use orchestrate_core::projections::review::{OwnChanges, ReviewEntry, Risk};
use orchestrate_core::task::TaskError;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{
    Action, CheckVerdict, CheckedBy, HandBack, RunId, RunState, TaskId, TaskRecord,
};
use orchestrate_journal::Store;

use crate::args::ReviewArgs;
use crate::commands::tasks::{pager, patch};
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::json::{Envelope, Items, Output, TaskReview};
use crate::show::progress::{short, tokens};
use crate::show::run_argument::Named;
use crate::show::table::{self, MAX_ID_WIDTH, STALE, check, cost, questions, standing};
use crate::show::tree::{self, Branches, Node, Row};
use crate::show::{aside, next, output};

/// The maximum number of characters of a line about what was handed back.
const MAX_LINE_CHARS: usize = 500;

const HEAD: [&str; 8] = [
    "TASK", "STATE", "CHECK", "SIZE", "RISK", "OVERLAPS", "TOKENS", "COST",
];

/// What is known of a task in words.
struct Words<'a> {
    /// The report of its agent.
    report: &'a str,
    hand_back: Option<HandBack>,
    /// Why it did not succeed.
    error: Option<TaskError>,
}

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ReviewArgs) -> Result<u8, CommandError> {
    let what = arguments.what.as_deref();
    let run = match what {
        Some(what) if arguments.which.run.is_none() && context.is_run(what)? => Some(what),
        _ => None,
    };
    let task = what.filter(|_| run.is_none());
    let (store, run) = context.find_run(run.or(arguments.which.run.as_deref()))?;
    let runs = context.runs()?;
    let entries = runs.review(&run)?;
    let Some(task) = task else {
        note_listed(&runs, &run, &entries, arguments.json.json);
        match arguments.json.json {
            true => {
                let items = Items { items: entries };
                output::json(&Envelope::new(Some(&run), Output::Review(items)))?
            }
            false => list(&store, &run, &entries, context.terminal.branches)?,
        }
        return Ok(0);
    };
    let state = store.state(&run)?;
    let task = task_of(&state, task)?;
    let record = state.task(&task);
    let words = Words {
        report: record.map_or("", |record| record.summary().trim()),
        hand_back: record.and_then(|record| state.ended_hand_back(record)),
        error: record.and_then(TaskRecord::error),
    };
    let diff = runs.task_diff(&run, &task)?;
    let Some(entry) = entries.iter().find(|entry| entry.task == task) else {
        let state = record.map_or("unknown", |record| record.state().in_words());
        return Err(
            CommandError::usage(format!("task {task} is {state} and has no branch"))
                .hint(format!("`orchestrate status {run}` shows why")),
        );
    };
    note_shown(&runs, &state, &task);
    if arguments.json.json {
        let review = TaskReview {
            entry: entry.clone(),
            diff,
            summary: words.report.to_owned(),
            hand_back: words.hand_back,
            error: words.error,
        };
        let review = Output::TaskReview(Box::new(review));
        output::json(&Envelope::new(Some(&run), review))?;
        return Ok(0);
    }
    // A line of a file may be a command to a program that reads a build's log, and a diff indents
    // it by one space only.
    let diff = match context.terminal.github {
        true => output::quoted(&diff),
        false => diff,
    };
    let (mut head, named) = (head(entry, &words), Named::new(&store, &run)?);
    head.push_str(&unfinished(&run, entry));
    let calls = state.open_approvals();
    let calls: Vec<_> = calls.filter(|asked| asked.1.task == task).collect();
    head.push_str(&table::calls(calls.iter().copied()));
    let answers = calls.iter().map(|asked| Action::Answer(asked.0.clone()));
    let mut actions: Vec<Action> = answers.collect();
    actions.extend(entry.adopt());
    actions.extend(state.actions(&task));
    let next = next::render(&next::commands(named, &run, &actions));
    if !std::io::stdout().is_terminal() {
        output::result(&format!("{head}\n{diff}{next}"))?;
        return Ok(0);
    }
    // The next steps are below the diff, where they are read last.
    let diff = patch::shown(&diff, context.terminal.colour);
    let (head, next) = (output::plain(&head), output::plain(&next));
    pager::show(context, &format!("{head}\n{diff}{next}"))?;
    Ok(0)
}

/// Records the tree that the user is shown, for a later approval. A failed write is only a warning,
/// so that work can be reviewed in a read-only state.
pub(crate) fn note_shown(runs: &Archive, state: &RunState, task: &TaskId) {
    let tree = state.task(task).and_then(|record| record.tree());
    warn_unless_noted(tree.map_or(Ok(()), |tree| runs.note_shown(&state.run_id, task, tree)));
}

/// Records the trees of a list. The list for people shows no content, so it does not replace a tree
/// that was reviewed before the work changed; the list for programs names each tree, and does.
fn note_listed(runs: &Archive, run: &RunId, entries: &[ReviewEntry], as_json: bool) {
    let noted = entries.iter().map(|entry| match &entry.tree {
        Some(tree) => match runs.shown(run, &entry.task)? {
            Some(_) if !as_json => Ok(()),
            _ => runs.note_shown(run, &entry.task, tree),
        },
        None => Ok(()),
    });
    warn_unless_noted(noted.collect());
}

fn warn_unless_noted(noted: Result<(), LandingError>) {
    if let Err(error) = noted {
        output::warning(&format!(
            "failed to {error}; an approval will apply to the work as it is then"
        ));
    }
}

fn list(
    store: &Store,
    run: &RunId,
    entries: &[ReviewEntry],
    branches: Branches,
) -> Result<(), CommandError> {
    if entries.is_empty() {
        return output::line(&format!("no task of run {run} has a branch yet"));
    }
    let named = Named::new(store, run)?;
    let nodes = entries.iter().map(|entry| Node {
        id: &entry.task,
        parent: entry.parent.as_ref(),
        item: entry,
    });
    let nodes: Vec<Node<'_, &ReviewEntry>> = nodes.collect();
    let tree = tree::rows(&nodes, branches);
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(tree.iter().map(cells));
    let mut titles = vec!["TITLE"];
    titles.extend(tree.iter().map(|row| row.item.title.as_str()));
    let mut text = table::with_titles(&rows, &titles, tree::has_children(&tree));
    for entry in entries {
        let own = entry.own.as_ref();
        text.extend(own.map(|own| format!("{}: {own}\n", entry.task)));
    }
    for entry in entries {
        text += &table::flagged(&entry.task, entry.taint.as_ref());
        text += &table::flaky(&entry.flaky_checks);
    }
    for entry in entries {
        text += &unfinished(run, entry);
    }
    let state = store.state(run)?;
    text += &table::calls(state.open_approvals());
    text.extend(entries.iter().map(asked));
    let calls = state.open_approvals();
    let mut actions: Vec<Action> = calls.map(|asked| Action::Answer(asked.0.clone())).collect();
    actions.extend(entries.iter().flat_map(ReviewEntry::actions));
    text += &next::render(&next::commands(named, run, &actions));
    output::result(&text)
}

fn unfinished(run: &RunId, entry: &ReviewEntry) -> String {
    let commit = entry.unfinished_commit.as_ref();
    commit.map_or_else(String::new, |commit| {
        table::unfinished(run, &entry.task, commit)
    })
}

/// Renders what the agent of a task asks the user.
fn asked(entry: &ReviewEntry) -> String {
    let asked = entry.questions.iter();
    questions(asked.map(|question| (&entry.task, question)))
}

fn cells(row: &Row<&ReviewEntry>) -> [String; 8] {
    let entry = row.item;
    let overlaps = entry.overlaps.iter().map(|other| other.task.as_str());
    let overlaps = match overlaps.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => "-".to_owned(),
        overlaps => output::one_line(&overlaps, 40),
    };
    [
        tree::label(&row.branches, entry.task.as_str(), MAX_ID_WIDTH),
        standing(entry.state, entry.cause, entry.stale),
        check(entry.verify).to_owned(),
        size(entry),
        risk(entry.risk).to_owned(),
        overlaps,
        tokens(entry.usage.input_tokens + entry.usage.output_tokens),
        cost(&entry.usage),
    ]
}

fn size(entry: &ReviewEntry) -> String {
    let added: usize = entry.files.iter().map(|file| file.added).sum();
    let removed: usize = entry.files.iter().map(|file| file.removed).sum();
    match entry.files.len() {
        1 => format!("1 file +{added} -{removed}"),
        files => format!("{files} files +{added} -{removed}"),
    }
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::High => "HIGH",
    }
}

/// Describes a branch for people, above its diff.
fn head(entry: &ReviewEntry, words: &Words<'_>) -> String {
    let tip = entry.commit.as_ref().map_or("no commit", short);
    let mut text = output::one_line(&entry.title, MAX_LINE_CHARS);
    if !text.is_empty() {
        text += "\n";
    }
    text += &format!(
        "task {} (attempt {}): {}, check {}, risk {}\nbranch {} at {tip}: {}, {} tokens, cost {}\n",
        entry.task,
        entry.attempt,
        standing(entry.state, entry.cause, entry.stale),
        check(entry.verify),
        risk(entry.risk),
        entry.branch,
        size(entry),
        tokens(entry.usage.input_tokens + entry.usage.output_tokens),
        cost(&entry.usage)
    );
    let error = words.error.as_ref();
    text.extend(error.map(|error| table::failure(&entry.task, error)));
    for reason in &entry.risk_reasons {
        // What holds the task is told below.
        if !entry.holds.contains(reason) {
            text += &format!("risk: {}\n", output::plain(reason));
        }
    }
    for file in &entry.files {
        let (path, added, removed) = (shown(&file.path), file.added, file.removed);
        text += &format!("  {path} +{added} -{removed}\n");
    }
    let earlier = entry.merged.iter();
    for merged in earlier.filter(|merged| merged.attempt < entry.attempt) {
        let (attempt, commit) = (merged.attempt, short(&merged.commit));
        text.push_str(&format!(
            "includes attempt {attempt}, which was merged into the result as {commit}\n"
        ));
    }
    for other in &entry.overlaps {
        let paths = output::names(&other.paths, 200);
        text.push_str(&format!("also changed by {}: {paths}\n", other.task));
    }
    if entry.loses_most {
        text.push_str("deletes most of the files\n");
    }
    if !entry.left_out.is_empty() {
        let paths = output::names(&entry.left_out, 200);
        text.push_str(&format!("left out because git cannot store it: {paths}\n"));
    }
    text.push_str(&aside::lines(&entry.task, &entry.aside));
    for hold in &entry.holds {
        text.push_str(&format!("waits for you: {}\n", output::plain(hold)));
    }
    if !entry.holds.is_empty() {
        for file in &entry.aside.withheld {
            let (task, path) = (&entry.task, shown(&file.path));
            text += &format!("`orchestrate approve {task} --only {path}` puts it in\n");
        }
    }
    if entry.stale {
        text.push_str(&format!("{STALE}\n"));
    }
    text.extend(entry.own.as_ref().map(own_changes));
    text.push_str(&table::flagged(&entry.task, entry.taint.as_ref()));
    text.push_str(&table::flaky(&entry.flaky_checks));
    text.extend(words.hand_back.as_ref().map(held_against));
    text.push_str(&asked(entry));
    if !words.report.is_empty() {
        text.push_str("\nreport:\n");
        text.push_str(&output::quoted(words.report));
    }
    text
}

/// Describes what the user has changed, with the names of the files.
fn own_changes(own: &OwnChanges) -> String {
    match output::names(&own.files, 200) {
        none if none.is_empty() => format!("{own}\n"),
        files => format!("{own}: {files}\n"),
    }
}

/// Describes which claims of a report the facts do not bear out, what it asks, and the checks that
/// ran.
fn held_against(hand_back: &HandBack) -> String {
    let claims = hand_back.unverified.iter();
    let mut lines: Vec<String> = claims
        .map(|claim| format!("unverified claim: {claim}"))
        .collect();
    let asked = hand_back.open_questions.iter();
    lines.extend(asked.map(|question| format!("asks: {question}")));
    for check in &hand_back.checks {
        let by = match check.by {
            CheckedBy::Agent => "the agent",
            _ => "the run",
        };
        let then = match (check.verdict, check.outdated) {
            (CheckVerdict::Flaky, _) => ", flaky",
            (_, true) => ", before the last change",
            (_, false) => "",
        };
        let (command, exit) = (&check.command, &check.exit);
        lines.push(format!("checked by {by}: `{command}`: {exit}{then}"));
    }
    let lines = lines
        .iter()
        .map(|line| output::one_line(line, MAX_LINE_CHARS) + "\n");
    lines.collect()
}
