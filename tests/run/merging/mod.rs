//! Branches: what agents do with git, and how their work comes together or comes back.

mod calls;
mod git_remotes;
mod git_tools;
mod merge_targets;
mod one_path;
mod repair;
mod typed_git;

use crate::support::{Case, Place};

/// Returns the cases of every module.
pub(super) fn cases() -> Vec<Case> {
    let with_git = [
        git_remotes::cases,
        git_tools::cases,
        merge_targets::cases,
        typed_git::cases,
    ];
    let with_git = with_git
        .iter()
        .flat_map(|cases| cases())
        .map(|case| case.depends_on(&[Place::OldestGit]));
    let others = [one_path::cases, repair::cases];
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(with_git)
        .collect()
}
