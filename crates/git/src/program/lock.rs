//! One lock per repository, held while worktrees are created or removed and while the user's
//! branches are moved.
//!
//! `git worktree add` creates an entry and fills it one call later; a process that lists worktrees
//! in between fails. The lock is `flock` on a file of ours, so it also works against other
//! processes of ours, and it is released if its process is killed. The file is in a folder that
//! only this user can enter and that no confined process sees, because anyone who can open a file
//! can lock it. It records the holder, to be named to those that wait too long.
//!
//! Processes of this user that keep their state in another folder do not know of that file. For
//! them there is a second lock, on the repository's own directory, which a confined process cannot
//! open either. Another user who may read the repository can take that lock, so a lock held by
//! another user is not waited for.
//!
//! Nothing is asked again and again while it is held: threads of this process queue before the
//! file, and the first of them blocks in the kernel until another process releases it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

use orchestrate_core::collections::Mutex;
use orchestrate_sandbox::Cancel;
use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::io::Errno;

use crate::error::GitError;
use crate::error::lock_wait::{Holder, Waiting, Work};

/// The lock file's name in our folder for the repository.
const LOCK_FILE: &str = "lock";
/// How long to wait while the same process holds the lock. Every operation except a landing takes
/// milliseconds, and a person may be waiting for us.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for a landing of ours that is still running: longer than a landing of many
/// files takes, and short enough that we do not appear to hang.
const LANDING_PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before the wait is reported: most waits are shorter.
const SILENCE: Duration = Duration::from_secs(2);
/// How often a wait looks at who holds the lock, and whether it is to end. Most operations under
/// the lock are over before the first look.
const NEXT_LOOK: Duration = Duration::from_millis(250);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: Arc<OwnedFd>,
    /// The lock on the repository's directory; `None` if another user holds it or it cannot be
    /// locked.
    repository: Option<Arc<OwnedFd>>,
    folder: PathBuf,
    /// Given on after the files are unlocked.
    _turn: Turn,
}

impl Held {
    /// Returns the open files that hold the lock, for a program that outlives this process and
    /// keeps it.
    pub(crate) fn files(&self) -> impl Iterator<Item = Arc<OwnedFd>> {
        std::iter::once(&self.file)
            .chain(&self.repository)
            .map(Arc::clone)
    }

    /// Returns our folder for the repository, in which the holder of the lock may keep files that
    /// outlive it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The next holder may be a foreign program, which would not replace our signature.
        let _ = ftruncate(&*self.file, 0);
        // Closing the file releases the lock, but not while a program that another thread is just
        // starting has a copy of the descriptor. So it is released explicitly.
        for file in self.repository.iter().chain([&self.file]) {
            let _ = flock(&**file, FlockOperation::Unlock);
        }
    }
}

/// How long to wait for the lock.
#[derive(Clone, Copy, Debug)]
struct Limits {
    silence: Duration,
    patience: Duration,
    landing: Duration,
}

/// When to stop waiting for the lock, and whom to tell of a wait that takes long.
#[derive(Clone, Copy)]
struct Until<'u> {
    limits: Limits,
    cancel: &'u Cancel,
    tell: &'u dyn Fn(&Waiting),
}

/// How waiting for the lock on a file has ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Locked,
    /// The file system refuses to lock it.
    Refused(Errno),
}

/// Waits for the lock in our folder for a repository and for the one on the repository's directory,
/// and returns both. Fails if `cancel` is killed. Reports through `tell` a wait that takes long.
pub(crate) fn take(
    folder: &Path,
    repository: &Path,
    work: Work,
    cancel: &Cancel,
    tell: &dyn Fn(&Waiting),
) -> Result<Held, GitError> {
    let limits = Limits {
        silence: SILENCE,
        patience: PATIENCE,
        landing: LANDING_PATIENCE,
    };
    let until = Until {
        limits,
        cancel,
        tell,
    };
    let held = take_until(folder, work, until)?;
    // A lock on the directory carries no signature, so its holder may be doing a landing.
    let limits = Limits {
        patience: LANDING_PATIENCE,
        ..limits
    };
    join(held, repository, Until { limits, ..until })
}

fn take_until(folder: &Path, work: Work, until: Until<'_>) -> Result<Held, GitError> {
    orchestrate_files::create_folder(folder).map_err(GitError::io("make", folder))?;
    let path = folder.join(LOCK_FILE);
    let mut file = orchestrate_files::open_or_create(&path).map_err(GitError::io("open", &path))?;
    let queue = Queue::for_file(&path);
    let turn = wait_for(&file, &path, until, |within| Ok(queue.take(within)))?;
    let mut lock = FileLock::new(&file);
    if let Ended::Refused(error) = wait_for(&file, &path, until, |within| lock.take(within))? {
        return Err(GitError::errno("lock", &path)(error));
    }
    let signed = file
        .set_len(0)
        .and_then(|()| file.write_all(work.signature().as_bytes()));
    signed.map_err(GitError::io("write", &path))?;
    Ok(Held {
        file: Arc::new(file.into()),
        repository: None,
        folder: folder.to_owned(),
        _turn: turn,
    })
}

/// Waits for the lock on the repository's own directory as well.
fn join(mut held: Held, repository: &Path, until: Until<'_>) -> Result<Held, GitError> {
    let file = File::open(repository).map_err(GitError::io("open", repository))?;
    let is_locked =
        flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    if is_locked && Holder::find(&file).is_some_and(|holder| holder.is_anothers()) {
        return Ok(held);
    }
    // Not every file system can lock a directory (flock(2) about NFS). Without this lock, only
    // processes with the same state folder exclude each other.
    let mut lock = FileLock::new(&file);
    let ended = wait_for(&file, repository, until, |within| lock.take(within))?;
    if ended == Ended::Locked {
        held.repository = Some(Arc::new(file.into()));
    }
    Ok(held)
}

/// Waits until an attempt succeeds, each of which may block for a time; `file` is what the holder
/// has locked.
fn wait_for<T>(
    file: &File,
    path: &Path,
    until: Until<'_>,
    mut attempt: impl FnMut(Duration) -> Result<Option<T>, GitError>,
) -> Result<T, GitError> {
    if let Some(taken) = attempt(Duration::ZERO)? {
        return Ok(taken);
    }
    let (begun, limits) = (Instant::now(), until.limits);
    // Looking at who holds it costs more than most waits.
    let unseen = NEXT_LOOK.min(limits.silence).min(limits.patience);
    if let Some(taken) = attempt(unseen)? {
        return Ok(taken);
    }
    let mut wait = Wait::begin(path, file, limits, begun);
    loop {
        if until.cancel.is_killed() {
            return Err(GitError::Killed);
        }
        wait.go_on(file, until.tell)?;
        if let Some(taken) = attempt(NEXT_LOOK)? {
            return Ok(taken);
        }
    }
}

/// The threads of this process that want the lock on one file.
#[derive(Debug, Default)]
struct Queue {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// A thread's turn at the lock on a file, until it is dropped.
#[derive(Debug)]
struct Turn(Arc<Queue>);

impl Queue {
    /// Returns the queue for a lock file. It stays as long as the process, one for each repository.
    fn for_file(path: &Path) -> Arc<Queue> {
        static QUEUES: Mutex<BTreeMap<PathBuf, Arc<Queue>>> = Mutex::new(BTreeMap::new());
        Arc::clone(QUEUES.lock().entry(path.to_owned()).or_default())
    }

    /// Waits up to this long for this thread's turn.
    fn take(self: &Arc<Self>, within: Duration) -> Option<Turn> {
        let waited = self
            .freed
            .wait_timeout_while(self.is_taken.lock(), within, |is_taken| *is_taken);
        let (mut is_taken, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        *is_taken = true;
        Some(Turn(Arc::clone(self)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.is_taken.lock() = false;
        self.0.freed.notify_one();
    }
}

/// The lock on a file, which other processes take too.
struct FileLock<'f> {
    file: &'f File,
    /// How the thread that blocks for it says that the kernel has answered.
    answer: Option<Receiver<Ended>>,
}

impl<'f> FileLock<'f> {
    fn new(file: &'f File) -> Self {
        Self { file, answer: None }
    }

    /// Waits up to this long for the lock.
    fn take(&mut self, within: Duration) -> Result<Option<Ended>, GitError> {
        let answer = match self.answer.take() {
            Some(answer) => answer,
            None => match lock(self.file, FlockOperation::NonBlockingLockExclusive) {
                Ended::Refused(Errno::WOULDBLOCK) if within.is_zero() => return Ok(None),
                Ended::Refused(Errno::WOULDBLOCK) => self.block()?,
                ended => return Ok(Some(ended)),
            },
        };
        match answer.recv_timeout(within) {
            Ok(ended) => Ok(Some(ended)),
            Err(RecvTimeoutError::Timeout) => {
                self.answer = Some(answer);
                Ok(None)
            }
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("BUG: a thread that waits for a lock ends without an answer")
            }
        }
    }

    /// Blocks for the lock in a thread of its own, since nothing else ends a wait in the kernel. If
    /// nobody waits for its answer any more, the thread releases the lock as soon as it gets it.
    fn block(&self) -> Result<Receiver<Ended>, GitError> {
        let failed = GitError::io("wait for", LOCK_FILE);
        // The copy is the same open file, to which the lock belongs.
        let file = self.file.try_clone().map_err(&failed)?;
        // Without room in it, an answer that is not awaited any more cannot be sent.
        let (answered, answer) = sync_channel(0);
        let wait = move || {
            let ended = lock(&file, FlockOperation::LockExclusive);
            if answered.send(ended).is_err() {
                let _ = flock(&file, FlockOperation::Unlock);
            }
        };
        std::thread::Builder::new()
            .name("lock".to_owned())
            .spawn(wait)
            .map_err(&failed)?;
        Ok(answer)
    }
}

/// Locks a file, again if a signal interrupts that.
fn lock(file: &File, operation: FlockOperation) -> Ended {
    loop {
        match flock(file, operation) {
            Ok(()) => return Ended::Locked,
            Err(Errno::INTR) => {}
            Err(error) => return Ended::Refused(error),
        }
    }
}

/// A wait for the lock that is in progress.
struct Wait {
    path: PathBuf,
    limits: Limits,
    holder: Option<Holder>,
    begun: Instant,
    /// Since when the same process has held it.
    since: Instant,
    looked: Instant,
    is_told: bool,
}

impl Wait {
    fn begin(path: &Path, file: &File, limits: Limits, begun: Instant) -> Self {
        Self {
            path: path.to_owned(),
            limits,
            holder: Holder::find(file),
            begun,
            since: begun,
            looked: begun,
            is_told: false,
        }
    }

    /// Looks up the holder from time to time, reports a long wait once, and fails at the time
    /// limit.
    fn go_on(&mut self, file: &File, tell: &dyn Fn(&Waiting)) -> Result<(), GitError> {
        let now = Instant::now();
        let patience = self.patience();
        let is_at_end = now.duration_since(self.begun) >= self.limits.landing;
        let is_over = is_at_end || now.duration_since(self.since) >= patience;
        if is_over || now.duration_since(self.looked) >= NEXT_LOOK {
            self.looked = now;
            let holder = Holder::find(file);
            if holder != self.holder && !is_at_end {
                // Another process has got the lock, so the queue moves: start again, within the
                // overall limit.
                self.holder = holder;
                self.since = now;
                return Ok(());
            }
        }
        if is_over {
            let seconds = now.duration_since(self.since).as_secs();
            let (path, holder) = (self.path.clone(), self.holder.clone());
            return Err(GitError::Busy {
                path,
                seconds,
                holder,
            });
        }
        if !self.is_told && now.duration_since(self.begun) >= self.limits.silence {
            self.is_told = true;
            let left = patience.saturating_sub(now.duration_since(self.since));
            tell(&Waiting {
                holder: self.holder.clone(),
                left,
            });
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        let lands = self
            .holder
            .as_ref()
            .is_some_and(Holder::is_landing_that_goes_on);
        if lands {
            self.limits.landing
        } else {
            self.limits.patience
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::unix::fs::MetadataExt as _;

    use crate::program::lock_holder;

    use super::*;

    const AT_ONCE: Limits = Limits {
        silence: Duration::ZERO,
        patience: Duration::ZERO,
        landing: Duration::ZERO,
    };
    const FOREVER: Duration = Duration::from_secs(3600);

    fn take_within(
        folder: &Path,
        work: Work,
        limits: Limits,
        tell: &dyn Fn(&Waiting),
    ) -> Result<Held, GitError> {
        let cancel = &Cancel::new();
        take_until(
            folder,
            work,
            Until {
                limits,
                cancel,
                tell,
            },
        )
    }

    #[test]
    fn who_is_killed_waits_no_more() {
        let (folder, cancel) = (tempfile::tempdir().unwrap(), Cancel::new());
        let held = take_within(folder.path(), Work::Landing, AT_ONCE, &|_| ()).unwrap();
        let limits = Limits {
            silence: Duration::ZERO,
            patience: FOREVER,
            landing: FOREVER,
        };
        let until = Until {
            limits,
            cancel: &cancel,
            tell: &|_| cancel.kill(),
        };
        let ended = take_until(folder.path(), Work::Worktree, until);
        assert!(matches!(ended, Err(GitError::Killed)), "{ended:?}");
        drop(held);
    }

    #[test]
    fn waiting_has_a_limit_and_names_the_holder_and_what_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let held = take_within(folder.path(), Work::Landing, AT_ONCE, &|_| ()).unwrap();
        let error = take_within(folder.path(), Work::Worktree, AT_ONCE, &|_| ()).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains(&format!("process {}", std::process::id())),
            "{said}"
        );
        assert!(said.contains("orchestrate, which lands a branch"), "{said}");
        drop(held);
        take_within(folder.path(), Work::Worktree, AT_ONCE, &|_| ()).unwrap();
    }

    #[test]
    fn two_states_of_one_repository_wait_for_each_other() {
        let [one, other, repository] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let take = |state: &tempfile::TempDir| {
            let until = Until {
                limits: AT_ONCE,
                cancel: &Cancel::new(),
                tell: &|_| (),
            };
            let held = take_until(state.path(), Work::Landing, until)?;
            join(held, repository.path(), until)
        };
        let held = take(&one).unwrap();
        let error = take(&other).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        let goes_on = held
            .files()
            .map(|file| file.try_clone().unwrap())
            .collect::<Vec<_>>();
        drop(held);
        assert_eq!(goes_on.len(), 2);
        take(&other).unwrap();
    }

    #[test]
    fn a_holder_that_is_none_of_ours_is_named_by_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        drop(take_within(folder.path(), Work::Landing, AT_ONCE, &|_| ()).unwrap());
        let stranger = orchestrate_files::open_or_create(&folder.path().join(LOCK_FILE)).unwrap();
        flock(&stranger, FlockOperation::LockExclusive).unwrap();
        let error = take_within(folder.path(), Work::Undo, AT_ONCE, &|_| ()).unwrap_err();
        let GitError::Busy {
            holder: Some(holder),
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!((holder.pid, holder.work), (std::process::id(), None));
        assert!(!error.to_string().contains("lands a branch"), "{error}");
    }

    #[test]
    fn who_waits_for_another_process_blocks_in_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        // Another open file is as good as another process.
        let other = orchestrate_files::open_or_create(&folder.path().join(LOCK_FILE)).unwrap();
        flock(&other, FlockOperation::LockExclusive).unwrap();
        let inode = other.metadata().unwrap().ino();
        std::thread::scope(|scope| {
            let limits = Limits {
                silence: FOREVER,
                patience: FOREVER,
                landing: FOREVER,
            };
            let path = folder.path();
            let waits = scope.spawn(move || take_within(path, Work::Landing, limits, &|_| ()));
            // The kernel lists who blocks; who asks again and again is never listed.
            let begun = Instant::now();
            while !lock_holder::is_awaited(inode) {
                assert!(begun.elapsed() < LANDING_PATIENCE, "nobody blocks");
                std::thread::yield_now();
            }
            flock(&other, FlockOperation::Unlock).unwrap();
            drop(waits.join().unwrap().unwrap());
        });
    }

    #[test]
    fn a_wait_that_was_given_up_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let other = orchestrate_files::open_or_create(&folder.path().join(LOCK_FILE)).unwrap();
        flock(&other, FlockOperation::LockExclusive).unwrap();
        let limits = Limits {
            silence: FOREVER,
            patience: Duration::from_nanos(1),
            landing: FOREVER,
        };
        take_within(folder.path(), Work::Landing, limits, &|_| ()).unwrap_err();
        flock(&other, FlockOperation::Unlock).unwrap();
        let limits = Limits {
            patience: FOREVER,
            ..limits
        };
        drop(take_within(folder.path(), Work::Landing, limits, &|_| ()).unwrap());
    }

    #[test]
    fn who_waits_is_told_once_and_before_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let held = RefCell::new(Some(
            take_within(folder.path(), Work::Worktree, AT_ONCE, &|_| ()).unwrap(),
        ));
        let told = RefCell::new(Vec::new());
        let limits = Limits {
            silence: Duration::ZERO,
            patience: FOREVER,
            landing: FOREVER,
        };
        // The wait ends only because the lock is released when the wait is reported.
        let tell = |waiting: &Waiting| {
            told.borrow_mut().push(waiting.clone());
            held.take();
        };
        drop(take_within(folder.path(), Work::Landing, limits, &tell).unwrap());
        let told = told.into_inner();
        assert_eq!(told.len(), 1);
        let holder = told[0].holder.clone().unwrap();
        assert_eq!(
            (holder.pid, holder.work),
            (std::process::id(), Some(Work::Worktree))
        );
        assert!(told[0].left > Duration::ZERO && told[0].left <= FOREVER);
    }

    #[test]
    fn a_queue_of_one_process_is_seen_to_move() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits {
            silence: FOREVER,
            patience: Duration::ZERO,
            landing: FOREVER,
        };
        let first = take_within(folder.path(), Work::Worktree, limits, &|_| ()).unwrap();
        let path = folder.path().join(LOCK_FILE);
        let file = orchestrate_files::open_or_create(&path).unwrap();
        let mut wait = Wait::begin(&path, &file, limits, Instant::now());
        drop(first);
        let _second = take_within(folder.path(), Work::Worktree, limits, &|_| ()).unwrap();
        wait.go_on(&file, &|_| ()).unwrap();
        wait.go_on(&file, &|_| ()).unwrap_err();
    }

    #[test]
    fn only_a_landing_is_waited_for_longer() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits {
            silence: Duration::ZERO,
            patience: Duration::ZERO,
            landing: FOREVER,
        };
        let held = RefCell::new(Some(
            take_within(folder.path(), Work::Landing, limits, &|_| ()).unwrap(),
        ));
        let tell = |_: &Waiting| drop(held.take());
        drop(take_within(folder.path(), Work::Worktree, limits, &tell).unwrap());
        let _held = take_within(folder.path(), Work::Worktree, limits, &|_| ()).unwrap();
        take_within(folder.path(), Work::Landing, limits, &|_| ()).unwrap_err();
    }
}
