//! Absolute paths into the user's checkout, in files that are brought into a worktree.
//!
//! A check that reads the checkout instead of the worktree tests the wrong code, without a sign of
//! it: an editable install, a linked package, a workspace of Go or an override of cargo may name
//! the checkout. Only files of known kinds are searched. Each path in them that lies in the
//! checkout is replaced by the same path in the worktree, if that is exact: the file is text, and
//! the path begins and ends where a name does. Anything else is refused. Programs that contain such
//! a path in their own format are not searched.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use memchr::memmem::Finder;

use crate::error::refusal::BackLink;
use crate::files::openat;

/// The maximum length of the first line of a script that the kernel reads.
const SHEBANG_BYTES: usize = 255;
/// The maximum size of a file that is searched; of larger ones only scripts exist, whose first line
/// counts.
pub(crate) const MAX_SEARCHED: u64 = 8 << 20;
/// The maximum length of a path that the system opens.
const MAX_PATH: usize = 4_096;
/// How many bytes of a file decide whether it is text.
const HEAD: usize = 8 << 10;

/// The kind of a file that may contain paths into the checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text in which any path can be replaced.
    Text,
    /// Lines that are paths as a whole.
    Lines,
    /// A script, which names its interpreter; other files in its folder are programs, which are not
    /// searched.
    Script,
    /// The result of a configuration that covers many files, so that replacing paths in one is not
    /// enough.
    Configured,
    /// A compiled copy of a file in which paths are replaced.
    Compiled,
}

impl Kind {
    /// Returns the kind of a file by its path, or `None` if it is copied as it is.
    pub(crate) fn for_path(path: &[u8]) -> Option<Self> {
        let (folder, name) = openat::split(path);
        let (_, parent) = openat::split(folder);
        let name = String::from_utf8_lossy(name);
        let has_extension =
            |wanted: &str| Path::new(name.as_ref()).extension() == Some(OsStr::new(wanted));
        let is_editable = name.contains("editable");
        Some(match name.as_ref() {
            "pyvenv.cfg" | "direct_url.json" | "go.work" | "go.mod" | ".modules.yaml"
            | ".pnp.cjs" => Self::Text,
            ".pnpm-workspace-state.json" | ".pnpm-workspace-state-v1.json" => Self::Text,
            "config.toml" | "config" if parent == b".cargo" => Self::Text,
            "CMakeCache.txt" | "build.ninja" | "config.status" | "Makefile" => Self::Configured,
            _ if has_extension("pth") || has_extension("egg-link") => Self::Lines,
            _ if is_editable && has_extension("py") => Self::Text,
            _ if is_editable && has_extension("pyc") => Self::Compiled,
            _ if parent == b"bin" || parent == b".bin" => Self::Script,
            _ => return None,
        })
    }
}

/// The checkout that paths lead to, and the worktree that they are to lead to.
pub(crate) struct Relocation {
    /// The checkout, without links in its path.
    from: PathBuf,
    to: PathBuf,
}

/// A file to be brought into a worktree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Relocated {
    /// It is copied as it is.
    Same,
    /// It gets this content, or this target.
    Other(Vec<u8>),
    /// It is left out, since the tool that made it makes it again.
    LeftOut,
}

impl Relocation {
    /// Creates the relocation from a checkout to a worktree.
    pub(crate) fn new(checkout: &Path, worktree: &Path) -> Self {
        let from = checkout
            .canonicalize()
            .unwrap_or_else(|_| checkout.to_owned());
        Self {
            from,
            to: worktree.to_owned(),
        }
    }

    /// Returns the paths by which a text may name the checkout: its own, and those that lead to it
    /// through links and have the same last name.
    fn names_in(&self, bytes: &[u8]) -> Vec<PathBuf> {
        let mut names = vec![self.from.clone()];
        let Some(last) = self.from.file_name() else {
            return names;
        };
        let needle = [b"/", last.as_bytes()].concat();
        let mut tried = HashSet::new();
        // Where the names and slashes before a place begin, as far as the bytes have been looked
        // at.
        let (mut start, mut seen) = (0, 0);
        for (at, _) in bytes
            .windows(needle.len())
            .enumerate()
            .filter(|(_, window)| *window == needle)
        {
            let end = at + needle.len();
            let mut between = bytes.iter().take(at).enumerate().skip(seen);
            if let Some((other, _)) = between.rfind(|(_, byte)| !is_of_path(**byte)) {
                start = other + 1;
            }
            seen = at;
            if end - start > MAX_PATH || !is_end(bytes.get(end).copied()) {
                continue;
            }
            let Some(name) = bytes.get(start..end).map(OsStr::from_bytes) else {
                continue;
            };
            // The path of a URL follows two slashes.
            let name = PathBuf::from_iter(Path::new(name).components());
            let is_new = name.is_absolute() && !names.contains(&name) && tried.insert(name.clone());
            if is_new && name.canonicalize().is_ok_and(|real| real == self.from) {
                names.push(name);
            }
        }
        names
    }

    /// Relocates the content of a file; fails at a path into the checkout that cannot be replaced.
    pub(crate) fn content(&self, kind: Kind, bytes: &[u8]) -> Result<Relocated, BackLink> {
        match kind {
            Kind::Compiled => Ok(Relocated::LeftOut),
            Kind::Configured => match self.first(bytes) {
                Some(at) => Err(BackLink::Configured {
                    line: line_of(bytes, at),
                }),
                None => Ok(Relocated::Same),
            },
            Kind::Script => self.script(bytes),
            Kind::Text => self.text(bytes),
            Kind::Lines => self.lines(bytes),
        }
    }

    /// Relocates a script. An archive may follow its first line, whose content is not text.
    fn script(&self, bytes: &[u8]) -> Result<Relocated, BackLink> {
        let is_script = bytes.starts_with(b"#!");
        let is_text = !bytes.get(..HEAD).unwrap_or(bytes).contains(&0);
        if !is_script {
            return if is_text {
                self.text(bytes)
            } else {
                Ok(Relocated::Same)
            };
        }
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(bytes.len());
        let (first, rest) = bytes.split_at(end);
        let before = self.text(first)?;
        if let Relocated::Other(line) = &before {
            let has_space = self
                .to
                .as_os_str()
                .as_bytes()
                .iter()
                .any(u8::is_ascii_whitespace);
            if line.len() > SHEBANG_BYTES || has_space {
                return Err(BackLink::Shebang);
            }
        }
        let after = self.text(rest)?;
        Ok(match (before, after) {
            (Relocated::Same, Relocated::Same) => Relocated::Same,
            (before, after) => Relocated::Other([or(before, first), or(after, rest)].concat()),
        })
    }

    /// Replaces every path into the checkout.
    fn text(&self, bytes: &[u8]) -> Result<Relocated, BackLink> {
        self.replaced(bytes, is_end)
    }

    /// Replaces every path into the checkout, where a space is part of a name; a line that leads
    /// there through a link as well.
    fn lines(&self, bytes: &[u8]) -> Result<Relocated, BackLink> {
        let through: Vec<Vec<u8>> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| self.line(line))
            .collect();
        let through = through.concat();
        Ok(
            match self.replaced(&through, |next| is_end(next) && next != Some(b' '))? {
                Relocated::Same if through != bytes => Relocated::Other(through),
                other => other,
            },
        )
    }

    /// Replaces a line that is a path which leads into the checkout through a link.
    fn line(&self, line: &[u8]) -> Vec<u8> {
        let end = line
            .iter()
            .rposition(|byte| !byte.is_ascii_whitespace())
            .map_or(0, |last| last + 1);
        let (path, rest) = line.split_at(end);
        match self.through_links(Path::new(OsStr::from_bytes(path))) {
            Some(target) => [target.as_os_str().as_bytes(), rest].concat(),
            None => line.to_vec(),
        }
    }

    /// Returns the path in the worktree for an absolute path that leads into the checkout through a
    /// link, or `None` for any other path.
    fn through_links(&self, path: &Path) -> Option<PathBuf> {
        if !path.is_absolute() || self.below(path).is_some() {
            return None;
        }
        self.below(&path.canonicalize().ok()?)
    }

    fn replaced(&self, bytes: &[u8], ends: fn(Option<u8>) -> bool) -> Result<Relocated, BackLink> {
        let mut found = bytes.to_vec();
        for from in self.names_in(bytes) {
            let [plain, encoded] =
                [Self::plain, percent_encoded].map(|form| [form(&from), form(&self.to)]);
            found = replace(&found, &plain, ends);
            if encoded != plain {
                found = replace(&found, &encoded, ends);
            }
        }
        if found == bytes {
            return Ok(Relocated::Same);
        }
        if std::str::from_utf8(bytes).is_err() || bytes.contains(&0) {
            return Err(BackLink::NotText {
                line: self.first(bytes).map_or(1, |at| line_of(bytes, at)),
            });
        }
        Ok(Relocated::Other(found))
    }

    fn plain(path: &Path) -> Vec<u8> {
        path.as_os_str().as_bytes().to_vec()
    }

    /// Returns where the first path into the checkout begins.
    fn first(&self, bytes: &[u8]) -> Option<usize> {
        let names = self.names_in(bytes);
        let forms = names
            .iter()
            .flat_map(|from| [Self::plain(from), percent_encoded(from)]);
        forms
            .filter_map(|form| position(bytes, 0, &form, is_end))
            .min()
    }

    /// Returns the target in the worktree of a link at a path of the checkout. A target that leads
    /// into the checkout from outside, absolute or by the way of other links, leads into the
    /// worktree.
    pub(crate) fn link(&self, at: &Path, target: &Path) -> Relocated {
        if let Some(inside) = self.below(target) {
            return Relocated::Other(Self::plain(&inside));
        }
        if target.is_relative() && stays_within(at.parent().unwrap_or(at), target) {
            return Relocated::Same;
        }
        let real = self.from.join(at).canonicalize().ok();
        real.and_then(|real| self.below(&real))
            .map_or(Relocated::Same, |inside| {
                Relocated::Other(Self::plain(&inside))
            })
    }

    /// Reports whether an absolute path is in the checkout.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.below(path).is_some()
    }

    /// Returns the line of the first path into the checkout, or `None` if there is none.
    pub(crate) fn line_of_first(&self, bytes: &[u8]) -> Option<usize> {
        self.first(bytes).map(|at| line_of(bytes, at))
    }

    /// Returns the line of a file outside the checkout that leads into it, or `None` if none does.
    pub(crate) fn line_in(&self, path: &Path) -> Option<usize> {
        let kind =
            Kind::for_path(path.as_os_str().as_bytes()).filter(|kind| *kind != Kind::Compiled)?;
        let is_searched = path
            .metadata()
            .is_ok_and(|found| found.len() <= MAX_SEARCHED);
        let bytes = is_searched.then(|| std::fs::read(path).ok()).flatten()?;
        match self.content(kind, &bytes) {
            Ok(Relocated::Same) => None,
            _ => self.line_of_first(&bytes).or(Some(1)),
        }
    }

    /// Returns the path in the worktree for an absolute path in the checkout.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.from).ok()?;
        let climbs = rest.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| {
            if rest.as_os_str().is_empty() {
                self.to.clone()
            } else {
                self.to.join(rest)
            }
        })
    }
}

fn or(relocated: Relocated, same: &[u8]) -> Vec<u8> {
    match relocated {
        Relocated::Other(bytes) => bytes,
        Relocated::Same | Relocated::LeftOut => same.to_vec(),
    }
}

/// Reports whether a relative target of a link in a folder never leaves the top.
pub(crate) fn stays_within(folder: &Path, target: &Path) -> bool {
    let mut depth = folder.components().count();
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return false,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    true
}

/// Replaces every occurrence of a path that is not part of a longer name.
fn replace(bytes: &[u8], [from, to]: &[Vec<u8>; 2], ends: fn(Option<u8>) -> bool) -> Vec<u8> {
    let (mut replaced, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = position(bytes, bytes.len() - rest.len(), from, ends) {
        let (kept, found) = rest.split_at(at - (bytes.len() - rest.len()));
        replaced.extend_from_slice(kept);
        replaced.extend_from_slice(to);
        (_, rest) = found.split_at(from.len());
    }
    replaced.extend_from_slice(rest);
    replaced
}

/// Returns where a path begins that is not part of a longer name, at or after a position.
fn position(
    bytes: &[u8],
    start: usize,
    path: &[u8],
    ends: fn(Option<u8>) -> bool,
) -> Option<usize> {
    let windows = bytes.windows(path.len().max(1)).enumerate().skip(start);
    let begins = |at: usize| {
        let (before, _) = bytes.split_at(at);
        ends_outside_path(before) || ends_scheme(before) || ends_option(before)
    };
    let mut found = windows
        .filter(|(_, window)| *window == path)
        .map(|(at, _)| at);
    found.find(|at| begins(*at) && ends(bytes.get(at + path.len()).copied()))
}

/// Reports whether a path after these bytes is no part of a longer one.
fn ends_outside_path(before: &[u8]) -> bool {
    before.last().is_none_or(|last| !is_of_path(*last))
}

/// Reports whether a path after these bytes is the value of a compiler's option: `-I/usr/include`,
/// `-isystem/usr`.
fn ends_option(before: &[u8]) -> bool {
    let letters = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    let dash = before
        .get(..before.len() - letters)
        .and_then(|before| before.strip_suffix(b"-"));
    letters > 0 && dash.is_some_and(ends_outside_path)
}

/// Reports whether a path after these bytes is the path of a URL.
fn ends_scheme(before: &[u8]) -> bool {
    before.ends_with(b"://")
}

/// Reports whether a path ends before this byte: it is no further part of its last name.
pub(crate) fn is_end(next: Option<u8>) -> bool {
    next.is_none_or(|next| !is_of_name(next))
}

fn is_of_path(byte: u8) -> bool {
    is_of_name(byte) || byte == b'/'
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"._-~+@%".contains(&byte)
}

/// Returns what finds a path in the forms in which files have it: as it is, as in URLs, and with
/// escaped slashes.
pub(crate) fn finders(path: &Path) -> Vec<Finder<'static>> {
    let plain = path.as_os_str().as_bytes().to_vec();
    let names: Vec<&[u8]> = plain.split(|byte| *byte == b'/').collect();
    let forms = BTreeSet::from([
        percent_encoded(path),
        names.join(&b"\\/"[..]),
        plain.clone(),
    ]);
    forms
        .iter()
        .map(|form| Finder::new(form).into_owned())
        .collect()
}

/// Encodes a path as URLs do.
fn percent_encoded(path: &Path) -> Vec<u8> {
    let mut encoded = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            encoded.push(*byte);
        } else {
            encoded.extend(format!("%{byte:02X}").into_bytes());
        }
    }
    encoded
}

/// Returns the number of a line, from 1.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relocated(kind: Kind, text: &str) -> Result<String, BackLink> {
        let relocation = Relocation::new(Path::new("/home/u/my proj"), Path::new("/state/T1"));
        Ok(match relocation.content(kind, text.as_bytes())? {
            Relocated::Same => text.to_owned(),
            Relocated::Other(bytes) => String::from_utf8(bytes).unwrap(),
            Relocated::LeftOut => "left out".to_owned(),
        })
    }

    #[test]
    fn only_whole_paths_into_the_checkout_are_replaced() {
        let table = [
            (Kind::Lines, "/home/u/my proj/src\n", "/state/T1/src\n"),
            (Kind::Lines, "/home/u/my proj\n", "/state/T1\n"),
            (
                Kind::Lines,
                "/home/u/my proj other/src\n",
                "/home/u/my proj other/src\n",
            ),
            (
                Kind::Lines,
                "import x; x.add('/home/u/my proj/a')",
                "import x; x.add('/state/T1/a')",
            ),
            (Kind::Lines, "../src\n", "../src\n"),
            (
                Kind::Text,
                "/home/u/my proj/home/u/my proj",
                "/state/T1/home/u/my proj",
            ),
            (
                Kind::Text,
                "home = /home/u/my proj-2/bin",
                "home = /home/u/my proj-2/bin",
            ),
            (Kind::Text, "/mnt/home/u/my proj/a", "/mnt/home/u/my proj/a"),
            (
                Kind::Text,
                "rustflags = [\"-L/home/u/my proj/lib\"]",
                "rustflags = [\"-L/state/T1/lib\"]",
            ),
            (
                Kind::Text,
                "-isystem/home/u/my proj/a",
                "-isystem/state/T1/a",
            ),
            (
                Kind::Text,
                "x-I/home/u/my proj a/-I/home/u/my proj",
                "x-I/home/u/my proj a/-I/home/u/my proj",
            ),
            (
                Kind::Text,
                "M = {'a': '/home/u/my proj/a', 'b': '/usr/b'}",
                "M = {'a': '/state/T1/a', 'b': '/usr/b'}",
            ),
            (
                Kind::Text,
                r#"{"url": "file:///home/u/my%20proj"}"#,
                r#"{"url": "file:///state/T1"}"#,
            ),
            (
                Kind::Text,
                "paths = [\"/home/u/my proj/a\", \"/home/u/my proj\"]",
                "paths = [\"/state/T1/a\", \"/state/T1\"]",
            ),
            (
                Kind::Script,
                "#!/home/u/my proj/.venv/bin/python\nimport a\n",
                "#!/state/T1/.venv/bin/python\nimport a\n",
            ),
            (
                Kind::Script,
                "VIRTUAL_ENV='/home/u/my proj/.venv'\n",
                "VIRTUAL_ENV='/state/T1/.venv'\n",
            ),
            (
                Kind::Script,
                "\u{0}ELF /home/u/my proj/src",
                "\u{0}ELF /home/u/my proj/src",
            ),
            (Kind::Compiled, "anything", "left out"),
            (Kind::Configured, "SOURCE=/elsewhere", "SOURCE=/elsewhere"),
        ];
        for (kind, text, expected) in table {
            assert_eq!(relocated(kind, text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_refused_with_its_line() {
        let refused = [
            (
                Kind::Configured,
                "A=1\nSOURCE=/home/u/my proj\n",
                BackLink::Configured { line: 2 },
            ),
            (
                Kind::Configured,
                "A=1\nFLAGS=-I/home/u/my proj/include\n",
                BackLink::Configured { line: 2 },
            ),
            (
                Kind::Text,
                "\n\n/home/u/my proj/a \u{0}",
                BackLink::NotText { line: 3 },
            ),
            (
                Kind::Script,
                "#!/bin/sh\nx /home/u/my proj/a \u{0}",
                BackLink::NotText { line: 2 },
            ),
        ];
        for (kind, text, expected) in refused {
            assert_eq!(relocated(kind, text), Err(expected), "{text}");
        }
        let long = Relocation::new(Path::new("/p"), Path::new(&format!("/{}", "x".repeat(300))));
        assert_eq!(
            long.content(Kind::Script, b"#!/p/bin/python\n"),
            Err(BackLink::Shebang)
        );
        let spaced = Relocation::new(Path::new("/p"), Path::new("/a b"));
        assert_eq!(
            spaced.content(Kind::Script, b"#!/p/bin/python\n"),
            Err(BackLink::Shebang)
        );
    }

    /// A committed file can be one name from its beginning to its end.
    #[test]
    fn each_byte_is_looked_at_once() {
        let text = "/p".repeat(1 << 19);
        let relocation = Relocation::new(Path::new("/p"), Path::new("/T1"));
        let expected = format!("/T1{}", text.strip_prefix("/p").unwrap());
        assert!(
            relocation.content(Kind::Text, text.as_bytes())
                == Ok(Relocated::Other(expected.into_bytes()))
        );
    }

    #[test]
    fn kinds_are_told_by_names() {
        let table = [
            (
                ".venv/lib/python3.12/site-packages/__editable__.demo-1.pth",
                Some(Kind::Lines),
            ),
            (
                ".venv/lib/python3.12/site-packages/__editable___demo_finder.py",
                Some(Kind::Text),
            ),
            (
                "site-packages/__pycache__/__editable___demo_finder.cpython-312.pyc",
                Some(Kind::Compiled),
            ),
            (".venv/bin/pytest", Some(Kind::Script)),
            ("node_modules/.bin/tsc", Some(Kind::Script)),
            (".cargo/config.toml", Some(Kind::Text)),
            ("config.toml", None),
            ("build/CMakeCache.txt", Some(Kind::Configured)),
            ("build/Makefile", Some(Kind::Configured)),
            ("go.work", Some(Kind::Text)),
            (".env", None),
        ];
        for (path, expected) in table {
            assert_eq!(Kind::for_path(path.as_bytes()), expected, "{path}");
        }
    }
}
