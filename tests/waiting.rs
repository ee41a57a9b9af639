//! Waiting for another process that works on the same repository: whoever waits is told for whom.

use std::fs::File;

use libtest_mimic::Failed;
use rustix::fs::{FlockOperation, flock};

use crate::support::{Case, Home, Outcome, Repository, fail, sandboxed};

pub(crate) fn cases() -> Vec<Case> {
    let of = |name: &str, before: &'static [&'static [&'static str]], typed: &'static [&'static str]| {
        sandboxed(format!("waiting::{name}_says_who_holds_the_lock"), move || who_waits_is_told(before, typed))
    };
    vec![
        of("run", &[RUN], RUN),
        of("land", &[RUN], &["land"]),
        of("undoing_a_landing", &[RUN, &["land"]], &["land", "--undo"]),
    ]
}

const RUN: &[&str] = &["run", "plan.md", "--no-write-back"];

/// Finds the lock of the one repository that there has been.
pub(crate) fn lock_of(home: &Home) -> Result<File, Failed> {
    let mut folders = std::fs::read_dir(home.state().join("git"))?;
    let folder = folders.next().ok_or("no repository has a folder")??;
    Ok(File::options().read(true).write(true).open(folder.path().join("lock"))?)
}

fn who_waits_is_told(before: &[&[&str]], typed: &[&str]) -> Outcome {
    let (home, repository) = (Home::new()?, Repository::plain()?);
    repository.write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    for arguments in before {
        home.orchestrate(repository.path(), arguments).run()?.exits(0)?;
    }
    let held = lock_of(&home)?;
    flock(&held, FlockOperation::LockExclusive)?;
    let waiting = home.orchestrate(repository.path(), typed).start()?;
    waiting.says(&format!("process {} (", std::process::id()))?;
    waiting.says("holds the repository's lock; waiting up to ")?;
    flock(&held, FlockOperation::Unlock)?;
    let ran = waiting.end()?.exits(0)?;
    let told = ran.stderr.matches("holds the repository's lock").count();
    if told == 1 { Ok(()) } else { fail(format!("told {told} times: {}", ran.stderr)) }
}
