//! Converts a model's arguments to the form that a tool's schema describes, or explains what is
//! wrong with them.

use std::sync::OnceLock;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use orchestrate_core::text::shortened;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::{ToolError, ToolsError};

/// Our argument names, each with those of other products. An alias applies only if the schema has
/// our name and not the alias; the first that does counts.
const ALIASES: &[(&str, &[&str])] = &[
    ("path", PATHS),
    ("old", &["old_string", "old_str", "oldString"]),
    ("new", &["new_string", "new_str", "newString"]),
    ("replace_all", &["replaceAll"]),
    ("cwd", &["working_dir", "workdir"]),
    ("items", &["todos"]),
    ("agent_id", &["to", "recipient"]),
    ("message", &["content"]),
    ("content", &["file_text", "contents"]),
    ("patch", &["input"]),
    ("glob", &["include"]),
    ("mode", &["output_mode"]),
    ("name", &["skill"]),
    ("file", &["path"]),
    ("files", &["paths"]),
    ("paths", &["files"]),
    ("branch_name", &["name", "branch"]),
    ("branch_or_commit", &["branch", "commit"]),
    ("branch", &["branch_name"]),
    ("task", &["prompt"]),
    ("role", &["subagent_type", "agent_type"]),
];
const PATHS: &[&str] = &[
    "filepath",
    "filePath",
    "file_path",
    "absolute_path",
    "target_file",
    "dir_path",
    "target_directory",
    "relative_workspace_path",
    "filename",
    "directory",
    "dir",
];
/// Arguments that models add for other products' tools, and that are dropped unless the schema has
/// them.
const IGNORED: &[&str] = &["description", "explanation", "prompt"];
/// Maximum length of an error message in characters: a name that the model made up may have any
/// length.
const MISTAKES_CHARS: usize = 1_000;
/// Maximum number of mistakes that one error message lists.
const SHOWN_MISTAKES: usize = 5;

/// Checks a tool's schema.
///
/// # Errors
/// Fails unless it is valid and describes an object.
pub fn check_schema(tool: &str, schema: &Value) -> Result<(), ToolsError> {
    compile(tool, schema).map(drop)
}

/// Returns what is wrong with a value by a JSON Schema, one problem a line; `None` if nothing is.
///
/// # Errors
/// Fails unless the schema is valid.
pub fn mistakes(schema: &Value, value: &Value) -> Result<Option<String>, ToolsError> {
    let validator = jsonschema::validator_for(schema).map_err(|error| ToolsError::Schema {
        tool: "answer".to_owned(),
        reason: error.to_string(),
    })?;
    let mut lines = Vec::new();
    for error in validator.iter_errors(value).take(SHOWN_MISTAKES) {
        lines.push(format!("{}: {error}", error.instance_path()));
    }
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Compiles a tool's schema. Fails unless it describes an object.
pub(crate) fn compile(tool: &str, schema: &Value) -> Result<Validator, ToolsError> {
    let wrong = |reason: String| ToolsError::Schema {
        tool: tool.to_owned(),
        reason,
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(wrong("it does not describe an object".to_owned()));
    }
    jsonschema::validator_for(schema).map_err(|error| wrong(error.to_string()))
}

/// Returns what validates the arguments of a tool, which is compiled once.
pub(crate) fn compiled<'v>(
    validator: &'v OnceLock<Validator>,
    tool: &str,
    schema: &Value,
) -> Result<&'v Validator, ToolError> {
    if let Some(known) = validator.get() {
        return Ok(known);
    }
    let compiled = compile(tool, schema);
    let compiled = compiled.map_err(|error| ToolError::Execution(error.to_string()))?;
    Ok(validator.get_or_init(|| compiled))
}

/// Resolves aliases, drops nulls and ignored arguments, and validates the result.
pub(crate) fn conform(
    arguments: &Value,
    schema: &Value,
    validator: &Validator,
) -> Result<Value, ToolError> {
    let given = match arguments {
        Value::Object(map) => map,
        Value::Null => &Map::new(),
        other => {
            let message = format!(
                "Invalid parameters: expected a JSON object, got {}",
                brief(other)
            );
            return Err(ToolError::Retry(message));
        }
    };
    let known = schema.get("properties").and_then(Value::as_object);
    let knows = |name: &str| known.is_some_and(|known| known.contains_key(name));
    let mut conformed = Map::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        if knows(name) {
            conformed.insert(name.clone(), value.clone());
            continue;
        }
        match own_name(name, |ours| knows(ours) && !given.contains_key(ours)) {
            Some(ours) => conformed.insert(ours.to_owned(), value.clone()),
            None if is_ignored(name) => None,
            None => conformed.insert(name.clone(), value.clone()),
        };
    }
    let conformed = Value::Object(conformed);
    let mistakes: Vec<String> = validator
        .iter_errors(&conformed)
        .take(SHOWN_MISTAKES)
        .map(|error| {
            let said = mistake(
                &error.instance_path().to_string(),
                error.kind(),
                error.instance(),
                &error.to_string(),
            );
            format!("{said}{}", expected_array(error.kind(), known))
        })
        .collect();
    if mistakes.is_empty() {
        Ok(conformed)
    } else {
        Err(invalid(&shortened(&mistakes.join("; "), MISTAKES_CHARS)))
    }
}

/// Returns the tool's own name for an argument: the same name, or the one that it is an alias of.
pub(crate) fn own_name(name: &str, knows: impl Fn(&str) -> bool) -> Option<&str> {
    if knows(name) {
        return Some(name);
    }
    ALIASES
        .iter()
        .find(|(ours, others)| others.contains(&name) && knows(ours))
        .map(|(ours, _)| *ours)
}

/// Reports whether an argument is dropped if the tool does not have it.
pub(crate) fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
}

/// Deserializes arguments that have passed the tool's schema. An error means that the schema is
/// less strict than the type.
pub(crate) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| invalid(&error.to_string()))
}

/// Returns the text of an argument; empty if it is not given.
pub(crate) fn given_text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    let given = arguments.get(name).and_then(Value::as_str);
    given.unwrap_or_default()
}

/// Requires that an argument is no blank text.
pub(crate) fn require_text(arguments: &Value, name: &str) -> Result<(), ToolError> {
    match given_text(arguments, name).trim() {
        "" => Err(invalid(&format!("`{name}` is empty"))),
        _ => Ok(()),
    }
}

/// Creates the error for invalid arguments.
pub(crate) fn invalid(reason: &str) -> ToolError {
    ToolError::Retry(format!("Invalid parameters: {reason}"))
}

fn mistake(at: &str, kind: &ValidationErrorKind, instance: &Value, otherwise: &str) -> String {
    let at = at.trim_start_matches('/').replace('/', ".");
    let field = if at.is_empty() {
        "arguments"
    } else {
        at.as_str()
    };
    match kind {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let name = if at.is_empty() {
                name.to_owned()
            } else {
                format!("{at}.{name}")
            };
            format!("`{name}` is required but missing")
        }
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => {
            let wanted = format!("{kind:?}");
            let wanted = wanted.to_lowercase();
            format!("`{field}`: expected {wanted}, got {}", brief(instance))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            format!("unknown: `{}`", unexpected.join("`, `").escape_debug())
        }
        ValidationErrorKind::Enum { options } => {
            format!(
                "`{field}`: expected one of {options}, got {}",
                brief(instance)
            )
        }
        _ => format!("`{field}`: {otherwise}"),
    }
}

/// Returns what is said of a missing argument that has to be an array; of others, the name says
/// enough.
fn expected_array(kind: &ValidationErrorKind, known: Option<&Map<String, Value>>) -> &'static str {
    let ValidationErrorKind::Required { property } = kind else {
        return "";
    };
    let schema = property.as_str().and_then(|name| known?.get(name));
    let of = |name: &str| {
        schema
            .and_then(|schema| schema.get(name))
            .cloned()
            .unwrap_or_default()
    };
    match (
        of("type").as_str(),
        of("items").get("type").and_then(Value::as_str),
    ) {
        (Some("array"), Some("string")) => "; expected an array of strings",
        (Some("array"), _) => "; expected an array",
        _ => "",
    }
}

/// Lists the parameters that a call must give, or all of them if none is required.
pub(crate) fn required_names(schema: &Value) -> String {
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut names: Vec<&str> = required.collect();
    if names.is_empty() {
        let all = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        names = all.map(|(name, _)| name.as_str()).collect();
    }
    format!("`{}`", names.join("`, `"))
}

fn brief(value: &Value) -> String {
    const SHOWN: usize = 60;
    shortened(&value.to_string(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conform_to(arguments: &Value) -> Result<Value, String> {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["a", "b"]}},
            "required": ["path"],
            "additionalProperties": false,
        });
        let validator = compile("t", &schema).unwrap();
        conform(arguments, &schema, &validator).map_err(|error| error.to_string())
    }

    #[test]
    fn aliases_nulls_and_ornaments_are_taken_care_of() {
        let given =
            json!({"file_path": "a", "limit": null, "description": "why", "output_mode": "a"});
        assert_eq!(conform_to(&given), Ok(json!({"path": "a", "mode": "a"})));
    }

    #[test]
    fn a_mistake_names_the_field_what_was_expected_and_what_came() {
        let table = [
            (
                json!({}),
                "Invalid parameters: `path` is required but missing",
            ),
            (
                json!({"path": 3}),
                "Invalid parameters: `path`: expected string, got 3",
            ),
            (
                json!({"path": "a", "limit": "x"}),
                "Invalid parameters: `limit`: expected integer, got \"x\"",
            ),
            (
                json!({"path": "a", "limit": 0}),
                "Invalid parameters: `limit`: 0 is less than the minimum of 1",
            ),
            (
                json!({"path": "a", "mode": "c"}),
                "Invalid parameters: `mode`: expected one of [\"a\",\"b\"], got \"c\"",
            ),
            (
                json!({"path": "a", "pth": 1}),
                "Invalid parameters: unknown: `pth`",
            ),
            (
                json!("{broken"),
                "Invalid parameters: expected a JSON object, got \"{broken\"",
            ),
        ];
        for (given, expected) in table {
            assert_eq!(conform_to(&given), Err(expected.to_owned()));
        }
        // The control: values of the right types in the same fields are taken.
        let right = json!({"path": "a", "limit": 1, "mode": "b"});
        assert_eq!(conform_to(&right), Ok(right));
    }
}
