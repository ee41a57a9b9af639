//! Tests of the tools that there are, and under which names they are found.

pub(crate) mod aliases;
pub(crate) mod documents;
pub(crate) mod plugins;
pub(crate) mod registry;
pub(crate) mod wrapped;
