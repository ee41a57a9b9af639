//! The parameters of a wrapper, their types, and the JSON Schema that they make.

use serde_json::{Map, Value, json};

use super::annotations::Mistake;

/// How deep arrays and objects may be nested, types written out.
pub(super) const MAX_DEPTH: usize = 16;
/// How large a schema may become once its types are written out, in the units of [`Extent`].
const MAX_SIZE: usize = 64 << 10;
/// What an object, a value or a property takes beside its name and its text. Like that of an array,
/// it is less than what its declaration takes in a file, so that only the repetition of types
/// exceeds the limit.
const NODE: usize = 12;
/// What an array takes beside its items.
const ARRAY: usize = 6;

/// A parameter, or a property of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// The line that declares it, from 1.
    pub(super) line: u32,
    /// Its name.
    pub(super) name: String,
    /// Its type.
    pub(super) kind: Kind,
    /// Whether a call must give it.
    pub(super) required: bool,
    /// Its description; empty if it has none.
    pub(super) text: String,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One value.
    Scalar(Scalar),
    /// A list of values of one type.
    Array(Box<Kind>),
    /// An object with any properties.
    Object,
    /// An object that `@type` declares.
    Named(String),
}

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Text,
    Integer,
    Number,
    Boolean,
}

/// An object that `@type` declares, with its `@property` declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectType {
    /// Its name.
    pub(super) name: String,
    /// Its description; empty if it has none.
    pub(super) text: String,
    /// Its properties, all of them required unless they say otherwise.
    pub(super) properties: Vec<Parameter>,
    /// What it becomes in a schema.
    extent: Extent,
}

/// How deep and how large a schema becomes once its types are written out: types that use each
/// other grow exponentially, and every command reads the files of a checkout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    depth: usize,
    size: usize,
}

/// What a declaration says: `NAME {TYPE} [required] TEXT`.
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// `None` if it says neither `[required]` nor `[optional]`.
    pub(super) required: Option<bool>,
    pub(super) text: String,
}

impl Declaration {
    /// Parses a declaration that begins on this line.
    pub(super) fn parse(line: u32, value: &str) -> Result<Declaration, Mistake> {
        let wrong = |reason: &str| {
            Mistake::new(
                line,
                format!("{reason}; expected `NAME {{TYPE}} [required] TEXT`"),
            )
        };
        let (name, rest) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
        if name.is_empty() || name.starts_with('{') {
            return Err(wrong("the name is missing"));
        }
        if !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        {
            return Err(wrong(&format!("`{name}` is not a name")));
        }
        let rest = rest
            .trim_start()
            .strip_prefix('{')
            .ok_or_else(|| wrong("the type in braces is missing"))?;
        let (kind, rest) = rest
            .split_once('}')
            .ok_or_else(|| wrong("the brace of the type is not closed"))?;
        // Each array opens a bracket.
        if kind.matches('<').count() >= MAX_DEPTH {
            return Err(Mistake::new(line, too_deep()));
        }
        let kind = Kind::parse(kind).ok_or_else(|| wrong(&format!("`{kind}` is not a type")))?;
        let rest = rest.trim_start();
        let marks = [("[required]", true), ("[optional]", false)];
        let mark = marks
            .iter()
            .find_map(|(mark, required)| Some((rest.strip_prefix(mark)?, *required)));
        let (text, required) = mark.map_or((rest, None), |(text, required)| (text, Some(required)));
        if text.starts_with('[')
            && text
                .split(']')
                .next()
                .is_some_and(|mark| mark.len() < "[required".len() + 2)
        {
            return Err(wrong(
                "after the type, only `[required]` or `[optional]` stands in brackets",
            ));
        }
        Ok(Declaration {
            name: name.to_owned(),
            kind,
            required,
            text: text.trim().to_owned(),
        })
    }
}

impl ObjectType {
    /// Creates a type without properties.
    pub(super) fn new(name: String, text: String) -> ObjectType {
        let extent = Extent {
            depth: 1,
            size: NODE + text.len(),
        };
        ObjectType {
            name,
            text,
            properties: Vec::new(),
            extent,
        }
    }

    /// Adds a property that becomes so much; fails if the type becomes too much.
    pub(super) fn add(&mut self, property: Parameter, extent: Extent) -> Result<(), Mistake> {
        let line = property.line;
        self.properties.push(property);
        self.extent.depth = self.extent.depth.max(extent.depth + 1);
        self.extent.size += extent.size;
        self.extent.require_bounded(line)
    }
}

impl Parameter {
    /// Returns what it becomes in a schema with these types, each of which is bounded.
    pub(super) fn extent(&self, types: &[ObjectType]) -> Extent {
        let Extent { depth, size } = self.kind.extent(types);
        Extent {
            depth,
            size: size + self.name.len() + self.text.len(),
        }
    }
}

impl Extent {
    /// Requires that these parameters do not become too much, each alone and all together.
    pub(super) fn require_all_bounded(
        parameters: &[Parameter],
        types: &[ObjectType],
    ) -> Result<(), Mistake> {
        let mut all = Extent::default();
        for parameter in parameters {
            let extent = parameter.extent(types);
            all = Extent {
                depth: extent.depth,
                size: all.size + extent.size,
            };
            all.require_bounded(parameter.line)?;
        }
        Ok(())
    }

    fn require_bounded(self, line: u32) -> Result<(), Mistake> {
        if self.depth > MAX_DEPTH {
            return Err(Mistake::new(line, too_deep()));
        }
        if self.size > MAX_SIZE {
            let reason = format!(
                "too large: with its types written out, the schema exceeds {} KiB",
                MAX_SIZE >> 10
            );
            return Err(Mistake::new(line, reason));
        }
        Ok(())
    }
}

fn too_deep() -> String {
    format!("nested too deeply: at most {MAX_DEPTH} arrays and objects may contain each other")
}

impl Kind {
    fn parse(text: &str) -> Option<Kind> {
        let text = text.trim();
        if let Some(item) = text.strip_prefix("array").map(str::trim_start) {
            if item.is_empty() {
                return Some(Kind::Array(Box::new(Kind::Scalar(Scalar::Text))));
            }
            let item = item.strip_prefix('<')?.strip_suffix('>')?;
            return Kind::parse(item).map(|item| Kind::Array(Box::new(item)));
        }
        Some(match text {
            "string" | "str" => Kind::Scalar(Scalar::Text),
            "integer" | "int" => Kind::Scalar(Scalar::Integer),
            "number" | "float" | "double" => Kind::Scalar(Scalar::Number),
            "boolean" | "bool" => Kind::Scalar(Scalar::Boolean),
            "object" => Kind::Object,
            name if !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') =>
            {
                Kind::Named(name.to_owned())
            }
            _ => return None,
        })
    }

    /// Returns the name of the declared type that it uses, if any.
    pub(super) fn named(&self) -> Option<&str> {
        match self {
            Kind::Named(name) => Some(name),
            Kind::Array(item) => item.named(),
            Kind::Scalar(_) | Kind::Object => None,
        }
    }

    fn extent(&self, types: &[ObjectType]) -> Extent {
        match self {
            Kind::Scalar(_) | Kind::Object => Extent {
                depth: 1,
                size: NODE,
            },
            Kind::Array(item) => {
                let Extent { depth, size } = item.extent(types);
                Extent {
                    depth: depth + 1,
                    size: size + ARRAY,
                }
            }
            Kind::Named(name) => {
                let known = types.iter().find(|known| known.name == *name);
                known.map_or(
                    Extent {
                        depth: 1,
                        size: NODE,
                    },
                    |known| known.extent,
                )
            }
        }
    }

    /// Returns the name of the type in a schema.
    pub(super) fn json_type(&self) -> &'static str {
        match self {
            Kind::Scalar(Scalar::Text) => "string",
            Kind::Scalar(Scalar::Integer) => "integer",
            Kind::Scalar(Scalar::Number) => "number",
            Kind::Scalar(Scalar::Boolean) => "boolean",
            Kind::Array(_) => "array",
            Kind::Object | Kind::Named(_) => "object",
        }
    }

    fn schema(&self, types: &[ObjectType]) -> Value {
        match self {
            Kind::Scalar(_) | Kind::Object => json!({"type": self.json_type()}),
            Kind::Array(item) => json!({"type": self.json_type(), "items": item.schema(types)}),
            Kind::Named(name) => match types.iter().find(|known| known.name == *name) {
                // A property's type is declared above it, so no type contains itself.
                Some(known) => described(object_schema(&known.properties, types), &known.text),
                None => json!({"type": "object"}),
            },
        }
    }
}

/// Returns the JSON Schema of an object with these parameters and no others.
pub(super) fn object_schema(parameters: &[Parameter], types: &[ObjectType]) -> Value {
    let mut properties = Map::new();
    for parameter in parameters {
        properties.insert(
            parameter.name.clone(),
            described(parameter.kind.schema(types), &parameter.text),
        );
    }
    let required: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| parameter.name.as_str())
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn described(mut schema: Value, text: &str) -> Value {
    if let Some(schema) = schema.as_object_mut().filter(|_| !text.is_empty()) {
        schema.insert("description".to_owned(), Value::String(text.to_owned()));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: &str) -> Result<(String, Value, Option<bool>, String), String> {
        let declared = Declaration::parse(1, value).map_err(|mistake| mistake.reason)?;
        Ok((
            declared.name,
            declared.kind.schema(&[]),
            declared.required,
            declared.text,
        ))
    }

    #[test]
    fn declarations_have_a_name_a_type_and_a_text() {
        let strings = json!({"type": "array", "items": {"type": "string"}});
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        let table = [
            (
                "arguments {array<string>} [required] For it",
                "arguments",
                strings.clone(),
                Some(true),
                "For it",
            ),
            (
                "lines {array<integer>} [optional]",
                "lines",
                numbers,
                Some(false),
                "",
            ),
            ("list { array } All", "list", strings, None, "All"),
            (
                "count {integer}   How many [at most]",
                "count",
                json!({"type": "integer"}),
                None,
                "How many [at most]",
            ),
            (
                "ratio {number} x",
                "ratio",
                json!({"type": "number"}),
                None,
                "x",
            ),
            (
                "deep {bool} [required]",
                "deep",
                json!({"type": "boolean"}),
                Some(true),
                "",
            ),
            (
                "any {object} x",
                "any",
                json!({"type": "object"}),
                None,
                "x",
            ),
        ];
        for (value, name, schema, required, text) in table {
            assert_eq!(
                parsed(value),
                Ok((name.to_owned(), schema, required, text.to_owned())),
                "{value}"
            );
        }
    }

    #[test]
    fn what_is_no_declaration_is_explained() {
        let table = [
            ("", "the name is missing"),
            ("{string} a", "the name is missing"),
            ("a", "the type in braces is missing"),
            ("a string", "the type in braces is missing"),
            ("a {string", "the brace of the type is not closed"),
            ("a {array<string} x", "`array<string` is not a type"),
            ("a {} x", "`` is not a type"),
            ("a/b {string}", "`a/b` is not a name"),
            (
                "a {string} [requird] x",
                "only `[required]` or `[optional]` stands in brackets",
            ),
        ];
        for (value, reason) in table {
            let said = parsed(value).unwrap_err();
            assert!(
                said.contains(reason) && said.ends_with("expected `NAME {TYPE} [required] TEXT`"),
                "{said}"
            );
        }
    }

    #[test]
    fn declared_types_stand_in_the_schema() {
        let property = |name: &str, kind| Parameter {
            line: 1,
            name: name.to_owned(),
            kind,
            required: true,
            text: String::new(),
        };
        let mut edit = ObjectType::new("edit".to_owned(), "One edit".to_owned());
        let line = property("line", Kind::Scalar(Scalar::Integer));
        let extent = line.extent(&[]);
        edit.add(line, extent).unwrap();
        let edits = property(
            "edits",
            Kind::Array(Box::new(Kind::Named("edit".to_owned()))),
        );
        let item = json!({
            "type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"],
            "additionalProperties": false, "description": "One edit",
        });
        let expected = json!({
            "type": "object", "properties": {"edits": {"type": "array", "items": item}},
            "required": ["edits"], "additionalProperties": false,
        });
        assert_eq!(object_schema(&[edits], &[edit]), expected);
    }
}
