//! Reads the tasks of lists, boxes and tables, and what is below each.

pub(crate) mod below;
pub(crate) mod checkbox;
pub(crate) mod entry;
pub(crate) mod item;
pub(crate) mod item_body;
pub(crate) mod label;
pub(crate) mod row;
pub(crate) mod step;
pub(crate) mod table;
pub(crate) mod taken;
pub(crate) mod task_line;
pub(crate) mod todos;
