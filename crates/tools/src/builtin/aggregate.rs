//! `aggregate_agent_results`: what several agents hand back, side by side.

use async_trait::async_trait;
use orchestrate_core::agent::price::dollars;
use orchestrate_core::projections::aggregated::{AggregatedResults, BranchConflict, Counterpart};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{AgentId, CheckedBy, HandBack};
use serde::Deserialize;
use serde_json::{Value, json};

use super::agents::{held_against, on_agents};
use super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::services::AgentOperation;
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `aggregate_agent_results` tool.
pub(super) struct AggregateAgentResults(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    agent_ids: Vec<AgentId>,
}

#[async_trait]
impl Tool for AggregateAgentResults {
    facts!("aggregate_agent_results", AGENTS, AgentSpawn, is_default: false, changes_files: false);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_agents(|arguments: Arguments| AgentOperation::Aggregate(arguments.agent_ids));
        Ok(on_agents(arguments).rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { agent_ids } = read(arguments)?;
        let together = context
            .services()
            .agents
            .aggregate(&agent_ids, context.shows_path())
            .await?;
        let names: Vec<String> = together.withheld.iter().map(|path| shown(path)).collect();
        let withheld = (!names.is_empty())
            .then(|| format!("[not shown, as the rules demand: {}]", names.join(", ")));
        Ok(Answer {
            footer: withheld,
            ..Answer::new(describe(&together), json!(together))
        })
    }
}

/// Describes the results: each agent's report first, and the diff, which may be long, last.
fn describe(together: &AggregatedResults) -> String {
    let mut parts: Vec<String> = together.results.iter().map(of_agent).collect();
    let sizes = together.changes.iter().map(|size| {
        format!(
            "changes of {}: {} files, +{} -{}",
            size.agent_id, size.files, size.added, size.removed
        )
    });
    let overlaps = together.overlaps.iter().map(|shared| {
        let agents: Vec<&str> = shared.agents.iter().map(AgentId::as_str).collect();
        format!(
            "changed by {}: {}",
            agents.join(" and "),
            shown(&shared.path)
        )
    });
    let conflicts = together.conflicts.iter().map(of_conflict);
    let none = together
        .conflicts
        .is_empty()
        .then(|| "no conflicts between these branches, or with yours".to_owned());
    let unchecked = (together.unchecked_pairs > 0).then(|| {
        format!(
            "{} pairs of branches were not checked for conflicts",
            together.unchecked_pairs
        )
    });
    let cost = together
        .usage
        .micro_usd
        .map_or_else(|| "cost unknown".to_owned(), dollars);
    let used = format!(
        "together: {} tokens, {cost}, {} turns",
        together.usage.tokens, together.usage.turns
    );
    let facts = sizes
        .chain(overlaps)
        .chain(conflicts)
        .chain(none)
        .chain(unchecked)
        .chain([used]);
    parts.push(facts.collect::<Vec<_>>().join("\n"));
    if !together.diff.is_empty() {
        parts.push(together.diff.trim_end().to_owned());
    }
    parts.join("\n\n")
}

/// Describes what one agent hands back.
fn of_agent(hand_back: &HandBack) -> String {
    let HandBack {
        agent_id,
        outcome,
        error,
        summary,
        by_agent,
        open_questions,
        checks,
        usage,
        ..
    } = hand_back;
    let what = if *by_agent { "report" } else { "facts" };
    let mut lines = vec![format!(
        "{agent_id}: {}, {} turns, {} tokens",
        outcome.words(),
        usage.turns,
        usage.tokens
    )];
    lines.extend(
        error
            .as_ref()
            .map(|error| format!("error: {}", error.message)),
    );
    lines.push(format!("{what}: {summary}"));
    lines.extend(
        open_questions
            .iter()
            .map(|question| format!("asks: {question}")),
    );
    lines.extend(checks.iter().map(|check| {
        let by = if check.by == CheckedBy::Agent {
            "the agent"
        } else {
            "the run"
        };
        let then = if check.outdated {
            ", before the last change"
        } else {
            ""
        };
        format!(
            "checked by {by}: `{}`: {}{then}",
            shown(&check.command),
            check.exit
        )
    }));
    lines.extend(held_against(hand_back));
    lines.join("\n")
}

fn of_conflict(conflict: &BranchConflict) -> String {
    let with = match &conflict.with {
        Counterpart::Agent(agent) => agent.to_string(),
        Counterpart::Yours => "your branch".to_owned(),
        Counterpart::Result => "the result".to_owned(),
    };
    let files: Vec<String> = conflict
        .files
        .iter()
        .map(|file| format!("{} ({})", shown(&file.path), file.kind))
        .collect();
    format!(
        "conflict of {} with {with}: {}",
        conflict.agent_id,
        files.join(", ")
    )
}
