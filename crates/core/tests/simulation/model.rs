//! The model of all agents: its replies follow from the script and from what the request says has
//! been done.

use orchestrate_core::agent::context::TokenCounter;
use orchestrate_core::{
    AgentSpec, Message, ModelReply, ModelRequest, StopReason, TaskId, ToolCall, Usage,
};
use serde_json::json;

use crate::random::Random;
use crate::scenario::{End, Scenario, Script};

/// The beginning of the text of every return; the agent does what it can then.
const RETURNED: &str = "RETURNED";
/// The text of a return by someone who reviews the work, and of any other.
pub(crate) const RETURNED_BY_REVIEW: &str = "RETURNED by a review";
pub(crate) const RETURNED_OTHERWISE: &str = "RETURNED";
/// The answer to a call that was carried out.
pub(crate) const OK: &str = "ok";
/// The answer to a call that was refused, which is not repeated.
pub(crate) const REFUSED: &str = "refused";
/// The answer to a call whose end was not observed, which is repeated.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The call that does what returns ask for, also what a review has asked for.
pub(crate) const IMPROVE: &str = "improve";
/// The call that does what other returns ask for.
pub(crate) const MEND: &str = "mend";
/// The call that gives a verdict.
pub(crate) const VERDICT: &str = "verdict";
/// The call that answers a question.
pub(crate) const ANSWER: &str = "answer";
/// The call that does nothing.
pub(crate) const IDLE: &str = "idle";

pub(crate) fn spec(scenario: &Scenario, task: &TaskId) -> AgentSpec {
    let settings = &scenario.settings;
    AgentSpec {
        task: task.clone(),
        model: "script:x".to_owned(),
        fallbacks: Vec::new(),
        system: String::new(),
        tools: [].into(),
        instruction: "Do it.".to_owned(),
        context_tokens: settings.context_tokens,
        max_output_tokens: settings.max_output_tokens,
        max_turns: settings.max_turns,
        answers: None,
        refuses_repeats: true,
    }
}

/// What an agent has done so far, by its request.
#[derive(Default)]
struct Done {
    acts: Vec<bool>,
    returns: usize,
    is_reviewed: bool,
    improved: usize,
    messages: usize,
    /// The sender and the number of each question.
    questions: Vec<(String, u64)>,
    answered: usize,
    /// The texts that the newest verdict was given after, plus one.
    verdict: usize,
}

impl Done {
    fn of(request: &ModelRequest, script: &Script) -> Self {
        let acts = vec![false; script.acts.len()];
        let mut done = Self {
            acts,
            ..Self::default()
        };
        for message in &request.messages {
            match message {
                Message::User { text } => {
                    done.returns += text.matches(RETURNED).count();
                    done.is_reviewed |= text.contains(RETURNED_BY_REVIEW);
                    let messages = text.lines().filter(|line| line.starts_with("Message "));
                    done.messages += messages.clone().count();
                    done.questions.extend(messages.filter_map(question));
                }
                Message::Tool { results } => {
                    for result in results
                        .iter()
                        .filter(|result| [OK, REFUSED].contains(&result.text.as_str()))
                    {
                        done.note(result.call_id.as_str());
                    }
                }
                Message::Assistant { .. } => {}
            }
        }
        done
    }

    fn note(&mut self, call: &str) {
        let (kind, number) = call.split_at(1);
        let number: usize = number.parse().unwrap();
        match kind {
            "a" => self.acts[number] = true,
            "r" => self.improved = self.improved.max(number),
            "w" => self.answered = self.answered.max(number),
            "v" => self.verdict = self.verdict.max(number),
            _ => {}
        }
    }
}

/// Returns the sender and the number of a question, from the first line of its text.
fn question(line: &str) -> Option<(String, u64)> {
    let (of, _) = line.strip_prefix("Message ")?.split_once(" (question;")?;
    let (number, from) = of.split_once(" from agent ")?;
    Some((from.to_owned(), number.parse().unwrap()))
}

/// Returns the reply to a request.
pub(crate) fn reply(scenario: &Scenario, request: &ModelRequest) -> ModelReply {
    if is_last(request) {
        let (text, usage) = ("What I have.".to_owned(), usage(scenario, request));
        return ModelReply {
            text,
            tool_calls: Vec::new(),
            stop: StopReason::EndTurn,
            usage,
            raw: None,
        };
    }
    let task = &request.origin.task;
    let script = &scenario.scripts[task];
    let done = Done::of(request, script);
    // Only the same call, made again and again, is a loop.
    let call = |id: String, name: &str| ToolCall {
        id: id.as_str().into(),
        name: name.to_owned(),
        arguments: json!({ "call": id }),
    };
    let open = done
        .acts
        .iter()
        .enumerate()
        .filter(|(_, is_done)| !**is_done);
    let mut calls: Vec<ToolCall> = open
        .take(script.calls)
        .map(|(at, _)| call(format!("a{at}"), "act"))
        .collect();
    if script.answers {
        let open = done
            .questions
            .iter()
            .enumerate()
            .skip(done.answered)
            .take(1);
        calls.extend(open.map(|(at, (to, number))| ToolCall {
            arguments: json!({ "to": to, "reply_to": number }),
            ..call(format!("w{}", at + 1), ANSWER)
        }));
    }
    // A message or a return withdraws a verdict.
    let heard = done.messages + done.returns;
    if calls.is_empty() && script.gives_verdict && done.verdict <= heard {
        calls.push(call(format!("v{}", heard + 1), VERDICT));
    }
    if calls.is_empty() && done.improved < done.returns {
        let name = if done.is_reviewed { IMPROVE } else { MEND };
        calls.push(call(format!("r{}", done.returns), name));
    }
    let mut stop = if calls.is_empty() {
        StopReason::EndTurn
    } else {
        StopReason::ToolCalls
    };
    if calls.is_empty() {
        match script.end {
            End::Refuses => stop = StopReason::Refusal,
            End::RefusesOnce if done.returns == 0 => stop = StopReason::Refusal,
            End::Loops => calls.push(call("n0".to_owned(), IDLE)),
            End::NeverEnds => calls.push(call(format!("n{}", request.origin.turn), IDLE)),
            End::Done | End::RefusesOnce => {}
        }
    }
    let text = if calls.is_empty() {
        "Done.".to_owned()
    } else {
        String::new()
    };
    ModelReply {
        text,
        tool_calls: calls,
        stop,
        usage: usage(scenario, request),
        raw: None,
    }
}

/// Reports whether a request is the last one of an agent that has reached a limit.
pub(crate) fn is_last(request: &ModelRequest) -> bool {
    !request.system.is_empty()
}

/// Returns what a request uses, which is at most what it reserves.
fn usage(scenario: &Scenario, request: &ModelRequest) -> Usage {
    let seed = u64::from(scenario.scripts[&request.origin.task].number) << 32
        | u64::from(request.origin.turn);
    let mut random = Random::new(seed);
    let (input_tokens, output) = (input_tokens(request), u64::from(request.max_output_tokens));
    Usage {
        input_tokens,
        cached_tokens: 0,
        output_tokens: random.next() % (output + 1),
    }
}

/// Returns the tokens of a request's input.
pub(crate) fn input_tokens(request: &ModelRequest) -> u64 {
    100 + 20 * request.messages.len() as u64
}

/// Counts a token for every four bytes, exactly.
pub(crate) struct Quarter;

impl TokenCounter for Quarter {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn is_exact(&self) -> bool {
        true
    }
}
