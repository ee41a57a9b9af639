//! The content of a message: a text, or a JSON object.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Body {
    /// A text.
    Text(String),
    /// A JSON object.
    Object(Map<String, Value>),
}

impl Body {
    /// Returns it with the keys of all objects in order, as it is stored.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text),
            Self::Object(fields) => Self::Object(in_order(fields)),
        }
    }

    /// Returns it as a model or a person reads it: an object on several lines.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Object(fields) => serde_json::to_string_pretty(fields).unwrap_or_default(),
        }
    }

    /// Returns its length in bytes, as it is stored.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Object(_) => self.to_string().len(),
        }
    }

    /// Reports whether it says nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Object(fields) => fields.is_empty(),
        }
    }
}

/// An object on one line.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Object(fields) => f.write_str(&serde_json::to_string(fields).unwrap_or_default()),
        }
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for Body {
    /// Takes an object as it is, and any other value for a text.
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self::Object(fields).canonical(),
            Value::String(text) => Self::Text(text),
            other => Self::Text(other.to_string()),
        }
    }
}

fn in_order(fields: Map<String, Value>) -> Map<String, Value> {
    let mut fields: Vec<(String, Value)> = fields
        .into_iter()
        .map(|(key, value)| (key, ordered(value)))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields.into_iter().collect()
}

fn ordered(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(in_order(fields)),
        Value::Array(values) => Value::Array(values.into_iter().map(ordered).collect()),
        other => other,
    }
}
