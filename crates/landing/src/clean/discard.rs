//! Discarding: removes all of a run, its work included, after it was said what would be lost.
//!
//! What is removed is found by the run's id alone: its folder, its refs, its rows of the journal.
//! So a run whose facts cannot be read can be discarded, too. The rows go last: a discard that was
//! interrupted is repeated. Branches that are checked out by the user stay, and so does everything
//! that has landed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use orchestrate_core::{Oid, RunId};
use orchestrate_files::if_there;
use orchestrate_git::{GitError, RefEntry};
use orchestrate_journal::JournalError;

use crate::archive::Archive;
use crate::clean::worktrees::empty;
use crate::error::{LandingError, ResultRefusal};

/// Where the refs of runs are.
const REFS: [&str; 2] = ["refs/heads/orchestrate/", "refs/orchestrate/"];
/// Where the user's own work is.
const OTHERS: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// What discarding a run removes, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// Its worktrees.
    pub worktrees: Vec<PathBuf>,
    /// Those of them with files that are in no commit.
    pub edited: Vec<PathBuf>,
    /// Its branches and other refs.
    pub refs: Vec<String>,
    /// The commits that nothing but these refs holds, so that they are lost.
    pub lost: Vec<LostCommit>,
    /// Branches that stay, since they are checked out.
    pub kept_refs: Vec<String>,
    /// The number of its recorded events.
    pub events: u64,
    /// Why files are still in the trash: each with its path and the error.
    pub undeleted: Vec<String>,
    /// Whether its files are still being deleted, by a process that outlives this one.
    pub goes_on: bool,
}

/// A commit that is lost with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCommit {
    /// A ref that holds it.
    pub name: String,
    /// The commit.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
}

impl Archive {
    /// Finds what discarding a run would remove.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, if a process works on it, or if a landing of it has begun and
    /// is not complete.
    pub fn would_discard(&self, run: &RunId) -> Result<Discarded, LandingError> {
        self.require_unheld(run)?;
        self.require_no_open_landing(run)?;
        let refs = self.all_refs_of(run)?;
        let mut found = Discarded {
            events: self.store.count_events(run)?,
            ..Discarded::default()
        };
        for path in self.folders_of(run)? {
            if self.is_edited(&path) {
                found.edited.push(path.clone());
            }
            found.worktrees.push(path);
        }
        found.lost = self.lost_with(&refs)?;
        for entry in refs {
            if self.is_checked_out_beside(&entry.name, found.worktrees.iter())? {
                found.kept_refs.push(entry.name);
            } else {
                found.refs.push(entry.name);
            }
        }
        Ok(found)
    }

    /// Removes all of a run.
    ///
    /// # Errors
    ///
    /// See [`Archive::would_discard`]; also fails if something cannot be removed. Discarding again
    /// continues.
    pub fn discard(&self, run: &RunId) -> Result<Discarded, LandingError> {
        let begun = Instant::now();
        let found = self.would_discard(run)?;
        let removal = self.store.begin_removal(run)?;
        for path in &found.worktrees {
            drop(self.repo.worktrees().discard(path, &self.layout.trash())?);
        }
        let mut discarded = Discarded {
            refs: Vec::new(),
            kept_refs: Vec::new(),
            ..found
        };
        for entry in self.all_refs_of(run)? {
            let is_gone = self.repo.delete(&entry)?;
            let list = if is_gone {
                &mut discarded.refs
            } else {
                &mut discarded.kept_refs
            };
            list.push(entry.name);
        }
        self.repo
            .worktrees()
            .drop_dangling(&|reason| reason.starts_with(&format!("orchestrate {run} ")))?;
        for folder in self.layout.all_of(run) {
            if_there(orchestrate_files::remove_folder(&folder))
                .map_err(LandingError::at(folder))?;
        }
        // Where the worktrees were elsewhere, a link to them is left.
        self.layout.remove_empty_run(run);
        removal.finish()?;
        let emptied = empty(&self.layout.trash(), begun);
        (discarded.undeleted, discarded.goes_on) = (emptied.undeleted, emptied.goes_on);
        Ok(discarded)
    }

    /// Refuses a run whose landing was interrupted: only its facts say how to complete it.
    fn require_no_open_landing(&self, run: &RunId) -> Result<(), LandingError> {
        match self.store.state(run) {
            Ok(state) if state.landing_begun().is_some() => {
                Err(ResultRefusal::LandingOpen { run: run.clone() }.into())
            }
            Err(missing @ JournalError::NoSuchRun(_)) => Err(missing.into()),
            // What cannot be read can be discarded.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns the worktrees of a run: what is in its folder.
    fn folders_of(&self, run: &RunId) -> Result<Vec<PathBuf>, LandingError> {
        let folder = self.layout.run(run);
        orchestrate_files::entries(&folder).map_err(LandingError::at(&folder))
    }

    /// Reports whether a worktree has files that are in no commit; one that cannot be looked at may
    /// have some. Those of no task hold no work: their names begin as no task's does.
    fn is_edited(&self, path: &Path) -> bool {
        let is_ours = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(['.', '+']));
        let worktrees = self.repo.worktrees();
        let kept = || {
            worktrees
                .open(path)
                .and_then(|worktree| worktrees.require_kept(&worktree).map(drop))
        };
        !is_ours && kept().is_err()
    }

    /// Returns all refs of a run.
    fn all_refs_of(&self, run: &RunId) -> Result<Vec<RefEntry>, GitError> {
        let mut refs = Vec::new();
        for prefix in REFS {
            let of_runs = self.repo.refs_below(prefix)?.into_iter();
            refs.extend(
                of_runs.filter(|entry| entry.name.split('/').any(|part| part == run.as_str())),
            );
        }
        Ok(refs)
    }

    /// Returns the commits that nothing but these refs holds.
    fn lost_with(&self, refs: &[RefEntry]) -> Result<Vec<LostCommit>, GitError> {
        let own: BTreeSet<&str> = refs.iter().map(|entry| entry.name.as_str()).collect();
        let mut others = BTreeSet::new();
        for prefix in OTHERS {
            let entries = self.repo.refs_below(prefix)?.into_iter();
            others.extend(
                entries
                    .filter(|entry| !own.contains(entry.name.as_str()))
                    .map(|entry| entry.target),
            );
        }
        let mut lost: Vec<LostCommit> = Vec::new();
        for entry in refs {
            // The tree of a conflict is no work.
            let Some(info) = self.repo.store().find_commit(&entry.target)? else {
                continue;
            };
            let is_known = lost.iter().any(|known| known.commit == entry.target);
            if !is_known && !self.is_held(&entry.target, &others)? {
                let subject = info.subject().to_owned();
                lost.push(LostCommit {
                    name: entry.name.clone(),
                    commit: entry.target.clone(),
                    subject,
                });
            }
        }
        Ok(lost)
    }

    fn is_held(&self, commit: &Oid, others: &BTreeSet<Oid>) -> Result<bool, GitError> {
        for other in others {
            if self.repo.store().find_commit(other)?.is_some()
                && self.repo.contains(other, commit)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
