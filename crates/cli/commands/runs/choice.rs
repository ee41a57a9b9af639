//! Shows the ways to read a plan that can be read in several, and asks for one.

use crate::args::{MODEL, ReadWay};
use crate::context::Context;
use crate::error::CommandError;
use crate::plan_file::PlanFile;
use crate::show::{output, parked_call};

/// Shows the ways to read a plan, if there are several, and asks for one if the user can be asked;
/// returns `None` if none is chosen.
pub(crate) fn of_reading(
    context: &Context,
    file: &PlanFile,
) -> Result<Option<ReadWay>, CommandError> {
    let readings = file.readings();
    if readings.is_empty() {
        return Ok(None);
    }
    let table = orchestrate_plan::render_readings(&readings);
    if !context.terminal.can_ask {
        output::note(table.trim_matches('\n'));
        return Ok(None);
    }
    let shown = &file.source.shown;
    if !parked_call::show(&format!("{shown} can be read in several ways\n{table}"))? {
        return Ok(None);
    }
    let mut words: Vec<&str> = readings
        .iter()
        .map(|reading| reading.read.as_str())
        .collect();
    words.push(MODEL);
    let question = format!(
        "Which one is meant: {}? ({MODEL}: a model rewrites it first; Enter: none) ",
        words.join(", ")
    );
    loop {
        match output::ask(&question) {
            Some(answer) if words.contains(&answer.as_str()) => {
                return Ok(ReadWay::named(&answer));
            }
            Some(answer) if !answer.is_empty() => {
                output::note(&format!("`{answer}` is none of these"));
            }
            _ => return Ok(None),
        }
    }
}
