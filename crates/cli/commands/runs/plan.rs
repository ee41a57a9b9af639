//! `plan`: makes a plan of a goal or rewrites a document as one, with the role `planner`; nothing
//! of it is run.

use crate::args::PlanArgs;
use crate::commands::runs::run;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::planned;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &PlanArgs) -> Result<u8, CommandError> {
    let mut typed = arguments.settings.values();
    typed.extend(arguments.shown.values());
    let file = planned::choose(context, arguments.output.as_deref())?;
    run::carry_out(context, &arguments.document, typed, Some(file))
}
