//! What most programs use: `use orchestrate::prelude::*;`.

pub use crate::{Child, ChildHandle, Event, Land, Model, Reply, Request, Role, Session, tool_fn};
pub use schemars::JsonSchema;
pub use serde::Deserialize;
