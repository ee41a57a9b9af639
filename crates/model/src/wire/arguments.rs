//! Parses the arguments of a call from what a model wrote.
//!
//! Only an object without repeated keys is accepted: it is unknown which of two values for one key
//! the model meant, and two parsers might choose differently.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum number of bytes to keep of invalid arguments: enough for the model to see what it wrote.
const MAX_INVALID_BYTES: usize = 2 << 10;

/// Parses arguments to an object. Returns an empty object for an empty text, and the beginning of
/// the text itself, as a string, if it is invalid.
pub(crate) fn arguments_of(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match strict(text) {
        Some(object @ Value::Object(_)) => object,
        // Some models encode the object twice.
        Some(Value::String(inner)) => match strict(&inner) {
            Some(object @ Value::Object(_)) => object,
            _ => Value::String(beginning_of(text)),
        },
        _ => Value::String(beginning_of(text)),
    }
}

fn beginning_of(text: &str) -> String {
    if text.len() <= MAX_INVALID_BYTES {
        return text.to_owned();
    }
    let (shown, rest) = text.split_at(text.floor_char_boundary(MAX_INVALID_BYTES));
    format!("{shown}… [{} more bytes left out]", rest.len())
}

/// Returns the arguments as an object for the conversation; providers reject anything else. Invalid
/// arguments are wrapped.
pub(crate) fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => {
            let text = other
                .as_str()
                .map_or_else(|| other.to_string(), str::to_owned);
            Value::Object(Map::from_iter([(
                "invalid_arguments".to_owned(),
                Value::String(text),
            )]))
        }
    }
}

fn strict(text: &str) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// Deserializes a [`Value`], but fails on a repeated key.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without repeated keys")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict)?;
            if object.contains_key(&key) {
                return Err(serde::de::Error::custom(format_args!(
                    "repeated key {key:?}"
                )));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_object_counts() {
        for (text, expected) in [
            ("", json!({})),
            (" \n", json!({})),
            // The control: an object without repeated keys is taken as it is, and so is one in a
            // text.
            (
                r#"{"a": [1, {"b": null}, -2.5, true, "x"]}"#,
                json!({"a": [1, {"b": null}, -2.5, true, "x"]}),
            ),
            (r#""{\"a\": 1}""#, json!({"a": 1})),
            (r#""plain""#, json!("\"plain\"")),
            ("[1]", json!("[1]")),
            ("null", json!("null")),
            (r#"{"a": 1"#, json!(r#"{"a": 1"#)),
            (r#"{"a": 1} x"#, json!(r#"{"a": 1} x"#)),
            (r#"{"a": NaN}"#, json!(r#"{"a": NaN}"#)),
            (r#"{"a": 1e400}"#, json!(r#"{"a": 1e400}"#)),
            (r#"{"a": 1, "a": 2}"#, json!(r#"{"a": 1, "a": 2}"#)),
            (
                r#"{"a": {"b": 1, "b": 1}}"#,
                json!(r#"{"a": {"b": 1, "b": 1}}"#),
            ),
        ] {
            assert_eq!(arguments_of(text), expected, "{text}");
        }
        let deep = format!("{}{}", "{\"a\":".repeat(100_000), "1");
        let left = format!(
            "{}… [{} more bytes left out]",
            &deep[..MAX_INVALID_BYTES],
            deep.len() - MAX_INVALID_BYTES
        );
        assert_eq!(arguments_of(&deep), json!(left));
        // With its ends, too; an object that nests less is taken.
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(arguments_of(&nested(100_000)).is_string());
        assert!(arguments_of(&nested(100)).is_object());
    }

    #[test]
    fn what_is_no_object_is_wrapped() {
        assert_eq!(as_object(&json!({"a": 1})), json!({"a": 1}));
        assert_eq!(
            as_object(&json!("{\"a\"")),
            json!({"invalid_arguments": "{\"a\""})
        );
    }
}
