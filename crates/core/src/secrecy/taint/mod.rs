//! Which agents could be made to give private data away: those that have read text from outside,
//! hold private data, and can send data out.
//!
//! Text from outside may be written by an attacker, and a model may follow it. Each of the three
//! alone is harmless, so only an agent that has all of them is flagged, and only a call that sends
//! data out is asked about or refused. What an agent was exposed to is a fold over recorded calls,
//! messages, reports and merges, and is never recorded itself.
//!
//! What counts is a table, on the book's page about security and in this module's tests.
//! What the user gives (plan, notes, answers, roles, skills, and the repository as the run finds
//! it) is neither from outside nor private, and a request to a model is not egress: without these
//! there is no agent.
//!
//! Deliberately absent: any look at what a call would send. Data can be encoded in any way, so only
//! where it could come from is known.

mod exposure;
mod exposures;
mod guard;
mod possible;
mod reach;
#[cfg(test)]
mod tests;
mod ways_out;
mod works;

pub use exposure::{Exposure, Leg, OutsideSource};
pub use exposures::Exposures;
pub use guard::{TAINT_RULE, TaintGuard};
pub use possible::{PossibleTaint, possible};
pub use reach::PrivateData;
pub use ways_out::{CommandNetwork, Means};
