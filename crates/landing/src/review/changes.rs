//! Reads the changes of a run's branches, for [`orchestrate_core::projections::review`].

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use orchestrate_core::projections::review::{BranchChanges, ChangedFile, ReviewEntry};
use orchestrate_core::record::MergedAttempt;
use orchestrate_core::run::WorkSpan;
use orchestrate_core::{Oid, RunId, RunState, TaskId, TaskRecord};
use orchestrate_files::if_there;
use orchestrate_git::GitError;

use crate::archive::{Archive, known};
use crate::error::LandingError;
use crate::review::compare::{base_of, changed_file, changes_between};

/// All changes of a run's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultDiff {
    /// The files.
    pub files: Vec<ChangedFile>,
    /// The changes as a unified diff.
    pub text: String,
}

impl Archive {
    /// Lists every branch of a run: state, checks, size, risk, overlaps, cost.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if one of its commits is gone.
    pub fn review(&self, run: &RunId) -> Result<Vec<ReviewEntry>, LandingError> {
        let standing = self.store.standing(run)?;
        let state = &standing.state;
        let mut changes: BTreeMap<TaskId, BranchChanges> = BTreeMap::new();
        for record in state.tasks() {
            let mut of_task = BranchChanges::default();
            for Part { from, to, .. } in self.parts(state, record)? {
                let files = self.repo.store().diff(&from, &to)?;
                of_task.add(changes_between(&self.repo, &from, &to, files)?);
            }
            of_task.own = self.own_changes(state, record)?;
            changes.insert(record.task.id.clone(), of_task);
        }
        Ok(ReviewEntry::listing(&standing, &changes))
    }

    /// Returns a task's changes as a unified diff; empty if there are none. For a task that was
    /// rejected after it was merged, the changes of each attempt follow a line that names the
    /// attempt.
    ///
    /// # Errors
    ///
    /// Fails if there is no such task, or if one of its commits is gone.
    pub fn task_diff(&self, run: &RunId, task: &TaskId) -> Result<String, LandingError> {
        let state = self.store.state(run)?;
        let record = known(&state, task)?;
        let mut text = String::new();
        for part in self.parts(&state, record)? {
            if record
                .merged()
                .iter()
                .any(|merged| merged.attempt < record.attempt())
            {
                text.push_str(&part.headline());
            }
            text.push_str(&self.repo.store().diff_text(&part.from, &part.to)?);
        }
        Ok(text)
    }

    /// Returns all changes that a run has merged: from its base to its result.
    ///
    /// # Errors
    ///
    /// Fails if one of these commits is gone.
    pub fn result_diff(&self, state: &RunState) -> Result<ResultDiff, LandingError> {
        let (from, to) = (&state.base, &state.integration);
        let files = self
            .repo
            .store()
            .diff(from, to)?
            .into_iter()
            .map(changed_file)
            .collect();
        Ok(ResultDiff {
            files,
            text: self.repo.store().diff_text(from, to)?,
        })
    }

    /// Requires that a task's diff may show a line of a file: that the file has this line before or
    /// after the task's work. Links that lead elsewhere are not checked.
    ///
    /// # Errors
    ///
    /// Fails with what is there instead, also if there is no such task, or if one of its commits is
    /// gone.
    pub fn require_place(
        &self,
        run: &RunId,
        task: &TaskId,
        file: &str,
        line: usize,
    ) -> Result<(), LandingError> {
        let state = self.store.state(run)?;
        let record = known(&state, task)?;
        let parts = self.parts(&state, record)?;
        let mut commits: Vec<Oid> = parts
            .into_iter()
            .flat_map(|part| [part.from, part.to])
            .collect();
        if commits.is_empty() {
            commits.push(record.base().cloned().unwrap_or_else(|| state.base.clone()));
        }
        let mut most = None;
        for commit in commits {
            most = most.max(self.lines_of(&commit, file)?);
        }
        if most.is_some_and(|lines| line <= lines) {
            return Ok(());
        }
        let (run, task, file) = (run.clone(), task.clone(), file.to_owned());
        Err(LandingError::NoPlace {
            run,
            task,
            file,
            line,
            lines: most,
        })
    }

    /// Returns the number of lines of a file at a commit, or `None` if there is no such file.
    fn lines_of(&self, commit: &Oid, file: &str) -> Result<Option<usize>, LandingError> {
        let path: PathBuf = Path::new(file)
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect();
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Ok(None);
        }
        match self.repo.store().read_file(commit, &path) {
            Ok(content) => {
                Ok(content.map(|content| content.split_inclusive(|byte| *byte == b'\n').count()))
            }
            Err(GitError::Io { .. } | GitError::LinkLeadsOut { .. }) => Ok(Some(usize::MAX)),
            Err(error) => Err(error.into()),
        }
    }

    /// Records which tree of a task's work was shown, so that an approval applies to what was
    /// reviewed.
    ///
    /// # Errors
    ///
    /// Fails if the state folder cannot be written.
    pub fn note_shown(&self, run: &RunId, task: &TaskId, tree: &Oid) -> Result<(), LandingError> {
        let path = self.layout.shown(run, task);
        let folder = path.parent().unwrap_or(&path);
        let written = orchestrate_files::create_folder(folder)
            .and_then(|()| orchestrate_files::write(&path, tree.as_str().as_bytes()));
        written.map_err(LandingError::at(path))
    }

    /// Returns the tree of a task's work that was shown last, or `None` if none was.
    ///
    /// # Errors
    ///
    /// Fails if the record exists but cannot be read.
    pub fn shown(&self, run: &RunId, task: &TaskId) -> Result<Option<Oid>, LandingError> {
        let path = self.layout.shown(run, task);
        let tree = if_there(std::fs::read_to_string(&path)).map_err(LandingError::at(path))?;
        Ok(tree.map(Oid::new))
    }

    /// Returns the parts of a task's own work, oldest first: the changes of each of its merges, and
    /// the commits on its branch that the branch it is merged into does not contain.
    ///
    /// Work that the branch took over from others (to resolve a conflict) is not its own. Merged
    /// changes stay in the result when they are rejected, so they are the task's own even if a
    /// later attempt has been merged on top.
    fn parts(&self, state: &RunState, record: &TaskRecord) -> Result<Vec<Part>, LandingError> {
        let mut parts = Vec::new();
        for MergedAttempt {
            attempt, commit, ..
        } in record.merged()
        {
            let before = self
                .repo
                .store()
                .commit_info(commit)?
                .parents
                .into_iter()
                .next();
            parts.extend(before.map(|from| Part {
                merged: Some(*attempt),
                from,
                to: commit.clone(),
            }));
        }
        let tip = record.commit().cloned().or_else(|| record.tip().cloned());
        let Some(to) = tip.filter(|_| !record.state().is_merged()) else {
            return Ok(parts);
        };
        if self.repo.contains(state.target_tip(record), &to)? {
            return Ok(parts);
        }
        let from = base_of(&self.repo, &WorkSpan::for_task(state, record), &to)?;
        if from != to {
            parts.push(Part {
                merged: None,
                from,
                to,
            });
        }
        Ok(parts)
    }
}

/// The changes between two commits, from one attempt.
struct Part {
    /// The merged attempt; `None` for the newest work, which is not merged.
    merged: Option<u32>,
    from: Oid,
    to: Oid,
}

impl Part {
    /// Returns the line above the diff of a merged attempt; git ignores it when it applies the
    /// diff.
    fn headline(&self) -> String {
        let merged = |attempt| format!("attempt {attempt}, merged as {}:\n", self.to);
        self.merged
            .map_or_else(|| "newest work, not merged:\n".to_owned(), merged)
    }
}
