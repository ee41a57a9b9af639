//! What was decided about the hosts that a call's program asked the proxy for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CallId, TaskId};

/// Maximum number of characters of what a program asked for.
const MAX_ASKED: usize = 300;
/// Maximum number of characters of a reason, which may repeat what was asked for at any length.
const MAX_REASON: usize = 1_000;

/// A decision of the proxy about one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct EgressDecision {
    /// The host and the port, as the program wrote them; a user and a password before them are left
    /// out.
    pub asked: String,
    /// The canonical host; `None` if what was asked for names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The port; `None` if what was asked for names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether the program may connect.
    pub allowed: bool,
    /// The id of the rule that decided.
    pub rule: String,
    /// Why it is refused, and what to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The fact of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EgressDecided {
    /// The task.
    pub task: TaskId,
    /// The agent's request number.
    pub turn: u32,
    /// The call whose program asked.
    pub call_id: CallId,
    /// The decision.
    #[serde(flatten)]
    pub decision: EgressDecision,
}

impl EgressDecision {
    /// Creates the decision to let a program connect.
    pub fn allowed(asked: &str, host: String, port: u16, rule: String) -> EgressDecision {
        let host = Some(host);
        EgressDecision {
            asked: brief(asked),
            host,
            port: Some(port),
            allowed: true,
            rule,
            reason: None,
        }
    }

    /// Creates the decision about what names no host.
    pub fn refused(
        asked: &str,
        rule: impl Into<String>,
        reason: impl Into<String>,
    ) -> EgressDecision {
        let (rule, reason): (String, String) = (rule.into(), reason.into());
        let reason = Some(crate::truncate(&reason, MAX_REASON));
        EgressDecision {
            asked: brief(asked),
            host: None,
            port: None,
            allowed: false,
            rule,
            reason,
        }
    }

    /// Returns the same decision about this host.
    #[must_use]
    pub fn about(self, host: String, port: u16) -> EgressDecision {
        EgressDecision {
            host: Some(host),
            port: Some(port),
            ..self
        }
    }
}

/// Returns what was asked for, without a user and a password, without characters that would not
/// show, and at a bounded length.
fn brief(asked: &str) -> String {
    let asked = crate::text::invisible::shown(asked);
    let asked = asked
        .rsplit_once('@')
        .map_or(asked.clone(), |(_, host)| format!("…@{host}"));
    crate::truncate(&asked, MAX_ASKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_kept_without_a_password() {
        let table = [
            ("example.org:443", "example.org:443"),
            ("ann:secret@example.org:443", "…@example.org:443"),
            ("https://ann:se@cret@example.org/", "…@example.org/"),
            ("ann:secret\n@evil\0.example", "…@evil\\u{0}.example"),
        ];
        for (asked, expected) in table {
            assert_eq!(EgressDecision::refused(asked, "r", "why").asked, expected);
            assert_eq!(
                EgressDecision::allowed(asked, "h".to_owned(), 443, "r".to_owned()).asked,
                expected
            );
        }
    }

    #[test]
    fn a_decision_is_bounded_whatever_was_asked_for() {
        let long = "x".repeat(100_000);
        let EgressDecision { asked, reason, .. } =
            EgressDecision::refused(&long, "r", format!("`{long}` names no host"));
        assert!(asked.chars().count() < 2 * MAX_ASKED);
        assert!(reason.unwrap().chars().count() < 2 * MAX_REASON);
    }
}
