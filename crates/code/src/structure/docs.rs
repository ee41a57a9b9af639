//! Documentation in comments and in strings.

use crate::language::Language;

/// Maximum number of characters of documentation that an item shows.
const MAX_CHARACTERS: usize = 300;

/// Reports whether a comment documents what follows it, in a language that tells such comments by
/// their form.
pub(super) fn is_doc(language: Language, comment: &str) -> bool {
    match language {
        Language::Rust => {
            comment.starts_with("///") && !comment.starts_with("////")
                || comment.starts_with("/**") && !comment.starts_with("/***")
        }
        Language::Java | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            comment.starts_with("/**")
        }
        Language::Python | Language::Shell => !is_for_programs(comment),
        Language::C | Language::Cpp | Language::Go => true,
    }
}

/// Reports whether a comment says something to a program: which one runs the file, or how an editor
/// and Python read it.
fn is_for_programs(comment: &str) -> bool {
    let said = comment.trim_start_matches('#').trim_start();
    comment.starts_with("#!")
        || ["-*-", "coding:", "coding=", "vim:"]
            .iter()
            .any(|begin| said.starts_with(begin))
}

/// Returns the first paragraph of comments, on one line.
pub(super) fn of_comments(comments: &[&str]) -> Option<String> {
    first_paragraph(
        comments
            .iter()
            .flat_map(|comment| comment.lines())
            .map(without_marks),
    )
}

/// Returns the first paragraph of a string in Python, on one line.
pub(super) fn of_string(string: &str) -> Option<String> {
    let text = string.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    first_paragraph(text.trim_matches(['"', '\'']).lines().map(str::trim))
}

fn without_marks(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_suffix("*/").unwrap_or(line);
    let line = line
        .trim_start_matches("/*")
        .trim_start_matches(['/', '*', '#', '!', '<']);
    line.trim()
}

fn first_paragraph<'l>(lines: impl Iterator<Item = &'l str>) -> Option<String> {
    let mut text = String::new();
    for line in lines
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
    {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
        if text.len() > 4 * MAX_CHARACTERS {
            break;
        }
    }
    if text.is_empty() {
        None
    } else {
        Some(cut(&text, MAX_CHARACTERS))
    }
}

/// Returns the first characters of a text, with a mark if there are more.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text.split_at(at).0),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_is_told_is_no_documentation() {
        let table = [
            (Language::Python, "#!/usr/bin/env python3", false),
            (Language::Python, "# -*- coding: utf-8 -*-", false),
            (Language::Python, "# coding=utf-8", false),
            (Language::Python, "# The coding: none.", true),
            (Language::Shell, "#!/bin/sh", false),
            (Language::Shell, "# vim: set ts=4:", false),
            (Language::Shell, "# Says it.", true),
            (Language::C, "// Says it.", true),
        ];
        for (language, comment, expected) in table {
            assert_eq!(is_doc(language, comment), expected, "{comment}");
        }
    }

    #[test]
    fn the_first_paragraph_is_shown_without_marks() {
        let table: [(&[&str], &str); 5] = [
            (&["/// Returns it.", "///", "/// More."], "Returns it."),
            (
                &["/**\n * Two\n * lines.\n *\n * @param x\n */"],
                "Two lines.",
            ),
            (&["/* One. */"], "One."),
            (&["# Says", "# it."], "Says it."),
            (&["// A", "// b"], "A b"),
        ];
        for (comments, expected) in table {
            assert_eq!(of_comments(comments).as_deref(), Some(expected));
        }
        assert_eq!(
            of_string("r\"\"\"\n  A shape.\n\n  More.\n\"\"\"").as_deref(),
            Some("A shape.")
        );
        assert_eq!(of_comments(&["//"]), None);
        assert_eq!(
            of_comments(&["//".repeat(3).as_str(), &"ä".repeat(400)])
                .unwrap()
                .chars()
                .count(),
            301
        );
    }
}
