//! The command line, without the meaning of its values.
//!
//! Values of settings stay text until [`SettingsArgs::values`] passes them to the one table of
//! settings, which parses flags, variables and files alike. `orchestrate PLAN` is `orchestrate run
//! PLAN` ([`with_run`]).

mod audit;
mod candidates;
mod reading;
mod removal;
mod requests;
mod shared;
mod tool;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_settings::{Key, Kind, named};

pub(crate) use self::audit::{AuditArgs, AuditCommand, AuditVerifyArgs};
pub(crate) use self::reading::{MODEL, ReadArgs, ReadWay};
pub(crate) use self::removal::{CleanArgs, DiscardArgs, RecoverArgs};
pub(crate) use self::requests::{
    Adopting, Approval, FileLine, Rejection, RequestArgs, RetryArgs, Retrying, Saying, StopArgs,
    Stopping,
};
pub(crate) use self::shared::{JsonArgs, JsonLinesArgs, OutputArgs, RunOption, WhichRun};
use self::shared::{on, words};
pub(crate) use self::tool::{CacheArgs, CacheCommand, ToolArgs, ToolCommand, ToolRunArgs};
pub(crate) use self::tools::{DocsFormat, ToolsArgs, ToolsCommand};

/// Stands below the list of commands.
const FIRST_STEPS: &str = "`orchestrate PLAN` is short for `orchestrate run PLAN`. First steps: \
                           `orchestrate demo` shows a whole run; `orchestrate doctor` says what a \
                           run in your project needs.";

/// Runs the tasks of a Markdown plan, or a goal, with coding agents in parallel and merges their
/// work into one verified branch.
#[derive(Debug, Parser)]
#[command(
    name = "orchestrate",
    version,
    arg_required_else_help = true,
    subcommand_required = true
)]
#[command(after_help = FIRST_STEPS)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Everything that can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a sample project with scripted model replies; needs no key and no network
    Demo(DemoArgs),
    /// Write a commented orchestrate.toml
    Init(InitArgs),
    /// Check git, repository, sandbox, keys and endpoints, and print the fix for each problem
    Doctor(DoctorArgs),
    /// Show what a plan would run, without calling a model
    Check(CheckArgs),
    /// Make a plan of a goal, or rewrite a document as one, with a model; nothing of it is run
    Plan(Box<PlanArgs>),
    /// Run a plan, or work on a goal
    Run(Box<RunArgs>),
    /// Show the state of a run, and what waits for you
    Status(StatusArgs),
    /// Show live what another process does on a run
    Watch(WatchArgs),
    /// Show the events of a run
    Log(LogArgs),
    /// Show every branch: state, checks, size, risk, cost, and files that several change; or one
    /// task with its diff
    Review(ReviewArgs),
    /// Show the changes of a whole result, or on a task's branch
    Diff(DiffArgs),
    /// Approve a task's work, or a tool call that waits for your decision
    Approve(RequestArgs<Approval>),
    /// Take what you have changed in a task's worktree and on its branch as its work; it is checked
    /// again
    Adopt(RequestArgs<Adopting>),
    /// Start your shell, or your editor, in a task's worktree
    Open(OpenArgs),
    /// Return a task's work to its agent, or deny a tool call that waits for your decision
    Reject(RequestArgs<Rejection>),
    /// Retry a task that did not succeed
    Retry(RetryArgs),
    /// Take a task's work out of the result, which is rebuilt and checked without it
    Drop(DropArgs),
    /// Merge the result into the branch that the run started from
    Land(LandArgs),
    /// Continue a run that was stopped or killed, or that waits for you, with what was requested of
    /// it meanwhile
    Resume(ResumeArgs),
    /// Stop a run; its state is kept
    Stop(StopArgs),
    /// Remove agents' worktrees whose files are stored elsewhere, or what is left of runs that have
    /// landed
    Clean(CleanArgs),
    /// Remove all of a run, its work included, after saying what would be lost
    Discard(DiscardArgs),
    /// List the saved states of a run's work (snapshots), and restore one as a branch
    Recover(RecoverArgs),
    /// Send a message to agents, or answer the question of one
    Message(RequestArgs<Saying>),
    /// List the roles that tasks can use
    Agents(AgentsArgs),
    /// Say whether an agent may call a tool
    Permissions(PermissionsArgs),
    /// Show and change settings, and consent to a project's commands
    Config(ConfigArgs),
    /// List the tools that agents can be given, show one, write their reference, and check `.tool`
    /// files
    Tools(ToolsArgs),
    /// Run a command in a shell script of yours: record it, and use its result again while nothing
    /// has changed
    Tool(ToolArgs),
    /// Show and clear the stored results of searches and of `tool run`, which are used again while
    /// nothing has changed
    Cache(CacheArgs),
    /// Show a run's tool calls, and verify that their log has not been changed
    Audit(AuditArgs),
    /// Print the JSON schema of what a command prints with `--json`, or the names of all schemas
    Schema(SchemaArgs),
    /// Print the script with which a shell completes commands, runs, tasks and roles
    Completions(CompletionsArgs),
    /// Write the manual pages, one per command
    #[command(hide = true)]
    Manual(ManualArgs),
    #[command(hide = true)]
    Blame(Later),
}

/// The arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to leave the sample project; a new temporary folder if absent
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Set what the project's files suggest and consent to it, without a question; a `.env` stays
    /// out
    #[arg(long)]
    pub(crate) yes: bool,
    /// Replace an existing configuration file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file of a plan or a goal (- is standard input), or a goal in quotes
    pub(crate) plan: PathBuf,
    /// Leave out the optional tasks, `- [ ]*`
    #[arg(long)]
    pub(crate) skip_optional: bool,
    /// Print only the map of the repository that the agent of this task would get
    #[arg(long, value_name = "TASK")]
    pub(crate) map: Option<String>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The file of a plan or a goal (- is standard input), or a goal in quotes
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Run the plan that `--read model` makes without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Do not end while reviews, tool calls or questions wait for you, and take requests from
    /// standard input, one JSON object a line, such as {"type":"approve","task":"T1"}
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The file of a document or a goal (- is standard input), or a goal in quotes
    pub(crate) document: PathBuf,
    /// Write the plan to FILE, which must not exist, instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) shown: OutputArgs,
}

/// The options that change a run's settings.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingsArgs {
    /// The model: openai/…, anthropic/…, gemini/…, openrouter/…, ollama/… or script:FILE
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// The address of an OpenAI-compatible server
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The role of tasks that name none
    #[arg(long, value_name = "ROLE", add = candidates::roles())]
    agent: Option<String>,
    /// Maximum number of agents at work at once
    #[arg(long, value_name = "N")]
    max_agents: Option<String>,
    /// Maximum number of levels of agents, of which the tasks of the plan are the first
    #[arg(long, value_name = "N")]
    max_depth: Option<String>,
    /// Maximum number of agents that one agent has spawned (its children) and that have not ended
    #[arg(long, value_name = "N")]
    max_children_per_agent: Option<String>,
    /// Context size of one agent, in tokens
    #[arg(long, value_name = "N")]
    context_tokens: Option<String>,
    /// Context size of the agent that gets a goal, in tokens
    #[arg(long, value_name = "N")]
    root_context_tokens: Option<String>,
    /// Token limit of the whole run
    #[arg(long, value_name = "N")]
    budget_tokens: Option<String>,
    /// Cost limit of the whole run, in US dollars
    #[arg(long, value_name = "USD")]
    budget_usd: Option<String>,
    /// Leave out the optional tasks, `- [ ]*`
    #[arg(long)]
    skip_optional: bool,
    /// A check, such as 'cargo test': a shell command that must exit 0 on all merged work before
    /// the merge counts
    #[arg(long, value_name = "CMD")]
    verify: Option<String>,
    /// Do not require that `--verify` passes on the commit that the run starts from before any
    /// agent starts
    #[arg(long)]
    no_verify_base: bool,
    /// How often a check that fails is tried again on the very same files before an agent has to
    /// mend its work
    #[arg(long, value_name = "N")]
    verify_retries: Option<String>,
    /// What happens to finished branches: auto (merged), review (as `--review always`) or none
    /// (they stay branches)
    #[arg(long, value_name = "MODE")]
    merge: Option<String>,
    /// When you approve work before it is merged: never, deleted-tests (it deletes or weakens
    /// tests, or leaves a file that looks like a secret), risky or always
    #[arg(long, value_name = "MODE")]
    review: Option<String>,
    /// The commit, branch or tag to start from, instead of HEAD
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Time limit of the whole run: 30s, 5m, 1h
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Models that take over while the first one does not answer: openai/…,anthropic/…
    #[arg(long, value_name = "MODELS")]
    fallback_models: Option<String>,
    /// How long to wait for a model that does not answer
    #[arg(long, value_name = "TIME")]
    outage_patience: Option<String>,
    /// Land the result, as `orchestrate land` does, if the run succeeds: merge it into the branch
    /// that it started from
    #[arg(long)]
    land: bool,
    /// Run commands without a sandbox; never use this with a model that you do not trust
    #[arg(long)]
    no_sandbox: bool,
    /// Allow calls that a built-in rule denies, by tool or tool(pattern), such as 'Bash(git
    /// push:*)'
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Ask for approval of matching calls
    #[arg(long, value_name = "RULE")]
    ask: Vec<String>,
    /// Deny matching calls
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Whether results of agents' searches are kept and, while no file changes, used again: off,
    /// read, write or use
    #[arg(long, value_name = "MODE")]
    cache: Option<String>,
    /// Do not tick the plan's boxes when landing
    #[arg(long)]
    no_write_back: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// List all runs of this repository
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// Print every event as it happens
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) json: JsonLinesArgs,
    /// With --json, begin after this event (its `seq`); 0 is the beginning
    #[arg(long, value_name = "SEQ", requires = "json", default_value_t = 0)]
    pub(crate) from: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// A run, a task, or both
    #[arg(value_name = "[RUN] [TASK]", num_args = 0..=2, add = candidates::tasks_and_runs())]
    pub(crate) what: Vec<String>,
    /// Only tool calls and checks, with their output
    #[arg(long, group = "part")]
    pub(crate) tools: bool,
    /// Only messages between agents
    #[arg(long, group = "part")]
    pub(crate) messages: bool,
    /// The conversation with the model
    #[arg(long, group = "part")]
    pub(crate) transcript: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses the template of a landing's message.
fn template(text: &str) -> Result<String, String> {
    MessageTemplate::parse(text).map_err(|unknown| format!("failed to {unknown}"))?;
    words(text)
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// A run, or a task [default: the latest run]
    #[arg(value_name = "RUN|TASK", add = candidates::tasks_and_runs())]
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A task, or a run for its whole result [default: the result of the latest run]
    #[arg(value_name = "TASK|RUN", add = candidates::tasks_and_runs())]
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// The task's id, or a unique prefix of it
    #[arg(add = candidates::tasks())]
    pub(crate) task: String,
    /// Start the editor that VISUAL or EDITOR names, instead of the shell that SHELL names
    #[arg(long)]
    pub(crate) editor: bool,
    #[command(flatten)]
    pub(crate) which: RunOption,
}

#[derive(Debug, Args)]
pub(crate) struct DropArgs {
    /// The task's id, or a unique prefix of it
    #[arg(add = candidates::tasks())]
    pub(crate) task: String,
    /// Also drop the tasks that were built on it
    #[arg(long)]
    pub(crate) with_dependents: bool,
    #[command(flatten)]
    pub(crate) which: RunOption,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// Undo the landing, if the branch has not moved since
    #[arg(long)]
    pub(crate) undo: bool,
    /// Land the whole result as one commit
    #[arg(long, group = "style", conflicts_with = "undo")]
    pub(crate) squash: bool,
    /// Land one commit for each merged task, without merge commits; the work of agents that a task
    /// spawned is in its commit, whose trailers name them
    #[arg(long, group = "style", conflicts_with_all = ["undo", "message"])]
    pub(crate) rebase: bool,
    /// The message of the merge or the squash, or the title of the pull request and the beginning
    /// of its description; {title}, {run} and {tasks} are replaced
    #[arg(long, short, value_name = "TEXT", value_parser = template, conflicts_with = "undo")]
    pub(crate) message: Option<String>,
    /// Push the result and open a pull request (with gh or glab) instead of landing it here
    #[arg(long, conflicts_with_all = ["undo", "style", "hooks", "no_write_back"])]
    pub(crate) pr: bool,
    /// Run your git hooks for the commit's message and after the merge; never use this with a
    /// repository that you do not trust
    #[arg(long, conflicts_with = "undo")]
    pub(crate) hooks: bool,
    /// Do not tick the plan's boxes
    #[arg(long)]
    pub(crate) no_write_back: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    /// New time limit of the whole run: 30s, 5m, 1h; tasks that the old one stopped continue
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// New token limit of the whole run; tasks that the old one stopped continue
    #[arg(long, value_name = "N")]
    pub(crate) budget_tokens: Option<String>,
    /// New cost limit of the whole run, in US dollars; tasks that the old one stopped continue
    #[arg(long, value_name = "USD")]
    pub(crate) budget_usd: Option<String>,
    /// Do not end while reviews, tool calls or questions wait for you, and take requests from
    /// standard input, one JSON object a line, such as {"type":"approve","task":"T1"}
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

/// What can be done with roles.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the roles
    List(JsonArgs),
    /// Show one role
    Show {
        /// The role
        #[arg(add = candidates::roles())]
        name: String,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// What can be asked about permissions.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Decide about a call as a run with these settings would; the exit code is 0 if it may run, 3
    /// if you would be asked or if only a run can tell, and 5 if it is denied
    Check {
        /// The role of the agent
        #[arg(long, add = candidates::roles())]
        agent: String,
        /// The tool, under any of its names
        #[arg(long)]
        tool: String,
        /// The call's arguments as a JSON object; or their values, paths first (for a command, one
        /// word is a line for a shell); or the words of the tool's second form
        #[arg(last = true)]
        words: Vec<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, its value and where it comes from
    Show(JsonArgs),
    /// Set a value in your own configuration file
    Set {
        /// The key, for example max_agents
        key: String,
        /// Its value; of a list, what to add: one item, or several as 'CI, LANG' or '["CI",
        /// "LANG"]'
        value: String,
    },
    /// List the commands that this project's files name, and consent to them
    Trust {
        /// Consent to all listed commands
        #[arg(long)]
        yes: bool,
        /// Consent to models of this provider where a plan, a role or the project chooses them
        #[arg(long, value_name = "NAME", conflicts_with_all = ["yes", "json"])]
        provider: Option<String>,
        #[command(flatten)]
        json: JsonArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The command, such as `status` or `agents list`; or `events`, or `error` [default: list the
    /// names]
    #[arg(value_name = "NAME")]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManualArgs {
    /// Where to write them
    pub(crate) folder: PathBuf,
}

/// The arguments of a command that is not available yet.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl SettingsArgs {
    /// Returns the name and text of every setting on the command line.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let single = [
            ("model", &self.model),
            ("base_url", &self.base_url),
            ("agent", &self.agent),
            ("max_agents", &self.max_agents),
            ("max_depth", &self.max_depth),
            ("max_children_per_agent", &self.max_children_per_agent),
            ("context_tokens", &self.context_tokens),
            ("root_context_tokens", &self.root_context_tokens),
            ("budget_tokens", &self.budget_tokens),
            ("budget_usd", &self.budget_usd),
            ("verify", &self.verify),
            ("verify_retries", &self.verify_retries),
            ("merge", &self.merge),
            ("review", &self.review),
            ("base", &self.base),
            ("timeout", &self.timeout),
            ("fallback_models", &self.fallback_models),
            ("outage_patience", &self.outage_patience),
            ("cache", &self.cache),
        ];
        let lists = [
            ("allow", &self.allow),
            ("ask", &self.ask),
            ("deny", &self.deny),
        ];
        let switches = [
            ("skip_optional", self.skip_optional),
            ("land", self.land),
            ("no_sandbox", self.no_sandbox),
            ("no_write_back", self.no_write_back),
        ];
        single
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .chain(
                lists
                    .into_iter()
                    .flat_map(|(name, rules)| rules.iter().map(move |rule| (name, rule.clone()))),
            )
            .chain(on(&switches))
            .chain(
                self.no_verify_base
                    .then(|| ("verify_base", "false".to_owned())),
            )
            .collect()
    }
}

/// Returns every command, with its options and their help.
pub(crate) fn command() -> clap::Command {
    with_defaults(Arguments::command())
}

/// Parses the command line.
pub(crate) fn parse(typed: &[OsString]) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(typed)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Adds the defaults of the table of settings to the help of the commands that take settings, once
/// they are typed.
fn with_defaults(command: clap::Command) -> clap::Command {
    ["run", "plan"].into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |of_settings| {
            of_settings.defer(|of_settings| of_settings.mut_args(with_default))
        })
    })
}

/// Adds the default of a setting to the help of its option.
fn with_default(option: clap::Arg) -> clap::Arg {
    let key = named(option.get_id().as_str()).filter(|key| key.kind != Kind::Switch);
    let default = key.and_then(Key::written_default);
    match (default, option.get_help()) {
        (Some(default), Some(help)) => {
            let help = format!("{help} [default: {}]", default.trim_matches('"'));
            option.help(help)
        }
        _ => option,
    }
}

/// Returns the names of all commands.
pub(crate) fn command_names() -> Vec<String> {
    Arguments::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// Inserts `run` if the first argument is not a command, but a plan or an option of `run`.
pub(crate) fn with_run(mut arguments: Vec<OsString>) -> Vec<OsString> {
    const OWN: [&str; 5] = ["help", "-h", "--help", "-V", "--version"];
    let Some(first) = arguments
        .get(1)
        .map(|first| first.to_string_lossy().into_owned())
    else {
        return arguments;
    };
    if !OWN.contains(&first.as_str()) && !command_names().contains(&first) {
        arguments.insert(1, "run".into());
    }
    arguments
}

/// Reports whether the command is one of the user's own that is wrapped, which has the limits that
/// the user set.
pub(crate) fn is_wrapper(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|command| command == "tool")
}

/// Returns the output format on the command line, which may be invalid otherwise.
pub(crate) fn typed_format(arguments: &[OsString]) -> Option<String> {
    let texts: Vec<_> = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy())
        .collect();
    texts
        .iter()
        .take_while(|text| *text != "--")
        .enumerate()
        .find_map(|(at, text)| match text.as_ref() {
            "--json" => Some("json".to_owned()),
            "--output-format" => texts.get(at + 1).map(|next| next.clone().into_owned()),
            other => other.strip_prefix("--output-format=").map(str::to_owned),
        })
}

/// Reports whether the command on the command line has an output format, which other sources may
/// set too.
pub(crate) fn has_format(arguments: &[OsString]) -> bool {
    let name = arguments.get(1).map(|name| name.to_string_lossy());
    let command = Arguments::command();
    let found = name.and_then(|name| command.find_subcommand(name.as_ref()));
    found.is_some_and(|command| {
        command
            .get_arguments()
            .any(|option| option.get_id() == "output_format")
    })
}

#[cfg(test)]
mod tests;
