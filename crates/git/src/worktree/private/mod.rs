//! The git of an agent: a git directory of its own, which its commands write and we read as bytes.
//!
//! It lies beside the worktree and outlives commands, a killed coordinator and its resumption; a
//! new attempt begins with a fresh one. HEAD, refs, configuration, hooks and index are the agent's
//! own; of the repository only the objects are behind it, which can be read alone. So what is typed
//! in a command does what it does in any clone, and nothing of the user's changes: neither refs nor
//! configuration nor hooks. The project's own hooks run, confined, since git runs in the sandbox.
//!
//! # What counts, and how both sides follow each other
//!
//! What an agent's work is, its worktree says. The task's branch moves by commits of ours alone
//! ([`crate::CommitSpec`]), never to one of the agent's. Beside it the agent has names for commits,
//! stashes, a selection for the next commit ([`crate::own_refs`]), and a HEAD.
//!
//! [`crate::Worktrees::sync_git`] compares three states: what the agent's git says, what our refs
//! say, and what both had when they were compared last, which is kept beside the git directory.
//! What the agent's git has changed is brought to our refs first: objects are imported by their ids
//! (`import.rs`, `objects.rs`), and each commit that was brought is held by a ref of the task, so
//! nothing is lost with the directory. Then what our tools have changed is written there. If both
//! have changed the same, the agent's git wins, except for the branch's tip: a commit of ours moves
//! the branch on which the agent is, and the commits that it leaves stay held.
//!
//! It is done when an agent starts, around each of its git tools, and before its work is taken or
//! given up, at times at which none of its commands runs. A command itself costs nothing: it finds
//! the directory as it is.
//!
//! # What is not believed
//!
//! Everything in the directory may be crafted. `found.rs` and `objects.rs` read it with their own
//! code, bounded, through descriptors that follow no link; its configuration, hooks and alternates
//! are never read, and no git runs on it. Refs of the user's are never written, whatever it says.

mod found;
mod import;
mod make;
mod objects;
pub(crate) mod place;
mod setup;
pub(crate) mod shown;
mod shown_refs;
pub(crate) mod sync;
mod synced;
