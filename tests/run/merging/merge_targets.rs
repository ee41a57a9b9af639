//! Children whose work is merged into their parent's branch, in whole runs.

use libtest_mimic::Failed;
use orchestrate_coordinator::{ChildSpec, Settings};
use orchestrate_core::TaskState::{Conflicted, Merged};
use orchestrate_core::event::Event;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{MergeTarget, TaskState};
use serde_json::json;

use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, case, done, fail, on, put, reads, runtime,
    shell, waits, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_parent_takes_the_work_of_two_children),
        case!(a_conflict_between_siblings_is_resolved),
        case!(a_conflict_between_siblings_is_given_up),
        case!(a_child_whose_merged_tree_fails_repairs_it),
        case!(a_finished_parent_waits_for_its_children),
        case!(three_levels_with_one_agent_at_a_time),
        case!(a_parent_that_reports_hands_over_its_children),
        case!(a_file_of_a_person_is_not_lost),
        case!(a_parent_that_ends_a_child_takes_the_work_of_another),
    ]
}

/// A role whose agents write, and a role whose agents report. A child may do no more than its
/// parent.
const ROLES: [(&str, &str); 2] = [
    ("lead", ""),
    ("chief", "metadata:\n  orchestrate-delivers: report\n"),
];

fn role(name: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Leads.\ntools: read_file, write_file, run_shell_command, wait_for_agents, \
         get_agent_status, list_active_agents\n{more}---\nYou lead.\n"
    )
}

/// Spawns agents, each with a role and a parent, merges the first one's work, and returns the run
/// that has ended.
fn grow(
    script: &Script,
    change: impl Fn(&mut Settings) + Copy,
    agents: &[(&str, Option<&str>, Option<&str>)],
) -> Result<(World, Played), Failed> {
    let world = World::plain()?;
    for (name, more) in ROLES {
        world
            .repository
            .write(&format!(".orchestrate/agents/{name}.md"), &role(name, more))?;
    }
    world.repository.commit_all("Add roles")?;
    let coordinator = world.coordinator(script, change)?;
    let report = runtime()?.block_on(async {
        let mut spawned = Vec::new();
        for (id, role, parent) in agents {
            let role = role.map(str::to_owned);
            let parent = parent.map(Into::into);
            let spec = ChildSpec {
                id: Some((*id).into()),
                role,
                parent,
                ..ChildSpec::new(format!("write {id}"))
            };
            spawned.push(coordinator.spawn(spec).await?);
        }
        coordinator.merge(&spawned[..1]).await?;
        let Some(report) = coordinator.finish().await? else {
            return fail("no run was open");
        };
        Ok::<_, Failed>(report)
    })?;
    Ok((world, Played::of(coordinator, report)?))
}

const FAMILY: [(&str, Option<&str>, Option<&str>); 3] = [
    ("p", Some("lead"), None),
    ("a", None, Some("p")),
    ("b", None, Some("p")),
];

/// Returns rules by which an agent waits for others, as soon as they have been spawned.
fn waits_soon(script: Script, task: &str, ids: &[&str]) -> Script {
    let look = after(task, "there is no agent").call("list_active_agents", &json!({}));
    script
        .rule(look)
        .rule(waits(after(task, "running, working"), ids))
        .rule(waits(on(task, 1), ids))
}

fn over(task: &str) -> Rule {
    after(task, "all of them are done")
}

fn state_of(played: &Played, id: &str) -> Option<TaskState> {
    played
        .report
        .tasks
        .iter()
        .find(|task| task.id.as_str() == id)
        .map(|task| task.state)
}

/// Returns where each task was merged, in the order of the merges.
fn merges(played: &Played) -> Vec<String> {
    let begun = |event: &Event| match event {
        Event::MergeStarted {
            task,
            into: MergeTarget::Integration,
            ..
        } => Some(format!("{task} up")),
        Event::MergeStarted {
            task,
            into: MergeTarget::Agent(agent),
            ..
        } => Some(format!("{task} into {agent}")),
        _ => None,
    };
    played.pick(begun)
}

fn a_parent_takes_the_work_of_two_children() -> Outcome {
    let script = Script::default()
        .rule(shell(over("p"), "cat p.txt a.txt b.txt"))
        .rule(after("p", "mine\na\nb").text("All is there."))
        .rule(put(on("p", 1), "p.txt", "mine\n"))
        .rule(waits(after("p", "p.txt"), &["a", "b"]))
        .rule(write("a", "a.txt", "a\n"))
        .rule(write("b", "b.txt", "b\n"))
        .rule(done("a"))
        .rule(done("b"));
    let (world, played) = grow(&waits_soon(script, "p", &["a", "b"]), |_| {}, &FAMILY)?;
    played.require_merged(&["p", "a", "b"])?;
    for (file, content) in [("p.txt", "mine"), ("a.txt", "a"), ("b.txt", "b")] {
        if world.merged(&played.report, file)? != content {
            return fail(format!("{file}\n{}", played.story()));
        }
    }
    let mut order = merges(&played);
    let last = order.pop();
    order.sort();
    let woken = played.first(|event| matches!(event, Event::AgentWoken { .. }))?;
    let taken = played
        .facts
        .iter()
        .filter(|fact| fact.seq < woken && matches!(fact.event, Event::TaskMerged { .. }));
    assert_eq!(order, ["a into p", "b into p"], "{played}");
    assert_eq!(last.as_deref(), Some("p up"), "{played}");
    assert_eq!(taken.count(), 2, "{played}");
    played.require_told(
        "p",
        &[
            "a (write a): merged, idle-done",
            "merged as ",
            ": a.txt",
            ": b.txt",
        ],
    )
}

/// Two children write the same file, and each keeps both lines if it conflicts.
fn siblings() -> Script {
    let script = Script::default().rule(over("p").text("Both have tried."));
    let script = ["a", "b"].into_iter().fold(script, |script, id| {
        let looks = reads(Rule::task(id).returned(ReturnCause::Conflict), "shared.txt");
        let resolves = put(after(id, "<<<<<<<"), "shared.txt", "a and b\n");
        script
            .rule(looks)
            .rule(resolves)
            .writes(id, "shared.txt", &format!("{id}\n"))
    });
    waits_soon(script, "p", &["a", "b"])
}

fn a_conflict_between_siblings_is_resolved() -> Outcome {
    let (world, played) = grow(&siblings(), |_| {}, &FAMILY)?;
    played.require_merged(&["p", "a", "b"])?;
    let returned = played.pick(|event| match event {
        Event::TaskReturned {
            cause: ReturnCause::Conflict,
            onto,
            ..
        } => onto.clone(),
        _ => None,
    });
    let first = played.pick(|event| match event {
        Event::TaskMerged { commit, .. } => commit.clone(),
        _ => None,
    });
    // The other one's work came from the parent's branch.
    assert_eq!(returned.len(), 1, "{played}");
    assert_eq!(returned.first(), first.first(), "{played}");
    assert_eq!(
        world.merged(&played.report, "shared.txt")?,
        "a and b",
        "{played}"
    );
    Ok(())
}

fn a_conflict_between_siblings_is_given_up() -> Outcome {
    let (world, played) = grow(
        &siblings(),
        |settings| settings.run.merge_rounds = 0,
        &FAMILY,
    )?;
    let mut ends = ["a", "b"].map(|id| (state_of(&played, id), id));
    ends.sort_by_key(|(state, _)| *state == Some(Conflicted));
    let [(Some(Merged), kept), (Some(Conflicted), _)] = ends else {
        return fail(played.story());
    };
    assert!(
        state_of(&played, "p") == Some(Merged)
            && world.merged(&played.report, "shared.txt")? == kept,
        "{played}"
    );
    played.require_told(
        "p",
        &[
            "conflicted, idle-done",
            "error: the branch cannot be merged (conflicts in shared.txt",
        ],
    )
}

/// Each child passes alone; together with the parent's file, the run's check fails.
fn a_child_whose_merged_tree_fails_repairs_it() -> Outcome {
    let script = Script::default()
        .rule(over("p").text("Done."))
        .rule(put(on("p", 1), "p.txt", "1\n"))
        .rule(waits(after("p", "p.txt"), &["a", "b"]))
        .rule(put(
            Rule::task("a").returned(ReturnCause::RunCheck),
            "a.txt",
            "good\n",
        ))
        .writes("a", "a.txt", "bad\n")
        .writes("b", "b.txt", "b\n");
    let check =
        |settings: &mut Settings| settings.run.verify = Some("! grep -s bad a.txt".to_owned());
    let (world, played) = grow(&waits_soon(script, "p", &["a", "b"]), check, &FAMILY)?;
    played.require_merged(&["p", "a", "b"])?;
    let returns = played.pick(|event| match event {
        Event::TaskReturned { task, cause, .. } => Some((task.as_str(), *cause)),
        _ => None,
    });
    assert_eq!(returns, [("a", ReturnCause::RunCheck)], "{played}");
    assert_eq!(world.merged(&played.report, "a.txt")?, "good", "{played}");
    Ok(())
}

fn a_finished_parent_waits_for_its_children() -> Outcome {
    let looks = |rule: Rule| rule.call("get_agent_status", &json!({ "agent_id": "b" }));
    let script = Script::default()
        .rule(shell(
            Rule::task("p").returned(ReturnCause::ChildrenEnded),
            "cat a.txt b.txt",
        ))
        .rule(after("p", "a\nb").text("Now all is there."))
        .rule(after("p", "b (write b)").text("I have finished."))
        .rule(after("p", "there is no agent").call("list_active_agents", &json!({})))
        .rule(looks(after("p", "running, working")))
        .rule(looks(on("p", 1)))
        .rule(write("a", "a.txt", "a\n"))
        .rule(write("b", "b.txt", "b\n"))
        .rule(done("a"))
        .rule(done("b"));
    let (world, played) = grow(&script, |_| {}, &FAMILY)?;
    played.require_merged(&["p", "a", "b"])?;
    played.require_told(
        "p",
        &[
            "You finished before agents that you spawned",
            "b (write b): merged",
            ": b.txt",
        ],
    )?;
    // The control: the parent finishes twice, and is held up only while a child works: the second
    // time it is merged.
    let waited = played.pick(|event| matches!(event, Event::HandOverWaiting { .. }).then_some(()));
    assert_eq!(waited.len(), 1, "{played}");
    assert_eq!(world.merged(&played.report, "b.txt")?, "b", "{played}");
    Ok(())
}

fn three_levels_with_one_agent_at_a_time() -> Outcome {
    let script = Script::default()
        .rule(over("p").text("The middle is done."))
        .rule(put(over("c"), "c.txt", "c\n"))
        .rule(after("c", "c.txt").text("The lowest is done, and so am I."))
        .writes("g", "g.txt", "g\n");
    let script = waits_soon(waits_soon(script, "p", &["c"]), "c", &["g"]);
    let agents = [
        ("p", Some("lead"), None),
        ("c", Some("lead"), Some("p")),
        ("g", None, Some("c")),
    ];
    let (world, played) = grow(&script, |settings| settings.run.max_agents = 1, &agents)?;
    played.require_merged(&["p", "c", "g"])?;
    if merges(&played) != ["g into c", "c into p", "p up"] {
        return fail(played.story());
    }
    assert_eq!(world.merged(&played.report, "g.txt")?, "g", "{played}");
    Ok(())
}

/// The files of an agent that reports are no work, but those of its children are, and replace its
/// own.
fn a_parent_that_reports_hands_over_its_children() -> Outcome {
    let script = Script::default()
        .rule(shell(over("p"), "cat a.txt note.txt"))
        .rule(after("p", "a\nnoted").text("They have done it."))
        .rule(shell(
            on("p", 1),
            "echo other > a.txt; echo noted > note.txt; echo made",
        ))
        .rule(waits(after("p", "made"), &["a"]))
        .writes("a", "a.txt", "a\n");
    let agents = [("p", Some("chief"), None), ("a", None, Some("p"))];
    let (world, played) = grow(&waits_soon(script, "p", &["a"]), |_| {}, &agents)?;
    played.require_merged(&["p", "a"])?;
    let has_note = world.merged(&played.report, "note.txt").is_ok();
    assert_eq!(world.merged(&played.report, "a.txt")?, "a", "{played}");
    assert!(!has_note, "{played}");
    Ok(())
}

/// A file that git ignores stands where a child's file is to be: the parent fails, and the file
/// stays.
fn a_file_of_a_person_is_not_lost() -> Outcome {
    let script = Script::default()
        .rule(shell(
            on("p", 1),
            "printf '/kept.txt\\n' > .gitignore; printf 'mine\\n' > kept.txt; echo made",
        ))
        .rule(waits(after("p", "made"), &["a"]))
        .writes("a", "kept.txt", "yours\n");
    let agents = [("p", Some("lead"), None), ("a", None, Some("p"))];
    let (_, played) = grow(&waits_soon(script, "p", &["a"]), |_| {}, &agents)?;
    assert_eq!(state_of(&played, "a"), Some(Merged), "{played}");
    assert_eq!(state_of(&played, "p"), Some(TaskState::Failed), "{played}");
    let message = played
        .report
        .tasks
        .first()
        .and_then(|task| task.error.as_ref())
        .map(|error| error.message.as_str());
    assert!(
        message.is_some_and(|message| message.contains("kept.txt")),
        "{played}"
    );
    Ok(())
}

/// The parent has changed a file since its children began, and has not committed it; one child has
/// changed the same file, and is merged while the parent waits for the end of the other.
fn a_parent_that_ends_a_child_takes_the_work_of_another() -> Outcome {
    let spawn = |rule: Rule, task: &str| rule.call("spawn_child_agent", &json!({ "task": task }));
    let asks = |rule: Rule, whom: &str| {
        rule.call(
            "send_message_to_agent",
            &json!({"agent_id": whom, "message": "well?", "wait": true}),
        )
    };
    let list = json!({"path": "list.txt", "content": "a\nb\nc\nd\ne\n"});
    let script = Script::default()
        .rule(on("T1", 1).call("write_file", &list))
        .rule(spawn(spawn(on("T1", 2), "Write two"), "Ask it"))
        // With one agent at a time, the first child has finished, without an answer, once the
        // parent goes on.
        .rule(asks(on("T1", 3), "write_two"))
        .rule(shell(on("T1", 4), "sed -i s/a/A/ list.txt"))
        .rule(on("T1", 5).call("terminate_agent", &json!({"agent_id": "ask"})))
        .rule(done("T1"))
        .rule(shell(on("write_two", 1), "sed -i s/e/E/ list.txt"))
        .rule(asks(on("ask", 1), "user"))
        .rule(Rule::any().text("Done."));
    let world = crate::run::agents::waits::world()?;
    let played = world.play("- [ ] T1 lead (agent: lead)\n", &script, |settings| {
        settings.run.max_agents = 1
    })?;
    played.require(
        0,
        &[
            ("T1", Merged),
            ("write_two", Merged),
            ("ask", TaskState::Cancelled),
        ],
    )?;
    let text = world.merged(&played.report, "list.txt")?;
    assert_eq!(text, "A\nb\nc\nd\nE");
    Ok(())
}
