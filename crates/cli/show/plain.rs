//! Makes external text safe to print: plans, models, agents, file names and the output of checks.
//!
//! Everything here is a pure function; `output` applies all of this to what it prints.

use orchestrate_core::text::in_one_line;
use orchestrate_core::text::invisible::{hidden, is_invisible, shown};

/// The prefix of each line of external text, so that none of it can be mistaken for our own text,
/// or for a command to a program that reads a build's log.
const QUOTE: &str = "  | ";

/// Makes external text safe for a terminal: control characters, hidden characters and those that
/// change the reading direction are escaped, so that no model and no file name moves the cursor or
/// hides a word.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut hiding = hidden(text).map(|(at, _)| at).peekable();
    for (at, c) in text.char_indices() {
        let hides = hiding.next_if_eq(&at).is_some();
        match c {
            '\n' | '\t' => safe.push(c),
            _ if hides || c.is_control() => safe.extend(c.escape_unicode()),
            _ => safe.push(c),
        }
    }
    safe
}

/// Like [`plain`], but in one line of at most `width` characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let safe = plain(&in_one_line(text));
    if safe.chars().count() <= width {
        return safe;
    }
    let kept: String = safe.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Joins ids or names with commas.
pub(crate) fn joined<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for name in names {
        text += if text.is_empty() { "" } else { ", " };
        text += name.as_ref();
    }
    text
}

/// Returns file names in one line of about `width` characters. Each is escaped but never cut, so
/// that no two look alike; those that do not fit are counted.
pub(crate) fn names(names: &[String], width: usize) -> String {
    let mut line = String::new();
    for (at, name) in names.iter().enumerate() {
        let name = shown(name);
        if at > 0 && line.chars().count() + name.chars().count() > width {
            return format!("{line} and {} more", names.len() - at);
        }
        line.push_str(if at > 0 { ", " } else { "" });
        line.push_str(&name);
    }
    line
}

/// Marks external text of several lines, to tell it from our own.
pub(crate) fn quoted(text: &str) -> String {
    plain(text)
        .lines()
        .map(|line| format!("{}\n", format!("{QUOTE}{line}").trim_end()))
        .collect()
}

/// Makes text safe for a line of a workflow command of GitHub Actions.
pub(crate) fn workflow_data(text: &str) -> String {
    plain(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Makes text safe for a property of such a command.
pub(crate) fn workflow_property(text: &str) -> String {
    workflow_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes the characters that [`plain`] escapes as JSON does; JSON has none of them outside its
/// strings.
pub(crate) fn ascii_controls(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || is_invisible(c) {
            let mut units = [0; 2];
            safe.extend(
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_cannot_move_the_cursor() {
        let table = [
            ("plain", "plain"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("x\u{202e}y", "x\\u{202e}y"),
            ("two\nlines\r", "two\nlines\\u{d}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("rm\u{3164}-rf\u{fe00}", "rm\\u{3164}-rf\\u{fe00}"),
            ("⚠\u{fe0f} heed", "⚠\u{fe0f} heed"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(one_line("one\n  two three", 8), "one two…");
    }

    #[test]
    fn names_are_whole_and_no_two_look_alike() {
        let listed = |files: &[&str]| {
            names(
                &files
                    .iter()
                    .map(|file| (*file).to_owned())
                    .collect::<Vec<_>>(),
                12,
            )
        };
        assert_eq!(listed(&["a\nb", "a\rb"]), "a\\nb, a\\rb");
        assert_eq!(
            listed(&["a  b", "a b", "long/name", "c"]),
            "a  b, a b and 2 more"
        );
        assert_eq!(listed(&["a/very/long/name"]), "a/very/long/name");
    }

    #[test]
    fn others_cannot_speak_for_us() {
        assert_eq!(
            quoted("::error::x\n\u{1b}[A"),
            "  | ::error::x\n  | \\u{1b}[A\n"
        );
        assert_eq!(workflow_property("a:b,c\n%"), "a%3Ab%2Cc%0A%25");
    }

    #[test]
    fn json_says_the_same_in_characters_that_show() {
        let text = "\u{1b}[2J\u{9b}2J \u{202e}\u{e0041}é\n";
        let written = ascii_controls(&serde_json::to_string(text).unwrap());
        assert_eq!(written, r#""\u001b[2J\u009b2J \u202e\udb40\udc41é\n""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
