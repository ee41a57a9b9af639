//! `Cargo.toml`.

use toml::de::{DeTable, DeValue};

use super::model::{
    CargoSettings, Dependency, DependencyKind, Ecosystem, Lines, Manifest, ManifestError, Settings,
};
use super::toml_file::{entries, flag, parse, source, table, text, texts};

const TABLES: [(&str, DependencyKind); 3] = [
    ("dependencies", DependencyKind::Runtime),
    ("dev-dependencies", DependencyKind::Dev),
    ("build-dependencies", DependencyKind::Build),
];

/// Reads a manifest.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let lines = Lines::from_text(text);
    let root = parse(text, &lines)?;
    let mut dependencies = Vec::new();
    add_tables(&mut dependencies, &root, None, &lines);
    for entry in entries(table(&root, &["target"])) {
        if let Some(tables) = entry.value.as_table() {
            add_tables(&mut dependencies, tables, Some(entry.key), &lines);
        }
    }
    let settings = Settings::Cargo(Box::new(settings(&root, &lines)));
    let mut manifest = Manifest::new(Ecosystem::Cargo, path, settings);
    manifest.dependencies = dependencies;
    manifest.name = self::text(table(&root, &["package"]), "name");
    manifest.version = self::text(table(&root, &["package"]), "version");
    if let Some(workspace) = table(&root, &["workspace"]) {
        let mut members = texts(Some(workspace), "members");
        let excluded = texts(Some(workspace), "exclude");
        members.extend(excluded.iter().map(|pattern| format!("!{pattern}")));
        manifest.members = Some(members);
    }
    Ok(manifest)
}

fn add_tables(
    found: &mut Vec<Dependency>,
    tables: &DeTable<'_>,
    target: Option<&str>,
    lines: &Lines,
) {
    for (name, kind) in TABLES {
        for entry in entries(table(tables, &[name])) {
            let mut one = dependency(entry.key, entry.value, kind, lines.at(entry.at));
            one.target = target.map(str::to_owned);
            found.push(one);
        }
    }
}

fn dependency(key: &str, value: &DeValue<'_>, kind: DependencyKind, line: usize) -> Dependency {
    let mut found = Dependency::new(key, kind, line);
    found.requirement = value.as_str().map(str::to_owned);
    let table = value.as_table();
    if table.is_none() {
        return found;
    }
    if let Some(package) = text(table, "package").filter(|package| package != key) {
        found.name = package;
        found.alias = Some(key.to_owned());
    }
    found.requirement = text(table, "version");
    found.optional = flag(table, "optional");
    found.features = texts(table, "features");
    found.source = source(table);
    found
}

fn settings(root: &DeTable<'_>, lines: &Lines) -> CargoSettings {
    let library = table(root, &["lib"]);
    let workspace_package = table(root, &["workspace", "package"]);
    let mut settings = CargoSettings {
        library: text(library, "name"),
        library_root: text(library, "path"),
        shared_version: text(workspace_package, "version"),
        inherits_version: flag(table(root, &["package", "version"]), "workspace"),
        ..CargoSettings::default()
    };
    settings
        .roots
        .extend(text(table(root, &["package"]), "build"));
    for kind in ["bin", "test", "bench", "example"] {
        let targets = root.get(kind).and_then(|value| value.get_ref().as_array());
        for target in targets.into_iter().flat_map(|targets| targets.iter()) {
            settings
                .roots
                .extend(text(target.get_ref().as_table(), "path"));
        }
    }
    for entry in entries(table(root, &["workspace", "dependencies"])) {
        let line = lines.at(entry.at);
        let shared = dependency(entry.key, entry.value, DependencyKind::Runtime, line);
        settings.shared.insert(entry.key.to_owned(), shared);
    }
    settings
}
