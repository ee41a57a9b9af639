//! Imports of Rust: `use`, `mod`, `extern crate`, and paths in code, attributes and macros.

use tree_sitter::Node;

use super::collector::{Collector, compact, line};
use super::model::{Form, ImportKind, ModuleDeclaration};
use crate::walk::{Step, named_children};

/// Maximum number of names that one `use` imports.
const MAX_NAMES: usize = 2_000;

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "line_comment" | "block_comment" => return Step::Over,
        "attribute_item" => {
            collector.is_in_attribute = true;
            return Step::Into;
        }
        _ => {}
    }
    let attributes = if collector.is_in_attribute {
        String::new()
    } else {
        std::mem::take(&mut collector.attributes)
    };
    if is_for_tests(&attributes) {
        let scope = collector.scope();
        collector.within(node, ImportKind::Test, scope);
    }
    match node.kind() {
        "use_declaration" => {
            if let Some(argument) = node.child_by_field_name("argument") {
                uses(collector, argument);
            }
            Step::Over
        }
        "extern_crate_declaration" => {
            let name = plain(collector.field(node, "name"));
            let alias = plain(collector.field(node, "alias"));
            let target = if name == "self" {
                "crate".to_owned()
            } else {
                format!("::{name}")
            };
            let known_as = if alias.is_empty() { name } else { alias };
            collector.import(node, target, vec![known_as]);
            Step::Over
        }
        "mod_item" => module(collector, node, &attributes),
        "string_literal" => {
            named_by_text(collector, node);
            Step::Over
        }
        "identifier" | "crate" | "self" | "super" => {
            path(collector, node);
            Step::Over
        }
        _ => Step::Into,
    }
}

/// Reports whether attributes keep their item for tests, as `#[cfg(all(test, unix))]` does.
fn is_for_tests(attributes: &str) -> bool {
    attributes.split("#[").any(|attribute| {
        let is_named = ["(test)", "(test,", ",test)", ",test,"]
            .iter()
            .any(|word| attribute.contains(word));
        let is_denied = attribute.contains("not(test") || attribute.contains("not(any(");
        attribute.starts_with("cfg(") && is_named && !is_denied
    })
}

fn module(collector: &mut Collector<'_, '_>, node: Node<'_>, attributes: &str) -> Step {
    let (scope, kind) = (collector.scope(), collector.kind());
    let name = plain(collector.field(node, "name"));
    let is_inline = node.child_by_field_name("body").is_some();
    let path = attributes
        .split_once("#[path=\"")
        .and_then(|(_, rest)| rest.split_once("\"]"))
        .map(|(path, _)| path.to_owned());
    let others = attributes.replace("#[cfg(test)]", "");
    let is_elsewhere = path.is_none() && others.contains("path=");
    if is_inline {
        collector.within(node, kind, join(&scope, &name));
    }
    collector.declare(ModuleDeclaration {
        scope,
        name,
        line: line(node),
        path,
        is_inline,
        is_test: kind == ImportKind::Test,
        is_conditional: others.contains("#[cfg") || is_elsewhere,
    });
    if is_inline { Step::Into } else { Step::Over }
}

/// Adds what a `use` imports, one path for each name.
fn uses(collector: &mut Collector<'_, '_>, argument: Node<'_>) {
    let mut pending = vec![(argument, String::new())];
    let mut count = 0;
    while let Some((node, prefix)) = pending.pop() {
        count += 1;
        if count > MAX_NAMES {
            return;
        }
        match node.kind() {
            "line_comment" | "block_comment" => {}
            "use_list" => {
                for name in named_children(node).into_iter().rev() {
                    pending.push((name, prefix.clone()));
                }
            }
            "scoped_use_list" => {
                let path = plain(collector.field(node, "path"));
                let inner = if path.is_empty() && prefix.is_empty() {
                    "::".to_owned()
                } else {
                    join(&prefix, &path)
                };
                pending.extend(node.child_by_field_name("list").map(|list| (list, inner)));
            }
            "use_as_clause" => {
                let path = plain(collector.field(node, "path"));
                let alias = plain(collector.field(node, "alias"));
                used(collector, node, &join(&prefix, &path), alias);
            }
            "use_wildcard" => {
                let path = node.named_child(0).map(|path| collector.text(path));
                let path = plain(path.unwrap_or(""));
                used(collector, node, &join(&prefix, &path), "*".to_owned());
            }
            _ => {
                let path = join(&prefix, &plain(collector.text(node)));
                let path = path.strip_suffix("::self").unwrap_or(&path);
                let name = path.rsplit("::").next().unwrap_or(path);
                used(collector, node, path, name.to_owned());
            }
        }
    }
}

fn used(collector: &mut Collector<'_, '_>, node: Node<'_>, path: &str, name: String) {
    let path = path.strip_suffix("::self").unwrap_or(path);
    collector.import(node, path, vec![name]);
}

/// Joins two paths.
fn join(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", _) => path.to_owned(),
        (_, "") => prefix.to_owned(),
        ("::", _) => format!("::{path}"),
        _ => format!("{prefix}::{path}"),
    }
}

/// Returns a path without white space and the marks of raw names.
fn plain(path: &str) -> String {
    compact(path).replace("r#", "")
}

/// Adds the path that begins with a name, if one does.
fn path(collector: &mut Collector<'_, '_>, name: Node<'_>) {
    let text = collector.source.text();
    let (Some(before), Some(rest)) = (text.get(..name.start_byte()), text.get(name.start_byte()..))
    else {
        return;
    };
    // Each name of a long path would look at all that follow.
    let Some(root) = root_before(before).filter(|_| !rest.starts_with(char::is_uppercase)) else {
        return;
    };
    let path = leading_path(rest);
    if path.contains("::") || !root.is_empty() {
        let target = format!("{root}{}", plain(path));
        collector.mention(name, target, Form::Mention);
    }
}

/// Adds the module that serde and others take as a text, as in `with = "path"`.
fn named_by_text(collector: &mut Collector<'_, '_>, literal: Node<'_>) {
    let before = collector.source.text().get(..literal.start_byte());
    let key = before.and_then(|before| before.trim_end().strip_suffix('='));
    let is_key = key.is_some_and(|key| {
        let word = key.trim_end().rsplit(|c: char| !is_part(c)).next();
        matches!(word, Some("with" | "crate"))
    });
    let path = collector.text(literal).trim_matches('"');
    if is_key && path.chars().all(|c| is_part(c) || c == ':') {
        collector.mention(literal, path, Form::Mention);
    }
}

/// Returns the part of a path before its first arguments. A single `:` ends it, as in
/// `name:path::Type`.
fn leading_path(text: &str) -> &str {
    let mut end = 0;
    while let Some(rest) = text.get(end..) {
        let name = rest.find(|c: char| !is_part(c) && c != '#');
        end += name.unwrap_or(rest.len());
        match text.get(end..).and_then(|rest| rest.strip_prefix("::")) {
            Some(inner) if inner.starts_with(is_part) => end += 2,
            _ => break,
        }
    }
    text.get(..end).unwrap_or(text)
}

/// Reports whether a name may have a character.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns what a path begins with besides its first name, by the text before that: `::`, or
/// nothing; `None` if the name is only a part of a path, a field, or stands for something in a
/// macro.
fn root_before(before: &str) -> Option<&'static str> {
    let before = before.trim_end();
    if let Some(outer) = before.strip_suffix("::") {
        // No space is between the parts of a path, nor between a type's arguments and what is of
        // the type.
        let is_arrow = outer.ends_with("=>") || outer.ends_with("->");
        let goes_on = outer.ends_with(|c: char| is_part(c) || c == '>') && !is_arrow;
        return if goes_on { None } else { Some("::") };
    }
    let is_range = before.ends_with("..");
    if before.ends_with('$') || (before.ends_with('.') && !is_range) {
        None
    } else {
        Some("")
    }
}
