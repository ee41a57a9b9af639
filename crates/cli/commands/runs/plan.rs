//! `plan`: makes a plan of a goal or rewrites a document as one, with the role `planner`; nothing
//! of it is run.

use crate::args::PlanArgs;
use crate::commands::runs::ready::Ready;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::planned;
use crate::plan_file::Typed;
use crate::plan_text::PlanText;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &PlanArgs) -> Result<u8, CommandError> {
    let mut settings = arguments.settings.values();
    settings.extend(arguments.shown.values());
    let file = planned::choose(context, arguments.output.as_deref())?;
    let text = PlanText::read(context, &arguments.document)?;
    let typed = Typed {
        settings,
        ..Typed::default()
    };
    let mut ready = Ready::open(context, text, typed)?;
    let plan = ready.file.to_be_made()?;
    ready.file.loaded.run.plan_file = Some(file);
    ready.carry_out(context, plan)
}
