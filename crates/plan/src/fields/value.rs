//! Parses the values of attributes: durations, counts, priorities, lists of paths.

use std::time::Duration;

use orchestrate_core::ReviewMode;
use orchestrate_core::messages::MAX_DEADLINE_SECONDS;
use orchestrate_core::text::parts::Parts;

use crate::fields::key::Key;

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
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, '_' | ','))
        .collect();
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M']);
    let factor = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" => 1u64,
        "k" => 1_000,
        "m" => 1_000_000,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty()
        || !all_digits(fraction)
        || fraction.len() > 6
        || (factor == 1 && digits.contains('.'))
    {
        return None;
    }
    let scale = 10u64.pow(u32::try_from(fraction.len()).ok()?);
    let part = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u64>().ok()? * factor / scale
    };
    positive(
        whole
            .parse::<u64>()
            .ok()?
            .checked_mul(factor)?
            .checked_add(part)?,
    )
}

fn all_digits(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
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

/// Returns the paths of a bullet without the remark after them: those in backticks, else the text
/// before a dash, or its first line.
pub(crate) fn first_paths(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let quoted: Vec<&str> = line
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|path| !path.trim().is_empty())
        .collect();
    if !quoted.is_empty() && line.matches('`').count().is_multiple_of(2) {
        return quoted
            .iter()
            .map(|path| format!("`{}`", path.trim()))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let ends = [" - ", " – ", " — ", ": "]
        .iter()
        .filter_map(|mark| line.find(mark));
    line.head(ends.min().unwrap_or(line.len())).to_owned()
}

/// Reports whether a bullet says more than its paths: further lines, or several words beside these.
pub(crate) fn has_remark(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let is_quoted = line.contains('`') && line.matches('`').count().is_multiple_of(2);
    let besides: usize = match is_quoted {
        true => line.split('`').step_by(2).map(count_words).sum(),
        false => count_words(line.tail(first_paths(line).len())),
    };
    besides > 1 || text.lines().skip(1).any(|line| !line.trim().is_empty())
}

fn count_words(text: &str) -> usize {
    text.split_whitespace().filter(is_word).count()
}

fn is_word(word: &&str) -> bool {
    word.contains(char::is_alphabetic) && *word != "and" && !looks_like_path(word)
}

/// Files whose names look like words.
const WORD_FILES: &[&str] = &[
    "Makefile",
    "Dockerfile",
    "Justfile",
    "justfile",
    "Procfile",
    "Gemfile",
    "Rakefile",
    "README",
    "LICENSE",
    "CHANGELOG",
    "CODEOWNERS",
];

/// Reports whether a list of paths is prose that may mention some: words without commas between
/// them, of which not all look like paths.
pub(crate) fn is_prose(text: &str) -> bool {
    if !has_neighbours(text) {
        return false;
    }
    let outside = text.split('`').step_by(2);
    outside
        .flat_map(|part| part.split([',', ';', '\n']))
        .flat_map(|part| part.split(" and "))
        .any(|piece| {
            let piece = piece.split_once(" (").map_or(piece, |(before, _)| before);
            let words = || {
                piece
                    .split_whitespace()
                    .filter(|word| *word != "and" && !word.starts_with('('))
            };
            words().nth(1).is_some() && !words().all(looks_like_path)
        })
}

/// Reports whether two words outside backticks may have nothing but blanks between them.
fn has_neighbours(text: &str) -> bool {
    let (mut in_code, mut has_word, mut has_blank) = (false, false, false);
    for byte in text.bytes() {
        match byte {
            b'`' => (in_code, has_word, has_blank) = (!in_code, false, false),
            _ if in_code => {}
            b',' | b';' | b'\n' => (has_word, has_blank) = (false, false),
            b' ' => has_blank = has_word,
            // Any other character may be a blank, too.
            _ if has_blank || !byte.is_ascii_graphic() => return true,
            _ => has_word = true,
        }
    }
    false
}

/// Reports whether a word of prose is a path: it has a folder, an extension or a wildcard, or is a
/// file's usual name.
pub(crate) fn looks_like_path(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let is_abbreviation = matches!(word, "e.g" | "i.e" | "and/or" | "/");
    let is_number = word
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let has_form = word.contains(['/', '*'])
        || word
            .split_once('.')
            .is_some_and(|(_, extension)| !extension.is_empty());
    (has_form && !is_abbreviation && !is_number) || WORD_FILES.contains(&word)
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
    is_between(item, '"') || is_between(item, '\'')
}

fn is_between(item: &str, mark: char) -> bool {
    item.len() > 1 && item.starts_with(mark) && item.ends_with(mark)
}

/// Reports whether a line below a list of paths or tasks continues it: it holds nothing but paths,
/// or nothing but words that end with a number.
pub(crate) fn continues(key: Key, line: &str) -> bool {
    let is_item = |word: &str| {
        if key == Key::Files {
            looks_like_path(word)
        } else {
            is_id(word)
        }
    };
    let mut words = line
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty() && *word != "and")
        .peekable();
    words.peek().is_some() && words.all(|word| is_item(word.trim_matches('`')))
}

fn is_id(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit()) && word.chars().all(is_part)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Splits a list of paths at commas and blanks outside backticks; remarks in parentheses are
/// dropped, and so is prose.
///
/// The caller says whether the text [`is_prose`], which it has to know as well.
pub(crate) fn paths(text: &str, is_prose: bool) -> Vec<String> {
    let is_path = |path: &String| !path.is_empty() && path != "and" && !is_none(path);
    if text.bytes().all(is_plain) {
        return Some(without_lines(text.to_owned()))
            .filter(is_path)
            .into_iter()
            .collect();
    }
    let mut paths = Vec::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            paths.push(part.trim().to_owned());
            continue;
        }
        let mut braces = 0usize;
        let mut remark = 0usize;
        let mut begin = 0;
        for (at, c) in part.char_indices().chain([(part.len(), ' ')]) {
            match c {
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                '(' if at == begin => remark += 1,
                ')' if remark > 0 => {
                    remark -= 1;
                    begin = at + 1;
                    continue;
                }
                _ => {}
            }
            let separates = (c == ',' && braces == 0)
                || matches!(c, ';' | '，' | '、' | '；')
                || c.is_whitespace();
            if separates || remark > 0 {
                let word = part.part(begin..at);
                begin = at + c.len_utf8();
                if !word.is_empty() && (!is_prose || looks_like_path(word)) {
                    let end = if is_prose {
                        word.trim_end_matches(['.', ':', '!', '?']).len()
                    } else {
                        word.len()
                    };
                    paths.push(word.head(end).to_owned());
                }
            }
        }
    }
    paths
        .into_iter()
        .map(without_lines)
        .filter(is_path)
        .collect()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'`' | b',' | b';' | b'(' | b')' | b'{' | b'}')
}

fn is_none(path: &str) -> bool {
    ["none", "n/a", "tbd", "-", "–", "—"]
        .iter()
        .any(|none| none.eq_ignore_ascii_case(path))
}

/// Removes a line number or range after a path (`src/a.rs:12-30`).
fn without_lines(mut path: String) -> String {
    if let Some((file, lines)) = path.rsplit_once(':')
        && is_lines(lines)
    {
        path.truncate(file.len());
    }
    path
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
    fn a_bullet_names_paths_before_its_remark() {
        let table = [
            ("`src/a.rs` - the parser, and `b.rs`", "`src/a.rs`, `b.rs`"),
            ("src/a.rs — new", "src/a.rs"),
            ("src/a.rs, src/b.rs", "src/a.rs, src/b.rs"),
            ("src/a.rs\nand some prose", "src/a.rs"),
        ];
        for (text, expected) in table {
            assert_eq!(first_paths(text), expected, "{text}");
        }
    }

    #[test]
    fn a_bullet_of_paths_may_say_more() {
        for text in [
            "`src/a.rs` - the parser",
            "src/a.rs: add the loop",
            "`a.rs` (keep its order)",
            "src/a.rs\nand b",
        ] {
            assert!(has_remark(text), "{text}");
        }
        for text in [
            "`src/a.rs`",
            "`a.rs` and `b.rs`",
            "src/a.rs (new)",
            "src/a.rs, src/b.rs",
            "`a.rs`, b.rs, c.rs",
            "",
        ] {
            assert!(!has_remark(text), "{text}");
        }
    }

    #[test]
    fn lists_of_paths() {
        let table: [(&str, &[&str]); 11] = [
            ("src/a.rs, src/b.rs", &["src/a.rs", "src/b.rs"]),
            ("`src/a b.rs`, src/c.rs (new)", &["src/a b.rs", "src/c.rs"]),
            ("src/a.rs src/b.rs", &["src/a.rs", "src/b.rs"]),
            ("src/{a,b}.rs", &["src/{a,b}.rs"]),
            ("src/a.rs:12-30", &["src/a.rs"]),
            ("look at src/a.py and its friends", &["src/a.py"]),
            (
                "the README, `docs` and src/b.rs.",
                &["README", "docs", "src/b.rs"],
            ),
            ("src, tests and docs", &["src", "tests", "docs"]),
            ("to be decided", &[]),
            ("TBD", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(paths(text, is_prose(text)), expected, "{text}");
        }
    }
}
