//! The git program: finding and starting it, the configuration that it sees, the scratch repository
//! in which it runs, and what waits for other processes of git.

pub(crate) mod configuration;
pub(crate) mod full_disk;
pub(crate) mod lock;
pub(crate) mod lock_holder;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod scratch_repo;
pub(crate) mod unreadable_config;
