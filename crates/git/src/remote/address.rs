//! Finds the address of a remote, as git would use it, and refuses those that nobody should use.

use std::path::Path;

use orchestrate_core::Oid;
use orchestrate_core::policy::host::GitAddress;
use orchestrate_core::text::invisible::shown;

use crate::error::GitError;
use crate::error::remote::RemoteError;
use crate::program::configuration::Configuration;
use crate::repo::repository::Repo;
use crate::store::objects::CommitInfo;

/// What reaches remote repositories, returned by [`Repo::remotes`].
#[derive(Clone, Copy, Debug)]
pub struct Remotes<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations that find remotes, push to them and fetch from them.
    pub fn remotes(&self) -> Remotes<'_> {
        Remotes { repo: self }
    }
}

/// What an address is for: a remote may have two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To push to.
    Push,
    /// To fetch from.
    Fetch,
}

/// The commits that a push would publish, each list newest first and of limited length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpushed {
    /// Those that the base does not contain.
    pub since_base: Vec<CommitInfo>,
    /// Those of the base, which go along.
    pub below_base: Vec<CommitInfo>,
}

impl Remotes<'_> {
    /// Finds the address of a remote by its name. The configuration is read anew, and what it says
    /// about replacing the beginnings of addresses is applied, so that this is where git would
    /// connect to.
    ///
    /// # Errors
    /// [`RemoteError::Unknown`]; [`RemoteError::Unusable`] if the address is refused, or is a
    /// folder of this repository, whose hooks may have come with it.
    pub fn address(&self, name: &str, direction: Direction) -> Result<GitAddress, GitError> {
        let repo = self.repo;
        let configuration =
            Configuration::of_repository(&repo.program, &repo.shared.git_dir, repo.workdir())?;
        let known = configuration.remotes();
        if !known.iter().any(|known| known == name) {
            let known = known.iter().map(|name| shown(name)).collect();
            return Err(GitError::Remote(RemoteError::Unknown {
                name: shown(name),
                known,
            }));
        }
        let unusable = |reason: String| {
            GitError::Remote(RemoteError::Unusable {
                name: name.to_owned(),
                reason,
            })
        };
        let address = match configuration
            .remote_addresses(name, direction == Direction::Push)
            .as_slice()
        {
            [address] => address.clone(),
            [first, ..] if direction == Direction::Fetch => first.clone(),
            [] => return Err(unusable("it has no address".to_owned())),
            _ => {
                return Err(unusable(
                    "it has several addresses, and only the user pushes to all of them".to_owned(),
                ));
            }
        };
        self.usable(&configuration, &address).map_err(unusable)
    }

    /// Finds the address for pushing a run's result, of several the last; `None` if the remote has
    /// none.
    ///
    /// # Errors
    /// [`RemoteError::Unusable`], as for [`Remotes::address`].
    pub(crate) fn address_of_result(&self, name: &str) -> Result<Option<GitAddress>, GitError> {
        let configuration = &self.repo.shared.configuration;
        let Some(address) = configuration.remote_addresses(name, true).pop() else {
            return Ok(None);
        };
        let unusable = |reason: String| {
            GitError::Remote(RemoteError::Unusable {
                name: shown(name),
                reason,
            })
        };
        self.usable(configuration, &address)
            .map(Some)
            .map_err(unusable)
    }

    /// Returns the default branch of a remote, as far as the last fetch of the user's has noted it.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn noted_default_branch(&self, name: &str) -> Result<Option<String>, GitError> {
        let handle = self.repo.handle()?;
        let Ok(head) = handle.find_reference(&format!("refs/remotes/{name}/HEAD")) else {
            return Ok(None);
        };
        let target = head.symbolic_target().ok().flatten().map(str::to_owned);
        Ok(target.and_then(|target| {
            target
                .strip_prefix(&format!("refs/remotes/{name}/"))
                .map(str::to_owned)
        }))
    }

    /// Lists the commits that a push of `tip` would publish: those that the last fetch of the
    /// user's did not find at the remote, or all if there was none, or if it was from another
    /// repository than the one that is pushed to.
    ///
    /// # Errors
    /// If a commit is missing, or the configuration cannot be read.
    pub fn unpushed(
        &self,
        remote: &str,
        tip: &Oid,
        base: &Oid,
        limit: usize,
    ) -> Result<Unpushed, GitError> {
        let there = match self.is_pushed_elsewhere(remote)? {
            true => Vec::new(),
            false => self.repo.refs_below(&format!("refs/remotes/{remote}/"))?,
        };
        let there: Vec<&Oid> = there.iter().map(|entry| &entry.target).collect();
        let store = self.repo.store();
        let since_base = store.log_without(tip, &[there.as_slice(), &[base]].concat(), limit)?;
        let below_base = store.log_without(base, &there, limit)?;
        Ok(Unpushed {
            since_base,
            below_base,
        })
    }

    /// Reports whether a remote is pushed to another repository than it is fetched from
    /// (`pushurl`): what a fetch has found says nothing of what is there.
    fn is_pushed_elsewhere(&self, remote: &str) -> Result<bool, GitError> {
        let repo = self.repo;
        let configuration =
            Configuration::of_repository(&repo.program, &repo.shared.git_dir, repo.workdir())?;
        let first = |is_for_push| {
            configuration
                .remote_addresses(remote, is_for_push)
                .into_iter()
                .next()
        };
        let (fetched, pushed) = (first(false), first(true));
        let both = parsed(fetched.as_deref()).zip(parsed(pushed.as_deref()));
        let is_same =
            fetched == pushed || both.is_some_and(|(one, other)| one.names_repository_of(&other));
        Ok(!is_same)
    }

    /// Checks an address whose beginning has been replaced as configured.
    fn usable(&self, configuration: &Configuration, address: &str) -> Result<GitAddress, String> {
        if configuration.replaces_whole(address) {
            return Err("its address is replaced by one that is replaced again".to_owned());
        }
        self.checked(address)
    }

    /// Parses an address. A relative path counts from the user's checkout.
    fn checked(&self, address: &str) -> Result<GitAddress, String> {
        let parsed = GitAddress::parse(address).map_err(|error| error.to_string())?;
        let Some(folder) = parsed.folder() else {
            return Ok(parsed);
        };
        let folder = if folder.starts_with('~') {
            Path::new(folder).to_owned()
        } else {
            self.repo.workdir().join(folder)
        };
        if self.is_own_folder(&folder) {
            return Err("its address is a folder of this repository".to_owned());
        }
        let folder = folder
            .to_str()
            .ok_or("the name of its folder is not UTF-8")?;
        Ok(GitAddress::of_folder(folder))
    }

    fn is_own_folder(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else {
            return false;
        };
        [self.repo.workdir(), self.repo.common_dir()]
            .iter()
            .filter_map(|own| own.canonicalize().ok())
            .any(|own| real.starts_with(own))
    }
}

fn parsed(address: Option<&str>) -> Option<GitAddress> {
    address.and_then(|address| GitAddress::parse(address).ok())
}
