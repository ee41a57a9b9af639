//! The order of tasks as an acyclic graph: what may start, what never will, what could run together.
//!
//! A task starts when every task that it `depends` on is merged (or was done before the run) and every task that it
//! comes `after` is settled. This is the only place that decides it, for checking a plan as for a run. The answers
//! are functions of the graph and of the progress given by the caller; the schedule itself holds no state of a run. A
//! plan's tasks are added one by one, so a task may name one that does not exist yet, and waits until it does.
//! Cloning a schedule copies a pointer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::ids::TaskId;
use crate::task::{Task, TaskStatus};

/// A task's progress, as far as the schedule needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not started.
    Waiting,
    /// It has started and not ended.
    Active,
    /// It is set aside for the user: its dependents wait, while tasks that only come after it continue, since the
    /// user may take days.
    Parked,
    /// Like parked, and its work is complete: a task that reviews it may start.
    Held,
    /// It has ended and is part of the result.
    Merged,
    /// It has ended without being merged.
    Failed,
}

impl Progress {
    /// Returns the progress of a task that only its box is known of.
    pub fn of_box(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Todo | TaskStatus::InProgress => Progress::Waiting,
            TaskStatus::Done => Progress::Merged,
            TaskStatus::Cancelled | TaskStatus::Blocked | TaskStatus::LeftOut => Progress::Failed,
        }
    }
}

/// Why tasks do not form a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Tasks depend on each other.
    #[error("order tasks that depend on each other: {}", path(.0))]
    Cycle(Vec<TaskId>),
    /// Two tasks have the same id.
    #[error("add a second task `{0}`")]
    Duplicate(TaskId),
    /// A task depends on one that does not exist.
    #[error("find `{dependency}`, which `{task}` depends on")]
    Unknown {
        /// The task that waits.
        task: TaskId,
        /// The task it depends on.
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
    /// In the order of the plan, then of addition.
    nodes: Vec<Node>,
    index: BTreeMap<TaskId, usize>,
    /// Indices, each after everything that it waits for.
    order: Vec<usize>,
    /// The tasks that end with a verdict.
    reviewing: Vec<usize>,
    /// Tasks that are named but do not exist yet, with those that name them.
    awaited: BTreeMap<TaskId, Vec<(usize, Wait)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    id: TaskId,
    depends: BTreeSet<usize>,
    after: BTreeSet<usize>,
    /// How many of the tasks that it names do not exist yet.
    missing: usize,
    priority: i64,
    /// Whether it ends with a verdict on the tasks that it depends on.
    is_review: bool,
    /// Those of its dependencies that are merged only after its approval.
    reviews: BTreeSet<usize>,
    /// Its initial progress.
    begins: Progress,
}

/// What a task requires of one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Depends,
    After,
}

impl Schedule {
    /// Creates the schedule of a plan's tasks.
    ///
    /// # Errors
    /// A cycle, with its path; a duplicate id; a dependency that does not exist.
    pub fn new(tasks: &[Task]) -> Result<Self, ScheduleError> {
        let mut graph = Graph::default();
        for task in tasks {
            graph.require_new(&task.id)?;
            graph.append(task);
        }
        graph.require_complete()?;
        graph.put_in_order()?;
        Ok(Self { graph: Arc::new(graph) })
    }

    /// Adds a task; it may wait for tasks that do not exist yet, and is not ready before they do.
    ///
    /// # Errors
    /// A cycle, with its path; a duplicate id. The schedule is then unchanged.
    pub fn add(&mut self, task: &Task) -> Result<(), ScheduleError> {
        self.graph.require_new(&task.id)?;
        if !self.graph.awaited.contains_key(&task.id) && !names(task).any(|(id, _)| *id == task.id) {
            // No task waits for it, so it comes last in the order and closes no cycle.
            let graph = Arc::make_mut(&mut self.graph);
            graph.append(task);
            graph.settle_review(graph.nodes.len() - 1);
            return Ok(());
        }
        let mut graph = Graph::clone(&self.graph);
        graph.append(task);
        graph.put_in_order()?;
        self.graph = Arc::new(graph);
        Ok(())
    }

    /// Returns the tasks that may start now, by descending priority, then in the order of the plan.
    pub fn ready(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<TaskId> {
        let states = self.states(progress);
        let ready = self.graph.nodes.iter().zip(&states).filter(|(_, state)| state.ready);
        let mut ready: Vec<&Node> = ready.map(|(node, _)| node).collect();
        ready.sort_by_key(|node| std::cmp::Reverse(node.priority));
        ready.into_iter().map(|node| node.id.clone()).collect()
    }

    /// Returns the waiting tasks that can never start, each with the dependency that will not be merged.
    pub fn skipped(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<(TaskId, TaskId)> {
        let states = self.states(progress);
        let skipped = self.graph.nodes.iter().zip(&states).filter_map(|(node, state)| {
            let because = self.graph.nodes.get(state.skipped?)?;
            Some((node.id.clone(), because.id.clone()))
        });
        skipped.collect()
    }

    /// Returns all direct and indirect dependents of a task, in the order of the plan.
    pub fn dependents(&self, of: &TaskId) -> Vec<TaskId> {
        let graph = &self.graph;
        let mut reached: BTreeSet<usize> = graph.index.get(of).copied().into_iter().collect();
        for at in &graph.order {
            if graph.nodes.get(*at).is_some_and(|node| node.depends.iter().any(|on| reached.contains(on))) {
                reached.insert(*at);
            }
        }
        let ids = reached.into_iter().filter_map(|at| graph.nodes.get(at)).map(|node| &node.id);
        ids.filter(|id| *id != of).cloned().collect()
    }

    /// Returns the tasks that are merged only after this one's approval.
    pub fn reviews(&self, reviewer: &TaskId) -> Vec<TaskId> {
        let reviews = self.graph.node(reviewer).into_iter().flat_map(|node| &node.reviews);
        reviews.filter_map(|at| self.graph.nodes.get(*at)).map(|node| node.id.clone()).collect()
    }

    /// Returns the tasks whose approval a task needs before it is merged.
    pub fn reviewers<'a>(&'a self, of: &TaskId) -> impl Iterator<Item = &'a TaskId> {
        let at = self.graph.index.get(of).copied();
        let reviewing = self.graph.reviewing.iter().filter_map(|reviewer| self.graph.nodes.get(*reviewer));
        reviewing.filter(move |node| at.is_some_and(|at| node.reviews.contains(&at))).map(|node| &node.id)
    }

    /// Returns the tasks that would run if nothing fails, in groups that could run together.
    pub fn waves(&self) -> Vec<Vec<TaskId>> {
        let begins = |id: &TaskId| self.graph.node(id).map_or(Progress::Waiting, |node| node.begins);
        let states = self.states(begins);
        let runs = |at: usize| states.get(at).is_some_and(State::runs);
        let mut level: Vec<Option<usize>> = vec![None; self.graph.nodes.len()];
        for at in self.graph.order.iter().copied() {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            // A task that does not run still passes on the order of the tasks before it.
            let before = node.waits().filter_map(|at| level.get(at).copied().flatten()).max();
            let own = if runs(at) { Some(before.map_or(0, |before| before + 1)) } else { before };
            if let Some(slot) = level.get_mut(at) {
                *slot = own;
            }
        }
        let mut waves: Vec<Vec<TaskId>> = Vec::new();
        for (at, (node, level)) in self.graph.nodes.iter().zip(level).enumerate() {
            let Some(level) = level.filter(|_| runs(at)) else { continue };
            if waves.len() <= level {
                waves.resize_with(level + 1, Vec::new);
            }
            if let Some(wave) = waves.get_mut(level) {
                wave.push(node.id.clone());
            }
        }
        waves
    }

    /// Returns every task, in the order of the plan, then of addition.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.graph.nodes.iter().map(|node| &node.id)
    }

    /// Derives the state of each task for those that wait for it, in order.
    fn states(&self, progress: impl Fn(&TaskId) -> Progress) -> Vec<State> {
        let mut states = vec![State::default(); self.graph.nodes.len()];
        for at in self.graph.order.iter().copied() {
            let Some(node) = self.graph.nodes.get(at) else { continue };
            let state = State::of(&self.graph, (at, node), progress(&node.id), &states);
            if let Some(slot) = states.get_mut(at) {
                *slot = state;
            }
        }
        states
    }
}

/// The state of one task for the others.
#[derive(Clone, Copy, Debug, Default)]
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
    /// No task waits for its end, nor for the end of those it comes after: a skipped task must not let others
    /// overtake.
    settled: bool,
}

impl State {
    fn of(graph: &Graph, (at, node): (usize, &Node), progress: Progress, states: &[State]) -> Self {
        let of = |at: &usize| states.get(*at).copied().unwrap_or_default();
        let waiting = progress == Progress::Waiting;
        let is_merged = progress == Progress::Merged;
        let skipped = node.depends.iter().find_map(|at| of(at).dead).filter(|_| waiting);
        // What comes after an approval needs the approved work, too.
        let satisfied = is_merged && node.reviews.iter().all(|at| of(at).satisfied);
        let unmerged = node.reviews.iter().find_map(|at| of(at).dead).filter(|_| is_merged);
        let is_dead = skipped.is_some() || progress == Progress::Failed;
        let dead = is_dead.then_some(at).or(unmerged);
        let in_turn = node.after.iter().all(|at| of(at).settled);
        let is_seen = |at: &usize| of(at).satisfied || node.reviews.contains(at) && of(at).reviewable;
        // Another review of the same work has ended before the work is merged.
        let is_complete = |at: &usize| is_seen(at) || of(at).merged && graph.reviews_of(*at).all(|at| is_seen(&at));
        let complete = node.missing == 0 && node.depends.iter().all(is_complete);
        let is_parked = matches!(progress, Progress::Parked | Progress::Held);
        let is_concluded = is_merged && node.reviews.iter().all(|at| of(at).settled);
        Self {
            waiting,
            merged: is_merged,
            ready: waiting && complete && in_turn,
            satisfied,
            reviewable: satisfied || progress == Progress::Held,
            skipped,
            dead,
            settled: in_turn && (is_concluded || is_dead || is_parked),
        }
    }

    fn runs(&self) -> bool {
        self.waiting && self.skipped.is_none()
    }
}

impl Graph {
    fn node(&self, id: &TaskId) -> Option<&Node> {
        self.nodes.get(*self.index.get(id)?)
    }

    fn require_new(&self, id: &TaskId) -> Result<(), ScheduleError> {
        if self.index.contains_key(id) { Err(ScheduleError::Duplicate(id.clone())) } else { Ok(()) }
    }

    fn require_complete(&self) -> Result<(), ScheduleError> {
        let namers = self.awaited.iter().filter_map(|(name, waits)| Some((waits.first()?.0, name)));
        match namers.min().and_then(|(at, name)| Some((self.nodes.get(at)?, name))) {
            None => Ok(()),
            Some((node, name)) => Err(ScheduleError::Unknown { task: node.id.clone(), dependency: name.clone() }),
        }
    }

    /// Appends a task, and resolves the references of those that named it before.
    fn append(&mut self, task: &Task) {
        let at = self.nodes.len();
        self.index.insert(task.id.clone(), at);
        let mut node = Node {
            id: task.id.clone(),
            depends: BTreeSet::new(),
            after: BTreeSet::new(),
            missing: 0,
            priority: task.priority,
            is_review: task.verdict,
            reviews: BTreeSet::new(),
            begins: Progress::of_box(task.status),
        };
        for (id, wait) in names(task) {
            match self.index.get(id) {
                Some(earlier) => node.join(*earlier, wait),
                None => {
                    node.missing += 1;
                    self.awaited.entry(id.clone()).or_default().push((at, wait));
                }
            }
        }
        if node.is_review {
            self.reviewing.push(at);
        }
        self.nodes.push(node);
        self.order.push(at);
        for (namer, wait) in self.awaited.remove(&task.id).unwrap_or_default() {
            if let Some(node) = self.nodes.get_mut(namer) {
                node.join(at, wait);
                node.missing -= 1;
            }
        }
    }

    fn put_in_order(&mut self) -> Result<(), ScheduleError> {
        let waits: Vec<Vec<usize>> = self.nodes.iter().map(|node| node.waits().collect()).collect();
        let ids = |cycle: Vec<usize>| cycle.into_iter().filter_map(|at| Some(self.nodes.get(at)?.id.clone())).collect();
        self.order = topological(&waits).map_err(|cycle| ScheduleError::Cycle(ids(cycle)))?;
        for at in self.order.clone() {
            self.settle_review(at);
        }
        Ok(())
    }

    /// Returns what a task reviews.
    fn reviews_of(&self, at: usize) -> impl Iterator<Item = usize> {
        self.nodes.get(at).into_iter().flat_map(|node| &node.reviews).copied()
    }

    /// Decides which dependencies of a task are merged only after its approval: all, except those that another task
    /// that it waits for needs in the result, and tasks that review themselves. Everything that it waits for must be
    /// decided already.
    fn settle_review(&mut self, at: usize) {
        let Some(node) = self.nodes.get(at).filter(|node| node.is_review) else { return };
        let mut reviews = node.depends.clone();
        let mut seen: BTreeSet<usize> = node.waits().collect();
        let mut open: Vec<usize> = seen.iter().copied().collect();
        while let Some(before) = open.pop().and_then(|at| self.nodes.get(at)) {
            let needed = before.depends.iter().copied();
            let needed =
                needed.flat_map(|at| self.reviews_of(at).chain([at])).filter(|at| !before.reviews.contains(at));
            let needed: BTreeSet<usize> = needed.collect();
            reviews.retain(|at| !needed.contains(at));
            open.extend(before.waits().filter(|at| seen.insert(*at)));
        }
        reviews.retain(|at| self.nodes.get(*at).is_some_and(|node| !node.is_review));
        if let Some(node) = self.nodes.get_mut(at) {
            node.reviews = reviews;
        }
    }
}

/// Returns the tasks that a task names, with what it requires of each.
fn names(task: &Task) -> impl Iterator<Item = (&TaskId, Wait)> {
    let depends = task.depends.iter().map(|id| (id, Wait::Depends));
    depends.chain(task.after.iter().map(|id| (id, Wait::After)))
}

impl Node {
    fn join(&mut self, on: usize, wait: Wait) {
        match wait {
            Wait::Depends => self.depends.insert(on),
            Wait::After => self.after.insert(on),
        };
    }

    fn waits(&self) -> impl Iterator<Item = usize> {
        self.depends.iter().chain(&self.after).copied()
    }
}

/// Sorts indices so that each comes after all that it waits for; the lowest index first where the order is free.
///
/// # Errors
/// Returns the indices of one cycle, with its first one repeated at the end.
pub fn topological(waits: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    // Mostly, everything waits for what precedes it.
    if waits.iter().enumerate().all(|(at, needs)| needs.iter().all(|need| *need < at)) {
        return Ok((0..waits.len()).collect());
    }
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

/// Returns the cycles in which indices wait for each other, each as a path whose last step, if removed, breaks it.
///
/// At most `most` of them.
pub fn cycles(waits: &[Vec<usize>], most: usize) -> Vec<Vec<usize>> {
    let mut left = waits.to_vec();
    let mut found = Vec::new();
    while found.len() < most
        && let Err(path) = topological(&left)
    {
        if let [.., from, to] = path.as_slice()
            && let Some(needs) = left.get_mut(*from)
        {
            needs.retain(|need| need != to);
        }
        found.push(path);
    }
    found
}

/// Follows missing predecessors until an index repeats.
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

    /// Parses tasks from lines `id: depends < after`, with `+n` for a priority and `-` for a cancelled box.
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

    /// Returns the ready tasks, and the skipped ones with the reason, for the progress in the second text.
    fn state(lines: &str, progress: &str) -> (String, String) {
        let tasks = tasks(lines);
        let of = |id: &TaskId| {
            let found = progress
                .split_whitespace()
                .filter_map(|word| word.split_once('='))
                .find(|(name, _)| *name == id.as_str());
            match found.map(|(_, state)| state) {
                Some("active") => Progress::Active,
                Some("merged") => Progress::Merged,
                Some("parked") => Progress::Parked,
                Some("failed") => Progress::Failed,
                _ => tasks
                    .iter()
                    .find(|task| task.id == *id)
                    .map_or(Progress::Failed, |task| Progress::of_box(task.status)),
            }
        };
        let schedule = Schedule::new(&tasks).unwrap();
        let ready: Vec<String> = schedule.ready(of).iter().map(TaskId::to_string).collect();
        let skipped: Vec<String> =
            schedule.skipped(of).iter().map(|(task, because)| format!("{task}({because})")).collect();
        (ready.join(" "), skipped.join(" "))
    }

    #[test]
    fn what_is_ready_and_what_is_skipped() {
        let diamond = "a\nb: a\nc: a\nd: b c";
        let table = [
            (diamond, "", "a", ""),
            (diamond, "a=active", "", ""),
            (diamond, "a=merged", "b c", ""),
            (diamond, "a=merged b=merged c=active", "", ""),
            (diamond, "a=merged b=merged c=failed", "", "d(c)"),
            (diamond, "a=failed", "", "b(a) c(a) d(b)"),
            (diamond, "a=parked", "", ""),
            ("a\nb 5\nc 1", "", "b c a", ""),
            ("a done\nb: a", "", "b", ""),
            ("a -\nb: a\nc: < a", "", "c", "b(a)"),
            ("a: b\nb", "", "b", ""),
            ("a: b\nb", "b=failed", "", "a(b)"),
            ("a\nb: < a", "a=active", "", ""),
            ("a\nb: < a", "a=parked", "b", ""),
            ("a\nb: < a", "a=failed", "b", ""),
            // A skipped task lets no task overtake the one that it comes after.
            ("x\na\nb: x < a\nc: < b", "x=failed a=active", "", "b(x)"),
            ("x\na\nb: x < a\nc: < b", "x=failed a=merged", "c", "b(x)"),
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
            ("a: b\nb: < c\nc: a", "order tasks that depend on each other: a → b → c → a"),
            ("a: a", "order tasks that depend on each other: a → a"),
            ("a\na", "add a second task `a`"),
            ("a: z", "find `z`, which `a` depends on"),
        ];
        for (lines, expected) in table {
            assert_eq!(Schedule::new(&tasks(lines)).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn tasks_are_added_while_a_run_goes_on() {
        let all = tasks("a: c\nb: a\nc: < z\nz\ne: e\na");
        let mut schedule = Schedule::default();
        let mut ready = |task: &Task| -> Result<String, String> {
            schedule.add(task).map_err(|error| error.to_string())?;
            let ready = schedule.ready(|_| Progress::Waiting);
            Ok(ready.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" "))
        };
        let told: Vec<Result<String, String>> = all.iter().map(&mut ready).collect();
        let refused = |text: &str| Err(text.to_owned());
        let nothing = || Ok(String::new());
        let expected = [
            nothing(),
            nothing(),
            nothing(),
            Ok("z".to_owned()),
            refused("order tasks that depend on each other: e → e"),
            refused("add a second task `a`"),
        ];
        assert_eq!(told, expected);
        assert_eq!(schedule, Schedule::new(&all[..4]).unwrap());
    }

    #[test]
    fn a_task_that_closes_a_cycle_changes_nothing() {
        let all = tasks("a: b\nb: < c\nc: a");
        let mut schedule = Schedule::default();
        schedule.add(&all[0]).unwrap();
        schedule.add(&all[1]).unwrap();
        let before = schedule.clone();
        let cycle = ["a", "b", "c", "a"].map(TaskId::from).to_vec();
        assert_eq!(schedule.add(&all[2]), Err(ScheduleError::Cycle(cycle)));
        assert_eq!(schedule, before);
    }

    #[test]
    fn what_depends_on_a_task_in_the_order_of_the_plan() {
        let schedule = Schedule::new(&tasks("d: c\na\nb: < a\nc: a\ne: b")).unwrap();
        let names = |of: &str| schedule.dependents(&of.into()).iter().map(TaskId::to_string).collect::<Vec<_>>();
        assert_eq!(names("a"), ["d", "c"]);
        assert_eq!(names("e"), [""; 0]);
    }
}
