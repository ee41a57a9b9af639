//! Measures what the tool layer adds to a call, and the tools that look at many or at large files.
//!
//! Calls go through the whole executor, with a recorder in memory: what is measured is beyond a
//! journal's commits. Searches are compared with `rg` on the same files, one after the other.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::policy::{CacheMode, Permission};
use orchestrate_core::{TokenCounter as _, ToolSettings};
use orchestrate_model::Tokenizer;
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answer, Category, Tool, ToolContext, ToolError, ToolProperties, ToolRegistry,
};
use serde_json::{Value, json};

use crate::measuring::{
    self, Figure, Pairs, Worker, call, coordinator, harness, has_program, median, ms, plan,
    runtime, settings, state_folder, timed,
};
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
    let sandbox = Sandbox::with(Confinement::Unconfined, Helper::default())?;
    let harness = ToolHarness::new(registry, sandbox)?;
    let arguments = json!({"text": "a text of some words"});
    let mut costs = Vec::with_capacity(CALLS);
    runtime()?.block_on(async {
        for _ in 0..CALLS {
            let nothing = harness.make_call("nothing", arguments.clone());
            let since = Instant::now();
            call(&harness, &nothing).await?;
            costs.push(ms(since.elapsed()) * 1e3);
        }
        Ok::<_, Failed>(())
    })?;
    Ok(Figure {
        name: "a call beyond its tool and its commits",
        measured: median(&costs)?,
        limit: 200.0,
        unit: "us",
        beside: format!("median of {CALLS} calls of a tool that does nothing"),
    })
}

/// Measures what every request of the default role begins with.
fn prompt() -> Result<Figure, Failed> {
    let (repository, state) = (measuring::repository(1)?, state_folder()?);
    let server = Worker::reading(1)?;
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    measuring::run(&coordinator, "- [ ] T1 Read\n")?;
    let requests = server.requests();
    let body = &requests.first().ok_or("no request was made")?.body;
    let tokenizer = Tokenizer::load()?;
    let system = body["messages"][0]["content"].as_str();
    let text = tokenizer.count(system.ok_or("no system text")?);
    let schemas = body["tools"].as_array().ok_or("no tools")?;
    let tools = tokenizer.count(&body["tools"].to_string());
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
    let mut harness = harness(Confinement::Unconfined)?;
    let mut settings = ToolSettings::default();
    settings.file_operations.max_file_size_mb = (2 * LOG_BYTES) >> 20;
    harness.limit(&settings);
    let line = "2026-01-01T00:00:00Z INFO a line of a log".repeat(3) + "\n";
    let mut log = BufWriter::with_capacity(1 << 20, File::create(harness.path().join("app.log"))?);
    let lines = LOG_BYTES / line.len() as u64;
    for _ in 0..lines {
        log.write_all(line.as_bytes())?;
    }
    log.flush()?;
    let page = json!({"path": "app.log", "offset": 1000, "limit": 100});
    let runtime = runtime()?;
    let mut times = Vec::new();
    for _ in 0..=SAMPLES {
        let read = harness.make_call("read_file", page.clone());
        times.push(timed(|| runtime.block_on(call(&harness, &read)))?);
    }
    Ok(Figure {
        name: "a page of a log of 1 GB",
        // The first one is not counted.
        measured: median(&times[1..])?,
        limit: 10.0,
        unit: "ms",
        beside: format!("100 of {lines} lines"),
    })
}

/// Measures searches over many files, and a second agent's same search.
fn searches() -> Result<Vec<Figure>, Failed> {
    if !has_program(
        "rg",
        "--version",
        "searches: needs rg (apt install ripgrep)",
    ) {
        return Ok(Vec::new());
    }
    let repository = Repository::plain()?;
    fill(repository.path())?;
    repository.commit_all("Files")?;
    let mut harness = harness(Confinement::Unconfined)?;
    fill(harness.path())?;
    harness.scope.result_tokens = 100_000;
    let grep = json!({"pattern": NEEDLE, "path": SOURCE});
    let by_text = BesideProgram {
        name: "`grep` over 70,000 files",
        limit: 1.3,
        tool: "grep",
        arguments: grep.clone(),
        program: &["rg", "-n", NEEDLE, SOURCE],
    };
    let by_name = BesideProgram {
        name: "`search_files` over 70,000 files",
        limit: 1.3,
        tool: "search_files",
        arguments: json!({"pattern": GLOB, "path": SOURCE}),
        program: &["rg", "--files", "-g", GLOB, SOURCE],
    };
    Ok(vec![
        by_text.measure(&harness)?,
        by_name.measure(&harness)?,
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
            let has_needle = folder % 100 == 0 && file == 7;
            let word = if has_needle { NEEDLE } else { "nothing" };
            let text = format!("// {word} {folder} {file}\n{text}");
            std::fs::write(path.join(format!("part_{file:02}.rs")), text)?;
        }
    }
    Ok(())
}

/// A call, and a program that answers the same; the limit is on how many times as long the call
/// takes.
pub(crate) struct BesideProgram<'p> {
    pub(crate) name: &'static str,
    pub(crate) limit: f64,
    pub(crate) tool: &'p str,
    pub(crate) arguments: Value,
    /// The program and its arguments.
    pub(crate) program: &'p [&'p str],
}

impl BesideProgram<'_> {
    pub(crate) fn measure(&self, harness: &ToolHarness) -> Result<Figure, Failed> {
        let runtime = runtime()?;
        let ours = || {
            let asked = harness.make_call(self.tool, self.arguments.clone());
            timed(|| runtime.block_on(call(harness, &asked)))
        };
        let program = self.program[0];
        let alone = || {
            let mut command = Command::new(program);
            command.args(&self.program[1..]).current_dir(harness.path());
            timed(|| match command.stdout(Stdio::null()).status()?.success() {
                true => Ok(()),
                false => Err(format!("{program} found nothing").into()),
            })
        };
        // The first pair fills the cache of the file system.
        let pairs = Pairs::measure(1 + SAMPLES, ours, alone)?.without_first(1);
        let beside = format!("{:.0} ms, {program} {:.0} ms", pairs.ours()?, pairs.bare()?);
        Ok(Figure {
            name: self.name,
            measured: pairs.ratio()?,
            limit: self.limit,
            unit: "x",
            beside,
        })
    }
}

/// Lets two agents ask the same one after the other, with the cache.
fn second_agent(repository: &Repository, grep: &Value) -> Result<Figure, Failed> {
    // One after the other: the second one's base has the first one's work.
    let tasks = "- [ ] T1 Ask\n- [ ] T2 Ask (depends: T1)\n";
    let [first, second] = times_of_two_greps(repository, vec![grep.clone()], tasks, 1)?;
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
    let searches = vec![grep.clone(), other];
    let [first, second] = times_of_two_greps(repository, searches, "- [ ] T1 Ask\n", 0)?;
    Ok(Figure {
        name: "an agent's second search of the same files",
        measured: second / first,
        limit: 0.6,
        unit: "x",
        beside: format!("{second:.0} ms; the first one {first:.0} ms"),
    })
}

/// Returns the times of the two searches that a run's agents make, with the cache, so many of which
/// are replayed.
fn times_of_two_greps(
    repository: &Repository,
    searches: Vec<Value>,
    tasks: &str,
    replayed: u64,
) -> Result<[f64; 2], Failed> {
    let state = state_folder()?;
    let server = ModelServer::answering(move |request, number| {
        measuring::ask_and_write(request, number, &searches)
    })?;
    let mut settings = settings(state.path(), &server.openai_base());
    settings.run.cache = CacheMode::Use;
    settings.run.max_agents = 1;
    let coordinator = measuring::open(repository.path(), settings)?;
    let report = runtime()?.block_on(coordinator.run(plan(tasks)?))?;
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    match times_of(&facts, "grep").as_slice() {
        [first, second] if report.replayed_calls == replayed => Ok([*first, *second]),
        times => Err(format!(
            "two searches were expected, {replayed} of them replayed: {times:?}, {}",
            report.replayed_calls
        )
        .into()),
    }
}

/// Returns the times of a tool's calls in milliseconds, as a run has recorded them.
pub(crate) fn times_of(facts: &[Recorded], wanted: &str) -> Vec<f64> {
    let mut times = Vec::new();
    for fact in facts {
        if let Event::ToolFinished {
            tool, duration_ms, ..
        } = &fact.event
            && tool == wanted
        {
            times.push(*duration_ms as f64);
        }
    }
    times
}
