//! The one door to confined processes: which tier, which helper, and running a job in it.

use crate::accounts::Accounts;
use crate::cancel::Cancel;
use crate::error::SandboxError;
use crate::job::{Finished, Job};
use crate::tier::{Confinement, Helper, Tier};
use crate::{drive, probe};

/// Runs jobs in one tier, each within bounds.
#[derive(Debug, Clone)]
pub struct Sandbox {
    tier: Tier,
    bounds: Bounds,
}

/// What a job may use up that says nothing about it itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// See [`crate::Limits::memory_bytes`].
    pub memory_bytes: Option<u64>,
    /// See [`crate::Limits::disk_bytes`].
    pub disk_bytes: Option<u64>,
}

impl Sandbox {
    /// Returns the strongest tier that really starts here; never an unconfined one.
    ///
    /// # Errors
    /// [`SandboxError::NoTier`] with the reasons and fixes if neither tier starts.
    pub fn strongest(helper: Helper) -> Result<Self, SandboxError> {
        let Err(full) = probe::start(Confinement::Full, &helper) else {
            return Ok(Self::unbounded(Confinement::Full, helper));
        };
        match probe::start(Confinement::Fallback, &helper) {
            Ok(()) => Ok(Self::unbounded(Confinement::Fallback, helper)),
            Err(fallback) => Err(SandboxError::NoTier { full, fallback }),
        }
    }

    /// Returns the tier that the caller names, after really starting it.
    ///
    /// # Errors
    /// [`SandboxError::TierUnusable`] with the reason and the fix.
    pub fn with(confinement: Confinement, helper: Helper) -> Result<Self, SandboxError> {
        match probe::start(confinement, &helper) {
            Ok(()) => Ok(Self::unbounded(confinement, helper)),
            Err(reason) => Err(SandboxError::TierUnusable { tier: confinement, reason }),
        }
    }

    fn unbounded(confinement: Confinement, helper: Helper) -> Self {
        Self { tier: Tier { confinement, helper, accounts: Accounts::default() }, bounds: Bounds::default() }
    }

    /// Sets what jobs may use up.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    fn bounded(&self, mut job: Job) -> Job {
        job.limits.memory_bytes = job.limits.memory_bytes.or(self.bounds.memory_bytes);
        job.limits.disk_bytes = job.limits.disk_bytes.or(self.bounds.disk_bytes);
        job
    }

    /// Returns the active tier.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        self.tier.confinement
    }

    /// Runs a job to its end and returns when none of its processes is left.
    ///
    /// # Errors
    /// If the program could not be started as asked; never because it failed.
    pub fn run(&self, job: &Job, cancel: &Cancel) -> Result<Finished, SandboxError> {
        drive::run(&self.tier, &self.bounded(job.clone()), &[cancel])
    }

    /// Runs a job to its end on tokio's blocking pool. Dropping the future stops the job.
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    #[cfg(feature = "async")]
    pub async fn run_async(&self, job: Job, cancel: Cancel) -> Result<Finished, SandboxError> {
        struct Abandon(Cancel);
        impl Drop for Abandon {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        let (tier, job) = (self.tier.clone(), self.bounded(job));
        let abandon = Abandon(Cancel::new());
        let abandoned = abandon.0.clone();
        let task = tokio::task::spawn_blocking(move || drive::run(&tier, &job, &[&cancel, &abandoned]));
        task.await
            .unwrap_or_else(|gone| Err(SandboxError::Setup { detail: format!("the waiting thread ended: {gone}") }))
    }
}
