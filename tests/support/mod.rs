//! What every integration test stands on: cases, repositories, the built program, scripted models.
//!
//! Invariants: nothing here reads the configuration, the keys or the git identity of whoever runs the
//! tests, nothing leaves the temporary directories, and nothing goes further than the loopback.

mod case;
mod json;
mod model;
mod played;
mod process;
mod program;
mod repository;
mod script;
mod server;
mod terminal;
mod trials;
mod world;

pub(crate) use case::{Case, Need, Outcome, REQUIRE, case, fail, judging, sandboxed};
pub(crate) use json::{at, lines};
pub(crate) use model::{answering, write_or_end};
pub(crate) use played::Played;
pub(crate) use process::{WITHOUT_BUBBLEWRAP, git_program, is_alive, open_gate, require_gone, seconds, with_program};
pub(crate) use program::{Home, Invocation, Ran, Running, require_words, says, until, workspace_cargo};
pub(crate) use repository::{Fingerprint, Repository, git};
pub(crate) use script::{Rule, Script, done, write};
pub(crate) use server::{ModelServer, Reply};
pub(crate) use terminal::{COLUMNS, ROWS};
pub(crate) use trials::cases;
pub(crate) use world::{WAITING, World, plan_input, runtime};
