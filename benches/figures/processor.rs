//! CPU time and memory, as the kernel counts them for this process or thread.

use std::fs;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::time::{ClockId, clock_gettime};

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
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let times: Vec<f64> = fields
        .skip(BEFORE_TIMES)
        .take(4)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let times: [f64; 4] = times
        .try_into()
        .map_err(|_| Failed::from("the kernel tells no times"))?;
    Ok(times.map(|ticks| ticks / TICKS))
}

/// Returns the CPU time of this thread for an act.
pub(crate) fn time_of(act: impl FnOnce()) -> Result<Duration, Failed> {
    let now = || {
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime))
            .map_err(|_| Failed::from("no CPU time"))
    };
    let before = now()?;
    act();
    Ok(now()?.saturating_sub(before))
}

/// Returns a value from this process's `/proc/self/status` (`proc(5)`), in kB.
pub(crate) fn status_kb(name: &str) -> Result<u64, Failed> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let line = line.ok_or_else(|| Failed::from(format!("the kernel tells no {name}")))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
