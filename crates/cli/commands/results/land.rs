//! `land`: merges a run's result into the branch that it started from, or undoes that.

use orchestrate_coordinator::{Archive, Boxes, Brought, LandOptions, LandStyle, Landed, Proposed};
use orchestrate_core::run::EXIT_OK;
use orchestrate_core::{Event, RunId, shell_word};
use orchestrate_journal::Store;
use orchestrate_settings::{Layer, Loaded};

use crate::args::LandArgs;
use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::follow::display::Format;
use crate::follow::landing::{message, until_signalled, words};
use crate::follow::run;
use crate::json::{BoxesReport, Envelope, EventLine, LandReport, Output, ProposedReport};
use crate::show::{failure, next, output};

/// More events than a landing records: at most the outcome of an older one, its own beginning, and
/// its end.
const FACTS: usize = 8;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &LandArgs) -> Result<u8, CommandError> {
    let mut typed = arguments.output.values();
    if arguments.no_write_back {
        typed.push(("no_write_back", "true".to_owned()));
    }
    typed.extend(
        arguments
            .message
            .clone()
            .map(|message| ("land.message", message)),
    );
    let loaded = context.load(typed, Layer::default())?;
    let style = run::style(&loaded.resolved, context.terminal);
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    if arguments.pr {
        return propose(context, &loaded, &run, style.format);
    }
    let begun = store.state(&run)?.seq;
    let landed = if arguments.undo {
        until_signalled(context, &loaded, async |runs, options| {
            runs.unland(&run, &options).await
        })?
    } else {
        let (style, hooks) = (arguments.style(), arguments.hooks);
        let land = async |runs: &Archive, options| {
            runs.land(
                &run,
                &LandOptions {
                    style,
                    hooks,
                    ..options
                },
            )
            .await
        };
        until_signalled(context, &loaded, land)?
    };
    if arguments.message.is_some() && landed.brought == Brought::FastForward {
        output::warning("the message was not used, since a fast-forward makes no commit");
    }
    landed
        .warnings
        .iter()
        .for_each(|warning| output::warning(warning));
    let in_words = matches!(style.format, Format::Text | Format::Markers);
    if !arguments.undo && in_words {
        offer_pruning(context, &loaded);
    }
    match style.format {
        Format::Text => output::result(&words(&landed, arguments.undo, arguments.hooks)),
        Format::Markers => {
            output::note(words(&landed, arguments.undo, arguments.hooks).trim_end());
            Ok(())
        }
        Format::Json => {
            let output = report(landed, arguments.undo, None);
            output::json(&Envelope::new(Some(&run), output))
        }
        Format::StreamJson => stream(&store, begun, landed, arguments.undo),
    }
    .map(|()| 0)
}

/// Prints how to remove what older runs have left, if some of it has landed.
fn offer_pruning(context: &Context, loaded: &Loaded) {
    let keep_runs = loaded.resolved.keep_runs();
    let settings = context.settings(loaded);
    let found = settings.and_then(|settings| {
        Ok(Archive::open(&context.directory, settings)?.has_prunable(keep_runs)?)
    });
    match found {
        Ok(true) => output::note(&format!(
            "landed runs older than the newest {keep_runs} still have branches: `orchestrate clean \
             --landed` removes them"
        )),
        Ok(false) => {}
        // The result has landed whatever is wrong with older runs.
        Err(error) => output::warning(&format!(
            "older runs that have landed cannot be listed: {}",
            error.in_one_line()
        )),
    }
}

/// Pushes the result and opens a pull request; if that fails, prints why and how to do it by hand.
fn propose(
    context: &Context,
    loaded: &Loaded,
    run: &RunId,
    format: Format,
) -> Result<u8, CommandError> {
    let runs = Archive::open(&context.directory, context.settings(loaded)?)?.telling(output::note);
    let proposed = run::runtime()?.block_on(runs.propose(run, message(loaded)?.as_ref()))?;
    let Proposed {
        run,
        remote,
        head,
        base,
        opened,
        failure,
        commands,
        skipped_hooks,
        warnings,
    } = proposed;
    warnings.iter().for_each(|warning| output::warning(warning));
    let failure =
        failure.map(|failure| CommandError::new(ErrorKind::Failed, format!("failed to {failure}")));
    let exit_code = failure.as_ref().map_or(EXIT_OK, CommandError::exit_code);
    if matches!(format, Format::Json | Format::StreamJson) {
        let failure = failure.map(|failure| failure.in_one_line());
        let updated = opened.as_ref().is_some_and(|opened| opened.was_open);
        let opened = opened.map(|opened| opened.said);
        let proposed = Output::Proposed(ProposedReport {
            exit_code,
            remote,
            head,
            base,
            opened,
            updated,
            error: failure,
            commands,
            skipped_hooks: owned(&skipped_hooks),
            warnings,
        });
        return output::json(&Envelope::new(Some(&run), proposed)).map(|()| exit_code);
    }
    let mut text = format!("run {run} is pushed to {remote} as {head}, for {base}\n");
    if !skipped_hooks.is_empty() {
        let hooks = skipped_hooks.join(", ");
        let remote = shell_word(&remote);
        let head = shell_word(&head);
        let way = format!("`git push {remote} {head}`, typed before `land --pr`, has it run");
        text.push_str(&format!("hooks not run: {hooks} ({way})\n"));
    }
    match opened {
        Some(opened) if opened.was_open => {
            text.push_str(&format!(
                "the pull request was open already, and is updated: {}\n",
                opened.said
            ));
        }
        Some(opened) => text.push_str(&format!("{}\n", opened.said)),
        None => text.push_str(&next::render(&commands)),
    }
    if let Some(failure) = failure {
        output::drawn(&failure::render(&failure, context.terminal));
    }
    match format {
        Format::Markers => output::note(text.trim_end()),
        _ => output::result(&text)?,
    }
    Ok(exit_code)
}

impl LandArgs {
    fn style(&self) -> LandStyle {
        match (self.squash, self.rebase) {
            (true, _) => LandStyle::Squash,
            (_, true) => LandStyle::Rebase,
            _ => LandStyle::Merge,
        }
    }
}

/// Prints the events that a landing has recorded; its report replaces the last, as that of a run
/// does at its end.
fn stream(store: &Store, begun: u64, landed: Landed, undone: bool) -> Result<(), CommandError> {
    let run = landed.run.clone();
    let state = store.state(&run)?;
    for fact in store.events(&run, begun, FACTS)? {
        let is_replaced = match &fact.event {
            Event::RunLanded { .. } => !undone,
            Event::RunUnlanded { .. } => undone,
            _ => false,
        };
        if !(is_replaced && fact.seq == state.seq) {
            output::json(&EventLine::new(&fact).in_envelope(&fact))?;
        }
    }
    let output = report(landed, undone, Some(state.seq));
    output::json(&Envelope::at(state.updated_ms, Some(&run), output))
}

fn report(landed: Landed, undone: bool, seq: Option<u64>) -> Output {
    let boxes = match landed.boxes {
        Boxes::Written(path) => Some(BoxesReport {
            written: Some(path.display().to_string()),
            reason: None,
        }),
        Boxes::Left { reason, .. } => Some(BoxesReport {
            written: None,
            reason: Some(reason),
        }),
        Boxes::Nothing => None,
    };
    let report = LandReport {
        exit_code: EXIT_OK,
        seq,
        branch: landed.branch,
        from: landed.from,
        to: landed.to,
        merged: landed.brought == Brought::Merge,
        brought: landed.brought.as_str().to_owned(),
        signed: landed.is_signed,
        skipped_hooks: owned(&landed.skipped_hooks),
        warnings: landed.warnings,
        boxes,
    };
    match undone {
        true => Output::Unlanded(report),
        false => Output::Landed(report),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
