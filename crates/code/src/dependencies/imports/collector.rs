//! The imports of a file so far, and where the walk over its tree is.

use std::collections::HashSet;

use tree_sitter::Node;

use super::model::{FileImports, Form, Import, ImportKind, ModuleDeclaration};
use crate::source::Source;

/// Maximum number of imports of one file: more are generated code.
pub(super) const MAX_IMPORTS: usize = 20_000;
/// Maximum number of bytes of what is imported.
const MAX_TARGET: usize = 400;

/// What a node around an import means for it.
struct Context {
    node: usize,
    kind: ImportKind,
    /// The modules inside the file, joined by `::`.
    scope: String,
}

/// The imports so far, and where the walk is.
pub(super) struct Collector<'s, 't> {
    pub(super) source: &'s Source<'t>,
    pub(super) found: FileImports,
    seen: HashSet<(String, String, ImportKind, Form)>,
    contexts: Vec<Context>,
    /// The attributes of the next item without white space, in Rust.
    pub(super) attributes: String,
    pub(super) is_in_attribute: bool,
}

impl<'s, 't> Collector<'s, 't> {
    pub(super) fn new(source: &'s Source<'t>) -> Collector<'s, 't> {
        Collector {
            source,
            found: FileImports {
                language: source.language(),
                package: None,
                imports: Vec::new(),
                modules: Vec::new(),
            },
            seen: HashSet::new(),
            contexts: Vec::new(),
            attributes: String::new(),
            is_in_attribute: false,
        }
    }

    /// Ends what a node means for imports.
    pub(super) fn leave(&mut self, node: Node<'_>) {
        if node.kind() == "attribute_item" {
            let text = compact(self.text(node));
            self.attributes.push_str(&text);
            self.is_in_attribute = false;
        }
        // One node may mean several things, such as an attribute's and its own.
        while let Some(context) = self.contexts.last()
            && context.node == node.id()
        {
            self.contexts.pop();
        }
    }

    /// Returns the text of a node.
    pub(super) fn text(&self, node: Node<'_>) -> &'t str {
        self.source.text_of(node)
    }

    /// Returns the text of a field of a node; nothing if it has none.
    pub(super) fn field(&self, node: Node<'_>, name: &str) -> &'t str {
        node.child_by_field_name(name)
            .map_or("", |child| self.text(child))
    }

    /// Returns how an import acts here.
    pub(super) fn kind(&self) -> ImportKind {
        self.contexts
            .last()
            .map_or(ImportKind::Plain, |context| context.kind)
    }

    /// Returns the module inside the file.
    pub(super) fn scope(&self) -> String {
        match self.contexts.last() {
            Some(context) => context.scope.clone(),
            None => String::new(),
        }
    }

    /// Makes imports below a node act in this way.
    pub(super) fn within(&mut self, node: Node<'_>, kind: ImportKind, scope: String) {
        self.contexts.push(Context {
            node: node.id(),
            kind,
            scope,
        });
    }

    /// Adds an import by a statement.
    pub(super) fn import(&mut self, at: Node<'_>, target: impl Into<String>, names: Vec<String>) {
        let kind = self.kind();
        self.add(Import {
            names,
            ..self.new_import(at, target.into(), kind)
        });
    }

    /// Adds an import that acts in its own way.
    pub(super) fn import_as(&mut self, at: Node<'_>, target: &str, kind: ImportKind) {
        self.add(self.new_import(at, target.to_owned(), kind));
    }

    /// Adds an import of another form.
    pub(super) fn mention(&mut self, at: Node<'_>, target: impl Into<String>, form: Form) {
        let kind = self.kind();
        self.add(Import {
            form,
            ..self.new_import(at, target.into(), kind)
        });
    }

    fn new_import(&self, at: Node<'_>, target: String, kind: ImportKind) -> Import {
        Import {
            target,
            line: line(at),
            kind,
            form: Form::Statement,
            names: Vec::new(),
            scope: self.scope(),
        }
    }

    /// Adds an import. What is named twice in the same way counts where it is named first.
    fn add(&mut self, import: Import) {
        if import.target.is_empty() || import.target.len() > MAX_TARGET {
            return;
        }
        let key = (
            import.target.clone(),
            import.scope.clone(),
            import.kind,
            import.form,
        );
        if !import.names.is_empty() || self.seen.insert(key) {
            self.found.imports.push(import);
        }
    }

    pub(super) fn declare(&mut self, module: ModuleDeclaration) {
        if self.found.modules.len() < MAX_IMPORTS {
            self.found.modules.push(module);
        }
    }
}

/// Returns the number of the first line of a node.
pub(super) fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// Returns a text without white space.
pub(super) fn compact(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Returns a literal without its quotes; `None` if it is no plain text.
pub(super) fn unquoted(literal: &str) -> Option<&str> {
    let quote = literal
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    if inside.contains(['\\', '\n']) || inside.contains("${") {
        None
    } else {
        Some(inside)
    }
}
