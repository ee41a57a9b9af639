//! Reads settings that are written as JSON: a file of tool settings, and a variable with limits.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::keys::{Class, Expected, KEYS, Key, Kind, Value, named};
use crate::layers::{Layer, Location, Problem, ProblemCode};

/// The table of the settings of tools, which files about nothing else may leave out.
pub(crate) const TOOLS: &str = "tools";

/// Parses the settings of tools.
///
/// # Errors
/// Returns every problem with the text.
pub(crate) fn tool_settings(text: &str, place: &Location) -> Result<Layer, Vec<Problem>> {
    read(text, place, |key| key.name.starts_with("tools."))
}

/// Parses limits that are numbers.
///
/// # Errors
/// As [`tool_settings`].
pub(crate) fn resource_limits(text: &str, place: &Location) -> Result<Layer, Vec<Problem>> {
    read(text, place, is_resource_limit)
}

/// Reports whether a key limits a resource.
pub(crate) fn is_resource_limit(key: &Key) -> bool {
    key.class == Class::Limit
        && matches!(
            key.kind,
            Kind::Number { .. } | Kind::Duration | Kind::Dollars
        )
}

fn read(text: &str, place: &Location, belongs: fn(&Key) -> bool) -> Result<Layer, Vec<Problem>> {
    let syntax = |error: serde_json::Error| {
        let place = Location {
            line: error.line(),
            column: error.column().max(1),
            ..place.clone()
        };
        let message = if error.is_data() {
            error.to_string()
        } else {
            format!("this is not JSON: {error}")
        };
        vec![Problem::new(place, ProblemCode::Syntax, message)]
    };
    serde_json::from_str::<Unrepeated>(text).map_err(syntax)?;
    let parsed: Json = serde_json::from_str(text).map_err(syntax)?;
    if !parsed.is_object() {
        let message =
            "expected a JSON object such as {\"code_execution\": {\"timeout_seconds\": 30}}";
        return Err(vec![Problem::new(
            place.clone(),
            ProblemCode::InvalidValue,
            message,
        )]);
    }
    let (mut layer, mut problems) = (Layer::default(), Vec::new());
    let mut leaves = Vec::new();
    flatten("", &parsed, &mut leaves);
    // An object keeps the order of its text only if another crate asks for that.
    leaves.sort_by(|one, other| one.0.cmp(&other.0));
    for (name, value) in leaves {
        problems.extend(take(&mut layer, &name, value, place, belongs).err());
    }
    if problems.is_empty() {
        Ok(layer)
    } else {
        Err(problems)
    }
}

fn take(
    layer: &mut Layer,
    name: &str,
    value: &Json,
    place: &Location,
    belongs: fn(&Key) -> bool,
) -> Result<(), Problem> {
    let known = || KEYS.iter().filter(|key| belongs(key)).map(|key| key.name);
    let full = format!("{TOOLS}.{name}");
    let Some(key) = [name, &full]
        .into_iter()
        .find_map(named)
        .filter(|key| belongs(key))
    else {
        let message = format!("there is no key `{name}` here");
        let nearest = orchestrate_core::text::similar::nearest(name, known())
            .or_else(|| orchestrate_core::text::similar::nearest(&full, known()));
        let mut problem = Problem::new(place.clone(), ProblemCode::UnknownKey, message);
        problem.suggestion = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
        return Err(problem);
    };
    if layer.given.iter().any(|given| given.key == key) {
        let message = format!("`{}` is set twice", key.name);
        return Err(Problem::new(place.clone(), ProblemCode::Ambiguous, message));
    }
    let value = value_of(key.kind, value).map_err(|expected| {
        let message = format!("invalid value `{value}` for `{name}`: expected {expected}");
        Problem::new(place.clone(), ProblemCode::InvalidValue, message)
    })?;
    layer.take(key, value, place.clone())
}

/// JSON without a repeated key, of which a parser keeps only the last one.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unrepeated)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Unrepeated;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON without a repeated key")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_unit<E: Error>(self) -> Result<Unrepeated, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unrepeated, A::Error> {
        while items.next_element::<Unrepeated>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Unrepeated, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if seen.contains(&name) {
                return Err(A::Error::custom(format!("`{name}` is set twice")));
            }
            fields.next_value::<Unrepeated>()?;
            seen.insert(name);
        }
        Ok(self)
    }
}

/// Collects the values of nested objects, each with its path.
fn flatten<'a>(path: &str, value: &'a Json, leaves: &mut Vec<(String, &'a Json)>) {
    let Json::Object(fields) = value else {
        return leaves.push((path.to_owned(), value));
    };
    for (name, value) in fields {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        flatten(&path, value, leaves);
    }
}

fn value_of(kind: Kind, value: &Json) -> Result<Value, Expected> {
    match (kind, value) {
        (Kind::Number { .. } | Kind::Duration, Json::Number(number)) => {
            kind.number(number.as_u64().ok_or(Expected(kind))?)
        }
        (Kind::Dollars, Json::Number(number)) => kind.dollars(&number.to_string()),
        (Kind::Number { .. } | Kind::Duration | Kind::Dollars, Json::String(text)) => {
            kind.parse(text)
        }
        (Kind::Names(_), Json::Array(items)) => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            kind.list(texts.ok_or(Expected(kind))?)
        }
        _ => Err(Expected(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Source;

    fn lines(result: Result<Layer, Vec<Problem>>) -> Vec<String> {
        match result {
            Ok(layer) => layer
                .given
                .iter()
                .map(|given| format!("{} = {}", given.key.name, given.value))
                .collect(),
            Err(problems) => problems
                .iter()
                .map(|problem| {
                    format!(
                        "{problem} {}",
                        problem.suggestion.as_deref().unwrap_or_default()
                    )
                })
                .collect(),
        }
    }

    #[test]
    fn settings_of_tools_may_leave_out_their_table() {
        let place = Location::new(Source::Environment, "tools.json");
        let expected = [
            "tools.code_execution.timeout_seconds = 30",
            "tools.file_operations.forbidden_paths = /etc, a/b",
        ];
        let inner = r#"{"code_execution": {"timeout_seconds": 30}, "file_operations": {"forbidden_paths": ["/etc/", "a//b"]}}"#;
        assert_eq!(lines(tool_settings(inner, &place)), expected);
        assert_eq!(
            lines(tool_settings(&format!(r#"{{"tools": {inner}}}"#), &place)),
            expected
        );
    }

    #[test]
    fn every_problem_is_found() {
        let place = Location::new(Source::Environment, "tools.json");
        let wrong = r#"{"code_execution": {"timeout_second": 30, "memory_limit_mb": "much"}, "max_agents": 3}"#;
        assert_eq!(
            lines(tool_settings(wrong, &place)),
            [
                "tools.json: invalid value `\"much\"` for `code_execution.memory_limit_mb`: expected a whole number from 16 to \
                 4294967295 ",
                "tools.json: there is no key `code_execution.timeout_second` here did you mean \
                 `tools.code_execution.timeout_seconds`?",
                "tools.json: there is no key `max_agents` here ",
            ]
        );
        assert_eq!(
            lines(tool_settings("{", &place)),
            ["tools.json:1:1: this is not JSON: EOF while parsing an object at line 1 column 1 "]
        );
        assert_eq!(lines(tool_settings("[]", &place)).len(), 1);
    }

    #[test]
    fn a_key_is_set_once() {
        let place = Location::new(Source::Overrides, "RALPH_RESOURCE_LIMITS");
        let table = [
            (
                r#"{"max_agents": 4, "max_agents": 400}"#,
                "RALPH_RESOURCE_LIMITS:1:30: `max_agents` is set twice at line 1 column 30 ",
            ),
            (
                r#"{"code_execution": {"memory_limit_mb": 64}, "code_execution": {}}"#,
                "RALPH_RESOURCE_LIMITS:1:60: `code_execution` is set twice at line 1 column 60 ",
            ),
            (
                r#"{"code_execution": {"memory_limit_mb": 64}, "tools": {"code_execution": {"memory_limit_mb": 65}}}"#,
                "RALPH_RESOURCE_LIMITS: `tools.code_execution.memory_limit_mb` is set twice ",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(lines(resource_limits(text, &place)), [expected]);
        }
    }

    #[test]
    fn limits_of_resources_are_numbers() {
        let place = Location::new(Source::Overrides, "RALPH_RESOURCE_LIMITS");
        let text = r#"{"max_agents": 4, "timeout": "5m", "code_execution": {"memory_limit_mb": 512}, "budget_usd": 2.5}"#;
        assert_eq!(
            lines(resource_limits(text, &place)),
            [
                "budget_usd = $2.50",
                "tools.code_execution.memory_limit_mb = 512",
                "max_agents = 4",
                "timeout = 300000",
            ]
        );
        let wrong =
            r#"{"model": "a/b", "max_agent": 4, "code_execution": {"allowed_commands": ["x"]}}"#;
        assert_eq!(
            lines(resource_limits(wrong, &place)),
            [
                "RALPH_RESOURCE_LIMITS: there is no key `code_execution.allowed_commands` here ",
                "RALPH_RESOURCE_LIMITS: there is no key `max_agent` here did you mean `max_agents`?",
                "RALPH_RESOURCE_LIMITS: there is no key `model` here ",
            ]
        );
    }
}
