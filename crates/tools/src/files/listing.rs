//! Lists the directories of a walk: what is in them, without what ignore files exclude and what
//! rules hide.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;

use super::directories::Name;
use super::entry::{Entry, EntryKind};
use super::ignore_rules::{IGNORE_FILES, Rules};
use super::open::{Files, failure};
use super::path::join;
use crate::answer::ToolError;
use crate::call::WalkGuard;

/// Maximum depth of directories to enter, counted from the worktree.
const MAX_DEPTH: usize = 128;
/// Maximum number of entries of a walk, and of one directory; it bounds memory whatever the
/// worktree contains.
const MAX_ENTRIES: usize = 1_000_000;
/// Number of ignored paths that a summary names.
const TOLD_IGNORED: usize = 8;

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

impl WalkLimits {
    /// Creates the limits of a walk that enters subdirectories, for so long from now.
    pub(crate) fn within(time: Duration, cancel: &Cancel) -> WalkLimits {
        WalkLimits {
            recursive: true,
            deadline: Instant::now() + time,
            cancel: cancel.clone(),
        }
    }
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

/// What the directories of one walk are listed by. Several threads may share it.
pub(super) struct Listing<'w> {
    files: &'w Files,
    honours_rules: bool,
    limits: &'w WalkLimits,
    guard: WalkGuard<'w>,
    /// The number of entries so far, the skipped ones included.
    seen: AtomicUsize,
}

/// A directory to list.
pub(super) struct Pending {
    path: String,
    above: Option<Arc<Rules>>,
}

/// What a directory contains.
pub(super) struct Listed {
    /// The visible entries, ordered by name.
    pub(super) entries: Vec<Entry>,
    /// The directories to list after it, in order.
    pub(super) below: Vec<Pending>,
    /// What was skipped in it.
    pub(super) left_out: WalkSummary,
}

impl<'w> Listing<'w> {
    pub(super) fn new(
        files: &'w Files,
        honours_rules: bool,
        limits: &'w WalkLimits,
    ) -> Listing<'w> {
        Listing {
            files,
            honours_rules,
            limits,
            guard: files.guard().for_walk(),
            seen: AtomicUsize::new(0),
        }
    }

    /// Returns the directory that a walk starts with.
    pub(super) fn start(&self, path: &str) -> Result<Pending, ToolError> {
        let path = self.files.directory(path)?;
        let above = if self.honours_rules {
            self.files.rules_above(&path)
        } else {
            None
        };
        Ok(Pending { path, above })
    }

    /// Lists a directory. One that was deleted or replaced since it was found, or that is not
    /// readable, has no entries to show.
    pub(super) fn list(&self, directory: &Pending) -> Result<Listed, ToolError> {
        let mut listed = Listed {
            entries: Vec::new(),
            below: Vec::new(),
            left_out: WalkSummary::default(),
        };
        let path = &directory.path;
        let opened = match self.files.open_found_directory(path) {
            Ok(opened) => Arc::new(opened),
            Err(ToolError::Retry(_) | ToolError::Denied { .. } | ToolError::File { .. }) => {
                return Ok(listed);
            }
            Err(error) => return Err(error),
        };
        let names = self
            .files
            .directories()
            .names(&opened, MAX_ENTRIES)
            .map_err(|errno| failure(path, errno))?;
        let rules = if self.honours_rules {
            self.rules(directory, &names)
        } else {
            None
        };
        listed.entries.reserve_exact(names.len());
        self.count(names.len())?;
        for Name { name, kind } in names.iter() {
            let entry = Entry::new(join(path, name), *kind, &opened);
            let is_directory = entry.kind == EntryKind::Directory;
            if rules
                .as_ref()
                .is_some_and(|rules| rules.ignores(&entry.path, is_directory))
            {
                listed.left_out.leave_out(&entry.path);
                continue;
            }
            if !self.shows(&entry) {
                listed.left_out.hidden += 1;
                continue;
            }
            if is_directory && self.limits.recursive && entry.path.split('/').count() < MAX_DEPTH {
                listed.below.push(Pending {
                    path: entry.path.clone(),
                    above: rules.clone(),
                });
            }
            listed.entries.push(entry);
        }
        Ok(listed)
    }

    fn rules(&self, directory: &Pending, found: &[Name]) -> Option<Arc<Rules>> {
        let is_there = |name: &&&str| {
            found
                .binary_search_by(|entry| (*entry.name).cmp(name))
                .is_ok()
        };
        let names: Vec<&str> = IGNORE_FILES.iter().filter(is_there).copied().collect();
        self.files
            .rules_of(&directory.path, directory.above.clone(), &names)
    }

    /// Reports whether the rules let a search show an entry.
    fn shows(&self, entry: &Entry) -> bool {
        self.guard.shows(|| match entry.kind {
            EntryKind::Directory => Target::Folder(entry.path.clone()),
            EntryKind::File | EntryKind::Link | EntryKind::Other => {
                Target::Path(entry.path.clone())
            }
        })
    }

    /// Counts the entries of a directory.
    fn count(&self, entries: usize) -> Result<(), ToolError> {
        self.limits.check()?;
        let seen = self.seen.fetch_add(entries, Ordering::Relaxed);
        if seen.saturating_add(entries) > MAX_ENTRIES {
            Err(too_broad())
        } else {
            Ok(())
        }
    }
}

impl Pending {
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

impl WalkLimits {
    /// Fails once the walk is cancelled or out of time.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::Interrupted(
                "the search was cancelled".to_owned(),
            ));
        }
        if self.is_over() {
            Err(too_broad())
        } else {
            Ok(())
        }
    }

    /// Reports whether the time of the walk is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }
}

fn too_broad() -> ToolError {
    let reason =
        "the search ran into its limit; name a directory further down, or a narrower pattern";
    ToolError::TooBroad(reason.to_owned())
}

impl WalkSummary {
    fn leave_out(&mut self, path: &str) {
        self.ignored += 1;
        if self.first_ignored.len() < TOLD_IGNORED {
            self.first_ignored.push(shown(path));
        }
    }

    /// Adds what was skipped afterwards.
    pub(super) fn add(&mut self, later: WalkSummary) {
        self.ignored += later.ignored;
        self.hidden += later.hidden;
        self.first_ignored.extend(later.first_ignored);
        self.first_ignored.truncate(TOLD_IGNORED);
    }

    /// Returns a note about what was skipped, or `None` if everything was visited.
    pub fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        if self.ignored > 0 {
            let more = if self.ignored > self.first_ignored.len() {
                ", …"
            } else {
                ""
            };
            notes.push(format!(
                "{} ignored ({}{more})",
                self.ignored,
                self.first_ignored.join(", ")
            ));
        }
        if self.hidden > 0 {
            notes.push(format!("{} denied by rules", self.hidden));
        }
        if notes.is_empty() {
            None
        } else {
            Some(format!("[left out: {}]", notes.join("; ")))
        }
    }
}
