//! Where links lead.

use orchestrate_core::policy::host::WebUrl;

/// Returns an address of a page in full, with the place within the page; `None` if it leads to no
/// page of the web.
pub(crate) fn in_full(base: &WebUrl, written: &str) -> Option<String> {
    let url = base.join(written).ok().filter(|_| !written.is_empty())?;
    let mut address = url.to_string();
    if let Some((_, place)) = written
        .trim()
        .split_once('#')
        .filter(|(_, place)| !place.is_empty())
    {
        address.push('#');
        push_place(&mut address, place);
    }
    Some(enclosed(address))
}

/// Returns an address that does not end before its end when it stands in parentheses.
pub(crate) fn enclosed(address: String) -> String {
    let mut depth = 0_usize;
    let mut is_balanced = true;
    for character in address.chars() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => is_balanced = false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    if is_balanced && depth == 0 {
        address
    } else {
        address.replace('(', "%28").replace(')', "%29")
    }
}

/// Writes the name of a place, in which nothing may end a link of Markdown.
fn push_place(address: &mut String, place: &str) {
    for character in place.chars() {
        let ends_link = matches!(character, '(' | ')' | '<' | '>' | '"' | '\\');
        if ends_link || character.is_whitespace() || character.is_control() {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                address.push_str(&format!("%{byte:02X}"));
            }
        } else {
            address.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_that_do_not_match_are_encoded() {
        let table = [
            ("https://a/b_(c)", "https://a/b_(c)"),
            ("https://a/b)", "https://a/b%29"),
            ("https://a/b)(", "https://a/b%29%28"),
            ("https://a/((b)", "https://a/%28%28b%29"),
        ];
        for (address, expected) in table {
            assert_eq!(enclosed(address.to_owned()), expected);
        }
    }
}
