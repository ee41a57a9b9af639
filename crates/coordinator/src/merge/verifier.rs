//! The verifier: the worktree of a run in which exact trees are checked, of a merge as of a landing.
//!
//! A check there finds what it would find in any other worktree of the run: the files that the project wants in each,
//! and what its setup makes. Nobody works in it, so it is brought to another commit for each check.
//!
//! What git ignores stays from one check to the next, so that builds are quick, but only what a check has left that
//! passed, of a commit that the next one has in it. A red check, one that was stopped or killed, and one of a result
//! that came to nothing leave nothing: the worktree is made anew. A note in git's entry for the worktree, which no
//! confined command can write, says what it was that passed; it is taken away while a check runs.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use orchestrate_core::{Oid, RunId, RunSettings};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};

use crate::run::layout::Layout;

/// The name of the note that says which commit the last check was of, if it passed.
const PASSED: &str = "orchestrate-passed";

/// The verifier at a commit, ready for one check.
pub(crate) struct Verifier {
    worktree: Worktree,
    commit: Oid,
}

/// Brings a run's verifier to a commit; makes it if it is not there, and anew if it cannot be used as it is.
pub(crate) fn bring(repo: &Repo, layout: &Layout, run: &RunId, commit: &Oid) -> Result<Verifier, GitError> {
    let spec = WorktreeSpec {
        path: layout.verifier(run),
        branch: None,
        base: commit.clone(),
        lock_reason: format!("orchestrate {run} verifier"),
    };
    let anew = || {
        repo.discard_worktree(&spec.path, &layout.trash())?.delete()?;
        filled(repo, &spec)
    };
    let worktree = match repo.open_worktree(&spec.path) {
        Ok(last) if !take_note(&last)?.is_some_and(|passed| is_within(repo, &passed, commit)) => anew()?,
        _ => match filled(repo, &spec) {
            Err(error) if !matches!(error, GitError::Killed) => {
                tracing::warn!(%error, "recreating the verifier");
                anew()?
            }
            filled => filled?,
        },
    };
    Ok(Verifier { worktree, commit: commit.clone() })
}

impl Verifier {
    /// Returns the worktree.
    pub(crate) fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    /// Notes that the check has passed, so that the next one may find what this one has left.
    pub(crate) fn note_passed(self) -> Result<(), GitError> {
        let path = note(&self.worktree);
        let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut note| note.write_all(self.commit.as_str().as_bytes()));
        written.map_err(|source| GitError::Io { doing: "write", path, source })
    }
}

fn note(worktree: &Worktree) -> PathBuf {
    worktree.admin_dir().join(PASSED)
}

/// Takes the note of the last check away, and gives the commit that it names, or `None` if that check has not passed.
fn take_note(worktree: &Worktree) -> Result<Option<Oid>, GitError> {
    let path = note(worktree);
    let taken = std::fs::read_to_string(&path).and_then(|text| std::fs::remove_file(&path).map(|()| text));
    match taken {
        Ok(text) => Ok(Some(Oid::new(text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GitError::Io { doing: "remove", path, source }),
    }
}

/// Reports whether a commit has another in it; one that is nowhere any more is in none.
fn is_within(repo: &Repo, older: &Oid, newer: &Oid) -> bool {
    repo.contains(newer, older).unwrap_or(false)
}

fn filled(repo: &Repo, spec: &WorktreeSpec) -> Result<Worktree, GitError> {
    let worktree = repo.add_worktree(spec)?;
    repo.checkout_detached(&worktree, &spec.base)?;
    repo.copy_included(&worktree)?;
    Ok(worktree)
}

/// Returns the commands of a check of an exact tree, in their order; the tree is good if all of them pass.
///
/// The project's setup comes first each time: what it makes need not be ignored by git, so it may be gone since the
/// last check, or belong to another tree.
pub(crate) fn commands<'a>(settings: &'a RunSettings, check: &'a str) -> impl Iterator<Item = &'a str> {
    settings.worktree_setup.as_deref().into_iter().chain([check])
}
