//! How a line, with what stands below it, becomes a task: boxes, headings, rows, statuses.

pub(crate) mod checkbox;
pub(crate) mod code_boxes;
pub(crate) mod done;
pub(crate) mod draft;
pub(crate) mod entry;
pub(crate) mod handed_down;
pub(crate) mod heading;
pub(crate) mod item_body;
pub(crate) mod legend;
pub(crate) mod note;
pub(crate) mod parts;
pub(crate) mod phase;
pub(crate) mod row;
pub(crate) mod said;
pub(crate) mod section;
pub(crate) mod status;
pub(crate) mod strike;
pub(crate) mod table;
