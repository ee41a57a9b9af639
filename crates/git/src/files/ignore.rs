//! Decides which files git ignores, exactly as git does, from rules that we read ourselves.
//!
//! Libgit2 is not used: it drops a `!` line that reverts a rule of *another* file, so it would
//! leave an agent's file out of its commit (a property test compares us with git). The rules are
//! read below the worktree's descriptor. A link in the place of a rules file is ignored, as by git,
//! and a pipe cannot hang us.

use std::cell::Cell;
use std::rc::Rc;

use git2::Repository;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::glob::{Glob, Style};
use crate::files::{bounds, glob, openat};

/// The name of the rules file in a folder.
const RULES: &[u8] = b".gitignore";
/// The largest rules file that is read: the longest known has a few thousand lines.
const RULES_BYTES: u64 = bounds::MAX_BYTES;
/// The maximum number of steps for matching one tree's names against its rules: some ten seconds.
/// Half a million files and two hundred rules with stars take a tenth of that.
const MOST_WORK: u64 = 4 << 30;

/// The rules that apply in a folder: its own, and those of the folders above.
#[derive(Debug)]
pub(crate) struct Rules {
    patterns: Vec<Pattern>,
    above: Option<Rc<Rules>>,
}

/// The rules that apply everywhere: the repository's and the user's own.
#[derive(Debug)]
pub(crate) struct Standard {
    /// The rules of each file. The first file that decides wins.
    lists: Vec<Vec<Pattern>>,
    ignore_case: bool,
    /// The number of steps that matching has taken so far.
    work: Cell<u64>,
}

/// One line of a rules file.
#[derive(Debug)]
struct Pattern {
    /// The length of the path of the file's folder, without a trailing slash.
    base: usize,
    /// The literal start of the pattern.
    plain: Vec<u8>,
    /// The rest of the pattern, or `None` if there is none.
    glob: Option<Glob>,
    negated: bool,
    folders_only: bool,
    /// Whether it matches names in any folder.
    anywhere: bool,
}

/// What the rules say of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A line ignores it.
    Ignored,
    /// A line that begins with `!` keeps it.
    Kept,
    /// No line names it.
    Undecided,
}

impl Standard {
    /// Reads the rules that apply everywhere.
    pub(crate) fn read(repository: &Repository) -> Result<Standard, GitError> {
        let config = repository
            .config()
            .map_err(GitError::library("read the configuration"))?;
        let own = match config.get_path("core.excludesfile") {
            Ok(path) => Some(path),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                bounds::users_file("git/ignore")
            }
            Err(error) => return Err(GitError::library("read core.excludesfile")(error)),
        };
        let ignore_case = config.get_bool("core.ignorecase").unwrap_or(false);
        let files = std::iter::once(repository.commondir().join("info/exclude")).chain(own);
        let mut lists = Vec::new();
        for path in files {
            if let Some(bytes) = bounds::read_own(&path)? {
                lists.push(parse(&bytes, b"", ignore_case));
            }
        }
        Ok(Standard {
            lists,
            ignore_case,
            work: Cell::new(0),
        })
    }

    /// Reports whether a folder with these sorted names may have rules of its own.
    pub(crate) fn may_have_rules(&self, names: &[(Vec<u8>, bool)]) -> bool {
        self.ignore_case
            || names
                .binary_search_by(|(name, _)| name.as_slice().cmp(RULES))
                .is_ok()
    }

    /// Reports whether a file or folder is ignored, if the folder that contains it is not.
    ///
    /// # Errors
    /// If the rules of this tree take too many steps, which rules that people write do not.
    pub(crate) fn is_ignored(
        &self,
        rules: &Rules,
        path: &[u8],
        is_folder: bool,
    ) -> Result<bool, GitError> {
        Ok(self.verdict(rules, path, is_folder)? == Verdict::Ignored)
    }

    /// Returns what the rules say of a file or folder, if the folder that contains it is not
    /// ignored.
    ///
    /// # Errors
    /// As [`Standard::is_ignored`].
    pub(crate) fn verdict(
        &self,
        rules: &Rules,
        path: &[u8],
        is_folder: bool,
    ) -> Result<Verdict, GitError> {
        let verdict = self.judge(rules, path, is_folder);
        if self.work.get() > MOST_WORK {
            let path = openat::path_of(path);
            return Err(GitError::TooLarge {
                path,
                what: "the cost of its ignore rules",
                limit: MOST_WORK,
            });
        }
        Ok(verdict)
    }

    fn judge(&self, rules: &Rules, path: &[u8], is_folder: bool) -> Verdict {
        let name = openat::split(path).1;
        let decided = |patterns: &[Pattern]| {
            let decides = |pattern: &&Pattern| {
                let work = self.work.get().saturating_add(pattern.work(path.len()));
                self.work.set(work);
                work <= MOST_WORK && pattern.names(path, name, is_folder, self.ignore_case)
            };
            patterns.iter().rev().find(decides).map(Pattern::verdict)
        };
        let mut at = Some(rules);
        while let Some(rules) = at {
            if let Some(verdict) = decided(&rules.patterns) {
                return verdict;
            }
            at = rules.above.as_deref();
        }
        let mut lists = self.lists.iter();
        lists
            .find_map(|patterns| decided(patterns))
            .unwrap_or(Verdict::Undecided)
    }
}

impl Rules {
    /// Reads the rules of an open folder.
    pub(crate) fn read(
        folder: &[u8],
        opened: &std::os::fd::OwnedFd,
        above: Option<Rc<Rules>>,
        standard: &Standard,
    ) -> Result<Rc<Rules>, GitError> {
        let path = || openat::path_of(&[folder, b"/", RULES].concat());
        let bytes = match openat::read(opened, RULES, RULES_BYTES) {
            Ok(Some((bytes, _))) => bytes,
            Ok(None) => {
                return Err(GitError::TooLarge {
                    path: path(),
                    what: "the size in bytes",
                    limit: RULES_BYTES,
                });
            }
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR) => Vec::new(),
            Err(Errno::INVAL) if is_folder(opened) => Vec::new(),
            Err(Errno::INVAL | Errno::NXIO) => {
                return Err(GitError::Unstorable {
                    path: path(),
                    reason: "ignore rules must be in a regular file".to_owned(),
                });
            }
            Err(error) => return Err(GitError::errno("read", path())(error)),
        };
        Ok(Rc::new(Rules {
            patterns: parse(&bytes, folder, standard.ignore_case),
            above,
        }))
    }
}

impl Pattern {
    /// Returns what the pattern says of what it names.
    fn verdict(&self) -> Verdict {
        match self.negated {
            true => Verdict::Kept,
            false => Verdict::Ignored,
        }
    }

    /// Parses one line, or returns `None` if it has no pattern.
    fn parse(line: &[u8], base: &[u8], ignore_case: bool) -> Option<Pattern> {
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        let line = without_trailing_spaces(line.strip_suffix(b"\r").unwrap_or(line));
        let (negated, text) = line
            .strip_prefix(b"!")
            .map_or((false, line), |rest| (true, rest));
        let (folders_only, text) = text
            .strip_suffix(b"/")
            .map_or((false, text), |rest| (true, rest));
        let anywhere = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let plain = text
            .iter()
            .position(|byte| glob::is_special(*byte))
            .unwrap_or(text.len());
        // For a path, git compares the literal start first and matches only the rest, so a `**`
        // directly after it counts as one between slashes. A name is matched as a whole.
        let style = Style {
            is_path: !anywhere,
            ignore_case,
        };
        let (plain, glob) = match text.split_at_checked(plain) {
            Some((_, b"")) | None => (text, None),
            Some(_) if anywhere => (b"".as_slice(), Some(Glob::new(text, style))),
            Some((plain, rest)) => (plain, Some(Glob::new(rest, style))),
        };
        Some(Pattern {
            base: base.len(),
            plain: plain.to_vec(),
            glob,
            negated,
            folders_only,
            anywhere,
        })
    }

    /// Returns the maximum number of steps for matching a path of this length.
    fn work(&self, path: usize) -> u64 {
        self.glob.as_ref().map_or(1, |glob| glob.work(path))
    }

    fn names(&self, path: &[u8], name: &[u8], is_folder: bool, ignore_case: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let same = |one: &[u8], two: &[u8]| {
            if ignore_case {
                one.eq_ignore_ascii_case(two)
            } else {
                one == two
            }
        };
        let below = match self.anywhere {
            true => Some(name),
            false if self.base == 0 => Some(path),
            false => path.get(self.base + 1..),
        };
        let Some((begin, rest)) = below.and_then(|below| below.split_at_checked(self.plain.len()))
        else {
            return false;
        };
        same(begin, &self.plain)
            && self
                .glob
                .as_ref()
                .map_or(rest.is_empty(), |glob| glob.matches(rest))
    }
}

fn parse(bytes: &[u8], base: &[u8], ignore_case: bool) -> Vec<Pattern> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| Pattern::parse(line, base, ignore_case))
        .collect()
}

/// Removes trailing spaces, unless a backslash protects them.
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
    openat::look(opened, RULES).is_ok_and(|stat| {
        stat.is_some_and(|stat| openat::kind(&stat) == rustix::fs::FileType::Directory)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::program::run::{Program, Run};

    /// Pieces for patterns that reach every corner of git's matching.
    fn pattern() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "b",
            "ab",
            "A",
            "/",
            "/",
            "/",
            "*",
            "*",
            "**",
            "**/",
            "/**/",
            "**/**/",
            "/**",
            "?",
            "[ab]",
            "[!a]",
            "[^/]",
            "[a-c]",
            "[[:alpha:]]",
            "[[:upper:]]",
            "[]a]",
            "[a",
            "[[:no:]]",
            "\\a",
            "\\*",
            "\\/",
            "***",
            ".",
            "-",
        ]);
        prop::collection::vec(piece, 1..9).prop_map(|pieces| pieces.concat())
    }

    fn path() -> impl Strategy<Value = String> {
        let name =
            prop::sample::select(vec!["a", "b", "ab", "aab", "A", "*", "a.b", "-", "[a", "c"]);
        prop::collection::vec(name, 1..7).prop_map(|names| names.join("/"))
    }

    /// Asks git which patterns match which paths. The patterns are given as attributes, one per
    /// pattern, and all paths at once.
    fn named_by_git(
        patterns: &[String],
        paths: &[String],
        ignore_case: bool,
    ) -> BTreeSet<(usize, String)> {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let lines = patterns
            .iter()
            .enumerate()
            .map(|(at, pattern)| format!("{pattern} at{at}\n"));
        std::fs::write(
            folder.path().join(".gitattributes"),
            lines.collect::<String>(),
        )
        .unwrap();
        let git_dir = folder.path().join(".git");
        let args = ["check-attr", "-z", "--all", "--"]
            .into_iter()
            .chain(paths.iter().map(String::as_str));
        let run = Run::new(&git_dir, folder.path(), args);
        let run = run.settings([("core.ignorecase".to_owned(), ignore_case.to_string().into())]);
        let said = String::from_utf8(Program::find().unwrap().require(&run).unwrap()).unwrap();
        let fields: Vec<&str> = said.split_terminator('\0').collect();
        let entry = |fields: &[&str]| {
            Some((
                fields[1].strip_prefix("at")?.parse().unwrap(),
                fields[0].to_owned(),
            ))
        };
        fields.chunks(3).filter_map(entry).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 24,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_pattern_names_what_it_names_to_git(
            patterns in prop::collection::vec(pattern(), 60),
            paths in prop::collection::btree_set(path(), 60),
            ignore_case in any::<bool>(),
        ) {
            let paths: Vec<String> = paths.into_iter().collect();
            let by_git = named_by_git(&patterns, &paths, ignore_case);
            prop_assert!(!by_git.is_empty());
            for (at, text) in patterns.iter().enumerate() {
                // Attributes have no patterns for folders only.
                if text.ends_with('/') { continue }
                let pattern = Pattern::parse(text.as_bytes(), b"", ignore_case).unwrap();
                for path in &paths {
                    let name = openat::split(path.as_bytes()).1;
                    let ours = pattern.names(path.as_bytes(), name, false, ignore_case);
                    prop_assert_eq!(ours, by_git.contains(&(at, path.clone())),
                        "{:?} {:?} {}", text, path, ignore_case);
                }
            }
        }
    }

    #[test]
    fn rules_that_take_too_long_are_an_error() {
        let parsed = |work| {
            let standard = Standard {
                lists: Vec::new(),
                ignore_case: false,
                work: Cell::new(work),
            };
            let rules = Rules {
                patterns: parse(b"**/a/**/b\n", b"", false),
                above: None,
            };
            standard.is_ignored(&rules, b"a/c/b", false)
        };
        assert!(parsed(0).unwrap());
        assert!(matches!(parsed(MOST_WORK), Err(GitError::TooLarge { .. })));
    }

    #[test]
    fn trailing_spaces_count_only_behind_a_backslash() {
        let table = [
            ("a  ", "a"),
            ("a\\ ", "a\\ "),
            ("a\\  ", "a\\ "),
            (" a", " a"),
            ("  ", ""),
            ("a\\", "a\\"),
        ];
        for (line, expected) in table {
            assert_eq!(
                without_trailing_spaces(line.as_bytes()),
                expected.as_bytes(),
                "{line:?}"
            );
        }
    }
}
