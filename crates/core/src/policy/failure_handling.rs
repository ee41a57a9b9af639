//! Decides what happens after a tool's call has failed, by the class of the failure; and when a
//! class of tools, or what a call reaches, is out of order. Values only: the clock and the waiting
//! belong to the executor.

use std::time::Duration;

/// How often a call is run again because what it needs was not available.
const MOST_RETRIES: u32 = 2;
/// The wait before the first of these, which doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// How much longer the second time limit of a call is than the first.
pub const LONGER: u32 = 2;
/// How many calls have to fail one after another, retries included as one, before what they need is
/// out of order.
const OUT_OF_ORDER_AFTER: u32 = 3;
/// How long calls that need what is out of order are refused before one may try again.
pub const PROBE_AFTER: Duration = Duration::from_secs(30);

/// The class of a failure, as far as the reaction depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The model can repair the call: a wrong argument, no such file, a search that was too broad.
    Repairable,
    /// A rule or the sandbox refused it.
    Refused,
    /// The operating system's permissions refused it, which a person can change.
    Forbidden,
    /// A time limit ended it.
    TimedOut,
    /// A connection or a remote side failed.
    Network,
    /// What the tool needs could not be started, so nothing ran.
    Unavailable,
    /// A program that the tool needs is not installed, so nothing ran.
    Absent,
    /// The tool itself failed, or a file of it could not be read or written.
    Broken,
    /// It was cancelled, or its end was lost.
    Interrupted,
}

/// A call that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// Why.
    pub failure: Failure,
    /// How often it was run again already.
    pub retries: u32,
    /// Whether running it twice has the effect of running it once: it reads, or it has changed
    /// nothing.
    pub is_repeatable: bool,
    /// Whether a longer time limit is allowed, and the agent has not set the limit itself.
    pub can_be_longer: bool,
    /// Whether another tool is named that may answer instead.
    pub has_alternative: bool,
    /// Whether a person can be asked.
    pub may_ask: bool,
    /// How long the remote side asks to wait, if it does.
    pub asked_wait: Option<Duration>,
    /// The longest wait before the call is run again.
    pub longest_wait: Duration,
}

/// What happens after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The call is run once more with a time limit that is [`LONGER`] times as long.
    RunLonger,
    /// The call is run again after this time.
    RunAgain(Duration),
    /// Another tool answers.
    UseAlternative,
    /// The model gets the failure; if it makes the same call again, that waits for a person.
    AskPerson,
    /// The model gets the failure, with what the call had changed if it was ended in the middle.
    Return,
}

impl FailedCall {
    /// Decides what happens now.
    pub fn reaction(self) -> Reaction {
        let Self {
            failure,
            retries,
            is_repeatable,
            can_be_longer,
            has_alternative,
            may_ask,
            ..
        } = self;
        let otherwise = if has_alternative {
            Reaction::UseAlternative
        } else {
            Reaction::Return
        };
        match failure {
            Failure::TimedOut if retries == 0 && is_repeatable && can_be_longer => {
                Reaction::RunLonger
            }
            // What may have had half of its effect must not have it again in another way.
            Failure::TimedOut | Failure::Network if !is_repeatable => Reaction::Return,
            Failure::Network | Failure::Unavailable => {
                self.wait().map_or(otherwise, Reaction::RunAgain)
            }
            Failure::TimedOut | Failure::Absent => otherwise,
            Failure::Refused | Failure::Forbidden if has_alternative => Reaction::UseAlternative,
            Failure::Forbidden if may_ask => Reaction::AskPerson,
            Failure::Repairable
            | Failure::Refused
            | Failure::Forbidden
            | Failure::Broken
            | Failure::Interrupted => Reaction::Return,
        }
    }

    /// Returns the time before the next try; `None` if there is to be none. One before the time
    /// that the remote side asks for would be refused as well, and would count against us.
    fn wait(self) -> Option<Duration> {
        let own = FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(self.retries))
            .min(self.longest_wait);
        let wait = self.asked_wait.map_or(own, |asked| asked.max(own));
        (self.retries < MOST_RETRIES && wait <= self.longest_wait).then_some(wait)
    }
}

/// What a failure shows to be out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// What all tools of the class need, such as the sandbox.
    Class,
    /// What the call reaches, such as a host. That of one says nothing about others: whoever writes
    /// a page chooses the hosts of its links.
    Reached,
}

impl Failure {
    /// Returns what the failure shows to be out of order; `None` if it says nothing about other
    /// calls.
    pub fn shows(self) -> Option<Lacking> {
        match self {
            Failure::Unavailable => Some(Lacking::Class),
            Failure::Network => Some(Lacking::Reached),
            Failure::Repairable
            | Failure::Refused
            | Failure::Forbidden
            | Failure::TimedOut
            | Failure::Absent
            | Failure::Broken
            | Failure::Interrupted => None,
        }
    }
}

/// Whether one thing that calls need is available: after several failures of it, calls are refused
/// at once, except for one from time to time that tries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// How many calls in a row found that it is not available.
    failures: u32,
    /// When the last of them ended.
    failed_at: Duration,
    /// Whether a call is trying it now.
    is_probed: bool,
}

impl Health {
    /// Returns how long from now calls are refused, zero while one is trying it; `None` if a call
    /// may run. One may try again after the given time, by a clock that never goes back.
    pub fn refusal(&self, now: Duration, probe_after: Duration) -> Option<Duration> {
        let waited = now.saturating_sub(self.failed_at);
        match self.is_out_of_order() {
            true if self.is_probed => Some(Duration::ZERO),
            true if waited < probe_after => Some(probe_after.saturating_sub(waited)),
            _ => None,
        }
    }

    /// Notes that a call runs, which shows whether what is out of order is so still.
    pub fn begun(&mut self) {
        self.is_probed = self.is_out_of_order();
    }

    /// Notes how a call ended: whether what it needs was available.
    pub fn ended(&mut self, was_available: bool, now: Duration) {
        self.is_probed = false;
        self.failures = if was_available {
            0
        } else {
            self.failures.saturating_add(1)
        };
        self.failed_at = now;
    }

    /// Notes that a call showed nothing, since it was interrupted.
    pub fn undecided(&mut self) {
        self.is_probed = false;
    }

    /// Returns when the last call failed or succeeded.
    pub fn noted_at(&self) -> Duration {
        self.failed_at
    }

    fn is_out_of_order(&self) -> bool {
        self.failures >= OUT_OF_ORDER_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: FailedCall = FailedCall {
        failure: Failure::Broken,
        retries: 0,
        is_repeatable: false,
        can_be_longer: false,
        has_alternative: false,
        may_ask: false,
        asked_wait: None,
        longest_wait: Duration::from_secs(30),
    };
    const REPEATABLE: FailedCall = FailedCall {
        is_repeatable: true,
        ..PLAIN
    };
    const LIMITED: FailedCall = FailedCall {
        failure: Failure::TimedOut,
        can_be_longer: true,
        ..REPEATABLE
    };

    fn again(milliseconds: u64) -> Reaction {
        Reaction::RunAgain(Duration::from_millis(milliseconds))
    }

    #[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
    #[test]
    fn each_class_of_failure_has_its_strategy() {
        use Failure::{
            Absent, Broken, Forbidden, Interrupted, Network, Refused, Repairable, TimedOut,
            Unavailable,
        };
        use Reaction::{AskPerson, Return, RunLonger, UseAlternative};
        let of = |failure, call: FailedCall| FailedCall { failure, ..call };
        let with = |call: FailedCall| FailedCall {
            has_alternative: true,
            ..call
        };
        let after = |retries, call: FailedCall| FailedCall { retries, ..call };
        let asked = |seconds, call: FailedCall| {
            let asked_wait = Some(Duration::from_secs(seconds));
            FailedCall {
                failure: Network,
                asked_wait,
                ..call
            }
        };
        let table = [
            (LIMITED, RunLonger),
            (after(1, LIMITED), Return),
            (after(1, with(LIMITED)), UseAlternative),
            (
                FailedCall {
                    is_repeatable: false,
                    ..LIMITED
                },
                Return,
            ),
            (
                FailedCall {
                    is_repeatable: false,
                    ..with(LIMITED)
                },
                Return,
            ),
            (
                FailedCall {
                    can_be_longer: false,
                    ..LIMITED
                },
                Return,
            ),
            (
                FailedCall {
                    can_be_longer: false,
                    ..with(LIMITED)
                },
                UseAlternative,
            ),
            (of(Network, REPEATABLE), again(500)),
            (of(Network, after(1, REPEATABLE)), again(1000)),
            (of(Network, after(2, REPEATABLE)), Return),
            (of(Network, after(2, with(REPEATABLE))), UseAlternative),
            (of(Network, with(PLAIN)), Return),
            (asked(0, REPEATABLE), again(500)),
            (asked(30, REPEATABLE), again(30_000)),
            (asked(30, after(1, REPEATABLE)), again(30_000)),
            (asked(30, after(2, REPEATABLE)), Return),
            (asked(31, REPEATABLE), Return),
            (asked(31, with(REPEATABLE)), UseAlternative),
            (asked(1, PLAIN), Return),
            (
                FailedCall {
                    longest_wait: Duration::ZERO,
                    ..of(Network, REPEATABLE)
                },
                again(0),
            ),
            // Nothing ran, so nothing can have its effect twice.
            (of(Unavailable, PLAIN), again(500)),
            (of(Unavailable, after(2, PLAIN)), Return),
            (of(Unavailable, after(2, with(PLAIN))), UseAlternative),
            (of(Absent, PLAIN), Return),
            (of(Absent, with(PLAIN)), UseAlternative),
            (of(Refused, PLAIN), Return),
            (of(Refused, with(PLAIN)), UseAlternative),
            (of(Forbidden, PLAIN), Return),
            (
                of(
                    Forbidden,
                    FailedCall {
                        may_ask: true,
                        ..PLAIN
                    },
                ),
                AskPerson,
            ),
            (
                of(
                    Forbidden,
                    FailedCall {
                        may_ask: true,
                        ..with(PLAIN)
                    },
                ),
                UseAlternative,
            ),
            (
                of(
                    Refused,
                    FailedCall {
                        may_ask: true,
                        ..PLAIN
                    },
                ),
                Return,
            ),
            (of(Repairable, with(REPEATABLE)), Return),
            (of(Broken, with(REPEATABLE)), Return),
            (of(Interrupted, with(REPEATABLE)), Return),
            (of(TimedOut, PLAIN), Return),
        ];
        for (call, expected) in table {
            assert_eq!(call.reaction(), expected, "{call:?}");
        }
    }

    #[test]
    fn what_is_out_of_order_is_refused_until_a_probe_succeeds() {
        let second = Duration::from_secs;
        let mut health = Health::default();
        let begin = |health: &mut Health, at: u64| {
            let refusal = health.refusal(second(at), PROBE_AFTER);
            if refusal.is_none() {
                health.begun();
            }
            refusal
        };
        for at in 0..3 {
            assert_eq!(begin(&mut health, at), None);
            health.ended(false, second(at));
        }
        assert_eq!(begin(&mut health, 12), Some(second(20)));
        assert_eq!(begin(&mut health, 32), None);
        assert_eq!(begin(&mut health, 33), Some(Duration::ZERO));
        health.ended(false, second(34));
        assert_eq!(begin(&mut health, 35), Some(second(29)));
        assert_eq!(begin(&mut health, 64), None);
        health.undecided();
        assert_eq!(begin(&mut health, 64), None);
        health.ended(true, second(65));
        assert_eq!(begin(&mut health, 65), None);
        // Failures count only one after another.
        health.ended(false, second(66));
        health.ended(false, second(67));
        health.ended(true, second(68));
        health.ended(false, second(69));
        assert_eq!(begin(&mut health, 70), None);
    }

    #[test]
    fn only_what_all_tools_of_a_class_need_counts_for_the_class() {
        use Failure::{
            Absent, Broken, Forbidden, Interrupted, Network, Refused, Repairable, TimedOut,
            Unavailable,
        };
        assert_eq!(Unavailable.shows(), Some(Lacking::Class));
        assert_eq!(Network.shows(), Some(Lacking::Reached));
        for failure in [
            Absent,
            Broken,
            Forbidden,
            Interrupted,
            Refused,
            Repairable,
            TimedOut,
        ] {
            assert_eq!(failure.shows(), None, "{failure:?}");
        }
    }
}
