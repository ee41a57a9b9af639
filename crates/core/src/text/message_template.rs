//! The template of a landing's message: a text with placeholders in braces, such as `{title}`.
//!
//! `{{` and `}}` stand for one brace each, as in format strings. Braces around anything but one
//! word are text.

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder),
}

/// What a template can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `{title}`: the plan's title.
    Title,
    /// `{run}`: the run's id.
    Run,
    /// `{tasks}`: the tasks whose work lands.
    Tasks,
}

/// Where a placeholder stands in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the first line, which git takes for the subject.
    Subject,
    /// Below it.
    Body,
}

/// A word in braces that is no placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fill in `{{{0}}}`: the placeholders are {{title}}, {{run}} and {{tasks}}; write `{{{{` for a \
     brace"
)]
pub struct UnknownPlaceholder(pub String);

impl MessageTemplate {
    /// Parses a template.
    ///
    /// ```
    /// use orchestrate_core::text::message_template::MessageTemplate;
    /// let template = MessageTemplate::parse("feat: {title} {{x}}")?;
    /// assert_eq!(template.fill(|_, _| "Words".to_owned()), "feat: Words {x}");
    /// assert!(MessageTemplate::parse("{titel}").is_err());
    /// # Ok::<(), orchestrate_core::text::message_template::UnknownPlaceholder>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with the first word in braces that is no placeholder.
    pub fn parse(text: &str) -> Result<Self, UnknownPlaceholder> {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some((name, after)) = word_in_braces(from) {
                let placeholder =
                    Placeholder::named(name).ok_or_else(|| UnknownPlaceholder(name.to_owned()))?;
                parts.extend([
                    Part::Text(std::mem::take(&mut literal)),
                    Part::Value(placeholder),
                ]);
                rest = after;
            } else {
                // A double brace stands for a single one, and so does a single one that begins no
                // placeholder.
                let (brace, after) = from.split_at(1);
                literal.push_str(brace);
                rest = after.strip_prefix(brace).unwrap_or(after);
            }
        }
        literal.push_str(rest);
        parts.push(Part::Text(literal));
        Ok(Self { parts })
    }

    /// Returns the message with these values, in which no placeholder is replaced.
    pub fn fill(&self, value: impl Fn(Placeholder, Place) -> String) -> String {
        let mut message = String::new();
        for part in &self.parts {
            let place = if message.contains('\n') {
                Place::Body
            } else {
                Place::Subject
            };
            match part {
                Part::Text(text) => message.push_str(text),
                Part::Value(placeholder) => message.push_str(&value(*placeholder, place)),
            }
        }
        message
    }
}

/// The title, and the tasks below it.
impl Default for MessageTemplate {
    fn default() -> Self {
        let below = Part::Text("\n\n".to_owned());
        Self {
            parts: vec![
                Part::Value(Placeholder::Title),
                below,
                Part::Value(Placeholder::Tasks),
            ],
        }
    }
}

impl Placeholder {
    fn named(name: &str) -> Option<Self> {
        match name {
            "title" => Some(Self::Title),
            "run" => Some(Self::Run),
            "tasks" => Some(Self::Tasks),
            _ => None,
        }
    }
}

/// Splits a text that begins with one word in braces into that word and what follows.
fn word_in_braces(text: &str) -> Option<(&str, &str)> {
    let (word, after) = text.strip_prefix('{')?.split_once('}')?;
    (!word.is_empty() && word.chars().all(is_of_word)).then_some((word, after))
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let value = |placeholder, place| format!("<{placeholder:?} {place:?} {{run}}>");
        MessageTemplate::parse(template).unwrap().fill(value)
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let table = [
            ("", ""),
            ("plain } {", "plain } {"),
            (
                "{title}: {tasks}",
                "<Title Subject {run}>: <Tasks Subject {run}>",
            ),
            (
                "{run}\n{tasks}}",
                "<Run Subject {run}>\n<Tasks Body {run}>}",
            ),
            ("{{run}} {{{run}}}", "{run} {<Run Subject {run}>}"),
            ("{} { run } {a b} {ré", "{} { run } {a b} {ré"),
        ];
        for (template, expected) in table {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn an_unknown_placeholder_is_an_error() {
        let unknown = MessageTemplate::parse("{run} {nope} {other}").unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "fill in `{nope}`: the placeholders are {title}, {run} and {tasks}; write `{{` for a \
             brace"
        );
        assert!(MessageTemplate::parse("{Title}").is_err());
    }
}
