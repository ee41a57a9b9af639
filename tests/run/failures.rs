//! What a run does about calls that fail: the alternative that the user names, and files that a
//! command left half done.

use orchestrate_core::TaskState::{Failed as FailedTask, Merged, Skipped};
use serde_json::json;

use crate::support::{Case, Outcome, Script, World, case, done, on, require_words, write, writes};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_command_that_was_cut_off_can_be_undone),
        case!(the_alternative_that_the_user_names_answers),
        case!(a_command_that_fails_for_a_known_cause_says_what_to_type),
        case!(an_alternative_that_does_not_exist_is_refused),
        case!(a_test_does_not_start_when_its_work_has_failed),
    ]
}

fn a_command_that_was_cut_off_can_be_undone() -> Outcome {
    let plan = "- [ ] T1 change files\n";
    let world = World::with_plan(plan)?;
    let command = "echo theirs > keep.txt; echo new > new.txt; sleep 100";
    let script = Script::default()
        .rule(write("T1", "keep.txt", "mine\n"))
        .rule(on("T1", 2).call(
            "run_shell_command",
            &json!({"command": command, "timeout": 1}),
        ))
        .rule(done("T1"));
    let played = world.play(plan, &script, |_| {})?;
    let results = played.results("T1")?;
    let result = results.get(1).map(String::as_str).unwrap_or_default();
    require_words(
        result,
        &["it was ended in the middle, after changes of keep.txt, new.txt; `git_checkout` with `"],
    )?;
    let before = result
        .split("`git_checkout` with `")
        .nth(1)
        .and_then(|rest| rest.split('`').next());
    let before = before.unwrap_or_default();
    let kept = world.repository.show(before, "keep.txt")?;
    let new = world.git(&format!("ls-tree {before} new.txt"))?;
    assert_eq!(kept.trim(), "mine", "{before}: {kept:?} {new:?}");
    assert!(new.is_empty(), "{before}: {kept:?} {new:?}");
    Ok(())
}

/// A test that is only ordered behind its work, and depends on none of it.
fn a_test_does_not_start_when_its_work_has_failed() -> Outcome {
    let plan = |code: u8| {
        format!(
            "- [ ] T1 Add a page (run: touch page; exit {code})\n- [ ] T2 Add a form (run: touch form)\n\
             - [ ] T3 Test both (run: touch tested)\n"
        )
    };
    let failed = World::lived_in()?.play(&plan(1), &Script::default(), |_| {})?;
    failed.require(1, &[("T1", FailedTask), ("T2", Merged), ("T3", Skipped)])?;
    // The control: it runs if nothing has failed.
    let done = World::lived_in()?.play(&plan(0), &Script::default(), |_| {})?;
    done.require_merged(&["T1", "T2", "T3"])
}

/// The hint stands below the table, however long the output is.
fn a_command_that_fails_for_a_known_cause_says_what_to_type() -> Outcome {
    let noise = "for i in 1 2 3 4 5 6 7 8; do printf 'error %0150d\\n' $i; done";
    let told = "echo 'curl: (6) Could not resolve host: example.invalid' >&2; exit 6";
    let world = World::with_plan(&format!(
        "- [ ] T1 fetch (run: {noise}; {told})\n- [ ] T2 build (run: no-such-program --x)\n- [ ] T3 fail (run: exit 3)\n"
    ))?;
    let ran = world.types(&["run", "plan.md"], 1)?;
    require_words(
        &ran.stdout,
        &[
            "\n  fix: commands have no network: ",
            "\n  fix: commands do not see this program: ",
        ],
    )?;
    require_words(
        &ran.stderr,
        &[
            "  fix: commands have no network: ",
            "  fix: commands do not see this program: ",
        ],
    )?;
    let hints = ran.stdout.matches("  fix: ").count();
    assert_eq!(hints, 2, "{hints} hints\n{}", ran.stdout);
    Ok(())
}

const TOOL: &str = "Searches files.\n\n@title Search\n@name search_text\n@wrapped run_shell_command\n\
    @command no-such-program {arguments}\n@param arguments {array<string>} [required] The arguments\n";

/// A world whose agent has a tool of a program that is absent.
fn with_absent_program() -> Result<World, libtest_mimic::Failed> {
    let world = World::with_plan("- [ ] T1 look (agent: searcher)\n")?;
    std::fs::create_dir_all(world.home.path().join("config/orchestrate/tools"))?;
    world.write("config/orchestrate/tools/search_text.tool", TOOL)?;
    world.repository.write(
        ".orchestrate/agents/searcher.md",
        "---\nname: searcher\ndescription: Searches.\ntools: search_text, grep, run_shell_command, write_file\n---\nSearch.\n",
    )?;
    world.repository.write("hay.txt", "a needle\n")?;
    world.repository.commit_all("Add a role")?;
    Ok(world)
}

fn the_alternative_that_the_user_names_answers() -> Outcome {
    let world = with_absent_program()?;
    let script = Script::default()
        .rule(on("T1", 1).call("search_text", &json!({"arguments": ["needle", "hay.txt"]})))
        .rule(writes(on("T1", 2), "new.txt"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    let typed = ["run", "plan.md", "--model", &model, "--no-verify-base"];
    let run = world
        .orchestrate(&typed)
        .env("ORCHESTRATE_TOOLS_ALTERNATIVES", "search_text=grep")
        .run()?
        .exits(0)?;
    let audit = world.types(&["audit", "show", "--json"], 0)?.stdout;
    require_words(
        &audit,
        &["\"recovered\":[{\"by\":\"alternative\",\"tool\":\"grep\",\"rule\":\"default\"}]"],
    )?;
    let log = world.types(&["log", "--tools"], 0)?.stdout;
    require_words(
        &log,
        &[
            "`search_text` failed: failed to find the program",
            "`grep` answered instead",
            "a needle",
        ],
    )
    .map_err(|failed| format!("{failed:?}\n{run:?}").into())
}

fn an_alternative_that_does_not_exist_is_refused() -> Outcome {
    let world = with_absent_program()?;
    std::fs::create_dir_all(world.home.path().join("config/orchestrate"))?;
    world.write(
        "config/orchestrate/config.toml",
        "[tools]\nalternatives = [\"search_text=grpe\"]\n",
    )?;
    let ran = world.types(&["run", "plan.md"], 2)?;
    require_words(
        &ran.stderr,
        &[
            "`tools.alternatives` names `grpe`, but there is no such tool",
            "did you mean `grep`?",
        ],
    )?;
    // One that exists and could never take the arguments is refused as well.
    world.write(
        "config/orchestrate/config.toml",
        "[tools]\nalternatives = [\"read_file=grep\"]\n",
    )?;
    let ran = world.types(
        &[
            "run",
            "plan.md",
            "--model",
            &world.script(&Script::default().rule(done("T1")))?,
        ],
        2,
    )?;
    let expected = "use the alternative `read_file=grep` of `tools.alternatives`: `grep` needs `pattern`, which no call of";
    require_words(&ran.stderr, &[expected])
}
