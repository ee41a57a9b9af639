//! Where the worktrees of a run are on disk.
//!
//! They are below the state folder, which mostly is in a folder whose name begins with a dot.
//! Servers of files, globs and watchers pass over what is in such folders, so tests of projects
//! fail there. That matters wherever commands find a worktree at its own path. There, and where the
//! user has chosen a folder, a run's folder is elsewhere, and a link in its place leads to it:
//! whoever finds it by the run's id follows the link.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use orchestrate_checks::{ChecksError, Layout};
use orchestrate_core::RunId;
use orchestrate_git::Repo;

use crate::error::CoordinatorError;

/// The folder that is used unless the user chooses one: beside the first hidden folder on the way
/// to the state folder, which is the home for the usual one.
const VISIBLE: &str = "orchestrate-worktrees";

/// Decides where the worktrees of a run are, before there is any. Where others could replace the
/// folder beside the hidden one, or the checkout contains it, they are in their usual place.
///
/// # Errors
/// If the folder would be inside the checkout, cannot be created, or is not the user's alone.
pub(crate) fn place(
    repo: &Repo,
    layout: &Layout,
    run: &RunId,
    chosen: Option<&Path>,
) -> Result<(), CoordinatorError> {
    let usual = layout.run_in_state(run);
    if usual.symlink_metadata().is_ok() {
        return Ok(());
    }
    let Some(folder) = elsewhere(&usual, repo.worktrees().are_mounted(), chosen) else {
        return Ok(());
    };
    let is_possible = || {
        orchestrate_files::require_own(&folder).is_ok()
            && repo.worktrees().require_outside(&folder).is_ok()
    };
    if chosen.is_none() && !is_possible() {
        return Ok(());
    }
    let folder = folder.join(repo.id()).join(run.as_str());
    repo.worktrees().require_outside(&folder)?;
    orchestrate_files::create_folder(&folder).map_err(CoordinatorError::at(&folder))?;
    let is_own = orchestrate_files::require_own(&folder);
    is_own.map_err(|reason| ChecksError::StateFolder {
        path: folder.clone(),
        reason: reason.to_string(),
    })?;
    if let Some(parent) = usual.parent() {
        orchestrate_files::create_folder(parent).map_err(CoordinatorError::at(parent))?;
    }
    std::os::unix::fs::symlink(&folder, &usual).map_err(CoordinatorError::at(&usual))
}

/// Returns the folder for worktrees if it is not the state folder.
fn elsewhere(usual: &Path, are_mounted: bool, chosen: Option<&Path>) -> Option<PathBuf> {
    if let Some(chosen) = chosen {
        return Some(chosen.to_owned());
    }
    let visible: PathBuf = usual
        .components()
        .take_while(|part| !is_hidden(part))
        .collect();
    (!are_mounted && visible != usual).then(|| visible.join(VISIBLE))
}

fn is_hidden(part: &Component<'_>) -> bool {
    matches!(part, Component::Normal(name) if OsStr::as_bytes(name).starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_hidden_only_where_no_command_finds_it_there() {
        let usual = "/home/u/.local/state/orchestrate/repos/1/runs/r-1";
        let visible = "/srv/state/repos/1/runs/r-1";
        let table = [
            (usual, false, None, Some("/home/u/orchestrate-worktrees")),
            (usual, true, None, None),
            (visible, false, None, None),
            (usual, true, Some("/fast"), Some("/fast")),
            (visible, false, Some("/fast"), Some("/fast")),
        ];
        for (usual, are_mounted, chosen, expected) in table {
            let found = elsewhere(Path::new(usual), are_mounted, chosen.map(Path::new));
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{usual} {are_mounted} {chosen:?}"
            );
        }
    }
}
