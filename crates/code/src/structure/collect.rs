//! Collects the items of a tree.

use std::collections::HashSet;

use tree_sitter::Node;

use super::docs::{self, cut};
use super::found::{Around, Draft, Found, PUBLIC, Place};
use super::model::memory_of_texts;
use super::{CodeStructure, Item, c, ecmascript, go, java, python, rust, shell};
use crate::analysis::FileAnalysis;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::syntax_errors::SyntaxErrors;
use crate::walk::{Step, Visitor, named_children, walk};

/// Maximum number of characters of a signature and of a name.
const MAX_SIGNATURE: usize = 240;
/// Maximum number of bytes of a declaration that are read for its signature.
const MAX_SIGNATURE_BYTES: usize = 4 * MAX_SIGNATURE;
/// Maximum number of items of one file: more are generated code.
const MAX_ITEMS: usize = 50_000;

impl FileAnalysis for CodeStructure {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<CodeStructure, CodeError> {
        Ok(CodeStructure {
            language: source.language(),
            lines: source.text().lines().count(),
            items: items(source, stop)?,
            syntax_errors: SyntaxErrors::find(source, stop)?,
        })
    }

    fn memory(&self) -> usize {
        let errors = self
            .syntax_errors
            .first
            .iter()
            .map(|error| size_of_val(error) + error.message.len());
        let items = self
            .items
            .iter()
            .map(|item| size_of_val(item) + memory_of_texts(item));
        size_of_val(self) + items.sum::<usize>() + errors.sum::<usize>()
    }
}

/// Returns the items of a parsed text.
fn items(source: &Source<'_>, stop: Stop<'_>) -> Result<Vec<Item>, CodeError> {
    let mut collector = Collector {
        source,
        items: Vec::new(),
        scopes: Vec::new(),
        comments: Vec::new(),
        documents_to: 0,
        code_to: None,
        exported_to: 0,
        exports: HashSet::new(),
    };
    walk(source.root(), &mut collector, stop)?;
    let Collector {
        mut items, exports, ..
    } = collector;
    for item in &mut items {
        if item.within.is_none() && exports.contains(item.name.as_str()) {
            item.visibility = PUBLIC;
        }
    }
    Ok(items)
}

struct Collector<'s, 't> {
    source: &'s Source<'t>,
    items: Vec<Item>,
    scopes: Vec<Scope>,
    /// Comments that may document the next item, without an empty line between them.
    comments: Vec<&'t str>,
    /// The row before which they end.
    documents_to: usize,
    /// The last row of the code so far; a comment on it documents nothing.
    code_to: Option<usize>,
    /// The byte at which an export ends.
    exported_to: usize,
    /// The names that exports list.
    exports: HashSet<&'t str>,
}

/// An item whose children are visited.
struct Scope {
    node: usize,
    item: usize,
    access: Option<String>,
}

impl<'n> Visitor<'n> for Collector<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if !node.is_named() || self.items.len() >= MAX_ITEMS {
            return Step::Over;
        }
        match self.describe(node) {
            Found::Comment => {
                self.comment(node);
                Step::Over
            }
            Found::Annotation => {
                self.documents(node);
                Step::Over
            }
            Found::Wrapper => {
                self.documents(node);
                Step::Into
            }
            Found::Inside => {
                self.comments.clear();
                Step::Into
            }
            Found::Nothing => {
                self.comments.clear();
                self.code_to = Some(node.end_position().row);
                Step::Over
            }
            Found::Item(draft) => self.item(node, draft),
        }
    }

    fn leave(&mut self, node: Node<'n>) {
        if self
            .scopes
            .last()
            .is_some_and(|scope| scope.node == node.id())
        {
            self.scopes.pop();
            self.comments.clear();
            self.code_to = Some(node.end_position().row);
        }
    }
}

impl<'t> Collector<'_, 't> {
    fn describe<'n>(&mut self, node: Node<'n>) -> Found<'n> {
        self.note(node);
        let exported = node.start_byte() < self.exported_to;
        let place = Place {
            source: self.source,
            around: self.around(),
            exported,
        };
        match self.source.language() {
            Language::C => c::describe(node, &place),
            Language::Cpp => c::describe(node, &place),
            Language::Go => go::describe(node, &place),
            Language::Java => java::describe(node, &place),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                ecmascript::describe(node, &place)
            }
            Language::Python => python::describe(node, &place),
            Language::Rust => rust::describe(node, &place),
            Language::Shell => shell::describe(node, &place),
        }
    }

    /// Notes what changes who may use what follows.
    fn note(&mut self, node: Node<'_>) {
        match node.kind() {
            "access_specifier" => {
                let access = self.source.text_of(node).to_owned();
                if let Some(scope) = self.scopes.last_mut() {
                    scope.access = Some(access);
                }
            }
            "export_statement" => {
                self.exported_to = node.end_byte();
                // What `export default` exports may stand elsewhere.
                self.export(node.child_by_field_name("value"));
            }
            "assignment_expression" => {
                let target = node
                    .child_by_field_name("left")
                    .map(|left| self.source.text_of(left))
                    .unwrap_or_default();
                if ecmascript::is_export(target) {
                    self.export(node.child_by_field_name("right"));
                }
            }
            "export_specifier" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.exports.insert(self.source.text_of(name));
                }
            }
            _ => {}
        }
    }

    /// Notes the names that a value exports: itself, or those in an object.
    fn export(&mut self, value: Option<Node<'_>>) {
        let mut value = value;
        // As in `exports = module.exports = name`.
        while let Some(assignment) = value.filter(|value| value.kind() == "assignment_expression") {
            value = assignment.child_by_field_name("right");
        }
        let Some(value) = value else { return };
        let all = if value.kind() == "object" {
            named_children(value)
        } else {
            vec![value]
        };
        for named in all {
            let named = named.child_by_field_name("value").unwrap_or(named);
            if matches!(named.kind(), "identifier" | "shorthand_property_identifier") {
                self.exports.insert(self.source.text_of(named));
            }
        }
    }

    fn around(&self) -> Option<Around<'_>> {
        let scope = self.scopes.last()?;
        let item = self.items.get(scope.item)?;
        Some(Around {
            kind: item.kind,
            visibility: &item.visibility,
            access: scope.access.as_deref(),
        })
    }

    fn comment(&mut self, node: Node<'_>) {
        let text = self.source.text_of(node);
        let first = node.start_position().row;
        let after = first + text.trim_end().lines().count().max(1);
        if self.code_to == Some(first) || !docs::is_doc(self.source.language(), text) {
            self.comments.clear();
            return;
        }
        if self.documents_to < first {
            self.comments.clear();
        }
        self.comments.push(text);
        self.documents_to = after;
    }

    /// Lets comments directly before a node document what follows it.
    fn documents(&mut self, node: Node<'_>) {
        if self.documents_to < node.start_position().row {
            self.comments.clear();
        }
        self.documents_to = node.end_position().row + 1;
    }

    fn item(&mut self, node: Node<'_>, draft: Draft<'_>) -> Step {
        let begin = draft.begin.unwrap_or(node);
        let adjacent = self.documents_to >= begin.start_position().row;
        let comments = std::mem::take(&mut self.comments);
        let doc = draft.doc.or_else(|| {
            if adjacent {
                docs::of_comments(&comments)
            } else {
                None
            }
        });
        let around = self
            .scopes
            .last()
            .and_then(|scope| self.items.get(scope.item));
        let within = around.map(|item| match &item.within {
            Some(outer) => format!("{outer}.{}", item.name),
            None => item.name.clone(),
        });
        let depth = around.map_or(0, |item| item.depth + 1);
        let signature = self.signature(node, begin);
        let item = Item {
            kind: draft.kind,
            name: cut(&draft.name, MAX_SIGNATURE),
            within: within
                .or(draft.owner)
                .map(|within| cut(&within, MAX_SIGNATURE)),
            depth,
            line: begin.start_position().row + 1,
            end_line: last_row(node) + 1,
            visibility: draft.visibility,
            signature: format!("{}{signature}", draft.prefix),
            doc,
        };
        let step = if draft.has_items {
            self.scopes.push(Scope {
                node: node.id(),
                item: self.items.len(),
                access: None,
            });
            Step::Into
        } else {
            self.code_to = Some(last_row(node));
            Step::Over
        };
        self.items.push(item);
        step
    }

    /// Returns a declaration without its body, on one line.
    fn signature(&self, node: Node<'_>, begin: Node<'_>) -> String {
        let end = signature_end(node).map_or(node.end_byte(), |end| end.start_byte());
        let all = self.source.text_between(begin.start_byte(), end);
        let (first, _) = all.split_at(all.floor_char_boundary(MAX_SIGNATURE_BYTES));
        let first = match self.source.language() {
            Language::C | Language::Cpp | Language::Go => before_block(first),
            _ if node.kind() == "macro_definition" => before_block(first),
            _ => first,
        };
        let words = first
            .split_whitespace()
            .chain(self.names_behind(node).split_whitespace());
        let line = words.collect::<Vec<_>>().join(" ");
        cut(
            line.trim_end_matches(['{', '=', ':', ';', ' '])
                .trim_end_matches("=>")
                .trim_end(),
            MAX_SIGNATURE,
        )
    }

    /// Returns the names of a type of C that stand behind its body, as in `typedef struct { … }
    /// name`.
    fn names_behind(&self, node: Node<'_>) -> &'t str {
        let whole = node
            .child_by_field_name("type")
            .filter(|_| node.kind() == "type_definition");
        let whole = whole.filter(|whole| whole.child_by_field_name("body").is_some());
        whole
            .and_then(|whole| self.source.text().get(whole.end_byte()..node.end_byte()))
            .unwrap_or_default()
    }
}

fn before_block(text: &str) -> &str {
    text.split('{').next().unwrap_or(text)
}

/// Returns what follows the signature: the body, or the value of a variable unless it is a
/// function, whose signature is that of the variable.
fn signature_end(node: Node<'_>) -> Option<Node<'_>> {
    let value = || {
        node.child_by_field_name("value")
            .or_else(|| node.child_by_field_name("right"))
    };
    let body = node.child_by_field_name("body");
    body.or_else(|| value().map(|value| value.child_by_field_name("body").unwrap_or(value)))
}

/// Returns the last row of a node, some of which end with the end of a line.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row {
        end.row - 1
    } else {
        end.row
    }
}
