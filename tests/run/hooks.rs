//! Hooks that are commands: the user's, with the user's rights, and the project's, by consent and
//! in the sandbox.
//!
//! Each answer of the scripted model needs the words that a hook has told its agent, so a run that
//! succeeds has told all of them.

use orchestrate_core::task::ReturnCause;
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::support::{
    Case, Outcome, Rule, Script, World, after, at, case, on, put, reads, says, shell,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_users_hooks_deny_tell_and_send_back),
        case!(a_projects_hook_runs_by_consent_and_confined),
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

fn a_users_hooks_deny_tell_and_send_back() -> Outcome {
    let world = World::with_plan("- [ ] T1 write a file\n")?;
    let home = world.home.path();
    mkfifoat(CWD, home.join("never"), Mode::RWXU)?;
    std::fs::create_dir_all(home.join("config/orchestrate"))?;
    let mine = MINE.replace("HOME", &home.display().to_string());
    std::fs::write(home.join("config/orchestrate/config.toml"), mine)?;
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
