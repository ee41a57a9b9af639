//! The context of every command: the current directory, the environment and the terminal.
//!
//! The environment is read only here, once, and is passed on as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use orchestrate_coordinator::{
    Archive, Moved, Project, Settings, UnaskedVendor, Vendor, Vendors, redactor_of, settings_of,
};
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::{CallHash, RunId, RunState, TaskId};
use orchestrate_journal::Store;
use orchestrate_settings::consent::{Consents, ProjectCommand};
use orchestrate_settings::{Directories, Inputs, Layer, Loaded, named, project_root};

use crate::error::{CommandError, ErrorKind};
use crate::show::terminal::Terminal;
use crate::show::{output, parked_call, project_command};

/// The context of a command.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The process's environment, without variables that are not UTF-8, since these cannot be
    /// settings.
    pub(crate) variables: BTreeMap<String, String>,
    /// The directory that the program was started in.
    pub(crate) directory: PathBuf,
    /// What can be shown, and whether the user can be asked.
    pub(crate) terminal: Terminal,
}

impl Context {
    /// Reads the context of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub(crate) fn of_process() -> Result<Context, CommandError> {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let directory = std::env::current_dir().map_err(|error| {
            CommandError::usage(format!("failed to find the current directory: {error}"))
        })?;
        let terminal = Terminal::of_process(&variables);
        Ok(Context {
            variables,
            directory,
            terminal,
        })
    }

    /// Returns the user's directories.
    pub(crate) fn directories(&self) -> Result<Directories, CommandError> {
        Ok(Directories::find(&self.variables)?)
    }

    /// Reads what the user has consented to.
    pub(crate) fn consents(&self) -> Result<Consents, CommandError> {
        Ok(Consents::load(&self.directories()?.state)?)
    }

    /// Merges the settings of the command line and of a plan with every other source.
    pub(crate) fn load(
        &self,
        typed: Vec<(&'static str, String)>,
        plan: Layer,
    ) -> Result<Loaded, CommandError> {
        let inputs = Inputs {
            tools: self.tool_names()?,
            flags: Layer::of_flags(typed)?,
            plan,
            variables: self.variables.clone(),
            directories: self.directories()?,
            directory: self.directory.clone(),
            headless: self.terminal.headless,
        };
        let loaded = inputs.load()?;
        self.hide(&loaded.environment, None);
        Ok(loaded)
    }

    /// Returns the names that permission rules may have here.
    pub(crate) fn tool_names(&self) -> Result<ToolNames, CommandError> {
        let (of_user, checkout) = (self.directories()?.config, project_root(&self.directory));
        orchestrate_coordinator::tool_names(Some(&of_user), checkout.as_deref())
            .map_err(CommandError::at_start)
    }

    /// Returns the output format that sources other than the command line set. If the settings are
    /// invalid, only the environment variable counts, since the error itself has to be reported in
    /// some format.
    pub(crate) fn output_format(&self) -> Option<String> {
        match self.load(Vec::new(), Layer::default()) {
            Ok(loaded) => loaded.resolved.text("output_format"),
            Err(_) => self
                .variables
                .get(&named("output_format")?.variable())
                .cloned(),
        }
    }

    /// Opens the repository around the directory that the program was started in.
    pub(crate) fn project(&self) -> Result<Project, CommandError> {
        let project = Project::open(&self.directory, &self.directories()?.state)?;
        self.hide(&BTreeMap::new(), Some(&project));
        Ok(project)
    }

    /// Redacts the secrets of the environment, of the user's file and of the repository from all
    /// further output.
    fn hide(&self, of_file: &BTreeMap<String, String>, project: Option<&Project>) {
        let mut variables = self.variables.clone();
        variables.extend(of_file.clone());
        output::hide(project.map_or_else(
            || redactor_of(&variables, None, None),
            |project| project.redactor(&variables),
        ));
    }

    /// Opens the store of the repository's runs; fails if there are none.
    pub(crate) fn store(&self) -> Result<Store, CommandError> {
        let project = self.project()?;
        let mut store = project.store()?;
        if store.is_none() && project.follow_move(output::note)? {
            store = project.store()?;
        }
        if let Some(store) = store
            && store.latest_run()?.is_some()
        {
            return Ok(store);
        }
        let state = self.directories()?.state;
        match project.moved(&state) {
            Some(moved) => Err(has_moved(&moved)),
            None => Err(no_run()),
        }
    }

    /// Finds a run by a prefix of its id, or the latest one.
    pub(crate) fn find_run(&self, prefix: Option<&str>) -> Result<(Store, RunId), CommandError> {
        let store = self.store()?;
        let run = match prefix {
            Some(prefix) => store.find_run(prefix)?,
            None => store.latest_run()?.ok_or_else(no_run)?,
        };
        Ok((store, run))
    }

    /// Reports whether an argument that may be a run or a task is a prefix of a run's id. A task
    /// never has the form of a whole run id, but may have that of a prefix; a task of the latest
    /// run then takes precedence.
    pub(crate) fn is_run(&self, typed: &str) -> Result<bool, CommandError> {
        if RunId::is_run_id(typed) || !typed.starts_with("r-") {
            return Ok(typed.starts_with("r-"));
        }
        let (store, latest) = self.find_run(None)?;
        Ok(store.state(&latest)?.task(&TaskId::from(typed)).is_none())
    }

    /// Opens the repository's runs for reviewing, landing, cleaning and recovering them.
    pub(crate) fn runs(&self) -> Result<Archive, CommandError> {
        let loaded = self.load(Vec::new(), Layer::default())?;
        Ok(Archive::open(&self.directory, self.settings(&loaded)?)?)
    }

    /// Returns the settings for opening a repository; unless output is quiet, they tell the user
    /// what is waited for.
    pub(crate) fn settings(&self, loaded: &Loaded) -> Result<Settings, CommandError> {
        let settings = settings_of(loaded, &self.directories()?);
        if loaded.resolved.is_on("quiet") {
            return Ok(settings);
        }
        Ok(Settings {
            warn: output::warning,
            waiting: |waiting| output::note(&waiting.to_string()),
            ..settings
        })
    }

    /// Returns the commands that need the user's consent, with what those with the network can do.
    pub(crate) fn commands(&self, loaded: &Loaded) -> Result<Vec<ProjectCommand>, CommandError> {
        // Only for those is the repository looked at.
        let have_network = loaded
            .commands
            .iter()
            .any(|command| command.network.is_some());
        match have_network {
            true => Ok(self.project()?.commands(loaded)?),
            false => Ok(loaded.commands.clone()),
        }
    }

    /// Asks about each file of the project that defines a tool and that the user does not trust
    /// yet, if the user can be asked; the others stay without effect. Returns whether the user
    /// trusts another one now.
    pub(crate) fn offer_tools(
        &self,
        project: &Project,
        loaded: &Loaded,
    ) -> Result<bool, CommandError> {
        if !self.terminal.can_ask {
            return Ok(false);
        }
        let (base, directories) = (loaded.resolved.text("base"), self.directories()?);
        let tools = project.tools(base.as_deref(), Some(&directories.config))?;
        let mut consents = Consents::load(&directories.state)?;
        let mut is_any = false;
        for file in tools.untrusted {
            let whole = format!(
                "{} defines a tool for agents\n{}",
                file.place,
                project_command::render(&file)
            );
            let question = "Let agents use it in this repository from now on? [y/N] ";
            if parked_call::show(&whole)? && output::confirm(question) {
                consents.give(file)?;
                is_any = true;
            }
        }
        Ok(is_any)
    }

    /// Requires the user's consent to every command in the project's files, and asks for it if
    /// possible.
    pub(crate) fn require_consent(&self, commands: &[ProjectCommand]) -> Result<(), CommandError> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut consents = self.consents()?;
        for command in commands {
            if consents.covers(command) {
                continue;
            }
            if !self.terminal.can_ask {
                return Err(refusal(command));
            }
            let (place, key) = (&command.place, &command.key);
            let whole = format!(
                "{place} wants to run this command in the sandbox, as `{key}`\n{}",
                project_command::render(command)
            );
            let question = match command.network {
                Some(_) => "Allow it with the network, in this repository from now on? [y/N] ",
                None => "Allow it in this repository from now on? [y/N] ",
            };
            if !parked_call::show(&whole)? || !output::confirm(question) {
                return Err(refusal(command));
            }
            consents.give(command.clone())?;
        }
        Ok(())
    }
}

impl Context {
    /// Requires the user's consent to every provider that a plan, a role or the project chooses,
    /// and asks for it if possible. Returns the names of all providers that the run may use.
    pub(crate) fn require_vendors(
        &self,
        vendors: &Vendors,
    ) -> Result<BTreeSet<String>, CommandError> {
        for unasked in self.without_consent(vendors)? {
            if !self.terminal.can_ask || !confirms(unasked)? {
                return Err(vendor_refusal(unasked));
            }
            let consent = self.provider_consent(&unasked.vendor, &unasked.place);
            self.consents()?.give(consent)?;
        }
        let mut names: BTreeSet<String> = vendors.allowed.iter().cloned().collect();
        let unasked = vendors.unasked.iter();
        names.extend(unasked.map(|unasked| unasked.vendor.provider.clone()));
        Ok(names)
    }

    /// Returns the providers among these that the user has neither allowed nor consented to.
    pub(crate) fn without_consent<'v>(
        &self,
        vendors: &'v Vendors,
    ) -> Result<Vec<&'v UnaskedVendor>, CommandError> {
        if vendors.unasked.is_empty() {
            return Ok(Vec::new());
        }
        let consents = self.consents()?;
        let mut open = Vec::new();
        for unasked in &vendors.unasked {
            if !consents.covers(&self.provider_consent(&unasked.vendor, &unasked.place)) {
                open.push(unasked);
            }
        }
        Ok(open)
    }

    /// Returns the consent to a provider in the repository around the directory that the program
    /// was started in.
    pub(crate) fn provider_consent(&self, vendor: &Vendor, place: &str) -> ProjectCommand {
        let root = project_root(&self.directory).unwrap_or_else(|| self.directory.clone());
        let project = root.canonicalize().unwrap_or(root);
        ProjectCommand::of_provider(project, &vendor.provider, &vendor.endpoint, place)
    }
}

/// Shows a provider that others have chosen, and asks for the user's consent.
fn confirms(unasked: &UnaskedVendor) -> Result<bool, CommandError> {
    let UnaskedVendor {
        vendor,
        model,
        place,
    } = unasked;
    let whole = format!(
        "{place} chooses {model}: {} would get this repository's code, at {}, and be paid with \
         your key\n",
        vendor.provider, vendor.endpoint
    );
    let question = format!(
        "Allow {} in this repository from now on? [y/N] ",
        vendor.provider
    );
    Ok(parked_call::show(&whole)? && output::confirm(&question))
}

fn vendor_refusal(unasked: &UnaskedVendor) -> CommandError {
    let UnaskedVendor {
        vendor,
        model,
        place,
    } = unasked;
    let message = format!(
        "{place} chooses {model}, but you have not allowed the provider `{}` (at {}), which would \
         get this repository's code; nothing was run",
        vendor.provider, vendor.endpoint
    );
    CommandError::new(ErrorKind::Usage, message)
        .hint(format!(
            "`orchestrate config trust --provider {}` allows it in this repository",
            vendor.provider
        ))
        .hint(
            "`--model` or `model` in your own configuration chooses another one for tasks that \
             name none",
        )
}

/// What the user names to approve or to reject it: an id, or a prefix of one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// Of a task or of a call.
    Either(&'a str),
    /// Of a task.
    Task(&'a str),
    /// Of a call.
    Call(&'a str),
}

/// What the user approves or rejects.
pub(crate) enum Subject {
    /// A task's work.
    Task(TaskId),
    /// A parked tool call.
    Call(CallHash),
}

/// Finds a task by its id, or by a prefix of it that fits no other task.
pub(crate) fn task_of(state: &RunState, typed: &str) -> Result<TaskId, CommandError> {
    let task = TaskId::from(typed);
    if state.task(&task).is_some() {
        return Ok(task);
    }
    let ids = state.tasks().map(|record| &record.task.id);
    let fits: Vec<&TaskId> = ids
        .filter(|id| !typed.is_empty() && id.as_str().starts_with(typed))
        .collect();
    match fits.as_slice() {
        [] => {}
        [task] => return Ok((*task).clone()),
        several => {
            let error = CommandError::usage(format!("several tasks begin with '{typed}'"));
            let hint = format!("type more of one of these: {}", output::joined(several));
            return Err(error.hint(hint));
        }
    }
    let message = format!("there is no task '{typed}' in run {}", state.run_id);
    let error = CommandError::usage(message);
    let known = state.tasks().map(|record| record.task.id.as_str());
    let otherwise = format!("`orchestrate status {}` lists the tasks", state.run_id);
    Err(error.did_you_mean(typed, known, otherwise))
}

/// Finds a task or a parked call by its id or a prefix of it that fits nothing else.
pub(crate) fn subject_of(state: &RunState, target: Target<'_>) -> Result<Subject, CommandError> {
    match target {
        Target::Either(typed) => task_or_call(state, typed),
        Target::Task(typed) => task_of(state, typed).map(Subject::Task),
        Target::Call(typed) => call_of(state, typed).map(Subject::Call),
    }
}

fn task_or_call(state: &RunState, typed: &str) -> Result<Subject, CommandError> {
    let task = task_of(state, typed);
    if task.as_ref().is_ok_and(|task| task.as_str() == typed) {
        return task.map(Subject::Task);
    }
    match (calls_of(state, typed).as_slice(), task) {
        ([], Err(_)) if state.is_decided(typed) => Err(is_decided(typed)),
        ([], task) => task.map(Subject::Task),
        ([call], Err(_)) => Ok(Subject::Call((*call).clone())),
        (_, Err(_)) => Err(several_calls(typed)),
        (_, Ok(task)) => {
            let error =
                CommandError::usage(format!("the task {task} and a call begin with '{typed}'"));
            Err(error.hint("type more of either"))
        }
    }
}

/// Finds a parked call by its id or a prefix of it that fits no other.
fn call_of(state: &RunState, typed: &str) -> Result<CallHash, CommandError> {
    match calls_of(state, typed).as_slice() {
        [call] => Ok((*call).clone()),
        [] if state.is_decided(typed) => Err(is_decided(typed)),
        [] => {
            let run = &state.run_id;
            let message = format!("no call '{typed}' waits for a decision in run {run}");
            Err(CommandError::usage(message)
                .hint(format!("`orchestrate status {run}` lists those that do")))
        }
        _ => Err(several_calls(typed)),
    }
}

/// Returns the parked calls whose ids begin so.
fn calls_of<'a>(state: &'a RunState, typed: &str) -> Vec<&'a CallHash> {
    let calls = state.open_approvals().map(|asked| asked.0);
    calls
        .filter(|call| !typed.is_empty() && call.as_str().starts_with(typed))
        .collect()
}

fn is_decided(typed: &str) -> CommandError {
    CommandError::usage(format!("call {typed} has been answered already"))
}

fn several_calls(typed: &str) -> CommandError {
    CommandError::usage(format!(
        "several calls begin with '{typed}'; give more digits"
    ))
}

/// Returns the error that the runs were recorded at another path, with the commands that move them.
fn has_moved(moved: &Moved) -> CommandError {
    let message = format!(
        "this repository has had no run since it was moved here; its runs were recorded at {}",
        moved.was.display()
    );
    let commands = moved.commands.join("` and `");
    CommandError::usage(message).hint(format!("`{commands}` move them here"))
}

fn no_run() -> CommandError {
    CommandError::usage("this repository has no runs")
        .hint("`orchestrate run PLAN` starts one; `orchestrate demo` runs an example")
}

fn refusal(command: &ProjectCommand) -> CommandError {
    let (place, key) = (&command.place, &command.key);
    let what = match command.network {
        Some(_) => "consent to use the network",
        None => "consent",
    };
    let refused = CommandError::usage(format!(
        "{place}: the project's command for `{key}` needs your {what}; nothing was run:\n{}",
        project_command::render(command).trim_end()
    ))
    .hint("inspect it, then type `orchestrate config trust`");
    let other_way = match key.as_str() {
        "verify" => "--verify CMD",
        "worktree.setup" => "`worktree.setup` in your own configuration file",
        // A hook is no command that another one replaces.
        _ => return refused,
    };
    refused.hint(format!("or set a command yourself: {other_way}"))
}
