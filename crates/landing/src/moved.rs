//! Recognises a moved repository: its runs are in the state folder under the id of its old
//! location.
//!
//! A copy has the same commits, so only a state folder whose repository is gone from its old
//! location is taken for this one's. It follows by itself if this repository has the branch of its
//! newest run, as a moved one does; otherwise the user confirms that by typing the commands.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_checks::Layout;
use orchestrate_core::{RunState, shell_word};
use orchestrate_git::Repo;
use orchestrate_journal::{RunSummary, Store};

use crate::error::LandingError;

/// The maximum number of state folders to inspect: more than any user has, so that the state folder
/// of a machine that runs tests causes no delay.
const MAX_FOLDERS: usize = 1_000;

/// The branches of all runs.
const BRANCHES: &str = "refs/heads/orchestrate/";

/// The mode of the note, which contains paths of the user's.
const PRIVATE: u32 = 0o600;

/// Runs of a repository that was elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The previous location of its git directory.
    pub was: PathBuf,
    /// The commands that move its runs here.
    pub commands: Vec<String>,
}

/// Records where a repository is. A failure matters only once the repository has been moved.
pub fn note_origin(layout: &Layout, repo: &Repo) {
    let (path, place) = (layout.origin(), repo.common_dir().as_os_str().as_bytes());
    if std::fs::read(&path).ok().as_deref() != Some(place)
        && let Err(error) = write(&path, place)
    {
        tracing::warn!(path = %path.display(), %error, "failed to note where the repository is");
    }
}

fn write(path: &Path, place: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .open(path)?
        .write_all(place)
}

/// Takes over the runs recorded for another location of a repository that has none of its own, says
/// so, and returns whether there were any. Nothing is taken over unless it is certain that they are
/// this repository's, and that no process works on them.
///
/// # Errors
///
/// Fails if the runs or their worktrees cannot be moved. That can be repeated.
pub fn follow(repo: &Repo, state_dir: &Path, say: fn(&str)) -> Result<bool, LandingError> {
    let layout = Layout::new(state_dir, &repo.id());
    let new = layout.journal();
    // A repository that has had no run anywhere need not wait until the others' state folders are
    // read.
    if new.exists() || repo.refs_below(BRANCHES)?.is_empty() {
        return Ok(false);
    }
    let certain = found(repo, state_dir)
        .into_iter()
        .flatten()
        .find(|found| is_certain(&found.folder, repo));
    let Some(Found { was, folder }) = certain else {
        return Ok(false);
    };
    let all = Layout::all(state_dir);
    let real = all.canonicalize().map_err(LandingError::at(&all))?;
    let [from, to] =
        [&folder, &new].map(|folder| real.join(folder.file_name().unwrap_or_default()));
    repo.worktrees().follow_move(&from, &to)?;
    match std::fs::rename(&folder, &new) {
        // Another process was faster.
        Err(_) if new.exists() => return Ok(false),
        moved => moved.map_err(LandingError::at(&new))?,
    }
    note_origin(&layout, repo);
    say(&format!(
        "this repository was moved from {}; its runs have followed",
        was.display()
    ));
    Ok(true)
}

/// Finds the runs recorded for another location of a repository that has none of its own.
pub fn find(repo: &Repo, state_dir: &Path) -> Option<Moved> {
    let new = Layout::new(state_dir, &repo.id()).journal();
    let Found { was, folder } = found(repo, state_dir)?.next()?;
    Some(Moved {
        was,
        commands: commands(&folder, &new),
    })
}

/// A state folder whose repository is gone from its location.
struct Found {
    was: PathBuf,
    folder: PathBuf,
}

/// Returns the state folders that may be this repository's; `None` if there are none at all.
fn found(repo: &Repo, state_dir: &Path) -> Option<impl Iterator<Item = Found>> {
    let folders = std::fs::read_dir(Layout::all(state_dir))
        .ok()?
        .take(MAX_FOLDERS)
        .flatten();
    Some(
        folders
            .map(|folder| folder.path())
            .filter_map(move |folder| {
                let id = folder.file_name()?.to_str()?;
                let was = PathBuf::from(std::ffi::OsString::from_vec(
                    std::fs::read(Layout::new(state_dir, id).origin()).ok()?,
                ));
                (!was.exists() && has_its_commits(&folder, repo)).then_some(Found { was, folder })
            }),
    )
}

/// Returns the state of the newest run of a state folder.
fn newest(store: &Store) -> Option<RunState> {
    store.state(&store.latest_run().ok()??).ok()
}

/// Reports whether the newest run of a state folder started at a commit of this repository.
fn has_its_commits(folder: &Path, repo: &Repo) -> bool {
    let newest = || newest(&Store::open_existing(folder).ok()??);
    newest().is_some_and(|state| repo.store().commit_info(&state.base).is_ok())
}

/// Reports whether the branch of the newest run of a state folder is in this repository, which a
/// clone lacks, and no process works on any of its runs.
fn is_certain(folder: &Path, repo: &Repo) -> bool {
    let judged = || {
        let store = Store::open_existing(folder).ok()??;
        let branch = repo
            .read_ref(&newest(&store)?.run_id.integration_ref())
            .ok()?;
        let is_idle = |run: &RunSummary| matches!(store.lease(&run.run_id), Ok(None));
        Some(branch.is_some() && store.runs().ok()?.iter().all(is_idle))
    };
    judged().unwrap_or(false)
}

fn commands(old: &Path, new: &Path) -> Vec<String> {
    // Git records the location of each worktree on both sides.
    let runs = shell_word(new.join("runs"));
    let repair =
        format!("find {runs} -mindepth 2 -maxdepth 2 -type d -exec git worktree repair {{}} +");
    vec![
        format!("mv -T {} {}", shell_word(old), shell_word(new)),
        repair,
    ]
}
