//! The models that are known: what names mean, which one is chosen, its price and its context
//! window.

pub(crate) mod catalog;
pub(crate) mod choose;
pub(crate) mod prices;
pub(crate) mod vendor;
pub(crate) mod windows;
