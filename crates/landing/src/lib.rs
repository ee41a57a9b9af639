//! What becomes of a run that has ended: its work is reviewed, adopted and dropped, its result
//! lands on the user's branch or is proposed, and what is stored elsewhere is removed.
//!
//! [`Archive`] has the runs of a repository. It works without an agent or a model; its operations
//! take a run's lease, so they never run beside a coordinator. What both need of a run's branches
//! and worktrees is here as well.

mod archive;
mod clean;
mod error;
mod land;
pub mod moved;
mod recover;
mod review;

pub use archive::{Archive, LandingSettings, Observed, Observer};
pub use clean::discard::{Discarded, LostCommit};
pub use clean::landed_runs::{Pruned, PrunedRun};
pub use clean::stored_worktree::StoredWorktree;
pub use clean::worktrees::{CleanOptions, Cleaned, CleanedBranch, KeptWorktree};
pub use error::{LandingError, ResultRefusal};
pub use land::dropping::Dropped;
pub use land::integration_branch;
pub use land::landing::Landed;
pub use land::landing_commit::Brought;
pub use land::options::{LandOptions, LandStyle};
pub use land::plan_boxes::Boxes;
pub use land::propose::Proposed;
pub use recover::KeptCommit;
pub use review::changes::ResultDiff;
pub use review::compare::{base_of, changed_file, changes_between};
