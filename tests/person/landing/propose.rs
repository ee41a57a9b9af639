//! Pull requests for a result.

use std::path::Path;

use libtest_mimic::Failed;

use crate::support::{Case, Outcome, World, at, case, fail, git_program, says, with_program};

const PLAN: &str = "# Words\n\n- [ ] T1 one (run: touch one)\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(the_branch_is_pushed_and_the_request_opened),
        case!(a_request_from_a_fork_goes_to_its_origin),
        case!(without_a_program_the_commands_are_printed),
        case!(what_the_program_refuses_is_left_to_be_typed),
        case!(a_request_that_is_open_is_updated),
        case!(what_cannot_be_pushed_is_said),
        case!(a_result_made_anew_replaces_what_was_pushed),
        case!(a_repositorys_programs_do_not_push),
    ]
}

/// Returns a world whose run has ended, with a bare repository as its remote.
fn ended() -> Result<World, Failed> {
    ended_with(PLAN)
}

fn ended_with(plan: &str) -> Result<World, Failed> {
    let world = World::with_plan(plan)?;
    let remote = world.file("remote.git");
    world.git(&format!("init -q --bare {remote}"))?;
    world.git(&format!("remote add team {remote}"))?;
    world.git("config remote.pushDefault team")?;
    world.types(
        &[
            "run",
            "plan.md",
            "--verify",
            "test -e one",
            "--no-verify-base",
        ],
        0,
    )?;
    Ok(world)
}

fn result(world: &World) -> Result<String, Failed> {
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let branch = at(&report, "/integration_branch")?
        .as_str()
        .map(str::to_owned);
    branch.ok_or_else(|| Failed::from(report.to_string()))
}

fn require_pushed(world: &World) -> Outcome {
    let branch = result(world)?;
    let pushed = world
        .repository
        .git(&["ls-remote", &world.file("remote.git")])?;
    let commit = world.git(&format!("rev-parse {branch}"))?;
    assert_eq!(pushed, format!("{commit}\trefs/heads/{branch}"));
    Ok(())
}

fn the_branch_is_pushed_and_the_request_opened() -> Outcome {
    let world = ended()?;
    let (log, checkout) = (world.file("log"), world.repository.path().display());
    let script = format!(
        "printf '%s|' \"$@\" > {log}; case $PWD in {checkout}*) exit 1 ;; esac\necho https://example.invalid/pull/1"
    );
    let path = with_program(&world.home, "gh", &script)?;
    let before = world.repository.fingerprint()?;
    let opened = world
        .orchestrate(&["land", "--pr", "--json"])
        .env("PATH", &path)
        .run()?
        .exits(0)?
        .json()?;
    before.require_same(&world.repository.fingerprint()?)?;
    require_pushed(&world)?;
    let typed = std::fs::read_to_string(&log)?;
    let (head, remote) = (result(&world)?, world.file("remote.git"));
    let body = description(&world)?;
    let expected =
        format!("pr|create|--head|{head}|--base|main|--title|Words|--body|{body}|--repo|{remote}|");
    assert!(
        typed == expected && *at(&opened, "/opened")? == "https://example.invalid/pull/1",
        "{typed}\n{opened}"
    );
    world
        .orchestrate(&["land", "--pr", "-m", "Add {title}\n\nFor later."])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    let typed = std::fs::read_to_string(&log)?;
    assert!(
        typed.contains(&format!("|--title|Add Words|--body|For later.\n\n{body}|")),
        "{typed}"
    );
    world
        .orchestrate(&["land", "--pr", "-m", "Add\n\n{tasks}"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    let typed = std::fs::read_to_string(&log)?;
    assert!(
        typed.contains("|--title|Add|--body|- T1: one\n\n## Verification\n"),
        "{typed}"
    );
    // What another process has added to the branch is not part of the result.
    let mine = world.git(&format!("commit-tree -p {head} -m Mine {head}^{{tree}}"))?;
    world.git(&format!("update-ref refs/heads/{head} {mine}"))?;
    let again = world
        .orchestrate(&["land", "--pr", "--json"])
        .env("PATH", &path)
        .run()?
        .exits(0)?
        .json()?;
    assert!(
        at(&again, "/warnings/0")?
            .to_string()
            .contains("its additions are not included"),
        "{again}"
    );
    // The branch has not landed here.
    assert!(
        !world.repository.path().join("one").exists(),
        "it has landed"
    );
    Ok(())
}

/// Returns the description of the pull request for a world's only run.
fn description(world: &World) -> Result<String, Failed> {
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let run = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let commit = world
        .repository
        .git(&["rev-parse", "--short=12", &result(world)?])?;
    Ok(format!(
        "## Tasks\n\n- **T1**: one\n\n## Verification\n\n`test -e one` passed on exactly the files of commit {commit}.\n\n\
         Made by orchestrate, run {run}."
    ))
}

fn a_request_from_a_fork_goes_to_its_origin() -> Outcome {
    let (world, upstream) = (ended()?, "https://github.com/team/words");
    world.git(&format!("remote add upstream {upstream}"))?;
    world.git("config branch.main.remote upstream")?;
    world.git("config branch.main.merge refs/heads/next")?;
    let log = world.file("log");
    let path = with_program(&world.home, "gh", &format!("printf '%s|' \"$@\" > {log}"))?;
    world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    require_pushed(&world)?;
    let typed = std::fs::read_to_string(&log)?;
    let is_for = |base: &str| typed.contains(&format!("|--base|{base}|"));
    assert!(is_for("next"), "{typed}");
    assert!(typed.ends_with(&format!("|--repo|{upstream}|")), "{typed}");
    Ok(())
}

/// Returns a search path with git alone.
fn only_git(world: &World) -> Result<String, Failed> {
    let folder = world.home.path().join("only");
    std::fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(git_program(&world.home)?, folder.join("git"))?;
    Ok(folder.display().to_string())
}

fn without_a_program_the_commands_are_printed() -> Outcome {
    let world = ended()?;
    let path = only_git(&world)?;
    let printed = world
        .orchestrate(&["land", "--pr", "-m", "Add {title}"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    require_pushed(&world)?;
    let branch = result(&world)?;
    says(
        &printed,
        &[
            &format!("is pushed to team as {branch}, for main"),
            &format!("gh pr create --head {branch} --base main --title 'Add Words' --body-file "),
            &format!(
                "glab mr create --source-branch {branch} --target-branch main --title 'Add Words'"
            ),
        ],
    )
}

/// The branch is pushed: what the program says is shown, and what is left to be done by hand.
fn what_the_program_refuses_is_left_to_be_typed() -> Outcome {
    let world = ended()?;
    let path = with_program(&world.home, "gh", "echo 'not logged in' >&2; exit 4")?;
    let refused = world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?
        .exits(1)?;
    require_pushed(&world)?;
    says(
        &refused,
        &[
            "failed to open a pull request with gh: exit code 4: not logged in",
            "gh pr create --head ",
        ],
    )?;
    let again = world
        .orchestrate(&["land", "--pr", "--json"])
        .env("PATH", &path)
        .run()?
        .exits(1)?
        .json()?;
    let failure = at(&again, "/error")?.as_str().unwrap_or_default();
    let command = at(&again, "/commands/0")?.as_str().unwrap_or_default();
    let file = command
        .split("--body-file ")
        .nth(1)
        .and_then(|rest| rest.split(" --repo ").next())
        .unwrap_or_default();
    if !failure.ends_with("not logged in") || !std::fs::read_to_string(file)?.contains("T1") {
        return fail(again.to_string());
    }
    Ok(())
}

/// As `gh` ends if the branch has a pull request, for example after `land --pr` was typed before.
fn a_request_that_is_open_is_updated() -> Outcome {
    let (world, address) = (ended()?, "https://example.invalid/pull/7");
    let said = format!(
        "a pull request for branch \"x\" into branch \"main\" already exists:\\n{address}\\n"
    );
    let path = with_program(&world.home, "gh", &format!("printf '{said}' >&2; exit 1"))?;
    let updated = world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    require_pushed(&world)?;
    says(
        &updated,
        &[&format!(
            "the pull request was open already, and is updated: {address}\n"
        )],
    )?;
    let again = world
        .orchestrate(&["land", "--pr", "--json"])
        .env("PATH", &path)
        .run()?
        .exits(0)?
        .json()?;
    let is_told =
        *at(&again, "/opened")? == address && at(&again, "/updated")?.as_bool() == Some(true);
    assert!(is_told, "{again}");
    assert!(at(&again, "/error")?.is_null(), "{again}");
    Ok(())
}

fn what_cannot_be_pushed_is_said() -> Outcome {
    let world = ended()?;
    world.git("config remote.pushDefault elsewhere")?;
    says(
        &world.types(&["land", "--pr"], 2)?,
        &["no remote is configured"],
    )?;
    world
        .repository
        .git(&["remote", "add", "elsewhere", &world.file("nowhere")])?;
    let refused = world.orchestrate(&["land", "--pr"]).run()?;
    says(&refused, &["failed to push to elsewhere"])?;
    assert_ne!(refused.code, 0, "it was pushed");
    Ok(())
}

/// Dropping a task makes a result that does not contain what was pushed before; commits of others
/// are never lost.
fn a_result_made_anew_replaces_what_was_pushed() -> Outcome {
    let plan = "# Words\n\n- [ ] T1 one (run: touch one)\n- [ ] T2 two (run: touch two) (depends: T1)\n\
                - [ ] T3 three (run: touch three) (depends: T1)\n";
    let world = ended_with(plan)?;
    let path = only_git(&world)?;
    let propose = || {
        world
            .orchestrate(&["land", "--pr"])
            .env("PATH", &path)
            .run()
    };
    propose()?.exits(0)?;
    world.types(&["drop", "T3"], 0)?;
    propose()?.exits(0)?;
    require_pushed(&world)?;
    // A colleague adds a commit to the branch.
    let (branch, remote) = (result(&world)?, world.file("remote.git"));
    let theirs = world.git(&format!(
        "commit-tree -p {branch} -m Theirs {branch}^{{tree}}"
    ))?;
    world.git(&format!("push -q {remote} {theirs}:refs/heads/{branch}"))?;
    world.types(&["drop", "T2"], 0)?;
    let refused = propose()?.exits(3)?;
    says(
        &refused,
        &[
            "has commits that this repository has not pushed there",
            "git push team --delete orchestrate/",
        ],
    )?;
    let kept = world.git(&format!("ls-remote {remote}"))?;
    assert_eq!(kept, format!("{theirs}\trefs/heads/{branch}"));
    world.git(&format!("push -q {remote} --delete {branch}"))?;
    propose()?.exits(0)?;
    require_pushed(&world)
}

fn a_repositorys_programs_do_not_push() -> Outcome {
    let world = ended()?;
    let (marker, path) = (world.file("ran"), only_git(&world)?);
    let touch = format!("touch {marker}; false");
    let receive = format!("touch {marker}; git-receive-pack");
    for (key, value) in [
        ("core.sshCommand", touch.as_str()),
        ("core.askPass", &touch),
        ("credential.helper", &touch),
        ("remote.team.receivepack", &receive),
        ("remote.team.vcs", "evil"),
    ] {
        world.repository.git(&["config", key, value])?;
    }
    let hooks = world.repository.path().join(".git/hooks");
    std::fs::create_dir_all(&hooks)?;
    std::fs::write(
        hooks.join("pre-push"),
        format!("#!/bin/sh\ntouch {marker}\n"),
    )?;
    let hook = hooks.join("pre-push").display().to_string();
    world
        .home
        .command("chmod", world.repository.path(), &["755", &hook])
        .run()?
        .exits(0)?;
    let pushed = world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?
        .exits(0)?;
    require_pushed(&world)?;
    says(
        &pushed,
        &["hooks not run: pre-push (`git push team orchestrate/"],
    )?;
    world.repository.git(&[
        "config",
        "remote.team.pushurl",
        &format!("ext::sh -c touch% {marker}"),
    ])?;
    let refused = world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?;
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    // A bare repository that came with this one, and its hook.
    world.git("init -q --bare vendor/mirror.git")?;
    let hook = world
        .repository
        .path()
        .join("vendor/mirror.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap_or(&hook))?;
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {marker}\n"))?;
    world
        .home
        .command(
            "chmod",
            world.repository.path(),
            &["755", &hook.display().to_string()],
        )
        .run()?
        .exits(0)?;
    world.git("config remote.team.pushurl vendor/mirror.git")?;
    let refused = world
        .orchestrate(&["land", "--pr"])
        .env("PATH", &path)
        .run()?;
    says(&refused, &["a folder of this repository"])?;
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    assert!(!Path::new(&marker).exists(), "{}", refused.stderr);
    Ok(())
}
