//! The version of the format of events.

/// The version of every recorded event.
pub const VERSION: u32 = 1;
