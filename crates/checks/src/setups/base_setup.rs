//! The worktree in which the project's setup runs on a run's base, and what it has made there.
//!
//! A setup that failed or was interrupted leaves nothing, as its worktree is recreated. Afterwards
//! the base's check runs there, too; what was made is then found again by the paths that the note
//! names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::checks::hint::SETUP_HAD_NETWORK;
use orchestrate_core::{RunId, check_hint};
use orchestrate_files::if_there;
use orchestrate_git::{GitError, Made, Repo, Worktree, WorktreeSpec};
use orchestrate_sandbox::{Cancel, Network, Sandbox};
use serde::{Deserialize, Serialize};

use crate::caches;
use crate::check::{Check, CheckResult, ShellCommand, run_check_blocking, run_setup_blocking};
use crate::checks_error::ChecksError;
use crate::layout::Layout;
use crate::setups::project_setup::ProjectSetup;
use crate::setups::verifier;

/// The name of the note in git's entry for the worktree, where no confined command can write: the
/// setup has passed.
const DONE: &str = "orchestrate-set-up";
/// The name of another note there: a check of the base has begun and has not passed.
pub(crate) const CHECKING: &str = "orchestrate-checking";

/// What the note says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    /// The topmost files and folders that the setup has made, if they can be brought to other
    /// worktrees.
    made: Option<Vec<PathBuf>>,
    /// The fingerprint of the user's files that it has seen.
    included: Vec<u8>,
}

/// How the setup ended on the base.
#[derive(Clone)]
pub enum OnBase {
    /// It did not pass, or was interrupted.
    Failed(CheckResult),
    /// It passed.
    Passed(Arc<BaseSetup>),
}

/// The result of a setup that has passed on the base.
pub struct BaseSetup {
    pub(crate) worktree: Arc<Worktree>,
    /// What it has made, if others can have it as well.
    pub(crate) made: Option<Made>,
    /// The fingerprint of the user's files that it has seen.
    included: Vec<u8>,
}

/// A setup that is about to run on the base, or has passed there.
pub(crate) struct Begun {
    pub(crate) worktree: Worktree,
    included: Vec<u8>,
    /// The user's files in the worktree, which the command must not change if its result is to be
    /// brought.
    copies: Vec<u8>,
    /// What is noted, if it has passed already.
    pub(crate) passed: Option<Note>,
}

/// Reports whether a check of the base has begun in a worktree and has not passed.
pub(crate) fn is_being_checked(worktree: &Worktree) -> bool {
    worktree.admin_dir().join(CHECKING).exists()
}

/// Returns the worktree of the setup: the one in which it has passed, or a new one.
pub(crate) fn begin(repo: &Repo, layout: &Layout, setup: &ProjectSetup) -> Result<Begun, GitError> {
    let (run, path): (&RunId, PathBuf) = (&setup.run, layout.setup(&setup.run));
    if let Some((worktree, note)) = finished(repo, &path)? {
        return Ok(Begun {
            worktree,
            included: note.included.clone(),
            copies: Vec::new(),
            passed: Some(note),
        });
    }
    for half_made in [&path, &layout.packages(run)] {
        repo.worktrees()
            .discard(half_made, &layout.trash())?
            .delete()?;
    }
    caches::forget(&path);
    let included = repo.worktrees().included_fingerprint()?;
    let lock_reason = format!("orchestrate {run} setup");
    let (base, times) = (setup.base.clone(), Some(layout.source_times(run)));
    let worktree = verifier::filled(
        repo,
        &WorktreeSpec {
            path,
            branch: None,
            base,
            lock_reason,
            times,
        },
    )?;
    let copies = repo.worktrees().copies_fingerprint(&worktree)?;
    Ok(Begun {
        worktree,
        included,
        copies,
        passed: None,
    })
}

/// Notes that the setup has passed, and finds what it has made.
pub(crate) fn finish(repo: &Repo, begun: Begun) -> Result<BaseSetup, GitError> {
    let Begun {
        worktree,
        included,
        copies,
        passed,
    } = begun;
    let made = match &passed {
        Some(Note { made: None, .. }) => None,
        Some(Note {
            made: Some(tops), ..
        }) => repo.worktrees().made_again(&worktree, tops)?,
        None if repo.worktrees().copies_fingerprint(&worktree)? == copies => {
            repo.worktrees().made(&worktree)?
        }
        None => None,
    };
    if passed.is_none() {
        if made.is_none() {
            tracing::warn!(
                "the setup runs in each worktree: what it made on the base cannot be brought to \
                 others exactly"
            );
        }
        let note = Note {
            made: made.as_ref().map(Made::tops),
            included: included.clone(),
        };
        let path = worktree.admin_dir().join(DONE);
        let text = serde_json::to_vec(&note).map_err(std::io::Error::from);
        let written = text.and_then(|text| orchestrate_files::replace(&path, &text));
        written.map_err(GitError::io("write", path))?;
    }
    Ok(BaseSetup {
        worktree: Arc::new(worktree),
        made,
        included,
    })
}

/// Runs the setup in its own worktree unless it has run there, for a run that has ended. Blocks the
/// thread.
///
/// # Errors
/// If git or the sandbox fails.
pub fn on_base_blocking(
    repo: &Repo,
    layout: &Layout,
    setup: &ProjectSetup,
    sandbox: &Sandbox,
    cancel: &Cancel,
) -> Result<OnBase, ChecksError> {
    let command = setup.on_base();
    let begun = begin(repo, layout, setup)?;
    if begun.passed.is_none() {
        let seen = begun.worktree.seen();
        let check = Check {
            command,
            worktree: &seen,
            timeout_ms: setup.timeout_ms,
        };
        let result = if setup.has_proxy(sandbox) {
            run_setup_blocking(sandbox, setup.reaches(), &check, cancel)?
        } else {
            run_check_blocking(sandbox, &check, cancel)?
        };
        if !result.passed {
            return Ok(OnBase::Failed(with_cause(result, command)));
        }
    }
    Ok(OnBase::Passed(Arc::new(finish(repo, begun)?)))
}

/// Adds to a failure that may come from the network that the setup had it, unless its output says
/// what to do.
pub(crate) fn with_cause(result: CheckResult, command: ShellCommand<'_>) -> CheckResult {
    let is_told = check_hint(&result.output)
        .is_some_and(|hint| !hint.starts_with("commands have no network"));
    let was_killed = result.code.is_none();
    let says_nothing = was_killed || is_told || command.network == Network::None;
    if says_nothing {
        result
    } else {
        result.with_line(SETUP_HAD_NETWORK)
    }
}

impl BaseSetup {
    /// Returns the same result after a check has run in the worktree, which may have left files in
    /// its folders.
    pub(crate) fn after_check(&self, repo: &Repo) -> Result<Self, GitError> {
        let made = match &self.made {
            Some(made) => repo.worktrees().made_again(&self.worktree, &made.tops())?,
            None => None,
        };
        Ok(Self {
            worktree: Arc::clone(&self.worktree),
            made,
            included: self.included.clone(),
        })
    }

    /// Brings what the setup has made to a worktree; returns whether that was possible exactly. If
    /// the user's files have changed since the setup saw them, it is not, unless `regardless`.
    ///
    /// # Errors
    /// If git fails.
    pub fn bring(&self, repo: &Repo, to: &Path, regardless: bool) -> Result<bool, GitError> {
        let Some(made) = &self.made else {
            return Ok(false);
        };
        if !regardless && repo.worktrees().included_fingerprint()? != self.included {
            return Ok(false);
        }
        let (worktrees, to) = (repo.worktrees(), repo.worktrees().open(to)?);
        worktrees.bring_git_setup(&self.worktree, &to)?;
        worktrees.bring_made(made, &self.worktree, &to)
    }
}

/// Returns the topmost files and folders that a setup has made in a worktree and that can be
/// brought to others; none if none has passed there.
pub(crate) fn made_by_setup(worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
    let note = note(worktree)?;
    Ok(note.and_then(|note| note.made).unwrap_or_default())
}

/// Returns the worktree of the setup with its note, if it has passed in it and no check was cut off
/// there.
fn finished(repo: &Repo, path: &Path) -> Result<Option<(Worktree, Note)>, GitError> {
    let worktree = match repo.worktrees().open(path) {
        Err(GitError::NoWorktree { .. } | GitError::Tampered { .. }) => return Ok(None),
        opened => opened?,
    };
    if is_being_checked(&worktree) {
        return Ok(None);
    }
    Ok(note(&worktree)?.map(|note| (worktree, note)))
}

/// Reads the note of a worktree in which a setup has passed.
fn note(worktree: &Worktree) -> Result<Option<Note>, GitError> {
    let path = worktree.admin_dir().join(DONE);
    let text = if_there(std::fs::read(&path)).map_err(GitError::io("read", path))?;
    // An older version has written other notes: the setup runs again.
    Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
}
