//! Makes an agent's own git directory: the bare bones of one, without a template and without the
//! git program.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::Index;
use orchestrate_core::Oid;
use orchestrate_files::if_there;

use crate::error::GitError;
use crate::files::openat;
use crate::program::retry;
use crate::repo::repository::{Identity, Repo, tree_of};
use crate::repo::worktree::Worktree;
use crate::store::conflicts::drop_conflicts;
use crate::worktree::private::place::PrivatePlace;
use crate::worktree::private::shown_refs::{PACKED, ShownRefs};

/// What of the repository's own files a git directory begins with, if they are there.
const COPIED: [&str; 4] = ["shallow", "info/exclude", "info/attributes", "info/grafts"];
/// The folders that git expects, or that tools write to.
const FOLDERS: [&str; 5] = ["info", "hooks", "objects/info", "refs/heads", "refs/tags"];
/// The largest of the files that are copied.
const COPIED_BYTES: u64 = 64 << 20;
/// What is set beside what of the user's configuration is shown. Nothing happens behind the agent's
/// back: it would be killed with the command.
const SET: [(&str, &str); 4] = [
    ("core.logallrefupdates", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedhead", "false"),
];

/// Makes the directory of a worktree, in place of one that is there.
pub(super) fn make(worktree: &Worktree, place: &PrivatePlace) -> Result<(), GitError> {
    place.clear()?;
    let making = place.making();
    let refs = ShownRefs::read(worktree.common_dir(), worktree.branch());
    for folder in FOLDERS {
        create(&making.join(folder))?;
    }
    let packed = refs.packed();
    let mut files = vec![
        ("HEAD".into(), read(&worktree.admin_dir().join("HEAD"))?),
        ("config".into(), configuration(worktree, None)),
        (PACKED.into(), packed.clone()),
        ("objects/info/alternates".into(), place.alternates()),
    ];
    files.extend(refs.symbolic());
    for name in COPIED {
        let from = worktree.common_dir().join(name);
        let copied =
            orchestrate_files::read_plain(&from, orchestrate_files::Links::Anywhere, COPIED_BYTES);
        files.extend(copied.ok().map(|bytes| (PathBuf::from(name), bytes)));
    }
    let own = refs.own();
    files.extend(own.clone());
    for (name, bytes) in &files {
        let path = making.join(name);
        create(path.parent().unwrap_or(&making))?;
        write(&path, bytes)?;
    }
    // Build scripts run again if one of these is newer than they.
    let own = own.map(|(name, _)| name);
    for (name, folder) in std::iter::once((PathBuf::from("HEAD"), worktree.admin_dir()))
        .chain(own.map(|name| (name, worktree.common_dir())))
    {
        keep_time(&folder.join(&name), &making.join(&name))?;
    }
    write(&place.shown(), &packed)?;
    place.put()
}

/// Returns the bytes of an index that lists a tree, and of the worktree's files what git has noted
/// of them: files that have not changed are not read again.
pub(super) fn index(
    repo: &Repo,
    worktree: &Worktree,
    place: &PrivatePlace,
    tree: &Oid,
) -> Result<Vec<u8>, GitError> {
    let (noted, made) = (worktree.admin_dir().join("index"), place.index());
    let failed = GitError::library(format!("write {}", made.display()));
    let bytes = read(&noted)?;
    write(&made, &bytes)?;
    let written = std::fs::metadata(&noted).map_err(GitError::io("look at", &noted))?;
    let written = (written.mtime(), written.mtime_nsec());
    let mut index = Index::open(&made).map_err(&failed)?;
    drop_conflicts(&mut index)?;
    let handle = repo.handle()?;
    let listed = tree_of(&handle, tree)?;
    index.read_tree(&listed).map_err(&failed)?;
    // A file that was written in the same moment as the index may have changed since; with another
    // length than it has, git reads it.
    let entries: Vec<git2::IndexEntry> = index.iter().collect();
    for mut entry in entries {
        let modified = (
            i64::from(entry.mtime.seconds()),
            i64::from(entry.mtime.nanoseconds()),
        );
        if modified >= written {
            entry.file_size = 0;
            index.add(&entry).map_err(&failed)?;
        }
    }
    retry::while_locked(|| index.write()).map_err(&failed)?;
    let bytes = read(&made)?;
    if_there(std::fs::remove_file(&made)).map_err(GitError::io("remove", &made))?;
    Ok(bytes)
}

/// Returns the configuration: what of the user's may be shown, who the agent commits as, and
/// nothing that names a program. A key that is there is not set again, or the agent could not
/// change it in one step.
pub(super) fn configuration(worktree: &Worktree, identity: Option<&Identity>) -> Vec<u8> {
    let mut config = worktree.shown().config.clone();
    let known = keys(&config);
    let mut set: Vec<(&str, String)> = Vec::new();
    for (key, value) in SET {
        set.push((key, value.to_owned()));
    }
    if let Some(Identity { name, email }) = identity {
        set.push(("user.name", quoted(name)));
        set.push(("user.email", quoted(email)));
    }
    for (key, value) in set {
        if let Some((section, name)) = key.split_once('.')
            && !known.contains(key)
        {
            config.extend_from_slice(format!("[{section}]\n\t{name} = {value}\n").as_bytes());
        }
    }
    config
}

/// Lists the keys of sections without a name of their own, in lower case.
fn keys(config: &[u8]) -> BTreeSet<String> {
    let (mut keys, mut section) = (BTreeSet::new(), String::new());
    for line in String::from_utf8_lossy(config).lines() {
        let line = line.trim().to_lowercase();
        if let Some(heading) = line.strip_prefix('[') {
            heading
                .split(']')
                .next()
                .unwrap_or(heading)
                .clone_into(&mut section);
        } else if let Some((name, _)) = line.split_once('=') {
            keys.insert(format!("{section}.{}", name.trim()));
        }
    }
    keys
}

/// Writes a value as git reads it.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace(['\n', '\r'], " "))
}

fn keep_time(from: &Path, to: &Path) -> Result<(), GitError> {
    let Some(found) = if_there(std::fs::metadata(from)).map_err(GitError::io("look at", from))?
    else {
        // Git may have packed it.
        return Ok(());
    };
    let file = File::options()
        .write(true)
        .open(to)
        .map_err(GitError::io("open", to))?;
    found
        .modified()
        .and_then(|modified| file.set_modified(modified))
        .map_err(GitError::io("set the time of", to))
}

fn create(folder: &Path) -> Result<(), GitError> {
    orchestrate_files::create_folder(folder).map_err(GitError::io("make", folder))
}

fn read(path: &Path) -> Result<Vec<u8>, GitError> {
    std::fs::read(path).map_err(GitError::io("read", path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    orchestrate_files::write(path, bytes).map_err(GitError::io("write", path))
}

/// Writes a file of a git directory in which an agent may have put anything in the way.
pub(super) fn put(
    git_dir: &OwnedFd,
    name: &[u8],
    bytes: &[u8],
    shown: &Path,
) -> Result<(), GitError> {
    let (folder, file) = openat::split(name);
    let failed = GitError::errno("write", shown.join(OsStr::from_bytes(name)));
    let folder = openat::make_folder(git_dir, folder).map_err(&failed)?;
    openat::write_private(&folder, file, bytes, false).map_err(&failed)
}
