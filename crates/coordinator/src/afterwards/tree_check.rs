//! Checks a commit that no run has made: of a landing, or of a result without some tasks.

use orchestrate_core::{Oid, RunState};
use orchestrate_sandbox::Cancel;

use crate::afterwards::archive::Archive;
use crate::afterwards::refusal::Refusal;
use crate::api::coordinator::sandbox;
use crate::error::CoordinatorError;
use crate::merge::checks::{Check, run_check_blocking};
use crate::merge::green::CheckedTree;
use crate::merge::verifier;
use crate::texts::prompts::{EVIDENCE_BYTES, cut};

/// How the check of a tree has failed.
pub(crate) struct RedTree {
    /// The command.
    pub(crate) command: String,
    /// How it ended.
    pub(crate) exit: String,
    /// The end of its output.
    pub(crate) output: Box<str>,
}

impl Archive {
    /// Runs the run's check on the exact tree of a commit. Returns `None` if it passes, or if there is no check.
    pub(crate) fn check(
        &self,
        state: &RunState,
        commit: &Oid,
        cancel: &Cancel,
    ) -> Result<Option<RedTree>, CoordinatorError> {
        let Some(command) = &state.settings.verify else { return Ok(None) };
        // The check would see other files than a filter produces.
        self.repo.require_plain_tree(commit)?;
        let sandbox = sandbox(&self.settings)?;
        let of = (&self.repo.tree_of(commit)?, command.as_str());
        // Before the ignored files are copied: if one changes meanwhile, the result does not count for the new one.
        let remembered = CheckedTree::new((&self.repo, &self.layout), &sandbox, &state.settings, of)?;
        let verifier = verifier::bring(&self.repo, &self.layout, &state.run_id, commit)?;
        let worktree = verifier.worktree();
        let (view, timeout_ms) = (worktree.view(), state.settings.command_timeout_ms);
        for command in verifier::commands(&state.settings, command) {
            let check = Check { command, worktree: worktree.path(), view: &view, timeout_ms };
            let result = run_check_blocking(&sandbox, &check, cancel)?;
            if result.cancelled {
                return Err(Refusal::Interrupted { run: state.run_id.clone() }.into());
            }
            if !result.passed {
                let output = cut(result.output.trim(), EVIDENCE_BYTES).into();
                return Ok(Some(RedTree { command: command.to_owned(), exit: result.exit, output }));
            }
        }
        verifier.note_passed()?;
        remembered.note_green();
        Ok(None)
    }
}
