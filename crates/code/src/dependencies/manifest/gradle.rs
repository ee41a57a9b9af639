//! The plain declarations of `build.gradle` and `build.gradle.kts`:
//! `implementation("group:artifact:version")` and `api(project(":name"))`. What a version catalog
//! or code says is left out.

use super::model::{Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, Settings};

/// Reads a script.
pub(super) fn read(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::Gradle, path, Settings::Plain);
    for (line, number) in text.lines().zip(1..) {
        let line = line.split("//").next().unwrap_or(line).trim();
        let end = line.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        let Some(value) = quoted(rest) else { continue };
        match (word, kind(word)) {
            ("group", _) => manifest.name = Some(value.to_owned()),
            ("version", _) => manifest.version = Some(value.to_owned()),
            (_, Some(kind)) => {
                let is_own = rest.contains("project(");
                manifest
                    .dependencies
                    .extend(declaration(value, is_own, kind, number));
            }
            _ => {}
        }
    }
    // The coordinates of a Gradle project end with the name of its folder.
    if let Some(folder) = path.rsplit('/').nth(1) {
        manifest.name = match manifest.name {
            Some(group) => Some(format!("{group}:{folder}")),
            None => Some(folder.to_owned()),
        };
    }
    manifest
}

/// Returns what a configuration is for, by its name.
fn kind(configuration: &str) -> Option<DependencyKind> {
    match configuration {
        "implementation" | "api" | "compile" | "runtimeOnly" => Some(DependencyKind::Runtime),
        "compileOnly" | "annotationProcessor" | "kapt" | "ksp" => Some(DependencyKind::Build),
        "testImplementation" | "testCompile" | "testRuntimeOnly" | "androidTestImplementation" => {
            Some(DependencyKind::Dev)
        }
        _ => None,
    }
}

fn declaration(value: &str, is_own: bool, kind: DependencyKind, line: usize) -> Option<Dependency> {
    if is_own {
        let folder = value.trim_start_matches(':').replace(':', "/");
        return Some(Dependency {
            source: DependencySource::Path(folder),
            ..Dependency::new(value, kind, line)
        });
    }
    let mut parts = value.split(':');
    let name = format!("{}:{}", parts.next()?, parts.next()?);
    Some(Dependency {
        requirement: parts.next().map(str::to_owned),
        ..Dependency::new(name, kind, line)
    })
}

/// Returns the first quoted text.
fn quoted(text: &str) -> Option<&str> {
    let begin = text.find(['"', '\''])?;
    let (quote, rest) = text.get(begin..)?.split_at_checked(1)?;
    rest.split_once(quote).map(|(inside, _)| inside)
}
