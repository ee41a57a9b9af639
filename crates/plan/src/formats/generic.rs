//! Documents of no known format: read in one of a few ways, if only one of them fits, and asked
//! about otherwise.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::Findings;
use crate::formats::below;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::format::{Decision, ListItem, Node, Scope};
use crate::formats::walk::{self, Decide};
use crate::tasks::checkbox::odd_box;
use crate::tasks::heading;
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;
use orchestrate_core::text::parts::Parts;

/// How a document of no known format is to be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Only one way fits.
    Certain(ReadAs),
    /// Several do, for this reason.
    Ambiguous(&'static str, Vec<ReadAs>),
}

/// Reads a document in one way.
pub(crate) fn read(
    document: &Document<'_, '_>,
    way: ReadAs,
    known: &KnownNames,
    findings: &mut Findings,
) -> Collected {
    let mut generic = Generic::new(document, way);
    if way == ReadAs::Headings && generic.tasks.is_empty() {
        // Who asks for headings means the sections of a series, whatever stands in them.
        let chosen = sections(document, true);
        generic.tasks = chosen.iter().map(|heading| heading.at).collect();
    }
    let mut own = Findings::default();
    let mut found = walk::read(document, &generic, known, &mut own);
    let has_checks = generic.in_checks.get() > 0;
    if has_checks && (found.drafts.is_empty() || has_phase_of_checks(document)) {
        generic.takes_checks = true;
        own = Findings::default();
        found = walk::read(document, &generic, known, &mut own);
    }
    findings.append(own);
    found
}

/// Reports whether headings of a document are tasks, or may be.
pub(crate) fn has_headings(document: &Document<'_, '_>) -> bool {
    !Generic::new(document, ReadAs::Headings).tasks.is_empty()
}

/// Returns the ways in which a document can be read at all.
pub(crate) fn ways(document: &Document<'_, '_>, known: &KnownNames) -> Vec<ReadAs> {
    match Seen::new(document, known).ambiguous("") {
        Verdict::Ambiguous(_, ways) => ways,
        Verdict::Certain(way) => vec![way],
    }
}

/// Finds out in which ways a document can be read.
pub(crate) fn judge(document: &Document<'_, '_>, known: &KnownNames) -> Verdict {
    let seen = Seen::new(document, known);
    if document.unclosed.is_some_and(|at| hides_work(document, at)) {
        return seen.ambiguous("a fence that never closes hides tasks");
    }
    if seen.headings > 0 {
        return judge_headings(document, &seen);
    }
    if !document.boxes.is_empty() {
        return judge_boxes(&seen);
    }
    if seen.sections > 0 {
        return seen.ambiguous("headings in a series may be tasks or chapters");
    }
    if seen.tables > 0 {
        return seen.ambiguous("the rows of a table may be tasks or facts");
    }
    match seen.items {
        0 => Verdict::Certain(ReadAs::Whole),
        _ => Verdict::Certain(ReadAs::Items),
    }
}

fn judge_headings(document: &Document<'_, '_>, seen: &Seen) -> Verdict {
    if seen.boxes_outside > 0 {
        return seen.ambiguous("headings and boxes outside of them look like tasks");
    }
    if seen.tables > 0 && !tables_retell(document) {
        return seen.ambiguous("headings and rows of a table look like tasks");
    }
    if seen.is_partly_fielded {
        return seen.ambiguous("only some of these headings have fields");
    }
    Verdict::Certain(ReadAs::Headings)
}

fn judge_boxes(seen: &Seen) -> Verdict {
    if seen.boxes == 0 && seen.boxes_in_checks > 0 {
        return seen.ambiguous("all boxes stand below headings of checks");
    }
    if seen.has_phase_of_checks {
        return seen.ambiguous("all boxes of a phase stand below headings of checks");
    }
    if seen.sections > 0 {
        return seen.ambiguous("boxes and headings in a series look like tasks");
    }
    if seen.tables > 0 {
        return seen.ambiguous("boxes and rows of a table look like tasks");
    }
    Verdict::Certain(ReadAs::Boxes)
}

/// Reports whether a phase has boxes of checks, but none that are work.
fn has_phase_of_checks(document: &Document<'_, '_>) -> bool {
    let mut has_checks = vec![false; document.headings.len()];
    let mut has_work = has_checks.clone();
    for boxed in &document.boxes {
        let own = match document.is_below(boxed, |heading| !is_work(heading)) {
            false => &mut has_work,
            true if document.is_below(boxed, |heading| heading.kind == Kind::Checks) => {
                &mut has_checks
            }
            true => continue,
        };
        let mut next = boxed.heading;
        while let Some(at) = next {
            if let Some(slot) = own.get_mut(at) {
                *slot = true;
            }
            next = document.headings.get(at).and_then(|heading| heading.parent);
        }
    }
    let headings = document
        .headings
        .iter()
        .zip(has_checks.iter().zip(&has_work));
    let mut phases = headings.filter(|(heading, _)| heading.is_phase() && is_work(heading));
    phases.any(|(_, (has_checks, has_work))| *has_checks && !has_work)
}

/// Reports whether what a fence that never closes hides looks like work.
fn hides_work(document: &Document<'_, '_>, at: usize) -> bool {
    let source = document.source;
    let mut hidden = source.lines(at..source.text.len());
    hidden.any(|(_, line)| walk::looks_like_work(line))
}

/// Reports whether the tables of a plan only sum up its headings: each row has the id of one.
fn tables_retell(document: &Document<'_, '_>) -> bool {
    let ids: Vec<String> = document
        .headings
        .iter()
        .filter_map(|heading| heading.task().map(|task| task.number.to_owned()))
        .collect();
    document.table_rows().all(|row| {
        let own = row.id.as_ref().unwrap_or(&row.title);
        let text = document.source.slice(own.clone());
        let number = heading::task(text).map_or(text, |task| task.number);
        ids.iter()
            .any(|id| id.trim_start_matches('0') == number.trim_start_matches('0'))
    })
}

/// What a document has that may be tasks.
#[derive(Debug, Default)]
struct Seen {
    /// Headings of tasks.
    headings: usize,
    /// Whether some headings have fields and others beside them have none.
    is_partly_fielded: bool,
    /// Boxes that are tasks if none of these headings is one.
    boxes: usize,
    /// Boxes below headings of checks.
    boxes_in_checks: usize,
    has_phase_of_checks: bool,
    /// Boxes outside the headings of tasks and of checks.
    boxes_outside: usize,
    /// Rows of tables of tasks.
    tables: usize,
    /// Items of lists that are tasks.
    items: usize,
    /// Numbered headings, and phases without tasks.
    sections: usize,
}

impl Seen {
    /// Returns the verdict that several ways fit, with those that find something.
    fn ambiguous(&self, why: &'static str) -> Verdict {
        let found = [
            (ReadAs::Headings, self.headings + self.sections),
            (ReadAs::Boxes, self.boxes + self.boxes_in_checks),
            (ReadAs::Table, self.tables),
            (ReadAs::Items, self.items),
            (ReadAs::Whole, 1),
        ];
        let ways = found.into_iter().filter(|(_, count)| *count > 0);
        Verdict::Ambiguous(why, ways.map(|(way, _)| way).collect())
    }

    fn new(document: &Document<'_, '_>, known: &KnownNames) -> Self {
        let count = |way| {
            let generic = Generic::new(document, way);
            let found = walk::read(document, &generic, known, &mut Findings::default());
            (found, generic)
        };
        let mut seen = Self::default();
        let headings = Generic::new(document, ReadAs::Headings);
        if headings.are_sections {
            seen.sections = headings.tasks.len();
        } else {
            let (found, generic) = count(ReadAs::Headings);
            seen.headings = found.drafts.len();
            seen.boxes_outside = generic.outside.get();
            seen.is_partly_fielded = headings.is_partly_fielded;
        }
        if !document.boxes.is_empty() {
            let (found, generic) = count(ReadAs::Boxes);
            seen.boxes = found.drafts.len();
            seen.boxes_in_checks = generic.in_checks.get();
            seen.has_phase_of_checks = has_phase_of_checks(document);
        }
        if document.has_task_table() {
            seen.tables = count(ReadAs::Table).0.drafts.len();
        }
        if seen.headings == 0 && seen.boxes == 0 && seen.tables == 0 {
            seen.items = count(ReadAs::Items).0.drafts.len();
        }
        seen
    }
}

/// The decisions of one way to read a document.
struct Generic {
    way: ReadAs,
    /// The blocks that are headings of tasks.
    tasks: Vec<usize>,
    /// Whether these are only sections with numbers, or phases.
    are_sections: bool,
    is_partly_fielded: bool,
    /// Whether boxes below headings of checks are tasks, since there are no others.
    takes_checks: bool,
    /// The blocks that are headings which tell of tasks again.
    retold: Vec<usize>,
    /// How many boxes stood outside the headings of tasks and of checks.
    outside: Cell<usize>,
    /// How many boxes stood below headings of checks.
    in_checks: Cell<usize>,
}

impl Generic {
    fn new(document: &Document<'_, '_>, way: ReadAs) -> Self {
        let mut new = Self {
            way,
            tasks: Vec::new(),
            are_sections: false,
            is_partly_fielded: false,
            takes_checks: false,
            retold: Vec::new(),
            outside: Cell::new(0),
            in_checks: Cell::new(0),
        };
        if way == ReadAs::Headings {
            new.find_headings(document);
        }
        new
    }

    /// Finds the headings of tasks: those with a word and a number, a box, or fields; without any
    /// of these, numbered ones, else phases.
    fn find_headings(&mut self, document: &Document<'_, '_>) {
        let all = || {
            let is_named = |it: &&Heading| is_work(it) || it.task().is_some();
            document.headings.iter().filter(is_named)
        };
        let is_step = |it: &&Heading| heading::is_step(&it.title);
        let mut found: Vec<&Heading> = all()
            .filter(|it| is_named(document, it) && !is_step(it))
            .collect();
        if found.is_empty() {
            found = all().filter(is_step).collect();
        }
        let fielded: Vec<&Heading> = all()
            .filter(|it| it.level > 1 && below::has_task_fields(document, it))
            .collect();
        if found.is_empty() {
            let siblings = |it: &Heading| {
                let is_beside = |own: &&Heading| own.parent == it.parent && own.level == it.level;
                fielded.iter().copied().any(|own| is_beside(&own))
            };
            let beside = all().filter(|it| siblings(it)).count();
            self.is_partly_fielded = !fielded.is_empty() && beside > fielded.len();
            found = match self.is_partly_fielded {
                true => all().filter(|it| siblings(it)).collect(),
                false => fielded,
            };
        } else {
            let level = found.iter().map(|it| it.level).min().unwrap_or(1);
            found.extend(fielded.into_iter().filter(|it| it.level >= level));
        }
        if found.is_empty() {
            self.are_sections = true;
            found = sections(document, false);
        }
        self.retold = retold(&mut found);
        // What another one is below is a part of it; a heading that groups others is none itself.
        let groups: Vec<usize> = found
            .iter()
            .filter(|it| found.iter().any(|own| is_task_within(own, it)))
            .map(|it| it.at)
            .collect();
        self.tasks = found
            .iter()
            .map(|it| it.at)
            .filter(|at| !groups.contains(at))
            .collect();
        self.tasks.sort_unstable();
        self.tasks.dedup();
    }

    fn heading(&self, heading: &Heading, scope: &Scope<'_>) -> Decision {
        match self.way {
            ReadAs::Headings if self.tasks.binary_search(&heading.at).is_ok() => {
                match scope.excluded() {
                    Some(open) => Decision::not_run(open.reason()),
                    None => Decision::Task,
                }
            }
            ReadAs::Headings if self.retold.contains(&heading.at) => Decision::Told,
            _ => Decision::Within,
        }
    }

    fn item(&self, item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
        if item.mark.is_none() && item.is_above_boxes {
            return Decision::Within;
        }
        match (self.way, item.mark) {
            (ReadAs::Boxes, Some(_)) => match scope.excluded() {
                Some(open) if open.kind != Kind::Checks || !self.takes_checks => {
                    let is_check = usize::from(open.kind == Kind::Checks);
                    self.in_checks.set(self.in_checks.get() + is_check);
                    Decision::not_run(open.reason())
                }
                _ => Decision::Nested,
            },
            (ReadAs::Boxes, None) if item.is_beside_boxes && odd_box(item.text).is_none() => {
                Decision::not_run("no checkbox, unlike its neighbours")
            }
            (ReadAs::Items, _) => self.list_item(item, scope),
            (_, Some(_)) => match scope.excluded() {
                Some(open) => Decision::not_run(open.reason()),
                None => {
                    self.outside.set(self.outside.get() + 1);
                    Decision::not_run(format!("a box; {}", self.way.tasks()))
                }
            },
            _ if lists_work(item, scope) && scope.excluded().is_none() => {
                Decision::not_run(format!("no checkbox; {}", self.way.tasks()))
            }
            _ => Decision::Told,
        }
    }

    fn list_item(&self, item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
        if let Some(open) = scope.excluded() {
            return match item.mark {
                Some(_) => Decision::not_run(open.reason()),
                None => Decision::Told,
            };
        }
        let has_mark = status::leading_mark(item.text).is_some();
        match item.mark.is_some() || lists_work(item, scope) || has_mark {
            true if !item.text.trim().is_empty() => Decision::Nested,
            _ => Decision::Told,
        }
    }
}

impl Decide for Generic {
    fn decide(&self, node: &Node<'_>, scope: &Scope<'_>) -> Decision {
        match node {
            Node::Item(item) if self.way == ReadAs::Whole => match scope.excluded() {
                Some(open) if item.mark.is_some() => Decision::not_run(open.reason()),
                _ => Decision::Told,
            },
            Node::Table if self.way == ReadAs::Whole => Decision::Told,
            Node::Heading(heading) => self.heading(heading, scope),
            Node::Item(item) => self.item(item, scope),
            Node::Table => match (self.way, scope.excluded()) {
                (_, Some(open)) => Decision::not_run(open.reason()),
                (ReadAs::Table, None) => Decision::Task,
                (ReadAs::Headings, None) if tables_retell(scope.document) => Decision::Told,
                _ => Decision::not_run(format!("a row of a table; {}", self.way.tasks())),
            },
        }
    }
}

/// Reports whether an item without a box is work by the heading above it, below which no box
/// stands: a numbered one of a plan, or any one of a phase or a list of tasks.
fn lists_work(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let Some(open) = scope.section().filter(|open| !open.holds_boxes) else {
        return false;
    };
    section::lists_bullets(&open.title)
        || phase::of_heading(&open.title).is_some()
        || (item.number.is_some() && section::lists_work(&open.title))
}

fn is_work(heading: &Heading) -> bool {
    matches!(heading.kind, Kind::Work | Kind::Optional)
}

/// Reports whether a heading is a task by itself: by a word and a number, or by a box that does not
/// sum up what is below it.
fn is_named(document: &Document<'_, '_>, heading: &Heading) -> bool {
    if heading.task().is_some() {
        return true;
    }
    let sums_up = || {
        let ends_with_box = heading::box_at_end(&heading.title).is_some();
        ends_with_box && below::holds_boxes(document, heading)
    };
    heading::box_of(&heading.title).is_some() && !heading.is_phase() && !sums_up()
}

/// Takes those headings out of the tasks that only tell of an earlier one again, with its number
/// and its words, and returns their blocks.
fn retold(found: &mut Vec<&Heading>) -> Vec<usize> {
    let mut told: HashMap<String, &Heading> = HashMap::new();
    let mut again = Vec::new();
    found.sort_by_key(|it| it.at);
    for heading in found.iter().copied() {
        let Some(task) = heading.task() else { continue };
        match told.entry(task.id()) {
            Entry::Vacant(free) => drop(free.insert(heading)),
            Entry::Occupied(first) if first.get().parent != heading.parent => {
                let names = [heading, first.get()].map(words_of);
                let [own, other] = &names;
                if !own.is_empty() && own.iter().all(|word| other.contains(word)) {
                    again.push(heading.at);
                }
            }
            Entry::Occupied(_) => {}
        }
    }
    found.retain(|it| !again.contains(&it.at));
    again
}

/// Returns the words of the title of a task, without a remark in parentheses, in lower case.
fn words_of(heading: &Heading) -> Vec<String> {
    let text = heading::after_mark(&heading.title);
    let title = heading.task().map_or(text, |task| text.tail(task.rest));
    let title = title.split('(').next().unwrap_or(title);
    section::each_word(title).map(str::to_lowercase).collect()
}

/// How many series are looked at for a heading: one for each level.
const MAX_OPEN_SERIES: usize = 6;

/// Reports whether a heading stands in the section of another one, and is more than a step of it.
fn is_task_within(own: &Heading, outer: &Heading) -> bool {
    own.at > outer.at && own.at < outer.end && !heading::is_step(&own.title)
}

/// Returns the headings that may be tasks or chapters, though no word says so: those of a series
/// (`Phase 1`, `2. Client`, in any language) beside each other. If they are not chosen as the
/// tasks, none of them may hold a box or a table of tasks.
fn sections<'d>(document: &'d Document<'_, '_>, is_chosen: bool) -> Vec<&'d Heading> {
    let mut series: Vec<Vec<&Heading>> = Vec::new();
    for heading in document.headings.iter().filter(|it| is_work(it)) {
        let Some(word) = heading.series() else {
            continue;
        };
        let is_own = |other: &&mut Vec<&Heading>| {
            let first = other.first();
            first.is_some_and(|it| {
                it.parent == heading.parent
                    && it.level == heading.level
                    && it.series() == Some(word)
            })
        };
        // A chapter ends a series of the one before it.
        match series.iter_mut().rev().take(MAX_OPEN_SERIES).find(is_own) {
            Some(own) => own.push(heading),
            None => series.push(vec![heading]),
        }
    }
    series.retain(|own| {
        let is_named = own
            .first()
            .is_some_and(|it| is_series_of_work(document, it));
        own.len() > 1 && is_named && (is_chosen || !own.iter().any(|it| document.holds_work(it)))
    });
    series.into_iter().flatten().collect()
}

/// Reports whether a series that begins with this heading may be tasks: it has a word, or a heading
/// above it speaks of work.
fn is_series_of_work(document: &Document<'_, '_>, first: &Heading) -> bool {
    let has_word = first.series().is_some_and(|word| !word.is_empty());
    let parent = first.parent.and_then(|at| document.headings.get(at));
    has_word || parent.is_some_and(|parent| section::lists_work(&parent.title))
}
