//! Parses both grammars.

use super::model::{
    ADD, BEGIN, Change, DELETE, END, END_OF_FILE, Hunk, Line, MOVE, NO_LINE_END, Patch, PatchError,
    UPDATE,
};

/// How many characters of a wrong line an error shows.
const SHOWN_CHARACTERS: usize = 60;

/// Parses either grammar; a fence around it is ignored.
///
/// # Errors
/// Returns what is wrong, with the line's number.
pub(crate) fn parse(text: &str) -> Result<Patch, PatchError> {
    let text = text.trim_start_matches(['\n', '\r']);
    // A text whose first line ends in CRLF was sent that way; otherwise a carriage return belongs
    // to its line.
    let is_crlf = text
        .split('\n')
        .next()
        .is_some_and(|line| line.ends_with('\r'));
    let bare = |line| {
        if is_crlf {
            str::strip_suffix(line, '\r').unwrap_or(line)
        } else {
            line
        }
    };
    let mut lines: Vec<&str> = text.split('\n').map(bare).collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let mut parser = Parser { lines, at: 0 };
    parser.skip_fence();
    let changes = match parser.peek() {
        Some(line) if line.trim() == BEGIN => parser.begun()?,
        _ => parser.unified()?,
    };
    if changes.is_empty() {
        return Err(PatchError::Empty);
    }
    let patch = Patch { changes };
    let mut paths: Vec<&str> = patch.paths().collect();
    paths.sort_unstable();
    let twice = paths
        .windows(2)
        .find(|pair| pair.first() == pair.last())
        .and_then(<[&str]>::first);
    match twice.map(|path| (*path).to_owned()) {
        Some(path) => Err(PatchError::Twice { path }),
        None => Ok(patch),
    }
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek();
        self.at += usize::from(line.is_some());
        line
    }

    fn wrong(&self, expected: &'static str) -> PatchError {
        let got = self
            .peek()
            .unwrap_or("the end")
            .chars()
            .take(SHOWN_CHARACTERS)
            .collect();
        PatchError::Line {
            line: self.at + 1,
            expected,
            got,
        }
    }

    /// Skips a Markdown fence around the patch.
    fn skip_fence(&mut self) {
        if is_fence(self.lines.first()) && is_fence(self.lines.last()) {
            self.lines.pop();
            self.at = 1;
        }
    }

    /// Parses what follows `*** Begin Patch`.
    fn begun(&mut self) -> Result<Vec<Change>, PatchError> {
        let mut changes = Vec::new();
        self.next();
        loop {
            let Some(line) = self.peek() else {
                return Err(self.wrong(END));
            };
            self.next();
            if line.trim() == END {
                return if self.peek().is_none() {
                    Ok(changes)
                } else {
                    Err(self.wrong("nothing after the end of the patch"))
                };
            }
            changes.push(if let Some(path) = line.strip_prefix(ADD) {
                Change::Add {
                    path: path.trim_end().to_owned(),
                    content: self.added(),
                }
            } else if let Some(path) = line.strip_prefix(DELETE) {
                Change::Delete {
                    path: path.trim_end().to_owned(),
                }
            } else if let Some(path) = line.strip_prefix(UPDATE) {
                self.updated(path.trim_end())?
            } else {
                self.at -= 1;
                return Err(
                    self.wrong("`*** Add File: `, `*** Delete File: ` or `*** Update File: `")
                );
            });
        }
    }

    /// Parses the lines of a new file.
    fn added(&mut self) -> String {
        let mut content = String::new();
        while let Some(line) = self.peek() {
            if let Some(text) = line.strip_prefix('+') {
                content.push_str(text);
                content.push('\n');
            } else if line == NO_LINE_END {
                content.pop();
            } else {
                break;
            }
            self.next();
        }
        content
    }

    /// Parses the hunks of a file in the first grammar.
    fn updated(&mut self, path: &str) -> Result<Change, PatchError> {
        let moved_to = self
            .peek()
            .and_then(|line| line.strip_prefix(MOVE))
            .map(|target| target.trim_end().to_owned());
        self.at += usize::from(moved_to.is_some());
        let mut hunks: Vec<Hunk> = Vec::new();
        while let Some(line) = self.peek() {
            if line.trim() == END_OF_FILE {
                hunks.last_mut().ok_or_else(|| self.wrong("a hunk"))?.at_end = true;
            } else if line.starts_with("*** ") {
                break;
            } else if let Some(head) = line.strip_prefix("@@") {
                hunks.push(Hunk {
                    line: old_line(head),
                    below: heading(head),
                    ..Hunk::default()
                });
            } else {
                // The first hunk may have no head, and an empty line of context may have lost its
                // space.
                if hunks.is_empty() {
                    hunks.push(Hunk::default());
                }
                let line = body_line(line)
                    .ok_or_else(|| self.wrong("a line that begins with ` `, `-`, `+` or `@@`"))?;
                hunks
                    .last_mut()
                    .into_iter()
                    .for_each(|hunk| hunk.lines.push(line.clone()));
            }
            self.next();
        }
        hunks.retain(|hunk| !hunk.lines.is_empty());
        if hunks.is_empty() && moved_to.is_none() {
            return Err(self.wrong("a hunk that begins with `@@`"));
        }
        Ok(Change::Update {
            path: path.to_owned(),
            moved_to,
            hunks,
        })
    }

    /// Parses a unified diff of any number of files.
    fn unified(&mut self) -> Result<Vec<Change>, PatchError> {
        let mut changes = Vec::new();
        let (mut git, mut is_after_hunks) = (GitHead::default(), false);
        while let Some(line) = self.peek() {
            if let Some(paths) = line.strip_prefix("diff --git ") {
                changes.extend(std::mem::replace(&mut git, GitHead::from_paths(paths)).change());
                is_after_hunks = false;
            } else if line.starts_with("--- ") {
                changes.push(self.unified_file(&std::mem::take(&mut git))?);
                is_after_hunks = true;
                continue;
            } else if is_after_hunks && matches!(line.trim_end(), "--") {
                // What follows is the signature of a mail.
                break;
            } else if line.starts_with("@@") || (is_after_hunks && !line.trim().is_empty()) {
                return Err(self.wrong(
                    "`diff --git`, `--- ` or the end: the head of a hunk counts its lines",
                ));
            } else if let Some(refused) = refused(line) {
                return Err(PatchError::Refused {
                    line: self.at + 1,
                    what: refused,
                });
            } else {
                git.read(line);
            }
            self.next();
        }
        changes.extend(git.change());
        Ok(changes)
    }

    /// Parses one file from its line `--- `.
    fn unified_file(&mut self, git: &GitHead) -> Result<Change, PatchError> {
        let old = self.next().and_then(|line| name(line, "--- "));
        let Some(new) = self.peek().filter(|line| line.starts_with("+++ ")) else {
            return Err(self.wrong("`+++ ` after `--- `"));
        };
        let new = name(new, "+++ ");
        self.next();
        let (old, new) = without_prefixes(old, new);
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            hunks.push(self.unified_hunk()?);
        }
        match (old, new) {
            (None, Some(path)) => Ok(Change::Add {
                path,
                content: new_text(&hunks),
            }),
            (Some(path), None) => Ok(Change::Delete { path }),
            (Some(path), Some(target)) if git.is_renamed() => Ok(Change::Update {
                path,
                moved_to: Some(target),
                hunks,
            }),
            (Some(path), Some(target)) if path == target => Ok(Change::Update {
                path,
                moved_to: None,
                hunks,
            }),
            (Some(_), Some(_)) => {
                Err(self.wrong("`rename from` and `rename to` above two different paths"))
            }
            (None, None) => Err(self.wrong("a path in `--- ` or `+++ `")),
        }
    }

    /// Parses a hunk by the numbers of lines in its head, since a removed line may look like a
    /// head.
    fn unified_hunk(&mut self) -> Result<Hunk, PatchError> {
        let head = self.peek().unwrap_or_default();
        let (line, old, new) =
            ranges(head).ok_or_else(|| self.wrong("`@@ -line,count +line,count @@`"))?;
        self.next();
        let (mut old, mut new) = (old, new);
        let mut hunk = Hunk {
            line: Some(line),
            ..Hunk::default()
        };
        while old > 0 || new > 0 || self.peek() == Some(NO_LINE_END) {
            let parsed = self.peek().and_then(body_line);
            let parsed =
                parsed.ok_or_else(|| self.wrong("as many lines as the head of the hunk counts"))?;
            match parsed {
                Line::Context(_) => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                Line::Removed(_) => old = old.saturating_sub(1),
                Line::Added(_) => new = new.saturating_sub(1),
                Line::NoLineEnd => {}
            }
            hunk.lines.push(parsed);
            self.next();
        }
        Ok(hunk)
    }
}

fn is_fence(line: Option<&&str>) -> bool {
    line.is_some_and(|line| line.starts_with("```"))
}

/// What git writes above the hunks of a file.
#[derive(Default)]
struct GitHead {
    path: Option<String>,
    renamed: (Option<String>, Option<String>),
    is_new: bool,
    is_deleted: bool,
}

impl GitHead {
    /// Reads the paths of `diff --git`, which are equal unless the file is renamed.
    fn from_paths(paths: &str) -> GitHead {
        let half = paths.len() / 2;
        let same = paths.get(..half).zip(paths.get(half + 1..));
        let same =
            same.and_then(|(old, new)| Some((old.strip_prefix("a/")?, new.strip_prefix("b/")?)));
        GitHead {
            path: same
                .filter(|(old, new)| old == new)
                .map(|(_, new)| new.to_owned()),
            ..GitHead::default()
        }
    }

    fn read(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("rename from ") {
            self.renamed.0 = Some(unquoted(path.trim_end()));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.renamed.1 = Some(unquoted(path.trim_end()));
        }
        self.is_new |= line.starts_with("new file mode ");
        self.is_deleted |= line.starts_with("deleted file mode ");
    }

    fn is_renamed(&self) -> bool {
        self.renamed.1.is_some()
    }

    /// Returns the change of a file without hunks: one that is renamed, empty and new, or empty and
    /// deleted.
    fn change(self) -> Option<Change> {
        match (self.renamed, self.path) {
            ((Some(path), Some(target)), _) => Some(Change::Update {
                path,
                moved_to: Some(target),
                hunks: Vec::new(),
            }),
            (_, Some(path)) if self.is_new => Some(Change::Add {
                path,
                content: String::new(),
            }),
            (_, Some(path)) if self.is_deleted => Some(Change::Delete { path }),
            _ => None,
        }
    }
}

/// Returns what a line of a diff asks for that a patch cannot do.
fn refused(line: &str) -> Option<&'static str> {
    let makes_plain_file = ["new file mode 100644", "deleted file mode "]
        .iter()
        .any(|head| line.starts_with(head));
    if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        Some("binary files cannot be patched")
    } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
        Some("a patch copies no files; use copy_file first")
    } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
        Some("a patch changes no modes; use chmod in a command")
    } else if line.starts_with("new file mode ") && !makes_plain_file {
        Some(
            "a patch creates only plain files; leave the mode out, and use chmod or ln in a \
             command",
        )
    } else {
        None
    }
}

/// Returns the path of a line `--- ` or `+++ `, without a time; `None` for `/dev/null`.
fn name(line: &str, mark: &str) -> Option<String> {
    let path = line.strip_prefix(mark)?.split('\t').next()?.trim_end();
    (path != "/dev/null").then(|| unquoted(path))
}

/// Removes git's prefixes where every path has its own.
fn without_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    match (without_prefix(&old, "a/"), without_prefix(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}

fn without_prefix(path: &Option<String>, prefix: &str) -> Option<Option<String>> {
    match path {
        Some(path) => path.strip_prefix(prefix).map(|bare| Some(bare.to_owned())),
        None => Some(None),
    }
}

/// Returns a path that git has quoted as it is; octal numbers stand for bytes.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return path.to_owned();
    };
    let (mut bytes, mut rest) = (Vec::new(), quoted.bytes());
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(first @ b'0'..=b'3') => {
                let mut digit = || u32::from(rest.next().unwrap_or(b'0').saturating_sub(b'0'));
                let value = u32::from(first - b'0') * 64 + digit() * 8 + digit();
                u8::try_from(value).unwrap_or(b'?')
            }
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the text of a file whose hunks only add lines.
fn new_text(hunks: &[Hunk]) -> String {
    let mut text = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        match line {
            Line::Added(line) | Line::Context(line) => {
                text.push_str(line);
                text.push('\n');
            }
            Line::NoLineEnd => drop(text.pop()),
            Line::Removed(_) => {}
        }
    }
    text
}

fn body_line(line: &str) -> Option<Line> {
    if line == NO_LINE_END {
        return Some(Line::NoLineEnd);
    }
    let mut characters = line.chars();
    let mark = characters.next();
    let text = characters.as_str().to_owned();
    match mark {
        Some(' ') | None => Some(Line::Context(text)),
        Some('-') => Some(Line::Removed(text)),
        Some('+') => Some(Line::Added(text)),
        _ => None,
    }
}

/// Returns the line number in the head of a hunk.
fn old_line(head: &str) -> Option<usize> {
    ranges(&format!("@@{head}")).map(|(line, ..)| line)
}

/// Returns the text in the head of a hunk that names a line above it.
fn heading(head: &str) -> Option<String> {
    let text = head.trim();
    (!text.is_empty() && old_line(head).is_none())
        .then(|| text.trim_end_matches("@@").trim_end().to_owned())
}

/// Reads `@@ -line,count +line,count @@` as the old line and both counts.
fn ranges(head: &str) -> Option<(usize, usize, usize)> {
    let mut words = head.strip_prefix("@@")?.split_whitespace();
    let (line, old) = range(words.next()?.strip_prefix('-')?)?;
    let (_, new) = range(words.next()?.strip_prefix('+')?)?;
    Some((line, old, new))
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((line, count)) => Some((line.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}
