//! Attempts, inside the sandbox, to hinder the process that watches the job: the parent of this
//! program.

#![expect(
    unsafe_code,
    reason = "the attempts are raw system calls on this program's own parent"
)]

use std::io;
use std::time::{Duration, Instant};

use super::{call, check, hoard};

/// The attempts of `watcher-all`, in an order in which none prevents a later one.
const ALL: [&str; 9] = [
    "watcher-priority",
    "watcher-group-priority",
    "watcher-user-priority",
    "watcher-io-priority",
    "watcher-policy",
    "watcher-processors",
    "watcher-time",
    "watcher-files",
    "watcher-stop",
];
/// As long as any of the tests takes.
const WAIT: Duration = Duration::from_secs(55);
/// How long a signal takes at most to stop a process.
const UNTIL_STOPPED: Duration = Duration::from_secs(5);

/// Makes one of these attempts; returns `None` if the name is of another one.
pub(super) fn attempt(name: &str, then: &str) -> Option<io::Result<()>> {
    let tried = match name {
        "own-limits" => own_limits(),
        "own-threads" => check(unsafe {
            libc::setpriority(libc::PRIO_PROCESS, libc::gettid().cast_unsigned(), 19)
        })
        .and_then(|()| affinity(unsafe { libc::gettid() })),
        "watcher-all" => {
            let through = ALL
                .iter()
                .filter(|name| one(name).is_some_and(|tried| tried.is_ok()))
                .count();
            println!("{through} of {} got through", ALL.len());
            Ok(())
        }
        _ => one(name)?,
    };
    Some(tried.and_then(|()| afterwards(then)))
}

fn one(name: &str) -> Option<io::Result<()>> {
    let watcher = unsafe { libc::getppid() };
    let who = watcher.cast_unsigned();
    Some(match name {
        "watcher-files" => limit(watcher, libc::RLIMIT_NOFILE, 4),
        "watcher-time" => limit(watcher, libc::RLIMIT_CPU, 3_600),
        "watcher-policy" => {
            let idle = libc::sched_param { sched_priority: 0 };
            check(unsafe { libc::sched_setscheduler(watcher, libc::SCHED_IDLE, &raw const idle) })
        }
        "watcher-processors" => affinity(watcher),
        "watcher-priority" => check(unsafe { libc::setpriority(libc::PRIO_PROCESS, who, 5) }),
        "watcher-group-priority" => {
            let group = unsafe { libc::getpgid(watcher) };
            check(unsafe { libc::setpriority(libc::PRIO_PGRP, group.cast_unsigned(), 5) })
        }
        // The present value: an unconfined attempt must not slow the whole machine down.
        "watcher-user-priority" => {
            let own = unsafe { libc::getuid() };
            let present = unsafe { libc::getpriority(libc::PRIO_USER, own) };
            let set =
                check(unsafe { libc::setpriority(libc::PRIO_USER, own, present.max(0)) }).map(drop);
            match set {
                // It has reached them all. Some, such as those of another test, have a lower
                // priority, which their user may not raise. A refused call fails with EPERM.
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(()),
                set => set,
            }
        }
        "watcher-io-priority" => {
            // The class of best effort, and its last place (linux/ioprio.h).
            let (which, last) = (1, (2 << 13) | 7);
            call(unsafe { libc::syscall(libc::SYS_ioprio_set, which, watcher, last) }).map(drop)
        }
        "watcher-stop" => stopped(watcher),
        _ => return None,
    })
}

fn limit(pid: libc::pid_t, resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    check(unsafe { libc::prlimit(pid, resource, &raw const limit, std::ptr::null_mut()) })
}

/// Keeps a process on the processor that this one is on.
fn affinity(pid: libc::pid_t) -> io::Result<()> {
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let own = usize::try_from(unsafe { libc::sched_getcpu() }).map_err(io::Error::other)?;
    unsafe { libc::CPU_SET(own, &mut set) };
    check(unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &raw const set) })
}

/// Stops a process, sees to it, and lets it continue.
fn stopped(pid: libc::pid_t) -> io::Result<()> {
    check(unsafe { libc::kill(pid, libc::SIGSTOP) })?;
    let until = Instant::now() + UNTIL_STOPPED;
    let state = || -> io::Result<bool> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Ok(stat
            .rsplit_once(')')
            .is_some_and(|(_, fields)| fields.trim_start().starts_with('T')))
    };
    while !state()? {
        if Instant::now() > until {
            return Err(io::Error::other("it does not stop"));
        }
        std::thread::yield_now();
    }
    check(unsafe { libc::kill(pid, libc::SIGCONT) })
}

/// What programs do for themselves, by the number that means the caller.
fn own_limits() -> io::Result<()> {
    limit(0, libc::RLIMIT_CORE, 0)?;
    affinity(0)?;
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) })?;
    check(unsafe { libc::kill(libc::getpid(), libc::SIGCONT) })
}

fn afterwards(then: &str) -> io::Result<()> {
    match then {
        "wait" => std::thread::sleep(WAIT),
        "compute-on" => {
            let until = Instant::now() + WAIT;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        "hoard-own" => return hoard::attempt(then, "wait").unwrap_or(Ok(())),
        _ => {}
    }
    Ok(())
}
