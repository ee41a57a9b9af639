//! What `init` finds in a project, writes and consents to, up to the first run, through the built
//! program.

use orchestrate_settings::KEYS;

use crate::support::{
    Case, Need, Outcome, World, case, require_words, sandboxed, says, write_program,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(yes_sets_what_the_files_suggest_and_consents).needs(Need::NPM),
        case!(without_a_yes_nothing_is_set),
        case!(a_program_reads_what_was_found_and_set),
        case!(a_second_yes_adds_no_line_twice),
        case!(what_it_brings_along_is_missed_by_no_check_of_a_plan),
        case!(every_setting_is_listed_also_without_a_value),
    ]
}

/// Whose tests are run by a program that lies in the checkout alone.
const PACKAGE: &str = r#"{ "scripts": { "test": "mocha" }, "devDependencies": { "mocha": "1" } }"#;
const PLAN: &str = "- [ ] T1 Make it (run: touch made)\n";

/// Creates a project of npm whose packages are installed, with secrets in a `.env`.
fn project() -> Result<World, libtest_mimic::Failed> {
    let world = World::with_plan(PLAN)?;
    let repository = &world.repository;
    repository.write("package.json", PACKAGE)?;
    repository.write(".gitignore", "node_modules\n.env\n")?;
    repository.commit_all("Add a package")?;
    repository.write(".env", "TOKEN=1\n")?;
    repository.write("node_modules/mocha/index.js", "")?;
    let bin = repository.path().join("node_modules/.bin");
    std::fs::create_dir_all(&bin)?;
    write_program(&bin.join("mocha"), "#!/bin/sh\necho tested\n")?;
    Ok(world)
}

/// Before, the first run says what is missing; after, it passes without a question.
fn yes_sets_what_the_files_suggest_and_consents() -> Outcome {
    let world = project()?;
    let before = world.types(&["run", "plan.md", "--verify", "npm test"], 2)?;
    let found =
        "the program `mocha` lies in `node_modules` of your checkout, which no worktree has";
    says(
        &before,
        &[
            found,
            "add `node_modules/` to .worktreeinclude",
            "nothing was run",
        ],
    )?;
    let missing = world.types(&["run", "plan.md", "--verify", "true; npm test"], 2)?;
    says(
        &missing,
        &[
            "mocha was not found here: it lies in node_modules of the checkout",
            "to .worktreeinclude",
        ],
    )?;
    let absent = world.types(
        &["run", "plan.md", "--verify", "./node_modules/.bin/mocha"],
        2,
    )?;
    says(
        &absent,
        &[
            "lies in your checkout but is not committed",
            "add `node_modules/` to .worktreeinclude",
        ],
    )?;

    let doctor = world.types(&["doctor"], 0)?;
    let fixes = [
        "set `verify`, for example to `npm test`",
        "add `node_modules/` to .worktreeinclude",
    ];
    says(&doctor, &["npm (package.json)", fixes[0], fixes[1]])?;
    let init = world.types(&["init", "--yes"], 0)?;
    says(
        &init,
        &[
            "found npm (package.json)",
            "npm test   (at most 10m",
            ".worktreeinclude",
            ".env stays out",
        ],
    )?;
    require_words(
        &world.repository.read("orchestrate.toml")?,
        &["\nverify = \"npm test\"\n"],
    )?;
    assert_eq!(
        world.repository.read(".worktreeinclude")?,
        "node_modules/\n"
    );
    let doctor = world.types(&["doctor"], 0)?.stdout;
    assert!(!fixes.iter().any(|fix| doctor.contains(fix)), "{doctor}");
    let trust = world.types(&["config", "trust", "--json"], 0)?.json()?;
    assert!(trust["items"][0]["consented"] == true, "{trust}");
    assert_eq!(trust["items"][0]["command"], "npm test", "{trust}");
    let run = world.types(&["run", "plan.md"], 0)?;
    says(
        &run,
        &[
            "check of the base passed: npm test",
            "T1: check of the merged tree passed: npm test",
        ],
    )
}

fn without_a_yes_nothing_is_set() -> Outcome {
    let world = project()?;
    let init = world.types(&["init"], 0)?;
    says(
        &init,
        &[
            "npm test",
            "nothing is set: `orchestrate init --force --yes` sets what is shown above",
        ],
    )?;
    assert!(
        !world.repository.path().join(".worktreeinclude").exists(),
        "it wrote .worktreeinclude"
    );
    let shown = world.types(&["config", "show", "--json"], 0)?.json()?;
    let trust = world.types(&["config", "trust", "--json"], 0)?.json()?;
    assert!(
        shown["settings"]["verify"]["value"].is_null() && trust["items"] == serde_json::json!([]),
        "{shown} {trust}"
    );
    Ok(())
}

fn a_program_reads_what_was_found_and_set() -> Outcome {
    let world = project()?;
    let shown = world.types(&["init", "--json"], 0)?.json()?;
    let expected = serde_json::json!({
        "is_set": false,
        "found": [{"name": "npm", "by": "package.json"}],
        "verify": "npm test",
        "setup": null,
        "include": ["node_modules/"],
        "secrets": [".env"],
    });
    for (field, value) in expected.as_object().into_iter().flatten() {
        assert_eq!(shown[field], *value, "{field} of {shown}");
    }
    let file = shown["file"].as_str().unwrap_or_default();
    assert!(file.ends_with("/orchestrate.toml"), "{shown}");
    let include = world.repository.path().join(".worktreeinclude");
    assert!(!include.exists(), "it wrote what nobody has agreed to");
    let refused = world.types(&["init", "--yes", "--json"], 2)?.json()?;
    assert_eq!(refused["type"], "error", "{refused}");
    let set = world
        .types(&["init", "--yes", "--force", "--json"], 0)?
        .json()?;
    assert_eq!(set["is_set"], true, "{set}");
    let trust = world.types(&["config", "trust", "--json"], 0)?.json()?;
    assert_eq!(trust["items"][0]["consented"], true, "{trust}");
    assert!(include.exists(), "{set}");
    Ok(())
}

fn a_second_yes_adds_no_line_twice() -> Outcome {
    let world = project()?;
    world
        .repository
        .write(".worktreeinclude", "# mine\nnode_modules")?;
    world.types(&["init", "--yes"], 0)?;
    world
        .repository
        .write(".worktreeinclude", "# mine\nsecrets")?;
    world.types(&["init", "--yes"], 2)?;
    world.types(&["init", "--yes", "--force"], 0)?;
    let lines = world.repository.read(".worktreeinclude")?;
    assert_eq!(lines, "# mine\nsecrets\nnode_modules/\n");
    Ok(())
}

/// What `.worktreeinclude` names is in every worktree, so `check` does not miss it, as `run` does
/// not.
fn what_it_brings_along_is_missed_by_no_check_of_a_plan() -> Outcome {
    const MISSED: &str = "the file `./node_modules/.bin/mocha` is not in the commit";
    let world = project()?;
    let plan = "- [ ] T1 Make it (run: touch made) (verify: ./node_modules/.bin/mocha)\n";
    world.repository.write("plan.md", plan)?;
    says(&world.types(&["check", "plan.md"], 0)?, &[MISSED])?;
    world.types(&["init", "--yes"], 0)?;
    let check = world.types(&["check", "plan.md"], 0)?;
    assert!(!check.stdout.contains(MISSED), "{}", check.stdout);
    Ok(())
}

fn every_setting_is_listed_also_without_a_value() -> Outcome {
    let world = World::plain()?;
    let text = world.types(&["config", "show"], 0)?.stdout;
    let json = world.types(&["config", "show", "--json"], 0)?.json()?;
    for key in KEYS
        .iter()
        .filter(|key| !["allow", "ask", "deny"].contains(&key.name))
    {
        let is_in_text = text
            .lines()
            .any(|line| line.split_whitespace().next() == Some(key.name));
        let is_in_json = json["settings"].get(key.name).is_some();
        assert!(is_in_text && is_in_json, "{} is not listed", key.name);
    }
    for (name, value) in [
        ("command_timeout", "10m"),
        ("verify", "(not set)"),
        ("timeout", "(not set)"),
    ] {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))
            .unwrap_or_default();
        require_words(line, &[value, "default"])?;
    }
    Ok(())
}
