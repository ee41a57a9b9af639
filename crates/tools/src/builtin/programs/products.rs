//! What programs make for themselves in a project: it never becomes part of an agent's work.

use std::time::Duration;

use orchestrate_sandbox::Cancel;

use crate::answer::ToolError;
use crate::files::path::{join, split};
use crate::files::{EntryKind, Expect, Files, Flow, WalkLimits};
use crate::tool::ToolContext;

/// Maximum time to look for the parts of a project.
const LISTING_TIME: Duration = Duration::from_secs(10);

/// The ignore file of a folder of which git stores nothing, itself included.
pub(super) const IGNORE_ALL: &[u8] = b"*\n";

/// What a program makes for itself, relative to the project's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Products {
    /// Folders, such as that of a build, which the next run uses again.
    pub(super) folders: &'static [&'static str],
    /// Files that mark a folder as a part of the project, which has such folders of its own.
    pub(super) marks: &'static [&'static str],
    /// Files.
    pub(super) files: &'static [&'static str],
}

/// What cargo makes, whatever it does.
pub(super) const CARGO: Products = Products {
    folders: &["target"],
    marks: &[],
    files: &["Cargo.lock"],
};

impl Products {
    /// Makes git ignore the folders that do not exist yet, and returns the files that do not.
    ///
    /// # Errors
    /// `File` if a folder cannot be made.
    pub(super) async fn prepare(
        self,
        context: &ToolContext,
    ) -> Result<Vec<&'static str>, ToolError> {
        let prepare = move |files: &Files, cancel: &Cancel| {
            for part in self.parts(files, cancel)? {
                self.folders
                    .iter()
                    .try_for_each(|folder| hide(files, &join(&part, folder)))?;
            }
            let is_absent = |path: &&str| matches!(files.metadata(path), Err(ToolError::Retry(_)));
            Ok(self.files.iter().copied().filter(is_absent).collect())
        };
        context.blocking(prepare).await
    }

    /// Returns the root and the folders of the other parts of the project.
    fn parts(self, files: &Files, cancel: &Cancel) -> Result<Vec<String>, ToolError> {
        let mut parts = vec![String::new()];
        if self.marks.is_empty() {
            return Ok(parts);
        }
        let limits = WalkLimits::within(LISTING_TIME, cancel);
        let walked = files.walk("", &limits, &mut |entry| {
            let (part, name) = split(&entry.path);
            if entry.kind == EntryKind::File && !part.is_empty() && self.marks.contains(&name) {
                parts.push(part.to_owned());
            }
            Ok(Flow::Continue)
        });
        match walked {
            // What was not found may stay in the work, which is no reason to run no tests.
            Ok(_) | Err(ToolError::TooBroad(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(parts)
    }
}

/// Makes a folder of which git stores nothing. One that exists belongs to the project or to the
/// agent.
fn hide(files: &Files, folder: &str) -> Result<(), ToolError> {
    if !matches!(files.metadata(folder), Err(ToolError::Retry(_))) {
        return Ok(());
    }
    match files.write(&join(folder, ".gitignore"), IGNORE_ALL, Expect::Nothing) {
        // What the agent's tools may not write there, the program may.
        Ok(_) | Err(ToolError::Denied { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes files that were absent before a program ran, unless git ignores them.
///
/// # Errors
/// `File` if one cannot be deleted, `Execution` if the project's ignore rules cannot be read.
pub(super) async fn remove(
    context: &ToolContext,
    absent: Vec<&'static str>,
) -> Result<(), ToolError> {
    for path in absent {
        if context
            .blocking(move |files, _| Ok(files.metadata(path).is_ok()))
            .await?
            && !context.services().git.ignores(path).await?
        {
            context.blocking(move |files, _| files.delete(path)).await?;
        }
    }
    Ok(())
}
