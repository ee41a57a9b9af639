//! Copies a folder of ours with everything in it, by reference where the file system can.
//!
//! Links are copied as links, and never followed. Nothing may write to the folder meanwhile.

use std::collections::BTreeSet;
use std::fs::{File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::private;

/// The size of a copy of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The bytes of its files.
    pub bytes: u64,
    /// How many files and folders there are.
    pub files: u64,
}

/// Measures a folder; a file with several names in it counts once.
///
/// # Errors
/// Fails if something in it cannot be read.
pub fn extent(folder: &Path) -> io::Result<Extent> {
    let (mut extent, mut linked, mut open) =
        (Extent::default(), BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        extent.files += 1;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            if found.is_dir() {
                open.push(entry.path());
            } else {
                extent.files += 1;
                let is_first = found.nlink() == 1 || linked.insert((found.dev(), found.ino()));
                extent.bytes += if is_first { found.len() } else { 0 };
            }
        }
    }
    Ok(extent)
}

/// Reports whether a copy of a file in this folder shares its blocks with it, by making one.
///
/// # Errors
/// Fails if the folder cannot be written.
pub fn shares_blocks(folder: &Path) -> io::Result<bool> {
    let [mut from, to] = [
        tempfile::tempfile_in(folder)?,
        tempfile::tempfile_in(folder)?,
    ];
    io::Write::write_all(&mut from, b"shared")?;
    Ok(rustix::fs::ioctl_ficlone(&to, &from).is_ok())
}

/// Copies a folder to a path where nothing is, with the permissions and the times of what is in it.
/// Pipes and sockets are left out.
///
/// # Errors
/// Fails if something cannot be read or written; what was copied until then stays.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    private::create_folder(to)?;
    let mut open = vec![(from.to_owned(), to.to_owned())];
    let mut folders: Vec<(PathBuf, Metadata)> = Vec::new();
    while let Some((from, to)) = open.pop() {
        for entry in std::fs::read_dir(&from)? {
            let entry = entry?;
            let (found, target) = (entry.metadata()?, to.join(entry.file_name()));
            if found.is_dir() {
                private::create_folder(&target)?;
                open.push((entry.path(), target.clone()));
                folders.push((target, found));
            } else if found.is_symlink() {
                std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
            } else if found.is_file() {
                copy_file(&entry.path(), &target, &found)?;
            }
        }
    }
    // Last, since creating an entry changes the time of its folder and needs its permissions.
    for (folder, found) in folders.into_iter().rev() {
        std::fs::set_permissions(&folder, Permissions::from_mode(found.mode() & 0o777))?;
        File::open(&folder)?.set_times(times(&found)?)?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, found: &Metadata) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(found.mode() & 0o777)
        .open(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        io::copy(&mut source, &mut target)?;
    }
    target.set_times(times(found)?)
}

fn times(found: &Metadata) -> io::Result<FileTimes> {
    Ok(FileTimes::new().set_modified(found.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_contents_the_permissions_and_the_times() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        std::fs::create_dir_all(from.join("a/b")).unwrap();
        std::fs::write(from.join("a/b/tool"), "run").unwrap();
        std::fs::set_permissions(from.join("a/b/tool"), Permissions::from_mode(0o700)).unwrap();
        std::fs::hard_link(from.join("a/b/tool"), from.join("same")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        for path in ["a/b/tool", "a/b", "a"] {
            File::open(from.join(path))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        // Tools make parts of their caches unwritable.
        std::fs::set_permissions(from.join("a/b"), Permissions::from_mode(0o500)).unwrap();
        assert_eq!(
            extent(&from).unwrap(),
            Extent {
                bytes: 3 + 11,
                files: 6
            }
        );
        copy_folder(&from, &to).unwrap();
        assert_eq!(std::fs::read(to.join("a/b/tool")).unwrap(), b"run");
        assert_eq!(
            std::fs::read_link(to.join("link")).unwrap(),
            Path::new("/etc/passwd")
        );
        for (path, mode) in [("a/b/tool", 0o700), ("a/b", 0o500)] {
            let found = to.join(path).metadata().unwrap();
            assert_eq!(
                (found.mode() & 0o777, found.modified().unwrap()),
                (mode, old),
                "{path}"
            );
        }
        // Nothing written to the copy reaches what it was made from.
        assert_eq!(to.join("same").metadata().unwrap().nlink(), 1);
        assert_ne!(
            to.join("a/b/tool").metadata().unwrap().ino(),
            from.join("a/b/tool").metadata().unwrap().ino()
        );
    }

    #[test]
    fn whether_copies_share_their_blocks_is_found_by_making_one() {
        let place = tempfile::tempdir().unwrap();
        shares_blocks(place.path()).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(shares_blocks(&place.path().join("absent")).is_err());
    }
}
