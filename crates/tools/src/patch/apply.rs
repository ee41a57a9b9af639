//! Applies hunks to a text.

use super::model::{Hunk, Line, PatchError};

/// How many characters of a line an error shows.
const SHOWN_CHARACTERS: usize = 80;

/// Returns the text with the hunks applied, in the line ends of the text.
///
/// Old lines are found where the hunk says, or else nearest to it: exactly, or else ignoring white
/// space at the end of lines, or else around them. Lines that stay keep their bytes.
///
/// # Errors
/// [`PatchError::NotFound`] with the number of the first hunk that does not fit.
pub(crate) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, PatchError> {
    let line_end = if text.matches("\r\n").count() * 2 > text.matches('\n').count() {
        "\r\n"
    } else {
        "\n"
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut patched, mut done, mut drift) = (String::with_capacity(text.len()), 0, 0);
    for (number, hunk) in hunks.iter().enumerate() {
        let old = hunk.old();
        let at = place(&lines, hunk, &old, done, drift)
            .ok_or_else(|| not_found(number + 1, hunk, &old))?;
        drift = hunk.line.map_or(drift, |line| {
            at.checked_signed_diff(start_of(line, &old)).unwrap_or(0)
        });
        let between = lines.iter().take(at).skip(done);
        between.for_each(|line| push(&mut patched, line, line_end));
        let (_, old) = lines.split_at(at);
        done = at + write(&mut patched, hunk, old, line_end);
    }
    let rest = lines.iter().skip(done);
    rest.for_each(|line| push(&mut patched, line, line_end));
    Ok(patched)
}

/// Appends a line of the old text; the last one may have had no line end, and may no longer be the
/// last.
fn push(patched: &mut String, line: &str, line_end: &str) {
    if !patched.is_empty() && !patched.ends_with('\n') {
        patched.push_str(line_end);
    }
    patched.push_str(line);
}

/// Appends a hunk's new lines, and returns the number of old ones; lines that stay are copied from
/// the text.
fn write(patched: &mut String, hunk: &Hunk, mut old: &[&str], line_end: &str) -> usize {
    let before = old.len();
    // Lines that end in a carriage return show how the author wants all of them to end.
    let knows_line_ends = hunk.lines.iter().any(Line::has_carriage_return);
    for line in &hunk.lines {
        match line {
            Line::Context(_) => {
                if let Some((kept, rest)) = old.split_first() {
                    push(patched, kept, line_end);
                    old = rest;
                }
            }
            Line::Removed(_) => {
                if let Some((_, rest)) = old.split_first() {
                    old = rest;
                }
            }
            Line::Added(text) => {
                push(patched, text, line_end);
                patched.push_str(if knows_line_ends { "\n" } else { line_end });
            }
            Line::NoLineEnd => {}
        }
    }
    if ends_without_line_end(hunk) && old.is_empty() {
        let bare = patched.strip_suffix('\n').unwrap_or(patched);
        patched.truncate(bare.strip_suffix('\r').unwrap_or(bare).len());
    }
    before - old.len()
}

/// Reports whether the new text ends with a line that has no line end.
fn ends_without_line_end(hunk: &Hunk) -> bool {
    let mut lines = hunk
        .lines
        .iter()
        .rev()
        .skip_while(|line| matches!(line, Line::Removed(_)));
    lines.next() == Some(&Line::NoLineEnd)
        && matches!(lines.next(), Some(Line::Added(_) | Line::Context(_)))
}

impl Line {
    fn has_carriage_return(&self) -> bool {
        match self {
            Line::Context(text) | Line::Removed(text) | Line::Added(text) => text.ends_with('\r'),
            Line::NoLineEnd => false,
        }
    }
}

impl Hunk {
    /// Returns the lines that have to be in the text.
    fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            Line::Context(text) | Line::Removed(text) => Some(text.as_str()),
            Line::Added(_) | Line::NoLineEnd => None,
        });
        old.collect()
    }
}

/// Returns the index of the first old line by its number; a hunk that only adds lines adds them
/// after that line.
fn start_of(line: usize, old: &[&str]) -> usize {
    if old.is_empty() {
        line
    } else {
        line.saturating_sub(1)
    }
}

/// Finds where a hunk applies, not before the end of the one before it.
fn place(lines: &[&str], hunk: &Hunk, old: &[&str], done: usize, drift: isize) -> Option<usize> {
    let wanted = hunk
        .line
        .map(|line| start_of(line, old).saturating_add_signed(drift));
    let from = match &hunk.below {
        None => done,
        Some(below) => {
            let is_it = |line: &&str| line.trim() == below.trim();
            done + lines.get(done..)?.iter().position(is_it)? + 1
        }
    };
    if old.is_empty() {
        let at = wanted.unwrap_or(if hunk.below.is_some() {
            from
        } else {
            lines.len()
        });
        return Some(at.clamp(from, lines.len()));
    }
    let last = lines.len().checked_sub(old.len())?;
    STRICTNESS.iter().find_map(|essence| {
        let fits = |at: &usize| {
            let found = lines.iter().skip(*at);
            found
                .zip(old)
                .all(|(line, old)| essence(line) == essence(old))
        };
        if hunk.at_end && last >= from && fits(&last) {
            return Some(last);
        }
        let mut fitting = (from..=last).filter(fits);
        match wanted {
            None => fitting.next(),
            Some(wanted) => fitting.min_by_key(|at| at.abs_diff(wanted)),
        }
    })
}

/// The parts of lines that are compared, the strictest first; line ends never are.
const STRICTNESS: [fn(&str) -> &str; 3] = [
    |line| line.trim_end_matches(['\r', '\n']),
    str::trim_end,
    str::trim,
];

fn not_found(number: usize, hunk: &Hunk, old: &[&str]) -> PatchError {
    PatchError::NotFound {
        hunk: number,
        first: cut_line(
            old.iter()
                .find(|line| !line.trim().is_empty())
                .copied()
                .unwrap_or_default(),
        ),
        below: hunk
            .below
            .as_deref()
            .map(|below| format!(" below `{}`", cut_line(below)))
            .unwrap_or_default(),
    }
}

fn cut_line(text: &str) -> String {
    text.trim()
        .chars()
        .take(SHOWN_CHARACTERS)
        .collect::<String>()
}
