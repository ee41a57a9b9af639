//! What follows a run if its settings ask for it: landing, also for the command `land`, and the
//! file of its plan.

use orchestrate_coordinator::{
    Archive, Boxes, Brought, Cancel, LandOptions, LandStyle, Landed, LandingError, ResultRefusal,
    RunningChecks,
};
use orchestrate_core::projections::report::status_name;
use orchestrate_core::run::outcome_if_not_landed;
use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_core::{Report, RunId, RunState};
use orchestrate_settings::Loaded;

use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::follow::display::{Display, Style};
use crate::follow::planned;
use crate::follow::run::{Followed, runtime, style};
use crate::follow::signals::Attention;
use crate::show::progress::short;
use crate::show::{failure, next, output};

/// The hooks that look at the files of a commit before it is made.
const BEFORE_COMMIT: [&str; 2] = ["pre-commit", "pre-merge-commit"];

/// Lands a run that has ended and writes the plan that it has made, if its settings ask for it;
/// prints its report, and returns the exit code.
pub(crate) fn finish(
    context: &Context,
    loaded: &Loaded,
    mut followed: Followed,
) -> Result<u8, CommandError> {
    let state = followed.state()?;
    let planned = planned::write_due(&state, &followed.store);
    if let Ok(Some(made)) = &planned {
        followed.take_plan(made, &context.directory);
    }
    let landed = bring_due(context, loaded, &state);
    let errors = [planned.as_ref().err(), landed.as_ref().err()];
    for error in errors.into_iter().flatten() {
        not_landed(&mut followed.report, error);
    }
    let printed = followed.print();
    if let Err(error) = planned {
        output::drawn(&failure::render(&error, context.terminal));
    }
    match landed {
        Ok(None) => {}
        Ok(Some(landed)) => {
            output::warnings(&landed.warnings);
            output::note(words(&landed, false, false).trim_end());
        }
        // The report has the exit code already, and stays the only JSON object: the error goes to
        // standard error.
        Err(error) => output::drawn(&failure::render(&error, context.terminal)),
    }
    printed
}

/// Lands a run if its settings ask for it, it has succeeded, and there is nothing in it that a
/// person should look at.
fn bring_due(
    context: &Context,
    loaded: &Loaded,
    state: &RunState,
) -> Result<Option<Landed>, CommandError> {
    if !state.is_to_be_landed() {
        return Ok(None);
    }
    let cautions: Vec<String> = state.cautions().iter().map(ToString::to_string).collect();
    if !cautions.is_empty() {
        let run = state.run_id.clone();
        return Err(LandingError::from(ResultRefusal::Cautions { run, cautions }).into());
    }
    bring(context, loaded, &state.run_id).map(Some)
}

/// Sets the status and exit code of a report to those of the failed landing of its run, which
/// succeeded.
fn not_landed(report: &mut Report, error: &CommandError) {
    let (status, code) = outcome_if_not_landed(error.exit_code());
    (report.status, report.exit_code) = (status_name(status).to_owned(), Some(code));
}

/// Lands a run.
pub(crate) fn bring(
    context: &Context,
    loaded: &Loaded,
    run: &RunId,
) -> Result<Landed, CommandError> {
    until_signalled(context, loaded, async |runs, options| {
        runs.land(run, &options).await
    })
}

/// Lands, or undoes a landing, unless a signal asks to stop before anything has moved.
pub(crate) fn until_signalled(
    context: &Context,
    loaded: &Loaded,
    act: impl AsyncFnOnce(&Archive, LandOptions) -> Result<Landed, LandingError>,
) -> Result<Landed, CommandError> {
    let attention = Attention::listen()?;
    let (runs, options) = open(context, loaded)?;
    let options = LandOptions {
        cancel: attention.cancel.clone(),
        ..options
    };
    let style = style(&loaded.resolved, context.terminal);
    let running = runs.running_checks();
    let shown = async { showing(style, &running, act(&runs, options)).await };
    let landed = runtime()?.block_on(shown);
    landed.map_err(|error| interruptible(error, &attention))
}

/// Waits for an operation, and shows meanwhile the last line of each check that it runs.
async fn showing<T>(
    style: Style,
    running: &RunningChecks,
    operation: impl Future<Output = T>,
) -> T {
    tokio::pin!(operation);
    let mut display = Display::new(style);
    let mut ticks = display.ticks();
    loop {
        tokio::select! {
            biased;
            ended = &mut operation => {
                // What is said of the landing is written afterwards, and fails then if nobody reads
                // it.
                let _ = display.end();
                return ended;
            }
            _ = ticks.tick() => {}
        }
        display.checks(&running.now());
    }
}

/// Converts an error; an interruption gets the exit code of its signal.
pub(crate) fn interruptible(error: LandingError, attention: &Attention) -> CommandError {
    match error {
        LandingError::Refused(ResultRefusal::Interrupted { .. }) => {
            CommandError::from(error).of_kind(ErrorKind::Interrupted(attention.exit_code()))
        }
        error => error.into(),
    }
}

fn open(context: &Context, loaded: &Loaded) -> Result<(Archive, LandOptions), CommandError> {
    let runs = Archive::open(&context.directory, context.settings(loaded)?)?;
    let runs = match loaded.resolved.is_on("quiet") {
        true => runs,
        false => runs.telling(output::note),
    };
    let options = LandOptions {
        directory: context.directory.clone(),
        write_back: !loaded.resolved.is_on("no_write_back"),
        style: LandStyle::Merge,
        message: message(loaded)?,
        hooks: false,
        cancel: Cancel::new(),
    };
    Ok((runs, options))
}

/// Returns the template of the landing's message.
pub(crate) fn message(loaded: &Loaded) -> Result<Option<MessageTemplate>, CommandError> {
    let text = loaded.resolved.text("land.message");
    let parsed = text.map(|text| MessageTemplate::parse(&text)).transpose();
    parsed.map_err(|unknown| CommandError::usage(format!("failed to {unknown}")))
}

/// Describes the result of landing, or of undoing it, for people; `hooks` says whether hooks were
/// asked for.
pub(crate) fn words(landed: &Landed, undone: bool, hooks: bool) -> String {
    let (run, branch) = (&landed.run, &landed.branch);
    let (from, to) = (short(&landed.from), short(&landed.to));
    let moved = format!("run {run} has landed: {branch} went from {from} to {to}");
    let mut text = match landed.brought {
        _ if undone && landed.from == landed.to => format!(
            "the landing of run {run} is undone: {branch} stays at {to}, since it contained the \
             result before `land` was typed\n"
        ),
        _ if undone => format!("the landing of run {run} is undone: {branch} is back at {to}\n"),
        Brought::Nothing if landed.is_empty => format!(
            "run {run} has nothing to land, since none of its work was merged; `orchestrate review \
             {run}` shows its branches\n"
        ),
        Brought::Nothing => format!("{branch} already contains run {run}, at {to}\n"),
        Brought::FastForward => format!("{moved}, a fast-forward\n"),
        Brought::Merge => format!("{moved}, merged with its new commits\n"),
        Brought::Squash => format!("{moved}, as one commit\n"),
        Brought::Rebase => format!("{moved}, one commit for each task\n"),
    };
    if landed.is_signed == Some(false) {
        text.push_str(
            "the agents' own commits are not signed; `orchestrate land --squash` or `--rebase` \
             signs all that lands\n",
        );
    }
    if !landed.skipped_hooks.is_empty() {
        text.push_str(&not_run(&landed.skipped_hooks, hooks));
    }
    match &landed.boxes {
        Boxes::Written(path) => {
            let path = path.display();
            text += &match undone {
                true => format!("the boxes in {path} are as before\n"),
                false => {
                    format!("the boxes in {path} were ticked; the edit is not committed\n")
                }
            };
        }
        Boxes::Left { plan, reason } => {
            text += &format!("the boxes in {plan} were left unchanged: {reason}\n");
        }
        Boxes::Nothing => {}
    }
    let next = match (undone, from == to) {
        (true, _) => vec![format!("orchestrate land {run}")],
        (false, true) => Vec::new(),
        (false, false) => vec![
            format!("orchestrate land --undo {run}"),
            format!("orchestrate clean {run}"),
        ],
    };
    text.push_str(&next::render(&next));
    text
}

/// Names the hooks that were not run, and says why, or how to have them run.
fn not_run(hooks: &[&str], were_asked_for: bool) -> String {
    let all = hooks.iter().copied();
    let (before, others): (Vec<&str>, _) = all.partition(|hook| BEFORE_COMMIT.contains(hook));
    let mut reasons = Vec::new();
    if !before.is_empty() {
        let before = before.join(", ");
        reasons.push(format!(
            "{before} would not find the merged files, so no landing runs it"
        ));
    }
    if !others.is_empty() {
        let others = others.join(", ");
        reasons.push(match were_asked_for {
            true => format!(
                "{others} runs only where the branch is checked out, and if what lands changes no \
                 hooks"
            ),
            false => format!("`--hooks` runs {others}"),
        });
    }
    let (hooks, reasons) = (hooks.join(", "), reasons.join("; "));
    format!("hooks not run: {hooks} ({reasons})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_was_not_run_has_its_reason() {
        let none = "pre-commit would not find the merged files, so no landing runs it";
        let table: [(&[&str], bool, String); 5] = [
            (
                &["post-merge"],
                false,
                "post-merge (`--hooks` runs post-merge)".to_owned(),
            ),
            (&["pre-commit"], false, format!("pre-commit ({none})")),
            (&["pre-commit"], true, format!("pre-commit ({none})")),
            (
                &["pre-commit", "commit-msg", "post-merge"],
                false,
                format!(
                    "pre-commit, commit-msg, post-merge ({none}; `--hooks` runs commit-msg, \
                     post-merge)"
                ),
            ),
            (
                &["post-merge"],
                true,
                "post-merge (post-merge runs only where the branch is checked out, and if what \
                 lands changes no hooks)"
                    .to_owned(),
            ),
        ];
        for (hooks, were_asked_for, expected) in table {
            assert_eq!(
                not_run(hooks, were_asked_for),
                format!("hooks not run: {expected}\n")
            );
        }
    }
}
