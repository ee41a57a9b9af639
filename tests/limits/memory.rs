//! What crafted files cost the coordinator: no more than its share of the machine's memory,
//! whatever all agents ask for at once.

use std::fs;

use libtest_mimic::Failed;
use orchestrate_core::event::{Event, ToolOutcome};
use serde_json::{Value, json};

use crate::support::{Case, Outcome, Rule, Script, World, case, fail, shell, until};

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(crafted_files_cost_the_coordinator_little)]
}

/// The environment variable that, set to `all`, selects the long form.
const LONG_FORM: &str = "ORCHESTRATE_HOSTILE";
/// The most that crafted files may add to the coordinator's peak, in kilobytes.
const MOST_GROWTH: u64 = 200 << 10;
/// How many agents call the tools at once; in the long form (`ORCHESTRATE_HOSTILE=all`), and
/// otherwise.
const MANY_AGENTS: usize = 6;
const AGENTS: usize = 2;
/// The short form's files are this many times smaller.
const SHORT_PART: usize = 160;
/// The calls with which each of them begins.
const CALLS: usize = 13;
const MEGABYTE: usize = 1 << 20;

/// Files that take much memory for their size, below one folder.
const CRAFTED: [(&str, &str, &str, usize); 14] = [
    ("statements.py", "", "x\n", 8 * MEGABYTE),
    ("more_statements.py", "", "y\n", 3 * MEGABYTE),
    ("nested.js", "", "(", MEGABYTE),
    ("list.ts", "a=[", "[1],", 3 * MEGABYTE),
    ("errors.rs", "", "}<a ( '\n\" =[ if { b > ; ", 2 * MEGABYTE),
    ("ambiguous.cpp", "", "a<b<c>>(d);", 3 * MEGABYTE),
    ("functions.go", "package a\n", "func a() {}\n", 3 * MEGABYTE),
    ("words.sh", "", "a <<B\n", MEGABYTE),
    ("package.json", "{\"a\":[", "0,", 4 * MEGABYTE),
    ("Cargo.toml", "a=[", "{},", 4 * MEGABYTE),
    ("pom.xml", "<project>", "<a/>", 4 * MEGABYTE),
    ("profile.txt", "", "a;b;c 1\n", 9 * MEGABYTE),
    (
        "profile.json",
        "{\"sampling_mode\":1,\"iters\":[0",
        ",0",
        9 * MEGABYTE,
    ),
    ("line.txt", "", "a", 9 * MEGABYTE),
];
/// A role that may use the tools that read what others have written.
const ROLE: &str = "---\nname: implementer\ndescription: Looks.\ntools: analyze_code_structure, \
    measure_code_complexity, find_similar_code, find_code_patterns, analyze_dependencies, analyze_performance, \
    read_file, grep, write_file, append_file, run_shell_command, git_diff\n---\nLook.\n";

fn crafted_files_cost_the_coordinator_little() -> Outcome {
    let is_long = std::env::var(LONG_FORM).is_ok_and(|wanted| wanted == "all");
    let (agents, part) = if is_long {
        (MANY_AGENTS, 1)
    } else {
        (AGENTS, SHORT_PART)
    };
    let (ordinary, crafted) = (peak(agents, part, false)?, peak(agents, part, true)?);
    match crafted.saturating_sub(ordinary) {
        growth if growth <= MOST_GROWTH => Ok(()),
        growth => fail(format!(
            "crafted files cost {} MB: {crafted} instead of {ordinary} kB",
            growth >> 10
        )),
    }
}

/// Returns the peak of the coordinator's memory in kilobytes in a run whose agents call the tools
/// on all files at once. The files are crafted ones, this many times smaller, or else small ones.
fn peak(agents: usize, part: usize, is_crafted: bool) -> Result<u64, Failed> {
    let world = World::plain()?;
    world.repository.write("agents/implementer.md", ROLE)?;
    for (name, begin, piece, bytes) in CRAFTED {
        let repeated = if is_crafted {
            bytes / part / piece.len()
        } else {
            10
        };
        world.repository.write(
            &format!("crafted/{name}"),
            &format!("{begin}{}", piece.repeat(repeated)),
        )?;
    }
    world.repository.commit_all("Add files")?;
    let tasks: String = (1..=agents)
        .map(|number| format!("- [ ] T{number} look\n"))
        .collect();
    let plan = world.write("plan.md", &tasks)?;
    let large = if is_crafted { 300_000_000 / part } else { 300 };
    let model = world.script(&script(large, part))?;
    let most = agents.to_string();
    let mut running = world
        .orchestrate(&["run", &plan, "--model", &model, "--max-agents", &most])
        .start()?;
    let status = format!("/proc/{}/status", running.pid());
    let mut peak = 0;
    until(std::time::Duration::from_secs(300), || {
        // Its own maximum, so the last look shows all but the very end.
        peak = peak.max(kilobytes(&fs::read_to_string(&status).unwrap_or_default()));
        Ok(running.has_ended()?.then_some(()))
    })?;
    let ran = running.end()?.exits(0)?;
    if !is_crafted {
        require_done(&world, agents)?;
    }
    assert_ne!(peak, 0, "{}", ran.stdout);
    Ok(peak)
}

/// Requires that the tools do what the agents ask for, if nothing is too large: refused calls cost
/// nothing.
fn require_done(world: &World, agents: usize) -> Outcome {
    let archive = world.archive()?;
    let run = archive
        .store()
        .runs()?
        .into_iter()
        .next()
        .ok_or("there is no run")?;
    let (mut done, mut failed) = (0, Vec::new());
    for fact in archive.store().events(&run.run_id, 0, usize::MAX)? {
        let Event::ToolFinished {
            tool,
            outcome,
            error,
            ..
        } = fact.event
        else {
            continue;
        };
        let why = error.unwrap_or_default();
        // The one profile that is cut off was read to its end.
        if outcome == ToolOutcome::Ok || why.contains("cannot be read: EOF") {
            done += 1;
        } else {
            failed.push(format!("{tool}: {outcome:?} {why}"));
        }
    }
    assert!(failed.is_empty(), "{done}\n{}", failed.join("\n"));
    assert!(done >= agents * CALLS, "{done}\n{}", failed.join("\n"));
    Ok(())
}

/// Returns the script of agents that call every tool on everything, and then write a large file and
/// look at it.
fn script(large: usize, part: usize) -> Script {
    let named = |name: &str| json!({"path": format!("crafted/{name}")});
    let everything = json!({"path": "crafted"});
    let (lines, statements) = (3_000_000 / part, 200_000 / part);
    let large = format!("head -c {large} /dev/zero | tr '\\0' a > large.txt");
    let lines = format!("seq {lines} > lines.txt");
    let calls: [(&str, Value); CALLS] = [
        ("analyze_code_structure", everything),
        ("analyze_code_structure", named("more_statements.py")),
        ("analyze_code_structure", named("list.ts")),
        ("measure_code_complexity", json!({"files": ["crafted"]})),
        (
            "find_similar_code",
            json!({"code_snippet": "a(b, c); d(e, f); g(h, i); j(k, l);", "path": "crafted"}),
        ),
        (
            "find_code_patterns",
            json!({"pattern": "a($B)", "path": "crafted"}),
        ),
        ("analyze_dependencies", json!({})),
        ("analyze_performance", named("profile.txt")),
        ("analyze_performance", named("profile.json")),
        ("read_file", named("line.txt")),
        ("grep", json!({"pattern": "a.*a", "path": "crafted"})),
        (
            "append_file",
            json!({"path": "crafted/more_statements.py", "content": "(\n"}),
        ),
        (
            "write_file",
            json!({"path": "crafted/new.py", "content": "x\n".repeat(statements)}),
        ),
    ];
    let first = calls
        .iter()
        .fold(Rule::any().turn(1), |rule, (name, arguments)| {
            rule.call(name, arguments)
        });
    let written = shell(Rule::any().turn(2), &format!("{large}; {lines}"));
    let looks = Rule::any()
        .turn(3)
        .call("git_diff", &json!({}))
        .call("analyze_dependencies", &json!({}));
    let removed = shell(Rule::any().turn(4), "git clean -fdq; rm -f *.txt");
    [first, written, looks, removed, Rule::any().text("Done.")]
        .into_iter()
        .fold(Script::default(), Script::rule)
}

fn kilobytes(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
