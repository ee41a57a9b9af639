//! Requirements of Python: `requirements.txt`, and PEP 508.

use super::model::{Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, Settings};

/// Returns a name of Python's packages in the form in which they are compared, as
/// <https://packaging.python.org/en/latest/specifications/name-normalization/> says.
pub fn python_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    parts.join("-").to_ascii_lowercase()
}

/// Reads a file of requirements.
pub(super) fn read(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::Python, path, Settings::Plain);
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let is_of_development = ["dev", "test", "lint", "docs", "ci"]
        .iter()
        .any(|word| name.contains(word));
    let kind = if is_of_development {
        DependencyKind::Dev
    } else if text.contains("# via ") {
        // pip-compile lists what its dependencies need as well, each with what needs it.
        DependencyKind::Indirect
    } else {
        DependencyKind::Runtime
    };
    let mut is_continued = false;
    for (line, number) in text.lines().zip(1..) {
        let is_part = std::mem::replace(&mut is_continued, line.ends_with('\\'));
        let line = line.split(" #").next().unwrap_or(line);
        let line = line.split(" --").next().unwrap_or(line);
        let line = line.trim_end_matches('\\').trim();
        let editable = line
            .strip_prefix("-e ")
            .or_else(|| line.strip_prefix("--editable "));
        // Other options choose files and indexes.
        if is_part || (line.starts_with(['-', '#']) && editable.is_none()) {
            continue;
        }
        let wanted = editable.unwrap_or(line).trim();
        let scheme = wanted.split_once("://").map(|(scheme, _)| scheme);
        let is_address = scheme.is_some_and(|scheme| !scheme.contains('@'));
        let found = if editable.is_some() || is_address || wanted.starts_with(['.', '/']) {
            place(wanted, kind, number)
        } else {
            requirement(wanted, kind, number)
        };
        manifest.dependencies.extend(found);
    }
    manifest
}

/// Reads a folder or an address, which names itself in a fragment, or by its last part.
fn place(place: &str, kind: DependencyKind, line: usize) -> Option<Dependency> {
    let named = place.split_once("#egg=").map(|(_, name)| name);
    let last = place.trim_end_matches('/').rsplit('/').next();
    let mut found = requirement(named.or(last)?, kind, line)?;
    found.name = found.name.trim_end_matches(".git").to_owned();
    found.source = if place.contains("://") {
        source_of(place)
    } else {
        DependencySource::Path(place.to_owned())
    };
    Some(found)
}

fn source_of(address: &str) -> DependencySource {
    if address.starts_with("git+") {
        DependencySource::Git(address.to_owned())
    } else {
        DependencySource::Url(address.to_owned())
    }
}

/// Reads a requirement of PEP 508; `None` if it names nothing.
pub(super) fn requirement(text: &str, kind: DependencyKind, line: usize) -> Option<Dependency> {
    let (wanted, marker) = text.split_once(';').unwrap_or((text, ""));
    let wanted = wanted.trim();
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let (name, rest) = wanted.split_at(wanted.find(|c| !is_in_name(c)).unwrap_or(wanted.len()));
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut found = Dependency::new(name, kind, line);
    let mut rest = rest.trim();
    if let Some((extras, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let extras = extras.split(',').map(|extra| extra.trim().to_owned());
        found.features = extras.collect();
        rest = after.trim();
    }
    if let Some(address) = rest.strip_prefix('@') {
        found.source = source_of(address.trim());
    } else {
        let version = rest.trim_matches(['(', ')', ' ']);
        found.requirement = Some(version.to_owned()).filter(|version| !version.is_empty());
    }
    found.target = Some(marker.trim().to_owned()).filter(|marker| !marker.is_empty());
    Some(found)
}
