//! Makes requests over HTTP to hosts that agents name, and hides how they are reached.
//!
//! [`WebClient::fetch`] asks about every address before it resolves its host, and about every
//! address that the host is resolved to; it dials exactly those that were admitted, so no second
//! answer of a name server and no redirect leads elsewhere. What a server sends is limited in time,
//! in size, and in the size that it decompresses to. What is admitted is decided by the caller's
//! [`orchestrate_core::policy::web::Destinations`]; nothing here decides.
//! [`WebClient::serve_proxy`] is the same for what a program asks a proxy for.

mod connections;
mod decode;
mod dial;
mod exchange;
mod kept;
mod proxy;
#[cfg(test)]
mod tests;
mod web_client;

pub use connections::ProxyConnections;
pub use dial::{Addresses, Resolve, SystemResolver};
pub use proxy::{Egress, Recording};
pub use web_client::{Key, WebClient};
