//! Landings of a run's result.

use crate::event::RunStatus;
use crate::ids::Oid;
use crate::illegal::Illegal;
use crate::run_state::{Landing, RunState};

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
        self.landed().is_some_and(|landing| landing.result == self.integration)
    }

    /// Reports whether the process that has completed the run must land it: this was requested, the run has
    /// succeeded, its result has not landed, and no landing of this result was undone.
    pub fn is_to_be_landed(&self) -> bool {
        self.settings.land
            && self.status == RunStatus::Succeeded
            && !self.is_landed()
            && self.taken_back.as_ref() != Some(&self.integration)
    }

    /// Applies the start of a landing.
    pub(super) fn landing_started(&mut self, branch: &str, from: &Oid, to: &Oid) -> Result<(), Illegal> {
        if self.landings.last().is_some_and(|landing| !landing.is_done) {
            return Err(Illegal::LandingOpen);
        }
        let (tasks, result) = (self.newly_merged(), self.integration.clone());
        let (branch, from, to) = (branch.to_owned(), from.clone(), to.clone());
        self.landings.push(Landing { branch, from, to, result, tasks, is_done: false });
        // A new landing shows that the result is wanted, although a landing of it was undone before.
        self.taken_back = None;
        Ok(())
    }

    /// Returns the landing that has begun; an error if there is none.
    pub(super) fn begun_landing(&mut self) -> Result<&mut Landing, Illegal> {
        let begun = self.landings.last_mut().filter(|landing| !landing.is_done);
        begun.ok_or(Illegal::NoLanding)
    }
}
