//! The types of settings, and how their values are read and shown.
//!
//! A file, TOML or JSON, has a value in one form, which [`Kind::read`] reads; what flags and
//! variables say in one text is brought into that form first ([`Kind::parse`]).

use std::collections::BTreeMap;
use std::fmt;

use orchestrate_core::agent::price::{Price, Rates, dollars, micro_usd};
use orchestrate_core::event::settings::{LEAST_CONTEXT_REASON, LEAST_CONTEXT_TOKENS};
use orchestrate_core::policy::RuleExamples;
use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_plan::duration_ms;
use serde::{Deserialize, Serialize};
use toml::{Table, Value as Written};

use crate::values::names::Names;

/// The longest duration: a year, which also keeps milliseconds far from overflow.
pub(crate) const LONGEST_SECONDS: u64 = 365 * 24 * 3600;

/// The type of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Non-empty text.
    Text,
    /// A template of a message.
    Message,
    /// A whole number within bounds.
    Number {
        /// The smallest allowed number.
        least: u64,
        /// The largest allowed number.
        most: u64,
        /// Why it cannot be smaller, for messages; empty if that is obvious.
        reason: &'static str,
    },
    /// A duration such as `30s`, `5m` or `1h`; a bare number is in seconds.
    Duration,
    /// A list of permission rules.
    Rules,
    /// A whole number of tokens for each of several models.
    Limits,
    /// An amount of US dollars.
    Dollars,
    /// The prices of models.
    Prices,
    /// `true` or `false`.
    Switch,
    /// One of these words; of a limit, the strictest is last.
    OneOf(&'static [&'static str]),
    /// A list of names.
    Names(Names),
}

/// A parsed value of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A value of [`Kind::Text`], [`Kind::Message`] or [`Kind::OneOf`].
    Text(String),
    /// A value of [`Kind::Number`], or of [`Kind::Duration`] in milliseconds.
    Number(u64),
    /// A value of [`Kind::Names`].
    List(Vec<String>),
    /// A value of [`Kind::Rules`].
    Rules(Vec<GivenRule>),
    /// A value of [`Kind::Limits`].
    Limits(BTreeMap<String, u64>),
    /// A value of [`Kind::Dollars`], in micro-dollars.
    Dollars(u64),
    /// A value of [`Kind::Prices`].
    Prices(BTreeMap<String, Price>),
    /// A value of [`Kind::Switch`].
    Switch(bool),
}

/// A permission rule as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenRule {
    /// The rule.
    pub rule: String,
    /// Its examples, which only files can have.
    pub examples: RuleExamples,
    /// The line and the column in a file.
    pub position: Option<(usize, usize)>,
}

impl GivenRule {
    /// Creates a rule without examples, outside of files.
    pub fn new(rule: impl Into<String>) -> GivenRule {
        GivenRule {
            rule: rule.into(),
            examples: RuleExamples::default(),
            position: None,
        }
    }
}

/// The price of a model as a file has it, in dollars for a million tokens; cached input costs as
/// much as other input unless it has its own rate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrice {
    input: Written,
    cached: Option<Written>,
    output: Written,
}

impl Kind {
    /// Parses a value as written in a flag or a variable.
    ///
    /// # Errors
    /// Fails if the text is not a value of this kind.
    pub fn parse(self, text: &str) -> Result<Value, Expected> {
        let text = text.trim();
        let written = match self {
            // As in a file, since names may contain the separator.
            Kind::Names(_) if text.starts_with('[') => serde_json::from_str(text).ok(),
            Kind::Names(names) => Some(list(text.split(names.separator()))),
            Kind::Rules => Some(list([text])),
            Kind::Limits => pairs(text, |tokens| Some(tokens.into())),
            Kind::Prices => pairs(text, price_of_text),
            _ => Some(text.into()),
        };
        self.read(&written.ok_or(Expected(self))?)
    }

    /// Reads a value as written in a file, where a bare number or a text in quotes may stand for a
    /// number or a duration.
    ///
    /// # Errors
    /// Fails if it is not a value of this kind.
    pub(crate) fn read(self, written: &Written) -> Result<Value, Expected> {
        self.value(written).ok_or(Expected(self))
    }

    fn value(self, written: &Written) -> Option<Value> {
        match (self, written) {
            (Kind::Number { least, most, .. }, _) => {
                let number = whole_number(written)?;
                (least..=most)
                    .contains(&number)
                    .then_some(Value::Number(number))
            }
            (Kind::Dollars, _) => amount(written)
                .filter(|amount| *amount > 0)
                .map(Value::Dollars),
            (Kind::Duration, Written::Integer(seconds)) => {
                duration(&seconds.to_string()).map(Value::Number)
            }
            (Kind::Switch, Written::Boolean(on)) => Some(Value::Switch(*on)),
            (Kind::Names(names), Written::Array(items)) => {
                let read = |item: &Written| names.read(item.as_str()?.trim());
                let read: Option<_> = items.iter().map(read).collect();
                read.map(Value::List)
            }
            (Kind::Rules, Written::Array(items)) => {
                let rules: Option<_> = items.iter().map(rule).collect();
                rules.map(Value::Rules)
            }
            (Kind::Limits, Written::Table(table)) => by_model(table, context).map(Value::Limits),
            (Kind::Prices, Written::Table(table)) => by_model(table, price).map(Value::Prices),
            (_, Written::String(text)) => self.value_of_text(text.trim()),
            _ => None,
        }
    }

    fn value_of_text(self, text: &str) -> Option<Value> {
        let is_allowed = match self {
            Kind::Duration => return duration(text).map(Value::Number),
            Kind::Switch => return switch(text).map(Value::Switch),
            Kind::Text => !text.is_empty(),
            Kind::Message => !text.is_empty() && MessageTemplate::parse(text).is_ok(),
            Kind::OneOf(words) => words.contains(&text),
            _ => false,
        };
        is_allowed.then(|| Value::Text(text.to_owned()))
    }

    /// Returns an example for users to change, as written in a configuration file.
    pub fn example(self) -> &'static str {
        match self {
            Kind::Text | Kind::Message => "\"…\"",
            Kind::Number { .. } => "1000000",
            Kind::Duration => "\"1h\"",
            Kind::Rules => "[]",
            Kind::Limits => "{ \"ollama/qwen3\" = 8000 }",
            Kind::Dollars => "5.00",
            Kind::Prices => "{ \"openai/gpt-5\" = { input = 1.25, cached = 0.125, output = 10 } }",
            Kind::Switch => "false",
            Kind::OneOf(_) => "\"\"",
            Kind::Names(names) => names.example(),
        }
    }
}

fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> Written {
    Written::Array(texts.into_iter().map(Written::from).collect())
}

/// Reads `model=…` pairs with commas between them as the table that a file has.
fn pairs(text: &str, read: fn(&str) -> Option<Written>) -> Option<Written> {
    let mut table = Table::new();
    for pair in text.split(',') {
        let (model, value) = pair.rsplit_once('=')?;
        table.insert(model.trim().to_owned(), read(value.trim())?);
    }
    Some(table.into())
}

/// Reads the rates of a model, with slashes between them, as the table that a file has.
fn price_of_text(text: &str) -> Option<Written> {
    let rates: Vec<&str> = text.split('/').collect();
    let names: &[&str] = match rates.len() {
        2 => &["input", "output"],
        3 => &["input", "cached", "output"],
        _ => return None,
    };
    let named = names.iter().zip(rates);
    Some(Written::Table(
        named
            .map(|(name, rate)| ((*name).to_owned(), rate.into()))
            .collect(),
    ))
}

/// Reads a table of models.
fn by_model<T>(table: &Table, read: fn(&Written) -> Option<T>) -> Option<BTreeMap<String, T>> {
    let mut models = BTreeMap::new();
    for (model, written) in table {
        if model.is_empty() {
            return None;
        }
        models.insert(model.clone(), read(written)?);
    }
    Some(models)
}

fn context(written: &Written) -> Option<u64> {
    whole_number(written).filter(|tokens| *tokens >= LEAST_CONTEXT_TOKENS)
}

fn price(written: &Written) -> Option<Price> {
    let written: WrittenPrice = written.clone().try_into().ok()?;
    let rates = Rates {
        input: amount(&written.input)?,
        cached: amount(written.cached.as_ref().unwrap_or(&written.input))?,
        output: amount(&written.output)?,
    };
    Some(Price { rates, long: None })
}

fn rule(written: &Written) -> Option<GivenRule> {
    written.as_str().map(GivenRule::new)
}

fn whole_number(written: &Written) -> Option<u64> {
    match written {
        Written::Integer(number) => u64::try_from(*number).ok(),
        Written::String(text) => text.trim().replace('_', "").parse().ok(),
        _ => None,
    }
}

/// Reads an amount of dollars in micro-dollars.
fn amount(written: &Written) -> Option<u64> {
    match written {
        Written::Integer(number) => micro_usd(&number.to_string()),
        Written::Float(number) => micro_usd(&number.to_string()),
        Written::String(text) => micro_usd(text.trim()),
        _ => None,
    }
}

/// Parses a duration of at least a second and at most a year into milliseconds.
fn duration(text: &str) -> Option<u64> {
    duration_ms(text).filter(|milliseconds| (1000..=LONGEST_SECONDS * 1000).contains(milliseconds))
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns milliseconds in the largest unit that keeps them whole, as a setting may be written.
pub(crate) fn shown_duration(milliseconds: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| milliseconds > 0 && milliseconds.is_multiple_of(*unit));
    whole.map_or_else(
        || format!("{milliseconds}ms"),
        |(unit, name)| format!("{}{name}", milliseconds / unit),
    )
}

/// A value of another kind than the one that a key expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub Kind);

impl std::error::Error for Expected {}

/// Describes the expected values.
impl fmt::Display for Expected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = self.0.example();
        match self.0 {
            Kind::Text => out.write_str("non-empty text"),
            Kind::Message => out.write_str(
                "non-empty text with no other placeholders than {title}, {run} and {tasks}; \
                 `{{` is a brace",
            ),
            Kind::Number {
                least,
                most,
                reason,
            } if most > u64::from(u32::MAX) => {
                write!(out, "a whole number, at least {least}{reason}")
            }
            Kind::Number {
                least,
                most,
                reason,
            } => write!(out, "a whole number from {least} to {most}{reason}"),
            Kind::Duration => out.write_str("a time such as 30s, 5m or 1h, from 1s to 365d"),
            Kind::Rules => out.write_str(
                "a list of rules such as [\"run_shell_command(git push:*)\"], or with examples \
                 [{ rule = \"run_shell_command(git push:*)\", match = [\"git push origin\"], \
                 not_match = [\"git pull\"] }]",
            ),
            Kind::Limits => write!(
                out,
                "models with their numbers of tokens such as {example}, \
                 at least {LEAST_CONTEXT_TOKENS}{LEAST_CONTEXT_REASON}"
            ),
            Kind::Dollars => out.write_str(
                "an amount of dollars above zero such as 5 or 0.25, with at most six decimals",
            ),
            Kind::Prices => write!(
                out,
                "models with their dollars for a million tokens such as {example}"
            ),
            Kind::Switch => out.write_str("true or false"),
            Kind::OneOf(words) => write!(out, "one of {}", words.join(", ")),
            Kind::Names(names) => write!(out, "a list of {} such as {example}", names.described()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Number(number) => write!(f, "{number}"),
            Value::List(items) => f.write_str(&items.join(", ")),
            Value::Rules(rules) => {
                let rules: Vec<&str> = rules.iter().map(|given| given.rule.as_str()).collect();
                f.write_str(&rules.join(", "))
            }
            Value::Limits(limits) => {
                let limits: Vec<String> = limits
                    .iter()
                    .map(|(model, tokens)| format!("{model}={tokens}"))
                    .collect();
                f.write_str(&limits.join(", "))
            }
            Value::Dollars(amount) => f.write_str(&dollars(*amount)),
            Value::Prices(prices) => {
                let mut shown = Vec::new();
                for (model, Price { rates, .. }) in prices {
                    let [input, cached, output] =
                        [rates.input, rates.cached, rates.output].map(dollars);
                    shown.push(format!("{model}={input}/{cached}/{output}"));
                }
                f.write_str(&shown.join(", "))
            }
            Value::Switch(on) => write!(f, "{on}"),
        }
    }
}

impl Value {
    /// Returns the stricter of two values of a limit of this kind.
    pub(crate) fn meet(&self, other: &Value, kind: Kind) -> Value {
        match (self, other, kind) {
            (Value::List(a), Value::List(b), Kind::Names(names)) => Value::List(names.meet(a, b)),
            // The strictest word is the last.
            (Value::Text(a), Value::Text(b), Kind::OneOf(words)) => {
                let stricter = words.iter().rfind(|word| *word == a || *word == b);
                stricter.map_or_else(|| self.clone(), |word| Value::Text((*word).to_owned()))
            }
            (Value::Number(a), Value::Number(b), _) => Value::Number(*a.min(b)),
            (Value::Dollars(a), Value::Dollars(b), _) => Value::Dollars(*a.min(b)),
            // A switch that is a limit demands something, so on is stricter.
            (Value::Switch(a), Value::Switch(b), _) => Value::Switch(*a || *b),
            _ => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::named;

    #[test]
    fn values_are_read_as_people_write_them() {
        let table = [
            ("timeout", "90", Some(Value::Number(90_000))),
            ("timeout", "5m", Some(Value::Number(300_000))),
            ("timeout", "1h", Some(Value::Number(3_600_000))),
            ("timeout", "1h30m", Some(Value::Number(5_400_000))),
            ("timeout", "5 mins", Some(Value::Number(300_000))),
            ("timeout", "30d", Some(Value::Number(2_592_000_000))),
            ("timeout", "365d", Some(Value::Number(31_536_000_000))),
            ("timeout", "366d", None),
            ("timeout", "999ms", None),
            ("timeout", "0", None),
            ("timeout", "5 parsecs", None),
            ("max_agents", "1_000", Some(Value::Number(1_000))),
            ("max_agents", "0", None),
            ("max_agents", "-1", None),
            ("merge", "review", Some(Value::Text("review".to_owned()))),
            ("merge", "yes", None),
            ("review", "risky", Some(Value::Text("risky".to_owned()))),
            ("review", "sometimes", None),
            (
                "commit.allow",
                "build/, *.log",
                Some(Value::List(vec!["build/".to_owned(), "*.log".to_owned()])),
            ),
            ("quiet", "1", Some(Value::Switch(true))),
            (
                "sandbox.read",
                "~/a:/b",
                Some(Value::List(vec!["~/a".to_owned(), "/b".to_owned()])),
            ),
            ("sandbox.read", "a", None),
            ("sandbox.read", "~", None),
            (
                "sandbox.env",
                "CI, A_1",
                Some(Value::List(vec!["CI".to_owned(), "A_1".to_owned()])),
            ),
            (
                "tools.code_execution.allowed_commands",
                "python, pip",
                Some(Value::List(vec!["python".to_owned(), "pip".to_owned()])),
            ),
            (
                "tools.file_operations.allowed_extensions",
                "[\"py\"]",
                Some(Value::List(vec![".py".to_owned()])),
            ),
            ("tools.file_operations.forbidden_paths", "/", None),
            ("tools.code_execution.memory_limit_mb", "8", None),
            ("sandbox.env", "1A", None),
            ("sandbox.env", "A=1", None),
            ("cache", "sometimes", None),
            ("verify", "  ", None),
        ];
        for (name, text, expected) in table {
            let value = named(name).and_then(|key| key.kind.parse(text).ok());
            assert_eq!(value, expected, "{name} = {text}");
        }
    }

    #[test]
    fn a_refused_amount_says_within_which_bounds_one_may_be() {
        let refused = |text: &str| {
            Kind::Dollars
                .parse(text)
                .map_err(|expected| expected.to_string())
        };
        let reason = "an amount of dollars above zero such as 5 or 0.25, with at most six decimals";
        for text in ["0.1234567", "0", "ten"] {
            assert_eq!(refused(text), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(refused("0.123456"), Ok(Value::Dollars(123_456)));
        let refused = Kind::Duration
            .parse("1000000000000000")
            .map_err(|expected| expected.to_string());
        assert_eq!(
            refused,
            Err("a time such as 30s, 5m or 1h, from 1s to 365d".to_owned())
        );
    }
}
