//! What a format is: a signature by which a document is recognised, and what it makes of each part
//! of such a document.

use std::borrow::Cow;

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::lines::outline::Item;
use crate::tasks::checkbox::BoxMark;
use crate::tasks::section::Kind;
use orchestrate_core::task::TaskStatus;

/// A habit of writing plans.
pub(crate) struct Format {
    /// The name that a check shows.
    pub(crate) name: &'static str,
    /// Says whether a document is its own, from structure alone.
    pub(crate) claims: fn(&Document<'_, '_>) -> Claim,
    /// Says what a part of the document is.
    pub(crate) decide: fn(&Node<'_>, &Scope<'_>) -> Decision,
    /// Adds the tasks that are in no block: in the front matter, or in elements. The walk has told
    /// all their lines.
    pub(crate) finish: Option<fn(&Document<'_, '_>, &mut Collected, &mut Findings)>,
    /// Whether `[-]` means in progress rather than cancelled.
    pub(crate) dash_is_progress: bool,
    /// A document of its kind, which is a test and a part of the documentation.
    pub(crate) example: &'static str,
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
    /// A table with a column for tasks and one for their status.
    Table,
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
    /// Whether a box stands beside it.
    pub(crate) is_beside_boxes: bool,
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
