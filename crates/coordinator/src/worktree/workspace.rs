//! The files at a worker: one agent's worktree and branch, and all git operations on them, on the
//! agent's behalf.
//!
//! They are on the worker's machine, with a repository of its own. What the run knows and records
//! passes through the worker's link.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use orchestrate_core::event::Event;
use orchestrate_core::run::RunBranches;
use orchestrate_core::{Oid, TaskRecord, WithheldFile};
use orchestrate_git::own_refs::OwnRefs;
use orchestrate_git::{AgentsGit, OurSide, Worktree};
use orchestrate_sandbox::{Content, Mask, Mount, Mounted, Seen, View};
use orchestrate_tools::{ServiceError, ViewSource, WorktreeScope};

use crate::error::CoordinatorError;
use crate::link::requests::ReadBranches;
use crate::link::worker_link::WorkerLink;
use crate::run::machine::host::Host;
use crate::worktree::worktrees;

/// One agent's worktree and branch.
#[derive(Clone)]
pub(crate) struct Workspace {
    pub(super) host: Arc<Host>,
    pub(super) link: WorkerLink,
    pub(super) worktree: Arc<Worktree>,
}

impl Workspace {
    /// Opens the worktree of a started task, recreating a directory that was deleted by hand.
    pub(crate) async fn open(
        host: &Arc<Host>,
        link: &WorkerLink,
    ) -> Result<Self, CoordinatorError> {
        let record = link.task().await?;
        if worktrees::is_lost(host, &link.run, &record).await? {
            // Its setup and merges have to be repeated.
            link.record(vec![Event::WorktreeRemoved {
                task: link.agent.clone(),
            }])
            .await?;
        }
        let worktree = worktrees::open(host, &link.run, &record).await?;
        let opened = Arc::clone(&worktree);
        host.git(move |repo| repo.worktrees().require_finished(&opened))
            .await?;
        Ok(Self {
            host: Arc::clone(host),
            link: link.clone(),
            worktree,
        })
    }

    /// Returns the folder of the worktree.
    pub(crate) fn path(&self) -> &Path {
        self.worktree.path()
    }

    /// Returns the scope of the tools, without the content of files that look like secrets.
    pub(crate) fn scope(
        &self,
        withheld: &[WithheldFile],
    ) -> Result<WorktreeScope, CoordinatorError> {
        let root = self.worktree.root().try_clone_to_owned();
        let root = root.map_err(CoordinatorError::at(self.path()))?;
        let since_1970 = self
            .index_written()?
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let checked_out = i128::try_from(since_1970.as_nanos()).unwrap_or(i128::MAX);
        let path = self
            .host
            .site
            .repo
            .worktrees()
            .path_seen(self.path().to_owned());
        Ok(WorktreeScope {
            path,
            root: Arc::new(root),
            view: self.view(withheld),
            checked_out,
        })
    }

    /// Returns what makes the view of the worktree's processes. Where the sandbox can, it shows
    /// empty files in the place of those that look like secrets.
    fn view(&self, withheld: &[WithheldFile]) -> ViewSource {
        let worktree = Arc::clone(&self.worktree);
        let hidden: Vec<PathBuf> = withheld
            .iter()
            .map(|file| file.path.clone().into())
            .collect();
        ViewSource::new(move || {
            let Seen { path, mut view } = worktree.seen();
            let is_mounted = path != worktree.path();
            for file in &hidden {
                if is_file_in(worktree.path(), file) {
                    hide(&mut view, is_mounted, path.join(file));
                }
            }
            view
        })
    }

    /// Returns when git's index of the worktree was last written.
    pub(crate) fn index_written(&self) -> Result<SystemTime, CoordinatorError> {
        Ok(self.host.site.repo.store().index_written(&self.worktree)?)
    }

    /// Compares the agent's own git with the run's refs: what commands have done there is known
    /// then, and they find what tools have done. None of its commands runs meanwhile.
    pub(crate) async fn sync_git(&self) -> Result<AgentsGit, CoordinatorError> {
        let (_, tip) = self.record().await?;
        let selection = self
            .beside(
                tip.clone(),
                vec![tip.clone()],
                "Selected for the next commit".to_owned(),
            )
            .await?;
        let (worktree, own) = (Arc::clone(&self.worktree), self.own_refs());
        let side = OurSide {
            own,
            tip,
            selection: Some(selection),
        };
        let git = self
            .host
            .git(move |repo| repo.worktrees().sync_git(&worktree, &side))
            .await?;
        for note in &git.notes {
            tracing::info!(task = %self.link.agent, note, "of an agent's own git");
        }
        Ok(git)
    }

    /// Carries out what one of the agent's tools does with git, and lets commands find it.
    pub(crate) async fn shown_to_git<T>(
        &self,
        done: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        let done = done.await;
        self.sync_git().await?;
        done
    }

    /// Returns the names of the agent's own refs.
    pub(super) fn own_refs(&self) -> OwnRefs {
        OwnRefs::for_task(&self.link.run, &self.link.agent)
    }

    /// Returns the branches of the run.
    pub(super) async fn branches(&self) -> Result<RunBranches, CoordinatorError> {
        self.link.ask(ReadBranches {}).await
    }

    /// Returns the task's record and its branch's tip.
    pub(super) async fn record(&self) -> Result<(TaskRecord, Oid), CoordinatorError> {
        let missing = || CoordinatorError::UnknownTask {
            run: self.link.run.clone(),
            task: self.link.agent.clone(),
        };
        let record = self.link.task().await?;
        let tip = record.tip().cloned().ok_or_else(missing)?;
        Ok((record, tip))
    }
}

/// Reports whether there is a file at a path below a folder, to which no link leads: over another
/// one nothing can be shown, and it is not the file that was withheld.
fn is_file_in(folder: &Path, file: &Path) -> bool {
    let mut place = folder.to_owned();
    let mut parts = file.components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let is_last = parts.peek().is_none();
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() && !is_last => {}
            found => return is_last && found.is_ok_and(|found| found.is_file()),
        }
    }
    false
}

/// Shows an empty file in the place of one.
fn hide(view: &mut View, is_mounted: bool, path: PathBuf) {
    match view {
        View::Host(host) if is_mounted => host
            .mounts
            .push(Mount::new(path, Mounted::File(Vec::new()))),
        View::Host(host) => host.masks.push(Mask {
            path,
            content: Content::File(Vec::new()),
        }),
    }
}
