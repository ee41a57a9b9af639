//! The calls that the filter of the fallback tier hands to the supervisor, and how it carries each
//! out.

pub(crate) mod attributes;
pub(crate) mod caller;
pub(crate) mod handed_over;
pub(crate) mod listening;
pub(crate) mod shared_memory;
pub(crate) mod sockets;
