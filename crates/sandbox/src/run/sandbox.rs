//! The only entry point to confined processes: selects a tier and a helper, and runs jobs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::cancel::Cancel;
use crate::disk_usage::Accounts;
#[cfg(feature = "async")]
use crate::egress::ListenerSink;
use crate::environment::host;
use crate::error::SandboxError;
use crate::helper::{forbidden_in_fallback, has_sockets_in_fallback};
use crate::job::{Finished, Job, Network, View};
use crate::live_output::LiveOutput;
use crate::run::packages::Packages;
use crate::run::{caches, drive, probe};
use crate::setup::fallback;
use crate::setup::launch::Tier;
use crate::setup::room::RoomOwner;
use crate::tier::{Confinement, Helper};

/// Runs jobs in one tier, within bounds.
#[derive(Debug, Clone)]
pub struct Sandbox {
    tier: Tier,
    bounds: Bounds,
    additions: Additions,
    packages: Option<Packages>,
    /// Where the tools of all jobs keep their caches.
    caches: Option<PathBuf>,
    /// Why the tier is not the full one, if that was tried.
    why_not_full: Option<String>,
}

/// The additions to the view and the variables of every job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    /// Absolute paths that may only be read; those that do not exist are skipped.
    pub read_only: Vec<PathBuf>,
    /// Variables by name; those of a job override them.
    pub env: BTreeMap<OsString, OsString>,
}

/// The limits of every job; its own can only be stricter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// See [`crate::Limits::cpu`].
    pub cpu: Option<Duration>,
    /// See [`crate::Limits::memory_bytes`].
    pub memory_bytes: Option<u64>,
    /// See [`crate::Limits::disk_bytes`].
    pub disk_bytes: Option<u64>,
    /// See [`crate::Limits::disk_files`].
    pub disk_files: Option<u64>,
}

/// A new folder for jobs that download packages for the later jobs of a sandbox; it is deleted when
/// dropped.
#[derive(Debug)]
pub struct Downloads {
    sandbox: Sandbox,
    folder: TempDir,
}

impl Downloads {
    /// Returns the sandbox in which jobs with a proxy may write to the packages, and to this
    /// folder.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Sandbox {
    /// Returns a sandbox of the strongest tier that actually starts here; never an unconfined one.
    /// A tier that has started once in this process is taken to start again.
    ///
    /// # Errors
    /// Fails with [`SandboxError::NoTier`], with the reasons and fixes, if neither tier starts.
    pub fn strongest(helper: Helper) -> Result<Self, SandboxError> {
        let Err(full) = probe::start_once(Confinement::Full, &helper) else {
            return Ok(Self::started(Confinement::Full, helper));
        };
        match probe::start_once(Confinement::Fallback, &helper) {
            Ok(()) => Ok(Self {
                why_not_full: Some(full),
                ..Self::started(Confinement::Fallback, helper)
            }),
            Err(fallback) => Err(SandboxError::NoTier { full, fallback }),
        }
    }

    /// Returns a sandbox of the given tier, after actually starting it, unless it has started once
    /// in this process.
    ///
    /// # Errors
    /// Fails with [`SandboxError::TierUnusable`], with the reason and the fix, if the tier does not
    /// start.
    pub fn with(confinement: Confinement, helper: Helper) -> Result<Self, SandboxError> {
        match probe::start_once(confinement, &helper) {
            Ok(()) => Ok(Self::started(confinement, helper)),
            Err(reason) => Err(SandboxError::TierUnusable {
                tier: confinement,
                reason,
            }),
        }
    }

    /// Returns a sandbox in which no job can be started, for tests of code that starts none.
    #[must_use]
    pub fn closed() -> Self {
        Self::unbounded(Confinement::Full, Helper::new("/dev/null"))
    }

    fn started(confinement: Confinement, helper: Helper) -> Self {
        // Best effort: no job depends on what others have left.
        let _ = fallback::sweep();
        Self::unbounded(confinement, helper)
    }

    fn unbounded(confinement: Confinement, helper: Helper) -> Self {
        Self {
            tier: Tier {
                confinement,
                helper,
                accounts: Accounts::default(),
                warn: |_| (),
                rooms: None,
                live: None,
            },
            bounds: Bounds::default(),
            additions: Additions::default(),
            packages: None,
            caches: None,
            why_not_full: None,
        }
    }

    /// Adds to what every job sees and gets.
    #[must_use]
    pub fn adding(self, additions: Additions) -> Self {
        Self { additions, ..self }
    }

    /// Sets the function that tells the user, once, if the kernel can no longer keep limits that it
    /// kept.
    #[must_use]
    pub fn warning(self, warn: fn(&str)) -> Self {
        Self {
            tier: Tier { warn, ..self.tier },
            ..self
        }
    }

    /// Sets what gets the newest output of its jobs, while they run.
    #[must_use]
    pub fn showing(self, live: LiveOutput) -> Self {
        Self {
            tier: Tier {
                live: Some(live),
                ..self.tier
            },
            ..self
        }
    }

    /// Sets the folder that jobs download packages to, and that those without a network read.
    #[must_use]
    pub fn with_packages(self, folder: PathBuf) -> Self {
        Self {
            packages: Some(Packages::new(folder)),
            ..self
        }
    }

    /// Sets the folder, if it exists when a job starts, in which its tools keep their caches. All
    /// jobs of the sandbox write to it, so it should belong to one worktree.
    #[must_use]
    pub fn with_caches(self, folder: PathBuf) -> Self {
        Self {
            caches: Some(folder),
            ..self
        }
    }

    /// Keeps the namespaces and the view of its jobs from one to the next, where that is possible,
    /// until the last copy of this sandbox is dropped: for the commands of one agent.
    #[must_use]
    pub fn keeping_rooms(self) -> Self {
        let rooms = Some(RoomOwner::new());
        Self {
            tier: Tier { rooms, ..self.tier },
            ..self
        }
    }

    /// Returns this sandbox with jobs with a proxy that download packages for later jobs; they must
    /// run nothing of an agent's.
    #[must_use]
    pub fn taking_downloads(&self) -> Self {
        Self {
            packages: self.packages.as_ref().map(Packages::taking_downloads),
            ..self.clone()
        }
    }

    /// Creates a folder with these files, for jobs that download packages through a proxy; `None`
    /// if this sandbox has no folder of packages. What they download is used by all later jobs, so
    /// they must run nothing of an agent's.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn downloads(&self, files: &[(&str, &[u8])]) -> Result<Option<Downloads>, SandboxError> {
        let Some(packages) = &self.packages else {
            return Ok(None);
        };
        let folder = packages
            .new_folder(files)
            .map_err(SandboxError::io("create a folder for packages"))?;
        // An agent writes to the caches of its own commands.
        let without_caches = Self {
            caches: None,
            ..self.clone()
        };
        Ok(Some(Downloads {
            sandbox: without_caches.taking_downloads(),
            folder,
        }))
    }

    /// Sets the limits of every job.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Returns the paths that every job may read besides its own view.
    #[must_use]
    pub fn added_paths(&self) -> &[PathBuf] {
        &self.additions.read_only
    }

    /// Returns a text that is the same for two sandboxes only if they confine commands in the same
    /// way, and let them find the same programs.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let (confinement, search) = (self.confinement(), host::search_path(std::iter::empty()));
        format!(
            "{confinement:?} {:?} {:?} {search:?}",
            self.bounds, self.additions
        )
    }

    fn completed(&self, mut job: Job) -> Result<Job, SandboxError> {
        if job.network == Network::Proxy {
            self.require_egress()?;
        }
        let View::Host(view) = &mut job.view;
        view.optional.extend_from_slice(&self.additions.read_only);
        for (name, value) in &self.additions.env {
            job.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        // Without a sandbox, tools find those of the user.
        if let Some(caches) = self
            .caches
            .as_ref()
            .filter(|_| self.confinement() != Confinement::Unconfined)
        {
            caches::show(caches, &mut job)?;
        }
        if let Some(packages) = &self.packages {
            packages.show(&mut job)?;
        }
        job.limits.cpu = stricter(job.limits.cpu, self.bounds.cpu);
        job.limits.memory_bytes = stricter(job.limits.memory_bytes, self.bounds.memory_bytes);
        job.limits.disk_bytes = stricter(job.limits.disk_bytes, self.bounds.disk_bytes);
        job.limits.disk_files = stricter(job.limits.disk_files, self.bounds.disk_files);
        Ok(job)
    }

    /// Returns the active tier.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        self.tier.confinement
    }

    /// Returns what this tier forbids that the full one allows, and how to get that one; `None` in
    /// another tier than the fallback one.
    #[must_use]
    pub fn forbids(&self) -> Option<String> {
        if self.confinement() != Confinement::Fallback {
            return None;
        }
        let forbidden = forbidden_in_fallback();
        Some(match &self.why_not_full {
            Some(full) => format!("{forbidden}; the full tier does not start here: {full}"),
            None => forbidden.to_owned(),
        })
    }

    /// Runs a job to its end and returns when none of its processes is left.
    ///
    /// # Errors
    /// Fails if the program could not be started as asked; never because the program failed.
    pub fn run(&self, job: &Job, cancel: &Cancel) -> Result<Finished, SandboxError> {
        drive::run(&self.tier, &self.completed(job.clone())?, &[cancel], None)
    }

    /// Runs a job like [`Sandbox::run`], with [`Network::Proxy`]: `accepts` gets the listening
    /// socket before the program starts, and decides what each connection reaches.
    ///
    /// # Errors
    /// As [`Sandbox::run`], and with [`SandboxError::NoEgress`] in another tier than the full one.
    pub fn run_proxied(
        &self,
        job: &Job,
        cancel: &Cancel,
        accepts: impl FnOnce(TcpListener) + Send + 'static,
    ) -> Result<Finished, SandboxError> {
        let job = self.proxied(job.clone())?;
        drive::run(&self.tier, &job, &[cancel], Some(Box::new(accepts)))
    }

    fn proxied(&self, job: Job) -> Result<Job, SandboxError> {
        self.completed(Job {
            network: Network::Proxy,
            ..job
        })
    }

    /// Requires that jobs can have a network that leads to a proxy alone.
    ///
    /// # Errors
    /// [`SandboxError::NoEgress`] in a tier that cannot do that on this machine.
    pub fn require_egress(&self) -> Result<(), SandboxError> {
        let tier = self.confinement();
        let reason = match (tier, &self.why_not_full) {
            (Confinement::Full, _) => return Ok(()),
            (Confinement::Fallback, _) if has_sockets_in_fallback() => return Ok(()),
            (Confinement::Unconfined, _) => "nothing keeps it from going past the proxy".to_owned(),
            (Confinement::Fallback, None) => {
                "only the full one, and this one with Linux 6.12, lead a program to a proxy alone"
                    .to_owned()
            }
            (Confinement::Fallback, Some(full)) => {
                let others =
                    "only the full one, which does not start here, and this one with Linux 6.12";
                format!("{others} lead a program to a proxy alone ({full})")
            }
        };
        Err(SandboxError::NoEgress { tier, reason })
    }

    /// Runs a job to its end on tokio's blocking pool. Dropping the future stops the job.
    ///
    /// # Errors
    /// See [`Sandbox::run`].
    #[cfg(feature = "async")]
    pub async fn run_async(&self, job: Job, cancel: Cancel) -> Result<Finished, SandboxError> {
        self.drive(self.completed(job)?, cancel, None).await
    }

    /// Runs a job like [`Sandbox::run_proxied`] on tokio's blocking pool. Dropping the future stops
    /// the job.
    ///
    /// # Errors
    /// See [`Sandbox::run_proxied`].
    #[cfg(feature = "async")]
    pub async fn run_proxied_async(
        &self,
        job: Job,
        cancel: Cancel,
        accepts: impl FnOnce(TcpListener) + Send + 'static,
    ) -> Result<Finished, SandboxError> {
        self.drive(self.proxied(job)?, cancel, Some(Box::new(accepts)))
            .await
    }

    #[cfg(feature = "async")]
    async fn drive(
        &self,
        job: Job,
        cancel: Cancel,
        proxy: Option<ListenerSink>,
    ) -> Result<Finished, SandboxError> {
        struct Abandon(Cancel);
        impl Drop for Abandon {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        let tier = self.tier.clone();
        let abandon = Abandon(Cancel::new());
        let abandoned = abandon.0.clone();
        let task = tokio::task::spawn_blocking(move || {
            drive::run(&tier, &job, &[&cancel, &abandoned], proxy)
        });
        task.await.unwrap_or_else(|gone| {
            Err(SandboxError::Setup {
                detail: format!("the waiting thread ended: {gone}"),
            })
        })
    }
}

/// Returns the smaller of two limits; `None` is no limit.
fn stricter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}
