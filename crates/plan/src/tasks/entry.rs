//! The items of a list as their first lines introduce them.

use std::ops::Range;

use crate::lines::outline::Item;
use crate::lines::source::Inline;
use crate::tasks::checkbox::BoxMark;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// One item of a list with what its first line says.
pub(crate) struct Entry<'i, 'a> {
    pub(crate) item: &'i Item,
    pub(crate) line: Inline<'a>,
    pub(crate) mark: Option<BoxMark>,
    /// The place of the id, in the line, that the text after its box begins with.
    pub(crate) id: Option<Range<usize>>,
}

impl Entry<'_, '_> {
    /// Returns its box, or that of an open task without one.
    pub(crate) fn own_mark(&self) -> BoxMark {
        let none = BoxMark::without_box(TaskStatus::Todo);
        self.mark.unwrap_or(none)
    }

    /// Returns the text after its box.
    pub(crate) fn text(&self) -> &str {
        self.line.text.tail(self.own_mark().rest)
    }

    /// Returns the id that the text after its box begins with.
    pub(crate) fn id(&self) -> Option<&str> {
        self.line.text.get(self.id.clone()?)
    }

    /// Reports whether its box is that of an optional task.
    pub(crate) fn is_optional(&self) -> bool {
        self.mark.is_some_and(|mark| mark.optional)
    }

    /// Returns how many of the items after it are numbered under it.
    pub(crate) fn children_beside(&self, after: &[Entry<'_, '_>]) -> usize {
        let Some(id) = self.id() else { return 0 };
        let is_child = |other: &&Entry<'_, '_>| {
            let rest = other.id().and_then(|child| child.strip_prefix(id));
            other.mark.is_some() && rest.is_some_and(|rest| rest.starts_with('.'))
        };
        after.iter().take_while(is_child).count()
    }
}
