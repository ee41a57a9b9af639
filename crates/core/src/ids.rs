//! Identifiers, each its own type, so that a task cannot be passed where a commit is meant.
//!
//! Branch and worktree names follow from ids alone ([`TaskId::branch_component`]), so recovery
//! finds what exists instead of making it again. The mapping is injective: two ids never share a
//! name.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::text::case_folding::folded;
use crate::text::hex;
use crate::text::invisible::is_invisible;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(transparent)]
        // Shared, since a plan's tasks name each other many times.
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text without checking it.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            /// Returns the text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        // Hashes and compares as its text does.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
    };
}

text_id! {
    /// One run: `r-` and lower-case letters and digits (never a valid task id, see
    /// [`RunId::is_run_id`]).
    RunId
}
text_id! {
    /// One task of a plan or a spawned one; at most [`TaskId::MAX_BYTES`] bytes, unique within its
    /// run.
    TaskId
}
text_id! {
    /// A git object name in lower-case hexadecimal.
    Oid
}
text_id! {
    /// The content hash (SHA-256, lower-case hexadecimal) of a blob in the journal.
    BlobId
}
text_id! {
    /// The content hash (SHA-256, lower-case hexadecimal) of a whole request to a model; only its
    /// parts are blobs.
    RequestHash
}
text_id! {
    /// A tool call's id as given by the model; unique within one reply only.
    CallId
}
text_id! {
    /// The hash of one tool call of one agent at one position, which an approval is bound to.
    CallHash
}

/// A call of an agent; its id is unique within the turn only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallOfTurn {
    /// The number of the turn.
    pub turn: u32,
    /// The call's id.
    pub call: CallId,
}

/// An agent's id is its task's id: agents are flat within a run, spawned children included.
pub type AgentId = TaskId;

impl BlobId {
    /// Returns the id of a blob with this content.
    pub fn from_content(content: &[u8]) -> Self {
        Self::new(hex(&Sha256::digest(content)))
    }
}

impl RunId {
    /// Reports whether the text has the form of a run id (`r-` and at least six of `[a-z0-9]`).
    pub fn is_run_id(text: &str) -> bool {
        text.strip_prefix("r-").is_some_and(|rest| {
            rest.len() >= 6
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
    }

    /// Returns the full name of the branch with the merged result.
    pub fn integration_ref(&self) -> String {
        format!("refs/heads/{}", self.integration_branch())
    }

    /// Returns the short name of the branch with the merged result.
    pub fn integration_branch(&self) -> String {
        format!("orchestrate/{self}/{}", TaskId::INTEGRATION)
    }

    /// Returns the short name of a task's branch.
    pub fn task_branch(&self, task: &TaskId) -> String {
        format!("orchestrate/{self}/{}", task.branch_component())
    }

    /// Returns the prefix of this run's safety refs, with its trailing slash.
    pub fn keep_prefix(&self) -> String {
        format!("refs/orchestrate/keep/{self}/")
    }

    /// Returns the ref that holds the merge written into a task's worktree.
    pub fn conflict_ref(&self, task: &TaskId) -> String {
        format!("{}{}/conflict", self.keep_prefix(), task.branch_component())
    }

    /// Returns the prefix of the refs that hold the branches of superseded attempts, with its
    /// trailing slash.
    pub fn attempts_prefix(&self) -> String {
        format!("refs/orchestrate/attempts/{self}/")
    }
}

impl TaskId {
    /// The maximum length: encoded at three times its size, it still fits a file name of 255 bytes.
    pub const MAX_BYTES: usize = 64;
    /// The reserved name of the merged branch.
    pub const INTEGRATION: &'static str = "integration";

    /// Returns why a text cannot be a task's id, or `None` if it can.
    pub fn refusal(id: &str) -> Option<String> {
        if id.len() > Self::MAX_BYTES {
            return Some(format!("an id has at most {} bytes", Self::MAX_BYTES));
        }
        if Self::key(id) == Self::INTEGRATION {
            return Some("this id is reserved for the merged branch".to_owned());
        }
        if RunId::is_run_id(id) {
            return Some("this id has the form of a run's id".to_owned());
        }
        (!Self::is_plain(id))
            .then(|| "an id is made of letters, digits, `.`, `_` and `-`".to_owned())
    }

    /// Returns the key by which ids are compared: ids that look alike are the same to a reader, and
    /// ids that differ only in case are the same branch on a case-insensitive file system.
    pub fn key(id: &str) -> String {
        folded(id)
    }

    /// Reports whether a text consists of the characters allowed in ids.
    pub fn is_plain(text: &str) -> bool {
        text.chars().next().is_some_and(is_letter)
            && text
                .chars()
                .all(|c| is_letter(c) || matches!(c, '.' | '_' | '-'))
    }

    /// Returns the id as one component of a ref and of a path.
    ///
    /// Letters, digits, `-` and `_` are kept, and so is a dot unless git forbids it there; every
    /// other byte is written `%XX`. `%` itself is encoded, so the mapping is injective.
    pub fn branch_component(&self) -> String {
        let bytes = self.0.as_bytes();
        let locked = self.0.ends_with(".lock");
        let mut out = String::with_capacity(bytes.len());
        for (at, &byte) in bytes.iter().enumerate() {
            let dot_is_safe = at > 0
                && at + 1 < bytes.len()
                && bytes.get(at + 1) != Some(&b'.')
                && !(locked && at + 5 == bytes.len());
            let plain = byte.is_ascii_alphanumeric()
                || byte == b'_'
                || (byte == b'-' && at > 0)
                || (byte == b'.' && dot_is_safe);
            if plain {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        out
    }
}

/// Unicode counts the Hangul fillers as letters, but they are invisible.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_invisible(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_components_are_plain_where_git_allows_it() {
        // The control: the first ids are no other names to git or a shell, and are components as
        // they are.
        let table = [
            ("T1", "T1"),
            ("1.2", "1.2"),
            ("US-001", "US-001"),
            ("a/b", "a%2Fb"),
            ("x.lock", "x%2Elock"),
            ("-f", "%2Df"),
            ("@", "%40"),
            ("..", "%2E%2E"),
            ("a..b", "a%2E.b"),
            ("50%", "50%25"),
            ("é", "%C3%A9"),
            ("a b", "a%20b"),
            ("🦀", "%F0%9F%A6%80"),
            // An id that looks like the encoded form of another one has a branch of its own.
            ("a%2Fb", "a%252Fb"),
        ];
        for (id, expected) in table {
            assert_eq!(TaskId::from(id).branch_component(), expected);
        }
    }

    #[test]
    fn ids_that_would_confuse_are_refused() {
        for id in [
            "integration",
            "Integration",
            "ｉntegration",
            "r-abc123",
            "",
            "a b",
            "-x",
            "a\u{3164}b",
            "\u{1160}",
        ] {
            assert!(TaskId::refusal(id).is_some(), "{id}");
        }
        assert!(TaskId::refusal(&"a".repeat(65)).is_some());
        assert!(TaskId::refusal(&"a".repeat(300)).is_some());
        assert_eq!(TaskId::key("Setup"), TaskId::key("sETUP"));
        // The control: ids that differ from these only in what confuses are taken.
        for id in [
            "US-001",
            "integrations",
            "r-abc12",
            "a_b",
            "x-",
            "ab",
            "ᄀ",
            &"a".repeat(64),
        ] {
            assert_eq!(TaskId::refusal(id), None, "{id}");
        }
        assert_ne!(TaskId::key("Setup"), TaskId::key("Setups"));
    }

    #[test]
    fn a_run_id_is_told_from_a_task_id() {
        assert!(RunId::is_run_id("r-k3v9x2"));
        assert!(!RunId::is_run_id("T1"));
        assert!(!RunId::is_run_id("r-1"));
    }
}
