//! Characters that are invisible or change the reading direction, so that a text differs from what
//! it shows.
//!
//! The table is Unicode's `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt), plus the
//! separators of lines and paragraphs, the marks of interlinear annotations, and the blank braille
//! pattern, which looks like a space but counts as a letter. Some of them belong to ordinary text:
//! see [`hidden`].

/// Reports whether a character is invisible or changes the reading direction.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the invisible characters of a text that hide something, each with its byte offset.
///
/// Characters that ordinary text needs are left out: one variation selector after a sign, a joiner
/// between two signs, and joiners between letters of scripts that use them (Arabic, the scripts of
/// India and others).
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut before = None;
    text.char_indices().filter(move |(at, c)| {
        let last = before.replace(*c);
        is_invisible(*c)
            && !is_ordinary(
                *c,
                last,
                text.get(at + c.len_utf8()..)
                    .and_then(|rest| rest.chars().next()),
            )
    })
}

/// Returns a text without the invisible characters that hide something.
pub fn without_hidden(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut offsets = hidden(text).map(|(at, _)| at).peekable();
    text.char_indices()
        .filter(|(at, _)| offsets.next_if_eq(at).is_none())
        .map(|(_, c)| c)
        .collect()
}

/// Returns a name in one line, safe to show: control characters and hidden characters are escaped,
/// and a backslash that would read as the beginning of an escape is doubled, so that two names
/// never look alike.
pub fn shown(name: &str) -> String {
    let mut offsets = hidden(name).map(|(at, _)| at).peekable();
    let mut shown = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let is_hidden = offsets.next_if_eq(&at).is_some();
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\\' if name
                .get(at + 1..)
                .is_some_and(|rest| rest.starts_with(reads_on)) =>
            {
                shown.push_str("\\\\")
            }
            _ if is_hidden || c.is_control() => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// Reports whether a backslash before this character would read as the beginning of an escape made
/// by [`shown`].
fn reads_on(c: char) -> bool {
    matches!(c, 'n' | 'r' | 't' | 'u' | '\\') || c.is_control() || is_invisible(c)
}

fn is_ordinary(c: char, before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_sign(before) || is_keycap(before, after),
        '\u{200c}' | '\u{200d}' if is_joined(before) => after.is_some_and(is_joined),
        '\u{200d}' => (before == '\u{fe0f}' || is_sign(before)) && after.is_some_and(is_sign),
        _ => false,
    }
}

fn is_keycap(before: char, after: Option<char>) -> bool {
    (before.is_ascii_digit() || matches!(before, '#' | '*')) && after == Some('\u{20e3}')
}

/// Reports whether a character is a visible sign, as emojis are.
fn is_sign(c: char) -> bool {
    !c.is_ascii()
        && !c.is_alphanumeric()
        && !c.is_whitespace()
        && !c.is_control()
        && !is_invisible(c)
}

/// Reports whether a character belongs to a script that uses joiners.
fn is_joined(c: char) -> bool {
    !is_invisible(c)
        && matches!(c,
            '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{1b00}'..='\u{1b7f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_something_is_found() {
        let hiding = "\u{3164}\u{115f}\u{1160}\u{ffa0}\u{fe0f}\u{fe00}\u{e0041}\u{e0100}\
                      \u{200b}\u{200d}\u{202e}\u{ad}\u{34f}\u{2800}\u{180e}";
        for c in hiding.chars() {
            let text = format!("a{c}b");
            assert_eq!(
                hidden(&text).collect::<Vec<_>>(),
                [(1, c)],
                "U+{:04X}",
                u32::from(c)
            );
            assert_eq!(without_hidden(&text), "ab");
        }
        assert_eq!(
            hidden("⚠\u{fe0f}\u{fe0f}x").count(),
            1,
            "more than one selector carries data"
        );
    }

    #[test]
    fn ordinary_text_hides_nothing() {
        for text in [
            "⚠\u{fe0f} heed",
            "👩\u{200d}💻",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
        ] {
            assert_eq!(hidden(text).count(), 0, "{text}");
            assert_eq!(without_hidden(text), text);
        }
    }

    #[test]
    fn two_names_never_look_alike() {
        let names = [
            "a\nb",
            "a\rb",
            "a b",
            "a  b",
            "a\tb",
            "a\\nb",
            "a\\\\nb",
            "a\\\nb",
            "a\u{1b}b",
            "a\\u{1b}b",
            "a\\b",
        ];
        let all: std::collections::BTreeSet<String> =
            names.iter().map(|name| shown(name)).collect();
        assert_eq!(all.len(), names.len(), "{all:?}");
    }

    #[test]
    fn a_name_is_shown_in_one_line() {
        assert_eq!(
            shown("a\r\nb\u{1b}[2J\u{202e}c\u{3164} é⚠\u{fe0f}"),
            "a\\r\\nb\\u{1b}[2J\\u{202e}c\\u{3164} é⚠\u{fe0f}"
        );
    }
}
