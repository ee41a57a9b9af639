//! Reads a line as a shell would, far enough for rules to match what it would run.
//!
//! This is neither a shell nor a boundary. Parts that only the shell can know (the value of a
//! variable, the output of a substitution, the files that a pattern finds) are written as one of
//! three characters that no line can contain, so that a rule which denies may take them for
//! anything. A line that is not made of plain words is [`Script::opaque`]; one of doubtful meaning
//! is [`Script::doubtful`].

use std::iter::Peekable;
use std::str::Chars;

/// Stands for one unknown character.
pub(super) const ONE: char = '\u{f0000}';
/// Stands for any number of unknown characters within a word.
pub(super) const PART: char = '\u{f0001}';
/// Stands for any number of unknown characters, possibly several words.
pub(super) const MANY: char = '\u{f0002}';
/// Replaces any of those three in a line: the replacement character.
const FOREIGN: char = '\u{fffd}';

/// The maximum length of a judged line in bytes; longer ones belong into a script.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// The maximum number of judged commands in one line.
const MAX_COMMANDS: usize = 256;
/// The maximum judged nesting of substitutions, groups and scripts within scripts.
pub(super) const MAX_NESTING: usize = 8;

/// How far to look for a closing bracket or brace: longer sets and choices are read literally.
const LOOK_AHEAD: usize = 256;

/// The command cannot be judged: it is too long, too deeply nested, or has too many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooComplex;

/// What a line runs, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The simple commands as their words without quotes, including those of substitutions and
    /// groups.
    pub(super) commands: Vec<Vec<String>>,
    /// The files named by redirections.
    pub(super) files: Vec<String>,
    /// The texts of here-documents and here-strings.
    pub(super) texts: Vec<String>,
    /// Whether the line contains anything but plain words: operators, expansions, redirections,
    /// comments.
    pub(super) opaque: bool,
    /// Whether the line may mean something else than this reading: unclosed constructs, and those
    /// not modelled exactly (arithmetic, functions, odd here-documents, `${…}` with more than a
    /// name and plain characters).
    pub(super) doubtful: bool,
    /// Whether text may flow from one command to another: pipes, redirections, expansions, groups.
    pub(super) flows: bool,
}

impl Script {
    /// Reads a line; `depth` counts the scripts around it.
    ///
    /// # Errors
    /// [`TooComplex`] beyond the limits of this module.
    pub(super) fn read(text: &str, depth: usize) -> Result<Script, TooComplex> {
        let mut script = Script::default();
        Lexer::new(text, depth, &mut script)?.commands(None)?;
        Ok(script)
    }
}

/// Replaces the three special characters in a line's own text.
pub(super) fn without_marks(text: &str) -> String {
    text.replace(is_mark, &FOREIGN.to_string())
}

/// Reports whether a character stands for an unknown part.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, ONE | PART | MANY)
}

/// The role of the next word, besides being part of the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Argument,
    /// The file of a redirection.
    File,
    /// The text of a here-string.
    Text,
    /// The delimiter of a here-document, whose tabs may be stripped.
    Delimiter { strips_tabs: bool },
}

/// The simple command being read.
#[derive(Default)]
struct Simple {
    argv: Vec<String>,
    word: String,
    in_word: bool,
    is_quoted: bool,
    next: Next,
}

/// A here-document whose body begins on the next line.
struct Document {
    delimiter: String,
    is_literal: bool,
    strips_tabs: bool,
}

/// The text within braces, which may nest.
struct Braced {
    inner: String,
    /// Whether the closing brace exists.
    is_closed: bool,
}

struct Lexer<'t, 's> {
    chars: Peekable<Chars<'t>>,
    depth: usize,
    documents: Vec<Document>,
    script: &'s mut Script,
}

impl Simple {
    fn push(&mut self, c: char) {
        self.in_word = true;
        self.word.push(c);
    }

    fn push_unknown(&mut self, in_quotes: bool) {
        self.push(if in_quotes { PART } else { MANY });
    }
}

impl Braced {
    /// Reads from after the opening brace to after the closing one.
    fn read(text: impl Iterator<Item = char>) -> Self {
        let (mut inner, mut open) = (String::new(), 1);
        for c in text {
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Self {
                    inner,
                    is_closed: true,
                };
            }
            inner.push(c);
        }
        Self {
            inner,
            is_closed: false,
        }
    }
}

impl<'t, 's> Lexer<'t, 's> {
    fn new(
        text: &'t str,
        depth: usize,
        script: &'s mut Script,
    ) -> Result<Lexer<'t, 's>, TooComplex> {
        if text.len() > MAX_LINE_BYTES || depth > MAX_NESTING {
            return Err(TooComplex);
        }
        Ok(Lexer {
            chars: text.chars().peekable(),
            depth,
            documents: Vec::new(),
            script,
        })
    }

    /// Reads commands to the end, or to the closing bracket.
    fn commands(&mut self, closing: Option<char>) -> Result<(), TooComplex> {
        let mut simple = Simple::default();
        while let Some(c) = self.chars.next() {
            if Some(c) == closing {
                return self.end_command(&mut simple);
            }
            self.read(c, &mut simple)?;
        }
        self.script.doubtful |= closing.is_some();
        self.end_command(&mut simple)?;
        self.script.doubtful |= !self.documents.is_empty();
        Ok(())
    }

    fn read(&mut self, c: char, simple: &mut Simple) -> Result<(), TooComplex> {
        match c {
            '\'' => self.single_quoted(simple),
            '"' => return self.double_quoted(simple, Some('"')),
            '\\' => self.escaped(simple),
            '$' => return self.dollar(simple, false),
            '`' => return self.backtick(simple, false),
            '<' | '>' => return self.redirection(c, simple),
            '{' => return self.brace(simple),
            '(' => {
                // A function, an array, a pattern, arithmetic.
                self.script.doubtful |=
                    simple.in_word || !simple.argv.is_empty() || self.chars.peek() == Some(&'(');
                self.end_command(simple)?;
                return self.nested();
            }
            '&' | '|' => {
                self.script.flows |= self.chars.next_if_eq(&c).is_none();
                return self.operator(simple);
            }
            ';' | ')' => return self.operator(simple),
            '\r' => {
                self.script.doubtful = true;
                return self.operator(simple);
            }
            '\n' => {
                self.operator(simple)?;
                return self.bodies();
            }
            '}' if !simple.in_word => return self.operator(simple),
            ' ' | '\t' => self.end_word(simple),
            '#' if !simple.in_word => self.comment(),
            _ => self.plain(c, simple),
        }
        Ok(())
    }

    fn plain(&mut self, c: char, simple: &mut Simple) {
        match c {
            '*' => simple.push(MANY),
            '?' => simple.push(ONE),
            '[' => self.bracket(simple),
            '}' | '#' | '~' | '!' => simple.push(c),
            // A rule that allows must not take a look-alike letter for the real one.
            _ if !c.is_control() && !c.is_whitespace() => {
                self.script.opaque |= !c.is_ascii();
                return simple.push(c);
            }
            _ => {
                self.script.doubtful = true;
                self.end_word(simple);
            }
        }
        self.script.opaque = true;
    }

    /// Reads `[a-z]`, which stands for one character; a bracket without a counterpart in its word
    /// is literal.
    fn bracket(&mut self, simple: &mut Simple) {
        let ahead: Vec<char> = self
            .chars
            .clone()
            .take(LOOK_AHEAD)
            .take_while(|c| !c.is_whitespace())
            .collect();
        let Some(closed) = ahead.iter().skip(1).position(|c| *c == ']') else {
            // The index of an array may contain blanks and signs that are literal there.
            self.script.doubtful |= simple.in_word;
            return simple.push('[');
        };
        self.chars.by_ref().take(closed + 2).for_each(drop);
        simple.push(ONE);
    }

    fn comment(&mut self) {
        self.script.opaque = true;
        while self.chars.next_if(|c| *c != '\n').is_some() {}
    }

    fn escaped(&mut self, simple: &mut Simple) {
        simple.is_quoted = true;
        match self.chars.next() {
            // A backslash and a line break join two lines.
            Some('\n') => self.script.opaque = true,
            Some(c) => simple.push(c),
            None => self.script.doubtful = true,
        }
    }

    fn single_quoted(&mut self, simple: &mut Simple) {
        (simple.in_word, simple.is_quoted) = (true, true);
        for c in self.chars.by_ref() {
            if c == '\'' {
                return;
            }
            simple.word.push(c);
        }
        self.unclosed();
    }

    /// Reads to the closing quote, or a here-document's text to its end.
    fn double_quoted(
        &mut self,
        simple: &mut Simple,
        closing: Option<char>,
    ) -> Result<(), TooComplex> {
        (simple.in_word, simple.is_quoted) = (true, true);
        while let Some(c) = self.chars.next() {
            match c {
                _ if Some(c) == closing => return Ok(()),
                '\\' => match self.chars.next() {
                    Some('\n') => self.script.opaque = true,
                    Some(next @ ('$' | '`' | '"' | '\\')) => simple.word.push(next),
                    next => {
                        simple.word.push('\\');
                        simple.word.extend(next);
                    }
                },
                '$' => self.dollar(simple, true)?,
                '`' => self.backtick(simple, true)?,
                _ => simple.word.push(c),
            }
        }
        if closing.is_some() {
            self.unclosed();
        }
        Ok(())
    }

    fn unclosed(&mut self) {
        (self.script.opaque, self.script.doubtful) = (true, true);
    }

    /// Reads the text after a dollar sign.
    fn dollar(&mut self, simple: &mut Simple, in_quotes: bool) -> Result<(), TooComplex> {
        (self.script.opaque, self.script.flows) = (true, true);
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.script.doubtful |= self.chars.peek() == Some(&'(');
                self.nested()?;
                simple.push_unknown(in_quotes);
            }
            Some('{') => {
                self.chars.next();
                let Braced {
                    inner: name,
                    is_closed,
                } = Braced::read(self.chars.by_ref());
                if !is_closed {
                    self.unclosed();
                }
                self.script.doubtful |= !name.chars().all(is_modelled);
                self.substitutions(&name)?;
                self.variable(&name, simple, in_quotes);
            }
            Some('\'') if !in_quotes => {
                self.chars.next();
                self.ansi_quoted(simple);
            }
            Some('"') if !in_quotes => {}
            Some(c) if is_name_char(c) => {
                let mut name = String::new();
                while let Some(c) = self.chars.next_if(|c| is_name_char(*c)) {
                    name.push(c);
                    if name.starts_with(|c: char| c.is_ascii_digit()) {
                        break;
                    }
                }
                self.variable(&name, simple, in_quotes);
            }
            Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.chars.next();
                simple.push_unknown(in_quotes && c != '@');
            }
            other => {
                // The old form of arithmetic.
                self.script.doubtful |= other == Some('[');
                simple.push('$');
            }
        }
        Ok(())
    }

    /// The value of a variable is unknown, except for the one that separates words.
    fn variable(&mut self, name: &str, simple: &mut Simple, in_quotes: bool) {
        let is_separator = name
            .strip_prefix("IFS")
            .is_some_and(|rest| !rest.starts_with(is_name_char));
        if is_separator && !in_quotes {
            self.end_word(simple);
        } else {
            simple.push_unknown(in_quotes && !name.starts_with('@') && !name.contains("[@]"));
        }
    }

    /// Reads the commands of substitutions within a text that is otherwise not a command.
    fn substitutions(&mut self, text: &str) -> Result<(), TooComplex> {
        if text.contains("$(") || text.contains('`') {
            let mut ignored = Simple::default();
            Lexer::new(text, self.depth + 1, self.script)?.double_quoted(&mut ignored, None)?;
        }
        Ok(())
    }

    /// Reads the commands up to the closing bracket.
    fn nested(&mut self) -> Result<(), TooComplex> {
        (self.script.opaque, self.script.flows) = (true, true);
        if self.depth >= MAX_NESTING {
            return Err(TooComplex);
        }
        self.depth += 1;
        // A here-document that is open on both sides of a bracket.
        self.script.doubtful |= !self.documents.is_empty();
        let read = self.commands(Some(')'));
        self.script.doubtful |= !self.documents.is_empty();
        self.depth -= 1;
        read
    }

    fn backtick(&mut self, simple: &mut Simple, in_quotes: bool) -> Result<(), TooComplex> {
        (self.script.opaque, self.script.flows) = (true, true);
        let (mut inner, mut is_closed) = (String::new(), false);
        while let Some(c) = self.chars.next() {
            match c {
                '`' => {
                    is_closed = true;
                    break;
                }
                '\\' => match self.chars.next_if(|next| matches!(next, '`' | '\\' | '$')) {
                    Some(next) => inner.push(next),
                    None => inner.push('\\'),
                },
                _ => inner.push(c),
            }
        }
        if !is_closed {
            self.unclosed();
        }
        self.script.doubtful |= inner.contains(['\\', '"', '$']);
        Lexer::new(&inner, self.depth + 1, self.script)?.commands(None)?;
        simple.push_unknown(in_quotes);
        Ok(())
    }

    /// Reads `$'…'`, in which a backslash can produce any character.
    fn ansi_quoted(&mut self, simple: &mut Simple) {
        (simple.in_word, simple.is_quoted) = (true, true);
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => {
                    let c = self.ansi_escape();
                    simple.word.extend(c);
                }
                _ => simple.word.push(c),
            }
        }
        self.unclosed();
    }

    fn ansi_escape(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        let code = match c {
            'n' => return Some('\n'),
            't' => return Some('\t'),
            'r' => return Some('\r'),
            'x' => self.number(16, 2),
            'u' => self.number(16, 4),
            'U' => self.number(16, 8),
            '0'..='7' => self
                .number(8, 2)
                .map(|rest| c.to_digit(8).unwrap_or(0) * 64 + rest),
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c' => None,
            _ => return Some(c),
        };
        // With fewer than three digits, or an invalid code, the word is unknown.
        let known = code.and_then(char::from_u32).filter(|c| !is_mark(*c));
        self.script.doubtful |= known.is_none();
        known
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let (mut value, mut digits) = (0_u32, 0);
        while digits < most
            && let Some(digit) = self.chars.next_if(|c| c.is_digit(radix))
        {
            value = value
                .wrapping_mul(radix)
                .wrapping_add(digit.to_digit(radix)?);
            digits += 1;
        }
        (digits > 0 && (radix == 16 || digits == most)).then_some(value)
    }

    /// Reads `{` as the shell's group, or alternatives within braces, which are unknown.
    fn brace(&mut self, simple: &mut Simple) -> Result<(), TooComplex> {
        self.script.opaque = true;
        if !simple.in_word && self.chars.peek().is_none_or(|c| c.is_whitespace()) {
            self.script.flows = true;
            return self.operator(simple);
        }
        let Braced { inner, is_closed } =
            Braced::read(self.chars.clone().take(LOOK_AHEAD).take_while(is_inner));
        let has_choice = inner.contains(',') || inner.contains("..");
        if !is_closed || !has_choice {
            self.script.doubtful |= has_choice;
            simple.push('{');
            return Ok(());
        }
        self.chars
            .by_ref()
            .take(inner.chars().count() + 1)
            .for_each(drop);
        simple.push(MANY);
        (self.script.flows, self.script.doubtful) = (
            true,
            self.script.doubtful || !inner.chars().all(is_modelled),
        );
        self.substitutions(&inner)
    }

    fn redirection(&mut self, c: char, simple: &mut Simple) -> Result<(), TooComplex> {
        self.script.opaque = true;
        // Digits directly before it name the stream.
        if simple.in_word && simple.word.chars().all(|c| c.is_ascii_digit()) {
            (simple.in_word, simple.word) = (false, String::new());
        }
        if self.chars.next_if_eq(&'(').is_some() {
            // The commands of a process substitution; it is replaced by an unknown file.
            self.nested()?;
            simple.push(PART);
            return Ok(());
        }
        self.end_word(simple);
        simple.next = Next::File;
        if c == '<' && self.chars.next_if_eq(&'<').is_some() {
            self.script.flows = true;
            simple.next = if self.chars.next_if_eq(&'<').is_some() {
                Next::Text
            } else {
                Next::Delimiter {
                    strips_tabs: self.chars.next_if_eq(&'-').is_some(),
                }
            };
        } else {
            let mut last = c;
            while let Some(c) = self.chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')) {
                last = c;
            }
            if last == '&' {
                self.stream(simple);
            }
        }
        Ok(())
    }

    /// Reads the number of a stream; anything else names a file.
    fn stream(&mut self, simple: &mut Simple) {
        let mut ahead = self.chars.clone();
        let is_stream = ahead.next().is_some_and(|c| c.is_ascii_digit())
            && ahead
                .next()
                .is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | ')'));
        if is_stream {
            self.chars.next();
            simple.next = Next::Argument;
        }
    }

    /// Reads the bodies of the here-documents named on the previous line.
    fn bodies(&mut self) -> Result<(), TooComplex> {
        for document in std::mem::take(&mut self.documents) {
            let (mut body, mut is_closed) = (String::new(), false);
            while self.chars.peek().is_some() {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                self.chars.next();
                let read = if document.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if read == document.delimiter {
                    is_closed = true;
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            // A backslash may join the lines that end the document.
            self.script.doubtful |= !is_closed || !document.is_literal && body.contains('\\');
            if !document.is_literal {
                self.substitutions(&body)?;
            }
            self.script.texts.push(body);
        }
        Ok(())
    }

    fn end_word(&mut self, simple: &mut Simple) {
        if !std::mem::take(&mut simple.in_word) {
            return;
        }
        let word = std::mem::take(&mut simple.word);
        let is_literal = std::mem::take(&mut simple.is_quoted);
        match std::mem::take(&mut simple.next) {
            Next::Argument => simple.argv.push(word),
            Next::File if word == "/dev/null" => {}
            Next::File => {
                self.script.flows = true;
                self.script.files.push(word);
            }
            Next::Text => self.script.texts.push(word),
            Next::Delimiter { strips_tabs } => {
                self.script.doubtful |= word.is_empty() || !word.chars().all(is_name_char);
                self.documents.push(Document {
                    delimiter: word,
                    is_literal,
                    strips_tabs,
                });
            }
        }
    }

    fn operator(&mut self, simple: &mut Simple) -> Result<(), TooComplex> {
        self.script.opaque = true;
        self.end_command(simple)
    }

    fn end_command(&mut self, simple: &mut Simple) -> Result<(), TooComplex> {
        self.end_word(simple);
        let argv = std::mem::take(simple).argv;
        if argv.is_empty() {
            return Ok(());
        }
        if self.script.commands.len() >= MAX_COMMANDS {
            return Err(TooComplex);
        }
        self.script.commands.push(argv);
        Ok(())
    }
}

fn is_inner(c: &char) -> bool {
    !c.is_whitespace() && !matches!(c, ';' | '|' | '&')
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Reports whether a character within braces cannot quote, nest or compute.
fn is_modelled(c: char) -> bool {
    c.is_alphanumeric() || "_#@*:%/.,+=?!^~-[]".contains(c)
}
