//! `log`: prints the events of a run; with `--tools`, also the output of tools and checks.

use std::collections::BTreeMap;

use orchestrate_coordinator::text_of_result;
use orchestrate_core::messages::{Envelope, Receiver, Sender};
use orchestrate_core::{BlobId, Event, ModelReply, Recorded};
use orchestrate_journal::Store;
use serde_json::Value;

use crate::args::LogArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::show::{output, parked_call, progress, table};

/// How many events are read at once.
const FACTS_AT_ONCE: usize = 512;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &LogArgs) -> Result<u8, CommandError> {
    let (run, task) = subject(context, &arguments.what)?;
    let (store, run) = context.find_run(run)?;
    let state = store.state(&run);
    let task = match (task, &state) {
        (None, _) => None,
        (Some(task), Ok(state)) => Some(task_of(state, task)?),
        (Some(_), Err(error)) => return Err(error.clone().into()),
    };
    let mut reader = Reader {
        store: store.clone(),
        letters: BTreeMap::new(),
    };
    let mut seen = 0;
    loop {
        let (facts, unreadable) = match &task {
            Some(task) => (store.events_of_task(&run, task, seen, FACTS_AT_ONCE)?, None),
            None => {
                let read = store.readable_events(&run, seen, FACTS_AT_ONCE)?;
                (read.events, read.unreadable)
            }
        };
        for fact in &facts {
            reader.note(&fact.event);
            if is_wanted(&fact.event, arguments) {
                reader.print(fact, arguments)?;
            }
        }
        // What was recorded before it has been shown.
        if let Some(unreadable) = unreadable {
            return Err(unreadable.into());
        }
        match facts.last() {
            Some(last) if facts.len() == FACTS_AT_ONCE => seen = last.seq,
            _ => break,
        }
    }
    let state = state?;
    if arguments.messages && !arguments.json {
        let unread = state.unread();
        let unread = unread.filter(|message| task.is_none() || message.to.agent() == task.as_ref());
        output::result(&table::unread(unread))?;
    }
    Ok(0)
}

/// Prints events in order, with the content that they only refer to.
struct Reader {
    store: Store,
    /// The messages sent so far, by receiver, sender and number: the event of a delivery only names
    /// one.
    letters: BTreeMap<(Receiver, Sender, u64), Envelope>,
}

impl Reader {
    fn note(&mut self, event: &Event) {
        if let Event::MessageSent { envelope } = event {
            let key = (
                envelope.to.clone(),
                envelope.from.clone(),
                envelope.sequence,
            );
            self.letters.insert(key, envelope.clone());
        }
    }

    /// Returns a message as its agent received it, or `None` if it expired before.
    fn delivered(&self, event: &Event) -> Option<String> {
        let Event::MessageDelivered {
            to,
            from,
            sequence,
            expired: false,
        } = event
        else {
            return None;
        };
        let key = (to.clone().into(), from.clone(), *sequence);
        self.letters.get(&key).map(Envelope::render)
    }

    fn print(&self, fact: &Recorded, arguments: &LogArgs) -> Result<(), CommandError> {
        if arguments.json {
            let mut line = parked_call::event_line(fact);
            if arguments.tools || arguments.transcript {
                line.content = self.content(&fact.event)?;
            }
            return output::json(&line.in_envelope(fact));
        }
        if arguments.transcript {
            return self.transcript(&fact.event);
        }
        let time = orchestrate_core::event::rfc3339(fact.ts_ms);
        let text = progress::line(fact, true).unwrap_or_else(|| kind(fact));
        output::line(&format!("{:>5} {time} {text}", fact.seq))?;
        match &fact.event {
            Event::ToolStarted {
                arguments: given, ..
            }
            | Event::ApprovalRequested {
                arguments: given, ..
            } if arguments.tools && !given.is_null() => {
                output::result(&parked_call::arguments(given))
            }
            Event::MessageSent { envelope } if arguments.messages => {
                let body = envelope.body.to_text();
                match text.ends_with(body.as_str()) {
                    // A short one is in the line already.
                    true => Ok(()),
                    false => output::result(&output::quoted(&body)),
                }
            }
            // The output of a failed check is shown even without `--tools`.
            Event::VerifyFinished { passed, .. } | Event::BaseVerified { passed, .. }
                if !arguments.tools && *passed =>
            {
                Ok(())
            }
            Event::ToolFinished { .. } if !arguments.tools => Ok(()),
            event => match self.printed_by(event)? {
                Some(text) => output::result(&output::quoted(&text)),
                None => Ok(()),
            },
        }
    }

    /// Returns the content that an event only refers to.
    fn content(&self, event: &Event) -> Result<Option<Value>, CommandError> {
        if let Event::ModelReplied { reply, .. } = event {
            let reply = serde_json::to_value(self.reply_of(reply)?);
            return reply
                .map(Some)
                .map_err(|error| CommandError::internal(error.to_string()));
        }
        let text = self.printed_by(event)?.or_else(|| self.delivered(event));
        Ok(text.map(Value::from))
    }

    /// Returns the text that a call, a check or a return produced, as the model received it.
    fn printed_by(&self, event: &Event) -> Result<Option<String>, CommandError> {
        Ok(match event {
            Event::ToolFinished { result, .. } => Some(text_of_result(&self.store.blob(result)?)?),
            Event::VerifyFinished { output: text, .. }
            | Event::BaseVerified {
                output: Some(text), ..
            }
            | Event::TaskReturned { text, .. } => {
                Some(String::from_utf8_lossy(&self.store.blob(text)?).into_owned())
            }
            _ => None,
        })
    }

    fn reply_of(&self, reply: &BlobId) -> Result<ModelReply, CommandError> {
        serde_json::from_slice(&self.store.blob(reply)?).map_err(|error| {
            CommandError::internal(format!("failed to read a recorded reply: {error}"))
        })
    }

    /// Prints a reply of the model, or what the model received.
    fn transcript(&self, event: &Event) -> Result<(), CommandError> {
        match event {
            Event::ModelReplied {
                task, turn, reply, ..
            } => {
                let reply = self.reply_of(reply)?;
                let mut text = format!("--- {task}, turn {turn}\n{}", output::quoted(&reply.text));
                for call in &reply.tool_calls {
                    let call = format!("{}({})", call.name, call.arguments);
                    text += &format!("> {}\n", output::one_line(&call, usize::MAX));
                }
                output::result(&text)
            }
            event => {
                let head = match event {
                    Event::ToolFinished { tool, outcome, .. } => {
                        let outcome = progress::outcome_words(*outcome);
                        format!("< {}: {outcome}", output::one_line(tool, usize::MAX))
                    }
                    Event::MessageDelivered { .. } => "< message:".to_owned(),
                    _ => "< returned:".to_owned(),
                };
                let text = self.printed_by(event)?.or_else(|| self.delivered(event));
                let text = output::quoted(text.as_deref().unwrap_or(""));
                output::result(&format!("{head}\n{text}"))
            }
        }
    }
}

/// Splits `[RUN] [TASK]` into run and task.
fn subject<'a>(
    context: &Context,
    what: &'a [String],
) -> Result<(Option<&'a str>, Option<&'a str>), CommandError> {
    match what {
        [] => Ok((None, None)),
        [one] if context.is_run(one)? => Ok((Some(one), None)),
        [one] => Ok((None, Some(one))),
        [run, task] => Ok((Some(run), Some(task))),
        _ => Err(CommandError::usage("type at most a run and a task")),
    }
}

fn is_wanted(event: &Event, arguments: &LogArgs) -> bool {
    if arguments.tools {
        return matches!(
            event,
            Event::ToolStarted { .. }
                | Event::EgressDecided(_)
                | Event::SearchEnded(_)
                | Event::ToolFinished { .. }
                | Event::ApprovalRequested { .. }
                | Event::ApprovalDecided { .. }
                | Event::VerifyFinished { .. }
                | Event::BaseVerified { .. }
        );
    }
    if arguments.messages {
        return matches!(
            event,
            Event::MessageSent { .. }
                | Event::MessageDelivered { .. }
                | Event::MessageExpired(_)
                | Event::QuestionUnanswered(_)
        );
    }
    !arguments.transcript
        || matches!(
            event,
            Event::ModelReplied { .. }
                | Event::ToolFinished { .. }
                | Event::TaskReturned { .. }
                | Event::MessageDelivered { expired: false, .. }
        )
}

fn kind(fact: &Recorded) -> String {
    match fact.stream_json().get("type") {
        Some(Value::String(kind)) => kind.clone(),
        _ => "?".to_owned(),
    }
}
