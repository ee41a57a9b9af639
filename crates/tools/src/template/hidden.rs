//! Refuses templates that leave it to the arguments which program runs, or that hide a shell.
//!
//! This is no boundary: policy and sandbox judge every call by its program and arguments. It keeps
//! an author from defining a shell by accident. What cannot be judged is refused: it is not known
//! here which options of a launcher or of an interpreter take a value, so that none may stand
//! before the program or the script. A template without slots is as fixed as a script, and may run
//! anything.

use super::word::{Piece, Word};

/// Programs that run another one, which their words name.
const LAUNCHERS: &[&str] = &[
    "bunx", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "ionice", "ltrace",
    "nice", "nohup", "npx", "nsenter", "setpriv", "setsid", "stdbuf", "strace", "sudo", "taskset",
    "time", "timeout", "toybox", "uvx", "unshare", "xargs",
];
/// The commands of programs that run another one, which the words behind them name.
const LAUNCHING_COMMANDS: &[(&str, &str)] = &[
    ("bundle", "exec"),
    ("npm", "exec"),
    ("pipenv", "run"),
    ("pipx", "run"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
    ("yarn", "dlx"),
    ("yarn", "exec"),
];
/// Programs that hand their words to a shell or to a language of their own.
const HIDING: &[&str] = &[
    "at", "batch", "ed", "emacs", "eval", "ex", "expect", "flock", "gdb", "lldb", "mosh",
    "parallel", "rsh", "runuser", "screen", "script", "ssh", "su", "tmux", "vi", "vim", "watch",
];
/// Options of other programs whose next word is a program.
const RUNNING_OPTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Options of any program whose value is code or a command.
const CODE_OPTIONS: &[&str] = &[
    "--command",
    "--eval",
    "--exec",
    "--exec-batch",
    "--extcmd",
    "--pre",
    "--rsh",
    "--to-command",
];
/// The words of git's commands whose next word a shell reads.
const GIT_SHELLS: &[(&str, &str)] = &[
    ("difftool", "-x"),
    ("filter-branch", ""),
    ("rebase", "-x"),
    ("submodule", "foreach"),
];
/// Shells, and other programs that run a script, or code that an option gives.
const INTERPRETERS: &[&str] = &[
    "ash", "awk", "bash", "bun", "csh", "dash", "deno", "elixir", "fish", "gawk", "groovy",
    "guile", "ipython", "julia", "ksh", "lua", "luajit", "mawk", "mksh", "nawk", "node", "nodejs",
    "nu", "perl", "php", "pwsh", "pypy", "python", "rbash", "Rscript", "ruby", "sh", "tclsh",
    "tcsh", "ts-node", "tsx", "xonsh", "zsh",
];
/// Those of them that run modules with `-m`.
const PYTHONS: &[&str] = &["ipython", "pypy", "python"];
/// Those of them whose first word may be a command.
const COMMANDED: &[&str] = &["bun", "deno", "node", "nodejs"];
/// Their commands behind which the script, or the code, stands.
const SCRIPT_COMMANDS: &[&str] = &[
    "debug", "eval", "exec", "inspect", "repl", "run", "serve", "x",
];
/// The modules of Python that run the code, or the script, which their words name.
const RUNNING_MODULES: &[&str] = &[
    "cProfile", "code", "pdb", "profile", "runpy", "timeit", "trace",
];

/// Requires that the program, and each program that it runs, is fixed and no shell that reads
/// arguments as code.
pub(super) fn require_plain(words: &[Word]) -> Result<(), String> {
    let Some(first) = words.first() else {
        return Err("the command is empty".to_owned());
    };
    match first.fixed() {
        None => return Err("the program must be fixed, but its word has a slot".to_owned()),
        Some("") => return Err("the command is empty".to_owned()),
        Some(program) if program.starts_with('~') => {
            return Err("`~` is not expanded, since no shell runs the command".to_owned());
        }
        Some(program) if program.contains('=') => {
            return Err("variables cannot be set, since no shell runs the command".to_owned());
        }
        Some(_) => {}
    }
    require_fixed_program(words)?;
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let fixed = word.fixed();
        if fixed.is_some_and(|word| RUNNING_OPTIONS.contains(&word)) {
            require_fixed_program(after)?;
        }
        rest = after;
    }
    require_no_code_option(words)?;
    require_no_inner_interpreter(words)
}

/// Judges the command that begins with the first of these words.
fn require_fixed_program(words: &[Word]) -> Result<(), String> {
    let Some((program, rest)) = words.split_first() else {
        return Ok(());
    };
    let Some(program) = program.fixed().map(base_name) else {
        return Err(
            "a slot takes the place of a program's name; the program must be fixed".to_owned(),
        );
    };
    let Some((first, behind)) = rest.split_first() else {
        return Ok(());
    };
    if !rest.iter().any(Word::has_slot) {
        return Ok(());
    }
    let command = first.fixed().unwrap_or_default();
    if HIDING.contains(&program) {
        Err(hands_on(program))
    } else if INTERPRETERS.contains(&program) {
        require_script(program, rest)
    } else if LAUNCHERS.contains(&program) {
        require_launched(program, rest)
    } else if LAUNCHING_COMMANDS.contains(&(program, command)) {
        require_launched(program, behind)
    } else if program == "git" {
        require_git(rest)
    } else {
        Ok(())
    }
}

/// Judges what a launcher runs. Only its operands may stand before the program.
fn require_launched(launcher: &str, words: &[Word]) -> Result<(), String> {
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.fixed() else { break };
        if text.starts_with('-') && text != "--" && (launcher == "env" || !has_own_value(text)) {
            return Err(hides(&format!(
                "the option `{text}` of `{launcher}` may take the next word as its value, or run \
                 it; leave it out, or write it as `--NAME=VALUE` if `{launcher}` is not `env`"
            )));
        }
        let is_own = text.starts_with('-')
            || text.contains('=')
            || text.starts_with(|c: char| c.is_ascii_digit());
        if !is_own {
            let (_, command) = words.split_at(at);
            return require_fixed_program(command);
        }
    }
    Err(format!(
        "a slot takes the place of the program that `{launcher}` runs; the program must be fixed"
    ))
}

/// Requires that a script stands before the arguments, so that they cannot replace it.
fn require_script(program: &str, words: &[Word]) -> Result<(), String> {
    let fixed = words.iter().map_while(Word::fixed);
    let mut fixed = fixed.filter(|word| !has_own_value(word) || gives_code(word));
    let mut script = fixed.next();
    if script == Some("-m") && PYTHONS.contains(&program) {
        script = fixed
            .next()
            .filter(|module| !RUNNING_MODULES.contains(module));
    } else if COMMANDED.contains(&program)
        && script.is_some_and(|word| SCRIPT_COMMANDS.contains(&word))
    {
        script = fixed.next();
    }
    match script {
        Some(script) if !script.is_empty() && !script.starts_with(['-', '+']) => Ok(()),
        _ => Err(hides(&format!(
            "arguments would be the code that `{program}` runs, or could be; put a script before \
             them, with no option before it but `--NAME=VALUE`"
        ))),
    }
}

/// Judges git, whose `-c` defines commands for a shell.
fn require_git(words: &[Word]) -> Result<(), String> {
    let mut rest = words;
    while let [word, after @ ..] = rest {
        rest = match word.fixed() {
            Some("-C") => after.split_first().map_or(after, |(_, after)| after),
            Some("-P") => after,
            Some(flag) if flag.starts_with("--no-") => after,
            _ if !begin(word).starts_with('-') => break,
            _ => {
                return Err(hides(&format!(
                    "the option `{}` of `git` may define commands; only `-C`, `-P` and `--no-…` \
                     may stand before git's command",
                    begin(word)
                )));
            }
        };
    }
    let Some((command, after)) = rest.split_first() else {
        return Ok(());
    };
    let command = command.fixed().unwrap_or_default();
    if command == "bisect"
        && let Some((run, launched)) = after.split_first()
        && run.fixed() == Some("run")
    {
        return require_launched("git bisect run", launched);
    }
    for (of, option) in GIT_SHELLS {
        let has_option = after.iter().any(|word| begin(word).starts_with(option));
        if *of == command && has_option && after.iter().any(Word::has_slot) {
            return Err(hands_on(&format!("git {command}")));
        }
    }
    Ok(())
}

/// Requires that no argument is the value of an option that takes code.
fn require_no_code_option(words: &[Word]) -> Result<(), String> {
    for (at, word) in words.iter().enumerate() {
        let (option, value) = match begin(word).split_once('=') {
            Some((option, _)) => (option, Some(word)),
            None => (begin(word), words.get(at + 1)),
        };
        if CODE_OPTIONS.contains(&option) && value.is_some_and(Word::has_slot) {
            return Err(hides(&format!(
                "the value of `{option}` is code or a command"
            )));
        }
    }
    Ok(())
}

/// Requires that no shell or interpreter with an option stands before a slot, in whichever word: a
/// program that is not known here may run it, as in `docker exec web sh -c` or `foo --run='sh -c'`.
fn require_no_inner_interpreter(words: &[Word]) -> Result<(), String> {
    let Some(last) = words.iter().rposition(Word::has_slot) else {
        return Ok(());
    };
    let mut tokens: Vec<&str> = Vec::new();
    for piece in words.iter().take(last + 1).flat_map(|word| &word.pieces) {
        match piece {
            Piece::Fixed(text) => {
                tokens.extend(text.split(separates).filter(|token| !token.is_empty()))
            }
            Piece::Slot(_) => tokens.push(""),
        }
    }
    for pair in tokens.windows(2) {
        let [program, option] = pair else { continue };
        let name = base_name(program.rsplit('=').next().unwrap_or(program));
        let is_module = *option == "-m" && PYTHONS.contains(&name);
        let is_option = option.starts_with(['-', '+']) && !has_own_value(option) && !is_module;
        if is_option && INTERPRETERS.contains(&name) {
            return Err(hides(&format!(
                "`{name} {option}` stands before arguments, which could be code"
            )));
        }
    }
    Ok(())
}

fn separates(c: char) -> bool {
    c.is_whitespace() || matches!(c, '!' | '\'' | '"' | ';' | '|' | '&' | '(' | '`')
}

fn hands_on(program: &str) -> String {
    hides(&format!(
        "`{program}` hands its words to one, or runs them; name the program itself"
    ))
}

fn hides(how: &str) -> String {
    format!("the template hides a shell or an interpreter: {how}")
}

/// Returns the fixed text that a word begins with.
fn begin(word: &Word) -> &str {
    match word.pieces.first() {
        Some(Piece::Fixed(text)) => text,
        _ => "",
    }
}

/// Reports whether an option gives its value as code.
fn gives_code(word: &str) -> bool {
    CODE_OPTIONS.iter().any(|option| {
        let value = word.strip_prefix(option);
        value.is_some_and(|value| value.starts_with('='))
    })
}

/// Reports whether a word is an option with its value, which cannot take the next word as well.
fn has_own_value(word: &str) -> bool {
    let parts = word
        .strip_prefix("--")
        .and_then(|option| option.split_once('='));
    parts.is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
}

/// Returns a program's name without its folder and its version.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

#[cfg(test)]
mod tests;
