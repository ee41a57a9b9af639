//! Scripted models that cannot be read, and model servers that refuse.

use rustix::process::Signal;

use crate::support::{
    Case, ModelServer, Outcome, Reply, Script, done, require_words, sandboxed, write,
};

use super::{PLAN, world};

pub(super) fn cases() -> Vec<Case> {
    vec![
        sandboxed!("bad_input", a_script_with_a_broken_line_is_refused),
        sandboxed!("bad_input", a_script_that_nobody_asks_again_is_not_read),
        sandboxed!("bad_input", endpoints_that_refuse_say_what_to_do),
        sandboxed!("bad_input", a_wait_for_a_server_is_shown),
    ]
}

fn a_script_with_a_broken_line_is_refused() -> Outcome {
    let world = world()?;
    let (before, file) = (world.repository.fingerprint()?, world.file("model.jsonl"));
    let rule = r#"{"reply": {"text": "done"}}"#;
    let table = [
        (
            format!("{rule}\n{{\"reply\": \n"),
            "line 2: EOF while parsing a value",
        ),
        (
            format!("{rule}\n\n{{\"reply\": {{}}}}\n"),
            "line 3: `reply` has neither `text` nor `tool_calls`",
        ),
        ("\n".to_owned(), "has no rules"),
    ];
    // The script is needed only by an agent that starts late.
    let plan = world.write(
        "plan.md",
        "- [ ] T1 Make it (run: touch made)\n- [ ] T2 Write it (depends: T1)\n",
    )?;
    for (text, words) in table {
        std::fs::write(&file, text)?;
        let ran = world.types(&["run", &plan, "--model", &format!("script:{file}")], 2)?;
        require_words(
            &ran.stderr,
            &[&format!("failed to load the script {file}"), words],
        )?;
        assert!(!world.home.state().exists(), "there is a state of nothing");
    }
    // Commands need no model.
    let plan = world.write("plan.md", PLAN)?;
    world.types(&["run", &plan, "--model", &format!("script:{file}")], 0)?;
    before.require_same(&world.repository.fingerprint()?)
}

fn a_script_that_nobody_asks_again_is_not_read() -> Outcome {
    let world = world()?;
    let plan = world.write("plan.md", "- [ ] T1 Write it\n")?;
    let file = world.home.path().join("model.jsonl");
    let model = Script::default()
        .rule(write("T1", "one.txt", "one\n").turn(1))
        .rule(done("T1"))
        .write_to(&file)?;
    world.types(&["run", &plan, "--model", &model, "--merge", "review"], 3)?;
    std::fs::write(&file, "no rule\n")?;
    // Rejecting the task would make its agent use the script.
    let ran = world.types(&["reject", "T1", "-m", "Write two.", "--follow"], 2)?;
    require_words(&ran.stderr, &["failed to load the script", "line 1"])?;
    world.types(&["approve", "T1", "--follow"], 0).map(drop)
}

fn endpoints_that_refuse_say_what_to_do() -> Outcome {
    // A server that has just stopped: nothing listens on its port.
    let gone = ModelServer::scripted(Vec::new())?.openai_base();
    let refusing = |status: u16| ModelServer::answering(move |_, _| Reply::error(status, "no"));
    let (locked, empty) = (refusing(401)?, refusing(404)?);
    let table = [
        (
            gone,
            1,
            "set OPENAI_BASE_URL to its address",
            "orchestrate resume",
        ),
        (
            locked.openai_base(),
            3,
            "check the key in OPENAI_API_KEY",
            "orchestrate resume",
        ),
        (
            empty.openai_base(),
            1,
            "find the model openai/test",
            "orchestrate retry T1 -m TEXT",
        ),
    ];
    for (base, code, words, next) in table {
        let state = if code == 3 {
            "T1    waiting"
        } else {
            "T1    failed"
        };
        let world = world()?;
        let before = world.repository.fingerprint()?;
        let plan = world.write(
            "plan.md",
            "- [ ] T1 Write it\n- [ ] T2 Make it (run: touch made)\n",
        )?;
        let arguments = [
            "run",
            &plan,
            "--model",
            "openai/test",
            "--outage-patience",
            "1s",
        ];
        let typed = world.orchestrate(&arguments);
        let ran = typed
            .env("OPENAI_API_KEY", "k")
            .env("OPENAI_BASE_URL", &base)
            .run()?
            .exits(code)?;
        require_words(&ran.stdout, &[state, "T2    merged", words, next])?;
        before.require_same(&world.repository.fingerprint()?)?;
    }
    Ok(())
}

fn a_wait_for_a_server_is_shown() -> Outcome {
    let world = world()?;
    let server =
        ModelServer::answering(|_, _| Reply::error(503, "too busy").header("retry-after", "290"))?;
    let (plan, base) = (
        world.write("plan.md", "- [ ] T1 Write it\n")?,
        server.openai_base(),
    );
    let typed = world.orchestrate(&["run", &plan, "--model", "openai/test"]);
    let running = typed
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", &base)
        .start()?;
    running.says(&format!(
        "T1: failed to get an answer from openai/test at {base} (HTTP 503): too busy; "
    ))?;
    running.says("next attempt in 290 s\n")?;
    running.signal(Signal::TERM)?;
    running.end()?.exits(143).map(drop)
}
