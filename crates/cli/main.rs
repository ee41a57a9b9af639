//! The `orchestrate` program: argv, signals, colours and exit codes, and nothing else.

mod args;
mod commands;
mod context;
mod error;
mod follow;
mod given;
mod json;
mod plan_file;
mod plan_text;
mod show;

use std::ffi::OsString;
use std::process::ExitCode;

use orchestrate_core::run::{EXIT_INTERNAL, EXIT_OK, EXIT_USAGE};
use orchestrate_memory::Counted;
use rustix::fs::Mode;

use crate::args::{Arguments, Command};
use crate::commands::{calls, results, runs, setup, tasks};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::Envelope;
use crate::show::terminal::Terminal;

/// What work on content from elsewhere holds is counted.
#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn main() -> ExitCode {
    orchestrate_coordinator::run_helper_if_asked();
    report_panics();
    let code = shielded(work);
    if let Err(error) = orchestrate_coordinator::leave_control_groups() {
        show::output::warning(&format!("failed to {error}"));
    }
    ExitCode::from(code)
}

/// Runs `work`, and returns the exit code of a bug if it panics; the panic hook has then reported
/// it.
fn shielded(work: fn() -> u8) -> u8 {
    std::panic::catch_unwind(work).unwrap_or(EXIT_INTERNAL)
}

/// Runs the command line, and returns the exit code.
fn work() -> u8 {
    let given: Vec<OsString> = std::env::args_os().collect();
    let typed = args::with_run(given.clone());
    // A command of the user's own would inherit these limits.
    if !args::is_wrapper(&typed) {
        // This process holds the providers' keys, and unconfined commands run as the same user.
        if let Err(error) = orchestrate_coordinator::protect_process() {
            show::output::warning(&format!("failed to {error}"));
        }
        orchestrate_coordinator::raise_open_files();
        keep_others_from_writing();
    }
    let context = match Context::of_process() {
        Ok(context) => context,
        Err(error) => {
            show::output::drawn(&show::failure::render(&error, Terminal::dumb()));
            return error.exit_code();
        }
    };
    if let Some(code) = setup::completions::answer(&given, &context.directory) {
        return code;
    }
    show::output::hide(orchestrate_coordinator::redactor_of(
        &context.variables,
        None,
        None,
    ));
    match parse(&context, &typed) {
        Ok(arguments) => execute(&context, &arguments.command)
            .unwrap_or_else(|error| fail(&context, &typed, &error)),
        Err(code) => code,
    }
}

/// Lets nobody but the user and the group write what is made in the user's repository, refs and
/// objects among it, even where the umask is 000.
fn keep_others_from_writing() {
    let umask = rustix::process::umask(Mode::empty());
    rustix::process::umask(umask | Mode::WOTH);
}

/// Parses the command line. Otherwise prints the help, the version or the error, and returns the
/// exit code.
fn parse(context: &Context, typed: &[OsString]) -> Result<Arguments, u8> {
    let error = match args::parse(typed) {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    if let Some(error) = given::without_quotes(context, typed, &error) {
        return Err(fail(context, typed, &error));
    }
    let text = if context.terminal.colour {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    if !error.use_stderr() {
        return Err(show::output::bytes(&text).map_or_else(|error| error.exit_code(), |()| EXIT_OK));
    }
    if wants_json(context, typed) {
        let plain = error.render().to_string();
        let message = plain.trim().trim_start_matches("error: ").to_owned();
        return Err(fail(context, typed, &CommandError::usage(message)));
    }
    show::output::drawn(text.trim_end());
    Err(EXIT_USAGE)
}

fn execute(context: &Context, command: &Command) -> Result<u8, CommandError> {
    match command {
        Command::Demo(arguments) => runs::demo::execute(context, arguments),
        Command::Init(arguments) => setup::init::execute(context, arguments),
        Command::Doctor(arguments) => setup::doctor::execute(context, arguments),
        Command::Check(arguments) => runs::check::execute(context, arguments),
        Command::Plan(arguments) => runs::plan::execute(context, arguments),
        Command::Run(arguments) => runs::run::execute(context, arguments),
        Command::Status(arguments) => runs::showing::status::execute(context, arguments),
        Command::Watch(arguments) => runs::showing::watch::execute(context, arguments),
        Command::Log(arguments) => runs::showing::log::execute(context, arguments),
        Command::Review(arguments) => tasks::review::execute(context, arguments),
        Command::Diff(arguments) => tasks::diff::execute(context, arguments),
        Command::Approve(arguments) => tasks::approve::execute(context, arguments),
        Command::Adopt(arguments) => tasks::adopt::execute(context, arguments),
        Command::Open(arguments) => tasks::open::execute(context, arguments),
        Command::Reject(arguments) => tasks::reject::execute(context, arguments),
        Command::Retry(arguments) => tasks::retry::execute(context, arguments),
        Command::Drop(arguments) => tasks::drop::execute(context, arguments),
        Command::Land(arguments) => results::land::execute(context, arguments),
        Command::Resume(arguments) => runs::resume::execute(context, arguments),
        Command::Stop(arguments) => runs::stop::execute(context, arguments),
        Command::Clean(arguments) => results::clean::execute(context, arguments),
        Command::Discard(arguments) => results::discard::execute(context, arguments),
        Command::Recover(arguments) => results::recover::execute(context, arguments),
        Command::Message(arguments) => tasks::message::execute(context, arguments),
        Command::Agents(arguments) => setup::agents::execute(context, arguments),
        Command::Permissions(arguments) => setup::permissions::execute(context, arguments),
        Command::Config(arguments) => setup::config::execute(context, arguments),
        Command::Tools(arguments) => calls::tools::execute(context, arguments),
        Command::Tool(arguments) => calls::tool::execute(context, arguments),
        Command::Cache(arguments) => calls::cache::execute(context, arguments),
        Command::Audit(arguments) => calls::audit::execute(context, arguments),
        Command::Schema(arguments) => setup::schema::execute(arguments),
        Command::Completions(arguments) => setup::completions::execute(arguments),
        Command::Manual(arguments) => setup::manual::execute(arguments),
        Command::Blame(_) => Err(CommandError::not_available("`orchestrate blame`")),
    }
}

/// Reports an error in the requested format, and returns its exit code.
fn fail(context: &Context, typed: &[OsString], error: &CommandError) -> u8 {
    if error.is_silent() {
        return error.exit_code();
    }
    if wants_json(context, typed) {
        let _ = show::output::json(&Envelope::new(None, error.output()));
    }
    show::output::drawn(&show::failure::render(error, context.terminal));
    error.exit_code()
}

/// Reports whether errors have to be JSON: by the command line, else by every other source that can
/// set the format.
fn wants_json(context: &Context, typed: &[OsString]) -> bool {
    let others = || {
        args::has_format(typed)
            .then(|| context.output_format())
            .flatten()
    };
    let format = args::typed_format(typed).or_else(others);
    format.is_some_and(|format| matches!(format.as_str(), "json" | "stream-json"))
}

/// Installs a panic hook that tells the user what a panic means, and keeps its message for a bug
/// report.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        show::output::note(&format!(
            "error: bug in orchestrate (exit code {EXIT_INTERNAL}): {panic}\n\
             recorded work is kept; `orchestrate resume` continues from it"
        ));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_the_exit_code_of_a_defect() {
        assert_eq!(
            [shielded(|| 3), shielded(|| panic!("on purpose"))],
            [3, EXIT_INTERNAL]
        );
    }
}
