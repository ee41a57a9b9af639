//! How urgently a shutdown is requested.

/// How urgently a shutdown is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownLevel {
    /// Not at all.
    #[default]
    None,
    /// Nothing new is started; current work completes.
    Drain,
    /// Current work is interrupted immediately and resumed later; its files are kept.
    Stop,
    /// Processes are killed immediately, without a grace period. That includes those of git, which
    /// no lower level affects, since it stores stopped work; no new ones are started. They leave
    /// the same state as if this whole process were killed, which resuming the run repairs. Only a
    /// git that moves the user's own checkout or branch completes, under its lock.
    Kill,
}

impl ShutdownLevel {
    /// Returns the next higher level; the highest stays.
    pub fn next(self) -> Self {
        match self {
            ShutdownLevel::None => ShutdownLevel::Drain,
            ShutdownLevel::Drain => ShutdownLevel::Stop,
            ShutdownLevel::Stop | ShutdownLevel::Kill => ShutdownLevel::Kill,
        }
    }
}
