//! Agents that spawn agents: what a child begins with, what it may do, and what is refused, in
//! whole runs.

use libtest_mimic::Failed;
use orchestrate_core::TaskRecord;
use orchestrate_core::TaskState::{Cancelled, Failed as FailedTask, Merged, NothingToDo};
use orchestrate_core::event::Event;
use serde_json::{Value, json};

use super::waits::{LEAD, world};
use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, at, case, done, on, plan_input,
    require_gone, runtime, says, seconds, shell, there_is, waits, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(children_begin_with_their_parents_work),
        case!(three_levels_finish_with_one_agent_at_a_time),
        case!(a_child_gets_no_more_than_its_parent_has),
        case!(a_child_that_fails_is_a_result_for_its_parent),
        case!(a_parent_ends_a_subtree_and_its_work_is_kept),
        case!(a_parent_is_ended_while_its_child_merges),
        case!(ended_work_goes_on_after_a_cleaning),
        case!(a_tree_is_landed_under_the_name_of_its_root),
        case!(a_childs_diff_begins_with_its_parents_work),
        case!(only_descendants_can_be_ended),
        case!(too_many_children_are_refused),
        case!(without_spawning_no_tool_for_it_is_offered),
    ]
}

fn spawn(rule: Rule, arguments: &Value) -> Rule {
    rule.call("spawn_child_agent", arguments)
}

/// Returns the names of the tools that an agent was offered.
fn offered(played: &Played, of: &str) -> Result<Vec<String>, Failed> {
    let requests = played.requests()?;
    let first = requests
        .iter()
        .find(|request| request.origin.task.as_str() == of);
    let tools = first
        .into_iter()
        .flat_map(|request| request.tools.iter())
        .map(|tool| tool.name.clone());
    Ok(tools.collect())
}

const LEADS: &str = "- [ ] T1 lead (agent: lead)\n";

/// A file that is not committed yet is in the children's worktrees, and a value reaches them as
/// material.
fn children_begin_with_their_parents_work() -> Outcome {
    let two = json!({"task": "Write two\n\n- from begun.txt", "context": {"port": 4711}});
    let three =
        json!({"task": "Write three", "role": "tester", "budget": 50_000, "tools": ["Bash"]});
    let script = Script::default()
        .rule(shell(on("T1", 1), "echo begun > begun.txt"))
        .rule(spawn(spawn(on("T1", 2), &two), &three))
        .rule(waits(on("T1", 3), &["write_two", "write_three"]))
        .rule(on("T1", 4).call("get_agent_status", &json!({"agent_id": "write_three"})))
        .rule(writes(on("T1", 5), "one.txt"))
        .rule(done("T1"))
        .rule(shell(on("write_two", 1), "cat begun.txt > two.txt"))
        .rule(Rule::task("write_two").text("Two is written."))
        .rule(shell(on("write_three", 1), "cat begun.txt > three.txt"))
        .rule(done("write_three"));
    let world = world()?;
    let played = world.play(LEADS, &script, |_| {})?;
    played.require_merged(&["T1", "write_two", "write_three"])?;
    for path in ["begun.txt", "two.txt", "three.txt"] {
        assert_eq!(world.merged(&played.report, path)?, "begun", "{played}");
    }
    let run = &played.report.run_id;
    let handles = [
        format!(
            "agent write_two (implementer) begins with your work so far, on the branch orchestrate/{run}/write_two"
        ),
        format!(
            "agent write_three (tester) begins with your work so far, on the branch orchestrate/{run}/write_three"
        ),
        "tools: run_shell_command\nbudget: 50000 tokens".to_owned(),
        "write_two (Write two): merged, idle-done".to_owned(),
        "report: Two is written.".to_owned(),
        "write_three (Write three): merged, idle-done".to_owned(),
    ];
    played.require_told("T1", &handles.each_ref().map(String::as_str))?;
    let given = [
        "- from begun.txt",
        "What agent T1, which gives you this task, adds to it:\n<data-",
        "{\"port\":4711}",
    ];
    played.require_told("write_two", &given)?;
    let calls = played.pick(|event| match event {
        Event::TaskAdded {
            spawn: Some(spawn), ..
        } => Some(spawn.call.as_ref().map(|call| call.turn)),
        _ => None,
    });
    assert!(
        calls == [Some(2), Some(2)] && offered(&played, "write_three")? == ["run_shell_command"],
        "{played}"
    );
    Ok(())
}

fn three_levels_finish_with_one_agent_at_a_time() -> Outcome {
    let script = Script::default()
        .rule(spawn(
            on("T1", 1),
            &json!({"task": "Lead below", "role": "lead"}),
        ))
        .rule(waits(after("T1", "begins with your work"), &["lead_below"]))
        .rule(writes(after("T1", "all of them are done"), "one.txt"))
        .rule(done("T1"))
        .rule(spawn(
            on("lead_below", 1),
            &json!({"task": "Write three", "role": "lead"}),
        ))
        .rule(waits(
            after("lead_below", "begins with your work"),
            &["write_three"],
        ))
        .rule(writes(
            after("lead_below", "all of them are done"),
            "two.txt",
        ))
        .rule(done("lead_below"))
        .rule(spawn(on("write_three", 1), &json!({"task": "Go on"})))
        .rule(writes(on("write_three", 2), "three.txt"))
        .rule(done("write_three"));
    let played = world()?.play(LEADS, &script, |settings| settings.run.max_agents = 1)?;
    played.require_merged(&["T1", "lead_below", "write_three"])?;
    // At the last level the tool is not offered, and a call of it is refused.
    let has_tool =
        |of| Ok::<_, Failed>(offered(&played, of)?.contains(&"spawn_child_agent".to_owned()));
    let levels = [
        has_tool("T1")?,
        has_tool("lead_below")?,
        has_tool("write_three")?,
    ];
    played.require_told("write_three", &["Security validation failed"])?;
    assert_eq!(levels, [true, true, false], "{played}");
    Ok(())
}

fn a_child_gets_no_more_than_its_parent_has() -> Outcome {
    let attempts = [
        json!({"task": "Delete it", "tools": ["delete_file", "Bash"]}),
        json!({"task": "Read it", "role": "reader"}),
        json!({"task": "Judge it", "tools": ["wait_for_agents"]}),
        json!({"task": " \n", "context": "x"}),
        json!({"task": "Carry it", "context": "x".repeat(70_000)}),
    ];
    let mut script = Script::default();
    for (turn, arguments) in (1..).zip(&attempts) {
        script = script.rule(spawn(on("T1", turn), arguments));
    }
    // The control: what the parent has is given, is all that the child is offered, and does the
    // child's work.
    let two = json!({"task": "Write two", "tools": ["Bash"]});
    let script = script
        .rule(spawn(on("T1", 6), &two))
        .rule(waits(on("T1", 7), &["write_two"]))
        .rule(writes(on("T1", 8), "one.txt"))
        .rule(done("T1"))
        .rule(shell(on("write_two", 1), "echo 2 > two.txt"))
        .rule(done("write_two"));
    let world = world()?;
    let played = world.play(LEADS, &script, |_| {})?;
    played.require_merged(&["T1", "write_two"])?;
    assert!(
        offered(&played, "write_two")? == ["run_shell_command"]
            && world.merged(&played.report, "two.txt")? == "2",
        "{played}"
    );
    let told = [
        "the child cannot have delete_file, since its role and its parent do not both have it; it can have: ",
        "there is no role 'reader'; the roles are: ",
        "the child cannot have wait_for_agents",
        "`task` is empty",
        "`context`: expected at most 65536 bytes, got 70000; refer to a file instead",
    ];
    played.require_told("T1", &told)
}

fn a_child_that_fails_is_a_result_for_its_parent() -> Outcome {
    let script = Script::default()
        .rule(spawn(
            spawn(
                on("T1", 1),
                &json!({"task": "Fail it", "role": "implementer"}),
            ),
            &json!({"task": "Say it"}),
        ))
        .rule(waits(on("T1", 2), &["fail", "say"]))
        .rule(writes(on("T1", 3), "one.txt"))
        .rule(done("T1"))
        .rule(Rule::task("fail").text("I changed nothing."))
        .rule(Rule::task("say").text("It is the third one."));
    let played = world()?.play(LEADS, &script, |_| {})?;
    // Without a role, nobody has said that a child must change files: its answer is its result.
    played.require(
        0,
        &[("T1", Merged), ("fail", FailedTask), ("say", NothingToDo)],
    )?;
    played.require_told("T1", &["say (Say it): ", "It is the third one."])?;
    let error = "error: the agent ended without changing a file; its report: I changed nothing.";
    played.require_told(
        "T1",
        &[
            "all of them are done",
            "fail (Fail it): failed, idle-done",
            error,
        ],
    )
}

/// The grandchild says when it has written its file, and then runs until it is ended.
fn a_parent_ends_a_subtree_and_its_work_is_kept() -> Outcome {
    let world = world()?;
    let seconds = seconds(world.home.path(), 4);
    let tells = json!({"agent_id": "T1", "message": "it has begun"});
    let script = Script::default()
        .rule(spawn(
            on("T1", 1),
            &json!({"task": "Lead below", "role": "lead"}),
        ))
        .rule(waits(on("T1", 2), &["lead_below"]))
        .rule(
            after("T1", "it has begun").call("terminate_agent", &json!({"agent_id": "lead_below"})),
        )
        .rule(writes(after("T1", "its work is kept"), "one.txt"))
        .rule(done("T1"))
        .rule(spawn(on("lead_below", 1), &json!({"task": "Sleep long"})))
        .rule(waits(Rule::task("lead_below"), &["sleep_long"]))
        .rule(shell(on("sleep_long", 1), "echo half > half.txt"))
        .rule(on("sleep_long", 2).call("send_message_to_agent", &tells))
        .rule(shell(on("sleep_long", 3), &format!("sleep {seconds}")));
    let played = world.play(LEADS, &script, |_| {})?;
    played.require(
        0,
        &[
            ("T1", Merged),
            ("lead_below", Cancelled),
            ("sleep_long", Cancelled),
        ],
    )?;
    require_gone(&seconds)?;
    let run = &played.report.run_id;
    let kept = format!(
        "sleep_long (Sleep long): cancelled; its work is kept: branch orchestrate/{run}/sleep_long, "
    );
    played.require_told(
        "T1",
        &[
            "lead_below (Lead below): cancelled; its work is kept",
            &kept,
        ],
    )?;
    let told = played.told("T1")?;
    let commit = told
        .split(&kept)
        .nth(1)
        .and_then(|rest| rest.strip_prefix("newest files in commit "));
    let commit = commit.map(|rest| {
        rest.chars()
            .take_while(char::is_ascii_hexdigit)
            .collect::<String>()
    });
    assert_eq!(
        world
            .repository
            .show(&commit.unwrap_or_default(), "half.txt")?,
        "half",
        "{told}"
    );
    Ok(())
}

/// Returns a command that waits until a file of this name is among the repository's objects, which
/// it can see.
fn until_there_is(name: &str) -> String {
    concat!("until ", there_is!("@"), "; do sleep 0.05; done").replace('@', name)
}

/// Plays a parent to whose branch the work of its child is being merged while it is ended, or
/// waited for.
fn while_its_child_merges(is_ended: bool) -> Result<(World, Played), Failed> {
    let world = world()?;
    let ends = json!({"command": until_there_is("end")});
    let third = on("T1", 3);
    let third = if is_ended {
        third.call("terminate_agent", &json!({"agent_id": "lead_below"}))
    } else {
        waits(third, &["lead_below"])
    };
    let script = Script::default()
        .rule(spawn(
            on("T1", 1),
            &json!({"task": "Lead below", "role": "lead"}),
        ))
        .rule(on("T1", 2).call("run_shell_command", &ends))
        .rule(third)
        .rule(writes(on("T1", 4), "one.txt"))
        .rule(done("T1"))
        .rule(spawn(on("lead_below", 1), &json!({"task": "Write three"})))
        .rule(waits(on("lead_below", 2), &["write_three"]))
        .rule(done("lead_below"))
        .rule(writes(on("write_three", 1), "three.txt"))
        .rule(done("write_three"));
    let check = format!("test ! -e three.txt || {}", until_there_is("go"));
    let coordinator = world.coordinator(&script, |settings| settings.run.verify = Some(check))?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(LEADS)?).await?;
        let mut state = run.watch();
        state
            .wait_for(|state| {
                state
                    .merges
                    .current()
                    .is_some_and(|task| task.as_str() == "write_three")
            })
            .await?;
        world.repository.write(".git/objects/end", "")?;
        if is_ended {
            state
                .wait_for(|state| {
                    state
                        .task(&"lead_below".into())
                        .is_some_and(TaskRecord::is_stopping)
                })
                .await?;
        }
        world.repository.write(".git/objects/go", "")?;
        Ok::<_, Failed>(run.wait().await?)
    })?;
    Ok((world, Played::of(coordinator, report)?))
}

/// An agent is ended while the work of its child is merged into its branch: the merge comes to its
/// end, and what it made is kept.
fn a_parent_is_ended_while_its_child_merges() -> Outcome {
    let (world, played) = while_its_child_merges(true)?;
    played.require(
        0,
        &[
            ("T1", Merged),
            ("lead_below", Cancelled),
            ("write_three", Merged),
        ],
    )?;
    let asked = played.first(|event| matches!(event, Event::StopRequested { .. }))?;
    let merged = played.first(|event| matches!(event, Event::TaskMerged { .. }))?;
    let cancelled = played.first(|event| matches!(event, Event::TaskCancelled { .. }))?;
    let branch = format!("orchestrate/{}/lead_below", played.report.run_id);
    let is_kept = world.repository.show(&branch, "three.txt")? == "1";
    let is_left_out = world.merged(&played.report, "three.txt").is_err();
    let is_in_order = [asked, merged, cancelled].is_sorted();
    assert!(is_in_order && is_kept && is_left_out, "{played}");
    // The control: the same work is in the result if the parent is waited for instead.
    let (world, played) = while_its_child_merges(false)?;
    played.require_merged(&["T1", "lead_below", "write_three"])?;
    assert_eq!(world.merged(&played.report, "three.txt")?, "1", "{played}");
    Ok(())
}

/// The child was ended before it had committed its file, and its worktree is gone.
fn ended_work_goes_on_after_a_cleaning() -> Outcome {
    let world = world()?;
    let seconds = seconds(world.home.path(), 5);
    let tells = json!({"agent_id": "T1", "message": "it has begun"});
    let script = Script::default()
        .rule(spawn(on("T1", 1), &json!({"task": "Sleep long"})))
        .rule(waits(on("T1", 2), &["sleep_long"]))
        .rule(
            after("T1", "it has begun").call("terminate_agent", &json!({"agent_id": "sleep_long"})),
        )
        .rule(writes(after("T1", "its work is kept"), "one.txt"))
        .rule(done("T1"))
        .rule(shell(on("sleep_long", 1), "echo half > half.txt"))
        .rule(on("sleep_long", 2).call("send_message_to_agent", &tells))
        .rule(shell(on("sleep_long", 3), &format!("sleep {seconds}")))
        .rule(done("sleep_long"));
    let model = world.script(&script)?;
    world.write("plan.md", LEADS)?;
    let ran = world.types(&["run", &world.file("plan.md"), "--model", &model], 0)?;
    let said = [
        "sleep_long: its work is kept, and not in the result",
        "\n  orchestrate retry sleep_long -m TEXT\n",
    ];
    says(&ran, &said)?;
    says(&world.types(&["clean"], 0)?, &["removed", "/sleep_long"])?;
    let retried = world.types(&["retry", "sleep_long", "--json"], 0)?.json()?;
    let result = at(&retried, "/integration_commit")?
        .as_str()
        .unwrap_or_default();
    let files = world.git(&format!("ls-tree -r --name-only {result}"))?;
    let has = |name: &str| files.lines().any(|file| file == name);
    assert!(has("half.txt") && has("one.txt"), "{files}");
    Ok(())
}

/// The newest commit of the root's work is a merge of its child's.
fn a_tree_is_landed_under_the_name_of_its_root() -> Outcome {
    let world = world()?;
    let script = Script::default()
        .rule(writes(on("T1", 1), "one.txt"))
        .rule(spawn(on("T1", 2), &json!({"task": "Write two"})))
        .rule(waits(on("T1", 3), &["write_two"]))
        .rule(Rule::task("T1").text("Led."))
        .rule(writes(on("write_two", 1), "two.txt"))
        .rule(done("write_two"));
    let model = world.script(&script)?;
    world.write("plan.md", LEADS)?;
    world.types(&["run", &world.file("plan.md"), "--model", &model], 0)?;
    let before = world.git("rev-parse main")?;
    world.types(&["land", "--rebase"], 0)?;
    let new = format!("{before}..main");
    let subjects = world.git(&format!("log --format=%s {new}"))?;
    let tasks = world.git(&format!(
        "log --format=%(trailers:key=Orchestrate-Task,valueonly) {new}"
    ))?;
    let body = world.git(&format!("log --format=%b {new}"))?;
    assert_eq!(subjects, "lead", "{tasks}\n{body}");
    assert!(
        tasks.split_whitespace().eq(["T1", "write_two"]),
        "{subjects}\n{tasks}\n{body}"
    );
    assert!(body.starts_with("Led.\n"), "{subjects}\n{tasks}\n{body}");
    world.types(&["land", "--undo"], 0)?;
    world.types(&["land"], 0)?;
    let subjects = world.git(&format!("log --format=%s {new}"))?;
    assert!(
        subjects.contains("Work of T1 so far, for its children"),
        "{subjects}"
    );
    Ok(())
}

/// Both change the same file, which the parent has begun; the child waits for an approval.
fn a_childs_diff_begins_with_its_parents_work() -> Outcome {
    let world = world()?;
    // A child cannot do what its parent cannot.
    world.commit(
        ".orchestrate/agents/lead.md",
        &LEAD.replace("tools: ", "tools: git_commit, "),
    )?;
    let script = Script::default()
        .rule(shell(on("T1", 1), "echo mine | tee begun.txt > only.txt"))
        .rule(spawn(on("T1", 2), &json!({"task": "Write two"})))
        .rule(waits(Rule::task("T1"), &["write_two"]))
        .rule(shell(on("write_two", 1), "echo theirs > begun.txt"))
        .rule(on("write_two", 2).call("git_commit", &json!({"message": "Theirs"})))
        .rule(shell(on("write_two", 3), "git push now"));
    let model = world.script(&script)?;
    world.write("plan.md", LEADS)?;
    let typed = [
        "run",
        &world.file("plan.md"),
        "--model",
        &model,
        "--ask",
        "Bash(git push*)",
    ];
    world
        .orchestrate(&typed)
        .env("ORCHESTRATE_ASK", "park")
        .run()?
        .exits(3)?;
    let diff = world.types(&["diff", "write_two"], 0)?.stdout;
    assert!(diff.contains("-mine\n+theirs\n"), "{diff}");
    assert!(!diff.contains("only.txt"), "{diff}");
    let listed = world.types(&["review"], 0)?;
    says(
        &listed,
        &[
            "of write_two waits for your decision",
            "\n  orchestrate approve ",
        ],
    )?;
    says(
        &world.types(&["review", "write_two"], 0)?,
        &["of write_two waits for your decision"],
    )?;
    let entries = world.types(&["review", "--json"], 0)?.json()?;
    let overlaps = |at: usize| {
        entries["items"]
            .get(at)
            .and_then(|entry| entry.get("overlaps"))
            .cloned()
    };
    assert_eq!(
        [overlaps(0), overlaps(1)],
        [Some(json!([])), Some(json!([]))],
        "{entries}"
    );
    Ok(())
}

fn only_descendants_can_be_ended() -> Outcome {
    let ends =
        |rule: Rule, agent: &str| rule.call("terminate_agent", &json!({ "agent_id": agent }));
    let mut script = Script::default().rule(spawn(
        on("T1", 1),
        &json!({"task": "Below", "role": "lead"}),
    ));
    for (turn, agent) in (2..).zip(["T1", "T2", "T9"]) {
        script = script.rule(ends(on("T1", turn), agent));
    }
    let script = script
        .rule(waits(on("T1", 5), &["below"]))
        .rule(ends(on("T1", 6), "below"))
        .rule(writes(on("T1", 7), "one.txt"))
        .rule(ends(on("below", 1), "T1"))
        .rule(writes(on("below", 2), "below.txt"))
        .rule(writes(on("T2", 1), "two.txt"))
        .rule(Rule::any().text("Done."));
    let played = world()?.play(&format!("{LEADS}- [ ] T2 beside\n"), &script, |_| {})?;
    played.require_merged(&["T1", "T2", "below"])?;
    let refused = |agent: &str, own: &str| {
        format!("an agent can end only those below it, and '{agent}' is not: {own}")
    };
    let unknown = "there is no agent 'T9' in this run; those below you are: below".to_owned();
    let told = [refused("T1", "below"), refused("T2", "below"), unknown];
    played.require_told("T1", &told.each_ref().map(String::as_str))?;
    // What has ended already is only reported.
    played.require_told("T1", &["below (Below): merged; its work is kept: branch"])?;
    played.require_told("below", &[&refused("T1", "none")])
}

/// An agent that does nothing but spawn is told where it ends, and so are its children.
fn too_many_children_are_refused() -> Outcome {
    let again = json!({"task": "Again", "role": "lead"});
    let script = Script::default()
        .rule(writes(
            Rule::any().last_contains("Security validation failed"),
            "one.txt",
        ))
        .rule(writes(
            Rule::any().last_contains("that have not ended"),
            "one.txt",
        ))
        .rule(Rule::any().last_contains("one.txt").text("Done."))
        .rule(spawn(Rule::any(), &again));
    let limits = |settings: &mut orchestrate_coordinator::Settings| {
        (settings.run.max_children_per_agent, settings.run.max_depth) = (2, 2);
        // No child can end before its parent has ended its turns, or waits.
        settings.run.max_agents = 1;
    };
    let played = world()?.play(LEADS, &script, limits)?;
    let refused =
        "agent T1 has 2 children that have not ended, the maximum set by `max_children_per_agent`";
    played.require_told("T1", &[refused])?;
    let too_deep = "this agent may not use `spawn_child_agent`: a child of agent again would exceed `max_depth` 2";
    played.require_told("again", &[too_deep])?;
    // The control: the children that the limits leave are there.
    let names: Vec<&str> = played
        .report
        .tasks
        .iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(names, ["T1", "again", "again_2"], "{played}");
    Ok(())
}

fn without_spawning_no_tool_for_it_is_offered() -> Outcome {
    let script = Script::default()
        .rule(spawn(on("T1", 1), &json!({"task": "Write it"})))
        .rule(Rule::task("T1").text("I cannot."));
    let played = world()?.play(LEADS, &script, |settings| settings.run.max_depth = 0)?;
    played.require(5, &[("T1", FailedTask)])?;
    let why = "Security validation failed: this agent may not use `spawn_child_agent`: a child of agent T1 would exceed";
    played.require_told("T1", &[why])?;
    let tools = offered(&played, "T1")?;
    let has = |tool: &str| tools.iter().any(|offered| offered == tool);
    assert!(has("wait_for_agents"), "{tools:?}");
    assert!(!has("spawn_child_agent"), "{tools:?}");
    Ok(())
}
