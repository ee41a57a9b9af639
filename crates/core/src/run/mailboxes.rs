//! The messages of a run that wait to be read, the questions that wait for an answer, and the
//! numbers of each sender's messages to each receiver.

use std::sync::Arc;

use crate::collections::{SharedMap, update};
use crate::event::Illegal;
use crate::ids::{AgentId, CallOfTurn};
use crate::messages::{Channel, Envelope, MessageKind, Receiver, Sender};

/// The messages of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mailboxes {
    /// The undelivered messages of each agent, oldest first.
    waiting: SharedMap<AgentId, Vec<Arc<Envelope>>>,
    channels: SharedMap<(Sender, Receiver), Channel>,
    /// How many messages each sender has sent: earlier builds numbered them by that.
    sent: SharedMap<Sender, u64>,
    /// The unanswered questions of each sender to each receiver, oldest first.
    questions: SharedMap<(Sender, Receiver), Vec<Arc<Envelope>>>,
    /// What each agent has told the user since the user wrote to it last, oldest first; no
    /// questions.
    to_user: SharedMap<AgentId, Vec<Arc<Envelope>>>,
    /// The messages that each agent has sent by the calls of its newest turn.
    of_turn: SharedMap<AgentId, OfTurn>,
}

/// The messages that the calls of one turn have sent.
#[derive(Clone, Debug, Default, PartialEq)]
struct OfTurn {
    turn: u32,
    messages: Vec<Arc<Envelope>>,
}

impl Mailboxes {
    /// Returns an agent's undelivered messages, oldest first.
    pub(crate) fn for_agent(&self, agent: &AgentId) -> &[Arc<Envelope>] {
        self.waiting.get(agent).map_or(&[], Vec::as_slice)
    }

    /// Returns all undelivered messages, by receiver, then oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Envelope> {
        self.waiting.values().flatten().map(Arc::as_ref)
    }

    /// Returns what is known of a sender's messages to a receiver.
    pub(crate) fn channel(&self, from: &Sender, to: &Receiver) -> Channel {
        self.channels
            .get(&(from.clone(), to.clone()))
            .copied()
            .unwrap_or_default()
    }

    /// Returns the unanswered questions of one to another, oldest first.
    pub(crate) fn questions(&self, from: &Sender, to: &Receiver) -> &[Arc<Envelope>] {
        self.questions
            .get(&(from.clone(), to.clone()))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns all unanswered questions, by sender and receiver.
    pub(crate) fn all_questions(&self) -> impl Iterator<Item = &Envelope> {
        self.questions.values().flatten().map(Arc::as_ref)
    }

    /// Returns what the agents have told the user since the user wrote to them last, by agent, then
    /// oldest first.
    pub(crate) fn to_user(&self) -> impl Iterator<Item = &Envelope> {
        self.to_user.values().flatten().map(Arc::as_ref)
    }

    /// Reports whether a question waits for its answer.
    pub(crate) fn is_open(&self, from: &Sender, to: &Receiver, question: u64) -> bool {
        self.questions(from, to)
            .iter()
            .any(|asked| asked.sequence == question)
    }

    /// Returns what a call has sent already.
    pub(crate) fn sent_by<'a>(
        &'a self,
        agent: &AgentId,
        call: &'a CallOfTurn,
    ) -> impl Iterator<Item = &'a Envelope> {
        let messages = self
            .of_turn
            .get(agent)
            .map_or(&[][..], |of_turn| of_turn.messages.as_slice());
        messages
            .iter()
            .map(Arc::as_ref)
            .filter(move |envelope| envelope.call.as_ref() == Some(call))
    }

    /// Accepts a message.
    pub(crate) fn accept(&mut self, envelope: &Envelope) -> Result<(), Illegal> {
        let Envelope {
            from, to, sequence, ..
        } = envelope;
        let newest = self.channel(from, to).sent;
        let of_sender = self.sent.get(from).copied().unwrap_or_default() + 1;
        if *sequence != newest + 1 && (*sequence != of_sender || *sequence <= newest) {
            return Err(Illegal::MessageNumber {
                expected: newest + 1,
                found: *sequence,
            });
        }
        let envelope = Arc::new(envelope.clone());
        self.sent.insert_mut(from.clone(), of_sender);
        let key = (from.clone(), to.clone());
        update(&mut self.channels, key.clone(), |channel| {
            channel.sent = *sequence
        });
        if let (Some(question), Some(asker)) = (envelope.reply_to, envelope.to_asker()) {
            self.close(&asker.0, &asker.1, question);
        }
        if envelope.kind == MessageKind::Question {
            let asked = Arc::clone(&envelope);
            update(&mut self.questions, key, |open| open.push(asked));
        }
        if let (Some(agent), Some(call)) = (from.agent(), &envelope.call) {
            let message = Arc::clone(&envelope);
            update(&mut self.of_turn, agent.clone(), |of_turn| {
                if of_turn.turn != call.turn {
                    *of_turn = OfTurn {
                        turn: call.turn,
                        messages: Vec::new(),
                    };
                }
                of_turn.messages.push(message);
            });
        }
        match to {
            Receiver::Agent(agent) => {
                if *from == Sender::User {
                    // The user has answered, so what the agent wrote before has been read.
                    self.acknowledge(&Sender::Agent(agent.clone()), &Receiver::User, None);
                    self.to_user.remove_mut(agent);
                }
                update(&mut self.waiting, agent.clone(), |waiting| {
                    waiting.push(envelope)
                });
            }
            Receiver::User => {
                if let Some(agent) = from
                    .agent()
                    .filter(|_| envelope.kind != MessageKind::Question)
                {
                    update(&mut self.to_user, agent.clone(), |sent| sent.push(envelope));
                }
            }
        }
        Ok(())
    }

    /// Removes a message that is delivered, and acknowledges it.
    pub(crate) fn deliver(
        &mut self,
        from: &Sender,
        to: &AgentId,
        sequence: u64,
    ) -> Result<(), Illegal> {
        self.take(from, to, sequence)?;
        self.acknowledge(from, &Receiver::Agent(to.clone()), Some(sequence));
        Ok(())
    }

    /// Removes a message whose deadline has passed; a question that was not read is closed.
    pub(crate) fn expire(
        &mut self,
        from: &Sender,
        to: &AgentId,
        sequence: u64,
    ) -> Result<(), Illegal> {
        self.take(from, to, sequence)?;
        self.close(from, &Receiver::Agent(to.clone()), sequence);
        Ok(())
    }

    /// Closes a question; returns whether it was open.
    pub(crate) fn close(&mut self, from: &Sender, to: &Receiver, question: u64) -> bool {
        let key = (from.clone(), to.clone());
        let Some(open) = self.questions.get_mut(&key) else {
            return false;
        };
        let before = open.len();
        open.retain(|asked| asked.sequence != question);
        let was_open = open.len() < before;
        if open.is_empty() {
            self.questions.remove_mut(&key);
        }
        was_open
    }

    fn take(&mut self, from: &Sender, to: &AgentId, sequence: u64) -> Result<(), Illegal> {
        if let Some(waiting) = self.waiting.get_mut(to)
            && let Some(at) = waiting
                .iter()
                .position(|message| message.from == *from && message.sequence == sequence)
        {
            waiting.remove(at);
            if waiting.is_empty() {
                self.waiting.remove_mut(to);
            }
            return Ok(());
        }
        Err(Illegal::NoMessage {
            to: to.clone(),
            sequence,
        })
    }

    /// Acknowledges a sender's messages up to this number, or all of them.
    fn acknowledge(&mut self, from: &Sender, to: &Receiver, up_to: Option<u64>) {
        if let Some(channel) = self.channels.get_mut(&(from.clone(), to.clone())) {
            channel.acknowledged = channel.acknowledged.max(up_to.unwrap_or(channel.sent));
        }
    }
}

impl Envelope {
    /// Returns the sender and the receiver of the question that it answers.
    fn to_asker(&self) -> Option<(Sender, Receiver)> {
        Some((self.to.as_sender(), self.from.as_receiver()?))
    }
}
