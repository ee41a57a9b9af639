//! How a call is executed: resolved, permitted, replayed or run, recorded, and mended when it
//! fails.

mod alternatives;
mod circuit_breaker;
mod executor;
mod failures;
mod foreign_calls;
mod hooks;
pub(crate) mod isolated;
mod permission_check;
pub(crate) mod record;
mod redact;
mod replay;
mod resolver;
mod restore_point;

pub(crate) use alternatives::may_stand_in;
pub(crate) use circuit_breaker::{CircuitBreaker, Finding, Need};
pub use executor::Executor;
pub(crate) use failures::{Alternative, Attempt, Attempted, caught, with_way_to_ask};
pub(crate) use foreign_calls::{more_parameters, own_form, replaced_parameters};
pub use hooks::{Hook, HookPlace, Hooks};
pub(crate) use isolated::LeftBehind;
pub use permission_check::{Answered, PermissionCheck};
pub(crate) use record::EndGuard;
pub(crate) use redact::{brief_name, describe_call, redact_error, redact_result, without_users};
pub(crate) use replay::Replay;
pub(crate) use resolver::{Resolver, request};
pub(crate) use restore_point::RestorePoint;
pub use restore_point::undo_advice;
