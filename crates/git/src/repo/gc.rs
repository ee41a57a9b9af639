//! Keeps git's clean-up away while there are objects that no ref holds yet.
//!
//! `git gc` leaves a repository alone whose `gc.pid` names a process that is alive on this machine, as it does beside
//! another `git gc`, and takes no notice of a dead one's, nor of one that is older than twelve hours.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

use crate::repo::repository::Repo;

/// The file by which git knows that a clean-up is under way.
const FILE: &str = "gc.pid";
/// From when on git takes no notice of it.
const STALE: Duration = Duration::from_hours(12);
/// How old ours may become before it is written again.
const RENEWAL: Duration = Duration::from_hours(1);
/// How often we look, at first, whether a clean-up that is under way has ended.
const TRIES: u32 = 200;
/// How long we wait between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Keeps `git gc` from a repository as long as it is there.
///
/// A precaution: what must not be lost is held by refs, as soon as there is something to hold. So nothing fails if the
/// file cannot be written, and one of several processes of ours keeps it for all.
#[derive(Debug)]
pub struct NoGc {
    path: PathBuf,
    text: String,
    written: Mutex<Written>,
}

/// What was last done about the file.
#[derive(Debug)]
enum Written {
    /// Nothing yet.
    Never,
    /// It was another's.
    ByAnother,
    /// We wrote it.
    At(Instant),
}

impl NoGc {
    /// Prepares it for a repository; nothing is held before [`NoGc::hold`].
    pub fn of(repo: &Repo) -> Self {
        let text = format!("{} {}", std::process::id(), node());
        Self { path: repo.common_dir().join(FILE), text, written: Mutex::new(Written::Never) }
    }

    /// Takes the file if it is free, and sees to it that it stays young; cheap while it is ours.
    ///
    /// The first time, a clean-up that is under way is waited for, two seconds at most.
    pub fn hold(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        *written = match *written {
            Written::At(when) if when.elapsed() < RENEWAL => return,
            Written::At(_) => self.write(),
            Written::ByAnother => self.take(1),
            Written::Never => self.take(TRIES),
        };
    }

    #[expect(clippy::disallowed_methods, reason = "another program's file wakes nobody")]
    fn take(&self, tries: u32) -> Written {
        for _ in 0..tries {
            match Holder::of(&self.path) {
                Holder::Nobody => return self.write(),
                Holder::Git => std::thread::sleep(PAUSE),
                Holder::Other => break,
            }
        }
        Written::ByAnother
    }

    /// Writes it whole or not at all: git reads it at any moment.
    fn write(&self) -> Written {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(self.path.parent()?).ok()?;
            file.write_all(self.text.as_bytes()).ok()?;
            file.persist(&self.path).ok()
        };
        write().map_or(Written::ByAnother, |_| Written::At(Instant::now()))
    }
}

impl Drop for NoGc {
    fn drop(&mut self) {
        let was_ours = matches!(self.written.get_mut(), Ok(Written::At(_)));
        if was_ours && std::fs::read_to_string(&self.path).is_ok_and(|found| found == self.text) {
            // What stays names a dead process, of which git takes no notice.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Who has the file.
enum Holder {
    /// Nobody, a process that is dead, or one that is forgotten.
    Nobody,
    /// A clean-up that is under way.
    Git,
    /// Another process, ours included, or one of another machine, of which nobody can tell.
    Other,
}

impl Holder {
    fn of(path: &Path) -> Self {
        let Ok(text) = std::fs::read_to_string(path) else { return Self::Nobody };
        let age = path.metadata().and_then(|found| found.modified()).ok().and_then(|when| when.elapsed().ok());
        if age.is_some_and(|age| age > STALE) {
            return Self::Nobody;
        }
        let mut words = text.split_whitespace();
        let pid = words.next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        if words.next() != Some(&node()) {
            return Self::Other;
        }
        match pid {
            Some(pid) if test_kill_process(pid) != Err(rustix::io::Errno::SRCH) => {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                if name.starts_with("git") { Self::Git } else { Self::Other }
            }
            _ => Self::Nobody,
        }
    }
}

/// The machine's name, as git writes it.
fn node() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::SystemTime;

    use super::*;

    fn repository(folder: &Path) -> Repo {
        let by =
            crate::repo::repository::Identity { name: "Test".to_owned(), email: "test@example.invalid".to_owned() };
        Repo::create(folder, &by, "Start").unwrap();
        Repo::open(folder, folder).unwrap()
    }

    fn held(repo: &Repo) -> NoGc {
        let held = NoGc::of(repo);
        held.hold();
        held
    }

    #[test]
    fn git_leaves_a_repository_alone_as_long_as_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repository(folder.path());
        let lost = repo.handle().unwrap().blob(b"held by no ref").unwrap();
        let is_there = || repo.handle().unwrap().odb().unwrap().exists(lost);
        let gc = || {
            let git = orchestrate_sandbox::trusted(repo.program.path());
            git.args(["-C", folder.path().to_str().unwrap(), "gc", "-q", "--prune=now"])
                .output()
                .unwrap()
                .status
                .success()
        };
        let holding = held(&repo);
        assert!(!gc() && is_there());
        drop(holding);
        assert!(gc() && !is_there());
    }

    #[test]
    fn what_a_live_process_holds_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repository(folder.path());
        let path = repo.common_dir().join(FILE);
        let is_ours = || std::fs::read_to_string(&path).unwrap() == format!("{} {}", std::process::id(), node());
        // A dead process's is taken over.
        std::fs::write(&path, format!("{} {}", i32::MAX, node())).unwrap();
        drop(held(&repo));
        assert!(!path.exists());
        // A live one's, or another machine's, is not, until it is gone or as old as git forgets it.
        for other in [format!("{} {}", std::os::unix::process::parent_id(), node()), "1 elsewhere".to_owned()] {
            std::fs::write(&path, &other).unwrap();
            let waiting = held(&repo);
            assert!(!is_ours());
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - STALE - PAUSE).unwrap();
            waiting.hold();
            assert!(is_ours());
        }
        assert!(!path.exists());
    }

    #[test]
    fn a_clean_up_that_is_under_way_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repository(folder.path());
        #[expect(clippy::disallowed_methods, reason = "a git that runs until it is told")]
        let mut git = std::process::Command::new("git");
        let mut git = git.args(["hash-object", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        std::fs::write(repo.common_dir().join(FILE), format!("{} {}", git.id(), node())).unwrap();
        let holding = NoGc::of(&repo);
        std::thread::scope(|scope| {
            scope.spawn(|| holding.hold());
            drop(git.stdin.take());
            git.wait().unwrap();
        });
        assert!(matches!(*holding.written.lock().unwrap(), Written::At(_)));
    }
}
