//! Draws the tree of a run's agents: each one below the agent that spawned it.

use std::collections::{BTreeMap, BTreeSet};

use orchestrate_core::{AgentId, Blocker, Liveness};

use crate::show::columns;
use crate::show::output::{joined, one_line};

/// The minimum width of an id below many others, which is enough to type it.
const MIN_ID_WIDTH: usize = 12;

/// How the branches of a tree are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branches {
    /// With the lines of a terminal that shows UTF-8.
    Lines,
    /// With two blanks for each level.
    Blanks,
}

/// An item of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a, T> {
    /// The agent.
    pub(crate) id: &'a AgentId,
    /// The agent that spawned it.
    pub(crate) parent: Option<&'a AgentId>,
    /// What is shown of it.
    pub(crate) item: T,
}

/// An item in its place: the branches before it, which are empty at the top, and the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row<T> {
    pub(crate) branches: String,
    pub(crate) item: T,
}

/// Returns the items with each parent above its children, and otherwise in the given order. An item
/// whose parent is not among them is at the top.
pub(crate) fn rows<T: Copy>(nodes: &[Node<'_, T>], branches: Branches) -> Vec<Row<T>> {
    let known: BTreeSet<&AgentId> = nodes.iter().map(|node| node.id).collect();
    let mut below: BTreeMap<Option<&AgentId>, Vec<&Node<'_, T>>> = BTreeMap::new();
    for node in nodes {
        let parent = node.parent.filter(|parent| known.contains(parent));
        below.entry(parent).or_default().push(node);
    }
    let mut rows = Vec::with_capacity(nodes.len());
    let top = below.remove(&None).unwrap_or_default();
    // Each with the branches before it, and those before its children.
    let top = top.into_iter().rev();
    let mut open: Vec<_> = top
        .map(|node| (node, String::new(), String::new()))
        .collect();
    while let Some((node, before, before_children)) = open.pop() {
        rows.push(Row {
            branches: before,
            item: node.item,
        });
        let children = below.remove(&Some(node.id)).unwrap_or_default();
        for (at, child) in children.iter().enumerate().rev() {
            let [own, further] = branches.for_item(at + 1 == children.len());
            let own = format!("{before_children}{own}");
            open.push((child, own, format!("{before_children}{further}")));
        }
    }
    rows
}

/// Reports whether there is a child among the rows.
pub(crate) fn has_children<T>(rows: &[Row<T>]) -> bool {
    rows.iter().any(|row| !row.branches.is_empty())
}

impl Branches {
    /// Returns the branch before an item, and the one before what is below it.
    fn for_item(self, is_last: bool) -> [&'static str; 2] {
        match (self, is_last) {
            (Self::Lines, false) => ["├─ ", "│  "],
            (Self::Lines, true) => ["└─ ", "   "],
            (Self::Blanks, _) => ["  ", "  "],
        }
    }
}

/// Returns an id behind its branches in `room` columns. Of very long branches, only the end is
/// shown.
pub(crate) fn label(branches: &str, id: &str, room: usize) -> String {
    let cut = columns::width(branches).saturating_sub(room.saturating_sub(MIN_ID_WIDTH));
    let branches = match cut {
        0 => branches.to_owned(),
        cut => format!("…{}", branches.chars().skip(cut + 1).collect::<String>()),
    };
    let room = room.saturating_sub(columns::width(&branches));
    format!("{branches}{}", fitted(id, room))
}

/// Cuts a text to the given number of columns.
pub(crate) fn fitted(text: &str, room: usize) -> String {
    let text = one_line(text, usize::MAX);
    if columns::width(&text) <= room {
        return text;
    }
    format!("{}…", columns::split(&text, room.saturating_sub(1)).0)
}

/// Returns the word for what an agent is doing, with what it waits for.
pub(crate) fn liveness(liveness: &Liveness) -> String {
    let blocker = match liveness {
        Liveness::Working => return "working".to_owned(),
        Liveness::WaitingHuman => return "waiting-human".to_owned(),
        Liveness::IdleDone => return "idle-done".to_owned(),
        Liveness::Lost => return "lost".to_owned(),
        Liveness::BlockedOn(blocker) => blocker,
    };
    let what = match blocker {
        Blocker::Slot => "slot".to_owned(),
        Blocker::Model => "model".to_owned(),
        Blocker::Budget => "budget".to_owned(),
        Blocker::Merge => "merge".to_owned(),
        Blocker::Dependencies(ids) | Blocker::Agents(ids) | Blocker::Reviewers(ids) => joined(ids),
    };
    format!("blocked-on {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(tree: &[(&str, &str)], branches: Branches) -> Vec<String> {
        let ids: Vec<(AgentId, AgentId)> = tree
            .iter()
            .map(|(id, parent)| ((*id).into(), (*parent).into()))
            .collect();
        let nodes = ids.iter().map(|(id, parent)| Node {
            id,
            parent: Some(parent),
            item: id.as_str(),
        });
        let rows = rows(&nodes.collect::<Vec<_>>(), branches);
        rows.into_iter()
            .map(|row| format!("{}{}", row.branches, row.item))
            .collect()
    }

    #[test]
    fn parents_are_above_their_children() {
        let tree = [
            ("T1", "-"),
            ("T2", "-"),
            ("a", "T1"),
            ("b", "T1"),
            ("c", "a"),
            ("d", "a"),
            ("e", "T2"),
        ];
        let lines = ["T1", "├─ a", "│  ├─ c", "│  └─ d", "└─ b", "T2", "└─ e"];
        assert_eq!(drawn(&tree, Branches::Lines), lines);
        let blanks = ["T1", "  a", "    c", "    d", "  b", "T2", "  e"];
        assert_eq!(drawn(&tree, Branches::Blanks), blanks);
        assert_eq!(
            drawn(&[("T2", "-"), ("T1", "-")], Branches::Lines),
            ["T2", "T1"]
        );
    }

    #[test]
    fn an_id_keeps_its_place_below_many_others() {
        let table = [
            ("", "T1", "T1"),
            ("│  └─ ", "write_two", "│  └─ write_two"),
            ("│  └─ ", "write_the_whole_of_it", "│  └─ write_the_w…"),
            ("", "日本語日本語日本語日", "日本語日本語日本…"),
            ("│  │  │  └─ ", "write_two_of_them", "…  └─ write_two_o…"),
        ];
        for (branches, id, expected) in table {
            let label = label(branches, id, 18);
            assert_eq!(
                (label.as_str(), columns::width(&label) <= 18),
                (expected, true)
            );
        }
    }
}
