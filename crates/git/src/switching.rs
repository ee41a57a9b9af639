//! A checkout's files, brought from one commit's to another's: all of them, or none.
//!
//! Git writes one after another. Where it fails in between (no space, a folder that it may not write to, a filter that
//! fails), it leaves what it has written, and the index as it was. So a note of what is being done is made first, and what
//! git has left is put back by it: at once, or by whoever comes next if that fails too. Put back is only what is certainly
//! of git's writing: a file that the user had not changed, and that is gone or holds the beginning of what was to be
//! written and nothing else.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use git2::{Index, Status, Tree};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::land::Place;
use crate::lock::Held;
use crate::program::{Ended, Run};
use crate::repo::{Repo, theirs, tree_of};

/// The note's file in the common directory.
const NOTE: &str = "orchestrate-switch";
/// How many paths one process is given.
const PATHS_AT_ONCE: usize = 200;

/// What is being done.
struct Switch {
    place: Place,
    from: Oid,
    to: Oid,
    /// What the user had changed before.
    users: Vec<PathBuf>,
}

impl Repo {
    /// Brings a checkout's files and index from one commit to another, keeping what the user has changed; gives how git
    /// ended. If that is not well, they are as they were.
    ///
    /// # Errors
    /// [`GitError::HalfWritten`] if they are not.
    pub(crate) fn switch(&self, place: &Place, [from, to]: [&Oid; 2], held: &Held) -> Result<Ended, GitError> {
        let users = self.overlapping(place, [from, to], Status::all())?;
        let switch = Switch { place: place.clone(), from: from.clone(), to: to.clone(), users };
        let git = |args: &[&str]| self.git_in(place, args, Some(held));
        let read_tree = || git(&["read-tree", "-m", "-u", from.as_str(), to.as_str()]);
        self.note(&switch)?;
        let mut ended = read_tree()?;
        if ended.code != 0 && !self.put_back(&switch, &ended)? {
            // It has written nothing. It may only be out of date about which files changed; refreshing is for that.
            git(&["update-index", "-q", "--refresh"])?;
            ended = read_tree()?;
            if ended.code != 0 {
                self.put_back(&switch, &ended)?;
            }
        }
        self.forget_note()?;
        Ok(ended)
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
            let again = Ended { code: 0, stdout: Vec::new(), stderr: "it was interrupted".to_owned() };
            self.put_back(&switch, &again)?;
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

    /// Puts back each file that git has written, or was about to write, where its index does not say so; tells whether
    /// there was one.
    fn put_back(&self, switch: &Switch, failed: &Ended) -> Result<bool, GitError> {
        self.restore_written(switch).map_err(|left| GitError::HalfWritten {
            path: switch.place.path.clone(),
            reason: failed.stderr.trim().to_owned(),
            left: left.to_string(),
        })
    }

    fn restore_written(&self, switch: &Switch) -> Result<bool, GitError> {
        let Switch { place, from, to, users } = switch;
        let handle = self.handle()?;
        let (old, index) = (tree_of(&handle, from)?, place.index()?);
        let (mut emptied, mut found) = (Vec::new(), false);
        for path in self.changed_paths(from, to)? {
            let is_from = index.get_path(&path, 0).map(|entry| entry.id) == id_in(&old, &path);
            if !is_from || users.contains(&path) || !self.is_of_gits_writing(switch, &path)? {
                continue;
            }
            if id_in(&old, &path).is_some() {
                emptied.push(path);
            } else {
                found |= remove(place, &path)?;
            }
        }
        found |= !emptied.is_empty();
        for paths in emptied.chunks(PATHS_AT_ONCE) {
            let args = ["checkout-index", "--force", "--quiet", "--"].map(OsStr::new).into_iter();
            let args: Vec<&OsStr> = args.chain(paths.iter().map(|path| path.as_os_str())).collect();
            self.shared.program.require(&Run::new(&place.git_dir, &place.path, args))?;
        }
        Ok(found)
    }

    /// Tells whether a file is gone, or is a beginning of its new version, and not its old version.
    fn is_of_gits_writing(&self, Switch { place, from, to, .. }: &Switch, path: &Path) -> Result<bool, GitError> {
        let file = place.path.join(path);
        let content = match std::fs::symlink_metadata(&file) {
            Err(error) if is_absent(&error) => return Ok(true),
            Ok(found) if found.is_symlink() => std::fs::read_link(&file).map(|to| to.into_os_string().into_vec()),
            Ok(found) if !found.is_file() => return Ok(false),
            found => found.and_then(|_| std::fs::read(&file)),
        };
        let content = content.map_err(GitError::io("read", &file))?;
        Ok(!self.is_version(place, (from, path), |old| *old == content)?
            && self.is_version(place, (to, path), |new| new.starts_with(&content))?)
    }

    /// Tells whether a commit's version of a file is such, as it is stored or as it is checked out.
    fn is_version(
        &self,
        place: &Place,
        (commit, path): (&Oid, &Path),
        is_such: impl Fn(&[u8]) -> bool,
    ) -> Result<bool, GitError> {
        let handle = self.handle()?;
        let Some(id) = id_in(&tree_of(&handle, commit)?, path) else { return Ok(false) };
        let blob = handle.find_blob(id).map_err(GitError::library(format!("read {id}")))?;
        if is_such(blob.content()) {
            return Ok(true);
        }
        let mut version = OsString::from(format!("{commit}:"));
        version.push(path);
        let filtered = self.git_in(place, [OsStr::new("cat-file"), OsStr::new("--filters"), &version], None)?;
        Ok(filtered.code == 0 && is_such(&filtered.stdout))
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

impl Place {
    /// Reads its index.
    pub(crate) fn index(&self) -> Result<Index, GitError> {
        let path = self.git_dir.join("index");
        Index::open(&path).map_err(GitError::library(format!("read {}", path.display())))
    }
}

impl Switch {
    /// Gives the note's text: its fields, each with a zero byte behind it, and a line break at the end.
    fn text(&self) -> Vec<u8> {
        let Switch { place: Place { path, git_dir }, from, to, users } = self;
        let oids = [from, to].map(|oid| oid.as_str().as_bytes());
        let paths = [path, git_dir].into_iter().chain(users).map(|path| path.as_os_str().as_bytes());
        let mut text = oids.into_iter().chain(paths).flat_map(|field| [field, b"\0"]).collect::<Vec<_>>().concat();
        text.push(b'\n');
        text
    }

    fn read(text: &[u8]) -> Option<Switch> {
        let mut fields = text.strip_suffix(b"\0\n")?.split(|byte| *byte == 0);
        let oid = |text: &[u8]| Some(Oid::new(std::str::from_utf8(text).ok()?)).filter(|oid| theirs(oid).is_ok());
        let (from, to) = (oid(fields.next()?)?, oid(fields.next()?)?);
        let mut paths = fields.map(crate::beneath::path_of);
        let (path, git_dir) = (paths.next()?, paths.next()?);
        Some(Switch { place: Place { path, git_dir }, from, to, users: paths.collect() })
    }
}

fn id_in(tree: &Tree<'_>, path: &Path) -> Option<git2::Oid> {
    tree.get_path(path).ok().map(|entry| entry.id())
}

/// Tells whether nothing is at a path; a file may stand where a folder of it was.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Removes a file that git has made, and the folders that it leaves empty; tells whether it was there.
fn remove(place: &Place, path: &Path) -> Result<bool, GitError> {
    let file = place.path.join(path);
    let found = match std::fs::remove_file(&file) {
        Err(error) if is_absent(&error) => false,
        removed => removed.map(|()| true).map_err(GitError::io("remove", &file))?,
    };
    // It fails at the first that has something in it.
    let above: Vec<PathBuf> =
        path.ancestors().skip(1).filter(|above| *above != Path::new("")).map(Into::into).collect();
    let _ = above.iter().try_for_each(|folder| std::fs::remove_dir(place.path.join(folder)));
    Ok(found)
}
