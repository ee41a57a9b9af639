//! What runs cost: shown per task and in total, limited by a budget of money, and estimated by `check`.

use libtest_mimic::Failed;
use serde_json::json;

use crate::support::{Case, ModelServer, Outcome, Ran, Reply, World, case, fail, says};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("costs::each_task_and_the_run_say_what_they_cost", each_task_and_the_run_say_what_they_cost),
        case("costs::an_unknown_price_is_never_shown_as_none", an_unknown_price_is_never_shown_as_none),
        case("costs::a_run_stops_before_it_exceeds_its_budget_and_resumes", a_run_stops_before_it_exceeds_its_budget),
        case("costs::a_budget_needs_the_price_of_every_model", a_budget_needs_the_price_of_every_model),
        case("costs::a_check_shows_the_range_of_the_cost", a_check_shows_the_range_of_the_cost),
    ]
}

const PLAN: &str = "- [ ] T1 Write it\n- [ ] T2 Make it (run: touch made)\n";

/// Prices in dollars for a million tokens: 2 and 10 micro-dollars for a token.
const PRICES: &str = "[prices]\n\"openai/test\" = { input = 2, cached = 0.5, output = 10.0 }\n";

fn world(config: &str) -> Result<(World, ModelServer), Failed> {
    let server = ModelServer::answering(|request, _| {
        let is_first = !request.body.to_string().contains("tool_call_id");
        let end = Reply::text("Done.");
        if is_first { end.call("write_file", json!({"path": "first.txt", "content": "first\n"})) } else { end }
    })?;
    let world = World::lived_in()?;
    world.repository.write("plan.md", PLAN)?;
    let folder = world.home.path().join("config/orchestrate");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("config.toml"), config)?;
    Ok((world, server))
}

/// Types a command whose model is `openai/test` at this server, and requires the exit code.
fn types(world: &World, server: &ModelServer, arguments: &[&str], code: i32) -> Result<Ran, Failed> {
    let typed = world.orchestrate(arguments).env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.openai_base());
    typed.env("ORCHESTRATE_MODEL", "openai/test").run()?.exits(code)
}

/// The server counts 10 tokens for each of two prompts, and 5 for each reply.
fn each_task_and_the_run_say_what_they_cost() -> Outcome {
    let (world, server) = world(PRICES)?;
    let ran = types(&world, &server, &["run", "plan.md", "--no-write-back"], 0)?;
    says(&ran, &["$0.0002  Write it", "-        Make it", "tokens, $0.0002 at the prices of 20"])?;
    let report = types(&world, &server, &["status", "--json"], 0)?.json()?;
    let costs = [&report["usage"], &report["tasks"][0]["usage"], &report["tasks"][1]["usage"]];
    let costs = costs.map(|usage| usage["cost_usd"].clone());
    let has_date = report["prices_date"].as_str().is_some_and(|date| date.len() == 10);
    if costs == [json!(0.00014), json!(0.00014), json!(0.0)] && has_date { Ok(()) } else { fail(report) }
}

fn an_unknown_price_is_never_shown_as_none() -> Outcome {
    let (world, server) = world("")?;
    let ran = types(&world, &server, &["run", "plan.md", "--no-write-back"], 0)?;
    says(&ran, &["?     Write it", "-     Make it", "tokens, cost ? (a model has no price in those of 20"])?;
    let report = types(&world, &server, &["status", "--json"], 0)?.json()?;
    let costs = [&report["usage"]["cost_usd"], &report["tasks"][0]["usage"]["cost_usd"]];
    if costs.iter().all(|cost| cost.is_null()) { Ok(()) } else { fail(report) }
}

fn a_run_stops_before_it_exceeds_its_budget() -> Outcome {
    let (world, server) = world(PRICES)?;
    // A reply alone may cost four cents.
    let ran = types(&world, &server, &["run", "plan.md", "--no-write-back", "--budget-usd", "0.04"], 4)?;
    says(&ran, &["T1    failed", "T1: cost: the run has used $0.0000 of its budget of $0.0400", " --budget-usd N"])?;
    if !server.requests().is_empty() {
        return fail("a request was sent although the budget does not cover it");
    }
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
    if ran.stderr.contains("failed to price openai/other") { Ok(()) } else { fail(ran.stderr) }
}

fn a_check_shows_the_range_of_the_cost() -> Outcome {
    let (world, server) = world(PRICES)?;
    // 3 small requests of 2,500 tokens; 60 turns of 16,000 tokens and a reply of 4,096.
    let check = types(&world, &server, &["check", "plan.md"], 0)?;
    says(&check, &["cost $0.0150 to $4.38 at the prices of 20", "all its turns with a full context"])?;
    let report = types(&world, &server, &["check", "plan.md", "--json"], 0)?.json()?;
    if report["estimate"]["cost_usd"] == json!([0.015, 4.3776]) { Ok(()) } else { fail(&report["estimate"]) }
}
