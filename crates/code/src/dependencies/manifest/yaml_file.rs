//! The part of YAML in which `pnpm-workspace.yaml` is written: mappings, and lists of texts.
//!
//! What is not a plain text is left out. Nothing that an alias stands for is repeated, so a file
//! yields no more than it has lines.

use super::model::ManifestError;

/// Maximum depth of mappings; deeper ones are left out.
const MAX_DEPTH: usize = 8;

/// A text with the keys that lead to it; those of a list have the same ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) keys: Vec<String>,
    pub(super) text: String,
    /// The number of its line, from 1.
    pub(super) line: usize,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Vec<Placed>, ManifestError> {
    let mut reader = Reader {
        open: Vec::new(),
        found: Vec::new(),
    };
    let mut lines = text.trim_start_matches('\u{feff}').lines().zip(1..);
    // The indentation of the key whose text the following lines are.
    let mut literal: Option<usize> = None;
    while let Some((line, number)) = lines.next() {
        let content = without_comment(line);
        let indent = content.len() - content.trim_start().len();
        let content = content.trim();
        if content.is_empty() || literal.is_some_and(|outer| indent > outer) {
            continue;
        }
        literal = None;
        if matches!(content, "---" | "...") || content.starts_with('%') {
            continue;
        }
        if line.trim_start_matches(' ').starts_with('\t') {
            return Err(ManifestError {
                line: number,
                message: "a tab before a key".to_owned(),
            });
        }
        let mut content = content.to_owned();
        let mut depth = open_brackets(&content);
        while depth > 0 {
            let Some((next, _)) = lines.next() else {
                return Err(ManifestError {
                    line: number,
                    message: "a bracket has no end".to_owned(),
                });
            };
            let next = without_comment(next).trim();
            depth = brackets(depth, next);
            content.push(' ');
            content.push_str(next);
        }
        if reader.line(indent, &content, number) {
            literal = Some(indent);
        }
    }
    Ok(reader.found)
}

struct Reader {
    /// The keys around the next line, with their indentations; `None` for those of lists.
    open: Vec<(usize, Option<String>)>,
    found: Vec<Placed>,
}

impl Reader {
    /// Reads a line; returns whether the following ones, as far as they are indented more, are its
    /// text.
    fn line(&mut self, indent: usize, content: &str, number: usize) -> bool {
        let item = content
            .strip_prefix('-')
            .filter(|rest| rest.is_empty() || rest.starts_with(' '));
        // The items of a list may be indented as much as its key.
        let is_around = |outer: usize| outer < indent || (item.is_some() && outer == indent);
        while self
            .open
            .last()
            .is_some_and(|(outer, key)| !is_around(*outer) || (key.is_none() && *outer == indent))
        {
            self.open.pop();
        }
        let Some(item) = item else {
            return self.entry(indent, content, number);
        };
        let inner = item.trim_start();
        if key_of(inner).is_none() {
            return self.value(inner, number);
        }
        // A mapping in a list: what it says is not that of the list.
        self.open.push((indent, None));
        self.entry(indent + content.len() - inner.len(), inner, number)
    }

    fn entry(&mut self, indent: usize, content: &str, number: usize) -> bool {
        let Some((key, value)) = key_of(content) else {
            return false;
        };
        self.open.push((indent, Some(key)));
        let is_literal = self.value(value, number);
        if !value.is_empty() {
            self.open.pop();
        }
        is_literal
    }

    fn value(&mut self, value: &str, number: usize) -> bool {
        let in_brackets = |open: char, close: char| {
            value
                .strip_prefix(open)
                .and_then(|rest| rest.strip_suffix(close))
        };
        if let Some(inside) = in_brackets('[', ']') {
            parts(inside)
                .into_iter()
                .for_each(|part| self.add(None, part, number));
        } else if let Some(inside) = in_brackets('{', '}') {
            for (key, value) in parts(inside).into_iter().filter_map(key_of) {
                self.add(Some(key), value, number);
            }
        } else {
            self.add(None, value, number);
        }
        value.starts_with(['|', '>'])
    }

    fn add(&mut self, key: Option<String>, value: &str, line: usize) {
        let Some(text) = scalar(value.trim()) else {
            return;
        };
        if self.open.len() >= MAX_DEPTH {
            return;
        }
        let around: Option<Vec<String>> = self.open.iter().map(|(_, key)| key.clone()).collect();
        let Some(mut keys) = around else { return };
        keys.extend(key);
        self.found.push(Placed { keys, text, line });
    }
}

/// Returns a plain or quoted text; `None` for whatever else a value may be.
fn scalar(value: &str) -> Option<String> {
    let quoted = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    if let Some(inside) = quoted('\'') {
        return Some(inside.replace("''", "'"));
    }
    if value.starts_with('"') {
        // Its escapes are those of JSON, and a few that no name has.
        return serde_json::from_str(value).ok();
    }
    let is_special = value.starts_with(['&', '*', '!', '|', '>', '[', '{', '%', '@', '`', '\'']);
    if value.is_empty() || is_special {
        None
    } else {
        Some(value.to_owned())
    }
}

/// Returns the key of a line, and its value.
fn key_of(content: &str) -> Option<(String, &str)> {
    let end = Unquoted::from_line(content).find(|(at, c)| {
        let after = content.get(at + 1..).unwrap_or_default();
        *c == ':' && (after.is_empty() || after.starts_with(' '))
    });
    let (at, _) = end?;
    let (key, value) = (content.get(..at)?, content.get(at + 1..)?);
    Some((scalar(key.trim())?, value.trim()))
}

/// Returns the parts between the commas of a list in brackets; brackets within it are left as they
/// are.
fn parts(inside: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in Unquoted::from_line(inside) {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(inside.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(inside.get(begin..));
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns how many brackets of a value are open at the end of its first line.
fn open_brackets(content: &str) -> usize {
    let value = key_of(content).map_or(content.trim_start_matches(['-', ' ']), |(_, value)| value);
    if value.starts_with(['[', '{']) {
        brackets(0, value)
    } else {
        0
    }
}

/// Returns how many brackets are open after a text, of those before it and its own.
fn brackets(before: usize, text: &str) -> usize {
    Unquoted::from_line(text).fold(before, |depth, (_, c)| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth.saturating_sub(1),
        _ => depth,
    })
}

fn without_comment(line: &str) -> &str {
    let is_comment = |(at, c): &(usize, char)| {
        *c == '#'
            && line
                .get(..*at)
                .is_none_or(|before| before.is_empty() || before.ends_with([' ', '\t']))
    };
    Unquoted::from_line(line)
        .find(is_comment)
        .and_then(|(at, _)| line.get(..at))
        .unwrap_or(line)
}

/// The characters of a line that are not within quotes, with their places.
struct Unquoted<'t> {
    characters: std::str::CharIndices<'t>,
    before: char,
}

impl<'t> Unquoted<'t> {
    fn from_line(line: &'t str) -> Unquoted<'t> {
        Unquoted {
            characters: line.char_indices(),
            before: ' ',
        }
    }
}

impl Iterator for Unquoted<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let (at, c) = self.characters.next()?;
            // An apostrophe within a word is no quote.
            if !matches!(c, '"' | '\'')
                || !matches!(self.before, ' ' | '\t' | ',' | '[' | '{' | ':' | '-')
            {
                self.before = c;
                return Some((at, c));
            }
            self.before = c;
            let mut is_escaped = false;
            for (_, inner) in self.characters.by_ref() {
                match inner {
                    _ if is_escaped => is_escaped = false,
                    '\\' if c == '"' => is_escaped = true,
                    _ if inner == c => break,
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String, usize)> {
        read(text)
            .unwrap()
            .into_iter()
            .map(|one| (one.keys.join("/"), one.text, one.line))
            .collect()
    }

    fn expected(entries: &[(&str, &str, usize)]) -> Vec<(String, String, usize)> {
        entries
            .iter()
            .map(|(keys, text, line)| ((*keys).to_owned(), (*text).to_owned(), *line))
            .collect()
    }

    #[test]
    fn mappings_and_lists_are_read() {
        let text = "---\n# a comment\na:\n  - one # why\n  - 'it''s: two'\n  - \"#three\\u0021\"\nb: x\nc:\n- y\n- z#1\n\
            d: [p, 'q, r', \"s\"]\ne: {k: v, \"l\": w}\nf:\n  g:\n    'h-i': ^1.0\n  j: k\nl: [\n  m, # why\n  n\n]\n\
            o: https://x.org:80\n";
        let entries = [
            ("a", "one", 4),
            ("a", "it's: two", 5),
            ("a", "#three!", 6),
            ("b", "x", 7),
            ("c", "y", 9),
            ("c", "z#1", 10),
            ("d", "p", 11),
            ("d", "q, r", 11),
            ("d", "s", 11),
            ("e/k", "v", 12),
            ("e/l", "w", 12),
            ("f/g/h-i", "^1.0", 15),
            ("f/j", "k", 16),
            ("l", "m", 17),
            ("l", "n", 17),
            ("o", "https://x.org:80", 21),
        ];
        assert_eq!(found(text), expected(&entries));
    }

    /// Anchors, aliases, tags, texts of several lines, and mappings in lists are other things.
    #[test]
    fn what_is_no_plain_text_is_left_out() {
        let text = "a: &x one\nb: *x\nc: !!str d\ne: |\n  k: v\n  - w\nf: >-\n  k: v\ng:\n  - k: v\n    l: w\n  - [x, [y, z]]\n  - u\nh:\n\
            i: ''\n";
        assert_eq!(
            found(text),
            expected(&[("g", "x", 12), ("g", "u", 13), ("i", "", 15)])
        );
        for (text, line) in [("a: [\n", 1), ("x: y\na: {b: c\n", 2), ("a:\n\tb: c\n", 2)] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
