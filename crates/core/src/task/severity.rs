//! How severe the end of a task is, which decides how its run ends.

use crate::task::cause::FailureCause;
use crate::task::state::EndCause;

/// A task's contribution to the exit code, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// It is none of the others.
    Fine,
    /// A person has to act.
    NeedsHuman,
    /// The task failed.
    Failed,
    /// It reached a limit.
    Limit,
    /// A permission was denied.
    Denied,
    /// An internal error ended it.
    Internal,
}

impl FailureCause {
    /// Reports whether the task has reached a limit, which the user can raise.
    pub fn is_limit(self) -> bool {
        Severity::from_cause(EndCause::Failed(self)) == Severity::Limit
    }
}

impl Severity {
    /// Returns how severe such an end is.
    pub(crate) fn from_cause(cause: EndCause) -> Severity {
        use FailureCause::{
            Budget, ChangesRequested, Check, Claims, Command, Context, Cost, Denied, Endpoint,
            Hook, Internal, InvalidAnswer, InvalidPlan, Looping, Model, NoChanges, NoVerdict,
            Panicked, Refused, Setup, Silent, Timeout, Turns, Worktree,
        };
        let EndCause::Failed(cause) = cause else {
            return Severity::Failed;
        };
        match cause {
            Turns | Budget | Cost | Timeout | Context => Severity::Limit,
            Denied => Severity::Denied,
            Panicked | Internal => Severity::Internal,
            Check | ChangesRequested | Claims | Hook | InvalidAnswer | InvalidPlan | NoChanges
            | NoVerdict | Silent | Looping | Refused | Model | Endpoint | Command | Setup
            | Worktree => Severity::Failed,
        }
    }
}
