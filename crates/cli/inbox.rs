//! Hands a command to the coordinator of a run, or takes the run over where there is none.

use std::time::Duration;

use orchestrate_coordinator::settings::Layer;
use orchestrate_coordinator::{Coordinator, settings_of};
use orchestrate_core::RunId;
use orchestrate_core::report::EXIT_OK;
use orchestrate_journal::{Command, JournalError, Purpose, Store};
use serde_json::json;

use crate::context::Context;
use crate::display::Style;
use crate::error::{CommandError, ErrorKind};
use crate::{follow, output};

/// How long a live coordinator may take to answer: it is woken at once, and answers between two facts.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether the coordinator is still there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Sends a command to a live coordinator and says what it answered.
pub(crate) fn ask(store: &Store, run: &RunId, command: &Command, as_json: bool) -> Result<u8, CommandError> {
    if let Some(holder) = store.lease(run)?.filter(|holder| holder.purpose != Purpose::Run) {
        return Err(JournalError::Held { run: run.clone(), holder }.into());
    }
    let id = store.send(run, command)?;
    let mut waited = Duration::ZERO;
    let answer = loop {
        match store.wait_for_answer(id, LOOK_AGAIN)? {
            None if waited < PATIENCE && store.lease(run)?.is_some() => waited += LOOK_AGAIN,
            answer => break answer,
        }
    };
    let Some(answer) = answer else {
        if store.lease(run)?.is_none() && matches!(command, Command::Stop { .. }) {
            return say(Ok("it has ended".to_owned()), run, as_json);
        }
        let message = format!("run {run} has not answered yet; the command is recorded and will be carried out");
        return Err(CommandError::new(ErrorKind::Failed, message).hint(format!("`orchestrate status {run}` shows it")));
    };
    say(answer, run, as_json)
}

/// Sends a command; without a live coordinator takes the run over, and gives the run's exit code.
pub(crate) fn ask_or_take_over(
    context: &Context,
    (store, run): (&Store, &RunId),
    command: &Command,
    typed: Vec<(&'static str, String)>,
) -> Result<u8, CommandError> {
    if store.lease(run)?.is_some() {
        let format = typed.into_iter().find(|(name, _)| *name == "output_format").map(|(_, format)| format);
        let format = format.or_else(|| context.output_format());
        return ask(store, run, command, matches!(format.as_deref(), Some("json" | "stream-json")));
    }
    let mut loaded = context.load(typed, Layer::default())?;
    let style = follow::style(&loaded.resolved, context.terminal);
    follow::log(style);
    let state = store.state(run)?;
    loaded.run = state.settings;
    follow::require_sandbox(&loaded, run)?;
    let settings = settings_of(&loaded, &context.directories()?);
    let runtime = follow::runtime()?;
    let code = runtime.block_on(take_over(context, (run, command), settings, (style, state.seq)));
    runtime.shutdown_background();
    code
}

async fn take_over(
    context: &Context,
    (run, command): (&RunId, &Command),
    settings: orchestrate_coordinator::Settings,
    (style, begun): (Style, u64),
) -> Result<u8, CommandError> {
    let coordinator = Coordinator::open(&context.directory, settings)?;
    if !style.quiet {
        output::note(&format!("nobody works on run {run}: taking it over"));
    }
    match coordinator.resume_with(run, command.clone()).await? {
        Ok((taken, said)) => {
            if !style.quiet {
                output::note(&said);
            }
            follow::follow(taken, style, begun).await
        }
        Err(refused) => Err(refusal(run, &refused)),
    }
}

fn say(answer: Result<String, String>, run: &RunId, as_json: bool) -> Result<u8, CommandError> {
    match answer {
        Ok(said) if as_json => output::json(&json!({"run_id": run.as_str(), "answer": said})),
        Ok(said) => output::line(&said),
        Err(refused) => Err(refusal(run, &refused)),
    }
    .map(|()| EXIT_OK)
}

fn refusal(run: &RunId, why: &str) -> CommandError {
    CommandError::usage(why).hint(format!("`orchestrate status {run}` shows how it stands"))
}
