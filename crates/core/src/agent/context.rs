//! The size limit of a request to a model, and what is left out to stay within it.
//!
//! A request is measured by its *canonical rendering*: the system text, each tool and each message
//! as one JSON text, counted in tokens of the o200k vocabulary and added up, plus
//! [`PROTOCOL_MARGIN`] and [`PART_MARGIN`]s. A reply counts in the larger of the two forms in which
//! it may be sent. That sum must not exceed the agent's limit when a request is sent. What to leave
//! out is decided once, recorded as a [`Compaction`] and never recomputed, so that a resumed agent
//! sends the same requests.
//!
//! Each message is counted once, however many requests contain it: what was counted is kept beside
//! it.

mod counted;
mod size;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::conversation::{Message, ToolCall, ToolResult};
use crate::ids::CallId;

pub(crate) use counted::Memo;
use counted::{Counts, Entry};
pub(crate) use size::tokens_beside_messages;
pub use size::{
    ByteBound, PART_MARGIN, PROTOCOL_MARGIN, TokenCounter, fixed_tokens, request_tokens,
};
use size::{message_tokens, parts};

/// The newest messages with tool results, which are collapsed only as a last resort: the model is
/// still working with them.
pub const KEPT_RESULTS: usize = 4;

/// After a compaction at most this share of the limit (in percent) is in use, so that the next one
/// is some turns away and the provider's prompt cache works in between.
const TARGET_PERCENT: usize = 70;

/// A compaction frees at least this share of the limit (in percent), if it can: otherwise an agent
/// near its limit would need one every turn, and each of them invalidates the provider's prompt
/// cache.
const FREED_PERCENT: usize = 15;

/// Results and arguments of fewer bytes than this are never collapsed: their stub would not be
/// shorter.
const COLLAPSE_FROM_BYTES: usize = 400;

/// Arguments that are still larger than this after collapsing their long texts are left out as a
/// whole.
const COLLAPSED_ARGUMENT_BYTES: usize = 2_000;

/// How a request compares with its size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It may be sent; the number is its size in tokens, or an upper bound.
    Fits(usize),
    /// Only its upper bound exceeds the limit: wait for the exact counter before leaving anything
    /// out.
    Unknown,
    /// It is too large; the number is its size in tokens.
    TooLarge(usize),
}

/// The parts that are left out so that a request fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Compaction {
    /// Messages of the transcript (by index) whose tool results, or whose calls' long arguments,
    /// are replaced by stubs.
    pub collapsed: Vec<usize>,
    /// Messages from `dropped.0` up to but excluding `dropped.1` are left out and replaced by a
    /// note.
    pub dropped: Option<(usize, usize)>,
}

/// One agent's transcript and which part of it is still sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    messages: Vec<Entry>,
    compaction: Compaction,
    /// The lower-case names of the tools whose newest result is never left out, each with the
    /// tool's canonical name.
    in_view: BTreeMap<String, String>,
    /// The tokens of messages that stand for others.
    #[serde(skip)]
    counts: Counts,
}

/// A message as it is sent.
enum Sent<'a> {
    /// As it is in the transcript.
    Whole(&'a Entry),
    /// Collapsed entirely.
    Collapsed(&'a Entry),
    /// Made of others: the note on what is left out, joined texts, or a message of which something
    /// stays in view.
    Made(Message),
}

impl Sent<'_> {
    /// Returns the message that it is or was made of; both have the same kind and the same number
    /// of parts.
    fn source(&self) -> &Message {
        match self {
            Sent::Whole(entry) | Sent::Collapsed(entry) => entry.message(),
            Sent::Made(message) => message,
        }
    }
}

/// The newest result of a tool, which stays in view.
struct Newest<'a> {
    /// The index of its message.
    at: usize,
    tool: &'a str,
    result: &'a ToolResult,
}

impl Context {
    /// Creates an empty transcript; the newest result of the tools with these lower-case names,
    /// each with the tool's canonical name, is never left out.
    pub fn new(in_view: BTreeMap<String, String>) -> Self {
        Self {
            in_view,
            ..Self::default()
        }
    }

    /// Appends a message; consecutive texts are joined, since providers want roles to alternate.
    pub fn push(&mut self, message: Message) {
        if let Some(last) = self.messages.last_mut()
            && let Some(joined) = joined(last.message(), &message)
        {
            *last = joined.into();
        } else {
            self.messages.push(message.into());
        }
    }

    /// Returns the whole transcript, with nothing given up.
    pub(crate) fn transcript(&self) -> Vec<&Message> {
        self.messages.iter().map(Entry::message).collect()
    }

    /// Applies a recorded decision.
    pub fn compact(&mut self, compaction: Compaction) {
        self.compaction = compaction;
        // What stood for other messages before is not sent any more.
        self.counts = Counts::default();
    }

    /// Returns the messages as they are sent.
    pub fn sent(&self) -> Vec<Message> {
        self.sent_under(&self.compaction)
            .into_iter()
            .map(|sent| self.to_message(sent))
            .collect()
    }

    /// Returns the tokens of the messages as they are sent, with the margins of their parts.
    pub(crate) fn tokens(&self, counter: &dyn TokenCounter) -> usize {
        self.tokens_under(&self.compaction, counter)
    }

    fn sent_under(&self, compaction: &Compaction) -> Vec<Sent<'_>> {
        let (from, to) = compaction.dropped.unwrap_or((0, 0));
        let newest = self.newest_in_view();
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(self.messages.len());
        for (at, entry) in self.messages.iter().enumerate() {
            let next = if at >= from && at < to {
                if at > from {
                    continue;
                }
                Sent::Made(Message::User {
                    text: dropped_note(to - from, &newest, to),
                })
            } else if compaction.collapsed.contains(&at) {
                let kept: Vec<&CallId> = newest
                    .iter()
                    .filter(|newest| newest.at == at)
                    .map(|newest| &newest.result.call_id)
                    .collect();
                match kept.is_empty() {
                    true => Sent::Collapsed(entry),
                    false => Sent::Made(self.collapse(entry.message(), &kept)),
                }
            } else {
                Sent::Whole(entry)
            };
            if let Some(last) = sent.last_mut()
                && let Some(joined) = joined(last.source(), next.source())
            {
                *last = Sent::Made(joined);
            } else {
                sent.push(next);
            }
        }
        sent
    }

    fn to_message(&self, sent: Sent<'_>) -> Message {
        match sent {
            Sent::Whole(entry) => entry.message().clone(),
            Sent::Collapsed(entry) => self.collapse(entry.message(), &[]),
            Sent::Made(message) => message,
        }
    }

    fn tokens_under(&self, compaction: &Compaction, counter: &dyn TokenCounter) -> usize {
        let sent = self.sent_under(compaction);
        sent.iter().map(|sent| self.tokens_of(sent, counter)).sum()
    }

    fn tokens_of(&self, sent: &Sent<'_>, counter: &dyn TokenCounter) -> usize {
        let own = match sent {
            Sent::Whole(entry) => entry.tokens(counter),
            Sent::Collapsed(entry) => entry.tokens_collapsed(counter, |message| {
                message_tokens(&self.collapse(message, &[]), counter)
            }),
            Sent::Made(message) => self.counts.tokens(message, counter),
        };
        own + PART_MARGIN * parts(sent.source())
    }

    /// Returns the newest result of each tool whose results stay in view, in the order of their
    /// names.
    fn newest_in_view(&self) -> Vec<Newest<'_>> {
        let mut found: BTreeMap<&str, Newest<'_>> = BTreeMap::new();
        if self.in_view.is_empty() {
            return Vec::new();
        }
        for (before, turn) in self.messages.windows(2).enumerate().rev() {
            let [call, answer] = turn else { continue };
            let (Message::Assistant { tool_calls, .. }, Message::Tool { results }) =
                (call.message(), answer.message())
            else {
                continue;
            };
            for result in results.iter().rev().filter(|result| !result.is_error) {
                let call = tool_calls.iter().find(|call| call.id == result.call_id);
                let Some(tool) = call.and_then(|call| self.in_view_as(call)) else {
                    continue;
                };
                found.entry(tool).or_insert(Newest {
                    at: before + 1,
                    tool,
                    result,
                });
            }
        }
        found.into_values().collect()
    }

    /// Decides what to leave out so that a request with these messages and `fixed` other tokens
    /// fits into `bound`.
    ///
    /// Old tool results go first, oldest first; then whole turns after the first message, which
    /// contains the task, once results alone free too little; and if the newest turn alone is too
    /// large, its results and then its calls. Returns `None` if the parts that cannot be left out
    /// (the task, the tools, what stays in view) are too large.
    pub fn decide(
        &self,
        fixed: usize,
        bound: usize,
        counter: &dyn TokenCounter,
    ) -> Option<Compaction> {
        let sizes = Sizes {
            context: self,
            fixed,
            counter,
        };
        let freed = bound.saturating_mul(FREED_PERCENT) / 100;
        let enough = sizes.under(&self.compaction).saturating_sub(freed);
        let enough = enough.min(bound);
        let target = bound.saturating_mul(TARGET_PERCENT) / 100;
        let (collapsing, dropping) = (self.collapsing(), self.dropping());
        let steps = [
            (&collapsing, target),
            (&collapsing, enough),
            (&dropping, target),
            (&dropping, enough),
            (&collapsing, bound),
            (&dropping, bound),
        ];
        for (compactions, limit) in steps {
            if let Some(least) = sizes.first_within(compactions, limit) {
                return Some(least.clone());
            }
        }
        sizes.first_within(&self.last_resort(), bound).cloned()
    }

    /// Returns the compactions that collapse old results, one more in each.
    fn collapsing(&self) -> Vec<Compaction> {
        let mut compaction = self.compaction.clone();
        let mut compactions = Vec::new();
        for at in self.collapsible() {
            compaction.collapsed.push(at);
            compactions.push(compaction.clone());
        }
        compactions
    }

    /// Returns the compactions that leave out turns, one more in each; all old results are
    /// collapsed.
    fn dropping(&self) -> Vec<Compaction> {
        let mut collapsed = match self.collapsing().pop() {
            Some(compaction) => compaction.collapsed,
            None => self.compaction.collapsed.clone(),
        };
        let mut compactions = Vec::new();
        for to in self.droppable() {
            // What is left out is not listed, so that the list does not grow with the transcript.
            collapsed.retain(|at| *at >= to);
            compactions.push(Compaction {
                collapsed: collapsed.clone(),
                dropped: Some((1, to)),
            });
        }
        compactions
    }

    /// Returns the compactions that reduce the remaining messages, one more in each: results, then
    /// calls.
    fn last_resort(&self) -> Vec<Compaction> {
        let mut compactions = self.collapsing();
        compactions.extend(self.dropping());
        let mut compaction = match compactions.pop() {
            Some(last) => last,
            None => self.compaction.clone(),
        };
        let from = dropped_to(&compaction);
        let mut open = self.indices(is_of_tools);
        open.extend(self.indices(is_of_agent));
        open.retain(|at| *at >= from && !compaction.collapsed.contains(at));
        let mut compactions = Vec::new();
        for at in open {
            compaction.collapsed.push(at);
            compactions.push(compaction.clone());
        }
        compactions
    }

    /// Returns the indices of tool messages that may still be collapsed, oldest first.
    fn collapsible(&self) -> Vec<usize> {
        let mut tools = self.indices(is_of_tools);
        tools.truncate(tools.len().saturating_sub(KEPT_RESULTS));
        tools.retain(|at| {
            *at >= dropped_to(&self.compaction) && !self.compaction.collapsed.contains(at)
        });
        tools
    }

    fn indices(&self, fits: fn(&Message) -> bool) -> Vec<usize> {
        let mut indices = Vec::new();
        for (at, entry) in self.messages.iter().enumerate() {
            if fits(entry.message()) {
                indices.push(at);
            }
        }
        indices
    }

    /// Returns the ends of prefixes that may be dropped: always before an assistant message, so
    /// that no result is left without its call, and never the last turn.
    fn droppable(&self) -> Vec<usize> {
        let from = self.compaction.dropped.map_or(2, |(_, to)| to + 1);
        let mut ends = self.indices(is_of_agent);
        ends.retain(|at| *at >= from);
        ends
    }

    /// Returns the canonical name of the tool that a call means, if its newest result stays in
    /// view.
    fn in_view_as(&self, call: &ToolCall) -> Option<&str> {
        self.in_view
            .get(&call.name.trim().to_lowercase())
            .map(String::as_str)
    }

    /// Collapses a message, except these results.
    fn collapse(&self, message: &Message, kept: &[&CallId]) -> Message {
        match message {
            Message::User { .. } => message.clone(),
            Message::Tool { results } => {
                let mut results = results.clone();
                for result in &mut results {
                    if !kept.contains(&&result.call_id) {
                        collapse_result(result);
                    }
                }
                Message::Tool { results }
            }
            Message::Assistant {
                text, tool_calls, ..
            } => Message::Assistant {
                text: stub(text, "your reply").unwrap_or_else(|| text.clone()),
                tool_calls: tool_calls
                    .iter()
                    .map(|call| self.collapse_call(call))
                    .collect(),
                // The provider's own blocks repeat the text.
                raw: None,
            },
        }
    }

    /// Collapses the long texts anywhere in a call's arguments, except those of a tool whose
    /// results stay in view.
    fn collapse_call(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        if self.in_view_as(&call).is_some() {
            return call;
        }
        collapse_value(&mut call.arguments);
        // Long names and numbers are not texts that could be cut.
        let bytes = call.arguments.to_string().len();
        if bytes > COLLAPSED_ARGUMENT_BYTES {
            call.arguments = serde_json::json!({"left_out": format!("{bytes} bytes: the call was \
                made with the full text")});
        }
        call
    }
}

/// The sizes of a request with a context and so many other tokens, by what is left out of it.
struct Sizes<'a> {
    context: &'a Context,
    fixed: usize,
    counter: &'a dyn TokenCounter,
}

impl Sizes<'_> {
    fn under(&self, compaction: &Compaction) -> usize {
        self.fixed + self.context.tokens_under(compaction, self.counter)
    }

    /// Returns the first of the compactions under which the request fits. Each leaves out more than
    /// the one before, so a binary search finds it.
    fn first_within<'c>(
        &self,
        compactions: &'c [Compaction],
        limit: usize,
    ) -> Option<&'c Compaction> {
        compactions.get(compactions.partition_point(|one| self.under(one) > limit))
    }
}

fn is_of_tools(message: &Message) -> bool {
    matches!(message, Message::Tool { .. })
}

fn is_of_agent(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

/// Returns the index of the first message after those that are left out.
fn dropped_to(compaction: &Compaction) -> usize {
    compaction.dropped.map_or(0, |(_, to)| to)
}

/// Compares the size of a request, as this counter counts it, with its limit.
pub fn fit(size: usize, bound: usize, counter: &dyn TokenCounter) -> Fit {
    if size <= bound {
        Fit::Fits(size)
    } else if counter.is_exact() {
        Fit::TooLarge(size)
    } else {
        Fit::Unknown
    }
}

fn collapse_result(result: &mut ToolResult) {
    let what = "call the tool again, in smaller parts, if you need it";
    if let Some(stub) = stub(&result.text, what) {
        result.text = stub;
    }
}

fn collapse_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(stub) = stub(text, "the call was made with the full text") {
                *text = stub;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(collapse_value),
        Value::Object(fields) => fields.values_mut().for_each(collapse_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the stub for a long text, or `None` for a short one.
fn stub(text: &str, what: &str) -> Option<String> {
    let lines = text.lines().count();
    (text.len() >= COLLAPSE_FROM_BYTES).then(|| format!("[left out, {lines} lines: {what}]"))
}

/// Returns what stands in the place of messages that are left out, up to the one with the index
/// `to`.
fn dropped_note(count: usize, newest: &[Newest<'_>], to: usize) -> String {
    let mut note = format!(
        "[{count} earlier messages left out to stay within the context; your files and commits are \
         as you left them]"
    );
    for Newest { tool, result, .. } in newest.iter().filter(|newest| newest.at < to) {
        note.push_str(&format!(
            "\n\nThe newest result of `{tool}`:\n{}",
            result.text
        ));
    }
    note
}

/// Joins two messages that follow each other into one, if both are texts.
fn joined(first: &Message, second: &Message) -> Option<Message> {
    match (first, second) {
        (Message::User { text }, Message::User { text: more }) => Some(Message::User {
            text: format!("{text}\n\n{more}"),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
