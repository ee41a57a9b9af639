//! The files that a call names: all that there are by default.

use std::path::Path;

use orchestrate_core::invisible::shown;
use orchestrate_core::policy::Target;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::read;
use crate::context::ToolContext;
use crate::effect::Effect;
use crate::error::ToolError;
use crate::path;

/// Files and folders relative to the worktree; none for the whole project.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Selection {
    #[serde(default)]
    pub(super) files: Vec<String>,
}

/// Implements what tools have in common that run the first of these candidates on the files of a [`Selection`].
macro_rules! selects_files {
    ($candidates:path) => {
        fn is_default(&self) -> bool {
            false
        }

        fn normalize(&self, arguments: &mut Value, worktree: &std::path::Path) -> Result<(), ToolError> {
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
            let project = Project::look(project, &orchestrate_sandbox::Cancel::default())?;
            let candidates = $candidates(&project, &Selection::of(arguments)?.files);
            Ok($crate::builtin::programs::candidate::first_of(&candidates))
        }
    };
}

pub(super) use selects_files;

impl Selection {
    /// Rewrites the paths of a call as the executor does for one path.
    pub(super) fn normalize(arguments: &mut Value, worktree: &Path) -> Result<(), ToolError> {
        for file in arguments.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(text) = file.as_str() {
                *file = Value::String(path::normalize(text, worktree)?);
            }
        }
        Ok(())
    }

    /// Returns the paths of a call, for the policy.
    pub(super) fn effects(arguments: &Value) -> Vec<Effect> {
        let files = arguments.get("files").and_then(Value::as_array).into_iter().flatten();
        files.filter_map(Value::as_str).map(|path| Effect::on(Target::Path(path.to_owned()))).collect()
    }

    /// Reads the arguments, without looking at the files. The root of the worktree stands for the whole project.
    ///
    /// # Errors
    /// `Retry` if the arguments are others.
    pub(super) fn of(arguments: &Value) -> Result<Selection, ToolError> {
        let mut selection: Selection = read(arguments.clone())?;
        if selection.files.iter().any(String::is_empty) {
            selection.files.clear();
        }
        Ok(selection)
    }

    /// Reads the arguments, and requires that the files are there.
    ///
    /// # Errors
    /// `Retry` for a file that does not exist, `Denied` for one outside the worktree.
    pub(super) async fn read(context: &ToolContext, arguments: Value) -> Result<Selection, ToolError> {
        let selection = Selection::of(&arguments)?;
        let files = selection.files.clone();
        context
            .blocking(move |opened, _| {
                files.iter().try_for_each(|file| match opened.is_link(file)? {
                    // What a link leads to is opened by the program, so it has to be in the worktree.
                    true => opened.open(file).map(drop),
                    false => opened.metadata(file).map(drop),
                })
            })
            .await?;
        Ok(selection)
    }

    /// Reports whether a finding in this file was asked for.
    pub(super) fn covers(&self, file: &str) -> bool {
        let is_below = |folder: &String| file.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.files.is_empty() || self.files.iter().any(|named| named == file || is_below(named))
    }

    /// Creates the error for a project without such a program.
    pub(super) fn nothing_for(&self, kind: &str) -> ToolError {
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
