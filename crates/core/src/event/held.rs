//! A result that could not be put on its branch.

use serde::{Deserialize, Serialize};

use crate::ids::Oid;

/// The integration branch was not moved because it is checked out; the result is kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldIntegration {
    /// Where it is checked out.
    pub checkout: String,
    /// The result, to which that checkout can be fast-forwarded.
    pub commit: Oid,
}
