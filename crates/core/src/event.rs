//! The events of a run, in the past tense: recorded before their effects, which can be repeated.
//! Large texts are blobs.

mod adopted;
mod kinds;
mod landing;
mod outcome;
mod recorded;
mod stream;
mod subject;
mod time;
mod types;

pub use adopted::AdoptedWork;
pub use kinds::Event;
pub use landing::{FailedLanding, HeldIntegration, UndoneLanding};
pub use outcome::{
    CacheLookup, ErrorKind, FailureCause, Recovery, ResourceUsage, ReturnCause, RunStatus,
    ToolOutcome, VerifyScope,
};
pub use recorded::Recorded;
pub use time::{VERSION, rfc3339};

#[cfg(test)]
mod tests;
