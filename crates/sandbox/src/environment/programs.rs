//! Decides which programs of the user's `PATH` a job sees, and what they need to start.
//!
//! A folder of `PATH` below the home is shown if it belongs to a toolchain of the table, or if it
//! holds nothing but programs. Of any other folder, each program is shown by itself. What is shown
//! is read-only; a job sees the folders in the user's order, so it starts the same programs.
//!
//! Folders and links of repositories are not shown: a worktree has its own copy, and a check must
//! not test another one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::environment::around::around;
use crate::environment::toolchains::{INSTALLATIONS, PRIVATE, SECRETS, TOOLCHAINS, Toolchain};

/// The maximum number of entries of a folder of programs; a larger one is a drive of another
/// system, which takes seconds to read.
const MAX_ENTRIES: usize = 2_000;
/// The maximum number of programs that are shown one by one: each costs every start a mount.
const MAX_SINGLE: usize = 100;
/// How many folders deep an installation is searched for files with secrets: a manager keeps it in
/// `versions/node/v20`.
const SECRETS_DEPTH: usize = 3;

/// Where the user's shell looks for programs.
pub(crate) struct Shell<'a> {
    pub(crate) home: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The paths that jobs see anyway: the system, and Rust's toolchain.
    pub(crate) visible: Vec<PathBuf>,
}

/// The part of the user's programs that a job sees.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    /// The folders of `PATH`, in the user's order.
    pub(crate) path: Vec<PathFolder>,
    /// Paths that are shown besides what every job sees.
    pub(crate) read_only: Vec<PathBuf>,
    /// Links to programs in folders that are not shown as a whole.
    pub(crate) links: Vec<Link>,
    /// The variables of the toolchains.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// Variables of jobs without a network, which come first.
    pub(crate) offline: BTreeMap<OsString, OsString>,
    /// Folders of `PATH` and programs in them that are not shown.
    pub(crate) hidden: Vec<Hidden>,
    /// The projects whose toolchains are shown.
    pub(crate) toolchains: Vec<&'static str>,
}

/// A folder of `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathFolder {
    /// Its path as the user has set it.
    pub(crate) outside: PathBuf,
    /// The path at which a job finds it, if it sees it.
    pub(crate) inside: Option<PathBuf>,
}

/// A symbolic link to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) path: PathBuf,
    pub(crate) target: PathBuf,
}

/// A path that is not shown, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) path: PathBuf,
    pub(crate) reason: Reason,
}

/// Why a job does not see a program of the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is in the repository at this path.
    InRepository(PathBuf),
    /// It belongs to the virtual environment of Python at this path in a repository.
    OfProjectsEnvironment(PathBuf),
    /// It is in a folder that may contain passwords or tokens.
    Private,
    /// It is neither a script nor a native program, so it may be any file.
    NoProgram,
    /// Its folder has too many entries.
    TooMany,
    /// Its folder cannot be read.
    Unreadable,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InRepository(root) => {
                write!(
                    f,
                    "it is in the repository {}; commands see none but their own worktree",
                    root.display()
                )
            }
            Self::OfProjectsEnvironment(root) => write!(
                f,
                "it belongs to the virtual environment {} of the checkout, with which a check \
                 would test the checkout's code; create one in each worktree with `[worktree] \
                 setup` or .worktreeinclude, and call its programs by their path there",
                root.display()
            ),
            Self::Private => f.write_str("its folder may contain passwords or tokens"),
            Self::NoProgram => f.write_str("it is neither a script nor a native program"),
            Self::TooMany => f.write_str("its folder has too many entries"),
            Self::Unreadable => f.write_str("its folder cannot be read"),
        }
    }
}

/// An entry of a folder of programs.
enum Entry {
    /// A program that is a file of the folder.
    Program,
    /// A link to a program outside the folder.
    Link(PathBuf),
    /// Nothing that could be started.
    Other,
}

impl Programs {
    /// Decides what a job sees.
    pub(crate) fn for_shell(shell: &Shell<'_>) -> Self {
        let mut programs = Self::default();
        let targets = link_targets(shell);
        for toolchain in TOOLCHAINS {
            if let Some(folder) = in_use(toolchain, shell, &targets) {
                programs.show_toolchain(toolchain, &folder, shell);
            }
        }
        for folder in &shell.path {
            if !programs.path.iter().any(|known| known.outside == *folder) {
                let inside = programs.add(folder, shell);
                programs.path.push(PathFolder {
                    outside: folder.clone(),
                    inside,
                });
            }
        }
        programs.read_only.sort();
        programs
    }

    /// Reports whether a job sees a path.
    fn shows(&self, path: &Path, shell: &Shell<'_>) -> bool {
        self.read_only
            .iter()
            .chain(&shell.visible)
            .any(|root| path.starts_with(root))
    }

    fn show_toolchain(&mut self, toolchain: &Toolchain, folder: &Path, shell: &Shell<'_>) {
        let before = self.read_only.len();
        let hidden: Vec<PathBuf> = toolchain
            .hidden
            .iter()
            .map(|name| folder.join(name))
            .collect();
        for part in toolchain.shown {
            for path in parts(folder, part) {
                self.show(&path, &hidden);
            }
        }
        if self.read_only.len() > before {
            self.variables
                .extend(toolchain.variables_for(folder, shell.variable, false));
            self.offline
                .extend(toolchain.variables_for(folder, shell.variable, true));
            self.toolchains.push(toolchain.name);
        }
    }

    /// Shows a path and what it leads to, without the files that may contain secrets.
    fn show(&mut self, path: &Path, hidden: &[PathBuf]) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        for path in BTreeSet::from([path, &real]) {
            let mut without = secrets_below(path, SECRETS_DEPTH);
            for path in hidden {
                without.push(path.clone());
                without.extend(path.canonicalize());
            }
            let without: Vec<&Path> = without.iter().map(PathBuf::as_path).collect();
            for shown in around(path, &without) {
                if !self.read_only.iter().any(|root| shown.starts_with(root)) {
                    self.read_only.push(shown);
                }
            }
        }
    }

    /// Shows a folder of `PATH`; returns the path at which a job finds it.
    fn add(&mut self, folder: &Path, shell: &Shell<'_>) -> Option<PathBuf> {
        // In a folder that does not exist, the user's shell finds nothing either.
        let real = folder.canonicalize().ok()?;
        if !real.is_dir() {
            return None;
        }
        let refused = refusal(&real, shell);
        let mut seen = self.first_shown([folder, &real], shell);
        if seen.is_none() && refused.is_none() {
            // Its folder of programs may be part of what is shown of it.
            self.show_installation(&real, shell);
            seen = self.first_shown([folder, &real], shell);
        }
        if let Some(seen) = seen {
            // A manager may be a link to a program elsewhere.
            if real.starts_with(home_of(shell)) {
                self.show_links(&real, shell);
            }
            return Some(seen.to_owned());
        }
        let added = match refused {
            Some(reason) => Err(reason),
            None => self.add_programs(folder, &real, shell),
        };
        let path = folder.to_owned();
        match added {
            Ok(()) => Some(path),
            Err(reason) => {
                self.hidden.push(Hidden { path, reason });
                None
            }
        }
    }

    fn first_shown<'p>(&self, paths: [&'p Path; 2], shell: &Shell<'_>) -> Option<&'p Path> {
        paths.into_iter().find(|path| self.shows(path, shell))
    }

    /// Shows the libraries of the installation that a folder of programs belongs to.
    fn show_installation(&mut self, bin: &Path, shell: &Shell<'_>) {
        let Some(root) = bin.parent() else {
            return;
        };
        if bin.file_name() != Some(OsStr::new("bin")) {
            return;
        }
        let Some(kind) = INSTALLATIONS.iter().find(|kind| has_all(root, kind.marks)) else {
            return;
        };
        if kind.is_whole && !holds_private(root, &home_of(shell)) {
            self.show(root, &[]);
            return;
        }
        for part in kind.shown {
            self.show(&root.join(part), &[]);
        }
    }

    /// Shows a folder as a whole if it holds programs alone, and otherwise each program in it.
    fn add_programs(
        &mut self,
        folder: &Path,
        real: &Path,
        shell: &Shell<'_>,
    ) -> Result<(), Reason> {
        let (mut single, mut links, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
        let mut holds_others = false;
        for name in entries(real)? {
            let path = folder.join(name);
            match self.classify(&path, shell) {
                Ok(Entry::Program) => single.push(path),
                Ok(Entry::Link(target)) => links.push(Link { path, target }),
                Ok(Entry::Other) => holds_others = true,
                Err(reason) => hidden.push(Hidden { path, reason }),
            }
        }
        holds_others |= !hidden.is_empty() || *real == home_of(shell);
        if holds_others && single.len() + links.len() > MAX_SINGLE {
            return Err(Reason::TooMany);
        }
        self.hidden.append(&mut hidden);
        for link in &links {
            self.show_target(&link.target, shell);
        }
        if holds_others {
            self.read_only.extend(single);
            self.links.extend(links);
        } else {
            self.show(folder, &[]);
        }
        Ok(())
    }

    fn show_links(&mut self, folder: &Path, shell: &Shell<'_>) {
        let Ok(names) = entries(folder) else {
            return;
        };
        for name in names {
            let path = folder.join(name);
            if !path.is_symlink() {
                continue;
            }
            match self.classify(&path, shell) {
                Ok(Entry::Link(target)) => self.show_target(&target, shell),
                Ok(Entry::Program | Entry::Other) => {}
                Err(reason) => self.hidden.push(Hidden { path, reason }),
            }
        }
    }

    fn show_target(&mut self, target: &Path, shell: &Shell<'_>) {
        let Some(folder) = target.parent() else {
            return;
        };
        if !self.shows(target, shell) {
            self.show_installation(folder, shell);
        }
        if !self.shows(target, shell) {
            self.read_only.push(target.to_owned());
        }
    }

    /// Reports what an entry of a folder of programs is, or why a program is not shown.
    fn classify(&self, path: &Path, shell: &Shell<'_>) -> Result<Entry, Reason> {
        let Ok(target) = path.canonicalize() else {
            return Ok(Entry::Other);
        };
        if !is_executable(&target) {
            return Ok(Entry::Other);
        }
        if !path.is_symlink() {
            return if is_program(&target) {
                Ok(Entry::Program)
            } else {
                Err(Reason::NoProgram)
            };
        }
        if !self.shows(&target, shell) {
            if let Some(reason) = refusal(&target, shell) {
                return Err(reason);
            }
            if !is_program(&target) {
                return Err(Reason::NoProgram);
            }
        }
        Ok(Entry::Link(target))
    }
}

/// Reports whether a folder has all of these files or folders, in which a `*` stands for the rest
/// of a name.
pub(crate) fn has_all(root: &Path, marks: &[&str]) -> bool {
    marks.iter().all(|mark| has_mark(root, mark))
}

fn has_mark(root: &Path, mark: &str) -> bool {
    let Some((start, rest)) = mark.split_once('*') else {
        return root.join(mark).exists();
    };
    let below = rest.trim_start_matches('/');
    let found = parts(root, &format!("{start}*"));
    found.iter().any(|path| path.join(below).exists())
}

/// Reports whether a folder contains the home, or a folder of it in which nothing is shown.
pub(crate) fn holds_private(root: &Path, home: &Path) -> bool {
    home.starts_with(root) || PRIVATE.iter().any(|name| home.join(name).starts_with(root))
}

/// Returns a toolchain's folder if a program that uses it is found on `PATH`.
fn in_use(toolchain: &Toolchain, shell: &Shell<'_>, targets: &[PathBuf]) -> Option<PathBuf> {
    let folder = toolchain.folder(&shell.home, shell.variable)?;
    let root = folder.canonicalize().ok()?;
    let mut shown = Vec::new();
    for part in toolchain.shown {
        shown.extend(parts(&root, part));
    }
    for path in shell.path.iter().chain(targets) {
        let target = real(path);
        if target == root || shown.iter().any(|part| target.starts_with(part)) {
            return Some(folder);
        }
    }
    for bin in &shell.path {
        let mut programs = toolchain.programs.iter().map(|name| bin.join(name));
        if programs.any(|program| is_executable(&program)) {
            return Some(folder);
        }
    }
    None
}

/// Lists what the links in the folders of `PATH` below the home lead to.
fn link_targets(shell: &Shell<'_>) -> Vec<PathBuf> {
    let home = home_of(shell);
    let mut targets = Vec::new();
    for folder in &shell.path {
        if let Ok(folder) = folder.canonicalize()
            && folder.starts_with(&home)
            && let Ok(names) = entries(&folder)
        {
            let paths = names.into_iter().map(|name| folder.join(name));
            for link in paths.filter(|path| path.is_symlink()) {
                targets.extend(link.canonicalize());
            }
        }
    }
    targets
}

pub(crate) fn home_of(shell: &Shell<'_>) -> PathBuf {
    real(&shell.home)
}

/// Returns a path without links in it, or as it is if it leads nowhere.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns why nothing at this real path is shown, unless the table lists it.
pub(crate) fn refusal(real: &Path, shell: &Shell<'_>) -> Option<Reason> {
    let home = home_of(shell);
    if PRIVATE.iter().any(|name| real.starts_with(home.join(name))) {
        return Some(Reason::Private);
    }
    // A home may be a repository of settings; that makes nothing in it a project.
    let mut environment = None;
    for folder in real.ancestors() {
        if folder == home {
            return None;
        }
        if orchestrate_files::is_repository(folder) {
            return Some(match environment {
                Some(environment) => Reason::OfProjectsEnvironment(environment),
                None => Reason::InRepository(folder.to_owned()),
            });
        }
        if environment.is_none() && folder.join("pyvenv.cfg").is_file() {
            environment = Some(folder.to_owned());
        }
    }
    None
}

/// Lists the existing parts of a folder that a pattern of the table names.
pub(crate) fn parts(folder: &Path, part: &str) -> Vec<PathBuf> {
    let path = if part == "." {
        folder.to_owned()
    } else {
        folder.join(part)
    };
    let mut found = Vec::new();
    let Some(start) = part.strip_suffix('*') else {
        if path.exists() {
            found.push(path);
        }
        return found;
    };
    let (above, start) = start.rsplit_once('/').unwrap_or(("", start));
    let above = folder.join(above);
    let Ok(names) = entries(&above) else {
        return found;
    };
    for name in names {
        if name.to_str().is_some_and(|name| name.starts_with(start)) {
            found.push(above.join(name));
        }
    }
    found
}

/// Lists the names in a folder, in order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<OsString>, Reason> {
    let listed = std::fs::read_dir(folder).map_err(|_| Reason::Unreadable)?;
    let mut names = Vec::new();
    for entry in listed.take(MAX_ENTRIES + 1) {
        names.push(entry.map_err(|_| Reason::Unreadable)?.file_name());
    }
    if names.len() > MAX_ENTRIES {
        return Err(Reason::TooMany);
    }
    names.sort();
    Ok(names)
}

/// Lists the files that may contain secrets in installations below a path.
fn secrets_below(path: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::from(SECRETS.map(|name| path.join(name)));
    found.retain(|path| path.symlink_metadata().is_ok());
    // An installation holds no other one.
    if depth == 0 || path.join("bin").is_dir() {
        return found;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return found;
    };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name() != "site-packages" {
            found.extend(secrets_below(&entry.path(), depth - 1));
        }
    }
    found
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Reports whether a file begins like a native program or a script.
fn is_program(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && (start == b"\x7fELF" || start.starts_with(b"#!"))
}

#[cfg(test)]
mod tests;
