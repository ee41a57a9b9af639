//! The permission of a tool call, a pure decision over rules: the first match of deny, then ask,
//! then allow.
//!
//! Invariants: a rule never widens what the agent's role grants ([`Grant`]); a rule that denies
//! matches if *any* part of a call matches, a rule that allows only if *every* part does, so a
//! compound command is never let through because of its first half. The settings of tools deny
//! before any rule asks or allows ([`Policy::limited`]). Where no rule matches, the built-in rules
//! apply (agents may not write the files that configure agents, unless a rule of the user's allows
//! it), then the role's grant.
//!
//! Deliberately absent: any claim to contain a program. Rules are a means for users to be asked or
//! to forbid something; the kernel is the boundary. Resolving links is the executor's work, which
//! asks again with the path that was really opened.

mod command;
mod destinations;
mod examples;
pub(crate) mod glob;
mod lexer;
mod limits;
mod programs;
mod registries;
mod remotes;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::policy::host::HostPattern;
use crate::policy::permission::Permission;
use crate::policy::rule::{RuleDecision, RuleText};
use crate::policy::tool_names::ToolNames;
use crate::policy::tool_settings::ToolSettings;
use crate::text::case_folding::folded_path;

use command::Command;
use examples::Judged;
use glob::PathPattern;
pub use limits::WithheldFile;
use limits::{LimitRefusal, Limits};
pub use target::{Registry, RemoteBranch, Target};

/// The rule id of a decision made by no rule.
pub const DEFAULT_RULE: &str = "default";

/// The rule that asks about hosts that the user does not list.
pub const DOMAINS_RULE: &str = limits::DOMAINS;

/// The rule that asks about every program that is to use the network, unless another rule is for
/// it.
pub const NETWORK_RULE: &str = "built-in:network";

/// The tools and permissions of an agent's role; rules only narrow them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grant {
    /// The canonical names of the role's tools.
    pub tools: BTreeSet<String>,
    /// The permissions of the role.
    pub permissions: BTreeSet<Permission>,
    /// The tools of the role that something else withholds from the agent, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub withheld: BTreeMap<String, String>,
}

impl Grant {
    /// Grants the tools with these canonical names, with every permission.
    pub fn of_tools<'a>(tools: impl IntoIterator<Item = &'a str>) -> Grant {
        Grant {
            tools: tools.into_iter().map(str::to_owned).collect(),
            permissions: Permission::ALL.into_iter().collect(),
            withheld: BTreeMap::new(),
        }
    }

    /// Takes those of these tools from the agent that its role has.
    pub fn withhold(&mut self, tools: &[&str], reason: &str) {
        for tool in tools {
            if let Some(tool) = self.tools.take(*tool) {
                self.withheld.insert(tool, reason.to_owned());
            }
        }
    }

    /// Reports whether the role may use the tool.
    pub fn permits(&self, tool: &str, permission: Permission) -> bool {
        self.tools.contains(tool)
            && (permission == Permission::None || self.permissions.contains(&permission))
    }
}

/// How a call uses what it affects: most tools do one thing, which their own rules are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// As the tool's name and permission say.
    #[default]
    Own,
    /// It reads a file, so rules about any tool that reads files hold as well.
    Read,
    /// It writes a file, so rules about any tool that writes files hold as well.
    Write,
    /// It deletes a file, so rules about any tool that deletes or moves files hold as well.
    Delete,
    /// It runs a program that the tool chooses, so rules about any tool that runs programs hold as
    /// well.
    Run,
    /// It lets a program use the network. Rules of any tool that connects to hosts may be against
    /// it; only a rule about the permission, or about `domain:` of this tool, is for it.
    Network,
}

impl Access {
    /// Returns the permission that it requires of a tool with this permission.
    pub fn permission(self, own: Permission) -> Permission {
        match self {
            Access::Own => own,
            Access::Read => Permission::FileRead,
            Access::Write => Permission::FileWrite,
            Access::Delete => Permission::FileModify,
            Access::Run => Permission::CodeExecution,
            Access::Network => Permission::NetworkAccess,
        }
    }

    /// Returns how rules see this access by a tool with this permission: a tool that only reads
    /// needs no further rules about reading. A program is the same whichever tool runs it.
    #[must_use]
    pub fn beside(self, own: Permission) -> Access {
        if self.permission(own) == own && self != Access::Run {
            Access::Own
        } else {
            self
        }
    }
}

/// A call, or a part of one, to be judged by the policy.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// The permission that this part of the call requires.
    pub permission: Permission,
    /// How it uses the targets.
    pub access: Access,
    /// The objects that the call affects.
    pub targets: &'a [Target],
}

/// The policy's decision, with the id of the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The call may run.
    Allow {
        /// The rule's id.
        rule: String,
    },
    /// The user decides.
    Ask {
        /// The rule's id.
        rule: String,
    },
    /// The call is denied.
    Deny {
        /// The rule's id.
        rule: String,
        /// Why, and what to do instead.
        reason: String,
    },
}

impl Decision {
    /// Returns the id of the deciding rule.
    pub fn rule(&self) -> &str {
        match self {
            Decision::Allow { rule } | Decision::Ask { rule } | Decision::Deny { rule, .. } => rule,
        }
    }
}

/// Why a rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is not `tool` or `tool(glob)`.
    #[error("read the rule `{rule}` of {source_name}: {reason}")]
    Syntax {
        /// The rule as written.
        rule: String,
        /// Where it was written.
        source_name: String,
        /// The fault.
        reason: String,
    },
    /// It does not do what one of its examples says.
    #[error("check the rule `{rule}` of {source_name}: {reason}")]
    Example {
        /// The rule as written.
        rule: String,
        /// Where it was written.
        source_name: String,
        /// The example, and what happened instead.
        reason: String,
    },
}

/// One rule: the tools it applies to, and the pattern for their targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    id: String,
    decision: RuleDecision,
    tools: Vec<String>,
    /// The permission that it names, or those of the tools that it names.
    permissions: BTreeSet<Permission>,
    permission: Option<Permission>,
    pattern: Option<Pattern>,
    source: String,
}

/// A rule's pattern for targets.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    /// The same, for paths.
    paths: PathPattern,
    /// The same, for hosts.
    hosts: Option<HostPattern>,
}

/// The word that may stand before a host in a rule, as in rules written for other products.
const DOMAIN: &str = "domain:";

impl Pattern {
    fn new(text: &str) -> Pattern {
        let hosts = HostPattern::parse(text.strip_prefix(DOMAIN).unwrap_or(text));
        Pattern {
            text: text.to_owned(),
            paths: PathPattern::new(text),
            hosts,
        }
    }

    /// Reports whether a host matches, or all hosts below a name; where more matches is safer, a
    /// pattern with other wildcards matches as text.
    fn matches_host(&self, host: &str, strict: bool) -> bool {
        let hosts = HostPattern::parse(host);
        if let Some(pattern) = &self.hosts {
            return hosts.is_some_and(|hosts| pattern.covers(&hosts));
        }
        if strict {
            return false;
        }
        let text = match hosts {
            Some(hosts) => hosts.to_string(),
            None => host.to_lowercase(),
        };
        let pattern = self.text.strip_prefix(DOMAIN).unwrap_or(&self.text);
        glob::matches_text(&pattern.to_lowercase(), &text)
    }

    /// Reports whether a target matches; if not strictly, also one that might.
    fn matches(&self, target: &Target, strict: bool) -> bool {
        match target {
            Target::Path(path) | Target::Folder(path) => self.paths.matches(path),
            Target::Name(name) => glob::matches_text(&self.text, name),
            Target::Argv(words) => command_matches(&self.text, &shell_line(words), strict),
            Target::Shell(text) => command_matches(&self.text, text, strict),
            Target::Host(host) => self.matches_host(host, strict),
            Target::Remote(branch) => self.matches_remote(branch, strict),
            Target::Network => false,
        }
    }
}

impl Rule {
    /// Parses a rule: `tool`, `tool(glob)`, or a permission's name instead of a tool's. Tools have
    /// any of their names.
    ///
    /// # Errors
    /// [`PolicyError::Syntax`] if the text is neither, [`PolicyError::Example`] if one of its
    /// examples is wrong.
    pub fn parse(text: &RuleText, names: &ToolNames) -> Result<Rule, PolicyError> {
        let (name, pattern) = match text.rule.trim().split_once('(') {
            None => (text.rule.trim(), None),
            Some((name, rest)) => {
                let Some(pattern) = rest.strip_suffix(')') else {
                    let reason = "the parenthesis is not closed at the end";
                    return Err(syntax_error(text, reason));
                };
                (name.trim(), Some(pattern.trim()))
            }
        };
        if name.is_empty() || !name.chars().all(is_plain_letter) {
            return Err(syntax_error(text, "a rule is `tool` or `tool(glob)`"));
        }
        if pattern.is_some_and(|pattern| pattern.len() > glob::MAX_PATTERN_BYTES) {
            return Err(syntax_error(text, "the pattern is too long"));
        }
        if pattern == Some("") {
            let reason = format!(
                "the parenthesis is empty; write `{name}` for every call, or a pattern in it"
            );
            return Err(syntax_error(text, &reason));
        }
        let pattern = pattern.filter(|pattern| !matches!(*pattern, "*" | "domain:*"));
        let permission = Permission::named(name);
        let tools = if permission.is_some() {
            Vec::new()
        } else {
            names.in_rule(name)
        };
        let mut permissions: BTreeSet<Permission> = permission.into_iter().collect();
        for traits in tools.iter().filter_map(|tool| names.tool(tool)) {
            permissions.insert(traits.permission);
        }
        let is_about_web = permissions.iter().eq([&Permission::NetworkAccess]);
        if is_about_web && pattern.is_some_and(is_address) {
            return Err(syntax_error(
                text,
                "a rule about the web names a host, not an address or a port, as in \
                 `tool(domain:example.org)`",
            ));
        }
        if let Some(pattern) = pattern
            && let Some(reason) = hostless(pattern, text.decision, is_about_web)
        {
            return Err(syntax_error(text, &reason));
        }
        let rule = Rule {
            permissions,
            id: format!("{}:{}", decision_word(text.decision), text.rule.trim()),
            decision: text.decision,
            tools,
            permission,
            pattern: pattern.map(Pattern::new),
            source: text.source.clone(),
        };
        let judged = Judged {
            decision: rule.decision,
            permissions: &rule.permissions,
            has_pattern: rule.pattern.is_some(),
            matches: &|target| rule.matches_targets(&[target]),
        };
        match judged.contradicted(&text.examples) {
            None => Ok(rule),
            Some(reason) => Err(PolicyError::Example {
                rule: text.rule.clone(),
                source_name: text.source.clone(),
                reason,
            }),
        }
    }

    /// Returns the canonical names of the tools that it is about; `None` for a rule about a
    /// permission.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    fn is_about(&self, question: &Question<'_>) -> bool {
        // To allow a tool, or a page to it, says nothing of what its programs may reach.
        if question.access == Access::Network
            && self.decision == RuleDecision::Allow
            && self.permission.is_none()
        {
            return self.tools.iter().any(|tool| tool == question.tool) && self.is_about_domain();
        }
        if let Some(permission) = self.permission {
            return permission == question.permission;
        }
        let shares =
            question.access != Access::Own && self.permissions.contains(&question.permission);
        shares
            || self
                .tools
                .iter()
                .any(|tool| glob::matches_text(tool, question.tool))
    }

    /// Reports whether its pattern says that it is one for hosts.
    fn is_about_domain(&self) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.text.starts_with(DOMAIN),
            None => false,
        }
    }

    fn matches_targets(&self, targets: &[Target]) -> bool {
        let Some(pattern) = &self.pattern else {
            return true;
        };
        if self.decision == RuleDecision::Allow {
            !targets.is_empty() && targets.iter().all(|target| pattern.matches(target, true))
        } else {
            targets.iter().any(|target| pattern.matches(target, false))
        }
    }
}

fn syntax_error(text: &RuleText, reason: &str) -> PolicyError {
    PolicyError::Syntax {
        rule: text.rule.clone(),
        source_name: text.source.clone(),
        reason: reason.to_owned(),
    }
}

fn is_plain_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*')
}

/// Reports whether a pattern is the address of a page, or a host with a port. No host matches it,
/// so a rule with it would deny nothing.
fn is_address(pattern: &str) -> bool {
    let host = pattern.strip_prefix(DOMAIN).unwrap_or(pattern);
    host.contains('/') || (host.matches(':').count() == 1 && HostPattern::parse(host).is_none())
}

/// Returns what is wrong with a pattern that is for hosts and that no host can match.
fn hostless(pattern: &str, decision: RuleDecision, is_about_web: bool) -> Option<String> {
    let host = match pattern.strip_prefix(DOMAIN) {
        Some(host) => host,
        None if is_about_web => pattern,
        None => return None,
    };
    let has_parts = host.chars().all(is_plain) && host.split('.').all(|label| !label.is_empty());
    let is_text = decision != RuleDecision::Allow && host.contains(['*', '?']) && has_parts;
    if is_text || HostPattern::parse(host).is_some() {
        return None;
    }
    Some(format!(
        "`{pattern}` matches no host; write one, as in `tool(domain:example.org)`, or `*.` and a \
         name for every host below that, as in `tool(domain:*.example.org)`"
    ))
}

/// Where more matches is safer, other wildcards match as text.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.*?[]:".contains(c)
}

/// Returns the line that makes a shell run exactly these words, so that one reader judges both.
fn shell_line(words: &[String]) -> String {
    words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect::<Vec<_>>()
        .join(" ")
}

fn command_matches(pattern: &str, text: &str, strict: bool) -> bool {
    match Command::read(text) {
        Ok(command) if strict => command.is_within(pattern),
        Ok(command) => command.may_be(pattern),
        Err(_) => !strict,
    }
}

fn decision_word(decision: RuleDecision) -> &'static str {
    match decision {
        RuleDecision::Allow => "allow",
        RuleDecision::Ask => "ask",
        RuleDecision::Deny => "deny",
    }
}

/// Rules in the order of evaluation, and the limits of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    limits: Limits,
}

/// Paths that configure agents: a run reads them from the base commit, and agents may write them
/// only if a rule of the user's allows it.
const CONFIGURATION: &[&str] = &[
    "/orchestrate.toml",
    "/.orchestrate/",
    "/agents/*.md",
    "/.claude/agents/",
    "/.agents/agents/",
    "/.github/agents/",
    "/.gemini/agents/",
    "/.opencode/agents/",
    "/.opencode/agent/",
];

impl Policy {
    /// Parses rules as typed, in their order.
    ///
    /// # Errors
    /// Returns every rule that is invalid, not only the first.
    pub fn new(texts: &[RuleText], names: &ToolNames) -> Result<Policy, Vec<PolicyError>> {
        let mut rules = Vec::with_capacity(texts.len());
        let mut errors = Vec::new();
        for text in texts {
            match Rule::parse(text, names) {
                Ok(rule) => rules.push(rule),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Policy {
                rules,
                limits: Limits::default(),
            })
        } else {
            Err(errors)
        }
    }

    /// Returns the same rules with the settings of tools, as they hold in a worktree.
    #[must_use]
    pub fn limited(self, settings: &ToolSettings, worktree: &Path) -> Policy {
        Policy {
            limits: Limits::in_worktree(settings, worktree),
            ..self
        }
    }

    /// Keeps files of the worktree that look like secrets out of sight of every tool.
    #[must_use]
    pub fn withholding(mut self, files: &[WithheldFile]) -> Policy {
        self.limits.withheld = files.to_vec();
        self
    }

    /// Decides a call.
    ///
    /// ```
    /// use orchestrate_core::policy::{
    ///     Access, Decision, Grant, Permission, Policy, Question, Target,
    /// };
    /// use orchestrate_core::policy::{RuleDecision, RuleText};
    /// use orchestrate_core::policy::tool_names::ToolNames;
    /// let mut names = ToolNames::default();
    /// names.add_alias("Bash", "run_shell_command");
    /// let rule = RuleText::new(RuleDecision::Deny, "Bash(git push:*)", "--deny");
    /// let policy = Policy::new(&[rule], &names).unwrap();
    /// let targets = [Target::Shell("cargo test && git push origin".into())];
    /// let (tool, permission) = ("run_shell_command", Permission::CodeExecution);
    /// let question = Question { tool, permission, access: Access::Own, targets: &targets };
    /// let grant = Grant::of_tools(["run_shell_command"]);
    /// assert!(matches!(policy.decide(&grant, &question), Decision::Deny { .. }));
    /// ```
    pub fn decide(&self, grant: &Grant, question: &Question<'_>) -> Decision {
        if !grant.permits(question.tool, question.permission) {
            return refused_by_role(grant, question);
        }
        if let Some(refusal) = too_complex(question) {
            return refusal;
        }
        for step in STEPS {
            if let Some(decision) = step(self, question) {
                return decision;
            }
        }
        Decision::Allow {
            rule: DEFAULT_RULE.to_owned(),
        }
    }

    /// Reports whether an agent with this grant may call a tool at all, if only with a person's
    /// approval.
    ///
    /// Each call is decided on its own, by what it names ([`Policy::decide`]).
    pub fn permits(&self, agent: &Grant, tool: &str, permission: Permission) -> bool {
        let question = Question {
            tool,
            permission,
            access: Access::Own,
            targets: &[],
        };
        !matches!(self.decide(agent, &question), Decision::Deny { .. })
    }

    /// Returns the mildest decision that a call could get which names this or more: some calls may
    /// be denied or asked about by rules with patterns, and where only a built-in rule asks, a rule
    /// may allow some.
    pub fn mildest(&self, grant: &Grant, question: &Question<'_>) -> Decision {
        let decided = self.decide(grant, question);
        let is_asked = matches!(decided, Decision::Ask { .. });
        if !is_asked || self.matching(RuleDecision::Ask, question).is_some() {
            return decided;
        }
        for rule in &self.rules {
            if rule.decision == RuleDecision::Allow && rule.is_about(question) {
                return rule_decision(rule);
            }
        }
        decided
    }

    /// Returns the part of the policy that decides about paths which a tool uses in one way, for
    /// judging many of them; `None` if it allows every path. The targets of the question have no
    /// effect.
    pub fn about_paths(&self, grant: &Grant, question: &Question<'_>) -> Option<Policy> {
        let rules: Vec<Rule> = self
            .rules
            .iter()
            .filter(|rule| rule.is_about(question))
            .cloned()
            .collect();
        let refuses = !grant.permits(question.tool, question.permission)
            || is_built_in(question.permission)
            || self.limits.restricts_paths()
            || rules
                .iter()
                .any(|rule| rule.decision != RuleDecision::Allow);
        if !refuses {
            return None;
        }
        Some(Policy {
            rules,
            limits: self.limits.clone(),
        })
    }

    /// Reports whether a rule or a limit may be against a program that a tool chooses itself.
    pub fn restricts_programs(&self, tool: &str) -> bool {
        let question = Question {
            tool,
            permission: Permission::CodeExecution,
            access: Access::Run,
            targets: &[],
        };
        self.limits.restricts_programs()
            || self
                .rules
                .iter()
                .any(|rule| rule.decision != RuleDecision::Allow && rule.is_about(&question))
    }

    fn matching(&self, wanted: RuleDecision, question: &Question<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| {
            rule.decision == wanted
                && rule.is_about(question)
                && rule.matches_targets(question.targets)
        })
    }

    fn denied_by_rule(&self, question: &Question<'_>) -> Option<Decision> {
        self.matching(RuleDecision::Deny, question)
            .map(rule_decision)
    }

    fn asked_by_rule(&self, question: &Question<'_>) -> Option<Decision> {
        self.matching(RuleDecision::Ask, question)
            .map(rule_decision)
    }

    fn allowed_by_rule(&self, question: &Question<'_>) -> Option<Decision> {
        self.matching(RuleDecision::Allow, question)
            .map(rule_decision)
    }

    /// Denies what the settings of tools never allow.
    fn denied_by_limits(&self, question: &Question<'_>) -> Option<Decision> {
        let limits = &self.limits;
        let refusal = question.targets.iter().find_map(|target| match target {
            Target::Path(path) => limits.refuse_file(path),
            Target::Folder(path) => limits.refuse_path(path),
            Target::Argv(words) => limits.refuse_program(words.first()?),
            Target::Shell(text) => limits.refuse_line(text),
            Target::Host(_) | Target::Remote(_) | Target::Network | Target::Name(_) => None,
        })?;
        Some(denied(refusal))
    }

    fn asked_about_line(&self, question: &Question<'_>) -> Option<Decision> {
        let rule = question.targets.iter().find_map(|target| match target {
            Target::Shell(text) => self.limits.doubt_line(text),
            _ => None,
        })?;
        Some(asked(rule))
    }

    fn asked_about_host(&self, question: &Question<'_>) -> Option<Decision> {
        let rule = question.targets.iter().find_map(|target| match target {
            Target::Host(host) => self.limits.doubt_host(question.tool, host),
            _ => None,
        })?;
        Some(asked(rule))
    }

    fn asked_about_history(&self, question: &Question<'_>) -> Option<Decision> {
        let mut targets = question.targets.iter();
        targets.find_map(Target::doubted_history).map(asked)
    }

    fn asked_about_remote(&self, question: &Question<'_>) -> Option<Decision> {
        let mut targets = question.targets.iter();
        targets.find_map(Target::doubted_remote).map(asked)
    }

    /// Denies to change a file that no tool may touch, also if a program changed it; `None` for any
    /// other.
    pub fn forbids(&self, path: &str) -> Option<Decision> {
        self.limits.refuse_path(path).map(denied)
    }

    /// Reports whether no program of an agent's may change a file, since the file configures agents
    /// and no rule of the user's allows every writer to.
    ///
    /// A rule about a tool opens a file to that tool alone, and a rule that asks opens it only to
    /// approved calls; neither covers a command. Changes that a tool made under such a rule are
    /// known from its call.
    pub fn protects(&self, path: &str) -> bool {
        if !configures(path) {
            return false;
        }
        let target = [Target::Path(path.to_owned())];
        for rule in &self.rules {
            let is_about_writing = rule.permission.is_some_and(is_built_in);
            if rule.decision == RuleDecision::Allow
                && is_about_writing
                && rule.matches_targets(&target)
            {
                return false;
            }
        }
        true
    }
}

/// The parts of the policy in their order; the first that decides counts.
const STEPS: [fn(&Policy, &Question<'_>) -> Option<Decision>; 12] = [
    Policy::denied_by_rule,
    Policy::denied_by_limits,
    Policy::refuse_remote,
    Policy::asked_by_rule,
    Policy::asked_about_line,
    Policy::asked_about_history,
    Policy::allowed_by_rule,
    Policy::denied_as_configuration,
    Policy::asked_by_default,
    Policy::asked_about_host,
    Policy::asked_about_remote,
    Policy::asked_about_network,
];

fn denied(refusal: LimitRefusal) -> Decision {
    Decision::Deny {
        rule: refusal.rule.to_owned(),
        reason: refusal.reason,
    }
}

fn asked(rule: &str) -> Decision {
    Decision::Ask {
        rule: rule.to_owned(),
    }
}

/// Returns a function that reports whether a command line may run a command that begins with given
/// words.
///
/// A line is read as loosely as for rules that deny: one that is too complex to be read may run
/// anything.
pub(crate) fn runs(line: &str) -> impl Fn(&str) -> bool {
    let read = Command::read(line);
    move |words: &str| {
        read.as_ref()
            .map_or(true, |command| command.may_be(&format!("{words} *")))
    }
}

/// Returns the subcommands of git that a command line runs as far as it is plain, for advice; it
/// decides nothing.
///
/// ```
/// use orchestrate_core::policy::git_subcommands;
/// let line = "cd a && git -C b add . && git commit -m 'git push'; echo git merge";
/// let found = git_subcommands(line);
/// assert_eq!(found.into_iter().collect::<Vec<_>>(), ["add", "commit"]);
/// ```
pub fn git_subcommands(line: &str) -> BTreeSet<String> {
    match Command::read(line) {
        Ok(command) => command.git_subcommands(),
        Err(_) => BTreeSet::new(),
    }
}

fn rule_decision(rule: &Rule) -> Decision {
    let id = rule.id.clone();
    match rule.decision {
        RuleDecision::Allow => Decision::Allow { rule: id },
        RuleDecision::Ask => Decision::Ask { rule: id },
        RuleDecision::Deny => {
            let reason = format!("the rule `{}` of {} denies it", rule.id, rule.source);
            Decision::Deny { rule: id, reason }
        }
    }
}

fn refused_by_role(grant: &Grant, question: &Question<'_>) -> Decision {
    let Question {
        tool, permission, ..
    } = question;
    let reason = match grant.withheld.get(*tool) {
        Some(reason) => format!("this agent may not use `{tool}`: {reason}"),
        None => {
            let has_permission =
                *permission == Permission::None || grant.permissions.contains(permission);
            let lacking = match (grant.tools.contains(*tool), has_permission) {
                (true, _) => format!("it lists the tool, but lacks the permission `{permission}`"),
                (false, true) => "it has the permission, but does not list the tool".to_owned(),
                (false, false) => {
                    format!("it lists neither the tool nor the permission `{permission}`")
                }
            };
            format!(
                "this agent's role does not grant `{tool}` ({permission}): {lacking}; use the \
                 tools that it lists"
            )
        }
    };
    Decision::Deny {
        rule: "built-in:role".to_owned(),
        reason,
    }
}

fn too_complex(question: &Question<'_>) -> Option<Decision> {
    question.targets.iter().find_map(|target| match target {
        Target::Argv(words) => Command::read(&shell_line(words)).err(),
        Target::Shell(text) => Command::read(text).err(),
        _ => None,
    })?;
    Some(Decision::Deny {
        rule: "built-in:too-complex".to_owned(),
        reason: "the command is too complex to analyse; write it to a script, or split it into \
                 several calls"
            .to_owned(),
    })
}

/// Reports whether a built-in rule is about uses of files that require this permission.
fn is_built_in(permission: Permission) -> bool {
    matches!(permission, Permission::FileWrite | Permission::FileModify)
}

/// The tools that bring code of strangers into the worktree, which the user is asked about unless a
/// rule allows it.
const ASKED_BY_DEFAULT: [&str; 1] = ["install_package"];

impl Policy {
    /// Denies to write a file that configures agents.
    fn denied_as_configuration(&self, question: &Question<'_>) -> Option<Decision> {
        if !is_built_in(question.permission) {
            return None;
        }
        let mut paths = question.targets.iter().filter_map(Target::path);
        let path = paths.find(|path| configures(path))?;
        Some(Decision::Deny {
            rule: "built-in:configuration".to_owned(),
            reason: format!(
                "only the user may change `{path}`, which configures agents; report what should \
                 change"
            ),
        })
    }

    /// Asks about a call of such a tool. The files that it opens belong to the call to which the
    /// user consents; where its programs may connect is decided apart from it.
    fn asked_by_default(&self, question: &Question<'_>) -> Option<Decision> {
        let is_call =
            question.access == Access::Own && question.permission == Permission::CodeExecution;
        if !is_call || !ASKED_BY_DEFAULT.contains(&question.tool) {
            return None;
        }
        let mut paths = question.targets.iter().filter_map(Target::path);
        paths.next().is_none().then_some(asked("built-in:packages"))
    }

    fn asked_about_network(&self, question: &Question<'_>) -> Option<Decision> {
        let is_network = question.access == Access::Network;
        is_network.then_some(asked(NETWORK_RULE))
    }
}

/// Reports whether a path is one of [`CONFIGURATION`] under any name that a file system may take
/// for it.
fn configures(path: &str) -> bool {
    let folded = folded_path(path);
    CONFIGURATION
        .iter()
        .any(|pattern| PathPattern::new(pattern).matches(&folded))
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod spellings;
#[cfg(test)]
mod tests;
