//! `setup.py`: what the call of `setup` is given as literals. Nothing is run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tree_sitter::Node;

use super::model::{
    Dependency, DependencyKind, Ecosystem, Manifest, ManifestError, PythonSettings, Settings,
};
use super::python::requirement;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::Source;
use crate::walk::{Step, Visitor, named_children, walk};

/// Maximum size in bytes; what people write is smaller.
const MAX_BYTES: usize = 256 << 10;
/// After so many questions whether to stop, a file is given up: some parsers recover from errors in
/// quadratic time.
const MAX_ASKED: usize = 5_000;

/// The arguments that list dependencies.
const LISTS: [(&str, DependencyKind); 3] = [
    ("install_requires", DependencyKind::Runtime),
    ("setup_requires", DependencyKind::Build),
    ("tests_require", DependencyKind::Dev),
];

/// Reads a file.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let failed = |error: CodeError| ManifestError {
        line: 1,
        message: error.to_string(),
    };
    if text.len() > MAX_BYTES {
        return Err(failed(CodeError::TooLarge(MAX_BYTES as u64)));
    }
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > MAX_ASKED;
    let read = || {
        let source = Source::parse(Language::Python, text, &stop)?;
        let mut finder = Finder {
            source: &source,
            assigned: HashMap::new(),
            call: None,
        };
        walk(source.root(), &mut finder, &stop)?;
        Ok(finder.manifest(path))
    };
    read().map_err(|error| match error {
        CodeError::Stopped => ManifestError {
            line: 1,
            message: "it takes too long to parse".to_owned(),
        },
        error => failed(error),
    })
}

/// Finds the call, and what names of the module stand for.
struct Finder<'s, 't> {
    source: &'s Source<'t>,
    /// The values of names; `None` for one that is assigned more than once.
    assigned: HashMap<&'t str, Option<Node<'s>>>,
    call: Option<Node<'s>>,
}

impl<'s> Visitor<'s> for Finder<'s, '_> {
    fn enter(&mut self, node: Node<'s>, _: Option<&'s str>) -> Step {
        match node.kind() {
            "assignment" | "augmented_assignment" => {
                if let Some(name) = node
                    .child_by_field_name("left")
                    .filter(|left| left.kind() == "identifier")
                {
                    let value = node
                        .child_by_field_name("right")
                        .filter(|_| node.kind() == "assignment");
                    let entry = self.assigned.entry(self.source.text_of(name));
                    entry.and_modify(|known| *known = None).or_insert(value);
                }
                Step::Into
            }
            "call" => {
                let function = node
                    .child_by_field_name("function")
                    .map(|function| self.source.text_of(function));
                match function.and_then(|function| function.split_once('.')) {
                    // What a list becomes afterwards is computed.
                    Some((name, "append" | "extend" | "insert" | "remove")) => {
                        self.assigned.insert(name, None);
                    }
                    Some((_, "setup")) => drop(self.call.get_or_insert(node)),
                    None if function == Some("setup") => drop(self.call.get_or_insert(node)),
                    _ => {}
                }
                Step::Into
            }
            "comment" | "string" => Step::Over,
            _ => Step::Into,
        }
    }
}

impl<'s> Finder<'s, '_> {
    fn manifest(&self, path: &str) -> Manifest {
        let (mut settings, mut dependencies) = (PythonSettings::default(), Vec::new());
        let (mut name, mut version) = (None, None);
        let arguments = self
            .call
            .and_then(|call| call.child_by_field_name("arguments"));
        for argument in arguments.map(named_children).unwrap_or_default() {
            let (Some(key), Some(value)) = (
                argument.child_by_field_name("name"),
                argument.child_by_field_name("value"),
            ) else {
                // `setup(**options)` may say anything.
                settings.is_computed |= argument.kind() == "dictionary_splat";
                continue;
            };
            let (key, value) = (self.source.text_of(key), self.value(value));
            match key {
                "name" => name = self.text(value),
                "version" => version = self.text(value),
                "package_dir" => settings
                    .folders
                    .extend(self.pairs(value).filter_map(|(_, value)| self.text(value))),
                "extras_require" => {
                    for (group, list) in self.pairs(value) {
                        let group = self.text(group);
                        let found =
                            self.list(list, DependencyKind::Optional, &mut settings.is_computed);
                        dependencies.extend(found.into_iter().map(|one| Dependency {
                            group: group.clone(),
                            ..one
                        }));
                    }
                }
                _ => {
                    if let Some((_, kind)) = LISTS.iter().find(|(name, _)| *name == key) {
                        dependencies.extend(self.list(value, *kind, &mut settings.is_computed));
                    }
                }
            }
        }
        let manifest = Manifest::new(Ecosystem::Python, path, Settings::Python(settings));
        Manifest {
            name,
            version,
            dependencies,
            ..manifest
        }
    }

    /// Returns the value of a name, if there is one only, or the node itself.
    fn value(&self, node: Node<'s>) -> Node<'s> {
        let named = if node.kind() == "identifier" {
            self.assigned.get(self.source.text_of(node))
        } else {
            None
        };
        named.copied().flatten().unwrap_or(node)
    }

    /// Reads a list of requirements; what is no literal is noted as computed.
    fn list(
        &self,
        node: Node<'s>,
        kind: DependencyKind,
        is_computed: &mut bool,
    ) -> Vec<Dependency> {
        let node = self.value(node);
        if !matches!(node.kind(), "list" | "tuple") {
            *is_computed = true;
            return Vec::new();
        }
        let mut found = Vec::new();
        for entry in named_children(node)
            .into_iter()
            .filter(|entry| entry.kind() != "comment")
        {
            match self.text(entry) {
                Some(text) => {
                    found.extend(requirement(&text, kind, entry.start_position().row + 1))
                }
                None => *is_computed = true,
            }
        }
        found
    }

    /// Returns the keys and values of a dictionary.
    fn pairs(&self, node: Node<'s>) -> impl Iterator<Item = (Node<'s>, Node<'s>)> {
        let pairs = if node.kind() == "dictionary" {
            named_children(node)
        } else {
            Vec::new()
        };
        let pair = |pair: Node<'s>| {
            Some((
                pair.child_by_field_name("key")?,
                pair.child_by_field_name("value")?,
            ))
        };
        pairs.into_iter().filter_map(pair)
    }

    /// Returns the text of a literal without escapes and inserted values.
    fn text(&self, node: Node<'s>) -> Option<String> {
        if node.kind() != "string" {
            return None;
        }
        let mut text = String::new();
        for part in named_children(node) {
            match part.kind() {
                "string_start" | "string_end" => {}
                "string_content" if part.named_child_count() == 0 => {
                    text.push_str(self.source.text_of(part))
                }
                _ => return None,
            }
        }
        Some(text)
    }
}
