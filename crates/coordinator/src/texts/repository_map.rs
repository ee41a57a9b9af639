//! The map of the repository in an agent's first message: what the files of its base commit
//! declare, ranked by what its task names.
//!
//! It shows only files that the agent itself may read. The text is recorded, so that a resumed or
//! replayed run sees the same bytes.
//!
//! It is made while the base is checked and the agent's worktree is made. No request waits for it
//! longer than `map_wait_ms` after that: an agent whose map is not ready by then begins without
//! one, and the index is made all the same, for those that come later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orchestrate_checks::{ChecksError, blocking};
use orchestrate_core::policy::{Access, Decision, Grant, Permission, Policy, Question, Target};
use orchestrate_core::task::Delivers;
use orchestrate_core::text::git_path::text;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{MapChoice, Oid, Task};
use orchestrate_git::{GitError, Repo};
use orchestrate_model::estimated_tokens_of_code;
use orchestrate_roles::role::Role;
use orchestrate_tools::{MapIndex, MapTask, Stop, StoredFile, makes_maps, map_index};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::CoordinatorError;
use crate::texts::map_parts::MapParts;
use crate::texts::prompts::Prompts;

/// The tool whose rules say which files an agent may read.
const READ_FILE: &str = "read_file";
/// With fewer files of code than this, one listing shows as much as a map.
const LEAST_FILES: usize = 20;

/// Why an agent gets no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMap {
    /// Neither its role nor the run wants one.
    #[error("neither the role nor the settings want one")]
    Off,
    /// Its role does not look for code.
    #[error("the role gets the changes that it reviews")]
    Reviews,
    /// It may not read files.
    #[error("the role may not read files")]
    MayNotRead,
    /// One listing of the repository shows as much.
    #[error("with {files} files of code, fewer than {LEAST_FILES}, a listing shows as much")]
    FewFiles {
        /// The number of its files of code.
        files: usize,
    },
    /// Its task names nothing of the repository, so nothing says what to show.
    #[error("the task names no file, folder or name of the repository")]
    NamesNothing,
    /// It was not ready in time.
    #[error("it was not ready within `map_wait_ms`, so that the agent did not have to wait")]
    NotReady,
    /// No line of it is within its budget, no file is code that is understood, or it was stopped.
    #[error("nothing of the repository fits into it")]
    Nothing,
    /// The program has no grammars.
    #[error(
        "this program was built without grammars; its feature `grammars`, which is on by default, \
         brings them"
    )]
    NotBuilt,
}

/// Why a map was not made.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// There is none to make.
    #[error(transparent)]
    None(#[from] NoMap),
    /// The repository, the rules or the tools cannot be read.
    #[error(transparent)]
    Failed(#[from] CoordinatorError),
}

impl From<ChecksError> for MapError {
    fn from(error: ChecksError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<GitError> for MapError {
    fn from(error: GitError) -> Self {
        Self::Failed(error.into())
    }
}

/// The map that an agent is to get.
pub(crate) struct MapOrder {
    /// The commit.
    pub(crate) base: Oid,
    /// The files that its task declares.
    pub(crate) files: Vec<String>,
    /// The words of its task.
    pub(crate) text: String,
    pub(crate) budget: MapBudget,
    /// What it may read.
    pub(crate) policy: Policy,
    pub(crate) grant: Grant,
    pub(crate) prompts: Prompts,
}

/// Makes the maps of a run, and keeps the last index: its agents mostly begin with the same files.
pub(crate) struct Maps {
    repo: Repo,
    parts: MapParts,
    last: Arc<Mutex<LastIndex>>,
    /// Whether nobody waits for what is still being made.
    is_over: Arc<AtomicBool>,
}

/// The index that was made last.
type LastIndex = Option<Arc<Indexed>>;

/// The index of some files.
struct Indexed {
    files: Vec<StoredFile>,
    /// `None` if there is nothing to show.
    index: Option<MapIndex>,
}

/// An index, and how many tokens the map of it may have.
struct Ready {
    indexed: Arc<Indexed>,
    tokens: u64,
}

impl Maps {
    pub(crate) fn new(repo: Repo, parts: MapParts) -> Maps {
        Maps {
            repo,
            parts,
            last: Arc::default(),
            is_over: Arc::default(),
        }
    }

    /// Begins to make the index that the map of an order needs, and returns at once.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody waits for it: the map does, and no longer than it may"
    )]
    pub(crate) fn prepare(&self, order: MapOrder) {
        if order.is_possible().is_ok() {
            drop(tokio::task::spawn(self.begin(order, |_, _, _| ())));
        }
    }

    /// Makes a map, or returns why there is none. What is not ready in time is made nevertheless,
    /// for others.
    ///
    /// # Errors
    /// If the commit cannot be read.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is late is made all the same, for the next agent"
    )]
    pub(crate) async fn make(&self, order: MapOrder, wait: Duration) -> Result<String, MapError> {
        order.is_possible()?;
        let making = tokio::task::spawn(self.begin(order, MapOrder::of_index));
        if wait.is_zero() {
            return Err(MapError::None(NoMap::NotReady));
        }
        match tokio::time::timeout(wait, making).await {
            Ok(Ok(made)) => Ok(made??),
            Ok(Err(_)) => Err(MapError::Failed(CoordinatorError::Panicked {
                what: "a map of the repository",
            })),
            Err(_) => Err(MapError::None(NoMap::NotReady)),
        }
    }

    /// Returns what makes the index of an order, and of that what is asked for; it holds nothing of
    /// the run, which need not wait for it. While one index is made, nobody else makes one; maps
    /// are made of it side by side.
    fn begin<T: Send + 'static>(
        &self,
        order: MapOrder,
        make: fn(&MapOrder, &Ready, Stop<'_>) -> T,
    ) -> impl Future<Output = Result<T, MapError>> + Send + 'static {
        let (repo, parts) = (self.repo.clone(), self.parts.clone());
        let (last, is_over) = (Arc::clone(&self.last), Arc::clone(&self.is_over));
        async move {
            let mut last: OwnedMutexGuard<LastIndex> = last.lock_owned().await;
            blocking("a map of the repository", move || {
                let stop = || is_over.load(Ordering::Relaxed);
                let ready = order.index(&repo, &parts, &mut last, &stop)?;
                drop(last);
                Ok(make(&order, &ready, &stop))
            })
            .await
        }
    }
}

impl Drop for Maps {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// What decides how large a map may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapBudget {
    /// What its role says.
    choice: Option<MapChoice>,
    /// What the run says, in tokens.
    of_run: u64,
    context_tokens: u64,
    /// Whether its agents look for code.
    looks_for_code: bool,
}

impl MapBudget {
    /// Creates the budget of an agent's map.
    pub(crate) fn new(role: &Role, of_run: u64, context_tokens: u64) -> Self {
        // A reviewer gets the changes themselves.
        let looks_for_code = role.delivers != Delivers::Verdict;
        Self {
            choice: role.map,
            of_run,
            context_tokens,
            looks_for_code,
        }
    }

    /// Returns the budget in tokens in a repository with so many files of code.
    ///
    /// # Errors
    /// [`NoMap`] if it is zero.
    fn tokens(&self, files: usize) -> Result<u64, NoMap> {
        let is_worth_it = self.looks_for_code && files >= LEAST_FILES;
        match MapChoice::budget(self.choice, self.of_run, is_worth_it, self.context_tokens) {
            0 if MapChoice::budget(self.choice, self.of_run, true, self.context_tokens) == 0 => {
                Err(NoMap::Off)
            }
            0 if !self.looks_for_code => Err(NoMap::Reviews),
            0 => Err(NoMap::FewFiles { files }),
            tokens => Ok(tokens),
        }
    }
}

/// Returns the words of a task.
pub(crate) fn words(task: &Task) -> String {
    format!("{}\n{}", task.title, task.details.join("\n"))
}

impl MapOrder {
    /// Makes the map, with its heading, of at most as many tokens as its budget; or returns why
    /// there is none.
    ///
    /// # Errors
    /// If the commit cannot be read.
    pub(crate) fn make(
        &self,
        repo: &Repo,
        parts: &MapParts,
        stop: Stop<'_>,
    ) -> Result<String, MapError> {
        let ready = self.index(repo, parts, &mut None, stop)?;
        Ok(self.of_index(&ready, stop)?)
    }

    /// Makes the index that its map needs; it is the last one, if that is of the same files.
    fn index(
        &self,
        repo: &Repo,
        parts: &MapParts,
        last: &mut LastIndex,
        stop: Stop<'_>,
    ) -> Result<Ready, MapError> {
        self.is_possible()?;
        let store = repo.store();
        let mut files = Vec::new();
        for file in store.regular_files(&self.base)? {
            // Other paths cannot be named to a tool.
            if file.path.to_str().is_some_and(|path| self.may_read(path)) {
                let path = shown(&text(&file.path));
                files.push(StoredFile {
                    path,
                    content: file.content,
                    bytes: file.bytes,
                });
            }
        }
        let of_code = files.iter().filter(|file| file.is_code()).count();
        let tokens = self.budget.tokens(of_code)?;
        let indexed = match last.take().filter(|last| last.files == files) {
            Some(known) => known,
            None => {
                let read = |file: &StoredFile| store.read_content(&file.content);
                let index = map_index(&files, &self.task(), parts, stop, &read)?;
                Arc::new(Indexed { files, index })
            }
        };
        // What was stopped is not whole.
        *last = Some(Arc::clone(&indexed)).filter(|_| !stop());
        Ok(Ready { indexed, tokens })
    }

    fn of_index(&self, Ready { indexed, tokens }: &Ready, stop: Stop<'_>) -> Result<String, NoMap> {
        let index = indexed.index.as_ref().ok_or(NoMap::Nothing)?;
        let map = index
            .map(&self.task(), stop)
            .map_err(|_| NoMap::Nothing)?
            .ok_or(NoMap::NamesNothing)?;
        let fits = |map: &str| estimated_tokens_of_code(&self.render(map)) as u64 <= *tokens;
        let shown = map.fit(&fits).ok_or(NoMap::Nothing)?;
        Ok(self.render(&shown))
    }

    fn task(&self) -> MapTask<'_> {
        MapTask {
            files: &self.files,
            text: &self.text,
        }
    }

    /// Reports whether there is a map in any repository.
    ///
    /// # Errors
    /// [`NoMap`] if there is none.
    pub(crate) fn is_possible(&self) -> Result<(), NoMap> {
        if !makes_maps() {
            return Err(NoMap::NotBuilt);
        }
        self.budget.tokens(usize::MAX)?;
        if self.grant.permits(READ_FILE, Permission::FileRead) {
            Ok(())
        } else {
            Err(NoMap::MayNotRead)
        }
    }

    fn render(&self, map: &str) -> String {
        self.prompts
            .render_around("map", &[], &[("map", map.trim_end())])
    }

    fn may_read(&self, path: &str) -> bool {
        let targets = [Target::Path(path.to_owned())];
        let (permission, access) = (Permission::FileRead, Access::Own);
        let question = Question {
            tool: READ_FILE,
            permission,
            access,
            targets: &targets,
        };
        matches!(
            self.policy.decide(&self.grant, &question),
            Decision::Allow { .. }
        )
    }
}

#[cfg(test)]
#[cfg(feature = "grammars")]
mod tests;
