//! The settings of a run, frozen in its first event and never read from anywhere else again.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::price::Price;
use crate::agent::{MAP_TOKENS, MAP_WAIT_MS};
use crate::ids::BlobId;
use crate::policy::hook::HookCommand;
use crate::policy::tool_extensions::ToolExtensions;
use crate::policy::tool_names::ToolNames;
use crate::policy::tool_settings::ToolSettings;
use crate::policy::{CacheMode, RuleText};
use crate::task::{CommitSettings, ReviewMode};

/// Default context size of an agent in tokens.
pub const CHILD_CONTEXT_TOKENS: u64 = 16_000;
/// Default context size of the root agent, the one that gets the goal of a run, in tokens: the
/// largest window of today's models.
pub const ROOT_CONTEXT_TOKENS: u64 = 1_000_000;
/// The name of the root agent beside its id, which is that of its task.
pub const ROOT_AGENT: &str = "main_ralph_coordinator";
/// The smallest context in which the shipped roles can reliably read something, write something and
/// finish.
pub const LEAST_CONTEXT_TOKENS: u64 = 3_500;
/// Why it cannot be less, as the end of a sentence.
pub const LEAST_CONTEXT_REASON: &str =
    ", since an agent's instructions and tools alone take up most of that";
/// Default number of agents at work at once.
pub const MAX_AGENTS: usize = 20;
/// Default number of times that a conflict or a failed check is returned to its agent before the
/// task ends.
pub const MERGE_ROUNDS: u32 = 2;
/// Default number of times that a red check is tried again on the very tree before an agent pays
/// for it.
pub const VERIFY_RETRIES: u32 = 1;
/// Default maximum number of turns of one attempt: enough for real work, few enough to stop a loop.
pub const MAX_TURNS: u32 = 60;
/// Default maximum size of a reply in tokens.
pub const MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Default time for which a request is repeated while the model's endpoint does not answer, in
/// milliseconds: longer than a provider's usual incident.
pub const OUTAGE_PATIENCE_MS: u64 = 1_800_000;
/// Default time limit of one `run:` or `verify` command in milliseconds.
pub const COMMAND_TIMEOUT_MS: u64 = 600_000;

/// Default size limit of a worktree in MiB: enough for several builds of a large project, while a
/// runaway fills it in minutes.
pub const WORKTREE_MIB: u64 = 20 << 10;

/// Default limit of the number of files in a worktree: several times what the largest projects have
/// with all their dependencies, and a small part of what a file system can hold.
pub const WORKTREE_FILES: u64 = 1_000_000;

/// How much of what the base's setup and check have left may be copied into a worktree, where
/// copies occupy space of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WarmLimit {
    /// In MiB.
    pub mib: u64,
    /// The number of files and folders, since each takes time to create.
    pub files: u64,
}

impl Default for WarmLimit {
    /// Returns enough for the build of most projects, which takes seconds to copy.
    fn default() -> Self {
        Self {
            mib: 2_048,
            files: 50_000,
        }
    }
}

/// The settings of a run, after merging every source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunSettings {
    /// `provider/model` given by a flag or the environment, which takes precedence over all others.
    pub model: Option<String>,
    /// `provider/model` of the plan's front matter, for tasks that name none.
    pub plan_model: Option<String>,
    /// `provider/model` of the project's or the user's configuration, for roles that name none.
    pub default_model: Option<String>,
    /// Models that take over while the endpoint of an agent's model is out, in order, given by a
    /// flag or the environment, which takes precedence over all others.
    pub fallback_models: Vec<String>,
    /// The same of the project's or the user's configuration, for roles that name none.
    pub default_fallback_models: Vec<String>,
    /// Names of the providers whose models the run may use; `None` for all. Scripts, and servers on
    /// this machine, are not restricted.
    pub allowed_providers: Option<BTreeSet<String>>,
    /// Maximum size of a request to a model in tokens, by its name.
    pub context_limits: BTreeMap<String, u64>,
    /// The address of the model's server, instead of its provider's own.
    pub base_url: Option<String>,
    /// Role of tasks that name none.
    pub agent: String,
    /// Maximum number of agents at work at once.
    pub max_agents: usize,
    /// Maximum depth of spawning below the root.
    pub max_depth: u32,
    /// Maximum number of an agent's children that have not ended.
    pub max_children_per_agent: usize,
    /// Context size of an agent in tokens.
    pub context_tokens: u64,
    /// Context size of the root agent in tokens.
    pub root_context_tokens: u64,
    /// Size in tokens of the map of the repository that agents get with their first message; zero
    /// in runs of older versions, which have none.
    #[serde(default)]
    pub map_tokens: u64,
    /// How long an agent's first request waits for its map, in milliseconds.
    #[serde(default)]
    pub map_wait_ms: u64,
    /// Maximum size of a reply in tokens.
    pub max_output_tokens: u32,
    /// Token budget of the whole run.
    pub budget_tokens: Option<u64>,
    /// Cost limit of the whole run in micro-dollars.
    pub budget_micro_usd: Option<u64>,
    /// The day of the shipped prices, such as `2026-11-23`.
    pub prices_date: Option<String>,
    /// The user's own prices by the model's name, which take precedence over the shipped ones.
    pub prices: BTreeMap<String, Price>,
    /// Maximum number of turns of one attempt.
    pub max_turns: u32,
    /// Whether optional tasks of the plan are left out.
    pub skip_optional: bool,
    /// Shell command that must exit 0 on every merged tree.
    pub verify: Option<String>,
    /// Whether that command must pass on the base before any work begins.
    pub verify_base: bool,
    /// How often a red check is tried again on the very tree; with 0, nothing is tried again.
    pub verify_retries: u32,
    /// What happens to finished branches.
    pub merge: MergeMode,
    /// When a person must approve finished work before it is merged.
    pub review: ReviewMode,
    /// The least of it that a task of the plan may ask for itself; `None` if the user has set none.
    pub least_review: Option<ReviewMode>,
    /// Whether the commits that agents make with git stay commits, below those of their tasks.
    #[serde(default)]
    pub keep_commits: bool,
    /// How often work is returned to its agent.
    pub merge_rounds: u32,
    /// Whether the process that completes a successful run lands it as well. The coordinator only
    /// records this: at the end the command line, or any other program, asks
    /// [`RunState::is_to_be_landed`](crate::RunState::is_to_be_landed) and lands the run.
    pub land: bool,
    /// Set if the run only makes a plan, the answer to its goal: the absolute path of the file that
    /// the process which completes it writes the plan to, or `-` for its standard output. As with
    /// `land`, the coordinator only records this.
    pub plan_file: Option<String>,
    /// The name by which a program finds its run again; `None` for every other run.
    pub session: Option<String>,
    /// The path of the plan's file in the repository, if it is there; set when the run starts.
    pub plan_path: Option<String>,
    /// What an agent has rewritten the plan's file as, with its account of the lines: this is then
    /// the plan, and of the file only boxes are ticked; set when the run starts.
    pub plan_rewritten: Option<BlobId>,
    /// The word by which the user chose how the plan is read, if it can be read in several ways.
    pub plan_read: Option<String>,
    /// The tag whose tasks the user chose, of a plan in which several have some.
    pub plan_tag: Option<String>,
    /// Which new files commits take, besides what the built-in table says.
    pub commit: CommitSettings,
    /// Whether landing ticks the plan's boxes.
    pub write_back: bool,
    /// Time limit of the whole run in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long a request is repeated in milliseconds while the model's endpoint does not answer.
    pub outage_patience_ms: u64,
    /// Time limit of one `run:` or `verify` command in milliseconds.
    pub command_timeout_ms: u64,
    /// Memory limit of one command in MiB, including shared memory and files in memory; `None`
    /// means half of the machine's memory.
    pub command_memory_mib: Option<u64>,
    /// Size limit of a worktree in MiB while a command runs in it.
    pub worktree_mib: u64,
    /// Limit of the number of files and folders in a worktree while a command runs in it.
    pub worktree_files: u64,
    /// How much of the base's outputs may be copied into a worktree.
    pub warm_limit: WarmLimit,
    /// Shell command that runs once in every new worktree.
    pub worktree_setup: Option<String>,
    /// Whether that command may use the network, which then leads to registries of packages.
    pub setup_network: bool,
    /// The hosts that it reaches besides, each as `HOST` or `HOST:PORT`.
    pub setup_hosts: Vec<String>,
    /// Absolute paths, or paths below `~/`, that commands may read besides the system and the
    /// user's programs.
    pub sandbox_read: Vec<String>,
    /// Names of variables of the user's environment that commands get.
    pub sandbox_env: Vec<String>,
    /// The names of the tools that the run has; set when it starts.
    pub tools: ToolNames,
    /// The `.tool` files that define some of them, of the user and of the project; set when it
    /// starts.
    pub tool_files: Vec<ToolFile>,
    /// The tools that the program which started the run adds to the built-in ones; set when it
    /// starts.
    pub extensions: ToolExtensions,
    /// What tools may do.
    pub tool_settings: ToolSettings,
    /// How results of agents' calls are stored and replayed.
    pub cache: CacheMode,
    /// The tools whose results never are, by the lists of the user and of the project; set when the
    /// run starts.
    pub never_replayed: Vec<String>,
    /// Permission rules, in the order in which they were given.
    pub rules: Vec<RuleText>,
    /// The commands that are asked about calls and ends of agents, in this order: the user's, then
    /// the project's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookCommand>,
    /// Whether the user typed `--no-sandbox`.
    pub no_sandbox: bool,
    /// Whether `ask` parks the task instead of denying the call (a person can answer).
    pub ask_parks: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            model: None,
            plan_model: None,
            default_model: None,
            fallback_models: Vec::new(),
            default_fallback_models: Vec::new(),
            allowed_providers: None,
            context_limits: BTreeMap::new(),
            base_url: None,
            agent: "implementer".to_owned(),
            max_agents: MAX_AGENTS,
            max_depth: 3,
            max_children_per_agent: 10,
            context_tokens: CHILD_CONTEXT_TOKENS,
            root_context_tokens: ROOT_CONTEXT_TOKENS,
            map_tokens: MAP_TOKENS,
            map_wait_ms: MAP_WAIT_MS,
            max_output_tokens: MAX_OUTPUT_TOKENS,
            budget_tokens: None,
            budget_micro_usd: None,
            prices_date: None,
            prices: BTreeMap::new(),
            max_turns: MAX_TURNS,
            skip_optional: false,
            verify: None,
            verify_base: true,
            verify_retries: VERIFY_RETRIES,
            merge: MergeMode::Auto,
            review: ReviewMode::default(),
            least_review: None,
            keep_commits: false,
            merge_rounds: MERGE_ROUNDS,
            land: false,
            plan_file: None,
            session: None,
            plan_path: None,
            plan_rewritten: None,
            plan_read: None,
            plan_tag: None,
            commit: CommitSettings::default(),
            write_back: true,
            timeout_ms: None,
            outage_patience_ms: OUTAGE_PATIENCE_MS,
            command_timeout_ms: COMMAND_TIMEOUT_MS,
            command_memory_mib: None,
            worktree_mib: WORKTREE_MIB,
            worktree_files: WORKTREE_FILES,
            warm_limit: WarmLimit::default(),
            worktree_setup: None,
            setup_network: false,
            setup_hosts: Vec::new(),
            sandbox_read: Vec::new(),
            sandbox_env: Vec::new(),
            tools: ToolNames::default(),
            tool_files: Vec::new(),
            extensions: ToolExtensions::default(),
            tool_settings: ToolSettings::default(),
            cache: CacheMode::Off,
            never_replayed: Vec::new(),
            rules: Vec::new(),
            hooks: Vec::new(),
            no_sandbox: false,
            ask_parks: false,
        }
    }
}

/// A file that defines a tool for agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFile {
    /// The path to show in messages.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

/// What happens to a branch whose task is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    /// It is merged into the integration branch.
    #[default]
    Auto,
    /// It waits for the user's approval first, whatever it changes: the older name of
    /// [`ReviewMode::Always`].
    Review,
    /// It stays a branch.
    None,
}
