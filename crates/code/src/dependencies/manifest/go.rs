//! `go.mod` and `go.work`.

use std::collections::BTreeMap;

use super::model::{
    Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError, Settings,
};

/// Reads a `go.mod`.
pub(super) fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let (mut name, mut dependencies, mut tools) = (None, Vec::new(), Vec::new());
    let mut replaced: BTreeMap<String, String> = BTreeMap::new();
    for Directive {
        verb,
        words,
        comment,
        line,
    } in directives(text)?
    {
        match (verb, words.as_slice()) {
            ("module", [module, ..]) => name = Some((*module).to_owned()),
            ("require", [module, version, ..]) => {
                let is_indirect = comment.trim().starts_with("indirect");
                let kind = if is_indirect {
                    DependencyKind::Indirect
                } else {
                    DependencyKind::Runtime
                };
                let requirement = Some((*version).to_owned());
                dependencies.push(Dependency {
                    requirement,
                    ..Dependency::new(*module, kind, line)
                });
            }
            ("replace", words) => replaced.extend(replacement(words)),
            ("tool", [tool, ..]) => tools.push((*tool).to_owned()),
            ("require", [_]) => {
                return Err(ManifestError {
                    line,
                    message: format!("`{verb}` without a version"),
                });
            }
            _ => {}
        }
    }
    let name = name.ok_or_else(|| ManifestError {
        line: 1,
        message: "no `module`".to_owned(),
    })?;
    for found in &mut dependencies {
        if let Some(folder) = replaced.get(&found.name) {
            found.source = DependencySource::Path(folder.clone());
        }
    }
    let settings = Settings::Go { replaced, tools };
    Ok(Manifest {
        name: Some(name),
        dependencies,
        ..Manifest::new(Ecosystem::Go, path, settings)
    })
}

/// Reads a `go.work`.
pub(super) fn read_workspace(path: &str, text: &str) -> Result<Manifest, ManifestError> {
    let (mut members, mut replaced) = (Vec::new(), BTreeMap::new());
    for Directive { verb, words, .. } in directives(text)? {
        match (verb, words.as_slice()) {
            ("use", [folder, ..]) => members.push((*folder).to_owned()),
            ("replace", words) => replaced.extend(replacement(words)),
            _ => {}
        }
    }
    Ok(Manifest::new(
        Ecosystem::Go,
        path,
        Settings::GoWork { members, replaced },
    ))
}

/// A line of a file, or of a block of it.
struct Directive<'t> {
    verb: &'t str,
    words: Vec<&'t str>,
    comment: &'t str,
    /// Its number, from 1.
    line: usize,
}

fn directives(text: &str) -> Result<Vec<Directive<'_>>, ManifestError> {
    let mut found = Vec::new();
    let mut block: Option<(&str, usize)> = None;
    for (line, number) in text.lines().zip(1..) {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let code = code.trim();
        if code == ")" {
            block = None;
            continue;
        }
        if let Some(verb) = code.strip_suffix('(').map(str::trim) {
            block = Some((verb, number));
            continue;
        }
        let mut words: Vec<&str> = code
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '`']))
            .collect();
        let verb = match block {
            Some((verb, _)) => verb,
            None if words.is_empty() => continue,
            None => words.remove(0),
        };
        found.push(Directive {
            verb,
            words,
            comment,
            line: number,
        });
    }
    match block {
        Some((verb, line)) => Err(ManifestError {
            line,
            message: format!("`{verb} (` has no end"),
        }),
        None => Ok(found),
    }
}

/// Returns a module and the folder that replaces it, of `module [version] => ./folder`.
fn replacement(words: &[&str]) -> Option<(String, String)> {
    let arrow = words.iter().position(|word| *word == "=>")?;
    let (module, place) = (words.first()?, words.get(arrow + 1)?);
    if place.starts_with('.') {
        Some(((*module).to_owned(), (*place).to_owned()))
    } else {
        None
    }
}
