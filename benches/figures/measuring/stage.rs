//! The setup of a measured run: a repository, a folder for its state, and a model server that
//! answers at once; and of a measured call of a tool.

use std::cmp::Ordering;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use orchestrate_coordinator::{ConfinementChoice, Coordinator, PlanInput, Settings};
use orchestrate_core::event::Recorded as Fact;
use orchestrate_core::{Report, ToolCall};
use orchestrate_plan::{KnownNames, Plan};
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{CallOutcome, builtin_tools};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::timed;
use crate::support::{ModelServer, Recorded, Reply, Repository};

/// How long agents wait for each other.
const MEETING_TIME: Duration = Duration::from_secs(120);

/// A model server whose agents read a file or run a command in each of their first turns, write a
/// file, and end.
pub(crate) struct Worker {
    server: ModelServer,
}

impl Worker {
    /// Starts a server whose agents read a file in each of `reads` turns, and take two more turns.
    pub(crate) fn reading(reads: u32) -> Result<Self, Failed> {
        let server = ModelServer::answering(move |request, number| {
            answer(turn_of(&request.body), reads, number)
        })?;
        Ok(Self { server })
    }

    /// Like [`Self::reading`], but for one agent, whose turns are counted by its requests: its
    /// conversation may be compacted.
    pub(crate) fn reading_by_number(reads: u32) -> Result<Self, Failed> {
        let server = ModelServer::answering(move |_, number| {
            answer(1 + u32::try_from(number).unwrap_or_default(), reads, number)
        })?;
        Ok(Self { server })
    }

    /// Starts a server whose agents write a file and end, each only once this many are at work at
    /// the same time.
    pub(crate) fn meeting(agents: u32) -> Result<Self, Failed> {
        Self::meeting_seen(agents, || ())
    }

    /// Like [`Self::meeting`]; calls `see` once when all are there, before one is answered.
    pub(crate) fn meeting_seen(
        agents: u32,
        see: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Failed> {
        let begun = (Mutex::new(0), Condvar::new());
        let server = ModelServer::answering(move |request, number| {
            let turn = turn_of(&request.body);
            if turn == 1 {
                let mut met = begun.0.lock().unwrap_or_else(PoisonError::into_inner);
                *met += 1;
                if *met == agents {
                    see();
                }
                begun.1.notify_all();
                let all = begun
                    .1
                    .wait_timeout_while(met, MEETING_TIME, |met| *met < agents);
                if all.is_ok_and(|(_, waited)| waited.timed_out()) {
                    return Reply::error(400, "the others did not come");
                }
            }
            answer(turn, 0, number)
        })?;
        Ok(Self { server })
    }

    /// Starts a server whose agents run a command in each of `commands` turns, the last of which
    /// writes a file.
    pub(crate) fn running(commands: u32) -> Result<Self, Failed> {
        Self::running_seen(commands, || ())
    }

    /// Like [`Self::running`]; calls `see` for each request.
    pub(crate) fn running_seen(
        commands: u32,
        see: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Failed> {
        let server = ModelServer::answering(move |request, number| {
            see();
            command(turn_of(&request.body), commands, number)
        })?;
        Ok(Self { server })
    }

    /// Returns the times between an answer and the next request: an agent's turns without the
    /// server's share.
    pub(crate) fn turns(&self) -> Vec<Duration> {
        self.server
            .answered()
            .windows(2)
            .map(|pair| pair[1].0.saturating_duration_since(pair[0].1))
            .collect()
    }

    /// Returns when each answered request began to arrive.
    pub(crate) fn arrivals(&self) -> Vec<Instant> {
        self.server
            .answered()
            .into_iter()
            .map(|(arrived, _)| arrived)
            .collect()
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Returns the server's base URL.
    pub(crate) fn base_url(&self) -> String {
        self.server.openai_base()
    }
}

/// Returns an agent's turn, from 1: one more than the number of model replies in the conversation.
fn turn_of(body: &Value) -> u32 {
    let messages = body["messages"].as_array().into_iter().flatten();
    let replies = messages.filter(|message| message["role"] == "assistant");
    1 + u32::try_from(replies.count()).unwrap_or_default()
}

fn answer(turn: u32, reads: u32, number: usize) -> Reply {
    match turn.checked_sub(reads) {
        None | Some(0) => Reply::text("").call("read_file", json!({ "path": source(turn) })),
        Some(1) => {
            let file = json!({ "path": format!("written/{number}.txt"), "content": "done\n" });
            Reply::text("").call("write_file", file)
        }
        Some(_) => Reply::text("Done."),
    }
}

/// Answers an agent's first requests with a search each, the next with a file to write, and then
/// ends it.
pub(crate) fn ask_and_write(request: &Recorded, number: usize, searches: &[Value]) -> Reply {
    let turn = turn_of(&request.body);
    match searches.get(turn as usize - 1) {
        Some(search) => Reply::text("").call("grep", search.clone()),
        None => answer(turn - searches.len() as u32, 0, number),
    }
}

fn command(turn: u32, commands: u32, number: usize) -> Reply {
    let command = match turn.cmp(&commands) {
        Ordering::Less => format!("echo {turn}"),
        Ordering::Equal => format!("echo done >written-{number}.txt"),
        Ordering::Greater => return Reply::text("Done."),
    };
    Reply::text("").call("run_shell_command", json!({ "command": command }))
}

/// Returns the path of the file that an agent reads in a turn (from 1).
fn source(number: u32) -> String {
    format!("source/{number:03}.txt")
}

/// Creates a repository with this many small files to read, each different.
pub(crate) fn repository(files: u32) -> Result<Repository, Failed> {
    let repository = Repository::plain()?;
    for number in 1..=files {
        let text = format!("This is file {number}.\n").repeat(10);
        repository.write(&source(number), &text)?;
    }
    repository.commit_all("Add files to read")?;
    Ok(repository)
}

/// Creates a temporary folder for a run's state.
pub(crate) fn state_folder() -> Result<TempDir, Failed> {
    Ok(tempfile::Builder::new()
        .prefix("orchestrate-state-")
        .tempdir()?)
}

/// Opens a repository whose agents use the model server at a base URL.
pub(crate) fn coordinator(
    repository: &Path,
    state: &Path,
    base_url: &str,
) -> Result<Coordinator, Failed> {
    coordinator_in(ConfinementChoice::Strongest, repository, state, base_url)
}

/// Like [`coordinator`], but with a choice of the sandbox tier for commands.
pub(crate) fn coordinator_in(
    confinement: ConfinementChoice,
    repository: &Path,
    state: &Path,
    base_url: &str,
) -> Result<Coordinator, Failed> {
    let mut settings = settings(state, base_url);
    settings.confinement = confinement;
    open(repository, settings)
}

/// Returns settings whose agents use the model server at a base URL.
pub(crate) fn settings(state: &Path, base_url: &str) -> Settings {
    let mut settings = Settings::new(state);
    settings.environment = [("OPENAI_API_KEY".to_owned(), "none".to_owned())].into();
    settings.base_url = Some(base_url.to_owned());
    settings.run.model = Some("openai/zero-latency".to_owned());
    settings
}

/// Opens a repository with these settings.
pub(crate) fn open(repository: &Path, settings: Settings) -> Result<Coordinator, Failed> {
    Ok(Coordinator::open(repository, settings)?)
}

/// Parses a plan.
pub(crate) fn plan(text: &str) -> Result<PlanInput, Failed> {
    let plan = Plan::parse(text, &KnownNames::roles(["implementer"]))
        .map_err(|errors| Failed::from(format!("{errors:?}")))?;
    Ok(PlanInput {
        rewritten: None,
        path: None,
        text: text.to_owned(),
        title: plan.title,
        tasks: plan.tasks,
    })
}

/// Returns the text of a plan with this many tasks, none of which depends on another.
pub(crate) fn tasks(number: u32) -> String {
    let tasks = (1..=number).map(|number| format!("- [ ] T{number} Work\n"));
    tasks.collect()
}

/// Runs a plan, which has to succeed; returns the report and the facts of the run.
pub(crate) fn run(coordinator: &Coordinator, text: &str) -> Result<(Report, Vec<Fact>), Failed> {
    let report = runtime()?.block_on(coordinator.run(plan(text)?))?;
    if report.exit_code != Some(0) {
        return Err(format!("the run failed: {report:#?}").into());
    }
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    Ok((report, facts))
}

/// Creates the same kind of runtime as the program.
pub(crate) fn runtime() -> Result<Runtime, Failed> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Ok(builder.enable_all().build()?)
}

/// Creates this many worktrees with git itself, and returns the time in milliseconds.
pub(crate) fn add_worktrees(repository: &Repository, number: u32) -> Result<f64, Failed> {
    let folder = state_folder()?;
    timed(|| {
        for number in 1..=number {
            let path = folder.path().join(number.to_string()).display().to_string();
            repository.git(&["worktree", "add", "-q", "--detach", &path])?;
        }
        Ok(())
    })
}

/// Returns a harness of our own tools.
pub(crate) fn harness(confinement: Confinement) -> Result<ToolHarness, Failed> {
    let sandbox = Sandbox::with(confinement, Helper::default())?;
    Ok(ToolHarness::new(builtin_tools(&|_| None)?, sandbox)?)
}

/// Makes a call, which has to succeed.
pub(crate) async fn call(harness: &ToolHarness, call: &ToolCall) -> Result<(), Failed> {
    let tool = &call.name;
    match harness.executor.call(call, &harness.scope).await {
        CallOutcome::Done(output) if output.success => Ok(()),
        CallOutcome::Done(output) => Err(format!("{tool} failed: {:?}", output.error).into()),
        CallOutcome::NeedsApproval { .. } => Err(format!("{tool} asks").into()),
        CallOutcome::Waits => Err(format!("{tool} waits").into()),
    }
}

/// Reports whether a program is installed; says what is not measured if it is not.
pub(crate) fn has_program(program: &str, version: &str, needed: &str) -> bool {
    let mut command = Command::new(program);
    let found = command.arg(version).stdout(Stdio::null()).status().is_ok();
    if !found {
        crate::say(&format!("not measured: {needed}"));
    }
    found
}
