//! A checkout's files, brought from one commit's to another's: all of them, or none.
//!
//! Git is asked first whether it would, and a refusal has written nothing. Then it writes one file after another, and where
//! it fails in between (no space, a folder that it may not write to, a filter that fails), it leaves what it has written,
//! and the index as it was. So a note of what is being done is made before, and what git has left is put back by it: at
//! once, or by whoever comes next if that fails too. Put back is only what is certainly of git's writing: what is gone, or
//! holds the beginning of what was to be written and nothing else, where the index has the old version.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Tree;
use orchestrate_core::Oid;

use crate::beneath::path_of;
use crate::error::GitError;
use crate::lock::Held;
use crate::place::Place;
use crate::program::{Ended, Run};
use crate::repo::{Repo, theirs, tree_of};

/// The note's file in the common directory.
const NOTE: &str = "orchestrate-switch";
/// How many paths one process is given.
const PATHS_AT_ONCE: usize = 200;
/// How no file looks.
const NOTHING: &str = "-";

/// What is being done.
struct Switch {
    place: Place,
    from: Oid,
    to: Oid,
    /// The files of the old version that the user had deleted.
    absent: Vec<PathBuf>,
    /// What could not be put back, each with how it was left; if there is none, nobody came so far.
    left: Vec<(PathBuf, String)>,
}

impl Repo {
    /// Brings a checkout's files and index from one commit to another, keeping what the user has changed; gives how git
    /// ended. If that is not well, it has refused, and nothing has changed.
    ///
    /// # Errors
    /// [`GitError::NotWritten`] if it failed and all is as it was, [`GitError::HalfWritten`] if not.
    pub(crate) fn switch(&self, place: &Place, [from, to]: [&Oid; 2], held: &Held) -> Result<Ended, GitError> {
        let read_tree = |how: &[&str]| {
            let args = [&["read-tree", "-m"], how, &[from.as_str(), to.as_str()]].concat();
            self.git_in(place, args, Some(held))
        };
        let mut refused = read_tree(&["-n", "-u"])?;
        if refused.code != 0 {
            // Git may only be out of date about which files changed; that is what refreshing is for.
            self.git_in(place, ["update-index", "-q", "--refresh"], Some(held))?;
            refused = read_tree(&["-n", "-u"])?;
        }
        if refused.code != 0 {
            return Ok(refused);
        }
        let absent = self.absent(place, [from, to])?;
        let switch = Switch { place: place.clone(), from: from.clone(), to: to.clone(), absent, left: Vec::new() };
        self.note(&switch)?;
        let ended = read_tree(&["-u"])?;
        if ended.code == 0 {
            return self.forget_note().map(|()| ended);
        }
        let reason = ended.stderr.trim().to_owned();
        self.put_back(switch, &reason)?;
        self.forget_note()?;
        Err(GitError::NotWritten { path: place.path.clone(), reason })
    }

    /// Puts back what an earlier switch has left half done.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if that fails once more.
    pub(crate) fn settle_switch(&self, _held: &Held) -> Result<(), GitError> {
        let note = self.common_dir().join(NOTE);
        let text = match std::fs::read(&note) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(GitError::io("read", &note)(error)),
        };
        // One that is cut off was made by who was killed before anything else.
        if let Some(switch) = Switch::read(&text) {
            self.put_back(switch, "it was interrupted")?;
        }
        self.forget_note()
    }

    fn note(&self, switch: &Switch) -> Result<(), GitError> {
        let path = self.common_dir().join(NOTE);
        let write = || {
            let mut file = std::fs::File::create(&path)?;
            file.write_all(&switch.text())?;
            file.sync_all()
        };
        write().map_err(GitError::io("write", &path))
    }

    fn forget_note(&self) -> Result<(), GitError> {
        let path = self.common_dir().join(NOTE);
        std::fs::remove_file(&path).map_err(GitError::io("remove", &path))
    }

    /// Puts back each file that git has written, or was about to write; notes what is left if that fails.
    fn put_back(&self, mut switch: Switch, reason: &str) -> Result<(), GitError> {
        let Err(error) = self.restore_written(&switch) else { return Ok(()) };
        let left = [self.written(&switch, true)?, self.written(&switch, false)?].concat();
        switch.left = left.into_iter().map(|path| (path.clone(), look_of(&switch.place, &path))).collect();
        self.note(&switch)?;
        let (path, reason, left) = (switch.place.path, reason.to_owned(), error.to_string());
        Err(GitError::HalfWritten { path, reason, left })
    }

    fn restore_written(&self, switch: &Switch) -> Result<(), GitError> {
        // What was added goes first: it may stand in a folder where a file was.
        for path in self.written(switch, true)? {
            remove(&switch.place, &path)?;
        }
        let (gone, old): (Vec<PathBuf>, _) =
            self.written(switch, false)?.into_iter().partition(|path| switch.absent.contains(path));
        gone.iter().try_for_each(|path| remove(&switch.place, path))?;
        for paths in old.chunks(PATHS_AT_ONCE) {
            let args = ["checkout-index", "--force", "--quiet", "--"].map(OsStr::new).into_iter();
            let args: Vec<&OsStr> = args.chain(paths.iter().map(|path| path.as_os_str())).collect();
            self.shared.program.require(&Run::new(&switch.place.git_dir, &switch.place.path, args))?;
        }
        Ok(())
    }

    /// Lists the files that the old version has and the user's checkout has not.
    fn absent(&self, place: &Place, [from, to]: [&Oid; 2]) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.handle()?;
        let old = tree_of(&handle, from)?;
        let mut changed = self.changed_paths(from, to)?;
        changed.retain(|path| id_in(&old, path).is_some() && look_of(place, path) == NOTHING);
        Ok(changed)
    }

    /// Lists what git has written, or was about to: of what the new version adds, or of what the old one has.
    fn written(&self, switch: &Switch, added: bool) -> Result<Vec<PathBuf>, GitError> {
        let Switch { place, from, to, absent, left } = switch;
        let handle = self.handle()?;
        let (old, index) = (tree_of(&handle, from)?, place.index()?);
        let mut written = Vec::new();
        for path in self.changed_paths(from, to)? {
            let (was, look) = (id_in(&old, &path), look_of(place, &path));
            let is_left = left.is_empty() || left.iter().any(|(left, then)| *left == path && *then == look);
            // Git's index says the new version of what git is done with.
            if was.is_some() == added || !is_left || index.get_path(&path, 0).map(|entry| entry.id) != was {
                continue;
            }
            let is_written = match look == NOTHING {
                true => !added && !absent.contains(&path),
                false => self.is_of_gits_writing(switch, &path)?,
            };
            if is_written {
                written.push(path);
            }
        }
        Ok(written)
    }

    /// Tells whether a file is a beginning of its new version, and not its old version.
    fn is_of_gits_writing(&self, Switch { place, from, to, .. }: &Switch, path: &Path) -> Result<bool, GitError> {
        let file = place.path.join(path);
        let failed = || GitError::io("read", &file);
        let found = std::fs::symlink_metadata(&file).map_err(failed())?;
        let content = match found.is_symlink() {
            true => std::fs::read_link(&file).map(|to| to.into_os_string().into_vec()),
            false if found.is_file() => std::fs::read(&file),
            false => return Ok(false),
        };
        let content = content.map_err(failed())?;
        let mode = mode_of(&found);
        Ok(!self.is_version(place, (from, path), |old, old_mode| old_mode == mode && *old == content)?
            && self.is_version(place, (to, path), |new, _| new.starts_with(&content))?)
    }

    /// Tells whether a commit's version of a file, with its mode, is such, as it is stored or as it is checked out.
    fn is_version(
        &self,
        place: &Place,
        (commit, path): (&Oid, &Path),
        is_such: impl Fn(&[u8], i32) -> bool,
    ) -> Result<bool, GitError> {
        let handle = self.handle()?;
        let Ok(entry) = tree_of(&handle, commit)?.get_path(path) else { return Ok(false) };
        let (id, mode) = (entry.id(), entry.filemode());
        let blob = handle.find_blob(id).map_err(GitError::library(format!("read {id}")))?;
        if is_such(blob.content(), mode) {
            return Ok(true);
        }
        let mut version = OsString::from(format!("{commit}:"));
        version.push(path);
        let filtered = self.git_in(place, [OsStr::new("cat-file"), OsStr::new("--filters"), &version], None)?;
        Ok(filtered.code == 0 && is_such(&filtered.stdout, mode))
    }

    fn git_in(
        &self,
        place: &Place,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        held: Option<&Held>,
    ) -> Result<Ended, GitError> {
        let run = Run::new(&place.git_dir, &place.path, args);
        self.shared.program.run(&match held {
            Some(held) => run.outlives_us(held),
            None => run,
        })
    }
}

impl Switch {
    /// Gives the note's text: its fields, each with a zero byte behind it, and a line break at the end. A path of `left`
    /// has how it was left behind it, one of `absent` nothing.
    fn text(&self) -> Vec<u8> {
        let Switch { place: Place { path, git_dir }, from, to, absent, left } = self;
        let mut fields: Vec<&[u8]> = [from, to].map(|oid| oid.as_str().as_bytes()).into();
        fields.extend([path, git_dir].map(|path| path.as_os_str().as_bytes()));
        fields.extend(absent.iter().flat_map(|path| [path.as_os_str().as_bytes(), b""]));
        fields.extend(left.iter().flat_map(|(path, look)| [path.as_os_str().as_bytes(), look.as_bytes()]));
        let mut text = fields.into_iter().flat_map(|field| [field, b"\0"]).collect::<Vec<_>>().concat();
        text.push(b'\n');
        text
    }

    fn read(text: &[u8]) -> Option<Switch> {
        let mut fields = text.strip_suffix(b"\0\n")?.split(|byte| *byte == 0);
        let oid = |text: &[u8]| Some(Oid::new(std::str::from_utf8(text).ok()?)).filter(|oid| theirs(oid).is_ok());
        let (from, to) = (oid(fields.next()?)?, oid(fields.next()?)?);
        let (path, git_dir) = (path_of(fields.next()?), path_of(fields.next()?));
        let mut switch = Switch { place: Place { path, git_dir }, from, to, absent: Vec::new(), left: Vec::new() };
        while let Some(path) = fields.next() {
            match String::from_utf8(fields.next()?.to_vec()).ok()? {
                look if look.is_empty() => switch.absent.push(path_of(path)),
                look => switch.left.push((path_of(path), look)),
            }
        }
        Some(switch)
    }
}

fn id_in(tree: &Tree<'_>, path: &Path) -> Option<git2::Oid> {
    tree.get_path(path).ok().map(|entry| entry.id())
}

/// Gives how a file is, so that it is known again: its size and when it was changed. A folder is no file.
fn look_of(place: &Place, path: &Path) -> String {
    match std::fs::symlink_metadata(place.path.join(path)) {
        Ok(found) if !found.is_dir() => format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec()),
        _ => NOTHING.to_owned(),
    }
}

/// Gives the mode that git would have of a file.
fn mode_of(found: &Metadata) -> i32 {
    match (found.is_symlink(), found.mode() & 0o100) {
        (true, _) => 0o120_000,
        (false, 0) => 0o100_644,
        (false, _) => 0o100_755,
    }
}

/// Removes a file that git has made, and the folders that it leaves empty.
fn remove(place: &Place, path: &Path) -> Result<(), GitError> {
    let file = place.path.join(path);
    std::fs::remove_file(&file).map_err(GitError::io("remove", &file))?;
    // It fails at the first that has something in it.
    let above: Vec<PathBuf> =
        path.ancestors().skip(1).filter(|above| *above != Path::new("")).map(Into::into).collect();
    let _ = above.iter().try_for_each(|folder| std::fs::remove_dir(place.path.join(folder)));
    Ok(())
}
