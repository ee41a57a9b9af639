//! The order of tasks as an acyclic graph: what may start, what never will, what could run
//! together.
//!
//! A task starts when every task that it `depends` on is merged (or was done before the run) and
//! every task that it comes `after` is settled; one that tests what it comes after never starts if
//! any of that has failed. This is the only place that decides it, for checking a plan as for a
//! run. The answers are functions of the graph and of the progress given by the caller; the
//! schedule itself holds no state of a run. A plan's tasks are added one by one, so a task may name
//! one that does not exist yet, and waits until it does. Cloning a schedule copies a pointer.

pub(crate) mod outlook;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::collections::{IdMap, SharedMap, SharedSet};
use crate::ids::TaskId;
use crate::task::definition::{Task, TaskStatus};

/// A task's progress, as far as the schedule needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not started.
    Waiting,
    /// It has started and not ended.
    Active,
    /// It is set aside for the user: its dependents wait, while tasks that only come after it
    /// continue, since the user may take days.
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
    ids.iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(" → ")
}

/// The tasks of a run and what each waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    graph: Arc<Graph>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Graph {
    /// By their places in the order of the plan, then of addition.
    nodes: SharedMap<usize, Arc<Node>>,
    index: IdMap<usize>,
    /// The folded texts of the ids, which differ for tasks that may not exist beside each other.
    keys: IdMap<()>,
    /// Places, each after everything that it waits for.
    order: SharedMap<usize, usize>,
    /// The position of each task in this order.
    positions: SharedMap<usize, usize>,
    /// Whether any task ends with a verdict.
    has_review: bool,
    /// Tasks that are named but do not exist yet, each with one that names it.
    awaited: SharedSet<(TaskId, usize, Wait)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    id: TaskId,
    depends: SharedSet<usize>,
    after: SharedSet<usize>,
    /// Those of the latter that it tests: if one fails, it never starts.
    tested: SharedSet<usize>,
    /// Whether it tests what it comes after.
    is_test: bool,
    /// The tasks that wait for it.
    followers: SharedSet<usize>,
    /// How many of the tasks that it names do not exist yet.
    missing: usize,
    priority: i64,
    /// Whether it ends with a verdict on the tasks that it depends on.
    is_review: bool,
    /// Those of its dependencies that are merged only after its approval.
    reviews: SharedSet<usize>,
    /// Its initial progress.
    begins: Progress,
}

/// A requirement of a task on one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        Ok(Self {
            graph: Arc::new(graph),
        })
    }

    /// Adds a task; it may wait for tasks that do not exist yet, and is not ready before they do.
    /// Returns the tasks that wait for others than before: this one, and those that have waited for
    /// it to be added.
    ///
    /// # Errors
    /// A cycle, with its path; a duplicate id. The schedule is then unchanged.
    pub fn add(&mut self, task: &Task) -> Result<Vec<TaskId>, ScheduleError> {
        self.graph.require_new(&task.id)?;
        if self.graph.namers(&task.id).next().is_none()
            && !names(task).any(|(id, _)| *id == task.id)
        {
            // No task waits for it, so it comes last in the order and closes no cycle.
            let graph = Arc::make_mut(&mut self.graph);
            graph.append(task);
            graph.settle_review(graph.nodes.size() - 1);
            return Ok(vec![task.id.clone()]);
        }
        let mut graph = Graph::clone(&self.graph);
        graph.append(task);
        graph.put_in_order()?;
        self.graph = Arc::new(graph);
        let graph = &self.graph;
        let mut concerned: BTreeSet<usize> = BTreeSet::new();
        if graph.has_review {
            // What a task reviews may follow from what others wait for.
            concerned.extend(0..graph.nodes.size());
        } else if let Some(at) = graph.index.get(&task.id) {
            concerned.insert(*at);
            concerned.extend(graph.followers_of(*at));
        }
        Ok(self.ids(concerned))
    }

    fn ids(&self, places: impl IntoIterator<Item = usize>) -> Vec<TaskId> {
        let mut ids = Vec::new();
        for place in places {
            ids.extend(self.id(place).cloned());
        }
        ids
    }

    /// Returns the place of a task in the order of the plan, then of addition.
    pub(crate) fn place(&self, id: &TaskId) -> Option<usize> {
        self.graph.index.get(id).copied()
    }

    /// Returns the task at a place.
    pub(crate) fn id(&self, place: usize) -> Option<&TaskId> {
        self.graph.at(place).map(|node| &node.id)
    }

    /// Returns the places of the tasks that the one at a place waits for.
    pub(crate) fn waits_of(&self, place: usize) -> impl Iterator<Item = usize> {
        self.graph.at(place).into_iter().flat_map(Node::waits)
    }

    /// Puts places in order: each comes after those of the tasks that it waits for.
    pub(crate) fn in_order(&self, places: BTreeSet<usize>) -> Vec<usize> {
        let mut order: Vec<usize> = places.into_iter().collect();
        order.sort_by_key(|place| self.graph.positions.get(place).copied());
        order
    }

    /// Reports whether there is a task whose id cannot exist beside this one: the same, but for
    /// case and the like.
    pub(crate) fn has_key_of(&self, id: &TaskId) -> bool {
        self.graph.keys.contains_key(&key_of(id))
    }

    /// Returns all direct and indirect dependents of a task, in the order of the plan.
    pub fn dependents(&self, of: &TaskId) -> Vec<TaskId> {
        self.reached_from(of, Node::depends_on)
    }

    /// Returns the tasks that never start if this one fails, in the order of the plan: its
    /// dependents, those that test it, and theirs.
    pub fn lost_with(&self, task: &TaskId) -> Vec<TaskId> {
        self.reached_from(task, Node::is_lost_with)
    }

    fn reached_from(&self, of: &TaskId, needs: fn(&Node, usize) -> bool) -> Vec<TaskId> {
        let graph = &self.graph;
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = graph.index.get(of).copied().into_iter().collect();
        while let Some(at) = open.pop() {
            for follower in graph.followers_of(at) {
                if let Some(node) = graph.at(follower)
                    && needs(node, at)
                    && reached.insert(follower)
                {
                    open.push(follower);
                }
            }
        }
        self.ids(reached)
    }

    /// Returns the tasks that are merged only after this one's approval.
    pub fn reviews(&self, reviewer: &TaskId) -> Vec<TaskId> {
        match self.graph.node(reviewer) {
            Some(node) => self.ids(node.reviews.keys().copied()),
            None => Vec::new(),
        }
    }

    /// Returns the tasks whose approval a task needs before it is merged.
    pub fn reviewers<'a>(&'a self, of: &TaskId) -> impl Iterator<Item = &'a TaskId> {
        let at = self.graph.index.get(of).copied();
        at.into_iter()
            .flat_map(|at| self.graph.reviewers_of(at))
            .filter_map(|reviewer| self.id(reviewer))
    }

    /// Returns every task, in the order of the plan, then of addition.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.graph.nodes.values().map(|node| &node.id)
    }
}

impl Graph {
    fn node(&self, id: &TaskId) -> Option<&Node> {
        self.at(*self.index.get(id)?)
    }

    fn at(&self, place: usize) -> Option<&Node> {
        self.nodes.get(&place).map(Arc::as_ref)
    }

    /// Returns the tasks that wait for a task.
    fn followers_of(&self, at: usize) -> impl Iterator<Item = usize> {
        self.at(at)
            .into_iter()
            .flat_map(|node| node.followers.keys())
            .copied()
    }

    /// Returns the tasks that review a task.
    fn reviewers_of(&self, at: usize) -> impl Iterator<Item = usize> {
        // Most runs have no reviews, and a task may have many followers.
        let node = if self.has_review { self.at(at) } else { None };
        let followers = node.into_iter().flat_map(|node| node.followers.keys());
        followers
            .copied()
            .filter(move |follower| match self.at(*follower) {
                Some(node) => node.reviews.contains_key(&at),
                None => false,
            })
    }

    /// Returns the tasks that name one that does not exist yet.
    fn namers<'a>(&'a self, id: &'a TaskId) -> impl Iterator<Item = (usize, Wait)> + 'a {
        self.awaited
            .range((id.clone(), 0, Wait::Depends)..)
            .map_while(move |((name, namer, wait), ())| (name == id).then_some((*namer, *wait)))
    }

    fn require_new(&self, id: &TaskId) -> Result<(), ScheduleError> {
        if self.index.contains_key(id) {
            Err(ScheduleError::Duplicate(id.clone()))
        } else {
            Ok(())
        }
    }

    fn require_complete(&self) -> Result<(), ScheduleError> {
        let namers = self.awaited.keys().map(|(name, namer, _)| (*namer, name));
        if let Some((namer, name)) = namers.min()
            && let Some(node) = self.at(namer)
        {
            return Err(ScheduleError::Unknown {
                task: node.id.clone(),
                dependency: name.clone(),
            });
        }
        Ok(())
    }

    /// Appends a task, and resolves the references of those that named it before.
    fn append(&mut self, task: &Task) {
        let at = self.nodes.size();
        self.index.insert_mut(task.id.clone(), at);
        self.keys.insert_mut(key_of(&task.id), ());
        self.has_review |= task.verdict;
        let mut node = Node::new(task);
        for (id, wait) in names(task) {
            match self.index.get(id) {
                Some(earlier) => node.join(*earlier, wait),
                // A name that is repeated counts once.
                None => {
                    let name = (id.clone(), at, wait);
                    if !self.awaited.contains_key(&name) {
                        self.awaited.insert_mut(name, ());
                        node.missing += 1;
                    }
                }
            }
        }
        let waits: Vec<usize> = node.waits().collect();
        self.nodes.insert_mut(at, Arc::new(node));
        self.positions.insert_mut(at, at);
        self.order.insert_mut(at, at);
        let namers: Vec<(usize, Wait)> = self.namers(&task.id).collect();
        for (namer, wait) in namers {
            self.awaited.remove_mut(&(task.id.clone(), namer, wait));
            if let Some(node) = self.node_mut(namer) {
                node.join(at, wait);
                node.missing -= 1;
            }
            self.add_follower(at, namer);
        }
        for on in waits {
            self.add_follower(on, at);
        }
    }

    fn add_follower(&mut self, of: usize, follower: usize) {
        if let Some(node) = self.node_mut(of) {
            node.followers.insert_mut(follower, ());
        }
    }

    fn node_mut(&mut self, at: usize) -> Option<&mut Node> {
        self.nodes.get_mut(&at).map(Arc::make_mut)
    }

    fn put_in_order(&mut self) -> Result<(), ScheduleError> {
        let waits: Vec<Vec<usize>> = self
            .nodes
            .values()
            .map(|node| node.waits().collect())
            .collect();
        let order = match topological(&waits) {
            Ok(order) => order,
            Err(cycle) => {
                let nodes = cycle.into_iter().filter_map(|at| self.at(at));
                let ids = nodes.map(|node| node.id.clone()).collect();
                return Err(ScheduleError::Cycle(ids));
            }
        };
        for (position, at) in order.iter().enumerate() {
            self.order.insert_mut(position, *at);
            self.positions.insert_mut(*at, position);
        }
        if self.has_review {
            for at in order {
                self.settle_review(at);
            }
        }
        Ok(())
    }

    /// Returns what a task reviews.
    fn reviews_of(&self, at: usize) -> impl Iterator<Item = usize> {
        self.at(at)
            .into_iter()
            .flat_map(|node| node.reviews.keys())
            .copied()
    }

    /// Decides which dependencies of a task are merged only after its approval: all, except those
    /// that another task that it waits for needs in the result, and tasks that review themselves.
    /// Everything that it waits for must be decided already.
    fn settle_review(&mut self, at: usize) {
        let Some(node) = self.at(at) else {
            return;
        };
        if !node.is_review {
            return;
        }
        let mut reviews: BTreeSet<usize> = node.depends.keys().copied().collect();
        let mut seen: BTreeSet<usize> = node.waits().collect();
        let mut open: Vec<usize> = seen.iter().copied().collect();
        while let Some(before) = open.pop().and_then(|at| self.at(at)) {
            for dependency in before.depends.keys().copied() {
                for at in self.reviews_of(dependency).chain([dependency]) {
                    if !before.reviews.contains_key(&at) {
                        reviews.remove(&at);
                    }
                }
            }
            open.extend(before.waits().filter(|at| seen.insert(*at)));
        }
        reviews.retain(|at| self.at(*at).is_some_and(|node| !node.is_review));
        if let Some(node) = self.node_mut(at) {
            node.reviews = reviews.into_iter().map(|at| (at, ())).collect();
        }
    }
}

/// Returns the tasks that a task names, with what it requires of each.
fn names(task: &Task) -> impl Iterator<Item = (&TaskId, Wait)> {
    let depends = task.depends.iter().map(|id| (id, Wait::Depends));
    depends.chain(task.after.iter().map(|id| (id, Wait::After)))
}

/// Returns the key by which ids are compared, as an id.
fn key_of(id: &TaskId) -> TaskId {
    TaskId::new(TaskId::key(id.as_str()))
}

impl Node {
    fn new(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            depends: SharedSet::default(),
            after: SharedSet::default(),
            tested: SharedSet::default(),
            is_test: task.tests_what_it_follows,
            followers: SharedSet::default(),
            missing: 0,
            priority: task.priority,
            is_review: task.verdict,
            reviews: SharedSet::default(),
            begins: Progress::of_box(task.status),
        }
    }

    fn join(&mut self, on: usize, wait: Wait) {
        match wait {
            Wait::Depends => self.depends.insert_mut(on, ()),
            Wait::After => self.after.insert_mut(on, ()),
        };
        if wait == Wait::After && self.is_test {
            self.tested.insert_mut(on, ());
        }
    }

    fn waits(&self) -> impl Iterator<Item = usize> {
        self.depends.keys().chain(self.after.keys()).copied()
    }

    fn depends_on(&self, at: usize) -> bool {
        self.depends.contains_key(&at)
    }

    /// Reports whether it never starts if the task at a place fails.
    fn is_lost_with(&self, at: usize) -> bool {
        self.depends.contains_key(&at) || self.tested.contains_key(&at)
    }
}

/// Sorts indices so that each comes after all that it waits for; the lowest index first where the
/// order is free.
///
/// # Errors
/// Returns the indices of one cycle, with its first one repeated at the end.
pub fn topological(waits: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    // Mostly, everything waits for what precedes it.
    let mut lists = waits.iter().enumerate();
    if lists.all(|(at, needs)| needs.iter().all(|need| *need < at)) {
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
    let mut free: BTreeSet<usize> = BTreeSet::new();
    for (at, count) in missing.iter().enumerate() {
        if *count == 0 {
            free.insert(at);
        }
    }
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
    if order.len() == waits.len() {
        Ok(order)
    } else {
        Err(cycle(waits, &missing))
    }
}

/// Returns the cycles in which indices wait for each other, each as a path whose last step, if
/// removed, breaks it.
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
    let mut trail: Vec<usize> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut at = (0..waits.len()).find(|at| is_stuck(*at, missing));
    while let Some(current) = at {
        if let Some(start) = place.insert(current, trail.len()) {
            let mut found = trail.split_off(start);
            found.push(current);
            return found;
        }
        trail.push(current);
        let needs = waits.get(current).into_iter().flatten().copied();
        at = needs.into_iter().find(|at| is_stuck(*at, missing));
    }
    trail
}

/// Reports whether an index waits for others, which are missing.
fn is_stuck(at: usize, missing: &[usize]) -> bool {
    missing.get(at).is_some_and(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::definition::TaskStatus;

    /// Parses tasks from lines `id: depends < after`, with `+n` for a priority, `-` for a cancelled
    /// box, and `tests` for a task that tests what it comes after.
    fn tasks(lines: &str) -> Vec<Task> {
        let ids = |text: &str| {
            text.split_whitespace()
                .map(TaskId::from)
                .collect::<Vec<_>>()
        };
        lines
            .lines()
            .map(|line| {
                let (head, waits) = line.split_once(':').unwrap_or((line, ""));
                let (depends, after) = waits.split_once('<').unwrap_or((waits, ""));
                let mut words = head.split_whitespace();
                let id = TaskId::from(words.next().unwrap_or_default());
                let mut task = Task {
                    id,
                    depends: ids(depends),
                    after: ids(after),
                    ..Task::default()
                };
                for word in words {
                    match word {
                        "done" => task.status = TaskStatus::Done,
                        "-" => task.status = TaskStatus::Cancelled,
                        "tests" => task.tests_what_it_follows = true,
                        priority => task.priority = priority.parse().unwrap(),
                    }
                }
                task
            })
            .collect()
    }

    /// Returns the ready tasks, and the skipped ones with the reason, for the progress in the
    /// second text.
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
        let skipped: Vec<String> = schedule
            .skipped(of)
            .iter()
            .map(|(task, because)| format!("{task}({because})"))
            .collect();
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
            // A test does not start when its work has failed, or cannot start; a box that was
            // cancelled is no failure.
            ("a\nb\nc tests: < a b", "a=merged b=active", "", ""),
            ("a\nb\nc tests: < a b", "a=merged b=failed", "", "c(b)"),
            (
                "a\nb: a\nc tests: < b\nd: c",
                "a=failed",
                "",
                "b(a) c(b) d(c)",
            ),
            ("a -\nb\nc tests: < a b", "b=merged", "c", ""),
            ("a\nb\nc tests: < a b", "a=parked b=merged", "c", ""),
            // A skipped task lets no task overtake the one that it comes after.
            ("x\na\nb: x < a\nc: < b", "x=failed a=active", "", "b(x)"),
            ("x\na\nb: x < a\nc: < b", "x=failed a=merged", "c", "b(x)"),
        ];
        for (lines, progress, ready, skipped) in table {
            assert_eq!(
                state(lines, progress),
                (ready.to_owned(), skipped.to_owned()),
                "{lines} / {progress}"
            );
        }
    }

    #[test]
    fn waves_say_what_could_run_together() {
        let schedule =
            Schedule::new(&tasks("a\nb done\nc: a b\nd: < a\ne -\nf: e\ng: c d\nh: b")).unwrap();
        let waves: Vec<String> = schedule
            .waves()
            .iter()
            .map(|wave| {
                wave.iter()
                    .map(TaskId::as_str)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(waves, ["a h", "c d", "g"]);
    }

    #[test]
    fn what_makes_no_schedule() {
        let table = [
            (
                "a: b\nb: < c\nc: a",
                "order tasks that depend on each other: a → b → c → a",
            ),
            ("a: a", "order tasks that depend on each other: a → a"),
            ("a\na", "add a second task `a`"),
            ("a: z", "find `z`, which `a` depends on"),
        ];
        for (lines, expected) in table {
            assert_eq!(
                Schedule::new(&tasks(lines)).unwrap_err().to_string(),
                expected
            );
        }
    }

    #[test]
    fn tasks_are_added_while_a_run_goes_on() {
        let all = tasks("a: c\nb: a\nc: < z\nz\ne: e\na");
        let mut schedule = Schedule::default();
        let mut ready = |task: &Task| -> Result<String, String> {
            schedule.add(task).map_err(|error| error.to_string())?;
            let ready = schedule.ready(|_| Progress::Waiting);
            Ok(ready
                .iter()
                .map(TaskId::as_str)
                .collect::<Vec<_>>()
                .join(" "))
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
        let names = |of: &str| {
            schedule
                .dependents(&of.into())
                .iter()
                .map(TaskId::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("a"), ["d", "c"]);
        assert_eq!(names("e"), [""; 0]);
    }
}
