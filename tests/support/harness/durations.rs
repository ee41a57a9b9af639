//! How long tests take: the longest are printed at the end where this is asked for.

use std::fs;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable with the number of tests to print.
pub(crate) const DURATIONS: &str = "ORCHESTRATE_DURATIONS";

/// Ticks per second in `/proc`: `USER_HZ`, which Linux fixes for programs.
const TICKS: u64 = 100;
/// The number of fields of `/proc/self/stat` between the program's name and its own times: state to
/// `cmajflt`. `utime` and `stime` are followed by those of its children (`proc(5)`).
const BEFORE_TIMES: usize = 11;

static TAKEN: Mutex<Vec<Taken>> = Mutex::new(Vec::new());

/// What a test has taken.
struct Taken {
    name: String,
    wall: Duration,
    /// The CPU time of this process and of its children meanwhile, also for tests beside it.
    processor: Duration,
}

/// Runs a test and notes how long that takes.
pub(crate) fn noted<T>(name: &str, test: impl FnOnce() -> T) -> T {
    let (since, before) = (Instant::now(), processor_time());
    let outcome = test();
    let processor = processor_time().saturating_sub(before);
    let taken = Taken {
        name: name.to_owned(),
        wall: since.elapsed(),
        processor,
    };
    TAKEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(taken);
    outcome
}

/// Prints the longest tests. Their CPU time is theirs only if no other test runs beside them.
pub(crate) fn print_longest(most: usize, is_alone: bool) {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    taken.sort_by_key(|taken| std::cmp::Reverse(taken.wall));
    let mut out = io::stdout().lock();
    for Taken {
        name,
        wall,
        processor,
    } in taken.iter().take(most)
    {
        let processor = if is_alone {
            format!("{:>8.2} s of CPU", processor.as_secs_f64())
        } else {
            String::new()
        };
        // A closed output fails no test.
        let _ = writeln!(out, "{:>8.2} s {processor}  {name}", wall.as_secs_f64());
    }
}

fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may contain anything.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks = fields
        .skip(BEFORE_TIMES)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * (1_000 / TICKS))
}
