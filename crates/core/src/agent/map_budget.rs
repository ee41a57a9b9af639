//! How large the map of the repository may be that an agent gets with its first message.

use serde::{Deserialize, Serialize};

/// Default size of a map in tokens: some thirty definitions.
pub const MAP_TOKENS: u64 = 1_000;
/// How long an agent's first request waits for its map by default, in milliseconds: nobody notices
/// it.
pub const MAP_WAIT_MS: u64 = 50;
/// The share of an agent's context that a map takes at most, unless the role asks for a certain
/// size.
const SHARE: u64 = 16;
/// The share that it takes at most even then: the task and the work need the rest.
const MOST: u64 = 4;

/// What a role says of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapChoice {
    /// Its agents get none.
    Off,
    /// They get one, however few files there are.
    On,
    /// They get one of at most so many tokens.
    Tokens(u64),
}

impl MapChoice {
    /// Returns the budget in tokens of the map for an agent with this context, in a run whose maps
    /// have so many; zero means none. Without a choice, a map is made only if it is worth it.
    pub fn budget(
        choice: Option<MapChoice>,
        of_run: u64,
        is_worth_it: bool,
        context_tokens: u64,
    ) -> u64 {
        match choice {
            Some(MapChoice::Off) => 0,
            Some(MapChoice::Tokens(tokens)) => tokens.min(context_tokens / MOST),
            Some(MapChoice::On) => {
                (if of_run == 0 { MAP_TOKENS } else { of_run }).min(context_tokens / SHARE)
            }
            None if is_worth_it => of_run.min(context_tokens / SHARE),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_decides_and_a_small_context_limits() {
        let table = [
            (None, 1_000, true, 16_000, 1_000),
            (None, 1_000, false, 16_000, 0),
            (None, 0, true, 16_000, 0),
            (None, 1_000, true, 8_000, 500),
            (None, 5_000, true, 16_000, 1_000),
            (Some(MapChoice::Off), 1_000, true, 16_000, 0),
            (Some(MapChoice::On), 1_000, false, 16_000, 1_000),
            (Some(MapChoice::On), 0, false, 16_000, MAP_TOKENS),
            (Some(MapChoice::On), 500, false, 16_000, 500),
            (Some(MapChoice::Tokens(3_000)), 0, false, 16_000, 3_000),
            (Some(MapChoice::Tokens(9_000)), 0, false, 16_000, 4_000),
        ];
        for (choice, of_run, is_worth_it, context, expected) in table {
            let budget = MapChoice::budget(choice, of_run, is_worth_it, context);
            assert_eq!(
                budget, expected,
                "{choice:?} {of_run} {is_worth_it} {context}"
            );
        }
    }
}
