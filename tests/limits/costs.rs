//! What runs cost: shown per task and in total, limited by a budget of money, and estimated by
//! `check`.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Case, Invocation, ModelServer, Outcome, Ran, Recorded, Reply, World, case, fail, says, until,
};

/// How long a run may take to send its first request on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(each_task_and_the_run_say_what_they_cost),
        case!(an_unknown_price_is_never_shown_as_none),
        case!(a_run_stops_before_it_exceeds_its_budget_and_resumes),
        case!(a_budget_needs_the_price_of_every_model),
        case!(a_reply_that_breaks_off_counts),
        case!(a_reply_that_nobody_received_counts),
        case!(a_budget_that_comes_later_needs_the_price_of_what_is_spent),
        case!(a_check_shows_the_range_of_the_cost),
    ]
}

const PLAN: &str = "- [ ] T1 Write it\n- [ ] T2 Make it (run: touch made)\n";

/// Prices in dollars for a million tokens: 2 and 10 micro-dollars for a token.
const PRICES: &str = "[prices]\n\"openai/test\" = { input = 2, cached = 0.5, output = 10.0 }\n";

fn world(config: &str) -> Result<(World, ModelServer), Failed> {
    Ok((
        configured(config)?,
        ModelServer::answering(|request, _| reply(request))?,
    ))
}

/// Writes a file first, and then ends.
fn reply(request: &Recorded) -> Reply {
    let is_first = !request.body.to_string().contains("tool_call_id");
    let end = Reply::text("Done.");
    if is_first {
        end.call(
            "write_file",
            json!({"path": "first.txt", "content": "first\n"}),
        )
    } else {
        end
    }
}

fn configured(config: &str) -> Result<World, Failed> {
    let world = World::lived_in()?;
    world.repository.write("plan.md", PLAN)?;
    let folder = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("config.toml"), config)?;
    Ok(world)
}

/// Types a command whose model is `openai/test` at this server, and requires the exit code.
fn types(
    world: &World,
    server: &ModelServer,
    arguments: &[&str],
    code: i32,
) -> Result<Ran, Failed> {
    prepare(world, server, arguments).run()?.exits(code)
}

fn prepare(world: &World, server: &ModelServer, arguments: &[&str]) -> Invocation {
    let typed = world
        .orchestrate(arguments)
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.openai_base());
    typed.env("ORCHESTRATE_MODEL", "openai/test")
}

/// Returns what the run has cost, in micro-dollars.
fn cost(world: &World) -> Result<u64, Failed> {
    let report = world.types(&["status", "--json"], 0)?.json()?;
    let cost = report["usage"]["cost_usd"]
        .as_f64()
        .map(|usd| (usd * 1e6).round());
    cost.map(|cost| cost as u64)
        .ok_or_else(|| Failed::from(report.to_string()))
}

/// The server counts 10 tokens for each of two prompts, and 5 for each reply.
fn each_task_and_the_run_say_what_they_cost() -> Outcome {
    let (world, server) = world(PRICES)?;
    let ran = types(&world, &server, &["run", "plan.md", "--no-write-back"], 0)?;
    says(
        &ran,
        &[
            "$0.0002  Write it",
            "-        Make it",
            "tokens, $0.0002 at the prices of 20",
        ],
    )?;
    let report = types(&world, &server, &["status", "--json"], 0)?.json()?;
    let costs = [
        &report["usage"],
        &report["tasks"][0]["usage"],
        &report["tasks"][1]["usage"],
    ];
    let costs = costs.map(|usage| usage["cost_usd"].clone());
    let has_date = report["prices_date"]
        .as_str()
        .is_some_and(|date| date.len() == 10);
    assert!(
        costs == [json!(0.00014), json!(0.00014), json!(0.0)] && has_date,
        "{report}"
    );
    Ok(())
}

fn an_unknown_price_is_never_shown_as_none() -> Outcome {
    let (world, server) = world("")?;
    let ran = types(&world, &server, &["run", "plan.md", "--no-write-back"], 0)?;
    says(
        &ran,
        &[
            "?     Write it",
            "-     Make it",
            "tokens, cost ? (a model has no price in those of 20",
        ],
    )?;
    let report = types(&world, &server, &["status", "--json"], 0)?.json()?;
    let costs = [
        &report["usage"]["cost_usd"],
        &report["tasks"][0]["usage"]["cost_usd"],
    ];
    assert!(costs.iter().all(|cost| cost.is_null()), "{report}");
    Ok(())
}

fn a_run_stops_before_it_exceeds_its_budget_and_resumes() -> Outcome {
    let (world, server) = world(PRICES)?;
    // A reply alone may cost four cents.
    let ran = types(
        &world,
        &server,
        &["run", "plan.md", "--no-write-back", "--budget-usd", "0.04"],
        4,
    )?;
    says(
        &ran,
        &[
            "T1    failed",
            "T1: cost: the run has used $0.0000 of its budget of $0.0400",
            " --budget-usd N",
        ],
    )?;
    assert!(
        server.requests().is_empty(),
        "a request was sent although the budget does not cover it"
    );
    let resumed = types(&world, &server, &["resume", "--budget-usd", "1.5"], 0)?;
    says(&resumed, &["T1    merged", "$0.0002"])
}

fn a_budget_needs_the_price_of_every_model() -> Outcome {
    let (world, server) = world("")?;
    let run = ["run", "plan.md", "--budget-usd", "1"];
    let ran = types(&world, &server, &run, 2)?;
    if !ran.stderr.contains("failed to price openai/test") || !ran.stderr.contains("[prices]") {
        return fail(ran.stderr);
    }
    let (world, server) = self::world(PRICES)?;
    let fallback = [run.as_slice(), &["--fallback-models", "openai/other"]].concat();
    let ran = types(&world, &server, &fallback, 2)?;
    assert!(
        ran.stderr.contains("failed to price openai/other"),
        "{}",
        ran.stderr
    );
    Ok(())
}

/// The provider charges for a prompt and for what it has sent of the reply.
fn a_reply_that_breaks_off_counts() -> Outcome {
    let world = configured(PRICES)?;
    let server = ModelServer::answering(|request, number| match number {
        0 => Reply::text("A reply that is cut.").cut_off(),
        _ => reply(request),
    })?;
    types(
        &world,
        &server,
        &["run", "plan.md", "--no-write-back", "--budget-usd", "1.5"],
        0,
    )?;
    let log = world.types(&["log", "--json"], 0)?.stdout;
    let cuts: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"model.cut\""))
        .collect();
    let [cut] = cuts.as_slice() else {
        return fail(log);
    };
    let counted = serde_json::from_str::<Value>(cut)?["micro_usd"]
        .as_u64()
        .unwrap_or_default();
    // More than the prompt of a thousand tokens, and not the whole reply that was reserved.
    assert!((2_000..40_000).contains(&counted), "{cut}");
    let sum = cost(&world)?;
    assert_eq!(sum, counted + 140, "{sum} instead of {counted} and 140");
    Ok(())
}

/// The run is killed while the model answers; the maximum that this can cost is spent then.
fn a_reply_that_nobody_received_counts() -> Outcome {
    let world = configured(PRICES)?;
    let (go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let server = ModelServer::answering(move |request, number| {
        if number == 0 {
            // Ends when the sender is dropped.
            let _ = waits.lock().map(|waits| waits.recv());
        }
        reply(request)
    })?;
    let run = prepare(
        &world,
        &server,
        &["run", "plan.md", "--no-write-back", "--budget-usd", "0.06"],
    )
    .start()?;
    until(PATIENCE, || {
        Ok((!server.requests().is_empty()).then_some(()))
    })?;
    run.signal(Signal::KILL)?;
    run.end()?;
    drop(go);
    let resumed = types(&world, &server, &["resume"], 4)?;
    says(
        &resumed,
        &[
            "T1: cost: the run has used $0.0",
            "of its budget of $0.0600",
        ],
    )?;
    types(&world, &server, &["resume", "--budget-usd", "0.5"], 0)?;
    let sum = cost(&world)?;
    // A reply of 4,096 tokens was reserved; it counts once.
    assert!((40_960 + 140..60_000).contains(&sum), "{sum}");
    Ok(())
}

fn a_budget_that_comes_later_needs_the_price_of_what_is_spent() -> Outcome {
    let (world, server) = world("")?;
    types(&world, &server, &["run", "plan.md", "--no-write-back"], 0)?;
    std::fs::write(
        world.home.path().join("config/orchestrate/config.toml"),
        PRICES,
    )?;
    let refused = types(&world, &server, &["resume", "--budget-usd", "1"], 2)?;
    says(
        &refused,
        &[
            "a model without a known price has answered",
            "--budget-tokens N",
            "[prices]",
        ],
    )?;
    types(&world, &server, &["resume"], 0).map(|_| ())
}

fn a_check_shows_the_range_of_the_cost() -> Outcome {
    let (world, server) = world(PRICES)?;
    // 3 small requests of 2,500 tokens; 60 turns of 16,000 tokens and a reply of 4,096.
    let check = types(&world, &server, &["check", "plan.md"], 0)?;
    says(
        &check,
        &[
            "cost $0.0150 to $4.38 at the prices of 20",
            "all its turns with a full context",
        ],
    )?;
    let report = types(&world, &server, &["check", "plan.md", "--json"], 0)?.json()?;
    if report["estimate"]["cost_usd"] == json!([0.015, 4.3776]) {
        Ok(())
    } else {
        fail(&report["estimate"])
    }
}
