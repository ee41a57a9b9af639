//! The bans of `clippy.toml`: each crate's file repeats the root's, and each ban is shown to take
//! effect.
//!
//! A crate's own file replaces the root's instead of adding to it, so a ban that is missing there
//! has no effect.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use libtest_mimic::Failed;
use toml::{Table, Value};

use super::sample::Sample;
use crate::architecture::{Violation, crates, read, require_exactly, require_none, root};
use crate::support::Outcome;

/// The lists of bans in a file.
const LISTS: [&str; 2] = ["disallowed-methods", "disallowed-types"];

/// Crates with bans beyond the root's, so a missing file of theirs is an error.
const WITH_BANS_OF_THEIR_OWN: [&str; 4] = ["core", "plan", "roles", "tools"];

/// Code that uses each banned item. A ban without a line here fails the test, since nothing shows
/// that it takes effect.
const USES: [(&str, &str); 36] = [
    (
        "std::env::remove_var",
        "unsafe { std::env::remove_var(\"A\") }",
    ),
    (
        "std::env::set_current_dir",
        "std::env::set_current_dir(\"/\")",
    ),
    (
        "std::env::set_var",
        "unsafe { std::env::set_var(\"A\", \"b\") }",
    ),
    ("std::env::var", "std::env::var(\"A\")"),
    ("std::env::var_os", "std::env::var_os(\"A\")"),
    ("std::env::vars", "std::env::vars()"),
    ("std::env::vars_os", "std::env::vars_os()"),
    ("std::fs::File::create", "std::fs::File::create(\"a\")"),
    ("std::fs::File::open", "std::fs::File::open(\"a\")"),
    ("std::fs::OpenOptions::new", "std::fs::OpenOptions::new()"),
    ("std::fs::canonicalize", "std::fs::canonicalize(\"a\")"),
    ("std::fs::copy", "std::fs::copy(\"a\", \"b\")"),
    ("std::fs::create_dir", "std::fs::create_dir(\"a\")"),
    ("std::fs::create_dir_all", "std::fs::create_dir_all(\"a\")"),
    ("std::fs::metadata", "std::fs::metadata(\"a\")"),
    ("std::fs::read", "std::fs::read(\"a\")"),
    ("std::fs::read_dir", "std::fs::read_dir(\"a\")"),
    ("std::fs::read_to_string", "std::fs::read_to_string(\"a\")"),
    ("std::fs::remove_dir_all", "std::fs::remove_dir_all(\"a\")"),
    ("std::fs::remove_file", "std::fs::remove_file(\"a\")"),
    ("std::fs::rename", "std::fs::rename(\"a\", \"b\")"),
    ("std::fs::write", "std::fs::write(\"a\", \"b\")"),
    (
        "std::net::TcpListener::bind",
        "std::net::TcpListener::bind(\"a\")",
    ),
    (
        "std::net::TcpStream::connect",
        "std::net::TcpStream::connect(\"a\")",
    ),
    (
        "std::process::Command::new",
        "std::process::Command::new(\"a\")",
    ),
    ("std::process::abort", "std::process::abort()"),
    ("std::process::exit", "std::process::exit(0)"),
    (
        "std::sync::mpsc::channel",
        "std::sync::mpsc::channel::<u8>()",
    ),
    (
        "std::thread::sleep",
        "std::thread::sleep(std::time::Duration::ZERO)",
    ),
    ("std::thread::spawn", "std::thread::spawn(|| ())"),
    ("std::time::Instant::now", "std::time::Instant::now()"),
    ("std::time::SystemTime::now", "std::time::SystemTime::now()"),
    (
        "tokio::process::Command::new",
        "tokio::process::Command::new(\"a\")",
    ),
    ("tokio::spawn", "tokio::spawn(())"),
    (
        "tokio::sync::mpsc::unbounded_channel",
        "tokio::sync::mpsc::unbounded_channel()",
    ),
    ("tokio::task::spawn", "tokio::task::spawn(())"),
];

/// Checks the files of the workspace.
pub(in crate::architecture) fn workspace_holds() -> Outcome {
    let base = read(&root().join("clippy.toml"))?;
    let mut violations = Vec::new();
    for folder in crates()? {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let file = folder.join("clippy.toml");
        if file.is_file() {
            violations.extend(missing(&name, &base, &read(&file)?)?);
        } else if WITH_BANS_OF_THEIR_OWN.contains(&name.as_str()) {
            violations.push(format!("{name} has no clippy.toml"));
        }
    }
    require_none(&violations)
}

/// Returns what the root's file contains and a crate's does not.
fn missing(name: &str, base: &str, own: &str) -> Result<Vec<Violation>, Failed> {
    let (base, own): (Table, Table) = (base.parse()?, own.parse()?);
    let mut violations = Vec::new();
    for (key, value) in base
        .iter()
        .filter(|(key, _)| !LISTS.contains(&key.as_str()))
    {
        if own.get(key) != Some(value) {
            violations.push(format!("crates/{name}/clippy.toml lacks {key} = {value}"));
        }
    }
    let kept = bans(&own);
    let forgotten = bans(&base).into_iter().filter(|ban| !kept.contains(ban));
    violations
        .extend(forgotten.map(|ban| format!("crates/{name}/clippy.toml lacks the ban of {ban}")));
    Ok(violations)
}

/// Returns the paths that a file bans.
fn bans(file: &Table) -> BTreeSet<String> {
    let entries = LISTS
        .iter()
        .filter_map(|list| file.get(*list))
        .filter_map(Value::as_array)
        .flatten();
    let path = |entry: &Value| {
        entry
            .get("path")
            .unwrap_or(entry)
            .as_str()
            .map(str::to_owned)
    };
    entries.filter_map(path).collect()
}

/// Runs clippy with each of the workspace's files on a crate that uses everything banned there.
pub(in crate::architecture) fn every_ban_bites() -> Outcome {
    let mut folders = vec![root().to_owned()];
    folders.extend(
        crates()?
            .into_iter()
            .filter(|folder| folder.join("clippy.toml").is_file()),
    );
    let sample = Sample::with_tokio()?;
    let mut violations = Vec::new();
    for folder in folders {
        let banned = bans(&read(&folder.join("clippy.toml"))?.parse()?);
        if banned.is_empty() {
            violations.push(format!("{} bans nothing", folder.display()));
        }
        sample.write("src/lib.rs", &uses(&banned)?)?;
        let complaints = sample.clippy(&folder)?;
        let bites = |ban: &&String| {
            complaints.contains(&format!("a disallowed method `{ban}`"))
                || complaints.contains(&format!("a disallowed type `{ban}`"))
        };
        let toothless = banned.iter().filter(|ban| !bites(ban));
        violations.extend(
            toothless.map(|ban| format!("{}: the ban of {ban} does not bite", folder.display())),
        );
    }
    require_none(&violations)
}

/// Returns the source of a crate that uses each banned item.
fn uses(banned: &BTreeSet<String>) -> Result<String, Failed> {
    let mut source = String::new();
    for (number, ban) in banned.iter().enumerate() {
        let used = USES.iter().find(|(path, _)| path == ban);
        let used = used
            .ok_or_else(|| {
                Failed::from(format!("no line in USES shows that the ban of {ban} bites"))
            })?
            .1;
        writeln!(source, "pub fn f{number}() {{ let _ = {used}; }}")?;
    }
    Ok(source)
}

/// Shows the check examples that it must catch.
pub(in crate::architecture) fn examples_are_caught() -> Outcome {
    let base = "too-many-lines-threshold = 70\ndisallowed-methods = [\"a::b\", { path = \"c::d\", reason = \"r\" }]\n\
                disallowed-types = [{ path = \"e::F\" }]\n";
    require_none(&missing("x", base, base)?)?;
    require_exactly(
        &missing(
            "x",
            base,
            "disallowed-methods = [{ path = \"a::b\" }, \"more::bans\"]\n",
        )?,
        &[
            "crates/x/clippy.toml lacks too-many-lines-threshold = 70",
            "crates/x/clippy.toml lacks the ban of c::d",
            "crates/x/clippy.toml lacks the ban of e::F",
        ],
    )
}
