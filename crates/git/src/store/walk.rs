//! Finds the files of a worktree that are not in its index: new ones, ignored ones, and those that
//! stay out of commits.
//!
//! Folders are opened below the worktree's descriptor, and links are never followed. Ignore rules
//! are applied to each name on the way down, so nothing below an ignored folder is included again,
//! as with git. Libgit2 reads the attributes, so we examine each of these files first: a pipe in
//! its place would hang libgit2.
//!
//! A `.git` below the top does not make a folder a repository for us. It is reported and skipped,
//! and the files beside it are ordinary files. So nothing that an agent cloned or initialised
//! inside its worktree is lost. The folder of a submodule is not entered: what may be in it is
//! decided in [`crate::store::brought`].
//!
//! Caches, build outputs and what looks like a secret are sorted out by the rules of core, which
//! are about new files alone. A folder that holds a tracked file is never taken for a cache, and a
//! `!` line of an ignore file takes what it names. Each new file is searched for keys and tokens
//! here, in the process that runs no foreign code.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use orchestrate_core::WithheldFile;
use orchestrate_core::task::kept_out::{CommitRules, MAX_SEARCHED_BYTES, Untracked};
use orchestrate_core::text::git_path::text;
use rustix::fs::{FileType, Stat};

use crate::error::GitError;
use crate::files::ignore::{Rules, Standard, Verdict};
use crate::files::index_entry::{GITLINK, Recorded};
use crate::files::openat::{Held, join, path_of};
use crate::files::{bounds, openat};
use crate::repo::worktree::Worktree;

/// The name of the files that determine how content is stored.
const ATTRIBUTES: &[u8] = b".gitattributes";
/// The deepest folder that is entered: a path of 4,096 bytes has at most half as many parts.
const DEEPEST: usize = 2_048;

/// The result of a walk through a worktree.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// New files, sorted by path.
    pub(crate) new: Vec<Vec<u8>>,
    /// Folders that hold a `.git` of their own.
    pub(crate) nested: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git cannot store.
    pub(crate) special: Vec<PathBuf>,
    /// Ignored files and folders, and whether each is a folder; nothing below an ignored folder.
    pub(crate) ignored: Vec<(Vec<u8>, bool)>,
    /// Caches and build outputs, and nothing below such a folder.
    pub(crate) scratch: Vec<ScratchPath>,
    /// New files that look like secrets.
    pub(crate) withheld: Vec<WithheldFile>,
}

/// A cache or a build output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScratchPath {
    pub(crate) path: Vec<u8>,
    pub(crate) is_folder: bool,
    /// What it is, in words.
    pub(crate) what: &'static str,
}

/// Which new files stay out of the walk's list.
#[derive(Clone, Copy)]
pub(crate) struct Sorting<'a> {
    pub(crate) rules: &'a CommitRules,
    pub(crate) taken: &'a TakenFiles,
}

/// New files that are taken into a commit although the rules are against it, relative to the
/// worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenFiles {
    /// Files that were written on purpose, whose names are only those of caches and outputs.
    pub deliberate: BTreeSet<PathBuf>,
    /// Files that a person has taken, whatever they look like.
    pub admitted: BTreeSet<PathBuf>,
}

/// A walk, with the folders whose attributes have been checked.
pub(crate) struct Walk<'a> {
    worktree: &'a Worktree,
    standard: Standard,
    plain: BTreeSet<Vec<u8>>,
    /// `None` where every new file is listed.
    sorting: Option<Sorting<'a>>,
}

/// A folder to be entered.
struct ToEnter {
    path: Vec<u8>,
    /// What it is opened by.
    held: Held,
    /// The ignore rules of its parent.
    above: Option<Rc<Rules>>,
    /// What it is, if only single files of it are taken.
    scratch: Option<&'static str>,
}

/// A folder that is being walked through.
struct Entered<'f> {
    opened: &'f OwnedFd,
    /// The names in it.
    names: &'f [(Vec<u8>, bool)],
    /// The same as texts, made when they are asked for.
    texts: OnceCell<Vec<String>>,
}

impl<'a> Walk<'a> {
    /// Prepares a walk with the rules that apply everywhere.
    pub(crate) fn new(
        worktree: &'a Worktree,
        standard: Standard,
        sorting: Option<Sorting<'a>>,
    ) -> Self {
        Walk {
            worktree,
            standard,
            plain: BTreeSet::new(),
            sorting,
        }
    }

    /// Returns the rules that apply everywhere.
    pub(crate) fn standard(&self) -> &Standard {
        &self.standard
    }

    /// Finds the files that are not tracked; `tracked` is the index by path.
    pub(crate) fn untracked<T: Recorded>(
        &mut self,
        tracked: &BTreeMap<Vec<u8>, T>,
    ) -> Result<Found, GitError> {
        let mut found = Found::default();
        let held = Held::root(self.worktree.root())
            .map_err(GitError::errno("open", self.worktree.path()))?;
        let mut open = vec![ToEnter {
            path: Vec::new(),
            held,
            above: None,
            scratch: None,
        }];
        while let Some(folder) = open.pop() {
            self.enter(folder, tracked, &mut found, &mut open)?;
        }
        found.new.sort();
        found.nested.sort();
        found.special.sort();
        found.ignored.sort();
        found.scratch.sort();
        found.withheld.sort();
        Ok(found)
    }

    fn enter<T: Recorded>(
        &mut self,
        ToEnter {
            path,
            held,
            above,
            scratch,
        }: ToEnter,
        tracked: &BTreeMap<Vec<u8>, T>,
        found: &mut Found,
        open: &mut Vec<ToEnter>,
    ) -> Result<(), GitError> {
        let folder = path.as_slice();
        let shown = || self.worktree.path().join(path_of(folder));
        let opened = held
            .open(folder)
            .map_err(|error| GitError::errno("open", shown())(error))?;
        if folder.iter().filter(|byte| **byte == b'/').count() > DEEPEST {
            // Git stores no folders, so nothing is lost with empty ones.
            let holds_files = openat::holds_files(&opened)
                .map_err(GitError::errno("list", self.worktree.path()))?;
            return match holds_files {
                true => Err(GitError::TooLarge {
                    path: self.worktree.path().join(top_of(folder)),
                    what: "the depth of its folders",
                    limit: DEEPEST as u64,
                }),
                false => Ok(()),
            };
        }
        let names =
            openat::list(&opened).map_err(|error| GitError::errno("list", shown())(error))?;
        let rules = match above {
            Some(above) if !self.standard.may_have_rules(&names) => above,
            above => Rules::read(folder, &opened, above, &self.standard)?,
        };
        let held = held.below(folder, &opened);
        let here = Entered {
            opened: &opened,
            names: &names,
            texts: OnceCell::new(),
        };
        for (name, is_folder) in &names {
            let is_folder = *is_folder;
            if name == b".git" {
                if !folder.is_empty() {
                    found.nested.push(path_of(folder));
                }
                continue;
            }
            let path = join(folder, name);
            let known = tracked.get(&path);
            if known.is_some_and(|known| !is_folder || known.mode() == GITLINK) {
                continue;
            }
            let verdict = self.standard.verdict(&rules, &path, is_folder)?;
            if verdict == Verdict::Ignored {
                found.ignored.push((path, is_folder));
                continue;
            }
            let is_asked =
                verdict == Verdict::Undecided && !(is_folder && holds_tracked(tracked, &path));
            let left_out = if is_asked {
                self.left_out(&here, &path, is_folder, scratch)
            } else {
                None
            };
            if let Some(what) = left_out.filter(|_| scratch.is_none()) {
                found.scratch.push(ScratchPath {
                    path: path.clone(),
                    is_folder,
                    what,
                });
            }
            match (is_folder, left_out) {
                (true, Some(_)) if !self.may_take_within(&path) => {}
                (true, _) => {
                    let (held, above) = (held.clone(), Some(Rc::clone(&rules)));
                    open.push(ToEnter {
                        path,
                        held,
                        above,
                        scratch: left_out,
                    });
                }
                (false, Some(_)) => {}
                (false, None) => self.sort_in(&opened, name, path, found)?,
            }
        }
        Ok(())
    }

    /// Returns what a new file or folder is if it is left out, as such or with the folder that
    /// holds it.
    fn left_out(
        &self,
        here: &Entered<'_>,
        path: &[u8],
        is_folder: bool,
        within: Option<&'static str>,
    ) -> Option<&'static str> {
        let Sorting { rules, taken } = self.sorting?;
        let (file, shown) = (path_of(path), text(&path_of(path)));
        if taken.deliberate.contains(&file) || taken.admitted.contains(&file) {
            return None;
        }
        if within.is_some() {
            return within.filter(|_| !rules.takes(&shown));
        }
        let (_, name) = openat::split(path);
        // Once for all questions about the folder.
        let opened = OnceCell::new();
        let inside = |entry: &str| {
            let folder = opened
                .get_or_init(|| openat::open_folder(here.opened, name).ok())
                .as_ref();
            folder.is_some_and(|folder| {
                openat::look(folder, entry.as_bytes()).is_ok_and(|found| found.is_some())
            })
        };
        rules.scratch(&Untracked {
            path: &shown,
            is_folder,
            siblings: here.texts(),
            inside: &inside,
        })
    }

    /// Reports whether a part of a folder that is left out may be taken nevertheless.
    fn may_take_within(&self, folder: &[u8]) -> bool {
        let Some(Sorting { rules, taken }) = self.sorting else {
            return true;
        };
        let folder = path_of(folder);
        let mut files = taken.deliberate.iter().chain(&taken.admitted);
        rules.may_take_within() || files.any(|file| file.starts_with(&folder))
    }

    fn sort_in(
        &self,
        folder: &OwnedFd,
        name: &[u8],
        path: Vec<u8>,
        found: &mut Found,
    ) -> Result<(), GitError> {
        let stat =
            openat::look(folder, name).map_err(GitError::errno("look at", path_of(&path)))?;
        match stat.as_ref().map(openat::kind) {
            Some(FileType::RegularFile) => match self.withheld(folder, name, &path) {
                Some(withheld) => found.withheld.push(withheld),
                None => found.new.push(path),
            },
            Some(FileType::Symlink) => found.new.push(path),
            Some(_) => found.special.push(path_of(&path)),
            None => {}
        }
        Ok(())
    }

    /// Returns a new file if it looks like a secret. One that cannot be read is judged by its name;
    /// storing it fails.
    fn withheld(&self, folder: &OwnedFd, name: &[u8], path: &[u8]) -> Option<WithheldFile> {
        let Sorting { rules, taken } = self.sorting?;
        let file = path_of(path);
        if taken.admitted.contains(&file) {
            return None;
        }
        let start = openat::read_start(folder, name, MAX_SEARCHED_BYTES as u64).unwrap_or_default();
        let path = text(&file);
        let reason = rules.secret(&path, &start)?;
        Some(WithheldFile { path, reason })
    }

    /// Checks the attributes files that libgit2 will read for this path: those of its folder and of
    /// all folders above.
    pub(crate) fn require_plain_attributes_for(&mut self, path: &[u8]) -> Result<(), GitError> {
        let mut folder = openat::split(path).0;
        loop {
            if self.plain.insert(folder.to_vec())
                && let Ok(opened) = openat::open_folder(self.worktree.root(), folder)
            {
                require_plain_attributes(folder, &opened)?;
            }
            if folder.is_empty() {
                return Ok(());
            }
            folder = openat::split(folder).0;
        }
    }
}

impl Entered<'_> {
    fn texts(&self) -> &[String] {
        let texts = || {
            self.names
                .iter()
                .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
                .collect()
        };
        self.texts.get_or_init(texts)
    }
}

/// Reports whether a folder holds a tracked file, at any depth.
fn holds_tracked<T>(tracked: &BTreeMap<Vec<u8>, T>, folder: &[u8]) -> bool {
    let start = join(folder, b"");
    tracked
        .range(start.clone()..)
        .next()
        .is_some_and(|(path, _)| path.starts_with(&start))
}

fn require_plain_attributes(folder: &[u8], opened: &OwnedFd) -> Result<(), GitError> {
    let path = || path_of(&join(folder, ATTRIBUTES));
    let stat = openat::look(opened, ATTRIBUTES).map_err(GitError::errno("look at", path()))?;
    let odd = |stat: Stat| {
        openat::kind(&stat) != FileType::RegularFile || stat.st_size > bounds::MAX_BYTES as i64
    };
    if stat.is_some_and(odd) {
        let reason = format!(
            "attributes must be in a regular file of at most {} bytes",
            bounds::MAX_BYTES
        );
        return Err(GitError::Unstorable {
            path: path(),
            reason,
        });
    }
    match bounds::excess_in(opened, ATTRIBUTES)? {
        Some(reason) => Err(GitError::Unstorable {
            path: path(),
            reason,
        }),
        None => Ok(()),
    }
}

/// Returns the first component of a path.
fn top_of(path: &[u8]) -> PathBuf {
    path_of(path.split(|byte| *byte == b'/').next().unwrap_or(path))
}
