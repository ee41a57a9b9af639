//! Pruning what has landed, and what undoing a landing needs afterwards.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use orchestrate_core::TaskId;
use serde_json::json;

use crate::support::{
    Case, ModelServer, Outcome, Reply, World, at, case, fail, require_words, says, until,
};

/// How long a run may take to send its first request on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The variable that asks for the long form of a test.
const LONG_FORM: &str = "ORCHESTRATE_FOLDERS";

/// Keeps the refs of the newest run only.
const KEEP_ONE: &str = "[clean]\nkeep_runs = 1\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(what_has_landed_goes_and_nothing_else),
        case!(what_was_merged_by_hand_goes),
        case!(what_was_squashed_elsewhere_goes_once_landed),
        case!(a_run_that_goes_on_is_left_alone),
        case!(an_empty_rerun_is_not_the_latest),
        case!(an_undone_landing_is_still_held),
        case!(a_packed_ref_is_deleted_while_git_packs_others),
        case!(a_broken_run_does_not_obstruct_the_others),
        case!("clean", a_rebase_in_progress_is_kept),
        case!("clean", commits_without_a_branch_are_kept),
        case!("clean", the_branch_of_a_failed_task_goes_and_its_work_stays),
        case!("clean", a_worktree_of_many_folders_holds_up_nobody),
    ]
}

fn keep_one(world: &World) -> Outcome {
    let config = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&config)?;
    Ok(std::fs::write(config.join("config.toml"), KEEP_ONE)?)
}

/// Runs a plan with one command, and returns the run's id.
fn run(world: &World, name: &str) -> Result<String, Failed> {
    world
        .repository
        .write("plan.md", &format!("- [ ] T1 one (run: touch {name})\n"))?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    Ok(at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// Returns a world in which a run has landed, and another one has not; with the id of the first.
fn landed() -> Result<(World, String), Failed> {
    landed_by(&["land"])
}

/// Does the same with this way of landing.
fn landed_by(land: &[&str]) -> Result<(World, String), Failed> {
    let world = World::plain()?;
    keep_one(&world)?;
    let first = run(&world, "one")?;
    run(&world, "two")?;
    world.types(&[land, &[first.as_str()]].concat(), 0)?;
    Ok((world, first))
}

fn refs(world: &World, run: &str) -> Result<Vec<String>, Failed> {
    let refs = world.git("for-each-ref --format=%(refname)")?;
    Ok(refs
        .lines()
        .filter(|name| name.contains(run))
        .map(str::to_owned)
        .collect())
}

/// Three runs: one has landed with a failed task beside it, one has not landed, and one is the
/// newest.
fn what_has_landed_goes_and_nothing_else() -> Outcome {
    let world = World::plain()?;
    let mut runs = Vec::new();
    let plans = [
        (
            "- [ ] A1 one (run: touch one)\n- [ ] A2 two (run: touch two; exit 1)\n",
            1,
        ),
        ("- [ ] B1 three (run: touch three)\n", 0),
        ("- [ ] C1 four (run: touch four)\n", 0),
    ];
    for (plan, code) in plans {
        world.repository.write("plan.md", plan)?;
        let report = world.types(&["run", "plan.md", "--json"], code)?.json()?;
        runs.push(
            at(&report, "/run_id")?
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        );
        if runs.len() != 2 {
            world.types(&["land"], 0)?;
        }
    }
    let [landed, unlanded, newest] = runs.as_slice() else {
        return fail(format!("{runs:?}"));
    };
    let before = [refs(&world, unlanded)?, refs(&world, newest)?];
    keep_one(&world)?;
    says(
        &world.types(&["land"], 0)?,
        &["`orchestrate clean --landed` removes them"],
    )?;
    let held = refs(&world, landed)?;
    says(
        &world.types(&["clean", "--landed", "--dry-run"], 0)?,
        &[&format!("run {landed}: would remove")],
    )?;
    let announced = world
        .types(&["clean", "--landed", "--dry-run", "--json"], 0)?
        .json()?;
    assert_eq!(refs(&world, landed)?, held, "a dry run has removed refs");
    let pruned = world.types(&["clean", "--landed", "--json"], 0)?.json()?;
    assert_eq!(pruned["items"], announced["items"], "{announced}\n{pruned}");
    if *at(&pruned, "/keep_runs")? != json!(1) || *at(&pruned, "/items/0/run_id")? != json!(landed)
    {
        return fail(pruned.to_string());
    }
    // The failed task's branch is where the run began, and its files are in a snapshot.
    let is_work_of_failed =
        |name: &&String| name.starts_with("refs/orchestrate/keep/") && name.contains("/A2/");
    let expected: Vec<String> = held.iter().filter(is_work_of_failed).cloned().collect();
    if expected.is_empty() || refs(&world, landed)? != expected {
        return fail(format!("{held:?}\n{:?}", refs(&world, landed)?));
    }
    if before != [refs(&world, unlanded)?, refs(&world, newest)?] {
        return fail("refs of other runs are gone");
    }
    says(
        &world.types(&["status", landed], 0)?,
        &[
            "\nresult: ",
            ", which has landed; its branches were removed\n",
        ],
    )?;
    says(
        &world.types(&["clean", "--landed"], 0)?,
        &["nothing to remove"],
    )?;
    // A branch that is checked out somewhere is not removed.
    let place = world.file("elsewhere");
    let branch = format!("orchestrate/{landed}/mine");
    world.git(&format!("worktree add -q -b {branch} {place} main"))?;
    says(
        &world.types(&["clean", "--landed", "--dry-run"], 0)?,
        &["nothing to remove"],
    )?;
    let quiet = world.types(&["land"], 0)?;
    assert!(!quiet.stderr.contains("clean --landed"), "{}", quiet.stderr);
    Ok(())
}

/// As after a pull request that a server has merged, and a pull: no landing is recorded.
fn what_was_merged_by_hand_goes() -> Outcome {
    let world = World::plain()?;
    keep_one(&world)?;
    let first = run(&world, "one")?;
    run(&world, "two")?;
    let held = refs(&world, &first)?;
    says(
        &world.types(&["clean", "--landed"], 0)?,
        &["nothing to remove"],
    )?;
    world.git(&format!(
        "merge -q --no-ff -m Merge orchestrate/{first}/integration"
    ))?;
    says(
        &world.types(&["clean", "--landed"], 0)?,
        &[&format!("run {first}: removed")],
    )?;
    if held.is_empty() || !refs(&world, &first)?.is_empty() {
        return fail(format!("{held:?} left {:?}", refs(&world, &first)?));
    }
    assert!(
        world.repository.path().join("one").exists(),
        "it was not merged"
    );
    Ok(())
}

/// As after a pull request that a server has squashed, and a pull: `land` finds the work in the
/// branch.
fn what_was_squashed_elsewhere_goes_once_landed() -> Outcome {
    let world = World::plain()?;
    keep_one(&world)?;
    let first = run(&world, "one")?;
    run(&world, "two")?;
    world.git(&format!(
        "merge -q --squash orchestrate/{first}/integration"
    ))?;
    world.git("commit -q -m Squash")?;
    let before = world.git("rev-parse main")?;
    says(&world.types(&["status", &first], 0)?, &["orchestrate land"])?;
    for _ in 0..2 {
        says(
            &world.types(&["land", &first], 0)?,
            &[&format!("main already contains run {first}")],
        )?;
    }
    let status = world.types(&["status", &first], 0)?;
    if status.stdout.contains("orchestrate land") {
        return fail(status.stdout);
    }
    says(
        &world.types(&["land", "--undo", &first], 0)?,
        &["is undone: main stays at"],
    )?;
    world.types(&["land", &first], 0)?;
    says(
        &world.types(&["clean", "--landed"], 0)?,
        &[&format!("run {first}: removed")],
    )?;
    let left = refs(&world, &first)?;
    assert!(
        left.len() == 1
            && !left
                .iter()
                .any(|name| !name.contains("/integration/landed-")),
        "{left:?}"
    );
    assert_eq!(world.git("rev-parse main")?, before, "main was moved");
    Ok(())
}

/// An older run is pruned while the agent of another one is at work, and nothing of that one goes.
fn a_run_that_goes_on_is_left_alone() -> Outcome {
    let (world, first) = landed()?;
    let (go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let server = ModelServer::answering(move |_, number| {
        if number > 0 {
            return Reply::text("Done.");
        }
        // Ends when the sender is dropped.
        let _ = waits.lock().map(|waits| waits.recv());
        Reply::text("").call("write_file", json!({"path": "three", "content": "3\n"}))
    })?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 three\n- [ ] T2 four (run: touch four)\n",
    )?;
    let run = world
        .orchestrate(&["run", "plan.md", "--model", "openai/test"])
        .env("OPENAI_API_KEY", "k");
    let run = run.env("OPENAI_BASE_URL", server.openai_base()).start()?;
    until(PATIENCE, || {
        Ok((!server.requests().is_empty()).then_some(()))
    })?;
    says(&world.types(&["clean", "--landed"], 0)?, &[&first])?;
    assert!(refs(&world, &first)?.is_empty(), "nothing was pruned");
    says(
        &world.types(&["recover", &first], 0)?,
        &["has no snapshots: its work has landed in "],
    )?;
    let refused = world.orchestrate(&["clean"]).run()?;
    require_words(
        &refused.exits(2)?.stderr,
        &["works on it", "orchestrate stop"],
    )?;
    drop(go);
    run.end()?.exits(0)?;
    world.types(&["land"], 0)?;
    let has = |name: &str| world.repository.path().join(name).exists();
    assert!(has("three"), "the work of the run that went on is lost");
    assert!(has("four"), "the work of the run that went on is lost");
    Ok(())
}

fn an_empty_rerun_is_not_the_latest() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    let first = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    world
        .repository
        .write("plan.md", "- [x] T1 one (run: touch one)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    if at(&status, "/run_id")? != at(&first, "/run_id")? {
        return fail(status.to_string());
    }
    says(&world.types(&["land"], 0)?, &["has landed: main went from"])
}

/// After a squash the branch does not contain the agents' commits, which landing again needs: one
/// ref of ours does.
fn an_undone_landing_is_still_held() -> Outcome {
    let ways: [(&[&str], usize); 3] = [
        (&["land"], 0),
        (&["land", "--squash"], 1),
        (&["land", "--rebase"], 1),
    ];
    for (land, left) in ways {
        let (world, first) = landed_by(land)?;
        says(
            &world.types(&["clean", "--landed"], 0)?,
            &[&format!("run {first}: removed")],
        )?;
        let held = refs(&world, &first)?;
        assert!(
            held.len() == left
                && !held
                    .iter()
                    .any(|name| !name.contains("/integration/landed-")),
            "{land:?} left {held:?}"
        );
        says(
            &world.types(&["clean", "--landed"], 0)?,
            &["nothing to remove"],
        )?;
        let landed = world.git("rev-parse main")?;
        world.types(&["land", "--undo", &first], 0)?;
        let holders = world.git(&format!(
            "for-each-ref --contains {landed} --format=%(refname)"
        ))?;
        assert!(!holders.is_empty(), "only the reflog holds the work");
        let again = world.types(&["land", &first], 0)?;
        if again.stderr.contains("clean --landed") || !world.repository.path().join("one").exists()
        {
            return fail(again.stderr);
        }
    }
    Ok(())
}

fn a_packed_ref_is_deleted_while_git_packs_others() -> Outcome {
    let (world, first) = landed()?;
    world.git("pack-refs --all")?;
    // Git does not delete a packed ref while another process writes the file.
    let lock = world.repository.path().join(".git/packed-refs.lock");
    std::fs::write(&lock, "")?;
    let refused = world.types(&["clean", "--landed"], 1)?;
    says(&refused, &[&format!("run {first}: "), "packed-refs.lock"])?;
    std::fs::remove_file(&lock)?;
    world.types(&["clean", "--landed"], 0)?;
    assert!(refs(&world, &first)?.is_empty(), "the refs are still there");
    Ok(())
}

fn a_broken_run_does_not_obstruct_the_others() -> Outcome {
    let (world, first) = landed()?;
    world.types(&["land"], 0)?;
    let second = run(&world, "three")?;
    world.types(&["land"], 0)?;
    run(&world, "four")?;
    // A ref of the newer one of both cannot be deleted.
    let held = refs(&world, &second)?;
    let Some(locked) = held.iter().find(|name| name.contains("/heads/")) else {
        return fail(format!("{held:?}"));
    };
    let lock = world.repository.path().join(format!(".git/{locked}.lock"));
    std::fs::write(&lock, "")?;
    says(
        &world.types(&["clean", "--landed"], 1)?,
        &[&format!("run {second}: ")],
    )?;
    assert!(
        refs(&world, &first)?.is_empty(),
        "the other run was not pruned"
    );
    std::fs::remove_file(&lock)?;
    world.types(&["clean", "--landed"], 0).map(drop)
}

/// Returns a world whose only task was merged, and the task's worktree.
fn merged() -> Result<(World, String), Failed> {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    world.types(&["run", "plan.md"], 0)?;
    let run = world
        .archive()?
        .store()
        .runs()?
        .first()
        .map(|summary| summary.run_id.clone());
    let place = world.worktree_again(&run.ok_or_else(|| Failed::from("there is no run"))?, "T1")?;
    Ok((world, place.display().to_string()))
}

fn git_in(world: &World, place: &str, arguments: &[&str], code: i32) -> Outcome {
    world
        .home
        .command("git", Path::new(place), arguments)
        .run()?
        .exits(code)
        .map(drop)
}

fn require_cleaned(world: &World, place: &str, kept_because: &str) -> Outcome {
    says(
        &world.types(&["clean"], 0)?,
        &[&format!("kept {place}"), kept_because],
    )?;
    assert!(Path::new(place).exists(), "the worktree is gone");
    Ok(())
}

/// The user has stopped at the end of an interactive rebase, and git has stashed an edit.
fn a_rebase_in_progress_is_kept() -> Outcome {
    let (world, place) = merged()?;
    std::fs::write(Path::new(&place).join("one"), "an edit\n")?;
    let rebase = [
        "-c",
        "sequence.editor=echo break >>",
        "rebase",
        "-i",
        "--autostash",
        "HEAD~1",
    ];
    git_in(&world, &place, &rebase, 0)?;
    require_cleaned(&world, &place, "rebase is in progress")?;
    git_in(&world, &place, &["rebase", "--abort"], 0)?;
    git_in(&world, &place, &["checkout", "--", "one"], 0)?;
    world.types(&["clean"], 0)?;
    assert!(!Path::new(&place).exists(), "it was not cleaned");
    Ok(())
}

fn commits_without_a_branch_are_kept() -> Outcome {
    let (world, place) = merged()?;
    git_in(&world, &place, &["checkout", "-q", "--detach"], 0)?;
    git_in(
        &world,
        &place,
        &["commit", "-q", "--allow-empty", "-m", "mine"],
        0,
    )?;
    require_cleaned(&world, &place, "no branch is checked out")?;
    git_in(&world, &place, &["switch", "-q", "-c", "mine"], 0)?;
    world.types(&["clean"], 0)?;
    assert!(!Path::new(&place).exists(), "it was not cleaned");
    Ok(())
}

fn the_branch_of_a_failed_task_goes_and_its_work_stays() -> Outcome {
    let plan = "- [ ] T1 one (run: touch one) (verify: test -e two)\n- [ ] T2 two (run: false)\n- [ ] T3 (run: touch three)\n";
    let world = World::with_plan(plan)?;
    world.types(&["run", "plan.md"], 1)?;
    let run = world
        .archive()?
        .store()
        .runs()?
        .first()
        .map(|summary| summary.run_id.clone());
    let run = run.ok_or_else(|| Failed::from("there is no run"))?;
    let branches = || world.git("for-each-ref --format=%(refname) refs/heads/orchestrate");
    let (first, second) = (
        run.task_branch(&TaskId::from("T1")),
        run.task_branch(&TaskId::from("T2")),
    );
    let tip = world.git(&format!("rev-parse {first}"))?;
    let (would, has) = (
        format!("the branch {first} of T1, which failed; its commits stay as attempts/T1/1"),
        branches()?,
    );
    says(
        &world.types(&["clean", "--dry-run", "--ignored"], 0)?,
        &["would remove ", &would],
    )?;
    assert_eq!(branches()?, has, "a dry run removed a branch");
    let restore = format!("orchestrate recover {run} --restore attempts/T1/1");
    says(
        &world.types(&["clean", "--ignored"], 0)?,
        &["removed ", &would, &restore],
    )?;
    let left = branches()?;
    assert!(!left.contains(&first), "{left}");
    assert!(!left.contains(&second), "{left}");
    assert!(left.contains("/T3"), "{left}");
    // Nothing is lost: the attempt is restored as a branch, and the task can be tried again.
    world.types(
        &[
            "recover",
            run.as_str(),
            "--restore",
            "attempts/T1/1",
            "--branch",
            "again",
        ],
        0,
    )?;
    if world.git("rev-parse again")? != tip {
        return fail("another commit was restored");
    }
    says(&world.types(&["clean"], 0)?, &["has no worktrees"])?;
    world.types(&["retry", "T1"], 1)?;
    assert!(
        branches()?.contains(&first),
        "the second attempt has no branch"
    );
    Ok(())
}

/// The worktree of a task that failed with this many folders is cleaned, and that of another one
/// discarded. What stays to be done once the prompt is back is done by a process of its own.
fn a_worktree_of_many_folders_holds_up_nobody() -> Outcome {
    let is_long = std::env::var(LONG_FORM).is_ok_and(|wanted| wanted == "all");
    let count = if is_long { 200_000 } else { 2_000 };
    let make = format!(
        "seq {count} | sed 's,\\(.*\\)\\(...\\)$,d\\2/x/\\1e,' | xargs mkdir -p; touch made"
    );
    let world = World::with_plan(&format!("- [ ] T1 one (run: {make}) (verify: false)\n"))?;
    for end in ["clean", "discard"] {
        let ran = world
            .orchestrate(&["run", "plan.md", "--json"])
            .patience(PATIENCE * 10)
            .run()?
            .exits(1)?;
        let report = ran.json()?;
        let run = at(&report, "/run_id")?
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let repositories = world.home.state().join("repos");
        let repository = std::fs::read_dir(&repositories)?
            .next()
            .ok_or("there is no run")??
            .path();
        let place = repository.join("runs").join(&run).join("T1");
        let made = std::fs::read_dir(&place)?.count();
        let arguments: &[&str] = if end == "clean" {
            &["clean"]
        } else {
            &["discard", &run, "--yes"]
        };
        let begun = Instant::now();
        world
            .orchestrate(arguments)
            .patience(PATIENCE)
            .run()?
            .exits(0)?;
        if is_long {
            writeln!(
                std::io::stdout(),
                "{end}: {count} folders, {:.2} s",
                begun.elapsed().as_secs_f64()
            )?;
        }
        assert!(
            !place.exists() && made >= 1_000,
            "{end}: {} with {made} folders is still there",
            place.display()
        );
        until(PATIENCE * 10, || {
            Ok(is_emptied(&repository.join("trash"))?.then_some(()))
        })?;
    }
    Ok(())
}

/// Reports whether nothing of a trash is left to be deleted.
fn is_emptied(trash: &Path) -> Result<bool, Failed> {
    let Ok(places) = std::fs::read_dir(trash) else {
        return Ok(true);
    };
    let holds = |place: &std::fs::DirEntry| {
        std::fs::read_dir(place.path()).is_ok_and(|inside| inside.count() > 0)
    };
    Ok(!places.flatten().any(|place| holds(&place)))
}
