//! A fingerprint of all that a tool sees of files: equal fingerprints mean equal answers.
//!
//! The files are found by the same walk that tools use, under the same rules, so a file that is ignored or hidden is
//! no part of a fingerprint, and one that no longer is changes it. A file counts by the id of its content, which is
//! the same in every worktree, and a time only by its place in the order of all times.

use std::collections::BTreeMap;
use std::io::Read;

use rustix::fs::fstat;
use sha2::{Digest as _, Sha256};

use super::open::Files;
use super::walk::{Entry, EntryKind, Flow, WalkLimits, WalkSummary};
use crate::contents::{FileContents, FileStamp};
use crate::effect::AnswersFrom;
use crate::error::ToolError;

/// Maximum size of a file that is read to find the id of its content; a call that sees a larger one is not replayed.
const MAX_READ_BYTES: u64 = 64 << 20;

/// Returns the fingerprint of what a tool sees at a path; `None` if it cannot be known for certain.
///
/// # Errors
/// As [`Files::walk`].
pub(crate) fn fingerprint(
    files: &Files,
    path: &str,
    seen: AnswersFrom,
    contents: &dyn FileContents,
    limits: &WalkLimits,
) -> Result<Option<String>, ToolError> {
    let mut digest = Digest(Sha256::new());
    if let Ok(opened) = files.open(path) {
        let Some(id) = read(files, &opened.path, None, contents) else { return Ok(None) };
        digest.add(&["file", &opened.path, &id]);
        return Ok(Some(digest.end()));
    }
    let directory = files.directory(path)?;
    digest.add(&["directory", &directory]);
    let mut times = Vec::new();
    let mut is_known = true;
    let summary = files.walk(&directory, limits, &mut |entry| {
        let content = match (seen, entry.kind) {
            (AnswersFrom::Contents, EntryKind::File) => content(files, entry, contents),
            _ => Some(String::new()),
        };
        match content {
            Some(content) => digest.add(&[kind(entry.kind), &entry.path, &content]),
            None => is_known = false,
        }
        // No tool shows the time of a directory, which changes with every file that is created in it.
        if entry.kind != EntryKind::Directory {
            times.push(entry.modified);
        }
        Ok(if is_known { Flow::Continue } else { Flow::Stop })
    })?;
    if seen == AnswersFrom::Names {
        ranks(&times).iter().for_each(|rank| digest.add(&[&rank.to_string()]));
    }
    digest.add_summary(&summary);
    Ok(is_known.then(|| digest.end()))
}

/// Returns the id of a found file's content.
fn content(files: &Files, entry: &Entry, contents: &dyn FileContents) -> Option<String> {
    contents.known(&entry.path, &entry.stamp).or_else(|| read(files, &entry.path, Some(&entry.stamp), contents))
}

/// Reads a file to find the id of its content; `None` if it changes meanwhile, is not the expected one, or is too
/// large.
fn read(files: &Files, path: &str, expected: Option<&FileStamp>, contents: &dyn FileContents) -> Option<String> {
    let mut opened = files.open(path).ok()?;
    let stamp = FileStamp::of(&fstat(&opened.file).ok()?);
    if expected.is_some_and(|expected| *expected != stamp) || stamp.size > MAX_READ_BYTES {
        return None;
    }
    if let Some(id) = contents.known(path, &stamp) {
        return Some(id);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
    opened.file.by_ref().take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let is_same = FileStamp::of(&fstat(&opened.file).ok()?) == stamp && bytes.len() as u64 == stamp.size;
    if is_same { contents.read(&stamp, &bytes) } else { None }
}

/// Returns the place of each time in the order of all; equal times have the same.
fn ranks(times: &[i128]) -> Vec<usize> {
    let mut places: BTreeMap<i128, usize> = times.iter().map(|time| (*time, 0)).collect();
    places.values_mut().zip(0..).for_each(|(place, number)| *place = number);
    times.iter().filter_map(|time| places.get(time).copied()).collect()
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "f",
        EntryKind::Directory => "d",
        EntryKind::Link => "l",
        EntryKind::Other => "o",
    }
}

struct Digest(Sha256);

impl Digest {
    /// Adds a record, so that no other sequence of records has the same bytes.
    fn add(&mut self, parts: &[&str]) {
        self.0.update((parts.len() as u64).to_be_bytes());
        for part in parts {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
    }

    fn add_summary(&mut self, summary: &WalkSummary) {
        let WalkSummary { ignored, first_ignored, hidden } = summary;
        self.add(&["left out", &ignored.to_string(), &hidden.to_string(), &first_ignored.join("\n")]);
    }

    fn end(self) -> String {
        orchestrate_core::hex(&self.0.finalize())
    }
}
