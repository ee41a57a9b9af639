//! The values that the tools of one run share, one of each type.
//!
//! They are kept in memory only: a run that is taken over begins without them, so a tool must be
//! able to make its value again. What has to survive belongs into the worktree or into the result
//! of a call, which are recorded.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The values that the tools of one run share. Clones are the same values.
#[derive(Clone, Default)]
pub struct SharedValues {
    values: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl SharedValues {
    /// Returns the run's value of this type, which is its default at first.
    pub fn value<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let fresh = || Arc::new(T::default()) as Arc<dyn Any + Send + Sync>;
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = Arc::clone(values.entry(TypeId::of::<T>()).or_insert_with(fresh));
        drop(values);
        // The type is the key, so the cast succeeds.
        value.downcast().unwrap_or_default()
    }
}
