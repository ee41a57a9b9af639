//! Where a text is not valid in its language.

mod place;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

use place::{ChangedRows, Mark, blamed, line_around};

/// Maximum number of errors that are described.
const MAX_DESCRIBED: usize = 20;
/// Maximum number of errors that are compared with those of another version.
const MAX_COMPARED: usize = 10_000;
/// Maximum number of characters of the text that an error shows.
const SHOWN_CHARACTERS: usize = 40;

/// A place where a text is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the byte in the line, from 1.
    pub column: usize,
    /// Such as ``unexpected `)` ``.
    pub message: String,
    /// The text of the line, of a long one only what is around the error.
    pub text: String,
}

/// The places where a text is not valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxErrors {
    /// The first of them.
    pub first: Vec<SyntaxError>,
    /// Their number.
    pub total: usize,
}

impl SyntaxErrors {
    /// Finds the syntax errors of a text.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn find(source: &Source<'_>, stop: Stop<'_>) -> Result<SyntaxErrors, CodeError> {
        let mut finder = Finder {
            source,
            max: MAX_DESCRIBED,
            spots: Vec::new(),
            total: 0,
        };
        finder.search(source.root(), stop)?;
        let first = finder.spots.into_iter().map(|spot| spot.error).collect();
        Ok(SyntaxErrors {
            first,
            total: finder.total,
        })
    }

    /// Finds the syntax errors of a text that the text before a change does not have, wherever it
    /// has them. Each is named where the change made it, which is rarely where the parser gave up.
    ///
    /// # Errors
    /// As [`Source::parse`].
    pub fn introduced(
        language: Language,
        before: Option<&str>,
        after: &str,
        stop: Stop<'_>,
    ) -> Result<SyntaxErrors, CodeError> {
        let after = Source::parse(language, after, stop)?;
        if !after.has_error() {
            // Most changes introduce none, so what was before is not even parsed.
            return Ok(SyntaxErrors::default());
        }
        let before = before
            .map(|before| Source::parse(language, before, stop))
            .transpose()?;
        let spots = new_spots(before.as_ref(), &after, stop)?;
        let rows = ChangedRows::between(before.as_ref().map(Source::text), after.text());
        let marks = blamed(before.as_ref(), &after, &rows, !spots.is_empty(), stop)?;
        let mut first = if marks.is_empty() {
            near_change(&after, spots, &rows, stop)?
        } else {
            with_marks(&after, spots, &marks, &rows)
        };
        let total = first.len();
        first.truncate(MAX_DESCRIBED);
        Ok(SyntaxErrors { first, total })
    }
}

/// An error with its node, or what the parser missed there.
struct Spot<'n> {
    node: Node<'n>,
    error: SyntaxError,
}

/// Returns the errors of a text that another one does not have.
fn new_spots<'n>(
    before: Option<&Source<'_>>,
    after: &'n Source<'_>,
    stop: Stop<'_>,
) -> Result<Vec<Spot<'n>>, CodeError> {
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    if let Some(before) = before {
        for Spot { error, .. } in spots(before, before.root(), stop)? {
            *known.entry((error.message, error.text)).or_default() += 1;
        }
    }
    let is_new = |spot: &Spot<'_>| match known
        .get_mut(&(spot.error.message.clone(), spot.error.text.clone()))
    {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    Ok(spots(after, after.root(), stop)?
        .into_iter()
        .filter(is_new)
        .collect())
}

fn spots<'n>(
    source: &Source<'_>,
    root: Node<'n>,
    stop: Stop<'_>,
) -> Result<Vec<Spot<'n>>, CodeError> {
    let mut finder = Finder {
        source,
        max: MAX_COMPARED,
        spots: Vec::new(),
        total: 0,
    };
    finder.search(root, stop)?;
    Ok(finder.spots)
}

/// Returns the errors that are the brackets and quotes to blame, and those in the changed rows that
/// do not follow from them.
fn with_marks(
    source: &Source<'_>,
    spots: Vec<Spot<'_>>,
    marks: &[Mark],
    rows: &ChangedRows,
) -> Vec<SyntaxError> {
    let is_own = |spot: &Spot<'_>| {
        rows.distance(spot.node.start_position().row) == 0
            && !marks.iter().any(|mark| follows(spot.node, mark))
    };
    let own = spots.into_iter().filter(is_own).map(|spot| spot.error);
    let marked = marks
        .iter()
        .map(|mark| error_at(source, mark.byte, mark.message()));
    let mut all: Vec<SyntaxError> = own.chain(marked).collect();
    all.sort_by_key(|error| (error.line, error.column));
    all
}

fn follows(node: Node<'_>, mark: &Mark) -> bool {
    let closes = node.is_missing() && mark.closed_by() == Some(node.kind());
    closes || node.start_position().row == mark.row || node.byte_range().contains(&mark.byte)
}

/// Returns errors with their places in the changed rows as far as they reach into these, the
/// nearest to them first.
fn near_change(
    source: &Source<'_>,
    found: Vec<Spot<'_>>,
    rows: &ChangedRows,
    stop: Stop<'_>,
) -> Result<Vec<SyntaxError>, CodeError> {
    let mut errors = Vec::new();
    for Spot { node, error } in found {
        let (begin, end) = (node.start_position().row, node.end_position().row);
        if begin >= rows.after.start || end < rows.after.start {
            errors.push(error);
            continue;
        }
        let mut inner = Vec::new();
        for child in node.children(&mut node.walk()) {
            if stop() {
                return Err(CodeError::Stopped);
            }
            inner.extend(
                spots(source, child, stop)?
                    .into_iter()
                    .map(|spot| spot.error),
            );
        }
        inner.retain(|error| rows.distance(error.line.saturating_sub(1)) == 0);
        if inner.is_empty() {
            inner.push(error_at(
                source,
                row_begin(source.text(), rows.after.start),
                "invalid syntax".to_owned(),
            ));
        }
        errors.append(&mut inner);
    }
    errors.sort_by_key(|error| {
        (
            rows.distance(error.line.saturating_sub(1)),
            error.line,
            error.column,
        )
    });
    errors.dedup();
    Ok(errors)
}

/// Returns the first byte of a row that is no white space.
fn row_begin(text: &str, row: usize) -> usize {
    let begin = text.split_inclusive('\n').take(row).map(str::len).sum();
    match text.lines().nth(row) {
        Some(line) => begin + line.len() - line.trim_start().len(),
        None => begin,
    }
}

/// Describes an error at a byte of a text.
fn error_at(source: &Source<'_>, at: usize, message: String) -> SyntaxError {
    let text = source.text();
    let (before, _) = text.split_at(text.floor_char_boundary(at));
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = at - before.rfind('\n').map_or(0, |end| end + 1) + 1;
    SyntaxError {
        line,
        column,
        message,
        text: line_around(text, at),
    }
}

struct Finder<'s, 't, 'n> {
    source: &'s Source<'t>,
    /// The maximum number of errors to describe.
    max: usize,
    spots: Vec<Spot<'n>>,
    total: usize,
}

impl<'n> Visitor<'n> for Finder<'_, '_, 'n> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if !node.is_error() && !node.is_missing() {
            return if node.has_error() {
                Step::Into
            } else {
                Step::Over
            };
        }
        self.total += 1;
        if self.spots.len() < self.max {
            let (at, message) = (node.start_position(), self.message(node));
            let text = line_around(self.source.text(), node.start_byte());
            let error = SyntaxError {
                line: at.row + 1,
                column: at.column + 1,
                message,
                text,
            };
            self.spots.push(Spot { node, error });
        }
        // What is inside an error is part of it.
        Step::Over
    }
}

impl<'n> Finder<'_, '_, 'n> {
    fn search(&mut self, root: Node<'n>, stop: Stop<'_>) -> Result<(), CodeError> {
        if root.has_error() {
            walk(root, self, stop)
        } else {
            Ok(())
        }
    }

    fn message(&self, node: Node<'_>) -> String {
        if node.is_missing() {
            return format!("missing `{}`", node.kind());
        }
        let text = self.source.text_of(node);
        let line = text.lines().next().unwrap_or_default();
        let shown: String = line.chars().take(SHOWN_CHARACTERS).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        format!("unexpected `{shown}{cut}`")
    }
}
