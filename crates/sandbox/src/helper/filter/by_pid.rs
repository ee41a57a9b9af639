//! The system calls that name another process by a number, or by a descriptor that stands for it,
//! and what a job may do with each.
//!
//! The process to be kept out of reach is the supervisor, which keeps the job's limits and runs as
//! the same user: a limit, a priority or a processor of its own that a job sets is one way to
//! switch the limits off.
//!
//! Where namespaces hold ([`Confinement::Full`]), the supervisor is the first process of the job's
//! own process namespace ([`FIRST`]), and the only one there that is not the job's. The kernel then
//! keeps every signal of the job from it, SIGKILL and SIGSTOP included (pid_namespaces(7)), and a
//! job may set what it likes of its own threads, as libraries of threads do by their numbers. In
//! the fallback tier, the numbers of all processes of the machine are in reach, and a filter cannot
//! tell which of them are the job's, so there a job names no process but itself.
//!
//! The table is a list of what exists, not only of what is refused: a call that is missing here has
//! not been thought of.

use libc::c_long;

use crate::helper::filter::conditions::{Condition, Rules, any, when, when_not};
use crate::tier::Confinement;

/// The supervisor's number in the full tier.
pub(crate) const FIRST: u64 = 1;
/// The value of `which` in [`libc::SYS_ioprio_set`] for all processes of a user (linux/ioprio.h);
/// of `setpriority`, it is [`libc::PRIO_USER`].
const IOPRIO_WHO_USER: u64 = 3;
const PRIO_USER: u64 = 2;
/// `PR_SCHED_CORE` (linux/prctl.h).
const PR_SCHED_CORE: u64 = 62;

/// The ways in which a job may use a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Refused in every tier, whichever process is named.
    Never,
    /// Refused in every tier if the first argument has this value; the call has other uses.
    NeverWith(u64),
    /// Changes the process that this argument names; 0 is the caller.
    Changes { pid: u8 },
    /// Changes a process, or all of a group or of a user: the arguments are the kind and the
    /// number, and this kind is that of a user.
    ChangesKind { of_user: u64 },
    /// Sends a signal. Besides what the module says, Landlock keeps signals inside where it has
    /// scopes; in the fallback tier without them, only a signal to the caller's own process group
    /// is allowed, by the call whose first argument names it.
    Signals { own_group: bool },
    /// Allowed: the kernel itself grants it for children and oneself alone, or gives nothing but
    /// facts.
    Harmless,
}

/// A system call that takes a process.
pub(crate) struct ByPid {
    pub(crate) call: c_long,
    pub(crate) may: Use,
    /// Why it is so.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for those who read the table, and for its test")
    )]
    pub(crate) why: &'static str,
}

const fn by_pid(call: c_long, may: Use, why: &'static str) -> ByPid {
    ByPid { call, may, why }
}

/// Every system call that takes a process, a thread, a group or a descriptor of one.
#[rustfmt::skip]
pub(crate) const TABLE: &[ByPid] = &[
    by_pid(libc::SYS_ptrace, Use::Never,
        "reads and changes everything of a process; also evades filters"),
    by_pid(libc::SYS_process_vm_readv, Use::Never, "reads another process's memory"),
    by_pid(libc::SYS_process_vm_writev, Use::Never, "writes another process's memory"),
    by_pid(libc::SYS_process_madvise, Use::Never,
        "pages another process's memory out, which slows its looks down"),
    by_pid(libc::SYS_process_mrelease, Use::Never,
        "takes the memory of a process that is being killed"),
    by_pid(libc::SYS_pidfd_getfd, Use::Never,
        "copies another process's descriptors, such as the one for orders"),
    by_pid(libc::SYS_kcmp, Use::Never, "compares kernel addresses of two processes"),
    by_pid(libc::SYS_move_pages, Use::Never, "moves another process's memory"),
    by_pid(libc::SYS_migrate_pages, Use::Never, "moves another process's memory"),
    by_pid(libc::SYS_setns, Use::Never, "enters the namespaces of a process"),
    by_pid(libc::SYS_perf_event_open, Use::Never, "watches another process"),
    by_pid(libc::SYS_prctl, Use::NeverWith(PR_SCHED_CORE),
        "keeps another process off a processor that the job is on"),
    by_pid(libc::SYS_prlimit64, Use::Changes { pid: 0 },
        "without files or time, the supervisor sees and ends nothing"),
    by_pid(libc::SYS_sched_setscheduler, Use::Changes { pid: 0 },
        "behind every other process, it looks too late"),
    by_pid(libc::SYS_sched_setparam, Use::Changes { pid: 0 }, "as above"),
    by_pid(libc::SYS_sched_setattr, Use::Changes { pid: 0 }, "as above"),
    by_pid(libc::SYS_sched_setaffinity, Use::Changes { pid: 0 },
        "on a processor that the job keeps busy, it looks too late"),
    by_pid(libc::SYS_setpriority, Use::ChangesKind { of_user: PRIO_USER },
        "behind every other process, it looks too late"),
    by_pid(libc::SYS_ioprio_set, Use::ChangesKind { of_user: IOPRIO_WHO_USER },
        "as above, where it reads a disk"),
    by_pid(libc::SYS_kill, Use::Signals { own_group: true }, "programs end and ask their children"),
    by_pid(libc::SYS_tkill, Use::Signals { own_group: false }, "programs signal their threads"),
    by_pid(libc::SYS_tgkill, Use::Signals { own_group: false }, "programs signal their threads"),
    by_pid(libc::SYS_rt_sigqueueinfo, Use::Signals { own_group: false }, "as `kill`, with a value"),
    by_pid(libc::SYS_rt_tgsigqueueinfo, Use::Signals { own_group: false },
        "as `tgkill`, with a value"),
    by_pid(libc::SYS_pidfd_send_signal, Use::Signals { own_group: false },
        "as `kill`, by a descriptor"),
    by_pid(libc::SYS_pidfd_open, Use::Harmless,
        "a descriptor tells when a process ends; what it could do is refused by the calls that \
         take it"),
    by_pid(libc::SYS_setpgid, Use::Harmless,
        "the kernel allows it for the caller and for children that run no other program yet"),
    by_pid(libc::SYS_wait4, Use::Harmless, "the kernel allows it for children alone"),
    by_pid(libc::SYS_waitid, Use::Harmless,
        "the kernel allows it for children alone, also by a descriptor"),
    by_pid(libc::SYS_capset, Use::Harmless, "the kernel allows it for the caller alone"),
    by_pid(libc::SYS_capget, Use::Harmless,
        "a fact: jobs have no capabilities, and the supervisor's are no secret"),
    by_pid(libc::SYS_getpgid, Use::Harmless, "a fact"),
    by_pid(libc::SYS_getsid, Use::Harmless, "a fact"),
    by_pid(libc::SYS_getpriority, Use::Harmless, "a fact"),
    by_pid(libc::SYS_ioprio_get, Use::Harmless, "a fact"),
    by_pid(libc::SYS_sched_getscheduler, Use::Harmless, "a fact"),
    by_pid(libc::SYS_sched_getparam, Use::Harmless, "a fact"),
    by_pid(libc::SYS_sched_getattr, Use::Harmless, "a fact"),
    by_pid(libc::SYS_sched_getaffinity, Use::Harmless, "a fact"),
    by_pid(libc::SYS_sched_rr_get_interval, Use::Harmless, "a fact"),
    by_pid(libc::SYS_get_robust_list, Use::Harmless,
        "the kernel demands what `ptrace` would: the supervisor is not dumpable"),
    by_pid(libc::SYS_clock_gettime, Use::Harmless,
        "a fact: the number of a clock may be that of a process"),
    by_pid(libc::SYS_clock_getres, Use::Harmless, "as above"),
    by_pid(libc::SYS_clock_nanosleep, Use::Harmless, "as above; it is the caller that sleeps"),
    by_pid(libc::SYS_timer_create, Use::Harmless,
        "as above; its signal goes to a thread of the caller"),
    by_pid(libc::SYS_futex, Use::Harmless,
        "a lock names its owner, who gets the caller's priority until it is released, and never a \
         lower one"),
];

/// Returns the rules that refuse calls of the table in a tier. `signals_scoped` is whether Landlock
/// keeps signals inside.
pub(crate) fn refused(confinement: Confinement, signals_scoped: bool) -> Result<Rules, String> {
    let mut rules = Rules::new();
    for ByPid { call, may, .. } in TABLE {
        match refused_by(*may, confinement, signals_scoped) {
            Refused::Nothing => {}
            Refused::Always => {
                rules.insert(*call, Vec::new());
            }
            Refused::If(conditions) => {
                rules.insert(*call, any(conditions)?);
            }
        }
    }
    Ok(rules)
}

enum Refused {
    Nothing,
    Always,
    /// If any of them holds.
    If(Vec<Condition>),
}

/// Holds if an argument names another process than the caller. In the full tier, that is the
/// supervisor or one whose number is as high.
fn names_other(argument: u8, is_full: bool) -> Condition {
    if is_full {
        when(argument, FIRST)
    } else {
        when_not(argument, 0)
    }
}

fn refused_by(may: Use, confinement: Confinement, signals_scoped: bool) -> Refused {
    let is_full = confinement == Confinement::Full;
    match may {
        Use::Never => Refused::Always,
        Use::NeverWith(value) => Refused::If(vec![when(0, value)]),
        Use::Changes { pid } => Refused::If(vec![names_other(pid, is_full)]),
        Use::ChangesKind { of_user } => {
            Refused::If(vec![when(0, of_user), names_other(1, is_full)])
        }
        Use::Signals { .. } if is_full || signals_scoped => Refused::Nothing,
        Use::Signals { own_group: true } => Refused::If(vec![when_not(0, 0)]),
        Use::Signals { own_group: false } => Refused::Always,
        Use::Harmless => Refused::Nothing,
    }
}
