//! Hides which provider answers a request, how it is spoken to, and how its tokens are counted.

mod error;
mod model;
mod scripted;

pub use error::ModelError;
pub use model::{Delta, Model};
pub use scripted::{SCRIPT_PREFIX, ScriptedModel};
