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

use orchestrate_core::event::settings::RunSettings;
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::{CommitSettings, ReviewMode};
use serde_json::{Value as Json, json};

use crate::environment::Switches;
use crate::keys::{Class, KEYS, Key, STANDARD, Target};
use crate::layer::{Given, Layer, Location, Problem, ProblemCode, Source};
use crate::values::{Kind, Names, Value};

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
        for given in given {
            if given.place.source.is_shared() {
                continue;
            }
            match (given.key.name, &given.value) {
                ("model", Value::Text(model)) => self.own_models.push(model.clone()),
                ("fallback_models", Value::List(models)) => {
                    self.own_models.extend(models.iter().cloned());
                }
                _ => {}
            }
        }
    }

    /// Reports whether the value that applies for a key is written in the plan or in the project.
    pub fn is_of_repository(&self, key: &str) -> bool {
        self.place_given(key)
            .is_some_and(|place| place.source.is_shared())
    }

    /// Returns where the value that applies for a key is written, or `None` if it is a default.
    pub(crate) fn place_given(&self, key: &str) -> Option<&Location> {
        self.chosen.get(key)?.place.as_ref()
    }

    /// Returns a problem with the value that applies for a key.
    pub(crate) fn problem(&self, key: &str, message: String) -> Problem {
        let place = self.place_given(key).cloned();
        let place = place.unwrap_or_else(|| Location::new(Source::Default, key));
        Problem::new(place, ProblemCode::InvalidValue, message)
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
            if decision == RuleDecision::Allow && given.place.source.is_shared() {
                self.warnings.push(format!(
                    "{}: `allow` has no effect here, \
                     because a repository cannot widen what you allow",
                    given.place
                ));
                continue;
            }
            for rule in rules {
                let mut place = given.place.clone();
                if let Some(position) = rule.position {
                    (place.line, place.column) = position;
                }
                let mut text = RuleText::new(decision, rule.rule.clone(), place.to_string());
                text.examples = rule.examples.clone();
                self.rules.push(text);
            }
        }
    }

    /// Takes the lists about commits: what a repository allows is not taken for secrets.
    fn take_list(&mut self, key: &Key, given: &[&Given]) {
        for given in given {
            let Value::List(globs) = &given.value else {
                continue;
            };
            let list = match (key.name, given.place.source.is_shared()) {
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
                "{}: `{}` stays at {applies}: a repository cannot widen it to {wanted}; \
                 your own configuration can",
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

    fn value(&self, key: &str) -> Option<&Value> {
        self.chosen.get(key).map(|chosen| &chosen.value)
    }

    /// Returns the text that applies for a key, or `None` if it has none.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the list that applies for a key, or an empty one.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// Reports whether a switch is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.value(key) == Some(&Value::Switch(true))
    }

    /// Returns how many of the newest runs keep everything when landed runs are cleaned.
    pub fn keep_runs(&self) -> usize {
        match self.value("clean.keep_runs") {
            Some(Value::Number(number)) => usize::try_from(*number).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// Returns the settings that the run freezes.
    ///
    /// `headless` means that no user can be asked for approval.
    ///
    /// # Errors
    /// Fails if a value does not fit its field, which would be a mistake in the table of keys.
    pub fn run_settings(
        &self,
        switches: &Switches,
        headless: bool,
    ) -> Result<RunSettings, Vec<Problem>> {
        let mut frozen = STANDARD.clone();
        for key in KEYS {
            if let (Target::Run(path), Some(value)) = (key.target, self.value(key.name)) {
                let field = path
                    .split('.')
                    .fold(&mut frozen, |outer, name| &mut outer[name]);
                *field = field_value(key.kind, value);
            }
        }
        let mut run: RunSettings = serde_json::from_value(frozen).map_err(|error| {
            let place = Location::new(Source::Default, "the settings of the run");
            let message = error.to_string();
            vec![Problem::new(place, ProblemCode::InvalidValue, message)]
        })?;
        if switches.no_spawning {
            (run.max_depth, run.max_children_per_agent) = (0, 0);
        }
        const OWN: [Source; 2] = [Source::Flags, Source::Environment];
        const FILES: [Source; 2] = [Source::Project, Source::User];
        Ok(RunSettings {
            model: self.model_of(&OWN),
            plan_model: self.model_of(&[Source::Plan]),
            default_model: self.model_of(&FILES),
            fallback_models: self.list_of("fallback_models", &OWN),
            default_fallback_models: self.list_of("fallback_models", &FILES),
            least_review: self.least_review,
            commit: self.commit.clone(),
            write_back: !self.is_on("no_write_back"),
            rules: self.rules.clone(),
            ask_parks: switches.ask_parks.unwrap_or(!headless),
            ..run
        })
    }

    /// Returns the model if it comes from one of these sources. The run has to know which, because
    /// a role's own model ranks between the plan's and the project's.
    fn model_of(&self, sources: &[Source]) -> Option<String> {
        self.text("model")
            .filter(|_| self.is_from("model", sources))
    }

    /// Returns the list if it comes from one of these sources.
    fn list_of(&self, key: &str, sources: &[Source]) -> Vec<String> {
        if self.is_from(key, sources) {
            self.list(key)
        } else {
            Vec::new()
        }
    }

    fn is_from(&self, key: &str, sources: &[Source]) -> bool {
        self.place_given(key)
            .is_some_and(|place| sources.contains(&place.source))
    }
}

/// Returns a value as a field of a run's settings has it; pairs become a map.
fn field_value(kind: Kind, value: &Value) -> Json {
    match (kind, value) {
        (Kind::Names(Names::Services | Names::Alternatives), Value::List(pairs)) => {
            let pairs = pairs.iter().filter_map(|pair| pair.split_once('='));
            pairs
                .map(|(name, other)| (name.to_owned(), Json::from(other)))
                .collect()
        }
        _ => json!(value),
    }
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
        !source.is_shared() || key.class == Class::PlanLimit && *source == Source::Plan
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
                "Project: `allow` has no effect here, because a repository cannot widen what you \
                 allow"
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
            let run = run.unwrap();
            assert_eq!(run.ask_parks, expected, "{said:?} {headless}");
        }
    }
}
