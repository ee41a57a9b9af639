//! The one door to confined processes: which tier, which helper, and running a job in it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::error::SandboxError;
use crate::job::{Finished, Job};
use crate::{drive, probe};

/// Says how strongly a process is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Own namespaces with a minimal view of the files (bubblewrap), seccomp and Landlock.
    Full,
    /// Landlock and seccomp without namespaces: no network, nothing written or read outside the view.
    Fallback,
    /// Nothing is held back; processes still end with the job and get no inherited environment.
    Unconfined,
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full (bubblewrap, seccomp, landlock)",
            Self::Fallback => "fallback (landlock, seccomp)",
            Self::Unconfined => "unconfined (no sandbox)",
        })
    }
}

/// Names the program that is executed as the sandbox's helper; by default this very program.
///
/// Its `main` must begin with [`crate::run_helper_if_asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper(pub(crate) PathBuf);

/// Opening it gives the running program, even after its file was replaced by a newer build.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl Default for Helper {
    fn default() -> Self {
        Self(PathBuf::from(OWN_PROGRAM))
    }
}

impl Helper {
    /// Names another program as the helper.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self(program.into())
    }

    /// Tells whether the helper is this very program.
    #[must_use]
    pub fn is_own_program(&self) -> bool {
        self.0 == Path::new(OWN_PROGRAM)
    }
}

/// Runs jobs in one tier.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(crate) confinement: Confinement,
    pub(crate) helper: Helper,
}

impl Sandbox {
    /// Returns the strongest tier that really starts here; never an unconfined one.
    ///
    /// # Errors
    /// [`SandboxError::NoTier`] with the reasons and fixes if neither tier starts.
    pub fn strongest(helper: Helper) -> Result<Self, SandboxError> {
        let Err(full) = probe::start(Confinement::Full, &helper) else {
            return Ok(Self { confinement: Confinement::Full, helper });
        };
        match probe::start(Confinement::Fallback, &helper) {
            Ok(()) => Ok(Self { confinement: Confinement::Fallback, helper }),
            Err(fallback) => Err(SandboxError::NoTier { full, fallback }),
        }
    }

    /// Returns the tier that the caller names, after really starting it.
    ///
    /// # Errors
    /// [`SandboxError::TierUnusable`] with the reason and the fix.
    pub fn with(confinement: Confinement, helper: Helper) -> Result<Self, SandboxError> {
        match probe::start(confinement, &helper) {
            Ok(()) => Ok(Self { confinement, helper }),
            Err(reason) => Err(SandboxError::TierUnusable { tier: confinement, reason }),
        }
    }

    /// Returns the active tier.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Tells whether masks below a writable root hold. See [`crate::Mask`].
    #[must_use]
    pub fn honours_masks(&self) -> bool {
        self.confinement == Confinement::Full
    }

    /// Runs a job to its end and returns when none of its processes is left.
    ///
    /// # Errors
    /// If the program could not be started as asked; never because it failed.
    pub fn run(&self, job: &Job, cancel: &Cancel) -> Result<Finished, SandboxError> {
        drive::run(self, job, &[cancel])
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
        let sandbox = self.clone();
        let abandon = Abandon(Cancel::new());
        let abandoned = abandon.0.clone();
        let task = tokio::task::spawn_blocking(move || drive::run(&sandbox, &job, &[&cancel, &abandoned]));
        task.await
            .unwrap_or_else(|gone| Err(SandboxError::Setup { detail: format!("the waiting thread ended: {gone}") }))
    }
}
