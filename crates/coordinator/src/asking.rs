//! What a person who decides about a tool call is shown, as a hash: an approval without a terminal names it.

use orchestrate_core::CallHash;
use orchestrate_core::run_state::Approval;
use sha2::{Digest as _, Sha256};

/// How much of the hash is shown and typed, in hexadecimal digits: 48 bits, which nobody finds a second call for while
/// the first one waits.
const SHOWN_DIGITS: usize = 12;

/// Returns the hash of all that is recorded of a call that asks: which call, tool, arguments and rule.
pub fn shown_hash(call: &CallHash, approval: &Approval) -> String {
    let mut hash = Sha256::new();
    let arguments = approval.arguments.to_string();
    for part in [call.as_str(), &approval.tool, &approval.summary, &arguments, &approval.rule] {
        // The lengths keep two different calls from running into the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(SHOWN_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Approval { tool: "run_shell_commands".to_owned(), summary: String::new(), ..asked.clone() },
            Approval { arguments: serde_json::json!({"command": "echo "}), ..asked.clone() },
            Approval { rule: "ask:x".to_owned(), ..asked.clone() },
        ];
        let hash = shown_hash(&call, &asked);
        assert_eq!((hash.len(), shown_hash(&call, &asked)), (SHOWN_DIGITS, hash.clone()));
        assert!(others.iter().all(|other| shown_hash(&call, other) != hash));
        assert_ne!(shown_hash(&CallHash::new("c2"), &asked), hash);
    }
}
