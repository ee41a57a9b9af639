//! The files that a call names: all that there are by default.

use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::Value;

use super::candidate::{Candidate, first_of};
use super::project::Project;
use crate::answer::ToolError;
use crate::call::Effect;
use crate::files::Files;
use crate::tool::arguments::read;
use crate::tool::{CallSite, Prepared, Programs};

/// Files and folders relative to the worktree; none for the whole project.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Selection {
    #[serde(default)]
    pub(super) files: Vec<String>,
}

/// Returns the programs of one kind for these files of a project, preferred ones first.
type Find<R> = fn(&Project, &[String]) -> Vec<Candidate<R>>;

/// A kind of programs of which the first that is there is run.
pub(super) struct Kind<R: 'static> {
    /// Its name, for messages.
    pub(super) name: &'static str,
    /// Finds those for some files.
    pub(super) find: Find<R>,
}

/// Implements what tools have in common that run the first of these candidates on the files of a
/// [`Selection`].
macro_rules! selects_files {
    ($kind:expr) => {
        fn prepare(
            &self,
            site: &$crate::tool::CallSite,
            arguments: Value,
        ) -> Result<$crate::tool::Prepared, ToolError> {
            let rehearsal = $crate::tool::Look::at_files(|files, scope, arguments: Value| {
                let selection = Selection::from_value(&arguments)?;
                selection.candidates(files, &scope.cancel, $kind).map(drop)
            });
            Ok($crate::tool::Prepared {
                programs: Some(|arguments, files| {
                    Selection::from_value(arguments)?.programs(files, $kind)
                }),
                ..Selection::prepare(site, arguments)?
            }
            .rehearsed(rehearsal))
        }
    };
}

pub(super) use selects_files;

impl Selection {
    /// Returns a call that affects the files that it names.
    ///
    /// # Errors
    /// As [`Prepared::on_paths`].
    pub(super) fn prepare(site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Prepared::on_listed_paths("files", named, site, arguments)
    }

    /// Reads the arguments, without looking at the files. The root of the worktree stands for the
    /// whole project.
    ///
    /// # Errors
    /// `Retry` if the arguments are others.
    pub(super) fn from_value(arguments: &Value) -> Result<Selection, ToolError> {
        let mut selection: Selection = read(arguments.clone())?;
        if selection.files.iter().any(String::is_empty) {
            selection.files.clear();
        }
        Ok(selection)
    }

    /// Returns the programs of this kind as the rules about programs judge them.
    ///
    /// # Errors
    /// As those of looking at the project's files.
    pub(super) fn programs<R: 'static>(
        &self,
        files: &Files,
        kind: &Kind<R>,
    ) -> Result<Programs, ToolError> {
        let project = Project::look_for(files, &Cancel::default(), &self.files)?;
        Ok(first_of(&(kind.find)(&project, &self.files)))
    }

    /// Returns the programs of this kind that may be run on the files, which have to be there.
    ///
    /// # Errors
    /// `Retry` for a file that does not exist, or without any program; `Denied` for a file outside
    /// the worktree.
    pub(super) fn candidates<R: 'static>(
        &self,
        files: &Files,
        cancel: &Cancel,
        kind: &Kind<R>,
    ) -> Result<Vec<Candidate<R>>, ToolError> {
        self.files
            .iter()
            .try_for_each(|file| match files.is_link(file)? {
                // What a link leads to is opened by the program, so it has to be in the worktree.
                true => files.open(file).map(drop),
                false => files.metadata(file).map(drop),
            })?;
        let candidates = (kind.find)(&Project::look_for(files, cancel, &self.files)?, &self.files);
        if candidates.is_empty() {
            Err(self.nothing_for(kind.name))
        } else {
            Ok(candidates)
        }
    }

    /// Reports whether a finding in this file was asked for.
    pub(super) fn covers(&self, file: &str) -> bool {
        let is_below = |folder: &String| {
            file.strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        self.files.is_empty()
            || self
                .files
                .iter()
                .any(|named| named == file || is_below(named))
    }

    /// Creates the error for a project without such a program.
    fn nothing_for(&self, kind: &str) -> ToolError {
        let what = match self.files.as_slice() {
            [] => "this project".to_owned(),
            [file] => shown(file),
            [file, ..] => format!("{} and the others together", shown(file)),
        };
        ToolError::Retry(format!(
            "found no {kind} for {what}: known are those of Rust, Go, Python and JavaScript or \
             TypeScript; run another one with run_shell_command"
        ))
    }
}

fn named(path: String) -> Effect {
    Effect::on(Target::Path(path))
}
