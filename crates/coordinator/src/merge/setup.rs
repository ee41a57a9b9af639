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

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::checks::hint::{BASE_ALONE_HAS_NETWORK, RESULT_STAYS, SETUP_HAD_NETWORK};
use orchestrate_core::event::settings::WarmLimit;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, RunState, check_hint};
use orchestrate_git::Repo;
use orchestrate_sandbox::{Cancel, Confinement, Network, Sandbox, Seen};

use crate::error::CoordinatorError;
use crate::merge::base_setup::{OnBase, begin, finish};
use crate::merge::checks::{
    Check, CheckResult, ShellCommand, run_check, run_check_blocking, run_setup, run_setup_blocking,
};
use crate::merge::project_setup::{Preparation, ProjectSetup};
use crate::run::caches;
use crate::run::host::Host;
use crate::run::layout::Layout;
use crate::run::shutdown::{Shutdown, ShutdownLevel};

/// How many changed files a message names.
const MOST_NAMED: usize = 3;

/// A worktree to be prepared.
pub(crate) struct Unprepared<'a> {
    pub(crate) path: &'a Path,
    pub(crate) seen: &'a Seen,
    /// The tree that it contains.
    pub(crate) tree: Oid,
}

/// Brings the setup's result to a worktree, or runs the command there. Returns the command's result
/// if it ran in this worktree, or failed in its own; `None` if there was nothing to run.
pub(crate) async fn set_up(
    host: &Host,
    preparation: &Preparation,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, CoordinatorError> {
    let Some(setup) = &preparation.setup else {
        return Ok(None);
    };
    let Unprepared { path, seen, tree } = unprepared;
    let (of, has_network) = (setup.clone(), setup.has_network);
    let (is_base, changed) = host.git(move |repo| of.difference(repo, &tree)).await?;
    if is_base || has_network {
        let base = match on_base(host, setup, preparation.warm_limit, shutdown).await? {
            OnBase::Failed(result) => return Ok(Some(result)),
            OnBase::Passed(base) => base,
        };
        let to = path.to_owned();
        if host
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
    let sandbox = host.sandbox_in(path);
    let result = run_check(&sandbox, &host.running, check, shutdown)
        .await?
        .redacted(&host.redactor);
    Ok(Some(if has_network {
        explained(result, &changed)
    } else {
        result
    }))
}

/// Adds to a failure of a setup that ran without the network why it had none.
pub(crate) fn explained(result: CheckResult, changed: &[PathBuf]) -> CheckResult {
    if result.passed || result.cancelled {
        return result;
    }
    let why = if changed.is_empty() {
        RESULT_STAYS.to_owned()
    } else {
        let named: Vec<String> = changed
            .iter()
            .take(MOST_NAMED)
            .map(|path| shown_path(path))
            .collect();
        let more = if changed.len() > MOST_NAMED {
            ", …"
        } else {
            ""
        };
        format!(
            "{BASE_ALONE_HAS_NETWORK}; this tree changes {}{more}",
            named.join(", ")
        )
    };
    result.with_line(&why)
}

/// Returns the sandbox of a run, whose commands read what its setup and its agents' installations
/// have downloaded.
pub(crate) fn sandbox_of(
    sandbox: &Arc<Sandbox>,
    layout: &Layout,
    state: &RunState,
) -> Arc<Sandbox> {
    Arc::new(
        sandbox
            .as_ref()
            .clone()
            .with_packages(layout.packages(&state.run_id)),
    )
}

/// Runs the setup in its own worktree unless it has run there.
pub(crate) async fn on_base(
    host: &Host,
    setup: &ProjectSetup,
    warm_limit: WarmLimit,
    shutdown: &Shutdown,
) -> Result<OnBase, CoordinatorError> {
    let mut known = tokio::select! {
        known = host.set_up.lock() => known,
        () = shutdown.reached(ShutdownLevel::Stop) => return Ok(OnBase::Failed(CheckResult::interrupted())),
    };
    if let Some(known) = &*known {
        return Ok(known.clone());
    }
    let (layout, of, command) = (host.layout.clone(), setup.clone(), setup.on_base());
    let begun = host.git(move |repo| begin(repo, &layout, &of)).await?;
    if begun.passed.is_none() {
        let (path, seen) = (begun.worktree.path(), begun.worktree.seen());
        caches::prepare(&host.layout, path, warm_limit).await?;
        let check = Check {
            command,
            worktree: &seen,
            timeout_ms: setup.timeout_ms,
        };
        let sandbox = host.sandbox_in(path);
        let result = if has_proxy(setup, &sandbox) {
            let shown = host.running.add(command.text);
            let sandbox = sandbox.as_ref().clone().showing(shown.output.clone());
            run_setup(
                &sandbox,
                host.web.client(),
                setup.reaches(),
                check,
                shutdown,
            )
            .await?
        } else {
            run_check(&sandbox, &host.running, check, shutdown).await?
        };
        let result = result.redacted(&host.redactor);
        if !result.passed {
            let failed = OnBase::Failed(with_cause(result, command));
            if matches!(&failed, OnBase::Failed(result) if !result.cancelled) {
                *known = Some(failed.clone());
            }
            return Ok(failed);
        }
        caches::publish(&host.layout, path).await?;
    }
    let passed = OnBase::Passed(Arc::new(host.git(move |repo| finish(repo, begun)).await?));
    *known = Some(passed.clone());
    Ok(passed)
}

/// Does the same for a run that has ended, blocking the thread.
pub(crate) fn on_base_blocking(
    repo: &Repo,
    layout: &Layout,
    setup: &ProjectSetup,
    sandbox: &Sandbox,
    cancel: &Cancel,
) -> Result<OnBase, CoordinatorError> {
    let command = setup.on_base();
    let begun = begin(repo, layout, setup)?;
    if begun.passed.is_none() {
        let seen = begun.worktree.seen();
        let check = Check {
            command,
            worktree: &seen,
            timeout_ms: setup.timeout_ms,
        };
        let result = if has_proxy(setup, sandbox) {
            run_setup_blocking(sandbox, setup.reaches(), &check, cancel)?
        } else {
            run_check_blocking(sandbox, &check, cancel)?
        };
        if !result.passed {
            return Ok(OnBase::Failed(with_cause(result, command)));
        }
    }
    Ok(OnBase::Passed(Arc::new(finish(repo, begun)?)))
}

/// Reports whether a setup runs with a proxy: without a sandbox, nothing leads it there.
fn has_proxy(setup: &ProjectSetup, sandbox: &Sandbox) -> bool {
    setup.has_network && sandbox.confinement() != Confinement::Unconfined
}

/// Adds to a failure that may come from the network that the setup had it, unless its output says
/// what to do.
fn with_cause(result: CheckResult, command: ShellCommand<'_>) -> CheckResult {
    let is_told = check_hint(&result.output)
        .is_some_and(|hint| !hint.starts_with("commands have no network"));
    let was_killed = result.code.is_none();
    let says_nothing = was_killed || is_told || command.network == Network::None;
    if says_nothing {
        result
    } else {
        result.with_line(SETUP_HAD_NETWORK)
    }
}
