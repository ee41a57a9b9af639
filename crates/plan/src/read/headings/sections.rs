//! Keeps track of the sections that a place of the document is in.

use crate::check::finding::SkippedKind;
use crate::read::headings::heading;
use crate::read::headings::phase;
use crate::read::headings::section::{self, Kind};
use crate::read::lines::text;
use crate::read::lists::label;
use crate::read::lists::task_line::Location;
use crate::read::states::status;
use orchestrate_core::task::TaskStatus;

/// The maximum number of characters of a heading that are kept for what stands below it: each of
/// its tasks repeats it, and so does each of its lines that is no task. A longer one is a
/// paragraph.
const MAX_HEADING_CHARS: usize = 200;

/// The levels of the label of a phase, and of any other one above a list, which are below every
/// heading.
const PHASE_LABEL_LEVEL: u8 = 7;
const LABEL_LEVEL: u8 = 8;

/// The sections that the current place is in.
#[derive(Default)]
pub(crate) struct Sections {
    open: Vec<OpenSection>,
    /// The place as tasks keep it.
    pub(crate) place: Location,
    /// The first heading of level one.
    pub(crate) title: Option<String>,
}

/// What the boxes below notes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotesHold {
    NoTasks,
    /// Tasks, if the notes say how far the work is.
    Progress,
    /// Tasks, if the notes say how far the work is, or what has to be checked.
    Checklists,
    Tasks,
}

/// A heading that looks like a task, but is none, whose section is not over.
pub(crate) struct OpenStep {
    pub(crate) at: usize,
    pub(crate) level: u8,
    /// How many tasks were found before it.
    pub(crate) drafts: usize,
    /// Why it is none.
    pub(crate) reason: &'static str,
    /// Whether nothing says that it is done or not to be done.
    pub(crate) is_open: bool,
}

/// A section that is not over.
pub(crate) struct OpenSection {
    level: u8,
    /// Its heading.
    pub(crate) title: String,
    kind: Kind,
    /// The status that the heading itself says.
    status: Option<TaskStatus>,
    /// Whether its list was recorded as not being work.
    is_said: bool,
    /// Whether its status was told of open boxes below it.
    is_status_said: bool,
    at: usize,
}

impl Sections {
    /// Closes the sections that a heading ends.
    pub(crate) fn close(&mut self, level: u8) {
        self.open.retain(|open| open.level < level);
    }

    /// Opens a section, and closes those that its heading ends.
    pub(crate) fn open(&mut self, level: u8, title: &str, at: usize) {
        self.close(level);
        let is_title = level == 1 && self.title.is_none();
        let kind = if is_title {
            Kind::Work
        } else {
            section::kind(title)
        };
        let status = said_by(title);
        let title = text::first_chars(title, MAX_HEADING_CHARS).to_owned();
        if is_title {
            self.title = Some(title.clone());
        }
        let place = &mut self.place;
        if let Some(phase) = phase::of_heading(&title) {
            place.phase += 1;
            place.phase_level = Some(level);
            place.phase_label = phase.label.map(Into::into);
        } else if place.phase_level.is_some_and(|phase| level <= phase) {
            place.phase += 1;
            place.phase_level = None;
            place.phase_label = None;
        }
        place.section_index += 1;
        place.section = Some(title.clone());
        self.open.push(OpenSection {
            level,
            title,
            kind,
            status,
            is_said: false,
            is_status_said: false,
            at,
        });
    }

    /// Opens the section of a label, unless it is work; returns whether it did.
    pub(crate) fn open_label(&mut self, label: &str, at: usize) -> bool {
        let kind = label::kind(label);
        if kind != Kind::Work {
            let title = text::first_chars(label, MAX_HEADING_CHARS).to_owned();
            let (status, is_said, is_status_said) = (None, false, false);
            self.open.push(OpenSection {
                level: LABEL_LEVEL,
                title,
                kind,
                status,
                is_said,
                is_status_said,
                at,
            });
        }
        kind != Kind::Work
    }

    /// Begins a part of the section at a label above boxes, and a phase if it is the label of one.
    pub(crate) fn begin_part(&mut self, label: &str) {
        let place = &mut self.place;
        place.section_index += 1;
        if let Some(phase) = phase::of_heading(label) {
            place.phase += 1;
            place.phase_level = Some(PHASE_LABEL_LEVEL);
            place.phase_label = phase.label.map(Into::into);
        }
    }

    /// Closes the section of the last label, if one is open.
    pub(crate) fn close_label(&mut self) {
        self.open.pop_if(|open| open.level == LABEL_LEVEL);
    }

    /// Lets the section that was opened last hold tasks if it is one of notes, or may be that of a
    /// feature, since they continue the numbers of the plan.
    pub(crate) fn hold_tasks(&mut self) {
        let own = self.open.last_mut().filter(|open| may_hold(open));
        own.into_iter().for_each(|open| open.kind = Kind::Work);
    }

    /// Reports whether tasks here are optional.
    pub(crate) fn is_optional(&self) -> bool {
        self.open.iter().any(|open| open.kind == Kind::Optional)
    }

    /// Returns the section, if any, whose boxes are not tasks; boxes below notes may be.
    pub(crate) fn excluded(&self, notes: NotesHold) -> Option<&OpenSection> {
        self.open.iter().find(|open| match (open.kind, notes) {
            (Kind::Work | Kind::Optional, _) | (Kind::Notes, NotesHold::Tasks) => false,
            (Kind::Notes, NotesHold::Progress) => !section::is_progress(&open.title),
            (Kind::Notes, NotesHold::Checklists) => {
                !section::is_progress(&open.title) && !section::is_checklist(&open.title)
            }
            (Kind::Notes, NotesHold::NoTasks) | (Kind::Waiting | Kind::Dropped, _) => true,
        })
    }

    /// Returns, once, a section of prerequisites, or one that waits for a person, with its offset,
    /// if its list is not work for that reason.
    pub(crate) fn say_excluded(&mut self) -> Option<(usize, &OpenSection)> {
        let open = self.open.iter_mut().find(is_not_work)?;
        if open.kind != Kind::Waiting && !section::is_prerequisites(&open.title) {
            return None;
        }
        open.is_said = true;
        Some((open.at, open))
    }

    /// Returns the section that a heading of a level would be in.
    pub(crate) fn parent(&self, level: u8) -> Option<&OpenSection> {
        self.open.iter().rfind(|open| open.level < level)
    }

    /// Reports whether the heading just above is that of a checklist, which has no order.
    pub(crate) fn is_checklist(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| section::is_checklist(&open.title))
    }

    /// Reports whether the bullets below the heading just above are tasks.
    pub(crate) fn lists_bullets(&self) -> bool {
        self.names_list() || self.place.phase_level.is_some()
    }

    /// Reports whether the heading just above names nothing but a list of work, such as "To do".
    pub(crate) fn names_list(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| section::lists_bullets(&open.title))
    }

    /// Reports whether the heading just above lists work.
    pub(crate) fn lists_work(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| section::lists_work(&open.title))
    }

    /// Returns, once, the nearest heading that says a status, with its offset and that status, if
    /// nothing with that status is run.
    pub(crate) fn say_status(&mut self) -> Option<(usize, &str, TaskStatus)> {
        let open = self.open.iter_mut().rfind(|open| open.status.is_some())?;
        let status = open
            .status
            .filter(|status| !status.runs() && !open.is_status_said)?;
        open.is_status_said = true;
        Some((open.at, open.title.as_str(), status))
    }

    /// Forgets what the heading that was opened last says of a status, since it is a task: the
    /// tasks below it have their own, also when it is marked as done.
    pub(crate) fn forget_status(&mut self) {
        self.open
            .last_mut()
            .into_iter()
            .for_each(|open| open.status = None);
    }

    /// Returns the status that the nearest heading with one says.
    pub(crate) fn status(&self) -> Option<TaskStatus> {
        self.open.iter().rev().find_map(|open| open.status)
    }
}

fn may_hold(open: &OpenSection) -> bool {
    match open.kind {
        Kind::Notes => true,
        Kind::Waiting => section::may_be_feature(&open.title),
        Kind::Work | Kind::Optional | Kind::Dropped => false,
    }
}

fn is_not_work(open: &&mut OpenSection) -> bool {
    // A label stands above remarks of a goal as well, which does not refuse it.
    let is_heading = open.level < PHASE_LABEL_LEVEL;
    is_heading && !open.is_said && !matches!(open.kind, Kind::Work | Kind::Optional)
}

/// Returns the status that the heading of a section says; a mark before "Tasks" or "Next steps" is
/// an ornament.
fn said_by(title: &str) -> Option<TaskStatus> {
    let is_ornament = status::leading_mark(title).is_some()
        && section::lists_work(title)
        && phase::of_heading(title).is_none();
    let own = if is_ornament {
        None
    } else {
        heading::status(title)
    };
    own.or_else(|| status::of_section(title))
}

impl OpenSection {
    /// Reports whether a heading of this level is in the section rather than ends it.
    pub(crate) fn holds(&self, level: u8) -> bool {
        self.level < level
    }

    /// Reports whether this is its heading's offset.
    pub(crate) fn begins_at(&self, at: usize) -> bool {
        self.at == at
    }

    /// Returns what a line of it is if it is no task.
    pub(crate) fn skipped(&self) -> SkippedKind {
        SkippedKind::InSection(self.title.clone())
    }

    /// Returns the reason why nothing in this section is a task.
    pub(crate) fn reason(&self) -> String {
        match self.kind {
            Kind::Waiting => format!("under \"{}\", which waits for a person", self.title),
            _ => format!("under \"{}\"", self.title),
        }
    }
}
