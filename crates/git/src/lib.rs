//! Hides git: libgit2 and the git program.
//!
//! Two hands, one job each. The `git` program makes and fills worktrees and merges; libgit2 discovers,
//! reads objects and history, stores what agents wrote and moves refs by compare-and-swap. Nothing else
//! starts git, and no type of libgit2 appears in this interface.
//!
//! What holds everywhere:
//!
//! - The user's checkout, index, stash, configuration and hooks are read, never written; [`Repo::land`] is
//!   the one exception, and it only fast-forwards.
//! - Nothing that an agent wrote is ever run: see [`Repo::snapshot`].
//! - Refs move by compare-and-swap, after the objects that they name are on the disk.
//! - Everything is synchronous. A [`Repo`] is cheap to clone and may be used from many threads.

mod beneath;
mod bounds;
mod checkout;
mod configuration;
mod conflict;
mod create;
mod diff;
mod error;
mod full;
mod gc;
mod glob;
mod ignore;
mod include;
mod kept;
mod land;
mod lock;
mod lock_holder;
mod markers;
mod merge;
mod on_files;
mod place;
mod probe;
mod program;
mod reconcile;
mod refs;
mod refusal;
mod repo;
mod retry;
mod room;
mod secrets;
mod shown;
mod snapshot;
mod stage;
mod switch_note;
mod switching;
mod unfinished;
mod unstored;
mod version;
mod walk;
mod worktree;

pub use conflict::WrittenConflict;
pub use diff::{ChangeStatus, CommitInfo, FileChange};
pub use error::{GitError, LibraryError};
pub use gc::NoGc;
pub use land::Move;
pub use lock_holder::{Holder, Waiting, Work};
pub use merge::{ConflictFile, Merge};
pub use program::{Environment, installed};
pub use reconcile::Reconciled;
pub use refs::RefEntry;
pub use refusal::{Operation, Refusal, Warning};
pub use repo::{CommitSpec, Head, Identities, Identity, Repo};
pub use snapshot::{Loss, Snapshot, SnapshotRules};
pub use worktree::{Removed, Worktree, WorktreeSpec};
