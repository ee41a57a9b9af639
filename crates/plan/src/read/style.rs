//! The styles of plans: what marks the tasks of a document.

/// What marks the tasks of a document. Boxes and headings with fields always do; the others are tried, in this order,
/// on a document that has none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Boxes, and headings with a box or with fields.
    Boxes,
    /// Headings `Step N`, `Task N`, numbered ones below a heading that lists work, and stages with a status.
    StepHeadings,
    /// Rows of a table that has a column for the task and one for its status.
    Table,
    /// Items of an ordered list below a heading that lists work.
    OrderedLists,
    /// Bullets below a heading `Phase N`, `Stage N`, `Milestone N`, or a priority.
    PhaseBullets,
    /// List items that begin with a mark of status (`✅`, `⬜`).
    Marks,
    /// Boxes below a heading such as "Checklist", where nothing else is work.
    NoteBoxes,
}

impl Style {
    /// Every style, in the order in which they are tried.
    pub(crate) const ALL: [Self; 7] = [
        Self::Boxes,
        Self::StepHeadings,
        Self::Table,
        Self::OrderedLists,
        Self::PhaseBullets,
        Self::Marks,
        Self::NoteBoxes,
    ];

    /// Describes what the style looks for, as part of the advice for a plan without tasks.
    pub(crate) const LOOKED_FOR: &str = "boxes `- [ ] task`, headings `### Task 1: …`, bullets that begin with a mark \
        such as ✅, a table with the columns Task and Status, a numbered list below a heading such as Tasks or Steps, \
        bullets below `Phase 1`";

    /// Describes what the tasks are, as the reason why something else is not one.
    pub(crate) fn tasks(self) -> &'static str {
        match self {
            Self::Boxes | Self::NoteBoxes => "the plan's tasks are its boxes",
            Self::StepHeadings => "the plan's tasks are its headings",
            Self::Marks => "the plan's tasks are its marked bullets",
            Self::Table => "the plan's tasks are the rows of its table",
            Self::OrderedLists => "the plan's tasks are its numbered lists",
            Self::PhaseBullets => "the plan's tasks are the bullets of its phases",
        }
    }
}
