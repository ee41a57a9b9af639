//! The packages that a `CMakeLists.txt` looks for.

use super::lines::Lines;
use super::model::{Dependency, DependencyKind, Ecosystem, Manifest, Settings};

/// Reads `project` and `find_package`; what variables name is left out.
pub(super) fn read(path: &str, text: &str) -> Manifest {
    let lines = Lines::of(text);
    let mut manifest = Manifest::new(Ecosystem::CMake, path, Settings::Plain);
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('(')).map(|found| at + found) {
        let before = text.get(..open).unwrap_or_default().trim_end();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let command = line.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let inside = text.get(open + 1..).and_then(|rest| rest.split_once(')')).map_or("", |(inside, _)| inside);
        let mut words = inside.split_whitespace().filter(|word| !word.contains(['$', '"', '#']));
        let is_comment = line.trim_start().starts_with('#');
        match command.to_ascii_lowercase().as_str() {
            _ if is_comment => {}
            "project" => manifest.name = words.next().map(str::to_owned).or(manifest.name),
            "find_package" => {
                if let Some(name) = words.next() {
                    let mut found = Dependency::new(name, DependencyKind::Runtime, lines.at(open));
                    let version = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
                    found.requirement = version.map(str::to_owned);
                    found.optional = !inside.contains("REQUIRED");
                    manifest.dependencies.push(found);
                }
            }
            _ => {}
        }
        at = open + 1;
    }
    manifest
}
