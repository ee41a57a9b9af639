//! `run --stay` and `resume --stay`: requests as lines of JSON on standard input, in the words of
//! the commands.

use std::sync::Arc;

use orchestrate_core::run::request::Request;
use orchestrate_core::{MessageKind, RunId};
use orchestrate_journal::Store;
use serde::Deserialize;

use crate::args::{Adopting, Approval, Rejection, Retrying, Saying, Stopping};
use crate::commands::runs::stop;
use crate::commands::tasks::approve::Shows;
use crate::commands::tasks::{adopt, approve, message, reject, retry};
use crate::context::Context;
use crate::error::{CommandError, Wording};
use crate::follow::inbox;
use crate::follow::requests::Listener;
use crate::json::Answer;
use crate::show::terminal::Terminal;

/// What a line may be, for messages.
const LINES: &str = "a line is a JSON object with a `type` (approve, reject, adopt, retry, \
                     message, answer or stop) and what that command takes, such as \
                     {\"type\":\"reject\",\"task\":\"T1\",\"message\":\"TEXT\"}";

/// A line of standard input.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    expecting = "a JSON object with a `type`"
)]
enum Line {
    Approve(Approval),
    Reject(Rejection),
    Adopt(Adopting),
    Retry(Retrying),
    Message(Saying),
    Answer(Saying),
    Stop(Stopping),
}

/// Returns what listens to standard input if a run stays open for people.
pub(crate) fn listener(context: &Context, stays: bool) -> Option<Listener> {
    if !stays {
        return None;
    }
    // Standard input is not a terminal to ask on.
    let terminal = Terminal {
        can_ask: false,
        ..context.terminal
    };
    let context = Context {
        terminal,
        ..context.clone()
    };
    Some(Arc::new(move |store: &Store, run: &RunId, line: &[u8]| {
        carry_out(&context, store, run, line)
    }))
}

/// Carries out what one line requests of a run.
fn carry_out(
    context: &Context,
    store: &Store,
    run: &RunId,
    line: &[u8],
) -> Result<Answer, CommandError> {
    let line: Line = serde_json::from_slice(line)
        .map_err(|error| CommandError::usage(error.to_string()).hint(LINES))?;
    let request = line.request(context, store, run)?;
    inbox::acknowledge(store, run, &request, Wording::Line)
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
            Line::Message(saying) => message::request(&state, saying, saying.kind),
            Line::Answer(saying) => {
                let kind = saying.kind.unwrap_or(MessageKind::Answer);
                message::request(&state, saying, Some(kind))
            }
            Line::Stop(stopping) => stop::request(stopping, store.lease(run)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_words_of_its_command() {
        let known = [
            r#"{"type":"approve","task":"T1","tree":"0123"}"#,
            r#"{"type":"approve","task":"T1","only":["a","b"],"message":"Shorter."}"#,
            r#"{"type":"approve","call":"3f1c","hash":"9b1c04d2"}"#,
            r#"{"type":"reject","task":"T1","message":"Why?","at":"a.rs:1"}"#,
            r#"{"type":"adopt","task":"T1","message":"Mend it"}"#,
            r#"{"type":"retry","task":"T1"}"#,
            r#"{"type":"retry","failed":true,"message":"Again."}"#,
            r#"{"type":"message","agent":"all","text":"hi","kind":"note","deadline":"5m"}"#,
            r#"{"type":"answer","agent":"T1","text":"{}","reply_to":1,"object":true}"#,
            r#"{"type":"stop","drain":true}"#,
        ];
        for line in known {
            let parsed = serde_json::from_str::<Line>(line);
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
        let wrong = [
            (r#"{"task":"T1"}"#, "missing field `type`"),
            (
                r#"{"type":"land"}"#,
                "unknown variant `land`, expected one of `approve`",
            ),
            (
                r#"{"type":"stop","level":"kill"}"#,
                "expected `drain` or `kill`",
            ),
            (
                r#"{"type":"reject","task":"T1"}"#,
                "missing field `message`",
            ),
            (
                r#"{"type":"reject","task":"T1","message":"?","at":"a"}"#,
                "expected FILE:LINE",
            ),
            (
                r#"{"type":"message","agent":"T1","text":"","deadline":"x"}"#,
                "30s",
            ),
        ];
        for (line, words) in wrong {
            let refused = serde_json::from_str::<Line>(line).map(drop);
            let refused = refused.map_err(|error| error.to_string());
            assert!(
                refused.as_ref().is_err_and(|error| error.contains(words)),
                "{line}: {refused:?}"
            );
        }
    }
}
