//! `resume`: continues a run that was stopped or killed, or that waits for the user, with what was
//! requested of it meanwhile.

use std::time::Duration;

use orchestrate_coordinator::{Coordinator, Settings};
use orchestrate_core::Allowance;
use orchestrate_settings::Layer;

use crate::args::ResumeArgs;
use crate::commands::runs::stay;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::{inbox, landing, run};
use crate::show::output;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ResumeArgs) -> Result<u8, CommandError> {
    let mut typed = arguments.output.values();
    typed.extend(arguments.timeout.clone().map(|time| ("timeout", time)));
    typed.extend(
        arguments
            .budget_tokens
            .clone()
            .map(|tokens| ("budget_tokens", tokens)),
    );
    typed.extend(arguments.budget_usd.clone().map(|usd| ("budget_usd", usd)));
    let mut loaded = context.load(typed, Layer::default())?;
    // As for a new run, the user's own files set the maximum.
    let allowance = Allowance {
        time: arguments
            .timeout
            .as_ref()
            .and(loaded.run.timeout_ms)
            .map(Duration::from_millis),
        tokens: arguments
            .budget_tokens
            .as_ref()
            .and(loaded.run.budget_tokens),
        micro_usd: arguments
            .budget_usd
            .as_ref()
            .and(loaded.run.budget_micro_usd),
    };
    let style = run::style(&loaded.resolved, context.terminal);
    run::log(style);
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let begun = store.state(&run)?.seq;
    loaded.run = (*store.state(&run)?.settings).clone();
    run::require_sandbox(&loaded, &run)?;
    let settings = Settings {
        stays_for_people: arguments.stay,
        ..context.settings(&loaded)?
    };
    let listener = stay::listener(context, arguments.stay);
    let runtime = run::runtime()?;
    let ended: Result<_, CommandError> = runtime.block_on(async {
        let coordinator = Coordinator::open(&context.directory, settings)?;
        if !style.quiet {
            output::note(&run::tier(&coordinator, &loaded.switches_given));
            output::note(&format!("run {run}"));
        }
        let run = coordinator.resume_within(&run, allowance).await?;
        inbox::tell_answers(&run, style);
        let followed = run::to_its_end(run, style, begun, listener);
        run::warning_of_programs(&coordinator, &loaded, style, followed).await
    });
    runtime.shutdown_background();
    landing::finish(context, &loaded, ended?)
}
