//! What a task is: its text, its states and causes, the order among tasks, and what work on one may
//! contain.
//!
//! Hides how paths, tests and reports are judged. What a run knows of its tasks is in
//! [`crate::record`].

pub mod answer;
mod cause;
mod claims;
mod compared_work;
mod definition;
pub mod kept_out;
mod left_aside;
mod review_mode;
pub mod schedule;
mod severity;
mod state;
pub mod test_changes;
mod test_files;
pub mod verdict;

pub use cause::{FailureCause, ReturnCause};
pub use claims::ClaimKind;
pub(crate) use claims::{claims, has_claims_line, open_questions};
pub use compared_work::{ChangedPath, ComparedWork, MAX_CHANGED_PATHS, WorkCompared};
pub use definition::{Delivers, Task, TaskStatus, Work, waiting};
pub use kept_out::CommitSettings;
pub use left_aside::{LeftAside, ScratchFile};
pub use review_mode::ReviewMode;
pub(crate) use severity::Severity;
pub use state::{EndCause, Reopening, TaskError, TaskState, Verify};
pub(crate) use test_files::is_test_file;
