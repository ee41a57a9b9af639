//! Settings from every source, and consent to what a project's files want to run, through the built
//! program.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Case, Outcome, World, at, case, fail, sandboxed, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(each_value_says_where_it_comes_from),
        case!(what_is_wrong_is_shown_in_its_file),
        sandboxed!(a_projects_command_runs_only_with_consent),
        sandboxed!(the_network_needs_a_consent_of_its_own),
        sandboxed!(a_consent_to_the_network_names_hosts),
        case!(the_users_file_is_changed_by_one_line),
        case!(the_users_file_keeps_its_style),
        case!(init_writes_what_is_then_read),
        case!(the_environment_cannot_switch_the_sandbox_off),
    ]
}

fn each_value_says_where_it_comes_from() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "orchestrate.toml",
        "model = 'a/project'\nmax_agents = 50\nmerge_rounds = 1\nallow = ['Bash']\n",
    )?;
    std::fs::create_dir_all(world.home.path().join("config/orchestrate"))?;
    std::fs::write(
        world.home.path().join("config/orchestrate/config.toml"),
        "model = 'a/user'\nagent = 'tester'\n",
    )?;
    let shown = world
        .orchestrate(&["config", "show", "--json"])
        .env("RALPH_MAX_DEPTH", "1")
        .run()?
        .exits(0)?
        .json()?;
    let table = [
        ("model", "a/project", "orchestrate.toml:1:1"),
        ("max_agents", "20", "default"),
        ("merge_rounds", "1", "orchestrate.toml:3:1"),
        ("max_depth", "1", "RALPH_MAX_DEPTH"),
        ("merge", "auto", "default"),
    ];
    for (key, value, source) in table {
        let setting = at(&shown, &format!("/settings/{key}"))?;
        let text = |name: &str| {
            setting
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        if (text("value").as_str(), text("source").as_str()) != (value, source) {
            return fail(format!("{key}: {setting}"));
        }
    }
    let rules = at(&shown, "/rules/allow")?;
    assert!(
        rules.as_array().is_some_and(Vec::is_empty),
        "a repository allowed something: {rules}"
    );
    Ok(())
}

fn what_is_wrong_is_shown_in_its_file() -> Outcome {
    let table = [
        (
            "orchestrate.toml",
            "max_agent = 3\n",
            "unknown_key",
            1,
            1,
            "did you mean `max_agents`?",
        ),
        (
            "orchestrate.toml",
            "\nmerge = 'maybe'\n",
            "invalid_value",
            2,
            9,
            "",
        ),
        (
            "orchestrate.toml",
            "no_sandbox = true\n",
            "not_allowed_here",
            1,
            1,
            "",
        ),
        (
            "orchestrate.toml",
            "root_context_tokens = 9\n",
            "invalid_value",
            1,
            23,
            "",
        ),
        (".orchestrate/config.toml", "model = \n", "syntax", 1, 0, ""),
    ];
    for (file, text, code, line, column, suggestion) in table {
        let world = World::plain()?;
        world.repository.write(file, text)?;
        let error = world.types(&["config", "show", "--json"], 2)?.json()?;
        let found = at(&error, "/errors/0")?;
        let is = |key: &str, value: &str| {
            found.get(key).and_then(Value::as_str).unwrap_or_default() == value
        };
        let number = |key: &str| found.get(key).and_then(Value::as_u64).unwrap_or_default();
        let placed = number("line") == line && (column == 0 || number("column") == column);
        assert!(is("file", file), "{text:?} gave {found}");
        assert!(is("code", code), "{text:?} gave {found}");
        assert!(is("suggestion", suggestion), "{text:?} gave {found}");
        assert!(placed, "{text:?} gave {found}");
    }
    Ok(())
}

fn a_projects_command_runs_only_with_consent() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("orchestrate.toml", "verify = 'test -f made'\n")?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let run = || {
        world.orchestrate(&[
            "run",
            "plan.md",
            "--output-format",
            "json",
            "--no-verify-base",
        ])
    };
    let refused = run().run()?.exits(2)?;
    if !refused.stderr.contains("orchestrate config trust") {
        return fail(refused.stderr);
    }
    world.types(&["config", "trust", "--yes"], 0)?;
    let report = run().run()?.exits(0)?.json()?;
    assert_eq!(at(&report, "/tasks/0/state")?, "merged", "{report}");
    // A changed command needs consent again, and one that is typed needs none.
    world
        .repository
        .write("orchestrate.toml", "verify = 'test -f  made'\n")?;
    run().run()?.exits(2)?;
    let typed = [
        "run",
        "plan.md",
        "--verify",
        "test -f made",
        "--output-format",
        "json",
        "--no-verify-base",
    ];
    world.types(&typed, 0)?;
    Ok(())
}

/// A project that turns the network on later is asked about again, also where the command is the
/// user's.
fn the_network_needs_a_consent_of_its_own() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let run = || world.orchestrate(&["run", "plan.md", "--no-verify-base"]);
    let with_network = "[worktree]\nsetup = 'true'\nsetup_network = true\n";
    world
        .repository
        .write("orchestrate.toml", "[worktree]\nsetup = 'true'\n")?;
    world.types(&["config", "trust", "--yes"], 0)?;
    run().run()?.exits(0)?;
    world.repository.write("orchestrate.toml", with_network)?;
    let refused = run().run()?.exits(2)?;
    says(
        &refused,
        &[
            "needs your consent to use the network; nothing was run",
            "`orchestrate config trust`",
        ],
    )?;
    let listed = world
        .orchestrate(&["config", "trust", "--yes"])
        .run()?
        .exits(0)?;
    if !listed.stdout.contains(
        "not consented: worktree.setup of orchestrate.toml:2:1, which may use the network",
    ) {
        return fail(listed.stdout);
    }
    let list = world.types(&["config", "trust", "--json"], 0)?.json()?;
    assert!(
        at(&list, "/items/0/network/hosts")?.as_array().is_some()
            && at(&list, "/items/0/consented")? == true,
        "{list}"
    );
    run().run()?.exits(0)?;
    world
        .repository
        .write("orchestrate.toml", "[worktree]\nsetup_network = true\n")?;
    world.types(&["config", "set", "worktree.setup", "echo mine"], 0)?;
    says(
        &run().run()?.exits(2)?,
        &["orchestrate.toml:2:1", "echo mine", "to use the network"],
    )?;
    // It runs the project's files, so it needs consent in each project even if the user alone names
    // it.
    world.repository.write("orchestrate.toml", "")?;
    world.types(&["config", "set", "worktree.setup_network", "true"], 0)?;
    says(
        &run().run()?.exits(2)?,
        &["config.toml:", "echo mine", "to use the network"],
    )
}

/// The consent is to the command, to what it sees and to the hosts; it promises nothing about the
/// files that it reads.
fn a_consent_to_the_network_names_hosts() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let config = |hosts: &str| {
        let setup = "[worktree]\nsetup = 'sh tools/setup.sh'\nsetup_network = true\n";
        world.repository.write(
            "orchestrate.toml",
            &format!("{setup}setup_hosts = [{hosts}]\n"),
        )
    };
    config("'npm.example'")?;
    world
        .repository
        .write(".worktreeinclude", "# mine\n.env\n")?;
    world.repository.write("tools/setup.sh", "true\n")?;
    let commit = |message: &str| -> Outcome { world.repository.commit_all(message).map(drop) };
    commit("Set up")?;
    world.types(&["config", "set", "sandbox.env", "LANG"], 0)?;
    let run = || {
        world
            .orchestrate(&["run", "plan.md", "--no-verify-base"])
            .env("LANG", "C")
    };
    let asked = run().run()?.exits(2)?;
    says(
        &asked,
        &[
            "variable LANG",
            ".worktreeinclude names: .env",
            "sh tools/setup.sh",
            "pypi.org",
            "and npm.example",
        ],
    )?;
    if asked.stderr.contains("as far as known") {
        return fail(asked.stderr);
    }
    world
        .orchestrate(&["config", "trust", "--yes"])
        .env("LANG", "C")
        .run()?
        .exits(0)?;
    run().run()?.exits(0)?;
    world.repository.write("tools/setup.sh", "true; true\n")?;
    commit("Change what it reads")?;
    run().run()?.exits(0)?;
    config("'npm.example', '10.0.0.7:8702'")?;
    says(
        &run().run()?.exits(2)?,
        &[
            "and npm.example, 10.0.0.7:8702",
            "needs your consent to use the network; nothing was run",
        ],
    )
}

fn the_users_file_is_changed_by_one_line() -> Outcome {
    let world = World::plain()?;
    let path = world.home.path().join("config/orchestrate/config.toml");
    std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
    std::fs::write(&path, "# mine\nmodel = 'a/b'\n")?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    world.types(&["config", "set", "max_agents", "4"], 0)?;
    let refused = world.types(&["config", "set", "max_agnets", "4"], 2)?;
    world.types(&["config", "set", "max_agents", "none"], 2)?;
    let text = std::fs::read_to_string(&path)?;
    assert!(
        text == "# mine\nmodel = 'a/b'\nmax_agents = 4\n"
            && refused.stderr.contains("did you mean `max_agents`?"),
        "{}",
        text + &refused.stderr
    );
    // The file may contain keys, so it has to stay unreadable for other users.
    let mode = std::fs::metadata(&path)?.permissions().mode() & 0o777;
    let set = |rule: &str| world.orchestrate(&["config", "set", "deny", rule]).run();
    set("Bash(git push:*)")?.exits(0)?;
    set("WebFetch")?.exits(0)?;
    set("Bash(x")?.exits(2)?;
    let unknown = set("write_fil")?.exits(2)?;
    let rules = std::fs::read_to_string(&path)?;
    assert!(
        mode == 0o600
            && rules.contains(r#"deny = ["Bash(git push:*)", "WebFetch"]"#)
            && unknown.stderr.contains("did you mean `write_file`?"),
        "{mode:o} {rules} {unknown:?}"
    );
    Ok(())
}

/// Whatever the style of the file is, one value changes, and every other byte stays.
#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn the_users_file_keeps_its_style() -> Outcome {
    let world = World::plain()?;
    let path = world.home.path().join("config/orchestrate/config.toml");
    std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
    let table = [
        ("", "max_agents=4", "max_agents = 4\n"),
        (
            "# mine\n\tmax_agents  =\t9  # few\n\n",
            "max_agents=4",
            "# mine\n\tmax_agents  =\t4  # few\n\n",
        ),
        (
            "[worktree]\nsetup = 'x'\n",
            "max_agents=4",
            "max_agents = 4\n[worktree]\nsetup = 'x'\n",
        ),
        (
            "model = 'a/b'\n",
            "worktree.setup=npm ci",
            "model = 'a/b'\n\n[worktree]\nsetup = \"npm ci\"\n",
        ),
        (
            "[worktree] # mine\nsetup = 'x'\n",
            "worktree.setup=y",
            "[worktree] # mine\nsetup = \"y\"\n",
        ),
        (
            "[ worktree ]\n\"setup\" = 'x'\n",
            "worktree.setup=y",
            "[ worktree ]\n\"setup\" = \"y\"\n",
        ),
        (
            "worktree.setup = 'x' # mine\n",
            "worktree.setup=y",
            "worktree.setup = \"y\" # mine\n",
        ),
        (
            "worktree = {setup='x'} # mine\n",
            "worktree.setup=y",
            "worktree = {setup=\"y\"} # mine\n",
        ),
        (
            "model = \"\"\"\na/b\"\"\"\n# mine\n",
            "model=c/d",
            "model = \"c/d\"\n# mine\n",
        ),
        (
            "# mine\r\nmax_agents = 9\r\n",
            "model=c/d",
            "# mine\r\nmax_agents = 9\r\nmodel = \"c/d\"\r\n",
        ),
        ("timeout = '1h'\n", "timeout=30", "timeout = 30\n"),
        (
            "deny = [\n  'Bash(a)', # one\n  'Read',\n]\nmax_agents = 4\n",
            "deny=WebFetch",
            "deny = [\n  'Bash(a)', # one\n  'Read', \"WebFetch\",\n]\nmax_agents = 4\n",
        ),
        (
            "deny = ['Read'] # mine\n",
            "deny=Read",
            "deny = ['Read'] # mine\n",
        ),
        ("land = false # mine\n", "land=true", "land = true # mine\n"),
        (
            "[land]\nmessage = 'x'\n",
            "land=true",
            "[land]\nmessage = 'x'\nauto = true\n",
        ),
        (
            "land = true\nmodel = 'a/b'\n",
            "land.message=x",
            "model = 'a/b'\n\n[land]\nauto = true\nmessage = \"x\"\n",
        ),
    ];
    for (before, set, after) in table {
        std::fs::write(&path, before)?;
        let (key, value) = set.split_once('=').unwrap_or_default();
        let ran = world.types(&["config", "set", key, value], 0)?;
        let found = std::fs::read_to_string(&path)?;
        let said = ran
            .stdout
            .strip_prefix(&format!("{key} = "))
            .unwrap_or_default();
        assert!(
            found == after
                && !said.starts_with(' ')
                && !said.contains('#')
                && said.lines().count() == 1,
            "{before:?} and {set}: {found:?} {ran:?}"
        );
    }
    for unreadable in [
        "max_agents = \n",
        "worktree = 4\n",
        "deny = 'Read'\n",
        "[max_agents]\n",
    ] {
        std::fs::write(&path, unreadable)?;
        for set in [
            ["max_agents", "4"],
            ["worktree.setup", "y"],
            ["deny", "WebFetch"],
        ] {
            let ran = world
                .orchestrate(&[&["config", "set"], set.as_slice()].concat())
                .run()?;
            assert!(
                ran.exits(2)?.stderr.contains("config.toml:"),
                "{unreadable} {set:?}"
            );
            assert_eq!(std::fs::read_to_string(&path)?, unreadable, "{set:?}");
        }
    }
    Ok(())
}

fn init_writes_what_is_then_read() -> Outcome {
    let world = World::plain()?;
    world.types(&["init"], 0)?;
    world.types(&["config", "show"], 0)?;
    let before = world.repository.read("orchestrate.toml")?;
    world.types(&["init"], 2)?;
    if world.repository.read("orchestrate.toml")? != before {
        return fail("init changed a file that was there");
    }
    Ok(())
}

fn the_environment_cannot_switch_the_sandbox_off() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let run = |flags: &[&str], name: &str, value: &str| {
        let arguments: Vec<&str> = ["run", "plan.md"].iter().chain(flags).copied().collect();
        world.orchestrate(&arguments).env(name, value).run()
    };
    run(&[], "ORCHESTRATE_NO_SANDBOX", "1")?.exits(2)?;
    run(&[], "RALPH_SANDBOX_MODE", "off")?.exits(2)?;
    run(&["--no-sandbox"], "RALPH_SANDBOX_MODE", "strict")?.exits(2)?;
    Ok(())
}
