//! A mutex whose value stays usable after a panic.

use std::sync::{MutexGuard, PoisonError};

/// A mutex that ignores poisoning: whoever holds one here never leaves its value half changed, and
/// a panic of one task must not end the others.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex with its value.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Waits for the value and returns it; dropping the guard releases it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of a mutex that nobody else can lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
