//! Finds and ends every descendant of this process.
//!
//! This process is a child subreaper, so each descendant whose parent ends becomes its child. As
//! long as a descendant is alive, this process has a child; when it has none, nothing is left.
//! Double forks and new sessions do not change that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::sys;

/// How long the first pass of killing waits before the next; each later one waits twice as long.
const FIRST_PASS: Duration = Duration::from_millis(1);
/// The longest wait between two passes: no constant search for processes that hang in the kernel
/// for seconds.
const LONGEST_PASS: Duration = Duration::from_millis(50);

/// What the descendants use together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Usage {
    /// The number of threads, so that a bomb of threads counts too.
    pub(super) tasks: u64,
    /// Resident memory; pages shared by several processes count for each of them.
    pub(super) resident_bytes: u64,
    /// The processor time of those that live, and of all that they or this process have waited for.
    pub(super) cpu: Duration,
    /// Resident memory in bytes, by process id.
    pub(super) processes: BTreeMap<i32, u64>,
}

/// Reaps every child that has ended; returns their ids and statuses, and whether a child is left.
pub(super) fn reap() -> (Vec<(Pid, WaitStatus)>, bool) {
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

/// Sends a signal to every descendant.
pub(super) fn signal_all(signal: Signal) {
    self::signal(&descendants().into_keys().collect(), signal);
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
#[expect(clippy::disallowed_methods, reason = "other processes' ends wake nobody who is not their parent")]
pub(super) fn kill_all(patience: Duration) {
    let mut seen = BTreeSet::new();
    let mut until = Instant::now() + patience;
    let mut pass = FIRST_PASS;
    // Most programs leave no process, which needs no search.
    while reap().1 {
        let left: BTreeSet<i32> = descendants().into_keys().collect();
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
pub(super) fn usage() -> Usage {
    let page = rustix::param::page_size() as u64;
    let family = family_by_children().unwrap_or_else(descendants);
    let mut usage = Usage { cpu: sys::used_by_children().cpu, ..Usage::default() };
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    for (pid, stat) in family {
        let resident = stat.resident_pages * page;
        usage.tasks += stat.threads;
        usage.resident_bytes += resident;
        usage.cpu += Duration::from_millis(stat.cpu_ticks.saturating_mul(1_000) / ticks);
        usage.processes.insert(pid, resident);
    }
    usage
}

/// The fields of `/proc/<pid>/stat` that matter here (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: i32,
    /// The processor time of the process and of the children that it has waited for, its own and the kernel's.
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
            let others = fields.by_ref().take(3).filter_map(|ticks| ticks.parse::<u64>().ok());
            others.fold(own, u64::saturating_add)
        },
        threads: fields.nth(2)?.parse().ok()?,
        resident_pages: fields.nth(3)?.parse().ok()?,
    })
}

/// Finds the descendants from parent to child, without looking at other processes; returns `None`
/// if the kernel does not list children (`CONFIG_PROC_CHILDREN`).
fn family_by_children() -> Option<BTreeMap<i32, Stat>> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut open = children_of_thread(own, own)?;
    let mut family = BTreeMap::new();
    while let Some(pid) = open.pop() {
        let Some(stat) = stat_of(pid) else { continue };
        if family.insert(pid, stat).is_none() {
            open.extend(children(pid, stat.threads));
        }
    }
    Some(family)
}

/// Lists the children of all threads of a process.
fn children(pid: i32, threads: u64) -> Vec<i32> {
    if threads == 1 {
        return children_of_thread(pid, pid).unwrap_or_default();
    }
    let names = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    threads.filter_map(|thread| children_of_thread(pid, thread)).flatten().collect()
}

fn children_of_thread(pid: i32, thread: i32) -> Option<Vec<i32>> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()?;
    Some(listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

fn stat_of(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn descendants() -> BTreeMap<i32, Stat> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut all: BTreeMap<i32, Stat> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, stat_of(pid)?)))
        .collect();
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
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_stat_with_a_hostile_name() {
        let text = "42 (a) R 1 (b) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 999 12345 678 184 1 1";
        let stat = Stat { parent: 7, cpu_ticks: 5 + 6 + 7 + 8, threads: 3, resident_pages: 678 };
        assert_eq!(parse_stat(text), Some(stat));
        assert_eq!(parse_stat(""), None);
    }
}
