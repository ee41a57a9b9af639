//! The circles of a graph, without recursion.

use std::collections::VecDeque;

use crate::error::CodeError;
use crate::source::Stop;

/// Maximum number of nodes of a group from each of which a shortest circle is looked for.
const MAX_STARTS: usize = 200;
/// After so many nodes, a search asks whether to stop.
const NODES_BETWEEN_STOPS: usize = 1_024;

/// Nodes that reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    /// All of them, in order.
    pub(super) members: Vec<usize>,
    /// A shortest circle: in groups of up to `MAX_STARTS` nodes of all, in others of those through
    /// the first nodes.
    pub(super) shortest: Vec<usize>,
}

/// Returns the groups of nodes that reach each other, ordered by their first nodes. A node without
/// any circle is in none.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn components(
    edges: &[Vec<usize>],
    stop: Stop<'_>,
) -> Result<Vec<Component>, CodeError> {
    let groups = Tarjan::new(edges).groups(stop)?;
    let mut group_of = vec![usize::MAX; edges.len()];
    for (group, number) in groups.iter().zip(0..) {
        for node in group {
            if let Some(slot) = group_of.get_mut(*node) {
                *slot = number;
            }
        }
    }
    let search = Search { edges, group_of };
    let mut components = Vec::new();
    for mut members in groups {
        members.sort_unstable();
        let shortest = search.shortest(&members, stop)?;
        if !shortest.is_empty() {
            components.push(Component { members, shortest });
        }
    }
    components.sort_unstable_by(|left, right| left.members.cmp(&right.members));
    Ok(components)
}

/// The algorithm of Tarjan ("Depth-first search and linear graph algorithms", 1972), with a stack
/// of its own.
struct Tarjan<'e> {
    edges: &'e [Vec<usize>],
    /// The number in the order of discovery, from 1; 0 for a node that is not discovered.
    discovered: Vec<usize>,
    /// The lowest number that a node reaches in its group.
    lowest: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    count: usize,
}

impl<'e> Tarjan<'e> {
    fn new(edges: &'e [Vec<usize>]) -> Tarjan<'e> {
        let size = edges.len();
        Tarjan {
            edges,
            discovered: vec![0; size],
            lowest: vec![0; size],
            is_open: vec![false; size],
            open: Vec::new(),
            count: 0,
        }
    }

    fn groups(mut self, stop: Stop<'_>) -> Result<Vec<Vec<usize>>, CodeError> {
        let mut groups = Vec::new();
        for root in 0..self.edges.len() {
            if self.discovered.get(root) != Some(&0) {
                continue;
            }
            // Each node of the path from the root, with the number of its edges that have been
            // followed.
            let mut path = vec![(root, 0_usize)];
            self.discover(root);
            while let Some((node, followed)) = path.last_mut() {
                let node = *node;
                let next = self
                    .edges
                    .get(node)
                    .and_then(|edges| edges.get(*followed))
                    .copied();
                *followed += 1;
                match next {
                    Some(next) if self.discovered.get(next) == Some(&0) => {
                        if self.count.is_multiple_of(NODES_BETWEEN_STOPS) && stop() {
                            return Err(CodeError::Stopped);
                        }
                        self.discover(next);
                        path.push((next, 0));
                    }
                    Some(next) if self.is_open.get(next) == Some(&true) => {
                        self.lower(node, at(&self.discovered, next));
                    }
                    Some(_) => {}
                    None => {
                        path.pop();
                        if let Some((above, _)) = path.last() {
                            self.lower(*above, at(&self.lowest, node));
                        }
                        if at(&self.lowest, node) == at(&self.discovered, node) {
                            groups.push(self.close(node));
                        }
                    }
                }
            }
        }
        Ok(groups)
    }

    fn discover(&mut self, node: usize) {
        self.count += 1;
        set(&mut self.discovered, node, self.count);
        set(&mut self.lowest, node, self.count);
        set(&mut self.is_open, node, true);
        self.open.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(lowest) = self.lowest.get_mut(node) {
            *lowest = to.min(*lowest);
        }
    }

    fn close(&mut self, root: usize) -> Vec<usize> {
        let mut group = Vec::new();
        while let Some(node) = self.open.pop() {
            set(&mut self.is_open, node, false);
            group.push(node);
            if node == root {
                break;
            }
        }
        group
    }
}

fn at(values: &[usize], node: usize) -> usize {
    values.get(node).copied().unwrap_or_default()
}

fn set<T>(values: &mut [T], node: usize, value: T) {
    if let Some(slot) = values.get_mut(node) {
        *slot = value;
    }
}

struct Search<'e> {
    edges: &'e [Vec<usize>],
    group_of: Vec<usize>,
}

impl Search<'_> {
    /// Returns the first of the shortest circles of a group; nothing if a node alone does not lead
    /// to itself.
    fn shortest(&self, members: &[usize], stop: Stop<'_>) -> Result<Vec<usize>, CodeError> {
        let mut best: Vec<usize> = Vec::new();
        for start in members.iter().take(MAX_STARTS) {
            if stop() {
                return Err(CodeError::Stopped);
            }
            let found = self.circle(*start);
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

    /// Returns a shortest circle through a node.
    fn circle(&self, start: usize) -> Vec<usize> {
        let group = at(&self.group_of, start);
        let mut before = std::collections::HashMap::new();
        let mut pending = VecDeque::from([start]);
        while let Some(node) = pending.pop_front() {
            for next in self.edges.get(node).map(Vec::as_slice).unwrap_or_default() {
                if *next == start {
                    let mut circle = vec![node];
                    let mut last = node;
                    while let Some(above) = before.get(&last).filter(|_| last != start) {
                        circle.push(*above);
                        last = *above;
                    }
                    circle.reverse();
                    return circle;
                }
                if at(&self.group_of, *next) == group && !before.contains_key(next) {
                    before.insert(*next, node);
                    pending.push_back(*next);
                }
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

    fn found(edges: &[Vec<usize>]) -> Vec<Component> {
        components(edges, NEVER).unwrap()
    }

    /// Returns which nodes each node reaches, by adding edges until nothing changes.
    fn reached(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let size = edges.len();
        let mut reach = vec![vec![false; size]; size];
        for (from, targets) in edges.iter().enumerate() {
            targets.iter().for_each(|to| reach[from][*to] = true);
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
                edges[from].iter().for_each(|to| next[*to] = true);
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
                let group = (0..edges.len()).filter(|other| reach[node][*other] && reach[*other][node]).collect();
                if !expected.contains(&group) {
                    expected.push(group);
                }
            }
            let members: Vec<Vec<usize>> = components.iter().map(|component| component.members.clone()).collect();
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
        assert_eq!(super::components(&ring, &|| true), Err(CodeError::Stopped));
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
