//! The table of all settings: their names, their types, and who may set them.
//!
//! Flags, variables, configuration files and a plan's front matter are all read through this one
//! table, so a key means the same wherever it is written, and an unknown key in a file is an error.

use std::collections::BTreeMap;
use std::fmt;

use orchestrate_core::ReviewMode;
use orchestrate_core::agent::price::{Price, Rates, dollars, micro_usd};
use orchestrate_core::event::settings::{
    CHILD_CONTEXT_TOKENS, LEAST_CONTEXT_REASON, LEAST_CONTEXT_TOKENS, MAX_AGENTS, MERGE_ROUNDS,
    MergeMode, OUTAGE_PATIENCE_MS, ROOT_CONTEXT_TOKENS, RunSettings, VERIFY_RETRIES,
    WORKTREE_FILES, WORKTREE_MIB,
};
use orchestrate_core::policy::RuleExamples;
use orchestrate_core::policy::tool_settings::{
    MAX_COMMAND_SECONDS, MAX_FILE_SIZE_MB, MAX_RESPONSE_SIZE_MB, MAX_WEB_SECONDS,
};
use orchestrate_core::text::message_template::MessageTemplate;
use orchestrate_plan::duration_ms;

use crate::names::Names;

/// The maximum number of agents at work at once: beyond it, file handles run out before anything is
/// gained.
const MOST_AGENTS: u64 = 1_000;
/// How many runs keep their branches and worktrees by default.
const KEEP_RUNS: u64 = 10;
/// The longest duration: a year, which also keeps milliseconds far from overflow.
const LONGEST_SECONDS: u64 = 365 * 24 * 3600;

/// A setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in configuration files; a dot separates a table from its key.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Who may set it, and which of several values applies.
    pub class: Class,
    /// One sentence about it, for the generated configuration file.
    pub about: &'static str,
    /// Its default as written in a configuration file; empty if there is none.
    pub default: &'static str,
}

/// The type of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Non-empty text.
    Text,
    /// A template of a message.
    Message,
    /// A whole number within bounds.
    Number {
        /// The smallest allowed number.
        least: u64,
        /// The largest allowed number.
        most: u64,
        /// Why it cannot be smaller, for messages; empty if that is obvious.
        reason: &'static str,
    },
    /// A duration such as `30s`, `5m` or `1h`; a bare number is in seconds.
    Duration,
    /// `auto`, `review` or `none`.
    Merge,
    /// A list of permission rules.
    Rules,
    /// A list of absolute paths, or paths below `~/`.
    Paths,
    /// A list of names of environment variables.
    Variables,
    /// A list of models, in order.
    Models,
    /// A whole number of tokens for each of several models.
    Limits,
    /// An amount of US dollars.
    Dollars,
    /// The prices of models.
    Prices,
    /// `true` or `false`.
    Switch,
    /// One of these words; of a limit, the strictest is last.
    OneOf(&'static [&'static str]),
    /// A list of names in the settings of tools.
    Names(Names),
}

/// Who may set a key, and which of several values applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The value of the most specific source applies.
    Preference,
    /// The strictest value applies. The plan and the project can lower a limit but never raise it.
    Limit,
    /// Like [`Class::Limit`], but the plan may replace the default, which is no decision of the
    /// user's.
    PlanLimit,
    /// The values of all sources are combined.
    Rules,
    /// Lists of all sources, which are combined; what widens what the user allows has less effect
    /// in the plan and in the project.
    Lists,
    /// Like [`Class::Preference`], but refused in the plan and in the project.
    Personal,
    /// Only flags may set it.
    TypedOnly,
}

/// A parsed value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A value of [`Kind::Text`], [`Kind::Message`] or [`Kind::OneOf`].
    Text(String),
    /// A value of [`Kind::Number`], or of [`Kind::Duration`] in milliseconds.
    Number(u64),
    /// A value of [`Kind::Merge`].
    Merge(MergeMode),
    /// A value of [`Kind::Paths`], [`Kind::Variables`], [`Kind::Models`] or [`Kind::Names`].
    List(Vec<String>),
    /// A value of [`Kind::Rules`].
    Rules(Vec<GivenRule>),
    /// A value of [`Kind::Limits`].
    Limits(BTreeMap<String, u64>),
    /// A value of [`Kind::Dollars`], in micro-dollars.
    Dollars(u64),
    /// A value of [`Kind::Prices`].
    Prices(BTreeMap<String, Price>),
    /// A value of [`Kind::Switch`].
    Switch(bool),
}

/// A permission rule as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenRule {
    /// The rule.
    pub rule: String,
    /// Its examples, which only files can have.
    pub examples: RuleExamples,
    /// The line and the column in a file.
    pub position: Option<(usize, usize)>,
}

impl GivenRule {
    /// Creates a rule without examples, outside of files.
    pub fn new(rule: impl Into<String>) -> GivenRule {
        GivenRule {
            rule: rule.into(),
            examples: RuleExamples::default(),
            position: None,
        }
    }
}

const fn key(
    name: &'static str,
    kind: Kind,
    class: Class,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key {
        name,
        kind,
        class,
        about,
        default,
    }
}

const fn number(least: u64, most: u64) -> Kind {
    Kind::Number {
        least,
        most,
        reason: "",
    }
}

/// A shell alone takes some MiB; the maximum, 4 PiB, is far from overflowing as bytes.
const MEBIBYTES: Kind = number(16, u32::MAX as u64);
const TOKENS: Kind = number(1, u64::MAX >> 1);
const CONTEXT: Kind = Kind::Number {
    least: LEAST_CONTEXT_TOKENS,
    most: u64::MAX >> 1,
    reason: LEAST_CONTEXT_REASON,
};

/// All settings, in the order in which they are shown.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("model", Kind::Text, Class::Preference, "", "The model of tasks and roles that name none: `provider/model`."),
    key("fallback_models", Kind::Models, Class::Preference, "", "The models that take over, in order, while the endpoint of an agent's model does not answer or rejects the key."),
    key("allowed_providers", Kind::Names(Names::Providers), Class::Personal, "", "Providers whose models a plan, a role or the project may choose, besides the providers of your own models."),
    key("context_limits", Kind::Limits, Class::Preference, "", "Context sizes of models that are smaller than `context_tokens`, in tokens."),
    key("base_url", Kind::Text, Class::Personal, "", "Where the model's server listens, instead of its provider's own address."),
    key("agent", Kind::Text, Class::Preference, "\"implementer\"", "The role of tasks that name none."),
    key("skip_optional", Kind::Switch, Class::Preference, "false", "Leave out the tasks that the plan marks as optional."),
    key("verify", Kind::Text, Class::Preference, "", "A shell command that must exit 0 on every merged tree before the merge counts."),
    key("verify_base", Kind::Switch, Class::Limit, "true", "Whether `verify` must pass on the base before any agent starts."),
    key("verify_retries", number(0, 100), Class::Preference, "1", "How often a check that fails is tried again on the very same files before an agent has to mend its work."),
    key("merge", Kind::Merge, Class::Limit, "\"auto\"", "What happens to finished branches: auto, review (the same as `review` with `always`) or none."),
    key("review", Kind::OneOf(&ReviewMode::WORDS), Class::PlanLimit, "\"deleted-tests\"", "When you approve work before it is merged: never, deleted-tests (it deletes or weakens tests, or leaves a secret), risky or always."),
    key("merge_rounds", number(0, 100), Class::Limit, "2", "How often a conflict or a failed check is returned to its agent."),
    key("base", Kind::Text, Class::Preference, "", "The revision that the run starts from, instead of HEAD."),
    key("max_agents", number(1, MOST_AGENTS), Class::Limit, "20", "Maximum number of agents at work at once."),
    key("max_depth", number(0, 100), Class::Limit, "3", "Maximum depth of agents that spawn agents."),
    key("max_children_per_agent", number(0, MOST_AGENTS), Class::Limit, "10", "Maximum number of an agent's children that have not ended."),
    key("context_tokens", CONTEXT, Class::Limit, "16000", "Context size of one agent, in tokens."),
    key("root_context_tokens", CONTEXT, Class::Limit, "1000000", "Context size of the agent that gets a goal, in tokens; a model's own, if that is known, is a limit too."),
    key("map_tokens", number(0, u32::MAX as u64), Class::Limit, "1000", "Size of the map of the repository that agents start with, in tokens; 0 for none."),
    key("map_wait_ms", number(0, 600_000), Class::Limit, "50", "How long an agent's first request waits for its map of the repository, in milliseconds; what is not ready by then is left out."),
    key("budget_tokens", TOKENS, Class::Limit, "", "Token limit of the whole run."),
    key("budget_usd", Kind::Dollars, Class::Limit, "", "Cost limit of the whole run, in US dollars; every model needs a known price."),
    key("prices", Kind::Prices, Class::Personal, "", "Prices of models in US dollars for a million tokens, in addition to the shipped ones and before them."),
    key("timeout", Kind::Duration, Class::Limit, "", "Time limit of the whole run: 30s, 5m, 1h."),
    key("outage_patience", Kind::Duration, Class::Limit, "\"30m\"", "How long a run waits for a model whose endpoint does not answer."),
    key("command_timeout", Kind::Duration, Class::Limit, "\"10m\"", "Time limit of one `run:`, `verify` or setup command, unless its task has a `timeout`."),
    key("command_memory_mib", MEBIBYTES, Class::Limit, "", "Memory limit of one command in MiB, shared memory included; by default, half of the machine's memory."),
    key("worktree_mib", MEBIBYTES, Class::Limit, "20480", "Size limit of a worktree in MiB while a command runs in it."),
    key("worktree_files", number(100, u64::MAX >> 1), Class::Limit, "1000000", "Maximum number of files and folders in a worktree while a command runs in it."),
    key("allow", Kind::Rules, Class::Rules, "[]", "Calls to allow although a built-in rule denies them: `tool` or `tool(glob)`."),
    key("ask", Kind::Rules, Class::Rules, "[]", "Calls that need your approval."),
    key("deny", Kind::Rules, Class::Rules, "[]", "Calls to deny."),
    key("cache", Kind::OneOf(&["off", "read", "write", "use"]), Class::Personal, "\"off\"", "Whether results of agents' searches are stored, and replayed while no file has changed: off, read, write or use."),
    key("output_format", Kind::OneOf(&["text", "json", "stream-json", "markers"]), Class::Preference, "\"text\"", "Format of standard output."),
    key("audit_log", Kind::Text, Class::Personal, "", "The file that the audit log of every run is appended to, instead of one file for each run in the state folder."),
    key("quiet", Kind::Switch, Class::Preference, "false", "Print only the result, no progress."),
    key("verbose", Kind::Switch, Class::Preference, "false", "Print every event as it happens."),
    key("no_write_back", Kind::Switch, Class::Preference, "false", "Do not tick the plan's boxes when landing."),
    key("land", Kind::Switch, Class::Personal, "false", "Land the result if the run succeeds."),
    key("land.message", Kind::Message, Class::Personal, "", "The message of a landing's merge or squash: `{title}`, `{run}` and `{tasks}` are replaced."),
    key("clean.keep_runs", number(0, u32::MAX as u64), Class::Personal, "10", "How many of the newest runs keep their branches and worktrees when landed runs are cleaned."),
    key("commit.leave_out", Kind::Names(Names::Globs), Class::Lists, "", "Paths of new files that stay out of commits, besides the known caches and build outputs."),
    key("commit.allow", Kind::Names(Names::Globs), Class::Lists, "", "Paths of new files that are committed although they look like a cache, a build output or a secret."),
    key("no_sandbox", Kind::Switch, Class::TypedOnly, "", "Run commands without a sandbox."),
    key("worktree.folder", Kind::Text, Class::Personal, "", "The folder of worktrees; no name on the way to it begins with a dot. By default it is below the state folder, or `~/orchestrate-worktrees` where commands find worktrees at their own path."),
    key("worktree.setup", Kind::Text, Class::Preference, "", "A shell command that runs once in every new worktree."),
    key("worktree.setup_network", Kind::Switch, Class::Preference, "false", "Whether that command may use the network, which leads to registries of packages."),
    key("worktree.setup_hosts", Kind::Names(Names::Servers), Class::Preference, "", "Hosts that it reaches besides the public registries, as `HOST` or `HOST:PORT`."),
    key("worktree.warm_limit.mib", number(0, u32::MAX as u64), Class::Limit, "2048", "How many MiB of what the base's setup and check have left are copied into a new worktree; no limit where copies share their blocks."),
    key("worktree.warm_limit.files", number(0, u32::MAX as u64), Class::Limit, "50000", "How many files and folders of it are copied, likewise."),
    key("sandbox.read", Kind::Paths, Class::Personal, "", "Files and folders that commands may read besides the system and your programs."),
    key("sandbox.env", Kind::Variables, Class::Personal, "", "Variables of your environment that commands get."),
    key("tools.file_operations.max_file_size_mb", number(1, 1 << 20), Class::Limit, "10", "Maximum size in MiB of a file that a tool reads or writes."),
    key("tools.file_operations.allowed_extensions", Kind::Names(Names::Extensions), Class::Limit, "", "Endings of the files that tools may touch; by default, all."),
    key("tools.file_operations.forbidden_paths", Kind::Names(Names::ForbiddenPaths), Class::Limit, "[\"/etc\", \"/usr\", \"/var\"]", "Paths that tools never touch, with everything below them; relative ones are inside the project."),
    key("tools.code_execution.timeout_seconds", number(1, LONGEST_SECONDS), Class::Limit, "", "Maximum time of an agent's command in seconds; by default, 120 unless the agent asks for up to 600."),
    key("tools.code_execution.cpu_seconds", number(1, LONGEST_SECONDS), Class::Limit, "", "Maximum processor time of an agent's command in seconds, all its processes together; by default, none."),
    key("tools.code_execution.agent_cpu_seconds", number(1, LONGEST_SECONDS), Class::Limit, "", "Maximum processor time of all commands of one agent in seconds; by default, none."),
    key("tools.code_execution.memory_limit_mb", MEBIBYTES, Class::Limit, "", "Maximum memory of an agent's command in MiB; by default, `command_memory_mib`."),
    key("tools.code_execution.allowed_commands", Kind::Names(Names::Programs), Class::Limit, "", "Programs that agents may run; by default, all. If set, anything but a single command is asked about."),
    key("tools.web_requests.timeout_seconds", number(1, LONGEST_SECONDS), Class::Limit, "", "Maximum time of a request to another host in seconds; by default, 120."),
    key("tools.web_requests.max_response_size_mb", number(1, 1 << 20), Class::Limit, "5", "Maximum size in MiB of a response from another host."),
    key("tools.web_requests.allowed_domains", Kind::Names(Names::Domains), Class::Limit, "[\"*.github.com\", \"*.stackoverflow.com\", \"*.python.org\"]", "Hosts that tools reach without asking; `*.x` is every host below `x`."),
    key("tools.web_requests.search_service", Kind::OneOf(&["searxng", "brave", "tavily", "model"]), Class::Personal, "", "The service that `web_search` asks; by default, none. `model` is the search of the model's own endpoint, which is paid for."),
    key("tools.web_requests.services", Kind::Names(Names::Services), Class::Personal, "", "Addresses of services that tools ask without asking you, instead of the services' own, as `service=url`."),
    key("taint.policy", Kind::OneOf(&["flag", "ask", "deny"]), Class::Limit, "\"flag\"", "What happens to a call that could send private data out after its agent has read text from outside: flag, ask or deny."),
    key("taint.public_repository", Kind::Switch, Class::Personal, "false", "Whether the repository is public, so that its files are not private data."),
    key("tools.alternatives", Kind::Names(Names::Alternatives), Class::Personal, "", "Tools that answer with the same arguments instead of another one that cannot, as `tool=other`."),
];

/// Returns the key of this name.
pub fn named(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Key {
    /// Returns the name of the environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("ORCHESTRATE_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// Returns the command-line option that sets it.
    pub fn option(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    /// Returns a value as people read it, with its unit.
    pub fn show(&self, value: &Value) -> String {
        let Value::Number(number) = value else {
            return value.to_string();
        };
        if self.kind == Kind::Duration {
            return shown_duration(*number);
        }
        let unit = [
            ("_mib", " MiB"),
            ("_mb", " MiB"),
            ("_seconds", " s"),
            ("_tokens", " tokens"),
        ]
        .into_iter()
        .find(|(end, _)| self.name.ends_with(end))
        .map_or("", |(_, unit)| unit);
        format!("{number}{unit}")
    }

    /// Returns what a repository cannot raise if the user sets nothing: the default, or what
    /// applies without one.
    pub(crate) fn ceiling(&self) -> Option<Value> {
        match self.name {
            "tools.code_execution.timeout_seconds" => Some(Value::Number(MAX_COMMAND_SECONDS)),
            "tools.web_requests.timeout_seconds" => Some(Value::Number(MAX_WEB_SECONDS)),
            _ => self.default_value(),
        }
    }

    /// Returns the value that applies if no source sets the key, or `None` if it has no default.
    pub fn default_value(&self) -> Option<Value> {
        let run = RunSettings::default();
        let count = |number: usize| Some(Value::Number(number as u64));
        if let Kind::Names(names) = self.kind {
            return names.default_list().map(Value::List);
        }
        match self.name {
            "tools.file_operations.max_file_size_mb" => Some(Value::Number(MAX_FILE_SIZE_MB)),
            "tools.web_requests.max_response_size_mb" => Some(Value::Number(MAX_RESPONSE_SIZE_MB)),
            "agent" => Some(Value::Text(run.agent)),
            "merge" => Some(Value::Merge(run.merge)),
            "merge_rounds" => Some(Value::Number(u64::from(MERGE_ROUNDS))),
            "max_agents" => count(MAX_AGENTS),
            "max_depth" => Some(Value::Number(u64::from(run.max_depth))),
            "max_children_per_agent" => count(run.max_children_per_agent),
            "command_timeout" => Some(Value::Number(run.command_timeout_ms)),
            "outage_patience" => Some(Value::Number(OUTAGE_PATIENCE_MS)),
            "worktree_mib" => Some(Value::Number(WORKTREE_MIB)),
            "worktree_files" => Some(Value::Number(WORKTREE_FILES)),
            "worktree.warm_limit.mib" => Some(Value::Number(run.warm_limit.mib)),
            "worktree.warm_limit.files" => Some(Value::Number(run.warm_limit.files)),
            "context_tokens" => Some(Value::Number(CHILD_CONTEXT_TOKENS)),
            "root_context_tokens" => Some(Value::Number(ROOT_CONTEXT_TOKENS)),
            "map_tokens" => Some(Value::Number(run.map_tokens)),
            "map_wait_ms" => Some(Value::Number(run.map_wait_ms)),
            "clean.keep_runs" => Some(Value::Number(KEEP_RUNS)),
            "review" => Some(Value::Text(run.review.word().to_owned())),
            "cache" => Some(Value::Text("off".to_owned())),
            "taint.policy" => Some(Value::Text("flag".to_owned())),
            "output_format" => Some(Value::Text("text".to_owned())),
            "verify_retries" => Some(Value::Number(u64::from(VERIFY_RETRIES))),
            "verify_base" => Some(Value::Switch(run.verify_base)),
            "skip_optional"
            | "quiet"
            | "verbose"
            | "no_write_back"
            | "land"
            | "no_sandbox"
            | "taint.public_repository"
            | "worktree.setup_network" => Some(Value::Switch(false)),
            _ => None,
        }
    }
}

/// Returns milliseconds in the largest unit that keeps them whole, as a setting may be written.
fn shown_duration(milliseconds: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| milliseconds > 0 && milliseconds.is_multiple_of(*unit));
    whole.map_or_else(
        || format!("{milliseconds}ms"),
        |(unit, name)| format!("{}{name}", milliseconds / unit),
    )
}

impl Kind {
    /// Parses a value as written in a flag or a variable.
    ///
    /// # Errors
    /// Fails if the text is not a value of this kind.
    pub fn parse(self, text: &str) -> Result<Value, Expected> {
        let text = text.trim();
        match self {
            Kind::Text if text.is_empty() => Err(Expected(self)),
            Kind::Message if text.is_empty() || MessageTemplate::parse(text).is_err() => {
                Err(Expected(self))
            }
            Kind::Text | Kind::Message => Ok(Value::Text(text.to_owned())),
            Kind::Number { .. } => {
                let number = text.replace('_', "").parse().map_err(|_| Expected(self))?;
                self.number(number)
            }
            Kind::Duration => duration(text).map(Value::Number).ok_or(Expected(self)),
            Kind::Merge => merge_mode(text).map(Value::Merge).ok_or(Expected(self)),
            Kind::Rules => Ok(Value::Rules(vec![GivenRule::new(text)])),
            Kind::Paths => self.list(text.split(':')),
            Kind::Variables => self.list(text.split(',')),
            Kind::Models => self.list(text.split(',')),
            // As in a file, since names may contain commas.
            Kind::Names(_) if text.starts_with('[') => {
                let names: Vec<String> = serde_json::from_str(text).map_err(|_| Expected(self))?;
                self.list(names.iter().map(String::as_str))
            }
            Kind::Names(_) => self.list(text.split(',')),
            Kind::Limits => {
                let pairs = text
                    .split(',')
                    .map(|pair| pair.rsplit_once('=').ok_or(Expected(self)));
                let number = |text: &str| {
                    text.trim()
                        .replace('_', "")
                        .parse()
                        .map_err(|_| Expected(self))
                };
                let read =
                    |(model, tokens): (&str, &str)| Ok((model.trim().to_owned(), number(tokens)?));
                self.limits(
                    pairs
                        .map(|pair| pair.and_then(read))
                        .collect::<Result<_, _>>()?,
                )
            }
            Kind::Dollars => self.dollars(text),
            Kind::Prices => {
                let read = |entry: &str| {
                    let (model, rates) = entry.rsplit_once('=').ok_or(Expected(self))?;
                    let rates: Vec<&str> = rates.split('/').map(str::trim).collect();
                    let (input, cached, output) = match rates.as_slice() {
                        [input, output] => (*input, None, *output),
                        [input, cached, output] => (*input, Some(*cached), *output),
                        _ => return Err(Expected(self)),
                    };
                    Ok((
                        model.trim().to_owned(),
                        self.price(Some(input), cached, Some(output))?,
                    ))
                };
                text.split(',')
                    .map(read)
                    .collect::<Result<_, _>>()
                    .map(Value::Prices)
            }
            Kind::Switch => switch(text).map(Value::Switch).ok_or(Expected(self)),
            Kind::OneOf(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Kind::OneOf(_) => Err(Expected(self)),
        }
    }

    /// Returns the value for a number; for a duration, it is in seconds.
    ///
    /// # Errors
    /// Fails if the number is out of bounds, or the key has no numbers.
    pub fn number(self, number: u64) -> Result<Value, Expected> {
        match self {
            Kind::Number { least, most, .. } if (least..=most).contains(&number) => {
                Ok(Value::Number(number))
            }
            Kind::Duration if (1..=LONGEST_SECONDS).contains(&number) => {
                Ok(Value::Number(number * 1000))
            }
            _ => Err(Expected(self)),
        }
    }

    /// Returns the value for a list.
    ///
    /// # Errors
    /// Fails if the key has no lists, or one of the texts cannot be in its list.
    pub fn list<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> Result<Value, Expected> {
        if let Kind::Names(names) = self {
            let read = |text: &str| names.read(text.trim()).ok_or(Expected(self));
            return texts
                .into_iter()
                .map(read)
                .collect::<Result<_, _>>()
                .map(Value::List);
        }
        texts
            .into_iter()
            .map(|text| self.list_item(text.trim()))
            .collect::<Result<_, _>>()
            .map(Value::List)
    }

    fn list_item(self, text: &str) -> Result<String, Expected> {
        let is_allowed = match self {
            Kind::Paths => text.starts_with('/') || text.starts_with("~/"),
            Kind::Variables => is_variable(text),
            Kind::Models => !text.is_empty(),
            _ => false,
        };
        if is_allowed {
            Ok(text.to_owned())
        } else {
            Err(Expected(self))
        }
    }

    /// Returns the value for the limits of models.
    ///
    /// # Errors
    /// Fails if the key has no such limits, or one of them is too low.
    pub fn limits(self, limits: BTreeMap<String, u64>) -> Result<Value, Expected> {
        let is_allowed =
            |(model, tokens): (&String, &u64)| !model.is_empty() && *tokens >= LEAST_CONTEXT_TOKENS;
        if self == Kind::Limits && limits.iter().all(is_allowed) {
            Ok(Value::Limits(limits))
        } else {
            Err(Expected(self))
        }
    }

    /// Returns the value for an amount of dollars.
    ///
    /// # Errors
    /// Fails if the text is no such amount, or it is zero.
    pub fn dollars(self, text: &str) -> Result<Value, Expected> {
        micro_usd(text)
            .filter(|amount| *amount > 0)
            .map(Value::Dollars)
            .ok_or(Expected(self))
    }

    /// Returns the price of a model from its rates, in dollars for a million tokens; cached input
    /// costs as much as other input unless it has its own rate.
    ///
    /// # Errors
    /// Fails if a rate is missing, or is no amount.
    pub fn price(
        self,
        input: Option<&str>,
        cached: Option<&str>,
        output: Option<&str>,
    ) -> Result<Price, Expected> {
        let rate = |text: Option<&str>| text.and_then(micro_usd).ok_or(Expected(self));
        let rates = Rates {
            input: rate(input)?,
            cached: rate(cached.or(input))?,
            output: rate(output)?,
        };
        Ok(Price { rates, long: None })
    }

    /// Returns an example for users to change, as written in a configuration file.
    pub fn example(self) -> &'static str {
        match self {
            Kind::Text | Kind::Message => "\"…\"",
            Kind::Number { .. } => "1000000",
            Kind::Duration => "\"1h\"",
            Kind::Merge => "\"auto\"",
            Kind::Rules | Kind::Paths | Kind::Variables | Kind::Models => "[]",
            Kind::Limits => "{ \"ollama/qwen3\" = 8000 }",
            Kind::Dollars => "5.00",
            Kind::Prices => "{ \"openai/gpt-5\" = { input = 1.25, cached = 0.125, output = 10 } }",
            Kind::Switch => "false",
            Kind::OneOf(_) => "\"\"",
            Kind::Names(names) => names.example(),
        }
    }
}

/// A value of another kind than the one that a key expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub Kind);

impl std::error::Error for Expected {}

/// Describes the expected values.
impl std::fmt::Display for Expected {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Kind::Text => out.write_str("non-empty text"),
            Kind::Message => out.write_str(
                "non-empty text with no other placeholders than {title}, {run} and {tasks}; `{{` is a brace",
            ),
            Kind::Number { least, most, reason } if most > u64::from(u32::MAX) => {
                write!(out, "a whole number, at least {least}{reason}")
            }
            Kind::Number { least, most, reason } => write!(out, "a whole number from {least} to {most}{reason}"),
            Kind::Duration => out.write_str("a time such as 30s, 5m or 1h, from 1s to 365d"),
            Kind::Merge => out.write_str("auto, review or none"),
            Kind::Rules => out.write_str(
                "a list of rules such as [\"run_shell_command(git push:*)\"], or with examples \
                 [{ rule = \"run_shell_command(git push:*)\", match = [\"git push origin\"], not_match = [\"git pull\"] }]",
            ),
            Kind::Paths => out.write_str("a list of paths such as [\"~/tools\", \"/srv/data\"]"),
            Kind::Variables => out.write_str("a list of names of variables such as [\"CI\"]"),
            Kind::Models => out.write_str("a list of models such as [\"anthropic/claude-sonnet-5\"]"),
            Kind::Limits => write!(
                out,
                "models with their numbers of tokens such as {{ \"ollama/qwen3\" = 8000 }}, at least {LEAST_CONTEXT_TOKENS}{LEAST_CONTEXT_REASON}"
            ),
            Kind::Dollars => out.write_str("an amount of dollars above zero such as 5 or 0.25, with at most six decimals"),
            Kind::Prices => out.write_str(
                "models with their dollars for a million tokens such as { \"openai/gpt-5\" = { input = 1.25, cached = 0.125, output = 10 } }",
            ),
            Kind::Switch => out.write_str("true or false"),
            Kind::OneOf(words) => write!(out, "one of {}", words.join(", ")),
            Kind::Names(names) => out.write_str(names.described()),
        }
    }
}

/// Parses a duration of at least a second and at most a year into milliseconds.
fn duration(text: &str) -> Option<u64> {
    duration_ms(text).filter(|milliseconds| (1000..=LONGEST_SECONDS * 1000).contains(milliseconds))
}

/// Reports whether a text can be the name of an environment variable (POSIX).
fn is_variable(text: &str) -> bool {
    text.chars().all(is_letter) && text.starts_with(|first: char| !first.is_ascii_digit())
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn merge_mode(text: &str) -> Option<MergeMode> {
    match text {
        "auto" => Some(MergeMode::Auto),
        "review" => Some(MergeMode::Review),
        "none" => Some(MergeMode::None),
        _ => None,
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Number(number) => write!(f, "{number}"),
            Value::Merge(MergeMode::Auto) => f.write_str("auto"),
            Value::Merge(MergeMode::Review) => f.write_str("review"),
            Value::Merge(MergeMode::None) => f.write_str("none"),
            Value::List(items) => f.write_str(&items.join(", ")),
            Value::Rules(rules) => f.write_str(
                &rules
                    .iter()
                    .map(|given| given.rule.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            Value::Limits(limits) => {
                let limits: Vec<String> = limits
                    .iter()
                    .map(|(model, tokens)| format!("{model}={tokens}"))
                    .collect();
                f.write_str(&limits.join(", "))
            }
            Value::Dollars(amount) => f.write_str(&dollars(*amount)),
            Value::Prices(prices) => {
                let price = |(model, price): (&String, &Price)| {
                    let Rates {
                        input,
                        cached,
                        output,
                    } = price.rates;
                    let [input, cached, output] = [input, cached, output].map(dollars);
                    format!("{model}={input}/{cached}/{output}")
                };
                f.write_str(&prices.iter().map(price).collect::<Vec<_>>().join(", "))
            }
            Value::Switch(on) => write!(f, "{on}"),
        }
    }
}

impl Value {
    /// Returns the stricter of two values of a limit of this kind.
    pub(crate) fn meet(&self, other: &Value, kind: Kind) -> Value {
        match (self, other) {
            (Value::List(a), Value::List(b)) => match kind {
                Kind::Names(names) => Value::List(names.meet(a, b)),
                _ => self.clone(),
            },
            (Value::Text(a), Value::Text(b)) => match kind {
                // The strictest word is the last.
                Kind::OneOf(words) => {
                    let rank = |text: &String| words.iter().position(|word| word == text);
                    Value::Text(if rank(a) >= rank(b) {
                        a.clone()
                    } else {
                        b.clone()
                    })
                }
                _ => self.clone(),
            },
            (Value::Number(a), Value::Number(b)) => Value::Number(*a.min(b)),
            (Value::Dollars(a), Value::Dollars(b)) => Value::Dollars(*a.min(b)),
            // A switch that is a limit demands something, so on is stricter.
            (Value::Switch(a), Value::Switch(b)) => Value::Switch(*a || *b),
            (Value::Merge(a), Value::Merge(b)) => {
                Value::Merge(if freedom(*a) <= freedom(*b) { *a } else { *b })
            }
            _ => self.clone(),
        }
    }
}

fn freedom(mode: MergeMode) -> u8 {
    match mode {
        MergeMode::None => 0,
        MergeMode::Review => 1,
        MergeMode::Auto => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_shown_are_those_that_count() {
        for key in KEYS
            .iter()
            .filter(|key| !key.default.is_empty() && key.kind != Kind::Rules)
        {
            let shown = key.kind.parse(key.default.trim_matches('"')).ok();
            assert_eq!(shown, key.default_value(), "{}", key.name);
        }
    }

    #[test]
    fn values_are_read_as_people_write_them() {
        let table = [
            ("timeout", "90", Some(Value::Number(90_000))),
            ("timeout", "5m", Some(Value::Number(300_000))),
            ("timeout", "1h", Some(Value::Number(3_600_000))),
            ("timeout", "1h30m", Some(Value::Number(5_400_000))),
            ("timeout", "5 mins", Some(Value::Number(300_000))),
            ("timeout", "30d", Some(Value::Number(2_592_000_000))),
            ("timeout", "365d", Some(Value::Number(31_536_000_000))),
            ("timeout", "366d", None),
            ("timeout", "999ms", None),
            ("timeout", "0", None),
            ("timeout", "5 parsecs", None),
            ("max_agents", "1_000", Some(Value::Number(1_000))),
            ("max_agents", "0", None),
            ("max_agents", "-1", None),
            ("merge", "review", Some(Value::Merge(MergeMode::Review))),
            ("merge", "yes", None),
            ("review", "risky", Some(Value::Text("risky".to_owned()))),
            ("review", "sometimes", None),
            (
                "commit.allow",
                "build/, *.log",
                Some(Value::List(vec!["build/".to_owned(), "*.log".to_owned()])),
            ),
            ("quiet", "1", Some(Value::Switch(true))),
            (
                "sandbox.read",
                "~/a:/b",
                Some(Value::List(vec!["~/a".to_owned(), "/b".to_owned()])),
            ),
            ("sandbox.read", "a", None),
            ("sandbox.read", "~", None),
            (
                "sandbox.env",
                "CI, A_1",
                Some(Value::List(vec!["CI".to_owned(), "A_1".to_owned()])),
            ),
            (
                "tools.code_execution.allowed_commands",
                "python, pip",
                Some(Value::List(vec!["python".to_owned(), "pip".to_owned()])),
            ),
            (
                "tools.file_operations.allowed_extensions",
                "[\"py\"]",
                Some(Value::List(vec![".py".to_owned()])),
            ),
            ("tools.file_operations.forbidden_paths", "/", None),
            ("tools.code_execution.memory_limit_mb", "8", None),
            ("sandbox.env", "1A", None),
            ("sandbox.env", "A=1", None),
            ("cache", "sometimes", None),
            ("verify", "  ", None),
        ];
        for (name, text, expected) in table {
            let value = named(name).and_then(|key| key.kind.parse(text).ok());
            assert_eq!(value, expected, "{name} = {text}");
        }
    }

    #[test]
    fn a_refused_amount_says_within_which_bounds_one_may_be() {
        let refused = |text: &str| {
            Kind::Dollars
                .parse(text)
                .map_err(|expected| expected.to_string())
        };
        let reason = "an amount of dollars above zero such as 5 or 0.25, with at most six decimals";
        for text in ["0.1234567", "0", "ten"] {
            assert_eq!(refused(text), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(refused("0.123456"), Ok(Value::Dollars(123_456)));
        let refused = Kind::Duration
            .parse("1000000000000000")
            .map_err(|expected| expected.to_string());
        assert_eq!(
            refused,
            Err("a time such as 30s, 5m or 1h, from 1s to 365d".to_owned())
        );
    }
}
