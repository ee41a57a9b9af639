//! The merge executor: carries out what [`orchestrate_core::MergeQueue`] decides, one step at a
//! time.
//!
//! It follows the coordinator's (`crates/coordinator/src/merge/{step,base}.rs`).

use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{BlobId, GivenUp, MergeStep, MergeTarget, Oid, RunState, TaskId};

use crate::worker::{failed, returned, verified};
use crate::world::{INTEGRATION, Shared, World};

/// Carries out one step and records its outcome.
pub(crate) async fn carry_out(world: Shared, step: MergeStep) {
    let decided = step.clone();
    match step {
        MergeStep::Merge {
            task,
            into,
            target,
            candidate,
        } => merge(&world, (task, into), target, candidate).await,
        MergeStep::Verify {
            task,
            tree,
            command,
            ..
        } => {
            let scope = VerifyScope::Run;
            let (of, with) = (tree.clone(), command.clone());
            world
                .append(|_| {
                    vec![Event::VerifyStarted {
                        task: task.clone(),
                        scope,
                        tree: of,
                        command: with,
                    }]
                })
                .await;
            let passed = world.scenario.passes(world.git.borrow().tree(&tree));
            world
                .append(|_| vec![verified(&task, scope, (tree, command), passed)])
                .await;
        }
        MergeStep::VerifyTarget {
            task,
            commit,
            command,
        } => {
            let scope = VerifyScope::Target;
            let tree = world.git.borrow().tree_of(&commit);
            let (of, with) = (tree.clone(), command.clone());
            world
                .append(|_| {
                    vec![Event::VerifyStarted {
                        task: task.clone(),
                        scope,
                        tree: of,
                        command: with,
                    }]
                })
                .await;
            let passed = world.scenario.passes(world.git.borrow().tree(&tree));
            world
                .append(|_| vec![verified(&task, scope, (tree, command), passed)])
                .await;
        }
        MergeStep::Advance {
            task,
            into,
            commit,
            target,
        } => {
            record_if_next(&world, &decided, vec![merged(task, commit, target)]).await;
            settle(&world, &into).await;
        }
        MergeStep::Return {
            task, cause, onto, ..
        } => {
            record_if_next(&world, &decided, vec![returned(&task, cause, Some(onto))]).await;
        }
        MergeStep::GiveUp {
            task, cause, end, ..
        } => {
            let ended = match end {
                GivenUp::Failed => failed(&task, FailureCause::Check),
                GivenUp::Conflicted => Event::TaskConflicted {
                    task,
                    cause,
                    message: String::new(),
                },
            };
            record_if_next(&world, &decided, vec![ended]).await;
        }
    }
}

/// Records the outcome of a step, if it is still the next one in the newest state.
async fn record_if_next(world: &World, step: &MergeStep, events: Vec<Event>) {
    let decide = |state: &RunState| {
        if state.next_merge().as_ref() == Some(step) {
            events
        } else {
            Vec::new()
        }
    };
    world.append(decide).await;
}

async fn merge(world: &World, (task, into): (TaskId, MergeTarget), target: Oid, candidate: Oid) {
    let (of, with) = (target.clone(), candidate.clone());
    let step = MergeStep::Merge {
        task: task.clone(),
        into: into.clone(),
        target: of.clone(),
        candidate: with.clone(),
    };
    let started = Event::MergeStarted {
        task: task.clone(),
        into: into.clone(),
        target: of,
        candidate: with,
    };
    let begin = |state: &RunState| {
        let is_next = state.next_merge().as_ref() == Some(&step);
        let is_new = is_next && state.merges.current().is_none();
        is_new.then_some(started).into_iter().collect()
    };
    world.append(begin).await;
    if world.state.borrow().merges.current() != Some(&task) {
        return;
    }
    let merge = |git: &mut crate::git::Git| {
        let merged = git.merge(&target, &candidate);
        if !merged.conflicts.is_empty() {
            let files = merged.conflicts.keys().map(ToString::to_string).collect();
            return Event::MergeConflicted {
                task: task.clone(),
                files,
            };
        }
        let tree = git.store(&merged.files);
        let commit = git.commit(&tree, &[&target, &candidate]);
        Event::MergePrepared {
            task: task.clone(),
            commit,
            tree,
        }
    };
    let outcome = world.effect(merge).await;
    let conclude = |state: &RunState| {
        if state.next_merge().as_ref() != Some(&step) {
            return Vec::new();
        }
        match state.next_merge_after(&outcome) {
            Some(MergeStep::Advance {
                task,
                commit,
                target,
                ..
            }) => vec![outcome, merged(task, commit, target)],
            _ => vec![outcome],
        }
    };
    world.append(conclude).await;
    settle(world, &into).await;
}

fn merged(task: TaskId, commit: Oid, target: Oid) -> Event {
    Event::TaskMerged {
        task,
        commit: Some(commit),
        target: Some(target),
        summary: None,
    }
}

/// Moves the branch that work is merged into to the recorded commit. The files of an agent's
/// worktree follow later.
async fn settle(world: &World, into: &MergeTarget) {
    let name = into
        .agent()
        .map_or(INTEGRATION.to_owned(), |agent| world.branch(agent));
    let Some(to) = world.state.borrow().tip_of(into).cloned() else {
        return;
    };
    world
        .effect(|git| {
            let from = git.read_ref(&name).unwrap();
            assert!(git.contains(&to, from), "{name} moves from {from} to {to}");
            git.set_ref(&name, &to);
        })
        .await;
}

/// Checks the base.
pub(crate) async fn verify_base(world: Shared, command: String) {
    let (base, tree) = {
        let (state, git) = (world.state.borrow(), world.git.borrow());
        (state.base.clone(), git.tree_of(&state.base))
    };
    let (of, with) = (tree.clone(), command.clone());
    world
        .append(|_| {
            vec![Event::BaseVerifying {
                tree: of,
                command: with,
            }]
        })
        .await;
    let passed = world.scenario.passes(&world.tree_of(&base));
    let (exit, output) = ("exit".to_owned(), Some(BlobId::from("output")));
    world
        .append(|_| {
            vec![Event::BaseVerified {
                tree,
                command,
                passed,
                exit,
                output,
                duration_ms: 1,
            }]
        })
        .await;
}
