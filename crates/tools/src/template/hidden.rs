//! Refuses templates that leave it to the arguments which program runs, or that hide a shell.
//!
//! This is no boundary: policy and sandbox judge every call by its program and arguments. It keeps an author from
//! defining a shell by accident.

use super::word::Word;

/// Programs that run another one, which their words name.
const LAUNCHERS: &[&str] = &[
    "busybox", "chroot", "chrt", "command", "doas", "env", "eval", "exec", "flock", "ionice", "nice", "nohup",
    "nsenter", "parallel", "setsid", "stdbuf", "strace", "sudo", "taskset", "time", "timeout", "toybox", "unshare",
    "watch", "xargs",
];
/// Options of other programs whose next word is a program.
const RUNNING_OPTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Shells.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "nu", "pwsh", "rbash", "sh", "tcsh", "xonsh", "zsh"];
/// Programs that run a script, or code that an option gives.
const INTERPRETERS: &[&str] =
    &["awk", "bun", "deno", "gawk", "lua", "mawk", "node", "nodejs", "perl", "php", "python", "ruby", "tclsh"];

/// Requires that the program, and each program that it runs, is fixed and no shell that reads arguments as code.
pub(super) fn require_plain(words: &[Word]) -> Result<(), String> {
    let Some(first) = words.first() else { return Err("the command is empty".to_owned()) };
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
    let runs = |word: &Word| word.fixed().is_some_and(|word| RUNNING_OPTIONS.contains(&word));
    for (at, _) in words.iter().enumerate().filter(|(_, word)| runs(word)) {
        require_fixed_program(words.get(at + 1..).unwrap_or_default())?;
    }
    Ok(())
}

/// Judges the command that begins with the first of these words.
fn require_fixed_program(words: &[Word]) -> Result<(), String> {
    let Some((program, rest)) = words.split_first() else { return Ok(()) };
    let Some(program) = program.fixed().map(base_name) else {
        return Err("a slot stands where the name of a program is expected; the program must be fixed".to_owned());
    };
    if LAUNCHERS.contains(&program) {
        let is_own = |word: &&Word| {
            word.fixed().is_some_and(|word| {
                word.starts_with('-') || word.contains('=') || word.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let own = rest.iter().take_while(is_own).count();
        return require_fixed_program(rest.get(own..).unwrap_or_default());
    }
    if !rest.iter().any(Word::has_slot) {
        return Ok(());
    }
    let takes_code = rest.iter().any(|word| {
        word.fixed().and_then(|word| word.strip_prefix('-')).is_some_and(|flags| {
            flags == "-command" || flags == "Command" || !flags.starts_with('-') && flags.contains('c')
        })
    });
    let is_shell = SHELLS.contains(&program);
    if is_shell && takes_code {
        return Err(format!(
            "the template hides a shell: `{program}` would interpret arguments; name the program itself"
        ));
    }
    // Before the first slot, a script or code must stand that arguments cannot replace.
    let is_script = |word: &Word| word.fixed().is_some_and(|word| !word.starts_with('-'));
    let before = rest.iter().take_while(|word| !word.has_slot());
    if (is_shell || INTERPRETERS.contains(&program)) && !before.into_iter().any(is_script) {
        return Err(format!("the template hides an interpreter: arguments would be the code that `{program}` runs"));
    }
    Ok(())
}

/// Returns a program's name without its folder and its version.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use crate::template::CommandTemplate;

    #[test]
    fn a_hidden_shell_or_interpreter_is_found() {
        let hides = "the template hides";
        let open = "the program must be fixed";
        let table = [
            ("sh -c {arguments}", Err(hides)),
            ("/bin/sh -c {ARGS}", Err(hides)),
            ("bash -lc '{arguments}'", Err(hides)),
            ("sh -c 'exec \"$@\"' x {arguments}", Err(hides)),
            ("sh {arguments}", Err(hides)),
            ("env A=1 sh -c {arguments}", Err(hides)),
            ("timeout 5 bash -c {arguments}", Err(hides)),
            ("busybox sh -c {arguments}", Err(hides)),
            ("xargs -0 sh -c {arguments}", Err(hides)),
            ("find . -exec sh -c {arguments} ';'", Err(hides)),
            ("python3.12 -c {arguments}", Err(hides)),
            ("perl -e {arguments}", Err(hides)),
            ("node {arguments}", Err(hides)),
            ("env {arguments}", Err(open)),
            ("sudo -n {arguments}", Err(open)),
            ("find . -exec {arguments}", Err(open)),
            ("find {arguments} -type f", Ok(())),
            ("grep -c sh {arguments}", Ok(())),
            ("sh scripts/release.sh {arguments}", Ok(())),
            ("python3 -m json.tool {arguments}", Ok(())),
            ("env LC_ALL=C sort {arguments}", Ok(())),
            ("timeout 30 make {arguments}", Ok(())),
            ("sh -c 'date; id'", Ok(())),
            ("find . -exec wc -l {} +", Ok(())),
            ("cargo {arguments}", Ok(())),
        ];
        for (template, expected) in table {
            match (CommandTemplate::parse(template, &["arguments"]), expected) {
                (Ok(_), Ok(())) => {}
                (Err(said), Err(reason)) => assert!(said.contains(reason), "{template}: {said}"),
                (parsed, _) => panic!("{template}: {parsed:?}"),
            }
        }
    }
}
