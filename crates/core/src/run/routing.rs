//! What is decided about a message: what is recorded, and what its sender is told.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::messages::{MessageKind, MessageRefused, Receiver};

/// What follows from sending a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// The events to be recorded, in one step; none if the same call has sent it before.
    pub events: Vec<Event>,
    /// What the sender is told, unless its call waits.
    pub receipt: Receipt,
    /// Whether the call that sends it waits for the answer.
    pub waits: bool,
}

/// What the sender of a message is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Who gets it.
    pub sent: Vec<Delivery>,
    /// Who does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<NotSent>,
    /// What has become of the question that the call waited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionEnd>,
}

/// A message to one receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The receiver.
    pub to: Receiver,
    /// Its number among the sender's messages to that receiver.
    pub sequence: u64,
    /// What it is for.
    pub kind: MessageKind,
    /// The number of the newest of these messages that was delivered.
    pub acknowledged: u64,
}

/// A receiver that does not get a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSent {
    /// The receiver.
    pub to: Receiver,
    /// Why.
    pub why: MessageRefused,
}

/// What has become of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionEnd {
    /// The answer is the asker's next message.
    Answered,
    /// It will not be answered; a message of the run says why.
    Closed,
    /// It was not answered in time, and stays open.
    TimedOut,
    /// Another message came before the answer, and the question stays open.
    OtherMessage,
}

/// One line for each receiver, and one for the question.
impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = self.sent.iter().map(Delivery::to_string);
        let refused = self
            .refused
            .iter()
            .map(|NotSent { to, why }| format!("not for {}: {why}", to.as_str()));
        let question = self.question.map(|end| end.describe().to_owned());
        f.write_str(
            &sent
                .chain(refused)
                .chain(question)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            to,
            sequence,
            kind,
            acknowledged,
        } = self;
        let what = match kind {
            MessageKind::Note => "message",
            kind => kind.as_str(),
        };
        match to {
            Receiver::Agent(agent) => write!(f, "{what} {sequence} is queued for {agent}")?,
            Receiver::User => write!(f, "{what} {sequence} is shown to the user")?,
        }
        match (to, *sequence) {
            (Receiver::User, _) | (_, 1) => Ok(()),
            (_, sequence) if *acknowledged + 1 >= sequence => {
                write!(f, ", which has read all before it")
            }
            _ => write!(f, ", which has read up to {acknowledged}"),
        }
    }
}

impl QuestionEnd {
    fn describe(self) -> &'static str {
        match self {
            Self::Answered => "it is answered; the answer follows",
            Self::Closed => "it will not be answered; the message that follows says why",
            Self::TimedOut => "there was no answer in time; the question stays open",
            Self::OtherMessage => {
                "another message has come first, and follows; the question stays open"
            }
        }
    }
}
