//! The reference of all tools as Markdown, written from a registry.
//!
//! Nothing about a tool is written here: what the page says of it is what a model and the policy
//! are told.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use orchestrate_core::text::in_one_line;
use orchestrate_core::text::invisible::shown;
use serde_json::Value;

use super::result_types::{Field, ResultType, result_of};
use super::tool_registry::ToolRegistry;
use crate::files::error_classes;
use crate::tool::{Category, Tool};

/// The begin of the page.
const HEAD: &str = "# Tools\n\nTo give agents a tool, list it in the `tools` of their role. Each \
                    is listed with the permission that the role must grant, whether roles that \
                    list no tools have it, its other names, its parameters, and what its \
                    structured result has.\n";
/// What is said of errors, before the table of what the operating system says.
const ERRORS: &str = "\n## Errors\n\nA call that fails has a class, which decides what happens \
                      next: `Retry` goes to the model, which can repair the call; `Denied` was \
                      refused by a rule, the role or the sandbox; `File` is an error of the disk \
                      that no other path or name avoids; `Timeout` and `Network` are tried again \
                      where that is safe; `Execution` is any other failure of the tool itself; \
                      `Interrupted` means that nobody knows how far it came.\n\nWhat the operating \
                      system says of a file, with its class:\n\n\
                      | error | class |\n|---|---|\n";
/// What follows in the table: what no error of the system says.
const OTHER_ERRORS: &str = "| a file larger than the limit, of which a part can be read | `Retry` \
                            |\n\
                            | a pipe, a socket or a device | `Denied` |\n| every other error | \
                            `File` |\n";

/// Returns the reference of a registry's tools, ordered by category and name.
#[must_use]
pub fn tools_reference(registry: &ToolRegistry) -> String {
    let mut page = HEAD.to_owned();
    let mut categories: BTreeMap<Category, Vec<&dyn Tool>> = BTreeMap::new();
    for (category, tool) in registry.with_categories() {
        categories
            .entry(category.clone())
            .or_default()
            .push(tool.as_ref());
    }
    for (category, tools) in categories {
        push(&mut page, &format!("\n## {}\n", line(category.as_str())));
        for tool in tools {
            push(&mut page, &format!("\n### `{}`\n\n", line(tool.name())));
            describe(&mut page, registry, tool);
            for form in registry
                .second_forms()
                .filter(|form| registry.names().canonical(form.name()) == tool.name())
            {
                push(
                    &mut page,
                    &format!("\nCalled as `{}` with `arguments`:\n\n", line(form.name())),
                );
                describe(&mut page, registry, form.as_ref());
            }
        }
    }
    push(&mut page, ERRORS);
    for (error, class) in error_classes() {
        push(&mut page, &format!("| {} | `{class:?}` |\n", cell(&error)));
    }
    push(&mut page, OTHER_ERRORS);
    page
}

/// Adds what is said of one tool, below its heading.
fn describe(page: &mut String, registry: &ToolRegistry, tool: &dyn Tool) {
    if tool.title() != tool.name() {
        push(page, &format!("**{}**\n\n", line(tool.title())));
    }
    push(page, &format!("{}\n\n", text(tool.description())));
    push(page, &format!("- permission: `{}`\n", tool.permission()));
    push(
        page,
        &format!(
            "- roles that list no tools have it: {}\n",
            if tool.properties().is_default {
                "yes"
            } else {
                "no"
            }
        ),
    );
    if let Some(plugin) = registry.plugin_of(tool.name()) {
        push(
            page,
            &format!(
                "- plugin: `{}` {}\n",
                line(&plugin.name),
                line(&plugin.version)
            ),
        );
    }
    if let Some(wrapping) = tool.wrapping() {
        push(page, &format!("- wraps: `{}`\n", line(wrapping.tool)));
    }
    if let Some(template) = tool.wrapping().and_then(|wrapping| wrapping.template) {
        push(page, &format!("- command: `{}`\n", line(template.as_str())));
    }
    let aliases: Vec<String> = registry
        .names()
        .aliases_of(tool.name())
        .map(|name| format!("`{}`", line(name)))
        .collect();
    if !aliases.is_empty() {
        push(
            page,
            &format!("- other names, in any case: {}\n", aliases.join(", ")),
        );
    }
    parameters(page, tool.schema());
    if tool.wrapping().is_none()
        && registry.plugin_of(tool.name()).is_none()
        && !registry.is_added(tool.name())
    {
        result(page, tool.name());
    }
}

/// Adds what the structured result of a built-in tool has.
fn result(page: &mut String, tool: &str) {
    let Some(ResultType { about, fields }) = result_of(tool) else {
        return;
    };
    push(page, &format!("\nIts result is {about}\n"));
    if !fields.is_empty() {
        push(page, "\n| field | meaning |\n|---|---|\n");
    }
    for Field { name, about } in fields {
        push(page, &format!("| `{name}` | {} |\n", cell(about)));
    }
}

/// Adds the table of the parameters.
fn parameters(page: &mut String, schema: &Value) {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .filter(|properties| !properties.is_empty());
    let Some(properties) = properties else {
        push(page, "\nIt has no parameters.\n");
        return;
    };
    push(
        page,
        "\n| parameter | type | required | description |\n|---|---|---|---|\n",
    );
    for (name, property) in properties {
        let needed = if required.contains(&name.as_str()) {
            "yes"
        } else {
            "no"
        };
        let about = property
            .get("description")
            .and_then(Value::as_str)
            .map(cell)
            .unwrap_or_default();
        let default = property
            .get("default")
            .map(|value| format!("default `{}`", cell(&value.to_string())));
        let about = [Some(about).filter(|about| !about.is_empty()), default]
            .into_iter()
            .flatten();
        let about = about.collect::<Vec<_>>().join("; ");
        push(
            page,
            &format!(
                "| `{}` | {} | {needed} | {about} |\n",
                cell(name),
                cell(&kind(property))
            ),
        );
    }
}

/// Returns the type of a parameter in words.
fn kind(schema: &Value) -> String {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return options
            .iter()
            .map(|option| format!("`{option}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(options) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|name| schema.get(*name)?.as_array())
    {
        return options.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("array of {}", kind(items)),
            None => name.clone(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}

/// Returns a text with invisible characters made visible, line by line.
fn text(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| shown(line.trim_end()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a text as one line.
fn line(text: &str) -> String {
    shown(&in_one_line(text))
}

/// Returns a text as one line of a table's cell.
fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

fn push(page: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = page.write_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::plain_tools;
    use serde_json::json;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the file is compared with, and written by this test alone"
    )]
    fn the_page_of_the_tools_is_up_to_date() {
        let page = tools_reference(&plain_tools().unwrap());
        if std::env::var("ORCHESTRATE_TOOLS_PAGE").is_ok_and(|value| value == "write") {
            std::fs::write(FILE, &page).unwrap();
        }
        let written = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(
            written == page,
            "docs/tools.md is not what the tools say: type `just tools-docs`"
        );
    }

    #[test]
    fn every_tool_has_its_description_names_and_parameters() {
        let registry = plain_tools().unwrap();
        let page = tools_reference(&registry);
        for tool in registry.tools(None) {
            let begin = page.find(&format!("### `{}`\n", tool.name())).unwrap();
            let section = page[begin..].split("\n### ").next().unwrap();
            assert!(section.contains(tool.description()), "{section}");
            assert!(
                section.contains(&format!("- permission: `{}`", tool.permission())),
                "{section}"
            );
            assert!(section.contains("\nIts result is "), "{section}");
            for parameter in tool.schema()["properties"].as_object().unwrap().keys() {
                assert!(
                    section.contains(&format!("\n| `{parameter}` |")),
                    "{parameter}: {section}"
                );
            }
        }
        let shell = page
            .split("### `run_shell_command`")
            .nth(1)
            .unwrap()
            .split("\n### ")
            .next()
            .unwrap();
        assert!(
            shell.contains("`bash`") && shell.contains("| `command` | string | yes |"),
            "{shell}"
        );
        let grep = page
            .split("### `grep`")
            .nth(1)
            .unwrap()
            .split("\n### ")
            .next()
            .unwrap();
        assert!(
            grep.contains("Called as `grep` with `arguments`") && grep.contains("array of string"),
            "{grep}"
        );
    }

    #[test]
    fn types_are_words_and_cells_stay_cells() {
        let table = [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["string", "null"]}), "string or null"),
            (
                json!({"type": "array", "items": {"type": "object"}}),
                "array of object",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "object"}]}),
                "string or object",
            ),
            (json!({"enum": ["a", 1]}), "`\"a\"`, `1`"),
            (json!({}), "any"),
        ];
        for (schema, expected) in table {
            assert_eq!(kind(&schema), expected);
        }
        assert_eq!(cell("a\n b|c\u{202e}").lines().count(), 1);
        assert!(cell("b|c").contains("\\|") && !cell("c\u{202e}").contains('\u{202e}'));
    }
}
