//! `go.mod` and `go.work`.

use std::collections::BTreeMap;

use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError, Settings,
};

/// Reads a `go.mod`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let mut manifest = Manifest::new(Ecosystem::Go, path, Settings::Plain);
    let (mut replaced, mut tools) = (BTreeMap::new(), Vec::new());
    for directive in directives(text)? {
        let line = directive.line;
        match (directive.verb, directive.words.as_slice()) {
            ("module", [module, ..]) => manifest.name = Some((*module).to_owned()),
            ("require", [module, version, ..]) => {
                let kind = if directive.is_indirect {
                    DependencyKind::Indirect
                } else {
                    DependencyKind::Runtime
                };
                let mut found = Dependency::new(*module, kind, line);
                found.requirement = Some((*version).to_owned());
                manifest.dependencies.push(found);
            }
            ("require", [_]) => {
                let message = "`require` without a version".to_owned();
                return Err(ManifestError { line, message });
            }
            // `module [version] => ./folder`; other modules may take its place as well.
            ("replace", [module, words @ ..]) => {
                if let Some(folder) = words.iter().find(|word| word.starts_with('.')) {
                    replaced.insert((*module).to_owned(), (*folder).to_owned());
                }
            }
            ("tool", [tool, ..]) => tools.push((*tool).to_owned()),
            _ => {}
        }
    }
    if manifest.name.is_none() {
        let message = "no `module`".to_owned();
        return Err(ManifestError { line: 1, message });
    }
    for found in &mut manifest.dependencies {
        if let Some(folder) = replaced.get(&found.name) {
            found.source = DependencySource::Path(folder.clone());
        }
    }
    manifest.settings = Settings::Go { replaced, tools };
    Ok(manifest)
}

/// Reads the members of a `go.work`.
pub(super) fn read_workspace(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let directives = directives(text)?.into_iter();
    let used = directives.filter(|directive| directive.verb == "use");
    let folders = used.filter_map(|directive| directive.words.first().copied());
    Ok(Manifest {
        members: Some(folders.map(str::to_owned).collect()),
        ..Manifest::new(Ecosystem::Go, path, Settings::Workspace)
    })
}

/// A line of a file, or of a block of it.
struct Directive<'t> {
    verb: &'t str,
    words: Vec<&'t str>,
    is_indirect: bool,
    /// Its number, from 1.
    line: usize,
}

fn directives(text: &str) -> Result<Vec<Directive<'_>>, ManifestError> {
    let mut found = Vec::new();
    let mut block: Option<(&str, usize)> = None;
    for (text, line) in text.lines().zip(1..) {
        let (code, comment) = text.split_once("//").unwrap_or((text, ""));
        let code = code.trim();
        if code == ")" {
            block = None;
            continue;
        }
        if let Some(verb) = code.strip_suffix('(') {
            block = Some((verb.trim(), line));
            continue;
        }
        let mut words = code
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '`']));
        let verb = match block {
            Some((verb, _)) => Some(verb),
            None => words.next(),
        };
        if let Some(verb) = verb {
            found.push(Directive {
                verb,
                words: words.collect(),
                is_indirect: comment.trim().starts_with("indirect"),
                line,
            });
        }
    }
    match block {
        Some((verb, line)) => Err(ManifestError {
            line,
            message: format!("`{verb} (` has no end"),
        }),
        None => Ok(found),
    }
}
