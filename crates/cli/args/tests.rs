use super::*;
use crate::json::SCHEMAS;

fn typed(text: &str) -> Vec<OsString> {
    std::iter::once("orchestrate")
        .chain(text.split_whitespace())
        .map(OsString::from)
        .collect()
}

#[test]
fn the_definition_holds_together() {
    Arguments::command().debug_assert();
}

#[test]
fn a_plan_alone_is_run() {
    let table = [
        ("plan.md", "run plan.md"),
        ("--quiet plan.md", "run --quiet plan.md"),
        ("check plan.md", "check plan.md"),
        ("--help", "--help"),
        ("", ""),
    ];
    for (given, expected) in table {
        assert_eq!(with_run(typed(given)), typed(expected), "{given}");
    }
}

#[test]
fn the_format_is_found_where_it_is_typed() {
    let table = [
        ("run p --json", Some("json"), true),
        (
            "run p --output-format stream-json",
            Some("stream-json"),
            true,
        ),
        ("run p --output-format=json --bogus", Some("json"), true),
        ("run p --output-format text", Some("text"), true),
        ("land --output-format", None, true),
        ("status --json", Some("json"), false),
        ("tool run -- x --json", None, false),
    ];
    for (given, format, has) in table {
        let found = (typed_format(&typed(given)), has_format(&typed(given)));
        assert_eq!(found, (format.map(str::to_owned), has), "{given}");
    }
}

#[test]
fn help_says_what_is_printed_as_json() {
    let table = [
        ("status", "Print JSON instead of text"),
        ("watch", "Print one JSON object per line"),
        ("log", "Print one JSON object per line"),
        ("run", "The same as --output-format json"),
    ];
    let command = Arguments::command();
    for (name, expected) in table {
        let options = command
            .find_subcommand(name)
            .into_iter()
            .flat_map(clap::Command::get_arguments);
        let helps = options
            .filter(|option| option.get_id() == "json")
            .filter_map(clap::Arg::get_help);
        assert_eq!(
            helps.map(ToString::to_string).collect::<Vec<_>>(),
            [expected],
            "{name}"
        );
    }
}

#[test]
fn every_option_of_a_run_is_a_setting() {
    let text = "run p --model m --base-url u --agent a --max-agents 1 --max-depth 1 --max-children-per-agent 1 \
        --context-tokens 1 --root-context-tokens 1 --budget-tokens 1 --budget-usd 1 --verify v --no-verify-base --merge auto \
        --base b --timeout 1 --outage-patience 1 --land --no-sandbox --allow r --ask r --deny r --cache off \
        --no-write-back --skip-optional --output-format text --verbose";
    let Command::Run(run) = Arguments::try_parse_from(typed(text)).unwrap().command else {
        panic!("no run");
    };
    let typed: Vec<&str> = run
        .settings
        .values()
        .into_iter()
        .chain(run.output.values())
        .map(|(name, _)| name)
        .collect();
    let known: Vec<&str> = orchestrate_settings::KEYS
        .iter()
        .map(|key| key.name)
        .collect();
    assert!(typed.iter().all(|name| known.contains(name)), "{typed:?}");
    assert_eq!(typed.len(), 26);
}

/// Collects the commands below this one that have `--json`, each as its words.
fn with_json(command: &clap::Command, words: &str, found: &mut Vec<String>) {
    if command
        .get_arguments()
        .any(|option| option.get_id() == "json")
    {
        found.push(words.trim_start().to_owned());
    }
    for inner in command.get_subcommands() {
        with_json(inner, &format!("{words} {}", inner.get_name()), found);
    }
}

#[test]
fn each_command_with_json_has_a_schema() {
    let mut found = Vec::new();
    with_json(&Arguments::command(), "", &mut found);
    let names: Vec<&str> = SCHEMAS.iter().map(|known| known.name).collect();
    let missing = found.iter().filter(|name| !names.contains(&name.as_str()));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    // Schemas beside those of commands with the option.
    let others = names
        .iter()
        .filter(|name| !found.iter().any(|of| of == *name));
    assert_eq!(
        others.collect::<Vec<_>>(),
        [&"error", &"events", &"tools docs"]
    );
}
