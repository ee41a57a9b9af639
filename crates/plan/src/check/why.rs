//! The explanation of each wave: what its tasks come after and why, and why they may run together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::order::reason::Reason;
use crate::parse::Plan;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::Task;

/// The maximum number of ids in one list of a sentence.
const MAX_IDS: usize = 5;

/// Returns a sentence for each wave.
pub(crate) fn of_waves(plan: &Plan, waves: &[Vec<TaskId>]) -> Vec<String> {
    let tasks: HashMap<&TaskId, &Task> = plan.tasks.iter().map(|task| (&task.id, task)).collect();
    let reasons: HashMap<&TaskId, Reason> = plan
        .reasons
        .iter()
        .map(|(id, reason)| (id, *reason))
        .collect();
    let mut before: BTreeSet<&TaskId> = BTreeSet::new();
    let mut sentences = Vec::with_capacity(waves.len());
    for wave in waves {
        let own: Vec<&Task> = wave
            .iter()
            .filter_map(|id| tasks.get(id).copied())
            .collect();
        let mut sentence = match sentences.is_empty() {
            true => "nothing comes before".to_owned(),
            false => after(&reasons, &own, &before),
        };
        if own.len() > 1 {
            sentence.push_str("; together: ");
            sentence.push_str(together(&own));
        }
        sentences.push(sentence);
        before = wave.iter().collect();
    }
    sentences
}

/// Describes what the tasks of a wave come after in the wave before, grouped by what they share.
fn after(reasons: &HashMap<&TaskId, Reason>, wave: &[&Task], before: &BTreeSet<&TaskId>) -> String {
    let mut groups: BTreeMap<(String, &str), Vec<&TaskId>> = BTreeMap::new();
    for task in wave {
        let reason = reasons.get(&task.id).copied().unwrap_or_default();
        let depends: Vec<&TaskId> = task
            .depends
            .iter()
            .filter(|id| before.contains(id))
            .collect();
        let (earlier, cause) = match depends.is_empty() {
            true => (
                task.after.iter().filter(|id| before.contains(id)).collect(),
                in_order(reason),
            ),
            false if reason.barrier => (depends, "the phase before"),
            false => (depends, "dependency"),
        };
        groups
            .entry((list(&earlier), cause))
            .or_default()
            .push(&task.id);
    }
    let is_one = groups.len() == 1;
    let say = |((earlier, cause), ids): (&(String, &str), &Vec<&TaskId>)| match (
        earlier.as_str(),
        is_one,
    ) {
        ("", true) => format!("after tasks that do not run: {cause}"),
        ("", false) => format!("{} after tasks that do not run: {cause}", list(ids)),
        (_, true) => format!("after {earlier}: {cause}"),
        (_, false) => format!("{} after {earlier}: {cause}", list(ids)),
    };
    groups.iter().map(say).collect::<Vec<_>>().join("; ")
}

fn in_order(reason: Reason) -> &'static str {
    reason.order.map_or("dependency", |cause| cause.words())
}

/// Returns why tasks may run together.
fn together(wave: &[&Task]) -> &'static str {
    if wave.iter().all(|task| task.parallel) {
        "marked [P]"
    } else if wave.iter().all(|task| !task.files.is_empty()) {
        "different files"
    } else {
        "nothing orders them"
    }
}

fn list(ids: &[&TaskId]) -> String {
    let shown: Vec<&str> = ids.iter().take(MAX_IDS).map(|id| id.as_str()).collect();
    match ids.len().saturating_sub(MAX_IDS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
