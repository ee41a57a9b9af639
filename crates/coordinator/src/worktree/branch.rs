//! An agent's own names for commits: each is a ref of the agent's, and never a branch of the repository.

use orchestrate_core::{Oid, TaskId};
use orchestrate_git::{CommitSpec, RefEntry};
use orchestrate_tools::{BranchAction, GitBranch, GitBranchResult, ServiceError};

use crate::error::CoordinatorError;
use crate::run::time::unix_seconds;
use crate::worktree::commit::trailers;
use crate::worktree::run_branches::RunBranches;
use crate::worktree::workspace::Workspace;

/// The longest name for a commit, in bytes: as part of a file name, it has to fit with git's `.lock`.
const LONGEST_NAME: usize = 200;
/// The most names for commits, and the most changes set aside, that an agent may have; each is a file.
const MOST_NAMES: usize = 100;

impl Workspace {
    /// Creates, deletes or lists the agent's own names for commits.
    pub(crate) async fn branch(&self, action: BranchAction, name: &str) -> Result<GitBranchResult, ServiceError> {
        let (record, tip) = self.record().await?;
        if action == BranchAction::Create {
            let branches = self.branches().await?;
            if let Some(reason) = refusal_of_name(name, &branches) {
                return Err(ServiceError::Invalid(reason));
            }
        }
        let (own, at, wanted) = (self.own_refs(), tip.clone(), name.to_owned());
        let done = self.host.git(move |repo| {
            let full = own.branch(&wanted);
            let known = own.branches(repo)?;
            let there = known.iter().find(|branch| branch.name == wanted).map(|branch| branch.commit.clone());
            let nested = |branch: &&GitBranch| {
                let is_above = |one: &str, two: &str| two.strip_prefix(one).is_some_and(|rest| rest.starts_with('/'));
                is_above(&branch.name, &wanted) || is_above(&wanted, &branch.name)
            };
            match (action, there) {
                (BranchAction::List, _) => {}
                (BranchAction::Create, Some(there)) if there == at => {}
                (BranchAction::Create, Some(there)) => {
                    return Ok(Err(format!("`{wanted}` names {there} already; delete it first, or use another name")));
                }
                (BranchAction::Create, None) if known.len() >= MOST_NAMES => {
                    return Ok(Err(format!("you have {MOST_NAMES} names already; delete one first")));
                }
                (BranchAction::Create, None) => match known.iter().find(nested) {
                    Some(other) => return Ok(Err(format!("`{wanted}` cannot stand beside `{}`", other.name))),
                    None => repo.advance(&full, None, &at)?,
                },
                (BranchAction::Delete, Some(target)) => drop(repo.delete(&RefEntry { name: full, target })?),
                (BranchAction::Delete, None) => {
                    let names: Vec<String> = known.into_iter().map(|branch| branch.name).collect();
                    return Ok(Err(format!("you have no branch `{wanted}`; yours: {}", names.join(", "))));
                }
            }
            own.branches(repo).map(Ok)
        });
        let branches = done.await?.map_err(ServiceError::Invalid)?;
        let current = record.branch().unwrap_or_default().to_owned();
        Ok(GitBranchResult { action, current, head: tip, branches })
    }

    /// Requires that another entry can be set aside.
    pub(super) fn require_room(count: usize) -> Result<(), ServiceError> {
        if count < MOST_NAMES {
            return Ok(());
        }
        Err(ServiceError::Invalid(format!("{count} changes are set aside already; pop or drop one first")))
    }

    /// Returns a commit beside the branch to be created.
    pub(super) async fn beside(
        &self,
        tree: Oid,
        parents: Vec<Oid>,
        message: String,
    ) -> Result<CommitSpec, CoordinatorError> {
        let (record, _) = self.record().await?;
        let (trailers, by) = (trailers(&self.link.run, &record), self.host.identities.clone());
        Ok(CommitSpec { tree, parents, message, trailers, by, time_unix: unix_seconds() })
    }
}

/// Returns why a text cannot be the agent's name for a commit, or `None` if it can.
fn refusal_of_name(name: &str, branches: &RunBranches) -> Option<String> {
    let is_taken = ["HEAD", "@", TaskId::INTEGRATION].contains(&name)
        || branches.tasks.iter().any(|other| other.task.as_str() == name);
    let is_plain = name.split('/').all(|part| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let has_edges = part.starts_with(['.', '-']) || part.ends_with('.') || part.ends_with(".lock");
        !part.is_empty() && part.chars().all(plain) && !has_edges && !part.contains("..")
    });
    if !is_plain || name.len() > LONGEST_NAME {
        return Some(format!(
            "a branch's name is made of letters, digits, `.`, `_` and `-`, in parts that `/` separates, with at \
            most {LONGEST_NAME} bytes"
        ));
    }
    let is_id = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit());
    (is_taken || is_id).then(|| format!("`{name}` means something else already; use another name"))
}
