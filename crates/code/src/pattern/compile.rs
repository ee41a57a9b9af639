//! Reads patterns.
//!
//! Each variable is replaced by an identifier that no code has, and the result is parsed as what it may be: a
//! statement or an expression in a function, a member of a class, or a declaration.

use tree_sitter::Node;

use super::model::{Part, Pattern, Word};
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
/// How an identifier in the place of a variable begins, and how one in the place of any number of nodes.
const ONE: &str = "zq1one";
const ANY: &str = "zq1any";
/// Nodes that hold several statements, so that a pattern of one is no such node.
const LISTS: [&str; 5] = ["statement_list", "module", "program", "source_file", "translation_unit"];
/// Nodes that hold statements even if they hold a single one.
const HOLDERS: [&str; 7] =
    ["block", "statement_list", "module", "program", "source_file", "translation_unit", "arguments"];

impl Pattern {
    /// Reads a pattern in a language.
    ///
    /// # Errors
    /// [`CodeError::Pattern`] if it is not code of the language; [`CodeError::NotBuilt`] and [`CodeError::Stopped`].
    pub fn parse(language: Language, pattern: &str, stop: Stop<'_>) -> Result<Pattern, CodeError> {
        let wrong = |reason: &str| CodeError::Pattern { language, reason: reason.to_owned() };
        let pattern = pattern.trim();
        if pattern.is_empty() || pattern.len() > MAX_BYTES {
            return Err(wrong("it is empty or longer than 4 KiB"));
        }
        let (code, variables) = replace(pattern);
        if variables.len() > MAX_VARIABLES {
            return Err(wrong("it has too many variables"));
        }
        for (before, after) in attempts(language) {
            let text = format!("{before}{code}{after}");
            let source = Source::parse(language, &text, stop)?;
            let range = before.len()..before.len() + code.len();
            if source.root().has_error() {
                continue;
            }
            let node = source.root().descendant_for_byte_range(range.start, range.end);
            let Some(node) = node.filter(|node| node.byte_range() == range && !LISTS.contains(&node.kind())) else {
                continue;
            };
            return Compiler { source: &source, variables: &variables, names: Vec::new() }.pattern(node);
        }
        Err(wrong("it has to be one whole expression, statement or declaration"))
    }
}

/// A variable of a pattern.
struct Variable {
    name: Option<String>,
    is_any: bool,
}

/// Replaces each variable by an identifier with its number.
fn replace(pattern: &str) -> (String, Vec<Variable>) {
    let mut code = String::new();
    let mut variables = Vec::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        code.push_str(before);
        let named = from.trim_start_matches('$');
        let dollars = from.len() - named.len();
        let length = named.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let (name, after) = named.split_at(length.unwrap_or(named.len()));
        let is_any = dollars >= 3;
        // `$x` and `$1` are variables of shells and part of names elsewhere.
        if !is_any && (dollars > 1 || !name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')) {
            code.push_str(from.get(..dollars).unwrap_or_default());
            rest = named;
            continue;
        }
        let begin = if is_any { ANY } else { ONE };
        code.push_str(&format!("{begin}{}", variables.len()));
        let name = if name.is_empty() || name.starts_with('_') { None } else { Some(name.to_owned()) };
        variables.push(Variable { name, is_any });
        rest = after;
    }
    code.push_str(rest);
    (code, variables)
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
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            &[("", ""), ("(", ")"), ("class A {", "}"), ("type A = ", ";"), ("async function* f() {", "}")]
        }
        Language::Go => &[
            ("package p\nfunc f() {\n", "\n}"),
            ("package p\n", "\n"),
            ("package p\nvar v = ", "\n"),
            ("package p\ntype t ", "\n"),
        ],
        Language::Java => &[
            ("class A { void f() {", "} }"),
            ("class A { void f() {", ";} }"),
            ("class A { Object o = ", "; }"),
            ("class A {", "}"),
            ("", ""),
        ],
        Language::C => &[("void f() {", "}"), ("void f() {", ";}"), ("", ""), ("", ";"), ("void *v = ", ";")],
        Language::Cpp => {
            &[("void f() {", "}"), ("void f() {", ";}"), ("", ""), ("", ";"), ("class A {", "};"), ("auto v = ", ";")]
        }
        Language::Shell => &[("", ""), ("", "\n")],
    }
}

struct Compiler<'a, 't> {
    source: &'a Source<'t>,
    variables: &'a [Variable],
    names: Vec<String>,
}

impl Compiler<'_, '_> {
    fn pattern(mut self, node: Node<'_>) -> Result<Pattern, CodeError> {
        let language = self.source.language();
        let wrong = |reason: &str| CodeError::Pattern { language, reason: reason.to_owned() };
        let root = self.part(node, 0).ok_or_else(|| wrong("it is nested too deeply"))?;
        if matches!(root, Part::One(_) | Part::Any(_)) {
            return Err(wrong("it matches everything; add what the code looks like around the variable"));
        }
        let mut words = Vec::new();
        add_words(&root, &self.source.grammar(), &mut words);
        words.sort_by_key(|word| std::cmp::Reverse(word.text.len()));
        Ok(Pattern { language, root, names: self.names, words })
    }

    /// Converts a node; `None` if it is nested too deeply.
    fn part(&mut self, node: Node<'_>, depth: usize) -> Option<Part> {
        if depth > MAX_DEPTH {
            return None;
        }
        let text = self.source.text_of(node);
        if !HOLDERS.contains(&node.kind())
            && let Some(variable) = self.variable(text)
        {
            return Some(variable);
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).filter(|child| is_compared(*child)).collect();
        if children.is_empty() {
            return Some(Part::Token { kind: node.kind_id(), text: text.to_owned() });
        }
        let children = children.into_iter().map(|child| self.part(child, depth + 1)).collect::<Option<_>>()?;
        Some(Part::Node { kind: node.kind_id(), children })
    }

    /// Returns the variable that a text stands for, perhaps as a statement.
    fn variable(&mut self, text: &str) -> Option<Part> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let number = text.strip_prefix(ONE).or_else(|| text.strip_prefix(ANY))?;
        let variable = self.variables.get(number.parse::<usize>().ok()?)?;
        let index = variable.name.clone().map(|name| self.index(name));
        Some(if variable.is_any { Part::Any(index) } else { Part::One(index) })
    }

    fn index(&mut self, name: String) -> usize {
        let known = self.names.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// Reports whether a node is compared: no comment, and nothing that only separates others.
pub(super) fn is_compared(node: Node<'_>) -> bool {
    !node.is_extra() && !node.is_missing() && !matches!(node.kind(), "," | ";" | "\n")
}

/// Adds the words of a pattern that are not variables, each once.
fn add_words(part: &Part, grammar: &tree_sitter::Language, words: &mut Vec<Word>) {
    match part {
        Part::One(_) | Part::Any(_) => {}
        Part::Token { text, kind } => {
            let is_word = text.len() >= MIN_WORD && text.chars().all(|c| c.is_alphanumeric() || c == '_');
            // A part of a string may be followed by a letter.
            let is_name = grammar.node_kind_for_id(*kind).is_some_and(|kind| kind.ends_with("identifier"));
            let word = Word { text: text.clone(), is_name };
            if is_word && !words.contains(&word) {
                words.push(word);
            }
        }
        Part::Node { children, .. } => children.iter().for_each(|child| add_words(child, grammar, words)),
    }
}
