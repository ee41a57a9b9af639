//! Checks a commit that no run has made: of a landing, or of a result without some tasks.

use std::sync::Arc;

use orchestrate_checks::{
    Check, CheckResult, CheckedTree, Layout, OnBase, ProjectSetup, ShellCommand, explained,
    on_base_blocking, run_check_blocking, sandbox_of, verifier,
};
use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::text::cut;
use orchestrate_core::{Oid, RunState};
use orchestrate_git::Repo;
use orchestrate_sandbox::{Cancel, Network, Sandbox};

use crate::archive::Archive;
use crate::error::{LandingError, ResultRefusal};

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
    /// Runs the run's check on the exact tree of a commit, and again if it fails, as often as the
    /// run does. Returns `None` if it passes, or if there is no check.
    pub(crate) fn check(
        &self,
        state: &RunState,
        commit: &Oid,
        cancel: &Cancel,
    ) -> Result<Option<RedTree>, LandingError> {
        let Some(command) = &state.settings.verify else {
            return Ok(None);
        };
        let tries = state.tries_of_check(command);
        for number in 1..=tries {
            match self.check_once(state, command, commit, cancel)? {
                None if number == 1 => return Ok(None),
                None => {
                    (self.progress)(&format!(
                        "`{command}` is flaky: it has failed and passed on the same tree"
                    ));
                    return Ok(None);
                }
                red if number == tries => return Ok(red),
                Some(red) => (self.progress)(&format!(
                    "`{}` failed ({}); trying it again",
                    red.command, red.exit
                )),
            }
        }
        Ok(None)
    }

    fn check_once(
        &self,
        state: &RunState,
        command: &str,
        commit: &Oid,
        cancel: &Cancel,
    ) -> Result<Option<RedTree>, LandingError> {
        let sandbox = self.settings.sandbox.sandbox(Some(self.repo.workdir()))?;
        let sandbox = sandbox_of(&Arc::new(sandbox), &self.layout, state);
        let repo = self.repo.confined_in(sandbox.confinement());
        // The check would see other files than a filter produces.
        repo.require_plain_tree(commit)?;
        let tree = repo.tree_of(commit)?;
        // Before the ignored files are copied: if one changes meanwhile, the result does not count
        // for the new one.
        let remembered = CheckedTree::new(
            &self.layout,
            CheckedTree::key(&repo, &sandbox, state, &tree, command)?,
        );
        let setup = ProjectSetup::for_run(state);
        let verifier = verifier::bring(&repo, &self.layout, &state.run_id, setup.as_ref(), commit)?;
        let worktree = verifier.worktree();
        let with_caches = sandbox
            .as_ref()
            .clone()
            .with_caches(Layout::caches_of(worktree.path()));
        let (seen, timeout_ms) = (worktree.seen(), state.settings.command_timeout_ms);
        let of_base = set_up_with_network(&repo, &self.layout, state, &sandbox, cancel)?;
        let changed = match &setup {
            Some(setup) => setup.difference(&repo, &tree)?.1,
            None => Vec::new(),
        };
        let is_prepared = match &of_base {
            Some(OnBase::Failed(result)) => {
                let setup = state.settings.worktree_setup.as_deref().unwrap_or_default();
                return red(state, setup, result).map(Some);
            }
            Some(OnBase::Passed(base)) => {
                base.bring(&repo, worktree.path(), true)? && changed.is_empty()
            }
            None => false,
        };
        let commands = verifier::commands(&state.settings, command).skip(usize::from(is_prepared));
        for ShellCommand { text, network } in commands {
            let check = Check {
                command: ShellCommand::offline(text),
                worktree: &seen,
                timeout_ms,
            };
            let shown = self.running.add(text);
            let result = run_check_blocking(
                &with_caches.clone().showing(shown.output.clone()),
                &check,
                cancel,
            )?;
            if !result.passed {
                let is_setup = network == Network::Proxy;
                let result = if is_setup {
                    explained(result, &changed)
                } else {
                    result
                };
                return red(state, text, &result).map(Some);
            }
        }
        verifier.note_passed()?;
        remembered.note_green();
        Ok(None)
    }
}

/// Runs a setup that may use the network on the run's base, as the run did; `None` for any other
/// setup.
fn set_up_with_network(
    repo: &Repo,
    layout: &Layout,
    state: &RunState,
    sandbox: &Sandbox,
    cancel: &Cancel,
) -> Result<Option<OnBase>, LandingError> {
    let Some(setup) = ProjectSetup::for_run(state).filter(|setup| setup.has_network) else {
        return Ok(None);
    };
    Ok(Some(on_base_blocking(
        repo, layout, &setup, sandbox, cancel,
    )?))
}

/// Returns how a command has failed; fails if it was interrupted.
fn red(state: &RunState, command: &str, result: &CheckResult) -> Result<RedTree, LandingError> {
    if result.cancelled {
        return Err(ResultRefusal::Interrupted {
            run: state.run_id.clone(),
        }
        .into());
    }
    let output = cut(result.output.trim(), EVIDENCE_BYTES).into();
    Ok(RedTree {
        command: command.to_owned(),
        exit: result.exit.clone(),
        output,
    })
}
