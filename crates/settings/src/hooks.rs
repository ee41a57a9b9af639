//! Hooks as configuration files have them: `[[hooks.before_tool]]` with a command, and which calls
//! it is asked about.

use orchestrate_core::event::Event;
use orchestrate_core::policy::hook::{HookCommand, HookPoint};
use orchestrate_core::policy::matches_text;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_plan::duration_ms;
use serde::Deserialize;

use crate::layer::{Location, Problem, ProblemCode, Source};
use crate::values::is_about_some_tool;

/// The name of the table of hooks.
pub(crate) const HOOKS: &str = "hooks";
/// The keys of a hook.
pub(crate) const OF_HOOK: [&str; 5] = ["command", "tools", "events", "timeout", "sandbox"];

/// The default time limit in milliseconds: an agent waits for a hook.
const TIMEOUT_MS: u64 = 60_000;
/// The longest time limit in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// A hook as written.
#[derive(Deserialize)]
#[serde(expecting = "a table with the key `command`")]
pub(crate) struct WrittenHook {
    command: String,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    events: Vec<String>,
    timeout: Option<String>,
    sandbox: Option<bool>,
}

/// A hook, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenHook {
    /// When it is asked.
    pub(crate) point: HookPoint,
    /// The line for a shell.
    pub(crate) command: String,
    /// Where it is written.
    pub(crate) place: Location,
    tools: Vec<String>,
    events: Vec<String>,
    timeout_ms: u64,
    is_confined: bool,
}

impl WrittenHook {
    /// Returns the hook of this point and place.
    ///
    /// # Errors
    /// Fails with what cannot be.
    pub(crate) fn given(self, point: HookPoint, place: Location) -> Result<GivenHook, String> {
        let command = self.command.trim().to_owned();
        if command.is_empty() {
            return Err("`command` is empty".to_owned());
        }
        let is_about_calls = matches!(point, HookPoint::BeforeTool | HookPoint::AfterTool);
        if !is_about_calls && !self.tools.is_empty() {
            return Err("`tools` has no effect here, since it is about no call".to_owned());
        }
        if point != HookPoint::OnEvent && !self.events.is_empty() {
            return Err("`events` has an effect in `on_event` alone".to_owned());
        }
        let is_shared = place.source.is_shared();
        if is_shared && point == HookPoint::OnEvent {
            return Err(
                "it is never read from a repository, since the sandbox would leave it \
                        nothing to do; set it in your own configuration file"
                    .to_owned(),
            );
        }
        if is_shared && self.sandbox == Some(false) {
            return Err(
                "a hook of a repository always runs in the sandbox; remove `sandbox`".to_owned(),
            );
        }
        if point == HookPoint::OnEvent && self.sandbox == Some(true) {
            return Err(
                "it belongs to no worktree, so there is no sandbox for it; remove \
                        `sandbox`"
                    .to_owned(),
            );
        }
        let is_confined = is_shared || self.sandbox == Some(true);
        Ok(GivenHook {
            point,
            command,
            place,
            tools: self.tools,
            events: self.events,
            timeout_ms: self.timeout.as_deref().map_or(Ok(TIMEOUT_MS), timeout)?,
            is_confined,
        })
    }
}

impl GivenHook {
    /// Reports whether the project's file names it, so that it needs the user's consent.
    pub(crate) fn is_of_project(&self) -> bool {
        self.place.source == Source::Project
    }

    /// Returns the hook as a run freezes it, with the canonical names of its tools.
    ///
    /// # Errors
    /// Fails if a tool or an event does not exist: the hook would never be asked.
    pub(crate) fn frozen(&self, names: &ToolNames) -> Result<HookCommand, Problem> {
        let mut tools = Vec::new();
        for word in &self.tools {
            let meant = names.in_rule(word);
            if let Some(tool) = meant.iter().find(|tool| !is_about_some_tool(tool, names)) {
                let message = match tool.contains('*') {
                    true => format!("no tool has a name as `{tool}`"),
                    false => format!("there is no tool `{tool}`"),
                };
                return Err(self.problem(&message).suggest_tools(tool, names));
            }
            tools.extend(meant);
        }
        for kind in &self.events {
            if !Event::TYPES.iter().any(|known| matches_text(kind, known)) {
                let problem = self.problem(&format!("there is no type of events `{kind}`"));
                return Err(problem.suggest_nearest(kind, Event::TYPES));
            }
        }
        Ok(HookCommand {
            point: self.point,
            tools,
            events: self.events.clone(),
            command: self.command.clone(),
            timeout_ms: self.timeout_ms,
            is_confined: self.is_confined,
            source: self.place.to_string(),
        })
    }

    fn problem(&self, message: &str) -> Problem {
        let message = format!("in a hook of `{}`: {message}", self.point.as_str());
        Problem::new(self.place.clone(), ProblemCode::InvalidValue, message)
    }
}

fn timeout(text: &str) -> Result<u64, String> {
    let given = duration_ms(text).filter(|given| (1..=MAX_TIMEOUT_MS).contains(given));
    given.ok_or_else(|| {
        format!("invalid `timeout` `{text}`: expected a time such as 10s, from 1ms to 10m")
    })
}

#[cfg(test)]
mod tests {
    use crate::config_file::parse;
    use crate::layer::Source;

    /// Returns what is wrong with a file; empty if nothing is.
    fn problems(text: &str, source: Source) -> String {
        match parse(text, source, "there.toml") {
            Ok(_) => String::new(),
            Err(problems) => {
                let lines = problems.iter().map(ToString::to_string);
                lines.collect::<Vec<_>>().join("; ")
            }
        }
    }

    #[test]
    fn what_cannot_be_a_hook_is_an_error() {
        let (mine, theirs) = (Source::User, Source::Project);
        let hook = |point: &str, keys: &str| format!("[[hooks.{point}]]\n{keys}\n");
        let table = [
            (
                hook("before_tool", "command = '/g'\ntimeout = '1ms'"),
                &mine,
                "",
            ),
            (hook("before_tool", "command = 'a/g'"), &theirs, ""),
            (
                hook("before_tool", "command = 'a/g'\nsandbox = true"),
                &mine,
                "",
            ),
            (hook("on_event", "command = 'a/g'"), &mine, ""),
            (hook("before_tool", "command = 'a/g'"), &mine, ""),
            (hook("before_tool", "tools = ['Bash']"), &mine, "command"),
            (
                hook("before_tool", "command = '/g'\ntool = 1"),
                &mine,
                "no key `tool`",
            ),
            (
                hook("before_tools", "command = '/g'"),
                &mine,
                "hooks.before_tools",
            ),
            (
                hook("before_tool", "command = '/g'\ntimeout = '1h'"),
                &mine,
                "10m",
            ),
            (
                hook("before_finish", "command = '/g'\ntools = ['Bash']"),
                &mine,
                "no effect",
            ),
            (
                hook("after_tool", "command = '/g'\nevents = ['x']"),
                &mine,
                "on_event",
            ),
            (hook("on_event", "command = '/g'"), &theirs, "never read"),
            (
                hook("after_tool", "command = '/g'\nsandbox = false"),
                &theirs,
                "always",
            ),
            (
                "[hooks]\nbefore_tool = '/g'\n".to_owned(),
                &mine,
                "[[hooks.before_tool]]",
            ),
        ];
        for (text, source, expected) in table {
            let found = problems(&text, source.clone());
            let fits = found.is_empty() == expected.is_empty() && found.contains(expected);
            assert!(fits, "{text}: {found}");
        }
    }
}
