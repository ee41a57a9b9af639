//! Waiting for another process that works on the same repository: whoever waits is told for whom.

use std::fs::File;

use libtest_mimic::Failed;
use rustix::fs::{FlockOperation, flock};

use crate::support::{Case, Home, Outcome, Repository, fail, sandboxed};

pub(crate) fn cases() -> Vec<Case> {
    let of = |name: &str, before: &'static [&'static [&'static str]], typed: &'static [&'static str]| {
        sandboxed(format!("waiting::{name}_says_who_holds_the_lock"), move || {
            let (home, repository) = worked_on(before)?;
            who_waits_is_told(&home, &repository, typed, &lock_of(&home)?)
        })
    };
    vec![
        of("run", &[RUN], RUN),
        of("land", &[RUN], &["land"]),
        of("undoing_a_landing", &[RUN, &["land"]], &["land", "--undo"]),
        sandboxed("waiting::a_process_with_another_state_folder_is_waited_for", another_state_is_waited_for),
    ]
}

const RUN: &[&str] = &["run", "plan.md", "--no-write-back"];

/// Finds the lock of the one repository that there has been.
pub(crate) fn lock_of(home: &Home) -> Result<File, Failed> {
    let mut folders = std::fs::read_dir(home.state().join("git"))?;
    let folder = folders.next().ok_or("no repository has a folder")??;
    Ok(File::options().read(true).write(true).open(folder.path().join("lock"))?)
}

fn worked_on(before: &[&[&str]]) -> Result<(Home, Repository), Failed> {
    let (home, repository) = (Home::new()?, Repository::plain()?);
    repository.write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    for arguments in before {
        home.orchestrate(repository.path(), arguments).run()?.exits(0)?;
    }
    Ok((home, repository))
}

fn who_waits_is_told(home: &Home, repository: &Repository, typed: &[&str], held: &File) -> Outcome {
    flock(held, FlockOperation::LockExclusive)?;
    let waiting = home.orchestrate(repository.path(), typed).start()?;
    waiting.says(&format!("process {} (", std::process::id()))?;
    waiting.says("holds the repository's lock; waiting up to ")?;
    flock(held, FlockOperation::Unlock)?;
    let ran = waiting.end()?.exits(0)?;
    let told = ran.stderr.matches("holds the repository's lock").count();
    if told == 1 { Ok(()) } else { fail(format!("told {told} times: {}", ran.stderr)) }
}

/// Another user, or another `XDG_STATE_HOME`: all that the two have in common is the repository.
fn another_state_is_waited_for() -> Outcome {
    let (home, repository) = worked_on(&[RUN])?;
    who_waits_is_told(&home, &repository, &["land"], &File::open(repository.path().join(".git"))?)
}
