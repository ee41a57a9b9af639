//! A map from the ids of a run's tasks, whose copies share what they have in common.
//!
//! It is found where an id belongs by a hash of its text: to compare numbers costs much less than
//! to compare texts, a dozen of which are between the root of a map of a thousand tasks and an
//! entry. Entries are never removed, so ids whose hashes are equal can use the numbers that follow.

use std::fmt;

use crate::collections::shared_map::SharedMap;
use crate::ids::TaskId;

/// The basis and the prime of the 64-bit FNV-1a hash (draft-eastlake-fnv).
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A map from ids, in no order that means anything.
#[derive(Clone)]
pub(crate) struct IdMap<V> {
    entries: SharedMap<u64, (TaskId, V)>,
}

impl<V> Default for IdMap<V> {
    fn default() -> Self {
        Self {
            entries: SharedMap::default(),
        }
    }
}

impl<V> IdMap<V> {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value of an id.
    pub(crate) fn get(&self, id: &TaskId) -> Option<&V> {
        self.get_key_value(id).map(|(_, value)| value)
    }

    /// Returns the entry of an id.
    pub(crate) fn get_key_value(&self, id: &TaskId) -> Option<(&TaskId, &V)> {
        self.find_from(hash(id), id)
            .map(|(_, (id, value))| (id, value))
    }

    /// Reports whether there is an entry of an id.
    pub(crate) fn contains_key(&self, id: &TaskId) -> bool {
        self.get(id).is_some()
    }

    /// Returns all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TaskId, &V)> {
        self.entries.values().map(|(id, value)| (id, value))
    }

    /// Returns all ids.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &TaskId> {
        self.iter().map(|(id, _)| id)
    }

    /// Returns the entry of an id, with the number under which it is stored: the first from its
    /// hash on that no other id has.
    fn find_from(&self, hash: u64, id: &TaskId) -> Option<(u64, &(TaskId, V))> {
        let mut slot = hash;
        loop {
            let entry = self.entries.get(&slot)?;
            if entry.0 == *id {
                return Some((slot, entry));
            }
            slot = slot.wrapping_add(1);
        }
    }
}

impl<V: Clone> IdMap<V> {
    /// Returns the value of an id for a change.
    pub(crate) fn get_mut(&mut self, id: &TaskId) -> Option<&mut V> {
        let (slot, _) = self.find_from(hash(id), id)?;
        self.entries.get_mut(&slot).map(|(_, value)| value)
    }

    /// Sets the value of an id.
    pub(crate) fn insert(&mut self, id: TaskId, value: V) {
        self.insert_from(hash(&id), id, value);
    }

    /// Changes the value of an id, which is the default if there was none.
    pub(crate) fn update(&mut self, id: &TaskId, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        if let Some(value) = self.get_mut(id) {
            return change(value);
        }
        let mut value = V::default();
        change(&mut value);
        self.insert(id.clone(), value);
    }

    fn insert_from(&mut self, hash: u64, id: TaskId, value: V) {
        let mut slot = hash;
        while self
            .entries
            .get(&slot)
            .is_some_and(|(other, _)| *other != id)
        {
            slot = slot.wrapping_add(1);
        }
        self.entries.insert(slot, (id, value));
    }
}

fn hash(id: &TaskId) -> u64 {
    id.as_str().bytes().fold(BASIS, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

impl<V: PartialEq> PartialEq for IdMap<V> {
    /// Compares the entries; where ids with equal hashes are stored depends on the order of
    /// insertion.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(id, value)| other.get(id) == Some(value))
    }
}

impl<V: Eq> Eq for IdMap<V> {}

impl<V: fmt::Debug> fmt::Debug for IdMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // Vectors of draft-eastlake-fnv.
        assert_eq!(hash(&"".into()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(&"a".into()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(&"foobar".into()), 0x8594_4171_f739_67e8);
    }

    proptest! {
        #[test]
        fn it_is_a_map(changes in prop::collection::vec((any::<bool>(), 0..60_u32, any::<u16>()), 0..200)) {
            let (mut map, mut model) = (IdMap::default(), BTreeMap::new());
            for (updates, number, value) in changes {
                let id = TaskId::new(format!("T{number}"));
                if updates {
                    map.update(&id, |old: &mut u32| *old += 1);
                    *model.entry(id.clone()).or_insert(0) += 1;
                } else {
                    map.insert(id.clone(), u32::from(value));
                    model.insert(id.clone(), u32::from(value));
                }
                prop_assert_eq!(map.get_mut(&id), model.get_mut(&id));
                prop_assert_eq!(map.len(), model.len());
            }
            prop_assert_eq!(map.iter().collect::<BTreeMap<_, _>>(), model.iter().collect());
            prop_assert!(!map.contains_key(&"other".into()));
        }

        /// Ids whose hashes are equal, or follow each other, are kept apart, in whatever order they
        /// come.
        #[test]
        fn equal_hashes_are_no_equal_ids(ids in prop::collection::btree_set(0..40_u32, 1..30), few in 1..4_u64) {
            let id = |number: &u32| TaskId::new(format!("T{number}"));
            let hash = |number: &u32| u64::MAX - u64::from(*number) % few;
            let (mut forward, mut backward) = (IdMap::default(), IdMap::default());
            ids.iter().for_each(|number| forward.insert_from(hash(number), id(number), *number));
            ids.iter().rev().for_each(|number| backward.insert_from(hash(number), id(number), *number));
            for number in 0..40 {
                let expected = ids.get(&number);
                for map in [&forward, &backward] {
                    let found = map.find_from(hash(&number), &id(&number)).map(|(_, (_, value))| value);
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
