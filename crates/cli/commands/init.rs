//! `init`: writes a configuration file in which everything is explained and nothing is set.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use orchestrate_settings::{Class, KEYS, Key, PROJECT_FILES, project_root};

use crate::args::InitArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::show::output;

const HEAD: &str = "\
# Settings of orchestrate for this project. Every line is a comment: remove the `#` to set a value.
# A project can narrow what its user allows, never widen it; its commands run only with the user's consent.
";

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &InitArgs) -> Result<u8, CommandError> {
    let root = project_root(&context.directory).unwrap_or_else(|| context.directory.clone());
    let other = PROJECT_FILES.iter().skip(1).map(|name| root.join(name)).find(|path| path.exists());
    if let Some(other) = other {
        return Err(
            CommandError::usage(format!("{} exists already", other.display())).hint("edit it, or delete it first")
        );
    }
    let path = root.join(PROJECT_FILES[0]);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).create_new(!arguments.force);
    let mut file = options.open(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CommandError::usage(format!("{} exists already and was left unchanged", path.display()))
                .hint("`orchestrate init --force` replaces it")
        }
        _ => CommandError::usage(format!("failed to write {}: {error}", path.display())),
    })?;
    file.write_all(text().as_bytes())
        .map_err(|error| CommandError::usage(format!("failed to write {}: {error}", path.display())))?;
    output::line(&format!("wrote {}", path.display()))?;
    output::note(
        "next: write a plan and type `orchestrate check PLAN`; `orchestrate doctor` shows what else is needed",
    );
    Ok(0)
}

/// Returns the text of the file: every key that a project may set, with its meaning and its default.
fn text() -> String {
    let (mut top, mut tables, mut last) = (String::new(), String::new(), "");
    for key in KEYS.iter().filter(|key| {
        matches!(key.class, Class::Preference | Class::Limit | Class::PlanLimit | Class::Lists | Class::Rules)
    }) {
        if key.name == "allow" {
            continue;
        }
        match key.name.rsplit_once('.') {
            None => top.push_str(&entry(key, key.name)),
            Some((table, name)) => {
                if table != last {
                    tables.push_str(&format!("\n[{table}]"));
                }
                tables.push_str(&entry(key, name));
                last = table;
            }
        }
    }
    format!("{HEAD}{top}{tables}")
}

fn entry(key: &Key, name: &str) -> String {
    let value = if key.default.is_empty() { key.kind.example() } else { key.default };
    format!("\n# {}\n# {name} = {value}\n", key.about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orchestrate_settings::{Source, parse};

    #[test]
    fn every_line_that_is_offered_can_be_taken() {
        let uncommented: String = text()
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") => format!("{rest}\n"),
                Some(_) => "\n".to_owned(),
                None => format!("{line}\n"),
            })
            .collect();
        let file = parse(&uncommented, Source::Project, "orchestrate.toml").unwrap();
        assert!(file.layer.given.len() > 10);
        assert!(parse(&text(), Source::Project, "orchestrate.toml").unwrap().layer.given.is_empty());
    }
}
