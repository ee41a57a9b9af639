//! `package.json` and `tsconfig.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json_file::Json;
use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError, NpmSettings,
    Settings, TsConfig,
};

const SECTIONS: [(&str, DependencyKind); 4] = [
    ("dependencies", DependencyKind::Runtime),
    ("devDependencies", DependencyKind::Dev),
    ("optionalDependencies", DependencyKind::Optional),
    ("peerDependencies", DependencyKind::Peer),
];
/// Maximum number of texts of a manifest that are searched for names of packages.
const MAX_TEXTS: usize = 10_000;

/// Reads a `package.json`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let json = Json::parse(text)?;
    let mut manifest = Manifest::new(Ecosystem::Npm, path, Settings::Npm(settings(&json)));
    manifest.name = json.text("name").map(str::to_owned);
    manifest.version = json.text("version").map(str::to_owned);
    for (section, kind) in SECTIONS {
        for (name, requirement, line) in json.texts_of(section) {
            manifest
                .dependencies
                .push(specified(name, requirement, kind, line));
        }
    }
    Ok(manifest)
}

/// Returns a dependency by how a `package.json` specifies it.
pub(crate) fn specified(
    name: &str,
    requirement: &str,
    kind: DependencyKind,
    line: usize,
) -> Dependency {
    let mut found = Dependency::new(name, kind, line);
    found.requirement = Some(requirement.to_owned());
    if let Some((protocol, rest)) = requirement.split_once(':') {
        match protocol {
            "workspace" => found.source = DependencySource::Workspace,
            "file" | "link" | "portal" => found.source = DependencySource::Path(rest.to_owned()),
            "npm" => {
                // `npm:real@^1`, where the name of a scoped package has an `@` of its own.
                let (real, version) = match rest.char_indices().skip(1).find(|(_, c)| *c == '@') {
                    Some((at, _)) => rest.split_at(at),
                    None => (rest, ""),
                };
                found.alias = Some(name.to_owned());
                found.name = real.to_owned();
                found.requirement = Some(version.trim_start_matches('@').to_owned());
            }
            "http" | "https" => found.source = DependencySource::Url(requirement.to_owned()),
            _ if protocol.starts_with("git") => {
                found.source = DependencySource::Git(requirement.to_owned())
            }
            _ => {}
        }
    }
    found
}

fn settings(json: &Json) -> NpmSettings {
    let mut settings = NpmSettings::default();
    let workspaces = json.root.get("workspaces");
    let workspaces = workspaces
        .and_then(|value| value.get("packages").or(Some(value)))
        .and_then(Value::as_array);
    let folders = workspaces.into_iter().flatten().filter_map(Value::as_str);
    settings.workspaces = folders.map(str::to_owned).collect();
    for (key, value) in json.root.get("exports").map(subpaths).unwrap_or_default() {
        if key == "." {
            settings.entries.push(value);
        } else if !key.contains('*') {
            settings
                .exports
                .insert(key.trim_start_matches("./").to_owned(), value);
        }
    }
    for key in ["source", "module", "main", "types", "typings"] {
        settings.entries.extend(json.text(key).map(str::to_owned));
    }
    settings.imports = json.root.get("imports").map(subpaths).unwrap_or_default();
    let scripts = json
        .texts_of("scripts")
        .into_iter()
        .flat_map(|(_, script, _)| words(script));
    settings.script_words = scripts.collect();
    let mut pending: Vec<&Value> = json
        .root
        .iter()
        .filter(|(key, _)| !is_known(key))
        .map(|(_, value)| value)
        .collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if settings.texts.len() < MAX_TEXTS => {
                settings.texts.push(text.clone())
            }
            Value::Array(values) => pending.extend(values),
            Value::Object(object) => {
                settings.texts.extend(object.keys().cloned());
                pending.extend(object.values());
            }
            _ => {}
        }
    }
    settings
}

fn is_known(key: &str) -> bool {
    SECTIONS.iter().any(|(section, _)| *section == key) || key == "name" || key == "scripts"
}

/// Returns the subpaths of `exports` or `imports`, each with the first file that a condition names.
fn subpaths(value: &Value) -> BTreeMap<String, String> {
    match value {
        Value::Object(object) if object.keys().any(|key| key.starts_with(['.', '#'])) => object
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), first_text(value)?)))
            .collect(),
        _ => first_text(value)
            .map(|file| (".".to_owned(), file))
            .into_iter()
            .collect(),
    }
}

/// Returns the first text in a value of nested conditions.
fn first_text(value: &Value) -> Option<String> {
    let mut value = value;
    loop {
        value = match value {
            Value::String(text) => return Some(text.clone()),
            Value::Array(values) => values.first()?,
            Value::Object(object) => object.values().next()?,
            _ => return None,
        };
    }
}

/// Returns the words of a command that may be names of programs or packages.
fn words(script: &str) -> Vec<String> {
    script
        .split(is_separator)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '&' | '|' | ';' | '(' | ')' | ',')
}

/// Reads a `tsconfig.json`.
pub(super) fn read_config(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let json = Json::parse(text)?;
    let extends = match json.root.get("extends") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    let options = json.root.get("compilerOptions");
    let base = options
        .and_then(|options| options.get("baseUrl"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let paths = options
        .and_then(|options| options.get("paths"))
        .and_then(Value::as_object);
    let paths = paths.into_iter().flatten().map(|(pattern, places)| {
        let places = places
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        (pattern.clone(), places.map(str::to_owned).collect())
    });
    let config = TsConfig {
        extends,
        base,
        paths: paths.collect(),
    };
    Ok(Manifest::new(
        Ecosystem::Npm,
        path,
        Settings::TsConfig(config),
    ))
}
