//! Reviews by tasks: nothing that a reviewer reads is merged before it approves, and what it wants
//! changed goes back to the authors.

use std::time::Duration;

use orchestrate_core::run::request::Request;
use orchestrate_core::task::ReturnCause;
use serde_json::{Value, json};

use crate::support::{
    Case, Outcome, Ran, Rule, Script, World, after, case, done, fail, on, says, shell, until, write,
};

/// How long an agent may take to make its first call on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

const PLAN: &str = "- [ ] T1 Write one (files: one.txt)\n- [ ] T2 Write two (files: two.txt)\n\
                    - [ ] T3 Review both @reviewer (depends: T1, T2)\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(approved_work_is_merged),
        case!(changed_work_is_reviewed_again),
        case!(out_of_rounds_the_work_fails),
        case!(prose_is_no_verdict),
        case!(a_verdict_on_no_waiting_task_is_refused),
        case!(an_approval_does_not_hide_requested_changes),
        case!(a_person_decides_instead),
        case!(the_work_that_a_dropped_reviewer_leaves_is_named),
        case!(a_stopped_reviewer_holds_what_it_reviews),
        case!(nothing_to_do_is_no_failure),
        case!(a_checkpoint_or_a_tester_may_have_nothing_to_do),
    ]
}

fn verdict(rule: Rule, verdict: &str) -> Rule {
    rule.call(
        "review_verdict",
        &json!({"verdict": verdict, "comment": "I have read one.txt and two.txt."}),
    )
}

fn changes(rule: Rule, tasks: &[&str]) -> Rule {
    let changes: Vec<Value> = tasks
        .iter()
        .map(|task| json!({"task": task, "text": "one.txt:1: say 2"}))
        .collect();
    rule.call(
        "review_verdict",
        &json!({"verdict": "changes", "changes": changes}),
    )
}

/// Returns a script in which both authors write their files, and T1 does what its reviewer
/// requests.
fn authors(reviewer: impl Fn(Script) -> Script) -> Script {
    let mends = Rule::task("T1").returned(ReturnCause::ChangesRequested);
    let mends = mends.call("write_file", &json!({"path": "one.txt", "content": "2\n"}));
    let script = Script::default().rule(mends);
    let script = reviewer(script)
        .rule(write("T1", "one.txt", "1\n"))
        .rule(write("T2", "two.txt", "1\n"));
    script.rule(done("T1")).rule(done("T2"))
}

fn run(world: &World, script: &Script, code: i32) -> Result<Ran, libtest_mimic::Failed> {
    let model = world.script(script)?;
    world.types(&["run", "plan.md", "--model", &model], code)
}

/// Requires the states of all tasks, and returns the report.
fn states(world: &World, expected: &[&str]) -> Result<Value, libtest_mimic::Failed> {
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let tasks = report["tasks"].as_array().cloned().unwrap_or_default();
    let states: Vec<&str> = tasks
        .iter()
        .filter_map(|task| task["state"].as_str())
        .collect();
    if states == expected {
        Ok(report)
    } else {
        fail(format!("{report:#}"))
    }
}

/// Returns the types of a run's events with their tasks, in order, as far as they are among these.
fn story(world: &World, of: &[&str]) -> Result<Vec<String>, libtest_mimic::Failed> {
    let log = world.types(&["log", "--json"], 0)?.stdout;
    let facts = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = facts.filter(|fact| of.iter().any(|kind| fact["type"] == *kind));
    let words = told.map(|fact| {
        let word = |name: &str| fact[name].as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} {}{}",
            word("type"),
            word("task"),
            word("cause"),
            word("verdict")
        )
        .trim()
        .to_owned()
    });
    Ok(words.collect())
}

/// The reviewer's worktree contains the work of both authors.
fn approved_work_is_merged() -> Outcome {
    let world = World::with_plan(&format!(
        "{PLAN}- [ ] T4 Use both (run: cat one.txt two.txt > both.txt) (depends: T3)\n"
    ))?;
    let looks = || shell(on("T3", 1), "cat one.txt two.txt");
    let script = authors(|script| {
        script
            .rule(looks())
            .rule(verdict(after("T3", "1\n1"), "approve"))
    });
    let ran = run(&world, &script, 0)?;
    says(
        &ran,
        &[
            "T3: verdict: approved: I have read one.txt",
            "T3: reported: approve: I have read",
            "T3: approved: I",
        ],
    )?;
    let report = states(&world, &["merged", "merged", "merged", "merged"])?;
    if report["tasks"][2]["verdict"]["verdict"] != "approve" {
        return fail(format!("{report:#}"));
    }
    let order = story(&world, &["review.verdict", "task.merged"])?;
    let expected = [
        "review.verdict T3 approve",
        "task.merged T3",
        "task.merged T1",
        "task.merged T2",
        "task.merged T4",
    ];
    assert_eq!(order, expected, "{}", order.join("\n"));
    Ok(())
}

fn changed_work_is_reviewed_again() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| {
        script.rule(changes(on("T3", 1), &["T1"])).rule(verdict(
            Rule::task("T3")
                .returned(ReturnCause::NewWork)
                .last_contains("+2"),
            "approve",
        ))
    });
    let ran = run(&world, &script, 0)?;
    let told = [
        "T3: verdict: changes requested of T1",
        "T1: returned: changes requested in review",
    ];
    says(
        &ran,
        &[
            &told[..],
            &["T3: returned: new work to review", "T3: verdict: approved"],
        ]
        .concat(),
    )?;
    states(&world, &["merged", "merged", "merged"])?;
    let order = story(
        &world,
        &[
            "review.verdict",
            "review.waiting",
            "task.returned",
            "task.merged",
        ],
    )?;
    let expected = [
        "review.verdict T3 changes",
        "review.waiting T3",
        "task.returned T1 changes_requested",
        "task.returned T3 new_work",
        "review.verdict T3 approve",
        "task.merged T3",
        "task.merged T1",
        "task.merged T2",
    ];
    assert_eq!(order, expected, "{}", order.join("\n"));
    world.types(&["land"], 0)?;
    let landed = world.git("show HEAD:one.txt")?;
    assert_eq!(landed.trim(), "2", "{landed}");
    Ok(())
}

fn out_of_rounds_the_work_fails() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| script.rule(changes(Rule::task("T3").times(3), &["T1"])));
    let ran = run(&world, &script, 1)?;
    let told = "T3 requests changes, again after it was returned to its agent 2 times; the branch and its worktree";
    says(
        &ran,
        &[
            "T1: FAILED (changes_requested)",
            told,
            "one.txt:1: say 2",
            "T2: waits for the verdict of T3",
        ],
    )?;
    let report = states(&world, &["failed", "verified", "skipped"])?;
    let waits = &report["tasks"][1]["waits_for_verdict_of"];
    assert!(
        *waits == json!(["T3"]) && report["tasks"][0]["error"]["cause"] == "changes_requested",
        "{report:#}"
    );
    // Another attempt is reviewed as well.
    world.script(&authors(|script| {
        script.rule(verdict(Rule::task("T3"), "approve"))
    }))?;
    let retried = world.types(&["retry", "T1", "-m", "say 2"], 0)?;
    says(&retried, &["T3: verdict: approved"])?;
    states(&world, &["merged", "merged", "merged"]).map(|_| ())
}

fn prose_is_no_verdict() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| {
        script
            .rule(verdict(
                Rule::task("T3").returned(ReturnCause::NoVerdict),
                "approve",
            ))
            .rule(Rule::task("T3").text("approve"))
    });
    says(
        &run(&world, &script, 0)?,
        &[
            "T3: returned: it ended without a verdict",
            "T3: verdict: approved",
        ],
    )?;

    let script = authors(|script| script.rule(Rule::task("T3").text("approve, I think")));
    let ran = run(&world, &script, 1)?;
    let told = "the agent ended twice without `review_verdict`; its last words: approve, I think";
    says(&ran, &["T3: FAILED (no_verdict)", told])?;
    states(&world, &["verified", "verified", "failed"])?;
    // The reviewer gets another attempt.
    world.script(&authors(|script| {
        script.rule(verdict(Rule::task("T3"), "approve"))
    }))?;
    world.types(&["retry", "T3"], 0)?;
    states(&world, &["merged", "merged", "merged"]).map(|_| ())
}

fn a_verdict_on_no_waiting_task_is_refused() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| {
        script
            .rule(changes(on("T3", 1), &["T9"]))
            .rule(verdict(
                after("T3", "T9 does not wait for your verdict"),
                "nothing_to_do",
            ))
            .rule(verdict(
                after("T3", "there is something to review"),
                "approve",
            ))
    });
    run(&world, &script, 0)?;
    states(&world, &["merged", "merged", "merged"]).map(|_| ())
}

/// The reviewer's first reply contains three verdicts.
fn an_approval_does_not_hide_requested_changes() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| {
        script
            .rule(verdict(
                changes(verdict(on("T3", 1), "approve"), &["T1"]),
                "approve",
            ))
            .rule(verdict(
                Rule::task("T3").returned(ReturnCause::NewWork),
                "approve",
            ))
    });
    says(
        &run(&world, &script, 0)?,
        &["T1: returned: changes requested in review"],
    )?;
    let given = story(&world, &["review.verdict"])?;
    assert_eq!(
        given,
        [
            "review.verdict T3 approve",
            "review.verdict T3 changes",
            "review.verdict T3 approve"
        ],
        "{}",
        given.join("\n")
    );
    let log = world.types(&["log", "--json"], 0)?.stdout;
    assert!(log.contains("you have given the verdict already"), "{log}");
    states(&world, &["merged", "merged", "merged"]).map(|_| ())
}

/// The reviewer fails: its work is merged as soon as a person approves it, or drops the review.
fn a_person_decides_instead() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| script.rule(Rule::task("T3").text("I do not know.")));
    run(&world, &script, 1)?;
    world.types(&["review", "T1"], 0)?;
    world.types(&["approve", "T1", "--follow"], 1)?;
    states(&world, &["merged", "verified", "failed"])?;
    let dropped = world.types(&["drop", "T3"], 0)?;
    says(
        &dropped,
        &[
            "without a review now, and merged by the next resume: T2\n",
            "orchestrate resume",
        ],
    )?;
    world.types(&["resume"], 0)?;
    states(&world, &["merged", "merged", "cancelled"]).map(|_| ())
}

/// The reviewer goes with an author whose work it was built on.
fn the_work_that_a_dropped_reviewer_leaves_is_named() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let script = authors(|script| script.rule(Rule::task("T3").text("I do not know.")));
    run(&world, &script, 1)?;
    let dropped = world
        .types(&["drop", "T1", "--with-dependents", "--json"], 0)?
        .json()?;
    if (&dropped["tasks"], &dropped["unreviewed"]) != (&json!(["T1", "T3"]), &json!(["T2"])) {
        return fail(format!("{dropped:#}"));
    }
    Ok(())
}

/// The reviewer's agent is stopped while it looks; its work is merged once another attempt has
/// approved it.
fn a_stopped_reviewer_holds_what_it_reviews() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let looks = || shell(Rule::task("T3"), "sleep 600");
    let model = world.script(&authors(|script| script.rule(looks())))?;
    let run = world
        .orchestrate(&["run", "plan.md", "--model", &model])
        .start()?;
    let is_looking = |line: &str| line.contains("\"tool.started\"") && line.contains("\"T3\"");
    until(PATIENCE, || {
        let log = world.orchestrate(&["log", "--json"]).run()?.stdout;
        Ok(log.lines().any(is_looking).then_some(()))
    })?;
    let archive = world.archive()?;
    let Some(id) = archive.store().latest_run()? else {
        return fail("there is no run");
    };
    archive.store().send(
        &id,
        &Request::StopAgent {
            agent: "T3".into(),
            holder: None,
        },
    )?;
    says(
        &run.end()?.exits(3)?,
        &[
            "T1: waits for the verdict of T3",
            "T2: waits for the verdict of T3",
        ],
    )?;
    states(&world, &["verified", "verified", "cancelled"])?;
    world.script(&authors(|script| {
        script.rule(verdict(Rule::task("T3"), "approve"))
    }))?;
    world.types(&["retry", "T3"], 0)?;
    states(&world, &["merged", "merged", "merged"]).map(|_| ())
}

fn nothing_to_do_is_no_failure() -> Outcome {
    let plan = "- [ ] T1 Remove what is unused @cleaner\n- [ ] T2 Go on (run: echo 2 > two.txt) (depends: T1)\n";
    let world = World::with_plan(plan)?;
    let role = "---\nmetadata:\n  orchestrate-nothing-to-do: true\n---\nYou remove unused code.\n";
    world.commit(".orchestrate/agents/cleaner.md", role)?;
    let script = Script::default().rule(Rule::task("T1").text("Everything is used."));
    says(
        &run(&world, &script, 0)?,
        &["T1: nothing to do", "T1    nothing to do"],
    )?;
    states(&world, &["nothing_to_do", "merged"])?;
    says(&world.types(&["status"], 0)?, &["T1    nothing to do"])?;
    // Whoever rejects that expects work.
    says(
        &world.types(&["reject", "T1", "-m", "main.c is not", "--follow"], 1)?,
        &["T1: FAILED (no_changes)"],
    )
}

/// Work that only checks, and the shipped tester, may find that all is well; other work that
/// changes nothing fails.
fn a_checkpoint_or_a_tester_may_have_nothing_to_do() -> Outcome {
    let plan = "- [ ] 1. Work\n  - [ ] 1.1 Write (run: echo 1 > one.txt)\n  - [ ] 1.2 Checkpoint - Ensure all tests pass\n\
                - [ ] 2. Cover it @tester (depends: 1)\n- [ ] 3. Go on (depends: 2)\n";
    let world = World::with_plan(plan)?;
    let script = ["1.2", "2", "3"]
        .into_iter()
        .fold(Script::default(), |script, task| script.rule(done(task)));
    says(
        &run(&world, &script, 1)?,
        &[
            "1.2: nothing to do",
            "2: nothing to do",
            "3: FAILED (no_changes)",
        ],
    )?;
    states(
        &world,
        &["merged", "nothing_to_do", "nothing_to_do", "failed"],
    )?;
    world.types(&["land"], 0)?;
    let written = world.repository.read("plan.md")?;
    let expected = plan.replace("[ ]", "[x]").replace("[x] 3.", "[ ] 3.");
    assert_eq!(written, expected);
    Ok(())
}
