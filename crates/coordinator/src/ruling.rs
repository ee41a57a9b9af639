//! What is decided about what may be refused.

use serde::{Deserialize, Serialize};

/// What is decided about what was asked for. A failure to decide is an error beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ruling<T, R> {
    /// It is granted, and this comes of it.
    Granted(T),
    /// It is refused for this reason.
    Refused(R),
}

impl<T, R> Ruling<T, R> {
    /// Returns what comes of it.
    ///
    /// # Errors
    /// The reason of a refusal.
    pub fn granted(self) -> Result<T, R> {
        match self {
            Ruling::Granted(made) => Ok(made),
            Ruling::Refused(reason) => Err(reason),
        }
    }
}

impl<T, R> From<Result<T, R>> for Ruling<T, R> {
    fn from(decided: Result<T, R>) -> Self {
        decided.map_or_else(Ruling::Refused, Ruling::Granted)
    }
}
