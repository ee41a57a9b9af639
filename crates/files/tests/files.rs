//! Removal of what is deep, and folders that others can replace.

#![expect(clippy::unwrap_used, reason = "tests, also outside of the functions that are marked so")]

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use orchestrate_files::{Misplaced, TemporaryFolder, create_folder, remove_folder, require_own, write};
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Deeper than a path is long, than files may be open, and than the stack of a thread lasts.
const DEEP: usize = 6_000;

/// Makes a place to work in, in memory where there is such a one: some disks take a millisecond for each folder.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn folder(path: &Path) -> OwnedFd {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Makes folders in folders, each with a file and a link beside the next.
fn deep(top: &Path) {
    let mut here = folder(top);
    for _ in 0..DEEP {
        mkdirat(&here, "d", Mode::from_raw_mode(0o755)).unwrap();
        here = openat(&here, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        openat(&here, "file", OFlags::WRONLY | OFlags::CREATE, Mode::from_raw_mode(0o644)).unwrap();
        rustix::fs::symlinkat("/", &here, "link").unwrap();
    }
}

#[test]
fn what_is_deep_is_removed() {
    let top = place();
    let deep_one = top.path().join("deep");
    create_folder(&deep_one).unwrap();
    deep(&deep_one);
    // The control: what the standard library does.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..limit }).unwrap();
    std::fs::remove_dir_all(&deep_one).unwrap_err();
    remove_folder(&deep_one).unwrap();
    assert!(!deep_one.exists());
}

#[test]
fn a_temporary_folder_goes_with_what_is_deep_in_it() {
    let top = place();
    let made = TemporaryFolder::create("x-", Some(top.path())).unwrap();
    deep(made.path());
    drop(made);
    assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
}

#[test]
fn what_its_owner_may_not_write_is_removed_and_links_are_not_followed() {
    let top = place();
    let (kept, gone) = (top.path().join("kept"), top.path().join("gone"));
    create_folder(&kept.join("inside")).unwrap();
    create_folder(&gone.join("a/b")).unwrap();
    write(&gone.join("a/b/file"), b"x").unwrap();
    std::os::unix::fs::symlink(&kept, gone.join("link")).unwrap();
    for (path, mode) in [("a/b", 0o000), ("a", 0o555)] {
        std::fs::set_permissions(gone.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    remove_folder(&gone).unwrap();
    assert!(!gone.exists() && kept.join("inside").exists());
    std::os::unix::fs::symlink(&kept, &gone).unwrap();
    remove_folder(&gone).unwrap();
    assert!(kept.exists() && gone.symlink_metadata().is_err());
    assert_eq!(remove_folder(&gone).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_folder_that_others_can_replace_is_refused() {
    let top = place();
    let real = top.path().canonicalize().unwrap();
    let (above, own) = (real.join("above"), real.join("above/own"));
    create_folder(&own).unwrap();
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(require_own(&own), Ok(()));
    set(&above, 0o777);
    let open = Err(Misplaced::Open { path: above.clone() });
    assert_eq!([require_own(&own), require_own(&above.join("missing/too"))], [open.clone(), open]);
    set(&above, 0o1777);
    assert_eq!([require_own(&own), require_own(&above.join("missing"))], [Ok(()), Ok(())]);
    set(&own, 0o1777);
    assert_eq!(require_own(&own), Err(Misplaced::Open { path: own.clone() }));
    set(&own, 0o700);
    let user = rustix::process::geteuid().as_raw();
    if user == 0 {
        std::os::unix::fs::chown(&own, Some(65_534), None).unwrap();
        assert_eq!(require_own(&own), Err(Misplaced::Foreign { owner: 65_534, user }));
    } else {
        assert!(matches!(require_own(OsStr::new("/proc/1").as_ref()), Err(Misplaced::Foreign { .. })));
    }
}
