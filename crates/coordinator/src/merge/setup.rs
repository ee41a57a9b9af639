//! The project's setup: run once for a run, in a worktree of its own at the base, and its result brought to the others.
//!
//! Where a worktree has another tree than the base, a setup without network runs in it again, since its result may
//! depend on the files. A setup with the network has it only in its own worktree, where no agent has ever written: the
//! command may run files of the repository, such as the scripts of a package. Elsewhere the result of the base has to
//! do.
//!
//! A result that cannot be brought exactly is not brought: the command then runs in the worktree itself, without the
//! network. A setup that failed or was interrupted leaves nothing, as its worktree is recreated.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::{Oid, RunId, RunState};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};
use orchestrate_sandbox::{Network, Sandbox, View};

use crate::error::CoordinatorError;
use crate::merge::checks::{Check, CheckResult, ShellCommand, run_check};
use crate::merge::verifier;
use crate::run::context::RunContext;
use crate::run::layout::Layout;
use crate::run::shutdown::Shutdown;

/// The name of the note in git's entry for the worktree, where no confined command can write: the setup has passed.
const DONE: &str = "orchestrate-set-up";

/// A worktree to be prepared.
pub(crate) struct Unprepared<'a> {
    pub(crate) path: &'a Path,
    pub(crate) view: &'a View,
    /// The tree that it contains.
    pub(crate) tree: Oid,
    pub(crate) timeout_ms: u64,
}

/// Prepares a worktree. Returns the result of the command if it ran in this worktree, or failed in its own; `None` if
/// there was nothing to run.
pub(crate) async fn prepare(
    context: &RunContext,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, CoordinatorError> {
    let state = context.state();
    let Some(command) = ShellCommand::setup(&state.settings) else { return Ok(None) };
    let base = state.base.clone();
    let is_base = context.git(move |repo| repo.tree_of(&base)).await? == unprepared.tree;
    if is_base || command.network == Network::Host {
        if let Some(failed) = make(context, command, unprepared.timeout_ms, shutdown).await? {
            return Ok(Some(failed));
        }
        let (layout, run, path) = (context.layout.clone(), context.run.clone(), unprepared.path.to_owned());
        if context.git(move |repo| bring(repo, &layout, &run, &path)).await? {
            return Ok(None);
        }
    }
    let Unprepared { path: worktree, view, timeout_ms, .. } = unprepared;
    let check = Check { command: ShellCommand::offline(command.text), worktree, view, timeout_ms };
    Ok(Some(run_check(&context.host.sandbox, check, shutdown).await?.redacted(&context.host.redactor)))
}

/// Returns the sandbox of a run, whose commands read what its setup has downloaded.
pub(crate) fn sandbox_of(sandbox: &Arc<Sandbox>, layout: &Layout, state: &RunState) -> Arc<Sandbox> {
    if !state.settings.setup_network {
        return Arc::clone(sandbox);
    }
    Arc::new(sandbox.as_ref().clone().with_packages(layout.packages(&state.run_id)))
}

/// Runs the setup in its own worktree unless it has passed there; returns its result if it does not pass.
async fn make(
    context: &RunContext,
    command: ShellCommand<'_>,
    timeout_ms: u64,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, CoordinatorError> {
    let _alone = context.setting_up.lock().await;
    let (layout, run, base) = (context.layout.clone(), context.run.clone(), context.state().base.clone());
    let Some(worktree) = context.git(move |repo| begin(repo, &layout, &run, &base)).await? else { return Ok(None) };
    let view = worktree.view();
    let check = Check { command, worktree: worktree.path(), view: &view, timeout_ms };
    let result = run_check(&context.host.sandbox, check, shutdown).await?.redacted(&context.host.redactor);
    if !result.passed {
        return Ok(Some(result));
    }
    let note = note(&worktree);
    let written = move |_: &Repo| {
        let written = orchestrate_files::replace(&note, b"");
        written.map_err(|source| GitError::Io { doing: "write", path: note, source })
    };
    context.git(written).await?;
    Ok(None)
}

/// Creates the worktree of the setup anew; returns `None` if the setup has passed in it.
fn begin(repo: &Repo, layout: &Layout, run: &RunId, base: &Oid) -> Result<Option<Worktree>, GitError> {
    let path = layout.setup(run);
    if finished(repo, &path)?.is_some() {
        return Ok(None);
    }
    for half_made in [&path, &layout.packages(run)] {
        repo.worktrees().discard(half_made, &layout.trash())?.delete()?;
    }
    let lock_reason = format!("orchestrate {run} setup");
    verifier::filled(repo, &WorktreeSpec { path, branch: None, base: base.clone(), lock_reason }).map(Some)
}

/// Brings what the setup has made to a worktree; returns whether that was possible exactly.
pub(crate) fn bring(repo: &Repo, layout: &Layout, run: &RunId, to: &Path) -> Result<bool, GitError> {
    let Some(made) = finished(repo, &layout.setup(run))? else { return Ok(false) };
    repo.worktrees().bring_made(&made, &repo.worktrees().open(to)?)
}

/// Returns the worktree of the setup if it has passed in it.
fn finished(repo: &Repo, path: &Path) -> Result<Option<Worktree>, GitError> {
    let worktree = match repo.worktrees().open(path) {
        Err(GitError::NoWorktree { .. } | GitError::Tampered { .. }) => return Ok(None),
        opened => opened?,
    };
    let note = note(&worktree);
    match note.metadata() {
        Ok(_) => Ok(Some(worktree)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GitError::Io { doing: "look at", path: note, source }),
    }
}

fn note(worktree: &Worktree) -> PathBuf {
    worktree.admin_dir().join(DONE)
}
