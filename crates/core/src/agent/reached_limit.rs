//! The last request of an agent that has reached a limit: one, without tools, within what is held
//! for it.
//!
//! Its turns, its time or a budget is used up, so the task fails; but what the agent knows must not
//! be lost with it. That the request is due is a fact ([`crate::Event::ReportDue`]), and so is that
//! it was sent, so it is never sent twice, whatever happens in between. Without its reply the
//! report consists of what the facts say.

use serde::{Deserialize, Serialize};

use crate::agent::context::{Fit, TokenCounter, fit, request_tokens};
use crate::agent::conversation::{Message, ModelRequest, Origin};
use crate::ids::TaskId;
use crate::task::FailureCause;
use crate::text::{block, truncate};

/// The maximum size of the request and its reply where no budget limits the agent, in tokens.
pub const MAX_REPORT_TOKENS: u64 = 16_000;

/// The maximum size of the reply in tokens; of a small amount, the reply has a third.
const MAX_REPLY_TOKENS: u64 = 2_000;
const REPLY_ONE_IN: u64 = 3;

/// The least characters of the task's text that make sense.
const LEAST_TASK_CHARS: usize = 200;
/// The maximum characters of one entry of the transcript, by what it is.
const SAID_CHARS: usize = 600;
const RESULT_CHARS: usize = 300;
const CALL_CHARS: usize = 200;
const WHY_CHARS: usize = 300;

/// The system text.
const SYSTEM: &str = "You are an agent that has reached a limit and has to stop. You have no tools \
                      any more. Reply once, in plain text, with your report. It is all that others \
                      get, apart from your files.";

/// The request, around the task and the transcript.
const REQUEST: &str = "Hand in what you have: what is done, what is not, what you have found out, \
                       and what should be done next. Claim only what you have done and seen. Put \
                       what others have to decide below a line `Open questions:`, one per line. Be \
                       brief.";

/// The limit that an agent has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReachedLimit {
    /// Which limit.
    pub cause: FailureCause,
    /// The reason in words, with which the task fails.
    pub message: String,
    /// The maximum of tokens that the request and its reply may use; 0 if none can be made.
    pub tokens: u64,
}

/// The fact that an agent has reached a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReportDue {
    /// The task.
    pub task: TaskId,
    /// The limit.
    #[serde(flatten)]
    pub limit: ReachedLimit,
}

/// The fact that an agent has reported at a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReportGiven {
    /// The task.
    pub task: TaskId,
    /// The report.
    pub summary: String,
}

/// The last request of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LastRequest {
    /// It fits.
    Fits(Box<ModelRequest>),
    /// Only its upper bound is too large: the exact counter decides.
    Unknown,
    /// Not even the task and the question fit.
    TooLarge,
}

impl ReachedLimit {
    /// Returns what is used up, in a word.
    pub fn used_up(&self) -> Option<&'static str> {
        self.cause.used_up()
    }
}

/// The parts of the request.
pub(crate) struct Material<'a> {
    /// The limit.
    pub(crate) limit: &'a ReachedLimit,
    /// `provider/model`.
    pub(crate) model: &'a str,
    /// The origin of the request.
    pub(crate) origin: Origin,
    /// The maximum size of any reply of the agent.
    pub(crate) max_output_tokens: u32,
    /// The transcript, of which the first message is the task.
    pub(crate) transcript: Vec<&'a Message>,
}

impl Material<'_> {
    /// Composes the request with as much of the transcript as fits, the newest part first; `bound`
    /// is the maximum size of a request to the model.
    pub(crate) fn compose(&self, bound: u64, counter: &dyn TokenCounter) -> LastRequest {
        let tokens = self.limit.tokens.min(bound);
        let reply = (tokens / REPLY_ONE_IN)
            .min(MAX_REPLY_TOKENS)
            .min(u64::from(self.max_output_tokens));
        let bound = usize::try_from(tokens - reply).unwrap_or(usize::MAX);
        let reply = u32::try_from(reply).unwrap_or(u32::MAX);
        let (task, entries) = self.texts();
        let of = |task_chars, from: usize| {
            self.request(&truncate(&task, task_chars), entries.get(from..), reply)
        };
        let compare =
            |request: &ModelRequest| fit(request_tokens(request, counter), bound, counter);
        let whole = of(task.len(), 0);
        match compare(&whole) {
            Fit::Fits(_) => return LastRequest::Fits(Box::new(whole)),
            Fit::Unknown => return LastRequest::Unknown,
            Fit::TooLarge(_) => {}
        }
        // A text of the bound's length in characters has about a quarter of its tokens.
        let mut task_chars = bound.min(task.len().max(LEAST_TASK_CHARS));
        while task_chars >= LEAST_TASK_CHARS {
            let fits = |from: usize| matches!(compare(&of(task_chars, from)), Fit::Fits(_));
            if fits(entries.len()) {
                let every: Vec<usize> = (0..=entries.len()).collect();
                let first = every.partition_point(|from| !fits(*from));
                return LastRequest::Fits(Box::new(of(task_chars, first)));
            }
            task_chars /= 2;
        }
        LastRequest::TooLarge
    }

    /// Returns the task's text and the later messages as lines, oldest first.
    ///
    /// They are texts, and not messages with calls, since a provider accepts those only beside the
    /// tools.
    fn texts(&self) -> (String, Vec<String>) {
        let mut messages = self.transcript.iter();
        let task = match messages.next() {
            Some(Message::User { text }) => text.clone(),
            _ => String::new(),
        };
        (task, messages.map(|message| entry(message)).collect())
    }

    fn request(
        &self,
        task: &str,
        entries: Option<&[String]>,
        max_output_tokens: u32,
    ) -> ModelRequest {
        let entries = entries.unwrap_or_default();
        let name = self.origin.task.as_str();
        let mut text = format!(
            "You have to stop: {}.\n\nYour task was:\n",
            truncate(&self.limit.message, WHY_CHARS)
        );
        text.push_str(&block(&["task", name], task));
        if !entries.is_empty() {
            text.push_str("\n\nWhat happened last, newest at the end:\n");
            text.push_str(&block(&["transcript", name], &entries.join("\n")));
        }
        text.push_str("\n\n");
        text.push_str(REQUEST);
        ModelRequest {
            model: self.model.to_owned(),
            system: SYSTEM.to_owned(),
            tools: [].into(),
            messages: vec![Message::User { text }],
            max_output_tokens,
            origin: self.origin.clone(),
            // It reports how far it is, in words.
            answers: None,
        }
    }
}

/// Renders a message of the transcript.
fn entry(message: &Message) -> String {
    match message {
        Message::User { text } => format!("told: {}", truncate(text, SAID_CHARS)),
        Message::Assistant {
            text, tool_calls, ..
        } => {
            let mut lines = Vec::new();
            let said = text.trim();
            if !said.is_empty() {
                lines.push(format!("you: {}", truncate(said, SAID_CHARS)));
            }
            for call in tool_calls {
                let arguments = truncate(&call.arguments.to_string(), CALL_CHARS);
                lines.push(format!("call {} {arguments}", call.name));
            }
            lines.join("\n")
        }
        Message::Tool { results } => {
            let mut lines = Vec::new();
            for result in results {
                let kind = if result.is_error { "error" } else { "result" };
                let text = truncate(&result.text, RESULT_CHARS);
                lines.push(format!("{kind}: {text}"));
            }
            lines.join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::conversation::{ToolCall, ToolResult};

    /// Counts a token for every four bytes, exactly.
    struct Quarter;

    impl TokenCounter for Quarter {
        fn count(&self, text: &str) -> usize {
            text.len().div_ceil(4)
        }

        fn is_exact(&self) -> bool {
            true
        }
    }

    fn transcript(task: &str, turns: usize) -> Vec<Message> {
        let mut messages = vec![Message::User {
            text: task.to_owned(),
        }];
        for turn in 0..turns {
            let arguments = serde_json::json!({ "path": format!("file-{turn}.txt") });
            let call = ToolCall {
                id: "c".into(),
                name: "read_file".to_owned(),
                arguments,
            };
            messages.push(Message::Assistant {
                text: format!("step {turn}"),
                tool_calls: vec![call],
                raw: None,
            });
            let text = "x".repeat(5_000);
            let result = ToolResult {
                call_id: "c".into(),
                text,
                is_error: false,
            };
            messages.push(Message::Tool {
                results: vec![result],
            });
        }
        messages
    }

    fn compose(messages: &[Message], tokens: u64, counter: &dyn TokenCounter) -> LastRequest {
        let limit = ReachedLimit {
            cause: FailureCause::Turns,
            message: "no turns are left".to_owned(),
            tokens,
        };
        let material = Material {
            limit: &limit,
            model: "script:x",
            origin: Origin {
                task: "T1".into(),
                turn: 9,
                returned: None,
            },
            max_output_tokens: 4_096,
            transcript: messages.iter().collect(),
        };
        material.compose(100_000, counter)
    }

    #[test]
    fn the_request_has_no_tools_and_stays_within_what_is_held() {
        for (task, turns) in [
            ("do it", 0),
            ("do it", 3),
            ("do it", 300),
            (&"long task ".repeat(2_000)[..], 40),
        ] {
            for tokens in [1_000, 1_250, 2_000, 16_000] {
                let composed = compose(&transcript(task, turns), tokens, &Quarter);
                let LastRequest::Fits(request) = composed else {
                    panic!("{turns} turns, {tokens} tokens: {composed:?}")
                };
                let most = request_tokens(&request, &Quarter) as u64
                    + u64::from(request.max_output_tokens);
                assert!(most <= tokens, "{turns} turns: {most} of {tokens}");
                assert!(request.tools.is_empty() && request.messages.len() == 1);
                assert!(
                    u64::from(request.max_output_tokens) >= tokens.min(6_000) / 3,
                    "{tokens}"
                );
            }
        }
    }

    #[test]
    fn the_newest_part_of_the_transcript_is_kept() {
        let LastRequest::Fits(request) = compose(&transcript("do it", 40), 2_000, &Quarter) else {
            panic!("too large")
        };
        let [Message::User { text }] = &request.messages[..] else {
            panic!("{request:?}")
        };
        assert!(
            text.contains("step 39") && text.contains("file-39.txt") && !text.contains("step 0\n"),
            "{text}"
        );
        assert!(
            text.contains("You have to stop: no turns are left.") && text.contains("do it"),
            "{text}"
        );
    }

    #[test]
    fn too_few_tokens_make_no_request_and_an_upper_bound_decides_nothing() {
        assert_eq!(
            compose(&transcript("do it", 1), 400, &Quarter),
            LastRequest::TooLarge
        );
        assert_eq!(
            compose(&transcript("do it", 1), 0, &Quarter),
            LastRequest::TooLarge
        );
        assert_eq!(
            compose(&transcript("do it", 9), 1_000, &crate::ByteBound),
            LastRequest::Unknown
        );
    }
}
