//! `Cargo.toml`.

use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::model::{
    CargoSettings, Dependency, DependencyKind, DependencySource, Ecosystem, Manifest,
    ManifestError, Settings,
};
use super::toml_file::{entries, flag, parse, table, text, texts};

/// The tables of dependencies, with both spellings that cargo reads.
const TABLES: [(&str, DependencyKind); 5] = [
    ("dependencies", DependencyKind::Runtime),
    ("dev-dependencies", DependencyKind::Dev),
    ("dev_dependencies", DependencyKind::Dev),
    ("build-dependencies", DependencyKind::Build),
    ("build_dependencies", DependencyKind::Build),
];

/// Reads a manifest.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let lines = Lines::from_text(text);
    let root = parse(text, &lines)?;
    let mut reader = Reader {
        lines: &lines,
        found: Vec::new(),
    };
    reader.tables(&root, None);
    let targets = table(&root, &["target"]).map(entries).unwrap_or_default();
    for (name, _, value) in targets {
        if let Some(tables) = value.as_table() {
            reader.tables(tables, Some(name));
        }
    }
    let settings = Settings::Cargo(Box::new(settings(&root, &lines)));
    let mut manifest = Manifest::new(Ecosystem::Cargo, path, settings);
    manifest.dependencies = reader.found;
    if let Some(package) = table(&root, &["package"]).or_else(|| table(&root, &["project"])) {
        manifest.name = self::text(package, "name");
        manifest.version = self::text(package, "version");
    }
    Ok(manifest)
}

struct Reader<'l> {
    lines: &'l Lines,
    found: Vec<Dependency>,
}

impl Reader<'_> {
    fn tables(&mut self, tables: &DeTable<'_>, target: Option<&str>) {
        for (name, kind) in TABLES {
            for (key, at, value) in table(tables, &[name]).map(entries).unwrap_or_default() {
                let dependency = dependency(key, value, kind, self.lines.at(at));
                self.found.push(Dependency {
                    target: target.map(str::to_owned),
                    ..dependency
                });
            }
        }
    }
}

fn dependency(key: &str, value: &DeValue<'_>, kind: DependencyKind, line: usize) -> Dependency {
    let mut found = Dependency::new(key, kind, line);
    found.requirement = value.as_str().map(str::to_owned);
    let Some(table) = value.as_table() else {
        return found;
    };
    if let Some(package) = text(table, "package").filter(|package| package != key) {
        found.name = package;
        found.alias = Some(key.to_owned());
    }
    found.requirement = text(table, "version");
    found.optional = flag(table, "optional");
    found.features = texts(table, "features");
    let path = text(table, "path").map(DependencySource::Path);
    let git = text(table, "git").map(DependencySource::Git);
    let shared = if flag(table, "workspace") {
        Some(DependencySource::Workspace)
    } else {
        None
    };
    found.source = shared.or(path).or(git).unwrap_or_default();
    found
}

fn settings(root: &DeTable<'_>, lines: &Lines) -> CargoSettings {
    let mut settings = CargoSettings::default();
    if let Some(package) = table(root, &["package"]) {
        // Without an edition, a package is of 2015; an inherited one is taken for a later one.
        let edition = text(package, "edition");
        settings.is_2015 =
            !package.contains_key("edition") || edition.is_some_and(|edition| edition == "2015");
        settings.build = text(package, "build");
        settings.inherits_version =
            table(package, &["version"]).is_some_and(|version| flag(version, "workspace"));
    }
    if let Some(library) = table(root, &["lib"]) {
        settings.library = text(library, "name");
        settings.library_root = text(library, "path");
    }
    for kind in ["bin", "test", "bench", "example"] {
        let targets = root.get(kind).and_then(|value| value.get_ref().as_array());
        let targets = targets.into_iter().flat_map(|targets| targets.iter());
        let tables = targets.filter_map(|target| target.get_ref().as_table());
        settings
            .roots
            .extend(tables.filter_map(|target| text(target, "path")));
    }
    if let Some(features) = table(root, &["features"]) {
        let selected = entries(features)
            .into_iter()
            .flat_map(|(name, _, _)| texts(features, name));
        settings.forwarded = selected
            .filter_map(|feature| forwarded_to(&feature))
            .collect();
    }
    if let Some(workspace) = table(root, &["workspace"]) {
        settings.is_workspace = true;
        settings.members = texts(workspace, "members");
        settings.excluded = texts(workspace, "exclude");
        settings.shared_version =
            table(workspace, &["package"]).and_then(|package| text(package, "version"));
        let shared = table(workspace, &["dependencies"])
            .map(entries)
            .unwrap_or_default();
        let shared = shared.into_iter().map(|(key, at, value)| {
            (
                key.to_owned(),
                dependency(key, value, DependencyKind::Runtime, lines.at(at)),
            )
        });
        settings.shared = shared.collect();
    }
    settings
}

fn forwarded_to(feature: &str) -> Option<String> {
    Some(feature.split_once('/')?.0.trim_end_matches('?').to_owned())
}
