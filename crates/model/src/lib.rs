//! Sends requests to models, whichever provider and protocol they use, and counts their tokens.
//!
//! [`Models`] chooses and opens models by name; each is a [`Model`]. There are two protocols, whose
//! readers do no IO (`wire`). `transport` makes one attempt at a request, `retry` repeats it where
//! that can help, and `rate_gate` delays all requests to an endpoint while its provider asks for
//! that. The crate knows nothing about tasks, worktrees or tools.

mod environment;
mod error;
mod known;
mod model;
mod name;
mod provider;
mod request;
mod scripted;
mod secrets;
#[cfg(test)]
mod test_server;
mod tokens;
mod wire;

pub use environment::Environment;
pub use error::{ModelError, NoneFound};
pub use known::catalog::{Models, install_tls_provider};
pub use known::choose::{Choice, LocalServer, Preferences};
pub use known::prices::prices_date;
pub use known::vendor::Vendor;
pub use model::{Delta, Model};
pub use name::ModelName;
pub use provider::{Provider, require_base_url};
pub use request::redacting::Redacting;
pub use request::retry::retried;
pub use scripted::ScriptedModel;
pub use tokens::{LazyCounter, Tokenizer, estimated_tokens_of_code};
