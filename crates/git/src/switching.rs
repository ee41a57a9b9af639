//! A checkout's files, brought from one commit's to another's: all of them, or none.
//!
//! Git is asked first whether it would, and a refusal has written nothing. Then it writes one file after another, and where
//! it fails in between (no space, a folder that it may not write to, a filter that fails), it leaves what it has written,
//! and the index as it was. So a note of what is being done is made before, and what git has left is put back by it: at
//! once, or by whoever comes next if that fails too.
//!
//! What git has written is removed first, which makes the room that the old version needs, and then noted, and only then
//! written. So at each moment a file that is git's is known: it is gone, or it holds the beginning of the new version, or,
//! if it is on the note's list, of the old one. A file that holds anything else is the user's.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Tree;
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::lock::Held;
use crate::place::Place;
use crate::program::{Ended, Run};
use crate::repo::{Repo, tree_of};
use crate::switch_note::{Stage, Switch};

/// How many paths one process is given.
const PATHS_AT_ONCE: usize = 200;

/// What git has begun to write, or what it has removed.
struct Written {
    /// Of what the new version adds.
    added: Vec<PathBuf>,
    /// Of what the old version has.
    old: Vec<PathBuf>,
}

impl Repo {
    /// Brings a checkout's files and index from one commit to another, keeping what the user has changed; gives how git
    /// ended. If that is not well, it has refused, and nothing has changed.
    ///
    /// # Errors
    /// [`GitError::NotWritten`] if it failed and all is as it was, [`GitError::HalfWritten`] if not.
    pub(crate) fn switch(&self, place: &Place, [from, to]: [&Oid; 2], held: &Held) -> Result<Ended, GitError> {
        let read_tree = |how: &[&str]| {
            let args = [&["read-tree", "-m"], how, &[from.as_str(), to.as_str()]].concat();
            self.git_in(place, args, Some(held))
        };
        let mut refused = read_tree(&["-n", "-u"])?;
        if refused.code != 0 {
            // Git may only be out of date about which files changed; that is what refreshing is for.
            self.git_in(place, ["update-index", "-q", "--refresh"], Some(held))?;
            refused = read_tree(&["-n", "-u"])?;
        }
        if refused.code != 0 {
            return Ok(refused);
        }
        let absent = self.absent(place, [from, to])?;
        let switch = Switch { place: place.clone(), from: from.clone(), to: to.clone(), absent, stage: Stage::Writing };
        self.note(&switch)?;
        let ended = read_tree(&["-u"])?;
        if ended.code == 0 {
            return self.forget_note().map(|()| ended);
        }
        let reason = ended.stderr.trim().to_owned();
        self.put_back(switch, &reason, held)?;
        Err(GitError::NotWritten { path: place.path.clone(), reason })
    }

    /// Puts back what an earlier switch has left half done.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if that fails once more.
    pub(crate) fn settle_switch(&self, held: &Held) -> Result<(), GitError> {
        match self.noted()? {
            Some(switch) => self.put_back(switch, "it was interrupted", held),
            None => Ok(()),
        }
    }

    /// Puts back each file that git has written, or was about to write, and forgets the note.
    fn put_back(&self, switch: Switch, reason: &str, held: &Held) -> Result<(), GitError> {
        let path = switch.place.path.clone();
        self.restore_written(switch, held).map_err(|error| {
            let (reason, left) = (reason.to_owned(), error.to_string());
            GitError::HalfWritten { path, reason, left }
        })?;
        self.forget_note()
    }

    fn restore_written(&self, mut switch: Switch, held: &Held) -> Result<(), GitError> {
        let Written { added, old } = self.written(&switch)?;
        // What was added goes first: it may stand in a folder where a file was.
        added.iter().chain(&old).try_for_each(|path| remove(&switch.place, path))?;
        let old: Vec<PathBuf> = old.into_iter().filter(|path| switch.absent.binary_search(path).is_err()).collect();
        if old.is_empty() {
            return Ok(());
        }
        let place = switch.place.clone();
        if switch.stage == Stage::Writing {
            switch.stage = Stage::PuttingBack(old.clone());
            self.note(&switch)?;
        }
        for paths in old.chunks(PATHS_AT_ONCE) {
            // It is not told to write over what is there: that is the user's, whatever was in its place before.
            let args = ["checkout-index", "--"].map(OsStr::new).into_iter();
            let ended = self.git_in(&place, args.chain(paths.iter().map(|path| path.as_os_str())), Some(held))?;
            if ended.code != 0 {
                return Err(ended.failure("checkout-index"));
            }
        }
        Ok(())
    }

    /// Lists the files that the old version has and the user's checkout has not.
    fn absent(&self, place: &Place, [from, to]: [&Oid; 2]) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.handle()?;
        let old = tree_of(&handle, from)?;
        let mut changed = self.changed_paths(from, to)?;
        changed.retain(|path| id_in(&old, path).is_some() && found(place, path).is_none());
        Ok(changed)
    }

    /// Lists what git has written, or was about to write.
    fn written(&self, switch: &Switch) -> Result<Written, GitError> {
        let handle = self.handle()?;
        let (old, index) = (tree_of(&handle, &switch.from)?, switch.place.index()?);
        let mut written = Written { added: Vec::new(), old: Vec::new() };
        for path in self.changed_paths(&switch.from, &switch.to)? {
            let was = id_in(&old, &path);
            // Git's index says the new version of what git is done with.
            if index.get_path(&path, 0).map(|entry| entry.id) != was || !self.is_written(switch, &path)? {
                continue;
            }
            if was.is_some() { &mut written.old } else { &mut written.added }.push(path);
        }
        Ok(written)
    }

    /// Tells whether a file is gone as the user did not leave it, or is a beginning of what is written, and not its old
    /// version.
    fn is_written(&self, switch: &Switch, path: &PathBuf) -> Result<bool, GitError> {
        let Switch { place, from, to, absent, stage } = switch;
        let is_put_back = match stage {
            Stage::Writing => false,
            Stage::PuttingBack(paths) if paths.binary_search(path).is_ok() => true,
            Stage::PuttingBack(_) => return Ok(false),
        };
        let Some(found) = found(place, path) else { return Ok(absent.binary_search(path).is_err()) };
        let file = place.path.join(path);
        let content = match found.is_symlink() {
            true => std::fs::read_link(&file).map(|to| to.into_os_string().into_vec()),
            false if found.is_file() => std::fs::read(&file),
            false => return Ok(false),
        };
        let content = content.map_err(GitError::io("read", &file))?;
        let mode = mode_of(&found);
        let begins = |commit| self.is_version(place, (commit, path), |version, _| version.starts_with(&content));
        Ok(!self.is_version(place, (from, path), |old, old_mode| old_mode == mode && *old == content)?
            && (begins(to)? || is_put_back && begins(from)?))
    }

    /// Tells whether a commit's version of a file, with its mode, is such, as it is stored or as it is checked out.
    fn is_version(
        &self,
        place: &Place,
        (commit, path): (&Oid, &Path),
        is_such: impl Fn(&[u8], i32) -> bool,
    ) -> Result<bool, GitError> {
        let handle = self.handle()?;
        let Ok(entry) = tree_of(&handle, commit)?.get_path(path) else { return Ok(false) };
        let (id, mode) = (entry.id(), entry.filemode());
        let blob = handle.find_blob(id).map_err(GitError::library(format!("read {id}")))?;
        if is_such(blob.content(), mode) {
            return Ok(true);
        }
        let mut version = OsString::from(format!("{commit}:"));
        version.push(path);
        let filtered = self.git_in(place, [OsStr::new("cat-file"), OsStr::new("--filters"), &version], None)?;
        Ok(filtered.code == 0 && is_such(&filtered.stdout, mode))
    }

    fn git_in(
        &self,
        place: &Place,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        held: Option<&Held>,
    ) -> Result<Ended, GitError> {
        let run = Run::new(&place.git_dir, &place.path, args);
        self.shared.program.run(&match held {
            Some(held) => run.outlives_us(held),
            None => run,
        })
    }
}

fn id_in(tree: &Tree<'_>, path: &Path) -> Option<git2::Oid> {
    tree.get_path(path).ok().map(|entry| entry.id())
}

/// Finds a file; a folder is none.
fn found(place: &Place, path: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(place.path.join(path)).ok().filter(|found| !found.is_dir())
}

/// Gives the mode that git would have of a file.
fn mode_of(found: &Metadata) -> i32 {
    match (found.is_symlink(), found.mode() & 0o100) {
        (true, _) => 0o120_000,
        (false, 0) => 0o100_644,
        (false, _) => 0o100_755,
    }
}

/// Removes a file that git has made, and the folders that it leaves empty; what is gone already leaves none.
fn remove(place: &Place, path: &Path) -> Result<(), GitError> {
    if found(place, path).is_none() {
        return Ok(());
    }
    let file = place.path.join(path);
    std::fs::remove_file(&file).map_err(GitError::io("remove", &file))?;
    // It fails at the first that has something in it.
    let above: Vec<PathBuf> =
        path.ancestors().skip(1).filter(|above| *above != Path::new("")).map(Into::into).collect();
    let _ = above.iter().try_for_each(|folder| std::fs::remove_dir(place.path.join(folder)));
    Ok(())
}
