//! The run that stays open while a program spawns children.

use crate::run::Run;

/// The open run of a program's children.
pub(crate) struct Session {
    pub(crate) run: Run,
}
