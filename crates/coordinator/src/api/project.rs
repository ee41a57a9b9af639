//! A repository, viewed without working on it: its runs, its roles, warnings for its user.
//!
//! Nothing here starts a process except git, takes a lease or records an event.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use orchestrate_checks::{Layout, require_own_state, setup_hosts};
use orchestrate_core::policy::Policy;
use orchestrate_core::{Oid, Redactor, RunId, RunSettings, RunState, Task, TaskId, TokenCounter};
use orchestrate_git::Repo;
use orchestrate_journal::Store;
use orchestrate_landing::moved::Moved;
use orchestrate_landing::{integration_branch, moved};
use orchestrate_model::Tokenizer;
use orchestrate_roles::role::Role;
use orchestrate_settings::Loaded;
use orchestrate_settings::consent::{Consents, ProjectCommand};
use orchestrate_tools::Extensions;
use serde::{Deserialize, Serialize};

use crate::error::CoordinatorError;
use crate::merge::base::complete;
use crate::run::machine::secrets::redactor_of;
use crate::texts::map_parts::MapParts;
use crate::texts::project_texts;
use crate::texts::prompts::{Prompts, project_text};
use crate::texts::repository_map::{self, MapBudget, MapError, MapOrder};
use crate::texts::roles::Roles;
use crate::texts::skills::Skills;
use crate::texts::tool_files::FoundTools;

/// The MCP server configuration that other programs read from a project.
const MCP_FILE: &str = ".mcp.json";

/// A repository, viewed without working on it.
pub struct Project {
    repo: Repo,
    layout: Layout,
    /// The user's state folder, with the consents.
    state_dir: PathBuf,
    /// Called before what a partial clone lacks is fetched; with `None` nothing is.
    tell_fetch: Option<fn(usize)>,
}

/// What a worktree occupies on its disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorktreeSize {
    /// The task that works in it; `None` for those in which the run checks merged trees and sets up
    /// the project.
    pub task: Option<TaskId>,
    /// The folder.
    pub path: PathBuf,
    /// Its size on the disk in bytes.
    pub bytes: u64,
}

impl Project {
    /// Finds the repository around a directory.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the repository cannot be used.
    pub fn open(directory: &Path, state_dir: &Path) -> Result<Self, CoordinatorError> {
        require_own_state(state_dir)?;
        let repo = Repo::open(directory, state_dir)?;
        let layout = Layout::new(state_dir, &repo.id());
        repo.worktrees().require_outside(&layout.journal())?;
        Ok(Self {
            repo,
            layout,
            state_dir: state_dir.to_owned(),
            tell_fetch: None,
        })
    }

    /// Fetches what a commit lacks that a run would start from, when it is first asked for, if this
    /// is a partial clone; `tell` is called before, with the number of files that are known to be
    /// missing.
    #[must_use]
    pub fn fetching(self, tell: fn(usize)) -> Self {
        Self {
            tell_fetch: Some(tell),
            ..self
        }
    }

    /// Returns what keeps the secrets of these variables and of the repository's configuration out
    /// of texts.
    pub fn redactor(&self, variables: &BTreeMap<String, String>) -> Redactor {
        redactor_of(variables, None, Some(&self.repo))
    }

    /// Requires that a run can start from the current checkout.
    ///
    /// # Errors
    ///
    /// Fails with the problem and its fix.
    pub fn require_ready(&self) -> Result<(), CoordinatorError> {
        // The commit that is checked out is examined, so it has to be there.
        self.base(None)?;
        Ok(self.repo.require_ready()?)
    }

    /// Requires that a run can be recorded, and can start from this revision; `None` means HEAD. A
    /// revision that does not exist is not checked.
    ///
    /// # Errors
    ///
    /// Fails with the problem and its fix.
    pub fn require_startable(&self, base: Option<&str>) -> Result<(), CoordinatorError> {
        self.repo.require_writable()?;
        self.base(base).map_or(Ok(()), |commit| {
            Ok(self.repo.require_plain_tree(&commit)?)
        })
    }

    /// Returns the worktrees of a run that exist, with the disk space that they occupy.
    pub fn worktree_sizes(&self, state: &RunState) -> Vec<WorktreeSize> {
        let of_tasks = state.tasks().map(|record| {
            let task = &record.task.id;
            (
                Some(task.clone()),
                self.layout.worktree(&state.run_id, task),
            )
        });
        let own = [
            self.layout.verifier(&state.run_id),
            self.layout.setup(&state.run_id),
        ];
        let all = of_tasks.chain(own.map(|path| (None, path)));
        let existing = all.filter(|(_, path)| path.is_dir());
        existing
            .map(|(task, path)| WorktreeSize {
                task,
                bytes: orchestrate_files::disk_usage(&path),
                path,
            })
            .collect()
    }

    /// Returns the user's working tree.
    pub fn workdir(&self) -> &Path {
        self.repo.workdir()
    }

    /// Returns the repository's store of runs, or `None` if there has been no run.
    ///
    /// # Errors
    ///
    /// Fails if the journal exists but cannot be read.
    pub fn store(&self) -> Result<Option<Store>, CoordinatorError> {
        Ok(Store::open_existing(&self.layout.journal())?)
    }

    /// Takes over the runs that this repository had before it was moved, says so, and returns
    /// whether there were any; for a repository without runs. Nothing is taken over unless the runs
    /// are certain to be this repository's.
    ///
    /// # Errors
    ///
    /// Fails if the runs or their worktrees cannot be moved.
    pub fn follow_move(&self, say: fn(&str)) -> Result<bool, CoordinatorError> {
        Ok(moved::follow(&self.repo, &self.state_dir, say)?)
    }

    /// Finds the runs that this repository may have had before it was moved; for a repository
    /// without runs.
    pub fn moved(&self, state_dir: &Path) -> Option<Moved> {
        moved::find(&self.repo, state_dir)
    }

    /// Returns the commit that a run from this revision starts from; `None` means HEAD.
    ///
    /// # Errors
    ///
    /// Fails if there is no such revision.
    pub fn base_commit(&self, base: Option<&str>) -> Result<Oid, CoordinatorError> {
        self.base(base)
    }

    /// Returns the lines with which `.worktreeinclude` names the user's files that each worktree
    /// gets.
    ///
    /// # Errors
    ///
    /// Fails if the file exists and cannot be read.
    pub fn include_patterns(&self) -> Result<Vec<String>, CoordinatorError> {
        Ok(self.repo.worktrees().include_patterns()?)
    }

    /// Returns the commands of the project's own files that need the user's consent, with what
    /// those with the network can do.
    ///
    /// # Errors
    ///
    /// Fails if `.worktreeinclude` cannot be read.
    pub fn commands(&self, loaded: &Loaded) -> Result<Vec<ProjectCommand>, CoordinatorError> {
        let mut commands = loaded.commands.clone();
        for command in &mut commands {
            let Some(network) = &mut command.network else {
                continue;
            };
            let patterns = self.include_patterns()?;
            if !patterns.is_empty() {
                network.sees.push(format!(
                    "your files that .worktreeinclude names: {}",
                    patterns.join(", ")
                ));
            }
            network.hosts = setup_hosts(&loaded.run.setup_hosts).named();
        }
        Ok(commands)
    }

    /// Lists the files of the checkout that git ignores, and the folders of which it ignores
    /// everything; names that are not UTF-8 are left out.
    ///
    /// # Errors
    ///
    /// Fails if git cannot list them.
    pub fn ignored(&self) -> Result<BTreeSet<String>, CoordinatorError> {
        let ignored = self.repo.worktrees().ignored()?;
        Ok(ignored
            .into_iter()
            .filter_map(|path| path.into_os_string().into_string().ok())
            .collect())
    }

    /// Reports whether the branch of a run's result exists; it is removed some time after it has
    /// landed.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read.
    pub fn has_result_branch(&self, run: &RunId) -> Result<bool, CoordinatorError> {
        Ok(self.repo.read_ref(&run.integration_ref())?.is_some())
    }

    /// Returns the commit that a run's integration branch was moved to from outside, if the run's
    /// result does not contain it.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read.
    pub fn strange_tip(&self, state: &RunState) -> Result<Option<Oid>, CoordinatorError> {
        Ok(integration_branch::strange_tip(&self.repo, state)?)
    }

    /// Returns the roles that a run from this revision knows; `None` means HEAD.
    ///
    /// # Errors
    ///
    /// Fails if there is no such revision, or if a role file cannot be used.
    pub fn roles(
        &self,
        base: Option<&str>,
        user_config_dir: Option<&Path>,
    ) -> Result<Roles, CoordinatorError> {
        let tools = self.tools(base, user_config_dir)?;
        Roles::load(
            &self.repo,
            &self.base(base)?,
            user_config_dir,
            tools.registry.names(),
        )
    }

    /// Returns the tools that a run from this revision would have; `None` means HEAD.
    ///
    /// # Errors
    ///
    /// Fails if there is no such revision, or if the consents cannot be read.
    pub fn tools(
        &self,
        base: Option<&str>,
        user_config_dir: Option<&Path>,
    ) -> Result<FoundTools, CoordinatorError> {
        let consents = Consents::load(&self.state_dir)?;
        FoundTools::load(
            &self.repo,
            &self.base(base)?,
            user_config_dir,
            &consents,
            &Extensions::default(),
        )
    }

    fn base(&self, base: Option<&str>) -> Result<Oid, CoordinatorError> {
        let commit = match base {
            Some(rev) => self.repo.resolve(rev)?,
            None => self.repo.head()?.commit,
        };
        if let Some(tell) = self.tell_fetch {
            let lacking = self.repo.lacking(&commit)?.len();
            if lacking > 0 {
                tell(lacking);
                complete(&self.repo, &commit)?;
            }
        }
        Ok(commit)
    }

    /// Reports whether a revision names a commit.
    pub fn has_revision(&self, rev: &str) -> bool {
        self.repo.resolve(rev).is_ok()
    }

    /// Reports whether a worktree of a run from this revision may contain a file at first; `None`
    /// means HEAD. Of a revision that there is not, nothing is known.
    pub fn may_have(&self, base: Option<&str>, path: &str) -> bool {
        let known = self
            .base(base)
            .and_then(|commit| worktree_may_have(&self.repo, &commit, path));
        known.unwrap_or(true)
    }

    /// Returns warnings that do not prevent a run from this revision; `None` means HEAD, and so
    /// does one that there is not.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read.
    pub fn warnings(&self, base: Option<&str>) -> Result<Vec<String>, CoordinatorError> {
        let base = base.filter(|base| self.has_revision(base));
        Ok(self
            .repo
            .warnings_for(&self.base(base)?)?
            .iter()
            .map(ToString::to_string)
            .collect())
    }

    /// Lists the files, of the project and of the user's folder, that a run of these tasks from
    /// this revision ignores although they are written for programs like this one; `None` means
    /// HEAD.
    ///
    /// # Errors
    ///
    /// Fails if there is no such revision, or if a description of a tool cannot be used.
    pub fn without_effect(
        &self,
        base: Option<&str>,
        user_config_dir: Option<&Path>,
        tasks: &[Task],
    ) -> Result<Vec<String>, CoordinatorError> {
        let base = self.base(base)?;
        let files: Vec<String> = tasks.iter().flat_map(|task| task.files.clone()).collect();
        let mut found = project_texts::without_effect(&self.repo, &base, &files)?;
        found.extend_from_slice(Skills::load(&self.repo, &base, user_config_dir)?.left_out());
        if is_there(&self.workdir().join(MCP_FILE)) || commit_may_have(&self.repo, &base, MCP_FILE)
        {
            found.push(format!(
                "{MCP_FILE}: MCP servers are not available yet, so this file has no effect"
            ));
        }
        Ok(found)
    }

    /// Reports whether these variables or git's configuration name an author for commits.
    pub fn has_identity(&self, variables: &BTreeMap<String, String>) -> bool {
        self.repo.identities(variables).is_some()
    }

    /// Returns the version and path of the git program.
    pub fn git(&self) -> String {
        format!(
            "{} at {}",
            self.repo.git_version(),
            self.repo.git_path().display()
        )
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whom a map is for.
#[derive(Clone, Copy, Debug)]
pub struct MapFor<'a> {
    /// The task.
    pub task: &'a Task,
    /// The role of its agent.
    pub role: &'a Role,
}

/// The map of the repository that the agent of a task would get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskMap {
    /// Its tokens.
    pub tokens: usize,
    /// Its text, with the heading.
    pub map: String,
}

impl Project {
    /// Returns the map that the agent of a task would get in a run from this revision with these
    /// settings, or why there is none; `None` means HEAD. Its model may have a smaller context than
    /// the settings say, which is not known yet.
    ///
    /// # Errors
    ///
    /// Fails if there is no such revision, if it cannot be read, or if a rule cannot be parsed.
    pub fn map(
        &self,
        base: Option<&str>,
        user_config_dir: Option<&Path>,
        run: &RunSettings,
        of: MapFor<'_>,
    ) -> Result<TaskMap, MapError> {
        let MapFor { task, role } = of;
        let names = self.tools(base, user_config_dir)?.registry.names().clone();
        let policy =
            Policy::new(&role.rules_within(&run.rules), &names).map_err(CoordinatorError::Rules)?;
        let base = self.base(base)?;
        let context_tokens = run
            .token_limit_of(task, None)
            .min(role.context_tokens.unwrap_or(u64::MAX));
        let order = MapOrder {
            files: task.files.clone(),
            text: repository_map::words(task),
            budget: MapBudget::new(role, run.map_tokens, context_tokens),
            policy: policy.limited(&run.tool_settings, self.workdir()),
            grant: role.grant(&names),
            prompts: Prompts::of_project(|path| project_text(&self.repo, &base, Path::new(path)))?,
            base,
        };
        let parts = MapParts::at(&self.layout.map_parts());
        let map = order.make(&self.repo, &parts, &|| false)?;
        let counter = Tokenizer::load().map_err(CoordinatorError::from)?;
        Ok(TaskMap {
            tokens: counter.count(&map),
            map,
        })
    }
}

/// Reports whether a worktree may contain a file at first: the commit may, or the file is copied
/// from the checkout.
pub(crate) fn worktree_may_have(
    repo: &Repo,
    commit: &Oid,
    path: &str,
) -> Result<bool, CoordinatorError> {
    let path = path.trim_start_matches("./");
    Ok(commit_may_have(repo, commit, path) || repo.worktrees().includes(Path::new(path))?)
}

/// Reports whether a commit may contain a file; always true if a link on the path or at its end may
/// lead elsewhere.
fn commit_may_have(repo: &Repo, commit: &Oid, path: &str) -> bool {
    let path = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect::<PathBuf>();
    let mut parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.any(|part| !matches!(repo.store().read_file(commit, part), Ok(None)))
}
