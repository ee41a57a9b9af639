//! Imports of Rust: `use`, `mod`, `extern crate`, and paths in code, attributes and macros.

use tree_sitter::Node;

use super::collector::{Collector, line};
use super::model::{Form, Import, ImportKind, ModuleDeclaration};
use crate::walk::{Step, named_children};

/// Maximum number of names that one `use` imports.
const MAX_NAMES: usize = 2_000;
/// Attributes that declare nothing.
const PLAIN_ATTRIBUTES: [&str; 34] = [
    "allow",
    "arg",
    "cfg",
    "clap",
    "cold",
    "command",
    "deny",
    "deprecated",
    "doc",
    "error",
    "expect",
    "export_name",
    "forbid",
    "global_allocator",
    "group",
    "ignore",
    "inline",
    "link",
    "macro_export",
    "macro_use",
    "must_use",
    "no_mangle",
    "non_exhaustive",
    "path",
    "repr",
    "rustfmt::skip",
    "serde",
    "should_panic",
    "test",
    "tokio::main",
    "tokio::test",
    "track_caller",
    "unsafe",
    "warn",
];
/// Traits whose `derive` declares no module.
const PLAIN_DERIVES: [&str; 16] = [
    "Args",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Eq",
    "Error",
    "Hash",
    "Ord",
    "Parser",
    "PartialEq",
    "PartialOrd",
    "Serialize",
    "Subcommand",
    "ValueEnum",
];

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    let kind = node.kind();
    match kind {
        "line_comment" | "block_comment" => return Step::Over,
        "attribute_item" | "inner_attribute_item" => {
            attribute(collector, node);
            return Step::Over;
        }
        "source_file" => collector.found.is_open = is_open(collector, node),
        _ => {}
    }
    let is_test = std::mem::take(&mut collector.is_test_next);
    let path = collector.path_next.take();
    let is_conditional = std::mem::take(&mut collector.is_conditional_next);
    if is_test && collector.kind() != ImportKind::Test {
        let scope = collector.scope();
        collector.within(node, ImportKind::Test, scope);
    }
    match kind {
        "use_declaration" => {
            if let Some(argument) = node.child_by_field_name("argument") {
                uses(collector, argument);
            }
            Step::Over
        }
        "extern_crate_declaration" => {
            let name = node
                .child_by_field_name("name")
                .map(|name| collector.text(name))
                .unwrap_or_default();
            let alias = node
                .child_by_field_name("alias")
                .map_or(name, |alias| collector.text(alias))
                .to_owned();
            collector.import(node, format!("::{name}"), vec![alias]);
            Step::Over
        }
        "mod_item" => module(collector, node, path, is_conditional),
        "macro_invocation" | "token_tree" | "macro_definition" => {
            if kind == "macro_definition" {
                declare(collector, node);
            }
            let (text, first) = (collector.text(node), line(node));
            paths(collector, text, first);
            Step::Over
        }
        "scoped_identifier" | "scoped_type_identifier" => {
            // The path of a path is its begin.
            if collector.path_from != Some(node.start_byte()) {
                collector.path_from = Some(node.start_byte());
                let path = leading_path(collector.text(node));
                if path.contains("::") {
                    collector.mention(line(node), plain(path));
                }
            }
            Step::Into
        }
        _ => {
            if is_item(kind) {
                declare(collector, node);
            }
            Step::Into
        }
    }
}

fn is_item(kind: &str) -> bool {
    matches!(
        kind,
        "struct_item"
            | "enum_item"
            | "union_item"
            | "trait_item"
            | "type_item"
            | "function_item"
            | "const_item"
            | "static_item"
    )
}

/// Reports whether a file may have more names at its root than are read: macros make some, or its
/// syntax is unknown.
fn is_open(collector: &Collector<'_, '_>, root: Node<'_>) -> bool {
    let is_closed = |node: &Node<'_>| match node.kind() {
        "attribute_item" => is_plain_attribute(collector.text(*node)),
        "line_comment"
        | "block_comment"
        | "shebang"
        | "inner_attribute_item"
        | "empty_statement" => true,
        "mod_item"
        | "use_declaration"
        | "extern_crate_declaration"
        | "macro_definition"
        | "impl_item" => true,
        "foreign_mod_item" => true,
        kind => is_item(kind),
    };
    root.has_error() || !named_children(root).iter().all(is_closed)
}

/// Reports whether an attribute declares nothing besides its item.
fn is_plain_attribute(text: &str) -> bool {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inside = compact.strip_prefix("#[").unwrap_or_default();
    let name = leading_path(inside);
    let traits = inside
        .strip_prefix("derive(")
        .and_then(|rest| rest.split(')').next());
    match traits {
        Some(traits) => traits.split(',').all(|path| {
            let name = path.rsplit("::").next().unwrap_or_default();
            name.is_empty() || PLAIN_DERIVES.contains(&name)
        }),
        None => PLAIN_ATTRIBUTES.contains(&name) || name.starts_with("clippy::"),
    }
}

fn declare(collector: &mut Collector<'_, '_>, item: Node<'_>) {
    if let Some(name) = item.child_by_field_name("name") {
        let (scope, name) = (collector.scope(), plain(collector.text(name)));
        collector.found.declared.push(join(&scope, &name));
    }
}

fn module(
    collector: &mut Collector<'_, '_>,
    node: Node<'_>,
    path: Option<String>,
    is_conditional: bool,
) -> Step {
    let Some(name) = node
        .child_by_field_name("name")
        .map(|name| plain(collector.text(name)))
    else {
        return Step::Over;
    };
    let (scope, kind) = (collector.scope(), collector.kind());
    let is_inline = node.child_by_field_name("body").is_some();
    let inner = join(&scope, &name);
    let is_test = kind == ImportKind::Test;
    let line = line(node);
    collector.declare(ModuleDeclaration {
        scope,
        name,
        line,
        path,
        is_inline,
        is_test,
        is_conditional,
    });
    if is_inline {
        collector.within(node, kind, inner);
    }
    Step::Into
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
            "use_list" => {
                let names = named_children(node);
                pending.extend(names.into_iter().rev().map(|name| (name, prefix.clone())));
            }
            "scoped_use_list" => {
                let path = node
                    .child_by_field_name("path")
                    .map(|path| plain(collector.text(path)));
                let inner = path.map_or_else(|| prefix.clone(), |path| join(&prefix, &path));
                let begins_at_root =
                    node.child_by_field_name("path").is_none() && prefix.is_empty();
                let inner = if begins_at_root {
                    "::".to_owned()
                } else {
                    inner
                };
                pending.extend(node.child_by_field_name("list").map(|list| (list, inner)));
            }
            "use_as_clause" => {
                let field = |name| {
                    node.child_by_field_name(name)
                        .map(|child| plain(collector.text(child)))
                };
                let (path, alias) = (
                    field("path").unwrap_or_default(),
                    field("alias").unwrap_or_default(),
                );
                used(collector, node, &join(&prefix, &path), alias);
            }
            "use_wildcard" => {
                let path = node
                    .named_child(0)
                    .map(|path| plain(collector.text(path)))
                    .unwrap_or_default();
                used(collector, node, &join(&prefix, &path), "*".to_owned());
            }
            "line_comment" | "block_comment" => {}
            _ => {
                let path = plain(collector.text(node));
                let whole = if path == "self" && !prefix.is_empty() {
                    prefix
                } else {
                    join(&prefix, &path)
                };
                let name = whole.rsplit("::").next().unwrap_or_default().to_owned();
                used(collector, node, &whole, name);
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
    match prefix {
        "" => path.to_owned(),
        "::" => format!("::{path}"),
        _ => format!("{prefix}::{path}"),
    }
}

/// Returns a path without white space and marks of raw names.
fn plain(path: &str) -> String {
    let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
    path.replace("r#", "")
}

/// Returns the part of a path before its first arguments. A single `:` ends it, as in
/// `name:path::Type`.
fn leading_path(text: &str) -> &str {
    let is_part = |c: char| is_part(c) || c == '#';
    let mut end = if text.starts_with("::") { 2 } else { 0 };
    loop {
        let rest = text.get(end..).unwrap_or_default();
        end += rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        match text.get(end..).and_then(|rest| rest.strip_prefix("::")) {
            Some(inner) if inner.starts_with(is_part) => end += 2,
            _ => return text.get(..end).unwrap_or_default(),
        }
    }
}

fn attribute(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let text = collector.text(node);
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if compact.strip_prefix("#[cfg").is_some_and(needs_test) {
        collector.is_test_next = true;
    }
    if let Some(path) = compact
        .strip_prefix("#[path=\"")
        .and_then(|rest| rest.strip_suffix("\"]"))
    {
        collector.path_next = Some(path.to_owned());
    } else if (compact.starts_with("#[cfg") && compact != "#[cfg(test)]")
        || compact.contains("path=")
    {
        collector.is_conditional_next = true;
    }
    let first = line(node);
    paths(collector, text, first);
    // Serde and others take the name of a module as a text.
    for key in ["with=\"", "crate=\""] {
        for (at, _) in compact.match_indices(key) {
            let value = compact
                .get(at + key.len()..)
                .and_then(|rest| rest.split('"').next())
                .unwrap_or_default();
            let is_key = compact
                .get(..at)
                .is_some_and(|before| !before.ends_with(is_part));
            if is_key && !value.is_empty() && value.chars().all(is_part) {
                collector.mention(first, value);
            }
        }
    }
    // A macro's own name may be imported by `#[macro_use]`, so only paths name packages, as in
    // `#[tokio::main]`.
}

/// Reports whether a condition such as `(all(test,unix))` has the word `test`, except in a
/// `not(…)`.
fn needs_test(condition: &str) -> bool {
    // Whether each group that is open is a `not(…)`, or in one.
    let mut groups: Vec<bool> = Vec::new();
    let (mut word, mut is_quoted) = (String::new(), false);
    for c in condition.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => continue,
            _ if c.is_alphanumeric() || c == '_' => {
                word.push(c);
                continue;
            }
            // `#[cfg_attr(…)]` is another attribute.
            '(' if groups.is_empty() && !word.is_empty() => return false,
            '(' => groups.push(word == "not" || groups.last() == Some(&true)),
            _ if word == "test" && groups.last() == Some(&false) => return true,
            ')' => {
                groups.pop();
            }
            _ => {}
        }
        word.clear();
    }
    false
}

/// Reports whether a name may have a character.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Adds the paths in tokens that have no tree.
fn paths(collector: &mut Collector<'_, '_>, text: &str, first_line: usize) {
    let (mut at, mut line) = (0, first_line);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let c = rest.chars().next().unwrap_or_default();
        if c.is_alphabetic() || c == '_' {
            let path = leading_path(rest);
            let length = if path.is_empty() {
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            } else {
                path.len()
            };
            let root = root_before(text.get(..at).unwrap_or_default());
            if let Some(root) = root.filter(|root| !root.is_empty() || path.contains("::")) {
                let (kind, scope, target) = (
                    collector.kind(),
                    collector.scope(),
                    format!("{root}{}", plain(path)),
                );
                collector.add(Import {
                    target,
                    line,
                    kind,
                    form: Form::Mention,
                    names: Vec::new(),
                    scope,
                });
            }
            at += length.max(1);
        } else {
            line += usize::from(c == '\n');
            at += c.len_utf8();
        }
    }
}

/// Returns what a path in tokens begins with besides its first name, by the text before that: `::`,
/// or nothing; `None` if the name is only a part of a path, a field, or stands for something in a
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
