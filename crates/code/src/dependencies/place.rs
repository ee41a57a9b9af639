//! Paths below the root of a project, whose own path is empty.

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

/// Reports whether a pattern of a workspace's members, such as `crates/*`, names a folder; `**`
/// stands for any depth.
pub(super) fn matches(pattern: &str, folder: &str) -> bool {
    let pattern: Vec<&str> = pattern
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let folder: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    // The pattern's part after the last `**`, and where in the folder it was tried last.
    let (mut at, mut in_folder, mut retry) = (0, 0, None);
    loop {
        match (pattern.get(at), folder.get(in_folder)) {
            (Some(&"**"), _) => {
                retry = Some((at + 1, in_folder + 1));
                at += 1;
                continue;
            }
            (Some(part), Some(name)) if matches_name(part, name) => {
                (at, in_folder) = (at + 1, in_folder + 1);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((after, begin)) if begin <= folder.len() => {
                retry = Some((after, begin + 1));
                (at, in_folder) = (after, begin);
            }
            _ => return false,
        }
    }
}

/// Reports whether a pattern with `*` matches a name.
fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    if !pattern.contains('*') {
        return rest.is_empty();
    }
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return false;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
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
            ("*", "", false),
        ];
        for (pattern, folder, expected) in table {
            assert_eq!(matches(pattern, folder), expected, "{pattern} {folder}");
        }
    }
}
