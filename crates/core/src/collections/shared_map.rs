//! An ordered map whose copies share what they have in common.
//!
//! Each recorded fact makes a new state of the run, and readers keep old ones. So what grows with
//! the tasks of a run is in such maps. A copy shares everything with its original; a change of it
//! copies the nodes from the root to one leaf. It is a B-tree without merging: a node goes once it
//! is empty.

use std::borrow::Borrow;
use std::sync::Arc;
use std::{fmt, slice};

/// The maximum number of entries of a node: few, since a change copies a node on each level.
const MAX_ENTRIES: usize = 16;

/// An ordered map.
#[derive(Clone)]
pub(crate) struct SharedMap<K, V> {
    root: Arc<Node<K, V>>,
    len: usize,
}

/// An ordered set.
pub(crate) type SharedSet<K> = SharedMap<K, ()>;

/// No node is empty but the root of an empty map, keys ascend, and all leaves are on the same
/// level.
#[derive(Clone)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    /// Each child with its last key.
    Inner(Vec<Child<K, V>>),
}

type Child<K, V> = (K, Arc<Node<K, V>>);

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self {
            root: Arc::new(Node::Leaf(Vec::new())),
            len: 0,
        }
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// Returns the entry of a key.
    pub(crate) fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let mut node = self.root.as_ref();
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries
                        .binary_search_by(|(entry, _)| entry.borrow().cmp(key))
                        .ok()?;
                    return entries.get(at).map(|(key, value)| (key, value));
                }
                Node::Inner(children) => {
                    let at = children.partition_point(|(last, _)| last.borrow() < key);
                    node = &children.get(at)?.1;
                }
            }
        }
    }

    /// Reports whether there is an entry of a key.
    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).is_some()
    }

    /// Returns the entries from a key on, by ascending key.
    pub(crate) fn iter_from<Q: Ord + ?Sized>(&self, key: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut open = Vec::new();
        let mut node = self.root.as_ref();
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.partition_point(|(entry, _)| entry.borrow() < key);
                    return Iter {
                        open,
                        // Never missing: the point is at most the length, also below.
                        leaf: entries.get(at..).unwrap_or_default().iter(),
                    };
                }
                Node::Inner(children) => {
                    let at = children.partition_point(|(last, _)| last.borrow() < key);
                    let mut from = children.get(at..).unwrap_or_default().iter();
                    let Some((_, child)) = from.next() else {
                        return Iter {
                            open,
                            leaf: [].iter(),
                        };
                    };
                    open.push(from);
                    node = child;
                }
            }
        }
    }

    /// Returns all keys, ascending.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns all values, by ascending key.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K, V> SharedMap<K, V> {
    /// Returns all entries, by ascending key.
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter {
            open: Vec::new(),
            leaf: [].iter(),
        };
        iter.enter(&self.root);
        iter
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Returns the value of a key for a change.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        // Nothing is copied for a key that is not there.
        if self.contains_key(key) {
            Arc::make_mut(&mut self.root).get_mut(key)
        } else {
            None
        }
    }

    /// Changes the value of a key, which is the default if there was none.
    pub(crate) fn update(&mut self, key: K, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        if let Some(value) = self.get_mut(&key) {
            return change(value);
        }
        let mut value = V::default();
        change(&mut value);
        self.insert(key, value);
    }

    /// Sets the value of a key, and returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (previous, split) = Arc::make_mut(&mut self.root).insert(key, value);
        if let Some(right) = split {
            let halves = [Arc::clone(&self.root), Arc::new(right)];
            self.root = Arc::new(Node::Inner(
                halves.into_iter().filter_map(Node::with_last).collect(),
            ));
        }
        self.len += usize::from(previous.is_none());
        previous
    }

    /// Removes the entry of a key, and returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let removed = Arc::make_mut(&mut self.root).remove(key);
        self.len -= usize::from(removed.is_some());
        if self.len == 0 {
            *self = Self::default();
        }
        removed
    }
}

impl<K: Ord + Clone> FromIterator<K> for SharedSet<K> {
    fn from_iter<T: IntoIterator<Item = K>>(keys: T) -> Self {
        let mut set = Self::default();
        for key in keys {
            set.insert(key, ());
        }
        set
    }
}

impl<K: Ord + Clone, V: Clone> Node<K, V> {
    fn last(&self) -> Option<&K> {
        match self {
            Node::Leaf(entries) => entries.last().map(|(key, _)| key),
            Node::Inner(children) => children.last().map(|(key, _)| key),
        }
    }

    fn with_last(node: Arc<Self>) -> Option<Child<K, V>> {
        Some((node.last()?.clone(), node))
    }

    fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match self {
            Node::Leaf(entries) => {
                let at = entries
                    .binary_search_by(|(entry, _)| entry.borrow().cmp(key))
                    .ok()?;
                entries.get_mut(at).map(|(_, value)| value)
            }
            Node::Inner(children) => {
                let at = children.partition_point(|(last, _)| last.borrow() < key);
                Arc::make_mut(&mut children.get_mut(at)?.1).get_mut(key)
            }
        }
    }

    /// Sets the value of a key. Returns the previous one, and the second half of a node that has
    /// become too large.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<Self>) {
        match self {
            Node::Leaf(entries) => match entries.binary_search_by(|(entry, _)| entry.cmp(&key)) {
                Ok(at) => (
                    entries
                        .get_mut(at)
                        .map(|(_, slot)| std::mem::replace(slot, value)),
                    None,
                ),
                Err(at) => {
                    entries.insert(at, (key, value));
                    (None, halved(entries, at).map(Node::Leaf))
                }
            },
            Node::Inner(children) => {
                let at = children
                    .partition_point(|(last, _)| *last < key)
                    .min(children.len().saturating_sub(1));
                let Some((last, child)) = children.get_mut(at) else {
                    return (None, None);
                };
                let (previous, split) = Arc::make_mut(child).insert(key, value);
                if let Some(now) = child.last() {
                    last.clone_from(now);
                }
                let Some(right) = split.map(Arc::new).and_then(Self::with_last) else {
                    return (previous, None);
                };
                children.insert(at + 1, right);
                (previous, halved(children, at + 1).map(Node::Inner))
            }
        }
    }

    fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self {
            Node::Leaf(entries) => {
                let at = entries
                    .binary_search_by(|(entry, _)| entry.borrow().cmp(key))
                    .ok()?;
                Some(entries.remove(at).1)
            }
            Node::Inner(children) => {
                let at = children.partition_point(|(last, _)| last.borrow() < key);
                let (last, child) = children.get_mut(at)?;
                let removed = Arc::make_mut(child).remove(key);
                match child.last() {
                    Some(now) => last.clone_from(now),
                    None => drop(children.remove(at)),
                }
                removed
            }
        }
    }
}

/// Removes the second half of a node that has become too large by an insertion. A map that only
/// grows at its end gets full nodes.
fn halved<T>(entries: &mut Vec<T>, inserted: usize) -> Option<Vec<T>> {
    let kept = if inserted == MAX_ENTRIES {
        MAX_ENTRIES
    } else {
        MAX_ENTRIES / 2
    };
    (entries.len() > MAX_ENTRIES).then(|| entries.split_off(kept))
}

/// Entries by ascending key.
pub(crate) struct Iter<'a, K, V> {
    /// The children on each level that are still to come.
    open: Vec<slice::Iter<'a, Child<K, V>>>,
    leaf: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    fn enter(&mut self, node: &'a Node<K, V>) {
        match node {
            Node::Leaf(entries) => self.leaf = entries.iter(),
            Node::Inner(children) => self.open.push(children.iter()),
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            match self.open.last_mut()?.next() {
                Some((_, child)) => self.enter(child),
                None => drop(self.open.pop()),
            }
        }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    /// Compares the entries; how they are divided into nodes depends on the order of the changes.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Requires that a node is as documented, and returns its height.
    fn height<K: Ord + Clone + fmt::Debug, V: Clone>(node: &Node<K, V>) -> usize {
        match node {
            Node::Leaf(entries) => {
                assert!(entries.len() <= MAX_ENTRIES);
                0
            }
            Node::Inner(children) => {
                assert!((1..=MAX_ENTRIES).contains(&children.len()));
                assert!(
                    children
                        .iter()
                        .all(|(last, child)| child.last() == Some(last))
                );
                let heights: Vec<usize> = children.iter().map(|(_, child)| height(child)).collect();
                assert!(
                    heights.iter().all(|height| *height == heights[0]),
                    "{heights:?}"
                );
                heights[0] + 1
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_an_ordered_map(changes in prop::collection::vec((0..3_u8, 0..400_u16, any::<u16>()), 0..1_500)) {
            let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for (number, (kind, key, value)) in changes.into_iter().enumerate() {
                if number % 100 == 0 {
                    copies.push((map.clone(), model.clone()));
                }
                match kind {
                    0 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    1 => {
                        map.update(key, |value| *value += 1);
                        *model.entry(key).or_insert(0) += 1;
                    }
                    _ => prop_assert_eq!(map.insert(key, u32::from(value)), model.insert(key, u32::from(value))),
                }
                prop_assert_eq!(map.get_mut(&(key + 1)), model.get_mut(&(key + 1)));
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter_from(&value).eq(model.range(value..)));
            }
            copies.push((map, model));
            // No change reaches a copy.
            for (map, model) in copies {
                prop_assert!(map.iter().eq(model.iter()) && map.keys().eq(model.keys()), "{:?} {:?}", map, model);
                height(&map.root);
            }
        }
    }

    #[test]
    fn a_change_copies_one_node_on_each_level() {
        fn leaves<K, V>(node: &Arc<Node<K, V>>, found: &mut Vec<*const Node<K, V>>) {
            match node.as_ref() {
                Node::Leaf(_) => found.push(Arc::as_ptr(node)),
                Node::Inner(children) => {
                    children.iter().for_each(|(_, child)| leaves(child, found))
                }
            }
        }
        let mut map: SharedMap<u32, u32> = SharedMap::default();
        (0..1_000).for_each(|key| assert_eq!(map.insert(key, key), None));
        assert_eq!(height(&map.root), 2);
        let copy = map.clone();
        map.insert(500, 0);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        leaves(&map.root, &mut ours);
        leaves(&copy.root, &mut theirs);
        let shared = ours
            .iter()
            .zip(&theirs)
            .filter(|(one, other)| one == other)
            .count();
        assert_eq!(
            (ours.len(), shared),
            (1_000_usize.div_ceil(MAX_ENTRIES), ours.len() - 1)
        );
        assert_eq!((map.get(&500), copy.get(&500)), (Some(&0), Some(&500)));
    }
}
