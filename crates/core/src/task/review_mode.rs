//! When a person must approve finished work before it is merged.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// When a person must approve finished work before it is merged, the mildest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewMode {
    /// Never.
    Never,
    /// If it deletes or weakens existing tests, or leaves a new file that looks like a secret.
    #[default]
    DeletedTests,
    /// Also if its risk is high.
    Risky,
    /// Always.
    Always,
}

impl ReviewMode {
    /// The words for the modes, the mildest first.
    pub const WORDS: [&'static str; 4] = ["never", "deleted-tests", "risky", "always"];

    /// Returns the mode that a word means, also by its older names.
    pub fn named(word: &str) -> Option<ReviewMode> {
        Some(match word {
            "never" | "none" => ReviewMode::Never,
            "deleted-tests" => ReviewMode::DeletedTests,
            "risky" => ReviewMode::Risky,
            "always" | "required" => ReviewMode::Always,
            _ => return None,
        })
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            ReviewMode::Never => "never",
            ReviewMode::DeletedTests => "deleted-tests",
            ReviewMode::Risky => "risky",
            ReviewMode::Always => "always",
        }
    }
}

/// Reads a task's own mode. Older journals only say whether a review was required.
pub(crate) fn review_of_task<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ReviewMode>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Required(bool),
        Mode(Option<ReviewMode>),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Required(is_required) => is_required.then_some(ReviewMode::Always),
        Written::Mode(mode) => mode,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::definition::Task;

    #[test]
    fn words_and_older_journals_say_when_a_review_is_due() {
        for word in ReviewMode::WORDS {
            assert_eq!(ReviewMode::named(word).map(ReviewMode::word), Some(word));
        }
        assert_eq!(ReviewMode::named("required"), Some(ReviewMode::Always));
        assert_eq!(ReviewMode::named("none"), Some(ReviewMode::Never));
        assert!(
            ReviewMode::Never < ReviewMode::DeletedTests && ReviewMode::Risky < ReviewMode::Always
        );
        let written = |review: &str| {
            let text = format!("{{\"id\":\"T1\",\"title\":\"x\",\"status\":\"todo\"{review}}}");
            serde_json::from_str::<Task>(&text).unwrap().review
        };
        assert_eq!(
            written(",\"review_required\":true"),
            Some(ReviewMode::Always)
        );
        assert_eq!(written(",\"review_required\":false"), None);
        assert_eq!(
            written(",\"review\":\"deleted-tests\""),
            Some(ReviewMode::DeletedTests)
        );
        assert_eq!(written(""), None);
    }
}
