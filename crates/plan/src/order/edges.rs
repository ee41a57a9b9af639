//! The order of tasks: written dependencies, barriers between phases, and the document's implicit
//! order.
//!
//! Written dependencies and barriers may contradict each other, which is reported as a cycle with
//! its path. The implicit order never contradicts them, since it is derived from a topological
//! order of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::check::finding::{FindingCode, Findings, Pending};
use crate::fields::assign::Name;
use crate::fields::attributes::Attributes;
use crate::fields::reference::{References, Resolved};
use crate::front_matter::Order;
use crate::order::overlap::{Paths, Pattern, Writers};
use crate::order::reason::{Cause, Reason};
use crate::order::sequence;
use crate::order::sequence::Wait;
use crate::read::headings::collect::Group;
use crate::read::lists::task_line::Draft;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::task::schedule::{cycles, topological};

/// The maximum number of dependencies in a plan: two phases of 500 tasks each need half of it.
pub(crate) const MAX_DEPENDENCIES: usize = 500_000;

/// The maximum number of cycles reported at once: more than a user fixes before checking again.
const MAX_CYCLES: usize = 20;

/// The maximum number of steps spent on finding out that two writers of a path are ordered already.
/// Beyond it they are ordered again, which costs only a warning.
const MAX_SEARCH_STEPS: usize = 1_000_000;

/// The predecessors of each task, by index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edges {
    /// Tasks that must be merged first, in order.
    pub(crate) depends: Vec<Vec<usize>>,
    /// Tasks that must be settled first, in order.
    pub(crate) after: Vec<Vec<usize>>,
    /// Why a task waits for others that it does not name.
    pub(crate) reasons: Vec<Option<Reason>>,
    /// What tasks say in prose about their dependencies, outside their titles.
    pub(crate) remarks: BTreeMap<usize, Vec<String>>,
}

/// The tasks to order.
pub(crate) struct Unordered<'a> {
    pub(crate) drafts: &'a [Draft],
    /// The names of each draft.
    pub(crate) names: &'a [Name<'a>],
    pub(crate) groups: &'a [Group],
    /// The paths that each draft writes; `None` for an invalid one.
    pub(crate) patterns: &'a [Vec<Option<Pattern<'a>>>],
    pub(crate) order: Order,
}

/// Determines the order of all tasks.
pub(crate) fn order(tasks: &Unordered<'_>, findings: &mut Findings) -> Edges {
    let none = || vec![Vec::new(); tasks.drafts.len()];
    let edges = Edges {
        depends: none(),
        after: none(),
        reasons: vec![None; tasks.drafts.len()],
        remarks: BTreeMap::new(),
    };
    let names_all = vec![false; tasks.drafts.len()];
    let paths = Paths::new(tasks.patterns);
    let mut orderer = Orderer {
        tasks,
        paths: &paths,
        edges,
        findings,
        names_all,
        total: 0,
        full_at: 0,
        steps: 0,
    };
    orderer.written();
    orderer.extras();
    orderer.barriers();
    if orderer.total > MAX_DEPENDENCIES {
        orderer.too_many();
    } else if let Some(line) = orderer.line() {
        orderer.implicit(&line);
    }
    orderer.edges
}

struct Orderer<'a> {
    tasks: &'a Unordered<'a>,
    paths: &'a Paths<'a>,
    edges: Edges,
    findings: &'a mut Findings,
    /// Whether each task names all that it waits for.
    names_all: Vec<bool>,
    /// The number of dependencies so far.
    total: usize,
    /// The offset of the list that exceeded `MAX_DEPENDENCIES`.
    full_at: usize,
    /// The number of search steps so far.
    steps: usize,
}

impl Orderer<'_> {
    fn written(&mut self) {
        if !self
            .tasks
            .drafts
            .iter()
            .any(|draft| draft.attributes.names_dependencies())
        {
            return;
        }
        let references = References::new(self.tasks.names, self.tasks.groups);
        // What a task that is over names may be gone.
        let open = self.tasks.drafts.iter().filter(|draft| !is_over(draft));
        let open: HashSet<usize> = open
            .flat_map(|draft| &draft.attributes.depends)
            .map(|list| list.offset)
            .collect();
        // All tasks of a group share its list, which is resolved, and its errors reported, only
        // once.
        let mut lists: HashMap<usize, Resolved> = HashMap::with_capacity(self.tasks.drafts.len());
        for (at, draft) in self.tasks.drafts.iter().enumerate() {
            let Attributes {
                depends,
                likely_depends,
                ..
            } = &draft.attributes;
            let Some(name) = self.tasks.names.get(at) else {
                continue;
            };
            let mut names_all = draft.attributes.names_dependencies();
            let likely = likely_depends.iter().map(|list| (list, true));
            for (list, may_be_prose) in depends.iter().map(|list| (list, false)).chain(likely) {
                let read = || match may_be_prose {
                    true => references.resolve_likely(name, list, MAX_DEPENDENCIES, self.findings),
                    false if open.contains(&list.offset) => {
                        references.resolve_in(name, list, MAX_DEPENDENCIES, self.findings)
                    }
                    false => {
                        let mut own = Findings::default();
                        let found = references.resolve_in(name, list, MAX_DEPENDENCIES, &mut own);
                        self.findings.append(own.tolerated());
                        found
                    }
                };
                let found = lists.entry(list.offset).or_insert_with(read);
                // Possible prose never makes a task depend on itself: a group's tasks inherit it,
                // even the one that it names.
                let on = found.tasks.iter().filter(|on| !may_be_prose || **on != at);
                self.depend(at, on);
                names_all &= !found.has_prose;
                if found.has_prose && !may_be_prose {
                    self.edges
                        .remarks
                        .entry(at)
                        .or_default()
                        .push(list.text.clone());
                }
                if self.total > MAX_DEPENDENCIES {
                    self.full_at = list.offset;
                    return;
                }
            }
            self.names_all
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|slot| *slot = names_all);
        }
    }

    /// Makes the optional parts of a task depend on it, apart from those that it waits for itself.
    fn extras(&mut self) {
        let tasks = self.tasks;
        for (at, draft) in tasks.drafts.iter().enumerate() {
            if let Some(task) = draft.extends.filter(|task| !self.comes_after(*task, at)) {
                self.depend(at, [task].iter());
            }
        }
    }

    fn depend<'o>(&mut self, at: usize, on: impl Iterator<Item = &'o usize> + Clone) {
        self.total = self.total.saturating_add(on.clone().count());
        if let Some(depends) = self
            .edges
            .depends
            .get_mut(at)
            .filter(|_| self.total <= MAX_DEPENDENCIES)
        {
            depends.extend(on);
            depends.sort_unstable();
            depends.dedup();
        }
    }

    fn follow(&mut self, at: usize, earlier: usize, cause: Cause) {
        if at == earlier {
            return;
        }
        if let Some(after) = self.edges.after.get_mut(at)
            && let Err(place) = after.binary_search(&earlier)
        {
            after.insert(place, earlier);
        }
        if let Some(reason) = self.edges.reasons.get_mut(at) {
            reason.get_or_insert_default().order.get_or_insert(cause);
        }
    }

    fn draft(&self, at: usize) -> Option<&Draft> {
        self.tasks.drafts.get(at)
    }

    fn runs(&self, at: usize) -> bool {
        self.draft(at).is_some_and(|draft| draft.status.runs())
    }

    /// Makes every block depend on the previous one, apart from its optional tasks.
    fn barriers(&mut self) {
        let mut gate: Vec<usize> = Vec::new();
        let tasks = self.tasks;
        let order = tasks.order;
        let drafts: Vec<(usize, &Draft)> = tasks.drafts.iter().enumerate().collect();
        for block in drafts.chunk_by(|(_, a), (_, b)| block_of(order, a) == block_of(order, b)) {
            let own =
                block.first().map_or(0, |(at, _)| *at)..=block.last().map_or(0, |(at, _)| *at);
            for (at, _) in block {
                let depends = self.edges.depends.get(*at);
                // What a task names in its own phase comes after the phase before anyway.
                let names_own =
                    depends.is_some_and(|depends| depends.iter().any(|on| own.contains(on)));
                self.depend(*at, gate.iter());
                if let Some(reason) = self
                    .edges
                    .reasons
                    .get_mut(*at)
                    .filter(|_| !gate.is_empty() && !names_own)
                {
                    reason.get_or_insert_default().barrier = true;
                }
            }
            let required: Vec<usize> = block
                .iter()
                .filter(|(_, draft)| holds_barrier(draft))
                .map(|(at, _)| *at)
                .collect();
            let depends = required.iter().filter_map(|at| self.edges.depends.get(*at));
            let covered: HashSet<usize> = depends
                .flatten()
                .filter(|on| own.contains(on))
                .copied()
                .collect();
            if !required.is_empty() {
                gate = required
                    .iter()
                    .filter(|at| !covered.contains(at))
                    .copied()
                    .collect();
                // Tasks that all depend on each other are reported as a cycle later.
                gate = if gate.is_empty() { required } else { gate };
            }
        }
    }

    fn too_many(&mut self) {
        let message = format!("more than {MAX_DEPENDENCIES} dependencies in one plan");
        let found = Pending::new(self.full_at, FindingCode::TooManyDependencies, "", message);
        self.findings
            .error(found.suggest(Some("put fewer tasks into each phase".to_owned())));
    }

    /// Returns the tasks in topological order, or `None` after reporting the cycles.
    fn line(&mut self) -> Option<Vec<usize>> {
        let line = topological(&self.edges.depends).ok();
        if line.is_none() {
            cycles(&self.edges.depends, MAX_CYCLES)
                .iter()
                .for_each(|cycle| self.waits_for_itself(cycle));
        }
        line
    }

    fn waits_for_itself(&mut self, cycle: &[usize]) {
        let id = |at: &usize| {
            self.tasks
                .names
                .get(*at)
                .map_or("", |name| name.id.as_str())
        };
        let path = cycle.iter().map(id).collect::<Vec<_>>().join(" → ");
        let block = |at: &usize| {
            self.draft(*at)
                .map(|draft| block_of(self.tasks.order, draft))
        };
        // A dependency on a later phase, whose tasks wait for all of this one.
        let ahead = cycle.windows(2).find_map(|pair| match pair {
            [from, to] if block(from) < block(to) => Some((from, to)),
            _ => None,
        });
        let first = ahead.map(|(from, _)| from).or(cycle.first());
        let at = first.and_then(|at| self.draft(*at)).map_or(0, place_of);
        let (message, suggestion) = match (cycle, ahead) {
            ([_, _], _) => (
                format!("this task depends on itself: {path}"),
                "remove this dependency",
            ),
            (_, Some((from, to))) => {
                let (from, to) = (id(from), id(to));
                let message = format!(
                    "{from} depends on {to}, whose phase comes after that of {from}: {path}"
                );
                (
                    message,
                    "remove this dependency, or move one of these tasks",
                )
            }
            _ => (
                format!("these tasks depend on each other: {path}"),
                "remove one of these dependencies",
            ),
        };
        let found = Pending::new(at, FindingCode::Cycle, &path, message);
        self.findings
            .error(found.suggest(Some(suggestion.to_owned())));
    }

    fn implicit(&mut self, line: &[usize]) {
        let running: Vec<usize> = line.iter().copied().filter(|at| self.runs(*at)).collect();
        let parts = self.parts(&running);
        let running = parts.concat();
        match self.tasks.order {
            Order::Sequential => {
                for pair in running.windows(2) {
                    if let [earlier, later] = pair {
                        self.follow(*later, *earlier, Cause::Sequential);
                    }
                }
                return;
            }
            Order::Auto => parts.iter().for_each(|part| self.author(part)),
            Order::Eager | Order::Phases => {}
        }
        for pair in parts.windows(2) {
            if let [before, part] = pair {
                self.join(before, part);
            }
        }
        self.writers(&running);
    }

    /// Divides the tasks, given in an order that fits their dependencies, into those that the plan
    /// requires, the optional ones, which come last, and the tests and reviews of the plan that
    /// stand even after these.
    fn parts(&self, running: &[usize]) -> Vec<Vec<usize>> {
        let is_optional = |at: &usize| self.draft(*at).is_some_and(|draft| draft.optional);
        if !running.iter().any(is_optional) {
            return vec![running.to_vec()];
        }
        // What a required task depends on is required, too.
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        for at in running.iter().rev() {
            if !is_optional(at) || needed.contains(at) {
                needed.insert(*at);
                needed.extend(self.edges.depends.get(*at).into_iter().flatten());
            }
        }
        let (mut required, optional): (Vec<usize>, Vec<usize>) =
            running.iter().partition(|at| needed.contains(at));
        let Some(last) = optional.iter().max() else {
            return vec![required];
        };
        let gates: BTreeSet<usize> = optional
            .iter()
            .filter_map(|at| self.edges.depends.get(*at))
            .flatten()
            .copied()
            .collect();
        let closes = |at: &&usize| {
            let is_closing = self
                .draft(**at)
                .is_some_and(|draft| sequence::is_closing(&draft.title));
            is_closing && *at > last && !gates.contains(at)
        };
        let closing = required.iter().rev().take_while(closes).count();
        let closing = required.split_off(required.len() - closing);
        [required, optional, closing]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// Makes the first tasks of a part come after the last ones of the part before.
    fn join(&mut self, before: &[usize], part: &[usize]) {
        let waits = |at: &usize| {
            [self.edges.depends.get(*at), self.edges.after.get(*at)]
                .into_iter()
                .flatten()
                .flatten()
        };
        let waited: BTreeSet<usize> = before.iter().flat_map(waits).copied().collect();
        let last: Vec<usize> = before
            .iter()
            .copied()
            .filter(|at| !waited.contains(at))
            .collect();
        let own: BTreeSet<usize> = part.iter().copied().collect();
        let first = |at: &usize| !waits(at).any(|earlier| own.contains(earlier));
        let first: Vec<usize> = part.iter().copied().filter(first).collect();
        let is_optional = first
            .iter()
            .any(|at| self.draft(*at).is_some_and(|draft| draft.optional));
        let cause = if is_optional {
            Cause::Optional
        } else {
            Cause::Closing
        };
        first.into_iter().for_each(|task| {
            self.wait(&Wait {
                task,
                earlier: &last,
                cause,
            })
        });
    }

    /// Adds the author's order.
    fn author(&mut self, running: &[usize]) {
        let (drafts, paths) = (self.tasks.drafts, self.paths);
        let names_all = self.names_all.clone();
        sequence::waits(drafts, paths, &names_all, running, &mut |wait| {
            self.wait(wait)
        });
    }

    fn wait(&mut self, wait: &Wait<'_>) {
        let is_full = self.total > MAX_DEPENDENCIES;
        self.total = self.total.saturating_add(wait.earlier.len());
        if self.total > MAX_DEPENDENCIES {
            if !is_full {
                self.too_many();
            }
            return;
        }
        wait.earlier
            .iter()
            .for_each(|earlier| self.follow(wait.task, *earlier, wait.cause));
    }

    /// Orders tasks that write the same path: the earlier one first.
    fn writers(&mut self, running: &[usize]) {
        let mut writers = Writers::default();
        let (tasks, paths) = (self.tasks, self.paths);
        for at in running.iter().copied() {
            let Some(draft) = tasks.drafts.get(at) else {
                continue;
            };
            for (file, pattern) in draft.attributes.files.iter().zip(paths.for_task(at)) {
                let Some(pattern) = pattern else { continue };
                let beside = |other: usize| self.are_beside(other, at);
                match writers.record(paths, pattern, at, beside) {
                    Ok(earlier) => earlier
                        .into_iter()
                        .rev()
                        .for_each(|earlier| self.collision(earlier, at, file)),
                    Err(excess) => {
                        let message = excess.message();
                        let found = Pending::new(
                            file.offset,
                            FindingCode::InvalidValue,
                            &file.text,
                            message,
                        );
                        return self
                            .findings
                            .error(found.suggest(Some("name the paths instead".to_owned())));
                    }
                }
            }
        }
    }

    fn collision(&mut self, earlier: usize, at: usize, file: &crate::fields::attributes::Located) {
        if self.comes_after(at, earlier) {
            return;
        }
        let neighbours = self.are_beside(earlier, at);
        let id = |at: usize| self.tasks.names.get(at).map_or("", |name| name.id.as_str());
        let ends = if neighbours {
            "both are marked [P] and run together"
        } else {
            "the second waits for the first"
        };
        let message = format!(
            "`{}` and `{}` write the same path: {ends}",
            id(earlier),
            id(at)
        );
        self.findings.warn(Pending::new(
            file.offset,
            FindingCode::WriteOverlap,
            &file.text,
            message,
        ));
        if !neighbours {
            self.follow(at, earlier, Cause::SamePath);
        }
    }

    /// Reports whether two tasks may run together even if they write the same path: both are marked
    /// `[P]`.
    fn are_beside(&self, one: usize, other: usize) -> bool {
        [one, other].iter().all(|at| {
            self.draft(*at)
                .is_some_and(|draft| draft.attributes.parallel)
        })
    }

    /// Reports whether a task already waits for another, directly or indirectly; `false` once all
    /// searches together have taken `MAX_SEARCH_STEPS`.
    fn comes_after(&mut self, at: usize, earlier: usize) -> bool {
        let mut seen = BTreeSet::from([at]);
        let mut open = vec![at];
        while let Some(current) = open.pop() {
            let depends = self.edges.depends.get(current).into_iter().flatten();
            for before in depends.chain(self.edges.after.get(current).into_iter().flatten()) {
                self.steps += 1;
                if *before == earlier {
                    return true;
                }
                if self.steps > MAX_SEARCH_STEPS {
                    return false;
                }
                if seen.insert(*before) {
                    open.push(*before);
                }
            }
        }
        false
    }
}

fn place_of(draft: &Draft) -> usize {
    draft
        .attributes
        .depends
        .first()
        .map_or(draft.at, |list| list.offset)
}

/// Returns the index of a task's block; barriers separate blocks.
fn block_of(order: Order, draft: &Draft) -> usize {
    match order {
        Order::Auto => draft.phase,
        Order::Phases => draft.section_index,
        Order::Eager | Order::Sequential => 0,
    }
}

/// Reports whether tasks behind a barrier wait for this one: it is neither done, nor cancelled, nor
/// optional.
fn holds_barrier(draft: &Draft) -> bool {
    !is_over(draft) && !draft.optional
}

/// Reports whether nothing of a task is left to do.
fn is_over(draft: &Draft) -> bool {
    matches!(draft.status, TaskStatus::Done | TaskStatus::Cancelled)
}
