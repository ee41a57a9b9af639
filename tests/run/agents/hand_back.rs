//! What agents hand back in whole runs: their claims held against the facts, shown and, by role,
//! refused.

use orchestrate_core::TaskState::Failed as FailedTask;
use orchestrate_core::event::Event;
use orchestrate_core::task::{FailureCause, ReturnCause};
use serde_json::json;

use super::waits::LEAD;
use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, case, done, on, put, waits, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(an_unverified_claim_is_shown_to_people),
        case!(an_unverified_claim_is_shown_to_the_parent),
        case!(a_strict_role_returns_a_claim_with_the_facts),
        case!(a_claim_that_is_never_made_true_fails_the_task),
        case!(changed_tests_have_to_be_named),
        case!(a_strict_role_wants_its_claims_in_a_line),
        case!(work_is_taken_if_only_the_line_of_claims_is_missing),
        case!(what_only_prose_claims_is_shown_and_not_refused),
        case!(a_parent_need_not_name_the_tests_of_its_child),
    ]
}

/// A report that claims what only a check shows.
const CLAIM: &str = "Wrote it. All tests pass.";
/// The same in the line that a strict role wants.
pub(crate) const LISTED: &str = "Wrote it.\n\nClaims: done, tests pass";
const HELD: &str = "unverified claim: \"All tests pass.\": no check ran";
/// A role whose agents may claim only what the record bears out.
pub(crate) const STRICT: &str = "---\nname: strict\ndescription: Proves it.\nmetadata:\n  orchestrate-hand-back: strict\n---\nYou prove it.\n";

/// Returns a world with the roles of these tests, and a check.
fn world() -> Result<World, libtest_mimic::Failed> {
    let world = World::plain()?;
    world
        .repository
        .write(".orchestrate/agents/lead.md", LEAD)?;
    world
        .repository
        .write(".orchestrate/agents/strict.md", STRICT)?;
    world
        .repository
        .write("check.sh", "test -e one.txt || test ! -e two.txt\n")?;
    world.repository.write("tests/old.txt", "old\n")?;
    world.repository.commit_all("Add roles and a check")?;
    Ok(world)
}

fn an_unverified_claim_is_shown_to_people() -> Outcome {
    let world = world()?;
    world.repository.write("plan.md", "- [ ] T1 write\n")?;
    let script = Script::default().rule(write("T1", "one.txt", "1\n"));
    let script =
        script.rule(Rule::task("T1").text(&format!("{CLAIM}\n\nOpen questions:\n- Which port?")));
    let model = script.write_to(&world.home.path().join("script.jsonl"))?;
    let ran = world.types(&["run", "plan.md", "--model", &model, "--no-write-back"], 0)?;
    for shown in [
        ran.stdout,
        world.types(&["status"], 0)?.stdout,
        world.types(&["review", "T1"], 0)?.stdout,
    ] {
        assert!(shown.contains(HELD), "{shown}");
        assert!(shown.contains("asks: Which port?"), "{shown}");
    }
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let handed = &status["tasks"][0]["hand_back"];
    let held = &handed["unverified"][0];
    let is_whole = handed["outcome"] == "done"
        && handed["by_agent"] == json!(true)
        && handed["files"] == json!([{"status": "A", "path": "one.txt"}])
        && held["claim"] == "tests_pass"
        && held["why"] == json!([{"doubt": "no_check"}]);
    assert!(is_whole, "{status}");
    Ok(())
}

fn an_unverified_claim_is_shown_to_the_parent() -> Outcome {
    let script = Script::default()
        .rule(waits(on("T1", 1), &["T2"]))
        .rule(put(after("T1", "all of them are done"), "two.txt", "2\n"))
        .rule(done("T1"))
        .rule(write("T2", "one.txt", "1\n"))
        .rule(Rule::task("T2").text(CLAIM));
    let played = world()?.play(
        "- [ ] T1 lead (agent: lead)\n- [ ] T2 write\n",
        &script,
        |_| {},
    )?;
    played.require_merged(&["T1", "T2"])?;
    played.require_told("T1", &["files: A one.txt", HELD])
}

fn returns(played: &Played) -> usize {
    let claims = |event: &Event| {
        matches!(
            event,
            Event::TaskReturned {
                cause: ReturnCause::Claims,
                ..
            }
        )
    };
    played
        .facts
        .iter()
        .filter(|fact| claims(&fact.event))
        .count()
}

fn a_strict_role_returns_a_claim_with_the_facts() -> Outcome {
    let checks = json!({"command": "sh check.sh"});
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::Claims)
                .call("run_shell_command", &checks),
        )
        .rule(Rule::task("T1").text(LISTED));
    let with_check = |settings: &mut orchestrate_coordinator::Settings| {
        settings.run.verify = Some("sh check.sh".to_owned());
    };
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, with_check)?;
    played.require_merged(&["T1"])?;
    played.require_told(
        "T1",
        &[
            "the record does not bear out",
            "\"tests pass\": no check ran",
        ],
    )?;
    let handed = played.report.tasks[0].hand_back.as_ref();
    let is_held = handed.is_none_or(|handed| !handed.unverified.is_empty());
    assert!(returns(&played) == 1 && !is_held, "{played}");
    Ok(())
}

fn a_claim_that_is_never_made_true_fails_the_task() -> Outcome {
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(Rule::task("T1").text(LISTED));
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, |settings| {
        settings.run.merge_rounds = 2
    })?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure(
        "T1",
        FailureCause::Claims,
        "again after it was returned to its agent 2 times",
    )?;
    assert_eq!(returns(&played), 2, "{played}");
    Ok(())
}

fn changed_tests_have_to_be_named() -> Outcome {
    let changes = json!({"path": "tests/old.txt", "content": "new\n"});
    let script = Script::default()
        .rule(on("T1", 1).call("write_file", &changes))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::Claims)
                .text("Changed tests/old.txt, since the old words are gone.\n\nClaims: done"),
        )
        .rule(done("T1"));
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    played.require_told(
        "T1",
        &["it changed or deleted existing tests that its report does not name: tests/old.txt"],
    )?;
    let handed = played.report.tasks[0].hand_back.as_ref();
    let is_named = handed.is_some_and(|handed| {
        handed.changed_tests == ["tests/old.txt"] && handed.unverified.is_empty()
    });
    assert!(returns(&played) == 1 && is_named, "{played}");
    Ok(())
}

fn a_strict_role_wants_its_claims_in_a_line() -> Outcome {
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::Claims)
                .text("Added `all_tests_pass()`.\n\nClaims: none"),
        )
        .rule(done("T1"));
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    played.require_told("T1", &["its report has no line `Claims:`"])?;
    let systems: Vec<String> = played
        .requests()?
        .into_iter()
        .map(|request| request.system)
        .collect();
    let is_asked = systems
        .iter()
        .all(|system| system.contains("End your report with a line `Claims:`"));
    assert!(returns(&played) == 1 && is_asked, "{}", systems.join("\n"));
    Ok(())
}

/// Nothing false is said, so honest work is not lost for the line.
fn work_is_taken_if_only_the_line_of_claims_is_missing() -> Outcome {
    let script = Script::default().writes("T1", "one.txt", "1\n");
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, |settings| {
        settings.run.merge_rounds = 2
    })?;
    played.require_merged(&["T1"])?;
    assert_eq!(returns(&played), 2, "{played}");
    Ok(())
}

fn what_only_prose_claims_is_shown_and_not_refused() -> Outcome {
    let report = format!("{CLAIM}\n\nClaims: none");
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n"))
        .rule(Rule::task("T1").text(&report));
    let played = world()?.play("- [ ] T1 write (agent: strict)\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    let shown = played.report.tasks[0]
        .hand_back
        .as_ref()
        .map_or(0, |handed| handed.unverified.len());
    assert!(returns(&played) == 0 && shown == 1, "{played}");
    Ok(())
}

fn a_parent_need_not_name_the_tests_of_its_child() -> Outcome {
    let script = Script::default()
        .rule(on("T1", 1).call("spawn_child_agent", &json!({"task": "Renew the old test"})))
        .rule(waits(on("T1", 2), &["renew_old_test"]))
        .rule(done("T1"))
        .rule(write("renew_old_test", "tests/old.txt", "new\n"))
        .rule(Rule::task("renew_old_test").text("Changed tests/old.txt."));
    let played = world()?.play("- [ ] T1 lead (agent: lead)\n", &script, |_| {})?;
    played.require_merged(&["T1", "renew_old_test"])?;
    let handed = played
        .report
        .tasks
        .iter()
        .filter_map(|task| task.hand_back.as_ref());
    let shown: Vec<String> = handed
        .flat_map(|handed| &handed.unverified)
        .map(ToString::to_string)
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    Ok(())
}
