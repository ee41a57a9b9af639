//! A map of the files of a commit for one task, which an agent gets with its first message.
//!
//! The caller decides which files there are: what is not listed is not in the map, and neither is what it says about
//! others. Only files whose paths name a language are read, no more than the limits of a map allow, and none whose
//! content the run has read for a map before.

use std::sync::Arc;

use orchestrate_code::{
    CodeError, LanguageHint, MAX_TAGGED_BYTES, MapTask, MappedFile, RepositoryMap, Source, Stop, Tags, chosen,
};
use orchestrate_core::Oid;

use crate::code_files::{AnalysisCache, FileAnalysis, FileVersion};
use crate::shared::SharedValues;

impl FileAnalysis for Tags {
    fn of(source: &Source<'_>, stop: Stop<'_>) -> Result<Tags, CodeError> {
        Tags::of_source(source, stop)
    }

    fn memory(&self) -> usize {
        Tags::memory(self)
    }
}

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
        matches!(LanguageHint::of_path(&self.path), Some(LanguageHint::Named(_) | LanguageHint::Header))
    }
}

/// What a map is made for.
pub struct MapRequest<'a> {
    /// The files that the task declares: paths, folders or patterns.
    pub files: &'a [String],
    /// The task's words.
    pub text: &'a str,
    /// Reports whether a text is within the budget.
    pub fits: &'a dyn Fn(&str) -> bool,
    /// What the agents of the run share: what files declare is found out once.
    pub shared: &'a SharedValues,
    /// Reports whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Reports whether this program can make maps: it needs the grammars of languages.
pub fn makes_maps() -> bool {
    cfg!(feature = "grammars")
}

/// Makes a map of stored files, whose contents `read` returns. `None` if nothing of it fits, if no file is in a
/// language that is understood, if it was stopped, or if the program was built without grammars.
///
/// # Errors
/// The first error of `read`.
pub fn repository_map<E>(
    files: &[StoredFile],
    request: &MapRequest<'_>,
    read: &dyn Fn(&StoredFile) -> Result<Vec<u8>, E>,
) -> Result<Option<String>, E> {
    let task = MapTask { files: request.files, text: request.text };
    let listed: Vec<(&str, u64)> = files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    let cache = request.shared.value::<AnalysisCache>();
    let mut tagged: Vec<(&str, Option<Arc<Tags>>)> = Vec::new();
    for at in chosen(&listed, &task) {
        let Some(file) = files.get(at) else { continue };
        match tags(file, &cache, request.stop, read)? {
            Err(CodeError::Stopped) => return Ok(None),
            tags => tagged.push((&file.path, tags.unwrap_or_default())),
        }
    }
    if tagged.iter().all(|(_, tags)| tags.is_none()) {
        return Ok(None);
    }
    let files: Vec<MappedFile<'_>> =
        tagged.iter().map(|(path, tags)| MappedFile { path, tags: tags.as_deref() }).collect();
    let map = RepositoryMap::of(&files, &task, request.stop);
    Ok(map.ok().and_then(|map| map.fit(request.fits)))
}

/// Returns the tags of a file; `None` if it is no code, or too large to be code that was written by people.
fn tags<E>(
    file: &StoredFile,
    cache: &AnalysisCache,
    stop: Stop<'_>,
    read: &dyn Fn(&StoredFile) -> Result<Vec<u8>, E>,
) -> Result<Result<Option<Arc<Tags>>, CodeError>, E> {
    let hint = LanguageHint::of_path(&file.path).filter(|_| file.is_code() && file.bytes <= MAX_TAGGED_BYTES);
    let Some(hint) = hint else { return Ok(Ok(None)) };
    if stop() {
        return Ok(Err(CodeError::Stopped));
    }
    let version = FileVersion { content: file.content.clone(), hint };
    let found = match cache.find::<Tags>(&version) {
        Some(found) => found,
        None => {
            let bytes = read(file)?;
            cache.get_or_compute(&version, stop, || {
                let text = std::str::from_utf8(&bytes).map_err(|_| CodeError::Binary)?;
                Tags::of(hint.language(text).ok_or(CodeError::UnknownLanguage)?, text, stop)
            })
        }
    };
    Ok(match found {
        Err(CodeError::Stopped) => Err(CodeError::Stopped),
        tags => Ok(tags.ok()),
    })
}
