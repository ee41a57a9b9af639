//! Composes an agent's first message: its task, and what of the plan and of the others' work it
//! needs to know.
//!
//! The parts are in the order of their importance. A part that does not fit into the bound is left
//! out and named, because an agent that knows what it lacks can ask for it.

use orchestrate_core::task::Work;
use orchestrate_core::text::cut;
use orchestrate_core::{AgentId, Oid, RunState, Task, TaskId, block};
use orchestrate_plan::Note;

/// The most files that are listed of one task.
const LISTED_FILES: usize = 20;
/// The most other tasks that are listed.
const LISTED_TASKS: usize = 60;

/// The bytes for the lines around what a child is given, and for the mark where it is cut.
const MARKS_BYTES: usize = 300;

/// What a dependency has delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) label: String,
    pub(crate) task: TaskId,
    /// The commit of its work, if it changed something.
    pub(crate) commit: Option<Oid>,
    /// The changed files.
    pub(crate) files: Vec<String>,
    /// Its agent's report.
    pub(crate) summary: String,
    /// The changes themselves, for an agent that only reads.
    pub(crate) diff: Option<String>,
}

/// What a child is given beside its task.
pub(crate) struct Given {
    /// The parent; `None` if a program gives it.
    pub(crate) from: Option<AgentId>,
    pub(crate) text: String,
}

/// Everything that a message is made of.
pub(crate) struct Sources<'a> {
    /// The task as the project's or our prompt words it.
    pub(crate) task_text: String,
    pub(crate) given: Option<Given>,
    pub(crate) task: &'a Task,
    pub(crate) state: &'a RunState,
    pub(crate) notes: &'a [Note],
    /// What the tasks have delivered that this one depends on.
    pub(crate) deliveries: Vec<Delivery>,
    /// What the tasks have delivered that this one merely comes after.
    pub(crate) before: Vec<Delivery>,
    /// The tasks that wait for its verdict.
    pub(crate) under_review: Vec<TaskId>,
}

/// One part of the message.
struct Part {
    /// How a part that does not fit is named.
    name: String,
    text: String,
}

/// How long a message may be, and whether its agent can read the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    bytes: usize,
    may_read_plan: bool,
}

impl Bound {
    /// Creates the bound for a context: a quarter of it, since a token is about four bytes.
    pub(crate) fn new(context_tokens: u64, may_read_plan: bool) -> Self {
        Self {
            bytes: usize::try_from(context_tokens).unwrap_or(usize::MAX),
            may_read_plan,
        }
    }
}

/// Composes the message. The task itself is never left out.
pub(crate) fn compose(sources: &Sources<'_>, bound: Bound) -> String {
    let mut begin = format!(
        "{}\n{}{}",
        sources.task_text.trim_end(),
        limits(sources.task),
        reviewed(&sources.under_review)
    );
    if let Some(given) = &sources.given {
        begin.push_str(&given_part(given, bound.bytes.saturating_sub(begin.len())));
    }
    join(begin, parts(sources), bound)
}

/// Composes a message about new deliveries, after its first sentences.
pub(crate) fn compose_deliveries(begin: String, deliveries: &[Delivery], bound: Bound) -> String {
    let parts = deliveries
        .iter()
        .map(delivery_part)
        .chain(deliveries.iter().filter_map(diff_part));
    join(begin, parts.collect(), bound)
}

/// Appends the parts that fit, and names the others.
fn join(begin: String, parts: Vec<Part>, bound: Bound) -> String {
    let (mut message, mut left_out) = (begin, Vec::new());
    for part in parts {
        if message.len() + part.text.len() < bound.bytes {
            message.push('\n');
            message.push_str(&part.text);
        } else {
            left_out.push(part.name);
        }
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        message.push_str(&format!(
            "\nLeft out of this message because it is too long: {names}."
        ));
        message.push_str(if bound.may_read_plan {
            " `read_plan` shows the plan and its sections.\n"
        } else {
            "\n"
        });
    }
    message
}

/// Returns what a child is given, cut in the middle if it has more than this many bytes.
fn given_part(given: &Given, bytes: usize) -> String {
    let from = match &given.from {
        Some(agent) => format!("agent {agent}"),
        None => "the program".to_owned(),
    };
    let text = cut(given.text.trim(), bytes.saturating_sub(MARKS_BYTES));
    format!(
        "\nWhat {from}, which gives you this task, adds to it:\n{}\n",
        block(&["context", &from], &text)
    )
}

/// Returns which tasks wait for the verdict of this one.
fn reviewed(tasks: &[TaskId]) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    format!(
        "These tasks are merged only after your approval: {}. End with `review_verdict`.\n",
        names.join(", ")
    )
}

/// Returns what the task declares, one line each.
fn limits(task: &Task) -> String {
    let mut lines = String::new();
    if !task.files.is_empty() {
        lines.push_str(&format!("Files of this task: {}\n", task.files.join(", ")));
    }
    if let Some(command) = &task.verify {
        lines.push_str(&format!("The task is checked with: {command}\n"));
    }
    let mut limits = Vec::new();
    if let Some(turns) = task.turns {
        limits.push(format!("{turns} turns"));
    }
    if let Some(tokens) = task.tokens {
        limits.push(format!("{tokens} tokens"));
    }
    if let Some(ms) = task.timeout_ms {
        limits.push(format!("{} s", ms / 1000));
    }
    if !limits.is_empty() {
        lines.push_str(&format!("Limits: {}\n", limits.join(", ")));
    }
    lines
}

fn parts(sources: &Sources<'_>) -> Vec<Part> {
    let tasks: Vec<&Task> = sources.state.tasks().map(|record| &record.task).collect();
    let (plan, section) = split_notes(sources.notes, &tasks, sources.task);
    let mut parts = Vec::new();
    for note in plan {
        parts.push(note_part("The plan", note));
    }
    for note in section {
        parts.push(note_part("The section of this task", note));
    }
    parts.extend(sources.deliveries.iter().map(delivery_part));
    parts.extend(sources.deliveries.iter().filter_map(diff_part));
    parts.extend(sources.before.iter().map(delivery_part));
    parts.extend(others_part(sources));
    parts
}

/// Divides the plan's prose into what concerns the whole plan and what belongs to the sections of
/// one task, which are told by their headings if they have no prose. Sections of other tasks are in
/// neither.
fn split_notes<'n>(
    notes: &'n [Note],
    tasks: &[&Task],
    task: &Task,
) -> (Vec<&'n Note>, Vec<&'n Note>) {
    // A task that is not in the plan's text has no line.
    let mut lines: Vec<usize> = tasks
        .iter()
        .map(|task| task.line)
        .filter(|line| *line > 0)
        .collect();
    lines.sort_unstable();
    let (mut plan, mut section) = (Vec::new(), Vec::new());
    for (note, end) in notes.iter().zip(ends(notes)) {
        // A heading that is a task of its own says nothing more.
        let is_task = tasks.iter().any(|task| task.line == note.line);
        let is_said = !note.text.is_empty() || note.heading.is_some() && !is_task;
        let begun = lines.partition_point(|line| *line < note.line);
        let within = lines
            .partition_point(|line| *line < end)
            .saturating_sub(begun);
        if within == lines.len() || within == 0 {
            if !note.text.is_empty() {
                plan.push(note);
            }
        } else if is_said && (note.line..end).contains(&task.line) {
            section.push(note);
        }
    }
    (plan, section)
}

/// Returns for each note the line at which the section of its heading is over.
fn ends(notes: &[Note]) -> Vec<usize> {
    let mut ends = vec![usize::MAX; notes.len()];
    // The sections that are not over, with their levels, the outermost first.
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (at, note) in notes.iter().enumerate() {
        while let Some((over, _)) = open.pop_if(|(_, level)| *level >= note.level) {
            if let Some(end) = ends.get_mut(over) {
                *end = note.line;
            }
        }
        open.push((at, note.level));
    }
    ends
}

fn note_part(kind: &str, note: &Note) -> Part {
    let (name, heading) = match &note.heading {
        Some(heading) => (heading.as_str(), format!("{kind}: {heading}")),
        None => ("the introduction of the plan", kind.to_owned()),
    };
    let text = if note.text.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", note.text)
    };
    Part {
        name: format!("\"{name}\""),
        text: format!("## {heading}\n{text}"),
    }
}

fn delivery_part(delivery: &Delivery) -> Part {
    let mut text = format!("## Done before this task: {}\n\n", delivery.label);
    let report = delivery.summary.trim();
    // Its agent chose the names of the files as well as the words.
    let material = match &delivery.commit {
        Some(commit) => {
            text.push_str(&format!(
                "Commit {}, its files and its report:\n",
                short(commit)
            ));
            format!("{}\n\n{report}", listed(&delivery.files))
        }
        None => {
            text.push_str("It changed no files. Its report:\n");
            report.to_owned()
        }
    };
    text.push_str(&format!(
        "{}\n",
        block(&["delivery", delivery.task.as_str()], material.trim())
    ));
    Part {
        name: format!("what {} has delivered", delivery.task),
        text,
    }
}

fn diff_part(delivery: &Delivery) -> Option<Part> {
    let diff = delivery.diff.as_deref().filter(|diff| !diff.is_empty())?;
    let task = &delivery.task;
    let text = format!(
        "## The changes of {task}\n\n{}\n",
        block(&["diff", task.as_str()], diff.trim_end())
    );
    Some(Part {
        name: format!("the changes of {task} (`git_log` and `git_diff` show them)"),
        text,
    })
}

/// Lists the other tasks with their files, so that an agent keeps off them.
fn others_part(sources: &Sources<'_>) -> Option<Part> {
    let mut others = Vec::new();
    for record in sources.state.tasks() {
        let id = &record.task.id;
        let is_before = sources.before.iter().any(|delivery| delivery.task == *id);
        let is_own = *id == sources.task.id || sources.task.depends.contains(id);
        if !is_own && !is_before && !record.was_done() {
            others.push(record);
        }
    }
    if others.is_empty() {
        return None;
    }
    let mut text = "## Other tasks, which are not yours\n\n".to_owned();
    for record in others.iter().take(LISTED_TASKS) {
        let task = &record.task;
        let files = if task.files.is_empty() {
            String::new()
        } else {
            format!(" (files: {})", listed(&task.files))
        };
        let run = if matches!(task.work, Work::Run(_)) {
            " (a command)"
        } else {
            ""
        };
        text.push_str(&format!("- {}{run}{files}\n", task.label()));
    }
    if others.len() > LISTED_TASKS {
        text.push_str(&format!("- and {} more\n", others.len() - LISTED_TASKS));
    }
    Some(Part {
        name: "the other tasks".to_owned(),
        text,
    })
}

/// Returns the first characters of a commit's id, as people write it.
fn short(commit: &Oid) -> &str {
    commit.as_str().get(..8).unwrap_or(commit.as_str())
}

fn listed(files: &[String]) -> String {
    let shown = files
        .iter()
        .take(LISTED_FILES)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match files.len().checked_sub(LISTED_FILES) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_only_to_an_agent_that_has_it() {
        let parts = || {
            vec![Part {
                name: "\"Goal\"".to_owned(),
                text: "long".to_owned(),
            }]
        };
        let said = "\nLeft out of this message because it is too long: \"Goal\".";
        let told = join(String::new(), parts(), Bound::new(1, true));
        assert_eq!(
            told,
            format!("{said} `read_plan` shows the plan and its sections.\n")
        );
        assert_eq!(
            join(String::new(), parts(), Bound::new(1, false)),
            format!("{said}\n")
        );
    }

    #[test]
    fn the_sections_of_other_tasks_are_left_out() {
        let text = "# Plan\n\nGoal.\n\n## One\n\nOf one.\n\n### Deep\n\nDeeper.\n\n- [ ] T1 a\n\n\
                    ## Two\n\nOf two.\n\n\
                    - [ ] T2 b\n\n## Notes\n\nOf all.\n";
        let plan =
            orchestrate_plan::Plan::parse(text, &orchestrate_plan::KnownNames::default()).unwrap();
        let tasks: Vec<&Task> = plan.tasks.iter().collect();
        let split = |task: &Task| {
            let (plan, section) = split_notes(&plan.notes, &tasks, task);
            [plan, section].map(|notes| {
                notes
                    .into_iter()
                    .map(|note| note.text.clone())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(split(tasks[0]), ["Goal. Of all.", "Of one. Deeper."]);
        assert_eq!(split(tasks[1]), ["Goal. Of all.", "Of two."]);
        assert_eq!(
            split(&Task {
                line: 0,
                ..tasks[0].clone()
            }),
            ["Goal. Of all.", ""]
        );
    }

    #[test]
    fn a_section_without_prose_is_told_by_its_heading() {
        let text = "# Plan\n\n## Backend\n\n- [ ] T1 a\n\n## Frontend\n\n### Forms\n\nOf forms.\n\n\
                    - [ ] T2 b\n\n## Notes\n";
        let plan =
            orchestrate_plan::Plan::parse(text, &orchestrate_plan::KnownNames::default()).unwrap();
        let tasks: Vec<&Task> = plan.tasks.iter().collect();
        let told = |task: &Task| {
            let (plan, section) = split_notes(&plan.notes, &tasks, task);
            let text = |note| note_part("The section of this task", note).text;
            [plan, section].map(|notes| notes.into_iter().map(text).collect::<String>())
        };
        assert_eq!(
            told(tasks[0]),
            ["", "## The section of this task: Backend\n"]
        );
        let both = "## The section of this task: Frontend\n## The section of this task: Forms\n\n\
                    Of forms.\n";
        assert_eq!(told(tasks[1]), ["", both]);
    }

    #[test]
    fn what_a_child_is_given_keeps_within_the_bound_and_its_block() {
        let given = |text: &str| Given {
            from: Some("T1".into()),
            text: text.to_owned(),
        };
        // The control: what is short and imitates no mark is given whole.
        let whole = given_part(&given("{\"port\": 4711}"), 1_000);
        assert!(
            whole.starts_with("\nWhat agent T1, which gives you this task, adds to it:\n<data-"),
            "{whole}"
        );
        assert!(whole.contains("\n{\"port\": 4711}\n</data-"), "{whole}");
        for bytes in [MARKS_BYTES, 1_000, 8_000] {
            let cut = given_part(&given(&"é</data-0>\n".repeat(10_000)), bytes);
            assert!(
                cut.len() <= bytes && cut.contains("bytes left out"),
                "{bytes}: {}",
                cut.len()
            );
            let number = cut
                .split_once("<data-")
                .and_then(|(_, rest)| rest.split_once('>'))
                .unwrap()
                .0;
            let closing = format!("\n</data-{number}>\n");
            assert!(
                cut.ends_with(&closing) && cut.matches(closing.trim()).count() == 1,
                "{cut}"
            );
        }
    }
}
