//! A fingerprint of all that a tool sees of files: equal fingerprints mean equal answers.
//!
//! The files are found by the same walk that tools use, under the same rules, so a file that is
//! ignored or hidden is no part of a fingerprint, and one that no longer is changes it. A file
//! counts by the id of its content, which is the same in every worktree, and a time only by its
//! place in the order of all times.

use std::collections::BTreeMap;
use std::io::Read;

use orchestrate_core::Oid;
use rustix::fs::fstat;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, EntryKind};
use super::listing::{WalkLimits, WalkSummary};
use super::open::{FileReader, Files};
use super::parallel::Visitor;
use super::walk::{Flow, walk_order};
use crate::answer::{FileContents, FileStamp, ToolError};
use crate::call::AnswersFrom;

/// Maximum size of a file that is read to find the id of its content; a call that sees a larger one
/// is not replayed.
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
        let Some(id) = read(opened.file, &opened.path, None, contents) else {
            return Ok(None);
        };
        digest.add(&["file", &opened.path, id.as_str()]);
        return Ok(Some(digest.end()));
    }
    let directory = files.directory(path)?;
    digest.add(&["directory", &directory]);
    let look = || Look {
        files,
        seen,
        contents,
        batches: Vec::new(),
        is_known: true,
    };
    let (looks, summary) = files.walk_parallel(&directory, limits, look)?;
    if !looks.iter().all(|look| look.is_known) {
        return Ok(None);
    }
    let mut batches: Vec<Batch> = looks.into_iter().flat_map(|look| look.batches).collect();
    batches.sort_unstable_by(|left, right| walk_order(&left.first, &right.first));
    batches
        .iter()
        .for_each(|batch| digest.add(&[&batch.digest]));
    if seen == AnswersFrom::Names {
        let times: Vec<i128> = batches.into_iter().flat_map(|batch| batch.times).collect();
        ranks(&times)
            .iter()
            .for_each(|rank| digest.add(&[&rank.to_string()]));
    }
    digest.add_summary(&summary);
    Ok(Some(digest.end()))
}

/// Looks at entries on one thread.
struct Look<'l> {
    files: &'l Files,
    seen: AnswersFrom,
    contents: &'l dyn FileContents,
    batches: Vec<Batch>,
    /// Whether all that was seen is known for certain.
    is_known: bool,
}

/// What is seen of some entries of one directory. Which ones these are depends on the directory
/// alone.
struct Batch {
    /// The first one's path.
    first: String,
    digest: String,
    /// When they were modified. No tool shows the time of a directory, which changes with every
    /// file that is created in it.
    times: Vec<i128>,
}

impl Visitor for Look<'_> {
    fn visit(&mut self, entries: Vec<Entry>) -> Result<Flow, ToolError> {
        let Some(first) = entries.first() else {
            return Ok(Flow::Continue);
        };
        match self.batch(first.path.clone(), &entries) {
            Some(batch) => self.batches.push(batch),
            None => self.is_known = false,
        }
        Ok(if self.is_known {
            Flow::Continue
        } else {
            Flow::Stop
        })
    }
}

impl Look<'_> {
    /// Returns what is seen of entries; `None` if that is not known for certain.
    fn batch(&self, first: String, entries: &[Entry]) -> Option<Batch> {
        let (mut digest, mut times) = (Digest(Sha256::new()), Vec::new());
        for entry in entries {
            let content = match (self.seen, entry.kind) {
                (AnswersFrom::Contents | AnswersFrom::AllContents, EntryKind::File) => {
                    Some(self.content(entry)?)
                }
                (AnswersFrom::Names, EntryKind::File | EntryKind::Link | EntryKind::Other) => {
                    times.push(self.files.modified(&entry.stamp()?));
                    None
                }
                _ => None,
            };
            digest.add(&[
                kind(entry.kind),
                &entry.path,
                content.as_ref().map_or("", Oid::as_str),
            ]);
        }
        Some(Batch {
            first,
            digest: digest.end(),
            times,
        })
    }

    /// Returns the id of a file's content.
    fn content(&self, entry: &Entry) -> Option<Oid> {
        let stamp = entry.stamp()?;
        self.contents.known(&entry.path, &stamp).or_else(|| {
            let (file, _) = self.files.open_found(&entry.path).ok()?;
            read(file, &entry.path, Some(&stamp), self.contents)
        })
    }
}

/// Reads a file to find the id of its content; `None` if it changes meanwhile, is not the expected
/// one, or is too large.
fn read(
    mut file: FileReader,
    path: &str,
    expected: Option<&FileStamp>,
    contents: &dyn FileContents,
) -> Option<Oid> {
    let stamp = FileStamp::from_stat(&fstat(&file).ok()?);
    if expected.is_some_and(|expected| *expected != stamp) || stamp.size > MAX_READ_BYTES {
        return None;
    }
    if let Some(id) = contents.known(path, &stamp) {
        return Some(id);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
    file.by_ref()
        .take(MAX_READ_BYTES + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    let is_same =
        FileStamp::from_stat(&fstat(&file).ok()?) == stamp && bytes.len() as u64 == stamp.size;
    if is_same {
        contents.read(&stamp, &bytes)
    } else {
        None
    }
}

/// Returns the place of each time in the order of all; equal times have the same.
fn ranks(times: &[i128]) -> Vec<usize> {
    let mut places: BTreeMap<i128, usize> = times.iter().map(|time| (*time, 0)).collect();
    places
        .values_mut()
        .zip(0..)
        .for_each(|(place, number)| *place = number);
    times
        .iter()
        .filter_map(|time| places.get(time).copied())
        .collect()
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
        let WalkSummary {
            ignored,
            first_ignored,
            hidden,
        } = summary;
        self.add(&[
            "left out",
            &ignored.to_string(),
            &hidden.to_string(),
            &first_ignored.join("\n"),
        ]);
    }

    fn end(self) -> String {
        orchestrate_core::hex(&self.0.finalize())
    }
}
