//! Changes that an agent sets aside, on a stack of its own.
//!
//! An entry is a commit of the worktree's files; its parent is the tip that they were changed from.
//! It is applied by a merge of three trees, which changes nothing if there is a conflict.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::policy::Policy;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_git::own_refs::{SELECTED, Stashed};
use orchestrate_git::{CommitInfo, CommitSpec, FileChange, GitError, Merge, Repo};
use orchestrate_tools::{GitStash, GitStashResult, ServiceError, StashAction};

use crate::worktree::git_tools::checkout::new_here;
use crate::worktree::git_tools::status::listed;
use crate::worktree::workspace::Workspace;

/// The changes of a stack's newest entry, merged with the worktree.
enum Applied {
    Clean {
        wanted: Oid,
        changes: Vec<FileChange>,
        new_here: Vec<PathBuf>,
    },
    Conflict(Vec<PathBuf>),
}

impl Workspace {
    /// Sets the worktree's changes aside, or applies, drops or lists what was set aside.
    pub(crate) async fn stash(
        &self,
        action: StashAction,
        policy: &Policy,
    ) -> Result<GitStashResult, ServiceError> {
        let stack = self.stack().await?;
        let (entry, changes) = match action {
            StashAction::List => (None, Vec::new()),
            StashAction::Push => self
                .push_changes(&stack, policy)
                .await
                .map(|(entry, changes)| (Some(entry), changes))?,
            StashAction::Pop => {
                let entry = newest(&stack)?;
                let changes = self.apply(&entry, policy).await?;
                self.take_off(&entry).await?;
                (Some(told(&entry)), changes)
            }
            StashAction::Drop => {
                let entry = newest(&stack)?;
                self.take_off(&entry).await?;
                (Some(told(&entry)), Vec::new())
            }
        };
        let stashes = self.stack().await?.iter().map(told).collect();
        Ok(GitStashResult {
            action,
            entry,
            stashes,
            changes: listed(&changes),
        })
    }

    /// Requires that something can be set aside, or is.
    pub(super) async fn require_stash(&self, action: StashAction) -> Result<(), ServiceError> {
        let stack = self.stack().await?;
        match action {
            StashAction::List => Ok(()),
            StashAction::Pop | StashAction::Drop => newest(&stack).map(drop),
            StashAction::Push => {
                let (_, head) = self.require_pushable(&stack).await?;
                if self.differs_from(&head).await? {
                    Ok(())
                } else {
                    Err(unchanged())
                }
            }
        }
    }

    async fn stack(&self) -> Result<Vec<Stashed>, ServiceError> {
        self.sync_git().await?;
        let own = self.own_refs();
        Ok(self.host.git(move |repo| own.stashes(repo)).await?)
    }

    async fn take_off(&self, entry: &Stashed) -> Result<(), ServiceError> {
        let (own, entry) = (self.own_refs(), entry.clone());
        Ok(self
            .host
            .git(move |repo| own.take_off(repo, &entry))
            .await?)
    }

    async fn push_changes(
        &self,
        stack: &[Stashed],
        policy: &Policy,
    ) -> Result<(GitStash, Vec<FileChange>), ServiceError> {
        let (tip, head) = self.require_pushable(stack).await?;
        self.keep().await?;
        if !self.differs_from(&head).await? {
            return Err(unchanged());
        }
        let (worktree, own) = (Arc::clone(&self.worktree), self.own_refs());
        let message = format!("Changes of {}", self.link.agent);
        // Its tree is the worktree's, once that is known. Git takes only commits for a stash that
        // have another one, with what was staged, as a second parent.
        let spec = self.beside(tip, vec![head.clone()], message).await?;
        let newest = stack.first().cloned();
        let pushed = self.host.git(move |repo| {
            let tree = repo.store().current_tree(&worktree)?;
            let changes = repo.store().diff(&tree, &head)?;
            // An interrupted push that is repeated has stored the same changes.
            let is_same = |entry: &Stashed| {
                entry.commit.tree == tree && entry.commit.parents.first() == Some(&head)
            };
            let commit = match newest.filter(is_same) {
                Some(entry) => entry.commit,
                None => {
                    let staged = repo.commit(&CommitSpec {
                        tree: repo.tree_of(&head)?,
                        ..spec.clone()
                    })?;
                    let parents = vec![head.clone(), staged];
                    let commit = repo.commit(&CommitSpec {
                        tree,
                        parents,
                        ..spec
                    })?;
                    own.push(repo, &commit)?;
                    repo.store().commit_info(&commit)?
                }
            };
            own.forget(repo, &[SELECTED])?;
            Ok((commit, changes, repo.tree_of(&head)?))
        });
        let (commit, changes, wanted) = pushed.await?;
        self.exchange(&wanted, &[], policy).await?;
        Ok((
            told(&Stashed {
                number: String::new(),
                commit,
            }),
            changes,
        ))
    }

    /// Requires that changes can be put on the stack, and returns the branch's tip, and the commit
    /// on which the agent is.
    async fn require_pushable(&self, stack: &[Stashed]) -> Result<(Oid, Oid), ServiceError> {
        let git = self.sync_git().await?;
        let (record, tip) = self.record().await?;
        if git.operation.is_some() || record.onto().is_some() || self.merging(&tip).await?.is_some()
        {
            let reason = "a merge is in progress in your worktree: resolve and commit it first";
            return Err(ServiceError::Invalid(reason.to_owned()));
        }
        Self::require_room(stack.len())?;
        Ok((tip, git.head))
    }

    /// Applies an entry to the worktree; nothing changes if it conflicts.
    async fn apply(
        &self,
        entry: &Stashed,
        policy: &Policy,
    ) -> Result<Vec<FileChange>, ServiceError> {
        self.keep().await?;
        let (_, tip) = self.record().await?;
        let (worktree, entry) = (Arc::clone(&self.worktree), entry.commit.clone());
        let applied = self.host.git(move |repo| {
            let current = repo.store().current_tree(&worktree)?;
            let base = entry.parents.first().unwrap_or(&tip);
            let stashed = with_untracked(repo, &entry)?;
            Ok(match repo.merging().apply(base, &current, &stashed)? {
                Merge::Conflict { files, .. } => {
                    Applied::Conflict(files.into_iter().map(|file| file.path).collect())
                }
                Merge::Clean { tree } => Applied::Clean {
                    changes: repo.store().diff(&current, &tree)?,
                    new_here: new_here(repo, &current, &tree, &tip)?,
                    wanted: tree,
                },
            })
        });
        match applied.await? {
            Applied::Clean {
                wanted,
                changes,
                new_here,
            } => {
                self.exchange(&wanted, &new_here, policy).await?;
                Ok(changes)
            }
            Applied::Conflict(files) => {
                let files: Vec<String> = files.iter().map(|file| shown_path(file)).collect();
                let reason = format!(
                    "it conflicts with your worktree in {}; nothing changed, and it is still set \
                     aside. Commit or undo your changes there, or bring single files back with \
                     `git_checkout` of its id",
                    files.join(", ")
                );
                Err(ServiceError::Invalid(reason))
            }
        }
    }
}

/// Returns the files of an entry: of one that git has made, those that were not tracked are in its
/// third parent.
fn with_untracked(repo: &Repo, entry: &CommitInfo) -> Result<Oid, GitError> {
    let Some(untracked) = entry.parents.get(2) else {
        return Ok(entry.id.clone());
    };
    let files = repo.store().all_files(untracked)?;
    let paths: Vec<PathBuf> = files.into_keys().collect();
    repo.store().overlay(&entry.id, untracked, &paths)
}

fn newest(stack: &[Stashed]) -> Result<Stashed, ServiceError> {
    stack.first().cloned().ok_or_else(nothing_set_aside)
}

fn nothing_set_aside() -> ServiceError {
    ServiceError::Invalid("nothing is set aside; `push` does that".to_owned())
}

fn unchanged() -> ServiceError {
    ServiceError::Invalid("nothing to set aside: the worktree has no changes".to_owned())
}

fn told(entry: &Stashed) -> GitStash {
    let (commit, message) = (entry.commit.id.clone(), entry.commit.subject().to_owned());
    GitStash {
        commit,
        message,
        time: entry.commit.time_unix,
    }
}
