//! `drop`: takes a task's work out of a run's result.

use orchestrate_coordinator::{Archive, Dropped};
use orchestrate_settings::Layer;

use crate::args::DropArgs;
use crate::context::{Context, task_of};
use crate::error::CommandError;
use crate::follow::landing::interruptible;
use crate::follow::run::runtime;
use crate::follow::signals::Attention;
use crate::json::{DroppedReport, Envelope, Output};
use crate::show::next;
use crate::show::output::{self, joined};
use crate::show::progress::short;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &DropArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let task = task_of(&store.state(&run)?, &arguments.task)?;
    let loaded = context.load(Vec::new(), Layer::default())?;
    let attention = Attention::listen()?;
    let runs = Archive::open(&context.directory, context.settings(&loaded)?)?.telling(output::note);
    let (with_dependents, cancel) = (arguments.with_dependents, &attention.cancel);
    let dropped = runtime()?.block_on(runs.drop_task(&run, &task, with_dependents, cancel));
    let Dropped {
        run,
        tasks,
        result,
        is_rebuilt,
        unreviewed,
        goes_on,
    } = dropped.map_err(|error| interruptible(error, &attention))?;
    if arguments.json.json {
        let dropped = Output::Dropped(DroppedReport {
            tasks,
            integration_commit: result,
            rebuilt: is_rebuilt,
            unreviewed,
            goes_on,
        });
        output::json(&Envelope::new(Some(&run), dropped))?;
        return Ok(0);
    }
    let (names, it) = (joined(&tasks), if tasks.len() == 1 { "it" } else { "them" });
    let mut text = match is_rebuilt {
        true => format!(
            "{names} dropped: the result of run {run} is {} without {it}\n",
            short(&result)
        ),
        false => format!("{names} dropped: the result of run {run} did not contain {it}\n"),
    };
    text.push_str("branches and snapshots are kept\n");
    if !unreviewed.is_empty() {
        let tasks = joined(&unreviewed);
        text += &format!("without a review now, and merged by the next resume: {tasks}\n");
    }
    let step = match goes_on || !unreviewed.is_empty() {
        true => "resume",
        false => "land",
    };
    let next = [
        format!("orchestrate review {run}"),
        format!("orchestrate {step} {run}"),
    ];
    text.push_str(&next::render(&next));
    output::result(&text).map(|()| 0)
}
