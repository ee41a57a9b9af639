//! JSON as programs for JavaScript read it, with comments and commas before ends, and the places of
//! its keys.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::model::ManifestError;

/// Parses an object.
pub(super) fn parse(text: &str) -> Result<Object<'_>, ManifestError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    match parsed.map(|parsed| parsed.value) {
        Ok(Some(Value::Object(object))) => Ok(object),
        Ok(_) => Err(ManifestError {
            line: 1,
            message: "not an object".to_owned(),
        }),
        Err(error) => Err(ManifestError {
            line: error.line_display(),
            message: error.kind().to_string(),
        }),
    }
}

/// Returns a text of an object.
pub(super) fn text(object: &Object<'_>, key: &str) -> Option<String> {
    object.get_string(key).map(|text| text.value.to_string())
}

/// Returns the texts that a value has, in whatever is nested, up to `most`.
pub(super) fn texts(value: &Value<'_>, most: usize) -> Vec<String> {
    let (mut found, mut pending) = (Vec::new(), vec![value]);
    while let Some(value) = pending.pop().filter(|_| found.len() < most) {
        match value {
            Value::StringLit(text) => found.push(text.value.to_string()),
            Value::Array(values) => pending.extend(values.elements.iter().rev()),
            Value::Object(object) => {
                pending.extend(object.properties.iter().rev().map(|one| &one.value));
            }
            Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {}
        }
    }
    found
}
