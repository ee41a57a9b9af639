//! Splits the text of a `.tool` file into its description and its annotations, each with its line.
//!
//! The description is everything before the first annotation. An annotation begins with `@` and
//! goes on until a blank line or the next annotation; its lines are joined with spaces.

/// What is wrong with a `.tool` file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The line, from 1.
    pub(super) line: u32,
    /// What is wrong there.
    pub(super) reason: String,
}

impl Mistake {
    pub(super) fn new(line: u32, reason: impl Into<String>) -> Mistake {
        Mistake {
            line,
            reason: reason.into(),
        }
    }
}

/// The text of a `.tool` file, split.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// The lines before the first annotation, without blank lines around them.
    pub(super) description: String,
    /// The annotations, in their order.
    pub(super) annotations: Vec<Annotation>,
}

/// One annotation, such as `@name glob`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Annotation {
    /// The line that it begins on, from 1.
    pub(super) line: u32,
    /// Its name, without the `@`.
    pub(super) name: String,
    /// What follows, on one line.
    pub(super) value: String,
}

/// Splits a text.
pub(super) fn split(text: &str) -> Result<Parts, Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut description: Vec<&str> = Vec::new();
    let mut annotations: Vec<Annotation> = Vec::new();
    let mut continues = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(forbidden) = line
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\t' | '\r'))
        {
            return Err(Mistake::new(
                number,
                format!("it contains the control character {forbidden:?}"),
            ));
        }
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix('@') {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            annotations.push(Annotation {
                line: number,
                name: name.to_owned(),
                value: value.trim().to_owned(),
            });
            continues = true;
        } else if trimmed.is_empty() {
            continues = false;
            description.push("");
        } else if annotations.is_empty() {
            description.push(line.trim_end());
        } else {
            let last = annotations.last_mut().filter(|_| continues);
            let annotation = last.ok_or_else(|| {
                Mistake::new(
                    number,
                    "this text belongs to no annotation; the description goes before the first one",
                )
            })?;
            if !annotation.value.is_empty() {
                annotation.value.push(' ');
            }
            annotation.value.push_str(trimmed);
        }
    }
    Ok(Parts {
        description: description.join("\n").trim().to_owned(),
        annotations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_and_annotations_are_split_and_continued() {
        let text = "\u{feff}First line.\r\n\r\nSecond\r\n\r\n@title A\r\n  long title\n@name x\n\n\
                    @param a {string}\n";
        let annotation = |line, name: &str, value: &str| Annotation {
            line,
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let expected = Parts {
            description: "First line.\n\nSecond".to_owned(),
            annotations: vec![
                annotation(5, "title", "A long title"),
                annotation(7, "name", "x"),
                annotation(9, "param", "a {string}"),
            ],
        };
        assert_eq!(split(text), Ok(expected));
    }

    #[test]
    fn text_that_belongs_nowhere_has_its_line() {
        let table = [
            ("@name x\n\nmore\n", 3, "belongs to no annotation"),
            (
                "a\u{1b}[2J\n@name x\n",
                1,
                "the control character '\\u{1b}'",
            ),
        ];
        for (text, line, reason) in table {
            let mistake = split(text).unwrap_err();
            assert!(
                mistake.line == line && mistake.reason.contains(reason),
                "{text:?}: {mistake:?}"
            );
        }
    }
}
