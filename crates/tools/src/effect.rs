//! What a call would affect, for the policy.

use orchestrate_core::policy::{Access, Target};

/// Something that a call would affect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// How it is used.
    pub access: Access,
    /// What is affected.
    pub target: Target,
}

impl Effect {
    /// Creates an effect that the tool's own name and permission describe.
    pub fn on(target: Target) -> Effect {
        Effect { access: Access::Own, target }
    }
}
