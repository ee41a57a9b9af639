//! The cases of the harness, what they need, and how long they take.

pub(super) mod case;
pub(crate) mod durations;
pub(super) mod trials;
