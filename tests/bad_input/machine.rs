//! Machines that lack something: a current git, folders, open files, disk space.

use libtest_mimic::Failed;

use crate::support::{
    Case, Need, Outcome, Ran, Script, World, at, case, done, fail, lines, on, require_words,
    sandboxed, shell, with_program,
};

use super::world;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case!("bad_input", a_git_that_is_too_old_or_absent_is_refused),
        sandboxed!("bad_input", a_temporary_folder_that_is_not_there_is_refused),
        sandboxed!("bad_input", too_few_open_files_are_refused),
        sandboxed!("bad_input", doctor_counts_open_files),
        sandboxed!("bad_input", landing_needs_files_for_no_agents),
        sandboxed!("bad_input", a_read_only_state_is_refused).needs(Need::MOUNTS),
        sandboxed!("bad_input", a_read_only_repository_is_refused).needs(Need::MOUNTS),
        sandboxed!(
            "bad_input",
            a_repository_that_becomes_read_only_parks_the_run
        )
        .needs(Need::MOUNTS),
        sandboxed!("bad_input", a_trash_that_cannot_be_deleted_is_told).needs(Need::MOUNTS),
        sandboxed!("bad_input", a_real_full_disk_loses_nothing).needs(Need::MOUNTS),
        sandboxed!("bad_input", a_repository_whose_disk_is_full_says_so).needs(Need::MOUNTS),
    ]
}

fn a_git_that_is_too_old_or_absent_is_refused() -> Outcome {
    let world = world()?;
    let path = with_program(&world.home, "git", "echo git version 2.37.9")?;
    let nowhere = world.home.path().join("nowhere").display().to_string();
    let before = world.repository.fingerprint()?;
    for (path, words) in [
        (path, "is git version 2.37.9; install git 2.38"),
        (nowhere, "git is not installed"),
    ] {
        for arguments in [
            ["run", &world.file("plan.md")].as_slice(),
            &["status"],
            &["land"],
        ] {
            let typed = world.orchestrate(arguments).env("PATH", &path);
            require_words(&typed.run()?.exits(2)?.stderr, &[words])?;
        }
    }
    before.require_same(&world.repository.fingerprint()?)
}

fn a_temporary_folder_that_is_not_there_is_refused() -> Outcome {
    let world = world()?;
    let (nowhere, plan) = (world.file("nowhere"), world.file("plan.md"));
    let typed = |arguments: &[&str]| {
        world
            .orchestrate(arguments)
            .env("TMPDIR", &nowhere)
            .run()?
            .exits(2)
    };
    let refused = |arguments: &[&str]| {
        let before = world.repository.fingerprint()?;
        let ran = typed(arguments)?;
        require_words(
            &ran.stderr,
            &[
                &format!("cannot be created in {nowhere}"),
                "No such file",
                "set TMPDIR to a writable folder",
            ],
        )?;
        before.require_same(&world.repository.fingerprint()?)
    };
    refused(&["run", &plan])?;
    let advised = [
        &format!("create a folder in {nowhere}"),
        "set TMPDIR to a writable folder",
    ];
    require_words(&typed(&["demo"])?.stderr, &advised)?;
    assert!(
        !world.home.state().join("repos").exists(),
        "there is a state of nothing"
    );
    let ran = world.types(&["run", &plan], 0)?;
    refused(&["land"])?;
    refused(&["retry", "T1", "-m", "again"])?;
    require_words(&ran.stdout, &["T1    merged"])?;
    world.types(&["land"], 0).map(drop)
}

/// Runs the program from a shell with this `ulimit`, which limits how many files may be open.
fn with_open_files(world: &World, limit: &str, typed: &[&str]) -> Result<Ran, Failed> {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let arguments = [
        &["-c", &script, "sh", env!("CARGO_BIN_EXE_orchestrate")],
        typed,
    ]
    .concat();
    world
        .home
        .command("sh", world.repository.path(), &arguments)
        .run()
}

fn too_few_open_files_are_refused() -> Outcome {
    let world = world()?;
    let (before, plan) = (world.repository.fingerprint()?, world.file("plan.md"));
    for limit in ["64", "40", "24", "12"] {
        let ran = with_open_files(&world, &format!("-n {limit}"), &["run", &plan])?.exits(2)?;
        let allowed = format!("392 open files needed, {limit} allowed");
        require_words(
            &ran.stderr,
            &[
                "20 agents",
                &allowed,
                "`ulimit -Hn`",
                "lower it with --max-agents",
            ],
        )?;
    }
    let many =
        with_open_files(&world, "-n 1024", &["run", &plan, "--max-agents", "200"])?.exits(2)?;
    require_words(
        &many.stderr,
        &["200 agents", "3272 open files needed, 1024 allowed"],
    )?;
    assert!(
        !world.home.state().join("repos").exists(),
        "there is a state of nothing"
    );
    // The control: as many files as one agent needs are enough for a run of one agent, which gets
    // to its end.
    let ran = with_open_files(&world, "-n 88", &["run", &plan, "--max-agents", "1"])?.exits(0)?;
    require_words(&ran.stdout, &["T1    merged"])?;
    // Only the soft limit is low: it is raised.
    with_open_files(&world, "-Sn 24", &["run", &plan])?.exits(0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    // `retry` has no such option.
    let ran = with_open_files(&world, "-n 64", &["retry", "T1", "-m", "again"])?.exits(2)?;
    require_words(&ran.stderr, &["20 agents", "`ulimit -Hn`"])?;
    assert!(!ran.stderr.contains("--max-agents"), "{}", ran.stderr);
    Ok(())
}

fn doctor_counts_open_files() -> Outcome {
    let world = world()?;
    // Nothing is said about the sandbox, which would be untrue: no tier can be probed with so few
    // files.
    for (limit, or) in [
        ("88", " or: lower their number: `max_agents = 1`"),
        ("24", ""),
    ] {
        let told = with_open_files(&world, &format!("-n {limit}"), &["doctor"])?.exits(2)?;
        let found = format!("MISSING  open files        20 agents need 392, {limit} allowed");
        require_words(
            &told.stdout,
            &[&found, "fix: start it where `ulimit -Hn` allows more,", or],
        )?;
        if told.stdout.contains("sandbox") || told.stdout.contains("max_agents") == or.is_empty() {
            return fail(told.stdout);
        }
    }
    let told = with_open_files(&world, "-Sn 24", &["doctor"])?.exits(0)?;
    require_words(
        &told.stdout,
        &[
            "ok       open files        392 for 20 agents at once",
            "ok       sandbox",
        ],
    )
}

fn landing_needs_files_for_no_agents() -> Outcome {
    let world = world()?;
    let run = [
        "run",
        &world.file("plan.md"),
        "--max-agents",
        "1",
        "--verify",
        "test -e made",
        "--no-verify-base",
    ];
    with_open_files(&world, "-n 88", &run)?.exits(0)?;
    world
        .repository
        .git(&["commit", "-q", "--allow-empty", "-m", "Go on"])?;
    // A low soft limit is raised.
    for limit in ["-n 88", "-Sn 16"] {
        let landed = with_open_files(&world, limit, &["land"])?.exits(0)?;
        require_words(&landed.stderr, &["has new commits: checking their merge"])?;
        with_open_files(&world, limit, &["land", "--undo"])?.exits(0)?;
    }
    with_open_files(&world, "-Sn 16", &["resume"])?
        .exits(0)
        .map(drop)
}

/// Runs a shell script with the state on a tmpfs of its own, which is mounted with these options.
/// In the script `$state` is the state's folder, `$1` the program and `$2` the plan.
fn on_a_file_system(world: &World, options: &str, script: &str) -> Result<Ran, Failed> {
    let state = world.home.path().join("state");
    std::fs::create_dir_all(&state)?;
    let mount = format!(
        "cd {}; mount -t tmpfs -o {options} none {}; cd \"$OLDPWD\"",
        state.display(),
        state.display()
    );
    let plan = world.file("plan.md");
    let script = format!("{mount}\nstate={}\n{script}", state.display());
    let arguments = [
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_orchestrate"),
        &plan,
    ];
    world
        .home
        .command("unshare", world.repository.path(), &arguments)
        .run()
}

fn a_read_only_state_is_refused() -> Outcome {
    let world = world()?;
    let before = world.repository.fingerprint()?;
    // A run may end before its journal is closed, and the journal could then still be read. The
    // first `status` closes it.
    let script = "mount -o remount,ro none $state; $1 run $2; echo first $?
        mount -o remount,rw none $state; $1 run $2 >/dev/null; echo second $?; $1 status >/dev/null
        mount -o remount,ro none $state; $1 status; echo third $?; $1 resume; echo fourth $?
        mount -o remount,rw none $state; $1 status >/dev/null; echo fifth $?";
    let ran = on_a_file_system(&world, "size=400m", script)?.exits(0)?;
    // The control: the second and the fifth command are like the ones before them, with a state
    // that can be written.
    require_words(
        &ran.stdout,
        &[
            "first 2\n",
            "second 0\n",
            "third 2\n",
            "fourth 2\n",
            "fifth 0\n",
        ],
    )?;
    let said = ran
        .stderr
        .matches("hint: make it writable or set XDG_STATE_HOME")
        .count();
    assert_eq!(said, 3, "{}", ran.stderr);
    before.require_same(&world.repository.fingerprint()?)
}

fn a_read_only_repository_is_refused() -> Outcome {
    let world = world()?;
    let script = "mkdir $state/own $state/copy; mount -t tmpfs none $state/copy; cp -a . $state/copy
        mount -o remount,ro none $state/copy; cd $state/copy; export XDG_STATE_HOME=$state/own; $1 run $2; echo first $?
        $1 status; echo second $?; mount -o remount,rw none $state/copy; $1 run $2 >/dev/null; echo third $?";
    let ran = on_a_file_system(&world, "size=400m", script)?.exits(0)?;
    // The control: the same plan runs in the same copy once that can be written.
    require_words(&ran.stdout, &["first 2\n", "second 2\n", "third 0\n"])?;
    require_words(
        &ran.stderr,
        &[
            "Read-only file system",
            "make it writable, or work in a writable clone",
        ],
    )
}

/// The repository becomes read-only while a command runs: no task fails for that, and the run goes
/// on afterwards.
fn a_repository_that_becomes_read_only_parks_the_run() -> Outcome {
    let world = World::plain()?;
    world.commit(".gitignore", "*.log\n")?;
    let command = "touch begun.log; until test -e go.log; do :; done; touch one.txt";
    world.write("plan.md", &format!("- [ ] T1 one (run: {command})\n"))?;
    let script = "mkdir $state/own $state/copy; mount -t tmpfs none $state/copy; cp -a . $state/copy; cd $state/copy
        export XDG_STATE_HOME=$state/own; $1 run $2 & run=$!
        until begun=$(find $state/own -name begun.log) && test -n \"$begun\" || ! kill -0 $run; do :; done
        mount -o remount,ro none $state/copy; touch $(dirname $begun)/go.log; wait $run; echo first $?
        mount -o remount,rw none $state/copy; $1 status; $1 resume; echo second $?";
    let ran = on_a_file_system(&world, "size=400m", script)?.exits(0)?;
    require_words(&ran.stdout, &["first 1\n", "T1    ready", "second 0\n"])?;
    require_words(
        &ran.stderr,
        &[
            "the repository is read-only",
            "`orchestrate resume` continues",
        ],
    )
}

fn a_trash_that_cannot_be_deleted_is_told() -> Outcome {
    let world = world()?;
    world.types(&["run", &world.file("plan.md")], 0)?;
    let run = world
        .archive()?
        .store()
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    world.worktree_again(&run, "T1")?;
    let folders = std::fs::read_dir(world.home.state().join("repos"))?;
    let Some(repository) = folders.filter_map(Result::ok).next() else {
        return fail("there is no state");
    };
    let left = repository.path().join("trash/worktree-1");
    std::fs::create_dir_all(&left)?;
    let place = left.display();
    let mount =
        format!("mount -t tmpfs none {place}; touch {place}/in; mount -o remount,ro none {place}");
    let clean = |options: &[&str]| {
        let typed = [&["clean"], options].concat();
        world
            .home
            .remounted(&mount, world.repository.path(), &typed)
            .run()?
            .exits(1)
    };
    let ran = clean(&[])?;
    require_words(
        &ran.stdout,
        &["removed ", "branches and snapshots are kept"],
    )?;
    require_words(
        &ran.stderr,
        &[
            "warning: failed to delete",
            &place.to_string(),
            "Read-only file system",
        ],
    )?;
    require_words(
        &clean(&["--json"])?.stdout,
        &["\"warnings\":[\"failed to delete", "delete it yourself"],
    )?;
    world.types(&["clean"], 0).map(drop)
}

fn a_real_full_disk_loses_nothing() -> Outcome {
    let world = world()?;
    let before = world.repository.fingerprint()?;
    let turn = |turn, command: &str| shell(on("T1", turn), command);
    // The agent's own file fills the eight megabytes.
    let script = Script::default()
        .rule(turn(1, "echo early > early.txt"))
        .rule(turn(2, "head -c 20000000 /dev/zero > big; true"))
        .rule(turn(3, "rm -f big; echo late > late.txt"))
        .rule(done("T1"));
    script.write_to(&world.home.path().join("model.jsonl"))?;
    world.write(
        "plan.md",
        "- [ ] T1 Fill it\n- [ ] T2 After (depends: T1) (run: touch two)\n",
    )?;
    let script = format!(
        "$1 run $2 --model script:{}; echo first $?
        $1 status; echo second $?
        mount -o remount,size=256m none $state; $1 resume --json; echo third $?",
        world.file("model.jsonl")
    );
    let ran = on_a_file_system(&world, "size=8m", &script)?.exits(0)?;
    require_words(
        &ran.stdout,
        &["first 1\n", "stopped after", "second 0\n", "third 0\n"],
    )?;
    require_words(
        &ran.stderr,
        &[
            "the disk is full",
            "free some space",
            "`orchestrate resume r-",
        ],
    )?;
    // The control: with more room on the same disk, the same agent goes on, and all of its files
    // are there.
    let report = ran
        .stdout
        .lines()
        .find_map(|line| lines(line.strip_prefix('{').map(|_| line)?).ok()?.pop());
    let report = report.ok_or_else(|| Failed::from("no report"))?;
    let branch = at(&report, "/integration_branch")?
        .as_str()
        .unwrap_or_default();
    let files = world.git(&format!("ls-tree --name-only {branch}"))?;
    assert_eq!(at(&report, "/tasks/0/turns")?, 4, "{report:#}\n{files}");
    assert!(
        ["early.txt", "late.txt", "two"]
            .iter()
            .all(|file| files.contains(file)),
        "{report:#}\n{files}"
    );
    before.require_same(&world.repository.fingerprint()?)
}

fn a_repository_whose_disk_is_full_says_so() -> Outcome {
    let world = world()?;
    let program = env!("CARGO_BIN_EXE_orchestrate");
    world.write(
        "plan.md",
        "- [ ] T1 Fill it (run: head -c 9000000 /dev/urandom > big)\n",
    )?;
    let copy = world.home.path().join("copy");
    std::fs::create_dir(&copy)?;
    let (copy, plan) = (copy.display(), world.file("plan.md"));
    let script = format!(
        "set -e; mount -t tmpfs -o size=8m none {copy}; cp -a . {copy}; cd {copy}; set +e
        {program} run {plan}; echo first $?; mount -o remount,size=64m none {copy}; {program} resume; echo second $?
        git ls-tree -r --name-only $(git for-each-ref --format '%(refname)' 'refs/heads/orchestrate/*/integration')"
    );
    let arguments = ["--user", "--map-root-user", "--mount", "sh", "-c", &script];
    let ran = world
        .home
        .command("unshare", world.repository.path(), &arguments)
        .run()?
        .exits(0)?;
    require_words(&ran.stdout, &["first 1\n", "second 0\n", "\nbig\n"])?;
    require_words(
        &ran.stderr,
        &[
            "failed to store big: No space left",
            "free some space",
            "`orchestrate resume r-",
        ],
    )?;
    // Each message at the start of a resumed run has a line of its own.
    let tiers = ran.stderr.matches("\nsandbox tier: ").count();
    assert_eq!(tiers, 2, "{}", ran.stderr);
    Ok(())
}
