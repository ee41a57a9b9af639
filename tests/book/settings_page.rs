//! `docs/settings.md`: every setting, generated from the table of settings, from the options of the
//! built program and from what the front matter of a plan can set.

use std::fmt::Write as _;
use std::fs;

use libtest_mimic::Failed;
use orchestrate_plan::front_matter;
use orchestrate_settings::{Class, Expected, KEYS, Key, Kind, Layer};

use crate::support::{Home, Outcome, fail};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/settings.md");

/// If set to `write`, the test writes the file instead of comparing it.
const SWITCH: &str = "ORCHESTRATE_SETTINGS_PAGE";

const HEAD: &str = "# Settings

To change how `orchestrate` behaves, write a setting into one of these places. The one that stands higher in this table wins.

| place | holds for |
|---|---|
| an option, such as `--max-agents 4` | this command |
| a variable, `ORCHESTRATE_` and the setting's name in capitals with `_` for dots: `ORCHESTRATE_MAX_AGENTS=4` | this shell |
| the front matter of a plan | runs of this plan |
| `orchestrate.toml` in the project | everybody who works on the project |
| `config.toml` in `$XDG_CONFIG_HOME/orchestrate` (`~/.config/orchestrate`) | you, in every project |

| to | type |
|---|---|
| see every value and where it comes from | `orchestrate config show` |
| write a commented `orchestrate.toml` | `orchestrate init` |
| set a value of your own | `orchestrate config set max_agents 4` |
| allow the commands that a project's file names | `orchestrate config trust` |

A dot in a name is a table of TOML: `worktree.setup` is `setup` below `[worktree]`. An unknown name is an error, with its line
and the nearest known one. \"You\" in the column *who sets it* are your options, variables and your own file:

| who sets it | meaning |
|---|---|
| you, project, plan | the place that stands higher wins |
| you; narrowed by | the strictest value counts: project and plan can lower what you allow, never raise it |
| you, if set; else | a plan may replace the default, but not what you have set; otherwise as above |
| you and project; combined | the lists of both are joined; what widens your limits counts in your own places only |
| you alone | an error in a project or a plan |
| an option alone | an error everywhere else |

Generated from `crates/settings/src/keys.rs` by `just settings-docs`.
";

/// The tables of a configuration file that have a section of their own; what is in no such table
/// stands in the first section.
const TABLES: [(&str, &str); 10] = [
    ("", "Runs and agents"),
    ("land", "Landing"),
    ("clean", "Cleaning"),
    ("commit", "What commits take"),
    ("worktree", "Worktrees"),
    ("sandbox", "The sandbox"),
    ("tools.file_operations", "Tools for files"),
    ("tools.code_execution", "Tools for commands"),
    ("tools.web_requests", "Tools for the web"),
    ("taint", "Private data and text from outside"),
];

/// Compares the page with what the program says, or writes it.
pub(super) fn is_up_to_date() -> Outcome {
    let page = page(&options()?)?;
    if std::env::var(SWITCH).is_ok_and(|value| value == "write") {
        fs::write(FILE, &page)?;
    }
    if fs::read_to_string(FILE)? == page {
        Ok(())
    } else {
        fail("docs/settings.md is not what the settings are: type `just settings-docs`")
    }
}

/// Returns the words of the help of `run`, which has the options for settings.
fn options() -> Result<Vec<String>, Failed> {
    let home = Home::new()?;
    let help = home.orchestrate(home.path(), &["help", "run"]);
    let help = help.run()?.exits(0)?.stdout;
    let words = help.split_whitespace().map(|word| word.trim_matches(','));
    Ok(words.map(str::to_owned).collect())
}

fn page(options: &[String]) -> Result<String, Failed> {
    let mut page = HEAD.to_owned();
    for (table, title) in TABLES {
        write!(page, "\n## {title}")?;
        if !table.is_empty() {
            write!(page, ": `[{table}]`")?;
        }
        page.push_str("\n\n| setting | value | default | who sets it | meaning |\n");
        page.push_str("|---|---|---|---|---|\n");
        for key in KEYS.iter().filter(|key| section_of(key) == table) {
            page.push_str(&row(key, options));
        }
    }
    Ok(page)
}

/// Returns the table whose section a key is in.
fn section_of(key: &Key) -> &'static str {
    let mut table = key.name;
    while let Some((parent, _)) = table.rsplit_once('.') {
        if let Some((known, _)) = TABLES.iter().find(|(known, _)| *known == parent) {
            return known;
        }
        table = parent;
    }
    ""
}

fn row(key: &Key, options: &[String]) -> String {
    let default = match key.written_default() {
        Some(default) => format!("`{default}`"),
        None => "–".to_owned(),
    };
    format!(
        "| `{}` | {} | {} | {} | {} |\n",
        key.name,
        cell(&value_of(key)),
        cell(&default),
        who_sets(key, options),
        cell(key.about),
    )
}

/// Returns what a value looks like.
fn value_of(key: &Key) -> String {
    match key.kind {
        Kind::Text => "text".to_owned(),
        Kind::Message => "a template".to_owned(),
        Kind::Rules => "rules: `[\"tool(pattern)\"]`".to_owned(),
        Kind::Switch => "`true` or `false`".to_owned(),
        Kind::Duration => "a time: `30s`, `5m`, `1h`".to_owned(),
        Kind::Dollars => "dollars, such as `0.25`".to_owned(),
        Kind::OneOf(words) => format!("`{}`", words.join("`, `")),
        Kind::Limits | Kind::Prices | Kind::Names(_) => format!("`{}`", key.kind.example()),
        Kind::Number { .. } => Expected(key.kind).to_string(),
    }
}

/// Returns who may set a key, with its option.
fn who_sets(key: &Key, options: &[String]) -> String {
    let option = match option_of(key, options) {
        Some(option) => format!(" (`{option}`)"),
        None => String::new(),
    };
    let repository = match is_in_plans(key) {
        true => "project, plan",
        false => "project",
    };
    match key.class {
        Class::Preference => format!("you{option}, {repository}"),
        Class::Limit => format!("you{option}; narrowed by {repository}"),
        Class::PlanLimit => format!("you{option}, if set; else {repository}"),
        Class::Rules | Class::Lists => format!("you{option} and {repository}; combined"),
        Class::Personal => format!("you alone{option}"),
        Class::TypedOnly => format!("an option alone{option}"),
    }
}

/// Returns the option that sets a key, or that switches it off.
fn option_of(key: &Key, options: &[String]) -> Option<String> {
    let option = key.option();
    let off = option.replacen("--", "--no-", 1);
    [option, off]
        .into_iter()
        .find(|option| options.contains(option))
}

/// Reports whether the front matter of a plan sets a key, tried with a value of its kind.
fn is_in_plans(key: &Key) -> bool {
    let value = match key.kind {
        Kind::OneOf(words) => words.first().copied().unwrap_or("").to_owned(),
        Kind::Number { least, .. } => least.max(1).to_string(),
        kind => kind.example().to_owned(),
    };
    let front = front_matter(&format!("---\n{}: {value}\n---\n", key.name));
    let (layer, _) = Layer::of_plan(&front, "plan.md");
    layer.given.iter().any(|given| given.key == key)
}

/// Returns a text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
