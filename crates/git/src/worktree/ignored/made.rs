//! What the project's setup has made in one worktree, and what the base's check has left there,
//! brought to others.
//!
//! A setup's result is brought as a whole or not at all, since the command would run otherwise; of
//! what a check has left, each file or folder counts for itself
//! ([`outputs`](crate::worktree::ignored::outputs)).
//!
//! Only what git ignores is brought, to a place where git ignores it too and where nothing is:
//! nothing at, above or below a path that either worktree tracks. So no work of an agent is ever
//! replaced. Files of `.worktreeinclude` are left out, since each worktree has its own copies.
//!
//! A result that names its worktree is brought only if each such path can be replaced exactly, in
//! files of the kinds that [`links_back`](crate::worktree::ignored::links_back) knows. All files
//! are searched, whatever their kind and size. Anything else, such as a pipe, a repository or a
//! changed file, means that the command has to run in each worktree.
//!
//! Files are copied, by reference where the file system can. They are never linked: an agent owns
//! its worktree, so it could write through a link into the files of all others. Files that are
//! links to each other remain so in a copy. They keep their times of modification, so that no build
//! takes what was made from the base for newer than the sources of an agent.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use orchestrate_files::if_there;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::openat;
use crate::files::openat::{join, path_of};
use crate::repo::worktree::Worktree;
use crate::worktree::ignored::links_back::{
    Kind, MAX_SEARCHED, Relocated, Relocation, finders, is_end, stays_within,
};
use crate::worktree::worktrees::Worktrees;

/// The name of the note in git's entry for a worktree, where no confined command can write, that a
/// setup's result is being brought to it or has been.
const NOTE: &str = "orchestrate-made";
/// The note while files are copied: no agent has started yet, so they may be copied again.
pub(super) const BEGUN: &[u8] = b"begun";
/// How the note begins once all are there; the paths follow, each after a NUL.
pub(super) const DONE: &[u8] = b"done";

/// An entry of a worktree, and whether it is a folder.
pub(super) type Entry = (Vec<u8>, bool);
/// New contents of files by path.
type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a command has made in a worktree that others can have as well.
#[derive(Debug)]
pub struct Made {
    /// The topmost files and folders.
    pub(super) tops: Vec<Entry>,
    /// Files in which paths into the worktree are replaced, with their kinds.
    pub(super) rewritten: Vec<(Vec<u8>, Kind)>,
    /// Files that are not brought.
    pub(super) left_out: BTreeSet<Vec<u8>>,
}

impl Made {
    /// Reports whether there is nothing to bring.
    pub fn is_empty(&self) -> bool {
        self.tops.is_empty()
    }

    /// Returns the topmost files and folders, sorted.
    pub fn tops(&self) -> Vec<PathBuf> {
        self.tops.iter().map(|(path, _)| path_of(path)).collect()
    }
}

impl Worktrees<'_> {
    /// Finds what a command has made in a worktree; returns `None` if it cannot be brought to
    /// others exactly.
    ///
    /// # Errors
    /// If the worktree cannot be trusted or read.
    pub fn made(&self, worktree: &Worktree) -> Result<Option<Made>, GitError> {
        worktree.verify_untampered()?;
        let tracked = self.tracked(worktree)?;
        let found = self.walk(worktree, &tracked)?;
        let is_clean = found.new.is_empty() && found.nested.is_empty() && found.special.is_empty();
        let is_clean = is_clean && found.scratch.is_empty() && found.withheld.is_empty();
        if !is_clean || !self.repo.store().status(worktree)?.is_empty() {
            return Ok(None);
        }
        let left_out: BTreeSet<Vec<u8>> = self.included()?.into_iter().collect();
        let tops: Vec<Entry> = found
            .ignored
            .into_iter()
            .filter(|(path, _)| !left_out.contains(path))
            .collect();
        if tops.iter().any(|(path, _)| touches(&tracked, path))
            || holds_empty_folder(worktree, &tracked, &tops)?
        {
            return Ok(None);
        }
        self.made_of(worktree, tops, left_out)
    }

    /// Finds again what a command has made in a worktree, whose topmost files and folders are
    /// known; what others have left in these folders since counts as well. Returns `None` if it
    /// cannot be brought to others exactly.
    ///
    /// # Errors
    /// If the worktree cannot be trusted or read.
    pub fn made_again(
        &self,
        worktree: &Worktree,
        tops: &[PathBuf],
    ) -> Result<Option<Made>, GitError> {
        worktree.verify_untampered()?;
        let mut entries = Vec::new();
        for path in tops.iter().map(|path| path.as_os_str().as_bytes().to_vec()) {
            match look(worktree, &path)? {
                Some(kind) => entries.push((path, kind == FileType::Directory)),
                None => return Ok(None),
            }
        }
        self.made_of(worktree, entries, self.included()?.into_iter().collect())
    }

    fn made_of(
        &self,
        worktree: &Worktree,
        tops: Vec<Entry>,
        left_out: BTreeSet<Vec<u8>>,
    ) -> Result<Option<Made>, GitError> {
        let mut search = self.search(worktree, left_out);
        let mut open = tops.clone();
        while let Some((path, is_folder)) = open.pop() {
            let is_movable = match is_folder {
                true => search.enter(&path, &mut open)?,
                false => search.judge(&path)?.is_none(),
            };
            if !is_movable {
                return Ok(None);
            }
        }
        Ok(Some(Made {
            tops,
            rewritten: search.rewritten,
            left_out: search.left_out,
        }))
    }

    /// Prepares a search in what was made in a worktree.
    pub(super) fn search<'w>(
        &self,
        worktree: &'w Worktree,
        left_out: BTreeSet<Vec<u8>>,
    ) -> Search<'w> {
        let relocation = Relocation::new(worktree.path(), &worktree.path().with_file_name("other"));
        let mut search = Search {
            worktree,
            names: Vec::new(),
            checkout: Vec::new(),
            relocation,
            rewritten: Vec::new(),
            left_out,
        };
        // What is made at the path of the checkout, and used there, may name that path.
        if !self.are_mounted() {
            search.names = names_of(worktree.path());
            search.checkout = finders(self.repo.workdir());
        }
        search
    }

    /// Brings what was made in the worktree `from` to the worktree `to`, unless it has it already.
    /// Returns false, and changes nothing, if that is not possible exactly: the command has to run
    /// there as well.
    ///
    /// Call it while no process of an agent is alive in `to`.
    ///
    /// # Errors
    /// If one of the worktrees cannot be trusted, or a file cannot be read or written.
    pub fn bring_made(
        &self,
        made: &Made,
        from: &Worktree,
        to: &Worktree,
    ) -> Result<bool, GitError> {
        from.verify_untampered()?;
        to.verify_untampered()?;
        let note = read_note(to, NOTE)?;
        if note.starts_with(DONE) {
            return all_there(made, to);
        }
        let (tracked, is_begun) = (self.tracked(to)?, note == BEGUN);
        for (path, is_folder) in &made.tops {
            let is_possible = !touches(&tracked, path)
                && has_room(made, to, path, *is_folder, is_begun)?
                && self.ignores_top(to, path, *is_folder)?;
            if !is_possible {
                return Ok(false);
            }
        }
        let Some(contents) = rewritten(made, from, to)? else {
            return Ok(false);
        };
        write_note(to, NOTE, BEGUN)?;
        Copying::new(made, contents, from, to).all()?;
        write_note(to, NOTE, &done(made))?;
        Ok(true)
    }

    /// Reports whether git ignores a file or a folder in a worktree in which it does not exist.
    pub(super) fn ignores_top(
        &self,
        worktree: &Worktree,
        path: &[u8],
        is_folder: bool,
    ) -> Result<bool, GitError> {
        let path = path_of(path);
        // Rules for folders alone hold for what a name is in.
        let asked = if is_folder { path.join("any") } else { path };
        match self.ignores(worktree, &asked) {
            Err(error) if is_missing(&error) => Ok(false),
            ignored => ignored,
        }
    }
}

fn is_missing(error: &GitError) -> bool {
    matches!(error, GitError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// Reports whether a path is tracked, or is in a tracked path's way, or below one.
pub(super) fn touches(tracked: &BTreeMap<Vec<u8>, u32>, path: &[u8]) -> bool {
    let below = join(path, b"");
    let is_above = tracked
        .range(below.clone()..)
        .next()
        .is_some_and(|(next, _)| next.starts_with(&below));
    let mut at = path;
    while !at.is_empty() {
        if tracked.contains_key(at) {
            return true;
        }
        at = openat::split(at).0;
    }
    is_above
}

/// Reports whether a worktree has a folder without any file that git does not ignore: it would not
/// be brought.
fn holds_empty_folder(
    worktree: &Worktree,
    tracked: &BTreeMap<Vec<u8>, u32>,
    tops: &[Entry],
) -> Result<bool, GitError> {
    let mut open = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        let opened = openat::open_folder(worktree.root(), &folder)
            .map_err(failed("list", worktree, &folder))?;
        for (name, is_folder) in openat::list(&opened).map_err(failed("list", worktree, &folder))? {
            let path = join(&folder, &name);
            if !is_folder || path == b".git" || tops.iter().any(|(top, _)| *top == path) {
                continue;
            }
            let below = join(&path, b"");
            if !touches(tracked, &path) && !tops.iter().any(|(top, _)| top.starts_with(&below)) {
                return Ok(true);
            }
            open.push(path);
        }
    }
    Ok(false)
}

/// Reports whether everything that was brought is still there.
fn all_there(made: &Made, to: &Worktree) -> Result<bool, GitError> {
    for (path, _) in &made.tops {
        if look(to, path)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reports whether an entry can be created in a worktree: nothing is in its place or in that of one
/// of its folders, except files that are left out, or a copy that was begun.
pub(super) fn has_room(
    made: &Made,
    to: &Worktree,
    path: &[u8],
    is_folder: bool,
    is_begun: bool,
) -> Result<bool, GitError> {
    let (mut folder, _) = openat::split(path);
    while !folder.is_empty() {
        if look(to, folder)?.is_some_and(|kind| kind != FileType::Directory) {
            return Ok(false);
        }
        folder = openat::split(folder).0;
    }
    match look(to, path)? {
        None => Ok(true),
        Some(kind) if is_begun => Ok((kind == FileType::Directory) == is_folder),
        Some(FileType::Directory) if is_folder => holds_only_left_out(made, to, path),
        Some(_) => Ok(false),
    }
}

fn holds_only_left_out(made: &Made, to: &Worktree, folder: &[u8]) -> Result<bool, GitError> {
    let mut open = vec![folder.to_vec()];
    while let Some(folder) = open.pop() {
        let opened =
            openat::open_folder(to.root(), &folder).map_err(failed("list", to, &folder))?;
        for (name, is_folder) in openat::list(&opened).map_err(failed("list", to, &folder))? {
            let path = join(&folder, &name);
            if is_folder {
                open.push(path);
            } else if !made.left_out.contains(&path) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns what makes an error about a path of a worktree.
fn failed(
    action: &'static str,
    worktree: &Worktree,
    path: &[u8],
) -> impl FnOnce(Errno) -> GitError {
    GitError::errno(action, worktree.path().join(path_of(path)))
}

/// Returns the kind of an entry of a worktree; `None` if there is none, or a file or a link is in
/// the place of its folder.
fn look(worktree: &Worktree, path: &[u8]) -> Result<Option<FileType>, GitError> {
    let (folder, name) = openat::split(path);
    match openat::open_folder(worktree.root(), folder) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        opened => {
            let stat = openat::look(opened.map_err(failed("look at", worktree, path))?, name)
                .map_err(failed("look at", worktree, path))?;
            Ok(stat.as_ref().map(openat::kind))
        }
    }
}

/// Returns the note that everything was brought.
pub(super) fn done(made: &Made) -> Vec<u8> {
    let paths = made
        .tops
        .iter()
        .flat_map(|(path, _)| [b"\0".as_slice(), path]);
    std::iter::once(DONE)
        .chain(paths)
        .collect::<Vec<_>>()
        .concat()
}

/// Returns the topmost files and folders that were brought, by a note.
pub(super) fn brought(note: &[u8]) -> BTreeSet<Vec<u8>> {
    let paths = note
        .strip_prefix(DONE)
        .unwrap_or(b"")
        .split(|byte| *byte == 0);
    paths
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Returns what was brought to a worktree as a setup's result.
pub(super) fn brought_of_setup(worktree: &Worktree) -> Result<BTreeSet<Vec<u8>>, GitError> {
    Ok(brought(&read_note(worktree, NOTE)?))
}

pub(super) fn read_note(worktree: &Worktree, name: &str) -> Result<Vec<u8>, GitError> {
    let path = worktree.admin_dir().join(name);
    let text = if_there(std::fs::read(&path)).map_err(GitError::io("read", path))?;
    Ok(text.unwrap_or_default())
}

pub(super) fn write_note(worktree: &Worktree, name: &str, text: &[u8]) -> Result<(), GitError> {
    let path = worktree.admin_dir().join(name);
    orchestrate_files::replace(&path, text).map_err(GitError::io("write", &path))
}

/// A search in what was made in a worktree for paths that would lead to other files in another one.
pub(super) struct Search<'a> {
    worktree: &'a Worktree,
    /// The end of the worktree's path, which all its names have in common, in its forms; empty
    /// where any path is right.
    names: Vec<Finder<'static>>,
    /// The path of the user's checkout in its forms; empty where that is the worktree's path.
    checkout: Vec<Finder<'static>>,
    relocation: Relocation,
    pub(super) rewritten: Vec<(Vec<u8>, Kind)>,
    pub(super) left_out: BTreeSet<Vec<u8>>,
}

/// Why a file cannot be brought to another worktree exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// It names the folder that it was made in.
    NamesOwnFolder,
    /// It names the user's checkout.
    NamesCheckout,
    /// It is neither a regular file nor a link.
    Special,
}

impl std::fmt::Display for Hindrance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Hindrance::NamesOwnFolder => "names the folder that it was made in",
            Hindrance::NamesCheckout => "names your checkout",
            Hindrance::Special => "is no regular file",
        })
    }
}

impl Search<'_> {
    /// Adds what is in a folder to what is to be judged; returns false if it is a repository.
    pub(super) fn enter(&self, folder: &[u8], open: &mut Vec<Entry>) -> Result<bool, GitError> {
        let opened = openat::open_folder(self.worktree.root(), folder).map_err(failed(
            "list",
            self.worktree,
            folder,
        ))?;
        let inside = openat::list(&opened).map_err(failed("list", self.worktree, folder))?;
        if inside.iter().any(|(name, _)| name == b".git") {
            return Ok(false);
        }
        let inside = inside
            .into_iter()
            .map(|(name, is_folder)| (join(folder, &name), is_folder));
        open.extend(inside.filter(|(path, _)| !self.left_out.contains(path)));
        Ok(true)
    }

    /// Returns what keeps a file from being brought to another worktree exactly; `None` if nothing
    /// does.
    pub(super) fn judge(&mut self, path: &[u8]) -> Result<Option<Hindrance>, GitError> {
        let (folder, name) = openat::split(path);
        let opened = openat::open_folder(self.worktree.root(), folder).map_err(failed(
            "read",
            self.worktree,
            path,
        ))?;
        match openat::look(&opened, name)
            .map_err(failed("read", self.worktree, path))?
            .as_ref()
            .map(openat::kind)
        {
            Some(FileType::Symlink) => {
                let target = openat::read_link(&opened, name).map_err(failed(
                    "read",
                    self.worktree,
                    path,
                ))?;
                Ok((!self.is_movable_link(&path_of(path), &target))
                    .then_some(Hindrance::NamesOwnFolder))
            }
            Some(FileType::RegularFile) => self.judge_content(path, &opened),
            _ => Ok(Some(Hindrance::Special)),
        }
    }

    fn judge_content(
        &mut self,
        path: &[u8],
        folder: &OwnedFd,
    ) -> Result<Option<Hindrance>, GitError> {
        let (_, name) = openat::split(path);
        if !self.checkout.is_empty()
            && openat::contains(folder, name, &self.checkout, is_end).map_err(failed(
                "read",
                self.worktree,
                path,
            ))?
        {
            return Ok(Some(Hindrance::NamesCheckout));
        }
        if self.names.is_empty()
            || !openat::contains(folder, name, &self.names, |_| true).map_err(failed(
                "read",
                self.worktree,
                path,
            ))?
        {
            return Ok(None);
        }
        Ok((!self.is_rewritable(path, folder)?).then_some(Hindrance::NamesOwnFolder))
    }

    fn is_movable_link(&self, at: &Path, target: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(target));
        match self.relocation.link(at, path) {
            Relocated::Other(target) => !self.names_it(&target),
            _ if self.names_it(target) => false,
            // From another worktree, a relative target outside of it may be another file.
            _ => path.is_absolute() || stays_within(at.parent().unwrap_or(at), path),
        }
    }

    /// Decides about a file that names the worktree; reports whether the result can be brought.
    fn is_rewritable(&mut self, path: &[u8], folder: &OwnedFd) -> Result<bool, GitError> {
        let (parent, name) = openat::split(path);
        let is_compiled = openat::split(parent).1 == b"__pycache__" && name.ends_with(b".pyc");
        let kind = match Kind::for_path(path) {
            // Python compiles its modules again.
            _ if is_compiled => None,
            Some(Kind::Compiled) => None,
            Some(kind @ (Kind::Text | Kind::Lines | Kind::Script)) => Some(kind),
            Some(Kind::Configured) | None => return Ok(false),
        };
        let Some(kind) = kind else {
            self.left_out.insert(path.to_vec());
            return Ok(true);
        };
        let read = openat::read(folder, name, MAX_SEARCHED);
        let Some((bytes, _)) = read.map_err(GitError::errno(
            "read",
            self.worktree.path().join(path_of(path)),
        ))?
        else {
            return Ok(false);
        };
        let relocated = self.relocation.content(kind, &bytes);
        let is_exact = matches!(relocated, Ok(Relocated::Other(new)) if !self.names_it(&new));
        if is_exact {
            self.rewritten.push((path.to_vec(), kind));
        }
        Ok(is_exact)
    }

    fn names_it(&self, bytes: &[u8]) -> bool {
        self.names.iter().any(|name| name.find(bytes).is_some())
    }
}

/// Returns the last two names of a worktree's path, as texts may write them: whole paths have
/// several forms, through links and relative ones.
fn names_of(path: &Path) -> Vec<Finder<'static>> {
    let mut names: Vec<&[u8]> = path
        .components()
        .rev()
        .take(2)
        .map(|part| part.as_os_str().as_bytes())
        .collect();
    names.reverse();
    let forms = [b"/".as_slice(), b"\\/"].map(|between| names.join(between));
    forms
        .iter()
        .map(|form| Finder::new(form).into_owned())
        .collect()
}

/// Returns the new contents of the files that name the worktree, or `None` if one cannot name the
/// other one.
pub(super) fn rewritten(
    made: &Made,
    from: &Worktree,
    to: &Worktree,
) -> Result<Option<Contents>, GitError> {
    let relocation = Relocation::new(from.path(), to.path());
    let mut contents = Contents::new();
    for (path, kind) in &made.rewritten {
        let (folder, name) = openat::split(path);
        let opened =
            openat::open_folder(from.root(), folder).map_err(failed("read", from, path))?;
        let read = openat::read(&opened, name, MAX_SEARCHED).map_err(failed("read", from, path))?;
        match read.map(|(bytes, _)| relocation.content(*kind, &bytes)) {
            Some(Ok(Relocated::Other(new))) => drop(contents.insert(path.clone(), new)),
            _ => return Ok(None),
        }
    }
    Ok(Some(contents))
}

/// What is copied, and where.
pub(super) struct Copying<'a> {
    made: &'a Made,
    contents: Contents,
    relocation: Relocation,
    from: &'a Worktree,
    to: &'a Worktree,
    /// The first copy of each file that has several names, by its device and its number.
    first_copies: BTreeMap<(u64, u64), Vec<u8>>,
}

impl<'a> Copying<'a> {
    pub(super) fn new(
        made: &'a Made,
        contents: Contents,
        from: &'a Worktree,
        to: &'a Worktree,
    ) -> Self {
        let relocation = Relocation::new(from.path(), to.path());
        Copying {
            made,
            contents,
            relocation,
            from,
            to,
            first_copies: BTreeMap::new(),
        }
    }

    pub(super) fn all(&mut self) -> Result<(), GitError> {
        let (mut open, mut entered) = (Vec::new(), Vec::new());
        for (path, is_folder) in &self.made.tops {
            match is_folder {
                true => open.push(path.clone()),
                false => {
                    self.files_of(openat::split(path).0, vec![openat::split(path).1.to_vec()])?
                }
            }
        }
        while let Some(folder) = open.pop() {
            let source = openat::open_folder(self.from.root(), &folder)
                .map_err(failed("list", self.from, &folder))?;
            let (folders, files): (Vec<Entry>, Vec<Entry>) = openat::list(&source)
                .map_err(failed("list", self.from, &folder))?
                .into_iter()
                .partition(|(_, is_folder)| *is_folder);
            self.files_of(&folder, files.into_iter().map(|(name, _)| name).collect())?;
            open.extend(folders.iter().map(|(name, _)| join(&folder, name)));
            entered.push(folder);
        }
        // Last, since creating an entry changes the time of its folder.
        for folder in entered.iter().rev() {
            self.set_time(folder)?;
        }
        Ok(())
    }

    /// Copies files of a folder, which is created if need be.
    fn files_of(&mut self, folder: &[u8], names: Vec<Vec<u8>>) -> Result<(), GitError> {
        let source = openat::open_folder(self.from.root(), folder)
            .map_err(failed("copy", self.from, folder))?;
        let target = openat::make_folder(self.to.root(), folder)
            .map_err(failed("copy", self.from, folder))?;
        for name in names {
            let path = join(folder, &name);
            if !self.made.left_out.contains(&path) {
                self.one(&source, &target, &path, &name)
                    .map_err(failed("copy", self.from, &path))?;
            }
        }
        Ok(())
    }

    fn one(
        &mut self,
        source: &OwnedFd,
        target: &OwnedFd,
        path: &[u8],
        name: &[u8],
    ) -> Result<(), Errno> {
        let Some(stat) = openat::look(source, name)? else {
            return Ok(());
        };
        if let Some(bytes) = self.contents.get(path) {
            openat::write(target, name, bytes, stat.st_mode & 0o111 != 0)?;
        } else if openat::kind(&stat) == FileType::Symlink {
            let leads = openat::read_link(source, name)?;
            let leads = match self
                .relocation
                .link(&path_of(path), Path::new(OsStr::from_bytes(&leads)))
            {
                Relocated::Other(leads) => leads,
                Relocated::Same | Relocated::LeftOut => leads,
            };
            openat::write_link(target, name, &leads)?;
        } else if stat.st_nlink > 1 {
            return self.linked(source, target, path, &stat);
        } else {
            return openat::copy_with_time(source, target, name);
        }
        openat::set_time_of(target, name, &stat)
    }

    /// Copies a file that has several names: the first time as any file, then as a link to that
    /// copy.
    fn linked(
        &mut self,
        source: &OwnedFd,
        target: &OwnedFd,
        path: &[u8],
        stat: &Stat,
    ) -> Result<(), Errno> {
        let (_, name) = openat::split(path);
        match self.first_copies.entry((stat.st_dev, stat.st_ino)) {
            Slot::Vacant(slot) => {
                slot.insert(path.to_vec());
                openat::copy_with_time(source, target, name)
            }
            Slot::Occupied(first) => {
                let (folder, first) = openat::split(first.get());
                openat::link(
                    openat::open_folder(self.to.root(), folder)?,
                    first,
                    target,
                    name,
                )
            }
        }
    }

    fn set_time(&self, path: &[u8]) -> Result<(), GitError> {
        self.copy_time(path)
            .map_err(failed("copy", self.from, path))
    }

    fn copy_time(&self, path: &[u8]) -> Result<(), Errno> {
        let (folder, name) = openat::split(path);
        let stat = openat::look(openat::open_folder(self.from.root(), folder)?, name)?;
        let target = openat::open_folder(self.to.root(), folder)?;
        match stat {
            Some(stat) => openat::set_time_of(target, name, &stat),
            None => Ok(()),
        }
    }
}
