//! Tests of who may set which key, key by key: a repository can narrow what its user allows, and
//! never widen it.

use crate::config_file::parse;
use crate::keys::{Class, KEYS, named};
use crate::layer::{Layer, Location, Source};
use crate::merge::Resolved;
use crate::values::Kind;

/// What a repository (its configuration, or a plan's front matter) can do to a key.
enum Repository {
    /// It may choose: the choice reaches nothing that the user has not allowed, or its command
    /// needs consent.
    Chooses,
    /// Its value applies if it is stricter. The texts are one that is wider than the user's
    /// default, and one that is stricter; no text stands for a key without anything wider, or
    /// stricter, than its default.
    Narrows(&'static str, &'static str),
    /// Its rules are added, but none that allows.
    Adds,
    /// Its list is added to the user's.
    Combines,
    /// It is an error there.
    Nothing,
}

use Repository::{Adds, Chooses, Combines, Narrows, Nothing};

const TABLE: &[(&str, Repository)] = &[
    // A provider that the user has not allowed needs consent (`vendors_of` in the coordinator).
    ("model", Chooses),
    ("fallback_models", Chooses),
    ("allowed_providers", Nothing),
    // Only ever lowers `context_tokens`.
    ("context_limits", Chooses),
    ("base_url", Nothing),
    ("agent", Chooses),
    ("skip_optional", Chooses),
    // A command, which needs consent.
    ("verify", Chooses),
    ("verify_base", Narrows("false", "")),
    // Tries of a check that it cannot name without consent.
    ("verify_retries", Chooses),
    ("merge", Narrows("", "review")),
    ("review", Narrows("", "always")),
    ("merge_rounds", Narrows("50", "1")),
    ("base", Chooses),
    ("max_agents", Narrows("500", "2")),
    ("max_depth", Narrows("50", "1")),
    ("max_children_per_agent", Narrows("500", "2")),
    ("context_tokens", Narrows("900000", "8000")),
    ("root_context_tokens", Narrows("2000000", "8000")),
    ("map_tokens", Narrows("100000", "10")),
    ("map_wait_ms", Narrows("60000", "10")),
    ("budget_tokens", Narrows("", "10")),
    ("budget_usd", Narrows("", "1")),
    ("prices", Nothing),
    ("timeout", Narrows("", "1m")),
    ("outage_patience", Narrows("20h", "1m")),
    ("command_timeout", Narrows("20h", "1m")),
    // The default is a share of the machine's memory, which the coordinator applies
    // (`settings_of`).
    ("command_memory_mib", Narrows("", "100")),
    ("worktree_mib", Narrows("1000000", "100")),
    ("worktree_files", Narrows("2000000", "100")),
    ("allow", Adds),
    ("ask", Adds),
    ("deny", Adds),
    ("cache", Nothing),
    ("output_format", Chooses),
    ("audit_log", Nothing),
    ("quiet", Chooses),
    ("verbose", Chooses),
    ("no_write_back", Chooses),
    ("land", Nothing),
    ("land.message", Nothing),
    ("clean.keep_runs", Nothing),
    ("commit.leave_out", Combines),
    // What a repository allows is not taken for secrets.
    ("commit.allow", Combines),
    ("keep_commits", Chooses),
    ("no_sandbox", Nothing),
    // Commands, which need consent, and consent to the network.
    ("worktree.setup", Chooses),
    ("worktree.setup_hosts", Chooses),
    ("worktree.setup_network", Chooses),
    ("worktree.warm_limit.mib", Narrows("100000", "10")),
    ("worktree.warm_limit.files", Narrows("9000000", "10")),
    ("worktree.folder", Nothing),
    ("sandbox.read", Nothing),
    ("sandbox.env", Nothing),
    (
        "tools.file_operations.max_file_size_mb",
        Narrows("500", "1"),
    ),
    (
        "tools.file_operations.allowed_extensions",
        Narrows("", ".py"),
    ),
    (
        "tools.file_operations.forbidden_paths",
        Narrows("", "secrets"),
    ),
    ("tools.code_execution.timeout_seconds", Narrows("9000", "5")),
    ("tools.code_execution.cpu_seconds", Narrows("", "5")),
    ("tools.code_execution.agent_cpu_seconds", Narrows("", "5")),
    ("tools.code_execution.memory_limit_mb", Narrows("", "100")),
    (
        "tools.code_execution.allowed_commands",
        Narrows("", "python"),
    ),
    ("tools.web_requests.timeout_seconds", Narrows("9000", "5")),
    (
        "tools.web_requests.max_response_size_mb",
        Narrows("500", "1"),
    ),
    // A host that is not allowed already is allowed by neither.
    (
        "tools.web_requests.allowed_domains",
        Narrows("", "docs.python.org"),
    ),
    ("tools.web_requests.search_service", Nothing),
    ("tools.web_requests.services", Nothing),
    ("taint.policy", Narrows("", "deny")),
    ("taint.public_repository", Nothing),
    ("tools.alternatives", Nothing),
];

/// Resolves one value of one source, and returns what applies and whether it is the source's.
fn resolved(key: &str, text: &str, source: &Source) -> (String, bool) {
    let mut layer = Layer::default();
    let place = Location::new(source.clone(), "there");
    layer.take_text(named(key).unwrap(), text, place).unwrap();
    let resolved = Resolved::merge(&[layer]);
    let chosen = resolved.chosen.get(key).unwrap();
    (
        chosen.value.to_string(),
        chosen
            .place
            .as_ref()
            .is_some_and(|place| place.source == *source),
    )
}

#[test]
fn every_key_has_its_line() {
    let named: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    let mut missing: Vec<&str> = KEYS
        .iter()
        .map(|key| key.name)
        .filter(|name| !named.contains(name))
        .collect();
    missing.extend(
        named
            .iter()
            .filter(|name| super::keys::named(name).is_none()),
    );
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn classes_are_as_the_table_has_them() {
    for (name, repository) in TABLE {
        let class = named(name).unwrap().class;
        let fits = match repository {
            Chooses => class == Class::Preference,
            Narrows(..) => matches!(class, Class::Limit | Class::PlanLimit),
            Adds => class == Class::Rules,
            Combines => class == Class::Lists,
            Nothing => matches!(class, Class::Personal | Class::TypedOnly),
        };
        assert!(fits, "{name} is {class:?}");
    }
}

#[test]
fn a_repository_narrows_and_never_widens() {
    for (name, repository) in TABLE {
        let Narrows(wide, narrow) = repository else {
            continue;
        };
        for source in [Source::Project, Source::Plan] {
            let applies = narrow.is_empty() || resolved(name, narrow, &source).1;
            assert!(applies, "{name} = {narrow} of {source:?} does not apply");
            if !wide.is_empty() {
                let (value, is_theirs) = resolved(name, wide, &source);
                let same = named(name).unwrap().kind.parse(wide).unwrap().to_string() == value;
                assert!(
                    !is_theirs && !same,
                    "{name} = {wide} of {source:?} applies: {value}"
                );
                // The control: the user's own value does.
                assert!(
                    resolved(name, wide, &Source::User).1,
                    "{name} = {wide} of the user does not apply"
                );
            }
        }
    }
}

#[test]
fn what_is_the_users_alone_is_an_error_in_a_repository() {
    for (name, _) in TABLE
        .iter()
        .filter(|(_, repository)| matches!(repository, Nothing))
    {
        let key = named(name).unwrap();
        let value = match key.kind {
            Kind::OneOf(words) => format!("\"{}\"", words[0]),
            Kind::Switch => "true".to_owned(),
            kind => kind.example().to_owned(),
        };
        let text = match name.rsplit_once('.') {
            Some((table, last)) => format!("[{table}]\n{last} = {value}\n"),
            None => format!("{name} = {value}\n"),
        };
        assert!(
            parse(&text, Source::Project, "orchestrate.toml").is_err(),
            "{text}"
        );
        // The control: the same text is fine in the user's file, unless only flags may say it.
        let of_user = parse(&text, Source::User, "config.toml");
        assert_eq!(of_user.is_ok(), key.class == Class::Personal, "{text}");
    }
}
