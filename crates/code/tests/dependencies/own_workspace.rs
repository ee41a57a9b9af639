//! This workspace as a project: its packages are those that cargo sees.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use orchestrate_code::{Dependency, DependencyGraph, DependencyKind, Package};
use serde_json::Value;

use crate::project::{NEVER, graph_of};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Returns the graph of those files of the workspace whose names end so.
fn workspace(endings: &[&str]) -> DependencyGraph {
    let root = root();
    let mut files = Vec::new();
    let mut pending = ["Cargo.toml", "benches", "crates", "examples", "tests"]
        .map(|name| root.join(name))
        .to_vec();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let name = path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if endings.iter().any(|ending| name.ends_with(ending)) {
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    graph_of(&files, NEVER).unwrap()
}

/// Returns a dependency as one line.
fn ours(root: &Path, dependency: &Dependency) -> String {
    let requirement = match dependency.requirement.as_deref() {
        Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => format!("^{version}"),
        Some(version) => version.to_owned(),
        None => "*".to_owned(),
    };
    let kind = if dependency.kind == DependencyKind::Runtime {
        "-".to_owned()
    } else {
        dependency.kind.to_string()
    };
    let own = dependency
        .own
        .as_deref()
        .map(|own| root.join(own).parent().unwrap().display().to_string());
    line(
        &dependency.name,
        &requirement,
        &kind,
        [&dependency.alias, &dependency.target, &own],
        dependency.optional,
    )
}

/// Returns what cargo says of a dependency as one line.
fn cargos(dependency: &Value) -> String {
    let text = |key: &str| dependency[key].as_str().map(str::to_owned);
    let kind = text("kind").unwrap_or_else(|| "-".to_owned());
    let extra = [&text("rename"), &text("target"), &text("path")];
    let optional = dependency["optional"].as_bool().unwrap();
    line(
        &text("name").unwrap(),
        &text("req").unwrap(),
        &kind,
        extra,
        optional,
    )
}

fn line(
    name: &str,
    requirement: &str,
    kind: &str,
    extra: [&Option<String>; 3],
    optional: bool,
) -> String {
    let extra = extra.map(|extra| extra.as_deref().unwrap_or("-")).join(" ");
    format!("{name} {requirement} {kind} {extra} {optional}")
}

#[test]
fn the_packages_are_those_that_cargo_sees() {
    let root = root();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(&root);
    let output = cargo.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap())
            .strip_prefix(&root)
            .unwrap();
        let name = package["name"].as_str().unwrap();
        let version = package["version"].as_str().unwrap();
        let dependencies: BTreeSet<String> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .map(cargos)
            .collect();
        format!("{} {name} {version}\n{dependencies:#?}", manifest.display())
    };
    let expected: BTreeSet<String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(seen)
        .collect();
    let graph = workspace(&["Cargo.toml"]);
    let found = |package: &Package| {
        let Package {
            manifest,
            name,
            version,
            dependencies,
            ..
        } = package;
        let dependencies: BTreeSet<String> =
            dependencies.iter().map(|one| ours(&root, one)).collect();
        assert_eq!(
            package.workspace.as_deref(),
            Some("Cargo.toml"),
            "{manifest}"
        );
        format!(
            "{manifest} {} {}\n{dependencies:#?}",
            name.as_deref().unwrap(),
            version.as_deref().unwrap()
        )
    };
    let found: BTreeSet<String> = graph.packages.iter().map(found).collect();
    assert!(expected.len() > 10);
    assert_eq!(found, expected);
    assert_eq!(graph.package_cycles, []);
    assert_eq!(graph.invalid, []);
}

/// The rules of the workspace forbid what the tool would find: modules that depend on each other,
/// and dependencies without use.
#[cfg(feature = "grammars")]
#[test]
fn nothing_is_found_that_the_rules_of_the_workspace_forbid() {
    let graph = workspace(&["Cargo.toml", ".rs"]);
    let cycles: Vec<String> = graph
        .cycles
        .iter()
        .map(|cycle| {
            cycle
                .steps
                .iter()
                .map(|step| format!("{}:{}", step.from, step.line))
                .collect::<Vec<_>>()
                .join(" > ")
        })
        .filter(|cycle| cycle.contains("/src/"))
        .collect();
    assert_eq!(cycles, [] as [&str; 0]);
    let unused: Vec<String> = graph
        .unused
        .iter()
        .map(|one| format!("{} {}", one.manifest, one.name))
        .collect();
    assert_eq!(unused, [] as [&str; 0]);
    assert_eq!(graph.undeclared, []);
    assert_eq!(graph.unresolved, []);
    assert!(graph.modules.len() > 300);
    let names = |package: &str| {
        let path = format!("crates/{package}/src/lib.rs");
        graph
            .modules
            .iter()
            .find(|module| module.path == path)
            .map(|module| module.imports.len())
    };
    assert!(names("core").is_some_and(|imports| imports > 20));
}
