//! Parses the parts of a task: attributes, values, references, ids and names.

pub(crate) mod attributes;
pub(crate) mod closing;
pub(crate) mod identify;
pub(crate) mod key;
pub(crate) mod names;
pub(crate) mod programs;
pub(crate) mod value;
