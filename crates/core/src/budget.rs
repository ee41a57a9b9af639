//! Budgets of tokens, and of money, as trees: what a task reserves counts against it, every ancestor and the run.
//!
//! Worst case first: a request reserves its input and its maximum reply before it is sent, and is settled with its
//! actual usage. At every instant, settled and reserved tokens together stay within every cap, unless a provider
//! reports more than was reserved. A request that fits but for other open requests waits until those are settled,
//! first come, first served, and is refused only if it does not fit then. Each node reserves [`HAND_BACK_TOKENS`]
//! that no descendant can spend, so that a parent can still report when its children have used up the rest.

use std::collections::BTreeMap;

use crate::ids::TaskId;
use crate::price::dollars;

/// The tokens that every capped node reserves for its own final report.
pub const HAND_BACK_TOKENS: u64 = 2_000;

/// The budgets of a run; part of its state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetTree {
    unit: Unit,
    run: Node,
    tasks: BTreeMap<TaskId, Node>,
    /// Requests that wait for other requests to be settled, in order of arrival.
    waiting: Vec<(TaskId, u64)>,
}

/// What a budget counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Tokens.
    #[default]
    Tokens,
    /// Micro-dollars.
    Money,
}

/// What a request needs of the budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// A budget that cannot cover a reservation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} has used {} of its budget of {}{}; the next request needs up to {}{}",
    .task.as_ref().map_or_else(|| "the run".to_owned(), |task| format!("task {task}")),
    .unit.number(*.used),
    .unit.amount(*.cap),
    kept_back(*.kept),
    .unit.number(*.needed),
    if .task.is_some() { ". The plan sets this budget, so raising it takes a changed plan and a new run" } else { "" }
)]
pub struct Exhausted {
    /// The task whose budget it is, or `None` if it is the run's.
    pub task: Option<TaskId>,
    /// What it counts.
    pub unit: Unit,
    /// The cap.
    pub cap: u64,
    /// The tokens used.
    pub used: u64,
    /// The tokens reserved for final reports.
    pub kept: u64,
    /// The tokens requested.
    pub needed: u64,
}

/// Whether a request may be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reservation {
    /// Every budget covers it.
    Fits,
    /// It fits only if other open requests, or those that wait before it, use less than they reserved.
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

    /// Returns what a budget withholds from tasks other than its own. No final report is paid for in advance with
    /// money: its cost depends on the model.
    fn kept_of(self, cap: u64, is_own: bool) -> u64 {
        match self {
            Self::Tokens if !is_own => HAND_BACK_TOKENS.min(cap / 2),
            Self::Tokens | Self::Money => 0,
        }
    }
}

impl BudgetTree {
    /// Creates the tree of a run with this cap.
    pub fn new(unit: Unit, cap: Option<u64>) -> Self {
        Self { unit, run: Node { cap, ..Node::default() }, ..Self::default() }
    }

    /// Adds a task below its parent, or below the run.
    pub fn add(&mut self, task: TaskId, parent: Option<TaskId>, cap: Option<u64>) {
        self.tasks.insert(task, Node { cap, parent, ..Node::default() });
    }

    /// Decides whether a task may reserve this many tokens now; the first budget, from the task upwards, that can
    /// never cover them refuses.
    ///
    /// Waiting always ends: the requests before this one wait for open requests, and an open request ends.
    pub fn ask(&self, task: &TaskId, tokens: u64) -> Reservation {
        let mut reservation = Reservation::Fits;
        for (name, node) in self.lineage(task) {
            let Some(cap) = node.cap else { continue };
            let (used, kept) = (node.settled, self.unit.kept_of(cap, name == Some(task)));
            let left = cap.saturating_sub(kept).saturating_sub(used);
            if tokens > left {
                return Reservation::Refused(Exhausted {
                    task: name.cloned(),
                    unit: self.unit,
                    cap,
                    used,
                    kept,
                    needed: tokens,
                });
            }
            let open = node.reserved.saturating_sub(self.own_request(task));
            if tokens > left.saturating_sub(open).saturating_sub(self.claimed_before(task, name)) {
                reservation = Reservation::Waits;
            }
        }
        reservation
    }

    /// Returns how many tokens the descendants of a task can still use, what is reserved now not included; `None` if
    /// no budget limits them.
    pub fn left_for_children(&self, task: &TaskId) -> Option<u64> {
        let left = |node: &Node| {
            let cap = node.cap?;
            let free = cap.saturating_sub(self.unit.kept_of(cap, false)).saturating_sub(node.settled);
            Some(free.saturating_sub(node.reserved))
        };
        self.lineage(task).into_iter().filter_map(|(_, node)| left(node)).min()
    }

    /// Reports whether the run's budget leaves less to a task than the budgets of the task and its ancestors.
    pub fn is_bound_by_run(&self, task: &TaskId) -> bool {
        let left = |cap: u64, node: &Node, is_own| {
            cap.saturating_sub(self.unit.kept_of(cap, is_own)).saturating_sub(node.settled)
        };
        let of_run = self.run.cap.map(|cap| left(cap, &self.run, false));
        let lineage = self.lineage(task).into_iter().filter(|(name, _)| name.is_some());
        let mut others = lineage.filter_map(|(name, node)| Some(left(node.cap?, node, name == Some(task))));
        of_run.is_some_and(|of_run| others.all(|other| other > of_run))
    }

    /// Reports whether any budget limits a task, so that its reservations reduce what others may use.
    pub fn is_capped(&self, task: &TaskId) -> bool {
        self.lineage(task).iter().any(|(_, node)| node.cap.is_some())
    }

    /// Changes the cap of the run.
    pub fn limit_run(&mut self, cap: Option<u64>) {
        self.run.cap = cap;
    }

    /// Returns the tokens of the task's request if it waits.
    pub fn waiting(&self, task: &TaskId) -> Option<u64> {
        self.waiting.iter().find(|(other, _)| other == task).map(|(_, tokens)| *tokens)
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
        self.each_of_lineage(task, |node| node.reserved += tokens);
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_request = tokens;
        }
    }

    /// Replaces the reservation with the actual usage.
    pub fn settle(&mut self, task: &TaskId, used: u64) {
        self.release(task);
        self.each_of_lineage(task, |node| node.settled = node.settled.saturating_add(used));
    }

    /// Releases the reservation; a waiting request leaves the queue.
    pub fn release(&mut self, task: &TaskId) {
        let open = self.own_request(task);
        self.each_of_lineage(task, |node| node.reserved = node.reserved.saturating_sub(open));
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_request = 0;
        }
        self.waiting.retain(|(other, _)| other != task);
    }

    /// Releases every reservation and empties the queue: the processes that made the requests have ended.
    pub fn release_all(&mut self) {
        let tasks: Vec<TaskId> = self.tasks.keys().cloned().collect();
        tasks.iter().for_each(|task| self.release(task));
    }

    fn own_request(&self, task: &TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |node| node.own_request)
    }

    /// Returns the tokens that requests waiting before this task's claim from one budget: a task's, or the run's.
    fn claimed_before(&self, task: &TaskId, budget: Option<&TaskId>) -> u64 {
        let before = self.waiting.iter().take_while(|(other, _)| other != task);
        let concerned = before.filter(|(other, _)| self.lineage(other).iter().any(|(name, _)| *name == budget));
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

fn kept_back(tokens: u64) -> String {
    if tokens == 0 { String::new() } else { format!(" and reserves {tokens} for final reports") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 100,000 tokens with a parent of 20,000, its two children, and a task beside them.
    fn tree() -> BudgetTree {
        let mut tree = BudgetTree::new(Unit::Tokens, Some(100_000));
        tree.add("parent".into(), None, Some(20_000));
        tree.add("child".into(), Some("parent".into()), None);
        tree.add("sibling".into(), Some("parent".into()), None);
        tree.add("other".into(), None, None);
        tree
    }

    fn refused(task: Option<&str>, (cap, used, kept): (u64, u64, u64), needed: u64) -> Reservation {
        Reservation::Refused(Exhausted { task: task.map(TaskId::from), unit: Unit::Tokens, cap, used, kept, needed })
    }

    #[test]
    fn a_descendant_cannot_spend_the_hand_back_reserve() {
        let mut tree = tree();
        assert_eq!(tree.ask(&"child".into(), 18_000), Reservation::Fits);
        tree.reserve(&"child".into(), 18_000);
        tree.settle(&"child".into(), 18_000);
        assert_eq!(tree.ask(&"child".into(), 1), refused(Some("parent"), (20_000, 18_000, 2_000), 1));
        assert_eq!(tree.ask(&"parent".into(), 2_000), Reservation::Fits);
        assert_eq!(tree.ask(&"parent".into(), 2_001), refused(Some("parent"), (20_000, 18_000, 0), 2_001));
    }

    #[test]
    fn children_get_what_no_budget_above_them_needs() {
        let mut tree = tree();
        let left = |tree: &BudgetTree, task: &str| tree.left_for_children(&task.into());
        assert_eq!(
            (left(&tree, "parent"), left(&tree, "child"), left(&tree, "other")),
            (Some(18_000), Some(18_000), Some(98_000))
        );
        tree.reserve(&"child".into(), 3_000);
        tree.settle(&"sibling".into(), 5_000);
        assert_eq!(left(&tree, "parent"), Some(10_000));
        tree.reserve(&"other".into(), 90_000);
        assert_eq!(left(&tree, "parent"), Some(0));
        assert_eq!(BudgetTree::default().left_for_children(&"a".into()), None);
    }

    #[test]
    fn a_task_is_capped_by_its_own_budget_or_by_one_above() {
        let capped = |cap_of_run, task: &str| {
            let mut tree = tree();
            tree.limit_run(cap_of_run);
            tree.is_capped(&task.into())
        };
        assert_eq!(["parent", "child", "other"].map(|task| capped(None, task)), [true, true, false]);
        assert!(capped(Some(1), "other"));
    }

    #[test]
    fn a_repeated_request_replaces_its_reservation() {
        let mut tree = tree();
        tree.reserve(&"child".into(), 15_000);
        assert_eq!(tree.ask(&"child".into(), 15_000), Reservation::Fits);
        tree.reserve(&"child".into(), 15_000);
        tree.settle(&"child".into(), 5_000);
        assert_eq!(tree.run.settled, 5_000);
        assert_eq!(tree.ask(&"child".into(), 13_000), Reservation::Fits);
    }

    /// Plays steps like `child+15000` (reserves), `child=100` (settles), `child?9000` (waits), `child-` (gives back).
    fn after(steps: &str) -> BudgetTree {
        let mut tree = tree();
        for step in steps.split_whitespace() {
            let at = step.find(['+', '=', '?', '-']).unwrap();
            let (task, tokens) = (TaskId::from(&step[..at]), step[at + 1..].parse().unwrap_or(0));
            match &step[at..=at] {
                "+" => tree.reserve(&task, tokens),
                "=" => tree.settle(&task, tokens),
                "?" => tree.wait(&task, tokens),
                _ => tree.release(&task),
            }
        }
        tree
    }

    #[test]
    fn a_request_waits_for_open_ones_and_is_refused_only_by_what_is_used() {
        let table = [
            ("", "child", 18_000, Reservation::Fits),
            ("", "child", 18_001, refused(Some("parent"), (20_000, 0, 2_000), 18_001)),
            ("sibling+10000", "child", 8_000, Reservation::Fits),
            ("sibling+10000", "child", 8_001, Reservation::Waits),
            ("sibling+10000 sibling=500", "child", 8_001, Reservation::Fits),
            ("sibling+10000 sibling=10000", "child", 8_001, refused(Some("parent"), (20_000, 10_000, 2_000), 8_001)),
            ("sibling+10000 sibling-", "child", 18_000, Reservation::Fits),
            // The first request is served first where both claim the same budget.
            ("sibling+10000 child?17000 sibling=0", "child", 17_000, Reservation::Fits),
            ("sibling+10000 child?17000 sibling=0", "sibling", 1_001, Reservation::Waits),
            ("sibling+10000 child?17000 sibling=0", "sibling", 1_000, Reservation::Fits),
            ("sibling+10000 child?17000 sibling=0 child-", "sibling", 1_001, Reservation::Fits),
            ("sibling+10000 child?17000", "other", 71_000, Reservation::Fits),
            ("sibling+10000 child?17000", "other", 71_001, Reservation::Waits),
            ("other+90000", "parent", 9_000, Reservation::Waits),
            ("other=90000", "parent", 9_000, refused(None, (100_000, 90_000, 2_000), 9_000)),
        ];
        for (steps, task, tokens, expected) in table {
            assert_eq!(after(steps).ask(&task.into(), tokens), expected, "{steps} / {task} {tokens}");
        }
    }

    #[test]
    fn the_run_binds_whom_it_leaves_the_least() {
        let bound = |steps: &str, task: &str| after(steps).is_bound_by_run(&task.into());
        assert!(bound("", "other") && !bound("", "child") && !bound("other=80000", "child"));
        assert!(bound("other=80001", "child") && bound("other=78001", "parent") && !bound("other=78000", "parent"));
        let mut unlimited = tree();
        unlimited.limit_run(None);
        assert!(!unlimited.is_bound_by_run(&"other".into()));
    }

    #[test]
    fn money_is_reserved_and_settled_like_tokens() {
        let mut money = BudgetTree::new(Unit::Money, Some(1_000_000));
        money.add("a".into(), None, None);
        money.add("b".into(), None, None);
        money.reserve(&"a".into(), 600_000);
        assert_eq!(money.ask(&"b".into(), 400_001), Reservation::Waits);
        assert_eq!(money.ask(&"b".into(), 400_000), Reservation::Fits);
        money.settle(&"a".into(), 250_000);
        let Reservation::Refused(exhausted) = money.ask(&"b".into(), 750_001) else { panic!("it fits") };
        let said = "the run has used $0.25 of its budget of $1.00; the next request needs up to $0.76";
        assert_eq!(exhausted.to_string(), said);
    }

    #[test]
    fn requests_of_a_process_that_died_hold_nothing_back() {
        let mut tree = after("sibling+10000 child?17000");
        tree.release_all();
        assert_eq!((tree.ask(&"other".into(), 98_000), tree.waiting(&"child".into())), (Reservation::Fits, None));
    }
}
