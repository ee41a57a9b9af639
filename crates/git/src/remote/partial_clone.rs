//! Completes a commit in a partial clone, whose remote has promised to send what is missing.
//!
//! Neither libgit2 nor the git that works for agents fetches anything. So what the files of a
//! commit lack is fetched once, before a worktree is made of it: as git itself would, in few
//! exchanges instead of one for each file, and with the user's own configuration (see
//! [`crate::remote::exchange`]).

use std::collections::BTreeSet;

use git2::{ObjectType, Odb, OdbLookupFlags, Repository};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::remote::address::{Direction, Remotes};
use crate::remote::exchange::{REMOTE, Task, Terms};
use crate::repo::repository::{Repo, theirs};

/// How many objects are named in one exchange: as many as fit into the arguments of a process.
const AT_ONCE: usize = 10_000;
/// How many rounds are made. A clone without folders learns of the deeper ones only when it has
/// those above, but a fetched folder comes with all below it.
const MOST_ROUNDS: usize = 16;

impl Repo {
    /// Lists the objects that a commit's files lack in a partial clone, as far as they are known:
    /// what is in a missing folder is not. Empty for any other repository.
    ///
    /// # Errors
    /// If the commit cannot be read.
    pub fn lacking(&self, commit: &Oid) -> Result<Vec<Oid>, GitError> {
        if self.shared.configuration.promisors().is_empty() {
            return Ok(Vec::new());
        }
        let handle = self.handle()?;
        let objects = handle
            .odb()
            .map_err(GitError::library("open the objects"))?;
        let found = handle
            .find_commit(theirs(commit)?)
            .map_err(GitError::library(format!("read {commit}")))?;
        let lacking = lacking_below(&handle, &objects, found.tree_id());
        let lacking = lacking.map_err(GitError::library(format!("list the files of {commit}")))?;
        Ok(lacking
            .into_iter()
            .map(|id| Oid::new(id.to_string()))
            .collect())
    }
}

impl Remotes<'_> {
    /// Fetches what a commit's files lack, from the remote that has promised it.
    ///
    /// # Errors
    /// If the remote cannot be reached, or does not send it.
    pub fn complete(&self, commit: &Oid, terms: Terms) -> Result<(), GitError> {
        let promisors = self.repo.shared.configuration.promisors();
        for round in 0..MOST_ROUNDS {
            let lacking = self.repo.lacking(commit)?;
            if lacking.is_empty() {
                return Ok(());
            }
            // Another remote may have what the first one did not send.
            let Some(remote) = promisors.get(round % promisors.len().max(1)) else {
                break;
            };
            for some in lacking.chunks(AT_ONCE) {
                self.fetch_objects(remote, some, terms)?;
            }
        }
        let left = self.repo.lacking(commit)?.len();
        let reason = format!(
            "{left} objects of {commit} were promised by a remote, which did not send them"
        );
        if left == 0 {
            Ok(())
        } else {
            Err(GitError::Program {
                command: "fetch".to_owned(),
                reason,
            })
        }
    }

    /// Fetches objects by their ids, which become the repository's own.
    fn fetch_objects(&self, remote: &str, objects: &[Oid], terms: Terms) -> Result<(), GitError> {
        let address = self.address(remote, Direction::Fetch)?;
        // Git marks what comes from such a remote, so that its own checks know that there is more.
        let promisor = format!("remote.{REMOTE}.promisor");
        let filter = format!("remote.{REMOTE}.partialclonefilter");
        let more = [
            (promisor.as_str(), "true"),
            (filter.as_str(), "blob:none"),
            ("fetch.negotiationalgorithm", "noop"),
        ];
        let scratch = self.scratch_with(&address, terms, &more)?;
        let mut args = vec![
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--filter=blob:none",
            "--",
            REMOTE,
        ];
        args.extend(objects.iter().map(Oid::as_str));
        let task = Task {
            command: "fetch",
            doing: "fetch from",
            remote,
            into: None,
        };
        self.reach(&scratch, terms, task, &args).map(drop)
    }
}

/// Lists what is missing of a tree.
fn lacking_below(
    handle: &Repository,
    objects: &Odb<'_>,
    tree: git2::Oid,
) -> Result<BTreeSet<git2::Oid>, git2::Error> {
    let (mut lacking, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([tree]), vec![tree]);
    // Looking again for each that is missing would read the list of packs each time.
    objects.refresh()?;
    let is_there = |id| objects.exists_ext(id, OdbLookupFlags::NO_REFRESH);
    while let Some(id) = open.pop() {
        if !is_there(id) {
            lacking.insert(id);
            continue;
        }
        for entry in handle.find_tree(id)?.iter() {
            match entry.kind() {
                Some(ObjectType::Tree) if seen.insert(entry.id()) => open.push(entry.id()),
                Some(ObjectType::Blob) if !is_there(entry.id()) => drop(lacking.insert(entry.id())),
                _ => {}
            }
        }
    }
    Ok(lacking)
}
