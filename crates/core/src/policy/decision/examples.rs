//! Checks a rule against its examples, so that a rule which means something else than its author
//! thinks is refused.

use std::collections::BTreeSet;

use super::target::Target;
use crate::policy::permission::Permission;
use crate::policy::rule::{RuleDecision, RuleExample, RuleExamples};

/// A rule that is held against its examples.
pub(super) struct Judged<'a> {
    pub(super) decision: RuleDecision,
    /// The permissions of the tools that it is about; empty if they are not known.
    pub(super) permissions: &'a BTreeSet<Permission>,
    pub(super) has_pattern: bool,
    /// Reports whether the rule matches a target.
    pub(super) matches: &'a dyn Fn(Target) -> bool,
}

impl Judged<'_> {
    /// Returns what is wrong with the first example that the rule contradicts.
    pub(super) fn contradicted(&self, examples: &RuleExamples) -> Option<String> {
        if let Some(example) = examples
            .matches
            .iter()
            .find(|example| !self.is_matched(example))
        {
            let why = match self.decision {
                RuleDecision::Allow if self.is_command(example) => {
                    "; a rule that allows matches a command only if every part of it does"
                }
                _ => "",
            };
            return Some(format!(
                "the example `{example}` under `match` is not matched{why}"
            ));
        }
        let example = examples
            .not_matches
            .iter()
            .find(|example| self.is_matched(example))?;
        let why = match self.decision {
            _ if !self.has_pattern => "; the rule has no pattern, so it matches every call",
            RuleDecision::Ask | RuleDecision::Deny if self.is_command(example) => {
                "; a rule that asks or denies matches a command if any part of it may match"
            }
            _ => "",
        };
        Some(format!(
            "the example `{example}` under `not_match` is matched{why}"
        ))
    }

    fn is_matched(&self, example: &RuleExample) -> bool {
        self.readings(example).into_iter().any(self.matches)
    }

    fn is_command(&self, example: &RuleExample) -> bool {
        self.readings(example)
            .iter()
            .any(|target| matches!(target, Target::Argv(_) | Target::Shell(_)))
    }

    /// Returns what an example may be: what the tools of the rule take. Unknown tools may take
    /// anything.
    fn readings(&self, example: &RuleExample) -> Vec<Target> {
        use Permission::{CodeExecution, FileModify, FileRead, FileWrite, NetworkAccess};
        let text = match example {
            RuleExample::Words(words) => return vec![Target::Argv(words.clone())],
            RuleExample::Text(text) => text,
        };
        let others = [
            CodeExecution,
            FileRead,
            FileWrite,
            FileModify,
            NetworkAccess,
        ];
        let takes_names = self.permissions.is_empty()
            || self.permissions.iter().any(|taken| !others.contains(taken));
        let mut readings = Vec::new();
        if self.has_one(&[CodeExecution]) {
            readings.push(Target::Shell(text.clone()));
        }
        if self.has_one(&[FileRead, FileWrite, FileModify]) {
            let path = text.strip_prefix("./").unwrap_or(text);
            readings.push(Target::Path(path.to_owned()));
        }
        if self.has_one(&[NetworkAccess]) {
            readings.push(Target::Host(text.clone()));
        }
        if takes_names {
            readings.push(Target::Name(text.clone()));
        }
        readings
    }

    /// Reports whether the tools of the rule may have one of these permissions.
    fn has_one(&self, wanted: &[Permission]) -> bool {
        self.permissions.is_empty()
            || wanted
                .iter()
                .any(|permission| self.permissions.contains(permission))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tool_names;
    use super::super::{Policy, PolicyError};
    use super::*;
    use crate::policy::rule::RuleText;

    fn texts(examples: &[&str]) -> Vec<RuleExample> {
        let example = |text: &&str| match text.strip_prefix("argv: ") {
            Some(words) => RuleExample::Words(words.split(' ').map(str::to_owned).collect()),
            None => RuleExample::Text((*text).to_owned()),
        };
        examples.iter().map(example).collect()
    }

    /// A rule, its examples under `match` and under `not_match`, and what is said about them.
    type Example = (
        RuleDecision,
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
    );

    /// Returns what is said about a rule with these examples; empty if they are right.
    fn said(decision: RuleDecision, rule: &str, matches: &[&str], not_matches: &[&str]) -> String {
        let examples = RuleExamples {
            matches: texts(matches),
            not_matches: texts(not_matches),
        };
        let rule = RuleText {
            examples,
            ..RuleText::new(decision, rule, "orchestrate.toml:3:9")
        };
        let errors = Policy::new(&[rule], &tool_names())
            .err()
            .unwrap_or_default();
        errors.iter().map(PolicyError::to_string).collect()
    }

    #[test]
    fn right_examples_are_accepted() {
        use RuleDecision::{Allow, Ask, Deny};
        let table: [(RuleDecision, &str, &[&str], &[&str]); 7] = [
            (
                Deny,
                "Bash(git push:*)",
                &["git push", "true && git push x", "argv: git push x"],
                &["git pull", "echo push"],
            ),
            (
                Allow,
                "Bash(cargo test:*)",
                &["cargo test -p a"],
                &["cargo test && rm -rf x", "cargo build"],
            ),
            (
                Ask,
                "write_file(/docs/**)",
                &["docs/a.md", "./docs/b/c"],
                &["src/docs/a"],
            ),
            (Deny, "file_write(/docs/**)", &["docs/a.md"], &["x"]),
            (Ask, "send_message_to_agent(T1)", &["T1"], &["T2"]),
            (Ask, "*(T1)", &["T1"], &["T2"]),
            (Deny, "read_file", &["anything"], &[]),
        ];
        for (decision, rule, matches, not_matches) in table {
            assert_eq!(said(decision, rule, matches, not_matches), "", "{rule}");
        }
    }

    #[test]
    fn a_wrong_example_says_what_happened() {
        use RuleDecision::{Allow, Deny};
        let table: [Example; 5] = [
            (
                Deny,
                "Bash(git push)",
                &["git push", "git pull"],
                &[],
                "the example `git pull` under `match` is not matched",
            ),
            (
                Allow,
                "Bash(cargo test:*)",
                &["cargo test; rm x"],
                &[],
                "the example `cargo test; rm x` under `match` is not matched; a rule that allows \
                 matches a command only if every part of it does",
            ),
            (
                Deny,
                "Bash(git:*)",
                &[],
                &["argv: git commit -m it's"],
                "the example `git commit -m 'it'\\''s'` under `not_match` is matched; a rule that \
                 asks or denies matches a command if any part of it may match",
            ),
            (
                Deny,
                "read_file",
                &[],
                &["a"],
                "the example `a` under `not_match` is matched; the rule has no pattern, so it \
                 matches every call",
            ),
            (
                Deny,
                "write_file(/docs/**)",
                &["src/a"],
                &[],
                "the example `src/a` under `match` is not matched",
            ),
        ];
        for (decision, rule, matches, not_matches, expected) in table {
            let expected = format!("check the rule `{rule}` of orchestrate.toml:3:9: {expected}");
            assert_eq!(said(decision, rule, matches, not_matches), expected);
        }
    }
}
