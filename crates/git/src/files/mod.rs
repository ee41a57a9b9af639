//! Files below an open directory: reading and writing them, what git records of them, and which of
//! them it ignores. No program is run.

pub(crate) mod bounds;
pub(crate) mod glob;
pub(crate) mod ignore;
pub(crate) mod index_entry;
pub(crate) mod openat;
