//! The worktree in which the project's setup runs on a run's base, and what it has made there.
//!
//! A setup that failed or was interrupted leaves nothing, as its worktree is recreated.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::RunId;
use orchestrate_git::{GitError, Made, Repo, Worktree, WorktreeSpec};

use crate::merge::checks::CheckResult;
use crate::merge::project_setup::ProjectSetup;
use crate::merge::verifier;
use crate::run::layout::Layout;

/// The name of the note in git's entry for the worktree, where no confined command can write: the setup has passed.
const DONE: &str = "orchestrate-set-up";
/// The first byte of the note if the result can be brought to other worktrees, and if not.
const SHARED: u8 = b's';
const OWN: u8 = b'o';
/// How the setup ended on the base.
#[derive(Clone)]
pub(crate) enum OnBase {
    /// It did not pass, or was interrupted.
    Failed(CheckResult),
    /// It passed.
    Passed(Arc<BaseSetup>),
}

/// The result of a setup that has passed on the base.
pub(crate) struct BaseSetup {
    worktree: Worktree,
    /// What it has made, if others can have it as well.
    made: Option<Made>,
    /// The fingerprint of the user's files that it has seen.
    included: Vec<u8>,
}

/// A setup that is about to run on the base, or has passed there.
pub(crate) struct Begun {
    pub(crate) worktree: Worktree,
    included: Vec<u8>,
    /// The user's files in the worktree, which the command must not change if its result is to be brought.
    copies: Vec<u8>,
    /// Whether the result can be brought, if it has passed already.
    pub(crate) passed: Option<bool>,
}

/// Returns the worktree of the setup: the one in which it has passed, or a new one.
pub(crate) fn begin(repo: &Repo, layout: &Layout, setup: &ProjectSetup) -> Result<Begun, GitError> {
    let (run, path): (&RunId, PathBuf) = (&setup.run, layout.setup(&setup.run));
    if let Some((worktree, note)) = finished(repo, &path)? {
        let (is_shared, included) = (note.first() == Some(&SHARED), note.get(1..).unwrap_or_default().to_vec());
        return Ok(Begun { worktree, included, copies: Vec::new(), passed: Some(is_shared) });
    }
    for half_made in [&path, &layout.packages(run)] {
        repo.worktrees().discard(half_made, &layout.trash())?.delete()?;
    }
    let included = repo.worktrees().included_fingerprint()?;
    let lock_reason = format!("orchestrate {run} setup");
    let (base, times) = (setup.base.clone(), Some(layout.source_times(run)));
    let worktree = verifier::filled(repo, &WorktreeSpec { path, branch: None, base, lock_reason, times })?;
    let copies = repo.worktrees().copies_fingerprint(&worktree)?;
    Ok(Begun { worktree, included, copies, passed: None })
}

/// Notes that the setup has passed, and finds what it has made.
pub(crate) fn finish(repo: &Repo, begun: Begun) -> Result<BaseSetup, GitError> {
    let Begun { worktree, included, copies, passed } = begun;
    let is_shared = match passed {
        Some(is_shared) => is_shared,
        None => repo.worktrees().copies_fingerprint(&worktree)? == copies,
    };
    let made = if is_shared { repo.worktrees().made(&worktree)? } else { None };
    if passed.is_none() {
        if made.is_none() {
            tracing::warn!(
                "the setup runs in each worktree: what it made on the base cannot be brought to others exactly"
            );
        }
        let path = note(&worktree);
        let text = [&[if made.is_some() { SHARED } else { OWN }], included.as_slice()].concat();
        let written = orchestrate_files::replace(&path, &text);
        written.map_err(|source| GitError::Io { doing: "write", path, source })?;
    }
    Ok(BaseSetup { worktree, made, included })
}

impl BaseSetup {
    /// Brings what the setup has made to a worktree; returns whether that was possible exactly. If the user's files
    /// have changed since the setup saw them, it is not, unless `regardless`.
    pub(crate) fn bring(&self, repo: &Repo, to: &Path, regardless: bool) -> Result<bool, GitError> {
        let Some(made) = &self.made else { return Ok(false) };
        if !regardless && repo.worktrees().included_fingerprint()? != self.included {
            return Ok(false);
        }
        repo.worktrees().bring_made(made, &self.worktree, &repo.worktrees().open(to)?)
    }
}

/// Returns the worktree of the setup with its note, if it has passed in it.
fn finished(repo: &Repo, path: &Path) -> Result<Option<(Worktree, Vec<u8>)>, GitError> {
    let worktree = match repo.worktrees().open(path) {
        Err(GitError::NoWorktree { .. } | GitError::Tampered { .. }) => return Ok(None),
        opened => opened?,
    };
    let note = note(&worktree);
    match std::fs::read(&note) {
        Ok(text) => Ok(Some((worktree, text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GitError::Io { doing: "read", path: note, source }),
    }
}

fn note(worktree: &Worktree) -> PathBuf {
    worktree.admin_dir().join(DONE)
}
