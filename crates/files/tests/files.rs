//! Removes and replaces files, and refuses folders that other users can replace.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use orchestrate_files::{
    Misplaced, close_to_others, create_folder, disk_usage, remove_folder, remove_folder_unless,
    replace, replace_by_way_of, require_own, write,
};

#[test]
fn what_its_owner_may_not_write_is_removed_and_links_are_not_followed() {
    let top = tempfile::tempdir().unwrap();
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
    assert_eq!(
        remove_folder(&gone).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
}

#[test]
fn a_removal_can_be_left_to_another() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("folder");
    for number in 0..20 {
        std::fs::create_dir_all(folder.join(number.to_string())).unwrap();
    }
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 10
    };
    assert!(!remove_folder_unless(&folder, &stop).unwrap());
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert!(left > 0 && left < 20, "{left}");
    // Whoever goes on needs nothing but the path.
    assert!(remove_folder_unless(&folder, &|| false).unwrap() && !folder.exists());
}

#[test]
fn a_file_is_replaced_in_one_step_and_keeps_its_mode() {
    let top = tempfile::tempdir().unwrap();
    let names = || {
        let mut names: Vec<_> = top
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let (file, other) = (top.path().join("file"), top.path().join("other"));
    write(&other, b"other").unwrap();
    replace(&file, b"new").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let before = std::fs::File::open(&file).unwrap();
    replace(&file, b"newer").unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(
        [
            std::io::read_to_string(before).unwrap(),
            std::fs::read_to_string(&file).unwrap()
        ],
        ["new", "newer"]
    );
    // The control: bytes that are written in place reach a reader that has opened the file before.
    let before = std::fs::File::open(&file).unwrap();
    std::fs::write(&file, b"in place").unwrap();
    assert_eq!(std::io::read_to_string(before).unwrap(), "in place");
    // A link is replaced, and its target is not.
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
    replace(&file, b"newest").unwrap();
    assert_eq!(
        file.symlink_metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(std::fs::read(&other).unwrap(), b"other");
    // A file that a killed process left is removed, and a link in its place is not followed.
    write(&top.path().join("half"), b"ha").unwrap();
    replace_by_way_of("half", &file, b"whole").unwrap();
    assert_eq!(
        (std::fs::read(&file).unwrap(), names().len()),
        (b"whole".to_vec(), 2)
    );
    std::os::unix::fs::symlink(&other, top.path().join("half")).unwrap();
    replace_by_way_of("half", &file, b"last").unwrap();
    assert_eq!(
        [&file, &other].map(|path| std::fs::read(path).unwrap()),
        [b"last".to_vec(), b"other".to_vec()]
    );
    assert_eq!(names(), ["file", "other"]);
    // A failure leaves no temporary file.
    create_folder(&top.path().join("folder")).unwrap();
    replace(&top.path().join("folder"), b"").unwrap_err();
    replace_by_way_of("half", &top.path().join("folder"), b"").unwrap_err();
    assert_eq!(names(), ["file", "folder", "other"]);
}

#[test]
fn a_folder_that_others_can_replace_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let real = top.path().canonicalize().unwrap();
    let (above, own) = (real.join("above"), real.join("above/own"));
    create_folder(&own).unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    assert_eq!(require_own(&own), Ok(()));
    set(&above, 0o777);
    let open = Err(Misplaced::Open {
        path: above.clone(),
    });
    assert_eq!(
        [require_own(&own), require_own(&above.join("missing/too"))],
        [open.clone(), open]
    );
    set(&above, 0o1777);
    assert_eq!(
        [require_own(&own), require_own(&above.join("missing"))],
        [Ok(()), Ok(())]
    );
    set(&own, 0o1777);
    assert_eq!(
        require_own(&own),
        Err(Misplaced::Open { path: own.clone() })
    );
    set(&own, 0o755);
    close_to_others(&own).unwrap();
    close_to_others(&above.join("missing")).unwrap();
    assert_eq!(
        std::fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let user = rustix::process::geteuid().as_raw();
    if user == 0 {
        std::os::unix::fs::chown(&own, Some(65_534), None).unwrap();
        assert_eq!(
            require_own(&own),
            Err(Misplaced::Foreign {
                owner: 65_534,
                user
            })
        );
        std::os::unix::fs::chown(&own, Some(0), None).unwrap();
        std::os::unix::fs::chown(&above, Some(65_533), None).unwrap();
        assert_eq!(
            require_own(&own),
            Err(Misplaced::Below {
                path: above.clone(),
                owner: 65_533
            })
        );
        std::os::unix::fs::chown(&above, Some(0), Some(65_533)).unwrap();
        set(&above, 0o775);
        assert_eq!(
            require_own(&own),
            Err(Misplaced::Shared {
                path: above.clone()
            })
        );
        set(&above, 0o1775);
        assert_eq!(require_own(&own), Ok(()));
    } else {
        assert!(matches!(
            require_own(OsStr::new("/proc/1").as_ref()),
            Err(Misplaced::Foreign { .. })
        ));
    }
}

#[test]
fn a_file_is_counted_once_and_links_are_not_followed() {
    let top = tempfile::tempdir().unwrap();
    let (counted, other) = (top.path().join("counted"), top.path().join("other"));
    create_folder(&counted.join("inside")).unwrap();
    create_folder(&other).unwrap();
    let empty = disk_usage(&counted);
    write(&other.join("large"), &vec![1; 1 << 20]).unwrap();
    std::os::unix::fs::symlink(&other, counted.join("link")).unwrap();
    assert!(disk_usage(&counted) < empty + (1 << 16));
    std::fs::hard_link(other.join("large"), counted.join("first")).unwrap();
    std::fs::hard_link(other.join("large"), counted.join("inside/second")).unwrap();
    let once = disk_usage(&counted) - empty;
    assert!(((1 << 20)..(1 << 20) + (1 << 16)).contains(&once), "{once}");
    assert_eq!(disk_usage(&top.path().join("absent")), 0);
}
