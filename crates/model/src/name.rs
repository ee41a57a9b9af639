//! Names of models as users type them: `provider/model`, `script:FILE`, `replay:RUN`.

use std::fmt;
use std::path::PathBuf;

use crate::error::ModelError;
use crate::provider::Provider;
use crate::scripted::SCRIPT_PREFIX;

/// The prefix of `replay:RUN`, the recorded replies of a run.
const REPLAY_PREFIX: &str = "replay:";

/// The number of digits of a date.
const DATE_DIGITS: usize = 8;

/// A parsed model name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// A model of a known provider.
    Hosted {
        /// The provider, from before the slash.
        provider: Provider,
        /// The provider's own name for the model.
        model: String,
    },
    /// A model of the OpenAI-compatible server that `--base-url` names.
    Other(String),
    /// The replies in a script file.
    Script(PathBuf),
    /// The recorded replies of a run, by its id. Such names are parsed, but cannot be opened yet.
    Replay(String),
}

impl ModelName {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// [`ModelError::InvalidName`] if it is empty, contains white space, or has nothing after its
    /// prefix.
    pub fn parse(name: &str) -> Result<Self, ModelError> {
        Self::read(name.trim()).map_err(|problem| ModelError::InvalidName {
            name: name.to_owned(),
            problem: problem.to_owned(),
        })
    }

    /// Parses a name; the error says what is wrong with it.
    fn read(text: &str) -> Result<Self, &'static str> {
        if let Some(file) = text.strip_prefix(SCRIPT_PREFIX) {
            return match file {
                "" => Err("no file after `script:`"),
                file => Ok(Self::Script(file.into())),
            };
        }
        if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("write it as `provider/model`, for example `openai/gpt-5`");
        }
        if let Some(run) = text.strip_prefix(REPLAY_PREFIX) {
            return match run {
                "" => Err("no run after `replay:`"),
                run => Ok(Self::Replay(run.to_owned())),
            };
        }
        if let Some((first, model)) = text.split_once('/')
            && let Some(provider) = Provider::named(first)
        {
            let model = model.to_owned();
            return match model.as_str() {
                "" => Err("no model after the provider"),
                _ => Ok(Self::Hosted { provider, model }),
            };
        }
        Ok(Self::Other(text.to_owned()))
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosted { provider, model } => write!(f, "{}/{model}", provider.name()),
            Self::Other(model) => f.write_str(model),
            Self::Script(file) => write!(f, "{SCRIPT_PREFIX}{}", file.display()),
            Self::Replay(run) => write!(f, "{REPLAY_PREFIX}{run}"),
        }
    }
}

/// Returns the name of a model without the day of its version, such as `-20251001` or
/// `-2026-04-01`; `None` if it has none.
pub(crate) fn without_date(model: &str) -> Option<&str> {
    before_date(model, 0).or_else(|| before_date(model, 2))
}

/// Returns what is before a date with as many separators.
fn before_date(model: &str, separators: usize) -> Option<&str> {
    let start = model.len().checked_sub(DATE_DIGITS + separators)?;
    let (name, date) = model.split_at_checked(start)?;
    let digits = date.chars().filter(char::is_ascii_digit).count();
    if digits == DATE_DIGITS && date.starts_with("20") {
        name.strip_suffix('-')
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_and_together() {
        let hosted = |provider, model: &str| ModelName::Hosted {
            provider,
            model: model.to_owned(),
        };
        for (text, expected) in [
            ("openai/gpt-5", hosted(Provider::OpenAi, "gpt-5")),
            (
                "anthropic/claude-sonnet-5",
                hosted(Provider::Anthropic, "claude-sonnet-5"),
            ),
            (
                "openrouter/qwen/qwen3",
                hosted(Provider::OpenRouter, "qwen/qwen3"),
            ),
            ("ollama/qwen3:30b", hosted(Provider::Ollama, "qwen3:30b")),
            ("qwen3", ModelName::Other("qwen3".to_owned())),
            ("qwen/qwen3", ModelName::Other("qwen/qwen3".to_owned())),
            (
                "script:my demo.jsonl",
                ModelName::Script("my demo.jsonl".into()),
            ),
            ("replay:r-abc123", ModelName::Replay("r-abc123".to_owned())),
        ] {
            let name = ModelName::parse(text).unwrap();
            assert_eq!(name, expected);
            assert_eq!(name.to_string(), text);
        }
        for text in [
            "",
            " ",
            "openai/",
            "script:",
            "replay:",
            "a b/c",
            "openai/a\u{7}",
        ] {
            assert!(
                matches!(ModelName::parse(text), Err(ModelError::InvalidName { .. })),
                "{text:?}"
            );
        }
    }
}
