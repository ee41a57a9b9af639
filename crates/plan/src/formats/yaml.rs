//! The forms of YAML that formats read from a front matter, line by line: a parser of YAML does not
//! say where a value stands, which is written back.

use std::ops::Range;

use crate::fields::attributes::Located;
use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::source::Source;
use crate::mark::Mark;
use crate::tasks::draft::Draft;
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;

/// The marks that begin a text in several lines.
const BLOCKS: &[&str] = &[">", ">-", ">+", "|", "|-", "|+"];

/// A line without the blanks around its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
    column: usize,
}

/// A key with its value.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a str,
    /// What stands beside the key.
    value: Line<'a>,
    /// The lines below it that are further in, or items of a list.
    pub(crate) more: Vec<Line<'a>>,
}

/// Returns the lines of a front matter, apart from its rules, comments and blank lines.
pub(crate) fn lines<'a>(source: &Source<'a>, range: Range<usize>) -> Vec<Line<'a>> {
    let mut found = Vec::new();
    for (offset, line) in source.lines(range) {
        let text = line.trim_start_matches(['\u{feff}', ' ', '\t']);
        let column = line.len() - text.len();
        let text = text.trim_end();
        if !text.is_empty() && !text.starts_with('#') && !matches!(text, "---" | "...") {
            found.push(Line {
                text,
                offset: offset + column,
                column,
            });
        }
    }
    found
}

/// Returns the keys of the mapping whose first line is the first of these.
pub(crate) fn entries<'a>(lines: &[Line<'a>]) -> Vec<Entry<'a>> {
    let column = lines.first().map_or(0, |line| line.column);
    let mut found: Vec<Entry<'a>> = Vec::new();
    for line in lines {
        let is_key = line.column <= column && !line.is_item();
        match line.field().filter(|_| is_key) {
            Some(entry) => found.push(entry),
            None => {
                if let Some(last) = found.last_mut() {
                    last.more.push(*line);
                }
            }
        }
    }
    found
}

/// Returns the lines of each item of the list that these lines begin with, without its mark.
pub(crate) fn items<'a>(lines: &[Line<'a>]) -> Vec<Vec<Line<'a>>> {
    let column = lines.first().map_or(0, |line| line.column);
    let mut found: Vec<Vec<Line<'a>>> = Vec::new();
    for line in lines {
        match line
            .text
            .strip_prefix("- ")
            .filter(|_| line.column == column)
        {
            Some(rest) => {
                let text = rest.trim_start();
                let before = line.text.len() - text.len();
                found.push(vec![Line {
                    text,
                    offset: line.offset + before,
                    column: line.column + before,
                }]);
            }
            None => {
                if let Some(last) = found.last_mut() {
                    last.push(*line);
                }
            }
        }
    }
    found
}

impl<'a> Line<'a> {
    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }

    fn field(&self) -> Option<Entry<'a>> {
        let (key, rest) = self.text.split_once(':')?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let text = rest.trim_start();
        Some(Entry {
            key: key.trim_matches(['"', '\'']),
            value: Line {
                text,
                offset: self.offset + self.text.len() - text.len(),
                column: self.column,
            },
            more: Vec::new(),
        })
    }
}

impl<'a> Entry<'a> {
    /// Returns its text, in one line, without quotes.
    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        if !self.value.text.is_empty() && !BLOCKS.contains(&self.value.text) {
            lines.push(self.value.text);
        }
        lines.extend(self.more.iter().map(|line| line.text));
        match lines.as_slice() {
            [only] => unquoted(scalar(only)),
            _ => unquoted(&lines.join(" ")),
        }
    }

    /// Returns the value beside the key, without quotes, with its place.
    pub(crate) fn word(&self) -> Located {
        let text = without_quotes(scalar(self.value.text));
        let before = self.value.text.find(text).unwrap_or(0);
        Located {
            text: text.to_owned(),
            offset: self.value.offset + before,
        }
    }

    /// Returns the values of a list, in brackets or as items; those of one line are together.
    pub(crate) fn list(&self) -> Vec<Located> {
        let mut found = Vec::new();
        for line in std::iter::once(&self.value).chain(&self.more) {
            let item = line.text.trim_start_matches("- ");
            let values = scalar(item)
                .trim_matches(['[', ']'])
                .replace(['"', '\''], " ");
            if !values.trim().is_empty() {
                found.push(Located {
                    text: values.trim().to_owned(),
                    offset: line.offset + line.text.len() - item.len(),
                });
            }
        }
        found
    }

    /// Sets the status of a task to this value, which becomes `done` once the task is done; an
    /// unknown one is not run.
    pub(crate) fn set_status(
        &self,
        draft: &mut Draft,
        done: &'static str,
        findings: &mut Findings,
    ) {
        let said = self.word();
        if said.text.is_empty() {
            return;
        }
        let known = status::of_text(&said.text);
        draft.status = known.unwrap_or(TaskStatus::Blocked);
        if known.is_none() {
            let message = format!("unknown status `{}`: this task is not run", said.text);
            let code = FindingCode::InvalidValue;
            findings.warn(Pending::new(said.offset, code, &said.text, message));
        }
        draft.marks = vec![Mark {
            range: said.offset..said.offset + said.text.len(),
            done: match draft.status {
                TaskStatus::Done => said.text.into(),
                _ => done.into(),
            },
        }];
    }
}

/// Returns a value without a comment after it.
fn scalar(written: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = written.strip_prefix(quote)
            && let Some(end) = inner.find(quote)
            && inner
                .get(end + 1..)
                .is_some_and(|rest| rest.trim_start().starts_with('#'))
        {
            return written.get(..end + 2).unwrap_or(written);
        }
    }
    if written.starts_with(['"', '\'']) {
        return written;
    }
    written
        .split_once(" #")
        .map_or(written, |(value, _)| value.trim_end())
}

fn without_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote);
        if let Some(inner) = inner.and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Returns a text without the quotes around the whole of it.
fn unquoted(text: &str) -> String {
    for (quote, escaped) in [('"', "\\\""), ('\'', "''")] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.replace(escaped, "").contains(quote)) {
            return inner.replace(escaped, &quote.to_string());
        }
    }
    text.to_owned()
}
