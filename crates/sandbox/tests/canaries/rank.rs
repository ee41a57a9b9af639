//! The processor time of the sandbox's own processes, and the lower priority of the job.

#![expect(unsafe_code, reason = "no safe wrapper traces a process")]

use std::fs;
use std::time::Duration;

use orchestrate_sandbox::{Cancel, Exit, Job, Limits};

use crate::support::{PATIENCE, Scene, Tested, alive, helpers_above, unique_seconds, within};
use crate::{Body, Named};

/// How often the supervisor must have gone back to sleep; it wakes up by itself each time.
const SLEEPS: u64 = 2;
/// Processor time that a supervisor that only sleeps never needs, in ticks (a hundredth of a second
/// each).
const MOST_TICKS: u64 = 30;

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let all: Vec<Named> = vec![
        (
            "a_supervisor_sleeps_beside_an_end_that_takes_long",
            a_supervisor_sleeps_beside_an_end_that_takes_long,
        ),
        ("nothing_runs_in_real_time", nothing_runs_in_real_time),
    ];
    let bind = |(name, test): Named| {
        (
            format!("rank::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

/// Runs a job that sleeps, and calls `look` with its process and the sandbox's own above it, the
/// nearest first.
fn beside<T: Send>(scene: &Scene, look: impl FnOnce(i32, &[i32]) -> T) -> (Exit, T) {
    let (seconds, cancel) = (unique_seconds(), Cancel::new());
    // Without limits, only its own tick wakes the supervisor.
    let limits = Limits {
        processes: None,
        memory_bytes: None,
        ..Limits::default()
    };
    let job = Job {
        limits,
        ..scene.job("sleep", &[seconds.as_str()])
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || alive(&seconds).len() == 1));
        let program = alive(&seconds)[0];
        let looked = look(program, &helpers_above(&[program]));
        cancel.kill();
        (running.join().unwrap().exit, looked)
    })
}

/// A tracer is notified of a process's end first. Until it has waited for the process, all
/// descriptors of the process hang up, but it cannot be reaped.
fn a_supervisor_sleeps_beside_an_end_that_takes_long(scene: &Scene) {
    let (exit, (sleeps, ticks)) = beside(scene, |program, helpers| {
        let supervisor = helpers[0];
        // SAFETY: traces a process that this test has started, without touching its memory.
        let traced = unsafe { libc::ptrace(libc::PTRACE_SEIZE, program, 0, 0) };
        assert_eq!(traced, 0, "{}", std::io::Error::last_os_error());
        let before = (sleeps(supervisor), ticks(supervisor));
        // SAFETY: ends the same process.
        unsafe { libc::kill(program, libc::SIGKILL) };
        assert!(within(PATIENCE, || field(program, STATE) == "Z"));
        let spent = || (sleeps(supervisor) - before.0, ticks(supervisor) - before.1);
        assert!(within(Duration::from_secs(60), || spent().0 >= SLEEPS
            || spent().1 >= MOST_TICKS));
        let spent = spent();
        // SAFETY: waits for the end, which leaves the process to its parent.
        unsafe { libc::waitpid(program, std::ptr::null_mut(), libc::__WALL) };
        spent
    });
    assert!(
        ticks < MOST_TICKS,
        "the supervisor slept {sleeps} times in {ticks} ticks"
    );
    assert!(matches!(exit, Exit::Signal(9) | Exit::Cancelled), "{exit}");
}

fn nothing_runs_in_real_time(scene: &Scene) {
    let (_, (program, helpers)) = beside(scene, |program, helpers| {
        let rank = |pid: i32| (field(pid, POLICY), field(pid, NICE).parse::<i32>().unwrap());
        (
            rank(program),
            helpers.iter().map(|pid| rank(*pid)).collect::<Vec<_>>(),
        )
    });
    let own = field(i32::try_from(std::process::id()).unwrap(), NICE)
        .parse::<i32>()
        .unwrap();
    assert_eq!(helpers, vec![("0".to_owned(), own); helpers.len()]);
    assert_eq!(program.0, "0");
    // The kernel counts the processes of all users but root, and refuses further ones.
    assert_eq!(program.1 > own, rustix::process::getuid().is_root());
}

/// Fields of `/proc/<pid>/stat` after the program's name (proc(5)).
const STATE: usize = 0;
const USER_TIME: usize = 11;
const SYSTEM_TIME: usize = 12;
const NICE: usize = 16;
const POLICY: usize = 38;

fn field(pid: i32, index: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(index)
        .unwrap()
        .to_owned()
}

fn ticks(pid: i32) -> u64 {
    [USER_TIME, SYSTEM_TIME]
        .map(|index| field(pid, index).parse::<u64>().unwrap())
        .iter()
        .sum()
}

/// Returns how often a process has voluntarily gone to sleep.
fn sleeps(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .unwrap();
    count.trim().parse().unwrap()
}
