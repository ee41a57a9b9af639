//! Pushing a result to the user's remote, and opening a pull request there.
//!
//! What is pushed, and how, is in [`crate::remote::exchange`].

use std::path::Path;

use orchestrate_core::policy::host::GitAddress;
use orchestrate_core::{Oid, shell_word};

use crate::error::GitError;
use crate::error::remote::{RemoteError, RemoteFailure};
use crate::land::move_branch::Landing;
use crate::program::run::TIMEOUT;
use crate::program::scratch_repo::ScratchRepo;
use crate::remote::exchange::{RemoteBranch, Terms};

/// A remote of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// Its address for pushing, as git would use it.
    pub address: GitAddress,
    /// The repository that the branch is fetched from, if that is another one: a pull request from
    /// a fork goes there.
    pub upstream: Option<GitAddress>,
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

/// A request that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// What the program that opens requests printed: its address, if it names that.
    pub said: String,
    /// Whether it was open before, so that the push alone has brought it up to date.
    pub was_open: bool,
}

/// A program that opens pull requests.
#[derive(Clone, Copy)]
enum Forge {
    GitHub,
    GitLab,
}

impl Forge {
    /// Returns the programs to try for an address: the one of its server, or both if the server is
    /// unknown. The path may name another server, of which it is a mirror.
    fn for_address(address: &GitAddress) -> &'static [Forge] {
        match address.host().map(ToString::to_string).unwrap_or_default() {
            host if host.contains("github") => &[Forge::GitHub],
            host if host.contains("gitlab") => &[Forge::GitLab],
            _ => &[Forge::GitHub, Forge::GitLab],
        }
    }

    fn program(self) -> &'static str {
        match self {
            Forge::GitHub => "gh",
            Forge::GitLab => "glab",
        }
    }

    /// Returns the arguments that open a request, except its description.
    fn arguments(self, remote: &Remote, request: &PullRequest) -> Vec<String> {
        let PullRequest {
            head, base, title, ..
        } = request;
        let fork = remote
            .upstream
            .as_ref()
            .map(|_| remote.address.path())
            .filter(|path| !path.is_empty());
        let head = &match (self, fork.and_then(|path| path.split_once('/'))) {
            (Forge::GitHub, Some((owner, _))) => format!("{owner}:{head}"),
            _ => head.clone(),
        };
        let (kind, options) = match self {
            Forge::GitHub => ("pr", ["--head", "--base", "--title"]),
            Forge::GitLab => ("mr", ["--source-branch", "--target-branch", "--title"]),
        };
        let mut arguments = vec![kind.to_owned(), "create".to_owned()];
        for (option, value) in options.into_iter().zip([head, base, title]) {
            arguments.extend([option.to_owned(), value.clone()]);
        }
        if matches!(self, Forge::GitLab) {
            arguments.extend(
                fork.into_iter()
                    .flat_map(|path| ["--head".to_owned(), path.to_owned()]),
            );
            // It would otherwise ask for confirmation.
            arguments.push("--yes".to_owned());
        }
        arguments
    }

    /// Returns the option for the description.
    fn description(self) -> &'static str {
        match self {
            Forge::GitHub => "--body",
            Forge::GitLab => "--description",
        }
    }

    /// Returns the command line with the description from a file: in one line it could not be read.
    fn command_line(self, remote: &Remote, request: &PullRequest, body: &Path) -> String {
        let file = shell_word(body);
        let description = match self {
            Forge::GitHub => format!("--body-file {file}"),
            Forge::GitLab => format!("{} \"$(cat {file})\"", self.description()),
        };
        let mut words = vec![self.program().to_owned()];
        words.extend(self.arguments(remote, request).into_iter().map(shell_word));
        words.extend([
            description,
            "--repo".to_owned(),
            shell_word(remote.merges_at().to_string()),
        ]);
        words.join(" ")
    }
}

impl Remote {
    /// Returns the address of the repository that a pull request is opened in.
    fn merges_at(&self) -> &GitAddress {
        self.upstream.as_ref().unwrap_or(&self.address)
    }
}

impl Landing<'_> {
    /// Returns the remote that git would push a branch to.
    ///
    /// # Errors
    /// [`GitError::NoRemote`]; [`RemoteError::Unusable`] if its address is refused, or is a folder
    /// of this repository, whose hooks may have come with it.
    pub fn push_remote(&self, branch: &str) -> Result<Remote, GitError> {
        let name = self.repo.shared.configuration.push_remote(branch);
        let address = self.repo.remotes().address_of_result(&name)?;
        let address = address.ok_or_else(|| GitError::NoRemote {
            branch: branch.to_owned(),
        })?;
        let upstream = self
            .fetched_from(branch)
            .filter(|upstream| !upstream.names_repository_of(&address));
        Ok(Remote {
            name,
            address,
            upstream,
        })
    }

    /// Returns the branch that a pull request for work on a branch is to be merged into: the one
    /// that it is fetched from, or one of its own name.
    pub fn request_base(&self, branch: &str) -> String {
        self.repo
            .shared
            .configuration
            .upstream_branch(branch)
            .unwrap_or_else(|| branch.to_owned())
    }

    /// Returns the address at a server that a branch is fetched from.
    fn fetched_from(&self, branch: &str) -> Option<GitAddress> {
        let configuration = &self.repo.shared.configuration;
        let address = configuration
            .remote_addresses(&configuration.fetch_remote(branch), false)
            .into_iter()
            .next()?;
        // Git could not fetch from an address that is none.
        GitAddress::parse(&address)
            .ok()
            .filter(|address| address.host().is_some())
    }

    /// Pushes a commit to a branch of a remote. The branch is moved forward, or away from a commit
    /// that one of the replaced ones contains, so that no other commit is lost.
    ///
    /// # Errors
    /// [`GitError::Unreplaceable`] if the branch has other commits; [`GitError::NotPushed`].
    pub fn push(
        &self,
        remote: &Remote,
        commit: &Oid,
        branch: &str,
        replaced: &[Oid],
    ) -> Result<(), GitError> {
        let refused = |reason: String| GitError::NotPushed {
            remote: remote.name.clone(),
            reason,
        };
        let terms = Terms {
            timeout: TIMEOUT,
            is_attended: true,
        };
        let to = RemoteBranch {
            remote: &remote.name,
            address: &remote.address,
            branch,
        };
        let pushed = match self.repo.remotes().push(to, commit, terms) {
            Err(GitError::Remote(RemoteError::Failed {
                cause: RemoteFailure::NotFastForward,
                ..
            })) => self.push_over(to, commit, terms, replaced),
            pushed => pushed.map(drop),
        };
        pushed.map_err(|error| match error {
            GitError::Remote(RemoteError::Failed { cause, said, .. }) if said.is_empty() => {
                refused(cause.to_string())
            }
            GitError::Remote(RemoteError::Failed { said, .. }) => refused(said),
            other => other,
        })
    }

    /// Pushes a commit to a branch that it does not contain.
    fn push_over(
        &self,
        to: RemoteBranch<'_>,
        commit: &Oid,
        terms: Terms,
        replaced: &[Oid],
    ) -> Result<(), GitError> {
        let remotes = self.repo.remotes();
        let Some(found) = remotes.tip(to, terms)? else {
            // It was deleted meanwhile.
            return remotes.push(to, commit, terms).map(drop);
        };
        if !self.is_within_any(&found, replaced)? {
            let (remote, branch) = (to.remote.to_owned(), to.branch.to_owned());
            return Err(GitError::Unreplaceable {
                remote,
                branch,
                found,
            });
        }
        remotes.replace(to, [&found, commit], terms)
    }

    /// Reports whether one of these commits, as far as they still exist, contains another one.
    fn is_within_any(&self, commit: &Oid, others: &[Oid]) -> Result<bool, GitError> {
        if !self.repo.has_object(commit)? {
            return Ok(false);
        }
        for other in others {
            if self.repo.has_object(other)? && self.repo.contains(other, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens a pull request with the program for the remote's server, unless one is open already;
    /// returns `None` if that program is not installed.
    ///
    /// # Errors
    /// [`GitError::Forge`].
    pub fn open_request(
        &self,
        remote: &Remote,
        request: &PullRequest,
    ) -> Result<Option<OpenRequest>, GitError> {
        let found = Forge::for_address(remote.merges_at())
            .iter()
            .find_map(|forge| {
                let program = self.repo.program.find_forge(forge.program())?;
                Some((forge, program))
            });
        let Some((forge, program)) = found else {
            return Ok(None);
        };
        let mut arguments = forge.arguments(remote, request);
        arguments.extend([forge.description().to_owned(), request.body.clone()]);
        arguments.extend(["--repo".to_owned(), remote.merges_at().to_string()]);
        // Not in the checkout: these programs start git there, which may run what the repository's
        // configuration names.
        let scratch = ScratchRepo::new()?;
        let ended = self
            .repo
            .program
            .run_forge(&program, scratch.work_tree(), &arguments)?;
        if ended.code == 0 {
            let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
            return Ok(Some(OpenRequest {
                said,
                was_open: false,
            }));
        }
        let complaint = ended.stderr.trim();
        if let Some(said) = open_already(complaint) {
            return Ok(Some(OpenRequest {
                said: said.to_owned(),
                was_open: true,
            }));
        }
        let reason = format!("exit code {}: {complaint}", ended.code);
        Err(GitError::Forge {
            program: forge.program(),
            reason,
        })
    }

    /// Returns the command lines that open a pull request with the description in a file, one for
    /// each program that may fit the remote's server.
    pub fn request_commands(
        &self,
        remote: &Remote,
        request: &PullRequest,
        body: &Path,
    ) -> Vec<String> {
        Forge::for_address(remote.merges_at())
            .iter()
            .map(|forge| forge.command_line(remote, request, body))
            .collect()
    }
}

/// Returns what is worth repeating of a complaint that a request for the branch is open: its
/// address, which `gh` writes on a line of its own.
fn open_already(complaint: &str) -> Option<&str> {
    let lower = complaint.to_lowercase();
    let is_one = lower.contains("already exists")
        && (lower.contains("pull request") || lower.contains("merge request"));
    is_one.then(|| {
        complaint
            .lines()
            .map(str::trim)
            .find(is_address)
            .unwrap_or(complaint)
    })
}

fn is_address(line: &&str) -> bool {
    line.starts_with("https://") && !line.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_open_is_no_failure() {
        let of_gitlab = "POST https://gitlab.com/api/v4/projects/1/merge_requests: 409 {message: \
                         [Another open merge request already exists for this source branch: !7]}";
        let table = [
            (
                "a pull request for branch \"work\" into branch \"main\" already exists:\n\
                 https://github.com/a/b/pull/7",
                Some("https://github.com/a/b/pull/7"),
            ),
            (of_gitlab, Some(of_gitlab)),
            (
                "pull request create failed: GraphQL: No commits between main and work",
                None,
            ),
            ("the file already exists", None),
        ];
        for (complaint, expected) in table {
            assert_eq!(open_already(complaint), expected, "{complaint}");
        }
    }

    #[test]
    fn the_server_chooses_the_program() {
        let table: [(&str, &[&str]); 5] = [
            ("git@github.com:team/words.git", &["gh"]),
            ("https://github.example.com/gitlab-tools/words", &["gh"]),
            ("https://gitlab.com/team/github-mirror.git", &["glab"]),
            (
                "ssh://git@code.example.com/github/words.git",
                &["gh", "glab"],
            ),
            ("/srv/gitlab/words.git", &["gh", "glab"]),
        ];
        for (address, expected) in table {
            let forges = Forge::for_address(&GitAddress::parse(address).unwrap());
            assert_eq!(
                forges
                    .iter()
                    .map(|forge| forge.program())
                    .collect::<Vec<_>>(),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn a_request_from_a_fork_names_whose_branch_it_is() {
        let address = |text: &str| GitAddress::parse(text).unwrap();
        let [head, base, title, body] = ["work", "main", "Words", ""].map(str::to_owned);
        let request = PullRequest {
            head,
            base,
            title,
            body,
        };
        let mut remote = Remote {
            name: "origin".to_owned(),
            address: address("git@github.com:me/words.git"),
            upstream: Some(address("https://github.com/team/words")),
        };
        let line = |forge: Forge, remote: &Remote| {
            forge.command_line(remote, &request, Path::new("/b/my body.md"))
        };
        let common = "--base main --title Words --body-file '/b/my body.md'";
        let expected = format!(
            "gh pr create --head 'me:work' {common} --repo 'https://github.com/team/words'"
        );
        assert_eq!(
            line(Forge::GitHub, &remote).replace('\'', ""),
            expected.replace('\'', "")
        );
        let of_gitlab = line(Forge::GitLab, &remote);
        assert!(
            of_gitlab.contains(
                " --head me/words --yes --description \"$(cat '/b/my body.md')\" --repo "
            ),
            "{of_gitlab}"
        );
        remote.upstream = None;
        let line = line(Forge::GitHub, &remote).replace('\'', "");
        let expected =
            format!("gh pr create --head work {common} --repo git@github.com:me/words.git");
        assert_eq!(line, expected.replace('\'', ""));
    }
}
