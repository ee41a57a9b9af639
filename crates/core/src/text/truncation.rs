//! Texts of which only the beginning is shown, or the beginning and the end, with how much is left
//! out.

/// The end of a truncated text.
const END: &str = "more characters)";

/// Returns the first `chars` characters of a text, and how many more there are; a text that is not
/// longer as it is.
pub fn truncate(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            format!("{shown}… ({} {END}", rest.chars().count())
        }
        None => text.to_owned(),
    }
}

/// Returns the first `chars` characters of a text with a mark if there are more; a text that is not
/// longer as it is.
pub fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", text.split_at(at).0),
        None => text.to_owned(),
    }
}

/// Returns the words of a text in one line.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Truncates a text in the middle, keeping head and tail, with a mark; never inside a character.
pub fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes * 6 / 10);
    let tail = text.ceil_char_boundary(text.len() - (bytes - head));
    let (start, end) = (text.split_at(head).0, text.split_at(tail).1);
    format!("{start}\n[… {} bytes left out …]\n{end}", tail - head)
}

/// Reports whether a text ends as a truncated one does.
pub(crate) fn is_truncated(text: &str) -> bool {
    text.ends_with(END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(truncate("één", 3), "één");
        let short = truncate("één of twee", 3);
        assert_eq!(short, "één… (8 more characters)");
        assert!(is_truncated(&short) && !is_truncated("één"));
    }

    #[test]
    fn a_shortened_text_has_a_mark() {
        assert_eq!(shortened("één", 3), "één");
        assert_eq!(shortened("één of", 3), "één…");
        assert_eq!(in_one_line(" a\n  b\t"), "a b");
    }

    #[test]
    fn a_cut_text_keeps_head_and_tail_and_whole_characters() {
        let text = "é".repeat(100);
        let short = cut(&text, 21);
        assert_eq!(
            short,
            format!(
                "{}\n[… {} bytes left out …]\n{}",
                "é".repeat(6),
                180,
                "é".repeat(4)
            )
        );
    }
}
