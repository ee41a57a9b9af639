//! What the nodes of each language mean for the complexity.

use tree_sitter::Node;

use crate::language::Language;

/// What a node means for the complexity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A function with figures of its own.
    Function,
    /// A function that is part of the one around it.
    Lambda,
    /// `if`.
    If,
    /// `elif`, where it is a node of its own.
    ElseIf,
    /// `else`, where it is a node of its own.
    Else,
    /// A loop with a condition or over something.
    Loop,
    /// A loop without a condition.
    Endless,
    /// A statement that chooses one of several cases.
    Switch,
    /// One of these cases, not the default.
    Case,
    /// A case of Rust, all but one of which are decisions.
    Arm,
    /// What handles an error.
    Catch,
    /// A conditional expression.
    Ternary,
    /// An operation whose operators may be logical.
    Operation,
    /// A decision that does not change the flow as a reader sees it.
    Decision,
    /// A jump to a label.
    Jump,
    /// A call, which may be a recursion.
    Call,
    /// A string that is a statement, such as documentation.
    StringStatement,
    /// A comment.
    Comment,
    /// Anything else.
    Other,
}

/// Returns what a node means.
pub(super) fn role(language: Language, node: Node<'_>) -> Role {
    let kind = node.kind();
    match kind {
        "comment" | "line_comment" | "block_comment" | "html_comment" => return Role::Comment,
        "binary_expression" | "boolean_operator" | "let_chain" => return Role::Operation,
        "if_expression" | "if_statement" => return Role::If,
        "while_expression" | "while_statement" | "for_expression" | "for_statement"
        | "do_statement" => {
            return Role::Loop;
        }
        "else_clause" => return Role::Else,
        "call_expression" | "call" | "method_invocation" => return Role::Call,
        _ => {}
    }
    match language {
        Language::Rust => rust(kind, node),
        Language::Python => python(kind, node),
        Language::JavaScript | Language::TypeScript | Language::Tsx => ecmascript(kind, node),
        Language::Go => go(kind, node),
        Language::Java => java(kind, node),
        Language::C | Language::Cpp => c(kind, node),
        Language::Shell => shell(kind),
    }
}

fn rust(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "function_item" => Role::Function,
        "closure_expression" => Role::Lambda,
        "loop_expression" => Role::Endless,
        "match_expression" => Role::Switch,
        "match_arm" => Role::Arm,
        // Its guard.
        "match_pattern" if node.child_by_field_name("condition").is_some() => Role::Decision,
        "let_declaration" if node.child_by_field_name("alternative").is_some() => Role::Decision,
        "try_expression" | "where_clause" => Role::Decision,
        "break_expression" | "continue_expression" if has_child(node, "label") => Role::Jump,
        _ => Role::Other,
    }
}

fn python(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "function_definition" => Role::Function,
        "lambda" => Role::Lambda,
        "elif_clause" => Role::ElseIf,
        "match_statement" => Role::Switch,
        "case_clause" => Role::Case,
        "except_clause" => Role::Catch,
        "conditional_expression" => Role::Ternary,
        "for_in_clause" | "if_clause" | "finally_clause" => Role::Decision,
        "expression_statement"
            if node
                .named_child(0)
                .is_some_and(|child| child.kind() == "string") =>
        {
            Role::StringStatement
        }
        _ => Role::Other,
    }
}

fn ecmascript(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "function_declaration"
        | "generator_function_declaration"
        | "function_expression"
        | "generator_function"
        | "arrow_function"
        | "method_definition" => Role::Function,
        "for_in_statement" => Role::Loop,
        "switch_statement" => Role::Switch,
        "switch_case" => Role::Case,
        "catch_clause" => Role::Catch,
        "ternary_expression" => Role::Ternary,
        "break_statement" | "continue_statement" if node.child_by_field_name("label").is_some() => {
            Role::Jump
        }
        _ => Role::Other,
    }
}

fn go(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "function_declaration" | "method_declaration" | "func_literal" => Role::Function,
        "expression_switch_statement" | "type_switch_statement" | "select_statement" => {
            Role::Switch
        }
        "expression_case" | "type_case" | "communication_case" => Role::Case,
        "goto_statement" => Role::Jump,
        "break_statement" | "continue_statement" if has_child(node, "label_name") => Role::Jump,
        _ => Role::Other,
    }
}

fn java(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "method_declaration" if node.child_by_field_name("body").is_none() => Role::Other,
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            Role::Function
        }
        "lambda_expression" => Role::Lambda,
        "enhanced_for_statement" => Role::Loop,
        "switch_expression" => Role::Switch,
        "switch_label" if node.child(0).is_some_and(|word| word.kind() == "case") => Role::Case,
        "catch_clause" => Role::Catch,
        "ternary_expression" => Role::Ternary,
        "break_statement" | "continue_statement" if has_child(node, "identifier") => Role::Jump,
        _ => Role::Other,
    }
}

fn c(kind: &str, node: Node<'_>) -> Role {
    match kind {
        "function_definition" if node.child_by_field_name("body").is_some() => Role::Function,
        "lambda_expression" => Role::Lambda,
        "for_range_loop" => Role::Loop,
        "switch_statement" => Role::Switch,
        "case_statement" if node.child_by_field_name("value").is_some() => Role::Case,
        "catch_clause" => Role::Catch,
        "conditional_expression" => Role::Ternary,
        "preproc_if" | "preproc_elif" => Role::Decision,
        // lizard does not count `#ifndef`.
        "preproc_ifdef" if has_child(node, "#ifdef") => Role::Decision,
        "goto_statement" => Role::Jump,
        _ => Role::Other,
    }
}

fn shell(kind: &str) -> Role {
    match kind {
        "function_definition" => Role::Function,
        "elif_clause" => Role::ElseIf,
        "c_style_for_statement" => Role::Loop,
        "case_statement" => Role::Switch,
        "case_item" => Role::Case,
        "ternary_expression" => Role::Ternary,
        "list" => Role::Operation,
        _ => Role::Other,
    }
}

fn has_child(node: Node<'_>, kind: &str) -> bool {
    (0..node.child_count())
        .filter_map(|index| node.child(index))
        .any(|child| child.kind() == kind)
}

/// Reports whether an operation is a logical one.
pub(super) fn is_logical_operation(node: Node<'_>) -> bool {
    match node.child_by_field_name("operator") {
        Some(operator) => is_logical(operator.kind()),
        None => matches!(node.kind(), "let_chain" | "list"),
    }
}

/// Reports whether a token alone is a decision, wherever it stands.
pub(super) fn is_deciding_token(language: Language, token: &str) -> bool {
    match token {
        "if" | "for" | "while" | "case" | "catch" | "&&" | "||" => true,
        "elif" | "except" | "and" | "or" => language == Language::Python,
        // Elsewhere it is a part of types, too.
        "?" => matches!(language, Language::C | Language::Cpp | Language::Rust),
        _ => false,
    }
}

/// Reports whether a token is a logical operator.
pub(super) fn is_logical(token: &str) -> bool {
    matches!(token, "&&" | "||" | "and" | "or" | "??")
}

/// Reports whether a child is nested in the flow that its parent controls, rather than its
/// condition.
pub(super) fn is_nested(parent: Role, field: Option<&str>, child: Node<'_>) -> bool {
    match (parent, field) {
        (
            Role::Loop | Role::Endless | Role::Switch | Role::Catch | Role::Lambda | Role::If,
            Some("body"),
        ) => true,
        (Role::If | Role::ElseIf | Role::Ternary, Some("consequence" | "alternative")) => true,
        (Role::Else, Some("body")) => true,
        (_, Some(_)) => false,
        // Some grammars have no fields here.
        (Role::Switch, None) => child.kind().ends_with("_case") || child.kind() == "case_item",
        (Role::Catch, None) => child.kind() == "block",
        (Role::If | Role::ElseIf | Role::Else | Role::Ternary | Role::Lambda, None) => {
            child.is_named()
        }
        _ => false,
    }
}
