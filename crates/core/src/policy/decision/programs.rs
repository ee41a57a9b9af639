//! The well-known programs that run nothing named by their words or input; every other program may
//! run anything.
//!
//! Only rules that deny or ask use this. A missing program costs an unnecessary question, a wrongly
//! listed one defeats the rule: programs in doubt do not belong into these tables.

use super::lexer::is_mark;
use crate::text::parts::behind_leading;

/// The programs that a simple command may run besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nothing.
    Nothing,
    /// Nothing named by its words, only what git's own settings and hooks name.
    GitFolder,
    /// Nothing named by its words, only files of the project.
    Project,
    /// Anything named anywhere in the line.
    Anything,
}

/// Keywords of the shell that precede a command.
const KEYWORDS: &[&str] = &["!", "if", "then", "elif", "else", "while", "until", "do"];
/// Keywords of the shell that end a construct.
const ENDS: &[&str] = &["fi", "done"];
/// Programs that run nothing, whatever their words are.
const INERT: &[&str] = &[
    ":",
    "true",
    "false",
    "echo",
    "cat",
    "ls",
    "grep",
    "egrep",
    "fgrep",
    "head",
    "tail",
    "wc",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "mkdir",
    "touch",
    "cut",
    "tr",
    "uniq",
    "diff",
    "cmp",
    "comm",
    "paste",
    "stat",
    "basename",
    "dirname",
    "date",
    "sleep",
    "seq",
    "nl",
    "tac",
    "rev",
    "fold",
    "md5sum",
    "sha256sum",
    "du",
    "df",
    "id",
    "whoami",
    "uname",
    "readlink",
    "realpath",
    "which",
    "tree",
    "jq",
    "rm",
    "rmdir",
    "chmod",
];
/// Builtins that only print their words and have no other effect.
pub(super) const PRINTING: &[&str] = &["echo", "printf"];
/// Builtins that evaluate the index of an array in a word, which may run commands.
const INDEXING: &[&str] = &["test", "[", "printf"];
/// Subcommands of git whose words are not commands, except for [`GIT_COMMANDS`].
const GIT_INERT: &[&str] = &[
    "status",
    "commit",
    "tag",
    "log",
    "show",
    "diff",
    "add",
    "branch",
    "checkout",
    "switch",
    "restore",
    "stash",
    "merge-base",
    "rev-parse",
    "rev-list",
    "describe",
    "ls-files",
    "mv",
    "rm",
    "reset",
    "revert",
    "cherry-pick",
    "blame",
    "shortlog",
    "grep",
    "version",
];
/// Subcommands of git that are inert if their words are plain.
const GIT_PLAIN: &[&str] = &["fetch", "rebase", "merge", "pull"];
/// Subcommands of git that are inert if followed by one of these words.
const GIT_WITH: &[(&str, &[&str])] = &[
    ("bisect", &["start", "good", "bad", "reset", "skip", "log"]),
    ("remote", &["-v", "show", "get-url"]),
    ("submodule", &["status", "init"]),
    ("worktree", &["list"]),
    (
        "config",
        &["user.name", "user.email", "--get", "--list", "-l"],
    ),
];
/// Options of git that name a program and may be abbreviated.
const GIT_COMMANDS: &[&str] = &[
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--open-files-in-pager",
    "--strategy",
    "--textconv",
    "--template",
];
/// Options of git before its subcommand that take the next word.
const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];
/// Built-in subcommands of cargo.
const CARGO: &[&str] = &[
    "test", "t", "build", "b", "check", "c", "run", "r", "clippy", "fmt", "doc", "d", "bench",
    "add", "remove", "rm", "update", "tree", "metadata", "clean", "search",
];
/// Built-in subcommands of go.
const GO: &[&str] = &[
    "test", "build", "vet", "run", "fmt", "mod", "get", "list", "doc", "version",
];
/// Options of go that name a program, without their dashes.
const GO_COMMANDS: &[&str] = &[
    "exec", "toolexec", "vettool", "ldflags", "overlay", "gcflags",
];
/// Subcommands of npm that run only what the project names, and its options that do not name a
/// program.
const NPM: &[&str] = &["run", "test", "ci", "install", "start", "ls"];
const NPM_OPTIONS: &[&str] = &[
    "--silent",
    "-s",
    "--if-present",
    "--workspaces",
    "-D",
    "--no-audit",
    "--no-fund",
];

/// Finds what a simple command, without the words before its program, may run.
pub(super) fn reach(argv: &[String]) -> Reach {
    let Some((first, rest)) = argv.split_first() else {
        return Reach::Nothing;
    };
    let place = first.strip_prefix("/usr").unwrap_or(first);
    let program = place.strip_prefix("/bin/").unwrap_or(first);
    match program {
        _ if INERT.contains(&program) => Reach::Nothing,
        _ if INDEXING.contains(&program) => {
            inert_if(!rest.iter().any(|word| has_index(word)), Reach::Nothing)
        }
        _ if ENDS.contains(&program) => inert_if(rest.is_empty(), Reach::Nothing),
        "for" => inert_if(is_plain_for(rest), Reach::Nothing),
        "sort" => inert_if(
            rest.iter().all(|word| is_plain_for_sort(word)),
            Reach::Nothing,
        ),
        "rg" => inert_if(
            !any_starts(rest, &["--pre", "--hostname-bin"]) && !has_loose_mark(rest),
            Reach::Nothing,
        ),
        "find" => inert_if(
            !any_starts(rest, &["-exec", "-ok", "-fprint"]) && !has_loose_mark(rest),
            Reach::Nothing,
        ),
        "sed" => inert_if(is_plain_sed(rest), Reach::Nothing),
        "awk" => inert_if(is_plain_awk(rest), Reach::Nothing),
        "xargs" => inert_if(is_plain_xargs(rest), Reach::Nothing),
        "git" => inert_if(is_plain_git(rest), Reach::GitFolder),
        "cargo" => {
            let names_program = any_starts(before_dashes(rest), &["--config", "-Z"]);
            inert_if(begins_with(rest, CARGO) && !names_program, Reach::Project)
        }
        "go" => {
            let names_program = rest.iter().any(|word| names_program_of_go(word));
            inert_if(begins_with(rest, GO) && !names_program, Reach::Project)
        }
        "npm" => inert_if(is_plain_npm(rest), Reach::Project),
        "pytest" => inert_if(
            !any_starts(rest, &["-o", "--over", "-p", "-c", "--pdbcls"]),
            Reach::Project,
        ),
        _ => Reach::Anything,
    }
}

fn inert_if(is_inert: bool, reach: Reach) -> Reach {
    if is_inert { reach } else { Reach::Anything }
}

/// Reports whether the first of the words is one of some.
fn begins_with(words: &[String], some: &[&str]) -> bool {
    match words.first() {
        Some(word) => some.contains(&word.as_str()),
        None => false,
    }
}

fn names_program_of_go(word: &str) -> bool {
    let option = word.trim_start_matches('-');
    is_option(word) && GO_COMMANDS.iter().any(|name| option.starts_with(name))
}

fn any_starts(words: &[String], starts: &[&str]) -> bool {
    words
        .iter()
        .any(|word| starts.iter().any(|start| word.starts_with(start)))
}

fn has_loose_mark(words: &[String]) -> bool {
    words.iter().any(|word| word.starts_with(is_mark))
}

fn has_index(word: &str) -> bool {
    word.contains("$(") || word.contains('`')
}

fn before_dashes(words: &[String]) -> &[String] {
    words.split(|word| word == "--").next().unwrap_or(words)
}

/// Reports whether a loop iterates over words with a variable that no program reads.
fn is_plain_for(words: &[String]) -> bool {
    let [name, middle, ..] = words else {
        return false;
    };
    middle == "in" && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

fn is_plain_for_sort(word: &str) -> bool {
    match word.strip_prefix('-') {
        Some(letters) => letters
            .chars()
            .all(|c| "bdfghinMrRuVcszk0123456789,.".contains(c)),
        None => !word.starts_with(is_mark),
    }
}

/// Reports whether a sed has exactly one script, a single substitution or a selection of lines.
fn is_plain_sed(words: &[String]) -> bool {
    let known = ["-i", "-n", "-E", "-r", "-e"];
    let own = behind_leading(words, |word| known.contains(&word.as_str()));
    let Some((script, files)) = own.split_first() else {
        return false;
    };
    let chooses = script
        .trim_end_matches(['p', 'd', 'q'])
        .chars()
        .all(|c| c.is_ascii_digit() || ",$".contains(c));
    (chooses || is_substitution(script))
        && !files
            .iter()
            .any(|file| is_option(file) || file.starts_with(is_mark))
}

fn is_substitution(script: &str) -> bool {
    if script.contains(['\\', '\n']) || script.contains(is_mark) {
        return false;
    }
    let Some(rest) = script.strip_prefix('s') else {
        return false;
    };
    let mut chars = rest.chars();
    let Some(delimiter) = chars.next() else {
        return false;
    };
    let parts: Vec<&str> = chars.as_str().split(delimiter).collect();
    match parts.as_slice() {
        [_, _, flags] if delimiter.is_ascii_punctuation() => flags
            .chars()
            .all(|c| c.is_ascii_digit() || "gpI".contains(c)),
        _ => false,
    }
}

fn is_plain_awk(words: &[String]) -> bool {
    let runs = ["system", "|", "getline", ">", "@", "\\"];
    for word in words {
        let may_run = runs.iter().any(|way| word.contains(way));
        let is_unknown = is_option(word) && !word.starts_with("-F");
        if may_run || is_unknown || word.starts_with(is_mark) {
            return false;
        }
    }
    true
}

/// Reports whether the words that xargs adds go to a program that runs none of them.
fn is_plain_xargs(words: &[String]) -> bool {
    begins_with(behind_xargs(words), INERT)
}

/// Returns the command of an xargs with well-known options only, or its first other option.
pub(super) fn behind_xargs(words: &[String]) -> &[String] {
    behind_leading(words, |word| ["-0", "-r", "-n1"].contains(&word.as_str()))
}

fn is_plain_npm(words: &[String]) -> bool {
    let own = before_dashes(words);
    begins_with(own, NPM) && own.iter().all(|word| is_plain_for_npm(word))
}

fn is_plain_for_npm(word: &str) -> bool {
    let is_known = !is_option(word) || NPM_OPTIONS.contains(&word);
    // A script of this name exists in every project, and runs its words.
    is_known && word != "env" && !word.starts_with(is_mark)
}

fn is_plain_git(words: &[String]) -> bool {
    let at = leading_of_git(words);
    let (Some(before), Some(rest)) = (words.get(..at), words.get(at..)) else {
        return false;
    };
    let Some((subcommand, rest)) = rest.split_first() else {
        return before.is_empty();
    };
    let subcommand = subcommand.as_str();
    let names_program = rest.iter().any(|word| names_program_of_git(word))
        || subcommand == "grep" && has_option(rest, 'O')
        || subcommand == "rebase" && has_option(rest, 'x');
    if names_program || !before.iter().all(|word| is_known_by_git(word)) {
        return false;
    }
    if GIT_PLAIN.contains(&subcommand) {
        return rest.iter().all(|word| is_plain_for_git(word));
    }
    for (name, words) in GIT_WITH {
        if *name == subcommand {
            return begins_with(rest, words);
        }
    }
    GIT_INERT.contains(&subcommand)
}

/// Reports whether a word before the subcommand names no program.
fn is_known_by_git(word: &str) -> bool {
    let known = ["-C", "--no-pager", "-P", "--git-dir", "--work-tree"];
    !is_option(word) || known.contains(&option_name(word))
}

/// Reports whether a word is an option that names a program, perhaps abbreviated.
fn names_program_of_git(word: &str) -> bool {
    let name = option_name(word);
    name.len() > 2
        && GIT_COMMANDS
            .iter()
            .any(|command| command.starts_with(name) || name.starts_with(command))
}

fn is_plain_for_git(word: &str) -> bool {
    !word.contains("::") && !word.contains(char::is_whitespace) && !word.starts_with("-s")
}

/// Returns an option without its value.
fn option_name(word: &str) -> &str {
    match word.split_once('=') {
        Some((name, _)) => name,
        None => word,
    }
}

/// Reports whether a command, if no later one reads its output, leaves no trace of its words.
pub(super) fn only_prints(argv: &[String]) -> bool {
    begins_with(argv, PRINTING)
}

/// Reports whether a word is a keyword, so that the next one names the program.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Reports whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns a program's name without its folder.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns the subcommand of git in the words after the program, as far as it is a plain word.
pub(super) fn git_subcommand(words: &[String]) -> Option<&str> {
    let word = words.get(leading_of_git(words))?;
    word.chars()
        .all(|c| c.is_ascii_lowercase() || c == '-')
        .then_some(word)
}

/// Returns the words without the leading options, and without any options: the value of an option
/// is dropped in one reading and kept in another.
pub(super) fn without_options(program: &str, words: &[String]) -> Vec<Vec<String>> {
    let without_any: Vec<String> = words
        .iter()
        .filter(|word| !is_option(word))
        .cloned()
        .collect();
    let mut readings = Vec::new();
    if program == "git" {
        readings.push(words.iter().skip(leading_of_git(words)).cloned().collect());
        readings.push(without_any_of_git(words));
        return readings;
    }
    readings.push(behind_leading(words, |word| is_option(word)).to_vec());
    readings.push(words.iter().skip(with_values(words)).cloned().collect());
    readings.push(without_any);
    readings
}

fn leading_of_git(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at)
        && is_option(word)
    {
        at += if GIT_VALUES.contains(&word.as_str()) {
            2
        } else {
            1
        };
    }
    at
}

fn without_any_of_git(words: &[String]) -> Vec<String> {
    words
        .iter()
        .skip(leading_of_git(words))
        .filter(|word| !is_option(word))
        .cloned()
        .collect()
}

/// Counts the leading options, assuming that each has a value.
fn with_values(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at)
        && is_option(word)
    {
        let takes_next =
            !word.contains('=') && words.get(at + 1).is_some_and(|next| !is_option(next));
        at += if takes_next { 2 } else { 1 };
    }
    at
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// Reports whether one of the words is a cluster of short options that includes this one.
fn has_option(words: &[String], option: char) -> bool {
    words
        .iter()
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_a_command_may_run_is_known() {
        let table = [
            ("echo git push", Reach::Nothing),
            ("/usr/bin/ls", Reach::Nothing),
            ("./ls", Reach::Anything),
            ("sort -u f", Reach::Nothing),
            ("sort --comp x f", Reach::Anything),
            ("git --no-pager log -n 1", Reach::GitFolder),
            ("git -c a=b log", Reach::Anything),
            ("git rebase -ix a", Reach::Anything),
            ("git push", Reach::Anything),
            ("cargo test push", Reach::Project),
            ("cargo test --config a", Reach::Anything),
            ("cargo test -- --config a", Reach::Project),
            ("sed s/a/b/g f", Reach::Nothing),
            ("sed s/a/b/e f", Reach::Anything),
            ("xargs -0 grep x", Reach::Nothing),
            ("xargs git", Reach::Anything),
        ];
        for (text, expected) in table {
            assert_eq!(reach(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn options_are_left_out_in_every_reading() {
        assert_eq!(
            without_options("git", &words("-C . push -f x")),
            [words("push -f x"), words("push x")]
        );
        assert_eq!(
            without_options("git", &words("--no-pager log push"))[0],
            words("log push")
        );
        let of_others = without_options("npm", &words("--prefix x run deploy"));
        assert!(of_others.contains(&words("run deploy")), "{of_others:?}");
    }
}
