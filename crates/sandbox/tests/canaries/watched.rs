//! The process that keeps the limits: no command reaches it, and what it cannot see counts as too
//! much.

use std::time::Duration;

use orchestrate_sandbox::{Confinement, Exit, Job, Limits};

use crate::probe::REFUSED;
use crate::support::{Scene, Tested, own_program};
use crate::{Body, Named};

/// Ways to hinder the process that watches a job, each by one call.
const WAYS: [&str; 9] = [
    "watcher-files",
    "watcher-time",
    "watcher-policy",
    "watcher-processors",
    "watcher-priority",
    "watcher-group-priority",
    "watcher-user-priority",
    "watcher-io-priority",
    "watcher-stop",
];
/// Half of what is hoarded, and more processor time than the attacks need.
const MEMORY_LIMIT: u64 = 96 << 20;
const CPU_LIMIT: Duration = Duration::from_millis(300);
/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(60);

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut tests: Vec<(String, Body)> = Vec::new();
    for name in WAYS {
        tests.push((
            format!("watched::{name}"),
            Box::new(move || is_out_of_reach(&Scene::new(tested), name)),
        ));
    }
    let named: &[Named] = if confinement == Confinement::Unconfined {
        &[(
            "what_cannot_be_seen_counts_as_too_much",
            what_cannot_be_seen_counts_as_too_much,
        )]
    } else {
        &[
            (
                "memory_is_limited_whatever_a_command_tries",
                memory_is_limited_whatever_a_command_tries,
            ),
            (
                "time_is_limited_whatever_a_command_tries",
                time_is_limited_whatever_a_command_tries,
            ),
            (
                "a_program_sets_its_own_limits_and_processors",
                a_program_sets_its_own_limits_and_processors,
            ),
        ]
    };
    let bind = |(name, test): &Named| {
        let test = *test;
        (
            format!("watched::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    tests.extend(named.iter().map(bind));
    tests
}

/// The watcher is the parent of a job's program.
fn is_out_of_reach(scene: &Scene, name: &str) {
    let job = scene.probe_job(&[name]);
    // Without limits, a watcher that is hindered ends nothing.
    let ended = scene.run(&Job {
        limits: Limits {
            processes: None,
            ..job.limits
        },
        ..job
    });
    let through = match ended.exit {
        Exit::Code(0) => true,
        Exit::Code(REFUSED) => false,
        other => panic!("{other}: {}", ended.stderr.text()),
    };
    // The control: nothing keeps an unconfined program from it.
    assert_eq!(
        through,
        scene.sandbox.confinement() == Confinement::Unconfined,
        "{}",
        ended.stdout.text()
    );
}

fn hindering(scene: &Scene, then: &str, memory_bytes: Option<u64>, cpu: Option<Duration>) -> Exit {
    let job = scene.job(own_program(), &[crate::probe::ARG, "watcher-all", then]);
    let limits = Limits {
        timeout: LONG,
        memory_bytes,
        cpu,
        ..job.limits
    };
    let ended = scene.run(&Job { limits, ..job });
    let said = ended.stdout.text() + &ended.stderr.text();
    assert!(said.starts_with("0 of 9 got through\n"), "{said}");
    ended.exit
}

fn memory_is_limited_whatever_a_command_tries(scene: &Scene) {
    assert_eq!(
        hindering(scene, "hoard-own", Some(MEMORY_LIMIT), None),
        Exit::MemoryLimit
    );
    // The control: without the limit it gets through.
    assert_eq!(hindering(scene, "end", None, None), Exit::Code(0));
}

fn time_is_limited_whatever_a_command_tries(scene: &Scene) {
    assert_eq!(
        hindering(scene, "compute-on", None, Some(CPU_LIMIT)),
        Exit::CpuLimit
    );
}

/// The job takes from its watcher the files that a look needs, which only an unconfined one can.
fn what_cannot_be_seen_counts_as_too_much(scene: &Scene) {
    let ends = |args: &[&str], memory_bytes: Option<u64>| {
        let job = scene.probe_job(args);
        scene
            .run(&Job {
                limits: Limits {
                    timeout: LONG,
                    memory_bytes,
                    ..job.limits.clone()
                },
                ..job
            })
            .exit
    };
    assert_eq!(
        ends(&["watcher-files", "wait"], Some(u64::MAX)),
        Exit::Unseen
    );
    // The control: what is seen and is little ends by itself.
    assert_eq!(
        ends(&["watcher-priority", "end"], Some(u64::MAX)),
        Exit::Code(0)
    );
}

fn a_program_sets_its_own_limits_and_processors(scene: &Scene) {
    let (through, said) = scene.probe(&["own-limits"]);
    assert!(through, "{said}");
    // Libraries of threads name threads by their numbers; the fallback tier cannot tell whose they
    // are.
    let (through, said) = scene.probe(&["own-threads"]);
    assert_eq!(
        through,
        scene.sandbox.confinement() == Confinement::Full,
        "{said}"
    );
}
