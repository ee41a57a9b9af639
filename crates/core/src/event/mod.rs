//! The events of a run, in the past tense: recorded before their effects, which can be repeated.
//! Large texts are blobs.
//!
//! Beside them are the values that only they hold, such as a run's settings, and why an event is
//! not valid. What events say of tasks, agents, messages and the policy is defined there, below.

mod adopted;
mod illegal;
mod kinds;
mod landing;
mod merge_target;
mod outcome;
mod recorded;
pub mod settings;
mod spawn_record;
mod stop_request;
mod stored_request;
mod stream;
mod subject;
mod time;
mod types;
mod wait;

pub use adopted::AdoptedWork;
pub use illegal::{Illegal, IllegalEvent};
pub use kinds::Event;
pub use landing::{FailedLanding, HeldIntegration, UndoneLanding};
pub use merge_target::MergeTarget;
pub use outcome::{
    CacheLookup, ErrorKind, Recovery, ResourceUsage, RunStatus, ToolOutcome, VerifyScope,
};
pub use recorded::Recorded;
pub use spawn_record::SpawnRecord;
pub use stop_request::StopRequest;
pub(crate) use stored_request::Extent;
pub use stored_request::{DividedRequest, Part, RequestChain, Underivable};
pub use time::{VERSION, rfc3339};
pub use wait::{EndedWait, RejectingEndpoint, Wait, WaitRefused};

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
