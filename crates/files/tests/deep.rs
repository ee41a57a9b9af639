//! Removes deep folders, alone in its process: the control uses up all descriptors, also those of
//! other tests.

#![expect(
    clippy::unwrap_used,
    reason = "tests, also outside of the functions that are marked so"
)]

use std::os::fd::OwnedFd;
use std::path::Path;

use orchestrate_files::{TemporaryFolder, create_folder, remove_folder};
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Exceeds the length of a path, the number of open files and the stack of a thread.
const DEEP: usize = 6_000;

/// Creates a folder to work in, in memory if possible: some disks take a millisecond for each
/// folder.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn folder(path: &Path) -> OwnedFd {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Creates nested folders, each with a file and a link beside the next.
fn deep(top: &Path) {
    let mut here = folder(top);
    for _ in 0..DEEP {
        mkdirat(&here, "d", Mode::from_raw_mode(0o755)).unwrap();
        here = openat(
            &here,
            "d",
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap();
        openat(
            &here,
            "file",
            OFlags::WRONLY | OFlags::CREATE,
            Mode::from_raw_mode(0o644),
        )
        .unwrap();
        rustix::fs::symlinkat("/", &here, "link").unwrap();
    }
}

#[test]
fn what_is_deep_is_removed() {
    let top = place();
    let deep_one = top.path().join("deep");
    create_folder(&deep_one).unwrap();
    deep(&deep_one);
    // The control: the standard library fails.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(256),
            ..limit
        },
    )
    .unwrap();
    std::fs::remove_dir_all(&deep_one).unwrap_err();
    remove_folder(&deep_one).unwrap();
    assert!(!deep_one.exists());

    let temporary = TemporaryFolder::create("x-", Some(top.path())).unwrap();
    deep(temporary.path());
    drop(temporary);
    assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
}
