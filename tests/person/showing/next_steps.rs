//! The suggested next commands do what is meant if they are typed exactly as they are printed.

use libtest_mimic::Failed;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::support::{
    Case, Home, Outcome, Ran, Repository, Running, World, at, case, fail, sandboxed, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(they_name_a_run_that_is_not_the_newest),
        sandboxed!(a_red_landing_names_the_merge_by_hand),
        sandboxed!(what_has_not_landed_is_to_be_landed),
        sandboxed!(files_that_were_kept_are_told_where_no_diff_is),
        sandboxed!(odd_paths_can_be_typed),
        case!(a_role_that_is_no_text_says_what_to_do),
        case!(a_pipe_among_the_configuration_is_named),
        sandboxed!(a_text_that_is_too_long_says_what_to_do),
    ]
}

/// Returns the commands that are printed: each on a line of its own, or between backquotes.
fn commands(ran: &Ran) -> Vec<String> {
    let all = format!("{}\n{}", ran.stdout, ran.stderr);
    let parts = all.lines().flat_map(|line| line.split('`').map(str::trim));
    parts
        .filter(|part| part.starts_with("orchestrate "))
        .map(str::to_owned)
        .collect()
}

fn run_of(world: &World) -> Result<String, Failed> {
    Ok(
        at(&world.types(&["status", "--json"], 0)?.json()?, "/run_id")?
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

fn they_name_a_run_that_is_not_the_newest() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 one (run: touch one) (review: required)\n- [ ] T2 two (run: touch two)\n- [ ] T3 three (run: false)\n",
    )?;
    let first = world.types(&["run", "plan.md"], 1)?;
    let next = [
        "orchestrate review T1",
        "orchestrate retry T3 -m TEXT",
        "orchestrate review",
        "orchestrate land",
    ];
    if let Some(missing) = next
        .iter()
        .find(|next| !commands(&first).contains(&(**next).to_owned()))
    {
        return fail(format!("{missing} is not in {:?}", commands(&first)));
    }
    let older = run_of(&world)?;
    world.repository.write(
        "other.md",
        "- [ ] T1 one (run: touch other) (review: required)\n",
    )?;
    world.types(&["run", "other.md"], 3)?;
    let looks: [(&[&str], i32); 10] = [
        (&["status", &older], 0),
        (&["review", &older], 0),
        (&["review", "T1", "--run", &older], 0),
        (&["review", "T2", "--run", &older], 0),
        (&["review", "T3", "--run", &older], 0),
        (&["log", &older], 0),
        (&["retry", "T2", "--run", &older], 2),
        (
            &["reject", "T2", "-m", "Again.", "--run", &older, "--follow"],
            1,
        ),
        (&["approve", "T1", "--tree", "0123", "--run", &older], 2),
        (&["approve", "T1", "--run", &older, "--follow"], 1),
    ];
    for (arguments, code) in looks {
        let named = commands(&world.types(arguments, code)?);
        let astray = named.iter().find(|command| !command.contains(&older));
        assert!(!named.is_empty(), "{arguments:?}: {astray:?} of {named:?}");
        assert!(astray.is_none(), "{arguments:?}: {astray:?} of {named:?}");
    }
    for step in ["orchestrate drop", "orchestrate land"] {
        let status = world.types(&["status", &older], 0)?;
        let next = commands(&status)
            .into_iter()
            .find(|command| command.starts_with(step))
            .unwrap_or_default();
        world.types(&next.split_whitespace().skip(1).collect::<Vec<_>>(), 0)?;
    }
    let has_landed = |file: &str| world.repository.path().join(file).exists();
    assert!(has_landed("one"), "the rejected work has landed");
    assert!(!has_landed("two"), "the rejected work has landed");
    Ok(())
}

fn a_red_landing_names_the_merge_by_hand() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    world.types(&["run", "plan.md", "--verify", "test ! -e newer"], 0)?;
    world.commit("newer", "")?;
    let refused = world.types(&["land"], 3)?;
    let all = refused
        .stderr
        .split('`')
        .find_map(|part| part.strip_prefix("git "));
    let merge = all
        .ok_or_else(|| Failed::from(refused.stderr.clone()))?
        .split_whitespace();
    world.repository.git(&merge.collect::<Vec<_>>())?;
    assert!(
        world.repository.path().join("one").exists(),
        "{}",
        refused.stderr
    );
    Ok(())
}

fn what_has_not_landed_is_to_be_landed() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    let refused = world.types(&["land", "--undo"], 3)?;
    let named = commands(&refused);
    let [land] = named.as_slice() else {
        return fail(refused.stderr);
    };
    world
        .types(&land.split_whitespace().skip(1).collect::<Vec<_>>(), 0)
        .map(drop)
}

fn files_that_were_kept_are_told_where_no_diff_is() -> Outcome {
    let world =
        World::with_plan("- [ ] T1 one (run: touch one; false)\n- [ ] T2 two (run: true)\n")?;
    world.types(&["run", "plan.md"], 1)?;
    let kept = world.types(&["diff", "T1"], 0)?;
    says(
        &kept,
        &["T1 has no committed changes", "`orchestrate recover r-"],
    )?;
    let none = world.types(&["diff", "T2"], 0)?;
    says(&none, &["T2 has no committed changes"])?;
    assert!(
        kept.stdout.is_empty() && !none.stderr.contains("recover"),
        "{}",
        kept.stdout + &none.stderr
    );
    Ok(())
}

fn a_role_that_is_no_text_says_what_to_do() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    std::fs::create_dir_all(world.repository.path().join("agents"))?;
    std::fs::write(
        world.repository.path().join("agents/x.md"),
        b"---\nname: x\n---\n\xff\xfe\n",
    )?;
    world.repository.commit_all("Add a role")?;
    says(
        &world.types(&["check", "plan.md"], 2)?,
        &[
            "agents/x.md: it is not UTF-8; save it as UTF-8",
            "commit it",
        ],
    )
}

/// A text that is one byte shorter is read; whether it is valid does not matter here.
fn a_text_that_is_too_long_says_what_to_do() -> Outcome {
    const MOST: usize = 256 * 1024;
    let texts = [
        "AGENTS.md",
        ".orchestrate/prompts/system/task.md",
        ".orchestrate/prompts/tools/read_file.xml",
        "agents/x.md",
    ];
    for text in texts {
        let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
        world.commit(text, &"x".repeat(MOST + 1))?;
        let said = format!("{text}: it is longer than {MOST} bytes");
        says(
            &world.types(&["run", "plan.md"], 2)?,
            &[&said, "shorten it and commit it"],
        )?;
        world.commit(text, &"x".repeat(MOST))?;
        let ran = world.orchestrate(&["run", "plan.md"]).run()?;
        assert!(!ran.stderr.contains(&said), "{}", ran.stderr);
    }
    Ok(())
}

/// The configuration of the repository or of the user includes a pipe: git would wait for it
/// forever, and so would libgit2.
fn a_pipe_among_the_configuration_is_named() -> Outcome {
    let homes = [Home::new()?, Home::new()?];
    let repositories = [Repository::plain()?, Repository::plain()?];
    let pipe = homes[0].path().join("pipe").display().to_string();
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR)?;
    repositories[0].git(&["config", "include.path", &pipe])?;
    let users = homes[1].path().join("home");
    std::fs::create_dir_all(&users)?;
    std::fs::write(
        users.join(".gitconfig"),
        format!("[include]\n\tpath = {pipe}\n"),
    )?;
    let waiting: Vec<Running> = std::iter::zip(&homes, &repositories)
        .map(|(home, repository)| home.orchestrate(repository.path(), &["status"]).start())
        .collect::<Result<_, _>>()?;
    for waits in waiting {
        let said = waits.end()?.exits(2)?.stderr;
        if !said.contains(&format!(
            "it waits for {pipe}, which is not a regular file; replace it"
        )) {
            return fail(said);
        }
    }
    Ok(())
}

/// Folders and files with odd names are printed in a form that a shell understands.
fn odd_paths_can_be_typed() -> Outcome {
    let world = World::with_plan("")?;
    let odd = "it's a \"test\" $HOME";
    let (folder, state) = (
        world.home.path().join(odd),
        world.home.path().join("it's the $state"),
    );
    let shell = |command: &str, code| {
        let line = format!(
            "orchestrate() {{ {} \"$@\"; }}; {command}",
            env!("CARGO_BIN_EXE_orchestrate")
        );
        world
            .home
            .command("sh", &folder, &["-c", &line])
            .env("XDG_STATE_HOME", &state)
            .run()?
            .exits(code)
    };
    let demo = world.types(&["demo", &folder.display().to_string()], 0)?;
    let enter = demo
        .stdout
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("cd "))
        .unwrap_or_default();
    std::fs::write(
        folder.join(format!("{odd}.md")),
        "- [ ] T1 one (depends: T9)\n",
    )?;
    let refused = shell(
        &format!("cd / && {enter} && orchestrate \"$PWD/\"*HOME.md"),
        2,
    )?;
    says(&refused, &["T9"])?;
    let check = commands(&refused).into_iter().next().unwrap_or_default();
    says(&shell(&check, 2)?, &["T9"])?;
    std::fs::write(
        folder.join("one.md"),
        "- [ ] T1 one (run: touch one) (review: required)\n",
    )?;
    let worktree =
        r"$(git worktree list --porcelain | sed -n 's|^worktree \(.*\$state/.*/T1\)$|\1|p')";
    shell(
        &format!("orchestrate one.md; git -C \"{worktree}\" switch -c mine"),
        0,
    )?;
    let failed = shell("orchestrate reject T1 -m Again --follow", 1)?.stdout;
    let back = failed
        .split('`')
        .find(|part| part.starts_with("git -C"))
        .unwrap_or_default();
    says(&shell(back, 0)?, &["Switched to branch"])
}
