//! Creates a repository from a folder's files, for samples. No other code creates one for the user.

use std::path::Path;

use git2::{IndexAddOption, RepositoryInitOptions, Signature};

use crate::error::GitError;
use crate::program::run::Program;
use crate::repo::repository::{Identity, Repo};

/// The branch of a repository that is created here.
const BRANCH: &str = "main";

impl Repo {
    /// Checks that there is a usable git program.
    ///
    /// # Errors
    /// [`GitError::Refused`] with what to install.
    pub fn require_program(start: &Path) -> Result<(), GitError> {
        let refused = |refusal| GitError::Refused {
            path: start.to_owned(),
            refusal,
        };
        Program::find().map(drop).map_err(refused)
    }

    /// Creates a repository from everything in a folder, with one commit and an identity of its
    /// own.
    ///
    /// The identity is written into the new repository's configuration alone.
    ///
    /// # Errors
    /// If there is already a repository, or the folder cannot be written.
    pub fn create(folder: &Path, identity: &Identity, message: &str) -> Result<(), GitError> {
        let failed = GitError::library(format!("make a repository in {}", folder.display()));
        let mut options = RepositoryInitOptions::new();
        options
            .no_reinit(true)
            .initial_head(BRANCH)
            .external_template(false);
        let repository = git2::Repository::init_opts(folder, &options).map_err(&failed)?;
        let mut config = repository.config().map_err(&failed)?;
        config
            .set_str("user.name", &identity.name)
            .map_err(&failed)?;
        config
            .set_str("user.email", &identity.email)
            .map_err(&failed)?;
        let mut index = repository.index().map_err(&failed)?;
        index
            .add_all(["*"], IndexAddOption::DEFAULT, None)
            .map_err(&failed)?;
        index.write().map_err(&failed)?;
        let tree = repository
            .find_tree(index.write_tree().map_err(&failed)?)
            .map_err(&failed)?;
        let author = Signature::now(&identity.name, &identity.email).map_err(&failed)?;
        repository
            .commit(Some("HEAD"), &author, &author, message, &tree, &[])
            .map_err(&failed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::repo::repository::Identities;

    #[test]
    fn a_folder_becomes_a_repository_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "a\n").unwrap();
        let identity = Identity {
            name: "Sample".to_owned(),
            email: "sample@example.invalid".to_owned(),
        };
        Repo::create(folder.path(), &identity, "Start").unwrap();
        let repo = Repo::open(folder.path(), folder.path()).unwrap();
        let head = repo.head().unwrap();
        assert_eq!(head.branch.as_deref(), Some("main"));
        assert_eq!(
            repo.store()
                .read_file(&head.commit, Path::new("a.txt"))
                .unwrap(),
            Some(b"a\n".to_vec())
        );
        let identities = Identities {
            author: identity.clone(),
            committer: identity.clone(),
        };
        assert_eq!(repo.identities(&BTreeMap::new()), Some(identities));
        assert!(Repo::create(folder.path(), &identity, "Start").is_err());
    }
}
