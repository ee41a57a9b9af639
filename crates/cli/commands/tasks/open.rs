//! `open`: starts the user's shell or editor in a task's worktree, or prints its folder where there
//! is no terminal.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::Command;

use orchestrate_core::{RunState, TaskId, shell_word};

use crate::args::OpenArgs;
use crate::context::{Context, task_of};
use crate::error::{CommandError, ErrorKind};
use crate::show::output;

/// The shell of a user whose environment names none.
const USUAL_SHELL: &str = "/bin/sh";

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &OpenArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let state = store.state(&run)?;
    let task = task_of(&state, &arguments.task)?;
    let folder = context.runs()?.open_worktree(&run, &task)?;
    if is_at_work(&state, &task) {
        output::warning(&format!(
            "the agent of {task} is working there; what you change becomes part of its work"
        ));
    }
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !is_terminal {
        return output::line(&folder.display().to_string()).map(|()| 0);
    }
    output::note(&format!(
        "{}; `orchestrate adopt {task} --run {run}` takes what you change",
        folder.display()
    ));
    start(context, arguments, &folder)
}

fn is_at_work(state: &RunState, task: &TaskId) -> bool {
    state
        .task(task)
        .is_some_and(|record| record.state().is_under_way())
}

/// Starts the program and waits for its end; its exit code is the user's business.
#[expect(
    clippy::disallowed_methods,
    reason = "a person's own program on the person's own terminal"
)]
fn start(context: &Context, arguments: &OpenArgs, folder: &Path) -> Result<u8, CommandError> {
    let mut command = match arguments.editor {
        true => {
            let editor = editor(context)?;
            let mut command = Command::new(USUAL_SHELL);
            // It may be a command line of several words.
            command.args(["-c", &format!("{editor} {}", shell_word(folder))]);
            command
        }
        false => Command::new(
            context
                .variables
                .get("SHELL")
                .map_or(USUAL_SHELL, String::as_str),
        ),
    };
    let failed = |error: std::io::Error| {
        CommandError::new(ErrorKind::Failed, format!("failed to start it: {error}"))
    };
    command.current_dir(folder).status().map_err(failed)?;
    Ok(0)
}

fn editor(context: &Context) -> Result<String, CommandError> {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| context.variables.get(name));
    let named = named.filter(|editor| !editor.trim().is_empty()).cloned();
    named.ok_or_else(|| {
        CommandError::usage("neither VISUAL nor EDITOR names an editor").hint("export EDITOR=vi")
    })
}
