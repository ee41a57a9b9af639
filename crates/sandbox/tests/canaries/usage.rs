//! What a job used is measured, whichever of its processes used it.

use std::time::Duration;

use orchestrate_sandbox::{Cancel, Exit, Job, Limits, Usage};

use crate::probe::{ARG, COMPUTED, HELD};
use crate::support::{PATIENCE, Scene, Tested, alive, own_program, unique_seconds, within};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let all: [Named; 5] = [
        (
            "the_time_of_all_processes_counts",
            the_time_of_all_processes_counts,
        ),
        (
            "the_memory_of_a_process_that_ended_counts",
            the_memory_of_a_process_that_ended_counts,
        ),
        (
            "processes_that_are_alive_together_count",
            processes_that_are_alive_together_count,
        ),
        (
            "a_job_that_was_ended_is_measured",
            a_job_that_was_ended_is_measured,
        ),
        (
            "what_was_written_counts_even_if_it_was_removed",
            what_was_written_counts_even_if_it_was_removed,
        ),
    ];
    let bind = |(name, test): Named| {
        (
            format!("usage::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.map(bind).into()
}

fn used(scene: &Scene, script: &str) -> Usage {
    let finished = scene.run(&scene.sh(script));
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stderr.text());
    finished.usage.unwrap()
}

/// Returns a line of a script that makes this program a probe.
fn probe(name: &str) -> String {
    format!("'{}' {ARG} {name} end", own_program().display())
}

fn the_time_of_all_processes_counts(scene: &Scene) {
    let compute = probe("compute");
    assert!(used(scene, &format!("{compute} & {compute}; wait")).cpu >= COMPUTED * 2);
    // The control: a program that only waits takes little.
    assert!(used(scene, "sleep 0.3").cpu < COMPUTED);
}

fn the_memory_of_a_process_that_ended_counts(scene: &Scene) {
    let (held, idle) = (used(scene, &probe("hoard-own")), used(scene, "true"));
    assert!(held.peak_memory_bytes >= HELD, "{held:?}");
    assert!((1..HELD / 2).contains(&idle.peak_memory_bytes), "{idle:?}");
}

/// The processes are still there when the program ends, so they are seen however short it runs.
fn processes_that_are_alive_together_count(scene: &Scene) {
    assert_eq!(
        used(scene, "sleep 1000 & sleep 1000 & sleep 1000 & exit 0").peak_processes,
        4
    );
    assert_eq!(used(scene, "exit 0").peak_processes, 1);
}

fn a_job_that_was_ended_is_measured(scene: &Scene) {
    let seconds = unique_seconds();
    let job = scene.sh(&format!(
        "{}; sleep {seconds} & exec sleep {seconds}",
        probe("compute")
    ));
    let job = Job {
        limits: Limits {
            timeout: PATIENCE,
            ..job.limits.clone()
        },
        ..job
    };
    let cancel = Cancel::new();
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || alive(&seconds).len() == 2));
        cancel.cancel();
        running.join().unwrap()
    });
    let usage = ended.usage.unwrap();
    assert_eq!((ended.exit, usage.peak_processes), (Exit::Cancelled, 2));
    assert!(
        usage.cpu >= COMPUTED && usage.cpu < Duration::from_secs(60),
        "{usage:?}"
    );
}

fn what_was_written_counts_even_if_it_was_removed(scene: &Scene) {
    let written = used(scene, "head -c 5000000 /dev/zero > f; rm f").written_bytes;
    // Files in memory are written to no disk.
    let is_in_memory = rustix::fs::statfs(scene.root.path()).unwrap().f_type == libc::TMPFS_MAGIC;
    assert!(
        if is_in_memory {
            written == 0
        } else {
            written >= 5_000_000
        },
        "{written}"
    );
    assert_eq!(used(scene, "true").written_bytes, 0);
}
