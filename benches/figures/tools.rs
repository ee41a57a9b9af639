//! Measures what the tool layer adds to a call, and the tools that look at many or at large files.
//!
//! Calls go through the whole executor, with a recorder in memory: what is measured is beyond a
//! journal's commits. Searches are compared with `rg` on the same files, one after the other.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::policy::{CacheMode, Permission};
use orchestrate_core::{CallId, TokenCounter as _, ToolCall, ToolSettings};
use orchestrate_model::Tokenizer;
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answer, CallOutcome, Category, Tool, ToolContext, ToolError, ToolProperties, ToolRegistry,
    builtin_tools,
};
use serde_json::{Value, json};

use crate::figure::{Figure, median, ms};
use crate::stage::{self, Worker, plan, runtime, settings, state_folder};
use crate::support::{ModelServer, Repository};

const FOLDERS: usize = 700;
const FILES_PER_FOLDER: usize = 100;
/// A word in one file of every hundredth folder.
const NEEDLE: &str = "needle_in_the_hay";
/// The folder with all files.
const SOURCE: &str = "source";
/// The name of one file in each folder.
const GLOB: &str = "part_07.rs";
const SAMPLES: usize = 7;
/// Fewer than an agent may make in a minute.
const CALLS: usize = 100;
const LOG_BYTES: u64 = 1 << 30;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let mut figures = vec![overhead()?, prompt()?, page_of_a_log()?];
    figures.extend(searches()?);
    Ok(figures)
}

/// A tool that does nothing.
struct Nothing {
    schema: Value,
}

#[async_trait]
impl Tool for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn description(&self) -> &str {
        "Does nothing."
    }

    fn category(&self) -> Category {
        Category::MEMORY
    }

    fn properties(&self) -> ToolProperties {
        ToolProperties::new(Permission::None)
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        Ok(Answer::new("done", json!("done")))
    }
}

/// Measures a call beyond the tool itself and the journal's commits.
fn overhead() -> Result<Figure, Failed> {
    let mut registry = ToolRegistry::new();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": false});
    registry.register(Arc::new(Nothing { schema }), Category::MEMORY)?;
    let harness = harness(registry)?;
    let mut costs = Vec::with_capacity(CALLS);
    runtime()?.block_on(async {
        for number in 0..CALLS {
            let since = Instant::now();
            call(
                &harness,
                number,
                "nothing",
                json!({"text": "a text of some words"}),
            )
            .await?;
            costs.push(ms(since.elapsed()) * 1e3);
        }
        Ok::<_, Failed>(())
    })?;
    Ok(Figure {
        name: "a call beyond its tool and its commits",
        measured: median(costs)?,
        limit: 200.0,
        unit: "us",
        beside: format!("median of {CALLS} calls of a tool that does nothing"),
    })
}

/// Measures what every request of the default role begins with.
fn prompt() -> Result<Figure, Failed> {
    let (repository, state, server) = (stage::repository(1)?, state_folder()?, Worker::reading(1)?);
    let coordinator = stage::coordinator(repository.path(), state.path(), &server.base_url())?;
    runtime()?.block_on(coordinator.run(plan("- [ ] T1 Read\n")?))?;
    let requests = server.requests();
    let body = &requests.first().ok_or("no request was made")?.body;
    let tokenizer = Tokenizer::load()?;
    let system = body["messages"][0]["content"]
        .as_str()
        .ok_or("no system text")?;
    let schemas = body["tools"].as_array().ok_or("no tools")?;
    let (text, tools) = (
        tokenizer.count(system),
        tokenizer.count(&Value::from(schemas.clone()).to_string()),
    );
    Ok(Figure {
        name: "fixed prompt of the default role",
        measured: f64::from(u32::try_from(text + tools)?),
        limit: 2500.0,
        unit: "tk",
        beside: format!("{text} tokens of text, {tools} of {} tools", schemas.len()),
    })
}

/// Measures a page at the end of a large file.
fn page_of_a_log() -> Result<Figure, Failed> {
    let mut harness = harness(builtin_tools(&|_| None)?)?;
    let mut settings = ToolSettings::default();
    settings.file_operations.max_file_size_mb = (2 * LOG_BYTES) >> 20;
    harness.limit(&settings);
    let line = format!(
        "{}\n",
        "2026-01-01T00:00:00Z INFO a line of a log".repeat(3)
    );
    let mut log = BufWriter::with_capacity(1 << 20, File::create(harness.path().join("app.log"))?);
    let lines = LOG_BYTES / line.len() as u64;
    for _ in 0..lines {
        log.write_all(line.as_bytes())?;
    }
    log.flush()?;
    let page = json!({"path": "app.log", "offset": 1000, "limit": 100});
    let ours = runtime()?.block_on(samples(&harness, "read_file", &page))?;
    Ok(Figure {
        name: "a page of a log of 1 GB",
        measured: ours,
        limit: 10.0,
        unit: "ms",
        beside: format!("100 of {lines} lines"),
    })
}

/// Measures searches over many files, and a second agent's same search.
fn searches() -> Result<Vec<Figure>, Failed> {
    if Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        crate::say("not measured: searches: needs rg (apt install ripgrep)");
        return Ok(Vec::new());
    }
    let repository = Repository::plain()?;
    fill(repository.path())?;
    repository.commit_all("Files")?;
    let mut harness = harness(builtin_tools(&|_| None)?)?;
    fill(harness.path())?;
    harness.scope.result_tokens = 100_000;
    let (grep, names) = (
        json!({"pattern": NEEDLE, "path": SOURCE}),
        json!({"pattern": GLOB, "path": SOURCE}),
    );
    Ok(vec![
        beside_program(
            ("`grep` over 70,000 files", 1.3),
            &harness,
            ("grep", &grep),
            ("rg", &["-n", NEEDLE, SOURCE]),
        )?,
        beside_program(
            ("`search_files` over 70,000 files", 1.3),
            &harness,
            ("search_files", &names),
            ("rg", &["--files", "-g", GLOB, SOURCE]),
        )?,
        second_agent(&repository, &grep)?,
        second_question(&repository, &grep)?,
    ])
}

/// Writes the files.
fn fill(root: &Path) -> Result<(), Failed> {
    let text = "    let value = compute(&input, 17); // what is computed\n".repeat(20);
    for folder in 0..FOLDERS {
        let path = root.join(SOURCE).join(format!("module_{folder:03}"));
        std::fs::create_dir_all(&path)?;
        for file in 0..FILES_PER_FOLDER {
            let word = if folder % 100 == 0 && file == 7 {
                NEEDLE
            } else {
                "nothing"
            };
            std::fs::write(
                path.join(format!("part_{file:02}.rs")),
                format!("// {word} {folder} {file}\n{text}"),
            )?;
        }
    }
    Ok(())
}

/// Compares a call with a program that answers the same, alternately; the limit is on how many
/// times as long it takes.
pub(crate) fn beside_program(
    (name, limit): (&'static str, f64),
    harness: &ToolHarness,
    (tool, arguments): (&str, &Value),
    (program, words): (&str, &[&str]),
) -> Result<Figure, Failed> {
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let runtime = runtime()?;
    for number in 0..=SAMPLES {
        let since = Instant::now();
        let status = Command::new(program)
            .args(words)
            .current_dir(harness.path())
            .stdout(Stdio::null())
            .status()?;
        let alone = ms(since.elapsed());
        if !status.success() {
            return Err(format!("{program} found nothing").into());
        }
        let since = Instant::now();
        runtime.block_on(call(harness, number, tool, arguments.clone()))?;
        let whole = ms(since.elapsed());
        // The first pair fills the cache of the file system.
        if number > 0 {
            ours.push(whole);
            bare.push(alone);
            ratios.push(whole / alone);
        }
    }
    let beside = format!("{:.0} ms, {program} {:.0} ms", median(ours)?, median(bare)?);
    Ok(Figure {
        name,
        measured: median(ratios)?,
        limit,
        unit: "x",
        beside,
    })
}

/// Lets two agents ask the same one after the other, with the cache.
fn second_agent(repository: &Repository, grep: &Value) -> Result<Figure, Failed> {
    // One after the other: the second one's base has the first one's work.
    let (times, replayed) = times_of_greps(
        repository,
        std::slice::from_ref(grep),
        "- [ ] T1 Ask\n- [ ] T2 Ask (depends: T1)\n",
    )?;
    let ([first, second], 1) = (times.as_slice(), replayed) else {
        return Err(Failed::from(format!(
            "the second search was not replayed: {times:?}, {replayed}"
        )));
    };
    Ok(Figure {
        name: "a second agent's same search",
        measured: second / first,
        limit: 0.3,
        unit: "x",
        beside: format!("{second:.0} ms, replayed; the first agent's {first:.0} ms"),
    })
}

/// Lets an agent ask two different questions; the second one is answered from the trigrams of the
/// files.
fn second_question(repository: &Repository, grep: &Value) -> Result<Figure, Failed> {
    let mut other = grep.clone();
    other["pattern"] = json!("// another_needle|// needle_in_the_hay 100 ");
    let (times, replayed) = times_of_greps(repository, &[grep.clone(), other], "- [ ] T1 Ask\n")?;
    let ([first, second], 0) = (times.as_slice(), replayed) else {
        return Err(Failed::from(format!(
            "two searches were expected: {times:?}, {replayed}"
        )));
    };
    Ok(Figure {
        name: "an agent's second search of the same files",
        measured: second / first,
        limit: 0.6,
        unit: "x",
        beside: format!("{second:.0} ms; the first one {first:.0} ms"),
    })
}

/// Returns the times of the searches that a run's agents make, with the cache, and how many of them
/// were replayed.
fn times_of_greps(
    repository: &Repository,
    searches: &[Value],
    tasks: &str,
) -> Result<(Vec<f64>, u64), Failed> {
    let (state, searches) = (state_folder()?, searches.to_vec());
    let server = ModelServer::answering(move |request, number| {
        stage::ask_and_write(request, number, &searches)
    })?;
    let mut settings: Settings = settings(state.path(), &server.openai_base());
    settings.run.cache = CacheMode::Use;
    settings.run.max_agents = 1;
    let coordinator = stage::open(repository.path(), settings)?;
    let report = runtime()?.block_on(coordinator.run(plan(tasks)?))?;
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    Ok((
        facts.iter().filter_map(time_of_grep).collect(),
        report.replayed_calls,
    ))
}

fn time_of_grep(fact: &Recorded) -> Option<f64> {
    match &fact.event {
        Event::ToolFinished {
            tool, duration_ms, ..
        } if tool == "grep" => Some(ms(Duration::from_millis(*duration_ms))),
        _ => None,
    }
}

/// Returns a harness of these tools, whose commands are not confined.
pub(crate) fn harness(registry: ToolRegistry) -> Result<ToolHarness, Failed> {
    Ok(ToolHarness::new(
        registry,
        Sandbox::with(Confinement::Unconfined, Helper::default())?,
    )?)
}

/// Returns the median time of a call in milliseconds; the first one is not counted.
async fn samples(harness: &ToolHarness, tool: &str, arguments: &Value) -> Result<f64, Failed> {
    let mut costs = Vec::new();
    for number in 0..=SAMPLES {
        let since = Instant::now();
        call(harness, number, tool, arguments.clone()).await?;
        costs.push(ms(since.elapsed()));
    }
    median(costs.split_off(1))
}

/// Makes a call, which has to succeed.
pub(crate) async fn call(
    harness: &ToolHarness,
    number: usize,
    tool: &str,
    arguments: Value,
) -> Result<(), Failed> {
    let call = ToolCall {
        id: CallId::new(format!("call-{number}")),
        name: tool.to_owned(),
        arguments,
    };
    match harness.executor.call(&call, &harness.scope).await {
        CallOutcome::Done(output) if output.success => Ok(()),
        CallOutcome::Done(output) => {
            Err(Failed::from(format!("{tool} failed: {:?}", output.error)))
        }
        CallOutcome::NeedsApproval { .. } => Err(Failed::from(format!("{tool} asks"))),
        CallOutcome::Waits => Err(Failed::from(format!("{tool} waits"))),
    }
}
