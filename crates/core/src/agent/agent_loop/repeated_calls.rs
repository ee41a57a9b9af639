//! Detects calls that an agent repeats.
//!
//! The same call with the same result counts, wherever it stands in its turn and whatever other
//! calls come between, until something new has happened: a call that may change files has had a
//! result that it has not had before, a message has come, a wait has ended, work was returned. An
//! agent is told at the third time; after the fifth, the call is not run any more; an agent that
//! makes nothing but such calls is ended. A result is the same whatever its durations and times of
//! day, and whatever the handle under which its whole text is kept.
//!
//! What is not the agent's doing is no repetition: a call that was stopped from outside is passed
//! over. Asking about something that goes on by itself is none however often it is done, since the
//! answer will change; the agent is advised to wait, and its turns, its time and its budget bound
//! it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::agent::conversation::{SameAgain, ToolAnswer, ToolCall};
use crate::ids::BlobId;
use crate::text::without_times;

/// The same call with the same result this many times is pointed out to the agent.
const REPEATS_BEFORE_WARNING: u32 = 3;
/// After this many times it is not run any more.
const REPEATS_BEFORE_REFUSAL: u32 = 5;
/// This many turns in a row of nothing but refused calls end the agent's work.
const REFUSED_TURNS: u32 = 3;
/// The maximum number of results that are remembered; more than an agent has in an attempt.
const MOST_RESULTS: usize = 4_000;
/// The name of a kept text, as the mark of a cut names it.
const HANDLE: &str = "artifact:";

/// The calls of an agent, and how often each has had its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Repeats {
    /// The newest result of each call.
    newest: BTreeMap<BlobId, BlobId>,
    /// How often each call has had each result since something new has happened.
    counts: BTreeMap<BlobId, u32>,
    /// How many turns in a row consist of nothing but refused calls.
    refused_turns: u32,
}

/// What follows from a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Nothing.
    No,
    /// The agent asks again and again about something that goes on by itself.
    Polls,
    /// It repeats itself, and is told so.
    Warned,
    /// It is told that calls of these tools are not run any more.
    Ends(BTreeSet<String>),
    /// It has not heeded that.
    Loops,
}

impl Repeats {
    /// Begins anew, since something new has happened.
    pub(super) fn begin_anew(&mut self) {
        for count in self.counts.values_mut() {
            *count = 0;
        }
        self.refused_turns = 0;
    }

    /// Reports whether a call is not run, since it has had the same result too often.
    pub(super) fn refuses(&self, call: &ToolCall) -> bool {
        let newest = self.newest.get(&call_id(call));
        newest
            .and_then(|pair| self.counts.get(pair))
            .is_some_and(|count| *count >= REPEATS_BEFORE_REFUSAL)
    }

    /// Counts the calls of a turn; `changes` says whether a call of this name may change files.
    pub(super) fn count_turn(
        &mut self,
        calls: &[ToolCall],
        answers: &[ToolAnswer],
        changes: impl Fn(&str) -> bool,
    ) -> Repeated {
        let mut highest = 0;
        let (mut polls, mut ended, mut refused) = (false, BTreeSet::new(), 0);
        for (call, answer) in calls.iter().zip(answers) {
            if self.refuses(call) {
                refused += 1;
                continue;
            }
            if answer.same_again == SameAgain::Stopped {
                continue;
            }
            let count = self.count(call, answer, changes(&call.name));
            if answer.same_again == SameAgain::GoesOn {
                polls |= count >= REPEATS_BEFORE_WARNING;
                // Its answer will change.
                self.newest.remove(&call_id(call));
                continue;
            }
            highest = highest.max(count);
            if count == REPEATS_BEFORE_REFUSAL {
                ended.insert(call.name.clone());
            }
        }
        self.refused_turns = if refused == calls.len() {
            self.refused_turns + 1
        } else {
            0
        };
        if self.refused_turns >= REFUSED_TURNS {
            Repeated::Loops
        } else if !ended.is_empty() {
            Repeated::Ends(ended)
        } else if highest >= REPEATS_BEFORE_WARNING {
            Repeated::Warned
        } else if polls {
            Repeated::Polls
        } else {
            Repeated::No
        }
    }

    /// Counts a result, and returns how often the call has had it.
    fn count(&mut self, call: &ToolCall, answer: &ToolAnswer, may_change: bool) -> u32 {
        if self.counts.len() >= MOST_RESULTS {
            *self = Self::default();
        }
        let id = call_id(call);
        let pair = BlobId::from_content(format!("{id}\n{}", comparable(&answer.text)).as_bytes());
        if may_change && !self.counts.contains_key(&pair) {
            self.begin_anew();
        }
        self.newest.insert(id, pair.clone());
        let count = self.counts.entry(pair).or_default();
        *count += 1;
        *count
    }
}

/// Returns what identifies a call: its name and its arguments.
fn call_id(call: &ToolCall) -> BlobId {
    BlobId::from_content(format!("{} {}", call.name, call.arguments).as_bytes())
}

/// Returns a result without what differs each time although it says the same.
fn comparable(text: &str) -> String {
    let mut parts = text.split(HANDLE);
    let mut same = parts.next().map(without_times).unwrap_or_default();
    for part in parts {
        let rest =
            part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        same.push_str(HANDLE);
        same.push_str(&without_times(rest));
    }
    same
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what follows from turns of one call each, in short: the call's name, and its answer.
    fn of(turns: &[(&str, &str, SameAgain)]) -> String {
        let mut repeats = Repeats::default();
        let turn = |(name, text, same_again): &(&str, &str, SameAgain)| {
            let call = ToolCall {
                id: "c1".into(),
                name: (*name).to_owned(),
                arguments: json!({}),
            };
            let is_refused = repeats.refuses(&call);
            let answer = ToolAnswer {
                same_again: *same_again,
                ..ToolAnswer::failed(&call.id, *text)
            };
            match repeats.count_turn(&[call], &[answer], |name| name.starts_with("write")) {
                Repeated::No if is_refused => '-',
                Repeated::No => '.',
                Repeated::Polls => 'p',
                Repeated::Warned => 'w',
                Repeated::Ends(_) => 'e',
                Repeated::Loops => 'l',
            }
        };
        turns.iter().map(turn).collect()
    }

    #[test]
    fn only_what_the_agent_repeats_itself_is_a_loop() {
        use SameAgain::{GoesOn, Repeats, Stopped};
        type Call = (&'static str, &'static str, SameAgain);
        let look = |text: &'static str| ("look", text, Repeats);
        let (read, test) = (("read", "r", Repeats), ("test", "t", Repeats));
        let write = |name: &'static str| (name, "written", Repeats);
        let table: Vec<(Vec<Call>, &str)> = vec![
            (vec![look("a"); 9], "..wwe--ll"),
            // Another answer among them makes no difference; the control: other answers each time
            // do.
            (
                [vec![look("a"); 2], vec![look("b")], vec![look("a"); 3]].concat(),
                "...wwe",
            ),
            (
                vec![
                    look("a"),
                    look("b"),
                    look("c"),
                    look("d"),
                    look("e"),
                    look("f"),
                ],
                "......",
            ),
            // Two calls in turn are a loop, too.
            ([read, test].repeat(8), "....wwwwee--llll"),
            // Work in between is news, but not if it is the same work each time.
            (
                vec![
                    test,
                    write("write 1"),
                    test,
                    write("write 2"),
                    test,
                    write("write 3"),
                    test,
                    write("write 4"),
                    test,
                ],
                ".........",
            ),
            ([test, write("write")].repeat(6), ".....wwwwee-"),
            (vec![("look", "at work", GoesOn); 12], "..pppppppppp"),
            (vec![("look", "stopped", Stopped); 12], "............"),
            // What stops a call is no news, so the loop around it is still found.
            (
                [
                    vec![look("a"); 2],
                    vec![("look", "stopped", Stopped)],
                    vec![look("a")],
                ]
                .concat(),
                "...w",
            ),
            // Once it has ended, its status does not change any more.
            (
                [vec![("look", "at work", GoesOn); 3], vec![look("ended"); 3]].concat(),
                "..p..w",
            ),
        ];
        for (turns, expected) in table {
            assert_eq!(of(&turns), expected, "{turns:?}");
        }
    }

    /// Sixty such calls have cost 422,000 tokens in one run, although another one was ended at its
    /// eighth turn.
    #[test]
    fn a_result_is_the_same_whatever_it_took_and_wherever_it_is_kept() {
        let turns: Vec<String> = (0..9)
            .map(|turn| {
                format!(
                    "test result: ok. finished in 0.{turn}4s\n[… 13 lines left out; full text: \
                     read_file with path `artifact:a{turn}` …]\n[exit code 0, 1.{turn} s]"
                )
            })
            .collect();
        let turns: Vec<(&str, &str, SameAgain)> = turns
            .iter()
            .map(|text| ("test", text.as_str(), SameAgain::Repeats))
            .collect();
        assert_eq!(of(&turns), "..wwe--ll");
        // The control: what else differs, counts.
        let turns: Vec<String> = (0..9)
            .map(|turn| format!("{turn} failed\n[exit code 1, 1.0 s]"))
            .collect();
        let turns: Vec<(&str, &str, SameAgain)> = turns
            .iter()
            .map(|text| ("test", text.as_str(), SameAgain::Repeats))
            .collect();
        assert_eq!(of(&turns), ".........");
    }

    #[test]
    fn what_is_new_lets_a_call_be_made_again() {
        let call = ToolCall {
            id: "c1".into(),
            name: "look".to_owned(),
            arguments: json!({}),
        };
        let answer = ToolAnswer::failed(&call.id, "same");
        let mut repeats = Repeats::default();
        let once = |repeats: &mut Repeats| {
            repeats.count_turn(
                std::slice::from_ref(&call),
                std::slice::from_ref(&answer),
                |_| false,
            )
        };
        for _ in 0..4 {
            once(&mut repeats);
        }
        assert!(!repeats.refuses(&call));
        assert_eq!(
            once(&mut repeats),
            Repeated::Ends(BTreeSet::from(["look".to_owned()]))
        );
        assert!(repeats.refuses(&call));
        repeats.begin_anew();
        assert!(!repeats.refuses(&call));
        assert_eq!(once(&mut repeats), Repeated::No);
    }
}
