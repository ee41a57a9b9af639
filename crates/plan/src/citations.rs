//! What becomes of each line of a document that is rewritten as a plan.
//!
//! The agent that rewrites it ends its answer with a block of code marked `lines`, which says for
//! each line which task it is part of, that all agents are told it, or why it is not run. Nothing
//! is dropped silently: an answer that leaves out a line is refused. Nothing is invented either:
//! each task cites a line for itself alone, and its commands stand in what it cites. And what the
//! program reads as done, cancelled, blocked or a person's is no open task.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

use orchestrate_core::ids::TaskId;
use orchestrate_core::task::Work;
use orchestrate_core::text::parts::Parts;

use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::{Finding, FindingCode, PlanError, Skipped};
use crate::formats::lines::LineKind;
use crate::lines::source::Source;
use crate::parse;
use crate::parse::Plan;
use crate::tasks::checkbox::box_in_line;
use crate::tasks::heading;
use crate::tasks::note::Note;
use crate::tasks::section::{self, Kind};

/// How often a line of a document may be cited on average.
const CITED_AT_MOST: usize = 4;

/// How often the lines may be cited for tasks besides: a hundred tasks of a hundred lines each,
/// while a hostile account could name every task in every line.
const CITED_BESIDES: usize = 10_000;

/// What becomes of a line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRole {
    /// It is a part of these tasks.
    Task {
        /// The tasks, at least one.
        tasks: Vec<TaskId>,
    },
    /// All agents are told it.
    Told,
    /// It is not run.
    NotRun {
        /// Why not.
        reason: String,
    },
}

/// Some lines of a document, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The first line, from 1.
    pub from: usize,
    /// The last line.
    pub to: usize,
    /// What becomes of them.
    pub role: LineRole,
}

impl LineRole {
    /// Returns how many tasks it names; one if it is none.
    fn count(&self) -> usize {
        match self {
            LineRole::Task { tasks } => tasks.len(),
            _ => 1,
        }
    }
}

impl fmt::Display for LineRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineRole::Task { tasks } => {
                let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                f.write_str(&ids.join(", "))
            }
            LineRole::Told => f.write_str("told to all"),
            LineRole::NotRun { reason } => write!(f, "not run: {reason}"),
        }
    }
}

/// Returns what becomes of the lines of a document that an answer rewrites as this plan, in the
/// order of the document.
///
/// # Errors
/// Every citation that is wrong, every line that is left out, every task without a line of its own,
/// every command that the document does not name, and every task of the document that is lost, or
/// that is open although the document says that it is not.
pub(crate) fn check(
    account: &str,
    document: &str,
    plan: &Plan,
) -> Result<Vec<Citation>, Vec<PlanError>> {
    let ids = plan.tasks.iter().map(|task| task.id.clone()).collect();
    let mut read = Read::new(account, document, Some(ids));
    read.require_all();
    let own = OwnReading::from_document(document, &read.lines);
    read.require_sources(plan, &own);
    read.require_commands(plan, &own);
    read.require_work(plan, &own);
    if read.errors.is_empty() {
        Ok(joined(read.roles))
    } else {
        Err(read.errors)
    }
}

/// Returns what an account says that was taken before, in the order of the document; empty if this
/// version would not take it. The tasks of its plan need not be known.
pub(crate) fn taken(account: &str, document: &str) -> Vec<Citation> {
    let read = Read::new(account, document, None);
    match read.errors.is_empty() {
        true => joined(read.roles),
        false => Vec::new(),
    }
}

/// Returns the lines that look like work in a document, although the citations make no task of
/// them.
pub(crate) fn not_run(citations: &[Citation], document: &str) -> Vec<Skipped> {
    let lines = lines(document);
    let own = OwnReading::from_document(document, &lines);
    let mut found = Vec::new();
    for Citation { from, to, role } in citations {
        if let LineRole::Task { .. } = role {
            continue;
        }
        for line in own.open.union(&own.skipped) {
            // A chapter that is told to tasks is not left out: its own lines are cited.
            let is_chapter = lines.get(line - 1).is_some_and(|text| may_be_chapter(text));
            let is_told = is_chapter && !matches!(role, LineRole::NotRun { .. });
            if (from..=to).contains(&line) && !is_told {
                found.push(Skipped {
                    line: *line,
                    reason: match role {
                        LineRole::NotRun { reason } => reason.clone(),
                        role => role.to_string(),
                    },
                });
            }
        }
    }
    found
}

/// Returns the lines of a document as its agent and its reader count them.
pub(crate) fn lines(document: &str) -> Vec<&str> {
    let lines = Source::new(document).lines(0..document.len());
    lines.map(|(_, line)| line).collect()
}

/// The citations as far as they are read.
struct Read<'d> {
    /// The role of each line that is cited.
    roles: BTreeMap<usize, LineRole>,
    /// The lines of the document.
    lines: Vec<&'d str>,
    /// How many more lines may be cited.
    left: usize,
    /// The tasks of the plan, if they are known.
    ids: Option<BTreeSet<TaskId>>,
    errors: Vec<PlanError>,
}

impl<'d> Read<'d> {
    fn new(account: &str, document: &'d str, ids: Option<BTreeSet<TaskId>>) -> Self {
        let lines = lines(document);
        let mut read = Self {
            roles: BTreeMap::new(),
            left: CITED_AT_MOST * lines.len() + CITED_BESIDES,
            lines,
            ids,
            errors: Vec::new(),
        };
        for line in account.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with("```") && !line.starts_with("~~~") {
                read.line(line);
            }
        }
        read
    }

    fn error(&mut self, message: String) {
        self.errors
            .push(Finding::of_whole(FindingCode::Citation, message));
    }

    /// Reads one line of citations, such as `3-5, 8: T1, T2` or `9: not run: an example`.
    fn line(&mut self, line: &str) {
        let Some((places, role)) = line.split_once(':') else {
            return self.error(format!(
                "`{line}` is no citation; write `3-5: T1`, `1-2: told` or `9: not run: why`"
            ));
        };
        let role = match self.role(role.trim()) {
            Ok(role) => role,
            Err(message) => return self.error(message),
        };
        for place in places.split(',') {
            match self.place(place.trim()) {
                Ok(lines) => self.assign(lines, &role),
                Err(message) => self.error(message),
            }
        }
    }

    fn role(&self, text: &str) -> Result<LineRole, String> {
        if text == "told" || text == "told to all" {
            return Ok(LineRole::Told);
        }
        let marks = [':', ',', ';', ' '];
        let reason = text.strip_prefix("not run");
        if let Some(reason) = reason.filter(|rest| rest.is_empty() || rest.starts_with(marks)) {
            let reason = reason.trim_start_matches(marks).trim_end();
            return match reason.is_empty() {
                true => Err("`not run` needs a reason: `9: not run: an example`".to_owned()),
                false => Ok(LineRole::NotRun {
                    reason: reason.to_owned(),
                }),
            };
        }
        let mut tasks = Vec::new();
        for name in text.split(',').map(str::trim) {
            let is_known = match &self.ids {
                Some(ids) => ids.contains(name),
                None => TaskId::refusal(name).is_none(),
            };
            if !is_known {
                return Err(format!("`{name}` is no task of the plan"));
            }
            tasks.push(TaskId::from(name));
        }
        Ok(LineRole::Task { tasks })
    }

    /// Reads the number of a line, or the numbers of the first and the last one.
    fn place(&self, text: &str) -> Result<RangeInclusive<usize>, String> {
        let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) else {
            return Err(format!("`{text}` is no number of a line"));
        };
        let count = self.lines.len();
        if first == 0 || first > last || last > count {
            return Err(format!(
                "the document has no lines {text}: it has lines 1 to {count}"
            ));
        }
        Ok(first..=last)
    }

    fn assign(&mut self, lines: RangeInclusive<usize>, role: &LineRole) {
        for line in lines {
            let other = self.roles.remove(&line);
            let cost = role.count() * other.as_ref().map_or(1, LineRole::count);
            let Some(left) = self.left.checked_sub(cost) else {
                let message = "the citations name the same lines again and again";
                if self.errors.iter().all(|error| error.message != message) {
                    self.error(message.to_owned());
                }
                return;
            };
            self.left = left;
            let role = match (other, role) {
                (Some(LineRole::Task { mut tasks }), LineRole::Task { tasks: more }) => {
                    let more = more.iter().filter(|id| !tasks.contains(id));
                    let more: Vec<TaskId> = more.cloned().collect();
                    tasks.extend(more);
                    LineRole::Task { tasks }
                }
                (Some(other), role) if other != *role => {
                    self.error(format!("line {line} is cited twice: {other}, and {role}"));
                    other
                }
                (_, role) => role.clone(),
            };
            self.roles.insert(line, role);
        }
    }

    /// Requires that each line with text is cited.
    fn require_all(&mut self) {
        let left_out: Vec<usize> = (1..)
            .zip(&self.lines)
            .filter(|(at, line)| !line.trim().is_empty() && !self.roles.contains_key(at))
            .map(|(at, _)| at)
            .collect();
        if !left_out.is_empty() {
            self.error(format!(
                "the citations leave out {} of the document",
                numbered(&left_out)
            ));
        }
    }

    /// Requires that each task cites a line that says what to do, and an open one no line of what
    /// is done or not to be done.
    ///
    /// It cites that line for itself alone, or with no more tasks than the line has parts: "Add a
    /// cart, a till and a search" may well become three.
    fn require_sources(&mut self, plan: &Plan, own: &OwnReading) {
        let open = open_tasks(plan);
        let mut cited: BTreeSet<&TaskId> = BTreeSet::new();
        let mut with_source: BTreeSet<&TaskId> = BTreeSet::new();
        let mut reopened: BTreeMap<&TaskId, Vec<usize>> = BTreeMap::new();
        for (at, line) in (1..).zip(&self.lines) {
            let Some(LineRole::Task { tasks }) = self.roles.get(&at) else {
                continue;
            };
            let is_source = own.says_something(at, line);
            let is_closed = own.is_closed(at, line);
            let are_few = tasks.len() == 1 || tasks.len() <= parts(line);
            for id in tasks.iter().filter(|_| is_source) {
                cited.insert(id);
                if is_closed && open.contains(id) {
                    reopened.entry(id).or_default().push(at);
                } else if are_few {
                    with_source.insert(id);
                }
            }
        }
        let mut errors = Vec::new();
        for task in &plan.tasks {
            let id = &task.id;
            let closed = reopened.get(id);
            let is_reopened = |lines: &&Vec<usize>| {
                !with_source.contains(id) || lines.iter().any(|at| own.closed.contains(at))
            };
            if let Some(lines) = closed.filter(is_reopened) {
                errors.push(format!(
                    "{id} is done already or is not to be done by an agent, as {} of the document \
                     says: it keeps its mark, or is not run",
                    numbered(lines)
                ));
            } else if !cited.contains(id) {
                errors.push(format!(
                    "no line of the document is cited for {id}; a title or a rule does not count"
                ));
            } else if !with_source.contains(id) {
                errors.push(format!(
                    "{id} has no line of its own: each that is cited for it is cited for more \
                     tasks than it names"
                ));
            }
        }
        errors.into_iter().for_each(|error| self.error(error));
    }

    /// Requires that each command of the plan stands in a line that is cited for its task or told
    /// to all, or in the front matter.
    fn require_commands(&mut self, plan: &Plan, own: &OwnReading) {
        let mut told = String::new();
        let mut of_all = String::new();
        let mut of_task: BTreeMap<&TaskId, String> = BTreeMap::new();
        for (at, line) in (1..).zip(&self.lines) {
            match self.roles.get(&at) {
                Some(LineRole::Task { tasks }) => {
                    add_words(&mut of_all, line);
                    for id in tasks {
                        add_words(of_task.entry(id).or_default(), line);
                    }
                }
                Some(LineRole::Told) => add_words(&mut told, line),
                _ if own.settings.contains(&at) => add_words(&mut told, line),
                Some(LineRole::NotRun { .. }) | None => {}
            }
        }
        let mut errors = Vec::new();
        let mut require = |command: &str, whose: &str, source: Option<&String>| {
            let mut wanted = String::new();
            add_words(&mut wanted, command);
            let is_named = source.is_some_and(|source| names(source, wanted.trim()));
            if !is_named && !names(&told, wanted.trim()) {
                errors.push(format!(
                    "the command `{command}` of {whose} stands in no line that is cited for it"
                ));
            }
        };
        for task in &plan.tasks {
            let source = of_task.get(&task.id);
            if let Work::Run(command) = &task.work {
                require(command, task.id.as_str(), source);
            }
            if let Some(command) = &task.verify {
                require(command, task.id.as_str(), source);
            }
        }
        if let Some(command) = &plan.front_matter.verify {
            require(command, "the plan", Some(&of_all));
        }
        errors.into_iter().for_each(|error| self.error(error));
    }

    /// Requires that what the program itself reads as an open task is run, or is not with a
    /// reason.
    fn require_work(&mut self, plan: &Plan, own: &OwnReading) {
        let open = open_tasks(plan);
        let mut lost = Vec::new();
        for line in &own.open {
            match self.roles.get(line) {
                Some(LineRole::Task { tasks }) if tasks.iter().any(|id| open.contains(id)) => {}
                Some(LineRole::NotRun { .. }) | None => {}
                Some(_) => lost.push(*line),
            }
        }
        if !lost.is_empty() {
            self.error(format!(
                "{} of the document: a task is cited by an open task of the plan, or is not run \
                 with a reason",
                numbered(&lost)
            ));
        }
    }
}

fn open_tasks(plan: &Plan) -> BTreeSet<&TaskId> {
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    open.map(|task| &task.id).collect()
}

/// Returns how many things a line may name: what commas, full stops and "and" divide.
fn parts(line: &str) -> usize {
    let is_end = |c| {
        matches!(
            c,
            ',' | ';' | '.' | '&' | '+' | '/' | '、' | '，' | '；' | '。'
        )
    };
    let mut count = 0;
    for clause in line.split(is_end) {
        let parts = clause.split(" and ");
        count += parts
            .filter(|part| part.contains(char::is_alphabetic))
            .count();
    }
    count
}

/// Adds the words of a line to a text, each after a blank.
fn add_words(text: &mut String, line: &str) {
    for word in line.split_whitespace() {
        text.push(' ');
        text.push_str(word);
    }
}

/// Reports whether a text names a command, as whole words.
fn names(text: &str, command: &str) -> bool {
    text.match_indices(command).any(|(at, _)| {
        let before = text.head(at).chars().next_back();
        let after = text.tail(at + command.len());
        let end = after.split(' ').next().map_or("", |end| end);
        before.is_none_or(|c| matches!(c, ' ' | '`' | '"' | '\'' | '(' | ':'))
            && end.chars().all(|c| "`\"')*_.,;:]}".contains(c))
    })
}

/// What the program itself reads in a document; in one that can be read in several ways, in each of
/// them.
#[derive(Default)]
struct OwnReading {
    /// The lines of open tasks, but in several readings for headings that may be chapters.
    open: BTreeSet<usize>,
    /// The lines of open tasks and of what belongs to them.
    of_open: BTreeSet<usize>,
    /// The lines of what is done, cancelled, blocked or a person's in some reading, and open in
    /// none.
    closed: BTreeSet<usize>,
    /// The lines of titles, rules and the heads of tables.
    structure: BTreeSet<usize>,
    /// The lines of the front matter.
    settings: BTreeSet<usize>,
    /// The lines that look like work but are no tasks.
    skipped: BTreeSet<usize>,
}

impl OwnReading {
    fn from_document(document: &str, lines: &[&str]) -> Self {
        let mut known = KnownNames::default();
        let plan = parse::read(document, &known).0;
        let mut own = Self::default();
        if plan.readings.is_empty() {
            own.add(&plan);
        } else {
            for reading in &plan.readings {
                known.read = ReadAs::named(&reading.read);
                own.add(&parse::read(document, &known).0);
            }
            let is_certain = |at: &usize| lines.get(at - 1).is_none_or(|at| !may_be_chapter(at));
            own.open.retain(is_certain);
        }
        own.closed.retain(|at| !own.of_open.contains(at));
        own
    }

    fn add(&mut self, plan: &Plan) {
        let open = open_tasks(plan);
        let whole = plan.is_goal();
        let dropped = dropped(&plan.notes, plan.lines.last().map_or(0, |last| last.to));
        for found in &plan.lines {
            let lines = found.from..=found.to;
            let is_open = found.task.as_ref().map(|task| open.contains(task));
            match (found.role, is_open) {
                (LineKind::Structure, _) => self.structure.extend(lines),
                (LineKind::Settings, _) => self.settings.extend(lines),
                (_, Some(true)) if !whole => self.of_open.extend(lines),
                (_, Some(false)) => self.closed.extend(lines),
                (LineKind::Told | LineKind::NotRun, None) => {
                    self.closed.extend(lines.filter(|at| dropped.contains(at)));
                }
                _ => {}
            }
        }
        let tasks = plan.tasks.iter();
        let tasks = tasks.filter(|task| task.status.runs() && !task.goal);
        self.open.extend(tasks.map(|task| task.line));
        self.skipped
            .extend(plan.skipped.iter().map(|skipped| skipped.line));
    }

    /// Reports whether a line says something that could be a task: a title does not, nor any other
    /// heading that the program reads as no task.
    fn says_something(&self, at: usize, line: &str) -> bool {
        let is_structure = line.starts_with('#') || self.structure.contains(&at);
        let is_task = self.of_open.contains(&at) || self.closed.contains(&at);
        line.contains(char::is_alphanumeric)
            && !self.settings.contains(&at)
            && (is_task || !is_structure)
    }

    /// Reports whether a line is done, cancelled, blocked or a person's.
    fn is_closed(&self, at: usize, line: &str) -> bool {
        let has_mark = || box_in_line(line).is_some_and(|mark| !mark.status.runs());
        self.closed.contains(&at) || (has_mark() && !self.open.contains(&at))
    }
}

/// Returns the lines of the sections of what is not to be done, or is to be done by a person.
fn dropped(notes: &[Note], last: usize) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    let mut dropped_at: Option<u8> = None;
    for (at, note) in notes.iter().enumerate() {
        if dropped_at.is_none_or(|level| note.level <= level) {
            let kind = note.heading.as_deref().map(section::kind);
            let is_dropped = matches!(kind, Some(Kind::Dropped | Kind::Waiting));
            dropped_at = is_dropped.then_some(note.level);
        }
        if dropped_at.is_some() {
            let end = notes.get(at + 1).map_or(last + 1, |next| next.line);
            lines.extend(note.line..end);
        }
    }
    lines
}

/// Reports whether a line is a heading that neither a word nor a box makes a task.
fn may_be_chapter(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    let text = title.trim();
    title.len() < line.len()
        && heading::task(heading::after_mark(text)).is_none()
        && heading::box_of(text).is_none()
}

/// Names lines by their numbers: `line 3`, `lines 3-5, 8`.
pub(crate) fn numbered(lines: &[usize]) -> String {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == *line => *last = *last.start()..=*line,
            _ => ranges.push(*line..=*line),
        }
    }
    let mut names = Vec::new();
    for range in ranges {
        names.push(match range.start() == range.end() {
            true => range.start().to_string(),
            false => format!("{}-{}", range.start(), range.end()),
        });
    }
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}", names.join(", "))
}

/// Joins neighbouring lines that have the same role.
fn joined(roles: BTreeMap<usize, LineRole>) -> Vec<Citation> {
    let mut citations: Vec<Citation> = Vec::new();
    for (line, role) in roles {
        match citations.last_mut() {
            Some(last) if last.role == role && last.to + 1 == line => last.to = line,
            _ => citations.push(Citation {
                from: line,
                to: line,
                role,
            }),
        }
    }
    citations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnownNames;

    const DOCUMENT: &str = "# Shop\n\nWe sell books.\n\n- [ ] Add the cart\n  - with a total\n\
                            - [ ] Add the till\n\n## Example\n\n- a receipt\n";
    const PLAN: &str = "# Shop\n\n- [ ] T1 Add the cart with a total\n- [ ] T2 Add the till\n";

    fn checked(citations: &str) -> Result<Vec<String>, Vec<String>> {
        let plan = Plan::parse(PLAN, &KnownNames::default()).unwrap();
        match check(citations, DOCUMENT, &plan) {
            Ok(found) => {
                assert_eq!(taken(citations, DOCUMENT), found);
                let shown = found.iter();
                Ok(shown
                    .map(|found| format!("{}-{} {}", found.from, found.to, found.role))
                    .collect())
            }
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn each_line_of_the_document_is_accounted_for() {
        let whole = "1-3: told\n5-6: T1\n7: T2\n9-11: not run: an example\n";
        assert_eq!(
            checked(whole).unwrap(),
            [
                "1-3 told to all",
                "5-6 T1",
                "7-7 T2",
                "9-11 not run: an example"
            ]
        );
        assert_eq!(
            checked("1-4, 8-11: told\n5: T1\n6: T1, T2\n7: T2").unwrap(),
            [
                "1-4 told to all",
                "5-5 T1",
                "6-6 T1, T2",
                "7-7 T2",
                "8-11 told to all"
            ]
        );
    }

    #[test]
    fn what_is_lost_invented_or_wrong_is_refused() {
        for (citations, expected) in [
            ("1-3: told\n5-6: T1\n7: T2", "leave out lines 9, 11"),
            ("1-11: T1", "no line of the document is cited for T2"),
            (
                "1-4, 8-11: told\n5-6: T1\n7: T2\n4: T2",
                "line 4 is cited twice",
            ),
            (
                "1-6, 8-12: T1\n7: T2",
                "no lines 8-12: it has lines 1 to 11",
            ),
            ("1-6, 8-11: T1\n7: T3", "`T3` is no task of the plan"),
            ("1-6, 8-11: T1\n7: not run", "needs a reason"),
            ("1-6, 8-11: T1\nseven: T2", "`seven` is no number"),
            ("all of it", "is no citation"),
            (&"1-11: T1\n".repeat(5_000), "again and again"),
            ("0-11: told", "no lines 0-11"),
            (
                "1-6, 8-11: T1, T2\n7: told",
                "line 7 of the document: a task is cited",
            ),
        ] {
            let errors = checked(citations).unwrap_err();
            assert!(
                errors.iter().any(|error| error.contains(expected)),
                "{citations}: {errors:?}"
            );
        }
    }

    fn errors_of(document: &str, plan: &str, citations: &str) -> Vec<String> {
        let plan = Plan::parse(plan, &KnownNames::default()).unwrap();
        match check(citations, document, &plan) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn work_is_neither_lost_nor_done_again() {
        let boxes = "# Shop\n\n- [ ] Add the cart\n- [x] Add the till\n";
        let mixed = "## Task 1: Cart\n\nMake it.\n\n## Others\n\n- [ ] Make the till\n";
        let phases = "# Shop\n\n## Phase 1: Background\n\nWe sell books.\n\n\
                      ## Phase 2: Cart\n\nAdd a cart.\n";
        let cart = "- [ ] T1 Add the cart\n";
        for (document, plan, citations, expected) in [
            (boxes, cart, "1, 4: told\n3: T1", ""),
            (
                boxes,
                "- [x] T1 Add the cart\n- [ ] T2 Add a form\n",
                "1: T2\n3: T1\n4: told",
                "line 3 of the document: a task is cited by an open task",
            ),
            (
                boxes,
                "- [ ] T1 Add the cart\n- [ ] T2 Add the till\n",
                "1: told\n3: T1\n4: T2",
                "T2 is done already or is not to be done by an agent, as line 4",
            ),
            (
                boxes,
                "- [ ] T1 Add the cart\n- [ ] T2 Add a form\n",
                "1: told\n3: T1\n4: told\n2: T2",
                "no line of the document is cited for T2",
            ),
            (
                mixed,
                cart,
                "1, 3, 5: T1\n7: told",
                "line 7 of the document",
            ),
            (
                mixed,
                cart,
                "1, 5: told\n3, 7: T1",
                "line 1 of the document",
            ),
            (mixed, cart, "1, 3: T1\n5, 7: not run: later", ""),
            (phases, cart, "1, 3, 5, 7: told\n9: T1", ""),
            (
                "# Shop\n\n---\n\nAdd a cart.\n",
                cart,
                "1, 5: told\n3: T1",
                "is cited for T1",
            ),
        ] {
            let errors = errors_of(document, plan, citations);
            let is_as_expected = match expected.is_empty() {
                true => errors.is_empty(),
                false => errors.iter().any(|error| error.contains(expected)),
            };
            assert!(is_as_expected, "{citations} of {document}: {errors:?}");
        }
    }

    #[test]
    fn lines_are_counted_as_the_document_is_read() {
        let document = "# Shop\r\r- [ ] Add the cart\r\n- [x] Add the till\n";
        let plan = "- [ ] T1 Add the cart\n";
        assert_eq!(errors_of(document, plan, "1, 4: told\n3: T1"), [""; 0]);
    }

    #[test]
    fn a_line_may_be_the_source_of_many_tasks() {
        let mut plan = String::new();
        let mut citations = String::new();
        for number in 1..=9 {
            plan.push_str(&format!("- [ ] T{number} Add part {number}\n"));
            citations.push_str(&format!("1: T{number}\n"));
        }
        let parts =
            "Add part 1, part 2, part 3, part 4, part 5, part 6, part 7, part 8 and part 9.\n";
        assert_eq!(errors_of(parts, &plan, &citations), [""; 0]);
        let errors = errors_of("Add nine parts.\n", &plan, &citations);
        assert!(
            errors.concat().contains("T9 has no line of its own"),
            "{errors:?}"
        );
    }

    #[test]
    fn an_invented_task_is_refused() {
        let tasks = "- [ ] T1 Add the cart\n- [ ] T2 Rewrite everything\n";
        let boxes = "# Shop\n\n## Cart\n\n- [ ] Add the cart\n- a note\n";
        let own = "T2 has no line of its own";
        for (citations, expected) in [
            (
                "1: T2\n3, 6: told\n5: T1",
                "no line of the document is cited for T2",
            ),
            (
                "1, 6: told\n3: T2\n5: T1",
                "no line of the document is cited for T2",
            ),
            ("1, 3, 6: told\n5: T1, T2", own),
            ("1: T2\n3: told\n5-6: T1, T2", own),
        ] {
            let errors = errors_of(boxes, tasks, citations);
            assert!(
                errors.concat().contains(expected),
                "{citations}: {errors:?}"
            );
        }
    }

    #[test]
    fn an_invented_command_is_refused() {
        let document = "---\nverify: make all\n---\n# Shop\n\n- [ ] Add the cart (run: make\n  cart)\n\n\
                        Check with `make test`.\n\nNever `make clean`.\n";
        let cited = "1-3: told\n4: told\n6-7: T1\n9: told\n11: not run: never";
        for (task, is_named) in [
            ("(run: make cart)", true),
            ("(verify: make test)", true),
            ("(verify: make all)", true),
            ("(run: make carts)", false),
            ("(run: make car)", false),
            ("(run: touch x)", false),
            ("(verify: make clean)", false),
        ] {
            let plan = format!("- [ ] T1 Add the cart {task}\n");
            let errors = errors_of(document, &plan, cited);
            assert_eq!(errors.is_empty(), is_named, "{task}: {errors:?}");
        }
        let plan = "---\nverify: rm -rf x\n---\n- [ ] T1 Add the cart\n";
        let errors = errors_of(document, plan, cited);
        assert!(
            errors.concat().contains("`rm -rf x` of the plan"),
            "{errors:?}"
        );
    }

    #[test]
    fn what_the_document_does_not_want_done_is_no_open_task() {
        let open = "- [ ] T1 Add the cart\n- [ ] T2 Add the till\n";
        let second = "1: told\n3: T1\n4: T2";
        for line in [
            "- [-] Add the till",
            "- [!] Add the till",
            "- [ ] [HUMAN] Pay for the till",
        ] {
            let document = format!("# Shop\n\n- [ ] Add the cart\n{line}\n");
            let errors = errors_of(&document, open, second);
            assert!(
                errors.concat().contains("T2 is done already or"),
                "{line}: {errors:?}"
            );
            let kept = "- [ ] T1 Add the cart\n- [!] T2 Add the till\n";
            assert_eq!(errors_of(&document, kept, second), [""; 0]);
            let hidden = "- [ ] T1 Add the cart and the till\n";
            let errors = errors_of(&document, hidden, "1: told\n3-4: T1");
            assert!(
                errors.concat().contains("T1 is done already or"),
                "{line}: {errors:?}"
            );
        }
        let headings = "# Shop\n\n### Task 1: Cart (done)\n\nText.\n\n### Task 2: Till\n\n\
                        **Status:** Deferred\n\n### Task 3: Search\n\nFind books.\n\n\
                        ## Won't do\n\n- Gift cards\n";
        let search = "- [ ] T3 Search\n- [ ] T1 More\n";
        for (lines, told) in [("3-5", "7-9, 17"), ("7-9", "3-5, 17"), ("17", "3-9")] {
            let cited = format!("1, 15, {told}: told\n11-13: T3\n{lines}: T1");
            let errors = errors_of(headings, search, &cited);
            assert!(
                errors.concat().contains("T1 is done already or"),
                "{lines}: {errors:?}"
            );
        }
        // A part that is done may be cited with the task that it is a part of.
        let part = "# Shop\n\n- [ ] Add the cart\n  - [x] with a total\n  - [ ] with taxes\n";
        assert_eq!(
            errors_of(part, "- [ ] T1 Add the cart\n", "1: told\n3-5: T1"),
            [""; 0]
        );
    }

    #[test]
    fn words_that_begin_like_a_role_are_none() {
        let errors = errors_of("Add a cart.\n", "- [ ] T1 Add it\n", "1: not runnable");
        assert!(
            errors.concat().contains("`not runnable` is no task"),
            "{errors:?}"
        );
    }
}
