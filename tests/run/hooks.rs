//! Hooks that are commands: the user's, with the user's rights, and the project's, by consent and
//! in the sandbox.
//!
//! Each answer of the scripted model needs the words that a hook has told its agent, so a run that
//! succeeds has told all of them.

use orchestrate_core::task::ReturnCause;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::support::{
    Case, Outcome, Rule, Script, World, after, at, case, done, on, put, reads, sandboxed, says,
    shell,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_users_hooks_deny_tell_and_send_back),
        case!(a_projects_hook_runs_by_consent_and_confined),
        case!(a_hook_about_no_tool_is_an_error),
        sandboxed!(a_users_hook_in_the_sandbox_sees_the_agents_worktree_alone),
        sandboxed!(a_resumed_run_keeps_its_hooks),
        sandboxed!(hooks_hear_what_becomes_of_a_run_that_has_ended),
        sandboxed!(work_that_is_refused_each_time_fails_and_can_be_taken),
    ]
}

/// The user's hooks; `HOME` is the home of the test.
const MINE: &str = r#"
[[hooks.before_tool]]
tools = ["Bash"]
command = "if grep -q 'rm -rf'; then echo 'nothing is removed here' >&2; exit 2; fi"

[[hooks.before_tool]]
tools = ["read_file"]
command = "read line < HOME/never"
timeout = "50ms"

[[hooks.before_tool]]
tools = ["write_file"]
command = '''sed 's/.*/{"arguments": {"path": "b.txt", "content": "1"}}/' '''

[[hooks.after_tool]]
tools = ["Write"]
command = '''echo '{"context": "it is formatted"}' '''

[[hooks.before_finish]]
command = "test ! -e b.txt -a -e $ORCHESTRATE_WORKTREE/b.txt || exit 3; test -e HOME/linted || { touch HOME/linted; echo 'line 1 is too long' >&2; exit 2; }"

[[hooks.on_event]]
events = ["run.started", "task.*"]
command = "cat >> HOME/seen; echo \" $ORCHESTRATE_TASK\" >> HOME/seen"

[[hooks.on_event]]
command = "exit 3"
"#;

/// Writes the user's configuration file; `HOME` in it is the home of the test.
fn configure(world: &World, text: &str) -> Outcome {
    let home = world.home.path();
    let folder = home.join("config/orchestrate");
    std::fs::create_dir_all(&folder)?;
    let text = text.replace("HOME", &home.display().to_string());
    std::fs::write(folder.join("config.toml"), text)?;
    Ok(())
}

fn a_users_hooks_deny_tell_and_send_back() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    let home = world.home.path();
    mkfifoat(CWD, home.join("never"), Mode::RWXU)?;
    configure(&world, MINE)?;
    let script = Script::default()
        .rule(shell(on("T1", 1), "rm -rf build"))
        .rule(reads(after("T1", "nothing is removed here"), "README.md"))
        .rule(put(
            after("T1", "within its `timeout` of 50 ms"),
            "a.txt",
            "0",
        ))
        .rule(after("T1", "it is formatted").text("Done."))
        .rule(
            Rule::task("T1")
                .returned(ReturnCause::Hook)
                .last_contains("line 1 is too long")
                .text("Mended."),
        );
    let checked = world.types(&["check", "plan.md"], 0)?;
    says(
        &checked,
        &[
            "before_finish asks `test ! -e",
            "with your rights",
            "config.toml:19:1",
        ],
    )?;
    let known = world.types(
        &[
            "permissions",
            "check",
            "--agent",
            "implementer",
            "--tool",
            "read_file",
            "--",
            "README.md",
        ],
        3,
    )?;
    says(&known, &["allows it, but before_tool asks `read line"])?;
    let model = world.script(&script)?;
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--output-format",
        "json",
    ];
    let ran = world.types(&run, 0)?;
    says(&ran, &["misses an event", "exit code 3"])?;
    assert_eq!(ran.stderr.matches("misses an event").count(), 1, "{ran:?}");
    let report = ran.json()?;
    assert_eq!(at(&report, "/tasks/0/state")?, "merged", "{report}");
    // The hook that changed the call has its way.
    let branch = at(&report, "/integration_branch")?
        .as_str()
        .ok_or("no branch")?
        .to_owned();
    let files = world.git(&format!("ls-tree -r --name-only {branch}"))?;
    assert!(
        files.contains("b.txt") && !files.contains("a.txt"),
        "{files}"
    );
    let seen = std::fs::read_to_string(home.join("seen"))?;
    assert!(
        seen.starts_with("{\"event\":{\"type\":\"run.started\"")
            && seen.contains("\"type\":\"task.merged\"")
            && seen.contains(" T1\n"),
        "{seen}"
    );
    assert!(!seen.contains("tool.started"), "{seen}");
    Ok(())
}

fn a_projects_hook_runs_by_consent_and_confined() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    let secret = world.write("secret", "mine\n")?;
    let guard = format!("if cat {secret}; then exit 2; fi; echo '{{\"context\": \"shut out\"}}'");
    let hook = format!("[[hooks.before_tool]]\ncommand = \"\"\"{guard}\"\"\"\n");
    world.repository.write("orchestrate.toml", &hook)?;
    let script = Script::default()
        .rule(put(on("T1", 1), "a.txt", "0"))
        .rule(after("T1", "shut out").text("Done."));
    let model = world.script(&script)?;
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--output-format",
        "json",
    ];
    let refused = world.types(&run, 2)?;
    says(
        &refused,
        &[
            "`hooks.before_tool` needs your consent",
            "orchestrate config trust",
        ],
    )?;
    world.types(&["config", "trust", "--yes"], 0)?;
    let report = world.types(&run, 0)?.json()?;
    assert_eq!(at(&report, "/tasks/0/state")?, "merged", "{report}");
    Ok(())
}

fn a_hook_about_no_tool_is_an_error() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    let hook =
        |tool: &str| format!("[[hooks.before_tool]]\ntools = [\"{tool}\"]\ncommand = \"true\"\n");
    for tool in ["read_*", "*", "mcp__git__*", "Bash"] {
        configure(&world, &hook(tool))?;
        world.types(&["check", "plan.md"], 0)?;
    }
    let table = [
        ("zz*", "no tool has a name as `zz*`"),
        ("reed_file*", "did you mean `read_file`?"),
        ("reed_file", "did you mean `read_file`?"),
        ("read_every_file", "the most similar tools are read_file"),
    ];
    for (tool, words) in table {
        configure(&world, &hook(tool))?;
        says(&world.types(&["check", "plan.md"], 2)?, &[words])?;
    }
    configure(&world, "")?;
    // A rule has the same names.
    let rule = world.types(&["run", "plan.md", "--ask", "reed_*"], 2)?;
    says(&rule, &["`reed_*`", "no such tool", "read_file"])
}

fn a_users_hook_in_the_sandbox_sees_the_agents_worktree_alone() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    configure(
        &world,
        r#"
[[hooks.before_finish]]
command = "mkdir -p HOME && touch HOME/escaped; test -e a.txt && ! test -e HOME/secret || exit 2"
sandbox = true
"#,
    )?;
    std::fs::write(world.home.path().join("secret"), "mine")?;
    let script = Script::default()
        .rule(put(on("T1", 1), "a.txt", "0"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    says(
        &world.types(&["check", "plan.md"], 0)?,
        &["before_finish asks", "in the sandbox"],
    )?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    assert!(!world.home.path().join("escaped").exists());
    Ok(())
}

fn a_resumed_run_keeps_its_hooks() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    configure(
        &world,
        r#"
[[hooks.before_tool]]
tools = ["write_file"]
command = "echo asked >> HOME/asked"

[[hooks.before_finish]]
command = "echo ended >> HOME/asked"

[[hooks.on_event]]
events = ["run.started", "run.resumed"]
command = "grep -o 'run[.][a-z]*' >> HOME/seen"
"#,
    )?;
    let script = Script::default()
        .rule(put(on("T1", 1), "a.txt", "0"))
        .rule(put(after("T1", "once more"), "b.txt", "0"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    world.types(
        &["run", "plan.md", "--model", &model, "--merge", "review"],
        3,
    )?;
    // The file may change meanwhile.
    configure(&world, "[[hooks.before_tool]]\ncommand = \"exit 2\"\n")?;
    world.types(&["reject", "T1", "-m", "once more"], 0)?;
    world.types(&["resume"], 3)?;
    let read = |name: &str| std::fs::read_to_string(world.home.path().join(name));
    assert_eq!(read("asked")?, "asked\nended\nasked\nended\n");
    let seen: Vec<String> = read("seen")?.lines().map(str::to_owned).collect();
    assert!(
        seen.first().is_some_and(|kind| kind == "run.started")
            && seen.contains(&"run.resumed".to_owned()),
        "{seen:?}"
    );
    Ok(())
}

fn hooks_hear_what_becomes_of_a_run_that_has_ended() -> Outcome {
    let world = World::with_plan("- [ ] T1 one (run: touch one)\n")?;
    configure(
        &world,
        r#"
[[hooks.on_event]]
events = ["run.finished", "run.landed", "run.unlanded", "tasks.dropped"]
command = "grep -o '\"type\":\"[a-z.]*' >> HOME/seen; test ! -e HOME/broken || exit 3"

[[hooks.before_tool]]
command = "exit 2"
"#,
    )?;
    world.types(&["run", "plan.md"], 0)?;
    // A run keeps its hooks, whatever the file says now.
    configure(&world, "")?;
    world.types(&["land"], 0)?;
    world.types(&["land", "--undo"], 0)?;
    std::fs::write(world.home.path().join("broken"), "")?;
    let landed = world.types(&["land", "--json"], 0)?;
    says(&landed, &["misses an event", "exit code 3"])?;
    assert_eq!(at(&landed.json()?, "/type")?, "run.landed");
    world.types(&["land", "--undo"], 0)?;
    world.types(&["drop", "T1"], 0)?;
    let seen = std::fs::read_to_string(world.home.path().join("seen"))?;
    let seen: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.rsplit('"').next())
        .collect();
    let expected = [
        "run.finished",
        "run.landed",
        "run.unlanded",
        "run.landed",
        "run.unlanded",
        "tasks.dropped",
    ];
    assert_eq!(seen, expected);
    Ok(())
}

fn work_that_is_refused_each_time_fails_and_can_be_taken() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    configure(
        &world,
        "merge_rounds = 2\n[[hooks.before_finish]]\ncommand = \"echo asked >> HOME/asked; echo 'too long' >&2; exit 2\"\n",
    )?;
    let script = Script::default()
        .rule(put(on("T1", 1), "a.txt", "0"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let run = ["run", "plan.md", "--model", &model, "--json"];
    let report = world.types(&run, 1)?.json()?;
    assert_eq!(at(&report, "/tasks/0/error/cause")?, "hook", "{report}");
    let asked = std::fs::read_to_string(world.home.path().join("asked"))?;
    assert_eq!(asked.lines().count(), 3, "{asked}");
    // All that it has done is in no branch, and each view says how to see and to take it.
    let commit = at(&report, "/tasks/0/unfinished_commit")?;
    let commit = commit.as_str().unwrap_or_default()[..8].to_owned();
    let run = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let ways = [
        format!("`git show {commit}` shows it"),
        format!("`orchestrate recover {run} --restore {commit}` makes it a branch"),
    ];
    let ways = ways.each_ref().map(String::as_str);
    for typed in [
        &["status"][..],
        &["review"],
        &["review", "T1"],
        &["diff", "T1"],
    ] {
        says(&world.types(typed, 0)?, &ways)?;
    }
    says(&world.types(&["recover"], 0)?, &[&commit])?;
    let shown = world.git(&format!("show --stat {commit}"))?;
    assert!(shown.contains("a.txt"), "{shown}");
    let restored = world
        .types(&["recover", &run, "--restore", &commit, "--json"], 0)?
        .json()?;
    let branch = at(&restored, "/branch")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let files = world.git(&format!("ls-tree -r --name-only {branch}"))?;
    assert!(files.contains("a.txt"), "{files}");
    Ok(())
}
