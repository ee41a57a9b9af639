//! Prepares what a job starts in: its view, its room, its control group, and the start of its
//! supervisor in each tier.

pub(crate) mod bubblewrap;
pub(crate) mod cgroups;
pub(crate) mod fallback;
pub(crate) mod launch;
pub(crate) mod room;
pub(crate) mod start_helper;
pub(crate) mod view;
