//! What agents may do, asked without a run.

use crate::support::{Case, Outcome, World, at, case, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_call_is_decided_as_in_a_run),
        case!(links_and_untrusted_tools_are_decided_as_in_a_run),
        case!(every_shipped_role_states_its_own),
        case!(a_rule_is_held_against_its_examples),
    ]
}

fn a_call_is_decided_as_in_a_run() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "orchestrate.toml",
        "deny = ['Bash(git push:*)']\nask = ['Edit(/docs/**)']\n[tools.file_operations]\nforbidden_paths = ['keys']\n\
         [tools.code_execution]\nallowed_commands = ['git', 'cargo']\n",
    )?;
    let inside = world.repository.path().join("keys/a").display().to_string();
    let table: [(&str, &str, &[&str], i32, &str); 10] = [
        (
            "implementer",
            "Bash",
            &["git", "push", "origin"],
            5,
            "deny by deny:Bash(git push:*)",
        ),
        (
            "implementer",
            "Bash",
            &["git status"],
            0,
            "allow by default",
        ),
        (
            "implementer",
            "Bash",
            &["curl", "x"],
            5,
            "deny by tools.code_execution.allowed_commands",
        ),
        (
            "implementer",
            "run_shell_command",
            &["cargo test; cargo doc"],
            3,
            "ask by tools.code_execution",
        ),
        (
            "implementer",
            "Write",
            &["docs/a.md"],
            3,
            "ask by ask:Edit(/docs/**)",
        ),
        (
            "implementer",
            "read_file",
            &["keys/a"],
            5,
            "deny by tools.file_operations.forbidden_paths",
        ),
        (
            "implementer",
            "read_file",
            &[&inside],
            5,
            "deny by tools.file_operations.forbidden_paths",
        ),
        ("implementer", "read_file", &[], 0, "allow by default"),
        ("reviewer", "write_file", &[], 5, "deny by built-in:role"),
        ("reviewer", "raed_file", &[], 2, "did you mean `read_file`?"),
    ];
    for (agent, tool, words, code, expected) in table {
        let check = [
            "permissions",
            "check",
            "--agent",
            agent,
            "--tool",
            tool,
            "--",
        ];
        says(&world.types(&[&check, words].concat(), code)?, &[expected])?;
    }
    says(
        &world.types(
            &[
                "permissions",
                "check",
                "--agent",
                "reviewr",
                "--tool",
                "grep",
            ],
            2,
        )?,
        &["`reviewer`"],
    )?;
    let check = [
        "permissions",
        "check",
        "--json",
        "--agent",
        "implementer",
        "--tool",
        "Bash",
        "--",
        "git push",
    ];
    let answer = world.types(&check, 5)?.json()?;
    assert_eq!(at(&answer, "/decision")?, "deny", "{answer}");
    assert_eq!(at(&answer, "/rule")?, "deny:Bash(git push:*)", "{answer}");
    Ok(())
}

const MINE: &str = "Prints words.\n\n@title Mine\n@name mine\n@wrapped Bash\n@command echo {arguments}\n\
    @param arguments {array<string>} [required] The words\n";

fn links_and_untrusted_tools_are_decided_as_in_a_run() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "orchestrate.toml",
        "deny = ['Write(/docs/**)', 'Bash(pytest:*)']\n",
    )?;
    world.repository.write("docs/b.md", "b\n")?;
    world.repository.write(
        "agents/finder.md",
        "---\nname: finder\ntools: mine, run_tests, Write\n---\nFind.\n",
    )?;
    world
        .repository
        .write(".orchestrate/tools/mine.tool", MINE)?;
    std::os::unix::fs::symlink("docs", world.repository.path().join("link"))?;
    world.repository.commit_all("Define a tool")?;
    let asked = |tool: &str, words: &[&str], code| {
        let check = [
            "permissions",
            "check",
            "--agent",
            "finder",
            "--tool",
            tool,
            "--",
        ];
        world.types(&[&check, words].concat(), code)
    };
    says(
        &asked("Write", &["link/b.md"], 5)?,
        &["deny by deny:Write(/docs/**)"],
    )?;
    says(
        &asked("Write", &[r#"{"path": "b.md", "content": "x"}"#], 0)?,
        &["allow by default"],
    )?;
    says(
        &asked("Write", &["b.md", "x", "y"], 2)?,
        &["`write_file` has no use for `y`"],
    )?;
    says(
        &asked("run_tests", &[], 3)?,
        &["unknown: `run_tests` finds nothing to run in this checkout"],
    )?;
    world.repository.write("Makefile", "test:\n\tpytest\n")?;
    says(&asked("run_tests", &[], 0)?, &["allow by default"])?;
    world.repository.write("pytest.ini", "")?;
    world.repository.write("tests/test_a.py", "")?;
    says(
        &asked("run_tests", &[], 5)?,
        &["deny by deny:Bash(pytest:*)"],
    )?;
    says(
        &asked("mine", &[], 2)?,
        &["no run has the tool `mine`", "orchestrate config trust"],
    )?;
    world.types(&["config", "trust", "--yes"], 0)?;
    says(&asked("mine", &["pytest"], 0)?, &["allow by default"])
}

fn every_shipped_role_states_its_own() -> Outcome {
    let world = World::plain()?;
    says(
        &world.types(&["agents", "show", "implementer"], 0)?,
        &["permissions: file_read, file_write, file_modify"],
    )?;
    let listed = world.types(&["agents", "list", "--json"], 0)?.json()?;
    let reads_only = |name: &str| matches!(name, "planner" | "researcher" | "reviewer");
    for role in listed["items"].as_array().into_iter().flatten() {
        let (name, stated) = (at(role, "/name")?, at(role, "/permissions")?);
        let permissions: Vec<&str> = stated
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one.as_str())
            .collect();
        let writes = permissions.contains(&"file_write");
        assert!(
            permissions.contains(&"file_read")
                && writes != reads_only(name.as_str().unwrap_or_default()),
            "{name}: {permissions:?}"
        );
    }
    Ok(())
}

fn a_rule_is_held_against_its_examples() -> Outcome {
    let world = World::with_plan("- [ ] T1 write\n")?;
    let rule = |examples: &str| {
        let text = format!(
            "deny = [\n  'Read(/keys/**)',\n  {{ rule = 'Bash(git push:*)', {examples} }},\n]\n"
        );
        world.repository.write("orchestrate.toml", &text)
    };
    rule(
        "match = ['git push', 'true && git push origin', ['git', 'push', 'x y']], not_match = ['git pull']",
    )?;
    let check = [
        "permissions",
        "check",
        "--agent",
        "implementer",
        "--tool",
        "Bash",
        "--",
        "git",
        "push",
        "x",
    ];
    says(
        &world.types(&check, 5)?,
        &["deny by deny:Bash(git push:*)", "orchestrate.toml:3:3"],
    )?;
    let table = [
        (
            "match = ['git pull']",
            "the example `git pull` under `match` is not matched",
        ),
        (
            "not_match = ['git pull && git push']",
            "the example `git pull && git push` under `not_match` is matched; a rule that",
        ),
        ("not_matches = ['a']", "there is no key `not_matches`"),
    ];
    for (examples, expected) in table {
        rule(examples)?;
        for command in [
            &check[..],
            &["check", "plan.md"],
            &["run", "plan.md", "--model", "script:x"],
        ] {
            says(
                &world.types(command, 2)?,
                &["orchestrate.toml:3:", expected],
            )?;
        }
    }
    Ok(())
}
