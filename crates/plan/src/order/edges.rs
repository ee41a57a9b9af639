//! The order of tasks: written dependencies, barriers between phases, and the document's implicit
//! order.
//!
//! Written dependencies and barriers may contradict each other, which is reported as a cycle with
//! its path. The implicit order never contradicts them, since it is derived from a topological
//! order of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use crate::fields::attributes::Located;
use crate::fields::key;
use crate::finding::{FindingCode, Findings, Pending};
use crate::front_matter::Order;
use crate::order::assign::Name;
use crate::order::blocks;
use crate::order::overlap::{Paths, Writers, for_task};
use crate::order::prose;
use crate::order::reach::Reach;
use crate::order::reason::{Cause, Reason};
use crate::order::reference::{MAX_DEPENDENCIES, References, Resolved, may_name};
use crate::order::sequence::{self, Named, Placed, Wait};
use crate::tasks::draft::Draft;
use crate::tasks::draft::Group;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::task::schedule::{cycles, topological};
use orchestrate_core::text::parts::Parts;

/// The maximum number of cycles reported at once: more than a user fixes before checking again.
const MAX_CYCLES: usize = 20;

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
    /// The plan.
    pub(crate) text: &'a str,
    pub(crate) drafts: &'a [Draft],
    /// The names of each draft.
    pub(crate) names: &'a [Name<'a>],
    pub(crate) groups: &'a [Group],
    /// The paths that each draft writes; `None` for an invalid one.
    pub(crate) paths: &'a Paths<'a>,
    /// Whether the title of each draft says that it tests, reviews or releases others' work.
    pub(crate) are_closing: &'a [bool],
    pub(crate) order: Order,
}

/// Determines the order of all tasks.
pub(crate) fn order(tasks: &Unordered<'_>, findings: &mut Findings) -> Edges {
    let count = tasks.drafts.len();
    let mut orderer = Orderer {
        tasks,
        edges: Edges {
            depends: vec![Vec::new(); count],
            after: vec![Vec::new(); count],
            reasons: vec![None; count],
            remarks: BTreeMap::new(),
        },
        findings,
        named: vec![Named::Nothing; count],
        total: 0,
        full_at: 0,
        reach: Reach::default(),
    };
    let references = References::new(tasks.names, tasks.groups);
    orderer.written(&references);
    orderer.extras();
    orderer.barriers();
    if orderer.total > MAX_DEPENDENCIES {
        orderer.too_many();
    } else if let Some(line) = orderer.line() {
        orderer.implicit(&line);
    }
    let edges = orderer.edges;
    prose::check(
        tasks.drafts,
        tasks.names,
        &references,
        &edges.depends,
        findings,
    );
    edges
}

struct Orderer<'a> {
    tasks: &'a Unordered<'a>,
    edges: Edges,
    findings: &'a mut Findings,
    /// What each task names of what it waits for.
    named: Vec<Named>,
    /// The number of dependencies so far.
    total: usize,
    /// The offset of the list that exceeded `MAX_DEPENDENCIES`.
    full_at: usize,
    reach: Reach,
}

impl Orderer<'_> {
    /// Adds what tasks name themselves.
    fn written(&mut self, references: &References<'_>) {
        let drafts = self.tasks.drafts;
        // What a task that is over names may be gone.
        let open = drafts.iter().filter(|draft| !is_over(draft));
        let open: HashSet<usize> = open
            .flat_map(|draft| &draft.attributes.depends)
            .map(|list| list.offset)
            .collect();
        // All tasks of a group share its list, which is resolved, and its errors reported, only
        // once.
        let mut resolved: HashMap<usize, Resolved> = HashMap::new();
        for (at, (draft, name)) in drafts.iter().zip(self.tasks.names).enumerate() {
            let likely = &draft.attributes.likely_depends;
            let mut says_all = true;
            let mut says_some = draft.attributes.names_dependencies() && likely.is_empty()
                || !draft.attributes.depends.is_empty();
            for list in &draft.attributes.depends {
                let found = resolved.entry(list.offset).or_insert_with(|| {
                    let mut gone = Findings::default();
                    if open.contains(&list.offset) {
                        return references.resolve(name, list, self.findings);
                    }
                    let found = references.resolve(name, list, &mut gone);
                    self.findings.append(gone.tolerated());
                    found
                });
                if found.has_prose {
                    let remarks = self.edges.remarks.entry(at).or_default();
                    remarks.push(list.text.clone());
                }
                says_all &= !found.has_prose;
                self.depend(at, &found.tasks, list.offset);
            }
            for list in likely {
                let before = self.tasks.text.head(list.offset);
                let found = resolved
                    .entry(list.offset)
                    .or_insert_with(|| likely_named(references, name, list, before, self.findings));
                says_some |= !found.is_text;
                says_all &= !found.has_prose;
                // A group's tasks inherit it, even the one that it names.
                let on = found.tasks.iter().copied().filter(|on| *on != at);
                self.depend(at, &on.collect::<Vec<usize>>(), list.offset);
            }
            if let Some(slot) = self.named.get_mut(at) {
                *slot = Named::new(says_some, says_all);
            }
            if self.total > MAX_DEPENDENCIES {
                return;
            }
        }
    }

    /// Makes the optional parts of a task depend on it, apart from those that it waits for itself.
    fn extras(&mut self) {
        for (at, draft) in self.tasks.drafts.iter().enumerate() {
            if let Some(task) = draft.extends.filter(|task| !self.comes_after(*task, at)) {
                self.depend(at, &[task], 0);
            }
        }
    }

    /// Makes a task depend on others, as a list at an offset says.
    fn depend(&mut self, at: usize, on: &[usize], offset: usize) {
        if self.total <= MAX_DEPENDENCIES {
            self.full_at = offset;
        }
        self.total = self.total.saturating_add(on.len());
        if self.total <= MAX_DEPENDENCIES
            && let Some(depends) = self.edges.depends.get_mut(at)
        {
            depends.extend(on);
            depends.sort_unstable();
            depends.dedup();
        }
    }

    /// Makes a task come after another, unless it depends on that anyway.
    fn follow(&mut self, at: usize, earlier: usize, cause: Cause) {
        if at == earlier || self.depends(at).binary_search(&earlier).is_ok() {
            return;
        }
        if let (Some(after), Some(reason)) =
            (self.edges.after.get_mut(at), self.edges.reasons.get_mut(at))
            && let Err(place) = after.binary_search(&earlier)
        {
            after.insert(place, earlier);
            reason.get_or_insert_default().after.insert(place, cause);
        }
    }

    fn draft(&self, at: usize) -> Option<&Draft> {
        self.tasks.drafts.get(at)
    }

    fn is_optional(&self, at: usize) -> bool {
        self.draft(at).is_some_and(|draft| draft.optional)
    }

    fn id(&self, at: usize) -> &str {
        self.tasks.names.get(at).map_or("", |name| name.id.as_str())
    }

    fn depends(&self, at: usize) -> &[usize] {
        self.edges.depends.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns what a task waits for directly.
    fn waits(&self, at: usize) -> impl Iterator<Item = usize> {
        let after = self.edges.after.get(at).into_iter().flatten();
        self.depends(at).iter().chain(after).copied()
    }

    /// Makes every block depend on the previous one, apart from its optional tasks.
    fn barriers(&mut self) {
        let mut gate: Vec<usize> = Vec::new();
        let tasks = self.tasks;
        for own in blocks::in_order(tasks.drafts, tasks.order, &self.edges.depends) {
            for at in own.clone() {
                self.depend(at, &gate, 0);
                if let Some(reason) = self.edges.reasons.get_mut(at)
                    && !gate.is_empty()
                {
                    reason.get_or_insert_default().phase = Some(own.clone());
                }
            }
            let required: Vec<usize> = own
                .clone()
                .filter(|at| self.draft(*at).is_some_and(holds_barrier))
                .collect();
            let depends = required.iter().flat_map(|at| self.depends(*at));
            let covered: HashSet<usize> = depends.copied().filter(|on| own.contains(on)).collect();
            let ends = required.iter().filter(|at| !covered.contains(at));
            let ends: Vec<usize> = ends.copied().collect();
            // Tasks that all depend on each other are reported as a cycle later.
            let last = if ends.is_empty() { required } else { ends };
            if !last.is_empty() {
                gate = last;
            }
        }
    }

    fn too_many(&mut self) {
        let message = format!("more than {MAX_DEPENDENCIES} dependencies in one plan");
        let found = Pending::new(self.full_at, FindingCode::TooManyDependencies, "", message);
        self.findings
            .error(found.suggest("put fewer tasks into each phase"));
    }

    /// Returns the tasks in topological order, or `None` after reporting the cycles.
    fn line(&mut self) -> Option<Vec<usize>> {
        let mut line = topological(&self.edges.depends).ok();
        if line.is_none() {
            self.free_finished();
            line = topological(&self.edges.depends).ok();
        }
        if line.is_none() {
            for cycle in cycles(&self.edges.depends, MAX_CYCLES) {
                self.waits_for_itself(&cycle);
            }
        }
        line
    }

    /// Lets no task that is over wait for another one: a cycle of them holds nothing back.
    fn free_finished(&mut self) {
        let drafts = self.tasks.drafts;
        let over = (0..).zip(drafts).filter(|(_, draft)| is_over(draft));
        let over: HashSet<usize> = over.map(|(at, _)| at).collect();
        for (at, depends) in self.edges.depends.iter_mut().enumerate() {
            if over.contains(&at) {
                depends.retain(|on| !over.contains(on));
            }
        }
    }

    fn waits_for_itself(&mut self, cycle: &[usize]) {
        let ids: Vec<&str> = cycle.iter().map(|at| self.id(*at)).collect();
        let path = ids.join(" → ");
        let block = |at: &usize| {
            let draft = self.draft(*at)?;
            Some(blocks::index(self.tasks.order, draft))
        };
        // A dependency on a later phase, whose tasks wait for all of this one.
        let mut pairs = cycle.iter().zip(cycle.iter().skip(1));
        let early = pairs.find(|(from, to)| block(from) < block(to));
        let (message, at) = match early {
            Some((from, to)) => {
                let (id, on) = (self.id(*from), self.id(*to));
                let why = format!("{id} depends on {on}, whose phase comes after that of {id}");
                (format!("{why}: {path}"), Some(from))
            }
            None if cycle.len() == 2 => (
                format!("this task depends on itself: {path}"),
                cycle.first(),
            ),
            None => (
                format!("these tasks depend on each other: {path}"),
                cycle.first(),
            ),
        };
        let at = at.and_then(|at| self.draft(*at)).map_or(0, place_of);
        let found = Pending::new(at, FindingCode::Cycle, &path, message);
        self.findings
            .error(found.suggest("remove one of these dependencies, or move a task"));
    }

    /// Adds the order that the plan does not name, given one that fits its dependencies.
    fn implicit(&mut self, line: &[usize]) {
        let needed = self.with_needs(line, |at| !self.is_optional(at));
        let running = line.iter().copied();
        let running = running.filter(|at| self.draft(*at).is_some_and(|it| it.status.runs()));
        let (required, optional): (Vec<usize>, Vec<usize>) =
            running.partition(|at| is_marked(&needed, *at));
        let mut whole = [required.as_slice(), &optional].concat();
        match self.tasks.order {
            Order::Sequential => {
                for pair in whole.windows(2) {
                    if let [earlier, later] = pair {
                        self.follow(*later, *earlier, Cause::Sequential);
                    }
                }
                return;
            }
            Order::Auto => {
                let closing = sequence::closing(self.tasks.drafts, self.tasks.are_closing);
                let work = self.with_needs(line, |at| !is_marked(&closing, at));
                whole = [self.author(&required, &work), self.author(&optional, &work)].concat();
            }
            Order::Eager | Order::Phases => {}
        }
        self.join(&required, &optional);
        self.writers(&whole);
    }

    /// Returns the tasks for which something holds, with all that they depend on, given an order
    /// that fits the dependencies of all tasks.
    fn with_needs(&self, line: &[usize], holds: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut needed = vec![false; line.len()];
        for at in line.iter().rev().copied() {
            if is_marked(&needed, at) || holds(at) {
                mark(&mut needed, [at]);
                mark(&mut needed, self.depends(at).iter().copied());
            }
        }
        needed
    }

    /// Makes the first optional tasks come after the last required ones.
    fn join(&mut self, required: &[usize], optional: &[usize]) {
        if optional.is_empty() {
            return;
        }
        let mut waited = vec![false; self.tasks.drafts.len()];
        mark(&mut waited, required.iter().flat_map(|at| self.waits(*at)));
        let last = required.iter().filter(|at| !is_marked(&waited, **at));
        let last = last.copied().collect();
        let mut own = vec![false; self.tasks.drafts.len()];
        mark(&mut own, optional.iter().copied());
        let first = optional.iter().copied();
        let first: Vec<usize> = first
            .filter(|at| !self.waits(*at).any(|earlier| is_marked(&own, earlier)))
            .collect();
        for task in first {
            self.wait(&Wait {
                task,
                earlier: Rc::clone(&last),
                cause: Cause::Optional,
            });
        }
    }

    /// Adds the author's order of some tasks, and returns them in it. `work` is what does not close
    /// the plan.
    fn author(&mut self, line: &[usize], work: &[bool]) -> Vec<usize> {
        let drafts = self.tasks.drafts;
        let mut tasks = Vec::with_capacity(line.len());
        for at in line.iter().copied() {
            if let (Some(draft), Some(named)) = (drafts.get(at), self.named.get(at)) {
                tasks.push(Placed {
                    at,
                    draft,
                    depends: !self.depends(at).is_empty(),
                    closes: !is_marked(work, at),
                    is_closing: is_marked(self.tasks.are_closing, at),
                    named: *named,
                });
            }
        }
        let sequenced = sequence::sequence(drafts, &tasks, self.tasks.paths);
        for wait in &sequenced.waits {
            self.wait(wait);
        }
        sequenced.line
    }

    fn wait(&mut self, wait: &Wait) {
        let is_full = self.total > MAX_DEPENDENCIES;
        self.total = self.total.saturating_add(wait.earlier.len());
        if self.total <= MAX_DEPENDENCIES {
            for earlier in wait.earlier.iter() {
                self.follow(wait.task, *earlier, wait.cause);
            }
        } else if !is_full {
            self.too_many();
        }
    }

    /// Orders tasks that write the same path: the earlier one first.
    fn writers(&mut self, running: &[usize]) {
        let mut writers = Writers::default();
        let tasks = self.tasks;
        for at in running.iter().copied() {
            let files = tasks.drafts.get(at).map(|draft| &draft.attributes.files);
            for (file, pattern) in files.into_iter().flatten().zip(for_task(tasks.paths, at)) {
                let Some(pattern) = pattern else { continue };
                let beside = |other: usize| self.are_beside(other, at);
                for earlier in writers.record(pattern, at, beside).into_iter().rev() {
                    self.collision(earlier, at, file);
                }
            }
        }
    }

    fn collision(&mut self, earlier: usize, at: usize, file: &Located) {
        if self.comes_after(at, earlier) {
            return;
        }
        let neighbours = self.are_beside(earlier, at);
        let ends = if neighbours {
            "both are marked [P] and run together"
        } else {
            "the second waits for the first"
        };
        let (one, other) = (self.id(earlier), self.id(at));
        let message = format!("`{one}` and `{other}` write the same path: {ends}");
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
        [one, other].into_iter().all(|at| {
            self.draft(at)
                .is_some_and(|draft| draft.attributes.parallel)
        })
    }

    /// Reports whether a task already waits for another, directly or indirectly.
    fn comes_after(&mut self, at: usize, earlier: usize) -> bool {
        let lists = [self.edges.depends.as_slice(), &self.edges.after];
        self.reach.leads(&lists, at, earlier)
    }
}

/// Resolves text in parentheses after a word such as `after`, given the plan before it: returns its
/// tasks if all of it names tasks, else a finding. Without a colon it may be about something else
/// (`after 5 minutes`), which is none.
fn likely_named(
    references: &References<'_>,
    name: &Name<'_>,
    text: &Located,
    before: &str,
    findings: &mut Findings,
) -> Resolved {
    let mut unknown = Findings::default();
    let found = references.resolve(name, text, &mut unknown);
    if unknown.errors.is_empty() && !found.has_prose {
        return found;
    }
    let names_some = text.text.split_whitespace().any(may_name);
    let words = before.trim_end().rsplit(|c: char| !c.is_alphabetic());
    if !names_some && words.take(1).any(key::is_word_of_prose) {
        return Resolved {
            is_text: true,
            ..Resolved::default()
        };
    }
    let message = "not all of this names tasks, so it stays in the title";
    let warning = Pending::new(
        text.offset,
        FindingCode::UnknownDependency,
        &text.text,
        message,
    );
    findings.warn(warning.suggest("if it is meant as a dependency, write `(depends: T1)`"));
    Resolved {
        has_prose: true,
        ..Resolved::default()
    }
}

/// Marks some tasks.
fn mark(marks: &mut [bool], tasks: impl IntoIterator<Item = usize>) {
    for at in tasks {
        if let Some(slot) = marks.get_mut(at) {
            *slot = true;
        }
    }
}

/// Reports whether a task is marked.
fn is_marked(marks: &[bool], at: usize) -> bool {
    marks.get(at).is_some_and(|is_marked| *is_marked)
}

fn place_of(draft: &Draft) -> usize {
    draft
        .attributes
        .depends
        .first()
        .map_or(draft.at, |list| list.offset)
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
