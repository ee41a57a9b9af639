//! The tools about other agents of the run: messages to them, what they are doing, and waiting for
//! them.

use async_trait::async_trait;
use orchestrate_core::messages::{Address, Body, Channel, MAX_BODY_BYTES, MessageKind, Outgoing};
use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{AgentId, AgentInfo, AgentStatus, Blocker, CallId, HandBack, Liveness};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::call::{CallScope, Effect};
use crate::services::{AgentOperation, AgentsWait, EndedAgentsWait, OutgoingMessage};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext, Waits};

/// The maximum number of files that are named of one agent.
const SHOWN_FILES: usize = 20;

/// The `send_message_to_agent` tool.
pub(super) struct SendMessageToAgent(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    agent_id: Address,
    message: Value,
    kind: Option<MessageKind>,
    reply_to: Option<u64>,
    #[serde(default)]
    wait: bool,
    deadline: Option<u64>,
}

impl Arguments {
    /// Returns the message.
    fn message(self) -> Outgoing {
        let Arguments {
            agent_id: to,
            message,
            kind,
            reply_to,
            wait: waits,
            deadline,
        } = self;
        Outgoing {
            to,
            kind,
            body: Body::from(message),
            reply_to,
            deadline_seconds: deadline,
            waits,
        }
    }
}

#[async_trait]
impl Tool for SendMessageToAgent {
    facts!("send_message_to_agent", AGENTS, AgentMessage);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_agents(|arguments: Arguments| AgentOperation::Send(arguments.message()));
        Ok(Prepared {
            fault: require_message(&arguments).err(),
            rehearsal: Some(rehearsal),
            ..Prepared::on_name("agent_id", arguments)
        })
    }

    fn as_waits(&self) -> Option<&dyn Waits> {
        Some(self)
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        Err(answered())
    }
}

fn require_message(arguments: &Value) -> Result<(), ToolError> {
    let body = arguments.get("message").cloned().map(Body::from);
    match body.map(|body| body.bytes()) {
        None | Some(0) => Err(invalid("`message` is empty")),
        Some(bytes) if bytes > MAX_BODY_BYTES => Err(invalid(&format!(
            "`message`: expected at most {MAX_BODY_BYTES} bytes, got {bytes}; refer to a file \
             instead"
        ))),
        Some(_) => Ok(()),
    }
}

/// The fact that a message is sent is its effect, and is recorded before the call's end: a call
/// that is made again is answered from it.
#[async_trait]
impl Waits for SendMessageToAgent {
    async fn answer(
        &self,
        context: &ToolContext,
        call: &CallId,
        arguments: Value,
    ) -> Result<Option<Answer>, ToolError> {
        let arguments: Arguments = read(arguments)?;
        let message = arguments.message();
        let receipt = context
            .services()
            .agents
            .send_message(OutgoingMessage {
                call: call.clone(),
                message,
            })
            .await?;
        Ok(receipt.map(|receipt| Answer::new(receipt.to_string(), json!(receipt))))
    }
}

/// The error of running a call that is answered instead.
fn answered() -> ToolError {
    ToolError::Execution("a call that may wait is answered, not run".to_owned())
}

/// The `get_agent_status` tool.
pub(super) struct GetAgentStatus(pub(super) Prompt);

#[derive(Deserialize)]
struct OneAgent {
    agent_id: AgentId,
}

#[async_trait]
impl Tool for GetAgentStatus {
    facts!("get_agent_status", AGENTS, AgentMessage, is_default: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::new(|scope: CallScope, _, arguments: OneAgent| async move {
            scope.services.agents.status(&arguments.agent_id).await?;
            Ok(())
        });
        Ok(Prepared::on_name("agent_id", arguments).rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let OneAgent { agent_id } = read(arguments)?;
        let status = context.services().agents.status(&agent_id).await?;
        let goes_on = status.info.liveness != Liveness::IdleDone;
        Ok(Answer {
            goes_on,
            ..Answer::new(describe(&status), json!(status))
        })
    }
}

/// The `list_active_agents` tool.
pub(super) struct ListActiveAgents(pub(super) Prompt);

#[async_trait]
impl Tool for ListActiveAgents {
    facts!("list_active_agents", AGENTS, AgentMessage, is_default: false);

    async fn execute(&self, context: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        let agents = context.services().agents.active().await?;
        let lines: Vec<String> = agents.iter().map(at_work).collect();
        let text = if lines.is_empty() {
            "no agent is active".to_owned()
        } else {
            lines.join("\n")
        };
        let goes_on = agents
            .iter()
            .any(|agent| agent.agent_id != *context.agent());
        Ok(Answer {
            goes_on,
            ..Answer::new(text, json!(agents))
        })
    }
}

/// The `wait_for_agents` tool.
pub(super) struct WaitForAgents(pub(super) Prompt);

#[derive(Deserialize)]
struct WaitArguments {
    agent_ids: Vec<AgentId>,
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for WaitForAgents {
    facts!("wait_for_agents", AGENTS, AgentSpawn, is_default: false, changes_files: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(on_agents(arguments).rehearsed(Look::at_agents(WaitArguments::operation)))
    }

    fn as_waits(&self) -> Option<&dyn Waits> {
        Some(self)
    }

    async fn execute(&self, _: &ToolContext, _: Value) -> Result<Answer, ToolError> {
        Err(answered())
    }
}

impl WaitArguments {
    fn operation(self) -> AgentOperation {
        AgentOperation::Wait {
            agents: self.agent_ids,
            timeout_seconds: self.timeout,
        }
    }
}

#[async_trait]
impl Waits for WaitForAgents {
    async fn answer(
        &self,
        context: &ToolContext,
        call: &CallId,
        arguments: Value,
    ) -> Result<Option<Answer>, ToolError> {
        let WaitArguments { agent_ids, timeout } = read(arguments)?;
        let wait = AgentsWait {
            call: call.clone(),
            agents: agent_ids,
            timeout_seconds: timeout,
        };
        let ended = context.services().agents.wait(wait).await?;
        Ok(ended.map(|ended| {
            Answer::new(
                format!("{}\n\n{}", why(&ended), ended.outcomes()),
                json!(ended),
            )
        }))
    }
}

/// Returns the effects of a call that names several agents.
pub(super) fn on_agents(arguments: Value) -> Prepared {
    let ids = arguments.get("agent_ids").and_then(Value::as_array);
    let mut effects = Vec::new();
    for id in ids.into_iter().flatten().filter_map(Value::as_str) {
        effects.push(Effect::on(Target::Name(id.to_owned())));
    }
    Prepared {
        effects,
        ..Prepared::new(arguments)
    }
}

/// Describes why a wait has ended.
fn why(ended: &EndedAgentsWait) -> &'static str {
    match ended {
        EndedAgentsWait { all_done: true, .. } => "all of them are done",
        EndedAgentsWait {
            timed_out: true, ..
        } => "the time is over; not all of them are done",
        EndedAgentsWait {
            has_message: true, ..
        } => "a message for you has come, which follows; not all of them are done",
        EndedAgentsWait { .. } => "not all of them are done",
    }
}

impl EndedAgentsWait {
    /// Describes each agent, with what of its work was merged.
    pub fn outcomes(&self) -> String {
        let describe = |status: &AgentStatus| {
            let of = self
                .merged
                .iter()
                .find(|merged| merged.agent == status.info.agent_id);
            let merged = of
                .map(|merged| format!("merged as {}: {}", merged.commit, merged.files.join(", ")));
            std::iter::once(describe(status))
                .chain(merged)
                .collect::<Vec<_>>()
                .join("\n")
        };
        self.agents
            .iter()
            .map(describe)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// Describes an agent with its report.
fn describe(status: &AgentStatus) -> String {
    let AgentStatus {
        info,
        attempt,
        tokens,
        summary,
        error,
        hand_back,
        messages,
    } = status;
    let work = format!(
        "attempt {attempt}, {} turns, {tokens} tokens{}",
        info.turns,
        last_tool(info)
    );
    let texts = [("report", summary), ("error", error)];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some(format!("{name}: {}", text.as_ref()?)));
    let messages = messages.map(|Channel { sent, acknowledged }| {
        format!("of your {sent} messages, read up to {acknowledged}")
    });
    let held = hand_back.iter().flat_map(held_against);
    std::iter::once(in_one_line(info))
        .chain([work])
        .chain(messages)
        .chain(texts)
        .chain(held)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Describes how an agent's work has ended if a limit ended it, which files it changes, and which
/// of its claims the facts do not bear out.
pub(super) fn held_against(hand_back: &HandBack) -> Vec<String> {
    let mut lines = Vec::new();
    let HandBack {
        outcome,
        files,
        omitted_files,
        unverified,
        ..
    } = hand_back;
    if outcome.is_at_limit() {
        lines.push(format!("outcome: {}", outcome.words()));
    }
    if !files.is_empty() {
        let named = files
            .iter()
            .take(SHOWN_FILES)
            .map(|file| format!("{} {}", file.status, shown(&file.path)));
        let more = files.len().saturating_sub(SHOWN_FILES) + omitted_files;
        let more = (more > 0).then(|| format!("and {more} more"));
        lines.push(format!(
            "files: {}",
            named.chain(more).collect::<Vec<_>>().join(", ")
        ));
    }
    lines.extend(
        unverified
            .iter()
            .map(|claim| format!("unverified claim: {claim}")),
    );
    lines
}

/// Describes an agent in one line.
fn in_one_line(info: &AgentInfo) -> String {
    let AgentInfo {
        agent_id,
        title,
        state,
        liveness,
        ..
    } = info;
    format!(
        "{agent_id} ({title}): {}, {}",
        state.as_str(),
        words(liveness)
    )
}

/// Describes in one line what an agent is doing that has not ended.
fn at_work(info: &AgentInfo) -> String {
    let line = in_one_line(info);
    if info.turns == 0 {
        line
    } else {
        format!("{line}; turn {}{}", info.turns, last_tool(info))
    }
}

fn last_tool(info: &AgentInfo) -> String {
    info.last_tool
        .as_deref()
        .map(|tool| format!(", last tool {tool}"))
        .unwrap_or_default()
}

fn words(liveness: &Liveness) -> String {
    let blocker = match liveness {
        Liveness::Working => return "working".to_owned(),
        Liveness::WaitingHuman => return "waiting-human".to_owned(),
        Liveness::IdleDone => return "idle-done".to_owned(),
        Liveness::Lost => return "lost".to_owned(),
        Liveness::BlockedOn(blocker) => blocker,
    };
    let (what, ids) = match blocker {
        Blocker::Slot => ("a free slot", &[][..]),
        Blocker::Model => ("its model, which does not answer", &[][..]),
        Blocker::Budget => ("the budget", &[][..]),
        Blocker::Merge => ("its merge", &[][..]),
        Blocker::Dependencies(ids) => ("the tasks ", ids.as_slice()),
        Blocker::Agents(ids) => ("the agents ", ids.as_slice()),
        Blocker::Reviewers(ids) => ("its reviewers ", ids.as_slice()),
    };
    let ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    format!("blocked-on {what}{}", ids.join(", "))
}
