//! Runs whose agents spawn agents, as a user sees them and decides about them: the tree, and what
//! each command does to a part of it.

use libtest_mimic::Failed;
use orchestrate_core::task::ReturnCause;
use serde_json::{Value, json};

use crate::run::agents::waits;
use crate::support::{
    Case, Outcome, Ran, Rule, Script, World, after, at, case, done, fail, on, put, require_words,
    says, waits, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_run_is_drawn_as_a_tree),
        case!(what_agents_wait_for_is_shown),
        case!(work_within_a_parent_is_dropped_with_it),
        case!(rejected_work_within_a_parent_names_what_to_drop),
        case!(a_rejection_of_a_childs_work_is_taken_back),
        case!(work_of_an_ended_parent_is_not_in_the_result),
        case!(an_ended_agent_goes_on_with_the_work_below_it),
        case!(a_dropped_child_lets_its_parent_go_on),
        case!(a_child_that_is_rejected_waits_for_its_parents_review),
    ]
}

/// A plan with an agent that leads, and a command beside it.
const PLAN: &str = "- [ ] T1 lead (agent: lead)\n- [ ] T2 four (run: echo 4 > four.txt)\n";

fn spawn(rule: Rule, task: &str) -> Rule {
    rule.call("spawn_child_agent", &json!({ "task": task }))
}

fn asks(rule: Rule) -> Rule {
    let question =
        json!({"agent_id": "user", "message": "which port?", "kind": "question", "wait": true});
    rule.call("send_message_to_agent", &question)
}

/// Runs a plan with the built program, in a repository with the role `lead`.
fn ran(plan: &str, script: &Script, options: &[&str], code: i32) -> Result<(World, Ran), Failed> {
    let world = waits::world()?;
    world.repository.write("plan.md", plan)?;
    let model = world.script(script)?;
    let ran = world.types(
        &[&["run", "plan.md", "--model", &model], options].concat(),
        code,
    )?;
    Ok((world, ran))
}

/// Returns the script of a leading agent with two children; what is rejected with `again` is done
/// again.
fn two_children() -> Script {
    Script::default()
        .rule(put(after("write_two", "again"), "two.txt", "22\n"))
        .rule(spawn(spawn(on("T1", 1), "Write two"), "Write three"))
        .rule(waits(on("T1", 2), &["write_two", "write_three"]))
        .rule(put(on("T1", 3), "one.txt", "1\n"))
        .rule(write("write_two", "two.txt", "2\n"))
        .rule(write("write_three", "three.txt", "3\n"))
        .rule(Rule::any().text("Done."))
}

/// Returns the names of the text files at the top of a revision.
fn texts(world: &World, revision: &str) -> Result<Vec<String>, Failed> {
    let listed = world.git(&format!("ls-tree --name-only {revision}"))?;
    Ok(listed
        .lines()
        .filter(|name| name.ends_with(".txt"))
        .map(str::to_owned)
        .collect())
}

fn require_texts(world: &World, revision: &str, expected: &[&str]) -> Outcome {
    let found = texts(world, revision)?;
    assert_eq!(found, expected, "{found:?} instead of {expected:?}");
    Ok(())
}

fn integration(world: &World) -> Result<String, Failed> {
    let report = world.types(&["status", "--json"], 0)?.json()?;
    Ok(at(&report, "/integration_branch")?
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// Returns the task of a report.
fn task<'r>(report: &'r Value, id: &str) -> &'r Value {
    let mut tasks = report["tasks"].as_array().into_iter().flatten();
    tasks.find(|task| task["id"] == id).unwrap_or(&Value::Null)
}

/// Returns the first column of the table, below its head.
fn names(shown: &str) -> Vec<String> {
    let width = shown.find("STATE").unwrap_or_default();
    let lines = shown.lines().skip(1).take_while(|line| !line.is_empty());
    lines
        .map(|line| {
            line.chars()
                .take(width)
                .collect::<String>()
                .trim_end()
                .to_owned()
        })
        .collect()
}

fn a_run_is_drawn_as_a_tree() -> Outcome {
    let script = Script::default()
        .rule(on("T1", 1).call(
            "spawn_child_agent",
            &json!({"task": "Lead below", "role": "lead"}),
        ))
        .rule(spawn(
            on("T1", 2),
            "Write the last of the texts that are missing",
        ))
        .rule(waits(on("T1", 3), &["lead_below", "write_last_texts_that"]))
        .rule(put(on("T1", 4), "one.txt", "1\n"))
        .rule(spawn(
            spawn(on("lead_below", 1), "Write two"),
            "Write three",
        ))
        .rule(waits(on("lead_below", 2), &["write_two", "write_three"]))
        .rule(write("write_two", "two.txt", "2\n"))
        .rule(write("write_three", "three.txt", "3\n"))
        .rule(write("write_last_texts_that", "last.txt", "5\n"))
        .rule(Rule::any().text("Done."));
    let (world, ran) = ran(PLAN, &script, &[], 0)?;
    let expected = [
        "T1",
        "├─ lead_below",
        "│  ├─ write_two",
        "│  └─ write_three",
        "└─ write_last_texts_that",
        "T2",
    ];
    let status = world.types(&["status"], 0)?.stdout;
    let review = world.types(&["review"], 0)?.stdout;
    assert!(
        names(&ran.stdout) == expected
            && names(&status) == expected
            && names(&review).starts_with(&expected.map(str::to_owned)),
        "{}\n{status}\n{review}",
        ran.stdout
    );
    let wide = status
        .lines()
        .take(7)
        .find(|line| line.chars().count() > 80);
    if let Some(wide) = wide {
        return fail(wide);
    }
    let plain = world
        .orchestrate(&["status"])
        .env("LC_ALL", "C")
        .run()?
        .exits(0)?
        .stdout;
    require_words(
        &plain,
        &[
            "\n  lead_below  ",
            "\n    write_two  ",
            "\n    write_three  ",
            "\n  write_last_texts_that  ",
        ],
    )?;
    let entries = world.types(&["review", "--json"], 0)?.json()?;
    let parents = entries["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| json!([entry["task"], entry["parent"]]));
    let parents: Vec<Value> = parents.collect();
    assert!(
        parents.contains(&json!(["write_two", "lead_below"])),
        "{entries}"
    );
    assert!(parents.contains(&json!(["T2", null])), "{entries}");
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let places = ["T1", "lead_below", "write_two", "T2"]
        .map(|id| json!([task(&report, id)["parent"], task(&report, id)["depth"]]));
    let places_expected = [
        json!([null, 1]),
        json!(["T1", 2]),
        json!(["lead_below", 3]),
        json!([null, 1]),
    ];
    assert_eq!(places, places_expected);
    Ok(())
}

fn what_agents_wait_for_is_shown() -> Outcome {
    let script = Script::default()
        .rule(spawn(spawn(on("T1", 1), "Write two"), "Ask it"))
        .rule(waits(on("T1", 2), &["write_two", "ask"]))
        .rule(write("write_two", "two.txt", "2\n"))
        .rule(asks(on("ask", 1)))
        .rule(put(on("ask", 2), "port.txt", "4711\n"))
        .rule(Rule::any().text("Done."));
    let (world, ran) = ran("- [ ] T1 lead (agent: lead)\n", &script, &[], 3)?;
    let expected = [
        "T1  waiting  blocked-on ask",
        "├─ write_two  merged  idle-done",
        "└─ ask  waiting  waiting-human",
    ];
    for shown in [&ran.stdout, &world.types(&["status"], 0)?.stdout] {
        let squeezed: Vec<String> = shown.lines().map(squeezed).collect();
        let is_missing = |line: &&&str| !squeezed.iter().any(|shown| shown.starts_with(**line));
        if let Some(missing) = expected.iter().find(is_missing) {
            return fail(format!("{missing} is not in {shown}"));
        }
    }
    says(
        &world.types(&["message", "ask", "4711", "--follow"], 0)?,
        &["T1: merged as"],
    )?;
    require_texts(&world, &integration(&world)?, &["port.txt", "two.txt"])
}

/// Returns a line with two blanks between its columns.
fn squeezed(line: &str) -> String {
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect::<Vec<_>>()
        .join("  ")
}

/// The second attempt is merged into the result, which contains the first one as a part of its
/// parent's work.
fn work_within_a_parent_is_dropped_with_it() -> Outcome {
    let (world, _) = ran(PLAN, &two_children(), &[], 0)?;
    says(
        &world.types(&["approve", "write_two"], 2)?,
        &["write_two is merged, but only work that awaits review"],
    )?;
    says(
        &world.types(&["retry", "write_two"], 2)?,
        &["orchestrate reject write_two -m TEXT"],
    )?;
    world.types(&["reject", "write_two", "-m", "again", "--follow"], 0)?;
    let branch = integration(&world)?;
    if world.repository.show(&branch, "two.txt")? != "22" {
        return fail("the second attempt is not in the result");
    }
    let refused = world.types(&["drop", "write_two"], 3)?;
    says(
        &refused,
        &[
            "write_two cannot be dropped alone, since its work is part of that of T1",
            "`orchestrate drop T1 --run ",
        ],
    )?;
    let dropped = world.types(&["drop", "T1"], 0)?;
    says(
        &dropped,
        &["T1, write_two, write_three dropped: ", " without them\n"],
    )?;
    require_texts(&world, &branch, &["four.txt"])?;
    world.types(&["land"], 0)?;
    require_texts(&world, "main", &["four.txt"])
}

fn rejected_work_within_a_parent_names_what_to_drop() -> Outcome {
    let (world, _) = ran(PLAN, &two_children(), &[], 0)?;
    // Its agent changes nothing, so the rejection stands.
    world.types(&["reject", "write_two", "-m", "No good.", "--follow"], 3)?;
    let refused = world.types(&["land"], 3)?;
    says(
        &refused,
        &[
            "write_two was rejected after the merge",
            "`orchestrate drop T1 --run ",
            "`orchestrate retry write_two -m TEXT",
        ],
    )?;
    if refused.stderr.contains("orchestrate drop write_two") {
        return fail(refused.stderr);
    }
    says(
        &world.types(&["status"], 0)?,
        &[
            "  orchestrate retry write_two -m TEXT\n",
            "  orchestrate drop T1\n",
        ],
    )?;
    world.types(&["retry", "write_two", "-m", "again"], 0)?;
    world.types(&["land"], 0)?;
    assert_eq!(
        world.repository.show("main", "two.txt")?,
        "22",
        "the new work has not landed"
    );
    Ok(())
}

/// The agent has nothing to change, and the user agrees.
fn a_rejection_of_a_childs_work_is_taken_back() -> Outcome {
    let (world, _) = ran(PLAN, &two_children(), &[], 0)?;
    let rejected = world.types(&["reject", "write_two", "-m", "No good.", "--follow"], 3)?;
    says(
        &rejected,
        &["without changing a file after its work was rejected, which stays merged"],
    )?;
    says(
        &world.types(&["status"], 0)?,
        &[
            "  orchestrate approve write_two\n",
            "  orchestrate drop T1\n",
        ],
    )?;
    says(
        &world.types(&["approve", "write_two", "--follow"], 0)?,
        &["write_two is approved at tree "],
    )?;
    let report = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(task(&report, "write_two")["state"], "merged", "{report}");
    world.types(&["land"], 0)?;
    assert_eq!(
        world.repository.show("main", "two.txt")?,
        "2",
        "the work has not landed"
    );
    Ok(())
}

/// The parent fails its own check, with the work of one child; the other child has failed.
fn work_of_an_ended_parent_is_not_in_the_result() -> Outcome {
    let plan = "- [ ] T1 lead (agent: lead) (verify: test -e ok.txt)\n";
    let script = Script::default()
        .rule(put(
            Rule::task("T1").returned(ReturnCause::Retried),
            "ok.txt",
            "1\n",
        ))
        .rule(put(after("fail", "again"), "late.txt", "1\n"))
        .rule(spawn(on("T1", 1), "Write two").call(
            "spawn_child_agent",
            &json!({"task": "Fail it", "role": "implementer"}),
        ))
        .rule(waits(on("T1", 2), &["write_two", "fail"]))
        .rule(write("write_two", "two.txt", "2\n"))
        .rule(Rule::any().text("Done."));
    let (world, ran) = ran(plan, &script, &[], 1)?;
    let held = "write_two: not in the result: it was merged into the work of T1, which has ended without success";
    says(&ran, &[held])?;
    assert!(!ran.stdout.contains("orchestrate land"), "{}", ran.stdout);
    let report = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(task(&report, "write_two")["held_by"], "T1", "{report}");
    says(
        &world.types(&["land"], 0)?,
        &["write_two is part of the work of T1", "nothing to land"],
    )?;
    for arguments in [
        ["retry", "fail", "-m", "again"],
        ["reject", "write_two", "-m", "again"],
    ] {
        let refused = world.types(&arguments, 2)?;
        says(
            &refused,
            &[
                "T1, which spawned ",
                "`orchestrate retry T1 -m TEXT --run ",
                "`orchestrate recover ",
            ],
        )?;
    }
    // Only the parent is worth another attempt, and it still has the work of its child.
    says(
        &world.types(&["retry", "--failed"], 0)?,
        &["returned to their agents for another attempt: T1\n"],
    )?;
    world.types(&["retry", "fail", "-m", "again"], 0)?;
    world.types(&["land"], 0)?;
    require_texts(&world, "main", &["late.txt", "ok.txt", "two.txt"])
}

/// An agent is ended by its parent while one of its children waits for the user; another one is
/// merged into its work.
fn an_ended_agent_goes_on_with_the_work_below_it() -> Outcome {
    let tells = json!({"agent_id": "T1", "message": "two is there"});
    let merged = after("lead_below", "all of them are done");
    let script = Script::default()
        .rule(put(after("lead_below", "go on"), "below.txt", "1\n"))
        .rule(on("T1", 1).call(
            "spawn_child_agent",
            &json!({"task": "Lead below", "role": "lead"}),
        ))
        .rule(waits(on("T1", 2), &["lead_below"]))
        .rule(
            after("T1", "two is there").call("terminate_agent", &json!({"agent_id": "lead_below"})),
        )
        .rule(put(after("T1", "its work is kept"), "one.txt", "1\n"))
        .rule(spawn(spawn(on("lead_below", 1), "Write two"), "Ask it"))
        .rule(waits(on("lead_below", 2), &["write_two"]))
        .rule(waits(
            merged.call("send_message_to_agent", &tells),
            &["ask"],
        ))
        .rule(write("write_two", "two.txt", "2\n"))
        .rule(asks(on("ask", 1)))
        .rule(put(
            Rule::task("ask").returned(ReturnCause::Retried),
            "port.txt",
            "1\n",
        ))
        .rule(Rule::any().text("Done."));
    let (world, ran) = ran("- [ ] T1 lead (agent: lead)\n", &script, &[], 0)?;
    says(
        &ran,
        &["write_two: not in the result: it was merged into the work of lead_below"],
    )?;
    let branch = integration(&world)?;
    require_texts(&world, &branch, &["one.txt"])?;
    says(
        &world.types(&["retry", "ask"], 2)?,
        &["`orchestrate retry lead_below -m TEXT --run "],
    )?;
    says(
        &world.types(&["reject", "lead_below", "-m", "no"], 2)?,
        &["`orchestrate retry lead_below -m TEXT --run "],
    )?;
    // Its work is kept if its worktree is removed, and it goes on with that of its child.
    world.types(&["clean"], 0)?;
    let kept = world.types(&["recover"], 0)?;
    says(&kept, &["write_two/", "Write two"])?;
    if kept.stdout.contains("Staged by a person") {
        return fail(kept.stdout);
    }
    world.types(&["retry", "lead_below", "-m", "go on"], 0)?;
    require_texts(&world, &branch, &["below.txt", "one.txt", "two.txt"])?;
    world.types(&["retry", "ask"], 0)?;
    world.types(&["land"], 0)?;
    require_texts(
        &world,
        "main",
        &["below.txt", "one.txt", "port.txt", "two.txt"],
    )
}

fn a_dropped_child_lets_its_parent_go_on() -> Outcome {
    let script = Script::default()
        .rule(spawn(on("T1", 1), "Ask it"))
        .rule(waits(on("T1", 2), &["ask"]))
        .rule(put(on("T1", 3), "one.txt", "1\n"))
        .rule(asks(Rule::task("ask")))
        .rule(done("T1"));
    let (world, _) = ran("- [ ] T1 lead (agent: lead)\n", &script, &[], 3)?;
    let dropped = world.types(&["drop", "ask"], 0)?;
    says(
        &dropped,
        &[
            "ask dropped: ",
            "did not contain it\n",
            "orchestrate resume r-",
        ],
    )?;
    let status = world.types(&["status"], 0)?;
    says(&status, &["next:\n  orchestrate resume r-"])?;
    world.types(&["resume"], 0)?;
    require_texts(&world, &integration(&world)?, &["one.txt"])
}

fn a_child_that_is_rejected_waits_for_its_parents_review() -> Outcome {
    let (world, ran) = ran(
        "- [ ] T1 lead (agent: lead)\n",
        &two_children(),
        &["--merge", "review"],
        3,
    )?;
    assert!(!ran.stdout.contains("orchestrate land"), "{}", ran.stdout);
    let rejected = world.types(&["reject", "write_two", "-m", "again", "--follow"], 3)?;
    assert!(
        rejected
            .stdout
            .lines()
            .any(|line| squeezed(line).starts_with("├─ write_two  verified  blocked-on T1")),
        "{}",
        rejected.stdout
    );
    let landed = world.types(&["land"], 0)?;
    says(
        &landed,
        &[
            "write_two is verified: it is not included",
            "nothing to land",
        ],
    )?;
    world.types(&["approve", "T1", "--follow"], 3)?;
    says(
        &world.types(&["review", "write_two"], 0)?,
        &["newest work, not merged:", "orchestrate approve write_two"],
    )?;
    world.types(&["approve", "write_two", "--follow"], 0)?;
    world.types(&["land"], 0)?;
    assert_eq!(
        world.repository.show("main", "two.txt")?,
        "22",
        "the new work has not landed"
    );
    Ok(())
}
