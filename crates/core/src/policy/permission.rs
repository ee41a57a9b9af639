//! What a role grants besides its tools.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool requires of its caller's role.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Reading files, listing and searching them.
    FileRead,
    /// Creating and changing files.
    FileWrite,
    /// Deleting and moving files.
    FileModify,
    /// Running programs.
    CodeExecution,
    /// Reading, and committing to, the agent's own branch.
    GitOperations,
    /// Connecting to remote hosts.
    NetworkAccess,
    /// Starting and ending other agents.
    AgentSpawn,
    /// Sending messages to other agents.
    AgentMessage,
    /// None: the agent's own notes.
    None,
}

impl Permission {
    /// Every permission, in the order of the documentation.
    pub const ALL: [Permission; 9] = [
        Permission::FileRead,
        Permission::FileWrite,
        Permission::FileModify,
        Permission::CodeExecution,
        Permission::GitOperations,
        Permission::NetworkAccess,
        Permission::AgentSpawn,
        Permission::AgentMessage,
        Permission::None,
    ];

    /// Returns the name as written in rules and agent files.
    pub fn as_str(self) -> &'static str {
        match self {
            Permission::FileRead => "file_read",
            Permission::FileWrite => "file_write",
            Permission::FileModify => "file_modify",
            Permission::CodeExecution => "code_execution",
            Permission::GitOperations => "git_operations",
            Permission::NetworkAccess => "network_access",
            Permission::AgentSpawn => "agent_spawn",
            Permission::AgentMessage => "agent_message",
            Permission::None => "none",
        }
    }

    /// Finds a permission by its name.
    pub fn named(name: &str) -> Option<Permission> {
        Permission::ALL
            .into_iter()
            .find(|permission| permission.as_str() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an agent could send data out with the tools that it has. It is decided when the agent
/// begins, since only then are its tools, its rules and its sandbox known together
/// ([`crate::secrecy::taint::Means`]), and recorded with it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Sending {
    /// By a call that somebody is asked about first.
    Asked,
    /// By a call that nobody is asked about.
    Allowed,
}
