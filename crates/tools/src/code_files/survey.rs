//! Analyses one file, or every file below a folder whose language is known.

use std::sync::Arc;
use std::time::Instant;

use orchestrate_code::CodeError;
use orchestrate_core::invisible::shown;

use super::cache::AnalysisCache;
use super::file::{CodeFile, Place};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Decoded, Entry, EntryKind, Files, Flow, Visitor, WalkLimits, WalkSummary, walk_key, walk_order};
use crate::services::ReplayService;

/// Maximum number of files that are named with why they are left out.
const MAX_NAMED: usize = 3;

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
    walks: Vec<WalkSummary>,
}

/// Analyses a file; `None` if there is nothing to report of it.
pub(crate) type Analyze<'a, T> = &'a (dyn Fn(&CodeFile<'_>) -> Result<Option<T>, CodeError> + Sync);

impl Surveyor {
    /// Creates one for a call, with the run's cache.
    pub(crate) fn of(context: &ToolContext) -> Surveyor {
        let limits = WalkLimits {
            recursive: true,
            deadline: Instant::now() + context.limits().search_timeout,
            cancel: context.cancel().clone(),
        };
        Surveyor { limits, cache: context.shared().value(), replay: Arc::clone(&context.services().replay) }
    }

    /// Returns where files are, and what is known of them.
    pub(crate) fn place<'p>(&'p self, files: &'p Files) -> Place<'p> {
        Place { files, limits: &self.limits, cache: &self.cache, contents: self.replay.contents() }
    }

    /// Analyses files, and files below folders. It blocks.
    ///
    /// # Errors
    /// As [`Files::open`] and [`Files::walk`]; `Retry` for a file that is not understood, `Absent` if the program was
    /// built without grammars.
    pub(crate) fn survey<T: Send>(
        &self,
        files: &Files,
        paths: &[String],
        analyze: Analyze<'_, T>,
    ) -> Result<Survey<T>, ToolError> {
        let place = self.place(files);
        let mut survey = Survey { found: Vec::new(), left_out: Vec::new(), walks: Vec::new() };
        for path in paths {
            survey.add(&place, path, analyze)?;
        }
        if let ([_], [], [(path, error)]) = (paths, survey.walks.as_slice(), survey.left_out.as_slice()) {
            return Err(failure(path, error));
        }
        if paths.len() > 1 {
            survey.found.sort_by(|(left, _), (right, _)| walk_order(left, right));
            survey.found.dedup_by(|(left, _), (right, _)| left == right);
        }
        survey.left_out.sort_by(|(left, _), (right, _)| walk_order(left, right));
        match survey.left_out.first() {
            Some((_, error @ CodeError::NotBuilt(_))) if survey.found.is_empty() => Err(failure("", error)),
            _ => Ok(survey),
        }
    }
}

impl<T: Send> Survey<T> {
    fn add(&mut self, place: &Place<'_>, path: &str, analyze: Analyze<'_, T>) -> Result<(), ToolError> {
        let seeker = || Seeker { place, analyze, batches: Vec::new(), left_out: Vec::new() };
        let mut seekers = match place.files.read(path) {
            Ok((opened, bytes)) => {
                let text = Decoded::detect(&opened.path, &bytes)?.text;
                let mut seeker = seeker();
                let value = seeker.analyze(&CodeFile::of_text(place, &opened.path, text), &opened.path)?;
                seeker.batches.extend(value.map(|value| vec![(opened.path, value)]));
                vec![seeker]
            }
            // It may be a directory.
            Err(ToolError::File { .. }) => {
                let (seekers, walk) = place.files.walk_parallel(&place.files.directory(path)?, place.limits, seeker)?;
                self.walks.push(walk);
                seekers
            }
            Err(error) => return Err(error),
        };
        seekers.iter_mut().for_each(|seeker| self.left_out.append(&mut seeker.left_out));
        let mut batches: Vec<Vec<(String, T)>> = seekers.into_iter().flat_map(|seeker| seeker.batches).collect();
        // Each is in order, and no other file stands between its files.
        batches.sort_by_cached_key(|batch| batch.first().map(|(path, _)| walk_key(path)));
        self.found.reserve(batches.iter().map(Vec::len).sum());
        batches.into_iter().for_each(|batch| self.found.extend(batch));
        Ok(())
    }

    /// Returns notes about what was left out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.left_out.is_empty() {
            let named = self.left_out.iter().take(MAX_NAMED);
            let named: Vec<String> = named.map(|(path, error)| format!("{}: {error}", shown(path))).collect();
            let more = if self.left_out.len() > MAX_NAMED { "; …" } else { "" };
            notes.push(format!("[{} files not analysed: {}{more}]", self.left_out.len(), named.join("; ")));
        }
        notes.extend(self.walks.iter().filter_map(WalkSummary::note));
        notes
    }
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
        for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let value = match self.place.file(&entry) {
                Ok(file) => file.map_or(Ok(None), |file| self.analyze(&file, &entry.path))?,
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

impl<T> Seeker<'_, T> {
    fn analyze(&mut self, file: &CodeFile<'_>, path: &str) -> Result<Option<T>, ToolError> {
        match (self.analyze)(file) {
            Ok(value) => return Ok(value),
            // The limit that stopped it says why.
            Err(CodeError::Stopped) => self.place.limits.check()?,
            Err(CodeError::UnknownLanguage | CodeError::Binary) if !file.is_expected() => {}
            Err(error) => self.left_out.push((path.to_owned(), error)),
        }
        Ok(None)
    }
}
