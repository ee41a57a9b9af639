//! Decides what happens after a tool's call has failed, by the class of the failure; and when a class of tools is out
//! of order. Values only: the clock and the waiting belong to the executor.

use std::time::Duration;

/// How often a call is run again because what it needs was not available.
const MOST_RETRIES: u32 = 2;
/// The wait before the first of these, which doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// How much longer the second time limit of a call is than the first.
pub const LONGER: u32 = 2;
/// How many calls of a class have to fail one after another, retries included as one, before it is out of order.
const OUT_OF_ORDER_AFTER: u32 = 3;
/// How long calls of a class that is out of order are refused before one may try again.
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
    /// Whether running it twice has the effect of running it once: it reads, or it has changed nothing.
    pub is_repeatable: bool,
    /// Whether a longer time limit is allowed, and the agent has not set the limit itself.
    pub can_be_longer: bool,
    /// Whether another tool is named that may answer instead.
    pub has_alternative: bool,
    /// Whether a person can be asked.
    pub may_ask: bool,
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
        let Self { failure, retries, is_repeatable, can_be_longer, has_alternative, may_ask } = self;
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retries));
        let otherwise = if has_alternative { Reaction::UseAlternative } else { Reaction::Return };
        match failure {
            Failure::TimedOut if retries == 0 && is_repeatable && can_be_longer => Reaction::RunLonger,
            // What may have had half of its effect must not have it again in another way.
            Failure::TimedOut | Failure::Network if !is_repeatable => Reaction::Return,
            Failure::Network | Failure::Unavailable if retries < MOST_RETRIES => Reaction::RunAgain(wait),
            Failure::TimedOut | Failure::Network | Failure::Unavailable | Failure::Absent => otherwise,
            Failure::Refused | Failure::Forbidden if has_alternative => Reaction::UseAlternative,
            Failure::Forbidden if may_ask => Reaction::AskPerson,
            Failure::Repairable | Failure::Refused | Failure::Forbidden | Failure::Broken | Failure::Interrupted => {
                Reaction::Return
            }
        }
    }
}

/// Whether the tools of one class work: after several failures of what they need, their calls are refused at once,
/// except for one from time to time that tries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassHealth {
    /// How many calls in a row found that what the class needs is not available.
    failures: u32,
    /// When the last of them ended.
    failed_at: Duration,
    /// Whether a call is trying it now.
    is_probed: bool,
}

/// Whether a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Runs,
    /// It may, although its class is out of order: it shows whether that is still so.
    Probes,
    /// It may not; the next one may after this time.
    Refused {
        /// How long from now, zero while a call is trying it.
        next: Duration,
    },
}

impl ClassHealth {
    /// Decides about a call at this time of a clock that never goes back, if one may try again after that time.
    pub fn admit(&mut self, now: Duration, probe_after: Duration) -> Admission {
        let waited = now.saturating_sub(self.failed_at);
        match self.is_out_of_order() {
            false => Admission::Runs,
            true if self.is_probed => Admission::Refused { next: Duration::ZERO },
            true if waited < probe_after => Admission::Refused { next: probe_after.saturating_sub(waited) },
            true => {
                self.is_probed = true;
                Admission::Probes
            }
        }
    }

    /// Notes how an admitted call ended: whether what its class needs was available.
    pub fn ended(&mut self, was_available: bool, now: Duration) {
        self.is_probed = false;
        self.failures = if was_available { 0 } else { self.failures.saturating_add(1) };
        self.failed_at = now;
    }

    /// Notes that an admitted call showed nothing, since it was interrupted.
    pub fn undecided(&mut self) {
        self.is_probed = false;
    }

    /// Reports whether calls of the class are refused.
    pub fn is_out_of_order(&self) -> bool {
        self.failures >= OUT_OF_ORDER_AFTER
    }
}

impl Failure {
    /// Reports whether the failure says something about all tools of the class.
    pub fn is_of_class(self) -> bool {
        matches!(self, Failure::Unavailable | Failure::Network)
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
    };
    const REPEATABLE: FailedCall = FailedCall { is_repeatable: true, ..PLAIN };
    const LIMITED: FailedCall = FailedCall { failure: Failure::TimedOut, can_be_longer: true, ..REPEATABLE };

    fn again(milliseconds: u64) -> Reaction {
        Reaction::RunAgain(Duration::from_millis(milliseconds))
    }

    #[test]
    fn each_class_of_failure_has_its_strategy() {
        use Failure::{Absent, Broken, Forbidden, Interrupted, Network, Refused, Repairable, TimedOut, Unavailable};
        use Reaction::{AskPerson, Return, RunLonger, UseAlternative};
        let of = |failure, call: FailedCall| FailedCall { failure, ..call };
        let with = |call: FailedCall| FailedCall { has_alternative: true, ..call };
        let after = |retries, call: FailedCall| FailedCall { retries, ..call };
        let table = [
            (LIMITED, RunLonger),
            (after(1, LIMITED), Return),
            (after(1, with(LIMITED)), UseAlternative),
            (FailedCall { is_repeatable: false, ..LIMITED }, Return),
            (FailedCall { is_repeatable: false, ..with(LIMITED) }, Return),
            (FailedCall { can_be_longer: false, ..LIMITED }, Return),
            (FailedCall { can_be_longer: false, ..with(LIMITED) }, UseAlternative),
            (of(Network, REPEATABLE), again(500)),
            (of(Network, after(1, REPEATABLE)), again(1000)),
            (of(Network, after(2, REPEATABLE)), Return),
            (of(Network, after(2, with(REPEATABLE))), UseAlternative),
            (of(Network, with(PLAIN)), Return),
            // Nothing ran, so nothing can have its effect twice.
            (of(Unavailable, PLAIN), again(500)),
            (of(Unavailable, after(2, PLAIN)), Return),
            (of(Unavailable, after(2, with(PLAIN))), UseAlternative),
            (of(Absent, PLAIN), Return),
            (of(Absent, with(PLAIN)), UseAlternative),
            (of(Refused, PLAIN), Return),
            (of(Refused, with(PLAIN)), UseAlternative),
            (of(Forbidden, PLAIN), Return),
            (of(Forbidden, FailedCall { may_ask: true, ..PLAIN }), AskPerson),
            (of(Forbidden, FailedCall { may_ask: true, ..with(PLAIN) }), UseAlternative),
            (of(Refused, FailedCall { may_ask: true, ..PLAIN }), Return),
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
    fn a_class_out_of_order_is_refused_until_a_probe_succeeds() {
        let second = Duration::from_secs;
        let mut class = ClassHealth::default();
        for at in 0..3 {
            assert_eq!(class.admit(second(at), PROBE_AFTER), Admission::Runs);
            class.ended(false, second(at));
        }
        assert_eq!(class.admit(second(12), PROBE_AFTER), Admission::Refused { next: second(20) });
        assert_eq!(class.admit(second(32), PROBE_AFTER), Admission::Probes);
        assert_eq!(class.admit(second(33), PROBE_AFTER), Admission::Refused { next: Duration::ZERO });
        class.ended(false, second(34));
        assert_eq!(class.admit(second(35), PROBE_AFTER), Admission::Refused { next: second(29) });
        assert_eq!(class.admit(second(64), PROBE_AFTER), Admission::Probes);
        class.undecided();
        assert_eq!(class.admit(second(64), PROBE_AFTER), Admission::Probes);
        class.ended(true, second(65));
        assert_eq!(class.admit(second(65), PROBE_AFTER), Admission::Runs);
        // Failures count only one after another.
        class.ended(false, second(66));
        class.ended(false, second(67));
        class.ended(true, second(68));
        class.ended(false, second(69));
        assert_eq!(class.admit(second(70), PROBE_AFTER), Admission::Runs);
    }
}
