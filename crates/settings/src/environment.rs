//! Parses the environment: settings, keys and endpoints, and the location of the user's files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use orchestrate_core::policy::CacheMode;
use orchestrate_core::text::similar::nearest;

use crate::config_file::parse_limits;
use crate::keys::{Class, KEYS, Key, named};
use crate::layer::{Layer, Location, Problem, ProblemCode, Source, checked};
use crate::secrets::set;

/// The name of our folder in each of the user's base directories.
const FOLDER: &str = "orchestrate";

/// Variables of agent loops written for other programs, each with the key that it sets.
const ALIASES: &[(&str, &str)] = &[
    ("RALPH_MAX_AGENTS", "max_agents"),
    ("RALPH_MAX_DEPTH", "max_depth"),
    ("RALPH_MAX_CHILDREN_PER_AGENT", "max_children_per_agent"),
    ("RALPH_AUDIT_LOG_PATH", "audit_log"),
    ("ORCHESTRATE_AUDIT_LOG_PATH", "audit_log"),
];

/// Variables that [`Switches::parse`] reads although they are named like a key: `ORCHESTRATE_ASK`
/// sets whether an `ask` parks; it is not an `ask` rule.
const SWITCHES: &[&str] = &["ORCHESTRATE_ASK"];

/// Names a file with the settings of tools.
const TOOLS_CONFIG: &str = "TOOLS_CONFIG";
/// Has limits as a JSON object.
const RESOURCE_LIMITS: &str = "RESOURCE_LIMITS";

/// Variables of agent loops written for other programs that set how the cache is used.
const CACHE: [&str; 2] = ["CACHE_MODE", "CACHE_SKIP"];

/// Our folders in the user's base directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The folder of the configuration file.
    pub config: PathBuf,
    /// The folder of the journal, the worktrees and the consents.
    pub state: PathBuf,
    /// The folder of files that can be recreated.
    pub cache: PathBuf,
}

/// Settings of a run that only the environment has, besides the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Whether the sandbox may neither be switched off nor fall back to the weaker tier.
    pub strict_sandbox: bool,
    /// Whether no agent may spawn another.
    pub no_spawning: bool,
    /// Whether an `ask` parks (`park`) or is refused (`deny`); `None` if the variable is not set.
    pub ask_parks: Option<bool>,
}

/// What the environment demands of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxDemand {
    /// The variable with its value, such as `RALPH_SANDBOX_MODE=strict`; of two, the one that
    /// demands more.
    pub by: String,
    /// Whether only the strongest tier will do.
    pub is_strict: bool,
}

impl SandboxDemand {
    /// Finds it among variables; `None` if they say nothing about the sandbox.
    pub fn find(variables: &BTreeMap<String, String>) -> Option<SandboxDemand> {
        let mut found: Option<SandboxDemand> = None;
        for (variable, text) in both_set(variables, SANDBOX_MODE) {
            let Some(is_strict) = meaning(text, STRICT) else {
                continue;
            };
            if found
                .as_ref()
                .is_none_or(|found| is_strict && !found.is_strict)
            {
                let by = format!("{variable}={text}");
                found = Some(SandboxDemand { by, is_strict });
            }
        }
        found
    }
}

/// Returns what a word stands for, if it is one of these.
fn meaning(text: &str, words: &[(&str, bool)]) -> Option<bool> {
    words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(text))
        .map(|(_, on)| *on)
}

/// The variables that belong to no key, without their prefixes.
const OWN_VARIABLES: [&str; 3] = ["ASK", "DISABLE_SPAWNING", SANDBOX_MODE];
/// The variable that demands a tier of the sandbox, without its prefix.
const SANDBOX_MODE: &str = "SANDBOX_MODE";
/// The words for whether only the strongest tier will do.
const STRICT: &[(&str, bool)] = &[
    ("1", true),
    ("true", true),
    ("strict", true),
    ("0", false),
    ("false", false),
];

impl Switches {
    /// Parses the variables that belong to no key.
    ///
    /// # Errors
    /// Returns every problem with them.
    pub fn parse(variables: &BTreeMap<String, String>) -> Result<Switches, Vec<Problem>> {
        const BOOLEAN: &[(&str, bool)] =
            &[("1", true), ("true", true), ("0", false), ("false", false)];
        const ASK: &[(&str, bool)] = &[("park", false), ("deny", true)];
        let mut problems = Vec::new();
        let strict = stricter(variables, SANDBOX_MODE, STRICT, &mut problems);
        let no_spawning = stricter(variables, "DISABLE_SPAWNING", BOOLEAN, &mut problems);
        let ask_denies = stricter(variables, "ASK", ASK, &mut problems);
        let switches = Switches {
            strict_sandbox: strict.unwrap_or(false),
            no_spawning: no_spawning.unwrap_or(false),
            ask_parks: ask_denies.map(|denies| !denies),
        };
        checked(switches, problems)
    }
}

impl Directories {
    /// Finds the directories according to the XDG base directory specification. Relative values are
    /// ignored.
    ///
    /// # Errors
    /// Fails if there is no home directory and not every variable is set.
    pub fn find(variables: &BTreeMap<String, String>) -> Result<Directories, Problem> {
        Ok(Directories {
            config: base_directory(variables, "XDG_CONFIG_HOME", ".config")?,
            state: base_directory(variables, "XDG_STATE_HOME", ".local/state")?,
            cache: base_directory(variables, "XDG_CACHE_HOME", ".cache")?,
        })
    }

    /// Returns the path of the user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

/// Returns our folder in one of the user's base directories.
fn base_directory(
    variables: &BTreeMap<String, String>,
    name: &str,
    below_home: &str,
) -> Result<PathBuf, Problem> {
    if let Some(base) = absolute(variables, name) {
        return Ok(base.join(FOLDER));
    }
    match absolute(variables, "HOME") {
        Some(home) => Ok(home.join(below_home).join(FOLDER)),
        None => {
            let place = Location::new(Source::Environment, name);
            let problem =
                Problem::new(place, ProblemCode::InvalidValue, "no home directory is set");
            Err(problem.suggest("set HOME to an absolute path"))
        }
    }
}

/// Returns the path that a variable has, if it is absolute.
pub(crate) fn absolute<'v>(
    variables: &'v BTreeMap<String, String>,
    name: &str,
) -> Option<&'v Path> {
    variables
        .get(name)
        .map(Path::new)
        .filter(|path| path.is_absolute())
}

/// Parses the variables that set keys.
///
/// # Errors
/// Returns every problem with them.
pub(crate) fn layer(variables: &BTreeMap<String, String>) -> Result<Layer, Vec<Problem>> {
    let own = KEYS.iter().map(|key| (key.variable(), key));
    let own = own.filter(|(variable, _)| !SWITCHES.contains(&variable.as_str()));
    let others = ALIASES
        .iter()
        .filter_map(|(variable, key)| Some(((*variable).to_owned(), named(key)?)));
    let mut layer = Layer::default();
    let mut problems = Vec::new();
    for (variable, key) in own.chain(others) {
        let Some(text) = set(variables, &variable) else {
            continue;
        };
        let place = Location::new(Source::Environment, &variable);
        if key.class == Class::TypedOnly && matches!(text, "0" | "false") {
            continue;
        }
        problems.extend(layer.take_text(key, text, place).err());
    }
    for (variable, text) in both_set(variables, RESOURCE_LIMITS) {
        match parse_limits(text, &variable) {
            Ok(limits) => layer.given.extend(limits.given),
            Err(found) => problems.extend(found),
        }
    }
    problems.extend(take_cache(variables, &mut layer).err());
    checked(layer, problems)
}

/// Takes the mode that other programs' variables set, unless our own variable does.
fn take_cache(variables: &BTreeMap<String, String>, layer: &mut Layer) -> Result<(), Problem> {
    let [mode, skip] = CACHE.map(|name| set(variables, name));
    let place = Location::new(Source::Environment, CACHE.join(" and "));
    let mode = CacheMode::of_variables(mode, skip).map_err(|error| {
        Problem::new(place.clone(), ProblemCode::InvalidValue, error.to_string())
    })?;
    match (mode, named("cache")) {
        (Some(mode), Some(key)) => layer.take_text(key, &mode.to_string(), place),
        _ => Ok(()),
    }
}

/// Returns the files of tool settings that the environment names, without repetition.
pub(crate) fn tool_files(variables: &BTreeMap<String, String>) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for (_, file) in both_set(variables, TOOLS_CONFIG) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Returns the names of the variables that belong to no key, of which neither form is among the
/// given ones.
pub fn switches_not_given(given: &BTreeMap<String, String>) -> Vec<String> {
    OWN_VARIABLES
        .into_iter()
        .filter(|name| {
            !both(name)
                .iter()
                .any(|variable| given.contains_key(variable))
        })
        .map(|name| format!("ORCHESTRATE_{name}"))
        .collect()
}

/// Returns the variables that belong to no key, with their values.
pub(crate) fn switches_given(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let given = OWN_VARIABLES
        .into_iter()
        .flat_map(|name| both_set(variables, name));
    given
        .map(|(variable, text)| (variable, text.to_owned()))
        .collect()
}

/// Returns warnings about variables that have no effect, and whose names are nearly those of ours.
/// Others with these prefixes may belong to other programs.
pub(crate) fn misspelt(variables: &BTreeMap<String, String>) -> Vec<String> {
    let keys = KEYS.iter().map(Key::variable);
    let aliases = ALIASES.iter().map(|(variable, _)| (*variable).to_owned());
    let others = OWN_VARIABLES
        .into_iter()
        .chain([TOOLS_CONFIG, RESOURCE_LIMITS])
        .flat_map(both);
    let known: BTreeSet<String> = keys.chain(aliases).chain(others).collect();
    // Loops of other programs have variables such as `RALPH_TASK`.
    let meant: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "RALPH_ASK")
        .collect();
    let mut warnings = Vec::new();
    for name in variables.keys() {
        let is_like_ours = name.starts_with("ORCHESTRATE_") || name.starts_with("RALPH_");
        if !is_like_ours || known.contains(name) || set(variables, name).is_none() {
            continue;
        }
        if let Some(nearest) = nearest(name, meant.iter().copied()) {
            warnings.push(format!("{name} has no effect: did you mean `{nearest}`?"));
        }
    }
    warnings
}

/// Reads the word of two variables, and reports whether it is the stricter one; `None` if neither
/// is set to a known one.
fn stricter(
    variables: &BTreeMap<String, String>,
    name: &str,
    words: &[(&str, bool)],
    problems: &mut Vec<Problem>,
) -> Option<bool> {
    let mut said = None;
    for (variable, text) in both_set(variables, name) {
        match meaning(text, words) {
            // If the two variables differ, the stricter value wins.
            Some(on) => said = Some(said.unwrap_or(false) || on),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let message = format!("`{text}` is not one of {}", known.join(", "));
                let place = Location::new(Source::Environment, variable);
                problems.push(Problem::new(place, ProblemCode::InvalidValue, message));
            }
        }
    }
    said
}

/// Returns the root of the project that a directory is in: the nearest directory with a `.git`,
/// from this one up.
pub fn project_root(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|directory| orchestrate_files::is_repository(directory))
        .map(Path::to_path_buf)
}

/// Returns the path that a text of the configuration means, which may begin with `~/`; `None` if
/// there is no home directory.
pub(crate) fn path_of(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None => Some(PathBuf::from(text)),
    }
}

fn both(name: &str) -> [String; 2] {
    [format!("ORCHESTRATE_{name}"), format!("RALPH_{name}")]
}

/// Returns those of the two variables that are set, with their texts.
fn both_set<'v>(variables: &'v BTreeMap<String, String>, name: &str) -> Vec<(String, &'v str)> {
    let mut given = Vec::new();
    for variable in both(name) {
        if let Some(text) = set(variables, &variable) {
            given.push((variable, text));
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Resolved;
    use crate::secrets::{SECRETS, secrets};

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn relative_directories_do_not_count() {
        let given = variables(&[
            ("HOME", "/home/u"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "/c"),
        ]);
        let expected = Directories {
            config: "/home/u/.config/orchestrate".into(),
            state: "/home/u/.local/state/orchestrate".into(),
            cache: "/c/orchestrate".into(),
        };
        assert_eq!(Directories::find(&given), Ok(expected));
        assert!(Directories::find(&variables(&[])).is_err());
    }

    #[test]
    fn variables_set_keys() {
        let given = variables(&[
            ("ORCHESTRATE_MODEL", "openai/m"),
            ("RALPH_MAX_AGENTS", "4"),
            ("RALPH_MAX_CHILDREN_PER_AGENT", "5"),
            ("RALPH_MAX_DEPTH", "2"),
            ("ORCHESTRATE_QUIET", ""),
            ("ORCHESTRATE_REQUIRE", "all"),
            ("ORCHESTRATE_ASK", "park"),
        ]);
        let found: Vec<String> = layer(&given)
            .unwrap()
            .given
            .iter()
            .map(|given| format!("{} {}={}", given.place, given.key.name, given.value))
            .collect();
        let expected = [
            "ORCHESTRATE_MODEL model=openai/m",
            "RALPH_MAX_AGENTS max_agents=4",
            "RALPH_MAX_DEPTH max_depth=2",
            "RALPH_MAX_CHILDREN_PER_AGENT max_children_per_agent=5",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn of_two_switches_the_stricter_one_counts() {
        let table = [
            (
                "ASK",
                "park",
                "deny",
                Switches {
                    ask_parks: Some(false),
                    ..Switches::default()
                },
            ),
            (
                "SANDBOX_MODE",
                "0",
                "strict",
                Switches {
                    strict_sandbox: true,
                    ..Switches::default()
                },
            ),
            (
                "DISABLE_SPAWNING",
                "false",
                "1",
                Switches {
                    no_spawning: true,
                    ..Switches::default()
                },
            ),
        ];
        for (name, lax, strict, expected) in table {
            let [ours, other] = ["ORCHESTRATE", "RALPH"].map(|prefix| format!("{prefix}_{name}"));
            for values in [[lax, strict], [strict, lax]] {
                let given = variables(&[(&ours, values[0]), (&other, values[1])]);
                assert_eq!(Switches::parse(&given).as_ref(), Ok(&expected), "{given:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_done_is_an_error() {
        let given = variables(&[
            ("ORCHESTRATE_NO_SANDBOX", "1"),
            ("ORCHESTRATE_MAX_AGENTS", "many"),
            ("RALPH_RESOURCE_LIMITS", "{\"max_agent\": 3}"),
        ]);
        let found: Vec<String> = layer(&given)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "ORCHESTRATE_MAX_AGENTS: invalid value `many` for `max_agents`: expected a whole \
                 number from 1 to 1000",
                "ORCHESTRATE_NO_SANDBOX: `no_sandbox` can only be set on the command line",
                "RALPH_RESOURCE_LIMITS: there is no key `max_agent` here",
            ]
        );
    }

    #[test]
    fn a_variable_with_nearly_the_name_of_one_of_ours_is_warned_of() {
        let given = variables(&[
            ("RALPH_MAX_AGENT", "4"),
            ("ORCHESTRATE_MAX_AGENT", "4"),
            ("ORCHESTRATE_SANDBOX_MODES", "strict"),
            ("RALPH_MAX_DEPHT", ""),
            ("RALPH_MAX_DEPTH", "2"),
            ("RALPH_TASK", "1"),
            ("RALPH_ITERATION", "7"),
            ("ORCHESTRATE_REQUIRE", "all"),
            ("MAX_AGENT", "4"),
        ]);
        let expected = [
            "ORCHESTRATE_MAX_AGENT has no effect: did you mean `ORCHESTRATE_MAX_AGENTS`?",
            "ORCHESTRATE_SANDBOX_MODES has no effect: did you mean `ORCHESTRATE_SANDBOX_MODE`?",
            "RALPH_MAX_AGENT has no effect: did you mean `RALPH_MAX_AGENTS`?",
        ];
        assert_eq!(misspelt(&given), expected);
    }

    /// Every promised variable has an effect or is refused: none is accepted and ignored.
    #[test]
    fn no_variable_is_accepted_and_ignored() {
        let promised = [
            ("ORCHESTRATE_MODEL", "openai/m"),
            ("ORCHESTRATE_ASK", "park"),
            ("CACHE_MODE", "use"),
            ("CACHE_SKIP", "true"),
        ];
        let twins = [
            ("TOOLS_CONFIG", "tools.toml"),
            ("SANDBOX_MODE", "strict"),
            ("AUDIT_LOG_PATH", "/a"),
            ("RESOURCE_LIMITS", "{\"max_agents\": 3}"),
            ("MAX_AGENTS", "4"),
            ("MAX_DEPTH", "2"),
            ("DISABLE_SPAWNING", "1"),
        ];
        let twins = twins
            .iter()
            .flat_map(|(name, value)| both(name).map(|variable| (variable, *value)));
        let keys = SECRETS
            .iter()
            .flat_map(|name| [((*name).to_owned(), "v"), (format!("{name}_FILE"), "/v")]);
        let outcome = |given: &BTreeMap<String, String>| {
            let files = format!("{:?}", tool_files(given));
            let said = [
                format!("{:?}", layer(given)),
                format!("{:?}", Switches::parse(given)),
                files,
            ];
            (said, secrets(given, &BTreeMap::new()))
        };
        let nothing = outcome(&BTreeMap::new());
        for (name, value) in promised
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .chain(twins)
            .chain(keys)
        {
            let given = BTreeMap::from([(name.clone(), value.to_owned())]);
            assert_ne!(
                outcome(&given),
                nothing,
                "{name}={value} is accepted and ignored"
            );
        }
        for (name, value) in [("CACHE_MODE", ""), ("CACHE_SKIP", "0"), ("CACHE_SKIP", "")] {
            assert_eq!(
                outcome(&variables(&[(name, value)])),
                nothing,
                "{name}={value} asks for nothing"
            );
        }
    }

    /// The promised settings of tools.
    const OF_TOOLS: [(&str, &str); 14] = [
        ("tools.file_operations.max_file_size_mb", "5"),
        ("tools.file_operations.allowed_extensions", ".py"),
        ("tools.file_operations.forbidden_paths", "keys"),
        ("tools.code_execution.timeout_seconds", "30"),
        ("tools.code_execution.cpu_seconds", "60"),
        ("tools.code_execution.agent_cpu_seconds", "3600"),
        ("tools.code_execution.memory_limit_mb", "256"),
        ("tools.code_execution.allowed_commands", "python"),
        ("tools.web_requests.timeout_seconds", "10"),
        ("tools.web_requests.max_response_size_mb", "4"),
        ("tools.web_requests.allowed_domains", "docs.python.org"),
        ("tools.web_requests.search_service", "brave"),
        (
            "tools.web_requests.services",
            "searxng=http://localhost:8888/",
        ),
        ("tools.alternatives", "rg=grep"),
    ];

    /// Every promised option of a run is a key of every source, and its value has an effect or is
    /// refused by name. Every key is promised.
    #[test]
    fn every_option_is_a_key() {
        let promised = [
            ("model", "openai/m"),
            ("base_url", "http://127.0.0.1:1"),
            ("agent", "tester"),
            ("max_agents", "7"),
            ("max_depth", "1"),
            ("max_children_per_agent", "2"),
            ("context_tokens", "9000"),
            ("root_context_tokens", "90000"),
            ("map_tokens", "500"),
            ("map_wait_ms", "500"),
            ("budget_tokens", "5"),
            ("budget_usd", "5"),
            ("verify", "true"),
            ("verify_base", "false"),
            ("verify_retries", "3"),
            ("merge", "review"),
            ("review", "always"),
            ("commit.leave_out", "*.tmp"),
            ("commit.allow", "build/"),
            ("keep_commits", "true"),
            ("merge_rounds", "5"),
            ("base", "other"),
            ("timeout", "5m"),
            ("fallback_models", "openai/a,openai/b"),
            ("context_limits", "openai/a=9000"),
            ("prices", "openai/a=1/0.1/5"),
            ("outage_patience", "5m"),
            ("command_timeout", "5m"),
            ("command_memory_mib", "64"),
            ("worktree_mib", "64"),
            ("worktree_files", "5000"),
            ("land", "true"),
            ("no_sandbox", "true"),
            ("allow", "Bash(x)"),
            ("ask", "Bash(x)"),
            ("deny", "Bash(x)"),
            ("cache", "use"),
            ("output_format", "json"),
            ("audit_log", "/var/log/audit.jsonl"),
            ("quiet", "true"),
            ("verbose", "true"),
            ("no_write_back", "true"),
            ("skip_optional", "true"),
            ("land.message", "{title}"),
            ("clean.keep_runs", "3"),
            ("worktree.folder", "/srv/worktrees"),
            ("worktree.warm_limit.mib", "64"),
            ("worktree.warm_limit.files", "5000"),
            ("worktree.setup", "true"),
            ("worktree.setup_network", "true"),
            ("worktree.setup_hosts", "npm.example"),
            ("taint.policy", "deny"),
            ("taint.public_repository", "true"),
            ("sandbox.read", "~/tools"),
            ("sandbox.env", "CI"),
            ("allowed_providers", "anthropic"),
        ];
        let promised: Vec<(&str, &str)> = promised.into_iter().chain(OF_TOOLS).collect();
        let names: Vec<&str> = promised.iter().map(|(name, _)| *name).collect();
        let unpromised: Vec<&str> = KEYS
            .iter()
            .map(|key| key.name)
            .filter(|name| !names.contains(name))
            .collect();
        assert_eq!(unpromised, [""; 0]);
        // Settings that only the terminal reads are not frozen by a run.
        let of_the_terminal = [
            "audit_log",
            "base",
            "output_format",
            "quiet",
            "verbose",
            "land.message",
            "clean.keep_runs",
            "worktree.folder",
            "allowed_providers",
        ];
        let nothing = Resolved::merge(&[]);
        let frozen =
            |resolved: &Resolved| resolved.run_settings(&Switches::default(), true).unwrap();
        for (name, value) in promised {
            let key = named(name).unwrap_or_else(|| panic!("`{name}` is no key"));
            let mut layer = Layer::default();
            match layer.take_text(key, value, Location::new(Source::Flags, key.option())) {
                Err(problem) => assert_eq!(problem.code, ProblemCode::NotAvailable, "{problem}"),
                Ok(()) => {
                    let resolved = Resolved::merge(&[layer]);
                    assert_ne!(resolved, nothing, "{name} = {value} changes nothing");
                    let is_frozen = frozen(&resolved) != frozen(&nothing);
                    assert_ne!(
                        is_frozen,
                        of_the_terminal.contains(&name),
                        "{name} = {value} for the run"
                    );
                }
            }
        }
    }

    #[test]
    fn the_sandbox_can_only_be_made_stricter() {
        let table = [
            ("1", true),
            ("TRUE", true),
            ("strict", true),
            ("0", false),
            ("false", false),
        ];
        for (text, expected) in table {
            let found = Switches::parse(&variables(&[("RALPH_SANDBOX_MODE", text)])).unwrap();
            assert_eq!(found.strict_sandbox, expected, "{text}");
        }
        assert!(Switches::parse(&variables(&[("RALPH_SANDBOX_MODE", "off")])).is_err());
        let both = variables(&[
            ("RALPH_SANDBOX_MODE", "strict"),
            ("ORCHESTRATE_SANDBOX_MODE", "0"),
        ]);
        assert!(Switches::parse(&both).unwrap().strict_sandbox);
        let demand = |given: &[(&str, &str)]| {
            SandboxDemand::find(&variables(given))
                .map(|SandboxDemand { by, is_strict }| (by, is_strict))
        };
        let strict = |by: &str| Some((by.to_owned(), true));
        let pair = [
            ("RALPH_SANDBOX_MODE", "strict"),
            ("ORCHESTRATE_SANDBOX_MODE", "0"),
        ];
        assert_eq!(demand(&pair), strict("RALPH_SANDBOX_MODE=strict"));
        assert_eq!(
            demand(&[("ORCHESTRATE_SANDBOX_MODE", "1")]),
            strict("ORCHESTRATE_SANDBOX_MODE=1")
        );
        assert_eq!(
            demand(&pair[1..]),
            Some(("ORCHESTRATE_SANDBOX_MODE=0".to_owned(), false))
        );
        assert_eq!(demand(&[("PATH", "/bin")]), None);
    }
}
