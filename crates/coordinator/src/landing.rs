//! Landing: brings a run's result into the branch that it started from, and takes it back.
//!
//! It is the only step that moves a branch of the user's. By fast-forward where that is possible; if the branch has
//! new commits, by a merge whose exact tree passes the run's check first. The fact is recorded before the branch
//! moves, so a landing that was killed in between is finished by the next one; one that git refuses is recorded as
//! undone. Undoing moves the branch back only if nobody has moved it since; it is recorded last, so one that was killed
//! is repeated.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::report::Standing;
use orchestrate_core::{Oid, RunId, RunState, TaskId, TaskRecord, TaskState};
use orchestrate_git::{CommitSpec, GitError, Landed as Moved, Landing, Merge};
use orchestrate_journal::{Journal, Purpose};
use orchestrate_sandbox::Cancel;

use crate::checks::{Check, run_check_blocking};
use crate::committing::unix_seconds;
use crate::coordinator::sandbox;
use crate::error::CoordinatorError;
use crate::integration::{self, Position};
use crate::plan_file::{self, Boxes, Target};
use crate::prompts::{EVIDENCE_BYTES, cut};
use crate::refusal::Refusal;
use crate::runs::Runs;
use crate::verifier;

/// How a run is landed.
#[derive(Clone, Debug)]
pub struct LandOptions {
    /// The folder that a relative plan's path may be meant from, beside the repository's.
    pub directory: PathBuf,
    /// Whether the plan's boxes are written, unless the run itself was to leave them alone.
    pub write_back: bool,
    /// Raised, it stops a landing that has not begun to move anything; one that has goes to its end.
    pub cancel: Cancel,
}

/// What landing, or undoing it, did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// The run.
    pub run: RunId,
    /// The user's branch.
    pub branch: String,
    /// Its tip before.
    pub from: Oid,
    /// Its tip after; the same if there was nothing to bring.
    pub to: Oid,
    /// Whether the branch had new commits, so that a merge was made.
    pub merged: bool,
    /// The checkout whose files changed with it; none if the branch is checked out nowhere.
    pub checkout: Option<PathBuf>,
    /// What became of the plan's boxes.
    pub boxes: Boxes,
    /// Whether nothing of the run was merged, so that there was nothing to bring.
    pub is_empty: bool,
    /// What is part of the result although a person rejected it, or what it was built on; and what is not part of it.
    pub warnings: Vec<String>,
}

/// Where the branch is to go.
struct Course {
    from: Oid,
    to: Oid,
    merged: bool,
    /// Whether a killed landing has recorded it already.
    recorded: bool,
}

impl Runs {
    /// Tells whether whoever has brought a run to its end has to land it: it was asked for, the run has succeeded, and
    /// this result has not landed, or only been recorded by a process that was killed. What was undone stays so.
    ///
    /// # Errors
    ///
    /// Fails if the branch cannot be read.
    pub fn is_to_be_landed(&self, state: &RunState) -> Result<bool, CoordinatorError> {
        if !state.settings.land || state.status != RunStatus::Succeeded || state.unlanded {
            return Ok(false);
        }
        let Some(landing) = state.landed().filter(|_| state.is_landed()) else { return Ok(true) };
        let tip = self.repo.read_ref(&format!("refs/heads/{}", landing.branch))?;
        Ok(tip.as_ref() == Some(&landing.from))
    }

    /// Brings a run's result into the branch that it started from.
    ///
    /// # Errors
    ///
    /// Fails with the reason if a person has to decide something first ([`CoordinatorError::needs_person`]), and if
    /// another process works on the run. Nothing of the user's has changed then.
    pub fn land(&self, run: &RunId, options: &LandOptions) -> Result<Landed, CoordinatorError> {
        self.repo.require_at_rest()?;
        self.repo.put_back_half_written()?;
        let journal = Journal::resume_for(&self.store, run, Purpose::Land)?;
        let state = journal.state();
        if state.exit_code.is_none() {
            return Err(Refusal::Unfinished { run: run.clone() }.into());
        }
        // A landing that was killed may have left git's locks on the verifier's worktree.
        let ours = format!("orchestrate {run}");
        self.repo.reconcile(&|reason| reason.starts_with(&ours))?;
        let detached = || Refusal::DetachedHead { run: run.clone(), result: state.integration.to_string() };
        let strange = self.catch_up(&state)?;
        let branch = state.base_branch.clone().ok_or_else(detached)?;
        self.forget_lost_landing(&journal, &branch)?;
        let state = journal.state();
        let course = self.course(&state, &branch, &options.cancel)?;
        if options.cancel.is_cancelled() {
            return Err(Refusal::Interrupted { run: run.clone() }.into());
        }
        let checkout = self.go(&journal, &state, &branch, &course)?;
        let boxes = self.boxes(&state, options, &branch, Target::Ticked)?;
        let Course { from, to, merged, .. } = course;
        let is_empty = state.integration == state.base;
        let warnings = warnings(&state).into_iter().chain(strange).collect();
        Ok(Landed { run: run.clone(), branch, from, to, merged, checkout, boxes, is_empty, warnings })
    }

    /// Takes a landing back: the branch returns to where it was, local changes and later runs stay.
    ///
    /// # Errors
    ///
    /// As [`Runs::land`]; also if the branch has moved since.
    pub fn unland(&self, run: &RunId, options: &LandOptions) -> Result<Landed, CoordinatorError> {
        // Also where nothing is to be taken back: a landing that has failed is recorded as undone.
        self.repo.put_back_half_written()?;
        let journal = Journal::resume_for(&self.store, run, Purpose::Land)?;
        let state = journal.state();
        let Some(landing) = state.landed().cloned() else {
            return Err(Refusal::NotLanded { run: run.clone(), other: self.newest_landed()? }.into());
        };
        let (branch, from, to) = (landing.branch, landing.to, landing.from);
        let found = self.repo.branch_tip(&branch)?;
        if found != from && found != to {
            let (run, landed, found) = (run.clone(), from.to_string(), found.to_string());
            return Err(Refusal::MovedSince { run, branch, landed, found }.into());
        }
        // Both acts can be repeated, so the fact may follow them; once it is there, nobody could repeat them.
        self.repo.unland(&Moved { old: to.clone(), new: from.clone(), checkout: None }, &branch)?;
        let before = Target::Before(self.still_landed(&state)?);
        let boxes = self.boxes(&state, options, &branch, before)?;
        journal.append_blocking(Event::RunUnlanded { branch: branch.clone(), to: to.clone() })?;
        let (run, merged, checkout) = (run.clone(), false, None);
        Ok(Landed { run, branch, from, to, merged, checkout, boxes, is_empty: false, warnings: Vec::new() })
    }

    fn newest_landed(&self) -> Result<Option<RunId>, CoordinatorError> {
        for run in self.store.runs()? {
            if self.store.state(&run.run_id)?.landed().is_some() {
                return Ok(Some(run.run_id));
            }
        }
        Ok(None)
    }

    fn course(&self, state: &RunState, branch: &str, cancel: &Cancel) -> Result<Course, CoordinatorError> {
        let (repo, result) = (&self.repo, &state.integration);
        let from = repo.branch_tip(branch)?;
        if !repo.contains(&from, &state.base)? {
            let (branch, result, base) = (branch.to_owned(), result.clone(), state.base.clone());
            return Err(GitError::BaseLost { branch, result, base }.into());
        }
        let course = |to: Oid, merged, recorded| Course { from: from.clone(), to, merged, recorded };
        if repo.contains(&from, result)? {
            return Ok(course(from.clone(), false, false));
        }
        let begun = state.landed().filter(|landing| landing.branch == branch && landing.from == from);
        if let Some(begun) = begun
            && repo.contains(&begun.to, result)?
        {
            return Ok(course(begun.to.clone(), begun.to != *result, true));
        }
        if repo.contains(result, &from)? {
            return Ok(course(result.clone(), false, false));
        }
        let merged = self.merge_with(state, branch, &from, cancel)?;
        Ok(course(merged, true, false))
    }

    /// Merges the result with the branch's new commits and checks that exact tree.
    fn merge_with(&self, state: &RunState, branch: &str, tip: &Oid, cancel: &Cancel) -> Result<Oid, CoordinatorError> {
        let run = &state.run_id;
        // No task is called so: the name is reserved for the merged branch.
        let prefix = format!("{}{}", run.keep_prefix(), orchestrate_core::TaskId::INTEGRATION);
        let tree = match self.repo.merge(tip, &state.integration)? {
            Merge::Clean { tree } => tree,
            Merge::Conflict { files, .. } => {
                let files = files.iter().map(|file| format!("{} ({})", file.path.display(), file.kind)).collect();
                let (branch, result) = (branch.to_owned(), state.integration.to_string());
                return Err(Refusal::Conflict { branch, result, files }.into());
            }
        };
        let title = state.title.as_deref().map(|title| format!(": {title}")).unwrap_or_default();
        let commit = self.repo.commit(&CommitSpec {
            tree,
            parents: vec![tip.clone(), state.integration.clone()],
            message: format!("Merge run {run}{title}"),
            trailers: vec![("Orchestrate-Run".to_owned(), run.to_string())],
            by: self.repo.identities(&self.settings.environment).ok_or(CoordinatorError::NoIdentity)?,
            time_unix: unix_seconds(),
        })?;
        self.repo.keep(&format!("{prefix}/landing-{commit}"), &commit)?;
        self.require_green(state, branch, &commit, cancel)?;
        Ok(commit)
    }

    fn require_green(
        &self,
        state: &RunState,
        branch: &str,
        commit: &Oid,
        cancel: &Cancel,
    ) -> Result<(), CoordinatorError> {
        let Some(command) = &state.settings.verify else { return Ok(()) };
        // What a filter would make of the files is not what the check would see.
        self.repo.require_plain_tree(commit)?;
        (self.progress)(&format!("{branch} has new commits: checking their merge with the result by `{command}`"));
        let (sandbox, worktree) =
            (sandbox(&self.settings)?, verifier::bring(&self.repo, &self.layout, &state.run_id, commit)?);
        let (view, timeout_ms) = (worktree.view(), state.settings.command_timeout_ms);
        for command in verifier::commands(&state.settings, command) {
            let check = Check { command, worktree: worktree.path(), view: &view, timeout_ms };
            let result = run_check_blocking(&sandbox, &check, cancel)?;
            if result.cancelled {
                return Err(Refusal::Interrupted { run: state.run_id.clone() }.into());
            }
            if !result.passed {
                let output = cut(result.output.trim(), EVIDENCE_BYTES).into();
                let (branch, command) = (branch.to_owned(), command.to_owned());
                let (result, exit) = (state.integration.to_string(), result.exit);
                return Err(Refusal::RedCheck { branch, result, command, exit, output }.into());
            }
        }
        Ok(())
    }

    /// Records the landing, then moves the branch; a refusal of git's is recorded as undone.
    fn go(
        &self,
        journal: &Journal,
        state: &RunState,
        branch: &str,
        course: &Course,
    ) -> Result<Option<PathBuf>, CoordinatorError> {
        let Course { from, to, .. } = course;
        let landing = |expected: &Oid, new: &Oid| {
            let (base, expected, new) = (state.base.clone(), expected.clone(), new.clone());
            Landing { branch: branch.to_owned(), base, expected, new }
        };
        if from == to {
            // The branch is there; the files may not be, if taking it back was killed.
            let landed = state.landed().filter(|landed| landed.branch == branch && landed.to == *to);
            return Ok(match landed {
                Some(landed) => self.repo.land(&landing(&landed.from, to))?.checkout,
                None => None,
            });
        }
        if !course.recorded {
            let (from, to) = (from.clone(), to.clone());
            journal.append_blocking(Event::RunLanded { branch: branch.to_owned(), from, to })?;
        }
        match self.repo.land(&landing(from, to)) {
            Ok(landed) => Ok(landed.checkout),
            // Its files are there, so it has begun, and the next one finishes it.
            Err(ahead @ GitError::FilesAhead { .. }) => Err(ahead.into()),
            Err(refused) => {
                journal.append_blocking(Event::RunUnlanded { branch: branch.to_owned(), to: from.clone() })?;
                Err(refused.into())
            }
        }
    }

    /// Gives the tasks whose work stays in the branch when the newest landing is taken back: those of the one before it,
    /// if it is below what the newest began from.
    fn still_landed(&self, state: &RunState) -> Result<Vec<TaskId>, CoordinatorError> {
        let [.., before, newest] = state.landings.as_slice() else { return Ok(Vec::new()) };
        let stays = before.branch == newest.branch && self.repo.contains(&newest.from, &before.to)?;
        Ok(if stays { before.tasks.clone() } else { Vec::new() })
    }

    /// Forgets a landing that was recorded and never happened, or that the user has taken back, once the branch has gone
    /// on without it; files that it may have written go back first.
    fn forget_lost_landing(&self, journal: &Journal, branch: &str) -> Result<(), CoordinatorError> {
        let state = journal.state();
        let Some(landed) = state.landed().filter(|landed| landed.branch == branch) else { return Ok(()) };
        let tip = self.repo.branch_tip(branch)?;
        if tip != landed.from && !self.repo.contains(&tip, &landed.to)? {
            let lost = Moved { old: landed.from.clone(), new: landed.to.clone(), checkout: None };
            self.repo.take_back_files(&lost, branch)?;
            journal.append_blocking(Event::RunUnlanded { branch: branch.to_owned(), to: tip })?;
        }
        Ok(())
    }

    /// Brings the integration branch to the result, if it stayed behind since a person had it checked out; one that is
    /// gone, or that somebody has moved, stays so, since landing does not need it. Says what of it is not landed.
    fn catch_up(&self, state: &RunState) -> Result<Option<String>, CoordinatorError> {
        if self.repo.read_ref(&state.run_id.integration_ref())?.is_none() {
            return Ok(None);
        }
        let Position::Elsewhere { found, .. } = integration::follow(&self.repo, &state.run_id, &state.integration)?
        else {
            return Ok(None);
        };
        let branch = state.run_id.integration_branch();
        Ok(Some(format!(
            "somebody has moved {branch} to {found}: that is not part of this; `git merge {branch}` brings it"
        )))
    }

    fn boxes(
        &self,
        state: &RunState,
        options: &LandOptions,
        branch: &str,
        target: Target,
    ) -> Result<Boxes, CoordinatorError> {
        if !options.write_back || !state.settings.write_back {
            return Ok(Boxes::Nothing);
        }
        let folders = [options.directory.as_path(), self.repo.workdir()];
        // A box that is ticked in the files of another branch would say of it what it does not have.
        let is_elsewhere = target == Target::Ticked && self.repo.head()?.branch.as_deref() != Some(branch);
        let foreign = is_elsewhere.then(|| self.repo.workdir());
        plan_file::write(&self.store, state, (&folders, foreign), target)
    }
}

/// Says which work is part of the result although a person has rejected it, or what it was built on, and which is not
/// part of it.
fn warnings(state: &Arc<RunState>) -> Vec<String> {
    // Nobody works on the run while it is landed.
    let standing = Standing { state: Arc::clone(state), is_attended: false };
    let of_task = |record: &TaskRecord| {
        let task = &record.task.id;
        if record.rejected.is_some() {
            Some(format!(
                "{task} was rejected after it had been merged, and nothing has replaced it: it is part of this"
            ))
        } else if record.stale && record.merged.is_some() {
            Some(format!("{task} was built on work that was rejected after it had been merged"))
        } else if !matches!(record.state, TaskState::Merged | TaskState::Cancelled) {
            let state = standing.of_task(record).as_str().replace('_', " ");
            Some(format!("{task} is {state}: it is not part of this"))
        } else {
            None
        }
    };
    state.tasks().filter_map(of_task).collect()
}
