//! Wraps SQLite: the sequencer that makes facts durable and folds them into the run's state.
//!
//! A repository has one [`Store`], which any number of processes can read and send requests to. A
//! run has at most one [`Journal`], which holds the run's lease and is the only way to record
//! facts:
//!
//! ```
//! use orchestrate_core::RunSettings;
//! use orchestrate_core::event::Event;
//! use orchestrate_journal::{Journal, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path())?;
//! let started = Event::RunStarted {
//!     plan: None,
//!     plan_source: None,
//!     title: Some("Greeting".to_owned()),
//!     settings: Box::new(RunSettings::default()),
//!     base_commit: "0123456789abcdef0123456789abcdef01234567".into(),
//!     base_branch: Some("main".to_owned()),
//! };
//! let journal = Journal::create(&store, &"r-abcdef".into(), started)?;
//! assert_eq!(journal.state().seq, 1);
//! assert_eq!(store.events(&"r-abcdef".into(), 0, 100)?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Each fact is stored with a checksum, so that what a disk has broken is found when it is read.
//! Facts are deleted only with their whole run ([`Removal`]).
//!
//! Deliberately absent: decisions (events are interpreted only by `RunState::apply`), and an async
//! runtime.

mod blobs;
mod checksum;
mod clock;
mod database;
mod error;
#[cfg(feature = "fault-injection")]
pub mod fault;
mod inbox;
mod journal;
mod lease;
mod reader;
mod received;
mod removal;
mod write;

pub use blobs::{Blob, INLINE_BYTES};
pub use clock::{Clock, unix_ms, unix_seconds};
pub use error::{Cause, JournalError};
pub use journal::{Appended, Journal, Slot};
pub use reader::{ReadableEvents, RunSummary, Store};
pub use received::{Answer, InboxId, Received, Reply};
pub use removal::Removal;
pub use write::batch::Batch;
