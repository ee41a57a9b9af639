//! Keeps git's clean-up away while there are objects that no ref holds yet.
//!
//! `git gc` leaves a repository alone whose `gc.pid` names a process that is alive on this machine, as it does beside
//! another `git gc`, and takes no notice of a dead one's.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::repo::Repo;

/// The file by which git knows that a clean-up is under way.
const FILE: &str = "gc.pid";

/// How often we look whether a clean-up that is under way has ended.
const TRIES: u32 = 200;
/// How long we wait between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Keeps `git gc` away as long as it is there.
#[derive(Debug)]
pub struct NoGc {
    path: PathBuf,
    text: String,
}

impl Repo {
    /// Keeps `git gc` from this repository until the value goes; one that is under way is waited for, a little while.
    ///
    /// None if another of our processes does it already, if the clean-up takes longer, or if the file cannot be written: it
    /// is a precaution, and objects are held by refs as soon as there is something to hold.
    #[expect(clippy::disallowed_methods, reason = "another program's file wakes nobody")]
    pub fn hold_off_gc(&self) -> Option<NoGc> {
        let path = self.common_dir().join(FILE);
        let text = format!("{} {}", std::process::id(), node());
        for _ in 0..TRIES {
            match std::fs::read_to_string(&path).map_or(Holder::Nobody, |found| Holder::of(&found)) {
                Holder::Nobody => return self.write_gc_file(path, text),
                Holder::Git => std::thread::sleep(PAUSE),
                Holder::Other => return None,
            }
        }
        None
    }

    fn write_gc_file(&self, path: PathBuf, text: String) -> Option<NoGc> {
        // Whole or not at all: git reads it at any moment.
        let mut file = tempfile::NamedTempFile::new_in(self.common_dir()).ok()?;
        file.write_all(text.as_bytes()).ok()?;
        file.persist(&path).ok()?;
        Some(NoGc { path, text })
    }
}

impl Drop for NoGc {
    fn drop(&mut self) {
        if std::fs::read_to_string(&self.path).is_ok_and(|found| found == self.text) {
            // What stays names a dead process, of which git takes no notice.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Who has the file.
enum Holder {
    /// Nobody, or a process that is dead.
    Nobody,
    /// A clean-up that is under way.
    Git,
    /// Another process, ours included, or one of another machine, of which nobody can tell.
    Other,
}

impl Holder {
    fn of(text: &str) -> Self {
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

    use super::*;

    #[test]
    fn git_leaves_a_repository_alone_as_long_as_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let by = crate::repo::Identity { name: "Test".to_owned(), email: "test@example.invalid".to_owned() };
        let repo = Repo::create(folder.path(), &by, "Start").unwrap();
        let lost = repo.handle().unwrap().blob(b"held by no ref").unwrap();
        let is_there = || repo.handle().unwrap().odb().unwrap().exists(lost);
        let gc = || {
            let git = orchestrate_sandbox::trusted(repo.shared.program.path());
            git.args(["-C", folder.path().to_str().unwrap(), "gc", "-q", "--prune=now"])
                .output()
                .unwrap()
                .status
                .success()
        };
        let held = repo.hold_off_gc();
        assert!(held.is_some() && !gc() && is_there());
        drop(held);
        assert!(gc() && !is_there());
        // What a dead process has left is taken over; what a live one holds is not.
        let path = folder.path().join(".git").join(FILE);
        std::fs::write(&path, format!("{} {}", i32::MAX, node())).unwrap();
        assert!(repo.hold_off_gc().is_some());
        std::fs::write(&path, format!("{} {}", std::os::unix::process::parent_id(), node())).unwrap();
        assert!(repo.hold_off_gc().is_none() && path.exists());
        // A clean-up that is under way is waited for.
        #[expect(clippy::disallowed_methods, reason = "a git that runs until it is told")]
        let mut git = std::process::Command::new("git");
        let mut git = git.args(["hash-object", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        std::fs::write(&path, format!("{} {}", git.id(), node())).unwrap();
        let held = std::thread::scope(|scope| {
            let held = scope.spawn(|| repo.hold_off_gc());
            drop(git.stdin.take());
            git.wait().unwrap();
            held.join().unwrap()
        });
        assert!(held.is_some());
    }
}
