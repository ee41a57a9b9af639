//! Measures what a map of the repository costs an agent, beside the look-ups of a recorded play,
//! and of those made of a history ([`crate::plays`]).
//!
//! The recorded play is `examples/real-input` on this project. Its replies were written by people
//! who knew where to look, so a model looks up more than they do. Whether an agent with a map takes
//! fewer turns needs a model, and is not measured.

use std::path::Path;
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_coordinator::{MapFor, Project, TaskMap};
use orchestrate_core::{RunSettings, Task, TokenCounter as _};
use orchestrate_model::Tokenizer;
use orchestrate_sandbox::Confinement;
use orchestrate_tool_testing::harness::ToolHarness;
use serde_json::Value;

use super::plays;
use crate::measuring::{Figure, harness, ms, plan, runtime, state_folder};
use crate::support::{Repository, git};

const PLAN: &str = include_str!("../../../examples/real-input/plan.md");
const REPLIES: &str = include_str!("../../../examples/real-input/replies.json");
/// The tools that look for something.
const LOOK_UPS: [&str; 4] = ["grep", "list_directory", "read_file", "search_files"];

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let (repository, state) = (Repository::clone_of_project()?, state_folder()?);
    let project = Project::open(repository.path(), state.path())?;
    let counter = Tokenizer::load()?;
    let since = Instant::now();
    let mut played = Vec::new();
    for task in plan(PLAN)?.tasks.iter().filter(|task| task.model.is_some()) {
        played.push((task.clone(), map(&project, task)?));
    }
    let took = ms(since.elapsed()) / f64::from(u32::try_from(played.len())?);
    let harness = checkout(&repository)?;
    let (mut largest, mut beside) = (0, Vec::new());
    for (task, map) in &played {
        let found = look_ups(&harness, task, &counter)?;
        let is_shown = |found: &&Found| found.files.iter().any(|file| names(&map.map, file));
        let shown = found.iter().filter(is_shown).count();
        let tokens: usize = found.iter().map(|found| found.tokens).sum();
        beside.push(format!(
            "{}: {} tk, {} look-ups of {tokens} tk, {shown} in it",
            task.id,
            map.tokens,
            found.len()
        ));
        largest = largest.max(map.tokens);
    }
    let mut figures = vec![
        Figure {
            name: "map of this project",
            measured: took,
            limit: 4_000.0,
            unit: "ms",
            beside: format!(
                "nothing known of its files before, mean of {}",
                played.len()
            ),
        },
        Figure {
            name: "largest map of a play on this project",
            measured: f64::from(u32::try_from(largest)?),
            limit: 1_000.5,
            unit: "tk",
            beside: beside.join("; "),
        },
    ];
    figures.extend(plays::measure()?);
    Ok(figures)
}

fn map(project: &Project, task: &Task) -> Result<TaskMap, Failed> {
    let roles = project.roles(None, None)?;
    let role = roles.role("implementer")?;
    let map = MapFor { task, role };
    Ok(project.map(None, None, &RunSettings::default(), map)?)
}

/// Returns a worktree with the files of a repository, and the tools that look at them.
fn checkout(repository: &Repository) -> Result<ToolHarness, Failed> {
    let harness = harness(Confinement::Unconfined)?;
    let prefix = format!("--prefix={}/", harness.path().display());
    git(repository.path(), &["checkout-index", "-a", &prefix])?;
    Ok(harness)
}

/// What one look-up of a play found.
struct Found {
    /// The tokens of the call and its result.
    tokens: usize,
    /// The files of the result.
    files: Vec<String>,
}

/// Makes the look-ups with which the play's agent begins.
fn look_ups(harness: &ToolHarness, task: &Task, counter: &Tokenizer) -> Result<Vec<Found>, Failed> {
    let replies: Value = serde_json::from_str(REPLIES)?;
    let (mut found, runtime) = (Vec::new(), runtime()?);
    for reply in replies["fixtures"].as_array().into_iter().flatten() {
        let words = reply["match"]["userMessage"].as_str().unwrap_or_default();
        let is_first = reply["match"]["hasToolResult"] == Value::Bool(false);
        if !is_first || !words.starts_with(&format!("Task {}:", task.id)) {
            continue;
        }
        let calls = reply["response"]["toolCalls"].as_array();
        for call in calls.into_iter().flatten() {
            let name = call["name"].as_str().unwrap_or_default();
            if !LOOK_UPS.contains(&name) {
                continue;
            }
            let output = runtime.block_on(harness.call(name, call["arguments"].clone()));
            let text = output.to_answer().render().text;
            let words = text.split(|c: char| c.is_whitespace() || c == ':');
            let files = words.filter(|word| word.ends_with(".rs"));
            found.push(Found {
                files: files.map(str::to_owned).collect(),
                tokens: counter.count(&text) + counter.count(&call.to_string()),
            });
        }
    }
    Ok(found)
}

/// Reports whether a map names a file, whose folder stands above it unless it is its only one.
pub(crate) fn names(map: &str, file: &str) -> bool {
    let mut folder = "";
    map.lines().any(|line| {
        let shown = line.trim_end_matches(" ⋮");
        match (shown.strip_suffix('/'), shown.strip_prefix(' ')) {
            (Some(below), None) => {
                folder = below;
                false
            }
            (_, Some(name)) => Path::new(folder).join(name) == Path::new(file),
            _ => shown == file,
        }
    })
}
