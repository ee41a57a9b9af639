//! `pyproject.toml`, `requirements.txt` and `setup.cfg`.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError,
    PythonSettings, Settings,
};
use super::toml_file::{entries, flag, parse, placed_texts, table, text, texts};

/// Reads a `pyproject.toml`: PEP 621 and 735, poetry and uv.
pub(super) fn read_project(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let lines = Lines::from_text(text);
    let root = parse(text, &lines)?;
    let mut reader = Reader {
        lines: &lines,
        found: Vec::new(),
    };
    let project = table(&root, &["project"]);
    if let Some(project) = project {
        reader.array(project, "dependencies", DependencyKind::Runtime, None);
        reader.groups(
            table(project, &["optional-dependencies"]),
            DependencyKind::Optional,
        );
    }
    reader.groups(table(&root, &["dependency-groups"]), DependencyKind::Dev);
    if let Some(build) = table(&root, &["build-system"]) {
        reader.array(build, "requires", DependencyKind::Build, None);
    }
    let poetry = table(&root, &["tool", "poetry"]);
    if let Some(poetry) = poetry {
        reader.poetry(
            table(poetry, &["dependencies"]),
            DependencyKind::Runtime,
            None,
        );
        reader.poetry(
            table(poetry, &["dev-dependencies"]),
            DependencyKind::Dev,
            None,
        );
        for (group, _, value) in table(poetry, &["group"]).map(entries).unwrap_or_default() {
            let dependencies = value
                .as_table()
                .and_then(|group| table(group, &["dependencies"]));
            reader.poetry(dependencies, DependencyKind::Dev, Some(group));
        }
    }
    if let Some(uv) = table(&root, &["tool", "uv"]) {
        reader.array(uv, "dev-dependencies", DependencyKind::Dev, None);
        reader.sources(table(uv, &["sources"]));
    }
    let (name, version) = match (project, poetry) {
        (Some(project), _) => (self::text(project, "name"), self::text(project, "version")),
        (None, Some(poetry)) => (self::text(poetry, "name"), self::text(poetry, "version")),
        (None, None) => (None, None),
    };
    let settings = settings(&root);
    Ok(Manifest {
        name,
        version,
        dependencies: reader.found,
        ..Manifest::new(Ecosystem::Python, path, settings)
    })
}

fn settings(root: &DeTable<'_>) -> Settings {
    let members =
        table(root, &["tool", "uv", "workspace"]).map(|workspace| texts(workspace, "members"));
    let mut folders = Vec::new();
    if let Some(find) = table(root, &["tool", "setuptools", "packages", "find"]) {
        folders.extend(texts(find, "where"));
    }
    if let Some(table) = table(root, &["tool", "setuptools", "package-dir"]) {
        folders.extend(
            entries(table)
                .into_iter()
                .filter_map(|(_, _, value)| value.as_str().map(str::to_owned)),
        );
    }
    if let Some(pytest) = table(root, &["tool", "pytest", "ini_options"]) {
        folders.extend(texts(pytest, "pythonpath"));
    }
    // Each table below `tool` configures a program, which may be a dependency that nothing imports.
    let tools = table(root, &["tool"]).map(entries).unwrap_or_default();
    let used_elsewhere = tools
        .into_iter()
        .map(|(name, ..)| name.to_owned())
        .collect();
    let members = members.unwrap_or_default();
    Settings::Python(PythonSettings {
        members,
        folders,
        used_elsewhere,
        is_computed: false,
    })
}

struct Reader<'l> {
    lines: &'l Lines,
    found: Vec<Dependency>,
}

impl Reader<'_> {
    fn array(&mut self, table: &DeTable<'_>, key: &str, kind: DependencyKind, group: Option<&str>) {
        for (text, at) in placed_texts(table, key) {
            if let Some(found) = requirement(&text, kind, self.lines.at(at)) {
                self.found.push(Dependency {
                    group: group.map(str::to_owned),
                    ..found
                });
            }
        }
    }

    fn groups(&mut self, groups: Option<&DeTable<'_>>, kind: DependencyKind) {
        for (name, ..) in groups.map(entries).unwrap_or_default() {
            if let Some(groups) = groups {
                self.array(groups, name, kind, Some(name));
            }
        }
    }

    fn poetry(
        &mut self,
        dependencies: Option<&DeTable<'_>>,
        kind: DependencyKind,
        group: Option<&str>,
    ) {
        for (name, at, value) in dependencies.map(entries).unwrap_or_default() {
            if name == "python" {
                continue;
            }
            let mut found = Dependency::new(name, kind, self.lines.at(at));
            found.group = group.map(str::to_owned);
            match value {
                DeValue::String(version) => found.requirement = Some(version.to_string()),
                DeValue::Table(table) => {
                    found.requirement = text(table, "version");
                    found.optional = flag(table, "optional");
                    found.source = source(table);
                }
                _ => {}
            }
            self.found.push(found);
        }
    }

    /// Reads from where uv takes what is declared elsewhere.
    fn sources(&mut self, sources: Option<&DeTable<'_>>) {
        let sources = sources.map(entries).unwrap_or_default().into_iter();
        let sources: HashMap<String, DependencySource> = sources
            .filter_map(|(name, _, value)| Some((normalized(name), source(value.as_table()?))))
            .collect();
        for found in &mut self.found {
            if let Some(source) = sources.get(&normalized(&found.name)) {
                found.source = source.clone();
            }
        }
    }
}

fn source(table: &DeTable<'_>) -> DependencySource {
    let shared = if flag(table, "workspace") {
        Some(DependencySource::Workspace)
    } else {
        None
    };
    let path = text(table, "path").map(DependencySource::Path);
    let git = text(table, "git").map(DependencySource::Git);
    let url = text(table, "url").map(DependencySource::Url);
    shared.or(path).or(git).or(url).unwrap_or_default()
}

/// Returns a name in the form in which distributions are compared.
pub(crate) fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

/// Reads a requirement of PEP 508; `None` if it names nothing.
pub(super) fn requirement(text: &str, kind: DependencyKind, line: usize) -> Option<Dependency> {
    let (wanted, marker) = match text.split_once(';') {
        Some((wanted, marker)) => (wanted, Some(marker.trim())),
        None => (text, None),
    };
    let wanted = wanted.trim();
    let end = wanted
        .find(|c: char| !is_in_name(c))
        .unwrap_or(wanted.len());
    let (name, rest) = wanted.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut found = Dependency::new(name, kind, line);
    let mut rest = rest.trim();
    if let Some((extras, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        found.features = extras
            .split(',')
            .map(|extra| extra.trim().to_owned())
            .collect();
        rest = after.trim();
    }
    match rest.strip_prefix('@').map(str::trim) {
        Some(url) if url.starts_with("git+") => {
            found.source = DependencySource::Git(url.to_owned())
        }
        Some(url) => found.source = DependencySource::Url(url.to_owned()),
        None => {
            let version = rest.trim_start_matches('(').trim_end_matches(')').trim();
            found.requirement = if version.is_empty() {
                None
            } else {
                Some(version.to_owned())
            };
        }
    }
    found.target = marker
        .filter(|marker| !marker.is_empty())
        .map(str::to_owned);
    Some(found)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Reads a file of requirements.
pub(super) fn read_requirements(path: &str, text: &str) -> Manifest {
    let kind = match path.rsplit('/').next() {
        Some(name)
            if ["dev", "test", "lint", "docs", "ci"]
                .iter()
                .any(|word| name.contains(word)) =>
        {
            DependencyKind::Dev
        }
        // pip-compile lists what its dependencies need as well, each with what needs it.
        _ if text.contains("# via ") => DependencyKind::Indirect,
        _ => DependencyKind::Runtime,
    };
    let (mut dependencies, mut includes) = (Vec::new(), Vec::new());
    for (number, line) in joined_lines(text) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let word = |option: &str| {
            let rest = line.strip_prefix(option)?;
            let value = rest.strip_prefix(['=', ' ', '\t'])?;
            Some(value.trim().to_owned())
        };
        if let Some(file) = word("-r").or_else(|| word("--requirement")) {
            includes.push(file);
        } else if let Some(place) = word("-e").or_else(|| word("--editable")) {
            dependencies.extend(editable(&place, kind, number));
        } else if !line.is_empty() && !line.starts_with(['#', '-']) {
            let wanted = line.split(" --").next().unwrap_or_default().trim();
            let read = if is_place(wanted) {
                editable
            } else {
                requirement
            };
            dependencies.extend(read(wanted, kind, number));
        }
    }
    let settings = Settings::Requirements { includes };
    Manifest {
        dependencies,
        ..Manifest::new(Ecosystem::Python, path, settings)
    }
}

/// Reports whether a requirement is a folder or an address without a name.
fn is_place(wanted: &str) -> bool {
    let first = wanted.split(char::is_whitespace).next().unwrap_or_default();
    let scheme = first.split_once("://").map(|(scheme, _)| scheme);
    first.starts_with(['.', '/']) || scheme.is_some_and(|scheme| !scheme.contains('@'))
}

/// Reads what is installed from its sources: a folder has no name before it is read.
fn editable(place: &str, kind: DependencyKind, line: usize) -> Option<Dependency> {
    let name = place.split_once("#egg=").map(|(_, name)| name);
    let folder = place.trim_end_matches('/').rsplit('/').next()?;
    let name = name
        .unwrap_or(folder)
        .split(['[', '&', '@'])
        .next()?
        .trim_end_matches(".git");
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut found = Dependency::new(name, kind, line);
    found.source = if place.starts_with("git+") {
        DependencySource::Git(place.to_owned())
    } else if place.contains("://") {
        DependencySource::Url(place.to_owned())
    } else {
        DependencySource::Path(place.to_owned())
    };
    Some(found)
}

/// Returns the lines of a text, each with its number; a `\` at the end joins a line with the next
/// one.
fn joined_lines(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut open): (Vec<(usize, String)>, bool) = (Vec::new(), false);
    for (line, number) in text.lines().zip(1..) {
        let (part, continues) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some((_, last)) if open => last.push_str(part),
            _ => lines.push((number, part.to_owned())),
        }
        open = continues;
    }
    lines
}

/// Reads a `setup.cfg`.
pub(super) fn read_setup(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(
        Ecosystem::Python,
        path,
        Settings::Python(PythonSettings::default()),
    );
    let (mut section, mut key) = ("", String::new());
    for (line, number) in text.lines().zip(1..) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name;
            key.clear();
            continue;
        }
        let mut value = trimmed;
        if !line.starts_with([' ', '\t'])
            && let Some((name, rest)) = trimmed.split_once('=')
        {
            key = name.trim().to_owned();
            value = rest.trim();
        }
        let kind = match (section, key.as_str()) {
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
        let group = if section == "options.extras_require" {
            Some(key.clone())
        } else {
            None
        };
        let found = requirement(value, kind, number);
        manifest
            .dependencies
            .extend(found.map(|found| Dependency { group, ..found }));
    }
    manifest
}
