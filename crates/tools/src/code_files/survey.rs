//! Analyses one file, or every file below a folder whose language is known.

use std::sync::Arc;

use orchestrate_code::CodeError;
use orchestrate_core::text::invisible::shown;
use orchestrate_memory::Work;

use super::cache::AnalysisCache;
use super::file::{CodeFile, Place};
use super::held::Held;
use crate::answer::{ToolError, counted};
use crate::call::CallScope;
use crate::files::{
    Decoded, Entry, EntryKind, Files, Flow, Visitor, WalkLimits, WalkSummary, walk_key, walk_order,
};
use crate::services::ReplayService;
use crate::tool::ToolContext;

/// Maximum number of files that are named with why they are left out.
const MAX_NAMED: usize = 3;
/// Maximum number of those that the call itself names: an agent has to learn what became of each.
const MAX_ASKED_FOR: usize = 20;

/// What the analyses of one call share.
pub(crate) struct Surveyor {
    pub(crate) limits: WalkLimits,
    pub(crate) cache: Arc<AnalysisCache>,
    /// Knows the contents of files without reading them.
    pub(crate) replay: Arc<dyn ReplayService>,
}

/// What files were found to be.
pub(crate) struct Survey<T> {
    /// Each file with its result, in the order of a walk.
    pub(crate) found: Vec<(String, T)>,
    /// Files of a known language that could not be analysed, and why.
    left_out: Vec<(String, CodeError)>,
    unread: Unread,
    walks: Vec<WalkSummary>,
    /// What all of that takes.
    _held: Arc<Held>,
}

/// Why paths that a call names beside others cannot be read.
#[derive(Default)]
struct Unread {
    errors: Vec<ToolError>,
    /// Whether another one can be.
    is_any_read: bool,
}

/// Analyses a file; `None` if there is nothing to report of it.
pub(crate) type Analyze<'a, T> = &'a (dyn Fn(&CodeFile<'_>) -> Result<Option<T>, CodeError> + Sync);

impl Surveyor {
    /// Creates one for a call, with the run's cache.
    pub(crate) fn for_call(context: &ToolContext) -> Surveyor {
        let limits = Surveyor::limits(context.scope());
        Surveyor {
            limits,
            cache: context.shared().value(),
            replay: Arc::clone(&context.services().replay),
        }
    }

    /// Returns the limits of a call.
    pub(crate) fn limits(scope: &CallScope) -> WalkLimits {
        WalkLimits::within(scope.limits.search_timeout, &scope.cancel)
    }

    /// Returns where files are, and what is known of them.
    pub(crate) fn place<'p>(&'p self, files: &'p Files) -> Place<'p> {
        Place {
            files,
            limits: &self.limits,
            cache: &self.cache,
            contents: self.replay.contents(),
            held: Arc::default(),
        }
    }

    /// Analyses files, and files below folders. It blocks. Of several paths, those that cannot be
    /// read are noted.
    ///
    /// # Errors
    /// As [`Files::open`] and [`Files::walk`]; `Retry` if no path can be read or is understood,
    /// `Absent` if the program was built without grammars.
    pub(crate) fn survey<T: Send>(
        &self,
        files: &Files,
        paths: &[String],
        analyze: Analyze<'_, T>,
    ) -> Result<Survey<T>, ToolError> {
        let place = self.place(files);
        let mut survey = Survey {
            found: Vec::new(),
            left_out: Vec::new(),
            unread: Unread::default(),
            walks: Vec::new(),
            _held: Arc::clone(&place.held),
        };
        for path in paths {
            let added = survey.add(&place, path, analyze);
            survey.unread.note(added, paths.len())?;
        }
        survey.unread.require_any_read()?;
        if paths.len() > 1 {
            survey
                .found
                .sort_by(|(left, _), (right, _)| walk_order(left, right));
            survey.found.dedup_by(|(left, _), (right, _)| left == right);
        }
        survey
            .left_out
            .sort_by(|(left, _), (right, _)| walk_order(left, right));
        match survey.left_out.first() {
            Some((_, error @ CodeError::NotBuilt(_))) if survey.found.is_empty() => {
                Err(failure("", error))
            }
            _ => Ok(survey),
        }
    }

    /// Requires that one of these files and folders is there, and that no rule denies any, without
    /// reading them.
    ///
    /// # Errors
    /// As [`Surveyor::survey`], as far as that is known before.
    pub(crate) fn require_any(files: &Files, paths: &[String]) -> Result<(), ToolError> {
        let mut unread = Unread::default();
        for path in paths {
            unread.note(files.find(path).map(drop), paths.len())?;
        }
        unread.require_any_read()
    }
}

impl Unread {
    /// Notes what came of reading one of so many paths.
    ///
    /// # Errors
    /// The one that ends the call whatever the other paths are.
    fn note(&mut self, read: Result<(), ToolError>, paths: usize) -> Result<(), ToolError> {
        match read {
            Ok(()) => self.is_any_read = true,
            // What was found in the others is not lost, whatever one of them is.
            Err(error @ (ToolError::Retry(_) | ToolError::File { .. })) if paths > 1 => {
                if !self.errors.contains(&error) {
                    self.errors.push(error);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fails, with all reasons, if there are only paths that cannot be read.
    fn require_any_read(&self) -> Result<(), ToolError> {
        match self.errors.as_slice() {
            [only] if !self.is_any_read => Err(only.clone()),
            several @ [_, _, ..] if !self.is_any_read => Err(ToolError::Retry(worded(several))),
            _ => Ok(()),
        }
    }
}

impl<T: Send> Survey<T> {
    fn add(
        &mut self,
        place: &Place<'_>,
        path: &str,
        analyze: Analyze<'_, T>,
    ) -> Result<(), ToolError> {
        // A file that is named is read whole, and its text is a copy.
        let Some(work) = Work::begin(&|| place.limits.check().is_err()) else {
            return place.limits.check();
        };
        match place.files.read(path) {
            Ok((opened, bytes)) => self.add_file(place, &opened.path, &bytes, analyze),
            // It may be a directory.
            Err(error @ ToolError::File { .. }) => {
                drop(work);
                self.add_directory(place, &place.files.directory_instead(path, error)?, analyze)
            }
            Err(error) => Err(error),
        }
    }

    fn add_file(
        &mut self,
        place: &Place<'_>,
        path: &str,
        bytes: &[u8],
        analyze: Analyze<'_, T>,
    ) -> Result<(), ToolError> {
        let text = Decoded::detect(path, bytes)?.text;
        let mut seeker = Seeker::new(place, analyze);
        let value = seeker.analyze(&CodeFile::of_text(place, path, text), path)?;
        if let Some((path, error)) = seeker.left_out.first() {
            return Err(failure(path, error));
        }
        self.found
            .extend(value.map(|value| (path.to_owned(), value)));
        Ok(())
    }

    fn add_directory(
        &mut self,
        place: &Place<'_>,
        path: &str,
        analyze: Analyze<'_, T>,
    ) -> Result<(), ToolError> {
        let (seekers, walk) = place
            .files
            .walk_parallel(path, place.limits, || Seeker::new(place, analyze))?;
        self.walks.push(walk);
        let mut batches: Vec<Vec<(String, T)>> = Vec::new();
        for seeker in seekers {
            self.left_out.extend(seeker.left_out);
            batches.extend(seeker.batches);
        }
        // Each is in order, and no other file stands between its files.
        batches.sort_by_cached_key(|batch| batch.first().map(|(path, _)| walk_key(path)));
        self.found.reserve(batches.iter().map(Vec::len).sum());
        batches
            .into_iter()
            .for_each(|batch| self.found.extend(batch));
        Ok(())
    }

    /// Returns notes about what was left out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let unread = self.unread.errors.as_slice();
        if !unread.is_empty() {
            let (count, why) = (unread.len(), worded(unread));
            notes.push(format!("[{count} of the named paths not analysed: {why}]"));
        }
        notes.extend(not_analysed(&self.left_out));
        notes.extend(self.walks.iter().filter_map(WalkSummary::note));
        notes
    }
}

/// Words why paths could not be read; each error names its own.
fn worded(errors: &[ToolError]) -> String {
    first_of(errors, MAX_ASKED_FOR, ToolError::to_string)
}

/// Returns a note about files that could not be analysed, if there are any.
pub(crate) fn not_analysed(left_out: &[(String, CodeError)]) -> Option<String> {
    let named = first_of(left_out, MAX_NAMED, |(path, error)| {
        format!("{}: {error}", shown(path))
    });
    let files = counted(left_out.len(), "file");
    (!left_out.is_empty()).then(|| format!("[{files} not analysed: {named}]"))
}

/// Joins words for the first of these.
fn first_of<T>(all: &[T], most: usize, word: impl Fn(&T) -> String) -> String {
    let named: Vec<String> = all.iter().take(most).map(word).collect();
    let more = if all.len() > most { "; …" } else { "" };
    format!("{}{more}", named.join("; "))
}

fn failure(path: &str, error: &CodeError) -> ToolError {
    match error {
        CodeError::NotBuilt(_) => ToolError::Absent(error.to_string()),
        _ => ToolError::Retry(format!("{}: {error}", shown(path))),
    }
}

/// Analyses files on one thread.
struct Seeker<'s, T> {
    place: &'s Place<'s>,
    analyze: Analyze<'s, T>,
    /// What was found in neighbouring files of one directory, in order; none is empty.
    batches: Vec<Vec<(String, T)>>,
    left_out: Vec<(String, CodeError)>,
}

impl<T: Send> Visitor for Seeker<'_, T> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries
            .into_iter()
            .filter(|entry| entry.kind == EntryKind::File)
        {
            let place = self.place;
            let value = match place.file(&entry) {
                Ok(Some(file)) => place.held.keep(|| {
                    // What was read of it is not kept.
                    let file = file;
                    self.analyze(&file, &entry.path)
                })?,
                Ok(None) => None,
                Err(error) => {
                    self.left_out.push((entry.path.clone(), error));
                    None
                }
            };
            found.extend(value.map(|value| (entry.path, value)));
        }
        if !found.is_empty() {
            self.batches.push(found);
        }
        Ok(Flow::Continue)
    }
}

impl<'s, T> Seeker<'s, T> {
    fn new(place: &'s Place<'s>, analyze: Analyze<'s, T>) -> Seeker<'s, T> {
        Seeker {
            place,
            analyze,
            batches: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn analyze(&mut self, file: &CodeFile<'_>, path: &str) -> Result<Option<T>, ToolError> {
        match (self.analyze)(file) {
            Ok(value) => return Ok(value),
            // The limit that stopped it says why.
            Err(CodeError::Stopped) => self.place.limits.check()?,
            Err(CodeError::UnknownLanguage | CodeError::Binary | CodeError::Unreadable)
                if !file.is_expected() => {}
            Err(error) => self.left_out.push((path.to_owned(), error)),
        }
        Ok(None)
    }
}
