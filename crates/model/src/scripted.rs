//! A model whose replies come from a file: `script:FILE`, in JSON Lines, one [`Rule`] per line.
//!
//! A rule states which requests it answers (`task`, `when`, both optional), the `reply`, and how
//! many `times` it is used at most:
//!
//! ```json
//! {"task": "T1", "when": {"returned": "conflict"}, "reply": {"text": "Done."}, "times": 1}
//! ```
//!
//! Every condition in `when` has to match the request:
//!
//! - `turn`: the number of the agent's request, from 1, counted across attempts;
//! - `returned`: the request is the first one after the work was returned to its agent for this
//!   cause, as in `task.returned`: `conflict`, `task_check`, `run_check`, `deletions`,
//!   `unstorable`, `rejected` or `retried`. So a rule does not depend on the wording of the message
//!   to the agent;
//! - `last_contains`: a part of the newest message, or of one of the newest tool results.
//!
//! The first matching rule answers. A rule with `times` is used up after that many replies, counted
//! over the whole run: each reply names its rule in [`ModelReply::raw`], from which a resumed run
//! restores the counts ([`ScriptedModel::resume`]). Nothing here depends on a clock or a random
//! number.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_core::agent::conversation::RawBlocks;
use orchestrate_core::collections::Mutex;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{CallId, Message, ModelReply, ModelRequest, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::ModelError;
use crate::model::{Delta, Model};
use crate::tokens::estimated_usage;

/// The prefix of a scripted model's name, `script:FILE`.
pub(crate) const SCRIPT_PREFIX: &str = "script:";
/// Maximum size of a script in bytes: far more than anyone writes, so only a wrong file is refused.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// A model that answers with the first matching rule of a script.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    rules: Vec<Rule>,
    /// The number of replies of each rule, in the order of the rules.
    answered: Mutex<Vec<u64>>,
    pace: Duration,
}

/// One line of a script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    task: Option<String>,
    #[serde(default)]
    when: When,
    reply: Reply,
    times: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    turn: Option<u32>,
    returned: Option<ReturnCause>,
    last_contains: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    text: String,
    #[serde(default)]
    tool_calls: Vec<Call>,
    #[serde(default)]
    usage: ReplyUsage,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

/// The token counts of a reply; those that a script leaves out are estimated.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyUsage {
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

impl ScriptedModel {
    /// Loads the script of `script:FILE`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Script`] if the file cannot be read, is too large, or contains an invalid rule
    /// or none.
    pub fn load(file: &Path) -> Result<Self, ModelError> {
        let name = format!("{SCRIPT_PREFIX}{}", file.display());
        let problem = match std::fs::metadata(file) {
            Ok(found) if found.len() > MAX_SCRIPT_BYTES => {
                format!("is larger than {MAX_SCRIPT_BYTES} bytes")
            }
            Ok(_) => match std::fs::read_to_string(file) {
                Ok(text) => return Self::parse(&name, &text),
                Err(cause) => format!("cannot be read: {cause}"),
            },
            Err(cause) => format!("cannot be read: {cause}"),
        };
        Err(script_error(&name, 0, problem))
    }

    /// Parses the rules of a script; `name` is the model's name, `script:FILE`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Script`] with the number of the first line that is not a valid rule, or 0
    /// if there are no rules.
    pub fn parse(name: &str, text: &str) -> Result<Self, ModelError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            rules.push(parse_rule(line).map_err(|problem| script_error(name, at + 1, problem))?);
        }
        if rules.is_empty() {
            return Err(script_error(name, 0, "has no rules".to_owned()));
        }
        let answered = Mutex::new(vec![0; rules.len()]);
        Ok(Self {
            name: name.to_owned(),
            rules,
            answered,
            pace: Duration::ZERO,
        })
    }

    /// Counts the replies that a run has already recorded, so that `times` is kept across a resume.
    ///
    /// Replies of other models or scripts are ignored.
    #[must_use]
    pub fn resume<'a>(self, recorded: impl IntoIterator<Item = &'a ModelReply>) -> Self {
        {
            let mut answered = self.answered.lock();
            for reply in recorded {
                if let Some(rule) = rule_of(&self.name, reply)
                    && let Some(at) = rule.checked_sub(1)
                    && let Some(count) = answered.get_mut(at)
                {
                    *count += 1;
                }
            }
        }
        self
    }

    /// Delays each reply, so that the requests of several agents visibly overlap.
    #[must_use]
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Returns the first matching rule, with its number from 1, and counts its use. Both happen
    /// under one lock, so that two agents never share its last use.
    fn take_rule(&self, request: &ModelRequest) -> Option<(usize, &Rule)> {
        let mut answered = self.answered.lock();
        for (number, (rule, count)) in (1..).zip(self.rules.iter().zip(answered.iter_mut())) {
            if rule.fits(request) && rule.times.is_none_or(|times| *count < times) {
                *count += 1;
                return Some((number, rule));
            }
        }
        None
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        if self.pace.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(self.pace).await;
        }
        let (number, rule) =
            self.take_rule(request)
                .ok_or_else(|| ModelError::NoScriptedReply {
                    model: self.name.clone(),
                    task: request.origin.task.clone(),
                    turn: request.origin.turn,
                })?;
        let reply = rule.reply.answer(
            request,
            RawBlocks {
                model: self.name.clone(),
                blocks: vec![json!({ "rule": number })],
            },
        );
        if !rule.reply.text.is_empty() {
            on_delta(Delta::Text(&rule.reply.text));
        }
        for call in &rule.reply.tool_calls {
            on_delta(Delta::ToolCall { name: &call.name });
        }
        Ok(reply)
    }
}

impl Rule {
    fn fits(&self, request: &ModelRequest) -> bool {
        let When {
            turn,
            returned,
            last_contains,
        } = &self.when;
        if let Some(task) = &self.task
            && task != request.origin.task.as_str()
        {
            return false;
        }
        if turn.is_some() && *turn != Some(request.origin.turn) {
            return false;
        }
        if returned.is_some() && *returned != request.origin.returned {
            return false;
        }
        match last_contains {
            Some(part) => last_contains_text(request, part),
            None => true,
        }
    }
}

impl Reply {
    fn answer(&self, request: &ModelRequest, raw: RawBlocks) -> ModelReply {
        let turn = request.origin.turn;
        let mut tool_calls = Vec::new();
        for (at, call) in self.tool_calls.iter().enumerate() {
            tool_calls.push(ToolCall {
                id: CallId::new(format!("call_{turn}_{}", at + 1)),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
        }
        let stop = if tool_calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolCalls
        };
        let usage = Usage::default();
        let mut reply = ModelReply {
            text: self.text.clone(),
            tool_calls,
            stop,
            usage,
            raw: Some(raw),
        };
        let estimated = estimated_usage(request, &reply);
        reply.usage = Usage {
            input_tokens: self.usage.input_tokens.unwrap_or(estimated.input_tokens),
            cached_tokens: self.usage.cached_tokens.unwrap_or(estimated.cached_tokens),
            output_tokens: self.usage.output_tokens.unwrap_or(estimated.output_tokens),
        };
        reply
    }
}

fn parse_rule(line: &str) -> Result<Rule, String> {
    let rule: Rule = serde_json::from_str(line).map_err(|error| {
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or(&text);
        format!("{problem}, at column {}", error.column())
    })?;
    if rule.times == Some(0) {
        return Err(
            "`times` is 0, so the rule never matches; remove the rule, or `times` for no limit"
                .to_owned(),
        );
    }
    if rule.reply.text.is_empty() && rule.reply.tool_calls.is_empty() {
        return Err("`reply` has neither `text` nor `tool_calls`".to_owned());
    }
    for call in &rule.reply.tool_calls {
        if call.name.is_empty() {
            return Err(format!(
                "a tool call has an empty `name` (arguments {})",
                call.arguments
            ));
        }
    }
    Ok(rule)
}

fn script_error(name: &str, line: usize, problem: String) -> ModelError {
    let file = name.strip_prefix(SCRIPT_PREFIX).unwrap_or(name).into();
    ModelError::Script {
        file,
        line,
        problem,
    }
}

/// Returns the number of the rule that a recorded reply names, if the reply is from this script.
fn rule_of(name: &str, reply: &ModelReply) -> Option<usize> {
    let raw = reply.raw.as_ref()?;
    if raw.model != name {
        return None;
    }
    raw.blocks.first()?.get("rule")?.as_u64()?.try_into().ok()
}

/// Reports whether the newest message contains a text. The results of one turn are one message, and
/// each of them is searched.
fn last_contains_text(request: &ModelRequest, part: &str) -> bool {
    match request.messages.last() {
        Some(Message::User { text } | Message::Assistant { text, .. }) => text.contains(part),
        Some(Message::Tool { results }) => results.iter().any(|result| result.text.contains(part)),
        None => false,
    }
}

#[cfg(test)]
mod tests;
