//! The files that a call names: all that there are by default.

use std::path::Path;

use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::read;
use super::candidate::Candidate;
use super::project::Project;
use crate::context::blocking;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::files::Files;
use crate::path;
use crate::scope::CallScope;

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
    ($candidates:path) => {
        fn normalize(
            &self,
            arguments: &mut Value,
            worktree: &std::path::Path,
        ) -> Result<(), ToolError> {
            Selection::normalize(arguments, worktree)
        }

        fn effects(&self, arguments: &Value) -> Vec<$crate::effect::Effect> {
            Selection::effects(arguments)
        }

        fn programs(
            &self,
            arguments: &Value,
            project: &$crate::files::Files,
        ) -> Result<$crate::tool::Programs, ToolError> {
            let selection = Selection::from_value(arguments)?;
            let project = Project::look_for(
                project,
                &orchestrate_sandbox::Cancel::default(),
                &selection.files,
            )?;
            let candidates = $candidates(&project, &selection.files);
            Ok($crate::builtin::programs::candidate::first_of(&candidates))
        }
    };
}

pub(super) use selects_files;

impl Selection {
    /// Rewrites the paths of a call as the executor does for one path.
    pub(super) fn normalize(arguments: &mut Value, worktree: &Path) -> Result<(), ToolError> {
        for file in arguments
            .get_mut("files")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(text) = file.as_str() {
                *file = Value::String(path::normalize(text, worktree)?);
            }
        }
        Ok(())
    }

    /// Returns the paths of a call, for the policy.
    pub(super) fn effects(arguments: &Value) -> Vec<Effect> {
        let files = arguments
            .get("files")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        files
            .filter_map(Value::as_str)
            .map(|path| Effect::on(Target::Path(path.to_owned())))
            .collect()
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

    /// Looks whether there is a program of this kind for the files of a call, before the user is
    /// asked about it.
    ///
    /// # Errors
    /// As [`Selection::candidates`].
    pub(super) async fn rehearse<R: 'static>(
        scope: &CallScope,
        project: &Files,
        arguments: &Value,
        kind: &'static Kind<R>,
    ) -> Result<(), ToolError> {
        let selection = Selection::from_value(arguments)?;
        blocking(project, &scope.cancel, move |files, cancel| {
            selection.candidates(files, cancel, kind).map(drop)
        })
        .await
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
            "found no {kind} for {what}: known are those of Rust, Go, Python and JavaScript or TypeScript; run another \
            one with run_shell_command"
        ))
    }
}
