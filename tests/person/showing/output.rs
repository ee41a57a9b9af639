//! What is printed: untrusted text can neither move the cursor nor issue commands to a build's log,
//! and `log` shows what was said.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::support::{
    Case, ModelServer, Outcome, Ran, Reply, Rule, Script, World, case, fail, lines, put, reads,
    shell,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(others_words_move_no_cursor),
        case!(a_red_landing_shows_the_checks_output_as_text),
        case!(a_landings_stream_has_its_facts),
        case!(the_log_shows_what_tools_and_checks_said),
        case!(a_run_whose_output_is_lost_goes_on),
        case!(what_comes_while_a_reader_is_slow_is_shown),
    ]
}

/// Clears the screen, as an agent might to hide what it did.
const CLEAR: &str = "\u{1b}[2J\u{9b}2J";

/// Fails if a printed character could move the cursor, or if a line begins with a workflow command
/// that is not ours.
fn is_plain(ran: &Ran) -> Outcome {
    for text in [&ran.stdout, &ran.stderr] {
        let bad = text
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        let speaks = text
            .lines()
            .find(|line| line.trim_start().starts_with("::add-mask"));
        assert!(bad.is_none(), "{bad:?} {speaks:?} in {ran:?}");
        assert!(speaks.is_none(), "{bad:?} {speaks:?} in {ran:?}");
    }
    Ok(())
}

fn others_words_move_no_cursor() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        ".orchestrate/agents/odd.md",
        &format!("---\nname: odd\ndescription: \"An odd one \\e[2J\"\n---\n::add-mask::x{CLEAR}\n"),
    )?;
    world
        .repository
        .write("orchestrate.toml", &format!("# {CLEAR}\nmodel = {CLEAR}\n"))?;
    let broken = world.types(&["config", "show"], 2)?;
    is_plain(&broken)?;
    world.commit("orchestrate.toml", "")?;
    let write = r#"printf 'one\n::add-mask::y\033[2J\n' | tee "$(printf 'a\033[2J.txt')""#;
    let script = Script::default()
        .rule(shell(
            Rule::any().turn(1).text(&format!("::add-mask::{CLEAR}")),
            write,
        ))
        .rule(Rule::any().text("Done."));
    let model = script.write_to(&world.home.path().join("script.jsonl"))?;
    world
        .repository
        .write("plan.md", &format!("- [ ] T1 Write {CLEAR} it\n"))?;
    let check = format!("printf '::add-mask::z\\n{CLEAR}'; exit 1");
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--verify",
        &check,
        "--no-verify-base",
        "--verbose",
    ];
    is_plain(&world.types(&run, 3)?)?;
    let listings: [&[&str]; 9] = [
        &["agents", "list"],
        &["agents", "show", "odd"],
        &["status"],
        &["status", "--json"],
        &["review", "T1"],
        &["log"],
        &["log", "--transcript"],
        &["log", "--tools"],
        &["log", "--json", "--transcript"],
    ];
    for arguments in listings {
        let ran = world
            .orchestrate(arguments)
            .env("GITHUB_ACTIONS", "true")
            .run()?
            .exits(0)?;
        is_plain(&ran)?;
    }
    Ok(())
}

fn a_red_landing_shows_the_checks_output_as_text() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let check =
        format!("test ! -e newer || {{ printf 'it is newer\\n::add-mask::z\\n{CLEAR}'; exit 1; }}");
    world.types(&["run", "plan.md", "--verify", &check], 0)?;
    world.repository.write("newer", "")?;
    world.git("add newer")?;
    world.git("commit -q -m Newer")?;
    let ran = world
        .orchestrate(&["land"])
        .env("GITHUB_ACTIONS", "true")
        .run()?
        .exits(3)?;
    assert!(ran.stderr.contains("  | ::add-mask::z"), "{}", ran.stderr);
    is_plain(&ran)
}

fn kinds(facts: &[Value]) -> Vec<&str> {
    facts
        .iter()
        .filter_map(|fact| fact["type"].as_str())
        .collect()
}

/// Each line has the common fields, and the last one is the landing's object.
fn a_landings_stream_has_its_facts() -> Outcome {
    let world = World::plain()?;
    world
        .repository
        .write("plan.md", "- [ ] T1 Make it (run: touch made)\n")?;
    let type_in = |arguments: &[&str]| world.types(arguments, 0);
    type_in(&["run", "plan.md"])?;
    // The last landing has nothing left to do, so it has no facts of its own.
    let typed: [&[&str]; 4] = [
        &["land"],
        &["land", "--undo"],
        &["land", "--no-write-back"],
        &["land"],
    ];
    for (at, typed) in typed.into_iter().enumerate() {
        let streamed =
            lines(&type_in(&[typed, &["--output-format", "stream-json"]].concat())?.stdout)?;
        let newest = lines(&type_in(&["log", "--json"])?.stdout)?
            .pop()
            .unwrap_or_default();
        let begins = if matches!(at, 0 | 2) {
            vec!["landing.started"]
        } else {
            Vec::new()
        };
        let Some((line, _)) = streamed
            .split_last()
            .filter(|(_, before)| kinds(before) == begins)
        else {
            return fail(format!("{typed:?}: {streamed:#?}"));
        };
        let common = ["ts", "run_id", "seq", "v"]
            .map(|key| (key, line[key] == newest[key] && !line[key].is_null()));
        let kind = if at == 1 {
            "run.unlanded"
        } else {
            "run.landed"
        };
        assert!(
            !common.iter().any(|(_, is_same)| !is_same)
                && line["type"] == kind
                && line["exit_code"] == 0,
            "{typed:?}: {common:?} {line:#}\n{newest:#}"
        );
    }
    let plain = type_in(&["land", "--json"])?.json()?;
    assert!(plain["seq"].is_null(), "{plain}");
    Ok(())
}

fn the_log_shows_what_tools_and_checks_said() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(reads(Rule::any().turn(1).text("I look."), "src/lib.txt"))
        .rule(put(Rule::any().turn(2), "new.txt", "new"))
        .rule(Rule::any().text("Done."));
    let model = script.write_to(&world.home.path().join("script.jsonl"))?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 Write it (verify: echo the check says no; exit 3)\n",
    )?;
    world.types(&["run", "plan.md", "--model", &model], 1)?;
    let log = |arguments: &[&str]| -> Result<String, libtest_mimic::Failed> {
        Ok(world.types(arguments, 0)?.stdout)
    };
    let table: [(&[&str], &[&str]); 4] = [
        (&["log"], &["FAILED", "  | the check says no"]),
        (&["log", "T1"], &["  | the check says no"]),
        (
            &["log", "--tools"],
            &["\tone", "\tthree", "  | the check says no"],
        ),
        (
            &["log", "T1", "--transcript"],
            &[
                "  | I look.",
                "> read_file(",
                "\tthree",
                "  | the check says no",
            ],
        ),
    ];
    for (arguments, wanted) in table {
        let text = log(arguments)?;
        let missing = wanted.iter().find(|word| !text.contains(**word));
        assert!(
            missing.is_none() && !text.contains("error_kind"),
            "{arguments:?} {missing:?} in {text}"
        );
    }
    let facts = lines(&log(&["log", "--transcript", "--json"])?)?;
    let content = |kind: &str| {
        facts
            .iter()
            .find(|fact| fact["type"] == kind)
            .map(|fact| fact["content"].clone())
    };
    let read = content("tool.finished").unwrap_or_default();
    let said = content("model.replied").unwrap_or_default();
    assert!(
        said["text"] == "I look." && read.as_str().is_some_and(|text| text.contains("three")),
        "{}",
        Value::from(vec![said, read])
    );
    Ok(())
}

/// A fact that comes while those before it are being written is shown, too, even if no other
/// follows.
fn what_comes_while_a_reader_is_slow_is_shown() -> Outcome {
    let world = World::plain()?;
    let ((asks, asked), (shows, shown)) = (mpsc::channel(), mpsc::channel::<()>());
    let shown = Mutex::new(shown);
    let server = ModelServer::answering(move |_, _| {
        let _ = asks.send(());
        let is_shown = shown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(Duration::from_secs(30));
        if is_shown.is_ok() {
            Reply::text("Fine.")
        } else {
            Reply::error(400, "the request was not shown")
        }
    })?;
    // The second task alone is more than a pipe holds, so the program waits for the reader.
    let details = "  - nothing but words\n".repeat(8_000);
    world.repository.write(
        "plan.md",
        &format!("- [ ] T1 Look @reviewer\n- [ ] T2 Wait (run: true) (depends: T1)\n{details}"),
    )?;
    let pipe = world.home.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let (into_pipe, program) = (
        format!("exec \"$@\" > {}", pipe.display()),
        env!("CARGO_BIN_EXE_orchestrate"),
    );
    let run = [
        program,
        "run",
        "plan.md",
        "--model",
        "openai/test",
        "--output-format",
        "stream-json",
    ];
    let typed = world.home.command(
        "sh",
        world.repository.path(),
        &[&["-c", &into_pipe, "sh"], run.as_slice()].concat(),
    );
    let running = typed
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.openai_base())
        .start()?;
    let mut read = BufReader::new(File::open(&pipe)?).lines();
    asked.recv_timeout(Duration::from_secs(60))?;
    let requested = read.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.contains("\"model.requested\""))
    });
    shows.send(())?;
    let rest = read.collect::<Result<Vec<_>, _>>()?;
    running.end()?.exits(0)?;
    assert!(requested.is_some(), "{}", rest.concat());
    Ok(())
}

/// If the disk of a log file is full, the log is lost, but not the work.
fn a_run_whose_output_is_lost_goes_on() -> Outcome {
    let world = World::plain()?;
    world.repository.write(
        "plan.md",
        "- [ ] T1 one (run: touch one)\n- [ ] T2 two (run: touch two) (depends: T1)\n",
    )?;
    let run = [
        env!("CARGO_BIN_EXE_orchestrate"),
        "run",
        "plan.md",
        "--land",
        "--output-format",
        "stream-json",
    ];
    let typed = [&["-c", "exec \"$@\" > /dev/full", "sh"], run.as_slice()].concat();
    let ran = world
        .home
        .command("sh", world.repository.path(), &typed)
        .run()?
        .exits(1)?;
    let words = [
        "failed to write the output: No space left",
        "orchestrate status r-",
        "has landed: main went from",
    ];
    let is_landed = world.repository.path().join("two").exists();
    assert!(
        is_landed && words.iter().all(|words| ran.stderr.contains(words)),
        "{}",
        ran.stderr
    );
    Ok(())
}
