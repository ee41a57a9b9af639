//! Hooks: commands of the user's or of the project's that are asked about an agent's calls and
//! about its end, and what they answer.
//!
//! A hook narrows: what it lets pass is left to the rules, and a call that it changes is judged by
//! them as if the agent had asked for that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::matches_text;
use crate::text::cut;

/// The exit code with which a command denies.
const DENIES: i32 = 2;
/// The maximum size of what a hook says to an agent, in bytes: about 1,000 tokens.
const MAX_SAID_BYTES: usize = 4_096;
/// What is told where a hook denies without a reason.
const NO_REASON: &str = "it gave no reason";

/// When a hook is asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before the rules decide about a call.
    BeforeTool,
    /// When a call has ended, before its agent is told the result.
    AfterTool,
    /// When an agent hands back its work.
    BeforeFinish,
    /// When an event has been recorded; it only observes.
    OnEvent,
}

impl HookPoint {
    /// All of them, in the order in which they are shown.
    pub const ALL: [HookPoint; 4] = [
        HookPoint::BeforeTool,
        HookPoint::AfterTool,
        HookPoint::BeforeFinish,
        HookPoint::OnEvent,
    ];

    /// Returns its name in settings and in what a command reads.
    pub fn as_str(self) -> &'static str {
        match self {
            HookPoint::BeforeTool => "before_tool",
            HookPoint::AfterTool => "after_tool",
            HookPoint::BeforeFinish => "before_finish",
            HookPoint::OnEvent => "on_event",
        }
    }
}

/// A command that is a hook, as a run freezes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookCommand {
    /// When it is asked.
    pub point: HookPoint,
    /// The tools about whose calls it is asked, by their canonical names, with `*` for any text;
    /// none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The types of the events that it observes; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// The line for a shell.
    pub command: String,
    /// Its time limit in milliseconds.
    pub timeout_ms: u64,
    /// Whether it runs in the sandbox, as every command of a project does, rather than with the
    /// user's rights.
    pub is_confined: bool,
    /// Where it is written.
    pub source: String,
}

impl HookCommand {
    /// Reports whether it is asked about calls of this tool.
    pub fn is_about_tool(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|name| matches_text(name, tool))
    }

    /// Reports whether it observes events of this type.
    pub fn observes(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|name| matches_text(name, kind))
    }
}

impl std::fmt::Display for HookCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rights = if self.is_confined {
            "in the sandbox"
        } else {
            "with your rights"
        };
        let point = self.point.as_str();
        write!(
            f,
            "{point} asks `{}` {rights} ({})",
            self.command, self.source
        )
    }
}

/// What a hook answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// What it decides.
    pub ruling: HookRuling,
    /// What the agent is told beside the call's result.
    pub context: Option<String>,
}

/// What a hook decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HookRuling {
    /// It has no objection: the rules decide.
    #[default]
    Pass,
    /// The rules decide about the call with these arguments instead; only before a call.
    Change(Value),
    /// The call does not run, its result counts as a failure, or the work goes back; the agent is
    /// told why.
    Deny(String),
}

impl HookAnswer {
    /// Creates the answer that denies.
    pub fn deny(reason: impl Into<String>) -> HookAnswer {
        HookAnswer {
            ruling: HookRuling::Deny(reason.into()),
            context: None,
        }
    }

    /// Reads what a command has answered by its exit code and its output.
    ///
    /// # Errors
    /// Fails with the reason, as the end of a sentence, if that is no answer.
    pub fn read(point: HookPoint, code: i32, stdout: &str, stderr: &str) -> Result<Self, String> {
        match code {
            0 => {}
            DENIES => return Ok(Self::deny(said(Some(stderr)))),
            code => {
                return Err(format!(
                    "ended with exit code {code}: {}",
                    said(Some(stderr))
                ));
            }
        }
        let stdout = stdout.trim();
        if !stdout.starts_with('{') {
            return Ok(Self::default());
        }
        let written: Written = serde_json::from_str(stdout)
            .map_err(|error| format!("wrote to its standard output what is no answer: {error}"))?;
        written.answer(point)
    }
}

/// The JSON of an answer: ours, and the forms of it that Claude Code reads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    decision: Option<String>,
    reason: Option<String>,
    arguments: Option<Value>,
    context: Option<String>,
    #[serde(default, rename = "hookSpecificOutput")]
    specific: Specific,
    #[serde(rename = "continue")]
    continues: Option<bool>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<String>,
    /// It is about what a person sees.
    #[serde(rename = "suppressOutput")]
    _suppress: Option<bool>,
    /// It is about what a person sees.
    #[serde(rename = "systemMessage")]
    _message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Specific {
    #[serde(rename = "hookEventName")]
    _event: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
}

impl Written {
    fn answer(self, point: HookPoint) -> Result<HookAnswer, String> {
        let specific = self.specific;
        let context = self.context.or(specific.additional_context);
        let reason = self.reason.or(specific.permission_decision_reason);
        let decision = stricter(self.decision, specific.permission_decision);
        let arguments = self.arguments.or(specific.updated_input);
        let ruling = match decision.as_deref() {
            _ if self.continues == Some(false) => {
                HookRuling::Deny(said(self.stop_reason.or(reason).as_deref()))
            }
            Some("deny" | "block") => HookRuling::Deny(said(reason.as_deref())),
            None | Some("allow" | "approve") => {
                arguments.map_or(HookRuling::Pass, HookRuling::Change)
            }
            Some(other) => {
                return Err(format!(
                    "answered with the decision `{other}`; `allow` and `deny` are known"
                ));
            }
        };
        match (&ruling, point) {
            (HookRuling::Change(Value::Object(_)), HookPoint::BeforeTool) => {}
            (HookRuling::Change(_), HookPoint::BeforeTool) => {
                return Err("answered with arguments that are no JSON object".to_owned());
            }
            (HookRuling::Change(_), _) => {
                let point = point.as_str();
                return Err(format!(
                    "answered with arguments, which `{point}` cannot change"
                ));
            }
            _ => {}
        }
        Ok(HookAnswer {
            ruling,
            context: context.as_deref().map(in_bounds),
        })
    }
}

/// Returns the decision that counts if an answer has one in each form: the one that denies.
fn stricter(ours: Option<String>, theirs: Option<String>) -> Option<String> {
    if !denies(ours.as_deref()) && denies(theirs.as_deref()) {
        return theirs;
    }
    ours.or(theirs)
}

/// Reports whether a decision does not let a call pass.
fn denies(decision: Option<&str>) -> bool {
    decision.is_some_and(|decision| !matches!(decision, "allow" | "approve"))
}

/// Returns the reason that a hook gives, as an agent is told it.
fn said(reason: Option<&str>) -> String {
    match reason.map(str::trim) {
        None | Some("") => NO_REASON.to_owned(),
        Some(reason) => in_bounds(reason),
    }
}

fn in_bounds(text: &str) -> String {
    cut(text.trim(), MAX_SAID_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(code: i32, stdout: &str, stderr: &str) -> Result<HookAnswer, String> {
        HookAnswer::read(HookPoint::BeforeTool, code, stdout, stderr)
    }

    #[test]
    fn answers_are_read_in_our_form_and_in_claude_codes() {
        let told = |ruling, context: &str| HookAnswer {
            ruling,
            context: Some(context.to_owned()),
        };
        let change = || HookRuling::Change(json!({"path": "b"}));
        let table = [
            (0, "", "", HookAnswer::default()),
            (0, "all is well", "", HookAnswer::default()),
            (2, "{", " not here\n", HookAnswer::deny("not here")),
            (2, "", "", HookAnswer::deny(NO_REASON)),
            (
                0,
                r#"{"decision": "deny", "reason": "no"}"#,
                "",
                HookAnswer::deny("no"),
            ),
            (
                0,
                r#"{"decision": "block", "reason": "no"}"#,
                "",
                HookAnswer::deny("no"),
            ),
            (
                0,
                r#"{"continue": false, "stopReason": "no"}"#,
                "",
                HookAnswer::deny("no"),
            ),
            (
                0,
                r#"{"decision": "allow", "reason": "no",
                    "hookSpecificOutput": {"permissionDecision": "deny"}}"#,
                "",
                HookAnswer::deny("no"),
            ),
            (
                0,
                r#"{"arguments": {"path": "b"}, "context": "c"}"#,
                "",
                told(change(), "c"),
            ),
            (
                0,
                r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse",
                    "permissionDecision": "allow", "updatedInput": {"path": "b"},
                    "additionalContext": "c"}}"#,
                "",
                told(change(), "c"),
            ),
            (
                0,
                r#"{"hookSpecificOutput": {"permissionDecision": "deny",
                    "permissionDecisionReason": "no"}}"#,
                "",
                HookAnswer::deny("no"),
            ),
        ];
        for (code, stdout, stderr, expected) in table {
            assert_eq!(read(code, stdout, stderr), Ok(expected), "{code} {stdout}");
        }
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
        let table = [
            (1, "", "boom", "exit code 1: boom"),
            (0, "{\"decision\"", "", "no answer"),
            (0, r#"{"descision": "deny"}"#, "", "descision"),
            (0, r#"{"decision": "ask"}"#, "", "`ask`"),
            (0, r#"{"arguments": 1}"#, "", "no JSON object"),
        ];
        for (code, stdout, stderr, expected) in table {
            let error = read(code, stdout, stderr).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let late = r#"{"arguments": {}}"#;
        assert!(HookAnswer::read(HookPoint::AfterTool, 0, late, "").is_err());
    }
}
