//! Prevents `git gc` while there are objects that no ref holds yet.
//!
//! `git gc` does nothing in a repository whose `gc.pid` names a live process on this machine,
//! because another `git gc` is then running. It ignores a `gc.pid` that names a dead process or is
//! older than twelve hours.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orchestrate_core::collections::Mutex;
use rustix::process::{Pid, test_kill_process};

use crate::repo::repository::Repo;

/// The file with which git marks a clean-up in progress.
const FILE: &str = "gc.pid";
/// The age from which git ignores the file.
const STALE: Duration = Duration::from_hours(12);
/// The age at which our file is written again.
const RENEWAL: Duration = Duration::from_hours(1);
/// How often, on the first call, we check whether a clean-up in progress has ended.
const TRIES: u32 = 200;
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Prevents `git gc` in a repository while the value exists.
///
/// This is a precaution: everything that must not be lost is held by refs as soon as there is an
/// object to hold. So an error in writing the file is ignored, and if several processes of ours
/// run, one of them keeps the file for all.
#[derive(Debug)]
pub struct NoGc {
    path: PathBuf,
    text: String,
    /// How often the first call looks at a clean-up in progress.
    tries: u32,
    written: Mutex<Written>,
}

/// The last action on the file.
#[derive(Debug)]
enum Written {
    /// None yet.
    Never,
    /// It belonged to another process, or could not be written.
    ByAnother,
    /// We wrote it.
    At(Instant),
}

impl NoGc {
    /// Prepares the file for a repository; nothing is prevented before [`NoGc::hold`].
    pub fn new(repo: &Repo) -> Self {
        let text = format!("{} {}", std::process::id(), node());
        Self {
            path: repo.common_dir().join(FILE),
            text,
            tries: TRIES,
            written: Mutex::new(Written::Never),
        }
    }

    /// Takes the file if it is free, and renews it before git ignores it; cheap while the file is
    /// ours.
    ///
    /// The first call waits for a clean-up in progress, two seconds at most.
    pub fn hold(&self) {
        let mut written = self.written.lock();
        *written = match *written {
            Written::At(when) if when.elapsed() < RENEWAL => return,
            Written::At(_) => self.write(),
            Written::ByAnother => self.take(1),
            Written::Never => self.take(self.tries),
        };
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "another program's file wakes nobody"
    )]
    fn take(&self, tries: u32) -> Written {
        for _ in 0..tries {
            match Holder::read(&self.path) {
                Holder::Nobody => return self.write(),
                Holder::Git => std::thread::sleep(PAUSE),
                Holder::Other => break,
            }
        }
        Written::ByAnother
    }

    /// Writes the file atomically, because git may read it at any moment.
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
        let was_ours = matches!(self.written.get_mut(), Written::At(_));
        if was_ours && std::fs::read_to_string(&self.path).is_ok_and(|found| found == self.text) {
            // If the file stays, it names a dead process, and git ignores it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The process that has the file.
enum Holder {
    /// No process, a dead one, or one whose file is too old.
    Nobody,
    /// A clean-up in progress.
    Git,
    /// Another process, which may be of ours, or one on another machine, whose state is unknown.
    Other,
}

impl Holder {
    fn read(path: &Path) -> Self {
        let Ok(text) = std::fs::read_to_string(path) else {
            return Self::Nobody;
        };
        let age = path
            .metadata()
            .and_then(|found| found.modified())
            .ok()
            .and_then(|when| when.elapsed().ok());
        if age.is_some_and(|age| age > STALE) {
            return Self::Nobody;
        }
        let mut words = text.split_whitespace();
        let pid = words
            .next()
            .and_then(|pid| pid.parse().ok())
            .and_then(Pid::from_raw);
        if words.next() != Some(&node()) {
            return Self::Other;
        }
        let Some(pid) = pid else { return Self::Nobody };
        // Read before the process is asked for: one that ends in between has no name, but is gone.
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
            return Self::Nobody;
        }
        if name.starts_with("git") {
            Self::Git
        } else {
            Self::Other
        }
    }
}

/// The machine's name, as git writes it.
fn node() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    use std::time::SystemTime;

    use super::*;

    fn repository(folder: &Path) -> Repo {
        let by = crate::repo::repository::Identity {
            name: "Test".to_owned(),
            email: "test@example.invalid".to_owned(),
        };
        Repo::create(folder, &by, "Start").unwrap();
        Repo::open(folder, folder).unwrap()
    }

    fn held(repo: &Repo) -> NoGc {
        let held = NoGc::new(repo);
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
            git.args([
                "-C",
                folder.path().to_str().unwrap(),
                "gc",
                "-q",
                "--prune=now",
            ])
            .output()
            .unwrap()
            .status
            .success()
        };
        let holding = held(&repo);
        assert!(!gc() && is_there());
        // The control: the same clean-up removes it as soon as the repository is not held.
        drop(holding);
        assert!(gc() && !is_there());
    }

    #[test]
    fn what_a_live_process_holds_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repository(folder.path());
        let path = repo.common_dir().join(FILE);
        let is_ours = || {
            std::fs::read_to_string(&path).unwrap() == format!("{} {}", std::process::id(), node())
        };
        // The file of a dead process is taken over.
        std::fs::write(&path, format!("{} {}", i32::MAX, node())).unwrap();
        drop(held(&repo));
        assert!(!path.exists());
        // The file of a live process, or of another machine, is not, until it is gone or so old
        // that git ignores it.
        for other in [
            format!("{} {}", std::os::unix::process::parent_id(), node()),
            "1 elsewhere".to_owned(),
        ] {
            std::fs::write(&path, &other).unwrap();
            let waiting = held(&repo);
            assert!(!is_ours());
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - STALE - PAUSE)
                .unwrap();
            waiting.hold();
            assert!(is_ours());
        }
        assert!(!path.exists());
    }

    #[test]
    fn a_clean_up_that_is_under_way_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let repo = repository(folder.path());
        #[expect(
            clippy::disallowed_methods,
            reason = "a git that runs until it is told"
        )]
        let mut git = std::process::Command::new("git");
        let mut git = git
            .arg("-C")
            .arg(folder.path())
            .args(["cat-file", "--batch-check"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its answer shows that it has git's name: a process that was just started may have ours.
        let mut questions = git.stdin.take().unwrap();
        writeln!(questions, "HEAD").unwrap();
        let mut answers = BufReader::new(git.stdout.take().unwrap());
        answers.read_line(&mut String::new()).unwrap();
        let path = repo.common_dir().join(FILE);
        std::fs::write(&path, format!("{} {}", git.id(), node())).unwrap();
        assert!(matches!(Holder::read(&path), Holder::Git));
        let mut holding = NoGc::new(&repo);
        // However busy the machine is, git ends before we give up.
        holding.tries = u32::MAX;
        std::thread::scope(|scope| {
            scope.spawn(|| holding.hold());
            drop(questions);
            git.wait().unwrap();
        });
        assert!(matches!(*holding.written.lock(), Written::At(_)));
    }
}
