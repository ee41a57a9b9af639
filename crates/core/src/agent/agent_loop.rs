//! One agent's loop as a value: sans-IO, steppable and serializable.
//!
//! [`AgentLoop`] owns every decision of the loop: counting turns, which calls to run, when messages
//! are delivered, when the context is compacted, when the agent has finished. A driver carries out
//! each [`Step`], records what happened, and feeds it back as an [`AgentFact`]; feeding the
//! recorded facts of a dead process to a new loop brings it to the same state. It does no IO, has
//! no clock, and sees whole replies only, never a stream.

mod older_repeats;
mod repeated_calls;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::older_repeats::OlderRepeats;
use self::repeated_calls::{Repeated, Repeats};
use crate::agent::context::{
    Compaction, Context, Fit, Memo, TokenCounter, fit, tokens_beside_messages,
};
use crate::agent::conversation::{
    Message, ModelReply, ModelRequest, Origin, StopReason, ToolAnswer, ToolCall,
};
use crate::agent::reached_limit::{LastRequest, Material, ReachedLimit};
use crate::agent::spec::AgentSpec;
use crate::ids::TaskId;
use crate::policy::tool_names::ToolNames;
use crate::task::{FailureCause, ReturnCause};

/// How many empty replies in a row end the agent's work.
const EMPTY_REPLIES: u32 = 2;

/// How many replies in a row may be cut off at their maximum size without a call before the agent's
/// work ends: each one costs as much as a reply can.
const CUT_REPLIES: u32 = 3;
/// The maximum number of calls of one reply that are run; the others are answered with an error.
pub const MAX_CALLS_PER_REPLY: usize = 32;
/// The answer to an agent that repeats itself.
const REPEATED: &str = "You have made the same calls with the same results several times. Do \
                        something different, or end with a report of what blocks you.";
/// The answer to a call that is not run because it has had the same result too often.
const NOT_REPEATED: &str = "Not run: this call has had the same result five times. Do something \
                            different, or end with a report of what blocks you.";
/// The tool with which an agent waits for others.
const WAIT_TOOL: &str = "wait_for_agents";

/// The next step of the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send this request.
    CallModel(Box<ModelRequest>),
    /// Run these calls, the unanswered ones of the same reply.
    CallTools(Vec<ToolCall>),
    /// Record this decision, then ask again.
    Compact(Compaction),
    /// Send this last request, which has no tools; whether a reply comes or not, the agent ends
    /// with it.
    Report(Box<ModelRequest>),
    /// Wait until the exact token counter has loaded, then ask again.
    AwaitCounter,
    /// The agent has ended this stretch of work.
    Finish(Finish),
}

/// How an agent's work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The agent declared the task done; the text is its final report.
    Done(String),
    /// The turns of the attempt are used up.
    OutOfTurns,
    /// The parts that cannot be left out, such as the task and the tools, exceed the limit.
    ContextFull,
    /// Too many empty replies in a row.
    Silent,
    /// Too many identical turns with the same results in a row.
    Looping,
    /// Too many replies in a row were cut off at their maximum size without a call.
    CutOff,
    /// The model refused to answer.
    Refused(String),
    /// The agent has reached a limit.
    AtLimit {
        /// The limit.
        limit: ReachedLimit,
        /// Its report; `None` if there was no reply.
        report: Option<String>,
    },
}

impl Finish {
    /// Returns the cause for which the task fails, or `None` if the agent has done its work.
    pub fn failure_cause(&self) -> Option<FailureCause> {
        match self {
            Self::Done(_) => None,
            Self::OutOfTurns => Some(FailureCause::Turns),
            Self::ContextFull => Some(FailureCause::Context),
            Self::Silent => Some(FailureCause::Silent),
            // Replies that are cut off again and again are a loop, too: the next one would be cut
            // off as well.
            Self::Looping | Self::CutOff => Some(FailureCause::Looping),
            Self::Refused(_) => Some(FailureCause::Refused),
            Self::AtLimit { limit, .. } => Some(limit.cause),
        }
    }
}

/// Something that happened to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum AgentFact {
    /// A model answered.
    Replied {
        /// The whole reply.
        reply: ModelReply,
    },
    /// A call ended.
    ToolEnded {
        /// Its result.
        answer: ToolAnswer,
    },
    /// Another agent's, or a person's, message arrived.
    Delivered {
        /// The rendered message.
        text: String,
    },
    /// The map of the repository was made.
    MapMade {
        /// The map, with its heading.
        text: String,
    },
    /// A call of the turn waits for something outside the agent; nothing else happens to it until
    /// that is over.
    Waits,
    /// Work was returned: a conflict, a failed check, a rejection. It reopens a finished agent.
    Returned {
        /// Why.
        cause: ReturnCause,
        /// The text that says what to fix, with the evidence.
        text: String,
    },
    /// A new attempt began: the turns count from zero again.
    AttemptStarted,
    /// Parts of the context were dropped.
    Compacted {
        /// Which parts.
        compaction: Compaction,
    },
    /// Another model took over, until the attempt ends.
    ModelSwitched {
        /// `provider/model`.
        model: String,
    },
    /// The agent has reached a limit: its last request is due.
    ReportDue {
        /// The limit.
        limit: ReachedLimit,
    },
    /// The last request was sent, or cannot be: no other one is.
    ReportAsked,
}

/// A fact that is not valid in the loop's current state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent {task}: {reason}")]
pub struct IllegalFact {
    /// The agent.
    pub task: TaskId,
    /// Why the fact is not valid.
    pub reason: String,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentLoop {
    spec: AgentSpec,
    /// The tokens of everything in a request but its messages.
    #[serde(skip)]
    fixed: Memo,
    /// The number of the model in use: 0 is the specification's own, the others are its fall-backs.
    #[serde(default)]
    in_use: usize,
    context: Context,
    state: State,
    /// Requests answered, across attempts.
    turn: u32,
    /// Requests answered in this attempt.
    attempt_turns: u32,
    empty_replies: u32,
    cut_replies: u32,
    #[serde(default)]
    older_repeats: OlderRepeats,
    repeats: Repeats,
    /// The names of the tools that may change files, in lower case.
    #[serde(default)]
    changing: BTreeSet<String>,
    /// Why the work was returned, until a model has replied to that.
    #[serde(default)]
    returned: Option<ReturnCause>,
    /// Whether it has a map of the repository.
    #[serde(default)]
    has_map: bool,
}

/// Each state carries what is needed to go on, so that a serialized loop is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The next request can be sent.
    Ready,
    /// The reply's calls are being run; results stand in the order of the calls.
    RunningTools {
        calls: Vec<ToolCall>,
        results: Vec<Option<ToolAnswer>>,
    },
    /// The agent has reached a limit.
    AtLimit { limit: ReachedLimit, asked: bool },
    /// The agent ended.
    Finished(Finish),
}

impl AgentLoop {
    /// Creates the loop of an agent that has done nothing yet, in a run whose tools have these
    /// names.
    pub fn new(spec: AgentSpec, names: &ToolNames) -> Self {
        let mut context = Context::new(names.in_view());
        let mut changing = BTreeSet::new();
        for name in names.names() {
            if let Some(traits) = names.tool(name)
                && traits.changes_files
            {
                changing.insert(name.to_lowercase());
                changing.extend(names.aliases_of(name).map(str::to_lowercase));
            }
        }
        context.push(Message::User {
            text: spec.instruction.clone(),
        });
        Self {
            spec,
            fixed: Memo::default(),
            in_use: 0,
            context,
            state: State::Ready,
            turn: 0,
            attempt_turns: 0,
            empty_replies: 0,
            cut_replies: 0,
            older_repeats: OlderRepeats::default(),
            repeats: Repeats::default(),
            changing,
            returned: None,
            has_map: false,
        }
    }

    /// Returns the specification of the agent.
    pub fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    /// Returns the number of the model in use: 0 is the specification's own, the others are its
    /// fall-backs.
    pub fn model_in_use(&self) -> usize {
        self.in_use
    }

    /// Returns the maximum size of a request to the model in use, in tokens.
    pub fn context_tokens(&self) -> u64 {
        self.spec
            .model(self.in_use)
            .map_or(self.spec.context_tokens, |(_, tokens)| tokens)
    }

    /// Returns the number of replies so far, across attempts.
    pub fn turns(&self) -> u32 {
        self.turn
    }

    /// Returns the conversation, with nothing given up.
    #[cfg(test)]
    pub(crate) fn transcript(&self) -> Vec<&Message> {
        self.context.transcript()
    }

    /// Returns the number of calls in the current reply, including those already answered.
    pub fn calls_of_reply(&self) -> usize {
        match &self.state {
            State::RunningTools { calls, .. } => calls.len(),
            State::Ready | State::AtLimit { .. } | State::Finished(_) => 0,
        }
    }

    /// Reports whether the agent has reached a limit, so that its next request is its last.
    pub fn is_at_limit(&self) -> bool {
        matches!(self.state, State::AtLimit { .. })
    }

    /// Reports whether messages can be delivered now: after a turn's results and before the next
    /// request, or to an agent that has just declared its task done; a message reopens it and gives
    /// it one extra turn.
    pub fn can_hear(&self) -> bool {
        matches!(self.state, State::Ready | State::Finished(Finish::Done(_)))
    }

    /// Returns the next step.
    pub fn next_step(&self, counter: &dyn TokenCounter) -> Step {
        match &self.state {
            State::Finished(finish) => Step::Finish(finish.clone()),
            State::RunningTools { calls, results } => Step::CallTools(unanswered(calls, results)),
            State::Ready if self.attempt_turns >= self.spec.max_turns => {
                Step::Finish(Finish::OutOfTurns)
            }
            State::Ready => self.request_step(counter),
            State::AtLimit { limit, asked: true } => Step::Finish(Finish::AtLimit {
                limit: limit.clone(),
                report: None,
            }),
            State::AtLimit {
                limit,
                asked: false,
            } => self.report_step(limit, counter),
        }
    }

    /// Applies a fact.
    ///
    /// # Errors
    ///
    /// Fails if the fact is not valid in the current state, which means that the journal is not
    /// this agent's.
    pub fn apply(&mut self, fact: AgentFact) -> Result<(), IllegalFact> {
        match fact {
            AgentFact::Replied { reply } => self.replied(reply),
            AgentFact::ToolEnded { answer } => self.tool_ended(answer),
            AgentFact::Delivered { text } => self.heard(text),
            AgentFact::MapMade { text } => {
                // Of a worktree that was lost and made again before the first turn, there are two.
                if !std::mem::replace(&mut self.has_map, true) {
                    self.context.push(Message::User { text });
                }
                Ok(())
            }
            AgentFact::Waits => {
                // Whatever ends a wait is news, even that its time is over.
                self.hear_news();
                Ok(())
            }
            AgentFact::Returned { cause, text } => self.returned(cause, text),
            AgentFact::AttemptStarted => {
                (self.attempt_turns, self.in_use) = (0, 0);
                Ok(())
            }
            AgentFact::Compacted { compaction } => {
                self.context.compact(compaction);
                Ok(())
            }
            AgentFact::ModelSwitched { model } => self.switched(&model),
            AgentFact::ReportDue { limit } => {
                self.answer_open_calls();
                self.state = State::AtLimit {
                    limit,
                    asked: false,
                };
                Ok(())
            }
            AgentFact::ReportAsked => match &mut self.state {
                State::AtLimit { asked, .. } if !*asked => {
                    *asked = true;
                    Ok(())
                }
                _ => Err(self.illegal("its last request was sent, but none was due")),
            },
        }
    }

    fn switched(&mut self, model: &str) -> Result<(), IllegalFact> {
        if !matches!(self.state, State::Ready) {
            return Err(self.illegal("another model took over while no request was due"));
        }
        match (0..self.spec.models()).find(|number| {
            self.spec
                .model(*number)
                .is_some_and(|(name, _)| name == model)
        }) {
            Some(number) => {
                self.in_use = number;
                Ok(())
            }
            None => Err(self.illegal("an unknown model took over")),
        }
    }

    /// Returns the tokens of the agent's next request, or an upper bound if the counter is not
    /// exact. No message is counted exactly more than once.
    pub fn request_tokens(&self, counter: &dyn TokenCounter) -> usize {
        self.fixed_tokens(counter) + self.context.tokens(counter)
    }

    fn fixed_tokens(&self, counter: &dyn TokenCounter) -> usize {
        self.fixed.tokens(counter, || {
            tokens_beside_messages(&self.spec.system, &self.spec.tools, counter)
        })
    }

    fn request_step(&self, counter: &dyn TokenCounter) -> Step {
        let bound = usize::try_from(self.context_tokens()).unwrap_or(usize::MAX);
        match fit(self.request_tokens(counter), bound, counter) {
            Fit::Fits(_) => Step::CallModel(Box::new(self.request())),
            Fit::Unknown => Step::AwaitCounter,
            Fit::TooLarge(_) => {
                match self
                    .context
                    .decide(self.fixed_tokens(counter), bound, counter)
                {
                    Some(compaction) => Step::Compact(compaction),
                    None => Step::Finish(Finish::ContextFull),
                }
            }
        }
    }

    fn report_step(&self, limit: &ReachedLimit, counter: &dyn TokenCounter) -> Step {
        let material = Material {
            limit,
            model: self.model_name(),
            origin: Origin {
                task: self.spec.task.clone(),
                turn: self.turn + 1,
                returned: None,
            },
            max_output_tokens: self.spec.max_output_tokens,
            transcript: self.context.transcript(),
        };
        match material.compose(self.context_tokens(), counter) {
            LastRequest::Fits(request) => Step::Report(request),
            LastRequest::Unknown => Step::AwaitCounter,
            LastRequest::TooLarge => Step::Finish(Finish::AtLimit {
                limit: limit.clone(),
                report: None,
            }),
        }
    }

    fn model_name(&self) -> &str {
        self.spec.model(self.in_use).map_or("", |(name, _)| name)
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            model: self.model_name().to_owned(),
            system: self.spec.system.clone(),
            tools: self.spec.tools.clone(),
            messages: self.context.sent(),
            max_output_tokens: self.spec.max_output_tokens,
            origin: Origin {
                task: self.spec.task.clone(),
                turn: self.turn + 1,
                returned: self.returned,
            },
            answers: self.spec.answers.clone(),
        }
    }

    /// Ends the agent with the reply to its last request, which may call nothing.
    fn reported(&mut self, text: String, limit: ReachedLimit) {
        let report = Some(text).filter(|text| !text.trim().is_empty());
        if let Some(text) = &report {
            self.context.push(Message::Assistant {
                text: text.clone(),
                tool_calls: Vec::new(),
                raw: None,
            });
        }
        self.state = State::Finished(Finish::AtLimit { limit, report });
    }

    fn replied(&mut self, reply: ModelReply) -> Result<(), IllegalFact> {
        if let State::AtLimit { limit, asked: true } = &self.state {
            let limit = limit.clone();
            self.turn += 1;
            self.reported(reply.text, limit);
            return Ok(());
        }
        if !matches!(self.state, State::Ready) {
            return Err(self.illegal("a reply came while no request was open"));
        }
        self.turn += 1;
        self.attempt_turns += 1;
        self.returned = None;
        let ModelReply {
            text,
            tool_calls,
            stop,
            raw,
            ..
        } = reply;
        let is_empty = text.trim().is_empty() && tool_calls.is_empty();
        if is_empty && stop != StopReason::MaxTokens {
            self.said_nothing(&stop);
            return Ok(());
        }
        self.empty_replies = 0;
        if is_empty {
            // All its tokens went into reasoning, which is no part of the conversation.
            self.was_cut_off();
            return Ok(());
        }
        self.context.push(Message::Assistant {
            text: text.clone(),
            tool_calls: tool_calls.clone(),
            raw,
        });
        if tool_calls.is_empty() {
            self.ended_turn(text, &stop);
            return Ok(());
        }
        self.cut_replies = 0;
        let results = refuse_surplus(&tool_calls, &stop);
        let results = self.refuse_repeats(&tool_calls, results);
        self.state = State::RunningTools {
            calls: tool_calls,
            results,
        };
        self.close_turn_if_answered();
        if stop == StopReason::Refusal {
            self.state = State::Finished(Finish::Refused(text));
        }
        Ok(())
    }

    /// Answers the calls that are not run because they have had the same result too often.
    fn refuse_repeats(
        &self,
        calls: &[ToolCall],
        mut results: Vec<Option<ToolAnswer>>,
    ) -> Vec<Option<ToolAnswer>> {
        if self.spec.refuses_repeats {
            for (call, slot) in calls
                .iter()
                .zip(&mut results)
                .filter(|(call, _)| self.repeats.refuses(call))
            {
                slot.get_or_insert_with(|| ToolAnswer::failed(&call.id, NOT_REPEATED));
            }
        }
        results
    }

    fn ended_turn(&mut self, text: String, stop: &StopReason) {
        match stop {
            StopReason::MaxTokens => self.was_cut_off(),
            StopReason::Refusal => self.state = State::Finished(Finish::Refused(text)),
            StopReason::Pause => self.cut_replies = 0,
            StopReason::EndTurn | StopReason::ToolCalls | StopReason::Other(_) => {
                self.cut_replies = 0;
                self.state = State::Finished(Finish::Done(text));
            }
        }
    }

    fn was_cut_off(&mut self) {
        self.cut_replies += 1;
        if self.cut_replies >= CUT_REPLIES {
            self.state = State::Finished(Finish::CutOff);
            return;
        }
        let text = "Your reply was cut off at its maximum size. Continue in smaller steps.";
        self.context.push(Message::User {
            text: text.to_owned(),
        });
    }

    fn said_nothing(&mut self, stop: &StopReason) {
        self.empty_replies += 1;
        if *stop == StopReason::Refusal {
            self.state = State::Finished(Finish::Refused(String::new()));
        } else if self.empty_replies >= EMPTY_REPLIES {
            self.state = State::Finished(Finish::Silent);
        } else {
            let text =
                "Your reply was empty. Call a tool, or say that the task is done and what you did.";
            self.context.push(Message::User {
                text: text.to_owned(),
            });
        }
    }

    fn tool_ended(&mut self, result: ToolAnswer) -> Result<(), IllegalFact> {
        let State::RunningTools { calls, results } = &mut self.state else {
            return Err(self.illegal("a tool result came while no call was open"));
        };
        let slot = calls
            .iter()
            .zip(results.iter_mut())
            .find(|(call, slot)| call.id == result.call_id && slot.is_none());
        let Some((_, slot)) = slot else {
            let reason = format!(
                "a result came for the call {}, which is not open",
                result.call_id
            );
            return Err(self.illegal(&reason));
        };
        *slot = Some(result);
        self.close_turn_if_answered();
        Ok(())
    }

    /// Puts the results of a turn into the context once all of them are there.
    fn close_turn_if_answered(&mut self) {
        let State::RunningTools { calls, results } = &self.state else {
            return;
        };
        if results.iter().any(Option::is_none) {
            return;
        }
        let answered: Vec<ToolAnswer> = results.iter().flatten().cloned().collect();
        let repeated = if self.spec.refuses_repeats {
            self.repeats.count_turn(calls, &answered, |name| {
                self.changing.contains(&name.to_lowercase())
            })
        } else {
            self.older_repeats.count_turn(calls, &answered)
        };
        self.state = State::Ready;
        self.context.push(Message::Tool {
            results: answered.iter().map(ToolAnswer::render).collect(),
        });
        match repeated {
            Repeated::No => {}
            Repeated::Polls => {
                let can_wait = self.spec.tools.iter().any(|tool| tool.name == WAIT_TOOL);
                self.context.push(Message::User {
                    text: polling_advice(can_wait),
                });
            }
            Repeated::Warned => self.context.push(Message::User {
                text: REPEATED.to_owned(),
            }),
            Repeated::Ends(tools) => {
                let tools: Vec<String> =
                    tools.into_iter().map(|tool| format!("`{tool}`")).collect();
                let text = format!(
                    "{REPEATED} The repeated call of {} is not run any more until something has \
                     changed.",
                    tools.join(", ")
                );
                self.context.push(Message::User { text });
            }
            Repeated::Loops => self.state = State::Finished(Finish::Looping),
        }
    }

    fn heard(&mut self, text: String) -> Result<(), IllegalFact> {
        if !self.can_hear() {
            return Err(self.illegal("a message came in the middle of a turn"));
        }
        self.grant_turn_if_done();
        self.state = State::Ready;
        self.hear_news();
        self.context.push(Message::User { text });
        Ok(())
    }

    /// Begins to count repetitions anew.
    fn hear_news(&mut self) {
        self.older_repeats = OlderRepeats::default();
        self.repeats.begin_anew();
    }

    /// Gives an agent that is done another turn: finished work must not fail for lack of one in
    /// which to read news.
    fn grant_turn_if_done(&mut self) {
        if matches!(self.state, State::Finished(Finish::Done(_))) {
            self.attempt_turns = self.attempt_turns.saturating_sub(1);
        }
    }

    fn returned(&mut self, cause: ReturnCause, text: String) -> Result<(), IllegalFact> {
        if !cause.is_fault() {
            self.grant_turn_if_done();
        }
        self.answer_open_calls();
        self.returned = Some(cause);
        self.state = State::Ready;
        (self.empty_replies, self.cut_replies) = (0, 0);
        self.hear_news();
        self.context.push(Message::User { text });
        Ok(())
    }

    /// Answers the calls that an attempt left open when it ended, since every call needs a result.
    fn answer_open_calls(&mut self) {
        if let State::RunningTools { calls, results } = &mut self.state {
            for (call, slot) in calls.iter().zip(results.iter_mut()) {
                let text = "Result unknown: the attempt ended before this call did. It may have \
                            had effects; check before you repeat it.";
                slot.get_or_insert_with(|| ToolAnswer::failed(&call.id, text));
            }
        }
        self.close_turn_if_answered();
    }

    fn illegal(&self, reason: &str) -> IllegalFact {
        IllegalFact {
            task: self.spec.task.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// Returns what an agent is told that asks again and again about something that goes on by itself.
fn polling_advice(can_wait: bool) -> String {
    let advice = if can_wait {
        "Wait for it with `wait_for_agents`, which ends as soon as something happens, or do other \
         work meanwhile."
    } else {
        "Do other work meanwhile, or end with a report of what is open."
    };
    format!("You have asked the same several times, and nothing has changed yet. {advice}")
}

/// Answers the calls that are never run: calls beyond the limit, the last call of a truncated
/// reply, and every call of a partly withheld reply.
fn refuse_surplus(calls: &[ToolCall], stop: &StopReason) -> Vec<Option<ToolAnswer>> {
    let last = calls.len().saturating_sub(1);
    calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let reason = if at >= MAX_CALLS_PER_REPLY {
                Some(format!(
                    "Not run: a reply may contain at most {MAX_CALLS_PER_REPLY} calls."
                ))
            } else if *stop == StopReason::Refusal {
                Some("Not run: the provider withheld the rest of the reply.".to_owned())
            } else if *stop == StopReason::MaxTokens && at == last {
                Some(
                    "Not run: the reply was cut off at its maximum size. Make a smaller call."
                        .to_owned(),
                )
            } else if calls.iter().take(at).any(|earlier| earlier.id == call.id) {
                Some("Not run: another call of this reply has the same id.".to_owned())
            } else {
                None
            };
            reason.map(|text| ToolAnswer::failed(&call.id, text))
        })
        .collect()
}

fn unanswered(calls: &[ToolCall], results: &[Option<ToolAnswer>]) -> Vec<ToolCall> {
    calls
        .iter()
        .zip(results)
        .filter(|(_, result)| result.is_none())
        .map(|(call, _)| call.clone())
        .collect()
}

/// The result of a call that was stopped, whether by the user or by the death of the process: in
/// both cases its effects are unknown.
pub const INTERRUPTED: &str =
    "it was stopped while running and may have had effects; check before you repeat it";

#[cfg(test)]
mod tests;
