//! The explanation of each wave: what its tasks come after and why, and why they may run together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::order::reason::Reason;
use crate::parse::Plan;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::Task;

/// The maximum number of ids in one list of a sentence.
const MAX_IDS: usize = 5;

/// The words for a dependency that the plan names, and for the barrier before a phase.
const DEPENDENCY: &str = "dependency";
const BARRIER: &str = "the phase before";

/// Returns a sentence for each wave.
pub(crate) fn of_waves(plan: &Plan, waves: &[Vec<TaskId>]) -> Vec<String> {
    let places: HashMap<&TaskId, usize> = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(place, task)| (&task.id, place))
        .collect();
    let reasons: HashMap<&TaskId, &Reason> = plan
        .reasons
        .iter()
        .map(|(id, reason)| (id, reason))
        .collect();
    let mut before: BTreeSet<&TaskId> = BTreeSet::new();
    let mut sentences = Vec::with_capacity(waves.len());
    for wave in waves {
        let own: Vec<&Task> = wave
            .iter()
            .filter_map(|id| plan.tasks.get(*places.get(id)?))
            .collect();
        let mut sentence = "nothing comes before".to_owned();
        if !sentences.is_empty() {
            let mut groups = BTreeMap::new();
            for task in &own {
                let waits = Waits {
                    task,
                    reason: reasons.get(&task.id).copied(),
                    places: &places,
                };
                waits.add(&before, &mut groups);
            }
            sentence = after(&groups);
        }
        if own.len() > 1 {
            sentence.push_str("; together: ");
            sentence.push_str(together(&own));
        }
        sentences.push(sentence);
        before = wave.iter().collect();
    }
    sentences
}

/// The tasks of a wave by what they come after, with the cause.
type Groups<'p> = BTreeMap<(String, &'static str), Vec<&'p TaskId>>;

/// What a task waits for.
struct Waits<'p> {
    task: &'p Task,
    /// Why it waits for what it does not name.
    reason: Option<&'p Reason>,
    /// Where the tasks stand in the plan.
    places: &'p HashMap<&'p TaskId, usize>,
}

impl<'p> Waits<'p> {
    /// Adds the task to the groups of what it comes after in the wave before.
    fn add(&self, before: &BTreeSet<&TaskId>, groups: &mut Groups<'p>) {
        let mut earlier: BTreeMap<&'static str, Vec<&TaskId>> = BTreeMap::new();
        let mut first = None;
        let depends = self
            .task
            .depends
            .iter()
            .map(|id| (id, self.of_dependency(id)));
        let causes = self.reason.into_iter().flat_map(|reason| &reason.after);
        let after = self
            .task
            .after
            .iter()
            .zip(causes.map(|cause| cause.words()));
        for (id, cause) in depends.chain(after) {
            first.get_or_insert(cause);
            if before.contains(id) {
                earlier.entry(cause).or_default().push(id);
            }
        }
        if earlier.is_empty() {
            earlier.insert(first.unwrap_or(DEPENDENCY), Vec::new());
        }
        for (cause, ids) in earlier {
            let group = groups.entry((list(&ids), cause)).or_default();
            group.push(&self.task.id);
        }
    }

    fn of_dependency(&self, on: &TaskId) -> &'static str {
        let phase = self.reason.and_then(|reason| reason.phase.as_ref());
        match phase.zip(self.places.get(on)) {
            Some((phase, place)) if !phase.contains(place) => BARRIER,
            _ => DEPENDENCY,
        }
    }
}

/// Describes what the tasks of a wave come after in the wave before.
fn after(groups: &Groups<'_>) -> String {
    let mut sentences = Vec::with_capacity(groups.len());
    for ((earlier, cause), ids) in groups {
        let subject = match groups.len() {
            1 => String::new(),
            _ => format!("{} ", list(ids)),
        };
        let earlier = match earlier.as_str() {
            "" => "tasks that do not run",
            earlier => earlier,
        };
        sentences.push(format!("{subject}after {earlier}: {cause}"));
    }
    sentences.join("; ")
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
