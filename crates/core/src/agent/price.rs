//! Prices of models and the cost of requests, in whole micro-dollars: money is never counted in
//! floating point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::conversation::Usage;

/// A US dollar in micro-dollars.
pub const DOLLAR: u64 = 1_000_000;

/// The tokens that a price is for.
const TOKENS: u128 = 1_000_000;

/// The price of a model, in micro-dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// The rates of ordinary requests.
    #[serde(flatten)]
    pub rates: Rates,
    /// The rates of requests with a long prompt, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongRates>,
}

/// Rates in micro-dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Prompt tokens that were cached.
    pub cached: u64,
    /// Reply tokens.
    pub output: u64,
}

/// The rates of requests whose prompt is longer than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongRates {
    /// They hold for prompts of more tokens than this.
    pub above: u64,
    /// The rates.
    #[serde(flatten)]
    pub rates: Rates,
}

impl Price {
    /// Returns the cost of one request in micro-dollars, rounded up.
    pub fn cost(&self, usage: Usage) -> u64 {
        let rates = match self.long {
            Some(long) if usage.input_tokens > long.above => long.rates,
            _ => self.rates,
        };
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let parts = [
            (usage.input_tokens - cached, rates.input),
            (cached, rates.cached),
            (usage.output_tokens, rates.output),
        ];
        let sum: u128 = parts
            .iter()
            .map(|(tokens, rate)| u128::from(*tokens) * u128::from(*rate))
            .sum();
        u64::try_from(sum.div_ceil(TOKENS)).unwrap_or(u64::MAX)
    }

    /// Returns the most that a request of this size can cost: nothing of its prompt is cached.
    pub fn most(&self, input_tokens: u64, output_tokens: u64) -> u64 {
        self.cost(Usage {
            input_tokens,
            cached_tokens: 0,
            output_tokens,
        })
    }
}

/// The cost of requests; unknown if the price of one of them is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// The cost of the requests with a known price, in micro-dollars.
    known: u64,
    /// Whether the price of every request is known.
    is_whole: bool,
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            known: 0,
            is_whole: true,
        }
    }
}

impl Cost {
    /// Adds the cost of a request, or `None` if its price is not known.
    pub fn add(&mut self, micro_usd: Option<u64>) {
        match micro_usd {
            Some(cost) => self.known = self.known.saturating_add(cost),
            None => self.is_whole = false,
        }
    }

    /// Returns the whole cost in micro-dollars, or `None` if it is not known.
    pub fn micro_usd(self) -> Option<u64> {
        self.is_whole.then_some(self.known)
    }
}

/// Parses an amount of dollars such as `2`, `0.25` or `1.5` into micro-dollars; `None` if it is
/// none, or finer.
pub fn micro_usd(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    if !is_number(whole) || !is_number(part) {
        return None;
    }
    let part = part.trim_end_matches('0');
    let digits = u32::try_from(part.len())
        .ok()
        .filter(|digits| *digits <= 6)?;
    let fraction = if part.is_empty() {
        0
    } else {
        part.parse::<u64>().ok()? * 10u64.pow(6 - digits)
    };
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(DOLLAR)?
        .checked_add(fraction)
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Formats micro-dollars for people: whole cents, or four digits below ten cents.
pub fn dollars(micro_usd: u64) -> String {
    let (unit, digits) = if micro_usd < DOLLAR / 10 {
        (100, 4)
    } else {
        (10_000, 2)
    };
    // Rounded up, so that no cost is shown as none.
    let units = micro_usd.div_ceil(unit);
    let per_dollar = DOLLAR / unit;
    format!("${}.{:0digits$}", units / per_dollar, units % per_dollar)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: u64, cached: u64, output: u64) -> Price {
        Price {
            rates: Rates {
                input,
                cached,
                output,
            },
            long: None,
        }
    }

    #[test]
    fn a_request_costs_its_tokens() {
        let plain = price(3_000_000, 300_000, 15_000_000);
        let rates = Rates {
            input: 6_000_000,
            cached: 600_000,
            output: 22_500_000,
        };
        let tiered = Price {
            long: Some(LongRates {
                above: 1_000,
                rates,
            }),
            ..plain
        };
        let table = [
            (plain, (0, 0, 0), 0),
            (plain, (1_000_000, 0, 0), 3_000_000),
            (plain, (1_000_000, 1_000_000, 0), 300_000),
            (plain, (1_000, 400, 100), 1_800 + 120 + 1_500),
            // Rounded up: a cost is never counted as none.
            (plain, (0, 0, 1), 15),
            (price(1, 0, 0), (1, 0, 0), 1),
            // More cached tokens than there are.
            (plain, (100, 200, 0), 30),
            (tiered, (1_000, 0, 10), 3_000 + 150),
            (tiered, (1_001, 0, 10), 6_006 + 225),
            (price(u64::MAX, 0, 0), (u64::MAX, 0, 0), u64::MAX),
        ];
        for (price, (input_tokens, cached_tokens, output_tokens), expected) in table {
            let usage = Usage {
                input_tokens,
                cached_tokens,
                output_tokens,
            };
            assert_eq!(price.cost(usage), expected, "{usage:?}");
        }
        assert_eq!(plain.most(1_000, 100), 4_500);
    }

    #[test]
    fn one_unknown_price_makes_the_sum_unknown() {
        let sum = |costs: &[Option<u64>]| {
            let mut sum = Cost::default();
            for cost in costs.iter() {
                sum.add(*cost);
            }
            sum.micro_usd()
        };
        assert_eq!(
            (
                sum(&[]),
                sum(&[Some(2), Some(3)]),
                sum(&[Some(2), None, Some(3)])
            ),
            (Some(0), Some(5), None)
        );
    }

    #[test]
    fn dollars_are_read_and_shown() {
        let table = [
            ("2", Some(2_000_000)),
            ("0.25", Some(250_000)),
            ("0.000001", Some(1)),
            ("1.5000000", Some(1_500_000)),
            ("0", Some(0)),
            ("0.0000001", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-1", None),
            ("1e3", None),
            ("$2", None),
            ("99999999999999999", None),
        ];
        for (text, expected) in table {
            assert_eq!(micro_usd(text), expected, "{text}");
        }
        let shown = [0, 1, 99_900, 100_000, 1_234_567].map(dollars);
        assert_eq!(shown, ["$0.0000", "$0.0001", "$0.0999", "$0.10", "$1.24"]);
    }
}
