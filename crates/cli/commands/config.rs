//! `config`: shows every setting with its source, sets the user's own, and lists and gives consents.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use orchestrate_coordinator::consent::{Consents, ProjectCommand};
use orchestrate_coordinator::settings::{
    Key, Kind, Layer, Loaded, Place, ProblemCode, Resolved, Source, Value, named, parse, rule_problems,
};
use serde_json::json;

use crate::args::{ConfigArgs, ConfigCommand, JsonArgs};
use crate::context::{Context, of_consents};
use crate::error::CommandError;
use crate::output;

/// The mode of a new configuration file: it may hold keys.
const PRIVATE: u32 = 0o600;

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ConfigArgs) -> Result<u8, CommandError> {
    match &arguments.command {
        ConfigCommand::Show(format) => show(context, *format),
        ConfigCommand::Set { key, value } => set(context, key, value),
        ConfigCommand::Trust { yes, json } => trust(context, *yes, *json),
    }
    .map(|()| 0)
}

fn show(context: &Context, format: JsonArgs) -> Result<(), CommandError> {
    let Loaded { resolved, environment, .. } = context.load(Vec::new(), Layer::default())?;
    let source = |place: Option<&orchestrate_coordinator::settings::Place>| {
        place.map_or_else(|| "default".to_owned(), ToString::to_string)
    };
    let rules = |decision| {
        let of_decision = resolved.rules.iter().filter(move |rule| rule.decision == decision);
        of_decision.map(|rule| json!({"rule": rule.rule, "source": rule.source})).collect::<Vec<_>>()
    };
    use orchestrate_core::settings::RuleDecision::{Allow, Ask, Deny};
    if format.json {
        let settings: serde_json::Map<String, serde_json::Value> = resolved
            .chosen
            .iter()
            .map(|(name, chosen)| {
                let value = json!({"value": chosen.value.to_string(), "source": source(chosen.place.as_ref())});
                ((*name).to_owned(), value)
            })
            .collect();
        return output::json(&json!({
            "settings": settings,
            "rules": {"allow": rules(Allow), "ask": rules(Ask), "deny": rules(Deny)},
            "environment": environment.keys().collect::<Vec<_>>(),
            "warnings": resolved.warnings,
        }));
    }
    let mut text = String::new();
    for (name, chosen) in &resolved.chosen {
        let value = output::one_line(&chosen.value.to_string(), 60);
        text.push_str(&format!("{name:<24} {value:<20} {}\n", source(chosen.place.as_ref())));
    }
    for rule in &resolved.rules {
        let decision = format!("{:?}", rule.decision).to_lowercase();
        text.push_str(&format!("{decision:<24} {:<20} {}\n", output::one_line(&rule.rule, 60), rule.source));
    }
    for name in environment.keys() {
        text.push_str(&format!("{name:<24} {:<20} environment or your configuration\n", "(set)"));
    }
    resolved.warnings.iter().for_each(|warning| output::warning(warning));
    output::result(&text)
}

fn set(context: &Context, name: &str, value: &str) -> Result<(), CommandError> {
    let Some(key) = named(name) else {
        let known = orchestrate_coordinator::settings::KEYS.iter().map(|key| key.name);
        let error = CommandError::usage(format!("there is no setting `{name}`"));
        return Err(match orchestrate_core::nearest(name, known) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`orchestrate config show` lists them"),
        });
    };
    let path = context.directories()?.config_file();
    let shown = path.display().to_string();
    let before = read(&path)?;
    let literal = if key.kind == Kind::Rules { with_rule(&before, key, value, &shown)? } else { literal(key, value) };
    let after = with_line(&before, key, &literal);
    // What is written is read back first, so that a value that no key takes never reaches the file.
    parse(&after, Source::User, &shown)?;
    write(&path, &after)?;
    output::line(&format!("{} = {literal} in {shown}", key.name))
}

/// Writes the list of rules that the file has, with one more; a rule that could not be read at the next run is refused.
fn with_rule(before: &str, key: &'static Key, rule: &str, shown: &str) -> Result<String, CommandError> {
    let file = parse(before, Source::User, shown)?;
    let mut rules: Vec<String> = Vec::new();
    for given in file.layer.given.iter().filter(|given| given.key == key) {
        if let Value::Rules(there) = &given.value {
            rules.extend(there.iter().cloned());
        }
    }
    if !rules.iter().any(|there| there == rule) {
        rules.push(rule.to_owned());
    }
    let mut layer = Layer::default();
    layer.take(key, Value::Rules(rules.clone()), Place::of(Source::User, shown))?;
    let problems = rule_problems(&Resolved::of(&[layer]).rules);
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let rules: Vec<String> = rules.iter().map(|rule| quoted(rule)).collect();
    Ok(format!("[{}]", rules.join(", ")))
}

/// Writes a value as TOML.
fn literal(key: &Key, value: &str) -> String {
    match key.kind {
        Kind::Number { .. } | Kind::Switch => value.trim().to_owned(),
        Kind::Duration if value.trim().parse::<u64>().is_ok() => value.trim().to_owned(),
        _ => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    // A JSON string is a TOML basic string.
    serde_json::Value::from(text).to_string()
}

/// Replaces or adds what a key is set to, and leaves every other byte as it is.
fn with_line(text: &str, key: &Key, literal: &str) -> String {
    let (table, name) = key.name.split_once('.').map_or((None, key.name), |(table, name)| (Some(table), name));
    let header = table.map(|table| format!("[{table}]"));
    let line = format!("{name} = {literal}");
    let mut current: Option<String> = None;
    let mut lines: Vec<String> = Vec::new();
    let mut end_of_table = None;
    let mut replaced = false;
    let all: Vec<&str> = text.lines().collect();
    let mut next = 0;
    while let Some(existing) = all.get(next).copied() {
        let first = next;
        next += 1;
        let trimmed = existing.trim();
        if trimmed.starts_with('[') {
            current = Some(trimmed.to_owned());
        }
        let is_here = current == header;
        let assigned = trimmed.split_once('=').map(|(left, _)| left.trim());
        if is_here && assigned == Some(name) && !replaced {
            lines.push(line.clone());
            replaced = true;
            next = end_of_value(&all, first);
        } else {
            lines.push(existing.to_owned());
        }
        if is_here {
            end_of_table = Some(lines.len());
        }
    }
    if !replaced {
        match (end_of_table, header) {
            (Some(at), _) => lines.insert(at, line),
            (None, None) => lines.insert(0, line),
            (None, Some(header)) => lines.extend([header, line]),
        }
    }
    lines.join("\n") + "\n"
}

/// Finds the line after a value, which may be a list of several lines.
fn end_of_value(lines: &[&str], first: usize) -> usize {
    let is_whole = |end: &usize| {
        let value = lines.get(first..*end).unwrap_or_default().join("\n");
        parse(&value, Source::User, "")
            .err()
            .is_none_or(|problems| problems.iter().all(|problem| problem.code != ProblemCode::Syntax))
    };
    (first + 1..=lines.len()).find(is_whole).unwrap_or(first + 1)
}

fn read(path: &Path) -> Result<String, CommandError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CommandError::usage(format!("failed to read {}: {error}", path.display()))),
    }
}

/// Replaces the file in one step. It may hold keys: it keeps its mode, and a new one is its owner's alone.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| CommandError::usage(format!("failed to write {}: {error}", path.display()));
    // A link to a file that is kept elsewhere stays a link.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mode = std::fs::metadata(path).map_or(PRIVATE, |there| there.permissions().mode());
    let temporary = path.with_extension(format!("toml.{}", std::process::id()));
    let replaced = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(folder)?.sync_all()
    })();
    replaced.map_err(|error: std::io::Error| {
        // Only what this process made is taken away; the file itself is as it was.
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })
}

fn trust(context: &Context, yes: bool, format: JsonArgs) -> Result<(), CommandError> {
    let commands = context.load(Vec::new(), Layer::default())?.commands;
    let mut consents = Consents::load(&context.directories()?.state).map_err(|error| of_consents(&error))?;
    for command in commands.iter().filter(|_| !format.json) {
        let state = if consents.covers(command) { "consented" } else { "not consented" };
        let text = output::quoted(&command.command);
        output::result(&format!("{state}: {} of {}\n{text}", command.key, command.place))?;
    }
    for command in &commands {
        if !consents.covers(command) && wanted(context, command, yes) {
            consents.give(command.clone()).map_err(|error| of_consents(&error))?;
        }
    }
    if format.json {
        let list: Vec<_> = commands
            .iter()
            .map(|command| {
                json!({"key": command.key, "command": command.command, "place": command.place,
                       "hash": command.hash(), "consented": consents.covers(command)})
            })
            .collect();
        return output::json(&list);
    }
    if commands.is_empty() {
        return output::line("this project's files name no commands");
    }
    let open = commands.iter().filter(|command| !consents.covers(command)).count();
    match open {
        0 => output::line("every command that this project's files name may run here"),
        _ => output::line(&format!("{open} not consented to; `orchestrate config trust --yes` consents to all")),
    }
}

/// Tells whether the user consents; a terminal is asked, `--yes` has answered.
fn wanted(context: &Context, command: &ProjectCommand, yes: bool) -> bool {
    if yes {
        return true;
    }
    if !context.terminal.can_ask {
        return false;
    }
    // The whole command stands above.
    let question = format!("consent to {} = {}? [y/N] ", command.key, output::one_line(&command.command, 200));
    let answer = output::ask(&question).unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_changes_and_the_rest_stays() {
        let table = [
            ("", "max_agents", "4", "max_agents = 4\n"),
            ("# mine\nmax_agents = 9 # few\n", "max_agents", "4", "# mine\nmax_agents = 4\n"),
            ("[worktree]\nsetup = 'x'\n", "max_agents", "4", "max_agents = 4\n[worktree]\nsetup = 'x'\n"),
            ("model = 'a/b'\n", "worktree.setup", "npm ci", "model = 'a/b'\n[worktree]\nsetup = \"npm ci\"\n"),
            ("[worktree]\nsetup = 'x'\n", "worktree.setup", "y", "[worktree]\nsetup = \"y\"\n"),
            ("model = \"\"\"\na/b\"\"\"\n# mine\n", "model", "c/d", "model = \"c/d\"\n# mine\n"),
        ];
        for (before, key, value, expected) in table {
            let key = named(key).unwrap();
            assert_eq!(with_line(before, key, &literal(key, value)), expected, "{before:?}");
        }
    }

    #[test]
    fn a_rule_is_added_to_the_list_and_a_wrong_one_is_not() {
        let key = named("deny").unwrap();
        let before = "deny = [\n  'Bash(a)', # one\n  'Read',\n]\nmax_agents = 4\n";
        let literal = with_rule(before, key, "Bash(b:*)", "config.toml").unwrap();
        let after = "deny = [\"Bash(a)\", \"Read\", \"Bash(b:*)\"]\nmax_agents = 4\n";
        assert_eq!(with_line(before, key, &literal), after);
        assert_eq!(with_rule(after, key, "Read", "config.toml").unwrap(), literal);
        for wrong in ["Bash(x", "nosuchtool"] {
            assert!(with_rule(after, key, wrong, "config.toml").is_err(), "{wrong}");
        }
    }
}
