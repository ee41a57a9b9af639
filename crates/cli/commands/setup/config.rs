//! `config`: shows every setting with its source, changes the user's own, and lists and records
//! consents.

use std::collections::BTreeMap;
use std::path::Path;

use orchestrate_coordinator::vendor_named;
use orchestrate_core::policy::RuleDecision;
use orchestrate_files::{Links, read_plain};
use orchestrate_settings::consent::{NetworkUse, ProjectCommand};
use orchestrate_settings::{
    KEYS, Key, Kind, Layer, Loaded, Names, Resolved, Source, named, parse, rule_problems,
    switches_not_given,
};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

use crate::args::{ConfigArgs, ConfigCommand, JsonArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{
    Consent, Envelope, NetworkReach, Output, RuleEntry, RulesByDecision, SettingEntry,
    SettingsReport,
};
use crate::show::{output, parked_call, project_command};

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &ConfigArgs) -> Result<u8, CommandError> {
    match &arguments.command {
        ConfigCommand::Show(format) => show(context, *format),
        ConfigCommand::Set { key, value } => set(context, key, value),
        ConfigCommand::Trust {
            provider: Some(name),
            ..
        } => trust_provider(context, name),
        ConfigCommand::Trust { yes, json, .. } => trust(context, *yes, *json),
    }
    .map(|()| 0)
}

/// What is shown of a setting that no source sets and that has no default.
const NOT_SET: &str = "(not set)";

/// Returns every setting in the order of its name, except the rules, which are shown one by one.
fn shown_keys() -> impl Iterator<Item = &'static Key> {
    let mut keys: Vec<&Key> = KEYS.iter().filter(|key| key.kind != Kind::Rules).collect();
    keys.sort_by_key(|key| key.name);
    keys.into_iter()
}

fn show(context: &Context, format: JsonArgs) -> Result<(), CommandError> {
    let Loaded {
        resolved,
        environment,
        switches_given,
        run,
        ..
    } = context.load(Vec::new(), Layer::default())?;
    if format.json {
        let report = SettingsReport {
            settings: entries(&resolved),
            rules: rules(&resolved),
            hooks: run.hooks,
            switches: switches_given,
            environment: environment.into_keys().collect(),
            warnings: resolved.warnings,
        };
        let report = Output::Settings(Box::new(report));
        return output::json(&Envelope::new(None, report));
    }
    let mut text = String::new();
    for key in shown_keys() {
        let (name, chosen) = (key.name, resolved.chosen.get(key.name));
        let value = chosen.map_or_else(|| NOT_SET.to_owned(), |chosen| key.show(&chosen.value));
        let value = output::one_line(&value, 60);
        let place = source_of(chosen.and_then(|chosen| chosen.place.as_ref()));
        text.push_str(&format!("{name:<24} {value:<20} {place}\n"));
    }
    for rule in &resolved.rules {
        let decision = format!("{:?}", rule.decision).to_lowercase();
        let (name, source) = (output::one_line(&rule.rule, 60), &rule.source);
        text += &format!("{decision:<24} {name:<20} {source}\n");
    }
    for hook in &run.hooks {
        let (name, command) = (hook.point.as_str(), output::one_line(&hook.command, 60));
        text += &format!("{name:<24} {command:<20} {}\n", hook.source);
    }
    for (name, value) in &switches_given {
        text.push_str(&format!("{name:<24} {value:<20} environment\n"));
    }
    for name in switches_not_given(&switches_given) {
        text.push_str(&format!("{name:<24} {NOT_SET:<20} default\n"));
    }
    for name in environment.keys() {
        let value = "(set)";
        text += &format!("{name:<24} {value:<20} environment or your configuration\n");
    }
    output::warnings(&resolved.warnings);
    output::result(&text)
}

/// Returns every setting for programs.
fn entries(resolved: &Resolved) -> BTreeMap<String, SettingEntry> {
    let mut settings = BTreeMap::new();
    for key in shown_keys() {
        let chosen = resolved.chosen.get(key.name);
        let entry = SettingEntry {
            value: chosen.map(|chosen| chosen.value.to_string()),
            source: source_of(chosen.and_then(|chosen| chosen.place.as_ref())),
        };
        settings.insert(key.name.to_owned(), entry);
    }
    settings
}

/// Returns the permission rules for programs.
fn rules(resolved: &Resolved) -> RulesByDecision {
    let mut all = RulesByDecision::default();
    for rule in &resolved.rules {
        let rules = match rule.decision {
            RuleDecision::Allow => &mut all.allow,
            RuleDecision::Ask => &mut all.ask,
            RuleDecision::Deny => &mut all.deny,
        };
        rules.push(RuleEntry {
            rule: rule.rule.to_string(),
            source: rule.source.to_string(),
        });
    }
    all
}

impl From<NetworkUse> for NetworkReach {
    fn from(network: NetworkUse) -> Self {
        Self {
            sees: network.sees,
            hosts: network.hosts,
        }
    }
}

fn source_of(place: Option<&orchestrate_settings::Location>) -> String {
    place.map_or_else(|| "default".to_owned(), ToString::to_string)
}

fn set(context: &Context, name: &str, value: &str) -> Result<(), CommandError> {
    let Some(key) = named(name) else {
        let known = KEYS.iter().map(|key| key.name);
        let error = CommandError::usage(format!("there is no setting `{name}`"));
        return Err(error.did_you_mean(name, known, "`orchestrate config show` lists them"));
    };
    let path = context.directories()?.config_file();
    let shown = path.display().to_string();
    let before = read(&path)?;
    let Some((after, now)) = edited(&before, key, value) else {
        // A file that cannot be edited cannot be parsed either, and the parser's error names the
        // line.
        parse(&before, Source::User, &shown)?;
        let message = format!("{shown} can be read but not edited");
        return Err(CommandError::internal(message));
    };
    // The new text is parsed before it is written, so that an invalid value never reaches the file.
    let file = parse(&after, Source::User, &shown)?;
    if key.kind == Kind::Rules {
        require_rules(context, file.layer)?;
    }
    write(&path, &after)?;
    output::line(&format!("{} = {now} in {shown}", key.name))
}

/// Fails if a rule could not be parsed at the next run.
fn require_rules(context: &Context, layer: Layer) -> Result<(), CommandError> {
    let problems = rule_problems(&Resolved::merge(&[layer]).rules, &context.tool_names()?);
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.into()),
    }
}

/// Sets a key, or adds items to its list, leaving every other byte unchanged; returns the text and
/// the new value. `None` if the text is not TOML, or has something else at that place.
fn edited(before: &str, key: &Key, given: &str) -> Option<(String, String)> {
    let mut file: DocumentMut = before.parse().ok()?;
    let name = match key.name {
        LAND if file.get(LAND).is_some_and(Item::is_table_like) => "land.auto",
        name => name,
    };
    let (table, name): (&mut dyn TableLike, _) = match name.split_once('.') {
        Some((LAND, name)) => (land_table(&mut file)?, name),
        Some(_) => inner_table(file.as_table_mut(), name)?,
        None => (file.as_table_mut(), name),
    };
    let place = table.entry(name).or_insert(Item::None);
    let mut value: Value = match key.kind {
        Kind::Rules | Kind::Names(_) => with_items(place, items(key.kind, given))?.into(),
        // Anything else becomes a string, for which the parser's error names the key.
        Kind::Number { .. }
        | Kind::Switch
        | Kind::Duration
        | Kind::Limits
        | Kind::Dollars
        | Kind::Prices => given.trim().parse().unwrap_or_else(|_| given.into()),
        Kind::Text | Kind::Message | Kind::OneOf(_) => given.into(),
    };
    let now = in_one_line(&value);
    match place {
        Item::None => {}
        Item::Value(old) => value.decor_mut().clone_from(old.decor()),
        Item::Table(_) | Item::ArrayOfTables(_) => return None,
    }
    *place = Item::Value(value);
    let after = file.to_string();
    // `toml_edit` ends every line with a line feed alone.
    let after = if before.contains("\r\n") {
        after.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        after
    };
    Some((after, now))
}

/// Returns the table that a name with dots leads to, created where it is missing, and the last part
/// of the name.
fn inner_table<'t, 'n>(
    table: &'t mut dyn TableLike,
    name: &'n str,
) -> Option<(&'t mut dyn TableLike, &'n str)> {
    let Some((outer, rest)) = name.split_once('.') else {
        return Some((table, name));
    };
    let new = || {
        let mut table = toml_edit::Table::new();
        // Its header is written only if it has keys of its own.
        table.set_implicit(rest.contains('.'));
        Item::Table(table)
    };
    inner_table(
        table.entry(outer).or_insert_with(new).as_table_like_mut()?,
        rest,
    )
}

/// Returns the table `[land]`; a key `land = true` becomes `auto = true` in it, since TOML has no
/// room for both.
fn land_table(file: &mut DocumentMut) -> Option<&mut dyn TableLike> {
    let value = file
        .get(LAND)
        .and_then(Item::as_value)
        .filter(|value| !value.is_inline_table())
        .cloned();
    if let Some(mut auto) = value {
        file.remove(LAND);
        auto.decor_mut().clear();
        let mut table = toml_edit::Table::new();
        table.insert("auto", Item::Value(auto));
        file.insert(LAND, Item::Table(table));
    }
    file.entry(LAND)
        .or_insert_with(toml_edit::table)
        .as_table_like_mut()
}

/// Returns the items of a list that was typed as a file has it, or as options and variables have
/// it. A rule may contain commas, and so may a path unless a path follows each of them.
fn items(kind: Kind, given: &str) -> Vec<Value> {
    let given = given.trim();
    if let Ok(Value::Array(list)) = given.parse::<Value>() {
        return list.iter().map(plain).collect();
    }
    let parts: Vec<&str> = given.split(',').map(str::trim).collect();
    let is_list = match kind {
        Kind::Names(Names::Readable) => parts.iter().all(is_path),
        Kind::Names(_) => true,
        _ => false,
    };
    if is_list {
        parts.into_iter().map(Value::from).collect()
    } else {
        vec![given.into()]
    }
}

fn is_path(part: &&str) -> bool {
    part.starts_with('/') || part.starts_with("~/")
}

/// Returns an item without what stands around it in its list.
fn plain(item: &Value) -> Value {
    if let Some(text) = item.as_str() {
        return text.into();
    }
    let mut item = item.clone();
    item.decor_mut().clear();
    item
}

/// Returns the list at a place with the items that it lacks, or `None` if the place has something
/// else.
fn with_items(place: &Item, new: Vec<Value>) -> Option<Array> {
    let mut list = if place.is_none() {
        Array::new()
    } else {
        place.as_array()?.clone()
    };
    for item in new {
        let is_same = |there: &Value| match (there.as_str(), item.as_str()) {
            (None, None) => in_one_line(there) == in_one_line(&item),
            (one, other) => one == other,
        };
        if !list.iter().any(is_same) {
            list.push(item);
        }
    }
    Some(list)
}

/// Renders a value for people, without comments.
fn in_one_line(value: &Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    if let Value::Array(list) = &mut value {
        list.fmt();
    }
    value.to_string()
}

/// The name of a key and of a table.
const LAND: &str = "land";

/// The maximum size of a configuration file to change, the same as of one to read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

fn read(path: &Path) -> Result<String, CommandError> {
    match read_plain(path, Links::Anywhere, MAX_CONFIG_BYTES) {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|error| CommandError::of_file("read", path, error))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CommandError::of_file("read", path, error)),
    }
}

/// Replaces the file atomically. Since it may contain keys, it keeps its mode, and only its owner
/// can read a new one.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    // A link stays a link: its target is replaced.
    let target = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    orchestrate_files::create_folder(target.parent().unwrap_or(target))
        .and_then(|()| orchestrate_files::replace(target, text.as_bytes()))
        .map_err(|error| CommandError::of_file("write", path, error))
}

fn trust(context: &Context, yes: bool, format: JsonArgs) -> Result<(), CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let mut commands = context.commands(&loaded)?;
    // Outside a repository there are none.
    if let Ok(project) = context.project() {
        let (base, of_user) = (loaded.resolved.text("base"), context.directories()?.config);
        commands.extend(project.tools(base.as_deref(), Some(&of_user))?.of_project);
    }
    let mut consents = context.consents()?;
    // Each is shown in full before the user consents, even if the JSON list follows.
    for command in &commands {
        let mut shown = match consents.covers(command) {
            true => "consented: ".to_owned(),
            false => "not consented: ".to_owned(),
        };
        if !command.is_file() {
            shown += &format!("{} of ", command.key);
        }
        shown += &command.place;
        if command.network.is_some() {
            shown += ", which may use the network";
        }
        shown += &format!("\n{}", project_command::render(command));
        match format.json {
            true => output::note(shown.trim_end()),
            false => output::result(&shown)?,
        }
    }
    for command in &commands {
        if !consents.covers(command) && wanted(context, command, yes) {
            consents.give(command.clone())?;
        }
    }
    if format.json {
        let list = commands.iter().map(|command| Consent {
            key: command.key.clone(),
            command: command.command.clone(),
            place: command.place.clone(),
            network: command.network.clone().map(NetworkReach::from),
            hash: command.hash(),
            consented: consents.covers(command),
        });
        return output::json(&Envelope::new(None, Output::Consents(list.collect())));
    }
    if commands.is_empty() {
        return output::line("this project's files define no commands");
    }
    let open = commands.iter().filter(|command| !consents.covers(command));
    match open.count() {
        0 => output::line("all commands defined by this project's files have your consent"),
        open => output::line(&format!(
            "{open} without consent; `orchestrate config trust --yes` consents to all"
        )),
    }
}

/// Consents to a provider, as it is reached now, in this repository.
fn trust_provider(context: &Context, name: &str) -> Result<(), CommandError> {
    let loaded = context.load(Vec::new(), Layer::default())?;
    let Some(vendor) = vendor_named(&loaded, name)? else {
        return output::line(&format!("{name} is on this machine and needs no consent"));
    };
    let consent = context.provider_consent(&vendor, "config trust");
    context.consents()?.give(consent)?;
    output::line(&format!(
        "{} at {} may be chosen in this repository",
        vendor.provider, vendor.endpoint
    ))
}

/// Reports whether the user consents: by `--yes`, or by an answer on the terminal.
fn wanted(context: &Context, command: &ProjectCommand, yes: bool) -> bool {
    if yes || !context.terminal.can_ask {
        return yes;
    }
    let key = &command.key;
    if command.is_file() {
        return output::confirm(&format!("let agents use the tool of {key}? [y/N] "));
    }
    // The whole command was printed above.
    let line = parked_call::line(&command.command, 200);
    output::confirm(&match command.network {
        Some(_) => format!("consent to {key} = {line}, with the network? [y/N] "),
        None => format!("consent to {key} = {line}? [y/N] "),
    })
}

#[cfg(test)]
mod tests {
    use orchestrate_settings::Expected;

    use super::*;

    #[test]
    fn a_list_is_added_as_a_file_or_an_option_has_it() {
        let table = [
            (
                "",
                "sandbox.read",
                "[\"~/tools\", \"/srv/data\"]",
                "[sandbox]\nread = [\"~/tools\", \"/srv/data\"]\n",
            ),
            (
                "",
                "sandbox.read",
                "~/tools, /srv/data",
                "[sandbox]\nread = [\"~/tools\", \"/srv/data\"]\n",
            ),
            (
                "",
                "sandbox.read",
                "/srv/a, b",
                "[sandbox]\nread = [\"/srv/a, b\"]\n",
            ),
            (
                "",
                "sandbox.env",
                "CI, LANG",
                "[sandbox]\nenv = [\"CI\", \"LANG\"]\n",
            ),
            (
                "",
                "fallback_models",
                "a/b,c/d",
                "fallback_models = [\"a/b\", \"c/d\"]\n",
            ),
            ("", "deny", "Bash(ls a,b)", "deny = [\"Bash(ls a,b)\"]\n"),
            (
                "deny = ['Read'] # mine\n",
                "deny",
                "['Read', 'Grep']",
                "deny = ['Read', \"Grep\"] # mine\n",
            ),
            (
                "",
                "deny",
                "[{ rule = 'Read', match = ['a'] }]",
                "deny = [{ rule = 'Read', match = ['a'] }]\n",
            ),
        ];
        for (before, name, given, expected) in table {
            let after = named(name)
                .and_then(|key| edited(before, key, given))
                .map(|(after, _)| after);
            assert_eq!(after.as_deref(), Some(expected), "{name} = {given}");
        }
    }

    #[test]
    fn the_list_that_an_error_suggests_is_accepted() {
        let is_list = |key: &&Key| matches!(key.kind, Kind::Rules | Kind::Names(_));
        for key in KEYS.iter().filter(is_list) {
            let suggested = Expected(key.kind).to_string();
            let list = suggested
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map(|(list, _)| list);
            let given = format!("[{}]", list.unwrap());
            let (after, _) = edited("", key, &given).unwrap();
            assert!(
                parse(&after, Source::User, "config.toml").is_ok(),
                "{}: {after}",
                key.name
            );
            assert!(
                after.ends_with(&format!(" = {given}\n")),
                "{}: {after}",
                key.name
            );
        }
    }
}
