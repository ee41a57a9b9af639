//! What a worker is given to know: its task and everything about it that stays the same while it works, as data.
//!
//! An assignment can be written down and read elsewhere: it names no folder, no handle and no connection of the
//! coordinator's. It holds for one worker; whoever takes the task over gets a new one. What changes while the worker
//! works, it asks for through its [`crate::worker::link::WorkerLink`].

use orchestrate_core::policy::Grant;
use orchestrate_core::settings::RuleText;
use orchestrate_core::{AgentId, AgentSpec, Oid, RunId, Task};
use orchestrate_plan::role::Delivers;
use serde::{Deserialize, Serialize};

use crate::texts::prompts::Prompts;

/// One task for one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The run.
    pub(crate) run: RunId,
    /// The agent, whose id is its task's.
    pub(crate) agent: AgentId,
    /// Counts from 1.
    pub(crate) attempt: u32,
    /// The repository's id: a name, not a place.
    pub(crate) repository: String,
    /// The commit that the attempt started from.
    pub(crate) base: Oid,
    /// The task.
    pub(crate) task: Task,
    /// Who works on it; `None` for a `run:` task.
    pub(crate) role: Option<AssignedRole>,
    /// The rules for its calls: the run's, and those of the role that narrow them.
    pub(crate) rules: Vec<RuleText>,
    /// Shell command that makes a new worktree ready.
    pub(crate) setup: Option<String>,
    /// What it may use up, and how often its work may come back.
    pub(crate) limits: WorkLimits,
    /// The texts that it sends its agent.
    pub(crate) prompts: Prompts,
}

/// The role of an agent, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AssignedRole {
    /// What it ends with.
    pub(crate) delivers: Delivers,
    /// What it may use at all.
    pub(crate) grant: Grant,
    /// What the agent is made from.
    pub(crate) spec: AgentSpec,
}

/// What bounds the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkLimits {
    /// Largest time of one command.
    pub(crate) command_timeout_ms: u64,
    /// How often the work may come back in one attempt.
    pub(crate) merge_rounds: u32,
    /// Whether a call that needs a person waits for one; otherwise it is denied.
    pub(crate) ask_parks: bool,
}

#[cfg(test)]
mod tests {
    use orchestrate_core::settings::RuleDecision;
    use orchestrate_core::{ToolSpec, task::Work};

    use super::*;

    #[test]
    fn an_assignment_survives_being_written_down() {
        let spec = AgentSpec {
            task: "T1".into(),
            model: "script:x".to_owned(),
            system: "system".to_owned(),
            tools: vec![ToolSpec {
                name: "grep".to_owned(),
                description: "finds".to_owned(),
                parameters: serde_json::json!({"type": "object"}),
            }],
            instruction: "do it".to_owned(),
            context_tokens: 16_000,
            max_output_tokens: 100,
            max_turns: 3,
        };
        let texts =
            |path: &str| Ok::<_, std::convert::Infallible>((path == "AGENTS.md").then(|| "Use tabs.".to_owned()));
        let assignment = Assignment {
            run: "r-abcdef".into(),
            agent: "T1".into(),
            attempt: 2,
            repository: "0123456789abcdef".to_owned(),
            base: "base".into(),
            task: Task { id: "T1".into(), work: Work::Agent(Some("tester".to_owned())), ..Task::default() },
            role: Some(AssignedRole { delivers: Delivers::Report, grant: Grant::of_tools(["grep"]), spec }),
            rules: vec![RuleText {
                decision: RuleDecision::Deny,
                rule: "run_shell_command(rm*)".to_owned(),
                source: "the project".to_owned(),
            }],
            setup: Some("make deps".to_owned()),
            limits: WorkLimits { command_timeout_ms: 1_000, merge_rounds: 3, ask_parks: true },
            prompts: Prompts::of_project(texts).unwrap(),
        };
        let text = serde_json::to_string(&assignment).unwrap();
        assert_eq!(serde_json::from_str::<Assignment>(&text).unwrap(), assignment);
    }
}
