//! Budgets of tokens, and of money, as trees: what a task reserves counts against it, every ancestor and the run.
//!
//! Worst case first: a request reserves its input and its maximum reply before it is sent, and is settled with its
//! actual usage. At every instant, settled and reserved tokens together stay within every cap, unless a provider
//! reports more than was reserved. A request that fits but for other open requests waits until those are settled,
//! first come, first served, and is refused only if it does not fit then.
//!
//! An agent at work holds [`HAND_BACK_TOKENS`] in every capped budget above it, for the one request with which it
//! reports at a limit ([`BudgetTree::hold`]); no other request can spend them, not even its own. Money is not held,
//! since what a report costs depends on the model: a report that the budget of money does not cover is not asked for.
//!
//! A child's budget comes from its parent's: it is at most what the parent has left when the child is added. Nothing
//! is set aside for it, so what it does not use stays with the parent.
//!
//! A request that waits keeps its worker, although its wait is recorded: the slot of a worker that ended would go to
//! another agent, whose hand-back would be held in the very budget that is short. The wait ends with the open requests.

use std::collections::BTreeMap;

use crate::ids::TaskId;
use crate::price::dollars;

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
    /// Tokens held for the final reports of this task and of its descendants.
    held: u64,
    /// Tokens held for the final report of this task alone.
    own_held: u64,
}

impl Node {
    /// Returns what this budget leaves for requests that are not final reports, once all open ones are settled.
    fn left(&self, cap: u64) -> u64 {
        cap.saturating_sub(self.held).saturating_sub(self.settled)
    }
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
    /// The tokens held for final reports.
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
}

impl BudgetTree {
    /// Creates the tree of a run with this cap.
    pub fn new(unit: Unit, cap: Option<u64>) -> Self {
        Self { unit, run: Node { cap, ..Node::default() }, ..Self::default() }
    }

    /// Adds a task below its parent, or below the run. Its cap is at most what its parent has left: more would promise
    /// what nobody can spend. The run's budget does not count, since it can be raised.
    pub fn add(&mut self, task: TaskId, parent: Option<TaskId>, cap: Option<u64>) {
        let above = parent.as_ref().and_then(|parent| self.left_to_children(parent));
        let cap = cap.map(|cap| above.map_or(cap, |above| cap.min(above)));
        self.tasks.insert(task, Node { cap, parent, ..Node::default() });
    }

    /// Returns what a task and its ancestors have left for a new child; `None` if none of them has a budget.
    pub fn left_to_children(&self, parent: &TaskId) -> Option<u64> {
        let named = self.lineage(parent).into_iter().filter(|(name, _)| name.is_some());
        named.filter_map(|(_, node)| Some(node.left(node.cap?).saturating_sub(node.reserved))).min()
    }

    /// Decides whether a task may reserve this many tokens now; the first budget, from the task upwards, that can
    /// never cover them refuses.
    ///
    /// Waiting always ends: the requests before this one wait for open requests, and an open request ends.
    pub fn ask(&self, task: &TaskId, tokens: u64) -> Reservation {
        let mut reservation = Reservation::Fits;
        for (name, node) in self.lineage(task) {
            let Some(cap) = node.cap else { continue };
            let (used, kept, left) = (node.settled, node.held, node.left(cap));
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
        let left = |node: &Node| Some(node.left(node.cap?).saturating_sub(node.reserved));
        self.lineage(task).into_iter().filter_map(|(_, node)| left(node)).min()
    }

    /// Reports whether the run's budget leaves less to a task than the budgets of the task and its ancestors.
    pub fn is_bound_by_run(&self, task: &TaskId) -> bool {
        let of_run = self.run.cap.map(|cap| self.run.left(cap));
        let lineage = self.lineage(task).into_iter().filter(|(name, _)| name.is_some());
        let mut others = lineage.filter_map(|(_, node)| Some(node.left(node.cap?)));
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

    /// Holds what a task's final report needs in every budget above it, if that is covered; a task that holds it
    /// already keeps it. Nothing is held where no budget limits the task, and of money.
    pub fn hold(&mut self, task: &TaskId) {
        if self.unit == Unit::Money || self.held(task) > 0 {
            return;
        }
        let lineage = self.lineage(task);
        let shares = lineage.iter().filter_map(|(_, node)| Some((node.cap?, node)));
        let covered = shares.map(|(cap, node)| {
            let share = (cap / HELD_ONE_IN).saturating_sub(node.held);
            share.min(node.left(cap).saturating_sub(node.reserved)).min(HAND_BACK_TOKENS)
        });
        let held = covered.min().filter(|tokens| *tokens >= LEAST_HAND_BACK_TOKENS).unwrap_or(0);
        self.each_of_lineage(task, |node| node.held += held);
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_held = held;
        }
    }

    /// Returns what is held for a task's final report.
    pub fn held(&self, task: &TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |node| node.own_held)
    }

    /// Ends the hold: the report is asked for, or the task has ended.
    pub fn let_go(&mut self, task: &TaskId) {
        let held = self.held(task);
        self.each_of_lineage(task, |node| node.held = node.held.saturating_sub(held));
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_held = 0;
        }
    }

    /// Decides whether a task may make its last request with this many tokens: from what is held for it, which never
    /// waits for others.
    pub fn ask_report(&self, task: &TaskId, tokens: u64) -> Reservation {
        match self.unit {
            Unit::Tokens if tokens <= self.held(task) => Reservation::Fits,
            _ => self.ask(task, tokens),
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
    if tokens == 0 { String::new() } else { format!(" and holds {tokens} for final reports") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 100,000 tokens with a parent of 20,000, its two children, and a task beside them; only the parent has
    /// begun.
    fn tree() -> BudgetTree {
        let mut tree = BudgetTree::new(Unit::Tokens, Some(100_000));
        tree.add("parent".into(), None, Some(20_000));
        tree.hold(&"parent".into());
        tree.add("child".into(), Some("parent".into()), None);
        tree.add("sibling".into(), Some("parent".into()), None);
        tree.add("other".into(), None, None);
        tree
    }

    fn refused(task: Option<&str>, (cap, used, kept): (u64, u64, u64), needed: u64) -> Reservation {
        Reservation::Refused(Exhausted { task: task.map(TaskId::from), unit: Unit::Tokens, cap, used, kept, needed })
    }

    #[test]
    fn nobody_else_can_spend_what_is_held_for_a_report() {
        let (mut tree, parent, child) = (tree(), TaskId::from("parent"), TaskId::from("child"));
        assert_eq!(tree.ask(&child, 18_000), Reservation::Fits);
        tree.reserve(&child, 18_000);
        tree.settle(&child, 18_000);
        for task in [&child, &parent] {
            assert_eq!(tree.ask(task, 1), refused(Some("parent"), (20_000, 18_000, 2_000), 1));
        }
        assert_eq!(tree.ask_report(&parent, 2_000), Reservation::Fits);
        assert_eq!(tree.ask_report(&parent, 2_001), refused(Some("parent"), (20_000, 18_000, 2_000), 2_001));
        tree.let_go(&parent);
        tree.reserve(&parent, 2_000);
        assert_eq!(tree.ask(&child, 1), Reservation::Waits);
        tree.settle(&parent, 1_500);
        assert_eq!(tree.ask(&child, 500), Reservation::Fits);
    }

    #[test]
    fn a_report_is_held_where_budgets_cover_it() {
        let held = |caps: &[Option<u64>]| {
            let mut tree = BudgetTree::new(Unit::Tokens, caps[0]);
            tree.add("a".into(), None, caps[1]);
            tree.add("b".into(), Some("a".into()), caps[2]);
            tree.add("c".into(), None, None);
            ["a", "b", "c"].map(|task| {
                tree.hold(&task.into());
                tree.hold(&task.into());
                tree.held(&task.into())
            })
        };
        let table = [
            ([None, None, None], [0, 0, 0]),
            ([Some(100_000), None, None], [2_000, 2_000, 2_000]),
            ([None, Some(100_000), None], [2_000, 2_000, 0]),
            // At most a quarter of a budget is held, and nothing that could not pay for a report.
            ([Some(20_000), None, None], [2_000, 2_000, 1_000]),
            ([Some(10_000), None, None], [2_000, 0, 0]),
            ([Some(4_000), None, None], [1_000, 0, 0]),
            ([Some(3_000), None, None], [0, 0, 0]),
            ([Some(100_000), Some(5_000), None], [1_250, 0, 2_000]),
        ];
        for (caps, expected) in table {
            assert_eq!(held(&caps), expected, "{caps:?}");
        }
        let mut money = BudgetTree::new(Unit::Money, Some(100_000));
        money.add("a".into(), None, None);
        money.hold(&"a".into());
        assert_eq!((money.held(&"a".into()), money.ask(&"a".into(), 100_000)), (0, Reservation::Fits));
    }

    #[test]
    fn a_childs_budget_is_at_most_what_its_parent_has_left() {
        let cap_of = |steps: &str, parent: Option<&str>, cap| {
            let mut tree = after(steps);
            tree.add("new".into(), parent.map(TaskId::from), cap);
            tree.tasks["new"].cap
        };
        assert_eq!(cap_of("", Some("parent"), Some(50_000)), Some(18_000));
        assert_eq!(cap_of("", Some("child"), Some(50_000)), Some(18_000));
        assert_eq!(cap_of("sibling+5000 child=3000", Some("parent"), Some(50_000)), Some(10_000));
        assert_eq!(cap_of("sibling+5000", Some("parent"), Some(7_000)), Some(7_000));
        // What a child has not used goes back.
        assert_eq!(cap_of("sibling+5000 sibling=100", Some("parent"), Some(50_000)), Some(17_900));
        assert_eq!(cap_of("", Some("parent"), None), None);
        assert_eq!(cap_of("", Some("other"), Some(500_000)), Some(500_000));
        assert_eq!(cap_of("", None, Some(500_000)), Some(500_000));
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
        assert!(bound("other=80001", "child") && bound("other=80001", "parent") && !bound("other=80000", "parent"));
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

    /// Requires of every node that what is used, reserved and held is within its cap, and is the sum of its subtree.
    fn require_whole(tree: &BudgetTree) {
        let mut sums: BTreeMap<Option<TaskId>, [u64; 2]> = BTreeMap::new();
        for (task, node) in &tree.tasks {
            for (name, _) in tree.lineage(task) {
                let [reserved, held] = sums.entry(name.cloned()).or_default();
                (*reserved, *held) = (*reserved + node.own_request, *held + node.own_held);
            }
        }
        let named = tree.tasks.iter().map(|(task, node)| (Some(task.clone()), node));
        for (name, node) in named.chain([(None, &tree.run)]) {
            let within = node.settled + node.reserved + node.held <= node.cap.unwrap_or(u64::MAX);
            let sum = sums.get(&name).copied().unwrap_or_default();
            assert!(within && [node.reserved, node.held] == sum, "{name:?}: {node:?}, sums {sum:?}");
        }
    }

    /// One step of the property below, for one of the tasks.
    #[derive(Clone, Debug)]
    enum Act {
        Spawn { parent: Option<u16>, cap: Option<u64> },
        Ask { task: u16, tokens: u64 },
        Settle { task: u16, percent: u64 },
        Report { task: u16, tokens: u64 },
        End(u16),
        Crash,
    }

    fn acts() -> impl proptest::strategy::Strategy<Value = Act> {
        use proptest::prelude::*;
        let cap = || proptest::option::of(0_u64..400_000);
        prop_oneof![
            6 => (proptest::option::weighted(0.8, any::<u16>()), cap())
                .prop_map(|(parent, cap)| Act::Spawn { parent, cap }),
            6 => (any::<u16>(), 0_u64..40_000).prop_map(|(task, tokens)| Act::Ask { task, tokens }),
            5 => (any::<u16>(), 0_u64..=100).prop_map(|(task, percent)| Act::Settle { task, percent }),
            1 => (any::<u16>(), 0_u64..3_000).prop_map(|(task, tokens)| Act::Report { task, tokens }),
            1 => any::<u16>().prop_map(Act::End),
            1 => Just(Act::Crash),
        ]
    }

    /// Carries out a step as the run does: a refused request changes nothing, and one that must wait is queued.
    fn carry_out(tree: &mut BudgetTree, spawned: &mut Vec<TaskId>, act: &Act) {
        let one = |number: u16| spawned.get(usize::from(number) % spawned.len().max(1)).cloned();
        match act {
            Act::Spawn { parent, cap } => {
                let (task, parent) = (TaskId::new(format!("T{}", spawned.len())), parent.and_then(one));
                tree.add(task.clone(), parent, *cap);
                tree.hold(&task);
                spawned.push(task);
            }
            Act::Ask { task, tokens } => {
                let Some(task) = one(*task) else { return };
                match tree.ask(&task, *tokens) {
                    Reservation::Fits => tree.reserve(&task, *tokens),
                    Reservation::Waits => tree.wait(&task, *tokens),
                    Reservation::Refused(_) => {}
                }
            }
            Act::Settle { task, percent } => {
                let Some(task) = one(*task) else { return };
                tree.settle(&task, tree.own_request(&task) * percent / 100);
            }
            Act::Report { task, tokens } => {
                let Some(task) = one(*task) else { return };
                let held = tree.held(&task);
                let reservation = tree.ask_report(&task, *tokens);
                assert!(*tokens > held || reservation == Reservation::Fits, "{task} holds {held} for {tokens}");
                if reservation == Reservation::Fits {
                    tree.release(&task);
                    tree.let_go(&task);
                    tree.reserve(&task, *tokens);
                }
            }
            Act::End(task) => {
                let Some(task) = one(*task) else { return };
                tree.release(&task);
                tree.let_go(&task);
            }
            Act::Crash => tree.release_all(),
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { cases: 48, ..Default::default() })]

        /// At every instant, over random trees, budgets, requests, ends and crashes.
        #[test]
        fn no_budget_is_ever_exceeded(
            cap in proptest::option::of(0_u64..2_000_000),
            acts in proptest::collection::vec(acts(), 0..250),
        ) {
            let (mut tree, mut spawned) = (BudgetTree::new(Unit::Tokens, cap), Vec::new());
            for act in &acts {
                carry_out(&mut tree, &mut spawned, act);
                require_whole(&tree);
            }
        }
    }

    /// A thousand agents are spawned before any of them asks, below a parent and its children.
    #[test]
    fn a_thousand_spawns_at_once_oversubscribe_nothing() {
        let (mut tree, mut spawned) = (BudgetTree::new(Unit::Tokens, Some(1_000_000)), Vec::new());
        let spawn = |parent, cap| Act::Spawn { parent, cap };
        carry_out(&mut tree, &mut spawned, &spawn(None, Some(600_000)));
        for number in 1..1_000_u16 {
            let cap = (number >= 100).then_some(20_000);
            carry_out(&mut tree, &mut spawned, &spawn(Some(number / 10), cap));
        }
        require_whole(&tree);
        for round in 0..4_u16 {
            for task in 0..1_000_u16 {
                let tokens = u64::from(task.wrapping_mul(7_919) % 5_000);
                carry_out(&mut tree, &mut spawned, &Act::Ask { task, tokens });
                if task % 3 == round % 3 {
                    let percent = u64::from(task % 101);
                    carry_out(&mut tree, &mut spawned, &Act::Settle { task: task / 2, percent });
                }
            }
            require_whole(&tree);
        }
        assert!(tree.run.settled > 100_000, "{:?}", tree.run);
    }
}
