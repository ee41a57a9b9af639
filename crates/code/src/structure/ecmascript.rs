//! Items of JavaScript and TypeScript.

use tree_sitter::Node;

use super::found::{Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};

/// Maximum number of children before the name of a member.
const MODIFIERS: u32 = 4;

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let kind = match node.kind() {
        // Only an object that is exported is visited.
        "program" | "class_body" | "interface_body" | "object_type" | "statement_block"
        | "export_clause" | "object" | "ERROR" => return Found::Inside,
        "export_statement"
        | "ambient_declaration"
        | "lexical_declaration"
        | "variable_declaration"
        | "expression_statement" => return Found::Wrapper,
        "comment" => return Found::Comment,
        "decorator" => return Found::Annotation,
        "variable_declarator" => return variable(node, place),
        "assignment_expression" => return assigned(node, place),
        "pair" => return pair(node, place),
        "function_expression" | "generator_function" | "arrow_function" | "class" => {
            return nameless(node, place);
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            return member(node, place);
        }
        "field_definition" | "public_field_definition" => return field(node, place),
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            ItemKind::Function
        }
        "class_declaration" | "abstract_class_declaration" => ItemKind::Class,
        "interface_declaration" => ItemKind::Interface,
        "enum_declaration" => ItemKind::Enum,
        "type_alias_declaration" => ItemKind::Type,
        "internal_module" | "module" => ItemKind::Module,
        _ => return Found::Nothing,
    };
    let name = place.field(node, "name").trim_matches(['"', '\'']);
    let draft = Draft::new(kind, name, visibility(place));
    match kind {
        ItemKind::Class | ItemKind::Interface | ItemKind::Module => draft.with_items().into(),
        _ => draft.into(),
    }
}

fn visibility(place: &Place<'_, '_>) -> Visibility {
    if place.exported { PUBLIC } else { PRIVATE }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "generator_function"
    )
}

fn variable<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let is_named = node
        .child_by_field_name("name")
        .is_some_and(|name| name.kind() == "identifier");
    let Some(value) = node.child_by_field_name("value").filter(|_| is_named) else {
        return Found::Nothing;
    };
    let name = place.field(node, "name");
    if is_function(value) {
        Draft::new(ItemKind::Function, name, visibility(place)).into()
    } else if value.kind() == "class" {
        Draft::new(ItemKind::Class, name, visibility(place)).into()
    } else {
        Draft::new(ItemKind::Constant, name, visibility(place)).into()
    }
}

/// Returns the function or class that `export default` exports without a declaration. A class that
/// is assigned has its item already, in which its members are.
fn nameless<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    match node.parent().map(|parent| parent.kind()) {
        Some("export_statement") => {}
        Some("assignment_expression") if node.kind() == "class" => return Found::Inside,
        _ => return Found::Nothing,
    }
    let name = match place.field(node, "name") {
        "" => "default",
        name => name,
    };
    let draft = |kind| Draft {
        prefix: "export default ",
        ..Draft::new(kind, name, PUBLIC)
    };
    if is_function(node) {
        draft(ItemKind::Function).into()
    } else {
        draft(ItemKind::Class).with_items().into()
    }
}

/// Returns a function in an object that is exported.
fn pair<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let name = place.field(node, "key").trim_matches(['"', '\'']);
    match node.child_by_field_name("value") {
        Some(value) if is_function(value) => Draft::new(place.function(), name, PUBLIC).into(),
        _ => Found::Nothing,
    }
}

/// Returns a function that is assigned, such as to `module.exports.name` or
/// `Name.prototype.method`, or a class that is exported so. An object that is exported may have
/// functions in it.
fn assigned<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let target = place.field(node, "left");
    let class = node
        .child_by_field_name("right")
        .filter(|value| value.kind() == "class" && is_export(target));
    if let Some(class) = class {
        let name = Some(place.field(class, "name"))
            .filter(|name| !name.is_empty())
            .unwrap_or(target);
        return Draft::new(ItemKind::Class, name, PUBLIC)
            .with_items()
            .into();
    }
    if is_export(target) && node.child_by_field_name("right").is_some_and(has_functions) {
        return Found::Wrapper;
    }
    if !node.child_by_field_name("right").is_some_and(is_function)
        || target.contains(char::is_whitespace)
    {
        return Found::Nothing;
    }
    Draft::new(
        ItemKind::Function,
        target,
        if is_export(target) { PUBLIC } else { PRIVATE },
    )
    .into()
}

fn has_functions(value: Node<'_>) -> bool {
    matches!(value.kind(), "object" | "assignment_expression")
}

/// Reports whether what is assigned to a target is exported, as modules of CommonJS do.
pub(super) fn is_export(target: &str) -> bool {
    let target = target.strip_prefix("module.").unwrap_or(target);
    target == "exports" || target.starts_with("exports.")
}

fn member<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let name = place.field(node, "name");
    let kind = if name == "constructor" {
        ItemKind::Constructor
    } else {
        place.function()
    };
    Draft::new(kind, name, access(node, name, place)).into()
}

/// Returns a field that holds a function.
fn field<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let name = ["name", "property"]
        .into_iter()
        .map(|field| place.field(node, field))
        .find(|name| !name.is_empty());
    match (node.child_by_field_name("value"), name) {
        (Some(value), Some(name)) if is_function(value) => {
            Draft::new(ItemKind::Method, name, access(node, name, place)).into()
        }
        _ => Found::Nothing,
    }
}

fn access(node: Node<'_>, name: &str, place: &Place<'_, '_>) -> Visibility {
    let mut modifiers = (0..MODIFIERS).filter_map(|index| node.child(index));
    match modifiers.find(|child| child.kind() == "accessibility_modifier") {
        Some(modifier) => Visibility::Owned(place.source.text_of(modifier).to_owned()),
        None if name.starts_with('#') => PRIVATE,
        None => PUBLIC,
    }
}
