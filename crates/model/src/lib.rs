//! Hides which provider answers a request, how it is spoken to, and how its tokens are counted.
//!
//! [`Models`] chooses and opens models by name; each is a [`Model`]. Two protocols go over the wire, read by
//! readers without IO (`wire`), carried by one attempt (`transport`), repeated where that can help (`retry`)
//! and held back together where a provider asks for it (`rate_gate`). Tasks, worktrees and tools are unknown here.

mod catalog;
mod choose;
mod environment;
mod error;
mod model;
mod name;
mod provider;
mod rate_gate;
mod redacting;
mod retry;
mod scripted;
mod secrets;
#[cfg(test)]
mod test_server;
mod tokens;
mod transport;
mod wire;

pub use catalog::{Models, install_tls_provider};
pub use choose::{Choice, LocalServer, Preferences};
pub use environment::Environment;
pub use error::ModelError;
pub use model::{Delta, Model};
pub use name::ModelName;
pub use provider::{Provider, require_base_url};
pub use redacting::Redacting;
pub use scripted::ScriptedModel;
pub use tokens::{LazyCounter, Tokenizer};
