//! Checks a job's view before anything starts, so that an error names the wrong path.

use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::job::{Content, HostView, Job, Mask, View};

/// The kernel's own file systems, which can never be roots.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A view whose roots exist. Each root is listed under its given path and, if that differs, its
/// real one.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Sorted, so that parents come before what is in them.
    pub(crate) roots: Vec<Root>,
    pub(crate) masks: Vec<Mask>,
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
    pub(crate) fn of(job: &Job) -> Result<Self, SandboxError> {
        let View::Host(HostView { writable, read_only, optional, composed, masks, .. }) = &job.view;
        let mut roots = Vec::new();
        for (paths, writable, optional) in [(read_only, false, false), (optional, false, true), (writable, true, false)]
        {
            for path in paths.iter().filter(|path| !optional || path.exists()) {
                let real = real_path(path)?;
                roots.push(Root { path: real.clone(), writable, optional });
                if real != *path {
                    roots.push(Root { path: path.clone(), writable, optional });
                }
            }
        }
        roots.sort();
        roots.dedup();
        let checked = Self { masks: kept_masks(masks, &roots)?, composed: composed_beside(&roots, composed)?, roots };
        checked.require_cwd(&job.cwd)?;
        Ok(checked)
    }

    fn require_cwd(&self, cwd: &Path) -> Result<(), SandboxError> {
        let outside = || SandboxError::CwdOutside { path: cwd.to_owned() };
        let real = cwd.canonicalize().map_err(|_| outside())?;
        let inside = cwd.is_absolute() && self.roots.iter().any(|root| real.starts_with(&root.path));
        inside.then_some(()).ok_or_else(outside)
    }

    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter(|root| root.writable).map(|root| root.path.as_path())
    }

    pub(crate) fn read_only(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter(|root| !root.writable).map(|root| root.path.as_path())
    }

    /// Reports whether a path lies in a composed directory, outside all roots except itself.
    pub(crate) fn is_in_composed(&self, path: &Path) -> bool {
        let is_below = |above: &Path| path != above && path.starts_with(above);
        self.composed.iter().any(|directory| is_below(directory)) && !self.roots.iter().any(|root| is_below(&root.path))
    }

    /// Reports whether a mask shows other bytes in place of a file.
    pub(crate) fn is_replaced(&self, path: &Path) -> bool {
        self.masks.iter().any(|mask| mask.path == path && matches!(mask.content, Content::File(_)))
    }

    /// Lists what may be read of a read-only root without the masked paths below it: the siblings
    /// along the way, instead of the root itself.
    pub(crate) fn readable_around_masks(&self, root: &Path) -> Vec<PathBuf> {
        let is_hidden = |mask: &&Mask| !shows_already(mask) && !self.writable().any(|root| mask.path.starts_with(root));
        let hidden: Vec<&Path> = self.masks.iter().filter(is_hidden).map(|mask| mask.path.as_path()).collect();
        around(root, &hidden)
    }
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

/// Lists what is left of a path without the hidden ones below it: the siblings along the way,
/// instead of the path itself.
pub(crate) fn around(path: &Path, hidden: &[&Path]) -> Vec<PathBuf> {
    if hidden.contains(&path) {
        return Vec::new();
    }
    if !hidden.iter().any(|mask| mask.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().exists()).flat_map(|entry| around(&entry.path(), hidden)).collect()
}

fn real_path(path: &Path) -> Result<PathBuf, SandboxError> {
    let wrong = |reason: String| SandboxError::View { path: path.to_owned(), reason };
    if !path.is_absolute() {
        return Err(wrong("the path is not absolute".to_owned()));
    }
    let real = path.canonicalize().map_err(|cause| wrong(cause.to_string()))?;
    if real == Path::new("/") || KERNEL.iter().any(|tree| real.starts_with(tree)) {
        return Err(wrong("neither `/` nor a kernel file system can be a root".to_owned()));
    }
    Ok(real)
}

/// Drops masks of missing paths that cannot be created; refuses those that a command could evade.
fn kept_masks(masks: &[Mask], roots: &[Root]) -> Result<Vec<Mask>, SandboxError> {
    let mut kept = Vec::new();
    for mask in masks {
        let wrong = |reason: &str| SandboxError::View { path: mask.path.clone(), reason: reason.to_owned() };
        if !mask.path.is_absolute() {
            return Err(wrong("the path is not absolute"));
        }
        // The deepest root applies.
        let root = roots.iter().rev().find(|root| mask.path.starts_with(&root.path));
        match (root, std::fs::symlink_metadata(&mask.path)) {
            (_, Ok(found)) if found.is_symlink() => return Err(wrong("a link cannot be masked")),
            (_, Ok(found))
                if found.is_dir() != (mask.content == Content::EmptyDir) && mask.content != Content::ReadOnly =>
            {
                return Err(wrong("a file can only mask a file, a directory only a directory"));
            }
            (_, Ok(_)) => kept.push(mask.clone()),
            (Some(root), Err(_)) if root.writable => {
                return Err(wrong("it does not exist, so a command could create it"));
            }
            (Some(_), Err(_)) if matches!(mask.content, Content::File(_)) => return Err(wrong("it does not exist")),
            (Some(_), Err(_)) => {}
            (None, Err(_)) if mask.content == Content::ReadOnly => return Err(wrong("it does not exist")),
            (None, Err(_)) => kept.push(mask.clone()),
        }
    }
    Ok(kept)
}
