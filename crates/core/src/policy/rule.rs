//! A permission rule as typed, with the examples that show what it means.

use serde::{Deserialize, Serialize};

/// A permission rule as typed; [`crate::policy`] gives it its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuleText {
    /// What the rule decides.
    pub decision: RuleDecision,
    /// `tool` or `tool(glob)`.
    pub rule: String,
    /// Where it was written, for messages.
    pub source: String,
    /// What it has to match, and what it must not match; checked whenever the rule is parsed.
    #[serde(default, skip_serializing_if = "RuleExamples::is_empty")]
    pub examples: RuleExamples,
}

impl RuleText {
    /// Creates a rule without examples.
    pub fn new(
        decision: RuleDecision,
        rule: impl Into<String>,
        source: impl Into<String>,
    ) -> RuleText {
        RuleText {
            decision,
            rule: rule.into(),
            source: source.into(),
            examples: RuleExamples::default(),
        }
    }
}

/// What a rule has to match and what it must not match, so that a rule which means something else
/// is noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct RuleExamples {
    /// What it has to match.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<RuleExample>,
    /// What it must not match.
    #[serde(rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<RuleExample>,
}

impl RuleExamples {
    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty() && self.not_matches.is_empty()
    }
}

/// An example of what a call affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "expected a text, or a list of words")]
pub enum RuleExample {
    /// A line for a shell, a path, a host or a name: what the rule's tools take.
    Text(String),
    /// A program and its arguments, which no shell interprets.
    Words(Vec<String>),
}

impl std::fmt::Display for RuleExample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RuleExample::Text(text) => f.write_str(text),
            RuleExample::Words(words) => f.write_str(
                &words
                    .iter()
                    .map(crate::shell_word)
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        }
    }
}

/// What a permission rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleDecision {
    /// The call may run.
    Allow,
    /// The user decides.
    Ask,
    /// The call is denied.
    Deny,
}
