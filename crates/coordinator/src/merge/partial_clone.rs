//! Completes the commit that a run starts from, in a partial clone, before anything is made of it.

use std::time::Duration;

use orchestrate_core::Oid;
use orchestrate_git::{GitError, Repo, Terms};

/// The time limit: the files of a large repository are gigabytes. A server that sends nothing is
/// given up much earlier.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Fetches what a commit's files lack. The user started this, and may be asked for a password.
pub(crate) fn complete(repo: &Repo, commit: &Oid) -> Result<(), GitError> {
    repo.remotes().complete(
        commit,
        Terms {
            timeout: TIMEOUT,
            is_attended: true,
        },
    )
}
