//! Finds and ends every descendant of this process.
//!
//! This process is a child subreaper, so each descendant whose parent ends becomes its child. As
//! long as a descendant is alive, this process has a child; when it has none, nothing is left.
//! Double forks and new sessions do not change that.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::sys;

/// How long the first pass of killing waits before the next; each later one waits twice as long.
const FIRST_PASS: Duration = Duration::from_millis(1);
/// The longest wait between two passes: no constant search for processes that hang in the kernel
/// for seconds.
const LONGEST_PASS: Duration = Duration::from_millis(50);

/// The usage of all descendants together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The number of threads, so that a bomb of threads counts too.
    pub(crate) tasks: u64,
    /// Resident memory; pages shared by several processes count for each of them.
    pub(crate) resident_bytes: u64,
    /// The processor time of those that live, and of all that they or this process have waited for.
    pub(crate) cpu: Duration,
    /// Resident memory in bytes, by process id.
    pub(crate) processes: BTreeMap<i32, u64>,
}

/// Reaps every child that has ended; returns their ids and statuses, and whether a child is left.
pub(crate) fn reap() -> (Vec<(Pid, WaitStatus)>, bool) {
    let mut ended = Vec::new();
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(one)) => ended.push(one),
            Ok(None) => return (ended, true),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return (ended, false),
        }
    }
}

/// Sends a signal to every descendant; to none if they cannot be found, which their later end by
/// force makes up for.
pub(crate) fn signal_all(signal: Signal) {
    if let Ok(all) = descendants() {
        self::signal(&all.into_keys().collect(), signal);
    }
}

fn signal(pids: &BTreeSet<i32>, signal: Signal) {
    for pid in pids.iter().copied().filter_map(Pid::from_raw) {
        // It may have ended in the meantime.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills every descendant and returns when none is left.
///
/// Gives up only on processes that hang in the kernel, where no signal reaches them: if the same
/// ones remain for `patience` and no new one appears. Processes that still fork are not given up,
/// because no other process would end them.
#[expect(
    clippy::disallowed_methods,
    reason = "other processes' ends wake nobody who is not their parent"
)]
pub(crate) fn kill_all(patience: Duration) {
    let mut seen = BTreeSet::new();
    let mut until = Instant::now() + patience;
    let mut pass = FIRST_PASS;
    // Most programs leave no process, which needs no search.
    while reap().1 {
        // What cannot be looked for now is looked for in the next pass.
        let left: BTreeSet<i32> = match descendants() {
            Ok(all) => all.into_keys().collect(),
            Err(_) => BTreeSet::new(),
        };
        signal(&left, Signal::KILL);
        if !reap().1 {
            return;
        }
        if !left.is_subset(&seen) {
            until = Instant::now() + patience;
        } else if Instant::now() > until {
            return;
        }
        seen = left;
        std::thread::sleep(pass);
        pass = LONGEST_PASS.min(pass * 2);
    }
}

/// Sums up what all descendants use. A process that starts during the scan may be missed until the
/// next one.
///
/// # Errors
/// If something of a process that is alive cannot be read: what it uses is then unknown.
pub(crate) fn usage() -> io::Result<Usage> {
    let page = rustix::param::page_size() as u64;
    let family = match family_by_children()? {
        Some(family) => family,
        None => descendants()?,
    };
    let mut usage = Usage {
        cpu: sys::used_by_children().cpu,
        ..Usage::default()
    };
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    for (pid, stat) in family {
        let resident = stat.resident_pages * page;
        usage.tasks += stat.threads;
        usage.resident_bytes += resident;
        usage.cpu += Duration::from_millis(stat.cpu_ticks.saturating_mul(1_000) / ticks);
        usage.processes.insert(pid, resident);
    }
    Ok(usage)
}

/// The fields of `/proc/<pid>/stat` that matter here (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: i32,
    /// The processor time of the process and of the children that it has waited for, its own and
    /// the kernel's.
    cpu_ticks: u64,
    threads: u64,
    resident_pages: u64,
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The program's name, in parentheses, may itself contain any character.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(1);
    Some(Stat {
        parent: fields.next()?.parse().ok()?,
        cpu_ticks: {
            let own = fields.nth(9)?.parse::<u64>().ok()?;
            let others = fields
                .by_ref()
                .take(3)
                .filter_map(|ticks| ticks.parse::<u64>().ok());
            others.fold(own, u64::saturating_add)
        },
        threads: fields.nth(2)?.parse().ok()?,
        resident_pages: fields.nth(3)?.parse().ok()?,
    })
}

/// Finds the descendants from parent to child, without looking at other processes; returns `None`
/// if the kernel does not list children (`CONFIG_PROC_CHILDREN`).
fn family_by_children() -> io::Result<Option<BTreeMap<i32, Stat>>> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Some(mut open) = children_of_thread(own, own)? else {
        return Ok(None);
    };
    let mut family = BTreeMap::new();
    while let Some(pid) = open.pop() {
        let Some(stat) = stat_of(pid)? else { continue };
        if family.insert(pid, stat).is_none() {
            open.extend(children(pid, stat.threads)?);
        }
    }
    Ok(Some(family))
}

/// Lists the children of all threads of a process.
fn children(pid: i32, threads: u64) -> io::Result<Vec<i32>> {
    if threads == 1 {
        return Ok(children_of_thread(pid, pid)?.unwrap_or_default());
    }
    let mut children = Vec::new();
    for thread in numbers(&format!("/proc/{pid}/task"))?.unwrap_or_default() {
        children.extend(children_of_thread(pid, thread)?.unwrap_or_default());
    }
    Ok(children)
}

/// Lists the children of a thread; `None` if it has ended, or if the kernel does not list them.
fn children_of_thread(pid: i32, thread: i32) -> io::Result<Option<Vec<i32>>> {
    let file = format!("/proc/{pid}/task/{thread}/children");
    let Some(listed) = unless_ended(std::fs::read_to_string(file))? else {
        return Ok(None);
    };
    let mut children = Vec::new();
    for pid in listed.split_ascii_whitespace() {
        children.extend(pid.parse::<i32>());
    }
    Ok(Some(children))
}

/// Lists the entries of a folder whose names are numbers; `None` if it is that of a process that
/// has ended.
fn numbers(folder: &str) -> io::Result<Option<Vec<i32>>> {
    let Some(entries) = unless_ended(std::fs::read_dir(folder))? else {
        return Ok(None);
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let Some(entry) = unless_ended(entry)? else {
            break;
        };
        let name = entry.file_name();
        if let Some(name) = name.to_str() {
            numbers.extend(name.parse::<i32>());
        }
    }
    Ok(Some(numbers))
}

/// Reads what matters of a process; `None` if it has ended.
fn stat_of(pid: i32) -> io::Result<Option<Stat>> {
    let Some(text) = unless_ended(std::fs::read_to_string(format!("/proc/{pid}/stat")))? else {
        return Ok(None);
    };
    match parse_stat(&text) {
        Some(stat) => Ok(Some(stat)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Returns what was read of a process in `/proc`; `None` if it has ended. Any other failure is one
/// of the look.
pub(crate) fn unless_ended<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if has_ended(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reports whether a look at a process failed because it has ended.
pub(crate) fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn descendants() -> io::Result<BTreeMap<i32, Stat>> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut all = BTreeMap::new();
    for pid in numbers("/proc")?.unwrap_or_default() {
        match stat_of(pid) {
            Ok(stat) => all.extend(stat.map(|stat| (pid, stat))),
            // Another user's process, where they are hidden.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    let mut family = BTreeSet::from([own]);
    // Ids wrap around, so a child may have a smaller one than its parent: repeat until none is
    // added.
    loop {
        let found: Vec<i32> = all
            .iter()
            .filter(|(pid, stat)| family.contains(&stat.parent) && !family.contains(*pid))
            .map(|(pid, _)| *pid)
            .collect();
        if found.is_empty() {
            break;
        }
        family.extend(found);
    }
    family.remove(&own);
    all.retain(|pid, _| family.contains(pid));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_process_excuses_a_look() {
        let failed = |errno| unless_ended::<()>(Err(io::Error::from_raw_os_error(errno)));
        assert!(matches!(
            (failed(libc::ENOENT), failed(libc::ESRCH)),
            (Ok(None), Ok(None))
        ));
        for errno in [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EACCES] {
            assert_eq!(failed(errno).unwrap_err().raw_os_error(), Some(errno));
        }
    }

    #[test]
    fn parses_stat_with_a_hostile_name() {
        let text =
            "42 (a) R 1 (b) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 999 12345 678 184 1 1";
        let stat = Stat {
            parent: 7,
            cpu_ticks: 5 + 6 + 7 + 8,
            threads: 3,
            resident_pages: 678,
        };
        assert_eq!(parse_stat(text), Some(stat));
        assert_eq!(parse_stat(""), None);
    }
}
