//! What agents' tools cost, and the services below them.

pub(crate) mod calls;
pub(crate) mod code;
pub(crate) mod commands;
pub(crate) mod maps;
mod plays;
pub(crate) mod proxy;
pub(crate) mod shared;
pub(crate) mod warm;
pub(crate) mod web;
