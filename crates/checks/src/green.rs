//! Trees that passed a check, remembered across the runs of a repository.
//!
//! A run whose base passed the same check before starts its agents at once. The key of an entry
//! covers all that decides the result as far as it is known: the tree, the commands, their time
//! limit, the sandbox, the ignored files that are copied into each worktree, and the base on which
//! a setup used the network. Only the digest of the key is stored. An entry can become wrong only
//! through the machine, such as another version of a program; each merge is verified in any case.
//! Losing the file, or an entry when two runs write at once, costs one check.

use std::path::PathBuf;

use orchestrate_core::{BlobId, Oid, RunSettings, RunState};
use orchestrate_git::{GitError, Repo};
use orchestrate_sandbox::Sandbox;

use crate::check::ShellCommand;
use crate::layout::Layout;
use crate::verifier;

/// The maximum number of trees that are remembered: more than the merges of many runs.
const MOST_TREES: usize = 1_000;

/// A tree with everything that decides the result of its check.
pub struct CheckedTree {
    key: BlobId,
    file: PathBuf,
}

/// Returns a digest of everything but the tree that decides what a check of a base leaves.
///
/// # Errors
/// If the user's ignored files cannot be read.
pub fn conditions(
    repo: &Repo,
    sandbox: &Sandbox,
    settings: &RunSettings,
    command: &str,
) -> Result<BlobId, GitError> {
    let commands: Vec<ShellCommand<'_>> = verifier::commands(settings, command).collect();
    let facts = (
        commands,
        sandbox.fingerprint(),
        repo.worktrees().included_fingerprint()?,
    );
    Ok(BlobId::from_content(format!("{facts:?}").as_bytes()))
}

impl CheckedTree {
    /// Returns the entry with a key.
    pub fn new(layout: &Layout, key: BlobId) -> Self {
        Self {
            key,
            file: layout.green_trees(),
        }
    }

    /// Returns the key of a tree for this check, as it would run now.
    ///
    /// # Errors
    /// If git fails.
    pub fn key(
        repo: &Repo,
        sandbox: &Sandbox,
        state: &RunState,
        tree: &Oid,
        command: &str,
    ) -> Result<BlobId, GitError> {
        let settings = &state.settings;
        let commands: Vec<ShellCommand<'_>> = verifier::commands(settings, command).collect();
        // Elsewhere, the setup runs on the tree itself.
        let set_up_on = if settings.setup_network {
            Some(repo.tree_of(&state.base)?)
        } else {
            None
        };
        let included = repo.worktrees().included_fingerprint()?;
        let facts = (
            tree.as_str(),
            commands,
            settings.command_timeout_ms,
            sandbox.fingerprint(),
            included,
            set_up_on,
        );
        // Debug formatting quotes and escapes each part, so that no two differ only in where one
        // ends.
        Ok(BlobId::from_content(format!("{facts:?}").as_bytes()))
    }

    /// Reports whether it passed before.
    pub fn is_green(&self) -> bool {
        self.known().iter().any(|known| known == self.key.as_str())
    }

    /// Records that it has passed; the newest entries are kept. A failure costs only another check.
    pub fn note_green(&self) {
        let mut known = self.known();
        if known.iter().any(|known| known == self.key.as_str()) {
            return;
        }
        known.push(self.key.to_string());
        let newest = known.split_off(known.len().saturating_sub(MOST_TREES));
        if let Err(error) =
            orchestrate_files::replace(&self.file, (newest.join("\n") + "\n").as_bytes())
        {
            tracing::warn!(path = %self.file.display(), %error, "failed to note a tree that passed its check");
        }
    }

    fn known(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
