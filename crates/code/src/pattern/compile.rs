//! Reads patterns.
//!
//! A pattern is written as code, and parsed as what it may be: a statement or an expression in a
//! function, a member of a class, or a declaration.

use std::ops::Range;

use tree_sitter::Node;

use super::macros::Calls;
use super::model::{Part, Pattern, Word};
use super::spelling::{Form, HEAD_OF_LOOP, Template};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};

/// Maximum size of a pattern in bytes.
const MAX_BYTES: usize = 4 << 10;
/// Maximum depth of a pattern, which is matched recursively.
const MAX_DEPTH: usize = 100;
/// Maximum number of variables.
const MAX_VARIABLES: usize = 100;
/// Minimum length of a word that is worth looking for before parsing.
const MIN_WORD: usize = 2;
/// Nodes that hold several statements, so that a pattern of one is no such node.
const LISTS: [&str; 5] = [
    "statement_list",
    "module",
    "program",
    "source_file",
    "translation_unit",
];
/// Nodes that hold statements even if they hold a single one.
const HOLDERS: [&str; 7] = [
    "block",
    "statement_list",
    "module",
    "program",
    "source_file",
    "translation_unit",
    "arguments",
];
/// Words that begin statements in languages like C, and so are names of no functions.
const STATEMENTS: [&str; 5] = ["catch", "for", "if", "switch", "while"];
/// The fields in which the name of a function is.
const NAMES: [&str; 3] = ["name", "declarator", "function"];
/// Loops over elements, whose nodes are none of those of other loops.
const LOOPS: [&str; 3] = [
    "for_in_statement",
    "enhanced_for_statement",
    "for_range_loop",
];

impl Pattern {
    /// Reads a pattern in a language.
    ///
    /// # Errors
    /// [`CodeError::Pattern`] if it is not code of the language; [`CodeError::NotBuilt`] and
    /// [`CodeError::Stopped`].
    pub fn parse(language: Language, pattern: &str, stop: Stop<'_>) -> Result<Pattern, CodeError> {
        let wrong = |reason: &str| CodeError::Pattern {
            language,
            reason: reason.to_owned(),
        };
        let pattern = pattern.trim();
        if pattern.is_empty() || pattern.len() > MAX_BYTES {
            return Err(wrong("it is empty or longer than 4 KiB"));
        }
        // A class of C is declared with a semicolon, which is no part of its node.
        let of_c = matches!(language, Language::C | Language::Cpp);
        let declared = pattern
            .strip_suffix(';')
            .filter(|code| of_c && code.ends_with('}'));
        for pattern in declared.into_iter().chain([pattern]) {
            let template = Template::from_pattern(pattern, language);
            if template.size() > MAX_VARIABLES {
                return Err(wrong("it has too many variables"));
            }
            for writing in template.writings() {
                if let Some(pattern) = written(&template, &writing, language, stop)? {
                    return Ok(pattern);
                }
            }
        }
        Err(wrong(
            "it has to be one whole expression, statement or declaration",
        ))
    }
}

/// Returns the pattern that a way to write it is; `None` if that is no code.
fn written(
    template: &Template,
    writing: &[Form],
    language: Language,
    stop: Stop<'_>,
) -> Result<Option<Pattern>, CodeError> {
    let code = template.code(writing);
    for (before, after) in attempts(language) {
        let text = format!("{before}{code}{after}");
        let source = Source::parse(language, &text, stop)?;
        let range = before.len()..before.len() + code.len();
        if source.root().has_error() {
            continue;
        }
        let node = source
            .root()
            .descendant_for_byte_range(range.start, range.end);
        let node = node.filter(|node| node.byte_range() == range && !LISTS.contains(&node.kind()));
        let Some(node) = node.filter(|node| !is_mistaken(*node, &source)) else {
            continue;
        };
        let mut pattern = Compiler {
            source: &source,
            template,
            writing,
            names: Vec::new(),
        }
        .pattern(node)?;
        let calls = if language == Language::Rust {
            Calls::read(&source, stop)?
        } else {
            None
        };
        if let Some(calls) = calls.filter(|calls| !calls.has_blocks) {
            let source = calls.parsed(&source, None, stop)?;
            let names = std::mem::take(&mut pattern.names);
            let mut compiler = Compiler {
                source: &source,
                template,
                writing,
                names,
            };
            pattern.call = compiler.whole(&range);
            pattern.names = compiler.names;
        }
        return Ok(Some(pattern));
    }
    Ok(None)
}

/// Reports whether something else was taken for a function or a call: a statement whose keyword
/// would be its name, or a lambda of C++.
fn is_mistaken(node: Node<'_>, source: &Source<'_>) -> bool {
    let mut name = node;
    while let Some(inner) = NAMES
        .into_iter()
        .find_map(|field| name.child_by_field_name(field))
    {
        name = inner;
    }
    if node.kind() == "function_definition" && name.kind() == "structured_binding_declarator" {
        return true;
    }
    let begins = name.id() != node.id() && name.start_byte() == node.start_byte();
    begins && !has_other_words(source.language()) && STATEMENTS.contains(&source.text_of(name))
}

/// Reports whether a word that begins a statement in C may be a name in a language.
fn has_other_words(language: Language) -> bool {
    matches!(
        language,
        Language::Go | Language::Python | Language::Rust | Language::Shell
    )
}

/// Returns what is tried before and after a pattern, the likeliest first.
pub(crate) fn attempts(language: Language) -> &'static [(&'static str, &'static str)] {
    match language {
        Language::Rust => &[
            ("fn f() {", "}"),
            ("fn f() {", ";}"),
            ("", ""),
            ("impl A {", "}"),
            ("trait A {", "}"),
            ("type A = ", ";"),
            ("fn f() { match x {", "} }"),
            ("fn f() { match x {", " => 0 } }"),
        ],
        Language::Python => &[("", ""), ("class A:\n    ", "\n")],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &[
            ("", ""),
            ("(", ")"),
            ("class A {", "}"),
            ("try {}", ""),
            ("switch (x) {", "}"),
            ("type A = ", ";"),
            ("async function* f() {", "}"),
        ],
        Language::Go => &[
            ("package p\nfunc f() {\n", "\n}"),
            ("package p\n", "\n"),
            ("package p\nvar v = ", "\n"),
            ("package p\nfunc f() { switch x { ", " } }"),
            ("package p\nfunc f() { select { ", " } }"),
            ("package p\ntype t ", "\n"),
        ],
        Language::Java => &[
            ("class A { void f() {", "} }"),
            ("class A { void f() {", ";} }"),
            ("class A { void f() { try {}", "} }"),
            ("class A { Object o = ", "; }"),
            ("class A {", "}"),
            ("class A { void f() { switch (x) {", "} } }"),
            ("", ""),
        ],
        Language::C => &[
            ("void f() {", "}"),
            ("void f() {", ";}"),
            ("", ""),
            ("", ";"),
            ("void *v = ", ";"),
        ],
        Language::Cpp => &[
            ("void f() {", "}"),
            ("void f() {", ";}"),
            ("", ""),
            ("", ";"),
            ("class A {", "};"),
            ("void f() { try {}", "}"),
            ("auto v = ", ";"),
        ],
        Language::Shell => &[("", ""), ("", "\n")],
    }
}

struct Compiler<'a, 't> {
    source: &'a Source<'t>,
    template: &'a Template,
    writing: &'a [Form],
    names: Vec<String>,
}

impl Compiler<'_, '_> {
    fn pattern(mut self, node: Node<'_>) -> Result<Pattern, CodeError> {
        let language = self.source.language();
        let wrong = |reason: &str| CodeError::Pattern {
            language,
            reason: reason.to_owned(),
        };
        let root = self
            .part(node, 0)
            .ok_or_else(|| wrong("it is nested too deeply"))?;
        if matches!(root, Part::One(_) | Part::Any(_)) {
            return Err(wrong(
                "it matches everything; add what the code looks like around the variable",
            ));
        }
        let mut words = Vec::new();
        add_words(&root, &self.source.grammar(), &mut words);
        words.sort_by_key(|word| std::cmp::Reverse(word.text.len()));
        Ok(Pattern {
            language,
            root,
            call: None,
            names: self.names,
            words,
        })
    }

    /// Converts the node of a range, if the text is code.
    fn whole(&mut self, range: &Range<usize>) -> Option<Part> {
        let root = self.source.root();
        let node = root
            .descendant_for_byte_range(range.start, range.end)
            .filter(|node| node.byte_range() == *range)?;
        if root.has_error() {
            None
        } else {
            self.part(node, 0)
        }
    }

    /// Converts a node; `None` if it is nested too deeply.
    fn part(&mut self, node: Node<'_>, depth: usize) -> Option<Part> {
        if depth > MAX_DEPTH {
            return None;
        }
        let text = self.source.text_of(node);
        if let Some(variable) = self.variable(text) {
            // A block of Go holds no list if it is empty.
            let is_list = node.kind() == "statement_list" && matches!(variable, Part::Any(_));
            if is_list || !HOLDERS.contains(&node.kind()) {
                return Some(variable);
            }
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node
            .children(&mut cursor)
            .filter(|child| is_compared(*child))
            .collect();
        if children.is_empty() {
            return Some(Part::Token {
                kind: node.kind_id(),
                text: text.to_owned(),
            });
        }
        let kinds = self.kinds(node, &children);
        let children = children
            .into_iter()
            .map(|child| self.part(child, depth + 1))
            .collect::<Option<_>>()?;
        Some(Part::Node { kinds, children })
    }

    /// Returns the variable that a text stands for.
    fn variable(&mut self, text: &str) -> Option<Part> {
        let of_macro = text
            .strip_suffix('!')
            .filter(|_| self.source.language() == Language::Rust);
        let (variable, _) = self
            .template
            .variable(of_macro.unwrap_or(text), self.writing)?;
        let index = variable.name.clone().map(|name| self.index(name));
        Some(match (of_macro, variable.is_any) {
            (Some(_), _) => Part::Macro(index),
            (None, true) => Part::Any(index),
            (None, false) => Part::One(index),
        })
    }

    /// Returns the kinds of the nodes that a node of the pattern stands for: every sort of loop if
    /// a `$$$` is its head.
    fn kinds(&self, node: Node<'_>, children: &[Node<'_>]) -> Vec<u16> {
        let is_head = |child: &Node<'_>| {
            let variable = self
                .template
                .variable(self.source.text_of(*child), self.writing);
            variable.is_some_and(|(_, form)| form == HEAD_OF_LOOP)
        };
        let mut kinds = vec![node.kind_id()];
        if node.kind() == "for_statement" && children.iter().any(is_head) {
            let grammar = self.source.grammar();
            kinds.extend(
                LOOPS
                    .into_iter()
                    .map(|kind| grammar.id_for_node_kind(kind, true))
                    .filter(|kind| *kind != 0),
            );
        }
        kinds
    }

    fn index(&mut self, name: String) -> usize {
        let known = self.names.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// Reports whether a node is compared: no comment, and nothing that only separates others. In the
/// head of a loop of JavaScript, a semicolon alone is a statement.
pub(super) fn is_compared(node: Node<'_>) -> bool {
    !node.is_extra()
        && !node.is_missing()
        && !matches!(node.kind(), "," | ";" | "\n" | "empty_statement")
}

/// Adds the words of a pattern that are not variables, each once.
fn add_words(part: &Part, grammar: &tree_sitter::Language, words: &mut Vec<Word>) {
    match part {
        Part::One(_) | Part::Any(_) | Part::Macro(_) => {}
        Part::Token { text, kind } => {
            let is_word =
                text.len() >= MIN_WORD && text.chars().all(|c| c.is_alphanumeric() || c == '_');
            // A part of a string may be followed by a letter.
            let is_name = grammar
                .node_kind_for_id(*kind)
                .is_some_and(|kind| kind.ends_with("identifier"));
            let word = Word {
                text: text.clone(),
                is_name,
            };
            if is_word && !words.contains(&word) {
                words.push(word);
            }
        }
        Part::Node { children, .. } => {
            for child in children {
                add_words(child, grammar, words);
            }
        }
    }
}
