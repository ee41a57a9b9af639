//! A branch for tests of tools: what git would answer, and what was pushed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use orchestrate_core::Oid;
use orchestrate_core::collections::Mutex;

use orchestrate_tools::{
    BranchAction, ConflictHunk, GitBranch, GitBranchResult, GitChange, GitCheckoutResult,
    GitCommit, GitOperation, GitPullResult, GitPushResult, GitService, GitStash, GitStashResult,
    GitStatus, MergeConflict, MergeResult, PullPlan, PushPlan, PushState, RemoteTerms,
    ServiceError, ShownDiff, ShowsPath, StashAction, UsersCommits,
};

/// The branch of the agent.
const BRANCH: &str = "orchestrate/r-harness/T1";

/// The host of remotes that cannot be reached.
const AWAY: &str = "away.example";
/// The remote that lacks commits of the user's.
const BEHIND: &str = "behind";

/// A branch with one change and one commit, on which git ignores `*.log`.
#[derive(Debug, Default)]
pub struct FakeGit {
    /// What differs from the files before a command.
    pub changes: Mutex<Vec<GitChange>>,
    /// The hosts of remotes.
    pub hosts: Mutex<BTreeMap<String, String>>,
    /// What was pushed.
    pub pushed: Mutex<Vec<PushPlan>>,
}

/// Returns the one commit, with this message.
pub(crate) fn commit(message: &str) -> GitCommit {
    GitCommit {
        id: Oid::new("0123456789abcdef0123456789abcdef01234567"),
        message: message.to_owned(),
        author: "A. Author <author@example.invalid>".to_owned(),
        time: 1_700_000_000,
        left_out: Vec::new(),
        aside: orchestrate_core::LeftAside::default(),
    }
}

#[async_trait]
impl GitService for FakeGit {
    async fn status(&self) -> Result<GitStatus, ServiceError> {
        let changes = vec![GitChange {
            status: 'M',
            path: "a.txt".to_owned(),
        }];
        let (branch, head) = (BRANCH.to_owned(), Some(commit("").id));
        Ok(GitStatus {
            branch,
            head,
            changes,
            ..GitStatus::default()
        })
    }

    async fn ignores(&self, path: &str) -> Result<bool, ServiceError> {
        match path.ends_with("unreadable.log") {
            true => Err(ServiceError::Failed(
                "the ignore rules cannot be read".to_owned(),
            )),
            false => Ok(path.ends_with(".log")),
        }
    }

    async fn keep_before(&self) -> Result<Oid, ServiceError> {
        Ok(commit("").id)
    }

    async fn changes_since(&self, _: &Oid) -> Result<Vec<GitChange>, ServiceError> {
        Ok(self.changes.lock().clone())
    }

    async fn diff(&self, staged: bool, shows: ShowsPath) -> Result<ShownDiff, ServiceError> {
        let (path, text) = ("a.txt".to_owned(), "--- a/a.txt\n+++ b/a.txt\n".to_owned());
        Ok(match (staged, shows(&path)) {
            (true, _) => ShownDiff::default(),
            (false, true) => ShownDiff {
                text,
                withheld: Vec::new(),
            },
            (false, false) => ShownDiff {
                text: String::new(),
                withheld: vec![path],
            },
        })
    }

    async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, ServiceError> {
        Ok(vec![commit("Begin\n\nwith this"); limit.min(1)])
    }

    async fn commit(&self, message: &str) -> Result<GitCommit, ServiceError> {
        match message {
            "nothing" => Err(ServiceError::Invalid("nothing to commit".to_owned())),
            _ => Ok(commit(message)),
        }
    }

    async fn add(&self, files: &[String]) -> Result<Vec<GitChange>, ServiceError> {
        known("file", files.iter().find(|file| *file == "nowhere"))?;
        Ok(files
            .iter()
            .map(|path| GitChange {
                status: 'M',
                path: path.clone(),
            })
            .collect())
    }

    async fn branch(
        &self,
        action: BranchAction,
        name: Option<&str>,
    ) -> Result<GitBranchResult, ServiceError> {
        known("branch", name.filter(|name| *name == "nowhere"))?;
        let branches = name.into_iter().map(|name| GitBranch {
            name: name.to_owned(),
            commit: commit("").id,
        });
        Ok(GitBranchResult {
            action,
            current: BRANCH.to_owned(),
            head: commit("").id,
            branches: branches.collect(),
        })
    }

    async fn checkout(
        &self,
        revision: &str,
        _: &[String],
    ) -> Result<GitCheckoutResult, ServiceError> {
        known(
            "commit",
            Some(revision).filter(|revision| *revision == "nowhere"),
        )?;
        let changes = vec![GitChange {
            status: 'M',
            path: "a.txt".to_owned(),
        }];
        Ok(GitCheckoutResult {
            commit: commit("").id,
            changes,
            before: Some(commit("").id),
        })
    }

    async fn stash(&self, action: StashAction) -> Result<GitStashResult, ServiceError> {
        let entry = GitStash {
            commit: commit("").id,
            message: "Work on T1".to_owned(),
            time: 1_700_000_000,
        };
        match action {
            StashAction::Pop => Err(ServiceError::Invalid("the stash is empty".to_owned())),
            _ => Ok(GitStashResult {
                action,
                entry: Some(entry),
                stashes: Vec::new(),
                changes: Vec::new(),
            }),
        }
    }

    async fn merge(&self, branch: &str) -> Result<MergeResult, ServiceError> {
        known("branch", Some(branch).filter(|branch| *branch == "nowhere"))?;
        let (theirs, base, yours) = ("two\n".to_owned(), String::new(), "2\n".to_owned());
        let hunks = vec![ConflictHunk {
            first_line: 2,
            last_line: 7,
            theirs,
            base,
            yours,
        }];
        let conflict = MergeConflict {
            path: "a.txt".to_owned(),
            kind: "contents".to_owned(),
            hunks,
        };
        Ok(MergeResult {
            branch: branch.to_owned(),
            other: commit("").id,
            merged: false,
            commit: None,
            changes: Vec::new(),
            conflicts: vec![conflict],
        })
    }

    async fn rehearse(&self, operation: &GitOperation) -> Result<(), ServiceError> {
        match operation {
            GitOperation::Commit { message } => self.commit(message).await.map(drop),
            GitOperation::Add { files } => self.add(files).await.map(drop),
            GitOperation::Branch { action, name } => {
                self.branch(*action, name.as_deref()).await.map(drop)
            }
            GitOperation::Checkout { revision, paths } => {
                self.checkout(revision, paths).await.map(drop)
            }
            GitOperation::Stash { action } => self.stash(*action).await.map(drop),
            GitOperation::Merge { branch } => self.merge(branch).await.map(drop),
        }
    }

    async fn foresee_push(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PushPlan, ServiceError> {
        known("remote", Some(remote).filter(|remote| *remote == "nowhere"))?;
        let branch = branch.unwrap_or(BRANCH).to_owned();
        let protected = (branch == "main").then(|| "`main` is a branch of the user's".to_owned());
        let (host, address) = self.at(remote);
        let (commit, commits) = (commit("").id, vec!["0123456789 Begin".to_owned()]);
        let users_commits = (remote == BEHIND).then(|| UsersCommits {
            count: 2,
            newest: vec!["aaaaaaaaaa Draft".to_owned()],
        });
        Ok(PushPlan {
            remote: remote.to_owned(),
            address,
            host,
            branch,
            commit,
            commits,
            users_commits,
            protected,
        })
    }

    async fn push(&self, plan: &PushPlan, _: RemoteTerms) -> Result<GitPushResult, ServiceError> {
        let PushPlan {
            remote,
            address,
            branch,
            commit,
            ..
        } = plan.clone();
        if plan.host.as_deref() == Some(AWAY) {
            return Err(ServiceError::Unreachable(format!(
                "{AWAY} cannot be reached"
            )));
        }
        self.pushed.lock().push(plan.clone());
        Ok(GitPushResult {
            remote,
            address,
            branch,
            commit,
            state: PushState::Created,
            uncommitted: Vec::new(),
        })
    }

    async fn foresee_pull(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PullPlan, ServiceError> {
        known("remote", Some(remote).filter(|remote| *remote == "nowhere"))?;
        let (host, address) = self.at(remote);
        Ok(PullPlan {
            remote: remote.to_owned(),
            address,
            host,
            branch: branch.unwrap_or("main").to_owned(),
        })
    }

    async fn pull(&self, plan: &PullPlan, _: RemoteTerms) -> Result<GitPullResult, ServiceError> {
        let PullPlan {
            remote,
            address,
            branch,
            ..
        } = plan.clone();
        let merge = self.merge(&format!("{remote}/{branch}")).await?;
        Ok(GitPullResult {
            remote,
            address,
            branch,
            merge,
        })
    }
}

impl FakeGit {
    /// Returns the host and the address of a remote: what `hosts` says, or `git.example`.
    fn at(&self, remote: &str) -> (Option<String>, String) {
        let host = self
            .hosts
            .lock()
            .get(remote)
            .cloned()
            .unwrap_or_else(|| "git.example".to_owned());
        (Some(host.clone()), format!("https://{host}/a.git"))
    }
}

/// Fails for a name that is unknown.
fn known(what: &str, unknown: Option<impl std::fmt::Display>) -> Result<(), ServiceError> {
    unknown.map_or(Ok(()), |name| {
        Err(ServiceError::Invalid(format!(
            "there is no {what} `{name}`"
        )))
    })
}
