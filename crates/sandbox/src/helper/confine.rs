//! What the child gives up between fork and exec, step by step; each step's failure is fatal.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::protocol::{Report, Spec, report};
use super::{landlock, seccomp};
use crate::sys;
use crate::tier::Confinement;

/// bubblewrap's two processes, the supervisor and the program itself count too.
const OWN_PROCESSES: u64 = 4;
/// How much less root's jobs insist on running than the supervisor: the kernel does not count root's processes, so a
/// bomb of them would keep it from ending them. It still gets a quarter of a busy processor.
const BEHIND_SUPERVISOR: i32 = 5;
/// How far the user's processes may grow beyond a job's own number before it cannot fork any more, where the count is
/// of all processes of the user. The exact bound is the supervisor's watch; this only keeps a bomb from outrunning it.
const SHARED_HEADROOM: u64 = 4;

/// When the machine runs out of memory, the kernel kills a process of a job before any other (proc(5)).
const KILLED_FIRST: &str = "1000";

/// Prepared while still unconfined, because afterwards nothing can be looked up.
pub(super) struct Restrictions {
    landlock: Option<landlock::Ruleset>,
    seccomp: Option<seccomp::Filter>,
    limits: Vec<(Resource, u64)>,
    confinement: Confinement,
}

impl Restrictions {
    pub(super) fn prepare(spec: &Spec) -> Result<Self, String> {
        let confined = spec.confinement != Confinement::Unconfined;
        let version = sys::landlock_version();
        if spec.confinement == Confinement::Fallback {
            landlock::require(version)?;
        }
        Ok(Self {
            landlock: confined.then(|| landlock::prepare(spec, version)).transpose()?.flatten(),
            seccomp: confined
                .then(|| seccomp::compile(spec.confinement, landlock::scopes_signals(version)))
                .transpose()?,
            limits: limits(spec),
            confinement: spec.confinement,
        })
    }

    /// Applies everything to the calling process, which is about to execute the program.
    pub(super) fn apply(&mut self, control: &UnixStream, supervisor: &UnixStream) -> io::Result<()> {
        self.try_apply(supervisor).map_err(|reason| {
            // The way back through `Command` has room for a number only, so the text goes straight to the coordinator.
            let _ = report(control, &Report::Failed(reason));
            io::Error::from_raw_os_error(libc::ECANCELED)
        })
    }

    fn try_apply(&mut self, supervisor: &UnixStream) -> Result<(), String> {
        rustix::process::setsid().map_err(step("start a session"))?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(step("tie to the supervisor"))?;
        sys::restore_group_signals();
        if rustix::process::getuid().is_root() {
            rustix::process::nice(BEHIND_SUPERVISOR).map_err(step("come after the supervisor"))?;
        }
        sys::close_all_on_exec().map_err(step("close descriptors"))?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(step("allow own debugging"))?;
        // After that, since what hides its memory belongs to root. Where it may not be written, the kernel kills the
        // job when it holds the most memory, like any other process.
        let _ = std::fs::write("/proc/self/oom_score_adj", KILLED_FIRST);
        for (resource, most) in self.limits.drain(..) {
            set_limit(resource, most).map_err(step("set a limit"))?;
        }
        if self.confinement == Confinement::Unconfined {
            return Ok(());
        }
        rustix::thread::set_no_new_privs(true).map_err(step("refuse new privileges"))?;
        drop_capabilities()?;
        if let Some(ruleset) = self.landlock.take() {
            ruleset.apply(self.confinement)?;
        }
        self.seccomp.as_ref().map_or(Ok(()), |filter| filter.apply(supervisor))
    }
}

fn step<E: std::fmt::Display>(name: &'static str) -> impl FnOnce(E) -> String {
    move |cause| format!("{name}: {cause}")
}

fn limits(spec: &Spec) -> Vec<(Resource, u64)> {
    let mut limits = vec![(Resource::Core, 0)];
    limits.extend(spec.file_bytes.map(|bytes| (Resource::Fsize, bytes)));
    if let Some(most) = spec.processes.map(u64::from) {
        match spec.confinement {
            // Inside its own user namespace the count is the job's own.
            Confinement::Full => limits.push((Resource::Nproc, most + OWN_PROCESSES)),
            Confinement::Fallback => limits.push((Resource::Nproc, spec.tasks_of_user + most * SHARED_HEADROOM)),
            Confinement::Unconfined => {}
        }
    }
    limits
}

fn set_limit(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let hard = rustix::process::getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    rustix::process::setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })
}

/// Matters where the user is root: the fallback tier has no namespace that makes root's powers empty.
fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySet::empty();
    let _ = rustix::thread::clear_ambient_capability_set();
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        // Fails for numbers that no capability has, and for a user that may not; then there is none to lose.
        if rustix::thread::capability_is_in_bounding_set(capability).unwrap_or(false) {
            let _ = rustix::thread::remove_capability_from_bounding_set(capability);
        }
    }
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(step("drop capabilities"))
}
