//! The plans that are killed, and the scripts that answer their agents.
//!
//! Every reply follows from the contents of files, so that the end depends neither on where a run
//! was killed nor on how fast each of its agents was.

use std::sync::atomic::{AtomicBool, Ordering};

use libtest_mimic::Failed;
use orchestrate_core::agent::agent_loop::INTERRUPTED;
use orchestrate_core::task::ReturnCause;
use serde_json::json;

use crate::run::agents::waits::LEAD;
use crate::support::{
    ModelServer, Reply, Rule, Script, after, on, put, reads, waits, write, writes,
};

/// The task that a user sends back, and the message with it.
pub(super) const SENT_BACK: &str = "T1";
pub(super) const LOUDER: &str = "louder, please";
/// The number of steps of the slow task; each reads a file and rewrites it.
const STEPS: u32 = 12;

/// The role of agents that wait for others.
const LEADS: &[(&str, &str)] = &[("lead", LEAD)];
/// A role whose agents spawn others, which read files.
const READING_LEADS: &[(&str, &str)] = &[(
    "lead",
    "---\nname: lead\ndescription: Leads.\ntools: read_file, write_file, spawn_child_agent\n---\nYou lead.\n",
)];

/// A plan, and what answers its agents.
pub(super) struct Play {
    pub(super) plan: String,
    pub(super) script: Script,
    /// Starts the server that answers instead of the script.
    pub(super) server: Option<fn() -> Result<ModelServer, Failed>>,
    /// The repository's roles: the name of each, and its text.
    pub(super) roles: &'static [(&'static str, &'static str)],
    /// Whether agents work one at a time.
    pub(super) alone: bool,
}

impl Play {
    /// Creates a play whose agents are answered by a script.
    pub(super) fn of(plan: impl Into<String>, script: Script) -> Self {
        Self {
            plan: plan.into(),
            script,
            server: None,
            roles: &[],
            alone: false,
        }
    }
}

/// Returns two tasks: T1 is done at once, T2 takes many turns, has a red check, and conflicts with
/// T1.
///
/// As with a real model, the replies follow from the contents of files and not from the number of a
/// request: after any interruption T2 reads its notes first and continues from there, and the task
/// that is merged second adds its line to the other's.
pub(super) fn two_agents() -> Play {
    let writes = |rule: Rule, path: &str, text: &str| put(rule, path, text);
    let deletes = |rule: Rule, path: &str| rule.call("delete_file", &json!({ "path": path }));
    let (one, two) = (
        |text: &str| after("T1", text),
        |text: &str| after("T2", text),
    );
    let both = "one\nT1\nT2\nthree\n";
    let conflicted = |task: &str| Rule::task(task).returned(ReturnCause::Conflict);
    let mut script = Script::default()
        .rule(reads(conflicted("T1"), "src/lib.txt"))
        .rule(reads(conflicted("T2"), "src/lib.txt"))
        .rule(writes(one("<<<<<<<"), "src/lib.txt", both))
        .rule(
            writes(one("\ttwo"), "src/lib.txt", "one\nT1\nthree\n").call(
                "send_message_to_agent",
                &json!({"agent_id": "T2", "message": "The second line is mine."}),
            ),
        )
        .rule(one("\tT1").text("T1 is done."))
        .rule(writes(one("\tT2"), "src/lib.txt", both))
        .rule(reads(Rule::task("T1"), "src/lib.txt"))
        .rule(writes(two("<<<<<<<"), "src/lib.txt", both))
        .rule(writes(two("\ttwo"), "src/lib.txt", "one\nT2\nthree\n"))
        .rule(two("\tT2").text("T2 is done."))
        .rule(writes(two("\tT1"), "src/lib.txt", both))
        .rule(writes(
            Rule::task("T2").returned(ReturnCause::TaskCheck),
            "answer.txt",
            "42\n",
        ))
        .rule(writes(
            two("file not found: notes.txt"),
            "notes.txt",
            "step 00.\n",
        ))
        // A deletion that was interrupted may not have happened.
        .rule(reads(two(&format!("step {STEPS:02}.")), "kept.txt"))
        .rule(deletes(two("\tkept"), "kept.txt"))
        .rule(reads(two("file not found: kept.txt"), "src/lib.txt"));
    for step in 0..STEPS {
        let mut rule = two(&format!("step {step:02}."));
        if step == STEPS / 2 {
            rule = writes(rule, "answer.txt", "41\n");
        }
        if step == STEPS / 3 {
            rule = deletes(rule, "kept.txt");
        }
        if step == 2 * STEPS / 3 {
            rule = rule.call("git_commit", &json!({ "message": "Half of it" }));
        }
        script = script.rule(writes(
            rule,
            "notes.txt",
            &format!("step {:02}.\n", step + 1),
        ));
    }
    let plan = "- [ ] T1 quick\n- [ ] T2 slow (verify: x=$(cat answer.txt || echo nothing); test $x = 42 || \
                { echo found $x; exit 1; })\n";
    Play::of(plan, script.rule(reads(Rule::task("T2"), "notes.txt")))
}

/// Returns tasks with commands only. Each command appends to files, so one that ran on the remains
/// of another is noticed.
pub(super) fn commands() -> Play {
    let plan = "- [ ] T1 begin (run: echo 1 >> log.txt; rm kept.txt)\n\
                - [ ] T2 beside (run: echo 2 >> src/lib.txt)\n\
                - [ ] T3 go on (depends: T1) (run: echo 3 >> log.txt; cat log.txt > copy.txt)\n";
    Play::of(plan, Script::default())
}

/// Returns commands of which one fails, so that the run ends otherwise once it is dropped with what
/// it depends on.
pub(super) fn half_failing() -> Play {
    let plan = "- [ ] T1 begin (run: echo 1 >> log.txt)\n\
                - [ ] T2 fail (depends: T1) (run: exit 1)\n\
                - [ ] T3 beside (run: echo 3 >> src/lib.txt)\n";
    Play::of(plan, Script::default())
}

/// Returns a task whose reviewer requests a change before it approves, and a command that needs the
/// approved work.
pub(super) fn reviewed() -> Play {
    let says = |rule: Rule, text: &str| put(rule, "one.txt", text);
    let judges = |rule: Rule, verdict: &serde_json::Value| rule.call("review_verdict", verdict);
    let (one, two) = (|| Rule::task("T1"), || Rule::task("T2"));
    let change = json!({"task": "T1", "text": "say final"});
    let script = Script::default()
        .rule(says(one().turn(1), "draft\n"))
        .rule(says(one().turn(2).last_contains(INTERRUPTED), "draft\n"))
        .rule(says(
            one().returned(ReturnCause::ChangesRequested),
            "final\n",
        ))
        .rule(says(one().last_contains(INTERRUPTED), "final\n"))
        .rule(one().text("Done."))
        .rule(judges(
            two().last_contains("\tdraft"),
            &json!({"verdict": "changes", "changes": [change]}),
        ))
        .rule(judges(
            two().last_contains("\tfinal"),
            &json!({"verdict": "approve"}),
        ))
        .rule(two().call("read_file", &json!({"path": "one.txt"})));
    let plan = "- [ ] T1 speak\n- [ ] T2 listen @reviewer (depends: T1)\n\
                - [ ] T3 repeat (run: cat one.txt > two.txt) (depends: T2)\n";
    Play::of(plan, script)
}

/// Returns one task whose agent's own model and its fall-back both begin with an outage: the
/// fall-back takes over, both are waited for, and the first one that answers goes on.
pub(super) fn outage() -> Play {
    let server = || refusing_once(|| Reply::error(503, "overloaded").header("retry-after", "5"));
    Play {
        server: Some(server),
        ..Play::of("- [ ] T1 write\n", Script::default())
    }
}

/// Returns one task whose agent's models both reject the key at first: the run ends, and the task
/// waits.
pub(super) fn rejected() -> Play {
    let server = || refusing_once(|| Reply::error(401, "incorrect key"));
    Play {
        server: Some(server),
        ..Play::of("- [ ] T1 write\n", Script::default())
    }
}

/// Starts a server that refuses the first request of each protocol.
fn refusing_once(refusal: fn() -> Reply) -> Result<ModelServer, Failed> {
    let refused: [AtomicBool; 2] = Default::default();
    ModelServer::answering(move |request, _| {
        let [chat, messages] = &refused;
        let refused = if request.path.contains("chat") {
            chat
        } else {
            messages
        };
        if refused.swap(true, Ordering::SeqCst) {
            return writes_once(&request.body.to_string());
        }
        refusal()
    })
}

/// Writes a file, again if a result says that this was interrupted, and then ends.
fn writes_once(conversation: &str) -> Reply {
    let count = |words: &str| conversation.matches(words).count();
    let results = count("\"tool_call_id\"") + count("\"tool_use_id\"");
    match results == count(INTERRUPTED) {
        true => Reply::text("").call("write_file", json!({"path": "one.txt", "content": "1\n"})),
        false => Reply::text("Done."),
    }
}

/// Returns three tasks, of which the first waits for the second, and that one for the third.
pub(super) fn waiting() -> Play {
    let of = |script: Script, task: &str, path: &str, first: Rule| {
        let then = |text: &str| after(task, text);
        script
            .rule(writes(then(INTERRUPTED), path))
            .rule(then(path).text("Done."))
            .rule(writes(then("all of them are done"), path))
            .rule(first)
    };
    let waits = |task: &str, for_: &str| waits(Rule::task(task), &[for_]);
    let script = of(Script::default(), "T1", "one.txt", waits("T1", "T2"));
    let script = of(script, "T2", "two.txt", waits("T2", "T3"));
    let script = of(
        script,
        "T3",
        "three.txt",
        writes(Rule::task("T3"), "three.txt"),
    );
    let plan = "- [ ] T1 lead (agent: lead)\n- [ ] T2 lead below (agent: lead)\n- [ ] T3 write\n";
    Play {
        roles: LEADS,
        ..Play::of(plan, script)
    }
}

/// Returns a task whose agent writes a file, spawns two children, and waits for them.
pub(super) fn spawning() -> Play {
    let one = |text: &str| after("T1", text);
    let spawns = |rule: Rule, task: &str| {
        rule.call(
            "spawn_child_agent",
            &json!({ "task": task, "context": {"from": "T1"} }),
        )
    };
    let mut script = Script::default()
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::ChildrenEnded)
                .text("Done."),
        )
        .rule(writes(on("T1", 2).last_contains(INTERRUPTED), "begun.txt"))
        .rule(writes(one(INTERRUPTED), "one.txt"))
        .rule(spawns(spawns(one("begun.txt"), "Write two"), "Write three"))
        .rule(one("begins with your work").call(
            "wait_for_agents",
            &json!({"agent_ids": ["write_two", "write_three"]}),
        ))
        .rule(writes(one("all of them are done"), "one.txt"))
        .rule(one("one.txt").text("Done."))
        .rule(writes(on("T1", 1), "begun.txt"));
    for (child, path) in [("write_two", "two.txt"), ("write_three", "three.txt")] {
        let then = |text: &str| after(child, text);
        script = script.rule(writes(then(INTERRUPTED), path));
        script = script.rule(then(path).text("Done."));
        script = script.rule(writes(Rule::task(child), path));
    }
    Play {
        roles: LEADS,
        ..Play::of("- [ ] T1 lead (agent: lead)\n", script)
    }
}

/// Returns a task whose agent finishes before the two children that it has spawned, and goes on
/// when it is told of them. Both children write the same file, so the work of one comes back to it.
pub(super) fn family() -> Play {
    let writes = |rule: Rule, path: &str, text: &str| put(rule, path, text);
    let reads = |rule: Rule| reads(rule, "shared.txt");
    let spawns = |rule: Rule, task: &str| rule.call("spawn_child_agent", &json!({ "task": task }));
    let one = |text: &str| after("T1", text);
    let mut script = Script::default()
        .rule(writes(
            Rule::task("T1").returned(ReturnCause::ChildrenEnded),
            "one.txt",
            "1\n",
        ))
        .rule(writes(one(INTERRUPTED), "one.txt", "1\n"))
        .rule(one("one.txt").text("Done."))
        .rule(one("begins with your work").text("My children will do it."))
        .rule(spawns(spawns(on("T1", 1), "Write two"), "Write three"));
    for child in ["write_two", "write_three"] {
        let then = |text: &str| after(child, text);
        let own = format!("line of {child}\n");
        script = script
            .rule(reads(Rule::task(child).returned(ReturnCause::Conflict)))
            .rule(writes(then("<<<<<<<"), "shared.txt", "line of both\n"))
            .rule(reads(then(INTERRUPTED)))
            .rule(writes(then("file not found"), "shared.txt", &own))
            .rule(then("line of").text("Done."))
            .rule(then("shared.txt").text("Done."))
            .rule(writes(on(child, 1), "shared.txt", &own));
    }
    Play {
        roles: READING_LEADS,
        ..Play::of("- [ ] T1 lead (agent: lead)\n", script)
    }
}

/// Returns one task whose agent has no turns left after its second one, and reports.
pub(super) fn reporting() -> Play {
    let writes = |rule: Rule| put(rule, "half.txt", "half\n");
    let script = Script::default()
        .rule(after("T1", "You have to stop").text("Half of it is written."))
        .rule(writes(Rule::task("T1")));
    Play::of("- [ ] T1 write (turns: 2)\n", script)
}

/// Returns two tasks, of which the first asks the second and waits for the answer.
pub(super) fn asking() -> Play {
    let sends =
        |rule: Rule, message: &serde_json::Value| rule.call("send_message_to_agent", message);
    let (one, two) = (
        |text: &str| after("T1", text),
        |text: &str| after("T2", text),
    );
    let question = json!({"agent_id": "T2", "message": "which port?", "wait": true});
    let script = Script::default()
        .rule(writes(one(INTERRUPTED), "one.txt"))
        .rule(one("one.txt").text("Done."))
        .rule(writes(one("4711"), "one.txt"))
        .rule(sends(Rule::task("T1"), &question))
        .rule(writes(two(INTERRUPTED), "two.txt"))
        .rule(two("two.txt").text("Done."))
        .rule(sends(
            two("which port?"),
            &json!({"agent_id": "T1", "message": {"port": 4711}, "reply_to": 1}),
        ))
        .rule(writes(two("is queued"), "two.txt"))
        .rule(waits(Rule::task("T2"), &["T1"]));
    let plan = "- [ ] T1 ask (agent: lead)\n- [ ] T2 answer (agent: lead)\n";
    Play {
        roles: LEADS,
        ..Play::of(plan, script)
    }
}

/// Returns a task whose agent spawns a child and ends it before that can begin, since agents work
/// one at a time.
pub(super) fn terminating() -> Play {
    let writes = |rule: Rule| writes(rule, "one.txt");
    let one = |text: &str| after("T1", text);
    let first = Rule::task("T1")
        .call(
            "spawn_child_agent",
            &json!({"task": "Write two", "role": "lead"}),
        )
        .call("terminate_agent", &json!({"agent_id": "write_two"}));
    let script = Script::default()
        .rule(writes(one(INTERRUPTED)))
        .rule(writes(one(
            "write_two (Write two): cancelled; it had not begun",
        )))
        .rule(one("one.txt").text("Done."))
        .rule(first);
    Play {
        roles: LEADS,
        alone: true,
        ..Play::of("- [ ] T1 lead (agent: lead)\n", script)
    }
}

/// Returns one task whose agent works at once.
pub(super) fn obedient() -> Play {
    obeying(write(SENT_BACK, "one.txt", "1\n"))
}

/// Returns one task whose agent does nothing until the task is sent back.
pub(super) fn lazy() -> Play {
    obeying(on(SENT_BACK, 1).text("Nothing to do."))
}

fn obeying(first: Rule) -> Play {
    let one = || Rule::task(SENT_BACK);
    let louder = |rule: Rule| put(rule, "one.txt", "2\n");
    let script = Script::default()
        .rule(louder(one().last_contains(LOUDER)))
        .rule(louder(one().last_contains(INTERRUPTED)))
        .rule(first)
        .rule(one().text("Done."));
    Play::of("- [ ] T1 speak\n", script)
}
