//! A command template: words of which some are slots for the arguments of a call.
//!
//! It is split into words once, with the quotes of a shell but without a shell: nothing that a call
//! gives is split or interpreted again. An array fills a slot with one word each and may hold
//! options; any other value is one word, or a part of one, and may not look like an option.

use serde_json::Value;

use super::hidden;
use super::word::{Piece, Word, split};

/// The longest command template in bytes.
const MAX_BYTES: usize = 4096;

/// A command template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTemplate {
    text: String,
    words: Vec<Word>,
}

impl CommandTemplate {
    /// Parses a template whose slots are these parameters.
    pub(crate) fn parse(text: &str, parameters: &[&str]) -> Result<CommandTemplate, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the command is longer than {MAX_BYTES} bytes"));
        }
        let words = split(text, parameters)?;
        hidden::require_plain(&words)?;
        Ok(CommandTemplate {
            text: text.to_owned(),
            words,
        })
    }

    /// Returns the template as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the slots, in their order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &str> {
        self.words
            .iter()
            .flat_map(|word| &word.pieces)
            .filter_map(|piece| match piece {
                Piece::Slot(name) => Some(name.as_str()),
                Piece::Fixed(_) => None,
            })
    }

    /// Reports whether a slot is a part of a word, which an array cannot fill.
    pub(crate) fn is_part_of_word(&self, slot: &str) -> bool {
        let uses = |word: &&Word| word.pieces.contains(&Piece::Slot(slot.to_owned()));
        self.words
            .iter()
            .filter(uses)
            .any(|word| word.only_slot().is_none())
    }

    /// Fills the slots, and returns the program and its arguments. A word with a value that is
    /// absent is left out.
    ///
    /// # Errors
    /// Returns which argument cannot fill its slot, and why.
    pub fn fill(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let mut argv = Vec::new();
        for word in &self.words {
            match word
                .only_slot()
                .and_then(|name| Some((name, arguments.get(name)?)))
            {
                Some((name, Value::Array(items))) => {
                    for item in items {
                        argv.push(plain(name, item)?);
                    }
                }
                _ => argv.extend(filled(word, arguments)?),
            }
        }
        Ok(argv)
    }
}

fn filled(word: &Word, arguments: &Value) -> Result<Option<String>, String> {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Fixed(fixed) => text.push_str(fixed),
            Piece::Slot(name) => {
                let Some(value) = arguments.get(name).filter(|value| !value.is_null()) else {
                    return Ok(None);
                };
                let value = plain(name, value)?;
                if value.starts_with('-') {
                    return Err(format!(
                        "`{name}`: expected a value that does not begin with `-`, got {value:?}"
                    ));
                }
                text.push_str(&value);
            }
        }
    }
    Ok(Some(text))
}

/// Returns a value as a word of a command.
fn plain(name: &str, value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => return Err(format!("`{name}`: expected a string, got {other}")),
    };
    if text.contains('\0') {
        Err(format!("`{name}` contains a NUL byte"))
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PARAMETERS: &[&str] = &["arguments", "path", "count"];

    fn filled(template: &str, arguments: &Value) -> Result<Vec<String>, String> {
        CommandTemplate::parse(template, PARAMETERS)?.fill(arguments)
    }

    #[test]
    fn slots_are_filled_word_by_word_and_nothing_is_split_again() {
        let table = [
            (
                "find {arguments} -type f",
                json!({"arguments": [".", "-name", "*.vala; rm -rf ~"]}),
                vec!["find", ".", "-name", "*.vala; rm -rf ~", "-type", "f"],
            ),
            (
                "grep {ARGS}",
                json!({"arguments": ["-r", "a b"]}),
                vec!["grep", "-r", "a b"],
            ),
            ("ls {arguments}", json!({"arguments": []}), vec!["ls"]),
            ("ls '{path}'", json!({"path": "$(id)"}), vec!["ls", "$(id)"]),
            (
                "ls \"{path}/x\"",
                json!({"path": "a b"}),
                vec!["ls", "a b/x"],
            ),
            (
                "grep {path} {count}",
                json!({"path": "; id", "count": "a b"}),
                vec!["grep", "; id", "a b"],
            ),
            // The control: written in the template itself, the same text is two words.
            (
                "grep {path} a b",
                json!({"path": "; id"}),
                vec!["grep", "; id", "a", "b"],
            ),
            (
                "head -n {count} {path}",
                json!({"count": 3}),
                vec!["head", "-n", "3"],
            ),
            (
                "head --lines={count} x",
                json!({"count": 3}),
                vec!["head", "--lines=3", "x"],
            ),
            ("head --lines={count} x", json!({}), vec!["head", "x"]),
            (
                "awk '{print $1}' '' a\\ b {} {path}",
                json!({"path": ""}),
                vec!["awk", "{print $1}", "", "a b", "{}", ""],
            ),
            (
                "echo {path}{count}",
                json!({"path": "a", "count": 1}),
                vec!["echo", "a1"],
            ),
        ];
        for (template, arguments, expected) in table {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(filled(template, &arguments), Ok(expected), "{template}");
        }
    }

    #[test]
    fn one_value_is_no_option() {
        let table = [
            (
                "ls {path}",
                json!({"path": "--help"}),
                "`path`: expected a value that does not begin with `-`",
            ),
            (
                "grep {path} x",
                json!({"path": "-f/etc/shadow"}),
                "`path`: expected a value that does not begin with `-`",
            ),
            (
                "head -n {count}",
                json!({"count": -1}),
                "`count`: expected a value that does not begin with `-`",
            ),
            (
                "ls {path}",
                json!({"path": "a\0b"}),
                "`path` contains a NUL byte",
            ),
            (
                "ls {arguments}",
                json!({"arguments": ["a\0b"]}),
                "`arguments` contains a NUL byte",
            ),
            (
                "ls {arguments}",
                json!({"arguments": [["a"]]}),
                "`arguments`: expected a string, got [\"a\"]",
            ),
        ];
        for (template, arguments, reason) in table {
            let said = filled(template, &arguments).unwrap_err();
            assert!(said.contains(reason), "{template}: {said}");
        }
        // The control: a dash elsewhere in a value is no option, and a list may hold options.
        let table = [
            ("ls {path}", json!({"path": "a--help"}), "a--help"),
            ("head -n{count}", json!({"count": 1}), "-n1"),
            (
                "grep {arguments}",
                json!({"arguments": ["-f/etc/shadow"]}),
                "-f/etc/shadow",
            ),
        ];
        for (template, arguments, word) in table {
            let argv = filled(template, &arguments).unwrap();
            assert_eq!(argv.last().map(String::as_str), Some(word), "{template}");
        }
    }

    #[test]
    fn a_template_is_no_shell_command() {
        let table = [
            ("", "the command is empty"),
            ("{path} x", "the program must be fixed"),
            ("ls {who}", "`{who}` names no parameter"),
            ("ls 'a", "a quote `'` is not closed"),
            ("ls \"a", "a quote `\"` is not closed"),
            ("ls a\\", "the command ends with `\\`"),
            (
                "cat {path} | sort",
                "`|` has no meaning, since no shell runs the command",
            ),
            ("ls $HOME", "`$` has no meaning"),
            ("ls \"`id`\"", "``` has no meaning"),
            ("A=1 ls {path}", "variables cannot be set"),
            ("~/bin/x {path}", "`~` is not expanded"),
        ];
        for (template, reason) in table {
            let said = CommandTemplate::parse(template, PARAMETERS).unwrap_err();
            assert!(said.contains(reason), "{template}: {said}");
        }
        assert!(CommandTemplate::parse(&"x".repeat(MAX_BYTES + 1), PARAMETERS).is_err());
        // The control: without what a shell would have to do, or where it is quoted, the same
        // templates are taken.
        let longest = "x".repeat(MAX_BYTES);
        for template in [
            "ls {path} x",
            "ls 'a'",
            "ls a\\ ",
            "cat '|' {path}",
            "ls '$HOME' '`id`'",
            "ls A=1",
            &longest,
        ] {
            let parsed = CommandTemplate::parse(template, PARAMETERS);
            assert!(parsed.is_ok(), "{template}: {parsed:?}");
        }
    }
}
