//! What a call affects, as rules see it.

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
    /// Any other name that a rule may contain, such as an agent.
    Name(String),
}

impl Target {
    /// Returns the path of a file or a folder.
    pub fn path(&self) -> Option<&str> {
        match self {
            Target::Path(path) | Target::Folder(path) => Some(path),
            Target::Argv(_) | Target::Shell(_) | Target::Host(_) | Target::Name(_) => None,
        }
    }
}
