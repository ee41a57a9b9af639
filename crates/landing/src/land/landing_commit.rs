//! The commit that a landing moves the user's branch to: the run's result, or a commit of its own
//! made from it.
//!
//! A commit of its own is made as the user's `git commit` would make it. Its exact tree passes the
//! run's check before the branch moves, unless it is the result's tree, which has passed.

use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Oid, RunState, TaskId, TaskRecord};
use orchestrate_git::{CommitInfo, CommitSpec, Identities, Merge, Move, Origin};
use orchestrate_journal::unix_seconds;

use crate::archive::Archive;
use crate::error::{LandingError, ResultRefusal};
use crate::land::options::{LandOptions, LandStyle};
use crate::land::tree_check::RedTree;
use crate::land::wording::Wording;

/// How a landing has changed a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// Not at all: it had landed already, there was nothing to land, or a landing was undone.
    Nothing,
    /// By fast-forward to the run's own commits.
    FastForward,
    /// By a merge with the branch's new commits.
    Merge,
    /// By one commit.
    Squash,
    /// By one commit for each task that was merged into the result.
    Rebase,
}

/// The message of a commit, and its trailers.
type Worded = (String, Vec<(String, String)>);

/// What decides about the commits of a landing.
pub(crate) struct Course<'a> {
    pub(crate) runs: &'a Archive,
    pub(crate) state: &'a RunState,
    pub(crate) branch: &'a str,
    pub(crate) options: &'a LandOptions,
}

impl Brought {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::FastForward => "fast_forward",
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    /// Returns the hooks that git would run for it, in their order. A rebased commit counts as one
    /// of `git commit`.
    pub(crate) fn hooks(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &[],
            Self::FastForward => &["post-merge"],
            Self::Merge => &[
                "pre-merge-commit",
                "prepare-commit-msg",
                "commit-msg",
                "post-merge",
            ],
            Self::Squash | Self::Rebase => &[
                "pre-commit",
                "prepare-commit-msg",
                "commit-msg",
                "post-merge",
            ],
        }
    }

    /// Reports whether the landing has made every new commit itself.
    pub fn is_all_new(self) -> bool {
        matches!(self, Self::Squash | Self::Rebase)
    }
}

impl Course<'_> {
    /// Returns the move of the branch, and what it amounts to. Creates the commit that it needs.
    pub(crate) fn choose(&self) -> Result<(Move, Brought), LandingError> {
        let (repo, result) = (&self.runs.repo, &self.state.integration);
        let from = repo.branch_tip(self.branch)?;
        if !repo.contains(&from, &self.state.base)? {
            let (branch, base) = (self.branch.to_owned(), self.state.base.to_string());
            return Err(ResultRefusal::BaseLost {
                branch,
                result: result.to_string(),
                base,
            }
            .into());
        }
        let to = |to: &Oid| Move {
            branch: self.branch.to_owned(),
            from: from.clone(),
            to: to.clone(),
        };
        if self.state.is_landed() || repo.contains(&from, result)? {
            return Ok((to(&from), Brought::Nothing));
        }
        if let Some(begun) = self.state.landing_begun() {
            return Ok((to(&begun.to), self.kind_of(&from, &begun.to)?));
        }
        if self.options.style == LandStyle::Merge && repo.contains(result, &from)? {
            return Ok((to(result), Brought::FastForward));
        }
        let (made, brought) = self.make(&from)?;
        Ok((to(&made), brought))
    }

    /// Returns what a landing that has begun amounts to, from the shape of its commits.
    fn kind_of(&self, from: &Oid, to: &Oid) -> Result<Brought, LandingError> {
        if *to == self.state.integration {
            return Ok(Brought::FastForward);
        }
        let parents = self.runs.repo.store().commit_info(to)?.parents;
        Ok(match parents.as_slice() {
            [only] if only == from => Brought::Squash,
            [_] => Brought::Rebase,
            _ => Brought::Merge,
        })
    }

    /// Creates the commit to land on top of the branch's tip, and checks its tree.
    fn make(&self, from: &Oid) -> Result<(Oid, Brought), LandingError> {
        let (repo, run) = (&self.runs.repo, &self.state.run_id);
        let (commit, brought) = match self.options.style {
            LandStyle::Merge => (self.merge(from)?, Brought::Merge),
            LandStyle::Squash => (self.squash(from)?, Brought::Squash),
            LandStyle::Rebase => (self.rebase(from)?, Brought::Rebase),
        };
        if commit == *from {
            return Ok((commit, Brought::Nothing));
        }
        // No task has this name: it is reserved for the merged branch.
        let prefix = format!("{}{}", run.keep_prefix(), TaskId::INTEGRATION);
        repo.keep(&format!("{prefix}/landing-{commit}"), &commit)?;
        if repo.tree_of(&commit)? != repo.tree_of(&self.state.integration)? {
            self.require_green(&commit)?;
        }
        Ok((commit, brought))
    }

    /// Returns the tip itself if the branch has this work already, in other commits: a merge would
    /// change nothing.
    fn merge(&self, from: &Oid) -> Result<Oid, LandingError> {
        let wording = Wording {
            state: self.state,
            since: None,
        };
        let tree = self.merged_tree(from)?;
        let parents = vec![from.clone(), self.state.integration.clone()];
        if tree == self.runs.repo.tree_of(from)? {
            return Ok(from.clone());
        }
        let trailers = vec![("Orchestrate-Run".to_owned(), self.state.run_id.to_string())];
        self.commit(
            tree,
            parents,
            wording.of_merge(self.options.message.as_ref()),
            trailers,
        )
    }

    /// As for a merge; `git commit` makes no empty commit either.
    fn squash(&self, from: &Oid) -> Result<Oid, LandingError> {
        let (tree, since) = (self.merged_tree(from)?, self.landed_before(from)?);
        if tree == self.runs.repo.tree_of(from)? {
            return Ok(from.clone());
        }
        let earlier = since.map(|since| self.tasks_in(&since)).transpose()?;
        let wording = Wording {
            state: self.state,
            since: earlier,
        };
        self.commit(
            tree,
            vec![from.clone()],
            wording.of_squash(self.options.message.as_ref()),
            wording.trailers(),
        )
    }

    /// Repeats each merge of the run as one commit of the merged task, on top of the branch's tip.
    fn rebase(&self, from: &Oid) -> Result<Oid, LandingError> {
        let (repo, result) = (&self.runs.repo, &self.state.integration);
        let base = self
            .landed_before(from)?
            .unwrap_or_else(|| self.state.base.clone());
        let mut tip = from.clone();
        for merge in repo.store().first_parents(&base, result)? {
            let Some(before) = merge.parents.first() else {
                continue;
            };
            if repo.contains(from, &merge.id)? {
                continue;
            }
            let tree = self.clean(repo.merging().apply(before, &tip, &merge.id)?)?;
            // The branch may have this work already.
            if tree != repo.tree_of(&tip)? {
                tip = self.repeat(&merge, tree, tip)?;
            }
        }
        Ok(tip)
    }

    fn repeat(&self, merge: &CommitInfo, tree: Oid, parent: Oid) -> Result<Oid, LandingError> {
        let repo = &self.runs.repo;
        let work = merge
            .parents
            .get(1)
            .map(|work| repo.store().commit_info(work))
            .transpose()?;
        let CommitInfo {
            author,
            message,
            time_unix,
            ..
        } = work.as_ref().unwrap_or(merge).clone();
        let (message, trailers) = self.of_task(merge)?.unwrap_or((message, Vec::new()));
        let by = Identities {
            author,
            ..self.runs.identities()?
        };
        let spec = CommitSpec {
            tree,
            parents: vec![parent],
            message,
            trailers,
            by,
            time_unix,
        };
        Ok(repo.landing().commit(
            &spec,
            Origin::Repeated(time_unix),
            self.options.hooks.then_some("message"),
        )?)
    }

    /// Returns the message and the trailers for all work of a task that a merge brought, if the
    /// newest commit of that work does not say it: it may be that of an agent that the task has
    /// spawned.
    fn of_task(&self, merge: &CommitInfo) -> Result<Option<Worded>, LandingError> {
        let is_merged = |record: &&TaskRecord| {
            record
                .merged()
                .iter()
                .any(|merged| merged.commit == merge.id)
        };
        let Some(record) = self.state.tasks().find(is_merged) else {
            return Ok(None);
        };
        let has_children = self
            .state
            .tasks()
            .any(|other| other.parent.as_ref() == Some(&record.task.id));
        if !has_children && merge.parents.len() > 1 {
            return Ok(None);
        }
        let mut trailers = record.trailers(&self.state.run_id);
        for child in self.state.tasks().filter(|other| other.parent.is_some()) {
            if self.is_brought(child, merge)? {
                let more = child.trailers(&self.state.run_id);
                let more: Vec<_> = more
                    .into_iter()
                    .filter(|trailer| !trailers.contains(trailer))
                    .collect();
                trailers.extend(more);
            }
        }
        Ok(Some((
            format!("{}\n\n{}", record.task.subject(), record.summary().trim()),
            trailers,
        )))
    }

    /// Reports whether a merge brought work that was merged into another agent's before.
    fn is_brought(&self, child: &TaskRecord, merge: &CommitInfo) -> Result<bool, LandingError> {
        let repo = &self.runs.repo;
        for merged in child
            .merged()
            .iter()
            .filter(|merged| !merged.into.is_integration())
        {
            let was_there = merge
                .parents
                .first()
                .map(|before| repo.contains(before, &merged.commit))
                .transpose()?;
            if was_there != Some(true) && repo.contains(&merge.id, &merged.commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn commit(
        &self,
        tree: Oid,
        parents: Vec<Oid>,
        message: String,
        trailers: Vec<(String, String)>,
    ) -> Result<Oid, LandingError> {
        let (by, time_unix) = (self.runs.identities()?, unix_seconds());
        let spec = CommitSpec {
            tree,
            parents,
            message,
            trailers,
            by,
            time_unix,
        };
        let kind = if self.options.style == LandStyle::Squash {
            "squash"
        } else {
            "merge"
        };
        Ok(self.runs.repo.landing().commit(
            &spec,
            Origin::New,
            self.options.hooks.then_some(kind),
        )?)
    }

    /// Returns the tree of the branch's tip merged with what has not landed of the result.
    fn merged_tree(&self, from: &Oid) -> Result<Oid, LandingError> {
        let (merging, result) = (self.runs.repo.merging(), &self.state.integration);
        let merged = match self.landed_before(from)? {
            Some(before) => merging.apply(&before, from, result)?,
            None => merging.merge(from, result)?,
        };
        self.clean(merged)
    }

    /// Returns the result of the landing that the branch's tip contains in other commits, so that
    /// git would not find it in the history.
    fn landed_before(&self, from: &Oid) -> Result<Option<Oid>, LandingError> {
        let Some(landed) = self.state.landed() else {
            return Ok(None);
        };
        if !self.runs.repo.contains(from, &landed.to)? {
            return Ok(None);
        }
        let is_found = self.runs.repo.contains(from, &landed.result)?;
        Ok((!is_found).then(|| landed.result.clone()))
    }

    /// Returns the tasks whose newest merged work is in an earlier result.
    fn tasks_in(&self, result: &Oid) -> Result<Vec<TaskId>, LandingError> {
        let mut tasks = Vec::new();
        for record in self.state.tasks() {
            if let Some(newest) = record.merged().last()
                && self.runs.repo.contains(result, &newest.commit)?
            {
                tasks.push(record.task.id.clone());
            }
        }
        Ok(tasks)
    }

    fn clean(&self, merged: Merge) -> Result<Oid, LandingError> {
        match merged {
            Merge::Clean { tree } => Ok(tree),
            Merge::Conflict { files, .. } => {
                let files = files.iter().map(|file| shown(&file.to_string())).collect();
                let (branch, result) = (self.branch.to_owned(), self.state.integration.to_string());
                Err(ResultRefusal::Conflict {
                    branch,
                    result,
                    files,
                }
                .into())
            }
        }
    }

    fn require_green(&self, commit: &Oid) -> Result<(), LandingError> {
        let (runs, state, branch) = (self.runs, self.state, self.branch);
        if let Some(command) = &state.settings.verify {
            (runs.progress)(&format!(
                "{branch} has new commits: checking their merge with the result: `{command}`"
            ));
        }
        let Some(RedTree {
            command,
            exit,
            output,
        }) = runs.check(state, commit, &self.options.cancel)?
        else {
            return Ok(());
        };
        let (branch, result) = (branch.to_owned(), state.integration.to_string());
        Err(ResultRefusal::RedCheck {
            branch,
            result,
            command,
            exit,
            output,
        }
        .into())
    }
}
