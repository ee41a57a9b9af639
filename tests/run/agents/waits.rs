//! Agents that wait for other agents, and what they can see of them, in whole runs.

use orchestrate_core::TaskState::{Failed as FailedTask, Merged, Waiting};
use orchestrate_core::event::Event;
use orchestrate_core::policy::{RuleDecision, RuleText};
use serde_json::json;

use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, case, done, fail, on, shell, waits, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(three_levels_finish_with_one_agent_at_a_time),
        case!(a_deadline_ends_a_wait),
        case!(asking_and_waiting_again_is_no_loop),
        case!(a_wait_that_cannot_end_is_refused),
        case!(a_message_ends_a_wait),
        case!(agents_are_seen),
        case!(a_run_that_waits_for_a_person_is_resumed),
    ]
}

/// A role whose agents wait for others.
pub(crate) const LEAD: &str = "---\nname: lead\ndescription: Leads.\ntools: write_file, run_shell_command, wait_for_agents, \
     get_agent_status, list_active_agents, send_message_to_agent, spawn_child_agent, terminate_agent\n---\nYou lead.\n";

pub(crate) fn world() -> Result<World, libtest_mimic::Failed> {
    let world = World::plain()?;
    world.commit(".orchestrate/agents/lead.md", LEAD)?;
    Ok(world)
}

/// Returns a script in which T1 waits for T2, which waits for T3.
fn levels() -> Script {
    let over = |task: &str| after(task, "all of them are done");
    Script::default()
        .rule(waits(on("T1", 1), &["T2"]))
        .rule(writes(over("T1"), "one.txt"))
        .rule(done("T1"))
        .rule(waits(on("T2", 1), &["T3"]))
        .rule(writes(over("T2"), "two.txt"))
        .rule(Rule::task("T2").text("Two is written."))
        .writes("T3", "three.txt", "3\n")
}

const LEVELS: &str =
    "- [ ] T1 lead (agent: lead)\n- [ ] T2 lead below (agent: lead)\n- [ ] T3 write\n";

fn position(
    played: &Played,
    of: &str,
    fits: impl Fn(&Event) -> bool,
) -> Result<u64, libtest_mimic::Failed> {
    played.first(|event| event.task().is_some_and(|task| task.as_str() == of) && fits(event))
}

fn three_levels_finish_with_one_agent_at_a_time() -> Outcome {
    let played = world()?.play(LEVELS, &levels(), |settings| settings.run.max_agents = 1)?;
    played.require_merged(&["T1", "T2", "T3"])?;
    played.require_told(
        "T1",
        &[
            "T2 (lead below): merged, idle-done",
            "report: Two is written.",
        ],
    )?;
    let waits = |of| {
        position(&played, of, |event| {
            matches!(event, Event::AgentWaiting { .. })
        })
    };
    let begins = |of| {
        position(&played, of, |event| {
            matches!(event, Event::AgentSpawned { .. })
        })
    };
    let merged = |of| {
        position(&played, of, |event| {
            matches!(event, Event::TaskMerged { .. })
        })
    };
    let answered = |of| {
        position(&played, of, |event| {
            matches!(event, Event::ToolFinished { .. })
        })
    };
    let order = [
        waits("T1")?,
        begins("T2")?,
        waits("T2")?,
        begins("T3")?,
        merged("T3")?,
        answered("T2")?,
        merged("T2")?,
        answered("T1")?,
    ];
    // The call is made once, by the worker that answers it, and nothing of it is open meanwhile.
    let tools = [played.tools("T1"), played.tools("T2")];
    assert!(order.is_sorted(), "{played}");
    assert_eq!(tools, [["wait_for_agents", "write_file"]; 2], "{played}");
    Ok(())
}

/// Returns a script in which T2's call has to be decided by a person, and what makes the run park
/// it.
pub(crate) fn parking(
    first: Rule,
) -> (
    Script,
    impl Fn(&mut orchestrate_coordinator::Settings) + Copy,
) {
    let script = Script::default()
        .rule(first)
        .rule(writes(after("T1", "T2 (publish)"), "one.txt"))
        .rule(done("T1"))
        .rule(shell(on("T2", 1), "touch two.txt"))
        .rule(done("T2"));
    let parks = |settings: &mut orchestrate_coordinator::Settings| {
        let rule = "run_shell_command(touch*)".to_owned();
        settings.run.rules = vec![RuleText::new(RuleDecision::Ask, rule, "--ask")];
        settings.run.ask_parks = true;
    };
    (script, parks)
}

const PARKING: &str = "- [ ] T1 lead (agent: lead)\n- [ ] T2 publish\n";

/// A run with a deadline goes on until that, although everything else waits for a person.
fn a_deadline_ends_a_wait() -> Outcome {
    let timed = json!({"agent_ids": ["T2"], "timeout": 1});
    let (script, parks) = parking(on("T1", 1).call("wait_for_agents", &timed));
    let played = world()?.play(PARKING, &script, parks)?;
    played.require(3, &[("T1", Merged), ("T2", Waiting)])?;
    let told = [
        "the time is over; not all of them are done",
        "T2 (publish): waiting, waiting-human",
    ];
    played.require_told("T1", &told)?;
    let ends = played.pick(|event| match event {
        Event::AgentWoken { task, timed_out } => Some((task.to_string(), *timed_out)),
        _ => None,
    });
    let shown = serde_json::to_value(&played.report)?;
    let seen = [
        &shown["tasks"][0]["liveness"],
        &shown["tasks"][1]["liveness"],
    ];
    assert_eq!(ends, [("T1".to_owned(), true)], "{played}");
    assert_eq!(seen, ["idle-done", "waiting-human"], "{played}");
    Ok(())
}

/// An agent that asks what another one is doing is told to wait; one that waits is told nothing,
/// however often it does.
fn asking_and_waiting_again_is_no_loop() -> Outcome {
    let mut script = Script::default();
    for turn in 1..=3 {
        script = script.rule(on("T1", turn).call("get_agent_status", &json!({"agent_id": "T2"})));
    }
    for turn in 4..=6 {
        let timed = json!({"agent_ids": ["T2"], "timeout": 1});
        script = script.rule(on("T1", turn).call("wait_for_agents", &timed));
    }
    for turn in 7..=9 {
        script = script.rule(on("T1", turn).call("get_agent_status", &json!({"agent_id": "T9"})));
    }
    let (parked, parks) = parking(writes(on("T1", 10), "one.txt"));
    let script = script.then(parked);
    let played = world()?.play(PARKING, &script, |settings| {
        parks(settings);
        settings.run.max_agents = 1;
    })?;
    played.require(3, &[("T1", Merged), ("T2", Waiting)])?;
    played.require_told(
        "T1",
        &[
            "nothing has changed yet. Wait for it with `wait_for_agents`",
            "the time is over",
        ],
    )?;
    // The control: asking about what never changes is a loop, and the agent is told so once it has
    // asked three times.
    let (requests, warning) = (played.requests()?, "You have made the same calls");
    let first = requests.iter().find(|request| {
        request.origin.task.as_str() == "T1" && format!("{:?}", request.messages).contains(warning)
    });
    assert!(
        first.is_some_and(|request| request.origin.turn == 10),
        "{played}"
    );
    Ok(())
}

/// Without a deadline the run ends instead, and the wait outlives the process.
fn a_run_that_waits_for_a_person_is_resumed() -> Outcome {
    let world = world()?;
    let (script, parks) = parking(waits(on("T1", 1), &["T2"]));
    let first = world.play(PARKING, &script, parks)?;
    first.require(3, &[("T1", Waiting), ("T2", Waiting)])?;
    let shown = serde_json::to_value(&first.report)?;
    if shown["tasks"][0]["blocked_on"] != json!({"agents": ["T2"]}) {
        return fail(shown);
    }
    let run = first.allow_all()?;
    let resumed = world.resume(&run, &script, parks)?;
    resumed.require_merged(&["T1", "T2"])?;
    resumed.require_told(
        "T1",
        &["all of them are done", "T2 (publish): merged, idle-done"],
    )
}

fn a_wait_that_cannot_end_is_refused() -> Outcome {
    let refused = |turn, ids: &[&str]| waits(on("T1", turn), ids);
    let script = Script::default()
        .rule(refused(1, &["T1"]))
        .rule(refused(2, &["T9"]))
        .rule(refused(3, &["T2"]))
        .rule(writes(on("T1", 4), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let played = world()?.play(
        "- [ ] T1 lead (agent: lead)\n- [ ] T2 follow (depends: T1)\n",
        &script,
        |_| {},
    )?;
    played.require_merged(&["T1", "T2"])?;
    let told = [
        "an agent cannot wait for itself",
        "there is no agent 'T9' in this run; the agents are: T1, T2",
        "this would never end: T2 cannot end before this agent goes on",
    ];
    let waits = played.pick(|event| matches!(event, Event::AgentWaiting { .. }).then_some(()));
    if waits.is_empty() {
        played.require_told("T1", &told)
    } else {
        fail(played.story())
    }
}

/// T2 asks T1, which waits for it, and waits for the answer. One agent at a time makes the order
/// certain.
fn a_message_ends_a_wait() -> Outcome {
    let send = |rule: Rule, to: &str, text: &str| {
        rule.call(
            "send_message_to_agent",
            &json!({"agent_id": to, "message": text}),
        )
    };
    let script = Script::default()
        .rule(waits(on("T1", 1), &["T2"]))
        .rule(send(after("T1", "which port?"), "T2", "4711"))
        .rule(writes(after("T1", "is queued"), "one.txt"))
        .rule(done("T1"))
        .rule(send(on("T2", 1), "T1", "which port?"))
        .rule(waits(on("T2", 2), &["T1"]))
        .rule(writes(after("T2", "4711"), "two.txt"))
        .rule(done("T2"));
    let plan = "- [ ] T1 lead (agent: lead)\n- [ ] T2 lead below (agent: lead)\n";
    let played = world()?.play(plan, &script, |settings| settings.run.max_agents = 1)?;
    played.require_merged(&["T1", "T2"])?;
    let why = "a message for you has come, which follows; not all of them are done";
    played.require_told("T1", &[why, "T2 (lead below): waiting, blocked-on"])?;
    // T1 may be done by the time that T2 reads the answer.
    played.require_told("T2", &["4711"])
}

fn agents_are_seen() -> Outcome {
    let look = |turn, id: &str| on("T1", turn).call("get_agent_status", &json!({ "agent_id": id }));
    let script = Script::default()
        .rule(look(1, "T2"))
        .rule(look(2, "T9"))
        .rule(on("T1", 3).call("list_active_agents", &json!({})))
        .rule(writes(on("T1", 4), "one.txt"))
        .rule(done("T1"))
        .rule(Rule::task("T2").text("Nothing to do."))
        .rule(done("T3"));
    let plan = "- [ ] T1 lead (agent: lead)\n- [ ] T2 write\n- [ ] T3 follow (depends: T2)\n- [ ] T4 make (run: touch four.txt)\n";
    let played = world()?.play(plan, &script, |settings| settings.run.max_agents = 1)?;
    let status = "T2 (write): ready, blocked-on a free slot\nattempt 0, 0 turns, 0 tokens";
    let list = "T1 (lead): running, working; turn 3, last tool list_active_agents\nT2 (write): ready, blocked-on a free slot\n\
                T3 (follow): pending, blocked-on the tasks T2";
    played.require_told("T1", &[status, list, "there is no agent 'T9' in this run"])?;
    let states: Vec<_> = played.report.tasks.iter().map(|task| task.state).collect();
    assert_eq!(states.get(1), Some(&FailedTask), "{played}");
    Ok(())
}
