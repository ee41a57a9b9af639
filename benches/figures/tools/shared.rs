//! Measures what the result of a setup costs in one more worktree: its time, and its space on the
//! disk.
//!
//! Ten worktrees get a `node_modules` of 300 MB that one setup has made, as a run brings it to
//! them; the tenth is measured. The bare counterpart is `cp` of the same folder. It has to be on a
//! file system with reflinks: the one of temporary files, or XFS in a file, where this process may
//! mount one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_core::Oid;
use orchestrate_git::{Repo, Worktree, WorktreeSpec};
use rustix::fs::{ioctl_ficlone, statvfs, syncfs};
use tempfile::TempDir;

use crate::measuring::Figure;
use crate::support::git;

/// Packages, and the files of each: 300 MB, as the dependencies of a web application.
const PACKAGES: usize = 600;
const FILES: usize = 50;
const FILE_BYTES: usize = 10_000;
const WORKTREES: usize = 10;
/// The size of the file with a file system of our own: room for the result, its bare copy and a
/// journal.
const IMAGE_BYTES: u64 = 3 << 30;
const MEGABYTE: f64 = 1e6;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let Some(place) = Place::with_reflinks()? else {
        crate::say("not measured: shared setup: needs a file system with reflinks (XFS, btrfs)");
        return Ok(Vec::new());
    };
    let checkout = place.path().join("checkout");
    let base = repository(&checkout)?;
    let repo = Repo::open(&checkout, &place.path().join("state"))?;
    let add = |name: &str| {
        repo.worktrees().add(&WorktreeSpec {
            path: place.path().join("state").join(name),
            branch: None,
            base: base.clone(),
            lock_reason: "measured".to_owned(),
            times: None,
        })
    };
    let setup = add("setup")?;
    let (packages, bare) = (setup.path().join("node_modules"), place.path().join("bare"));
    install(&packages)?;
    let made = repo.worktrees().made(&setup)?;
    let made = made.ok_or("the result cannot be brought")?;
    let bring = |to: &Worktree| match repo.worktrees().bring_made(&made, &setup, to)? {
        true => Ok(()),
        false => Err(Failed::from("the result was not brought")),
    };
    for number in 1..WORKTREES {
        bring(&add(&format!("w{number}"))?)?;
    }
    let last = add(&format!("w{WORKTREES}"))?;
    let ours = Cost::of(place.path(), || bring(&last))?;
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=never"]).args([packages, bare]);
    let bare = Cost::of(place.path(), || run(&mut copy))?;
    let beside =
        |unit: &str, bare: f64| format!("cp --reflink=never {bare:.1} {unit}; {}", place.kind());
    Ok(vec![
        Figure {
            name: "the tenth worktree's node_modules of 300 MB",
            measured: ours.seconds,
            limit: 2.0,
            unit: "s",
            beside: beside("s", bare.seconds),
        },
        Figure {
            name: "the same, on the disk",
            measured: ours.megabytes,
            limit: 10.0,
            unit: "MB",
            beside: beside("MB", bare.megabytes),
        },
    ])
}

/// Creates a repository that ignores `node_modules`, and returns its commit.
fn repository(path: &Path) -> Result<Oid, Failed> {
    fs::create_dir_all(path)?;
    git(path, &["init", "-q", "-b", "main"])?;
    git(path, &["config", "user.name", "Ada"])?;
    git(path, &["config", "user.email", "ada@example.org"])?;
    fs::write(path.join(".gitignore"), "node_modules/\n")?;
    git(path, &["add", "-A"])?;
    git(path, &["commit", "-q", "-m", "Begin"])?;
    Ok(Oid::new(git(path, &["rev-parse", "HEAD"])?.trim()))
}

/// Writes packages as `npm ci` leaves them.
fn install(node_modules: &Path) -> Result<(), Failed> {
    let text = "module.exports = 1;\n".repeat(FILE_BYTES / 20);
    for package in 0..PACKAGES {
        let folder = node_modules.join(format!("package-{package}/lib"));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            let text = format!("// {package}/{file}\n{text}");
            fs::write(folder.join(format!("{file}.js")), text)?;
        }
    }
    Ok(())
}

/// What an act costs on a file system.
struct Cost {
    seconds: f64,
    megabytes: f64,
}

impl Cost {
    fn of(folder: &Path, act: impl FnOnce() -> Result<(), Failed>) -> Result<Self, Failed> {
        let free = free(folder)?;
        let begun = Instant::now();
        act()?;
        let seconds = begun.elapsed().as_secs_f64();
        let used = free.saturating_sub(self::free(folder)?);
        Ok(Self {
            seconds,
            megabytes: used as f64 / MEGABYTE,
        })
    }
}

/// Returns the free bytes of a file system once everything is written.
fn free(folder: &Path) -> Result<u64, Failed> {
    syncfs(File::open(folder)?)?;
    let about = statvfs(folder)?;
    Ok(about.f_bfree * about.f_frsize)
}

/// A temporary folder on a file system with reflinks.
struct Place {
    /// Unmounted before its folder is removed.
    mounted: Option<Mounted>,
    folder: TempDir,
}

impl Place {
    /// Returns a folder, or `None` if there is no such file system and none can be mounted.
    fn with_reflinks() -> Result<Option<Self>, Failed> {
        let folder = tempfile::tempdir()?;
        if has_reflinks(folder.path())? {
            let mounted = None;
            return Ok(Some(Self { mounted, folder }));
        }
        let mounted = Mounted::xfs_in(folder.path());
        match &mounted {
            Some(place) if has_reflinks(&place.0)? => Ok(Some(Self { mounted, folder })),
            _ => Ok(None),
        }
    }

    fn path(&self) -> &Path {
        match &self.mounted {
            Some(mounted) => &mounted.0,
            None => self.folder.path(),
        }
    }

    fn kind(&self) -> &'static str {
        if self.mounted.is_some() {
            "on XFS in a file"
        } else {
            "on the file system of temporary files"
        }
    }
}

/// A file system of our own, unmounted on drop.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts a new XFS; `None` if this process may not, or the programs are missing.
    fn xfs_in(folder: &Path) -> Option<Self> {
        let (image, at) = (folder.join("image"), folder.join("mounted"));
        let file = File::create(&image).ok()?;
        file.set_len(IMAGE_BYTES).ok()?;
        fs::create_dir(&at).ok()?;
        let mut format = Command::new("mkfs.xfs");
        run(format.args(["-q", "-m", "reflink=1"]).arg(&image)).ok()?;
        let mut mount = Command::new("mount");
        run(mount.args(["-o", "loop"]).args([&image, &at])).ok()?;
        Some(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = run(Command::new("umount").arg(&self.0)) {
            crate::say(&format!("left mounted: {}", crate::reason(&error)));
        }
    }
}

fn has_reflinks(folder: &Path) -> Result<bool, Failed> {
    let from = folder.join("from");
    fs::write(&from, "1")?;
    let cloned = ioctl_ficlone(File::create(folder.join("to"))?, File::open(from)?);
    Ok(cloned.is_ok())
}

fn run(command: &mut Command) -> Result<(), Failed> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
