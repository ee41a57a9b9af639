//! Messages: between which agents one may be sent, which of them are delivered, and how questions
//! end.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::{Event, Illegal, Wait};
use crate::ids::{AgentId, CallOfTurn};
use crate::messages::{
    Address, Channel, Envelope, ExpiredMessage, MAILBOX_CAPACITY, MAX_BODY_BYTES,
    MAX_DEADLINE_SECONDS, MessageKind, MessageRefused, Origin, Outgoing, Receiver, Sender,
    UnansweredQuestion,
};
use crate::record::TaskRecord;
use crate::run::routing::{Delivery, NotSent, QuestionEnd, Receipt, Routed};
use crate::run::run_state::RunState;
use crate::task::TaskState;

/// The milliseconds of a second.
const SECOND_MS: u64 = 1_000;

impl RunState {
    /// Decides about a message, and about the wait for its answer. A call that is made again sends
    /// nothing more.
    ///
    /// # Errors
    ///
    /// Fails with the reason for the sender if there is no receiver.
    pub fn decide_message(
        &self,
        origin: &Origin,
        outgoing: &Outgoing,
    ) -> Result<Routed, MessageRefused> {
        let sent_before = match (origin.from.agent(), &origin.call) {
            (Some(agent), Some(call)) => self.mailboxes.sent_by(agent, call).cloned().collect(),
            _ => Vec::new(),
        };
        let is_new = sent_before.is_empty();
        let (sent, refused) = if is_new {
            self.envelopes(origin, outgoing)?
        } else {
            (sent_before, Vec::new())
        };
        let receipt = Receipt {
            sent: sent.iter().map(|sent| self.sent_to(sent)).collect(),
            refused,
            question: None,
        };
        let mut routed = Routed {
            events: Vec::new(),
            receipt,
            waits: false,
        };
        let question = sent.first().filter(|_| outgoing.waits).cloned();
        if is_new {
            for envelope in sent {
                routed.events.push(Event::MessageSent { envelope });
            }
        }
        if let (Some(question), Some(call)) = (question, &origin.call) {
            self.decide_answer(&mut routed, &question, call, outgoing);
        }
        Ok(routed)
    }

    /// Lets the call wait for the answer to its question, or says how the wait has ended.
    fn decide_answer(
        &self,
        routed: &mut Routed,
        question: &Envelope,
        call: &CallOfTurn,
        outgoing: &Outgoing,
    ) {
        let Some(asker) = question.from.agent() else {
            return;
        };
        let ended = self
            .task(asker)
            .and_then(TaskRecord::ended_wait)
            .filter(|ended| ended.of == *call);
        // What has come meanwhile is read first, as before any other wait.
        if ended.is_some() || self.messages_for(asker).next().is_some() {
            let timed_out = ended.is_some_and(|ended| ended.timed_out);
            let is_new = !routed.events.is_empty();
            routed.receipt.question = Some(self.question_end(question, is_new, timed_out));
            return;
        }
        let wait = Wait::Message {
            to: question.to.clone(),
            question: question.sequence,
            until_ms: deadline(self.worked_ms(), outgoing.deadline_seconds),
        };
        let (task, turn, call_id) = (asker.clone(), call.turn, call.call.clone());
        routed.events.push(Event::AgentWaiting {
            task,
            turn,
            call_id,
            wait,
        });
        routed.waits = true;
    }

    fn question_end(&self, question: &Envelope, is_new: bool, timed_out: bool) -> QuestionEnd {
        let Envelope {
            from, to, sequence, ..
        } = question;
        let is_answered = match from.agent() {
            Some(asker) => self
                .messages_for(asker)
                .any(|message| message.answers(to, *sequence)),
            None => false,
        };
        if is_answered {
            QuestionEnd::Answered
        } else if !is_new && !self.mailboxes.is_open(from, to, *sequence) {
            QuestionEnd::Closed
        } else if timed_out {
            QuestionEnd::TimedOut
        } else {
            QuestionEnd::OtherMessage
        }
    }

    /// Returns a message to each receiver that may get it, and why the others do not.
    fn envelopes(
        &self,
        origin: &Origin,
        outgoing: &Outgoing,
    ) -> Result<(Vec<Envelope>, Vec<NotSent>), MessageRefused> {
        if outgoing.body.is_empty() {
            return Err(MessageRefused::Empty);
        }
        let body = outgoing.body.clone().canonical();
        if body.bytes() > MAX_BODY_BYTES {
            return Err(MessageRefused::TooLong {
                bytes: body.bytes(),
            });
        }
        if let Some(seconds) = outgoing.deadline_seconds
            && seconds > MAX_DEADLINE_SECONDS
        {
            return Err(MessageRefused::DeadlineTooFar { seconds });
        }
        let receivers = self.receivers(&origin.from, &outgoing.to);
        if receivers.is_empty() {
            return Err(MessageRefused::NobodyThere {
                address: outgoing.to.to_string(),
            });
        }
        if outgoing.waits && receivers.len() > 1 {
            return Err(MessageRefused::OneAtATime {
                agents: receivers.len(),
            });
        }
        // Once for all receivers: an address may stand for all agents of the run.
        let reachable = self.reachable(origin);
        let (mut sent, mut refused) = (Vec::new(), Vec::new());
        for to in receivers {
            if let Err(why) = check_channels(origin, reachable.as_ref(), &to) {
                refused.push(NotSent { to, why });
                continue;
            }
            match self.envelope(origin, outgoing, &to) {
                Ok(envelope) => sent.push(Envelope {
                    body: body.clone(),
                    ..envelope
                }),
                Err(why) => refused.push(NotSent { to, why }),
            }
        }
        match (sent.is_empty(), refused.as_slice()) {
            (true, [only]) => Err(only.why.clone()),
            (true, several) => {
                let reasons: Vec<String> = several
                    .iter()
                    .map(|NotSent { why, .. }| why.to_string())
                    .collect();
                Err(MessageRefused::ByAll {
                    reasons: reasons.join("; "),
                })
            }
            (false, _) => Ok((sent, refused)),
        }
    }

    /// Returns the message to one receiver, without its body.
    fn envelope(
        &self,
        origin: &Origin,
        outgoing: &Outgoing,
        to: &Receiver,
    ) -> Result<Envelope, MessageRefused> {
        let from = &origin.from;
        self.check_receiver(from, to)?;
        let (kind, reply_to) = self.purpose(from, outgoing, to)?;
        if kind == MessageKind::Shutdown && !self.may_shut_down(from, to) {
            return Err(MessageRefused::MayNotShutDown {
                to: to.as_str().to_owned(),
            });
        }
        if outgoing.waits {
            self.check_is_read(from, to)?;
        }
        let sequence = self.mailboxes.channel(from, to).sent + 1;
        Ok(Envelope {
            kind,
            reply_to,
            deadline: deadline(self.updated_ms, outgoing.deadline_seconds),
            call: origin.call.clone(),
            ..Envelope::note(sequence, from.clone(), to.clone(), "")
        })
    }

    /// Returns the receivers that an address stands for, in the order of the plan, then of
    /// addition.
    fn receivers(&self, from: &Sender, address: &Address) -> Vec<Receiver> {
        let sender = from.agent();
        match (address, sender) {
            (Address::Agent(agent), _) => vec![Receiver::Agent(self.agent_named(agent).clone())],
            (Address::User, _) => vec![Receiver::User],
            (Address::Parent, Some(agent)) => match self.parent_of(agent) {
                Some(parent) => vec![Receiver::Agent(parent.clone())],
                None => vec![Receiver::User],
            },
            (Address::Parent, None) => Vec::new(),
            (Address::Children | Address::Siblings | Address::Role(_) | Address::All, _) => {
                let mut receivers = Vec::new();
                for record in self.agents() {
                    let id = &record.task.id;
                    if Some(id) != sender && self.is_in_group(record, address, sender) {
                        receivers.push(Receiver::Agent(id.clone()));
                    }
                }
                receivers
            }
        }
    }

    /// Reports whether a sender's address of several agents stands for this one.
    fn is_in_group(
        &self,
        record: &TaskRecord,
        address: &Address,
        sender: Option<&AgentId>,
    ) -> bool {
        let parent = record.parent.as_ref();
        match (address, sender) {
            (Address::Children, _) => parent == sender,
            (Address::Siblings, Some(sender)) => parent == self.parent_of(sender),
            (Address::Role(role), _) => self.role_of_agent(record) == role,
            (Address::All, _) => true,
            (Address::Siblings, None)
            | (Address::Agent(_) | Address::User | Address::Parent, _) => false,
        }
    }

    /// Returns the tasks that agents work on, not commands.
    fn agents(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks().filter(|record| !record.is_command())
    }

    /// Returns the role of a task's agent, which it may not have yet.
    fn role_of_agent<'a>(&'a self, record: &'a TaskRecord) -> &'a str {
        record.agent().unwrap_or_else(|| self.role_of(&record.task))
    }

    /// Returns the roles of the run's agents.
    pub fn roles(&self) -> BTreeSet<&str> {
        self.agents()
            .map(|record| self.role_of_agent(record))
            .collect()
    }

    /// Returns the receivers that a sender's channels let it address; `None` for all.
    fn reachable(&self, origin: &Origin) -> Option<BTreeSet<Receiver>> {
        let mut reachable = BTreeSet::new();
        for channel in origin.channels.as_ref()? {
            reachable.extend(self.receivers(&origin.from, channel));
        }
        Some(reachable)
    }

    /// Reports whether a receiver takes another message from this sender.
    fn check_receiver(&self, from: &Sender, to: &Receiver) -> Result<(), MessageRefused> {
        if from.as_receiver().as_ref() == Some(to) {
            return Err(MessageRefused::Itself);
        }
        let Receiver::Agent(id) = to else {
            let Channel { sent, acknowledged } = self.mailboxes.channel(from, to);
            let unanswered =
                usize::try_from(sent.saturating_sub(acknowledged)).unwrap_or(usize::MAX);
            return if unanswered < MAILBOX_CAPACITY {
                Ok(())
            } else {
                Err(MessageRefused::UserHasMany)
            };
        };
        let Some(record) = self.task(id) else {
            let known: Vec<&str> = self
                .agents()
                .map(|record| record.task.id.as_str())
                .collect();
            return Err(MessageRefused::UnknownRecipient {
                to: id.to_string(),
                known: known.join(", "),
            });
        };
        if record.is_command() {
            return Err(MessageRefused::NoAgent { to: id.clone() });
        }
        if self.merges.current() == Some(id) {
            return Err(MessageRefused::BeingMerged { to: id.clone() });
        }
        if !record.state().reads_messages() {
            return Err(MessageRefused::ReadsNoMore {
                to: id.clone(),
                state: record.state(),
            });
        }
        if self.mailboxes.for_agent(id).len() >= MAILBOX_CAPACITY {
            return Err(MessageRefused::MailboxFull { to: id.clone() });
        }
        Ok(())
    }

    /// Returns the purpose of a message, and the question that it answers. One that says neither,
    /// to the only agent that waits for an answer, is that answer.
    fn purpose(
        &self,
        from: &Sender,
        outgoing: &Outgoing,
        to: &Receiver,
    ) -> Result<(MessageKind, Option<u64>), MessageRefused> {
        use MessageKind::{Answer, Note, Question};
        let asked = match from.as_receiver() {
            Some(receiver) => self.mailboxes.questions(&to.as_sender(), &receiver),
            None => &[],
        };
        if let Some(number) = outgoing.reply_to
            && !asked.iter().any(|question| question.sequence == number)
        {
            return Err(no_such_question(to, asked));
        }
        match (outgoing.kind, outgoing.reply_to) {
            (None | Some(Answer), Some(number)) => Ok((Answer, Some(number))),
            (Some(Answer), None) => match self.only_question(from, to, asked) {
                Some(only) => Ok((Answer, Some(only))),
                None => Err(no_such_question(to, asked)),
            },
            (Some(_), Some(_)) => Err(MessageRefused::NoAnswer),
            (None | Some(Question), None) if outgoing.waits => Ok((Question, None)),
            (Some(_), None) if outgoing.waits => Err(MessageRefused::NoQuestion),
            (Some(kind), None) => Ok((kind, None)),
            (None, None) if outgoing.to.is_group() => Ok((Note, None)),
            (None, None) => match self.only_question(from, to, asked) {
                Some(number) => Ok((Answer, Some(number))),
                None => Ok((Note, None)),
            },
        }
    }

    /// Returns the question that an answer without a number is for: the only one that the sender
    /// has read, or the one that an agent waits with for the user.
    fn only_question(&self, from: &Sender, to: &Receiver, asked: &[Arc<Envelope>]) -> Option<u64> {
        if *from == Sender::User
            && let Some(agent) = to.agent()
            && let Some(Wait::Message {
                to: Receiver::User,
                question,
                ..
            }) = self.wait_of(agent)
        {
            return Some(*question);
        }
        let receiver = from.as_receiver()?;
        let read = if receiver == Receiver::User {
            u64::MAX
        } else {
            let channel = self.mailboxes.channel(&to.as_sender(), &receiver);
            channel.acknowledged
        };
        let mut only = None;
        for question in asked {
            if question.sequence > read {
                continue;
            }
            if only.is_some() {
                return None;
            }
            only = Some(question.sequence);
        }
        only
    }

    fn may_shut_down(&self, from: &Sender, to: &Receiver) -> bool {
        match (from, to) {
            (Sender::User, Receiver::Agent(_)) => true,
            (Sender::Agent(from), Receiver::Agent(to)) => self.is_ancestor(from, to),
            _ => false,
        }
    }

    /// Refuses to wait for the answer of an agent that can only begin once the asker has ended.
    fn check_is_read(&self, from: &Sender, to: &Receiver) -> Result<(), MessageRefused> {
        let (Some(asker), Some(asked)) = (from.agent(), to.agent()) else {
            return Ok(());
        };
        if let Some(record) = self.task(asked)
            && record.state() != TaskState::Pending
        {
            return Ok(());
        }
        let held_up = self.held_up_by(asker, std::slice::from_ref(asked));
        if held_up.is_empty() {
            return Ok(());
        }
        Err(MessageRefused::NeverReads { to: asked.clone() })
    }

    fn sent_to(&self, envelope: &Envelope) -> Delivery {
        let acknowledged = self
            .mailboxes
            .channel(&envelope.from, &envelope.to)
            .acknowledged;
        Delivery {
            to: envelope.to.clone(),
            sequence: envelope.sequence,
            kind: envelope.kind,
            acknowledged,
        }
    }

    pub(super) fn message_sent(&mut self, envelope: &Envelope) -> Result<(), Illegal> {
        let body = &envelope.body;
        if body.is_empty() {
            return Err(MessageRefused::Empty.into());
        }
        if body.bytes() > MAX_BODY_BYTES {
            return Err(MessageRefused::TooLong {
                bytes: body.bytes(),
            }
            .into());
        }
        self.check_receiver(&envelope.from, &envelope.to)?;
        Arc::make_mut(&mut self.mailboxes).accept(envelope)
    }

    pub(super) fn message_delivered(
        &mut self,
        from: &Sender,
        to: &AgentId,
        sequence: u64,
    ) -> Result<(), Illegal> {
        Arc::make_mut(&mut self.mailboxes).deliver(from, to, sequence)
    }

    pub(super) fn message_expired(
        &mut self,
        from: &Sender,
        to: &Receiver,
        sequence: u64,
    ) -> Result<(), Illegal> {
        let mailboxes = Arc::make_mut(&mut self.mailboxes);
        match to {
            Receiver::Agent(agent) => mailboxes.expire(from, agent, sequence),
            // What the user is shown is read at once, so only the answer to a question can come too
            // late.
            Receiver::User => {
                if mailboxes.close(from, to, sequence) {
                    return Ok(());
                }
                let (asker, open) = (from.agent().map(ToString::to_string), String::new());
                Err(MessageRefused::NoSuchQuestion {
                    to: asker.unwrap_or_default(),
                    open,
                }
                .into())
            }
        }
    }

    pub(super) fn question_unanswered(
        &mut self,
        question: &UnansweredQuestion,
    ) -> Result<(), Illegal> {
        let UnansweredQuestion { from, to, sequence } = question;
        let (from, asked) = (Sender::Agent(from.clone()), Receiver::Agent(to.clone()));
        let was_open = Arc::make_mut(&mut self.mailboxes).close(&from, &asked, *sequence);
        if was_open {
            Ok(())
        } else {
            Err(Illegal::NoMessage {
                to: to.clone(),
                sequence: *sequence,
            })
        }
    }

    /// Returns an agent's undelivered messages, oldest first.
    pub fn messages_for(&self, agent: &AgentId) -> impl Iterator<Item = &Envelope> {
        self.mailboxes.for_agent(agent).iter().map(Arc::as_ref)
    }

    /// Returns all undelivered messages, by receiver, then oldest first.
    pub fn unread(&self) -> impl Iterator<Item = &Envelope> {
        self.mailboxes.all()
    }

    /// Returns what is known of a sender's messages to a receiver.
    pub fn channel(&self, from: &Sender, to: &Receiver) -> Channel {
        self.mailboxes.channel(from, to)
    }

    /// Returns the questions to the user that still can be answered, by agent, then oldest first.
    pub fn questions_to_user(&self) -> impl Iterator<Item = (&AgentId, &Envelope)> {
        self.mailboxes
            .all_questions()
            .filter(|question| question.to == Receiver::User)
            .filter_map(|question| {
                let agent = question.from.agent()?;
                let reads = self.task(agent)?.state().reads_messages();
                reads.then_some((agent, question))
            })
    }

    /// Returns what agents have told the user since the user wrote to them last, by agent, then
    /// oldest first. Their questions are not among it.
    pub fn messages_to_user(&self) -> impl Iterator<Item = &Envelope> {
        self.mailboxes.to_user()
    }

    /// Decides what an agent reads before its next request; what has expired is not delivered.
    pub fn decide_delivery(&self, agent: &AgentId) -> (Vec<Event>, Vec<Envelope>) {
        let (mut events, mut read) = (Vec::new(), Vec::new());
        for message in self.messages_for(agent) {
            if message.is_expired(self.updated_ms) {
                events.extend(self.expired(message));
                continue;
            }
            let Envelope { from, sequence, .. } = message;
            let (from, to, sequence) = (from.clone(), agent.clone(), *sequence);
            events.push(Event::MessageDelivered {
                from,
                to,
                sequence,
                expired: false,
            });
            read.push(message.clone());
        }
        (events, read)
    }

    /// Returns the events of a message whose deadline has passed; the sender of a question is told.
    pub(super) fn expired(&self, message: &Envelope) -> Vec<Event> {
        let Envelope {
            from,
            to,
            sequence,
            kind,
            ..
        } = message;
        let expired = ExpiredMessage {
            from: from.clone(),
            to: to.clone(),
            sequence: *sequence,
        };
        let what = match to {
            Receiver::Agent(to) => format!("Agent {to} did not read"),
            Receiver::User => "The user did not answer".to_owned(),
        };
        let mut events = vec![Event::MessageExpired(expired)];
        if *kind == MessageKind::Question
            && let Some(asker) = from.agent()
        {
            let text = format!("{what} your question {sequence} before its deadline.");
            events.extend(self.notice(asker, text));
        }
        events
    }

    /// Returns the messages that may miss their deadlines: those that are undelivered, and the
    /// questions that the user has not answered.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = &Envelope> {
        self.unread()
            .chain(self.questions_to_user().map(|(_, question)| question))
    }

    /// Returns the outstanding message whose deadline passes next.
    pub(super) fn next_deadline(&self) -> Option<(u64, &Envelope)> {
        let due = self
            .outstanding()
            .filter_map(|message| Some((message.deadline?, message)));
        due.min_by_key(|(deadline, _)| *deadline)
    }

    /// Returns the events that close the questions which will not be answered, and tell the askers:
    /// the agent that was asked has ended, or cannot go on before the asker.
    pub(super) fn unanswered(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut told: Vec<&AgentId> = Vec::new();
        for question in self.mailboxes.all_questions() {
            let Envelope {
                from: Sender::Agent(asker),
                to: Receiver::Agent(asked),
                sequence,
                ..
            } = question
            else {
                continue;
            };
            let has_ended = match self.task(asked) {
                Some(record) => self.is_at_rest(record),
                None => false,
            };
            let why = if has_ended {
                "has ended without an answer to"
            } else if self.comes_after_its_asker(question) {
                "cannot go on before you do, so it does not answer"
            } else {
                continue;
            };
            // One notice at a time, since each takes the next number.
            if told.contains(&asker) {
                continue;
            }
            let text = format!("Agent {asked} {why} your question {sequence}.");
            let Some(notice) = self.notice(asker, text) else {
                continue;
            };
            told.push(asker);
            let (from, to, sequence) = (asker.clone(), asked.clone(), *sequence);
            let question = UnansweredQuestion { from, to, sequence };
            events.extend([Event::QuestionUnanswered(question), notice]);
        }
        events
    }

    /// Reports whether an agent that was asked has not begun, or waits, and cannot go on before the
    /// one that waits for its answer. No call closes that cycle if an agent has finished before its
    /// children.
    fn comes_after_its_asker(&self, question: &Envelope) -> bool {
        let Envelope {
            from: Sender::Agent(asker),
            to: Receiver::Agent(asked),
            sequence,
            ..
        } = question
        else {
            return false;
        };
        let Some(Wait::Message {
            to,
            question: awaited,
            ..
        }) = self.wait_of(asker)
        else {
            return false;
        };
        to.agent() == Some(asked)
            && awaited == sequence
            && self.task(asked).is_some_and(stands_still)
            && !self.is_woken(asker)
            && !self
                .held_up_by(asker, std::slice::from_ref(asked))
                .is_empty()
    }

    /// Returns a message of the run itself to an agent; `None` if the agent takes none.
    fn notice(&self, to: &AgentId, text: String) -> Option<Event> {
        let to = Receiver::Agent(to.clone());
        self.check_receiver(&Sender::Run, &to).ok()?;
        let sequence = self.mailboxes.channel(&Sender::Run, &to).sent + 1;
        let envelope = Envelope {
            kind: MessageKind::ErrorReport,
            ..Envelope::note(sequence, Sender::Run, to, text)
        };
        Some(Event::MessageSent { envelope })
    }
}

fn stands_still(record: &TaskRecord) -> bool {
    match record.wait() {
        Some(wait) => !wait.is_for_person(),
        None => record.state() == TaskState::Pending,
    }
}

/// Refuses a receiver that the sender may not address.
fn check_channels(
    origin: &Origin,
    reachable: Option<&BTreeSet<Receiver>>,
    to: &Receiver,
) -> Result<(), MessageRefused> {
    if reachable.is_none_or(|reachable| reachable.contains(to)) {
        return Ok(());
    }
    let channels = origin
        .channels
        .iter()
        .flatten()
        .map(Address::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    Err(MessageRefused::NotInChannels {
        to: to.as_str().to_owned(),
        channels,
    })
}

/// Returns the refusal to answer a question that is not open, with those that are.
fn no_such_question(to: &Receiver, asked: &[Arc<Envelope>]) -> MessageRefused {
    let open: Vec<String> = asked
        .iter()
        .map(|question| question.sequence.to_string())
        .collect();
    MessageRefused::NoSuchQuestion {
        to: to.as_str().to_owned(),
        open: open.join(", "),
    }
}

/// Returns the time so many seconds from now, in milliseconds.
fn deadline(now_ms: u64, seconds: Option<u64>) -> Option<u64> {
    let left_ms = seconds?.saturating_mul(SECOND_MS);
    Some(now_ms.saturating_add(left_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::settings::RunSettings;
    use crate::event::{IllegalEvent, Recorded, VERSION};
    use crate::task::{FailureCause, Task};

    /// A run whose only agent `a` is at work, with one event each second.
    #[derive(Clone)]
    struct Story(RunState);

    impl Story {
        fn new() -> Self {
            let started = Event::RunStarted {
                plan: None,
                plan_source: None,
                title: None,
                settings: Box::new(RunSettings::default()),
                base_commit: "base".into(),
                base_branch: None,
            };
            let mut story = Self(RunState::begin(&recorded(1, started)).unwrap());
            story.tell(Event::planned(Task {
                id: "a".into(),
                ..Task::default()
            }));
            story.tell(Event::TaskReady { task: "a".into() });
            story.tell(Event::AgentSpawned {
                task: "a".into(),
                attempt: 1,
                agent: Some("implementer".to_owned()),
                model: None,
                branch: "orchestrate/r-abcdef/a".to_owned(),
                base: "base".into(),
                spec: None,
                sends: None,
            });
            story
        }

        fn try_tell(&mut self, event: Event) -> Result<(), IllegalEvent> {
            self.0.apply(&recorded(self.0.seq + 1, event))
        }

        fn tell(&mut self, event: Event) {
            self.try_tell(event).unwrap();
        }

        /// Lets the agent send a message with its call of this name.
        fn say(&mut self, call: &str, message: &Outgoing) -> Routed {
            let call = Some(CallOfTurn {
                turn: 1,
                call: call.into(),
            });
            let origin = Origin {
                from: Sender::Agent("a".into()),
                call,
                channels: None,
            };
            let routed = self.0.decide_message(&origin, message).unwrap();
            routed
                .events
                .iter()
                .for_each(|event| self.tell(event.clone()));
            routed
        }

        /// Lets the user send a message to the agent.
        fn answer(&mut self, reply_to: Option<u64>) -> Result<(), MessageRefused> {
            let answer = Outgoing {
                reply_to,
                ..Outgoing::new("a", "4711")
            };
            let routed = self.0.decide_message(&Origin::user(), &answer)?;
            for event in routed.events.into_iter() {
                self.tell(event);
            }
            Ok(())
        }

        /// Lets the next deadline pass, and returns what the agent is told.
        fn expire(&mut self) -> String {
            let expiry = self.0.next_expiry().unwrap();
            self.0
                .decide_expiry(&expiry)
                .into_iter()
                .for_each(|event| self.tell(event));
            self.0
                .messages_for(&"a".into())
                .map(Envelope::render)
                .collect()
        }
    }

    fn recorded(seq: u64, event: Event) -> Recorded {
        Recorded {
            run_id: "r-abcdef".into(),
            seq,
            ts_ms: seq * 1_000,
            v: VERSION,
            event,
        }
    }

    fn question(waits: bool) -> Outgoing {
        let (kind, deadline_seconds) = (Some(MessageKind::Question), Some(60));
        Outgoing {
            kind,
            deadline_seconds,
            waits,
            ..Outgoing::new("user", "which port?")
        }
    }

    #[test]
    fn a_question_that_the_user_does_not_answer_in_time_is_closed() {
        const TOLD: &str = "The user did not answer your question 1 before its deadline.";
        let expired = ExpiredMessage {
            from: Sender::Agent("a".into()),
            to: Receiver::User,
            sequence: 1,
        };
        // An agent that has not waited is told as well as one that has.
        for waits in [false, true] {
            let mut story = Story::new();
            assert_eq!(story.say("c1", &question(waits)).waits, waits);
            let told = story.expire();
            assert!(told.contains(TOLD), "{told}");
            assert_eq!(
                (story.0.questions_to_user().count(), story.0.next_deadline()),
                (0, None)
            );
            assert!(
                story
                    .try_tell(Event::MessageExpired(expired.clone()))
                    .is_err()
            );
            assert!(matches!(
                story.answer(Some(1)),
                Err(MessageRefused::NoSuchQuestion { .. })
            ));
            let woken = Event::AgentWoken {
                task: "a".into(),
                timed_out: false,
            };
            assert_eq!(
                story.0.due_facts(),
                if waits {
                    vec![woken.clone()]
                } else {
                    Vec::new()
                }
            );
            if waits {
                story.tell(woken);
                assert_eq!(
                    story.say("c1", &question(true)).receipt.question,
                    Some(QuestionEnd::Closed)
                );
            }
        }
    }

    #[test]
    fn a_deadline_is_at_most_a_year_away() {
        let origin = Origin {
            from: Sender::Agent("a".into()),
            call: None,
            channels: None,
        };
        let decide = |seconds: u64| {
            let message = Outgoing {
                deadline_seconds: Some(seconds),
                ..question(false)
            };
            Story::new()
                .0
                .decide_message(&origin, &message)
                .map(|routed| routed.events.len())
        };
        assert_eq!(decide(MAX_DEADLINE_SECONDS), Ok(1));
        let expected = "a deadline 1000000000000000 s from now is too far away, at most 31536000 s \
                        (a year) are allowed";
        assert_eq!(
            decide(1_000_000_000_000_000).unwrap_err().to_string(),
            expected
        );
    }

    #[test]
    fn an_agent_that_waits_for_an_answer_can_report_at_a_limit() {
        let mut story = Story::new();
        story.say("c1", &question(true));
        let due = story
            .0
            .decide_report(&"a".into(), FailureCause::Timeout, "no time is left")
            .unwrap();
        story.tell(due);
        let record = story.0.task(&"a".into()).unwrap();
        let limit = record.reached_limit().map(|limit| limit.cause);
        assert_eq!(
            (record.state(), limit),
            (TaskState::Running, Some(FailureCause::Timeout))
        );
    }

    #[test]
    fn what_an_agent_tells_the_user_is_kept_until_the_user_writes_to_it() {
        let mut story = Story::new();
        story.say("c1", &Outgoing::new("user", "hello"));
        story.say("c2", &question(false));
        story.say(
            "c3",
            &Outgoing {
                kind: Some(MessageKind::StatusUpdate),
                ..Outgoing::new("user", "half of it")
            },
        );
        let told = |story: &Story| {
            story
                .0
                .messages_to_user()
                .map(|message| message.body.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&story), ["hello", "half of it"]);
        story.answer(None).unwrap();
        assert_eq!(told(&story), [""; 0]);
        story.say("c4", &Outgoing::new("user", "thanks"));
        assert_eq!(told(&story), ["thanks"]);
    }

    #[test]
    fn an_answered_question_and_one_of_an_agent_that_has_ended_do_not_expire() {
        let mut story = Story::new();
        story.say("c1", &question(false));
        let mut ended = story.clone();
        story.answer(Some(1)).unwrap();
        ended.tell(Event::TaskMerged {
            task: "a".into(),
            commit: None,
            target: None,
            summary: None,
        });
        assert_eq!((story.0.next_expiry(), ended.0.next_expiry()), (None, None));
    }
}
