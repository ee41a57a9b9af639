//! `run --land`: landing is a setting of the run, so the command that brings the run to its end
//! lands it, and it is landed only once.

use libtest_mimic::Failed;
use rustix::process::Signal;

use crate::support::{
    Case, Outcome, Script, WAITING, World, after, at, case, done, fail, git_program, put, says,
    with_program, write,
};

/// Work that a user has to approve.
const REVIEWED: &str = "- [ ] T1 one (run: touch one) (review: required)\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(whoever_resumes_a_killed_run_lands_it),
        case!(whoever_resumes_after_a_killed_landing_finishes_it),
        case!(a_killed_landing_is_done_after_a_commit),
        case!(what_was_in_the_way_of_a_landing_is_moved_away),
        case!(what_was_reset_by_hand_is_not_landed_again),
        case!(new_work_lands_after_the_old_was_taken_back),
        case!(new_work_lands_after_the_old_was_reset),
        case!(all_landings_that_were_reset_are_noticed),
        case!(a_killed_landing_that_was_taken_back_stays_so),
        case!(whoever_approves_the_last_task_lands_it),
        case!(what_was_taken_back_is_not_landed_again),
        case!(work_that_came_back_is_landed_too),
        case!(whoever_cannot_land_it_is_told),
    ]
}

fn killed(options: &[&str]) -> Result<World, Failed> {
    let world = World::with_plan(WAITING)?;
    let typed = [
        &["run", "plan.md", "--output-format", "stream-json", "--land"],
        options,
    ]
    .concat();
    let running = world.orchestrate(&typed).start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    world.repository.write(".git/objects/go", "")?;
    Ok(world)
}

/// Reports whether the result is in the user's checkout.
fn has_landed(world: &World) -> bool {
    world.repository.path().join("one").exists()
}

fn whoever_resumes_a_killed_run_lands_it() -> Outcome {
    for (options, boxes) in [(&[][..], "- [x] T1"), (&["--no-write-back"], "- [ ] T1")] {
        let world = killed(options)?;
        let resumed = world.types(&["resume"], 0)?;
        says(&resumed, &["has landed: main went from"])?;
        if !has_landed(&world) || !world.repository.read("plan.md")?.starts_with(boxes) {
            return fail(format!("{options:?}: {}{}", resumed.stdout, resumed.stderr));
        }
    }
    Ok(())
}

/// Runs a plan with `--land`. The git process that would write the checkout kills the coordinator,
/// once the landing is recorded, and then executes `then`.
fn killed_while_landing(then: &str) -> Result<World, Failed> {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    let script = format!(
        "case \"$*\" in *\"read-tree -m -u\"*) kill -KILL $PPID; {then};; esac\nexec {} \"$@\"",
        git_program(&world.home)?
    );
    let path = with_program(&world.home, "git", &script)?;
    let before = world.git("rev-parse main")?;
    let run = world.orchestrate(&["run", "plan.md", "--land"]);
    run.env("PATH", &path).run()?.exits(137)?;
    let facts = world.types(&["log", "--json"], 0)?.stdout;
    let is_recorded = facts
        .lines()
        .last()
        .is_some_and(|fact| fact.contains("\"landing.started\""));
    if is_recorded && world.git("rev-parse main")? == before {
        Ok(world)
    } else {
        fail(facts)
    }
}

fn whoever_resumes_after_a_killed_landing_finishes_it() -> Outcome {
    for then in ["exit 1", ":"] {
        let world = killed_while_landing(then)?;
        let before = world.git("rev-parse main")?;
        says(
            &world.types(&["resume"], 0)?,
            &["has landed: main went from"],
        )?;
        assert!(
            has_landed(&world) && world.git("rev-parse main")? != before,
            "it has not, where git did {then}"
        );
    }
    Ok(())
}

/// A landing whose beginning is recorded does not count as done.
fn a_killed_landing_is_done_after_a_commit() -> Outcome {
    let world = killed_while_landing("exit 1")?;
    world.git("commit -q --allow-empty -m Meanwhile")?;
    says(&world.types(&["status"], 0)?, &["orchestrate land\n"])?;
    says(
        &world.types(&["resume"], 0)?,
        &["has landed: main went from", "merged with its new commits"],
    )?;
    assert!(has_landed(&world), "it has not");
    Ok(())
}

fn what_was_in_the_way_of_a_landing_is_moved_away() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    world.repository.write("one", "mine\n")?;
    world.types(&["run", "plan.md", "--land"], 3)?;
    says(
        &world.types(&["log"], 0)?,
        &["not landed: ", "it would overwrite local changes in one"],
    )?;
    std::fs::remove_file(world.repository.path().join("one"))?;
    says(
        &world.types(&["resume"], 0)?,
        &["has landed: main went from"],
    )?;
    assert!(has_landed(&world), "it has not");
    Ok(())
}

fn what_was_reset_by_hand_is_not_landed_again() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    world.types(&["run", "plan.md", "--land"], 0)?;
    world.git("reset -q --hard HEAD~1")?;
    world.types(&["resume"], 0)?;
    assert!(!has_landed(&world), "it has landed again");
    // An explicit command lands it.
    says(&world.types(&["land"], 0)?, &["has landed: main went from"])?;
    world.types(&["land", "--undo"], 0)?;
    assert!(!has_landed(&world), "it is still there");
    Ok(())
}

fn new_work_lands_after_the_old_was_taken_back() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: date +%N >> one)\n")?;
    world.types(&["run", "plan.md", "--land"], 0)?;
    world.types(&["reject", "T1", "-m", "Again.", "--follow"], 0)?;
    world.types(&["land", "--undo"], 0)?;
    world.types(&["land", "--undo"], 0)?;
    world.types(&["resume"], 0)?;
    assert!(!has_landed(&world), "what was taken back has landed again");
    says(
        &world.types(&["reject", "T1", "-m", "Again.", "--follow"], 0)?,
        &["has landed: main went from"],
    )?;
    assert!(has_landed(&world), "it has not");
    Ok(())
}

/// If something keeps the new work from landing at first, it is landed later.
fn new_work_lands_after_the_old_was_reset() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: date +%N >> one)\n")?;
    world.types(
        &["run", "plan.md", "--land", "--verify", "test ! -e bad"],
        0,
    )?;
    world.git("reset -q --hard HEAD~1")?;
    world.commit("bad", "1\n")?;
    world.types(&["reject", "T1", "-m", "Again.", "--follow"], 3)?;
    assert!(!has_landed(&world), "a red tree has landed");
    world.git("reset -q --hard HEAD~1")?;
    says(
        &world.types(&["resume"], 0)?,
        &["has landed: main went from"],
    )?;
    assert!(has_landed(&world), "it has not");
    Ok(())
}

fn all_landings_that_were_reset_are_noticed() -> Outcome {
    let world =
        World::with_plan("- [ ] T1 one (run: date +%N >> one)\n- [ ] T2 two (run: touch two)\n")?;
    world.types(&["run", "plan.md", "--land"], 0)?;
    let before = world.git("rev-list --max-parents=0 main")?;
    world.types(&["reject", "T1", "-m", "Again.", "--follow"], 0)?;
    world.types(&["land"], 0)?;
    world.git(&format!("reset -q --hard {before}"))?;
    world.types(&["land"], 0)?;
    world.types(&["land", "--undo"], 0)?;
    // It was part of the first landing, and of the last one.
    world.types(&["drop", "T2"], 0).map(drop)
}

fn a_killed_landing_that_was_taken_back_stays_so() -> Outcome {
    for then in ["exit 1", ":"] {
        let world = killed_while_landing(then)?;
        world.types(&["land", "--undo"], 0)?;
        world.types(&["resume"], 0)?;
        assert!(!has_landed(&world), "it has landed, where git did {then}");
    }
    Ok(())
}

fn whoever_approves_the_last_task_lands_it() -> Outcome {
    let world = World::with_plan(REVIEWED)?;
    world.types(&["run", "plan.md", "--land"], 3)?;
    assert!(!has_landed(&world), "it has landed without approval");
    let approved = world.types(&["approve", "T1", "--follow"], 0)?;
    says(&approved, &["has landed: main went from"])?;
    let resumed = world.types(&["resume"], 0)?;
    let said = format!("{}{}", resumed.stdout, resumed.stderr);
    assert!(
        has_landed(&world)
            && !approved.stdout.contains("orchestrate land")
            && !said.contains("main went from"),
        "{}",
        approved.stdout + &said
    );
    Ok(())
}

fn what_was_taken_back_is_not_landed_again() -> Outcome {
    let world = World::with_plan(REVIEWED)?;
    world.types(&["run", "plan.md", "--land"], 3)?;
    world.types(&["approve", "T1", "--follow"], 0)?;
    world.types(&["land", "--undo"], 0)?;
    let resumed = world.types(&["resume"], 0)?;
    says(&resumed, &["\n  orchestrate land\n"])?;
    assert!(!has_landed(&world), "{}", resumed.stderr);
    Ok(())
}

/// A rejection after the landing leads to another result.
fn work_that_came_back_is_landed_too() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    let second = put(after("T1", "write 2"), "one", "2\n");
    let model = world.script(
        &Script::default()
            .rule(write("T1", "one", "1\n"))
            .rule(second)
            .rule(done("T1")),
    )?;
    world.types(&["run", "plan.md", "--land", "--model", &model], 0)?;
    let first = world.repository.read("one")?;
    says(
        &world.types(&["reject", "T1", "-m", "write 2", "--follow"], 0)?,
        &["has landed: main went from"],
    )?;
    let landed = [first, world.repository.read("one")?];
    assert_eq!(landed, ["1\n", "2\n"]);
    Ok(())
}

fn whoever_cannot_land_it_is_told() -> Outcome {
    let world = World::with_plan(REVIEWED)?;
    world.types(&["run", "plan.md", "--land"], 3)?;
    world.repository.write("one", "mine\n")?;
    let approved = world.types(&["approve", "T1", "--json", "--follow"], 3)?;
    let report = approved.json()?;
    let agrees = *at(&report, "/exit_code")? == 3 && *at(&report, "/status")? == "needs_human";
    assert!(agrees, "{approved:?}");
    assert_eq!(world.repository.read("one")?, "mine\n", "{approved:?}");
    assert!(approved.stderr.contains("one"), "{approved:?}");
    Ok(())
}
