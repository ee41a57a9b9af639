//! Checks a job's view before anything starts, so that an error names the wrong path.

use std::path::{Component, Path, PathBuf};

use crate::environment::around::around;
use crate::environment::host;
use crate::error::SandboxError;
use crate::job::{Content, HostView, Job, Mask, Mount, Mounted, View};
use crate::tier::Confinement;

/// The kernel's own file systems, which can never be roots.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Directories that the full tier itself fills, or in which it mounts what every job needs.
const FILLED: [&str; 6] = ["/etc", "/home", "/nix", "/run", "/tmp", "/var"];
/// The job's home, empty and in memory, where the user's own path cannot be it.
const HOME: &str = "/run/home";

/// A view whose roots exist. Each root is listed under its given path and, if that differs, its
/// real one.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Sorted, so that parents come before what is in them.
    pub(crate) roots: Vec<Root>,
    pub(crate) masks: Vec<Mask>,
    /// The mounts at other paths than the host's, sorted like the roots.
    pub(crate) mounts: Vec<Mount>,
    /// Directories of which only the roots below them are shown, listed like the roots.
    pub(crate) composed: Vec<PathBuf>,
}

/// One root of a view.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) writable: bool,
    /// Whether the root is skipped if it has disappeared since.
    pub(crate) optional: bool,
}

impl Checked {
    pub(crate) fn for_job(job: &Job, confinement: Confinement) -> Result<Self, SandboxError> {
        let View::Host(HostView {
            writable,
            read_only,
            optional,
            composed,
            masks,
            mounts,
            ..
        }) = &job.view;
        let mut roots = Vec::new();
        for (paths, writable, optional) in [
            (read_only, false, false),
            (optional, false, true),
            (writable, true, false),
        ] {
            for path in paths {
                if optional && !path.exists() {
                    continue;
                }
                let real = real_path(path)?;
                roots.push(Root {
                    path: real.clone(),
                    writable,
                    optional,
                });
                if real != *path {
                    roots.push(Root {
                        path: path.clone(),
                        writable,
                        optional,
                    });
                }
            }
        }
        roots.sort();
        roots.dedup();
        let masks = kept_masks(masks, &roots)?;
        let composed = composed_beside(&roots, composed)?;
        let checked = Self {
            masks,
            mounts: possible_mounts(mounts, confinement)?,
            composed,
            roots,
        };
        checked.require_cwd(&job.cwd)?;
        Ok(checked)
    }

    fn require_cwd(&self, cwd: &Path) -> Result<(), SandboxError> {
        let is_inside = if let Some((source, rest)) = mounted_source(&self.mounts, cwd) {
            is_real_folder_in(source, rest)
        } else if let Ok(real) = cwd.canonicalize() {
            cwd.is_absolute() && self.is_below_root(&real)
        } else {
            false
        };
        if is_inside {
            Ok(())
        } else {
            Err(SandboxError::CwdOutside {
                path: cwd.to_owned(),
            })
        }
    }

    /// Lists the directories and files that may be written, as the job sees them.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots_to_write(true).chain(self.writable_mounts())
    }

    /// Lists the same as the host has them.
    pub(crate) fn writable_on_host(&self) -> impl Iterator<Item = &Path> {
        self.roots_to_write(true)
            .chain(self.mounts.iter().filter_map(Mount::writable_source))
    }

    pub(crate) fn read_only(&self) -> impl Iterator<Item = &Path> {
        self.roots_to_write(false)
    }

    /// Lists the roots that may be written, or those that may not.
    fn roots_to_write(&self, writable: bool) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(move |root| root.writable == writable)
            .map(|root| root.path.as_path())
    }

    /// Lists the places at which directories of the host that may be written are mounted.
    fn writable_mounts(&self) -> impl Iterator<Item = &Path> {
        self.mounts
            .iter()
            .filter(|mount| mount.writable_source().is_some())
            .map(|mount| mount.at.as_path())
    }

    /// Lists the directories in which a job finds the programs of a folder of the user's `PATH`.
    pub(crate) fn holds_programs(&self) -> impl Iterator<Item = &Path> {
        self.read_only().chain(self.writable_mounts())
    }

    /// Returns the job's home in the full tier: the path of the user's own, unless that is a part
    /// of what is shown.
    pub(crate) fn home(&self) -> &Path {
        match host::real_home() {
            Some(home) if can_mount_at(home) && !self.shows(home) => home,
            _ => Path::new(HOME),
        }
    }

    /// Reports whether a path lies in a root or in what is mounted.
    fn shows(&self, path: &Path) -> bool {
        self.is_below_root(path) || self.mounts.iter().any(|mount| path.starts_with(&mount.at))
    }

    /// Reports whether a path lies in a directory of the host that is mounted elsewhere.
    pub(crate) fn is_in_mounted(&self, path: &Path) -> bool {
        mounted_source(&self.mounts, path).is_some()
    }

    /// Returns where the host has what a job would find at a path.
    pub(crate) fn on_host(&self, path: &Path) -> PathBuf {
        match mounted_source(&self.mounts, path) {
            Some((source, rest)) => source.join(rest),
            None => path.to_owned(),
        }
    }

    /// Reports whether a path lies in a root, or is one.
    pub(crate) fn is_below_root(&self, path: &Path) -> bool {
        is_in_any(&self.roots, path)
    }

    /// Reports whether a directory can be mounted below one that is mounted elsewhere without
    /// hiding anything of it: there is nothing, or an empty directory.
    pub(crate) fn has_room_for(&self, path: &Path) -> bool {
        let Some((source, rest)) = mounted_source(&self.mounts, path) else {
            return true;
        };
        match walk(source, rest) {
            Walked::Missing => true,
            Walked::Found(place) => {
                std::fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none())
            }
            Walked::Link => false,
        }
    }

    /// Reports whether a path lies in a composed directory, outside all roots except itself.
    pub(crate) fn is_in_composed(&self, path: &Path) -> bool {
        self.composed.iter().any(|above| is_below(path, above))
            && !self.roots.iter().any(|root| is_below(path, &root.path))
    }

    /// Reports whether a mask shows other bytes in place of a file.
    pub(crate) fn is_replaced(&self, path: &Path) -> bool {
        self.masks
            .iter()
            .any(|mask| mask.path == path && matches!(mask.content, Content::File(_)))
    }

    /// Lists what may be read of a read-only root without the masked paths below it: the siblings
    /// along the way, instead of the root itself.
    pub(crate) fn readable_around_masks(&self, root: &Path) -> Vec<PathBuf> {
        let mut hidden = Vec::new();
        for mask in &self.masks {
            if !shows_already(mask) && !self.writable().any(|root| mask.path.starts_with(root)) {
                hidden.push(mask.path.as_path());
            }
        }
        around(root, &hidden)
    }
}

impl Mount {
    /// Returns the directory of the host, if it may be written.
    fn writable_source(&self) -> Option<&Path> {
        match &self.content {
            Mounted::Writable(source) => Some(source),
            Mounted::ReadOnly(_) | Mounted::File(_) | Mounted::Folder => None,
        }
    }
}

/// Reports whether something of the host can be mounted at a path in the full tier: the path is
/// absolute, without `.` and `..`, and nothing that every process needs is at or below it.
#[must_use]
pub fn can_mount_at(path: &Path) -> bool {
    let is_plain =
        path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    let mut needed = host::SYSTEM.iter().chain(&KERNEL).chain(&FILLED);
    let hides_needed = needed.any(|needed| Path::new(needed).starts_with(path));
    is_plain && !hides_needed && !is_of_kernel(path)
}

/// Reports whether a path lies in one of the kernel's own file systems.
fn is_of_kernel(path: &Path) -> bool {
    KERNEL.iter().any(|tree| path.starts_with(tree))
}

fn is_in_any(roots: &[Root], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(&root.path))
}

fn is_below(path: &Path, above: &Path) -> bool {
    path != above && path.starts_with(above)
}

/// Returns the error that a path cannot be a part of a view.
fn refused(path: &Path, reason: &str) -> SandboxError {
    SandboxError::View {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Checks what is to be mounted at other paths, and sorts it.
fn possible_mounts(mounts: &[Mount], confinement: Confinement) -> Result<Vec<Mount>, SandboxError> {
    let mut sorted = mounts.to_vec();
    sorted.sort_by(|one, other| one.at.cmp(&other.at));
    for mount in &sorted {
        if !confinement.mounts() {
            let reason = "only the full tier can show something else there";
            return Err(refused(&mount.at, reason));
        }
        if !can_mount_at(&mount.at) {
            return Err(refused(&mount.at, "nothing can be mounted there"));
        }
        if let Some(source) = mount.writable_source()
            && !(source.is_absolute()
                && source.symlink_metadata().is_ok_and(|found| found.is_dir()))
        {
            let reason = "what is to be mounted is no directory";
            return Err(refused(&mount.at, reason));
        }
        let above: Vec<Mount> = sorted
            .iter()
            .filter(|other| other.at != mount.at)
            .cloned()
            .collect();
        if let Some((source, rest)) = mounted_source(&above, &mount.at)
            && !matches!(walk(source, rest), Walked::Found(_))
        {
            let reason =
                "it does not exist in the directory that is mounted above it, or is a link there";
            return Err(refused(&mount.at, reason));
        }
    }
    Ok(sorted)
}

/// Returns the writable directory of the host that a job finds at or above a path, and the rest of
/// the path.
fn mounted_source<'m, 'p>(mounts: &'m [Mount], path: &'p Path) -> Option<(&'m Path, &'p Path)> {
    // The deepest one applies.
    for mount in mounts.iter().rev() {
        if let Some(source) = mount.writable_source()
            && let Ok(rest) = path.strip_prefix(&mount.at)
        {
            return Some((source, rest));
        }
    }
    None
}

/// The entry at a path below a directory that a job may write.
enum Walked {
    /// A file or a directory, to which no link leads.
    Found(PathBuf),
    Missing,
    /// A link, there or on the way.
    Link,
}

/// Follows a path below a directory, but no link: a command may have created one.
fn walk(source: &Path, rest: &Path) -> Walked {
    let mut place = source.to_owned();
    for part in rest.components() {
        place.push(part);
        match place.symlink_metadata() {
            Ok(found) if found.is_symlink() => return Walked::Link,
            Ok(_) => {}
            Err(_) => return Walked::Missing,
        }
    }
    Walked::Found(place)
}

/// Reports whether a path below a directory leads to a directory in it.
fn is_real_folder_in(source: &Path, rest: &Path) -> bool {
    match (source.canonicalize(), source.join(rest).canonicalize()) {
        (Ok(source), Ok(real)) => real.is_dir() && real.starts_with(source),
        _ => false,
    }
}

/// Returns the directories to be composed, except those that a root shows as they are.
fn composed_beside(roots: &[Root], directories: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let mut all = Vec::new();
    for directory in directories {
        if directory.exists() {
            all.extend([directory.clone(), real_path(directory)?]);
        }
    }
    all.sort();
    all.dedup();
    all.retain(|directory| !is_in_any(roots, directory));
    Ok(all)
}

/// Reports whether a mask shows the existing content.
fn shows_already(mask: &Mask) -> bool {
    match &mask.content {
        Content::ReadOnly => true,
        Content::File(bytes) => std::fs::read(&mask.path).is_ok_and(|there| there == *bytes),
        Content::EmptyDir => false,
    }
}

fn real_path(path: &Path) -> Result<PathBuf, SandboxError> {
    if !path.is_absolute() {
        return Err(refused(path, "the path is not absolute"));
    }
    match path.canonicalize() {
        Ok(real) if real == Path::new("/") || is_of_kernel(&real) => Err(refused(
            path,
            "neither `/` nor a kernel file system can be a root",
        )),
        Ok(real) => Ok(real),
        Err(cause) => Err(refused(path, &cause.to_string())),
    }
}

/// Drops masks of missing paths that cannot be created; refuses those that a command could evade.
fn kept_masks(masks: &[Mask], roots: &[Root]) -> Result<Vec<Mask>, SandboxError> {
    let mut kept = Vec::new();
    for mask in masks {
        if !mask.path.is_absolute() {
            return Err(refused(&mask.path, "the path is not absolute"));
        }
        // The deepest root applies.
        let root = roots
            .iter()
            .rev()
            .find(|root| mask.path.starts_with(&root.path));
        match (root, std::fs::symlink_metadata(&mask.path)) {
            (_, Ok(found)) if found.is_symlink() => {
                return Err(refused(&mask.path, "a link cannot be masked"));
            }
            (_, Ok(found))
                if found.is_dir() != (mask.content == Content::EmptyDir)
                    && mask.content != Content::ReadOnly =>
            {
                let reason = "a file can only mask a file, a directory only a directory";
                return Err(refused(&mask.path, reason));
            }
            (_, Ok(_)) => kept.push(mask.clone()),
            (Some(root), Err(_)) if root.writable => {
                let reason = "it does not exist, so a command could create it";
                return Err(refused(&mask.path, reason));
            }
            (Some(_), Err(_)) if matches!(mask.content, Content::File(_)) => {
                return Err(refused(&mask.path, "it does not exist"));
            }
            (Some(_), Err(_)) => {}
            (None, Err(_)) if mask.content == Content::ReadOnly => {
                return Err(refused(&mask.path, "it does not exist"));
            }
            (None, Err(_)) => kept.push(mask.clone()),
        }
    }
    Ok(kept)
}
