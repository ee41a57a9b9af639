//! The packages that a `CMakeLists.txt` looks for.

use super::lines::Lines;
use super::model::{Dependency, DependencyKind, Ecosystem, Manifest, Settings};

/// Reads `project` and `find_package`; what variables name is left out.
pub(super) fn read(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest::new(Ecosystem::CMake, path, Settings::Plain);
    let (lines, mut at) = (Lines::from_text(text), 0);
    // The number of the line that was looked at last, and whether it is a comment.
    let mut looked_at = (0, false);
    while let Some(open) = text
        .get(at..)
        .and_then(|rest| rest.find('('))
        .map(|found| at + found)
    {
        at = open + 1;
        let before = text.get(..open).unwrap_or_default().trim_end();
        let command = before
            .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default();
        let is_project = command.eq_ignore_ascii_case("project");
        if !is_project && !command.eq_ignore_ascii_case("find_package") {
            continue;
        }
        let number = lines.at(before.len() - command.len());
        if looked_at.0 != number {
            let line = text.get(lines.begin(number)..).unwrap_or_default();
            looked_at = (number, line.trim_start().starts_with('#'));
        }
        if looked_at.1 {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        // Nothing that is read is in brackets of its own.
        let inside = rest
            .find(['(', ')'])
            .and_then(|end| rest.get(..end))
            .unwrap_or_default();
        let mut words = inside.split_whitespace();
        let Some(name) = words.next().filter(|word| !word.contains(['$', '"', '#'])) else {
            continue;
        };
        if is_project {
            manifest.name = Some(name.to_owned());
            continue;
        }
        let mut found = Dependency::new(name, DependencyKind::Runtime, lines.at(open));
        let version = words
            .next()
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        found.requirement = version.map(str::to_owned);
        found.optional = !inside.contains("REQUIRED");
        manifest.dependencies.push(found);
    }
    manifest
}
