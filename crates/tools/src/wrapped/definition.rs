//! A parsed `.tool` file: an alias, or a wrapper with a command template or parameters of its own.

use std::collections::BTreeMap;

use orchestrate_core::text::similar::nearest;
use serde_json::{Value, json};

use super::annotations::{Annotation, Mistake, split};
use super::parameter::{Declaration, Extent, Kind, ObjectType, Parameter, object_schema};
use crate::template::{ARGUMENTS, ARGUMENTS_SYNONYM, CommandTemplate};
use crate::tool::{MAX_NAME, is_name};

/// The maximum size of a file in bytes: its texts are part of every request.
pub const MAX_BYTES: usize = 64 << 10;
/// The annotations that there are.
const ANNOTATIONS: &[&str] = &[
    "title",
    "name",
    "wrapped",
    "command",
    "param",
    "type",
    "property",
    "example",
    "match",
    "not_match",
];
/// The annotations of which a file has at most one.
const SINGLE: &[&str] = &["title", "name", "wrapped", "command"];

/// What a `.tool` file defines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    /// The new name.
    pub(super) name: Placed,
    /// The name of the wrapped tool.
    pub(super) wrapped: Placed,
    /// What makes it a wrapper; an alias has none of it.
    pub(super) wrapper: Option<Wrapper>,
    /// What its author gives as examples.
    examples: Vec<Example>,
    /// The line to which a mistake of the whole schema belongs.
    line: u32,
}

/// A name and the line that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) line: u32,
    pub(super) text: String,
}

/// What a wrapper adds to the wrapped tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wrapper {
    /// The title; `None` for that of the wrapped tool.
    pub(super) title: Option<String>,
    /// The description; `None` for that of the wrapped tool.
    pub(super) description: Option<String>,
    /// The command; `None` if the arguments go to the wrapped tool as they are.
    pub(super) command: Option<CommandTemplate>,
    /// The parameters, in their order.
    pub(super) parameters: Vec<Parameter>,
    /// The declared types.
    pub(super) types: Vec<ObjectType>,
    /// The arguments of the example calls.
    pub(super) examples: Vec<Value>,
}

impl Wrapper {
    /// Returns the JSON Schema of the arguments.
    pub(super) fn schema(&self) -> Value {
        let mut schema = object_schema(&self.parameters, &self.types);
        if let Some(schema) = schema.as_object_mut().filter(|_| !self.examples.is_empty()) {
            schema.insert("examples".to_owned(), json!(self.examples));
        }
        schema
    }

    /// Reports whether calls are told from those of another tool of the same name by the array
    /// `arguments`.
    pub(super) fn takes_arguments(&self) -> bool {
        self.parameters
            .iter()
            .any(|parameter| parameter.name == ARGUMENTS && is_array(parameter))
    }
}

fn is_array(parameter: &Parameter) -> bool {
    matches!(parameter.kind, Kind::Array(_))
}

impl Definition {
    /// Parses the text of a file, and checks its examples.
    pub(super) fn parse(text: &str) -> Result<Definition, Mistake> {
        let definition = Definition::parse_shipped(text)?;
        definition.check_examples()?;
        Ok(definition)
    }

    /// Parses the text of a shipped file, whose examples a test checks: compiling schemas would be
    /// a fifth of what a short command costs.
    pub(super) fn parse_shipped(text: &str) -> Result<Definition, Mistake> {
        if text.len() > MAX_BYTES {
            return Err(Mistake::new(
                1,
                format!("the file is larger than {} KiB", MAX_BYTES >> 10),
            ));
        }
        let parts = split(text)?;
        let mut reader = Reader::default();
        for annotation in &parts.annotations {
            reader.take(annotation)?;
        }
        reader.definition(parts.description)
    }

    /// Requires that the wrapper takes the arguments that it has to take, and no others.
    fn check_examples(&self) -> Result<(), Mistake> {
        let Some(wrapper) = self.wrapper.as_ref().filter(|_| !self.examples.is_empty()) else {
            return Ok(());
        };
        let validator = jsonschema::validator_for(&wrapper.schema());
        let validator = validator
            .map_err(|error| Mistake::new(self.line, format!("its schema is invalid: {error}")))?;
        for Example {
            line,
            arguments,
            fits,
            ..
        } in &self.examples
        {
            let misfit = match (validator.validate(arguments), &wrapper.command) {
                (Err(error), _) => Err(error.to_string()),
                (Ok(()), Some(command)) => command.fill(arguments).map(drop),
                (Ok(()), None) => Ok(()),
            };
            match (fits, misfit) {
                (true, Err(reason)) => {
                    return Err(Mistake::new(
                        *line,
                        format!("the example does not fit the parameters: {reason}"),
                    ));
                }
                (false, Ok(())) => {
                    return Err(Mistake::new(
                        *line,
                        "the arguments of `@not_match` fit, but must not",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Collects the annotations of a file.
#[derive(Default)]
struct Reader {
    single: BTreeMap<&'static str, Placed>,
    parameters: Vec<Parameter>,
    types: Vec<ObjectType>,
    examples: Vec<Example>,
}

/// Arguments that an author gives, and what the template has to do with them.
#[derive(Clone, Debug, PartialEq)]
struct Example {
    line: u32,
    arguments: Value,
    /// Whether it is a call to show; the others only check the template.
    is_shown: bool,
    /// Whether the template takes them.
    fits: bool,
}

impl Reader {
    fn take(&mut self, annotation: &Annotation) -> Result<(), Mistake> {
        let Annotation { line, name, value } = annotation;
        let Some(known) = ANNOTATIONS.iter().find(|known| *known == name) else {
            return Err(Mistake::new(*line, unknown(name)));
        };
        if value.is_empty() {
            return Err(Mistake::new(*line, format!("`@{name}` has no value")));
        }
        if SINGLE.contains(known) {
            let placed = Placed {
                line: *line,
                text: value.clone(),
            };
            return match self.single.insert(known, placed) {
                Some(first) => Err(Mistake::new(
                    *line,
                    format!("`@{name}` is already on line {}", first.line),
                )),
                None => Ok(()),
            };
        }
        match *known {
            "param" => self.parameter(*line, value),
            "type" => self.object_type(*line, value),
            "property" => self.property(*line, value),
            _ => self.example(*line, known, value),
        }
    }

    fn parameter(&mut self, line: u32, value: &str) -> Result<(), Mistake> {
        let Declaration {
            name,
            kind,
            required,
            text,
        } = Declaration::parse(line, value)?;
        if let Some(first) = self
            .parameters
            .iter()
            .find(|parameter| parameter.name == name)
        {
            return Err(Mistake::new(
                line,
                format!("the parameter `{name}` is already on line {}", first.line),
            ));
        }
        self.parameters.push(Parameter {
            line,
            name,
            kind,
            required: required.unwrap_or(false),
            text,
        });
        Ok(())
    }

    fn object_type(&mut self, line: u32, value: &str) -> Result<(), Mistake> {
        let Declaration {
            name, kind, text, ..
        } = Declaration::parse(line, value)?;
        if kind != Kind::Object {
            return Err(Mistake::new(
                line,
                format!("the type `{name}` must be `{{object}}`"),
            ));
        }
        if self.types.iter().any(|known| known.name == name) {
            return Err(Mistake::new(
                line,
                format!("the type `{name}` is declared twice"),
            ));
        }
        self.types.push(ObjectType::new(name, text));
        Ok(())
    }

    fn property(&mut self, line: u32, value: &str) -> Result<(), Mistake> {
        let Declaration {
            name: path,
            kind,
            required,
            text,
        } = Declaration::parse(line, value)?;
        let Some((of, name)) = path
            .split_once('.')
            .filter(|(of, name)| !of.is_empty() && !name.is_empty())
        else {
            return Err(Mistake::new(
                line,
                format!("`{path}` is not a property; expected `TYPE.NAME`"),
            ));
        };
        // Its own type comes last, so that no type contains itself.
        let declared = self.types.last().is_some_and(|last| last.name == of);
        self.require_type(line, &kind, Some(of))?;
        let property = Parameter {
            line,
            name: name.to_owned(),
            kind,
            required: required.unwrap_or(true),
            text,
        };
        let extent = property.extent(&self.types);
        let Some(own) = self.types.last_mut().filter(|_| declared) else {
            return Err(Mistake::new(
                line,
                format!("`@type {of} {{object}}` must stand above its properties"),
            ));
        };
        if own.properties.iter().any(|property| property.name == name) {
            return Err(Mistake::new(
                line,
                format!("the property `{path}` is declared twice"),
            ));
        }
        own.add(property, extent)
    }

    fn example(&mut self, line: u32, name: &str, value: &str) -> Result<(), Mistake> {
        let given: Value = serde_json::from_str(value).map_err(|error| {
            Mistake::new(line, format!("the value of `@{name}` is not JSON: {error}"))
        })?;
        let is_shown = name == "example";
        let arguments = match given {
            Value::Array(_) => json!({ ARGUMENTS: given }),
            // A call of the form `{"name": …, "arguments": {…}}` is shown as its arguments.
            Value::Object(mut call) if is_shown && call.contains_key("name") => {
                call.remove("arguments").unwrap_or_else(|| json!({}))
            }
            Value::Object(_) => given,
            other => {
                return Err(Mistake::new(
                    line,
                    format!("the value of `@{name}` must be an object or an array, not {other}"),
                ));
            }
        };
        self.examples.push(Example {
            line,
            arguments,
            is_shown,
            fits: name != "not_match",
        });
        Ok(())
    }

    fn require_type(&self, line: u32, kind: &Kind, except: Option<&str>) -> Result<(), Mistake> {
        let Some(name) = kind.named() else {
            return Ok(());
        };
        match self
            .types
            .iter()
            .any(|known| known.name == name && Some(name) != except)
        {
            true => Ok(()),
            false => Err(Mistake::new(
                line,
                format!("the type `{name}` is not declared above"),
            )),
        }
    }

    fn definition(mut self, description: String) -> Result<Definition, Mistake> {
        let name = self.required("name")?;
        let wrapped = self.required("wrapped")?;
        require_name(&name)?;
        require_name(&wrapped)?;
        let (title, command) = (self.single.remove("title"), self.single.remove("command"));
        if command.is_none() && self.parameters.is_empty() {
            return Ok(Definition {
                line: name.line,
                name,
                wrapped,
                wrapper: None,
                examples: Vec::new(),
            });
        }
        let description = Some(description).filter(|text| !text.is_empty());
        if let Some(command) = &command {
            for (is_missing, what) in [
                (title.is_none(), "`@title`"),
                (description.is_none(), "a description"),
            ] {
                if is_missing {
                    return Err(Mistake::new(
                        command.line,
                        format!("with `@command`, {what} is also required"),
                    ));
                }
            }
        }
        for parameter in &self.parameters {
            self.require_type(parameter.line, &parameter.kind, None)?;
        }
        Extent::require_all_bounded(&self.parameters, &self.types)?;
        let line = command.as_ref().map_or(name.line, |command| command.line);
        let wrapper = Wrapper {
            title: title.map(|title| title.text),
            description,
            command: command.map(|command| self.template(&command)).transpose()?,
            examples: self
                .examples
                .iter()
                .filter(|given| given.is_shown)
                .map(|given| given.arguments.clone())
                .collect(),
            parameters: self.parameters,
            types: self.types,
        };
        Ok(Definition {
            name,
            wrapped,
            wrapper: Some(wrapper),
            examples: self.examples,
            line,
        })
    }

    /// Takes a field that a definition needs.
    fn required(&mut self, field: &str) -> Result<Placed, Mistake> {
        self.single
            .remove(field)
            .ok_or_else(|| Mistake::new(1, format!("the required field `@{field}` is missing")))
    }

    fn declares(&self, name: &str) -> bool {
        self.parameters
            .iter()
            .any(|parameter| parameter.name == name)
    }

    /// Parses the command, and requires that its slots and the parameters fit each other.
    fn template(&mut self, command: &Placed) -> Result<CommandTemplate, Mistake> {
        let names_synonym = command.text.contains(&format!("{{{ARGUMENTS_SYNONYM}}}"));
        let takes_arguments = command.text.contains(&format!("{{{ARGUMENTS}}}"))
            || names_synonym && !self.declares(ARGUMENTS_SYNONYM);
        if takes_arguments && !self.declares(ARGUMENTS) {
            self.parameters.push(implied(command.line));
        }
        let names: Vec<&str> = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        let template = CommandTemplate::parse(&command.text, &names)
            .map_err(|reason| Mistake::new(command.line, reason))?;
        for parameter in &self.parameters {
            let name = &parameter.name;
            let wrong = match &parameter.kind {
                _ if !template.slots().any(|slot| slot == name) => {
                    &format!("is not used; the command has no `{{{name}}}`")
                }
                Kind::Array(item) if !matches!(**item, Kind::Scalar(_)) => {
                    "must be an array of plain values to fill words of a command"
                }
                Kind::Array(_) if template.is_part_of_word(name) => {
                    "is an array, which fills whole words, but its slot is a part of a word"
                }
                Kind::Object | Kind::Named(_) => {
                    "is an object, which cannot fill a word of a command"
                }
                Kind::Array(_) | Kind::Scalar(_) => continue,
            };
            return Err(Mistake::new(
                parameter.line,
                format!("the parameter `{name}` {wrong}"),
            ));
        }
        Ok(template)
    }
}

/// Returns the parameter that `{arguments}` stands for if the file declares none.
fn implied(line: u32) -> Parameter {
    let declared = Declaration::parse(
        line,
        "arguments {array<string>} [required] The arguments of the command.",
    );
    let (kind, text) = declared.map_or((Kind::Object, String::new()), |declared| {
        (declared.kind, declared.text)
    });
    Parameter {
        line,
        name: ARGUMENTS.to_owned(),
        kind,
        required: true,
        text,
    }
}

fn require_name(name: &Placed) -> Result<(), Mistake> {
    if is_name(&name.text) {
        return Ok(());
    }
    let reason = format!(
        "a tool's name has at most {MAX_NAME} letters, digits, `_` and `-`, not {:?}",
        name.text
    );
    Err(Mistake::new(name.line, reason))
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(MAX_NAME).collect();
    match nearest(&shown, ANNOTATIONS.iter().copied()) {
        Some(nearest) => format!("unknown annotation `@{shown}`; did you mean `@{nearest}`?"),
        None => format!(
            "unknown annotation `@{shown}`; known: @{}",
            ANNOTATIONS.join(", @")
        ),
    }
}

#[cfg(test)]
mod tests;
