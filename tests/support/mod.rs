//! What every integration test is built from: cases, repositories, the built program, scripted
//! models.
//!
//! A test creates a [`World`] (a user's home and a repository), runs a plan in it, and checks the
//! report, the recorded events or the repository. The agents' replies come from a [`Script`]:
//!
//! ```text
//! fn a_file_is_merged() -> Outcome {
//!     let world = World::lived_in()?;
//!     let script = Script::default().writes("T1", "a.txt", "a\n");
//!     let played = world.play("- [ ] T1 write a file\n", &script, |_| ())?;
//!     played.require_merged(&["T1"])?;
//!     assert_eq!(world.merged(&played.report, "a.txt")?, "a", "{played}");
//!     Ok(())
//! }
//! ```
//!
//! - [`World::play`] runs a plan through the library. [`World::types`] and [`World::orchestrate`]
//!   start the built program as a user does, in a terminal with `start_in_terminal`.
//! - If a script cannot express what a model does, [`answering`] takes a closure, and
//!   [`ModelServer`] speaks HTTP.
//! - The module's `cases()` registers the function with `sandboxed!` if it starts a run, otherwise
//!   with `case!`; the test is named after it. [`Case::needs`] adds any other tool that a machine
//!   may lack.
//! - A failed assertion fails the test as an error does, and what the test owns is removed.
//! - [`until`] waits for a condition. Tests poll with it only, and never sleep.
//!
//! Invariants: no helper reads the configuration, the API keys or the git identity of the user who
//! runs the tests, all files are in temporary directories, and no connection leaves the loopback
//! interface.

pub(crate) mod git_server;
mod harness;
pub(crate) mod journal_bytes;
mod json;
mod models;
mod played;
mod programs;
mod repository;
mod tls;
mod world;

pub(crate) use harness::case::{
    Case, Need, Outcome, PLACE, Place, REQUIRE, case, case_of, case_of as case, fail, judging,
    name_of, sandboxed, sandboxed_of as sandboxed,
};
pub(crate) use harness::durations;
pub(crate) use harness::trials::cases;
pub(crate) use journal_bytes::bytes_of_turns;
pub(crate) use json::{at, lines};
pub(crate) use models::model::{answering, write_or_end};
pub(crate) use models::script::{
    Rule, Script, after, done, on, put, reads, shell, waits, write, writes,
};
pub(crate) use models::server::{ModelServer, Recorded, Reply};
pub(crate) use played::{Played, allow_all};
pub(crate) use programs::process::{
    GRACE, WITHOUT_BUBBLEWRAP, git_program, is_alive, open_gate, path_of, require_gone, seconds,
    with_program, write_program,
};
pub(crate) use programs::program::{
    Home, Invocation, Ran, Running, require_words, says, until, workspace_cargo,
};
pub(crate) use programs::session::Session;
pub(crate) use programs::terminal::{COLUMNS, ROWS};
pub(crate) use programs::transcript::{record_if_asked, recorded, require_typed, transcript};
pub(crate) use repository::{Fingerprint, Repository, git};
pub(crate) use tls::client_hello;
pub(crate) use world::{WAITING, World, block_on, plan_input, runtime, there_is};
