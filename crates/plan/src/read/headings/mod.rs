//! Reads headings and sections, and collects the tasks of all of them.

pub(crate) mod collect;
pub(crate) mod handed_down;
pub(crate) mod heading;
pub(crate) mod note;
pub(crate) mod phase;
pub(crate) mod section;
pub(crate) mod sections;
pub(crate) mod whole;
