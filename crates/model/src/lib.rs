//! Sends requests to models, whichever provider and protocol they use, and counts their tokens.
//!
//! [`Models`] chooses and opens models by name; each is a [`Model`]. There are two protocols, whose
//! readers do no IO (`wire`). `transport` makes one attempt at a request, `retry` repeats it where
//! that can help, and `rate_gate` delays all requests to an endpoint while its provider asks for
//! that. The crate knows nothing about tasks, worktrees or tools.

mod account;
mod catalog;
mod choose;
mod environment;
mod error;
mod model;
mod name;
mod prices;
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
mod vendor;
mod windows;
mod wire;

pub use catalog::{Models, install_tls_provider};
pub use choose::{Choice, LocalServer, Preferences};
pub use environment::Environment;
pub use error::{ModelError, NoneFound};
pub use model::{Delta, Model};
pub use name::ModelName;
pub use prices::prices_date;
pub use provider::{Provider, require_base_url};
pub use redacting::Redacting;
pub use scripted::ScriptedModel;
pub use tokens::{LazyCounter, Tokenizer, estimated_tokens_of_code};
pub use vendor::Vendor;
