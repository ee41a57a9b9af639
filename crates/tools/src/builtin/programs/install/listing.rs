//! What lists the packages of a project, before and after an installation.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::time::Duration;

use orchestrate_memory::{Work, watched};
use orchestrate_sandbox::Cancel;
use serde::Deserialize;

use super::destinations::Server;
use crate::answer::{PackageChange, ToolError};
use crate::files::path::split;
use crate::files::{Files, Flow, WalkLimits};

/// Number of bytes of a lock file that are read.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum time to list the packages of an environment.
const LISTING_TIME: Duration = Duration::from_secs(10);
/// Maximum number of places of a lock file to name.
const MAX_SERVERS: usize = 16;

/// What lists the packages that are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// The folders of Python's packages in this virtual environment.
    SitePackages(&'static str),
    /// The tables `[[package]]` of this lock file.
    Blocks(&'static str),
    /// What npm has installed, which is what its lock file says.
    Npm,
    /// The lock file of pnpm.
    Pnpm,
    /// The lock file of yarn, in either form.
    Yarn,
    /// The requirements in `go.mod`.
    GoMod,
}

/// Packages with their versions: several versions of one may be installed.
pub(super) type Packages = BTreeMap<String, BTreeSet<String>>;

impl Listing {
    /// Lists the packages. What does not exist yet lists none.
    ///
    /// # Errors
    /// `Interrupted` if cancelled.
    pub(super) fn packages(self, files: &Files, cancel: &Cancel) -> Result<Packages, ToolError> {
        match self {
            Listing::SitePackages(environment) => site_packages(files, environment, cancel),
            Listing::Blocks(path) => Ok(blocks(&text(files, path))),
            Listing::Npm => Ok(npm(&text(files, "node_modules/.package-lock.json"))),
            Listing::Pnpm => Ok(pnpm(&text(files, "pnpm-lock.yaml"))),
            Listing::Yarn => Ok(yarn(&text(files, "yarn.lock"))),
            Listing::GoMod => Ok(go_mod(&text(files, "go.mod"))),
        }
    }

    /// Returns where the project's lock file leads.
    pub(super) fn servers(self, files: &Files) -> Vec<Server> {
        let (path, leads): (&str, fn(&str) -> bool) = match self {
            Listing::SitePackages(_) | Listing::GoMod => return Vec::new(),
            Listing::Blocks(path) => (path, |line| {
                line.contains("source =") || line.contains("url =")
            }),
            Listing::Npm => ("package-lock.json", |line| line.starts_with("\"resolved\"")),
            Listing::Pnpm => ("pnpm-lock.yaml", |line| {
                line.contains("tarball:") || line.contains("repo:")
            }),
            Listing::Yarn => ("yarn.lock", |line| {
                line.starts_with("resolved") || line.starts_with("resolution:")
            }),
        };
        let text = text(files, path);
        let lines = text.lines().map(str::trim).filter(|line| leads(line));
        let found: BTreeSet<Server> = lines.flat_map(Server::all_in).collect();
        found.into_iter().take(MAX_SERVERS).collect()
    }
}

/// Returns what differs between two lists, by name.
pub(super) fn changes(before: &Packages, after: &Packages) -> Vec<PackageChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |name: &String| {
        let (removed, added) = (versions(before, name, after), versions(after, name, before));
        let is_changed = !removed.is_empty() || !added.is_empty();
        is_changed.then(|| PackageChange {
            name: name.clone(),
            removed,
            added,
        })
    };
    names.into_iter().filter_map(change).collect()
}

fn versions(all: &Packages, name: &str, without: &Packages) -> Vec<String> {
    let none = BTreeSet::new();
    let own = all.get(name).unwrap_or(&none);
    let others = without.get(name).unwrap_or(&none);
    own.difference(others).cloned().collect::<Vec<_>>()
}

/// Returns the text of a file; nothing if there is none.
pub(super) fn text(files: &Files, path: &str) -> String {
    let mut bytes = Vec::new();
    let read = files
        .open(path)
        .map(|opened| opened.file.take(MAX_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(Ok(_)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

/// Reads the names of `NAME-VERSION.dist-info`, as
/// <https://packaging.python.org/en/latest/specifications/recording-installed-packages/> says.
fn site_packages(files: &Files, environment: &str, cancel: &Cancel) -> Result<Packages, ToolError> {
    let mut packages = Packages::new();
    for version in entries(files, &format!("{environment}/lib"), cancel)? {
        for folder in entries(files, &format!("{version}/site-packages"), cancel)? {
            if let Some(installed) = split(&folder).1.strip_suffix(".dist-info")
                && let Some((name, version)) = installed.rsplit_once('-')
            {
                add(&mut packages, name, version);
            }
        }
    }
    Ok(packages)
}

/// Returns the entries of a folder, also of one that git ignores.
fn entries(files: &Files, folder: &str, cancel: &Cancel) -> Result<Vec<String>, ToolError> {
    let limits = WalkLimits {
        recursive: false,
        ..WalkLimits::within(LISTING_TIME, cancel)
    };
    let mut found = Vec::new();
    let walked = files.walk_all(folder, &limits, &mut |entry| {
        found.push(entry.path.clone());
        Ok(Flow::Continue)
    });
    match walked {
        Err(error @ ToolError::Interrupted(_)) => Err(error),
        _ => Ok(found),
    }
}

fn add(packages: &mut Packages, name: &str, version: &str) {
    if name.is_empty() || version.is_empty() {
        return;
    }
    packages
        .entry(name.to_owned())
        .or_default()
        .insert(version.to_owned());
}

/// How uv writes the source of a part of the project; cargo writes none.
const PARTS_OF_PROJECT: [&str; 3] = ["{ virtual =", "{ editable =", "{ directory ="];

/// Reads lines `name = "…"` and `version = "…"` below `[[package]]`.
fn blocks(text: &str) -> Packages {
    let mut packages = Packages::new();
    for block in text.split("[[package]]").skip(1) {
        let lines = || {
            block
                .lines()
                .map(str::trim)
                .take_while(|line| !line.starts_with('['))
        };
        let value = |key: &str| {
            lines().find_map(|line| {
                line.strip_prefix(key)?
                    .trim_start()
                    .strip_prefix('=')?
                    .trim()
                    .split('"')
                    .nth(1)
            })
        };
        let source = lines().find(|line| line.starts_with("source"));
        let is_own =
            source.is_none_or(|source| PARTS_OF_PROJECT.iter().any(|part| source.contains(part)));
        if let (false, Some(name), Some(version)) = (is_own, value("name"), value("version")) {
            add(&mut packages, name, version);
        }
    }
    packages
}

/// What npm has installed, by where it is.
#[derive(Default, Deserialize)]
struct NpmLock {
    #[serde(default)]
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize)]
struct NpmPackage {
    version: Option<String>,
}

/// Reads `{"packages": {"node_modules/a/node_modules/b": {"version": "1.0.0"}}}`, as
/// <https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json> says.
fn npm(text: &str) -> Packages {
    let _work = Work::begin(&|| false);
    let lock = serde_json::from_reader(watched(text.as_bytes(), &|| false));
    let lock: NpmLock = lock.unwrap_or_default();
    let mut packages = Packages::new();
    for (path, package) in &lock.packages {
        let name = path.rsplit_once("node_modules/").map(|(_, name)| name);
        if let (Some(name), Some(version)) = (name, package.version.as_deref()) {
            add(&mut packages, name, version);
        }
    }
    packages
}

/// Reads the keys `name@version:` below `packages:`, which older versions begin with `/`.
fn pnpm(text: &str) -> Packages {
    let mut packages = Packages::new();
    let lines = text.lines().skip_while(|line| *line != "packages:").skip(1);
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let key = line
            .strip_prefix("  ")
            .filter(|key| !key.starts_with(' '))
            .and_then(|key| key.strip_suffix(':'));
        let key = key.map(|key| key.trim_matches(['\'', '"']).trim_start_matches('/'));
        // What stands in parentheses are the peers of this copy.
        let key = key.map(|key| key.split('(').next().unwrap_or(key));
        if let Some((name, version)) = key.and_then(|key| key.rsplit_once('@')) {
            add(&mut packages, name, version);
        }
    }
    packages
}

/// Reads entries `name@range, name@range:` with an indented `version`.
fn yarn(text: &str) -> Packages {
    let (mut packages, mut name) = (Packages::new(), None);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if !line.starts_with(' ') {
            let key = line.trim_end_matches(':').trim_matches('"');
            // A scope begins with the sign as well.
            let end = key
                .char_indices()
                .skip(1)
                .find(|(_, c)| *c == '@')
                .map(|(end, _)| end);
            name = end.and_then(|end| key.get(..end));
            // In the newer form, the project's own packages are listed, too.
            name = name.filter(|_| !key.contains("@workspace:"));
        }
        let version = line
            .trim_start()
            .strip_prefix("version")
            .map(|rest| rest.trim_start_matches(':').trim());
        if let (Some(name), Some(version)) = (name, version) {
            add(&mut packages, name, version.trim_matches('"'));
        }
    }
    packages
}

/// Reads the lines `path version` of `require`, as <https://go.dev/ref/mod#go-mod-file-require>
/// says.
fn go_mod(text: &str) -> Packages {
    let (mut packages, mut is_inside) = (Packages::new(), false);
    for line in text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line).trim())
    {
        let one = line
            .strip_prefix("require ")
            .filter(|one| !one.starts_with('('));
        if let Some((path, version)) = one
            .or(is_inside.then_some(line))
            .and_then(|one| one.trim().split_once(' '))
        {
            add(&mut packages, path, version.trim());
        }
        match line {
            ")" => is_inside = false,
            _ if line.starts_with("require") && line.ends_with('(') => is_inside = true,
            _ => {}
        }
    }
    packages
}

#[cfg(test)]
mod tests;
