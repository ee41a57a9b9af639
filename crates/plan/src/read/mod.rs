//! Parses Markdown into drafts of tasks: the outline, headings, lists and boxes.

pub(crate) mod headings;
pub(crate) mod lines;
pub(crate) mod lists;
pub(crate) mod states;
