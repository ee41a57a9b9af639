//! CPU time and memory, as the kernel counts them for this process or thread.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::time::{ClockId, clock_gettime};

use super::ms;

/// Ticks per second in `/proc`: `USER_HZ`, which Linux fixes for programs.
const TICKS: f64 = 100.0;
/// The number of fields of `/proc/self/stat` between the program's name and its own times: state to
/// `stime`. The times of its children follow.
const BEFORE_TIMES: usize = 13;

/// Returns the CPU time of all children that have ended, including their own children.
pub(crate) fn children_seconds() -> Result<f64, Failed> {
    let [user, system] = times_of_children()?;
    Ok(user + system)
}

/// Returns the CPU time of this process, to the nanosecond, and of all children that have ended.
pub(crate) fn seconds() -> Result<f64, Failed> {
    let own = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime))?;
    Ok(own.as_secs_f64() + children_seconds()?)
}

/// Returns the anonymous memory of all processes below this one, in MB.
pub(crate) fn anonymous_mb_below() -> Result<f64, Failed> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let name = entry.file_name();
        // Processes end while they are listed, and kernel threads have no such memory.
        if let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok())
            && let Ok(status) = fs::read_to_string(entry.path().join("status"))
            && let Some(parent) = field(&status, "PPid")
        {
            found.insert(id, (parent, field(&status, "RssAnon").unwrap_or_default()));
        }
    }
    let own = u64::from(std::process::id());
    let is_below = |mut id: u64| {
        while let Some((parent, _)) = u32::try_from(id).ok().and_then(|id| found.get(&id)) {
            if *parent == own {
                return true;
            }
            id = *parent;
        }
        false
    };
    let below = found.iter().filter(|(id, _)| is_below(u64::from(**id)));
    let kib: u64 = below.map(|(_, (_, kib))| kib).sum();
    Ok(kib as f64 / 1024.0)
}

/// Returns a number from the text of a `/proc/PID/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Reads `cutime` and `cstime` of `proc(5)`, in seconds.
fn times_of_children() -> Result<[f64; 2], Failed> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may contain anything.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut times = fields
        .split_whitespace()
        .skip(BEFORE_TIMES)
        .map(str::parse::<f64>);
    let mut next = || match times.next() {
        Some(Ok(ticks)) => Ok(ticks / TICKS),
        _ => Err(Failed::from("the kernel tells no times")),
    };
    Ok([next()?, next()?])
}

/// Returns the CPU time of this thread for an act, in milliseconds.
pub(crate) fn cpu_ms(act: impl FnOnce()) -> Result<f64, Failed> {
    let before = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))?;
    act();
    let after = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))?;
    Ok(ms(after.saturating_sub(before)))
}

/// Returns a value from this process's `/proc/self/status` (`proc(5)`), in kB.
pub(crate) fn status_kb(name: &str) -> Result<u64, Failed> {
    let status = fs::read_to_string("/proc/self/status")?;
    field(&status, name).ok_or_else(|| Failed::from(format!("the kernel tells no {name}")))
}
