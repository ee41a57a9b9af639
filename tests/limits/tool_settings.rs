//! The settings of tools: where each comes from, who may widen them, and that a run keeps to them.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use orchestrate_core::ToolSettings;
use serde_json::{Value, json};

use crate::support::{
    Case, Outcome, Script, World, after, at, case, done, fail, on, sandboxed, says,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(a_run_keeps_to_the_profile_of_the_reference),
        case!(each_says_where_it_comes_from),
        case!(a_repository_only_narrows_them),
        case!(limits_of_the_environment_replace_the_users),
        case!(what_is_wrong_is_named_with_the_nearest_key),
        case!(they_are_set_by_the_command),
    ]
}

/// The values of the reference, as it writes them.
const PROFILE: &str = r#"{
    "file_operations": {
        "max_file_size_mb": 10,
        "allowed_extensions": [".py", ".md", ".txt", ".json", ".yaml"],
        "forbidden_paths": ["/etc", "/usr", "/var"]
    },
    "code_execution": {
        "timeout_seconds": 30,
        "memory_limit_mb": 256,
        "allowed_commands": ["python", "pip", "pytest", "black", "mypy"]
    },
    "web_requests": {
        "timeout_seconds": 10,
        "max_response_size_mb": 5,
        "allowed_domains": ["*.github.com", "*.stackoverflow.com", "*.python.org"]
    }
}"#;

/// The same values as `config show` prints them, by the ends of their keys.
const SHOWN: [(&str, &str); 9] = [
    ("file_operations.max_file_size_mb", "10"),
    (
        "file_operations.allowed_extensions",
        ".py, .md, .txt, .json, .yaml",
    ),
    ("file_operations.forbidden_paths", "/etc, /usr, /var"),
    ("code_execution.timeout_seconds", "30"),
    ("code_execution.memory_limit_mb", "256"),
    (
        "code_execution.allowed_commands",
        "python, pip, pytest, black, mypy",
    ),
    ("web_requests.timeout_seconds", "10"),
    ("web_requests.max_response_size_mb", "5"),
    (
        "web_requests.allowed_domains",
        "*.github.com, *.stackoverflow.com, *.python.org",
    ),
];

/// Runs a plan under the profile, through settings, journal, assignment and executor.
fn a_run_keeps_to_the_profile_of_the_reference() -> Outcome {
    let world = World::with_plan("- [ ] T1 write\n")?;
    let profile = world.write("tools.json", PROFILE)?;
    let write = |path: &str| json!({"path": path, "content": "x\n"});
    let step = |text: &str| after("T1", text);
    let script = Script::default()
        .rule(on("T1", 1).call("write_file", &write("a.rs")))
        .rule(
            step("none of the endings that the user allows")
                .call("run_shell_command", &json!({"command": "curl x"})),
        )
        .rule(
            step("of the programs that the user allows")
                .call("run_shell_command", &json!({"command": "pip && pip"})),
        )
        .rule(
            step("`tools.code_execution.allowed_commands` needs approval")
                .call("write_file", &write("a.md")),
        )
        .rule(done("T1"));
    let model = world.script(&script)?;
    let run = world.orchestrate(&[
        "run",
        "plan.md",
        "--model",
        &model,
        "--output-format",
        "json",
        "--no-verify-base",
    ]);
    let report = run
        .env("RALPH_TOOLS_CONFIG", &profile)
        .run()?
        .exits(0)?
        .json()?;
    let id = at(&report, "/run_id")?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let log = world.types(&["log", "--json"], 0)?.stdout;
    let facts: Vec<Value> = log
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let started = facts
        .iter()
        .find_map(|fact| fact.pointer("/settings/tool_settings"));
    let frozen: Option<ToolSettings> = started.cloned().map(serde_json::from_value).transpose()?;
    if frozen != Some(serde_json::from_str(PROFILE)?) {
        return fail(format!("run {id} froze {started:?}\n{log}"));
    }
    let paths = world.git(&format!(
        "ls-tree -r --name-only orchestrate/{id}/integration"
    ))?;
    assert!(paths.contains("a.md"), "{paths}\n{log}");
    assert!(!paths.contains("a.rs"), "{paths}\n{log}");
    Ok(())
}

fn shown(
    world: &World,
    variables: &[(&str, &str)],
) -> Result<BTreeMap<String, (String, String)>, Failed> {
    let show = world.orchestrate(&["config", "show", "--json"]);
    let show = variables
        .iter()
        .fold(show, |show, (name, value)| show.env(name, value));
    let shown = show.run()?.exits(0)?.json()?;
    let Some(settings) = at(&shown, "/settings")?.as_object() else {
        return fail(shown);
    };
    let text = |setting: &Value, name: &str| {
        setting
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let entry = |(key, setting): (&String, &Value)| {
        (
            key.clone(),
            (text(setting, "value"), text(setting, "source")),
        )
    };
    Ok(settings.iter().map(entry).collect())
}

fn require(
    shown: &BTreeMap<String, (String, String)>,
    key: &str,
    value: &str,
    source: &str,
) -> Outcome {
    match shown.get(&format!("tools.{key}")) {
        Some((found, place)) if found == value && place.ends_with(source) => Ok(()),
        found => fail(format!("{key}: {found:?} instead of {value} of {source}")),
    }
}

fn each_says_where_it_comes_from() -> Outcome {
    let world = World::plain()?;
    world.write("tools.json", PROFILE)?;
    let toml =
        "[file_operations]\nmax_file_size_mb = 3\n[code_execution]\nallowed_commands = ['cargo']\n";
    let (json, toml) = (world.file("tools.json"), world.write("tools.toml", toml)?);
    let by_default = shown(&world, &[])?;
    for (key, value) in SHOWN
        .iter()
        .filter(|(key, _)| key.ends_with("size_mb") || key.ends_with("domains"))
    {
        require(&by_default, key, value, "default")?;
    }
    let extensions = by_default.get("tools.file_operations.allowed_extensions");
    assert!(
        extensions.is_some_and(|(value, _)| value.is_empty()),
        "some kinds of files are refused by default"
    );
    for variable in ["RALPH_TOOLS_CONFIG", "ORCHESTRATE_TOOLS_CONFIG"] {
        let found = shown(&world, &[(variable, &json)])?;
        SHOWN
            .iter()
            .try_for_each(|(key, value)| require(&found, key, value, "tools.json"))?;
        let found = shown(&world, &[(variable, &toml)])?;
        require(
            &found,
            "file_operations.max_file_size_mb",
            "3",
            "tools.toml:2:1",
        )?;
        require(
            &found,
            "code_execution.allowed_commands",
            "cargo",
            "tools.toml:4:1",
        )?;
    }
    let one = shown(
        &world,
        &[("ORCHESTRATE_TOOLS_CODE_EXECUTION_TIMEOUT_SECONDS", "7")],
    )?;
    require(
        &one,
        "code_execution.timeout_seconds",
        "7",
        "ORCHESTRATE_TOOLS_CODE_EXECUTION_TIMEOUT_SECONDS",
    )?;
    let strict = world
        .orchestrate(&["config", "show"])
        .env("RALPH_SANDBOX_MODE", "strict");
    let strict = strict
        .env("ORCHESTRATE_DISABLE_SPAWNING", "1")
        .run()?
        .exits(0)?;
    for line in [
        "RALPH_SANDBOX_MODE       strict",
        "ORCHESTRATE_DISABLE_SPAWNING 1",
        "ORCHESTRATE_ASK          (not set)",
    ] {
        assert!(strict.stdout.contains(line), "{}", strict.stdout);
    }
    let unset = world.types(&["config", "show"], 0)?;
    says(&unset, &["ORCHESTRATE_SANDBOX_MODE (not set)"])?;
    Ok(())
}

/// A repository's file takes from what the user allows, and adds nothing to it.
fn a_repository_only_narrows_them() -> Outcome {
    let world = World::plain()?;
    let user = world.write(
        "user.toml",
        "[file_operations]\nmax_file_size_mb = 5\nallowed_extensions = ['.py', '.md']\n[code_execution]\n\
         timeout_seconds = 100\nmemory_limit_mb = 500\nallowed_commands = ['python', 'pip']\n\
         [web_requests]\nallowed_domains = ['*.python.org']\n",
    )?;
    let of_repository = |text: &str| -> Result<_, Failed> {
        world.repository.write("orchestrate.toml", text)?;
        shown(&world, &[("ORCHESTRATE_TOOLS_CONFIG", &user)])
    };
    let narrower = of_repository(
        "[tools.file_operations]\nmax_file_size_mb = 2\nallowed_extensions = ['.md']\nforbidden_paths = ['keys']\n\
         [tools.code_execution]\ntimeout_seconds = 10\nmemory_limit_mb = 64\nallowed_commands = ['pip']\n\
         [tools.web_requests]\nallowed_domains = ['docs.python.org']\n",
    )?;
    for (key, value) in [
        ("file_operations.max_file_size_mb", "2"),
        ("file_operations.allowed_extensions", ".md"),
        ("code_execution.timeout_seconds", "10"),
        ("code_execution.memory_limit_mb", "64"),
        ("code_execution.allowed_commands", "pip"),
        ("web_requests.allowed_domains", "docs.python.org"),
    ] {
        let found = narrower
            .get(&format!("tools.{key}"))
            .cloned()
            .unwrap_or_default();
        assert_eq!(found.0, value, "{key}: {found:?}");
        assert!(found.1.starts_with("orchestrate.toml:"), "{key}: {found:?}");
    }
    require(
        &narrower,
        "file_operations.forbidden_paths",
        "/etc, /usr, /var, keys",
        "and orchestrate.toml:4:1",
    )?;
    let wider = of_repository(
        "[tools.file_operations]\nmax_file_size_mb = 50\nallowed_extensions = ['.md', '.py', '.rs']\n\
         forbidden_paths = []\n[tools.code_execution]\ntimeout_seconds = 1000\nmemory_limit_mb = 5000\n\
         allowed_commands = ['python', 'pip', 'curl']\n\
         [tools.web_requests]\nallowed_domains = ['*.python.org', '*.example.org']\n",
    )?;
    for (key, value, source) in [
        ("file_operations.max_file_size_mb", "5", "user.toml:2:1"),
        (
            "file_operations.allowed_extensions",
            ".py, .md",
            "user.toml:3:1",
        ),
        (
            "file_operations.forbidden_paths",
            "/etc, /usr, /var",
            "default",
        ),
        ("code_execution.timeout_seconds", "100", "user.toml:5:1"),
        ("code_execution.memory_limit_mb", "500", "user.toml:6:1"),
        (
            "code_execution.allowed_commands",
            "python, pip",
            "user.toml:7:1",
        ),
        (
            "web_requests.allowed_domains",
            "*.python.org",
            "user.toml:9:1",
        ),
    ] {
        require(&wider, key, value, source)?;
    }
    Ok(())
}

fn limits_of_the_environment_replace_the_users() -> Outcome {
    let world = World::plain()?;
    world.types(
        &[
            "config",
            "set",
            "tools.code_execution.memory_limit_mb",
            "256",
        ],
        0,
    )?;
    world.types(&["config", "set", "max_agents", "4"], 0)?;
    let limits =
        r#"{"code_execution": {"memory_limit_mb": 4096}, "max_agents": 9, "timeout": "5m"}"#;
    for variable in ["RALPH_RESOURCE_LIMITS", "ORCHESTRATE_RESOURCE_LIMITS"] {
        let found = shown(&world, &[(variable, limits)])?;
        require(&found, "code_execution.memory_limit_mb", "4096", variable)?;
        let of = |key: &str| found.get(key).cloned().unwrap_or_default();
        let expected = |value: &str| (value.to_owned(), variable.to_owned());
        if (of("max_agents"), of("timeout")) != (expected("9"), expected("300000")) {
            return fail(format!("{found:?}"));
        }
    }
    world
        .repository
        .write("orchestrate.toml", "max_agents = 2\n")?;
    let found = shown(&world, &[("RALPH_RESOURCE_LIMITS", limits)])?;
    let expected = ("2".to_owned(), "orchestrate.toml:1:1".to_owned());
    assert_eq!(found.get("max_agents"), Some(&expected), "{found:?}");
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "a table, with one row per case")]
fn what_is_wrong_is_named_with_the_nearest_key() -> Outcome {
    let world = World::plain()?;
    let (toml, json) = (world.file("tools.toml"), world.file("tools.json"));
    let table = [
        (
            "TOOLS_CONFIG",
            &toml,
            "[file_operation]\nmax_file_size_mb = 3\n",
            "`tools.file_operations.max_file_size_mb`",
        ),
        (
            "TOOLS_CONFIG",
            &toml,
            "[code_execution]\nallowed_commands = ['a b']\n",
            "tools.toml:2:20",
        ),
        (
            "TOOLS_CONFIG",
            &json,
            "{\"code_execution\": {\"timeout_second\": 3}}",
            "`tools.code_execution.timeout_seconds`",
        ),
        (
            "TOOLS_CONFIG",
            &json,
            "{\"max_agents\": 3}",
            "there is no key `max_agents` here",
        ),
        ("TOOLS_CONFIG", &json, "{", "this is not JSON"),
        (
            "TOOLS_CONFIG",
            &json,
            "{\"web_requests\": {\"allowed_domains\": [\"*\"]}}",
            "expected a list of hosts",
        ),
        (
            "TOOLS_CONFIG",
            &json,
            "{\"web_requests\": {\"allowed_domains\": [\"\"]}}",
            "expected a list of hosts",
        ),
        (
            "TOOLS_CONFIG",
            &json,
            "{\"web_requests\": {\"allowed_domains\": [\"*.\"]}}",
            "expected a list of hosts",
        ),
    ];
    for (name, file, text, expected) in table {
        std::fs::write(file, text)?;
        for prefix in ["RALPH", "ORCHESTRATE"] {
            let refused = world
                .orchestrate(&["config", "show"])
                .env(&format!("{prefix}_{name}"), file)
                .run()?;
            says(&refused.exits(2)?, &[expected])?;
        }
    }
    // The control: the same key is taken with hosts, and is shown with the file's name.
    std::fs::write(
        &json,
        "{\"web_requests\": {\"allowed_domains\": [\"a.org\", \"*.a.org\"]}}",
    )?;
    let variable = [("ORCHESTRATE_TOOLS_CONFIG", json.as_str())];
    require(
        &shown(&world, &variable)?,
        "web_requests.allowed_domains",
        "a.org, *.a.org",
        "tools.json",
    )?;
    let table = [
        (
            "RALPH_TOOLS_CONFIG",
            "gone.toml",
            "gone.toml: there is no such file",
        ),
        (
            "RALPH_RESOURCE_LIMITS",
            "{\"max_agent\": 3}",
            "did you mean `max_agents`?",
        ),
        (
            "RALPH_RESOURCE_LIMITS",
            "{\"model\": \"a/b\"}",
            "there is no key `model` here",
        ),
        ("RALPH_RESOURCE_LIMITS", "4", "expected a JSON object"),
        (
            "RALPH_RESOURCE_LIMITS",
            "{\"max_agents\": 4, \"max_agents\": 9}",
            "duplicate key: `max_agents`",
        ),
    ];
    for (variable, value, expected) in table {
        says(
            &world
                .orchestrate(&["config", "show"])
                .env(variable, value)
                .run()?
                .exits(2)?,
            &[expected],
        )?;
    }
    let near = world
        .orchestrate(&["config", "show"])
        .env("RALPH_MAX_AGENT", "4")
        .run()?
        .exits(0)?;
    says(
        &near,
        &[
            "RALPH_MAX_AGENT has no effect: did you mean `RALPH_MAX_AGENTS`?",
            "20480 MiB",
            "30m",
        ],
    )?;
    world.repository.write(
        "orchestrate.toml",
        "[tools.web_requests]\nallowed_domain = []\n",
    )?;
    says(
        &world.types(&["config", "show"], 2)?,
        &[
            "orchestrate.toml:2:1",
            "`tools.web_requests.allowed_domains`",
        ],
    )
}

fn they_are_set_by_the_command() -> Outcome {
    let world = World::plain()?;
    world.types(
        &[
            "config",
            "set",
            "tools.file_operations.max_file_size_mb",
            "3",
        ],
        0,
    )?;
    world.types(
        &[
            "config",
            "set",
            "tools.file_operations.allowed_extensions",
            ".py",
        ],
        0,
    )?;
    world.types(
        &[
            "config",
            "set",
            "tools.file_operations.allowed_extensions",
            "md",
        ],
        0,
    )?;
    let text = std::fs::read_to_string(world.home.path().join("config/orchestrate/config.toml"))?;
    let expected =
        "[tools.file_operations]\nmax_file_size_mb = 3\nallowed_extensions = [\".py\", \"md\"]\n";
    assert_eq!(text, expected);
    let found = shown(&world, &[])?;
    require(
        &found,
        "file_operations.allowed_extensions",
        ".py, .md",
        "config.toml:3:1",
    )
}
