//! Recognises a moved repository: its runs are in the state folder under the id of its old location.
//!
//! Nothing is moved here. A copy has the same commits, so only a state folder whose repository is gone from its old
//! location is taken for this one's, and the user confirms that by typing the commands.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use orchestrate_core::shell_word;
use orchestrate_git::Repo;
use orchestrate_journal::Store;

use crate::run::layout::Layout;

/// The maximum number of state folders to inspect: more than any user has, so that the state folder of a machine that
/// runs tests causes no delay.
const MAX_FOLDERS: usize = 1_000;

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
pub(crate) fn note_origin(layout: &Layout, repo: &Repo) {
    let (path, place) = (layout.origin(), repo.common_dir().as_os_str().as_bytes());
    if std::fs::read(&path).ok().as_deref() != Some(place)
        && let Err(error) = write(&path, place)
    {
        tracing::warn!(path = %path.display(), %error, "failed to note where the repository is");
    }
}

fn write(path: &Path, place: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(PRIVATE).open(path)?.write_all(place)
}

/// Finds the runs recorded for another location of a repository that has none of its own.
pub(crate) fn find(repo: &Repo, state_dir: &Path) -> Option<Moved> {
    let new = Layout::new(state_dir, &repo.id()).journal();
    let folders = std::fs::read_dir(Layout::all(state_dir)).ok()?.take(MAX_FOLDERS).flatten();
    folders.map(|folder| folder.path()).find_map(|old| {
        let id = old.file_name()?.to_str()?;
        let was = PathBuf::from(std::ffi::OsString::from_vec(std::fs::read(Layout::new(state_dir, id).origin()).ok()?));
        (!was.exists() && has_its_commits(&old, repo)).then(|| Moved { was, commands: commands(&old, &new) })
    })
}

/// Reports whether the newest run of a state folder started at a commit of this repository.
fn has_its_commits(folder: &Path, repo: &Repo) -> bool {
    let began = || {
        let store = Store::open_existing(folder).ok()??;
        let run = store.latest_run().ok()??;
        store.state(&run).ok().map(|state| state.base)
    };
    began().is_some_and(|base| repo.store().commit_info(&base).is_ok())
}

fn commands(old: &Path, new: &Path) -> Vec<String> {
    // Git records the location of each worktree on both sides.
    let runs = shell_word(new.join("runs"));
    let repair = format!("find {runs} -mindepth 2 -maxdepth 2 -type d -exec git worktree repair {{}} +");
    vec![format!("mv -T {} {}", shell_word(old), shell_word(new)), repair]
}
