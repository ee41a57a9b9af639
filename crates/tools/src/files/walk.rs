//! Walking through the worktree without following a link, leaving out what ignore files leave out.

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
use crate::error::ToolError;
use crate::path::join;

/// The names of ignore files, the later one of a directory winning.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];
/// The largest ignore file that is honoured, in bytes.
const MAX_IGNORE_BYTES: u64 = 1 << 20;
/// The deepest directory that is entered, below the worktree.
const MAX_DEPTH: usize = 128;
/// The most entries of a walk; it bounds memory, whoever made the files.
const MAX_ENTRIES: usize = 1_000_000;
/// How many ignored names are told.
const TOLD_IGNORED: usize = 8;

/// What a walk met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the worktree.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: i128,
}

/// What an entry is.
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

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next entry.
    Continue,
    /// Not.
    Stop,
}

/// How far a walk goes.
#[derive(Clone, Debug)]
pub struct WalkLimits {
    /// Whether directories below the first are entered.
    pub recursive: bool,
    /// When it has to be over.
    pub deadline: Instant,
    /// Raised when it has to end at once.
    pub cancel: Cancel,
}

/// What a walk left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkSummary {
    /// How many entries ignore files left out.
    pub ignored: usize,
    /// The first of them.
    pub first_ignored: Vec<String>,
    /// How many entries a rule keeps from the agent.
    pub hidden: usize,
}

/// The ignore rules of a directory and of those above it, nearest first.
struct Rules {
    directory: String,
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Files {
    /// Visits what is below a directory, each directory's entries in the order of their names.
    ///
    /// # Errors
    /// As [`Files::open`]; `TooBroad` at the deadline, `Interrupted` when cancelled.
    pub fn walk(
        &self,
        start: &str,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        let start = self.directory(start)?;
        let mut summary = WalkSummary::default();
        let mut pending = vec![(start.clone(), self.rules_above(&start))];
        let mut seen = 0;
        while let Some((directory, above)) = pending.pop() {
            let rules = self.rules_of(&directory, above);
            let mut below = Vec::new();
            for entry in self.entries(&directory)? {
                check_limits(limits, &mut seen)?;
                if rules.as_ref().is_some_and(|rules| rules.ignores(&entry)) {
                    summary.leave_out(&entry.path);
                    continue;
                }
                if !self.shows(&entry.path) {
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

    fn entries(&self, directory: &str) -> Result<Vec<Entry>, ToolError> {
        let opened = match self.open_found_directory(directory) {
            Ok(opened) => opened,
            // It was deleted or replaced since it was found, or may not be read: there is nothing to show.
            Err(ToolError::Retry(_) | ToolError::Denied { .. } | ToolError::File { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let listing = Dir::read_from(&opened).map_err(|errno| failure(directory, errno))?;
        let mut entries = Vec::new();
        for found in listing.take(MAX_ENTRIES) {
            let found = found.map_err(|errno| failure(directory, errno))?;
            // A name that is not UTF-8 cannot be named by a tool call either.
            let Ok(name) = found.file_name().to_str() else { continue };
            if name == "." || name == ".." || is_git_name(name) {
                continue;
            }
            let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            entries.push(Entry {
                path: join(directory, name),
                kind: kind(FileType::from_raw_mode(stat.st_mode)),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified(&stat),
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
            let Ok(opened) = self.open(&join(directory, name)) else { continue };
            let mut text = String::new();
            if opened.file.take(MAX_IGNORE_BYTES).read_to_string(&mut text).is_err() {
                continue;
            }
            for line in text.lines() {
                // A line that is no pattern ignores nothing, as in git.
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

    /// Says what was left out, or nothing if all is shown.
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

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
