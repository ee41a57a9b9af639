//! Runs jobs in a sandbox: finds the tier that works, completes each job, and drives it to its end.

pub(crate) mod caches;
pub(crate) mod capture;
pub(crate) mod drive;
pub(crate) mod packages;
pub(crate) mod probe;
pub(crate) mod sandbox;
