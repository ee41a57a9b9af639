//! The reasons why a person must approve a task's work before it is merged.

use crate::policy::WithheldFile;

/// A reason why a person must approve a task's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// All work is to be approved.
    Always,
    /// A new file looks like a secret, and stays in the worktree.
    Withheld(WithheldFile),
    /// It takes something from existing tests.
    Weakened(String),
    /// Its risk is high.
    Risk(String),
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Hold::Always => f.write_str("all work is to be approved"),
            Hold::Withheld(file) => write!(f, "{file} is new, and is not in the commit"),
            Hold::Weakened(what) => write!(f, "it {what}"),
            Hold::Risk(why) => f.write_str(why),
        }
    }
}
