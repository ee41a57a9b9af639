//! Why a reader does not reach the end of a profile.

use super::format::ProfileFormat;
use crate::error::CodeError;
use crate::source::Stop;

/// Why a reader does not reach the end of a profile.
#[derive(Debug)]
pub(super) enum Damage {
    /// The caller stopped it.
    Stopped,
    /// It is damaged; the words say where.
    At(String),
}

impl Damage {
    /// Returns the damage of a line, by its place from 0.
    pub(super) fn in_line(self, line: usize) -> Damage {
        match self {
            Damage::Stopped => Damage::Stopped,
            Damage::At(reason) => Damage::At(format!("line {}: {reason}", line + 1)),
        }
    }

    /// Returns the error that says what the profile was taken for.
    pub(super) fn of(self, format: ProfileFormat) -> CodeError {
        match self {
            Damage::Stopped => CodeError::Stopped,
            Damage::At(reason) => CodeError::Profile { format: format.name(), reason },
        }
    }
}

/// Fails if `stop` says so.
pub(super) fn check(stop: Stop<'_>) -> Result<(), Damage> {
    if stop() { Err(Damage::Stopped) } else { Ok(()) }
}
