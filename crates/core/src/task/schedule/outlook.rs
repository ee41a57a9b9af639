//! The consequences of the progress of all tasks for each: whether it may start now, or never can.
//!
//! [`Outlook`] keeps the answer for each task while tasks progress. It is a function of the graph
//! and of the progress alone, the same that [`Schedule::ready`] and [`Schedule::skipped`] evaluate
//! for all tasks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::collections::{SharedMap, SharedSet};
use crate::ids::TaskId;
use crate::task::schedule::{Graph, Node, Progress, Schedule};

/// The tasks among some that may start now, and those that never can.
#[derive(Debug, Default)]
pub(crate) struct Prospects<'a> {
    /// The tasks that may start now.
    pub(crate) ready: BTreeSet<&'a TaskId>,
    /// The tasks that can never start.
    pub(crate) skipped: BTreeSet<&'a TaskId>,
}

impl Schedule {
    /// Returns the tasks that may start now, by descending priority, then in the order of the plan.
    pub fn ready(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<TaskId> {
        let evaluation = self.evaluate_all(progress);
        let mut ready: Vec<&Node> = Vec::new();
        for (at, node) in self.graph.nodes.iter() {
            if evaluation.state(*at).ready {
                ready.push(node);
            }
        }
        ready.sort_by_key(|node| Reverse(node.priority));
        ready.into_iter().map(|node| node.id.clone()).collect()
    }

    /// Returns the waiting tasks that can never start, each with the dependency that will not be
    /// merged.
    pub fn skipped(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<(TaskId, TaskId)> {
        let evaluation = self.evaluate_all(progress);
        let mut skipped = Vec::new();
        for (at, node) in self.graph.nodes.iter() {
            if let Some(because) = evaluation.state(*at).skipped
                && let Some(dependency) = self.id(because)
            {
                skipped.push((node.id.clone(), dependency.clone()));
            }
        }
        skipped
    }

    /// Returns the tasks that would run if nothing fails, in groups that could run together.
    pub fn waves(&self) -> Vec<Vec<TaskId>> {
        let evaluation = self.evaluate_all(|id| self.initial_progress(id));
        let mut levels: BTreeMap<usize, usize> = BTreeMap::new();
        for at in self.graph.order.values().copied() {
            let Some(node) = self.graph.at(at) else {
                continue;
            };
            let before = node.waits().filter_map(|at| levels.get(&at)).max().copied();
            if !evaluation.state(at).runs() {
                // A task that does not run still passes on the order of the tasks before it.
                if let Some(before) = before {
                    levels.insert(at, before);
                }
            } else if let Some(before) = before {
                levels.insert(at, before + 1);
            } else {
                levels.insert(at, 0);
            }
        }
        let mut waves: BTreeMap<usize, Vec<TaskId>> = BTreeMap::new();
        for (at, node) in self.graph.nodes.iter() {
            if evaluation.state(*at).runs()
                && let Some(level) = levels.get(at)
            {
                waves.entry(*level).or_default().push(node.id.clone());
            }
        }
        waves.into_values().collect()
    }

    /// Returns which of these tasks may start now, and which can never start. Each comes after all
    /// that it waits for, which are among them.
    pub(crate) fn prospects(
        &self,
        order: &[usize],
        progress: impl Fn(&TaskId) -> Progress,
    ) -> Prospects<'_> {
        let evaluation = self.evaluate(order.iter().copied(), progress);
        let mut prospects = Prospects::default();
        for at in order {
            let Some(id) = self.id(*at) else { continue };
            let state = evaluation.state(*at);
            if state.ready {
                prospects.ready.insert(id);
            }
            if state.skipped.is_some() {
                prospects.skipped.insert(id);
            }
        }
        prospects
    }

    fn initial_progress(&self, id: &TaskId) -> Progress {
        match self.graph.node(id) {
            Some(node) => node.begins,
            None => Progress::Waiting,
        }
    }

    /// Evaluates every task.
    fn evaluate_all(&self, progress: impl Fn(&TaskId) -> Progress) -> Evaluation<'_> {
        self.evaluate(self.graph.order.values().copied(), progress)
    }

    /// Evaluates tasks, of which each comes after all that it waits for.
    fn evaluate(
        &self,
        order: impl Iterator<Item = usize>,
        progress: impl Fn(&TaskId) -> Progress,
    ) -> Evaluation<'_> {
        let mut evaluation = Evaluation {
            graph: &self.graph,
            states: vec![State::default(); self.graph.nodes.size()],
        };
        for at in order {
            let Some(node) = self.graph.at(at) else {
                continue;
            };
            let state = State::new(at, node, progress(&node.id), &evaluation);
            if let Some(slot) = evaluation.states.get_mut(at) {
                *slot = state;
            }
        }
        evaluation
    }
}

/// The states of tasks, as far as they are evaluated.
trait States {
    /// Returns the state of the task at a place.
    fn state(&self, at: usize) -> State;

    /// Returns the first task of which the one at a place does not have what it requires.
    fn first_without(&self, at: usize, requirement: Requirement) -> Option<usize>;

    /// Reports whether the task at a place has what it requires of each other one.
    fn has(&self, at: usize, requirement: Requirement) -> bool {
        self.first_without(at, requirement).is_none()
    }
}

/// The states of the tasks of a graph in one state of the run.
struct Evaluation<'a> {
    graph: &'a Graph,
    /// By the places of the tasks.
    states: Vec<State>,
}

impl States for Evaluation<'_> {
    fn state(&self, at: usize) -> State {
        self.states.get(at).copied().unwrap_or_default()
    }

    fn first_without(&self, at: usize, requirement: Requirement) -> Option<usize> {
        let node = self.graph.at(at)?;
        let mut required = requirement.edges(node).keys().copied();
        required.find(|on| requirement.is_unmet(self.graph, node, *on, self))
    }
}

/// A requirement of a task on one that it waits for, named for how it is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Requirement {
    /// The work that it depends on is not there.
    WorkMissing,
    /// That work will never be there.
    WorkImpossible,
    /// The work that it tests will never be there.
    TestedImpossible,
    /// The task that it comes after is not settled.
    PredecessorUnsettled,
    /// Work that it reviews is not merged.
    ReviewedUnmerged,
    /// That work will never be merged.
    ReviewedImpossible,
    /// Work that it reviews is not settled.
    ReviewedUnsettled,
}

const REQUIREMENTS: [Requirement; 7] = [
    Requirement::WorkMissing,
    Requirement::WorkImpossible,
    Requirement::TestedImpossible,
    Requirement::PredecessorUnsettled,
    Requirement::ReviewedUnmerged,
    Requirement::ReviewedImpossible,
    Requirement::ReviewedUnsettled,
];

impl Requirement {
    /// Returns the tasks of which a task requires this.
    fn edges(self, node: &Node) -> &SharedSet<usize> {
        match self {
            Self::WorkMissing | Self::WorkImpossible => &node.depends,
            Self::TestedImpossible => &node.tested,
            Self::PredecessorUnsettled => &node.after,
            Self::ReviewedUnmerged | Self::ReviewedImpossible | Self::ReviewedUnsettled => {
                &node.reviews
            }
        }
    }

    /// Reports whether another task, of which a task requires this, does not meet it.
    fn is_unmet(self, graph: &Graph, node: &Node, on: usize, states: &impl States) -> bool {
        let state = states.state(on);
        match self {
            Self::WorkMissing => {
                if work_is_seen(node, on, states) {
                    return false;
                }
                // Another review of the same work has ended before the work is merged.
                let mut reviewed = graph.reviews_of(on);
                !(state.merged && reviewed.all(|at| work_is_seen(node, at, states)))
            }
            Self::WorkImpossible | Self::ReviewedImpossible => state.dead.is_some(),
            // What the plan itself leaves out has not failed.
            Self::TestedImpossible => match graph.at(on) {
                Some(tested) => state.dead.is_some() && tested.begins == Progress::Waiting,
                None => false,
            },
            Self::PredecessorUnsettled | Self::ReviewedUnsettled => !state.settled,
            Self::ReviewedUnmerged => !state.satisfied,
        }
    }
}

/// Reports whether a task can use the work of another one, or review it.
fn work_is_seen(node: &Node, on: usize, states: &impl States) -> bool {
    let state = states.state(on);
    state.satisfied || node.reviews.contains_key(&on) && state.reviewable
}

/// The state of one task for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// It has not started.
    waiting: bool,
    /// It may start.
    ready: bool,
    /// It is merged itself, though perhaps not what it reviews.
    merged: bool,
    /// Its dependents may continue.
    satisfied: bool,
    /// A task that reviews it may start.
    reviewable: bool,
    /// It waits and can never start, because of this task.
    skipped: Option<usize>,
    /// Its dependents can never start in this state of the run, because of this task.
    dead: Option<usize>,
    /// No task waits for its end, nor for the end of those it comes after: a skipped task must not
    /// let others overtake.
    settled: bool,
}

impl State {
    /// Returns the state of a task with this progress from the states of those that it waits for.
    fn new(at: usize, node: &Node, progress: Progress, states: &impl States) -> Self {
        let waiting = progress == Progress::Waiting;
        let merged = progress == Progress::Merged;
        let mut skipped = None;
        if waiting {
            skipped = dead_by(at, Requirement::WorkImpossible, states);
            if skipped.is_none() {
                skipped = dead_by(at, Requirement::TestedImpossible, states);
            }
        }
        let is_dead = skipped.is_some() || progress == Progress::Failed;
        let mut dead = None;
        if is_dead {
            dead = Some(at);
        } else if merged {
            dead = dead_by(at, Requirement::ReviewedImpossible, states);
        }
        // What comes after an approval needs the approved work, too.
        let satisfied = merged && states.has(at, Requirement::ReviewedUnmerged);
        let in_turn = states.has(at, Requirement::PredecessorUnsettled);
        let is_parked = matches!(progress, Progress::Parked | Progress::Held);
        let is_concluded = merged && states.has(at, Requirement::ReviewedUnsettled);
        Self {
            waiting,
            merged,
            ready: waiting
                && in_turn
                && skipped.is_none()
                && node.missing == 0
                && states.has(at, Requirement::WorkMissing),
            satisfied,
            reviewable: satisfied || progress == Progress::Held,
            skipped,
            dead,
            settled: in_turn && (is_concluded || is_dead || is_parked),
        }
    }

    /// Reports whether the states of tasks that wait for this one depend on whether it has this
    /// state or another one.
    fn differs_for_followers(&self, other: &Self) -> bool {
        self.merged != other.merged
            || self.satisfied != other.satisfied
            || self.reviewable != other.reviewable
            || self.dead != other.dead
            || self.settled != other.settled
    }

    /// Reports whether the task would run if nothing fails.
    fn runs(&self) -> bool {
        self.waiting && self.skipped.is_none()
    }
}

/// Returns the task because of which a task can never have what it requires.
fn dead_by(at: usize, requirement: Requirement, states: &impl States) -> Option<usize> {
    states.state(states.first_without(at, requirement)?).dead
}

/// A task that does not have what it requires of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unmet {
    task: usize,
    requirement: Requirement,
    on: usize,
}

/// The state of each task, by its place, and what each lacks of others: a task with a thousand
/// dependencies is evaluated again each time one of them is merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outlook {
    states: SharedMap<usize, State>,
    unmet: SharedSet<Unmet>,
}

impl States for Outlook {
    fn state(&self, at: usize) -> State {
        self.states.get(&at).copied().unwrap_or_default()
    }

    fn first_without(&self, at: usize, requirement: Requirement) -> Option<usize> {
        let least = Unmet {
            task: at,
            requirement,
            on: 0,
        };
        let (first, ()) = self.unmet.range(least..).next()?;
        let is_meant = first.task == at && first.requirement == requirement;
        is_meant.then_some(first.on)
    }
}

impl Outlook {
    /// Evaluates tasks that wait for others than before, or whose progress has changed, and then
    /// all those that this concerns. Returns the places of those whose outlook has changed.
    pub(crate) fn update(
        &mut self,
        schedule: &Schedule,
        rewired: &BTreeSet<usize>,
        progressed: impl IntoIterator<Item = usize>,
        progress: impl Fn(usize) -> Progress,
    ) -> Vec<usize> {
        let graph = &schedule.graph;
        // By positions in the order of the schedule, so that each task is evaluated once.
        let mut open: BTreeSet<usize> = BTreeSet::new();
        for at in rewired.iter().copied().chain(progressed) {
            open.extend(graph.positions.get(&at));
        }
        let mut updated = Vec::new();
        while let Some(position) = open.pop_first() {
            let Some(at) = graph.order.get(&position).copied() else {
                continue;
            };
            let Some(node) = graph.at(at) else { continue };
            if rewired.contains(&at) {
                self.rewire(graph, at, node);
            }
            let state = State::new(at, node, progress(at), self);
            let before = self.states.get(&at).copied();
            self.states.insert_mut(at, state);
            if before == Some(state) {
                continue;
            }
            updated.push(at);
            if before.unwrap_or_default().differs_for_followers(&state) {
                for follower in self.update_followers(graph, at) {
                    open.extend(graph.positions.get(&follower));
                }
            }
        }
        updated
    }

    /// Reports whether the task at a place may start now.
    pub(crate) fn is_ready(&self, at: usize) -> bool {
        self.state(at).ready
    }

    /// Returns the place of the task because of which the one at this place can never start.
    pub(crate) fn skipped_because(&self, at: usize) -> Option<usize> {
        self.state(at).skipped
    }

    /// Evaluates again what a task lacks of all those that it waits for.
    fn rewire(&mut self, graph: &Graph, at: usize, node: &Node) {
        let least = Unmet {
            task: at,
            requirement: Requirement::WorkMissing,
            on: 0,
        };
        let mut before: Vec<Unmet> = Vec::new();
        for (unmet, ()) in self.unmet.range(least..) {
            if unmet.task != at {
                break;
            }
            before.push(*unmet);
        }
        for unmet in &before {
            self.unmet.remove_mut(unmet);
        }
        for requirement in REQUIREMENTS {
            for on in requirement.edges(node).keys() {
                let unmet = Unmet {
                    task: at,
                    requirement,
                    on: *on,
                };
                self.update_unmet(graph, node, unmet);
            }
        }
    }

    /// Evaluates again what other tasks lack of one whose state has changed, and returns them:
    /// those that wait for it, and those that wait for its reviewers.
    fn update_followers(&mut self, graph: &Graph, at: usize) -> BTreeSet<usize> {
        let mut concerned = BTreeSet::new();
        for follower in graph.followers_of(at) {
            let Some(node) = graph.at(follower) else {
                continue;
            };
            for requirement in REQUIREMENTS {
                if requirement.edges(node).contains_key(&at) {
                    let unmet = Unmet {
                        task: follower,
                        requirement,
                        on: at,
                    };
                    self.update_unmet(graph, node, unmet);
                }
            }
            concerned.insert(follower);
        }
        for reviewer in graph.reviewers_of(at) {
            for follower in graph.followers_of(reviewer) {
                if let Some(node) = graph.at(follower)
                    && node.depends.contains_key(&reviewer)
                {
                    let unmet = Unmet {
                        task: follower,
                        requirement: Requirement::WorkMissing,
                        on: reviewer,
                    };
                    self.update_unmet(graph, node, unmet);
                    concerned.insert(follower);
                }
            }
        }
        concerned
    }

    /// Evaluates again whether the task of a node has what it requires of another one.
    fn update_unmet(&mut self, graph: &Graph, node: &Node, unmet: Unmet) {
        if unmet.requirement.is_unmet(graph, node, unmet.on, self) {
            self.unmet.insert_mut(unmet, ());
        } else {
            self.unmet.remove_mut(&unmet);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::task::definition::Task;

    const ALL: [Progress; 6] = [
        Progress::Waiting,
        Progress::Active,
        Progress::Parked,
        Progress::Held,
        Progress::Merged,
        Progress::Failed,
    ];

    fn name(number: usize) -> TaskId {
        TaskId::new(format!("T{number}"))
    }

    /// A task that waits for earlier ones, by their distance, and a number that decides when it is
    /// added.
    fn task() -> impl Strategy<Value = (Vec<(usize, bool)>, [bool; 2], u8)> {
        (
            prop::collection::vec((1..5_usize, any::<bool>()), 0..4),
            any::<[bool; 2]>(),
            any::<u8>(),
        )
    }

    proptest! {
        /// Whatever is added and progresses in whatever order, the outlook is that of the whole
        /// schedule.
        #[test]
        fn it_is_that_of_all_tasks(
            tasks in prop::collection::vec(task(), 1..14),
            changes in prop::collection::vec((0..14_usize, 0..6_usize), 0..60),
        ) {
            let mut plan: Vec<(u8, Task)> = Vec::new();
            for (number, (waits, [verdict, tests], when)) in tasks.iter().enumerate() {
                let (verdict, tests_what_it_follows) = (*verdict, *tests);
                let id = name(number);
                let mut task = Task { id, verdict, tests_what_it_follows, ..Task::default() };
                for (distance, depends) in waits {
                    let Some(on) = number.checked_sub(*distance).map(name) else { continue };
                    let list = if *depends { &mut task.depends } else { &mut task.after };
                    list.push(on);
                }
                plan.push((*when, task));
            }
            plan.sort_by_key(|(when, _)| *when);
            let (mut schedule, mut outlook) = (Schedule::default(), Outlook::default());
            let mut progress = vec![Progress::Waiting; plan.len()];
            let mut changes = changes.into_iter();
            let mut plan = plan.into_iter();
            loop {
                let added = plan.next();
                let is_last = added.is_none();
                let (mut rewired, mut changed) = (BTreeSet::new(), Vec::new());
                if let Some((_, task)) = added {
                    let concerned = schedule.add(&task).unwrap();
                    rewired.extend(concerned.iter().filter_map(|id| schedule.place(id)));
                }
                if let Some((at, to)) = changes.next() && let Some(slot) = progress.get_mut(at) {
                    *slot = ALL[to];
                    changed.push(at);
                } else if is_last {
                    break;
                }
                outlook.update(&schedule, &rewired, changed, |at| progress[at]);
                let of = |id: &TaskId| progress[schedule.place(id).unwrap()];
                let places = || 0..schedule.graph.nodes.size();
                let mut ready: Vec<TaskId> = schedule.ready(of);
                ready.sort_by_key(|id| schedule.place(id));
                let found = places().filter(|at| outlook.is_ready(*at));
                let found: Vec<TaskId> =
                    found.filter_map(|at| schedule.id(at)).cloned().collect();
                prop_assert_eq!(found, ready);
                let skipped = places().filter_map(|at| Some((at, outlook.skipped_because(at)?)));
                let id = |at| schedule.id(at).cloned();
                let skipped = skipped.filter_map(|(at, on)| Some((id(at)?, id(on)?)));
                prop_assert_eq!(skipped.collect::<Vec<_>>(), schedule.skipped(of));
            }
        }
    }
}
