//! The submodules of a commit, and where the user's repository has their files.
//!
//! Git keeps the repository of a submodule below its own git directory, in `modules/NAME`. The name
//! comes from a file of the commit, so it is checked before it becomes a path. Of that repository
//! only the objects are read, by us and by a git that finds no configuration. Nothing is fetched.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, ObjectType, Odb, Repository, Tree};
use orchestrate_core::text::git_path::{is_storable, shown_path};

use crate::error::GitError;
use crate::error::refusal::{DEEPEST_SUBMODULE, LeftEmpty, MOST_SUBMODULES};
use crate::files::bounds;
use crate::files::index_entry::{GITLINK, REGULAR};
use crate::files::openat::{join, path_of};
use crate::program::run::Program;
use crate::program::scratch_repo::ScratchRepo;

/// The file that names submodules.
const NAMES: &[u8] = b".gitmodules";
/// How many entries the trees of one submodule may have for its completeness to be known.
const MOST_ENTRIES: usize = 500_000;

/// A submodule of a commit, or one that is nested in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submodule {
    /// Where its files belong, relative to the top of the worktree.
    pub(crate) path: Vec<u8>,
    /// The commit at which it is pinned.
    pub(crate) commit: git2::Oid,
    /// The folder with its objects, or why it is left empty.
    pub(crate) objects: Result<PathBuf, LeftEmpty>,
}

/// What a tree or an index says about its submodules.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    /// The submodules, each with its commit.
    pub(crate) links: Vec<(Vec<u8>, git2::Oid)>,
    /// The content of the file with their names.
    names: Option<git2::Oid>,
}

impl Pins {
    /// Reads the submodules of an index.
    pub(crate) fn of_index(index: &Index) -> Pins {
        let mut pins = Pins::default();
        for entry in index.iter() {
            if entry.mode == GITLINK {
                pins.links.push((entry.path, entry.id));
            } else if entry.path == NAMES && entry.mode == REGULAR {
                pins.names = Some(entry.id);
            }
        }
        pins
    }

    /// Reads the submodules of a tree.
    ///
    /// # Errors
    /// If a folder of the tree is missing.
    pub(crate) fn of_tree(tree: &Tree<'_>) -> Result<Pins, git2::Error> {
        let mut pins = Pins::default();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if entry.kind() == Some(ObjectType::Commit) {
                pins.links
                    .push(([folder.as_bytes(), entry.name_bytes()].concat(), entry.id()));
            } else if folder.is_empty()
                && entry.name_bytes() == NAMES
                && entry.filemode() == 0o100_644
            {
                pins.names = Some(entry.id());
            }
            git2::TreeWalkResult::Ok
        })?;
        Ok(pins)
    }
}

/// Where the submodules of one repository are looked for.
struct Level {
    /// The path of the repository's files, relative to the top of the worktree.
    below: Vec<u8>,
    pins: Pins,
    /// Git directories whose `modules` may have them.
    places: Vec<PathBuf>,
    /// The folder with the repository's objects; `None` for the user's own repository.
    objects: Option<PathBuf>,
    depth: usize,
}

/// Finds the submodules of these pins, the outer ones before those that are nested in them.
///
/// # Errors
/// If git cannot be run, or an object of the repository cannot be read.
pub(crate) fn find(
    program: &Program,
    repository: &Repository,
    places: &[PathBuf],
    pins: Pins,
) -> Result<Vec<Submodule>, GitError> {
    let top = Level {
        below: Vec::new(),
        pins,
        places: places.to_vec(),
        objects: None,
        depth: 0,
    };
    let (mut found, mut open) = (Vec::new(), vec![top]);
    while let Some(level) = open.pop() {
        if level.pins.links.is_empty() {
            continue;
        }
        let names = names_of(program, repository, &level)?;
        for (link, commit) in &level.pins.links {
            let path = join(&level.below, link);
            let objects = match found.len() >= MOST_SUBMODULES || level.depth >= DEEPEST_SUBMODULE {
                true => Err(LeftEmpty::TooMany),
                false => objects_of(&level, link, *commit, &names),
            };
            if let Ok((objects, git_dir)) = &objects {
                open.push(below(&path, *commit, objects, git_dir, level.depth + 1));
            }
            found.push(Submodule {
                path,
                commit: *commit,
                objects: objects.map(|(objects, _)| objects),
            });
        }
    }
    // A path sorts before those below it.
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Returns the level of what is nested in a submodule.
fn below(path: &[u8], commit: git2::Oid, objects: &Path, git_dir: &Path, depth: usize) -> Level {
    let pins = reading(objects).and_then(|repository| {
        let tree = repository.find_commit(commit)?.tree()?;
        Pins::of_tree(&tree)
    });
    Level {
        below: path.to_vec(),
        // Its completeness was checked: what cannot be read now has no submodules that could be
        // brought.
        pins: pins.unwrap_or_default(),
        places: vec![git_dir.to_owned()],
        objects: Some(objects.to_owned()),
        depth,
    }
}

/// Finds the objects of a submodule, and its git directory.
fn objects_of(
    level: &Level,
    link: &[u8],
    commit: git2::Oid,
    names: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Result<(PathBuf, PathBuf), LeftEmpty> {
    let name = names.get(link).ok_or(LeftEmpty::Unnamed)?;
    if !is_plain(name) || !is_storable(link, false) {
        return Err(LeftEmpty::UnsafeName(shown_path(&path_of(name))));
    }
    let mut reason = LeftEmpty::NotThere;
    for place in &level.places {
        let modules = place.join("modules");
        let (Ok(modules), Ok(git_dir)) = (
            modules.canonicalize(),
            modules.join(path_of(name)).canonicalize(),
        ) else {
            continue;
        };
        let objects = git_dir.join("objects");
        if !git_dir.starts_with(&modules) || !objects.is_dir() {
            continue;
        }
        if is_complete(&objects, commit) {
            return Ok((objects, git_dir));
        }
        reason = LeftEmpty::Incomplete(commit.to_string());
    }
    Err(reason)
}

/// Reports whether a name is one below `modules`, as git itself requires (`check_submodule_name`),
/// and stricter.
fn is_plain(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
    !name.contains(&0) && parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Reports whether there are all objects of a commit's files.
fn is_complete(objects: &Path, commit: git2::Oid) -> bool {
    let Ok(repository) = reading(objects) else {
        return false;
    };
    let Ok(odb) = repository.odb() else {
        return false;
    };
    let Ok(tree) = repository
        .find_commit(commit)
        .and_then(|commit| commit.tree())
    else {
        return false;
    };
    let (mut entries, mut is_missing) = (0, false);
    let walked = tree.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
        entries += 1;
        is_missing = entries > MOST_ENTRIES
            || (entry.kind() == Some(ObjectType::Blob) && !odb.exists(entry.id()));
        if is_missing {
            git2::TreeWalkResult::Abort
        } else {
            git2::TreeWalkResult::Ok
        }
    });
    walked.is_ok() && !is_missing
}

/// Opens a folder of objects for reading, without any configuration.
pub(crate) fn reading(objects: &Path) -> Result<Repository, git2::Error> {
    let odb = Odb::new()?;
    let path = objects
        .to_str()
        .ok_or_else(|| git2::Error::from_str("its path is not UTF-8"))?;
    odb.add_disk_alternate(path)?;
    Repository::from_odb(odb)
}

/// Reads which names a repository gives its submodules, by their paths.
fn names_of(
    program: &Program,
    repository: &Repository,
    level: &Level,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, GitError> {
    let Some(id) = level.pins.names else {
        return Ok(BTreeMap::new());
    };
    let nested = level
        .objects
        .as_deref()
        .map(reading)
        .transpose()
        .map_err(GitError::library("open a submodule"))?;
    let blob = nested.as_ref().unwrap_or(repository).find_blob(id);
    let blob = blob.map_err(GitError::library("read the names of submodules"))?;
    if blob.size() as u64 > bounds::MAX_BYTES {
        return Ok(BTreeMap::new());
    }
    // Libgit2 would follow a file that this one includes; git does not.
    let scratch = ScratchRepo::new()?;
    let file = scratch.leave_bytes("names", blob.content())?;
    let listed = program.list_file(&file)?;
    let mut names = BTreeMap::new();
    for setting in listed.split(|byte| *byte == 0) {
        let mut parts = setting.splitn(2, |byte| *byte == b'\n');
        let (Some(key), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        if let Some(name) = key
            .strip_prefix(b"submodule.")
            .and_then(|key| key.strip_suffix(b".path"))
        {
            names.insert(path.to_vec(), name.to_vec());
        }
    }
    Ok(names)
}

/// Returns the git directories whose `modules` may have a checkout's submodules: its own one comes
/// first.
pub(crate) fn places(git_dir: &Path, common_dir: &Path) -> Vec<PathBuf> {
    let mut places = vec![git_dir.to_owned(), common_dir.to_owned()];
    places.dedup_by(|one, other| one.as_os_str().as_bytes() == other.as_os_str().as_bytes());
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_lead_elsewhere_is_not_one() {
        for name in ["lib", "libs/a", "a.b", "..a", "a..", "-x", "a b"] {
            assert!(is_plain(name.as_bytes()), "{name}");
        }
        for name in [
            "", "..", "../x", "a/../b", "a\\..\\b", "/etc", "\\x", "a//b", "a/", "./a", "a/.",
            "a\0b",
        ] {
            assert!(!is_plain(name.as_bytes()), "{name:?}");
        }
    }
}
