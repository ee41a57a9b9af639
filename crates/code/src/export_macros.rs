//! Takes macros such as `LIB_API` out of the heads of classes in C and C++.
//!
//! The grammar knows of none there, and takes `class LIB_API Thing { … }` for a function.

use std::borrow::Cow;
use std::ops::Range;

/// What begins such a head.
const KEYWORDS: [&str; 3] = ["class", "struct", "union"];
/// Maximum number of words in a head: more are prose.
const MAX_WORDS: usize = 6;
/// Maximum number of characters in which values of a variable are told from the members of a class.
const MAX_VALUES: usize = 200;

/// Returns the bytes of a text with spaces in the place of such macros.
pub(crate) fn without_export_macros(text: &str) -> Cow<'_, [u8]> {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    for keyword in KEYWORDS {
        for (at, _) in text.match_indices(keyword) {
            for place in macros_behind(text, at, keyword) {
                if let Some(name) = bytes.to_mut().get_mut(place) {
                    name.fill(b' ');
                }
            }
        }
    }
    bytes
}

/// Returns the places of the macros between a keyword and the name of a class that has a body or
/// bases.
fn macros_behind(text: &str, begin: usize, keyword: &str) -> Vec<Range<usize>> {
    let (before, head) = text.split_at(begin);
    let (_, mut after) = head.split_at(keyword.len());
    if before.ends_with(is_in_name) || !after.starts_with(char::is_whitespace) {
        return Vec::new();
    }
    let mut words = Vec::new();
    loop {
        after = after.trim_start();
        let length = after.find(|c: char| !is_in_name(c)).unwrap_or(after.len());
        if length == 0 || words.len() == MAX_WORDS {
            break;
        }
        let begin = text.len() - after.len();
        let (word, behind) = after.split_at(length);
        words.push(Word { begin, text: word });
        after = behind;
    }
    if words.last().is_some_and(|last| last.text == "final") {
        words.pop();
    }
    // The name itself.
    words.pop();
    let has_body = after
        .strip_prefix('{')
        .is_some_and(|inside| keyword == "class" || !are_values(inside));
    let is_head = has_body || after.starts_with(':') && !after.starts_with("::");
    if !is_head || !words.iter().all(|word| is_macro(word.text)) {
        return Vec::new();
    }
    words.iter().map(Word::place).collect()
}

/// A word of a head.
struct Word<'t> {
    begin: usize,
    text: &'t str,
}

impl Word<'_> {
    fn place(&self) -> Range<usize> {
        self.begin..self.begin + self.text.len()
    }
}

/// Reports whether what stands in braces are the values of a variable, as in `struct POINT p{1,
/// 2}`. If there is nothing, it is the body of a class.
fn are_values(inside: &str) -> bool {
    let mut before_end = inside
        .chars()
        .take(MAX_VALUES)
        .filter(|c| !c.is_whitespace());
    let is_empty = before_end.clone().next() == Some('}');
    !is_empty && before_end.find(|c| matches!(*c, '}' | ';' | ':' | '(' | '#' | '/')) == Some('}')
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reports whether a word is written as macros are. A single letter may well be a type.
fn is_macro(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && word.chars().all(is_capital)
}

fn is_capital(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macros_before_the_name_of_a_class_are_taken_out() {
        let table = [
            (
                "class LIB_API Thing : Base {",
                "class         Thing : Base {",
            ),
            (
                "struct A_B\n C1_D Other final {",
                "struct    \n      Other final {",
            ),
            ("union EXPORT\tU{", "union       \tU{"),
            ("class Thing final {", "class Thing final {"),
            ("struct POINT make(int a) {", "struct POINT make(int a) {"),
            ("struct Point p {1, 2};", "struct Point p {1, 2};"),
            ("struct POINT p;", "struct POINT p;"),
            ("struct POINT p{1, 2};", "struct POINT p{1, 2};"),
            ("struct API S { int a; };", "struct     S { int a; };"),
            ("struct API S {\n};", "struct     S {\n};"),
            ("enum class API E { A, B };", "enum class     E { A, B };"),
            ("class API A::B {", "class API A::B {"),
            ("subclass LIB_API Thing {", "subclass LIB_API Thing {"),
            ("class", "class"),
            ("class ä LIB {", "class ä LIB {"),
        ];
        for (text, expected) in table {
            let found = without_export_macros(text);
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }
}
