//! What a call affects, as rules see it, and why a package manager asks a host.

use crate::policy::host::Host;

/// Something that a call would affect, as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path relative to the worktree, without `.` and `..`; empty for the worktree itself.
    Path(String),
    /// The same for what may be a folder, so limits on the names of files do not hold for it.
    Folder(String),
    /// A program and its arguments, which no shell interprets.
    Argv(Vec<String>),
    /// A command for a shell.
    Shell(String),
    /// A host, as a name or an address.
    Host(String),
    /// A branch of a remote repository.
    Remote(RemoteBranch),
    /// The network, without a word on which hosts.
    Network,
    /// Any other name that a rule may contain, such as an agent.
    Name(String),
}

/// A branch of a remote repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteBranch {
    /// The name of the remote.
    pub remote: String,
    /// The branch's short name there.
    pub branch: String,
    /// The host; `None` for a folder of this machine.
    pub host: Option<Host>,
    /// Why agents do not change the branch, unless a rule names it.
    pub protected: Option<String>,
    /// Whether commits of the user's would become known there.
    pub publishes_users: bool,
}

/// Why a package manager asks a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registry {
    /// It belongs to the registry that the manager asks unless it is told otherwise.
    WellKnown,
    /// The call itself names it, about which it was decided.
    OfCall,
    /// A file of the project, which an agent can write, names it as a registry.
    OfProject,
    /// Neither.
    Other,
}

impl Target {
    /// Returns the path of a file or a folder.
    pub fn path(&self) -> Option<&str> {
        match self {
            Target::Path(path) | Target::Folder(path) => Some(path),
            Target::Argv(_)
            | Target::Shell(_)
            | Target::Host(_)
            | Target::Remote(_)
            | Target::Network
            | Target::Name(_) => None,
        }
    }
}
