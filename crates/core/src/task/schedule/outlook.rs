//! What the progress of all tasks means for each: whether it may start now, or never can.
//!
//! [`Outlook`] keeps the answer for each task while tasks progress. It is a function of the graph
//! and of the progress alone, the same that [`Schedule::ready`] and [`Schedule::skipped`] evaluate
//! for all tasks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::collections::{SharedMap, SharedSet};
use crate::ids::TaskId;
use crate::task::schedule::{Graph, Node, Progress, Schedule};

impl Schedule {
    /// Returns the tasks that may start now, by descending priority, then in the order of the plan.
    pub fn ready(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<TaskId> {
        let states = self.states(progress);
        let ready = self
            .graph
            .nodes
            .iter()
            .filter(|(at, _)| states.get(**at).is_some_and(|state| state.ready));
        let mut ready: Vec<&Node> = ready.map(|(_, node)| node.as_ref()).collect();
        ready.sort_by_key(|node| Reverse(node.priority));
        ready.into_iter().map(|node| node.id.clone()).collect()
    }

    /// Returns the waiting tasks that can never start, each with the dependency that will not be
    /// merged.
    pub fn skipped(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<(TaskId, TaskId)> {
        let states = self.states(progress);
        let skipped = self.graph.nodes.iter().filter_map(|(at, node)| {
            let because = self.id(states.get(*at)?.skipped?)?;
            Some((node.id.clone(), because.clone()))
        });
        skipped.collect()
    }

    /// Returns the tasks that would run if nothing fails, in groups that could run together.
    pub fn waves(&self) -> Vec<Vec<TaskId>> {
        let begins = |id: &TaskId| {
            self.graph
                .node(id)
                .map_or(Progress::Waiting, |node| node.begins)
        };
        let states = self.states(begins);
        let runs = |at: usize| states.get(at).is_some_and(State::runs);
        let mut level: Vec<Option<usize>> = vec![None; self.graph.nodes.len()];
        for at in self.graph.order.values().copied() {
            let Some(node) = self.graph.at(at) else {
                continue;
            };
            // A task that does not run still passes on the order of the tasks before it.
            let before = node
                .waits()
                .filter_map(|at| level.get(at).copied().flatten())
                .max();
            let own = if runs(at) {
                Some(before.map_or(0, |before| before + 1))
            } else {
                before
            };
            if let Some(slot) = level.get_mut(at) {
                *slot = own;
            }
        }
        let mut waves: Vec<Vec<TaskId>> = Vec::new();
        for (at, (node, level)) in self.graph.nodes.values().zip(level).enumerate() {
            let Some(level) = level.filter(|_| runs(at)) else {
                continue;
            };
            if waves.len() <= level {
                waves.resize_with(level + 1, Vec::new);
            }
            if let Some(wave) = waves.get_mut(level) {
                wave.push(node.id.clone());
            }
        }
        waves
    }

    /// Returns which of these tasks may start now, and which can never start. Each comes after all
    /// that it waits for, which are among them.
    pub(crate) fn prospects(
        &self,
        order: &[usize],
        progress: impl Fn(&TaskId) -> Progress,
    ) -> [BTreeSet<&TaskId>; 2] {
        let states = self.states_of(order.iter().copied(), progress);
        let those = |fits: fn(&State) -> bool| {
            let places = order.iter().filter(|at| states.get(**at).is_some_and(fits));
            places.filter_map(|at| self.id(*at)).collect()
        };
        [
            those(|state| state.ready),
            those(|state| state.skipped.is_some()),
        ]
    }

    /// Derives the state of each task for those that wait for it, in order.
    fn states(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<State> {
        self.states_of(self.graph.order.values().copied(), progress)
    }

    /// The same for some tasks, of which each comes after all that it waits for.
    fn states_of(
        &self,
        order: impl Iterator<Item = usize>,
        progress: impl Fn(&TaskId) -> Progress,
    ) -> Vec<State> {
        let mut states = vec![State::default(); self.graph.nodes.len()];
        for at in order {
            let Some(node) = self.graph.at(at) else {
                continue;
            };
            let of = |at: usize| states.get(at).copied().unwrap_or_default();
            let first = |lack: Lack| {
                lack.edges(node)
                    .keys()
                    .copied()
                    .find(|on| lack.concerns(&self.graph, node, *on, of))
            };
            let state = State::new(at, node, progress(&node.id), first, of);
            if let Some(slot) = states.get_mut(at) {
                *slot = state;
            }
        }
        states
    }
}

/// What a task may lack of one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    /// The work that it depends on is not there.
    Work,
    /// That work will never be there.
    Hope,
    /// The work that it tests will never be there.
    Tested,
    /// The task that it comes after is not settled.
    Turn,
    /// Work that it reviews is not merged.
    Merge,
    /// That work will never be merged.
    MergeHope,
    /// Work that it reviews is not settled.
    End,
}

const LACKS: [Lack; 7] = [
    Lack::Work,
    Lack::Hope,
    Lack::Tested,
    Lack::Turn,
    Lack::Merge,
    Lack::MergeHope,
    Lack::End,
];

impl Lack {
    /// Returns the tasks of which a task can lack this.
    fn edges(self, node: &Node) -> &SharedSet<usize> {
        match self {
            Self::Work | Self::Hope => &node.depends,
            Self::Tested => &node.tested,
            Self::Turn => &node.after,
            Self::Merge | Self::MergeHope | Self::End => &node.reviews,
        }
    }

    /// Reports whether a task lacks this of another one that it so waits for.
    fn concerns(self, graph: &Graph, node: &Node, on: usize, of: impl Fn(usize) -> State) -> bool {
        match self {
            Self::Work => {
                let is_seen = |at: usize| {
                    of(at).satisfied || node.reviews.contains_key(&at) && of(at).reviewable
                };
                // Another review of the same work has ended before the work is merged.
                !(is_seen(on) || of(on).merged && graph.reviews_of(on).all(is_seen))
            }
            Self::Hope | Self::MergeHope => of(on).dead.is_some(),
            // What the plan itself leaves out has not failed.
            Self::Tested => {
                of(on).dead.is_some()
                    && graph
                        .at(on)
                        .is_some_and(|node| node.begins == Progress::Waiting)
            }
            Self::Turn | Self::End => !of(on).settled,
            Self::Merge => !of(on).satisfied,
        }
    }
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
    /// Returns the state of a task with this progress from the first tasks of which it lacks
    /// something, and their states.
    fn new(
        at: usize,
        node: &Node,
        progress: Progress,
        first: impl Fn(Lack) -> Option<usize>,
        of: impl Fn(usize) -> State,
    ) -> Self {
        let dead = |lack: Lack| first(lack).and_then(|on| of(on).dead);
        let waiting = progress == Progress::Waiting;
        let is_merged = progress == Progress::Merged;
        let hopeless = || dead(Lack::Hope).or_else(|| dead(Lack::Tested));
        let skipped = if waiting { hopeless() } else { None };
        // What comes after an approval needs the approved work, too.
        let satisfied = is_merged && first(Lack::Merge).is_none();
        let unmerged = if is_merged {
            dead(Lack::MergeHope)
        } else {
            None
        };
        let is_dead = skipped.is_some() || progress == Progress::Failed;
        let in_turn = first(Lack::Turn).is_none();
        let is_parked = matches!(progress, Progress::Parked | Progress::Held);
        let is_concluded = is_merged && first(Lack::End).is_none();
        Self {
            waiting,
            merged: is_merged,
            ready: waiting
                && in_turn
                && skipped.is_none()
                && node.missing == 0
                && first(Lack::Work).is_none(),
            satisfied,
            reviewable: satisfied || progress == Progress::Held,
            skipped,
            dead: is_dead.then_some(at).or(unmerged),
            settled: in_turn && (is_concluded || is_dead || is_parked),
        }
    }

    /// Returns what the states of others depend on.
    fn for_followers(&self) -> impl PartialEq + use<> {
        (
            self.merged,
            self.satisfied,
            self.reviewable,
            self.dead,
            self.settled,
        )
    }

    /// Reports whether the task would run if nothing fails.
    fn runs(&self) -> bool {
        self.waiting && self.skipped.is_none()
    }
}

/// The state of each task, by its place, and what each lacks of others: a task with a thousand
/// dependencies is evaluated again each time one of them is merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outlook {
    states: SharedMap<usize, State>,
    /// The task, what it lacks, and of which one.
    lacks: SharedSet<(usize, Lack, usize)>,
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
        let position = |at: usize| graph.positions.get(&at).map(|position| (*position, at));
        // In the order of the schedule, so that each task is evaluated once.
        let mut open: BTreeSet<(usize, usize)> = rewired
            .iter()
            .copied()
            .chain(progressed)
            .filter_map(position)
            .collect();
        let mut updated = Vec::new();
        while let Some((_, at)) = open.pop_first() {
            let Some(node) = graph.at(at) else { continue };
            if rewired.contains(&at) {
                self.rewire(graph, at, node);
            }
            let first = |lack| self.first(at, lack);
            let state = State::new(at, node, progress(at), first, |at| self.state(at));
            let before = self.states.insert(at, state);
            if before == Some(state) {
                continue;
            }
            updated.push(at);
            if before.unwrap_or_default().for_followers() != state.for_followers() {
                open.extend(
                    self.tell_followers(graph, at)
                        .into_iter()
                        .filter_map(position),
                );
            }
        }
        updated
    }

    /// Reports whether the task at a place may start now.
    pub(crate) fn is_ready(&self, at: usize) -> bool {
        self.states.get(&at).is_some_and(|state| state.ready)
    }

    /// Returns the place of the task because of which the one at this place can never start.
    pub(crate) fn skipped_because(&self, at: usize) -> Option<usize> {
        self.states.get(&at)?.skipped
    }

    /// Returns the state of the task at a place.
    fn state(&self, at: usize) -> State {
        self.states.get(&at).copied().unwrap_or_default()
    }

    /// Returns the first task of which one lacks something.
    fn first(&self, at: usize, lack: Lack) -> Option<usize> {
        let ((of, what, on), ()) = self.lacks.iter_from(&(at, lack, 0)).next()?;
        ((*of, *what) == (at, lack)).then_some(*on)
    }

    /// Evaluates again what a task lacks of all those that it waits for.
    fn rewire(&mut self, graph: &Graph, at: usize, node: &Node) {
        let of_task = self
            .lacks
            .iter_from(&(at, Lack::Work, 0))
            .map(|(entry, ())| *entry);
        let before: Vec<(usize, Lack, usize)> =
            of_task.take_while(|(of, _, _)| *of == at).collect();
        for entry in &before {
            self.lacks.remove(entry);
        }
        for lack in LACKS {
            for on in lack.edges(node).keys() {
                self.evaluate(graph, node, (at, lack, *on));
            }
        }
    }

    /// Evaluates again what other tasks lack of one whose state has changed, and returns them:
    /// those that wait for it, and those that wait for its reviewers.
    fn tell_followers(&mut self, graph: &Graph, at: usize) -> BTreeSet<usize> {
        let mut told = BTreeSet::new();
        for follower in graph.followers_of(at) {
            let Some(node) = graph.at(follower) else {
                continue;
            };
            for lack in LACKS {
                if lack.edges(node).contains_key(&at) {
                    self.evaluate(graph, node, (follower, lack, at));
                }
            }
            told.insert(follower);
        }
        for reviewer in graph.reviewers_of(at) {
            for follower in graph.followers_of(reviewer) {
                let Some(node) = graph
                    .at(follower)
                    .filter(|node| node.depends.contains_key(&reviewer))
                else {
                    continue;
                };
                self.evaluate(graph, node, (follower, Lack::Work, reviewer));
                told.insert(follower);
            }
        }
        told
    }

    /// Evaluates again whether the task of a node lacks what an entry of the lacks says.
    fn evaluate(&mut self, graph: &Graph, node: &Node, entry: (usize, Lack, usize)) {
        let (_, lack, on) = entry;
        if lack.concerns(graph, node, on, |at| self.state(at)) {
            self.lacks.insert(entry, ());
        } else {
            self.lacks.remove(&entry);
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
                let mut task = Task { id: name(number), verdict, tests_what_it_follows, ..Task::default() };
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
                let places = || 0..schedule.graph.nodes.len();
                let mut ready: Vec<TaskId> = schedule.ready(of);
                ready.sort_by_key(|id| schedule.place(id));
                let found: Vec<TaskId> =
                    places().filter(|at| outlook.is_ready(*at)).filter_map(|at| schedule.id(at)).cloned().collect();
                prop_assert_eq!(found, ready);
                let skipped = places().filter_map(|at| Some((at, outlook.skipped_because(at)?)));
                let skipped = skipped.filter_map(|(at, on)| Some((schedule.id(at)?.clone(), schedule.id(on)?.clone())));
                prop_assert_eq!(skipped.collect::<Vec<_>>(), schedule.skipped(of));
            }
        }
    }
}
