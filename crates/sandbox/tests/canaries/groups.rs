//! Control groups: what the kernel limits exactly, and that nothing is left of them.
//!
//! They need a group that this process is alone in, so only the long form has them, in a machine
//! that `cgroups.sh` starts. There, `ORCHESTRATE_CGROUPS=all` is set, and a missing group is a
//! failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use orchestrate_sandbox::{
    Cancel, Confinement, Exit, Job, KernelLimits, Limits, kernel_limits, leave_control_groups,
};

use crate::support::{
    PATIENCE, Scene, Tested, alive, helpers_above, own_program, unique_seconds, within,
};
use crate::{Body, Named};

/// The variable that selects the long form, with the value `all`.
const LONG_FORM: &str = "ORCHESTRATE_CGROUPS";
/// Where the machine shows control groups.
const MOUNTED: &str = "/sys/fs/cgroup";
/// The first argument of a coordinator in a group of its own; a tier and a script follow.
pub(crate) const ARG: &str = "__grouped";
/// Half of what is hoarded.
const MEMORY_LIMIT: u64 = 96 << 20;
const PROCESSES: usize = 40;

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    if std::env::var_os(LONG_FORM).is_none_or(|value| value != "all") {
        return Vec::new();
    }
    let mut all: Vec<Named> = vec![
        (
            "a_job_begins_in_its_group_which_is_removed",
            a_job_begins_in_its_group_which_is_removed,
        ),
        (
            "memory_cannot_be_exceeded_for_a_moment",
            memory_cannot_be_exceeded_for_a_moment,
        ),
        (
            "memory_may_not_even_suffice_for_the_start",
            memory_may_not_even_suffice_for_the_start,
        ),
        (
            "a_job_within_its_memory_ends_as_it_would",
            a_job_within_its_memory_ends_as_it_would,
        ),
        (
            "processes_are_refused_not_ended",
            processes_are_refused_not_ended,
        ),
        ("a_job_cannot_change_groups", a_job_cannot_change_groups),
        (
            "nothing_survives_all_that_watch_it",
            nothing_survives_all_that_watch_it,
        ),
        (
            "a_coordinator_leaves_its_group_as_it_was",
            a_coordinator_leaves_its_group_as_it_was,
        ),
        (
            "the_groups_of_a_killed_coordinator_are_removed",
            the_groups_of_a_killed_coordinator_are_removed,
        ),
        (
            "a_group_with_other_processes_is_left_alone",
            a_group_with_other_processes_is_left_alone,
        ),
        (
            "a_unit_that_is_not_delegated_is_left_alone",
            a_unit_that_is_not_delegated_is_left_alone,
        ),
        ("a_refused_group_stops_no_job", a_refused_group_stops_no_job),
    ];
    if confinement == Confinement::Full {
        // Elsewhere they are on a disk.
        all.push((
            "temporary_files_in_memory_count",
            temporary_files_in_memory_count,
        ));
    }
    let bind = |(name, test): Named| {
        (
            format!("groups::{name}"),
            Box::new(move || in_groups(tested, test)) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

fn in_groups(tested: Tested, test: fn(&Scene)) {
    let scene = Scene::new(tested);
    assert_eq!(
        kernel_limits(),
        Ok(KernelLimits {
            memory: true,
            processes: true
        }),
        "needs a delegated control group"
    );
    test(&scene);
}

/// Returns the folder of a process's group.
fn group_of(pid: &str) -> PathBuf {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    Path::new(MOUNTED).join(groups.trim().strip_prefix("0::/").unwrap())
}

/// Returns the group that holds this process's groups.
fn own() -> PathBuf {
    group_of("self").parent().unwrap().to_owned()
}

fn groups_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn limited(job: Job, memory_bytes: Option<u64>) -> Job {
    let limits = Limits {
        memory_bytes,
        timeout: PATIENCE,
        ..job.limits
    };
    Job { limits, ..job }
}

fn a_job_begins_in_its_group_which_is_removed(scene: &Scene) {
    let (seconds, cancel) = (unique_seconds(), Cancel::new());
    let job = scene.job("sleep", &[seconds.as_str()]);
    let group = std::thread::scope(|scope| {
        scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        let runs = within(PATIENCE, || !alive(&seconds).is_empty());
        let group = alive(&seconds)
            .first()
            .map(|pid| group_of(&pid.to_string()));
        cancel.cancel();
        assert!(runs);
        group.unwrap()
    });
    assert_eq!(group.parent(), Some(own().as_path()));
    assert!(!group.exists(), "{} is left", group.display());
    assert!(group_of("self").ends_with("main"));
}

/// A probe that ends as soon as it holds everything: repeated checks would miss some of them.
fn memory_cannot_be_exceeded_for_a_moment(scene: &Scene) {
    for name in [
        "hoard-own",
        "hoard-memory-file",
        "hoard-let-go-mapping",
        "hoard-in-a-socket",
        "hoard-hidden",
    ] {
        let job = || scene.job(own_program(), &[crate::probe::ARG, name, "end"]);
        let ended = scene.run(&limited(job(), Some(MEMORY_LIMIT)));
        let said = ended.stdout.text() + &ended.stderr.text();
        assert_eq!(
            (ended.exit, said.as_str()),
            (Exit::MemoryLimit, ""),
            "{name}"
        );
        assert!(
            ended.usage.is_some(),
            "the supervisor was killed with the job"
        );
        // The control: without the limit it gets through.
        let control = scene.run(&limited(job(), None));
        assert_eq!(
            (control.exit, control.stdout.text().as_str()),
            (Exit::Code(0), "held\n"),
            "{name}"
        );
    }
}

fn temporary_files_in_memory_count(scene: &Scene) {
    let job = || {
        scene.sh(
            "dd if=/dev/zero of=/tmp/big bs=1000000 count=200 2>/dev/null && stat -c %s /tmp/big",
        )
    };
    let ended = scene.run(&limited(job(), Some(MEMORY_LIMIT)));
    assert_eq!(
        (ended.exit, ended.stdout.text().as_str()),
        (Exit::MemoryLimit, ""),
        "{}",
        ended.stderr.text()
    );
    // The control: without the limit, they fit.
    assert_eq!(
        scene.run(&limited(job(), None)).stdout.text().trim(),
        "200000000"
    );
}

/// The smallest limit that can be set.
fn memory_may_not_even_suffice_for_the_start(scene: &Scene) {
    let ended = scene.run(&limited(
        scene.sh("head -c 3000000 /dev/zero | tail -c 3000000 | wc -c"),
        Some(1 << 20),
    ));
    assert_eq!(
        ended.exit,
        Exit::MemoryLimit,
        "{}{}",
        ended.stdout.text(),
        ended.stderr.text()
    );
    assert!(kernel_limits().is_ok());
}

fn a_job_within_its_memory_ends_as_it_would(scene: &Scene) {
    let ended = |script: &str| {
        scene
            .run(&limited(scene.sh(script), Some(MEMORY_LIMIT)))
            .exit
    };
    assert_eq!(ended("exit 3"), Exit::Code(3));
    // Not every SIGKILL comes from the limit.
    assert_eq!(ended("kill -9 $$"), Exit::Signal(9));
}

fn processes_are_refused_not_ended(scene: &Scene) {
    let seconds = unique_seconds();
    let count = 3 * PROCESSES;
    let mut job = scene.sh(&format!(
        "for i in $(seq {count}); do sleep {seconds} & done; touch all; wait"
    ));
    job.limits.processes = Some(u32::try_from(PROCESSES).unwrap());
    let finished = scene.run(&job);
    assert!(
        matches!(finished.exit, Exit::Code(1..)),
        "{}: {}",
        finished.exit,
        finished.stderr.text()
    );
    // The control: without the limit, all of them get through.
    job.limits.processes = None;
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| scene.sandbox.run(&job, &cancel).unwrap());
        assert!(within(PATIENCE, || alive(&seconds).len() == count));
        cancel.cancel();
    });
    assert_eq!(alive(&seconds), [0; 0]);
}

fn a_job_cannot_change_groups(scene: &Scene) {
    let main = group_of("self");
    let escapes = [
        format!("echo $$ > '{}'", main.join("cgroup.procs").display()),
        format!("echo max > '{}'", main.join("memory.max").display()),
        format!("mkdir '{}'", own().join("made").display()),
    ];
    for escape in &escapes {
        let mut job = limited(scene.sh(escape), Some(MEMORY_LIMIT));
        job.limits.processes = None;
        let gets_through = scene.run(&job).exit == Exit::Code(0);
        // The control: without confinement it gets through.
        assert_eq!(
            gets_through,
            scene.sandbox.confinement() == Confinement::Unconfined,
            "{escape}"
        );
        let _ = fs::remove_dir(own().join("made"));
    }
}

/// Without groups, daemons outlive the supervisor and its guardian in the tiers without namespaces.
fn nothing_survives_all_that_watch_it(scene: &Scene) {
    let seconds = unique_seconds();
    let job = scene.sh(&format!("(setsid sleep {seconds} &); sleep {seconds}"));
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run(&job));
        assert!(within(PATIENCE, || alive(&seconds).len() == 2));
        let helpers = helpers_above(&alive(&seconds));
        for signal in [rustix::process::Signal::STOP, rustix::process::Signal::KILL] {
            for helper in helpers
                .iter()
                .filter_map(|pid| rustix::process::Pid::from_raw(*pid))
            {
                // In the full tier, the end of one ends the others.
                let _ = rustix::process::kill_process(helper, signal);
            }
        }
        running.join().unwrap()
    });
    assert_eq!(
        (finished.exit, alive(&seconds)),
        (Exit::Signal(9), Vec::new())
    );
}

/// A group beside that of this process, as a service manager would delegate one; removed when
/// dropped.
struct Delegated(PathBuf);

impl Delegated {
    fn new(kind: &str) -> Self {
        let folder = own().join(format!(
            "delegated-{}{kind}",
            unique_seconds().replace('.', "-")
        ));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    /// Returns a coordinator that is alone in this group, unless `beside` is a command that stays
    /// beside it.
    fn coordinator(&self, scene: &Scene, script: &str, beside: &str) -> Command {
        let mut command = Command::new("sh");
        let enter = "echo $$ > \"$0\"/cgroup.procs";
        let tail = if beside.is_empty() {
            "exec \"$@\"".to_owned()
        } else {
            format!("{beside} \"$@\"; kill $!")
        };
        command
            .args(["-c", &format!("{enter}; {tail}")])
            .arg(&self.0)
            .arg(own_program());
        command
            .args([ARG, scene.tested.name()])
            .arg(scene.root.path())
            .arg(script);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, scene: &Scene, script: &str) -> String {
        said(&self.coordinator(scene, script, "").output().unwrap())
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name))
            .unwrap()
            .trim()
            .to_owned()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        within(PATIENCE, || {
            self.file("cgroup.events").contains("populated 0")
        });
        for owner in groups_in(&self.0) {
            for inner in groups_in(&self.0.join(&owner)) {
                let _ = fs::remove_dir(self.0.join(&owner).join(inner));
            }
            let _ = fs::remove_dir(self.0.join(owner));
        }
        let _ = fs::remove_dir(&self.0);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The main function of the child of some tests: runs one job, and prints its output and what the
/// kernel limits.
pub(crate) fn coordinator(args: &[String]) {
    let job = crate::lifetime::job_of(&args[2], &args[3]);
    let sandbox = Tested::named(&args[1])
        .sandbox()
        .warning(|warning| println!("warning: {warning}"));
    let finished = sandbox.run(&job, &Cancel::new()).unwrap();
    println!(
        "{}{} {:?}",
        finished.stdout.text(),
        finished.exit,
        kernel_limits()
    );
    leave_control_groups().unwrap();
}

const WITH_GROUPS: &str = "done\nexit code 0 Ok(KernelLimits { memory: true, processes: true })\n";

fn a_coordinator_leaves_its_group_as_it_was(scene: &Scene) {
    let delegated = Delegated::new("");
    assert_eq!(delegated.run(scene, "echo done"), WITH_GROUPS);
    assert_eq!(
        (
            groups_in(&delegated.0),
            delegated.file("cgroup.subtree_control").as_str()
        ),
        (Vec::new(), "")
    );
}

fn the_groups_of_a_killed_coordinator_are_removed(scene: &Scene) {
    let delegated = Delegated::new("");
    let seconds = unique_seconds();
    let kill = |mut coordinator: Child| {
        assert!(within(PATIENCE, || !alive(&seconds).is_empty()));
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
        assert!(within(PATIENCE, || alive(&seconds).is_empty()));
    };
    kill(
        delegated
            .coordinator(scene, &format!("sleep {seconds}"), "")
            .spawn()
            .unwrap(),
    );
    let left = groups_in(&delegated.0);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(within(PATIENCE, || delegated
        .file("cgroup.events")
        .contains("populated 0")));
    // As a service manager does before it starts a service again.
    for group in [delegated.0.join(&left[0]), delegated.0.clone()] {
        fs::write(group.join("cgroup.subtree_control"), "-memory -pids").unwrap();
    }
    // One that no process of ours has made.
    fs::create_dir(delegated.0.join("orchestrate-of-another")).unwrap();
    assert_eq!(delegated.run(scene, "echo done"), WITH_GROUPS);
    assert_eq!(groups_in(&delegated.0), ["orchestrate-of-another"]);
}

fn a_group_with_other_processes_is_left_alone(scene: &Scene) {
    let delegated = Delegated::new("");
    let output = said(
        &delegated
            .coordinator(scene, "echo done", "sleep 1000 &")
            .output()
            .unwrap(),
    );
    assert!(
        output
            .starts_with("done\nexit code 0 Err(\"the group of this process holds other processes"),
        "{output}"
    );
    assert_eq!(
        (
            groups_in(&delegated.0),
            delegated.file("cgroup.subtree_control").as_str()
        ),
        (Vec::new(), "")
    );
}

/// Systemd would stop the whole unit when a job's memory ends.
fn a_unit_that_is_not_delegated_is_left_alone(scene: &Scene) {
    let delegated = Delegated::new(".scope");
    let output = delegated.run(scene, "echo done");
    assert!(
        output.starts_with("done\nexit code 0 Err(\"systemd has not delegated"),
        "{output}"
    );
    assert_eq!(
        (
            groups_in(&delegated.0),
            delegated.file("cgroup.subtree_control").as_str()
        ),
        (Vec::new(), "")
    );
    // The control: with systemd's mark, it is used.
    rustix::fs::setxattr(
        &delegated.0,
        "user.delegate",
        b"1",
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
    assert_eq!(delegated.run(scene, "echo done"), WITH_GROUPS);
}

fn a_refused_group_stops_no_job(scene: &Scene) {
    let delegated = Delegated::new("");
    // Scene for that of the coordinator, and for the one that holds it.
    fs::write(delegated.0.join("cgroup.max.descendants"), "2").unwrap();
    let output = delegated.run(scene, "echo done");
    assert!(
        output.starts_with("done\nexit code 0 Err(\"failed to run a command in a control group"),
        "{output}"
    );
    assert_eq!(groups_in(&delegated.0), [""; 0]);
}
