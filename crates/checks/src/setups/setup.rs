//! The project's setup: run once for a run, in a worktree of its own at the base, and its result
//! brought to the others.
//!
//! Where a worktree has another tree than the base, a setup without network runs in it, since its
//! result may depend on the files. A setup with the network has it only in its own worktree, where
//! no agent has ever written: the command may run files of the repository, such as the scripts of a
//! package. Elsewhere the result of the base does; if what the setup reads differs there, the
//! command runs again, without the network, and has to pass.
//!
//! A result that cannot be brought exactly is not brought: the command then runs in the worktree
//! itself, without the network. A failure on the base is remembered while this process runs, so
//! that it does not recur once for each task.

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::Oid;
use orchestrate_core::event::settings::WarmLimit;
use orchestrate_sandbox::Seen;

use crate::caches;
use crate::check::{Check, CheckResult, ShellCommand, run_check, run_setup};
use crate::checks_error::ChecksError;
use crate::setups::base_setup::{OnBase, begin, finish, with_cause};
use crate::setups::project_setup::{Preparation, ProjectSetup, explained};
use crate::setups::site::Site;
use crate::shutdown::{Shutdown, ShutdownLevel};

/// A worktree to be prepared.
pub struct Unprepared<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// The same, as its commands see it.
    pub seen: &'a Seen,
    /// The tree that it contains.
    pub tree: Oid,
}

/// Brings the setup's result to a worktree, or runs the command there. Returns the command's result
/// if it ran in this worktree, or failed in its own; `None` if there was nothing to run.
pub(crate) async fn set_up(
    site: &Site,
    preparation: &Preparation,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, ChecksError> {
    let Some(setup) = &preparation.setup else {
        return Ok(None);
    };
    let Unprepared { path, seen, tree } = unprepared;
    let (of, has_network) = (setup.clone(), setup.has_network);
    let (is_base, changed) = site.git(move |repo| of.difference(repo, &tree)).await?;
    if is_base || has_network {
        let base = match on_base(site, setup, preparation.warm_limit, shutdown).await? {
            OnBase::Failed(result) => return Ok(Some(result)),
            OnBase::Passed(base) => base,
        };
        let to = path.to_owned();
        if site
            .git(move |repo| base.bring(repo, &to, has_network))
            .await?
            && changed.is_empty()
        {
            return Ok(None);
        }
    }
    let command = ShellCommand::offline(&setup.command);
    let check = Check {
        command,
        worktree: seen,
        timeout_ms: setup.timeout_ms,
    };
    let sandbox = site.sandbox_in(path);
    let result = run_check(&sandbox, &site.running, check, shutdown)
        .await?
        .redacted(&site.redactor);
    Ok(Some(if has_network {
        explained(result, &changed)
    } else {
        result
    }))
}

/// Runs the setup in its own worktree unless it has run there.
pub(crate) async fn on_base(
    site: &Site,
    setup: &ProjectSetup,
    warm_limit: WarmLimit,
    shutdown: &Shutdown,
) -> Result<OnBase, ChecksError> {
    let mut known = tokio::select! {
        known = site.base.set_up.lock() => known,
        () = shutdown.reached(ShutdownLevel::Stop) => {
            return Ok(OnBase::Failed(CheckResult::interrupted()));
        }
    };
    if let Some(known) = &*known {
        return Ok(known.clone());
    }
    let (layout, of, command) = (site.layout.clone(), setup.clone(), setup.on_base());
    let begun = site.git(move |repo| begin(repo, &layout, &of)).await?;
    if begun.passed.is_none() {
        let (path, seen) = (begun.worktree.path(), begun.worktree.seen());
        caches::prepare(&site.layout, path, warm_limit).await?;
        let check = Check {
            command,
            worktree: &seen,
            timeout_ms: setup.timeout_ms,
        };
        let sandbox = site.sandbox_in(path);
        let result = if setup.has_proxy(&sandbox) {
            let shown = site.running.add(command.text);
            let sandbox = sandbox.showing(shown.output.clone());
            run_setup(&sandbox, &site.web, setup.reaches(), check, shutdown).await?
        } else {
            run_check(&sandbox, &site.running, check, shutdown).await?
        };
        let result = result.redacted(&site.redactor);
        if !result.passed {
            let failed = OnBase::Failed(with_cause(result, command));
            if matches!(&failed, OnBase::Failed(result) if !result.cancelled) {
                *known = Some(failed.clone());
            }
            return Ok(failed);
        }
        caches::publish(&site.layout, path).await?;
    }
    let passed = OnBase::Passed(Arc::new(site.git(move |repo| finish(repo, begun)).await?));
    *known = Some(passed.clone());
    Ok(passed)
}
