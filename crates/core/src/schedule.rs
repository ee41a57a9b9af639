//! The order of tasks as a graph without cycles: what may start, what never will, what could run together.
//!
//! A task starts when every task that it `depends` on is merged (or was done before the run) and every task that it
//! comes `after` is settled. The answers are functions of the graph and of the progress that the caller
//! gives; the schedule itself holds no state of a run. Cloning one copies a pointer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ids::TaskId;
use crate::task::Task;

/// How far one task is, as the schedule needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not started.
    Waiting,
    /// It has started and not ended.
    Active,
    /// It has ended and is part of the result.
    Merged,
    /// It has ended without being merged.
    Failed,
}

/// Why tasks do not make a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Tasks wait for each other.
    #[error("order tasks that wait for each other: {}", path(.0))]
    Cycle(Vec<TaskId>),
    /// Two tasks have the same id.
    #[error("add a second task `{0}`")]
    Duplicate(TaskId),
    /// A task waits for one that does not exist.
    #[error("find `{dependency}`, which `{task}` waits for")]
    Unknown {
        /// The task that waits.
        task: TaskId,
        /// What it waits for.
        dependency: TaskId,
    },
}

fn path(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → ")
}

/// The tasks of a run and what each waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    graph: Arc<Graph>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Graph {
    nodes: Vec<Node>,
    index: HashMap<TaskId, usize>,
    /// Indices, each after everything that it waits for.
    order: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    id: TaskId,
    depends: Vec<usize>,
    after: Vec<usize>,
    priority: i64,
    kind: Kind,
}

/// What a task's box means for the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Runs,
    Done,
    /// Cancelled or blocked: it never runs.
    Never,
}

impl Schedule {
    /// Orders the tasks of a plan.
    ///
    /// # Errors
    /// A cycle, with its path; an id that is given twice; a dependency that does not exist.
    pub fn new(tasks: &[Task]) -> Result<Self, ScheduleError> {
        let mut graph = Graph::default();
        for task in tasks {
            graph.name(&task.id)?;
        }
        for task in tasks {
            let node = graph.node(task)?;
            graph.nodes.push(node);
        }
        let waits: Vec<Vec<usize>> = graph.nodes.iter().map(|node| node.waits().collect()).collect();
        graph.order = topological(&waits).map_err(|cycle| {
            ScheduleError::Cycle(cycle.into_iter().filter_map(|at| Some(graph.nodes.get(at)?.id.clone())).collect())
        })?;
        Ok(Self { graph: Arc::new(graph) })
    }

    /// Adds a task while the run goes on; it may wait for tasks that exist already.
    ///
    /// # Errors
    /// As [`Schedule::new`]; the schedule is then unchanged.
    pub fn add(&mut self, task: &Task) -> Result<(), ScheduleError> {
        if task.depends.contains(&task.id) || task.after.contains(&task.id) {
            return Err(ScheduleError::Cycle(vec![task.id.clone(), task.id.clone()]));
        }
        if self.graph.index.contains_key(&task.id) {
            return Err(ScheduleError::Duplicate(task.id.clone()));
        }
        let node = self.graph.node(task)?;
        let graph = Arc::make_mut(&mut self.graph);
        graph.index.insert(task.id.clone(), graph.nodes.len());
        graph.order.push(graph.nodes.len());
        graph.nodes.push(node);
        Ok(())
    }

    /// Gives the tasks that may start now, by falling priority, then in the order of the plan.
    pub fn ready(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<TaskId> {
        let states = self.states(progress);
        let mut ready: Vec<(i64, usize)> = self
            .graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, node)| {
                let waits = states.get(*at).is_some_and(|state| state.waiting);
                let depends = node.depends.iter().all(|at| states.get(*at).is_some_and(|state| state.satisfied));
                let after = node.after.iter().all(|at| states.get(*at).is_some_and(|state| state.settled));
                waits && depends && after
            })
            .map(|(at, node)| (node.priority, at))
            .collect();
        ready.sort_by_key(|(priority, at)| (std::cmp::Reverse(*priority), *at));
        self.ids(ready.into_iter().map(|(_, at)| at))
    }

    /// Gives the waiting tasks that can never start, since something that they depend on was not merged.
    pub fn skipped(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<TaskId> {
        let states = self.states(progress);
        let skipped = states.iter().enumerate().filter(|(_, state)| state.skipped).map(|(at, _)| at);
        self.ids(skipped)
    }

    /// Gives the tasks that would run, in groups that could run together, if nothing fails.
    pub fn waves(&self) -> Vec<Vec<TaskId>> {
        let states = self.states(|_| Progress::Waiting);
        let mut level: Vec<Option<usize>> = vec![None; self.graph.nodes.len()];
        for at in self.graph.order.iter().copied() {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            let runs = states.get(at).is_some_and(|state| state.waiting && !state.skipped);
            // What does not run still hands on the order of what stands before it.
            let before = node.waits().filter_map(|at| level.get(at).copied().flatten()).max();
            let own = if runs { Some(before.map_or(0, |before| before + 1)) } else { before };
            if let Some(slot) = level.get_mut(at) {
                *slot = own;
            }
        }
        let mut waves: Vec<Vec<TaskId>> = Vec::new();
        for ((node, level), state) in self.graph.nodes.iter().zip(level).zip(&states) {
            let Some(level) = level.filter(|_| state.waiting && !state.skipped) else {
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

    /// Gives every task, in the order of the plan, then of adding.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.graph.nodes.iter().map(|node| &node.id)
    }

    fn ids(&self, at: impl Iterator<Item = usize>) -> Vec<TaskId> {
        at.filter_map(|at| Some(self.graph.nodes.get(at)?.id.clone())).collect()
    }

    /// Derives what each task means for those that wait for it, following the order.
    fn states(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<State> {
        let mut states = vec![State::default(); self.graph.nodes.len()];
        for at in self.graph.order.iter().copied() {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            let state = State::of(node, progress(&node.id), &states);
            if let Some(slot) = states.get_mut(at) {
                *slot = state;
            }
        }
        states
    }
}

/// What one task means for the others at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It could still start, or will be skipped.
    waiting: bool,
    /// What depends on it may go on.
    satisfied: bool,
    /// It waits and can never start.
    skipped: bool,
    /// It will never be merged as things stand.
    dead: bool,
    /// It has ended, and so has everything that it comes after: a skipped task must not let others overtake.
    settled: bool,
}

impl State {
    fn of(node: &Node, progress: Progress, states: &[State]) -> Self {
        let of = |at: &usize| states.get(*at).copied().unwrap_or_default();
        let waiting = node.kind == Kind::Runs && progress == Progress::Waiting;
        let skipped = waiting && node.depends.iter().any(|at| of(at).dead);
        let failed = node.kind == Kind::Runs && progress == Progress::Failed;
        let satisfied = node.kind == Kind::Done || (node.kind == Kind::Runs && progress == Progress::Merged);
        let dead = skipped || failed || node.kind == Kind::Never;
        let settled = (satisfied || dead) && node.after.iter().all(|at| of(at).settled);
        Self { waiting, satisfied, skipped, dead, settled }
    }
}

impl Graph {
    fn name(&mut self, id: &TaskId) -> Result<(), ScheduleError> {
        match self.index.insert(id.clone(), self.index.len()) {
            Some(_) => Err(ScheduleError::Duplicate(id.clone())),
            None => Ok(()),
        }
    }

    fn node(&self, task: &Task) -> Result<Node, ScheduleError> {
        let find = |ids: &[TaskId]| -> Result<Vec<usize>, ScheduleError> {
            let mut seen = HashSet::new();
            ids.iter()
                .map(|id| {
                    let unknown = || ScheduleError::Unknown { task: task.id.clone(), dependency: id.clone() };
                    self.index.get(id).copied().ok_or_else(unknown)
                })
                .filter(|found| found.as_ref().map_or(true, |at| seen.insert(*at)))
                .collect()
        };
        let kind = match task.status {
            crate::task::TaskStatus::Done => Kind::Done,
            status if status.runs() => Kind::Runs,
            _ => Kind::Never,
        };
        Ok(Node {
            id: task.id.clone(),
            depends: find(&task.depends)?,
            after: find(&task.after)?,
            priority: task.priority,
            kind,
        })
    }
}

impl Node {
    fn waits(&self) -> impl Iterator<Item = usize> {
        self.depends.iter().chain(&self.after).copied()
    }
}

/// Orders indices so that each comes after all that it waits for; the lowest index first where both may.
///
/// # Errors
/// The indices of one cycle, its first one repeated at its end.
pub(crate) fn topological(waits: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut missing: Vec<usize> = vec![0; waits.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (at, needs) in waits.iter().enumerate() {
        for need in needs {
            if let (Some(list), Some(count)) = (followers.get_mut(*need), missing.get_mut(at)) {
                list.push(at);
                *count += 1;
            }
        }
    }
    let mut free: std::collections::BTreeSet<usize> =
        missing.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
    let mut order = Vec::with_capacity(waits.len());
    while let Some(at) = free.pop_first() {
        order.push(at);
        for follower in followers.get(at).into_iter().flatten() {
            if let Some(count) = missing.get_mut(*follower) {
                *count -= 1;
                if *count == 0 {
                    free.insert(*follower);
                }
            }
        }
    }
    if order.len() == waits.len() { Ok(order) } else { Err(cycle(waits, &missing)) }
}

/// Follows what is still missing until an index comes again.
fn cycle(waits: &[Vec<usize>], missing: &[usize]) -> Vec<usize> {
    let stuck = |at: &usize| missing.get(*at).is_some_and(|count| *count > 0);
    let mut trail: Vec<usize> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut at = (0..waits.len()).find(stuck);
    while let Some(current) = at {
        if let Some(start) = place.insert(current, trail.len()) {
            let mut found = trail.split_off(start);
            found.push(current);
            return found;
        }
        trail.push(current);
        at = waits.get(current).and_then(|needs| needs.iter().copied().find(stuck));
    }
    trail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskStatus;

    /// Makes tasks of lines `id: depends < after`, with `+n` for a priority and `-` for a cancelled box.
    fn tasks(lines: &str) -> Vec<Task> {
        let ids = |text: &str| text.split_whitespace().map(TaskId::from).collect::<Vec<_>>();
        lines
            .lines()
            .map(|line| {
                let (head, waits) = line.split_once(':').unwrap_or((line, ""));
                let (depends, after) = waits.split_once('<').unwrap_or((waits, ""));
                let mut words = head.split_whitespace();
                let id = TaskId::from(words.next().unwrap_or_default());
                let mut task = Task { id, depends: ids(depends), after: ids(after), ..Task::default() };
                for word in words {
                    match word {
                        "done" => task.status = TaskStatus::Done,
                        "-" => task.status = TaskStatus::Cancelled,
                        priority => task.priority = priority.parse().unwrap(),
                    }
                }
                task
            })
            .collect()
    }

    /// Gives what is ready and what is skipped, where the ids are as the second text says.
    fn state(lines: &str, progress: &str) -> (String, String) {
        let of = |id: &TaskId| {
            let found = progress
                .split_whitespace()
                .filter_map(|word| word.split_once('='))
                .find(|(name, _)| *name == id.as_str());
            match found.map(|(_, state)| state) {
                Some("active") => Progress::Active,
                Some("merged") => Progress::Merged,
                Some("failed") => Progress::Failed,
                _ => Progress::Waiting,
            }
        };
        let schedule = Schedule::new(&tasks(lines)).unwrap();
        let text = |ids: Vec<TaskId>| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
        (text(schedule.ready(of)), text(schedule.skipped(of)))
    }

    #[test]
    fn what_is_ready_and_what_is_skipped() {
        let diamond = "a\nb: a\nc: a\nd: b c";
        let table = [
            (diamond, "", "a", ""),
            (diamond, "a=active", "", ""),
            (diamond, "a=merged", "b c", ""),
            (diamond, "a=merged b=merged c=active", "", ""),
            (diamond, "a=merged b=merged c=failed", "", "d"),
            (diamond, "a=failed", "", "b c d"),
            ("a\nb 5\nc 1", "", "b c a", ""),
            ("a done\nb: a", "", "b", ""),
            ("a -\nb: a\nc: < a", "", "c", "b"),
            ("a\nb: < a", "a=active", "", ""),
            ("a\nb: < a", "a=failed", "b", ""),
            // A skipped task lets nobody overtake the one that it comes after.
            ("x\na\nb: x < a\nc: < b", "x=failed a=active", "", "b"),
            ("x\na\nb: x < a\nc: < b", "x=failed a=merged", "c", "b"),
        ];
        for (lines, progress, ready, skipped) in table {
            assert_eq!(state(lines, progress), (ready.to_owned(), skipped.to_owned()), "{lines} / {progress}");
        }
    }

    #[test]
    fn waves_say_what_could_run_together() {
        let schedule = Schedule::new(&tasks("a\nb done\nc: a b\nd: < a\ne -\nf: e\ng: c d\nh: b")).unwrap();
        let waves: Vec<String> =
            schedule.waves().iter().map(|wave| wave.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(waves, ["a h", "c d", "g"]);
    }

    #[test]
    fn what_makes_no_schedule() {
        let table = [
            ("a: b\nb: < c\nc: a", "order tasks that wait for each other: a → b → c → a"),
            ("a: a", "order tasks that wait for each other: a → a"),
            ("a\na", "add a second task `a`"),
            ("a: z", "find `z`, which `a` waits for"),
        ];
        for (lines, expected) in table {
            assert_eq!(Schedule::new(&tasks(lines)).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn tasks_are_added_while_a_run_goes_on() {
        let all = tasks("a\nb: a\nc: b\nd: z\ne: e\na");
        let mut schedule = Schedule::new(&all[..1]).unwrap();
        let before = schedule.clone();
        assert_eq!(schedule.add(&all[1]), Ok(()));
        assert_eq!(schedule.add(&all[2]), Ok(()));
        let unknown = ScheduleError::Unknown { task: TaskId::from("d"), dependency: TaskId::from("z") };
        assert_eq!(schedule.add(&all[3]), Err(unknown));
        assert_eq!(schedule.add(&all[4]), Err(ScheduleError::Cycle(vec![TaskId::from("e"), TaskId::from("e")])));
        assert_eq!(schedule.add(&all[5]), Err(ScheduleError::Duplicate(TaskId::from("a"))));
        assert_eq!(schedule, Schedule::new(&all[..3]).unwrap());
        assert_eq!(before, Schedule::new(&all[..1]).unwrap());
    }
}
