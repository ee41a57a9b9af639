//! An agent's own names for commits: each is a ref of the agent's, and never a branch of the
//! repository.

use orchestrate_core::run::RunBranches;
use orchestrate_core::{Oid, TaskId};
use orchestrate_git::own_refs::{MOST_NAMES, OwnRefs};
use orchestrate_git::{CommitSpec, GitError, RefEntry, Repo};
use orchestrate_tools::{BranchAction, GitBranch, GitBranchResult, ServiceError};

use crate::error::CoordinatorError;
use crate::run::unix_seconds;
use crate::worktree::git_tools::status::branch_name;
use crate::worktree::workspace::Workspace;

/// The longest name for a commit, in bytes: as part of a file name, it has to fit with git's
/// `.lock`.
const LONGEST_NAME: usize = 200;

/// What an operation does to the agent's names for commits.
enum NameChange {
    Nothing,
    Create,
    /// The name of this commit.
    Delete(Oid),
    /// It cannot be carried out, for this reason.
    Refused(String),
}

impl Workspace {
    /// Creates, deletes or lists the agent's own names for commits.
    pub(crate) async fn branch(
        &self,
        action: BranchAction,
        name: &str,
    ) -> Result<GitBranchResult, ServiceError> {
        let (git, (record, _)) = (self.sync_git().await?, self.record().await?);
        self.require_name(action, name).await?;
        let (own, at, wanted) = (self.own_refs(), git.head.clone(), name.to_owned());
        let done = self.host.git(move |repo| {
            let name = own.branch(&wanted);
            match change_of_names(repo, &own, action, &wanted, &at)? {
                NameChange::Nothing => {}
                NameChange::Create => repo.advance(&name, None, &at)?,
                NameChange::Delete(target) => drop(repo.delete(&RefEntry { name, target })?),
                NameChange::Refused(reason) => return Ok(Err(reason)),
            }
            Ok(Ok(own
                .branches(repo)?
                .into_iter()
                .map(git_branch)
                .collect()))
        });
        let branches = done.await?.map_err(ServiceError::Invalid)?;
        Ok(GitBranchResult {
            action,
            current: branch_name(git.branch, &record),
            head: git.head,
            branches,
        })
    }

    /// Requires that an operation on the agent's names could be carried out.
    pub(super) async fn require_branch(
        &self,
        action: BranchAction,
        name: &str,
    ) -> Result<(), ServiceError> {
        let head = self.sync_git().await?.head;
        self.require_name(action, name).await?;
        let (own, wanted) = (self.own_refs(), name.to_owned());
        let change = self
            .host
            .git(move |repo| change_of_names(repo, &own, action, &wanted, &head));
        match change.await? {
            NameChange::Refused(reason) => Err(ServiceError::Invalid(reason)),
            NameChange::Nothing | NameChange::Create | NameChange::Delete(_) => Ok(()),
        }
    }

    /// Requires that a text can be a new name.
    async fn require_name(&self, action: BranchAction, name: &str) -> Result<(), ServiceError> {
        if action != BranchAction::Create {
            return Ok(());
        }
        let refusal = refusal_of_name(name, &self.branches().await?);
        refusal.map_or(Ok(()), |reason| Err(ServiceError::Invalid(reason)))
    }

    /// Requires that another entry can be set aside.
    pub(super) fn require_room(count: usize) -> Result<(), ServiceError> {
        if count < MOST_NAMES {
            return Ok(());
        }
        Err(ServiceError::Invalid(format!(
            "{count} changes are set aside already; pop or drop one first"
        )))
    }

    /// Returns a commit beside the branch to be created.
    pub(crate) async fn beside(
        &self,
        tree: Oid,
        parents: Vec<Oid>,
        message: String,
    ) -> Result<CommitSpec, CoordinatorError> {
        let (record, _) = self.record().await?;
        Ok(CommitSpec {
            tree,
            parents,
            message,
            trailers: record.trailers(&self.link.run),
            by: self.host.identities.clone(),
            time_unix: unix_seconds(),
        })
    }
}

/// Returns what an operation on the agent's names does at this tip.
fn change_of_names(
    repo: &Repo,
    own: &OwnRefs,
    action: BranchAction,
    wanted: &str,
    at: &Oid,
) -> Result<NameChange, GitError> {
    let known = own.branches(repo)?;
    let there = known
        .iter()
        .find(|branch| branch.name == wanted)
        .map(|branch| branch.target.clone());
    let nested =
        |branch: &&RefEntry| is_above(&branch.name, wanted) || is_above(wanted, &branch.name);
    Ok(match (action, there) {
        (BranchAction::List, _) => NameChange::Nothing,
        (BranchAction::Create, Some(there)) if there == *at => NameChange::Nothing,
        (BranchAction::Create, Some(there)) => NameChange::Refused(format!(
            "`{wanted}` names {there} already; delete it first, or use another name"
        )),
        (BranchAction::Create, None) if known.len() >= MOST_NAMES => NameChange::Refused(format!(
            "you have {MOST_NAMES} names already; delete one first"
        )),
        (BranchAction::Create, None) => match known.iter().find(nested) {
            Some(other) => {
                NameChange::Refused(format!("`{wanted}` cannot stand beside `{}`", other.name))
            }
            None => NameChange::Create,
        },
        (BranchAction::Delete, Some(target)) => NameChange::Delete(target),
        (BranchAction::Delete, None) => {
            let names: Vec<String> = known.into_iter().map(|branch| branch.name).collect();
            NameChange::Refused(format!(
                "you have no branch `{wanted}`; yours: {}",
                names.join(", ")
            ))
        }
    })
}

fn git_branch(entry: RefEntry) -> GitBranch {
    GitBranch {
        name: entry.name,
        commit: entry.target,
    }
}

fn is_above(one: &str, two: &str) -> bool {
    two.strip_prefix(one)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns why a text cannot be the agent's name for a commit, or `None` if it can.
fn refusal_of_name(name: &str, branches: &RunBranches) -> Option<String> {
    let is_taken = ["HEAD", "@", TaskId::INTEGRATION].contains(&name)
        || branches
            .tasks
            .iter()
            .any(|other| other.task.as_str() == name);
    let is_plain = name.split('/').all(|part| {
        let has_edges =
            part.starts_with(['.', '-']) || part.ends_with('.') || part.ends_with(".lock");
        !part.is_empty() && part.chars().all(is_plain) && !has_edges && !part.contains("..")
    });
    if !is_plain || name.len() > LONGEST_NAME {
        return Some(format!(
            "a branch's name is made of letters, digits, `.`, `_` and `-`, in parts that `/` \
             separates, with at most {LONGEST_NAME} bytes"
        ));
    }
    let is_id = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit());
    (is_taken || is_id).then(|| format!("`{name}` means something else already; use another name"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}
