//! What well-known programs do with their words: which run other programs, and which take their options first.
//!
//! Only rules that deny or ask look here, so each table may say too much and never has to be complete.

/// What a program does with its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs none of them.
    Plain,
    /// It runs the command behind its options and this many operands.
    Wrapper {
        /// The words before the command, options apart.
        operands: usize,
    },
    /// It runs a command somewhere among its words.
    AnySuffix,
    /// It runs what stands behind one of these words.
    AfterWord(&'static [&'static str]),
    /// It runs its words with others behind them, which it reads.
    WithInput,
    /// It runs its words as a shell's script.
    Script,
    /// It is a shell.
    Shell,
    /// It reads another language, which can run programs.
    Interpreter,
    /// It changes what later words mean, or runs what cannot be seen.
    Doubtful,
}

/// Words of the shell that a command may follow.
const KEYWORDS: &[&str] = &["!", "if", "then", "elif", "else", "while", "until", "do", "coproc"];
/// Options of git before its subcommand that take the next word.
const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];
/// Options with code in them, of interpreters.
const CODE_OPTIONS: &[&str] = &["--eval", "--print", "--execute", "eval", "exec"];

/// Finds what a program does with its words.
pub(super) fn kind(program: &str) -> Kind {
    match program {
        "env" | "time" | "nice" | "nohup" | "setsid" | "stdbuf" | "busybox" | "toybox" | "exec" | "command"
        | "builtin" | "sudo" | "doas" | "ionice" | "strace" | "ltrace" | "unbuffer" | "rlwrap" | "entr" | "unshare"
        | "setpriv" | "npx" | "torsocks" | "proxychains" | "proxychains4" | "fakeroot" | "xvfb-run"
        | "dbus-run-session" | "noglob" | "catchsegv" | "valgrind" | "caffeinate" | "chronic" => {
            Kind::Wrapper { operands: 0 }
        }
        "timeout" | "flock" | "chroot" | "taskset" | "chrt" | "setarch" | "gtimeout" => Kind::Wrapper { operands: 1 },
        "docker" | "podman" | "bwrap" | "firejail" | "systemd-run" | "nsenter" | "kubectl" | "prlimit" | "fd"
        | "fdfind" | "start-stop-daemon" | "runcon" | "numactl" | "faketime" | "hyperfine" | "perf" => Kind::AnySuffix,
        "find" => Kind::AfterWord(&["-exec", "-execdir", "-ok", "-okdir"]),
        "git" => Kind::AfterWord(&["foreach", "--exec", "-x", "run", "--tree-filter", "--upload-pack"]),
        "xargs" => Kind::WithInput,
        "eval" | "parallel" | "trap" | "ssh" | "watch" | "su" | "runuser" | "sg" | "script" | "tmux" | "screen" => {
            Kind::Script
        }
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" | "fish" => Kind::Shell,
        "alias" | "." | "source" | "at" | "batch" | "crontab" => Kind::Doubtful,
        _ if is_interpreter(program) => Kind::Interpreter,
        _ => Kind::Plain,
    }
}

fn is_interpreter(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "nodejs"
            | "deno"
            | "bun"
            | "php"
            | "lua"
            | "awk"
            | "gawk"
            | "mawk"
            | "nawk"
            | "tclsh"
            | "expect"
            | "osascript"
    )
}

/// Reports whether a word leaves the place of the program to the next one.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Reports whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Gives a program's name without its folder.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Gives an option's name without a value that is joined to it.
pub(super) fn name_of(word: &str) -> &str {
    word.split_once('=').filter(|_| word.starts_with("--")).map_or(word, |(name, _)| name)
}

/// Gives the words without the options before the first that is none, and without any: the value of an option is
/// dropped with it, and in another reading is not.
pub(super) fn without_options(program: &str, words: &[String]) -> Vec<Vec<String>> {
    let without_any: Vec<String> = words.iter().filter(|word| !is_option(word)).cloned().collect();
    let mut readings = Vec::new();
    if program == "git" {
        readings.push(words.iter().skip(leading_of_git(words)).cloned().collect());
        readings.push(without_any_of_git(words));
        return readings;
    }
    let leading = words.iter().take_while(|word| is_option(word)).count();
    readings.push(words.get(leading..).unwrap_or_default().to_vec());
    readings.push(words.get(with_values(words)..).unwrap_or_default().to_vec());
    readings.push(without_any);
    readings
}

fn leading_of_git(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        at += if GIT_VALUES.contains(&word.as_str()) { 2 } else { 1 };
    }
    at
}

fn without_any_of_git(words: &[String]) -> Vec<String> {
    words.iter().skip(leading_of_git(words)).filter(|word| !is_option(word)).cloned().collect()
}

/// Counts the leading options, taking each to have a value.
fn with_values(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        let takes_next = !word.contains('=') && words.get(at + 1).is_some_and(|next| !is_option(next));
        at += if takes_next { 2 } else { 1 };
    }
    at
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// Gives where behind a wrapper the command may begin, counted from the wrapper: behind options, which may take the
/// next word, behind assignments, and behind so many operands.
pub(super) fn inner(words: &[String], operands: usize) -> Vec<usize> {
    // One flag for each number of operands passed so far, at each word.
    let mut reached = vec![vec![false; operands + 1]; words.len() + 2];
    let mut found = Vec::new();
    if let Some(flag) = reached.first_mut().and_then(|flags| flags.first_mut()) {
        *flag = true;
    }
    for (at, word) in words.iter().enumerate() {
        let flags = reached.get(at).cloned().unwrap_or_default();
        for (passed, _) in flags.iter().enumerate().filter(|(_, is_reached)| **is_reached) {
            let steps: &[(usize, usize)] = match word {
                word if is_option(word) && !word.contains('=') => &[(1, 0), (2, 0)],
                word if is_option(word) || is_assignment(word) => &[(1, 0)],
                _ if passed < operands => &[(1, 1)],
                _ => &[],
            };
            if steps.is_empty() {
                found.push(at + 1);
            }
            for (further, more) in steps {
                let flag = reached.get_mut(at + further).and_then(|flags| flags.get_mut(passed + more));
                flag.into_iter().for_each(|flag| *flag = true);
            }
        }
    }
    found.dedup();
    found
}

/// Reports whether one of the words is a cluster of short options with this one.
pub(super) fn has_option(words: &[String], option: char) -> bool {
    words.iter().any(|word| word.starts_with(['-', '+']) && !word.starts_with("--") && word.contains(option))
}

/// Reports whether a shell or an interpreter with these words reads what it runs from elsewhere: from its input, or
/// from a file that is not known.
pub(super) fn reads_input(words: &[String]) -> bool {
    if has_option(words, 'c') {
        return false;
    }
    let operand = words.iter().find(|word| !is_option(word) && word.as_str() != "-");
    has_option(words, 's')
        || operand.is_none_or(|file| file.starts_with("/dev/") || file.contains(super::lexer::is_mark))
}

/// Reports whether an interpreter's word says that code follows.
pub(super) fn is_code_option(word: &str) -> bool {
    let is_short = |letters: &str| !letters.starts_with('-') && letters.contains(['c', 'e', 'E', 'r', 'p', 'n']);
    CODE_OPTIONS.contains(&name_of(word)) || word.strip_prefix('-').is_some_and(is_short)
}

/// Reports whether a simple command runs a file: a shell's script, or itself by a path.
pub(super) fn runs_files(argv: &[String]) -> bool {
    let Some(first) = argv.iter().find(|word| !is_keyword(word) && !is_assignment(word)) else { return false };
    first.contains('/') || argv.iter().any(|word| !matches!(kind(base_name(word)), Kind::Plain | Kind::AfterWord(_)))
}

/// Reports whether the words make the rest of the line doubtful.
pub(super) fn is_in_doubt(program: &str, words: &[String]) -> bool {
    match program {
        "alias" => words.iter().any(|word| word.contains('=')),
        "." | "source" => reads_input(words),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_command_of_a_wrapper_is_found() {
        let table: [(&str, usize, &[usize]); 6] = [
            ("git push", 0, &[1]),
            ("-n 5 git push", 0, &[2, 3]),
            ("-i X=1 git push", 0, &[3]),
            ("5 git push", 1, &[2]),
            ("-s KILL 5 git push", 1, &[3, 4]),
            ("-n", 0, &[]),
        ];
        for (text, operands, expected) in table {
            let found = inner(&words(text), operands);
            assert!(expected.iter().all(|at| found.contains(at)), "{text}: {found:?}");
        }
    }

    #[test]
    fn options_are_left_out_in_every_reading() {
        assert_eq!(without_options("git", &words("-C . push -f x")), [words("push -f x"), words("push x")]);
        assert_eq!(without_options("git", &words("--no-pager log push"))[0], words("log push"));
        let of_others = without_options("npm", &words("--prefix x run deploy"));
        assert!(of_others.contains(&words("run deploy")), "{of_others:?}");
    }
}
