//! Landing and undoing a landing: the only place that moves a branch of the user's, forward or
//! back.
//!
//! Where the branch is checked out, git itself writes the files and the index (`read-tree -m -u`,
//! as `git switch` does): it keeps the user's local changes, staged ones too, and refuses if they
//! overlap. The branch is moved by compare-and-swap, whether it is checked out or not. The user's
//! own configuration applies, filters included, because it is the user's checkout. Programs named
//! in the repository's own configuration are not run, because it may have come with the repository.
//!
//! A kill never leaves half of the files: git runs to its end without us, and the next process
//! waits for it. What git fails to write is restored (`switching.rs`). The files and the index may
//! be left at one commit and the branch at the other; [`Landing::land`] completes that, and
//! [`Landing::unland`] undoes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{IndexEntryExtendedFlag, IndexEntryFlag, Status};
use orchestrate_core::Oid;
use orchestrate_files::if_there;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::error::refusal::RepositoryRefusal;
use crate::program::lock::Held;
use crate::repo::probe;
use crate::repo::refs::branch_ref;
use crate::repo::repository::{Repo, id_in, tree_of};
use crate::worktree::checkout::Checkout;
use crate::worktree::entries;

/// What moves the user's branches and checkouts, returned by [`Repo::landing`].
#[derive(Clone, Copy, Debug)]
pub struct Landing<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that move a branch of the user's and its checkout, and undo that.
    pub fn landing(&self) -> Landing<'_> {
        Landing { repo: self }
    }
}

/// A move of one of the user's branches from one commit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The short name of the branch.
    pub branch: String,
    /// The expected tip of the branch.
    pub from: Oid,
    /// The commit to move it to, which must contain `from`.
    pub to: Oid,
}

impl Landing<'_> {
    /// Fast-forwards a branch of the user's. Returns the checkout that was updated with it, or
    /// `None` if the branch is not checked out.
    ///
    /// Landing what has already landed succeeds, and leaves what the user has taken back by hand.
    /// If an undo was killed after it changed the checkout's files, they are brought to `to` again.
    ///
    /// # Errors
    /// [`GitError::BranchGone`], [`GitError::RefMoved`], [`GitError::NotFastForward`],
    /// [`GitError::LocalChanges`] with the overlapping files, [`GitError::InConflict`] with files
    /// that a stash left in conflict, or [`GitError::Refused`] in the middle of a merge;
    /// [`GitError::NotWritten`] or [`GitError::HalfWritten`] if git cannot write the files.
    pub fn land(&self, landing: &Move) -> Result<Option<PathBuf>, GitError> {
        let Move { branch, from, to } = landing;
        let held = self.repo.lock(Work::Landing)?;
        self.settle_switch(&held)?;
        let actual = self.repo.branch_tip(branch)?;
        let checkout = self.only_checkout(branch)?;
        let path = checkout.as_ref().map(|place| place.path.clone());
        if actual == *to {
            // Without the note, the user may have taken the landing back by hand, and staged that.
            if self.is_undo_noted(landing)? {
                self.finish_files(checkout.as_ref(), branch, [from, to], &held)?;
                self.forget_undo(landing)?;
            }
            return Ok(path);
        }
        self.require_at(branch, from, &actual)?;
        if !self.repo.contains(to, from)? {
            return Err(GitError::NotFastForward {
                branch: branch.clone(),
                old: actual,
                new: to.clone(),
            });
        }
        self.forget_undo(landing)?;
        self.move_branch(checkout, branch, [from, to], &held)?;
        Ok(path)
    }

    /// Undoes a landing: the branch returns to its previous commit, and local changes stay.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] if the branch moved since; [`GitError::LocalChanges`];
    /// [`GitError::NotWritten`] or [`GitError::HalfWritten`] if git cannot write the files.
    pub fn unland(&self, landing: &Move) -> Result<(), GitError> {
        let Move { branch, from, to } = landing;
        let held = self.repo.lock(Work::Undo)?;
        self.settle_switch(&held)?;
        let actual = self.repo.branch_tip(branch)?;
        let checkout = self.only_checkout(branch)?;
        if actual == *from {
            self.finish_files(checkout.as_ref(), branch, [to, from], &held)?;
            return self.forget_undo(landing);
        }
        self.require_at(branch, to, &actual)?;
        if checkout.is_some() {
            self.note_undo(landing)?;
        }
        let moved = self.move_branch(checkout, branch, [to, from], &held);
        if !matches!(moved, Err(GitError::FilesAhead { .. })) {
            self.forget_undo(landing)?;
        }
        moved
    }

    /// Returns the checkout in which the user has taken back all files of a landing that its branch
    /// is at, and staged that.
    ///
    /// # Errors
    /// If the checkout or one of the commits cannot be read.
    pub fn taken_back_in(&self, landing: &Move) -> Result<Option<PathBuf>, GitError> {
        let Move { branch, from, to } = landing;
        let is_there = self.repo.branch_tip(branch)? == *to
            && !self.repo.store().changed_paths(from, to)?.is_empty();
        let place = if is_there {
            self.only_checkout(branch)?
        } else {
            None
        };
        let Some(place) = place else { return Ok(None) };
        Ok(self
            .index_holds(&place, from, [from, to])?
            .then_some(place.path))
    }

    /// Restores what a landing or its undoing has left half written. Both do this first.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if that fails again.
    pub fn put_back_half_written(&self) -> Result<(), GitError> {
        self.settle_switch(&self.repo.lock(Work::Reconciling)?)
    }

    /// Reverts the files of a landing that was killed before it moved the branch, if the branch has
    /// been moved elsewhere since. They stay if the branch has some of them by now, for example
    /// because the user committed them.
    ///
    /// # Errors
    /// As [`Landing::unland`].
    pub fn take_back_files(&self, landing: &Move) -> Result<(), GitError> {
        let Move { branch, from, to } = landing;
        let held = self.repo.lock(Work::Undo)?;
        self.settle_switch(&held)?;
        let (tip, ways) = (self.repo.branch_tip(branch)?, [to, from]);
        match self.only_checkout(branch)? {
            Some(place)
                if self.index_holds(&place, to, ways)? && !self.has_some_of(&tip, ways)? =>
            {
                self.move_files(&place, branch, ways, &held)
            }
            _ => Ok(()),
        }
    }

    /// Returns a place where a branch is checked out, or `None`. Moving the branch would leave the
    /// files there behind. Worktrees whose folder is gone are ignored.
    ///
    /// # Errors
    /// If git's entries cannot be read.
    pub fn checkout_of(&self, branch: &str) -> Result<Option<PathBuf>, GitError> {
        Ok(self
            .checked_out_at(branch)?
            .into_iter()
            .map(|place| place.path)
            .find(|path| path.exists()))
    }

    /// Finds the places where a branch is checked out, including a rebase of it in progress.
    pub(crate) fn checked_out_at(&self, branch: &str) -> Result<Vec<Checkout>, GitError> {
        let main = self.repo.common_dir();
        let mut places = Vec::new();
        for git_dir in std::iter::once(main.to_owned()).chain(entries::all(main)?) {
            // The HEAD of a bare repository with linked worktrees is not a checkout.
            if names_branch(&git_dir, branch)
                && (git_dir != main || !self.repo.open_git_dir(main)?.is_bare())
            {
                let Some(path) = self.worktree_of(&git_dir)? else {
                    return Err(GitError::UnknownCheckout {
                        branch: branch.to_owned(),
                        git_dir,
                    });
                };
                places.push(Checkout { path, git_dir });
            }
        }
        Ok(places)
    }

    fn only_checkout(&self, branch: &str) -> Result<Option<Checkout>, GitError> {
        let mut places = self.checked_out_at(branch)?;
        if places.len() > 1 {
            let paths = places.into_iter().map(|place| place.path).collect();
            return Err(GitError::CheckedOutTwice {
                branch: branch.to_owned(),
                paths,
            });
        }
        let Some(place) = places.pop() else {
            return Ok(None);
        };
        let repository = self.repo.open_git_dir(&place.git_dir)?;
        match probe::operation(repository.state()) {
            Some(operation) => Err(GitError::Refused {
                path: place.path,
                refusal: RepositoryRefusal::InProgress(operation),
            }),
            None => Ok(Some(place)),
        }
    }

    /// Switches a checkout's files to the commit that the branch is already at. A process that was
    /// killed on its way to `from` may have written the files of `from` without moving the branch.
    fn finish_files(
        &self,
        checkout: Option<&Checkout>,
        branch: &str,
        [from, to]: [&Oid; 2],
        held: &Held,
    ) -> Result<(), GitError> {
        match checkout {
            Some(place) if from != to && self.index_holds(place, from, [from, to])? => {
                self.move_checkout(place, branch, [from, to], held)
            }
            _ => Ok(()),
        }
    }

    fn move_branch(
        &self,
        checkout: Option<Checkout>,
        branch: &str,
        [from, to]: [&Oid; 2],
        held: &Held,
    ) -> Result<(), GitError> {
        match checkout {
            None => self
                .repo
                .advance_to_its_end(&branch_ref(branch), from, to, held),
            Some(place) => self.move_checkout(&place, branch, [from, to], held),
        }
    }

    /// Moves a branch and its checkout: files and index first, which git refuses if the user's
    /// changes overlap, then the branch. It can be repeated after an interruption at any point.
    fn move_checkout(
        &self,
        place: &Checkout,
        branch: &str,
        [from, to]: [&Oid; 2],
        held: &Held,
    ) -> Result<(), GitError> {
        self.move_files(place, branch, [from, to], held)?;
        let Err(unmoved) = self
            .repo
            .advance_to_its_end(&branch_ref(branch), from, to, held)
        else {
            return Ok(());
        };
        // The branch could not be moved, for example because it was moved meanwhile; restore the
        // files.
        let ahead = match self.switch(place, [to, from], held) {
            Ok(back) if back.code == 0 => return Err(unmoved),
            Ok(back) => back.failure("read-tree"),
            Err(error) => error,
        };
        let (branch, path, to) = (branch.to_owned(), place.path.clone(), to.clone());
        Err(GitError::FilesAhead {
            branch,
            path,
            to,
            unmoved: Box::new(unmoved),
            ahead: Box::new(ahead),
        })
    }

    /// Switches a checkout's files and index without moving the branch.
    fn move_files(
        &self,
        place: &Checkout,
        branch: &str,
        [from, to]: [&Oid; 2],
        held: &Held,
    ) -> Result<(), GitError> {
        let in_conflict = in_conflict(place)?;
        if !in_conflict.is_empty() {
            return Err(GitError::InConflict {
                branch: branch.to_owned(),
                paths: in_conflict,
            });
        }
        // Git itself would overwrite ignored files.
        let mut in_the_way =
            self.overlapping(place, [from, to], Status::IGNORED | Status::WT_NEW)?;
        in_the_way.extend(self.files_for_folders(place, [from, to])?);
        if !in_the_way.is_empty() {
            return Err(GitError::LocalChanges {
                branch: branch.to_owned(),
                paths: in_the_way,
            });
        }
        self.require_no_own_filter(place, [from, to])?;
        let switched = self.switch(place, [from, to], held)?;
        if switched.code != 0 {
            let mut paths = self.overlapping(place, [from, to], Status::all())?;
            paths.extend(self.unwatched(place, [from, to])?);
            return Err(match paths.is_empty() {
                true => switched.failure("read-tree"),
                false => GitError::LocalChanges {
                    branch: branch.to_owned(),
                    paths,
                },
            });
        }
        Ok(())
    }

    /// Lists the files that differ between two commits and have one of these states in a checkout.
    pub(crate) fn overlapping(
        &self,
        place: &Checkout,
        [from, to]: [&Oid; 2],
        states: Status,
    ) -> Result<Vec<PathBuf>, GitError> {
        let changed = self.repo.store().changed_paths(from, to)?;
        let mut options = git2::StatusOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .include_ignored(true);
        options
            .recurse_ignored_dirs(true)
            .exclude_submodules(true)
            .disable_pathspec_match(true);
        for path in &changed {
            options.pathspec(path);
        }
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let repository = self.repo.open_git_dir_of(&place.git_dir, &place.path)?;
        let failed = GitError::library(format!("read the status of {}", place.path.display()));
        let statuses = repository.statuses(Some(&mut options)).map_err(failed)?;
        let overlapping = statuses
            .iter()
            .filter(|entry| entry.status().intersects(states));
        Ok(overlapping
            .map(|entry| crate::files::openat::path_of(entry.path_bytes()))
            .collect())
    }

    /// Lists entries of the user's checkout that are not folders but are where one of two commits
    /// needs a folder, unless they differ between the commits themselves.
    fn files_for_folders(
        &self,
        place: &Checkout,
        [from, to]: [&Oid; 2],
    ) -> Result<Vec<PathBuf>, GitError> {
        let changed = self.repo.store().changed_paths(from, to)?;
        let above = |path: &PathBuf| {
            path.ancestors()
                .skip(1)
                .map(Path::to_owned)
                .collect::<Vec<_>>()
        };
        let folders: BTreeSet<PathBuf> = changed
            .iter()
            .flat_map(above)
            .filter(|path| path != Path::new(""))
            .collect();
        let is_other = |path: &PathBuf| {
            let found = std::fs::symlink_metadata(place.path.join(path));
            found.is_ok_and(|found| !found.is_dir()) && changed.binary_search(path).is_err()
        };
        Ok(folders.into_iter().filter(is_other).collect())
    }

    /// Lists the files that differ between two commits and that the user told git not to watch
    /// (`--assume-unchanged`, `--skip-worktree`).
    fn unwatched(&self, place: &Checkout, [from, to]: [&Oid; 2]) -> Result<Vec<PathBuf>, GitError> {
        let index = place.index()?;
        let is_unwatched = |path: &PathBuf| {
            let entry = index.get_path(path, 0);
            entry.is_some_and(|entry| {
                IndexEntryFlag::from_bits_truncate(entry.flags).is_valid()
                    || IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended)
                        .is_skip_worktree()
            })
        };
        Ok(self
            .repo
            .store()
            .changed_paths(from, to)?
            .into_iter()
            .filter(is_unwatched)
            .collect())
    }

    /// Lists the [`Self::unwatched`] files that differ from the index, or cannot be read.
    pub(crate) fn changed_unwatched(
        &self,
        place: &Checkout,
        between: [&Oid; 2],
    ) -> Result<Vec<PathBuf>, GitError> {
        let index = place.index()?;
        let is_changed = |path: &PathBuf| {
            let known = index.get_path(path, 0).map(|entry| entry.id);
            let found = git2::Oid::hash_file(git2::ObjectType::Blob, place.path.join(path)).ok();
            found.is_none() || found != known
        };
        Ok(self
            .unwatched(place, between)?
            .into_iter()
            .filter(is_changed)
            .collect())
    }

    /// Reports whether a checkout's index has a commit's version of every file that differs between
    /// two commits.
    fn index_holds(
        &self,
        place: &Checkout,
        commit: &Oid,
        [from, to]: [&Oid; 2],
    ) -> Result<bool, GitError> {
        let (handle, index) = (self.repo.handle()?, place.index()?);
        let tree = tree_of(&handle, commit)?;
        for path in self.repo.store().changed_paths(from, to)? {
            let wanted = match tree.get_path(&path) {
                Ok(entry) => Some(entry.id()),
                Err(error) if error.code() == git2::ErrorCode::NotFound => None,
                Err(error) => {
                    return Err(GitError::library(format!(
                        "read {} of {commit}",
                        path.display()
                    ))(error));
                }
            };
            if index.get_path(&path, 0).map(|entry| entry.id) != wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports whether a commit has the first commit's version of any file that differs between the
    /// two.
    fn has_some_of(&self, commit: &Oid, [from, to]: [&Oid; 2]) -> Result<bool, GitError> {
        let handle = self.repo.handle()?;
        let (tree, other) = (tree_of(&handle, commit)?, tree_of(&handle, from)?);
        Ok(self
            .repo
            .store()
            .changed_paths(from, to)?
            .iter()
            .any(|path| id_in(&tree, path) == id_in(&other, path)))
    }

    fn require_at(&self, branch: &str, expected: &Oid, actual: &Oid) -> Result<(), GitError> {
        if expected == actual {
            return Ok(());
        }
        let (expected, actual) = (Some(expected.clone()), Some(actual.clone()));
        Err(GitError::RefMoved {
            name: branch_ref(branch),
            expected,
            actual,
        })
    }

    /// Finds the working tree of a git directory, or returns `None` if it is recorded nowhere.
    fn worktree_of(&self, git_dir: &Path) -> Result<Option<PathBuf>, GitError> {
        let recorded = git_dir.join("gitdir");
        let found = if_there(std::fs::read(&recorded)).map_err(GitError::io("read", &recorded))?;
        if let Some(bytes) = found {
            let pointer = crate::files::openat::path_of(bytes.trim_ascii_end());
            return Ok(pointer.parent().map(Path::to_owned));
        }
        if git_dir == self.repo.shared.git_dir {
            return Ok(Some(self.repo.workdir().to_owned()));
        }
        let main = self.repo.open_git_dir(git_dir)?;
        let around = git_dir.parent().filter(|around| {
            around
                .join(".git")
                .canonicalize()
                .is_ok_and(|at| at == git_dir)
        });
        let configured = main
            .config()
            .is_ok_and(|config| config.get_entry("core.worktree").is_ok());
        Ok(if configured {
            main.workdir().map(Path::to_owned)
        } else {
            around.map(Path::to_owned)
        })
    }
}

/// Lists the files that are in conflict in a checkout's index.
fn in_conflict(place: &Checkout) -> Result<Vec<PathBuf>, GitError> {
    let index = place.index()?;
    let failed = GitError::library(format!("read the conflicts of {}", place.path.display()));
    let mut paths = BTreeSet::new();
    for conflict in index.conflicts().map_err(&failed)? {
        let conflict = conflict.map_err(&failed)?;
        let sides = [conflict.our, conflict.their, conflict.ancestor]
            .into_iter()
            .flatten();
        paths.extend(sides.map(|side| crate::files::openat::path_of(&side.path)));
    }
    Ok(paths.into_iter().collect())
}

/// Reports whether a worktree has a branch checked out, or is in the middle of rebasing it.
fn names_branch(git_dir: &Path, branch: &str) -> bool {
    let full = branch_ref(branch);
    let says = |file: &str, text: &str| {
        std::fs::read_to_string(git_dir.join(file)).is_ok_and(|read| read.trim_end() == text)
    };
    says("HEAD", &format!("ref: {full}"))
        || says("rebase-merge/head-name", &full)
        || says("rebase-apply/head-name", &full)
}
