//! Normalizes the paths that a model writes to paths relative to the worktree, or refuses them.
//!
//! The check is lexical, for the users' rules and for clear messages. What confines a tool is that
//! files are opened below the worktree's descriptor (see [`crate::files`]). The result has no `.`,
//! no `..`, no empty component and no NUL byte, so the policy judges the path that will be opened.

use std::path::Path;

use orchestrate_core::text::git_path::is_git_name;
use orchestrate_core::text::invisible::shown;

use crate::answer::ToolError;

/// Maximum length of a path in bytes, which is Linux's own limit (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;
/// The id of the rule against paths outside the worktree.
const WORKTREE_RULE: &str = "built-in:worktree";
/// The id of the rule against paths that belong to git.
pub(crate) const GIT_RULE: &str = "built-in:git-metadata";

/// Returns a path relative to the worktree; empty for the worktree itself.
///
/// # Errors
/// `Denied` if the path is outside the worktree or belongs to git, `Retry` if it is not a valid
/// path.
pub fn normalize(text: &str, worktree: &Path) -> Result<String, ToolError> {
    if text.len() > MAX_PATH_BYTES {
        return Err(ToolError::Retry(format!(
            "the path is longer than {MAX_PATH_BYTES} bytes"
        )));
    }
    if text.contains('\0') {
        return Err(ToolError::Retry(format!(
            "a path cannot contain a NUL byte: {}",
            shown(text)
        )));
    }
    let shell_like = text == "~" || text.starts_with("~/") || text.starts_with('$');
    if shell_like || text.starts_with("file:") || text.contains("://") {
        let reason = format!(
            "`{}` is not a path in the worktree; `~`, variables and URLs are not expanded",
            shown(text)
        );
        return Err(ToolError::denied(WORKTREE_RULE, reason));
    }
    let relative = if text.starts_with('/') {
        let inside = Path::new(text)
            .strip_prefix(worktree)
            .ok()
            .and_then(Path::to_str);
        inside.ok_or_else(|| outside(text))?
    } else {
        text
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(|| outside(text))?),
            _ if is_git_name(part) => return Err(git_owned(text)),
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Creates the error for a path outside the worktree.
pub(crate) fn outside(text: &str) -> ToolError {
    let shown = shown(text);
    let reason =
        format!("`{shown}` is outside the worktree; name a path inside it, relative to its root");
    ToolError::denied(WORKTREE_RULE, reason)
}

/// Creates the error for a path that belongs to git.
pub(crate) fn git_owned(text: &str) -> ToolError {
    let shown = shown(text);
    ToolError::denied(
        GIT_RULE,
        format!("`{shown}` belongs to git; use the git tools instead"),
    )
}

/// Splits a path into its parent (empty for the worktree) and its last component.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Joins a parent (empty for the worktree) and a component.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        return name.to_owned();
    }
    // Walks join the path of each entry.
    let mut path = String::with_capacity(parent.len() + 1 + name.len());
    path.push_str(parent);
    path.push('/');
    path.push_str(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ErrorKind;

    #[test]
    fn a_path_is_named_from_the_root_of_the_worktree() {
        let table = [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            (".", ""),
            ("", ""),
            ("a/../b", "b"),
            ("/w/app/src/x", "src/x"),
            ("/w/app", ""),
            (".github/x", ".github/x"),
            (".gitignore", ".gitignore"),
            ("a b/ü", "a b/ü"),
        ];
        for (text, expected) in table {
            assert_eq!(
                normalize(text, Path::new("/w/app")).unwrap(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn hostile_paths_are_refused() {
        let long = "a".repeat(4097);
        let table = [
            ("../../etc/passwd", ErrorKind::Denied),
            ("/etc/passwd", ErrorKind::Denied),
            ("~/.ssh/id_rsa", ErrorKind::Denied),
            ("$HOME/x", ErrorKind::Denied),
            ("file:///etc/passwd", ErrorKind::Denied),
            ("/w/app-evil/x", ErrorKind::Denied),
            ("/w/app/../x", ErrorKind::Denied),
            ("a/../../x", ErrorKind::Denied),
            (".git", ErrorKind::Denied),
            (".git/config", ErrorKind::Denied),
            ("./.git/../.git/hooks/x", ErrorKind::Denied),
            (".GIT/config", ErrorKind::Denied),
            ("sub/.Git/config", ErrorKind::Denied),
            (".git./config", ErrorKind::Denied),
            (".g\u{200c}it/config", ErrorKind::Denied),
            (".git::$INDEX_ALLOCATION/config", ErrorKind::Denied),
            ("a\\.git/config", ErrorKind::Denied),
            ("a\0b", ErrorKind::Retry),
            (long.as_str(), ErrorKind::Retry),
        ];
        for (text, expected) in table {
            assert_eq!(
                normalize(text, Path::new("/w/app")).unwrap_err().kind(),
                expected,
                "{text:?}"
            );
        }
    }
}
