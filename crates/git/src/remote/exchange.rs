//! Pushes to a remote repository and fetches from it.
//!
//! Git runs in a scratch repository (see [`crate::program::scratch_repo`]) with the user's own
//! configuration alone, so a program for connecting or for passwords that only the repository's
//! configuration names is not run, and no hook is. The scratch repository names one remote, with
//! the address that was decided about. A password that the address contained is in a file there, so
//! that no process has it among its arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use orchestrate_core::policy::host::{GitAddress, Login};
use orchestrate_core::{Oid, shell_word};

use crate::error::GitError;
use crate::error::remote::{RemoteError, RemoteFailure};
use crate::program::configuration::text_of;
use crate::program::run::{Ended, Reach};
use crate::program::scratch_repo::ScratchRepo;
use crate::remote::address::Remotes;
use crate::remote::failure::worth_saying;
use crate::remote::quarantine::Quarantine;
use crate::repo::refs::branch_ref;

/// The scratch repository's name for the remote: one that no configuration of a user's has.
pub(super) const REMOTE: &str = "orchestrate-exchange";
/// The scratch repository's branches for what the repository has already, so that it is not fetched
/// again.
const HAVE: [&str; 2] = ["have", "have-too"];
/// The scratch repository's branch for what was fetched.
const FETCHED: &str = "fetched";
/// The code with which `git merge-base` ends if two commits have none in common.
const UNRELATED: i32 = 1;
/// The name of the file with a password.
const PASSWORDS: &str = "passwords";
/// The option by which git's own store of passwords is told its file.
const FILE_OPTION: &str = "--file=";
/// What is said if the server wants a password, and only the repository's own configuration names a
/// program for it.
const IGNORED_HELPER: &str = "the repository's own configuration names a program for passwords \
                              (`credential.helper` or `core.askPass`), which is not run; the user \
                              can name it in their own git configuration";
/// After how many seconds without a byte a connection of the web is given up.
const SILENCE_SECONDS: &str = "60";

/// A branch of a remote repository.
#[derive(Clone, Copy, Debug)]
pub struct RemoteBranch<'a> {
    /// The remote's name.
    pub remote: &'a str,
    /// Its address.
    pub address: &'a GitAddress,
    /// The branch's short name there.
    pub branch: &'a str,
}

/// On which terms a remote is used.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The time limit.
    pub timeout: Duration,
    /// Whether the user is there: if not, nothing may ask a question, and no redirect is followed.
    pub is_attended: bool,
}

/// What a push did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is new there.
    Created,
    /// The branch was moved forward.
    Forwarded,
    /// The branch had the commit already.
    UpToDate,
}

/// What git is started for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    pub(super) command: &'static str,
    /// The same in words, as a bare infinitive.
    pub(super) doing: &'static str,
    pub(super) remote: &'a str,
    /// What takes the objects that come; with `None` they become the repository's own at once.
    pub(super) into: Option<&'a Quarantine>,
}

impl Remotes<'_> {
    /// Pushes a commit to a branch of a remote, which is only ever moved forward.
    ///
    /// # Errors
    /// [`RemoteError::Failed`]; [`GitError::Killed`], after which the branch may have been moved.
    pub fn push(
        &self,
        to: RemoteBranch<'_>,
        commit: &Oid,
        terms: Terms,
    ) -> Result<Pushed, GitError> {
        self.send(to, commit, terms, None)
    }

    /// Moves a branch of a remote from one commit to another, which need not contain it, unless it
    /// is elsewhere by now.
    ///
    /// # Errors
    /// As [`Remotes::push`].
    pub fn replace(
        &self,
        to: RemoteBranch<'_>,
        [old, new]: [&Oid; 2],
        terms: Terms,
    ) -> Result<(), GitError> {
        let lease = format!("--force-with-lease={}:{old}", branch_ref(to.branch));
        self.send(to, new, terms, Some(&lease)).map(drop)
    }

    /// Pushes a commit, with the option that allows to move the branch otherwise than forward, if
    /// there is one.
    fn send(
        &self,
        to: RemoteBranch<'_>,
        commit: &Oid,
        terms: Terms,
        lease: Option<&str>,
    ) -> Result<Pushed, GitError> {
        let scratch = self.scratch(to.address, terms)?;
        let update = format!("{commit}:{}", branch_ref(to.branch));
        let mut args = vec![
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ];
        args.extend(lease);
        args.extend(["--", REMOTE, update.as_str()]);
        let task = Task {
            command: "push",
            doing: "push to",
            remote: to.remote,
            into: None,
        };
        Ok(pushed(&self.reach(&scratch, terms, task, &args)?))
    }

    /// Asks a remote for the commit of a branch; `None` if it has no such branch.
    ///
    /// # Errors
    /// As [`Remotes::push`].
    pub fn tip(&self, of: RemoteBranch<'_>, terms: Terms) -> Result<Option<Oid>, GitError> {
        let scratch = self.scratch(of.address, terms)?;
        let task = Task {
            command: "ls-remote",
            doing: "reach",
            remote: of.remote,
            into: None,
        };
        let name = branch_ref(of.branch);
        let ended = self.reach(&scratch, terms, task, &["--", REMOTE, name.as_str()])?;
        let listed = String::from_utf8_lossy(&ended.stdout).into_owned();
        // Git also lists refs whose names only end like this one.
        let mut refs = listed.lines().filter_map(|line| line.split_once('\t'));
        Ok(refs
            .find(|(_, found)| *found == name)
            .map(|(commit, _)| Oid::new(commit)))
    }

    /// Fetches a branch of a remote, and returns its commit, which no ref holds yet; `None` if it
    /// has no commit in common with the first of the two, whose commits are not fetched again. Of
    /// what is refused, nothing is left.
    ///
    /// # Errors
    /// As [`Remotes::push`], among them one for more than `max_bytes` bytes in one file of git's.
    pub fn fetch(
        &self,
        from: RemoteBranch<'_>,
        have: [&Oid; 2],
        terms: Terms,
        max_bytes: u64,
    ) -> Result<Option<Oid>, GitError> {
        let scratch = self.scratch(from.address, terms)?;
        let quarantine = Quarantine::beside(self.repo.common_dir().join("objects"), max_bytes)?;
        let ([first, second], [one, two]) = (HAVE, have);
        scratch.name([(first, one), (second, two)])?;
        let wanted = format!("+{}:{}", branch_ref(from.branch), branch_ref(FETCHED));
        let args = [
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-commit-graph",
            "--refmap=",
            "--",
            REMOTE,
            &wanted,
        ];
        let task = Task {
            command: "fetch",
            doing: "fetch from",
            remote: from.remote,
            into: Some(&quarantine),
        };
        self.reach(&scratch, terms, task, &args)?;
        let path = scratch.git_dir().join("refs/heads").join(FETCHED);
        let commit = std::fs::read_to_string(&path).map_err(GitError::io("read", &path))?;
        let commit = Oid::new(commit.trim());
        let task = Task {
            command: "merge-base",
            doing: "compare with",
            ..task
        };
        match self.run(&scratch, terms, task, &[one.as_str(), commit.as_str()])? {
            Some(ended) if ended.code == UNRELATED => return Ok(None),
            Some(ended) if ended.code != 0 => return Err(ended.failure(task.command)),
            Some(_) => quarantine.accept()?,
            None => return Err(late(task, terms)),
        }
        Ok(Some(commit))
    }

    /// Asks a remote for its default branch; `None` if it has none.
    ///
    /// # Errors
    /// As [`Remotes::push`].
    pub fn default_branch(
        &self,
        remote: &str,
        address: &GitAddress,
        terms: Terms,
    ) -> Result<Option<String>, GitError> {
        let scratch = self.scratch(address, terms)?;
        let task = Task {
            command: "ls-remote",
            doing: "reach",
            remote,
            into: None,
        };
        let ended = self.reach(&scratch, terms, task, &["--symref", "--", REMOTE, "HEAD"])?;
        let listed = String::from_utf8_lossy(&ended.stdout).into_owned();
        let head = listed
            .lines()
            .find_map(|line| line.strip_prefix("ref: refs/heads/")?.split('\t').next());
        Ok(head.map(str::to_owned))
    }

    /// Runs git in the scratch repository; returns `None` if it was not done in time.
    fn run(
        &self,
        scratch: &ScratchRepo,
        terms: Terms,
        task: Task<'_>,
        args: &[&str],
    ) -> Result<Option<Ended>, GitError> {
        let repo = self.repo;
        let shallow = repo.common_dir().join("shallow");
        let own = repo.common_dir().join("objects");
        let reach = Reach {
            objects: task.into.map_or(own.as_path(), Quarantine::path),
            borrowed: task.into.map(Quarantine::borrowed),
            file_bytes: task.into.map(Quarantine::max_bytes),
            shallow: shallow.exists().then_some(shallow.as_path()),
            timeout: terms.timeout,
            is_attended: terms.is_attended,
            ssh: repo.shared.configuration.users_ssh(),
        };
        repo.program.run_reach(scratch, &reach, task.command, args)
    }

    /// Runs git in the scratch repository, and requires that it has done its task.
    pub(super) fn reach(
        &self,
        scratch: &ScratchRepo,
        terms: Terms,
        task: Task<'_>,
        args: &[&str],
    ) -> Result<Ended, GitError> {
        let (cause, mut said) = match self.run(scratch, terms, task, args)? {
            Some(ended) if ended.code == 0 => return Ok(ended),
            Some(ended) => {
                if let Some(max_bytes) = full(task.into)? {
                    return Err(failed(
                        task,
                        RemoteFailure::TooLarge { max_bytes },
                        String::new(),
                    ));
                }
                let report = String::from_utf8_lossy(&ended.stdout).into_owned();
                let refused: Vec<&str> = report
                    .lines()
                    .filter(|line| line.starts_with('!'))
                    .collect();
                let said = [refused.join("\n").as_str(), ended.stderr.as_str()].join("\n");
                (RemoteFailure::from_output(&said), worth_saying(&said))
            }
            None => return Err(late(task, terms)),
        };
        if cause == RemoteFailure::Unauthenticated
            && self.repo.shared.configuration.ignores_helper()
        {
            said = [IGNORED_HELPER, said.as_str()].join("\n");
        }
        Err(failed(task, cause, said))
    }

    /// Creates a scratch repository that names the remote.
    fn scratch(&self, address: &GitAddress, terms: Terms) -> Result<ScratchRepo, GitError> {
        self.scratch_with(address, terms, &[])
    }

    /// The same with further settings.
    pub(super) fn scratch_with(
        &self,
        address: &GitAddress,
        terms: Terms,
        more: &[(&str, &str)],
    ) -> Result<ScratchRepo, GitError> {
        let scratch = ScratchRepo::new()?;
        let text = OsString::from(address.as_str());
        let set = |key: &str, value: &str| (key.to_owned(), OsString::from(value));
        let mut settings = vec![
            (format!("remote.{REMOTE}.url"), text.clone()),
            // The longest beginning that is replaced counts, so no other one is.
            (format!("url.{address}.insteadof"), text.clone()),
            (format!("url.{address}.pushinsteadof"), text),
            set("core.hookspath", "/dev/null"),
            set("core.fsync", "committed,reference"),
            set("gc.auto", "0"),
            // What comes is one pack, whose size is limited. The branches of the repository are
            // nobody's business.
            set("fetch.unpacklimit", "1"),
            set("core.alternaterefscommand", "true"),
            set("maintenance.auto", "false"),
            set("http.lowspeedlimit", "1"),
            set("http.lowspeedtime", SILENCE_SECONDS),
        ];
        if !terms.is_attended {
            settings.extend([
                set("http.followredirects", "false"),
                set("credential.interactive", "false"),
            ]);
        }
        settings.extend(self.repo.shared.configuration.without_hooks());
        settings.extend(more.iter().map(|(key, value)| set(key, value)));
        if let Some(login) = address.login() {
            settings.extend(credentials(login, || {
                scratch.leave(PASSWORDS, &stored(login))
            })?);
        }
        scratch.configure(settings.iter().map(|(key, value)| text_of(key, value)))?;
        Ok(scratch)
    }
}

fn late(task: Task<'_>, terms: Terms) -> GitError {
    failed(
        task,
        RemoteFailure::TimedOut {
            seconds: terms.timeout.as_secs(),
        },
        String::new(),
    )
}

fn failed(task: Task<'_>, cause: RemoteFailure, said: String) -> GitError {
    let (doing, remote) = (task.doing, task.remote.to_owned());
    GitError::Remote(RemoteError::Failed {
        doing,
        remote,
        cause,
        said,
    })
}

/// Returns the limit if more has come than it allows.
fn full(quarantine: Option<&Quarantine>) -> Result<Option<u64>, GitError> {
    let Some(quarantine) = quarantine else {
        return Ok(None);
    };
    Ok(quarantine.is_full()?.then(|| quarantine.max_bytes()))
}

/// Returns the settings by which git finds the user, and the password if there is one, of an
/// address.
fn credentials(
    login: &Login,
    store: impl FnOnce() -> Result<PathBuf, GitError>,
) -> Result<Vec<(String, OsString)>, GitError> {
    let mut settings = vec![(
        "credential.username".to_owned(),
        OsString::from(login.user()),
    )];
    if login.stored().is_some() {
        let helper = format!("store {FILE_OPTION}{}", shell_word(&store()?));
        // An empty one makes git forget those of the user, which may know another password.
        settings.extend(
            ["", helper.as_str()]
                .map(|helper| ("credential.helper".to_owned(), OsString::from(helper))),
        );
    }
    Ok(settings)
}

fn stored(login: &Login) -> String {
    login
        .stored()
        .map(|line| format!("{line}\n"))
        .unwrap_or_default()
}

/// Reads what `git push --porcelain` reports about the one branch.
fn pushed(ended: &Ended) -> Pushed {
    let report = String::from_utf8_lossy(&ended.stdout).into_owned();
    match report
        .lines()
        .find(|line| line.contains('\t'))
        .and_then(|line| line.chars().next())
    {
        Some('*') => Pushed::Created,
        Some('=') => Pushed::UpToDate,
        _ => Pushed::Forwarded,
    }
}
