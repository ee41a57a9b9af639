//! Detects an agent that repeats itself, as it was done for agents of older journals, which are
//! continued as they began.
//!
//! Only whole turns with the same calls and the very same answers in a row count. What replaces it
//! is in `agent_loop/repeated_calls.rs`.

use serde::{Deserialize, Serialize};

use super::repeated_calls::Repeated;
use crate::agent::conversation::{SameAgain, ToolAnswer, ToolCall};

/// The same turn this many times in a row is pointed out to the agent.
const REPEATS_BEFORE_WARNING: u32 = 3;
/// After this many repetitions the agent's work ends.
const REPEATS_BEFORE_STOP: u32 = 8;

/// The newest turn, and how often it was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OlderRepeats {
    last: Option<(String, String)>,
    count: u32,
}

impl OlderRepeats {
    /// Counts a turn; one that differs from the last begins anew.
    pub(super) fn count_turn(&mut self, calls: &[ToolCall], answers: &[ToolAnswer]) -> Repeated {
        let (mut told, mut kinds) = (Vec::new(), Vec::new());
        for answer in answers {
            told.push(answer.text.as_str());
            kinds.push(answer.same_again);
        }
        if kinds.contains(&SameAgain::Stopped) {
            return Repeated::No;
        }
        let asked: Vec<String> = calls
            .iter()
            .map(|call| format!("{} {}", call.name, call.arguments))
            .collect();
        let this = Some((asked.join("\n"), told.join("\n")));
        self.count = if self.last == this {
            self.count.saturating_add(1)
        } else {
            1
        };
        self.last = this;
        if self.count < REPEATS_BEFORE_WARNING {
            Repeated::No
        } else if kinds.contains(&SameAgain::GoesOn) {
            Repeated::Polls
        } else if self.count < REPEATS_BEFORE_STOP {
            Repeated::Warned
        } else {
            Repeated::Loops
        }
    }
}
