//! `run --stay` and `resume --stay`: requests as lines of JSON on standard input, in the words of
//! the commands.

use std::sync::Arc;

use orchestrate_core::RunId;
use orchestrate_core::run::request::Request;
use orchestrate_journal::Store;
use serde::Deserialize;

use crate::args::{Adopting, Approval, Rejection, Retrying, Saying, Stopping};
use crate::commands::runs::stop;
use crate::commands::tasks::approve::Shows;
use crate::commands::tasks::{adopt, approve, message, reject, retry};
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::inbox;
use crate::follow::requests::Listener;
use crate::show::terminal::Terminal;

/// What a line may be, for messages.
const LINES: &str = "a line is a JSON object with a `type` (approve, reject, adopt, retry, message, \
                     answer or stop) and what that command takes, such as \
                     {\"type\":\"reject\",\"task\":\"T1\",\"message\":\"TEXT\"}";

/// A line of standard input.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Approve(Approval),
    Reject(Rejection),
    Adopt(Adopting),
    Retry(Retrying),
    #[serde(alias = "answer")]
    Message(Saying),
    Stop(Stopping),
}

/// Listens to a person or a program that decides about a run.
struct Decisions {
    context: Context,
}

/// Returns what listens to standard input if a run stays open for people.
pub(crate) fn listener(context: &Context, stays: bool) -> Option<Arc<dyn Listener>> {
    // Standard input is not a terminal to ask on.
    let terminal = Terminal {
        can_ask: false,
        ..context.terminal
    };
    let context = Context {
        terminal,
        ..context.clone()
    };
    stays.then(|| -> Arc<dyn Listener> { Arc::new(Decisions { context }) })
}

impl Listener for Decisions {
    fn hear(&self, store: &Store, run: &RunId, line: &[u8]) -> Result<String, CommandError> {
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| CommandError::usage(error.to_string()).hint(LINES))?;
        let request = line.request(&self.context, store, run)?;
        Ok(inbox::acknowledge(store, run, &request)?.answer)
    }
}

impl Line {
    /// Returns the request to the run, as the command of this name sends it.
    fn request(
        &self,
        context: &Context,
        store: &Store,
        run: &RunId,
    ) -> Result<Request, CommandError> {
        let state = store.state(run)?;
        match self {
            Line::Approve(approval) => {
                approve::request(context, store, &state, approval, Shows::Nothing)
            }
            Line::Reject(rejection) => reject::request(context, &state, rejection),
            Line::Adopt(adopting) => adopt::request(context, &state, adopting),
            Line::Retry(retrying) => retry::request(&state, retrying),
            Line::Message(saying) => message::request(&state, saying),
            Line::Stop(stopping) => stop::request(stopping, store.lease(run)?),
        }
    }
}
