//! `run`: runs a plan.

use crate::args::{ReadWay, RunArgs};
use crate::commands::runs::ready::Ready;
use crate::commands::runs::{choice, rewrite};
use crate::context::Context;
use crate::error::CommandError;
use crate::plan_file::Typed;
use crate::plan_text::{Origin, PlanText};
use crate::show::terminal::Terminal;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &RunArgs) -> Result<u8, CommandError> {
    // Whoever writes to standard input can be asked, so that calls wait for a decision.
    let context = &Context {
        terminal: Terminal {
            headless: context.terminal.headless && !arguments.stay,
            ..context.terminal
        },
        ..context.clone()
    };
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
    if arguments.stay && text.origin == Origin::Input {
        let message =
            "`--stay` takes requests from standard input, so the plan cannot come from it";
        return Err(CommandError::usage(message).hint("write the plan to a file"));
    }
    let mut ready = Ready::open(context, text, typed.clone())?;
    ready.stays = arguments.stay;
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
