//! Wraps git: libgit2 and the git program.
//!
//! Each of the two does one job. The `git` program creates and fills worktrees and merges; libgit2
//! discovers repositories, reads objects and history, stores what agents wrote and moves refs by
//! compare-and-swap. No other crate starts git, and no type of libgit2 appears in this interface.
//!
//! A [`Repo`] opens a repository, reads and moves its refs and creates commits. Everything else is
//! behind five doors, each a handle that borrows it: [`Repo::worktrees`] for the worktrees of
//! agents, [`Repo::store`] for files that are stored, read and compared, [`Repo::merging`] for
//! merges and their conflicts, [`Repo::landing`] for the user's own branches, and [`Repo::remotes`]
//! for other repositories.
//!
//! These rules hold everywhere:
//!
//! - The user's checkout, index, stash, configuration and hooks are read, never written;
//!   [`Landing::land`] is the one exception, and it only fast-forwards.
//! - Nothing that an agent wrote is ever run: see [`Store::snapshot`].
//! - Refs move by compare-and-swap, after the objects that they name are on the disk.
//! - Everything is synchronous. A [`Repo`] is cheap to clone and may be used from many threads.

mod error;
mod files;
mod land;
mod merge;
mod program;
mod remote;
mod repo;
mod store;
mod version;
mod worktree;

pub use error::lock_wait::{Holder, Waiting, Work};
pub use error::refusal::{BackLink, LeftEmpty, Operation, RepositoryRefusal, Warning};
pub use error::remote::{RemoteError, RemoteFailure};
pub use error::{GitError, LibraryError};
pub use land::commit::Origin;
pub use land::move_branch::{Landing, Move};
pub use land::publish::{OpenRequest, PullRequest, Remote};
pub use merge::conflict::WrittenConflict;
pub use merge::hunks::Hunk;
pub use merge::merge_tree::{ConflictFile, Merge, Merging, Side};
pub use program::run::{Environment, installed};
pub use remote::address::{Direction, Remotes, Unpushed};
pub use remote::exchange::{Pushed, RemoteBranch, Terms};
pub use repo::gc::NoGc;
pub use repo::glance::{Content, Glance};
pub use repo::refs::RefEntry;
pub use repo::repository::{CommitSpec, Head, Identities, Identity, Repo};
pub use repo::tree_files::RegularFile;
pub use repo::worktree::Worktree;
pub use store::diff::{ChangeStatus, FileChange};
pub use store::objects::{CommitInfo, Store};
pub use store::recorded::{RecordedContents, Stamp, blob_id};
pub use store::snapshot::{Loss, Snapshot, SnapshotRules};
pub use store::walk::TakenFiles;
pub use worktree::ignored::made::Made;
pub use worktree::ignored::outputs::{CopyLimit, LeftOut, Outputs};
pub use worktree::kept::KeptFiles;
pub use worktree::own_refs;
pub use worktree::private::sync::{AgentsGit, InConflict, OurSide};
pub use worktree::reconcile::Reconciled;
pub use worktree::worktrees::{Removed, WorktreeSpec, Worktrees};
