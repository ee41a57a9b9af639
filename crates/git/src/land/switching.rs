//! Switches a checkout's files from one commit's to another's: all of them, or none.
//!
//! Git is first asked whether it would, and a refusal has written nothing. Then it writes one file
//! after another. If it fails in between (no space, a folder without write permission, a failing
//! filter), it leaves the files that it has written, and the old index. So a note of the switch is
//! written beforehand, and a failed switch is rolled back from the note: at once, or by the next
//! process if that fails too.
//!
//! A rollback first removes what git has written, which frees the space that the old versions need,
//! then records their paths in the note, and only then writes the old versions. So a file of git's
//! can be recognised at any moment: it is absent, or it holds a prefix of the new version or, if
//! the note lists it, of the old one. A file with any other content is the user's.
//!
//! Content alone does not prove that a file is git's. If git finished after we were killed, the
//! user may have reset the checkout and then copied files of the new version by hand. Git writes
//! its index last and as a whole, so a switch is unfinished only while the index still has an old
//! file with the same times and inode as before. Commands that only look (`git status`) do not
//! change those of a file that is half written.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, Repository};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::error::refusal::RepositoryRefusal;
use crate::files::bounds::read_info;
use crate::land::move_branch::Landing;
use crate::land::switch_note::{OldFile, Stage, Switch};
use crate::program::configuration::Configuration;
use crate::program::full_disk;
use crate::program::lock::Held;
use crate::program::run::Ended;
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::lfs::Pointer;
use crate::repo::repository::{id_in, theirs, tree_of};
use crate::repo::{lfs, probe};
use crate::worktree::checkout::Checkout;

/// How many paths are passed to one process.
const PATHS_AT_ONCE: usize = 200;

/// What git needs to write to a checkout.
struct Writer<'a> {
    scratch: ScratchRepo,
    settings: Vec<(String, OsString)>,
    held: &'a Held,
}

/// The files that git has written, wholly or partly, or removed.
struct Written {
    /// Files that were absent: new in this version, or deleted by the user.
    added: Vec<PathBuf>,
    /// Files that were present, sorted.
    old: Vec<PathBuf>,
}

impl Landing<'_> {
    /// Switches a checkout's files and index from one commit to another, keeping the user's
    /// changes, and returns how git ended. With an exit code other than 0 it has refused, and
    /// nothing has changed.
    ///
    /// # Errors
    /// [`GitError::NotWritten`] if it failed and everything was restored, [`GitError::HalfWritten`]
    /// if restoring failed.
    pub(crate) fn switch(
        &self,
        place: &Checkout,
        [from, to]: [&Oid; 2],
        held: &Held,
    ) -> Result<Ended, GitError> {
        let writer = self.writer(place, held)?;
        let read_tree = |how: &[&str]| {
            let args = [&["read-tree", "-m"], how, &[from.as_str(), to.as_str()]].concat();
            self.git_in(place, args, &writer)
        };
        let mut refused = read_tree(&["-n", "-u"])?;
        // Refreshing rewrites the index, and git then no longer rechecks files as young as the old
        // index ("racy" entries). It never looks into files that it was told not to watch, and
        // would overwrite changes in them.
        if refused.code != 0 && self.changed_unwatched(place, [from, to])?.is_empty() {
            // Git's record of which files changed may be stale; refreshing updates it.
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
        Err(GitError::NotWritten {
            path: place.path.clone(),
            reason,
        })
    }

    /// Rolls back a switch that was left half done.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if that fails again.
    pub(crate) fn settle_switch(&self, held: &Held) -> Result<(), GitError> {
        let Some(switch) = self.noted()? else {
            return Ok(());
        };
        let handle = self.repo.handle()?;
        let objects = handle
            .odb()
            .map_err(GitError::library("open the objects"))?;
        let is_there = |commit: &Oid| theirs(commit).is_ok_and(|oid| objects.exists(oid));
        if switch.place.path.exists() && is_there(&switch.from) && is_there(&switch.to) {
            let writer = self.writer(&switch.place, held)?;
            return self.put_back(switch, "it was interrupted", &writer);
        }
        // The user has deleted the checkout, or the commits of the landing; there is nothing to
        // restore.
        self.forget_note()
    }

    /// Restores each file that git has written, or was about to write, and removes the note.
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
        // Added files are removed first: one may be in a folder that takes the place of an old
        // file.
        for path in added.iter().chain(&old) {
            remove(&switch.place, path)?;
        }
        if old.is_empty() {
            return Ok(());
        }
        let place = switch.place.clone();
        if switch.stage == Stage::Writing {
            switch.stage = Stage::PuttingBack(old.clone());
            self.note(&switch)?;
        }
        for paths in old.chunks(PATHS_AT_ONCE) {
            // It runs without `--force`: a file that exists by now is the user's.
            let args = ["checkout-index", "--"].map(OsStr::new).into_iter();
            let ended = self.git_in(
                &place,
                args.chain(paths.iter().map(|path| path.as_os_str())),
                writer,
            )?;
            if ended.code != 0 {
                let command = "checkout-index".to_owned();
                let reason = full_disk::complaint(&ended, &place.path);
                return Err(GitError::Program { command, reason });
            }
        }
        Ok(())
    }

    /// Records the state of a checkout before git writes to it.
    fn begin(&self, place: &Checkout, [from, to]: [&Oid; 2]) -> Result<Switch, GitError> {
        let handle = self.repo.handle()?;
        let (tree, index) = (tree_of(&handle, from)?, place.index()?);
        let mut old = Vec::new();
        for path in self.repo.store().changed_paths(from, to)? {
            let (was, entry) = (id_in(&tree, &path), index.get_path(&path, 0));
            // A file that already has the new version is left alone by git.
            if let Some(entry) = entry.filter(|entry| was == Some(entry.id)) {
                let (known_as, is_absent) = (known_as(&entry), found(place, &path).is_none());
                old.push(OldFile {
                    path,
                    known_as,
                    is_absent,
                });
            }
        }
        let (place, from, to, index) = (
            place.clone(),
            from.clone(),
            to.clone(),
            look_of_index(place),
        );
        Ok(Switch {
            place,
            from,
            to,
            index,
            old,
            stage: Stage::Writing,
        })
    }

    /// Lists the files that git has written, or was about to write.
    fn written(&self, switch: &Switch, writer: &Writer<'_>) -> Result<Written, GitError> {
        let Switch {
            place,
            from,
            to,
            old,
            ..
        } = switch;
        let index = place.index()?;
        let is_known = |file: &&OldFile| {
            index
                .get_path(&file.path, 0)
                .is_some_and(|entry| known_as(&entry) == file.known_as)
        };
        let known: Vec<&OldFile> = old.iter().filter(is_known).collect();
        let mut written = Written {
            added: Vec::new(),
            old: Vec::new(),
        };
        for OldFile {
            path, is_absent, ..
        } in &known
        {
            let versions: &[&Oid] = match &switch.stage {
                Stage::Writing => &[to],
                Stage::PuttingBack(back) if back.binary_search(path).is_ok() => &[to, from],
                Stage::PuttingBack(_) => continue,
            };
            let is_written = match found(place, path) {
                Some(found) => self.is_beginning(switch, writer, &found, versions)?,
                None => !is_absent,
            };
            if is_written {
                if *is_absent {
                    &mut written.added
                } else {
                    &mut written.old
                }
                .push(path.clone());
            }
        }
        // In the second stage the added files have already been removed.
        if switch.stage == Stage::Writing
            && (!known.is_empty() || look_of_index(place) == switch.index)
        {
            written.added.extend(self.added(switch, writer, &index)?);
        }
        Ok(written)
    }

    /// Lists the files that the new version adds and git has written.
    fn added(
        &self,
        switch: &Switch,
        writer: &Writer<'_>,
        index: &Index,
    ) -> Result<Vec<PathBuf>, GitError> {
        let Switch {
            place, from, to, ..
        } = switch;
        let handle = self.repo.handle()?;
        let tree = tree_of(&handle, from)?;
        let mut added = Vec::new();
        for path in self.repo.store().changed_paths(from, to)? {
            let is_old = id_in(&tree, &path).is_some() || index.get_path(&path, 0).is_some();
            if let Some(found) = found(place, &path).filter(|_| !is_old)
                && self.is_beginning(switch, writer, &found, &[to])?
            {
                added.push(path);
            }
        }
        Ok(added)
    }

    /// Reports whether a file's content is a prefix of one of these versions, and not its old
    /// version.
    fn is_beginning(
        &self,
        switch: &Switch,
        writer: &Writer<'_>,
        found: &Found<'_>,
        versions: &[&Oid],
    ) -> Result<bool, GitError> {
        let (place, path, metadata) = (&switch.place, found.path, &found.metadata);
        let file = place.path.join(path);
        let content = match metadata.is_symlink() {
            true => std::fs::read_link(&file).map(|to| to.into_os_string().into_vec()),
            false if metadata.is_file() => std::fs::read(&file),
            false => return Ok(false),
        };
        let content = content.map_err(GitError::io("read", &file))?;
        let mode = mode_of(metadata);
        let old = Version {
            commit: &switch.from,
            path,
        };
        if self.is_version(place, writer, old, |old, old_mode| {
            old_mode == mode && *old == content
        })? {
            return Ok(false);
        }
        for commit in versions {
            let version = Version { commit, path };
            if self.is_version(place, writer, version, |version, _| {
                version.starts_with(&content)
            })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether a predicate holds for a commit's version of a file and its mode, either as
    /// stored or as checked out (filtered).
    fn is_version(
        &self,
        place: &Checkout,
        writer: &Writer<'_>,
        Version { commit, path }: Version<'_>,
        is_such: impl Fn(&[u8], i32) -> bool,
    ) -> Result<bool, GitError> {
        let handle = self.repo.handle()?;
        let Ok(entry) = tree_of(&handle, commit)?.get_path(path) else {
            return Ok(false);
        };
        let (id, mode) = (entry.id(), entry.filemode());
        let blob = handle
            .find_blob(id)
            .map_err(GitError::library(format!("read {id}")))?;
        if is_such(blob.content(), mode) {
            return Ok(true);
        }
        let mut version = OsString::from(format!("{commit}:"));
        version.push(path);
        let filtered = self.git_in(
            place,
            [OsStr::new("cat-file"), OsStr::new("--filters"), &version],
            writer,
        )?;
        Ok(filtered.code == 0 && is_such(&filtered.stdout, mode))
    }

    fn git_in(
        &self,
        place: &Checkout,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        writer: &Writer<'_>,
    ) -> Result<Ended, GitError> {
        let run = self
            .repo
            .on_files(&writer.scratch, place, args)
            .settings(writer.settings.iter().cloned());
        self.repo.program.run(&run.outlives_us(writer.held))
    }

    /// Prepares git for writing to a checkout of the user's: with the filters that the user or the
    /// machine's administrator has configured, and without those of the repository's own
    /// configuration.
    fn writer<'a>(&self, place: &Checkout, held: &'a Held) -> Result<Writer<'a>, GitError> {
        let configuration =
            Configuration::of_repository(&self.repo.program, &place.git_dir, &place.path)?;
        let settings = configuration
            .about_files()
            .into_iter()
            .chain(configuration.users_filters())
            .collect();
        let scratch = ScratchRepo::under(held)?;
        scratch.take_over_info(self.repo.common_dir())?;
        Ok(Writer {
            scratch,
            settings,
            held,
        })
    }

    /// Refuses to write files for which one of two commits asks for a filter that is defined only
    /// in the repository's own configuration: the user has not consented to that program.
    pub(crate) fn require_no_own_filter(
        &self,
        place: &Checkout,
        commits: [&Oid; 2],
    ) -> Result<(), GitError> {
        let configuration =
            Configuration::of_repository(&self.repo.program, &place.git_dir, &place.path)?;
        let mut filters = configuration.own_filters();
        let handle = self.repo.handle()?;
        // Agents do not change what Git LFS stores, so its filter has nothing to do; it is usually
        // the user's own.
        if filters.iter().any(|filter| filter == lfs::FILTER)
            && !self.changes_pointers(&handle, commits)?
        {
            filters.retain(|filter| filter != lfs::FILTER);
        }
        if filters.is_empty() {
            return Ok(());
        }
        let mut asked = match configuration.attributes_file() {
            Some(path) => read_info(&path)?
                .and_then(|text| Some((path, probe::asked_filter(&text, &filters)?))),
            None => None,
        };
        for commit in commits {
            let tree = tree_of(&handle, commit)?;
            asked = asked.map_or_else(
                || probe::filter_of_tree(&handle, &tree, &filters),
                |asked| Ok(Some(asked)),
            )?;
        }
        let Some((path, filter)) = asked else {
            return Ok(());
        };
        let [_, to] = commits;
        let refusal = RepositoryRefusal::OwnFilter {
            path,
            filter,
            commit: to.clone(),
        };
        Err(GitError::Refused {
            path: place.path.clone(),
            refusal,
        })
    }
}

impl Landing<'_> {
    /// Reports whether the difference of two commits has a file that one of them stores with Git
    /// LFS.
    fn changes_pointers(
        &self,
        handle: &Repository,
        [from, to]: [&Oid; 2],
    ) -> Result<bool, GitError> {
        let (from_tree, to_tree) = (tree_of(handle, from)?, tree_of(handle, to)?);
        let is_pointer = |tree, path: &Path| {
            let blob = id_in(tree, path).and_then(|id| handle.find_blob(id).ok());
            blob.is_some_and(|blob| Pointer::parse(blob.content()).is_some())
        };
        let changed = self.repo.store().changed_paths(from, to)?;
        Ok(changed
            .iter()
            .any(|path| is_pointer(&from_tree, path) || is_pointer(&to_tree, path)))
    }
}

/// A file that is in a checkout.
struct Found<'f> {
    path: &'f Path,
    metadata: Metadata,
}

/// A commit's version of a file.
#[derive(Clone, Copy)]
struct Version<'v> {
    commit: &'v Oid,
    path: &'v Path,
}

/// Returns a file of a checkout, or `None` if it is absent or a folder.
fn found<'f>(place: &Checkout, path: &'f Path) -> Option<Found<'f>> {
    let metadata = std::fs::symlink_metadata(place.path.join(path)).ok()?;
    (!metadata.is_dir()).then_some(Found { path, metadata })
}

/// Returns an index entry's object id, inode and times, by which git recognises the file.
///
/// The size is left out, because git clears it for a file that is as young as the index ("racy").
fn known_as(entry: &IndexEntry) -> String {
    let IndexEntry {
        id,
        ino,
        mtime,
        ctime,
        ..
    } = entry;
    let [mtime, ctime] =
        [mtime, ctime].map(|time| format!("{}.{}", time.seconds(), time.nanoseconds()));
    format!("{id} {ino} {mtime} {ctime}")
}

/// Returns the inode and time of the index file, which change when the file is rewritten.
fn look_of_index(place: &Checkout) -> String {
    let look =
        |found: Metadata| format!("{} {}.{}", found.ino(), found.mtime(), found.mtime_nsec());
    std::fs::metadata(place.index_path())
        .map(look)
        .unwrap_or_default()
}

/// Returns the mode that git would record for a file.
fn mode_of(found: &Metadata) -> i32 {
    match (found.is_symlink(), found.mode() & 0o100) {
        (true, _) => 0o120_000,
        (false, 0) => 0o100_644,
        (false, _) => 0o100_755,
    }
}

/// Removes a file that git created, and the folders that this leaves empty. If the file is absent,
/// nothing is removed.
fn remove(place: &Checkout, path: &Path) -> Result<(), GitError> {
    if found(place, path).is_none() {
        return Ok(());
    }
    let file = place.path.join(path);
    std::fs::remove_file(&file).map_err(GitError::io("remove", &file))?;
    // Stops at the first folder that is not empty.
    let above: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .filter(|above| *above != Path::new(""))
        .map(Into::into)
        .collect();
    let _ = above
        .iter()
        .try_for_each(|folder| std::fs::remove_dir(place.path.join(folder)));
    Ok(())
}
