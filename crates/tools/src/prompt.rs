//! What a model reads about a tool: `<tool><description/><parameters/></tool>`.
//!
//! The embedded file is the tool's own: `parameters` holds its JSON Schema. A project's file of the same name
//! may replace the words (the description, and the descriptions of parameters that exist), never the schema:
//! a file of a repository must not be able to change what a call may carry.

use serde_json::Value;

use crate::error::ToolsError;

/// A tool's description as read from one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// What the tool does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

impl Prompt {
    /// Reads a tool's own file.
    ///
    /// # Errors
    /// [`ToolsError::Description`] if an element is missing or the parameters are not a JSON object.
    pub fn parse(tool: &str, xml: &str) -> Result<Prompt, ToolsError> {
        let wrong = |reason: String| ToolsError::Description { tool: tool.to_owned(), reason };
        let description = element(xml, "description").ok_or_else(|| wrong("it has no <description>".to_owned()))?;
        let text = element(xml, "parameters").ok_or_else(|| wrong("it has no <parameters>".to_owned()))?;
        let parameters: Value =
            serde_json::from_str(&text).map_err(|error| wrong(format!("its <parameters> are not JSON: {error}")))?;
        if description.is_empty() || !parameters.is_object() {
            return Err(wrong("it needs a description, and an object as parameters".to_owned()));
        }
        Ok(Prompt { description, parameters })
    }

    /// Takes over the words of a project's file, and nothing but the words.
    #[must_use]
    pub fn reworded(mut self, xml: &str) -> Prompt {
        if let Some(description) = element(xml, "description").filter(|text| !text.is_empty()) {
            self.description = description;
        }
        let words: Option<Value> = element(xml, "parameters").and_then(|text| serde_json::from_str(&text).ok());
        let Some(words) = words.as_ref().and_then(|words| words.get("properties")).and_then(Value::as_object) else {
            return self;
        };
        let Some(properties) = self.parameters.get_mut("properties").and_then(Value::as_object_mut) else {
            return self;
        };
        for (name, property) in properties {
            let word = words.get(name).and_then(|word| word.get("description")).and_then(Value::as_str);
            if let (Some(word), Some(property)) = (word, property.as_object_mut()) {
                property.insert("description".to_owned(), Value::String(word.to_owned()));
            }
        }
        self
    }
}

/// Gives the trimmed text between the first opening and the last closing tag of that name.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.rsplit_once(&format!("</{name}>"))?;
    let inner = inner.trim();
    let plain = inner.strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>"));
    Some(plain.map_or_else(|| unescape(inner), |text| text.trim().to_owned()))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OWN: &str = r#"<tool><description>Reads &lt;a&gt; &amp;amp;</description>
        <parameters><![CDATA[{"type":"object","properties":{"path":{"type":"string"}}}]]></parameters></tool>"#;

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
        let project = r#"<tool><description>Mine</description><parameters>{"properties":
            {"path":{"description":"where","type":"integer"},"evil":{"type":"string"}}}</parameters></tool>"#;
        let expected = Prompt {
            description: "Mine".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string", "description": "where"}}}),
        };
        assert_eq!(Prompt::parse("t", OWN).unwrap().reworded(project), expected);
    }

    #[test]
    fn a_broken_file_names_its_tool() {
        let errors: Vec<String> =
            ["", "<description>x</description>", "<description>x</description><parameters>[]</parameters>"]
                .iter()
                .map(|xml| Prompt::parse("t", xml).unwrap_err().to_string())
                .collect();
        assert_eq!(
            errors,
            [
                "read the description of the tool `t`: it has no <description>",
                "read the description of the tool `t`: it has no <parameters>",
                "read the description of the tool `t`: it needs a description, and an object as parameters",
            ]
        );
    }
}
