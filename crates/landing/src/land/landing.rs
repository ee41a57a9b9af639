//! Landing: merges a run's result into the branch that it started from, and undoes that.
//!
//! This is the only step that moves a user's branch: by fast-forward if possible, otherwise to a
//! commit of its own (`landing_commit.rs`). The beginning is recorded before the branch moves, the
//! completion after, so the next landing detects one that was killed in between, and completes it.
//! Undoing moves the branch back only if it has not moved since; it is recorded last, so a killed
//! one is repeated.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::event::{Event, FailedLanding, UndoneLanding};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::run::request::Purpose;
use orchestrate_core::run::{Landing, LandingOutcome};
use orchestrate_core::{LandingConcern, Oid, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::{GitError, Move};
use orchestrate_journal::Journal;

use crate::archive::{Archive, LANDED};
use crate::error::{LandingError, ResultRefusal};
use crate::land::integration_branch::Position;
use crate::land::landing_commit::{Brought, Course};
use crate::land::options::LandOptions;
use crate::land::plan_boxes::{Boxes, Target};
use crate::land::{integration_branch, plan_boxes};

/// The hook that runs once the checkout is updated.
const POST_MERGE: &str = "post-merge";
/// The hooks that check or change the message of a commit.
const MESSAGE_HOOKS: [&str; 2] = ["prepare-commit-msg", "commit-msg"];

/// How often a landing chooses its way, if the branch moves each time before it is moved: a branch
/// that moves so often is not left to land on.
const MOST_ATTEMPTS: usize = 5;

/// How the branch was moved.
struct CarriedOut {
    step: Move,
    brought: Brought,
    /// The checkout that was updated with it.
    checkout: Option<PathBuf>,
}

/// The result of landing, or of undoing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// The run.
    pub run: RunId,
    /// The user's branch.
    pub branch: String,
    /// Its previous tip.
    pub from: Oid,
    /// Its new tip; the same if there was nothing to land.
    pub to: Oid,
    /// How the branch has changed.
    pub brought: Brought,
    /// The checkout whose files changed, or `None` if the branch is checked out nowhere.
    pub checkout: Option<PathBuf>,
    /// The result of writing the plan's boxes.
    pub boxes: Boxes,
    /// Whether nothing of the run was merged, so that there was nothing to land.
    pub is_empty: bool,
    /// Whether every new commit is signed; `None` if the user signs no commits, or there is none.
    /// Agents' own commits never are.
    pub is_signed: Option<bool>,
    /// The hooks that are present, that git would have run, and that were not run.
    pub skipped_hooks: Vec<&'static str>,
    /// Rejected work that is part of the result, work built on it, and work that is not part of it.
    pub warnings: Vec<String>,
}

impl Landed {
    /// Returns the result of a move of the branch, without what only a landing has.
    fn after(run: &RunId, step: Move, brought: Brought, boxes: Boxes) -> Self {
        Self {
            run: run.clone(),
            branch: step.branch,
            from: step.from,
            to: step.to,
            brought,
            checkout: None,
            boxes,
            is_empty: false,
            is_signed: None,
            skipped_hooks: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Archive {
    /// Merges a run's result into the branch that it started from.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the user has to decide something first, or if another process works
    /// on the run. Nothing of the user's has changed then. If the journal fails, it may have: the
    /// next landing completes it.
    pub async fn land(&self, run: &RunId, options: &LandOptions) -> Result<Landed, LandingError> {
        let (run, options) = (run.clone(), options.clone());
        self.beside("landing", move |runs| {
            runs.observed(&run, || runs.land_now(&run, &options))
        })
        .await
    }

    fn land_now(&self, run: &RunId, options: &LandOptions) -> Result<Landed, LandingError> {
        self.repo.require_at_rest()?;
        self.repo.landing().put_back_half_written()?;
        let journal = Journal::resume_for(&self.store, run, Purpose::Land)?;
        let state = journal.state();
        if state.exit_code.is_none() {
            return Err(ResultRefusal::Unfinished { run: run.clone() }.into());
        }
        // A killed landing may have left git's locks on the verifier's worktree.
        let ours = format!("orchestrate {run}");
        self.repo
            .worktrees()
            .reconcile(&|reason| reason.starts_with(&ours))?;
        let strange = self.catch_up(&state)?;
        let branch = branch_of(&state)?;
        self.settle(&journal, &branch)?;
        let state = journal.state();
        if !state.is_landed() && state.landing_begun().is_none() {
            require_landable(&state)?;
            self.require_heard(run)?;
        }
        let CarriedOut {
            step,
            brought,
            checkout,
        } = self.move_branch(&journal, &branch, options)?;
        let taken_back = self.taken_back(&state, &step)?;
        // Then the boxes may have been taken back, too.
        let boxes = if taken_back.is_some() {
            Boxes::Nothing
        } else {
            self.boxes(&state, options, &branch, Target::Ticked)?
        };
        let has_moved = step.from != step.to;
        if has_moved {
            let Move { branch, from, to } = step.clone();
            journal.append_blocking(Event::RunLanded { branch, from, to })?;
        }
        let mut landed = Landed {
            checkout,
            is_empty: state.integration == state.base,
            is_signed: (has_moved && self.repo.landing().signs()).then_some(brought.is_all_new()),
            warnings: warnings(&state),
            ..Landed::after(run, step, brought, boxes)
        };
        let more = [strange, taken_back, self.unused_signing()];
        landed.warnings.extend(more.into_iter().flatten());
        // The result has landed, whatever becomes of a hook.
        if let Err(error) = self.finish_hooks(&mut landed, options.hooks) {
            landed.warnings.push(format!(
                "the result has landed, but orchestrate failed to {error}"
            ));
        }
        Ok(landed)
    }

    /// Moves the branch to the result; chooses anew how, if another landing or the user moves it
    /// meanwhile.
    fn move_branch(
        &self,
        journal: &Journal,
        branch: &str,
        options: &LandOptions,
    ) -> Result<CarriedOut, LandingError> {
        let mut attempts = 1;
        loop {
            let state = journal.state();
            let course = Course {
                runs: self,
                state: &state,
                branch,
                options,
            };
            let (step, brought) = course.choose()?;
            if options.cancel.is_cancelled() {
                let run = state.run_id.clone();
                return Err(ResultRefusal::Interrupted { run }.into());
            }
            match self.carry_out(journal, &state, &step) {
                Err(LandingError::Git(GitError::RefMoved { .. })) if attempts < MOST_ATTEMPTS => {
                    attempts += 1;
                }
                carried_out => {
                    return Ok(CarriedOut {
                        step,
                        brought,
                        checkout: carried_out?,
                    });
                }
            }
        }
    }

    /// Refuses the result of a run while requests are recorded that no process has carried out:
    /// they may change it.
    pub(crate) fn require_heard(&self, run: &RunId) -> Result<(), LandingError> {
        match self.store.recorded_requests(run)?.is_empty() {
            true => Ok(()),
            false => Err(ResultRefusal::Requested { run: run.clone() }.into()),
        }
    }

    /// Undoes a landing: the branch returns to its previous tip; local changes and later runs are
    /// kept.
    ///
    /// # Errors
    ///
    /// See [`Archive::land`]; also fails if the branch has moved since.
    pub async fn unland(&self, run: &RunId, options: &LandOptions) -> Result<Landed, LandingError> {
        let (run, options) = (run.clone(), options.clone());
        self.beside("undoing a landing", move |runs| {
            runs.observed(&run, || runs.unland_now(&run, &options))
        })
        .await
    }

    fn unland_now(&self, run: &RunId, options: &LandOptions) -> Result<Landed, LandingError> {
        // Also if there is nothing to undo: a failed landing counts as none.
        self.repo.landing().put_back_half_written()?;
        let journal = Journal::resume_for(&self.store, run, Purpose::Land)?;
        let state = journal.state();
        let Some(landing) = state.landings.last().cloned() else {
            return Err(ResultRefusal::NotLanded {
                run: run.clone(),
                other: self.newest_landed()?,
            }
            .into());
        };
        let step = step_of(&landing);
        self.keep_landing(run, &landing)?;
        let found = self.repo.branch_tip(&step.branch)?;
        if found != step.from && found != step.to {
            return Err(ResultRefusal::MovedSince {
                run: run.clone(),
                branch: step.branch,
                landed: step.to.to_string(),
                found: found.to_string(),
            }
            .into());
        }
        // Both acts can be repeated, so the event may follow them; once it is recorded, they would
        // not be repeated.
        self.repo.landing().unland(&step)?;
        let before = Target::Before(self.still_landed(&state)?);
        let boxes = self.boxes(&state, options, &step.branch, before)?;
        let back = Move {
            branch: step.branch,
            from: step.to,
            to: step.from,
        };
        journal.append_blocking(Event::RunUnlanded(UndoneLanding {
            branch: back.branch.clone(),
            to: back.to.clone(),
        }))?;
        Ok(Landed::after(run, back, Brought::Nothing, boxes))
    }

    /// Holds a landing that is about to be undone: the run's own branches may have been pruned
    /// since.
    fn keep_landing(&self, run: &RunId, landing: &Landing) -> Result<(), LandingError> {
        for commit in [&landing.to, &landing.result] {
            self.keep_beside_result(run, LANDED, commit)?;
        }
        Ok(())
    }

    /// Runs the hook for an updated checkout if it is wanted, and lists those that were not run.
    ///
    /// The hooks before a commit are never run: they would find the merged files neither in the
    /// checkout nor in its index.
    fn finish_hooks(&self, landed: &mut Landed, is_wanted: bool) -> Result<(), LandingError> {
        let landing = self.repo.landing();
        let mut skipped = landing.hooks_present(landed.brought.hooks());
        if is_wanted {
            let is_safe = !landing.changes_hooks(&landed.from, &landed.to)?;
            let has_run = |name: &str| match name {
                POST_MERGE => is_safe && landed.checkout.is_some(),
                name => MESSAGE_HOOKS.contains(&name),
            };
            if let Some(checkout) = &landed.checkout
                && skipped.contains(&POST_MERGE)
                && is_safe
            {
                landed
                    .warnings
                    .extend(landing.run_post_merge(checkout, landed.brought == Brought::Squash)?);
            }
            skipped.retain(|name| !has_run(name));
        }
        landed.skipped_hooks = skipped;
        Ok(())
    }

    /// Returns a warning if only the repository's own configuration says how to sign commits.
    fn unused_signing(&self) -> Option<String> {
        let keys = self.repo.landing().ignored_settings();
        (!keys.is_empty()).then(|| {
            let keys = keys.join(", ");
            format!(
                "{keys} in the repository's own git configuration is not used for signing; set it \
                 in your own"
            )
        })
    }

    fn newest_landed(&self) -> Result<Option<RunId>, LandingError> {
        for run in self.store.runs()? {
            // One that cannot be read has no landing to undo.
            if self
                .store
                .state(&run.run_id)
                .is_ok_and(|state| state.landed().is_some())
            {
                return Ok(Some(run.run_id));
            }
        }
        Ok(None)
    }

    /// Records the move, then moves the branch; or records why git refuses. Where the branch has
    /// the result already, it records that it has landed.
    fn carry_out(
        &self,
        journal: &Journal,
        state: &RunState,
        step: &Move,
    ) -> Result<Option<PathBuf>, LandingError> {
        let Move { branch, from, to } = step.clone();
        if from == to {
            // The branch has moved; its files may not have, if undoing was killed.
            let landed = state.landed().filter(|landed| landed.to == to);
            let checkout = landed
                .map(|landed| self.repo.landing().land(&step_of(landed)))
                .transpose()?
                .flatten();
            if !state.is_landed() && state.integration != state.base {
                // The user has merged it by hand, or a server has, maybe in other commits.
                journal.append_blocking(Event::LandingStarted {
                    branch: branch.clone(),
                    from: from.clone(),
                    to: to.clone(),
                })?;
                journal.append_blocking(Event::RunLanded { branch, from, to })?;
            }
            return Ok(checkout);
        }
        if state.landing_begun().is_none() {
            let branch = branch.clone();
            journal.append_blocking(Event::LandingStarted { branch, from, to })?;
        }
        match self.repo.landing().land(step) {
            Ok(checkout) => Ok(checkout),
            // The files are in place, and the next landing completes the move.
            Err(ahead @ GitError::FilesAhead { .. }) => Err(ahead.into()),
            Err(refused) => {
                journal.append_blocking(Event::LandingFailed(FailedLanding {
                    branch,
                    message: refused.to_string(),
                }))?;
                Err(refused.into())
            }
        }
    }

    /// Returns a warning if the result has landed before, and the user has taken its files back by
    /// hand.
    fn taken_back(&self, state: &RunState, step: &Move) -> Result<Option<String>, LandingError> {
        let Move { from, to, .. } = step;
        let Some(landed) = state
            .landed()
            .filter(|landed| from == to && landed.to == *to)
        else {
            return Ok(None);
        };
        let place = self.repo.landing().taken_back_in(&step_of(landed))?;
        Ok(place.map(|place| {
            let (place, branch) = (place.display(), &landed.branch);
            format!(
                "{branch} contains the result, and the changes staged in {place} take it back; \
                 they were left as they are: `git restore --staged --worktree FILE` brings a file \
                 of the result again"
            )
        }))
    }

    /// Returns the tasks whose work stays in the branch when the newest landing is undone: those of
    /// the previous landing, if the newest one started above it.
    fn still_landed(&self, state: &RunState) -> Result<Vec<TaskId>, LandingError> {
        let [.., before, newest] = state.landings.as_slice() else {
            return Ok(Vec::new());
        };
        let stays =
            before.branch == newest.branch && self.repo.contains(&newest.from, &before.to)?;
        Ok(if stays {
            before.tasks.clone()
        } else {
            Vec::new()
        })
    }

    /// Records the outcome of the newest landings, until one is found that the branch contains.
    fn settle(&self, journal: &Journal, branch: &str) -> Result<(), LandingError> {
        while self.settle_newest(journal, branch)? {}
        Ok(())
    }

    /// Records the outcome of the newest landing: a killed one may be complete, or the branch may
    /// have moved on without it, in which case its files are restored; and the user may have undone
    /// it by hand. Returns whether the branch lacks it, so that an earlier landing is now the
    /// newest.
    fn settle_newest(&self, journal: &Journal, branch: &str) -> Result<bool, LandingError> {
        let state = journal.state();
        let Some(landing) = state.landings.last() else {
            return Ok(false);
        };
        let Landing { from, to, .. } = landing;
        let tip = self.repo.branch_tip(branch)?;
        let branch = branch.to_owned();
        let is_contained = self.repo.contains(&tip, to)?;
        let fact = match landing.outcome(&tip, is_contained, &state.integration) {
            LandingOutcome::AsRecorded => return Ok(false),
            LandingOutcome::Undone => Event::RunUnlanded(UndoneLanding { branch, to: tip }),
            LandingOutcome::Completed => Event::RunLanded {
                branch,
                from: from.clone(),
                to: to.clone(),
            },
            LandingOutcome::Overtaken => {
                self.repo.landing().take_back_files(&step_of(landing))?;
                let message = format!("it was interrupted, and {branch} is at {tip} without it");
                Event::LandingFailed(FailedLanding { branch, message })
            }
        };
        journal.append_blocking(fact)?;
        Ok(!is_contained)
    }

    /// Moves the integration branch to the result, if it stayed behind because it was checked out;
    /// one that is gone, or was moved from outside, stays as it is, since landing does not need it.
    /// Returns a warning about commits that are not landed.
    pub(crate) fn catch_up(&self, state: &RunState) -> Result<Option<String>, LandingError> {
        if self
            .repo
            .read_ref(&state.run_id.integration_ref())?
            .is_none()
        {
            return Ok(None);
        }
        let Position::Elsewhere { found, .. } = integration_branch::follow(&self.repo, state)?
        else {
            return Ok(None);
        };
        let branch = state.run_id.integration_branch();
        Ok(Some(format!(
            "another process moved {branch} to {found}; its additions are not included"
        )))
    }

    fn boxes(
        &self,
        state: &RunState,
        options: &LandOptions,
        branch: &str,
        target: Target,
    ) -> Result<Boxes, LandingError> {
        if !options.write_back || !state.settings.write_back {
            return Ok(Boxes::Nothing);
        }
        let folders = [options.directory.as_path(), self.repo.workdir()];
        // Boxes must not be ticked in the files of another branch, which lacks the work.
        let is_elsewhere =
            target == Target::Ticked && self.repo.head()?.branch.as_deref() != Some(branch);
        let foreign = is_elsewhere.then(|| self.repo.workdir());
        plan_boxes::write(&self.store, state, &folders, foreign, target)
    }
}

/// Returns the branch that a run started from.
pub(crate) fn branch_of(state: &RunState) -> Result<String, ResultRefusal> {
    let detached = || ResultRefusal::DetachedHead {
        run: state.run_id.clone(),
        result: state.integration.to_string(),
    };
    state.base_branch.clone().ok_or_else(detached)
}

/// Refuses a result that is not complete, or that contains rejected work.
pub(crate) fn require_landable(state: &RunState) -> Result<(), ResultRefusal> {
    let run = state.run_id.clone();
    if state.exit_code.is_none() {
        return Err(ResultRefusal::Unfinished { run });
    }
    let tasks = state.rejected_in_result();
    if tasks.is_empty() {
        return Ok(());
    }
    let mut drops: Vec<TaskId> = tasks
        .iter()
        .map(|task| state.to_be_dropped(task).clone())
        .collect();
    drops.dedup();
    Err(ResultRefusal::Rejected { run, tasks, drops })
}

fn step_of(landing: &Landing) -> Move {
    Move {
        branch: landing.branch.clone(),
        from: landing.from.clone(),
        to: landing.to.clone(),
    }
}

/// Returns warnings about rejected work that is part of the result, work that was built on it, work
/// that is not part of the result, high risks, and claims that the facts do not bear out.
pub(crate) fn warnings(state: &Arc<RunState>) -> Vec<String> {
    // No process works on the run while it is landed.
    let standing = Standing {
        state: Arc::clone(state),
        is_live: false,
    };
    let of_task = |record: &TaskRecord| {
        let task = &record.task.id;
        Some(match state.landing_concern(record)? {
            LandingConcern::RejectedInResult => {
                format!(
                    "{task} was rejected after it was merged, and nothing has replaced it: it is \
                     included"
                )
            }
            LandingConcern::BuiltOnRejected => {
                format!("{task} was built on work that was rejected after it was merged")
            }
            LandingConcern::NotInResult => {
                let state = standing.of_task(record).as_str().replace('_', " ");
                format!("{task} is {state}: it is not included")
            }
            LandingConcern::HeldBy(agent) => {
                format!(
                    "{task} is part of the work of {agent}, which has ended without success: it is \
                     not included"
                )
            }
        })
    };
    let cautions = state.cautions();
    state
        .tasks()
        .filter_map(of_task)
        .chain(cautions.iter().map(ToString::to_string))
        .collect()
}
