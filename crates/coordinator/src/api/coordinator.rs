//! The library's face: open a repository, run plans, spawn children, merge their work.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::event::Event;
use orchestrate_core::request::{Allowance, Request, RequestRefused};
use orchestrate_core::schedule::Schedule;
use orchestrate_core::settings::MergeMode;
use orchestrate_core::task::waiting;
use orchestrate_core::{ModelReply, Oid, Redactor, Report, RunId, RunSettings, Task, TaskId, TaskRecord};
use orchestrate_git::{GitError, Identities, NoGc, Repo, Waiting};
use orchestrate_journal::{Batch, Blob, InboxId, Journal, JournalError, Received, Store, unix_ms};
use orchestrate_model::{Environment, LazyCounter, Model, install_tls_provider, require_base_url};
use orchestrate_sandbox::{Bounds, Cancel, Confinement, Helper, Sandbox, helper_installed, memory_bytes};
use orchestrate_tools::Executor;

use crate::afterwards::moved;
use crate::api::project::commit_may_have;
use crate::dispatch::commands;
use crate::dispatch::dispatcher::{Run, Takeover};
use crate::dispatch::recovery;
use crate::error::CoordinatorError;
use crate::merge::integration;
use crate::run::context::RunContext;
use crate::run::host::Host;
use crate::run::layout::{Layout, require_own_state};
use crate::run::open_files::require_open_files;
use crate::run::retries::Retries;
use crate::run::secrets::{redactor_of, require_none_in};
use crate::texts::models;
use crate::texts::models::Models;
use crate::texts::project_texts::ProjectTexts;
use crate::texts::roles::Roles;

/// How often another id is tried when a run of the same name exists.
const RUN_ID_TRIES: usize = 8;
const MIB: u64 = 1 << 20;
/// The part of the machine's memory that one command may hold if nothing is said: two of them leave it in trouble, in
/// which the kernel kills commands first, but no single one does.
const SHARE_OF_MEMORY: u64 = 2;

/// How this process reaches the world; only [`Settings::run`] is recorded.
pub struct Settings {
    /// What every run freezes.
    pub run: RunSettings,
    /// The folder of journals and worktrees: `$XDG_STATE_HOME/orchestrate`.
    pub state_dir: PathBuf,
    /// A program whose first line of `main` is [`crate::run_helper_if_asked`]; `None` means this one.
    pub helper: Option<PathBuf>,
    /// Keys and endpoints, and what git's variables say about who commits.
    pub environment: BTreeMap<String, String>,
    /// The base URL that the user typed.
    pub base_url: Option<String>,
    /// One model for everything, for tests and for library users with a model of their own.
    pub model: Option<Arc<dyn Model>>,
    /// How long a scripted model takes for each reply; zero but for demonstrations.
    pub script_pace: Duration,
    /// How commands are confined.
    pub confinement: ConfinementChoice,
    /// The revision that runs start from; `None` means HEAD.
    pub base: Option<String>,
    /// The user's configuration folder, for roles.
    pub user_config_dir: Option<PathBuf>,
    /// Is told of a wait for another process that works on the same repository, if it takes long.
    pub waiting: fn(&Waiting),
}

impl Settings {
    /// Makes settings with the defaults of every run, keeping state below this folder.
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
            base: None,
            user_config_dir: None,
            waiting: |_| (),
        }
    }
}

/// How commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfinementChoice {
    /// The strongest tier that really starts here; none at all is an error.
    #[default]
    Strongest,
    /// Exactly this tier.
    Exactly(Confinement),
}

/// A plan to be run.
#[derive(Clone, Debug, Default)]
pub struct PlanInput {
    /// The plan's path as typed, if there is a file.
    pub path: Option<String>,
    /// Its text, for writing its boxes back.
    pub text: String,
    /// Its title.
    pub title: Option<String>,
    /// Its tasks.
    pub tasks: Vec<Task>,
}

/// One repository with its runs.
pub struct Coordinator {
    repo: Repo,
    settings: Settings,
    layout: Layout,
    store: Store,
    sandbox: Arc<Sandbox>,
    /// Keeps the run's secrets out of everything that is recorded, told or shown.
    pub(crate) redactor: Redactor,
    /// The run that is open for the children of a program.
    pub(crate) children: tokio::sync::Mutex<Option<Run>>,
}

impl Coordinator {
    /// Opens a repository, finds out how processes can be confined, and opens the journal.
    ///
    /// If the agents that may be at work at once need more open files than this process may have, its soft limit is
    /// raised, and stays so.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be used (with the reason), if no temporary file can be made, if the hard limit
    /// allows fewer open files than the agents need ([`CoordinatorError::FewFiles`]), if nothing confines and that was
    /// not asked for, if the sandbox's helper is missing from the caller's `main`, or if the journal cannot be opened.
    pub fn open(repository: &Path, settings: Settings) -> Result<Self, CoordinatorError> {
        install_tls_provider();
        require_own_state(&settings.state_dir)?;
        let repo = Repo::open(repository, &settings.state_dir)?.telling(settings.waiting);
        // Before the sandbox: a tier that cannot be tried for want of files, or of a folder for temporary ones, would
        // be taken for one that does not work.
        require_open_files(settings.run.max_agents)?;
        repo.require_temporary_folder()?;
        let sandbox = Arc::new(sandbox(&settings)?);
        let layout = Layout::new(&settings.state_dir, &repo.id());
        repo.require_outside(&layout.journal())?;
        let redactor = redactor_of(&settings.environment, settings.base_url.as_deref(), Some(&repo));
        let store = Store::open(&layout.journal())?.redacting(redactor.clone());
        moved::note_origin(&layout, &repo);
        Ok(Self { repo, settings, layout, store, sandbox, redactor, children: tokio::sync::Mutex::default() })
    }

    /// Returns the repository's store of runs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns where things lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Returns what runs are started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns how commands are confined.
    pub fn confinement(&self) -> Confinement {
        self.sandbox.confinement()
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the roles that a run started now would know.
    ///
    /// # Errors
    ///
    /// Fails if the base cannot be resolved or a role file cannot be used.
    pub fn roles(&self) -> Result<Roles, CoordinatorError> {
        Roles::load(&self.repo, &self.base()?.0, self.settings.user_config_dir.as_deref())
    }

    /// Runs a plan to its end.
    ///
    /// The result is on the integration branch then; [`Archive::land`](crate::Runs::land) brings it to the user's, also
    /// where the settings say that the run is to be landed.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot begin or cannot go on; a task that fails is no error, but in the report.
    pub async fn run(&self, plan: PlanInput) -> Result<Report, CoordinatorError> {
        self.start(plan).await?.wait().await
    }

    /// Begins to run a plan.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot begin.
    pub async fn start(&self, plan: PlanInput) -> Result<Run, CoordinatorError> {
        self.begin(plan, self.settings.run.clone(), false).await
    }

    pub(crate) async fn begin(
        &self,
        plan: PlanInput,
        run: RunSettings,
        open_ended: bool,
    ) -> Result<Run, CoordinatorError> {
        Schedule::new(&plan.tasks).map_err(|error| CoordinatorError::Plan(error.to_string()))?;
        require_no_waiting(&plan.tasks, &run)?;
        require_none_in(&self.redactor, &plan.text, &plan.tasks)?;
        self.repo.require_ready()?;
        // Before anything is recorded: a run that cannot have a branch could never be ended.
        self.repo.require_writable()?;
        let run = RunSettings { base_url: run.base_url.clone().or_else(|| self.settings.base_url.clone()), ..run };
        run.base_url.as_deref().map_or(Ok(()), require_base_url)?;
        let (run, tasks) = anchored(run, plan.tasks)?;
        let (base_commit, base_branch) = self.base()?;
        self.repo.require_plain_tree(&base_commit)?;
        self.identities()?;
        // What cannot be read is told before there is a run, which could never go on.
        self.texts(&base_commit)?;
        let source = (!plan.text.is_empty()).then(|| Blob::new(plan.text.into_bytes()));
        let started = Event::RunStarted {
            plan: plan.path,
            plan_source: source.as_ref().map(|blob| blob.id().clone()),
            title: plan.title,
            settings: Box::new(run),
            base_commit,
            base_branch,
        };
        let added = tasks.into_iter().map(|task| Event::TaskAdded { task: Box::new(task), parent: None });
        let events: Vec<Event> = std::iter::once(started).chain(added).collect();
        let batch = Batch { events, blobs: source.into_iter().collect(), ..Batch::default() };
        let journal = self.create(&batch)?;
        let context = Arc::new(self.context(journal)?);
        recovery::settle(&context).await?;
        Run::start(context, open_ended)
    }

    /// Takes a run over that no other process works on, and goes on where its facts end.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, if another process works on it, or if it cannot go on.
    pub async fn resume(&self, run: &RunId) -> Result<Run, CoordinatorError> {
        self.resume_within(run, Allowance::default()).await
    }

    /// Takes a run over as [`Coordinator::resume`] does, and allows it more, which lets the tasks go on that have
    /// failed for want of it.
    ///
    /// # Errors
    ///
    /// As [`Coordinator::resume`], and if these tasks could not go on all the same ([`CoordinatorError::CannotGoOn`]).
    pub async fn resume_within(&self, run: &RunId, allowance: Allowance) -> Result<Run, CoordinatorError> {
        let context = Arc::new(self.context(Journal::resume(&self.store, run)?)?);
        prepare(&context, &allowance.reopens(&context.state()).iter().collect::<Vec<_>>()).await?;
        commands::go_on(&context, allowance).await?;
        integration::settle(&context).await?;
        Run::start(context, false)
    }

    /// Takes a run over to carry out what a person asks of it, and goes on with it.
    ///
    /// The command is carried out before anything else, so that a run with nothing else to do does not end without
    /// it.
    ///
    /// # Errors
    ///
    /// As [`Coordinator::resume`].
    pub async fn resume_with(&self, run: &RunId, request: Request) -> Result<Takeover, CoordinatorError> {
        let context = Arc::new(self.context(Journal::resume(&self.store, run)?)?);
        prepare(&context, request.reopens().as_slice()).await?;
        let id = self.store.send(run, &request)?;
        self.go_on_with(context, Received { id, sent_ms: 0, request }).await
    }

    /// As [`Coordinator::resume_with`], for a command that was sent to a process which has ended since.
    ///
    /// # Errors
    ///
    /// As [`Coordinator::resume`]; the command is answered with the error then, so that it can be sent again.
    pub async fn resume_with_sent(
        &self,
        run: &RunId,
        id: InboxId,
        request: Request,
    ) -> Result<Takeover, CoordinatorError> {
        let context = Arc::new(self.context(Journal::resume(&self.store, run)?)?);
        // Nobody else can answer it from here on.
        if self.store.answer(id)?.is_some() {
            return Ok(Takeover::Answered);
        }
        if let Err(error) = prepare(&context, request.reopens().as_slice()).await {
            let refused = RequestRefused::NotPrepared { error: error.to_string() };
            context.journal.answer(id, Err(refused)).await?;
            return Err(error);
        }
        self.go_on_with(context, Received { id, sent_ms: 0, request }).await
    }

    /// Carries a command out before anything else, and then works on the run.
    async fn go_on_with(&self, context: Arc<RunContext>, received: Received) -> Result<Takeover, CoordinatorError> {
        let id = received.id;
        // In one batch, so that a process that dies in between leaves no run that has ended and has work to do.
        let resumed = Event::RunResumed { pid: std::process::id(), timeout_ms: None, budget_tokens: None };
        commands::carry_out_after(&context, Some(resumed), received).await?;
        match self.store.answer(id)? {
            Some(Ok(said)) => {
                integration::settle(&context).await?;
                Ok(Takeover::Begun { run: Run::start(context, false)?, said })
            }
            Some(Err(why)) => Ok(Takeover::Refused(why)),
            None => Err(JournalError::NoSuchCommand(id).into()),
        }
    }

    fn create(&self, first: &Batch) -> Result<Journal, CoordinatorError> {
        let mut last = None;
        for _ in 0..RUN_ID_TRIES {
            match Journal::create(&self.store, &new_run_id(), first.clone()) {
                Err(error @ JournalError::RunExists(_)) => last = Some(error),
                other => return Ok(other?),
            }
        }
        Err(last.map_or_else(|| CoordinatorError::Plan("no free run id was found".to_owned()), Into::into))
    }

    fn base(&self) -> Result<(Oid, Option<String>), CoordinatorError> {
        let head = self.repo.head()?;
        match &self.settings.base {
            None => Ok((head.commit, head.branch)),
            Some(rev) => {
                let commit = self.repo.resolve(rev)?;
                let is_branch = match self.repo.read_ref(&format!("refs/heads/{rev}")) {
                    // `HEAD~1` is a revision, and no branch can be called so.
                    Err(GitError::BadRefName { .. }) => false,
                    found => found?.is_some(),
                };
                Ok((commit, if is_branch { Some(rev.clone()) } else { head.branch }))
            }
        }
    }

    /// Reports whether the commit that runs start from may have a file.
    pub(crate) fn base_may_have(&self, path: &str) -> Result<bool, CoordinatorError> {
        Ok(commit_may_have(&self.repo, &self.base()?.0, path))
    }

    fn identities(&self) -> Result<Identities, CoordinatorError> {
        self.repo.identities(&self.settings.environment).ok_or(CoordinatorError::NoIdentity)
    }

    fn texts(&self, base: &Oid) -> Result<ProjectTexts, CoordinatorError> {
        ProjectTexts::load(&self.repo, base, self.settings.user_config_dir.as_deref())
    }

    /// Builds what everything that works on the run shares; roles and prompts are those of the run's base.
    fn context(&self, journal: Journal) -> Result<RunContext, CoordinatorError> {
        let state = journal.state();
        let ProjectTexts { roles, prompts, tools } = self.texts(&state.base)?;
        let environment: Environment = self.settings.environment.clone().into_iter().collect();
        // The endpoint is the run's own: whoever takes it over may have another one configured.
        let models = Models::new(self.settings.model.clone(), environment, state.settings.base_url.clone());
        let models = models.with_script_pace(self.settings.script_pace).with_redactor(self.redactor.clone());
        let cancel = Cancel::new();
        Ok(RunContext {
            run: state.run_id.clone(),
            store: self.store.clone(),
            repo: self.repo.killed_by(&cancel),
            cancel,
            layout: self.layout.clone(),
            identities: self.identities()?,
            no_gc: Arc::new(NoGc::of(&self.repo)),
            host: Arc::new(Host {
                sandbox: Arc::clone(&self.sandbox),
                executor: Executor::redacting(tools, self.redactor.clone())?,
                models: models.with_recorded(self.recorded_replies(&journal)?),
                counter: LazyCounter::default(),
                redactor: self.redactor.clone(),
            }),
            roles,
            prompts,
            retries: Retries::default(),
            journal,
        })
    }

    /// The replies that the journal of a scripted run holds: scripts count by them how often a rule has answered.
    fn recorded_replies(&self, journal: &Journal) -> Result<Vec<ModelReply>, CoordinatorError> {
        let mut replies = Vec::new();
        if !journal.state().tasks().any(|record| record.model().is_some_and(models::is_script)) {
            return Ok(replies);
        }
        for fact in self.store.events(journal.run(), 0, usize::MAX)? {
            if let Event::ModelReplied { reply, .. } = fact.event {
                let bytes = self.store.blob(&reply)?;
                let what = "model reply";
                replies.push(
                    serde_json::from_slice(&bytes).map_err(|source| CoordinatorError::Recorded { what, source })?,
                );
            }
        }
        Ok(replies)
    }
}

/// Makes sure that a run which is taken over can go on, with the tasks that are reopened: nothing is recorded yet.
async fn prepare(context: &Arc<RunContext>, reopened: &[&TaskId]) -> Result<(), CoordinatorError> {
    require_models(context, reopened)?;
    // Branches that somebody else has moved are refused before the run is open again.
    recovery::settle(context).await
}

/// Names scripts by their absolute paths, since a run may be taken over from another folder.
fn anchored(run: RunSettings, tasks: Vec<Task>) -> Result<(RunSettings, Vec<Task>), CoordinatorError> {
    let anchor = |name: Option<String>| name.map(|name| models::anchored(&name)).transpose();
    let run = RunSettings {
        model: anchor(run.model)?,
        plan_model: anchor(run.plan_model)?,
        default_model: anchor(run.default_model)?,
        ..run
    };
    let tasks = tasks.into_iter().map(|task| Ok(Task { model: anchor(task.model)?, ..task }));
    Ok((run, tasks.collect::<Result<_, CoordinatorError>>()?))
}

/// Makes sure that the agents that go on, and those of tasks which are reopened, can still ask their models: nothing is
/// recorded yet, and a missing key would fail them. What only waits for a person or a merge asks nobody.
fn require_models(context: &RunContext, reopened: &[&TaskId]) -> Result<(), CoordinatorError> {
    let state = context.state();
    let asks = |record: &&TaskRecord| record.state().reads_messages() || reopened.contains(&&record.task.id);
    let asking = state.tasks().filter(|record| !record.is_command()).filter(asks);
    // Once each: to check a script is to read all of it.
    let models: BTreeSet<&str> = asking.filter_map(|record| record.model()).collect();
    for model in models {
        context.host.models.check(model)?;
    }
    Ok(())
}

/// Makes sure that processes can be confined as settings ask for.
///
/// # Errors
///
/// Fails as [`Coordinator::open`] does if they cannot.
pub fn require_confinement(settings: &Settings) -> Result<(), CoordinatorError> {
    sandbox(settings).map(drop)
}

/// Finds out how processes can be confined.
pub(crate) fn sandbox(settings: &Settings) -> Result<Sandbox, CoordinatorError> {
    let helper = match &settings.helper {
        Some(program) => Helper::new(program),
        None if helper_installed() => Helper::default(),
        None => return Err(CoordinatorError::NoHelper),
    };
    let sandbox = match settings.confinement {
        ConfinementChoice::Strongest => Sandbox::strongest(helper)?,
        ConfinementChoice::Exactly(confinement) => Sandbox::with(confinement, helper)?,
    };
    let allowed = settings.run.command_memory_mib.map(|mib| mib.saturating_mul(MIB));
    Ok(sandbox.within(Bounds {
        memory_bytes: allowed.or_else(|| Some(memory_bytes()? / SHARE_OF_MEMORY)),
        disk_bytes: Some(settings.run.worktree_mib.saturating_mul(MIB)),
    }))
}

/// Without merging, nothing that an open task depends on ever becomes part of the result.
fn require_no_waiting(tasks: &[Task], run: &RunSettings) -> Result<(), CoordinatorError> {
    if run.merge != MergeMode::None {
        return Ok(());
    }
    match waiting(tasks).first() {
        None => Ok(()),
        Some((task, on)) => Err(CoordinatorError::Plan(format!(
            "run with `--merge none`: {} depends on {on}, which would never be merged; omit `--merge none`",
            task.id
        ))),
    }
}

/// Makes a run id: the second in base 36, so that ids sort by time, and three random digits.
fn new_run_id() -> RunId {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish() % 36_u64.pow(3);
    RunId::new(format!("r-{}{:0>3}", base36(unix_ms() / 1_000), base36(random)))
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        digits.extend(char::from_digit(digit, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
