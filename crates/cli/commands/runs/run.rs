//! `run`: runs a plan.

use crate::args::{ReadWay, RunArgs};
use crate::commands::runs::ready::Ready;
use crate::commands::runs::{choice, rewrite};
use crate::context::Context;
use crate::error::CommandError;
use crate::plan_file::Typed;
use crate::plan_text::PlanText;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RunArgs) -> Result<u8, CommandError> {
    let mut settings = arguments.settings.values();
    settings.extend(arguments.output.values());
    let text = PlanText::read(context, &arguments.plan)?;
    let way = text.way(arguments.reading.read);
    if arguments.yes && way != Some(ReadWay::Model) {
        let message = "`--yes` answers the question of `--read model`, and no other";
        return Err(CommandError::usage(message));
    }
    let read = match way {
        Some(ReadWay::As(way)) => Some(way),
        Some(ReadWay::Model) | None => None,
    };
    let tag = arguments.reading.tag.clone();
    if way == Some(ReadWay::Model) && tag.is_some() {
        let message = "a model rewrites the whole file, so `--tag` has no effect";
        return Err(CommandError::usage(message));
    }
    let typed = Typed {
        settings,
        read,
        tag,
    };
    if arguments.reading.is_any() {
        text.require_document()?;
    }
    // A model may rewrite a document of any format.
    if way != Some(ReadWay::Model) {
        text.require_format()?;
    }
    let mut ready = Ready::open(context, text, typed.clone())?;
    if way == Some(ReadWay::Model) {
        return rewrite::execute(context, ready, typed, arguments.yes);
    }
    let plan = match ready.file.plan() {
        Ok(plan) => plan,
        Err(refused) => match choice::of_reading(context, &ready.file)? {
            None => return Err(refused),
            Some(ReadWay::Model) => return rewrite::execute(context, ready, typed, false),
            Some(ReadWay::As(way)) => {
                ready.file.read_as(way);
                ready.file.plan()?
            }
        },
    };
    ready.carry_out(context, plan)
}
