//! What a person sees of a task's work, and adds to it.

mod adopting;
pub(crate) mod changes;
pub(crate) mod compare;
