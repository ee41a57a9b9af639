//! Extracts the program or file that each command of a plan begins with, as far as its text shows
//! it.
//!
//! A command whose first word could be anything else is left out. The caller checks whether the
//! program or the file exists. The policy's lexer (`crates/core/src/policy/decision/lexer.rs`) errs
//! on the other side: it finds everything that a line might run, which is no basis for a warning.

use std::collections::HashSet;

use crate::finding::{Finding, FindingCode};
use crate::parse::Plan;
use orchestrate_core::event::settings::{MergeMode, RunSettings};
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::schedule::Schedule;
use orchestrate_core::task::{Task, Work};

/// The maximum number of a command's characters in a finding: enough to recognise it.
const MAX_COMMAND_CHARS: usize = 80;

/// Words that begin a shell command and are not programs.
const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "[", "{", "(", "alias", "break", "case", "cd", "command", "continue", "echo",
    "eval", "exec", "exit", "export", "false", "for", "if", "printf", "pwd", "read", "return",
    "set", "shift", "source", "test", "time", "times", "trap", "true", "type", "ulimit", "umask",
    "unset", "until", "wait", "while",
];

/// The first word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWord<'a> {
    /// A name that the shell looks up on its search path.
    Program(&'a str),
    /// The path of a file of the worktree, such as `./check.sh`.
    File(&'a str),
}

/// A command in a plan or its settings that begins with a program or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCommand<'a> {
    /// Its first word.
    pub first: FirstWord<'a>,
    /// The whole command.
    pub text: &'a str,
    /// The line of the command in the plan, from 1, or `None` if it is not from the plan.
    pub line: Option<usize>,
    /// Whether the run certainly executes it, and it certainly fails if its program or file is
    /// missing.
    pub is_vital: bool,
}

impl<'a> PlannedCommand<'a> {
    fn read(line: Option<usize>, text: &'a str) -> Option<Self> {
        Some(Self {
            first: FirstWord::parse(text)?,
            text,
            line,
            is_vital: is_one_chain(text),
        })
    }

    /// Clears `is_vital` unless the command is certain to be executed.
    fn vital_only_if(self, is_run: bool) -> Self {
        Self {
            is_vital: self.is_vital && is_run,
            ..self
        }
    }

    /// Returns the program that it begins with, if any.
    pub fn program(&self) -> Option<&'a str> {
        match self.first {
            FirstWord::Program(name) => Some(name),
            FirstWord::File(_) => None,
        }
    }

    /// Returns the finding that its program or file is missing. Confined commands do not see all
    /// programs of the user.
    pub fn missing(&self, confined: bool) -> Finding {
        let (message, suggestion) = match self.first {
            FirstWord::Program(name) if confined => (
                format!(
                    "the program `{name}` is not available to sandboxed commands, which see the programs of the system \
                     and of your PATH, but none of a repository"
                ),
                format!("install `{name}` outside of repositories, or correct the command"),
            ),
            FirstWord::Program(name) => (
                format!("the program `{name}` is not found"),
                format!("install `{name}`, or correct the command"),
            ),
            FirstWord::File(path) => (
                format!(
                    "the file `{path}` is not in the commit that the run starts from: a task or `.worktreeinclude` has \
                    to provide it"
                ),
                "correct the command if neither does".to_owned(),
            ),
        };
        self.not_found(message, suggestion)
    }

    /// Returns the finding that its file lies in the user's checkout, where git ignores it, and so
    /// in no worktree.
    pub fn only_in_checkout(&self, path: &str) -> Finding {
        let path = path.trim_start_matches("./");
        let top = path
            .split_once('/')
            .map_or_else(|| path.to_owned(), |(top, _)| format!("{top}/"));
        let message = format!(
            "the file `{path}` lies in your checkout but is not committed, so no worktree has it"
        );
        let suggestion =
            format!("add `{top}` to .worktreeinclude, or let `[worktree] setup` make it");
        self.not_found(message, suggestion)
    }

    /// Returns the finding that a program which it starts lies in an ignored folder of the user's
    /// checkout, and so in no worktree.
    pub fn only_in_folder(&self, program: &str, folder: &str) -> Finding {
        let message = format!(
            "the program `{program}` lies in `{folder}` of your checkout, which no worktree has"
        );
        let suggestion =
            format!("add `{folder}/` to .worktreeinclude, or let `[worktree] setup` install it");
        self.not_found(message, suggestion)
    }

    fn not_found(&self, message: String, suggestion: String) -> Finding {
        Finding {
            line: self.line.unwrap_or_default(),
            column: usize::from(self.line.is_some()),
            code: FindingCode::ProgramNotFound,
            message,
            text: self.text.chars().take(MAX_COMMAND_CHARS).collect(),
            suggestion: Some(suggestion),
        }
    }
}

/// Returns the checks in the plan and the settings: that of the run, and those of open tasks.
///
/// A task whose role satisfies `reports` delivers a report, which is not checked.
pub fn commands_of_checks<'a>(
    plan: &'a Plan,
    settings: &'a RunSettings,
    reports: &dyn Fn(&str) -> bool,
) -> Vec<PlannedCommand<'a>> {
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
        let check = PlannedCommand::read(Some(task.line), task.verify.as_deref()?)?;
        Some(check.vital_only_if(is_checked(task)))
    });
    // A check from elsewhere has no line in the plan, and no check of the run is made if nothing is
    // merged.
    let line = plan
        .front_matter
        .lines
        .get("verify")
        .filter(|_| plan.front_matter.verify == settings.verify);
    let is_made = settings.merge != MergeMode::None && open().any(is_checked);
    let of_run = settings.verify.as_deref();
    let of_run = of_run.and_then(|command| PlannedCommand::read(line.copied(), command));
    of_run
        .map(|check| check.vital_only_if(is_made))
        .into_iter()
        .chain(of_tasks)
        .collect()
}

/// Returns the tasks that start if nothing fails; empty if the tasks have no order.
fn started(tasks: &[Task]) -> HashSet<TaskId> {
    Schedule::new(tasks)
        .map(|schedule| schedule.waves().into_iter().flatten().collect())
        .unwrap_or_default()
}

/// Returns the commands of open tasks that are commands themselves.
pub(crate) fn commands_of_tasks(plan: &Plan) -> impl Iterator<Item = PlannedCommand<'_>> {
    let open = plan.tasks.iter().filter(|task| task.status.runs());
    open.filter_map(|task| match &task.work {
        Work::Run(command) => PlannedCommand::read(Some(task.line), command),
        Work::Agent(_) => None,
    })
}

impl<'a> FirstWord<'a> {
    /// Parses the first word of a shell command; `None` if it could be anything else.
    pub fn parse(command: &'a str) -> Option<Self> {
        let mut words = command.split_whitespace();
        let word = words.find(|word| !is_plain_assignment(word))?;
        let word = word.trim_end_matches(';');
        if word.is_empty() || !has_only(word, "-_.+/") || SHELL_WORDS.contains(&word) {
            return None;
        }
        if word.contains('/') {
            let is_inside = !word.starts_with('/') && word.split('/').all(|part| part != "..");
            return is_inside.then_some(Self::File(word));
        }
        // `name () { … }` defines a function.
        let is_defined = words.next().is_some_and(|next| next.starts_with('('));
        (!is_defined).then_some(Self::Program(word))
    }
}

/// Reports whether a word assigns plain text to a variable other than `PATH`, which would change
/// where programs are found.
fn is_plain_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, text)| {
        let is_name = !name.is_empty() && has_only(name, "_");
        is_name && name != "PATH" && has_only(text, "-_.+/,:=@%")
    })
}

/// Reports whether a text has letters, digits and these marks only.
fn has_only(text: &str, marks: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || marks.contains(c))
}

/// Reports whether a command fails as soon as its first part does: its parts are joined by `&&`
/// only.
fn is_one_chain(command: &str) -> bool {
    !command
        .trim()
        .replace("&&", "")
        .replace(">&", "")
        .contains(['|', ';', '&', '\n'])
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
            let found = PlannedCommand::read(Some(1), command)
                .and_then(|read| Some((read.program()?, read.is_vital)));
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
            let found =
                FirstWord::parse(command).filter(|first| matches!(first, FirstWord::File(_)));
            assert_eq!(found, expected.map(FirstWord::File), "{command:?}");
        }
    }
}
