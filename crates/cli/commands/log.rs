//! `log`: what happened, fact by fact; with `--tools` also what tools and checks printed.

use orchestrate_core::{Event, ModelReply, Recorded, TaskId};
use orchestrate_journal::Store;

use crate::args::LogArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::{output, progress};

/// How many facts are read at once.
const FACTS_AT_ONCE: usize = 512;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &LogArgs) -> Result<u8, CommandError> {
    let (run, task) = subject(context, &arguments.what)?;
    let (store, run) = context.find_run(run)?;
    let task = task.map(TaskId::from);
    if let Some(task) = &task
        && store.state(&run)?.task(task).is_none()
    {
        return Err(CommandError::usage(format!("run {run} has no task {task}"))
            .hint(format!("`orchestrate status {run}` lists its tasks")));
    }
    let mut seen = 0;
    loop {
        let facts = match &task {
            Some(task) => store.events_of_task(&run, task, seen, FACTS_AT_ONCE)?,
            None => store.events(&run, seen, FACTS_AT_ONCE)?,
        };
        for fact in facts.iter().filter(|fact| is_wanted(&fact.event, arguments)) {
            print(&store, fact, arguments)?;
        }
        match facts.last() {
            Some(last) if facts.len() == FACTS_AT_ONCE => seen = last.seq,
            _ => return Ok(0),
        }
    }
}

/// Takes `[RUN] [TASK]` apart.
fn subject<'a>(context: &Context, what: &'a [String]) -> Result<(Option<&'a str>, Option<&'a str>), CommandError> {
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
                | Event::ToolFinished { .. }
                | Event::VerifyFinished { .. }
                | Event::ApprovalRequested { .. }
                | Event::ApprovalDecided { .. }
        );
    }
    if arguments.messages {
        return matches!(event, Event::MessageSent { .. } | Event::MessageDelivered { .. });
    }
    !arguments.transcript
        || matches!(event, Event::ModelReplied { .. } | Event::ToolFinished { .. } | Event::TaskReturned { .. })
}

fn print(store: &Store, fact: &Recorded, arguments: &LogArgs) -> Result<(), CommandError> {
    if arguments.json {
        return output::json(&fact.stream_json());
    }
    if arguments.transcript {
        return transcript(store, &fact.event);
    }
    let time = orchestrate_core::event::rfc3339(fact.ts_ms);
    let text = progress::line(&fact.event, true).unwrap_or_else(|| kind(fact));
    output::line(&format!("{:>5} {time} {text}", fact.seq))?;
    let printed = match &fact.event {
        Event::ToolFinished { result, .. } if arguments.tools => said(&store.blob(result)?),
        Event::VerifyFinished { output, .. } if arguments.tools => {
            String::from_utf8_lossy(&store.blob(output)?).into_owned()
        }
        _ => String::new(),
    };
    if printed.is_empty() { Ok(()) } else { output::line(&indented(&printed)) }
}

fn kind(fact: &Recorded) -> String {
    let object = fact.stream_json();
    object.get("type").and_then(|kind| kind.as_str()).unwrap_or("?").to_owned()
}

/// Prints what the model said and what it was told.
fn transcript(store: &Store, event: &Event) -> Result<(), CommandError> {
    match event {
        Event::ModelReplied { task, turn, reply, .. } => {
            let bytes = store.blob(reply)?;
            let reply: ModelReply = serde_json::from_slice(&bytes)
                .map_err(|error| CommandError::internal(format!("failed to read a recorded reply: {error}")))?;
            output::line(&format!("--- {task}, turn {turn}"))?;
            if !reply.text.is_empty() {
                output::line(&output::plain(&reply.text))?;
            }
            for call in &reply.tool_calls {
                output::line(&output::plain(&format!("> {}({})", call.name, call.arguments)))?;
            }
            Ok(())
        }
        Event::ToolFinished { tool, outcome, result, .. } => {
            let result = store.blob(result)?;
            output::line(&output::plain(&format!("< {tool}: {}", progress::outcome_words(*outcome))))?;
            output::line(&indented(&said(&result)))
        }
        Event::TaskReturned { text, .. } => {
            let text = store.blob(text)?;
            output::line("< returned:")?;
            output::line(&indented(&String::from_utf8_lossy(&text)))
        }
        _ => Ok(()),
    }
}

/// Gives what a recorded result said to the model.
fn said(result: &[u8]) -> String {
    let recorded: Option<serde_json::Value> = serde_json::from_slice(result).ok();
    let text = recorded.as_ref().and_then(|recorded| recorded.get("text")?.as_str());
    text.map_or_else(|| String::from_utf8_lossy(result).into_owned(), str::to_owned)
}

fn indented(text: &str) -> String {
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    output::plain(text).lines().map(indent).collect::<Vec<_>>().join("\n")
}
