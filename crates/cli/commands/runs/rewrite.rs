//! `run --read model`: has a document rewritten as a plan by the role `planner`, and runs that plan
//! once the user has seen it.
//!
//! The rewriting is a run of its own, which is recorded like any other. The plan's run has what
//! that one has left of the budgets.

use orchestrate_core::projections::report::ReportUsage;
use orchestrate_core::run::EXIT_OK;

use orchestrate_plan::Plan;

use crate::commands::runs::ready::{Ended, Ready, Rewriting};
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::planned::{self, STANDARD_OUTPUT};
use crate::plan_file::{self, PlanFile, Typed};
use crate::plan_text::PlanText;
use crate::show::{output, parked_call};

/// The question before the plan is run.
const QUESTION: &str = "Run this plan? [y/N] ";

/// Has a document rewritten, shows the plan, and runs it if the user wants that; `yes` says so in
/// advance.
pub(crate) fn execute(
    context: &Context,
    mut ready: Ready,
    typed: Typed,
    yes: bool,
) -> Result<u8, CommandError> {
    if !yes && !context.terminal.can_ask {
        return Err(nobody_to_ask(&ready.file.source));
    }
    let task = ready.file.to_be_made()?;
    ready.file.loaded.run.plan_file = Some(STANDARD_OUTPUT.to_owned());
    // The run that makes the plan decides nothing.
    let stays = std::mem::take(&mut ready.stays);
    let followed = match ready.follow(context, task, None)? {
        Ended::Followed(followed) => followed,
        idle => return ready.finish(context, idle),
    };
    let made = planned::write_due(&followed.state()?, &followed.store)?;
    let Some(made) = made.filter(|_| followed.report.exit_code == Some(EXIT_OK)) else {
        return ready.finish(context, Ended::Followed(followed));
    };
    let run = followed.report.run_id.clone();
    let whole = format!("{}\n{}", made.rewritten.plan, made.comparison());
    if yes && !ready.file.loaded.resolved.is_on("quiet") {
        output::note(&whole);
    }
    let is_confirmed = yes || (parked_call::show(&whole)? && output::confirm(QUESTION));
    if !is_confirmed {
        let error = CommandError::usage("nothing of the plan was run");
        return Err(error.hint(format!(
            "the plan is kept: `orchestrate status {run}` shows it"
        )));
    }
    let not_run = made.not_run();
    let document = ready.file.source;
    let source = document.remade(made.rewritten.plan);
    let mut of_plan = Ready {
        file: plan_file::open(context, source, typed, Some(&ready.project))?,
        project: ready.project,
        stays,
    };
    spend(&mut of_plan.file, &followed.report.usage);
    let plan = Plan {
        skipped: not_run,
        ..of_plan.file.plan()?
    };
    let rewriting = Rewriting {
        document: document.text,
        answer: made.answer,
    };
    let ended = of_plan.follow(context, plan, Some(rewriting))?;
    of_plan.finish(context, ended)
}

/// Takes what the rewriting has used from the budgets of the plan's run.
fn spend(file: &mut PlanFile, used: &ReportUsage) {
    let run = &mut file.loaded.run;
    let tokens = used.input_tokens.saturating_add(used.output_tokens);
    run.budget_tokens = run
        .budget_tokens
        .map(|budget| budget.saturating_sub(tokens));
    let cost = used.cost_micro_usd.unwrap_or(0);
    run.budget_micro_usd = run
        .budget_micro_usd
        .map(|budget| budget.saturating_sub(cost));
}

fn nobody_to_ask(document: &PlanText) -> CommandError {
    let argument = document.argument();
    let message =
        "nobody can be asked whether to run what a model makes of the document; nothing was run";
    CommandError::usage(message)
        .hint("`--yes` runs it without a question")
        .hint(format!(
            "`orchestrate plan {argument} -o made.md` makes a plan of it for you to review"
        ))
}
