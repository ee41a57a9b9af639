//! Items of C and C++.

use tree_sitter::Node;

use super::found::{Around, Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};

/// Maximum number of declarators around a name.
const MAX_DECLARATORS: usize = 32;
/// Maximum number of words before the type of a declaration.
const SPECIFIERS: u32 = 6;

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    match node.kind() {
        "translation_unit"
        | "declaration_list"
        | "linkage_specification"
        | "preproc_if"
        | "preproc_ifdef"
        | "preproc_else"
        | "preproc_elif"
        | "preproc_elifdef"
        | "field_declaration_list"
        | "ERROR" => Found::Inside,
        "template_declaration" => Found::Wrapper,
        "comment" => Found::Comment,
        "attribute_declaration" | "template_parameter_list" | "requires_clause" => {
            Found::Annotation
        }
        "namespace_definition" => Draft::new(ItemKind::Module, place.field(node, "name"), PUBLIC)
            .with_items()
            .into(),
        "function_definition" => match declared_function(node, place) {
            Some(name) => function(node, name, place),
            None => Found::Nothing,
        },
        "declaration" | "field_declaration" => match declared_function(node, place) {
            Some(name) => function(node, name, place),
            // A type may be declared with it.
            None => Found::Wrapper,
        },
        "class_specifier" => declared_type(ItemKind::Class, node, place),
        "struct_specifier" => declared_type(ItemKind::Struct, node, place),
        "union_specifier" => declared_type(ItemKind::Union, node, place),
        "enum_specifier" => declared_type(ItemKind::Enum, node, place),
        "type_definition" => {
            let name = node.child_by_field_name("declarator").and_then(name_in);
            match name {
                Some(name) => Draft::new(
                    ItemKind::Type,
                    place.source.text_of(name),
                    visibility(node, place),
                )
                .into(),
                None => Found::Nothing,
            }
        }
        "alias_declaration" | "concept_definition" => Draft::new(
            ItemKind::Type,
            place.field(node, "name"),
            visibility(node, place),
        )
        .into(),
        "preproc_def" if node.child_by_field_name("value").is_some() => {
            Draft::new(ItemKind::Constant, place.field(node, "name"), PUBLIC).into()
        }
        "preproc_function_def" => {
            Draft::new(ItemKind::Macro, place.field(node, "name"), PUBLIC).into()
        }
        _ => Found::Nothing,
    }
}

fn declared_type<'n>(kind: ItemKind, node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    if node.child_by_field_name("body").is_none() {
        return Found::Nothing;
    }
    let name = place.field(node, "name");
    Draft::new(kind, name, visibility(node, place))
        .with_items()
        .into()
}

fn function<'n>(node: Node<'n>, name: &str, place: &Place<'_, '_>) -> Found<'n> {
    // A function of a type may be defined outside of it, as `Type::name`.
    let (owner, name) = match name.rsplit_once("::") {
        Some((owner, name)) => (Some(owner.replace("::", ".")), name),
        None => (None, name),
    };
    let kind = if owner.is_some() {
        ItemKind::Method
    } else {
        place.function()
    };
    Found::Item(Draft {
        owner,
        ..Draft::new(kind, name, visibility(node, place))
    })
}

/// Returns the name of the function that a node declares.
fn declared_function<'s>(node: Node<'_>, place: &Place<'s, '_>) -> Option<&'s str> {
    function_name(node).map(|name| place.source.text_of(name))
}

/// Returns the name of the function that a definition or declaration is of.
pub(crate) fn function_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut declarator = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_DECLARATORS {
        let inner = inner(declarator)?;
        if declarator.kind() == "function_declarator" {
            // A pointer to a function is no function.
            return if is_name(inner) { Some(inner) } else { None };
        }
        declarator = inner;
    }
    None
}

/// Returns the name in a declarator.
fn name_in(mut declarator: Node<'_>) -> Option<Node<'_>> {
    for _ in 0..MAX_DECLARATORS {
        if is_name(declarator) {
            return Some(declarator);
        }
        declarator = inner(declarator)?;
    }
    None
}

fn inner(declarator: Node<'_>) -> Option<Node<'_>> {
    if declarator.kind() == "operator_cast" {
        return Some(declarator);
    }
    declarator.child_by_field_name("declarator").or_else(|| {
        let unnamed = matches!(
            declarator.kind(),
            "reference_declarator" | "parenthesized_declarator"
        );
        if unnamed {
            declarator.named_child(0)
        } else {
            None
        }
    })
}

fn is_name(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "operator_cast"
            | "template_function"
    )
}

fn visibility(node: Node<'_>, place: &Place<'_, '_>) -> Visibility {
    if let Some(around) = place
        .around
        .filter(|around| around.kind != ItemKind::Module)
    {
        return member(around);
    }
    let mut words = (0..SPECIFIERS).filter_map(|index| node.child(index));
    let is_static = |child: Node<'_>| {
        child.kind() == "storage_class_specifier" && place.source.text_of(child) == "static"
    };
    if words.any(is_static) {
        PRIVATE
    } else {
        PUBLIC
    }
}

fn member(around: Around<'_>) -> Visibility {
    match around.access {
        Some("public") => PUBLIC,
        Some("private") => PRIVATE,
        Some(access) => Visibility::Owned(access.to_owned()),
        None if around.kind == ItemKind::Class => PRIVATE,
        None => PUBLIC,
    }
}
