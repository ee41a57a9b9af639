//! The exposure of one agent so far.

use serde::{Deserialize, Serialize};

use super::reach::Reach;
use crate::ids::AgentId;
use crate::policy::Sending;

/// One of the three that are dangerous together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leg {
    /// The agent has read text from outside.
    OutsideText,
    /// It holds private data.
    PrivateData,
    /// It has made a call that can send data out, or has the tools for one that no rule denies.
    Egress,
}

/// Where the text from outside that an agent has read came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutsideSource {
    /// One of its own calls, of this tool.
    Tool(String),
    /// A message, a report or work of this agent, which has read such text, or a command that could
    /// read its work.
    Agent(AgentId),
}

/// The exposure of an agent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// The first text from outside, and the request whose call brought it; zero if another agent
    /// did.
    outside: Option<(OutsideSource, u32)>,
    holds_private: bool,
    has_sent: bool,
    /// How its tools and its rules let it send data out; also `None` for an agent of an older
    /// version.
    #[serde(default)]
    can_send: Option<Sending>,
}

impl Exposure {
    /// Returns where the first text from outside came from; `None` if the agent has read none.
    pub fn outside(&self) -> Option<&OutsideSource> {
        self.outside.as_ref().map(|(source, _)| source)
    }

    /// Reports whether it has read text from outside, holds private data and can send data out.
    pub fn is_complete(&self) -> bool {
        self.outside.is_some() && self.holds_private && self.sends()
    }

    /// Reports whether it has made a call that can send data out.
    pub fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// Returns how it could send data out with the tools that it has.
    pub fn can_send(&self) -> Option<Sending> {
        self.can_send
    }

    /// Returns which of the three it has; none before it has read text from outside, since it is
    /// harmless until then.
    pub fn legs(&self) -> Vec<Leg> {
        let mut legs = Vec::new();
        if self.outside.is_none() {
            return legs;
        }
        legs.push(Leg::OutsideText);
        if self.holds_private {
            legs.push(Leg::PrivateData);
        }
        if self.sends() {
            legs.push(Leg::Egress);
        }
        legs
    }

    /// Reports whether it holds private data.
    pub(super) fn holds_private(&self) -> bool {
        self.holds_private
    }

    /// Reports whether the calls of this request may follow text from outside: those of the request
    /// whose call brought it were made before it was read.
    pub(super) fn leads(&self, turn: u32) -> bool {
        self.outside.as_ref().is_some_and(|(_, read)| *read < turn)
    }

    /// Reports whether it has sent something out, or could.
    fn sends(&self) -> bool {
        self.has_sent || self.can_send.is_some()
    }

    /// The agent begins with tools that let it send data out in this way.
    pub(super) fn begins(&mut self, can_send: Option<Sending>) {
        self.can_send = can_send;
    }

    /// Adds a call that was not refused.
    pub(super) fn called(&mut self, tool: &str, turn: u32, reach: Reach) {
        if reach.reads_outside && self.outside.is_none() {
            self.outside = Some((OutsideSource::Tool(tool.to_owned()), turn));
        }
        self.holds_private |= reach.reads_private;
        self.has_sent |= reach.sends;
    }

    /// Adds what an agent said or made, which may contain all that it has read.
    pub(super) fn heard(&mut self, from: &AgentId, of: &Exposure) {
        if of.outside.is_some() && self.outside.as_ref().is_none_or(|(_, turn)| *turn > 0) {
            self.outside = Some((OutsideSource::Agent(from.clone()), 0));
        }
        self.shares_data(of);
    }

    /// Adds the private data that another one holds.
    pub(super) fn shares_data(&mut self, of: &Exposure) {
        self.holds_private |= of.holds_private;
    }
}
