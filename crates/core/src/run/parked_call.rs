//! The hash of a parked tool call, which an approval without a terminal must name.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::event::{Event, Recorded};
use crate::ids::CallHash;
use crate::run::run_state::Approval;
use crate::text::{REDACTED, hex, is_truncated};

/// How many hexadecimal digits of the hash are shown and typed: 48 bits, too many to find a second
/// matching call while the first one waits.
const SHOWN_DIGITS: usize = 12;

/// Returns the hash of everything recorded about a parked call: its id, tool, arguments and rule.
pub fn shown_hash(call: &CallHash, approval: &Approval) -> String {
    let mut hash = Sha256::new();
    let arguments = approval.arguments.to_string();
    for part in [
        call.as_str(),
        &approval.tool,
        &approval.summary,
        &arguments,
        &approval.rule,
    ] {
        // Hashing the lengths keeps two different calls from producing the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()).chars().take(SHOWN_DIGITS).collect()
}

/// Reports whether all of a call is recorded, so that a person who looks at it sees what would run.
///
/// It is not where a secret was redacted, nor where only a summary that was cut is recorded. A call
/// that itself holds the mark of a redaction cannot be told from a redacted one, so it counts as
/// one.
pub fn is_whole(approval: &Approval) -> bool {
    let is_cut = approval.arguments.is_null() && is_truncated(&approval.summary);
    let arguments = approval.arguments.to_string();
    !is_cut
        && ![&approval.tool, &approval.summary, &arguments]
            .iter()
            .any(|part| part.contains(REDACTED))
}

/// Returns an event as [`Recorded::stream_json`] does, with the hash that an approval of the call
/// has to name, where all of it is recorded.
pub fn stream_json_with_hash(fact: &Recorded) -> Value {
    let mut json = fact.stream_json();
    if let Event::ApprovalRequested { call, .. } = &fact.event
        && let Some(approval) = Approval::requested_by(&fact.event)
        && is_whole(&approval)
        && let Some(object) = json.as_object_mut()
    {
        let hash = shown_hash(call, &approval);
        object.insert("hash".to_owned(), Value::String(hash));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CallId, RunId, TaskId};

    #[test]
    fn each_part_of_a_call_is_part_of_its_hash() {
        let asked = Approval {
            task: "T1".into(),
            tool: "run_shell_command".to_owned(),
            summary: "s".to_owned(),
            arguments: serde_json::json!({"command": "echo"}),
            rule: "ask".to_owned(),
            decision: None,
        };
        let call = CallHash::new("c1");
        let others = [
            Approval {
                tool: "run_shell_commands".to_owned(),
                summary: String::new(),
                ..asked.clone()
            },
            Approval {
                arguments: serde_json::json!({"command": "echo "}),
                ..asked.clone()
            },
            Approval {
                rule: "ask:x".to_owned(),
                ..asked.clone()
            },
        ];
        let hash = shown_hash(&call, &asked);
        // The control: the same call has the same hash.
        assert_eq!(
            (hash.len(), shown_hash(&call, &asked)),
            (SHOWN_DIGITS, hash.clone())
        );
        assert!(others.iter().all(|other| shown_hash(&call, other) != hash));
        assert_ne!(shown_hash(&CallHash::new("c2"), &asked), hash);
    }

    #[test]
    fn an_event_tells_the_hash_of_a_whole_call() {
        let asked = Event::ApprovalRequested {
            task: TaskId::from("T1"),
            call: CallHash::new("c1"),
            call_id: CallId::new("1"),
            tool: "run_shell_command".to_owned(),
            summary: "s".to_owned(),
            arguments: serde_json::json!({"command": "echo"}),
            rule: "ask".to_owned(),
        };
        let mut fact = Recorded {
            run_id: RunId::new("r-1"),
            seq: 1,
            ts_ms: 0,
            v: 1,
            event: asked,
        };
        let approval = Approval::requested_by(&fact.event).unwrap();
        let hash = shown_hash(&CallHash::new("c1"), &approval);
        assert_eq!(stream_json_with_hash(&fact)["hash"], hash.as_str());
        if let Event::ApprovalRequested { arguments, .. } = &mut fact.event {
            *arguments = serde_json::json!({"command": REDACTED});
        }
        assert!(stream_json_with_hash(&fact).get("hash").is_none());
    }

    #[test]
    fn what_was_cut_or_blotted_out_is_not_whole() {
        let whole = Approval {
            task: "T1".into(),
            tool: "run_shell_command".to_owned(),
            summary: "run".to_owned(),
            arguments: serde_json::json!({"command": "echo", "deep": [{"a": "b"}]}),
            rule: "ask".to_owned(),
            decision: None,
        };
        let blotted = format!("sh {REDACTED}KEY]");
        let null = serde_json::Value::Null;
        let cases = [
            (whole.clone(), true),
            (
                Approval {
                    arguments: null.clone(),
                    ..whole.clone()
                },
                true,
            ),
            (
                Approval {
                    arguments: null.clone(),
                    summary: "run… (9 more characters)".to_owned(),
                    ..whole.clone()
                },
                false,
            ),
            (
                Approval {
                    arguments: null,
                    summary: blotted.clone(),
                    ..whole.clone()
                },
                false,
            ),
            (
                Approval {
                    arguments: serde_json::json!({"command": blotted}),
                    ..whole.clone()
                },
                false,
            ),
            (
                Approval {
                    arguments: serde_json::json!({"deep": [{blotted.clone(): 1}]}),
                    ..whole.clone()
                },
                false,
            ),
            (
                Approval {
                    tool: blotted,
                    ..whole
                },
                false,
            ),
        ];
        for (approval, expected) in cases {
            assert_eq!(is_whole(&approval), expected, "{approval:?}");
        }
    }
}
