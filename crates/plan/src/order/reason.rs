//! Why a task waits for others that it does not name.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Why a task waits for others that it does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The places of the tasks of its own phase, if it depends on what the phases before leave to
    /// do.
    pub phase: Option<Range<usize>>,
    /// Why it comes after each of those that need not succeed, in their order.
    pub after: Vec<Cause>,
}

/// Why a task comes after another that need not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The plan writes it after that one.
    Written,
    /// It has a later number.
    Numbered,
    /// That one sets up what it needs.
    SetUp,
    /// It tests, reviews or releases what the others make.
    Closing,
    /// It is optional.
    Optional,
    /// It writes a path that the earlier one writes too.
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
            Self::SetUp => "the set-up comes first",
            Self::Closing => "tests, reviews and releases follow the work",
            Self::Optional => "optional tasks come last",
            Self::SamePath => "the same path",
            Self::Sequential => "`parallel: sequential`",
        }
    }
}
