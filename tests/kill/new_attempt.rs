//! Stops a run while the worktree of an earlier attempt becomes that of a new one, which begins
//! with other files: the new attempt has those alone.

use super::full_disk::{at_fact, fill};
use super::landing::Moment;
use super::scene::{Deed, KILLED, Scene};
use super::{NO_FAULT, reviewed};
use crate::support::{Case, Outcome, Place, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case!("kill", before_a_new_worktree_is_recorded_its_files_are_new),
        case!("kill", before_git_writes_a_new_worktree_its_files_are_new)
            .depends_on(&[Place::OldestGit]),
    ]
}

/// The third worktree that is prepared is the reviewer's for the work that it has sent back.
fn before_a_new_worktree_is_recorded_its_files_are_new() -> Outcome {
    at_fact(reviewed()?, "worktree.prepared@3")
}

/// The resumed run writes no worktree before the reviewer's for the work that it has sent back.
fn before_git_writes_a_new_worktree_its_files_are_new() -> Outcome {
    let reference = reviewed()?;
    let scene = Scene::of(&reference.play)?;
    fill(&scene, "agent.spawned@3")?;
    Moment::Before("read-tree")
        .arm(&scene, "killer", scene.child(Deed::Run, NO_FAULT)?)?
        .run()?
        .exits(KILLED)?;
    let ran = scene.coordinate(NO_FAULT)?.exits(0)?;
    reference.require_same(&scene, &ran.stdout, 2)
}
