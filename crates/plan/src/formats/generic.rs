//! What a document of no known format is, read in one of a few ways.

use std::collections::BTreeSet;

use crate::fields::identify;
use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::format::{Decision, ListItem, NO_BOX, Node, Scope};
use crate::formats::numbered_lists;
use crate::formats::task_headings::{self, TaskHeadings};
use crate::formats::walk::{self, Decide};
use crate::tasks::checkbox::{NEARLY, odd_box};
use crate::tasks::heading;
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;
use crate::tasks::table::Table;

/// The decisions of one way to read a document.
pub(crate) struct Generic {
    way: ReadAs,
    /// The headings that are tasks, if the way is to read these.
    headings: TaskHeadings,
    /// Whether tables only sum up other tasks.
    are_tables_retold: bool,
    /// Whether boxes below headings of checks are tasks, since there are no others.
    takes_checks: bool,
    /// The places of the numbered items that are tasks, if no heading says which are.
    items: Option<BTreeSet<usize>>,
}

/// What a way finds in a document, before boxes of checks or sections stand in for tasks that it
/// does not find.
pub(crate) struct FirstRead {
    pub(crate) way: ReadAs,
    pub(crate) found: Collected,
    generic: Generic,
    findings: Findings,
}

impl FirstRead {
    /// Reads a document in one way.
    pub(crate) fn new(document: &Document<'_, '_>, way: ReadAs, known: &KnownNames) -> Self {
        let headings = match way {
            ReadAs::Headings => TaskHeadings::find(document),
            _ => TaskHeadings::default(),
        };
        Self::with_headings(document, way, headings, known)
    }

    /// Reads a document in one way, with these headings as its tasks.
    pub(crate) fn with_headings(
        document: &Document<'_, '_>,
        way: ReadAs,
        headings: TaskHeadings,
        known: &KnownNames,
    ) -> Self {
        let generic = Generic::new(document, way, headings);
        let mut findings = Findings::default();
        let found = walk::read(document, &generic, known, &mut findings);
        Self {
            way,
            found,
            generic,
            findings,
        }
    }

    /// Returns how many lines that are not run are nearly boxes.
    pub(crate) fn nearly_boxes(&self) -> usize {
        let skipped = self.findings.skipped.iter();
        skipped.filter(|it| it.reason.starts_with(NEARLY)).count()
    }

    /// Returns what the way finds in the end.
    pub(crate) fn finish(
        self,
        document: &Document<'_, '_>,
        known: &KnownNames,
        findings: &mut Findings,
    ) -> Collected {
        let mut generic = self.generic;
        let has_no_headings = self.way == ReadAs::Headings && generic.headings.tasks.is_empty();
        let has_checks = self.way == ReadAs::Boxes && self.found.boxes_in_checks > 0;
        if has_no_headings {
            generic.headings.tasks = task_headings::chosen(document);
        } else if has_checks && (self.found.drafts.is_empty() || has_phase_of_checks(document)) {
            generic.takes_checks = true;
        } else {
            findings.append(self.findings);
            return self.found;
        }
        walk::read(document, &generic, known, findings)
    }
}

/// Reports whether a phase has boxes of checks, but none that are work.
pub(crate) fn has_phase_of_checks(document: &Document<'_, '_>) -> bool {
    let mut phases = document
        .headings
        .iter()
        .filter(|heading| heading.is_phase && heading.is_work());
    phases.any(|phase| {
        let boxes = document.boxes_below(phase);
        let mut checks = boxes.iter();
        checks.any(|own| document.is_check(own))
            && boxes
                .iter()
                .all(|own| document.is_below(own, |it| !it.is_work()))
    })
}

/// Reports whether the tables of a plan only sum up its tasks: each row has the number of a
/// heading, or the id or the text of a box.
pub(crate) fn tables_retell(document: &Document<'_, '_>) -> bool {
    // Most plans have no table.
    let mut rows = document
        .tables()
        .flat_map(|(_, table)| table.rows)
        .peekable();
    if rows.peek().is_none() {
        return true;
    }
    let mut names = BTreeSet::new();
    for task in document.headings.iter().filter_map(Heading::task) {
        names.insert(plain(task.number));
    }
    for boxed in &document.boxes {
        let text = document.text(boxed);
        let Some(found) = identify::of_item(text) else {
            names.insert(plain(text));
            continue;
        };
        names.insert(plain(found.id));
        names.extend(text.get(found.rest..).map(plain));
    }
    rows.all(|row| {
        let mut cells = row.id.into_iter().chain([row.title]);
        cells.any(|cell| {
            let text = document.source.slice(cell);
            let number = heading::task(text).map_or(text, |task| task.number);
            names.contains(&plain(number)) || names.contains(&plain(text))
        })
    })
}

/// Returns a number or a text without marks, and without zeros before a number, in lower case.
fn plain(text: &str) -> String {
    text.trim_matches(['*', '_', '`', ' '])
        .trim_start_matches('0')
        .to_lowercase()
}

impl Generic {
    fn new(document: &Document<'_, '_>, way: ReadAs, headings: TaskHeadings) -> Self {
        Self {
            way,
            headings,
            are_tables_retold: tables_retell(document),
            takes_checks: false,
            items: match way {
                ReadAs::Items => numbered_lists::items_alike(document),
                _ => None,
            },
        }
    }

    fn heading(&self, heading: &Heading, scope: &Scope<'_>) -> Decision {
        match self.way {
            ReadAs::Headings if self.headings.tasks.binary_search(&heading.at).is_ok() => {
                // A word and a number say that it is work, below a heading of checks as well.
                match heading.task() {
                    Some(_) => scope.unless_put_off(Decision::Task),
                    None => scope.unless_excluded(Decision::Task),
                }
            }
            ReadAs::Headings if self.headings.retold.contains(&heading.at) => Decision::Told,
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
                    Decision::not_run(open.reason())
                }
                _ => Decision::Nested,
            },
            (ReadAs::Boxes, None) if item.is_beside_boxes && odd_box(item.text).is_none() => {
                // A numbered item without parts is its own part.
                let is_place = item.number.is_some() || phase::begins(item.text);
                match item.is_among_parents && is_place {
                    true => scope.unless_excluded(Decision::Task),
                    false => Decision::not_run(NO_BOX),
                }
            }
            (ReadAs::Items, _) => self.list_item(item, scope),
            (_, Some(_)) => match scope.excluded() {
                Some(open) => Decision::not_run(open.reason()),
                None => Decision::not_run(format!("a box; {}", self.way.tasks())),
            },
            _ if lists_work(item, scope) && scope.excluded().is_none() => {
                Decision::not_run(format!("no checkbox; {}", self.way.tasks()))
            }
            _ => Decision::Told,
        }
    }

    fn table(&self, table: &Table, scope: &Scope<'_>) -> Decision {
        let is_excluded = scope.excluded().is_some();
        match self.way {
            ReadAs::Whole => Decision::Told,
            _ if is_excluded && !table.is_tracked && !is_put_off(table, scope) => Decision::Told,
            ReadAs::Table => scope.unless_excluded(Decision::Task),
            ReadAs::Headings | ReadAs::Boxes if self.are_tables_retold && !is_excluded => {
                Decision::Told
            }
            _ => {
                let reason = format!("a row of a table; {}", self.way.tasks());
                scope.unless_excluded(Decision::not_run(reason))
            }
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
        let is_listed = match &self.items {
            Some(items) if items.contains(&item.item.range.start) => true,
            Some(_) if item.number.is_some() => false,
            _ => lists_work(item, scope),
        };
        match item.mark.is_some() || is_listed || has_mark {
            true if !item.text.trim().is_empty() => Decision::Nested,
            _ => Decision::Told,
        }
    }
}

impl Decide for Generic {
    fn decide(&self, node: &Node<'_>, scope: &Scope<'_>) -> Decision {
        match node {
            Node::Item(item) if self.way == ReadAs::Whole => match item.mark {
                Some(_) => scope.unless_excluded(Decision::Told),
                None => Decision::Told,
            },
            Node::Heading(heading) => self.heading(heading, scope),
            Node::Item(item) => self.item(item, scope),
            Node::Table(table) => self.table(table, scope),
        }
    }
}

/// Reports whether a table of tasks stands below a heading of work that is not for now.
fn is_put_off(table: &Table, scope: &Scope<'_>) -> bool {
    let kind = scope.excluded().map(|open| open.kind);
    table.is_certain && matches!(kind, Some(Kind::Dropped | Kind::Waiting))
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
