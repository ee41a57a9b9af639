//! What git ignores, decided exactly as git does, from rules that we read ourselves.
//!
//! libgit2 is not asked: it drops a `!` line that takes back a rule of *another* file, so it would leave an
//! agent's file out of its commit (a property test compares us with git). The rules are read below the
//! worktree's descriptor: a link in the place of a rules file counts for nothing, as with git, and a pipe
//! cannot hang us.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use git2::Repository;
use rustix::io::Errno;

use crate::beneath;
use crate::error::GitError;
use crate::glob;

/// The file of rules in a folder.
const RULES: &[u8] = b".gitignore";
/// The largest file of rules that is read: the longest known has a few thousand lines.
const RULES_BYTES: u64 = 4 << 20;

/// The rules that hold in a folder: its own, and those of the folders above.
#[derive(Debug)]
pub(crate) struct Rules {
    patterns: Vec<Pattern>,
    above: Option<Rc<Rules>>,
}

/// The rules that hold everywhere: the repository's and the user's own.
#[derive(Debug)]
pub(crate) struct Standard {
    /// The first that decides wins.
    lists: Vec<Vec<Pattern>>,
    ignore_case: bool,
}

/// One line of a rules file.
#[derive(Debug)]
struct Pattern {
    /// The folder of the file, without a closing slash.
    base: Vec<u8>,
    text: Vec<u8>,
    /// How many bytes of the text are plain.
    plain: usize,
    negated: bool,
    folders_only: bool,
    /// Whether it names a file wherever it is.
    anywhere: bool,
}

impl Standard {
    /// Reads the rules that hold everywhere.
    pub(crate) fn of(repository: &Repository) -> Result<Standard, GitError> {
        let config = repository.config().map_err(GitError::library("read the configuration"))?;
        let own = match config.get_path("core.excludesfile") {
            Ok(path) => Some(path),
            Err(error) if error.code() == git2::ErrorCode::NotFound => users_rules(),
            Err(error) => return Err(GitError::library("read core.excludesfile")(error)),
        };
        let files = std::iter::once(repository.commondir().join("info/exclude")).chain(own);
        let mut lists = Vec::new();
        for path in files {
            match std::fs::read(&path) {
                Ok(bytes) => lists.push(parse(&bytes, b"")),
                Err(error)
                    if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(GitError::Io { doing: "read", path, source: error }),
            }
        }
        Ok(Standard { lists, ignore_case: config.get_bool("core.ignorecase").unwrap_or(false) })
    }

    /// Tells whether a file or folder is ignored, given that the folder it is in is not.
    pub(crate) fn is_ignored(&self, rules: &Rules, path: &[u8], is_folder: bool) -> bool {
        let name = beneath::split(path).1;
        let decided = |patterns: &[Pattern]| {
            let decides = |pattern: &&Pattern| pattern.names(path, name, is_folder, self.ignore_case);
            patterns.iter().rev().find(decides).map(|pattern| !pattern.negated)
        };
        let mut at = Some(rules);
        while let Some(rules) = at {
            if let Some(ignored) = decided(&rules.patterns) {
                return ignored;
            }
            at = rules.above.as_deref();
        }
        self.lists.iter().find_map(|patterns| decided(patterns)).unwrap_or(false)
    }
}

impl Rules {
    /// Reads the rules of an open folder.
    pub(crate) fn read(
        folder: &[u8],
        opened: &std::os::fd::OwnedFd,
        above: Option<Rc<Rules>>,
    ) -> Result<Rc<Rules>, GitError> {
        let path = || beneath::path_of(&[folder, b"/", RULES].concat());
        let bytes = match beneath::read(opened, RULES, RULES_BYTES) {
            Ok(Some((bytes, _))) => bytes,
            Ok(None) => return Err(GitError::TooLarge { path: path(), what: "the size in bytes", limit: RULES_BYTES }),
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR) => Vec::new(),
            Err(Errno::INVAL) if is_folder(opened) => Vec::new(),
            Err(Errno::INVAL | Errno::NXIO) => {
                return Err(GitError::Unstorable {
                    path: path(),
                    reason: "rules for git must be a plain file".to_owned(),
                });
            }
            Err(error) => return Err(GitError::errno("read", path())(error)),
        };
        Ok(Rc::new(Rules { patterns: parse(&bytes, folder), above }))
    }
}

impl Pattern {
    /// Reads one line; none if it says nothing.
    fn parse(line: &[u8], base: &[u8]) -> Option<Pattern> {
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        let line = without_trailing_spaces(line.strip_suffix(b"\r").unwrap_or(line));
        let (negated, text) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (folders_only, text) = text.strip_suffix(b"/").map_or((false, text), |rest| (true, rest));
        let anywhere = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let plain = text.iter().position(|byte| glob::is_special(*byte)).unwrap_or(text.len());
        Some(Pattern { base: base.to_vec(), text: text.to_vec(), plain, negated, folders_only, anywhere })
    }

    fn names(&self, path: &[u8], name: &[u8], is_folder: bool, ignore_case: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let same = |one: &[u8], two: &[u8]| if ignore_case { one.eq_ignore_ascii_case(two) } else { one == two };
        if self.anywhere {
            return match self.plain == self.text.len() {
                true => same(&self.text, name),
                false => glob::matches(&self.text, name, false, ignore_case),
            };
        }
        let below = if self.base.is_empty() { path } else { path.get(self.base.len() + 1..).unwrap_or_default() };
        // Git compares the plain beginning first and matches only the rest, so a `**` right behind it counts as one
        // between slashes.
        let (Some((begin, rest)), Some((plain, glob))) =
            (below.split_at_checked(self.plain), self.text.split_at_checked(self.plain))
        else {
            return false;
        };
        same(begin, plain) && (glob.is_empty() && rest.is_empty() || glob::matches(glob, rest, true, ignore_case))
    }
}

fn parse(bytes: &[u8], base: &[u8]) -> Vec<Pattern> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').filter_map(|line| Pattern::parse(line, base)).collect()
}

/// Cuts the spaces at the end off, unless a backslash holds them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = None;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' => end = end.or(Some(at)),
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 1;
                end = None;
            }
            _ => end = None,
        }
        at += 1;
    }
    line.get(..end.unwrap_or(line.len())).unwrap_or(line)
}

fn is_folder(opened: &std::os::fd::OwnedFd) -> bool {
    beneath::look(opened, RULES)
        .is_ok_and(|stat| stat.is_some_and(|stat| beneath::kind(&stat) == rustix::fs::FileType::Directory))
}

/// Gives where the user's rules are if the configuration does not say.
#[expect(clippy::disallowed_methods, reason = "git itself reads these two to find the user's rules")]
fn users_rules() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".config")));
    Some(folder?.join("git/ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_spaces_count_only_behind_a_backslash() {
        let table = [("a  ", "a"), ("a\\ ", "a\\ "), ("a\\  ", "a\\ "), (" a", " a"), ("  ", ""), ("a\\", "a\\")];
        for (line, expected) in table {
            assert_eq!(without_trailing_spaces(line.as_bytes()), expected.as_bytes(), "{line:?}");
        }
    }
}
