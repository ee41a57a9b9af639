//! Judges, without opening a file, what a call that names it would open.

use std::os::fd::AsFd;

use orchestrate_core::policy::{Access, Target};
use rustix::fs::{FileType, OFlags, fstat};

use super::open::{Files, failure};
use super::path::{join, split};
use crate::answer::ToolError;
use crate::call::Effect;

impl Files {
    /// Refuses what a call affects if a rule is against its real path, as when it is opened.
    ///
    /// # Errors
    /// `Denied`, with the rule. What does not exist, or cannot be looked at, is refused by no rule.
    pub(crate) fn foresee(&self, effect: &Effect) -> Result<(), ToolError> {
        let (path, is_folder) = match &effect.target {
            Target::Path(path) => (path, false),
            Target::Folder(path) => (path, true),
            _ => return Ok(()),
        };
        let files = self.accessed(effect.access);
        match files.foresee_path(path, is_folder, effect.access == Access::Delete) {
            Err(error @ ToolError::Denied { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    fn foresee_path(&self, path: &str, is_folder: bool, is_deleted: bool) -> Result<(), ToolError> {
        let found = match self.look(path)? {
            // A link is deleted itself.
            Some(FileType::Symlink) if is_deleted => None,
            found => found,
        };
        if found.is_some() {
            let handle = self.handle(path, OFlags::empty())?;
            let stat = fstat(&handle).map_err(|errno| failure(path, errno))?;
            let real = self.real_path(path, handle.as_fd())?;
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            return self.judge_real(&real, is_folder);
        }
        self.foresee_new(path, is_folder)
    }

    /// Refuses a file or a folder that cannot be new there: the nearest folder that exists decides
    /// where it would be.
    pub(super) fn foresee_new(&self, path: &str, is_folder: bool) -> Result<(), ToolError> {
        let (mut parent, name) = split(path);
        let mut below = name.to_owned();
        while !parent.is_empty() && self.look(parent)?.is_none() {
            let (above, name) = split(parent);
            below = join(name, &below);
            parent = above;
        }
        let handle = self.handle(parent, OFlags::empty())?;
        let real = join(&self.real_path(parent, handle.as_fd())?, &below);
        // First, so that where a rule is against it, nothing else is told.
        self.judge_real(&real, is_folder)?;
        self.handle(parent, OFlags::DIRECTORY).map(drop)
    }

    fn judge_real(&self, real: &str, is_folder: bool) -> Result<(), ToolError> {
        match (real.is_empty(), is_folder) {
            (true, _) => Ok(()),
            (false, true) => self.guard().check_folder(real),
            (false, false) => self.guard().check(real),
        }
    }
}
