//! What the structured result of each built-in tool has: its type, and its fields with their
//! meaning, for the reference. A test compares them with what the tools give.

/// A paragraph for each tool: its name with what the result is, then the fields.
const RESULTS: &str = include_str!("result_types.txt");

/// The result of a tool.
pub(crate) struct ResultType {
    /// What it is, in words.
    pub(crate) about: &'static str,
    /// Its fields with their meaning, in order; none if it is no object.
    pub(crate) fields: Vec<Field>,
}

/// A field with its meaning.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

/// Returns what a built-in tool's result has; `None` for tools of others.
pub(crate) fn result_of(tool: &str) -> Option<ResultType> {
    let mut paragraphs = RESULTS.split("\n\n");
    let of_tool =
        paragraphs.find_map(|paragraph| paragraph.strip_prefix(tool)?.strip_prefix(": "))?;
    let mut lines = of_tool.lines();
    let about = lines.next()?;
    let mut fields = Vec::new();
    for line in lines {
        let (name, about) = line.trim_start().split_once(": ")?;
        fields.push(Field { name, about });
    }
    Some(ResultType { about, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::plain_tools;

    #[test]
    fn every_built_in_tool_has_a_result() {
        let registry = plain_tools().unwrap();
        for tool in registry.tools(None) {
            assert!(result_of(tool.name()).is_some(), "{}", tool.name());
        }
        for paragraph in RESULTS.split("\n\n") {
            let (name, _) = paragraph.split_once(": ").unwrap();
            assert!(registry.tool(name).is_some(), "{name}");
        }
    }
}
