//! How a session's result reaches the user's branch.

use orchestrate_coordinator::{self as engine, LandOptions, LandStyle};

/// How to land; see [`Session::land`](crate::Session::land).
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Land(LandStyle);

impl Land {
    /// By fast-forward if possible, otherwise by a merge.
    pub fn merge() -> Self {
        Self(LandStyle::Merge)
    }

    /// As one commit.
    pub fn squash() -> Self {
        Self(LandStyle::Squash)
    }

    /// As one commit for each merged child.
    pub fn rebase() -> Self {
        Self(LandStyle::Rebase)
    }

    pub(crate) fn options(self) -> LandOptions {
        LandOptions {
            style: self.0,
            ..LandOptions::default()
        }
    }
}

/// What landing did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Landed {
    /// The branch.
    pub branch: String,
    /// Its tip before.
    pub from: String,
    /// Its tip now; the same if there was nothing to land.
    pub to: String,
    /// What a person should know, such as work that is not part of the result.
    pub warnings: Vec<String>,
}

impl From<engine::Landed> for Landed {
    fn from(landed: engine::Landed) -> Self {
        Self {
            branch: landed.branch,
            from: landed.from.to_string(),
            to: landed.to.to_string(),
            warnings: landed.warnings,
        }
    }
}
