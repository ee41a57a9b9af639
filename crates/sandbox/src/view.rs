//! Checks a job's view before anything starts, so that an error names the wrong path.

use std::path::{Component, Path, PathBuf};

use crate::around::around;
use crate::error::SandboxError;
use crate::host;
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
    /// What is at other paths than the host's, sorted like the roots.
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
            for path in paths.iter().filter(|path| !optional || path.exists()) {
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
        let (masks, composed) = (
            kept_masks(masks, &roots)?,
            composed_beside(&roots, composed)?,
        );
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
        let outside = || SandboxError::CwdOutside {
            path: cwd.to_owned(),
        };
        let is_inside = match mounted_source(&self.mounts, cwd) {
            Some((source, rest)) => is_real_folder_in(source, rest),
            None => {
                let real = cwd.canonicalize().map_err(|_| outside())?;
                cwd.is_absolute() && self.roots.iter().any(|root| real.starts_with(&root.path))
            }
        };
        is_inside.then_some(()).ok_or_else(outside)
    }

    /// Lists the directories and files that may be written, as the job sees them.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        let mounted = self
            .mounts
            .iter()
            .filter(|mount| matches!(mount.content, Mounted::Writable(_)));
        self.writable_roots()
            .chain(mounted.map(|mount| mount.at.as_path()))
    }

    /// Lists the same as the host has them.
    pub(crate) fn writable_on_host(&self) -> impl Iterator<Item = &Path> {
        self.writable_roots()
            .chain(self.mounts.iter().filter_map(Mount::writable_source))
    }

    fn writable_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(|root| root.writable)
            .map(|root| root.path.as_path())
    }

    pub(crate) fn read_only(&self) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(|root| !root.writable)
            .map(|root| root.path.as_path())
    }

    /// Lists the directories in which a job finds the programs of a folder of the user's `PATH`.
    pub(crate) fn holds_programs(&self) -> impl Iterator<Item = &Path> {
        self.read_only().chain(
            self.mounts
                .iter()
                .filter_map(|mount| mount.writable_source().map(|_| &*mount.at)),
        )
    }

    /// Returns the job's home in the full tier: the path of the user's own, unless that is a part
    /// of what is shown.
    pub(crate) fn home(&self) -> &Path {
        let usual = host::real_home();
        let shows = |home: &Path| {
            let roots = self.roots.iter().any(|root| home.starts_with(&root.path));
            roots || self.mounts.iter().any(|mount| home.starts_with(&mount.at))
        };
        usual
            .filter(|home| can_mount_at(home) && !shows(home))
            .unwrap_or(Path::new(HOME))
    }

    /// Reports whether a path lies in a directory of the host that is mounted elsewhere.
    pub(crate) fn is_in_mounted(&self, path: &Path) -> bool {
        mounted_source(&self.mounts, path).is_some()
    }

    /// Reports whether a path lies in a root, or is one.
    pub(crate) fn is_below_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(&root.path))
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
        let is_below = |above: &Path| path != above && path.starts_with(above);
        self.composed.iter().any(|directory| is_below(directory))
            && !self.roots.iter().any(|root| is_below(&root.path))
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
        let is_hidden = |mask: &&Mask| {
            !shows_already(mask) && !self.writable().any(|root| mask.path.starts_with(root))
        };
        let hidden: Vec<&Path> = self
            .masks
            .iter()
            .filter(is_hidden)
            .map(|mask| mask.path.as_path())
            .collect();
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
    let is_plain = path.is_absolute()
        && path
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
    let needed = host::SYSTEM
        .iter()
        .chain(&KERNEL)
        .chain(&FILLED)
        .map(Path::new);
    let hides_needed = needed.into_iter().any(|needed| needed.starts_with(path));
    is_plain && !hides_needed && !KERNEL.iter().any(|tree| path.starts_with(tree))
}

/// Checks what is to be mounted at other paths, and sorts it.
fn possible_mounts(mounts: &[Mount], confinement: Confinement) -> Result<Vec<Mount>, SandboxError> {
    let mut sorted = mounts.to_vec();
    sorted.sort_by(|one, other| one.at.cmp(&other.at));
    for mount in &sorted {
        let wrong = |reason: &str| SandboxError::View {
            path: mount.at.clone(),
            reason: reason.to_owned(),
        };
        if !confinement.mounts() {
            return Err(wrong("only the full tier can show something else there"));
        }
        if !can_mount_at(&mount.at) {
            return Err(wrong("nothing can be mounted there"));
        }
        if let Some(source) = mount.writable_source() {
            let is_folder =
                source.is_absolute() && source.symlink_metadata().is_ok_and(|found| found.is_dir());
            is_folder
                .then_some(())
                .ok_or_else(|| wrong("what is to be mounted is no directory"))?;
        }
        let above: Vec<Mount> = sorted
            .iter()
            .filter(|other| other.at != mount.at)
            .cloned()
            .collect();
        if let Some((source, rest)) = mounted_source(&above, &mount.at)
            && !matches!(walk(source, rest), Walked::Found(_))
        {
            return Err(wrong(
                "it does not exist in the directory that is mounted above it, or is a link there",
            ));
        }
    }
    Ok(sorted)
}

/// Returns the writable directory of the host that a job finds at or above a path, and the rest of
/// the path.
fn mounted_source<'m, 'p>(mounts: &'m [Mount], path: &'p Path) -> Option<(&'m Path, &'p Path)> {
    // The deepest one applies.
    let mut above = mounts
        .iter()
        .rev()
        .filter_map(|mount| Some((mount.writable_source()?, &mount.at)));
    above.find_map(|(source, at)| Some((source, path.strip_prefix(at).ok()?)))
}

/// What is at a path below a directory that a job may write.
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
    let real = source.join(rest).canonicalize();
    source
        .canonicalize()
        .is_ok_and(|source| real.is_ok_and(|real| real.is_dir() && real.starts_with(source)))
}

/// Returns the directories to be composed, except those that a root shows as they are.
fn composed_beside(roots: &[Root], directories: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let mut all = Vec::new();
    for directory in directories.iter().filter(|directory| directory.exists()) {
        let real = real_path(directory)?;
        all.extend([directory.clone(), real]);
    }
    all.sort();
    all.dedup();
    all.retain(|directory| !roots.iter().any(|root| directory.starts_with(&root.path)));
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
    let wrong = |reason: String| SandboxError::View {
        path: path.to_owned(),
        reason,
    };
    if !path.is_absolute() {
        return Err(wrong("the path is not absolute".to_owned()));
    }
    let real = path
        .canonicalize()
        .map_err(|cause| wrong(cause.to_string()))?;
    if real == Path::new("/") || KERNEL.iter().any(|tree| real.starts_with(tree)) {
        return Err(wrong(
            "neither `/` nor a kernel file system can be a root".to_owned(),
        ));
    }
    Ok(real)
}

/// Drops masks of missing paths that cannot be created; refuses those that a command could evade.
fn kept_masks(masks: &[Mask], roots: &[Root]) -> Result<Vec<Mask>, SandboxError> {
    let mut kept = Vec::new();
    for mask in masks {
        let wrong = |reason: &str| SandboxError::View {
            path: mask.path.clone(),
            reason: reason.to_owned(),
        };
        if !mask.path.is_absolute() {
            return Err(wrong("the path is not absolute"));
        }
        // The deepest root applies.
        let root = roots
            .iter()
            .rev()
            .find(|root| mask.path.starts_with(&root.path));
        match (root, std::fs::symlink_metadata(&mask.path)) {
            (_, Ok(found)) if found.is_symlink() => return Err(wrong("a link cannot be masked")),
            (_, Ok(found))
                if found.is_dir() != (mask.content == Content::EmptyDir)
                    && mask.content != Content::ReadOnly =>
            {
                return Err(wrong(
                    "a file can only mask a file, a directory only a directory",
                ));
            }
            (_, Ok(_)) => kept.push(mask.clone()),
            (Some(root), Err(_)) if root.writable => {
                return Err(wrong("it does not exist, so a command could create it"));
            }
            (Some(_), Err(_)) if matches!(mask.content, Content::File(_)) => {
                return Err(wrong("it does not exist"));
            }
            (Some(_), Err(_)) => {}
            (None, Err(_)) if mask.content == Content::ReadOnly => {
                return Err(wrong("it does not exist"));
            }
            (None, Err(_)) => kept.push(mask.clone()),
        }
    }
    Ok(kept)
}
