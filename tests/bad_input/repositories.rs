//! Repositories that a run cannot start from, and those that change during a run.

use std::path::Path;
use std::time::UNIX_EPOCH;

use libtest_mimic::Failed;

use crate::support::{
    Case, Outcome, Ran, Repository, Script, World, at, case, done, fail, lines, on, require_words,
    sandboxed, shell, writes,
};

use super::{PLAN, refuses, world};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case!("bad_input", a_bare_repository_is_refused),
        case!("bad_input", a_repository_of_another_user_is_refused),
        case!("bad_input", a_branch_in_the_way_is_refused),
        sandboxed!("bad_input", a_state_inside_the_checkout_is_refused),
        sandboxed!("bad_input", a_merge_or_a_rebase_is_finished_first),
        sandboxed!("bad_input", a_dirty_tree_and_a_detached_head_are_warnings),
        sandboxed!("bad_input", a_base_branch_that_moves_is_landed_on),
        sandboxed!("bad_input", a_base_branch_that_goes_is_not_landed_on),
        sandboxed!(
            "bad_input",
            a_worktree_deleted_while_running_fails_its_task_alone
        ),
    ]
}

fn a_bare_repository_is_refused() -> Outcome {
    let world = world()?;
    let bare = world.file("bare.git");
    world.git(&format!("clone -q --bare . {bare}"))?;
    let ran = world
        .home
        .orchestrate(Path::new(&bare), &["run", &world.file("plan.md")])
        .run()?
        .exits(2)?;
    require_words(
        &ran.stderr,
        &["it is bare, which is not supported yet; run from a clone with a working tree"],
    )?;
    // The control: the same plan could be run in the clone that is asked for.
    let clone = world.file("clone");
    world.git(&format!("clone -q {bare} {clone}"))?;
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.com")] {
        world.git(&format!("-C {clone} config {key} {value}"))?;
    }
    let checks = |place: &str| {
        world
            .home
            .orchestrate(Path::new(place), &["check", &world.file("plan.md")])
            .run()
    };
    require_words(&checks(&bare)?.exits(2)?.stdout, &["it is bare"])?;
    checks(&clone)?.exits(0).map(drop)
}

/// Only root can give a repository away; anybody else can show that their own is not refused.
fn a_repository_of_another_user_is_refused() -> Outcome {
    let world = world()?;
    let (folder, plan) = (world.repository.path(), world.file("plan.md"));
    // The control: the same repository is not refused while it is the user's own, nor once the user
    // trusts it.
    world.types(&["check", &plan], 0)?;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for given in [folder.to_owned(), folder.join(".git")] {
        std::os::unix::fs::chown(given, Some(65_534), Some(65_534))?;
    }
    let trusting = [
        "config",
        "--global",
        "--add",
        "safe.directory",
        &folder.display().to_string(),
    ];
    let said = [
        "it belongs to another user",
        &format!("run `git {}`", trusting.join(" ")),
    ];
    require_words(&world.types(&["run", &plan], 2)?.stderr, &said)?;
    // What git ignores is not known, so nothing is suggested to be committed or brought along.
    require_words(&world.types(&["init", "--yes"], 2)?.stderr, &said)?;
    assert!(
        !folder.join(".git/refs/heads/orchestrate").exists(),
        "the run has made a branch"
    );
    std::fs::create_dir_all(world.home.path().join("home"))?;
    world
        .home
        .command("git", folder, &trusting)
        .run()?
        .exits(0)?;
    world.types(&["check", &plan], 0).map(drop)
}

fn a_branch_in_the_way_is_refused() -> Outcome {
    let world = world()?;
    world.git("branch orchestrate")?;
    refuses(
        &world,
        &[
            "its branch `orchestrate` blocks the names of runs",
            "git branch -m orchestrate NAME",
        ],
    )
}

fn a_state_inside_the_checkout_is_refused() -> Outcome {
    let world = world()?;
    let (inside, before) = (
        world.repository.path().join("state"),
        world.repository.fingerprint()?,
    );
    for command in [&["run", &world.file("plan.md")][..], &["doctor"]] {
        let typed = world.orchestrate(command).env("XDG_STATE_HOME", &inside);
        let ran = typed.run()?.exits(2)?;
        require_words(
            &format!("{}{}", ran.stdout, ran.stderr),
            &["set XDG_STATE_HOME to a folder outside it"],
        )?;
    }
    // The control: with a folder of the same name beside the checkout, the same run is started and
    // ends.
    let outside = world.home.path().join("beside/state");
    let typed = world
        .orchestrate(&["run", &world.file("plan.md")])
        .env("XDG_STATE_HOME", &outside);
    require_words(&typed.run()?.exits(0)?.stdout, &["T1    merged"])?;
    assert!(
        outside.join("orchestrate").exists() && !inside.exists(),
        "the state is not where it was asked for"
    );
    before.require_same(&world.repository.fingerprint()?)
}

fn a_merge_or_a_rebase_is_finished_first() -> Outcome {
    for (command, words) in [
        ("merge", "a merge is in progress"),
        ("rebase", "a rebase is in progress"),
    ] {
        let world = World::plain()?;
        world.write("plan.md", PLAN)?;
        let repository = &world.repository;
        repository.git(&["checkout", "-q", "-b", "theirs"])?;
        repository.write("README.md", "# theirs\n")?;
        repository.commit_all("Theirs")?;
        repository.git(&["checkout", "-q", "main"])?;
        repository.write("README.md", "# ours\n")?;
        repository.commit_all("Ours")?;
        assert!(
            repository.git(&[command, "theirs"]).is_err(),
            "{command} has no conflict"
        );
        refuses(&world, &[words, "finish or abort it first"])?;
        repository.git(&[command, "--abort"])?;
        world.types(&["run", &world.file("plan.md")], 0)?;
    }
    Ok(())
}

/// Adds the rarer changes to a checkout that has the usual ones: a file in conflict, one that is
/// only meant to be added, and an edit that git was told not to look at.
fn every_kind_of_change(repository: &Repository) -> Outcome {
    repository.write("kept.txt", "committed\n")?;
    repository.git(&["commit", "-q", "-m", "Keep another", "--", "kept.txt"])?;
    assert!(
        repository.git(&["stash", "pop"]).is_err(),
        "the stash has no conflict"
    );
    repository.write("intended.txt", "intended\n")?;
    repository.git(&["add", "--intent-to-add", "intended.txt"])?;
    repository.git(&["update-index", "--skip-worktree", "README.md"])?;
    repository.write("README.md", "# hidden\n")
}

fn a_dirty_tree_and_a_detached_head_are_warnings() -> Outcome {
    let world = world()?;
    let repository = &world.repository;
    repository.git(&["checkout", "-q", "--detach"])?;
    every_kind_of_change(repository)?;
    let before = repository.fingerprint()?;
    let ran = world.types(&["run", &world.file("plan.md")], 0)?;
    let warnings = [
        "5 files have uncommitted changes",
        "no branch is checked out",
    ];
    require_words(&ran.stderr, &warnings)?;
    assert!(
        ran.stderr.matches("warning: ").count() == warnings.len()
            && !ran.stdout.contains("orchestrate land"),
        "{ran:?}"
    );
    let result = ran
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("git merge "))
        .unwrap_or_default()
        .to_owned();
    assert!(repository.show(&result, "made").is_ok(), "{}", ran.stdout);
    let refused = world.types(&["land"], 3)?;
    require_words(
        &refused.stderr,
        &["HEAD was detached", &format!("git merge {result}")],
    )?;
    before.require_same(&repository.fingerprint()?)?;
    // The control: the same comparison tells a file that was written again as it was, and an index
    // of the same files.
    std::fs::File::options()
        .append(true)
        .open(repository.path().join("kept.txt"))?
        .set_modified(UNIX_EPOCH)?;
    repository.git(&["update-index", "--no-skip-worktree", "README.md"])?;
    let told = before.require_same(&repository.fingerprint()?).err();
    let told = told.as_ref().and_then(Failed::message).unwrap_or_default();
    assert_eq!(
        told, "changed: .git/index\nchanged: kept.txt",
        "told: {told:?}"
    );
    Ok(())
}

/// Runs a plan in which T1's command waits until the file `go` is in its worktree or the worktree
/// is gone. Calls `acts` with the worktree meanwhile, and returns the ended run.
fn while_it_runs(world: &World, acts: impl FnOnce(&Path) -> Outcome) -> Result<Ran, Failed> {
    let script = Script::default()
        .rule(shell(
            on("T1", 1),
            "until test -e go -o ! -e .git; do sleep 0.05; done",
        ))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    let plan = world.write(
        "plan.md",
        "- [ ] T1 Wait\n- [ ] T2 Make it (run: touch made)\n",
    )?;
    // One agent only: git itself dies while another worktree is being created.
    let arguments = [
        "run",
        &plan,
        "--model",
        &model,
        "--max-agents",
        "1",
        "--output-format",
        "stream-json",
    ];
    let running = world.orchestrate(&arguments).start()?;
    let line =
        running.line(|line| line.contains("\"tool.started\"") && line.contains("until test"))?;
    let run = at(&lines(&line)?[0], "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let listed = world.git("worktree list --porcelain")?;
    let place = listed.lines().find_map(|line| {
        line.strip_prefix("worktree ")?
            .ends_with(&format!("{run}/T1"))
            .then_some(&line[9..])
    });
    let Some(place) = place else {
        return fail(listed);
    };
    acts(Path::new(place))?;
    running.end()
}

/// Creates a world whose checkout is on the branch `base`, which is where `main` is.
fn on_a_base() -> Result<World, Failed> {
    let world = World::plain()?;
    world.git("checkout -q -b base")?;
    Ok(world)
}

/// Returns the branch with the result of a run that has ended, which has the agent's file.
fn result_of(world: &World, ran: Ran) -> Result<String, Failed> {
    let report = lines(&ran.exits(0)?.stdout)?.pop().unwrap_or_default();
    let branch = at(&report, "/integration_branch")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if world.repository.show(&branch, "one.txt")? == "1" {
        Ok(branch)
    } else {
        fail("the result is not there")
    }
}

fn a_base_branch_that_moves_is_landed_on() -> Outcome {
    let world = on_a_base()?;
    let repository = &world.repository;
    let ran = while_it_runs(&world, |worktree| {
        repository.write("theirs.txt", "theirs\n")?;
        repository.commit_all("Theirs")?;
        Ok(std::fs::write(worktree.join("go"), "")?)
    })?;
    let result = result_of(&world, ran)?;
    // The control: the result lacks what the user has committed, so a branch that were just set to
    // it would lose that.
    assert!(
        repository.show(&result, "theirs.txt").is_err()
            && repository.show("base", "theirs.txt")? == "theirs",
        "the user's commit is in the result, or not on the branch"
    );
    world.types(&["land"], 0)?;
    let landed =
        ["theirs.txt", "one.txt", "made"].map(|file| repository.path().join(file).exists());
    assert_eq!(landed, [true; 3]);
    Ok(())
}

fn a_base_branch_that_goes_is_not_landed_on() -> Outcome {
    let world = on_a_base()?;
    let repository = &world.repository;
    let ran = while_it_runs(&world, |worktree| {
        repository.git(&["checkout", "-q", "main"])?;
        repository.git(&["branch", "-D", "base"])?;
        Ok(std::fs::write(worktree.join("go"), "")?)
    })?;
    result_of(&world, ran)?;
    let refuses = |said: &[&str]| {
        let before = repository.fingerprint()?;
        require_words(&world.types(&["land"], 3)?.stderr, said)?;
        before.require_same(&repository.fingerprint()?)
    };
    refuses(&["land on base: the branch is gone", "git branch base COMMIT"])?;
    let rewritten = repository.git(&["commit-tree", "-m", "Rewritten", "main^{tree}"])?;
    repository.git(&["branch", "base", &rewritten])?;
    refuses(&[
        "on base: the branch no longer contains ",
        ", where the run started",
        "`git merge ",
    ])?;
    // The control: the same result lands on the same branch once that is where the run started.
    repository.git(&["branch", "-f", "base", "main"])?;
    world.types(&["land"], 0)?;
    assert_eq!(
        repository.show("base", "one.txt")?,
        "1",
        "the result has not landed"
    );
    Ok(())
}

fn a_worktree_deleted_while_running_fails_its_task_alone() -> Outcome {
    let world = world()?;
    let before = world.repository.fingerprint()?;
    let ran = while_it_runs(&world, |worktree| Ok(std::fs::remove_dir_all(worktree)?))?.exits(1)?;
    let report = lines(&ran.stdout)?.pop().unwrap_or_default();
    let states = [
        at(&report, "/tasks/0/state")?,
        at(&report, "/tasks/1/state")?,
    ];
    assert_eq!(states, ["failed", "merged"], "{report}");
    require_words(&report.to_string(), &["its directory is gone"])?;
    // Cleaning removes git's record of the worktree, and nothing of the work.
    world.types(&["clean"], 0)?;
    let listed = world.git("worktree list --porcelain")?;
    assert_eq!(listed.matches("worktree ").count(), 1, "{listed}");
    before.require_same(&world.repository.fingerprint()?)?;
    // A further attempt gets a new worktree.
    let again = world
        .orchestrate(&[
            "retry",
            "T1",
            "-m",
            "The folder was deleted.",
            "--output-format",
            "json",
        ])
        .run()?;
    let report = again.json()?;
    assert_eq!(at(&report, "/tasks/0/attempt")?, 2, "{report}");
    Ok(())
}
