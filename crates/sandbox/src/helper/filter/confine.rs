//! The restrictions that the child applies to itself before it executes the program; if one fails,
//! the program does not run.
//!
//! Until then, the child shares the supervisor's memory, which waits for it: it must leave nothing
//! there that the supervisor relies on.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::process::{DumpableBehavior, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::helper::filter::{landlock, seccomp};
use crate::helper::protocol::{Report, Spec, report};
use crate::sys;
use crate::tier::Confinement;

/// Processes that the kernel may count too: bubblewrap's, which starts the supervisor, the
/// supervisor and the program itself; and one to spare.
const OWN_PROCESSES: u64 = 4;
/// How much higher the nice value of root's jobs is than the supervisor's. The kernel does not
/// count root's processes, so a fork bomb of root's could keep the supervisor from ending it. The
/// job still gets a quarter of a busy processor.
const BEHIND_SUPERVISOR: i32 = 5;
/// By how many times a job's own process limit the user's processes may grow before the job can no
/// longer fork, where the kernel counts all processes of the user. The supervisor enforces the
/// exact limit; this only keeps a fork bomb from outrunning it.
const SHARED_HEADROOM: u64 = 4;

/// The `oom_score_adj` that makes the kernel kill a process of a job before any other when the
/// machine runs out of memory (proc(5)).
const KILLED_FIRST: &str = "1000";

/// Restrictions, prepared while still unconfined, because afterwards nothing can be looked up.
pub(crate) struct Restrictions {
    landlock: Option<landlock::Ruleset>,
    seccomp: Option<&'static seccomp::Filter>,
    limits: Vec<(Resource, u64)>,
    confinement: Confinement,
}

impl Restrictions {
    pub(crate) fn prepare(spec: &Spec) -> Result<Self, String> {
        let mut restrictions = Self {
            landlock: None,
            seccomp: None,
            limits: limits(spec),
            confinement: spec.confinement,
        };
        if spec.confinement == Confinement::Unconfined {
            return Ok(restrictions);
        }
        let version = sys::landlock_version();
        if spec.confinement == Confinement::Fallback {
            landlock::require(version)?;
        }
        restrictions.landlock = landlock::prepare(spec, version)?;
        let scoped = landlock::scopes_signals(version);
        restrictions.seccomp = Some(seccomp::of_process(spec.confinement, scoped)?);
        Ok(restrictions)
    }

    /// Applies all restrictions to the calling process, which is about to execute the program.
    pub(crate) fn apply(&self, control: &UnixStream, supervisor: &UnixStream) -> io::Result<()> {
        self.try_apply(supervisor).map_err(|reason| {
            // Only a number is passed back, so the text goes straight to the coordinator.
            let _ = report(control, &Report::Failed(reason));
            io::Error::from_raw_os_error(libc::ECANCELED)
        })
    }

    fn try_apply(&self, supervisor: &UnixStream) -> Result<(), String> {
        rustix::process::setsid().map_err(step("start a session"))?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(step("tie to the supervisor"))?;
        sys::restore_group_signals();
        if rustix::process::getuid().is_root() {
            rustix::process::nice(BEHIND_SUPERVISOR).map_err(step("come after the supervisor"))?;
        }
        sys::close_all_on_exec().map_err(step("close descriptors"))?;
        come_first_when_memory_ends()?;
        for (resource, most) in &self.limits {
            set_limit(*resource, *most).map_err(step("set a limit"))?;
        }
        if self.confinement == Confinement::Unconfined {
            return Ok(());
        }
        rustix::thread::set_no_new_privs(true).map_err(step("refuse new privileges"))?;
        drop_capabilities()?;
        if let Some(ruleset) = &self.landlock {
            ruleset.apply(self.confinement)?;
        }
        match self.seccomp {
            Some(filter) => filter.apply(supervisor),
            None => Ok(()),
        }
    }
}

/// Makes the kernel kill this process before others when the machine runs out of memory. If this
/// fails, the kernel kills the job only if it holds the most memory, like any other process.
///
/// Only a process that is dumpable owns its files in `/proc`. The memory is still the supervisor's,
/// so it is dumpable for no longer than that; the program will be, as programs are.
fn come_first_when_memory_ends() -> Result<(), String> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .map_err(step("own the files in /proc"))?;
    let _ = std::fs::write("/proc/self/oom_score_adj", KILLED_FIRST);
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(step("hide the supervisor's memory"))
}

/// How much more processor time than all together each process may use before the kernel ends it.
const CPU_HEADROOM_SECONDS: u64 = 2;

fn step<E: std::fmt::Display>(name: &'static str) -> impl FnOnce(E) -> String {
    move |cause| format!("{name}: {cause}")
}

fn limits(spec: &Spec) -> Vec<(Resource, u64)> {
    let mut limits = vec![(Resource::Core, 0)];
    // Of each process alone: a second line behind the sum, which is checked only now and then.
    if let Some(cpu) = spec.cpu {
        let seconds = cpu.as_secs().saturating_add(CPU_HEADROOM_SECONDS);
        limits.push((Resource::Cpu, seconds));
    }
    if let Some(bytes) = spec.file_bytes {
        limits.push((Resource::Fsize, bytes));
    }
    if let Some(most) = spec.processes.map(u64::from) {
        match spec.confinement {
            // Inside its own user namespace, the kernel counts only the job's processes.
            Confinement::Full => limits.push((Resource::Nproc, most + OWN_PROCESSES)),
            Confinement::Fallback => {
                limits.push((Resource::Nproc, spec.tasks_of_user + most * SHARED_HEADROOM))
            }
            Confinement::Unconfined => {}
        }
    }
    limits
}

fn set_limit(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let hard = rustix::process::getrlimit(resource).maximum;
    let hard = hard.unwrap_or(most).min(most);
    rustix::process::setrlimit(
        resource,
        Rlimit {
            current: Some(hard),
            maximum: Some(hard),
        },
    )
}

/// Drops all capabilities. This matters if the user is root: the fallback tier has no namespace
/// that makes root's capabilities worthless.
pub(crate) fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySet::empty();
    let _ = rustix::thread::clear_ambient_capability_set();
    for bit in 0..u64::BITS {
        // Fails for the first number without a capability, and for users that may not drop any, who
        // have none to lose.
        if rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(
            1 << bit,
        ))
        .is_err()
        {
            break;
        }
    }
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    rustix::thread::set_capabilities(None, sets).map_err(step("drop capabilities"))
}
