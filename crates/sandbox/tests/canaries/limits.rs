//! Limits of memory and disk: a job that exceeds one is ended alone, before the machine is in
//! trouble.
//!
//! Each attempt has its control: without the limit, it gets through.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use orchestrate_sandbox::{Cancel, Confinement, Exit, Job, Limits};

use crate::support::{PATIENCE, Scene, Tested, alive, own_program, unique_seconds, within};
use crate::{Body, Named};

/// Ways to hold 192 MiB. Only the last shows in the size of a process.
const HOARDS: [&str; 5] = [
    "hoard-memory-file",
    "hoard-let-go-mapping",
    "hoard-in-a-socket",
    "hoard-hidden",
    "hoard-own",
];
/// Ways to hold 192 MiB on a disk, in files that have no name and that no process has open.
const FILLS: [&str; 2] = ["fill-mapped", "fill-in-a-socket"];
/// Half of what is hoarded.
const MEMORY_LIMIT: u64 = 96 << 20;
const DISK_LIMIT: u64 = 48 << 20;
/// Far longer than any test waits.
const LONG: Duration = Duration::from_secs(100);

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut tests: Vec<(String, Body)> = Vec::new();
    for name in HOARDS {
        tests.push((
            format!("limits::{name}"),
            Box::new(move || hoards(&Scene::new(tested), name)),
        ));
    }
    for name in FILLS {
        tests.push((
            format!("limits::{name}"),
            Box::new(move || fills_unseen(&Scene::new(tested), name)),
        ));
    }
    let mut all: Vec<Named> = vec![
        ("shared_pages_count_once", shared_pages_count_once),
        (
            "the_kernel_kills_a_command_first",
            the_kernel_kills_a_command_first,
        ),
        ("processor_time_is_bounded", processor_time_is_bounded),
        (
            "processor_time_of_processes_that_ended_counts",
            processor_time_of_processes_that_ended_counts,
        ),
        (
            "a_full_worktree_ends_the_command_alone",
            a_full_worktree_ends_the_command_alone,
        ),
        ("files_without_a_name_count", files_without_a_name_count),
        ("many_small_files_count", many_small_files_count),
        ("short_commands_add_up", short_commands_add_up),
        (
            "one_file_of_many_processes_counts_once",
            one_file_of_many_processes_counts_once,
        ),
        (
            "a_full_worktree_can_be_cleared",
            a_full_worktree_can_be_cleared,
        ),
        (
            "too_many_files_end_the_command_alone",
            too_many_files_end_the_command_alone,
        ),
        (
            "too_many_files_can_be_deleted",
            too_many_files_can_be_deleted,
        ),
    ];
    if confinement == Confinement::Full {
        all.push((
            "temporary_files_in_memory_count",
            temporary_files_in_memory_count,
        ));
        all.push(("segments_count", segments_count));
    } else {
        // In the full tier, a job sees no segments but its own.
        all.push((
            "segments_of_others_do_not_count",
            segments_of_others_do_not_count,
        ));
    }
    let bind = |(name, test): Named| {
        (
            format!("limits::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    tests.extend(all.into_iter().map(bind));
    tests
}

fn limited(job: Job, memory_bytes: Option<u64>, disk_bytes: Option<u64>) -> Job {
    let limits = Limits {
        timeout: LONG,
        memory_bytes,
        disk_bytes,
        ..job.limits
    };
    Job { limits, ..job }
}

/// The probe reports when it holds everything, and then waits to be ended if it is told to.
fn hoards(scene: &Scene, name: &str) {
    let job = |then: &str| scene.job(own_program(), &[crate::probe::ARG, name, then]);
    let ended = scene.run(&limited(job("wait"), Some(MEMORY_LIMIT), None));
    assert_eq!(
        ended.exit,
        Exit::MemoryLimit,
        "{}{}",
        ended.stdout.text(),
        ended.stderr.text()
    );
    // The control: without the limit it gets through.
    let control = scene.run(&limited(job("end"), None, None));
    assert_eq!(
        (control.exit, control.stdout.text().as_str()),
        (Exit::Code(0), "held\n"),
        "{}",
        control.stderr.text()
    );
}

fn segments_count(scene: &Scene) {
    hoards(scene, "hoard-segment");
}

/// Forked processes share the pages that they have not changed, as tests and servers do.
fn shared_pages_count_once(scene: &Scene) {
    let job = scene.job(
        own_program(),
        &[crate::probe::ARG, "share-with-children", "end"],
    );
    let ended = scene.run(&limited(job, Some(256 << 20), None));
    assert_eq!(
        (ended.exit, ended.stdout.text().as_str()),
        (Exit::Code(0), "held\n"),
        "{}",
        ended.stderr.text()
    );
}

/// A database of the machine may hold far more than a command may use.
fn segments_of_others_do_not_count(scene: &Scene) {
    // Several checks of the supervisor.
    let job = scene.sh("sleep 0.3; echo done");
    crate::probe::beside_a_segment(|| {
        let ended = scene.run(&limited(job, Some(crate::probe::SEGMENT / 2), None));
        assert_eq!(
            (ended.exit, ended.stdout.text().as_str()),
            (Exit::Code(0), "done\n"),
            "{}",
            ended.stderr.text()
        );
    })
    .unwrap();
}

fn the_kernel_kills_a_command_first(scene: &Scene) {
    let seconds = unique_seconds();
    let lower = if scene.sandbox.confinement() == Confinement::Unconfined {
        ":"
    } else {
        "echo 0 >/proc/self/oom_score_adj"
    };
    let job = scene.sh(&format!("({lower}) 2>/dev/null; exec sleep {seconds}"));
    let cancel = Cancel::new();
    let score = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        let runs = within(PATIENCE, || !alive(&seconds).is_empty());
        let scores: Vec<String> = alive(&seconds).into_iter().map(score).collect();
        cancel.cancel();
        assert!(runs);
        assert!(
            scores.iter().all(|score| score.trim() == "1000"),
            "{scores:?}"
        );
    });
    // The control: this process is not killed first.
    assert_ne!(score(std::process::id().cast_signed()).trim(), "1000");
}

/// How much processor time a job may use; less than one computation of the probe takes twice.
const CPU_LIMIT: Duration = Duration::from_millis(200);

fn computes(scene: &Scene, script: &str) {
    let compute = format!(
        "'{}' {} compute end",
        own_program().display(),
        crate::probe::ARG
    );
    let script = script.replace("COMPUTE", &compute);
    let job = |cpu, then: &str| {
        let job = scene.sh(&format!("{script}; {then}"));
        Job {
            limits: Limits {
                timeout: LONG,
                cpu,
                ..job.limits.clone()
            },
            ..job
        }
    };
    let ended = scene.run(&job(Some(CPU_LIMIT), "sleep 90"));
    assert_eq!(
        ended.exit,
        Exit::CpuLimit,
        "{}{}",
        ended.stdout.text(),
        ended.stderr.text()
    );
    // The control: without the limit it gets through.
    let control = scene.run(&job(None, "true"));
    assert_eq!(control.exit, Exit::Code(0), "{}", control.stderr.text());
}

fn processor_time_is_bounded(scene: &Scene) {
    computes(scene, "COMPUTE & COMPUTE & wait");
}

/// No process alone uses much.
fn processor_time_of_processes_that_ended_counts(scene: &Scene) {
    computes(scene, "COMPUTE; COMPUTE");
}

/// Held by tests that fill a disk, and for writing by one that hides what it fills: only the space
/// that the file system has lost shows that, and what another test frees meanwhile would offset it.
static DISK: RwLock<()> = RwLock::new(());

fn beside_others_on_disk() -> RwLockReadGuard<'static, ()> {
    DISK.read().unwrap_or_else(PoisonError::into_inner)
}

fn fills(scene: &Scene, script: &str) {
    let _beside = beside_others_on_disk();
    let ended = scene.run(&limited(
        scene.sh(&format!("{script}; echo full; sleep 90")),
        None,
        Some(DISK_LIMIT),
    ));
    assert_eq!(
        ended.exit,
        Exit::DiskLimit,
        "{}{}",
        ended.stdout.text(),
        ended.stderr.text()
    );
    // The control: without the limit it gets through.
    let control = scene.run(&limited(
        scene.sh(&format!("rm -rf ./*; {script}; echo full")),
        None,
        None,
    ));
    assert_eq!(
        (control.exit, control.stdout.text().as_str()),
        (Exit::Code(0), "full\n"),
        "{}",
        control.stderr.text()
    );
}

fn a_full_worktree_ends_the_command_alone(scene: &Scene) {
    fills(
        scene,
        "mkdir -p a/b; for i in 1 2 3; do head -c 32000000 /dev/zero > a/b/$i; done",
    );
}

fn files_without_a_name_count(scene: &Scene) {
    fills(
        scene,
        "exec 8>f 9>g; rm f g; head -c 48000000 /dev/zero >&8; head -c 48000000 /dev/zero >&9",
    );
}

fn many_small_files_count(scene: &Scene) {
    fills(
        scene,
        "mkdir -p many; cd many; for i in $(seq 16000); do : > $i; done",
    );
}

const FILES_LIMIT: u64 = 500;

fn run_with_files(scene: &Scene, script: &str, most: Option<u64>) -> Exit {
    let job = limited(scene.sh(script), None, None);
    scene
        .run(&Job {
            limits: Limits {
                disk_files: most,
                ..job.limits.clone()
            },
            ..job
        })
        .exit
}

/// Neither folders nor links count differently.
fn too_many_files_end_the_command_alone(scene: &Scene) {
    let _beside = beside_others_on_disk();
    for way in [
        "touch $(seq 600)",
        "mkdir -p $(seq 600)",
        // Copied, since `ln` would be started for each of them.
        "mkdir l; for i in $(seq 30); do ln -s nowhere l/$i; done; for i in $(seq 20); do cp -R l $i; done",
    ] {
        let script = |then: &str| format!("mkdir d; cd d; {way}; {then}");
        assert_eq!(
            run_with_files(scene, &script("sleep 90"), Some(FILES_LIMIT)),
            Exit::FilesLimit,
            "{way}"
        );
        assert_eq!(
            run_with_files(scene, "rm -r d", Some(FILES_LIMIT)),
            Exit::Code(0)
        );
        // The control: without the limit it gets through.
        assert_eq!(run_with_files(scene, &script("true"), None), Exit::Code(0));
        assert_eq!(run_with_files(scene, "rm -r d", None), Exit::Code(0));
    }
}

/// Names of one file are no files.
fn too_many_files_can_be_deleted(scene: &Scene) {
    let _beside = beside_others_on_disk();
    let run = |script: &str| run_with_files(scene, script, Some(FILES_LIMIT));
    assert_eq!(
        run("touch a; for i in $(seq 600); do ln a $i; done"),
        Exit::Code(0)
    );
    assert_eq!(
        run_with_files(scene, "rm *; touch $(seq 600)", None),
        Exit::Code(0)
    );
    assert_eq!(run("touch $(seq 601 1700)"), Exit::FilesLimit);
    assert_eq!(run("rm $(seq 50)"), Exit::Code(0));
    assert_eq!(run("rm *; touch less"), Exit::Code(0));
}

/// Above the limit, commands that only free space still run; one that continues to write does not.
fn a_full_worktree_can_be_cleared(scene: &Scene) {
    let _beside = beside_others_on_disk();
    let file = |name: &str| scene.root.path().join(name);
    for name in ["a", "b"] {
        std::fs::write(file(name), vec![1; 48 << 20]).unwrap();
    }
    let run = |script: &str| scene.run(&limited(scene.sh(script), None, Some(DISK_LIMIT)));
    assert_eq!(run("head -c 64000000 /dev/zero > c").exit, Exit::DiskLimit);
    assert_eq!(run("head -c 64000000 /dev/zero >> b").exit, Exit::DiskLimit);
    assert!(folder_bytes(scene) < 97 << 20);
    assert_eq!(run("ls; rm a c").stdout.text(), "a\nb\nc\n");
    let less = run("truncate -s 9 b; echo less > d; cat d");
    assert_eq!(
        (less.exit, less.stdout.text().as_str()),
        (Exit::Code(0), "less\n")
    );
}

fn folder_bytes(scene: &Scene) -> u64 {
    scene
        .root
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

/// No command runs long enough for a check.
fn short_commands_add_up(scene: &Scene) {
    let _beside = beside_others_on_disk();
    let run = |script: &str, most| scene.run(&limited(scene.sh(script), None, most)).exit;
    let write = |number: u64, most| run(&format!("head -c 5000000 /dev/zero > {number}"), most);
    let ends: Vec<Exit> = (0..40)
        .map(|number| write(number, Some(DISK_LIMIT)))
        .collect();
    // It is the tenth, unless another test frees some of the same disk meanwhile.
    let first = ends.iter().position(|end| *end == Exit::DiskLimit).unwrap();
    assert!((10..=15).contains(&first), "{ends:?}");
    assert!(
        ends[first..].iter().all(|end| *end == Exit::DiskLimit),
        "{ends:?}"
    );
    assert!(
        folder_bytes(scene) < DISK_LIMIT + (32 << 20),
        "{}",
        folder_bytes(scene)
    );
    assert_eq!(run("rm *", Some(DISK_LIMIT)), Exit::Code(0));
    assert_eq!(write(1, Some(DISK_LIMIT)), Exit::Code(0));
    assert!((0..15).all(|number| write(number, None) == Exit::Code(0)));
    // Files that were written without a limit count too.
    assert_eq!(write(15, Some(DISK_LIMIT)), Exit::DiskLimit);
}

fn fills_unseen(scene: &Scene, name: &str) {
    let _alone = DISK.write().unwrap_or_else(PoisonError::into_inner);
    let job = |then: &str| scene.job(own_program(), &[crate::probe::ARG, name, then]);
    let ended = scene.run(&limited(job("wait"), None, Some(DISK_LIMIT)));
    assert_eq!(
        ended.exit,
        Exit::DiskLimit,
        "{}{}",
        ended.stdout.text(),
        ended.stderr.text()
    );
    // The control: without the limit it gets through.
    let control = scene.run(&limited(job("end"), None, None));
    assert_eq!(
        (control.exit, control.stdout.text().as_str()),
        (Exit::Code(0), "held\n"),
        "{}",
        control.stderr.text()
    );
}

/// The file is like a log that was unlinked and that every child has open.
fn one_file_of_many_processes_counts_once(scene: &Scene) {
    let _beside = beside_others_on_disk();
    let hold = "exec 8>f; rm f; head -c 20000000 /dev/zero >&8; for i in 1 2 3 4; do sleep 1 & done; \
                for i in 1 2 3 4 5 6; do head -c 40000000 /dev/zero > g; rm g; done; wait";
    let ended = scene.run(&limited(scene.sh(hold), None, Some(64 << 20)));
    assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr.text());
}

fn temporary_files_in_memory_count(scene: &Scene) {
    for folder in ["/tmp", "~"] {
        let script = |then: &str| format!("head -c 128000000 /dev/zero > {folder}/f; {then}");
        let ended = scene.run(&limited(
            scene.sh(&script("sleep 90")),
            Some(MEMORY_LIMIT),
            None,
        ));
        assert_eq!(ended.exit, Exit::MemoryLimit);
        assert_eq!(
            scene
                .run(&limited(scene.sh(&script("true")), None, None))
                .exit,
            Exit::Code(0)
        );
    }
}
