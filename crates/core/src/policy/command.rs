//! A shell command taken apart far enough for people's rules to match what it runs.
//!
//! This is no shell and no boundary. A rule that allows matches plain words only ([`Command::is_plain`]). A rule that
//! denies or asks is loose: it matches whatever the line may run behind keywords, wrappers and scripts within scripts;
//! a line that cannot be judged and that names the denied program matches, too.

use std::collections::BTreeSet;

use super::glob;
use super::lexer::{MANY, MAX_NESTING, PART, Script, TooComplex, is_mark, without_marks};
use super::programs::{self, Kind};

/// The most bytes of all ways in which a line can be read: words that are options in one and programs in another.
const MAX_READ_BYTES: usize = 1 << 20;

/// A line as rules see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The line.
    text: String,
    /// The simple commands of the line itself.
    outer: Script,
    /// Every way in which one of the commands may be meant.
    spellings: BTreeSet<String>,
    /// What programs are given to run that are no shells.
    foreign: Vec<String>,
    /// Whether the line runs what cannot be read here.
    is_doubtful: bool,
    /// The bytes of all spellings.
    bytes: usize,
}

impl Command {
    /// Takes a line apart.
    ///
    /// # Errors
    /// [`TooComplex`] beyond the limits of the lexer and of this module.
    pub(super) fn read(text: &str) -> Result<Command, TooComplex> {
        let text = without_marks(text);
        let outer = Script::read(&text, 0)?;
        let mut command = Command { text, outer: outer.clone(), ..Command::default() };
        command.run_script(&outer, 0)?;
        Ok(command)
    }

    /// Reports whether the line is made of plain words only.
    pub(super) fn is_plain(&self) -> bool {
        !self.outer.opaque && !self.outer.doubtful && !self.outer.commands.is_empty()
    }

    /// Reports whether a pattern matches every command of a line of plain words.
    pub(super) fn is_within(&self, pattern: &str) -> bool {
        self.is_plain() && self.outer.commands.iter().all(|argv| glob::matches_command(pattern, &argv.join(" ")))
    }

    /// Reports whether the line may run what a pattern describes.
    pub(super) fn may_be(&self, pattern: &str) -> bool {
        if glob::matches_command(pattern, self.text.trim()) {
            return true;
        }
        let names = Names::of(pattern);
        let words = self.words();
        let is_named = names.program_in(&words);
        let hits = |spelling: &String| {
            let program = spelling.split(' ').next().unwrap_or_default();
            // A program of which nothing is known is taken for the denied one where the line names that.
            let may_be_it = is_named || program.contains(|c| !is_mark(c));
            match spelling.contains(is_mark) {
                false => glob::matches_command(pattern, spelling),
                true => may_be_it && glob::may_match_command(pattern, spelling),
            }
        };
        self.spellings.iter().any(hits)
            || self.is_doubtful && names.program_in(&words)
            || self.foreign.iter().any(|code| names.all_in(&loose_words(code)))
    }

    /// Gives the words of the line, whatever quotes and backslashes stand in them, and those that its escapes write.
    fn words(&self) -> BTreeSet<String> {
        let mut words = loose_words(&self.text);
        self.spellings.iter().for_each(|spelling| words.extend(loose_words(spelling)));
        words
    }

    fn run_script(&mut self, script: &Script, depth: usize) -> Result<(), TooComplex> {
        self.is_doubtful |= script.doubtful;
        for argv in &script.commands {
            self.run(argv, depth)?;
            let wrote =
                |word: &String| script.files.iter().any(|file| file.trim_start_matches("./") == plain_path(word));
            // A script that the same line writes says what no word of a command does.
            self.is_doubtful |= !script.files.is_empty() && argv.iter().any(wrote) && programs::runs_files(argv);
        }
        Ok(())
    }

    fn run_text(&mut self, text: &str, depth: usize) -> Result<(), TooComplex> {
        // What was one word to the line is a script of any number of words.
        let text = text.replace(PART, &MANY.to_string());
        let script = Script::read(&text, depth)?;
        self.run_script(&script, depth)
    }

    /// Notes everything that a simple command may run: itself, and what it is given to run.
    fn run(&mut self, argv: &[String], depth: usize) -> Result<(), TooComplex> {
        if depth > MAX_NESTING {
            return Err(TooComplex);
        }
        let (mut open, mut seen) = (vec![0], BTreeSet::new());
        while let Some(at) = open.pop() {
            let Some(rest) = argv.get(at..).filter(|rest| !rest.is_empty()) else { continue };
            if seen.insert(at) {
                let inner = self.run_one(rest, depth)?;
                open.extend(inner.into_iter().map(|offset| at + offset));
            }
        }
        Ok(())
    }

    /// Notes one reading of a simple command; gives where in it others may begin.
    fn run_one(&mut self, argv: &[String], depth: usize) -> Result<Vec<usize>, TooComplex> {
        let Some((first, rest)) = argv.split_first() else { return Ok(Vec::new()) };
        if programs::is_keyword(first) || programs::is_assignment(first) {
            return Ok(vec![1]);
        }
        // Nobody has a program whose name is a sentence; the words were one argument.
        if first.contains(char::is_whitespace) {
            return Ok(Vec::new());
        }
        let program = programs::base_name(first);
        self.note(first, rest)?;
        self.note(program, rest)?;
        for fewer in programs::without_options(program, rest) {
            self.note(program, &fewer)?;
        }
        match programs::kind(program) {
            Kind::Plain => {}
            Kind::Wrapper { operands } => {
                if program == "env" && programs::has_option(rest, 'S') {
                    self.run_words(rest, depth)?;
                }
                return Ok(programs::inner(rest, operands));
            }
            Kind::AnySuffix => return Ok((1..argv.len()).collect()),
            Kind::AfterWord(words) => {
                let after = argv.iter().enumerate().filter(|(_, word)| words.contains(&programs::name_of(word)));
                let after: Vec<usize> = after.map(|(at, _)| at + 1).collect();
                if !after.is_empty() {
                    self.run_words(rest, depth)?;
                }
                self.is_doubtful |= program == "git" && rest.iter().any(|word| word.contains("alias."));
                return Ok(after);
            }
            Kind::WithInput => self.run_with_input(rest, depth)?,
            Kind::Script => self.run_joined(rest, depth)?,
            Kind::Shell => {
                self.is_doubtful |= programs::reads_input(rest);
                if programs::has_option(rest, 'c') {
                    self.run_words(rest, depth)?;
                }
            }
            Kind::Interpreter => self.note_foreign(program, rest),
            Kind::Doubtful => self.is_doubtful |= programs::is_in_doubt(program, rest),
        }
        Ok(Vec::new())
    }

    /// Notes what runs with words that it reads from elsewhere behind its own.
    fn run_with_input(&mut self, rest: &[String], depth: usize) -> Result<(), TooComplex> {
        let mut argv: Vec<String> = rest.iter().map(|word| word.replace("{}", &MANY.to_string())).collect();
        argv.push(MANY.to_string());
        for at in programs::inner(&argv, 0) {
            self.run(argv.get(at - 1..).unwrap_or_default(), depth + 1)?;
        }
        Ok(())
    }

    /// Notes what words would run if all behind the options, and perhaps one operand, were a script, or each was.
    fn run_joined(&mut self, rest: &[String], depth: usize) -> Result<(), TooComplex> {
        for at in programs::inner(rest, 0).into_iter().chain(programs::inner(rest, 1)) {
            self.run_text(&rest.get(at - 1..).unwrap_or_default().join(" "), depth + 1)?;
        }
        self.run_words(rest, depth)
    }

    /// Notes what words would run if each was a script.
    fn run_words(&mut self, words: &[String], depth: usize) -> Result<(), TooComplex> {
        for word in words.iter().filter(|word| word.contains(|c: char| !c.is_ascii_alphanumeric())) {
            let script = word.strip_prefix('!').unwrap_or(word);
            let script = script.split_once('=').filter(|(name, _)| name.starts_with("--")).map_or(script, |(_, it)| it);
            self.run_text(script, depth + 1)?;
        }
        Ok(())
    }

    /// Notes code in another language: what is given to the program, or the whole line where it reads its input.
    fn note_foreign(&mut self, program: &str, rest: &[String]) {
        let code = rest.join(" ");
        if program.ends_with("awk") {
            // It is asked for text all the time, and runs others in these ways only.
            let runs = ["system", "|", "getline"].iter().any(|way| code.contains(way));
            self.foreign.extend(runs.then_some(code));
        } else if rest.iter().any(|word| programs::is_code_option(word)) {
            self.foreign.push(code);
        } else if programs::reads_input(rest) {
            self.foreign.push(self.text.clone());
        }
    }

    fn note(&mut self, program: &str, rest: &[String]) -> Result<(), TooComplex> {
        let spelling = std::iter::once(program).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        self.bytes += spelling.len();
        if self.bytes > MAX_READ_BYTES {
            return Err(TooComplex);
        }
        self.spellings.insert(spelling);
        Ok(())
    }
}

/// The words of a pattern that a line has to have for the pattern to mean it: each as it is, or as it begins.
struct Names {
    words: Vec<Name>,
}

struct Name {
    text: String,
    /// Whether a word may have more before it.
    is_open_before: bool,
    /// Whether a word may go on behind it.
    is_open_behind: bool,
}

impl Names {
    fn of(pattern: &str) -> Names {
        let pattern = pattern.strip_suffix(":*").unwrap_or(pattern);
        let name = |word: &str| {
            let word = programs::base_name(word);
            let known = word.split(['*', '?']).max_by_key(|known| known.len()).unwrap_or_default();
            let (is_open_before, is_open_behind) = (!word.starts_with(known), !word.ends_with(known));
            Name { text: known.to_owned(), is_open_before, is_open_behind }
        };
        let words = pattern.split_whitespace().map(name).filter(|name| !name.text.is_empty());
        Names { words: words.collect() }
    }

    fn all_in(&self, words: &BTreeSet<String>) -> bool {
        !self.words.is_empty() && self.words.iter().all(|name| name.is_in(words))
    }

    /// Reports whether the first word, which names the program, is among these.
    fn program_in(&self, words: &BTreeSet<String>) -> bool {
        self.words.first().is_none_or(|name| name.is_in(words))
    }
}

impl Name {
    fn is_in(&self, words: &BTreeSet<String>) -> bool {
        match (self.is_open_before, self.is_open_behind) {
            (false, false) => words.contains(&self.text),
            (false, true) => words.iter().any(|word| word.starts_with(&self.text)),
            (true, _) => words.iter().any(|word| word.contains(&self.text)),
        }
    }
}

/// Gives the words of a text without quotes and backslashes, cut wherever a shell or another language may cut them,
/// and each path's last part.
fn loose_words(text: &str) -> BTreeSet<String> {
    let joined: String = text.replace("\\\n", "").chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let apart: String = text.chars().map(|c| if matches!(c, '\'' | '"' | '\\') { ' ' } else { c }).collect();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let mut words = BTreeSet::new();
    for text in [joined, apart] {
        words.extend(text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_owned));
    }
    words
}

fn plain_path(word: &str) -> &str {
    word.trim_start_matches("./")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(text: &str) -> Vec<String> {
        Command::read(text).unwrap().spellings.into_iter().collect()
    }

    fn commands(text: &str) -> Vec<String> {
        Script::read(text, 0).unwrap().commands.iter().map(|argv| argv.join(" ")).collect()
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
            ("echo \"x $(id \"a b\")\"; ls", &["id a b", "echo x \u{f0001}", "ls"]),
            ("echo `id`", &["id", "echo \u{f0002}"]),
            ("g\"i\"t  'push'  --f\\orce", &["git push --force"]),
            ("git \\\n push", &["git push"]),
            ("git$IFS$9push", &["git \u{f0002}push"]),
            ("$'\\x67it' p{us,}h", &["git p\u{f0002}h"]),
            ("2>&1 git push >f 2>>g", &["git push"]),
            ("cat <<'EOF' | tr a b\ndon't\nEOF\ngit push", &["cat", "tr a b", "git push"]),
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
            "${x@P}",
            "$'\\x69d'",
            "a \"$x\"",
            "a {b,c}",
            "a *",
            "! a",
            "(a)",
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
    fn the_command_behind_a_wrapper_is_a_spelling() {
        for text in ["env X=1 git push", "timeout 5 git push", "/usr/bin/git push", "X=1 nice -n 5 git push"] {
            assert!(spellings(text).contains(&"git push".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_huge_line_is_too_complex() {
        let wrapped = format!("{}git push", "env -a ".repeat(5_000));
        let nested = format!("{}git push{}", "$(".repeat(500), ")".repeat(500));
        for text in ["a;".repeat(10_000), "a".repeat(1 << 20), wrapped, nested] {
            assert_eq!(Command::read(&text), Err(TooComplex), "{}", text.len());
        }
        for text in ["[".repeat(60_000), "{a,".repeat(20_000), "\"".repeat(60_000)] {
            let _ = Command::read(&text);
        }
    }
}
