//! What is kept from one job to the next in a room, and what is not.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use orchestrate_sandbox::{Confinement, Exit, Job, Mount, Mounted, View};

use crate::support::{PATIENCE, Scene, Tested, alive, unique_seconds, within};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let mut tests: Vec<Named> = Vec::new();
    if tested.keeps_rooms && tested.confinement == Confinement::Full {
        tests.extend([
            (
                "jobs_share_what_bubblewrap_has_made",
                share_what_bubblewrap_has_made as fn(&Scene),
            ),
            ("a_job_finds_its_private_folders_as_new", folders_are_new),
            ("a_job_finds_no_segments_of_another", segments_are_its_own),
            ("a_port_is_free_for_the_next_job", ports_are_free),
            ("a_file_that_was_replaced_is_seen", replaced_files_are_seen),
            (
                "a_folder_that_was_replaced_is_seen",
                replaced_folders_are_seen,
            ),
            (
                "a_file_that_was_replaced_stays_covered",
                replaced_files_stay_covered,
            ),
            ("two_jobs_run_side_by_side", two_side_by_side),
            (
                "a_room_whose_processes_died_is_made_again",
                dead_rooms_are_made_again,
            ),
            ("rooms_end_with_their_sandbox", rooms_end_with_their_sandbox),
            (
                "root_changes_nothing_of_the_kernels",
                kernel_settings_are_read_only,
            ),
        ]);
    }
    let named = |(name, test): Named| {
        let body = Box::new(move || test(&Scene::new(tested))) as Body;
        (format!("rooms::{name}"), body)
    };
    tests.into_iter().map(named).collect()
}

/// Returns what a script prints, which has to succeed.
fn prints(scene: &Scene, script: &str) -> String {
    let (exit, said) = scene.says(script);
    assert_eq!(exit, Exit::Code(0), "{script}: {said}");
    said
}

fn share_what_bubblewrap_has_made(scene: &Scene) {
    let kept = keepers(scene);
    let [.., keeper] = kept.as_slice() else {
        panic!("a room is kept");
    };
    for (kind, is_shared) in [
        ("user", true),
        ("uts", true),
        ("pid", false),
        ("mnt", false),
        ("ipc", false),
        ("net", true),
    ] {
        let of_room = std::fs::read_link(format!("/proc/{keeper}/ns/{kind}")).unwrap();
        let of_job = prints(scene, &format!("readlink /proc/self/ns/{kind}"));
        assert_eq!(
            of_job.trim() == of_room.to_str().unwrap(),
            is_shared,
            "{kind}"
        );
    }
    assert_eq!(keepers(scene), kept, "one room was used for all of them");
}

fn folders_are_new(scene: &Scene) {
    let list = "ls -A /tmp ~ /dev/shm ${CARGO_HOME:-}";
    let fresh = prints(&Scene::new(Tested::named("full")), list);
    let left = "for at in /tmp ~ /dev/shm $CARGO_HOME; do echo x > $at/left; done";
    prints(scene, left);
    let own = |said: &str| -> Vec<String> {
        // The worktree of a test is below the temporary files, under another name in each.
        let lines = said.lines().filter(|line| !line.starts_with(".tmp"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(own(&prints(scene, list)), own(&fresh));
}

fn segments_are_its_own(scene: &Scene) {
    let count = "wc -l < /proc/sysvipc/shm";
    // A line of titles, and one for each segment.
    let made = prints(scene, &format!("ipcmk -M 16 > made && {count}"));
    assert_eq!(made.trim(), "2");
    assert_eq!(prints(scene, count).trim(), "1");
}

fn ports_are_free(scene: &Scene) {
    // The server closes first, so the kernel holds its port for a minute.
    let serve = "import socket\n\
        server = socket.socket(); server.bind(('127.0.0.1', 8000)); server.listen()\n\
        client = socket.create_connection(('127.0.0.1', 8000))\n\
        served, _ = server.accept(); served.close(); server.close()\n\
        assert client.recv(1) == b''; client.close()\n";
    std::fs::write(scene.root.path().join("serve.py"), serve).unwrap();
    let network = || prints(scene, "readlink /proc/self/ns/net");
    let before = network();
    prints(scene, "python3 serve.py");
    prints(scene, "python3 serve.py");
    assert_ne!(network(), before);
    // The control: within one job it is held.
    let (exit, said) = scene.says("python3 serve.py && python3 serve.py");
    assert!(
        exit != Exit::Code(0) && said.contains("already in use"),
        "{said}"
    );
}

/// Returns a job that prints what is at `/run/shown/it`, which is mounted there.
fn shows(scene: &Scene, path: &str, script: &str) -> Job {
    let mut view = scene.view();
    let mounted = Mounted::ReadOnly(scene.outside.path().join(path));
    view.mounts.push(Mount::new("/run/shown/it", mounted));
    Job {
        view: View::Host(view),
        ..scene.sh(script)
    }
}

fn replaced_files_are_seen(scene: &Scene) {
    let path = scene.outside.path().join("file");
    // Too large to be copied into the view.
    let content = |letter: &str| letter.repeat(100_000);
    std::fs::write(&path, content("a")).unwrap();
    let job = shows(scene, "file", "head -c 1 /run/shown/it");
    assert_eq!(scene.run(&job).stdout.text(), "a");
    let newer = scene.outside.path().join("newer");
    std::fs::write(&newer, content("b")).unwrap();
    std::fs::rename(newer, &path).unwrap();
    assert_eq!(scene.run(&job).stdout.text(), "b");
    // A small file is a copy, which has to be made again, too.
    std::fs::write(&path, "c").unwrap();
    assert_eq!(scene.run(&job).stdout.text(), "c");
}

fn replaced_folders_are_seen(scene: &Scene) {
    let (folder, newer) = (
        scene.outside.path().join("d"),
        scene.outside.path().join("n"),
    );
    for (at, text) in [(&folder, "old"), (&newer, "new")] {
        std::fs::create_dir(at).unwrap();
        // Too many to be copied.
        for number in 0..10 {
            std::fs::write(at.join(format!("{number}")), text).unwrap();
        }
    }
    let job = shows(scene, "d", "cat /run/shown/it/1");
    assert_eq!(scene.run(&job).stdout.text(), "old");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(newer, &folder).unwrap();
    assert_eq!(scene.run(&job).stdout.text(), "new");
}

fn replaced_files_stay_covered(scene: &Scene) {
    let secret = scene.outside.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let mut view = scene.view();
    let folder = Mounted::Writable(scene.outside.path().to_owned());
    view.mounts.push(Mount::new("/run/shown", folder));
    let cover = Mounted::File(b"cover".to_vec());
    view.mounts.push(Mount::new("/run/shown/secret", cover));
    let job = Job {
        view: View::Host(view),
        ..scene.sh("cat /run/shown/secret")
    };
    assert_eq!(scene.run(&job).stdout.text(), "cover");
    let newer = scene.outside.path().join("newer");
    std::fs::write(&newer, "newer secret").unwrap();
    std::fs::rename(newer, &secret).unwrap();
    assert_eq!(scene.run(&job).stdout.text(), "cover");
}

fn two_side_by_side(scene: &Scene) {
    // Each waits for the file of the other.
    let meets = |own: &str, other: &str| {
        scene.sh(&format!(
            "touch {own}; until test -e {other}; do sleep 0.01; done"
        ))
    };
    let (one, other) = (meets("one", "other"), meets("other", "one"));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| scene.run(&one));
        assert_eq!(scene.run(&other).exit, Exit::Code(0));
        assert_eq!(running.join().unwrap().exit, Exit::Code(0));
    });
}

/// Returns the processes that keep the rooms of a scene: those that have its root mounted.
fn keepers(scene: &Scene) -> Vec<i32> {
    let root = scene.root.path().to_str().unwrap().to_owned();
    let keeps = |pid: &i32| {
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo"));
        mounts.is_ok_and(|mounts| mounts.contains(&format!(" {root} ")))
    };
    alive("room").into_iter().filter(keeps).collect()
}

fn dead_rooms_are_made_again(scene: &Scene) {
    let kept = keepers(scene);
    assert!(!kept.is_empty(), "a room is kept");
    for pid in kept {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    assert_eq!(prints(scene, "echo again"), "again\n");
}

fn rooms_end_with_their_sandbox(scene: &Scene) {
    let seconds = unique_seconds();
    let other = Scene {
        tested: scene.tested,
        sandbox: scene.tested.sandbox(),
        root: tempfile::tempdir().unwrap(),
        outside: tempfile::tempdir().unwrap(),
    };
    prints(&other, &format!("sleep {seconds} & :"));
    assert!(alive(&seconds).is_empty());
    assert!(!keepers(&other).is_empty(), "a room is kept");
    let Scene {
        sandbox,
        root,
        outside,
        tested,
    } = other;
    drop(sandbox);
    let closed = Scene {
        tested,
        sandbox: scene.sandbox.clone(),
        root,
        outside,
    };
    assert!(within(PATIENCE, || keepers(&closed).is_empty()));
}

fn kernel_settings_are_read_only(scene: &Scene) {
    let own = std::fs::metadata("/proc/self").unwrap().uid();
    let setting = Path::new("/proc/sys/kernel/core_pattern");
    let before = std::fs::read_to_string(setting).unwrap();
    let (exit, said) = scene.says("echo x > /proc/sys/kernel/core_pattern");
    assert_ne!(exit, Exit::Code(0), "as user {own}: {said}");
    assert_eq!(std::fs::read_to_string(setting).unwrap(), before);
}
