//! Bounds for the files of patterns that git and libgit2 may read: regular files with bounded
//! matching time.
//!
//! Both try each star of a pattern at every position of a name, so their time grows with a power of
//! the name's length, and libgit2 cannot be interrupted. A pipe in the place of such a file makes
//! both wait without end. So the files of patterns in a commit, in the user's checkout, in the
//! user's own configuration and in an agent's worktree are checked against these bounds before git
//! reads them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use git2::Repository;
use orchestrate_files::Links;
use rustix::fs::FileType;

use crate::error::GitError;
use crate::files::openat;
use crate::files::openat::path_of;

/// The names of files of patterns.
const FILES: [&[u8]; 3] = [b".gitattributes", b".gitignore", b".worktreeinclude"];
/// The maximum size of one file in bytes: the longest known file has a few thousand lines.
pub(crate) const MAX_BYTES: u64 = 1 << 20;
/// The largest file of patterns outside of any checkout that is read; those that people write have
/// some dozens of lines.
const INFO_BYTES: u64 = 4 << 20;
/// The maximum number of lines of one file: git matches each path against each line.
const MAX_LINES: usize = 20_000;
/// The maximum number of steps for matching one path against all lines of a file: some tenths of a
/// second.
const MOST_STEPS: u64 = 200_000_000;
/// The cost of a star that is tried at each folder, relative to one that is tried at each letter
/// (measured).
const TRY_OF_A_FOLDER: u64 = 4;
/// Numbers of folders in a path, each with the length of its names if the path has the maximum
/// length.
const SHAPES: [(u64, u64); 4] = [(1, 255), (16, 255), (64, 63), (256, 15)];
/// The longest path. Libgit2 matches it as a whole against a line that names folders.
const LONGEST_PATH: u64 = 4_095;

/// A file of patterns that git must not read.
pub(crate) struct Excess {
    /// The path, relative to the checkout if it is in it.
    pub(crate) path: PathBuf,
    /// Why not, worded for an error message.
    pub(crate) reason: String,
}

/// Reports whether git reads patterns from files of this name.
pub(crate) fn is_patterns(name: &[u8]) -> bool {
    FILES.contains(&name)
}

/// Returns why git must not read a file of patterns, or `None` if it may.
pub(crate) fn excess(text: &[u8]) -> Option<String> {
    if text.len() as u64 > MAX_BYTES {
        return Some(format!(
            "it has {} bytes, but at most {MAX_BYTES} are read",
            text.len()
        ));
    }
    let mut sum = 0_u64;
    for (line, number) in text.split(|byte| *byte == b'\n').zip(1_usize..) {
        let steps = Line::read(line).steps();
        sum = sum.saturating_add(steps);
        if steps > MOST_STEPS {
            return Some(format!(
                "its line {number} has more stars (`*`, `**`) than git can match in bounded time"
            ));
        }
        if sum > MOST_STEPS {
            return Some(format!(
                "its lines up to {number} have more stars than git can match in bounded time"
            ));
        }
        if number > MAX_LINES {
            return Some(format!(
                "it has more than {MAX_LINES} lines, and git matches every path against each"
            ));
        }
    }
    None
}

/// Like [`excess`], for a file of patterns in a commit's tree.
pub(crate) fn excess_of_blob(
    repository: &Repository,
    id: git2::Oid,
) -> Result<Option<String>, GitError> {
    let failed = GitError::library("read a file of patterns");
    let (bytes, _) = repository
        .odb()
        .and_then(|odb| odb.read_header(id))
        .map_err(&failed)?;
    if bytes as u64 > MAX_BYTES {
        return Ok(Some(format!(
            "it has {bytes} bytes, but at most {MAX_BYTES} are read"
        )));
    }
    Ok(excess(repository.find_blob(id).map_err(&failed)?.content()))
}

/// Finds a file of patterns in a checkout that git cannot read in bounded time. Only folders with
/// tracked files are searched.
pub(crate) fn excess_below(root: &Path, index: &git2::Index) -> Result<Option<Excess>, GitError> {
    let mut folders = BTreeSet::from([Vec::new()]);
    for entry in index.iter() {
        let mut folder = openat::split(&entry.path).0;
        while !folder.is_empty() && folders.insert(folder.to_vec()) {
            folder = openat::split(folder).0;
        }
    }
    let opened_root = openat::open_root(root).map_err(GitError::errno("open", root))?;
    for folder in folders {
        // Git does not read patterns in a folder that was deleted or replaced either.
        let Ok(opened) = openat::open_folder(&opened_root, &folder) else {
            continue;
        };
        for name in FILES {
            if let Some(reason) = excess_in(&opened, name)? {
                return Ok(Some(Excess {
                    path: path_of(&openat::join(&folder, name)),
                    reason,
                }));
            }
        }
    }
    Ok(None)
}

/// Returns why git must not read a file of patterns in an open folder, or `None` if it may or if
/// there is none.
pub(crate) fn excess_in(folder: impl AsFd, name: &[u8]) -> Result<Option<String>, GitError> {
    let failed = GitError::errno("read", path_of(name));
    let Some(stat) = openat::look(&folder, name).map_err(&failed)? else {
        return Ok(None);
    };
    match openat::kind(&stat) {
        FileType::RegularFile => {}
        // Git ignores a folder, and a link in the place of the first two files.
        FileType::Directory => return Ok(None),
        FileType::Symlink if name != b".worktreeinclude" => return Ok(None),
        FileType::Symlink => {
            return Ok(Some("it is a link, and links are not followed".to_owned()));
        }
        _ => return Ok(Some("it is not a regular file".to_owned())),
    }
    match openat::read(&folder, name, MAX_BYTES) {
        Ok(Some((text, _))) => Ok(excess(&text)),
        Ok(None) => Ok(Some(format!("it has more than {MAX_BYTES} bytes"))),
        Err(error) => Err(failed(error)),
    }
}

/// Reads a file of patterns outside of any checkout, which may be a link. Returns `None` if there
/// is none.
pub(crate) fn read_own(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let Some(bytes) = read_info(path)? else {
        return Ok(None);
    };
    match excess(&bytes) {
        Some(reason) => Err(GitError::Unstorable {
            path: path.to_owned(),
            reason,
        }),
        None => Ok(Some(bytes)),
    }
}

/// Reads a regular file of a repository, or returns `None` if there is none.
pub(crate) fn read_info(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    match orchestrate_files::read_plain(path, Links::Anywhere, INFO_BYTES) {
        Ok(text) if text.len() as u64 > INFO_BYTES => Err(GitError::TooLarge {
            path: path.to_owned(),
            what: "the size in bytes",
            limit: INFO_BYTES,
        }),
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
            ErrorKind::IsADirectory | ErrorKind::InvalidInput => {
                let reason = "it is no plain file".to_owned();
                Err(GitError::Unstorable {
                    path: path.to_owned(),
                    reason,
                })
            }
            _ => Err(GitError::io("read", path)(error)),
        },
    }
}

/// Finds a file of patterns that git cannot read in bounded time among those outside of any
/// checkout: the repository's and the user's own.
pub(crate) fn excess_elsewhere(repository: &Repository) -> Result<Option<Excess>, GitError> {
    let config = repository
        .config()
        .map_err(GitError::library("read the configuration"))?;
    let mut files = ["info/exclude", "info/attributes"]
        .map(|name| repository.commondir().join(name))
        .to_vec();
    for (key, name) in [
        ("core.excludesfile", "git/ignore"),
        ("core.attributesfile", "git/attributes"),
    ] {
        match config.get_path(key) {
            Ok(path) => files.push(path),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                files.extend(users_file(name))
            }
            Err(error) => return Err(GitError::library(format!("read {key}"))(error)),
        }
    }
    for path in files {
        if let Some(reason) = read_info(&path)?.and_then(|text| excess(&text)) {
            return Ok(Some(Excess { path, reason }));
        }
    }
    Ok(None)
}

/// Returns the default path of a file of the user's own.
#[expect(
    clippy::disallowed_methods,
    reason = "git itself reads these two to find the user's files"
)]
pub(crate) fn users_file(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".config")));
    Some(folder?.join(name))
}

/// The properties of one line of patterns that make it slow.
#[derive(Default)]
struct Line {
    /// The number of stars that are tried at each letter of a name.
    letters: u64,
    /// The number of stars that are tried at each folder of a path.
    folders: u64,
    /// How often one letter of a name is examined for one placement of all stars.
    looks: u64,
    /// Whether the line is matched against whole paths as if they were names.
    spans_path: bool,
}

impl Line {
    /// Parses a line of any file of patterns. In a line of attributes the pattern comes first, and
    /// the rest has no stars.
    fn read(line: &[u8]) -> Line {
        if line.starts_with(b"#") {
            return Line::default();
        }
        let line = unquoted(line.trim_ascii());
        let inner = line.strip_suffix(b"/").unwrap_or(&line);
        let mut read = Line {
            spans_path: inner.len() < line.len() && !inner.contains(&b'/'),
            ..Line::default()
        };
        let mut rest = inner;
        while let Some(at) = rest.iter().position(|byte| *byte == b'*') {
            let (_, behind) = rest.split_at(at);
            let stars = behind.iter().take_while(|byte| **byte == b'*').count();
            (_, rest) = behind.split_at(stars);
            match (stars, rest.first()) {
                // A trailing star is matched without trying, and a star between slashes in only one
                // way.
                (_, None) | (1, Some(b'/')) => {}
                (_, Some(b'/')) => read.folders += 1,
                // Before an escaped slash, `**` is tried at each letter of the whole path.
                (2.., Some(b'\\')) => read.letters += 2,
                _ => read.letters += 1,
            }
            let piece = rest.split(|byte| *byte == b'*').next().unwrap_or(rest);
            read.looks = read.looks.max(looks(piece));
        }
        read
    }

    /// Returns the maximum number of steps that git takes to match one path against the line.
    fn steps(&self) -> u64 {
        let worst = match self.spans_path {
            true => ways(LONGEST_PATH, self.letters),
            false => SHAPES
                .iter()
                .map(|(folders, letters)| self.ways_in(*folders, *letters))
                .max()
                .unwrap_or_default(),
        };
        worst.saturating_mul(self.looks.max(1))
    }

    fn ways_in(&self, folders: u64, letters: u64) -> u64 {
        let tries = if self.folders > 0 { TRY_OF_A_FOLDER } else { 1 };
        ways(folders, self.folders)
            .saturating_mul(ways(letters, self.letters))
            .saturating_mul(tries)
    }
}

/// Returns the number of ways to distribute stars over places, in order.
fn ways(places: u64, stars: u64) -> u64 {
    // Each partial product is a binomial coefficient, so the division is exact. With more than nine
    // stars the result exceeds every bound.
    (1..=stars.min(9)).fold(1_u64, |ways, at| ways.saturating_mul(places + at - 1) / at)
}

/// Returns how often one letter is examined while the text between two stars is tried at each
/// place.
///
/// Overlapping tries begin at occurrences of the text's first letter. So their number is at most
/// that of these letters in the text or, if it begins with a slash, of its folders.
fn looks(piece: &[u8]) -> u64 {
    let folders = piece
        .strip_prefix(b"/")
        .map(|behind| behind.iter().filter(|byte| **byte == b'/').count());
    let is_fixed = !piece.iter().any(|byte| matches!(byte, b'?' | b'[' | b'\\'));
    let Some(first) = piece.first() else { return 1 };
    let times = match folders {
        Some(folders) if is_fixed => folders,
        None if is_fixed => piece
            .iter()
            .filter(|byte| byte.eq_ignore_ascii_case(first))
            .count(),
        _ => piece.len(),
    };
    times as u64
}

/// Replaces the escapes of a quoted pattern that hide a star, a question mark or a bracket.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let mut text = line.to_vec();
    if line.starts_with(b"\"") {
        for (escape, byte) in [(b"\\052", b'*'), (b"\\077", b'?'), (b"\\133", b'[')] {
            while let Some(at) = text
                .windows(escape.len())
                .position(|window| window == escape)
            {
                text.splice(at..at + escape.len(), [byte]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_people_write_are_read_and_others_are_not() {
        let lines = "x\n".repeat(MAX_LINES + 1);
        let bytes = "x".repeat(usize::try_from(MAX_BYTES).unwrap() + 1);
        let table = [
            ("*.o\n/target/\n**/a/**/b/**\n", None),
            ("a\n# **/**/**/**/**/**/**/**/**/**/x\n", None),
            (
                "*.min.*.js\n**/node_modules/**\ndocs/**/*.md\n[Bb]in/\n*.egg-info/\n*-*-*-*.log\n\
                 */*/*/*/*/*.js\n",
                None,
            ),
            (
                "docs/**/api/**/*.md text eol=lf\n**/*-[0-9]*.log\n*-[0-9]*-[0-9]*.log\n",
                None,
            ),
            ("src/**/tests/**/b/**/*.rs diff=rust\n", None),
            (
                &format!("a\n{}b text\n", "**/".repeat(40)),
                Some("its line 2 has more stars"),
            ),
            (
                &format!("{}b text\n", "a*".repeat(9)),
                Some("its line 1 has more stars"),
            ),
            (
                &format!("{}b\n", "**/a/".repeat(4)),
                Some("its line 1 has more stars"),
            ),
            (
                &format!("{}b\n", "**/a*".repeat(4)),
                Some("its line 1 has more stars"),
            ),
            (
                &format!("\"{}b\" text\n", "a\\052".repeat(9)),
                Some("its line 1 has more stars"),
            ),
            (
                &format!("{}b/\n", "a*".repeat(3)),
                Some("its line 1 has more stars"),
            ),
            (
                &format!("*[{}]*a*a*b\n", "a".repeat(99)),
                Some("its line 1 has more stars"),
            ),
            (
                &"a*a*a*b\n".repeat(200),
                Some("its lines up to 72 have more stars"),
            ),
            (&lines, Some("it has more than 20000 lines")),
            (&bytes, Some("it has 1048577 bytes")),
        ];
        for (text, expected) in table {
            let said = excess(text.as_bytes());
            assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
            assert!(
                said.unwrap_or_default()
                    .starts_with(expected.unwrap_or_default())
            );
        }
    }
}
