//! Marks landed tasks as done in the user's plan file, by their boxes or, in JSON, their statuses,
//! and restores them.
//!
//! The file is written only if it is the plan that the run read, apart from the marks of these
//! tasks; everything else in it stays byte for byte, and it is replaced atomically. The edit stays
//! uncommitted.

use std::path::{Path, PathBuf};

use orchestrate_core::{RunId, RunState, TaskId};
use orchestrate_files::{Links, read_plain, replace_by_way_of};
use orchestrate_journal::Store;
use orchestrate_plan::{KnownNames, MAX_PLAN_BYTES, Rewritten, write_boxes};

use crate::error::LandingError;

/// The result of writing the plan's boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boxes {
    /// The file was written.
    Written(PathBuf),
    /// There was nothing to write: no plan file, no box, or no change.
    Nothing,
    /// The file was left unchanged.
    Left {
        /// The plan's path as typed.
        plan: String,
        /// Why.
        reason: String,
    },
}

/// The boxes to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The boxes of merged tasks are ticked.
    Ticked,
    /// The boxes of these tasks are ticked, and all others are as when the run began.
    Before(Vec<TaskId>),
}

/// Where the boxes of a plan's file are.
enum PlanText {
    /// The file is the plan, read with these names.
    AsIs(KnownNames),
    /// An agent has rewritten the file as the plan, and has said which lines became which tasks.
    Rewritten(Rewritten),
}

impl PlanText {
    /// Returns the text of the file with the boxes of these tasks ticked.
    fn with_boxes(&self, text: &str, tasks: &[TaskId]) -> String {
        match self {
            PlanText::AsIs(known) => write_boxes(text, tasks, known),
            PlanText::Rewritten(rewritten) => rewritten.write_boxes(text, tasks),
        }
    }
}

/// Writes the boxes of a run's plan file; a file below the second folder is left unchanged.
pub(crate) fn write(
    store: &Store,
    state: &RunState,
    folders: &[&Path],
    foreign: Option<&Path>,
    target: Target,
) -> Result<Boxes, LandingError> {
    let (Some(plan), Some(source)) = (&state.plan, &state.plan_source) else {
        return Ok(Boxes::Nothing);
    };
    // What is rewritten as a plan was not carried out.
    if state.settings.plan_file.is_some() {
        return Ok(Boxes::Nothing);
    }
    let Ok(source) = String::from_utf8(store.blob(source)?) else {
        return Ok(Boxes::Nothing);
    };
    let plan_text = match &state.settings.plan_rewritten {
        Some(answer) => {
            let answer = String::from_utf8_lossy(&store.blob(answer)?).into_owned();
            PlanText::Rewritten(Rewritten::from_answer(&answer, Some(&source)))
        }
        None => PlanText::AsIs(KnownNames::of_run(&state.settings)),
    };
    let merged = state.newly_merged();
    // Landed work that was returned later has a ticked box, too.
    let landed = state
        .landings
        .iter()
        .flat_map(|landing| landing.tasks.clone());
    let ours: Vec<TaskId> = merged.iter().cloned().chain(landed).collect();
    let ours_apart = plan_text.with_boxes(&source, &ours);
    let is_landing = target == Target::Ticked;
    let wanted = match target {
        Target::Ticked => plan_text.with_boxes(&source, &merged),
        Target::Before(landed) => plan_text.with_boxes(&source, &landed),
    };
    let left = |reason: &str| Boxes::Left {
        plan: plan.clone(),
        reason: reason.to_owned(),
    };
    let mut found = None;
    for folder in folders {
        // A link stays a link: its target is replaced.
        let Ok(path) = folder.join(plan).canonicalize() else {
            continue;
        };
        let Ok(bytes) = read_plain(&path, Links::Anywhere, MAX_PLAN_BYTES as u64) else {
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if text == wanted {
            let has_no_mark = is_landing && wanted == source && !merged.is_empty();
            return Ok(if has_no_mark {
                left("no landed task has a box or a status in it")
            } else {
                Boxes::Nothing
            });
        }
        if plan_text.with_boxes(&text, &ours) == ours_apart {
            if foreign.is_some_and(|foreign| path.starts_with(foreign)) {
                return Ok(left("the branch that landed is not checked out here"));
            }
            // The branch has moved already, which cannot be undone here.
            return Ok(match replace(&path, &wanted, &state.run_id) {
                Ok(()) => Boxes::Written(path),
                Err(error) => left(&format!("it cannot be written: {error}")),
            });
        }
        found = Some(path);
    }
    Ok(left(match found {
        Some(_) => "it has changed since the run began",
        None if plan.contains(char::REPLACEMENT_CHARACTER) => {
            "it no longer exists, or its path is not UTF-8, which a run cannot record; tick them \
             yourself, or rename the plan"
        }
        None => "it no longer exists",
    }))
}

/// Replaces the plan file. The temporary file is named after the run, whose lease is held: if a
/// killed process left one, it is overwritten.
fn replace(path: &Path, text: &str, run: &RunId) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    replace_by_way_of(&format!(".{name}.{run}"), path, text.as_bytes())
}
