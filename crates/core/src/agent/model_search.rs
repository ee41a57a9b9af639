//! A search of the web by a model's own endpoint: what is asked for, what comes back, and what it
//! may cost.
//!
//! Such a search is one request to the model, so the budgets cover it before it is sent, as every
//! other one. What the endpoint finds is part of its prompt, and an endpoint may divide a query
//! into several: both are estimated before, and counted as the endpoint reports them.

use serde::{Deserialize, Serialize};

use crate::agent::budget::Amount;
use crate::agent::conversation::Usage;
use crate::agent::price::Price;
use crate::ids::{CallId, TaskId};

/// The most tokens of the reply, reasoning included: the answer is a few sentences.
pub const MAX_OUTPUT_TOKENS: u32 = 4_096;
/// The tokens that are reserved for what the endpoint finds and for its own instructions: ten
/// results of about two thousand tokens.
const FOUND_TOKENS: u64 = 20_000;
/// The searches that are reserved for one query.
const RESERVED_SEARCHES: u64 = 3;
/// Maximum number of characters of an error.
const MAX_ERROR: usize = 500;

/// A page that a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The title.
    pub title: String,
    /// The address.
    pub url: String,
    /// The words around what was found.
    pub snippet: String,
}

/// A query for a model's endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// `provider/model`.
    pub model: String,
    /// The query.
    pub query: String,
}

/// What an endpoint found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchReply {
    /// The model's answer; empty if there is none.
    pub text: String,
    /// The pages, in the endpoint's order; titles and snippets may be empty.
    pub results: Vec<SearchResult>,
    /// The tokens used.
    pub usage: Usage,
    /// The searches that the provider charges for.
    pub searches: u64,
    /// Why the search failed, although the model has replied.
    pub failure: Option<String>,
}

/// What searches of a model cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchPrice {
    /// The price of the tokens.
    pub tokens: Price,
    /// The price of one search in micro-dollars.
    pub search: u64,
}

impl SearchPrice {
    /// Returns what a request with these searches costs, in micro-dollars.
    pub fn cost(&self, usage: Usage, searches: u64) -> u64 {
        self.tokens
            .cost(usage)
            .saturating_add(self.search.saturating_mul(searches))
    }
}

/// A search is about to be asked for; its tokens are reserved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchRequested {
    /// The task.
    pub task: TaskId,
    /// The agent's request number.
    pub turn: u32,
    /// The call that searches.
    pub call_id: CallId,
    /// `provider/model`.
    pub model: String,
    /// The maximum that it is expected to use.
    pub reserved_tokens: u64,
    /// The maximum that it is expected to cost in micro-dollars; `None` if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_micro_usd: Option<u64>,
}

/// A search ended; the reservation is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchEnded {
    /// The task.
    pub task: TaskId,
    /// The agent's request number.
    pub turn: u32,
    /// The call that searched.
    pub call_id: CallId,
    /// Tokens used; what was reserved, if it ended without a whole reply.
    pub usage: Usage,
    /// The cost in micro-dollars; `None` if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// The searches that the provider charges for.
    pub searches: u64,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a search has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchUse {
    /// Tokens.
    pub usage: Usage,
    /// The searches that the provider charges for.
    pub searches: u64,
}

impl SearchUse {
    /// Returns the maximum that a query is expected to use, by its size in bytes, which are no
    /// fewer than its tokens.
    pub fn most(query_bytes: usize) -> SearchUse {
        let query = u64::try_from(query_bytes).unwrap_or(u64::MAX);
        let input_tokens = FOUND_TOKENS.saturating_add(query);
        let usage = Usage {
            input_tokens,
            cached_tokens: 0,
            output_tokens: u64::from(MAX_OUTPUT_TOKENS),
        };
        SearchUse {
            usage,
            searches: RESERVED_SEARCHES,
        }
    }

    /// Returns what this needs of the budgets; `None` for money if the price is not known.
    pub fn amount(self, price: Option<SearchPrice>) -> Amount {
        let micro_usd = price.map(|price| price.cost(self.usage, self.searches));
        Amount {
            tokens: self.usage.total(),
            micro_usd,
        }
    }
}

impl From<&SearchReply> for SearchUse {
    fn from(reply: &SearchReply) -> SearchUse {
        SearchUse {
            usage: reply.usage,
            searches: reply.searches,
        }
    }
}

impl SearchRequested {
    /// Returns what it needs of the budgets.
    pub fn amount(&self) -> Amount {
        Amount {
            tokens: self.reserved_tokens,
            micro_usd: self.reserved_micro_usd,
        }
    }

    /// Returns its end.
    #[must_use]
    pub fn ended(
        &self,
        used: SearchUse,
        price: Option<SearchPrice>,
        error: Option<String>,
    ) -> SearchEnded {
        SearchEnded {
            task: self.task.clone(),
            turn: self.turn,
            call_id: self.call_id.clone(),
            usage: used.usage,
            // What was not used costs nothing, whatever the price is.
            micro_usd: if used == SearchUse::default() {
                Some(0)
            } else {
                used.amount(price).micro_usd
            },
            searches: used.searches,
            error: error.map(|error| crate::truncate(&error, MAX_ERROR)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::price::Rates;

    fn price() -> SearchPrice {
        let rates = Rates {
            input: 3_000_000,
            cached: 300_000,
            output: 15_000_000,
        };
        SearchPrice {
            tokens: Price { rates, long: None },
            search: 10_000,
        }
    }

    #[test]
    fn a_search_costs_its_tokens_and_its_fee() {
        let usage = Usage {
            input_tokens: 1_000,
            cached_tokens: 400,
            output_tokens: 100,
        };
        let table = [
            (Usage::default(), 0, 0),
            (Usage::default(), 2, 20_000),
            (usage, 0, 1_800 + 120 + 1_500),
            (usage, 1, 13_420),
        ];
        for (usage, searches, expected) in table {
            assert_eq!(
                price().cost(usage, searches),
                expected,
                "{usage:?} {searches}"
            );
        }
        let dear = SearchPrice {
            search: u64::MAX,
            ..price()
        };
        assert_eq!(dear.cost(usage, 2), u64::MAX);
    }

    #[test]
    fn more_is_reserved_than_a_search_is_expected_to_use() {
        let most = SearchUse::most(100);
        let tokens = FOUND_TOKENS + 100 + u64::from(MAX_OUTPUT_TOKENS);
        let money = (FOUND_TOKENS + 100) * 3 + u64::from(MAX_OUTPUT_TOKENS) * 15 + 30_000;
        assert_eq!(
            most.amount(None),
            Amount {
                tokens,
                micro_usd: None
            }
        );
        assert_eq!(
            most.amount(Some(price())),
            Amount {
                tokens,
                micro_usd: Some(money)
            }
        );
    }

    #[test]
    fn what_was_not_used_costs_nothing() {
        let asked = SearchRequested {
            task: "T1".into(),
            turn: 2,
            call_id: "c1".into(),
            model: "openai/m".to_owned(),
            reserved_tokens: 10,
            reserved_micro_usd: None,
        };
        let cost = |used: SearchUse, price| asked.ended(used, price, None).micro_usd;
        let some = SearchUse {
            searches: 1,
            ..SearchUse::default()
        };
        assert_eq!(cost(SearchUse::default(), None), Some(0));
        assert_eq!(cost(some, None), None);
        assert_eq!(cost(some, Some(price())), Some(10_000));
    }
}
