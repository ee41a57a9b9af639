//! The logs of a run: its markers and its audit log, which are projections of what was recorded.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use serde_json::{Value, json};

use super::shell::markers;
use crate::support::{
    Case, Need, Outcome, Ran, Script, World, at, case, done, fail, lines, on, reads, require_words,
    shell, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_run_prints_the_markers_that_its_log_has),
        case!(every_call_is_in_the_audit_log),
        case!(a_changed_audit_log_is_found_out),
        case!(the_audit_logs_of_all_runs_go_to_a_file_of_the_user),
        case!(a_log_that_is_lost_is_written_again),
        case!(a_secret_in_an_argument_is_in_no_log),
        case!(what_is_no_file_is_refused_before_the_run),
        case!(a_full_disk_below_the_audit_log_stops_no_run).needs(Need::MOUNTS),
    ]
}

/// A run of two agents, one of which is denied a call, and of a command that fails.
const PLAN: &str = "- [ ] T1 write\n- [ ] T2 look\n- [ ] T3 fail (run: exit 7)\n";

fn world() -> Result<(World, String), Failed> {
    let script = Script::default()
        .rule(write("T1", "one.txt", "1\n").turn(1))
        .rule(done("T1"))
        .rule(reads(reads(on("T2", 1), "README.md"), "../outside"))
        .rule(write("T2", "two.txt", "2\n").turn(2))
        .rule(done("T2"));
    let world = World::with_plan(PLAN)?;
    let model = world.script(&script)?;
    Ok((world, model))
}

fn run(world: &World, model: &str, more: &[&str]) -> Result<Ran, Failed> {
    world.types(
        &[
            &["run", "plan.md", "--model", model, "--no-verify-base"],
            more,
        ]
        .concat(),
        1,
    )
}

/// Returns the only file of this name among the logs of runs.
fn log(world: &World, name: &str) -> Result<PathBuf, Failed> {
    let mut found = Vec::new();
    for repository in std::fs::read_dir(world.home.state().join("repos"))? {
        for run in std::fs::read_dir(repository?.path().join("logs"))? {
            found.extend(Some(run?.path().join(name)).filter(|path| path.exists()));
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([path]) => Ok(path),
        Err(found) => fail(format!("not one {name}: {found:?}")),
    }
}

/// Returns the sorted values of a field of all markers of this name.
fn values<'t>(text: &'t str, name: &str, field: &str) -> Vec<&'t str> {
    let value = |line: &'t str| {
        line.split(' ')
            .find_map(|part| part.strip_prefix(field)?.strip_prefix('='))
    };
    let mut found: Vec<&str> = markers(text, name).into_iter().filter_map(value).collect();
    found.sort_unstable();
    found
}

fn a_run_prints_the_markers_that_its_log_has() -> Outcome {
    let (world, model) = world()?;
    let ran = run(&world, &model, &["--output-format", "markers"])?;
    let printed = &ran.stdout;
    assert!(
        !printed.lines().any(|line| !line.starts_with(":::")) && ran.stderr.contains("T3"),
        "{ran:?}"
    );
    if *printed != std::fs::read_to_string(log(&world, "markers.log")?)? {
        return fail(format!("the log is not what was printed:\n{printed}"));
    }
    // Every turn and every call begins and ends once.
    for (start, end, field) in [
        ("ITER_START", "ITER_END", "iter"),
        ("PHASE_START", "PHASE_END", "iter"),
    ] {
        if values(printed, start, field) != values(printed, end, field) {
            return fail(printed);
        }
    }
    let ids = values(printed, "TOOL_START", "id");
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids, values(printed, "TOOL_END", "id"), "{printed}");
    assert_eq!(distinct.len(), ids.len(), "{printed}");
    let tools = values(printed, "TOOL_START", "tool");
    for tool in ["read_file", "write_file", "run"] {
        assert!(tools.contains(&tool), "no {tool} in {tools:?}");
    }
    require_words(
        printed,
        &[
            " result=FAIL rc=7 exit=7 ",
            " reason=exit_code_7 ",
            " phase=build status=ok ",
        ],
    )
}

fn every_call_is_in_the_audit_log() -> Outcome {
    let (world, model) = world()?;
    run(&world, &model, &[])?;
    let file = std::fs::read_to_string(log(&world, "audit.jsonl")?)?;
    let shown = world.types(&["audit", "show", "--json"], 0)?.stdout;
    let records: Vec<Value> = lines(&shown)?
        .iter()
        .map(|line| line["record"].clone())
        .collect();
    let written: String = records.iter().map(|record| format!("{record}\n")).collect();
    assert_eq!(file, written, "{file}\n---\n{shown}");
    let entries = lines(&file)?;
    let of = |agent: &str, tool: &str| -> Vec<&Value> {
        entries
            .iter()
            .filter(|entry| entry["agent_id"] == agent && entry["tool_name"] == tool)
            .collect()
    };
    let [inside, outside] = of("T2", "read_file")[..] else {
        return fail(&file);
    };
    assert!(inside["success"] == true, "{inside}");
    assert_eq!(inside["parameters"]["path"], "README.md", "{inside}");
    assert!(outside["success"] == false, "{outside}");
    assert_eq!(at(outside, "/decision/outcome")?, "denied", "{outside}");
    require_words(
        outside["error"].as_str().unwrap_or_default(),
        &["Security validation failed"],
    )?;
    let [written] = of("T1", "write_file")[..] else {
        return fail(&file);
    };
    if at(written, "/resource_usage/written_bytes")? != 2 {
        return fail(written);
    }
    let [command] = of("T3", "run")[..] else {
        return fail(&file);
    };
    assert_eq!(command["exit_code"], 7, "{command}");
    assert_eq!(command["error"], "exit code 7", "{command}");
    shows_what_it_used(&world, command)?;
    let text = world.types(&["audit", "show"], 0)?.stdout;
    require_words(
        &text,
        &[
            " T1 write_file ",
            " T3 run ",
            "failed: exit code 7",
            "s of CPU time, ",
            " MiB, 1 process, ",
        ],
    )?;
    let verified = world.types(&["audit", "verify", "--json"], 0)?.json()?;
    assert_eq!(
        at(&verified, "/items/0/calls")?,
        entries.len(),
        "{verified}"
    );
    assert!(at(&verified, "/items/0/compared")? == true, "{verified}");
    Ok(())
}

/// Requires that the entry of T3's command says what it used, and that the run's log shows the
/// same.
fn shows_what_it_used(world: &World, command: &Value) -> Outcome {
    let used = |field: &str| command["resource_usage"][field].as_u64().unwrap_or(0);
    assert_eq!(used("processes"), 1, "{command}");
    assert_ne!(used("peak_memory_bytes"), 0, "{command}");
    assert!(used("wall_ms") >= used("cpu_ms"), "{command}");
    let log = world.types(&["log", "T3", "--tools", "--json"], 0)?.stdout;
    let shown = lines(&log)?
        .into_iter()
        .find(|event| event["type"] == "tool.finished");
    assert!(
        shown.is_some_and(|event| event["resource_usage"] == command["resource_usage"]),
        "{log}"
    );
    Ok(())
}

/// Verifies the log with this content, and requires these words.
fn verify(world: &World, path: &Path, content: &str, said: &str) -> Outcome {
    std::fs::write(path, content)?;
    let ran = world.types(&["audit", "verify"], 1)?;
    require_words(&ran.stderr, &[said])
}

fn a_changed_audit_log_is_found_out() -> Outcome {
    let (world, model) = world()?;
    run(&world, &model, &[])?;
    let path = log(&world, "audit.jsonl")?;
    let whole = std::fs::read_to_string(&path)?;
    let all: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    verify(
        &world,
        &path,
        &whole.replacen("README.md", "README.mx", 1),
        "its content does not match its hash",
    )?;
    verify(
        &world,
        &path,
        &joined(&[&all[..1], &all[2..]].concat()),
        "line 2: it does not follow the line before it",
    )?;
    let swapped: Vec<&str> = all[..1]
        .iter()
        .chain([&all[2], &all[1]])
        .chain(&all[3..])
        .copied()
        .collect();
    verify(
        &world,
        &path,
        &joined(&swapped),
        "line 2: it does not follow the line before it",
    )?;
    verify(
        &world,
        &path,
        whole.get(..whole.len() - 10).unwrap_or_default(),
        "it is incomplete, and nothing follows it",
    )?;
    verify(
        &world,
        &path,
        &joined(&all[..all.len() - 1]),
        "its last line is missing",
    )?;
    verify(
        &world,
        &path,
        "",
        &format!("its last {} lines are missing", all.len()),
    )?;
    let twice = [&all[..1], &all[..1], &all[1..]].concat();
    verify(
        &world,
        &path,
        &joined(&twice),
        "line 2: it does not follow the line before it",
    )?;
    for after in ["foreign text\n", "\n", "{}\n", "\u{1b}[2J"] {
        verify(
            &world,
            &path,
            &format!("{whole}{after}"),
            &format!("line {} is no record of run ", all.len() + 1),
        )?;
    }
    let shown = world.types(&["audit", "show"], 0)?.stdout;
    let foreign = format!(
        "foreign: line {} of the file is no record of the run: ",
        all.len() + 1
    );
    assert!(
        shown
            .lines()
            .last()
            .is_some_and(|line| line.starts_with(&foreign)),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    // The control: no fault is found in the log as it was written.
    std::fs::write(&path, &whole)?;
    world.types(&["audit", "verify"], 0).map(drop)
}

fn the_audit_logs_of_all_runs_go_to_a_file_of_the_user() -> Outcome {
    let (world, model) = world()?;
    let file = world.file("folder/audit.jsonl");
    let runs = |variable: &str| {
        let typed = ["run", "plan.md", "--model", &model, "--no-verify-base"];
        world
            .orchestrate(&typed)
            .env(variable, &file)
            .run()?
            .exits(1)
    };
    for variable in ["RALPH_AUDIT_LOG_PATH", "ORCHESTRATE_AUDIT_LOG_PATH"] {
        runs(variable)?;
    }
    let verified = world
        .types(&["audit", "verify", "--file", &file, "--json"], 0)?
        .json()?;
    let counted = ["/items/0/compared", "/items/1/compared"]
        .iter()
        .all(|place| verified.pointer(place) == Some(&json!(true)));
    // A file can be verified without the repository.
    let elsewhere = world
        .home
        .orchestrate(world.home.path(), &["audit", "verify", "--file", &file])
        .run()?
        .exits(0)?;
    assert!(
        counted && elsewhere.stdout.lines().count() == 2,
        "{verified}\n{elsewhere:?}"
    );
    // A line of another run that a full disk or a kill has cut says nothing against a whole run.
    let whole = std::fs::read(&file)?;
    std::fs::write(&file, whole.get(..whole.len() - 40).unwrap_or_default())?;
    runs("RALPH_AUDIT_LOG_PATH")?;
    let verified = |code| {
        world
            .orchestrate(&["audit", "verify"])
            .env("RALPH_AUDIT_LOG_PATH", &file)
            .run()?
            .exits(code)
    };
    require_words(&verified(0)?.stdout, &["as the journal recorded them"])?;
    std::fs::write(&file, "")?;
    require_words(
        &world
            .types(&["audit", "verify", "--file", &file], 0)?
            .stdout,
        &["no calls"],
    )
}

fn a_log_that_is_lost_is_written_again() -> Outcome {
    let (world, model) = world()?;
    run(&world, &model, &[])?;
    let (audit, markers) = (log(&world, "audit.jsonl")?, log(&world, "markers.log")?);
    let before = [
        std::fs::read_to_string(&audit)?,
        std::fs::read_to_string(&markers)?,
    ];
    std::fs::remove_file(&audit)?;
    // As a kill leaves it: within a line.
    let half = before[1].len() / 2;
    std::fs::write(&markers, before[1].get(..half).unwrap_or_default())?;
    world.types(&["retry", "T3"], 1)?;
    let after = [
        std::fs::read_to_string(&audit)?,
        std::fs::read_to_string(&markers)?,
    ];
    world.types(&["audit", "verify"], 0)?;
    let whole = |(before, after): (&String, &String)| {
        before
            .lines()
            .all(|line| after.lines().any(|other| other == line))
    };
    assert!(before.iter().zip(&after).all(whole), "{}", &after[1]);
    assert!(after[0].starts_with(&before[0]), "{}", &after[1]);
    Ok(())
}

fn a_secret_in_an_argument_is_in_no_log() -> Outcome {
    let secret = "sk-0123456789abcdefghijklmn";
    let script = Script::default()
        .rule(shell(on("T1", 1), &format!("echo {secret}")))
        .rule(write("T1", "one.txt", "1\n").turn(2))
        .rule(done("T1"));
    let texts = |key: &str| -> Result<[String; 3], Failed> {
        let world = World::with_plan("- [ ] T1 write\n")?;
        let model = world.script(&script)?;
        let typed = [
            "run",
            "plan.md",
            "--model",
            &model,
            "--output-format",
            "markers",
        ];
        let ran = world.orchestrate(&typed).env("OPENAI_API_KEY", key).run()?;
        let read = |name| Ok::<_, Failed>(std::fs::read_to_string(log(&world, name)?)?);
        Ok([read("audit.jsonl")?, read("markers.log")?, ran.stdout])
    };
    let [audit, markers, printed] = texts(secret)?;
    assert!(
        ![&audit, &markers, &printed]
            .iter()
            .any(|text| text.contains(secret)),
        "{audit}"
    );
    require_words(&audit, &["run_shell_command", "[redacted:"])?;
    // The control: what is nobody's key is an argument like any other, and is in the audit log.
    let [audit, ..] = texts("another-0a1b2c3d4e5f6g")?;
    require_words(&audit, &["run_shell_command", secret])
}

fn what_is_no_file_is_refused_before_the_run() -> Outcome {
    let (world, model) = world()?;
    let folder = world.home.path().display().to_string();
    let typed = ["run", "plan.md", "--model", &model];
    let ran = world
        .orchestrate(&typed)
        .env("RALPH_AUDIT_LOG_PATH", &folder)
        .run()?
        .exits(2)?;
    require_words(
        &ran.stderr,
        &["write the audit log", "it is not a regular file"],
    )?;
    world.types(&["status"], 2).map(drop)
}

fn a_full_disk_below_the_audit_log_stops_no_run() -> Outcome {
    let (world, model) = world()?;
    let folder = world.home.path().join("small");
    std::fs::create_dir_all(&folder)?;
    let (shown, file) = (
        folder.display(),
        folder.join("audit.jsonl").display().to_string(),
    );
    let small =
        format!("mount -t tmpfs -o size=4k none '{shown}'; cat /dev/zero > '{shown}/full' || true");
    let typed = ["run", "plan.md", "--model", &model, "--no-verify-base"];
    let ran = world
        .home
        .remounted(&small, world.repository.path(), &typed);
    let ran = ran.env("RALPH_AUDIT_LOG_PATH", &file).run()?.exits(1)?;
    require_words(
        &ran.stderr,
        &[
            "warning: ",
            "audit.jsonl lacks lines: ",
            "No space left on device",
        ],
    )
}
