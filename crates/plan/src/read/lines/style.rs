//! The styles of plans: what marks the tasks of a document.

use crate::read::lines::source::Source;
use crate::read::lists::checkbox::read_box;

/// What marks the tasks of a document. Boxes and headings with fields always do; the others are
/// tried, in this order, on a document that has none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Boxes, and headings with a box or with fields.
    Boxes,
    /// Headings `Step N`, `Task N`, numbered ones below a heading that lists work, and stages with
    /// a status.
    StepHeadings,
    /// Rows of a table that has a column for the task and one for its status.
    Table,
    /// Boxes below a heading such as "Progress": what is left to do, and has been done, of the
    /// plan.
    ProgressBoxes,
    /// Items of an ordered list below a heading that lists work.
    OrderedLists,
    /// Bullets below a heading `Phase N`, `Stage N`, `Milestone N`, a priority, or one such as "To
    /// do".
    PhaseBullets,
    /// List items that begin with a mark of status (`✅`, `⬜`).
    Marks,
    /// Boxes below a heading such as "Checklist", where nothing else is work.
    ChecklistBoxes,
    /// Boxes below any other notes, where nothing else is work.
    NoteBoxes,
}

impl Style {
    /// Every style, in the order in which they are tried.
    pub(crate) const ALL: [Self; 9] = [
        Self::Boxes,
        Self::StepHeadings,
        Self::Table,
        Self::ProgressBoxes,
        Self::OrderedLists,
        Self::PhaseBullets,
        Self::Marks,
        Self::ChecklistBoxes,
        Self::NoteBoxes,
    ];

    /// Reports whether tasks of this style go before the to-dos of a front matter: those that say
    /// how far they are. The others mostly retell the to-dos, or say how these are judged.
    pub(crate) fn precedes_todos(self) -> bool {
        match self {
            Self::Boxes | Self::Table | Self::ProgressBoxes | Self::Marks => true,
            Self::StepHeadings
            | Self::OrderedLists
            | Self::PhaseBullets
            | Self::ChecklistBoxes
            | Self::NoteBoxes => false,
        }
    }

    /// Describes what the style looks for, as part of the advice for a plan without tasks.
    pub(crate) const LOOKED_FOR: &str = "boxes `- [ ] task`, headings `### Task 1: …`, bullets that begin with a mark \
        such as ✅, a table with the columns Task and Status, a numbered list below a heading such as Tasks or Steps, \
        bullets below `Phase 1` or `To do`";

    /// Describes what the tasks are, as the reason why something else is not one.
    pub(crate) fn tasks(self) -> &'static str {
        match self {
            Self::Boxes | Self::ProgressBoxes | Self::ChecklistBoxes | Self::NoteBoxes => {
                "the plan's tasks are its boxes"
            }
            Self::StepHeadings => "the plan's tasks are its headings",
            Self::Marks => "the plan's tasks are its marked bullets",
            Self::Table => "the plan's tasks are the rows of its table",
            Self::OrderedLists => "the plan's tasks are its numbered lists",
            Self::PhaseBullets => "the plan's tasks are the bullets below its headings",
        }
    }
}

/// Reports whether a plan is one of Kiro's: numbered boxes, and lines that name their requirements.
pub(crate) fn is_kiro(source: &Source<'_>) -> bool {
    if !source.text.contains("_Requirements:") {
        return false;
    }
    let (mut numbers, mut requirements) = (false, false);
    for (_, line) in source.lines(0..source.text.len()) {
        let text = line.trim_start_matches(['-', '*', ' ', '\t']);
        requirements |= text.starts_with("_Requirements:");
        numbers |= read_box(text)
            .and_then(|mark| text.get(mark.rest..))
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    }
    numbers && requirements
}
