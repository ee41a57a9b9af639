//! The full tier: the arguments for bubblewrap.
//!
//! The view is a list of what is shown; everything else of the host is absent. Bubblewrap carries
//! out each step and aborts if one fails. Paths are passed in a memory file, so no other process
//! can read them from a command line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::io::Errno;

use crate::environment::host::{self, RustHomes};
use crate::environment::network;
use crate::environment::programs::{Link, Programs};
use crate::error::SandboxError;
use crate::helper::protocol::FreshFolder;
use crate::job::{Content, Mount, Mounted, Network};
use crate::setup::view::{Checked, Root};

/// The name of the user that the job runs as, unless that is root.
pub(crate) const USER: &str = "agent";

/// The size of `/tmp`, which is in memory: room for the files of compilers and tests.
const TMP_BYTES: u64 = 1 << 30;
/// The size of `/dev/shm`: room for shared memory between processes of the job. The default is half
/// of the machine's memory.
const SHARED_MEMORY_BYTES: u64 = 64 << 20;
/// The size of the home: room for settings and caches.
const HOME_BYTES: u64 = 256 << 20;

/// How large a file is at most that is copied into the view, and how many files and directories a
/// path holds at most: the point from which a mount costs less.
const MOST_COPIED_BYTES: u64 = 16 << 10;
const MOST_COPIED: usize = 4;
/// How many files are copied into one view, each of which is open during the start; the rest is
/// mounted.
const MOST_COPIES: usize = 24;
/// The size of a directory's own list on file systems that begin with a block. Reading a longer one
/// would cost more than a mount.
const MOST_LISTED_BYTES: u64 = 4 << 10;

/// What bubblewrap starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// The supervisor of one job.
    Supervisor,
    /// The first process of a room, which makes namespaces for its jobs.
    Room,
}

/// The arguments of one start.
#[derive(PartialEq, Eq)]
pub(crate) struct Arguments {
    all: Vec<Argument>,
    /// The paths of the host that are mounted.
    bound: Vec<PathBuf>,
    /// The files of the host that others are mounted over.
    covered: Vec<PathBuf>,
}

#[derive(PartialEq, Eq)]
enum Argument {
    Word(OsString),
    /// The number of a descriptor from which bubblewrap reads.
    Descriptor(Source),
}

/// The content behind a descriptor. It is not opened before the start: of many jobs that start at
/// once, each would otherwise hold dozens of open files while it waits for its turn.
#[derive(PartialEq, Eq)]
enum Source {
    Bytes(Vec<u8>),
    File(PathBuf),
}

/// The arguments in a file, and the open files that they refer to.
pub(crate) struct Opened {
    /// The file for bubblewrap's `--args`.
    pub(crate) packed: OwnedFd,
    _sources: Vec<OwnedFd>,
}

impl Arguments {
    /// Creates the arguments for a view, and for a program that has a control group of its own or
    /// not.
    pub(crate) fn for_view(
        view: &Checked,
        network: Network,
        has_group: bool,
        started: Started,
    ) -> Self {
        let mut arguments = Self {
            all: Vec::new(),
            bound: Vec::new(),
            covered: Vec::new(),
        };
        arguments.add([
            "--unshare-user",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-uts",
            "--unshare-net",
        ]);
        if !has_group {
            // From a namespace of control groups, the kernel starts no program in a group outside.
            arguments.add(["--unshare-cgroup-try"]);
        }
        // As the first process of its namespace, the helper gets no signal from within, not even
        // SIGKILL.
        arguments.add(["--die-with-parent", "--new-session", "--as-pid-1"]);
        arguments.add(match started {
            Started::Supervisor => ["--cap-drop", "ALL"],
            Started::Room => ["--cap-add", "ALL"],
        });
        arguments.add(["--hostname", "sandbox", "--chdir", "/"]);
        arguments.private_directories(view.home());
        arguments.system(view.home());
        if network != Network::None {
            arguments.network(view.home());
        }
        let (toolchain, programs) = (RustHomes::of_user(), host::programs_of_user());
        // What is mounted later is never hidden. A toolchain below a mounted worktree belongs into
        // it; anything else must not hide a root that is in a toolchain's folder.
        let is_inside = toolchain
            .folders()
            .chain(host::real_home())
            .any(|folder| view.is_in_mounted(folder));
        if !is_inside {
            arguments.toolchains(toolchain, programs, network);
        }
        let composed = arguments.places(view);
        arguments.masks(view);
        if is_inside {
            arguments.toolchains(toolchain, &beside_mounted(programs, view), network);
        }
        for directory in composed {
            arguments.words([OsStr::new("--remount-ro"), directory.as_os_str()]);
        }
        arguments.add(["--remount-ro", "/dev", "--remount-ro", "/"]);
        arguments
    }

    /// Opens everything that the arguments refer to, under numbers that a child inherits: only the
    /// thread that starts processes may call this.
    pub(crate) fn open(&self) -> io::Result<Opened> {
        let (mut bytes, mut sources) = (Vec::new(), Vec::new());
        for argument in &self.all {
            match argument {
                Argument::Word(word) => bytes.extend_from_slice(word.as_bytes()),
                Argument::Descriptor(source) => {
                    let opened = source.open()?;
                    bytes.extend_from_slice(opened.as_raw_fd().to_string().as_bytes());
                    sources.push(opened);
                }
            }
            bytes.push(0);
        }
        Ok(Opened {
            packed: in_memory("bwrap-args", &bytes, MemfdFlags::empty())?,
            _sources: sources,
        })
    }

    /// Shows the view's roots and mounts, those above others first; returns the directories that
    /// have to become read-only when they are complete.
    fn places<'v>(&mut self, view: &'v Checked) -> Vec<&'v Path> {
        for directory in &view.composed {
            self.words([OsStr::new("--tmpfs"), directory.as_os_str()]);
        }
        let mut composed: Vec<&Path> = view.composed.iter().map(PathBuf::as_path).collect();
        let mut mounts = view.mounts.iter().peekable();
        for root in &view.roots {
            while let Some(mount) = mounts.next_if(|mount| mount.at <= root.path) {
                self.mount(mount, view);
            }
            composed.extend(self.root(root, view));
        }
        for mount in mounts {
            self.mount(mount, view);
        }
        composed
    }

    /// Shows a root; returns it if it has to become read-only later.
    fn root<'v>(&mut self, root: &'v Root, view: &Checked) -> Option<&'v Path> {
        if view.is_in_mounted(&root.path) && !root.path.is_dir() && view.has_room_for(&root.path) {
            // A mount point for it would be a file among those of the directory that is mounted
            // there.
            return None;
        }
        match (root.writable, view.readable_around_masks(&root.path)) {
            (true, _) => self.bind("--bind", &root.path),
            (false, _) if view.is_replaced(&root.path) => {}
            (false, shown) if shown == [root.path.as_path()] && view.is_in_composed(&root.path) => {
                self.copy_or_bind("--ro-bind-try", &root.path, &root.path);
            }
            (false, shown) if shown == [root.path.as_path()] && root.optional => {
                self.bind("--ro-bind-try", &root.path);
            }
            (false, shown) if shown == [root.path.as_path()] => self.bind("--ro-bind", &root.path),
            (false, shown) => {
                self.compose(&root.path, &shown);
                return Some(&root.path);
            }
        }
        None
    }

    /// Shows something at another path than its own.
    fn mount(&mut self, Mount { at, content }: &Mount, view: &Checked) {
        // The view's own root becomes read-only in the end.
        let is_in_own_root =
            !view.is_in_mounted(at) && !view.is_below_root(at) && !at.starts_with(view.home());
        match content {
            Mounted::Writable(source) => self.bind_at("--bind", source, at),
            // A copy of a file would be newer than what was built of it.
            Mounted::ReadOnly(source) if is_in_own_root && source.is_dir() => {
                self.copy_or_bind("--ro-bind-try", source, at);
            }
            Mounted::ReadOnly(source) => self.bind_at("--ro-bind-try", source, at),
            Mounted::File(bytes) if is_in_own_root => self.copy(at, Source::Bytes(bytes.clone())),
            Mounted::File(bytes) => {
                self.covered.push(view.on_host(at));
                self.file(at, bytes);
            }
            Mounted::Folder if is_in_own_root => self.words([OsStr::new("--dir"), at.as_os_str()]),
            Mounted::Folder => {
                self.words([
                    OsStr::new("--tmpfs"),
                    at.as_os_str(),
                    OsStr::new("--remount-ro"),
                    at.as_os_str(),
                ]);
            }
        }
    }

    /// Shows a path in the view's own root or in a composed directory: a copy if it holds little.
    fn copy_or_bind(&mut self, how: &str, source: &Path, at: &Path) {
        let Some(Little { directories, files }) = Little::in_path(source) else {
            return self.bind_at(how, source, at);
        };
        if self.copies() + files.len() > MOST_COPIES {
            return self.bind_at(how, source, at);
        }
        for directory in &directories {
            let directory = moved(directory, source, at);
            self.words([OsStr::new("--dir"), directory.as_os_str()]);
        }
        for (path, content) in files {
            self.copy(&moved(&path, source, at), Source::Bytes(content));
        }
    }

    /// Lists the paths of the host that are mounted.
    pub(crate) fn bound(&self) -> &[PathBuf] {
        &self.bound
    }

    /// Lists the files of the host that others are mounted over. If one is replaced, the kernel
    /// takes away what is mounted over it.
    pub(crate) fn covered(&self) -> &[PathBuf] {
        &self.covered
    }

    /// Returns how many open files the start will need.
    fn copies(&self) -> usize {
        self.all
            .iter()
            .filter(|argument| matches!(argument, Argument::Descriptor(_)))
            .count()
    }

    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.words(arguments.map(OsStr::new));
    }

    fn words<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.all
            .extend(words.map(|word| Argument::Word(word.to_owned())));
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.bind_at(how, path, path);
    }

    fn bind_at(&mut self, how: &str, source: &Path, at: &Path) {
        self.words([OsStr::new(how), source.as_os_str(), at.as_os_str()]);
        self.bound.push(source.to_owned());
    }

    /// Composes a root of its current entries. A mask mounted over a file of the host would
    /// disappear as soon as a process outside renames another file over it, as `git config` does.
    fn compose(&mut self, root: &Path, shown: &[PathBuf]) {
        self.words([OsStr::new("--tmpfs"), root.as_os_str()]);
        for path in shown {
            // An entry that has disappeared since is skipped.
            self.bind("--ro-bind-try", path);
        }
    }

    /// Mounts a file with these bytes.
    fn file(&mut self, path: &Path, content: &[u8]) {
        self.add(["--ro-bind-data"]);
        self.all
            .push(Argument::Descriptor(Source::Bytes(content.to_owned())));
        self.words([path.as_os_str()]);
    }

    fn private_directories(&mut self, home: &Path) {
        self.private_folder(&tmp());
        self.add(["--symlink", "../tmp", "/var/tmp", "--dir", "/run"]);
        self.private_folder(&private_home(home));
        self.add(["--proc", "/proc", "--dev", "/dev"]);
        self.private_folder(&shared_memory());
    }

    fn private_folder(&mut self, folder: &FreshFolder) {
        let (mode, bytes) = (format!("{:04o}", folder.mode), folder.bytes.to_string());
        self.add(["--perms", &mode, "--size", &bytes, "--tmpfs"]);
        self.words([folder.path.as_os_str()]);
    }

    fn system(&mut self, home: &Path) {
        for path in host::SYSTEM.map(Path::new) {
            match std::fs::read_link(path) {
                Ok(target) => self.words([
                    OsStr::new("--symlink"),
                    target.as_os_str(),
                    path.as_os_str(),
                ]),
                Err(_) if path.is_dir() => self.bind("--ro-bind", path),
                Err(_) => {}
            }
        }
        for path in host::SETTINGS.map(Path::new) {
            match path.metadata() {
                Ok(found) if found.is_file() => self.copy(path, Source::File(path.to_owned())),
                Ok(_) => self.copy_or_bind("--ro-bind", path, path),
                Err(_) => {}
            }
        }
        for (path, content) in host::ACCOUNTS.into_iter().zip(accounts(home)) {
            self.copy(Path::new(path), Source::Bytes(content.into_bytes()));
        }
    }

    /// Shows the settings of the network, and those of the user for it.
    fn network(&mut self, home: &Path) {
        for (path, content) in network::machine_files() {
            self.copy(&path, Source::Bytes(content));
        }
        for (name, content) in network::home_files() {
            self.copy(&home.join(name), Source::Bytes(content.clone()));
        }
        for path in network::certificates() {
            self.bind("--ro-bind-try", &path);
        }
    }

    /// Copies a file into the view's own root or a composed directory, which are read-only in the
    /// end. That takes a fraction of the time of a mount, for each of which bubblewrap reads the
    /// list of all mounts.
    fn copy(&mut self, path: &Path, source: Source) {
        self.add(["--perms", "0444", "--file"]);
        self.all.push(Argument::Descriptor(source));
        self.words([path.as_os_str()]);
    }

    /// Shows the programs of the user's that are in no directory of the system.
    fn toolchains(&mut self, rust: &RustHomes, programs: &Programs, network: Network) {
        self.rust(rust, network);
        self.programs(programs);
    }

    fn rust(&mut self, toolchain: &RustHomes, network: Network) {
        if let Some(home) = &toolchain.rustup_home {
            self.bind("--ro-bind", home);
        }
        let Some(home) = &toolchain.cargo_home else {
            return;
        };
        // Cargo writes its locks beside the registry.
        self.private_folder(&private_cargo_home(home));
        for (name, path) in toolchain.cargo_shared() {
            // With a network, cargo downloads into some of these folders.
            if network != Network::Proxy || !host::CARGO_DOWNLOADS.contains(&name) {
                self.bind("--ro-bind", &path);
            }
        }
        if let Some((_, config)) = toolchain.cargo_config() {
            self.file(&home.join("config.toml"), &config);
        }
    }

    fn programs(&mut self, programs: &Programs) {
        for path in &programs.read_only {
            self.bind("--ro-bind-try", path);
        }
        for Link { path, target } in &programs.links {
            self.words([
                OsStr::new("--symlink"),
                target.as_os_str(),
                path.as_os_str(),
            ]);
        }
    }

    fn masks(&mut self, view: &Checked) {
        for mask in &view.masks {
            match &mask.content {
                Content::File(bytes) if view.is_in_composed(&mask.path) => {
                    self.copy(&mask.path, Source::Bytes(bytes.clone()));
                }
                Content::File(bytes) => {
                    self.covered.push(mask.path.clone());
                    self.file(&mask.path, bytes);
                }
                Content::ReadOnly => self.bind("--ro-bind", &mask.path),
                Content::EmptyDir if view.is_in_composed(&mask.path) => {
                    self.words([OsStr::new("--dir"), mask.path.as_os_str()]);
                }
                Content::EmptyDir => {
                    let path = mask.path.as_os_str();
                    self.words([
                        OsStr::new("--tmpfs"),
                        path,
                        OsStr::new("--remount-ro"),
                        path,
                    ]);
                }
            }
        }
    }
}

/// Lists the folders in memory that each job has for itself, as far as they are in a view.
pub(crate) fn private_folders(view: &Checked) -> Vec<FreshFolder> {
    let mut folders = vec![tmp(), private_home(view.home()), shared_memory()];
    let cargo_home = RustHomes::of_user().cargo_home.as_deref();
    folders.extend(cargo_home.map(private_cargo_home));
    folders
}

fn tmp() -> FreshFolder {
    FreshFolder {
        path: PathBuf::from("/tmp"),
        bytes: TMP_BYTES,
        mode: 0o755,
    }
}

fn private_home(home: &Path) -> FreshFolder {
    FreshFolder {
        path: home.to_owned(),
        bytes: HOME_BYTES,
        mode: 0o700,
    }
}

fn shared_memory() -> FreshFolder {
    FreshFolder {
        path: PathBuf::from("/dev/shm"),
        bytes: SHARED_MEMORY_BYTES,
        mode: 0o1777,
    }
}

/// Returns cargo's home, in which the user's programs and downloads are shown.
fn private_cargo_home(home: &Path) -> FreshFolder {
    FreshFolder {
        path: home.to_owned(),
        bytes: HOME_BYTES,
        mode: 0o755,
    }
}

impl Source {
    /// Opens it, positioned at its first byte. A file that has disappeared since, or that this user
    /// cannot read, is empty.
    fn open(&self) -> io::Result<OwnedFd> {
        let content = match self {
            Self::Bytes(bytes) => bytes.as_slice(),
            Self::File(path) => match rustix::fs::open(path, OFlags::RDONLY, Mode::empty()) {
                Ok(opened) => return Ok(opened),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => &[],
                Err(error) => return Err(error.into()),
            },
        };
        in_memory("file", content, MemfdFlags::empty())
    }
}

/// A file, or a directory that holds a few small ones.
#[derive(Default)]
struct Little {
    directories: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Little {
    /// Reads what is in a path; returns `None` if that is much, or cannot be copied.
    fn in_path(path: &Path) -> Option<Self> {
        let (mut little, mut left) = (Self::default(), vec![path.to_owned()]);
        while let Some(path) = left.pop() {
            let found = path.symlink_metadata().ok()?;
            if found.is_file() && found.len() <= MOST_COPIED_BYTES {
                let content = std::fs::read(&path).ok()?;
                little.files.push((path, content));
            } else if found.is_dir() && found.len() <= MOST_LISTED_BYTES {
                for entry in std::fs::read_dir(&path).ok()? {
                    left.push(entry.ok()?.path());
                }
                little.directories.push(path);
            } else {
                return None;
            }
            if left.len() + little.files.len() + little.directories.len() > MOST_COPIED {
                return None;
            }
        }
        Some(little)
    }
}

/// Returns what of the user's programs can be shown without hiding a file of a mounted directory,
/// or leaving one in it.
fn beside_mounted(programs: &Programs, view: &Checked) -> Programs {
    let mut shown = programs.clone();
    shown
        .read_only
        .retain(|path| !view.is_in_mounted(path) || path.is_dir() && view.has_room_for(path));
    shown.links.retain(|link| !view.is_in_mounted(&link.path));
    shown
}

/// Returns the place of a path in a directory that is shown at another place.
fn moved(path: &Path, source: &Path, at: &Path) -> PathBuf {
    match path.strip_prefix(source) {
        Ok(rest) if !rest.as_os_str().is_empty() => at.join(rest),
        _ => at.to_owned(),
    }
}

/// Returns the account files, in the order of [`host::ACCOUNTS`]: they contain the job's own user
/// and no user of the host.
fn accounts(home: &Path) -> [String; 4] {
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    let mut passwd = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n".to_owned();
    let mut group = "nogroup:x:65534:\n".to_owned();
    let name = if uid == 0 { "root" } else { USER };
    if uid != 65534 {
        passwd.insert_str(
            0,
            &format!("{name}:x:{uid}:{gid}:{name}:{}:/bin/sh\n", home.display()),
        );
    }
    if gid != 65534 {
        group.insert_str(0, &format!("{name}:x:{gid}:\n"));
    }
    let hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    [
        passwd,
        group,
        "passwd: files\ngroup: files\nhosts: files\n".to_owned(),
        hosts,
    ]
}

/// Creates a file in memory, positioned at its first byte.
pub(crate) fn memory_file(name: &str, content: &[u8]) -> Result<OwnedFd, SandboxError> {
    in_memory(name, content, MemfdFlags::CLOEXEC).map_err(SandboxError::io("make a file in memory"))
}

fn in_memory(name: &str, content: &[u8], flags: MemfdFlags) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(name, flags)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}
