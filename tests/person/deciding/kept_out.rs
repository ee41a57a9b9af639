//! What lands: scratch files and secrets stay out of commits, boxes belong to landing, and weakened
//! tests wait for a person.

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::support::{
    Case, Need, Outcome, Script, World, at, case, done, fail, on, put, sandboxed, says, write,
    writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_new_secret_stays_in_its_worktree_and_its_task_waits),
        case!(caches_and_logs_are_no_work_and_do_not_conflict),
        case!(what_a_tool_writes_on_purpose_is_committed),
        case!(a_changed_secret_is_committed_at_high_risk),
        sandboxed!(no_model_sees_a_secret_that_waits).needs(Need::BUBBLEWRAP),
        case!(boxes_that_an_agent_ticks_enter_no_commit),
        case!(an_agent_that_only_ticks_boxes_has_done_nothing),
        case!(a_task_that_leaves_only_a_log_is_told_so),
        case!(a_deleted_test_waits_and_the_rest_merges),
        case!(the_modes_of_review_are_settings_of_the_plan_the_task_and_the_user),
        case!(only_a_typed_landing_lands_a_high_risk),
    ]
}

/// Makes what commands of real projects leave.
const LEAVES: &str = "mkdir -p node_modules/a build src/__pycache__ keys && echo 1 > node_modules/a/index.js && \
    echo 1 > build/out.js && echo 1 > src/__pycache__/a.pyc && echo 1 > run.log && echo 1 > one.txt";

fn files_of(world: &World, revision: &str) -> Result<String, Failed> {
    world.git(&format!("ls-tree -r --name-only {revision}"))
}

fn run_id(report: &Value) -> Result<String, Failed> {
    Ok(at(report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

fn states(report: &Value) -> Result<Vec<Value>, Failed> {
    let tasks = at(report, "/tasks")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    tasks
        .iter()
        .map(|task| at(task, "/state").cloned())
        .collect()
}

fn a_new_secret_stays_in_its_worktree_and_its_task_waits() -> Outcome {
    let secret = format!(
        "{LEAVES} && echo TOKEN=1 > .env && echo TOKEN= > .env.example && echo x > keys/id_ed25519"
    );
    let plan = format!("- [ ] T1 leave (run: {secret})\n- [ ] T2 other (run: echo 2 > two.txt)\n");
    let world = World::with_plan(&plan)?;
    world.repository.write("package.json", "{}\n")?;
    world.repository.commit_all("package")?;
    let ran = world.types(&["run", "plan.md", "--json"], 3)?;
    says(
        &ran,
        &[
            "T1: left in its worktree, not in its commit: .env (its name is that of a file of secrets)",
        ],
    )?;
    let report = ran.json()?;
    if states(&report)? != [json!("awaiting_review"), json!("merged")] {
        return fail(report.to_string());
    }
    let files = files_of(&world, &format!("orchestrate/{}/T1", run_id(&report)?))?;
    let is_left = |name: &str| !files.lines().any(|file| file == name);
    let left = [
        ".env",
        "keys/id_ed25519",
        "run.log",
        "node_modules/a/index.js",
        "build/out.js",
    ];
    assert!(left.iter().all(|name| is_left(name)), "{files}");
    assert!(!is_left("one.txt"), "{files}");
    assert!(!is_left(".env.example"), "{files}");
    let reviewed = world.types(&["review", "T1"], 0)?;
    says(
        &reviewed,
        &[
            "waits for you: .env (its name is that of a file of secrets) is new, and is not in the commit",
        ],
    )?;
    says(
        &reviewed,
        &[
            "not in its commit: build/ (a build output), node_modules/ (installed packages), run.log (a log)",
        ],
    )?;
    let listed = world.types(&["review", "T1", "--json"], 0)?.json()?;
    let withheld = at(&listed, "/withheld")?.as_array().map(Vec::len);
    if withheld != Some(2) || *at(&listed, "/withheld/0/path")? != ".env" {
        return fail(listed.to_string());
    }
    assert!(
        world.repository.worktree("T1")?.join(".env").exists(),
        "the file is gone"
    );
    let approved = world
        .types(&["approve", "T1", "--json", "--follow"], 0)?
        .json()?;
    let merged = files_of(
        &world,
        &format!("orchestrate/{}/integration", run_id(&approved)?),
    )?;
    assert!(merged.contains("one.txt"), "{merged}");
    assert!(!merged.lines().any(|file| file == ".env"), "{merged}");
    Ok(())
}

fn caches_and_logs_are_no_work_and_do_not_conflict() -> Outcome {
    let plan = "- [ ] T1 one (run: echo 1 > run.log && mkdir -p a/__pycache__ && echo 1 > a/__pycache__/x.pyc && echo 1 > one.txt)\n\
        - [ ] T2 two (run: echo 2 > run.log && mkdir -p a/__pycache__ && echo 2 > a/__pycache__/x.pyc && echo 2 > two.txt)\n\
        - [ ] T3 python (run: printenv PYTHONDONTWRITEBYTECODE > three.txt)\n";
    let world = World::with_plan(plan)?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    let integration = format!("orchestrate/{}/integration", run_id(&report)?);
    let files = files_of(&world, &integration)?;
    let is_set = world.repository.show(&integration, "three.txt")?.trim() == "1";
    let has_work = files.contains("one.txt") && files.contains("two.txt");
    let is_left = !files.contains("run.log") && !files.contains("__pycache__");
    assert!(has_work && is_left && is_set, "{files}");
    Ok(())
}

fn what_a_tool_writes_on_purpose_is_committed() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    world.repository.write("package.json", "{}\n")?;
    world.repository.commit_all("package")?;
    let makes =
        json!({"command": "mkdir -p build && echo 1 > build/made.js && echo 1 > other.log"});
    let script = Script::default()
        .rule(write("T1", "build/config.js", "on purpose\n"))
        .rule(put(on("T1", 2), "tests/data/a.log", "x\n"))
        .rule(on("T1", 3).call("run_shell_command", &makes))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let report = world
        .types(&["run", "plan.md", "--model", &model, "--json"], 0)?
        .json()?;
    let files = files_of(
        &world,
        &format!("orchestrate/{}/integration", run_id(&report)?),
    )?;
    let taken = files.contains("build/config.js") && files.contains("tests/data/a.log");
    assert!(taken, "{files}");
    assert!(!files.contains("made.js"), "{files}");
    assert!(!files.contains("other.log"), "{files}");
    Ok(())
}

fn a_changed_secret_is_committed_at_high_risk() -> Outcome {
    let world = World::with_plan("- [ ] T1 change (run: echo A=2 > .env)\n")?;
    world.repository.write(".env", "A=1\n")?;
    world.repository.commit_all("env")?;
    let report = world.types(&["run", "plan.md", "--json"], 0)?.json()?;
    let merged = world.repository.show(
        &format!("orchestrate/{}/integration", run_id(&report)?),
        ".env",
    )?;
    let review = world.types(&["review", "T1", "--json"], 0)?.json()?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["risk HIGH", "risk: .env is changed: it looks like a secret"],
    )?;
    assert_eq!(merged, "A=2", "{review}");
    assert_eq!(*at(&review, "/risk")?, "high", "{review}");
    Ok(())
}

fn no_model_sees_a_secret_that_waits() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    let again = |turn: u32, name: &str, arguments: Value| on("T1", turn).call(name, &arguments);
    let script = Script::default()
        .rule(write("T1", ".env", "TOKEN=hush-hush\n"))
        .rule(again(
            2,
            "write_file",
            json!({"path": "one.txt", "content": "1\n"}),
        ))
        .rule(on("T1", 3).text("Done.\nClaims: done"))
        .rule(again(4, "read_file", json!({"path": ".env"})))
        .rule(again(5, "grep", json!({"pattern": "TOKEN"})))
        .rule(again(
            6,
            "run_shell_command",
            json!({"command": "cat .env; echo seen"}),
        ))
        .rule(again(7, "git_diff", json!({})))
        .rule(again(
            8,
            "write_file",
            json!({"path": "one.txt", "content": "2\n"}),
        ))
        .rule(done("T1"));
    let model = world.script(&script)?;
    world.types(&["run", "plan.md", "--model", &model], 3)?;
    world.types(&["reject", "T1", "-m", "look again", "--follow"], 3)?;
    let told = world.types(&["log", "T1", "--transcript"], 0)?.stdout;
    let second = told.split("look again").nth(1).unwrap_or_default();
    let denied = second.contains("stays out of sight until the user decides about it");
    assert!(denied, "{told}");
    assert!(second.contains("seen"), "{told}");
    assert!(!second.contains("hush-hush"), "{told}");
    Ok(())
}

const BOXES: &str = "- [ ] T1 one\n- [ ] T2 two (run: exit 1)\n";

fn boxes_that_an_agent_ticks_enter_no_commit() -> Outcome {
    let world = World::with_plan(BOXES)?;
    world.repository.commit_all("the plan")?;
    let edited = BOXES.replace("[ ]", "[x]") + "\nNotes: use tabs.\n";
    let script = Script::default()
        .rule(write("T1", "plan.md", &edited))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let ran = world.types(&["run", "plan.md", "--model", &model, "--json"], 1)?;
    says(
        &ran,
        &["T1: its agent changed boxes of the plan, which only landing does: T1, T2"],
    )?;
    let merged = world.repository.show(
        &format!("orchestrate/{}/integration", run_id(&ran.json()?)?),
        "plan.md",
    )?;
    says(
        &world.types(&["review", "T1"], 0)?,
        &["its agent changed boxes of the plan", "T1, T2"],
    )?;
    let wanted = format!("{BOXES}\nNotes: use tabs.");
    assert_eq!(merged.trim_end(), wanted, "{merged}");
    Ok(())
}

fn an_agent_that_only_ticks_boxes_has_done_nothing() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    world.repository.commit_all("the plan")?;
    let model = world.script(&Script::default().writes("T1", "plan.md", "- [x] T1 one\n"))?;
    let ran = world.types(&["run", "plan.md", "--model", &model, "--json"], 1)?;
    says(&ran, &["its agent changed boxes of the plan"])?;
    assert_eq!(states(&ran.json()?)?, [json!("failed")], "{}", ran.stdout);
    Ok(())
}

fn a_task_that_leaves_only_a_log_is_told_so() -> Outcome {
    let world = World::with_plan("- [ ] T1 one\n")?;
    let leaves = json!({"command": "echo 1 > run.log"});
    let script = Script::default()
        .rule(on("T1", 1).call("run_shell_command", &leaves))
        .rule(done("T1"));
    let model = world.script(&script)?;
    says(
        &world.types(&["run", "plan.md", "--model", &model], 1)?,
        &["it wrote only caches and build outputs: run.log"],
    )
}

const TESTED: &str = "def test_a():\n    assert 1\n    assert 2\n";

/// A repository with a test, and a plan with this text.
fn tested(plan: &str) -> Result<World, Failed> {
    let world = World::with_plan(plan)?;
    world.repository.write("tests/test_a.py", TESTED)?;
    world.repository.commit_all("a test")?;
    Ok(world)
}

fn a_deleted_test_waits_and_the_rest_merges() -> Outcome {
    let world = tested(
        "- [ ] T1 delete (run: rm tests/test_a.py)\n- [ ] T2 other (run: echo 2 > two.txt)\n",
    )?;
    let report = world.types(&["run", "plan.md", "--json"], 3)?.json()?;
    if states(&report)? != [json!("awaiting_review"), json!("merged")] {
        return fail(report.to_string());
    }
    let reviewed = world.types(&["review", "T1"], 0)?;
    says(
        &reviewed,
        &[
            "risk HIGH",
            "waits for you: it deletes the test file tests/test_a.py",
        ],
    )?;
    // It is told once.
    if reviewed.stdout.matches("deletes the test file").count() != 1 {
        return fail(reviewed.stdout);
    }
    let approved = world
        .types(&["approve", "T1", "--json", "--follow"], 0)?
        .json()?;
    let files = files_of(
        &world,
        &format!("orchestrate/{}/integration", run_id(&approved)?),
    )?;
    assert!(!files.contains("test_a.py"), "{files}");
    Ok(())
}

fn the_modes_of_review_are_settings_of_the_plan_the_task_and_the_user() -> Outcome {
    let skip = "sed -i 's/^def/@pytest.mark.skip\\ndef/' tests/test_a.py";
    let task = format!("- [ ] T1 skip (run: `{skip}`)");
    let table: [(String, &[&str], i32); 8] = [
        (format!("{task}\n"), &[], 3),
        (format!("{task} (review: never)\n"), &[], 0),
        (format!("---\nreview: none\n---\n{task}\n"), &[], 0),
        (
            format!("---\nreview: never\n---\n{task}\n"),
            &["--review", "deleted-tests"],
            3,
        ),
        (
            "- [ ] T1 hide (run: mv tests/test_a.py tests/test_a.txt)\n".to_owned(),
            &[],
            3,
        ),
        (
            "- [ ] T1 lock (run: echo 1 > Cargo.lock)\n".to_owned(),
            &[],
            0,
        ),
        (
            "- [ ] T1 lock (run: echo 1 > Cargo.lock)\n".to_owned(),
            &["--review", "risky"],
            3,
        ),
        (
            "---\nreview: required\n---\n- [ ] T1 plain (run: echo 1 > one.txt)\n".to_owned(),
            &[],
            3,
        ),
    ];
    for (plan, options, code) in table {
        let world = tested(&plan)?;
        let ran = world
            .orchestrate(&[&["run", "plan.md"], options].concat())
            .run()?;
        assert_eq!(
            ran.code, code,
            "{plan}\n{options:?}\n{}\n{}",
            ran.stdout, ran.stderr
        );
    }
    Ok(())
}

fn only_a_typed_landing_lands_a_high_risk() -> Outcome {
    let world = World::with_plan("- [ ] T1 lock (run: echo 1 > Cargo.lock)\n")?;
    let ran = world.types(&["run", "plan.md", "--land"], 3)?;
    says(
        &ran,
        &[
            "somebody has to look at it first",
            "T1: risk HIGH: Cargo.lock is new: it pins versions",
        ],
    )?;
    assert!(
        !world.repository.path().join("Cargo.lock").exists(),
        "it has landed"
    );
    says(
        &world.types(&["land"], 0)?,
        &[
            "T1: risk HIGH: Cargo.lock is new: it pins versions",
            "has landed",
        ],
    )?;
    assert!(
        world.repository.path().join("Cargo.lock").exists(),
        "it has not landed"
    );
    Ok(())
}
