//! CPU time and memory, as the kernel counts them for this process or thread.

use std::fs;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::time::{ClockId, clock_gettime};

use super::ms;

/// Ticks per second in `/proc`: `USER_HZ`, which Linux fixes for programs.
const TICKS: f64 = 100.0;
/// The number of fields of `/proc/self/stat` between the program's name and its own times: state to
/// `cmajflt`. `utime` and `stime` are followed by those of its children.
const BEFORE_TIMES: usize = 11;

/// Returns the CPU time of all children that have ended, including their own children.
pub(crate) fn children_seconds() -> Result<f64, Failed> {
    let [.., user, system] = times()?;
    Ok(user + system)
}

/// Returns the CPU time of this process and of all children that have ended.
pub(crate) fn seconds() -> Result<f64, Failed> {
    Ok(times()?.iter().sum())
}

/// Reads `utime`, `stime`, `cutime` and `cstime` of `proc(5)`, in seconds.
fn times() -> Result<[f64; 4], Failed> {
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
    Ok([next()?, next()?, next()?, next()?])
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
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let line = line.ok_or_else(|| Failed::from(format!("the kernel tells no {name}")))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
