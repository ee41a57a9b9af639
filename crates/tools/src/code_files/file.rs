//! One file of code, which is read only if it has to be.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use orchestrate_code::{
    CodeError, FileAnalysis, Language, LanguageHint, MAX_SOURCE_BYTES, Source, Stop, within_memory,
};
use rustix::fs::fstat;

use super::cache::{AnalysisCache, FileVersion};
use super::held::Held;
use crate::answer::{FileContents, FileStamp, ToolError};
use crate::files::{Decoded, Entry, Files, WalkLimits};

/// Maximum size of a file whose first line may name its language, in bytes.
const MAX_SCRIPT_BYTES: u64 = 256 << 10;

/// Where the files of one survey are, and what is known of them.
pub(crate) struct Place<'p> {
    pub(crate) files: &'p Files,
    pub(crate) limits: &'p WalkLimits,
    pub(super) cache: &'p AnalysisCache,
    /// `None` if nothing is known of the contents of files, so that no result is kept.
    pub(super) contents: Option<Arc<dyn FileContents>>,
    /// What the survey holds.
    pub(crate) held: Arc<Held>,
}

impl Place<'_> {
    /// Returns a file that a walk has found; `None` if it cannot be code, or is gone.
    ///
    /// # Errors
    /// [`CodeError::TooLarge`] of one whose name says that it is code.
    pub(crate) fn file<'p>(&'p self, entry: &'p Entry) -> Result<Option<CodeFile<'p>>, CodeError> {
        let Some(hint) = LanguageHint::of_path(&entry.path) else {
            return Ok(None);
        };
        let Some(stamp) = entry.stamp() else {
            return Ok(None);
        };
        match hint {
            LanguageHint::FirstLine if stamp.size > MAX_SCRIPT_BYTES => Ok(None),
            LanguageHint::Named(_) | LanguageHint::Header if stamp.size > max_bytes(self.files) => {
                Err(CodeError::TooLarge(max_bytes(self.files)))
            }
            _ => Ok(Some(CodeFile::found(self, &entry.path, hint, &stamp))),
        }
    }
}

/// A file that may be code.
pub(crate) struct CodeFile<'p> {
    place: &'p Place<'p>,
    path: &'p str,
    hint: LanguageHint,
    /// Whether the call names it.
    is_asked_for: bool,
    /// The metadata by which a walk has found it, if that can say what is in it.
    stamp: Option<FileStamp>,
    read: OnceLock<Option<Content>>,
}

/// What was read from a file.
struct Content {
    text: Result<String, CodeError>,
    /// The version, unless the file changed meanwhile.
    version: Option<FileVersion>,
}

impl<'p> CodeFile<'p> {
    /// Creates a file that a walk has found with this metadata.
    fn found(
        place: &'p Place<'p>,
        path: &'p str,
        hint: LanguageHint,
        stamp: &FileStamp,
    ) -> CodeFile<'p> {
        let stamp = place.contents.is_some().then_some(*stamp);
        CodeFile {
            place,
            path,
            hint,
            is_asked_for: false,
            stamp,
            read: OnceLock::new(),
        }
    }

    /// Creates a file that was read already.
    pub(super) fn of_text(place: &'p Place<'p>, path: &'p str, text: String) -> CodeFile<'p> {
        let hint = LanguageHint::of_path(path).unwrap_or(LanguageHint::FirstLine);
        let read = OnceLock::from(Some(Content {
            text: Ok(text),
            version: None,
        }));
        CodeFile {
            place,
            path,
            hint,
            is_asked_for: true,
            stamp: None,
            read,
        }
    }

    /// Returns how its language is found out.
    pub(crate) fn hint(&self) -> LanguageHint {
        self.hint
    }

    /// Reports whether it is worth a note if it is not understood: its name, or the call itself,
    /// says that it is code.
    pub(super) fn is_expected(&self) -> bool {
        self.is_asked_for || self.hint != LanguageHint::FirstLine
    }

    /// Reports whether the call has to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.place.limits.check().is_err()
    }

    /// Returns what an analysis finds in it; `None` if the file is gone, or what is in its place
    /// may not be opened.
    ///
    /// # Errors
    /// As [`CodeFile::code`], and those of the analysis.
    pub(crate) fn analysis<T: FileAnalysis>(&self) -> Result<Option<Arc<T>>, CodeError> {
        if let Some(found) = self.by_metadata() {
            return found.map(Some);
        }
        self.within_memory(|stop| {
            let Some(content) = self.content() else {
                return Ok(None);
            };
            let compute = || {
                let (language, text) = content.code(self.hint)?;
                T::analyze(&Source::parse(language, text, stop)?, stop)
            };
            match &content.version {
                // While it waits for another agent's result, it does not ask for memory, for which
                // that one may wait.
                Some(version) => self
                    .place
                    .cache
                    .get_or_compute(version, &|| self.is_stopped(), compute)
                    .map(Some),
                None => Ok(Some(Arc::new(compute()?))),
            }
        })
    }

    /// Does a work on the file whose memory is bounded.
    ///
    /// # Errors
    /// As [`within_memory`].
    pub(crate) fn within_memory<T>(
        &self,
        work: impl FnOnce(Stop<'_>) -> Result<T, CodeError>,
    ) -> Result<T, CodeError> {
        within_memory(&|| self.is_stopped(), work)
    }

    /// Returns the result of an analysis, if it follows from the file's metadata.
    fn by_metadata<T: FileAnalysis>(&self) -> Option<Result<Arc<T>, CodeError>> {
        let (
            Place {
                cache, contents, ..
            },
            stamp,
        ) = (self.place, self.stamp.as_ref()?);
        if let Some(result) = cache.find_unchanged(stamp, self.hint) {
            return Some(Ok(result));
        }
        let content = contents.as_ref()?.known(self.path, stamp)?;
        cache.find_for(
            &FileVersion {
                content,
                hint: self.hint,
            },
            stamp,
        )
    }

    /// Returns its language and its text; `None` if the file is gone, or what is in its place may
    /// not be opened.
    ///
    /// # Errors
    /// [`CodeError::Unreadable`], [`CodeError::Binary`] and [`CodeError::UnknownLanguage`].
    pub(crate) fn code(&self) -> Result<Option<(Language, &str)>, CodeError> {
        self.content()
            .map(|content| content.code(self.hint))
            .transpose()
    }

    fn content(&self) -> Option<&Content> {
        self.read.get_or_init(|| self.read()).as_ref()
    }

    fn read(&self) -> Option<Content> {
        let Place {
            files, contents, ..
        } = self.place;
        let unreadable = Content {
            text: Err(CodeError::Unreadable),
            version: None,
        };
        let (mut file, stamp) = match files.open_found(self.path) {
            Ok(found) => found,
            Err(ToolError::File { .. }) => return Some(unreadable),
            Err(_) => return None,
        };
        let mut bytes = Vec::with_capacity(
            usize::try_from(stamp.size)
                .unwrap_or(0)
                .min(MAX_SOURCE_BYTES),
        );
        if file
            .by_ref()
            .take(max_bytes(files))
            .read_to_end(&mut bytes)
            .is_err()
        {
            return Some(unreadable);
        }
        let is_same =
            bytes.len() as u64 == stamp.size && FileStamp::from_stat(&fstat(&file).ok()?) == stamp;
        let contents = contents.as_ref().filter(|_| is_same);
        let id = contents.and_then(|contents| {
            contents
                .known(self.path, &stamp)
                .or_else(|| contents.read(&stamp, &bytes))
        });
        let version = id.map(|content| FileVersion {
            content,
            hint: self.hint,
        });
        let text = Decoded::detect(self.path, &bytes)
            .map(|decoded| decoded.text)
            .map_err(|_| CodeError::Binary);
        Some(Content { text, version })
    }
}

impl Content {
    fn code(&self, hint: LanguageHint) -> Result<(Language, &str), CodeError> {
        let text = self.text.as_ref().map_err(CodeError::clone)?;
        hint.language(text)
            .map(|language| (language, text.as_str()))
            .ok_or(CodeError::UnknownLanguage)
    }
}

/// Returns the maximum size of a file that is analysed, in bytes.
fn max_bytes(files: &Files) -> u64 {
    files.max_bytes().min(MAX_SOURCE_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use orchestrate_core::Oid;
    use orchestrate_core::policy::tool_names::ToolNames;
    use orchestrate_core::policy::{Decision, Grant, Permission, Policy};
    use orchestrate_sandbox::Cancel;

    use super::*;
    use crate::call::PathGuard;

    #[derive(Debug, PartialEq)]
    struct Length(usize);

    impl FileAnalysis for Length {
        fn analyze(source: &Source<'_>, _: Stop<'_>) -> Result<Length, CodeError> {
            Ok(Length(source.text().len()))
        }

        fn memory(&self) -> usize {
            0
        }
    }

    /// Knows the content of every file that was modified in this second, and counts how often it is
    /// asked.
    #[derive(Default)]
    struct KnownFrom(i64, AtomicUsize);

    impl FileContents for KnownFrom {
        fn known(&self, _: &str, stamp: &FileStamp) -> Option<Oid> {
            self.1.fetch_add(1, Ordering::SeqCst);
            (stamp.modified.0 == self.0).then(|| Oid::new("content"))
        }

        fn read(&self, _: &FileStamp, _: &[u8]) -> Option<Oid> {
            None
        }
    }

    fn files_of(worktree: &Path) -> Files {
        let policy = Policy::new(&[], &ToolNames::default()).unwrap();
        let grant = Grant::of_tools(["t"]);
        let decision = Decision::Allow {
            rule: String::new(),
        };
        let guard = PathGuard::new(
            "t",
            Permission::FileRead,
            &decision,
            &Arc::new(policy),
            &Arc::new(grant),
        );
        Files::of_checkout(worktree, guard).unwrap()
    }

    fn limits() -> WalkLimits {
        WalkLimits::within(Duration::from_secs(60), &Cancel::default())
    }

    /// A directory is such a file, whoever runs the test.
    #[test]
    fn a_file_that_cannot_be_read_is_no_file_that_is_gone() {
        let worktree = tempfile::tempdir().unwrap();
        let files = files_of(worktree.path());
        let limits = limits();
        let cache = AnalysisCache::default();
        let place = Place {
            files: &files,
            limits: &limits,
            cache: &cache,
            contents: None,
            held: Arc::default(),
        };
        let hint = LanguageHint::Named(Language::Rust);
        let stamp = FileStamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: (100, 0),
            changed: (100, 0),
        };
        let find = |path: &str| CodeFile::found(&place, path, hint, &stamp).analysis::<Length>();
        assert_eq!(find("gone.rs"), Ok(None));
        assert_eq!(find(""), Err(CodeError::Unreadable));
    }

    /// What is known of a file's content is asked until the file's metadata alone leads to the
    /// result.
    #[test]
    fn a_file_that_has_not_changed_costs_one_question() {
        let worktree = tempfile::tempdir().unwrap();
        let (files, limits) = (files_of(worktree.path()), limits());
        let cache = AnalysisCache::default();
        let hint = LanguageHint::Named(Language::Rust);
        let contents = Arc::new(KnownFrom(100, AtomicUsize::new(0)));
        let known: Arc<dyn FileContents> = Arc::clone(&contents) as Arc<dyn FileContents>;
        let place = Place {
            files: &files,
            limits: &limits,
            cache: &cache,
            contents: Some(known),
            held: Arc::default(),
        };
        let version = FileVersion {
            content: Oid::new("content"),
            hint,
        };
        cache
            .get_or_compute(&version, &|| false, || Ok(Length(7)))
            .unwrap();
        let find = |stamp: FileStamp| {
            let found = CodeFile::found(&place, "gone.rs", hint, &stamp)
                .analysis::<Length>()
                .unwrap();
            (
                found.map(|length| length.0),
                contents.1.load(Ordering::SeqCst),
            )
        };
        let stamp = FileStamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: (100, 0),
            changed: (100, 0),
        };
        assert_eq!([find(stamp), find(stamp)], [(Some(7), 1), (Some(7), 1)]);
        // The file was changed, and is no longer there when it has to be read.
        assert_eq!(
            find(FileStamp {
                modified: (101, 0),
                ..stamp
            }),
            (None, 2)
        );
    }
}
