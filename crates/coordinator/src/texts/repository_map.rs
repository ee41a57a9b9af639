//! The map of the repository in an agent's first message: what the files of its base commit declare, ranked by what its
//! task names.
//!
//! It shows only files that the agent itself may read. The text is recorded with the agent, so that a resumed or
//! replayed run sees the same bytes.

use orchestrate_core::git_path::text;
use orchestrate_core::invisible::shown;
use orchestrate_core::policy::{Access, Decision, Grant, Permission, Policy, Question, Target};
use orchestrate_core::{MapChoice, Oid, Task, TokenCounter};
use orchestrate_git::Repo;
use orchestrate_model::Tokenizer;
use orchestrate_plan::role::{Delivers, Role};
use orchestrate_tools::{MapRequest, SharedValues, StoredFile, makes_maps, repository_map};

use crate::error::CoordinatorError;
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
    /// No line of it is within its budget, no file is code that is understood, or it was stopped.
    #[error("nothing of the repository fits into it")]
    Nothing,
    /// The program has no grammars.
    #[error("this program was built without grammars; its feature `grammars`, which is on by default, brings them")]
    NotBuilt,
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
    /// What the agents of the run share.
    pub(crate) shared: SharedValues,
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
    pub(crate) fn of(role: &Role, of_run: u64, context_tokens: u64) -> Self {
        // A reviewer gets the changes themselves.
        let looks_for_code = role.delivers != Delivers::Verdict;
        Self { choice: role.map, of_run, context_tokens, looks_for_code }
    }

    /// Returns the budget in tokens in a repository with so many files of code.
    ///
    /// # Errors
    /// [`NoMap`] if it is zero.
    fn tokens(&self, files: usize) -> Result<u64, NoMap> {
        let is_worth_it = self.looks_for_code && files >= LEAST_FILES;
        match MapChoice::budget(self.choice, self.of_run, is_worth_it, self.context_tokens) {
            0 if MapChoice::budget(self.choice, self.of_run, true, self.context_tokens) == 0 => Err(NoMap::Off),
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
    /// Makes the map, with its heading, of at most as many tokens as its budget; or returns why there is none.
    ///
    /// # Errors
    /// If the commit cannot be read, or the tokenizer cannot be loaded.
    pub(crate) fn make(
        &self,
        repo: &Repo,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Result<String, NoMap>, CoordinatorError> {
        if let Err(none) = self.is_possible() {
            return Ok(Err(none));
        }
        let store = repo.store();
        let files: Vec<StoredFile> = store
            .regular_files(&self.base)?
            .into_iter()
            // Other paths cannot be named to a tool.
            .filter(|file| file.path.to_str().is_some_and(|path| self.may_read(path)))
            .map(|file| StoredFile { path: shown(&text(&file.path)), content: file.content, bytes: file.bytes })
            .collect();
        let tokens = match self.budget.tokens(files.iter().filter(|file| file.is_code()).count()) {
            Ok(tokens) => tokens,
            Err(none) => return Ok(Err(none)),
        };
        // Only now, since it takes tens of megabytes: most small runs never need it.
        let counter = Tokenizer::load()?;
        Ok(self.of_files(&files, (tokens, &counter, stop), &|file| store.read_content(&file.content))?)
    }

    fn of_files<E>(
        &self,
        files: &[StoredFile],
        (tokens, counter, stop): (u64, &dyn TokenCounter, &(dyn Fn() -> bool + Sync)),
        read: &dyn Fn(&StoredFile) -> Result<Vec<u8>, E>,
    ) -> Result<Result<String, NoMap>, E> {
        let fits = |map: &str| counter.count(&self.render(map)) as u64 <= tokens;
        let request = MapRequest { files: &self.files, text: &self.text, fits: &fits, shared: &self.shared, stop };
        let map = repository_map(files, &request, read)?;
        Ok(map.map(|map| self.render(&map)).ok_or(NoMap::Nothing))
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
        if self.grant.permits(READ_FILE, Permission::FileRead) { Ok(()) } else { Err(NoMap::MayNotRead) }
    }

    fn render(&self, map: &str) -> String {
        self.prompts.render_around("map", &[], &[("map", map.trim_end())])
    }

    fn may_read(&self, path: &str) -> bool {
        let targets = [Target::Path(path.to_owned())];
        let (permission, access) = (Permission::FileRead, Access::Own);
        let question = Question { tool: READ_FILE, permission, access, targets: &targets };
        matches!(self.policy.decide(&self.grant, &question), Decision::Allow { .. })
    }
}

#[cfg(test)]
#[cfg(feature = "grammars")]
mod tests;
