//! What a tool call may do and what it may reach, by the rules and the settings of tools.
//!
//! Hides how lines for a shell, paths, hosts and addresses are read and compared.

mod authority;
pub mod cache;
mod cache_mode;
mod decision;
pub mod egress;
pub mod failure_handling;
pub mod hook;
pub mod host;
mod permission;
mod rule;
pub mod setup_hosts;
pub mod tool_extensions;
pub mod tool_names;
pub mod tool_settings;
pub mod web;

pub use authority::{AgentLimits, Authority};
pub use cache_mode::{CacheMode, UnknownWord};
pub(crate) use decision::glob::PathPattern;
pub use decision::glob::matches_text;
pub use decision::{
    Access, DEFAULT_RULE, DOMAINS_RULE, Decision, Grant, NETWORK_RULE, Policy, PolicyError,
    Question, Registry, RemoteBranch, Rule, Target, WithheldFile, git_subcommands,
};
pub use permission::{Permission, Sending};
pub use rule::{RuleDecision, RuleExample, RuleExamples, RuleText};
