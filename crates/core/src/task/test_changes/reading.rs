//! The tests of one version of a file, read line by line.

use super::dialects::Dialect;
use crate::task::test_files::is_test_file;

/// How many lines after a mark the function may begin that it makes a test.
const MARK_REACHES: usize = 12;

/// The tests and assertions in one version of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The tests, in the order of the file.
    pub(super) tests: Vec<TestText>,
    /// Assertions that belong to no test: those of helpers.
    pub(super) outside: usize,
    /// Marks that leave a test out.
    pub(super) skips: usize,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestText {
    pub(super) name: String,
    pub(super) assertions: usize,
}

/// The test whose lines are being read.
struct Open {
    indent: usize,
    at: usize,
}

impl Reading {
    /// Reads a version of a file.
    pub(super) fn read(path: &str, text: &str, dialect: &Dialect) -> Reading {
        let mut reading = Reading::default();
        let is_test = is_test_file(path);
        let (mut open, mut marked, mut in_block): (Option<Open>, usize, bool) = (None, 0, false);
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let code = line.trim();
            if code.is_empty() || is_comment(code, dialect, &mut in_block) {
                continue;
            }
            let indent = line.len() - line.trim_start().len();
            if let Some(test) = &open
                && indent <= test.indent
                && !frames(code)
            {
                open = None;
            }
            marked = if is_mark(code, dialect) {
                MARK_REACHES
            } else {
                marked.saturating_sub(1)
            };
            let next = lines.get(at + 1).copied().unwrap_or_default();
            if let Some(name) = name_of_test(code, next, dialect, marked > 0) {
                open = Some(Open {
                    indent,
                    at: reading.tests.len(),
                });
                reading.tests.push(TestText {
                    name,
                    assertions: 0,
                });
                marked = 0;
            }
            // Production code has assertions of its own, and words like those of skip marks.
            if !is_test && reading.tests.is_empty() && marked == 0 {
                continue;
            }
            reading.skips += skips_in(code, dialect);
            let mut assertions = 0;
            for word in dialect.assertions {
                assertions += words_in(code, word);
            }
            if let Some(open) = &open
                && let Some(test) = reading.tests.get_mut(open.at)
            {
                test.assertions += assertions;
            } else {
                reading.outside += assertions;
            }
        }
        reading
    }
}

/// Reports whether a line is a comment. A comment of several lines begins and ends with a line of
/// its own.
fn is_comment(code: &str, dialect: &Dialect, in_block: &mut bool) -> bool {
    if *in_block {
        *in_block = !code.contains("*/");
        return true;
    }
    if dialect.has_blocks && code.starts_with("/*") {
        *in_block = !code.contains("*/");
        // Marks of PHP stand in such comments.
        return !dialect
            .marks
            .iter()
            .any(|mark| mark.starts_with('@') && code.contains(mark));
    }
    let is_attribute = dialect.comment == "#" && code.starts_with("#[");
    code.starts_with(dialect.comment) && !is_attribute && !code.starts_with("//go:build")
}

/// Reports whether a line only opens or closes the body of what begins at the same indentation.
fn frames(code: &str) -> bool {
    code.starts_with(['{', '}', ')', ']']) || code == "end" || code.starts_with("end)")
}

fn is_mark(code: &str, dialect: &Dialect) -> bool {
    for mark in dialect.marks {
        // `#[test_case(…)]` makes a test, too; `@TestInstance` does not.
        if let Some((_, rest)) = code.split_once(mark)
            && !rest.starts_with(char::is_alphanumeric)
        {
            return true;
        }
    }
    false
}

/// Returns the name of the test that begins in a line.
fn name_of_test(code: &str, next: &str, dialect: &Dialect, is_marked: bool) -> Option<String> {
    for (before, begin) in dialect.declared {
        if let Some(name) = declared_name(code, before, begin) {
            return Some(name.to_owned());
        }
    }
    if is_marked && let Some(name) = function_in(code) {
        return Some(name);
    }
    for word in dialect.macros {
        if let Some(name) = arguments_of(code, word) {
            return Some(name);
        }
    }
    let mut calls = dialect.calls.iter();
    calls.find_map(|word| text_of_call(code, next, word))
}

/// Returns the name that is declared in a line behind a word, if it begins like that of a test.
fn declared_name<'c>(code: &'c str, before: &str, begin: &str) -> Option<&'c str> {
    let rest = if before.is_empty() {
        code
    } else {
        after_word(code, before)?
    };
    let name = identifier(rest);
    let after = rest.strip_prefix(name)?.trim_start();
    let is_test = name.starts_with(begin) && (is_declared(after) || before.starts_with('-'));
    is_test.then_some(name)
}

/// Ruby needs no parentheses.
fn is_declared(after: &str) -> bool {
    after.is_empty() || after.starts_with(['(', '<'])
}

/// Returns what stands behind a word at the beginning of a line, or behind modifiers such as
/// `public`.
fn after_word<'c>(code: &'c str, word: &str) -> Option<&'c str> {
    let at = code.find(word)?;
    let before = code.get(..at)?;
    let rest = code.get(at + word.len()..)?.trim_start();
    (before.chars().all(is_of_modifier) && (before.is_empty() || before.ends_with(' ')))
        .then_some(rest)
}

fn is_of_modifier(c: char) -> bool {
    is_of_name(c) || c.is_whitespace() || matches!(c, '<' | '>')
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn identifier(text: &str) -> &str {
    text.split(|c| !is_of_name(c)).next().unwrap_or(text)
}

/// Returns the name of the function that a line declares: what stands before its first parenthesis.
fn function_in(code: &str) -> Option<String> {
    // Attributes may stand on the same line.
    let code = if code.starts_with("#[") {
        code.rsplit_once(']')?.1.trim()
    } else {
        code
    };
    if code.is_empty() || code.starts_with(['@', '[', '*']) {
        return None;
    }
    let head = code.split_once('(')?.0.trim_end();
    if let Some(before) = head.strip_suffix('`')
        && let Some((_, quoted)) = before.rsplit_once('`')
    {
        return Some(quoted.to_owned());
    }
    // `fn name<T>(`
    let head = head.split('<').next().unwrap_or(head).trim_end();
    let name = head.rsplit(|c| !is_of_name(c)).next()?;
    if name.is_empty() || name == head {
        return None;
    }
    Some(name.to_owned())
}

/// Returns the arguments of a macro that begins a line, or the text in it.
fn arguments_of(code: &str, word: &str) -> Option<String> {
    let rest = code.strip_prefix(word)?.trim_start().strip_prefix('(')?;
    let inside = rest.split([')', '{']).next().unwrap_or(rest);
    let name = match quoted(inside) {
        Some(text) => text.to_owned(),
        None => inside.split_whitespace().collect::<String>(),
    };
    (!name.is_empty()).then_some(name)
}

/// Returns the first text of a call that begins a line: `it('name', …)`, `test.each(…)('name')`,
/// `it "name" do`.
fn text_of_call(code: &str, next: &str, word: &str) -> Option<String> {
    let rest = code.strip_prefix(word)?;
    if !rest.starts_with(['(', '.', ' ', '"', '\'']) {
        return None;
    }
    // A property of an object is none, nor is an assignment.
    if rest.trim_start().starts_with(['=', ':', ',']) {
        return None;
    }
    let text = match quoted(rest) {
        None if rest.ends_with('(') => quoted(next.trim()),
        text => text,
    };
    text.map(str::to_owned)
}

/// Returns the first text between quotes.
fn quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\'', '`'])?;
    let quote = text.get(start..)?.chars().next()?;
    let rest = text.get(start + quote.len_utf8()..)?;
    rest.split(quote).next()
}

fn skips_in(code: &str, dialect: &Dialect) -> usize {
    usize::from(dialect.skips.iter().any(|mark| has_skip(code, mark)))
}

fn has_skip(code: &str, mark: &str) -> bool {
    let Some(begin) = mark.strip_prefix('^') else {
        return code.contains(mark);
    };
    match code.strip_prefix(begin) {
        Some(rest) => begin.ends_with(['(', ' ']) || !rest.starts_with(is_of_name),
        None => false,
    }
}

/// Counts the places where a word begins with this text.
fn words_in(code: &str, word: &str) -> usize {
    let mut count = 0;
    for (at, _) in code.match_indices(word) {
        let is_within = code
            .get(..at)
            .is_some_and(|before| before.ends_with(is_of_name));
        if !is_within {
            count += 1;
        }
    }
    count
}
