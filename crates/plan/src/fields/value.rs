//! Parses the values of attributes: durations, counts, priorities, lists of paths.

use std::time::Duration;

use orchestrate_core::ReviewMode;
use orchestrate_core::messages::MAX_DEADLINE_SECONDS;
use orchestrate_core::text::parts::Parts;

use crate::fields::key::Key;
use crate::lines::text;

/// The maximum number of digits of a duration. Filling 64 bits takes all of them even in years, so
/// that none are left for a sum that overflows, on which humantime panics (`18446744073709551615s
/// 1000ms`).
const MAX_DURATION_DIGITS: usize = 12;

/// The longest time limit of a task in milliseconds: a year, as for every setting that is a time.
pub(crate) const LONGEST_MS: u64 = MAX_DEADLINE_SECONDS * 1000;

/// Parses a positive duration as people write it (`30s`, `5 min`, `1h30m`, `500ms`, `2 days`) into
/// milliseconds. A bare number is seconds. Case is ignored, so `5M` is five minutes.
pub fn duration_ms(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if text.bytes().filter(u8::is_ascii_digit).count() > MAX_DURATION_DIGITS {
        return None;
    }
    let duration = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(&text).ok()?,
    };
    positive(u64::try_from(duration.as_millis()).ok()?)
}

/// Parses a positive count: `50000`, `50_000`, `50k`, `1.5m`.
pub(crate) fn count(text: &str) -> Option<u64> {
    let text = text.trim().replace(['_', ','], "").to_ascii_lowercase();
    let digits = text.trim_end_matches(['k', 'm']);
    let zeros = match text.tail(digits.len()) {
        "" => 0,
        "k" => 3,
        "m" => 6,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number = format!("{whole}{fraction:0<zeros$}");
    let is_number = !whole.is_empty() && fraction.len() <= zeros && text::all_digits(&number);
    positive(number.parse().ok().filter(|_| is_number)?)
}

fn positive(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

/// Parses a priority: a number, `high`, `medium` or `low`, or `P0` to `P4`; higher ones go first.
pub(crate) fn priority(text: &str) -> Option<i64> {
    match text.trim().to_lowercase().as_str() {
        "critical" | "urgent" | "p0" => Some(2),
        "high" | "p1" => Some(1),
        "medium" | "normal" | "p2" => Some(0),
        "low" | "p3" | "p4" => Some(-1),
        number => number.parse().ok(),
    }
}

/// What a review may be, for messages.
pub(crate) const REVIEWS: &str = "`never`, `deleted-tests`, `risky` or `always`";

/// Parses when a review is required, also by the older words for always and never.
pub(crate) fn review(text: &str) -> Option<ReviewMode> {
    match text.trim().to_lowercase().as_str() {
        "yes" | "true" => Some(ReviewMode::Always),
        "no" | "false" => Some(ReviewMode::Never),
        word => ReviewMode::named(word),
    }
}

/// Files whose names look like words.
#[rustfmt::skip]
const WORD_FILES: &[&str] = &[
    "Makefile", "Dockerfile", "Justfile", "justfile", "Procfile", "Gemfile", "Rakefile",
    "README", "LICENSE", "CHANGELOG", "CODEOWNERS",
];

/// Words that stand for paths that are not named.
#[rustfmt::skip]
const NO_FILES: &[&str] = &[
    "none", "nothing", "n/a", "tbd", "-", "–", "—", "all", "any", "everything", "several",
    "various", "unknown",
];

/// The paths of a list, and how much it says besides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PathList {
    pub(crate) paths: Vec<String>,
    /// The number of words beside the paths.
    words: usize,
    /// The number of words in remarks in parentheses.
    remarks: usize,
}

impl PathList {
    /// Parses a list: what stands in backticks, or looks like a path. An item that is nothing but a
    /// word is a path as well, one that has other words only mentions some.
    pub(crate) fn read(text: &str) -> Self {
        let mut list = Self::default();
        let bare = without_remarks(text);
        list.remarks = count_words(text).saturating_sub(count_words(&bare));
        let is_paired = bare.matches('`').count().is_multiple_of(2);
        let mut item: Vec<Token<'_>> = Vec::new();
        for (at, part) in bare.split('`').enumerate() {
            let is_code = is_paired && at % 2 == 1;
            let pieces = match is_code {
                true => vec![part.trim()],
                false => pieces(part),
            };
            for text in pieces {
                match text {
                    "" | "and" => list.add(&std::mem::take(&mut item)),
                    text => item.push(Token { text, is_code }),
                }
            }
        }
        list.add(&item);
        list
    }

    fn add(&mut self, item: &[Token<'_>]) {
        if let [only] = item
            && text::is_one_of(only.path(), NO_FILES)
        {
            return;
        }
        let is_list = item.len() == 1 || item.iter().all(Token::looks_like_path);
        for token in item {
            let text = token.path();
            if token.looks_like_path() || (is_list && token.is_name()) {
                self.paths.push(without_lines(text).replace(", ", ","));
            } else if text.contains(char::is_alphabetic) {
                self.words += 1;
            }
        }
    }

    /// Reports whether it is prose that may mention some paths.
    pub(crate) fn is_prose(&self) -> bool {
        self.words > 0
    }

    /// Reports whether it says more than its paths: several words beside these.
    pub(crate) fn says_more(&self) -> bool {
        self.words + self.remarks > 1
    }
}

/// A word of a list of paths, or its text between backticks.
struct Token<'t> {
    text: &'t str,
    is_code: bool,
}

impl<'t> Token<'t> {
    /// Returns it without punctuation after it, and without the `/` that begins a path in some
    /// plans.
    fn path(&self) -> &'t str {
        let end = match self.is_code {
            true => self.text,
            false => self.text.trim_end_matches(['.', ':', '!', '?']),
        };
        end.trim_start_matches('/')
    }

    fn looks_like_path(&self) -> bool {
        let has_folder = self.is_code && self.text.contains('/');
        let is_path = has_folder || looks_like_path(self.text);
        is_path && !self.is_command() && !self.text.ends_with(')')
    }

    /// Reports whether it is rather a command: a name has neither blanks nor what a shell reads.
    fn is_command(&self) -> bool {
        // `{a, b}.ts` is one name.
        let is_between_braces = self.text.starts_with('{') || self.text.contains("/{");
        self.text.contains(['&', '|', ';', '<', '>'])
            || (self.text.contains(char::is_whitespace) && !is_between_braces)
    }

    /// Reports whether it may be the name of a file or a folder without an extension.
    fn is_name(&self) -> bool {
        let marks = ['(', ')', '[', ']', '<', '>', '"', '\'', '='];
        let is_word = !self.text.contains(char::is_whitespace) && !self.text.contains(marks);
        is_word && !self.path().is_empty() && !is_emphasis(self.path())
    }
}

/// Returns the words of a text, and an empty one for each separator between items; what stands
/// between braces is one word.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut braces, mut begin) = (0usize, 0);
    let last = text.rfind('}').unwrap_or(0);
    for (at, c) in text.char_indices() {
        match c {
            '{' if at < last => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        let separates = matches!(c, ',' | ';' | '，' | '、' | '；' | '\n');
        if braces == 0 && (separates || c.is_whitespace()) {
            pieces.extend(Some(text.part(begin..at)).filter(|word| !word.is_empty()));
            pieces.extend(separates.then_some(""));
            begin = at + c.len_utf8();
        }
    }
    pieces.extend(Some(text.tail(begin)).filter(|word| !word.is_empty()));
    pieces
}

/// Returns a text without its remarks in parentheses, which follow a blank or backtick, whatever
/// else is in them.
fn without_remarks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0usize;
    for c in text.chars() {
        let begins = c == '(' && (kept.is_empty() || kept.ends_with([' ', '`', '\n']));
        match c {
            '(' if depth > 0 || begins => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

fn count_words(text: &str) -> usize {
    let words = text.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphabetic))
        .count()
}

/// Reports whether a word of prose is a path: it has an extension or a wildcard, begins or ends as
/// the path of a folder does, or is a file's usual name. `Create/modify` is none.
pub(crate) fn looks_like_path(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let is_abbreviation = matches!(word, "e.g" | "i.e" | "and/or" | "n/a" | "N/A" | "/");
    let digits = word.strip_prefix('v').unwrap_or(word);
    let is_number = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let extension = word.split_once('.').map(|(_, extension)| extension);
    let has_folder = word.ends_with('/') || word.starts_with("./") || word.starts_with("../");
    let is_pattern = word.contains('*') && !is_emphasis(word);
    let has_form = has_folder || is_pattern || extension.is_some_and(|text| !text.is_empty());
    (has_form && !is_abbreviation && !is_number) || WORD_FILES.contains(&word)
}

/// Reports whether the stars of a word are marks around it (`**Changes**`).
fn is_emphasis(word: &str) -> bool {
    let inner = word.trim_matches('*');
    let is_around = word.starts_with('*') && word.ends_with('*');
    is_around && !inner.is_empty() && !inner.contains(['/', '.'])
}

/// Returns a list, each item of which is between quotes, with blanks instead of these, so that no
/// item moves.
pub(crate) fn without_quotes(list: &str) -> String {
    match list.split(',').all(|item| is_quoted(item.trim())) {
        true => list.replace(['"', '\''], " "),
        false => list.to_owned(),
    }
}

fn is_quoted(item: &str) -> bool {
    item.starts_with(['"', '\'']) && text::unwrap_marks(item) != item
}

/// Reports whether a line below a list of paths or tasks continues it: it holds nothing but paths,
/// or nothing but words that end with a number.
pub(crate) fn continues(key: Key, line: &str) -> bool {
    let words = line
        .split([' ', '\t', ','])
        .map(|word| word.trim_matches('`'));
    let mut words = words
        .filter(|word| !word.is_empty() && *word != "and")
        .peekable();
    let has_some = words.peek().is_some();
    has_some
        && words.all(|word| match key {
            Key::Files => looks_like_path(word),
            _ => is_id(word),
        })
}

fn is_id(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit()) && word.chars().all(is_part)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Removes a line number or range after a path (`src/a.rs:12-30`).
fn without_lines(path: &str) -> &str {
    let found = path.rsplit_once(':').filter(|(_, lines)| is_lines(lines));
    found.map_or(path, |(file, _)| file)
}

fn is_lines(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let table = [
            ("30s", Some(30_000)),
            ("30 s", Some(30_000)),
            (" 30sec ", Some(30_000)),
            ("30secs", Some(30_000)),
            ("30 seconds", Some(30_000)),
            ("5m", Some(300_000)),
            ("5M", Some(300_000)),
            ("5min", Some(300_000)),
            ("5mins", Some(300_000)),
            ("5 minutes", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("1hour", Some(3_600_000)),
            ("1Hours", Some(3_600_000)),
            ("1h30m", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("1.5h", Some(5_400_000)),
            ("30m1h", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("500ms", Some(500)),
            ("90", Some(90_000)),
            ("090", Some(90_000)),
            ("999999999999", Some(999_999_999_999_000)),
            ("999999999999ms", Some(999_999_999_999)),
            ("0", None),
            ("0s", None),
            ("999ns", None),
            ("", None),
            ("s", None),
            ("1.5", None),
            ("1h30", None),
            ("5 parsecs", None),
            ("5 min sharp", None),
            ("5٣s", None),
            ("-5s", None),
            ("999999999999y", None),
            ("99999999999999999999h", None),
            ("18446744073709551615s 1000ms", None),
            ("584542046090y22225615s1000ms", None),
        ];
        for (text, expected) in table {
            assert_eq!(duration_ms(text), expected, "{text}");
        }
    }

    #[test]
    fn counts() {
        let table = [
            ("50000", Some(50_000)),
            ("50_000", Some(50_000)),
            ("50k", Some(50_000)),
            ("1.5M", Some(1_500_000)),
            ("1.5", None),
            ("0", None),
            ("k", None),
            ("ten", None),
        ];
        for (text, expected) in table {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn a_list_of_paths_may_say_more() {
        for text in [
            "`src/a.rs` - the parser",
            "src/a.rs: add the loop",
            "`a.rs` (keep its order)",
            "src/a.rs\nand so on",
            "tests in `tests/page.rs`",
        ] {
            assert!(PathList::read(text).says_more(), "{text}");
        }
        for text in [
            "`src/a.rs`",
            "`a.rs` and `b.rs`",
            "src/a.rs (new)",
            "src/a.rs, src/b.rs",
            "`a.rs`, b.rs, c.rs",
            "",
        ] {
            assert!(!PathList::read(text).says_more(), "{text}");
        }
    }

    #[test]
    fn lists_of_paths() {
        let table: [(&str, &[&str]); 29] = [
            ("src/a.rs, src/b.rs", &["src/a.rs", "src/b.rs"]),
            ("`cat a.rs`, src/c.rs (new)", &["src/c.rs"]),
            ("`cd ui/admin && npm run build`", &[]),
            ("`pytest tests/a.py`", &[]),
            (
                "Create/Modify: `a.ts`, Settings/visual contracts",
                &["a.ts"],
            ),
            ("`src/parser` and its tests", &["src/parser"]),
            (
                "src/parser, ./tests, src/",
                &["src/parser", "./tests", "src/"],
            ),
            ("{a, b}.ts, c.ts", &["{a,b}.ts", "c.ts"]),
            ("**Changes**:", &[]),
            ("src/**, *.rs, **/*", &["src/**", "*.rs", "**/*"]),
            ("src/a.rs src/b.rs", &["src/a.rs", "src/b.rs"]),
            ("src/{a,b}.rs", &["src/{a,b}.rs"]),
            ("src/a.rs:12-30", &["src/a.rs"]),
            ("/src/a.rs, `/b/`", &["src/a.rs", "b/"]),
            ("app/(auth)/[id]/page.tsx", &["app/(auth)/[id]/page.tsx"]),
            ("look at src/a.py and its friends", &["src/a.py"]),
            (
                "the README, `docs` and src/b.rs.",
                &["README", "docs", "src/b.rs"],
            ),
            ("src, tests and docs", &["src", "tests", "docs"]),
            ("`src/a.rs` - the parser, and `b.rs`", &["src/a.rs", "b.rs"]),
            ("src/a.rs — new\nand some prose", &["src/a.rs"]),
            (
                "`go.mod`, `Makefile (minimal `go test` only)`, `embed` directive",
                &["go.mod", "Makefile"],
            ),
            (
                "`dispatch.py` (import, add `_classify`, change `process_file`)",
                &["dispatch.py"],
            ),
            (
                "`src/page.rs` (new function `draw_page`, used by `App`), tests in `tests/page.rs`",
                &["src/page.rs", "tests/page.rs"],
            ),
            ("`draw_page()` in `a.rs` of v1.2", &["a.rs"]),
            ("to be decided", &[]),
            ("[several], n/a, Various, `none`", &[]),
            ("draw()", &[]),
            ("TBD", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(PathList::read(text).paths, expected, "{text}");
        }
    }
}
