//! The fallback tier: what a job sees without namespaces.
//!
//! Home and temporary files share one private scratch directory that exists as long as the job.
//! Each directory costs more than the start of a shell where the file system passes over the inodes
//! that were freed in the last seconds. The cost: a project that a test creates among the temporary
//! files lies below the home, so tools that search upwards find the settings there. Cargo's home is
//! the user's, of which only the shared parts can be read. Builds record the location of a crate's
//! source, so a different location in each job would rebuild everything. The job gets a cargo home
//! of its own only if the user's configuration contains a secret, because cargo insists on reading
//! the configuration. Landlock rules over real paths replace mounts, so only existing paths can be
//! shown, and nothing below a writable root can be hidden.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use orchestrate_files::LockedFolder;

use crate::environment::host::{self, RustHomes};
use crate::environment::network;
use crate::error::SandboxError;
use crate::helper::machine_facts;
use crate::job::{Network, StandIn, StandInFile};
use crate::setup::view::Checked;

/// The prefix of a scratch directory's name.
const PREFIX: &str = "orchestrate-job-";
/// The folder in it of a stand-in.
const STAND_IN: &str = ".stand-in";
/// The folder in that of its program.
const PROGRAMS: &str = "bin";

/// The private directory of one job, removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    _dir: LockedFolder,
    real: PathBuf,
    has_stand_in: bool,
}

impl Scratch {
    /// Creates the directory, accessible to its owner alone.
    pub(crate) fn make(
        toolchain: &RustHomes,
        network: Network,
        stand_in: Option<&StandIn>,
    ) -> Result<Self, SandboxError> {
        let dir = LockedFolder::create(PREFIX, &std::env::temp_dir());
        let dir = dir.map_err(SandboxError::io("make a scratch directory"))?;
        let real = dir
            .path()
            .canonicalize()
            .map_err(SandboxError::io("find the scratch directory"))?;
        let scratch = Self {
            _dir: dir,
            real,
            has_stand_in: stand_in.is_some(),
        };
        scratch
            .fill(toolchain, network, stand_in)
            .map_err(SandboxError::io("fill a scratch directory"))?;
        Ok(scratch)
    }

    fn fill(
        &self,
        toolchain: &RustHomes,
        network: Network,
        stand_in: Option<&StandIn>,
    ) -> std::io::Result<()> {
        if !toolchain.shows_cargo_home() {
            orchestrate_files::create_folder(&self.own_cargo_home())?;
            for (name, path) in toolchain.cargo_shared() {
                symlink(path, self.own_cargo_home().join(name))?;
            }
        }
        self.add_settings(network)?;
        match stand_in {
            Some(stand_in) => self.add_stand_in(stand_in),
            None => Ok(()),
        }
    }

    /// Puts the user's settings for the network into the home.
    fn add_settings(&self, network: Network) -> std::io::Result<()> {
        let files = if network == Network::Proxy {
            network::home_files()
        } else {
            &[]
        };
        for (name, content) in files {
            let path = self.path().join(name);
            orchestrate_files::create_folder(path.parent().unwrap_or(&path))?;
            orchestrate_files::replace(&path, content)?;
        }
        Ok(())
    }

    fn add_stand_in(&self, stand_in: &StandIn) -> std::io::Result<()> {
        let folder = self.path().join(STAND_IN);
        let program = folder.join(PROGRAMS).join(&stand_in.name);
        create_above(&program)?;
        orchestrate_files::write(&program, stand_in.script.as_bytes())?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700))?;
        for (name, file) in &stand_in.files {
            let path = folder.join(name);
            create_above(&path)?;
            match file {
                StandInFile::Bytes(bytes) => orchestrate_files::write(&path, bytes)?,
                StandInFile::Folder => orchestrate_files::create_folder(&path)?,
                StandInFile::Link(target) => symlink(target, &path)?,
            }
        }
        Ok(())
    }

    /// Returns the search path for programs, with the stand-in's folder first.
    pub(crate) fn search_path(&self, path: OsString) -> OsString {
        if !self.has_stand_in {
            return path;
        }
        let mut own = self.path().join(STAND_IN).join(PROGRAMS).into_os_string();
        own.push(":");
        own.push(path);
        own
    }

    /// Returns the directory, which is the job's home and the place for its temporary files.
    pub(crate) fn path(&self) -> &Path {
        &self.real
    }

    /// Returns the location of cargo's home for a job.
    pub(crate) fn cargo_home(&self, toolchain: &RustHomes) -> Option<PathBuf> {
        let home = toolchain.cargo_home.clone()?;
        Some(if toolchain.shows_cargo_home() {
            home
        } else {
            self.own_cargo_home()
        })
    }

    fn own_cargo_home(&self) -> PathBuf {
        self.path().join(".cargo")
    }
}

fn create_above(path: &Path) -> std::io::Result<()> {
    orchestrate_files::create_folder(path.parent().unwrap_or(path))
}

/// Removes the scratch directories of jobs whose coordinator was killed before their helper knew of
/// them.
pub(crate) fn sweep() -> std::io::Result<()> {
    orchestrate_files::sweep(PREFIX, &std::env::temp_dir())
}

/// Lists what may be read and executed, if it exists: the system, the toolchains, the user's
/// programs, and the view's read-only roots except what is masked.
pub(crate) fn readable(view: &Checked, toolchain: &RustHomes, network: Network) -> Vec<OsString> {
    let system = host::SYSTEM.iter().chain(&host::SETTINGS);
    let mut readable: Vec<OsString> = system.chain(&host::ACCOUNTS).map(OsString::from).collect();
    readable.extend(machine_facts());
    for (_, path) in toolchain.cargo_shared() {
        readable.push(path.into());
    }
    if let Some((path, _)) = toolchain.cargo_config() {
        readable.push(path.into());
    }
    readable.extend(toolchain.rustup_home.clone().map(OsString::from));
    let programs = host::programs_of_user();
    readable.extend(programs.read_only.iter().map(OsString::from));
    for root in view.read_only() {
        let shown = view.readable_around_masks(root);
        readable.extend(shown.into_iter().map(OsString::from));
    }
    if network == Network::Proxy {
        for (path, _) in network::machine_files() {
            readable.push(path.into());
        }
        let certificates = network::certificates();
        readable.extend(certificates.into_iter().map(OsString::from));
    }
    readable
}
