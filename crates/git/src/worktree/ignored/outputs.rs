//! What the base's check has left in ignored files, such as `target` or `build`: new worktrees
//! start with it.
//!
//! Each topmost file or folder counts for itself. One that cannot be brought exactly, that is too
//! large to be copied, or for which a worktree has no place is left out: builds then make it again.
//! Where copies share their blocks with the file, their size does not matter.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use orchestrate_core::text::git_path::shown_path;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::files::openat::{join, path_of};
use crate::repo::worktree::Worktree;
use crate::worktree::ignored::made::{
    BEGUN, Copying, DONE, Entry, Hindrance, Made, Search, brought, brought_of_setup, done,
    has_room, read_note, rewritten, touches, write_note,
};
use crate::worktree::worktrees::Worktrees;

/// The name of the note in git's entry for a worktree, where no confined command can write, that
/// outputs are being brought to it or have been.
const NOTE: &str = "orchestrate-outputs";
const MIB: u64 = 1 << 20;

/// How much may be copied into one worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLimit {
    /// The bytes.
    pub bytes: u64,
    /// The number of files and folders.
    pub files: u64,
}

/// The outputs of a base, as they are brought to new worktrees.
#[derive(Debug)]
pub struct Outputs {
    made: Made,
    /// The files and folders that are not brought.
    pub left_out: Vec<LeftOut>,
    /// What a copy occupies: nothing where it shares its blocks.
    pub copied_bytes: u64,
}

/// An output that is not brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file or folder.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
}

/// The size of a file or folder.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    bytes: u64,
    files: u64,
}

/// What there is to know about an output.
enum Examined {
    /// It can be brought, and is this large.
    Movable(Size),
    /// It cannot, for this reason.
    Fixed(String),
}

impl Outputs {
    /// Returns the topmost files and folders, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.made.tops()
    }
}

impl Worktrees<'_> {
    /// Finds what was left in the ignored files of a worktree in which nothing runs any more,
    /// except what the project's setup has made there, which only counts towards the limit.
    ///
    /// # Errors
    /// If the worktree cannot be trusted or read.
    pub fn outputs(
        &self,
        from: &Worktree,
        of_setup: &[PathBuf],
        limit: CopyLimit,
    ) -> Result<Outputs, GitError> {
        from.verify_untampered()?;
        let tracked = self.tracked(from)?;
        let of_setup: BTreeSet<&[u8]> = of_setup
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        let mut search = self.search(from, self.included()?.into_iter().collect());
        let mut left_out = Vec::new();
        let shares_blocks = shares_blocks(from)?;
        let (mut copied, mut found) = (Size::default(), Vec::new());
        for entry in self.walk(from, &tracked)?.ignored {
            if of_setup.contains(entry.0.as_slice()) {
                copied.add(size_of(from, &entry)?);
            } else if !search.left_out.contains(&entry.0) && !touches(&tracked, &entry.0) {
                match self.examine(&mut search, from, &entry, limit) {
                    Ok(Examined::Movable(size)) => found.push((size, entry)),
                    Ok(Examined::Fixed(reason)) => left_out.push(LeftOut {
                        path: path_of(&entry.0),
                        reason,
                    }),
                    // A check may leave a file that cannot be read; the rest does not depend on it.
                    Err(error) => left_out.push(LeftOut {
                        path: path_of(&entry.0),
                        reason: error.to_string(),
                    }),
                }
            }
        }
        // The smallest first, so that one that is too large takes no others with it.
        found.sort_by_key(|(size, _)| size.bytes);
        let mut tops: Vec<Entry> = Vec::new();
        for (size, entry) in found {
            if shares_blocks || copied.plus(size).is_within(limit) {
                copied.add(size);
                tops.push(entry);
            } else {
                left_out.push(LeftOut {
                    path: path_of(&entry.0),
                    reason: size.too_large(limit),
                });
            }
        }
        tops.sort();
        let copied_bytes = if shares_blocks { 0 } else { copied.bytes };
        let made = Made {
            tops,
            rewritten: search.rewritten,
            left_out: search.left_out,
        };
        Ok(Outputs {
            made,
            left_out,
            copied_bytes,
        })
    }

    /// Finds out whether an entry can be brought exactly. Pipes and sockets in it are left out.
    /// Where its files have to be searched, one that is too large to be copied is too large for
    /// that as well.
    fn examine(
        &self,
        search: &mut Search<'_>,
        from: &Worktree,
        top: &Entry,
        limit: CopyLimit,
    ) -> Result<Examined, GitError> {
        let size = size_of(from, top)?;
        if !self.are_mounted() && !size.is_within(limit) {
            return Ok(Examined::Fixed(size.too_large(limit)));
        }
        let mut open = vec![top.clone()];
        while let Some((path, is_folder)) = open.pop() {
            let shown = || shown_path(&path_of(&path));
            if is_folder {
                if !search.enter(&path, &mut open)? {
                    return Ok(Examined::Fixed(format!("{} is a repository", shown())));
                }
                continue;
            }
            match search.judge(&path)? {
                None => {}
                Some(Hindrance::Special) => drop(search.left_out.insert(path)),
                Some(hindrance) => return Ok(Examined::Fixed(format!("{} {hindrance}", shown()))),
            }
        }
        Ok(Examined::Movable(size))
    }

    /// Brings outputs from the worktree in which they were made to another one, unless it has them
    /// already. Those for which there is no place are left out.
    ///
    /// Call it while no process of an agent is alive in `to`.
    ///
    /// # Errors
    /// If one of the worktrees cannot be trusted, or a file cannot be read or written.
    pub fn bring_outputs(
        &self,
        outputs: &Outputs,
        from: &Worktree,
        to: &Worktree,
    ) -> Result<(), GitError> {
        from.verify_untampered()?;
        to.verify_untampered()?;
        let note = read_note(to, NOTE)?;
        if note.starts_with(DONE) {
            return Ok(());
        }
        let (tracked, is_begun) = (self.tracked(to)?, note == BEGUN);
        let mut tops = Vec::new();
        for (path, is_folder) in &outputs.made.tops {
            let is_possible = !touches(&tracked, path)
                && has_room(&outputs.made, to, path, *is_folder, is_begun)?
                && self.ignores_top(to, path, *is_folder)?;
            if is_possible {
                tops.push((path.clone(), *is_folder));
            }
        }
        let is_brought = |path: &[u8]| {
            tops.iter()
                .any(|(top, _)| path == top || path.starts_with(&join(top, b"")))
        };
        let rewritten_files = outputs
            .made
            .rewritten
            .iter()
            .filter(|(path, _)| is_brought(path))
            .cloned()
            .collect();
        let made = Made {
            rewritten: rewritten_files,
            left_out: outputs.made.left_out.clone(),
            tops: tops.clone(),
        };
        let Some(contents) = rewritten(&made, from, to)? else {
            return Ok(());
        };
        write_note(to, NOTE, BEGUN)?;
        Copying::new(&made, contents, from, to).all()?;
        write_note(to, NOTE, &done(&made))
    }

    /// Removes outputs of which only a part could be brought to a worktree.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn drop_outputs(&self, outputs: &Outputs, to: &Worktree) -> Result<(), GitError> {
        if read_note(to, NOTE)? != BEGUN {
            return Ok(());
        }
        let tracked = self.tracked(to)?;
        for (path, _) in outputs
            .made
            .tops
            .iter()
            .filter(|(path, _)| !touches(&tracked, path))
        {
            let (folder, name) = openat::split(path);
            let removed = openat::open_folder(to.root(), folder)
                .and_then(|folder| openat::remove_folder(folder, name));
            match removed {
                Err(Errno::NOENT) => {}
                removed => {
                    removed.map_err(GitError::errno("remove", to.path().join(path_of(path))))?
                }
            }
        }
        write_note(to, NOTE, DONE)
    }

    /// Returns the topmost files and folders that were brought to a worktree, which can be made
    /// again.
    ///
    /// # Errors
    /// If a note cannot be read.
    pub(crate) fn brought_to(&self, worktree: &Worktree) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let mut all = brought(&read_note(worktree, NOTE)?);
        all.extend(brought_of_setup(worktree)?);
        Ok(all)
    }
}

/// Reports whether copies that are made beside a worktree share their blocks with files in it.
fn shares_blocks(from: &Worktree) -> Result<bool, GitError> {
    let Some(beside) = from.path().parent() else {
        return Ok(false);
    };
    let failed = GitError::errno("try a copy in", beside);
    let beside_it = openat::open_root(beside).map_err(&failed)?;
    openat::shares_blocks(from.root(), b".git", &beside_it).map_err(&failed)
}

/// Measures a file or a folder with everything in it; a file with several names counts once.
fn size_of(from: &Worktree, top: &Entry) -> Result<Size, GitError> {
    let (mut size, mut seen, mut open) = (Size::default(), BTreeSet::new(), vec![top.clone()]);
    while let Some((path, is_folder)) = open.pop() {
        let failed = GitError::errno("measure", from.path().join(path_of(&path)));
        size.files += 1;
        if is_folder {
            let opened = openat::open_folder(from.root(), &path).map_err(&failed)?;
            let inside = openat::list(&opened).map_err(&failed)?.into_iter();
            open.extend(inside.map(|(name, is_folder)| (join(&path, &name), is_folder)));
            continue;
        }
        let (folder, name) = openat::split(&path);
        let opened = openat::open_folder(from.root(), folder).map_err(&failed)?;
        let Some(stat) = openat::look(&opened, name).map_err(&failed)? else {
            continue;
        };
        if stat.st_nlink == 1 || seen.insert((stat.st_dev, stat.st_ino)) {
            size.bytes += u64::try_from(stat.st_size).unwrap_or(0);
        }
    }
    Ok(size)
}

impl Size {
    fn plus(self, other: Size) -> Size {
        let bytes = self.bytes.saturating_add(other.bytes);
        let files = self.files.saturating_add(other.files);
        Size { bytes, files }
    }

    fn add(&mut self, other: Size) {
        *self = self.plus(other);
    }

    fn is_within(self, limit: CopyLimit) -> bool {
        self.bytes <= limit.bytes && self.files <= limit.files
    }

    fn too_large(self, limit: CopyLimit) -> String {
        let (mib, most) = (self.bytes.div_ceil(MIB), limit.bytes / MIB);
        format!(
            "{mib} MiB in {} files would be copied; at most {most} MiB in {} files are",
            self.files, limit.files
        )
    }
}
