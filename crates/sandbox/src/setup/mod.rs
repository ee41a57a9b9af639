//! Prepares what a job starts in: its view, its control group, and the start of its supervisor in
//! each tier.

pub(crate) mod bubblewrap;
pub(crate) mod cgroups;
pub(crate) mod fallback;
pub(crate) mod launch;
pub(crate) mod view;
