//! What a task takes from the lines below its own.

use crate::fields::attributes::{Attributes, Field};
use crate::fields::key::Key;

/// A key whose values are the list below it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenKey {
    pub(crate) key: Key,
    /// The offset at which a value beside the key would be.
    pub(crate) offset: usize,
}

impl OpenKey {
    /// Returns the key of a field without a value.
    pub(crate) fn from_field(field: &Field<'_>) -> Self {
        let (key, offset) = (field.key, field.offset);
        Self { key, offset }
    }
}

/// What a task takes from the lines below its own.
pub(crate) struct Taken<'t> {
    pub(crate) attributes: &'t mut Attributes,
    pub(crate) details: &'t mut Vec<String>,
}
