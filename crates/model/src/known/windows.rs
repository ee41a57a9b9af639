//! The context windows of models, from the data file `windows.json`, which names its day and its
//! sources.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::name::{ModelName, without_date};

/// The shipped windows; empty if the file cannot be read, which a test rules out.
static SHIPPED: LazyLock<Shipped> =
    LazyLock::new(|| serde_json::from_str(include_str!("windows.json")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
struct Shipped {
    providers: Vec<OfProvider>,
}

#[derive(Debug, Deserialize)]
struct OfProvider {
    provider: String,
    /// Tokens by the model's name.
    models: BTreeMap<String, u64>,
}

impl ModelName {
    /// Returns the size of the model's context window in tokens, for a request and its reply
    /// together; `None` if it is not known.
    pub fn context_window(&self) -> Option<u64> {
        let ModelName::Hosted { provider, model } = self else {
            return None;
        };
        let models = &SHIPPED
            .providers
            .iter()
            .find(|of| of.provider == provider.name())?
            .models;
        models
            .get(model)
            .or_else(|| models.get(without_date(model)?))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Provider;

    #[test]
    fn every_shipped_window_is_one_of_a_known_provider() {
        let shipped: Shipped = serde_json::from_str(include_str!("windows.json")).unwrap();
        for of in &shipped.providers {
            assert!(
                Provider::WITH_KEYS
                    .iter()
                    .any(|provider| provider.name() == of.provider),
                "{}",
                of.provider
            );
            assert!(
                !of.models.is_empty() && of.models.values().all(|tokens| *tokens > 100_000),
                "{}",
                of.provider
            );
        }
    }

    #[test]
    fn a_window_is_found_by_the_name_with_or_without_its_day() {
        let table = [
            ("anthropic/claude-haiku-4-5", Some(200_000)),
            ("anthropic/claude-haiku-4-5-20251001", Some(200_000)),
            ("anthropic/claude-opus-5", Some(1_000_000)),
            ("openai/gpt-5.4-mini-2026-03-17", Some(400_000)),
            ("openai/claude-opus-5", None),
            ("ollama/qwen3", None),
            ("script:replies.jsonl", None),
        ];
        for (name, expected) in table {
            assert_eq!(
                ModelName::parse(name).unwrap().context_window(),
                expected,
                "{name}"
            );
        }
    }
}
