//! The packages that a `CMakeLists.txt` looks for.

use super::model::{Dependency, DependencyKind, Ecosystem, Lines, Manifest, Settings};

/// Reads `project` and `find_package`; what variables name is left out.
pub(super) fn read(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::CMake, path, Settings::Plain);
    let code: Vec<&str> = text.lines().map(without_comment).collect();
    let text = code.join("\n");
    let lines = Lines::from_text(&text);
    let mut command = "";
    let mut at = 0;
    // Each part is before a bracket, after the name of a command or of what it was given.
    for part in text.split_inclusive(['(', ')']) {
        let line = lines.at(at);
        at += part.len();
        let inside = part.trim_end_matches(['(', ')']);
        let mut words = inside.split_whitespace();
        let given = words.next().filter(|word| !word.contains(['$', '"']));
        match (command, given) {
            ("project", Some(name)) => manifest.name = Some(name.to_owned()),
            ("find_package", Some(name)) => {
                let mut found = Dependency::new(name, DependencyKind::Runtime, line);
                found.requirement = words
                    .next()
                    .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                    .map(str::to_owned);
                found.optional = !inside.contains("REQUIRED");
                manifest.dependencies.push(found);
            }
            _ => {}
        }
        let last = inside.split_whitespace().next_back().unwrap_or("");
        command = match last.to_ascii_lowercase().as_str() {
            "project" if part.ends_with('(') => "project",
            "find_package" if part.ends_with('(') => "find_package",
            _ => "",
        };
    }
    manifest
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(code, _)| code)
}
