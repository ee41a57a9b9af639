//! A session: one run in one repository, found again by its name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orchestrate_coordinator::{
    self as engine, Archive, Coordinator, LandingSettings, PlanInput, Project, Roles, Ruling,
    Settings, known_names, settings_of, tool_names, vendors_of,
};
use orchestrate_core::agent::price::{DOLLAR, Rates};
use orchestrate_core::policy::cache::ContentHash;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::projections::aggregated::{AggregatedResults, BranchConflict, Counterpart};
use orchestrate_core::run::child_ids;
use orchestrate_core::run::request::Request;
use orchestrate_core::{Price as EnginePrice, TaskId};
use orchestrate_model::Model;
use orchestrate_plan::Plan;
use orchestrate_settings::consent::Consents;
use orchestrate_settings::{
    Directories, Inputs, Layer, Loaded, Problem, project_root, rule_problems,
};
use orchestrate_tools::{Hook, Tool};
use tokio::sync::{Mutex, watch};

use crate::child::{Child, ChildHandle, Outcome, Report};
use crate::error::{Error, Result};
use crate::event::{Events, Fact, PendingCall, Question};
use crate::hook::{
    AfterTool, BeforeFinish, BeforeTool, HookedCall, HookedResult, HookedWork, OnEvent, Verdict,
};
use crate::land::{Land, Landed};
use crate::model::{Given, GivenModel, Price};
use crate::role::Role;

/// The name by which the engine knows a model of the program's own, and its price.
const OWN_MODEL: &str = "program/model";

/// What a session is started with: made by [`Session::open`], used up by
/// [`start`](Builder::start), which returns the first error of all that was set.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example() -> orchestrate::Result<()> {
/// let session = Session::open(".")?
///     .model("anthropic/claude-sonnet-5")
///     .role(Role::new("reader").prompt("Answer from the code.").tools(["read_file", "grep"]))
///     .deny("Bash(git push:*)")
///     .ask("WebFetch(domain:*.example.org)")
///     .budget_usd(2.0)
///     .verify("cargo test")
///     .start("release-notes")
///     .await?;
/// # Ok(()) }
/// ```
#[must_use]
#[derive(Clone)]
pub struct Builder {
    repository: PathBuf,
    variables: BTreeMap<String, String>,
    /// What a plan says of its run.
    plan: Layer,
    /// What the program sets, by the keys of the settings: it counts as typed by the user.
    typed: Vec<(&'static str, String)>,
    rules: Vec<RuleText>,
    state_dir: Option<PathBuf>,
    model: Option<OwnModel>,
    roles: Vec<Role>,
    tools: Vec<Arc<dyn Tool>>,
    hooks: Vec<Arc<dyn Hook>>,
}

/// A model of the program's own.
#[derive(Clone)]
struct OwnModel {
    model: Arc<dyn Model>,
    price: Option<Price>,
}

/// One run in one repository. It is cheap to clone.
///
/// A session is found again by its name: after a crash, [`Builder::start`] continues the run of
/// that name, [`Session::spawn`] returns the children that exist, and nothing is paid twice. What
/// was recorded can also be read after the end.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(session: Session) -> orchestrate::Result<()> {
/// for question in session.questions() {
///     println!("{} still asks: {}", question.child(), question.text());
/// }
/// let report = session.finish().await?;
/// for end in &report.children {
///     println!("{}: {}, {} tokens", end.child, end.state, end.tokens);
/// }
/// println!("{:?} dollars", report.cost_usd);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    /// How often each text was spawned without an id.
    texts: Arc<Mutex<BTreeMap<String, usize>>>,
}

pub(crate) struct Shared {
    name: String,
    /// What it was started with, for the runs of plans.
    builder: Builder,
    coordinator: Coordinator,
    pub(crate) run: engine::Session,
    /// The engine's settings for what happens after the run.
    after: LandingSettings,
    /// Whether all children ask the program's own model.
    has_own_model: bool,
    /// How many merges are under way.
    pub(crate) merges: watch::Sender<usize>,
    has_ended: AtomicBool,
}

/// A merge that is under way until this is dropped.
struct Merging<'a>(&'a watch::Sender<usize>);

impl<'a> Merging<'a> {
    fn begin(merges: &'a watch::Sender<usize>) -> Self {
        merges.send_modify(|under_way| *under_way += 1);
        Self(merges)
    }
}

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|under_way| *under_way -= 1);
    }
}

impl Shared {
    /// Asks the run for something; a refusal is an error.
    pub(crate) async fn ask(&self, request: &Request) -> Result<()> {
        match self.run.ask(request).await? {
            Ruling::Granted(_) => Ok(()),
            Ruling::Refused(refused) => Err(refused.into()),
        }
    }
}

/// The work of several children beside each other.
///
/// ```no_run
/// # use orchestrate::prelude::*;
/// # async fn example(session: Session, children: Vec<ChildHandle>) -> orchestrate::Result<()> {
/// let compared = session.compare(&children).await?;
/// for conflict in &compared.conflicts {
///     println!("{} and {:?} conflict in {:?}", conflict.child, conflict.with, conflict.files);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The files that several of them change.
    pub shared_files: Vec<String>,
    /// The branches that do not merge cleanly.
    pub conflicts: Vec<Conflict>,
    /// The changes of each as a unified diff; shortened if it is long.
    pub diff: String,
}

/// Two branches that do not merge cleanly.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// A child.
    pub child: String,
    /// The other child; `None` for the session's result.
    pub with: Option<String>,
    /// The files in conflict.
    pub files: Vec<String>,
}

impl Session {
    /// Begins a session in the repository of a folder, with the keys, the state folder and the
    /// settings that the program `orchestrate` has there: environment, the user's file, the
    /// project's file. As there, commands of the project's file need the user's consent, and only
    /// providers that the user has chosen, or the program with [`Builder::model`], get the code.
    ///
    /// # Errors
    ///
    /// Fails if there is no current folder.
    pub fn open(repository: impl AsRef<Path>) -> Result<Builder> {
        Self::open_with(repository, engine::environment_variables())
    }

    /// Begins a session as [`Session::open`] does, with these variables instead of those of the
    /// process: `HOME` leads to the folders, and keys are variables.
    ///
    /// # Errors
    ///
    /// See [`Session::open`].
    pub fn open_with(
        repository: impl AsRef<Path>,
        variables: BTreeMap<String, String>,
    ) -> Result<Builder> {
        let repository = repository.as_ref();
        let directory = std::path::absolute(repository)
            .map_err(|error| Error::new(format!("{}: {error}", repository.display())))?;
        Ok(Builder {
            repository: directory,
            variables,
            plan: Layer::default(),
            typed: Vec::new(),
            rules: Vec::new(),
            state_dir: None,
            model: None,
            roles: Vec::new(),
            tools: Vec::new(),
            hooks: Vec::new(),
        })
    }

    /// Returns the id of its run, as `orchestrate status` shows it.
    pub fn run_id(&self) -> &str {
        self.shared.run.run_id().as_str()
    }

    /// Spawns a child, or returns the one of the same id that the session has already. A child
    /// without an id is found by its text, and one of several equal texts by how many of them came
    /// before, so a program that starts again and asks for the same children finds all of them;
    /// what is to be done anew needs an id of its own:
    ///
    /// ```no_run
    /// # use orchestrate::prelude::*;
    /// # async fn example(session: Session, day: &str) -> orchestrate::Result<()> {
    /// let notes = session.spawn(Child::new("Write the release notes")).await?;
    /// if notes.is_resumed() {
    ///     println!("{} goes on where an earlier process was killed", notes.id());
    /// }
    /// // Another child each day, and the same one if this day's program is started again:
    /// let outdated = Child::new("Look for outdated packages").id(format!("outdated-{day}"));
    /// session.spawn(outdated).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a child of that id was asked for in other words, if its role or a tool does not
    /// exist, or if the session has ended.
    pub async fn spawn(&self, child: Child) -> Result<ChildHandle> {
        if self.shared.has_ended.load(Ordering::Acquire) {
            return Err(Error::new(
                "failed to spawn a child: the session has ended; start it again under its name",
            ));
        }
        let mut spec = child.spec;
        if spec.task.trim().is_empty() {
            return Err(Error::new("failed to spawn a child: its task is empty"));
        }
        if let Some(model) = spec.model.as_ref().filter(|_| self.shared.has_own_model) {
            return Err(Error::new(format!(
                "failed to spawn a child with {model}: all children of this session ask the \
                 program's own model"
            )));
        }
        // Until the child is there: another text may have the same words.
        let mut texts = self.texts.lock().await;
        let text = spec.id.is_none().then(|| spec.task.clone());
        if let Some(text) = &text {
            let equal_before = texts.get(text).copied().unwrap_or(0);
            spec.id = self.id_of_text(text, equal_before);
        }
        let handle = self.shared.coordinator.spawn(spec).await?;
        // One that could not be spawned does not count: the same text is tried again.
        if let Some(text) = text {
            *texts.entry(text).or_default() += 1;
        }
        Ok(self.handle(handle))
    }

    /// Returns the id of the child with this text that comes after so many equal ones: the one
    /// that it has already, or else the first that is free.
    fn id_of_text(&self, text: &str, equal_before: usize) -> Option<TaskId> {
        let state = self.shared.run.state();
        let is_of_text = |id: &TaskId| match state.task(id) {
            Some(child) => child.task.title == text,
            None => true,
        };
        child_ids(text).filter(is_of_text).nth(equal_before)
    }

    /// Spawns children in order; see [`Session::spawn`].
    ///
    /// # Errors
    ///
    /// Fails with the first one that cannot be spawned; those before it are at work.
    pub async fn spawn_all(
        &self,
        children: impl IntoIterator<Item = Child>,
    ) -> Result<Vec<ChildHandle>> {
        let mut handles = Vec::new();
        for child in children {
            handles.push(self.spawn(child).await?);
        }
        Ok(handles)
    }

    /// Reports whether the session goes on with a run that an earlier process began.
    pub fn is_resumed(&self) -> bool {
        self.shared.run.is_attached()
    }

    /// Returns all children that were spawned so far, those of other children included, in the
    /// order in which they were spawned.
    pub fn children(&self) -> Vec<ChildHandle> {
        let handles = self.shared.run.children();
        handles
            .into_iter()
            .map(|child| self.handle(child))
            .collect()
    }

    /// Returns a child by its id; `None` if there is none.
    pub fn child(&self, id: &str) -> Option<ChildHandle> {
        let found = self.shared.run.child(&id.into());
        found.map(|handle| self.handle(handle))
    }

    fn handle(&self, handle: engine::ChildHandle) -> ChildHandle {
        ChildHandle {
            handle,
            session: Arc::clone(&self.shared),
        }
    }

    /// Returns the questions of children that wait for an answer, oldest first: what a program that
    /// has just started a session again shows at once. [`Session::events`] brings them as well.
    pub fn questions(&self) -> Vec<Question> {
        let state = self.shared.run.state();
        state
            .questions_to_user()
            .map(|(child, question)| Question::new(&self.shared, child, question))
            .collect()
    }

    /// Returns the calls that wait for a decision, in the same way.
    pub fn approvals(&self) -> Vec<PendingCall> {
        let state = self.shared.run.state();
        state
            .open_approvals()
            .map(|(call, approval)| PendingCall::new(&self.shared, call, approval))
            .collect()
    }

    /// Returns what all children have done so far, and what it has cost; after the end, what they
    /// did.
    pub fn report(&self) -> Report {
        self.shared.run.report().into()
    }

    /// Returns everything that happens in the session, from its beginning.
    pub fn events(&self) -> Events {
        self.events_after(0)
    }

    /// Returns everything that happens after an event ([`Fact::number`](crate::Fact::number)), for
    /// a program that has seen the events up to there. What was asked before and is still open does
    /// not come again: [`Session::questions`] and [`Session::approvals`] have it.
    pub fn events_after(&self, number: u64) -> Events {
        Events::new(Arc::clone(&self.shared), number)
    }

    /// Compares the work of children: the files that several of them change, and where they
    /// conflict with each other and with the result so far.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended, or if git fails.
    pub async fn compare(&self, children: &[ChildHandle]) -> Result<Comparison> {
        let results = self
            .shared
            .coordinator
            .aggregate(&engines(children))
            .await?;
        Ok(Comparison::from(results))
    }

    /// Merges the work of children into the session's result, in this order, each verified on the
    /// merged tree; waits for those that are at work. Returns what became of each.
    ///
    /// # Errors
    ///
    /// Fails if the session has ended.
    pub async fn merge(&self, children: &[ChildHandle]) -> Result<Vec<Outcome>> {
        let _merging = Merging::begin(&self.shared.merges);
        let reports = self.shared.coordinator.merge(&engines(children)).await?;
        Ok(reports.into_iter().map(Outcome::from).collect())
    }

    /// Runs the tasks of a plan, as `orchestrate run` does: in a run of its own, which is a session
    /// like this one, with its settings and those of the plan's front matter. Its tasks are the
    /// children; they are merged in the plan's order, unless the plan says `merge: review`.
    ///
    /// The same plan after a crash goes on in the same run, and after that has landed, begins anew.
    ///
    /// ```no_run
    /// # use orchestrate::prelude::*;
    /// # async fn example(session: Session) -> orchestrate::Result<()> {
    /// let plan = "# Parser\n\n- [ ] T1 Write the parser\n- [ ] T2 Test it (depends: T1)\n";
    /// let run = session.run_plan(plan).await?;
    /// for task in run.finish().await?.children {
    ///     println!("{} is {}", task.child, task.state);
    /// }
    /// run.land(Land::merge()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the plan can be read in several ways or not at all, or if the run cannot start.
    pub async fn run_plan(&self, plan: impl Into<String>) -> Result<Session> {
        let text: String = plan.into();
        let front = orchestrate_plan::front_matter(&text);
        let (layer, problems) = Layer::of_plan(&front, "the plan");
        if !problems.is_empty() {
            return Err(in_lines(&problems));
        }
        // The same plan is found again by its text.
        let hash = ContentHash::of_file(text.as_bytes());
        let name = format!("{}: {}", self.shared.name, hash.as_str());
        let builder = Builder {
            plan: layer,
            ..self.shared.builder.clone()
        };
        builder.open_run(name, Some(text)).await
    }

    /// Ends the session: what is at work ends first. Work that was not merged stays on its
    /// branches. What the children did can still be read: [`Session::report`],
    /// [`Session::children`], [`ChildHandle::wait`], [`Session::events`].
    ///
    /// # Errors
    ///
    /// Fails if the run could not continue, or if the check of [`Builder::verify`] fails on what
    /// the session began with.
    pub async fn finish(&self) -> Result<Report> {
        self.shared.has_ended.store(true, Ordering::Release);
        self.shared.coordinator.finish().await?;
        Ok(self.report())
    }

    /// Ends the session, and brings its result into the branch that it started from. This is the
    /// only step that moves a branch of the user's.
    ///
    /// # Errors
    ///
    /// Fails if the branch cannot take the result; nothing is lost then, and landing can be
    /// repeated, here or by `orchestrate land`. Where it is refused, the session has ended all the
    /// same: to spawn more children, start it again under its name.
    pub async fn land(&self, how: Land) -> Result<Landed> {
        // Before the end, after which nothing can be merged any more.
        let options = how.options()?;
        self.finish().await?;
        let runs = Archive::open(&self.shared.builder.repository, self.shared.after.clone())?;
        let landed = runs.land(self.shared.run.run_id(), &options).await?;
        Ok(landed.into())
    }
}

impl Builder {
    /// Sets the model of all children: a provider's, such as `anthropic/claude-sonnet-4-5`, or a
    /// [`Model`](crate::Model) of the program's own.
    pub fn model(mut self, model: impl Into<GivenModel>) -> Self {
        match model.into().0 {
            Given::Named(name) => self.typed.push(("model", name)),
            Given::Own { model, price } => self.model = Some(OwnModel { model, price }),
        }
        self
    }

    /// Adds a tool of the program's own. Children have it whose [role](Role::tools) lists it.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a role of the program's own.
    pub fn role(mut self, role: Role) -> Self {
        self.roles.push(role);
        self
    }

    /// Sets the role of children that name none.
    pub fn default_role(mut self, name: impl Into<String>) -> Self {
        self.typed.push(("agent", name.into()));
        self
    }

    /// Adds a rule: calls that match it wait for a decision, which comes as
    /// [`Event::Approval`](crate::Event::Approval).
    ///
    /// A rule is `tool`, for all its calls, or `tool(pattern)`. What the pattern is compared with
    /// depends on the tool, which can be named as agents or other programs name it:
    ///
    /// | rule | matches |
    /// |---|---|
    /// | `Bash(git push:*)` | commands that begin with these words, in any part of a line |
    /// | `Bash(npm test)` | exactly this command |
    /// | `write_file(docs/**)`, `Edit(*.lock)` | files, from the top of the worktree |
    /// | `WebFetch(domain:*.example.org)` | hosts |
    /// | `Bash(domain:crates.io)` | hosts that a command reaches |
    /// | `git_push(origin/agents/*)` | a remote, its branch or its host |
    /// | `mytool` | every call of a tool of the program's own |
    ///
    /// The first that matches decides: of those that deny, then of those that ask, then of those
    /// that allow. A rule that denies or asks matches if any part of a call does, one that allows
    /// only if every part does. The rules of the user and of the project count as well. None gives
    /// a child a tool that its role does not have.
    pub fn ask(self, rule: impl Into<String>) -> Self {
        self.rule(RuleDecision::Ask, rule.into())
    }

    /// Adds a rule: calls that match it may run. See [`ask`](Builder::ask) for what a rule is.
    pub fn allow(self, rule: impl Into<String>) -> Self {
        self.rule(RuleDecision::Allow, rule.into())
    }

    /// Adds a rule: calls that match it may not run. See [`ask`](Builder::ask) for what a rule is.
    pub fn deny(self, rule: impl Into<String>) -> Self {
        self.rule(RuleDecision::Deny, rule.into())
    }

    fn rule(mut self, decision: RuleDecision, rule: String) -> Self {
        self.rules
            .push(RuleText::new(decision, rule, "the program"));
        self
    }

    /// Lets a function decide about each call before the rules do: it can deny the call or change
    /// its arguments. One that takes more than a minute denies. Several are asked in this order,
    /// after the user's hooks and the project's. A call that had to wait is asked about again, and
    /// the answer has to be the same.
    ///
    /// ```no_run
    /// # fn main() -> orchestrate::Result<()> {
    /// let session = orchestrate::Session::open(".")?.before_tool(|call| async move {
    ///     match call.tool() {
    ///         "install_package" => call.deny("the packages are frozen"),
    ///         _ => call.allow(),
    ///     }
    /// });
    /// # Ok(()) }
    /// ```
    pub fn before_tool<F, W>(mut self, hook: F) -> Self
    where
        F: Fn(HookedCall) -> W + Send + Sync + 'static,
        W: Future<Output = Verdict> + Send + 'static,
    {
        self.hooks.push(Arc::new(BeforeTool(hook)));
        self
    }

    /// Lets a function look at each call's result before the child is told it: it can add context,
    /// or say why the result must not be used. One that takes more than a minute refuses it.
    ///
    /// ```no_run
    /// # fn main() -> orchestrate::Result<()> {
    /// let session = orchestrate::Session::open(".")?.after_tool(|result| async move {
    ///     match result.call().tool() {
    ///         "write_file" => result.accept().context("the style guide is docs/style.md"),
    ///         _ => result.accept(),
    ///     }
    /// });
    /// # Ok(()) }
    /// ```
    pub fn after_tool<F, W>(mut self, hook: F) -> Self
    where
        F: Fn(HookedResult) -> W + Send + Sync + 'static,
        W: Future<Output = Verdict> + Send + 'static,
    {
        self.hooks.push(Arc::new(AfterTool(hook)));
        self
    }

    /// Lets a function decide whether a child may hand back its work: it can send it back with what
    /// is to be mended, as often as a failed check would be. One that takes more than a minute
    /// sends it back.
    pub fn before_finish<F, W>(mut self, hook: F) -> Self
    where
        F: Fn(HookedWork) -> W + Send + Sync + 'static,
        W: Future<Output = Verdict> + Send + 'static,
    {
        self.hooks.push(Arc::new(BeforeFinish(hook)));
        self
    }

    /// Calls a function with each event that is recorded from now on, in order, from a thread of
    /// its own. The session does not wait for it, except for a few seconds at its end; what it
    /// misses is in [`Session::events`].
    pub fn on_event(mut self, hook: impl Fn(Fact) + Send + Sync + 'static) -> Self {
        self.hooks.push(Arc::new(OnEvent(hook)));
        self
    }

    /// Sets the cost limit of the session in dollars.
    pub fn budget_usd(mut self, dollars: f64) -> Self {
        self.typed.push(("budget_usd", dollars.to_string()));
        self
    }

    /// Sets the token limit of the session.
    pub fn budget_tokens(mut self, tokens: u64) -> Self {
        self.typed.push(("budget_tokens", tokens.to_string()));
        self
    }

    /// Sets a shell command that has to exit with 0 on every merged tree.
    pub fn verify(mut self, command: impl Into<String>) -> Self {
        self.typed.push(("verify", command.into()));
        self
    }

    /// Sets the maximum number of children at work at once. Each makes one request at a time, so
    /// this is also the limit of requests that a provider gets at once.
    pub fn max_agents(mut self, agents: usize) -> Self {
        self.typed.push(("max_agents", agents.to_string()));
        self
    }

    /// Sets the folder for the state, instead of the one that the program `orchestrate` uses.
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    /// Starts the session of this name: continues the newest run of the name that has not landed,
    /// and that has work which is merged, waits or goes on; or else begins one. A continued run
    /// keeps its rules, its check and its budget, so these have to be the same.
    ///
    /// # Errors
    ///
    /// Fails with the first invalid setting, such as a rule about no tool; if the name is empty; if
    /// there is a budget in dollars but no price of the program's model; if the project has a
    /// command without the user's consent; if the repository or the sandbox cannot be used; or if
    /// another process works on the session.
    pub async fn start(self, name: impl AsRef<str>) -> Result<Session> {
        if name.as_ref().trim().is_empty() {
            return Err(Error::new("failed to start a session: its name is empty"));
        }
        self.open_run(name.as_ref().to_owned(), None).await
    }

    /// Opens the run of a name, which begins with the tasks of a plan if there is one.
    async fn open_run(self, name: String, plan: Option<String>) -> Result<Session> {
        let (builder, place) = (self.clone(), self.repository.clone());
        let has_own_model = self.model.is_some();
        let tools: Vec<String> = self
            .tools
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        let settings = self.into_settings()?;
        let after = LandingSettings::from(&settings);
        // It looks at the repository, and tries the sandbox.
        let opening = tokio::task::spawn_blocking(move || Coordinator::open(&place, settings));
        let coordinator = opening
            .await
            .map_err(|_| Error::new("failed to open the repository: a thread panicked"))??;
        require_rules(&coordinator)?;
        require_tools_in_roles(&coordinator, &tools)?;
        coordinator.require_model().await?;
        let run = match plan {
            None => coordinator.open_session(&name).await?,
            Some(text) => {
                let plan = read_plan(&coordinator, text)?;
                coordinator.open_session_of_plan(&name, plan).await?
            }
        };
        Ok(Session {
            shared: Arc::new(Shared {
                name,
                builder,
                coordinator,
                run,
                after,
                has_own_model,
                merges: watch::Sender::new(0),
                has_ended: AtomicBool::new(false),
            }),
            texts: Arc::default(),
        })
    }

    /// Returns the settings that the program `orchestrate` would have if the user had typed what
    /// the program sets, with what only a program has.
    fn into_settings(self) -> Result<Settings> {
        let directories = Directories::find(&self.variables)
            .map_err(|problem| Error::new(problem.to_string()))?;
        let checkout = project_root(&self.repository);
        let inputs = Inputs {
            flags: Layer::of_flags(self.typed).map_err(|problems| in_lines(&problems))?,
            plan: self.plan,
            tools: tool_names(Some(&directories.config), checkout.as_deref())?,
            directory: self.repository.clone(),
            headless: false,
            variables: self.variables,
            directories,
        };
        if let Some(role) = self.roles.iter().find(|role| role.0.model.is_some())
            && self.model.is_some()
        {
            return Err(Error::new(format!(
                "failed to give the role {} a model: all children of this session ask the \
                 program's own model",
                role.0.name
            )));
        }
        let loaded = inputs.load().map_err(|problems| in_lines(&problems))?;
        let mut settings = settings_of(&loaded, &inputs.directories);
        settings.state_dir = self.state_dir.unwrap_or(settings.state_dir);
        require_consent(&loaded, &inputs.directories, &self.repository)?;
        if let Some(OwnModel { model, price }) = self.model {
            if let Some(price) = price {
                let prices = &mut settings.run.prices;
                prices.insert(OWN_MODEL.to_owned(), engine_price(price));
            } else if settings.run.budget_micro_usd.is_some() {
                return Err(Error::new(
                    "failed to limit the cost: budget_usd needs the model's price; return it from \
                     Model::price",
                ));
            }
            settings.run.model = Some(OWN_MODEL.to_owned());
            settings.model = Some(model);
        } else {
            // A role or a file of the project chooses no provider that the user has not allowed.
            let roles = Roles::without_project(settings.user_config_dir.as_deref(), &inputs.tools)?;
            let allowed = vendors_of(&loaded, &roles, &[])?.allowed;
            settings.run.allowed_providers = Some(allowed);
        }
        // Calls that a rule asks about wait for the program.
        settings.run.ask_parks = true;
        settings.run.rules.extend(self.rules);
        settings.roles = self.roles.into_iter().map(|role| role.0).collect();
        settings.tools = self.tools;
        settings.hooks = self.hooks;
        Ok(settings)
    }
}

/// Reads a plan for a run.
fn read_plan(coordinator: &Coordinator, text: String) -> Result<PlanInput> {
    let known = known_names(&coordinator.roles()?, true);
    let settings = &coordinator.settings().run;
    let read = Plan::parse(&text, &known).and_then(|plan| {
        let plan = plan.within(settings);
        match orchestrate_plan::unfit(&plan, settings, &known) {
            unfit if unfit.is_empty() => Ok(plan),
            unfit => Err(unfit),
        }
    });
    let plan = read.map_err(|findings| {
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Error::new(format!("failed to read the plan:\n{}", lines.join("\n")))
    })?;
    Ok(PlanInput {
        title: plan.title,
        tasks: plan.tasks,
        text,
        ..PlanInput::default()
    })
}

/// Requires the user's consent to each command of the project's own files.
fn require_consent(loaded: &Loaded, directories: &Directories, repository: &Path) -> Result<()> {
    if loaded.commands.is_empty() {
        return Ok(());
    }
    let state = Path::new(&directories.state);
    let consents = Consents::load(state).map_err(Error::new)?;
    for command in Project::open(repository, state)?.commands(loaded)? {
        if !consents.covers(&command) {
            return Err(Error::new(format!(
                "{}: the project's command for `{}` needs the user's consent: inspect it, then \
                 type `orchestrate config trust` there, or set it in the program:\n{}",
                command.place, command.key, command.command
            )));
        }
    }
    Ok(())
}

fn in_lines(problems: &[Problem]) -> Error {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Error::new(lines.join("\n"))
}

fn engine_price(price: Price) -> EnginePrice {
    let input = micro_dollars(price.input);
    let rates = Rates {
        input,
        cached: input,
        output: micro_dollars(price.output),
    };
    EnginePrice { rates, long: None }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a cast of a number that is out of range saturates"
)]
fn micro_dollars(dollars: f64) -> u64 {
    (dollars * DOLLAR as f64).round() as u64
}

fn engines(children: &[ChildHandle]) -> Vec<engine::ChildHandle> {
    children.iter().map(|child| child.handle.clone()).collect()
}

/// Requires that each rule can be read and is about a tool that exists: one without effect would be
/// taken for a limit.
fn require_rules(coordinator: &Coordinator) -> Result<()> {
    let tools = coordinator.tools()?;
    let problems = rule_problems(&coordinator.settings().run.rules, tools.registry.names());
    if problems.is_empty() {
        return Ok(());
    }
    Err(in_lines(&problems))
}

/// Requires that a role lists each tool of the program's own: no child would have it otherwise.
fn require_tools_in_roles(coordinator: &Coordinator, tools: &[String]) -> Result<()> {
    let roles = coordinator.roles()?;
    for tool in tools {
        let mut listed = roles
            .iter()
            .filter_map(|(_, found)| found.role.tools.as_ref());
        if !listed.any(|tools| tools.contains(tool)) {
            return Err(Error::new(format!(
                "failed to give any child the tool {tool}: no role has it; name it in Role::tools \
                 of the role whose children are to call it"
            )));
        }
    }
    Ok(())
}

impl From<AggregatedResults> for Comparison {
    fn from(results: AggregatedResults) -> Self {
        Self {
            shared_files: results.overlaps.into_iter().map(|file| file.path).collect(),
            conflicts: results.conflicts.into_iter().map(Conflict::from).collect(),
            diff: results.diff,
        }
    }
}

impl From<BranchConflict> for Conflict {
    fn from(conflict: BranchConflict) -> Self {
        let with = match conflict.with {
            Counterpart::Agent(agent) => Some(agent.to_string()),
            Counterpart::Yours | Counterpart::Result => None,
        };
        Self {
            child: conflict.agent_id.to_string(),
            with,
            files: conflict.files.into_iter().map(|file| file.path).collect(),
        }
    }
}
