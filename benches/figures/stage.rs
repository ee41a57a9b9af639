//! What a measured run stands on: a repository, a folder for its state, and a model that answers at once.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use libtest_mimic::Failed;
use orchestrate_coordinator::{Coordinator, PlanInput, Settings};
use orchestrate_core::plan::{KnownNames, Plan};
use orchestrate_core::{ModelReply, ModelRequest, StopReason, ToolCall, Usage};
use orchestrate_model::{Delta, Model, ModelError};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Reads a file in each of its first turns, writes one, and is done; remembers when it was asked.
pub(crate) struct Worker {
    reads: u32,
    asked: Mutex<Vec<Instant>>,
}

impl Worker {
    /// Makes a model whose agents take two turns more than they read files.
    pub(crate) fn reading(reads: u32) -> Arc<Self> {
        Arc::new(Self { reads, asked: Mutex::default() })
    }

    /// Gives when the requests came, in their order.
    pub(crate) fn asked(&self) -> Vec<Instant> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Model for Worker {
    async fn complete(
        &self,
        request: &ModelRequest,
        _: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        let turn = request.origin.turn;
        if turn <= self.reads {
            return Ok(reply(turn, Some(("read_file", json!({ "path": source(turn) })))));
        }
        let write = json!({ "path": format!("written/{}.txt", request.origin.task), "content": "done\n" });
        Ok(reply(turn, (turn == self.reads + 1).then_some(("write_file", write))))
    }
}

fn reply(turn: u32, call: Option<(&str, Value)>) -> ModelReply {
    let call = call.map(|(name, arguments)| ToolCall {
        id: format!("call-{turn}").as_str().into(),
        name: name.to_owned(),
        arguments,
    });
    let stop = if call.is_some() { StopReason::ToolCalls } else { StopReason::EndTurn };
    let text = if call.is_some() { "" } else { "Done." };
    let usage = Usage { input_tokens: 1, cached_tokens: 0, output_tokens: 1 };
    ModelReply { text: text.to_owned(), tool_calls: call.into_iter().collect(), stop, usage, raw: None }
}

/// Names the file that an agent reads in a turn, from 1; repositories to be measured hold them.
pub(crate) fn source(number: u32) -> String {
    format!("source/{number:03}.txt")
}

/// A small file's text, different for each.
pub(crate) fn text(number: u32) -> String {
    format!("This is file {number}.\n").repeat(10)
}

/// Makes a folder for a run's state.
pub(crate) fn state_folder() -> Result<TempDir, Failed> {
    Ok(tempfile::Builder::new().prefix("orchestrate-state-").tempdir()?)
}

/// Opens a repository for a model that runs in this process.
pub(crate) fn coordinator(repository: &Path, state: &Path, model: Arc<Worker>) -> Result<Coordinator, Failed> {
    let mut settings = Settings::new(state);
    settings.model = Some(model);
    settings.run.model = Some("local/zero-latency".to_owned());
    Ok(Coordinator::open(repository, settings)?)
}

/// Reads a plan.
pub(crate) fn plan(text: &str) -> Result<PlanInput, Failed> {
    let plan =
        Plan::parse(text, &KnownNames::roles(["implementer"])).map_err(|errors| Failed::from(format!("{errors:?}")))?;
    Ok(PlanInput { path: None, text: text.to_owned(), title: plan.title, tasks: plan.tasks })
}

/// Makes the runtime that the program makes too.
pub(crate) fn runtime() -> Result<Runtime, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
