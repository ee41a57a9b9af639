//! Brings files of a commit into an agent's worktree, which stays on its branch.
//!
//! What the worktree had is stored first, and can be checked out in turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::policy::{Decision, Policy};
use orchestrate_core::text::git_path::text;
use orchestrate_core::text::invisible::shown;
use orchestrate_git::own_refs::MERGING;
use orchestrate_git::{FileChange, GitError, Repo};
use orchestrate_tools::{GitCheckoutResult, ServiceError};

use crate::worktree::git_tools::status::listed;
use crate::worktree::workspace::Workspace;

/// The rule against changing files that configure agents.
const CONFIGURATION: &str = "built-in:configuration";
/// Where the repository's own names for commits are, in the order of git.
const NAMES: [&str; 3] = ["refs/tags/", "refs/heads/", "refs/remotes/"];

/// How many of the files that an operation may not change its refusal names.
const NAMED_FILES: usize = 8;

/// An exchange of the worktree's files.
struct Exchange {
    wanted: Oid,
    changes: Vec<FileChange>,
    /// The paths that it changes, with both of a renamed file.
    changed: Vec<PathBuf>,
    /// The files that would differ from the branch's tip.
    new_here: Vec<PathBuf>,
}

impl Workspace {
    /// Brings files of a commit into the worktree, all of them if no paths are given.
    pub(crate) async fn checkout(
        &self,
        revision: &str,
        paths: &[String],
        policy: &Policy,
    ) -> Result<GitCheckoutResult, ServiceError> {
        let (commit, tip) = self.to_check_out(revision, paths).await?;
        let before = self.keep().await?;
        let exchange = self.plan_checkout(revision, &commit, paths, &tip).await?;
        require_none_forbidden(policy, &exchange.changed)?;
        self.exchange(&exchange.wanted, &exchange.new_here, policy)
            .await?;
        if paths.is_empty() && commit == tip {
            let own = self.own_refs();
            self.host
                .git(move |repo| own.forget(repo, &[MERGING]))
                .await?;
        }
        Ok(GitCheckoutResult {
            commit,
            changes: listed(&exchange.changes),
            before,
        })
    }

    /// Requires that files could be brought into the worktree.
    pub(super) async fn require_checkout(
        &self,
        revision: &str,
        paths: &[String],
        policy: &Policy,
    ) -> Result<(), ServiceError> {
        let (commit, tip) = self.to_check_out(revision, paths).await?;
        let exchange = self.plan_checkout(revision, &commit, paths, &tip).await?;
        require_none_forbidden(policy, &exchange.changed)?;
        require_none_protected(policy, &exchange.new_here)
    }

    /// Returns the commit whose files are wanted, and the tip of the branch.
    async fn to_check_out(
        &self,
        revision: &str,
        paths: &[String],
    ) -> Result<(Oid, Oid), ServiceError> {
        let commit = self.resolve(revision).await?;
        let (record, tip) = self.record().await?;
        if paths.is_empty() && record.onto().is_some() {
            let reason = "your worktree has a merge to resolve, which this would undo; name the \
                          paths to check out";
            return Err(ServiceError::Invalid(reason.to_owned()));
        }
        Ok((commit, tip))
    }

    /// Returns what a checkout of a revision, which is this commit, does; fails for a path that
    /// neither side has.
    async fn plan_checkout(
        &self,
        revision: &str,
        commit: &Oid,
        paths: &[String],
        tip: &Oid,
    ) -> Result<Exchange, ServiceError> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let (worktree, commit, tip) = (Arc::clone(&self.worktree), commit.clone(), tip.clone());
        let planned = self.host.git(move |repo| {
            repo.require_plain_tree(&commit)?;
            let store = repo.store();
            let current = store.current_tree(&worktree)?;
            if let Some(unknown) = unknown_path(repo, [&commit, &current], &paths)? {
                return Ok(Err(unknown));
            }
            let wanted = match paths.is_empty() {
                true => repo.tree_of(&commit)?,
                false => store.overlay(&current, &commit, &paths)?,
            };
            let changes = store.diff(&current, &wanted)?;
            let changed = store.changed_paths(&current, &wanted)?;
            let new_here = new_here(repo, &current, &wanted, &tip)?;
            Ok(Ok(Exchange {
                wanted,
                changes,
                changed,
                new_here,
            }))
        });
        planned.await?.map_err(|unknown| {
            let (unknown, revision) = (shown(&unknown.to_string_lossy()), shown(revision));
            ServiceError::Invalid(format!(
                "neither {revision} nor your worktree has `{unknown}`"
            ))
        })
    }

    /// Makes the worktree contain the files of a tree, unless that would change files that
    /// configure agents. The caller has stored what the worktree has.
    pub(super) async fn exchange(
        &self,
        wanted: &Oid,
        new_here: &[PathBuf],
        policy: &Policy,
    ) -> Result<(), ServiceError> {
        require_none_protected(policy, new_here)?;
        let (worktree, wanted) = (Arc::clone(&self.worktree), wanted.clone());
        self.host
            .git(move |repo| repo.worktrees().exchange(&worktree, &wanted))
            .await?;
        // The index is at a tree that a ref holds, as after every snapshot.
        self.keep().await?;
        Ok(())
    }

    /// Returns the commit that an agent means: `HEAD`, an id, a name of its own, another task, the
    /// result so far, or a branch or tag of the repository; each may be followed by `~N` and `^N`.
    pub(super) async fn resolve(&self, revision: &str) -> Result<Oid, ServiceError> {
        let revision = revision.trim();
        let (name, suffix) = revision.split_at(revision.find(['~', '^']).unwrap_or(revision.len()));
        let unknown = || {
            ServiceError::Invalid(format!(
                "there is no commit `{}`; see git_log and git_branch",
                shown(revision)
            ))
        };
        if !suffix.chars().all(|c| matches!(c, '~' | '^' | '0'..='9')) {
            return Err(unknown());
        }
        let git = self.sync_git().await?;
        let is_head = name == "HEAD" || name == "@";
        let known = if is_head {
            Some(git.head)
        } else {
            self.branches().await?.tip(&self.link.run, name)
        };
        let own = [self.own_refs().branch(name), self.own_refs().tag(name)];
        let name = name.to_owned();
        let suffix = suffix.to_owned();
        let found = self.host.git(move |repo| {
            let found = match known {
                Some(known) => Some(known),
                None => named(repo, &own, &name)?,
            };
            let Some(found) = found else { return Ok(None) };
            match repo.resolve(&format!("{found}{suffix}")) {
                Err(GitError::UnknownRevision { .. }) => Ok(None),
                other => other.map(Some),
            }
        });
        found.await?.ok_or_else(unknown)
    }
}

/// Refuses to change files that configure agents.
fn require_none_protected(policy: &Policy, new_here: &[PathBuf]) -> Result<(), ServiceError> {
    let Some(path) = new_here
        .iter()
        .map(|path| text(path))
        .find(|path| policy.protects(path))
    else {
        return Ok(());
    };
    let reason = format!(
        "only the user may change `{}`, which configures agents; name other paths, and report what \
         should change",
        shown(&path)
    );
    Err(ServiceError::Denied {
        rule: CONFIGURATION.to_owned(),
        reason,
    })
}

/// Returns the first path that no tree or commit of these has.
pub(super) fn unknown_path(
    repo: &Repo,
    trees: [&Oid; 2],
    paths: &[PathBuf],
) -> Result<Option<PathBuf>, GitError> {
    let [one, other] = trees;
    for path in paths {
        if !repo.store().has_path(one, path)? && !repo.store().has_path(other, path)? {
            return Ok(Some(path.clone()));
        }
    }
    Ok(None)
}

/// Refuses to change files that no tool may touch: those of a tree are named by no call.
pub(super) fn require_none_forbidden(
    policy: &Policy,
    changed: &[PathBuf],
) -> Result<(), ServiceError> {
    let paths: Vec<String> = changed
        .iter()
        .map(|path| text(path))
        .filter(|path| policy.forbids(path).is_some())
        .collect();
    let Some(Decision::Deny { rule, reason }) = paths.first().and_then(|path| policy.forbids(path))
    else {
        return Ok(());
    };
    let named: Vec<String> = paths
        .iter()
        .take(NAMED_FILES)
        .map(|path| format!("`{}`", shown(path)))
        .collect();
    let more = if paths.len() > NAMED_FILES {
        format!(" and {} more", paths.len() - NAMED_FILES)
    } else {
        String::new()
    };
    let reason = format!(
        "nothing was changed, since this would change {}{more}: {reason}",
        named.join(", ")
    );
    Err(ServiceError::Denied { rule, reason })
}

/// Returns the files that an exchange would change, and that would then differ from the branch's
/// tip.
pub(super) fn new_here(
    repo: &Repo,
    current: &Oid,
    wanted: &Oid,
    tip: &Oid,
) -> Result<Vec<PathBuf>, GitError> {
    let mut paths = repo.store().changed_paths(current, wanted)?;
    let mut new = Vec::new();
    for path in paths.drain(..) {
        if !repo.store().is_same_at(wanted, tip, &path)? {
            new.push(path);
        }
    }
    Ok(new)
}

/// Returns the object that a name stands for: the agent's own, an id or the beginning of one, or
/// the repository's.
fn named(repo: &Repo, own: &[String; 2], name: &str) -> Result<Option<Oid>, GitError> {
    // A path component such as `..` or an empty one is no name.
    if Path::new(name).components().count() != name.split('/').count() {
        return Ok(None);
    }
    for own in own {
        if let Some(found) = read_named(repo, own)? {
            return Ok(Some(found));
        }
    }
    if name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit()) {
        match repo.resolve(name) {
            Err(GitError::UnknownRevision { .. }) => {}
            other => return other.map(Some),
        }
    }
    for folder in NAMES {
        if let Some(found) = read_named(repo, &format!("{folder}{name}"))? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn read_named(repo: &Repo, full: &str) -> Result<Option<Oid>, GitError> {
    match repo.read_ref(full) {
        Err(GitError::BadRefName { .. }) => Ok(None),
        other => other,
    }
}
