//! One way to follow a run: a reader names the last event that it has, and gets every later one,
//! once and in order, whether it was recorded before the reader came or comes afterwards.
//!
//! Events have dense numbers, so nothing can be missed or seen twice unnoticed. Live items, such as
//! a piece of a model's reply, have no number and may be missing; each names the newest event at
//! its time and is never given before that event. Readers of every kind use this: a program's
//! stream, and displays of a run.

use std::collections::VecDeque;

use crate::event::Recorded;

/// How many live items wait for the events that they follow; the oldest are dropped beyond that.
const MAX_HELD: usize = 256;

/// Something that is not recorded, with the newest event at its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live<L> {
    /// The number of the newest event when it happened.
    pub after: u64,
    /// What happened.
    pub item: L,
}

/// What a follower of a run gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Followed<L> {
    /// An event.
    Fact(Box<Recorded>),
    /// Everything that had been recorded when the reader came has been given, up to this number.
    CaughtUp(u64),
    /// Something that is not recorded.
    Live(L),
}

/// Why a reader cannot be given what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The reader has an event that the run does not have, so it followed another one.
    #[error("there is no event {asked}: the newest is {newest}; follow the run from its beginning")]
    NoSuchEvent {
        /// The number that the reader named.
        asked: u64,
        /// The number of the newest event.
        newest: u64,
    },
    /// The journal lacks an event.
    #[error("event {missing} is missing: the next one is {found}")]
    Gap {
        /// The number that is due.
        missing: u64,
        /// The number that was found.
        found: u64,
    },
}

/// The position of one reader in one run.
#[derive(Clone, Debug)]
pub struct Feed<L> {
    /// The newest event that was given.
    seen: u64,
    /// The newest event when the reader came, until it is said that it has been given.
    history_end: Option<u64>,
    held: VecDeque<Live<L>>,
}

impl<L> Feed<L> {
    /// Creates the position of a reader that has every event up to `seen` (0 for none), in a run
    /// whose newest event is `newest`.
    ///
    /// # Errors
    ///
    /// Fails if the run has no event `seen`.
    pub fn new(seen: u64, newest: u64) -> Result<Self, FeedError> {
        if seen > newest {
            return Err(FeedError::NoSuchEvent {
                asked: seen,
                newest,
            });
        }
        Ok(Self {
            seen,
            history_end: Some(newest),
            held: VecDeque::new(),
        })
    }

    /// Returns the number of the newest event that was given.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns what the reader gets of newly read events: those that it has already are left out.
    ///
    /// # Errors
    ///
    /// Fails if an event is missing before the first, or between two, of them.
    pub fn facts(&mut self, facts: Vec<Recorded>) -> Result<Vec<Followed<L>>, FeedError> {
        let mut given = self.settled();
        for fact in facts {
            if fact.seq <= self.seen {
                continue;
            }
            if fact.seq != self.seen + 1 {
                return Err(FeedError::Gap {
                    missing: self.seen + 1,
                    found: fact.seq,
                });
            }
            self.seen = fact.seq;
            given.push(Followed::Fact(Box::new(fact)));
            given.extend(self.settled());
        }
        Ok(given)
    }

    /// Takes a live item; returns it if the reader has the event that it follows, and otherwise
    /// keeps it until then.
    pub fn live(&mut self, live: Live<L>) -> Option<Followed<L>> {
        if live.after <= self.seen && self.history_end.is_none() && self.held.is_empty() {
            return Some(Followed::Live(live.item));
        }
        if self.held.len() == MAX_HELD {
            self.held.pop_front();
        }
        self.held.push_back(live);
        None
    }

    /// Returns what is due now that the newest given event is `seen`.
    fn settled(&mut self) -> Vec<Followed<L>> {
        let mut given = Vec::new();
        if self.history_end.is_some_and(|end| end <= self.seen) {
            self.history_end = None;
            given.push(Followed::CaughtUp(self.seen));
        }
        if self.history_end.is_some() {
            return given;
        }
        while let Some(live) = self.held.pop_front_if(|live| live.after <= self.seen) {
            given.push(Followed::Live(live.item));
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Event;
    use crate::ids::{RunId, TaskId};

    fn fact(seq: u64) -> Recorded {
        Recorded {
            run_id: RunId::from("r-1"),
            seq,
            ts_ms: 0,
            v: 1,
            event: Event::TaskReady {
                task: TaskId::from("T1"),
            },
        }
    }

    fn facts(from: u64, to: u64) -> Vec<Recorded> {
        (from..=to).map(fact).collect()
    }

    fn numbers<L>(given: &[Followed<L>]) -> Vec<u64> {
        let number = |followed: &Followed<L>| match followed {
            Followed::Fact(fact) => Some(fact.seq),
            _ => None,
        };
        given.iter().filter_map(number).collect()
    }

    #[test]
    fn a_reader_is_told_once_where_history_ends() {
        let mut feed = Feed::<u64>::new(1, 2).unwrap();
        let given = feed.facts(facts(1, 4)).unwrap();
        let [second, caught_up, third, fourth] = <[_; 4]>::try_from(given).unwrap();
        assert_eq!(numbers(&[second, third, fourth]), [2, 3, 4]);
        assert_eq!(caught_up, Followed::CaughtUp(2));
        // One that has everything is told so at once.
        let mut current = Feed::<u64>::new(4, 4).unwrap();
        assert_eq!(current.facts(Vec::new()).unwrap(), [Followed::CaughtUp(4)]);
        assert_eq!(current.facts(Vec::new()).unwrap(), []);
    }

    #[test]
    fn an_unknown_position_and_a_gap_are_errors() {
        let unknown = Feed::<u64>::new(5, 4).err();
        assert_eq!(
            unknown,
            Some(FeedError::NoSuchEvent {
                asked: 5,
                newest: 4
            })
        );
        let mut feed = Feed::<u64>::new(0, 4).unwrap();
        let gap = feed.facts(vec![fact(1), fact(3)]);
        assert_eq!(
            gap,
            Err(FeedError::Gap {
                missing: 2,
                found: 3
            })
        );
    }

    #[test]
    fn live_items_that_nobody_reads_are_dropped_from_the_oldest() {
        let mut feed = Feed::new(0, 1).unwrap();
        let many = 2 * MAX_HELD as u64;
        for item in 0..many {
            assert_eq!(feed.live(Live { after: 1, item }), None);
        }
        let given = feed.facts(facts(1, 1)).unwrap();
        assert_eq!(given.len(), 2 + MAX_HELD);
        assert_eq!(given.last(), Some(&Followed::Live(many - 1)));
    }

    proptest! {
        /// Any prefix, and what follows it, are all events; no live item comes before the event
        /// that it follows.
        #[test]
        fn a_prefix_and_what_follows_are_everything(
            total in 0_u64..40,
            seen in 0_u64..40,
            at_attach in 0_u64..40,
            steps in proptest::collection::vec((any::<bool>(), 0_u64..8), 0..40),
        ) {
            let (seen, at_attach) = (seen.min(total), at_attach.min(total));
            prop_assume!(seen <= at_attach);
            let mut feed = Feed::new(seen, at_attach).unwrap();
            let (mut newest, mut given) = (at_attach, Vec::new());
            for (is_live, by) in steps {
                if is_live {
                    given.extend(feed.live(Live { after: newest, item: newest }));
                } else {
                    newest = (newest + by).min(total);
                    // A reader may get the same events again.
                    let from = feed.seen().saturating_sub(by).max(1);
                    given.extend(feed.facts(facts(from, newest)).unwrap());
                }
            }
            given.extend(feed.facts(facts(feed.seen() + 1, total)).unwrap());
            prop_assert_eq!(numbers(&given), (seen + 1..=total).collect::<Vec<_>>());
            let mut last = seen;
            for followed in &given {
                match followed {
                    Followed::Fact(fact) => last = fact.seq,
                    Followed::CaughtUp(end) => prop_assert!(*end == at_attach && last == at_attach),
                    Followed::Live(after) => prop_assert!(*after <= last),
                }
            }
            let ends = given.iter().filter(|followed| matches!(followed, Followed::CaughtUp(_)));
            prop_assert_eq!(ends.count(), 1);
        }
    }
}
