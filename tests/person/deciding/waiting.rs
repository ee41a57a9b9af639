//! Waiting for another process that works on the same repository: the user is told which process.

use std::fs::File;

use libtest_mimic::Failed;
use rustix::fs::{FlockOperation, flock};

use crate::support::{Case, Outcome, World, sandboxed};

pub(crate) fn cases() -> Vec<Case> {
    let of =
        |name: &str, before: &'static [&'static [&'static str]], typed: &'static [&'static str]| {
            sandboxed(
                format!("waiting::{name}_says_who_holds_the_lock"),
                move || {
                    let world = worked_on(before)?;
                    who_waits_is_told(&world, typed, &world.home.lock()?)
                },
            )
        };
    vec![
        of("run", &[RUN], RUN),
        of("land", &[RUN], &["land"]),
        of("undoing_a_landing", &[RUN, &["land"]], &["land", "--undo"]),
        sandboxed!(a_process_with_another_state_folder_is_waited_for),
    ]
}

const RUN: &[&str] = &["run", "plan.md", "--no-write-back"];

fn worked_on(before: &[&[&str]]) -> Result<World, Failed> {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    for arguments in before {
        world.types(arguments, 0)?;
    }
    Ok(world)
}

fn who_waits_is_told(world: &World, typed: &[&str], held: &File) -> Outcome {
    flock(held, FlockOperation::LockExclusive)?;
    let waiting = world.orchestrate(typed).start()?;
    waiting.says(&format!("process {} (", std::process::id()))?;
    waiting.says("holds the repository's lock; waiting up to ")?;
    flock(held, FlockOperation::Unlock)?;
    let ran = waiting.end()?.exits(0)?;
    let told = ran.stderr.matches("holds the repository's lock").count();
    assert_eq!(told, 1, "told {told} times: {}", ran.stderr);
    Ok(())
}

/// A process of another user, or with another `XDG_STATE_HOME`, has only the repository in common
/// with this one.
fn a_process_with_another_state_folder_is_waited_for() -> Outcome {
    let world = worked_on(&[RUN])?;
    who_waits_is_told(
        &world,
        &["land"],
        &File::open(world.repository.path().join(".git"))?,
    )
}
