//! `run_python` and `create_virtual_environment`.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::{Access, Target};
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::{Cancel, Exit};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::exec;
use super::super::facts::facts;
use super::candidate::{start, words};
use super::products::IGNORE_ALL;
use super::project::Project;
use crate::answer::{Answer, ToolError};
use crate::call::Effect;
use crate::files::path::join;
use crate::files::{Expect, Files};
use crate::tool::arguments::{given_text, read, require_text};
use crate::tool::{CallSite, Look, Prepared, ProgramChoice, Programs, Prompt, Tool, ToolContext};

/// The default time limit of a script in seconds, as in the reference.
const DEFAULT_SECONDS: u64 = 30;
/// The interpreter outside a virtual environment.
const PYTHON: &str = "python3";

/// The `run_python` tool.
pub(crate) struct RunPython(pub(crate) Prompt);

#[derive(Deserialize)]
struct Script {
    code: String,
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for RunPython {
    facts!("run_python", EXEC, CodeExecution, is_default: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let code = given_text(&arguments, "code");
        Ok(Prepared {
            effects: vec![runs(&judged(PYTHON, code))],
            fault: require_text(&arguments, "code").err(),
            programs: Some(programs),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Script { code, timeout } = read(arguments)?;
        let python = context.blocking(Project::look).await?.python();
        let timeout = Duration::from_secs(timeout.unwrap_or(DEFAULT_SECONDS))
            .min(context.limits().max_command_timeout);
        context.check_program(&judged(python, &code))?;
        let argv = interpreter(python);
        let finished = start(context, &argv, &[], code.as_bytes(), timeout).await?;
        let finished = finished.ok_or_else(|| no_python(python))?;
        exec::answer(&finished, timeout, None)
    }
}

fn programs(arguments: &Value, project: &Files) -> Result<Programs, ToolError> {
    let python = Project::look(project, &Cancel::default())?.python();
    let commands = vec![
        judged(python, given_text(arguments, "code")),
        interpreter(python),
    ];
    Ok(Programs::FirstOf(vec![ProgramChoice { commands }]))
}

/// Returns the command that reads a script from its input: isolated from the user's settings and
/// packages, and from the variable that keeps Python from storing compiled modules.
fn interpreter(python: &str) -> Vec<String> {
    words(&[python, "-I", "-B", "-"])
}

/// Returns the command that rules judge: what the code runs counts as it does for a shell that is
/// given the same.
fn judged(python: &str, code: &str) -> Vec<String> {
    words(&[python, "-c", code])
}

fn runs(argv: &[String]) -> Effect {
    Effect {
        access: Access::Run,
        target: Target::Argv(argv.to_vec()),
    }
}

fn no_python(python: &str) -> ToolError {
    ToolError::Execution(format!(
        "`{python}` does not start where commands run; install python3 from the system's packages, \
         or make the virtual environment anew"
    ))
}

/// The `create_virtual_environment` tool.
pub(crate) struct CreateVirtualEnvironment(pub(crate) Prompt);

#[derive(Deserialize)]
struct Place {
    path: String,
}

#[async_trait]
impl Tool for CreateVirtualEnvironment {
    facts!(
        "create_virtual_environment", EXEC, CodeExecution,
        path_fields: &["path"],
        is_default: false,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let mut prepared = Prepared::on_paths(self.properties(), site, arguments)?;
        let command = venv(given_text(&prepared.arguments, "path"));
        prepared.effects.push(runs(&command));
        Ok(
            prepared.rehearsed(Look::at_files(|files, _, arguments: Place| {
                require_free(files, &arguments.path)
            })),
        )
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Place { path } = read(arguments)?;
        let wanted = path.clone();
        context
            .blocking(move |files, _| require_free(files, &wanted))
            .await?;
        let argv = venv(&path);
        let timeout: Duration = context.limits().max_command_timeout;
        let finished = start(context, &argv, &[], &[], timeout)
            .await?
            .ok_or_else(|| no_python(PYTHON))?;
        if matches!(finished.exit, Exit::TimedOut | Exit::Cancelled) || !finished.exit.success() {
            let answer = exec::answer(&finished, timeout, None)?;
            let hint = "on Debian and Ubuntu, the package python3-venv has what is missing";
            let is_incomplete = answer.text.contains("ensurepip");
            let text = if is_incomplete {
                format!("{}\n{hint}", answer.text)
            } else {
                answer.text.clone()
            };
            return Ok(Answer {
                text,
                data: json!(false),
                ..answer
            });
        }
        // Newer versions of Python write it themselves.
        let ignore = join(&path, ".gitignore");
        let made = context
            .blocking(move |files, _| files.write(&ignore, IGNORE_ALL, Expect::Any))
            .await;
        made?;
        let version = version(context, &path).await?;
        let seconds = finished.duration.as_secs_f64();
        let text = format!(
            "made the virtual environment {}; its programs are in {}/bin",
            shown(&path),
            shown(&path)
        );
        Ok(Answer {
            footer: Some(format!(
                "[{version}: `{}`, {}, {seconds:.1} s]",
                argv.join(" "),
                finished.exit
            )),
            exit_code: Some(0),
            ..Answer::new(text, json!(true))
        })
    }
}

fn venv(path: &str) -> Vec<String> {
    // A path that begins with `-` would be an option.
    words(&[PYTHON, "-m", "venv", "--", path])
}

/// Requires that the path is inside the worktree, also through links, and does not exist yet.
fn require_free(files: &Files, path: &str) -> Result<(), ToolError> {
    match files.metadata(path) {
        Ok(_) => Err(ToolError::Retry(format!(
            "exists already: {}; name another path",
            shown(path)
        ))),
        Err(ToolError::Retry(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the name and version of the new interpreter.
async fn version(context: &ToolContext, path: &str) -> Result<String, ToolError> {
    let argv = words(&[&join(path, "bin/python"), "--version"]);
    let limit = context.limits().command_timeout;
    let finished = start(context, &argv, &[], &[], limit)
        .await?
        .filter(|finished| finished.exit.success());
    Ok(finished.map_or_else(
        || PYTHON.to_owned(),
        |finished| finished.stdout.text().trim().to_owned(),
    ))
}
