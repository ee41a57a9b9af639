//! The entry point of the library: open a repository, run plans, spawn children, merge their work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_checks::{
    KnownBase, Layout, RunningChecks, Site, blocking, require_own_state, sandbox_of,
};
use orchestrate_core::event::Event;
use orchestrate_core::event::settings::ToolFile;
use orchestrate_core::policy::tool_extensions::PluginTools;
use orchestrate_core::run::board::Stay;
use orchestrate_core::run::request::{Allowance, Request, RequestRefused};
use orchestrate_core::task::schedule::Schedule;
use orchestrate_core::{
    CommitRules, ModelReply, Oid, Redactor, Report, RunId, RunSettings, RunState, Task, TaskId,
    TaskRecord,
};
use orchestrate_git::{GitError, Identities, NoGc, Repo};
use orchestrate_journal::{Batch, Blob, InboxId, Journal, JournalError, Received, Store};
use orchestrate_landing::moved;
use orchestrate_model::{
    Environment, LazyCounter, install_tls_provider, prices_date, require_base_url,
};
use orchestrate_plan::KnownNames;
use orchestrate_sandbox::{Cancel, Confinement, Sandbox};
use orchestrate_settings::consent::Consents;
use orchestrate_tools::{Executor, Extensions, Hooks, SharedValues};

use crate::api::new_run::{anchored, new_run_id, require_alternatives, require_no_waiting};
use crate::api::project::worktree_may_have;
use crate::dispatch::dispatcher::{Run, Takeover};
use crate::dispatch::{recovery, requests};
use crate::error::CoordinatorError;
use crate::merge::base::complete;
use crate::merge::integration_branch;
use crate::run::context::{Admitted, RunContext};
use crate::run::machine::command_hooks::HooksPlace;
use crate::run::machine::host::Host;
use crate::run::machine::open_files::{proxy_connections, require_open_files};
use crate::run::machine::results::Results;
use crate::run::machine::secrets::{redactor_of, require_none_in};
use crate::run::machine::web::Web;
use crate::run::machine::{logs, worktree_folder};
use crate::run::program::callbacks::Callbacks;
use crate::run::program::live::LiveItems;
use crate::run::program::settings::Settings;
use crate::run::tool_lists::ToolLists;
use crate::texts::map_parts::MapParts;
use crate::texts::models;
use crate::texts::models::Models;
use crate::texts::never_replayed::never_replayed;
use crate::texts::project_texts::ProjectTexts;
use crate::texts::repository_map::Maps;
use crate::texts::roles::{Roles, with_verdicts};
use crate::texts::tool_files::FoundTools;
use crate::worker::agent_map;

/// How many other ids are tried if a run with the same name exists.
const RUN_ID_TRIES: usize = 8;
/// A plan to be run.
#[derive(Clone, Debug, Default)]
pub struct PlanInput {
    /// The plan's path as typed, if it is a file.
    pub path: Option<String>,
    /// Its text, needed for ticking its boxes.
    pub text: String,
    /// What an agent has rewritten that text as, with its account of the lines: this is then the
    /// plan.
    pub rewritten: Option<String>,
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
    /// The tools that the program adds.
    extensions: Extensions,
    /// Redacts the run's secrets from everything that is recorded, sent or shown.
    pub(crate) redactor: Redactor,
    /// The open run for a program's children.
    pub(crate) children: tokio::sync::Mutex<Option<Run>>,
}

impl Coordinator {
    /// Opens a repository, determines how processes can be confined, and opens the journal.
    ///
    /// If the agents need more open files than the soft limit allows, the soft limit is raised
    /// permanently.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be used (with the reason), if no temporary file can be
    /// created, if the hard limit allows fewer open files than the agents need
    /// ([`CoordinatorError::FewFiles`]), if no sandbox works and running without one was not
    /// requested, if the sandbox's helper is missing from the caller's `main`, if a tool or a
    /// plugin of the program cannot be used, or if the journal cannot be opened.
    pub fn open(repository: &Path, settings: Settings) -> Result<Self, CoordinatorError> {
        install_tls_provider();
        let settings = settings.anchored()?;
        require_own_state(&settings.state_dir)?;
        settings
            .audit_log
            .as_deref()
            .map_or(Ok(()), logs::require_writable)?;
        let repo = Repo::open(repository, &settings.state_dir)?.telling(settings.waiting);
        // Before the sandbox: a tier that cannot be tested for lack of files, or of a folder for
        // temporary files, would seem not to work.
        require_open_files(settings.run.max_agents)?;
        repo.require_temporary_folder()?;
        let sandbox = Arc::new(settings.of_sandbox().sandbox(Some(repo.workdir()))?);
        let repo = repo.confined_in(sandbox.confinement());
        let extensions = Extensions::load(&settings.tools, &settings.plugins)?;
        let layout = Layout::new(&settings.state_dir, &repo.id());
        repo.worktrees().require_outside(&layout.journal())?;
        let redactor = redactor_of(
            &settings.environment,
            settings.base_url.as_deref(),
            Some(&repo),
        );
        moved::follow(&repo, &settings.state_dir, settings.warn)?;
        let store = Store::open(&layout.journal())?.redacting(redactor.clone());
        moved::note_origin(&layout, &repo);
        let children = tokio::sync::Mutex::default();
        Ok(Self {
            repo,
            settings,
            layout,
            store,
            sandbox,
            extensions,
            redactor,
            children,
        })
    }

    /// Returns the repository's store of runs.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the layout of the state folder.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the repository.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Returns the settings that runs are started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns how commands are confined.
    pub fn confinement(&self) -> Confinement {
        self.sandbox.confinement()
    }

    /// Returns what the tier of the sandbox forbids that the full one allows, and how to get that
    /// one.
    pub fn sandbox_forbids(&self) -> Option<String> {
        self.sandbox.forbids()
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the tools that a new run would have: the built-in ones, the program's own, and those
    /// of `.tool` files.
    ///
    /// # Errors
    ///
    /// Fails if the base cannot be resolved, or if the repository or the consents cannot be read.
    pub fn tools(&self) -> Result<FoundTools, CoordinatorError> {
        self.tools_at(&self.base()?.0)
    }

    /// Returns the roles that a new run would know.
    ///
    /// # Errors
    ///
    /// Fails if the base cannot be resolved or a role file cannot be used.
    pub fn roles(&self) -> Result<Roles, CoordinatorError> {
        let base = self.base()?.0;
        let tools = self.tools_at(&base)?;
        let mut roles = Roles::load(
            &self.repo,
            &base,
            self.settings.user_config_dir.as_deref(),
            tools.registry.names(),
        )?;
        roles.add_of_program(&self.settings.roles)?;
        Ok(roles)
    }

    /// Requires that an agent of the default role will have a model, and a price if the cost is
    /// limited, as far as that is known without a request.
    ///
    /// # Errors
    ///
    /// Fails with what is missing, and how to set it.
    pub async fn require_model(&self) -> Result<(), CoordinatorError> {
        let run = &self.settings.run;
        let environment: Environment = self.settings.environment.clone().into_iter().collect();
        let models = Models::new(
            self.settings.model.clone(),
            environment,
            self.settings.base_url.clone(),
        )
        .with_prices(run.prices.clone());
        let roles = self.roles()?;
        let sources = models::preferences(run, &Task::default(), roles.role(&run.agent)?);
        let name = models.choose(&sources).await?;
        models.check(&name)?;
        if run.budget_micro_usd.is_some() {
            models.price(&name)?;
        }
        Ok(())
    }

    /// Runs a plan to completion.
    ///
    /// The result is then on the integration branch; [`Archive::land`](crate::Archive::land) merges
    /// it into the user's branch, which the settings alone never do.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot start or continue; a failed task is not an error but part of the
    /// report.
    pub async fn run(&self, plan: PlanInput) -> Result<Report, CoordinatorError> {
        self.start(plan).await?.wait().await
    }

    /// Starts to run a plan.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot start.
    pub async fn start(&self, plan: PlanInput) -> Result<Run, CoordinatorError> {
        self.begin(plan, self.settings.run.clone(), self.stay())
            .await
    }

    pub(crate) async fn begin(
        &self,
        plan: PlanInput,
        run: RunSettings,
        stay: Stay,
    ) -> Result<Run, CoordinatorError> {
        Schedule::new(&plan.tasks)?;
        require_no_waiting(&plan.tasks, &run)?;
        require_none_in(&self.redactor, &plan.text, &plan.tasks)?;
        self.repo.require_ready()?;
        if let Some(warning) = self.repo.not_copied() {
            (self.settings.warn)(&warning.to_string());
        }
        // Before anything is recorded: a run that cannot create a branch could never end.
        self.repo.require_writable()?;
        let run = RunSettings {
            base_url: run
                .base_url
                .clone()
                .or_else(|| self.settings.base_url.clone()),
            ..run
        };
        run.base_url.as_deref().map_or(Ok(()), require_base_url)?;
        let ask_parks = run.ask_parks || self.settings.approver.is_some();
        let run = RunSettings {
            prices_date: Some(prices_date().to_owned()),
            ask_parks,
            ..run
        };
        let (run, tasks) = anchored(run, plan.tasks)?;
        let (base_commit, base_branch) = self.base()?;
        let (repo, base) = (self.repo.clone(), base_commit.clone());
        blocking("fetch what the base lacks", move || {
            complete(&repo, &base).map_err(CoordinatorError::from)
        })
        .await?;
        self.repo.require_plain_tree(&base_commit)?;
        self.identities()?;
        // Unreadable texts are reported before the run exists, since it could never continue.
        let tool_files = self.tools_at(&base_commit)?.files;
        let texts = self.texts(&base_commit, &tool_files)?;
        require_alternatives(&run, &texts.tools)?;
        let tasks = with_verdicts(&texts.roles, &run.agent, tasks);
        let tools = texts.tools.names().clone();
        let user_folder = self.settings.user_config_dir.as_deref();
        let never_replayed = never_replayed(Some((&self.repo, &base_commit)), user_folder, &tools)?;
        let extensions = self.extensions.frozen().clone();
        let plan_path = plan
            .path
            .as_deref()
            .and_then(|path| path_within(path, self.repo.workdir()));
        let rewritten = plan.rewritten.map(|answer| Blob::new(answer.into_bytes()));
        let run = RunSettings {
            tools,
            tool_files,
            extensions,
            never_replayed,
            plan_path,
            plan_rewritten: rewritten.as_ref().map(|blob| blob.id().clone()),
            ..run
        };
        let source = (!plan.text.is_empty()).then(|| Blob::new(plan.text.into_bytes()));
        let started = Event::RunStarted {
            plan: plan.path,
            plan_source: source.as_ref().map(|blob| blob.id().clone()),
            title: plan.title,
            settings: Box::new(run),
            base_commit,
            base_branch,
        };
        let added = tasks.into_iter().map(Event::planned);
        let events: Vec<Event> = std::iter::once(started).chain(added).collect();
        let batch = Batch {
            events,
            blobs: source.into_iter().chain(rewritten).collect(),
            ..Batch::default()
        };
        let journal = self.create(&batch)?;
        let context = Arc::new(self.context(journal, 0)?);
        agent_map::prepare(&context)?;
        recovery::settle(&context).await?;
        Run::start(context, stay, &self.callbacks(), Vec::new())
    }

    /// Takes over a run that no other process works on, and continues where its events end. What
    /// was requested of it meanwhile is carried out first, in order ([`Run::answers`]).
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, if another process works on it, or if it cannot continue.
    pub async fn resume(&self, run: &RunId) -> Result<Run, CoordinatorError> {
        self.resume_within(run, Allowance::default()).await
    }

    /// Takes over a program's run as [`Coordinator::resume`] does, and keeps it open for further
    /// children. A run that has ended is open again.
    pub(crate) async fn reopen(&self, run: &RunId) -> Result<Run, CoordinatorError> {
        self.go_on_within(run, Allowance::default(), Stay::UntilClosed)
            .await
    }

    /// Takes over a run as [`Coordinator::resume`] does, and raises its limits, so that the tasks
    /// stopped by them continue.
    ///
    /// # Errors
    ///
    /// See [`Coordinator::resume`]; also fails if these tasks still could not continue
    /// ([`CoordinatorError::CannotGoOn`]).
    pub async fn resume_within(
        &self,
        run: &RunId,
        allowance: Allowance,
    ) -> Result<Run, CoordinatorError> {
        self.go_on_within(run, allowance, self.stay()).await
    }

    async fn go_on_within(
        &self,
        run: &RunId,
        allowance: Allowance,
        stay: Stay,
    ) -> Result<Run, CoordinatorError> {
        let context = self.taken(run)?;
        let recorded = self.store.recorded_requests(run)?;
        let mut reopened = allowance.reopens(&context.state());
        reopened.extend(reopened_by(&recorded, &context.state()));
        prepare(&context, &reopened).await?;
        requests::go_on(&context, allowance).await?;
        let answers = requests::carry_out_recorded(&context, None, recorded).await?;
        integration_branch::settle(&context).await?;
        Run::start(context, stay, &self.callbacks(), answers)
    }

    /// Takes over a run to carry out a request, and continues it.
    ///
    /// What was requested before is carried out first, and then this, before anything else: so a
    /// run with nothing else to do does not end before it.
    ///
    /// # Errors
    ///
    /// See [`Coordinator::resume`].
    pub async fn resume_with(
        &self,
        run: &RunId,
        request: Request,
    ) -> Result<Takeover, CoordinatorError> {
        let context = self.taken(run)?;
        let id = self.store.send(run, &request)?;
        self.go_on_with(context, id).await
    }

    /// Like [`Coordinator::resume_with`], for a request that was sent to a process which has ended
    /// since.
    ///
    /// # Errors
    ///
    /// See [`Coordinator::resume`]; the request is then answered with the error, so that it can be
    /// sent again.
    pub async fn resume_with_sent(
        &self,
        run: &RunId,
        id: InboxId,
    ) -> Result<Takeover, CoordinatorError> {
        let context = self.taken(run)?;
        // From here on no other process can answer it.
        match self.store.answer(id)? {
            Some(_) => Ok(Takeover::Answered),
            None => self.go_on_with(context, id).await,
        }
    }

    /// Carries out the recorded requests up to this one before anything else, and then works on the
    /// run.
    async fn go_on_with(
        &self,
        context: Arc<RunContext>,
        id: InboxId,
    ) -> Result<Takeover, CoordinatorError> {
        let mut recorded = self.store.recorded_requests(&context.run)?;
        recorded.retain(|received| received.id <= id);
        let reopened = reopened_by(&recorded, &context.state());
        if let Err(error) = prepare(&context, &reopened).await {
            let refused = RequestRefused::NotPrepared {
                error: error.to_string(),
            };
            context.journal.answer(id, Err(refused)).await?;
            return Err(error);
        }
        // In one batch with what it leads to, so that a process that dies in between does not leave
        // a finished run with work to do.
        let resumed = Event::RunResumed {
            pid: std::process::id(),
            timeout_ms: None,
            budget_tokens: None,
            budget_micro_usd: None,
        };
        let answers = requests::carry_out_recorded(&context, Some(resumed), recorded).await?;
        if answers.iter().any(|answer| answer.reply.is_ok()) {
            integration_branch::settle(&context).await?;
            let run = Run::start(context, self.stay(), &self.callbacks(), answers)?;
            return Ok(Takeover::Begun { run });
        }
        match self.store.answer(id)? {
            Some(Err(why)) => Ok(Takeover::Refused(why)),
            _ => Err(JournalError::NoSuchRequest(id).into()),
        }
    }

    /// Takes the lease of a run that no other process works on.
    fn taken(&self, run: &RunId) -> Result<Arc<RunContext>, CoordinatorError> {
        let journal = Journal::resume(&self.store, run)?;
        let begun_after = journal.state().seq;
        let context = Arc::new(self.context(journal, begun_after)?);
        agent_map::prepare(&context)?;
        Ok(context)
    }

    /// Returns for how long the runs of this process stay open.
    fn stay(&self) -> Stay {
        match self.settings.stays_for_people {
            true => Stay::ForPeople,
            false => Stay::Never,
        }
    }

    fn create(&self, first: &Batch) -> Result<Journal, CoordinatorError> {
        for _ in 1..RUN_ID_TRIES {
            match Journal::create(&self.store, &new_run_id(), first.clone()) {
                Err(JournalError::RunExists(_)) => {}
                other => return Ok(other?),
            }
        }
        Ok(Journal::create(&self.store, &new_run_id(), first.clone())?)
    }

    pub(crate) fn base(&self) -> Result<(Oid, Option<String>), CoordinatorError> {
        let head = self.repo.head()?;
        match &self.settings.base {
            None => Ok((head.commit, head.branch)),
            Some(rev) => {
                let commit = self.repo.resolve(rev)?;
                let is_branch = match self.repo.read_ref(&format!("refs/heads/{rev}")) {
                    // `HEAD~1` is a revision, but not a valid branch name.
                    Err(GitError::BadRefName { .. }) => false,
                    found => found?.is_some(),
                };
                Ok((
                    commit,
                    if is_branch {
                        Some(rev.clone())
                    } else {
                        head.branch
                    },
                ))
            }
        }
    }

    /// Reports whether a worktree may contain a file at first: the commit that runs start from may,
    /// or the file is copied from the checkout.
    pub(crate) fn worktree_may_have(&self, path: &str) -> Result<bool, CoordinatorError> {
        worktree_may_have(&self.repo, &self.base()?.0, path)
    }

    /// Reports whether the user's checkout has a file, committed or not.
    pub(crate) fn checkout_has(&self, path: &str) -> bool {
        self.repo
            .workdir()
            .join(path.trim_start_matches("./"))
            .is_file()
    }

    fn identities(&self) -> Result<Identities, CoordinatorError> {
        self.repo
            .identities(&self.settings.environment)
            .ok_or(CoordinatorError::NoIdentity)
    }

    fn texts(&self, base: &Oid, tool_files: &[ToolFile]) -> Result<ProjectTexts, CoordinatorError> {
        let user_folder = self.settings.user_config_dir.as_deref();
        let mut texts =
            ProjectTexts::load(&self.repo, base, user_folder, tool_files, &self.extensions)?;
        texts.roles.add_of_program(&self.settings.roles)?;
        Ok(texts)
    }

    /// Returns the tools that a new run from this commit would have.
    fn tools_at(&self, base: &Oid) -> Result<FoundTools, CoordinatorError> {
        let consents = Consents::load(&self.settings.state_dir)?;
        let user_folder = self.settings.user_config_dir.as_deref();
        FoundTools::load(&self.repo, base, user_folder, &consents, &self.extensions)
    }

    /// Returns the hooks of a run: the commands that it has frozen, then the program's own.
    fn hooks(&self, state: &RunState) -> Result<Hooks, CoordinatorError> {
        let commands = &state.settings.hooks;
        let (layout, checkout) = (&self.layout, self.repo.workdir());
        let sandbox = self.settings.of_sandbox();
        let place = HooksPlace::new(commands, layout, checkout, &sandbox)?;
        Ok(place.hooks(commands, &self.settings.hooks))
    }

    fn callbacks(&self) -> Callbacks {
        let Settings {
            on_tool_start,
            on_tool_complete,
            ..
        } = &self.settings;
        Callbacks {
            on_start: on_tool_start.clone(),
            on_complete: on_tool_complete.clone(),
            warn: self.settings.warn,
        }
    }

    /// Requires that this program has the tools that a run's program added.
    fn require_extensions(&self, state: &RunState) -> Result<(), CoordinatorError> {
        let (frozen, here) = (&state.settings.extensions, self.extensions.frozen());
        if let Some(missing) = frozen.missing_in(here) {
            return Err(CoordinatorError::MissingTools {
                run: state.run_id.clone(),
                missing,
            });
        }
        for (plugin, version) in frozen.other_versions(here) {
            let PluginTools {
                name, version: old, ..
            } = plugin;
            (self.settings.warn)(&format!(
                "run {} started with the plugin `{name}` {old} and continues with {version}",
                state.run_id
            ));
        }
        Ok(())
    }

    /// Builds the shared context of a run; roles and prompts are those of the run's base commit.
    fn context(&self, journal: Journal, begun_after: u64) -> Result<RunContext, CoordinatorError> {
        let state = journal.state();
        self.require_extensions(&state)?;
        let ProjectTexts {
            roles,
            prompts,
            tools,
            skills,
        } = self.texts(&state.base, &state.settings.tool_files)?;
        let environment: Environment = self.settings.environment.clone().into_iter().collect();
        // The endpoint is part of the run: the process that takes it over may be configured with
        // another one.
        let models = Models::new(
            self.settings.model.clone(),
            environment.clone(),
            state.settings.base_url.clone(),
        );
        let patience = Duration::from_millis(state.settings.outage_patience_ms);
        let models = models
            .with_script_pace(self.settings.script_pace)
            .with_patience(patience)
            .with_prices(state.settings.prices.clone())
            .with_redactor(self.redactor.clone());
        let web = Web::new(environment, proxy_connections(self.settings.run.max_agents));
        let hooks = self.hooks(&state)?;
        let cancel = Cancel::new();
        let chosen = self.settings.worktree_folder.as_deref();
        worktree_folder::place(&self.repo, &self.layout, &state.run_id, chosen)?;
        self.repo
            .worktrees()
            .record_times(&self.layout.source_times(&state.run_id), &state.base)?;
        Ok(RunContext {
            audit_log: self
                .settings
                .audit_log
                .clone()
                .unwrap_or_else(|| self.layout.audit_log(&state.run_id)),
            warn: self.settings.warn,
            approver: self.settings.approver.clone(),
            run: state.run_id.clone(),
            store: self.store.clone(),
            tool_lists: ToolLists::default(),
            host: Arc::new(Host {
                site: Site {
                    repo: self
                        .repo
                        .killed_by(&cancel)
                        .committing_by(CommitRules::new(&state.settings.commit)),
                    no_gc: Arc::new(NoGc::new(&self.repo)),
                    layout: self.layout.clone(),
                    sandbox: sandbox_of(&self.sandbox, &self.layout, &state),
                    running: RunningChecks::redacting(self.redactor.clone())
                        .noted_in(self.layout.running(&state.run_id)),
                    web: web.client().clone(),
                    redactor: self.redactor.clone(),
                    base: KnownBase::default(),
                },
                plan: state.settings.plan_path.clone().map(PathBuf::from),
                plan_names: KnownNames::of_run(&state.settings),
                identities: self.identities()?,
                keeps_commits: state.settings.keep_commits,
                executor: Executor::redacting(tools, self.redactor.clone())?
                    .with_hooks(hooks.clone()),
                hooks,
                results: Arc::new(Results::open(
                    &self.settings.state_dir,
                    &state.settings,
                    self.settings.warn,
                )),
                shared: SharedValues::default(),
                maps: Maps::new(
                    self.repo.killed_by(&cancel),
                    MapParts::at(&self.layout.map_parts()),
                ),
                web: Arc::new(web),
                models: models.with_recorded(self.recorded_replies(&journal)?),
                counter: LazyCounter::default(),
            }),
            roles,
            prompts,
            skills,
            live: LiveItems::default(),
            stopped_by: Arc::default(),
            admitted: Admitted::default(),
            cancel,
            journal,
            begun_after,
        })
    }

    /// Returns the replies in a scripted run's journal, from which scripts count how often a rule
    /// has matched.
    fn recorded_replies(&self, journal: &Journal) -> Result<Vec<ModelReply>, CoordinatorError> {
        let mut replies = Vec::new();
        let state = journal.state();
        let settings = &state.settings;
        let mut fallbacks = settings
            .fallback_models
            .iter()
            .chain(&settings.default_fallback_models);
        if !state.tasks().any(is_scripted) && !fallbacks.any(|name| models::is_script(name)) {
            return Ok(replies);
        }
        for fact in self.store.events(journal.run(), 0, usize::MAX)? {
            if let Event::ModelReplied { reply, .. } = fact.event {
                let bytes = self.store.blob(&reply)?;
                let what = "model reply";
                replies.push(
                    serde_json::from_slice(&bytes)
                        .map_err(|source| CoordinatorError::Recorded { what, source })?,
                );
            }
        }
        Ok(replies)
    }
}

fn is_scripted(record: &TaskRecord) -> bool {
    record.model().is_some_and(models::is_script)
}

/// Returns the ended tasks that these requests reopen, as far as that is known before the first of
/// them is carried out.
fn reopened_by(recorded: &[Received], state: &RunState) -> Vec<TaskId> {
    let mut reopened = Vec::new();
    for received in recorded {
        reopened.extend(received.request.reopens(state));
    }
    reopened
}

/// Checks that a run to be taken over can continue, including the reopened tasks, before anything
/// is recorded.
async fn prepare(context: &Arc<RunContext>, reopened: &[TaskId]) -> Result<(), CoordinatorError> {
    require_models(context, reopened)?;
    // Branches that were moved from outside are refused before the run is open again.
    recovery::settle(context).await
}

/// Checks that the models of continuing agents, and of reopened tasks, can still be used, before
/// anything is recorded: a missing key would stop these tasks. Tasks that only wait for the user or
/// a merge need no model, and those that wait for a key do not keep the others from continuing.
fn require_models(context: &RunContext, reopened: &[TaskId]) -> Result<(), CoordinatorError> {
    let state = context.state();
    let asks = |record: &&TaskRecord| {
        let goes_on = record.state().reads_messages() && record.rejecting_endpoint().is_none();
        goes_on || reopened.contains(&record.task.id)
    };
    let asking = state
        .tasks()
        .filter(|record| !record.is_command())
        .filter(asks);
    // Once each: checking a script reads all of it.
    let models: BTreeSet<&str> = asking.filter_map(|record| record.model()).collect();
    for model in models {
        context.host.models.check(model)?;
    }
    Ok(())
}

/// Returns the path of a file in a repository, from its path as typed, which is relative to the
/// folder of this process or of the repository; `None` if it is elsewhere, or is not UTF-8.
fn path_within(typed: &str, workdir: &Path) -> Option<String> {
    let workdir = workdir.canonicalize().ok()?;
    let places = [PathBuf::from(typed), workdir.join(typed)];
    let real = places.iter().find_map(|place| place.canonicalize().ok())?;
    real.strip_prefix(&workdir)
        .ok()?
        .to_str()
        .map(str::to_owned)
}
