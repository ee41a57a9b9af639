//! What a task takes from the lines below its own.

use crate::fields::attributes::Attributes;

/// What a task takes from the lines below its own.
pub(crate) struct Taken<'t> {
    pub(crate) attributes: &'t mut Attributes,
    pub(crate) details: &'t mut Vec<String>,
}
