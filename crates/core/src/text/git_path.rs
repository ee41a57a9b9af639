//! Which paths git accepts into a tree, decided as git does with `core.protectHFS` and
//! `core.protectNTFS` on.
//!
//! A part of a path may mean `.git` to a file system other than the current one: HFS+ ignores case
//! and some invisible characters; NTFS ignores case, trailing dots and spaces, and has short names
//! (`git~1`) and streams (`.git::$INDEX_ALLOCATION`). Git's `verify_path` (read-cache.c) covers
//! them all, and paths that it rejects must never be stored, read or written here. The file tools
//! and the staging of worktrees both use this module, so that they cannot disagree.

use std::path::{Component, Path, PathBuf};

use crate::text::invisible::shown;

/// The short name that NTFS gives `.gitmodules` if the usual ones are taken: a hash of the name.
const MODULES_HASHED: &[u8] = b"gi7eba";

/// Reports whether git accepts a path with `/` separators into a tree; links named `.gitmodules`
/// are rejected too.
pub fn is_storable(path: &[u8], is_link: bool) -> bool {
    let mut starts_part = true;
    let mut rest = path;
    while let [byte, behind @ ..] = rest {
        if starts_part && !is_possible_part(rest, is_link) {
            return false;
        }
        if *byte == b'\\' && is_ntfs_alias(behind, is_link) {
            return false;
        }
        starts_part = *byte == b'/';
        rest = behind;
    }
    !starts_part
}

/// Returns a path as text for a record: unchanged if it is UTF-8, else with each other byte escaped
/// as `\xNN`, so that different paths stay different.
pub fn text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Returns a path in one line, safe to show; see [`shown`].
pub fn shown_path(path: &Path) -> String {
    shown(&text(path))
}

/// Returns the path that a name means in a folder of a tree, or `None` if it leads out of the tree.
///
/// ```
/// use orchestrate_core::text::git_path::resolved;
/// use std::path::Path;
/// assert_eq!(resolved(Path::new("a/b"), Path::new("../c")).as_deref(), Some(Path::new("a/c")));
/// assert_eq!(resolved(Path::new("a"), Path::new("../../c")), None);
/// ```
pub fn resolved(folder: &Path, name: &Path) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in name.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => path.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Reports whether one part of a path means `.git` on some file system.
pub fn is_git_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !is_storable(part.as_bytes(), false)
}

/// Reports whether git accepts the first part of a path; it looks past the part's end where NTFS
/// does.
fn is_possible_part(path: &[u8], is_link: bool) -> bool {
    let part = path.split(|byte| *byte == b'/').next().unwrap_or(path);
    let lower = part.to_ascii_lowercase();
    let is_refused = match lower.as_slice() {
        b"" | b"." | b".." | b".git" => true,
        b".gitmodules" => is_link,
        _ => is_hfs_alias(part, b".git") || is_link && is_hfs_alias(part, b".gitmodules"),
    };
    !is_refused && !is_ntfs_alias(path, is_link)
}

/// Reports whether HFS+ takes a part for `name`; like git, this stops at the first malformed
/// character.
fn is_hfs_alias(part: &[u8], name: &[u8]) -> bool {
    let chunk = part.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let mut letters = chunk
        .chars()
        .take_while(|c| !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .filter(|c| !is_ignored_by_hfs(*c));
    let is_begun = name.iter().all(|byte| {
        letters
            .next()
            .is_some_and(|c| c.eq_ignore_ascii_case(&char::from(*byte)))
    });
    is_begun && letters.next().is_none()
}

fn is_ignored_by_hfs(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

fn is_ntfs_alias(path: &[u8], is_link: bool) -> bool {
    is_ntfs_git(path) || is_link && is_ntfs_modules(path)
}

/// Reports whether NTFS takes the beginning of a path for `.git`.
fn is_ntfs_git(path: &[u8]) -> bool {
    let rest = strip_prefix(path, b".git").or_else(|| strip_prefix(path, b"git~1"));
    rest.is_some_and(|rest| ends(rest, b"\\/:"))
}

/// Reports whether NTFS takes a whole path for `.gitmodules`.
fn is_ntfs_modules(path: &[u8]) -> bool {
    let rest = if let Some(rest) = strip_prefix(path, b".gitmodules") {
        rest
    } else if let Some([b'1'..=b'4', rest @ ..]) = strip_prefix(path, b"gitmod~") {
        rest
    } else if let Some(rest) = behind_hashed_short_name(path) {
        rest
    } else {
        return false;
    };
    ends(rest, b":")
}

/// Returns the rest after a short name of eight letters: the beginning of the hashed name, `~` and
/// a number.
fn behind_hashed_short_name(path: &[u8]) -> Option<&[u8]> {
    let (name, rest) = path.split_at_checked(8)?;
    let tilde = name.iter().position(|byte| *byte == b'~')?;
    let (begin, number) = (name.get(..tilde)?, name.get(tilde + 1..)?);
    let is_begin = MODULES_HASHED
        .get(..tilde)
        .is_some_and(|hashed| begin.eq_ignore_ascii_case(hashed));
    let is_number =
        number.first().is_some_and(|digit| *digit != b'0') && number.iter().all(u8::is_ascii_digit);
    (is_begin && is_number).then_some(rest)
}

/// Reports whether only characters that NTFS ignores precede the end or one of these marks.
fn ends(rest: &[u8], marks: &[u8]) -> bool {
    let kept = rest.iter().find(|byte| !matches!(byte, b'.' | b' '));
    kept.is_none_or(|byte| marks.contains(byte))
}

fn strip_prefix<'a>(path: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = path.split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_known_under_every_alias() {
        let aliases = [
            ".git",
            ".GIT",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{206f}",
            "git~1",
            "GIT~1 .",
            ".git. .",
            ".git:x",
            ".git::$INDEX_ALLOCATION",
            "a\\.git",
            "a\\git~1",
            ".git\\x",
        ];
        for alias in aliases {
            assert!(is_git_name(alias), "{alias:?}");
        }
        for name in [
            ".gitignore",
            ".github",
            "git~2",
            "x.git",
            "git",
            ".gi\u{200b}t",
            "..git",
            "a\rb",
            ".gitmodules",
        ] {
            assert!(!is_git_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_link_is_never_the_file_of_submodules() {
        for alias in [
            ".gitmodules",
            ".GitModules ",
            "gitmod~4",
            "GI7EBA~1",
            "gi7eb~10",
            ".gitmod\u{200d}ules",
            "x/.gitmodules:y",
        ] {
            assert!(!is_storable(alias.as_bytes(), true), "{alias:?}");
            assert!(is_storable(alias.as_bytes(), false), "{alias:?}");
        }
        assert!(
            is_storable(b"gitmod~5", true)
                && is_storable(b"gi7eba~x", true)
                && is_storable(b".gitmodules/x", true) != is_storable(b".gitmodules", false)
        );
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_utf8_stay_two() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = |bytes: &'static [u8]| text(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_eq!(
            [path(b"caf\xe9"), path(b"caf\xe8"), path(b"a\nb")],
            ["caf\\xe9", "caf\\xe8", "a\nb"]
        );
        assert_eq!(path("é/\u{fffd}".as_bytes()), "é/\u{fffd}");
    }

    #[test]
    fn a_path_has_parts() {
        for path in ["", "/", "a/", "/a", "a//b", "a/./b", "../a", "a/.."] {
            assert!(!is_storable(path.as_bytes(), false), "{path:?}");
        }
        assert!(is_storable(b"a/...b/c ", false));
    }
}
