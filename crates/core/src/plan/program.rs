//! The programs that a plan's commands begin with, as far as their text tells it.
//!
//! Only what is certain is said: a command whose first word could be anything else names no program. Whether a program is
//! there is for the caller to find out.

use std::collections::HashSet;

use super::finding::{Finding, FindingCode};
use super::parse::Plan;
use crate::ids::TaskId;
use crate::schedule::Schedule;
use crate::settings::{MergeMode, RunSettings};
use crate::task::{Task, Work};

/// The longest command that a finding repeats, in characters: enough to recognise it.
const MAX_COMMAND_CHARS: usize = 80;

/// Words that begin a shell command and are no programs.
const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "[", "{", "(", "alias", "break", "case", "cd", "command", "continue", "echo", "eval", "exec",
    "exit", "export", "false", "for", "if", "printf", "pwd", "read", "return", "set", "shift", "source", "test",
    "time", "times", "trap", "true", "type", "ulimit", "umask", "unset", "until", "wait", "while",
];

/// A command of a run of a plan, and the program that it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededProgram<'a> {
    /// A name that the shell looks for on its search path, or the path of a file of the worktree.
    pub name: &'a str,
    /// The whole command.
    pub command: &'a str,
    /// The plan's line of the command, from 1; zero if it does not stand in the plan.
    pub line: usize,
    /// Whether something fails for certain if the program is not there.
    pub is_vital: bool,
}

impl<'a> NeededProgram<'a> {
    fn of(line: usize, command: &'a str, begins_with: fn(&str) -> Option<&str>) -> Option<Self> {
        Some(Self { name: begins_with(command)?, command, line, is_vital: is_one_chain(command) })
    }

    /// Lets nothing fail for certain unless the command is run for certain.
    fn vital_only_if(self, is_run: bool) -> Self {
        Self { is_vital: self.is_vital && is_run, ..self }
    }

    /// Says that the program is not found, and where not.
    pub fn not_found(&self, place: &str) -> Finding {
        let name = self.name;
        let suggestion = format!("install `{name}`, or correct the command");
        self.finding(format!("the program `{name}` is not found{place}"), suggestion)
    }

    /// Says that the file is not in the commit that the run starts from.
    pub fn not_there_yet(&self) -> Finding {
        let name = self.name;
        let message = format!(
            "the file `{name}` is not in the commit that the run starts from: a task or `.worktreeinclude` has to bring it"
        );
        self.finding(message, "correct the command if none does".to_owned())
    }

    fn finding(&self, message: String, suggestion: String) -> Finding {
        Finding {
            line: self.line,
            column: usize::from(self.line > 0),
            code: FindingCode::ProgramNotFound,
            message,
            text: self.command.chars().take(MAX_COMMAND_CHARS).collect(),
            suggestion: Some(suggestion),
        }
    }
}

/// Finds the programs of the checks that the plan and the settings name: that of the run, and those of open tasks.
///
/// What a task of a role that `reports` hands over is no work to be checked.
pub fn programs_of_checks<'a>(
    plan: &'a Plan,
    settings: &'a RunSettings,
    reports: &dyn Fn(&str) -> bool,
) -> Vec<NeededProgram<'a>> {
    checks(plan, settings, reports, first_program)
}

/// Finds the checks that begin with a file of the worktree, such as `./check.sh`; nothing fails for certain without it,
/// since a task may make it.
pub fn files_of_checks<'a>(plan: &'a Plan, settings: &'a RunSettings) -> Vec<NeededProgram<'a>> {
    checks(plan, settings, &|_| false, first_file)
}

fn checks<'a>(
    plan: &'a Plan,
    settings: &'a RunSettings,
    reports: &dyn Fn(&str) -> bool,
    begins_with: fn(&str) -> Option<&str>,
) -> Vec<NeededProgram<'a>> {
    let of = |line, command| NeededProgram::of(line, command, begins_with);
    let started = started(&plan.tasks);
    let is_checked = |task: &Task| {
        let role = match &task.work {
            Work::Agent(role) => Some(role.as_deref().unwrap_or(&settings.agent)),
            Work::Run(_) => None,
        };
        started.contains(&task.id) && !role.is_some_and(reports)
    };
    let open = || plan.tasks.iter().filter(|task| task.status.runs());
    let of_tasks = open().filter_map(|task| {
        let needed = of(task.line, task.verify.as_deref()?)?;
        Some(needed.vital_only_if(is_checked(task)))
    });
    // A check that stands elsewhere has no line here, and is never made where nothing is merged.
    let line = plan.front_matter.lines.get("verify").filter(|_| plan.front_matter.verify == settings.verify);
    let is_made = settings.merge != MergeMode::None && open().any(is_checked);
    let of_run = settings.verify.as_deref();
    let of_run = of_run.and_then(|command| of(line.copied().unwrap_or_default(), command));
    of_run.map(|needed| needed.vital_only_if(is_made)).into_iter().chain(of_tasks).collect()
}

/// Gives the tasks that start if nothing fails; none of tasks that have no order.
fn started(tasks: &[Task]) -> HashSet<TaskId> {
    Schedule::new(tasks).map(|schedule| schedule.waves().into_iter().flatten().collect()).unwrap_or_default()
}

/// Finds the programs of the tasks that are commands themselves.
pub(super) fn programs_of_commands(plan: &Plan) -> impl Iterator<Item = NeededProgram<'_>> {
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    open.filter_map(|task| match &task.work {
        Work::Run(command) => NeededProgram::of(task.line, command, first_program),
        Work::Agent(_) => None,
    })
}

/// Gives the program that a shell command begins with, if it is one to be found on the search path.
fn first_program(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    let word = words.find(|word| !is_plain_assignment(word))?.trim_end_matches(';');
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'));
    // `name () { … }` makes a function.
    let is_defined = words.next().is_some_and(|next| next.starts_with('('));
    (is_plain && !is_defined && !SHELL_WORDS.contains(&word)).then_some(word)
}

/// Gives the file of the worktree that a shell command begins with, if it is one.
fn first_file(command: &str) -> Option<&str> {
    let word = command.split_whitespace().find(|word| !is_plain_assignment(word))?.trim_end_matches(';');
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "-_.+/".contains(c));
    let is_inside = word.contains('/') && !word.starts_with('/') && !word.split('/').any(|part| part == "..");
    (is_plain && is_inside).then_some(word)
}

/// Tells whether a word sets a variable to a text that ends with the word, and by which no other program is found.
fn is_plain_assignment(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_text = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "-_.+/,:=@%".contains(c));
    word.split_once('=').is_some_and(|(name, text)| is_name(name) && name != "PATH" && is_text(text))
}

/// Tells whether a command fails as soon as the first one in it does: nothing follows it but what `&&` lets follow.
fn is_one_chain(command: &str) -> bool {
    !command.trim().replace("&&", "").replace(">&", "").contains(['|', ';', '&', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_first_word_is_a_program_and_only_a_chain_needs_it() {
        let table = [
            ("cargo test", Some(("cargo", true))),
            ("  A=1 B_2=x/y:z cargo test", Some(("cargo", true))),
            ("CI= g++-12 a.cc -o a 2>&1 && ./a", Some(("g++-12", true))),
            ("cargo\ttest || make test", Some(("cargo", false))),
            ("cargo test; true", Some(("cargo", false))),
            ("cargo; true", Some(("cargo", false))),
            ("cargo test | tail", Some(("cargo", false))),
            ("server & sleep 1 && probe", Some(("server", false))),
            ("lint\nbuild", Some(("lint", false))),
            ("", None),
            ("./check.sh", None),
            ("bin/check", None),
            ("~/check", None),
            ("$CHECK all", None),
            ("\"cargo\" test", None),
            ("# nothing\ntest", None),
            ("(cargo test)", None),
            ("{ cargo test; }", None),
            ("! cargo test", None),
            ("test -e made", None),
            ("x=$(cat answer.txt || echo nothing); test $x = 42", None),
            ("A='a b' cargo test", None),
            ("A=1; cargo test", None),
            ("PATH=tools:/usr/bin check", None),
            ("check () { true; }; check", None),
            ("check() { true; }; check", None),
        ];
        for (command, expected) in table {
            let found = NeededProgram::of(1, command, first_program).map(|needed| (needed.name, needed.is_vital));
            assert_eq!(found, expected, "{command:?}");
        }
    }

    #[test]
    fn only_a_plain_relative_path_is_a_file_of_the_worktree() {
        let table = [
            ("./check.sh all", Some("./check.sh")),
            ("A=1 tools/check; true", Some("tools/check")),
            ("check.sh", None),
            ("/bin/check", None),
            ("~/check", None),
            ("../check", None),
            ("$HERE/check", None),
            ("cd src && ./check", None),
        ];
        for (command, expected) in table {
            assert_eq!(first_file(command), expected, "{command:?}");
        }
    }
}
