//! Texts of which only the beginning is shown, with the number of characters left out.

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
}
