//! The private folders of a room, which each of its jobs finds as they were when the room was made.
//!
//! Bubblewrap has put links, copies and mounts into some of them: the user's home, above all, holds
//! the worktree and the toolchains. Whatever is in a folder is listed once. For a job, an empty
//! file system in memory is mounted over the folder, and filled from the list; what was mounted in
//! the folder is mounted again.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};

use crate::helper::protocol::FreshFolder;

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

/// The private folders, those above others first, with what is in each.
pub(super) struct FreshFolders(Vec<Filled>);

struct Filled {
    folder: FreshFolder,
    /// What is in it, a folder before what is in that.
    entries: Vec<Entry>,
}

struct Entry {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    Folder { mode: u32 },
    Link { target: PathBuf },
    File { mode: u32, bytes: Vec<u8> },
    MountedFolder,
    MountedFile,
}

impl FreshFolders {
    /// Lists what is in these folders.
    pub(super) fn read(mut folders: Vec<FreshFolder>) -> io::Result<Self> {
        folders.sort_by(|one, other| one.path.cmp(&other.path));
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path.clone()).collect();
        let mut filled = Vec::new();
        for folder in folders {
            let entries = list(&folder.path, &paths)?;
            filled.push(Filled { folder, entries });
        }
        Ok(Self(filled))
    }

    /// Mounts new folders over the old ones, in the mount namespace of this process.
    pub(super) fn renew(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        for filled in &self.0 {
            for entry in &filled.entries {
                if entry.is_mounted() {
                    kept.push((entry, take_hold(&entry.path)?));
                }
            }
        }
        for filled in &self.0 {
            filled.folder.mount()?;
            for entry in &filled.entries {
                entry.make()?;
            }
        }
        for (entry, mounted) in kept {
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(mounted, "", CWD, &entry.path, flags)?;
        }
        Ok(())
    }
}

impl FreshFolder {
    fn mount(&self) -> io::Result<()> {
        let options = format!("size={},mode={:o}", self.bytes, self.mode);
        let options = CString::new(options)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        Ok(mount(
            "tmpfs",
            &self.path,
            "tmpfs",
            flags,
            Some(options.as_c_str()),
        )?)
    }
}

impl Entry {
    fn is_mounted(&self) -> bool {
        matches!(self.kind, Kind::MountedFolder | Kind::MountedFile)
    }

    fn make(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Folder { mode } => {
                DirBuilder::new().mode(*mode).create(&self.path)?;
                // Whatever the umask is.
                fs::set_permissions(&self.path, Permissions::from_mode(*mode))
            }
            Kind::Link { target } => symlink(target, &self.path),
            Kind::File { mode, bytes } => {
                fs::write(&self.path, bytes)?;
                fs::set_permissions(&self.path, Permissions::from_mode(*mode))
            }
            Kind::MountedFolder => fs::create_dir(&self.path),
            Kind::MountedFile => File::create(&self.path).map(drop),
        }
    }
}

/// Lists what is in a folder, but nothing of what is mounted there.
fn list(folder: &Path, private: &[PathBuf]) -> io::Result<Vec<Entry>> {
    let device = folder.symlink_metadata()?.dev();
    let mut entries = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(above) = left.pop() {
        for found in fs::read_dir(above)? {
            let path = found?.path();
            let metadata = path.symlink_metadata()?;
            let mode = metadata.mode() & PERMISSIONS;
            let kind = if private.contains(&path) {
                Kind::Folder { mode }
            } else if metadata.dev() != device && metadata.is_dir() {
                Kind::MountedFolder
            } else if metadata.dev() != device {
                Kind::MountedFile
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path)?;
                Kind::Link { target }
            } else if metadata.is_dir() {
                left.push(path.clone());
                Kind::Folder { mode }
            } else {
                let bytes = fs::read(&path)?;
                Kind::File { mode, bytes }
            };
            entries.push(Entry { path, kind });
        }
    }
    Ok(entries)
}

/// Takes hold of what is mounted at a path, with everything that is mounted in it.
fn take_hold(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}
