//! Landings of a run's result.

use crate::event::{Illegal, RunStatus};
use crate::ids::Oid;
use crate::record::{LandingConcern, TaskRecord};
use crate::run::run_state::{Landing, LandingOutcome, RunState};
use crate::task::TaskState;

impl Landing {
    /// Decides what has become of the landing, from its branch's tip, whether that contains it, and
    /// the run's result.
    pub fn outcome(&self, tip: &Oid, is_contained: bool, result: &Oid) -> LandingOutcome {
        let can_go_on = *tip == self.from && *result == self.result;
        match (self.is_done, is_contained) {
            (true, true) => LandingOutcome::AsRecorded,
            (true, false) => LandingOutcome::Undone,
            (false, true) => LandingOutcome::Completed,
            (false, false) if can_go_on => LandingOutcome::AsRecorded,
            (false, false) => LandingOutcome::Overtaken,
        }
    }
}

impl RunState {
    /// Returns the newest landing, if it is complete.
    pub fn landed(&self) -> Option<&Landing> {
        self.landings.last().filter(|landing| landing.is_done)
    }

    /// Returns the landing that has begun and is not complete.
    pub fn landing_begun(&self) -> Option<&Landing> {
        self.landings.last().filter(|landing| !landing.is_done)
    }

    /// Reports whether all merged work has landed.
    pub fn is_landed(&self) -> bool {
        self.landed()
            .is_some_and(|landing| landing.result == self.integration)
    }

    /// Reports whether nothing happens by itself any more: each task has ended, waits to be merged,
    /// or waits for a person, and no deadline will wake one.
    pub fn waits_for_program(&self) -> bool {
        let rests = |record: &TaskRecord| {
            self.is_at_rest(record) || record.rests() && !self.is_woken(&record.task.id)
        };
        self.next_deadline().is_none() && self.tasks().all(rests)
    }

    /// Reports whether nothing of the run is left to be done, by agents or by a person: it has
    /// landed, or it has ended with nothing to land and nothing to review.
    pub fn is_settled(&self) -> bool {
        if self.landed().is_some() {
            return self.is_landed();
        }
        let waits =
            |record: &TaskRecord| record.state().is_merged() || !record.state().is_settled();
        self.exit_code.is_some() && !self.tasks().any(waits)
    }

    /// Reports whether the process that has completed the run must land it: this was requested, the
    /// run has succeeded, its result has not landed, and no landing of this result was undone. One
    /// that makes a plan has no result to land.
    pub fn is_to_be_landed(&self) -> bool {
        self.settings.land
            && self.settings.plan_file.is_none()
            && self.status == RunStatus::Succeeded
            && !self.is_landed()
            && self.taken_back.as_ref() != Some(&self.integration)
    }

    /// Returns what the user should know about a task when the run is landed, or `None`.
    pub fn landing_concern(&self, record: &TaskRecord) -> Option<LandingConcern> {
        if record.is_rejected_in_result() && self.is_in_result(record) {
            Some(LandingConcern::RejectedInResult)
        } else if record.is_stale() && self.is_in_result(record) {
            Some(LandingConcern::BuiltOnRejected)
        } else if !record.state().is_merged() && record.state() != TaskState::Cancelled {
            Some(LandingConcern::NotInResult)
        } else {
            self.held_by(record).cloned().map(LandingConcern::HeldBy)
        }
    }

    /// Applies the start of a landing.
    pub(super) fn landing_started(
        &mut self,
        branch: &str,
        from: &Oid,
        to: &Oid,
    ) -> Result<(), Illegal> {
        if self.landings.last().is_some_and(|landing| !landing.is_done) {
            return Err(Illegal::LandingOpen);
        }
        let (tasks, result) = (self.newly_merged(), self.integration.clone());
        let (branch, from, to) = (branch.to_owned(), from.clone(), to.clone());
        self.landings.push(Landing {
            branch,
            from,
            to,
            result,
            tasks,
            is_done: false,
        });
        // A new landing shows that the result is wanted, although a landing of it was undone
        // before.
        self.taken_back = None;
        Ok(())
    }

    /// Returns the landing that has begun; an error if there is none.
    pub(super) fn begun_landing(&mut self) -> Result<&mut Landing, Illegal> {
        let begun = self.landings.last_mut().filter(|landing| !landing.is_done);
        begun.ok_or(Illegal::NoLanding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_is_settled_by_what_its_branch_contains() {
        use LandingOutcome::{AsRecorded, Completed, Overtaken, Undone};
        // Whether it is recorded as done, the tip of its branch, whether that contains it, and the
        // run's result.
        let table = [
            ((true, "to", true, "result"), AsRecorded),
            ((true, "later", true, "newer result"), AsRecorded),
            ((true, "from", false, "result"), Undone),
            ((true, "other", false, "result"), Undone),
            ((false, "to", true, "result"), Completed),
            ((false, "later", true, "newer result"), Completed),
            ((false, "from", false, "result"), AsRecorded),
            ((false, "other", false, "result"), Overtaken),
            ((false, "from", false, "newer result"), Overtaken),
        ];
        for ((is_done, tip, is_contained, result), expected) in table {
            let (branch, tasks) = ("main".to_owned(), Vec::new());
            let landing = Landing {
                branch,
                from: "from".into(),
                to: "to".into(),
                result: "result".into(),
                tasks,
                is_done,
            };
            let found = landing.outcome(&tip.into(), is_contained, &result.into());
            assert_eq!(found, expected, "{is_done} {tip} {is_contained} {result}");
        }
    }
}
