//! Whom a message goes to: one agent, several by their place in the tree or their role, or the
//! user.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

/// The user's address.
pub(super) const USER: &str = "user";
const PARENT: &str = "parent";
const CHILDREN: &str = "children";
const SIBLINGS: &str = "siblings";
const ALL: &str = "all";
/// Begins the address of a role.
const ROLE: &str = "role:";
/// Begins the address of an agent whose id would mean something else.
const AGENT: &str = "agent:";

/// Whom a message goes to. The words come before ids of agents, so that no agent can take the
/// user's messages by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Address {
    /// An agent: its id, or `agent:` and its id.
    Agent(AgentId),
    /// The agent that spawned the sender; the user for an agent that no other one spawned.
    Parent,
    /// The agents that the sender spawned.
    Children,
    /// The agents with the same parent.
    Siblings,
    /// The agents of a role: `role:` and its name.
    Role(String),
    /// All agents of the run.
    All,
    /// The user who started the run.
    User,
}

impl Address {
    /// Reports whether it stands for any number of receivers.
    pub fn is_group(&self) -> bool {
        matches!(
            self,
            Self::Children | Self::Siblings | Self::Role(_) | Self::All
        )
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        match text {
            PARENT => Self::Parent,
            CHILDREN => Self::Children,
            SIBLINGS => Self::Siblings,
            ALL => Self::All,
            USER => Self::User,
            _ => match (text.strip_prefix(ROLE), text.strip_prefix(AGENT)) {
                (Some(role), _) => Self::Role(role.to_owned()),
                (None, Some(agent)) => Self::Agent(agent.into()),
                (None, None) => Self::Agent(text.into()),
            },
        }
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<AgentId> for Address {
    fn from(agent: AgentId) -> Self {
        Self::Agent(agent)
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl FromStr for Address {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) if Self::from(agent.as_str()) == *self => {
                f.write_str(agent.as_str())
            }
            Self::Agent(agent) => write!(f, "{AGENT}{agent}"),
            Self::Parent => f.write_str(PARENT),
            Self::Children => f.write_str(CHILDREN),
            Self::Siblings => f.write_str(SIBLINGS),
            Self::Role(role) => write!(f, "{ROLE}{role}"),
            Self::All => f.write_str(ALL),
            Self::User => f.write_str(USER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let table = [
            ("T1", Address::Agent("T1".into()), "T1"),
            ("parent", Address::Parent, "parent"),
            (
                "role:reviewer",
                Address::Role("reviewer".to_owned()),
                "role:reviewer",
            ),
            ("user", Address::User, "user"),
            ("agent:user", Address::Agent("user".into()), "agent:user"),
            ("agent:T1", Address::Agent("T1".into()), "T1"),
            (
                "agent:agent:x",
                Address::Agent("agent:x".into()),
                "agent:agent:x",
            ),
        ];
        for (text, address, written) in table {
            assert_eq!(
                (Address::from(text), address.to_string().as_str()),
                (address.clone(), written)
            );
            assert_eq!(Address::from(written), address);
        }
    }
}
