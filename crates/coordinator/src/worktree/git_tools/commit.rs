//! Commits the content of a worktree, on the agent's behalf.
//!
//! A commit is created and held by a ref of ours, then the event is recorded, then the branch moves
//! by compare-and-swap; if killed in between, recovery moves the branch to its recorded position.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::policy::Policy;
use orchestrate_core::record::Snapshot;
use orchestrate_core::task::ReturnCause;
use orchestrate_core::text::git_path;
use orchestrate_core::{LeftAside, Oid, RunId, ScratchFile, TaskRecord};
use orchestrate_git::own_refs::{MERGING, SELECTED};
use orchestrate_git::{CommitSpec, Identity, Loss, SnapshotRules};
use orchestrate_plan::{KeptBoxes, MAX_PLAN_BYTES, keep_boxes};
use orchestrate_tools::GitCommit;

use crate::error::CoordinatorError;
use crate::link::requests::ReadHistory;
use crate::run::machine::host::Host;
use crate::run::unix_seconds;
use crate::worktree::workspace::Workspace;

/// How many paths that git cannot store an event names before only counting them.
const LEFT_OUT_PATHS: usize = 20;

/// A new commit.
pub(crate) struct Made {
    pub(crate) commit: Oid,
    /// The paths in the worktree that git cannot store.
    pub(crate) left_out: Vec<String>,
    /// What else is not in it.
    pub(crate) aside: LeftAside,
    /// Unix seconds.
    pub(crate) time: i64,
}

/// The commit that a worktree becomes.
#[derive(Clone, Copy)]
pub(crate) struct NewTip<'a> {
    pub(crate) message: &'a str,
    /// The policy, which says which of the files that configure agents the user has opened.
    pub(crate) policy: &'a Policy,
    /// The tree that its agent has selected; `None` for everything.
    pub(crate) selected: Option<&'a Oid>,
    /// The commit that its agent is merging, which becomes the second parent.
    pub(crate) merging: Option<&'a Oid>,
    /// The newest of the commits of its agent's that stay, in place of the tip as the first parent.
    pub(crate) above: Option<&'a Oid>,
}

/// What a worktree is stored for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    /// To become the tip of its branch.
    Tip(NewTip<'a>),
    /// To be kept.
    Keeping,
    /// To be kept before the files of the branch's tip replace its own.
    Replacing,
}

impl<'a> Purpose<'a> {
    /// Returns the commit that the worktree becomes at the tip of its branch.
    fn new_tip(self) -> Option<NewTip<'a>> {
        match self {
            Self::Tip(new) => Some(new),
            Self::Keeping | Self::Replacing => None,
        }
    }
}

/// The content of a new commit.
struct Content {
    tree: Oid,
    /// The paths in the worktree that git cannot store.
    left_out: Vec<String>,
    /// What else is not in the tree.
    aside: LeftAside,
    /// What the branch is at.
    before: Oid,
    parents: Vec<Oid>,
}

/// The worktree's files as a tree.
struct Stored {
    tree: Oid,
    left_out: Vec<String>,
    aside: LeftAside,
}

impl Workspace {
    /// Commits the worktree to the branch, or returns `None` if there is nothing to commit.
    pub(crate) async fn commit(
        &self,
        message: &str,
        policy: &Policy,
    ) -> Result<Option<GitCommit>, CoordinatorError> {
        let (_, tip) = self.record().await?;
        let merging = self.merging(&tip).await?;
        self.commit_as(NewTip {
            message,
            policy,
            selected: None,
            merging: merging.as_ref(),
            above: None,
        })
        .await
    }

    /// Commits to the branch, and forgets what was selected and which merge was in progress.
    pub(super) async fn commit_as(
        &self,
        new: NewTip<'_>,
    ) -> Result<Option<GitCommit>, CoordinatorError> {
        let head = self.sync_git().await?.head;
        let (record, tip) = self.record().await?;
        let own_commits = self.own_commits(&tip, &head).await?;
        let kept = self
            .keep_own_commits(&record, &own_commits, new.policy)
            .await?;
        let message = match kept {
            Some(_) => new.message.to_owned(),
            None => self.with_messages(new.message, &own_commits),
        };
        let new = NewTip {
            message: &message,
            above: kept.as_ref(),
            ..new
        };
        let boxes = self.keep_boxes(&record).await?;
        let made = self.store(&record, Purpose::Tip(new), boxes).await?;
        let own = self.own_refs();
        self.host
            .git(move |repo| own.forget(repo, &[SELECTED, MERGING]))
            .await?;
        self.sync_git().await?;
        let author = author(&self.host.identities.author);
        let commit = |Made {
                          commit,
                          left_out,
                          aside,
                          time,
                      }| {
            let (id, message) = (commit, new.message.to_owned());
            GitCommit {
                id,
                message,
                author,
                time,
                left_out,
                aside,
            }
        };
        Ok(made.map(commit))
    }

    /// Stores the worktree under a ref of ours, without moving the branch, and returns the commit,
    /// or `None` if the worktree is as at the branch's tip. Its index lists its files afterwards.
    pub(crate) async fn keep(&self) -> Result<Option<Oid>, CoordinatorError> {
        self.keep_for(Purpose::Keeping).await
    }

    /// Stores the worktree as [`Workspace::keep`] does, before the files of the branch's tip
    /// replace its own.
    pub(crate) async fn keep_before_replacing(&self) -> Result<Option<Oid>, CoordinatorError> {
        self.keep_for(Purpose::Replacing).await
    }

    /// Puts the boxes of the plan's file back before its content is read for anything, and keeps
    /// what the agent had changed of them.
    pub(super) async fn keep_changed_boxes(&self) -> Result<(), CoordinatorError> {
        let (record, _) = self.record().await?;
        let boxes = self.keep_boxes(&record).await?;
        if boxes.is_empty() {
            Ok(())
        } else {
            let kept = self.store(&record, Purpose::Keeping, boxes).await;
            kept.map(drop)
        }
    }

    async fn keep_for(&self, purpose: Purpose<'_>) -> Result<Option<Oid>, CoordinatorError> {
        let (record, _) = self.record().await?;
        let boxes = self.keep_boxes(&record).await?;
        let made = self.store(&record, purpose, boxes).await?;
        Ok(made.map(|made| made.commit))
    }

    /// Reports whether all that an agent has done since its attempt began is to change boxes of the
    /// plan, which are as before in this tree.
    pub(crate) async fn has_only_boxes(&self, tree: &Oid) -> Result<bool, CoordinatorError> {
        let (record, _) = self.record().await?;
        let Some(base) = record.base().cloned() else {
            return Ok(false);
        };
        if record.aside().boxes.is_empty() || !record.aside().withheld.is_empty() {
            return Ok(false);
        }
        Ok(self.host.git(move |repo| repo.tree_of(&base)).await? == *tree)
    }

    /// Commits a merge of the branch's tip with another commit to the task's branch.
    pub(crate) async fn commit_merge(
        &self,
        record: &TaskRecord,
        tree: Oid,
        tip: NewTip<'_>,
    ) -> Result<Option<Made>, CoordinatorError> {
        let Some(before) = record.tip().cloned() else {
            return Ok(None);
        };
        let parents: Vec<Oid> = std::iter::once(before.clone())
            .chain(tip.merging.cloned())
            .collect();
        let aside = record.aside().clone();
        let content = Content {
            tree,
            left_out: Vec::new(),
            aside,
            before,
            parents,
        };
        self.record_commit(record, content, Purpose::Tip(tip))
            .await
            .map(Some)
    }

    /// Requires that a tree changes no file that configures agents, compared with the commits that
    /// it continues from, unless a tool has changed it.
    pub(crate) async fn require_no_configuration(
        &self,
        policy: &Policy,
        tree: &Oid,
        parents: &[&Oid],
    ) -> Result<(), CoordinatorError> {
        let protected = self
            .configuring(policy, tree, parents.iter().copied())
            .await?;
        self.require_unconfigured(protected).await
    }

    /// Stores the worktree, as the branch's new tip or as a snapshot beside it.
    /// `boxes` are those of the plan that were put back before.
    async fn store(
        &self,
        record: &TaskRecord,
        purpose: Purpose<'_>,
        boxes: Vec<String>,
    ) -> Result<Option<Made>, CoordinatorError> {
        let as_tip = purpose.new_tip();
        let Some(tip) = record.tip().cloned() else {
            return Ok(None);
        };
        let merging = as_tip.and_then(|new| new.merging.cloned());
        let onto = record
            .onto()
            .cloned()
            .filter(|_| as_tip.is_some())
            .or(merging);
        if let Some(NewTip {
            policy, selected, ..
        }) = as_tip
        {
            // Before the snapshot, whose index would be mistaken for staged changes of the user.
            let looked_at = Arc::clone(&self.worktree);
            let tree = match selected {
                Some(tree) => tree.clone(),
                None => {
                    self.host
                        .git(move |repo| repo.store().current_tree(&looked_at))
                        .await?
                }
            };
            let protected = self
                .configuring(policy, &tree, std::iter::once(&tip).chain(&onto))
                .await?;
            self.require_unconfigured(protected).await?;
        }
        let (of_tip, behind) = (tip.clone(), record.behind().cloned());
        let trees = self.host.git(move |repo| {
            // The files of what was merged into the branch may not have been brought yet.
            let behind = behind.map(|commit| repo.tree_of(&commit)).transpose()?;
            Ok((repo.tree_of(&of_tip)?, behind))
        });
        let (tip_tree, behind_tree) = trees.await?;
        let newest = record.snapshot().map(|newest| newest.tree.clone());
        let known = newest
            .into_iter()
            .chain(behind_tree)
            .chain([tip_tree.clone()])
            .collect();
        self.keep_staged(record, known).await?;
        let Stored {
            tree,
            left_out,
            mut aside,
        } = match as_tip.and_then(|new| new.selected.cloned()) {
            Some(tree) => Stored {
                tree,
                left_out: Vec::new(),
                aside: record.aside().clone(),
            },
            None => self.snapshot_tree(record, as_tip.is_some()).await?,
        };
        aside.boxes.extend(boxes);
        // Snapshots beside the branch only note what no later one could find again.
        let is_news = if as_tip.is_some() {
            aside.adds_to(record.aside())
        } else {
            !aside.boxes.is_empty()
        };
        if tree == tip_tree && onto.is_none() && !is_news {
            let differs = |kept: &Snapshot| kept.tree != tree;
            if as_tip.is_none()
                && record.unfinished().is_some()
                && record.snapshot().is_some_and(differs)
            {
                // A worktree that is made again begins with the newest snapshot, not with files
                // that are gone.
                self.record_commit(
                    record,
                    Content {
                        tree,
                        left_out,
                        aside,
                        before: tip.clone(),
                        parents: vec![tip],
                    },
                    Purpose::Keeping,
                )
                .await?;
            }
            return Ok(None);
        }
        let first = as_tip.and_then(|new| new.above).unwrap_or(&tip).clone();
        let content = Content {
            tree,
            left_out,
            aside,
            before: tip,
            parents: std::iter::once(first).chain(onto).collect(),
        };
        self.record_commit(record, content, purpose).await.map(Some)
    }

    /// Creates a commit, records it, and then moves the branch to it if it is the new tip.
    async fn record_commit(
        &self,
        record: &TaskRecord,
        content: Content,
        purpose: Purpose<'_>,
    ) -> Result<Made, CoordinatorError> {
        let Content {
            tree,
            left_out,
            aside,
            before,
            parents,
        } = content;
        let number = record.snapshot().map_or(0, |newest| newest.number) + 1;
        let time = unix_seconds();
        let spec = CommitSpec {
            tree: tree.clone(),
            parents,
            message: purpose
                .new_tip()
                .map_or("Snapshot", |tip| tip.message)
                .to_owned(),
            trailers: record.trailers(&self.link.run),
            by: self.host.identities.clone(),
            time_unix: time,
        };
        let kept = purpose.new_tip().and_then(|tip| tip.above);
        let commit = match kept {
            // The agent's newest commit is the whole work.
            Some(kept) if self.is_whole(kept, &spec).await? => kept.clone(),
            _ => {
                let name = format!("{}/{number}", record.task.id.branch_component());
                keep_commit(&self.host, &self.link.run, spec, name).await?
            }
        };
        let (task, on_branch) = (record.task.id.clone(), purpose.new_tip().is_some());
        let (of_commit, unstored, kept) = (commit.clone(), left_out.clone(), aside.clone());
        let taken = Event::SnapshotTaken {
            task,
            number,
            commit: of_commit,
            tree,
            on_branch,
            replaced: matches!(purpose, Purpose::Replacing),
            left_out: unstored,
            aside: kept,
        };
        self.link.record(vec![taken]).await?;
        if on_branch {
            let branch = format!("refs/heads/{}", self.link.run.task_branch(&record.task.id));
            let new = commit.clone();
            self.host
                .git(move |repo| repo.advance(&branch, Some(&before), &new))
                .await?;
        }
        Ok(Made {
            commit,
            left_out,
            aside,
            time,
        })
    }

    /// Returns the files that configure agents and that a tree changes, compared with the commits
    /// that it continues from.
    async fn configuring(
        &self,
        policy: &Policy,
        tree: &Oid,
        parents: impl Iterator<Item = &Oid>,
    ) -> Result<Vec<PathBuf>, CoordinatorError> {
        let mut changed: Option<BTreeSet<PathBuf>> = None;
        for parent in parents {
            let (parent, tree) = (parent.clone(), tree.clone());
            let differ = self
                .host
                .git(move |repo| repo.store().changed_paths(&parent, &tree))
                .await?;
            changed = Some(match changed {
                None => differ.into_iter().collect(),
                Some(mut changed) => {
                    changed.retain(|path| differ.binary_search(path).is_ok());
                    changed
                }
            });
        }
        let mut paths: Vec<PathBuf> = changed.into_iter().flatten().collect();
        paths.retain(|path| policy.protects(&path.to_string_lossy()));
        Ok(paths)
    }

    /// Requires that no program has changed these files, which configure agents: only a tool may
    /// change them, and only under a rule of the user's.
    async fn require_unconfigured(&self, mut paths: Vec<PathBuf>) -> Result<(), CoordinatorError> {
        if paths.is_empty() {
            return Ok(());
        }
        let written = self.written_by_tools().await?;
        paths.retain(|path| !written.contains(path));
        if paths.is_empty() {
            Ok(())
        } else {
            Err(CoordinatorError::Configuration { paths })
        }
    }

    /// Returns the files that a task's agent has changed through the executor, which had checked
    /// its permission.
    async fn written_by_tools(&self) -> Result<BTreeSet<PathBuf>, CoordinatorError> {
        let (mut begun, mut written) = (BTreeMap::new(), BTreeSet::new());
        for fact in self.link.ask(ReadHistory {}).await? {
            match fact.event {
                Event::ToolStarted {
                    call_id,
                    writes,
                    deletes,
                    ..
                } => {
                    begun.insert(
                        call_id,
                        writes.into_iter().chain(deletes).collect::<Vec<_>>(),
                    );
                }
                // The end of an interrupted call was not observed, so the files may have been
                // written.
                Event::ToolFinished {
                    call_id,
                    outcome: ToolOutcome::Ok | ToolOutcome::Interrupted,
                    deleted,
                    ..
                } => {
                    let writes = begun.remove(&call_id).unwrap_or_default();
                    written.extend(writes.into_iter().chain(deleted).map(PathBuf::from));
                }
                _ => {}
            }
        }
        Ok(written)
    }

    /// Keeps changes that the user has staged in a worktree, since a snapshot of its files replaces
    /// the index; the trees known to be held are those of the tip, of the newest snapshot, and of
    /// what the worktree is behind.
    async fn keep_staged(
        &self,
        record: &TaskRecord,
        known: Vec<Oid>,
    ) -> Result<(), CoordinatorError> {
        let looked_at = Arc::clone(&self.worktree);
        let staged = self
            .host
            .git(move |repo| repo.worktrees().staged_alone(&looked_at, &known))
            .await?;
        let (Some(tree), Some(tip)) = (staged, record.tip().cloned()) else {
            return Ok(());
        };
        let spec = CommitSpec {
            tree,
            parents: vec![tip],
            message: "Staged by a person".to_owned(),
            trailers: record.trailers(&self.link.run),
            by: self.host.identities.clone(),
            time_unix: unix_seconds(),
        };
        keep_commit(
            &self.host,
            &self.link.run,
            spec,
            format!("{}/staged", record.task.id.branch_component()),
        )
        .await
        .map(drop)
    }

    /// Stores the worktree's content as a tree; runs no program. A file that a tool has written on
    /// purpose is taken also where only caches and outputs are.
    async fn snapshot_tree(
        &self,
        record: &TaskRecord,
        on_branch: bool,
    ) -> Result<Stored, CoordinatorError> {
        let unrecorded = if on_branch {
            permitted_loss(record)
        } else {
            Loss::Everything
        };
        let take = |rules: SnapshotRules| {
            let worktree = Arc::clone(&self.worktree);
            self.host
                .git(move |repo| repo.store().snapshot(&worktree, &rules))
        };
        let mut rules = SnapshotRules {
            unrecorded,
            ..SnapshotRules::default()
        };
        let mut taken = take(rules.clone()).await;
        // Only now do deletions through the executor matter: finding them takes all events of the
        // task.
        if taken
            .as_ref()
            .is_err_and(|error| error.return_cause() == Some(ReturnCause::Deletions))
        {
            rules.recorded_deletions = self.recorded_deletions().await?;
            taken = take(rules.clone()).await;
        }
        let mut taken = taken?;
        if !taken.scratch.is_empty() {
            rules.taken.deliberate = self.written_by_tools().await?;
            let is_part =
                |file: &PathBuf| taken.scratch.iter().any(|(left, _)| file.starts_with(left));
            if rules.taken.deliberate.iter().any(is_part) {
                taken = take(rules).await?;
            }
        }
        let nested = taken
            .nested_repositories
            .iter()
            .map(|folder| folder.join(".git"));
        let mut left_out: Vec<String> = nested
            .chain(taken.special_files)
            .map(|path| git_path::text(&path))
            .collect();
        if left_out.len() > LEFT_OUT_PATHS {
            let more = left_out.split_off(LEFT_OUT_PATHS).len();
            left_out.push(format!("and {more} more"));
        }
        let scratch = taken
            .scratch
            .iter()
            .map(|(path, what)| named(path, what))
            .collect();
        let aside = LeftAside::new(scratch, taken.withheld, Vec::new());
        Ok(Stored {
            tree: taken.tree,
            left_out,
            aside,
        })
    }

    /// Puts the boxes of the run's plan back as the branch's tip has them, and returns those that
    /// the agent had changed.
    async fn keep_boxes(&self, record: &TaskRecord) -> Result<Vec<String>, CoordinatorError> {
        let (Some(plan), Some(tip)) = (self.host.plan.clone(), record.tip().cloned()) else {
            return Ok(Vec::new());
        };
        let worktree = Arc::clone(&self.worktree);
        let names = self.host.plan_names.clone();
        let kept = self.host.git(move |repo| {
            let Some(before) = repo.store().read_stored(&tip, &plan)? else {
                return Ok(Vec::new());
            };
            let mut changed = Vec::new();
            let edit = |edited: &[u8]| {
                let before = std::str::from_utf8(&before).ok()?;
                let edited = std::str::from_utf8(edited).ok()?;
                let KeptBoxes {
                    text,
                    changed: boxes,
                } = keep_boxes(before, edited, &names)?;
                changed = boxes;
                Some(text.into_bytes())
            };
            repo.worktrees()
                .rewrite(&worktree, plan.as_path(), MAX_PLAN_BYTES as u64, edit)?;
            Ok(changed)
        });
        kept.await
    }

    /// Returns the files that a task's agent has deleted through the executor.
    async fn recorded_deletions(&self) -> Result<Vec<PathBuf>, CoordinatorError> {
        let (mut begun, mut recorded_deletions) = (BTreeMap::new(), Vec::new());
        for fact in self.link.ask(ReadHistory {}).await? {
            match fact.event {
                Event::ToolStarted {
                    call_id, deletes, ..
                } => {
                    begun.insert(call_id, deletes);
                }
                // Its end was not observed, so each of these files may have been deleted.
                Event::ToolFinished {
                    call_id,
                    outcome: ToolOutcome::Interrupted,
                    ..
                } => {
                    let deletes = begun
                        .remove(&call_id)
                        .unwrap_or_default()
                        .into_iter()
                        .map(PathBuf::from);
                    recorded_deletions.extend(deletes.filter(|path| path.file_name().is_some()));
                }
                Event::ToolFinished { deleted, .. } => {
                    recorded_deletions.extend(deleted.into_iter().map(Into::into))
                }
                _ => {}
            }
        }
        Ok(recorded_deletions)
    }
}

/// Creates a commit and a ref that holds it; the ref's name contains the commit's id, so a repeated
/// step never collides with its own ref.
pub(crate) async fn keep_commit(
    host: &Host,
    run: &RunId,
    spec: CommitSpec,
    name: String,
) -> Result<Oid, CoordinatorError> {
    let prefix = run.keep_prefix();
    host.git(move |repo| {
        let commit = repo.commit(&spec)?;
        let short: String = commit.as_str().chars().take(12).collect();
        repo.keep(&format!("{prefix}{name}-{short}"), &commit)?;
        Ok(commit)
    })
    .await
}

/// Returns which files may be gone without a record: the user is responsible for a command, and an
/// agent may confirm that most files are to go, but not that all are.
fn permitted_loss(record: &TaskRecord) -> Loss {
    if record.is_command() {
        Loss::Everything
    } else if record.deletions_told() {
        Loss::Most
    } else {
        Loss::Half
    }
}

/// Returns a scratch file as it is recorded; the name of a folder ends with a slash.
fn named(path: &std::path::Path, what: &str) -> ScratchFile {
    ScratchFile {
        path: git_path::text(path),
        what: what.to_owned(),
    }
}

/// Formats an author or a committer.
pub(super) fn author(identity: &Identity) -> String {
    format!("{} <{}>", identity.name, identity.email)
}
