//! The full tier: the arguments for bubblewrap.
//!
//! The view is a list of what is shown; everything else of the host is absent. Bubblewrap carries
//! out each step and aborts if one fails. Paths are passed in a memory file, so no other process
//! can read them from a command line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::SandboxError;
use crate::host::{self, RustHomes};
use crate::job::{Content, Network};
use crate::network;
use crate::programs::{Link, Programs};
use crate::view::Checked;

/// The job's home, empty and in memory.
pub(crate) const HOME: &str = "/home/agent";
/// The name of the user that the job runs as, unless that is root.
pub(crate) const USER: &str = "agent";

/// The size of `/tmp`, which is in memory: room for the files of compilers and tests.
const TMP_BYTES: &str = "1073741824";
/// The size of `/dev/shm`: room for shared memory between processes of the job. The default is half
/// of the machine's memory.
const SHARED_MEMORY_BYTES: &str = "67108864";
/// The size of the home: room for settings and caches.
const HOME_BYTES: &str = "268435456";

/// The arguments of one start, and the descriptors that they refer to.
pub(crate) struct Arguments {
    list: Vec<OsString>,
    pub(crate) data: Vec<OwnedFd>,
}

impl Arguments {
    /// Creates the arguments for a view.
    pub(crate) fn for_view(view: &Checked, network: Network) -> Result<Self, SandboxError> {
        let mut arguments = Self { list: Vec::new(), data: Vec::new() };
        arguments.add(["--unshare-user", "--unshare-all", "--die-with-parent", "--new-session"]);
        if network == Network::Host {
            arguments.add(["--share-net"]);
        }
        arguments.add(["--cap-drop", "ALL", "--hostname", "sandbox", "--chdir", "/"]);
        arguments.private_directories();
        arguments.system(network)?;
        arguments.rust(RustHomes::of_user())?;
        arguments.programs(host::programs_of_user());
        if network == Network::Host {
            arguments.network()?;
        }
        let mut composed = Vec::new();
        for root in &view.roots {
            match (root.writable, view.readable_around_masks(&root.path)) {
                (true, _) => arguments.bind("--bind", &root.path),
                (false, shown) if shown == [root.path.as_path()] && root.optional => {
                    arguments.bind("--ro-bind-try", &root.path);
                }
                (false, shown) if shown == [root.path.as_path()] => arguments.bind("--ro-bind", &root.path),
                // A mask replaces the file.
                (false, shown) if shown.is_empty() && !root.path.is_dir() => {}
                (false, shown) => {
                    arguments.compose(&root.path, &shown);
                    composed.push(root.path.as_os_str());
                }
            }
        }
        arguments.masks(view)?;
        for root in composed {
            arguments.list.extend(["--remount-ro".into(), root.to_owned()]);
        }
        arguments.add(["--remount-ro", "/dev", "--remount-ro", "/"]);
        Ok(arguments)
    }

    /// Packs the arguments for `--args`, each terminated by a NUL byte.
    pub(crate) fn packed(&self) -> Result<OwnedFd, SandboxError> {
        let mut bytes = Vec::new();
        for argument in &self.list {
            bytes.extend_from_slice(argument.as_bytes());
            bytes.push(0);
        }
        memory_file("bwrap-args", &bytes)
    }

    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.list.extend(arguments.map(OsString::from));
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.list.extend([OsStr::new(how), path.as_os_str(), path.as_os_str()].map(OsStr::to_owned));
    }

    /// Composes a root of its current entries. A mask mounted over a file of the host would
    /// disappear as soon as a process outside renames another file over it, as `git config` does.
    fn compose(&mut self, root: &Path, shown: &[PathBuf]) {
        self.list.extend(["--tmpfs".into(), root.as_os_str().to_owned()]);
        for path in shown {
            // An entry that has disappeared since is skipped.
            self.bind("--ro-bind-try", path);
        }
    }

    fn file(&mut self, path: &Path, content: &[u8]) -> Result<(), SandboxError> {
        let data = memory_file("file", content)?;
        let descriptor = data.as_raw_fd().to_string();
        self.list.extend(["--ro-bind-data".into(), descriptor.into(), path.as_os_str().to_owned()]);
        self.data.push(data);
        Ok(())
    }

    fn private_directories(&mut self) {
        self.add(["--size", TMP_BYTES, "--tmpfs", "/tmp"]);
        self.add(["--perms", "0700", "--size", HOME_BYTES, "--tmpfs", HOME]);
        self.add(["--symlink", "../tmp", "/var/tmp", "--dir", "/run"]);
        self.add(["--proc", "/proc", "--dev", "/dev"]);
        self.add(["--perms", "1777", "--size", SHARED_MEMORY_BYTES, "--tmpfs", "/dev/shm"]);
    }

    fn system(&mut self, network: Network) -> Result<(), SandboxError> {
        for path in host::SYSTEM.map(Path::new) {
            match std::fs::read_link(path) {
                Ok(target) => self.list.extend(["--symlink".into(), target.into(), path.into()]),
                Err(_) if path.is_dir() => self.bind("--ro-bind", path),
                Err(_) => {}
            }
        }
        for path in host::SETTINGS.map(Path::new) {
            match File::open(path) {
                Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => self.copy(path, file.into()),
                Ok(_) => self.bind("--ro-bind", path),
                Err(_) => {}
            }
        }
        for (path, content) in host::ACCOUNTS.into_iter().zip(accounts(network)) {
            self.copy(Path::new(path), memory_file("file", content.as_bytes())?);
        }
        Ok(())
    }

    /// Shows the settings of the network, and those of the user for it.
    fn network(&mut self) -> Result<(), SandboxError> {
        let of_home = network::home_files().iter().map(|(name, content)| (Path::new(HOME).join(name), content.clone()));
        for (path, content) in network::machine_files().into_iter().chain(of_home) {
            self.copy(&path, memory_file("file", &content)?);
        }
        for path in network::certificates() {
            self.bind("--ro-bind-try", &path);
        }
        Ok(())
    }

    /// Copies a file into the view's own root, which is read-only in the end: that takes a fraction of the time of a
    /// mount.
    fn copy(&mut self, path: &Path, content: OwnedFd) {
        let descriptor = content.as_raw_fd().to_string();
        self.list.extend([
            "--perms".into(),
            "0444".into(),
            "--file".into(),
            descriptor.into(),
            path.as_os_str().to_owned(),
        ]);
        self.data.push(content);
    }

    fn rust(&mut self, toolchain: &RustHomes) -> Result<(), SandboxError> {
        if let Some(home) = &toolchain.rustup_home {
            self.bind("--ro-bind", home);
        }
        let Some(home) = &toolchain.cargo_home else {
            return Ok(());
        };
        // Cargo writes its locks beside the registry.
        self.add(["--size", HOME_BYTES, "--tmpfs"]);
        self.list.push(home.into());
        for (_, path) in toolchain.cargo_shared() {
            self.bind("--ro-bind", &path);
        }
        toolchain.cargo_config().map_or(Ok(()), |(_, config)| self.file(&home.join("config.toml"), &config))
    }

    fn programs(&mut self, programs: &Programs) {
        for path in &programs.read_only {
            self.bind("--ro-bind-try", path);
        }
        for Link { path, target } in &programs.links {
            self.list.extend([OsStr::new("--symlink"), target.as_os_str(), path.as_os_str()].map(OsStr::to_owned));
        }
    }

    fn masks(&mut self, view: &Checked) -> Result<(), SandboxError> {
        for mask in &view.masks {
            match &mask.content {
                Content::File(bytes) => self.file(&mask.path, bytes)?,
                Content::ReadOnly => self.bind("--ro-bind", &mask.path),
                Content::EmptyDir => {
                    let path = mask.path.as_os_str().to_owned();
                    self.list.extend(["--tmpfs".into(), path.clone(), "--remount-ro".into(), path]);
                }
            }
        }
        Ok(())
    }
}

/// Returns the account files, in the order of [`host::ACCOUNTS`]: they contain the job's own user
/// and no user of the host. With a network, names are resolved as on the host.
fn accounts(network: Network) -> [String; 4] {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut passwd = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n".to_owned();
    let mut group = "nogroup:x:65534:\n".to_owned();
    let name = if uid == 0 { "root" } else { USER };
    if uid != 65534 {
        passwd.insert_str(0, &format!("{name}:x:{uid}:{gid}:{name}:{HOME}:/bin/sh\n"));
    }
    if gid != 65534 {
        group.insert_str(0, &format!("{name}:x:{gid}:\n"));
    }
    let own_hosts = || "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    let (servers, hosts) = match network {
        Network::None => ("", own_hosts()),
        Network::Host => (" dns", std::fs::read_to_string("/etc/hosts").unwrap_or_else(|_| own_hosts())),
    };
    [passwd, group, format!("passwd: files\ngroup: files\nhosts: files{servers}\n"), hosts]
}

/// Creates a file in memory, positioned at its first byte.
pub(crate) fn memory_file(name: &str, content: &[u8]) -> Result<OwnedFd, SandboxError> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC).map_err(SandboxError::errno("make a file in memory"))?;
    let mut file = File::from(file);
    file.write_all(content).and_then(|()| file.rewind()).map_err(SandboxError::io("fill a file in memory"))?;
    Ok(file.into())
}
