//! A checkout's files, brought from one commit's to another's: all of them, or none.
//!
//! Git is asked first whether it would, and a refusal has written nothing. Then it writes one file after another, and
//! where it fails in between (no space, a folder that it may not write to, a filter that fails), it leaves what it has
//! written, and the index as it was. So a note of what is being done is made before, and what git has left is put back
//! by it: at once, or by whoever comes next if that fails too.
//!
//! What git has written is removed first, which makes the room that the old version needs, and then noted, and only
//! then written. So at each moment a file that is git's is known: it is gone, or it holds the beginning of the new
//! version, or, if it is on the note's list, of the old one. A file that holds anything else is the user's.
//!
//! So is whatever he has come back to since, whose content says nothing: he may have reset the checkout after git came
//! to its end without us, and taken files of the new version by hand. Git writes its index last and as a whole, so it
//! is not done as long as a file is known there by the very times and numbers that it had before. A mere look
//! (`git status`) changes those of none that is half written.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::land::note::{OldFile, Stage, Switch};
use crate::repo::configuration::Configuration;
use crate::repo::full_disk;
use crate::repo::lock::Held;
use crate::repo::probe;
use crate::repo::program::Ended;
use crate::repo::refusal::Refusal;
use crate::repo::repository::{Repo, id_in, theirs, tree_of};
use crate::repo::scratch_repo::{Room, read_info};
use crate::worktree::checkout::Checkout;

/// How many paths one process is given.
const PATHS_AT_ONCE: usize = 200;

/// With what git writes a checkout.
struct Writer<'a> {
    room: Room,
    settings: Vec<(String, OsString)>,
    held: &'a Held,
}

/// What git has written, whole or in part, or removed.
struct Written {
    /// What was not there: what the new version adds, and what the user had deleted.
    added: Vec<PathBuf>,
    /// What was, sorted.
    old: Vec<PathBuf>,
}

impl Repo {
    /// Brings a checkout's files and index from one commit to another, keeping what the user has changed; gives how git
    /// ended. If that is not well, it has refused, and nothing has changed.
    ///
    /// # Errors
    /// [`GitError::NotWritten`] if it failed and all is as it was, [`GitError::HalfWritten`] if not.
    pub(crate) fn switch(&self, place: &Checkout, [from, to]: [&Oid; 2], held: &Held) -> Result<Ended, GitError> {
        let writer = self.writer(place, held)?;
        let read_tree = |how: &[&str]| {
            let args = [&["read-tree", "-m"], how, &[from.as_str(), to.as_str()]].concat();
            self.git_in(place, args, &writer)
        };
        let mut refused = read_tree(&["-n", "-u"])?;
        // Refreshing writes the index anew, and with it git's doubt about files that are as young as the index was is
        // gone. Git never looks into those that it was told not to watch, and would then write over what they hold.
        if refused.code != 0 && self.changed_unwatched(place, [from, to])?.is_empty() {
            // Git may only be out of date about which files changed; that is what refreshing is for.
            self.git_in(place, ["update-index", "-q", "--refresh"], &writer)?;
            refused = read_tree(&["-n", "-u"])?;
        }
        if refused.code != 0 {
            return Ok(refused);
        }
        let switch = self.begin(place, [from, to])?;
        self.note(&switch)?;
        let reason = match read_tree(&["-u"]) {
            Ok(ended) if ended.code == 0 => return self.forget_note().map(|()| ended),
            Ok(ended) => full_disk::complaint(&ended, &place.path),
            Err(error) => error.to_string(),
        };
        self.put_back(switch, &reason, &writer)?;
        Err(GitError::NotWritten { path: place.path.clone(), reason })
    }

    /// Puts back what an earlier switch has left half done.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if that fails once more.
    pub(crate) fn settle_switch(&self, held: &Held) -> Result<(), GitError> {
        let Some(switch) = self.noted()? else { return Ok(()) };
        let handle = self.handle()?;
        let objects = handle.odb().map_err(GitError::library("open the objects"))?;
        let is_there = |commit: &Oid| theirs(commit).is_ok_and(|oid| objects.exists(oid));
        if switch.place.path.exists() && is_there(&switch.from) && is_there(&switch.to) {
            let writer = self.writer(&switch.place, held)?;
            return self.put_back(switch, "it was interrupted", &writer);
        }
        // Whoever has deleted the checkout, or what was to land in it, has done with it.
        self.forget_note()
    }

    /// Puts back each file that git has written, or was about to write, and forgets the note.
    fn put_back(&self, switch: Switch, reason: &str, writer: &Writer<'_>) -> Result<(), GitError> {
        let path = switch.place.path.clone();
        self.restore_written(switch, writer).map_err(|error| {
            let (reason, left) = (reason.to_owned(), Box::new(error));
            GitError::HalfWritten { path, reason, left }
        })?;
        self.forget_note()
    }

    fn restore_written(&self, mut switch: Switch, writer: &Writer<'_>) -> Result<(), GitError> {
        let Written { added, old } = self.written(&switch, writer)?;
        // What was added goes first: it may stand in a folder where a file was.
        added.iter().chain(&old).try_for_each(|path| remove(&switch.place, path))?;
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
            let ended = self.git_in(&place, args.chain(paths.iter().map(|path| path.as_os_str())), writer)?;
            if ended.code != 0 {
                let (command, reason) = ("checkout-index".to_owned(), full_disk::complaint(&ended, &place.path));
                return Err(GitError::Program { command, reason });
            }
        }
        Ok(())
    }

    /// Looks at a checkout before git writes.
    fn begin(&self, place: &Checkout, [from, to]: [&Oid; 2]) -> Result<Switch, GitError> {
        let handle = self.handle()?;
        let (tree, index) = (tree_of(&handle, from)?, place.index()?);
        let mut old = Vec::new();
        for path in self.changed_paths(from, to)? {
            let (was, entry) = (id_in(&tree, &path), index.get_path(&path, 0));
            // It may have the new version already, which git leaves alone.
            if let Some(entry) = entry.filter(|entry| was == Some(entry.id)) {
                let (known_as, is_absent) = (known_as(&entry), found(place, &path).is_none());
                old.push(OldFile { path, known_as, is_absent });
            }
        }
        let (place, from, to, index) = (place.clone(), from.clone(), to.clone(), look_of_index(place));
        Ok(Switch { place, from, to, index, old, stage: Stage::Writing })
    }

    /// Lists what git has written, or was about to write.
    fn written(&self, switch: &Switch, writer: &Writer<'_>) -> Result<Written, GitError> {
        let Switch { place, from, to, old, .. } = switch;
        let index = place.index()?;
        let is_known =
            |file: &&OldFile| index.get_path(&file.path, 0).is_some_and(|entry| known_as(&entry) == file.known_as);
        let known: Vec<&OldFile> = old.iter().filter(is_known).collect();
        let mut written = Written { added: Vec::new(), old: Vec::new() };
        for OldFile { path, is_absent, .. } in &known {
            let versions: &[&Oid] = match &switch.stage {
                Stage::Writing => &[to],
                Stage::PuttingBack(back) if back.binary_search(path).is_ok() => &[to, from],
                Stage::PuttingBack(_) => continue,
            };
            let is_written = match found(place, path) {
                Some(found) => self.is_beginning((switch, writer), path, &found, versions)?,
                None => !is_absent,
            };
            if is_written {
                if *is_absent { &mut written.added } else { &mut written.old }.push(path.clone());
            }
        }
        // What was added is gone before anything is put back.
        if switch.stage == Stage::Writing && (!known.is_empty() || look_of_index(place) == switch.index) {
            written.added.extend(self.added((switch, writer), &index)?);
        }
        Ok(written)
    }

    /// Lists what git has written of what the new version adds.
    fn added(&self, (switch, writer): (&Switch, &Writer<'_>), index: &Index) -> Result<Vec<PathBuf>, GitError> {
        let Switch { place, from, to, .. } = switch;
        let handle = self.handle()?;
        let tree = tree_of(&handle, from)?;
        let mut added = Vec::new();
        for path in self.changed_paths(from, to)? {
            let is_old = id_in(&tree, &path).is_some() || index.get_path(&path, 0).is_some();
            if let Some(found) = found(place, &path).filter(|_| !is_old)
                && self.is_beginning((switch, writer), &path, &found, &[to])?
            {
                added.push(path);
            }
        }
        Ok(added)
    }

    /// Reports whether a file is a beginning of one of these versions, and not its old version.
    fn is_beginning(
        &self,
        (Switch { place, from, .. }, writer): (&Switch, &Writer<'_>),
        path: &Path,
        found: &Metadata,
        versions: &[&Oid],
    ) -> Result<bool, GitError> {
        let file = place.path.join(path);
        let content = match found.is_symlink() {
            true => std::fs::read_link(&file).map(|to| to.into_os_string().into_vec()),
            false if found.is_file() => std::fs::read(&file),
            false => return Ok(false),
        };
        let (content, mode) = (content.map_err(GitError::io("read", &file))?, mode_of(found));
        if self.is_version((place, writer), (from, path), |old, old_mode| old_mode == mode && *old == content)? {
            return Ok(false);
        }
        for version in versions {
            if self.is_version((place, writer), (version, path), |version, _| version.starts_with(&content))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether a commit's version of a file, with its mode, is such, as it is stored or as it is checked out.
    fn is_version(
        &self,
        (place, writer): (&Checkout, &Writer<'_>),
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
        let filtered = self.git_in(place, [OsStr::new("cat-file"), OsStr::new("--filters"), &version], writer)?;
        Ok(filtered.code == 0 && is_such(&filtered.stdout, mode))
    }

    fn git_in(
        &self,
        place: &Checkout,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        writer: &Writer<'_>,
    ) -> Result<Ended, GitError> {
        let run = self.on_files(&writer.room, place, args).settings(writer.settings.iter().cloned());
        self.program.run(&run.outlives_us(writer.held))
    }

    /// Prepares git for a checkout of the user's: with the filters that he or the machine's administrator has
    /// configured, and with none of the repository's own.
    fn writer<'a>(&self, place: &Checkout, held: &'a Held) -> Result<Writer<'a>, GitError> {
        let configuration = Configuration::of_repository(&self.program, &place.git_dir, &place.path)?;
        let settings = configuration.about_files().into_iter().chain(configuration.users_filters()).collect();
        let room = Room::under(held)?;
        room.take_over_info(self.common_dir())?;
        Ok(Writer { room, settings, held })
    }

    /// Refuses to write files for which two commits ask for a filter that only the repository's own configuration
    /// knows: nobody has consented to that program.
    pub(crate) fn require_no_own_filter(&self, place: &Checkout, commits: [&Oid; 2]) -> Result<(), GitError> {
        let configuration = Configuration::of_repository(&self.program, &place.git_dir, &place.path)?;
        let filters = configuration.own_filters();
        if filters.is_empty() {
            return Ok(());
        }
        let handle = self.handle()?;
        let mut asked = match configuration.attributes_file() {
            Some(path) => read_info(&path)?.and_then(|text| Some((path, probe::asked_filter(&text, &filters)?))),
            None => None,
        };
        for commit in commits {
            let tree = tree_of(&handle, commit)?;
            asked = asked.map_or_else(|| probe::filter_of_tree(&handle, &tree, &filters), |asked| Ok(Some(asked)))?;
        }
        let Some((path, filter)) = asked else { return Ok(()) };
        let [_, to] = commits;
        let refusal = Refusal::OwnFilter { path, filter, commit: to.clone() };
        Err(GitError::Refused { path: place.path.clone(), refusal })
    }
}

/// Finds a file; a folder is none.
fn found(place: &Checkout, path: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(place.path.join(path)).ok().filter(|found| !found.is_dir())
}

/// Returns what an index has of a file: which version, and the times and the number by which git knows the file again.
///
/// The size is left out, which git takes away from a file of the index's own age.
fn known_as(entry: &IndexEntry) -> String {
    let IndexEntry { id, ino, mtime, ctime, .. } = entry;
    let [mtime, ctime] = [mtime, ctime].map(|time| format!("{}.{}", time.seconds(), time.nanoseconds()));
    format!("{id} {ino} {mtime} {ctime}")
}

/// Returns how the file of an index is, so that one that was written since is told from it.
fn look_of_index(place: &Checkout) -> String {
    let look = |found: Metadata| format!("{} {}.{}", found.ino(), found.mtime(), found.mtime_nsec());
    std::fs::metadata(place.index_path()).map(look).unwrap_or_default()
}

/// Returns the mode that git would have of a file.
fn mode_of(found: &Metadata) -> i32 {
    match (found.is_symlink(), found.mode() & 0o100) {
        (true, _) => 0o120_000,
        (false, 0) => 0o100_644,
        (false, _) => 0o100_755,
    }
}

/// Removes a file that git has made, and the folders that it leaves empty; what is gone already leaves none.
fn remove(place: &Checkout, path: &Path) -> Result<(), GitError> {
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
