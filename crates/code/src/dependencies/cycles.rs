//! The circles of a graph, without recursion.

use std::collections::{HashMap, HashSet, VecDeque};

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::{DiGraphMap, NodeTrait};

use crate::error::CodeError;
use crate::source::{Stop, go_on};

/// Maximum number of nodes of a group from each of which a shortest circle is looked for.
const MAX_STARTS: usize = 200;

/// Nodes that reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component<N> {
    /// All of them, in order.
    pub(super) members: Vec<N>,
    /// A shortest circle: in groups of up to `MAX_STARTS` nodes of all, in others of those through
    /// the first nodes.
    pub(super) shortest: Vec<N>,
}

/// Returns the groups of nodes that reach each other, ordered by their first nodes. A node without
/// any circle is in none.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn components<N: NodeTrait>(
    graph: &DiGraphMap<N, ()>,
    stop: Stop<'_>,
) -> Result<Vec<Component<N>>, CodeError> {
    let mut components = Vec::new();
    for mut members in kosaraju_scc(graph) {
        members.sort_unstable();
        let shortest = shortest(graph, &members, stop)?;
        if !shortest.is_empty() {
            components.push(Component { members, shortest });
        }
    }
    components.sort_unstable_by(|left, right| left.members.cmp(&right.members));
    Ok(components)
}

/// Returns the first of the shortest circles of a group; nothing if a node alone does not lead to
/// itself.
fn shortest<N: NodeTrait>(
    graph: &DiGraphMap<N, ()>,
    members: &[N],
    stop: Stop<'_>,
) -> Result<Vec<N>, CodeError> {
    let group: HashSet<N> = members.iter().copied().collect();
    let mut best = Vec::new();
    for start in members.iter().take(MAX_STARTS) {
        go_on(stop)?;
        let found = circle(graph, &group, *start);
        if !found.is_empty() && (best.is_empty() || found.len() < best.len()) {
            best = found;
        }
        // None is shorter than two nodes, except that of one, which is its own first.
        if best.len() == 1 || (best.len() == 2 && members.len() > MAX_STARTS) {
            break;
        }
    }
    Ok(best)
}

/// Returns a shortest circle through a node of a group.
fn circle<N: NodeTrait>(graph: &DiGraphMap<N, ()>, group: &HashSet<N>, start: N) -> Vec<N> {
    let mut before = HashMap::new();
    let mut pending = VecDeque::from([start]);
    while let Some(node) = pending.pop_front() {
        for next in graph.neighbors(node) {
            if next == start {
                let mut circle = vec![node];
                let mut last = node;
                while let Some(above) = before.get(&last) {
                    circle.push(*above);
                    last = *above;
                }
                circle.reverse();
                return circle;
            }
            if group.contains(&next) && !before.contains_key(&next) {
                before.insert(next, node);
                pending.push_back(next);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

    fn graph(edges: &[Vec<usize>]) -> DiGraphMap<usize, ()> {
        let nodes = edges.iter().enumerate();
        nodes
            .flat_map(|(from, targets)| targets.iter().map(move |to| (from, *to)))
            .collect()
    }

    fn found(edges: &[Vec<usize>]) -> Vec<Component<usize>> {
        components(&graph(edges), NEVER).unwrap()
    }

    /// Returns which nodes each node reaches, by adding edges until nothing changes.
    fn reached(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let size = edges.len();
        let mut reach = vec![vec![false; size]; size];
        for (from, targets) in edges.iter().enumerate() {
            for to in targets.iter() {
                reach[from][*to] = true;
            }
        }
        for middle in 0..size {
            for from in 0..size {
                for to in 0..size {
                    reach[from][to] |= reach[from][middle] && reach[middle][to];
                }
            }
        }
        reach
    }

    /// Returns the length of the shortest circle through a node, by trying all lengths.
    fn length(edges: &[Vec<usize>], start: usize) -> Option<usize> {
        let mut here = vec![false; edges.len()];
        here[start] = true;
        for length in 1..=edges.len() {
            let mut next = vec![false; edges.len()];
            for from in (0..edges.len()).filter(|node| here[*node]) {
                for to in edges[from].iter() {
                    next[*to] = true;
                }
            }
            if next[start] {
                return Some(length);
            }
            here = next;
        }
        None
    }

    proptest! {
        #[test]
        fn circles_are_those_of_a_naive_search(
            edges in (1..12_usize).prop_flat_map(|size| {
                prop::collection::vec(prop::collection::vec(0..size, 0..4), size)
            })
        ) {
            let (components, reach) = (found(&edges), reached(&edges));
            let mut expected: Vec<Vec<usize>> = Vec::new();
            for node in (0..edges.len()).filter(|node| reach[*node][*node]) {
                let is_of_group = |other: &usize| reach[node][*other] && reach[*other][node];
                let group = (0..edges.len()).filter(is_of_group).collect();
                if !expected.contains(&group) {
                    expected.push(group);
                }
            }
            let members: Vec<Vec<usize>> =
                components.iter().map(|component| component.members.clone()).collect();
            prop_assert_eq!(members, expected);
            for Component { members, shortest } in &components {
                let next = shortest.iter().cycle().skip(1);
                prop_assert!(shortest.iter().zip(next).all(|(from, to)| edges[*from].contains(to)));
                let least = members.iter().filter_map(|node| length(&edges, *node)).min();
                prop_assert_eq!(Some(shortest.len()), least);
            }
        }
    }

    #[test]
    fn long_chains_and_rings_take_no_stack_and_little_time() {
        const SIZE: usize = 10_000;
        let chain: Vec<Vec<usize>> = (0..SIZE)
            .map(|node| {
                if node + 1 < SIZE {
                    vec![node + 1]
                } else {
                    vec![]
                }
            })
            .collect();
        assert_eq!(found(&chain), []);
        let ring: Vec<Vec<usize>> = (0..SIZE).map(|node| vec![(node + 1) % SIZE]).collect();
        let components = found(&ring);
        assert_eq!(
            (
                components.len(),
                components[0].members.len(),
                components[0].shortest.len()
            ),
            (1, SIZE, SIZE)
        );
        assert_eq!(
            super::components(&graph(&ring), &|| true),
            Err(CodeError::Stopped)
        );
    }

    #[test]
    fn a_node_that_leads_to_itself_is_a_circle() {
        assert_eq!(
            found(&[vec![0], vec![0]]),
            [Component {
                members: vec![0],
                shortest: vec![0]
            }]
        );
    }
}
