//! The verifier: the worktree of a run in which exact trees are checked, for merges and for
//! landings; and the trees that passed a check.
//!
//! A check there finds the same files as in any other worktree of the run: those that the project
//! wants in each, and those that its setup creates. It contains no work, so it is moved to another
//! commit for each check.
//!
//! Ignored files stay from one check to the next, so that builds are quick, but only those left by
//! a check that passed, of a commit that the next one contains, with the same of the user's ignored
//! files. A check that failed, was stopped or killed, or belonged to an abandoned result leaves
//! nothing: the worktree is recreated. So it is where a setup that ran again has adapted the files
//! to a change that was reverted since, such as one of a lock file: what it made on the base is
//! then brought anew. A note in git's entry for the worktree, which no confined command can write,
//! names the commit that passed and the fingerprint of the user's files that it saw; it is removed
//! while a check runs.

use orchestrate_files::if_there;
use orchestrate_sandbox::Sandbox;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use orchestrate_core::{BlobId, Oid, RunId, RunSettings, RunState};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};

use crate::caches;
use crate::check::ShellCommand;
use crate::layout::Layout;
use crate::setups::project_setup::ProjectSetup;

/// The name of the note of the last check, if it passed.
const PASSED: &str = "orchestrate-passed";

/// The verifier at a commit, ready for one check.
pub struct Verifier {
    worktree: Worktree,
    passes: Passed,
}

/// A check that passed, or would.
struct Passed {
    commit: Oid,
    /// The fingerprint of the user's files that are copied into the worktree.
    included: BlobId,
}

/// Moves a run's verifier to a commit; creates it if it does not exist, and recreates it if it is
/// unusable.
///
/// # Errors
/// If git fails, or the note of the last check cannot be read.
pub fn bring(
    repo: &Repo,
    layout: &Layout,
    run: &RunId,
    setup: Option<&ProjectSetup>,
    commit: &Oid,
) -> Result<Verifier, GitError> {
    let spec = WorktreeSpec {
        path: layout.verifier(run),
        branch: None,
        base: commit.clone(),
        lock_reason: format!("orchestrate {run} verifier"),
        times: Some(layout.source_times(run)),
    };
    // Before the files are copied: if one changes meanwhile, the next check finds it changed.
    let included = BlobId::from_content(&repo.worktrees().included_fingerprint()?);
    let passes = Passed {
        commit: commit.clone(),
        included,
    };
    let anew = || {
        repo.worktrees()
            .discard(&spec.path, &layout.trash())?
            .delete()?;
        caches::forget(&spec.path);
        filled(repo, &spec)
    };
    let is_usable = |last: &Worktree| match take_note(last)? {
        Some(passed) => is_reusable(repo, setup, &passed, &passes),
        None => Ok(false),
    };
    let worktree = match repo.worktrees().open(&spec.path) {
        Ok(last) if !is_usable(&last)? => anew()?,
        _ => match filled(repo, &spec) {
            Err(error) if !matches!(error, GitError::Killed) => {
                tracing::warn!(%error, "recreating the verifier");
                anew()?
            }
            filled => filled?,
        },
    };
    Ok(Verifier { worktree, passes })
}

impl Verifier {
    /// Returns the worktree.
    pub fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    /// Records that the check has passed, so that the next one may use the files that this one
    /// left.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_passed(self) -> Result<(), GitError> {
        let path = note(&self.worktree);
        let Passed { commit, included } = &self.passes;
        let text = format!("{}\n{}", commit.as_str(), included.as_str());
        let opened = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let written = opened.and_then(|mut note| note.write_all(text.as_bytes()));
        written.map_err(GitError::io("write", path))
    }
}

fn note(worktree: &Worktree) -> PathBuf {
    worktree.admin_dir().join(PASSED)
}

/// Removes the note of the last check, and returns what is in it, or `None` if that check did not
/// pass.
fn take_note(worktree: &Worktree) -> Result<Option<Passed>, GitError> {
    let path = note(worktree);
    let taken =
        std::fs::read_to_string(&path).and_then(|text| std::fs::remove_file(&path).map(|()| text));
    let text = if_there(taken).map_err(GitError::io("remove", path))?;
    Ok(text.and_then(|text| parsed(&text)))
}

fn parsed(text: &str) -> Option<Passed> {
    let (commit, included) = text.split_once('\n')?;
    Some(Passed {
        commit: Oid::new(commit),
        included: BlobId::new(included),
    })
}

/// Reports whether a check may use what an earlier one left.
fn is_reusable(
    repo: &Repo,
    setup: Option<&ProjectSetup>,
    earlier: &Passed,
    next: &Passed,
) -> Result<bool, GitError> {
    // A commit that no longer exists is contained in none.
    let is_contained = || {
        repo.contains(&next.commit, &earlier.commit)
            .unwrap_or(false)
    };
    if earlier.included != next.included || !is_contained() {
        return Ok(false);
    }
    // Where the setup runs again, it adapts what is there. What it made on the base must not have
    // been adapted.
    let Some(setup) = setup else { return Ok(true) };
    let is_brought = |commit: &Oid| setup.is_brought_to(repo, &repo.tree_of(commit)?);
    Ok(!is_brought(&next.commit)? || is_brought(&earlier.commit)?)
}

/// Creates a worktree, or takes it over, with the files of its commit and those that the project
/// wants in each.
pub(crate) fn filled(repo: &Repo, spec: &WorktreeSpec) -> Result<Worktree, GitError> {
    let worktree = repo.worktrees().add(spec)?;
    repo.worktrees().checkout_detached(&worktree, &spec.base)?;
    repo.worktrees().copy_included(&worktree)?;
    Ok(worktree)
}

/// Returns the commands that check an exact tree, in order; the tree is good if all of them pass.
///
/// The project's setup comes first each time: its files need not be ignored by git, so they may be
/// gone since the last check, or belong to another tree.
pub fn commands<'a>(
    settings: &'a RunSettings,
    check: &'a str,
) -> impl Iterator<Item = ShellCommand<'a>> {
    ShellCommand::setup(settings)
        .into_iter()
        .chain([ShellCommand::offline(check)])
}

/// The maximum number of trees that are remembered: more than the merges of many runs.
const MOST_TREES: usize = 1_000;

/// A tree with everything that decides the result of its check. That it passed one is remembered
/// across the runs of a repository, so that a run whose base did starts its agents at once.
///
/// Its key covers all that decides the result as far as it is known: the tree, the commands, their
/// time limit, the sandbox, the ignored files that are copied into each worktree, and the base on
/// which a setup used the network. Only the digest of the key is stored. An entry can become wrong
/// only through the machine, such as another version of a program; each merge is verified in any
/// case. Losing the file, or an entry when two runs write at once, costs one check.
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
    let commands: Vec<ShellCommand<'_>> = commands(settings, command).collect();
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
        let commands: Vec<ShellCommand<'_>> = commands(settings, command).collect();
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
            tracing::warn!(path = %self.file.display(), %error,
                "failed to note a tree that passed its check");
        }
    }

    fn known(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
