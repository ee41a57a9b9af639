//! Hooks that are commands: each gets JSON on its standard input, and answers by its exit code, or
//! by JSON on its standard output.
//!
//! A confined one runs in the sandbox of the agent's commands, in its worktree. The user's own run
//! with the user's rights, in the checkout: a relative path never names a file that an agent wrote.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_checks::{Layout, SandboxSettings};
use orchestrate_core::event::Recorded;
use orchestrate_core::policy::hook::{HookAnswer, HookCommand, HookPoint, HookRuling};
use orchestrate_core::{AgentId, RunId, ToolCall, stream_json_with_hash};
use orchestrate_sandbox::{Cancel, Exit, HostView, Job, Limits, Network, Sandbox, View};
use orchestrate_tools::{Hook, HookPlace, Hooks, ToolOutput};
use serde_json::{Map, Value, json};

use crate::error::CoordinatorError;

/// A hook that is a command.
struct CommandHook {
    command: HookCommand,
    name: String,
    place: Arc<HooksPlace>,
}

/// What the hooks of a run need of the machine.
pub(crate) struct HooksPlace {
    /// Where the worktrees are.
    layout: Layout,
    /// The user's checkout.
    checkout: PathBuf,
    /// Runs commands with the user's rights; `None` if no hook needs it.
    unconfined: Option<Sandbox>,
}

impl HooksPlace {
    /// Prepares what these commands need.
    ///
    /// # Errors
    ///
    /// Fails if no command can be run.
    pub(crate) fn new(
        commands: &[HookCommand],
        layout: &Layout,
        checkout: &Path,
        sandbox: &SandboxSettings,
    ) -> Result<Self, CoordinatorError> {
        let are_confined = commands.iter().all(|command| command.is_confined);
        Ok(Self {
            layout: layout.clone(),
            checkout: checkout.to_owned(),
            unconfined: match are_confined {
                true => None,
                false => Some(sandbox.unconfined()?),
            },
        })
    }

    /// Returns the hooks of a run: these commands, then the program's own.
    pub(crate) fn hooks(self, commands: &[HookCommand], of_program: &[Arc<dyn Hook>]) -> Hooks {
        let place = Arc::new(self);
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        for command in commands {
            hooks.push(Arc::new(CommandHook::new(command.clone(), &place)));
        }
        hooks.extend(of_program.iter().cloned());
        Hooks::new(hooks)
    }
}

/// The fields of what a command reads.
type Fields = Map<String, Value>;

/// What a command is asked, and where it runs.
struct Question<'a> {
    run: &'a RunId,
    agent: Option<&'a AgentId>,
    about: Fields,
    sandbox: Option<&'a Sandbox>,
    view: View,
    /// Where the agent works; the checkout for what is about no agent.
    worktree: PathBuf,
    /// Where the command starts.
    cwd: PathBuf,
}

impl CommandHook {
    fn new(command: HookCommand, place: &Arc<HooksPlace>) -> Self {
        Self {
            name: format!("the hook of {}", command.source),
            command,
            place: Arc::clone(place),
        }
    }

    fn is_asked(&self, point: HookPoint, call: &ToolCall) -> bool {
        self.command.point == point && self.command.is_about_tool(&call.name)
    }

    /// Asks the command about an agent; the error says why it gives no answer.
    async fn ask(&self, at: &HookPlace<'_>, about: Fields) -> Result<HookAnswer, String> {
        let question = Question {
            run: at.run,
            agent: Some(at.agent),
            about,
            sandbox: Some(at.sandbox),
            view: at.worktree.view.now(),
            worktree: at.worktree.path.clone(),
            cwd: at.worktree.path.clone(),
        };
        if self.command.is_confined {
            return self.answer(question, at.cancel).await;
        }
        let worktree = self.place.layout.worktree(at.run, at.agent);
        let question = Question {
            sandbox: self.place.unconfined.as_ref(),
            view: View::Host(HostView {
                writable: vec![worktree.clone()],
                read_only: vec![self.place.checkout.clone()],
                ..HostView::default()
            }),
            worktree,
            cwd: self.place.checkout.clone(),
            ..question
        };
        self.answer(question, at.cancel).await
    }

    async fn answer(&self, question: Question<'_>, cancel: &Cancel) -> Result<HookAnswer, String> {
        let HookCommand {
            point,
            command,
            timeout_ms,
            ..
        } = &self.command;
        let input = Value::Object(question.input(*point));
        let input = input.to_string().into_bytes();
        let env = question.variables();
        let Question {
            sandbox, view, cwd, ..
        } = question;
        let Some(sandbox) = sandbox else {
            return Err(format!(
                "`{command}` cannot be started: the run has not prepared for it"
            ));
        };
        let job = Job {
            view,
            program: "/bin/sh".into(),
            args: vec![OsString::from("-c"), OsString::from(command)],
            cwd,
            stdin: input,
            env,
            network: Network::None,
            limits: Limits {
                timeout: Duration::from_millis(*timeout_ms),
                ..Limits::default()
            },
        };
        let ended = sandbox.run_async(job, cancel.clone()).await;
        let finished = ended.map_err(|error| format!("`{command}` cannot be started: {error}"))?;
        match finished.exit {
            Exit::Code(code) => {
                let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
                HookAnswer::read(*point, code, &stdout, &stderr)
                    .map_err(|why| format!("`{command}` {why}"))
            }
            // The agent is stopped; nothing follows from the answer.
            Exit::Cancelled => Ok(HookAnswer::default()),
            Exit::TimedOut => Err(format!(
                "`{command}` has not answered within its `timeout` of {timeout_ms} ms"
            )),
            other => Err(format!("`{command}` was ended: {other}")),
        }
    }
}

#[async_trait]
impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before_tool(&self, at: &HookPlace<'_>, call: &ToolCall) -> HookAnswer {
        if !self.is_asked(HookPoint::BeforeTool, call) {
            return HookAnswer::default();
        }
        let asked = self.ask(at, about_call(call)).await;
        asked.unwrap_or_else(HookAnswer::deny)
    }

    async fn after_tool(
        &self,
        at: &HookPlace<'_>,
        call: &ToolCall,
        output: &ToolOutput,
    ) -> HookAnswer {
        if !self.is_asked(HookPoint::AfterTool, call) {
            return HookAnswer::default();
        }
        let mut about = about_call(call);
        about.extend(fields([(
            "tool_response",
            json!({
                "success": output.success,
                "text": output.text(),
                "error": output.error,
                "exit_code": output.exit_code,
            }),
        )]));
        let asked = self.ask(at, about).await;
        asked.unwrap_or_else(|why| HookAnswer {
            context: Some(why),
            ..HookAnswer::default()
        })
    }

    async fn before_finish(&self, at: &HookPlace<'_>, report: &str) -> HookAnswer {
        if self.command.point != HookPoint::BeforeFinish {
            return HookAnswer::default();
        }
        let asked = self.ask(at, fields([("report", json!(report))])).await;
        asked.unwrap_or_else(HookAnswer::deny)
    }

    fn observes_events(&self) -> bool {
        self.command.point == HookPoint::OnEvent
    }

    async fn on_event(&self, fact: &Recorded) -> Result<(), String> {
        let event = stream_json_with_hash(fact);
        let kind = event.get("type").and_then(Value::as_str);
        if !kind.is_some_and(|kind| self.command.observes(kind)) {
            return Ok(());
        }
        let checkout = self.place.checkout.clone();
        let question = Question {
            run: &fact.run_id,
            agent: fact.event.task(),
            about: fields([("event", event)]),
            sandbox: self.place.unconfined.as_ref(),
            view: View::Host(HostView {
                read_only: vec![checkout.clone()],
                ..HostView::default()
            }),
            worktree: checkout.clone(),
            cwd: checkout,
        };
        let answer = self.answer(question, &Cancel::new()).await?;
        match answer.ruling {
            HookRuling::Deny(reason) => Err(reason),
            HookRuling::Pass | HookRuling::Change(_) => Ok(()),
        }
    }
}

fn about_call(call: &ToolCall) -> Fields {
    fields([
        ("tool_name", json!(call.name)),
        ("tool_input", json!(call.arguments)),
        ("tool_use_id", json!(call.id)),
    ])
}

fn fields<const N: usize>(given: [(&str, Value); N]) -> Fields {
    given
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

impl Question<'_> {
    /// Returns what the command reads, by the names that hooks of Claude Code know.
    fn input(&self, point: HookPoint) -> Fields {
        let mut input = self.about.clone();
        input.extend(fields([
            ("hook_event_name", json!(point.as_str())),
            ("session_id", json!(self.run)),
            ("agent_id", json!(self.agent)),
            ("cwd", json!(self.worktree.to_string_lossy())),
        ]));
        input
    }

    fn variables(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = BTreeMap::from([
            ("ORCHESTRATE_RUN".into(), self.run.as_str().into()),
            ("ORCHESTRATE_WORKTREE".into(), self.worktree.clone().into()),
        ]);
        if let Some(agent) = self.agent {
            // An agent has the id of its task.
            for name in ["ORCHESTRATE_AGENT", "ORCHESTRATE_TASK"] {
                variables.insert(name.into(), agent.as_str().into());
            }
        }
        variables
    }
}
