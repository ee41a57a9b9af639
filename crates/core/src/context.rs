//! The size limit of a request to a model, and what is left out to stay within it.
//!
//! A request is measured by its *canonical rendering*: the system text, each tool and each message as one JSON text,
//! counted in tokens of the o200k vocabulary and added up, plus [`PROTOCOL_MARGIN`] and [`PART_MARGIN`]s. That sum
//! must not exceed the agent's limit when a request is sent. What to leave out is decided once, recorded as a
//! [`Compaction`] and never recomputed, so that a resumed agent sends the same requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Message, ModelRequest, ToolCall, ToolResult, ToolSpec};
use crate::ids::CallId;

/// Tokens left free for the framing that a provider adds to the canonical rendering.
///
/// Chat Completions adds about four tokens a message and Anthropic Messages a system block for tools; the
/// canonical rendering's own JSON keys are counted already and are longer than either.
pub const PROTOCOL_MARGIN: usize = 256;

/// Tokens left free for each tool, message, call and result: a protocol's keys may be longer than ours. The model
/// crate's tests compare the bodies of both protocols with the sum.
pub const PART_MARGIN: usize = 8;

/// The newest messages with tool results, which are collapsed only as a last resort: the model is still working with
/// them.
pub const KEPT_RESULTS: usize = 4;

/// After a compaction at most this share of the limit (in percent) is in use, so that the next one is some turns away
/// and the provider's prompt cache works in between.
const TARGET_PERCENT: usize = 70;

/// A compaction frees at least this share of the limit (in percent), if it can: otherwise an agent near its limit
/// would need one every turn, and each of them invalidates the provider's prompt cache.
const FREED_PERCENT: usize = 15;

/// Results and arguments of fewer bytes than this are never collapsed: their stub would not be shorter.
const COLLAPSE_FROM_BYTES: usize = 400;

/// Arguments that are still larger than this after collapsing their long texts are left out as a whole.
const COLLAPSED_ARGUMENT_BYTES: usize = 2_000;

/// Counts tokens.
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of the text, or an upper bound.
    fn count(&self, text: &str) -> usize;
    /// Reports whether [`Self::count`] is exact; nothing is left out because of an inexact count.
    fn is_exact(&self) -> bool;
}

/// Bounds tokens by bytes: every token of a byte-pair vocabulary stands for at least one byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteBound;

impl TokenCounter for ByteBound {
    fn count(&self, text: &str) -> usize {
        text.len()
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// How a request compares with its size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It may be sent; the number is its size in tokens, or an upper bound.
    Fits(usize),
    /// Only its upper bound exceeds the limit: wait for the exact counter before leaving anything out.
    Unknown,
    /// It is too large; the number is its size in tokens.
    TooLarge(usize),
}

/// What is left out so that a request fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compaction {
    /// Messages of the transcript (by index) whose tool results, or whose calls' long arguments, are replaced by
    /// stubs.
    pub collapsed: Vec<usize>,
    /// Messages from `dropped.0` up to but excluding `dropped.1` are left out and replaced by a note.
    pub dropped: Option<(usize, usize)>,
}

/// One agent's transcript and which part of it is still sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    messages: Vec<Message>,
    compaction: Compaction,
    /// The lower-case names of the tools whose newest result is never left out, each with the tool's canonical name.
    in_view: BTreeMap<String, String>,
}

/// The newest result of a tool, which stays in view.
struct Newest<'a> {
    /// The index of its message.
    at: usize,
    tool: &'a str,
    result: &'a ToolResult,
}

impl Context {
    /// Creates an empty transcript; the newest result of the tools with these lower-case names, each with the tool's
    /// canonical name, is never left out.
    pub fn new(in_view: BTreeMap<String, String>) -> Self {
        Self { in_view, ..Self::default() }
    }

    /// Appends a message; consecutive texts are joined, since providers want roles to alternate.
    pub fn push(&mut self, message: Message) {
        if let (Some(Message::User { text }), Message::User { text: more }) = (self.messages.last_mut(), &message) {
            text.push_str("\n\n");
            text.push_str(more);
            return;
        }
        self.messages.push(message);
    }

    /// Returns the whole transcript, with nothing given up.
    #[cfg(test)]
    pub(crate) fn transcript(&self) -> &[Message] {
        &self.messages
    }

    /// Applies a recorded decision.
    pub fn compact(&mut self, compaction: Compaction) {
        self.compaction = compaction;
    }

    /// Returns the messages as they are sent.
    pub fn sent(&self) -> Vec<Message> {
        self.sent_under(&self.compaction)
    }

    fn sent_under(&self, compaction: &Compaction) -> Vec<Message> {
        let (from, to) = compaction.dropped.unwrap_or((0, 0));
        let newest = self.newest_in_view();
        let mut sent = Vec::with_capacity(self.messages.len());
        for (at, message) in self.messages.iter().enumerate() {
            if at >= from && at < to {
                if at == from {
                    sent.push(Message::User { text: dropped_note(to - from, &newest, to) });
                }
            } else if compaction.collapsed.contains(&at) {
                let kept: Vec<&CallId> =
                    newest.iter().filter(|newest| newest.at == at).map(|newest| &newest.result.call_id).collect();
                sent.push(self.collapse(message, &kept));
            } else {
                sent.push(message.clone());
            }
        }
        join_user_texts(sent)
    }

    /// Returns the newest result of each tool whose results stay in view, in the order of their names.
    fn newest_in_view(&self) -> Vec<Newest<'_>> {
        let mut found: BTreeMap<&str, Newest<'_>> = BTreeMap::new();
        if self.in_view.is_empty() {
            return Vec::new();
        }
        for (before, turn) in self.messages.windows(2).enumerate().rev() {
            let [Message::Assistant { tool_calls, .. }, Message::Tool { results }] = turn else { continue };
            for result in results.iter().rev().filter(|result| !result.is_error) {
                let call = tool_calls.iter().find(|call| call.id == result.call_id);
                let Some(tool) = call.and_then(|call| self.in_view_as(call)) else { continue };
                found.entry(tool).or_insert(Newest { at: before + 1, tool, result });
            }
        }
        found.into_values().collect()
    }

    /// Decides what to leave out so that `request`, whose messages are this context's, fits into `bound` tokens.
    ///
    /// Old tool results go first, oldest first; then whole turns after the first message, which contains the task,
    /// once results alone free too little; and if the newest turn alone is too large, its results and then its calls.
    /// Returns `None` if the parts that cannot be left out (the task, the tools, what stays in view) are too large.
    pub fn decide(&self, request: &ModelRequest, bound: usize, counter: &dyn TokenCounter) -> Option<Compaction> {
        let percent = |share: usize| bound.saturating_mul(share) / 100;
        let less = request_tokens(request, counter).saturating_sub(percent(FREED_PERCENT));
        let (target, enough) = (percent(TARGET_PERCENT), less.min(bound));
        let (collapsing, dropping) = (self.collapsing(), self.dropping());
        let size = |compaction: &Compaction| {
            let messages = self.sent_under(compaction);
            request_tokens(&ModelRequest { messages, ..request.clone() }, counter)
        };
        // Each list leaves out more and more, so a binary search finds the first that fits.
        let least =
            |list: &[Compaction], limit: usize| list.get(list.partition_point(|one| size(one) > limit)).cloned();
        least(&collapsing, target)
            .or_else(|| least(&collapsing, enough))
            .or_else(|| least(&dropping, target))
            .or_else(|| least(&dropping, enough))
            .or_else(|| least(&collapsing, bound))
            .or_else(|| least(&dropping, bound))
            .or_else(|| least(&self.last_resort(), bound))
    }

    /// Returns the compactions that collapse old results, one more in each.
    fn collapsing(&self) -> Vec<Compaction> {
        let mut compaction = self.compaction.clone();
        let collapsible = self.collapsible().into_iter();
        let one_more = collapsible.map(|at| {
            compaction.collapsed.push(at);
            compaction.clone()
        });
        one_more.collect()
    }

    /// Returns the compactions that leave out turns, one more in each; all old results are collapsed.
    fn dropping(&self) -> Vec<Compaction> {
        let collapsed = self.collapsing().pop().unwrap_or_else(|| self.compaction.clone());
        let ends = self.droppable().into_iter();
        ends.map(|to| Compaction { dropped: Some((1, to)), ..collapsed.clone() }).collect()
    }

    /// Returns the compactions that reduce the remaining messages, one more in each: results, then calls.
    fn last_resort(&self) -> Vec<Compaction> {
        let mut compaction = [self.dropping(), self.collapsing()]
            .into_iter()
            .find_map(|mut list| list.pop())
            .unwrap_or_else(|| self.compaction.clone());
        let is_open = |at: &usize| *at >= dropped_to(&compaction) && !compaction.collapsed.contains(at);
        let mut open = self.indices(|message| matches!(message, Message::Tool { .. }));
        open.extend(self.indices(|message| matches!(message, Message::Assistant { .. })));
        open.retain(is_open);
        let one_more = open.into_iter().map(|at| {
            compaction.collapsed.push(at);
            compaction.clone()
        });
        one_more.collect()
    }

    /// Returns the indices of tool messages that may still be collapsed, oldest first.
    fn collapsible(&self) -> Vec<usize> {
        let mut tools = self.indices(|message| matches!(message, Message::Tool { .. }));
        tools.truncate(tools.len().saturating_sub(KEPT_RESULTS));
        tools.retain(|at| *at >= dropped_to(&self.compaction) && !self.compaction.collapsed.contains(at));
        tools
    }

    fn indices(&self, fits: impl Fn(&Message) -> bool) -> Vec<usize> {
        let numbered = self.messages.iter().enumerate();
        numbered.filter(|(_, message)| fits(message)).map(|(at, _)| at).collect()
    }

    /// Returns the ends of prefixes that may be dropped: always before an assistant message, so that no result is
    /// left without its call, and never the last turn.
    fn droppable(&self) -> Vec<usize> {
        let from = self.compaction.dropped.map_or(2, |(_, to)| to + 1);
        let mut ends = self.indices(|message| matches!(message, Message::Assistant { .. }));
        ends.retain(|at| *at >= from);
        ends
    }

    /// Returns the canonical name of the tool that a call means, if its newest result stays in view.
    fn in_view_as(&self, call: &ToolCall) -> Option<&str> {
        self.in_view.get(&call.name.trim().to_lowercase()).map(String::as_str)
    }

    /// Collapses a message, except these results.
    fn collapse(&self, message: &Message, kept: &[&CallId]) -> Message {
        let shorter = |result: &ToolResult| match kept.contains(&&result.call_id) {
            true => result.clone(),
            false => collapse_result(result),
        };
        match message {
            Message::User { .. } => message.clone(),
            Message::Tool { results } => Message::Tool { results: results.iter().map(shorter).collect() },
            Message::Assistant { text, tool_calls, .. } => Message::Assistant {
                text: stub(text, "your reply").unwrap_or_else(|| text.clone()),
                tool_calls: tool_calls.iter().map(|call| self.collapse_call(call)).collect(),
                // The provider's own blocks repeat the text.
                raw: None,
            },
        }
    }

    /// Collapses the long texts anywhere in a call's arguments, except those of a tool whose results stay in view.
    fn collapse_call(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        if self.in_view_as(&call).is_some() {
            return call;
        }
        collapse_value(&mut call.arguments);
        // Long names and numbers are not texts that could be cut.
        let bytes = call.arguments.to_string().len();
        if bytes > COLLAPSED_ARGUMENT_BYTES {
            call.arguments =
                serde_json::json!({"left_out": format!("{bytes} bytes: the call was made with the full text")});
        }
        call
    }
}

/// Returns the index of the first message after those that are left out.
fn dropped_to(compaction: &Compaction) -> usize {
    compaction.dropped.map_or(0, |(_, to)| to)
}

/// Compares the size of a request with its limit.
pub fn fit(request: &ModelRequest, bound: usize, counter: &dyn TokenCounter) -> Fit {
    let size = request_tokens(request, counter);
    if size <= bound {
        Fit::Fits(size)
    } else if counter.is_exact() {
        Fit::TooLarge(size)
    } else {
        Fit::Unknown
    }
}

/// Returns the tokens of a request's canonical rendering, margins included.
pub fn request_tokens(request: &ModelRequest, counter: &dyn TokenCounter) -> usize {
    let fixed = fixed_tokens(&request.system, &request.tools, counter);
    let messages: usize = request.messages.iter().map(|message| message_tokens(message, counter)).sum();
    fixed + messages + PROTOCOL_MARGIN + PART_MARGIN * parts(request)
}

/// Returns the tokens of the part that all requests of a role share: system text and tool schemas.
pub fn fixed_tokens(system: &str, tools: &[ToolSpec], counter: &dyn TokenCounter) -> usize {
    counter.count(system) + tools.iter().map(|tool| counter.count(&canonical(tool))).sum::<usize>()
}

/// Chat Completions nests the arguments of a call as JSON within a JSON string, so they are counted that way.
fn message_tokens(message: &Message, counter: &dyn TokenCounter) -> usize {
    let mut message = message.clone();
    if let Message::Assistant { tool_calls, .. } = &mut message {
        for call in tool_calls {
            call.arguments = call.arguments.to_string().into();
        }
    }
    counter.count(&canonical(&message))
}

fn parts(request: &ModelRequest) -> usize {
    let inner = |message: &Message| match message {
        Message::User { .. } => 0,
        Message::Assistant { tool_calls, .. } => tool_calls.len(),
        Message::Tool { results } => results.len(),
    };
    request.tools.len() + request.messages.len() + request.messages.iter().map(inner).sum::<usize>()
}

/// Renders one part canonically: compact JSON, keys in declaration order. These types always serialise.
fn canonical<T: Serialize>(part: &T) -> String {
    serde_json::to_string(part).unwrap_or_default()
}

fn collapse_result(result: &ToolResult) -> ToolResult {
    let text = stub(&result.text, "call the tool again, in smaller parts, if you need it");
    ToolResult { text: text.unwrap_or_else(|| result.text.clone()), ..result.clone() }
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

/// Returns what stands in the place of messages that are left out, up to the one with the index `to`.
fn dropped_note(count: usize, newest: &[Newest<'_>], to: usize) -> String {
    let mut note = format!(
        "[{count} earlier messages left out to stay within the context; your files and commits are as you left them]"
    );
    for Newest { tool, result, .. } in newest.iter().filter(|newest| newest.at < to) {
        note.push_str(&format!("\n\nThe newest result of `{tool}`:\n{}", result.text));
    }
    note
}

fn join_user_texts(messages: Vec<Message>) -> Vec<Message> {
    let mut joined = Context::default();
    for message in messages {
        joined.push(message);
    }
    joined.messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Origin;
    use crate::ids::TaskId;

    struct Words;

    impl TokenCounter for Words {
        fn count(&self, text: &str) -> usize {
            text.split(' ').count()
        }

        fn is_exact(&self) -> bool {
            true
        }
    }

    fn steps_context() -> Context {
        let names = [("todo_write", "todo_write"), ("todowrite", "todo_write"), ("react", "react")];
        Context::new(names.map(|(name, of)| (name.to_owned(), of.to_owned())).into())
    }

    fn turn(n: usize, words: usize) -> [Message; 2] {
        let id = format!("c{n}").as_str().into();
        let call = ToolCall { id, name: "read_file".to_owned(), arguments: serde_json::json!({"path": n}) };
        let result = ToolResult { call_id: call.id.clone(), text: "word ".repeat(words), is_error: false };
        [
            Message::Assistant { text: String::new(), tool_calls: vec![call], raw: None },
            Message::Tool { results: vec![result] },
        ]
    }

    fn context(turns: usize, words: usize) -> Context {
        let mut context = steps_context();
        context.push(Message::User { text: "the task".to_owned() });
        for n in 0..turns {
            for message in turn(n, words) {
                context.push(message);
            }
        }
        context
    }

    fn request(context: &Context) -> ModelRequest {
        ModelRequest {
            model: "script:x".to_owned(),
            system: "be good".to_owned(),
            tools: Vec::new(),
            messages: context.sent(),
            max_output_tokens: 10,
            origin: Origin { task: TaskId::from("T1"), turn: 1, returned: None },
        }
    }

    #[test]
    fn a_request_fits_up_to_its_limit() {
        let request = request(&context(1, 10));
        let size = request_tokens(&request, &Words);
        assert_eq!(fit(&request, size, &Words), Fit::Fits(size));
        assert_eq!(fit(&request, size - 1, &Words), Fit::TooLarge(size));
    }

    #[test]
    fn a_compacted_request_fits_and_keeps_calls_with_their_results() {
        for turns in 1..20 {
            let mut context = context(turns, 200);
            let bound = 1_500;
            if let Fit::TooLarge(_) = fit(&request(&context), bound, &Words) {
                let decision = context.decide(&request(&context), bound, &Words).unwrap();
                context.compact(decision);
            }
            let sent = request(&context);
            assert!(matches!(fit(&sent, bound, &Words), Fit::Fits(_)), "{turns} turns");
            for pair in sent.messages.windows(2) {
                let orphan = matches!(pair, [Message::User { .. }, Message::Tool { .. }]);
                assert!(!orphan, "{turns} turns: a result without its call");
            }
            assert!(matches!(sent.messages.first(), Some(Message::User { text }) if text.starts_with("the task")));
        }
    }

    #[test]
    fn old_results_are_collapsed_before_turns_are_left_out() {
        let mut context = context(8, 200);
        let decision = context.decide(&request(&context), 1_500, &Words).unwrap();
        assert_eq!(decision.dropped, None);
        assert!(decision.collapsed.contains(&2), "{decision:?}");
        context.compact(decision);
        let sent = context.sent();
        let Some(Message::Tool { results }) = sent.get(2) else { panic!("{sent:#?}") };
        assert!(results[0].text.starts_with("[left out, "), "{results:?}");
        assert_eq!(sent.len(), context.transcript().len());
    }

    #[test]
    fn the_list_of_steps_is_never_given_up() {
        let list = |n: usize, name: &str, text: &str, is_error: bool| {
            let id: CallId = format!("list {n}").as_str().into();
            let call = ToolCall { id: id.clone(), name: name.to_owned(), arguments: serde_json::json!({"items": []}) };
            let result = ToolResult { call_id: id, text: text.to_owned(), is_error };
            [
                Message::Assistant { text: String::new(), tool_calls: vec![call], raw: None },
                Message::Tool { results: vec![result] },
            ]
        };
        let mut context = context(2, 30);
        for written in [
            list(1, "todo_write", "[ ] first", false),
            list(2, "TodoWrite", "[~] second", false),
            list(3, "todo_write", "ERROR: third", true),
        ] {
            written.into_iter().for_each(|message| context.push(message));
        }
        turn(9, 30).into_iter().for_each(|message| context.push(message));
        let told = |context: &Context, to: usize| {
            let compaction = Compaction { collapsed: Vec::new(), dropped: Some((1, to)) };
            let sent = serde_json::to_string(&context.sent_under(&compaction)).unwrap();
            ["[ ] first", "[~] second", "The newest result of `todo_write`:"].map(|text| sent.matches(text).count())
        };
        // Where the newest list is still sent, it is not repeated; where it is left out, the note contains it.
        assert_eq!([told(&context, 5), told(&context, 7), told(&context, 11)], [[1, 1, 0], [0, 1, 0], [0, 1, 1]]);
    }

    #[test]
    fn the_newest_result_of_each_tool_that_stays_in_view_is_kept() {
        let long = |word: &str| format!("{word} ").repeat(200);
        let mut context = context(0, 0);
        let mut push = |n: usize, name: &str, text: String| {
            let [mut call, mut result] = turn(n, 0);
            if let Message::Assistant { tool_calls, .. } = &mut call {
                name.clone_into(&mut tool_calls[0].name);
            }
            if let Message::Tool { results } = &mut result {
                results[0].text = text;
            }
            context.push(call);
            context.push(result);
        };
        push(1, "react", long("old"));
        push(2, "todo_write", long("steps"));
        push(3, "react", long("notes"));
        push(4, "grep", long("other"));
        let sent = |dropped| {
            let compaction = Compaction { collapsed: vec![2, 4, 6, 8], dropped };
            let sent = serde_json::to_string(&context.sent_under(&compaction)).unwrap();
            ["old", "steps", "notes", "other"].map(|word| sent.contains(&format!("{word} {word}")))
        };
        assert_eq!(sent(None), [false, true, true, false]);
        assert_eq!(sent(Some((1, 7))), [false, true, true, false]);
    }

    /// Plays turns of an agent whose results have this many words; returns how often it had to compact.
    fn compactions(turns: usize, words: usize, bound: usize) -> usize {
        let (mut context, mut count) = (context(0, 0), 0);
        for n in 0..turns {
            turn(n, words).into_iter().for_each(|message| context.push(message));
            if let Fit::TooLarge(_) = fit(&request(&context), bound, &Words) {
                context.compact(context.decide(&request(&context), bound, &Words).unwrap());
                count += 1;
            }
        }
        count
    }

    #[test]
    fn compactions_stay_some_turns_apart_however_long_an_agent_works() {
        let (turns, bound) = (100, 3_000);
        // Results too short to be collapsed, some of which collapsing shortens a little, and large ones.
        for words in [20, 100, 200] {
            let of_turn = request_tokens(&request(&context(1, words)), &Words) - PROTOCOL_MARGIN;
            let apart = bound * FREED_PERCENT / 100 / of_turn;
            let count = compactions(turns, words, bound);
            assert!(apart >= 1 && count <= turns / apart, "{count} compactions in {turns} turns of {words} words");
        }
    }

    #[test]
    fn a_newest_turn_that_is_too_large_is_reduced() {
        let large = "word ".repeat(900);
        let call =
            |n: usize, arguments| ToolCall { id: format!("c{n}").as_str().into(), name: "tool".to_owned(), arguments };
        for calls in [1, 3, 8] {
            for (argument, text) in [("small", large.as_str()), (&large, "done"), (&large, &large)] {
                let mut context = context(3, 200);
                let ids = 100..100 + calls;
                let tool_calls: Vec<ToolCall> =
                    ids.map(|n| call(n, serde_json::json!({"path": "p", "content": argument}))).collect();
                let answer =
                    |call: &ToolCall| ToolResult { call_id: call.id.clone(), text: text.to_owned(), is_error: false };
                let results = tool_calls.iter().map(answer).collect();
                context.push(Message::Assistant { text: String::new(), tool_calls, raw: None });
                context.push(Message::Tool { results });
                if let Fit::TooLarge(_) = fit(&request(&context), 1_000, &Words) {
                    context.compact(context.decide(&request(&context), 1_000, &Words).unwrap());
                }
                let sent = request(&context);
                assert!(matches!(fit(&sent, 1_000, &Words), Fit::Fits(_)), "{calls} calls: {sent:#?}");
                let Some(Message::Tool { results }) = sent.messages.last() else { panic!("{sent:#?}") };
                assert_eq!(results.len(), calls);
            }
        }
    }

    #[test]
    fn long_texts_within_arguments_are_reduced_but_no_steps() {
        let large = "word ".repeat(900);
        let items = serde_json::json!({"items": [{"content": large}, {"content": "short", "times": 2}]});
        let context = steps_context();
        let left = |name: &str| {
            let call = ToolCall { id: "c1".into(), name: name.to_owned(), arguments: items.clone() };
            context.collapse_call(&call).arguments
        };
        let stub = "[left out, 1 lines: the call was made with the full text]";
        let reduced = serde_json::json!({"items": [{"content": stub}, {"content": "short", "times": 2}]});
        assert_eq!(
            [left("edit_files"), left("todo_write"), left("TodoWrite")],
            [reduced, items.clone(), items.clone()]
        );
    }

    #[test]
    fn arguments_that_are_large_otherwise_are_left_out() {
        let names: Value =
            (0..5_000).map(|n| (format!("name {n}"), Value::from(n))).collect::<serde_json::Map<_, _>>().into();
        for arguments in
            [names, serde_json::json!({"items": vec![7; 9_000]}), serde_json::json!({"n".repeat(9_000): 1})]
        {
            let call = ToolCall { id: "c1".into(), name: "edit_files".to_owned(), arguments };
            let left = Context::default().collapse_call(&call).arguments.to_string();
            assert!(left.len() < 100 && left.contains("left_out"), "{left}");
        }
    }

    #[test]
    fn nothing_is_decided_when_the_task_alone_is_too_large() {
        let mut context = steps_context();
        context.push(Message::User { text: "word ".repeat(5_000) });
        turn(1, 10).into_iter().for_each(|message| context.push(message));
        assert_eq!(context.decide(&request(&context), 1_000, &Words), None);
    }

    #[test]
    fn a_byte_bound_never_says_too_large() {
        let context = context(3, 5_000);
        assert_eq!(fit(&request(&context), 1_000, &ByteBound), Fit::Unknown);
    }
}
