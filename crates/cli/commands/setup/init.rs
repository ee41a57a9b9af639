//! `init`: writes a configuration file in which everything is explained, and sets what the
//! project's files suggest if the user agrees.
//!
//! The agreement is also the consent to the commands that were shown: they are the user's choice
//! from then on.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use orchestrate_coordinator::may_find;
use orchestrate_core::policy::setup_hosts::PUBLIC_REGISTRIES;
use orchestrate_files::{Links, read_plain};
use orchestrate_settings::{
    Class, KEYS, Key, Layer, PROJECT_FILES, Suggestion, named, project_root,
};
use toml_edit::Value;

use crate::args::InitArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::json::{Envelope, FoundTool, InitReport, Output};
use crate::show::output;

const HEAD: &str = "\
# Settings of orchestrate for this project. To set a value that is a comment, remove its `#`.
# A project can narrow what its user allows, never widen it; its commands run only with the user's \
consent.
";
/// The file with the patterns of what comes along into worktrees, at the top of the checkout.
const INCLUDE_FILE: &str = ".worktreeinclude";
/// The maximum size of that file.
const MAX_INCLUDE_BYTES: u64 = 1 << 20;
/// The setting that limits the time of checks.
const TIME_LIMIT: &str = "command_timeout";

/// What the user has agreed to.
#[derive(Default)]
struct Agreed {
    /// The values by the names of their settings.
    settings: Vec<(&'static str, Value)>,
    /// Lines for [`INCLUDE_FILE`].
    include: Vec<String>,
}

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &InitArgs) -> Result<u8, CommandError> {
    let root = project_root(&context.directory).unwrap_or_else(|| context.directory.clone());
    for other in PROJECT_FILES.iter().skip(1).map(|name| root.join(name)) {
        if other.exists() {
            let message = format!("{} exists already", other.display());
            return Err(CommandError::usage(message).hint("edit it, or delete it first"));
        }
    }
    let path = root.join(PROJECT_FILES[0]);
    if path.symlink_metadata().is_ok() && !arguments.force {
        return Err(exists(&path));
    }
    let suggestion = Suggestion::read(&root, &ignored(context)?, &may_find);
    let is_json = arguments.json.json;
    let agreed = match is_json {
        true if arguments.yes => agreed_to(&suggestion),
        true => Agreed::default(),
        false => agree(context, arguments, &suggestion)?,
    };
    write_settings(&path, &agreed, arguments.force)?;
    if !is_json {
        output::line(&format!("wrote {}", path.display()))?;
    }
    if !agreed.include.is_empty() {
        let include = root.join(INCLUDE_FILE);
        add_lines(&include, &root, &agreed.include)?;
        let (include, lines) = (include.display(), agreed.include.join(", "));
        if !is_json {
            output::line(&format!("wrote {include}: {lines}"))?;
        }
    }
    consent(context, &agreed)?;
    match is_json {
        true => output::json(&Envelope::new(
            None,
            report(path, suggestion, arguments.yes),
        ))?,
        false => say_what_is_next(&suggestion, &agreed),
    }
    Ok(0)
}

fn report(file: PathBuf, suggestion: Suggestion, is_set: bool) -> Output {
    let found = suggestion.found.into_iter().map(|one| FoundTool {
        name: one.name.to_owned(),
        by: one.by,
    });
    Output::Init(InitReport {
        file,
        is_set,
        found: found.collect(),
        verify: suggestion.verify,
        setup: suggestion.setup,
        include: suggestion.include,
        secrets: suggestion.secrets,
        notes: suggestion.notes,
    })
}

/// Returns what git ignores in the checkout; nothing outside of a repository.
fn ignored(context: &Context) -> Result<BTreeSet<String>, CommandError> {
    if project_root(&context.directory).is_none() {
        return Ok(BTreeSet::new());
    }
    Ok(context.project()?.ignored()?)
}

/// Shows what the project's files suggest, and returns the part that the user agrees to.
fn agree(
    context: &Context,
    arguments: &InitArgs,
    found: &Suggestion,
) -> Result<Agreed, CommandError> {
    if found.found.is_empty() {
        return Ok(Agreed::default());
    }
    output::result(&render(found, &time_limit(context)))?;
    let is_wanted = arguments.yes || context.terminal.can_ask && output::confirm(QUESTION);
    let mut agreed = match is_wanted {
        true => agreed_to(found),
        false => Agreed::default(),
    };
    for secret in &found.secrets {
        let question = format!(
            "Copy {secret} into every worktree, where agents and their commands can read it? [y/N] "
        );
        if arguments.yes || !context.terminal.can_ask || !output::confirm(&question) {
            output::note(&format!(
                "{secret} stays out of worktrees; a line `{secret}` in {INCLUDE_FILE} brings it"
            ));
        } else {
            agreed.include.push(secret.clone());
        }
    }
    Ok(agreed)
}

const QUESTION: &str =
    "Write this, and let these commands run in the sandbox in this repository from now on? [y/N] ";

fn agreed_to(found: &Suggestion) -> Agreed {
    let mut agreed = Agreed {
        settings: Vec::new(),
        include: found.include.clone(),
    };
    if let Some(verify) = &found.verify {
        agreed.settings.push(("verify", verify.as_str().into()));
    }
    if let Some(setup) = &found.setup {
        let settings = &mut agreed.settings;
        settings.push(("worktree.setup", setup.as_str().into()));
        settings.push(("worktree.setup_network", true.into()));
    }
    agreed
}

/// Describes what was found, and what would be set.
fn render(found: &Suggestion, time_limit: &str) -> String {
    let names = found
        .found
        .iter()
        .map(|one| format!("{} ({})", one.name, one.by));
    let mut text = format!("found {}\n", output::one_line(&output::joined(names), 200));
    let mut add = |name: &str, value: &str| text.push_str(&format!("  {name:<18} {value}\n"));
    match &found.verify {
        Some(verify) => add("verify", &format!("{verify}   (at most {time_limit})")),
        None => add(
            "verify",
            "(no command that runs tests was found: set `verify` yourself)",
        ),
    }
    if let Some(setup) = &found.setup {
        add(
            "worktree.setup",
            &format!("{setup}   (with the network, on the commit that a run starts from)"),
        );
        let registries = PUBLIC_REGISTRIES.join(", ");
        add(
            "",
            &format!(
                "it runs files of the project, and reaches {registries} and what your own settings \
                 name"
            ),
        );
    }
    if !found.include.is_empty() {
        add(INCLUDE_FILE, &found.include.join(", "));
    }
    text.extend(found.notes.iter().map(|note| format!("  note: {note}\n")));
    text
}

/// Returns the time limit of checks, as people read it; the default if the settings cannot be read,
/// since `init` may be about to replace them.
fn time_limit(context: &Context) -> String {
    let loaded = context.load(Vec::new(), Layer::default()).ok();
    let chosen =
        loaded.and_then(|loaded| Some(loaded.resolved.chosen.get(TIME_LIMIT)?.value.clone()));
    let shown =
        named(TIME_LIMIT).and_then(|key| Some(key.show(&chosen.or_else(|| key.default_value())?)));
    format!(
        "{}, the limit of `{TIME_LIMIT}`",
        shown.as_deref().unwrap_or("the time")
    )
}

fn exists(path: &Path) -> CommandError {
    let message = format!("{} exists already and was left unchanged", path.display());
    CommandError::usage(message).hint("`orchestrate init --force` replaces it")
}

fn write_settings(path: &Path, agreed: &Agreed, force: bool) -> Result<(), CommandError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let opened = options.create_new(!force).open(path);
    let written = opened.and_then(|mut file| file.write_all(text(&agreed.settings).as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => CommandError::of_file("write", path, error),
    })
}

/// Adds lines that a file of the project does not have yet, and keeps the others.
fn add_lines(path: &Path, root: &Path, lines: &[String]) -> Result<(), CommandError> {
    let before = match read_plain(path, Links::Below(root), MAX_INCLUDE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(CommandError::of_file("read", path, error)),
    };
    let text = String::from_utf8_lossy(&before);
    let has = |line: &str| {
        text.lines()
            .any(|known| known.trim().trim_end_matches('/') == line.trim_end_matches('/'))
    };
    let mut added = String::new();
    if !text.is_empty() && !text.ends_with('\n') {
        added.push('\n');
    }
    for line in lines.iter().filter(|line| !has(line)) {
        added.push_str(line);
        added.push('\n');
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(added.as_bytes()));
    written.map_err(|error| CommandError::of_file("write", path, error))
}

/// Records the user's consent to the commands that were written, since they were shown and agreed
/// to.
fn consent(context: &Context, agreed: &Agreed) -> Result<(), CommandError> {
    if agreed.settings.is_empty() {
        return Ok(());
    }
    let loaded = context.load(Vec::new(), Layer::default())?;
    let Ok(commands) = context.commands(&loaded) else {
        output::note(
            "a run asks for your consent to the commands: this repository has no commit yet",
        );
        return Ok(());
    };
    let mut consents = context.consents()?;
    for command in commands {
        let is_agreed = |(name, value): &(&str, Value)| {
            command.key == *name && value.as_str() == Some(command.command.as_str())
        };
        if agreed.settings.iter().any(is_agreed) {
            consents.give(command)?;
        }
    }
    Ok(())
}

fn say_what_is_next(found: &Suggestion, agreed: &Agreed) {
    let is_left = agreed.settings.is_empty() && (found.verify.is_some() || found.setup.is_some());
    if is_left {
        output::note("nothing is set: `orchestrate init --force --yes` sets what is shown above");
    }
    output::note(
        "next: commit what was written, write a plan and type `orchestrate check PLAN`; \
         `orchestrate doctor` shows what else is needed",
    );
}

/// Returns the text of the file: every key that a project may set, with its meaning and its
/// default, or with the value that is set.
fn text(set: &[(&str, Value)]) -> String {
    let (mut top, mut tables, mut last) = (String::new(), String::new(), "");
    for key in KEYS.iter().filter(|key| {
        matches!(
            key.class,
            Class::Preference | Class::Limit | Class::PlanLimit | Class::Lists | Class::Rules
        )
    }) {
        if key.name == "allow" {
            continue;
        }
        let value = set.iter().find(|set| set.0 == key.name).map(|set| &set.1);
        match key.name.rsplit_once('.') {
            None => top.push_str(&entry(key, key.name, value)),
            Some((table, name)) => {
                if table != last {
                    tables.push_str(&format!("\n[{table}]"));
                }
                tables.push_str(&entry(key, name, value));
                last = table;
            }
        }
    }
    format!("{HEAD}{top}{tables}")
}

fn entry(key: &Key, name: &str, value: Option<&Value>) -> String {
    if let Some(value) = value {
        return format!("\n# {}\n{name} = {value}\n", key.about);
    }
    let shown = key
        .written_default()
        .unwrap_or_else(|| key.kind.example().to_owned());
    format!("\n# {}\n# {name} = {shown}\n", key.about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orchestrate_settings::{Source, parse};

    #[test]
    fn every_line_that_is_offered_can_be_taken() {
        let uncommented: String = text(&[])
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") => format!("{rest}\n"),
                Some(_) => "\n".to_owned(),
                None => format!("{line}\n"),
            })
            .collect();
        let file = parse(&uncommented, Source::Project, "orchestrate.toml").unwrap();
        assert!(file.layer.given.len() > 10);
        assert!(
            parse(&text(&[]), Source::Project, "orchestrate.toml")
                .unwrap()
                .layer
                .given
                .is_empty()
        );
    }

    #[test]
    fn what_is_agreed_to_is_set_and_nothing_else() {
        let found = Suggestion {
            verify: Some("test \"a\" = 'b'".to_owned()),
            setup: Some("npm ci".to_owned()),
            ..Suggestion::default()
        };
        let text = text(&agreed_to(&found).settings);
        let file = parse(&text, Source::Project, "orchestrate.toml").unwrap();
        let given: Vec<String> = file
            .layer
            .given
            .iter()
            .map(|given| format!("{} = {}", given.key.name, given.value))
            .collect();
        let expected = [
            "verify = test \"a\" = 'b'",
            "worktree.setup = npm ci",
            "worktree.setup_network = true",
        ];
        assert_eq!(given, expected);
    }
}
