//! A shell command taken apart far enough for people's rules to match its parts.
//!
//! This is no shell and no boundary. It over-approximates: whatever it does not understand makes the
//! command [`CommandParts::opaque`], and no rule that allows matches an opaque command.

/// The longest command in bytes that is judged at all; longer ones belong into a script.
const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// The most commands in one line that are judged.
const MAX_COMMANDS: usize = 256;
/// The deepest nesting of quoted substitutions that is judged.
const MAX_NESTING: usize = 8;
/// Programs that run the program named in their arguments.
const WRAPPERS: &[&str] =
    &["env", "nice", "nohup", "setsid", "stdbuf", "timeout", "xargs", "busybox", "exec", "command", "time", "sudo"];

/// The command cannot be judged: it is too long, or has too many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooComplex;

/// The simple commands of a line, each as its words without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandParts {
    /// The commands in order; those within `$(…)`, backticks and brackets stand beside the others.
    pub commands: Vec<Vec<String>>,
    /// Whether the line has anything but plain words: operators, expansions, redirections, comments.
    pub opaque: bool,
}

#[derive(Default)]
struct Splitter {
    depth: usize,
    parts: CommandParts,
    argv: Vec<String>,
    word: String,
    in_word: bool,
}

impl CommandParts {
    /// Splits a line.
    ///
    /// # Errors
    /// [`TooComplex`] beyond the limits of this module.
    pub fn split(text: &str) -> Result<CommandParts, TooComplex> {
        CommandParts::split_nested(text, 0)
    }

    fn split_nested(text: &str, depth: usize) -> Result<CommandParts, TooComplex> {
        if text.len() > MAX_COMMAND_BYTES || depth > MAX_NESTING {
            return Err(TooComplex);
        }
        let mut splitter = Splitter { depth, ..Splitter::default() };
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' => splitter.quoted(chars.by_ref().take_while(|&inner| inner != '\'')),
                '\\' => splitter.push(chars.next()),
                '"' => splitter.double_quoted(&mut chars)?,
                _ => splitter.plain(c)?,
            }
        }
        splitter.end_command()?;
        Ok(splitter.parts)
    }

    /// Gives every way in which a rule may mean one of the commands: the words, the program without its
    /// directory, and the command behind assignments and wrappers such as `env` or `timeout 5`.
    pub fn spellings(&self) -> Vec<String> {
        let mut all = Vec::new();
        for argv in &self.commands {
            all.push(argv.join(" "));
            let mut rest = argv.as_slice();
            while let Some((first, after)) = rest.split_first() {
                let program = first.rsplit('/').next().unwrap_or(first);
                all.push(
                    std::iter::once(program).chain(after.iter().map(String::as_str)).collect::<Vec<_>>().join(" "),
                );
                let assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
                if !assignment && !WRAPPERS.contains(&program) {
                    break;
                }
                let skipped = after.iter().take_while(|word| !assignment && is_wrapper_option(word)).count();
                rest = after.get(skipped..).unwrap_or_default();
            }
        }
        all
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_wrapper_option(word: &str) -> bool {
    word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
}

impl Splitter {
    fn push(&mut self, c: Option<char>) {
        self.in_word = true;
        self.word.extend(c);
    }

    fn quoted(&mut self, inner: impl Iterator<Item = char>) {
        self.in_word = true;
        self.word.extend(inner);
    }

    /// Reads to the closing quote; a substitution within is split as commands of their own, up to that
    /// quote. A quote nested in the substitution closes it too early, which only finds more commands.
    fn double_quoted(&mut self, chars: &mut std::str::Chars<'_>) -> Result<(), TooComplex> {
        let mut inner = String::new();
        let mut closed = false;
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    closed = true;
                    break;
                }
                '\\' => inner.extend(chars.next()),
                _ => inner.push(c),
            }
        }
        self.parts.opaque |= !closed || inner.contains(['$', '`']);
        if let Some(at) = [inner.find("$("), inner.find('`')].into_iter().flatten().min() {
            let nested = CommandParts::split_nested(inner.get(at..).unwrap_or_default(), self.depth + 1)?;
            self.parts.commands.extend(nested.commands);
        }
        self.quoted(inner.chars());
        Ok(())
    }

    fn plain(&mut self, c: char) -> Result<(), TooComplex> {
        match c {
            ' ' | '\t' => self.end_word(),
            ';' | '&' | '|' | '\n' | '\r' | '(' | ')' | '`' | '{' | '}' => {
                self.parts.opaque = true;
                self.end_command()?;
            }
            '<' | '>' => {
                self.parts.opaque = true;
                self.end_word();
            }
            '$' | '#' | '*' | '?' | '[' | '~' | '!' => {
                self.parts.opaque = true;
                self.push(Some(c));
            }
            _ if c.is_control() || (c.is_whitespace() && c != ' ') => {
                self.parts.opaque = true;
                self.end_word();
            }
            _ => {
                // A letter that only looks like another one must not be taken for it by a rule that allows.
                self.parts.opaque |= !c.is_ascii();
                self.push(Some(c));
            }
        }
        Ok(())
    }

    fn end_word(&mut self) {
        if std::mem::take(&mut self.in_word) {
            self.argv.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) -> Result<(), TooComplex> {
        self.end_word();
        if self.argv.is_empty() {
            return Ok(());
        }
        if self.parts.commands.len() >= MAX_COMMANDS {
            return Err(TooComplex);
        }
        self.parts.commands.push(std::mem::take(&mut self.argv));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        CommandParts::split(text).unwrap().commands.iter().map(|argv| argv.join(" ")).collect()
    }

    #[test]
    fn every_part_of_a_line_is_found() {
        let table: [(&str, &[&str]); 10] = [
            ("cat a; id", &["cat a", "id"]),
            ("a && id", &["a", "id"]),
            ("a | sh", &["a", "sh"]),
            ("a\nid", &["a", "id"]),
            ("a\rid", &["a", "id"]),
            ("echo $(id)", &["echo $", "id"]),
            ("echo \"x $(id)\"; ls", &["$", "id", "echo x $(id)", "ls"]),
            ("echo `id`", &["echo", "id"]),
            ("\"`rm x` $(true)\"", &["rm x", "$", "true", "`rm x` $(true)"]),
            ("g\"i\"t  'push'  --f\\orce", &["git push --force"]),
        ];
        for (text, expected) in table {
            assert_eq!(commands(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_plain_words_is_opaque() {
        for text in
            ["a;b", "a $x", "a > f", "a # c", "a\u{a0}b", "gіt status", "${x@P}", "$'\\x69d'", "a \"$x\"", "a {b,c}"]
        {
            assert!(CommandParts::split(text).unwrap().opaque, "{text:?}");
        }
        assert!(!CommandParts::split("cargo test --all 'a b'").unwrap().opaque);
    }

    #[test]
    fn the_command_behind_a_wrapper_is_a_spelling() {
        for text in ["env X=1 git push", "timeout 5 git push", "/usr/bin/git push", "X=1 nice -n 5 git push"] {
            assert!(CommandParts::split(text).unwrap().spellings().contains(&"git push".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_huge_line_is_too_complex() {
        assert_eq!(CommandParts::split(&"a;".repeat(10_000)), Err(TooComplex));
        assert_eq!(CommandParts::split(&"a".repeat(1 << 20)), Err(TooComplex));
    }
}
