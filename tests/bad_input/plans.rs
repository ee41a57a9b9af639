//! Plans that cannot run, and the programs that their checks name.

use orchestrate_coordinator::{ConfinementChoice, Settings, missing_programs};
use orchestrate_core::RunSettings;
use orchestrate_plan::{Finding, KnownNames, Plan};
use orchestrate_sandbox::Confinement;
use serde_json::json;

use crate::support::{
    Case, Need, Outcome, Script, World, at, case, done, fail, require_words, runtime, sandboxed,
    with_program,
};

use super::{PLAN, refuses, world};

pub(super) fn cases() -> Vec<Case> {
    let tiers = [
        (Confinement::Full, "full"),
        (Confinement::Fallback, "fallback"),
        (Confinement::Unconfined, "unconfined"),
    ];
    let in_tiers = tiers.map(|(tier, word)| {
        let name = format!("bad_input::programs_of_checks_are_looked_for_{word}");
        case(name, move || programs_of_checks_are_looked_for(tier)).in_tier(tier)
    });
    let mut cases = vec![
        case!("bad_input", plans_that_cannot_run_leave_nothing),
        case!("bad_input", files_that_are_no_plans_say_what_to_do),
        sandboxed!("bad_input", a_plan_is_read_once).needs(Need::TERMINAL),
        sandboxed!(
            "bad_input",
            a_plan_whose_path_is_no_text_says_why_its_boxes_stay
        ),
        sandboxed!("bad_input", a_check_that_does_not_exist_is_refused),
        sandboxed!(
            "bad_input",
            a_check_that_may_pass_without_its_program_is_warned_of
        ),
        sandboxed!(
            "bad_input",
            a_checks_file_that_is_not_there_yet_is_a_warning
        ),
    ];
    cases.extend(in_tiers);
    cases
}

fn plans_that_cannot_run_leave_nothing() -> Outcome {
    let world = world()?;
    let table: [(&str, &[&str]); 6] = [
        (
            "",
            &["the plan is empty", "write a list of `- [ ] task` lines"],
        ),
        (
            "words\n",
            &["no tasks found", "write a list of `- [ ] task` lines"],
        ),
        (
            "- [ ] T1\u{0}\n",
            &["the plan is not text", "name a Markdown file"],
        ),
        (
            "- [ ] T1 a (depends: T2)\n- [ ] T2 b (depends: T1)\n",
            &["T1 → T2 → T1", "remove one of these"],
        ),
        ("- [ ] T1 a (depends: T9)\n", &["there is no task `T9`"]),
        (
            "- [ ] T1 a (agent: nobody)\n",
            &[
                "unknown role `nobody`",
                "known roles: coordinator, implementer",
            ],
        ),
    ];
    for (plan, said) in table {
        world.write("plan.md", plan)?;
        refuses(&world, said)?;
        refuses(&world, &["nothing was run", "orchestrate check"])?;
    }
    world.write("plan.md", PLAN)?;
    let refused = world.types(&["run", &world.file("plan.md"), "--agent", "nosuch"], 2)?;
    require_words(
        &refused.stderr,
        &["failed to find the role 'nosuch'; known roles: coordinator, implementer"],
    )?;
    std::fs::remove_file(world.home.path().join("plan.md"))?;
    refuses(
        &world,
        &["No such file", "type the path of a Markdown file"],
    )?;
    assert!(!world.home.state().exists(), "there is a state of nothing");
    Ok(())
}

fn files_that_are_no_plans_say_what_to_do() -> Outcome {
    let world = world()?;
    let little: Vec<u8> = PLAN.bytes().flat_map(|byte| [byte, 0]).collect();
    let big: Vec<u8> = PLAN.bytes().flat_map(|byte| [0, byte]).collect();
    let marked = [
        &[0xff, 0xfe][..],
        "☐ a"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
            .as_slice(),
    ]
    .concat();
    let latin = b"- [ ] T1 sch\xf6ner\n".to_vec();
    let table: [(&str, Vec<u8>, &[&str]); 7] = [
        ("plan.md", little, &["is UTF-16 text", "save it as UTF-8"]),
        ("plan.md", big, &["is UTF-16 text", "save it as UTF-8"]),
        ("plan.md", marked, &["is UTF-16 text", "save it as UTF-8"]),
        (
            "plan.md",
            latin,
            &["byte 12 is not valid UTF-8", "save it as UTF-8"],
        ),
        (
            "plan.md",
            b"\x7fELF\0\0- [ ] T1 a\n".to_vec(),
            &["the plan is not text"],
        ),
        (
            "plan.org",
            b"* TODO Make it\n".to_vec(),
            &[
                "is in the format of Org mode",
                "export it as Markdown, or have a model rewrite it: `orchestrate plan ",
            ],
        ),
        (
            "TODO.txt",
            b"(A) Make it +shop\n".to_vec(),
            &[
                "is in the format of todo.txt",
                "write each task as `- [ ] task`",
            ],
        ),
    ];
    for (name, bytes, said) in table {
        let path = world.home.path().join(name);
        std::fs::write(&path, bytes)?;
        for command in ["check", "run"] {
            let ran = world.types(&[command, &world.file(name)], 2)?;
            require_words(&(ran.stdout + &ran.stderr), said)?;
        }
    }
    // Only the beginning is read of a file that is too large.
    let path = world.home.path().join("large.md");
    std::fs::File::create(&path)?.set_len(100 << 20)?;
    for command in ["check", "run", "plan"] {
        let refused = world
            .types(&[command, &world.file("large.md"), "--json"], 2)?
            .json()?;
        assert_eq!(refused["errors"][0]["code"], "plan_too_large", "{refused}");
    }
    Ok(())
}

/// The plan changes while the user is asked about a tool.
fn a_plan_is_read_once() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let tool = "Finds files.\n\n@name find_more\n@wrapped run_command\n@command find {arguments}\n\
                @param arguments {array<string>} [required] Where\n";
    world.commit(".orchestrate/tools/find_more.tool", tool)?;
    let terminal = world
        .orchestrate(&["run", "plan.md", "--land"])
        .start_in_terminal()?;
    terminal.shows("Let agents use it in this repository from now on? [y/N] ")?;
    let changed = PLAN.replace("T1 Make it", "T2 Break it");
    world.repository.write("plan.md", &changed)?;
    terminal.types("y\n")?;
    let ran = terminal.end()?.exits(0)?;
    require_words(&ran.stdout, &["T1", "it has changed since the run began"])?;
    assert_eq!(world.repository.read("plan.md")?, changed);
    Ok(())
}

fn a_plan_whose_path_is_no_text_says_why_its_boxes_stay() -> Outcome {
    let world = world()?;
    let script = "plan=$(printf '%s-\\377.md' \"$2\"); cp \"$2\" \"$plan\"; \"$1\" run \"$plan\" && \"$1\" land; cat \"$plan\"";
    let arguments = [
        "-c",
        script,
        "sh",
        env!("CARGO_BIN_EXE_orchestrate"),
        &world.file("plan.md"),
    ];
    let ran = world
        .home
        .command("sh", world.repository.path(), &arguments)
        .run()?
        .exits(0)?;
    let said = "were left unchanged: it no longer exists, or its path is not UTF-8";
    require_words(&ran.stdout, &["has landed", said, "rename the plan", PLAN])
}

fn a_check_that_does_not_exist_is_refused() -> Outcome {
    let world = world()?;
    let (before, plan) = (world.repository.fingerprint()?, world.file("plan.md"));
    let ran = world.types(&["run", &plan, "--verify", "CI=1 no-such-program --all"], 2)?;
    require_words(
        &ran.stderr,
        &[
            "error: --verify: the program `no-such-program` is not available",
            "install `no-such-program`",
            "hint: nothing was run",
        ],
    )?;
    // `orchestrate check` does not see this option, so it would not report the error.
    assert!(!ran.stderr.contains("orchestrate check"), "{}", ran.stderr);
    // A program of a repository, which no command sees though the user's search path has it, is
    // missing, too.
    let path = with_program(&world.home, "of-the-user", "true")?;
    std::fs::create_dir(world.home.path().join("programs/.git"))?;
    std::fs::write(
        world.home.path().join("programs/.git/HEAD"),
        "ref: refs/heads/main\n",
    )?;
    let text = "---\nverify: no-such-program\n---\n- [ ] T1 Write it (verify: of-the-user --all && true)\n\
                - [ ] T2 Make it (run: touch made) (verify: test -e made)\n- [x] T3 Done (verify: long-gone)\n";
    world.write("plan.md", text)?;
    let model = Script::default()
        .rule(done("T1"))
        .write_to(&world.home.path().join("model.jsonl"))?;
    let run = ["run", &plan, "--model", &model, "--json"];
    let refused = world
        .orchestrate(&run)
        .env("PATH", &path)
        .run()?
        .exits(2)?
        .json()?;
    let errors = at(&refused, "/errors")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found: Vec<_> = errors
        .iter()
        .map(|error| [&error["line"], &error["code"], &error["text"]])
        .collect();
    let text = [("no-such-program", 2), ("of-the-user --all && true", 4)];
    if json!(found) != json!(text.map(|(text, line)| json!([line, "program_not_found", text]))) {
        return fail(refused);
    }
    let check = world
        .orchestrate(&["check", &plan, "--json"])
        .env("PATH", &path);
    let warned = at(&check.run()?.exits(0)?.json()?, "/warnings")?
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!(
        warned
            .iter()
            .any(|warning| warning["line"] == 4 && warning["code"] == "program_not_found"),
        "{warned:?}"
    );
    assert!(
        !world
            .orchestrate(&["status"])
            .run()
            .is_ok_and(|ran| ran.code == 0),
        "there is a run"
    );
    before.require_same(&world.repository.fingerprint()?)
}

/// A missing file is a warning, since a task may create it. A file that exists is none, and neither
/// is the file of a check that is not run.
fn a_checks_file_that_is_not_there_yet_is_a_warning() -> Outcome {
    let world = world()?;
    world.repository.write("tools/check.sh", "true\n")?;
    for (target, link) in [
        ("tools", "link"),
        ("/usr/bin", "out"),
        ("/usr/bin/true", "yes"),
    ] {
        std::os::unix::fs::symlink(target, world.repository.path().join(link))?;
    }
    world.repository.commit_all("Add a check")?;
    let text = "- [ ] T1 Make it (run: mkdir new; echo true > new/check; chmod +x new/check) (verify: ./new/check)\n\
                - [ ] T2 (run: touch two) (verify: ./tools/check.sh || true)\n- [x] T3 Done (verify: ./long-gone)\n\
                - [ ] T4 (run: touch four) (verify: ./link/check.sh || true)\n\
                - [ ] T5 (run: touch five) (verify: ./out/true || true)\n\
                - [ ] T6 (run: touch six) (verify: ./yes || true)\n";
    let plan = world.write("plan.md", text)?;
    let ran = world.types(&["run", &plan], 0)?;
    let warned = "the file `./new/check` is not in the commit that the run starts from: a task or";
    require_words(&ran.stderr, &["line 1, column 1: ", warned])?;
    if ran.stderr.matches("is not in the commit").count() == 1 {
        Ok(())
    } else {
        fail(ran.stderr)
    }
}

fn programs_of_checks_are_looked_for(tier: Confinement) -> Outcome {
    let world = World::lived_in()?;
    let change = |settings: &mut Settings| settings.confinement = ConfinementChoice::Exactly(tier);
    let coordinator = world.coordinator(&Script::default(), change)?;
    let checks = [
        "sh check.sh",
        "-x",
        "no-such-program-1",
        "getopts a b",
        "git status",
        "no-such-program-2 && true",
    ];
    let mut text: String = checks
        .iter()
        .enumerate()
        .map(|(at, check)| format!("- [ ] T{at} a (verify: {check})\n"))
        .collect();
    // A task that only reports is never checked, and neither is one that never starts.
    text.push_str("- [ ] T6 a @reviewer (verify: no-such-program-3)\n- [-] T7 a\n");
    text.push_str("- [ ] T8 a (depends: T7) (verify: no-such-program-4)\n");
    let plan = Plan::parse(&text, &KnownNames::roles(["reviewer"]))
        .map_err(|wrong| format!("{wrong:?}"))?;
    let roles = coordinator.roles()?;
    let missing = runtime()?.block_on(missing_programs(
        &coordinator,
        &plan,
        &roles,
        &RunSettings::default(),
    ))?;
    let lines = |findings: &[Finding]| {
        findings
            .iter()
            .map(|finding| finding.line)
            .collect::<Vec<usize>>()
    };
    let expected = match tier {
        // An earlier task may install the program, and it is looked for from another folder.
        Confinement::Unconfined => (vec![], vec![2, 3, 6, 7, 9]),
        _ => (vec![2, 3, 6], vec![7, 9]),
    };
    assert_eq!(
        (lines(&missing.errors), lines(&missing.warnings)),
        expected,
        "{missing:?}"
    );
    Ok(())
}

fn a_check_that_may_pass_without_its_program_is_warned_of() -> Outcome {
    let world = world()?;
    world.write(
        "plan.md",
        "- [ ] T1 Make it (run: touch made) (verify: no-such-program || test -e made)\n",
    )?;
    let ran = world.types(&["run", &world.file("plan.md")], 0)?;
    require_words(
        &ran.stderr,
        &["plan.md: line 1, column 1: the program `no-such-program` is not available"],
    )?;
    // A program that the project's setup may install is not there yet.
    world.repository.write(
        "orchestrate.toml",
        "verify = 'no-such-program'\n[worktree]\nsetup = 'true'\n",
    )?;
    world.types(&["config", "trust", "--yes"], 0)?;
    world.write("plan.md", PLAN)?;
    let ran = world.types(&["run", &world.file("plan.md"), "--no-verify-base"], 1)?;
    require_words(
        &ran.stderr,
        &["warning: orchestrate.toml:1:1: the program `no-such-program` is not available"],
    )?;
    require_words(
        &ran.stdout,
        &[
            "exit code 127: a command was not found",
            "orchestrate retry T1 -m TEXT",
        ],
    )?;
    world.write(
        "plan.md",
        "- [ ] T1 Make it (run: touch made) (verify: ./no-such-script)\n",
    )?;
    let ran = world.types(&["run", &world.file("plan.md"), "--verify", "true"], 1)?;
    require_words(
        &ran.stdout,
        &["`./no-such-script` ended with exit code 127: a command was not found"],
    )
}
