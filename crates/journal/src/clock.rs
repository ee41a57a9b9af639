//! The time of facts: the date at which a process takes a run over, plus the time since then.
//!
//! All durations of a run are differences between the times of its facts, such as its running time
//! and the time left to an attempt. The system's date may be changed at any moment, so a process
//! reads it only once for the facts of a run.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// The shortest sleep that matters; a difference of the two clocks below it may come from reading
/// them one after the other.
const LEAST_SLEEP_MS: u64 = 1_000;

/// The sources of the time of facts.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Returns the date in Unix milliseconds; it may jump.
    pub date: fn() -> u64,
    /// Returns milliseconds since a fixed moment; it never jumps, and continues while the machine
    /// sleeps.
    pub steady: fn() -> u64,
    /// Returns how many of these milliseconds the machine was asleep.
    pub asleep: fn() -> u64,
}

impl Clock {
    /// The system's clocks.
    pub const SYSTEM: Clock = Clock {
        date: unix_ms,
        steady: since_boot,
        asleep,
    };
}

/// Computes the times of the facts that one process adds to a run.
#[derive(Debug)]
pub(crate) struct Timeline {
    clock: Clock,
    origin: u64,
    began: u64,
    /// How long the machine had slept when it was last recorded.
    slept: u64,
}

impl Timeline {
    /// Starts now, but not before `newest`, the time of the run's newest fact: the date may have
    /// been set back since.
    pub(crate) fn begin(clock: Clock, newest: u64) -> Self {
        Self {
            clock,
            origin: (clock.date)().max(newest),
            began: (clock.steady)(),
            slept: (clock.asleep)(),
        }
    }

    /// Returns how long the machine has slept beyond what is recorded, unless that is too short to
    /// matter.
    pub(crate) fn slept(&self) -> Option<u64> {
        let newly = (self.clock.asleep)().saturating_sub(self.slept);
        (newly >= LEAST_SLEEP_MS).then_some(newly)
    }

    /// Notes that a sleep is recorded, so that it is not recorded again.
    pub(crate) fn note_slept(&mut self, slept_ms: u64) {
        self.slept = self.slept.saturating_add(slept_ms);
    }

    /// Returns the current time in Unix milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.origin
            .saturating_add((self.clock.steady)().saturating_sub(self.began))
    }
}

/// Returns the system's date in Unix milliseconds; 0 if it is set before 1970.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the system's date in Unix seconds, as git records it.
pub fn unix_seconds() -> i64 {
    i64::try_from(unix_ms() / 1_000).unwrap_or(i64::MAX)
}

fn since_boot() -> u64 {
    ms(ClockId::Boottime)
}

fn asleep() -> u64 {
    // The second clock stands still while the machine sleeps.
    since_boot().saturating_sub(ms(ClockId::Monotonic))
}

fn ms(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let whole = u64::try_from(time.tv_sec)
        .unwrap_or_default()
        .saturating_mul(1_000);
    whole.saturating_add(u64::try_from(time.tv_nsec / 1_000_000).unwrap_or_default())
}
