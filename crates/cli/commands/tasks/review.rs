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
use serde_json::{Value, json};

use crate::args::ReviewArgs;
use crate::commands::tasks::pager;
use crate::commands::tasks::patch;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::show::aside;
use crate::show::next;
use crate::show::output;
use crate::show::progress::{short, tokens};
use crate::show::run_argument::Named;
use crate::show::table::{self, MAX_ID_WIDTH, STALE, check, cost, questions, standing};
use crate::show::tree::{self, Branches, Node, Row};

/// The maximum number of characters of a line about what was handed back.
const MAX_LINE_CHARS: usize = 500;

const HEAD: [&str; 8] = [
    "TASK", "STATE", "CHECK", "SIZE", "RISK", "OVERLAPS", "TOKENS", "COST",
];

/// What is known of a task in words.
#[derive(Clone, Copy)]
struct Words<'a> {
    /// The report of its agent.
    report: &'a str,
    hand_back: Option<&'a HandBack>,
    /// Why it did not succeed.
    error: Option<&'a TaskError>,
}

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ReviewArgs) -> Result<u8, CommandError> {
    let what = arguments.what.as_deref();
    let is_run =
        |what: &str| Ok::<_, CommandError>(arguments.which.run.is_none() && context.is_run(what)?);
    let run = what
        .map(|what| Ok::<_, CommandError>(is_run(what)?.then_some(what)))
        .transpose()?
        .flatten();
    let task = what.filter(|_| run.is_none());
    let (store, run) = context.find_run(run.or(arguments.which.run.as_deref()))?;
    let runs = context.runs()?;
    let entries = runs.review(&run)?;
    let Some(task) = task else {
        note_listed(&runs, &run, &entries, arguments.json.json);
        let branches = context.terminal.branches;
        let is_json = arguments.json.json;
        return if is_json {
            output::json(&entries)
        } else {
            list(&store, &run, &entries, branches)
        }
        .map(|()| 0);
    };
    let state = store.state(&run)?;
    let task = task_of(&state, task)?;
    let record = state.task(&task);
    let said = record.map_or("", |record| record.summary().trim());
    let (hand_back, error) = (
        record.and_then(|record| state.ended_hand_back(record)),
        record.and_then(TaskRecord::error),
    );
    let words = Words {
        report: said,
        hand_back: hand_back.as_ref(),
        error: error.as_ref(),
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
        return output::json(&with_words(entry, &diff, words)).map(|()| 0);
    }
    // A line of a file may be a command to a program that reads a build's log, and a diff indents
    // it by one space only.
    let diff = if context.terminal.github {
        output::quoted(&diff)
    } else {
        diff
    };
    let (mut head, named) = (head(entry, words), Named::new(&store, &run)?);
    let calls = || {
        state
            .open_approvals()
            .filter(|(_, approval)| approval.task == task)
    };
    head.push_str(&table::calls(calls()));
    let answers = calls().map(|(call, _)| Action::Answer(call.clone()));
    let actions: Vec<Action> = answers
        .chain(entry.adopt())
        .chain(state.actions(&task))
        .collect();
    let next = next::render(&next::commands(named, &run, &actions));
    if !std::io::stdout().is_terminal() {
        return output::result(&format!("{head}\n{diff}{next}")).map(|()| 0);
    }
    // The next steps are below the diff, where they are read last.
    let diff = patch::shown(&diff, context.terminal.colour);
    pager::show(
        context,
        &format!("{}\n{diff}{}", output::plain(&head), output::plain(&next)),
    )
    .map(|()| 0)
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
    let trees = entries
        .iter()
        .filter_map(|entry| Some((&entry.task, entry.tree.as_ref()?)));
    let noted = trees.map(|(task, tree)| match runs.shown(run, task)? {
        Some(_) if !as_json => Ok(()),
        _ => runs.note_shown(run, task, tree),
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
    let titles = std::iter::once("TITLE").chain(tree.iter().map(|row| row.item.title.as_str()));
    let table = table::with_titles(
        &rows,
        &titles.collect::<Vec<_>>(),
        tree::has_children(&tree),
    );
    let state = store.state(run)?;
    let calls = state
        .open_approvals()
        .map(|(call, _)| Action::Answer(call.clone()));
    let actions: Vec<Action> = calls
        .chain(entries.iter().flat_map(ReviewEntry::actions))
        .collect();
    let next = next::commands(named, run, &actions);
    let asked = entries.iter().flat_map(|entry| {
        entry
            .questions
            .iter()
            .map(|question| (&entry.task, question))
    });
    let calls = table::calls(state.open_approvals());
    let own: String = entries
        .iter()
        .filter_map(|entry| Some(format!("{}: {}\n", entry.task, entry.own.as_ref()?)))
        .collect();
    let remarks = |entry: &ReviewEntry| {
        table::flagged(&entry.task, entry.taint.as_ref()) + &table::flaky(&entry.flaky_checks)
    };
    let remarks: String = entries.iter().map(remarks).collect();
    output::result(&format!(
        "{table}{own}{remarks}{calls}{}{}",
        questions(asked),
        next::render(&next)
    ))
}

fn cells(row: &Row<&ReviewEntry>) -> [String; 8] {
    let entry = row.item;
    let overlaps: Vec<&str> = entry
        .overlaps
        .iter()
        .map(|other| other.task.as_str())
        .collect();
    [
        tree::label(&row.branches, entry.task.as_str(), MAX_ID_WIDTH),
        standing(entry.state, entry.cause, entry.stale),
        check(entry.verify).to_owned(),
        size(entry),
        risk(entry.risk).to_owned(),
        if overlaps.is_empty() {
            "-".to_owned()
        } else {
            output::one_line(&overlaps.join(","), 40)
        },
        tokens(entry.usage.input_tokens + entry.usage.output_tokens),
        cost(&entry.usage),
    ]
}

fn size(entry: &ReviewEntry) -> String {
    let added: usize = entry.files.iter().map(|file| file.added).sum();
    let removed: usize = entry.files.iter().map(|file| file.removed).sum();
    let files = if entry.files.len() == 1 {
        "file"
    } else {
        "files"
    };
    format!("{} {files} +{added} -{removed}", entry.files.len())
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::High => "HIGH",
    }
}

/// Describes a branch for people, above its diff.
fn head(
    entry: &ReviewEntry,
    Words {
        report,
        hand_back,
        error,
    }: Words<'_>,
) -> String {
    let tip = entry
        .commit
        .as_ref()
        .map_or("no commit", |commit| short(commit.as_str()));
    let title = output::one_line(&entry.title, MAX_LINE_CHARS);
    let title = if title.is_empty() {
        title
    } else {
        format!("{title}\n")
    };
    let mut text = format!(
        "{title}task {} (attempt {}): {}, check {}, risk {}\nbranch {} at {tip}: {}, {} tokens, cost {}\n",
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
    text.push_str(
        &error
            .map(|error| table::failure(&entry.task, error))
            .unwrap_or_default(),
    );
    // What holds the task is told below.
    for reason in entry
        .risk_reasons
        .iter()
        .filter(|reason| !entry.holds.contains(reason))
    {
        text.push_str(&format!("risk: {}\n", output::plain(reason)));
    }
    for file in &entry.files {
        text.push_str(&format!(
            "  {} +{} -{}\n",
            shown(&file.path),
            file.added,
            file.removed
        ));
    }
    for merged in entry
        .merged
        .iter()
        .filter(|merged| merged.attempt < entry.attempt)
    {
        let (attempt, commit) = (merged.attempt, short(merged.commit.as_str()));
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
            text.push_str(&format!(
                "`orchestrate approve {} --only {}` puts it in\n",
                entry.task,
                shown(&file.path)
            ));
        }
    }
    if entry.stale {
        text.push_str(&format!("{STALE}\n"));
    }
    text.push_str(&entry.own.as_ref().map(own_changes).unwrap_or_default());
    text.push_str(&table::flagged(&entry.task, entry.taint.as_ref()));
    text.push_str(&table::flaky(&entry.flaky_checks));
    text.push_str(&hand_back.map(held_against).unwrap_or_default());
    text.push_str(&questions(
        entry
            .questions
            .iter()
            .map(|question| (&entry.task, question)),
    ));
    if !report.is_empty() {
        text.push_str("\nreport:\n");
        text.push_str(&output::quoted(report));
    }
    text
}

/// Describes what the user has changed, with the names of the files.
fn own_changes(own: &OwnChanges) -> String {
    let files = if own.files.is_empty() {
        String::new()
    } else {
        format!(": {}", output::names(&own.files, 200))
    };
    format!("{own}{files}\n")
}

/// Describes which claims of a report the facts do not bear out, what it asks, and the checks that
/// ran.
fn held_against(hand_back: &HandBack) -> String {
    let claims = hand_back
        .unverified
        .iter()
        .map(|claim| format!("unverified claim: {claim}"));
    let questions = hand_back
        .open_questions
        .iter()
        .map(|question| format!("asks: {question}"));
    let checks = hand_back.checks.iter().map(|check| {
        let by = if check.by == CheckedBy::Agent {
            "the agent"
        } else {
            "the run"
        };
        let then = match (check.verdict, check.outdated) {
            (CheckVerdict::Flaky, _) => ", flaky",
            (_, true) => ", before the last change",
            (_, false) => "",
        };
        format!("checked by {by}: `{}`: {}{then}", check.command, check.exit)
    });
    claims
        .chain(questions)
        .chain(checks)
        .map(|line| format!("{}\n", output::one_line(&line, MAX_LINE_CHARS)))
        .collect()
}

fn with_words(
    entry: &ReviewEntry,
    diff: &str,
    Words {
        report,
        hand_back,
        error,
    }: Words<'_>,
) -> Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("diff".to_owned(), json!(diff));
        object.insert("summary".to_owned(), json!(report));
        object.insert("hand_back".to_owned(), json!(hand_back));
        object.insert("error".to_owned(), json!(error));
    }
    value
}
