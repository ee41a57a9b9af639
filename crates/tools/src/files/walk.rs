//! Walks the worktree, without following links and without what ignore files exclude.

use std::io::Read;
use std::sync::Arc;
use std::time::Instant;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use orchestrate_core::git_path::is_git_name;
use orchestrate_core::invisible::shown;
use orchestrate_sandbox::Cancel;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::open::{Files, failure, modified};
use crate::contents::FileStamp;
use crate::error::ToolError;
use crate::path::join;

/// The names of ignore files; within a directory, later ones take precedence.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];
/// The number of bytes of an ignore file that are read; rules after them have no effect.
const MAX_IGNORE_BYTES: u64 = 1 << 20;
/// Maximum depth of directories to enter, counted from the worktree.
const MAX_DEPTH: usize = 128;
/// Maximum number of entries of a walk, and of one directory; it bounds memory whatever the worktree contains.
const MAX_ENTRIES: usize = 1_000_000;
/// Number of ignored paths that a summary names.
const TOLD_IGNORED: usize = 8;

/// A file system entry found by a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the worktree.
    pub path: String,
    /// The type of the entry.
    pub kind: EntryKind,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last modification in nanoseconds since 1970, or of the checkout if that was later.
    pub modified: i128,
    /// The metadata by which an unchanged file is recognised.
    pub stamp: FileStamp,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Whether a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue with the next entry.
    Continue,
    /// End the walk without an error.
    Stop,
}

/// The limits of a walk.
#[derive(Clone, Debug)]
pub struct WalkLimits {
    /// Whether to enter subdirectories.
    pub recursive: bool,
    /// The time at which the walk fails.
    pub deadline: Instant,
    /// Interrupts the walk when cancelled.
    pub cancel: Cancel,
}

/// What a walk skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkSummary {
    /// Number of entries that ignore files exclude, each ignored directory counted as one.
    pub ignored: usize,
    /// The first ignored paths, safe to show.
    pub first_ignored: Vec<String>,
    /// Number of entries that a rule hides from the agent.
    pub hidden: usize,
}

/// The ignore rules of a directory and of those above it, nearest first.
struct Rules {
    directory: String,
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Files {
    /// Visits the entries of a directory and, if recursive, of its subdirectories; the entries of
    /// each directory are ordered by name.
    ///
    /// # Errors
    /// As [`Files::open`]; `TooBroad` after the deadline or too many entries, `Interrupted` if cancelled.
    pub fn walk(
        &self,
        start: &str,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        self.visit(start, true, limits, visit)
    }

    /// Visits the same entries, and those that ignore files exclude.
    ///
    /// # Errors
    /// As [`Files::walk`].
    pub(crate) fn walk_all(
        &self,
        start: &str,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        self.visit(start, false, limits, visit)
    }

    fn visit(
        &self,
        start: &str,
        honours: bool,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        let start = self.directory(start)?;
        let mut summary = WalkSummary::default();
        let mut pending = vec![(start.clone(), honours.then(|| self.rules_above(&start)).flatten())];
        let mut seen = 0;
        while let Some((directory, above)) = pending.pop() {
            let rules = if honours { self.rules_of(&directory, above) } else { None };
            let mut below = Vec::new();
            for entry in self.entries(&directory)? {
                check_limits(limits, &mut seen)?;
                if rules.as_ref().is_some_and(|rules| rules.ignores(&entry)) {
                    summary.leave_out(&entry.path);
                    continue;
                }
                if !self.shows(&entry) {
                    summary.hidden += 1;
                    continue;
                }
                if visit(&entry)? == Flow::Stop {
                    return Ok(summary);
                }
                let deep = entry.path.split('/').count() >= MAX_DEPTH;
                if limits.recursive && entry.kind == EntryKind::Directory && !deep {
                    below.push((entry.path, rules.clone()));
                }
            }
            pending.extend(below.into_iter().rev());
        }
        Ok(summary)
    }

    /// Reports whether the rules let a search show an entry.
    fn shows(&self, entry: &Entry) -> bool {
        let judged = match entry.kind {
            EntryKind::Directory => self.guard().check_folder(&entry.path),
            EntryKind::File | EntryKind::Link | EntryKind::Other => self.guard().check(&entry.path),
        };
        judged.is_ok()
    }

    fn entries(&self, directory: &str) -> Result<Vec<Entry>, ToolError> {
        let opened = match self.open_found_directory(directory) {
            Ok(opened) => opened,
            // It was deleted or replaced since it was found, or is not readable: it has no entries to show.
            Err(ToolError::Retry(_) | ToolError::Denied { .. } | ToolError::File { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let listing = Dir::read_from(&opened).map_err(|errno| failure(directory, errno))?;
        let mut entries = Vec::new();
        for found in listing.take(MAX_ENTRIES) {
            let found = found.map_err(|errno| failure(directory, errno))?;
            // Tool calls are JSON and cannot name a file whose name is not UTF-8.
            let Ok(name) = found.file_name().to_str() else { continue };
            if name == "." || name == ".." || is_git_name(name) {
                continue;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            entries.push(Entry {
                path: join(directory, name),
                kind: kind(FileType::from_raw_mode(stat.st_mode)),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified(&stat).max(self.checked_out()),
                stamp: FileStamp::of(&stat),
            });
        }
        entries.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(entries)
    }

    fn rules_above(&self, start: &str) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut above = String::new();
        for name in start.split('/').filter(|name| !name.is_empty()) {
            rules = self.rules_of(&above, rules);
            above = join(&above, name);
        }
        rules
    }

    fn rules_of(&self, directory: &str, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for name in IGNORE_FILES {
            let Ok(opened) = self.open_unseen(&join(directory, name)) else { continue };
            let mut text = String::new();
            if opened.file.take(MAX_IGNORE_BYTES).read_to_string(&mut text).is_err() {
                continue;
            }
            for line in text.lines() {
                // An invalid pattern is skipped, as in git.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match builder.build() {
            Ok(own) if any => Some(Arc::new(Rules { directory: directory.to_owned(), own, above })),
            _ => above,
        }
    }
}

impl Rules {
    fn ignores(&self, entry: &Entry) -> bool {
        let below = entry.path.strip_prefix(&self.directory).unwrap_or(&entry.path).trim_start_matches('/');
        match self.own.matched(below, entry.kind == EntryKind::Directory) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|above| above.ignores(entry)),
        }
    }
}

impl WalkSummary {
    fn leave_out(&mut self, path: &str) {
        self.ignored += 1;
        if self.first_ignored.len() < TOLD_IGNORED {
            self.first_ignored.push(shown(path));
        }
    }

    /// Returns a note about what was skipped, or `None` if everything was visited.
    pub fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        if self.ignored > 0 {
            let more = if self.ignored > self.first_ignored.len() { ", …" } else { "" };
            notes.push(format!("{} ignored ({}{more})", self.ignored, self.first_ignored.join(", ")));
        }
        if self.hidden > 0 {
            notes.push(format!("{} denied by rules", self.hidden));
        }
        if notes.is_empty() { None } else { Some(format!("[left out: {}]", notes.join("; "))) }
    }
}

fn check_limits(limits: &WalkLimits, seen: &mut usize) -> Result<(), ToolError> {
    *seen += 1;
    if limits.cancel.is_cancelled() {
        return Err(ToolError::Interrupted("the search was cancelled".to_owned()));
    }
    if *seen > MAX_ENTRIES || Instant::now() > limits.deadline {
        let reason = "the search ran into its limit; name a directory further down, or a narrower pattern";
        return Err(ToolError::TooBroad(reason.to_owned()));
    }
    Ok(())
}

pub(super) fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
