//! The index of the files of a commit, from which the maps are made that agents get with their
//! first message.
//!
//! The caller decides which files there are: what is not listed is not in a map, and neither is
//! what it says about others. Only files whose paths name a language are read, no more than the
//! limits of a map allow, and none whose content was read for an index before, by whichever run
//! ([`super::parts`]).

use std::collections::HashMap;

use orchestrate_code::{
    CodeError, IndexBuilder, LanguageHint, MAX_TAGGED_BYTES, MapIndex, MapTask, Stop, Tags, chosen,
    within_memory,
};
use orchestrate_core::Oid;

use super::parts::{self, MapLines};
use crate::code_files::FileVersion;

/// After so many files, what was found out is kept, so that little is lost if the program ends.
const FILES_KEPT_AT_ONCE: usize = 256;

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path from the repository's root, as it is shown.
    pub path: String,
    /// The id of its content.
    pub content: Oid,
    /// Its size in bytes.
    pub bytes: u64,
}

impl StoredFile {
    /// Reports whether its name says that it is code.
    pub fn is_code(&self) -> bool {
        self.hint().is_some()
    }

    fn hint(&self) -> Option<LanguageHint> {
        let hint = LanguageHint::of_path(&self.path)?;
        matches!(hint, LanguageHint::Named(_) | LanguageHint::Header).then_some(hint)
    }

    /// Returns what its tags follow from; `None` if it is no code, or too large to be code that
    /// people wrote.
    fn version(&self) -> Option<FileVersion> {
        let hint = self.hint().filter(|_| self.bytes <= MAX_TAGGED_BYTES)?;
        Some(FileVersion {
            content: self.content.clone(),
            hint,
        })
    }
}

/// Reports whether this program can make maps: it needs the grammars of languages.
pub fn makes_maps() -> bool {
    cfg!(feature = "grammars")
}

/// Makes the index of stored files, whose contents `read` returns if what they declare is not kept.
/// Of a repository that is too large, those are in it that are nearest to the files that the task
/// declares. `None` if no file is in a language that is understood, if it was stopped, or if the
/// program was built without grammars.
///
/// # Errors
/// The first error of `read`.
pub fn map_index<E>(
    files: &[StoredFile],
    task: &MapTask<'_>,
    kept: &dyn MapLines,
    stop: Stop<'_>,
    read: &dyn Fn(&StoredFile) -> Result<Vec<u8>, E>,
) -> Result<Option<MapIndex>, E> {
    let listed: Vec<(&str, u64)> = files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    let chosen: Vec<&StoredFile> = chosen(&listed, task)
        .into_iter()
        .filter_map(|at| files.get(at))
        .collect();
    let paths: Vec<&str> = chosen.iter().map(|file| file.path.as_str()).collect();
    let mut builder = IndexBuilder::new(&paths);
    let mut wanted: HashMap<FileVersion, Vec<&StoredFile>> = HashMap::new();
    for file in chosen {
        if let Some(version) = file.version() {
            wanted.entry(version).or_default().push(file);
        }
    }
    let all: Vec<FileVersion> = wanted.keys().cloned().collect();
    let lines = parts::read(kept, &mut |version, tags| {
        for file in wanted.remove(&version).into_iter().flatten() {
            builder.add(&file.path, &tags);
        }
        !stop()
    });
    let mut found = Vec::new();
    for (version, files) in wanted {
        let Some(first) = files.first() else { continue };
        let Some(tags) = tags(first, &version, stop, read)? else {
            parts::add(kept, found);
            return Ok(None);
        };
        for file in files {
            builder.add(&file.path, &tags);
        }
        found.push((version, tags));
        if found.len() == FILES_KEPT_AT_ONCE {
            parts::add(kept, std::mem::take(&mut found));
        }
    }
    parts::add(kept, found);
    parts::tidy(kept, lines, &all);
    let index = builder.finish();
    Ok((!index.is_empty() && !stop()).then_some(index))
}

/// Returns the tags of a file: none if it cannot be understood; `None` if it was stopped.
fn tags<E>(
    file: &StoredFile,
    version: &FileVersion,
    stop: Stop<'_>,
    read: &dyn Fn(&StoredFile) -> Result<Vec<u8>, E>,
) -> Result<Option<Tags>, E> {
    if stop() {
        return Ok(None);
    }
    let bytes = read(file)?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Ok(Some(Tags::default()));
    };
    let Some(language) = version.hint.language(text) else {
        return Ok(Some(Tags::default()));
    };
    match within_memory(stop, |stop| Tags::find(language, text, stop)) {
        Ok(tags) => Ok(Some(tags)),
        Err(CodeError::Stopped) => Ok(None),
        Err(_) => Ok(Some(Tags::default())),
    }
}
