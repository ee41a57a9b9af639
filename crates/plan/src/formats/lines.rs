//! What becomes of each line of a plan. Each that is not blank has one role, so that nothing is
//! dropped silently.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::lines::source::Source;
use orchestrate_core::ids::TaskId;

/// Lines of a plan that become the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LineUse {
    /// The first line, from 1.
    pub from: usize,
    /// The last line. Blank lines between those of one role are counted with them.
    pub to: usize,
    /// What they are.
    pub role: LineKind,
    /// The task that they are, or are a part of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<TaskId>,
    /// Why they are not run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// What a line of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// It begins a task.
    Task,
    /// It is a part of a task.
    Part,
    /// It is told to all tasks, or to those of its section.
    Told,
    /// It is not run.
    NotRun,
    /// It is a setting in the front matter.
    Settings,
    /// A title, a rule, the head of a table.
    Structure,
}

/// The role of a line, by the indices of tasks and of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Task(usize),
    Part(usize),
    Told,
    NotRun(usize),
    Settings,
    Structure,
}

/// The roles of the lines of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    roles: Vec<Option<Role>>,
    reasons: Vec<String>,
    /// The tasks that no run may start, each with the index of its reason.
    withheld: BTreeMap<usize, usize>,
}

impl Lines {
    /// Creates the account of a document of which nothing is known.
    pub(crate) fn new(source: &Source<'_>) -> Self {
        Self {
            roles: vec![None; source.line_starts().count()],
            reasons: Vec::new(),
            withheld: BTreeMap::new(),
        }
    }

    /// Says of a task that no run may start it, for a reason.
    pub(crate) fn withhold(&mut self, task: usize, reason: &str) {
        self.withheld.insert(task, self.reasons.len());
        self.reasons.push(reason.to_owned());
    }

    /// Says what the lines of a range are, but for those that begin a task.
    pub(crate) fn set(&mut self, source: &Source<'_>, range: Range<usize>, role: Role) {
        let slots = self.slots(source, range).iter_mut();
        for slot in slots.filter(|slot| !matches!(slot, Some(Role::Task(_)))) {
            *slot = Some(role);
        }
    }

    /// Says that a task begins with the first line of a range, and that the others are parts of it.
    pub(crate) fn begin(&mut self, source: &Source<'_>, range: Range<usize>, task: usize) {
        let slots = self.slots(source, range).iter_mut();
        let mut role = Role::Task(task);
        for slot in slots {
            if !matches!(slot, Some(Role::Task(_))) {
                *slot = Some(role);
            }
            role = Role::Part(task);
        }
    }

    fn slots(&mut self, source: &Source<'_>, range: Range<usize>) -> &mut [Option<Role>] {
        let first = source.line_of(range.start);
        let last = source.line_of(range.end.saturating_sub(1).max(range.start));
        self.roles.get_mut(first - 1..last).unwrap_or_default()
    }

    /// Says that the lines of a range are not run, for a reason.
    pub(crate) fn not_run(&mut self, source: &Source<'_>, range: Range<usize>, reason: &str) {
        if self.reasons.last().is_none_or(|last| last != reason) {
            self.reasons.push(reason.to_owned());
        }
        self.set(source, range, Role::NotRun(self.reasons.len() - 1));
    }

    /// Says that a line is not run, for a reason, unless it is more than told.
    pub(crate) fn refuse(&mut self, source: &Source<'_>, at: usize, reason: &str) -> bool {
        self.refuse_a(Role::Told, source, at, reason)
    }

    /// Says that the line at an offset is not run after all, if it had this role; returns whether
    /// it had.
    pub(crate) fn refuse_a(
        &mut self,
        role: Role,
        source: &Source<'_>,
        at: usize,
        reason: &str,
    ) -> bool {
        let is_refused = self.roles.get(source.line_of(at) - 1) == Some(&Some(role));
        if is_refused {
            self.not_run(source, at..at, reason);
        }
        is_refused
    }

    /// Says what all lines are of which nothing was said.
    pub(crate) fn fill(&mut self, role: Role) {
        for slot in &mut self.roles {
            slot.get_or_insert(role);
        }
    }

    /// Says of the lines of Markdown that are in no block that they are structure: rules, the
    /// underlines of headings, and definitions of links.
    pub(crate) fn fill_between_blocks(&mut self, source: &Source<'_>) {
        let mut is_definition = false;
        let lines = source.lines(0..source.text.len());
        for (slot, (offset, line)) in self.roles.iter_mut().zip(lines) {
            let text = text_of(offset, line);
            let is_left = slot.is_none() && !text.is_empty();
            // A definition may go on in the next line.
            is_definition = is_left && (is_definition || text.starts_with('['));
            let is_known = !is_left || is_definition || is_rule(text);
            debug_assert!(is_known, "BUG: nothing was said of a line: {line}");
            slot.get_or_insert(Role::Structure);
        }
    }

    /// Returns the roles in the order of the document, given the ids of its tasks.
    pub(crate) fn uses(&self, source: &Source<'_>, ids: &[TaskId]) -> Vec<LineUse> {
        let mut uses: Vec<LineUse> = Vec::new();
        let mut last = None;
        let lines = source.lines(0..source.text.len());
        for (number, (role, (offset, line))) in (1..).zip(self.roles.iter().zip(lines)) {
            let Some(role) = role.filter(|_| !text_of(offset, line).is_empty()) else {
                continue;
            };
            match uses.last_mut().filter(|_| last == Some(role)) {
                Some(own) => own.to = number,
                None => uses.push(self.entry(number, role, ids)),
            }
            last = Some(role);
        }
        uses
    }

    fn entry(&self, line: usize, role: Role, ids: &[TaskId]) -> LineUse {
        let (kind, task, reason) = match role {
            Role::Task(at) => (LineKind::Task, Some(at), None),
            Role::Part(at) => (LineKind::Part, Some(at), None),
            Role::Told => (LineKind::Told, None, None),
            Role::NotRun(at) => (LineKind::NotRun, None, Some(at)),
            Role::Settings => (LineKind::Settings, None, None),
            Role::Structure => (LineKind::Structure, None, None),
        };
        let withheld = task.and_then(|at| self.withheld.get(&at)).copied();
        LineUse {
            from: line,
            to: line,
            role: withheld.map_or(kind, |_| LineKind::NotRun),
            task: task.and_then(|at| ids.get(at).cloned()),
            reason: reason
                .or(withheld)
                .and_then(|at| self.reasons.get(at).cloned()),
        }
    }
}

/// Returns the text of the line at an offset, without the byte order mark of the document.
fn text_of(offset: usize, line: &str) -> &str {
    let text = match offset {
        0 => line.trim_start_matches('\u{feff}'),
        _ => line,
    };
    text.trim_ascii()
}

/// Reports whether a text is a rule or the underline of a heading.
fn is_rule(text: &str) -> bool {
    let mark = text.chars().next().filter(|mark| "-*_=".contains(*mark));
    mark.is_some()
        && text
            .chars()
            .all(|c| Some(c) == mark || c.is_ascii_whitespace())
}
