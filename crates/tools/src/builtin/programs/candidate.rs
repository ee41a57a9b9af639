//! Programs that a project may use: which of them are installed, and how they are run.

use std::time::Duration;

use orchestrate_core::shell_word;
use orchestrate_sandbox::{Exit, Finished, SandboxError};

use super::super::exec::both;
use super::products::{self, Products};
use crate::answer::{ProgramRun, ToolError};
use crate::call::Command;
use crate::tool::{ProgramChoice, Programs, StartError, ToolContext};

/// Maximum number of bytes of each output stream to keep: reports are read as a whole.
const KEPT_REPORT_BYTES: usize = 16 << 20;
/// Maximum time for a program to tell its version; some interpreters need seconds for their first
/// start.
const VERSION_TIME: Duration = Duration::from_secs(60);
/// Maximum number of characters of a version to show.
const VERSION_CHARS: usize = 60;
/// Number of bytes of the end of an output to show where nothing else is known.
const TAIL_BYTES: usize = 8_000;
/// Variables of every program beside those of commands: Python keeps no compiled modules beside the
/// sources.
const VARIABLES: &[(&str, &str)] = &[("PYTHONDONTWRITEBYTECODE", "1")];

/// A program that may be used, with the format of its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate<R> {
    /// Its usual name.
    pub(super) program: &'static str,
    /// Commands to run before it, such as a build; if one fails, its failure is the result.
    pub(super) before: Vec<Vec<String>>,
    /// The command.
    pub(super) argv: Vec<String>,
    /// The command that prints its version, and fails if it is not installed.
    pub(super) version: Vec<String>,
    /// What to install, and how.
    pub(super) install: &'static str,
    /// Variables that it needs.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// What it makes for itself in the project.
    pub(super) products: Products,
    /// Where its report is, and how to read it.
    pub(super) report: R,
}

impl<R> Candidate<R> {
    /// Creates a candidate whose first word prints its version.
    pub(super) fn new(
        program: &'static str,
        argv: Vec<String>,
        install: &'static str,
        report: R,
    ) -> Candidate<R> {
        let version = argv
            .first()
            .cloned()
            .into_iter()
            .chain(["--version".to_owned()])
            .collect();
        let products = Products::default();
        Candidate {
            program,
            before: Vec::new(),
            argv,
            version,
            install,
            variables: &[],
            products,
            report,
        }
    }

    /// Sets the variables that it needs.
    pub(super) fn setting(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        Candidate { variables, ..self }
    }

    /// Sets what it makes for itself.
    pub(super) fn making(self, products: Products) -> Candidate<R> {
        Candidate { products, ..self }
    }

    /// Sets the command that prints the version.
    pub(super) fn versioned(self, version: &[&str]) -> Candidate<R> {
        Candidate {
            version: words(version),
            ..self
        }
    }
}

/// Returns the candidates as the rules about programs judge them: first what each runs, then how
/// its version is asked.
pub(super) fn first_of<R>(candidates: &[Candidate<R>]) -> Programs {
    let commands = |candidate: &Candidate<R>| {
        candidate
            .before
            .iter()
            .chain([&candidate.argv, &candidate.version])
            .cloned()
            .collect()
    };
    Programs::FirstOf(
        candidates
            .iter()
            .map(|candidate| ProgramChoice {
                commands: commands(candidate),
            })
            .collect(),
    )
}

/// A candidate that is installed.
#[derive(Clone, Debug)]
pub(super) struct Chosen<R> {
    pub(super) candidate: Candidate<R>,
    version: String,
}

/// What a program did.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub(super) run: ProgramRun,
    /// How it ended, in words.
    pub(super) how: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Makes owned words.
pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Chooses the first candidate that is installed where commands run.
///
/// # Errors
/// `Denied` if a rule is against a candidate, `Absent` if none is installed, with how to install
/// them.
pub(super) async fn choose<R>(
    context: &ToolContext,
    candidates: Vec<Candidate<R>>,
) -> Result<Chosen<R>, ToolError> {
    let mut absent: Vec<&str> = Vec::new();
    for candidate in candidates {
        for argv in candidate.before.iter().chain([&candidate.argv]) {
            context.check_program(argv)?;
        }
        if let Some(version) = version(context, &candidate).await? {
            return Ok(Chosen { candidate, version });
        }
        if !absent.contains(&candidate.install) {
            absent.push(candidate.install);
        }
    }
    let absent = absent.join(", or ");
    Err(ToolError::Absent(format!(
        "nothing that this needs is installed where commands run; install {absent}"
    )))
}

/// Returns the version that a program prints; `None` if it is not installed or does not start.
async fn version<R>(
    context: &ToolContext,
    candidate: &Candidate<R>,
) -> Result<Option<String>, ToolError> {
    let Some(finished) = start(
        context,
        &candidate.version,
        candidate.variables,
        &[],
        VERSION_TIME,
    )
    .await?
    else {
        return Ok(None);
    };
    if finished.exit == Exit::Cancelled {
        return Err(ToolError::Interrupted("the program was killed".to_owned()));
    }
    let said = both(&finished.stdout.text(), &finished.stderr.text());
    Ok(finished.exit.success().then(|| version_in(&said)))
}

/// Returns the first word that looks like a version, else the first line.
fn version_in(said: &str) -> String {
    let first_line = || said.lines().map(str::trim).find(|line| !line.is_empty());
    let word = said
        .split_whitespace()
        .find(is_version)
        .or_else(first_line)
        .unwrap_or_default();
    let word = word.trim_matches(|c: char| matches!(c, ',' | ';' | '"' | '(' | ')'));
    let word = word
        .rsplit('/')
        .next()
        .unwrap_or(word)
        .trim_start_matches("go")
        .trim_start_matches('v');
    word.chars()
        .take_while(|c| !c.is_control())
        .take(VERSION_CHARS)
        .collect()
}

fn is_version(word: &&str) -> bool {
    word.contains('.') && word.chars().any(|c| c.is_ascii_digit())
}

impl<R> Chosen<R> {
    /// Returns the format of its report, or how it is run.
    pub(super) fn format(&self) -> &R {
        &self.candidate.report
    }

    /// Returns the run of a program that has nothing to do.
    pub(super) fn ran_nothing(&self) -> Ran {
        let (program, version) = (self.candidate.program.to_owned(), self.version.clone());
        let command = shell_words(&self.candidate.argv);
        let run = ProgramRun {
            program,
            version,
            command,
            exit_code: Some(0),
            duration_ms: 0,
        };
        Ran {
            run,
            how: "no file".to_owned(),
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// Runs it, after what comes before it; the result is that of the first command that fails,
    /// else the last one. What it makes for itself does not become part of the agent's work.
    ///
    /// # Errors
    /// `Timeout` with the end of its output, `Interrupted` if cancelled, `Execution` if it cannot
    /// be started.
    pub(super) async fn run(&self, context: &ToolContext) -> Result<Ran, ToolError> {
        let absent = self.candidate.products.prepare(context).await?;
        let ran = self.run_all(context).await;
        products::remove(context, absent).await?;
        ran
    }

    async fn run_all(&self, context: &ToolContext) -> Result<Ran, ToolError> {
        for argv in &self.candidate.before {
            let ran = self.run_one(context, argv).await?;
            if ran.run.exit_code != Some(0) {
                return Ok(ran);
            }
        }
        self.run_one(context, &self.candidate.argv).await
    }

    async fn run_one(&self, context: &ToolContext, argv: &[String]) -> Result<Ran, ToolError> {
        let timeout = context.limits().max_command_timeout;
        let finished = start(context, argv, self.candidate.variables, &[], timeout).await?;
        self.ran(argv, &finished.ok_or_else(|| absent(argv))?, timeout)
    }

    /// Returns what a command of this program did.
    ///
    /// # Errors
    /// `Timeout` with the end of its output, `Interrupted` if cancelled.
    pub(super) fn ran(
        &self,
        argv: &[String],
        finished: &Finished,
        timeout: Duration,
    ) -> Result<Ran, ToolError> {
        let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
        match finished.exit {
            Exit::TimedOut => {
                let partial = tail(&both(&stdout, &stderr)).to_owned();
                return Err(ToolError::timeout(timeout.as_secs(), partial));
            }
            Exit::Cancelled => {
                return Err(ToolError::Interrupted("the program was killed".to_owned()));
            }
            _ => {}
        }
        let run = ProgramRun {
            program: self.candidate.program.to_owned(),
            version: self.version.clone(),
            command: shell_words(argv),
            exit_code: match finished.exit {
                Exit::Code(code) => Some(code),
                _ => None,
            },
            duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        };
        Ok(Ran {
            run,
            how: finished.exit.to_string(),
            stdout,
            stderr,
        })
    }
}

impl Ran {
    /// Returns the last line of an answer: what ran, and how it ended.
    pub(super) fn footer(&self) -> String {
        let ProgramRun {
            program,
            version,
            command,
            duration_ms,
            ..
        } = &self.run;
        let tenths = duration_ms / 100;
        format!(
            "[{program} {version}: `{command}`, {}, {}.{} s]",
            self.how,
            tenths / 10,
            tenths % 10
        )
    }

    /// Returns the end of its output.
    pub(super) fn tail(&self) -> String {
        tail(&both(&self.stdout, &self.stderr)).to_owned()
    }
}

fn absent(argv: &[String]) -> ToolError {
    let program = argv.first().map_or("", String::as_str);
    ToolError::Absent(format!("`{program}` is not installed where commands run"))
}

/// Runs one command in the worktree's root with this standard input; `None` if the program does not
/// exist there.
pub(super) async fn start(
    context: &ToolContext,
    argv: &[String],
    variables: &[(&str, &str)],
    stdin: &[u8],
    timeout: Duration,
) -> Result<Option<Finished>, ToolError> {
    let command = Command {
        stdin: stdin.to_vec(),
        ..command(argv, variables, timeout)
    };
    match context.start(command).await {
        Ok(finished) => Ok(Some(finished)),
        Err(StartError::Sandbox(
            SandboxError::ProgramNotFound { .. } | SandboxError::NotExecutable { .. },
        )) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns a command as this runs it, in the worktree's root.
pub(super) fn command(argv: &[String], variables: &[(&str, &str)], timeout: Duration) -> Command {
    Command {
        env: VARIABLES
            .iter()
            .chain(variables)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        timeout: Some(timeout),
        kept_output_bytes: KEPT_REPORT_BYTES,
        ..Command::new(argv)
    }
}

/// Returns the end of a text, from the start of a line.
fn tail(text: &str) -> &str {
    let text = text.trim();
    let start = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    let (_, end) = text.split_at(start);
    if start == 0 {
        end
    } else {
        end.split_once('\n').map_or(end, |(_, lines)| lines)
    }
}

/// Shows a command as words of a shell.
fn shell_words(argv: &[String]) -> String {
    argv.iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        let table = [
            ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", "1.95.0"),
            ("pytest 9.2.0\n", "9.2.0"),
            ("mypy 2.4.1 (compiled: yes)", "2.4.1"),
            (
                "black, 26.10.1 (compiled: yes)\nPython (CPython) 3.11.7",
                "26.10.1",
            ),
            ("v20.20.2", "20.20.2"),
            ("vitest/4.1.12 linux-x64 node-v20.20.2", "4.1.12"),
            ("go version go1.19.8 linux/amd64", "1.19.8"),
            ("GNU Make 4.3", "4.3"),
            (
                "\u{1b}[1mApache Maven 3.8.7\u{1b}[m\nMaven home: /usr/share/maven",
                "3.8.7",
            ),
            ("\n-----\nGradle 8.5\n-----\n", "8.5"),
            ("a snapshot", "a snapshot"),
            ("", ""),
        ];
        for (said, expected) in table {
            assert_eq!(version_in(said), expected, "{said}");
        }
    }

    #[test]
    fn a_command_is_shown_as_a_shell_would_read_it() {
        assert_eq!(
            shell_words(&words(&["go", "test", "-run", "A|B", "it's", ""])),
            r"go test -run 'A|B' 'it'\''s' ''"
        );
    }
}
