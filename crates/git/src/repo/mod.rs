//! The repository as a whole: opening and probing it, the git program, configuration, locks and
//! refs.

pub(crate) mod configuration;
pub(crate) mod create;
pub(crate) mod full_disk;
pub(crate) mod gc;
pub(crate) mod glance;
pub(crate) mod lock;
pub(crate) mod lock_holder;
pub(crate) mod probe;
pub(crate) mod program;
pub(crate) mod read_only;
pub(crate) mod refs;
pub(crate) mod repository;
pub(crate) mod retry;
pub(crate) mod scratch_repo;
pub(crate) mod secrets;
pub(crate) mod submodules;
pub(crate) mod unreadable_config;
