//! Parses Markdown into drafts of tasks: the outline, headings, lists and boxes.

pub(crate) mod below;
pub(crate) mod checkbox;
pub(crate) mod collect;
pub(crate) mod done;
pub(crate) mod entry;
pub(crate) mod handed_down;
pub(crate) mod heading;
pub(crate) mod item;
pub(crate) mod item_body;
pub(crate) mod not_now;
pub(crate) mod note;
pub(crate) mod outline;
pub(crate) mod parts;
pub(crate) mod phase;
pub(crate) mod row;
pub(crate) mod said;
pub(crate) mod section;
pub(crate) mod sections;
pub(crate) mod source;
pub(crate) mod status;
pub(crate) mod step;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod task_line;
pub(crate) mod text;
pub(crate) mod whole;
