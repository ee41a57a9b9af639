//! The table of all settings: their names, their types, who may set them, and where they go.
//!
//! Flags, variables, configuration files and a plan's front matter are all read through this one
//! table, so a key means the same wherever it is written, and an unknown key in a file is an error.
//! What a run freezes goes into a field of its settings, and has its default there alone.

use std::sync::LazyLock;

use orchestrate_core::ReviewMode;
use orchestrate_core::event::settings::{LEAST_CONTEXT_REASON, LEAST_CONTEXT_TOKENS, RunSettings};
use orchestrate_core::policy::tool_settings::{MAX_COMMAND_SECONDS, MAX_WEB_SECONDS};
use serde_json::{Value as Json, json};

use crate::values::{Kind, LONGEST_SECONDS, Names, Value, shown_duration};
use Target::{Apart, Run};

/// The maximum number of agents at work at once: beyond it, file handles run out before anything is
/// gained.
const MOST_AGENTS: u64 = 1_000;

/// The settings of a run for which nothing is set.
pub(crate) static STANDARD: LazyLock<Json> = LazyLock::new(|| json!(RunSettings::default()));

/// A setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in configuration files; a dot separates a table from its key.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Who may set it, and which of several values applies.
    pub class: Class,
    /// Where its value goes.
    pub(crate) target: Target,
    /// One sentence about it, for the generated configuration file.
    pub about: &'static str,
}

/// Where the value of a key goes, and with that, what its default is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the field of [`RunSettings`] with this name, whose default is the key's; a dot separates
    /// a field from one inside it.
    Run(&'static str),
    /// Elsewhere, or to several fields. The text is the default; empty if there is none.
    Apart(&'static str),
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

const fn key(
    name: &'static str,
    kind: Kind,
    class: Class,
    target: Target,
    about: &'static str,
) -> Key {
    Key {
        name,
        kind,
        class,
        target,
        about,
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
    key("model", Kind::Text, Class::Preference, Apart(""),
        "The model of tasks and roles that name none: `provider/model`."),
    key("fallback_models", Kind::Names(Names::Models), Class::Preference, Apart(""),
        "The models that take over, in order, while the endpoint of an agent's model does not \
         answer or rejects the key."),
    key("allowed_providers", Kind::Names(Names::Providers), Class::Personal, Apart(""),
        "Providers whose models a plan, a role or the project may choose, besides the providers of \
         your own models."),
    key("context_limits", Kind::Limits, Class::Preference, Run("context_limits"),
        "Context sizes of models that are smaller than `context_tokens`, in tokens."),
    key("base_url", Kind::Text, Class::Personal, Run("base_url"),
        "Where the model's server listens, instead of its provider's own address."),
    key("agent", Kind::Text, Class::Preference, Run("agent"), "The role of tasks that name none."),
    key("skip_optional", Kind::Switch, Class::Preference, Run("skip_optional"),
        "Leave out the tasks that the plan marks as optional."),
    key("verify", Kind::Text, Class::Preference, Run("verify"),
        "A shell command that must exit 0 on every merged tree before the merge counts."),
    key("verify_base", Kind::Switch, Class::Limit, Run("verify_base"),
        "Whether `verify` must pass on the base before any agent starts."),
    key("verify_retries", number(0, 100), Class::Preference, Run("verify_retries"),
        "How often a check that fails is tried again on the very same files before an agent has to \
         mend its work."),
    key("merge", Kind::OneOf(&["auto", "review", "none"]), Class::Limit, Run("merge"),
        "What happens to finished branches: auto, review (the same as `review` with `always`) or \
         none."),
    key("review", Kind::OneOf(&ReviewMode::WORDS), Class::PlanLimit, Run("review"),
        "When you approve work before it is merged: never, deleted-tests (it deletes or weakens \
         tests, or leaves a secret), risky or always."),
    key("merge_rounds", number(0, 100), Class::Limit, Run("merge_rounds"),
        "How often a conflict or a failed check is returned to its agent."),
    key("base", Kind::Text, Class::Preference, Apart(""),
        "The revision that the run starts from, instead of HEAD."),
    key("max_agents", number(1, MOST_AGENTS), Class::Limit, Run("max_agents"),
        "Maximum number of agents at work at once."),
    key("max_depth", number(0, 100), Class::Limit, Run("max_depth"),
        "Maximum depth of agents that spawn agents."),
    key("max_children_per_agent", number(0, MOST_AGENTS), Class::Limit,
        Run("max_children_per_agent"),
        "Maximum number of an agent's children that have not ended."),
    key("context_tokens", CONTEXT, Class::Limit, Run("context_tokens"),
        "Context size of one agent, in tokens."),
    key("root_context_tokens", CONTEXT, Class::Limit, Run("root_context_tokens"),
        "Context size of the agent that gets a goal, in tokens; a model's own, if that is known, \
         is a limit too."),
    key("map_tokens", number(0, u32::MAX as u64), Class::Limit, Run("map_tokens"),
        "Size of the map of the repository that agents start with, in tokens; 0 for none."),
    key("map_wait_ms", number(0, 600_000), Class::Limit, Run("map_wait_ms"),
        "How long an agent's first request waits for its map of the repository, in milliseconds; \
         what is not ready by then is left out."),
    key("budget_tokens", TOKENS, Class::Limit, Run("budget_tokens"),
        "Token limit of the whole run."),
    key("budget_usd", Kind::Dollars, Class::Limit, Run("budget_micro_usd"),
        "Cost limit of the whole run, in US dollars; every model needs a known price."),
    key("prices", Kind::Prices, Class::Personal, Run("prices"),
        "Prices of models in US dollars for a million tokens, in addition to the shipped ones and \
         before them."),
    key("timeout", Kind::Duration, Class::Limit, Run("timeout_ms"),
        "Time limit of the whole run: 30s, 5m, 1h."),
    key("outage_patience", Kind::Duration, Class::Limit, Run("outage_patience_ms"),
        "How long a run waits for a model whose endpoint does not answer."),
    key("command_timeout", Kind::Duration, Class::Limit, Run("command_timeout_ms"),
        "Time limit of one `run:`, `verify` or setup command, unless its task has a `timeout`."),
    key("command_memory_mib", MEBIBYTES, Class::Limit, Run("command_memory_mib"),
        "Memory limit of one command in MiB, shared memory included; by default, half of the \
         machine's memory."),
    key("worktree_mib", MEBIBYTES, Class::Limit, Run("worktree_mib"),
        "Size limit of a worktree in MiB while a command runs in it."),
    key("worktree_files", number(100, u64::MAX >> 1), Class::Limit, Run("worktree_files"),
        "Maximum number of files and folders in a worktree while a command runs in it."),
    key("allow", Kind::Rules, Class::Rules, Apart(""),
        "Calls to allow although a built-in rule denies them: `tool` or `tool(glob)`."),
    key("ask", Kind::Rules, Class::Rules, Apart(""), "Calls that need your approval."),
    key("deny", Kind::Rules, Class::Rules, Apart(""), "Calls to deny."),
    key("cache", Kind::OneOf(&["off", "read", "write", "use"]), Class::Personal, Run("cache"),
        "Whether results of agents' searches are stored, and replayed while no file has changed: \
         off, read, write or use."),
    key("output_format", Kind::OneOf(&["text", "json", "stream-json", "markers"]),
        Class::Preference, Apart("text"), "Format of standard output."),
    key("audit_log", Kind::Text, Class::Personal, Apart(""),
        "The file that the audit log of every run is appended to, instead of one file for each run \
         in the state folder."),
    key("quiet", Kind::Switch, Class::Preference, Apart("false"),
        "Print only the result, no progress."),
    key("verbose", Kind::Switch, Class::Preference, Apart("false"),
        "Print every event as it happens."),
    key("no_write_back", Kind::Switch, Class::Preference, Apart("false"),
        "Do not tick the plan's boxes when landing."),
    key("land", Kind::Switch, Class::Personal, Run("land"), "Land the result if the run succeeds."),
    key("land.message", Kind::Message, Class::Personal, Apart(""),
        "The message of a landing's merge or squash: `{title}`, `{run}` and `{tasks}` are \
         replaced."),
    key("clean.keep_runs", number(0, u32::MAX as u64), Class::Personal, Apart("10"),
        "How many of the newest runs keep their branches and worktrees when landed runs are \
         cleaned."),
    key("commit.leave_out", Kind::Names(Names::Globs), Class::Lists, Apart(""),
        "Paths of new files that stay out of commits, besides the known caches and build outputs."),
    key("commit.allow", Kind::Names(Names::Globs), Class::Lists, Apart(""),
        "Paths of new files that are committed although they look like a cache, a build output or \
         a secret."),
    key("keep_commits", Kind::Switch, Class::Preference, Run("keep_commits"),
        "Whether the commits that agents make with git stay commits below the one of their task; \
         otherwise their messages are in its body."),
    key("no_sandbox", Kind::Switch, Class::TypedOnly, Run("no_sandbox"),
        "Run commands without a sandbox."),
    key("worktree.folder", Kind::Text, Class::Personal, Apart(""),
        "The folder of worktrees; no name on the way to it begins with a dot. By default it is \
         below the state folder, or `~/orchestrate-worktrees` where commands find worktrees at \
         their own path."),
    key("worktree.setup", Kind::Text, Class::Preference, Run("worktree_setup"),
        "A shell command that runs once in every new worktree."),
    key("worktree.setup_network", Kind::Switch, Class::Preference, Run("setup_network"),
        "Whether that command may use the network, which leads to registries of packages."),
    key("worktree.setup_hosts", Kind::Names(Names::Servers), Class::Preference, Run("setup_hosts"),
        "Hosts that it reaches besides the public registries, as `HOST` or `HOST:PORT`."),
    key("worktree.warm_limit.mib", number(0, u32::MAX as u64), Class::Limit, Run("warm_limit.mib"),
        "How many MiB of what the base's setup and check have left are copied into a new worktree; \
         no limit where copies share their blocks."),
    key("worktree.warm_limit.files", number(0, u32::MAX as u64), Class::Limit,
        Run("warm_limit.files"), "How many files and folders of it are copied, likewise."),
    key("sandbox.read", Kind::Names(Names::Readable), Class::Personal, Run("sandbox_read"),
        "Files and folders that commands may read besides the system and your programs."),
    key("sandbox.env", Kind::Names(Names::Variables), Class::Personal, Run("sandbox_env"),
        "Variables of your environment that commands get."),
    key("tools.file_operations.max_file_size_mb", number(1, 1 << 20), Class::Limit,
        Run("tool_settings.file_operations.max_file_size_mb"),
        "Maximum size in MiB of a file that a tool reads or writes."),
    key("tools.file_operations.allowed_extensions", Kind::Names(Names::Extensions), Class::Limit,
        Run("tool_settings.file_operations.allowed_extensions"),
        "Endings of the files that tools may touch; by default, all."),
    key("tools.file_operations.forbidden_paths", Kind::Names(Names::ForbiddenPaths), Class::Limit,
        Run("tool_settings.file_operations.forbidden_paths"),
        "Paths that tools never touch, with everything below them; relative ones are inside the \
         project."),
    key("tools.code_execution.timeout_seconds", number(1, LONGEST_SECONDS), Class::Limit,
        Run("tool_settings.code_execution.timeout_seconds"),
        "Maximum time of an agent's command in seconds; by default, 120 unless the agent asks for \
         up to 600."),
    key("tools.code_execution.cpu_seconds", number(1, LONGEST_SECONDS), Class::Limit,
        Run("tool_settings.code_execution.cpu_seconds"),
        "Maximum processor time of an agent's command in seconds, all its processes together; by \
         default, none."),
    key("tools.code_execution.agent_cpu_seconds", number(1, LONGEST_SECONDS), Class::Limit,
        Run("tool_settings.code_execution.agent_cpu_seconds"),
        "Maximum processor time of all commands of one agent in seconds; by default, none."),
    key("tools.code_execution.memory_limit_mb", MEBIBYTES, Class::Limit,
        Run("tool_settings.code_execution.memory_limit_mb"),
        "Maximum memory of an agent's command in MiB; by default, `command_memory_mib`."),
    key("tools.code_execution.allowed_commands", Kind::Names(Names::Programs), Class::Limit,
        Run("tool_settings.code_execution.allowed_commands"),
        "Programs that agents may run; by default, all. If set, anything but a single command is \
         asked about."),
    key("tools.web_requests.timeout_seconds", number(1, LONGEST_SECONDS), Class::Limit,
        Run("tool_settings.web_requests.timeout_seconds"),
        "Maximum time of a request to another host in seconds; by default, 120."),
    key("tools.web_requests.max_response_size_mb", number(1, 1 << 20), Class::Limit,
        Run("tool_settings.web_requests.max_response_size_mb"),
        "Maximum size in MiB of a response from another host."),
    key("tools.web_requests.allowed_domains", Kind::Names(Names::Domains), Class::Limit,
        Run("tool_settings.web_requests.allowed_domains"),
        "Hosts that tools reach without asking; `*.x` is every host below `x`."),
    key("tools.web_requests.search_service", Kind::OneOf(&["searxng", "brave", "tavily", "model"]),
        Class::Personal, Run("tool_settings.web_requests.search_service"),
        "The service that `web_search` asks; by default, none. `model` is the search of the \
         model's own endpoint, which is paid for."),
    key("tools.web_requests.services", Kind::Names(Names::Services), Class::Personal,
        Run("tool_settings.web_requests.services"),
        "Addresses of services that tools ask without asking you, instead of the services' own, as \
         `service=url`."),
    key("taint.policy", Kind::OneOf(&["flag", "ask", "deny"]), Class::Limit,
        Run("tool_settings.taint.policy"),
        "What happens to a call that could send private data out after its agent has read text \
         from outside: flag, ask or deny."),
    key("taint.public_repository", Kind::Switch, Class::Personal,
        Run("tool_settings.taint.public_repository"),
        "Whether the repository is public, so that its files are not private data."),
    key("tools.alternatives", Kind::Names(Names::Alternatives), Class::Personal,
        Run("tool_settings.alternatives"),
        "Tools that answer with the same arguments instead of another one that cannot, as \
         `tool=other`."),
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
        match self.target {
            Run(path) => of_settings(path.split('.').fold(&*STANDARD, |outer, name| &outer[name])),
            Apart("") => None,
            Apart(text) => self.kind.parse(text).ok(),
        }
    }

    /// Returns the default as written in a configuration file, or `None` if there is none.
    pub fn written_default(&self) -> Option<String> {
        Some(match self.default_value()? {
            Value::Text(text) => format!("{text:?}"),
            Value::List(items) => format!("{items:?}"),
            Value::Number(duration) if self.kind == Kind::Duration => {
                format!("{:?}", shown_duration(duration))
            }
            other => other.to_string(),
        })
    }
}

/// Returns the value of a field of a run's settings; `None` if the field is empty.
pub(crate) fn of_settings(field: &Json) -> Option<Value> {
    match field {
        Json::Bool(on) => Some(Value::Switch(*on)),
        Json::Number(number) => number.as_u64().map(Value::Number),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Array(items) if !items.is_empty() => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Value::List)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_are_shown_are_those_that_count() {
        for key in KEYS {
            let Some(shown) = key.written_default() else {
                continue;
            };
            let read = key.kind.parse(shown.trim_matches('"')).ok();
            assert_eq!(read, key.default_value(), "{}", key.name);
        }
        let with_default = |name: &str| named(name).unwrap().written_default();
        let table = [
            ("max_agents", Some("20")),
            ("outage_patience", Some("\"30m\"")),
            ("review", Some("\"deleted-tests\"")),
            ("output_format", Some("\"text\"")),
            ("clean.keep_runs", Some("10")),
            ("verify_base", Some("true")),
            (
                "tools.file_operations.forbidden_paths",
                Some("[\"/etc\", \"/usr\", \"/var\"]"),
            ),
            ("timeout", None),
            ("model", None),
            ("ask", None),
            ("sandbox.read", None),
        ];
        for (name, expected) in table {
            assert_eq!(with_default(name).as_deref(), expected, "{name}");
        }
    }
}
