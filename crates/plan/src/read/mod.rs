//! Parses Markdown into drafts of tasks: the outline, headings, lists and boxes.

pub(crate) mod checkbox;
pub(crate) mod collect;
pub(crate) mod heading;
pub(crate) mod note;
pub(crate) mod outline;
pub(crate) mod source;
pub(crate) mod task_line;
pub(crate) mod text;
