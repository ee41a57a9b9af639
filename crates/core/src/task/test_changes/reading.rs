//! The tests of one version of a file, read line by line.

use super::dialects::Dialect;
use crate::task::test_files::is_test_file;
use crate::text::parts::Parts;

/// How many lines after a mark the function may begin that it makes a test.
const MARK_REACHES: usize = 12;

/// What one version of a file has.
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
            if open
                .as_ref()
                .is_some_and(|open| indent <= open.indent && !frames(code))
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
            let assertions = dialect
                .assertions
                .iter()
                .map(|word| words_in(code, word))
                .sum::<usize>();
            match open
                .as_ref()
                .and_then(|open| reading.tests.get_mut(open.at))
            {
                Some(test) => test.assertions += assertions,
                None => reading.outside += assertions,
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
    dialect.marks.iter().any(|mark| {
        let rest = code.find(mark).map(|at| code.tail(at + mark.len()));
        // `#[test_case(…)]` makes a test, too; `@TestInstance` does not.
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

/// Returns the name of the test that begins in a line.
fn name_of_test(code: &str, next: &str, dialect: &Dialect, is_marked: bool) -> Option<String> {
    let declared = dialect.declared.iter().find_map(|(before, begin)| {
        let rest = if before.is_empty() {
            code
        } else {
            after_word(code, before)?
        };
        let name = identifier(rest);
        let is_call = rest
            .get(name.len()..)
            .is_some_and(|after| is_declared(after.trim_start()));
        (name.starts_with(begin) && (is_call || before.starts_with('-'))).then(|| name.to_owned())
    });
    let of_mark = || if is_marked { function_in(code) } else { None };
    let of_macro = || {
        dialect
            .macros
            .iter()
            .find_map(|word| arguments_of(code, word))
    };
    let of_call = || {
        dialect
            .calls
            .iter()
            .find_map(|word| text_of_call(code, next, word))
    };
    declared.or_else(of_mark).or_else(of_macro).or_else(of_call)
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
    let is_modifier =
        |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '<' | '>');
    let rest = code.get(at + word.len()..)?.trim_start();
    (before.chars().all(is_modifier) && (before.is_empty() || before.ends_with(' ')))
        .then_some(rest)
}

fn identifier(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.head(end)
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
    if let Some(quoted) = head
        .strip_suffix('`')
        .and_then(|head| head.rsplit_once('`'))
    {
        return Some(quoted.1.to_owned());
    }
    // `fn name<T>(`
    let head = head.split('<').next().unwrap_or(head).trim_end();
    let name = head
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    (!name.is_empty() && name != head).then(|| name.to_owned())
}

/// Returns the arguments of a macro that begins a line, or the text in it.
fn arguments_of(code: &str, word: &str) -> Option<String> {
    let rest = code.strip_prefix(word)?.trim_start().strip_prefix('(')?;
    let inside = rest.split([')', '{']).next().unwrap_or(rest);
    let name = quoted(inside).map_or_else(
        || inside.split_whitespace().collect::<String>(),
        str::to_owned,
    );
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
    let opens = rest.ends_with('(');
    quoted(rest)
        .or_else(|| quoted(next.trim()).filter(|_| opens))
        .map(str::to_owned)
}

/// Returns the first text between quotes.
fn quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\'', '`'])?;
    let quote = text.get(start..)?.chars().next()?;
    let rest = text.get(start + quote.len_utf8()..)?;
    rest.split(quote).next()
}

fn skips_in(code: &str, dialect: &Dialect) -> usize {
    let is_there = |mark: &&&str| match mark.strip_prefix('^') {
        Some(begin) => {
            let rest = code.strip_prefix(begin);
            rest.is_some_and(|rest| {
                begin.ends_with(['(', ' '])
                    || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        }
        None => code.contains(**mark),
    };
    usize::from(dialect.skips.iter().any(|mark| is_there(&mark)))
}

/// Counts the places where a word begins with this text.
fn words_in(code: &str, word: &str) -> usize {
    let begins_word = |at: &usize| {
        let before = code
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(begins_word)
        .count()
}
