//! The time of facts: the date at which a process takes a run over, and how long that has been since.
//!
//! All durations of a run are differences between its facts' times: what it has taken, what an attempt has left. The
//! system's date may be set forward or back at any moment, so within one process it is asked once only.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Where the time of facts comes from.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Returns the date in Unix milliseconds; it may jump.
    pub date: fn() -> u64,
    /// Returns milliseconds since some moment; it never jumps, and goes on while the machine sleeps.
    pub steady: fn() -> u64,
}

impl Clock {
    /// The system's.
    pub const SYSTEM: Clock = Clock { date: unix_ms, steady: since_boot };
}

/// The time of one process's facts about a run.
#[derive(Debug)]
pub(crate) struct Timeline {
    clock: Clock,
    origin: u64,
    began: u64,
}

impl Timeline {
    /// Begins now; the date may have been set back since the run's newest fact, whose time is given.
    pub(crate) fn begin(clock: Clock, newest: u64) -> Self {
        Self { clock, origin: (clock.date)().max(newest), began: (clock.steady)() }
    }

    /// Returns the time in Unix milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.origin.saturating_add((self.clock.steady)().saturating_sub(self.began))
    }
}

/// Returns the system's date in Unix milliseconds, 0 if it is set before 1970.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn since_boot() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default().saturating_mul(1_000);
    whole.saturating_add(u64::try_from(time.tv_nsec / 1_000_000).unwrap_or_default())
}
