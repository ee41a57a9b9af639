//! What a user's machine, repository and plan may be like instead of fine: each says what to do next, and loses
//! nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Settings, missing_programs};
use orchestrate_core::RunSettings;
use orchestrate_plan::{Finding, KnownNames, Plan};
use orchestrate_sandbox::Confinement;
use rustix::process::Signal;
use serde_json::json;

use crate::run::{Stage, done, runtime, write};
use crate::support::{
    Case, Home, ModelServer, Need, Outcome, Ran, Reply, Repository, Rule, Script, at, case, fail, lines, sandboxed,
};

pub(crate) fn cases() -> Vec<Case> {
    let tiers =
        [(Confinement::Full, "full"), (Confinement::Fallback, "fallback"), (Confinement::Unconfined, "unconfined")];
    let in_tiers = tiers.map(|(tier, word)| {
        let name = format!("bad_input::programs_of_checks_are_looked_for_{word}");
        case(name, move || programs_of_checks_are_looked_for(tier)).in_tier(tier)
    });
    let mut cases = vec![
        case("bad_input::plans_that_cannot_run_leave_nothing", plans_that_cannot_run_leave_nothing),
        case("bad_input::a_bare_repository_is_refused", a_bare_repository_is_refused),
        case("bad_input::a_branch_in_the_way_is_refused", a_branch_in_the_way_is_refused),
        case("bad_input::a_state_inside_the_checkout_is_refused", a_state_inside_the_checkout_is_refused),
        sandboxed("bad_input::a_merge_or_a_rebase_is_finished_first", a_merge_or_a_rebase_is_finished_first),
        case("bad_input::a_git_that_is_too_old_or_absent_is_refused", a_git_that_is_too_old_is_refused),
        sandboxed("bad_input::a_temporary_folder_that_is_not_there_is_refused", a_temporary_folder_is_not_there),
        sandboxed("bad_input::too_few_open_files_are_refused", too_few_open_files_are_refused),
        sandboxed("bad_input::doctor_counts_open_files", doctor_counts_open_files),
        sandboxed("bad_input::landing_needs_files_for_no_agents", landing_needs_files_for_no_agents),
        sandboxed("bad_input::a_plan_whose_path_is_no_text_says_why_its_boxes_stay", a_path_that_is_no_text),
        sandboxed("bad_input::a_dirty_tree_and_a_detached_head_are_warnings", dirty_and_detached_are_warnings),
        sandboxed("bad_input::a_check_that_does_not_exist_is_refused", a_check_that_does_not_exist_is_refused),
        sandboxed(
            "bad_input::a_check_that_may_pass_without_its_program_is_warned_of",
            a_check_that_may_pass_without_its_program_is_warned_of,
        ),
        sandboxed("bad_input::a_script_with_a_broken_line_is_refused", a_script_with_a_broken_line_is_refused),
        sandboxed(
            "bad_input::a_script_that_nobody_asks_again_is_not_read",
            a_script_that_nobody_asks_again_is_not_read,
        ),
        sandboxed("bad_input::endpoints_that_refuse_say_what_to_do", endpoints_that_refuse_say_what_to_do),
        sandboxed("bad_input::a_wait_for_a_server_is_shown", a_wait_for_a_server_is_shown),
        sandboxed("bad_input::a_base_branch_that_moves_is_landed_on", || the_base_branch_changes(false)),
        sandboxed("bad_input::a_base_branch_that_goes_is_not_landed_on", || the_base_branch_changes(true)),
        sandboxed("bad_input::a_worktree_deleted_while_running_fails_its_task_alone", a_worktree_is_deleted),
        sandboxed("bad_input::a_read_only_state_is_refused", a_read_only_state_is_refused).needs(Need::MOUNTS),
        sandboxed("bad_input::a_read_only_repository_is_refused", a_read_only_repository_is_refused)
            .needs(Need::MOUNTS),
        sandboxed("bad_input::a_trash_that_cannot_be_deleted_is_told", a_trash_that_cannot_be_deleted_is_told)
            .needs(Need::MOUNTS),
        sandboxed(
            "bad_input::a_checks_file_that_is_not_there_yet_is_a_warning",
            a_checks_file_that_is_not_there_yet_is_a_warning,
        ),
        sandboxed("bad_input::a_real_full_disk_loses_nothing", a_real_full_disk_loses_nothing).needs(Need::MOUNTS),
        sandboxed("bad_input::a_repository_whose_disk_is_full_says_so", a_repository_whose_disk_is_full_says_so)
            .needs(Need::MOUNTS),
    ];
    cases.extend(in_tiers);
    cases
}

/// A plan of one command.
const PLAN: &str = "- [ ] T1 Make it (run: touch made)\n";

/// One user with one lived-in repository.
struct Scene {
    home: Home,
    repository: Repository,
}

impl Scene {
    fn new() -> Result<Self, Failed> {
        let scene = Self { home: Home::new()?, repository: Repository::lived_in()? };
        std::fs::write(scene.home.path().join("plan.md"), PLAN)?;
        Ok(scene)
    }

    /// Returns the path of a file of the test's own, outside the repository.
    fn file(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> Result<String, Failed> {
        std::fs::write(self.home.path().join(name), text)?;
        Ok(self.file(name))
    }

    fn type_in(&self, arguments: &[&str]) -> Result<Ran, Failed> {
        self.home.orchestrate(self.repository.path(), arguments).run()
    }

    /// Requires that the plan is refused with these words before anything has begun.
    fn refuses(&self, said: &[&str]) -> Outcome {
        let before = self.repository.fingerprint()?;
        let ran = self.type_in(&["run", &self.file("plan.md")])?.exits(2)?;
        require_words(&ran.stderr, said)?;
        before.require_same(&self.repository.fingerprint()?)
    }
}

/// Requires that a text has all of these in it.
fn require_words(text: &str, words: &[&str]) -> Outcome {
    match words.iter().find(|word| !text.contains(**word)) {
        Some(missing) => fail(format!("no {missing:?} in {text}")),
        None => Ok(()),
    }
}

fn plans_that_cannot_run_leave_nothing() -> Outcome {
    let scene = Scene::new()?;
    let table: [(&str, &[&str]); 6] = [
        ("", &["the plan is empty", "write a list of `- [ ] task` lines"]),
        ("words\n", &["no tasks found", "write a list of `- [ ] task` lines"]),
        ("- [ ] T1\u{0}\n", &["the plan is not text", "name a Markdown file"]),
        ("- [ ] T1 a (depends: T2)\n- [ ] T2 b (depends: T1)\n", &["T1 → T2 → T1", "remove one of these"]),
        ("- [ ] T1 a (depends: T9)\n", &["there is no task `T9`"]),
        ("- [ ] T1 a @nobody\n", &["unknown role `nobody`", "known roles: coordinator, implementer"]),
    ];
    for (plan, said) in table {
        scene.write("plan.md", plan)?;
        scene.refuses(said)?;
        scene.refuses(&["nothing was run", "orchestrate check"])?;
    }
    scene.write("plan.md", PLAN)?;
    let refused = scene.type_in(&["run", &scene.file("plan.md"), "--agent", "nosuch"])?.exits(2)?;
    require_words(&refused.stderr, &["failed to find the role 'nosuch'; known roles: coordinator, implementer"])?;
    std::fs::remove_file(scene.home.path().join("plan.md"))?;
    scene.refuses(&["No such file", "type the path of a Markdown file"])?;
    if scene.home.state().exists() { fail("there is a state of nothing") } else { Ok(()) }
}

fn a_bare_repository_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let bare = scene.file("bare.git");
    scene.repository.git(&["clone", "-q", "--bare", ".", &bare])?;
    let ran = scene.home.orchestrate(Path::new(&bare), &["run", &scene.file("plan.md")]).run()?.exits(2)?;
    require_words(&ran.stderr, &["it is bare, which is not supported yet; run from a clone with a working tree"])
}

fn a_branch_in_the_way_is_refused() -> Outcome {
    let scene = Scene::new()?;
    scene.repository.git(&["branch", "orchestrate"])?;
    scene.refuses(&["its branch `orchestrate` blocks the names of runs", "git branch -m orchestrate NAME"])
}

fn a_state_inside_the_checkout_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let (inside, before) = (scene.repository.path().join("state"), scene.repository.fingerprint()?);
    for command in [&["run", &scene.file("plan.md")][..], &["doctor"]] {
        let typed = scene.home.orchestrate(scene.repository.path(), command).env("XDG_STATE_HOME", &inside);
        let ran = typed.run()?.exits(2)?;
        require_words(&format!("{}{}", ran.stdout, ran.stderr), &["set XDG_STATE_HOME to a folder outside it"])?;
    }
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_merge_or_a_rebase_is_finished_first() -> Outcome {
    for (command, words) in [("merge", "a merge is in progress"), ("rebase", "a rebase is in progress")] {
        let scene = Scene { home: Home::new()?, repository: Repository::plain()? };
        scene.write("plan.md", PLAN)?;
        let repository = &scene.repository;
        repository.git(&["checkout", "-q", "-b", "theirs"])?;
        repository.write("README.md", "# theirs\n")?;
        repository.commit_all("Theirs")?;
        repository.git(&["checkout", "-q", "main"])?;
        repository.write("README.md", "# ours\n")?;
        repository.commit_all("Ours")?;
        if repository.git(&[command, "theirs"]).is_ok() {
            return fail(format!("{command} has no conflict"));
        }
        scene.refuses(&[words, "finish or abort it first"])?;
        repository.git(&[command, "--abort"])?;
        scene.type_in(&["run", &scene.file("plan.md")])?.exits(0)?;
    }
    Ok(())
}

/// Puts a program of this name in front of all others.
pub(crate) fn with_program(home: &Home, name: &str, script: &str) -> Result<String, Failed> {
    let folder = home.path().join("programs");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
}

/// Finds the git program.
pub(crate) fn git_program(home: &Home) -> Result<String, Failed> {
    let found = home.command("sh", home.path(), &["-c", "command -v git"]).run()?.exits(0)?;
    Ok(found.stdout.trim_end().to_owned())
}

fn a_git_that_is_too_old_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let path = with_program(&scene.home, "git", "echo git version 2.37.9")?;
    let nowhere = scene.home.path().join("nowhere").display().to_string();
    let before = scene.repository.fingerprint()?;
    for (path, words) in [(path, "is git version 2.37.9; install git 2.38"), (nowhere, "git is not installed")] {
        for arguments in [["run", &scene.file("plan.md")].as_slice(), &["status"], &["land"]] {
            let typed = scene.home.orchestrate(scene.repository.path(), arguments).env("PATH", &path);
            require_words(&typed.run()?.exits(2)?.stderr, &[words])?;
        }
    }
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_temporary_folder_is_not_there() -> Outcome {
    let scene = Scene::new()?;
    let (nowhere, plan) = (scene.file("nowhere"), scene.file("plan.md"));
    let typed = |arguments: &[&str]| {
        scene.home.orchestrate(scene.repository.path(), arguments).env("TMPDIR", &nowhere).run()?.exits(2)
    };
    let refused = |arguments: &[&str]| {
        let before = scene.repository.fingerprint()?;
        let ran = typed(arguments)?;
        require_words(
            &ran.stderr,
            &[&format!("cannot be created in {nowhere}"), "No such file", "set TMPDIR to a writable folder"],
        )?;
        before.require_same(&scene.repository.fingerprint()?)
    };
    refused(&["run", &plan])?;
    let advised = [&format!("create a folder in {nowhere}"), "set TMPDIR to a writable folder"];
    require_words(&typed(&["demo"])?.stderr, &advised)?;
    if scene.home.state().join("repos").exists() {
        return fail("there is a state of nothing");
    }
    let ran = scene.type_in(&["run", &plan])?.exits(0)?;
    refused(&["land"])?;
    refused(&["retry", "T1", "-m", "again"])?;
    require_words(&ran.stdout, &["T1    merged"])?;
    scene.type_in(&["land"])?.exits(0).map(drop)
}

fn a_path_that_is_no_text() -> Outcome {
    let scene = Scene::new()?;
    let script =
        "plan=$(printf '%s-\\377.md' \"$2\"); cp \"$2\" \"$plan\"; \"$1\" run \"$plan\" && \"$1\" land; cat \"$plan\"";
    let arguments = ["-c", script, "sh", env!("CARGO_BIN_EXE_orchestrate"), &scene.file("plan.md")];
    let ran = scene.home.command("sh", scene.repository.path(), &arguments).run()?.exits(0)?;
    let said = "were left unchanged: it no longer exists, or its path is not UTF-8";
    require_words(&ran.stdout, &["has landed", said, "rename the plan", PLAN])
}

/// Types a command into a shell that has changed how many files may be open.
fn with_open_files(scene: &Scene, limit: &str, typed: &[&str]) -> Result<Ran, Failed> {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let arguments = [&["-c", &script, "sh", env!("CARGO_BIN_EXE_orchestrate")], typed].concat();
    scene.home.command("sh", scene.repository.path(), &arguments).run()
}

fn too_few_open_files_are_refused() -> Outcome {
    let scene = Scene::new()?;
    let (before, plan) = (scene.repository.fingerprint()?, scene.file("plan.md"));
    for limit in ["64", "40", "24", "12"] {
        let ran = with_open_files(&scene, &format!("-n {limit}"), &["run", &plan])?.exits(2)?;
        let allowed = format!("368 open files needed, {limit} allowed");
        require_words(&ran.stderr, &["20 agents", &allowed, "`ulimit -Hn`", "lower it with --max-agents"])?;
    }
    if scene.home.state().join("repos").exists() {
        return fail("there is a state of nothing");
    }
    with_open_files(&scene, "-n 64", &["run", &plan, "--max-agents", "1"])?.exits(0)?;
    // What the user may raise is raised.
    with_open_files(&scene, "-Sn 24", &["run", &plan])?.exits(0)?;
    before.require_same(&scene.repository.fingerprint()?)?;
    // Who takes it over has no such option.
    let ran = with_open_files(&scene, "-n 64", &["retry", "T1", "-m", "again"])?.exits(2)?;
    require_words(&ran.stderr, &["20 agents", "`ulimit -Hn`"])?;
    if ran.stderr.contains("--max-agents") { fail(ran.stderr) } else { Ok(()) }
}

fn doctor_counts_open_files() -> Outcome {
    let scene = Scene::new()?;
    // What is untrue of the sandbox is not said: no tier can be tried with so few.
    for (limit, or) in [("64", " or: lower their number: `max_agents = 1`"), ("24", "")] {
        let told = with_open_files(&scene, &format!("-n {limit}"), &["doctor"])?.exits(2)?;
        let found = format!("MISSING  open files        20 agents need 368, {limit} allowed");
        require_words(&told.stdout, &[&found, "fix: start it where `ulimit -Hn` allows more,", or])?;
        if told.stdout.contains("sandbox") || told.stdout.contains("max_agents") == or.is_empty() {
            return fail(told.stdout);
        }
    }
    let told = with_open_files(&scene, "-Sn 24", &["doctor"])?.exits(0)?;
    require_words(&told.stdout, &["ok       open files        368 for 20 agents at once", "ok       sandbox"])
}

fn landing_needs_files_for_no_agents() -> Outcome {
    let scene = Scene::new()?;
    let run = ["run", &scene.file("plan.md"), "--max-agents", "1", "--verify", "test -e made"];
    with_open_files(&scene, "-n 64", &run)?.exits(0)?;
    scene.repository.git(&["commit", "-q", "--allow-empty", "-m", "Go on"])?;
    // What the user may raise is raised.
    for limit in ["-n 64", "-Sn 16"] {
        let landed = with_open_files(&scene, limit, &["land"])?.exits(0)?;
        require_words(&landed.stderr, &["has new commits: checking their merge"])?;
        with_open_files(&scene, limit, &["land", "--undo"])?.exits(0)?;
    }
    with_open_files(&scene, "-Sn 16", &["resume"])?.exits(0).map(drop)
}

fn dirty_and_detached_are_warnings() -> Outcome {
    let scene = Scene::new()?;
    scene.repository.git(&["checkout", "-q", "--detach"])?;
    let before = scene.repository.fingerprint()?;
    let ran = scene.type_in(&["run", &scene.file("plan.md")])?.exits(0)?;
    let warnings = ["3 files have uncommitted changes", "no branch is checked out"];
    require_words(&ran.stderr, &warnings)?;
    if ran.stderr.matches("warning: ").count() != warnings.len() || ran.stdout.contains("orchestrate land") {
        return fail(format!("{ran:?}"));
    }
    let result =
        ran.stdout.lines().find_map(|line| line.trim().strip_prefix("git merge ")).unwrap_or_default().to_owned();
    if scene.repository.show(&result, "made").is_err() {
        return fail(ran.stdout);
    }
    let refused = scene.type_in(&["land"])?.exits(3)?;
    require_words(&refused.stderr, &["HEAD was detached", &format!("git merge {result}")])?;
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_check_that_does_not_exist_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let (before, plan) = (scene.repository.fingerprint()?, scene.file("plan.md"));
    let ran = scene.type_in(&["run", &plan, "--verify", "CI=1 no-such-program --all"])?.exits(2)?;
    require_words(
        &ran.stderr,
        &[
            "error: --verify: the program `no-such-program` is not available",
            "install `no-such-program`",
            "hint: nothing was run",
        ],
    )?;
    // It looks elsewhere, and would say nothing of it.
    if ran.stderr.contains("orchestrate check") {
        return fail(ran.stderr);
    }
    // One that is on the user's own search path, and that no command sees, is not found either.
    let path = with_program(&scene.home, "of-the-user", "true")?;
    let text = "---\nverify: no-such-program\n---\n- [ ] T1 Write it (verify: of-the-user --all && true)\n\
                - [ ] T2 Make it (run: touch made) (verify: test -e made)\n- [x] T3 Done (verify: long-gone)\n";
    scene.write("plan.md", text)?;
    let model = Script::default().rule(done("T1")).write_to(&scene.home.path().join("model.jsonl"))?;
    let run = ["run", &plan, "--model", &model, "--json"];
    let refused = scene.home.orchestrate(scene.repository.path(), &run).env("PATH", &path).run()?.exits(2)?.json()?;
    let errors = at(&refused, "/errors")?.as_array().cloned().unwrap_or_default();
    let found: Vec<_> = errors.iter().map(|error| [&error["line"], &error["code"], &error["text"]]).collect();
    let text = [("no-such-program", 2), ("of-the-user --all && true", 4)];
    if json!(found) != json!(text.map(|(text, line)| json!([line, "program_not_found", text]))) {
        return fail(refused);
    }
    let check = scene.home.orchestrate(scene.repository.path(), &["check", &plan, "--json"]).env("PATH", &path);
    let warned = at(&check.run()?.exits(0)?.json()?, "/warnings")?.as_array().cloned().unwrap_or_default();
    if !warned.iter().any(|warning| warning["line"] == 4 && warning["code"] == "program_not_found") {
        return fail(format!("{warned:?}"));
    }
    if scene.type_in(&["status"]).is_ok_and(|ran| ran.code == 0) {
        return fail("there is a run");
    }
    before.require_same(&scene.repository.fingerprint()?)
}

/// A task may make it, so it is a warning; a file that is there is none, and neither is one of a check that is not
/// made.
fn a_checks_file_that_is_not_there_yet_is_a_warning() -> Outcome {
    let scene = Scene::new()?;
    scene.repository.write("tools/check.sh", "true\n")?;
    for (target, link) in [("tools", "link"), ("/usr/bin", "out"), ("/usr/bin/true", "yes")] {
        std::os::unix::fs::symlink(target, scene.repository.path().join(link))?;
    }
    scene.repository.commit_all("Add a check")?;
    let text = "- [ ] T1 Make it (run: mkdir new; echo true > new/check; chmod +x new/check) (verify: ./new/check)\n\
                - [ ] T2 (run: touch two) (verify: ./tools/check.sh || true)\n- [x] T3 Done (verify: ./long-gone)\n\
                - [ ] T4 (run: touch four) (verify: ./link/check.sh || true)\n\
                - [ ] T5 (run: touch five) (verify: ./out/true || true)\n\
                - [ ] T6 (run: touch six) (verify: ./yes || true)\n";
    let plan = scene.write("plan.md", text)?;
    let ran = scene.type_in(&["run", &plan])?.exits(0)?;
    let warned = "the file `./new/check` is not in the commit that the run starts from: a task or";
    require_words(&ran.stderr, &["line 1, column 1: ", warned])?;
    if ran.stderr.matches("is not in the commit").count() == 1 { Ok(()) } else { fail(ran.stderr) }
}

fn programs_of_checks_are_looked_for(tier: Confinement) -> Outcome {
    let stage = Stage::new()?;
    let change = |settings: &mut Settings| settings.confinement = ConfinementChoice::Exactly(tier);
    let coordinator = stage.coordinator(&Script::default(), change)?;
    let checks = ["sh check.sh", "-x", "no-such-program-1", "getopts a b", "git status", "no-such-program-2 && true"];
    let mut text: String =
        checks.iter().enumerate().map(|(at, check)| format!("- [ ] T{at} a (verify: {check})\n")).collect();
    // One that only reports is never checked, and one that never starts neither.
    text.push_str("- [ ] T6 a @reviewer (verify: no-such-program-3)\n- [-] T7 a\n");
    text.push_str("- [ ] T8 a (depends: T7) (verify: no-such-program-4)\n");
    let plan = Plan::parse(&text, &KnownNames::roles(["reviewer"])).map_err(|wrong| format!("{wrong:?}"))?;
    let roles = coordinator.roles()?;
    let missing = runtime()?.block_on(missing_programs(&coordinator, &plan, &roles, &RunSettings::default()))?;
    let lines = |findings: &[Finding]| findings.iter().map(|finding| finding.line).collect::<Vec<usize>>();
    let expected = match tier {
        // An earlier task may bring it, and it is looked for from another folder.
        Confinement::Unconfined => (vec![], vec![2, 3, 6, 7, 9]),
        _ => (vec![2, 3, 6], vec![7, 9]),
    };
    if (lines(&missing.errors), lines(&missing.warnings)) == expected { Ok(()) } else { fail(format!("{missing:?}")) }
}

fn a_check_that_may_pass_without_its_program_is_warned_of() -> Outcome {
    let scene = Scene::new()?;
    scene.write("plan.md", "- [ ] T1 Make it (run: touch made) (verify: no-such-program || test -e made)\n")?;
    let ran = scene.type_in(&["run", &scene.file("plan.md")])?.exits(0)?;
    require_words(&ran.stderr, &["plan.md: line 1, column 1: the program `no-such-program` is not available"])?;
    // What the project's setup brings is not there yet.
    scene.repository.write("orchestrate.toml", "verify = 'no-such-program'\n[worktree]\nsetup = 'true'\n")?;
    scene.type_in(&["config", "trust", "--yes"])?.exits(0)?;
    scene.write("plan.md", PLAN)?;
    let ran = scene.type_in(&["run", &scene.file("plan.md")])?.exits(1)?;
    require_words(&ran.stderr, &["warning: orchestrate.toml:1:1: the program `no-such-program` is not available"])?;
    require_words(&ran.stdout, &["exit code 127: a command was not found", "orchestrate retry T1 -m TEXT"])?;
    scene.write("plan.md", "- [ ] T1 Make it (run: touch made) (verify: ./no-such-script)\n")?;
    let ran = scene.type_in(&["run", &scene.file("plan.md"), "--verify", "true"])?.exits(1)?;
    require_words(&ran.stdout, &["`./no-such-script` ended with exit code 127: a command was not found"])
}

fn a_script_with_a_broken_line_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let (before, file) = (scene.repository.fingerprint()?, scene.file("model.jsonl"));
    let rule = r#"{"reply": {"text": "done"}}"#;
    let table = [
        (format!("{rule}\n{{\"reply\": \n"), "line 2: EOF while parsing a value"),
        (format!("{rule}\n\n{{\"reply\": {{}}}}\n"), "line 3: `reply` has neither `text` nor `tool_calls`"),
        ("\n".to_owned(), "has no rules"),
    ];
    // An agent that starts late would be the first to read it.
    let plan = scene.write("plan.md", "- [ ] T1 Make it (run: touch made)\n- [ ] T2 Write it (depends: T1)\n")?;
    for (text, words) in table {
        std::fs::write(&file, text)?;
        let ran = scene.type_in(&["run", &plan, "--model", &format!("script:{file}")])?.exits(2)?;
        require_words(&ran.stderr, &[&format!("failed to load the script {file}"), words])?;
        if scene.home.state().exists() {
            return fail("there is a state of nothing");
        }
    }
    // Commands need no model.
    let plan = scene.write("plan.md", PLAN)?;
    scene.type_in(&["run", &plan, "--model", &format!("script:{file}")])?.exits(0)?;
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_script_that_nobody_asks_again_is_not_read() -> Outcome {
    let scene = Scene::new()?;
    let plan = scene.write("plan.md", "- [ ] T1 Write it\n")?;
    let file = scene.home.path().join("model.jsonl");
    let model = Script::default().rule(write("T1", "one.txt", "one\n").turn(1)).rule(done("T1")).write_to(&file)?;
    scene.type_in(&["run", &plan, "--model", &model, "--merge", "review"])?.exits(3)?;
    std::fs::write(&file, "no rule\n")?;
    // Its author would read it.
    let ran = scene.type_in(&["reject", "T1", "-m", "Write two."])?.exits(2)?;
    require_words(&ran.stderr, &["failed to load the script", "line 1"])?;
    scene.type_in(&["approve", "T1"])?.exits(0).map(drop)
}

fn endpoints_that_refuse_say_what_to_do() -> Outcome {
    // A server that has just gone: nobody listens on its port.
    let gone = ModelServer::scripted(Vec::new())?.openai_base();
    let refusing = |status: u16| ModelServer::answering(move |_, _| Reply::error(status, "no"));
    let (locked, empty) = (refusing(401)?, refusing(404)?);
    let table = [
        (gone, "set OPENAI_BASE_URL to its address"),
        (locked.openai_base(), "check the key in OPENAI_API_KEY"),
        (empty.openai_base(), "find the model openai/test"),
    ];
    for (base, words) in table {
        let scene = Scene::new()?;
        let before = scene.repository.fingerprint()?;
        let plan = scene.write("plan.md", "- [ ] T1 Write it\n- [ ] T2 Make it (run: touch made)\n")?;
        let arguments = ["run", &plan, "--model", "openai/test"];
        let typed = scene.home.orchestrate(scene.repository.path(), &arguments);
        let ran = typed.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", &base).run()?.exits(1)?;
        require_words(&ran.stdout, &["T1    failed", "T2    merged", words, "orchestrate retry T1 -m TEXT"])?;
        before.require_same(&scene.repository.fingerprint()?)?;
    }
    Ok(())
}

fn a_wait_for_a_server_is_shown() -> Outcome {
    let scene = Scene::new()?;
    let server = ModelServer::answering(|_, _| Reply::error(503, "too busy").header("retry-after", "290"))?;
    let (plan, base) = (scene.write("plan.md", "- [ ] T1 Write it\n")?, server.openai_base());
    let typed = scene.home.orchestrate(scene.repository.path(), &["run", &plan, "--model", "openai/test"]);
    let running = typed.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", &base).start()?;
    running.says(&format!("T1: failed to get an answer from openai/test at {base} (HTTP 503): too busy; "))?;
    running.says("retrying in 290 s (1 of 8)\n")?;
    running.signal(Signal::TERM)?;
    running.end()?.exits(143).map(drop)
}

/// A task whose command can be waited for, and lasts until the test has done what it does.
fn while_it_runs(scene: &Scene, acts: impl FnOnce(&Path) -> Outcome) -> Result<Ran, Failed> {
    let script = Script::default()
        .rule(
            Rule::task("T1")
                .turn(1)
                .call("run_shell_command", &json!({"command": "until test -e go -o ! -e .git; do sleep 0.05; done"})),
        )
        .rule(Rule::task("T1").turn(2).call("write_file", &json!({"path": "one.txt", "content": "1\n"})))
        .rule(done("T1"));
    let model = script.write_to(&scene.home.path().join("model.jsonl"))?;
    let plan = scene.write("plan.md", "- [ ] T1 Wait\n- [ ] T2 Make it (run: touch made)\n")?;
    // One agent: git itself dies where another worktree is just being made.
    let arguments = ["run", &plan, "--model", &model, "--max-agents", "1", "--output-format", "stream-json"];
    let running = scene.home.orchestrate(scene.repository.path(), &arguments).start()?;
    let line = running.line(|line| line.contains("\"tool.started\"") && line.contains("until test"))?;
    let run = at(&lines(&line)?[0], "/run_id")?.as_str().unwrap_or_default().to_owned();
    let listed = scene.repository.git(&["worktree", "list", "--porcelain"])?;
    let place = listed
        .lines()
        .find_map(|line| line.strip_prefix("worktree ")?.ends_with(&format!("{run}/T1")).then_some(&line[9..]));
    let Some(place) = place else { return fail(listed) };
    acts(Path::new(place))?;
    running.end()
}

fn the_base_branch_changes(goes: bool) -> Outcome {
    let scene = Scene { home: Home::new()?, repository: Repository::plain()? };
    let repository = &scene.repository;
    repository.git(&["checkout", "-q", "-b", "base"])?;
    let ran = while_it_runs(&scene, |worktree| {
        if goes {
            repository.git(&["checkout", "-q", "main"])?;
            repository.git(&["branch", "-D", "base"])?;
        } else {
            repository.write("theirs.txt", "theirs\n")?;
            repository.commit_all("Theirs")?;
        }
        Ok(std::fs::write(worktree.join("go"), "")?)
    })?;
    let before = repository.fingerprint()?;
    let report = lines(&ran.exits(0)?.stdout)?.pop().unwrap_or_default();
    let branch = at(&report, "/integration_branch")?.as_str().unwrap_or_default().to_owned();
    if repository.show(&branch, "one.txt")? != "1" {
        return fail("the result is not there");
    }
    if goes {
        let refused = scene.type_in(&["land"])?.exits(3)?;
        require_words(&refused.stderr, &["land on base: the branch is gone", "git branch base COMMIT"])?;
        return before.require_same(&repository.fingerprint()?);
    }
    scene.type_in(&["land"])?.exits(0)?;
    let landed = ["theirs.txt", "one.txt", "made"].map(|file| repository.path().join(file).exists());
    if landed == [true; 3] { Ok(()) } else { fail(format!("{landed:?}")) }
}

fn a_worktree_is_deleted() -> Outcome {
    let scene = Scene::new()?;
    let before = scene.repository.fingerprint()?;
    let ran = while_it_runs(&scene, |worktree| Ok(std::fs::remove_dir_all(worktree)?))?.exits(1)?;
    let report = lines(&ran.stdout)?.pop().unwrap_or_default();
    let states = [at(&report, "/tasks/0/state")?, at(&report, "/tasks/1/state")?];
    if states != ["failed", "merged"] {
        return fail(report);
    }
    require_words(&report.to_string(), &["its directory is gone"])?;
    // Cleaning takes what git still knows of it, and nothing of the work.
    scene.type_in(&["clean"])?.exits(0)?;
    let listed = scene.repository.git(&["worktree", "list", "--porcelain"])?;
    if listed.matches("worktree ").count() != 1 {
        return fail(listed);
    }
    before.require_same(&scene.repository.fingerprint()?)?;
    // A further attempt has its worktree again.
    let again = scene.type_in(&["retry", "T1", "-m", "The folder was deleted.", "--output-format", "json"])?;
    let report = again.json()?;
    if at(&report, "/tasks/0/attempt")? == 2 { Ok(()) } else { fail(report) }
}

/// Runs lines of a shell where the state is on a file system of its own, which the first argument names; in the lines,
/// `$1` is the program and `$2` the plan.
fn on_a_file_system(scene: &Scene, options: &str, script: &str) -> Result<Ran, Failed> {
    let state = scene.home.path().join("state");
    std::fs::create_dir_all(&state)?;
    let mount = format!("cd {}; mount -t tmpfs -o {options} none {}; cd \"$OLDPWD\"", state.display(), state.display());
    let plan = scene.file("plan.md");
    let script = format!("{mount}\nstate={}\n{script}", state.display());
    let arguments =
        ["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_orchestrate"), &plan];
    scene.home.command("unshare", scene.repository.path(), &arguments).run()
}

fn a_read_only_state_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let before = scene.repository.fingerprint()?;
    // A run may end before its journal is closed, which could then still be read; whoever looks at it closes it.
    let script = "mount -o remount,ro none $state; $1 run $2; echo first $?
        mount -o remount,rw none $state; $1 run $2 >/dev/null; echo second $?; $1 status >/dev/null
        mount -o remount,ro none $state; $1 status; echo third $?; $1 resume; echo fourth $?
        mount -o remount,rw none $state; $1 status >/dev/null; echo fifth $?";
    let ran = on_a_file_system(&scene, "size=64m", script)?.exits(0)?;
    require_words(&ran.stdout, &["first 2\n", "second 0\n", "third 2\n", "fourth 2\n", "fifth 0\n"])?;
    let said = ran.stderr.matches("it is read-only; make it writable or set XDG_STATE_HOME").count();
    if said != 3 {
        return fail(ran.stderr);
    }
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_read_only_repository_is_refused() -> Outcome {
    let scene = Scene::new()?;
    let script = "mkdir $state/own $state/copy; mount -t tmpfs none $state/copy; cp -a . $state/copy
        mount -o remount,ro none $state/copy; cd $state/copy; export XDG_STATE_HOME=$state/own; $1 run $2; echo first $?
        $1 status; echo second $?";
    let ran = on_a_file_system(&scene, "size=64m", script)?.exits(0)?;
    require_words(&ran.stdout, &["first 2\n", "second 2\n"])?;
    require_words(&ran.stderr, &["Read-only file system", "make it writable, or work in a writable clone"])
}

fn a_trash_that_cannot_be_deleted_is_told() -> Outcome {
    let scene = Scene::new()?;
    scene.type_in(&["run", &scene.file("plan.md")])?.exits(0)?;
    let folders = std::fs::read_dir(scene.home.state().join("repos"))?;
    let Some(repository) = folders.filter_map(Result::ok).next() else { return fail("there is no state") };
    let left = repository.path().join("trash/worktree-1");
    std::fs::create_dir_all(&left)?;
    let place = left.display();
    let mount = format!("mount -t tmpfs none {place}; touch {place}/in; mount -o remount,ro none {place}");
    let clean = |options: &[&str]| {
        let typed = [&["clean"], options].concat();
        scene.home.remounted(&mount, scene.repository.path(), &typed).run()?.exits(1)
    };
    let ran = clean(&[])?;
    require_words(&ran.stdout, &["removed ", "branches and snapshots are kept"])?;
    require_words(&ran.stderr, &["warning: failed to delete", &place.to_string(), "Read-only file system"])?;
    require_words(&clean(&["--json"])?.stdout, &["\"warnings\":[\"failed to delete", "delete it yourself"])?;
    scene.type_in(&["clean"])?.exits(0).map(drop)
}

fn a_real_full_disk_loses_nothing() -> Outcome {
    let scene = Scene::new()?;
    let before = scene.repository.fingerprint()?;
    let turn =
        |turn, command: &str| Rule::task("T1").turn(turn).call("run_shell_command", &json!({ "command": command }));
    // Eight megabytes are soon full; what fills them is the agent's own file.
    let script = Script::default()
        .rule(turn(1, "echo early > early.txt"))
        .rule(turn(2, "head -c 20000000 /dev/zero > big; true"))
        .rule(turn(3, "rm -f big; echo late > late.txt"))
        .rule(done("T1"));
    script.write_to(&scene.home.path().join("model.jsonl"))?;
    scene.write("plan.md", "- [ ] T1 Fill it\n- [ ] T2 After (depends: T1) (run: touch two)\n")?;
    let script = format!(
        "$1 run $2 --model script:{}; echo first $?
        $1 status; echo second $?
        mount -o remount,size=256m none $state; $1 resume --json; echo third $?",
        scene.file("model.jsonl")
    );
    let ran = on_a_file_system(&scene, "size=8m", &script)?.exits(0)?;
    require_words(&ran.stdout, &["first 1\n", "stopped after", "second 0\n", "third 0\n"])?;
    require_words(&ran.stderr, &["the disk is full; free some space", "`orchestrate resume r-"])?;
    let report = ran.stdout.lines().find_map(|line| lines(line.strip_prefix('{').map(|_| line)?).ok()?.pop());
    let report = report.ok_or_else(|| Failed::from("no report"))?;
    let branch = at(&report, "/integration_branch")?.as_str().unwrap_or_default();
    let files = scene.repository.git(&["ls-tree", "--name-only", branch])?;
    if at(&report, "/tasks/0/turns")? != 4 || !["early.txt", "late.txt", "two"].iter().all(|file| files.contains(file))
    {
        return fail(format!("{report:#}\n{files}"));
    }
    before.require_same(&scene.repository.fingerprint()?)
}

fn a_repository_whose_disk_is_full_says_so() -> Outcome {
    let scene = Scene::new()?;
    let program = env!("CARGO_BIN_EXE_orchestrate");
    scene.write("plan.md", "- [ ] T1 Fill it (run: head -c 9000000 /dev/urandom > big)\n")?;
    let copy = scene.home.path().join("copy");
    std::fs::create_dir(&copy)?;
    let (copy, plan) = (copy.display(), scene.file("plan.md"));
    let script = format!(
        "set -e; mount -t tmpfs -o size=8m none {copy}; cp -a . {copy}; cd {copy}; set +e
        {program} run {plan}; echo first $?; mount -o remount,size=64m none {copy}; {program} resume; echo second $?
        git ls-tree -r --name-only $(git for-each-ref --format '%(refname)' 'refs/heads/orchestrate/*/integration')"
    );
    let arguments = ["--user", "--map-root-user", "--mount", "sh", "-c", &script];
    let ran = scene.home.command("unshare", scene.repository.path(), &arguments).run()?.exits(0)?;
    require_words(&ran.stdout, &["first 1\n", "second 0\n", "\nbig\n"])?;
    require_words(&ran.stderr, &["failed to store big: No space left", "free some space", "`orchestrate resume r-"])?;
    // Each of what a resumed run says first has a line of its own.
    let tiers = ran.stderr.matches("\nsandbox tier: ").count();
    if tiers == 2 { Ok(()) } else { fail(ran.stderr) }
}
