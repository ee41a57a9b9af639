//! What a job finds at other paths than the host's: a worktree in the place of a checkout.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{
    Confinement, Exit, HostView, Job, Mount, Mounted, SandboxError, View, can_mount_at,
};

use crate::support::{Scene, Tested};
use crate::{Body, Named};

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let all: Vec<Named> = match confinement {
        Confinement::Full => vec![
            (
                "hides_the_checkout_at_its_own_path",
                hides_the_checkout_at_its_own_path,
            ),
            (
                "shows_what_the_host_does_not_have",
                shows_what_the_host_does_not_have,
            ),
            (
                "starts_in_a_mounted_folder_alone",
                starts_in_a_mounted_folder_alone,
            ),
            (
                "refuses_places_that_a_command_could_move",
                refuses_places_that_a_command_could_move,
            ),
            (
                "mounts_where_no_process_needs_anything",
                mounts_where_no_process_needs_anything,
            ),
        ],
        Confinement::Fallback | Confinement::Unconfined => {
            vec![(
                "shows_nothing_at_another_path",
                shows_nothing_at_another_path,
            )]
        }
    };
    let bind = |(name, test): Named| {
        (
            format!("mounted::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

/// Returns the checkout's place.
fn checkout(scene: &Scene) -> PathBuf {
    scene.outside.path().canonicalize().unwrap()
}

/// Returns a job whose worktree, the root, is mounted at the checkout's place, with other mounts.
fn job(scene: &Scene, script: &str, others: Vec<Mount>) -> Job {
    let worktree = Mount::new(
        checkout(scene),
        Mounted::Writable(scene.root.path().to_owned()),
    );
    let mounts = [vec![worktree], others].concat();
    let view = View::Host(HostView {
        mounts,
        ..HostView::default()
    });
    Job {
        view,
        cwd: checkout(scene),
        ..scene.sh(script)
    }
}

fn says(scene: &Scene, script: &str, others: Vec<Mount>) -> String {
    let finished = scene.run(&job(scene, script, others));
    assert_eq!(finished.exit, Exit::Code(0), "{finished:?}");
    finished.stdout.text()
}

fn hides_the_checkout_at_its_own_path(scene: &Scene) {
    std::fs::write(scene.outside.path().join("theirs"), "the user's\n").unwrap();
    std::fs::write(scene.root.path().join("own"), "the agent's\n").unwrap();
    let own_place = scene.root.path().display();
    let script = format!(
        "pwd; cat own; cat theirs {own_place}/own 2>/dev/null; echo new > new; rm own; true"
    );
    assert_eq!(
        says(scene, &script, Vec::new()),
        format!("{}\nthe agent's\n", checkout(scene).display())
    );
    assert_eq!(
        std::fs::read_to_string(scene.root.path().join("new")).unwrap(),
        "new\n"
    );
    assert!(!scene.root.path().join("own").exists());
    let left: Vec<_> = std::fs::read_dir(scene.outside.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["theirs"]);
    // The control: without the mount, the same path is the user's.
    let mut view = scene.view();
    view.writable.push(checkout(scene));
    let control = Job {
        view: View::Host(view),
        cwd: checkout(scene),
        ..scene.sh("cat theirs")
    };
    assert_eq!(scene.run(&control).stdout.text(), "the user's\n");
}

fn shows_what_the_host_does_not_have(scene: &Scene) {
    let (worktree, shared) = (scene.root.path(), tempfile::tempdir().unwrap());
    std::fs::write(worktree.join("pointer"), "on disk\n").unwrap();
    std::fs::write(shared.path().join("object"), "object\n").unwrap();
    let place = |name: &str| Path::new("/run/git").join(name);
    let others = vec![
        Mount::new(
            checkout(scene).join("pointer"),
            Mounted::File(b"pointer\n".to_vec()),
        ),
        Mount::new(place("config"), Mounted::File(b"config\n".to_vec())),
        Mount::new(place("refs"), Mounted::Folder),
        Mount::new(
            place("objects"),
            Mounted::ReadOnly(shared.path().to_owned()),
        ),
        Mount::new(
            place("absent"),
            Mounted::ReadOnly(shared.path().join("absent")),
        ),
    ];
    let script = "cat pointer /run/git/config /run/git/objects/object; ls /run/git /run/git/refs; \
                  mv pointer moved; rm -f pointer /run/git/config /run/git/objects/object; \
                  (echo x > pointer; echo x > /run/git/new; echo x > /run/git/refs/new) 2>/dev/null; cat pointer";
    let shown =
        "pointer\nconfig\nobject\n/run/git:\nconfig\nobjects\nrefs\n\n/run/git/refs:\npointer\n";
    assert_eq!(says(scene, script, others), shown);
    assert_eq!(
        std::fs::read_to_string(worktree.join("pointer")).unwrap(),
        "on disk\n"
    );
    assert!(shared.path().join("object").exists());
}

fn starts_in_a_mounted_folder_alone(scene: &Scene) {
    std::fs::create_dir(scene.root.path().join("sub")).unwrap();
    std::fs::create_dir(scene.outside.path().join("theirs")).unwrap();
    symlink(scene.outside.path(), scene.root.path().join("link")).unwrap();
    let inside = Job {
        cwd: checkout(scene).join("sub"),
        ..job(scene, "pwd", Vec::new())
    };
    assert_eq!(
        scene.run(&inside).stdout.text(),
        format!("{}/sub\n", checkout(scene).display())
    );
    let outside = ["theirs", "link", "absent", "../x"].map(|name| checkout(scene).join(name));
    for cwd in outside.into_iter().chain([scene.root.path().to_owned()]) {
        let refused = scene.try_run(&Job {
            cwd: cwd.clone(),
            ..job(scene, "pwd", Vec::new())
        });
        assert!(
            matches!(refused, Err(SandboxError::CwdOutside { .. })),
            "{}: {refused:?}",
            cwd.display()
        );
    }
}

fn refuses_places_that_a_command_could_move(scene: &Scene) {
    symlink("/etc", scene.root.path().join("link")).unwrap();
    for place in ["link", "link/passwd", "absent"] {
        let other = Mount::new(checkout(scene).join(place), Mounted::File(Vec::new()));
        let refused = scene.try_run(&job(scene, "true", vec![other]));
        assert!(
            matches!(refused, Err(SandboxError::View { .. })),
            "{place}: {refused:?}"
        );
    }
    let no_folder = vec![Mount::new(
        "/run/x",
        Mounted::Writable(scene.root.path().join("link")),
    )];
    assert!(matches!(
        scene.try_run(&job(scene, "true", no_folder)),
        Err(SandboxError::View { .. })
    ));
}

fn mounts_where_no_process_needs_anything(scene: &Scene) {
    let possible = [
        "/home/u",
        "/home/u/project",
        "/srv/p",
        "/usr/src/app",
        "/tmp/p",
        "/etc/nixos",
        "/root",
    ];
    let impossible = [
        "/",
        "/etc",
        "/usr",
        "/home",
        "/tmp",
        "/proc/x",
        "/dev/shm/p",
        "relative",
        "/srv/../etc",
    ];
    for (places, expected) in [(possible.as_slice(), true), (impossible.as_slice(), false)] {
        for place in places {
            assert_eq!(can_mount_at(Path::new(place)), expected, "{place}");
        }
    }
    let refused = scene.try_run(&job(
        scene,
        "true",
        vec![Mount::new("/etc", Mounted::Folder)],
    ));
    assert!(
        matches!(refused, Err(SandboxError::View { .. })),
        "{refused:?}"
    );
}

/// Such a tier must not show the worktree at its own path either: its caller takes it for hidden.
fn shows_nothing_at_another_path(scene: &Scene) {
    let refused = scene.try_run(&job(scene, "true", Vec::new()));
    assert!(
        matches!(refused, Err(SandboxError::View { .. })),
        "{refused:?}"
    );
}
