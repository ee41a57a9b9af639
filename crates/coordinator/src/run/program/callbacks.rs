//! Calls a program's functions with the starts and ends of tool calls, and hooks with all events.
//!
//! They have one subscriber, a thread that reads the run's events from the journal, so they are
//! called in the journal's order: no call of a tool ends before it has started. No call waits for
//! the subscriber: a function that is slow delays the following calls, and one that panics is
//! called again for the next event. What they are behind with at the end of the run is lost after
//! a time, and that is said. A hook that fails is said once. Events from before this process took
//! the run over are not repeated. Hooks are also told what is recorded of a run that has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::event::{Event, Recorded, ToolOutcome};
use orchestrate_core::policy::hook::HookPoint;
use orchestrate_core::{AgentId, CallId, RunId, RunState};
use orchestrate_journal::{JournalError, Store};
use orchestrate_landing::{self as landing, Observed};
use orchestrate_tools::{Hook, Hooks, ToolOutput};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::run::machine::command_hooks::HooksPlace;

/// How many events are read at once.
const EVENTS_AT_ONCE: usize = 512;
/// How long the end of a run waits for functions that are behind: a program that ends next would
/// lose the last calls, but a function that hangs must not hold it up.
const GRACE: Duration = Duration::from_secs(1);
/// How long it waits for hooks, which may be commands.
const GRACE_OF_HOOKS: Duration = Duration::from_secs(10);

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
#[derive(Clone)]
pub(crate) struct Callbacks {
    pub(crate) on_start: Option<OnToolStart>,
    pub(crate) on_complete: Option<OnToolComplete>,
    /// Called once for each hook that fails, and at the end if an event could not be delivered.
    pub(crate) warn: fn(&str),
}

/// Tells hooks what is recorded of runs that no process works on: how they land, what is dropped of
/// them, and what is removed.
pub(crate) struct AfterRun {
    /// Those of the program, beside the commands of each run.
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) warn: fn(&str),
}

/// The end of the thread that calls a run's functions; `None` if the program has none.
pub(crate) struct Subscriber {
    ended: Option<oneshot::Receiver<()>>,
    grace: Duration,
    warn: fn(&str),
}

/// What the subscriber reads, and the functions that it calls.
struct Source {
    callbacks: Callbacks,
    store: Store,
    run: RunId,
    state: watch::Receiver<Arc<RunState>>,
    observers: Vec<Observer>,
    /// The number of the last event that they have been called with.
    seen: u64,
}

/// A hook that observes events.
struct Observer {
    hook: Arc<dyn Hook>,
    has_failed: bool,
}

impl Callbacks {
    /// Starts to call the functions with all events of this process.
    pub(crate) fn subscribe(
        &self,
        context: &RunContext,
        state: &watch::Receiver<Arc<RunState>>,
    ) -> Subscriber {
        let observers = observers(&context.host.hooks);
        let grace = if observers.is_empty() {
            GRACE
        } else {
            GRACE_OF_HOOKS
        };
        if observers.is_empty() && self.on_start.is_none() && self.on_complete.is_none() {
            return self.subscriber(None, grace);
        }
        let ended = follow(Source {
            callbacks: self.clone(),
            store: context.store.clone(),
            run: context.run.clone(),
            state: state.clone(),
            observers,
            seen: context.begun_after,
        });
        self.subscriber(ended, grace)
    }

    fn subscriber(&self, ended: Option<oneshot::Receiver<()>>, grace: Duration) -> Subscriber {
        Subscriber {
            ended,
            grace,
            warn: self.warn,
        }
    }
}

impl AfterRun {
    fn tell(&self, seen: &Observed<'_>) -> Result<(), CoordinatorError> {
        if seen.store.count_events(seen.run)? == seen.after {
            return Ok(());
        }
        let state = seen.store.state(seen.run)?;
        let mut commands = state.settings.hooks.clone();
        commands.retain(|command| command.point == HookPoint::OnEvent);
        let place = HooksPlace::new(&commands, seen.layout, seen.checkout, seen.sandbox)?;
        let observers = observers(&place.hooks(&commands, &self.hooks));
        if observers.is_empty() {
            return Ok(());
        }
        let callbacks = Callbacks {
            on_start: None,
            on_complete: None,
            warn: self.warn,
        };
        // Nothing follows, so the sender is dropped.
        let state = watch::channel(Arc::new(state)).1;
        let ended = follow(Source {
            callbacks: callbacks.clone(),
            store: seen.store.clone(),
            run: seen.run.clone(),
            state,
            observers,
            seen: seen.after,
        });
        let subscriber = callbacks.subscriber(ended, GRACE_OF_HOOKS);
        Handle::current().block_on(subscriber.finish());
        Ok(())
    }
}

impl landing::Observer for AfterRun {
    fn observe(&self, seen: &Observed<'_>) {
        if let Err(error) = self.tell(seen) {
            let run = seen.run;
            (self.warn)(&format!(
                "the hooks of `on_event` miss what was recorded of run {run} now: failed to {error}"
            ));
        }
    }
}

impl std::fmt::Debug for AfterRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AfterRun").finish_non_exhaustive()
    }
}

/// Returns those of the hooks that observe events.
fn observers(hooks: &Hooks) -> Vec<Observer> {
    let observing = hooks.iter().filter(|hook| hook.observes_events());
    observing.map(Observer::new).collect()
}

impl Subscriber {
    /// Waits, for a limited time, until the functions have been called with everything; the run has
    /// ended.
    pub(crate) async fn finish(self) {
        let Some(ended) = self.ended else { return };
        // An error of the channel means that the thread has ended, too.
        if tokio::time::timeout(self.grace, ended).await.is_err() {
            (self.warn)(
                "a function or hook that observes the run is behind with its events and misses the \
                 last ones; the run's log has all of them",
            );
        }
    }
}

/// Starts the thread of the subscriber.
fn follow(mut source: Source) -> Option<oneshot::Receiver<()>> {
    let (ends, ended) = oneshot::channel();
    let runtime = Handle::current();
    let work = move || {
        loop {
            // Before reading: an event recorded afterwards is another change.
            let is_open = runtime.block_on(source.state.changed()).is_ok();
            if let Err(error) = source.deliver_all(&runtime) {
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
    match std::thread::Builder::new()
        .name("tool-callback".to_owned())
        .spawn(work)
    {
        Ok(_) => Some(ended),
        Err(error) => {
            tracing::error!(%error, "cannot start a thread for a callback, which misses all calls \
                                     of tools");
            None
        }
    }
}

impl Source {
    /// Calls the functions for each event that they have not been called for.
    fn deliver_all(&mut self, runtime: &Handle) -> Result<(), JournalError> {
        loop {
            let facts = self.store.events(&self.run, self.seen, EVENTS_AT_ONCE)?;
            let is_last = facts.len() < EVENTS_AT_ONCE;
            for fact in facts {
                self.seen = fact.seq;
                for observer in &mut self.observers {
                    observer.tell(&fact, runtime, self.callbacks.warn);
                }
                self.deliver(fact.event)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Calls the function that an event concerns.
    fn deliver(&self, event: Event) -> Result<(), JournalError> {
        let Callbacks {
            on_start,
            on_complete,
            ..
        } = &self.callbacks;
        let run = self.run.clone();
        match (event, on_start, on_complete) {
            (
                Event::ToolStarted {
                    task,
                    turn,
                    call_id,
                    tool,
                    arguments,
                    ..
                },
                Some(on_start),
                _,
            ) => {
                let start = ToolStart {
                    run,
                    agent: task,
                    turn,
                    call: call_id,
                    name: tool,
                    arguments,
                };
                call(|| on_start(&start));
            }
            (
                Event::ToolFinished {
                    task,
                    turn,
                    call_id,
                    tool,
                    outcome,
                    result,
                    ..
                },
                _,
                Some(on_complete),
            ) => {
                let blob = self.store.blob(&result)?;
                match serde_json::from_slice::<ToolOutput>(&blob) {
                    Ok(output) => {
                        let result = result_of(&output);
                        let complete = ToolComplete {
                            run,
                            agent: task,
                            turn,
                            call: call_id,
                            name: tool,
                            result,
                            outcome,
                            output,
                        };
                        call(|| on_complete(&complete));
                    }
                    Err(error) => {
                        tracing::error!(%tool, %error, "a recorded result cannot be read")
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Observer {
    fn new(hook: &Arc<dyn Hook>) -> Self {
        Self {
            hook: Arc::clone(hook),
            has_failed: false,
        }
    }

    /// Tells the hook an event; its failure is said, but not twice.
    fn tell(&mut self, fact: &Recorded, runtime: &Handle, warn: fn(&str)) {
        let hook = Arc::clone(&self.hook);
        let told = catch_unwind(AssertUnwindSafe(|| runtime.block_on(hook.on_event(fact))));
        let why = match told {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(_) => "it panicked".to_owned(),
        };
        if !std::mem::replace(&mut self.has_failed, true) {
            let name = self.hook.name();
            warn(&format!(
                "{name} misses an event: {why}; the run goes on, and later failures are not said"
            ));
        }
    }
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
        let ok = ToolOutput {
            success: true,
            body: "done".to_owned(),
            ..ToolOutput::empty(&call)
        };
        // A command that ran has an output of its own.
        let (body, error) = ("lines\nof it".to_owned(), Some("exit code 7".to_owned()));
        let failed = ToolOutput {
            body,
            error,
            exit_code: Some(7),
            ..ToolOutput::empty(&call)
        };
        let interrupted = ToolOutput::interrupted(&call);
        let text = format!("ERROR: {}", interrupted.error.clone().unwrap_or_default());
        let results = [&ok, &failed, &interrupted].map(result_of);
        assert_eq!(
            results,
            ["done".to_owned(), "ERROR: exit code 7".to_owned(), text]
        );
    }
}
