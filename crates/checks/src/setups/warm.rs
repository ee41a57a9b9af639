//! Warm starts: what the base's check has left in ignored files, such as compiled dependencies, is
//! what each new worktree of the run starts with.
//!
//! The check runs in the worktree in which the project's setup has run. No agent has ever written
//! there, and nothing runs there once the check has passed, so that no agent writes what another
//! one's check reads. If the check does not pass, or is cut off, the worktree is created anew. A
//! setup whose result cannot be brought to other worktrees runs in each of them; the base's check
//! then takes place where merges are checked, and new worktrees start cold.
//!
//! A base that passed before is not checked again, so it has no outputs of its own. Its run adopts
//! those of the newest run whose base had the same check and whose commit it contains, as long as
//! that run is not cleaned. The times of the files are then those of that base, so that builds find
//! what has changed since ([`source times`]).
//!
//! [`source times`]: orchestrate_git::Worktrees::record_times

use std::path::Path;
use std::sync::Arc;

use orchestrate_core::event::settings::WarmLimit;
use orchestrate_core::{BlobId, Oid, RunId};
use orchestrate_files::if_there;
use orchestrate_git::{CopyLimit, GitError, Repo, Worktree, WorktreeSpec};
use serde::{Deserialize, Serialize};

use crate::caches;
use crate::check::CheckResult;
use crate::checks_error::{ChecksError, blocking};
use crate::layout::Layout;
use crate::setups::base_setup::{CHECKING, OnBase, is_being_checked, made_by_setup};
use crate::setups::project_setup::Preparation;
use crate::setups::setup::{self, Unprepared};
use crate::setups::site::{Known, Site, Warm};
use crate::setups::verifier;
use crate::shutdown::Shutdown;

/// The name of the note in git's entry for the worktree, where no confined command can write: the
/// check has passed there.
const CHECKED: &str = "orchestrate-checked";

const MIB: u64 = 1 << 20;

/// The newest run whose base has outputs.
#[derive(Serialize, Deserialize)]
struct Newest {
    run: RunId,
    /// The commit of the base.
    base: Oid,
    /// What has decided them.
    conditions: BlobId,
}

/// Where the base is to be checked.
pub enum Place {
    /// In this worktree, which is prepared.
    Own(Arc<Worktree>),
    /// Where merges are checked.
    Verifier,
    /// Nowhere: the setup has failed, or was interrupted.
    Unprepared(CheckResult),
}

/// Prepares the worktree in which the base's check is to run, and notes that it has begun.
///
/// # Errors
/// If git or the sandbox fails, or caches cannot be copied.
pub async fn place(
    site: &Site,
    preparation: &Preparation,
    shutdown: &Shutdown,
) -> Result<Place, ChecksError> {
    forget_failed(site, preparation).await?;
    let worktree = match &preparation.setup {
        None => {
            let (layout, of) = (site.layout.clone(), preparation.clone());
            Arc::new(
                site.git(move |repo| without_setup(repo, &layout, &of))
                    .await?,
            )
        }
        Some(setup) => match setup::on_base(site, setup, preparation.warm_limit, shutdown).await? {
            OnBase::Failed(result) => return Ok(Place::Unprepared(result)),
            OnBase::Passed(base) if base.made.is_none() => return Ok(Place::Verifier),
            OnBase::Passed(base) => Arc::clone(&base.worktree),
        },
    };
    caches::prepare(&site.layout, worktree.path(), preparation.warm_limit).await?;
    let checked = Arc::clone(&worktree);
    site.git(move |_| write(&checked, CHECKING)).await?;
    Ok(Place::Own(worktree))
}

/// Notes that the base's check has passed in its worktree, in which nothing runs from now on;
/// returns its outputs.
///
/// # Errors
/// If git fails, or the note cannot be written.
pub async fn passed(
    site: &Site,
    preparation: &Preparation,
    worktree: Arc<Worktree>,
    conditions: BlobId,
) -> Result<Arc<Warm>, ChecksError> {
    let mut set_up = site.base.set_up.lock().await;
    if let Some(OnBase::Passed(base)) = &*set_up {
        let base = Arc::clone(base);
        *set_up = Some(OnBase::Passed(Arc::new(
            site.git(move |repo| base.after_check(repo)).await?,
        )));
    }
    let of_setup = match &*set_up {
        Some(OnBase::Passed(base)) => base
            .made
            .as_ref()
            .map(|made| made.tops())
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    drop(set_up);
    caches::publish(&site.layout, worktree.path()).await?;
    let limit = limit(preparation.warm_limit);
    let found = site.git(move |repo| {
        let outputs = repo.worktrees().outputs(&worktree, &of_setup, limit)?;
        write(&worktree, CHECKED)?;
        remove(&worktree, CHECKING)?;
        Ok(Arc::new(Warm { worktree, outputs }))
    });
    let warm = found.await?;
    let newest = Newest {
        run: preparation.run.clone(),
        base: preparation.base.clone(),
        conditions,
    };
    let path = site.layout.newest_outputs();
    let text = serde_json::to_vec(&newest).map_err(std::io::Error::from);
    let note = move || {
        let written = text.and_then(|text| orchestrate_files::replace(&path, &text));
        written.map_err(ChecksError::at(path))
    };
    blocking("a note of outputs", note).await?;
    *site.base.warm.lock().await = Some(Known::Outputs(Arc::clone(&warm)));
    Ok(warm)
}

/// Lets a run whose base passed before adopt the outputs of another run's base. Call it before a
/// worktree is created.
///
/// # Errors
/// If git fails, or the note cannot be written.
pub async fn adopt(
    site: &Site,
    preparation: &Preparation,
    conditions: BlobId,
) -> Result<(), ChecksError> {
    let (layout, own) = (site.layout.clone(), preparation.clone());
    site.git(move |repo| {
        let Some(newest) = newest_outputs(&layout)? else {
            return Ok(());
        };
        let is_fitting = newest.run != own.run
            && newest.conditions == conditions
            && repo.has_object(&newest.base)?
            && repo.contains(&own.base, &newest.base)?
            && checked(repo, &layout.setup(&newest.run))?.is_some();
        let times = std::fs::read(layout.source_times(&newest.run));
        let (true, Ok(times)) = (is_fitting, times) else {
            return Ok(());
        };
        // First the times: without them, builds would take older sources for newer ones.
        put(&layout.source_times(&own.run), &times)?;
        put(
            &layout.adopted_outputs(&own.run),
            newest.run.as_str().as_bytes(),
        )
    })
    .await
}

/// Brings the outputs of the base to a worktree, if there are any.
pub(crate) async fn bring(
    site: &Site,
    preparation: &Preparation,
    to: &Path,
) -> Result<(), ChecksError> {
    let Some(warm) = known(site, preparation).await? else {
        return Ok(());
    };
    let to = to.to_owned();
    let brought = site.git(move |repo| {
        let to = repo.worktrees().open(&to)?;
        match repo
            .worktrees()
            .bring_outputs(&warm.outputs, &warm.worktree, &to)
        {
            // The run that they are of was cleaned meanwhile.
            Err(_) if !warm.worktree.path().exists() => {
                repo.worktrees().drop_outputs(&warm.outputs, &to)
            }
            brought => brought,
        }
    });
    brought.await
}

/// Returns how many bytes a new worktree takes for outputs of the base.
///
/// # Errors
/// If git fails.
pub async fn copied_bytes(site: &Site, preparation: &Preparation) -> Result<u64, ChecksError> {
    Ok(known(site, preparation)
        .await?
        .map_or(0, |warm| warm.outputs.copied_bytes))
}

/// Returns the outputs of the base, looked for once.
async fn known(site: &Site, preparation: &Preparation) -> Result<Option<Arc<Warm>>, ChecksError> {
    let mut known = site.base.warm.lock().await;
    if known.is_none() {
        *known = Some(look(site, preparation).await?);
    }
    Ok(match &*known {
        Some(Known::Outputs(warm)) => Some(Arc::clone(warm)),
        Some(Known::Nothing) | None => None,
    })
}

/// Looks for outputs that an earlier process of the run has left.
async fn look(site: &Site, preparation: &Preparation) -> Result<Known, ChecksError> {
    let limit = limit(preparation.warm_limit);
    let (layout, run) = (site.layout.clone(), preparation.run.clone());
    let found = site.git(move |repo| {
        let own = checked(repo, &layout.setup(&run))?;
        let worktree = match (own, adopted(&layout, &run)?) {
            (Some(own), _) => own,
            (None, Some(other)) => match checked(repo, &layout.setup(&other))? {
                Some(worktree) => worktree,
                None => return Ok(Known::Nothing),
            },
            (None, None) => return Ok(Known::Nothing),
        };
        let outputs = repo
            .worktrees()
            .outputs(&worktree, &made_by_setup(&worktree)?, limit)?;
        Ok(Known::Outputs(Arc::new(Warm {
            worktree: Arc::new(worktree),
            outputs,
        })))
    });
    found.await
}

/// Returns the worktree of a base, if its check has passed there.
fn checked(repo: &Repo, path: &Path) -> Result<Option<Worktree>, GitError> {
    match repo.worktrees().open(path) {
        Err(GitError::NoWorktree { .. } | GitError::Tampered { .. }) => Ok(None),
        opened => opened.map(|worktree| {
            Some(worktree).filter(|worktree| worktree.admin_dir().join(CHECKED).exists())
        }),
    }
}

/// Reads which run has the newest outputs; a file that cannot be read as such costs only time.
fn newest_outputs(layout: &Layout) -> Result<Option<Newest>, GitError> {
    let read = read_if_there(&layout.newest_outputs())?;
    Ok(read.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Returns the run whose outputs a run has adopted.
fn adopted(layout: &Layout, run: &RunId) -> Result<Option<RunId>, GitError> {
    let read = read_if_there(&layout.adopted_outputs(run))?;
    Ok(read.map(|text| RunId::new(String::from_utf8_lossy(&text))))
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    if_there(std::fs::read(path)).map_err(GitError::io("read", path))
}

fn put(path: &Path, text: &[u8]) -> Result<(), GitError> {
    let folder = path.parent().unwrap_or(path);
    let written = orchestrate_files::create_folder(folder)
        .and_then(|()| orchestrate_files::replace(path, text));
    written.map_err(GitError::io("write", path))
}

/// Removes a worktree in which a check of the base has not passed: the next one begins in a new
/// one.
async fn forget_failed(site: &Site, preparation: &Preparation) -> Result<(), ChecksError> {
    let (layout, path) = (site.layout.clone(), site.layout.setup(&preparation.run));
    let removed = site.git(move |repo| match repo.worktrees().open(&path) {
        Ok(worktree) if is_being_checked(&worktree) => {
            repo.worktrees().discard(&path, &layout.trash())?.delete()?;
            caches::forget(&path);
            Ok(true)
        }
        _ => Ok(false),
    });
    if removed.await? {
        *site.base.set_up.lock().await = None;
    }
    Ok(())
}

/// Creates the worktree of a base without a setup, or takes it over.
fn without_setup(
    repo: &Repo,
    layout: &Layout,
    preparation: &Preparation,
) -> Result<Worktree, GitError> {
    let spec = WorktreeSpec {
        path: layout.setup(&preparation.run),
        branch: None,
        base: preparation.base.clone(),
        lock_reason: format!("orchestrate {} setup", preparation.run),
        times: Some(layout.source_times(&preparation.run)),
    };
    verifier::filled(repo, &spec)
}

fn limit(limit: WarmLimit) -> CopyLimit {
    CopyLimit {
        bytes: limit.mib.saturating_mul(MIB),
        files: limit.files,
    }
}

fn write(worktree: &Worktree, name: &str) -> Result<(), GitError> {
    let path = worktree.admin_dir().join(name);
    orchestrate_files::replace(&path, b"").map_err(GitError::io("write", path))
}

fn remove(worktree: &Worktree, name: &str) -> Result<(), GitError> {
    let path = worktree.admin_dir().join(name);
    std::fs::remove_file(&path).map_err(GitError::io("remove", path))
}

/// Prepares a worktree. Returns the result of the setup if it ran in this worktree, or failed in
/// its own; `None` if there was nothing to run.
///
/// # Errors
/// If git or the sandbox fails, or caches cannot be copied.
pub async fn prepare(
    site: &Site,
    preparation: &Preparation,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, ChecksError> {
    let path = unprepared.path;
    caches::prepare(&site.layout, path, preparation.warm_limit).await?;
    let result = setup::set_up(site, preparation, unprepared, shutdown).await?;
    if result.as_ref().is_none_or(|result| result.passed) {
        bring(site, preparation, path).await?;
    }
    Ok(result)
}
