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
pub(super) struct Context {
    node: usize,
    pub(super) kind: ImportKind,
    /// The modules inside the file, joined by `::`.
    pub(super) scope: String,
}

/// The imports so far, and where the walk is.
pub(super) struct Collector<'s, 't> {
    pub(super) source: &'s Source<'t>,
    pub(super) found: FileImports,
    seen: HashSet<(String, String, ImportKind, Form)>,
    contexts: Vec<Context>,
    /// Whether an attribute says that the next item is for tests, in Rust.
    pub(super) is_test_next: bool,
    /// Whether an attribute may leave the next item out, or say where it is, in Rust.
    pub(super) is_conditional_next: bool,
    /// The path that an attribute gives to the next module, in Rust.
    pub(super) path_next: Option<String>,
    /// Where the last path begins, whose own begin is a path as well, in Rust.
    pub(super) path_from: Option<usize>,
}

impl<'s, 't> Collector<'s, 't> {
    pub(super) fn new(source: &'s Source<'t>, found: FileImports) -> Collector<'s, 't> {
        Collector {
            source,
            found,
            seen: HashSet::new(),
            contexts: Vec::new(),
            is_test_next: false,
            is_conditional_next: false,
            path_next: None,
            path_from: None,
        }
    }

    /// Ends what a node means for imports.
    pub(super) fn leave(&mut self, node: Node<'_>) {
        // One node may mean several things, such as an attribute's and its own.
        while self
            .contexts
            .last()
            .is_some_and(|context| context.node == node.id())
        {
            self.contexts.pop();
        }
    }

    /// Returns the text of a node.
    pub(super) fn text(&self, node: Node<'_>) -> &'t str {
        self.source.text_of(node)
    }

    /// Returns how an import acts here.
    pub(super) fn kind(&self) -> ImportKind {
        self.contexts
            .last()
            .map_or(ImportKind::Plain, |context| context.kind)
    }

    /// Returns the module inside the file.
    pub(super) fn scope(&self) -> String {
        self.contexts
            .last()
            .map(|context| context.scope.clone())
            .unwrap_or_default()
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
        let (kind, scope, line) = (self.kind(), self.scope(), line(at));
        self.add(Import {
            target: target.into(),
            line,
            kind,
            form: Form::Statement,
            names,
            scope,
        });
    }

    /// Adds a mention.
    pub(super) fn mention(&mut self, line: usize, target: impl Into<String>) {
        let (kind, scope) = (self.kind(), self.scope());
        self.add(Import {
            target: target.into(),
            line,
            kind,
            form: Form::Mention,
            names: Vec::new(),
            scope,
        });
    }

    /// Adds an import. What is named twice in the same way counts where it is named first.
    pub(super) fn add(&mut self, import: Import) {
        if import.target.is_empty() || import.target.len() > MAX_TARGET {
            return;
        }
        let is_known = import.names.is_empty()
            && !self.seen.insert((
                import.target.clone(),
                import.scope.clone(),
                import.kind,
                import.form,
            ));
        if !is_known {
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
