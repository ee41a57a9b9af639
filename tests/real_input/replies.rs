//! The model's replies in `examples/real-input`, chosen as aimock chooses them.
//!
//! The file has aimock's format, so that a reader can follow the walk-through with that server. The
//! first entry whose conditions all hold answers. Only the conditions that the file uses are
//! implemented; another one is an error.

use libtest_mimic::Failed;
use serde_json::Value;

use crate::support::{Reply, fail};

/// The entries of the file.
pub(super) struct Replies(Vec<Value>);

/// A message of either protocol.
struct Message {
    role: String,
    text: String,
}

impl Replies {
    /// Parses the file's text; fails if it uses an unknown condition.
    pub(super) fn parse(text: &str) -> Result<Self, Failed> {
        let file: Value = serde_json::from_str(text)?;
        let entries = file["fixtures"].as_array().cloned().unwrap_or_default();
        for entry in &entries {
            let conditions = entry["match"]
                .as_object()
                .into_iter()
                .flat_map(|conditions| conditions.keys());
            let known = ["userMessage", "hasToolResult", "toolResultContains"];
            if let Some(unknown) = conditions
                .map(String::as_str)
                .find(|name| !known.contains(name))
            {
                return fail(format!("the condition {unknown} is not understood"));
            }
        }
        Ok(Self(entries))
    }

    /// Answers a request; if no entry fits, with an error that clients do not retry.
    pub(super) fn answer(&self, body: &Value) -> Reply {
        let messages = messages(body);
        let Some(entry) = self.0.iter().find(|entry| fits(&entry["match"], &messages)) else {
            let newest = messages.last().map_or("", |message| message.text.as_str());
            return Reply::error(400, &format!("no reply fits {newest}"));
        };
        let reply = Reply::text(entry["response"]["content"].as_str().unwrap_or_default());
        let calls = entry["response"]["toolCalls"]
            .as_array()
            .into_iter()
            .flatten();
        calls.fold(reply, |reply, call| {
            reply.call(
                call["name"].as_str().unwrap_or_default(),
                call["arguments"].clone(),
            )
        })
    }
}

fn fits(conditions: &Value, messages: &[Message]) -> bool {
    let from_user = messages.iter().rposition(|message| message.role == "user");
    let (asked, since) = from_user.map_or(("", messages), |at| {
        (messages[at].text.as_str(), &messages[at + 1..])
    });
    let has_result = since.iter().any(|message| message.role == "tool");
    let result = messages
        .last()
        .filter(|message| message.role == "tool")
        .map(|message| message.text.as_str());
    let holds = |name: &str, check: &dyn Fn(&Value) -> bool| conditions.get(name).is_none_or(check);
    holds("userMessage", &|wanted| {
        wanted.as_str().is_some_and(|wanted| asked.contains(wanted))
    }) && holds("hasToolResult", &|wanted| {
        wanted.as_bool() == Some(has_result)
    }) && holds("toolResultContains", &|wanted| {
        wanted
            .as_str()
            .is_some_and(|wanted| result.is_some_and(|result| result.contains(wanted)))
    })
}

/// Returns the messages of a request. A tool result that Anthropic Messages sends in the user's
/// role becomes a tool's message, as in Chat Completions.
fn messages(body: &Value) -> Vec<Message> {
    let mut all = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        match &message["content"] {
            Value::Array(blocks) => {
                all.extend(blocks.iter().filter_map(|block| of_block(role, block)))
            }
            content => all.push(Message {
                role: role.to_owned(),
                text: text_of(content),
            }),
        }
    }
    all
}

fn of_block(role: &str, block: &Value) -> Option<Message> {
    let (role, content) = match block["type"].as_str()? {
        "tool_result" => ("tool", &block["content"]),
        "text" => (role, &block["text"]),
        _ => return None,
    };
    Some(Message {
        role: role.to_owned(),
        text: text_of(content),
    })
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}
