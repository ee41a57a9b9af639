//! The settings with which a program opens a repository. A run freezes a part of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_checks::{ConfinementChoice, anchor};
use orchestrate_core::RunSettings;
use orchestrate_git::Waiting;
use orchestrate_landing::LandingSettings;
use orchestrate_model::Model;
use orchestrate_settings::Additions;
use orchestrate_tools::{Hook, Plugin, Tool};

use crate::error::CoordinatorError;
use crate::run::program::approver::Approver;
use crate::run::program::callbacks::{AfterRun, OnToolComplete, OnToolStart};
use crate::texts::roles::ProgramRole;

/// The environment of this process's runs; only [`Settings::run`] is recorded.
pub struct Settings {
    /// The settings frozen in every run.
    pub run: RunSettings,
    /// The folder of journals and worktrees: `$XDG_STATE_HOME/orchestrate`. A relative path counts
    /// from the current folder of the process that opens the repository, as every other path here.
    pub state_dir: PathBuf,
    /// A program that calls [`crate::run_helper_if_asked`] first in `main`; `None` means this
    /// program.
    pub helper: Option<PathBuf>,
    /// Keys and endpoints, and git's variables for the author of commits.
    pub environment: BTreeMap<String, String>,
    /// The base URL that the user typed.
    pub base_url: Option<String>,
    /// One model for everything, for tests and for library users with a model of their own.
    pub model: Option<Arc<dyn Model>>,
    /// How long a scripted model takes for each reply; zero except in demonstrations.
    pub script_pace: Duration,
    /// How commands are confined.
    pub confinement: ConfinementChoice,
    /// What demands exactly that, for messages.
    pub demanded_by: Option<String>,
    /// What the user adds to what commands see.
    pub additions: Additions,
    /// The revision that runs start from; `None` means HEAD.
    pub base: Option<String>,
    /// The user's configuration folder, for roles.
    pub user_config_dir: Option<PathBuf>,
    /// The file that the audit log of every run is appended to; `None` means one for each run, in
    /// the state folder.
    pub audit_log: Option<PathBuf>,
    /// The folder for the worktrees of new runs, instead of one below the state folder.
    pub worktree_folder: Option<PathBuf>,
    /// Roles of the program's own, which take precedence over all others of their names.
    pub roles: Vec<ProgramRole>,
    /// Tools of the program's own.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Plugins, which bring more of them.
    pub plugins: Vec<Plugin>,
    /// Hooks of the program's own, which are asked after those of [`RunSettings::hooks`].
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Called when a call of a tool has been recorded as started, from a thread that calls both
    /// functions in the journal's order.
    pub on_tool_start: Option<OnToolStart>,
    /// Called when a call of a tool has been recorded as ended, from the same thread.
    pub on_tool_complete: Option<OnToolComplete>,
    /// Called with what the user has to know although a run goes on.
    pub warn: fn(&str),
    /// Decides about calls that a rule asks about, in the runs that this process works on. A run
    /// that is started with one parks such calls, whatever [`RunSettings::ask_parks`] is, so those
    /// that it cannot decide wait for a person.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether a run of this process does not end while something waits for a person, until it is
    /// closed ([`crate::Run::closing`]).
    pub stays_for_people: bool,
    /// Called when another process has held the repository's lock for a while.
    pub waiting: fn(&Waiting),
}

impl From<&Settings> for LandingSettings {
    fn from(settings: &Settings) -> Self {
        Self {
            sandbox: settings.of_sandbox(),
            state_dir: settings.state_dir.clone(),
            environment: settings.environment.clone(),
            audit_log: settings.audit_log.clone(),
            waiting: settings.waiting,
            observer: Some(Arc::new(AfterRun {
                hooks: settings.hooks.clone(),
                warn: settings.warn,
            })),
        }
    }
}

impl From<Settings> for LandingSettings {
    fn from(settings: Settings) -> Self {
        Self::from(&settings)
    }
}

impl Settings {
    /// Creates settings with the defaults of every run and state below this folder. They know
    /// nothing of the environment: real models need [`Settings::from_env`].
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            run: RunSettings::default(),
            state_dir: state_dir.into(),
            helper: None,
            environment: BTreeMap::new(),
            base_url: None,
            model: None,
            script_pace: Duration::ZERO,
            confinement: ConfinementChoice::Strongest,
            demanded_by: None,
            additions: Additions::default(),
            base: None,
            user_config_dir: None,
            audit_log: None,
            worktree_folder: None,
            roles: Vec::new(),
            tools: Vec::new(),
            plugins: Vec::new(),
            hooks: Vec::new(),
            on_tool_start: None,
            on_tool_complete: None,
            warn: |_| (),
            approver: None,
            stays_for_people: false,
            waiting: |_| (),
        }
    }

    /// Makes its paths absolute, since git is started in other folders.
    pub(crate) fn anchored(mut self) -> Result<Self, CoordinatorError> {
        let given = [
            self.user_config_dir.as_mut(),
            self.audit_log.as_mut(),
            self.helper.as_mut(),
        ];
        anchor(given.into_iter().flatten().chain([&mut self.state_dir]))?;
        Ok(self)
    }
}
