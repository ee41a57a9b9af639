//! Why a task waits for others that it does not name.

use serde::{Deserialize, Serialize};

/// Why a task waits for others that it does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Whether some of what it depends on is the phase before its own.
    pub barrier: bool,
    /// Why it comes after others that need not succeed.
    pub order: Option<Cause>,
}

/// Why a task comes after others that need not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The plan writes it after them.
    Written,
    /// It has a later number.
    Numbered,
    /// It tests or reviews what stands before it.
    Closing,
    /// It is optional.
    Optional,
    /// It writes a path that an earlier one writes too.
    SamePath,
    /// The plan says that tasks go one after another.
    Sequential,
}

impl Cause {
    /// Describes the cause in a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Written => "the plan's order",
            Self::Numbered => "its number",
            Self::Closing => "tests and reviews follow the work",
            Self::Optional => "optional tasks come last",
            Self::SamePath => "the same path",
            Self::Sequential => "`parallel: sequential`",
        }
    }
}
