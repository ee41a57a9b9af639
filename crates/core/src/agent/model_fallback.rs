//! Which model an agent asks next while endpoints are out: decided from what its models answered so
//! far.
//!
//! The models are numbered as in [`crate::AgentSpec`]: 0 is the agent's own, the others are its
//! fall-backs in order. Each model is asked once before any is waited for; after that, the one
//! whose wait ends first is asked again. An agent that no model answers waits for the user if a key
//! or an account is the reason; otherwise its task fails.

use std::time::Duration;

use crate::task::FailureCause;

/// The longest wait before a model is asked again, unless its provider asks for a longer one.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How a model failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its endpoint does not answer now; it may be asked again after this wait.
    Outage(Duration),
    /// Its endpoint rejects the key or the account, which only the user can mend.
    Account,
    /// The request does not fit into its context.
    TooLarge,
    /// It rejects the request itself, or answers it with something else than a reply.
    Invalid,
}

impl Failure {
    /// Returns the cause for which the task fails if no model answers.
    pub fn cause(self) -> FailureCause {
        match self {
            Self::Outage(_) | Self::Account => FailureCause::Endpoint,
            Self::TooLarge => FailureCause::Context,
            Self::Invalid => FailureCause::Model,
        }
    }

    /// Reports whether the request has failed, whatever other models might answer: the agent's own
    /// model rejects it.
    fn is_final(self, model: usize) -> bool {
        self == Self::Invalid || self == Self::TooLarge && model == 0
    }
}

/// The consequence for an agent that no model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It waits until the user has mended the key or the account of this model.
    Wait {
        /// The model's number.
        model: usize,
    },
    /// Its task fails.
    Fail,
}

/// The model to ask next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextModel {
    /// Its number.
    pub model: usize,
    /// The wait before it is asked; not zero only if no model answers.
    pub wait: Duration,
}

/// The answers of an agent's models to one request; times are measured from its first failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered(Vec<Asked>);

/// The answer of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    NotYet,
    Out { failures: u32, until: Duration },
    Rejected(Failure),
}

impl Asked {
    fn may_answer(self) -> bool {
        !matches!(self, Self::Rejected(_))
    }
}

impl Unanswered {
    /// Creates the record of a request that none of this many models was asked.
    pub fn new(models: usize) -> Self {
        Self(vec![Asked::NotYet; models])
    }

    /// Records that a model failed to answer.
    pub fn failed(&mut self, model: usize, failure: Failure, now: Duration) {
        let Some(asked) = self.0.get_mut(model) else {
            return;
        };
        *asked = match (failure, *asked) {
            (Failure::Account | Failure::TooLarge | Failure::Invalid, _) => {
                Asked::Rejected(failure)
            }
            (Failure::Outage(wait), before) => {
                let failures = if let Asked::Out { failures, .. } = before {
                    failures.saturating_add(1)
                } else {
                    1
                };
                let backoff = Duration::from_secs(1 << failures.min(6)).min(LONGEST_WAIT);
                Asked::Out {
                    failures,
                    until: now + wait.max(backoff),
                }
            }
        };
    }

    /// Reports whether another model can take over at once, or a wait can be shared with another
    /// model.
    ///
    /// If not, a failing model is better asked by its own client until it answers.
    pub fn has_alternative(&self, model: usize) -> bool {
        let others = self
            .0
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != model);
        others.into_iter().any(|(_, asked)| asked.may_answer())
    }

    /// Reports whether every model was asked and none has answered.
    pub fn are_all_out(&self) -> bool {
        !self.0.contains(&Asked::NotYet)
    }

    /// Decides which model is asked after `failed`; `None` if none will answer, or the patience is
    /// at its end.
    pub fn next(&self, failed: usize, now: Duration, patience: Duration) -> Option<NextModel> {
        if self
            .rejection(failed)
            .is_some_and(|failure| failure.is_final(failed))
        {
            return None;
        }
        let count = self.0.len();
        // From the model after the failed one, so that a model that took over is not left for an
        // earlier one.
        let left = patience.saturating_sub(now);
        let mut first: Option<(Duration, usize)> = None;
        for step in 1..=count {
            let model = (failed + step) % count;
            match self.0.get(model) {
                Some(Asked::NotYet) => {
                    return Some(NextModel {
                        model,
                        wait: Duration::ZERO,
                    });
                }
                Some(Asked::Out { until, .. })
                    if first.is_none_or(|(earliest, _)| *until < earliest) =>
                {
                    first = Some((*until, model));
                }
                _ => {}
            }
        }
        let (until, model) = first?;
        if left.is_zero() {
            return None;
        }
        // The last attempt is made when the patience ends.
        Some(NextModel {
            model,
            wait: until.saturating_sub(now).min(left),
        })
    }

    /// Decides what happens after `failed` if no model is asked next.
    pub fn no_answer(&self, failed: usize) -> NoAnswer {
        if self.rejection(failed) == Some(Failure::Invalid) {
            return NoAnswer::Fail;
        }
        for model in 0..self.0.len() {
            if self.rejection(model) == Some(Failure::Account) {
                return NoAnswer::Wait { model };
            }
        }
        NoAnswer::Fail
    }

    fn rejection(&self, model: usize) -> Option<Failure> {
        match self.0.get(model) {
            Some(Asked::Rejected(failure)) => Some(*failure),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(100);

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// Plays failures such as `0:7@3`: model 0 asks for 7 s at second 3; `0:x@3` means that it
    /// rejects the account, `c` that its context is too small, `i` that the request is invalid.
    fn after(models: usize, failures: &str) -> (Unanswered, usize, Duration) {
        let mut unanswered = Unanswered::new(models);
        let mut last = (0, Duration::ZERO);
        for failure in failures.split_whitespace() {
            let (model, rest) = failure.split_once(':').unwrap();
            let (wait, now) = rest.split_once('@').unwrap();
            last = (model.parse().unwrap(), seconds(now.parse().unwrap()));
            let how = match wait {
                "x" => Failure::Account,
                "c" => Failure::TooLarge,
                "i" => Failure::Invalid,
                wait => Failure::Outage(seconds(wait.parse().unwrap())),
            };
            unanswered.failed(last.0, how, last.1);
        }
        (unanswered, last.0, last.1)
    }

    #[test]
    fn each_model_is_asked_before_any_is_waited_for() {
        let table = [
            (1, "0:5@0", Some((0, 5))),
            (1, "0:x@0", None),
            (2, "0:5@0", Some((1, 0))),
            (2, "0:x@0", Some((1, 0))),
            // The model after the failed one comes first, and then from the beginning.
            (3, "1:5@0", Some((2, 0))),
            (3, "1:5@0 2:5@0", Some((0, 0))),
            // All are out: the first whose wait ends, and with equal waits the one after the failed
            // one.
            (2, "0:30@0 1:5@10", Some((1, 5))),
            (2, "0:12@0 1:30@10", Some((0, 2))),
            (3, "0:5@0 1:5@0 2:5@0", Some((0, 5))),
            // A wait that has passed meanwhile is none.
            (2, "0:5@0 1:30@10", Some((0, 0))),
            // A model that rejects the account is not asked again.
            (2, "0:x@0 1:30@10", Some((1, 30))),
            (2, "0:x@0 1:x@0", None),
            // A fall-back may be too small, the agent's own model may not, and an invalid request
            // is nobody's.
            (3, "0:5@0 1:c@0", Some((2, 0))),
            (2, "0:5@0 1:c@3", Some((0, 2))),
            (2, "0:c@0", None),
            (2, "0:5@0 1:i@0", None),
            // The waits grow, unless the provider asks for more.
            (1, "0:0@0 0:0@0 0:0@0", Some((0, 8))),
            (1, "0:0@0 0:0@0 0:9@0", Some((0, 9))),
            (
                1,
                "0:0@0 0:0@0 0:0@0 0:0@0 0:0@0 0:0@0 0:0@0",
                Some((0, 60)),
            ),
            // The patience cuts the wait, and ends the attempts.
            (2, "0:90@0 1:90@95", Some((0, 0))),
            (2, "0:500@0 1:500@95", Some((0, 5))),
            (2, "0:5@0 1:5@100", None),
            // A model that was not asked is asked even then.
            (2, "0:5@100", Some((1, 0))),
        ];
        for (models, failures, expected) in table {
            let (unanswered, failed, now) = after(models, failures);
            let expected = expected.map(|(model, wait)| NextModel {
                model,
                wait: seconds(wait),
            });
            assert_eq!(
                unanswered.next(failed, now, PATIENCE),
                expected,
                "{models} models: {failures}"
            );
        }
    }

    #[test]
    fn an_agent_waits_for_the_user_who_can_mend_an_account() {
        let table = [
            (1, "0:x@0", NoAnswer::Wait { model: 0 }),
            (2, "0:x@0 1:x@0", NoAnswer::Wait { model: 0 }),
            // The other model did not answer for too long, or is too small.
            (2, "0:x@0 1:5@100", NoAnswer::Wait { model: 0 }),
            (2, "0:5@100 1:x@0", NoAnswer::Wait { model: 1 }),
            (2, "0:x@0 1:c@0", NoAnswer::Wait { model: 0 }),
            (2, "1:x@0 0:c@0", NoAnswer::Wait { model: 1 }),
            // Another key would not make the request valid.
            (2, "0:x@0 1:i@0", NoAnswer::Fail),
            (1, "0:5@100", NoAnswer::Fail),
            (1, "0:c@0", NoAnswer::Fail),
            (1, "0:i@0", NoAnswer::Fail),
        ];
        for (models, failures, expected) in table {
            let (unanswered, failed, _) = after(models, failures);
            assert_eq!(
                unanswered.no_answer(failed),
                expected,
                "{models} models: {failures}"
            );
        }
    }

    #[test]
    fn a_model_is_left_only_for_one_that_may_answer() {
        let alternative =
            |models, failures, model| after(models, failures).0.has_alternative(model);
        assert!(!alternative(1, "", 0) && alternative(2, "", 0) && alternative(2, "0:5@0", 1));
        assert!(!alternative(2, "0:x@0", 1) && alternative(3, "0:x@0", 1));
        assert!(!after(2, "0:5@0").0.are_all_out() && after(2, "0:5@0 1:x@0").0.are_all_out());
    }
}
