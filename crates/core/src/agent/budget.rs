//! Budgets of tokens, and of money, as trees: what a task reserves counts against it, every
//! ancestor and the run.
//!
//! Worst case first: a request reserves its input and its maximum reply before it is sent, and is
//! settled with its actual usage. At every instant, settled and reserved tokens together stay
//! within every cap, unless a provider reports more than was reserved. A request that fits but for
//! other open requests waits until those are settled, first come, first served, and is refused only
//! if it does not fit then.
//!
//! An agent at work holds [`HAND_BACK_TOKENS`] in every capped budget above it, for the one request
//! with which it reports at a limit ([`BudgetTree::hold`]); no other request can spend them, not
//! even its own. Money is not held, since what a report costs depends on the model: a report that
//! the budget of money does not cover is not asked for.
//!
//! A child's budget comes from its parent's: it is at most what the parent has left when the child
//! is added. Nothing is set aside for it, so what it does not use stays with the parent.
//!
//! A request that waits keeps its worker, although its wait is recorded: the slot of a worker that
//! ended would go to another agent, whose hand-back would be held in the very budget that is short.
//! The wait ends with the open requests.

use serde::{Deserialize, Serialize};

use crate::agent::price::dollars;
use crate::collections::IdMap;
use crate::ids::TaskId;

/// The tokens that an agent holds for its final report, where a budget limits it.
pub const HAND_BACK_TOKENS: u64 = 2_000;

/// The least tokens that are held: no report fits into fewer.
const LEAST_HAND_BACK_TOKENS: u64 = 1_000;

/// At most one in this many tokens of a budget is held for final reports: the rest is for work.
const HELD_ONE_IN: u64 = 4;

/// The budgets of a run; part of its state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetTree {
    unit: Unit,
    run: Node,
    tasks: IdMap<Node>,
    /// Requests that wait for other requests to be settled, in order of arrival.
    waiting: Vec<(TaskId, u64)>,
}

/// The unit that a budget counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Tokens.
    #[default]
    Tokens,
    /// Micro-dollars.
    Money,
}

/// The tokens and the money that a request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Tokens.
    pub tokens: u64,
    /// Micro-dollars; `None` if the price is not known.
    pub micro_usd: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    cap: Option<u64>,
    parent: Option<TaskId>,
    settled: u64,
    reserved: u64,
    /// Tokens that this task itself has reserved; a repeated request replaces them.
    own_request: u64,
    /// Tokens held for the final reports of this task and of its descendants.
    held: u64,
    /// Tokens held for the final report of this task alone.
    own_held: u64,
}

impl Node {
    /// Returns what this budget leaves for requests that are not final reports, once all open ones
    /// are settled.
    fn left(&self, cap: u64) -> u64 {
        cap.saturating_sub(self.held).saturating_sub(self.settled)
    }
}

/// A budget that cannot cover a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "{} has used {} of its budget of {}{}; the next request needs up to {}{}",
    .task.as_ref().map_or_else(|| "the run".to_owned(), |task| format!("task {task}")),
    .unit.number(*.used),
    .unit.amount(*.cap),
    kept_back(*.kept),
    .unit.number(*.needed),
    set_by(.task.as_ref(), .parent.as_ref())
)]
pub struct Exhausted {
    /// The task whose budget it is, or `None` if it is the run's.
    pub task: Option<TaskId>,
    /// The agent that spawned the task, and set the budget.
    pub parent: Option<TaskId>,
    /// The unit that it counts.
    pub unit: Unit,
    /// The cap.
    pub cap: u64,
    /// The tokens used.
    pub used: u64,
    /// The tokens held for final reports.
    pub kept: u64,
    /// The tokens requested.
    pub needed: u64,
}

/// Whether a request may be sent now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum Reservation {
    /// Every budget covers it.
    Fits,
    /// It fits only if other open requests, or those that wait before it, use less than they
    /// reserved.
    Waits,
    /// It does not fit, whatever the other requests use.
    Refused(Exhausted),
}

impl Unit {
    fn number(self, number: u64) -> String {
        match self {
            Self::Tokens => number.to_string(),
            Self::Money => dollars(number),
        }
    }

    fn amount(self, number: u64) -> String {
        let unit = if self == Self::Tokens { " tokens" } else { "" };
        format!("{}{unit}", self.number(number))
    }
}

impl BudgetTree {
    /// Creates the tree of a run with this cap.
    pub fn new(unit: Unit, cap: Option<u64>) -> Self {
        Self {
            unit,
            run: Node {
                cap,
                ..Node::default()
            },
            ..Self::default()
        }
    }

    /// Adds a task below its parent, or below the run. Its cap is at most what its parent has left:
    /// more would promise what cannot be spent. The run's budget does not count, since it can be
    /// raised.
    pub fn add(&mut self, task: TaskId, parent: Option<TaskId>, cap: Option<u64>) {
        let above = parent
            .as_ref()
            .and_then(|parent| self.left_to_children(parent));
        let cap = cap.map(|cap| above.map_or(cap, |above| cap.min(above)));
        self.tasks.insert_mut(
            task,
            Node {
                cap,
                parent,
                ..Node::default()
            },
        );
    }

    /// Returns what a task and its ancestors have left for a new child; `None` if none of them has
    /// a budget.
    pub fn left_to_children(&self, parent: &TaskId) -> Option<u64> {
        let named = self
            .lineage(parent)
            .into_iter()
            .filter(|(name, _)| name.is_some());
        named
            .filter_map(|(_, node)| Some(node.left(node.cap?).saturating_sub(node.reserved)))
            .min()
    }

    /// Gives a child its budget once more, of what its parent has left.
    pub fn renew(&mut self, task: &TaskId, tokens: u64) {
        let Some(parent) = self.tasks.get(task).and_then(|node| node.parent.clone()) else {
            return;
        };
        let tokens = self
            .left_to_children(&parent)
            .map_or(tokens, |above| tokens.min(above));
        if let Some(node) = self.tasks.get_mut(task)
            && let Some(cap) = &mut node.cap
        {
            *cap = node.settled.saturating_add(tokens).max(*cap);
        }
    }

    /// Reports whether a new attempt of a child gets more tokens than it has left, because its
    /// parent has them.
    pub fn is_renewable(&self, task: &TaskId) -> bool {
        let Some(node) = self.tasks.get(task) else {
            return false;
        };
        let (Some(cap), Some(parent)) = (node.cap, &node.parent) else {
            return false;
        };
        self.left_to_children(parent)
            .is_none_or(|above| above > node.left(cap))
    }

    /// Reports whether the budget that leaves a task the least, apart from the run's, belongs to a
    /// task of the plan.
    pub fn is_bound_by_plan(&self, task: &TaskId) -> bool {
        let named = self
            .lineage(task)
            .into_iter()
            .filter(|(name, _)| name.is_some());
        let least = named
            .filter_map(|(_, node)| Some((node.left(node.cap?), node)))
            .min_by_key(|(left, _)| *left);
        least.is_none_or(|(_, node)| node.parent.is_none())
    }

    /// Decides whether a task may reserve this many tokens now; the first budget, from the task
    /// upwards, that can never cover them refuses.
    ///
    /// Waiting always ends: the requests before this one wait for open requests, and an open
    /// request ends.
    pub fn ask(&self, task: &TaskId, tokens: u64) -> Reservation {
        let mut reservation = Reservation::Fits;
        for (name, node) in self.lineage(task) {
            let Some(cap) = node.cap else { continue };
            let (used, kept, left) = (node.settled, node.held, node.left(cap));
            if tokens > left {
                return Reservation::Refused(Exhausted {
                    task: name.cloned(),
                    parent: node.parent.clone(),
                    unit: self.unit,
                    cap,
                    used,
                    kept,
                    needed: tokens,
                });
            }
            let open = node.reserved.saturating_sub(self.own_request(task));
            if tokens
                > left
                    .saturating_sub(open)
                    .saturating_sub(self.claimed_before(task, name))
            {
                reservation = Reservation::Waits;
            }
        }
        reservation
    }

    /// Returns how many tokens the descendants of a task can still use, what is reserved now not
    /// included; `None` if no budget limits them.
    pub fn left_for_children(&self, task: &TaskId) -> Option<u64> {
        self.lineage(task)
            .into_iter()
            .filter_map(|(_, node)| Some(node.left(node.cap?).saturating_sub(node.reserved)))
            .min()
    }

    /// Reports whether the run's budget leaves less to a task than the budgets of the task and its
    /// ancestors.
    pub fn is_bound_by_run(&self, task: &TaskId) -> bool {
        let of_run = self.run.cap.map(|cap| self.run.left(cap));
        let lineage = self
            .lineage(task)
            .into_iter()
            .filter(|(name, _)| name.is_some());
        let mut others = lineage.filter_map(|(_, node)| Some(node.left(node.cap?)));
        of_run.is_some_and(|of_run| others.all(|other| other > of_run))
    }

    /// Reports whether any budget limits a task, so that its reservations reduce what others may
    /// use.
    pub fn is_capped(&self, task: &TaskId) -> bool {
        self.lineage(task)
            .iter()
            .any(|(_, node)| node.cap.is_some())
    }

    /// Changes the cap of the run.
    pub fn limit_run(&mut self, cap: Option<u64>) {
        self.run.cap = cap;
    }

    /// Returns the tokens of the task's request if it waits.
    pub fn waiting(&self, task: &TaskId) -> Option<u64> {
        self.waiting
            .iter()
            .find(|(other, _)| other == task)
            .map(|(_, tokens)| *tokens)
    }

    /// Queues a request; one that waits already keeps its place.
    pub fn wait(&mut self, task: &TaskId, tokens: u64) {
        match self.waiting.iter_mut().find(|(other, _)| other == task) {
            Some((_, claimed)) => *claimed = tokens,
            None => self.waiting.push((task.clone(), tokens)),
        }
    }

    /// Reserves tokens, replacing an open request of the same task.
    pub fn reserve(&mut self, task: &TaskId, tokens: u64) {
        self.release(task);
        if tokens == 0 {
            return;
        }
        self.each_of_lineage(task, |node| node.reserved += tokens);
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_request = tokens;
        }
    }

    /// Holds what a task's final report needs in every budget above it, if that is covered; a task
    /// that holds it already keeps it. Nothing is held where no budget limits the task, and of
    /// money.
    pub fn hold(&mut self, task: &TaskId) {
        if self.unit == Unit::Money || self.held(task) > 0 {
            return;
        }
        let lineage = self.lineage(task);
        let shares = lineage
            .iter()
            .filter_map(|(_, node)| Some((node.cap?, node)));
        let covered = shares.map(|(cap, node)| {
            let share = (cap / HELD_ONE_IN).saturating_sub(node.held);
            share
                .min(node.left(cap).saturating_sub(node.reserved))
                .min(HAND_BACK_TOKENS)
        });
        let Some(held) = covered
            .min()
            .filter(|tokens| *tokens >= LEAST_HAND_BACK_TOKENS)
        else {
            return;
        };
        self.each_of_lineage(task, |node| node.held += held);
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_held = held;
        }
    }

    /// Reports whether a task has reserved tokens.
    pub fn has_reserved(&self, task: &TaskId) -> bool {
        self.own_request(task) > 0
    }

    /// Returns what is held for a task's final report.
    pub fn held(&self, task: &TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |node| node.own_held)
    }

    /// Ends the hold: the report is asked for, or the task has ended.
    pub fn let_go(&mut self, task: &TaskId) {
        let held = self.held(task);
        if held == 0 {
            return;
        }
        self.each_of_lineage(task, |node| node.held = node.held.saturating_sub(held));
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_held = 0;
        }
    }

    /// Decides whether a task may make its last request with this many tokens: from what is held
    /// for it, which never waits for others.
    pub fn ask_report(&self, task: &TaskId, tokens: u64) -> Reservation {
        match self.unit {
            Unit::Tokens if tokens <= self.held(task) => Reservation::Fits,
            _ => self.ask(task, tokens),
        }
    }

    /// Replaces the reservation with the actual usage.
    pub fn settle(&mut self, task: &TaskId, used: u64) {
        self.release(task);
        if used > 0 {
            self.each_of_lineage(task, |node| {
                node.settled = node.settled.saturating_add(used)
            });
        }
    }

    /// Releases the reservation; a waiting request leaves the queue.
    pub fn release(&mut self, task: &TaskId) {
        let open = self.own_request(task);
        if open > 0 {
            self.each_of_lineage(task, |node| {
                node.reserved = node.reserved.saturating_sub(open)
            });
            if let Some(node) = self.tasks.get_mut(task) {
                node.own_request = 0;
            }
        }
        self.waiting.retain(|(other, _)| other != task);
    }

    /// Releases every reservation and empties the queue: the processes that made the requests have
    /// ended.
    pub fn release_all(&mut self) {
        let tasks: Vec<TaskId> = self.tasks.keys().cloned().collect();
        for task in tasks.iter() {
            self.release(task);
        }
    }

    fn own_request(&self, task: &TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |node| node.own_request)
    }

    /// Returns the tokens that requests waiting before this task's claim from one budget: a task's,
    /// or the run's.
    fn claimed_before(&self, task: &TaskId, budget: Option<&TaskId>) -> u64 {
        let before = self.waiting.iter().take_while(|(other, _)| other != task);
        let concerned =
            before.filter(|(other, _)| self.lineage(other).iter().any(|(name, _)| *name == budget));
        concerned.map(|(_, tokens)| tokens).sum()
    }

    /// Returns the task, its ancestors and the run, each with its name.
    fn lineage(&self, task: &TaskId) -> Vec<(Option<&TaskId>, &Node)> {
        let mut nodes = Vec::new();
        let mut at = Some(task);
        while let Some((id, node)) = at.and_then(|id| self.tasks.get_key_value(id)) {
            nodes.push((Some(id), node));
            at = node.parent.as_ref();
        }
        nodes.push((None, &self.run));
        nodes
    }

    fn each_of_lineage(&mut self, task: &TaskId, mut change: impl FnMut(&mut Node)) {
        let mut at = Some(task.clone());
        while let Some(node) = at.and_then(|id| self.tasks.get_mut(&id)) {
            change(node);
            at = node.parent.clone();
        }
        change(&mut self.run);
    }
}

/// Returns the origin of a budget that is used up, and what that means, as the end of a message.
fn set_by(task: Option<&TaskId>, parent: Option<&TaskId>) -> String {
    match (task, parent) {
        (None, _) => String::new(),
        (Some(_), None) => {
            ". The plan sets this budget, so raising it takes a changed plan and a new run"
                .to_owned()
        }
        (Some(task), Some(parent)) => format!(
            ". Agent {parent} set this budget when it spawned {task}, and can spawn an agent with \
             a larger one; a retry gives {task} as much again"
        ),
    }
}

fn kept_back(tokens: u64) -> String {
    if tokens == 0 {
        String::new()
    } else {
        format!(" and holds {tokens} for final reports")
    }
}

#[cfg(test)]
mod tests;
