//! Where a change broke a text, which is rarely where the parser gave up.
//!
//! A parser takes back what it has understood until the text makes sense again, so that its error
//! may begin in the first line of a file. A bracket or a quote that has no counterpart says where
//! the mistake is.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

/// Maximum number of bytes of its line on each side of an error.
const LINE_BYTES: usize = 120;
const BRACKETS: &str = "()[]{}";
/// Maximum number of brackets that a change is blamed for.
const MAX_BLAMED: usize = 100;

/// The rows that a change touched, from 0, in the text before it and in the one after it.
#[derive(Clone, Debug)]
pub(super) struct ChangedRows {
    pub(super) before: Range<usize>,
    pub(super) after: Range<usize>,
}

impl ChangedRows {
    /// Compares two texts; in a new one, every row counts as changed.
    pub(super) fn between(before: Option<&str>, after: &str) -> ChangedRows {
        let old: Vec<&str> = before.unwrap_or_default().lines().collect();
        let new: Vec<&str> = after.lines().collect();
        let pairs = old.iter().zip(&new);
        let same_begin = pairs.take_while(|(old, new)| old == new).count();
        let rest = old.len().min(new.len()) - same_begin;
        let pairs = old.iter().rev().zip(new.iter().rev()).take(rest);
        let same_end = pairs.take_while(|(old, new)| old == new).count();
        let rows = |count: usize| match same_begin..count - same_end {
            // Where rows were only removed or added, the ones beside the gap.
            gap if gap.is_empty() => gap.start.saturating_sub(1)..gap.start + 1,
            rows => rows,
        };
        ChangedRows {
            before: rows(old.len()),
            after: rows(new.len()),
        }
    }

    /// Returns how many rows a row of the new text is away from the change.
    pub(super) fn distance(&self, row: usize) -> usize {
        let last = self.after.end.saturating_sub(1);
        self.after
            .start
            .saturating_sub(row)
            .max(row.saturating_sub(last))
    }
}

/// A bracket or a quote without its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The place of its byte in the text.
    pub(super) byte: usize,
    /// The number of its row, from 0.
    pub(super) row: usize,
    /// The bracket or the quote itself.
    pub(super) sign: char,
}

impl Mark {
    /// Returns the bracket that would close it.
    pub(super) fn closed_by(self) -> Option<&'static str> {
        match self.sign {
            '(' => Some(")"),
            '[' => Some("]"),
            '{' => Some("}"),
            _ => None,
        }
    }

    pub(super) fn message(self) -> String {
        match self.sign {
            '(' | '[' | '{' => format!("`{}` is not closed", self.sign),
            ')' | ']' | '}' => format!("unexpected `{}`", self.sign),
            _ => "the string that begins here does not end".to_owned(),
        }
    }
}

/// The brackets and strings of a text.
struct Marks {
    language: Language,
    brackets: Vec<Mark>,
    strings: Vec<LongString>,
}

/// A string that goes on in the next row, or a quote that the grammar takes for no string at all.
#[derive(Clone, Copy)]
struct LongString {
    begin: Mark,
    /// The row of its end; `None` if it has no end.
    last_row: Option<usize>,
}

/// Returns the brackets and quotes without counterparts that a change is to blame for, in their
/// order; in the changed rows if there are such, otherwise the one nearest to them. If the parser
/// has found no new error (`is_broken` is false), since the text had one around it before, only a
/// bracket counts with which there are more than before.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn blamed(
    before: Option<&Source<'_>>,
    after: &Source<'_>,
    rows: &ChangedRows,
    is_broken: bool,
    stop: Stop<'_>,
) -> Result<Vec<Mark>, CodeError> {
    let now = Marks::find(after, stop)?;
    let was = before
        .map(|before| Marks::find(before, stop).map(|marks| (marks, before.text())))
        .transpose()?;
    let strings = now.strings_out_of(&rows.after);
    // A string without an end takes the brackets after it for its content.
    if is_broken
        && strings.len()
            > was
                .as_ref()
                .map_or(0, |(marks, _)| marks.strings_out_of(&rows.before).len())
    {
        return Ok(strings.into_iter().take(1).collect());
    }
    let mut found = new_marks(
        &now,
        after.text(),
        was.as_ref().map(|(marks, text)| (marks, *text)),
    );
    if !is_broken {
        let (all, all_before) = (
            unmatched(now.all()),
            was.as_ref().map(|(marks, _)| unmatched(marks.all())),
        );
        let before = |sign: char| all_before.as_ref().map_or(0, |marks| count_of(marks, sign));
        let more: Vec<char> = BRACKETS
            .chars()
            .filter(|sign| count_of(&all, *sign) > before(*sign))
            .collect();
        found.retain(|mark| more.contains(&mark.sign));
    }
    let (inside, outside): (Vec<Mark>, Vec<Mark>) = found
        .into_iter()
        .partition(|mark| rows.after.contains(&mark.row));
    if !inside.is_empty() {
        return Ok(inside.into_iter().take(MAX_BLAMED).collect());
    }
    // Another bracket may have taken the counterpart of one that was added.
    let local = unmatched(now.within(&rows.after));
    let local_before = was
        .as_ref()
        .map(|(marks, _)| unmatched(marks.within(&rows.before)))
        .unwrap_or_default();
    let is_more = |sign: &char| {
        count_of(&outside, *sign) > 0 && count_of(&local, *sign) > count_of(&local_before, *sign)
    };
    let signs: Vec<char> = BRACKETS.chars().filter(is_more).collect();
    let added = local.iter().find(|mark| signs.contains(&mark.sign));
    let nearest = || outside.iter().min_by_key(|mark| rows.distance(mark.row));
    Ok(added.or_else(nearest).copied().into_iter().collect())
}

fn count_of(marks: &[Mark], sign: char) -> usize {
    marks.iter().filter(|mark| mark.sign == sign).count()
}

/// Returns the brackets without counterparts that the text did not have before a change.
fn new_marks(now: &Marks, text: &str, was: Option<(&Marks, &str)>) -> Vec<Mark> {
    let mut known: HashMap<(char, String), usize> = HashMap::new();
    for mark in was.iter().flat_map(|(marks, _)| unmatched(marks.all())) {
        let (_, text) = was.unwrap_or((now, text));
        *known
            .entry((mark.sign, line_around(text, mark.byte)))
            .or_default() += 1;
    }
    let is_new = |mark: &Mark| match known.get_mut(&(mark.sign, line_around(text, mark.byte))) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let mut found = unmatched(now.all());
    // A `)` ends a pattern of `case` in shells, where the grammar does not say so in a text that it
    // does not understand.
    found.retain(|mark| now.language != Language::Shell || mark.sign != ')');
    found.into_iter().filter(is_new).collect()
}

/// Returns the brackets without counterparts, in their order.
fn unmatched(brackets: impl Iterator<Item = Mark>) -> Vec<Mark> {
    let (mut open, mut left): (Vec<Mark>, Vec<Mark>) = (Vec::new(), Vec::new());
    let mut waiting: HashMap<char, usize> = HashMap::new();
    for mark in brackets {
        let Some(opens) = counterpart(mark.sign) else {
            *waiting.entry(mark.sign).or_default() += 1;
            open.push(mark);
            continue;
        };
        // Without one to find, there is no search, which would take time for nothing.
        if waiting.get(&opens).is_none_or(|count| *count == 0) {
            left.push(mark);
            continue;
        }
        while let Some(one) = open.pop() {
            if let Some(count) = waiting.get_mut(&one.sign) {
                *count -= 1;
            }
            if one.sign == opens {
                break;
            }
            left.push(one);
        }
    }
    left.append(&mut open);
    left.sort_unstable_by_key(|mark| mark.byte);
    left
}

/// Returns the bracket that one closes; `None` for one that opens.
fn counterpart(sign: char) -> Option<char> {
    match sign {
        ')' => Some('('),
        ']' => Some('['),
        '}' => Some('{'),
        _ => None,
    }
}

impl Marks {
    fn find(source: &Source<'_>, stop: Stop<'_>) -> Result<Marks, CodeError> {
        let marks = Marks {
            language: source.language(),
            brackets: Vec::new(),
            strings: Vec::new(),
        };
        let mut finder = Finder {
            source,
            marks,
            around: Vec::new(),
        };
        walk(source.root(), &mut finder, stop)?;
        Ok(finder.marks)
    }

    fn all(&self) -> impl Iterator<Item = Mark> {
        self.brackets.iter().copied()
    }

    /// Returns the strings that begin in some rows and do not end in them.
    fn strings_out_of(&self, rows: &Range<usize>) -> Vec<Mark> {
        let goes_out = |string: &&LongString| {
            rows.contains(&string.begin.row)
                && string.last_row.is_none_or(|last| !rows.contains(&last))
        };
        self.strings
            .iter()
            .filter(goes_out)
            .map(|string| string.begin)
            .collect()
    }

    fn within(&self, rows: &Range<usize>) -> impl Iterator<Item = Mark> {
        self.all().filter(|mark| rows.contains(&mark.row))
    }
}

struct Finder<'s, 't, 'n> {
    source: &'s Source<'t>,
    marks: Marks,
    /// The kinds of the nodes around the current one.
    around: Vec<&'n str>,
}

impl<'n> Visitor<'n> for Finder<'_, '_, 'n> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        let parent = self.around.last().copied().unwrap_or_default();
        self.around.push(node.kind());
        if node.is_missing() {
            return Step::Over;
        }
        if is_string(node) {
            self.string(node, parent);
        } else if node.child_count() == 0 && !node.is_named() && parent != "case_item" {
            self.brackets(node);
        }
        Step::Into
    }

    fn leave(&mut self, _: Node<'n>) {
        self.around.pop();
    }
}

impl Finder<'_, '_, '_> {
    fn string(&mut self, node: Node<'_>, parent: &str) {
        let text = self.source.text_of(node);
        let Some(at) = text.find(['"', '\'', '`']) else {
            return;
        };
        let (_, quotes) = text.split_at(at);
        let Some(sign) = quotes.chars().next() else {
            return;
        };
        let (row, last) = (node.start_position().row, node.end_position().row);
        let is_alone =
            parent == "ERROR" && matches!(quotes.len(), 1 | 3) && quotes.chars().all(|c| c == sign);
        if is_alone || last > row {
            let begin = Mark {
                byte: node.start_byte() + at,
                row,
                sign,
            };
            self.marks.strings.push(LongString {
                begin,
                last_row: (!is_alone).then_some(last),
            });
        }
    }

    /// Notes the brackets of a token, such as `(` and `${`.
    fn brackets(&mut self, node: Node<'_>) {
        let token = node.kind();
        let brackets = token.trim_start_matches(['$', '#', '<', '>', '?', '@']);
        if !brackets.chars().all(|sign| BRACKETS.contains(sign)) {
            return;
        }
        let row = node.start_position().row;
        let begin = node.start_byte() + token.len() - brackets.len();
        let marks = brackets.char_indices().map(|(at, sign)| Mark {
            byte: begin + at,
            row,
            sign,
        });
        self.marks.brackets.extend(marks);
    }
}

/// Reports whether a node is a string, or a quote.
fn is_string(node: Node<'_>) -> bool {
    let kind = node.kind();
    if node.is_named() {
        return kind.contains("string") && !kind.contains("content");
    }
    let quotes = kind.trim_start_matches(char::is_alphabetic);
    !quotes.is_empty() && quotes.chars().all(|sign| matches!(sign, '"' | '\'' | '`'))
}

/// Returns the text of the line around a byte.
pub(super) fn line_around(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(text.floor_char_boundary(at));
    let begin = before.len().saturating_sub(LINE_BYTES);
    let (_, before) = before.split_at(before.floor_char_boundary(begin));
    let (after, _) = after.split_at(after.floor_char_boundary(LINE_BYTES));
    let before = before.rsplit('\n').next().unwrap_or(before);
    let after = after.lines().next().unwrap_or_default();
    format!("{before}{after}").trim().to_owned()
}
