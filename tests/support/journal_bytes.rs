//! What the turns of an agent add to the journal.

use std::collections::BTreeSet;

use libtest_mimic::Failed;
use orchestrate_core::{BlobId, Event, Recorded};
use orchestrate_journal::Store;

/// Returns the bytes that each turn of a run's only agent added to the journal: its facts, and the
/// blobs that no earlier fact names. What comes before the first turn is left out, and what comes
/// after the last counts for it.
pub(crate) fn bytes_of_turns(store: &Store, facts: &[Recorded]) -> Result<Vec<usize>, Failed> {
    let (mut turns, mut known) = (Vec::new(), BTreeSet::new());
    for fact in facts {
        if matches!(fact.event, Event::TurnStarted { .. }) {
            turns.push(0);
        }
        let mut bytes = serde_json::to_string(&fact.event)?.len();
        for id in blobs_of(&fact.event)
            .into_iter()
            .filter(|id| known.insert(*id))
        {
            bytes += store.blob(id)?.len();
        }
        if let Some(turn) = turns.last_mut() {
            *turn += bytes;
        }
    }
    Ok(turns)
}

/// Returns the blobs that an event of a turn names.
pub(crate) fn blobs_of(event: &Event) -> Vec<&BlobId> {
    match event {
        Event::ModelRequested { parts, .. } => [&parts.system, &parts.tools]
            .into_iter()
            .chain(&parts.add)
            .collect(),
        Event::ModelReplied { reply, .. } => vec![reply],
        Event::ToolFinished { result, .. } => vec![result],
        _ => Vec::new(),
    }
}
