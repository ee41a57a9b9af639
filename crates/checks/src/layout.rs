//! The layout on disk: below the user's state folder, never inside the repository.
//!
//! Every path follows from ids, so recovery finds what exists. A worktree inside the repository
//! would make build tools climb into the parent project, and would expose the project to the
//! sandbox.

use std::path::{Path, PathBuf};

use orchestrate_core::{RunId, TaskId};

/// The name of the folder of a run in which the tools of its worktrees keep their caches.
const CACHES: &str = ".caches";

/// The folders of one repository.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Creates the layout of the repository with this id below the state folder.
    pub fn new(state_dir: &Path, repository_id: &str) -> Self {
        Self {
            root: Self::all(state_dir).join(repository_id),
        }
    }

    /// Returns the folder of the journal and its blobs.
    pub fn journal(&self) -> PathBuf {
        self.root.clone()
    }

    /// Returns the file that records the repository's location at its last run.
    pub fn origin(&self) -> PathBuf {
        self.root.join("repository")
    }

    /// Returns the folder with the state of all repositories.
    pub fn all(state_dir: &Path) -> PathBuf {
        state_dir.join("repos")
    }

    /// Returns the folder of a run's worktrees: where the link in its place leads, if there is one
    /// (`worktree_folder.rs`).
    pub fn run(&self, run: &RunId) -> PathBuf {
        let place = self.run_in_state(run);
        std::fs::read_link(&place).unwrap_or(place)
    }

    /// Returns the place of that folder, or of the link to it, below the state folder.
    pub fn run_in_state(&self, run: &RunId) -> PathBuf {
        self.root.join("runs").join(run.as_str())
    }

    /// Removes the folder of a run's worktrees if it is empty, and a link to it.
    pub fn remove_empty_run(&self, run: &RunId) {
        let (folder, place) = (self.run(run), self.run_in_state(run));
        let is_gone = std::fs::remove_dir(&folder).is_ok() || !folder.exists();
        if is_gone && folder != place {
            drop(std::fs::remove_file(&place));
            // The folder of the repository's other runs.
            drop(folder.parent().map(std::fs::remove_dir));
        }
    }

    /// Returns a task's worktree.
    pub fn worktree(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.run(run).join(task.branch_component())
    }

    /// Returns the worktree in which merged trees are checked; no task's folder has such a name,
    /// and servers of files do not hide it.
    pub fn verifier(&self, run: &RunId) -> PathBuf {
        self.run(run).join("+verifier")
    }

    /// Returns the worktree in which the project's setup runs once, for all others.
    pub fn setup(&self, run: &RunId) -> PathBuf {
        self.run(run).join("+setup")
    }

    /// Returns the worktrees that earlier versions have made for checks and setups.
    pub fn earlier_own(&self, run: &RunId) -> [PathBuf; 2] {
        [".verifier", ".setup"].map(|name| self.run(run).join(name))
    }

    /// Returns the folder of the packages that the setup and the agents' installations download.
    pub fn packages(&self, run: &RunId) -> PathBuf {
        self.run(run).join(".packages")
    }

    /// Returns the record of the times that the files of a run's base have in all of its worktrees.
    pub fn source_times(&self, run: &RunId) -> PathBuf {
        self.root.join("source-times").join(run.as_str())
    }

    /// Returns the file of what the repository's files declare, from which maps are made.
    pub fn map_parts(&self) -> PathBuf {
        self.root.join("map-parts")
    }

    /// Returns the file that names the newest run whose base has outputs.
    pub fn newest_outputs(&self) -> PathBuf {
        self.root.join("outputs")
    }

    /// Returns the file that names the run whose base's outputs another run has adopted.
    pub fn adopted_outputs(&self, run: &RunId) -> PathBuf {
        self.root.join("adopted-outputs").join(run.as_str())
    }

    /// Returns the file in which a run's process notes which commands it runs.
    pub fn running(&self, run: &RunId) -> PathBuf {
        self.root.join("running").join(run.as_str())
    }

    /// Returns the folder of the caches that tools keep for each worktree of a run.
    pub fn caches(&self, run: &RunId) -> PathBuf {
        self.run(run).join(CACHES)
    }

    /// Returns the folder of the caches that tools keep for a worktree of a run.
    pub fn caches_of(worktree: &Path) -> PathBuf {
        let run = worktree.parent().unwrap_or(worktree);
        run.join(CACHES)
            .join(worktree.file_name().unwrap_or_default())
    }

    /// Returns the folder of the caches that new worktrees of all runs begin with.
    pub fn cache_seeds(&self) -> PathBuf {
        self.root.join("caches")
    }

    /// Returns the file of a run's markers.
    pub fn markers(&self, run: &RunId) -> PathBuf {
        self.logs(run).join("markers.log")
    }

    /// Returns the audit log of a run's tool calls, unless the user names another file.
    pub fn audit_log(&self, run: &RunId) -> PathBuf {
        self.logs(run).join("audit.jsonl")
    }

    /// Returns the file with the description of the pull request for a run's result.
    pub fn request_body(&self, run: &RunId) -> PathBuf {
        self.logs(run).join("pull-request.md")
    }

    /// Returns the folders and files of everything that belongs to a run alone.
    pub fn all_of(&self, run: &RunId) -> [PathBuf; 6] {
        let shown = self.root.join("shown").join(run.as_str());
        let (times, outputs) = (self.source_times(run), self.adopted_outputs(run));
        [
            self.run(run),
            self.logs(run),
            shown,
            times,
            outputs,
            self.running(run),
        ]
    }

    fn logs(&self, run: &RunId) -> PathBuf {
        self.root.join("logs").join(run.as_str())
    }

    /// Returns the file that records which tree of a task's work was shown.
    pub fn shown(&self, run: &RunId, task: &TaskId) -> PathBuf {
        self.root
            .join("shown")
            .join(run.as_str())
            .join(task.branch_component())
    }

    /// Returns the file that lists the trees that passed a check.
    pub fn green_trees(&self) -> PathBuf {
        self.root.join("green-trees")
    }

    /// Returns the folder that removed worktrees are moved to before they are deleted.
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }
}
