//! Which names are the same to a case-insensitive file system, or look the same to a reader.
//!
//! macOS and Windows take `Orchestrate.toml` and `orchestrate.toml` for one file; HFS+ ignores some
//! invisible characters; NTFS ignores trailing dots and spaces, and has streams (`name:stream`) and
//! short names (`ORCHES~1.TOM`). A file that is special under one name is special under all of
//! them, on every system, since a branch can be checked out anywhere. [`crate::text::git_path`]
//! covers further names of `.git` itself.

use unicode_normalization::UnicodeNormalization as _;

use crate::text::invisible::is_invisible;

/// The special names that have a short form of their own on NTFS, in lower case.
const SHORTENED: [&str; 9] = [
    "orchestrate.toml",
    ".orchestrate",
    ".claude",
    ".agents",
    ".worktreeinclude",
    ".mcp.json",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
];

/// Returns a key that is equal for texts that look alike: compatible forms composed (NFKC), case
/// folded, invisible characters removed.
pub fn folded(text: &str) -> String {
    // Composing and folding take most of the time of reading a large plan, whose names are mostly
    // ASCII.
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let visible = text.chars().filter(|c| !is_invisible(*c));
    let folded = visible
        .nfkc()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase);
    folded.nfkc().collect()
}

/// Returns a path with each part normalised as a case-insensitive file system would compare it.
pub fn folded_path(path: &str) -> String {
    path.split('/')
        .map(folded_part)
        .collect::<Vec<_>>()
        .join("/")
}

fn folded_part(part: &str) -> String {
    let lower = folded(part);
    let name = lower
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return lower;
    }
    let long = SHORTENED.iter().find(|long| is_short_form(name, long));
    long.map_or_else(|| name.to_owned(), |long| (*long).to_owned())
}

/// Reports whether a name is a short form that NTFS may give a long one.
fn is_short_form(name: &str, long: &str) -> bool {
    let Some((stem, rest)) = name.split_once('~') else {
        return false;
    };
    let bare = long.trim_start_matches('.');
    let (long_stem, ending) = bare.rsplit_once('.').unwrap_or((bare, ""));
    let (number, short_ending) = rest.split_once('.').unwrap_or((rest, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_begin = !stem.is_empty() && stem.len() <= 6 && long_stem.starts_with(stem);
    // With a two-digit number the stem is one character shorter.
    is_number
        && is_begin
        && stem.len() + number.len() > long_stem.len().min(6)
        && ending.get(..3).unwrap_or(ending) == short_ending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_alike_is_equal() {
        let pairs = [
            ("T1", "t1"),
            ("É", "e\u{301}"),
            ("ﬁx", "FIX"),
            ("T１", "T1"),
            ("\u{212a}", "k"),
            ("a\u{3164}b", "ab"),
        ];
        for (one, two) in pairs {
            assert_eq!(folded(one), folded(two), "{one:?} {two:?}");
        }
        assert_ne!(folded("é"), folded("e"));
    }

    #[test]
    fn a_special_name_is_found_under_every_alias() {
        let table = [
            ("Orchestrate.TOML", "orchestrate.toml"),
            (".Orchestrate./Config.toml ", ".orchestrate/config.toml"),
            ("orche\u{200c}strate.toml", "orchestrate.toml"),
            ("orchestrate.toml::$DATA", "orchestrate.toml"),
            ("ORCHES~1.TOM", "orchestrate.toml"),
            ("ORCHE~12.TOM", "orchestrate.toml"),
            ("ORCHES~1/x", ".orchestrate/x"),
            ("MCP~1.JSO", ".mcp.json"),
            ("GITATT~2", ".gitattributes"),
            ("orche\u{17f}trate.toml", "orchestrate.toml"),
        ];
        for (path, expected) in table {
            assert_eq!(folded_path(path), expected, "{path:?}");
        }
        for path in ["orchestrate.tom", "src/orchestra~", "a/.../b", "o~1.tom"] {
            assert_eq!(folded_path(path), path);
        }
    }
}
