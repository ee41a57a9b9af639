//! Text as Markdown in which nothing of it is taken for a link.

/// What may follow `<` in an address or a tag, beside letters.
const BEGINS_TAG: [char; 3] = ['/', '!', '?'];

/// Returns a text in which no character begins or ends a link of Markdown, or a code in which an
/// end would be lost.
///
/// ```
/// assert_eq!(orchestrate_html::escaped("x](http://a) `y"), r"x\](http://a) \`y");
/// ```
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_escaped(&mut escaped, text);
    escaped
}

pub(crate) fn push_escaped(out: &mut String, text: &str) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_mark = match character {
            '\\' | '[' | ']' | '`' => true,
            // What follows at the end of a text is not known here.
            '<' => characters
                .peek()
                .is_none_or(|next| next.is_ascii_alphabetic() || BEGINS_TAG.contains(next)),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(character);
    }
}
