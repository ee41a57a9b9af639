//! Paths below the root of a project, whose own path is empty.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Maximum number of patterns of one workspace.
const MAX_PATTERNS: usize = 1_000;

/// Returns the folder of a file.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the folder around a folder; `None` for the root.
pub(super) fn parent(folder: &str) -> Option<&str> {
    if folder.is_empty() {
        None
    } else {
        Some(folder_of(folder))
    }
}

/// Returns a folder and those around it, the root last.
pub(super) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| parent(folder))
}

/// Returns the last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns a relative path seen from a folder; `None` if it leads out of the project.
pub(super) fn join(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Reports whether a path is a folder or is in it.
pub(super) fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns what matches the patterns of a workspace's members, such as `crates/*`; `**` stands for
/// any depth. A pattern that is not valid matches nothing.
pub(super) fn patterns<'t>(patterns: impl Iterator<Item = &'t str>) -> GlobSet {
    let mut all = GlobSetBuilder::new();
    for pattern in patterns.take(MAX_PATTERNS) {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let pattern = if pattern == "." { "" } else { pattern };
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            all.add(glob);
        }
    }
    all.build().unwrap_or_else(|_| GlobSet::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_joined() {
        let table = [
            ("a/b", "./c", Some("a/b/c")),
            ("a/b", "../c", Some("a/c")),
            ("a", "../../c", None),
            ("", "c//d/.", Some("c/d")),
        ];
        for (folder, relative, expected) in table {
            assert_eq!(
                join(folder, relative).as_deref(),
                expected,
                "{folder} {relative}"
            );
        }
    }

    #[test]
    fn members_are_named_by_patterns() {
        let table = [
            ("crates/*", "crates/a", true),
            ("crates/*", "crates/a/b", false),
            ("crates/*", "crates", false),
            ("./packages/ui-*", "packages/ui-kit", true),
            ("packages/**", "packages/a/b", true),
            ("**/app", "x/y/app", true),
            ("**/app", "x/y/apps", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("one", "one", true),
            (".", "", true),
            ("[", "[", false),
            ("*/", "a", true),
        ];
        for (pattern, folder, expected) in table {
            assert_eq!(
                patterns([pattern].into_iter()).is_match(folder),
                expected,
                "{pattern} {folder}"
            );
        }
    }
}
