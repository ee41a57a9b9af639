//! Creates files under any umask; alone in its process, because it sets the umask.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use orchestrate_files::{TemporaryFolder, create_folder, open_or_create, replace, write};
use rustix::fs::{Mode, OFlags, open};

#[test]
fn what_is_made_is_private_whatever_the_umask() {
    let top = tempfile::tempdir().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    for mask in [0o000, 0o022, 0o777] {
        let before = rustix::process::umask(Mode::from_raw_mode(mask));
        let place = top.path().join(format!("{mask:o}"));
        create_folder(&place.join("below")).unwrap();
        write(&place.join("file"), b"x").unwrap();
        replace(&place.join("replaced"), b"x").unwrap();
        drop(open_or_create(&place.join("opened")).unwrap());
        let everyone = Mode::from_raw_mode(0o666);
        drop(
            open(
                place.join("plain"),
                OFlags::CREATE | OFlags::WRONLY,
                everyone,
            )
            .unwrap(),
        );
        let temporary = TemporaryFolder::create("x-", Some(&place)).unwrap();
        rustix::process::umask(before);
        assert_eq!(
            [&place, &place.join("below"), temporary.path()].map(mode),
            [0o700; 3]
        );
        assert_eq!(
            ["file", "replaced", "opened"].map(|name| mode(&place.join(name))),
            [0o600; 3]
        );
        // The control: a file that anything else makes there has what the umask leaves, which may
        // be everything.
        assert_eq!(mode(&place.join("plain")), 0o666 & !mask);
    }
}
