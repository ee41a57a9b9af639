//! The file of a plan that a run makes: chosen before the run, written when the plan is there, and
//! never over another file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind as IoErrorKind, Write as _};
use std::path::{Path, PathBuf};

use orchestrate_core::{RunState, TaskId};
use orchestrate_journal::Store;
use orchestrate_plan::{LineRole, Rewritten, Skipped};

use crate::context::Context;
use crate::error::{CommandError, ErrorKind};
use crate::show::{columns, output, plain};

/// Stands for standard output in place of a file.
pub(crate) const STANDARD_OUTPUT: &str = "-";
/// The columns of a line of a document beside what became of it.
const SOURCE_COLUMNS: usize = 48;
/// The columns of the title of a task beside a line.
const TITLE_COLUMNS: usize = 60;
/// Stands beside each further line of which the same became.
const SAME: &str = "\"";
/// Said of a plan whose account of the document another version of this program has taken.
const UNKNOWN: &str = "what became of the lines of the document cannot be shown";
/// How many names are tried if there are such files already.
const MAX_NAMES: usize = 1_000;

/// Returns the absolute path of the file for the plan, which must not exist; or what stands for
/// standard output if the user names none.
pub(crate) fn choose(context: &Context, named: Option<&Path>) -> Result<String, CommandError> {
    let Some(named) = named else {
        return Ok(STANDARD_OUTPUT.to_owned());
    };
    let path = context.directory.join(named);
    let shown = named.display();
    if exists(&path) {
        let error = CommandError::usage(format!(
            "{shown} exists already, and a plan never replaces a file"
        ));
        return Err(error.hint("name a file that does not exist yet"));
    }
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(CommandError::usage(format!(
            "the folder of {shown} does not exist"
        )));
    }
    path.into_os_string().into_string().map_err(|path| {
        CommandError::usage(format!(
            "the path of the plan is not valid UTF-8: {}",
            path.to_string_lossy()
        ))
    })
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A plan that a run has made.
pub(crate) struct Made {
    pub(crate) rewritten: Rewritten,
    /// The answer that it is a part of, with the account of the document's lines.
    pub(crate) answer: String,
    /// The text that was rewritten; `None` for a typed goal.
    document: Option<String>,
    /// The file that it was written to; `None` for standard output.
    pub(crate) file: Option<PathBuf>,
}

/// Returns the plan that a run has made, if it was asked to make one and has, and writes it to the
/// file that was asked for, or to the next with a number if that exists by now.
pub(crate) fn write_due(state: &RunState, store: &Store) -> Result<Option<Made>, CommandError> {
    let Some((path, answer)) = state.made_plan() else {
        return Ok(None);
    };
    let document = match &state.plan_source {
        Some(source) => Some(String::from_utf8_lossy(&store.blob(source)?).into_owned()),
        None => None,
    };
    let rewritten = Rewritten::from_answer(answer, document.as_deref());
    let file = match path {
        STANDARD_OUTPUT => None,
        path => Some(write(state, Path::new(path), &rewritten.plan)?),
    };
    Ok(Some(Made {
        rewritten,
        answer: answer.to_owned(),
        document,
        file,
    }))
}

/// Writes a plan to a file, and returns its path.
fn write(state: &RunState, named: &Path, plan: &str) -> Result<PathBuf, CommandError> {
    for path in names(named) {
        match create(&path, plan) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {
                // An earlier process may have written it, and may have been killed before it said
                // so.
                if fs::read(&path).is_ok_and(|written| written == plan.as_bytes()) {
                    return Ok(path);
                }
            }
            Err(error) => return Err(not_written(state, &path, &error.to_string())),
        }
    }
    let why = "there are too many files of this name";
    Err(not_written(state, named, why))
}

impl Made {
    /// Returns the lines of the document that look like work and are not run.
    pub(crate) fn not_run(&self) -> Vec<Skipped> {
        match &self.document {
            Some(document) => self.rewritten.not_run(document),
            None => Vec::new(),
        }
    }

    /// Shows the lines of the document beside what became of them, and says which ones look like
    /// work and are not run; empty for a typed goal.
    pub(crate) fn comparison(&self) -> String {
        if self.document.is_some() && self.rewritten.citations.is_empty() {
            return UNKNOWN.to_owned();
        }
        let lines: Vec<&str> = self.document.iter().flat_map(|text| text.lines()).collect();
        let mut titles: BTreeMap<TaskId, String> = BTreeMap::new();
        for task in self.rewritten.tasks() {
            titles.insert(task.id, plain::one_line(&task.title, TITLE_COLUMNS));
        }
        let mut shown = String::new();
        for citation in &self.rewritten.citations {
            let cited = lines.get(citation.from - 1..citation.to).unwrap_or(&[]);
            let mut becomes = named(&citation.role, &titles);
            for (number, line) in (citation.from..).zip(cited) {
                let line = output::plain(line.trim_end());
                let (start, _) = columns::split(&line, SOURCE_COLUMNS);
                let left = columns::padded(start, SOURCE_COLUMNS);
                let _ = writeln!(shown, "{number:>5}  {left}  | {becomes}");
                SAME.clone_into(&mut becomes);
            }
        }
        if let Some(said) = orchestrate_plan::not_run_of_document(&self.not_run()) {
            shown.push_str(&said);
        }
        shown
    }
}

/// Names what became of some lines: the tasks with their titles.
fn named(role: &LineRole, titles: &BTreeMap<TaskId, String>) -> String {
    let LineRole::Task { tasks } = role else {
        return role.to_string();
    };
    let mut names = Vec::new();
    for id in tasks {
        let title = titles.get(id).map_or("", String::as_str);
        names.push(format!("{id} {title}").trim_end().to_owned());
    }
    names.join(", ")
}

fn not_written(state: &RunState, path: &Path, why: &str) -> CommandError {
    CommandError::new(
        ErrorKind::Failed,
        format!("failed to write the plan to {}: {why}", path.display()),
    )
    .hint(format!(
        "the plan is kept: `orchestrate status {}` shows it",
        state.run_id
    ))
}

/// Creates a file with a text; a file that cannot be written as a whole is removed again.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .inspect_err(|_| drop(fs::remove_file(path)))
}

/// Returns a path, and others like it with numbers.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let path = path.to_owned();
    (1..=MAX_NAMES).map(move |number| numbered(&path, number))
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or_else(String::new, |extension| {
        format!(".{}", extension.to_string_lossy())
    });
    if number == 1 {
        path.to_owned()
    } else {
        path.with_file_name(format!("{stem}-{number}{extension}"))
    }
}
