//! Spawns coding agents from a program: each in its own git worktree, with tools in one sandbox,
//! under one budget; their work is verified, merged and landed, and nothing is paid twice after a
//! crash.
//!
//! ```no_run
//! use orchestrate::prelude::*;
//!
//! #[orchestrate::main]
//! async fn main() -> orchestrate::Result<()> {
//!     let session = Session::open(".")?
//!         .model("anthropic/claude-sonnet-4-5")
//!         .budget_usd(2.0)
//!         .verify("cargo test")
//!         .start("release-notes")
//!         .await?;
//!     let notes = session.spawn(Child::new("Write the release notes of 1.2")).await?;
//!     let mut events = session.events();
//!     while let Some(event) = events.next().await {
//!         match event? {
//!             Event::Text { child, delta } => print!("[{child}] {delta}"),
//!             Event::Question(question) => question.answer("for users").await?,
//!             Event::Approval(call) => call.deny("not in this program").await?,
//!             Event::AtRest => break,
//!             _ => {}
//!         }
//!     }
//!     session.merge(&[notes]).await?;
//!     session.land(Land::squash()).await?;
//!     Ok(())
//! }
//! ```
//!
//! - [`Session`]: one run in one repository, found again by its name.
//! - [`Child`] and [`ChildHandle`]: an agent that is spawned, and its work; [`Outcome`] and
//!   [`Report`]: what became of it.
//! - [`Events`]: everything that happens, from the beginning, as a stream.
//! - [`Model`]: a model of your own; [`tool_fn`]: a tool of your own; [`Role`]: a role.
//! - [`Land`]: how the result reaches your branch.

#[cfg(doctest)]
mod book;
mod child;
mod error;
mod event;
mod hook;
mod land;
mod model;
pub mod prelude;
mod role;
mod session;
mod start;
mod tool;

pub use orchestrate_macros::main;
pub use serde_json::{Value, json};

pub use child::{Child, ChildHandle, Outcome, Report};
pub use error::{Error, Result};
pub use event::{Event, Events, Fact, PendingCall, Question, Sent};
pub use hook::{HookedCall, HookedResult, HookedWork, Verdict};
pub use land::{Land, Landed};
pub use model::{GivenModel, Message, Model, Price, Reply, Request, ToolCall, ToolSpec};
pub use role::Role;
pub use session::{Builder, Comparison, Conflict, Session};
#[doc(hidden)]
pub use start::{block_on, init};
pub use tool::{CallContext, ToolFn, tool_fn};
