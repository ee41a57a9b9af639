//! Everything that happens in a session, as a stream.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use orchestrate_coordinator::{LiveItem, Ruling, RunEvents};
use orchestrate_core::event::{Event as Recorded, Recorded as RecordedFact};
use orchestrate_core::messages::{Address, Body, Envelope, MessageKind, MessageRefused, Receiver};
use orchestrate_core::run::Approval;
use orchestrate_core::run::feed::Followed;
use orchestrate_core::run::request::{Request, RequestRefused};
use orchestrate_core::{AgentId, CallHash, RunState, stream_json_with_hash};
use serde_json::Value;
use tokio::sync::watch;

use crate::child::Outcome;
use crate::error::Result;
use crate::session::Shared;

/// Something that happens in a session.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(session: Session) -> orchestrate::Result<()> {
/// let mut events = session.events();
/// while let Some(event) = events.next().await {
///     match event? {
///         Event::Text { child, delta } => print!("[{child}] {delta}"),
///         Event::Question(question) => question.answer("for users").await?,
///         Event::Approval(call) => call.deny("not in this program").await?,
///         Event::Ended(outcome) => println!("{} is {}", outcome.child, outcome.state),
///         Event::AtRest => break,
///         _ => {}
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A piece of the answer that a child's model is giving. It is never repeated, and may be
    /// missing.
    Text {
        /// The child.
        child: String,
        /// The piece.
        delta: String,
    },
    /// A piece of its model's reasoning, in the same way.
    Reasoning {
        /// The child.
        child: String,
        /// The piece.
        delta: String,
    },
    /// How far a call of a tool is, in the same way.
    Progress {
        /// The child.
        child: String,
        /// What the tool says.
        text: String,
    },
    /// A child asks, and waits for the answer. It comes after the fact of that; one that was
    /// answered before is not shown.
    Question(Question),
    /// A rule asks about a call, whose child waits for the decision. It comes after the fact of
    /// that; one that was decided before is not shown.
    Approval(PendingCall),
    /// What had happened before the stream was made has been returned; the rest happens now.
    CaughtUp,
    /// A child has come to its end: it has finished work that waits to be merged or is merged, it
    /// has answered, or it did not succeed. It comes after the fact of that, and again if the end
    /// becomes another one, as by a merge. An end that was overtaken before is not shown.
    Ended(Outcome),
    /// Nothing happens by itself any more: each child has ended, waits to be merged, or waits for a
    /// person without a deadline, and no [`Session::merge`](crate::Session::merge) is under way. It
    /// comes again after something has happened, and also before the first child is spawned.
    AtRest,
    /// A recorded event. These come in the order of their numbers, and none is missing.
    Fact(Fact),
}

/// A recorded event, as `orchestrate watch --json` prints it.
///
/// The [`kind`](Fact::kind)s that most programs look at, of those that `orchestrate schema events`
/// describes with their fields:
///
/// | kind | what has happened |
/// |---|---|
/// | `task.added`, `agent.spawned` | a child was spawned; it has begun |
/// | `model.requested`, `model.replied` | a request, and its whole reply with its tokens |
/// | `model.waiting`, `model.failed` | the model does not answer; a request has failed for good |
/// | `tool.started`, `tool.finished` | a call, and its outcome |
/// | `approval.decided` | a call was allowed or denied |
/// | `message.sent`, `message.delivered` | a message between agents and the user |
/// | `task.committed`, `verify.finished` | a child's work is on its branch; a check has ended |
/// | `review.requested` | its work waits to be merged |
/// | `merge.started`, `merge.conflicted` | it is being merged; that has conflicts |
/// | `task.returned` | its work goes back to the child, with the reason |
/// | `task.merged`, `task.nothing_to_do` | it has ended well: see [`Event::Ended`] |
/// | `task.failed`, `task.conflicted`, `task.cancelled` | it has ended otherwise |
/// | `worktree.removed` | its worktree was removed, since its work is merged |
/// | `run.resumed`, `run.finished` | a process goes on with the session; it has ended |
///
/// A new version may add kinds and fields; it removes none.
///
/// ```
/// fn line(fact: &orchestrate::Fact) -> String {
///     match (fact.kind.as_str(), &fact.child) {
///         ("tool.started", Some(child)) => format!("{child} calls {}", fact.json["tool"]),
///         (kind, _) => format!("{}: {kind}", fact.number),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fact {
    /// Its number in the run, from 1.
    pub number: u64,
    /// Its type, such as `tool.started`.
    pub kind: String,
    /// The child that it concerns.
    pub child: Option<String>,
    /// The whole event.
    pub json: Value,
}

/// What became of an answer or a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sent {
    /// It was taken.
    Taken,
    /// The question was answered, or the call decided, before; or a deadline of the question has
    /// passed.
    AlreadyAnswered,
}

/// A question of a child.
///
/// ```no_run
/// # async fn example(question: orchestrate::Question) -> orchestrate::Result<()> {
/// if question.try_answer("for users").await? == orchestrate::Sent::AlreadyAnswered {
///     println!("somebody was quicker");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Question {
    child: AgentId,
    number: u64,
    text: String,
    session: Arc<Shared>,
}

/// A call that waits for a decision.
///
/// ```no_run
/// # async fn example(call: orchestrate::PendingCall) -> orchestrate::Result<()> {
/// match call.arguments()["path"].as_str() {
///     Some("CHANGELOG.md") => call.allow().await?,
///     _ => call.deny("change the change log only").await?,
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct PendingCall {
    child: AgentId,
    call: CallHash,
    tool: String,
    summary: String,
    arguments: Value,
    session: Arc<Shared>,
}

impl Question {
    pub(crate) fn new(session: &Arc<Shared>, child: &AgentId, asked: &Envelope) -> Self {
        Self {
            child: child.clone(),
            number: asked.sequence,
            text: asked.body.to_string(),
            session: Arc::clone(session),
        }
    }

    /// Returns what finds it again in [`Session::questions`], also in another process.
    ///
    /// [`Session::questions`]: crate::Session::questions
    pub fn id(&self) -> String {
        format!("{}-{}", self.child, self.number)
    }

    /// Returns the id of the child that asks.
    pub fn child(&self) -> &str {
        self.child.as_str()
    }

    /// Returns what it asks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Answers it. If it was answered before, nothing is sent, and that is no error.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended, or if the child cannot be reached.
    pub async fn answer(&self, answer: impl Into<String>) -> Result<()> {
        self.try_answer(answer).await.map(drop)
    }

    /// Answers it, and says whether it was answered before, in which case nothing is sent.
    ///
    /// # Errors
    ///
    /// See [`Question::answer`].
    pub async fn try_answer(&self, answer: impl Into<String>) -> Result<Sent> {
        let state = self.session.run.state();
        if !is_open(&state, &self.child, self.number) {
            return Ok(Sent::AlreadyAnswered);
        }
        let answer: String = answer.into();
        let message = Request::Message {
            to: Address::Agent(self.child.clone()),
            body: Body::from(answer.as_str()),
            kind: None,
            reply_to: Some(self.number),
            deadline_seconds: None,
        };
        match self.session.run.ask(&message).await? {
            Ruling::Granted(_) => Ok(Sent::Taken),
            // Somebody else has answered it meanwhile.
            Ruling::Refused(RequestRefused::Message(MessageRefused::NoSuchQuestion { .. })) => {
                Ok(Sent::AlreadyAnswered)
            }
            Ruling::Refused(refused) => Err(refused.into()),
        }
    }
}

impl PendingCall {
    pub(crate) fn new(session: &Arc<Shared>, call: &CallHash, approval: &Approval) -> Self {
        Self {
            child: approval.task.clone(),
            call: call.clone(),
            tool: approval.tool.clone(),
            summary: approval.summary.clone(),
            arguments: approval.arguments.clone(),
            session: Arc::clone(session),
        }
    }

    /// Returns what finds it again in [`Session::approvals`], also in another process, and what
    /// `orchestrate approve` takes.
    ///
    /// [`Session::approvals`]: crate::Session::approvals
    pub fn id(&self) -> &str {
        self.call.as_str()
    }

    /// Returns the id of the child that calls.
    pub fn child(&self) -> &str {
        self.child.as_str()
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the call in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the whole arguments, without secrets.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Allows it. If it was decided before, nothing happens, and that is no error.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn allow(&self) -> Result<()> {
        self.try_decide(true, None).await.map(drop)
    }

    /// Denies it, and tells the child why, in the same way.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn deny(&self, why: impl Into<String>) -> Result<()> {
        self.try_decide(false, Some(why.into())).await.map(drop)
    }

    /// Allows or denies it, with a message to the child, and says whether it was decided before.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn try_decide(&self, allowed: bool, message: Option<String>) -> Result<Sent> {
        let request = Request::Decide {
            call: self.call.clone(),
            allowed,
            message,
        };
        match self.session.run.ask(&request).await? {
            Ruling::Granted(_) => Ok(Sent::Taken),
            Ruling::Refused(RequestRefused::NoSuchCall { .. }) => Ok(Sent::AlreadyAnswered),
            Ruling::Refused(refused) => Err(refused.into()),
        }
    }
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("child", &self.child())
            .field("text", &self.text)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingCall")
            .field("child", &self.child())
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// The events of a session from its beginning, in order: see
/// [`Session::events`](crate::Session::events). A slow reader misses no recorded event. It is a
/// [`Stream`] as well.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(session: Session, seen: u64) -> orchestrate::Result<()> {
/// // Only what has happened since a program has kept the number of the last fact that it saw.
/// let mut events = session.events_after(seen);
/// while let Some(event) = events.next().await {
///     if let Event::Fact(fact) = event? {
///         println!("{} {}", fact.number, fact.kind);
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Events {
    step: Step,
}

type Next = (Source, Option<Result<Event>>);

enum Step {
    Idle(Box<Source>),
    Waiting(Pin<Box<dyn Future<Output = Next> + Send>>),
    Ended,
}

/// Where the events come from, and what was said of them.
struct Source {
    session: Arc<Shared>,
    from: u64,
    events: Option<RunEvents>,
    state: watch::Receiver<Arc<RunState>>,
    /// How many merges are under way.
    merges: watch::Receiver<usize>,
    /// What follows from the events that were returned.
    due: VecDeque<Event>,
    caught_up: bool,
    /// The newest event when it was last said that nothing happens by itself.
    rested_at: Option<u64>,
}

impl Events {
    pub(crate) fn new(session: Arc<Shared>, from: u64) -> Self {
        Self {
            step: Step::Idle(Box::new(Source {
                state: session.run.watch(),
                merges: session.merges.subscribe(),
                session,
                from,
                events: None,
                due: VecDeque::new(),
                caught_up: false,
                rested_at: None,
            })),
        }
    }

    /// Returns the next event, or `None` once the session's run has ended; landing comes after
    /// that, so wait for [`Session::land`](crate::Session::land) itself. If the run has ended for
    /// an error, such as a check that fails before any child has begun, that is the last event.
    /// It can be dropped while it waits, as in `select!`: nothing is lost.
    pub async fn next(&mut self) -> Option<Result<Event>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut waiting = match std::mem::replace(&mut self.step, Step::Ended) {
            Step::Idle(source) => Box::pin(source.next()) as Pin<Box<_>>,
            Step::Waiting(waiting) => waiting,
            Step::Ended => return Poll::Ready(None),
        };
        match waiting.as_mut().poll(context) {
            Poll::Pending => {
                self.step = Step::Waiting(waiting);
                Poll::Pending
            }
            Poll::Ready((source, next)) => {
                if matches!(next, Some(Ok(_))) {
                    self.step = Step::Idle(Box::new(source));
                }
                Poll::Ready(next)
            }
        }
    }
}

impl Source {
    async fn next(mut self: Box<Self>) -> Next {
        let next = self.find_next().await.transpose();
        (*self, next)
    }

    async fn find_next(&mut self) -> Result<Option<Event>> {
        let mut events = match self.events.take() {
            Some(events) => events,
            None => self.session.run.follow(self.from)?,
        };
        let next = self.next_of(&mut events).await;
        self.events = Some(events);
        next
    }

    async fn next_of(&mut self, events: &mut RunEvents) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.due.pop_front() {
                return Ok(Some(event));
            }
            while let Some(followed) = events.try_next()? {
                if let Some(event) = self.shown(followed, &events.state()) {
                    return Ok(Some(event));
                }
            }
            if self.has_come_to_rest(events) {
                return Ok(Some(Event::AtRest));
            }
            let followed = tokio::select! {
                followed = events.next() => followed?,
                // Whether it is at rest is asked again.
                Ok(()) = self.state.changed() => continue,
                Ok(()) = self.merges.changed() => continue,
            };
            let Some(followed) = followed else {
                return Ok(None);
            };
            if let Some(event) = self.shown(followed, &events.state()) {
                return Ok(Some(event));
            }
        }
    }

    /// Reports whether nothing happens by itself any more, once for each newest event.
    fn has_come_to_rest(&mut self, events: &RunEvents) -> bool {
        let state = Arc::clone(&self.state.borrow_and_update());
        let is_merging = *self.merges.borrow_and_update() > 0;
        // A reader that lacks an event of this state would be told too early.
        let is_at_rest = self.caught_up
            && !is_merging
            && events.stand_at(state.seq)
            && state.waits_for_program();
        let is_new = is_at_rest && self.rested_at != Some(state.seq);
        if is_new {
            self.rested_at = Some(state.seq);
        }
        is_new
    }

    /// Returns what a program is shown of what a run is followed by.
    fn shown(&mut self, followed: Followed<LiveItem>, state: &RunState) -> Option<Event> {
        match followed {
            Followed::CaughtUp(_) => {
                self.caught_up = true;
                Some(Event::CaughtUp)
            }
            Followed::Live(item) => shown_live(item),
            Followed::Fact(fact) => Some(self.shown_fact(*fact, state)),
        }
    }

    fn shown_fact(&mut self, fact: RecordedFact, state: &RunState) -> Event {
        let ended = state.ended_by(&fact.event);
        self.due
            .extend(ended.map(|record| Event::Ended(state.task_report(record).into())));
        self.due.extend(self.asked_by(&fact, state));
        Event::Fact(Fact::from(fact))
    }

    /// Returns what a person is asked by a fact, if that is still open.
    fn asked_by(&self, fact: &RecordedFact, state: &RunState) -> Option<Event> {
        match &fact.event {
            Recorded::MessageSent { envelope } if is_question(envelope) => {
                let child = envelope.from.agent()?;
                is_open(state, child, envelope.sequence)
                    .then(|| Event::Question(Question::new(&self.session, child, envelope)))
            }
            Recorded::ApprovalRequested { call, .. } => {
                let (_, approval) = state.open_approvals().find(|(open, _)| *open == call)?;
                let pending = PendingCall::new(&self.session, call, approval);
                Some(Event::Approval(pending))
            }
            _ => None,
        }
    }
}

fn shown_live(item: LiveItem) -> Option<Event> {
    Some(match item {
        LiveItem::Text { task, delta } => Event::Text {
            child: task.to_string(),
            delta,
        },
        LiveItem::Reasoning { task, delta } => Event::Reasoning {
            child: task.to_string(),
            delta,
        },
        LiveItem::Progress { task, text, .. } => Event::Progress {
            child: task.to_string(),
            text,
        },
        LiveItem::Retry(retry) => Event::Progress {
            child: retry.task.to_string(),
            text: format!("asking the model again, since it failed to {}", retry.error),
        },
    })
}

fn is_question(envelope: &Envelope) -> bool {
    envelope.kind == MessageKind::Question && envelope.to == Receiver::User
}

fn is_open(state: &RunState, child: &AgentId, number: u64) -> bool {
    state
        .questions_to_user()
        .any(|(agent, question)| agent == child && question.sequence == number)
}

impl From<RecordedFact> for Fact {
    fn from(fact: RecordedFact) -> Self {
        let json = stream_json_with_hash(&fact);
        let kind = json
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("unknown");
        Self {
            number: fact.seq,
            kind: kind.to_owned(),
            child: fact.event.task().map(ToString::to_string),
            json,
        }
    }
}
