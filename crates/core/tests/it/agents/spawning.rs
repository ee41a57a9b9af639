//! Spawning children: who may, what a child is called, and what it may do.

use std::collections::BTreeSet;

use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::policy::tool_names::{ToolNames, ToolTraits};
use orchestrate_core::policy::{Grant, Permission, RuleDecision, RuleText};
use orchestrate_core::run::child::{AskedChild, MAX_SPAWNED_PER_RUN, PARENTS_TOOLS, SpawnDecision};
use orchestrate_core::task::{FailureCause, Work};
use orchestrate_core::{AgentId, AgentLimits, Authority, CallOfTurn, RunSettings, Task, TaskId};
use proptest::prelude::*;

use crate::facts::{failed, finished, ready, spawned, task};
use crate::story::Story;

const TOOLS: [&str; 5] = [
    "read_file",
    "run_shell_command",
    "spawn_child_agent",
    "terminate_agent",
    "write_file",
];

/// Returns the names of these tools: all but `read_file` and those for parents change files.
fn tool_names() -> ToolNames {
    let mut names = ToolNames::default();
    for tool in TOOLS {
        let changes_files = tool == "run_shell_command" || tool == "write_file";
        let permission = match tool {
            "read_file" => Permission::FileRead,
            "write_file" => Permission::FileWrite,
            "run_shell_command" => Permission::CodeExecution,
            _ => Permission::AgentSpawn,
        };
        let traits = ToolTraits {
            permission,
            is_default: true,
            changes_files,
            deletes_files: false,
            stays_in_view: false,
        };
        names.add(tool, traits);
    }
    names
}

/// Tells of a run with one task, `a`.
fn run_with(settings: RunSettings) -> Story {
    let settings = RunSettings {
        tools: tool_names(),
        ..settings
    };
    Story::planned(settings, vec![task("a", &[])])
}

impl Story {
    /// Asks for a child and adds it; returns its id, or why it is refused.
    fn spawn(&mut self, asked: AskedChild) -> Result<String, String> {
        match self
            .0
            .decide_spawn(asked)
            .map_err(|refused| refused.to_string())?
        {
            SpawnDecision::Exists(id) => Ok(format!("{id} again")),
            SpawnDecision::Adds(event) => {
                let id = event.task().unwrap().to_string();
                self.tell(*event);
                Ok(id)
            }
        }
    }

    /// Tells that an agent begins, which holds what its report needs from then on.
    fn begin(&mut self, agent: &str) {
        self.tell(ready(agent)).tell(spawned(agent, 1));
    }

    fn authority(&self, child: &str) -> Authority {
        let spawn = self.record(child).spawn.as_ref();
        spawn.unwrap().authority.clone()
    }
}

fn authority(tools: &[&str]) -> Authority {
    let limits = AgentLimits {
        context_tokens: 16_000,
        max_output_tokens: 4_096,
        max_turns: 60,
    };
    let grant = Grant::of_tools(tools.iter().copied());
    Authority {
        grant,
        rules: Vec::new(),
        domains: vec!["*.example.org".to_owned()],
        limits,
    }
}

fn child(title: &str, parent: Option<&str>) -> AskedChild {
    AskedChild {
        parent: parent.map(AgentId::from),
        call: None,
        id: None,
        task: Task {
            title: title.to_owned(),
            ..Task::default()
        },
        base: None,
        context: None,
        asked: None,
        of_role: authority(&TOOLS),
        of_parents_role: parent.map(|_| authority(&TOOLS)),
        tools: None,
        delivers_changes: true,
    }
}

fn named(id: &str, parent: &str) -> AskedChild {
    AskedChild {
        id: Some(id.into()),
        ..child("write", Some(parent))
    }
}

fn set(tools: &[&str]) -> BTreeSet<String> {
    tools.iter().map(|&tool| tool.to_owned()).collect()
}

#[test]
fn children_are_bounded_in_number_and_depth() {
    let mut story = run_with(RunSettings {
        max_children_per_agent: 2,
        max_depth: 3,
        ..RunSettings::default()
    });
    let command = Task {
        id: "make".into(),
        work: Work::Run("make".to_owned()),
        ..Task::default()
    };
    story.tell(Event::planned(command));
    // The control: what keeps within both limits is added, and counts for what comes after it.
    let table: [(AskedChild, Result<&str, &str>); 11] = [
        (named("b", "a"), Ok("b")),
        (named("c", "b"), Ok("c")),
        (
            named("d", "c"),
            Err("a child of agent c would exceed `max_depth` 3; do the work yourself"),
        ),
        (named("e", "a"), Ok("e")),
        (named("f", "a"), Err(TOO_MANY)),
        (named("g", "z"), Err("its parent, agent z, does not exist")),
        (
            named("g", "make"),
            Err("its parent, agent make, does not exist"),
        ),
        (
            named("integration", "e"),
            Err("invalid id 'integration': this id is reserved for the merged branch"),
        ),
        (named("B", "e"), Err("a task with that id exists already")),
        (
            child("Refactor the database", Some("e")),
            Ok("refactor_database"),
        ),
        (child("refactor database", None), Ok("refactor_database_2")),
    ];
    for (asked, expected) in table {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(story.spawn(asked.clone()), expected, "{asked:?}");
    }
    let bars = ["a", "b", "c", "refactor_database_2"]
        .map(|id| story.0.bars_children(&id.into()).is_some());
    assert_eq!(bars, [false, false, true, false]);
}

const TOO_MANY: &str = "agent a has 2 children that have not ended, the maximum set by `max_children_per_agent`; wait for \
                        one of them (`wait_for_agents`), then spawn again";

/// An agent that spawns, waits, looks and spawns again is not limited by what has ended, but by
/// what a run bears.
#[test]
fn children_that_have_ended_do_not_count() {
    let mut story = run_with(RunSettings {
        max_children_per_agent: 2,
        ..RunSettings::default()
    });
    let wave = |story: &mut Story| [1, 2].map(|_| story.spawn(child("write", Some("a"))));
    for _ in 0..MAX_SPAWNED_PER_RUN / 2 {
        let ids = wave(&mut story).map(Result::unwrap);
        assert_eq!(
            story.spawn(child("write", Some("a"))),
            Err(TOO_MANY.to_owned())
        );
        for id in ids {
            story.tell(failed(id.as_str(), FailureCause::Check, ""));
        }
    }
    let refused = "the agents of this run have spawned 1000 others, the maximum of a run; do the rest yourself";
    assert_eq!(
        wave(&mut story),
        [Err(refused.to_owned()), Err(refused.to_owned())]
    );
    // The control: a program knows what it does, and gets another one.
    assert_eq!(story.spawn(child("judge", None)), Ok("judge".to_owned()));
}

#[test]
fn an_agent_that_has_ended_gets_no_child() {
    let mut story = run_with(RunSettings::default());
    assert_eq!(story.spawn(child("one", Some("a"))), Ok("one".to_owned()));
    story.tell(failed("a", FailureCause::Check, ""));
    assert_eq!(
        story.spawn(child("two", Some("a"))),
        Err("its parent, agent a, has ended".to_owned())
    );
    story.tell(finished(RunStatus::Failed, 1));
    assert_eq!(
        story.spawn(child("three", None)),
        Err("the run has ended".to_owned())
    );
}

#[test]
fn a_repeated_call_spawns_once() {
    let mut story = run_with(RunSettings {
        max_children_per_agent: 2,
        ..RunSettings::default()
    });
    let by = |turn: u32, call: &str| AskedChild {
        call: Some(CallOfTurn {
            turn,
            call: call.into(),
        }),
        ..child("Write it", Some("a"))
    };
    // The control: another call that asks for the same is another child; the first call again is
    // not.
    let spawned = [by(1, "c1"), by(1, "c1"), by(1, "c2"), by(1, "c1")]
        .map(|asked| story.spawn(asked).unwrap());
    assert_eq!(spawned, ["write", "write again", "write_2", "write again"]);
    // The id of a call is unique within its turn only; the children that exist count, whoever asks
    // again.
    assert!(
        story
            .spawn(by(2, "c1"))
            .unwrap_err()
            .contains("2 children that have not ended")
    );
}

#[test]
fn a_program_finds_its_child_again_by_what_it_asked_for() {
    let mut story = run_with(RunSettings::default());
    let asked = |title: &str, words: &str| AskedChild {
        id: Some("notes".into()),
        asked: Some(words.into()),
        ..child(title, None)
    };
    assert_eq!(
        story.spawn(asked("Write notes", "1")),
        Ok("notes".to_owned())
    );
    let again = story.spawn(asked("Write notes", "1"));
    assert_eq!(again, Ok("notes again".to_owned()));
    let refused = story.spawn(asked("Write a poem", "2")).unwrap_err();
    assert!(
        refused.contains("\"Write notes\"") && refused.contains("\"Write a poem\""),
        "{refused}"
    );
}

#[test]
fn a_child_may_what_its_role_and_its_parent_may() {
    let mut story = run_with(RunSettings {
        max_depth: 3,
        ..RunSettings::default()
    });
    let deny = RuleText::new(RuleDecision::Deny, "run_shell_command(rm*)", "lead.md");
    let lead = Authority {
        rules: vec![deny.clone()],
        ..authority(&["spawn_child_agent", "write_file"])
    };
    let asked = AskedChild {
        of_parents_role: Some(lead),
        ..child("one", Some("a"))
    };
    story.spawn(asked).unwrap();
    let one = story.authority("one");
    assert_eq!(
        (&one.grant.tools, &one.rules),
        (
            &set(&["spawn_child_agent", "write_file"]),
            &vec![deny.clone()]
        )
    );
    // Its own child is held against what was recorded, not against what its role would allow, and
    // is as deep as any.
    let asked = AskedChild {
        of_parents_role: Some(authority(&TOOLS)),
        ..child("two", Some("one"))
    };
    story.spawn(asked).unwrap();
    let two = story.authority("two");
    assert_eq!(
        (&two.grant.tools, &two.rules),
        (&set(&["write_file"]), &vec![deny])
    );
    let handle = story.0.handle_of(story.0.task(&"two".into()).unwrap());
    let role = RunSettings::default().agent;
    assert_eq!(
        (
            handle.branch.as_str(),
            handle.role,
            handle.tools,
            handle.budget
        ),
        (
            "orchestrate/r-abcdef/two",
            role,
            vec!["write_file".to_owned()],
            None
        )
    );
}

#[test]
fn tools_are_narrowed_and_never_widened() {
    let mut story = run_with(RunSettings::default());
    let asking = |title: &str, tools: &[&str], delivers_changes| {
        let of_role = authority(&["read_file", "run_shell_command", "write_file"]);
        AskedChild {
            tools: Some(set(tools)),
            of_role,
            delivers_changes,
            ..child(title, Some("a"))
        }
    };
    // The control: tools that role and parent both have are given as they are asked for.
    assert_eq!(
        story.spawn(asking("one", &["read_file", "write_file"], true)),
        Ok("one".to_owned())
    );
    assert_eq!(
        story.authority("one").grant.tools,
        set(&["read_file", "write_file"])
    );
    assert_eq!(
        story.spawn(asking("two", &["read_file"], false)),
        Ok("two".to_owned())
    );
    let unavailable = "the child cannot have launch, spawn_child_agent, since its role and its parent do not both have \
                       it; it can have: read_file, run_shell_command, write_file";
    let asked = asking("three", &["launch", "read_file", "spawn_child_agent"], true);
    assert_eq!(story.spawn(asked), Err(unavailable.to_owned()));
    let powerless = "a child of the role 'implementer' has to change files, and could not with the tools that its parent \
                     can pass on: read_file; choose a role that only reports, or do the work yourself";
    assert_eq!(
        story.spawn(asking("four", &["read_file"], true)),
        Err(powerless.to_owned())
    );
}

#[test]
fn a_run_without_spawning_offers_no_tools_for_it() {
    for settings in [
        RunSettings {
            max_depth: 1,
            ..RunSettings::default()
        },
        RunSettings {
            max_children_per_agent: 0,
            ..RunSettings::default()
        },
    ] {
        let mut story = run_with(settings);
        let barred = story.0.bars_children(&"a".into()).unwrap().to_string();
        assert!(barred.contains(if barred.contains("max_depth") {
            "`max_depth` 1"
        } else {
            "DISABLE_SPAWNING"
        }));
        assert_eq!(story.spawn(child("none", Some("a"))), Err(barred));
        story.spawn(child("one", None)).unwrap();
        let Grant {
            tools, withheld, ..
        } = story.authority("one").grant;
        assert_eq!(
            tools,
            set(&["read_file", "run_shell_command", "write_file"])
        );
        // It is told why, if it calls one nevertheless.
        let is_said = withheld
            .values()
            .all(|why| why.contains("max_depth") || why.contains("DISABLE_SPAWNING"));
        assert!(
            is_said && withheld.keys().eq(&PARENTS_TOOLS),
            "{withheld:?}"
        );
    }
}

#[test]
fn a_budget_comes_from_the_parent() {
    let mut story = run_with(RunSettings {
        budget_tokens: Some(30_000),
        ..RunSettings::default()
    });
    let wanting = |title: &str, parent: &str, tokens: Option<u64>| {
        let task = Task {
            title: title.to_owned(),
            tokens,
            ..Task::default()
        };
        AskedChild {
            task,
            ..child("", Some(parent))
        }
    };
    let budget = |story: &Story, id: &str| story.0.task(&id.into()).unwrap().task.tokens;
    story.begin("a");
    // The control: a budget that the parent has is given as it is asked for.
    story.spawn(wanting("one", "a", Some(10_000))).unwrap();
    story.spawn(wanting("two", "a", Some(1_000_000))).unwrap();
    story.spawn(wanting("three", "a", None)).unwrap();
    // What a parent needs for its own report is not for its children.
    story.begin("one");
    story.spawn(wanting("four", "one", Some(20_000))).unwrap();
    let budgets = ["one", "two", "three", "four"].map(|id| budget(&story, id));
    assert_eq!(budgets, [Some(10_000), Some(28_000), None, Some(8_000)]);
    let small = "a budget of 7595 tokens is too small: the first request of such an agent reserves up to about 7596; give \
                 it several times as much";
    assert_eq!(
        story.spawn(wanting("five", "a", Some(7_595))),
        Err(small.to_owned())
    );
    story.spawn(wanting("five", "a", Some(7_596))).unwrap();
    story.begin("five");
    let refused =
        "agent five has only 5697 tokens left for its children, and a child needs at least 7596";
    assert_eq!(
        story.spawn(wanting("six", "five", None)),
        Err(refused.to_owned())
    );
}

#[test]
fn children_of_older_journals_are_read() {
    let old = serde_json::json!({"type": "task.added", "task": {"id": "b", "title": "b", "status": "todo"}, "parent": "a"});
    let mut story = run_with(RunSettings::default());
    story.tell(serde_json::from_value(old).unwrap());
    let record = story.0.task(&"b".into()).unwrap();
    assert_eq!(
        (record.parent.clone(), record.spawn.clone()),
        (Some("a".into()), None)
    );
    // Its role decides for it, as it did then.
    story.spawn(child("c", Some("b"))).unwrap();
    assert!(
        story
            .authority("c")
            .grant
            .is_within(&authority(&TOOLS).grant)
    );
}

/// Returns what some role allows.
fn any_role() -> impl Strategy<Value = Authority> {
    let tools = proptest::sample::subsequence(TOOLS.to_vec(), 0..=TOOLS.len());
    let rules = proptest::sample::subsequence(
        vec!["run_shell_command(rm*)", "write_file", "read_file(.env)"],
        0..=3,
    );
    (tools, rules, 1_u64..4, 1_u32..4).prop_map(|(tools, rules, context, turns)| {
        let limits = AgentLimits {
            context_tokens: context,
            max_output_tokens: turns,
            max_turns: turns,
        };
        let rules = rules
            .into_iter()
            .map(|rule| RuleText::new(RuleDecision::Deny, rule, "role"))
            .collect();
        Authority {
            rules,
            limits,
            ..authority(&tools)
        }
    })
}

proptest! {
    /// Whatever roles, narrowings and budgets are asked for, at any depth and in any order: a child
    /// never has more than its parent, its id is new, and only agents above the last level have the
    /// tools for children.
    #[test]
    fn a_child_is_always_within_its_parent(
        roles in proptest::collection::vec((any_role(), 0_usize..8, proptest::option::of(any::<proptest::sample::Index>()), proptest::option::of(1_u64..60_000)), 1..24),
        plan in any_role(),
    ) {
        let settings = RunSettings { budget_tokens: Some(50_000), max_depth: 4, ..RunSettings::default() };
        let mut story = run_with(settings);
        let mut agents = vec!["a".to_owned()];
        for (of_role, parent, narrowed, tokens) in roles {
            let parent = agents[parent % agents.len()].clone();
            let tools = narrowed.map(|at| set(&[*at.get(&TOOLS)]));
            let task = Task { title: "write".to_owned(), tokens, ..Task::default() };
            let of_parents_role = Some(plan.clone());
            let asked = AskedChild { task, of_role, of_parents_role, tools, ..child("", Some(&parent)) };
            let Ok(id) = story.spawn(AskedChild { delivers_changes: false, ..asked }) else { continue };
            let above = if parent == "a" { plan.clone() } else { story.authority(&parent) };
            let own = story.authority(&id);
            prop_assert!(own.is_within(&above), "{own:?}\nin {above:?}");
            let record = |id: &str| story.0.task(&TaskId::from(id)).unwrap().task.tokens;
            prop_assert!(record(&id).is_none_or(|own| own <= record(&parent).unwrap_or(50_000)));
            let has_parents_tools = PARENTS_TOOLS.iter().any(|tool| own.grant.tools.contains(*tool));
            prop_assert!(!has_parents_tools || story.0.bars_children(&TaskId::from(id.as_str())).is_none());
            prop_assert!(!agents.contains(&id));
            agents.push(id);
        }
    }
}
