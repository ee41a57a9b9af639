//! A plan with nothing to do: this is reported without recording a run, so that the previous run
//! stays the newest.

use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::event::{Event, Recorded, RunStatus, VERSION};
use orchestrate_core::projections::report::{Standing, status_name};
use orchestrate_core::run::EXIT_OK;
use orchestrate_core::{Oid, Report, RunId, RunState, Schedule};
use orchestrate_plan::Plan;

use crate::error::CommandError;
use crate::follow::display::{Format, Style};
use crate::json::{Envelope, Output, RunReport};
use crate::show::output;

/// Reports whether no task of the plan can start, now or later.
pub(crate) fn is_idle(plan: &Plan) -> bool {
    Schedule::new(&plan.tasks).is_ok_and(|schedule| schedule.waves().is_empty())
}

/// Reports that there is nothing to do, in the requested format.
pub(crate) fn say(plan: &Plan, base: Oid, style: Style) -> Result<u8, CommandError> {
    match style.format {
        Format::Text | Format::Markers => {
            let why = if plan.tasks.iter().any(|task| task.status.runs()) {
                "each open task depends on one that will not run; mark that one as open or done"
            } else {
                "the plan has no open box"
            };
            let said = format!("there was nothing to do: {why}");
            // Standard output has markers only.
            if style.format == Format::Markers {
                output::note(&said)
            } else {
                output::line(&said)?
            }
        }
        Format::Json | Format::StreamJson => {
            let output = Output::run(report(plan, base)?);
            output::json(&Envelope::new(None, output))?
        }
    }
    Ok(EXIT_OK)
}

/// Returns the report of a run that has ended, without the id and the branch of a run.
fn report(plan: &Plan, base: Oid) -> Result<RunReport, CommandError> {
    let started = Event::RunStarted {
        plan: None,
        plan_source: None,
        title: plan.title.clone(),
        settings: Box::new(RunSettings::default()),
        base_commit: base,
        base_branch: None,
    };
    let added = plan.tasks.iter().cloned().map(Event::planned);
    let mut facts: Vec<Recorded> = Vec::new();
    for event in std::iter::once(started).chain(added) {
        facts.push(fact(facts.len(), event));
    }
    let unfit = |error: orchestrate_core::IllegalEvent| CommandError::internal(error.to_string());
    let skipped = RunState::replay(&facts)
        .map_err(unfit)?
        .map(|state| state.due_facts())
        .unwrap_or_default();
    for event in skipped {
        facts.push(fact(facts.len(), event));
    }
    let state = RunState::replay(&facts).map_err(unfit)?;
    let nothing = || CommandError::internal("no run was started for a plan without work");
    let state = state.ok_or_else(nothing)?;
    let report = Standing {
        state: state.into(),
        is_live: true,
    }
    .report();
    let report = Report {
        status: status_name(RunStatus::Succeeded).to_owned(),
        exit_code: Some(EXIT_OK),
        integration_branch: None,
        ..report
    };
    Ok(RunReport {
        not_run_lines: plan.skipped.clone(),
        ..RunReport::from(report)
    })
}

fn fact(before: usize, event: Event) -> Recorded {
    Recorded {
        run_id: RunId::new("r-none"),
        seq: before as u64 + 1,
        ts_ms: 0,
        v: VERSION,
        event,
    }
}
