//! Calls a program's functions with the starts and ends of tool calls.
//!
//! Each function has one subscriber, a thread of its own that reads the run's events from the journal. No call waits
//! for it, so a function that is slow falls behind and misses nothing, and one that panics is called again for the next
//! event. Events from before this process took the run over are not repeated.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::{AgentId, CallId, Recorded, RunId, RunState};
use orchestrate_journal::{JournalError, Store};
use orchestrate_tools::ToolOutput;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// How many events are read at once.
const EVENTS_AT_ONCE: usize = 512;
/// How long the end of a run waits for functions that are behind: a program that ends next would lose the last calls,
/// but a function that hangs must not hold it up.
const GRACE: Duration = Duration::from_secs(1);

/// A call of a tool that starts.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStart {
    /// The run.
    pub run: RunId,
    /// The agent, whose id is its task's.
    pub agent: AgentId,
    /// The agent's request number.
    pub turn: u32,
    /// The call's id within its turn.
    pub call: CallId,
    /// The tool's canonical name.
    pub name: String,
    /// The arguments, with secrets redacted.
    pub arguments: Value,
}

/// A call of a tool that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolComplete {
    /// The run.
    pub run: RunId,
    /// The agent, whose id is its task's.
    pub agent: AgentId,
    /// The agent's request number.
    pub turn: u32,
    /// The call's id within its turn.
    pub call: CallId,
    /// The tool's canonical name, or the name used by the model if there is no such tool.
    pub name: String,
    /// The result as the model gets it; `ERROR: <message>` if the call failed.
    pub result: String,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// The whole result as it is recorded.
    pub output: ToolOutput,
}

/// A function that is called when a call of a tool starts.
pub type OnToolStart = Arc<dyn Fn(&ToolStart) + Send + Sync>;
/// A function that is called when a call of a tool has ended.
pub type OnToolComplete = Arc<dyn Fn(&ToolComplete) + Send + Sync>;

/// A program's functions.
#[derive(Clone, Default)]
pub(crate) struct Callbacks {
    pub(crate) on_start: Option<OnToolStart>,
    pub(crate) on_complete: Option<OnToolComplete>,
}

/// The functions of a run that are being called.
pub(crate) struct Subscribers(Vec<oneshot::Receiver<()>>);

/// What a subscriber reads.
#[derive(Clone)]
struct Source {
    store: Store,
    run: RunId,
    state: watch::Receiver<Arc<RunState>>,
}

/// Calls one function for an event that concerns it.
type Deliver = Box<dyn Fn(&Source, Recorded) -> Result<(), JournalError> + Send>;

impl Callbacks {
    /// Starts to call the functions with the events that are recorded from now on.
    pub(crate) fn subscribe(&self, store: &Store, run: &RunId, state: &watch::Receiver<Arc<RunState>>) -> Subscribers {
        let source = Source { store: store.clone(), run: run.clone(), state: state.clone() };
        let on_start = self.on_start.clone().map(on_start);
        let on_complete = self.on_complete.clone().map(on_complete);
        Subscribers(
            [on_start, on_complete].into_iter().flatten().filter_map(|deliver| follow(&source, deliver)).collect(),
        )
    }
}

impl Subscribers {
    /// Waits, for a limited time, until the functions have been called with everything; the run has ended.
    pub(crate) async fn finish(self) {
        let all = async {
            for subscriber in self.0 {
                // An error means that its thread has ended, too.
                let _ = subscriber.await;
            }
        };
        if tokio::time::timeout(GRACE, all).await.is_err() {
            tracing::warn!("a callback of the program is behind; the run has ended without it");
        }
    }
}

/// Starts the thread of a subscriber.
fn follow(source: &Source, deliver: Deliver) -> Option<oneshot::Receiver<()>> {
    let (ends, ended) = oneshot::channel();
    let (mut source, runtime) = (source.clone(), Handle::current());
    let mut seen = source.state.borrow_and_update().seq;
    let work = move || {
        loop {
            // Before reading: an event recorded afterwards is another change.
            let is_open = runtime.block_on(source.state.changed()).is_ok();
            if let Err(error) = deliver_all(&source, &mut seen, &deliver) {
                tracing::error!(run = %source.run, %error, "a callback misses calls of tools");
                break;
            }
            if !is_open {
                break;
            }
        }
        // There is no receiver if nothing waits.
        let _ = ends.send(());
    };
    match std::thread::Builder::new().name("tool-callback".to_owned()).spawn(work) {
        Ok(_) => Some(ended),
        Err(error) => {
            tracing::error!(%error, "cannot start a thread for a callback, which misses all calls of tools");
            None
        }
    }
}

fn deliver_all(source: &Source, seen: &mut u64, deliver: &Deliver) -> Result<(), JournalError> {
    loop {
        let facts = source.store.events(&source.run, *seen, EVENTS_AT_ONCE)?;
        let is_last = facts.len() < EVENTS_AT_ONCE;
        for fact in facts {
            *seen = fact.seq;
            deliver(source, fact)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

fn on_start(function: OnToolStart) -> Deliver {
    Box::new(move |source, fact| {
        if let Event::ToolStarted { task, turn, call_id, tool, arguments, .. } = fact.event {
            let start = ToolStart { run: source.run.clone(), agent: task, turn, call: call_id, name: tool, arguments };
            call(|| function(&start));
        }
        Ok(())
    })
}

fn on_complete(function: OnToolComplete) -> Deliver {
    Box::new(move |source, fact| {
        if let Event::ToolFinished { task, turn, call_id, tool, outcome, result, .. } = fact.event {
            let blob = source.store.blob(&result)?;
            match serde_json::from_slice::<ToolOutput>(&blob) {
                Ok(output) => {
                    let (run, result) = (source.run.clone(), result_of(&output));
                    let complete =
                        ToolComplete { run, agent: task, turn, call: call_id, name: tool, result, outcome, output };
                    call(|| function(&complete));
                }
                Err(error) => tracing::error!(%tool, %error, "a recorded result cannot be read"),
            }
        }
        Ok(())
    })
}

/// Calls a program's function, which may panic.
fn call(function: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(function)).is_err() {
        tracing::warn!("a callback of the program panicked");
    }
}

/// Returns the result as the model gets it, or the error of a call that failed.
fn result_of(output: &ToolOutput) -> String {
    match &output.error {
        Some(error) if !output.success => format!("ERROR: {error}"),
        _ => output.text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_failed_call_begins_with_its_error() {
        let call = CallId::new("c1");
        let ok = ToolOutput { success: true, body: "done".to_owned(), ..ToolOutput::empty(&call) };
        // A command that ran has an output of its own.
        let (body, error) = ("lines\nof it".to_owned(), Some("exit code 7".to_owned()));
        let failed = ToolOutput { body, error, exit_code: Some(7), ..ToolOutput::empty(&call) };
        let interrupted = ToolOutput::interrupted(&call);
        let text = format!("ERROR: {}", interrupted.error.clone().unwrap_or_default());
        let results = [&ok, &failed, &interrupted].map(result_of);
        assert_eq!(results, ["done".to_owned(), "ERROR: exit code 7".to_owned(), text]);
    }
}
