//! Where the setups and the checks of one run take place: the repository, the folders and the
//! sandbox on this machine, and what is known of the run's base.
//!
//! Git is blocking, so every operation runs inside `spawn_blocking`.

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::Redactor;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_git::{GitError, NoGc, Outputs, Repo, Worktree};
use orchestrate_sandbox::Sandbox;
use orchestrate_web::WebClient;
use tokio::sync::Mutex;

use crate::checks_error::{ChecksError, blocking};
use crate::layout::Layout;
use crate::running_checks::RunningChecks;
use crate::setups::base_setup::OnBase;

/// Where the setups and the checks of one run take place.
pub struct Site {
    /// The repository that worktrees are created in.
    pub repo: Repo,
    /// Prevents `git gc` in it.
    pub no_gc: Arc<NoGc>,
    /// Where the worktrees are.
    pub layout: Layout,
    /// How commands are confined.
    pub sandbox: Arc<Sandbox>,
    /// What runs in it now that is not an agent's.
    pub running: RunningChecks,
    /// The way of a setup to other hosts.
    pub web: WebClient,
    /// Redacts the run's secrets from everything that is sent and recorded here.
    pub redactor: Redactor,
    /// What is known of the run's base.
    pub base: KnownBase,
}

/// What is known of a run's base.
#[derive(Default)]
pub struct KnownBase {
    /// How the project's setup ended there; held while it runs, which one worker at a time may do.
    pub(crate) set_up: Mutex<Option<OnBase>>,
    /// Its outputs, once they were looked for.
    pub(crate) warm: Mutex<Option<Known>>,
}

impl Site {
    /// Returns the sandbox of commands in a worktree, whose tools keep their caches for that
    /// worktree.
    pub fn sandbox_in(&self, worktree: &Path) -> Sandbox {
        let caches = Layout::caches_of(worktree);
        self.sandbox.as_ref().clone().with_caches(caches)
    }

    /// Runs one git operation on a blocking thread.
    ///
    /// # Errors
    /// The operation's, and [`ChecksError::Panicked`].
    pub async fn git<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Repo) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, ChecksError> {
        let (repo, no_gc) = (self.repo.clone(), Arc::clone(&self.no_gc));
        let operation = move || {
            no_gc.hold();
            operation(&repo).map_err(|error| match error.is_read_only() && repo.is_read_only() {
                true => ChecksError::ReadOnlyRepository {
                    source: Box::new(error),
                },
                false => error.into(),
            })
        };
        blocking("a git operation", operation).await
    }
}

/// The outputs of a base, and the worktree that they are brought from.
pub struct Warm {
    pub(crate) worktree: Arc<Worktree>,
    pub(crate) outputs: Outputs,
}

/// What is known about the outputs of a run's base.
pub(crate) enum Known {
    /// There are none.
    Nothing,
    /// These.
    Outputs(Arc<Warm>),
}

impl Warm {
    /// Returns a sentence on what new worktrees start with; `None` if that is nothing.
    pub fn told(&self) -> Option<String> {
        let named = |path: &Path| shown_path(path);
        let brought: Vec<String> = self
            .outputs
            .paths()
            .iter()
            .map(|path| named(path))
            .collect();
        let left_out = self.outputs.left_out.iter();
        let left_out: Vec<String> = left_out
            .map(|left| format!("without {}: {}", named(&left.path), left.reason))
            .collect();
        match (brought.is_empty(), left_out.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("new worktrees start with {}", brought.join(", "))),
            (true, false) => Some(format!("new worktrees start {}", left_out.join("; "))),
            (false, false) => Some(format!(
                "new worktrees start with {}; {}",
                brought.join(", "),
                left_out.join("; ")
            )),
        }
    }

    /// Reports whether something is left out.
    pub fn lacks_something(&self) -> bool {
        !self.outputs.left_out.is_empty()
    }
}
