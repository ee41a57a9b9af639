//! The sandbox's helper: this program, executed with a first argument of its own.
//!
//! The helper is the supervisor of one job: it starts the program under its restrictions, outlives
//! every descendant of it, and ends all of them when the program ends, when it is ordered to, or
//! when the coordinator dies. It is not itself confined by Landlock and seccomp (in the full tier
//! it is by bubblewrap's namespaces); the job cannot reach it. Where no process namespace ends with
//! it, a second process guards it ([`guardian`]).
//!
//! In a room ([`room`]), supervisors are copies of one process that keeps the room.
//!
//! For a command of the user's own, which nothing confines, it is only the [`keeper`].
//!
//! Deliberately absent: any decision. What is allowed is in the [`protocol::Spec`].

mod calls;
mod entry;
mod filter;
mod fresh_folders;
mod guardian;
mod keeper;
mod poll_set;
pub(crate) mod protocol;
mod room;
mod supervisor;
mod usage;

pub use entry::{HELPER_ARG, helper_installed, run_helper_if_asked};
pub(crate) use entry::{KEEP_ARG, REMOVE_ARG, ROOM_ARG};
pub(crate) use filter::landlock::{forbidden_in_fallback, has_sockets_in_fallback, machine_facts};
pub(crate) use keeper::Told;
