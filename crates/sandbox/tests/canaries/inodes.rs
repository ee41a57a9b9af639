//! A file that a job can open only for reading keeps its mode, owner, times and flags, and gets no
//! lease.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use orchestrate_sandbox::{Confinement, Exit, Job, View};

use crate::support::{Scene, Tested, own_program};
use crate::{Body, Named};

/// Attempts on a readable file, each of which gets through without a sandbox.
const ATTEMPTS: [&str; 19] = [
    "chmod",
    "fchmodat",
    "fchmod",
    "fchmodat2-empty-path",
    "chmod-descriptor-link",
    "chown",
    "lchown",
    "fchown",
    "fchownat-empty-path",
    "utimensat",
    "futimens",
    "utime",
    "utimes",
    "futimesat",
    "setxattr",
    "fsetxattr",
    "lease",
    "set-flags",
    "write-hint",
];
/// Attempts whose control depends on the file system and the kernel; within a sandbox they must
/// fail.
const CORNERS: [&str; 5] = [
    "fs-set-xattr",
    "set-version",
    "enable-verity",
    "set-encryption-policy",
    "file-setattr",
];

pub(crate) fn tests(tested: Tested) -> Vec<(String, Body)> {
    let confinement = tested.confinement;
    let mut tests: Vec<(String, Body)> = Vec::new();
    for name in ATTEMPTS.into_iter().chain(CORNERS) {
        let body = move || changes_nothing(tested, name);
        tests.push((format!("inodes::{name}"), Box::new(body)));
    }
    let mut own: Vec<Named> = vec![("lends_its_identity", lends_its_identity)];
    if confinement != Confinement::Unconfined {
        own.push(("changes_its_own", changes_its_own));
    }
    let bind = |(name, test): Named| {
        (
            format!("inodes::{name}"),
            Box::new(move || test(&Scene::new(tested))) as Body,
        )
    };
    tests.extend(own.into_iter().map(bind));
    tests
}

/// The file is like a toolchain's program: it belongs to the user, and the job may read and execute
/// it.
fn changes_nothing(tested: Tested, name: &str) {
    let scene = Scene::new(tested);
    let target = scene.outside.path().join("shown");
    std::fs::write(&target, "shown").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = look(&target);
    let mut view = scene.view();
    view.read_only.push(scene.outside.path().to_owned());
    let job = scene.job(
        own_program(),
        &[crate::probe::ARG, name, target.to_str().unwrap()],
    );
    let finished = scene.run(&Job {
        view: View::Host(view),
        ..job
    });
    let said = finished.stdout.text() + &finished.stderr.text();
    match (tested.confinement, finished.exit) {
        (Confinement::Unconfined, Exit::Code(0)) => {}
        (Confinement::Unconfined, Exit::Code(crate::probe::REFUSED)) if CORNERS.contains(&name) => {
        }
        (Confinement::Unconfined, exit) => panic!("the control must get through: {exit}: {said}"),
        (_, exit) => {
            assert_eq!(exit, Exit::Code(crate::probe::REFUSED), "{name}: {said}");
            assert_eq!(
                look(&target),
                before,
                "{name} was refused, yet changed the file"
            );
        }
    }
}

/// Returns the mode and the change time, which every change of an inode updates.
fn look(path: &std::path::Path) -> (u32, i64, i64) {
    let found = std::fs::metadata(path).unwrap();
    (found.mode(), found.ctime(), found.ctime_nsec())
}

/// Attempts to create a program that would run as its owner, who may be root, if another user
/// started it.
fn lends_its_identity(scene: &Scene) {
    const WAYS: [&str; 6] = [
        "set-id",
        "set-id-fchmod",
        "set-id-fchmodat2",
        "set-id-open",
        "set-id-mknod",
        "set-id-unnamed",
    ];
    for way in WAYS {
        let target = scene.root.path().join(way);
        if !["set-id-open", "set-id-mknod", "set-id-unnamed"].contains(&way) {
            std::fs::write(&target, "").unwrap();
        }
        let (through, said) = scene.probe(&[way, target.to_str().unwrap()]);
        assert_eq!(
            through,
            scene.sandbox.confinement() == Confinement::Unconfined,
            "{way}: {said}"
        );
        let lent = std::fs::metadata(&target).is_ok_and(|found| found.mode() & 0o4000 != 0);
        assert!(
            !lent || through,
            "{way} was refused, yet lent the owner's identity"
        );
    }
}

fn changes_its_own(scene: &Scene) {
    for name in ATTEMPTS {
        // The fallback tier refuses attributes by name for every file, and no build needs flags and
        // leases.
        if ["setxattr", "fsetxattr", "lease", "set-flags", "write-hint"].contains(&name) {
            continue;
        }
        let target = scene.root.path().join(name);
        std::fs::write(&target, "own").unwrap();
        let (through, said) = scene.probe(&[name, target.to_str().unwrap()]);
        assert!(through, "the control gets through: {name}: {said}");
    }
    let (through, said) = scene.probe(&[
        "unlinked-fchmod",
        scene.root.path().join("gone").to_str().unwrap(),
    ]);
    assert!(
        through,
        "a file that has no name any more is the job's own: {said}"
    );
    let script = "touch -d @1000000 f && touch -r f g && stat -c %Y g && ln -s f link && touch -h -d @2000000 link && \
                  stat -c %Y link && stat -c %Y f && touch -a -d @5 f && stat -c '%X %Y' f && cp -a f h && \
                  stat -c %Y h && (cd / && touch -d @7 \"$OLDPWD/f\") && stat -c %Y f && touch f && \
                  [ $(stat -c %Y f) -gt 2000000 ] && mkdir d && chmod 2755 d && stat -c %a d";
    assert_eq!(
        scene.says(script),
        (
            Exit::Code(0),
            "1000000\n2000000\n1000000\n5 1000000\n1000000\n7\n2755\n".into()
        )
    );
}
