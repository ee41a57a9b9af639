//! Hides processes, and what the kernel lets them do.

mod cancel;
mod drive;
mod error;
mod helper;
mod job;
mod probe;
mod sandbox;
mod trusted;

pub use cancel::Cancel;
pub use error::SandboxError;
pub use helper::{HELPER_ARG, helper_installed, run_helper_if_asked};
pub use job::{Captured, Content, Exit, Finished, HostView, Job, Limits, Mask, View};
pub use probe::{Probe, probe};
pub use sandbox::{Confinement, Helper, Sandbox};
pub use trusted::{Trusted, TrustedOutput, trusted};
