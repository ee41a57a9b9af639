//! Cleaning and recovering: removes only what is provably stored elsewhere, and restores snapshots.
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
use orchestrate_core::{CommitRules, Oid, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::own_refs::OwnRefs;
use orchestrate_git::{GitError, RefEntry, Removed, Repo};
use orchestrate_journal::{Journal, JournalError};

use crate::afterwards::archive::Archive;
use crate::error::{CoordinatorError, ResultRefusal};
use crate::worktree::release::hold_files;

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

/// The worktree of a task of a run.
struct TaskWorktree<'a> {
    run: &'a RunId,
    record: &'a TaskRecord,
    path: &'a Path,
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

/// Why a worktree cannot be removed.
struct Obstacle {
    reason: String,
    ignored: Vec<PathBuf>,
    is_unfinished: bool,
}

/// A commit held by one of our refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCommit {
    /// Its name below the run's refs, for example `T1/2-0123456789ab`.
    pub name: String,
    /// The commit.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
    /// Its time in seconds since 1970.
    pub time_unix: i64,
}

impl Archive {
    /// Removes a run's worktrees whose files are stored elsewhere, or only lists them.
    ///
    /// # Errors
    ///
    /// Fails if another process works on the run, or on an I/O error.
    pub async fn clean(
        &self,
        run: &RunId,
        options: CleanOptions,
    ) -> Result<Cleaned, CoordinatorError> {
        let run = run.clone();
        self.beside("cleaning", move |runs| runs.clean_now(&run, options))
            .await
    }

    pub(super) fn clean_now(
        &self,
        run: &RunId,
        options: CleanOptions,
    ) -> Result<Cleaned, CoordinatorError> {
        if options.dry_run {
            if let Some(holder) = self.store.lease(run)? {
                return Err(JournalError::Held {
                    run: run.clone(),
                    holder,
                }
                .into());
            }
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
    fn drop_own_refs(&self, run: &RunId) -> Result<(), CoordinatorError> {
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

    fn survey(
        &self,
        run: &RunId,
        options: CleanOptions,
        cleaned: &mut Cleaned,
    ) -> Result<(), CoordinatorError> {
        let (state, remove) = (self.store.state(run)?, !options.dry_run);
        let repo = self
            .repo
            .clone()
            .committing_by(CommitRules::new(&state.settings.commit));
        for record in state.tasks() {
            let (task, path) = (
                record.task.id.clone(),
                self.layout.worktree(run, &record.task.id),
            );
            if !path.exists() {
                // A folder deleted by hand leaves git's entry, which a working task needs to
                // restore its files.
                if !record.needs_worktree() && self.repo.worktrees().forget(&path, remove)? {
                    cleaned.removed.push((Some(task), path));
                }
                continue;
            }
            match self.obstacle(
                &repo,
                &TaskWorktree {
                    run,
                    record,
                    path: &path,
                },
                options,
            )? {
                None => cleaned.removed.push((Some(task), path)),
                Some(Obstacle {
                    reason,
                    ignored,
                    is_unfinished,
                }) => {
                    cleaned.kept.push(KeptWorktree {
                        task,
                        path,
                        reason,
                        ignored,
                        is_unfinished,
                    });
                }
            }
        }
        for record in state.tasks().filter(|record| record.has_failed()) {
            self.clean_branch(&state, record, remove, cleaned)?;
        }
        let own = [
            self.layout.verifier(run),
            self.layout.setup(run),
            self.layout.packages(run),
        ];
        for path in own.into_iter().chain(self.layout.earlier_own(run)) {
            if path.exists() && state.tasks().all(|record| !record.needs_worktree()) {
                if remove {
                    drop(self.repo.worktrees().discard(&path, &self.layout.trash())?);
                }
                cleaned.removed.push((None, path));
            } else if !path.exists() {
                self.repo.worktrees().forget(&path, remove)?;
            }
        }
        if remove && state.tasks().all(|record| !record.needs_worktree()) {
            drop(
                self.repo
                    .worktrees()
                    .discard(&self.layout.caches(run), &self.layout.trash())?,
            );
        }
        if remove && cleaned.kept.is_empty() {
            // New worktrees of the run can only be made for a landing, which builds anew.
            for path in [
                self.layout.source_times(run),
                self.layout.adopted_outputs(run),
            ] {
                match std::fs::remove_file(&path) {
                    Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                        return Err(CoordinatorError::Io { path, source });
                    }
                    _ => {}
                }
            }
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
    ) -> Result<(), CoordinatorError> {
        let (run, task) = (&state.run_id, record.task.id.clone());
        let place = self.layout.worktree(run, &task);
        let stays = place.exists() && !cleaned.removed.iter().any(|(_, removed)| *removed == place);
        let Some(branch) = record.branch().filter(|_| !stays).map(str::to_owned) else {
            return Ok(());
        };
        let name = format!("refs/heads/{branch}");
        let Some(target) = self.repo.read_ref(&name)? else {
            return Ok(());
        };
        if self.stays_checked_out(&name, cleaned)? {
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

    /// Reports whether a branch is checked out, except in a worktree that a dry run would remove.
    pub(super) fn stays_checked_out(
        &self,
        name: &str,
        cleaned: &Cleaned,
    ) -> Result<bool, GitError> {
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return Ok(false);
        };
        let Some(place) = self.repo.landing().checkout_of(branch)? else {
            return Ok(false);
        };
        let place = real_path(&place);
        Ok(cleaned
            .removed
            .iter()
            .all(|(_, removed)| real_path(removed) != place))
    }

    /// Removes a task's worktree if requested and possible; otherwise returns why it is kept.
    fn obstacle(
        &self,
        repo: &Repo,
        of: &TaskWorktree<'_>,
        options: CleanOptions,
    ) -> Result<Option<Obstacle>, CoordinatorError> {
        let because = |reason: String, ignored| {
            Ok(Some(Obstacle {
                reason,
                ignored,
                is_unfinished: false,
            }))
        };
        let TaskWorktree { run, record, path } = *of;
        if record.needs_worktree() {
            let reason = "the task is unfinished and continues with these files".to_owned();
            return Ok(Some(Obstacle {
                reason,
                ignored: Vec::new(),
                is_unfinished: true,
            }));
        }
        // Files are not provably stored if their worktree cannot be trusted or opened.
        let worktrees = repo.worktrees();
        let looked_at = worktrees.open(path).and_then(|worktree| {
            let kept = worktrees.require_kept(&worktree)?;
            let ignored = match options.ignored {
                true => Vec::new(),
                false => worktrees.uncommitted_beside(&worktree, &kept)?,
            };
            Ok((worktree, kept, ignored))
        });
        match looked_at {
            Err(error) => because(format!("failed to {error}"), Vec::new()),
            Ok((.., ignored)) if !ignored.is_empty() => because(
                format!(
                    "no commit has {}, which may be the only copy",
                    named(&ignored)
                ),
                ignored,
            ),
            Ok(_) if options.dry_run => Ok(None),
            Ok((worktree, kept, _)) => {
                hold_files(repo, run, record, kept.tree())?;
                // The trash is emptied at the end.
                drop(worktrees.remove_kept(&worktree, kept, &self.layout.trash())?);
                Ok(None)
            }
        }
    }

    /// Lists the commits of a run that our refs hold, ordered by name, and reports those that
    /// cannot be read.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if the refs cannot be read.
    pub fn kept(&self, run: &RunId) -> Result<Vec<KeptCommit>, CoordinatorError> {
        // What is kept does not depend on what can be read of the run.
        self.store.find_run(run.as_str())?;
        let (prefix, attempts) = (run.keep_prefix(), run.attempts_prefix());
        let held = self.repo.kept(run)?.into_iter().filter_map(|entry| {
            let name = match entry.name.strip_prefix(&attempts) {
                Some(attempt) => format!("attempts/{attempt}"),
                None => entry.name.strip_prefix(&prefix)?.to_owned(),
            };
            // A damaged commit must not prevent the others from being restored.
            let found = self
                .repo
                .store()
                .find_commit(&entry.target)
                .unwrap_or_else(|error| {
                    (self.progress)(&format!(
                        "{} cannot be restored: failed to {error}",
                        entry.name
                    ));
                    None
                });
            // Trees of conflicts are held too, but they are not anyone's work.
            let info = found?;
            let (subject, time_unix) = (info.subject().to_owned(), info.time_unix);
            Some(KeptCommit {
                name,
                commit: entry.target,
                subject,
                time_unix,
            })
        });
        Ok(held.collect())
    }

    /// Creates a branch at a kept commit and returns the branch's name; no branch is ever moved.
    ///
    /// # Errors
    ///
    /// Fails if nothing is kept under that name, or if the branch exists and points elsewhere.
    pub fn recover(
        &self,
        run: &RunId,
        name: &str,
        branch: Option<&str>,
    ) -> Result<String, CoordinatorError> {
        let none = || ResultRefusal::NoSnapshot {
            run: run.clone(),
            name: name.to_owned(),
        };
        let found = self
            .kept(run)?
            .into_iter()
            .find(|kept| kept.name == name || kept.commit.as_str() == name);
        let found = found.ok_or_else(none)?;
        let branch = branch.map_or_else(
            || format!("orchestrate/recovered/{run}/{}", found.name),
            |branch| branch.to_owned(),
        );
        let there = self.repo.read_ref(&format!("refs/heads/{branch}"))?;
        if there.is_some_and(|there| there != found.commit) {
            return Err(ResultRefusal::BranchTaken {
                name: found.name,
                branch,
            }
            .into());
        }
        self.repo.restore(&found.commit, &branch)?;
        Ok(branch)
    }
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
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
