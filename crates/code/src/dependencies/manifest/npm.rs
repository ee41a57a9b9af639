//! `package.json`, `tsconfig.json` and `pnpm-workspace.yaml`.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Object, Value};
use serde::Deserialize;

use super::super::place::name_of;
use super::json_file::{parse, text, texts};
use super::model::{
    Alias, Dependency, DependencyKind, DependencySource, Ecosystem, Lines, Manifest, ManifestError,
    NpmSettings, Settings, TsConfig,
};

const SECTIONS: [(&str, DependencyKind); 4] = [
    ("dependencies", DependencyKind::Runtime),
    ("devDependencies", DependencyKind::Dev),
    ("optionalDependencies", DependencyKind::Optional),
    ("peerDependencies", DependencyKind::Peer),
];
/// Maximum number of aliases in YAML, each of which may repeat a large text.
const MAX_ALIASES: usize = 10;
/// Maximum number of texts of a value.
const MAX_TEXTS: usize = 10_000;

/// Reads a `package.json`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let (root, lines) = (parse(text)?, Lines::from_text(text));
    let mut manifest = Manifest::new(Ecosystem::Npm, path, Settings::Npm(settings(&root)));
    manifest.name = self::text(&root, "name");
    manifest.version = self::text(&root, "version");
    for (section, kind) in SECTIONS {
        let section = root.get_object(section);
        for one in section.into_iter().flat_map(|section| &section.properties) {
            if let Value::StringLit(requirement) = &one.value {
                let line = lines.at(one.range.start);
                let found = Dependency::new(one.name.as_str(), kind, line);
                manifest
                    .dependencies
                    .push(specified(found, &requirement.value));
            }
        }
    }
    if let Some(workspaces) = root.get("workspaces") {
        let packages = workspaces
            .value
            .as_object()
            .and_then(|one| one.get("packages"));
        let members = packages.unwrap_or(workspaces);
        manifest.members = Some(texts(&members.value, MAX_TEXTS));
    }
    Ok(manifest)
}

/// Returns a dependency as its requirement specifies it.
fn specified(mut found: Dependency, requirement: &str) -> Dependency {
    found.requirement = Some(requirement.to_owned());
    match requirement.split_once(':') {
        Some(("workspace", _)) => found.source = DependencySource::Workspace,
        Some(("file" | "link" | "portal", folder)) => {
            found.source = DependencySource::Path(folder.to_owned());
        }
        Some(("npm", real)) => {
            // `npm:real@^1`, where the name of a scoped package has an `@` of its own.
            let version = real.rfind('@').filter(|at| *at > 0).unwrap_or(real.len());
            let (name, version) = real.split_at(version);
            found.requirement = Some(version.trim_start_matches('@').to_owned());
            found.alias = Some(std::mem::replace(&mut found.name, name.to_owned()));
        }
        Some(("http" | "https", _)) => {
            found.source = DependencySource::Url(requirement.to_owned());
        }
        Some((protocol, _)) if protocol.starts_with("git") => {
            found.source = DependencySource::Git(requirement.to_owned());
        }
        _ => {}
    }
    found
}

fn settings(root: &Object<'_>) -> NpmSettings {
    let mut settings = NpmSettings::default();
    if let Some(exports) = root.get("exports") {
        // The first file for the package itself.
        let own = exports.value.as_object().and_then(|paths| paths.get("."));
        settings.entries = texts(&own.unwrap_or(exports).value, 1);
    }
    for key in ["source", "module", "main", "types", "typings"] {
        settings.entries.extend(text(root, key));
    }
    settings.imports = aliases(root.get_object("imports"), 1);
    settings.texts = words(root);
    settings
}

/// Returns the words that may name a program or a plugin: of scripts, and of what configures tools.
fn words(root: &Object<'_>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for one in &root.properties {
        let key = one.name.as_str();
        if key == "name" || SECTIONS.iter().any(|(section, _)| *section == key) {
            continue;
        }
        words.insert(key.to_owned());
        for text in texts(&one.value, MAX_TEXTS) {
            for word in text.split(is_separator) {
                if words.len() >= MAX_TEXTS {
                    return words;
                }
                // A program may be named with its folder.
                words.insert(name_of(word).to_owned());
                words.insert(word.to_owned());
            }
        }
    }
    words
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '&' | '|' | ';' | '(' | ')' | ',')
}

/// Returns what patterns stand for, up to `most` places each.
fn aliases(patterns: Option<&Object<'_>>, most: usize) -> Vec<Alias> {
    let patterns = patterns.into_iter().flat_map(|object| &object.properties);
    patterns
        .map(|one| Alias {
            pattern: one.name.as_str().to_owned(),
            places: texts(&one.value, most),
        })
        .collect()
}

/// Reads a `tsconfig.json`.
pub(super) fn read_config(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let root = parse(text)?;
    let mut config = TsConfig::default();
    if let Some(extends) = root.get("extends") {
        config.extends = texts(&extends.value, MAX_TEXTS);
    }
    if let Some(options) = root.get_object("compilerOptions") {
        config.base = self::text(options, "baseUrl");
        config.paths = aliases(options.get_object("paths"), MAX_TEXTS);
    }
    let settings = Settings::TsConfig(config);
    Ok(Manifest::new(Ecosystem::Npm, path, settings))
}

#[derive(Deserialize)]
struct PnpmWorkspace {
    #[serde(default)]
    packages: Vec<String>,
}

/// Reads the members of a `pnpm-workspace.yaml`.
pub(super) fn read_pnpm(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: MAX_ALIASES }
    };
    let read = serde_saphyr::from_str_with_options::<PnpmWorkspace>(text, options);
    let workspace = read.map_err(|error| ManifestError {
        line: error
            .location()
            .and_then(|location| usize::try_from(location.line()).ok())
            .unwrap_or(1),
        message: error.without_snippet().to_string(),
    })?;
    Ok(Manifest {
        members: Some(workspace.packages),
        ..Manifest::new(Ecosystem::Npm, path, Settings::Workspace)
    })
}
