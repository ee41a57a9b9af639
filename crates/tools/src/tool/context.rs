//! The context of one execution of a tool, created with its permit and never stored in the tool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::policy::host::{Host, HostPattern};
use orchestrate_core::policy::tool_settings::WebRequests;
use orchestrate_core::policy::web::Destinations;
use orchestrate_core::policy::{Access, Permission};
use orchestrate_core::{AgentId, CallId};
use orchestrate_sandbox::{
    Cancel, Downloads, Exit, Finished, HostView, Job, Sandbox, SandboxError, View,
};
use tokio::sync::oneshot;

use super::package_cache;
use crate::answer::{Notes, ReadLedger, ToolError, shape};
use crate::call::{
    CallLimits, CallScope, Command, CpuTurn, HostGuard, Meter, PathGuard, Permit, SharedValues,
};
use crate::files::Files;
use crate::services::{DecidedHosts, ProxiedProgram, Services, ShowsPath};

/// How a command with a proxy ended, or why it did not start, and what was decided about the hosts
/// that it asked for.
pub(crate) type Led = (Result<Finished, SandboxError>, DecidedHosts);

/// Why a command was not run.
pub(crate) enum StartError {
    /// It could not be started.
    Sandbox(SandboxError),
    /// It was not to be started.
    Tool(ToolError),
}

impl From<SandboxError> for StartError {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error)
    }
}

impl From<ToolError> for StartError {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<StartError> for ToolError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Sandbox(error) => ToolError::not_started(&error),
            StartError::Tool(error) => error,
        }
    }
}

/// One permitted execution: the calling agent, its worktree and its limits.
pub struct ToolContext {
    permit: Permit,
    scope: CallScope,
    files: Files,
    guard: PathGuard,
    meter: Meter,
    call: CallId,
}

impl ToolContext {
    pub(crate) fn new(
        permit: Permit,
        guard: PathGuard,
        scope: CallScope,
        call: &CallId,
    ) -> ToolContext {
        let meter = Meter::default();
        let files = Files::of_call(&scope, guard.clone(), meter.clone());
        ToolContext {
            permit,
            scope,
            files,
            guard,
            meter,
            call: call.clone(),
        }
    }

    pub(crate) fn scope(&self) -> &CallScope {
        &self.scope
    }

    /// Multiplies the time limit of commands by this.
    pub(crate) fn lengthen(&mut self, factor: u32) {
        self.scope.limits.time_factor = self.scope.limits.time_factor.saturating_mul(factor);
    }

    /// Returns the permit that lets this execution run.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Returns the calling agent.
    pub fn agent(&self) -> &AgentId {
        &self.scope.agent
    }

    /// Returns the call.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Returns the limits of one call.
    pub fn limits(&self) -> &CallLimits {
        &self.scope.limits
    }

    /// Returns the cancellation that ends the call.
    pub fn cancel(&self) -> &Cancel {
        &self.scope.cancel
    }

    /// Tells the run's followers how far the call is; nothing is recorded.
    pub fn progress(&self, text: &str) {
        self.services().recorder.progress(&self.call, text);
    }

    /// Returns the services outside the worktree.
    pub fn services(&self) -> &Services {
        &self.scope.services
    }

    /// Returns the ledger of the file versions that the agent has seen.
    pub fn ledger(&self) -> &ReadLedger {
        &self.scope.ledger
    }

    /// Returns the agent's notes.
    pub(crate) fn notes(&self) -> &Notes {
        &self.scope.notes
    }

    /// Returns the values that the tools of the run share.
    pub fn shared(&self) -> &SharedValues {
        &self.scope.shared
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the path of the worktree, for processes and messages only; files are never opened by
    /// it.
    pub fn worktree(&self) -> &Path {
        &self.scope.worktree.path
    }

    /// Asks the policy about a program that the call did not name, with its arguments.
    ///
    /// # Errors
    /// `Denied` if a rule denies it, or asks about it and was not approved with the call.
    pub fn check_program(&self, argv: &[String]) -> Result<(), ToolError> {
        self.guard.check_program(argv)
    }

    /// Returns what asks the policy about files that the call did not name, and that it writes.
    pub(crate) fn write_guard(&self) -> PathGuard {
        PathGuard {
            access: Access::Write,
            ..self.guard.clone()
        }
    }

    /// Returns what decides where the connections of a tool may lead, if its call names these
    /// hosts.
    pub(crate) fn host_guard(&self, tool: &'static str, named: Vec<Host>) -> HostGuard {
        HostGuard::of_tool(&self.guard, tool, named, self.permit.decision().rule())
    }

    /// Returns what the user lets tools do on the web.
    pub(crate) fn web(&self) -> &WebRequests {
        &self.scope.web
    }

    /// Returns a function that reports whether the policy lets the tool show the content of a file.
    /// Rules about reading hold for an agent that may read files.
    pub(crate) fn shows_path(&self) -> ShowsPath {
        let reads = self
            .scope
            .grant
            .permissions
            .contains(&Permission::FileRead)
            .then_some(Access::Read);
        let guards: Vec<PathGuard> = [Some(Access::Own), reads]
            .into_iter()
            .flatten()
            .map(|access| PathGuard {
                access,
                ..self.guard.clone()
            })
            .collect();
        Arc::new(move |path: &str| guards.iter().all(|guard| guard.check(path).is_ok()))
    }

    /// Runs a command in the sandbox and waits for its end; what it used counts for the call.
    ///
    /// The rules about commands hold for it, and the agent's role has to grant the execution of
    /// code. Programs of the project that the tool runs are named by the call's own effects, if a
    /// user should be able to approve them.
    ///
    /// # Errors
    /// `Denied` as [`ToolContext::check_program`]; `Timeout` with the output until then;
    /// `Interrupted` if the call was cancelled; `Retry` or `Denied` for a working directory that
    /// does not exist or is outside the worktree; `Execution` if the command cannot be started. A
    /// command that fails is no error.
    pub async fn run(&self, command: Command) -> Result<Finished, ToolError> {
        self.check_program(&command.argv)?;
        let timeout = command.time_limit(self.limits());
        let finished = self.start(command).await?;
        let output = || format!("{}{}", finished.stdout.text(), finished.stderr.text());
        match finished.exit {
            Exit::TimedOut => Err(ToolError::timeout(timeout.as_secs(), output())),
            Exit::Cancelled => Err(ToolError::Interrupted("the command was killed".to_owned())),
            _ => Ok(finished),
        }
    }

    /// Runs a command that the policy has allowed.
    pub(crate) async fn start(&self, command: Command) -> Result<Finished, StartError> {
        let turn = self.scope.agent_cpu.turn().await?;
        let job = self.job(command, turn.left()).await?;
        let run = self.scope.sandbox.run_async(job, self.cancel().clone());
        Ok(self.metered(turn, run.await)?)
    }

    /// Runs a command in the same way, with a proxy: it reaches these hosts, and those that a rule
    /// allows. Returns what was decided about the hosts that it asked for as well.
    pub(crate) async fn start_proxied(
        &self,
        command: Command,
        tool: &'static str,
        named: Vec<HostPattern>,
    ) -> Result<Led, ToolError> {
        let guard = HostGuard::of_program(&self.guard, tool, named, self.permit.decision().rule());
        self.start_led(command, Arc::new(guard)).await
    }

    /// Runs a command in the same way, with a proxy that leads to these destinations.
    pub(crate) async fn start_led(
        &self,
        command: Command,
        destinations: Arc<dyn Destinations>,
    ) -> Result<Led, ToolError> {
        let turn = self.scope.agent_cpu.turn().await?;
        let job = self.job(command, turn.left()).await?;
        self.lead(turn, &self.scope.sandbox, job, destinations)
            .await
    }

    /// Creates a folder with these files, for commands that download packages for the run's other
    /// jobs; `None` if those have no folder to read them from.
    pub(crate) async fn downloads(
        &self,
        files: Vec<(&'static str, String)>,
    ) -> Result<Option<Downloads>, ToolError> {
        let sandbox = Arc::clone(&self.scope.sandbox);
        let make = move |_: &Files, _: &Cancel| {
            let files: Vec<(&str, &[u8])> = files
                .iter()
                .map(|(name, text)| (*name, text.as_bytes()))
                .collect();
            sandbox
                .downloads(&files)
                .map_err(|error| ToolError::Execution(error.to_string()))
        };
        self.blocking(make).await
    }

    /// Runs a command in such a folder, where it sees nothing of the worktree, with a proxy that
    /// leads to these destinations.
    pub(crate) async fn start_download(
        &self,
        command: Command,
        folder: &Downloads,
        destinations: Arc<dyn Destinations>,
    ) -> Result<Led, ToolError> {
        let turn = self.scope.agent_cpu.turn().await?;
        let view = View::Host(HostView::default());
        let job = command.into_job(view, folder.path().to_owned(), self.limits(), turn.left());
        self.lead(turn, folder.sandbox(), job, destinations).await
    }

    async fn lead(
        &self,
        turn: CpuTurn,
        sandbox: &Sandbox,
        job: Job,
        destinations: Arc<dyn Destinations>,
    ) -> Result<Led, ToolError> {
        let (hand_over, listener) = oneshot::channel();
        // If nobody takes it, the command has been stopped already.
        let accepts = move |listener| drop(hand_over.send(listener));
        let decided = DecidedHosts::default();
        let serving = async {
            let Ok(listener) = listener.await else {
                return std::future::pending().await;
            };
            let (call, decided) = (self.call.clone(), decided.clone());
            self.services()
                .egress
                .serve(ProxiedProgram {
                    call,
                    listener,
                    destinations,
                    decided,
                })
                .await
        };
        tokio::select! {
            // A socket that has been handed out is served, however short the command runs.
            biased;
            error = serving => Err(error.into()),
            finished = sandbox.run_proxied_async(job, self.cancel().clone(), accepts) => {
                Ok((self.metered(turn, finished), decided))
            }
        }
    }

    /// Returns the job that runs a command with at most this processor time.
    async fn job(&self, mut command: Command, cpu: Option<Duration>) -> Result<Job, ToolError> {
        if command.argv.is_empty() {
            return Err(ToolError::Execution("the command is empty".to_owned()));
        }
        let cwd = command.cwd.clone();
        let view = self.scope.worktree.view.clone();
        let (cwd, caches, view) = self
            .blocking(move |files, _| {
                Ok((
                    files.working_directory(&cwd)?,
                    package_cache::used(files),
                    view.now(),
                ))
            })
            .await?;
        for (name, path) in caches {
            let path = self.worktree().join(path).to_string_lossy().into_owned();
            command.env.entry(name.to_owned()).or_insert(path);
        }
        Ok(command.into_job(view, cwd, self.limits(), cpu))
    }

    /// Counts what a command used, and ends its turn.
    fn metered(
        &self,
        turn: CpuTurn,
        finished: Result<Finished, SandboxError>,
    ) -> Result<Finished, SandboxError> {
        if let Ok(Finished {
            usage: Some(usage), ..
        }) = &finished
        {
            self.meter.add_command(usage);
            turn.end(usage.cpu);
        }
        finished
    }

    /// Returns the maximum size of the result in bytes; longer results lose their middle.
    pub fn result_bytes(&self) -> usize {
        shape::allowed_bytes(self.scope.result_tokens)
    }

    /// Runs file or CPU work on a thread for blocking work. A panic becomes an `Execution` failure.
    ///
    /// # Errors
    /// Returns the error of the work; also `Execution` if it panics, `Interrupted` if the runtime
    /// is shutting down.
    pub async fn blocking<T, W>(&self, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Files, &Cancel) -> Result<T, ToolError> + Send + 'static,
    {
        blocking(&self.files, self.cancel(), work).await
    }
}

/// Runs work on files on a thread for blocking work; what it takes counts where the files do.
///
/// # Errors
/// As [`ToolContext::blocking`].
pub(crate) async fn blocking<T, W>(files: &Files, cancel: &Cancel, work: W) -> Result<T, ToolError>
where
    T: Send + 'static,
    W: FnOnce(&Files, &Cancel) -> Result<T, ToolError> + Send + 'static,
{
    let (files, cancel) = (files.clone(), cancel.clone());
    let work = move || {
        files
            .meter()
            .timed(|| catch_unwind(AssertUnwindSafe(|| work(&files, &cancel))))
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(panicked(panic.as_ref())),
        Err(_) => Err(ToolError::Interrupted("the program is ending".to_owned())),
    }
}

/// Creates the error for a tool that panicked.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    ToolError::Execution(format!("the tool panicked: {text}"))
}
