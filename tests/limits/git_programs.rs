//! How many git programs a run starts: a fixed number for each task, however many tasks it has.

use std::fs;

use libtest_mimic::Failed;

use crate::support::{Case, Outcome, World, case, git_program, with_program};

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(a_command_starts_one_git_program)]
}

/// What a run starts besides its tasks: for the version, for the configuration of the program and
/// of the run, and to look at the checkout.
const BESIDES_TASKS: usize = 8;
const TASKS: usize = 12;

/// Git writes the files of the task's worktree; everything else needs no program.
fn a_command_starts_one_git_program() -> Outcome {
    let tasks = (1..=TASKS).map(|number| format!("- [ ] T{number} Say it (run: echo {number})\n"));
    let world = World::with_plan(&tasks.collect::<String>())?;
    let log = world.home.path().join("starts");
    let git = git_program(&world.home)?;
    let script = format!("echo \"$1\" >>'{}'\nexec '{git}' \"$@\"", log.display());
    let search = with_program(&world.home, "git", &script)?;
    let run = world.orchestrate(&["run", "plan.md"]).env("PATH", search);
    run.run()?.exits(0)?;
    let starts = fs::read_to_string(&log)?;
    let of_tasks = starts.lines().filter(|name| *name == "read-tree").count();
    if of_tasks == TASKS && starts.lines().count() <= TASKS + BESIDES_TASKS {
        Ok(())
    } else {
        Err(Failed::from(starts))
    }
}
