//! How jobs end: no process survives, limits hold, and the result arrives in time.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use orchestrate_sandbox::{
    Cancel, Captured, Confinement, Exit, Finished, HostView, Job, Limits, Network, SandboxError,
    View,
};

use crate::support::{
    PATIENCE, Scene, Tested, alive, coordinator_of, helpers_above, unique_seconds, within,
};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut all: Vec<Named> = vec![
        ("passes_codes_and_signals", passes_codes_and_signals),
        ("passes_standard_input", passes_standard_input),
        (
            "names_a_program_that_is_not_there",
            names_a_program_that_is_not_there,
        ),
        (
            "returns_when_the_command_exits_and_ends_daemons",
            returns_when_the_command_exits_and_ends_daemons,
        ),
        ("time_limit_ends_daemons", time_limit_ends_daemons),
        ("cancel_ends_the_job", cancel_ends_the_job),
        ("a_kill_asks_nobody", a_kill_asks_nobody),
        ("keeps_head_and_tail", keeps_head_and_tail),
        ("output_limit_ends_the_job", output_limit_ends_the_job),
        ("file_limit_ends_the_writer", file_limit_ends_the_writer),
        ("fork_bomb_is_bounded", fork_bomb_is_bounded),
        ("memory_is_bounded", memory_is_bounded),
        (
            "nothing_survives_the_coordinator",
            nothing_survives_the_coordinator,
        ),
        ("nothing_survives_the_supervisor", |scene| {
            nothing_survives(scene, Victim::Supervisor)
        }),
        ("nothing_survives_who_started_the_supervisor", |scene| {
            nothing_survives(scene, Victim::Outermost)
        }),
    ];
    if confinement == Confinement::Full {
        all.push((
            "fork_bomb_that_doubles_is_bounded",
            fork_bomb_that_doubles_is_bounded,
        ));
    }
    if confinement == Confinement::Fallback {
        all.push((
            "what_ended_was_not_stopped_while_its_files_go",
            what_ended_was_not_stopped_while_its_files_go,
        ));
    }
    if confinement == Confinement::Unconfined {
        all.push(("daemons_outlive_a_shell", daemons_outlive_a_shell));
    } else {
        // Without confinement `kill -9 -1` would end the machine.
        all.push((
            "killing_everything_kills_only_the_job",
            killing_everything_kills_only_the_job,
        ));
    }
    let bind = |(name, test): Named| {
        (
            format!("lifetime::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

/// The number of processes that [`daemons`] leaves.
const DAEMONS: usize = 4;

/// Returns a script that leaves a child, a grandchild and a daemon with a session of its own, all
/// of which ignore SIGTERM.
fn daemons(seconds: &str) -> String {
    let deaf = "trap '' TERM HUP INT;";
    format!(
        "{deaf} sleep {seconds} & (sleep {seconds} &) ; (setsid sh -c \"{deaf} sleep {seconds} & sleep {seconds}\" &);"
    )
}

fn passes_codes_and_signals(scene: &Scene) {
    assert_eq!(scene.says("exit 0").0, Exit::Code(0));
    assert_eq!(scene.says("exit 137").0, Exit::Code(137));
    assert_eq!(scene.says("kill -9 $$").0, Exit::Signal(9));
    assert_eq!(scene.says("kill -TERM $$").0, Exit::Signal(15));
}

fn passes_standard_input(scene: &Scene) {
    let stdin = vec![b'a'; 3 << 20];
    let finished = scene.run(&Job {
        stdin: stdin.clone(),
        ..scene.sh("wc -c")
    });
    assert_eq!(finished.stdout.text().trim(), stdin.len().to_string());
    assert_eq!(scene.says("wc -c").1.trim(), "0");
}

fn names_a_program_that_is_not_there(scene: &Scene) {
    let missing = scene.try_run(&scene.job("no-such-program", &[]));
    assert!(
        matches!(missing, Err(SandboxError::ProgramNotFound { .. })),
        "{missing:?}"
    );
    // A search fails with the refusal of a path that it could not execute, even if it found no
    // program.
    let closed = scene.root.path().join("closed");
    std::fs::create_dir_all(scene.root.path().join("others/no-such-program")).unwrap();
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    for folder in ["closed", "others"].map(|name| scene.root.path().join(name)) {
        let path = std::env::join_paths([folder, "/usr/bin".into()]).unwrap();
        let job = Job {
            env: [("PATH".into(), path)].into(),
            ..scene.job("no-such-program", &[])
        };
        let missing = scene.try_run(&job);
        assert!(
            matches!(missing, Err(SandboxError::ProgramNotFound { .. })),
            "{missing:?}"
        );
        assert_eq!(
            scene
                .run(&Job {
                    program: "true".into(),
                    ..job
                })
                .exit,
            Exit::Code(0)
        );
    }
    std::fs::remove_dir(closed).unwrap();
    std::fs::write(scene.root.path().join("text"), "x").unwrap();
    let text = scene.try_run(&scene.job(scene.root.path().join("text"), &[]));
    assert!(
        matches!(text, Err(SandboxError::NotExecutable { .. })),
        "{text:?}"
    );
}

fn returns_when_the_command_exits_and_ends_daemons(scene: &Scene) {
    let seconds = unique_seconds();
    let job = scene.sh(&format!(
        "{} until [ -e go ]; do sleep 0.01; done; echo done",
        daemons(&seconds)
    ));
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run(&job));
        assert!(within(PATIENCE, || alive(&seconds).len() == DAEMONS));
        std::fs::write(scene.root.path().join("go"), "").unwrap();
        running.join().unwrap()
    });
    assert_eq!(
        (finished.exit, finished.stdout.text().as_str()),
        (Exit::Code(0), "done\n")
    );
    assert_eq!(alive(&seconds), [0; 0]);
}

/// The control of every test of daemons: they outlive an unconfined shell.
fn daemons_outlive_a_shell(_: &Scene) {
    let seconds = unique_seconds();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{} wait", daemons(&seconds))])
        .stderr(Stdio::null());
    let mut shell = shell.spawn().unwrap();
    let begun = within(PATIENCE, || alive(&seconds).len() == DAEMONS);
    shell.kill().unwrap();
    shell.wait().unwrap();
    let survivors = alive(&seconds);
    for pid in survivors
        .iter()
        .filter_map(|pid| rustix::process::Pid::from_raw(*pid))
    {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!((begun, survivors.len()), (true, DAEMONS));
}

fn time_limit_ends_daemons(scene: &Scene) {
    let seconds = unique_seconds();
    let finished = out_of_time(scene, &format!("{} wait", daemons(&seconds)), || {
        alive(&seconds).len() == DAEMONS
    });
    assert_eq!(finished.exit, Exit::TimedOut);
    assert_eq!(alive(&seconds), [0; 0]);
    let polite = format!("trap 'echo bye; exit 0' TERM; sleep {seconds} & wait");
    let finished = out_of_time(scene, &polite, || alive(&seconds).len() == 1);
    assert_eq!(
        (finished.exit, finished.stdout.text().as_str()),
        (Exit::TimedOut, "bye\n")
    );
}

/// Runs a script into its time limit, but not before `begun` holds: on a loaded machine that takes
/// longer.
fn out_of_time(scene: &Scene, script: &str, begun: impl Fn() -> bool) -> Finished {
    for timeout in [300, 3_000, 30_000].map(Duration::from_millis) {
        let mut job = scene.sh(script);
        job.limits.timeout = timeout;
        let (finished, has_begun) = std::thread::scope(|scope| {
            let running = scope.spawn(|| scene.run(&job));
            let has_begun = within(timeout, &begun);
            (running.join().unwrap(), has_begun)
        });
        if has_begun {
            assert!(
                finished.duration < timeout + PATIENCE,
                "{:?}",
                finished.duration
            );
            return finished;
        }
    }
    panic!("it did not begin: {script}");
}

fn what_ended_was_not_stopped_while_its_files_go(scene: &Scene) {
    const FILES: usize = 2_000;
    let script = format!(
        "for n in $(seq {FILES}); do : >\"$TMPDIR/$n\"; done; echo \"$TMPDIR\" >new; mv new folder"
    );
    let cancel = Cancel::new();
    let job = scene.sh(&script);
    let named = scene.root.path().join("folder");
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || named.exists()));
        let folder = std::fs::read_to_string(&named).unwrap();
        let left = || std::fs::read_dir(folder.trim()).map_or(0, Iterator::count);
        assert!(within(PATIENCE, || left() < FILES));
        cancel.cancel();
        running.join().unwrap()
    });
    assert_eq!(finished.exit, Exit::Code(0));
}

/// Runs a script until it has touched `started`, then stops it and returns the result.
fn stopped(scene: &Scene, script: &str, stop: impl Fn(&Cancel)) -> (Finished, Cancel) {
    let (cancel, started) = (Cancel::new(), scene.root.path().join("started"));
    let job = scene.sh(script);
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || started.exists()));
        stop(&cancel);
        running.join().unwrap()
    });
    std::fs::remove_file(started).unwrap();
    (finished, cancel)
}

fn cancel_ends_the_job(scene: &Scene) {
    let script = "touch started; sleep 60";
    let (finished, cancel) = stopped(scene, script, Cancel::cancel);
    assert_eq!(finished.exit, Exit::Cancelled);
    assert_eq!(
        scene.sandbox.run(&scene.sh(script), &cancel).unwrap().exit,
        Exit::Cancelled,
        "the level stays up"
    );
}

fn a_kill_asks_nobody(scene: &Scene) {
    let asked = |stop: fn(&Cancel)| {
        let script = "trap 'echo asked' TERM; touch started; while :; do sleep 0.05; done";
        let (finished, _) = stopped(scene, script, stop);
        (finished.exit, finished.stdout.text())
    };
    assert_eq!(
        asked(Cancel::cancel),
        (Exit::Cancelled, "asked\n".to_owned())
    );
    assert_eq!(asked(Cancel::kill), (Exit::Cancelled, String::new()));
}

fn keeps_head_and_tail(scene: &Scene) {
    let mut job = scene
        .sh("printf start; head -c 1000000 /dev/zero | tr '\\0' x; printf end; printf err >&2");
    job.limits.kept_output_bytes = 10;
    let Finished {
        exit,
        stdout,
        stderr,
        ..
    } = scene.run(&job);
    let expected = Captured {
        head: b"start".to_vec(),
        tail: b"xxend".to_vec(),
        total_bytes: 1_000_008,
    };
    let errors = Captured {
        head: b"err".to_vec(),
        tail: Vec::new(),
        total_bytes: 3,
    };
    assert_eq!((exit, stdout, stderr), (Exit::Code(0), expected, errors));
}

fn output_limit_ends_the_job(scene: &Scene) {
    let mut job = scene.job("yes", &[]);
    job.limits.max_output_bytes = 1 << 20;
    let finished = scene.run(&job);
    assert_eq!(finished.exit, Exit::OutputLimit);
    assert!(
        finished.stdout.total_bytes < 4 << 20,
        "{}",
        finished.stdout.total_bytes
    );
}

fn file_limit_ends_the_writer(scene: &Scene) {
    let mut job = scene.sh("head -c 3000000 /dev/zero > big; ls -l big | awk '{print $5}'");
    job.limits.file_bytes = Some(1 << 20);
    assert_eq!(scene.run(&job).stdout.text().trim(), "1048576");
}

fn fork_bomb_is_bounded(scene: &Scene) {
    const BOMB: usize = 600;
    let seconds = unique_seconds();
    let mut job = scene.sh(&format!(
        "for i in $(seq {BOMB}); do sleep {seconds} & done 2>/dev/null; touch all; wait"
    ));
    job.limits.timeout = Duration::from_secs(60);
    job.limits.processes = Some(60);
    // The kernel refuses an ordinary user's forks; for root and in the fallback tier, the
    // supervisor ends the job. Neither takes until the time limit.
    let finished = scene.run(&job);
    assert!(
        matches!(finished.exit, Exit::ProcessLimit | Exit::Code(1..)),
        "{}",
        finished.exit
    );
    assert_eq!(alive(&seconds), [0; 0]);
    // The control: without the limit, all of them get through.
    job.limits.processes = None;
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || alive(&seconds).len() == BOMB));
        cancel.cancel();
    });
    assert_eq!(alive(&seconds), [0; 0]);
}

/// Only a process namespace reliably ends a bomb that doubles: elsewhere it would take down the
/// whole machine.
fn fork_bomb_that_doubles_is_bounded(scene: &Scene) {
    // Ends by itself below a thousand processes: a test must not be able to take the machine down.
    let mut bomb =
        scene.sh("b() { [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & wait; } || { sleep 2; echo leaf; }; }; b 8");
    bomb.limits.timeout = Duration::from_secs(60);
    let leaves = |job: &Job| scene.run(job).stdout.text().lines().count();
    bomb.limits.processes = Some(60);
    let bounded = leaves(&bomb);
    bomb.limits.processes = None;
    // The control: without the limit, every leaf runs.
    assert_eq!(
        (bounded < 60, leaves(&bomb)),
        (true, 256),
        "{bounded} leaves within the limit"
    );
}

fn memory_is_bounded(scene: &Scene) {
    let mut job =
        scene.sh("for i in 1 2 3 4; do (head -c 60000000 /dev/zero | tail -c 60000000 | sleep 20) & done; wait");
    job.limits.memory_bytes = Some(100 << 20);
    assert_eq!(scene.run(&job).exit, Exit::MemoryLimit);
}

fn killing_everything_kills_only_the_job(scene: &Scene) {
    let seconds = unique_seconds();
    let mut outside = Command::new("sleep").arg(&seconds).spawn().unwrap();
    let finished = scene.run(&scene.sh("kill -9 -1; echo still here"));
    assert!(
        outside.try_wait().unwrap().is_none(),
        "a process outside was killed"
    );
    // The control: without confinement, a job's signal to that process alone arrives.
    let control = Scene::new(Tested::UNCONFINED);
    assert_eq!(
        control
            .run(&control.sh(&format!("kill -9 {}", outside.id())))
            .exit,
        Exit::Code(0)
    );
    outside.wait().unwrap();
    // Whether the shell receives its own signal to all processes depends on the tier's process
    // namespace.
    assert!(
        matches!(finished.exit, Exit::Code(0) | Exit::Signal(9)),
        "{}",
        finished.exit
    );
}

fn nothing_survives_the_coordinator(scene: &Scene) {
    let seconds = unique_seconds();
    let mut coordinator =
        coordinator_of(scene, &format!("{} touch started; wait", daemons(&seconds)))
            .spawn()
            .unwrap();
    assert!(within(PATIENCE, || scene
        .root
        .path()
        .join("started")
        .exists()));
    // The shell continues before its background processes have started.
    assert!(within(PATIENCE, || alive(&seconds).len() == DAEMONS));
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    assert!(
        within(PATIENCE, || alive(&seconds).is_empty()),
        "{:?} survived",
        alive(&seconds)
    );
}

/// The process of the sandbox that is killed.
#[derive(Clone, Copy)]
enum Victim {
    /// The one that started the program.
    Supervisor,
    /// The child of the coordinator: the guardian, or bubblewrap.
    Outermost,
}

fn nothing_survives(scene: &Scene, victim: Victim) {
    let seconds = unique_seconds();
    let job = scene.sh(&format!("{} touch started; wait", daemons(&seconds)));
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run(&job));
        assert!(within(PATIENCE, || scene
            .root
            .path()
            .join("started")
            .exists()));
        assert!(within(PATIENCE, || alive(&seconds).len() == DAEMONS));
        let helpers = helpers_above(&alive(&seconds));
        let killed = match victim {
            Victim::Supervisor => helpers.first(),
            Victim::Outermost if scene.tested == Tested::named("fallback_in_rooms") => {
                // The last one keeps the room, and no job depends on it.
                helpers.iter().rev().nth(1)
            }
            Victim::Outermost => helpers.last(),
        };
        let killed = rustix::process::Pid::from_raw(*killed.unwrap()).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        assert!(
            within(PATIENCE, || alive(&seconds).is_empty()),
            "{:?} survived",
            alive(&seconds)
        );
        running.join().unwrap()
    });
    assert_eq!(finished.exit, Exit::Signal(9));
}

/// The main function of the child of some tests: runs one job and prints its output, unless it is
/// killed.
pub(crate) fn coordinator(args: &[String]) {
    print!(
        "{}",
        Tested::named(&args[1])
            .sandbox()
            .run(&job_of(&args[2], &args[3]), &Cancel::new())
            .unwrap()
            .stdout
            .text()
    );
}

/// Returns a job that runs a script in a folder.
pub(crate) fn job_of(root: &str, script: &str) -> Job {
    let root = std::path::PathBuf::from(root);
    Job {
        view: View::Host(HostView {
            writable: vec![root.clone()],
            ..HostView::default()
        }),
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: root,
        stdin: Vec::new(),
        env: BTreeMap::new(),
        network: Network::None,
        limits: Limits::default(),
    }
}
