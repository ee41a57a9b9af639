//! Detects an agent that repeats itself.
//!
//! Turns with the same calls and the same answers in a row are repetitions. What is not the agent's doing is none: a
//! call that was stopped from outside is passed over, and whatever happens to the agent, such as a message or the end
//! of a wait, begins anew. Asking about something that goes on by itself is no loop however often it is done, since
//! the answer will change; the agent is advised to wait, and its turns, its time and its budget bound it.

use serde::{Deserialize, Serialize};

use crate::conversation::{SameAgain, ToolAnswer, ToolCall};

/// The same turn this many times in a row is pointed out to the agent.
const REPEATS_BEFORE_WARNING: u32 = 3;
/// After this many repetitions the agent's work ends.
const REPEATS_BEFORE_STOP: u32 = 8;

/// The newest turn, and how often it was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Repeats {
    last: Option<(String, String)>,
    count: u32,
}

/// What follows from a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Nothing.
    No,
    /// The agent asks again and again about something that goes on by itself.
    Polls,
    /// It repeats itself, and is told so.
    Warned,
    /// It has not heeded that.
    Loops,
}

impl Repeats {
    /// Counts a turn; one that differs from the last begins anew.
    pub(super) fn count_turn(&mut self, calls: &[ToolCall], answers: &[ToolAnswer]) -> Repeated {
        let has = |kind: SameAgain| answers.iter().any(|answer| answer.same_again == kind);
        if has(SameAgain::Stopped) {
            return Repeated::No;
        }
        let asked: Vec<String> = calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
        let told: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        let this = Some((asked.join("\n"), told.join("\n")));
        self.count = if self.last == this { self.count.saturating_add(1) } else { 1 };
        self.last = this;
        if self.count < REPEATS_BEFORE_WARNING {
            Repeated::No
        } else if has(SameAgain::GoesOn) {
            Repeated::Polls
        } else if self.count < REPEATS_BEFORE_STOP {
            Repeated::Warned
        } else {
            Repeated::Loops
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what follows from turns with these answers to one call, in short.
    fn of(answers: &[(&str, SameAgain)]) -> String {
        let mut repeats = Repeats::default();
        let turn = |(text, same_again): &(&str, SameAgain)| {
            let call = ToolCall { id: "c1".into(), name: "look".to_owned(), arguments: json!({}) };
            let answer = ToolAnswer { same_again: *same_again, ..ToolAnswer::failed(&call.id, *text) };
            match repeats.count_turn(&[call], &[answer]) {
                Repeated::No => '.',
                Repeated::Polls => 'p',
                Repeated::Warned => 'w',
                Repeated::Loops => 'l',
            }
        };
        answers.iter().map(turn).collect()
    }

    #[test]
    fn only_what_the_agent_repeats_itself_is_a_loop() {
        use SameAgain::{GoesOn, Repeats, Stopped};
        let table: [(Vec<(&str, SameAgain)>, &str); 6] = [
            (vec![("a", Repeats); 9], "..wwwwwll"),
            // The control: with another answer among them, the same turns are no loop.
            (vec![("a", Repeats), ("a", Repeats), ("b", Repeats), ("a", Repeats), ("a", Repeats)], "....."),
            (vec![("at work", GoesOn); 12], "..pppppppppp"),
            (vec![("stopped", Stopped); 12], "............"),
            // What stops a call is no news, so the loop around it is still found.
            ([vec![("a", Repeats); 2], vec![("stopped", Stopped)], vec![("a", Repeats)]].concat(), "...w"),
            // Once it has ended, its status does not change any more.
            ([vec![("at work", GoesOn); 3], vec![("ended", Repeats); 3]].concat(), "..p..w"),
        ];
        for (answers, expected) in table {
            assert_eq!(of(&answers), expected, "{answers:?}");
        }
    }
}
