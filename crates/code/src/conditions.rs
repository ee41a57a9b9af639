//! Leaves one branch of conditions such as `#ifdef` that split a block of C or C++.
//!
//! The grammar reads each branch as whole code. If one opens or closes a block, as `extern "C" {`
//! does in headers, only the first branch of the condition is parsed, and its own lines are blank.

use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of conditions around one that is changed; others are left as they are.
const MAX_AROUND: usize = 100;

/// Returns bytes with spaces in the place of what splits a block, and of other branches.
pub(crate) fn without_split_blocks(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let blanks = blanks(&bytes);
    if blanks.is_empty() {
        return bytes;
    }
    let mut bytes = bytes.into_owned();
    for range in blanks {
        for byte in bytes.get_mut(range).into_iter().flatten() {
            *byte = if matches!(*byte, b'\n' | b'\r') {
                *byte
            } else {
                b' '
            };
        }
    }
    Cow::Owned(bytes)
}

/// Returns what is to be blank.
fn blanks(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut scan, mut rest) = (Scan::default(), bytes);
    while let Some(line) = lines(rest).next() {
        let begin = bytes.len() - rest.len();
        let length = match line.trim_ascii_start().strip_prefix(b"#") {
            Some(directive) if !scan.in_comment => {
                let length = directive_length(rest);
                scan.directive(directive.trim_ascii_start(), begin..begin + length);
                let (directive, _) = rest.split_at(length);
                scan.comment_in(directive);
                length
            }
            _ => {
                scan.code(line);
                line.len()
            }
        };
        (_, rest) = rest.split_at(length);
    }
    scan.blanks
}

/// Returns the lines of a text, with their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Returns the length of the directive that a text begins with. It goes on behind a backslash, and
/// ends with an empty line.
fn directive_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    for line in lines(bytes) {
        length += line.len();
        if !line.trim_ascii_end().ends_with(b"\\") {
            break;
        }
    }
    length
}

/// A condition whose end has not been reached.
struct Condition {
    /// Where its first line is.
    begin: Range<usize>,
    /// How many blocks were open before it, and the fewest in its first branch.
    depth: i64,
    least: i64,
    /// How many were open at the end of its first branch, and where the next one begins.
    next: Option<(i64, usize)>,
}

#[derive(Default)]
struct Scan {
    /// How many blocks are open if only first branches count.
    depth: i64,
    in_comment: bool,
    /// Whether a directive is read, whose blocks are those of a macro.
    in_directive: bool,
    conditions: Vec<Condition>,
    blanks: Vec<Range<usize>>,
}

impl Scan {
    fn directive(&mut self, text: &[u8], lines: Range<usize>) {
        let length = text
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let (name, _) = text.split_at(length);
        match name {
            b"if" | b"ifdef" | b"ifndef" => {
                let depth = self.depth;
                self.conditions.push(Condition {
                    begin: lines,
                    depth,
                    least: depth,
                    next: None,
                });
            }
            b"else" | b"elif" | b"elifdef" | b"elifndef" => {
                if let Some(condition) = self.conditions.last_mut() {
                    condition.next.get_or_insert((self.depth, lines.start));
                    self.depth = condition.depth;
                }
            }
            b"endif" => self.end(&lines),
            _ => {}
        }
    }

    fn end(&mut self, lines: &Range<usize>) {
        let Some(condition) = self.conditions.pop() else {
            return;
        };
        let (depth, next) = condition.next.unwrap_or((self.depth, lines.start));
        let is_split = depth != condition.depth || condition.least < condition.depth;
        if is_split && self.conditions.len() <= MAX_AROUND {
            self.blanks.extend([condition.begin, next..lines.end]);
        }
        self.depth = depth;
        self.reached(condition.least);
    }

    /// Notes how few blocks are open in the first branch of a condition.
    fn reached(&mut self, depth: i64) {
        if let Some(condition) = self
            .conditions
            .last_mut()
            .filter(|condition| condition.next.is_none())
        {
            condition.least = condition.least.min(depth);
        }
    }

    /// Notes whether a comment begins in a directive and goes on behind it.
    fn comment_in(&mut self, directive: &[u8]) {
        self.in_directive = true;
        self.code(directive);
        self.in_directive = false;
    }

    fn code(&mut self, line: &[u8]) {
        let (mut bytes, mut quote) = (line.iter().copied().peekable(), None::<u8>);
        // What the name or the number before a byte begins with.
        let mut word = None::<u8>;
        while let Some(byte) = bytes.next() {
            if self.in_comment {
                self.in_comment = byte != b'*' || bytes.next_if_eq(&b'/').is_none();
                continue;
            }
            let is_in_number = word.is_some_and(|first| first.is_ascii_digit());
            if byte == b'\'' && quote.is_none() && is_in_number {
                // It only separates digits, as in `1'000`.
                continue;
            }
            word = if byte.is_ascii_alphanumeric() || byte == b'_' {
                word.or(Some(byte))
            } else {
                None
            };
            match (quote, byte) {
                (Some(_), b'\\') => {
                    bytes.next();
                }
                (Some(open), _) if open != byte => {}
                (Some(_), _) => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'/') if bytes.next_if_eq(&b'/').is_some() => return,
                (None, b'/') => self.in_comment = bytes.next_if_eq(&b'*').is_some(),
                (None, b'{' | b'}') if self.in_directive => {}
                (None, b'{') => self.depth += 1,
                (None, b'}') => {
                    self.depth -= 1;
                    self.reached(self.depth);
                }
                (None, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_splits_a_block_has_one_branch() {
        let table = [
            (
                "#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\n}\n",
                "        \nif (a) {\n     \n        \n      \n}\n",
            ),
            (
                "{\n#if A\n} else {\n#elif B\n}\n#endif\n}\n",
                "{\n     \n} else {\n       \n \n      \n}\n",
            ),
            (
                "#if A && \\\n  B\n}\n#endif\n",
                "          \n   \n}\n      \n",
            ),
        ];
        for (text, expected) in table {
            let found = without_split_blocks(Cow::Borrowed(text.as_bytes()));
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
        // What is whole, or no block at all.
        for text in [
            "#ifdef A\nint f() { }\n#else\nint f() { g(); }\n#endif\n",
            "#if A\nchar a = '{'; // {\n/* {\n#else */ char *b = \"\\\"{\";\n#endif\n",
            "#ifdef A\n#define X {\n#endif\n#else\n#endif\n",
            "#ifdef A\n{",
            "#if A\n#define X 1 /* { one\n{ two */\n#else\nint f() { }\n#endif\n",
            "#if A\nif (a > 1'000) { }\n#else\nif (a > u8'1') { b = 0xF'F; }\n#endif\n",
            "#if H\n{\n#if A\n#define X \\\n\n#endif\n}\n#endif\n",
        ] {
            assert_eq!(
                without_split_blocks(Cow::Borrowed(text.as_bytes())),
                text.as_bytes()
            );
        }
    }
}
