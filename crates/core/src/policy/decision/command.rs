//! A shell command, parsed far enough for rules to match what it runs.
//!
//! This is neither a shell nor a boundary. A rule that allows matches plain words only
//! ([`Command::is_plain`]). A rule that denies or asks is loose: a line escapes it only if every
//! program in the line is known to run nothing that its words or its input name. Anything else, and
//! any line of doubtful meaning, matches if it contains the rule's words.

use std::collections::BTreeSet;

use super::glob;
use super::lexer::{MANY, MAX_NESTING, PART, Script, TooComplex, is_mark, without_marks};
use super::programs::{self, Reach};
use crate::text::parts::behind_leading;

/// The maximum number of bytes of all readings of a line.
const MAX_READ_BYTES: usize = 1 << 20;

/// A line as rules see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The line.
    text: String,
    /// The simple commands of the line itself.
    outer: Script,
    /// Every way in which one of the commands may be understood.
    spellings: BTreeSet<String>,
    /// The same for the words after a program that may run them, if they have unknown parts.
    inner: BTreeSet<String>,
    /// The words of programs that may run anything, if there are any.
    loose: Option<BTreeSet<String>>,
    /// The bytes of all spellings.
    bytes: usize,
}

impl Command {
    /// Parses a line.
    ///
    /// # Errors
    /// [`TooComplex`] beyond the limits of the lexer and of this module.
    pub(super) fn read(text: &str) -> Result<Command, TooComplex> {
        let text = without_marks(text);
        let outer = Script::read(&text, 0)?;
        let mut command = Command {
            text,
            outer,
            ..Command::default()
        };
        command.note_script(&command.outer.clone(), 0)?;
        if command.outer.flows
            && command
                .outer
                .commands
                .iter()
                .any(|argv| command.reach(argv) == Reach::Anything)
        {
            let outer = command.outer.clone();
            for words in outer.commands.iter().chain([&outer.texts]) {
                command.note_scripts(words, 0)?;
            }
        }
        command.loose = command.loose_text();
        Ok(command)
    }

    /// Reports whether the line is made of plain words only.
    pub(super) fn is_plain(&self) -> bool {
        !self.outer.opaque && !self.outer.doubtful && !self.outer.commands.is_empty()
    }

    /// Returns the words of a line that is one command of plain words.
    pub(super) fn single(&self) -> Option<&[String]> {
        match self.outer.commands.as_slice() {
            [argv] if self.is_plain() => Some(argv),
            _ => None,
        }
    }

    /// Reports whether a pattern matches every command of a line of plain words.
    pub(super) fn is_within(&self, pattern: &str) -> bool {
        self.is_plain()
            && self
                .outer
                .commands
                .iter()
                .all(|argv| glob::matches_command(pattern, &argv.join(" ")))
    }

    /// Returns the subcommands of git that the line itself runs.
    pub(super) fn git_subcommands(&self) -> BTreeSet<String> {
        let mut subcommands = BTreeSet::new();
        for argv in &self.outer.commands {
            let own = behind_leading(behind_keywords(argv), |word| programs::is_assignment(word));
            if let Some((program, rest)) = own.split_first()
                && programs::base_name(program) == "git"
            {
                subcommands.extend(programs::git_subcommand(rest).map(str::to_owned));
            }
        }
        subcommands
    }

    /// Reports whether the line may run what a pattern describes.
    pub(super) fn may_be(&self, pattern: &str) -> bool {
        if glob::matches_command(pattern, self.text.trim()) {
            return true;
        }
        let names = Names::from_pattern(pattern);
        if self.loose.as_ref().is_some_and(|words| names.all_in(words)) {
            return true;
        }
        let words = self.words();
        let is_named = names.program_in(&words);
        for spelling in &self.spellings {
            let is_hit = if spelling.contains(is_mark) {
                // A program about which nothing is known is taken for the denied one if the line
                // names that.
                let may_be_it = is_named || program_of(spelling).contains(|c| !is_mark(c));
                may_be_it && glob::may_match_command(pattern, spelling)
            } else {
                glob::matches_command(pattern, spelling)
            };
            if is_hit {
                return true;
            }
        }
        for spelling in &self.inner {
            // An unknown argument is not taken for a program, unless the line contains the rule's
            // other words.
            let is_known = !program_of(spelling).contains([MANY, PART]);
            let may_be_it = is_known || names.others_in(&words);
            if may_be_it && glob::may_match_command(pattern, spelling) {
                return true;
            }
        }
        false
    }

    /// Returns the words of the line, regardless of quotes and backslashes, and those that its
    /// escapes produce.
    fn words(&self) -> BTreeSet<String> {
        let mut words = loose_words(&self.text);
        for spelling in &self.spellings {
            words.extend(loose_words(spelling));
        }
        words
    }

    /// Returns the words of what the line may run, if one of its programs may run anything.
    fn loose_text(&self) -> Option<BTreeSet<String>> {
        let reaches: Vec<Reach> = self
            .outer
            .commands
            .iter()
            .map(|argv| self.reach(argv))
            .collect();
        let last = reaches.iter().rposition(|reach| *reach == Reach::Anything);
        if self.outer.doubtful || last.is_some() && self.outer.flows {
            return Some(self.words());
        }
        let mut words = BTreeSet::new();
        let mut may_rename = false;
        for (argv, reach) in self.outer.commands.iter().zip(&reaches) {
            if *reach == Reach::Anything {
                may_rename |= argv.iter().any(|word| may_rename_a_printer(word));
            }
        }
        for (at, (argv, reach)) in self.outer.commands.iter().zip(&reaches).enumerate() {
            if !may_rename
                && *reach == Reach::Nothing
                && programs::only_prints(behind_keywords(argv))
            {
                continue;
            }
            // A known program's own name is harmless, and so are git's arguments when no later
            // program reads them.
            let skipped = match reach {
                Reach::Anything => 0,
                Reach::GitFolder if Some(at) > last => argv.len(),
                _ => 1,
            };
            for word in argv.iter().skip(skipped) {
                words.extend(loose_words(word));
            }
        }
        last.is_some().then_some(words)
    }

    /// Finds what one of the line's commands may run, given what the line writes.
    fn reach(&self, argv: &[String]) -> Reach {
        let mut files = self.outer.files.iter();
        match programs::reach(behind_keywords(argv)) {
            Reach::Project if !self.outer.files.is_empty() => Reach::Anything,
            Reach::GitFolder if files.any(|file| may_be_of_git(file)) => Reach::Anything,
            reach => reach,
        }
    }

    fn note_script(&mut self, script: &Script, depth: usize) -> Result<(), TooComplex> {
        for argv in &script.commands {
            self.note_command(argv, depth)?;
        }
        Ok(())
    }

    /// Records the spellings of a simple command, and of its arguments with unknown parts that it
    /// may run.
    fn note_command(&mut self, argv: &[String], depth: usize) -> Result<(), TooComplex> {
        let own = behind_leading(behind_keywords(argv), |word| programs::is_assignment(word));
        let Some((first, rest)) = own.split_first() else {
            return Ok(());
        };
        let program = programs::base_name(first);
        self.note(first, rest)?;
        self.note(program, rest)?;
        for fewer in programs::without_options(program, rest) {
            self.note(program, &fewer)?;
        }
        if program == "xargs"
            && let Some((first, rest)) = programs::behind_xargs(rest).split_first()
        {
            self.note(
                programs::base_name(first),
                &[rest, &[MANY.to_string()]].concat(),
            )?;
        }
        if programs::reach(behind_keywords(argv)) == Reach::Anything {
            self.note_inner(program, rest)?;
            self.note_scripts(argv, depth)?;
        }
        Ok(())
    }

    /// Records every suffix of a command's words that has unknown parts.
    fn note_inner(&mut self, program: &str, rest: &[String]) -> Result<(), TooComplex> {
        let mut words = rest.to_vec();
        if matches!(program, "xargs" | "parallel") {
            for word in &mut words {
                *word = word.replace("{}", &MANY.to_string());
            }
            words.push(MANY.to_string());
        }
        // What follows the last unknown part has none. The words of a long line are not joined anew
        // from each of them.
        let Some(last) = words.iter().rposition(|word| word.contains(is_mark)) else {
            return Ok(());
        };
        for at in 0..=last {
            let Some((first, rest)) = words.get(at..).and_then(<[String]>::split_first) else {
                continue;
            };
            let spelling = joined(programs::base_name(first), rest);
            if spelling.contains(is_mark) {
                self.count(&spelling)?;
                self.inner.insert(spelling);
            }
        }
        Ok(())
    }

    /// Records what words would run if each was a script.
    fn note_scripts(&mut self, words: &[String], depth: usize) -> Result<(), TooComplex> {
        if depth >= MAX_NESTING {
            return Ok(());
        }
        for word in words
            .iter()
            .filter(|word| word.contains(|c: char| !c.is_ascii_alphanumeric()))
        {
            // One word of the line becomes a script of any number of words.
            let text = word.replace(PART, &MANY.to_string());
            // Text that is too complex is rarely a script; its words count unchanged.
            let Ok(script) = Script::read(&text, depth + 1) else {
                continue;
            };
            if script.commands.as_slice() != [vec![text]] {
                self.note_script(&script, depth + 1)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, program: &str, rest: &[String]) -> Result<(), TooComplex> {
        let spelling = joined(program, rest);
        self.count(&spelling)?;
        self.spellings.insert(spelling);
        Ok(())
    }

    fn count(&mut self, spelling: &str) -> Result<(), TooComplex> {
        self.bytes += spelling.len();
        if self.bytes > MAX_READ_BYTES {
            Err(TooComplex)
        } else {
            Ok(())
        }
    }
}

fn joined(program: &str, rest: &[String]) -> String {
    std::iter::once(program)
        .chain(rest.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the program of a spelling.
fn program_of(spelling: &str) -> &str {
    spelling.split(' ').next().unwrap_or(spelling)
}

/// Reports whether a file that a line writes may be one of git's own.
fn may_be_of_git(file: &str) -> bool {
    file.contains(".git") || file.contains("hooks") || file.contains(is_mark)
}

fn behind_keywords(argv: &[String]) -> &[String] {
    behind_leading(argv, |word| programs::is_keyword(word))
}

/// Reports whether a word of a program that may run anything could give the name of a printing
/// program to another one: it is that name, or not a plain word.
fn may_rename_a_printer(word: &str) -> bool {
    !word.chars().all(is_plain_letter)
        || programs::PRINTING
            .iter()
            .any(|printer| word.contains(printer))
}

fn is_plain_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./=:,+@".contains(c)
}

/// The words of a pattern that a line must contain for the pattern to match: each in full, or as a
/// prefix.
struct Names {
    words: Vec<Name>,
}

struct Name {
    text: String,
    /// Whether text may precede a word.
    is_open_before: bool,
    /// Whether text may follow a word.
    is_open_behind: bool,
}

impl Names {
    fn from_pattern(pattern: &str) -> Names {
        let pattern = pattern.strip_suffix(":*").unwrap_or(pattern);
        let mut words = Vec::new();
        for word in pattern.split_whitespace().map(programs::base_name) {
            let known = word
                .split(['*', '?'])
                .max_by_key(|known| known.len())
                .unwrap_or_default();
            let (is_open_before, is_open_behind) =
                (!word.starts_with(known), !word.ends_with(known));
            for part in known.split(|c| !is_part(c)) {
                if !part.is_empty() {
                    words.push(Name {
                        text: part.to_owned(),
                        is_open_before,
                        is_open_behind,
                    });
                }
            }
        }
        Names { words }
    }

    fn all_in(&self, words: &BTreeSet<String>) -> bool {
        !self.words.is_empty() && self.words.iter().all(|name| name.is_in(words))
    }

    fn others_in(&self, words: &BTreeSet<String>) -> bool {
        self.words.len() > 1 && self.words.iter().skip(1).all(|name| name.is_in(words))
    }

    /// Reports whether the first word, which names the program, is among these.
    fn program_in(&self, words: &BTreeSet<String>) -> bool {
        self.words.first().is_none_or(|name| name.is_in(words))
    }
}

impl Name {
    fn is_in(&self, words: &BTreeSet<String>) -> bool {
        if !self.text.starts_with('-') {
            // A value may directly follow the letters of short options.
            for word in words {
                let is_short = word.starts_with('-') && !word.starts_with("--");
                if is_short && word.ends_with(&self.text) {
                    return true;
                }
            }
        }
        match (self.is_open_before, self.is_open_behind) {
            (false, false) => words.contains(&self.text),
            (false, true) => words.iter().any(|word| word.starts_with(&self.text)),
            (true, _) => words.iter().any(|word| word.contains(&self.text)),
        }
    }
}

/// Returns the words of a text without quotes and backslashes, split wherever a shell or another
/// language may split them, and each path's last part.
fn loose_words(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\n", "");
    let joined: String = text.chars().filter(|c| !is_quote(*c)).collect();
    let apart: String = text
        .chars()
        .map(|c| if is_quote(c) { ' ' } else { c })
        .collect();
    let mut words = BTreeSet::new();
    for text in [joined, apart, without_escapes(&text)] {
        for word in text.split(|c| !is_part(c)) {
            if !word.is_empty() {
                words.insert(word.to_owned());
            }
        }
    }
    words
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\')
}

/// Replaces a backslash and the letter after it by a blank, as `printf` may.
fn without_escapes(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        }
        out.push(if c == '\\' { ' ' } else { c });
    }
    out
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        Script::read(text, 0)
            .unwrap()
            .commands
            .iter()
            .map(|argv| argv.join(" "))
            .collect()
    }

    #[test]
    fn every_part_of_a_line_is_found() {
        let table: [(&str, &[&str]); 16] = [
            ("cat a; id", &["cat a", "id"]),
            ("a && id", &["a", "id"]),
            ("a | sh", &["a", "sh"]),
            ("a\nid", &["a", "id"]),
            ("a\rid", &["a", "id"]),
            ("echo $(id)", &["id", "echo \u{f0002}"]),
            (
                "echo \"x $(id \"a b\")\"; ls",
                &["id a b", "echo x \u{f0001}", "ls"],
            ),
            ("echo `id`", &["id", "echo \u{f0002}"]),
            ("g\"i\"t  'push'  --f\\orce", &["git push --force"]),
            ("git \\\n push", &["git push"]),
            ("git$IFS$9push", &["git \u{f0002}push"]),
            ("$'\\x67it' p{us,}h", &["git p\u{f0002}h"]),
            ("2>&1 git push >f 2>>g", &["git push"]),
            (
                "cat <<'EOF' | tr a b\ndon't\nEOF\ngit push",
                &["cat", "tr a b", "git push"],
            ),
            ("cat <<EOF\n$(id)\nEOF", &["cat", "id"]),
            ("ls # git push", &["ls"]),
        ];
        for (text, expected) in table {
            assert_eq!(commands(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_plain_words_is_opaque() {
        for text in [
            "a;b",
            "a;",
            "a $x",
            "a > f",
            "a # c",
            "a\u{a0}b",
            "gіt status",
            "g\u{200d}it status",
            "a \u{202e}b",
            "a\u{ff1b}id",
            "${x@P}",
            "${x:=$(id)}",
            "${!x}",
            "$'\\x69d'",
            "a \"$x\"",
            "a {b,c}",
            "a *",
            "! a",
            "(a)",
            "a & id",
            "a >| f",
            "a &> f",
            "cat <(id)",
            "a\\\nb",
            "a 'b",
            "a \"b",
            "a `b",
            "~/a",
        ] {
            assert!(!Command::read(text).unwrap().is_plain(), "{text:?}");
        }
        assert!(Command::read("cargo test --all 'a b'").unwrap().is_plain());
    }

    #[test]
    fn a_huge_line_is_too_complex() {
        let wrapped = format!("{}git $x", "env -a ".repeat(5_000));
        let nested = format!("{}git push{}", "$(".repeat(500), ")".repeat(500));
        for text in ["a;".repeat(10_000), "a".repeat(1 << 20), wrapped, nested] {
            assert_eq!(Command::read(&text), Err(TooComplex), "{}", text.len());
        }
        for text in ["[".repeat(20_000), "{a,".repeat(7_000), "\"".repeat(20_000)] {
            let _ = Command::read(&text);
        }
    }

    #[test]
    fn a_line_of_many_words_takes_no_time_beyond_its_length() {
        // Each would take half a minute if the words behind each of its words were joined.
        for (start, unknown) in [("z", 0), ("z $x", 1)] {
            let text = format!("{start}{}", " a".repeat(32_000));
            assert_eq!(
                Command::read(&text).unwrap().inner.len(),
                unknown,
                "{start}"
            );
        }
    }
}
