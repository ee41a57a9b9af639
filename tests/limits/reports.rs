//! The last report of an agent that has reached a limit, in whole runs.

use libtest_mimic::Failed;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged};
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{ModelRequest, ReachedLimit};
use serde_json::json;

use crate::run::agents::waits;
use crate::support::{Case, Outcome, Played, Script, World, after, case, fail, on, waits, write};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(an_agent_out_of_turns_makes_one_last_request),
        case!(an_agent_out_of_tokens_reports_within_what_is_held_for_it),
        case!(every_agent_of_a_run_out_of_tokens_stays_within_its_budget),
        case!(an_agent_out_of_time_reports),
        case!(the_agents_of_a_run_out_of_time_report),
        case!(an_agent_that_waits_when_the_run_is_out_of_time_reports),
        case!(without_a_reply_there_is_no_second_request),
        case!(an_agent_that_is_retried_can_report_again),
    ]
}

/// What the last request says.
const LAST: &str = "You have to stop";
const REPORT: &str = "Half of it is found.";

/// Adds an agent that searches for something else in each turn, and reports when it is asked to.
fn busy(script: Script, task: &str, turns: u32, tokens: u64) -> Script {
    let script = script.rule(after(task, LAST).text(REPORT));
    (1..=turns).fold(script, |script, turn| {
        let call = json!({"pattern": format!("nothing-{turn}")});
        let rule = on(task, turn).call("search_files", &call);
        script.rule(if tokens > 0 {
            rule.usage(json!({"input_tokens": tokens, "output_tokens": 10}))
        } else {
            rule
        })
    })
}

/// Returns the limit that a task's agent reached, the requests that it made then, and its report.
fn last_of(
    played: &Played,
    of: &str,
) -> Result<(ReachedLimit, Vec<ModelRequest>, Option<String>), Failed> {
    let dues = played.pick(|event| match event {
        Event::ReportDue(due) if due.task.as_str() == of => Some(due.limit.clone()),
        _ => None,
    });
    let [limit] = &dues[..] else {
        return fail(format!("{dues:?}\n{}", played.story()));
    };
    let due =
        played.first(|event| matches!(event, Event::ReportDue(due) if due.task.as_str() == of))?;
    let turns: Vec<u32> = played
        .facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::ModelRequested { task, turn, .. } if task.as_str() == of && fact.seq > due => {
                Some(*turn)
            }
            _ => None,
        })
        .collect();
    let is_last = |request: &ModelRequest| {
        request.origin.task.as_str() == of && turns.contains(&request.origin.turn)
    };
    let requests: Vec<ModelRequest> = played.requests()?.into_iter().filter(is_last).collect();
    let given = played.pick(|event| match event {
        Event::ReportGiven(given) if given.task.as_str() == of => Some(given.summary.clone()),
        _ => None,
    });
    assert!(given.len() <= 1, "{played}");
    assert_eq!(requests.len(), turns.len(), "{played}");
    Ok((limit.clone(), requests, given.into_iter().next()))
}

/// Requires that a task's agent reported once, without tools, for this limit.
fn require_report(played: &Played, of: &str, cause: FailureCause) -> Outcome {
    let (limit, requests, report) = last_of(played, of)?;
    let [request] = &requests[..] else {
        return fail(format!(
            "{} last requests\n{}",
            requests.len(),
            played.story()
        ));
    };
    let is_it =
        limit.cause == cause && request.tools.is_empty() && report.as_deref() == Some(REPORT);
    assert!(is_it, "{limit:?} {report:?} {request:?}");
    Ok(())
}

fn an_agent_out_of_turns_makes_one_last_request() -> Outcome {
    let script = busy(Script::default(), "T1", 9, 0).writes("T2", "two.txt", "2\n");
    let script = script.rule(write("T1", "half.txt", "half\n"));
    let plan = "- [ ] T1 busy (turns: 3)\n- [ ] T2 quick\n";
    let played = World::lived_in()?.play(plan, &script, |_| {})?;
    played.require(4, &[("T1", FailedTask), ("T2", Merged)])?;
    played.require_failure("T1", FailureCause::Turns, "turns")?;
    require_report(&played, "T1", FailureCause::Turns)?;
    // The turns before are told, as texts: the last request has no tools that calls could belong
    // to.
    played.require_told(
        "T1",
        &[
            "You have to stop: the attempt has used all its turns.",
            "call search_files",
            "nothing-3",
        ],
    )
}

fn an_agent_out_of_tokens_reports_within_what_is_held_for_it() -> Outcome {
    let script = busy(Script::default(), "T1", 30, 3_000);
    let played = World::lived_in()?.play("- [ ] T1 busy (tokens: 20000)\n", &script, |_| {})?;
    played.require_failure(
        "T1",
        FailureCause::Budget,
        "budget of 20000 tokens and holds 2000 for final reports",
    )?;
    require_report(&played, "T1", FailureCause::Budget)?;
    let reserved = played.pick(|event| match event {
        Event::ModelRequested {
            reserved_tokens, ..
        } => Some(*reserved_tokens),
        _ => None,
    });
    let (limit, ..) = last_of(&played, "T1")?;
    assert!(
        limit.tokens == 2_000 && reserved.last().is_some_and(|tokens| *tokens <= 2_000),
        "{limit:?}, {reserved:?}"
    );
    Ok(())
}

fn every_agent_of_a_run_out_of_tokens_stays_within_its_budget() -> Outcome {
    const CAP: u64 = 50_000;
    let script = ["T1", "T2", "T3"]
        .iter()
        .fold(Script::default(), |script, task| {
            busy(script, task, 30, 3_000)
        });
    let plan = "- [ ] T1 busy\n- [ ] T2 busy\n- [ ] T3 busy\n";
    let played = World::lived_in()?.play(plan, &script, |settings| {
        settings.run.budget_tokens = Some(CAP)
    })?;
    for task in ["T1", "T2", "T3"] {
        require_report(&played, task, FailureCause::Budget)?;
    }
    let used: u64 = played
        .report
        .tasks
        .iter()
        .map(|task| task.usage.input_tokens + task.usage.output_tokens)
        .sum();
    assert!(used <= CAP, "{used} tokens of {CAP}");
    Ok(())
}

/// Returns a script of an agent that is in a command when its time is up.
fn slow(script: Script, task: &str) -> Script {
    let command = json!({"command": "echo half > half.txt; sleep 50"});
    script
        .rule(after(task, LAST).text(REPORT))
        .rule(on(task, 1).call("run_shell_command", &command))
}

fn an_agent_out_of_time_reports() -> Outcome {
    let world = World::lived_in()?;
    let played = world.play(
        "- [ ] T1 slow (timeout: 1s)\n",
        &slow(Script::default(), "T1"),
        |_| {},
    )?;
    played.require_failure("T1", FailureCause::Timeout, "`timeout` of 1 s")?;
    require_report(&played, "T1", FailureCause::Timeout)?;
    // What it had written is kept.
    let kept = played.pick(|event| match event {
        Event::SnapshotTaken { commit, .. } => Some(commit.to_string()),
        _ => None,
    });
    let Some(kept) = kept.last() else {
        return fail(played.story());
    };
    assert_eq!(
        world.repository.show(kept, "half.txt")?,
        "half",
        "half.txt is not kept"
    );
    Ok(())
}

fn the_agents_of_a_run_out_of_time_report() -> Outcome {
    let script = slow(slow(Script::default(), "T1"), "T2");
    let plan = "- [ ] T1 slow\n- [ ] T2 slow\n- [ ] T3 after (run: touch three) (depends: T1)\n";
    let played = World::lived_in()?.play(plan, &script, |settings| {
        settings.run.timeout_ms = Some(2_000)
    })?;
    for task in ["T1", "T2"] {
        played.require_failure(
            task,
            FailureCause::Timeout,
            "the run's time limit of 2 s is used up",
        )?;
        require_report(&played, task, FailureCause::Timeout)?;
    }
    Ok(())
}

/// Nothing but the end of its child lets the parent go on, and that comes with the end of the run's
/// time.
fn an_agent_that_waits_when_the_run_is_out_of_time_reports() -> Outcome {
    let script = Script::default()
        .rule(after("T1", LAST).text(REPORT))
        .rule(on("T1", 1).call("spawn_child_agent", &json!({"task": "Write two"})))
        .rule(waits(on("T1", 2), &["write_two"]));
    let (plan, script) = ("- [ ] T1 lead (agent: lead)\n", slow(script, "write_two"));
    let played = waits::world()?.play(plan, &script, |settings| {
        settings.run.timeout_ms = Some(6_000)
    })?;
    for task in ["T1", "write_two"] {
        played.require_failure(
            task,
            FailureCause::Timeout,
            "the run's time limit of 6 s is used up",
        )?;
        require_report(&played, task, FailureCause::Timeout)?;
    }
    Ok(())
}

/// The script answers nothing, so the last request fails.
fn without_a_reply_there_is_no_second_request() -> Outcome {
    let script = Script::default().rule(write("T1", "half.txt", "half\n"));
    let played = World::lived_in()?.play("- [ ] T1 busy (turns: 1)\n", &script, |_| {})?;
    played.require(4, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Turns, "turns")?;
    let (_, requests, report) = last_of(&played, "T1")?;
    assert!(requests.len() == 1 && report.is_none(), "{played}");
    Ok(())
}

fn an_agent_that_is_retried_can_report_again() -> Outcome {
    let world = World::lived_in()?;
    let script = busy(Script::default(), "T1", 9, 0);
    let played = world.play("- [ ] T1 busy (turns: 2)\n", &script, |_| {})?;
    require_report(&played, "T1", FailureCause::Turns)?;
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    store.send(
        &run,
        &orchestrate_core::Request::Retry {
            task: "T1".into(),
            message: None,
        },
    )?;
    let again = world.resume(&run, &script, |_| {})?;
    again.require(4, &[("T1", FailedTask)])?;
    let given = again.pick(|event| match event {
        Event::ReportGiven(given) => Some(given.summary.as_str()),
        _ => None,
    });
    assert_eq!(given, [REPORT, REPORT], "{again}");
    Ok(())
}
