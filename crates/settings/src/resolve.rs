//! Decides which of several values applies: the pure part of settings.
//!
//! *Preferences* follow the order of [`Source`]: the value of the most specific source applies.
//! *Limits* take the strictest value of all sources, or what all of their lists allow. Only flags,
//! the environment and the user's file can replace the default, so a repository can narrow what its
//! user allows but never widen it; a value of a repository that would is without effect, which is
//! said. The one variable for limits replaces what the user's environment and file set. *Rules* of
//! all sources are combined, except that a repository's `allow` would widen what the user allows;
//! it is dropped with a warning.

use std::collections::BTreeMap;

use orchestrate_core::agent::price::Price;
use orchestrate_core::event::settings::{MergeMode, RunSettings, WarmLimit};
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_core::policy::tool_settings::{
    CodeExecution, FileOperations, TaintPolicy, TaintSettings, ToolSettings, WebRequests,
};
use orchestrate_core::policy::web::WebServiceName;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::{CommitSettings, ReviewMode};

use crate::environment::Switches;
use crate::keys::{Class, KEYS, Key, Value};
use crate::layers::{Given, Layer, Location, Source};

/// The key of the paths that tools never touch.
pub(crate) const FORBIDDEN_PATHS: &str = "tools.file_operations.forbidden_paths";

/// The key that says when a person approves work.
const REVIEW: &str = "review";

/// The key of the tools that answer instead of others.
pub(crate) const ALTERNATIVES: &str = "tools.alternatives";

/// The value that applies for a key, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The value that applies.
    pub value: Value,
    /// Where it is written, or `None` if it is the default.
    pub place: Option<Location>,
}

/// All settings after every source has been merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The values by the names of their keys; keys without a value are absent.
    pub chosen: BTreeMap<&'static str, Chosen>,
    /// The models that the user's own sources name (flags, environment, configuration), whether or
    /// not they apply.
    pub own_models: Vec<String>,
    /// The permission rules: allow, ask, deny, and each in the order of their sources.
    pub rules: Vec<RuleText>,
    /// Which new files commits take.
    pub commit: CommitSettings,
    /// The least review that a task of the plan may ask for; `None` if nobody but the plan has set
    /// any.
    pub least_review: Option<ReviewMode>,
    /// Warnings about values that do not apply as written.
    pub warnings: Vec<String>,
}

impl Resolved {
    /// Merges the layers of all sources.
    pub fn merge(layers: &[Layer]) -> Resolved {
        let mut given: Vec<&Given> = layers.iter().flat_map(|layer| &layer.given).collect();
        given.sort_by(|a, b| a.place.source.cmp(&b.place.source));
        let mut resolved = Resolved::default();
        for key in KEYS {
            let of_key: Vec<&Given> = given
                .iter()
                .copied()
                .filter(|given| given.key == key)
                .collect();
            resolved.take_own_models(&of_key);
            let chosen = match key.class {
                Class::Rules => {
                    resolved.take_rules(&of_key);
                    None
                }
                Class::Limit | Class::PlanLimit => limit(key, &of_key),
                Class::Lists => {
                    resolved.take_list(key, &of_key);
                    combined(key, &of_key)
                }
                _ => preference(&of_key, key.default_value()),
            };
            if key.name == REVIEW {
                resolved.least_review = least_review(&of_key);
            }
            if let Some(chosen) = chosen {
                resolved.warn_of_narrowing(&of_key, &chosen);
                resolved.warn_of_widening(&of_key, &chosen);
                resolved.chosen.insert(key.name, chosen);
            }
        }
        resolved
    }

    fn take_own_models(&mut self, given: &[&Given]) {
        for given in given
            .iter()
            .filter(names_models)
            .filter(|given| !is_shared(&given.place.source))
        {
            match &given.value {
                Value::Text(model) => self.own_models.push(model.clone()),
                Value::List(models) => self.own_models.extend(models.iter().cloned()),
                _ => {}
            }
        }
    }

    /// Reports whether the value that applies for a key is written in the plan or in the project.
    pub fn is_of_repository(&self, key: &str) -> bool {
        let place = self
            .chosen
            .get(key)
            .and_then(|chosen| chosen.place.as_ref());
        place.is_some_and(|place| is_shared(&place.source))
    }

    fn take_rules(&mut self, given: &[&Given]) {
        for given in given {
            let Value::Rules(rules) = &given.value else {
                continue;
            };
            let decision = match given.key.name {
                "allow" => RuleDecision::Allow,
                "ask" => RuleDecision::Ask,
                _ => RuleDecision::Deny,
            };
            if decision == RuleDecision::Allow && is_shared(&given.place.source) {
                self.warnings.push(format!(
                    "{}: `allow` has no effect here, because a repository cannot widen what you allow",
                    given.place
                ));
                continue;
            }
            self.rules.extend(rules.iter().map(|rule| {
                let (line, column) = rule
                    .position
                    .unwrap_or((given.place.line, given.place.column));
                let place = Location {
                    line,
                    column,
                    ..given.place.clone()
                };
                let text = RuleText::new(decision, rule.rule.clone(), place.to_string());
                RuleText {
                    examples: rule.examples.clone(),
                    ..text
                }
            }));
        }
    }

    /// Takes the lists about commits: what a repository allows is not taken for secrets.
    fn take_list(&mut self, key: &Key, given: &[&Given]) {
        for given in given {
            let Value::List(globs) = &given.value else {
                continue;
            };
            let list = match (key.name, is_shared(&given.place.source)) {
                ("commit.leave_out", _) => &mut self.commit.leave_out,
                ("commit.allow", false) => &mut self.commit.allow,
                _ => &mut self.commit.allow_scratch,
            };
            list.extend(globs.iter().cloned());
        }
    }

    /// Warns of a repository's limit that has no effect, since it is wider than the default, and
    /// the user sets none.
    fn warn_of_widening(&mut self, given: &[&Given], chosen: &Chosen) {
        if chosen.place.is_some() {
            return;
        }
        for given in given.iter().filter(|given| given.value != chosen.value) {
            let key = given.key;
            let [wanted, applies] = [&given.value, &chosen.value].map(|value| key.show(value));
            self.warnings.push(format!(
                "{}: `{}` stays at {applies}: a repository cannot widen it to {wanted}; your own configuration can",
                given.place, key.name
            ));
        }
    }

    /// Warns if a limit that the user typed or set in the environment is narrowed by another
    /// source.
    fn warn_of_narrowing(&mut self, given: &[&Given], chosen: &Chosen) {
        let Some(narrower) = &chosen.place else {
            return;
        };
        for given in given
            .iter()
            .filter(|given| matches!(given.key.class, Class::Limit | Class::PlanLimit))
        {
            let typed = matches!(
                given.place.source,
                Source::Flags | Source::Overrides | Source::Environment
            );
            let gives_way =
                narrower.source == Source::Overrides && given.place.source == Source::Environment;
            if typed && !gives_way && given.value != chosen.value {
                let [wanted, got] =
                    [&given.value, &chosen.value].map(|value| given.key.show(value));
                self.warnings.push(format!(
                    "{}: {wanted} is narrowed to {got} by {narrower}",
                    given.place
                ));
            }
        }
    }

    /// Returns the text that applies for a key, or `None` if it has none.
    pub fn text(&self, key: &str) -> Option<String> {
        match &self.chosen.get(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the list that applies for a key, or an empty one.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.chosen.get(key).map(|chosen| &chosen.value) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// Reports whether a switch is on.
    pub fn is_on(&self, key: &str) -> bool {
        matches!(
            self.chosen.get(key).map(|chosen| &chosen.value),
            Some(Value::Switch(true))
        )
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.chosen.get(key)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns how many of the newest runs keep everything when landed runs are cleaned.
    pub fn keep_runs(&self) -> usize {
        self.size("clean.keep_runs", 0)
    }

    /// Returns the settings that the run freezes.
    ///
    /// `headless` means that no user can be asked for approval.
    pub fn run_settings(&self, switches: &Switches, headless: bool) -> RunSettings {
        let standard = RunSettings::default();
        let merge = match self.chosen.get("merge").map(|chosen| &chosen.value) {
            Some(Value::Merge(mode)) => *mode,
            _ => MergeMode::default(),
        };
        let (depth, children) = if switches.no_spawning {
            (0, 0)
        } else {
            (
                self.count("max_depth", standard.max_depth),
                self.size("max_children_per_agent", standard.max_children_per_agent),
            )
        };
        RunSettings {
            model: self.model_of(&[Source::Flags, Source::Environment]),
            plan_model: self.model_of(&[Source::Plan]),
            fallback_models: self.list_of("fallback_models", &[Source::Flags, Source::Environment]),
            default_fallback_models: self
                .list_of("fallback_models", &[Source::Project, Source::User]),
            context_limits: self.limits("context_limits"),
            base_url: self.text("base_url"),
            default_model: self.model_of(&[Source::Project, Source::User]),
            agent: self.text("agent").unwrap_or(standard.agent),
            max_agents: self.size("max_agents", standard.max_agents),
            max_depth: depth,
            max_children_per_agent: children,
            context_tokens: self
                .number("context_tokens")
                .unwrap_or(standard.context_tokens),
            root_context_tokens: self
                .number("root_context_tokens")
                .unwrap_or(standard.root_context_tokens),
            map_tokens: self.number("map_tokens").unwrap_or(standard.map_tokens),
            map_wait_ms: self.number("map_wait_ms").unwrap_or(standard.map_wait_ms),
            budget_tokens: self.number("budget_tokens"),
            budget_micro_usd: self.dollars("budget_usd"),
            prices: self.prices(),
            skip_optional: self.is_on("skip_optional"),
            verify: self.text("verify"),
            verify_base: self.is_on("verify_base"),
            verify_retries: self.count("verify_retries", standard.verify_retries),
            merge,
            review: self
                .text(REVIEW)
                .and_then(|word| ReviewMode::named(&word))
                .unwrap_or(standard.review),
            least_review: self.least_review,
            commit: self.commit.clone(),
            merge_rounds: self.count("merge_rounds", standard.merge_rounds),
            land: self.is_on("land"),
            write_back: !self.is_on("no_write_back"),
            timeout_ms: self.number("timeout"),
            outage_patience_ms: self
                .number("outage_patience")
                .unwrap_or(standard.outage_patience_ms),
            command_timeout_ms: self
                .number("command_timeout")
                .unwrap_or(standard.command_timeout_ms),
            command_memory_mib: self.number("command_memory_mib"),
            worktree_mib: self.number("worktree_mib").unwrap_or(standard.worktree_mib),
            worktree_files: self
                .number("worktree_files")
                .unwrap_or(standard.worktree_files),
            warm_limit: WarmLimit {
                mib: self
                    .number("worktree.warm_limit.mib")
                    .unwrap_or(standard.warm_limit.mib),
                files: self
                    .number("worktree.warm_limit.files")
                    .unwrap_or(standard.warm_limit.files),
            },
            worktree_setup: self.text("worktree.setup"),
            setup_network: self.is_on("worktree.setup_network"),
            setup_hosts: self.list("worktree.setup_hosts"),
            sandbox_read: self.list("sandbox.read"),
            sandbox_env: self.list("sandbox.env"),
            tools: ToolNames::default(),
            tool_files: Vec::new(),
            tool_settings: self.tool_settings(),
            cache: self
                .text("cache")
                .and_then(|mode| mode.parse().ok())
                .unwrap_or_default(),
            rules: self.rules.clone(),
            no_sandbox: self.is_on("no_sandbox"),
            ask_parks: switches.ask_parks.unwrap_or(!headless),
            ..RunSettings::default()
        }
    }

    /// Returns an amount in micro-dollars.
    fn dollars(&self, key: &str) -> Option<u64> {
        match self.chosen.get(key)?.value {
            Value::Dollars(amount) => Some(amount),
            _ => None,
        }
    }

    /// Returns the user's own prices.
    fn prices(&self) -> BTreeMap<String, Price> {
        match self.chosen.get("prices").map(|chosen| &chosen.value) {
            Some(Value::Prices(prices)) => prices.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// Returns what tools may do, with paths as they are written.
    fn tool_settings(&self) -> ToolSettings {
        let standard = ToolSettings::default();
        let list = |key: &str| self.chosen.contains_key(key).then(|| self.list(key));
        ToolSettings {
            file_operations: FileOperations {
                max_file_size_mb: self
                    .number("tools.file_operations.max_file_size_mb")
                    .unwrap_or(standard.file_operations.max_file_size_mb),
                allowed_extensions: list("tools.file_operations.allowed_extensions"),
                forbidden_paths: self.list(FORBIDDEN_PATHS),
            },
            code_execution: CodeExecution {
                timeout_seconds: self.number("tools.code_execution.timeout_seconds"),
                cpu_seconds: self.number("tools.code_execution.cpu_seconds"),
                agent_cpu_seconds: self.number("tools.code_execution.agent_cpu_seconds"),
                memory_limit_mb: self.number("tools.code_execution.memory_limit_mb"),
                allowed_commands: list("tools.code_execution.allowed_commands"),
            },
            web_requests: WebRequests {
                timeout_seconds: self.number("tools.web_requests.timeout_seconds"),
                max_response_size_mb: self
                    .number("tools.web_requests.max_response_size_mb")
                    .unwrap_or(standard.web_requests.max_response_size_mb),
                allowed_domains: self.list("tools.web_requests.allowed_domains"),
                search_service: self
                    .text("tools.web_requests.search_service")
                    .and_then(|name| WebServiceName::named(&name)),
                services: self.services(),
            },
            alternatives: self.alternatives(),
            taint: TaintSettings {
                policy: self
                    .text("taint.policy")
                    .and_then(|word| TaintPolicy::named(&word))
                    .unwrap_or_default(),
                public_repository: self.is_on("taint.public_repository"),
            },
        }
    }

    /// Returns the addresses of services.
    fn services(&self) -> BTreeMap<WebServiceName, String> {
        let given = self.list("tools.web_requests.services");
        let service = |text: &String| {
            let (name, url) = text.split_once('=')?;
            Some((WebServiceName::named(name)?, url.to_owned()))
        };
        given.iter().filter_map(service).collect()
    }

    /// Returns the tools that answer instead of others, by the names of these.
    fn alternatives(&self) -> BTreeMap<String, String> {
        let pairs = self.list(ALTERNATIVES);
        let pair = |text: &String| {
            text.split_once('=')
                .map(|(tool, other)| (tool.to_owned(), other.to_owned()))
        };
        pairs.iter().filter_map(pair).collect()
    }

    /// Returns the model if it comes from one of these sources. The run has to know which, because
    /// a role's own model ranks between the plan's and the project's.
    fn model_of(&self, sources: &[Source]) -> Option<String> {
        let place = self.chosen.get("model")?.place.as_ref()?;
        sources
            .contains(&place.source)
            .then(|| self.text("model"))
            .flatten()
    }

    /// Returns the list if it comes from one of these sources.
    fn list_of(&self, key: &str, sources: &[Source]) -> Vec<String> {
        let place = self
            .chosen
            .get(key)
            .and_then(|chosen| chosen.place.as_ref());
        if place.is_some_and(|place| sources.contains(&place.source)) {
            self.list(key)
        } else {
            Vec::new()
        }
    }

    fn limits(&self, key: &str) -> BTreeMap<String, u64> {
        match self.chosen.get(key).map(|chosen| &chosen.value) {
            Some(Value::Limits(limits)) => limits.clone(),
            _ => BTreeMap::new(),
        }
    }

    fn count(&self, key: &str, standard: u32) -> u32 {
        self.number(key)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(standard)
    }

    fn size(&self, key: &str, standard: usize) -> usize {
        self.number(key)
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(standard)
    }
}

fn names_models(given: &&&Given) -> bool {
    matches!(given.key.name, "model" | "fallback_models")
}

/// Returns the first value, or the default; in `given`, the most specific source comes first.
fn preference(given: &[&Given], default: Option<Value>) -> Option<Chosen> {
    match given.first() {
        Some(first) => Some(Chosen {
            value: first.value.clone(),
            place: Some(first.place.clone()),
        }),
        None => default.map(|value| Chosen { value, place: None }),
    }
}

/// Returns the strictest value; in `given`, the most specific source comes first.
fn limit(key: &Key, given: &[&Given]) -> Option<Chosen> {
    let is_overridden = given
        .iter()
        .any(|given| given.place.source == Source::Overrides);
    let applies = |given: &&&Given| {
        !is_overridden || !matches!(given.place.source, Source::Environment | Source::User)
    };
    let given: Vec<&Given> = given.iter().filter(applies).copied().collect();
    if given.is_empty() {
        return key
            .default_value()
            .map(|value| Chosen { value, place: None });
    }
    let may_replace_default = |source: &Source| {
        !is_shared(source) || key.class == Class::PlanLimit && *source == Source::Plan
    };
    let is_replaced = given
        .iter()
        .any(|given| may_replace_default(&given.place.source));
    let ceiling = key.ceiling().filter(|_| !is_replaced);
    let start = ceiling.map(|value| Chosen { value, place: None });
    given.into_iter().fold(start, |narrowest, given| {
        Some(narrowed(key, narrowest, given))
    })
}

/// Returns the lists of all sources together.
fn combined(key: &Key, given: &[&Given]) -> Option<Chosen> {
    given
        .iter()
        .fold(None, |so_far, given| Some(narrowed(key, so_far, given)))
}

/// Returns the strictest review that anybody but the plan has set.
fn least_review(given: &[&Given]) -> Option<ReviewMode> {
    let others = given
        .iter()
        .filter(|given| given.place.source != Source::Plan);
    let modes = others.filter_map(|given| match &given.value {
        Value::Text(word) => ReviewMode::named(word),
        _ => None,
    });
    modes.max()
}

/// Returns the stricter of the value so far and a given one, or what both allow together.
fn narrowed(key: &Key, narrowest: Option<Chosen>, given: &Given) -> Chosen {
    let own = Chosen {
        value: given.value.clone(),
        place: Some(given.place.clone()),
    };
    let Some(narrowest) = narrowest else {
        return own;
    };
    let met = narrowest.value.meet(&given.value, key.kind);
    if met == narrowest.value {
        return narrowest;
    }
    // The other way round, a list keeps the order of the given one.
    if given.value.meet(&narrowest.value, key.kind) == given.value {
        return own;
    }
    let before = narrowest
        .place
        .map_or_else(|| "default".to_owned(), |place| place.to_string());
    let place = Location::new(
        given.place.source.clone(),
        format!("{before} and {}", given.place),
    );
    Chosen {
        value: met,
        place: Some(place),
    }
}

/// Reports whether the source may have been written by others than the user.
fn is_shared(source: &Source) -> bool {
    matches!(source, Source::Plan | Source::Project)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::named;

    #[test]
    fn what_a_repository_allows_is_not_taken_for_secrets() {
        let layer = |source: Source, key: &str, text: &str| {
            let (mut layer, place) = (Layer::default(), Location::new(source, "x"));
            layer.take_text(named(key).unwrap(), text, place).unwrap();
            layer
        };
        let layers = [
            layer(Source::Project, "commit.allow", "build/, .env"),
            layer(Source::User, "commit.allow", "*.pem"),
            layer(Source::Project, "commit.leave_out", "*.tmp"),
            layer(Source::Environment, "commit.leave_out", "*.bak"),
        ];
        let list = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let expected = CommitSettings {
            leave_out: list(&["*.bak", "*.tmp"]),
            allow: list(&["*.pem"]),
            allow_scratch: list(&["build/", ".env"]),
        };
        assert_eq!(Resolved::merge(&layers).commit, expected);
    }

    /// Resolves `source key value` lines and compares the value and the source of one key.
    fn check(lines: &[(Source, &str, &str)], key: &str, expected: &str) {
        let layers: Vec<Layer> = lines
            .iter()
            .map(|(source, key, text)| {
                let mut layer = Layer::default();
                let place = Location::new(source.clone(), format!("{source:?}"));
                layer.take_text(named(key).unwrap(), text, place).unwrap();
                layer
            })
            .collect();
        let resolved = Resolved::merge(&layers);
        let found = resolved.chosen.get(key).map_or_else(String::new, |chosen| {
            let place = chosen
                .place
                .as_ref()
                .map_or_else(|| "Default".to_owned(), ToString::to_string);
            format!("{} {place}", chosen.value)
        });
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn the_most_particular_preference_counts() {
        use Source::{Environment, Flags, Plan, Project, User};
        let all = [
            (User, "model", "a/user"),
            (Project, "model", "a/project"),
            (Plan, "model", "a/plan"),
            (Environment, "model", "a/environment"),
            (Flags, "model", "a/flags"),
        ];
        let expected = [
            "a/flags Flags",
            "a/environment Environment",
            "a/plan Plan",
            "a/project Project",
            "a/user User",
            "",
        ];
        for (without, expected) in expected.iter().enumerate() {
            check(&all[..all.len() - without], "model", expected);
        }
    }

    #[test]
    fn a_repository_narrows_limits_and_never_widens_them() {
        use Source::{Environment, Flags, Plan, Project, User};
        check(&[], "max_agents", "20 Default");
        check(&[(Project, "max_agents", "50")], "max_agents", "20 Default");
        check(&[(Project, "max_agents", "5")], "max_agents", "5 Project");
        // The control: what the user types may be more.
        check(&[(Flags, "max_agents", "50")], "max_agents", "50 Flags");
        check(
            &[(User, "max_agents", "50"), (Plan, "max_agents", "30")],
            "max_agents",
            "30 Plan",
        );
        check(
            &[(Flags, "max_agents", "9"), (User, "max_agents", "4")],
            "max_agents",
            "4 User",
        );
        check(
            &[(Environment, "max_agents", "3"), (Flags, "max_agents", "9")],
            "max_agents",
            "3 Environment",
        );
        check(
            &[(Project, "budget_tokens", "900")],
            "budget_tokens",
            "900 Project",
        );
        check(
            &[
                (Flags, "budget_tokens", "500"),
                (Plan, "budget_tokens", "900"),
            ],
            "budget_tokens",
            "500 Flags",
        );
        check(&[(Plan, "merge", "review")], "merge", "review Plan");
        check(
            &[(Flags, "merge", "none"), (Plan, "merge", "auto")],
            "merge",
            "none Flags",
        );
        check(
            &[(Flags, "merge", "auto"), (Project, "merge", "review")],
            "merge",
            "review Project",
        );
        check(&[], "review", "deleted-tests Default");
        check(&[(Plan, "review", "never")], "review", "never Plan");
        check(
            &[(Project, "review", "never")],
            "review",
            "deleted-tests Default",
        );
        check(
            &[(Plan, "review", "never"), (Project, "review", "risky")],
            "review",
            "risky Project",
        );
        check(
            &[(Flags, "review", "risky"), (Plan, "review", "never")],
            "review",
            "risky Flags",
        );
        check(
            &[(User, "review", "never"), (Plan, "review", "always")],
            "review",
            "always Plan",
        );
        const TAINT: &str = "taint.policy";
        check(&[], TAINT, "flag Default");
        check(&[(Project, TAINT, "ask")], TAINT, "ask Project");
        check(
            &[(User, TAINT, "deny"), (Project, TAINT, "flag")],
            TAINT,
            "deny User",
        );
        check(
            &[(Flags, TAINT, "ask"), (Plan, TAINT, "deny")],
            TAINT,
            "deny Plan",
        );
    }

    #[test]
    fn a_repository_narrows_what_tools_may_do_and_never_widens_it() {
        use Source::{Environment, Overrides, Plan, Project, User};
        const SIZE: &str = "tools.file_operations.max_file_size_mb";
        const KINDS: &str = "tools.file_operations.allowed_extensions";
        const PATHS: &str = "tools.file_operations.forbidden_paths";
        const PROGRAMS: &str = "tools.code_execution.allowed_commands";
        const MEMORY: &str = "tools.code_execution.memory_limit_mb";
        check(&[(Project, SIZE, "50")], SIZE, "10 Default");
        check(&[(Project, SIZE, "5")], SIZE, "5 Project");
        check(
            &[(User, SIZE, "50"), (Project, SIZE, "20")],
            SIZE,
            "20 Project",
        );
        check(&[], KINDS, "");
        check(&[(Project, KINDS, ".py,.md")], KINDS, ".py, .md Project");
        check(
            &[(User, KINDS, ".py"), (Project, KINDS, ".py,.md")],
            KINDS,
            ".py User",
        );
        check(
            &[(User, KINDS, ".py,.md"), (Project, KINDS, ".md")],
            KINDS,
            ".md Project",
        );
        check(
            &[(User, KINDS, ".py,.md"), (Project, KINDS, ".md,.rs")],
            KINDS,
            ".md Project and User",
        );
        check(
            &[(User, PROGRAMS, "pip"), (Project, PROGRAMS, "cargo")],
            PROGRAMS,
            " Project and User",
        );
        check(&[], PATHS, "/etc, /usr, /var Default");
        check(&[(User, PATHS, "/srv")], PATHS, "/srv User");
        check(
            &[(Project, PATHS, "keys")],
            PATHS,
            "/etc, /usr, /var, keys default and Project",
        );
        check(
            &[(User, PATHS, "/srv,keys"), (Project, PATHS, "keys")],
            PATHS,
            "/srv, keys User",
        );
        // The user's own sources give way to the variable for limits, but a repository narrows even
        // that.
        let overridden = [
            (User, MEMORY, "256"),
            (Environment, MEMORY, "128"),
            (Overrides, MEMORY, "4096"),
        ];
        check(&overridden, MEMORY, "4096 Overrides");
        check(
            &[overridden.as_slice(), &[(Plan, MEMORY, "64")]].concat(),
            MEMORY,
            "64 Plan",
        );
    }

    #[test]
    fn rules_add_up_and_a_repository_cannot_allow() {
        let rules = |source: Source, key: &str| {
            let mut layer = Layer::default();
            let place = Location::new(source.clone(), format!("{source:?}"));
            layer
                .take_text(named(key).unwrap(), "Bash(x)", place)
                .unwrap();
            layer
        };
        let resolved = Resolved::merge(&[
            rules(Source::Project, "allow"),
            rules(Source::Project, "deny"),
            rules(Source::User, "allow"),
            rules(Source::Flags, "ask"),
        ]);
        let found: Vec<(RuleDecision, &str)> = resolved
            .rules
            .iter()
            .map(|rule| (rule.decision, rule.source.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (RuleDecision::Allow, "User"),
                (RuleDecision::Ask, "Flags"),
                (RuleDecision::Deny, "Project")
            ]
        );
        assert_eq!(
            resolved.warnings,
            [
                "Project: `allow` has no effect here, because a repository cannot widen what you allow"
            ]
        );
    }

    #[test]
    fn a_typed_limit_is_never_narrowed_in_silence() {
        let limit = |source: Source, text: &str| {
            let mut layer = Layer::default();
            let place = Location::new(source.clone(), format!("{source:?}"));
            layer
                .take_text(named("max_agents").unwrap(), text, place)
                .unwrap();
            layer
        };
        let resolved = Resolved::merge(&[limit(Source::Flags, "9"), limit(Source::User, "4")]);
        assert_eq!(resolved.warnings, ["Flags: 9 is narrowed to 4 by User"]);
    }

    #[test]
    fn a_number_is_shown_with_its_unit() {
        let table = [
            ("timeout", "3600", "1h"),
            ("timeout", "90", "90s"),
            ("outage_patience", "30m", "30m"),
            ("worktree_mib", "64", "64 MiB"),
            ("tools.code_execution.memory_limit_mb", "256", "256 MiB"),
            ("tools.web_requests.timeout_seconds", "10", "10 s"),
            ("context_tokens", "16000", "16000 tokens"),
            ("budget_usd", "2.5", "$2.50"),
            ("max_agents", "4", "4"),
            ("merge", "review", "review"),
        ];
        for (name, text, expected) in table {
            let key = named(name).unwrap();
            assert_eq!(key.show(&key.kind.parse(text).unwrap()), expected, "{name}");
        }
    }

    #[test]
    fn nobody_to_ask_means_refused_unless_told_otherwise() {
        // The control: with somebody to ask, or told that somebody looks later, the same settings
        // park the call.
        let table = [
            (None, true, false),
            (None, false, true),
            (Some(true), true, true),
            (Some(false), false, false),
        ];
        for (said, headless, expected) in table {
            let switches = Switches {
                ask_parks: said,
                ..Switches::default()
            };
            let run = Resolved::merge(&[]).run_settings(&switches, headless);
            assert_eq!(run.ask_parks, expected, "{said:?} {headless}");
        }
    }
}
