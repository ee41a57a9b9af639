//! A worker's input: its task and everything about it that stays the same while it works, as data.
//!
//! An assignment can be serialized and read elsewhere: it contains no folder, handle or connection
//! of the coordinator's. It is valid for one worker; the next worker of the task gets a new one.
//! Data that changes while the worker works is requested through its
//! [`crate::link::worker_link::WorkerLink`].

use orchestrate_checks::Preparation;
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::{Grant, RuleText};
use orchestrate_core::task::Delivers;
use orchestrate_core::{AgentId, AgentSpec, Oid, RunId, Task, ToolSettings};
use serde::{Deserialize, Serialize};

use crate::texts::prompts::Prompts;

/// One task for one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The run.
    pub(crate) run: RunId,
    /// The agent, whose id is its task's.
    pub(crate) agent: AgentId,
    /// The attempt's number, from 1.
    pub(crate) attempt: u32,
    /// The repository's id: a name, not a place.
    pub(crate) repository: String,
    /// The commit that the attempt started from.
    pub(crate) base: Oid,
    /// The task.
    pub(crate) task: Task,
    /// The role; `None` for a `run:` task.
    pub(crate) role: Option<AssignedRole>,
    /// The names of the run's tools.
    pub(crate) tools: ToolNames,
    /// The rules for its calls: the run's, and those of the role, which narrow them.
    pub(crate) rules: Vec<RuleText>,
    /// How a new worktree is prepared.
    pub(crate) preparation: Preparation,
    /// What its tools may do.
    pub(crate) tool_settings: ToolSettings,
    /// Its limits.
    pub(crate) limits: WorkLimits,
    /// The texts for its agent.
    pub(crate) prompts: Prompts,
}

/// The role of an agent, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AssignedRole {
    /// What it delivers.
    pub(crate) delivers: Delivers,
    /// Whether a task that changes nothing has succeeded.
    pub(crate) may_do_nothing: bool,
    /// Whether work is returned whose report claims what the facts do not bear out.
    pub(crate) strict_hand_back: bool,
    /// The tools and permissions that it may use.
    pub(crate) grant: Grant,
    /// The agent's specification.
    pub(crate) spec: AgentSpec,
}

/// The limits of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkLimits {
    /// Time limit of one command.
    pub(crate) command_timeout_ms: u64,
    /// How often the work may be returned in one attempt.
    pub(crate) merge_rounds: u32,
    /// How long a request is repeated in milliseconds while no model answers.
    pub(crate) outage_patience_ms: u64,
    /// Whether a call that needs approval is parked; otherwise it is denied.
    pub(crate) ask_parks: bool,
}

#[cfg(test)]
mod tests {
    use orchestrate_core::ToolSpec;
    use orchestrate_core::event::settings::WarmLimit;
    use orchestrate_core::policy::RuleDecision;
    use orchestrate_core::policy::tool_settings::CodeExecution;
    use orchestrate_core::task::Work;

    use super::*;
    use orchestrate_checks::ProjectSetup;

    #[test]
    fn an_assignment_survives_being_written_down() {
        let spec = AgentSpec {
            task: "T1".into(),
            model: "script:x".to_owned(),
            fallbacks: Vec::new(),
            system: "system".to_owned(),
            tools: [ToolSpec {
                name: "grep".to_owned(),
                description: "finds".to_owned(),
                parameters: serde_json::json!({"type": "object"}),
            }]
            .into(),
            instruction: "do it".to_owned(),
            context_tokens: 16_000,
            max_output_tokens: 100,
            max_turns: 3,
            answers: None,
            refuses_repeats: true,
        };
        let texts = |path: &str| {
            let is_prompt = path == ".orchestrate/prompts/system/agent.md";
            Ok::<_, std::convert::Infallible>(is_prompt.then(|| "Use tabs.".to_owned()))
        };
        let assignment = Assignment {
            run: "r-abcdef".into(),
            agent: "T1".into(),
            attempt: 2,
            repository: "0123456789abcdef".to_owned(),
            base: "base".into(),
            task: Task {
                id: "T1".into(),
                work: Work::Agent(Some("tester".to_owned())),
                ..Task::default()
            },
            role: Some(AssignedRole {
                delivers: Delivers::Report,
                may_do_nothing: true,
                strict_hand_back: false,
                grant: Grant::of_tools(["grep"]),
                spec,
            }),
            tools: ToolNames::default(),
            rules: vec![RuleText::new(
                RuleDecision::Deny,
                "run_shell_command(rm*)",
                "the project",
            )],
            preparation: Preparation {
                run: "r-abcdef".into(),
                base: "base".into(),
                warm_limit: WarmLimit::default(),
                setup: Some(ProjectSetup {
                    run: "r-abcdef".into(),
                    base: "base".into(),
                    command: "make deps".to_owned(),
                    has_network: true,
                    hosts: Vec::new(),
                    timeout_ms: 1_000,
                }),
            },
            tool_settings: ToolSettings {
                code_execution: CodeExecution {
                    timeout_seconds: Some(30),
                    ..CodeExecution::default()
                },
                ..ToolSettings::default()
            },
            limits: WorkLimits {
                command_timeout_ms: 1_000,
                merge_rounds: 3,
                outage_patience_ms: 1,
                ask_parks: true,
            },
            prompts: Prompts::of_project(texts).unwrap(),
        };
        let text = serde_json::to_string(&assignment).unwrap();
        assert_eq!(
            serde_json::from_str::<Assignment>(&text).unwrap(),
            assignment
        );
    }
}
