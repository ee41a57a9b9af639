//! The form of an agent's last reply, for the servers that can hold their model to it.
//!
//! A form that a server takes for every reply would keep an agent from calling tools: vLLM, and
//! others that decode by a grammar, then write nothing but the answer. So each endpoint says when
//! it may have the form. The reply is checked by its receiver in any case, so where the form is
//! left out, only the chance that it is asked for again differs.

use orchestrate_core::ModelRequest;
use serde_json::{Map, Value, json};

/// When a server is sent the form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// It is not known to take one.
    Never,
    /// Where no tools can be called.
    WithoutTools,
    /// Always: it holds only the text to the form, and its models call tools all the same.
    Always,
}

impl AnswerForm {
    /// Returns the schema to be sent with a request, in the form that all servers take; `None` if
    /// the server is to get none.
    pub(crate) fn schema_for(self, request: &ModelRequest) -> Option<Value> {
        let may_have = match self {
            Self::Never => false,
            Self::WithoutTools => request.tools.is_empty(),
            Self::Always => true,
        };
        let schema = request.answers.as_ref().filter(|_| may_have)?;
        let closed = closed(schema)?;
        // Only an object can be the whole of an answer.
        (closed.get("type")? == "object").then_some(closed)
    }
}

/// Returns the parameter of Chat Completions.
pub(crate) fn response_format(schema: &Value) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": true, "schema": schema},
    })
}

/// Returns the parameter of Anthropic's Messages.
pub(crate) fn output_config(schema: &Value) -> Value {
    json!({"format": {"type": "json_schema", "schema": schema}})
}

/// Returns a schema with the words alone that every strict server knows: each object names all that
/// it may have, and has to have all of it. What a value has to be beyond that, such as a minimum,
/// is left out. `None` for what cannot be said so: maps, references, and a value that may be
/// missing but not null.
fn closed(schema: &Value) -> Option<Value> {
    let mut written = Map::new();
    for (word, value) in schema.as_object()? {
        match word.as_str() {
            "type" | "enum" | "const" | "description" => {
                written.insert(word.clone(), value.clone());
            }
            "items" => {
                written.insert(word.clone(), closed(value)?);
            }
            "anyOf" => {
                let each: Option<Vec<Value>> = value.as_array()?.iter().map(closed).collect();
                written.insert(word.clone(), Value::from(each?));
            }
            "properties" => {
                let properties = closed_properties(schema, value.as_object()?)?;
                let names: Value = properties.keys().map(String::as_str).collect();
                written.insert(word.clone(), Value::from(properties));
                written.insert("required".to_owned(), names);
                written.insert("additionalProperties".to_owned(), Value::from(false));
            }
            "additionalProperties" if value == &Value::from(false) => {}
            "required" | "title" | "format" | "default" | "examples" | "minimum" | "maximum"
            | "exclusiveMinimum" | "exclusiveMaximum" | "minLength" | "maxLength" | "minItems"
            | "maxItems" | "uniqueItems" | "pattern" => {}
            _ => return None,
        }
    }
    let is_object = schema.get("type") == Some(&Value::from("object"));
    let names_all = !is_object || written.contains_key("properties");
    names_all.then_some(Value::from(written))
}

/// Returns the properties of an object, each of which is required or may be null.
fn closed_properties(
    object: &Value,
    properties: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let required = object.get("required").and_then(Value::as_array);
    let mut written = Map::new();
    for (name, property) in properties {
        let is_required = required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
        if !is_required && !may_be_null(property) {
            return None;
        }
        written.insert(name.clone(), closed(property)?);
    }
    Some(written)
}

fn may_be_null(schema: &Value) -> bool {
    let null = Value::from("null");
    if let Some(Value::Array(schemas)) = schema.get("anyOf") {
        return schemas.iter().any(may_be_null);
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.contains(&null),
        Some(kind) => *kind == null,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_closed_or_left_out() {
        let facts = json!({
            "title": "Facts", "type": "object", "required": ["count"],
            "properties": {
                "count": {"type": "integer", "format": "uint32", "minimum": 0},
                "note": {"type": ["string", "null"], "description": "A note."},
                "tags": {"anyOf": [
                    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                    {"type": "null"},
                ]},
            },
        });
        let expected = json!({
            "type": "object", "required": ["count", "note", "tags"], "additionalProperties": false,
            "properties": {
                "count": {"type": "integer"},
                "note": {"type": ["string", "null"], "description": "A note."},
                "tags": {"anyOf": [
                    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                    {"type": "null"},
                ]},
            },
        });
        assert_eq!(closed(&facts), Some(expected));
        let left_out = [
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}),
            json!({"oneOf": [{"type": "string"}]}),
            json!({"type": "object"}),
            json!(true),
        ];
        for schema in left_out {
            assert_eq!(closed(&schema), None, "{schema}");
        }
    }
}
