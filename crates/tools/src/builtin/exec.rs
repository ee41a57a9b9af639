//! `run_shell_command`: runs a command line in the sandbox; the exit code follows the output.

use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::{Target, git_subcommands};
use orchestrate_core::shell_word;
use orchestrate_sandbox::{Exit, Finished};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::facts::facts;
use crate::arguments::invalid;
use crate::command::Command;
use crate::context::ToolContext;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::results::ExecutionResult;
use crate::template::CommandTemplate;
use crate::tool::{Tool, Wrap};

/// The subcommands of git that change something, each with the tool that does it instead.
const GIT_TOOLS: &[(&str, &str)] = &[
    ("add", "git_add"),
    ("commit", "git_commit"),
    ("stash", "git_stash"),
    ("branch", "git_branch"),
    ("checkout", "git_checkout"),
    ("switch", "git_checkout"),
    ("restore", "git_checkout"),
    ("reset", "git_checkout"),
    ("merge", "git_merge"),
];

/// The `run_shell_command` tool.
pub(super) struct RunShellCommand(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    command: String,
    /// The program and its arguments, which run without a shell; only wrappers give them. `command` is then what a
    /// shell would be given for the same.
    #[serde(default)]
    argv: Vec<String>,
    timeout: Option<u64>,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    network: bool,
}

#[async_trait]
impl Tool for RunShellCommand {
    facts!("run_shell_command", EXEC, CodeExecution, paths["cwd"]);

    fn as_wrap(&self) -> Option<&dyn Wrap> {
        Some(self)
    }

    fn effects(&self, arguments: &Value) -> Vec<Effect> {
        if let Some(words) = arguments.get("argv").and_then(Value::as_array) {
            let words = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            return vec![Effect::on(Target::Argv(words))];
        }
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        vec![Effect::on(Target::Shell(command.to_owned()))]
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        match command {
            "" => Err(invalid("`command` is empty")),
            _ if command.contains('\0') => Err(invalid("`command` contains a NUL byte")),
            _ => Ok(()),
        }
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        if arguments.network {
            let reason = "commands have no network, and none can be granted yet; work with what is in the worktree \
                and in the toolchain's caches, and leave `network` out";
            return Err(ToolError::denied("built-in:no-network", reason));
        }
        let advice = git_advice(&arguments.command);
        let command = command(arguments);
        let timeout = command.time_limit(context.limits());
        let finished = context.start(command).await?.map_err(|error| ToolError::not_started(&error))?;
        answer(&finished, timeout, advice)
    }
}

impl Wrap for RunShellCommand {
    fn deserialize_wrapped(&self, arguments: &Value, template: Option<&CommandTemplate>) -> Result<Value, ToolError> {
        let Some(template) = template else { return Ok(arguments.clone()) };
        let argv = template.fill(arguments).map_err(|reason| invalid(&reason))?;
        let line = argv.iter().map(shell_word).collect::<Vec<_>>().join(" ");
        Ok(json!({"command": line, "argv": argv, "cwd": "", "network": false}))
    }
}

/// Returns the command to run.
fn command(arguments: Arguments) -> Command {
    let argv = match arguments.argv.is_empty() {
        true => vec!["/bin/sh".to_owned(), "-c".to_owned(), arguments.command],
        false => arguments.argv,
    };
    Command { cwd: arguments.cwd, timeout: arguments.timeout.map(Duration::from_secs), ..Command::new(argv) }
}

/// Returns which tools do what a command line asks of git: in the worktree, commands can only read.
fn git_advice(command: &str) -> Option<String> {
    let subcommands = git_subcommands(command);
    let tools = GIT_TOOLS.iter().filter(|(subcommand, _)| subcommands.contains(*subcommand));
    let mut advice: Vec<String> =
        tools.map(|(subcommand, tool)| format!("use the tool `{tool}` instead of `git {subcommand}`")).collect();
    if subcommands.contains("push") {
        advice.push("`git push` is not for agents: your branch is merged for you when you finish".to_owned());
    }
    (!advice.is_empty())
        .then(|| format!("[in your worktree, commands cannot change what git stores: {}]", advice.join("; ")))
}

/// Returns the answer of a tool whose program ran as the call said; advice is for a program that failed.
pub(super) fn answer(finished: &Finished, timeout: Duration, advice: Option<String>) -> Result<Answer, ToolError> {
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    let text = both(&stdout, &stderr);
    let has_failed = finished.exit != Exit::Code(0) || text.contains("fatal: ");
    let text = match advice.filter(|_| has_failed) {
        Some(advice) => format!("{text}\n{advice}"),
        None => text,
    };
    let exit_code = match finished.exit {
        Exit::TimedOut => return Err(ToolError::Timeout { seconds: timeout.as_secs(), partial: text }),
        Exit::Cancelled => {
            return Err(ToolError::Interrupted("the command was killed".to_owned()));
        }
        Exit::Code(code) => Some(code),
        _ => None,
    };
    let how = match finished.exit {
        Exit::MemoryLimit => {
            format!("{}; `command_memory_mib` or `tools.code_execution.memory_limit_mb` sets the limit", finished.exit)
        }
        Exit::DiskLimit => format!(
            "{}; delete what is not needed (commands that only free space still run); `worktree_mib` sets \
            the limit",
            finished.exit
        ),
        exit => exit.to_string(),
    };
    let seconds = finished.duration.as_secs_f64();
    let data = ExecutionResult {
        exit_code,
        exit: how.clone(),
        stdout,
        stderr,
        duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
    };
    Ok(Answer {
        footer: Some(format!("[{how}, {seconds:.1} s]")),
        failed: (exit_code != Some(0)).then_some(how),
        exit_code,
        ..Answer::new(text, json!(data))
    })
}

/// Joins both output streams to one text.
pub(super) fn both(stdout: &str, stderr: &str) -> String {
    match (stdout.trim_end(), stderr.trim_end()) {
        (out, "") => out.to_owned(),
        ("", err) => err.to_owned(),
        (out, err) => format!("{out}\n[standard error]\n{err}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_cannot_do_in_a_command_names_the_tool_that_does_it() {
        let table = [
            ("git status; echo git commit", None),
            (
                "git add -A && git -c user.name=x commit -m 'git push'",
                Some("`git_add` instead of `git add`; use the tool `git_commit` instead of `git commit`"),
            ),
            ("cd a && GIT_EDITOR=true git merge x", Some("`git_merge`")),
            ("git push origin HEAD", Some("merged for you")),
            ("git checkout -- a", Some("`git_checkout`")),
            ("git stash", Some("`git_stash`")),
        ];
        for (command, expected) in table {
            let advice = git_advice(command);
            assert_eq!(advice.is_some(), expected.is_some(), "{command}");
            assert!(advice.unwrap_or_default().contains(expected.unwrap_or_default()), "{command}");
        }
    }

    #[test]
    fn a_wrappers_arguments_make_the_call_that_the_reference_shows() {
        let tool = RunShellCommand(Prompt { description: String::new(), parameters: json!({}) });
        let template = CommandTemplate::parse("find {arguments}", &["arguments"]).unwrap();
        let arguments = json!({"arguments": [".", "-type", "f", "-name", "*.vala"]});
        let argv = ["find", ".", "-type", "f", "-name", "*.vala"];
        let expected = json!({"command": "find . -type f -name '*.vala'", "argv": argv, "cwd": "", "network": false});
        assert_eq!(tool.deserialize_wrapped(&arguments, Some(&template)), Ok(expected.clone()));
        let words = argv.map(str::to_owned).to_vec();
        assert_eq!(tool.effects(&expected), [Effect::on(Target::Argv(words))]);
        assert_eq!(tool.deserialize_wrapped(&arguments, None), Ok(arguments));
    }
}
