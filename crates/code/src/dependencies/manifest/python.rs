//! `pyproject.toml` and `setup.cfg`.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, Lines, Manifest, ManifestError,
    Settings,
};
use super::requirements::{python_name, requirement};
use super::toml_file::{entries, flag, parse, placed_texts, source, table, text, texts};

/// Reads a `pyproject.toml`: PEP 621 and 735, poetry and uv.
pub(super) fn read_project(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let lines = Lines::from_text(text);
    let root = parse(text, &lines)?;
    let mut reader = Reader {
        lines: &lines,
        found: Vec::new(),
    };
    let project = table(&root, &["project"]);
    reader.array(project, "dependencies", DependencyKind::Runtime, None);
    let extras = table(&root, &["project", "optional-dependencies"]);
    reader.groups(extras, DependencyKind::Optional);
    let groups = table(&root, &["dependency-groups"]);
    reader.groups(groups, DependencyKind::Dev);
    let build = table(&root, &["build-system"]);
    reader.array(build, "requires", DependencyKind::Build, None);
    reader.poetry(&root, "dependencies", DependencyKind::Runtime);
    reader.poetry(&root, "dev-dependencies", DependencyKind::Dev);
    for group in entries(table(&root, &["tool", "poetry", "group"])) {
        if let Some(tables) = group.value.as_table() {
            let dependencies = table(tables, &["dependencies"]);
            reader.poetry_table(dependencies, DependencyKind::Dev, Some(group.key));
        }
    }
    let uv = table(&root, &["tool", "uv"]);
    reader.array(uv, "dev-dependencies", DependencyKind::Dev, None);
    reader.sources(table(&root, &["tool", "uv", "sources"]));
    let named = project.or_else(|| table(&root, &["tool", "poetry"]));
    let workspace = table(&root, &["tool", "uv", "workspace"]);
    Ok(Manifest {
        name: self::text(named, "name"),
        version: self::text(named, "version"),
        dependencies: reader.found,
        members: workspace.map(|_| texts(workspace, "members")),
        ..Manifest::new(Ecosystem::Python, path, settings(&root))
    })
}

fn settings(root: &DeTable<'_>) -> Settings {
    let find = table(root, &["tool", "setuptools", "packages", "find"]);
    let mut folders = texts(find, "where");
    for entry in entries(table(root, &["tool", "setuptools", "package-dir"])) {
        folders.extend(entry.value.as_str().map(str::to_owned));
    }
    // Each table below `tool` configures a program, which may be a dependency that nothing imports.
    let tools = entries(table(root, &["tool"])).into_iter();
    let tools = tools.map(|tool| python_name(tool.key)).collect();
    Settings::Python { folders, tools }
}

struct Reader<'l> {
    lines: &'l Lines,
    found: Vec<Dependency>,
}

impl Reader<'_> {
    fn array(
        &mut self,
        table: Option<&DeTable<'_>>,
        key: &str,
        kind: DependencyKind,
        group: Option<&str>,
    ) {
        for (text, at) in placed_texts(table, key) {
            if let Some(mut found) = requirement(&text, kind, self.lines.at(at)) {
                found.group = group.map(str::to_owned);
                self.found.push(found);
            }
        }
    }

    fn groups(&mut self, groups: Option<&DeTable<'_>>, kind: DependencyKind) {
        for group in entries(groups) {
            self.array(groups, group.key, kind, Some(group.key));
        }
    }

    fn poetry(&mut self, root: &DeTable<'_>, key: &str, kind: DependencyKind) {
        self.poetry_table(table(root, &["tool", "poetry", key]), kind, None);
    }

    fn poetry_table(
        &mut self,
        dependencies: Option<&DeTable<'_>>,
        kind: DependencyKind,
        group: Option<&str>,
    ) {
        for entry in entries(dependencies) {
            if entry.key == "python" {
                continue;
            }
            let table = entry.value.as_table();
            let version = entry.value.as_str().map(str::to_owned);
            self.found.push(Dependency {
                group: group.map(str::to_owned),
                requirement: version.or_else(|| text(table, "version")),
                optional: flag(table, "optional"),
                source: source(table),
                ..Dependency::new(entry.key, kind, self.lines.at(entry.at))
            });
        }
    }

    /// Reads from where uv takes what is declared elsewhere.
    fn sources(&mut self, sources: Option<&DeTable<'_>>) {
        let sources: HashMap<String, DependencySource> = entries(sources)
            .into_iter()
            .map(|entry| {
                (
                    python_name(entry.key),
                    source(DeValue::as_table(entry.value)),
                )
            })
            .collect();
        for found in &mut self.found {
            if let Some(source) = sources.get(&python_name(&found.name)) {
                found.source = source.clone();
            }
        }
    }
}

/// Reads a `setup.cfg`.
pub(super) fn read_setup(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::Python, path, Settings::Plain);
    let (mut section, mut key) = ("", "");
    for (line, number) in text.lines().zip(1..) {
        let mut value = line.trim();
        if value.is_empty() || value.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = value
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            (section, key) = (name, "");
            continue;
        }
        if !line.starts_with([' ', '\t'])
            && let Some((name, rest)) = value.split_once('=')
        {
            (key, value) = (name.trim(), rest.trim());
        }
        let kind = match (section, key) {
            ("metadata", "name") => {
                manifest.name = Some(value.to_owned());
                continue;
            }
            ("metadata", "version") => {
                manifest.version = Some(value.to_owned());
                continue;
            }
            ("options", "install_requires") => DependencyKind::Runtime,
            ("options", "setup_requires") => DependencyKind::Build,
            ("options", "tests_require") => DependencyKind::Dev,
            ("options.extras_require", _) => DependencyKind::Optional,
            _ => continue,
        };
        // The file that a list may be read from is a manifest of its own.
        if value.starts_with("file:") {
            continue;
        }
        if let Some(mut found) = requirement(value, kind, number) {
            let is_extra = kind == DependencyKind::Optional;
            found.group = is_extra.then(|| key.to_owned());
            manifest.dependencies.push(found);
        }
    }
    manifest
}
