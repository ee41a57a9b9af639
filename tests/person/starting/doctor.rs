//! What `doctor` says of the programs that a project uses, which `run` repeats, through the built
//! program.

use std::os::unix::fs::symlink;

use libtest_mimic::Failed;
use rustix::process::Signal;

use crate::support::{
    Case, Invocation, Need, Outcome, WAITING, World, case, require_words, sandboxed, says,
    write_program,
};

/// A folder of programs below the home.
const PROGRAMS: &str = "home/bin";
/// A launcher that starts another version in a project, but not the one that the project pins.
const LAUNCHER: &str = "#!/bin/sh\nif [ -f package.json ]; then echo 9.0.0; else echo 10.1.0; fi\n";
const DIFFERENCE: &str = "pnpm: commands see 9.0.0 (";
const PINNED: &str = "package.json pins 9.1.0, but 9.0.0 starts in this project";
const FIX: &str = "fix: type `pnpm --version` in your checkout: it fetches the pinned version";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(a_program_of_another_version_has_a_fix_that_run_and_resume_repeat),
        sandboxed!(the_pinned_version_is_printed),
        sandboxed!(an_environment_starts_the_interpreter_that_it_was_made_of).needs(Need::PYTHON),
        sandboxed!(colours_of_a_check_are_not_shown),
        case!(a_project_cannot_name_what_starts_unconfined),
    ]
}

/// Prepares to start the built program with a program below the home.
fn with_program(world: &World, arguments: &[&str]) -> Result<Invocation, Failed> {
    let folder = world.home.path().join(PROGRAMS);
    std::fs::create_dir_all(&folder)?;
    write_program(&folder.join("pnpm"), LAUNCHER)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    Ok(world
        .orchestrate(arguments)
        .env("PATH", std::env::join_paths(folders)?))
}

fn a_program_of_another_version_has_a_fix_that_run_and_resume_repeat() -> Outcome {
    let world = World::with_plan(WAITING)?;
    world
        .repository
        .write("package.json", r#"{ "packageManager": "pnpm@9.1.0" }"#)?;
    let doctor = with_program(&world, &["doctor"])?.run()?;
    says(&doctor, &[DIFFERENCE, PINNED, FIX])?;
    let running = with_program(&world, &["run", "plan.md"])?.start()?;
    running.says(PINNED)?;
    running.says(FIX)?;
    running.signal(Signal::KILL)?;
    running.end()?;
    let resumed = with_program(&world, &["resume"])?.start()?;
    resumed.says(FIX)?;
    world.repository.write(".git/objects/go", "")?;
    resumed.end()?.exits(0).map(drop)
}

fn the_pinned_version_is_printed() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("package.json", r#"{ "packageManager": "pnpm@9.0.0" }"#)?;
    let doctor = with_program(&world, &["doctor"])?.run()?;
    require_words(&doctor.stdout, &["pnpm: 9.0.0 ("])?;
    assert!(!doctor.stdout.contains("pins"), "{}", doctor.stdout);
    Ok(())
}

/// The interpreter is below the home, on no search path, and is named by the project's environment
/// alone.
fn an_environment_starts_the_interpreter_that_it_was_made_of() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    let ask = [
        "-c",
        "import os, sys; print(os.path.realpath(sys.executable)); print(os.path.dirname(os.__file__))",
    ];
    let told = world
        .home
        .command("/usr/bin/python3", world.home.path(), &ask)
        .run()?
        .exits(0)?
        .stdout;
    let [program, library] =
        [0, 1].map(|at| std::path::PathBuf::from(told.lines().nth(at).unwrap_or_default()));
    let prefix = world.home.path().join("home/pythons/3");
    std::fs::create_dir_all(prefix.join("bin"))?;
    std::fs::create_dir_all(prefix.join("lib"))?;
    std::fs::copy(&program, prefix.join("bin/python3"))?;
    symlink(
        &library,
        prefix
            .join("lib")
            .join(library.file_name().unwrap_or_default()),
    )?;
    let python = prefix.join("bin/python3").display().to_string();
    let repository = &world.repository;
    let made = ["-m", "venv", "--without-pip", ".venv"];
    world
        .home
        .command(&python, repository.path(), &made)
        .run()?
        .exits(0)?;
    repository.write(".gitignore", ".venv/\n")?;
    repository.write(".worktreeinclude", ".venv/\n")?;
    let prefix = prefix.canonicalize()?.display().to_string();
    let verify = format!(
        ".venv/bin/python3 -c \"import sys; assert sys.base_prefix == '{prefix}', sys.base_prefix\""
    );
    world.types(&["run", "plan.md", "--verify", &verify], 0)?;
    let doctor = world.types(&["doctor"], 0)?.stdout;
    require_words(&doctor, &[".venv/bin/python3: Python 3."])
}

fn colours_of_a_check_are_not_shown() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    let red = r"printf '\033[1m\033[31merror: it failed\033[0m\n'; exit 1";
    let refused = world.types(&["run", "plan.md", "--verify", red], 2)?;
    says(&refused, &["  | error: it failed\n"])
}

/// A file of the project may name a program of the project; it must not get more than a command of
/// an agent.
fn a_project_cannot_name_what_starts_unconfined() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("package.json", r#"{ "packageManager": "pnpm@9.0.0" }"#)?;
    let traced =
        "#!/bin/sh\nif [ -f package.json ]; then echo > \"$(pwd)/started\"; fi\necho 9.0.0\n";
    let doctor = with_program(&world, &["doctor"])?;
    write_program(&world.home.path().join(PROGRAMS).join("pnpm"), traced)?;
    doctor.run()?;
    assert!(
        !world.repository.path().join("started").exists(),
        "it ran where it could write"
    );
    Ok(())
}
