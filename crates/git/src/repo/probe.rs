//! Finds out whether a repository is supported, before anything is created in it.
//!
//! Each refusal states why and what to do. Where libgit2 or our staging would silently do the wrong
//! thing (commit files outside a sparse cone as deleted), the repository is refused instead of
//! being handled partly. This module only reads; it starts no program except `git config` and `git
//! rev-parse`, which run none of their own.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryOpenFlags, RepositoryState};

use crate::error::GitError;
use crate::error::refusal::{Operation, RepositoryRefusal, Warning};
use crate::files::bounds;
use crate::program::configuration::Configuration;
use crate::program::run::{Program, Run};
use crate::repo::lfs;

/// The repository's own attributes, which are in no commit, relative to its git directory.
const OWN_ATTRIBUTES: &str = "info/attributes";

/// Opens the repository that contains a folder, or refuses it if it is not supported.
pub(crate) fn open(
    start: &Path,
    program: &Program,
) -> Result<(Repository, Configuration), GitError> {
    let refused = |refusal| GitError::Refused {
        path: start.to_owned(),
        refusal,
    };
    let none: [&Path; 0] = [];
    // Libgit2 reads the same files when it opens a repository, and waits for ever if one of them
    // never ends. So git reads them first, and git can be stopped.
    let listed = Repository::discover_path(start, none).ok();
    let listed = listed.map(|git_dir| Configuration::of_repository(program, &git_dir, &git_dir));
    if let Some(Err(GitError::Refused { refusal, .. })) = listed {
        return Err(refused(refusal));
    }
    let repository = match Repository::open_ext(start, RepositoryOpenFlags::empty(), none) {
        Ok(repository) => repository,
        Err(error) => return Err(refused(why_it_did_not_open(start, program, &error)?)),
    };
    let ask = || Configuration::of_repository(program, repository.path(), repository.path());
    let configuration = listed.unwrap_or_else(ask).map_err(unlistable(start))?;
    if let Some(refusal) = format_refusal(&configuration) {
        return Err(refused(refusal));
    }
    configuration.give_to(&repository, false)?;
    if repository.is_bare() || repository.workdir().is_none() {
        return Err(refused(RepositoryRefusal::Bare));
    }
    if repository
        .head()
        .is_err_and(|error| matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound))
    {
        return Err(refused(RepositoryRefusal::Unborn));
    }
    if let Some(refusal) = index_refusal(&repository) {
        return Err(refused(refusal));
    }
    Ok((repository, configuration))
}

/// Turns git's complaint about its configuration into a refusal, because every git command fails
/// with it.
fn unlistable(start: &Path) -> impl Fn(GitError) -> GitError {
    move |error| match error {
        GitError::Program { reason, .. } => {
            let refusal = RepositoryRefusal::UnreadableConfiguration(reason);
            GitError::Refused {
                path: start.to_owned(),
                refusal,
            }
        }
        error => error,
    }
}

/// Checks whether a commit's tree has something unsupported. The repository's own attributes apply
/// to every tree.
pub(crate) fn tree_refusal(
    repository: &Repository,
    configuration: &Configuration,
    tree: &git2::Tree<'_>,
) -> Result<Option<RepositoryRefusal>, GitError> {
    let configured = configuration.storing_filters();
    let mut found = own_attributes(repository)?.and_then(|text| {
        let path = || PathBuf::from(".git").join(OWN_ATTRIBUTES);
        attributes_refusal(&text, path, &configured)
    });
    if found.is_some() {
        return Ok(found);
    }
    let walked = tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        let path =
            || crate::files::openat::path_of(&[folder.as_bytes(), entry.name_bytes()].concat());
        let is_file = entry.kind() == Some(git2::ObjectType::Blob);
        if is_file
            && bounds::is_patterns(entry.name_bytes())
            && let Ok(Some(reason)) = bounds::excess_of_blob(repository, entry.id())
        {
            found = Some(RepositoryRefusal::Patterns {
                path: path(),
                reason,
            });
        } else if entry.name_bytes() == b".gitattributes"
            && let Ok(blob) = repository.find_blob(entry.id())
        {
            found = attributes_refusal(blob.content(), path, &configured);
        }
        if found.is_some() {
            git2::TreeWalkResult::Abort
        } else {
            git2::TreeWalkResult::Ok
        }
    });
    match walked {
        Err(error) if found.is_none() && error.code() != ErrorCode::User => {
            Err(GitError::library("read the tree")(error))
        }
        _ => Ok(found),
    }
}

/// Finds an attributes file, of a tree or of the repository's own, that asks for one of these
/// filters.
pub(crate) fn filter_of_tree(
    repository: &Repository,
    tree: &git2::Tree<'_>,
    filters: &[String],
) -> Result<Option<(PathBuf, String)>, GitError> {
    let own = own_attributes(repository)?.and_then(|text| asked_filter(&text, filters));
    if let Some(filter) = own {
        return Ok(Some((PathBuf::from(".git").join(OWN_ATTRIBUTES), filter)));
    }
    let mut attributes = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.name_bytes() == b".gitattributes" {
            let path =
                crate::files::openat::path_of(&[folder.as_bytes(), entry.name_bytes()].concat());
            attributes.push((path, entry.id()));
        }
        git2::TreeWalkResult::Ok
    })
    .map_err(GitError::library("read the tree"))?;
    for (path, id) in attributes {
        let blob = repository
            .find_blob(id)
            .map_err(GitError::library(format!("read {}", path.display())))?;
        if let Some(filter) = asked_filter(blob.content(), filters) {
            return Ok(Some((path, filter)));
        }
    }
    Ok(None)
}

/// Lists what the user should know.
pub(crate) fn warnings(repository: &Repository) -> Result<Vec<Warning>, GitError> {
    let mut warnings = Vec::new();
    let files = changed_files(repository)?;
    if files > 0 {
        warnings.push(Warning::Dirty { files });
    }
    if repository
        .head_detached()
        .map_err(GitError::library("read HEAD"))?
    {
        warnings.push(Warning::DetachedHead);
    }
    if repository.is_shallow() {
        warnings.push(Warning::Shallow);
    }
    if repository
        .workdir()
        .is_some_and(|folder| folder.join(".jj").is_dir())
    {
        warnings.push(Warning::Jujutsu);
    }
    if repository
        .commondir()
        .join("objects/info/alternates")
        .exists()
    {
        warnings.push(Warning::BorrowedObjects);
    }
    Ok(warnings)
}

/// Counts the files of the user's checkout that differ from HEAD, including untracked ones.
pub(crate) fn changed_files(repository: &Repository) -> Result<usize, GitError> {
    let mut options = git2::StatusOptions::new();
    options
        .include_untracked(true)
        .include_ignored(false)
        .exclude_submodules(true)
        .update_index(false);
    let statuses = repository
        .statuses(Some(&mut options))
        .map_err(GitError::library("read the status"))?;
    Ok(statuses.len())
}

/// Returns the operation that is in progress in a repository.
pub(crate) fn operation(state: RepositoryState) -> Option<Operation> {
    match state {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some(Operation::Merge),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some(Operation::Revert),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            Some(Operation::CherryPick)
        }
        RepositoryState::Bisect => Some(Operation::Bisect),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some(Operation::Rebase),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            Some(Operation::ApplyMailbox)
        }
    }
}

fn format_refusal(configuration: &Configuration) -> Option<RepositoryRefusal> {
    if configuration.text("extensions.objectformat") == "sha256" {
        Some(RepositoryRefusal::Sha256)
    } else if configuration.text("extensions.refstorage") == "reftable" {
        Some(RepositoryRefusal::Reftable)
    } else if !configuration.text("extensions.partialclone").is_empty() {
        Some(RepositoryRefusal::PartialClone)
    } else if configuration.is_on("core.sparsecheckout") {
        Some(RepositoryRefusal::Sparse)
    } else if configuration.is_on("core.splitindex") {
        Some(RepositoryRefusal::SplitIndex)
    } else {
        None
    }
}

fn index_refusal(repository: &Repository) -> Option<RepositoryRefusal> {
    let text = repository.index().err()?.message().to_owned();
    Some(if text.contains("'sdir'") {
        RepositoryRefusal::Sparse
    } else if text.contains("'link'") {
        RepositoryRefusal::SplitIndex
    } else {
        RepositoryRefusal::UnreadableIndex(text)
    })
}

/// Finds out why libgit2 could not open a repository, from its configuration or by asking git.
fn why_it_did_not_open(
    start: &Path,
    program: &Program,
    error: &git2::Error,
) -> Result<RepositoryRefusal, GitError> {
    if error.code() == ErrorCode::Owner {
        return Ok(RepositoryRefusal::ForeignOwner {
            path: start.to_owned(),
        });
    }
    let config = start.ancestors().find_map(|folder| {
        [folder.join(".git/config"), folder.join("config")]
            .into_iter()
            .find(|path| path.is_file())
    });
    let refusal = config
        .and_then(|path| Configuration::of_file(&path).ok())
        .and_then(|config| format_refusal(&config));
    match refusal {
        Some(refusal) => Ok(refusal),
        None if error.code() == ErrorCode::NotFound => Ok(RepositoryRefusal::NoRepository),
        None => {
            let git_dir = start.join(".git");
            program.require(&Run::new(&git_dir, start, ["rev-parse", "--git-dir"]))?;
            Err(GitError::Library {
                doing: format!("open the repository at {}", start.display()),
                source: git2::Error::from_str(error.message()).into(),
            })
        }
    }
}

/// Reports whether attributes that are in no commit, of the repository or of its user, ask for a
/// filter.
pub(crate) fn own_attributes_ask_for(
    repository: &Repository,
    filter: &str,
) -> Result<bool, GitError> {
    let users = match repository
        .config()
        .and_then(|config| config.get_path("core.attributesfile"))
    {
        Ok(path) => bounds::read_own(&path)?,
        Err(_) => None,
    };
    let texts = [own_attributes(repository)?, users];
    Ok(texts
        .into_iter()
        .flatten()
        .any(|text| asked(&text, b"filter=").any(|name| name == filter)))
}

/// Reads the repository's own attributes, which are in no commit.
fn own_attributes(repository: &Repository) -> Result<Option<Vec<u8>>, GitError> {
    bounds::read_own(&repository.commondir().join(OWN_ATTRIBUTES))
}

/// Reports whether an encoding is UTF-8, in which git stores text.
pub(crate) fn is_utf8(encoding: &str) -> bool {
    encoding.eq_ignore_ascii_case("utf-8") || encoding.eq_ignore_ascii_case("utf8")
}

/// Returns the first of some filters that a file of attributes asks for.
pub(crate) fn asked_filter(text: &[u8], filters: &[String]) -> Option<String> {
    asked(text, b"filter=").find(|name| filters.contains(name))
}

/// Lists the values that a file of attributes assigns to a name, for any files.
fn asked(text: &[u8], name: &'static [u8]) -> impl Iterator<Item = String> {
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii_start().starts_with(b"#"));
    let words = lines.flat_map(|line| line.split(u8::is_ascii_whitespace));
    words
        .filter_map(move |word| word.strip_prefix(name))
        .map(|name| String::from_utf8_lossy(name).into_owned())
}

/// Refuses attributes that ask for a configured filter (git ignores one that is not configured)
/// other than that of Git LFS, or for an encoding other than UTF-8.
fn attributes_refusal(
    text: &[u8],
    path: impl FnOnce() -> PathBuf,
    configured: &[String],
) -> Option<RepositoryRefusal> {
    let filter =
        asked(text, b"filter=").find(|filter| filter != lfs::FILTER && configured.contains(filter));
    if let Some(filter) = filter {
        return Some(RepositoryRefusal::Filter {
            path: path(),
            filter,
        });
    }
    let encoding = asked(text, b"working-tree-encoding=").find(|name| !is_utf8(name))?;
    Some(RepositoryRefusal::Encoding {
        path: path(),
        encoding,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// A program with a time limit of one millisecond for reading the configuration, and with the
    /// user's own configuration below a folder.
    fn impatient(folder: &Path) -> Program {
        let own = [
            ("HOME", folder.into()),
            ("GIT_CONFIG_GLOBAL", folder.join("user")),
            ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
        ];
        let environment = own
            .map(|(name, path)| (name.into(), path.into_os_string()))
            .into_iter()
            .collect();
        Program::find()
            .unwrap()
            .with(environment)
            .reading_within(Duration::from_millis(1))
    }

    /// Each file includes the next one, and the last one is a pipe.
    #[test]
    fn a_pipe_in_the_place_of_a_configuration_is_named_before_anybody_waits_for_it() {
        let table: [&[&str]; 5] = [
            &["project/.git/config"],
            &["project/.git/config", "pipe"],
            &["project/.git/config", "project/.git/more", "pipe"],
            &["user"],
            &["user", "pipe"],
        ];
        for files in table {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            Repository::init(root.join("project")).unwrap();
            for (file, next) in files.iter().zip(files.iter().skip(1)) {
                let mut file = File::options()
                    .append(true)
                    .create(true)
                    .open(root.join(file))
                    .unwrap();
                let path = match *next {
                    "pipe" => "~/pipe".to_owned(),
                    "project/.git/more" => "more".to_owned(),
                    other => root.join(other).display().to_string(),
                };
                writeln!(file, "[includeIf \"gitdir:**\"]\n\tpath = {path}").unwrap();
            }
            let pipe = root.join(files[files.len() - 1]);
            let _ = std::fs::remove_file(&pipe);
            mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
            match open(&root.join("project"), &impatient(&root)) {
                Err(GitError::Refused {
                    refusal: RepositoryRefusal::EndlessConfiguration { file, .. },
                    ..
                }) => {
                    assert_eq!(file, Some(pipe), "{files:?}");
                }
                other => panic!("{files:?}: {:?}", other.map(drop)),
            }
        }
    }
}
