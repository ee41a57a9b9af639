//! The events of a run, in the past tense: recorded before their effects, which can be repeated.
//! Large texts are blobs.
//!
//! Beside them are the values that only they hold, such as a run's settings, and why an event is
//! not valid. What events say of tasks, agents, messages and the policy is defined there, below.

mod illegal;
mod kinds;
mod outcome;
mod recorded;
pub mod settings;
mod stored_request;
mod subject;
mod time;
mod types;
mod wait;

pub use illegal::{Illegal, IllegalEvent};
pub use kinds::{
    AdoptedWork, DroppedTasks, Event, FailedLanding, HeldIntegration, MergeTarget, SpawnRecord,
    StopRequest, UndoneLanding,
};
pub use outcome::{
    CacheLookup, ErrorKind, Recovery, ResourceUsage, RunStatus, ToolOutcome, VerifyScope,
};
pub use recorded::Recorded;
pub(crate) use stored_request::Extent;
pub use stored_request::{DividedRequest, Part, RequestChain, Underivable};
pub use time::{VERSION, rfc3339};
pub use wait::{EndedWait, RejectingEndpoint, Wait, WaitRefused};

#[cfg(test)]
mod tests;
