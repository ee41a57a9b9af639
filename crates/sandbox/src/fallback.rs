//! The fallback tier: what the job sees without namespaces.
//!
//! Home, temporary files and cargo's home are directories of a private scratch directory that lives as long as the job.
//! The mounts' work is done by Landlock rules over real paths, so nothing can be shown that is not there, and below a
//! writable root nothing can be held back.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::SandboxError;
use crate::helper::machine_facts;
use crate::host::{self, Toolchain};
use crate::view::Checked;

/// The private directories of one job, removed with this value.
#[derive(Debug)]
pub(crate) struct Scratch {
    _dir: TempDir,
    real: PathBuf,
}

impl Scratch {
    /// Makes them, readable by nobody else.
    pub(crate) fn make(toolchain: &Toolchain) -> Result<Self, SandboxError> {
        let dir = tempfile::Builder::new()
            .prefix("orchestrate-job-")
            .tempdir()
            .map_err(SandboxError::io("make a scratch directory"))?;
        let real = dir.path().canonicalize().map_err(SandboxError::io("find the scratch directory"))?;
        let scratch = Self { _dir: dir, real };
        scratch.fill(toolchain).map_err(SandboxError::io("fill a scratch directory"))?;
        Ok(scratch)
    }

    fn fill(&self, toolchain: &Toolchain) -> std::io::Result<()> {
        for dir in [self.home(), self.temporary(), self.cargo_home()] {
            std::fs::create_dir(dir)?;
        }
        for (name, path) in toolchain.cargo_shared() {
            symlink(path, self.cargo_home().join(name))?;
        }
        toolchain.cargo_config().map_or(Ok(()), |config| std::fs::write(self.cargo_home().join("config.toml"), config))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.real
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    pub(crate) fn cargo_home(&self) -> PathBuf {
        self.path().join("cargo")
    }
}

/// Lists what may be read and executed: the system, the toolchains, and the view's read-only roots but for the masked.
pub(crate) fn readable(view: &Checked, toolchain: &Toolchain) -> Vec<OsString> {
    let system = host::SYSTEM.iter().chain(&host::SETTINGS).chain(&host::ACCOUNTS).map(OsString::from);
    let toolchains = toolchain.cargo_shared().map(|(_, path)| path).chain(toolchain.rustup_home.clone());
    let roots = view.readable_around_masks();
    let all = system
        .chain(machine_facts())
        .chain(toolchains.map(OsString::from))
        .chain(roots.into_iter().map(OsString::from));
    all.filter(|path| Path::new(path).exists()).collect()
}
