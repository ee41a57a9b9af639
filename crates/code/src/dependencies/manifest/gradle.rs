//! The version catalogs of Gradle, and the plain declarations of `build.gradle` and
//! `build.gradle.kts`.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, GradleCatalog, Manifest,
    ManifestError, Settings,
};
use super::toml_file::{entries, parse, table, text, texts};

/// The configurations of Gradle, each with what its dependencies are needed for.
const CONFIGURATIONS: [(&str, DependencyKind); 12] = [
    ("implementation", DependencyKind::Runtime),
    ("api", DependencyKind::Runtime),
    ("compile", DependencyKind::Runtime),
    ("runtimeOnly", DependencyKind::Runtime),
    ("compileOnly", DependencyKind::Build),
    ("annotationProcessor", DependencyKind::Build),
    ("kapt", DependencyKind::Build),
    ("ksp", DependencyKind::Build),
    ("testImplementation", DependencyKind::Dev),
    ("testCompile", DependencyKind::Dev),
    ("testRuntimeOnly", DependencyKind::Dev),
    ("androidTestImplementation", DependencyKind::Dev),
];
/// What may be around a dependency to say how it is used.
const WRAPPERS: [&str; 3] = ["platform", "enforcedPlatform", "testFixtures"];
/// How the name of a file of a catalog ends; what is before it is the catalog's name.
const CATALOG_ENDING: &str = ".versions.toml";

/// Reports whether a file is a catalog by its name.
pub(super) fn is_catalog(name: &str) -> bool {
    name.strip_suffix(CATALOG_ENDING)
        .is_some_and(|name| !name.is_empty())
}

/// Reads the plain declarations of a script: `implementation("group:artifact:version")`,
/// `api(project(":name"))` and `implementation(libs.some.name)`.
pub(super) fn read_script(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::Gradle, path, Settings::Plain);
    for (line, number) in text.lines().zip(1..) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (word, rest) = first_word(line);
        let rest = rest.trim_start();
        if matches!(word, "group" | "version")
            && rest.starts_with('=')
            && let Some(value) = quoted(rest)
        {
            match word {
                "group" => manifest.name = Some(value.to_owned()),
                _ => manifest.version = Some(value.to_owned()),
            }
        }
        if let Some((_, kind)) = CONFIGURATIONS.iter().find(|(name, _)| *name == word) {
            manifest
                .dependencies
                .extend(declaration(rest, *kind, number));
        }
    }
    // The coordinates of a Gradle project end with the name of its folder.
    let folder = path.rsplit('/').nth(1);
    manifest.name = match (manifest.name.take(), folder) {
        (Some(group), Some(folder)) => Some(format!("{group}:{folder}")),
        (None, Some(folder)) => Some(folder.to_owned()),
        (group, None) => group,
    };
    manifest
}

/// Returns what a configuration is given.
fn declaration(given: &str, kind: DependencyKind, line: usize) -> Option<Dependency> {
    let mut inner = given.trim_start_matches(['(', ' ']);
    if let (wrapper, rest) = first_word(inner)
        && WRAPPERS.contains(&wrapper)
    {
        inner = rest.trim_start_matches(['(', ' ']);
    }
    let (word, rest) = first_word(inner);
    if word == "project" {
        let mut found = Dependency::new(quoted(rest)?, kind, line);
        found.source = DependencySource::Path(found.name.trim_start_matches(':').replace(':', "/"));
        return Some(found);
    }
    if !word.is_empty() && rest.starts_with('.') {
        let accessor = inner
            .split(|c: char| !is_in_name(c))
            .next()
            .unwrap_or_default()
            .trim_end_matches('.');
        let accessor = accessor.strip_suffix(".get").unwrap_or(accessor);
        let found = Dependency::new(accessor, kind, line);
        return Some(Dependency {
            source: DependencySource::Workspace,
            ..found
        });
    }
    let mut parts = quoted(inner)?.split(':');
    let (group, artifact) = (parts.next()?, parts.next()?);
    let mut found = Dependency::new(format!("{group}:{artifact}"), kind, line);
    found.requirement = parts.next().map(str::to_owned);
    Some(found)
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_')
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Returns the first quoted text.
fn quoted(text: &str) -> Option<&str> {
    let begin = text.find(['"', '\''])?;
    let quote = text.get(begin..begin + 1)?;
    text.get(begin + 1..)?
        .split_once(quote)
        .map(|(inside, _)| inside)
}

/// Reads a version catalog.
pub(super) fn read_catalog(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let root = parse(text, &Lines::from_text(text))?;
    let name = path
        .rsplit('/')
        .next()
        .and_then(|name| name.strip_suffix(CATALOG_ENDING))
        .unwrap_or_default();
    let mut catalog = GradleCatalog {
        name: name.to_owned(),
        ..GradleCatalog::default()
    };
    let versions = table(&root, &["versions"]).map(entries).unwrap_or_default();
    let versions: BTreeMap<&str, String> = versions
        .into_iter()
        .filter_map(|(name, _, value)| Some((name, version(value)?)))
        .collect();
    for (alias, _, value) in table(&root, &["libraries"])
        .map(entries)
        .unwrap_or_default()
    {
        if let Some(library) = library(value, &versions) {
            catalog.libraries.insert(accessor(alias), library);
        }
    }
    if let Some(bundles) = table(&root, &["bundles"]) {
        for (alias, ..) in entries(bundles) {
            let members = texts(bundles, alias)
                .iter()
                .map(|member| accessor(member))
                .collect();
            catalog.bundles.insert(accessor(alias), members);
        }
    }
    Ok(Manifest::new(
        Ecosystem::Gradle,
        path,
        Settings::Gradle(catalog),
    ))
}

/// Returns the form in which a script names an alias.
fn accessor(alias: &str) -> String {
    alias.replace(['-', '_'], ".")
}

/// Returns the coordinates of a library, and its version.
fn library(
    value: &DeValue<'_>,
    versions: &BTreeMap<&str, String>,
) -> Option<(String, Option<String>)> {
    if let Some(coordinates) = value.as_str() {
        let mut parts = coordinates.split(':');
        let (group, artifact) = (parts.next()?, parts.next()?);
        return Some((
            format!("{group}:{artifact}"),
            parts.next().map(str::to_owned),
        ));
    }
    let library = value.as_table()?;
    let apart = || {
        Some(format!(
            "{}:{}",
            text(library, "group")?,
            text(library, "name")?
        ))
    };
    let name = text(library, "module").or_else(apart)?;
    let named = library.get("version").map(|version| version.get_ref());
    let shared = named
        .and_then(DeValue::as_table)
        .and_then(|version: &DeTable<'_>| text(version, "ref"));
    let version = match shared {
        Some(shared) => versions.get(shared.as_str()).cloned(),
        None => named.and_then(version),
    };
    Some((name, version))
}

/// Returns a version: a text, or a table that says how exactly it is meant.
fn version(value: &DeValue<'_>) -> Option<String> {
    value
        .as_str()
        .map(str::to_owned)
        .or_else(|| value.as_table().and_then(rich_version))
}

fn rich_version(version: &DeTable<'_>) -> Option<String> {
    ["strictly", "require", "prefer"]
        .iter()
        .find_map(|key| text(version, key))
}

impl GradleCatalog {
    /// Returns the libraries that an accessor such as `libs.some.name` or `libs.bundles.some`
    /// names, each with its version; none if it is not one of this catalog.
    pub(crate) fn libraries<'c>(
        &'c self,
        accessor: &str,
    ) -> impl Iterator<Item = &'c (String, Option<String>)> {
        let alias = accessor
            .strip_prefix(self.name.as_str())
            .and_then(|rest| rest.strip_prefix('.'));
        let bundle = alias.and_then(|alias| self.bundles.get(alias.strip_prefix("bundles.")?));
        let single = alias
            .filter(|_| bundle.is_none())
            .and_then(|alias| self.libraries.get(alias));
        let members = bundle
            .into_iter()
            .flatten()
            .filter_map(|member| self.libraries.get(member));
        single.into_iter().chain(members)
    }
}
