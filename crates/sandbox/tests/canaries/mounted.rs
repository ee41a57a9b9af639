//! What a job finds at other paths than the host's: a worktree in the place of a checkout.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{
    Confinement, Exit, HostView, Job, Mount, Mounted, SandboxError, View, can_mount_at,
};

use crate::support::Room;
use crate::{Body, Named};

pub(crate) fn tests(confinement: Confinement) -> Vec<(String, Body)> {
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
            Box::new(move || test(&Room::new(confinement))) as Body,
        )
    };
    all.into_iter().map(bind).collect()
}

/// Returns the checkout's place.
fn checkout(room: &Room) -> PathBuf {
    room.outside.path().canonicalize().unwrap()
}

/// Returns a job whose worktree, the root, is mounted at the checkout's place, with other mounts.
fn job(room: &Room, script: &str, others: Vec<Mount>) -> Job {
    let worktree = Mount::new(
        checkout(room),
        Mounted::Writable(room.root.path().to_owned()),
    );
    let mounts = [vec![worktree], others].concat();
    let view = View::Host(HostView {
        mounts,
        ..HostView::default()
    });
    Job {
        view,
        cwd: checkout(room),
        ..room.sh(script)
    }
}

fn says(room: &Room, script: &str, others: Vec<Mount>) -> String {
    let finished = room.run(&job(room, script, others));
    assert_eq!(finished.exit, Exit::Code(0), "{finished:?}");
    finished.stdout.text()
}

fn hides_the_checkout_at_its_own_path(room: &Room) {
    std::fs::write(room.outside.path().join("theirs"), "the user's\n").unwrap();
    std::fs::write(room.root.path().join("own"), "the agent's\n").unwrap();
    let own_place = room.root.path().display();
    let script = format!(
        "pwd; cat own; cat theirs {own_place}/own 2>/dev/null; echo new > new; rm own; true"
    );
    assert_eq!(
        says(room, &script, Vec::new()),
        format!("{}\nthe agent's\n", checkout(room).display())
    );
    assert_eq!(
        std::fs::read_to_string(room.root.path().join("new")).unwrap(),
        "new\n"
    );
    assert!(!room.root.path().join("own").exists());
    let left: Vec<_> = std::fs::read_dir(room.outside.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["theirs"]);
    // The control: without the mount, the same path is the user's.
    let mut view = room.view();
    view.writable.push(checkout(room));
    let control = Job {
        view: View::Host(view),
        cwd: checkout(room),
        ..room.sh("cat theirs")
    };
    assert_eq!(room.run(&control).stdout.text(), "the user's\n");
}

fn shows_what_the_host_does_not_have(room: &Room) {
    let (worktree, shared) = (room.root.path(), tempfile::tempdir().unwrap());
    std::fs::write(worktree.join("pointer"), "on disk\n").unwrap();
    std::fs::write(shared.path().join("object"), "object\n").unwrap();
    let place = |name: &str| Path::new("/run/git").join(name);
    let others = vec![
        Mount::new(
            checkout(room).join("pointer"),
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
    assert_eq!(says(room, script, others), shown);
    assert_eq!(
        std::fs::read_to_string(worktree.join("pointer")).unwrap(),
        "on disk\n"
    );
    assert!(shared.path().join("object").exists());
}

fn starts_in_a_mounted_folder_alone(room: &Room) {
    std::fs::create_dir(room.root.path().join("sub")).unwrap();
    std::fs::create_dir(room.outside.path().join("theirs")).unwrap();
    symlink(room.outside.path(), room.root.path().join("link")).unwrap();
    let inside = Job {
        cwd: checkout(room).join("sub"),
        ..job(room, "pwd", Vec::new())
    };
    assert_eq!(
        room.run(&inside).stdout.text(),
        format!("{}/sub\n", checkout(room).display())
    );
    let outside = ["theirs", "link", "absent", "../x"].map(|name| checkout(room).join(name));
    for cwd in outside.into_iter().chain([room.root.path().to_owned()]) {
        let refused = room.try_run(&Job {
            cwd: cwd.clone(),
            ..job(room, "pwd", Vec::new())
        });
        assert!(
            matches!(refused, Err(SandboxError::CwdOutside { .. })),
            "{}: {refused:?}",
            cwd.display()
        );
    }
}

fn refuses_places_that_a_command_could_move(room: &Room) {
    symlink("/etc", room.root.path().join("link")).unwrap();
    for place in ["link", "link/passwd", "absent"] {
        let other = Mount::new(checkout(room).join(place), Mounted::File(Vec::new()));
        let refused = room.try_run(&job(room, "true", vec![other]));
        assert!(
            matches!(refused, Err(SandboxError::View { .. })),
            "{place}: {refused:?}"
        );
    }
    let no_folder = vec![Mount::new(
        "/run/x",
        Mounted::Writable(room.root.path().join("link")),
    )];
    assert!(matches!(
        room.try_run(&job(room, "true", no_folder)),
        Err(SandboxError::View { .. })
    ));
}

fn mounts_where_no_process_needs_anything(room: &Room) {
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
    let refused = room.try_run(&job(
        room,
        "true",
        vec![Mount::new("/etc", Mounted::Folder)],
    ));
    assert!(
        matches!(refused, Err(SandboxError::View { .. })),
        "{refused:?}"
    );
}

/// Such a tier must not show the worktree at its own path either: its caller takes it for hidden.
fn shows_nothing_at_another_path(room: &Room) {
    let refused = room.try_run(&job(room, "true", Vec::new()));
    assert!(
        matches!(refused, Err(SandboxError::View { .. })),
        "{refused:?}"
    );
}
