//! Taking a task out of a result, and what must not land before someone has decided.

use libtest_mimic::Failed;
use serde_json::json;

use crate::support::{
    Case, Outcome, Rule, Running, Script, World, after, at, case, done, fail, put, says, write,
};

/// The second task is built on the first, the third on neither.
const PLAN: &str = "- [ ] T1 one\n- [ ] T2 two (depends: T1)\n- [ ] T3 three\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("drop", a_dropped_task_leaves_nothing_in_the_result),
        case!("drop", dependents_are_named_and_go_on_request),
        case!("drop", the_result_without_a_task_is_checked),
        case!("drop", what_was_built_before_the_dropped_task_stays),
        case!("drop", later_work_does_not_bring_it_back),
        case!("drop", a_retry_brings_back_all_work_of_a_task),
        case!("drop", approved_work_does_not_bring_it_back),
        case!("drop", a_task_that_is_corrected_twice_stays_clean),
        case!("drop", two_at_once_drop_both_or_say_who_is_first),
        case!("drop", rejected_work_does_not_land),
        case!("drop", what_has_landed_is_not_dropped),
    ]
}

fn ended(plan: &str, options: &[&str]) -> Result<World, Failed> {
    let world = World::with_plan(plan)?;
    let script = Script::default()
        .rule(write("T1", "one", "1\n"))
        .rule(write("T2", "two", "2\n"))
        .rule(write("T3", "three", "3\n"))
        .rule(done("T1"))
        .rule(done("T2"))
        .rule(done("T3"));
    let model = world.script(&script)?;
    world.types(
        &[&["run", "plan.md", "--model", &model], options].concat(),
        0,
    )?;
    Ok(world)
}

/// Returns the branch with the run's result.
fn integration(world: &World) -> Result<String, Failed> {
    let branches = world.git("for-each-ref --format=%(refname) refs/heads/orchestrate")?;
    let found = branches
        .lines()
        .find(|name| name.ends_with("/integration"))
        .map(str::to_owned);
    found.ok_or_else(|| Failed::from(branches))
}

fn files(world: &World, commit: &str) -> Result<Vec<String>, Failed> {
    let listed = world.git(&format!("ls-tree --name-only {commit}"))?;
    Ok(listed
        .lines()
        .filter(|name| ["one", "two", "three"].contains(name))
        .map(str::to_owned)
        .collect())
}

fn require_files(world: &World, commit: &str, expected: &[&str]) -> Outcome {
    let found = files(world, commit)?;
    assert_eq!(found, expected, "{found:?} instead of {expected:?}");
    Ok(())
}

fn a_dropped_task_leaves_nothing_in_the_result() -> Outcome {
    let world = ended(
        "- [ ] T1 one\n- [ ] T2 two\n- [ ] T3 three\n",
        &["--verify", "test ! -e red"],
    )?;
    let before = world.repository.fingerprint()?;
    says(
        &world.types(&["drop", "T1"], 0)?,
        &["T1 dropped: the result of run", "orchestrate land"],
    )?;
    before.require_same(&world.repository.fingerprint()?)?;
    let branch = integration(&world)?;
    require_files(&world, &branch, &["three", "two"])?;
    let history = world.git(&format!("log --format=%s main..{branch}"))?;
    assert!(
        !history
            .lines()
            .any(|subject| subject == "one" || subject.contains("T1")),
        "{history}"
    );
    let report = world.types(&["status", "--json"], 0)?.json()?;
    if *at(&report, "/tasks/0/state")? != "cancelled" || *at(&report, "/status")? != "succeeded" {
        return fail(report.to_string());
    }
    says(
        &world.types(&["drop", "T1"], 3)?,
        &["there is nothing to drop"],
    )?;
    world.types(&["land"], 0)?;
    require_files(&world, "main", &["three", "two"])?;
    assert!(
        !world.repository.read("plan.md")?.contains("[x] T1"),
        "T1 is ticked"
    );
    Ok(())
}

fn dependents_are_named_and_go_on_request() -> Outcome {
    let world = ended(PLAN, &[])?;
    says(
        &world.types(&["drop", "T1"], 3)?,
        &[
            "other tasks depend on it: T2",
            "orchestrate drop T1 --with-dependents",
        ],
    )?;
    require_files(&world, &integration(&world)?, &["one", "three", "two"])?;
    let dropped = world
        .types(&["drop", "T1", "--with-dependents", "--json"], 0)?
        .json()?;
    if *at(&dropped, "/tasks")? != json!(["T1", "T2"]) {
        return fail(dropped.to_string());
    }
    require_files(&world, &integration(&world)?, &["three"])?;
    // The branches stay.
    let branch = integration(&world)?.replace("/integration", "/T2");
    let kept = files(&world, &branch)?;
    assert!(kept.starts_with(&["one".to_owned()]), "{kept:?}");
    assert!(kept.contains(&"two".to_owned()), "{kept:?}");
    Ok(())
}

fn the_result_without_a_task_is_checked() -> Outcome {
    let world = ended(PLAN, &["--verify", "test -e one || test ! -e three"])?;
    let before = world
        .repository
        .git(&["rev-parse", &integration(&world)?])?;
    let refused = world.types(&["drop", "T1", "--with-dependents"], 3)?;
    says(
        &refused,
        &[
            "without it, `test -e one || test ! -e three` ended with exit code 1",
            "orchestrate retry T1",
        ],
    )?;
    assert_eq!(
        world
            .repository
            .git(&["rev-parse", &integration(&world)?])?,
        before,
        "it has moved"
    );
    Ok(())
}

/// Each task continues the file of the one before.
fn what_was_built_before_the_dropped_task_stays() -> Outcome {
    let plan = "- [ ] T1 one (run: echo 1 > one)\n- [ ] T2 two (run: echo 2 >> one) (depends: T1)\n- [ ] T3 three \
                (run: sed -i s/2/3/ one) (depends: T2)\n";
    let world = World::with_plan(plan)?;
    world.types(&["run", "plan.md"], 0)?;
    let before = world
        .repository
        .git(&["rev-parse", &integration(&world)?])?;
    says(
        &world.types(&["drop", "T2"], 3)?,
        &["other tasks depend on it: T3"],
    )?;
    world.types(&["drop", "T2", "--with-dependents"], 0)?;
    assert_ne!(
        world
            .repository
            .git(&["rev-parse", &integration(&world)?])?,
        before,
        "nothing was dropped"
    );
    let one = world.git(&format!("show {}:one", integration(&world)?))?;
    assert_eq!(one, "1");
    Ok(())
}

/// Runs two tasks one after the other, each of which writes a file; what one of them does when it
/// is asked for more is given.
fn one_by_one(again: Rule) -> Result<World, Failed> {
    let world = World::with_plan("- [ ] T1 one\n- [ ] T2 two\n")?;
    let script = Script::default()
        .rule(again)
        .rule(write("T1", "one", "1\n"))
        .rule(write("T2", "two", "2\n"))
        .rule(done("T1"))
        .rule(done("T2"));
    let model = world.script(&script)?;
    world.types(
        &["run", "plan.md", "--model", &model, "--max-agents", "1"],
        0,
    )?;
    Ok(world)
}

/// The second task starts from a result that contains the first, without depending on it.
fn later_work_does_not_bring_it_back() -> Outcome {
    let world = one_by_one(put(after("T2", "write 3"), "two", "3\n"))?;
    require_files(&world, &integration(&world)?, &["one", "two"])?;
    world.types(&["drop", "T1"], 0)?;
    require_files(&world, &integration(&world)?, &["two"])?;
    world.types(&["reject", "T2", "-m", "write 3", "--follow"], 0)?;
    let branch = integration(&world)?;
    require_files(&world, &branch, &["two"])?;
    let two = world.git(&format!("show {branch}:two"))?;
    assert_eq!(two, "3");
    Ok(())
}

/// The retried agent only changes the file of its first attempt.
fn a_retry_brings_back_all_work_of_a_task() -> Outcome {
    let world = one_by_one(put(after("T1", "more"), "three", "3\n"))?;
    world.types(&["drop", "T1"], 0)?;
    require_files(&world, &integration(&world)?, &["two"])?;
    world.types(&["retry", "T1", "-m", "more"], 0)?;
    require_files(&world, &integration(&world)?, &["one", "three", "two"])
}

/// The second task is built on a result with the first, and waits for its review while the first is
/// dropped.
fn approved_work_does_not_bring_it_back() -> Outcome {
    let world =
        World::with_plan("- [ ] T1 one\n- [ ] T3 three\n- [ ] T2 two (review: required)\n")?;
    let script = Script::default()
        .rule(write("T1", "one", "1\n"))
        .rule(write("T2", "two", "2\n"))
        .rule(write("T3", "three", "3\n"))
        .rule(done("T1"))
        .rule(done("T2"))
        .rule(done("T3"));
    let model = world.script(&script)?;
    world.types(
        &["run", "plan.md", "--model", &model, "--max-agents", "1"],
        3,
    )?;
    world.types(&["drop", "T1"], 0)?;
    require_files(&world, &integration(&world)?, &["three"])?;
    world.types(&["approve", "T2", "--follow"], 0)?;
    require_files(&world, &integration(&world)?, &["three", "two"])
}

/// After the drop, the second task's work is in the result without its history.
fn a_task_that_is_corrected_twice_stays_clean() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n- [ ] T2 two\n")?;
    let write_two = |said: &str, content: &str| put(after("T2", said), "two", content);
    let script = Script::default()
        .rule(write_two("write 3", "3\n"))
        .rule(write_two("write 4", "4\n"))
        .rule(write("T1", "one", "1\n"))
        .rule(write("T2", "two", "2\n"))
        .rule(done("T1"))
        .rule(done("T2"));
    let model = world.script(&script)?;
    world.types(
        &["run", "plan.md", "--model", &model, "--max-agents", "1"],
        0,
    )?;
    world.types(&["drop", "T1"], 0)?;
    for (said, content) in [("write 3", "3"), ("write 4", "4")] {
        world.types(&["reject", "T2", "-m", said, "--follow"], 0)?;
        let branch = integration(&world)?;
        require_files(&world, &branch, &["two"])?;
        let two = world.git(&format!("show {branch}:two"))?;
        assert_eq!(two, content);
    }
    Ok(())
}

/// Whoever comes second is refused while the first works on the run, and nothing is half done.
fn two_at_once_drop_both_or_say_who_is_first() -> Outcome {
    let world = ended(
        "- [ ] T1 one\n- [ ] T2 two\n- [ ] T3 three\n",
        &["--verify", "test ! -e red"],
    )?;
    let tasks = ["T1", "T3"];
    let running = tasks.map(|task| world.orchestrate(&["drop", task]).start());
    let ended = running.map(|running| running.and_then(Running::end));
    for (task, ran) in tasks.into_iter().zip(ended) {
        let ran = ran?;
        if ran.code != 0 {
            assert!(ran.stderr.contains("take over run"), "{}", ran.stderr);
            world.types(&["drop", task], 0)?;
        }
    }
    require_files(&world, &integration(&world)?, &["two"])?;
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let tip = world
        .repository
        .git(&["rev-parse", &integration(&world)?])?;
    if *at(&report, "/integration_commit")? != json!(tip.trim()) {
        return fail(format!("{tip}\n{report:#}"));
    }
    world.types(&["land"], 0)?;
    require_files(&world, "main", &["two"])
}

fn rejected_work_does_not_land() -> Outcome {
    let world = ended("- [ ] T1 one\n- [ ] T2 two\n", &[])?;
    // The scripted agent changes nothing more, so the rejection stands.
    let rejected = world
        .orchestrate(&["reject", "T1", "-m", "No.", "--follow"])
        .run()?;
    assert_ne!(rejected.code, 0, "{}", rejected.stdout);
    let refused = world.types(&["land"], 3)?;
    says(
        &refused,
        &[
            "T1 was rejected after the merge",
            "orchestrate drop T1",
            "orchestrate retry T1",
        ],
    )?;
    assert!(files(&world, "main")?.is_empty(), "it has landed");
    world.types(&["drop", "T1"], 0)?;
    world.types(&["land"], 0)?;
    require_files(&world, "main", &["two"])
}

fn what_has_landed_is_not_dropped() -> Outcome {
    let world = ended(PLAN, &[])?;
    world.types(&["land"], 0)?;
    says(
        &world.types(&["drop", "T3"], 3)?,
        &["T3 has landed", "orchestrate land --undo"],
    )?;
    world.types(&["land", "--undo"], 0)?;
    world.types(&["drop", "T3"], 0)?;
    world.types(&["land"], 0)?;
    require_files(&world, "main", &["one", "two"])
}
