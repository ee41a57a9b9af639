//! `run_shell_command`: runs a command line in the sandbox; the exit code follows the output.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::policy::egress::EgressDecision;
use orchestrate_core::policy::host::HostPattern;
use orchestrate_core::policy::{Access, Decision, Policy, Target, git_subcommands};
use orchestrate_core::shell_word;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::{Exit, Finished};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ExecutionResult, ToolError};
use crate::call::{CallScope, Command, Effect, Foreseen};
use crate::files::Files;
use crate::services::DecidedHosts;
use crate::template::CommandTemplate;
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext, Wrap};

/// The subcommands of git that need a remote repository, each with the tool that does it instead.
const GIT_TOOLS: [(&str, &str); 3] = [
    ("push", "git_push"),
    ("pull", "git_pull"),
    ("fetch", "git_pull"),
];

/// Maximum number of hosts that a call names: a person has to read them.
pub(super) const MAX_DOMAINS: usize = 20;
/// Maximum number of refused hosts that a result names.
const MAX_REFUSALS: usize = 10;
/// The name of the tool.
const NAME: &str = "run_shell_command";

/// The `run_shell_command` tool.
pub(super) struct RunShellCommand(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    command: String,
    /// The program and its arguments, which run without a shell; only wrappers give them. `command`
    /// is then what a shell would be given for the same.
    #[serde(default)]
    argv: Vec<String>,
    timeout: Option<u64>,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    network: bool,
    /// The hosts that the command needs.
    #[serde(default)]
    domains: Vec<String>,
}

#[async_trait]
impl Tool for RunShellCommand {
    facts!("run_shell_command", EXEC, CodeExecution, path_fields: &["cwd"]);

    fn as_wrap(&self) -> Option<&dyn Wrap> {
        Some(self)
    }

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let refused = domains(&arguments).find_map(|domain| refused(&site.policy, domain));
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            files.working_directory(&arguments.cwd).map(drop)
        });
        Ok(Prepared {
            effects: effects(&arguments),
            fault: require_runnable(&arguments).err(),
            refused,
            foresight: Some(Look::new(require_network)),
            rehearsal: Some(rehearsal),
            ..Prepared::on_paths(self.properties(), site, arguments)?
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let advice = git_advice(&arguments.command, &context.scope().grant.tools);
        let named = arguments.network.then(|| patterns(&arguments.domains));
        let command = command(arguments);
        let timeout = command.time_limit(context.limits());
        let Some(named) = named else {
            let finished = context.start(command).await?;
            return answer(&finished, timeout, advice);
        };
        let (finished, decided) = context.start_proxied(command, NAME, named).await?;
        let finished = finished.map_err(|error| ToolError::not_started(&error))?;
        with_egress(answer(&finished, timeout, advice), &decided)
    }
}

fn effects(arguments: &Value) -> Vec<Effect> {
    if let Some(words) = arguments.get("argv").and_then(Value::as_array) {
        let words = words.iter().filter_map(Value::as_str);
        let argv = words.map(str::to_owned).collect();
        return vec![Effect::on(Target::Argv(argv))];
    }
    let command = given_text(arguments, "command").to_owned();
    let mut effects = vec![Effect::on(Target::Shell(command))];
    if is_networked(arguments) {
        effects.extend(domains(arguments).map(|domain| networked(Target::Host(domain.to_owned()))));
        if effects.len() == 1 {
            effects.push(networked(Target::Network));
        }
    }
    effects
}

pub(super) fn networked(target: Target) -> Effect {
    Effect {
        access: Access::Network,
        target,
    }
}

fn require_runnable(arguments: &Value) -> Result<(), ToolError> {
    match given_text(arguments, "command") {
        "" => Err(invalid("`command` is empty")),
        command if command.contains('\0') => Err(invalid("`command` contains a NUL byte")),
        _ => validate_domains(arguments),
    }
}

fn refused(policy: &Policy, domain: &str) -> Option<Decision> {
    match HostPattern::parse(domain)? {
        HostPattern::Exact(host) => policy.refuse_host(NAME, &host),
        _ => None,
    }
}

/// Foresees nothing, but nobody is asked for a network that this machine's sandbox cannot give.
async fn require_network(
    scope: CallScope,
    _: Files,
    arguments: Value,
) -> Result<Option<Foreseen>, ToolError> {
    if is_networked(&arguments) {
        let egress = scope.sandbox.require_egress();
        egress.map_err(|error| ToolError::not_started(&error))?;
    }
    Ok(None)
}

impl Wrap for RunShellCommand {
    fn deserialize_wrapped(
        &self,
        arguments: &Value,
        template: Option<&CommandTemplate>,
    ) -> Result<Value, ToolError> {
        let Some(template) = template else {
            return Ok(arguments.clone());
        };
        let argv = template
            .fill(arguments)
            .map_err(|reason| invalid(&reason))?;
        let line = argv.iter().map(shell_word).collect::<Vec<_>>().join(" ");
        Ok(json!({"command": line, "argv": argv, "cwd": "", "network": false}))
    }
}

/// Returns the hosts that the arguments of a call name.
pub(super) fn domains(arguments: &Value) -> impl Iterator<Item = &str> {
    arguments
        .get("domains")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn is_networked(arguments: &Value) -> bool {
    arguments
        .get("network")
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

fn validate_domains(arguments: &Value) -> Result<(), ToolError> {
    match domains(arguments).count() {
        0 => Ok(()),
        _ if !is_networked(arguments) => Err(invalid("`domains` has no effect without `network`")),
        1..=MAX_DOMAINS => domains(arguments)
            .find(is_no_host)
            .map_or(Ok(()), |domain| Err(explain(domain))),
        _ => Err(invalid(&format!(
            "`domains` has more than {MAX_DOMAINS} hosts"
        ))),
    }
}

fn is_no_host(domain: &&str) -> bool {
    HostPattern::parse(domain).is_none()
}

fn explain(domain: &str) -> ToolError {
    let domain = shown(domain);
    invalid(&format!(
        "`{domain}` in `domains` is no host; write it as `example.org`, or `*.example.org`"
    ))
}

fn patterns(domains: &[String]) -> Vec<HostPattern> {
    domains
        .iter()
        .filter_map(|domain| HostPattern::parse(domain))
        .collect()
}

/// Adds to a result which hosts were refused, and to its data all that was decided.
fn with_egress(
    result: Result<Answer, ToolError>,
    hosts: &DecidedHosts,
) -> Result<Answer, ToolError> {
    let decided = hosts.all();
    let notes: String = refusals(&decided, &hosts.unreached())
        .iter()
        .flat_map(|note| ["\n", note.as_str()])
        .collect();
    match result {
        Ok(mut answer) => {
            answer.text.push_str(&notes);
            if let Some(data) = answer.data.as_object_mut().filter(|_| !decided.is_empty()) {
                data.insert("egress".to_owned(), json!(decided));
            }
            Ok(answer)
        }
        Err(ToolError::Timeout {
            seconds,
            partial,
            notes: of_call,
        }) => Err(ToolError::Timeout {
            seconds,
            partial: format!("{partial}{notes}"),
            notes: of_call,
        }),
        other => other,
    }
}

/// Words what was refused, and what could not be reached, one line each.
pub(super) fn refusals(decided: &[EgressDecision], unreached: &BTreeSet<String>) -> Vec<String> {
    let refused = decided.iter().filter(|decision| !decision.allowed);
    let mut notes: Vec<String> = refused.clone().take(MAX_REFUSALS).map(note_of).collect();
    let more = refused.count().saturating_sub(MAX_REFUSALS);
    notes.extend((more > 0).then(|| format!("[and {more} more hosts]")));
    notes.extend(
        unreached
            .iter()
            .take(MAX_REFUSALS)
            .map(|what| format!("[could not be reached: {what}]")),
    );
    notes
}

fn note_of(
    EgressDecision {
        asked,
        rule,
        reason,
        ..
    }: &EgressDecision,
) -> String {
    format!(
        "[the network refused {asked} (rule {rule}): {}]",
        reason.as_deref().unwrap_or_default()
    )
}

/// Returns the command to run.
fn command(arguments: Arguments) -> Command {
    let argv = match arguments.argv.is_empty() {
        true => vec!["/bin/sh".to_owned(), "-c".to_owned(), arguments.command],
        false => arguments.argv,
    };
    Command {
        cwd: arguments.cwd,
        timeout: arguments.timeout.map(Duration::from_secs),
        ..Command::new(argv)
    }
}

/// Returns which of an agent's tools do what a command line asks of remote repositories, which
/// commands do not reach.
fn git_advice(command: &str, granted: &BTreeSet<String>) -> Option<String> {
    let subcommands = git_subcommands(command);
    let mut advice = Vec::new();
    for (subcommand, tool) in GIT_TOOLS {
        if !subcommands.contains(subcommand) {
            continue;
        }
        if granted.contains(tool) {
            advice.push(format!(
                "use the tool `{tool}` instead of `git {subcommand}`"
            ));
        } else if subcommand == "push" {
            advice.push("your branch is merged for you when you finish".to_owned());
        }
    }
    (!advice.is_empty()).then(|| {
        format!(
            "[commands do not reach remote repositories: {}]",
            advice.join("; ")
        )
    })
}

/// Returns the answer of a tool whose program ran as the call said; advice is for a program that
/// failed.
pub(super) fn answer(
    finished: &Finished,
    timeout: Duration,
    advice: Option<String>,
) -> Result<Answer, ToolError> {
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    let text = both(&stdout, &stderr);
    let has_failed = finished.exit != Exit::Code(0) || text.contains("fatal: ");
    let text = match advice.filter(|_| has_failed) {
        Some(advice) => format!("{text}\n{advice}"),
        None => text,
    };
    let exit_code = match finished.exit {
        Exit::TimedOut => return Err(ToolError::timeout(timeout.as_secs(), text)),
        Exit::Cancelled => {
            return Err(ToolError::Interrupted("the command was killed".to_owned()));
        }
        Exit::Code(code) => Some(code),
        _ => None,
    };
    let how = match finished.exit {
        Exit::MemoryLimit => {
            format!(
                "{}; `command_memory_mib` or `tools.code_execution.memory_limit_mb` sets the limit",
                finished.exit
            )
        }
        Exit::CpuLimit => format!(
            "{}; `tools.code_execution.cpu_seconds` sets it for a command, \
             `tools.code_execution.agent_cpu_seconds` for all of an agent",
            finished.exit
        ),
        Exit::DiskLimit => format!(
            "{}; delete what is not needed (commands that only free space still run); \
             `worktree_mib` sets the limit",
            finished.exit
        ),
        Exit::FilesLimit => format!(
            "{}; delete what is not needed (commands that only delete files still run); \
             `worktree_files` sets the limit",
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
        egress: Vec::new(),
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
            ("git status; echo git push", None),
            (
                "git add -A && git -c user.name=x commit -m 'git push'",
                None,
            ),
            ("cd a && GIT_EDITOR=true git merge x", None),
            ("git push origin HEAD", Some("`git_push`")),
            (
                "git pull --rebase",
                Some("`git_pull` instead of `git pull`"),
            ),
            ("git fetch", Some("`git_pull` instead of `git fetch`")),
        ];
        let all: BTreeSet<String> = GIT_TOOLS.map(|(_, tool)| tool.to_owned()).into();
        for (command, expected) in table {
            let advice = git_advice(command, &all);
            assert_eq!(advice.is_some(), expected.is_some(), "{command}");
            let advice = advice.unwrap_or_default();
            assert!(advice.contains(expected.unwrap_or("")), "{advice}");
        }
        let advice = git_advice("git push", &BTreeSet::new()).unwrap();
        assert!(advice.contains("merged for you"), "{advice}");
        assert_eq!(git_advice("git fetch", &BTreeSet::new()), None);
    }

    #[test]
    fn a_wrappers_arguments_make_the_call_that_the_reference_shows() {
        let tool = RunShellCommand(Prompt {
            description: String::new(),
            parameters: json!({}),
        });
        let template = CommandTemplate::parse("find {arguments}", &["arguments"]).unwrap();
        let arguments = json!({"arguments": [".", "-type", "f", "-name", "*.vala"]});
        let argv = ["find", ".", "-type", "f", "-name", "*.vala"];
        let command = "find . -type f -name '*.vala'";
        let expected = json!({"command": command, "argv": argv, "cwd": "", "network": false});
        assert_eq!(
            tool.deserialize_wrapped(&arguments, Some(&template)),
            Ok(expected.clone())
        );
        let words = argv.map(str::to_owned).to_vec();
        assert_eq!(effects(&expected), [Effect::on(Target::Argv(words))]);
        assert_eq!(tool.deserialize_wrapped(&arguments, None), Ok(arguments));
    }
}
