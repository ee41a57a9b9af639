//! `orchestrate check`: plans in, reports out, through the built program.

use serde_json::{Value, json};

use crate::support::{
    Case, Home, Outcome, Repository, Script, World, at, case, fail, sandboxed, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_plan_is_reported_as_the_contract_says),
        case!(plans_that_cannot_run_exit_2_with_every_error),
        case!(what_is_odd_about_a_role_in_use_is_said),
        case!(without_a_repository_the_plan_is_judged_and_the_lack_named),
        sandboxed!(a_check_whose_file_is_missing_is_told_as_by_a_run),
        case!(what_a_run_refuses_in_the_repository_is_an_error),
        case!(optional_tasks_are_left_out_on_request_as_by_a_run),
        case!(a_run_says_in_short_what_a_check_shows),
        sandboxed!(a_run_starts_from_any_revision),
    ]
}

fn check(plan: &str, code: i32) -> Result<Value, libtest_mimic::Failed> {
    let world = World::plain()?;
    world.repository.write("plan.md", plan)?;
    world.types(&["check", "plan.md", "--json"], code)?.json()
}

fn a_plan_is_reported_as_the_contract_says() -> Outcome {
    let plan = "---\ntitle: Sharpen\nverify: sh -c true\n---\n# Sharpen\n\n\
        - [ ] T1 Make `slugify` (files: src/slug.rs) (verify: no-such-program slug)\n\
        - [ ] T3 Review @reviewer (depends: T1) (turns: 9) (timeout: 90s) (model: openai/m)\n  - look at naming\n- [x] T0 Set up\n\n## Acceptance\n\n- [ ] it works\n";
    let report = check(plan, 0)?;
    let expected = json!({
        "id": "T3", "title": "Review", "status": "todo", "section": "Sharpen", "line": 8, "depends": ["T1"],
        "files": [], "agent": "reviewer", "verify": null, "run": null, "model": "openai/m", "optional": false,
        "parallel": false, "limits": {"turns": 9, "timeout_ms": 90_000}, "priority": 0, "review": null,
        "details": ["look at naming"],
    });
    let tasks = at(&report, "/tasks")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(tasks.get(1), Some(&expected), "{tasks:?}");
    for (pointer, value) in [
        ("/plan", json!("plan.md")),
        ("/type", json!("check")),
        ("/v", json!(1)),
        ("/format", json!("boxes")),
        ("/title", json!("Sharpen")),
        (
            "/waves",
            json!([
                {"tasks": ["T1"], "why": "nothing comes before"},
                {"tasks": ["T3"], "why": "after T1: dependency"},
            ]),
        ),
        ("/readings", json!([])),
        ("/errors", json!([])),
        ("/warnings/0/code", json!("program_not_found")),
        (
            "/lines",
            json!([
                {"from": 1, "to": 4, "role": "settings"},
                {"from": 5, "to": 5, "role": "structure"},
                {"from": 7, "to": 7, "role": "task", "task": "T1"},
                {"from": 8, "to": 8, "role": "task", "task": "T3"},
                {"from": 9, "to": 9, "role": "part", "task": "T3"},
                {"from": 10, "to": 10, "role": "task", "task": "T0"},
                {"from": 12, "to": 12, "role": "structure"},
                {"from": 14, "to": 14, "role": "not_run", "reason": "under \"Acceptance\""},
            ]),
        ),
    ] {
        assert_eq!(at(&report, pointer)?, &value, "{pointer} of {report}");
    }
    Ok(())
}

fn optional_tasks_are_left_out_on_request_as_by_a_run() -> Outcome {
    let world = World::plain()?;
    let plan = "- [ ] T1 Store\n- [ ]* T2 Polish\n";
    world.repository.write("plan.md", plan)?;
    let report = world
        .types(&["check", "plan.md", "--skip-optional", "--json"], 0)?
        .json()?;
    if at(&report, "/tasks/1/status")? != "left_out"
        || *at(&report, "/waves/0/tasks")? != json!(["T1"])
    {
        return fail(report.to_string());
    }
    let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
    world.types(
        &[
            "run",
            "plan.md",
            "--model",
            &model,
            "--skip-optional",
            "--land",
        ],
        0,
    )?;
    says(
        &world.types(&["status"], 0)?,
        &["T2", "cancelled", "it is optional"],
    )?;
    match world.repository.read("plan.md")? {
        written if written == plan.replacen("[ ]", "[x]", 1) => Ok(()),
        written => fail(written),
    }
}

fn a_run_says_in_short_what_a_check_shows() -> Outcome {
    let world = World::with_plan(
        "# P\n\n- [ ] T1 Store\n- [?] T2 Move\n\n## Won't do\n\n- [ ] Print\n- [ ] Fax\n",
    )?;
    let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
    let ran = world.types(&["run", "plan.md", "--model", &model], 0)?;
    says(
        &ran,
        &["3 lines that look like work are not run: `orchestrate check plan.md` lists them"],
    )?;
    let report = world.types(&["run", "plan.md", "--model", &model, "--json"], 0)?;
    let report = report.json()?;
    let lines = report["not_run_lines"].as_array().into_iter().flatten();
    let lines: Vec<&Value> = lines.map(|skipped| &skipped["line"]).collect();
    assert_eq!(lines, [4, 8, 9], "{report}");
    let checked = world.types(&["check", "plan.md"], 0)?;
    says(
        &checked,
        &[
            "Not run:\n  line 4: nearly a box",
            "  lines 8-9: under \"Won't do\"",
        ],
    )?;
    let quiet = world.types(&["run", "plan.md", "--model", &model, "--quiet"], 0)?;
    assert!(!quiet.stderr.contains("are not run"), "{}", quiet.stderr);
    Ok(())
}

fn plans_that_cannot_run_exit_2_with_every_error() -> Outcome {
    type Places = &'static [(u64, u64, &'static str)];
    let table: [(&str, Places); 8] = [
        ("", &[(0, 0, "empty_plan")]),
        ("# Only words\n", &[(0, 0, "no_tasks")]),
        (
            "- [ ] T1 x (depends: T2)\n- [ ] T2 y (depends: T1)\n",
            &[(0, 0, "cycle")],
        ),
        (
            "- [ ] T1 a (depends: T9)\n- [ ] T1 b (agent: nobody)\n",
            &[
                (1, 22, "unknown_dependency"),
                (2, 7, "duplicate_id"),
                (2, 20, "unknown_role"),
            ],
        ),
        (
            "---\nmax_agent: 3\n---\n- [ ] T1 a\n",
            &[(2, 1, "unknown_key")],
        ),
        (
            "- [ ] T1 a (depends: T2)\n- [ ] T2 b (depends: T1)\n- [ ] T3 c (depends: T3)\n",
            &[(1, 22, "cycle"), (3, 22, "cycle")],
        ),
        (
            "---\nbase: nosuch\nmodel: replay:r-abcdef\n---\n- [ ] T1 a\n",
            &[(2, 1, "unknown_base"), (3, 1, "not_available")],
        ),
        (
            "---\nmerge: none\n---\n- [ ] T1 a\n- [ ] T2 b (depends: T1)\n",
            &[(5, 1, "never_merged")],
        ),
    ];
    for (plan, expected) in table {
        let report = check(plan, 2)?;
        let errors = at(&report, "/errors")?
            .as_array()
            .cloned()
            .unwrap_or_default();
        let number =
            |error: &Value, key: &str| error.get(key).and_then(Value::as_u64).unwrap_or_default();
        let found: Vec<(u64, u64, String)> = errors
            .iter()
            .map(|error| {
                let code = error
                    .get("code")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                (number(error, "line"), number(error, "column"), code)
            })
            .collect();
        let codes: Vec<&str> = found.iter().map(|(_, _, code)| code.as_str()).collect();
        let wanted: Vec<&str> = expected.iter().map(|(_, _, code)| *code).collect();
        let placed = expected
            .iter()
            .zip(&found)
            .all(|(wanted, found)| wanted.0 == 0 || (wanted.0, wanted.1) == (found.0, found.1));
        assert!(codes == wanted && placed, "{plan:?} gave {found:?}");
        // What a check refuses, a run refuses, with the same errors.
        let world = World::plain()?;
        world.repository.write("plan.md", plan)?;
        let run = world.types(&["run", "plan.md", "--json"], 2)?.json()?;
        if at(&run, "/errors")?.as_array().map(Vec::len) != Some(expected.len()) {
            return fail(format!("{plan:?}: {run}"));
        }
    }
    Ok(())
}

fn what_is_odd_about_a_role_in_use_is_said() -> Outcome {
    let world = World::plain()?;
    for role in ["named", "default", "done", "idle"] {
        let text = format!(
            "---\ndescription: Helps.\ntools: Raed, Bash(git status:*)\n---\nYou help as {role}.\n"
        );
        world
            .repository
            .write(&format!(".orchestrate/agents/{role}.md"), &text)?;
    }
    world.repository.commit_all("Add roles")?;
    let tasks = "- [ ] T1 a @named\n- [ ] T2 b\n- [ ] T3 c @named\n- [x] T4 d @done\n";
    world
        .repository
        .write("plan.md", &format!("---\nagent: default\n---\n{tasks}"))?;
    // Without a model the run does not begin, but it has warned by then.
    for (command, code) in [("check", 0), ("run", 2)] {
        let said = world.types(&[command, "plan.md"], code)?.stderr;
        let told = ["named", "default", "done", "idle"]
            .map(|role| said.matches(&format!("agents/{role}.md: ")).count());
        let odd = [
            "unknown tool `Raed`",
            "line 3: `Bash(git status:*)` grants all of `run_shell_command`",
        ];
        assert!(
            told == [2, 2, 0, 0] && odd.iter().all(|odd| said.matches(odd).count() == 2),
            "{command} {told:?}: {said}"
        );
    }
    Ok(())
}

fn a_check_whose_file_is_missing_is_told_as_by_a_run() -> Outcome {
    let world = World::plain()?;
    world.commit("there.sh", "true\n")?;
    world.repository.write("plan.md", "---\nverify: ./missing.sh\n---\n- [ ] T1 a (run: true) (verify: ./there.sh)\n- [ ] T2 b (run: true) (verify: A=1 ./nowhere/check)\n")?;
    let type_in = |arguments: &[&str]| world.orchestrate(arguments).run();
    let told = [
        ("line 2, column 1", "./missing.sh"),
        ("line 5, column 1", "./nowhere/check"),
    ];
    let told = told.map(|(place, file)| {
        format!("{place}: the file `{file}` is not in the commit that the run starts from")
    });
    let said =
        type_in(&["check", "plan.md"])?.exits(0)?.stdout + &type_in(&["run", "plan.md"])?.stderr;
    assert!(
        told.iter().all(|told| said.matches(told).count() == 2),
        "{said}"
    );
    assert_eq!(said.matches("is not in the commit").count(), 4, "{said}");
    // A worktree's setup may create any file, and an older commit may lack a file that this one
    // has.
    world
        .repository
        .write("orchestrate.toml", "[worktree]\nsetup = \"true\"\n")?;
    let made = type_in(&["check", "plan.md"])?.exits(0)?.stdout;
    std::fs::remove_file(world.repository.path().join("orchestrate.toml"))?;
    world.repository.write(
        "plan.md",
        "---\nbase: HEAD~1\n---\n- [ ] T1 a (run: true) (verify: ./there.sh)\n",
    )?;
    let older = type_in(&["check", "plan.md"])?.exits(0)?.stdout;
    assert!(!made.contains("is not in the commit"), "{}", made + &older);
    assert!(
        older.contains("`./there.sh` is not in the commit"),
        "{}",
        made + &older
    );
    Ok(())
}

fn without_a_repository_the_plan_is_judged_and_the_lack_named() -> Outcome {
    let home = Home::new()?;
    std::fs::write(home.path().join("plan.md"), "- [ ] T1 a\n")?;
    let words = "not a git repository (or any parent directory); run `git init`";
    let run = home
        .orchestrate(home.path(), &["run", "plan.md"])
        .run()?
        .exits(2)?
        .stderr;
    let ran = home
        .orchestrate(home.path(), &["check", "plan.md"])
        .run()?
        .exits(2)?;
    let is_judged =
        ran.stdout.contains("T1") && !ran.stdout.contains("warning") && ran.stderr.is_empty();
    assert!(is_judged, "{}", ran.stdout + &run);
    assert!(ran.stdout.contains(words), "{}", ran.stdout + &run);
    assert!(run.contains(words), "{}", ran.stdout + &run);
    Ok(())
}

/// The plan is checked all the same, so that all errors are reported at once.
fn what_a_run_refuses_in_the_repository_is_an_error() -> Outcome {
    // A sparse checkout is refused when the repository is opened, an encoding when a run is to
    // start in it.
    for (is_sparse, words) in [
        ("true", "checkout is sparse"),
        ("false", "names the encoding \"UTF-16\""),
    ] {
        let (home, repository) = (Home::new()?, Repository::plain()?);
        repository.write("plan.md", "- [ ] T1 a\n")?;
        repository.write(".gitattributes", "*.ps1 working-tree-encoding=UTF-16\n")?;
        repository.commit_all("Store in another encoding")?;
        repository.git(&["config", "core.sparseCheckout", is_sparse])?;
        let run = home
            .orchestrate(repository.path(), &["run", "plan.md"])
            .run()?
            .exits(2)?;
        let report = home
            .orchestrate(repository.path(), &["check", "plan.md", "--json"])
            .run()?
            .exits(2)?
            .json()?;
        let found = &report["errors"][0];
        let message = found["message"].as_str().unwrap_or_default();
        let is_said = message.starts_with("a run would fail to use the repository at ")
            && message.contains(words);
        assert!(
            is_said
                && run.stderr.contains(words)
                && found["code"] == "repository_refused"
                && found["line"] == 0,
            "{found}\n{}",
            run.stderr
        );
    }
    an_unreadable_configuration_is_refused()?;
    let (home, repository) = (Home::new()?, Repository::plain()?);
    repository.write("plan.md", "- [ ] T1 a\n")?;
    repository.git(&["config", "--unset", "user.name"])?;
    let said = home
        .orchestrate(repository.path(), &["check", "plan.md"])
        .run()?
        .exits(2)?
        .stdout;
    assert!(
        said.contains("a run would fail to commit: git's user.name"),
        "{said}"
    );
    Ok(())
}

/// Every git command fails if a file that is included depending on remotes configures remotes
/// itself.
fn an_unreadable_configuration_is_refused() -> Outcome {
    let world = World::plain()?;
    world.repository.write("plan.md", "- [ ] T1 a\n")?;
    world.repository.write(
        ".git/more",
        "[remote \"more\"]\n\turl = https://example.org/more\n",
    )?;
    world.git("config remote.origin.url https://example.org/it")?;
    world.git("config includeIf.hasconfig:remote.*.url:https://example.org/**.path more")?;
    for typed in [
        &["run", "plan.md"][..],
        &["check", "plan.md"],
        &["status"],
        &["land"],
    ] {
        let ran = world.types(typed, 2)?;
        let said = ran.stdout + &ran.stderr;
        if !said
            .contains("git cannot read its configuration (fatal: remote URLs cannot be configured")
        {
            return fail(format!("{typed:?}: {said}"));
        }
    }
    Ok(())
}

fn a_run_starts_from_any_revision() -> Outcome {
    let world = World::plain()?;
    world.repository.write("more.txt", "more\n")?;
    world.repository.commit_all("more")?;
    world.repository.write(
        "plan.md",
        "---\nbase: HEAD^\n---\n- [ ] T1 Make it (run: touch made)\n",
    )?;
    let first = world.git("rev-parse HEAD~1")?;
    for base in [
        &[][..],
        &["--base", "HEAD~1"],
        &["--base", "@{0}~1"],
        &["--base", ":/more^"],
    ] {
        let arguments = [&["run", "plan.md", "--json"][..], base].concat();
        // Git reads `:/more^` as a search for the message `more^`, so it names nothing.
        let code = if base.contains(&":/more^") { 2 } else { 0 };
        let report = world.types(&arguments, code)?.json()?;
        assert!(
            code != 0 || at(&report, "/base_commit")? == first.trim(),
            "{base:?}: {report}"
        );
    }
    Ok(())
}
