//! Lists of a run's tasks, each in its order; which task is in which list is decided by the run's
//! state.

use std::cmp::Reverse;

use crate::collections::{IdMap, SharedMap, SharedSet};
use crate::ids::AgentId;
use crate::task::TaskState;
use crate::task::schedule::Progress;
use crate::task::schedule::outlook::Outlook;

/// A list of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// A worker should be working on it.
    Begun,
    /// It waits for a worker; by priority.
    Ready,
    /// Everything that it waits for is there, so it becomes ready; by priority.
    Startable,
    /// It can never start, so it is skipped.
    Unstartable,
    /// It is to be stopped.
    Stopping,
    /// It waits for something.
    Waiting,
    /// Its model does not answer.
    Silent,
    /// Something is done for it.
    AtWork,
    /// A person's review of it is due.
    ToReview,
    /// Its work may be merged now.
    Candidate,
    /// Its parent has ended without success, so nothing takes its work.
    Abandoned,
    /// It can continue without the user.
    GoesOn,
    /// Its work is merged, so its worktree may go.
    Releasable,
}

/// All lists, in the order of their declaration.
pub(crate) const LISTS: [List; 13] = [
    List::Begun,
    List::Ready,
    List::Startable,
    List::Unstartable,
    List::Stopping,
    List::Waiting,
    List::Silent,
    List::AtWork,
    List::ToReview,
    List::Candidate,
    List::Abandoned,
    List::GoesOn,
    List::Releasable,
];

impl List {
    fn counts_priority(self) -> bool {
        matches!(self, Self::Ready | Self::Startable)
    }
}

/// The lists that one task is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memberships(u16);

impl Memberships {
    fn from_list(list: List) -> Self {
        Self(1 << list as u16)
    }

    fn has(self, list: List) -> bool {
        self.0 & Self::from_list(list).0 != 0
    }
}

impl FromIterator<List> for Memberships {
    fn from_iter<T: IntoIterator<Item = List>>(lists: T) -> Self {
        Self(
            lists
                .into_iter()
                .fold(0, |all, list| all | Self::from_list(list).0),
        )
    }
}

/// An entry of a list: the priority where it counts, and the task's place in the order of addition.
type Entry = (Reverse<i64>, usize);

/// The lists, and what they are derived from beside the records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Agenda {
    /// In the order of [`LISTS`].
    lists: [SharedSet<Entry>; LISTS.len()],
    /// The lists that each task is in, by its place; none for a task that is in no list.
    memberships: SharedMap<usize, Memberships>,
    pub(crate) outlook: Outlook,
    /// What the lists of other tasks depend on, by a task's place.
    pub(crate) standings: SharedMap<usize, Standing>,
    /// The places of the tasks that each agent has spawned.
    children: IdMap<SharedSet<usize>>,
    /// How many tasks agents have spawned.
    spawned: usize,
}

/// What other tasks see of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) progress: Progress,
    pub(crate) state: TaskState,
    /// Whether it waits so that work can be merged into its own.
    pub(crate) takes_work: bool,
}

impl Agenda {
    /// Adds a new task to those that its parent has spawned.
    pub(crate) fn add_child(&mut self, parent: &AgentId, child: usize) {
        let mut children = self.children.get(parent).cloned().unwrap_or_default();
        children.insert_mut(child, ());
        self.children.insert_mut(parent.clone(), children);
        self.spawned += 1;
    }

    /// Returns the places of the tasks that an agent has spawned, in the order of addition.
    pub(crate) fn children(&self, agent: &AgentId) -> impl Iterator<Item = usize> {
        self.children
            .get(agent)
            .into_iter()
            .flat_map(SharedSet::keys)
            .copied()
    }

    /// Returns how many tasks agents have spawned.
    pub(crate) fn spawned(&self) -> usize {
        self.spawned
    }

    /// Returns the places of the tasks in a list, by priority where it counts, then in the order of
    /// addition.
    pub(crate) fn places(&self, list: List) -> impl Iterator<Item = usize> {
        let entries = self
            .lists
            .get(list as usize)
            .into_iter()
            .flat_map(SharedSet::keys);
        entries.map(|(_, place)| *place)
    }

    /// Changes which lists a task is in.
    pub(crate) fn set(&mut self, place: usize, priority: i64, lists: Memberships) {
        let before = self.memberships.get(&place).copied().unwrap_or_default();
        if before == lists {
            return;
        }
        for (list, entries) in LISTS.into_iter().zip(&mut self.lists) {
            let entry = (
                Reverse(if list.counts_priority() { priority } else { 0 }),
                place,
            );
            match (before.has(list), lists.has(list)) {
                (false, true) => entries.insert_mut(entry, ()),
                (true, false) => drop(entries.remove_mut(&entry)),
                _ => {}
            }
        }
        if lists == Memberships::default() {
            self.memberships.remove_mut(&place);
        } else {
            self.memberships.insert_mut(place, lists);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_the_order_of_their_declaration() {
        assert!(
            LISTS
                .iter()
                .enumerate()
                .all(|(at, list)| *list as usize == at)
        );
    }
}
