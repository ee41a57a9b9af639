//! The trees of agents that are killed: one with everything in it, that of a goal, and one as wide
//! as a test wishes.
//!
//! As in the other plays, replies follow from what an agent sees: one that was interrupted looks
//! where it is.

use orchestrate_core::agent::agent_loop::INTERRUPTED;
use orchestrate_core::task::ReturnCause;
use serde_json::json;

use super::plays::Play;
use crate::run::agents::hand_back::{LISTED, STRICT};
use crate::support::{Rule, Script, after, on, put, reads, shell};

/// The roles of a tree. No child may do more than its parent.
const ROLES: &[(&str, &str)] = &[
    (
        "lead",
        "---\nname: lead\ndescription: Leads.\ntools: read_file, write_file, run_shell_command, wait_for_agents, \
         get_agent_status, send_message_to_agent, spawn_child_agent, terminate_agent\n---\nYou lead.\n",
    ),
    ("strict", STRICT),
];
/// The run's check, as a play's agents run it.
const CHECK: &str = "test -e src/lib.txt";
/// What a result says while an agent's children have not all ended, and what it says then.
const BEGUN: &str = "begins with your work";
const OVER: &str = "all of them are done";

/// A child to spawn: its task, and its role if that is not the usual one.
type Child<'c> = (&'c str, Option<&'c str>);

fn then(task: &str, text: &str) -> Rule {
    after(task, text)
}

fn spawns(rule: Rule, children: &[Child]) -> Rule {
    children.iter().fold(rule, |rule, (task, role)| match role {
        Some(role) => rule.call("spawn_child_agent", &json!({"task": task, "role": role})),
        None => rule.call("spawn_child_agent", &json!({ "task": task })),
    })
}

/// Returns the id of a child, which comes from its task.
fn id_of(task: &str) -> String {
    task.to_lowercase().replace(' ', "_")
}

fn waits(rule: Rule, children: &[Child]) -> Rule {
    let ids: Vec<String> = children.iter().map(|(task, _)| id_of(task)).collect();
    rule.call("wait_for_agents", &json!({ "agent_ids": ids }))
}

/// Returns the rules of an agent that writes `begun-ID.txt`, spawns its children, waits for them,
/// and writes `ID.txt`. An interrupted one asks whether its first child exists, since it writes
/// before and after it spawns.
fn leads(script: Script, task: &str, children: &[Child]) -> Script {
    let first = id_of(children[0].0);
    let (begun, ended) = (format!("begun-{task}.txt"), format!("ended-{task}.txt"));
    script
        .rule(then(task, INTERRUPTED).call("get_agent_status", &json!({ "agent_id": first })))
        .rule(put(then(task, "there is no agent"), &begun, "1\n"))
        .rule(put(then(task, OVER), &ended, "1\n"))
        .rule(then(task, &ended).text("All of it is written."))
        .rule(spawns(then(task, &begun), children))
        .rule(waits(then(task, BEGUN), children))
        .rule(waits(then(task, &format!("{first} (")), children))
        .rule(put(on(task, 1), &begun, "1\n"))
}

/// Returns the rules of an agent that shares a file with its sibling, and keeps the lines of both
/// if they conflict. `first` is what it does first, and `end` how it reports.
fn shares(script: Script, task: &str, path: &str, (first, end): (Option<Rule>, &str)) -> Script {
    let own = format!("line of {task}\n");
    let script = script
        .rule(reads(
            Rule::task(task).returned(ReturnCause::Conflict),
            path,
        ))
        .rule(put(then(task, "<<<<<<<"), path, "line of both\n"))
        .rule(reads(then(task, INTERRUPTED), path))
        .rule(put(then(task, "file not found"), path, &own))
        .rule(then(task, "line of").text(end))
        .rule(then(task, path).text(end));
    script.rule(first.unwrap_or_else(|| put(on(task, 1), path, &own)))
}

/// Returns a tree of three levels with everything in it: waits, a question to a parent that waits
/// for the one who asks, a conflict between siblings, and a report that claims a check which did
/// not run.
pub(super) fn everything() -> Play {
    let (top, low): ([Child; 2], [Child; 2]) = (
        [("Write two", None), ("Lead below", Some("lead"))],
        [("Write three", Some("strict")), ("Write four", None)],
    );
    let sends =
        |rule: Rule, message: &serde_json::Value| rule.call("send_message_to_agent", message);
    let (question, answer) = (
        json!({"agent_id": "lead_below", "message": "which port?", "wait": true}),
        json!({"agent_id": "write_three", "message": {"port": 4711}, "reply_to": 1}),
    );
    let script = Script::default()
        .rule(sends(then("lead_below", "which port?"), &answer))
        .rule(waits(then("lead_below", "is queued"), &low))
        .rule(shell(
            Rule::task("write_three").returned(ReturnCause::Claims),
            CHECK,
        ))
        .rule(then("write_three", "exit code 0").text(LISTED))
        .rule(put(
            then("write_three", "4711"),
            "shared.txt",
            "line of write_three\n",
        ));
    let script = leads(leads(script, "T1", &top), "lead_below", &low);
    let asks = sends(on("write_three", 1), &question);
    let script = shares(script, "write_three", "shared.txt", (Some(asks), LISTED));
    let script = shares(script, "write_four", "shared.txt", (None, "Done."));
    let script = script
        .rule(then("write_two", "two.txt").text("Done."))
        .rule(put(Rule::task("write_two"), "two.txt", "1\n"));
    Play {
        roles: ROLES,
        ..Play::of("- [ ] T1 lead (agent: lead)\n", script)
    }
}

/// Returns a typed goal, whose agent gives a part of it to a child, and answers.
pub(super) fn goal() -> Play {
    let script = leads(Script::default(), "greet_politely", &[("Write one", None)])
        .rule(then("write_one", "one.txt").text("Done."))
        .rule(put(Rule::task("write_one"), "one.txt", "1\n"));
    Play::of("Greet politely\n", script)
}

/// Returns a wide tree of three levels: each of `roots` tasks spawns agents, and each of these
/// spawns two that share a file and send a note to their parent, which wakes it.
pub(super) fn forest(roots: usize, below: usize) -> Play {
    let mut script = Script::default();
    let mut plan = String::new();
    for root in 1..=roots {
        let names: Vec<String> = (1..=below)
            .map(|lead| format!("Lead r{root}l{lead}"))
            .collect();
        let children: Vec<Child> = names
            .iter()
            .map(|name| (name.as_str(), Some("lead")))
            .collect();
        script = leads(script, &format!("T{root}"), &children);
        for name in &names {
            script = branch(script, &id_of(name));
        }
        plan.push_str(&format!("- [ ] T{root} lead (agent: lead)\n"));
    }
    Play {
        roles: ROLES,
        ..Play::of(plan, script)
    }
}

/// Returns the rules of an agent of the second level and of the two below it.
fn branch(script: Script, lead: &str) -> Script {
    let names =
        ["a", "b"].map(|letter| format!("Write {} {letter}x", lead.trim_start_matches("lead_")));
    let children: Vec<Child> = names.iter().map(|name| (name.as_str(), None)).collect();
    let shared = format!("shared-{lead}.txt");
    let script = leads(
        script.rule(waits(then(lead, "it is begun"), &children)),
        lead,
        &children,
    );
    names.iter().fold(script, |script, name| {
        let task = id_of(name);
        let note = json!({"agent_id": "parent", "message": "it is begun", "kind": "status_update"});
        let tells = on(&task, 1).call("send_message_to_agent", &note);
        let script = script.rule(put(
            then(&task, "is queued"),
            &shared,
            &format!("line of {task}\n"),
        ));
        shares(script, &task, &shared, (Some(tells), "Done."))
    })
}
