//! A patch as a value, and its rendering in the first grammar.

use std::fmt;

pub(super) const BEGIN: &str = "*** Begin Patch";
pub(super) const END: &str = "*** End Patch";
pub(super) const ADD: &str = "*** Add File: ";
pub(super) const DELETE: &str = "*** Delete File: ";
pub(super) const UPDATE: &str = "*** Update File: ";
pub(super) const MOVE: &str = "*** Move to: ";
pub(super) const END_OF_FILE: &str = "*** End of File";
pub(super) const NO_LINE_END: &str = "\\ No newline at end of file";

/// A patch: changes of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) changes: Vec<Change>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A new file.
    Add { path: String, content: String },
    /// A file that is deleted.
    Delete { path: String },
    /// A file whose text changes, that is moved, or both.
    Update {
        path: String,
        moved_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// Lines that replace others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The line number where the old lines begin, from 1, as far as the author knew it.
    pub(crate) line: Option<usize>,
    /// A line above the old lines, such as the head of their function.
    pub(crate) below: Option<String>,
    pub(crate) lines: Vec<Line>,
    /// Whether the old lines are the last ones of the file.
    pub(crate) at_end: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line that stays.
    Context(String),
    /// A line that is removed.
    Removed(String),
    /// A new line.
    Added(String),
    /// The line before has no line end, since it is the file's last.
    NoLineEnd,
}

impl Patch {
    /// Returns every path that the patch reads or changes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.changes
            .iter()
            .flat_map(|change| match change {
                Change::Add { path, .. } | Change::Delete { path } => [Some(path.as_str()), None],
                Change::Update { path, moved_to, .. } => [Some(path.as_str()), moved_to.as_deref()],
            })
            .flatten()
    }

    /// Replaces every path.
    ///
    /// # Errors
    /// Returns the first error of `rename`.
    pub(crate) fn rename<E>(
        &mut self,
        mut rename: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<(), E> {
        for change in &mut self.changes {
            match change {
                Change::Add { path, .. } | Change::Delete { path } => *path = rename(path)?,
                Change::Update { path, moved_to, .. } => {
                    *path = rename(path)?;
                    if let Some(target) = moved_to {
                        *target = rename(target)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", BEGIN)?;
        for change in &self.changes {
            match change {
                Change::Add { path, content } => {
                    writeln!(f, "{}{path}", ADD)?;
                    for line in content
                        .split_inclusive('\n')
                        .map(|line| line.strip_suffix('\n').unwrap_or(line))
                    {
                        writeln!(f, "+{line}")?;
                    }
                    if !content.is_empty() && !content.ends_with('\n') {
                        writeln!(f, "{}", NO_LINE_END)?;
                    }
                }
                Change::Delete { path } => writeln!(f, "{}{path}", DELETE)?,
                Change::Update {
                    path,
                    moved_to,
                    hunks,
                } => {
                    writeln!(f, "{}{path}", UPDATE)?;
                    if let Some(target) = moved_to {
                        writeln!(f, "{}{target}", MOVE)?;
                    }
                    hunks.iter().try_for_each(|hunk| write!(f, "{hunk}"))?;
                }
            }
        }
        write!(f, "{}", END)
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count =
            |counts: fn(&Line) -> bool| self.lines.iter().filter(|line| counts(line)).count();
        match (&self.line, &self.below) {
            (Some(line), _) => {
                let old = count(|line| matches!(line, Line::Context(_) | Line::Removed(_)));
                let new = count(|line| matches!(line, Line::Context(_) | Line::Added(_)));
                writeln!(f, "@@ -{line},{old} +{line},{new} @@")?;
            }
            (None, Some(below)) => writeln!(f, "@@ {below}")?,
            (None, None) => writeln!(f, "@@")?,
        }
        for line in &self.lines {
            match line {
                Line::Context(text) => writeln!(f, " {text}")?,
                Line::Removed(text) => writeln!(f, "-{text}")?,
                Line::Added(text) => writeln!(f, "+{text}")?,
                Line::NoLineEnd => writeln!(f, "{}", NO_LINE_END)?,
            }
        }
        if self.at_end {
            writeln!(f, "{}", END_OF_FILE)
        } else {
            Ok(())
        }
    }
}

/// Why a text is not a patch, or why a patch does not fit a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// A line has no meaning where it stands.
    #[error("line {line} of the patch: expected {expected}, got `{got}`")]
    Line {
        line: usize,
        expected: &'static str,
        got: String,
    },
    /// The patch changes nothing.
    #[error("the patch changes no file; it begins with `*** Begin Patch`, `diff --git` or `--- `")]
    Empty,
    /// Something that patches do not do here.
    #[error("line {line} of the patch: {what}")]
    Refused { line: usize, what: &'static str },
    /// Two changes of one file.
    #[error("the patch changes {path} twice; join its hunks in one section")]
    Twice { path: String },
    /// A hunk's old lines are not in the file.
    #[error(
        "hunk {hunk} does not fit: the file has no lines that begin with `{first}`{below}; read \
         the file again"
    )]
    NotFound {
        hunk: usize,
        first: String,
        below: String,
    },
}
