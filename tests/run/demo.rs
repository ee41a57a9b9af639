//! The demo, as a new user sees it, and what its folder can be used for afterwards.

use orchestrate_sandbox::Confinement;
use serde_json::Value;

use crate::support::{
    Case, Home, Need, Outcome, WITHOUT_BUBBLEWRAP, World, at, case, fail, lines, sandboxed, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(it_succeeds_and_tells_what_happened),
        sandboxed!(a_spoiled_repair_needs_a_person),
        sandboxed!(what_starts_a_sandbox_keeps_to_the_required_tier)
            .needs(Need::MOUNTS)
            .in_tier(Confinement::Fallback),
        sandboxed!(a_required_tier_that_starts_is_named).in_tier(Confinement::Full),
        case!(a_folder_with_files_is_left_alone),
    ]
}

/// Without bubblewrap, if the full tier is required, every command that would start a sandbox is
/// refused.
fn what_starts_a_sandbox_keeps_to_the_required_tier() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let without_bubblewrap = |arguments: &[&str], mode: &str| {
        world
            .home
            .remounted(WITHOUT_BUBBLEWRAP, world.repository.path(), arguments)
            .env("RALPH_SANDBOX_MODE", mode)
            .run()
    };
    let typed: [&[&str]; 6] = [
        &["demo", "strict"],
        &["run", "plan.md"],
        &["resume"],
        &["approve", "T1", "--follow"],
        &["reject", "T1", "-m", "no", "--follow"],
        &["retry", "T1", "-m", "more"],
    ];
    for arguments in typed {
        let refused = without_bubblewrap(arguments, "strict")?.exits(2)?.stderr;
        assert!(
            (refused.contains("bwrap") || refused.contains("bubblewrap"))
                && refused.contains("the tier that RALPH_SANDBOX_MODE=strict demands"),
            "{arguments:?}: {refused}"
        );
    }
    let check = without_bubblewrap(&["check", "plan.md"], "strict")?
        .exits(2)?
        .stdout;
    if !check
        .contains("a run would fail to keep to the tier that RALPH_SANDBOX_MODE=strict demands")
    {
        return fail(check);
    }
    let told = without_bubblewrap(&["doctor"], "strict")?.exits(2)?;
    says(
        &told,
        &[
            "RALPH_SANDBOX_MODE=strict demands the tier full",
            "which does not start here",
            "unset RALPH_SANDBOX",
        ],
    )?;
    let told = without_bubblewrap(&["doctor"], "0")?;
    says(&told, &["RALPH_SANDBOX_MODE=0 demands no tier"])?;
    assert!(
        !world.repository.path().join("strict").exists(),
        "a sample was left behind where it cannot be run"
    );
    without_bubblewrap(&["demo", "sample"], "off")?.exits(2)?;
    // The control: where no tier is demanded, the same machine runs the demo, and says in which
    // tier.
    let told = without_bubblewrap(&["demo", "sample"], "0")?.exits(0)?;
    says(&told, &["sandbox tier: fallback"])?;
    assert!(
        world.repository.path().join("sample/plan.md").exists(),
        "the demo has left no sample"
    );
    without_bubblewrap(&["approve", "T1", "--follow"], "0")?.exits(0)?;
    Ok(())
}

fn a_required_tier_that_starts_is_named() -> Outcome {
    let world = World::plain()?;
    let told = world
        .orchestrate(&["doctor"])
        .env("RALPH_SANDBOX_MODE", "1")
        .run()?;
    says(
        &told,
        &[
            "RALPH_SANDBOX_MODE=1 demands the tier full",
            "which starts; nothing weaker is used",
        ],
    )?;
    let told = world
        .orchestrate(&["demo", "strict"])
        .env("RALPH_SANDBOX_MODE", "strict")
        .run()?
        .exits(0)?;
    says(
        &told,
        &[
            "\nsandbox tier: full (",
            "), as RALPH_SANDBOX_MODE=strict demands\n",
        ],
    )?;
    let told = world
        .orchestrate(&["demo", "any"])
        .env("RALPH_SANDBOX_MODE", "0")
        .run()?
        .exits(0)?;
    assert!(!told.stderr.contains("demands"), "{}", told.stderr);
    Ok(())
}

fn it_succeeds_and_tells_what_happened() -> Outcome {
    let home = Home::new()?;
    let ran = home
        .orchestrate(home.path(), &["demo", "sample"])
        .run()?
        .exits(0)?;
    let told = [
        "T2's check failed; its agent got the output and fixed the cause",
        "conflicted with merged work; its agent got the conflict and resolved it",
        "orchestrate land",
    ];
    for part in told {
        if !ran.stdout.contains(part) {
            return fail(format!("not told: {part}\n{}", ran.stdout));
        }
    }
    let status = home
        .orchestrate(&home.path().join("sample"), &["status", "--json"])
        .run()?
        .exits(0)?
        .json()?;
    let branch = at(&status, "/integration_branch")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let shown = home.command(
        "git",
        &home.path().join("sample"),
        &["show", &format!("{branch}:functions.txt")],
    );
    let counted = shown.run()?.exits(0)?.stdout;
    assert_eq!(counted, "4\n");
    three_agents_work_side_by_side(&facts(&home)?)
}

/// Requires that three agents start before the first of them commits, and that their model calls
/// overlap.
fn three_agents_work_side_by_side(facts: &[Value]) -> Outcome {
    let (mut spawned, mut open, mut most_open) = (0, 0_i32, 0);
    for fact in facts {
        match at(fact, "/type")?.as_str().unwrap_or_default() {
            "agent.spawned" => spawned += 1,
            "model.requested" => open += 1,
            "model.replied" => open -= 1,
            "task.committed" => break,
            _ => {}
        }
        most_open = most_open.max(open);
    }
    if spawned >= 3 && most_open >= 2 {
        return Ok(());
    }
    fail(format!(
        "{spawned} agents and {most_open} open requests before the first commit"
    ))
}

fn facts(home: &Home) -> Result<Vec<Value>, libtest_mimic::Failed> {
    let folder = home.path().join("sample");
    let ran = home
        .orchestrate(&folder, &["log", "--json"])
        .run()?
        .exits(0)?;
    match serde_json::from_str(&ran.stdout) {
        Ok(Value::Array(facts)) => Ok(facts),
        _ => lines(&ran.stdout),
    }
}

/// Without its repair the conflict remains: the run ends with exit code 3, and what depends on the
/// task is skipped.
fn a_spoiled_repair_needs_a_person() -> Outcome {
    let home = Home::new()?;
    home.orchestrate(home.path(), &["demo", "sample"])
        .run()?
        .exits(0)?;
    let folder = home.path().join("sample");
    let script = std::fs::read_to_string(folder.join("script.jsonl"))?;
    let mut spoiled = String::new();
    for mut rule in lines(&script)? {
        if rule.pointer("/when/last_contains").and_then(Value::as_str) == Some("<<<<<<<") {
            rule["reply"] = serde_json::json!({"text": "I give up."});
        }
        spoiled.push_str(&format!("{rule}\n"));
    }
    std::fs::write(folder.join("script.jsonl"), spoiled)?;
    let arguments = [
        "run",
        "plan.md",
        "--model",
        "script:script.jsonl",
        "--output-format",
        "json",
    ];
    let ran = home.orchestrate(&folder, &arguments).run()?.exits(3)?;
    let report = ran.json()?;
    let tasks = at(&report, "/tasks")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    let states: Vec<&str> = tasks
        .iter()
        .filter_map(|task| task["state"].as_str())
        .collect();
    let conflicted = states
        .iter()
        .filter(|state| **state == "conflicted")
        .count();
    assert_eq!(conflicted, 1, "{}", ran.stdout);
    assert_eq!(states[3..], ["skipped", "skipped"], "{}", ran.stdout);
    Ok(())
}

fn a_folder_with_files_is_left_alone() -> Outcome {
    let home = Home::new()?;
    std::fs::create_dir(home.path().join("mine"))?;
    std::fs::write(home.path().join("mine/file.txt"), "mine\n")?;
    let ran = home
        .orchestrate(home.path(), &["demo", "mine"])
        .run()?
        .exits(2)?;
    let kept = std::fs::read_dir(home.path().join("mine"))?.count() == 1;
    assert!(
        kept && ran.stderr.contains("is not empty; nothing was written"),
        "{}",
        ran.stderr
    );
    Ok(())
}
