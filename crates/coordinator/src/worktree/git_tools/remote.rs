//! Pushes an agent's branch to a remote repository, and merges one of that one's branches into it,
//! on its request.
//!
//! What a call would reach is looked up before it is decided about, without any connection. It is
//! looked up again when it is carried out, and nothing happens if it has changed meanwhile. The
//! user's credentials are git's business: they are neither here nor at the agent's programs.

use orchestrate_core::Oid;
use orchestrate_core::policy::Policy;
use orchestrate_core::policy::host::{GitAddress, Host};
use orchestrate_core::run::RunBranches;
use orchestrate_core::text::invisible::shown;
use orchestrate_git::own_refs::PULLED;
use orchestrate_git::{
    CommitInfo, Direction, GitError, Pushed, RemoteBranch, RemoteError, RemoteFailure, Repo, Terms,
    Unpushed,
};
use orchestrate_sandbox::Cancel;
use orchestrate_tools::{
    GitPullResult, GitPushResult, PullPlan, PushPlan, PushState, RemoteTerms, ServiceError,
    UsersCommits,
};

use crate::error::CoordinatorError;
use crate::link::requests::ReadWorkSpan;
use crate::worktree::git_tools::merge::Source;
use crate::worktree::workspace::Workspace;

/// The most commits that whoever is asked about a push is shown.
const SHOWN_COMMITS: usize = 20;
/// The most of the user's own commits that are shown.
const SHOWN_USERS_COMMITS: usize = 5;
/// The most commits that are counted.
const COUNTED_COMMITS: usize = 10_000;
/// How many digits of a commit's id are shown.
const SHORT_ID: usize = 10;
/// Branches that are a project's main ones by their name.
const MAIN: [&str; 2] = ["main", "master"];
/// The folder of the branches of runs.
const OF_RUNS: &str = "orchestrate/";
/// The tool, as rules name it.
const PUSH: &str = "git_push";

impl Workspace {
    /// Returns what a push of the agent's branch would do.
    pub(crate) async fn foresee_push(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PushPlan, ServiceError> {
        let (record, tip) = self.record().await?;
        let span = self.link.ask(ReadWorkSpan {}).await?;
        if tip == span.base {
            let reason = "there is nothing to push: your branch has no commit of its own yet; call \
                          `git_commit` first";
            return Err(ServiceError::Invalid(reason.to_owned()));
        }
        let own = record.branch().unwrap_or_default().to_owned();
        let branch = branch.map_or_else(|| own.clone(), str::to_owned);
        let (
            RunBranches {
                base,
                base_commit: users,
                ..
            },
            remote,
        ) = (self.branches().await?, remote.to_owned());
        let planned = self.host.git(move |repo| {
            let remotes = repo.remotes();
            let address = remotes.address(&remote, Direction::Push)?;
            let protected = if branch == own {
                None
            } else {
                protection(repo, &remote, &branch, base.as_deref())?
            };
            let Unpushed {
                since_base,
                below_base,
            } = remotes.unpushed(&remote, &tip, &users, COUNTED_COMMITS)?;
            let (address, host) = described(&address);
            let (commits, users_commits) = (listed(&since_base), of_user(&below_base));
            Ok(PushPlan {
                remote,
                address,
                host,
                branch,
                commit: tip,
                commits,
                users_commits,
                protected,
            })
        });
        planned.await.map_err(explained)
    }

    /// Carries out a push that was decided about.
    pub(crate) async fn push(
        &self,
        plan: &PushPlan,
        terms: RemoteTerms,
        policy: &Policy,
    ) -> Result<GitPushResult, ServiceError> {
        let now = self.foresee_push(&plan.remote, Some(&plan.branch)).await?;
        require_same(
            PushPlan {
                commits: plan.commits.clone(),
                ..now
            } == *plan,
        )?;
        let own = self
            .record()
            .await?
            .0
            .branch()
            .unwrap_or_default()
            .to_owned();
        let is_open = plan.branch == own || policy.names_branch(PUSH, &plan.remote, &plan.branch);
        let decided = plan.clone();
        let pushed = self.reach(&terms, move |repo, terms| {
            let PushPlan {
                remote,
                branch,
                commit,
                ..
            } = &decided;
            let address = repo.remotes().address(remote, Direction::Push)?;
            if address.as_str() != decided.address {
                return Ok(Err(changed()));
            }
            if !is_open
                && repo
                    .remotes()
                    .default_branch(remote, &address, terms)?
                    .as_ref()
                    == Some(branch)
            {
                return Ok(Err(refused_default(remote, branch)));
            }
            repo.remotes()
                .push(
                    RemoteBranch {
                        remote,
                        address: &address,
                        branch,
                    },
                    commit,
                    terms,
                )
                .map(Ok)
        });
        let state = match pushed.await?? {
            Pushed::Created => PushState::Created,
            Pushed::Forwarded => PushState::Forwarded,
            Pushed::UpToDate => PushState::UpToDate,
        };
        let uncommitted = self.status().await?.changes;
        let PushPlan {
            remote,
            address,
            branch,
            commit,
            ..
        } = plan.clone();
        Ok(GitPushResult {
            remote,
            address,
            branch,
            commit,
            state,
            uncommitted,
        })
    }

    /// Returns what a pull would do.
    pub(crate) async fn foresee_pull(
        &self,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<PullPlan, ServiceError> {
        let base = self.branches().await?.base;
        let remote = remote.to_owned();
        let given = branch.map(str::to_owned);
        let planned = self.host.git(move |repo| {
            let address = repo.remotes().address(&remote, Direction::Fetch)?;
            let default = || repo.remotes().noted_default_branch(&remote);
            let Some(branch) = given
                .or(base)
                .map_or_else(default, |branch| Ok(Some(branch)))?
            else {
                let reason = "the run started from no branch, so name the `branch` to pull";
                return Ok(Err(ServiceError::Invalid(reason.to_owned())));
            };
            let (address, host) = described(&address);
            Ok(Ok(PullPlan {
                remote,
                address,
                host,
                branch,
            }))
        });
        planned.await.map_err(explained)?
    }

    /// Fetches the branch of a pull that was decided about, and merges it.
    pub(crate) async fn pull(
        &self,
        plan: &PullPlan,
        terms: RemoteTerms,
        policy: &Policy,
    ) -> Result<GitPullResult, ServiceError> {
        require_same(self.foresee_pull(&plan.remote, Some(&plan.branch)).await? == *plan)?;
        let ((_, tip), span) = (self.record().await?, self.link.ask(ReadWorkSpan {}).await?);
        let (own, decided, max_bytes) = (self.own_refs(), plan.clone(), terms.fetched_bytes);
        let fetched = self.reach(&terms, move |repo, terms| {
            let PullPlan { remote, branch, .. } = &decided;
            let address = repo.remotes().address(remote, Direction::Fetch)?;
            if address.as_str() != decided.address {
                return Ok(Err(changed()));
            }
            let from = RemoteBranch {
                remote,
                address: &address,
                branch,
            };
            let Some(commit) = repo
                .remotes()
                .fetch(from, [&tip, &span.base], terms, max_bytes)?
            else {
                let reason = format!(
                    "`{}` has no commit in common with your branch",
                    shown(branch)
                );
                return Ok(Err(ServiceError::Invalid(reason)));
            };
            // The agent's merge may come later than the next `git gc`.
            own.set(repo, PULLED, &commit)?;
            Ok(Ok(commit))
        });
        let commit: Oid = fetched.await??;
        let PullPlan {
            remote,
            address,
            branch,
            ..
        } = plan.clone();
        let merge = self
            .merge_source(Source::other(format!("{remote}/{branch}"), commit), policy)
            .await?;
        Ok(GitPullResult {
            remote,
            address,
            branch,
            merge,
        })
    }

    /// Reaches a remote, until it is done or given up.
    async fn reach<T: Send + 'static>(
        &self,
        terms: &RemoteTerms,
        work: impl FnOnce(&Repo, Terms) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let given_up = Cancel::new();
        let killed_by = given_up.clone();
        let of_git = Terms {
            timeout: terms.timeout,
            is_attended: false,
        };
        let work = self
            .host
            .git(move |repo| work(&repo.killed_by(&killed_by), of_git));
        tokio::pin!(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = terms.cancel.cancelled() => {
                given_up.kill();
                work.await
            }
        };
        done.map_err(explained)
    }
}

fn described(address: &GitAddress) -> (String, Option<String>) {
    (address.to_string(), address.host().map(Host::to_string))
}

/// Returns why agents do not push to a branch that is not their own, as far as that is known here.
fn protection(
    repo: &Repo,
    remote: &str,
    branch: &str,
    base: Option<&str>,
) -> Result<Option<String>, GitError> {
    let name = shown(branch);
    let is_users = repo.read_ref(&format!("refs/heads/{branch}"))?.is_some();
    let is_default = repo.remotes().noted_default_branch(remote)?.as_deref() == Some(branch);
    Ok(match branch {
        _ if base == Some(branch) => {
            Some(format!("`{name}` is the branch that the run started from"))
        }
        _ if is_default => Some(format!(
            "`{name}` is the default branch of `{}`",
            shown(remote)
        )),
        _ if branch.starts_with(OF_RUNS) => Some(format!("`{name}` is another agent's branch")),
        _ if is_users => Some(format!("`{name}` is a branch of the user's")),
        _ if MAIN.contains(&branch) => Some(format!(
            "`{name}` is, by its name, the main branch of a project"
        )),
        _ => None,
    })
}

fn line(commit: &CommitInfo) -> String {
    let id = commit.id.as_str();
    format!("{} {}", id.get(..SHORT_ID).unwrap_or(id), commit.subject())
}

/// Returns what is shown of the user's commits that a push would publish; `None` if there are none.
fn of_user(commits: &[CommitInfo]) -> Option<UsersCommits> {
    let newest = || commits.iter().take(SHOWN_USERS_COMMITS).map(line).collect();
    (!commits.is_empty()).then(|| UsersCommits {
        count: commits.len(),
        newest: newest(),
    })
}

fn listed(commits: &[CommitInfo]) -> Vec<String> {
    let mut lines: Vec<String> = commits.iter().take(SHOWN_COMMITS).map(line).collect();
    if commits.len() > SHOWN_COMMITS {
        lines.push(format!("and {} more", commits.len() - SHOWN_COMMITS));
    }
    lines
}

/// Requires that a call would still do what was decided about.
fn require_same(is_same: bool) -> Result<(), ServiceError> {
    if is_same { Ok(()) } else { Err(changed()) }
}

fn changed() -> ServiceError {
    let reason = "nothing was done, since the remote or your branch has changed since it was \
                  decided; make the call again";
    ServiceError::Invalid(reason.to_owned())
}

fn refused_default(remote: &str, branch: &str) -> ServiceError {
    let (name, remote) = (shown(branch), shown(remote));
    let reason = format!(
        "`{name}` is the default branch of `{remote}`; push to a branch of your own instead \
         (without `branch`, it has your branch's name)"
    );
    ServiceError::Denied {
        rule: "built-in:protected-branch".to_owned(),
        reason,
    }
}

/// Says what one can do about a failure of a remote.
fn explained(error: CoordinatorError) -> ServiceError {
    use RemoteFailure::{
        NoBranch, NoRepository, NotFastForward, Other, Redirected, Refused, TimedOut, TooLarge,
        Unauthenticated, UnknownHostKey, Unreachable,
    };
    let text = error.to_string();
    let cause = match error {
        CoordinatorError::Git(GitError::Remote(RemoteError::Failed { cause, .. })) => cause,
        CoordinatorError::Git(GitError::Remote(
            RemoteError::Unknown { .. } | RemoteError::Unusable { .. },
        )) => {
            return ServiceError::Invalid(text);
        }
        CoordinatorError::Git(GitError::Killed) => {
            let reason = "it was given up, and what the remote has is not known; the same call can \
                          be made again";
            return ServiceError::Interrupted(reason.to_owned());
        }
        other => return other.into(),
    };
    let users = |what: &str| {
        ServiceError::Failed(format!(
            "{text}\nOnly the user can change that: {what}. Go on without it, and report it."
        ))
    };
    match cause {
        NotFastForward => ServiceError::Invalid(format!(
            "{text}\nCall `git_pull` for that branch, and push again; or push to another branch."
        )),
        Refused => ServiceError::Invalid(format!(
            "{text}\nChange what the server objects to, or push to another branch; nothing is \
             forced."
        )),
        NoBranch => ServiceError::Invalid(format!("{text}\nName a branch that is there.")),
        Unauthenticated => users(
            "git must find the credentials without a question, by a credential helper or a key",
        ),
        UnknownHostKey => users("ssh has to be connected to that host once by hand"),
        Redirected => users("the remote needs the address that the server leads to"),
        NoRepository => users("the address of the remote, or the rights there"),
        TooLarge { .. } => users("the branch has to be fetched by hand"),
        Unreachable => ServiceError::Unreachable(text),
        TimedOut { seconds } => ServiceError::TimedOut { seconds },
        Other => ServiceError::Failed(text),
    }
}
