//! What a format is: a signature by which a document is recognised, and what it makes of each part
//! of such a document.

use std::borrow::Cow;

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::numbers;
use crate::lines::outline::Item;
use crate::tasks::checkbox::BoxMark;
use crate::tasks::section::Kind;
use crate::tasks::table::Table;
use orchestrate_core::task::TaskStatus;

/// Why an item without a box is no task beside boxes.
pub(crate) const NO_BOX: &str = "no checkbox, unlike its neighbours";

/// A habit of writing plans.
pub(crate) struct Format {
    /// The name that a check shows.
    pub(crate) name: &'static str,
    /// Says whether a document is its own, from structure alone.
    pub(crate) claims: fn(&Document<'_, '_>) -> Claim,
    /// Reports whether a heading is a task; without work that is put off, it is run.
    pub(crate) is_task: fn(&Document<'_, '_>, &Heading) -> bool,
    pub(crate) boxes: Boxes,
    /// Whether an item is a task that has no box, neither of its own nor below it.
    pub(crate) plain: fn(&ListItem<'_>, &Scope<'_>) -> bool,
    /// Whether an item without a box is not run beside boxes, also if it has no number.
    pub(crate) boxes_are_all: bool,
    /// Whether the rows of tables are tasks.
    pub(crate) tables_are_tasks: bool,
    /// Whether tasks go one after another, as they are written.
    pub(crate) in_order: bool,
    /// Whether the boxes within a task are ticked with it.
    pub(crate) ticks_parts: bool,
    /// Whether its tasks stand in the front matter, or the front matter is about one of several
    /// files.
    pub(crate) owns_front_matter: bool,
    /// Adds the tasks that are in no block: in the front matter, or in elements. The walk has told
    /// all their lines.
    pub(crate) finish: Option<fn(&Document<'_, '_>, &mut Collected, &mut Findings)>,
    /// Whether `[-]` means in progress rather than cancelled.
    pub(crate) dash_is_progress: bool,
    /// A document of its kind, which is a test and a part of the documentation.
    pub(crate) example: &'static str,
}

impl Format {
    /// A format that no document has, of which all is told.
    pub(crate) const NONE: Self = Self {
        name: "",
        claims: |_| Claim::NotMine,
        is_task: |_, _| false,
        boxes: Boxes::Told,
        plain: |_, _| false,
        boxes_are_all: false,
        tables_are_tasks: false,
        in_order: false,
        ticks_parts: false,
        owns_front_matter: false,
        finish: None,
        dash_is_progress: false,
        example: "",
    };

    /// Says what a part of a document is.
    pub(crate) fn decision(&self, node: &Node<'_>, scope: &Scope<'_>) -> Decision {
        match node {
            Node::Heading(heading) if (self.is_task)(scope.document, heading) => {
                scope.unless_put_off(Decision::Task)
            }
            Node::Heading(_) => Decision::Within,
            Node::Item(item) => self.item(item, scope),
            Node::Table(_) if self.tables_are_tasks => scope.unless_excluded(Decision::Task),
            Node::Table(_) => Decision::Told,
        }
    }

    fn item(&self, item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
        let is_numbered = numbers::number(item.text).is_some();
        match self.boxes {
            Boxes::Told => Decision::Told,
            Boxes::NotRun(reason) if item.mark.is_some() => Decision::not_run(reason),
            Boxes::Are(decide) if item.mark.is_some() => decide(item, scope),
            _ if item.is_above_boxes => Decision::Within,
            _ if (self.plain)(item, scope) => scope.unless_excluded(Decision::Task),
            _ if item.is_beside_boxes && (self.boxes_are_all || is_numbered) => {
                Decision::not_run(NO_BOX)
            }
            _ => Decision::Told,
        }
    }
}

/// What a format makes of the items with a box outside of headings that are tasks.
#[derive(Clone, Copy)]
pub(crate) enum Boxes {
    /// All lists are told.
    Told,
    /// They are not run, for this reason.
    NotRun(&'static str),
    /// What this says.
    Are(fn(&ListItem<'_>, &Scope<'_>) -> Decision),
}

/// What a format says of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is another one's.
    NotMine,
    /// It is its own, for this reason.
    Mine(&'static str),
    /// It is its own for this reason, unless it is another one's.
    Weakly(&'static str),
    /// It is its own, and says what its documents do not say.
    Contradicting(String),
}

impl Claim {
    /// Returns a claim for a reason, if it is one.
    pub(crate) fn mine_if(is_mine: bool, why: &'static str) -> Self {
        match is_mine {
            true => Self::Mine(why),
            false => Self::NotMine,
        }
    }

    /// Returns a weak claim for a reason, if it is one.
    pub(crate) fn weakly_if(is_mine: bool, why: &'static str) -> Self {
        match is_mine {
            true => Self::Weakly(why),
            false => Self::NotMine,
        }
    }
}

/// What a part of a document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// A task, with all that is below it.
    Task,
    /// A task, or a group of those below it: `2` above `2.1` and `2.2`.
    Nested,
    /// No task; its parts are decided one by one.
    Within,
    /// What agents are told.
    Told,
    /// No task, for this reason.
    NotRun(Cow<'static, str>),
}

impl Decision {
    /// Creates the decision that something is a task, or not run for a reason.
    pub(crate) fn task_if(is_task: bool, reason: &'static str) -> Self {
        match is_task {
            true => Self::Task,
            false => Self::not_run(reason),
        }
    }

    /// Creates the decision that something is not run.
    pub(crate) fn not_run(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::NotRun(reason.into())
    }
}

/// A part of a document.
pub(crate) enum Node<'n> {
    /// A heading with its section.
    Heading(&'n Heading),
    /// An item of a list.
    Item(&'n ListItem<'n>),
    /// A table with a column for tasks.
    Table(&'n Table),
}

/// An item of a list, as its first line introduces it.
pub(crate) struct ListItem<'n> {
    pub(crate) item: &'n Item,
    /// Its box, if it has one.
    pub(crate) mark: Option<BoxMark>,
    /// The text after the box.
    pub(crate) text: &'n str,
    /// Its number in an ordered list.
    pub(crate) number: Option<&'n str>,
    /// Whether a box stands below it.
    pub(crate) is_above_boxes: bool,
    /// Whether a box, or a numbered item or a phase with boxes below it, stands beside it.
    pub(crate) is_beside_boxes: bool,
    /// Whether only the latter do.
    pub(crate) is_among_parents: bool,
}

/// A section that is not over.
pub(crate) struct Open {
    pub(crate) level: u8,
    pub(crate) title: String,
    pub(crate) kind: Kind,
    /// Whether a box stands anywhere below it.
    pub(crate) holds_boxes: bool,
    /// The status that the heading itself says.
    pub(crate) status: Option<TaskStatus>,
}

/// Where a part of the document stands.
pub(crate) struct Scope<'w> {
    pub(crate) document: &'w Document<'w, 'w>,
    /// The sections around it, the outermost first, with labels above lists.
    pub(crate) sections: &'w [Open],
}

impl Scope<'_> {
    /// Returns the outermost section around it that holds no work, if any.
    pub(crate) fn excluded(&self) -> Option<&Open> {
        self.sections
            .iter()
            .find(|open| !matches!(open.kind, Kind::Work | Kind::Optional))
    }

    /// Returns the outermost section around it whose work waits for a person or is not wanted.
    /// Work that a number or a word tells stands below headings such as "Validation" as well.
    pub(crate) fn put_off(&self) -> Option<&Open> {
        self.sections
            .iter()
            .find(|open| matches!(open.kind, Kind::Waiting | Kind::Dropped))
    }

    /// Returns a decision, unless a section around it holds no work.
    pub(crate) fn unless_excluded(&self, decision: Decision) -> Decision {
        match self.excluded() {
            Some(open) => Decision::not_run(open.reason()),
            None => decision,
        }
    }

    /// Returns a decision, unless a section around it is put off.
    pub(crate) fn unless_put_off(&self, decision: Decision) -> Decision {
        match self.put_off() {
            Some(open) => Decision::not_run(open.reason()),
            None => decision,
        }
    }

    /// Returns the innermost section.
    pub(crate) fn section(&self) -> Option<&Open> {
        self.sections.last()
    }

    /// Reports whether a section around it has this title, in any case.
    pub(crate) fn is_in(&self, title: &str) -> bool {
        self.sections
            .iter()
            .any(|open| open.title.trim_end_matches(':').eq_ignore_ascii_case(title))
    }
}

impl Open {
    /// Returns the reason why nothing in this section is a task.
    pub(crate) fn reason(&self) -> String {
        match self.kind {
            Kind::Waiting => format!("under \"{}\", which waits for a person", self.title),
            _ => format!("under \"{}\"", self.title),
        }
    }
}

/// A format of plans, for those who document it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFormat {
    /// Its name.
    pub name: &'static str,
    /// What tells its documents from all others, as the end of a sentence.
    pub signature: &'static str,
    /// A document of its kind.
    pub example: &'static str,
}
