//! The description files of tools: `<tool><description/><parameters/></tool>`.
//!
//! Each tool has an embedded file whose `parameters` contain its JSON Schema. A project's file of
//! the same name can replace the description and the descriptions of existing parameters, but not
//! the schema: a file of a repository must not be able to change what a call can contain. The
//! parameters in a project's file are either JSON too, or one element each:
//! `<parameter name="path"><description>…</description></parameter>`.

use std::ops::Range;

use orchestrate_core::text::invisible::shown;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

use super::arguments::own_name;
use crate::answer::ToolsError;

/// The accepted names of the root element.
const ROOTS: [&str; 2] = ["tool", "tool_prompt"];
/// Maximum size of a file in bytes: the fixed part of a request has a few thousand tokens for all
/// tools.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of XML nodes (elements, texts, comments) in one file.
const MAX_NODES: u32 = 4_096;

/// A tool's description and schema, as sent to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The description of what the tool does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// A project's own description file for a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// The path to show in errors.
    pub path: String,
    /// The XML text.
    pub text: String,
}

/// The descriptions in a project's file.
#[derive(Debug, Default, PartialEq)]
struct Words {
    description: Option<String>,
    parameters: Vec<ParameterWords>,
}

/// The description of one parameter, and its byte range in the file.
#[derive(Debug, PartialEq)]
struct ParameterWords {
    name: String,
    words: String,
    place: Range<usize>,
}

impl Prompt {
    /// Parses the embedded file of a tool.
    ///
    /// # Errors
    /// [`ToolsError::Description`] if it is not XML, lacks an element, or its parameters are not a
    /// JSON object.
    pub fn parse(tool: &str, xml: &str) -> Result<Prompt, ToolsError> {
        let file = File {
            path: &format!("prompts/tools/{tool}.xml"),
            text: xml,
        };
        let document = file.document()?;
        let root = file.root(&document)?;
        let description = text_of(file.required_child(root, "description")?);
        let parameters = file.json(file.required_child(root, "parameters")?)?;
        if description.is_empty() {
            return Err(file.error(root.range(), "its <description> is empty".to_owned()));
        }
        Ok(Prompt {
            description,
            parameters,
        })
    }

    /// Replaces the descriptions with those of a project's file, and nothing else.
    ///
    /// # Errors
    /// [`ToolsError::Description`], with line and column, if the file is malformed or contains no
    /// description.
    pub fn reworded(mut self, project: &PromptFile) -> Result<Prompt, ToolsError> {
        let words = File {
            path: &project.path,
            text: &project.text,
        }
        .words()?;
        if let Some(description) = words.description {
            self.description = description;
        }
        let Some(properties) = self
            .parameters
            .get_mut("properties")
            .and_then(Value::as_object_mut)
        else {
            return Ok(self);
        };
        for ParameterWords { name, words, .. } in words.parameters {
            let Some(name) = own_name(&name, |own| properties.contains_key(own)) else {
                continue;
            };
            if let Some(property) = properties.get_mut(name).and_then(Value::as_object_mut) {
                property.insert("description".to_owned(), Value::String(words));
            }
        }
        Ok(self)
    }

    /// Returns the parameters that a project's file describes but the tool does not have, each as
    /// `path:line:column: name`.
    ///
    /// # Errors
    /// As [`Prompt::reworded`].
    pub fn unknown_parameters(&self, project: &PromptFile) -> Result<Vec<String>, ToolsError> {
        let file = File {
            path: &project.path,
            text: &project.text,
        };
        let properties = self.parameters.get("properties").and_then(Value::as_object);
        let mut unknown = Vec::new();
        for described in file.words()?.parameters {
            let own = own_name(&described.name, |own| {
                properties.is_some_and(|properties| properties.contains_key(own))
            });
            if own.is_none() {
                unknown.push(file.placed(&described.place, &shown(&described.name)));
            }
        }
        Ok(unknown)
    }
}

/// A position in a file; both numbers count from 1.
struct Position {
    line: u32,
    column: u32,
}

/// A description file and its text.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl<'a> File<'a> {
    fn document(&self) -> Result<Document<'a>, ToolsError> {
        if self.text.len() > MAX_BYTES {
            return Err(self.error(0..0, format!("it has more than {MAX_BYTES} bytes")));
        }
        // Without a DTD no entities can be declared, so entity expansion cannot exhaust memory.
        let options = ParsingOptions {
            allow_dtd: false,
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        Document::parse_with_options(self.text, options).map_err(|error| {
            let place = error.pos();
            let message = error.to_string();
            let reason = message.split(" at ").next().unwrap_or(&message).to_owned();
            self.error_at(place.row, place.col, reason)
        })
    }

    fn root<'d>(&self, document: &'d Document<'a>) -> Result<Node<'d, 'a>, ToolsError> {
        let root = document.root_element();
        if ROOTS.iter().any(|name| root.has_tag_name(*name)) {
            return Ok(root);
        }
        let name = root.tag_name().name();
        Err(self.error(
            root.range(),
            format!(
                "its outermost element is <{name}>, expected <{}>",
                ROOTS.join("> or <")
            ),
        ))
    }

    fn words(&self) -> Result<Words, ToolsError> {
        let document = self.document()?;
        let root = self.root(&document)?;
        let mut words = Words::default();
        for node in root.children() {
            match node.tag_name().name() {
                "description" => {
                    words.description = Some(text_of(node)).filter(|text| !text.is_empty())
                }
                "parameters" => words.parameters = self.parameters(node)?,
                _ => {}
            }
        }
        if words == Words::default() {
            return Err(self.error(
                root.range(),
                "it has no text in <description> or <parameters>".to_owned(),
            ));
        }
        Ok(words)
    }

    /// Reads the descriptions of parameters, from elements or from the properties of a JSON Schema.
    fn parameters(&self, node: Node<'_, 'a>) -> Result<Vec<ParameterWords>, ToolsError> {
        if node.children().any(|child| child.is_element()) {
            let elements = node.children().filter(Node::is_element);
            return elements.map(|element| self.parameter(element)).collect();
        }
        if text_of(node).is_empty() {
            return Ok(Vec::new());
        }
        let schema = self.json(node)?;
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let described = properties.filter_map(|(name, property)| {
            let words = property.get("description").and_then(Value::as_str)?;
            Some(ParameterWords {
                name: name.clone(),
                words: words.to_owned(),
                place: node.range(),
            })
        });
        Ok(described.collect())
    }

    fn parameter(&self, node: Node<'_, 'a>) -> Result<ParameterWords, ToolsError> {
        let named = match node.attribute("name") {
            Some(name) => Some(name.trim().to_owned()),
            None => child(node, "name").map(text_of),
        };
        // An element without a name attribute or child is itself named as the parameter:
        // `<path>where</path>`.
        let own = (!node.has_tag_name("parameter")).then(|| node.tag_name().name().to_owned());
        let name = named.or(own).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(self.error(node.range(), "a <parameter> has no name".to_owned()));
        };
        let has_elements = node.children().any(|child| child.is_element());
        let words = match child(node, "description") {
            Some(description) => text_of(description),
            None if has_elements => String::new(),
            None => text_of(node),
        };
        Ok(ParameterWords {
            name,
            words,
            place: node.range(),
        })
    }

    fn json(&self, node: Node<'_, 'a>) -> Result<Value, ToolsError> {
        let reason = match serde_json::from_str::<Value>(&text_of(node)) {
            Ok(value) if value.is_object() => return Ok(value),
            Ok(_) => "its <parameters> are not a JSON object".to_owned(),
            Err(error) => format!("its <parameters> are not JSON: {error}"),
        };
        Err(self.error(node.range(), reason))
    }

    fn required_child<'d>(
        &self,
        node: Node<'d, 'a>,
        name: &str,
    ) -> Result<Node<'d, 'a>, ToolsError> {
        child(node, name).ok_or_else(|| self.error(node.range(), format!("it has no <{name}>")))
    }

    /// Creates the error for a place in the text.
    fn error(&self, place: Range<usize>, reason: String) -> ToolsError {
        let Position { line, column } = self.position(&place);
        self.error_at(line, column, reason)
    }

    /// Prefixes a text with its position in the file, in the form that errors use.
    fn placed(&self, place: &Range<usize>, what: &str) -> String {
        let Position { line, column } = self.position(place);
        format!("{}:{line}:{column}: {what}", self.path)
    }

    fn position(&self, place: &Range<usize>) -> Position {
        let (before, _) = self.text.split_at(place.start);
        let (_, line) = before.split_at(before.rfind('\n').map_or(0, |at| at + 1));
        let column = line.chars().count();
        Position {
            line: in_u32(before.matches('\n').count() + 1),
            column: in_u32(column + 1),
        }
    }

    fn error_at(&self, line: u32, column: u32, reason: String) -> ToolsError {
        ToolsError::Description {
            file: self.path.to_owned(),
            line,
            column,
            reason,
        }
    }
}

fn in_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the first child of a name.
fn child<'d, 'a>(node: Node<'d, 'a>, name: &str) -> Option<Node<'d, 'a>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// Returns the trimmed text of an element and its descendants, without comments.
fn text_of(node: Node<'_, '_>) -> String {
    let texts = node
        .descendants()
        .filter(Node::is_text)
        .filter_map(|text| text.text());
    texts.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OWN: &str = r#"<tool><description>Reads &lt;a&gt; &amp;amp;</description>
        <parameters><![CDATA[{"type":"object","properties":{"path":{"type":"string"}}}]]>
        </parameters></tool>"#;

    fn reworded(text: &str) -> Result<Prompt, ToolsError> {
        let file = PromptFile {
            path: "p.xml".to_owned(),
            text: text.to_owned(),
        };
        Prompt::parse("t", OWN).unwrap().reworded(&file)
    }

    #[test]
    fn a_file_gives_description_and_schema() {
        let expected = Prompt {
            description: "Reads <a> &amp;".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        };
        assert_eq!(Prompt::parse("t", OWN).unwrap(), expected);
    }

    #[test]
    fn a_project_rewords_and_changes_nothing_else() {
        let json = r#"{"properties": {"path":{"description":"where","type":"integer"},
            "evil":{"type":"string"}}}"#;
        let element = r#"<parameter name="path" required="true"><description>where</description>
            <type>integer</type></parameter>"#;
        let alias = "<parameter><name>filepath</name><description> where</description></parameter>";
        let named = "<path>where</path><!-- of it -->";
        let table = [json, element, alias, named].map(str::to_owned);
        for parameters in table.into_iter().chain([
            format!("<![CDATA[{json}]]>"),
            format!("\n  {element}\n  <evil/>\n"),
        ]) {
            let text = format!(
                "<?xml version=\"1.0\"?>\n\
                 <tool><description>Mine</description><parameters>{parameters}</parameters></tool>"
            );
            let expected = Prompt {
                description: "Mine".to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": {"path": {"type": "string", "description": "where"}},
                }),
            };
            assert_eq!(reworded(&text).unwrap(), expected, "{parameters}");
        }
    }

    #[test]
    fn the_words_of_a_parameter_alone_leave_the_description() {
        let text = "<tool_prompt><parameters><parameter \
                    name='path'>where</parameter></parameters></tool_prompt>";
        let prompt = reworded(text).unwrap();
        assert_eq!(prompt.description, "Reads <a> &amp;");
        assert_eq!(
            prompt.parameters["properties"]["path"]["description"],
            "where"
        );
    }

    #[test]
    fn a_malformed_file_is_an_error_with_its_place() {
        let table = [
            ("<broken", "1:1", "the document does not have a root node"),
            (
                "<tool>\n  <description>x</descripton>\n</tool>",
                "2:17",
                "expected 'description' tag, not 'descripton'",
            ),
            (
                "<tool>\n <parameters>{\"a\"</parameters></tool>",
                "2:2",
                "its <parameters> are not JSON",
            ),
            (
                "<tool><parameters>[]</parameters></tool>",
                "1:7",
                "its <parameters> are not a JSON object",
            ),
            (
                "<tool><parameters><parameter>x</parameter></parameters></tool>",
                "1:19",
                "a <parameter> has no name",
            ),
            ("<tool/>", "1:1", "it has no text"),
            (
                "<prompt/>",
                "1:1",
                "its outermost element is <prompt>, expected <tool> or <tool_prompt>",
            ),
            (
                "<!DOCTYPE t [<!ENTITY a \"b\">]><tool>&a;</tool>",
                "1:1",
                "XML with DTD detected",
            ),
        ];
        for (text, place, reason) in table {
            let error = reworded(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("read p.xml:{place}: {reason}")),
                "{text}: {error}"
            );
        }
        let deep = format!("<tool>{}", "<a>".repeat(20_000));
        assert!(reworded(&deep).is_err() && reworded(&" ".repeat(MAX_BYTES + 1)).is_err());
    }
}
