//! What a run needs of the machine and of the environment, found out before it starts.

pub(crate) mod doctor;
pub(crate) mod from_environment;
pub(crate) mod preflight;
pub(crate) mod programs;
pub(crate) mod seen_programs;
pub(crate) mod web_search;
