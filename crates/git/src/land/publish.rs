//! Pushing a result to the user's remote, and opening a pull request there.
//!
//! Git pushes from a room (see [`crate::repo::scratch_repo`]) to the remote's address, with the user's own
//! configuration alone: a program for connecting or for passwords that only the repository's configuration names is
//! not run.

use std::path::Path;

use orchestrate_core::{Oid, shell_word};

use crate::error::GitError;
use crate::land::handle::Landing;
use crate::repo::refs::branch_ref;
use crate::repo::scratch_repo::Room;

/// A remote of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Its address for pushing.
    pub address: String,
}

/// A request to merge one branch of a remote into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// The branch with the work.
    pub head: String,
    /// The branch to merge it into.
    pub base: String,
    /// The title.
    pub title: String,
    /// The description.
    pub body: String,
}

/// A program that opens pull requests.
#[derive(Clone, Copy)]
enum Forge {
    GitHub,
    GitLab,
}

impl Forge {
    /// Returns the programs to try for an address: the one of its server, or both if the server is unknown.
    fn of(address: &str) -> &'static [Forge] {
        match address {
            address if address.contains("github") => &[Forge::GitHub],
            address if address.contains("gitlab") => &[Forge::GitLab],
            _ => &[Forge::GitHub, Forge::GitLab],
        }
    }

    fn program(self) -> &'static str {
        match self {
            Forge::GitHub => "gh",
            Forge::GitLab => "glab",
        }
    }

    fn arguments(self, request: &PullRequest) -> Vec<String> {
        let PullRequest { head, base, title, body } = request;
        let (kind, options) = match self {
            Forge::GitHub => ("pr", ["--head", "--base", "--title", "--body"]),
            Forge::GitLab => ("mr", ["--source-branch", "--target-branch", "--title", "--description"]),
        };
        let mut arguments = vec![kind.to_owned(), "create".to_owned()];
        for (option, value) in options.into_iter().zip([head, base, title, body]) {
            arguments.extend([option.to_owned(), value.clone()]);
        }
        // It would otherwise ask for confirmation.
        arguments.extend(matches!(self, Forge::GitLab).then(|| "--yes".to_owned()));
        arguments
    }

    fn command_line(self, request: &PullRequest) -> String {
        let words = self.arguments(request).into_iter().map(shell_word);
        std::iter::once(self.program().to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }
}

impl Landing<'_> {
    /// Returns the remote that git would push a branch to.
    ///
    /// # Errors
    /// [`GitError::NoRemote`].
    pub fn push_remote(&self, branch: &str) -> Result<Remote, GitError> {
        let found = self.repo.shared.configuration.push_remote(branch);
        let (name, address) = found.ok_or_else(|| GitError::NoRemote { branch: branch.to_owned() })?;
        Ok(Remote { name, address })
    }

    /// Pushes a commit to a branch of a remote, which is only ever moved forward.
    ///
    /// # Errors
    /// [`GitError::NotPushed`]; also for a remote that is a folder of this repository, whose hooks may have come with
    /// it.
    pub fn push(&self, remote: &Remote, commit: &Oid, branch: &str) -> Result<(), GitError> {
        let refused = |reason: &str| GitError::NotPushed { remote: remote.name.clone(), reason: reason.to_owned() };
        if self.is_own_folder(&self.resolved(remote)) {
            return Err(refused("its address is a folder of this repository"));
        }
        let room = Room::new()?;
        let update = format!("{commit}:{}", branch_ref(branch));
        let objects = self.repo.common_dir().join("objects");
        let args = ["--quiet".to_owned(), "--no-verify".to_owned(), "--".to_owned(), self.resolved(remote), update];
        let ended = self.repo.program.run_push(&room, &objects, args)?;
        if ended.code == 0 {
            return Ok(());
        }
        Err(refused(ended.stderr.trim()))
    }

    fn is_own_folder(&self, address: &str) -> bool {
        let path = Path::new(address.strip_prefix("file://").unwrap_or(address));
        let Ok(real) = path.canonicalize() else { return false };
        [self.repo.workdir(), self.repo.common_dir()]
            .iter()
            .filter_map(|own| own.canonicalize().ok())
            .any(|own| real.starts_with(own))
    }

    /// Opens a pull request with the program for the remote's server, and returns what it printed, or `None` if that
    /// program is not installed.
    ///
    /// # Errors
    /// [`GitError::Forge`].
    pub fn open_request(&self, remote: &Remote, request: &PullRequest) -> Result<Option<String>, GitError> {
        let found = Forge::of(&remote.address).iter().find_map(|forge| {
            let program = self.repo.program.find_forge(forge.program())?;
            Some((forge, program))
        });
        let Some((forge, program)) = found else { return Ok(None) };
        let mut arguments = forge.arguments(request);
        arguments.extend(["--repo".to_owned(), remote.address.clone()]);
        // Not in the checkout: these programs start git there, which may run what the repository's configuration names.
        let room = Room::new()?;
        let ended = self.repo.program.run_forge(&program, room.work_tree(), &arguments)?;
        if ended.code != 0 {
            let complaint = ended.stderr.trim().to_owned();
            let reason = format!("exit code {}: {complaint}", ended.code);
            return Err(GitError::Forge { program: forge.program(), reason });
        }
        Ok(Some(String::from_utf8_lossy(&ended.stdout).trim().to_owned()))
    }

    /// Returns the command lines that open a pull request, one for each program that may fit the remote's server.
    pub fn request_commands(&self, remote: &Remote, request: &PullRequest) -> Vec<String> {
        Forge::of(&remote.address).iter().map(|forge| forge.command_line(request)).collect()
    }

    /// Returns a remote's address; a relative path counts from the user's checkout.
    fn resolved(&self, remote: &Remote) -> String {
        let address = &remote.address;
        let is_path = !address.contains("://") && !address.split('/').next().unwrap_or_default().contains(':');
        match is_path && !address.starts_with('~') {
            true => self.repo.workdir().join(address).display().to_string(),
            false => address.clone(),
        }
    }
}
