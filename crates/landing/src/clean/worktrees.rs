//! Cleaning: removes a run's worktrees, and only what is provably stored elsewhere.
//!
//! Commits and snapshots are always kept: the branch of a failed task goes with its worktree, and a
//! ref of ours holds its last attempt from then on, as it holds earlier ones. All other branches
//! stay. What an agent's git tools have named, selected or dropped goes with its worktree, except
//! for work that is held by nothing else, such as its files before the last command. A worktree is
//! removed only if the tree of its files is held by its branch or by one of our refs, and if it
//! contains no ignored files; those are usually a build's output, but may be the only copy of a
//! file, so removing them takes the user's consent. A worktree that an unfinished task needs is
//! kept too. The verifier's worktree contains no work and is removed entirely.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orchestrate_core::event::Event;
use orchestrate_core::run::request::Purpose;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{RunId, RunState, TaskId, TaskRecord};
use orchestrate_files::if_there;
use orchestrate_git::own_refs::OwnRefs;
use orchestrate_git::{RefEntry, Removed, Repo};
use orchestrate_journal::Journal;

use crate::archive::Archive;
use crate::clean::stored_worktree::StoredWorktree;
use crate::error::LandingError;

/// How long a cleaning may keep the user waiting with what it deletes; the rest is deleted in the
/// background.
const EMPTYING: Duration = Duration::from_secs(1);
/// What is deleted in the meantime even if the cleaning has taken longer already.
const LEAST_EMPTYING: Duration = Duration::from_millis(100);
/// How many ignored files and folders a reason names before only counting them.
const NAMED_PATHS: usize = 5;

/// How a run is cleaned.
#[derive(Clone, Copy, Debug, Default)]
pub struct CleanOptions {
    /// Whether to report only what would be removed.
    pub dry_run: bool,
    /// Whether to remove ignored files with their worktree.
    pub ignored: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Worktrees that were removed, or would be; the verifier's has no task.
    pub removed: Vec<(Option<TaskId>, PathBuf)>,
    /// Worktrees that are kept.
    pub kept: Vec<KeptWorktree>,
    /// Branches of failed tasks that were removed, or would be.
    pub branches: Vec<CleanedBranch>,
    /// Why files are still in the trash: each with its path and the error.
    pub undeleted: Vec<String>,
    /// Whether the files of removed worktrees are still being deleted, by a process that outlives
    /// this one.
    pub goes_on: bool,
}

/// The branch of a failed task, which was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanedBranch {
    /// Its task.
    pub task: TaskId,
    /// Its short name.
    pub branch: String,
    /// The name below the run's refs that holds its commits from now on; `None` if the run's result
    /// contains them.
    pub kept_as: Option<String>,
}

/// A worktree that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWorktree {
    /// Its task.
    pub task: TaskId,
    /// Where it is.
    pub path: PathBuf,
    /// Why it is kept.
    pub reason: String,
    /// Ignored files in it, relative to it; [`CleanOptions::ignored`] removes them, and nothing
    /// else prevents the removal. Empty if it is kept for another reason.
    pub ignored: Vec<PathBuf>,
    /// Whether its task is unfinished, so that the run needs these files when it continues.
    pub is_unfinished: bool,
}

impl Cleaned {
    /// Returns the worktrees that are gone, or would be.
    pub(crate) fn places(&self) -> impl Iterator<Item = &PathBuf> {
        self.removed.iter().map(|(_, place)| place)
    }

    /// Reports whether a worktree is still there, and would be.
    pub(crate) fn leaves(&self, place: &PathBuf) -> bool {
        place.exists() && self.places().all(|gone| gone != place)
    }
}

impl Archive {
    /// Removes a run's worktrees whose files are stored elsewhere, or only lists them.
    ///
    /// # Errors
    ///
    /// Fails if another process works on the run, or on an I/O error.
    pub async fn clean(&self, run: &RunId, options: CleanOptions) -> Result<Cleaned, LandingError> {
        let run = run.clone();
        self.beside("cleaning", move |runs| {
            runs.observed(&run, || runs.clean_now(&run, options))
        })
        .await
    }

    pub(crate) fn clean_now(
        &self,
        run: &RunId,
        options: CleanOptions,
    ) -> Result<Cleaned, LandingError> {
        if options.dry_run {
            self.require_unheld(run)?;
            let mut cleaned = Cleaned::default();
            self.survey(run, options, &mut cleaned)?;
            return Ok(cleaned);
        }
        let journal = Journal::resume_for(&self.store, run, Purpose::Clean)?;
        let (mut cleaned, begun) = (Cleaned::default(), Instant::now());
        // Worktrees removed before an error must still be recorded.
        let surveyed = self.survey(run, options, &mut cleaned);
        let tasks: Vec<TaskId> = cleaned
            .removed
            .iter()
            .filter_map(|(task, _)| task.clone())
            .collect();
        self.drop_own_refs(run)?;
        if !tasks.is_empty() {
            // Nothing depends on this event, so it may follow the act that it records.
            journal.append_blocking(Event::RunCleaned { tasks })?;
        }
        let emptied = empty(&self.layout.trash(), begun);
        (cleaned.undeleted, cleaned.goes_on) = (emptied.undeleted, emptied.goes_on);
        surveyed?;
        self.repo
            .worktrees()
            .drop_dangling(&|reason| reason.starts_with(&format!("orchestrate {run} ")))?;
        // A folder that is not empty is kept.
        self.layout.remove_empty_run(run);
        Ok(cleaned)
    }

    /// Deletes the refs of agents' git tools that are not needed without their worktrees.
    fn drop_own_refs(&self, run: &RunId) -> Result<(), LandingError> {
        let state = self.store.state(run)?;
        for record in state
            .tasks()
            .filter(|record| !self.layout.worktree(run, &record.task.id).exists())
        {
            for entry in
                OwnRefs::for_task(run, &record.task.id).disposable(&self.repo, record.tip())?
            {
                self.repo.delete(&entry)?;
            }
        }
        Ok(())
    }

    /// Removes what can be removed, or finds it.
    fn survey(
        &self,
        run: &RunId,
        options: CleanOptions,
        cleaned: &mut Cleaned,
    ) -> Result<(), LandingError> {
        let (state, remove) = (self.store.state(run)?, !options.dry_run);
        self.clean_worktrees(&state, options, cleaned)?;
        for record in state.tasks().filter(|record| record.has_failed()) {
            self.clean_branch(&state, record, remove, cleaned)?;
        }
        self.clean_own(&state, remove, cleaned)?;
        if remove && cleaned.kept.is_empty() {
            // New worktrees of the run can only be made for a landing, which builds anew.
            remove_file(self.layout.source_times(run))?;
            remove_file(self.layout.adopted_outputs(run))?;
        }
        Ok(())
    }

    /// Removes the worktrees of tasks.
    fn clean_worktrees(
        &self,
        state: &RunState,
        options: CleanOptions,
        cleaned: &mut Cleaned,
    ) -> Result<(), LandingError> {
        let (run, repo) = (&state.run_id, self.committing(state));
        for record in state.tasks() {
            let (task, path) = (&record.task.id, self.layout.worktree(run, &record.task.id));
            let is_gone = if path.exists() {
                let kept = self.clean_worktree(&repo, run, record, options)?;
                let is_gone = kept.is_none();
                cleaned.kept.extend(kept);
                is_gone
            } else {
                // A folder deleted by hand leaves git's entry, which a working task needs to
                // restore its files.
                let remove = !options.dry_run;
                !record.needs_worktree() && self.repo.worktrees().forget(&path, remove)?
            };
            if is_gone {
                cleaned.removed.push((Some(task.clone()), path));
            }
        }
        Ok(())
    }

    /// Removes the worktrees of no task, and the caches of all.
    fn clean_own(
        &self,
        state: &RunState,
        remove: bool,
        cleaned: &mut Cleaned,
    ) -> Result<(), LandingError> {
        let (run, worktrees, trash) = (&state.run_id, self.repo.worktrees(), self.layout.trash());
        let is_needed = state.tasks().any(TaskRecord::needs_worktree);
        let own = [
            self.layout.verifier(run),
            self.layout.setup(run),
            self.layout.packages(run),
        ];
        for path in own.into_iter().chain(self.layout.earlier_own(run)) {
            if !path.exists() {
                worktrees.forget(&path, remove)?;
            } else if !is_needed {
                if remove {
                    drop(worktrees.discard(&path, &trash)?);
                }
                cleaned.removed.push((None, path));
            }
        }
        if remove && !is_needed {
            drop(worktrees.discard(&self.layout.caches(run), &trash)?);
        }
        Ok(())
    }

    /// Removes the branch of a failed task whose worktree is gone, if requested; its commits are
    /// held first.
    fn clean_branch(
        &self,
        state: &RunState,
        record: &TaskRecord,
        remove: bool,
        cleaned: &mut Cleaned,
    ) -> Result<(), LandingError> {
        let (run, task) = (&state.run_id, record.task.id.clone());
        let stays = cleaned.leaves(&self.layout.worktree(run, &task));
        let Some(branch) = record.branch().filter(|_| !stays).map(str::to_owned) else {
            return Ok(());
        };
        let name = format!("refs/heads/{branch}");
        let Some(target) = self.repo.read_ref(&name)? else {
            return Ok(());
        };
        if self.is_checked_out_beside(&name, cleaned.places())? {
            return Ok(());
        }
        let is_in_result = self.repo.has_object(&state.integration)?
            && self.repo.contains(&state.integration, &target)?;
        let attempt = format!("{}/{}", task.branch_component(), record.attempt());
        if remove && !is_in_result {
            self.repo
                .keep(&format!("{}{attempt}", run.attempts_prefix()), &target)?;
        }
        if !remove || self.repo.delete(&RefEntry { name, target })? {
            let kept_as = (!is_in_result).then(|| format!("attempts/{attempt}"));
            cleaned.branches.push(CleanedBranch {
                task,
                branch,
                kept_as,
            });
        }
        Ok(())
    }

    /// Removes a task's worktree if requested and possible; otherwise returns why it is kept.
    fn clean_worktree(
        &self,
        repo: &Repo,
        run: &RunId,
        record: &TaskRecord,
        options: CleanOptions,
    ) -> Result<Option<KeptWorktree>, LandingError> {
        let mut kept = KeptWorktree {
            task: record.task.id.clone(),
            path: self.layout.worktree(run, &record.task.id),
            reason: "the task is unfinished and continues with these files".to_owned(),
            ignored: Vec::new(),
            is_unfinished: record.needs_worktree(),
        };
        if kept.is_unfinished {
            return Ok(Some(kept));
        }
        // Files are not provably stored if their worktree cannot be trusted or opened.
        let looked_at = StoredWorktree::open(repo, &kept.path).and_then(|stored| {
            let ignored = match options.ignored {
                true => Vec::new(),
                false => stored.ignored(repo)?,
            };
            Ok((stored, ignored))
        });
        match looked_at {
            Err(error) => kept.reason = format!("failed to {error}"),
            Ok((_, ignored)) if !ignored.is_empty() => {
                let files = named(&ignored);
                kept.reason = format!("no commit has {files}, which may be the only copy");
                kept.ignored = ignored;
            }
            Ok(_) if options.dry_run => return Ok(None),
            Ok((stored, _)) => {
                // The trash is emptied at the end.
                drop(stored.remove(repo, run, record, &self.layout.trash())?);
                return Ok(None);
            }
        }
        Ok(Some(kept))
    }
}

/// What is left in the trash.
#[derive(Debug, Default)]
pub(super) struct Emptied {
    /// What cannot be deleted: each with its path and the error.
    pub(super) undeleted: Vec<String>,
    /// Whether the rest is being deleted in the background.
    pub(super) goes_on: bool,
}

/// Empties the trash for a cleaning that began then, including leftovers of a killed one;
/// everything in it is stored elsewhere. What takes long is left to a process that outlives this
/// one.
pub(super) fn empty(trash: &Path, begun: Instant) -> Emptied {
    let mut emptied = Emptied::default();
    let places = match std::fs::read_dir(trash) {
        Ok(places) => places,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return emptied,
        Err(error) => {
            emptied
                .undeleted
                .push(format!("list {}: {error}", trash.display()));
            return emptied;
        }
    };
    let until = (begun + EMPTYING).max(Instant::now() + LEAST_EMPTYING);
    let is_late = || Instant::now() >= until;
    let mut left = Vec::new();
    for place in places.filter_map(Result::ok).map(|entry| entry.path()) {
        // Another cleaning may be about to move something into a folder that is still empty.
        if !std::fs::read_dir(&place).is_ok_and(|mut inside| inside.next().is_some()) {
            continue;
        }
        match orchestrate_files::remove_folder_unless(&place, &is_late) {
            Ok(true) => {}
            Ok(false) => left.push(place),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => emptied
                .undeleted
                .push(format!("delete {}: {error}", place.display())),
        }
    }
    if !left.is_empty() {
        emptied.goes_on = orchestrate_sandbox::remove_in_background(&left).is_ok();
        if !emptied.goes_on {
            let deleted = left.into_iter().map(|place| {
                Removed {
                    trashed: Some(place),
                }
                .delete()
            });
            emptied
                .undeleted
                .extend(deleted.filter_map(|deleted| Some(deleted.err()?.to_string())));
        }
    }
    emptied
}

/// Removes a file that may not exist.
fn remove_file(path: PathBuf) -> Result<(), LandingError> {
    if_there(std::fs::remove_file(&path))
        .map(drop)
        .map_err(LandingError::at(path))
}

/// Names the first of some paths and counts the rest.
fn named(paths: &[PathBuf]) -> String {
    let mut names: Vec<String> = paths
        .iter()
        .take(NAMED_PATHS)
        .map(|path| shown_path(path))
        .collect();
    if paths.len() > NAMED_PATHS {
        names.push(format!("and {} more", paths.len() - NAMED_PATHS));
    }
    names.join(", ")
}
