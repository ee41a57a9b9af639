//! What a snapshot leaves in the worktree on purpose: scratch files, what looks like a secret, and
//! boxes of the plan.

use serde::{Deserialize, Serialize};

use crate::policy::WithheldFile;

/// The maximum number of scratch files and folders that are named.
const MAX_SCRATCH: usize = 20;

/// What a snapshot leaves in the worktree on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftAside {
    /// Caches and build outputs, the first ones by name; the name of a folder ends with a slash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scratch: Vec<ScratchFile>,
    /// How many others there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_scratch: usize,
    /// New files that look like secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldFile>,
    /// What the agent had changed of the boxes in the plan's file, which only landing changes: the
    /// ids of tasks, and the lines of their parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<String>,
}

/// A cache or a build output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScratchFile {
    /// Its path, relative to the worktree.
    pub path: String,
    /// What it is, in words.
    pub what: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde requires"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl LeftAside {
    /// Creates what is left, of any number of scratch files.
    pub fn new(
        mut scratch: Vec<ScratchFile>,
        withheld: Vec<WithheldFile>,
        boxes: Vec<String>,
    ) -> LeftAside {
        let more_scratch = scratch.len().saturating_sub(MAX_SCRATCH);
        scratch.truncate(MAX_SCRATCH);
        LeftAside {
            scratch,
            more_scratch,
            withheld,
            boxes,
        }
    }

    /// Reports whether nothing is left.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reports whether this has something that a person should know and the other does not have.
    pub fn adds_to(&self, other: &LeftAside) -> bool {
        self.withheld != other.withheld || self.boxes.iter().any(|what| !other.boxes.contains(what))
    }

    /// Returns the scratch files in words, or `None` if there are none.
    pub fn scratch_in_words(&self) -> Option<String> {
        let named = self.scratch.iter().map(|file| {
            format!(
                "{} ({})",
                crate::text::invisible::shown(&file.path),
                file.what
            )
        });
        let more = (self.more_scratch > 0).then(|| format!("and {} more", self.more_scratch));
        let words: Vec<String> = named.chain(more).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Adds the boxes that an earlier snapshot of the same attempt has found.
    pub(crate) fn with_boxes_of(&self, earlier: &LeftAside) -> LeftAside {
        let mut aside = self.clone();
        aside.boxes.extend(earlier.boxes.iter().cloned());
        aside.boxes.sort();
        aside.boxes.dedup();
        aside
    }
}
