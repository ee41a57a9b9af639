//! What became of a landing that is not one, and of a result that could not be put on its branch.

use serde::{Deserialize, Serialize};

use crate::ids::Oid;

/// A landing could not be completed, or the user's branch has moved on without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedLanding {
    /// The user's branch.
    pub branch: String,
    /// The reason, in words.
    pub message: String,
}

/// A landing was undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UndoneLanding {
    /// The user's branch.
    pub branch: String,
    /// Its tip, the same as before the landing.
    pub to: Oid,
}

/// The integration branch was not moved because it is checked out; the result is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldIntegration {
    /// Where it is checked out.
    pub checkout: String,
    /// The result, to which that checkout can be fast-forwarded.
    pub commit: Oid,
}
