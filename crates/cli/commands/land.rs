//! `land`: brings a run's result into the branch that it started from, and takes it back.

use orchestrate_coordinator::settings::{Layer, Loaded};
use orchestrate_coordinator::{Boxes, Cancel, CoordinatorError, LandOptions, Landed, Refusal, Runs, settings_of};
use orchestrate_core::{Recorded, RunId};
use orchestrate_journal::Store;
use serde_json::{Value, json};

use crate::args::LandArgs;
use crate::context::Context;
use crate::display::Format;
use crate::error::{CommandError, ErrorKind};
use crate::progress::short;
use crate::signals::Attention;
use crate::{follow, next, output};

/// More facts than a landing records: at most that an older one was lost, its own, and that git refused it.
const FACTS: usize = 8;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &LandArgs) -> Result<u8, CommandError> {
    let mut typed = arguments.output.values();
    if arguments.no_write_back {
        typed.push(("no_write_back", "true".to_owned()));
    }
    let loaded = context.load(typed, Layer::default())?;
    let style = follow::style(&loaded.resolved, context.terminal);
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let begun = store.state(&run)?.seq;
    let landed = if arguments.undo {
        attended(context, &loaded, |runs, options| runs.unland(&run, options))?
    } else {
        bring(context, &loaded, &run)?
    };
    landed.warnings.iter().for_each(|warning| output::warning(warning));
    match style.format {
        Format::Text => output::result(&words(&landed, arguments.undo)),
        Format::Json => output::json(&object(&landed, arguments.undo)),
        Format::StreamJson => stream((&store, &run), begun, &object(&landed, arguments.undo)),
    }
    .map(|()| 0)
}

/// Prints the facts that a landing has recorded; the object takes the place of its own, as a run's does at its end.
fn stream((store, run): (&Store, &RunId), begun: u64, object: &Value) -> Result<(), CommandError> {
    let state = store.state(run)?;
    let facts = store.events(run, begun, FACTS)?;
    let lines = facts.iter().map(Recorded::stream_json);
    for line in lines.filter(|line| line["seq"] != state.seq || line["type"] != object["type"]) {
        output::json(&line)?;
    }
    output::json(&follow::last_line(object, state.updated_ms, state.seq))
}

/// Lands a run.
pub(crate) fn bring(context: &Context, loaded: &Loaded, run: &RunId) -> Result<Landed, CommandError> {
    attended(context, loaded, |runs, options| runs.land(run, options))
}

/// Lands or takes back, unless a signal asks to stop before anything is moved.
fn attended(
    context: &Context,
    loaded: &Loaded,
    act: impl FnOnce(&Runs, &LandOptions) -> Result<Landed, CoordinatorError>,
) -> Result<Landed, CommandError> {
    let attention = Attention::listen()?;
    let (runs, options) = open(context, loaded)?;
    let options = LandOptions { cancel: attention.cancel.clone(), ..options };
    act(&runs, &options).map_err(|error| match error {
        CoordinatorError::Refused(interrupted @ Refusal::Interrupted { .. }) => {
            CommandError::new(ErrorKind::Interrupted(attention.exit_code()), format!("failed to {interrupted}"))
        }
        error => error.into(),
    })
}

fn open(context: &Context, loaded: &Loaded) -> Result<(Runs, LandOptions), CommandError> {
    let runs = Runs::open(&context.directory, settings_of(loaded, &context.directories()?))?;
    let runs = if loaded.resolved.is_on("quiet") { runs } else { runs.telling(output::note) };
    let write_back = !loaded.resolved.is_on("no_write_back");
    Ok((runs, LandOptions { directory: context.directory.clone(), write_back, cancel: Cancel::new() }))
}

/// Says for people what landing, or undoing it, did.
pub(crate) fn words(landed: &Landed, undone: bool) -> String {
    let Landed { run, branch, from, to, .. } = landed;
    let (from, to) = (short(from.as_str()), short(to.as_str()));
    let mut text = match (undone, from == to, landed.merged) {
        (false, true, _) if landed.is_empty => format!(
            "run {run} has nothing to land: none of its work was merged; `orchestrate review {run}` shows its branches\n"
        ),
        (true, ..) => format!("the landing of run {run} is undone: {branch} is back at {to}\n"),
        (false, true, _) => format!("{branch} has everything of run {run} already, at {to}\n"),
        (false, false, true) => {
            format!("run {run} has landed: {branch} went from {from} to {to}, a merge with its new commits\n")
        }
        (false, false, false) => format!("run {run} has landed: {branch} went from {from} to {to}, a fast-forward\n"),
    };
    match &landed.boxes {
        Boxes::Written(path) => {
            let done = if undone { "are as they were" } else { "were ticked; the edit is not committed" };
            text.push_str(&format!("the boxes in {} {done}\n", path.display()));
        }
        Boxes::Left { plan, reason } => {
            text.push_str(&format!("the boxes in {plan} were left as they are: {reason}\n"))
        }
        Boxes::Nothing => {}
    }
    let next = match (undone, from == to) {
        (true, _) => vec![format!("orchestrate land {run}")],
        (false, true) => Vec::new(),
        (false, false) => vec![format!("orchestrate land --undo {run}"), format!("orchestrate clean {run}")],
    };
    text.push_str(&next::render(&next));
    text
}

fn object(landed: &Landed, undone: bool) -> Value {
    let boxes = match &landed.boxes {
        Boxes::Written(path) => json!({"written": path.display().to_string(), "reason": null}),
        Boxes::Left { reason, .. } => json!({"written": null, "reason": reason}),
        Boxes::Nothing => Value::Null,
    };
    json!({
        "type": if undone { "run.unlanded" } else { "run.landed" },
        "run_id": landed.run,
        "exit_code": 0,
        "branch": landed.branch,
        "from": landed.from,
        "to": landed.to,
        "merged": landed.merged,
        "warnings": landed.warnings,
        "boxes": boxes,
    })
}
