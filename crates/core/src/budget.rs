//! Token budgets as a tree: what a task reserves counts against it, every ancestor and the run.
//!
//! Worst case first: a request reserves its input and its largest reply before it is sent, and is settled by
//! what it really used. At every instant, settled and reserved together stay within every cap, unless a provider
//! reports more than was reserved. Each node keeps [`HAND_BACK_TOKENS`] that no descendant can spend, so that a
//! parent can still report when its children have used up all the rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// What every capped node keeps for its own last report.
pub const HAND_BACK_TOKENS: u64 = 2_000;

/// The budgets of a run; part of its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetTree {
    run: Node,
    tasks: BTreeMap<TaskId, Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Node {
    cap: Option<u64>,
    parent: Option<TaskId>,
    settled: u64,
    reserved: u64,
    /// What this task itself holds in flight; a repeated request replaces it.
    own_request: u64,
}

/// A budget that cannot carry a reservation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{owner} has {left} tokens left of its budget of {cap}, and the next request needs {needed}")]
pub struct Exhausted {
    /// Whose budget.
    pub owner: String,
    /// Its cap.
    pub cap: u64,
    /// What is neither used nor reserved.
    pub left: u64,
    /// What was asked for.
    pub needed: u64,
}

impl BudgetTree {
    /// Makes the tree of a run with this cap.
    pub fn new(cap: Option<u64>) -> Self {
        Self { run: Node { cap, ..Node::default() }, tasks: BTreeMap::new() }
    }

    /// Adds a task below its parent, or below the run.
    pub fn add(&mut self, task: TaskId, parent: Option<TaskId>, cap: Option<u64>) {
        self.tasks.insert(task, Node { cap, parent, ..Node::default() });
    }

    /// Tells whether a task may reserve this many tokens now.
    ///
    /// # Errors
    ///
    /// Fails with the first budget, from the task upwards, that cannot carry it.
    pub fn check(&self, task: &TaskId, tokens: u64) -> Result<(), Exhausted> {
        for (name, node) in self.lineage(task) {
            let Some(cap) = node.cap else { continue };
            let is_own = name.as_deref() == Some(task.as_str());
            let kept = if is_own { 0 } else { HAND_BACK_TOKENS.min(cap / 2) };
            let in_use = node.settled + node.reserved - self.own_request(task).min(node.reserved);
            let left = cap.saturating_sub(kept).saturating_sub(in_use);
            if tokens > left {
                let owner = name.map_or_else(|| "the run".to_owned(), |task| format!("task {task}"));
                return Err(Exhausted { owner, cap, left, needed: tokens });
            }
        }
        Ok(())
    }

    /// Reserves tokens; a request of the same task that was still open is replaced.
    pub fn reserve(&mut self, task: &TaskId, tokens: u64) {
        self.release(task);
        self.each_of_lineage(task, |node| node.reserved += tokens);
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_request = tokens;
        }
    }

    /// Replaces the reservation by what was used.
    pub fn settle(&mut self, task: &TaskId, used: u64) {
        self.release(task);
        self.each_of_lineage(task, |node| node.settled = node.settled.saturating_add(used));
    }

    /// Gives the reservation back.
    pub fn release(&mut self, task: &TaskId) {
        let open = self.own_request(task);
        self.each_of_lineage(task, |node| node.reserved = node.reserved.saturating_sub(open));
        if let Some(node) = self.tasks.get_mut(task) {
            node.own_request = 0;
        }
    }

    /// Gives what the run has used.
    pub fn used(&self) -> u64 {
        self.run.settled
    }

    fn own_request(&self, task: &TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |node| node.own_request)
    }

    /// The task, its ancestors and the run, each with its name.
    fn lineage(&self, task: &TaskId) -> Vec<(Option<String>, &Node)> {
        let mut nodes = Vec::new();
        let mut at = Some(task);
        while let Some((id, node)) = at.and_then(|id| self.tasks.get_key_value(id)) {
            nodes.push((Some(id.to_string()), node));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> BudgetTree {
        let mut tree = BudgetTree::new(Some(100_000));
        tree.add("parent".into(), None, Some(20_000));
        tree.add("child".into(), Some("parent".into()), None);
        tree
    }

    #[test]
    fn a_descendant_cannot_spend_the_hand_back_reserve() {
        let mut tree = tree();
        assert_eq!(tree.check(&"child".into(), 18_000), Ok(()));
        tree.reserve(&"child".into(), 18_000);
        tree.settle(&"child".into(), 18_000);
        assert!(tree.check(&"child".into(), 1).is_err());
        assert_eq!(tree.check(&"parent".into(), 2_000), Ok(()));
        assert!(tree.check(&"parent".into(), 2_001).is_err());
    }

    #[test]
    fn a_repeated_request_replaces_its_reservation() {
        let mut tree = tree();
        tree.reserve(&"child".into(), 15_000);
        assert_eq!(tree.check(&"child".into(), 15_000), Ok(()));
        tree.reserve(&"child".into(), 15_000);
        tree.settle(&"child".into(), 5_000);
        assert_eq!(tree.used(), 5_000);
        assert_eq!(tree.check(&"child".into(), 13_000), Ok(()));
    }
}
