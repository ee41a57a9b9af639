//! Cleaning and recovering: removes only what is provably kept elsewhere, and brings back what was kept.
//!
//! Branches and snapshots always stay. A worktree is removed only if the tree of its files is held by its branch or
//! by a ref of ours, and if nothing in it is ignored by git; what is ignored is a build's output as a rule, and may be
//! somebody's only copy, so a person says that it goes. A worktree that an unfinished task needs stays too. In the
//! verifier's nobody works: it goes with everything in it.

use std::path::{Path, PathBuf};

use orchestrate_core::event::Event;
use orchestrate_core::git_path::shown_path;
use orchestrate_core::request::Purpose;
use orchestrate_core::{Oid, RunId, TaskId, TaskRecord};
use orchestrate_git::{Removed, Worktree};
use orchestrate_journal::{Journal, JournalError};

use crate::afterwards::archive::Archive;
use crate::afterwards::refusal::Refusal;
use crate::error::CoordinatorError;

/// How many of the ignored files and folders a reason names before it only counts them.
const NAMED_PATHS: usize = 5;

/// How a run is cleaned.
#[derive(Clone, Copy, Debug, Default)]
pub struct CleanOptions {
    /// Whether it is only said what would be removed.
    pub dry_run: bool,
    /// Whether what git ignores is removed with the worktree that it is in.
    pub ignored: bool,
}

/// What cleaning removed, or would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Worktrees that are removed, or would be; the verifier's has no task.
    pub removed: Vec<(Option<TaskId>, PathBuf)>,
    /// Worktrees that stay.
    pub kept: Vec<KeptWorktree>,
    /// Why something is still in the trash: each with its path, and the file system's reason.
    pub undeleted: Vec<String>,
}

/// A worktree that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWorktree {
    /// Its task.
    pub task: TaskId,
    /// Where it is.
    pub path: PathBuf,
    /// Why it stays.
    pub reason: String,
    /// What git does not store of it, below it; [`CleanOptions::ignored`] lets it go, and nothing else stands against
    /// that. Empty if it stays for another reason.
    pub ignored: Vec<PathBuf>,
    /// Whether its task is unfinished, so that the run needs these files when it continues.
    pub is_unfinished: bool,
}

/// What stands against removing a worktree.
struct Obstacle {
    reason: String,
    ignored: Vec<PathBuf>,
    is_unfinished: bool,
}

/// A commit that a ref of ours holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCommit {
    /// What it is called below the run's refs, for example `T1/2-0123456789ab`.
    pub name: String,
    /// The commit.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
    /// Its time in seconds since 1970.
    pub time_unix: i64,
}

impl Archive {
    /// Removes a run's worktrees whose files are kept elsewhere, or only says which.
    ///
    /// # Errors
    ///
    /// Fails if another process works on the run, and if the file system refuses.
    pub fn clean(&self, run: &RunId, options: CleanOptions) -> Result<Cleaned, CoordinatorError> {
        if options.dry_run {
            if let Some(holder) = self.store.lease(run)? {
                return Err(JournalError::Held { run: run.clone(), holder }.into());
            }
            let mut cleaned = Cleaned::default();
            self.survey(run, options, &mut cleaned)?;
            return Ok(cleaned);
        }
        let journal = Journal::resume_for(&self.store, run, Purpose::Clean)?;
        let mut cleaned = Cleaned::default();
        // What was removed before an error is removed all the same.
        let surveyed = self.survey(run, options, &mut cleaned);
        let tasks: Vec<TaskId> = cleaned.removed.iter().filter_map(|(task, _)| task.clone()).collect();
        if !tasks.is_empty() {
            // Nothing follows from this fact, so it may follow the act: it tells what is gone.
            journal.append_blocking(Event::RunCleaned { tasks })?;
        }
        cleaned.undeleted = empty(&self.layout.trash());
        surveyed?;
        self.repo.drop_dangling(&|reason| reason.starts_with(&format!("orchestrate {run} ")))?;
        // A folder that still has something in it stays.
        drop(std::fs::remove_dir(self.layout.run(run)));
        Ok(cleaned)
    }

    fn survey(&self, run: &RunId, options: CleanOptions, cleaned: &mut Cleaned) -> Result<(), CoordinatorError> {
        let (state, remove) = (self.store.state(run)?, !options.dry_run);
        for record in state.tasks() {
            let (task, path) = (record.task.id.clone(), self.layout.worktree(run, &record.task.id));
            if !path.exists() {
                // Whoever deleted the folder left git's entry, which a task at work gets its files back by.
                if !record.needs_worktree() && self.repo.forget_worktree(&path, remove)? {
                    cleaned.removed.push((Some(task), path));
                }
                continue;
            }
            match self.obstacle(record, &path, options)? {
                None => cleaned.removed.push((Some(task), path)),
                Some(Obstacle { reason, ignored, is_unfinished }) => {
                    cleaned.kept.push(KeptWorktree { task, path, reason, ignored, is_unfinished });
                }
            }
        }
        let verifier = self.layout.verifier(run);
        if verifier.exists() && state.tasks().all(|record| !record.needs_worktree()) {
            if remove {
                drop(self.repo.discard_worktree(&verifier, &self.layout.trash())?);
            }
            cleaned.removed.push((None, verifier));
        } else if !verifier.exists() {
            self.repo.forget_worktree(&verifier, remove)?;
        }
        Ok(())
    }

    /// Removes a task's worktree if that is asked for and possible; says what stands against it.
    fn obstacle(
        &self,
        record: &TaskRecord,
        path: &Path,
        options: CleanOptions,
    ) -> Result<Option<Obstacle>, CoordinatorError> {
        let because = |reason: String, ignored| Ok(Some(Obstacle { reason, ignored, is_unfinished: false }));
        if record.needs_worktree() {
            let reason = "the task is unfinished and continues with these files".to_owned();
            return Ok(Some(Obstacle { reason, ignored: Vec::new(), is_unfinished: true }));
        }
        // Files whose place in git cannot be trusted or found are not provably kept.
        let kept = self.repo.open_worktree(path).and_then(|worktree| {
            self.repo.require_kept(&worktree)?;
            let ignored = if options.ignored { Vec::new() } else { self.repo.uncommitted(&worktree)? };
            Ok((worktree, ignored))
        });
        match kept {
            Err(error) => because(format!("failed to {error}"), Vec::new()),
            Ok((_, ignored)) if !ignored.is_empty() => {
                because(format!("git ignores {}, which may be the only copy", named(&ignored)), ignored)
            }
            Ok(_) if options.dry_run => Ok(None),
            Ok((worktree, _)) => self.trash(&worktree).map(|()| None),
        }
    }

    /// Moves a worktree to the trash, which is emptied at the end.
    fn trash(&self, worktree: &Worktree) -> Result<(), CoordinatorError> {
        drop(self.repo.remove_worktree(worktree, &self.layout.trash())?);
        Ok(())
    }

    /// Lists the commits of a run that refs of ours hold, in the order of their names; says which cannot be read.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, and if the refs cannot be read.
    pub fn kept(&self, run: &RunId) -> Result<Vec<KeptCommit>, CoordinatorError> {
        self.store.state(run)?;
        let prefix = run.keep_prefix();
        let held = self.repo.kept(run)?.into_iter().filter_map(|entry| {
            let name = entry.name.strip_prefix(&prefix)?.to_owned();
            // One that is damaged does not keep the others from being brought back.
            let found = self.repo.find_commit(&entry.target).unwrap_or_else(|error| {
                (self.progress)(&format!("{} cannot be restored: failed to {error}", entry.name));
                None
            });
            // Trees of conflicts are held too; they are no work of anybody's.
            let info = found?;
            let (subject, time_unix) = (info.subject().to_owned(), info.time_unix);
            Some(KeptCommit { name, commit: entry.target, subject, time_unix })
        });
        Ok(held.collect())
    }

    /// Makes a branch of a kept commit and gives the branch's name; no branch is ever moved.
    ///
    /// # Errors
    ///
    /// Fails if nothing is kept under that name, and if the branch is there and elsewhere.
    pub fn recover(&self, run: &RunId, name: &str, branch: Option<&str>) -> Result<String, CoordinatorError> {
        let none = || Refusal::NoSnapshot { run: run.clone(), name: name.to_owned() };
        let found = self.kept(run)?.into_iter().find(|kept| kept.name == name || kept.commit.as_str() == name);
        let found = found.ok_or_else(none)?;
        let branch =
            branch.map_or_else(|| format!("orchestrate/recovered/{run}/{}", found.name), |branch| branch.to_owned());
        let there = self.repo.read_ref(&format!("refs/heads/{branch}"))?;
        if there.is_some_and(|there| there != found.commit) {
            return Err(Refusal::BranchTaken { name: found.name, branch }.into());
        }
        self.repo.restore(&found.commit, &branch)?;
        Ok(branch)
    }
}

/// Deletes what is in the trash, of a cleaning that was killed too, and says what cannot be; whatever is there was kept
/// elsewhere.
fn empty(trash: &Path) -> Vec<String> {
    let places = match std::fs::read_dir(trash) {
        Ok(places) => places,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![format!("list {}: {error}", trash.display())],
    };
    let mut undeleted = Vec::new();
    for place in places.filter_map(Result::ok).map(|entry| entry.path()) {
        // Another cleaning may be about to move something into a folder that is still empty.
        let is_used = std::fs::read_dir(&place).is_ok_and(|mut inside| inside.next().is_some());
        let left = Removed { trashed: is_used.then_some(place) };
        undeleted.extend(left.delete().err().map(|error| error.to_string()));
    }
    undeleted
}

/// Names the first of some paths and counts the others.
fn named(paths: &[PathBuf]) -> String {
    let mut names: Vec<String> = paths.iter().take(NAMED_PATHS).map(|path| shown_path(path)).collect();
    if paths.len() > NAMED_PATHS {
        names.push(format!("and {} more", paths.len() - NAMED_PATHS));
    }
    names.join(", ")
}
