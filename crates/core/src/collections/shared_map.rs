//! Maps whose copies share what they have in common.
//!
//! Each recorded fact makes a new state of the run, and readers keep old ones. So what grows with
//! the tasks of a run is in such maps: a change of a copy copies the nodes from the root to one
//! leaf.

use std::hash::{BuildHasherDefault, DefaultHasher};

use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use crate::ids::TaskId;

/// An ordered map.
pub(crate) type SharedMap<K, V> = RedBlackTreeMapSync<K, V>;

/// An ordered set.
pub(crate) type SharedSet<K> = SharedMap<K, ()>;

/// A map from the ids of a run's tasks, in no order that means anything. To compare hashes costs
/// much less than to compare the texts that are between the root of an ordered map and an entry.
pub(crate) type IdMap<V> = HashTrieMapSync<TaskId, V, BuildHasherDefault<DefaultHasher>>;

/// Changes the value of a key, which is the default if there was none.
pub(crate) fn update<K: Ord + Clone, V: Clone + Default>(
    map: &mut SharedMap<K, V>,
    key: K,
    change: impl FnOnce(&mut V),
) {
    let mut value = map.get(&key).cloned().unwrap_or_default();
    change(&mut value);
    map.insert_mut(key, value);
}
