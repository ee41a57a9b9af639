//! The words of a command template, split once with the quotes of a shell.

/// The characters that only a shell would give a meaning.
const OPERATORS: &[char] = &['|', '&', ';', '<', '>', '(', ')', '$', '`'];

/// The name of the parameter that takes any arguments.
pub(crate) const ARGUMENTS: &str = "arguments";
/// Its other name in templates.
pub(crate) const ARGUMENTS_SYNONYM: &str = "ARGS";

/// A word of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A text of the template.
    Fixed(String),
    /// The name of the parameter that fills it.
    Slot(String),
}

impl Word {
    /// Returns the text of a word without slots.
    pub(super) fn fixed(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Fixed(text)] => Some(text),
            _ => None,
        }
    }

    /// Reports whether arguments fill it or a part of it.
    pub(super) fn has_slot(&self) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Slot(_)))
    }

    /// Returns the slot that is the whole word.
    pub(super) fn only_slot(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Slot(name)] => Some(name),
            _ => None,
        }
    }

    fn push(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(Piece::Fixed(text)) => text.push(c),
            _ => self.pieces.push(Piece::Fixed(c.to_string())),
        }
    }
}

/// Splits a template into words; its slots are these parameters.
pub(super) fn split(text: &str, parameters: &[&str]) -> Result<Vec<Word>, String> {
    Splitter {
        rest: text,
        parameters,
        words: Vec::new(),
    }
    .split()
}

/// The state of the splitting.
struct Splitter<'a> {
    rest: &'a str,
    parameters: &'a [&'a str],
    words: Vec<Word>,
}

impl<'a> Splitter<'a> {
    fn split(mut self) -> Result<Vec<Word>, String> {
        let mut word: Option<Word> = None;
        while let Some(c) = self.next() {
            if c.is_whitespace() {
                self.words.extend(word.take());
                continue;
            }
            let current = word.get_or_insert_default();
            match c {
                '\'' => self.single_quoted(current)?,
                '"' => self.double_quoted(current)?,
                '\\' => current.push(self.next().ok_or("the command ends with `\\`")?),
                '{' => self.slot(current)?,
                c if OPERATORS.contains(&c) => return Err(no_shell(c)),
                c => current.push(c),
            }
        }
        self.words.extend(word);
        Ok(self.words)
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// Takes everything literally, except for the slots of known parameters.
    fn single_quoted(&mut self, word: &mut Word) -> Result<(), String> {
        let (quoted, rest) = self
            .rest
            .split_once('\'')
            .ok_or("a quote `'` is not closed")?;
        if let Some(name) = self.known_slot(quoted) {
            word.pieces.push(Piece::Slot(name));
        } else {
            // An empty word is a word.
            word.pieces.push(Piece::Fixed(quoted.to_owned()));
        }
        self.rest = rest;
        self.join(word);
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), String> {
        word.pieces.push(Piece::Fixed(String::new()));
        loop {
            match self.next().ok_or("a quote `\"` is not closed")? {
                '"' => break,
                '\\' => match self.next().ok_or("a quote `\"` is not closed")? {
                    c @ ('"' | '\\' | '$' | '`') => word.push(c),
                    c => ['\\', c].into_iter().for_each(|c| word.push(c)),
                },
                '{' => self.slot(word)?,
                c @ ('$' | '`') => return Err(no_shell(c)),
                c => word.push(c),
            }
        }
        self.join(word);
        Ok(())
    }

    /// Reads the rest of a slot, or takes a brace literally that does not begin one.
    fn slot(&mut self, word: &mut Word) -> Result<(), String> {
        let Some((inner, rest)) = self
            .rest
            .split_once('}')
            .filter(|(inner, _)| is_name(inner))
        else {
            word.push('{');
            return Ok(());
        };
        let Some(name) = self.parameter(inner) else {
            return Err(format!(
                "`{{{inner}}}` names no parameter; declare it with `@param`"
            ));
        };
        word.pieces.push(Piece::Slot(name));
        self.rest = rest;
        self.join(word);
        Ok(())
    }

    fn known_slot(&self, quoted: &str) -> Option<String> {
        let inner = quoted.strip_prefix('{')?.strip_suffix('}')?;
        self.parameter(inner)
    }

    fn parameter(&self, inner: &str) -> Option<String> {
        let is_synonym =
            inner == ARGUMENTS_SYNONYM && !self.parameters.contains(&ARGUMENTS_SYNONYM);
        let name = if is_synonym { ARGUMENTS } else { inner };
        self.parameters.contains(&name).then(|| name.to_owned())
    }

    /// Joins the fixed texts at the end of a word, and drops an empty one beside a slot.
    fn join(&self, word: &mut Word) {
        let pieces = std::mem::take(&mut word.pieces);
        let has_slot = pieces.iter().any(|piece| matches!(piece, Piece::Slot(_)));
        for piece in pieces {
            match (word.pieces.last_mut(), piece) {
                (Some(Piece::Fixed(text)), Piece::Fixed(more)) => text.push_str(&more),
                (_, Piece::Fixed(text)) if text.is_empty() && has_slot => {}
                (_, piece) => word.pieces.push(piece),
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn no_shell(operator: char) -> String {
    format!(
        "`{operator}` has no meaning, since no shell runs the command; put it in single quotes to \
         pass it on"
    )
}
