//! The data that one call reads and sends, by its tool, its permission and its arguments.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::settings::RunSettings;
use crate::policy::Permission;

/// The tool that sends an agent's branch to a remote repository.
const PUSH: &str = "git_push";
/// The tool that brings the commits of a remote repository.
const PULL: &str = "git_pull";
/// The tool that runs what it brings from a registry.
pub(super) const INSTALL: &str = "install_package";
/// The tools that the user is asked about at each call, unless a rule allows it.
pub(super) const ASKED_ABOUT: [&str; 3] = [PUSH, PULL, INSTALL];
/// The argument that lets a command use the network.
const NETWORK: &str = "network";
/// The argument that names a branch.
const BRANCH: &str = "branch";

/// Which data of a run are private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateData {
    /// The files and the history of the repository.
    is_in_repository: bool,
    /// The data besides the repository and programs that the user lets commands see.
    is_around_commands: bool,
}

impl PrivateData {
    /// Returns which data are private with these settings.
    pub fn from_settings(settings: &RunSettings) -> PrivateData {
        PrivateData {
            is_in_repository: !settings.tool_settings.taint.public_repository,
            is_around_commands: !(settings.sandbox_read.is_empty()
                && settings.sandbox_env.is_empty()),
        }
    }

    /// Reports whether a tool with this permission may read any of them.
    fn is_read_with(self, permission: Permission) -> bool {
        match permission {
            Permission::CodeExecution => self.is_in_repository || self.is_around_commands,
            Permission::FileRead
            | Permission::FileWrite
            | Permission::FileModify
            | Permission::GitOperations => self.is_in_repository,
            Permission::NetworkAccess
            | Permission::AgentSpawn
            | Permission::AgentMessage
            | Permission::None => false,
        }
    }
}

/// The kinds of data that a call reads, and whether it sends any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// It brings text from outside.
    pub(super) reads_outside: bool,
    /// It may read private data.
    pub(super) reads_private: bool,
    /// It can send data out.
    pub(super) sends: bool,
    /// It runs a program that gets what it reads from outside.
    runs_outside: bool,
}

impl Reach {
    /// Returns what a call may read and send.
    pub(super) fn for_call(
        tool: &str,
        permission: Permission,
        arguments: &Value,
        private: PrivateData,
    ) -> Reach {
        let repository = private.is_read_with(Permission::GitOperations);
        let command = private.is_read_with(Permission::CodeExecution);
        match permission {
            _ if tool == PUSH => Reach {
                reads_private: repository,
                sends: true,
                ..Reach::default()
            },
            // It tells the remote repository which commits are known, and the name of the branch.
            _ if tool == PULL => Reach {
                reads_outside: true,
                reads_private: repository,
                sends: arguments
                    .get(BRANCH)
                    .is_some_and(|branch| !branch.is_null()),
                runs_outside: false,
            },
            _ if tool == INSTALL
                || (permission == Permission::CodeExecution && uses_network(arguments)) =>
            {
                Reach {
                    reads_outside: true,
                    reads_private: command,
                    sends: true,
                    runs_outside: true,
                }
            }
            Permission::NetworkAccess => Reach {
                reads_outside: true,
                sends: true,
                ..Reach::default()
            },
            other => Reach {
                reads_private: private.is_read_with(other),
                ..Reach::default()
            },
        }
    }

    /// Returns what is left of it for a call that has brought nothing.
    pub(super) fn bringing_nothing(self) -> Reach {
        Reach {
            reads_outside: false,
            ..self
        }
    }

    /// Reports whether the call runs a program that gets text from outside and private data, and so
    /// needs no model to give the data away.
    pub(super) fn is_program_outside(self) -> bool {
        self.runs_outside && self.reads_private
    }
}

/// Reports whether some call of a tool with these parameters could send data out.
pub(super) fn could_send(tool: &str, permission: Permission, parameters: &Value) -> bool {
    let mut names = parameters
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(serde_json::Map::keys);
    match permission {
        _ if tool == PUSH || tool == INSTALL => true,
        _ if tool == PULL => names.any(|name| name == BRANCH),
        Permission::CodeExecution => names.any(|name| is_network(name)),
        other => other == Permission::NetworkAccess,
    }
}

/// Reports whether the arguments of a command let it use the network.
fn uses_network(arguments: &Value) -> bool {
    let Some(fields) = arguments.as_object() else {
        return false;
    };
    fields
        .iter()
        .any(|(name, value)| is_network(name) && *value == Value::Bool(true))
}

/// Reports whether an argument lets a command use the network; a wrapper may spell its name in
/// another way.
fn is_network(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters
        .map(|letter| letter.to_ascii_lowercase())
        .eq(NETWORK.chars())
}
