//! The prices of models: the user's own, and those of the data file `prices.json`, which names its
//! day and its sources.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use orchestrate_core::Price;
use orchestrate_core::agent::model_search::SearchPrice;
use orchestrate_core::agent::price::{LongRates, Rates, micro_usd};
use serde::Deserialize;

use crate::error::ModelError;
use crate::known::catalog::Models;
use crate::name::{ModelName, without_date};
use crate::provider::Provider;

/// The shipped prices; empty if the file cannot be read, which a test rules out.
static SHIPPED: LazyLock<Shipped> =
    LazyLock::new(|| serde_json::from_str(include_str!("prices.json")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
struct Shipped {
    looked_up: String,
    providers: Vec<OfProvider>,
}

#[derive(Debug, Deserialize)]
struct OfProvider {
    provider: String,
    /// Dollars for one search of the web by the endpoint, as a decimal text.
    search: Option<String>,
    models: BTreeMap<String, Row>,
}

impl OfProvider {
    fn shipped(provider: Provider) -> Option<&'static Self> {
        let mut providers = SHIPPED.providers.iter();
        providers.find(|of| of.provider == provider.name())
    }

    /// Returns the prices of a model, or of the one of this name without a date.
    fn row(&self, model: &str) -> Option<&Row> {
        match self.models.get(model) {
            Some(row) => Some(row),
            None => self.models.get(without_date(model)?),
        }
    }
}

/// Dollars for a million tokens, as decimal texts.
#[derive(Debug, Deserialize)]
struct Row {
    #[serde(flatten)]
    rates: TextRates,
    long: Option<LongRow>,
    /// Dollars for one search, if it is not the provider's usual price.
    search: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LongRow {
    above: u64,
    #[serde(flatten)]
    rates: TextRates,
}

#[derive(Debug, Deserialize)]
struct TextRates {
    input: String,
    cached: String,
    output: String,
    /// The rate of prompt tokens that are written into the provider's cache.
    cache_write: Option<String>,
}

impl TextRates {
    fn rates(&self) -> Option<Rates> {
        // Requests mark their prompts for the cache, so what was not read from it is written into
        // it.
        let input = self.cache_write.as_deref().unwrap_or(&self.input);
        Some(Rates {
            input: micro_usd(input)?,
            cached: micro_usd(&self.cached)?,
            output: micro_usd(&self.output)?,
        })
    }
}

impl Row {
    fn price(&self) -> Option<Price> {
        let long = match &self.long {
            Some(long) => Some(LongRates {
                above: long.above,
                rates: long.rates.rates()?,
            }),
            None => None,
        };
        Some(Price {
            rates: self.rates.rates()?,
            long,
        })
    }
}

/// Returns the day on which the shipped prices were looked up, such as `2026-11-23`.
pub fn prices_date() -> &'static str {
    &SHIPPED.looked_up
}

impl Models {
    /// Replaces the user's own prices, by the model's name.
    #[must_use]
    pub fn with_prices(mut self, prices: BTreeMap<String, Price>) -> Self {
        self.prices = prices;
        self
    }

    /// Returns the price of a model: the user's, or else the shipped one. Scripts and models of
    /// local servers cost nothing.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoPrice`] if it is not known.
    pub fn price(&self, name: &ModelName) -> Result<Price, ModelError> {
        let text = name.to_string();
        let own = self.prices.get(&text).copied();
        own.or_else(|| shipped(name))
            .ok_or(ModelError::NoPrice { model: text })
    }

    /// Returns what searches of the web by the endpoint of a model cost.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoPrice`] if that is not known.
    pub fn search_price(&self, name: &ModelName) -> Result<SearchPrice, ModelError> {
        let tokens = self.price(name)?;
        let search = search_fee(name).ok_or_else(|| ModelError::NoPrice {
            model: name.to_string(),
        })?;
        Ok(SearchPrice { tokens, search })
    }

    /// Requires that the endpoint of a model has a search of the web, as far as that is known
    /// without asking it.
    ///
    /// # Errors
    ///
    /// [`ModelError::NoSearch`] if it has none, or as [`Models::check`] does.
    pub fn require_search(&self, name: &ModelName) -> Result<(), ModelError> {
        let of_endpoint = match name {
            ModelName::Hosted { .. } | ModelName::Other(_) => self.endpoint(name)?.search,
            ModelName::Script(_) | ModelName::Replay(_) => None,
        };
        of_endpoint
            .map(drop)
            .ok_or_else(|| ModelError::no_search(&name.to_string()))
    }
}

/// Returns the shipped price of one search in micro-dollars; `None` if it is not known.
fn search_fee(name: &ModelName) -> Option<u64> {
    let ModelName::Hosted { provider, model } = name else {
        return None;
    };
    let of = OfProvider::shipped(*provider)?;
    let own = of.row(model).and_then(|row| row.search.as_deref());
    micro_usd(own.or(of.search.as_deref())?)
}

fn shipped(name: &ModelName) -> Option<Price> {
    match name {
        ModelName::Script(_) => Some(Price::default()),
        ModelName::Hosted { provider, .. } if Provider::LOCAL.contains(provider) => {
            Some(Price::default())
        }
        ModelName::Hosted { provider, model } => {
            OfProvider::shipped(*provider)?.row(model)?.price()
        }
        ModelName::Other(_) | ModelName::Replay(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn price(text: &str) -> Option<(u64, u64, u64)> {
        let models = Models::new(Environment::default(), None);
        let free = (
            "ollama/paid".to_owned(),
            Price {
                rates: Rates {
                    input: 7,
                    cached: 8,
                    output: 9,
                },
                long: None,
            },
        );
        let models = models.with_prices([free].into());
        let price = models.price(&ModelName::parse(text).unwrap()).ok()?;
        Some((price.rates.input, price.rates.cached, price.rates.output))
    }

    #[test]
    fn every_shipped_price_can_be_read() {
        let shipped: Shipped = serde_json::from_str(include_str!("prices.json")).unwrap();
        assert_eq!(shipped.looked_up.len(), 10);
        let models = shipped
            .providers
            .iter()
            .flat_map(|of| of.models.iter().map(move |(name, row)| (of, name, row)));
        let mut count = 0;
        for (of, name, row) in models {
            let price = row.price().unwrap_or_else(|| panic!("{name}"));
            let Rates {
                input,
                cached,
                output,
            } = price.rates;
            assert!(
                Provider::named(&of.provider).is_some() && cached < input && input < output,
                "{name}"
            );
            count += 1;
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn a_search_has_a_price_of_its_own() {
        let models = Models::new(Environment::default(), None);
        let table = [
            ("anthropic/claude-sonnet-5", Some(10_000)),
            ("openai/gpt-5.6", Some(10_000)),
            ("gemini/gemini-3.5-flash", Some(14_000)),
            ("gemini/gemini-2.5-pro", Some(35_000)),
            ("openai/unknown", None),
            ("openrouter/auto", None),
            ("ollama/free", None),
            ("script:x.jsonl", None),
        ];
        for (name, expected) in table {
            let price = models.search_price(&ModelName::parse(name).unwrap());
            assert_eq!(price.ok().map(|price| price.search), expected, "{name}");
        }
    }

    #[test]
    fn the_users_own_price_counts_before_the_shipped_one() {
        let sonnet = Some((2_500_000, 200_000, 10_000_000));
        let table = [
            ("anthropic/claude-sonnet-5", sonnet),
            ("anthropic/claude-sonnet-5-20260630", sonnet),
            (
                "anthropic/claude-sonnet-5-5",
                Some((2_500_000, 100_000, 10_000_000)),
            ),
            (
                "openai/gpt-5.4-2026-03-05",
                Some((2_500_000, 250_000, 15_000_000)),
            ),
            ("openai/gpt-5.4-unknown", None),
            ("openrouter/auto", None),
            ("some-model", None),
            ("ollama/free", Some((0, 0, 0))),
            ("ollama/paid", Some((7, 8, 9))),
            ("script:x.jsonl", Some((0, 0, 0))),
        ];
        for (name, expected) in table {
            assert_eq!(price(name), expected, "{name}");
        }
    }
}
