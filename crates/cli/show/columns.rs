//! Counts the columns of a terminal that text takes, the same way wherever text has to fit or to be
//! aligned.
//!
//! Text is made safe first ([`crate::show::output::plain`]), so it contains no control characters.
//! A sequence that some terminals draw narrower is counted at its widest, so that no line is wider
//! than counted.

use unicode_width::UnicodeWidthChar as _;

/// Requests the wide form of the preceding character, whose own width does not include that.
const WIDE_FORM: char = '\u{fe0f}';

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Splits a text after the part that fits into `columns`: at least one character, so that repeated
/// splitting ends.
pub(crate) fn split(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += width_of(c);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// Pads a text with blanks up to `columns`.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

fn width_of(c: char) -> usize {
    if c == WIDE_FORM {
        1
    } else {
        c.width().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns_and_marks_none() {
        let table = [
            ("abc", 3),
            ("日本語", 6),
            ("e\u{301}", 1),
            ("⚠\u{fe0f}", 2),
            ("ｗ", 2),
            ("", 0),
        ];
        for (text, columns) in table {
            assert_eq!(width(text), columns, "{text}");
        }
        assert_eq!(split("日本語", 5), ("日本", "語"));
        assert_eq!(split("日本語", 1), ("日", "本語"));
        assert_eq!(split("abc", 3), ("abc", ""));
        assert_eq!(padded("日", 4), "日  ");
    }
}
