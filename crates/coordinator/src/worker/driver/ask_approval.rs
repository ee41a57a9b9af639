//! Parks a call for approval, as a rule requires, with a summary for the person who decides about
//! it.

use orchestrate_core::event::Event;
use orchestrate_core::text::invisible::is_invisible;
use orchestrate_core::{CallHash, ToolCall};

use crate::error::CoordinatorError;
use crate::worker::workplace::Workplace;

/// The maximum length of a call's summary; the user is asked with the full call.
const SUMMARY_CHARS: usize = 4_000;

/// Parks a call; the decision is among those on the agent's calls once it is made.
pub(super) async fn ask_approval(
    workplace: &Workplace,
    call: ToolCall,
    hash: CallHash,
    rule: String,
) -> Result<(), CoordinatorError> {
    let asked = Event::ApprovalRequested {
        task: workplace.task().clone(),
        call: hash,
        summary: summary(&call),
        call_id: call.id,
        tool: call.name,
        arguments: call.arguments,
        rule,
    };
    workplace.link.record(vec![asked]).await
}

/// Formats a call in one line, for the user who decides about it; omitted characters are counted.
fn summary(call: &ToolCall) -> String {
    let whole = format!("{} {}", call.name, call.arguments);
    let mut shown: String = whole
        .chars()
        .take(SUMMARY_CHARS)
        .flat_map(|c| {
            if is_plain(c) {
                vec![c]
            } else {
                c.escape_unicode().collect()
            }
        })
        .collect();
    let more = whole.chars().count().saturating_sub(SUMMARY_CHARS);
    if more > 0 {
        shown.push_str(&format!("… ({more} more characters)"));
    }
    shown
}

/// Reports whether a character is shown as it is. JSON has escaped the line ends of the arguments
/// already; other deceptive characters are escaped here.
fn is_plain(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() && !is_invisible(c)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_in_whole_or_says_what_is_missing() {
        let call = |command: &str| ToolCall {
            id: "c1".into(),
            name: "run_shell_command".to_owned(),
            arguments: json!({ "command": command }),
        };
        let long = format!("echo {}; rm -rf src", "a".repeat(190));
        assert_eq!(
            summary(&call(&long)),
            format!("run_shell_command {{\"command\":\"{long}\"}}")
        );
        assert_eq!(
            summary(&call("echo é \u{202e}\n")),
            r#"run_shell_command {"command":"echo é \u{202e}\n"}"#
        );
        assert!(summary(&call(&"a".repeat(5_000))).ends_with("a… (1032 more characters)"));
    }
}
