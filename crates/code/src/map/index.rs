//! An index of a repository's code: which files declare a name, and which use it.
//!
//! It is the same for every task, so it is made once for a commit, and a walk over it reads only
//! the files that it reaches. Names that no file declares are not in it.

use std::collections::HashMap;

use super::tags::Tags;
use super::task::is_compound;

/// A name that is declared in more files than this says nothing: thousands of files may declare
/// `new`.
pub(super) const MAX_FILES: usize = 20;

/// The index of the names of a repository.
#[derive(Debug, Default)]
pub struct MapIndex {
    /// Ordered by path.
    pub(super) files: Vec<IndexedFile>,
    /// Ordered by their text.
    pub(super) names: Vec<Name>,
}

/// The position of a name in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameId(u32);

/// A file of a repository.
#[derive(Debug, Default)]
pub(super) struct IndexedFile {
    pub(super) path: Box<str>,
    pub(super) definitions: Vec<IndexedDefinition>,
    /// The names that it refers to.
    pub(super) references: Vec<Reference>,
}

/// Something that a file declares.
#[derive(Debug)]
pub(super) struct IndexedDefinition {
    /// `None` for what is only around others, such as a module.
    pub(super) name: Option<NameId>,
    pub(super) line: usize,
    /// The index of the definition that it is in.
    pub(super) parent: Option<usize>,
    pub(super) signature: Box<str>,
}

/// How often a file refers to a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) name: NameId,
    pub(super) count: u32,
}

/// A name that files declare.
#[derive(Debug, Default)]
pub(super) struct Name {
    pub(super) text: Box<str>,
    /// The files that declare it.
    pub(super) declared: Vec<Declaration>,
    /// The files that refer to it.
    pub(super) users: Vec<Use>,
    /// Whether every declaration is meant for its own file or type.
    pub(super) is_private: bool,
    /// Whether it consists of several words.
    pub(super) is_compound: bool,
}

/// The declarations of a name in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) file: usize,
    pub(super) definitions: Vec<usize>,
}

/// How often a file refers to the name that this belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) file: usize,
    pub(super) count: u32,
}

/// Makes an index, file by file.
#[derive(Debug)]
pub struct IndexBuilder {
    /// Ordered by path.
    files: Vec<IndexedFile>,
    names: Vec<Name>,
    by_text: HashMap<Box<str>, NameId>,
}

impl IndexBuilder {
    /// Begins an index of files with these paths from the repository's root, as they are shown.
    /// Neither their order matters, nor a second one of the same path.
    pub fn new(paths: &[&str]) -> IndexBuilder {
        let mut sorted = paths.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let file = |path: &str| IndexedFile {
            path: path.into(),
            ..IndexedFile::default()
        };
        let files = sorted.into_iter().map(file).collect();
        IndexBuilder {
            files,
            names: Vec::new(),
            by_text: HashMap::new(),
        }
    }

    /// Adds what is in a file; it does nothing if its path is not one of the index.
    pub fn add<S: AsRef<str>>(&mut self, path: &str, tags: &Tags<S>) {
        let Ok(at) = self.files.binary_search_by(|file| (*file.path).cmp(path)) else {
            return;
        };
        let mut definitions = Vec::with_capacity(tags.definitions.len());
        for (number, definition) in tags.definitions.iter().enumerate() {
            let name = definition.name.as_ref();
            let name = (!name.is_empty()).then(|| self.intern(name));
            if let Some(name) = name.and_then(|name| self.names.get_mut(name.position())) {
                name.declare(at, number, definition.private);
            }
            definitions.push(IndexedDefinition {
                name,
                line: definition.line,
                parent: definition.parent,
                signature: definition.signature.as_ref().into(),
            });
        }
        let mut references = Vec::with_capacity(tags.references.len());
        for (name, count) in &tags.references {
            references.push(Reference {
                name: self.intern(name.as_ref()),
                count: *count,
            });
        }
        if let Some(file) = self.files.get_mut(at) {
            file.definitions = definitions;
            file.references = references;
        }
    }

    fn intern(&mut self, text: &str) -> NameId {
        if let Some(id) = self.by_text.get(text) {
            return *id;
        }
        let id = NameId::at(self.names.len());
        self.by_text.insert(text.into(), id);
        self.names.push(Name {
            text: text.into(),
            is_private: true,
            ..Name::default()
        });
        id
    }

    /// Returns the index. What is said about names that no file declares, or too many, is dropped.
    pub fn finish(self) -> MapIndex {
        let IndexBuilder {
            mut files,
            names,
            by_text,
        } = self;
        drop(by_text);
        let all = names.len();
        let mut kept: Vec<(usize, Name)> = names
            .into_iter()
            .enumerate()
            .filter(|(_, name)| says_something(name))
            .collect();
        kept.sort_unstable_by(|(_, one), (_, other)| one.text.cmp(&other.text));
        let mut new_ids: Vec<Option<NameId>> = vec![None; all];
        let mut names = Vec::with_capacity(kept.len());
        for (old, mut name) in kept {
            // Files may have been added in any order.
            name.declared
                .sort_unstable_by_key(|declaration| declaration.file);
            name.is_compound = is_compound(&name.text);
            if let Some(new) = new_ids.get_mut(old) {
                *new = Some(NameId::at(names.len()));
            }
            names.push(name);
        }
        let new_id = |old: NameId| new_ids.get(old.position()).copied().flatten();
        for (at, file) in files.iter_mut().enumerate() {
            for definition in &mut file.definitions {
                definition.name = definition.name.and_then(new_id);
            }
            let mut references = Vec::new();
            for Reference { name: old, count } in std::mem::take(&mut file.references) {
                let Some(id) = new_id(old) else { continue };
                references.push(Reference { name: id, count });
                if let Some(name) = names.get_mut(id.position()) {
                    name.users.push(Use { file: at, count });
                }
            }
            file.references = references;
        }
        MapIndex { files, names }
    }
}

fn says_something(name: &Name) -> bool {
    (1..=MAX_FILES).contains(&name.declared.len())
}

impl MapIndex {
    /// Reports whether no file of it declares anything.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(|file| file.definitions.is_empty())
    }

    pub(super) fn file(&self, at: usize) -> Option<&IndexedFile> {
        self.files.get(at)
    }

    pub(super) fn name(&self, id: NameId) -> Option<&Name> {
        self.names.get(id.position())
    }

    /// Returns the name with this text.
    pub(super) fn find(&self, text: &str) -> Option<NameId> {
        let found = self.names.binary_search_by(|name| (*name.text).cmp(text));
        found.ok().map(NameId::at)
    }
}

impl NameId {
    fn at(position: usize) -> NameId {
        // More names than that do not fit into memory.
        NameId(u32::try_from(position).unwrap_or(u32::MAX))
    }

    fn position(self) -> usize {
        self.0 as usize
    }
}

impl Name {
    fn declare(&mut self, file: usize, definition: usize, private: bool) {
        self.is_private &= private;
        // A file is added as a whole, so only the last one can be this one.
        let declaring = self.declared.len();
        match self.declared.last_mut() {
            Some(last) if last.file == file => last.definitions.push(definition),
            // One more than says something is enough to know that it says nothing.
            _ if declaring > MAX_FILES => {}
            _ => self.declared.push(Declaration {
                file,
                definitions: vec![definition],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tags::Definition;
    use super::*;

    fn tags(declared: &[&str], used: &[&str]) -> Tags {
        let definition = |name: &&str| {
            let (name, signature) = ((*name).to_owned(), String::new());
            Definition {
                name,
                line: 1,
                parent: None,
                private: false,
                signature,
            }
        };
        let references = used.iter().map(|name| ((*name).to_owned(), 1)).collect();
        Tags {
            definitions: declared.iter().map(definition).collect(),
            references,
        }
    }

    #[test]
    fn a_name_that_too_many_files_declare_or_none_is_not_in_it() {
        for (files, is_in_it) in [(MAX_FILES, true), (MAX_FILES + 1, false)] {
            let paths: Vec<String> = (0..files).map(|number| format!("f{number}.rs")).collect();
            let listed: Vec<&str> = paths.iter().map(String::as_str).collect();
            let mut builder = IndexBuilder::new(&listed);
            for path in &listed {
                builder.add(path, &tags(&["new"], &["new", "undeclared"]));
            }
            let index = builder.finish();
            assert_eq!(index.find("new").is_some(), is_in_it, "{files}");
            assert_eq!(index.find("undeclared"), None);
            let uses: usize = index.names.iter().map(|name| name.users.len()).sum();
            assert_eq!(uses, if is_in_it { files } else { 0 });
        }
    }
}
