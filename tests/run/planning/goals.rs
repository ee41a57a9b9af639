//! Goals: work without tasks, typed or in a file, which one agent gets as a whole; and plans that
//! are made of them.

use libtest_mimic::Failed;
use orchestrate_core::agent::context::fixed_tokens;
use orchestrate_core::event::Event;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{AgentSpec, TaskState};
use orchestrate_model::Tokenizer;
use serde_json::{Value, json};

use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, at, case, fail, on, reads, says, waits,
    write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_goal_in_a_file_is_reached_and_answered),
        case!(a_typed_question_is_answered_without_a_change),
        case!(only_the_agent_of_a_goal_has_the_context_of_the_root),
        case("goals::a_goal_is_divided_among_agents", || {
            a_goal_is_divided(20)
        }),
        case("goals::a_goal_is_divided_with_one_agent_at_a_time", || {
            a_goal_is_divided(1)
        }),
        case!(the_fixed_prompts_are_small),
        case!(a_check_says_what_would_happen),
        case!(a_plan_is_made_reviewed_and_run),
        case!(a_plan_that_stays_invalid_is_not_written),
        case!(a_plan_never_replaces_a_file),
        case!(a_document_is_rewritten_with_an_account_of_its_lines),
        case!(a_planner_in_a_plan_only_makes_its_own),
        case!(a_plan_that_is_not_made_leaves_standard_output_empty),
        case!(what_is_no_goal_is_refused),
        case!(a_goal_of_a_megabyte_is_one_task),
    ]
}

const GOAL: &str =
    "# Greet politely\n\nThe greeting is too short. Make it friendlier.\n\n- keep it on one line\n";

/// Returns the script of an agent that answers at once.
fn answers(task: &str, text: &str) -> Script {
    Script::default().rule(Rule::task(task).text(text))
}

/// Runs the built program in the checkout with a script, and returns its JSON; requires the exit
/// code.
fn run(world: &World, argument: &str, script: &Script, code: i32) -> Result<Value, Failed> {
    let model = world.script(script)?;
    world
        .types(
            &["run", argument, "--model", &model, "--json", "--quiet"],
            code,
        )?
        .json()
}

fn a_goal_in_a_file_is_reached_and_answered() -> Outcome {
    let world = World::lived_in()?;
    let goal = world.write("goal.md", GOAL)?;
    let script = Script::default()
        .rule(write("greet_politely", "greeting.txt", "Good morning!\n"))
        .rule(Rule::task("greet_politely").text("The greeting is friendlier now."));
    let before = world.repository.fingerprint()?;
    let report = run(&world, &goal, &script, 0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    let (branch, task) = (
        at(&report, "/integration_branch")?,
        at(&report, "/tasks/0")?,
    );
    let merged = world
        .repository
        .show(branch.as_str().unwrap_or_default(), "greeting.txt")?;
    let seen = (
        &report["answer"],
        &task["agent"],
        &task["state"],
        merged.as_str(),
    );
    let wanted = (
        &json!("The greeting is friendlier now."),
        &json!("coordinator"),
        &json!("merged"),
        "Good morning!",
    );
    assert_eq!(seen, wanted, "{report}");
    says(
        &world.types(&["status"], 0)?,
        &["answer:\n  | The greeting is friendlier now.\n"],
    )
}

fn a_typed_question_is_answered_without_a_change() -> Outcome {
    let world = World::lived_in()?;
    let asked = after("what_does_it_do", "Task what_does_it_do: What does it do?");
    let model = world
        .script(&Script::default().rule(asked.text("It greets.\nNothing else: greeting.txt:1.")))?;
    let before = world.repository.fingerprint()?;
    // The word `run` may be left out, as before a plan.
    let ran = world.types(&["What does it do?", "--model", &model], 0)?;
    before.require_same(&world.repository.fingerprint()?)?;
    says(
        &ran,
        &["answer:\n  | It greets.\n  | Nothing else: greeting.txt:1.\n"],
    )?;
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let is_unchanged = report["integration_commit"] == report["base_commit"];
    assert!(is_unchanged, "{report}");
    assert_eq!(report["tasks"][0]["commit"], Value::Null, "{report}");
    assert_eq!(report["tasks"][0]["state"], "merged", "{report}");
    Ok(())
}

/// Returns the specifications of a run's agents, in the order of their starts.
fn specs(played: &Played) -> Result<Vec<AgentSpec>, Failed> {
    let specs = played.pick(|event| match event {
        Event::AgentSpawned { spec, .. } => spec.as_ref(),
        _ => None,
    });
    specs
        .into_iter()
        .map(|spec| Ok(serde_json::from_str(&played.text(spec)?)?))
        .collect()
}

fn only_the_agent_of_a_goal_has_the_context_of_the_root() -> Outcome {
    let script = || {
        Script::default()
            .rule(write("T1", "one.txt", "1\n"))
            .rule(Rule::any().text("Done."))
    };
    let play = |plan: &str, tokens: Option<u64>| {
        World::plain()?.play(plan, &script(), |settings| {
            settings.run.root_context_tokens = tokens.unwrap_or(settings.run.root_context_tokens);
        })
    };
    let table = [
        (GOAL, None, 1_000_000),
        (GOAL, Some(90_000), 90_000),
        ("- [ ] T1 write\n", Some(90_000), 16_000),
    ];
    for (plan, given, expected) in table {
        let found: Vec<u64> = specs(&play(plan, given)?)?
            .iter()
            .map(|spec| spec.context_tokens)
            .collect();
        assert_eq!(found, [expected], "{plan}");
    }
    Ok(())
}

/// The agent of the goal spawns two children, waits, spawns a third for what is missing, and
/// answers.
fn a_goal_is_divided(max_agents: usize) -> Outcome {
    let root = "greet_politely";
    let spawn = |rule: Rule, task: &str| rule.call("spawn_child_agent", &json!({ "task": task }));
    let wait = |turn, ids: &[&str]| waits(on(root, turn), ids);
    let script = Script::default()
        .rule(spawn(spawn(on(root, 1), "Write one"), "Write two"))
        .rule(wait(2, &["write_one", "write_two"]))
        .rule(reads(on(root, 3), "one.txt"))
        .rule(spawn(on(root, 4), "Write three"))
        .rule(wait(5, &["write_three"]))
        .rule(Rule::task(root).text("All three are written."))
        .writes("write_one", "one.txt", "1\n")
        .writes("write_two", "two.txt", "2\n")
        .writes("write_three", "three.txt", "3\n");
    let world = World::lived_in()?;
    let played = world.play(GOAL, &script, |settings| {
        settings.run.max_agents = max_agents
    })?;
    let merged =
        [root, "write_one", "write_two", "write_three"].map(|task| (task, TaskState::Merged));
    played.require(0, &merged)?;
    for (file, expected) in [("one.txt", "1"), ("two.txt", "2"), ("three.txt", "3")] {
        assert_eq!(world.merged(&played.report, file)?, expected, "{played}");
    }
    // The root works on with their work in its own worktree; they have the context of any agent.
    played.require_told(
        root,
        &[
            "write_two (Write two): merged",
            "write_three (Write three): merged",
        ],
    )?;
    let contexts: Vec<u64> = specs(&played)?
        .iter()
        .map(|spec| spec.context_tokens)
        .collect();
    assert!(
        contexts == [1_000_000, 16_000, 16_000, 16_000]
            && played.report.answer.as_deref() == Some("All three are written."),
        "{contexts:?}\n{played}"
    );
    Ok(())
}

fn the_fixed_prompts_are_small() -> Outcome {
    let played =
        World::lived_in()?.play(GOAL, &answers("greet_politely", "It is polite."), |_| ())?;
    let (counter, requests) = (Tokenizer::load()?, played.requests()?);
    let Some(first) = requests.first() else {
        return fail(played.story());
    };
    let tokens = fixed_tokens(&first.system, &first.tools, &counter);
    let offers_spawning = first
        .tools
        .iter()
        .any(|tool| tool.name == "spawn_child_agent");
    assert!(tokens < 2_500 && offers_spawning, "{tokens} tokens");
    Ok(())
}

fn a_check_says_what_would_happen() -> Outcome {
    let world = World::plain()?;
    world.repository.write("goal.md", GOAL)?;
    let gets = "The agent gets the whole goal: it reads the repository, may spawn agents for the\n";
    let rule =
        "nothing in it is certain to be a task, so the whole document is the goal of one agent";
    let ran = world.types(&["check", "goal.md"], 0)?;
    says(
        &ran,
        &[
            "greet_politely  Greet politely  @coordinator",
            gets,
            rule,
            "`orchestrate plan` makes a plan of it",
        ],
    )?;
    let ran = world.types(&["check", "fix the flaky login test"], 0)?;
    says(
        &ran,
        &[
            "goal: fix the flaky login test\n",
            "fix_the_flaky",
            "@coordinator",
            gets,
        ],
    )?;
    let report = world
        .types(&["check", "fix the flaky login test", "--json"], 0)?
        .json()?;
    let seen = [
        &report["waves"][0]["tasks"],
        &report["tasks"][0]["agent"],
        &report["warnings"],
        &report["errors"],
    ];
    assert_eq!(
        seen,
        [
            &json!(["fix_the_flaky"]),
            &json!("coordinator"),
            &json!([]),
            &json!([])
        ],
        "{report}"
    );
    // Lines that look like work are never swallowed by a goal.
    world.repository.write(
        "left.md",
        &format!("{GOAL}\n## Manual steps\n\n- [ ] Ask the owner\n"),
    )?;
    says(
        &world.types(&["check", "left.md"], 2)?,
        &["no tasks found (1 lines look like tasks but are none"],
    )
}

/// A plan as an agent writes it, in a fence that is not part of it.
const PLAN: &str = "# Greet\n\n- [ ] T1 Write the greeting @implementer (files: greeting.txt)\n- [ ] T2 Try it (run: test -f greeting.txt) \
     (depends: T1)\n";

fn a_plan_is_made_reviewed_and_run() -> Outcome {
    let world = World::plain()?;
    let task = "make_it_friendly";
    let script = Script::default()
        .rule(on(task, 1).call("list_directory", &json!({"path": "."})))
        .rule(on(task, 2).text("First the greeting, then a try of it."))
        .rule(
            Rule::task(task)
                .returned(ReturnCause::InvalidPlan)
                .turn(3)
                .text("- [ ] T1 Greet (depends: T7)"),
        )
        .rule(
            Rule::task(task)
                .returned(ReturnCause::InvalidPlan)
                .text(&format!("```markdown\n{PLAN}```")),
        )
        .writes("T1", "greeting.txt", "Good morning!\n");
    let model = world.script(&script)?;
    let ran = world.types(
        &[
            "plan",
            "Make it friendly",
            "-o",
            "plan.md",
            "--model",
            &model,
        ],
        0,
    )?;
    says(
        &ran,
        &[
            "| - [ ] T1 Write the greeting",
            "plan: plan.md\n",
            "orchestrate check plan.md",
            "orchestrate run plan.md",
        ],
    )?;
    assert_eq!(world.repository.read("plan.md")?, PLAN);
    let log = world.types(&["log"], 0)?;
    says(&log, &["its plan cannot be run"])?;
    let told = world.types(&["log", "--transcript"], 0)?;
    says(&told, &["no tasks found, only prose", "T7"])?;
    // Nothing of the plan has run, and it runs as any other does.
    let report = world.types(&["status", "--json"], 0)?.json()?;
    assert!(
        report["tasks"].as_array().map(Vec::len) == Some(1) && report["answer"] == PLAN,
        "{report}"
    );
    says(
        &world.types(&["check", "plan.md"], 0)?,
        &["wave 1: T1", "wave 2: T2"],
    )?;
    let report = run(&world, "plan.md", &script, 0)?;
    let states: Vec<&Value> = report["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| &task["state"])
        .collect();
    assert_eq!(states, ["merged", "merged"], "{report}");
    assert!(report.get("answer").is_none(), "{report}");
    Ok(())
}

fn a_plan_that_stays_invalid_is_not_written() -> Outcome {
    let world = World::plain()?;
    let model = world.script(&answers("make_it_friendly", "I cannot divide this."))?;
    let ran = world.types(
        &[
            "plan",
            "Make it friendly",
            "-o",
            "made.md",
            "--model",
            &model,
        ],
        1,
    )?;
    says(
        &ran,
        &[
            "invalid_plan: its plan cannot be run, again after it was returned to its agent 2 times: no tasks found",
        ],
    )?;
    assert!(
        !world.repository.path().join("made.md").exists(),
        "a plan was written"
    );
    Ok(())
}

fn a_plan_never_replaces_a_file() -> Outcome {
    let world = World::plain()?;
    let model = world.script(&answers("make_it_friendly", PLAN))?;
    let plans = |file: &str, code| {
        world.types(
            &["plan", "Make it friendly", "-o", file, "--model", &model],
            code,
        )
    };
    world.repository.write("plan.md", "mine\n")?;
    says(&plans("plan.md", 2)?, &["plan.md exists already"])?;
    says(
        &plans("no/plan.md", 2)?,
        &["the folder of no/plan.md does not exist"],
    )?;
    // Nothing was run until here.
    world.types(&["status"], 2)?;
    says(
        &plans("of it.md", 0)?,
        &["plan: of it.md\n", "orchestrate run 'of it.md'"],
    )?;
    let read = ["plan.md", "of it.md"].map(|name| world.repository.read(name).unwrap_or_default());
    assert_eq!(read, ["mine\n", PLAN]);
    Ok(())
}

/// A planner's answer accounts for a document only if its run rewrites one.
fn a_planner_in_a_plan_only_makes_its_own() -> Outcome {
    let world = World::plain()?;
    let plan = "Divide it first.\n\n- [ ] T1 Plan it @planner\n";
    world.repository.write("plan.md", plan)?;
    let report = run(&world, "plan.md", &answers("T1", PLAN), 0)?;
    assert_eq!(report["tasks"][0]["agent"], "planner", "{report}");
    Ok(())
}

/// Where a plan goes to standard output, nothing else does, and what is asked for is not changed.
fn a_plan_that_is_not_made_leaves_standard_output_empty() -> Outcome {
    let world = World::plain()?;
    let list = "- [ ] Add the cart\n";
    world.repository.write("todo.md", list)?;
    let task = "add_the_cart";
    let model = world.script(&answers(task, "I cannot divide this."))?;
    let ran = world.types(&["plan", "todo.md", "--model", &model], 1)?;
    assert_eq!(ran.stdout, "");
    says(&ran, &["its plan cannot be run"])?;
    let whole = "- [ ] T1 Add the cart\n\n```lines\n1: T1\n```\n";
    let model = world.script(&answers(task, whole))?;
    let ran = world.types(&["plan", "todo.md", "--land", "--model", &model], 0)?;
    assert_eq!(ran.stdout, "- [ ] T1 Add the cart\n");
    assert_eq!(world.repository.read("todo.md")?, list);
    Ok(())
}

/// What a team has written, in no format that is known.
const NOTES: &str = "Shop notes\n\nWe sell books.\n\nThe cart has to show a total.\n\
                     The till comes after it.\n\nLater: gift cards.\n";
const OF_NOTES: &str = "# Shop\n\nWe sell books.\n\n- [ ] T1 Show a total in the cart\n\
                        - [ ] T2 Build the till (depends: T1)\n";

fn a_document_is_rewritten_with_an_account_of_its_lines() -> Outcome {
    let world = World::plain()?;
    world.repository.write("notes.txt", NOTES)?;
    let task = "shop_notes";
    let cited = |lines: &str| format!("{OF_NOTES}\n```lines\n{lines}\n```\n");
    let returned = || Rule::task(task).returned(ReturnCause::InvalidPlan);
    let script = Script::default()
        .rule(
            // Its lines are numbered, so that they can be cited.
            Rule::task(task)
                .last_contains("5\tThe cart has to show a total.")
                .text(OF_NOTES),
        )
        .rule(returned().turn(2).text(&cited("1-3: told\n5: T1\n6: T2")))
        .rule(returned().text(&cited(
            "1-3: told\n5: T1\n6: T2\n8: not run: it is for later",
        )))
        .writes("T1", "cart", "1\n")
        .writes("T2", "till", "1\n");
    let model = world.script(&script)?;
    let ran = world.types(
        &["plan", "notes.txt", "-o", "made.md", "--model", &model],
        0,
    )?;
    says(&ran, &["plan: made.md\n"])?;
    // It has changed nothing, so there is no result.
    let text = &ran.stdout;
    assert!(
        !text.contains("merged") && !text.contains("result:"),
        "{text}"
    );
    assert_eq!(world.repository.read("made.md")?, OF_NOTES);
    let ran = world.types(&["plan", "notes.txt", "--model", &model], 0)?;
    // The plan alone is on standard output.
    assert_eq!(ran.stdout, OF_NOTES);
    let fed = world
        .orchestrate(&["plan", "-", "--model", &model])
        .stdin(NOTES);
    assert_eq!(fed.run()?.exits(0)?.stdout, OF_NOTES);
    let fed = world.orchestrate(&["check", "-"]).stdin(OF_NOTES);
    says(&fed.run()?.exits(0)?, &["standard input: Shop"])?;
    for (line, becomes) in [
        ("    1  Shop notes ", "| told to all\n"),
        (
            "    5  The cart has to show a total. ",
            "| T1 Show a total in the cart\n",
        ),
        ("    8  Later: gift cards. ", "| not run: it is for later\n"),
    ] {
        let shown = ran.stderr.lines().find(|shown| shown.starts_with(line));
        let shown = shown.ok_or_else(|| format!("{line} is not in {}", ran.stderr))?;
        assert!(format!("{shown}\n").ends_with(becomes), "{shown}");
    }
    let told = world.types(&["log", "--transcript"], 0)?;
    says(
        &told,
        &[
            "a block of code marked `lines`",
            "the citations leave out line 8 of the document",
        ],
    )?;
    // What it made is run as any plan is, and is the latest run from then on, also after the next
    // plan is made.
    world.repository.write("plan.md", &ran.stdout)?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    let latest = |world: &World| world.types(&["status", "--json"], 0)?.json();
    let of_plan = latest(&world)?["run_id"].clone();
    world.types(&["plan", "notes.txt", "--model", &model], 0)?;
    assert_eq!(latest(&world)?["run_id"], of_plan);
    Ok(())
}

fn what_is_no_goal_is_refused() -> Outcome {
    let world = World::plain()?;
    world.repository.write("empty.md", " \n\n")?;
    world
        .repository
        .write("front.md", "---\ntitle: Only this\n---\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: true)\n")?;
    std::fs::write(
        world.repository.path().join("binary.md"),
        b"make \0 it \0 friendly",
    )?;
    std::fs::write(
        world.repository.path().join("latin.md"),
        b"mache es sch\xf6ner und besser",
    )?;
    std::fs::create_dir(world.repository.path().join("folder"))?;
    let table: [(&[&str], &str); 9] = [
        (&["empty.md"], "the plan is empty"),
        (&["front.md"], "no tasks found"),
        (&["binary.md"], "the plan is not text"),
        (&["latin.md"], "is not valid UTF-8"),
        (&["folder"], "failed to read the plan folder"),
        (&["  \n "], "the goal is empty"),
        (&["fix"], "failed to read the plan fix: "),
        (
            &["# Greet\n\n- [ ] T1 a\n- [ ] T2 b"],
            "this text lists tasks, so it is a plan",
        ),
        (
            &["check plan.md"],
            "did you mean `orchestrate check plan.md`, without quotes?",
        ),
    ];
    for (arguments, expected) in table {
        let ran = world.types(
            &[&["run"], arguments, &["--model", "script:none"]].concat(),
            2,
        )?;
        says(&ran, &[expected])?;
    }
    let unquoted: [(&[&str], &str); 4] = [
        (
            &["fix", "the", "login", "test"],
            "is quoted: `orchestrate run 'fix the login test'`",
        ),
        (
            &["run", "--quiet", "fix", "fix", "it", "--json"],
            "is quoted: `orchestrate run 'fix fix it'`",
        ),
        (
            &["check", "fix", "it"],
            "is quoted: `orchestrate check 'fix it'`",
        ),
        (&["run", "folder", "fix"], "unexpected argument 'fix' found"),
    ];
    for (arguments, expected) in unquoted {
        says(&world.types(arguments, 2)?, &[expected])?;
    }
    world.types(&["status"], 2).map(drop)
}

/// More than a megabyte of text does not fit into the first message of the largest context; the
/// agent can page through it.
fn a_goal_of_a_megabyte_is_one_task() -> Outcome {
    let text = format!(
        "{GOAL}\n## Background\n\n{}\n",
        "Words about the greeting. ".repeat(45_000)
    );
    let world = World::plain()?;
    let script = Script::default()
        .rule(on("greet_politely", 1).call("read_plan", &json!({"section": "Background"})))
        .rule(Rule::task("greet_politely").text("It is friendly enough."));
    let played = world.play(&text, &script, |_| ())?;
    played.require_merged(&["greet_politely"])?;
    let told = "Left out of this message because it is too long: \"Background\". `read_plan` shows the plan";
    played.require_told(
        "greet_politely",
        &[
            told,
            "The greeting is too short.",
            "Words about the greeting.",
        ],
    )?;
    assert_eq!(
        played.report.answer.as_deref(),
        Some("It is friendly enough."),
        "{played}"
    );
    Ok(())
}
