//! Restores an agent's loop from its recorded events.

use std::collections::BTreeMap;

use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::messages::{Envelope, Sender};
use orchestrate_core::{AgentFact, AgentLoop, BlobId, ModelReply, RequestChain};
use orchestrate_tools::{Notes, ReadLedger, ToolOutput};

use crate::error::CoordinatorError;
use crate::link::blobs::Blobs;

/// An agent restored from its events.
pub(crate) struct Replayed {
    pub(crate) agent: AgentLoop,
    /// What its requests are made of.
    pub(crate) requests: RequestChain,
    /// The files that it has read.
    pub(crate) ledger: ReadLedger,
    /// Its notes.
    pub(crate) notes: Notes,
    /// The artifacts that it has been given.
    pub(crate) artifacts: Vec<orchestrate_tools::Artifact>,
}

/// Returns the blobs that a replay of these events reads.
pub(crate) fn named_blobs(facts: &[Recorded]) -> Vec<BlobId> {
    let named = facts.iter().filter_map(|recorded| match &recorded.event {
        Event::ModelReplied { reply, .. } => Some(reply),
        Event::ToolFinished { result, .. } => Some(result),
        Event::TaskReturned { text, .. } | Event::MapMade { text, .. } => Some(text),
        _ => None,
    });
    named.cloned().collect()
}

/// Replays a task's events into a new loop of its agent.
pub(crate) fn replay(
    mut agent: AgentLoop,
    facts: &[Recorded],
    blobs: &Blobs,
) -> Result<Replayed, CoordinatorError> {
    let mut messages: BTreeMap<(Sender, u64), &Envelope> = BTreeMap::new();
    let mut ends: Vec<ToolOutput> = Vec::new();
    let mut requests = RequestChain::default();
    for recorded in facts {
        match &recorded.event {
            // Its own messages to the user are among its facts, too.
            Event::MessageSent { envelope } if envelope.to.agent() == Some(&agent.spec().task) => {
                messages.insert((envelope.from.clone(), envelope.sequence), envelope);
            }
            Event::MessageDelivered {
                from,
                sequence,
                expired: false,
                ..
            } => {
                if let Some(envelope) = messages.get(&(from.clone(), *sequence)) {
                    agent.apply(AgentFact::Delivered {
                        text: envelope.render(),
                    })?;
                }
            }
            Event::MapMade { text, .. } => {
                let text = String::from_utf8_lossy(blobs.get(text)?).into_owned();
                agent.apply(AgentFact::MapMade { text })?;
            }
            Event::AgentWaiting { .. } => agent.apply(AgentFact::Waits)?,
            Event::ReportDue(due) => agent.apply(AgentFact::ReportDue {
                limit: due.limit.clone(),
            })?,
            Event::ModelRequested { parts, .. } => {
                if agent.is_at_limit() {
                    agent.apply(AgentFact::ReportAsked)?;
                }
                let followed = requests.follow(recorded.seq, parts);
                followed.map_err(|error| {
                    CoordinatorError::underivable(&recorded.run_id, recorded.seq, error)
                })?;
            }
            Event::ModelReplied { reply, .. } => {
                let reply: ModelReply = blobs.value(reply, "model reply")?;
                agent.apply(AgentFact::Replied { reply })?;
            }
            Event::ToolFinished { result, .. } => {
                let end: ToolOutput = blobs.value(result, "tool result")?;
                agent.apply(AgentFact::ToolEnded {
                    answer: end.to_answer(),
                })?;
                ends.push(end);
            }
            Event::TaskReturned { cause, text, .. } => {
                if cause.is_new_attempt() {
                    agent.apply(AgentFact::AttemptStarted)?;
                }
                let text = String::from_utf8_lossy(blobs.get(text)?).into_owned();
                agent.apply(AgentFact::Returned {
                    cause: *cause,
                    text,
                })?;
            }
            Event::ModelSwitched { to, .. } => {
                agent.apply(AgentFact::ModelSwitched { model: to.clone() })?
            }
            Event::ContextCompacted { compaction, .. } => {
                agent.apply(AgentFact::Compacted {
                    compaction: compaction.clone(),
                })?;
            }
            _ => {}
        }
    }
    Ok(Replayed {
        agent,
        requests,
        notes: Notes::restore(ends.iter().filter_map(|end| end.notes.as_deref())),
        ledger: ReadLedger::restore(ends.iter().flat_map(|end| &end.seen)),
        artifacts: ends
            .iter()
            .flat_map(|end| end.artifacts.iter().cloned())
            .collect(),
    })
}
