//! The user's hooks at a landing: which are present, and running them on request, as git would.
//!
//! A hook is a program that may have come with the repository, so none is run unless the user asks
//! for it. Then it sees the user's own configuration, unlike every other git process of ours.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::land::move_branch::Landing;

/// The hook that runs once the files are updated; its exit code does not count.
const AFTERWARDS: &str = "post-merge";

impl Landing<'_> {
    /// Returns those of these hooks that are present and executable.
    pub fn hooks_present(&self, names: &[&'static str]) -> Vec<&'static str> {
        let folder = self.hooks_folder();
        let is_executable = |name: &&str| {
            let found = std::fs::metadata(folder.join(name));
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        names.iter().copied().filter(is_executable).collect()
    }

    /// Reports whether what lands changes the hooks themselves: then they are no longer only the
    /// user's.
    ///
    /// # Errors
    /// If a commit cannot be read.
    pub fn changes_hooks(&self, from: &Oid, to: &Oid) -> Result<bool, GitError> {
        let folder = self.hooks_folder();
        let below = |path: &Path| {
            path.strip_prefix(self.repo.workdir())
                .ok()
                .map(Path::to_owned)
        };
        // Hook managers keep the hooks that they call in the folder above the one that git is told
        // of.
        let above = folder
            .parent()
            .and_then(below)
            .filter(|above| !above.as_os_str().is_empty());
        let called = folder
            .join(AFTERWARDS)
            .canonicalize()
            .ok()
            .and_then(|real| below(&real));
        let places: Vec<PathBuf> = below(&folder)
            .into_iter()
            .chain(above)
            .chain(called)
            .collect();
        let changed = self.repo.store().changed_paths(from, to)?;
        Ok(changed
            .iter()
            .any(|path| places.iter().any(|place| path.starts_with(place))))
    }

    /// Runs the hook for an updated checkout, there, and returns its complaint if it fails.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn run_post_merge(
        &self,
        checkout: &Path,
        is_squash: bool,
    ) -> Result<Option<String>, GitError> {
        let squash = if is_squash { "1" } else { "0" };
        let ended = self
            .repo
            .program
            .run_hook(checkout, [AFTERWARDS, "--", squash])?;
        Ok((ended.code != 0).then(|| ended.failure(AFTERWARDS).to_string()))
    }

    /// Runs the hooks that check or change a commit's message, which is in this file.
    pub(crate) fn run_message_hooks(&self, message: &Path, source: &str) -> Result<(), GitError> {
        let message = message.as_os_str();
        let runs = [("prepare-commit-msg", Some(source)), ("commit-msg", None)];
        for (name, source) in runs {
            let args = [name.as_ref(), "--".as_ref(), message]
                .into_iter()
                .chain(source.map(AsRef::as_ref));
            let ended = self.repo.program.run_hook(self.repo.workdir(), args)?;
            if ended.code != 0 {
                let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), ended.stderr);
                return Err(GitError::HookFailed {
                    name,
                    code: ended.code,
                    said: said.trim().to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns the folder of the hooks that git would run in the user's checkout.
    fn hooks_folder(&self) -> PathBuf {
        let configured = self.repo.shared.configuration.hooks_folder();
        let configured = configured.map(|folder| self.repo.workdir().join(folder));
        configured.unwrap_or_else(|| self.repo.common_dir().join("hooks"))
    }
}
