//! A key that a line ends with, whose values stand in the list below it.

use crate::fields::attributes::Field;
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
