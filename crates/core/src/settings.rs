//! The settings of a run, frozen into its first fact and never read from anywhere else again.

use serde::{Deserialize, Serialize};

/// Default bound of an agent's context in tokens.
pub const CHILD_CONTEXT_TOKENS: u64 = 16_000;
/// The smallest context in which a shipped role can surely look at something, write something and be done.
pub const LEAST_CONTEXT_TOKENS: u64 = 3_000;
/// Why it cannot be less, as the end of a sentence that names it.
pub const LEAST_CONTEXT_REASON: &str = ", since an agent's instructions and tools alone take up most of that";
/// Default number of agents at work at once.
pub const MAX_AGENTS: usize = 20;
/// How often a conflict or a red check goes back to its author before the task gives up.
pub const MERGE_ROUNDS: u32 = 2;
/// Default largest number of turns of one attempt: enough for real work, few enough to stop a loop.
pub const MAX_TURNS: u32 = 60;
/// Default largest size of a reply in tokens.
pub const MAX_OUTPUT_TOKENS: u32 = 4_096;
/// Default time of one `run:` or `verify` command in milliseconds.
pub const COMMAND_TIMEOUT_MS: u64 = 600_000;

/// Default of what a worktree may hold in MiB: several builds of a large project, while a runaway fills it in minutes.
pub const WORKTREE_MIB: u64 = 20 << 10;

/// What a run may do and how, after every source has been merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RunSettings {
    /// `provider/model` that the user asked for with a flag or the environment: it wins over every other.
    pub model: Option<String>,
    /// `provider/model` of the plan's front matter, for tasks that name none.
    pub plan_model: Option<String>,
    /// `provider/model` of the project's or the user's configuration, for roles that name none.
    pub default_model: Option<String>,
    /// Where the model's server listens, instead of its provider's own address.
    pub base_url: Option<String>,
    /// Role of tasks that name none.
    pub agent: String,
    /// Agents at work at once.
    pub max_agents: usize,
    /// Depth of spawning below the root.
    pub max_depth: u32,
    /// Children one agent may spawn.
    pub max_children_per_agent: usize,
    /// Context bound of an agent in tokens.
    pub context_tokens: u64,
    /// Largest reply in tokens.
    pub max_output_tokens: u32,
    /// Token budget of the whole run.
    pub budget_tokens: Option<u64>,
    /// Turns of one attempt.
    pub max_turns: u32,
    /// Shell command that must exit 0 on every merged tree.
    pub verify: Option<String>,
    /// What happens to finished branches.
    pub merge: MergeMode,
    /// How often work goes back to its author.
    pub merge_rounds: u32,
    /// Whether whoever brings the run to success lands it as well. The coordinator keeps it and does nothing about it:
    /// at the end the command line asks [`RunState::is_to_be_landed`](crate::RunState::is_to_be_landed), as any other
    /// program has to, and lands it.
    pub land: bool,
    /// Whether landing ticks the plan's boxes.
    pub write_back: bool,
    /// Largest time of the whole run in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Time of one `run:` or `verify` command in milliseconds.
    pub command_timeout_ms: u64,
    /// Memory of one command in MiB, shared memory and files in memory included; none is half of the machine's.
    pub command_memory_mib: Option<u64>,
    /// What a worktree may hold in MiB while a command runs in it.
    pub worktree_mib: u64,
    /// Shell command run once in every new worktree.
    pub worktree_setup: Option<String>,
    /// Permission rules, in the order that they were given.
    pub rules: Vec<RuleText>,
    /// Whether the user typed `--no-sandbox`.
    pub no_sandbox: bool,
    /// Whether an `ask` parks the task instead of being refused (a person can answer).
    pub ask_parks: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            model: None,
            plan_model: None,
            default_model: None,
            base_url: None,
            agent: "implementer".to_owned(),
            max_agents: MAX_AGENTS,
            max_depth: 3,
            max_children_per_agent: 10,
            context_tokens: CHILD_CONTEXT_TOKENS,
            max_output_tokens: MAX_OUTPUT_TOKENS,
            budget_tokens: None,
            max_turns: MAX_TURNS,
            verify: None,
            merge: MergeMode::Auto,
            merge_rounds: MERGE_ROUNDS,
            land: false,
            write_back: true,
            timeout_ms: None,
            command_timeout_ms: COMMAND_TIMEOUT_MS,
            command_memory_mib: None,
            worktree_mib: WORKTREE_MIB,
            worktree_setup: None,
            rules: Vec::new(),
            no_sandbox: false,
            ask_parks: false,
        }
    }
}

/// What happens to a branch whose task is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    /// It is merged into the integration branch.
    #[default]
    Auto,
    /// It waits for a person's approval first.
    Review,
    /// It stays a branch.
    None,
}

/// A permission rule as typed; [`crate::policy`] gives it its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleText {
    /// What the rule decides.
    pub decision: RuleDecision,
    /// `tool` or `tool(glob)`.
    pub rule: String,
    /// Where it was written, for messages.
    pub source: String,
}

/// What a permission rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleDecision {
    /// The call may run.
    Allow,
    /// A person decides.
    Ask,
    /// The call is refused.
    Deny,
}
