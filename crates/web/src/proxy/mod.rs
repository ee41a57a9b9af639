//! The proxy of a program: `CONNECT` and plain HTTP/1.1, each request decided and recorded on its
//! own.
//!
//! The program is not trusted: what it sends is bounded in size, number and time, and a tunnel has
//! to begin with TLS that asks for the very host that was decided about. What is inside a tunnel is
//! not seen. That nothing goes past the proxy is the sandbox's work.

mod client;
mod connector;
mod forward;
mod head;
mod serve;
mod tunnel;

pub use connector::{Egress, Recording};

#[cfg(test)]
mod tests;
