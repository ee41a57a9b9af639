//! What the manifests of package managers say: scripts, pinned managers, dependencies and targets.
//!
//! A manifest that cannot be parsed says nothing.

use serde_json::Value;
use toml::Table;

use crate::suggest::project_files::ProjectFiles;

/// The beginning of the script that `npm init` writes, which only fails.
const NO_TESTS: &str = "no test specified";
/// The tables of `package.json` that name packages to install.
const NODE_DEPENDENCIES: [&str; 4] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "workspaces",
];
/// The files that pip reads the names of packages from.
pub(super) const REQUIREMENTS: [&str; 4] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "test-requirements.txt",
];
/// The files that `make` reads, in its order.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the manager that `packageManager` of `package.json` pins, with its version; the hash
/// after that is left out.
pub(super) fn pinned_manager(files: &ProjectFiles) -> Option<(String, Option<String>)> {
    let pin = json(files, "package.json")?
        .get("packageManager")?
        .as_str()?
        .to_owned();
    let Some((name, version)) = pin.split_once('@') else {
        return Some((pin, None));
    };
    Some((
        name.to_owned(),
        version.split('+').next().map(str::to_owned),
    ))
}

/// Reports whether yarn is one that knows `--immutable`: all after the first major version, which
/// have settings of another name.
pub(super) fn is_modern_yarn(files: &ProjectFiles) -> bool {
    let is_pinned = |(name, version): (String, Option<String>)| {
        name == "yarn" && version.is_some_and(|version| !version.starts_with("1."))
    };
    files.has(".yarnrc.yml") || pinned_manager(files).is_some_and(is_pinned)
}

/// Reports whether `package.json` has a script of this name that does something.
pub(super) fn has_node_script(files: &ProjectFiles, name: &str) -> bool {
    let script = || {
        Some(
            json(files, "package.json")?
                .get("scripts")?
                .get(name)?
                .as_str()?
                .to_owned(),
        )
    };
    script().is_some_and(|script| !script.trim().is_empty() && !script.contains(NO_TESTS))
}

/// Reports whether `package.json` names packages to install.
pub(super) fn needs_node_packages(files: &ProjectFiles) -> bool {
    let Some(json) = json(files, "package.json") else {
        return false;
    };
    NODE_DEPENDENCIES
        .iter()
        .any(|name| json.get(name).is_some_and(is_filled))
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(entries) => !entries.is_empty(),
        _ => false,
    }
}

/// Reports whether `composer.json` has a script of this name.
pub(super) fn has_composer_script(files: &ProjectFiles, name: &str) -> bool {
    json(files, "composer.json").is_some_and(|json| {
        json.get("scripts")
            .is_some_and(|all| all.get(name).is_some())
    })
}

/// Reports whether a lock file of cargo names a package that is not part of the project.
pub(super) fn needs_crates(files: &ProjectFiles) -> bool {
    let Some(lock) = toml(files, "Cargo.lock") else {
        return false;
    };
    let packages = lock.get("package").and_then(toml::Value::as_array);
    packages.is_some_and(|packages| {
        packages
            .iter()
            .any(|package| package.get("source").is_some())
    })
}

/// Reports whether the manifest of cargo at the top is that of a workspace.
pub(super) fn is_cargo_workspace(files: &ProjectFiles) -> bool {
    toml(files, "Cargo.toml").is_some_and(|manifest| manifest.contains_key("workspace"))
}

/// Where a Python project names a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedIn {
    /// In an optional group that is installed only on request.
    Extra,
    /// Where every installation includes it, or in its own settings.
    Always,
}

/// Returns where a Python project names a package that runs its tests.
pub(super) fn names_python_package(files: &ProjectFiles, package: &str) -> Option<NamedIn> {
    let required = REQUIREMENTS
        .iter()
        .flat_map(|name| files.text(name).lines());
    if required
        .filter_map(requirement_name)
        .any(|name| name == package)
    {
        return Some(NamedIn::Always);
    }
    let manifest = toml(files, "pyproject.toml")?;
    let project = manifest.get("project").and_then(toml::Value::as_table);
    let tool = manifest.get("tool").and_then(toml::Value::as_table);
    let of_project = project.and_then(|project| project.get("dependencies"));
    let always = [
        of_project,
        manifest.get("dependency-groups"),
        tool.and_then(|tool| tool.get("poetry")),
    ];
    if always
        .into_iter()
        .flatten()
        .any(|value| mentions(value, package))
    {
        return Some(NamedIn::Always);
    }
    let extras = project.and_then(|project| project.get("optional-dependencies"));
    if extras.is_some_and(|extras| mentions(extras, package)) {
        return Some(NamedIn::Extra);
    }
    tool.is_some_and(|tool| tool.contains_key(package))
        .then_some(NamedIn::Always)
}

/// Reports whether a part of `pyproject.toml` names a package, as a requirement or as a key.
fn mentions(value: &toml::Value, package: &str) -> bool {
    match value {
        toml::Value::String(text) => requirement_name(text) == Some(package),
        toml::Value::Array(items) => items.iter().any(|item| mentions(item, package)),
        toml::Value::Table(table) => table
            .iter()
            .any(|(name, value)| name == package || mentions(value, package)),
        _ => false,
    }
}

/// Returns the name of the package that a requirement begins with (PEP 508).
fn requirement_name(requirement: &str) -> Option<&str> {
    let requirement = requirement.trim();
    let end = requirement
        .find(|letter| !is_of_name(letter))
        .unwrap_or(requirement.len());
    requirement
        .get(..end)
        .filter(|name| !name.is_empty() && !name.starts_with('-'))
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

/// Returns the first of these targets that a makefile has a rule for.
///
/// No crate reads makefiles, and `make` itself would run commands of the project to do so. A rule's
/// targets stand at the beginning of a line, which a tab would make part of a recipe (POSIX, make,
/// "Target Rules").
pub(super) fn make_target(files: &ProjectFiles, targets: &[&'static str]) -> Option<&'static str> {
    let text = MAKEFILES
        .iter()
        .find(|name| files.has(name))
        .map(|name| files.text(name))?;
    let named: Vec<&str> = text
        .lines()
        .filter_map(targets_of)
        .flat_map(str::split_whitespace)
        .collect();
    targets
        .iter()
        .copied()
        .find(|target| named.contains(target))
}

/// Returns the targets of a rule: what stands before a colon that assigns nothing.
fn targets_of(line: &str) -> Option<&str> {
    let (targets, rest) = line.split_once(':')?;
    let is_rule =
        !line.starts_with(['\t', ' ', '#', '.']) && !rest.trim_start_matches(':').starts_with('=');
    (is_rule && !targets.contains('=')).then_some(targets)
}

fn json(files: &ProjectFiles, name: &str) -> Option<Value> {
    serde_json::from_str(files.text(name)).ok()
}

fn toml(files: &ProjectFiles, name: &str) -> Option<Table> {
    let text = files.text(name);
    if text.is_empty() {
        None
    } else {
        text.parse().ok()
    }
}
