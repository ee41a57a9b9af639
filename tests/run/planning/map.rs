//! The map of the repository that an agent gets with its first message.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::{Message, ModelRequest, TaskState};
use serde_json::json;

use crate::support::{Case, Outcome, Played, Script, World, at, case, done, fail, on, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(an_agent_gets_what_its_task_reaches),
        case!(what_its_agent_may_not_read_is_not_in_it),
        case!(a_task_that_names_nothing_gets_none),
        case!(no_request_waits_for_it),
        case!(what_files_declare_is_found_out_once),
        case!(a_role_and_the_settings_switch_it),
        case!(the_next_attempt_sees_the_tree_that_it_starts_from),
        case!(a_resumed_run_sends_the_same_bytes),
        case!(a_user_sees_what_the_agent_gets),
    ]
}

/// The heading of a map.
const HEADING: &str = "## Map of the repository";
const PLAN: &str = "- [ ] T1 Count what `add_order` adds (files: src/orders.py)\n";

/// A repository of some files of code.
fn world() -> Result<World, Failed> {
    let world = World::lived_in()?;
    let repository = &world.repository;
    repository.write(
        "src/orders.py",
        "from src.basket import add_to_basket\n\n\ndef add_order(order):\n    add_to_basket(order)\n",
    )?;
    repository.write(
        "src/basket.py",
        "def add_to_basket(order):\n    return order\n\n\ndef _check_basket():\n    pass\n",
    )?;
    repository.write(
        "secret/keys.py",
        "def secret_of_basket():\n    add_to_basket(1)\n",
    )?;
    repository.write(".gitignore", "ignored.py\n")?;
    repository.write(
        "src/ignored.py",
        "def ignored_function():\n    add_order(1)\n",
    )?;
    for number in 0..20 {
        repository.write(
            &format!("src/other_{number}.py"),
            &format!("def unrelated_{number}():\n    pass\n"),
        )?;
    }
    repository.commit_all("Some files")?;
    Ok(world)
}

/// Runs a plan whose agents wait for their maps, however busy the machine is.
fn play(
    world: &World,
    plan: &str,
    script: &Script,
    change: impl FnOnce(&mut Settings),
) -> Result<Played, Failed> {
    world.play(plan, script, |settings| {
        settings.run.map_wait_ms = 600_000;
        change(settings);
    })
}

fn script() -> Script {
    Script::default().writes("T1", "T1.txt", "1\n")
}

/// Returns the first message of the first request of a turn.
fn message(requests: &[ModelRequest], turn: u32) -> Result<String, Failed> {
    let request = requests.iter().find(|request| request.origin.turn == turn);
    match request.and_then(|request| request.messages.first()) {
        Some(Message::User { text }) => Ok(text.clone()),
        other => fail(format!("{other:?}")),
    }
}

/// Returns the lines of a message's map, without the marks of its block; empty if there is none.
fn map_of(message: &str) -> String {
    let Some((_, after)) = message.split_once(HEADING) else {
        return String::new();
    };
    let lines = after
        .lines()
        .skip_while(|line| !line.starts_with("<data-"))
        .skip(1);
    lines
        .take_while(|line| !line.starts_with("</data-"))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn require(found: &str, expected: &str) -> Outcome {
    assert_eq!(
        found, expected,
        "--- found\n{found}--- expected\n{expected}"
    );
    Ok(())
}

fn an_agent_gets_what_its_task_reaches() -> Outcome {
    let played = play(&world()?, PLAN, &script(), |settings| {
        settings.run.map_tokens = 140
    })?;
    let map = map_of(&message(&played.requests()?, 1)?);
    require(
        &map,
        "secret/keys.py\n 1: def secret_of_basket()\nsrc/\n basket.py\n  1: def add_to_basket(order)\n  5: def _check_basket()\n orders.py\n  4: \
         def add_order(order)\n",
    )
}

fn what_its_agent_may_not_read_is_not_in_it() -> Outcome {
    let plan = "- [ ] T1 Count what `add_order` adds, and see other_3.py and other_4.py (files: src/orders.py)\n";
    let played = play(&world()?, plan, &script(), |settings| {
        settings.run.rules.push(RuleText::new(
            RuleDecision::Deny,
            "Read(/secret/**)",
            "test",
        ));
        settings
            .run
            .tool_settings
            .file_operations
            .forbidden_paths
            .push("src/other_3.py".to_owned());
    })?;
    let map = map_of(&message(&played.requests()?, 1)?);
    let hidden = ["secret", "unrelated_3(", "other_3.py", "ignored"];
    match hidden.iter().find(|hidden| map.contains(**hidden)) {
        None if map.contains("other_4.py") && map.contains("basket.py") => Ok(()),
        found => fail(format!("{found:?}\n{map}")),
    }
}

fn a_task_that_names_nothing_gets_none() -> Outcome {
    let world = world()?;
    let played = play(&world, "- [ ] T1 Say hello\n", &script(), |_| ())?;
    let message = message(&played.requests()?, 1)?;
    assert!(!message.contains(HEADING), "{message}");
    let path = world.write("plan.md", "- [ ] T1 Say hello\n")?;
    says(
        &world.types(&["check", &path, "--map", "T1"], 0)?,
        &["T1 gets no map: the task names no file, folder or name"],
    )
}

/// A map that is not ready in time is left out, and the agent begins at once.
fn no_request_waits_for_it() -> Outcome {
    let played = world()?.play(PLAN, &script(), |settings| settings.run.map_wait_ms = 0)?;
    played.require_merged(&["T1"])?;
    let message = message(&played.requests()?, 1)?;
    assert!(!message.contains(HEADING), "{message}");
    Ok(())
}

/// Returns the file in which what files declare is kept.
fn kept(world: &World) -> Result<PathBuf, Failed> {
    let repos = std::fs::read_dir(world.home.state().join("repos"))?;
    let mut found = repos
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("map-parts"));
    found
        .find(|path| path.is_file())
        .ok_or_else(|| Failed::from("nothing is kept"))
}

/// A later run reads what files declare from what is kept, also if a crash has cut the last line of
/// that.
fn what_files_declare_is_found_out_once() -> Outcome {
    let world = world()?;
    let lines = |path: &Path| {
        std::fs::read_to_string(path)
            .map(|text| text.lines().filter(|line| !line.is_empty()).count())
    };
    let first = map_of(&message(
        &play(&world, PLAN, &script(), |_| ())?.requests()?,
        1,
    )?);
    let path = kept(&world)?;
    let all = lines(&path)?;
    let second = map_of(&message(
        &play(&world, PLAN, &script(), |_| ())?.requests()?,
        1,
    )?);
    assert!(
        all >= 20 && lines(&path)? == all && first == second && first.contains("add_to_basket"),
        "{all} lines, then {}\n{first}---\n{second}",
        lines(&path)?
    );
    let bytes = std::fs::read(&path)?;
    std::fs::write(&path, bytes.get(..bytes.len() - 20).unwrap_or_default())?;
    let third = map_of(&message(
        &play(&world, PLAN, &script(), |_| ())?.requests()?,
        1,
    )?);
    assert_eq!(third, first, "{} lines\n{third}", lines(&path)?);
    assert_eq!(lines(&path)?, all + 1, "{} lines\n{third}", lines(&path)?);
    Ok(())
}

fn a_role_and_the_settings_switch_it() -> Outcome {
    let role = |map: &str| format!("---\nname: mine\ndescription: Mine.\n{map}\n---\nYou work.\n");
    let table = [
        ("", None, true),
        ("", Some(0), false),
        ("map: off", None, false),
        ("map: on", Some(0), true),
        ("map: 300", Some(0), true),
        // Reads nothing.
        ("tools: write_file\nmap: on", None, false),
    ];
    for (key, tokens, expected) in table {
        let world = world()?;
        world.commit(".orchestrate/agents/mine.md", &role(key))?;
        let played = play(&world, PLAN, &script(), |settings| {
            settings.run.agent = "mine".to_owned();
            settings.run.map_tokens = tokens.unwrap_or(settings.run.map_tokens);
        })?;
        let message = message(&played.requests()?, 1)?;
        if map_of(&message).contains("add_to_basket") != expected {
            return fail(format!("{key} {tokens:?}\n{message}"));
        }
    }
    Ok(())
}

/// A task that depends on another one starts from its merged work.
fn the_next_attempt_sees_the_tree_that_it_starts_from() -> Outcome {
    let plan = format!("{PLAN}- [ ] T2 Use `new_helper_of_orders` (depends: T1)\n");
    let helper =
        json!({"path": "src/helper.py", "content": "def new_helper_of_orders():\n    pass\n"});
    let script = Script::default()
        .rule(on("T1", 1).call("write_file", &helper))
        .rule(done("T1"))
        .writes("T2", "T2.txt", "2\n");
    let requests = play(&world()?, &plan, &script, |_| ())?.requests()?;
    let of_second: Vec<ModelRequest> = requests
        .into_iter()
        .filter(|request| request.origin.task.as_str() == "T2")
        .collect();
    let map = map_of(&message(&of_second, 1)?);
    assert!(map.contains("def new_helper_of_orders()"), "{map}");
    Ok(())
}

/// A run that waits for a person between two turns; the checkout changes meanwhile.
fn a_resumed_run_sends_the_same_bytes() -> Outcome {
    let world = world()?;
    let asks = |settings: &mut Settings| {
        settings.run.map_wait_ms = 600_000;
        settings
            .run
            .rules
            .push(RuleText::new(RuleDecision::Ask, "write_file(**)", "test"));
        settings.run.ask_parks = true;
    };
    let played = world.play(PLAN, &script(), asks)?;
    played.require(3, &[("T1", TaskState::Waiting)])?;
    world.commit("src/basket.py", "def changed_since():\n    pass\n")?;
    let run = played.allow_all()?;
    let resumed = world.resume(&run, &script(), asks)?;
    resumed.require_merged(&["T1"])?;
    let requests = resumed.requests()?;
    let (one, two) = (message(&requests, 1)?, message(&requests, 2)?);
    assert_eq!(one, two, "{one}\n---\n{two}");
    assert!(map_of(&one).contains("add_to_basket"), "{one}\n---\n{two}");
    Ok(())
}

/// `check --map` prints the very text that the agent of a run gets.
fn a_user_sees_what_the_agent_gets() -> Outcome {
    let world = world()?;
    let plan = format!("{PLAN}- [ ] T2 (run: true)\n");
    let path = world.write("plan.md", &plan)?;
    let shown = world.types(&["check", &path, "--map", "T1"], 0)?;
    // What it has found out is kept, though there was no run.
    kept(&world)?;
    let played = play(&world, PLAN, &script(), |_| ())?;
    assert!(
        message(&played.requests()?, 1)?.contains(shown.stdout.trim_end()),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.starts_with(HEADING), "{}", shown.stdout);
    let json = world
        .types(&["check", &path, "--map", "T1", "--json"], 0)?
        .json()?;
    let tokens = at(&json, "/tokens")?.as_u64().unwrap_or_default();
    let same =
        at(&json, "/map")?.as_str().unwrap_or_default().trim_end() == shown.stdout.trim_end();
    assert!(same, "{json}");
    assert!((50..=1_000).contains(&tokens), "{json}");
    says(
        &world.types(&["check", &path, "--map", "T9"], 2)?,
        &["the plan has no task `T9`", "did you mean `T1`?"],
    )?;
    says(
        &world.types(&["check", &path, "--map", "T2"], 2)?,
        &["T2 is a command, which gets no map"],
    )?;
    let few = World::plain()?;
    few.repository.write("plan.md", PLAN)?;
    says(
        &few.types(&["check", "plan.md", "--map", "T1"], 0)?,
        &["T1 gets no map: with 0 files of code"],
    )
}
