//! `.worktreeinclude`: ignored files of the user's checkout (a local `.env`, `node_modules`) that
//! are copied to every worktree.
//!
//! A file is copied only if git ignores it *and* the patterns match it. Tracked and merely new
//! files are never copied, and a file that the worktree already has is not overwritten. Git
//! computes both lists, in the user's own checkout.
//!
//! A copy keeps its time of modification: what was built from the base's files is not newer than a
//! file that differs from the base's, so builds make it again.
//!
//! Where a worktree is mounted at the checkout's path, files that lead there are right as they are.
//! Elsewhere, a file that leads back into the checkout, such as an editable install, leads into the
//! worktree afterwards, or is refused ([`links_back`](crate::worktree::ignored::links_back)). A
//! file of another kind that names the checkout, such as a compiled program, is left out.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_files::if_there;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::GitError;
use crate::error::refusal::{BackLink, MAX_INCLUDED, RepositoryRefusal};
use crate::files::openat::path_of;
use crate::files::{bounds, openat};
use crate::repo::worktree::Worktree;
use crate::worktree::checkout::Checkout;
use crate::worktree::ignored::copies::Copies;
use crate::worktree::ignored::links_back::{
    Kind, MAX_SEARCHED, Relocated, Relocation, finders, is_end,
};
use crate::worktree::worktrees::Worktrees;

/// The file with the patterns, at the top of the user's checkout.
const PATTERNS: &str = ".worktreeinclude";
/// Stands for a worktree that does not exist yet.
const ANY_WORKTREE: &str = "/worktree";
/// Committed files that may name folders by absolute paths.
const COMMITTED: &[&str] = &["go.work", "go.mod", ".cargo/config.toml", ".cargo/config"];

/// What is read of a file of the checkout.
enum Read {
    /// The target of a link.
    Link(Vec<u8>),
    /// The content and the mode of a file that may lead back.
    File(Kind, Vec<u8>, u32),
    /// Nothing: the file is copied as it is.
    Unsearched,
}

/// What a file of the checkout becomes in a worktree.
enum Entry {
    /// A copy of the file in this folder.
    Same(OwnedFd),
    /// A file with this content and mode.
    Content(Vec<u8>, u32),
    /// A link with this target.
    Link(Vec<u8>),
}

impl Worktrees<'_> {
    /// Copies the ignored files that `.worktreeinclude` names from the user's checkout into a
    /// worktree, and returns their paths. A link is copied as a link, wherever it points.
    ///
    /// # Errors
    /// If there are too many ([`RepositoryRefusal::IncludesTooMuch`]), or one cannot be read or
    /// written.
    pub fn copy_included(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let files = self.included()?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        worktree.verify_untampered()?;
        let from = openat::open_root(self.repo.workdir())
            .map_err(GitError::errno("open", self.repo.workdir()))?;
        let relocation = self.relocation_to(worktree.path());
        let mut copied = Vec::new();
        for path in files {
            if self.copy_one(&from, worktree, relocation.as_ref(), &path)? {
                copied.push(path);
            }
        }
        if !copied.is_empty() {
            Copies::read(worktree)?.add(worktree, &copied)?;
        }
        Ok(copied.iter().map(|path| path_of(path)).collect())
    }

    /// Returns what leads files to another folder than the checkout, unless they are seen at its
    /// path there as well.
    fn relocation_to(&self, folder: &Path) -> Option<Relocation> {
        (!self.are_mounted()).then(|| Relocation::new(self.repo.workdir(), folder))
    }

    /// Copies one file; returns whether it did.
    fn copy_one(
        &self,
        from: &OwnedFd,
        worktree: &Worktree,
        relocation: Option<&Relocation>,
        path: &[u8],
    ) -> Result<bool, GitError> {
        let failed = GitError::errno("copy", self.repo.workdir().join(path_of(path)));
        let (folder, name) = openat::split(path);
        let Some(entry) = self.relocated(from, relocation, path)? else {
            return Ok(false);
        };
        let target = match openat::open_folder(worktree.root(), folder) {
            Err(Errno::NOENT) => openat::make_folder(worktree.root(), folder),
            // The worktree has a file or a link in the folder's place.
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            opened => opened,
        };
        let target = target.map_err(&failed)?;
        if openat::look(&target, name).map_err(&failed)?.is_some() {
            return Ok(false);
        }
        let done = match &entry {
            Entry::Link(leads) => openat::write_link(&target, name, leads),
            Entry::Content(bytes, mode) => openat::write(&target, name, bytes, mode & 0o111 != 0),
            Entry::Same(source) => openat::copy(source, &target, name),
        };
        match done {
            Err(error) if has_changed(error) => Ok(false),
            done => done.map(|()| true).map_err(&failed),
        }
    }

    /// Returns what a file of the checkout becomes in a worktree; `None` if it is left out, or is
    /// neither a regular file nor a link.
    fn relocated(
        &self,
        from: &OwnedFd,
        relocation: Option<&Relocation>,
        path: &[u8],
    ) -> Result<Option<Entry>, GitError> {
        let failed = GitError::errno("copy", self.repo.workdir().join(path_of(path)));
        let (folder, name) = openat::split(path);
        let source = match openat::open_folder(from, folder) {
            Err(error) if has_changed(error) => return Ok(None),
            opened => opened.map_err(&failed)?,
        };
        let Some(stat) = openat::look(&source, name).map_err(&failed)? else {
            return Ok(None);
        };
        let read = match openat::kind(&stat) {
            FileType::Symlink => openat::read_link(&source, name).map(Read::Link),
            FileType::RegularFile => match Kind::for_path(path).filter(|_| relocation.is_some()) {
                None => Ok(Read::Unsearched),
                Some(kind) => openat::read(&source, name, MAX_SEARCHED).map(|read| {
                    read.map_or(Read::Unsearched, |(bytes, stat)| {
                        Read::File(kind, bytes, stat.st_mode)
                    })
                }),
            },
            _ => return Ok(None),
        };
        let read = match read {
            Err(error) if has_changed(error) => return Ok(None),
            read => read.map_err(&failed)?,
        };
        let relative = path_of(path);
        if let (Read::Unsearched, Some(_)) = (&read, relocation)
            && openat::contains(&source, name, &finders(self.repo.workdir()), is_end)
                .map_err(&failed)?
        {
            return Ok(None);
        }
        match (read, relocation) {
            (Read::Unsearched | Read::File(..), None) | (Read::Unsearched, _) => {
                Ok(Some(Entry::Same(source)))
            }
            (Read::Link(leads), None) => Ok(Some(Entry::Link(leads))),
            (Read::Link(leads), Some(relocation)) => {
                match relocation.link(&relative, Path::new(OsStr::from_bytes(&leads))) {
                    Relocated::Other(leads) => Ok(Some(Entry::Link(leads))),
                    _ => {
                        self.require_nothing_behind(relocation, &relative)?;
                        Ok(Some(Entry::Link(leads)))
                    }
                }
            }
            (Read::File(kind, bytes, mode), Some(relocation)) => {
                match relocation.content(kind, &bytes) {
                    Ok(Relocated::Same) => Ok(Some(Entry::Same(source))),
                    Ok(Relocated::Other(bytes)) => Ok(Some(Entry::Content(bytes, mode))),
                    Ok(Relocated::LeftOut) => Ok(None),
                    Err(link) => Err(self.leads_back(relative, link)),
                }
            }
        }
    }

    /// Refuses a link to a folder outside the checkout in which a file or a link leads back into
    /// it: it cannot be changed there.
    fn require_nothing_behind(&self, relocation: &Relocation, link: &Path) -> Result<(), GitError> {
        let Ok(real) = self.repo.workdir().join(link).canonicalize() else {
            return Ok(());
        };
        if !real.is_dir() || relocation.holds(&real) {
            return Ok(());
        }
        let mut folders = vec![real];
        let mut left = MAX_INCLUDED;
        while let Some(folder) = folders.pop() {
            // A folder that this user cannot read is of no use to a command.
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                left = left.saturating_sub(1);
                if left == 0 {
                    return Ok(());
                }
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() => {
                        if let Some(line) = relocation.line_in(&path) {
                            let link = BackLink::Behind {
                                through: link.to_owned(),
                                line,
                            };
                            return Err(self.leads_back(path, link));
                        }
                    }
                    Ok(kind)
                        if kind.is_symlink()
                            && path
                                .canonicalize()
                                .is_ok_and(|real| relocation.holds(&real)) =>
                    {
                        return Err(self.leads_back(
                            path,
                            BackLink::LinkBehind {
                                through: link.to_owned(),
                            },
                        ));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Refuses files to be copied that lead back into the checkout and cannot be changed. Returns
    /// those that name it in a form of their own, and are left out.
    ///
    /// # Errors
    /// [`RepositoryRefusal::LeadsBack`], and those of [`copy_included`](Self::copy_included).
    pub(crate) fn require_includable(&self) -> Result<Vec<PathBuf>, GitError> {
        let from = openat::open_root(self.repo.workdir())
            .map_err(GitError::errno("open", self.repo.workdir()))?;
        let relocation = self.relocation_to(Path::new(ANY_WORKTREE));
        let mut left_out = Vec::new();
        for path in self.included()? {
            let is_left_out = self.relocated(&from, relocation.as_ref(), &path)?.is_none();
            if is_left_out && Kind::for_path(&path) != Some(Kind::Compiled) && is_file(&from, &path)
            {
                left_out.push(path_of(&path));
            }
        }
        Ok(left_out)
    }

    /// Refuses a commit with a workspace or an override that names the checkout by its absolute
    /// path.
    ///
    /// # Errors
    /// [`RepositoryRefusal::LeadsBack`]; also fails if the commit cannot be read.
    pub(crate) fn require_no_path_back(&self, commit: &Oid) -> Result<(), GitError> {
        let Some(relocation) = self.relocation_to(Path::new(ANY_WORKTREE)) else {
            return Ok(());
        };
        let tree = self.repo.tree_of(commit)?;
        for name in COMMITTED {
            let Some(bytes) = self.repo.store().read_stored(&tree, Path::new(name))? else {
                continue;
            };
            if let Some(line) = relocation.line_of_first(&bytes) {
                return Err(self.leads_back(name.into(), BackLink::Committed { line }));
            }
        }
        Ok(())
    }

    fn leads_back(&self, path: PathBuf, link: BackLink) -> GitError {
        let refusal = RepositoryRefusal::LeadsBack { path, link };
        GitError::Refused {
            path: self.repo.workdir().to_owned(),
            refusal,
        }
    }

    /// Returns bytes that change with the files that are copied to each worktree: their names,
    /// sizes, modes, numbers and times. A program can set the time of modification, but not that of
    /// the change itself, so an edit that keeps size and time is seen without reading the files,
    /// which may be thousands. They are empty if there are none.
    ///
    /// # Errors
    /// See [`copy_included`](Self::copy_included).
    pub fn included_fingerprint(&self) -> Result<Vec<u8>, GitError> {
        self.fingerprint_in(self.repo.workdir())
    }

    /// Returns such bytes for the copies of these files in a worktree.
    ///
    /// # Errors
    /// See [`copy_included`](Self::copy_included).
    pub fn copies_fingerprint(&self, worktree: &Worktree) -> Result<Vec<u8>, GitError> {
        self.fingerprint_in(worktree.path())
    }

    fn fingerprint_in(&self, folder: &Path) -> Result<Vec<u8>, GitError> {
        let files = self.included()?;
        let root = openat::open_root(folder).map_err(GitError::errno("open", folder))?;
        let mut bytes = Vec::new();
        for path in files {
            let found = match openat::look(&root, &path) {
                Err(error) if has_changed(error) => None,
                found => found.map_err(GitError::errno("look at", folder.join(path_of(&path))))?,
            };
            let Some(stat) = found else { continue };
            bytes.extend_from_slice(&path);
            let modified = [stat.st_mtime, stat.st_mtime_nsec.cast_signed()];
            let changed = [stat.st_ctime, stat.st_ctime_nsec.cast_signed()];
            let facts = [
                stat.st_size,
                i64::from(stat.st_mode),
                stat.st_ino.cast_signed(),
            ];
            bytes.push(0);
            bytes.extend(
                [&modified[..], &changed, &facts]
                    .concat()
                    .into_iter()
                    .flat_map(i64::to_le_bytes),
            );
        }
        Ok(bytes)
    }

    /// Returns the lines of `.worktreeinclude`, without comments; empty if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn include_patterns(&self) -> Result<Vec<String>, GitError> {
        let path = self.repo.workdir().join(PATTERNS);
        let found = if_there(std::fs::read(&path)).map_err(GitError::io("read", &path))?;
        let Some(bytes) = found else {
            return Ok(Vec::new());
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(lines.map(str::to_owned).collect())
    }

    /// Reports whether a file, or a link in the place of one of its folders, is copied to each
    /// worktree.
    ///
    /// # Errors
    /// See [`copy_included`](Self::copy_included).
    pub fn includes(&self, path: &Path) -> Result<bool, GitError> {
        let files = self.included()?;
        let mut parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
        Ok(parts.any(|part| files.iter().any(|file| path_of(file) == part)))
    }

    /// Lists the files of the user's checkout that git ignores, and the folders of which it ignores
    /// everything.
    ///
    /// # Errors
    /// If git cannot list them.
    pub fn ignored(&self) -> Result<BTreeSet<PathBuf>, GitError> {
        let listed =
            self.untracked(&["--exclude-standard".to_owned(), "--directory".to_owned()])?;
        Ok(listed
            .iter()
            .map(|path| path_of(path.strip_suffix(b"/").unwrap_or(path)))
            .collect())
    }

    /// Lists the files that are copied to each worktree.
    pub(crate) fn included(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let patterns = self.repo.workdir().join(PATTERNS);
        let root = openat::open_root(self.repo.workdir())
            .map_err(GitError::errno("open", self.repo.workdir()))?;
        if openat::look(&root, PATTERNS.as_bytes())
            .map_err(GitError::errno("look at", &patterns))?
            .is_none()
        {
            return Ok(Vec::new());
        }
        if let Some(reason) = bounds::excess_in(&root, PATTERNS.as_bytes())? {
            let refusal = RepositoryRefusal::Patterns {
                path: PATTERNS.into(),
                reason,
            };
            return Err(GitError::Refused {
                path: self.repo.workdir().to_owned(),
                refusal,
            });
        }
        let named = self.untracked(&[format!("--exclude-from={}", patterns.display())])?;
        let ignored = self.untracked(&["--exclude-standard".to_owned()])?;
        let files: Vec<Vec<u8>> = named.intersection(&ignored).cloned().collect();
        if files.len() > MAX_INCLUDED {
            let refusal = RepositoryRefusal::IncludesTooMuch {
                path: PATTERNS.into(),
                files: files.len(),
            };
            return Err(GitError::Refused {
                path: self.repo.workdir().to_owned(),
                refusal,
            });
        }
        Ok(files)
    }

    /// Lists the untracked files of the user's checkout that match exclude patterns.
    fn untracked(&self, exclude: &[String]) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let args = ["ls-files", "--others", "--ignored", "-z"]
            .into_iter()
            .chain(exclude.iter().map(String::as_str));
        let place = Checkout {
            path: self.repo.workdir().to_owned(),
            git_dir: self.repo.shared.git_dir.clone(),
        };
        let scratch = self.repo.scratch_for_files()?;
        let run = self
            .repo
            .on_files(&scratch, &place, args)
            .settings(self.repo.shared.configuration.about_files());
        let listed = self.repo.program.require(&run)?;
        Ok(listed
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }
}

fn is_file(root: &OwnedFd, path: &[u8]) -> bool {
    let found = openat::look(root, path).ok().flatten();
    found.is_some_and(|stat| openat::kind(&stat) == FileType::RegularFile)
}

/// Reports whether an error means that an entry has been removed or replaced since it was listed:
/// the user continues to work in the checkout.
fn has_changed(error: Errno) -> bool {
    [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::INVAL,
        Errno::NXIO,
    ]
    .contains(&error)
}
